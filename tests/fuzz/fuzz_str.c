/* The small parsers of base: numbers, times, patterns, UTF-8, JSON text, the reading cursor. Each is checked against
 * its inverse. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void numbers(struct str s)
{
    AUTO_BUF text = BUF_INIT(100);
    int64_t v, again;
    uint64_t u;
    bool yes;

    if (str_fixed(s, 1000, &v)) {
        buf_fixed(&text, v, 1000);
        must(str_fixed(buf_str(&text), 1000, &again) && again == v);
    }
    if (str_int(s, &v)) {
        buf_reset(&text);
        buf_addi(&text, v);
        must(str_int(buf_str(&text), &again) && again == v);
        must(str_fixed(s, 1, &again) && again == v);
    }
    if (str_uint(s, &u))
        must(s.len > 0);
    str_hex(s, &u);
    str_bool(s, &yes);
    if (str_duration_ms(s, &v))
        must(v >= 0);
    if (str_bytes(s, &v))
        must(v >= 0);
}

static void times(struct str s)
{
    char iso[32];
    int64_t at, again;

    if (clock_parse(s.p, s.len, &at) == 0 && clock_parse(clock_iso(at, iso), 24, &again) == 0)
        must(again == at || at < -62167219200000ll || at > 253402300799999ll);
}

static void text(struct str s)
{
    AUTO_BUF out = BUF_INIT(16 << 20);
    size_t half = s.len / 2;

    str_glob(str_n(s.p, MIN(half, (size_t)256)), str_n(s.p + half, MIN(s.len - half, (size_t)1024)));
    str_near(str_n(s.p, half), str_n(s.p + half, s.len - half));
    must(str_width(s) >= 0);
    json_escape(&out, s);
    must(out.err == 0 && str_utf8_ok(buf_str(&out)) >= str_utf8_ok(s)); /* plain text stays plain */
    for (size_t i = 0; i < out.len; i++)
        must((unsigned char)out.p[i] >= 0x20);
}

static void cursor(const uint8_t *data, size_t size)
{
    struct rd r = rd_of(data, size);

    for (int step = 0; rd_left(&r) && step < 1000; step++) {
        AUTO_BUF b = BUF_INIT(32);
        uint64_t v = rd_varint(&r);
        if (r.bad)
            break;
        buf_varint(&b, v);
        struct rd back = rd_of(b.p, b.len);
        must(rd_varint(&back) == v && !back.bad && rd_left(&back) == 0);
        rd_zigzag(&r);
        rd_text(&r, 64);
        rd_u16(&r);
    }
    must(r.bad || r.p <= r.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = str_n(size ? (const char *)data : "", MIN(size, (size_t)1 << 20));

    numbers(s);
    times(s);
    text(s);
    cursor(data, size);
    return 0;
}
