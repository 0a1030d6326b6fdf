/* hub_request.c: prepares a libcurl handle for one request to a hub. */
#include "stream/hub_request.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"

#define CONNECT_MS 5000

json_t *hub_request_json(struct str answer)
{
    AUTO_BUF clean = BUF_INIT(plain_room(answer));

    plain_answer(&clean, answer);
    return clean.len ? json_loadb(clean.p, clean.len, 0, NULL) : NULL;
}

int hub_request_refused(const struct hub_request_conf *conf, long status, struct str body, struct err *err)
{
    int code = status == 404                    ? -ENOENT
               : status == 401 || status == 403 ? -EACCES
               : status == 409                  ? -EEXIST
               : status == 400                  ? -EINVAL
                                                : -EREMOTEIO;
    json_auto_t *j = hub_request_json(body);
    const char *detail = json_string_value(json_object_get(j, "detail"));
    AUTO_BUF line = BUF_INIT(65536);

    plain_line(&line, str_of(detail));
    if (detail)
        err_set(err, code, "%s", line.p ? line.p : "");
    else
        err_set(err, code, "'%s' answered HTTP %ld", conf->shown, status);
    return code;
}

static void set_trust(const struct hub_request *q, const struct hub_request_conf *conf)
{
    CURL *c = q->c;

    if (conf->ca_file && conf->ca_file[0])
        q->lib->easy_setopt(c, CURLOPT_CAINFO, conf->ca_file);
    if (conf->pin && conf->pin[0]) { /* only the pin is verified: a self-signed hub has no other trust */
        q->lib->easy_setopt(c, CURLOPT_PINNEDPUBLICKEY, conf->pin);
        q->lib->easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        q->lib->easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

void hub_request_fini(struct hub_request *q)
{
    if (q->c) {
        q->lib->slist_free_all(q->headers);
        q->lib->easy_cleanup(q->c);
    }
    q->headers = NULL;
    q->c = NULL;
}

int hub_request_init(struct hub_request *q, const struct hub_request_conf *conf, const char *method, const char *path,
                     const char *type, struct str body, struct err *err)
{
    AUTO_BUF kind = BUF_INIT(256);
    AUTO_BUF url = BUF_INIT(8192);
    AUTO_BUF auth = BUF_INIT(8192);
    struct str base = str_of(conf->url);

    while (str_ends(base, "/"))
        base.len--;
    buf_addstr(&url, base);
    buf_adds(&url, path);
    q->lib = curl_lib_shared(err);
    if (!q->lib)
        return err ? err->code : -ENOENT;
    CURL *c = q->lib->easy_init();
    if (!c)
        return err_set(err, -ENOMEM, "cannot start an HTTP request");
    q->c = c;
    buf_addf(&kind, "Content-Type:%s%s", body.len ? " " : "", body.len ? type : "");
    q->headers = q->lib->slist_append(NULL, kind.p);
    if (conf->token && conf->token[0]) {
        buf_addf(&auth, "Authorization: Bearer %s", conf->token);
        q->headers = q->lib->slist_append(q->headers, auth.p);
    }
    q->why[0] = 0;
    q->lib->easy_setopt(c, CURLOPT_URL, url.p);
    q->lib->easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    q->lib->easy_setopt(c, CURLOPT_HTTPHEADER, q->headers);
    q->lib->easy_setopt(c, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    q->lib->easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    q->lib->easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    q->lib->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    q->lib->easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
    q->lib->easy_setopt(c, CURLOPT_ERRORBUFFER, q->why);
    set_trust(q, conf);
    if (body.len) {
        q->lib->easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        q->lib->easy_setopt(c, CURLOPT_POSTFIELDS, body.p);
    }
    return 0;
}

int hub_request_unreachable(const struct hub_request_conf *conf, const struct hub_request *q, CURLcode rc,
                            struct err *err)
{
    return err_set(err, -EHOSTUNREACH, "cannot reach the hub at '%s': %s", conf->shown,
                   curl_lib_reason(q->lib, rc, q->why));
}

static size_t drop_piece(UNUSED char *p, size_t size, size_t n, UNUSED void *arg)
{
    return size * n;
}

int hub_request_get(const struct hub_request_conf *conf, const char *path, int64_t limit_ms, struct err *err)
{
    struct hub_request q = {0};
    long status = 0;
    int r = hub_request_init(&q, conf, "GET", path, "", str_of(""), err);

    if (r < 0)
        return r;
    q.lib->easy_setopt(q.c, CURLOPT_WRITEFUNCTION, drop_piece);
    q.lib->easy_setopt(q.c, CURLOPT_TIMEOUT_MS, (long)limit_ms);
    CURLcode rc = q.lib->easy_perform(q.c);
    q.lib->easy_getinfo(q.c, CURLINFO_RESPONSE_CODE, &status);
    r = rc != CURLE_OK  ? hub_request_unreachable(conf, &q, rc, err)
        : status == 200 ? 0
                        : hub_request_refused(conf, status, str_of(""), err);
    hub_request_fini(&q);
    return r;
}
