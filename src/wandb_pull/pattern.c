/*
 * pattern.c: runs regular expressions by Thompson's method. The expression is compiled to a program. All threads of it
 * step through the text together, the preferred one first. Jumps are relative, so that pieces of a program can be moved
 * and copied.
 */
#include "wandb_pull/pattern.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

#define REPEAT_MAX 200

enum code { CODE_SET, CODE_SPLIT, CODE_JUMP, CODE_SAVE, CODE_BEGIN, CODE_END, CODE_EDGE, CODE_NO_EDGE, CODE_MATCH };

struct set {
    uint64_t bits[4];
};

struct step {
    uint8_t code, slot; /* slot: of CODE_SAVE */
    int16_t a, b;       /* relative jump targets: a is tried first */
    struct set set;
};

struct pattern {
    size_t n;
    bool grouped;
    struct step steps[PATTERN_OPS];
};

struct parse {
    struct str text;
    size_t at;
    int depth;
    bool nocase;
    struct pattern *p;
    struct err *err;
};

static int fail(struct parse *s, const char *what)
{
    return err_set(s->err, -EINVAL, "%s at byte %zu of the regular expression", what, s->at + 1);
}

static bool more(const struct parse *s)
{
    return s->at < s->text.len;
}

static bool at(const struct parse *s, char c)
{
    return more(s) && s->text.p[s->at] == c;
}

static bool took(struct parse *s, char c)
{
    if (!at(s, c))
        return false;
    s->at++;
    return true;
}

/* ---- sets of bytes ---- */

static void set_add(struct set *s, unsigned char lo, unsigned char hi)
{
    for (unsigned c = lo; c <= hi; c++)
        s->bits[c / 64] |= 1ull << c % 64;
}

static bool set_has(const struct set *s, unsigned char c)
{
    return s->bits[c / 64] >> c % 64 & 1;
}

static void set_not(struct set *s)
{
    for (int i = 0; i < 4; i++)
        s->bits[i] = ~s->bits[i];
}

static void set_nocase(struct set *s)
{
    for (int k = 0; k < 26; k++) {
        unsigned char small = (unsigned char)('a' + k), large = (unsigned char)('A' + k);
        if (set_has(s, small) || set_has(s, large)) {
            set_add(s, small, small);
            set_add(s, large, large);
        }
    }
}

/* \d \w \s and their opposites; false: another letter. */
static bool set_class(struct set *ret, char c)
{
    static const char kinds[] = "dws", *const ranges[] = {"09", "09azAZ__", "\t\r  "};
    const char *kind = strchr(kinds, c | 32);
    struct set s = {0};
    if (!kind)
        return false;
    for (const char *r = ranges[kind - kinds]; *r; r += 2)
        set_add(&s, (unsigned char)r[0], (unsigned char)r[1]);
    if (c < 'a')
        set_not(&s);
    for (int i = 0; i < 4; i++)
        ret->bits[i] |= s.bits[i];
    return true;
}

