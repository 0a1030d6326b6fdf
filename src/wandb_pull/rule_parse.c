/*
 * rule_parse.c: compiles the text of an expression. Recursive descent; only parentheses recurse, with limited depth.
 *
 *   expr  = sum { "or" sum }          sum = term { ("+" | "-") term }      term = value { ("*" | "/") value }
 *   value = number | name | "match" "(" name "," string ")" | ("min" | "max") "(" expr { "," expr } ")" | "(" expr ")"
 *   name  = word { "." word | "[" string "]" }
 */
#include <errno.h>
#include <stdarg.h>

#include "base/mem.h"
#include "base/order.h"
#include "wandb_pull/rule_expr.h"

struct parse {
    struct rule_expr *e;
    struct str text;
    size_t at;
    int depth;
    struct err *err;
};

static const struct rule_source sources[] = {
    {"config", SOURCE_JSON, offsetof(struct run_node, config), RUN_CONFIG},
    {"summary", SOURCE_JSON, offsetof(struct run_node, summary), RUN_SUMMARY},
    {"metadata", SOURCE_JSON, offsetof(struct run_node, metadata), RUN_METADATA},
    {"description", SOURCE_TEXT, offsetof(struct run_node, description), RUN_DESCRIPTION},
    {"display", SOURCE_TEXT, offsetof(struct run_node, display), 0},
    {"host", SOURCE_TEXT, offsetof(struct run_node, host), 0},
    {"gpu", SOURCE_TEXT, offsetof(struct run_node, gpu), 0},
    {"gpu_count", SOURCE_COUNT, offsetof(struct run_node, gpus), 0},
    {"cpu_count", SOURCE_COUNT, offsetof(struct run_node, cpus), RUN_CPUS},
};
#define NAMES "config.NAME, summary.NAME, metadata.NAME, description, display, host, gpu, gpu_count, cpu_count"

__attribute__((format(printf, 3, 4))) static int fail_at(struct parse *s, size_t at, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return err_set(s->err, -EINVAL, "column %zu: %s", at + 1, what);
}

/* ---- tokens ---- */

static void blanks(struct parse *s)
{
    while (s->at < s->text.len && strchr(" \t\r\n", s->text.p[s->at]))
        s->at++;
}

