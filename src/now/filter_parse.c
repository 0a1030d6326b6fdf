/*
 * filter_parse.c: compiles a filter's text. Recursive descent; only parentheses recurse, with a limit. Names are
 * defined in filter_names.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "now/filter.h"
#include "now/filter_names.h"

#define VALUE_MAX 128

struct parser {
    struct str text;
    size_t at, conditions, waiting, depth;
    const char *me;
    bool exact;            /* no bare words */
    struct filter_op mine; /* position of me in the pool */
    const char *before;    /* context for errors: "after 'and'" */
    struct filter *f;
    struct filter_err *err;
};

/* ---- errors ---- */

static unsigned column_of(const struct parser *p, size_t at)
{
    unsigned column = 1;

    for (size_t i = 0; i < at && i < p->text.len; i++)
        column += ((unsigned char)p->text.p[i] & 0xc0) != 0x80;
    return column;
}

__attribute__((format(printf, 3, 4))) static int fail(struct parser *p, size_t at, const char *fmt, ...)
{
    va_list ap;

    p->err->column = column_of(p, at);
    va_start(ap, fmt);
    vsnprintf(p->err->message, sizeof(p->err->message), fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* The shown part of a text, cut at a character boundary. */
#define SHOWN(s) shown(s), (s).p /* for "%.*s" */
static int shown(struct str s)
{
    size_t n = MIN(s.len, 40u);

    while (n && n < s.len && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

/* ---- the program ---- */

static int emit(struct parser *p, struct filter_op op)
{
    struct filter *f = p->f;

    VEC_ADD(f->ops, f->n, f->cap, op);
    return 0;
}

static int emit_condition(struct parser *p, struct filter_op op, size_t at)
{
    if (++p->conditions > FILTER_TERMS)
        return fail(p, at, "a filter has at most %d conditions", FILTER_TERMS);
    assert(p->waiting < FILTER_STACK);
    return emit(p, op);
}

/* Adds a text to the pool, in lower case. */
static void pool_add(struct parser *p, struct filter_op *op, struct str value)
{
    struct filter *f = p->f;

    assert(f->pool_len + value.len <= sizeof(f->pool));
    op->to = (uint16_t)f->pool_len;
    op->len = (uint16_t)value.len;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        f->pool[f->pool_len++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
}

/* ---- reading ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_word(char c)
{
    return is_blank(c) || strchr("()\"':=!<>", c) != NULL; /* the text contains no NUL */
}

static char peek(const struct parser *p)
{
    return p->at < p->text.len ? p->text.p[p->at] : 0;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->text.len && is_blank(p->text.p[p->at]))
        p->at++;
}

/* The word at the current position, without consuming it. */
static struct str word_here(const struct parser *p)
{
    struct str rest = str_drop(p->text, p->at);

    return str_n(rest.p, FIRST(rest.len, i, ends_word(rest.p[i])));
}

static bool take_keyword(struct parser *p, const char *keyword)
{
    struct str w = word_here(p);

    if (!str_eq_nocase(w, keyword))
        return false;
    p->at += w.len;
    return true;
}

static int take_cmp(struct parser *p, struct str *ret)
{
    static const struct {
        const char *text;
        enum cmp cmp;
    } ops[] = {{"<=", CMP_LE}, {">=", CMP_GE}, {"!=", CMP_NE}, {"==", CMP_EQ},
               {"<", CMP_LT},  {">", CMP_GT},  {"=", CMP_EQ},  {":", CMP_EQ}};

    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_starts(str_n(p->text.p + p->at, p->text.len - p->at), ops[i].text)) {
            *ret = str_n(p->text.p + p->at, strlen(ops[i].text));
            p->at += ret->len;
            return (int)ops[i].cmp;
        }
    return -1;
}

struct value {
    struct str text;
    size_t at; /* start */
    bool quoted;
};

/* Quoted, or up to a space or one of ends. */
static int take_text(struct parser *p, const char *ends, struct value *ret)
{
    struct str rest = str_drop(p->text, p->at);
    char quote = peek(p);

    *ret = (struct value){.at = p->at, .quoted = quote == '"' || quote == '\''};
    if (ret->quoted) {
        const char *end = memchr(rest.p + 1, quote, rest.len - 1);
        if (!end)
            return fail(p, p->at, "expected a second %c for this one", quote);
        ret->text = str_n(rest.p + 1, (size_t)(end - rest.p) - 1);
    } else {
        ret->text = str_n(rest.p, FIRST(rest.len, i, is_blank(rest.p[i]) || strchr(ends, rest.p[i])));
    }
    p->at += ret->text.len + (ret->quoted ? 2 : 0);
    return 0;
}

static int take_value(struct parser *p, struct value *ret)
{
    int r = take_text(p, "()\"'", ret);

    return r == 0 && ret->text.len > VALUE_MAX ? fail(p, ret->at, "expected at most %d bytes here", VALUE_MAX) : r;
}

/* A user-defined name of a label or metric. */
static int take_name(struct parser *p, const char *ends, const char *what, struct value *ret)
{
    bool quoted = peek(p) == '"' || peek(p) == '\'';
    int r = quoted ? take_value(p, ret) : take_text(p, ends, ret);

    if (r == 0 && (!ret->text.len || ret->text.len > VALUE_MAX))
        return fail(p, ret->at, "expected a %s's name after '%s:'", what, what);
    return r;
}

/* ---- values ---- */

static const char *const unit_wants[UNIT_COUNT] = {
    [UNIT_NONE] = "a number such as 4",          [UNIT_RATIO] = "a share such as 50%",
    [UNIT_BYTES] = "a size such as 40G",         [UNIT_BYTES_S] = "a rate such as 2G/s",
    [UNIT_CELSIUS] = "a temperature such as 80", [UNIT_WATTS] = "a power such as 300W",
    [UNIT_JOULES] = "an energy such as 2kWh",    [UNIT_HERTZ] = "a clock such as 1500MHz",
    [UNIT_SECONDS] = "a time such as 2h",        [UNIT_MASK] = "a number",
    [UNIT_FLOPS] = "TFLOP/s such as 300",
};

static bool cut_suffix(struct str s, const char *suffix, struct str *ret)
{
    size_t n = strlen(suffix);

    if (s.len < n || !str_eq_nocase(str_n(s.p + s.len - n, n), suffix))
        return false;
    *ret = str_n(s.p, s.len - n);
    return true;
}

/* Decimal number with a unit suffix, in stored steps. Longer suffixes are tried first. */
static bool number_of(struct str s, enum unit unit, int64_t per, int64_t *ret)
{
    static const struct {
        enum unit unit;
        const char *suffix;
        int64_t times, by;
    } suffixes[] = {
        {UNIT_RATIO, "%", 1, 100},       {UNIT_RATIO, "", 1, 100},        {UNIT_CELSIUS, "°C", 1, 1},
        {UNIT_CELSIUS, "C", 1, 1},       {UNIT_CELSIUS, "", 1, 1},        {UNIT_WATTS, "kW", 1000, 1},
        {UNIT_WATTS, "W", 1, 1},         {UNIT_WATTS, "", 1, 1},          {UNIT_JOULES, "kWh", 3600000, 1},
        {UNIT_JOULES, "Wh", 3600, 1},    {UNIT_JOULES, "MJ", 1000000, 1}, {UNIT_JOULES, "kJ", 1000, 1},
        {UNIT_JOULES, "J", 1, 1},        {UNIT_JOULES, "", 1, 1},         {UNIT_HERTZ, "GHz", 1000000000, 1},
        {UNIT_HERTZ, "MHz", 1000000, 1}, {UNIT_HERTZ, "kHz", 1000, 1},    {UNIT_HERTZ, "Hz", 1, 1},
        {UNIT_NONE, "", 1, 1},           {UNIT_MASK, "", 1, 1},           {UNIT_FLOPS, "PFLOP/s", 1000, 1},
        {UNIT_FLOPS, "TFLOP/s", 1, 1},   {UNIT_FLOPS, "", 1, 1},
    };
    struct str digits;

    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (suffixes[i].unit == unit && cut_suffix(s, suffixes[i].suffix, &digits))
            return str_fixed(str_trim(digits), per * suffixes[i].times / suffixes[i].by, ret);
    return false;
}

/* Sizes and clocks need a unit: 40 bytes of memory or 1500 Hz is never intended. 0 is valid in any unit. */
static bool unit_value(struct str s, enum metric m, int64_t *ret)
{
    const struct metric_info *mi = &metrics[m];
    int64_t v;

    if (str_int(s, &v) && v == 0) {
        *ret = 0;
        return true;
    }
    if (mi->unit == UNIT_SECONDS)
        return str_duration_ms(s, &v) && !__builtin_mul_overflow(v, mi->per, &v) && (*ret = v / 1000, true);
    if (mi->unit != UNIT_BYTES && mi->unit != UNIT_BYTES_S)
        return number_of(s, mi->unit, mi->per, ret);
    if (mi->unit == UNIT_BYTES_S)
        cut_suffix(s, "/s", &s);
    return s.len && (s.p[s.len - 1] > '9' || s.p[s.len - 1] < '0') && str_bytes(s, ret);
}

/* The throttle reasons whose text contains this word, as bits. */
static bool throttle_bits(struct str s, int64_t *ret)
{
    int64_t bits = 0;

    if (str_eq_nocase(s, "none")) {
        *ret = 0;
        return true;
    }
    for (int i = 0; i < 63; i++) {
        AUTO_BUF b = BUF_INIT(256);
        char low[VALUE_MAX];
        throttle_words(&b, 1ull << i);
        if (str_starts(buf_str(&b), "0x"))
            break;
        for (size_t k = 0; k < s.len; k++)
            low[k] = s.p[k] >= 'A' && s.p[k] <= 'Z' ? (char)(s.p[k] + 32) : s.p[k];
        if (s.len && memmem(b.p, b.len, low, s.len))
            bits |= 1ll << i;
    }
    *ret = bits;
    return bits != 0;
}

/* The advice rules with this name or pattern, as bits. */
static bool advice_bits(struct str s, int64_t *ret)
{
    int64_t bits = 0;
    char low[VALUE_MAX];

    if (s.len > sizeof(low))
        return false;
    for (size_t k = 0; k < s.len; k++)
        low[k] = s.p[k] >= 'A' && s.p[k] <= 'Z' ? (char)(s.p[k] + 32) : s.p[k];
    struct str want = str_n(low, s.len);
    for (int i = 0; i < ADVICE_COUNT; i++)
        if (str_glob(want, str_of(advice_rules[i].name)))
            bits |= 1ll << i;
    *ret = bits;
    return bits || str_eq(want, "none");
}

static const char *wants(const struct filter_field *f)
{
    static const char *const words_of[] = {
        [TAKE_COUNT] = "a whole number",
        [TAKE_SPAN] = "a time such as 30m or 2h",
        [TAKE_STATE] = "free, held, busy, unknown, starting, offline, hung or lost",
        [TAKE_THROTTLE] = "power, thermal, slowdown, idle, none or another word of a reason",
        [TAKE_ADVICE] = "starved, fp32, small-kernels or another rule's name, none, or * for any,",
        [TAKE_NAME] = "a name, or a pattern such as dgx*,",
        [TAKE_PART] = "some text, or a pattern such as 580*,",
    };

    return f->take != TAKE_UNIT     ? words_of[f->take]
           : f->which == M_mem_used ? "a size such as 40G, or a share such as 50%,"
                                    : unit_wants[metrics[f->which].unit];
}

static enum text_match match_of(const struct value *v, bool whole)
{
    bool glob = !v->quoted && ANY(v->text.len, i, strchr("*?[", v->text.p[i]));

    return glob ? TEXT_GLOB : whole ? TEXT_WHOLE : TEXT_PART;
}

/* Parses the value into op. Returns false if the field does not accept it. */
static bool set_value(struct parser *p, const struct filter_field *f, const struct value *v, bool whole,
                      struct filter_op *op)
{
    struct str share;
    const struct filter_word *w;

    switch (f->take) {
    case TAKE_UNIT:
        if (f->which == M_mem_used && cut_suffix(v->text, "%", &share)) { /* of the total memory */
            op->get = f->get == GET_MEM_FREE ? GET_FREE_SHARE : GET_MEM_SHARE;
            return str_fixed(share, 10000, &op->v);
        }
        return unit_value(v->text, (enum metric)f->which, &op->v);
    case TAKE_COUNT:
        return str_int(v->text, &op->v);
    case TAKE_SPAN:
        p->f->timed = true;
        return str_duration_ms(v->text, &op->v);
    case TAKE_STATE:
        w = filter_word(v->text);
        if (!w || w->get != GET_STATE)
            return false;
        op->v = w->bits;
        return true;
    case TAKE_THROTTLE:
        return throttle_bits(v->text, &op->v);
    case TAKE_ADVICE:
        return advice_bits(v->text, &op->v);
    case TAKE_NAME:
    case TAKE_PART:
        break;
    }
    op->match = (uint8_t)match_of(v, f->take == TAKE_NAME || whole);
    pool_add(p, op, v->text);
    return v->text.len > 0;
}

/* ---- grammar ---- */

/* How a condition is evaluated, by the value it reads; values not listed are numbers. */
static const uint8_t codes[] = {
    [GET_STATE] = OP_SET,           [GET_THROTTLE] = OP_SET,      [GET_FLAGS] = OP_SET,
    [GET_ADVICE] = OP_SET,          [GET_NODE_TEXT] = OP_TEXT,    [GET_DEVICE_TEXT] = OP_TEXT,
    [GET_BOOKER] = OP_TEXT,         [GET_SLURM] = OP_PROC_NUMBER, [GET_PID] = OP_PROC_NUMBER,
    [GET_PROC_TEXT] = OP_PROC_TEXT, [GET_PROC_WHO] = OP_PROC_WHO,
};
_Static_assert(OP_NUMBER == 0, "what codes[] leaves out");

static int take_comparison(struct parser *p, const struct filter_field *f, struct str name, size_t at, struct str sign,
                           enum cmp cmp)
{
    struct filter_op op = {.get = (uint8_t)f->get, .cmp = (uint8_t)cmp, .which = (uint16_t)f->which};
    bool ordered = f->take == TAKE_UNIT || f->take == TAKE_COUNT || f->take == TAKE_SPAN;
    struct value v = {0};

    if (!ordered && cmp != CMP_EQ && cmp != CMP_NE)
        return fail(p, (size_t)(sign.p - p->text.p), "expected : = or != after '%.*s', which has no order",
                    SHOWN(name));
    skip_blanks(p);
    int r = take_value(p, &v);
    if (r < 0)
        return r;
    if (!set_value(p, f, &v, sign.p[0] != ':', &op))
        return fail(p, v.at, "expected %s after '%.*s%.*s'", wants(f), SHOWN(name), STR_ARG(sign));
    op.code = codes[op.get];
    return emit_condition(p, op, at);
}

#define CUSTOM_FINE 10000 /* custom metrics are compared to 1/10000, or to 1 if the number is too large */

/* Parses the rest after "label:": a name and optionally a comparison and a value. */
static int take_label(struct parser *p, size_t at)
{
    struct filter_op op = {.code = OP_LABEL, .cmp = CMP_EQ}, key = {0};
    struct value name = {0}, v = {.text = STR("*")};
    struct str sign = STR(":");
    int r = take_name(p, "()\"':=!<>", "label", &name);

    if (r < 0)
        return r;
    size_t behind = p->at;
    skip_blanks(p);
    size_t sign_at = p->at;
    int cmp = take_cmp(p, &sign);
    if (cmp < 0) { /* any value */
        p->at = behind;
    } else if (cmp != CMP_EQ && cmp != CMP_NE) {
        return fail(p, sign_at, "expected : = or != after 'label:%.*s', which has no order", SHOWN(name.text));
    } else {
        skip_blanks(p);
        if ((r = take_value(p, &v)) < 0)
            return r;
        if (!v.text.len)
            return fail(p, v.at, "expected some text, or a pattern such as a*, after 'label:%.*s%.*s'",
                        SHOWN(name.text), STR_ARG(sign));
        op.cmp = (uint8_t)cmp;
    }
    op.get = (uint8_t)match_of(&name, true);
    op.match = (uint8_t)match_of(&v, sign.p[0] != ':');
    pool_add(p, &key, name.text);
    op.which = key.to;
    op.v = key.len;
    pool_add(p, &op, v.text);
    return emit_condition(p, op, at);
}

/* Parses the rest after "metric:": a name, a comparison, a number in the display unit. */
static int take_custom(struct parser *p, size_t at)
{
    struct filter_op op = {.code = OP_CUSTOM};
    struct filter_field scratch;
    struct value name = {0}, v;
    struct str sign, share;

    int r = take_name(p, "()\"'=!<>", "metric", &name);
    if (r < 0)
        return r;
    skip_blanks(p);
    size_t behind = p->at;
    int cmp = peek(p) == ':' ? -1 : take_cmp(p, &sign);
    if (cmp < 0)
        return fail(p, behind, "expected one of = != < <= > >= and a number after 'metric:%.*s'", SHOWN(name.text));
    const struct filter_field *known = name.quoted ? NULL : filter_field(name.text, &scratch);
    if (known == &scratch) /* a built-in metric, by its full name */
        return take_comparison(p, known, name.text, at, sign, (enum cmp)cmp);
    skip_blanks(p);
    r = take_value(p, &v);
    if (r < 0)
        return r;
    op.cmp = (uint8_t)cmp;
    op.which = CUSTOM_FINE;
    bool percent = cut_suffix(v.text, "%", &share),
         good = str_fixed(percent ? share : v.text, percent ? CUSTOM_FINE / 100 : CUSTOM_FINE, &op.v);
    if (!good) { /* a value like 40G, or an overflow */
        op.which = 1;
        good = str_fixed(v.text, 1, &op.v) || str_bytes(v.text, &op.v);
    }
    if (!good)
        return fail(p, v.at, "expected a number such as 4, 40G or 50%% after 'metric:%.*s%.*s'", SHOWN(name.text),
                    STR_ARG(sign));
    op.match = (uint8_t)match_of(&name, true);
    pool_add(p, &op, name.text);
    return emit_condition(p, op, at);
}

/* Matches a person, login, node, model or program of this name: several conditions joined by `or`. */
static int take_bare(struct parser *p, struct str name, size_t at)
{
    static const struct {
        enum get get;
        size_t which;
        bool whole;
    } of[KINDS] = {
        [KIND_PERSON] = {GET_PROC_WHO, WHO_PERSON, true},
        [KIND_LOGIN] = {GET_PROC_TEXT, offsetof(struct proc_fact, user), true},
        [KIND_NODE] = {GET_NODE_TEXT, offsetof(struct node_now, name), true},
        [KIND_MODEL] = {GET_DEVICE_TEXT, offsetof(struct device_now, fact.name), false},
        [KIND_PROGRAM] = {GET_PROC_TEXT, offsetof(struct proc_fact, name), false},
    };
    struct value v = {.text = name};
    struct filter_op text = {0};
    struct filter *f = p->f;

    if (name.len > VALUE_MAX)
        return fail(p, at, "expected at most %d bytes here", VALUE_MAX);
    if (f->n_words == FILTER_WORDS)
        return fail(p, at, "a filter has at most %d bare words: say what this one is, as in host:%.*s or user:%.*s",
                    FILTER_WORDS, SHOWN(name), SHOWN(name));
    if (p->conditions + KINDS > FILTER_TERMS)
        return fail(p, at, "a filter has at most %d conditions; a bare word counts as %d", FILTER_TERMS, KINDS);
    pool_add(p, &text, name);
    f->words[f->n_words++] = (uint16_t)f->n;
    for (int i = 0; i < KINDS; i++) {
        struct filter_op op = {.code = codes[of[i].get], .get = (uint8_t)of[i].get, .which = (uint16_t)of[i].which};
        size_t from = f->n;
        op.match = (uint8_t)match_of(&v, of[i].whole);
        op.to = text.to;
        op.len = text.len;
        if (i)
            emit(p, (struct filter_op){.code = OP_OR_SKIP});
        p->waiting += i > 0;
        emit_condition(p, op, at);
        p->waiting -= i > 0;
        if (i) {
            emit(p, (struct filter_op){.code = OP_OR});
            f->ops[from].to = (uint16_t)f->n;
        }
    }
    return 0;
}

bool filter_describe(const struct filter *f, const struct filter_kinds *k, char out[FILTER_SAID])
{
    static const char *const words_of[KINDS] = {"person", "login", "node", "model", "program"};
    AUTO_BUF said = BUF_INIT(FILTER_SAID - 1);
    bool odd = false;

    for (size_t w = 0; w < f->n_words; w++) {
        const struct filter_op *op = &f->ops[f->words[w]];
        struct str name = str_n(f->pool + op->to, op->len);
        unsigned is = k->of[w] & 1 << KIND_PERSON ? k->of[w] & ~(1u << KIND_LOGIN) : k->of[w];
        buf_addf(&said, "%s%.*s: ", w ? ", " : "", SHOWN(name));
        for (int i = 0, n = 0; i < KINDS; i++)
            if (is & 1u << i)
                buf_addf(&said, "%s%s", n++ ? " and " : "", words_of[i]);
        const char *near = is ? NULL : filter_near(name);
        if (!is)
            buf_adds(&said, "no person, node, model or program");
        if (near)
            buf_addf(&said, "; did you mean '%s'?", near);
        odd = odd || !is;
    }
    snprintf(out, FILTER_SAID, "%s", f->n_words ? buf_str(&said).p : "");
    return odd;
}

static int take_word(struct parser *p, struct str name, size_t at)
{
    const struct filter_word *w = filter_word(name);
    struct filter_field scratch;

    if (!w) {
        const char *near = filter_near(name);
        if (str_eq_nocase(name, "metric"))
            return fail(p, at + name.len, "expected ':' and a metric's name, as in metric:tokens>100");
        if (str_eq_nocase(name, "label"))
            return fail(p, at + name.len, "expected ':' and a label's name, as in label:rack=a1");
        if (filter_field(name, &scratch))
            return fail(p, at + name.len, "expected one of : = != < <= > >= and a value after '%.*s'", SHOWN(name));
        if (!p->exact)
            return take_bare(p, name, at);
        if (near)
            return fail(p, at, "'%.*s' is not known: did you mean '%s'?", SHOWN(name), near);
        return fail(p, at, "'%.*s' is not known: expected a condition such as free, host:%.*s or mem>40G", SHOWN(name),
                    SHOWN(name));
    }
    struct filter_op op = {.code = OP_SET, .get = (uint8_t)w->get, .v = w->bits};
    if (w->get == GET_PROC_WHO) {
        if (!p->me || !p->me[0])
            return fail(p, at, "'mine' needs a user: send a member's token, or write user:NAME");
        op.code = OP_PROC_WHO;
        op.which = WHO_ME;
        op.match = TEXT_WHOLE;
        if (!p->f->mine) /* add it only once */
            pool_add(p, &p->mine, str_n(p->me, strnlen(p->me, VALUE_MAX)));
        op.to = p->mine.to;
        op.len = p->mine.len;
        p->f->mine = true;
    }
    return emit_condition(p, op, at);
}

static int take_condition(struct parser *p)
{
    size_t at = p->at;
    struct str name = word_here(p), sign;
    struct filter_field scratch;

    if (!name.len)
        return fail(p, at, "expected a condition such as free or mem>40G%s", p->before);
    if (str_eq_nocase(name, "and") || str_eq_nocase(name, "or"))
        return fail(p, at, "expected a condition%s, not '%.*s'", p->before, STR_ARG(name));
    p->at += name.len;
    size_t behind = p->at;
    skip_blanks(p);
    int cmp = take_cmp(p, &sign);
    if (cmp < 0) {
        p->at = behind;
        return take_word(p, name, at);
    }
    if (str_eq_nocase(name, "metric") && sign.p[0] == ':')
        return take_custom(p, at);
    if (str_eq_nocase(name, "label")) {
        if (sign.p[0] == ':')
            return take_label(p, at);
        return fail(p, (size_t)(sign.p - p->text.p), "expected ':' and a label's name, as in label:rack=a1");
    }
    const struct filter_field *f = filter_field(name, &scratch);
    if (f)
        return take_comparison(p, f, name, at, sign, (enum cmp)cmp);
    if (filter_word(name))
        return fail(p, (size_t)(sign.p - p->text.p), "'%.*s' stands alone: expected nothing to compare it with",
                    SHOWN(name));
    const char *near = filter_near(name);
    if (near)
        return fail(p, at, "'%.*s' is not known: did you mean '%s'?", SHOWN(name), near);
    return fail(p, at, "'%.*s' is not known: expected a name such as user, model, host, mem or a metric's",
                SHOWN(name));
}

static int take_or(struct parser *p);

static int take_not(struct parser *p)
{
    bool odd = false;

    skip_blanks(p);
    while (take_keyword(p, "not")) {
        odd = !odd;
        p->before = " after 'not'";
        skip_blanks(p);
    }
    int r;
    if (peek(p) == '(') {
        size_t at = p->at++;
        if (++p->depth > FILTER_DEPTH)
            return fail(p, at, "parentheses nest at most %d deep", FILTER_DEPTH);
        p->before = " after '('";
        r = take_or(p);
        if (r < 0)
            return r;
        if (peek(p) != ')')
            return fail(p, p->at, "expected ')' for the '(' in column %u", column_of(p, at));
        p->at++;
        p->depth--;
    } else {
        r = take_condition(p);
    }
    if (r == 0 && odd)
        emit(p, (struct filter_op){.code = OP_NOT});
    return r;
}

/* Parses the right side of an `and` or `or`; the left side is done. */
static int take_right(struct parser *p, int (*side)(struct parser *), enum op_code skip, enum op_code join)
{
    size_t from = p->f->n;

    emit(p, (struct filter_op){.code = (uint8_t)skip});
    p->waiting++;
    int r = side(p);
    p->waiting--;
    if (r < 0)
        return r;
    emit(p, (struct filter_op){.code = (uint8_t)join});
    p->f->ops[from].to = (uint16_t)p->f->n;
    return 0;
}

static int take_and(struct parser *p)
{
    int r = take_not(p);

    for (;;) {
        if (r < 0)
            return r;
        skip_blanks(p);
        if (p->at == p->text.len || peek(p) == ')' || str_eq_nocase(word_here(p), "or"))
            return 0;
        p->before = take_keyword(p, "and") ? " after 'and'" : "";
        r = take_right(p, take_not, OP_AND_SKIP, OP_AND);
    }
}

static int take_or(struct parser *p)
{
    int r = take_and(p);

    while (r == 0 && take_keyword(p, "or")) {
        p->before = " after 'or'";
        r = take_right(p, take_and, OP_OR_SKIP, OP_OR);
    }
    return r;
}

static int parse(struct parser *p)
{
    if (p->text.len > FILTER_MAX)
        return fail(p, FILTER_MAX, "a filter has at most %d bytes", FILTER_MAX);
    for (size_t i = 0; i < p->text.len; i++)
        if (((unsigned char)p->text.p[i] < 32 && !is_blank(p->text.p[i])) || p->text.p[i] == 127)
            return fail(p, i, "expected text, not a control character");
    int r = take_or(p);
    if (r == 0 && p->at < p->text.len) /* only an error leaves text */
        return fail(p, p->at, "there is no '(' for this ')'");
    return r;
}

static int make_filter(struct str text, const char *me, bool exact, struct filter **ret, struct filter_err *err)
{
    struct filter *f = mem_zero(1, sizeof(*f));
    struct parser p = {.text = text, .me = me, .exact = exact, .before = "", .f = f, .err = err};
    int r = parse(&p);

    if (r < 0) {
        filter_free(f);
        return r;
    }
    text = str_trim(text);
    f->text = mem_strn(text.p, text.len);
    f->key = f->mine ? mem_fmt("%s\x1f%.*s", f->text, VALUE_MAX, me) : mem_str(f->text);
    *ret = f;
    return 0;
}

int filter_new(struct str text, const char *me, struct filter **ret, struct filter_err *err)
{
    return make_filter(text, me, false, ret, err);
}

int filter_new_exact(struct str text, const char *me, struct filter **ret, struct filter_err *err)
{
    return make_filter(text, me, true, ret, err);
}
