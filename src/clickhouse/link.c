/* link.c: statements over HTTP with libcurl's easy interface. */
#include "clickhouse/link.h"

#include <errno.h>

#include "base/mem.h"
#include "base/plain.h"
#include "net/curl_lib.h"

#define CONNECT_MS  2000
#define FAILURE_MAX 140 /* maximum length of the server's message: screens show it */

struct click_link {
    struct curl_lib curl;
    CURL *easy;
    struct curl_slist *headers;
    const struct click_place *place;
    size_t host; /* the one to query */
    size_t back; /* the one to return to */
    bool pinned;
    const struct click_query *query;
    struct buf *answer;
    char error[CURL_ERROR_SIZE];
};

static size_t on_answer(char *p, size_t size, size_t n, void *arg)
{
    struct click_link *l = arg;

    return buf_add(l->answer, p, size * n) < 0 ? 0 : size * n;
}

static int on_progress(void *arg, UNUSED curl_off_t down_of, UNUSED curl_off_t down, UNUSED curl_off_t up_of,
                       UNUSED curl_off_t up)
{
    struct click_link *l = arg;

    return l->query->stop && l->query->stop(l->query->arg);
}

int click_link_new(struct click_link **ret, const struct click_place *place, const char *password, struct err *err)
{
    struct click_link *l = NEW(struct click_link, .place = place);
    struct curl_lib *c = &l->curl;
    int r = curl_lib_load(c, err);

    if (r == 0 && (c->global_init(CURL_GLOBAL_DEFAULT) != 0 || !(l->easy = c->easy_init())))
        r = err_set(err, -ENOMEM, "cannot start libcurl");
    if (r < 0) {
        free(l);
        return r;
    }
    AUTO_FREE char *user = mem_fmt("X-ClickHouse-User: %s", place->user);
    AUTO_FREE char *key = mem_fmt("X-ClickHouse-Key: %s", password ? password : "");
    l->headers = c->slist_append(l->headers, user);
    if (password)
        l->headers = c->slist_append(l->headers, key);
    l->headers = c->slist_append(l->headers, "Expect:");
    l->headers = c->slist_append(l->headers, "Content-Type: application/octet-stream");
    c->easy_setopt(l->easy, CURLOPT_HTTPHEADER, l->headers);
    c->easy_setopt(l->easy, CURLOPT_ERRORBUFFER, l->error);
    c->easy_setopt(l->easy, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(l->easy, CURLOPT_PROXY, "");
    c->easy_setopt(l->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    c->easy_setopt(l->easy, CURLOPT_WRITEFUNCTION, on_answer);
    c->easy_setopt(l->easy, CURLOPT_WRITEDATA, l);
    c->easy_setopt(l->easy, CURLOPT_NOPROGRESS, 0L);
    c->easy_setopt(l->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    c->easy_setopt(l->easy, CURLOPT_XFERINFODATA, l);
    c->easy_setopt(l->easy, CURLOPT_POST, 1L);
    *ret = l;
    return 0;
}

void click_link_free(struct click_link *l)
{
    if (!l)
        return;
    l->curl.easy_cleanup(l->easy);
    l->curl.slist_free_all(l->headers);
    l->curl.global_cleanup();
    free(l);
}

void click_link_pin(struct click_link *l, size_t host)
{
    bool pin = host < l->place->n_hosts;

    if (pin && !l->pinned)
        l->back = l->host;
    l->host = pin ? host : l->pinned ? l->back : l->host;
    l->pinned = pin;
}

size_t click_link_host(const struct click_link *l)
{
    return l->host;
}

/* "Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = DB::Exception" */
void click_failure(struct str answer, struct buf *out)
{
    struct str line = STR("");
    AUTO_BUF clean = BUF_INIT(4096);

    answer.len = MIN(answer.len, 2048u);
    while (line.len == 0 && str_line(&answer, &line))
        line = str_trim(line);
    int from = str_find(line, "DB::Exception: ");
    if (from >= 0)
        line = str_drop(line, (size_t)from + strlen("DB::Exception: "));
    for (size_t i = 0; i < 2; i++) {
        int end = str_find(line, i ? " (version " : ", e.what() =");
        if (end >= 0)
            line.len = (size_t)end;
    }
    line.len = MIN(line.len, FAILURE_MAX);
    while (line.len && ((unsigned char)line.p[line.len - 1] >= 0x80 || line.p[line.len - 1] == '.'))
        line.len--; /* do not cut within a character */
    plain_line(&clean, line);
    buf_addstr(out, buf_str(&clean));
}

static int tell_failure(struct click_link *l, CURLcode code, size_t before, struct err *err)
{
    const char *host = l->place->hosts[l->host];
    AUTO_BUF said = BUF_INIT(4096);
    long status = 0;

    if (code == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, -ECANCELED, "stopped");
    if (l->answer->err)
        return err_set(err, -E2BIG, "ClickHouse at %s answers with more than %zu bytes", host, l->answer->max);
    if (code != CURLE_OK)
        return err_set(err, -EIO, "ClickHouse at %s does not answer: %s", host,
                       l->error[0] ? l->error : l->curl.easy_strerror(code));
    l->curl.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return 0;
    click_failure(str_drop(buf_str(l->answer), before), &said);
    buf_cut(l->answer, before);
    return err_set(err, -EIO, "ClickHouse at %s refused the query: %s", host, said.len ? said.p : "no reason given");
}

static int ask_host(struct click_link *l, const struct click_query *q, struct buf *ret, struct err *err)
{
    AUTO_BUF url = BUF_INIT(64u << 10);
    bool body = q->body.p != NULL;
    size_t before = ret->len;

    buf_addf(&url, "http%s://%s/?database=%s&wait_end_of_query=1", l->place->secure ? "s" : "",
             l->place->hosts[l->host], l->place->database);
    if (q->settings)
        buf_addf(&url, "&%s", q->settings);
    if (body) {
        buf_adds(&url, "&query=");
        buf_addurl(&url, str_of(q->sql));
    }
    if (url.err)
        return err_set(err, -E2BIG, "a statement is too long");
    l->query = q;
    l->answer = ret;
    l->error[0] = 0;
    l->curl.easy_setopt(l->easy, CURLOPT_URL, url.p);
    l->curl.easy_setopt(l->easy, CURLOPT_TIMEOUT_MS, (long)q->timeout_ms);
    l->curl.easy_setopt(l->easy, CURLOPT_POSTFIELDS, body ? q->body.p : q->sql);
    l->curl.easy_setopt(l->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(body ? q->body.len : strlen(q->sql)));
    return tell_failure(l, l->curl.easy_perform(l->easy), before, err);
}

int click_query_run(struct click_link *l, const struct click_query *q, struct buf *ret, struct err *err)
{
    struct err first = {0};
    int r = -EIO;

    for (size_t i = 0; i < (l->pinned ? 1 : l->place->n_hosts) && r == -EIO; i++) {
        struct err why = {0};
        r = ask_host(l, q, ret, &why);
        if (r < 0 && !first.msg[0])
            first = why;
        if (r == -EIO && !l->pinned)
            l->host = (l->host + 1) % l->place->n_hosts;
        else if (r < 0)
            first = why;
    }
    return r < 0 ? err_set(err, r, "%s", first.msg) : 0;
}
