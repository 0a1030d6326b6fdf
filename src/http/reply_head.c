/* reply_head.c: writes the status line and headers of a reply. */
#include "http/reply_head.h"

#include "base/clock.h"
#include "http/web.h"

static void head_line(struct buf *b, const char *name, const char *value)
{
    if (!value[0])
        return;
    buf_adds(b, name);
    buf_adds(b, value);
    buf_add(b, "\r\n", 2);
}

static const char *date_now(struct reply_date *d)
{
    int64_t s = clock_wall_ms() / 1000;
    if (s != d->s)
        clock_mail(s * 1000, "GMT", d->text);
    d->s = s;
    return d->text;
}

/* A document in a browser must not run scripts, whatever user text it contains. */
static bool is_document(const struct reply *rp)
{
    struct str type = rp->type ? str_of(rp->type) : STR("");
    return (str_starts(type, "text/html") || str_starts(type, "image/svg")) &&
           !str_starts(str_of(rp->extra), "Content-Security-Policy:");
}

void reply_head_put(struct buf *b, const struct reply *rp, const struct reply_head *a, struct reply_date *date)
{
    buf_adds(b, "HTTP/1.1 ");
    buf_addu(b, (uint64_t)a->status);
    buf_addc(b, ' ');
    buf_adds(b, status_words(a->status));
    if (a->status != 204 && a->status != 304) {
        if (a->length >= 0) {
            buf_adds(b, "\r\nContent-Length: ");
            buf_addu(b, (uint64_t)a->length);
        }
        if (a->chunked)
            buf_adds(b, "\r\nTransfer-Encoding: chunked");
        buf_adds(b, "\r\nContent-Type: ");
        buf_adds(b, rp->type ? rp->type : "application/json");
    }
    buf_adds(b, a->gz ? "\r\nContent-Encoding: gzip\r\n" : "\r\n");
    head_line(b, "Date: ", date_now(date));
    if (!rp->no_gzip)
        buf_adds(b, "Vary: Accept-Encoding\r\n");
    head_line(b, "ETag: ", rp->etag);
    head_line(b, "Cache-Control: ", rp->cache[0] ? rp->cache : "no-store");
    head_line(b, "Location: ", rp->location);
    head_line(b, "Set-Cookie: ", rp->cookie);
    head_line(b, "", rp->extra);
    if (is_document(rp))
        head_line(b, "", web_document_rules);
    buf_adds(b, "X-Content-Type-Options: nosniff\r\n");
    if (a->close)
        buf_adds(b, "Connection: close\r\n");
    else if (a->old)
        buf_adds(b, "Connection: keep-alive\r\n");
    buf_add(b, "\r\n", 2);
}