static unsigned char escaped(char c)
{
    return (unsigned char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
}

/* One byte of [...]; -1: a class like \d, which is in ret then. */
static int set_item(struct parse *s, struct set *ret)
{
    char c = s->text.p[s->at++];
    if (c != '\\' || !more(s))
        return (unsigned char)c;
    c = s->text.p[s->at++];
    return set_class(ret, c) ? -1 : escaped(c);
}

static int read_set(struct parse *s, struct set *ret)
{
    bool not = took(s, '^'), first = true;
    for (; more(s) && (!at(s, ']') || first); first = false) {
        int lo = set_item(s, ret), hi = lo;
        if (lo >= 0 && at(s, '-') && s->at + 1 < s->text.len && s->text.p[s->at + 1] != ']') {
            s->at++;
            hi = set_item(s, ret);
            if (hi < lo)
                return fail(s, "a range that ends before it begins");
        }
        if (lo >= 0)
            set_add(ret, (unsigned char)lo, (unsigned char)hi);
    }
    if (!took(s, ']'))
        return fail(s, "'[' without ']'");
    if (s->nocase)
        set_nocase(ret);
    if (not )
        set_not(ret);
    return 0;
}

/* ---- the program ---- */

static int emit(struct parse *s, struct step step)
{
    if (s->p->n == PATTERN_OPS)
        return fail(s, "too much");
    s->p->steps[s->p->n++] = step;
    return 0;
}

/* Inserts one step at `where`; the steps from there on move up. */
static int insert(struct parse *s, size_t where, struct step step)
{
    int r = emit(s, step);
    if (r < 0)
        return r;
    memmove(&s->p->steps[where + 1], &s->p->steps[where], (s->p->n - 1 - where) * sizeof(step));
    s->p->steps[where] = step;
    return 0;
}

static struct step split(bool lazy, int16_t go, int16_t leave)
{
    return (struct step){.code = CODE_SPLIT, .a = lazy ? leave : go, .b = lazy ? go : leave};
}

static int copy(struct parse *s, size_t from, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = emit(s, s->p->steps[from + i]);
    return r;
}

/* Repeats the steps from `from` on, from `least` up to `most` times; -1 in most: no limit. */
static int repeat(struct parse *s, size_t from, int least, int most, bool lazy)
{
    size_t n = s->p->n - from;
    int r = 0;
    if (least == 0 && most == 0) {
        s->p->n = from;
        return 0;
    }
    int16_t len = (int16_t)n;
    for (int i = 1; i < least && r == 0; i++)
        r = copy(s, from, n);
    if (r == 0 && most < 0) {
        size_t last = s->p->n - n;
        if (least > 0) {
            r = emit(s, split(lazy, (int16_t)-len, 1)); /* repeat, or continue */
        } else {
            r = insert(s, last, split(lazy, 1, (int16_t)(len + 2)));
            r = r ?: emit(s, (struct step){.code = CODE_JUMP, .a = (int16_t)(-len - 1)});
        }
        return r;
    }
    for (int i = least; i < most && r == 0; i++) {
        if (i > 0) /* at 0, the existing steps are already the first optional copy */
            r = copy(s, s->p->n - n, n);
        r = r ?: insert(s, s->p->n - n, split(lazy, 1, (int16_t)(len + 1)));
    }
    return r;
}

static int read_number(struct parse *s)
{
    int v = 0;
    if (!more(s) || s->text.p[s->at] < '0' || s->text.p[s->at] > '9')
        return -1;
    for (; more(s) && s->text.p[s->at] >= '0' && s->text.p[s->at] <= '9'; s->at++)
        v = MIN(v * 10 + s->text.p[s->at] - '0', REPEAT_MAX + 1);
    return v;
}

static int read_repeat(struct parse *s, size_t from)
{
    static const struct {
        char sign;
        int least, most;
    } known[] = {{'*', 0, -1}, {'+', 1, -1}, {'?', 0, 1}};
    size_t which = FIRST(ARRAY_LEN(known), i, took(s, known[i].sign));
    int least, most;
    if (which < ARRAY_LEN(known)) {
        least = known[which].least;
        most = known[which].most;
    } else if (took(s, '{')) {
        least = most = read_number(s);
        if (least >= 0 && took(s, ','))
            most = at(s, '}') ? -1 : read_number(s);
        if (least < 0 || least > REPEAT_MAX || most > REPEAT_MAX || (most >= 0 && most < least) || !took(s, '}'))
            return fail(s, "expected {n}, {n,} or {n,m} of up to 200");
    } else {
        return 0;
    }
    bool lazy = took(s, '?');
    if (at(s, '*') || at(s, '+') || at(s, '?') || at(s, '{'))
        return fail(s, "a repetition of a repetition");
    return repeat(s, from, least, most, lazy);
}

static int read_choice(struct parse *s);

static int read_group(struct parse *s)
{
    bool plain = false, saves;
    if (took(s, '?')) {
        if (!took(s, ':'))
            return fail(s, "only (?: is known, and (?i) in front");
        plain = true;
    }
    if (++s->depth > PATTERN_DEPTH)
        return fail(s, "nested too deeply");
    saves = !plain && !s->p->grouped;
    if (saves)
        s->p->grouped = true;
    int r = saves ? emit(s, (struct step){.code = CODE_SAVE, .slot = 0}) : 0;
    r = r ?: read_choice(s);
    if (r == 0 && saves)
        r = emit(s, (struct step){.code = CODE_SAVE, .slot = 1});
    if (r == 0 && !took(s, ')'))
        r = fail(s, "'(' without ')'");
    s->depth--;
    return r;
}

static int read_atom(struct parse *s)
{
    struct step step = {.code = CODE_SET};
    char c = s->text.p[s->at++];
    int r = 0;
    switch (c) {
    case '(':
        return read_group(s);
    case '[':
        r = read_set(s, &step.set);
        break;
    case '.':
        set_add(&step.set, 0, 255);
        break;
    case '^':
        step.code = CODE_BEGIN;
        break;
    case '$':
        step.code = CODE_END;
        break;
    case '*':
    case '+':
    case '?':
    case '{':
        s->at--;
        return fail(s, "nothing to repeat");
    case '\\':
        if (!more(s))
            return fail(s, "nothing behind a backslash");
        c = s->text.p[s->at++];
        if (c == 'b' || c == 'B') {
            step.code = c == 'b' ? CODE_EDGE : CODE_NO_EDGE;
            break;
        }
        if (c >= '0' && c <= '9')
            return fail(s, "back-references are not known");
        if (set_class(&step.set, c))
            break;
        c = (char)escaped(c);
        __attribute__((fallthrough));
    default:
        set_add(&step.set, (unsigned char)c, (unsigned char)c);
        if (s->nocase)
            set_nocase(&step.set);
    }
    return r < 0 ? r : emit(s, step);
}

static int read_choice(struct parse *s)
{
    struct step *steps = s->p->steps;
    size_t from = s->p->n;
    int16_t jump = -1; /* the last of the jumps to the end, each of which holds the one before */
    int r = 0;
    do {
        while (r == 0 && more(s) && !at(s, ')') && !at(s, '|')) {
            size_t atom = s->p->n;
            r = read_atom(s) ?: read_repeat(s, atom);
        }
        if (r < 0 || !took(s, '|'))
            break;
        r = insert(s, from, (struct step){.code = CODE_SPLIT, .a = 1});
        r = r ?: emit(s, (struct step){.code = CODE_JUMP, .a = jump});
        if (r < 0)
            break;
        jump = (int16_t)(s->p->n - 1);
        steps[from].b = (int16_t)(s->p->n - from);
        from = s->p->n;
    } while (true);
    while (r == 0 && jump >= 0) {
        int16_t before = steps[jump].a;
        steps[jump].a = (int16_t)(s->p->n - (size_t)jump);
        jump = before;
    }
    return r;
}

int pattern_new(struct str text, struct pattern **ret, struct err *err)
{
    struct pattern *p = mem_zero(1, sizeof(*p));
    struct parse s = {.text = text, .p = p, .err = err};
    s.nocase = str_skip(&s.text, "(?i)");
    int r = read_choice(&s);
    if (r == 0 && more(&s))
        r = fail(&s, "')' without '('");
    r = r ?: emit(&s, (struct step){.code = CODE_MATCH});
    if (r < 0)
        free(p);
    else
        *ret = p;
    return r;
}

void pattern_free(struct pattern *p)
{
    free(p);
}

/* ---- matching ---- */

struct thread {
    uint16_t pc;
    int32_t begin, slot[2]; /* start of the match, and of the group; -1: not set */
};

struct crowd {
    size_t n;
    uint32_t mark; /* seen[pc] == mark: it is in there */
    uint32_t seen[PATTERN_OPS];
    struct thread v[PATTERN_OPS];
};

static bool is_word(struct str text, size_t i)
{
    unsigned char c = i < text.len ? (unsigned char)text.p[i] : 0;
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool passes(enum code code, struct str text, size_t i)
{
    bool edge = (i > 0 && is_word(text, i - 1)) != is_word(text, i);
    return code == CODE_BEGIN ? i == 0 : code == CODE_END ? i == text.len : edge == (code == CODE_EDGE);
}

/*
 * Adds t and all threads it leads to without consuming a byte, in order of preference. stack: room for PATTERN_OPS + 1
 * threads.
 */
static void crowd_add(const struct pattern *p, struct crowd *c, struct thread *stack, struct thread t, struct str text,
                      size_t i)
{
    size_t n = 0;
    stack[n++] = t;
    while (n) {
        t = stack[--n];
        while (c->seen[t.pc] != c->mark) {
            const struct step *s = &p->steps[t.pc];
            c->seen[t.pc] = c->mark;
            if (s->code == CODE_SET || s->code == CODE_MATCH) {
                c->v[c->n++] = t;
                break;
            }
            struct thread other = t;
            if (s->code == CODE_SPLIT) {
                other.pc = (uint16_t)(t.pc + s->b);
                stack[n++] = other; /* each split is entered once: it cannot overflow */
                t.pc = (uint16_t)(t.pc + s->a);
            } else if (s->code == CODE_JUMP) {
                t.pc = (uint16_t)(t.pc + s->a);
            } else {
                if (s->code == CODE_SAVE)
                    t.slot[s->slot] = (int32_t)i;
                else if (!passes(s->code, text, i))
                    break;
                t.pc++;
            }
        }
    }
}

bool pattern_find(const struct pattern *p, struct str text, struct str *ret)
{
    AUTO_FREE struct crowd *room = mem_zero(2, sizeof(*room));
    AUTO_FREE struct thread *stack = mem_zero(PATTERN_OPS + 1, sizeof(*stack));
    struct crowd *now = &room[0], *next = &room[1];
    struct thread won = {.begin = -1, .slot = {-1, -1}};
    size_t won_end = 0;
    uint32_t mark = 0;

    if (text.len > INT32_MAX)
        return false;
    now->mark = ++mark;
    for (size_t i = 0; i <= text.len; i++) {
        if (won.begin < 0) /* the leftmost match wins: no thread starts after it */
            crowd_add(p, now, stack, (struct thread){0, (int32_t)i, {-1, -1}}, text, i);
        next->mark = ++mark;
        next->n = 0;
        for (size_t k = 0; k < now->n; k++) {
            struct thread t = now->v[k];
            const struct step *s = &p->steps[t.pc];
            if (s->code == CODE_MATCH) {
                won = t;
                won_end = i;
                break; /* the threads behind it have lower preference */
            }
            if (i < text.len && set_has(&s->set, (unsigned char)text.p[i])) {
                t.pc++;
                crowd_add(p, next, stack, t, text, i + 1);
            }
        }
        struct crowd *swap = now;
        now = next;
        next = swap;
        if (!now->n && won.begin >= 0)
            break;
    }
    if (won.begin < 0 || (p->grouped && (won.slot[0] < 0 || won.slot[1] < won.slot[0])))
        return false;
    *ret = p->grouped ? str_n(text.p + won.slot[0], (size_t)(won.slot[1] - won.slot[0]))
                      : str_n(text.p + won.begin, won_end - (size_t)won.begin);
    return true;
}
