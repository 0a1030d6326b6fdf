/* rule_run.c: runs an expression's program over a run's data. Numbers are 64-bit fractions. */
#include <errno.h>
#include <stdarg.h>

#include "base/mem.h"
#include "wandb_pull/rule_expr.h"

#define NANO       1000000000
#define LAYERS_MAX 4    /* {"value": {"value": ...}}, and objects within text, at most so deep */
#define QUOTED_MAX 4096 /* bytes of text that may be an object */
#define PATH_MAX_  512  /* of a key made of several parts */

struct number {
    int64_t n, d; /* n / d in lowest terms, d > 0 */
    bool there;
    bool meant; /* made of nothing but numbers in the rule: its zero is meant */
};

struct machine {
    struct run_node *run;
    const struct rule_listener *told;
    bool needs_metadata;
    char *because;
};

__attribute__((format(printf, 2, 3))) static struct number absent(struct machine *m, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->because, RULE_BECAUSE, fmt, ap);
    va_end(ap);
    return (struct number){0};
}

static bool fraction(__int128 n, __int128 d, struct number *ret)
{
    __int128 a = n < 0 ? -n : n, b = d;
    while (b) {
        __int128 t = a % b;
        a = b;
        b = t;
    }
    n /= a;
    d /= a;
    if (n > INT64_MAX || n < -INT64_MAX || d > INT64_MAX)
        return false;
    ret->n = (int64_t)n;
    ret->d = (int64_t)d;
    return true;
}

/* ---- fields ---- */

/*
 * {"value": X} becomes X, and so does text that looks like such an object as printed by Python. The caller owns
 * *ret_made, if set.
 */
static const json_t *unwrap(const json_t *v, json_t **ret_made)
{
    for (int i = 0; i < LAYERS_MAX; i++) {
        if (json_is_object(v) && json_object_get(v, "value")) {
            v = json_object_get(v, "value");
            continue;
        }
        struct str s = str_trim(str_n(json_string_value(v), json_string_length(v)));
        if (*ret_made || !json_is_string(v) || s.len < 2 || s.len > QUOTED_MAX || s.p[0] != '{' ||
            s.p[s.len - 1] != '}')
            return v;
        json_t *made = json_loadb(s.p, s.len, 0, NULL);
        if (!made) {
            AUTO_FREE char *copy = mem_strn(s.p, s.len);
            for (size_t k = 0; k < s.len; k++)
                copy[k] = copy[k] == '\'' ? '"' : copy[k];
            made = json_loadb(copy, s.len, 0, NULL);
        }
        if (!json_object_get(made, "value")) {
            json_decref(made);
            return v;
        }
        *ret_made = made;
        v = made;
    }
    return v;
}

/* Finds the parts as one key, else as many of them as possible, and the rest within that value. */
static const json_t *find(const json_t *in, const struct str *parts, size_t n)
{
    char key[PATH_MAX_];
    for (size_t k = n; k > 0; k--) {
        size_t len = 0;
        for (size_t i = 0; i < k && len < sizeof(key); i++)
            len += (size_t)snprintf(key + len, sizeof(key) - len, "%s%.*s", i ? "." : "", STR_ARG(parts[i]));
        const json_t *v = len < sizeof(key) ? json_object_get(in, key) : NULL;
        if (!v)
            continue;
        if (k == n)
            return v;
        const json_t *inner = json_object_get(v, "value");
        const json_t *found = find(json_is_object(inner) ? inner : v, parts + k, n - k);
        if (found)
            return found;
    }
    return NULL;
}

/* The value of a name: JSON of the run, or made here, in which case the caller owns *ret_made. */
static const json_t *look(struct machine *m, const struct rule_op *op, json_t **ret_made)
{
    void *at = (char *)m->run + op->source->at;

    if (op->source->kind == SOURCE_JSON) {
        m->needs_metadata |= at == &m->run->metadata && !m->run->metadata.decoded;
        return find(run_scalar_get(at), op->parts, op->n_parts);
    }
    if (op->source->kind == SOURCE_TEXT)
        *ret_made = *(const char **)at ? json_string(*(const char **)at) : NULL;
    else
        *ret_made = *(int32_t *)at >= 0 ? json_integer(*(int32_t *)at) : NULL;
    return *ret_made;
}

static void tell(struct machine *m, const struct rule_op *op, const json_t *v)
{
    if (!m->told || !m->told->value)
        return;
    char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    m->told->value(m->told->arg, op->name, text);
    free(text);
}

