/* wording.c: sentences about alerts: how many, where, for how long; for a person, how it affects them. */
#include "alert/wording.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/template.h"

bool wording_person(struct str *rest, struct str *ret)
{
    while (str_cut(rest, ',', ret)) {
        *ret = str_trim(*ret);
        if (ret->len)
            return true;
    }
    return false;
}

bool wording_owner(const struct alert_rule *rule, const struct alert *a, const char *person)
{
    struct str rest = str_of(a->person), one, last = {0};

    while (wording_person(&rest, &one))
        last = one;
    return rule && rule->yours && str_eq(last, person);
}

static bool all_of(const struct wording_params *k, const char *prefix)
{
    return !ANY(k->n, i, !str_starts(str_of(k->v[i]->subject), prefix));
}

/* Common noun for all alerts. */
static const char *noun(const struct wording_params *k)
{
    return all_of(k, "node:") ? "nodes" : all_of(k, "gpu:") ? "GPUs" : all_of(k, "booking:") ? "bookings" : "alerts";
}

static bool is_over(const struct wording_params *k)
{
    return k->kind == MESSAGE_RESOLVED || (k->kind == MESSAGE_NOTICE && !k->v[0]->notice);
}

/* Duration of the longest alert. */
static const char *span_of(const struct wording_params *k, char out[24])
{
    int64_t longest_ms = 0;

    for (size_t i = 0; i < k->n; i++)
        longest_ms = MAX(longest_ms, (is_over(k) ? k->v[i]->resolved_ms : k->now_ms) - k->v[i]->since_ms);
    return clock_span(longest_ms, out);
}

/* "dgx1:0, dgx1:1 and 3 more", or for a person "dgx1:0 and dgx1:1". */
static size_t add_places(const struct wording_params *k, const char *before, const char *last, struct buf *out)
{
    size_t placed = 0, named = 0;

    for (size_t i = 0; i < k->n; i++)
        placed += k->v[i]->place[0] != 0;
    for (size_t i = 0; i < k->n && named < WORDING_PLACES; i++)
        if (k->v[i]->place[0]) {
            buf_addf(out, "%s%s", !named ? before : named + 1 == placed ? last : ", ", k->v[i]->place);
            named++;
        }
    if (named && named < k->n)
        buf_addf(out, " and %zu more", k->n - named);
    return named;
}

/* ---- text for a person ---- */

static void add_others(const struct alert *a, const char *person, bool owner, struct buf *out)
{
    struct str rest = str_of(a->person), one, last = {0};
    size_t n = 0;

    while (wording_person(&rest, &one)) {
        last = one;
        if (owner && !str_eq(one, person))
            buf_addf(out, "%s%.*s", n++ ? " and " : "", STR_ARG(one));
    }
    if (!owner)
        buf_addstr(out, last);
    else if (!n)
        buf_adds(out, "somebody");
}

/* {places}: where; {for}: how long; {who}: the other person. */
static void add_you(const struct wording_params *k, struct buf *out)
{
    bool owner = wording_owner(k->rule, k->v[0], k->person);
    struct str rest = str_of(owner ? k->rule->yours : k->rule->you), part;
    char span[24];

    while (str_cut(&rest, '{', &part)) {
        buf_addstr(out, part);
        if (str_skip(&rest, "places}"))
            add_places(k, "", " and ", out);
        else if (str_skip(&rest, "for}"))
            buf_adds(out, span_of(k, span));
        else if (str_skip(&rest, "who}"))
            add_others(k->v[0], k->person, owner, out);
    }
}

/* Whether one sentence is enough for all alerts: not if each names another person. */
static bool in_one(const struct wording_params *k)
{
    return k->n == 1 || !k->rule->yours;
}

static bool to_you(const struct wording_params *k)
{
    return k->person[0] && k->rule && k->rule->you && !is_over(k);
}

static void add_each(const struct wording_params *k, struct buf *out)
{
    for (size_t i = 0; i < k->n && i < WORDING_PLACES; i++) {
        struct wording_params one = *k;
        one.v = &k->v[i];
        one.n = 1;
        buf_adds(out, out->len ? "\n" : "");
        if (to_you(k))
            add_you(&one, out);
        else
            buf_adds(out, k->v[i]->text);
    }
}

