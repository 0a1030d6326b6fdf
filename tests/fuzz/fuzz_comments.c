/* GPU Monitor's comments.json: any bytes. What is read can be written, and what was written is read back the same. */
#include <stdlib.h>

#include "base/buf.h"
#include "compat/comments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now_ms = 1794733200000ll;
    struct comments *c = NULL, *again = NULL;
    struct buf b = BUF_INIT(8u << 20);
    const char *host;

    if (comments_parse(str_n(data, size), &c, NULL) < 0)
        return 0;
    for (size_t i = 0; i < 8 && (host = comments_host(c, i)); i++)
        for (int k = 0; k < 4; k++) {
            struct remark r, got;
            comments_get(c, host, k, now_ms, &r);
            check(str_utf8_ok(str_of(r.name)) && str_utf8_ok(str_of(r.comment)) && r.until_ms >= 0);
            comments_set(c, host, k, &r);
            comments_get(c, host, k, now_ms, &got);
            struct remark was = remark_at(&r, now_ms), is = remark_at(&got, now_ms);
            char name[BOOKING_PERSON_MAX];
            comments_clean(str_of(r.name), name, sizeof(name));
            check(!name[0] || r.until_ms > 7000000000000ll || remark_same(&was, &is));
        }
    check(comments_write(c, &b) == 0);
    check(comments_parse(buf_str(&b), &again, NULL) == 0);
    comments_free(again);
    comments_free(c);
    buf_fini(&b);
    return 0;
}
