/*
 * head.h: parses the head of an HTTP/1.1 request strictly. Pure; views into the caller's bytes.
 * H1 Two readings are never possible. These are all refused: a repeated or unclear Content-Length, a Transfer-Encoding
 *    next to it, spaces before a colon, folded lines, bare CR or LF, and control characters.
 * H2 Every count has a limit.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define HEAD_MAX    (16u << 10) /* bytes, request line included */
#define HEADERS_MAX 64
#define TARGET_MAX  (8u << 10)

struct head {
    struct str method, target;
    int minor; /* HTTP/1.minor: 0 or 1 */
    size_t n;
    struct {
        struct str name, value;
    } headers[HEADERS_MAX];
    int64_t length; /* of the body; 0 without one; -1: chunked */
    bool keep_alive, expect_continue, gzip_ok;
};

/* bytes: up to and including the empty line. Returns 0, or a negative HTTP status (-400, -414, -431, -501, -505, …)
 * with the reason in err; *ret is then undefined. */
int head_parse(struct str bytes, struct head *ret, struct err *err);
struct str head_get(const struct head *h, const char *name);  /* empty: absent */
struct str head_last(const struct head *h, const char *name); /* the same; the last one if repeated */
size_t head_count(const struct head *h, const char *name);    /* how often it occurs */

/* One header, or a trailer of a chunked body, without its line end. False: it is not 'Name: value'. */
bool header_parse(struct str line, struct str *name, struct str *value);
bool header_text_ok(struct str value); /* no control characters except tabs */
