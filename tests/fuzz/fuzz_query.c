/* A request's head and target: any bytes. What is taken holds no control character and stays inside its memory. */
#include <assert.h>
#include <stdlib.h>

#include "access/auth.h"
#include "http/head.h"
#include "http/origin.h"
#include "hub/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        assert((unsigned char)s.p[i] >= 32 && s.p[i] != 127);
}

static void target(struct str text)
{
    struct request rq = {0};
    struct err err = {0};
    char *scratch = mem_alloc(text.len);
    if (request_target(&rq, text, scratch, &err) == 0) {
        size_t total = rq.path.len;
        assert(rq.path.len && rq.path.p[0] == '/' && rq.n_query <= QUERY_MAX);
        check(rq.path);
        for (size_t i = 0; i < rq.n_query; i++) {
            check(rq.query[i].name);
            check(rq.query[i].value);
            total += rq.query[i].name.len + rq.query[i].value.len;
        }
        assert(total <= text.len);
        request_flag(&rq, "term");
        request_int(&rq, "width", 80, 40, 500);
    } else {
        assert(err.msg[0]);
    }
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_n(data, size);
    struct head h;
    struct err err = {0};
    int r = head_parse(text, &h, &err);
    if (r == 0) {
        assert(h.n <= HEADERS_MAX && h.length >= -1 && h.target.len <= TARGET_MAX);
        for (size_t i = 0; i < h.n; i++)
            assert(h.headers[i].name.len > 0);
        method_of(h.method);
        host_allowed(head_get(&h, "Host"), NULL, 0);
        origin_allowed(head_get(&h, "Origin"), head_get(&h, "Host"), true);
        cookie_value(head_get(&h, "Cookie"), "muster");
        target(h.target);
    } else {
        assert(r <= -400 && r > -600 && err.msg[0]);
    }
    target(text);
    return 0;
}
