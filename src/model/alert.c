/* alert.c: copies alerts and silences, and computes the state of an alert. */
#include "model/alert.h"

#include "base/mem.h"

const char *const severity_words[SEVERITIES + 1] = {"info", "warning", "critical", NULL};
const char *const alert_words[ALERT_STATES] = {"pending", "firing", "resolved"};

static const struct record_field alert_fields[] = {
#define FIELD(no, field, ...) RECORD_FIELD(alert, no, field, __VA_ARGS__),
#define KEY                   FIELD
#include "model/alert.def"
};
const struct record_kind alert_record = {NULL, alert_fields, ARRAY_LEN(alert_fields), sizeof(struct alert)};

static const struct record_field silence_fields[] = {
#define FIELD(no, field, ...) RECORD_FIELD(silence, no, field, __VA_ARGS__),
#define KEY                   FIELD
#include "model/silence.def"
};
const struct record_kind silence_record = {NULL, silence_fields, ARRAY_LEN(silence_fields), sizeof(struct silence)};

struct alert *alert_copy(const struct alert *a)
{
    return record_copy(&alert_record, a);
}

struct silence *silence_copy(const struct silence *s)
{
    return record_copy(&silence_record, s);
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

/* By name, never by pattern: a person's name may contain a star. */
bool alert_concerns(const struct alert *a, const char *person)
{
    return str_listed(a->person, str_of(person));
}

bool silence_fits(const struct silence *s, const struct alert *a, int64_t now_ms)
{
    if (s->owner && s->owner[0] && a->severity >= SEV_CRITICAL && !alert_concerns(a, s->owner))
        return false;
    return now_ms < s->until_ms && fits(s->rule, a->rule) && fits_place(s->node, a->place) &&
           fits_person(s->person, a->person);
}
