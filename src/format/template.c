/* template.c: the names that may stand between braces in a sentence, and the values that replace them. */
#include "format/template.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "format/render.h"
#include "format/words.h"
#include "model/metric.h"

enum hole {
    HOLE_NODE,
    HOLE_GPU,
    HOLE_PLACE,
    HOLE_USER,
    HOLE_MODEL,
    HOLE_STATE,
    HOLE_REASON,
    HOLE_SINCE,
    HOLE_IDLE,
    HOLE_HOST_NAME, /* vesta's from here on */
    HOLE_LOST_TH,
    HOLES
};
static const char *const holes[HOLES] = {"node",   "gpu",   "place", "user",      "model",  "state",
                                         "reason", "since", "idle",  "host_name", "lost_th"};
static const enum hole in_order[] = {HOLE_HOST_NAME, HOLE_LOST_TH}; /* what {} stands for */

static int hole_by_name(struct str s)
{
    return WHICH(HOLES, i, str_eq(s, holes[i]));
}

/* "" is the next of those without a name, of which *nth were there before. */
static int hole_of(struct str name, size_t *nth)
{
    if (name.len)
        return hole_by_name(name);
    return *nth < ARRAY_LEN(in_order) ? (int)in_order[(*nth)++] : -1;
}

/* The next piece: text, then the name of a hole (p NULL: none follows) or a brace. False: one is not closed. */
static bool next(struct str *rest, struct str *text, struct str *name, char *brace)
{
    size_t i = 0;

    *name = (struct str){0};
    *brace = 0;
    while (i < rest->len && rest->p[i] != '{' && !(rest->p[i] == '}' && i + 1 < rest->len && rest->p[i + 1] == '}'))
        i++;
    *text = str_n(rest->p, i);
    if (i == rest->len) {
        *rest = str_n(rest->p + i, 0);
        return true;
    }
    if (i + 1 < rest->len && rest->p[i + 1] == rest->p[i]) {
        *brace = rest->p[i];
        *rest = str_n(rest->p + i + 2, rest->len - i - 2);
        return true;
    }
    const char *end = memchr(rest->p + i, '}', rest->len - i);
    if (!end)
        return false;
    *name = str_n(rest->p + i + 1, (size_t)(end - rest->p) - i - 1);
    *rest = str_n(end + 1, rest->len - (size_t)(end + 1 - rest->p));
    return true;
}

int template_check(struct str s, struct err *err)
{
    struct str text, name;
    char brace;
    size_t nth = 0;

    if (s.len > TEMPLATE_MAX || !str_utf8_ok(s))
        return err_set(err, -EINVAL, "a text has at most %d bytes, without control characters", TEMPLATE_MAX);
    while (s.len) {
        if (!next(&s, &text, &name, &brace))
            return err_set(err, -EINVAL, "a { is not closed; write {{ for a brace");
        if (name.p && !name.len && hole_of(name, &nth) < 0)
            return err_set(err, -EINVAL, "too many {}: the first is the host, the second the seconds");
        if (name.len && hole_by_name(name) < 0 && metric_by_name(name) < 0)
            return err_set(err, -EINVAL,
                           "{%.*s} is not known: node, gpu, place, user, model, state, reason, since, idle and every "
                           "metric are",
                           (int)MIN(name.len, 40u), name.p);
    }
    return 0;
}

static void fill_metric(struct buf *out, int m, const struct template_scene *s)
{
    const struct sample *v = s->d && metrics[m].scope == SCOPE_DEVICE ? &s->d->now : &s->n->now;

    if (sample_has(v, (enum metric)m))
        render_amount(out, unit_names[metrics[m].unit], (double)v->v[m] / (double)metrics[m].per);
    else
        buf_addc(out, '-');
}

static const char *hole_text(enum hole h, const struct template_scene *s, char text[160])
{
    const struct node_now *n = s->n;
    const struct device_now *d = s->d;

    switch (h) {
    case HOLE_NODE:
    case HOLE_HOST_NAME:
        return node_shown(n);
    case HOLE_GPU:
        snprintf(text, 160, "%d", d ? (int)d->fact.index : 0);
        return d ? text : "-";
    case HOLE_PLACE:
        snprintf(text, 160, "%s:%d", node_shown(n), d ? (int)d->fact.index : 0);
        return d ? text : node_shown(n);
    case HOLE_USER:
        return d && holders(d, text).len ? text : "-";
    case HOLE_MODEL:
        return d ? device_shown(d) : "-";
    case HOLE_STATE:
        return d ? dev_states[d->state].word : node_words[n->state];
    case HOLE_REASON:
        return d ? d->reason : n->reason;
    case HOLE_SINCE:
        return clock_span(MAX(0, s->now_ms - s->since_ms), text);
    case HOLE_IDLE:
        return d && d->idle_since_ms ? clock_span(MAX(0, s->now_ms - device_idle_ms(d)), text) : "-";
    default: /* HOLE_LOST_TH */
        snprintf(text, 160, "%lld", (long long)(s->lost_ms / 1000));
        return text;
    }
}

void template_fill(struct buf *out, const char *text, const struct template_scene *s)
{
    struct str rest = str_of(text), part, name;
    size_t nth = 0;
    char brace, words[160];

    while (rest.len && next(&rest, &part, &name, &brace)) {
        buf_addstr(out, part);
        if (brace)
            buf_addc(out, brace);
        if (!name.p)
            continue;
        int h = hole_of(name, &nth), m = h < 0 ? metric_by_name(name) : -1;
        if (!s->n && h != HOLE_LOST_TH)
            buf_addc(out, '-');
        else if (h >= 0)
            plain_line(out, str_of(hole_text((enum hole)h, s, words)));
        else if (m >= 0)
            fill_metric(out, m, s);
    }
}
