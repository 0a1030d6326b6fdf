/* head.c: request line and headers. What could be read in two ways by us and by a proxy in front is refused. */
#include "http/head.h"

#include "base/order.h"

static bool is_token(struct str s)
{
    return s.len > 0 && str_letters(s, "!#$%&'*+-.^_`|~");
}

static bool is_text(struct str s, char least)
{
    return !ANY(s.len, i, ((unsigned char)s.p[i] < (unsigned char)least && s.p[i] != '\t') || s.p[i] == 127);
}

bool header_text_ok(struct str value)
{
    return is_text(value, ' ');
}

bool header_parse(struct str line, struct str *name, struct str *value)
{
    const char *colon = memchr(line.p, ':', line.len);
    if (!colon || !is_token(str_n(line.p, (size_t)(colon - line.p))))
        return false;
    *name = str_n(line.p, (size_t)(colon - line.p));
    *value = str_trim(str_n(colon + 1, line.len - (size_t)(colon + 1 - line.p)));
    return true;
}

/* One line without its CRLF. A bare CR or LF inside makes it fail. */
static bool take_line(struct str *rest, struct str *ret)
{
    const char *end = memchr(rest->p, '\n', rest->len);
    if (!end || end == rest->p || end[-1] != '\r')
        return false;
    size_t n = (size_t)(end - rest->p) + 1;
    *ret = str_n(rest->p, n - 2);
    *rest = str_n(rest->p + n, rest->len - n);
    return !memchr(ret->p, '\r', ret->len);
}

static int request_line(struct str line, struct head *h, struct err *err)
{
    const char *one = memchr(line.p, ' ', line.len);
    size_t left = one ? line.len - (size_t)(one - line.p) - 1 : 0;
    const char *two = one ? memchr(one + 1, ' ', left) : NULL;
    if (!two)
        return err_set(err, -400, "the request line is not 'METHOD /path HTTP/1.1'");
    h->method = str_n(line.p, (size_t)(one - line.p));
    h->target = str_n(one + 1, (size_t)(two - one - 1));
    struct str version = str_n(two + 1, line.len - (size_t)(two + 1 - line.p));
    if (!is_token(h->method) || h->method.len > 20 || h->target.len == 0 || !is_text(h->target, '!') ||
        memchr(h->target.p, '\t', h->target.len))
        return err_set(err, -400, "the request line is not 'METHOD /path HTTP/1.1'");
    if (h->target.len > TARGET_MAX)
        return err_set(err, -414, "the request's target is longer than %u bytes", TARGET_MAX);
    if (str_eq(version, "HTTP/1.1"))
        h->minor = 1;
    else if (str_eq(version, "HTTP/1.0"))
        h->minor = 0;
    else
        return err_set(err, str_starts(version, "HTTP/") ? -505 : -400, "this server speaks HTTP/1.1 and HTTP/1.0");
    return 0;
}

struct str head_get(const struct head *h, const char *name)
{
    size_t at = FIRST(h->n, i, str_eq_nocase(h->headers[i].name, name));

    return at < h->n ? h->headers[at].value : STR("");
}

struct str head_last(const struct head *h, const char *name)
{
    for (size_t i = h->n; i-- > 0;)
        if (str_eq_nocase(h->headers[i].name, name))
            return h->headers[i].value;
    return str_n("", 0);
}

size_t head_count(const struct head *h, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        n += str_eq_nocase(h->headers[i].name, name);
    return n;
}

/* A comma list has this word, ignoring parameters; q=0 means no. */
static bool list_has(struct str list, const char *word)
{
    struct str item, name, q;
    while (str_cut(&list, ',', &item)) {
        if (!str_cut(&item, ';', &name) || !str_eq_nocase(str_trim(name), word))
            continue;
        q = str_trim(item);
        int64_t weight = 1;
        if (str_skip(&q, "q="))
            str_fixed(q, 1000, &weight);
        return weight != 0;
    }
    return false;
}

static int body_length(struct head *h, struct err *err)
{
    struct str length = head_get(h, "Content-Length"), coding = head_get(h, "Transfer-Encoding");
    size_t lengths = head_count(h, "Content-Length"), codings = head_count(h, "Transfer-Encoding");
    uint64_t n = 0;
    if (lengths > 1 || codings > 1 || (lengths && codings))
        return err_set(err, -400, "the length of the body is given twice");
    if (codings && h->minor == 0)
        return err_set(err, -400, "HTTP/1.0 has no Transfer-Encoding");
    if (codings && !str_eq_nocase(coding, "chunked"))
        return err_set(err, -501, "Transfer-Encoding: only chunked is understood");
    if (lengths && (length.len > 15 || !str_uint(length, &n)))
        return err_set(err, -400, "Content-Length is not a number");
    h->length = codings ? -1 : (int64_t)n;
    return 0;
}

static int settle(struct head *h, struct err *err)
{
    size_t hosts = head_count(h, "Host");
    if (hosts > 1 || (hosts == 0 && h->minor == 1))
        return err_set(err, -400, hosts ? "more than one Host" : "a Host header is missing");
    int r = body_length(h, err);
    if (r < 0)
        return r;
    struct str connection = head_get(h, "Connection"), expect = head_get(h, "Expect");
    h->keep_alive = h->minor == 1 ? !list_has(connection, "close") : list_has(connection, "keep-alive");
    h->gzip_ok = list_has(head_get(h, "Accept-Encoding"), "gzip");
    if (expect.len && h->minor == 1) {
        if (!str_eq_nocase(expect, "100-continue"))
            return err_set(err, -417, "Expect: only 100-continue is understood");
        h->expect_continue = true;
    }
    struct str coding = head_get(h, "Content-Encoding");
    if (coding.len && !str_eq_nocase(coding, "identity"))
        return err_set(err, -415, "send the body as it is, without Content-Encoding");
    return 0;
}

int head_parse(struct str bytes, struct head *ret, struct err *err)
{
    struct str rest = bytes, line;
    struct head *h = ret;
    h->n = 0;
    h->expect_continue = false;
    if (bytes.len > HEAD_MAX)
        return err_set(err, -431, "the request's head is larger than %u KiB", HEAD_MAX >> 10);
    if (!take_line(&rest, &line))
        return err_set(err, -400, "lines must end with CR LF");
    int r = request_line(line, h, err);
    if (r < 0)
        return r;
    for (;;) {
        if (!take_line(&rest, &line))
            return err_set(err, -400, "lines must end with CR LF");
        if (line.len == 0)
            return settle(h, err);
        if (h->n == HEADERS_MAX)
            return err_set(err, -431, "more than %d headers", HEADERS_MAX);
        if (!header_parse(line, &h->headers[h->n].name, &h->headers[h->n].value))
            return err_set(err, -400, "header %zu is not 'Name: value'", h->n + 1);
        if (!header_text_ok(h->headers[h->n].value))
            return err_set(err, -400, "header %zu has control characters", h->n + 1);
        h->n++;
    }
}