/* ---- the message ---- */

static void add_head(const struct wording_params *k, struct buf *out)
{
    const char *word = severity_words[0];
    char span[24];

    for (int32_t s = 0; s < SEVERITIES; s++)
        for (size_t i = 0; i < k->n; i++)
            word = k->v[i]->severity == s ? severity_words[s] : word;
    buf_addf(out, "[%s] %s", k->kind == MESSAGE_RESOLVED ? "resolved" : word, k->v[0]->rule);
    if (k->kind == MESSAGE_REMINDER && to_you(k) && in_one(k))
        buf_adds(out, ", still"); /* the sentence contains the duration */
    else if (k->kind == MESSAGE_REMINDER)
        buf_addf(out, ", still, for %s%s", k->n > 1 ? "up to " : "", span_of(k, span));
    buf_adds(out, ": ");
}

static void add_title(const struct wording_params *k, struct buf *out)
{
    const struct alert *a = k->v[0];
    char span[24];

    add_head(k, out);
    if (to_you(k) && in_one(k)) {
        add_you(k, out);
        return;
    }
    if (k->n == 1)
        buf_adds(out, k->kind == MESSAGE_RESOLVED && a->place[0] ? a->place : a->text);
    else
        buf_addf(out, "%zu %s", k->n, noun(k));
    if (is_over(k))
        buf_addf(out, ", %safter %s%s", k->kind == MESSAGE_NOTICE ? "over " : "", k->n > 1 ? "up to " : "",
                 span_of(k, span));
    if (k->n > 1)
        add_places(k, ": ", ", ", out);
}

static void add_text(const struct wording_params *k, struct buf *out)
{
    bool said = to_you(k) && in_one(k);

    if (k->kind == MESSAGE_RESOLVED && k->n == 1)
        buf_addf(out, "it was: %s", k->v[0]->text);
    else if (k->kind != MESSAGE_RESOLVED && k->n > 1 && k->n <= WORDING_PLACES && !said)
        add_each(k, out);
    if (k->kind != MESSAGE_RESOLVED && k->v[0]->advice[0])
        buf_addf(out, "%s%s", out->len ? "\n" : "", k->v[0]->advice);
}

/* A built-in rule's sentence in the user's own text is sent unchanged. */
static bool own_words(const struct wording_params *k)
{
    return k->kind != MESSAGE_REMINDER && !is_over(k) && k->rule && k->rule->worded && k->n == 1;
}

/* The rule's own text for a resolved alert. Not for a node that is offline or not in use: the text may be wrong. */
static bool add_over(const struct wording_params *k, struct buf *out)
{
    const struct alert *a = k->v[0];
    const struct node_now *n = k->live && a->node[0] ? live_find(k->live, a->node) : NULL;

    if (k->kind != MESSAGE_RESOLVED || k->n != 1 || !k->rule || !k->rule->over_text)
        return false;
    if (a->node[0] && (!n || n->retired || n->maintenance || n->state == NODE_DOWN))
        return false;
    template_fill(out, k->rule->over_text,
                  &(struct template_scene){.n = n,
                                           .d = n && a->device[0] ? FIND(n->devices, n->n_devices, d,
                                                                         str_same(d->fact.uuid, a->device))
                                                                  : NULL,
                                           .now_ms = a->resolved_ms,
                                           .since_ms = a->since_ms,
                                           .lost_ms =
                                               (k->live ? live_rule(k->live) : &state_rule_default)->down_after_ms});
    return true;
}

void wording_of(const struct wording_params *k, struct wording *ret)
{
    AUTO_BUF title = BUF_INIT(1u << 20), text = BUF_INIT(1u << 20);

    if (add_over(k, &title)) {
        /* the title contains everything */
    } else if (own_words(k)) {
        buf_adds(&title, k->v[0]->text);
    } else {
        add_title(k, &title);
        add_text(k, &text);
    }
    mem_copy_str(ret->title, sizeof(ret->title), buf_str(&title).p);
    mem_copy_str(ret->text, sizeof(ret->text), buf_str(&text).p);
}
