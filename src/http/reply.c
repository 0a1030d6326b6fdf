/* reply.c: fills in replies: the text of each status, and the common form of errors. */
#include "http/reply.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/mem.h"

static const char *const words[] = {[200] = "OK",
                                    [201] = "Created",
                                    [204] = "No Content",
                                    [302] = "Found",
                                    [303] = "See Other",
                                    [304] = "Not Modified",
                                    [400] = "Bad Request",
                                    [401] = "Unauthorized",
                                    [403] = "Forbidden",
                                    [404] = "Not Found",
                                    [405] = "Method Not Allowed",
                                    [408] = "Request Timeout",
                                    [409] = "Conflict",
                                    [413] = "Content Too Large",
                                    [414] = "URI Too Long",
                                    [415] = "Unsupported Media Type",
                                    [417] = "Expectation Failed",
                                    [421] = "Misdirected Request",
                                    [422] = "Unprocessable Content",
                                    [429] = "Too Many Requests",
                                    [431] = "Request Header Fields Too Large",
                                    [500] = "Internal Server Error",
                                    [501] = "Not Implemented",
                                    [503] = "Service Unavailable",
                                    [505] = "HTTP Version Not Supported",
                                    [507] = "Insufficient Storage"};

const char *status_words(int status)
{
    return status > 0 && (size_t)status < ARRAY_LEN(words) && words[status] ? words[status] : "Unknown";
}

void reply_fini(struct reply *rp)
{
    buf_fini(&rp->body);
    blob_unref(rp->blob);
    rp->blob = NULL;
}

struct json reply_object(struct reply *rp, size_t max)
{
    rp->body = BUF_INIT(max);
    struct json j = json_on(&rp->body);
    json_obj(&j, NULL);
    return j;
}

enum reply_mode reply_object_end(struct reply *rp, struct json *j)
{
    json_end_obj(j);
    buf_addc(&rp->body, '\n');
    return REPLY_NOW;
}

enum reply_mode reply_problem(struct reply *rp, int status, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    reply_fini(rp);
    rp->status = status;
    rp->type = "application/problem+json";
    rp->etag[0] = 0;
    struct json j = reply_object(rp, 8192);
    json_cstr(&j, "type", "about:blank");
    json_cstr(&j, "title", status_words(status));
    json_int(&j, "status", status);
    json_str(&j, "detail", str_of(text));
    return reply_object_end(rp, &j);
}

bool reply_wrong(struct reply *rp, const char *what)
{
    return reply_refuse(rp, 400, "%s", what);
}
