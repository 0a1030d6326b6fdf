/* Whatever comes: nothing that a terminal obeys comes out, what may be shown stays as it was, and a second time changes
 * nothing. Of JSON it is JSON still, and says the same or, cleaned, only what may be shown. */
#include <jansson.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void each_way(struct str s, int (*add)(struct buf *out, struct str s), bool lines)
{
    AUTO_BUF once = BUF_INIT(plain_room(s));
    must(add(&once, s) == 0);
    AUTO_BUF twice = BUF_INIT(plain_room(buf_str(&once)));
    must(add(&twice, buf_str(&once)) == 0 && str_eq_str(buf_str(&once), buf_str(&twice)));
    struct str rest = buf_str(&once);
    while (rest.len) {
        uint32_t c = 0;
        size_t n = str_utf8(rest, &c);
        must(n && (plain_point(c) || (lines && (c == '\n' || c == '\t'))));
        rest = str_n(rest.p + n, rest.len - n);
    }
    if (plain_is(s) && add != plain_answer)
        must(str_eq_str(s, buf_str(&once)));
}

static void no_text_obeyed(const json_t *j)
{
    const char *key;
    json_t *v;
    size_t i;

    if (json_is_string(j)) {
        AUTO_BUF out = BUF_INIT(plain_room(str_n(json_string_value(j), json_string_length(j))));
        plain_text(&out, str_n(json_string_value(j), json_string_length(j)));
        must(str_eq_str(buf_str(&out), str_n(json_string_value(j), json_string_length(j))));
    }
    json_array_foreach (j, i, v)
        no_text_obeyed(v);
    json_object_foreach ((json_t *)(uintptr_t)j, key, v) {
        must(plain_is(str_of(key)) || strpbrk(key, "\n\t"));
        no_text_obeyed(v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = str_n(size ? (const char *)data : "", MIN(size, (size_t)1 << 18));
    AUTO_BUF same = BUF_INIT(plain_room(s)), clean = BUF_INIT(plain_room(s)), tinted = BUF_INIT(plain_room(s));

    each_way(s, plain_line, false);
    each_way(s, plain_text, true);
    each_way(s, plain_json, true);
    each_way(s, plain_answer, true);
    must(plain_tinted(&tinted, s) == 0);
    json_t *j = json_loadb(s.p, s.len, 0, NULL);
    if (j) {
        plain_json(&same, s);
        plain_answer(&clean, s);
        json_t *again = json_loadb(same.p, same.len, 0, NULL), *shown = json_loadb(clean.p, clean.len, 0, NULL);
        must(again && json_equal(j, again));
        must(shown);
        no_text_obeyed(shown);
        json_decref(again);
        json_decref(shown);
        json_decref(j);
    }
    return 0;
}
