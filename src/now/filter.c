/*
 * filter.c: runs a filter on a device. Three values (Kleene's logic): `and` is the minimum, `or` the maximum, `not`
 * the mirror, so that unknown stays unknown. filter_parse.c parses the text.
 */
#include "now/filter.h"

#include <assert.h>

#include "base/mem.h"
#include "base/order.h"
#include "model/labels.h"
#include "now/filter_prog.h"

enum { NO, UNKNOWN, YES };

struct subject {
    const struct node_now *n;
    const struct device_now *d; /* NULL: only the node */
    const struct proc_now *procs;
    size_t n_procs;
    int64_t now_ms;
};

static bool in_sight(const struct device_now *d)
{
    return d->state <= DEV_IN_SIGHT;
}

/* ---- values; false: unknown ---- */

static bool device_metric(const struct device_now *d, enum metric m, int64_t *ret)
{
    if (!sample_has(&d->now, m) || (!in_sight(d) && m != M_mem_total))
        return false;
    *ret = d->now.v[m];
    return true;
}

static bool memory(const struct device_now *d, enum get get, int64_t *ret)
{
    int64_t used, total, reserved = 0;

    if (!device_metric(d, M_mem_used, &used) || !device_metric(d, M_mem_total, &total) || total <= 0)
        return false;
    device_metric(d, M_mem_reserved, &reserved);
    int64_t v = get == GET_MEM_SHARE ? used : MAX(0, total - used - reserved);
    *ret = get == GET_MEM_FREE ? v : (int64_t)((double)v / (double)total * 1e6 + 0.5);
    return true;
}

static bool span(int64_t from_ms, int64_t now_ms, int64_t *ret)
{
    if (from_ms <= 0)
        return false;
    *ret = MAX(0, now_ms - from_ms);
    return true;
}

static bool idle(const struct device_now *d, int64_t now_ms, int64_t *ret)
{
    if (!in_sight(d))
        return false;
    if (d->idle_since_ms || d->state != DEV_BUSY)
        return span(device_idle_ms(d), now_ms, ret);
    *ret = 0; /* working now */
    return true;
}

static bool number(const struct filter_op *op, const struct subject *s, int64_t *ret)
{
    const struct device_now *d = s->d;

    if (op->get == GET_NODE_METRIC) {
        if (s->n->state == NODE_DOWN || !sample_has(&s->n->now, op->which))
            return false;
        *ret = s->n->now.v[op->which];
        return true;
    }
    if (!d)
        return false;
    switch ((enum get)op->get) {
    case GET_DEVICE_METRIC:
        return device_metric(d, (enum metric)op->which, ret);
    case GET_MEM_FREE:
    case GET_MEM_SHARE:
    case GET_FREE_SHARE:
        return memory(d, (enum get)op->get, ret);
    case GET_IDLE:
        return idle(d, s->now_ms, ret);
    case GET_SINCE:
        return span(device_since_ms(d), s->now_ms, ret);
    case GET_AGE:
        return span(d->at_ms, s->now_ms, ret);
    case GET_INDEX:
        *ret = d->fact.index;
        return d->fact.index >= 0;
    case GET_MIG:
        *ret = d->fact.mig;
        return d->fact.parent[0] && d->fact.mig >= 0;
    default:
        return false;
    }
}

static int compare(int64_t a, enum cmp cmp, int64_t b)
{
    bool less = a < b, equal = a == b;
    bool yes = cmp == CMP_EQ   ? equal
               : cmp == CMP_NE ? !equal
               : cmp == CMP_LT ? less
               : cmp == CMP_LE ? less || equal
               : cmp == CMP_GT ? !less && !equal
                               : !less;

    return yes ? YES : NO;
}

static int negate(const struct filter_op *op, int value)
{
    return op->cmp == CMP_NE ? YES - value : value;
}

/* ---- conditions ---- */

static int number_is(const struct filter_op *op, const struct subject *s)
{
    int64_t v;

    return number(op, s, &v) ? compare(v, (enum cmp)op->cmp, op->v) : UNKNOWN;
}

/* The current advice rules of the GPU. Unknown if the GPU has processes but no activity values. */
static int advice_is(const struct filter_op *op, const struct device_now *d)
{
    int64_t v = 0;

    for (size_t i = 0; i < d->n_advice; i++)
        v |= 1ll << d->advice[i].rule;
    if (!v && (!in_sight(d) || !d->at_ms || (d->n_procs && !sample_has(&d->now, M_active))))
        return UNKNOWN;
    return negate(op, (op->v ? v & op->v : !v) ? YES : NO);
}

