/* exec_text.c: parses lines of custom metrics. Pure; the format is in exec.h. */
#include <errno.h>

#include "base/order.h"
#include "collect/exec.h"

#define EXEC_LINE_MAX 4096
#define EXEC_PER_MAX  1000000000

/* ---- names ---- */

static bool name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static bool name_char(char c)
{
    return name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
}

/* Append to name[64], made fit for Prometheus. False when it does not fit. */
static bool name_add(char name[64], struct str s)
{
    size_t n = strlen(name);

    if (n + s.len >= 64)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        name[n++] = name_start(c) || (c >= '0' && c <= '9') ? c : '_';
    }
    name[n] = 0;
    return true;
}

static enum exec_type type_of(const struct exec_types *types, struct str name)
{
    size_t at = FIRST(types->n, i, str_eq(name, types->v[i].name));

    return at < types->n ? types->v[at].type : EXEC_UNTYPED;
}

/* Part of a histogram or a summary: its name less the usual ends is declared as one. */
static bool part_of_other(const struct exec_types *types, struct str name)
{
    static const char *const ends[] = {"", "_bucket", "_sum", "_count", "_created", "_info"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct str base = str_n(name.p, name.len - MIN(strlen(ends[i]), name.len));
        if (str_ends(name, ends[i]) && type_of(types, base) == EXEC_OTHER)
            return true;
    }
    return false;
}

/* Parses "# TYPE name counter"; ignores all other comments. */
static int comment_line(struct exec_types *types, struct str rest)
{
    static const char *const words[] = {[EXEC_UNTYPED] = "untyped", [EXEC_GAUGE] = "gauge", [EXEC_COUNTER] = "counter"};
    struct str word, name, type;
    char clean[64] = "";

    if (!str_word(&rest, &word) || !str_eq(word, "TYPE"))
        return 0;
    if (!str_word(&rest, &name) || !str_word(&rest, &type) || !name_add(clean, name))
        return -EINVAL;
    size_t t = FIRST(ARRAY_LEN(words), w, str_eq(type, words[w]));
    if (t == ARRAY_LEN(words))
        t = str_eq(type, "unknown") ? EXEC_UNTYPED : EXEC_OTHER;
    size_t i = FIRST(types->n, k, strcmp(types->v[k].name, clean) == 0);
    if (i == EXEC_TYPES_MAX)
        return 0;
    memcpy(types->v[i].name, clean, sizeof(clean));
    types->v[i].type = (uint8_t)t;
    types->n = MAX(types->n, i + 1);
    return 0;
}

/* ---- labels ---- */

/* A quoted value off the front; backslashes escape. Into out, cut to size. False when it does not end. */
static bool label_value(struct str *s, char *out, size_t size)
{
    size_t n = 0, i = 1;

    if (s->len < 2 || s->p[0] != '"')
        return false;
    for (; i < s->len && s->p[i] != '"'; i++) {
        char c = s->p[i];
        if (c == '\\') {
            if (++i == s->len)
                return false;
            c = s->p[i] == 'n' ? '\n' : s->p[i];
        }
        if (n + 1 < size)
            out[n++] = c;
    }
    if (i == s->len)
        return false;
    out[n] = 0;
    *s = str_n(s->p + i + 1, s->len - i - 1);
    return true;
}

/* How surely a label names a device: a uuid most, then an index. 0: it does not. */
static int device_label(struct str name, const char *value, char device[UUID_MAX])
{
    static const char *const uuids[] = {"uuid", "UUID", "gpu_uuid"}, *const indices[] = {"device", "gpu", "gpu_index"};
    struct str v = str_of(value);
    uint64_t index;

    bool place = ANY(ARRAY_LEN(indices), i, str_eq(name, indices[i]));
    if (place ? str_starts(v, "GPU-") || str_starts(v, "MIG-")
              : v.len && v.len < UUID_MAX && ANY(ARRAY_LEN(uuids), i, str_eq(name, uuids[i]))) {
        collect_text(device, UUID_MAX, v);
        return 2;
    }
    str_skip(&v, "nvidia");
    if (!place || v.len >= 9 || !str_uint(v, &index))
        return 0;
    snprintf(device, UUID_MAX, "%u", (unsigned)index);
    return 1;
}

/* {a="b",...} off the front. The device into ret; others onto the end of its name, unless there is a device. */
static int labels(struct str *s, struct custom_reading *ret)
{
    char value[128], joined[64] = "", device[UUID_MAX];
    int sure = 0;
    bool fits = true;

    *s = str_drop(*s, 1);
    for (;;) {
        *s = str_trim(*s);
        if (str_skip(s, "}"))
            break;
        size_t n = FIRST(s->len, i, !name_start(s->p[i]) && !(i && s->p[i] >= '0' && s->p[i] <= '9'));
        struct str name = str_n(s->p, n);
        *s = str_trim(str_drop(*s, n));
        if (n == 0 || !str_skip(s, "="))
            return -EINVAL;
        *s = str_trim(*s);
        if (!label_value(s, value, sizeof(value)))
            return -EINVAL;
        int how = device_label(name, value, device);
        if (how > sure) {
            sure = how;
            memcpy(ret->device, device, sizeof(device));
        }
        if (!how && value[0])
            fits &= name_add(joined, STR("_")) && name_add(joined, str_of(value));
        *s = str_trim(*s);
        if (!str_skip(s, ",") && !str_starts(*s, "}"))
            return -EINVAL;
    }
    if (sure || !joined[0])
        return 0;
    return fits && name_add(ret->name, str_of(joined)) ? 0 : -EINVAL;
}