static bool took(struct parse *s, char c)
{
    blanks(s);
    if (s->at == s->text.len || s->text.p[s->at] != c)
        return false;
    s->at++;
    return true;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str read_word(struct parse *s)
{
    size_t from = s->at;
    while (s->at < s->text.len && (letter(s->text.p[s->at]) || digit(s->text.p[s->at])))
        s->at++;
    return str_n(s->text.p + from, s->at - from);
}

/* Consumes the next word if it is this one. */
static bool took_word(struct parse *s, const char *word)
{
    blanks(s);
    size_t from = s->at;
    if (str_eq(read_word(s), word))
        return true;
    s->at = from;
    return false;
}

/*
 * Reads "text" or 'text'. Removes only backslashes before a quote of the same kind: the others belong to the pattern.
 */
static int read_string(struct parse *s, struct str *ret)
{
    blanks(s);
    size_t from = s->at;
    char quote = from < s->text.len ? s->text.p[from] : 0;
    if (quote != '"' && quote != '\'')
        return fail_at(s, from, "expected text in quotes");
    char *room = arena_alloc(&s->e->arena, s->text.len - from + 1, 1), *to = room;
    for (s->at++; s->at < s->text.len && s->text.p[s->at] != quote; s->at++) {
        if (s->text.p[s->at] == '\\' && s->at + 1 < s->text.len) {
            if (s->text.p[s->at + 1] != quote)
                *to++ = '\\';
            s->at++;
        }
        *to++ = s->text.p[s->at];
    }
    if (s->at == s->text.len)
        return fail_at(s, from, "the quotes are not closed");
    s->at++;
    *ret = str_n(room, (size_t)(to - room));
    return 0;
}

/* ---- operations ---- */

static int emit(struct parse *s, struct rule_op op, size_t at)
{
    if (s->e->n == RULE_OPS)
        return fail_at(s, at, "too long: more than %d names, numbers and operations", RULE_OPS);
    s->e->ops[s->e->n++] = op;
    return 0;
}

static int read_number(struct parse *s)
{
    size_t from = s->at;
    int64_t v;
    while (s->at < s->text.len && (digit(s->text.p[s->at]) || s->text.p[s->at] == '.'))
        s->at++;
    if (!str_fixed(str_n(s->text.p + from, s->at - from), 1000000000, &v) ||
        (s->at < s->text.len && letter(s->text.p[s->at])))
        return fail_at(s, from, "expected a number, as 8 or 0.5");
    return emit(s, (struct rule_op){.code = RULE_NUMBER, .v = v}, from);
}

static int read_parts(struct parse *s, struct rule_op *op)
{
    for (;;) {
        struct str part;
        size_t at = s->at;
        if (s->at < s->text.len && s->text.p[s->at] == '.') {
            s->at++;
            part = read_word(s);
            if (!part.len)
                return fail_at(s, s->at, "expected a name behind the dot");
        } else if (s->at < s->text.len && s->text.p[s->at] == '[') {
            s->at++;
            int r = read_string(s, &part);
            if (r < 0)
                return r;
            if (!took(s, ']'))
                return fail_at(s, s->at, "expected ']'");
        } else {
            return 0;
        }
        if (op->n_parts == RULE_PARTS)
            return fail_at(s, at, "more than %d parts", RULE_PARTS);
        op->parts[op->n_parts++] = part;
    }
}

/* Parses a name from its first word: the field to read, but not the operation. */
static int read_name(struct parse *s, size_t from, struct str word, struct rule_op *ret)
{
    const struct rule_source *found = FIND(sources, ARRAY_LEN(sources), e, str_eq(word, e->name));
    if (!found)
        return fail_at(s, from, "'%.*s' is not known: there are " NAMES ", match(), min() and max()",
                       (int)MIN(word.len, 40u), word.p);
    ret->source = found;
    int r = read_parts(s, ret);
    if (r < 0)
        return r;
    bool parts = found->kind == SOURCE_JSON;
    if (parts != (ret->n_parts > 0))
        return fail_at(s, from, parts ? "expected a name within it, as %s.num_nodes" : "'%s' has no parts",
                       found->name);
    ret->name = arena_strn(&s->e->arena, s->text.p + from, s->at - from);
    s->e->fields |= found->field;
    return 0;
}

static int read_match(struct parse *s, size_t from)
{
    struct rule_op op = {.code = RULE_MATCH};
    struct str regex = {0};
    if (!took(s, '('))
        return fail_at(s, s->at, "expected '(': match(description, \"([0-9]+)Node\")");
    blanks(s);
    size_t at = s->at;
    int r = read_name(s, at, read_word(s), &op);
    if (r == 0 && !took(s, ','))
        r = fail_at(s, s->at, "expected ',' and a regular expression in quotes");
    blanks(s);
    at = s->at;
    r = r ?: read_string(s, &regex);
    struct err why = {0};
    if (r == 0 && pattern_new(regex, &op.pattern, &why) < 0)
        r = fail_at(s, at, "%s", why.msg);
    if (r == 0 && !took(s, ')'))
        r = fail_at(s, s->at, "expected ')'");
    r = r ?: emit(s, op, from);
    if (r < 0)
        pattern_free(op.pattern);
    return r;
}

static int read_expr(struct parse *s);

static int read_list(struct parse *s, enum rule_code code)
{
    if (!took(s, '('))
        return fail_at(s, s->at, "expected '('");
    int r = read_expr(s);
    while (r == 0 && took(s, ',')) {
        size_t at = s->at;
        r = read_expr(s) ?: emit(s, (struct rule_op){.code = code}, at);
    }
    if (r == 0 && !took(s, ')'))
        r = fail_at(s, s->at, "expected ',' or ')'");
    return r;
}

static int read_value(struct parse *s)
{
    struct rule_op op = {.code = RULE_LOOK};
    blanks(s);
    size_t from = s->at;
    if (took(s, '(')) {
        int r = read_expr(s);
        return r == 0 && !took(s, ')') ? fail_at(s, s->at, "expected ')'") : r;
    }
    if (s->at < s->text.len && (digit(s->text.p[s->at]) || s->text.p[s->at] == '.'))
        return read_number(s);
    struct str word = read_word(s);
    if (!word.len)
        return fail_at(s, from, "expected a number, a name or '('");
    if (str_eq(word, "match"))
        return read_match(s, from);
    if (str_eq(word, "min"))
        return read_list(s, RULE_MIN);
    if (str_eq(word, "max"))
        return read_list(s, RULE_MAX);
    int r = read_name(s, from, word, &op);
    return r < 0 ? r : emit(s, op, from);
}

/* Parses values with * or / between them; sum: such products, with + or - between those. */
static int read_chain(struct parse *s, bool sum)
{
    const char *signs = sum ? "+-" : "*/";
    enum rule_code codes[] = {sum ? RULE_ADD : RULE_MUL, sum ? RULE_SUB : RULE_DIV};
    int r = sum ? read_chain(s, false) : read_value(s);
    for (;;) {
        blanks(s);
        size_t at = s->at;
        if (r < 0 || (!took(s, signs[0]) && !took(s, signs[1])))
            return r;
        r = sum ? read_chain(s, false) : read_value(s);
        r = r ?: emit(s, (struct rule_op){.code = codes[s->text.p[at] == signs[1]]}, at);
    }
}

static int read_expr(struct parse *s)
{
    uint16_t ors[RULE_OPS];
    size_t n = 0;
    if (++s->depth > RULE_DEPTH)
        return fail_at(s, s->at, "nested too deeply: more than %d parentheses", RULE_DEPTH);
    int r = read_chain(s, true);
    while (r == 0 && took_word(s, "or")) {
        size_t at = s->at;
        ors[n++] = (uint16_t)s->e->n; /* at most as many as there are operations */
        r = emit(s, (struct rule_op){.code = RULE_OR}, at) ?: read_chain(s, true);
    }
    for (size_t i = 0; i < n && r == 0; i++)
        s->e->ops[ors[i]].to = (uint16_t)s->e->n;
    s->depth--;
    return r;
}

int rule_expr_new(struct str text, struct rule_expr **ret, struct err *err)
{
    if (text.len > RULE_TEXT_MAX)
        return err_set(err, -EINVAL, "column %d: too long: more than %d bytes", RULE_TEXT_MAX, RULE_TEXT_MAX);
    if (!str_utf8_ok(text))
        return err_set(err, -EINVAL, "column 1: expected plain text");
    struct rule_expr *e = NEW(struct rule_expr, .text = mem_strn(text.p, text.len));
    struct parse s = {.e = e, .text = str_n(e->text, text.len), .err = err};
    int r = read_expr(&s);
    blanks(&s);
    if (r == 0 && s.at < s.text.len)
        r = fail_at(&s, s.at, "expected + - * / or 'or'");
    if (r < 0)
        rule_expr_free(e);
    else
        *ret = e;
    return r;
}

void rule_expr_free(struct rule_expr *e)
{
    for (size_t i = 0; e && i < e->n; i++)
        pattern_free(e->ops[i].pattern);
    if (e) {
        arena_fini(&e->arena);
        free(e->text);
    }
    free(e);
}