static int set_is(const struct filter_op *op, const struct subject *s)
{
    int64_t v = 0;

    if (op->get == GET_FLAGS && (s->n->maintenance || s->n->state == NODE_MAINTENANCE))
        v |= FLAG_MAINTENANCE;
    if (!s->d && !(op->get == GET_FLAGS && op->v == FLAG_MAINTENANCE))
        return UNKNOWN;
    if (op->get == GET_ADVICE)
        return advice_is(op, s->d);
    if (op->get == GET_STATE)
        v = 1ll << s->d->state;
    else if (op->get == GET_THROTTLE && !device_metric(s->d, M_throttle, &v))
        return UNKNOWN;
    else if (op->get == GET_FLAGS && s->d)
        v |= (s->d->fact.asleep ? FLAG_ASLEEP : 0) | (s->d->fact.parent[0] ? FLAG_MIG : 0) |
             (s->d->booking ? FLAG_BOOKED : 0);
    if (op->get == GET_THROTTLE && op->v == 0) /* none */
        return negate(op, v == 0 ? YES : NO);
    return negate(op, v & op->v ? YES : NO);
}

static bool text_fits(enum text_match match, struct str want, struct str text)
{
    char low[MAX(NAME_MAX_LEN, LABEL_VALUE_MAX)];
    size_t n = 0;

    for (; n < sizeof(low) && n < text.len; n++)
        low[n] = text.p[n] >= 'A' && text.p[n] <= 'Z' ? (char)(text.p[n] + 32) : text.p[n];
    return match == TEXT_GLOB   ? str_glob(want, str_n(low, n))
           : match == TEXT_PART ? memmem(low, n, want.p, want.len) != NULL
                                : str_eq_str(want, str_n(low, n));
}

static bool text_is(const struct filter *f, const struct filter_op *op, const char *text)
{
    return text_fits((enum text_match)op->match, str_n(f->pool + op->to, op->len), str_of(text));
}

/* A label with this name and value. A node without the label is known to have none. */
static int label_is(const struct filter *f, const struct filter_op *op, const struct subject *s)
{
    struct str rest = str_of(s->n->labels ? s->n->labels : ""), name, value;
    struct str want = str_n(f->pool + op->which, (size_t)op->v), what = str_n(f->pool + op->to, op->len);

    while (labels_next(&rest, &name, &value))
        if (text_fits((enum text_match)op->get, want, name) && text_fits((enum text_match)op->match, what, value))
            return negate(op, YES);
    return negate(op, NO);
}

static int field_is(const struct filter *f, const struct filter_op *op, const struct subject *s)
{
    const char *base = op->get == GET_NODE_TEXT ? (const char *)s->n : (const char *)s->d;

    if (op->get == GET_BOOKER && s->d) /* an unbooked device is not booked by another user */
        return negate(op, s->d->booking && text_is(f, op, s->d->booking->person) ? YES : NO);
    if (!base || !base[op->which])
        return UNKNOWN;
    return negate(op, text_is(f, op, base + op->which) ? YES : NO);
}

/* Whether the process belongs to them; UNKNOWN if not even the login is known. */
static int whose(const struct filter *f, const struct filter_op *op, const struct proc_now *p)
{
    const char *person = proc_person(p);
    struct str want = str_n(f->pool + op->to, op->len);

    if (op->which >= WHO_GROUP && op->which < WHO_GROUP + IDENTITY_GROUPS) {
        struct str rest = p->who ? str_of(p->who->groups[op->which - WHO_GROUP]) : STR(""), name;
        while (rest.len && str_cut(&rest, '\n', &name))
            if (text_fits((enum text_match)op->match, want, name))
                return YES;
    } else if ((person[0] && text_is(f, op, person)) ||
               (op->which == WHO_ME && p->fact->user[0] && text_is(f, op, p->fact->user))) {
        return YES;
    }
    return p->fact->user[0] || p->who ? NO : UNKNOWN;
}

/* Whether any process matches. An unknown text could be anything; only the container may really be missing. */
static int any_proc(const struct filter *f, const struct filter_op *op, const struct subject *s)
{
    int any = NO;

    if (!s->n_procs && (!s->d || !s->d->at_ms)) /* no data yet */
        return UNKNOWN;
    for (size_t i = 0; i < s->n_procs; i++) {
        const struct proc_fact *p = s->procs[i].fact;
        bool yes;
        if (op->code == OP_PROC_WHO) {
            int is = whose(f, op, &s->procs[i]);
            if (is == UNKNOWN)
                any = UNKNOWN;
            yes = is == YES;
        } else if (op->code == OP_PROC_TEXT) {
            const char *text = (const char *)p + op->which;
            bool must = op->which == offsetof(struct proc_fact, user) || op->which == offsetof(struct proc_fact, name);
            if (!text[0] && must)
                any = UNKNOWN;
            yes = text[0] && text_is(f, op, text);
        } else {
            int64_t v = op->get == GET_SLURM ? p->slurm_job : p->pid;
            enum cmp cmp = op->cmp == CMP_NE ? CMP_EQ : (enum cmp)op->cmp;
            yes = v > 0 && compare(v, cmp, op->v) == YES;
        }
        if (yes)
            return negate(op, YES);
    }
    return negate(op, any);
}

