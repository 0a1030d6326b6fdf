/* source_sd.c: Prometheus' two ways of target discovery: files, which are polled, and an HTTP address. */
#include <errno.h>
#include <glob.h>

#include "base/buf.h"
#include "base/file.h"
#include "relay/source.h"

#define SD_MAX    (16u << 20)
#define FILES_MAX 256
#define ASK_MS    10000

/* ---- files ---- */

static int read_one(const char *path, struct found_list *l, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read(path, SD_MAX, &text, err);
    if (r < 0)
        return r;
    r = str_ends(str_of(path), ".json") ? found_sd_json(l, buf_str(&text), err) : found_sd_yaml(l, buf_str(&text), err);
    return r < 0 ? err_prefix(err, r, "%s", path) : 0;
}

/* If one file cannot be read, the whole last list stays: with half of it, nodes would seem to be gone. */
static void file_look(struct source *s)
{
    AUTO_FOUND l = {0};
    struct err err = {0};
    glob_t g = {0};
    int r = glob(s->what, 0, NULL, &g);
    if (r == GLOB_NOMATCH)
        r = err_set(&err, -ENOENT, "there is no file '%.200s'", s->what);
    else if (r != 0 || g.gl_pathc > FILES_MAX)
        r = err_set(&err, -EIO, "cannot look for '%.200s', or more than %d files fit", s->what, FILES_MAX);
    for (size_t i = 0; r == 0 && i < g.gl_pathc; i++)
        r = read_one(g.gl_pathv[i], &l, &err);
    globfree(&g);
    source_end(s, &l, r, &err);
}

static int file_open(UNUSED struct source *s, UNUSED struct event_base *loop, UNUSED struct http *http,
                     const struct source_conf *conf, struct err *err)
{
    struct str what = str_of(conf->what);
    if (!str_ends(what, ".json") && !str_ends(what, ".yml") && !str_ends(what, ".yaml"))
        return err_set(err, -EINVAL, "'%.200s' does not end in .json, .yml or .yaml", conf->what);
    return 0;
}

const struct source_ops source_file_sd = {
    .name = "file_sd",
    .service_port = true,
    .every_ms = 5000,
    .open = file_open,
    .look = file_look,
};

/* ---- HTTP ---- */

struct http_sd {
    struct source s;
    char *every; /* the poll interval in Prometheus' format */
};

static void on_answer(void *arg, const struct http_result *r)
{
    struct http_sd *h = arg;
    AUTO_FOUND l = {0};
    struct err err = {0};
    if (r->status != 200)
        source_http_fail(&h->s, r, "the list's server");
    else
        source_end(&h->s, &l, found_sd_json(&l, r->body, &err), &err);
}

static void http_look(struct source *s)
{
    struct http_sd *h = (struct http_sd *)s;
    const char *const headers[] = {"Accept: application/json", h->every, s->header, NULL};
    struct err err = {0};
    if (http_get(s->call, NULL, headers, SD_MAX, ASK_MS, &err) < 0)
        source_fail(s, err.msg);
}

static void http_close(struct source *s)
{
    free(((struct http_sd *)s)->every);
}

static int http_open(struct source *s, UNUSED struct event_base *loop, struct http *http,
                     const struct source_conf *conf, struct err *err)
{
    struct http_sd *h = (struct http_sd *)s;
    struct str what = str_of(conf->what);
    if (!str_starts(what, "http://") && !str_starts(what, "https://"))
        return err_set(err, -EINVAL, "'%.200s' is not an http or https address", conf->what);
    int64_t every_ms = conf->every_ms > 0 ? conf->every_ms : source_http_sd.every_ms;
    h->every = mem_fmt("X-Prometheus-Refresh-Interval-Seconds: %lld", (long long)MAX(every_ms / 1000, 1));
    s->header = conf->token ? mem_fmt("Authorization: Bearer %s", conf->token) : NULL;
    s->call = http_call_new(http, &(struct http_conf){conf->what, conf->ca_file, conf->pin, conf->proxy}, on_answer, h);
    return 0;
}

const struct source_ops source_http_sd = {
    .name = "http_sd",
    .service_port = true,
    .http = true,
    .every_ms = 60000,
    .size = sizeof(struct http_sd),
    .open = http_open,
    .look = http_look,
    .close = http_close,
};