/* Plain numbers, and text that is one. */
static struct number number_of(struct machine *m, const char *name, const json_t *v)
{
    char text[64];
    int64_t nano;
    struct number ret = {.there = true};
    struct str s = str_n(text, 0);
    if (!v || json_is_null(v))
        return absent(m, "%.60s is not there", name);
    if (json_is_integer(v)) {
        if (json_integer_value(v) == INT64_MIN)
            return absent(m, "%.60s is too large", name);
        fraction(json_integer_value(v), 1, &ret);
        return ret;
    }
    if (json_is_real(v))
        s.len = (size_t)snprintf(text, sizeof(text), "%.15g", json_real_value(v));
    else if (json_is_string(v))
        s = str_trim(str_n(json_string_value(v), json_string_length(v)));
    else
        return absent(m, "%.60s is not a number", name);
    if (!str_fixed(s, NANO, &nano))
        return absent(m, "%.60s is not a number", name);
    fraction(nano, NANO, &ret);
    return ret;
}

static struct number look_number(struct machine *m, const struct rule_op *op)
{
    json_auto_t *made = NULL, *within = NULL;
    const json_t *v = look(m, op, &made);
    tell(m, op, v);
    return number_of(m, op->name, unwrap(v, &within));
}

static struct number look_match(struct machine *m, const struct rule_op *op)
{
    json_auto_t *made = NULL, *within = NULL;
    struct number n = {0};
    const json_t *v = look(m, op, &made);
    tell(m, op, v);
    v = unwrap(v, &within);
    char *dumped = v && !json_is_string(v) && !json_is_null(v) ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    struct str s = dumped ? str_of(dumped) : str_n(json_string_value(v), json_string_length(v)), found;
    if (!s.p)
        n = absent(m, "%.60s is not there", op->name);
    else if (!pattern_find(op->pattern, str_n(s.p, MIN(s.len, (size_t)RULE_MATCH_MAX)), &found))
        n = absent(m, "the expression does not match %.60s", op->name);
    else {
        json_t *t = json_stringn_nocheck(found.p, found.len);
        n = number_of(m, "what matches", t);
        json_decref(t);
    }
    free(dumped);
    return n;
}

/* ---- operations ---- */

static struct number combine(struct machine *m, enum rule_code code, struct number a, struct number b)
{
    struct number ret = {.there = true, .meant = a.meant && b.meant};
    __int128 an = a.n, ad = a.d, bn = b.n, bd = b.d;
    bool fits = true;
    if (!a.there || !b.there)
        return (struct number){0}; /* because describes this one */
    switch (code) {
    case RULE_ADD:
    case RULE_SUB: {
        __int128 x = an * bd, y = bn * ad, sum;
        fits = !__builtin_add_overflow(x, code == RULE_ADD ? y : -y, &sum) && fraction(sum, ad * bd, &ret);
        break;
    }
    case RULE_MUL:
        fits = fraction(an * bn, ad * bd, &ret);
        break;
    case RULE_DIV:
        if (bn == 0)
            return absent(m, "it divides by zero");
        fits = fraction(bn < 0 ? -an * bd : an * bd, ad * (bn < 0 ? -bn : bn), &ret);
        break;
    default: {
        bool less = an * bd < bn * ad;
        return less == (code == RULE_MIN) ? a : b;
    }
    }
    return fits ? ret : absent(m, "a number in it is too large");
}

static struct number step(struct machine *m, const struct rule_op *op, struct number *stack, size_t *n)
{
    struct number ret = {.there = true, .meant = true};
    switch (op->code) {
    case RULE_NUMBER:
        fraction(op->v, NANO, &ret);
        return ret;
    case RULE_LOOK:
        return look_number(m, op);
    case RULE_MATCH:
        return look_match(m, op);
    default:
        *n -= 2;
        return combine(m, op->code, stack[*n], stack[*n + 1]);
    }
}

int rule_expr_run(const struct rule_expr *e, struct run_node *run, const struct rule_listener *told, int32_t *ret,
                  char because[RULE_BECAUSE])
{
    struct number stack[RULE_OPS] = {0}; /* an expression has at least one operation */
    char room[RULE_BECAUSE];
    struct machine m = {run, told, false, because ? because : room};
    size_t n = 0;

    m.because[0] = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct rule_op *op = &e->ops[i];
        if (op->code != RULE_OR) {
            struct number v = step(&m, op, stack, &n);
            stack[n++] = v;
            if (m.needs_metadata)
                return -EAGAIN;
        } else if (stack[n - 1].there && stack[n - 1].n) {
            i = (size_t)op->to - 1u;
        } else {
            n--;
        }
    }
    struct number v = stack[0];
    int why = -ENODATA;
    if (v.there && v.n == 0 && !v.meant)
        absent(&m, "it is zero, which says nothing");
    else if (v.there && v.n < 0)
        absent(&m, "it is below zero");
    else if (v.there && v.d > 0 && v.n > (__int128)RULE_GPUS_MAX * v.d)
        absent(&m, "it is too large");
    else if (v.there)
        why = 0;
    if (why == 0 && v.d > 0)
        *ret = (int32_t)((2 * (__int128)v.n + v.d) / (2 * (__int128)v.d));
    return why;
}