/* ---- custom metrics ---- */

static const struct custom_now *custom_of(const struct custom_now *v, size_t n, size_t which)
{
    return FIND(v, n, c, c->metric == METRIC_CUSTOM + which);
}

/* The device's value, or its node's if the device has none. With a pattern: any match. */
static int custom_is(const struct filter *f, const struct filter_op *op, const struct subject *s)
{
    const struct node_now *n = s->n;
    int any = UNKNOWN;

    for (size_t i = 0; i < n->fact.n_custom && any != YES; i++) {
        const struct custom_fact *fact = &n->fact.custom[i];
        if (!text_is(f, op, fact->name))
            continue;
        const struct custom_now *v = s->d ? custom_of(s->d->custom, s->d->n_custom, i) : NULL;
        bool seen = v ? in_sight(s->d) : n->state != NODE_DOWN;
        if (!v)
            v = custom_of(n->custom, n->n_custom, i);
        if (!v || !seen)
            continue;
        /* compares v / per with op->v / which, without a division */
        __int128 have = (__int128)v->v * op->which, want = (__int128)op->v * MAX(fact->per, 1);
        any = compare(have < want ? -1 : have > want, (enum cmp)op->cmp, 0);
    }
    return any;
}

/* ---- the program ---- */

static int condition(const struct filter *f, const struct filter_op *op, const struct subject *s)
{
    switch ((enum op_code)op->code) {
    case OP_NUMBER:
        return number_is(op, s);
    case OP_SET:
        return set_is(op, s);
    case OP_TEXT:
        return field_is(f, op, s);
    case OP_CUSTOM:
        return custom_is(f, op, s);
    case OP_LABEL:
        return label_is(f, op, s);
    default:
        return any_proc(f, op, s);
    }
}

static bool run(const struct filter *f, const struct subject *s)
{
    uint8_t stack[FILTER_STACK] = {0};
    size_t top = 0; /* filter_parse.c ensures the bound */

    for (size_t i = 0; i < f->n; i++) {
        const struct filter_op *op = &f->ops[i];
        enum op_code code = (enum op_code)op->code;
        assert(top >= (code == OP_AND || code == OP_OR ? 2 : code >= OP_NOT));
        if (code < OP_NOT) {
            stack[top++] = (uint8_t)condition(f, op, s);
        } else if (code == OP_NOT) {
            stack[top - 1] = (uint8_t)(YES - stack[top - 1]);
        } else if (code == OP_AND || code == OP_OR) {
            uint8_t a = stack[--top], b = stack[top - 1];
            stack[top - 1] = code == OP_AND ? MIN(a, b) : MAX(a, b);
        } else if (stack[top - 1] == (code == OP_AND_SKIP ? NO : YES)) {
            i = op->to - 1u;
        }
    }
    assert(top == 1); /* a compiled filter leaves exactly one result */
    return stack[0] == YES;
}

bool filter_match(const struct filter *f, const struct node_now *n, const struct device_now *d, int64_t now_ms)
{
    struct subject s = {n, d, d ? d->procs : NULL, d ? d->n_procs : 0, now_ms};

    return run(f, &s);
}

bool filter_match_node(const struct filter *f, const struct node_now *n, int64_t now_ms)
{
    return n->n_devices ? ANY(n->n_devices, i, filter_match(f, n, &n->devices[i], now_ms))
                        : filter_match(f, n, NULL, now_ms);
}

bool filter_match_proc(const struct filter *f, const struct node_now *n, const struct device_now *d,
                       const struct proc_now *p, int64_t now_ms)
{
    struct subject s = {.n = n, .d = d, .procs = p, .n_procs = 1, .now_ms = now_ms};

    return run(f, &s);
}

void filter_see(const struct filter *f, const struct node_now *n, int64_t now_ms, struct filter_kinds *k)
{
    for (size_t i = 0; i < MAX(n->n_devices, 1u) && f->n_words; i++) {
        const struct device_now *d = i < n->n_devices ? &n->devices[i] : NULL;
        struct subject s = {n, d, d ? d->procs : NULL, d ? d->n_procs : 0, now_ms};
        for (size_t w = 0; w < f->n_words; w++)
            for (int kind = 0; kind < KINDS; kind++)
                if (!(k->of[w] & 1 << kind) && condition(f, &f->ops[f->words[w] + KIND_OP(kind)], &s) == YES)
                    k->of[w] |= (uint8_t)(1 << kind);
    }
}

/* ---- public functions ---- */

void filter_free(struct filter *f)
{
    if (!f)
        return;
    FREE_ALL(f->ops, f->text, f->key);
    free(f);
}

void filter_free_ptr(struct filter **f)
{
    filter_free(*f);
}

const char *filter_text(const struct filter *f)
{
    return f->text;
}

const char *filter_key(const struct filter *f)
{
    return f->key;
}

bool filter_is_timed(const struct filter *f)
{
    return f->timed;
}
