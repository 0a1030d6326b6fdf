/* tell.c: groups by rule, channels that take them, and the sentences. */
#include "alert/tell.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define TITLE_MAX  1000
#define TEXT_MAX   3000
#define ALERTS_MAX 4000

bool tell_takes(const struct channel *c, const struct alert_rule *rule, const struct alert *a)
{
    struct str rest = str_of(rule ? rule->channels : ""), one;

    if (!rest.len)
        return a->severity >= c->severity;
    while (str_cut(&rest, ',', &one))
        if (str_eq(one, c->name))
            return true;
    return false;
}

static bool starts(const char *s, const char *prefix)
{
    return str_starts(str_of(s), prefix);
}

/* What they are all of, in words. */
static const char *noun(const struct alert *const *v, size_t n)
{
    bool nodes = true, gpus = true;

    for (size_t i = 0; i < n; i++) {
        nodes = nodes && starts(v[i]->subject, "node:");
        gpus = gpus && starts(v[i]->subject, "gpu:");
    }
    return nodes ? "nodes" : gpus ? "GPUs" : "alerts";
}

static int by_place(const void *x, const void *y)
{
    const struct alert *a = *(const struct alert *const *)x, *b = *(const struct alert *const *)y;
    int c = str_natural(a->place, b->place);

    return c ? c : (a->id > b->id) - (a->id < b->id);
}

/* A notice has no end to tell of. */
static bool is_over(const struct alert *a)
{
    return a->resolved_ms && !a->notice;
}

static int64_t lasted(const struct alert *a)
{
    return MAX(a->resolved_ms - a->since_ms, 0);
}

/* A built-in rule's sentence that somebody put in his own words goes out as it is. */
static bool own_words(const struct alert_rule *rule, size_t n, bool over)
{
    return rule && rule->worded && n == 1 && !over;
}

static void title_of(const struct alert *const *v, size_t n, bool over, int32_t severity, struct buf *out)
{
    const struct alert *a = v[0];
    int64_t longest_ms = 0;
    char span[24];

    for (size_t i = 0; i < n; i++)
        longest_ms = MAX(longest_ms, lasted(v[i]));
    buf_addf(out, "[%s] %s: ", over ? "resolved" : severity_words[severity], a->rule);
    if (n == 1) {
        buf_adds(out, over && a->place[0] ? a->place : a->text);
        if (over)
            buf_addf(out, ", after %s", clock_span(longest_ms, span));
        return;
    }
    buf_addf(out, "%zu %s", n, noun(v, n));
    if (over)
        buf_addf(out, ", after %s%s", "up to ", clock_span(longest_ms, span));
    size_t named = 0;
    for (size_t i = 0; i < n && named < TELL_PLACES; i++)
        if (v[i]->place[0]) {
            buf_addf(out, "%s%s", named ? ", " : ": ", v[i]->place);
            named++;
        }
    if (named && named < n)
        buf_addf(out, " and %zu more", n - named);
}

static void text_of(const struct alert *const *v, size_t n, bool over, struct buf *out)
{
    if (over && n > 1)
        return;
    if (over || (n > 1 && n <= TELL_PLACES))
        for (size_t i = 0; i < n; i++)
            buf_addf(out, "%s%s", i ? "\n" : "", v[i]->text);
    if (!over && v[0]->advice[0])
        buf_addf(out, "%s%s", out->len ? "\n" : "", v[0]->advice);
}

static void ids_of(const struct alert *const *v, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n && out->len < ALERTS_MAX; i++)
        buf_addf(out, "%s%" PRId64, i ? "," : "", v[i]->id);
}

/* Everything that is too long is cut between characters. */
static void say_group(const struct tell_ask *k, const struct channel *c, const struct alert **v, size_t n, tell_fn *say,
                      void *arg)
{
    AUTO_BUF title = BUF_INIT(1u << 20), text = BUF_INIT(1u << 20), ids = BUF_INIT(1u << 20);
    char short_title[TITLE_MAX], short_text[TEXT_MAX];
    bool over = is_over(v[0]);
    int32_t severity = 0;

    qsort(v, n, sizeof(*v), by_place);
    for (size_t i = 0; i < n; i++)
        severity = MAX(severity, v[i]->severity);
    if (own_words(alert_rules_find(k->rules, v[0]->rule), n, over)) {
        buf_adds(&title, v[0]->text);
    } else {
        title_of(v, n, over, severity, &title);
        text_of(v, n, over, &text);
    }
    ids_of(v, n, &ids);
    mem_copy_str(short_title, sizeof(short_title), buf_str(&title).p);
    mem_copy_str(short_text, sizeof(short_text), buf_str(&text).p);
    say(arg, &(struct message){.created_ms = k->now_ms,
                               .kind = v[0]->notice ? MESSAGE_NOTICE
                                       : over       ? MESSAGE_RESOLVED
                                                    : MESSAGE_FIRED,
                               .severity = severity,
                               .channel = c->name,
                               .rule = v[0]->rule,
                               .title = short_title,
                               .text = short_text,
                               .alerts = buf_str(&ids).p});
}

static bool alike(const struct news *x, const struct news *y)
{
    return !x->a->resolved_ms == !y->a->resolved_ms && strcmp(x->a->rule, y->a->rule) == 0;
}

void tell(const struct tell_ask *k, struct news *v, size_t n, tell_fn *say, void *arg)
{
    AUTO_FREE const struct alert **group = mem_zero(n + 1, sizeof(*group));
    AUTO_FREE bool *seen = mem_zero(n + 1, sizeof(*seen));
    size_t n_channels;
    const struct channel *c = channels_all(k->channels, &n_channels);

    for (size_t first = 0; first < n; first++) {
        bool due = false;
        if (seen[first])
            continue;
        for (size_t i = first; i < n; i++)
            due = due || (alike(&v[first], &v[i]) && !v[i].silenced && k->now_ms - v[i].since_ms >= TELL_GROUP_MS);
        const struct alert_rule *rule = alert_rules_find(k->rules, v[first].a->rule);
        for (size_t at = 0; at < n_channels && due; at++) {
            size_t taken = 0;
            for (size_t i = first; i < n; i++)
                if (alike(&v[first], &v[i]) && !v[i].silenced && tell_takes(&c[at], rule, v[i].a)) {
                    group[taken++] = v[i].a;
                    v[i].told = true;
                }
            if (taken)
                say_group(k, &c[at], group, taken, say, arg);
        }
        for (size_t i = n; i-- > first;)
            seen[i] = seen[i] || alike(&v[first], &v[i]);
    }
}
