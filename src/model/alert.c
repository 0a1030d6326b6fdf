/* alert.c: copies alerts and silences, and tells which state an alert is in. */
#include "model/alert.h"

#include "base/mem.h"

const char *const severity_words[SEVERITIES + 1] = {"info", "warning", "critical", NULL};
const char *const alert_words[ALERT_STATES] = {"pending", "firing", "resolved"};

static const size_t alert_texts[] = {offsetof(struct alert, rule),   offsetof(struct alert, subject),
                                     offsetof(struct alert, node),   offsetof(struct alert, place),
                                     offsetof(struct alert, device), offsetof(struct alert, person),
                                     offsetof(struct alert, text),   offsetof(struct alert, advice),
                                     offsetof(struct alert, told_to)};
static const size_t silence_texts[] = {offsetof(struct silence, rule),   offsetof(struct silence, node),
                                       offsetof(struct silence, person), offsetof(struct silence, by),
                                       offsetof(struct silence, reason), offsetof(struct silence, owner)};

struct alert *alert_copy(const struct alert *a)
{
    struct alert *to = mem_alloc(sizeof(*to) + mem_text_bytes(a, alert_texts, ARRAY_LEN(alert_texts)));

    *to = *a;
    mem_text_move(to, alert_texts, ARRAY_LEN(alert_texts), (char *)(to + 1));
    return to;
}

struct silence *silence_copy(const struct silence *s)
{
    struct silence *to = mem_alloc(sizeof(*to) + mem_text_bytes(s, silence_texts, ARRAY_LEN(silence_texts)));

    *to = *s;
    mem_text_move(to, silence_texts, ARRAY_LEN(silence_texts), (char *)(to + 1));
    return to;
}

enum alert_state alert_state(const struct alert *a)
{
    return a->resolved_ms ? ALERT_RESOLVED : a->fired_ms ? ALERT_FIRING : ALERT_PENDING;
}

static bool fits(const char *pattern, const char *text)
{
    return !pattern[0] || str_glob(str_of(pattern), str_of(text));
}

/* A node's name alone means its GPUs too. */
static bool fits_place(const char *pattern, const char *place)
{
    struct str node = str_of(place);
    int colon = str_rfind(node, ":");

    if (fits(pattern, place))
        return true;
    return colon > 0 && str_glob(str_of(pattern), str_n(place, (size_t)colon));
}

/* Of several persons one is enough. */
static bool fits_person(const char *pattern, const char *persons)
{
    struct str rest = str_of(persons), one;

    if (fits(pattern, persons))
        return true;
    while (str_cut(&rest, ',', &one))
        if (str_glob(str_of(pattern), str_trim(one)))
            return true;
    return false;
}

/* By name, never by pattern: somebody's name may have a star in it. */
bool alert_concerns(const struct alert *a, const char *person)
{
    struct str rest = str_of(a->person), one;

    while (person[0] && str_cut(&rest, ',', &one))
        if (str_eq(str_trim(one), person))
            return true;
    return false;
}

bool silence_fits(const struct silence *s, const struct alert *a, int64_t now_ms)
{
    if (s->owner && s->owner[0] && a->severity >= SEV_CRITICAL && !alert_concerns(a, s->owner))
        return false;
    return now_ms < s->until_ms && fits(s->rule, a->rule) && fits_place(s->node, a->place) &&
           fits_person(s->person, a->person);
}
