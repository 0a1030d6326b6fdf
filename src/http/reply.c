/* reply.c: fills in replies: the words of each status, and the one form errors have. */
#include "http/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"

const char *status_words(int status)
{
    switch (status) {
    case 100:
        return "Continue";
    case 200:
        return "OK";
    case 201:
        return "Created";
    case 204:
        return "No Content";
    case 302:
        return "Found";
    case 303:
        return "See Other";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 411:
        return "Length Required";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 415:
        return "Unsupported Media Type";
    case 417:
        return "Expectation Failed";
    case 421:
        return "Misdirected Request";
    case 422:
        return "Unprocessable Content";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    case 507:
        return "Insufficient Storage";
    default:
        return "Unknown";
    }
}

void reply_fini(struct reply *rp)
{
    buf_fini(&rp->body);
    blob_unref(rp->blob);
    rp->blob = NULL;
}

enum reply_how reply_problem(struct reply *rp, int status, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_fini(&rp->body);
    blob_unref(rp->blob);
    rp->blob = NULL;
    rp->status = status;
    rp->type = "application/problem+json";
    rp->etag[0] = 0;
    rp->body = BUF_INIT(8192);
    struct json j = json_on(&rp->body);
    json_obj(&j, NULL);
    json_cstr(&j, "type", "about:blank");
    json_cstr(&j, "title", status_words(status));
    json_int(&j, "status", status);
    json_str(&j, "detail", str_of(text));
    json_end_obj(&j);
    buf_addc(&rp->body, '\n');
    return REPLY_NOW;
}