/* ---- values ---- */

static uint8_t unit_of(struct str name)
{
    static const struct {
        const char *end;
        enum unit unit;
    } ends[] = {{"_bytes_per_second", UNIT_BYTES_S},
                {"_bytes", UNIT_BYTES},
                {"_ratio", UNIT_RATIO},
                {"_celsius", UNIT_CELSIUS},
                {"_watts", UNIT_WATTS},
                {"_joules", UNIT_JOULES},
                {"_hertz", UNIT_HERTZ},
                {"_seconds", UNIT_SECONDS}};

    if (str_ends(name, "_total"))
        name.len -= strlen("_total");
    size_t at = FIRST(ARRAY_LEN(ends), i, str_ends(name, ends[i].end));
    return at < ARRAY_LEN(ends) ? (uint8_t)ends[at].unit : UNIT_NONE;
}

/* Digits behind the point that it takes to write it: 2 for "0.25" and for "25e-2". */
static size_t decimals(struct str number)
{
    size_t at = FIRST(number.len, i, number.p[i] == 'e' || number.p[i] == 'E');
    struct str mantissa = str_n(number.p, at), whole;
    int64_t e = 0;

    if (at < number.len)
        str_int(str_drop(number, at + 1), &e);
    str_cut(&mantissa, '.', &whole);
    e = (mantissa.p ? (int64_t)mantissa.len : 0) - MAX(-100, MIN(100, e));
    return e > 0 ? (size_t)e : 0;
}

/* The scale it is declared with, if this is the first time: coarser when the value would not fit otherwise. */
static bool scaled(struct str number, struct custom_reading *ret)
{
    int64_t per = ret->unit == UNIT_RATIO ? 10000 : 1000;
    size_t digits = decimals(number);

    if (ret->unit == UNIT_BYTES || ret->unit == UNIT_HERTZ || (ret->kind == KIND_COUNTER && digits == 0))
        per = 1;
    for (size_t i = 0, p = 1; per > 1 && i < digits && p < EXEC_PER_MAX; i++) {
        p *= 10;
        per = MAX(per, (int64_t)p);
    }
    for (; per >= 1; per /= 10)
        if (str_fixed(number, per, &ret->v)) {
            ret->per = per;
            return true;
        }
    return false;
}

static bool not_a_number(struct str s)
{
    static const char *const words[] = {"NaN", "Inf", "+Inf", "-Inf", "inf", "+inf", "-inf", "nan", "Infinity"};

    return ANY(ARRAY_LEN(words), i, str_eq(s, words[i]));
}

int exec_line(struct exec_types *types, struct str line, struct custom_reading *ret)
{
    struct custom_reading c = {.per = 1};
    struct str s = str_trim(line), number, stamp;
    int64_t ignored;

    if (s.len == 0)
        return 0;
    if (s.len > EXEC_LINE_MAX)
        return -EINVAL;
    if (str_skip(&s, "#"))
        return comment_line(types, s);
    size_t n = FIRST(s.len, i, !name_char(s.p[i]));
    if (n == 0 || !name_start(s.p[0]) || !name_add(c.name, str_n(s.p, n)))
        return -EINVAL;
    s = str_drop(s, n);
    if (s.len == 0 || (s.p[0] != '{' && s.p[0] != ' ' && s.p[0] != '\t'))
        return -EINVAL;
    if (part_of_other(types, str_of(c.name)))
        return 0;
    enum exec_type type = type_of(types, str_of(c.name));
    bool total = str_ends(str_of(c.name), "_total");
    c.kind = type == EXEC_COUNTER || (type == EXEC_UNTYPED && total) ? KIND_COUNTER : KIND_GAUGE;
    c.unit = unit_of(str_of(c.name));
    s = str_trim(s);
    if (str_starts(s, "{") && labels(&s, &c) < 0)
        return -EINVAL;
    if (!str_word(&s, &number))
        return -EINVAL;
    if (str_word(&s, &stamp) && (!str_fixed(stamp, 1, &ignored) || str_trim(s).len))
        return -EINVAL;
    if (not_a_number(number))
        return 0;
    if (!scaled(number, &c))
        return -EINVAL;
    *ret = c;
    return 1;
}

void exec_text(struct exec_types *types, struct str text, struct reading *ret, struct exec_bad *bad)
{
    struct custom_reading c;
    struct str line;

    while (str_line(&text, &line)) {
        int r = exec_line(types, line, &c);
        if (r < 0 && bad->n++ == 0)
            collect_text(bad->first, sizeof(bad->first), line);
        if (r <= 0)
            continue;
        struct custom_reading *same =
            FIND(ret->custom, ret->n_custom, e, strcmp(e->name, c.name) == 0 && strcmp(e->device, c.device) == 0);
        struct custom_reading *to = same ? same : reading_custom(ret);
        if (to)
            *to = c;
    }
}
