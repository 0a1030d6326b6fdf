/*
 * web_api.c: requests one after the other. A message takes: who (lookup, open), its files up (address, bytes, for
 * each), the post itself, and the files shown under it. Files go up first, since nobody sees them before they are
 * shown.
 */
#include "slack/web_api.h"

#include <errno.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/http.h"

#define LIMIT_MS   15000
#define BODY_MAX   (256u << 10)
#define POSTED_MAX 32

struct slack {
    struct http *http;
    char *api, *hooks, *ca_file;
    struct {
        int64_t id;
        char channel[64], ts[64];
    } posted[POSTED_MAX]; /* their files are still to be shown; the oldest goes */
    size_t n_posted;
};

enum step { STEP_ASK, STEP_HOOK, STEP_LOOKUP, STEP_OPEN, STEP_ADDRESS, STEP_UPLOAD, STEP_POST, STEP_SHOW };

struct slack_request {
    struct slack *s;
    enum step step;
    char *token;
    struct http_call *call;
    struct buf body;
    const struct message *m;
    char channel[256], ts[64]; /* where to; the message there */
    size_t n_up;               /* files that are up, or on their way */
    char files[MESSAGE_FILES_MAX][100];
    slack_done_fn *done;
    void *arg;
};

void slack_set(struct slack *s, const struct slack_server *at)
{
    FREE_ALL(s->api, s->hooks, s->ca_file);
    s->api = mem_str(at->api);
    s->hooks = mem_str(at->hooks);
    s->ca_file = mem_str(at->ca_file);
}

int slack_new(struct slack **ret, struct event_base *loop, const struct slack_server *at, struct err *err)
{
    struct slack *s = mem_zero(1, sizeof(*s));
    int r = http_new(&s->http, loop, err);

    if (r < 0) {
        free(s);
        return r;
    }
    slack_set(s, at);
    *ret = s;
    return 0;
}

void slack_free(struct slack *s)
{
    if (!s)
        return;
    http_free(s->http);
    FREE_ALL(s->api, s->hooks, s->ca_file);
    free(s);
}

void slack_request_free(struct slack_request *k)
{
    if (!k)
        return;
    http_call_free(k->call);
    buf_fini(&k->body);
    free(k->token);
    free(k);
}

/* ---- one request ---- */

static void on_answer(void *arg, const struct http_result *r);

/* k->body goes out. type NULL: JSON. */
static int send_body(struct slack_request *k, const char *url, const char *type, bool with_token, struct str body,
                     struct err *err)
{
    AUTO_BUF auth = BUF_INIT(8192);
    const char *lines[3] = {type ? type : "Content-Type: application/json; charset=utf-8", NULL, NULL};

    if (k->body.err)
        return err_set(err, -EMSGSIZE, "the message is longer than Slack takes");
    if (with_token) {
        buf_addf(&auth, "Authorization: Bearer %s", k->token);
        lines[1] = auth.p;
    }
    http_call_free(k->call);
    k->call = http_call_new(k->s->http, &(struct http_conf){.url = url, .ca_file = k->s->ca_file}, on_answer, k);
    return http_send(k->call,
                     &(struct http_request){.method = "POST",
                                            .headers = lines,
                                            .body = body,
                                            .body_max = SLACK_ANSWER_MAX,
                                            .timeout_ms = LIMIT_MS},
                     err);
}

static int send_method(struct slack_request *k, enum step step, const char *method, const char *type, struct err *err)
{
    AUTO_FREE char *url = mem_fmt("%s/%s", k->s->api, method);

    k->step = step;
    return send_body(k, url, type, true, buf_str(&k->body), err);
}

#define FORM "Content-Type: application/x-www-form-urlencoded"

static void form_add(struct buf *b, const char *name, const char *value)
{
    buf_addf(b, "%s%s=", b->len ? "&" : "", name);
    buf_addurl(b, str_of(value));
}

/* ---- what is sent ---- */

static void put_words(struct json *j, const struct message *m)
{
    AUTO_BUF text = BUF_INIT(8u << 20);

    message_slack(m, &text);
    if (!text.len && m->n_files)
        message_slack(&(struct message){.title = m->files[0].name, .text = ""}, &text); /* something must be said */
    json_str(j, "text", buf_str(&text));
    if (m->blocks[0])
        json_raw(j, "blocks", str_of(m->blocks));
}

static int send_post(struct slack_request *k, struct err *err)
{
    struct json j = json_on(&k->body);

    buf_reset(&k->body);
    json_obj(&j, NULL);
    json_cstr(&j, "channel", k->channel);
    put_words(&j, k->m);
    json_some(&j, "thread_ts", k->m->thread);
    json_bool(&j, "unfurl_links", false);
    json_end_obj(&j);
    return send_method(k, STEP_POST, "chat.postMessage", NULL, err);
}

static int send_hook(struct slack_request *k, const char *url, struct err *err)
{
    struct json j = json_on(&k->body);
    size_t n = strlen(k->s->hooks);

    if (strncmp(url, k->s->hooks, n) != 0 || url[n] != '/')
        return err_set(err, -EACCES, "the address to answer to is not Slack's");
    json_obj(&j, NULL);
    json_cstr(&j, "response_type", "ephemeral");
    json_bool(&j, "replace_original", false);
    put_words(&j, k->m);
    json_end_obj(&j);
    k->step = STEP_HOOK;
    return send_body(k, url, NULL, false, buf_str(&k->body), err);
}

static int send_address(struct slack_request *k, struct err *err)
{
    const struct message_file *f = &k->m->files[k->n_up];
    char length[32];

    buf_reset(&k->body);
    form_add(&k->body, "filename", f->name);
    snprintf(length, sizeof(length), "%zu", f->bytes.len);
    form_add(&k->body, "length", length);
    return send_method(k, STEP_ADDRESS, "files.getUploadURLExternal", FORM, err);
}

static int send_show(struct slack_request *k, struct err *err)
{
    struct json j = json_on(&k->body);

    buf_reset(&k->body);
    json_obj(&j, NULL);
    json_arr(&j, "files");
    for (size_t i = 0; i < k->n_up; i++) {
        json_obj(&j, NULL);
        json_cstr(&j, "id", k->files[i]);
        const struct message_file *f = &k->m->files[i];
        json_cstr(&j, "title", f->title && f->title[0] ? f->title : f->name);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_cstr(&j, "channel_id", k->channel);
    json_some(&j, "thread_ts", k->m->thread);
    json_end_obj(&j);
    return send_method(k, STEP_SHOW, "files.completeUploadExternal", NULL, err);
}

/* ---- what was posted, and its files were not shown ---- */

static bool was_posted(struct slack_request *k)
{
    for (size_t i = 0; i < POSTED_MAX; i++)
        if (k->m->id && k->s->posted[i].id == k->m->id) {
            mem_copy_str(k->channel, sizeof(k->channel), k->s->posted[i].channel);
            mem_copy_str(k->ts, sizeof(k->ts), k->s->posted[i].ts);
            return true;
        }
    return false;
}

static void keep_posted(struct slack_request *k)
{
    size_t i = k->s->n_posted++ % POSTED_MAX;

    k->s->posted[i].id = k->m->id;
    mem_copy_str(k->s->posted[i].channel, sizeof(k->s->posted[i].channel), k->channel);
    mem_copy_str(k->s->posted[i].ts, sizeof(k->s->posted[i].ts), k->ts);
}

/* ---- step by step ---- */

/* The next file, the message, or its files: -errno ends it. */
static int go_on(struct slack_request *k, struct err *err)
{
    if (k->n_up < k->m->n_files && k->n_up < MESSAGE_FILES_MAX)
        return send_address(k, err);
    return was_posted(k) ? send_show(k, err) : send_post(k, err);
}

static int open_person(struct slack_request *k, const char *user, struct err *err)
{
    buf_reset(&k->body);
    form_add(&k->body, "users", user);
    return send_method(k, STEP_OPEN, "conversations.open", FORM, err);
}

/* Under the same host as the API, or anywhere over TLS. */
static bool upload_ok(const struct slack *s, const char *url)
{
    const char *host = strstr(s->api, "://");
    size_t n = host ? (size_t)(host + 3 - s->api) + strcspn(host + 3, "/") : 0;

    return str_starts(str_of(url), "https://") || (n && strncmp(url, s->api, n) == 0 && url[n] == '/');
}

static int upload(struct slack_request *k, const struct slack_result *r, struct err *err)
{
    const char *url = slack_text(r->body, "upload_url"), *id = slack_text(r->body, "file_id");

    if (!upload_ok(k->s, url) || !id[0] || strlen(id) >= sizeof(k->files[0]))
        return err_set(err, -EPROTO, "Slack's answer has no address for a file");
    mem_copy_str(k->files[k->n_up], sizeof(k->files[0]), id);
    k->step = STEP_UPLOAD;
    buf_reset(&k->body);
    return send_body(k, url, "Content-Type: application/octet-stream", false, k->m->files[k->n_up].bytes, err);
}

static int keep_channel(struct slack_request *k, const char *id, struct err *err)
{
    if (!id[0] || strlen(id) >= sizeof(k->channel))
        return err_set(err, -EPROTO, "Slack's answer has no channel");
    mem_copy_str(k->channel, sizeof(k->channel), id);
    return 0;
}

/* 1: all is done. */
static int next_step(struct slack_request *k, const struct slack_result *r, struct err *err)
{
    int e;

    switch (k->step) {
    case STEP_LOOKUP:
        return open_person(k, slack_text(json_object_get(r->body, "user"), "id"), err);
    case STEP_OPEN:
        e = keep_channel(k, slack_text(json_object_get(r->body, "channel"), "id"), err);
        return e < 0 ? e : go_on(k, err);
    case STEP_ADDRESS:
        return upload(k, r, err);
    case STEP_UPLOAD:
        k->n_up++;
        return go_on(k, err);
    case STEP_POST:
        if (!k->m->n_files)
            return 1;
        e = keep_channel(k, slack_text(r->body, "channel"), err);
        if (e < 0)
            return e;
        keep_posted(k);
        return send_show(k, err);
    default:
        return 1;
    }
}

static void on_answer(void *arg, const struct http_result *h)
{
    struct slack_request *k = arg;
    struct slack_result r = {.how = SLACK_AGAIN};
    struct err err = {0};
    bool plain = k->step == STEP_HOOK || k->step == STEP_UPLOAD;

    if (!h->status)
        mem_copy_str(r.error, sizeof(r.error), h->error);
    else if (plain)
        slack_answer_plain(h->status, h->body, h->retry_after_ms, &r);
    else
        slack_answer_read(h->status, h->body, h->retry_after_ms, &r);
    int next = r.how == SLACK_DONE ? next_step(k, &r, &err) : 1;
    if (next < 0) {
        r.how = err.code == -EMSGSIZE ? SLACK_REFUSED : SLACK_AGAIN;
        mem_copy_str(r.error, sizeof(r.error), err.msg);
    }
    if (next) {
        slack_done_fn *done = k->done;
        void *done_arg = k->arg;
        slack_request_free(k);
        done(done_arg, &r);
    }
    json_decref(r.body);
}

/* ---- in ---- */

static struct slack_request *ask_new(struct slack *s, struct str token, slack_done_fn *done, void *arg)
{
    return NEW(struct slack_request, .s = s, .token = mem_strn(token.p, token.len), .body = BUF_INIT(BODY_MAX),
               .done = done, .arg = arg);
}

static int begun(struct slack_request **ret, struct slack_request *k, int r)
{
    if (r < 0)
        slack_request_free(k);
    else
        *ret = k;
    return r;
}

int slack_request(struct slack_request **ret, struct slack *s, const char *method, struct str token, const char *name,
                  const char *value, slack_done_fn *done, void *arg, struct err *err)
{
    struct slack_request *k = ask_new(s, token, done, arg);

    if (name)
        form_add(&k->body, name, value);
    return begun(ret, k, send_method(k, STEP_ASK, method, FORM, err));
}

int slack_post(struct slack_request **ret, struct slack *s, struct str token, const char *to, const struct message *m,
               slack_done_fn *done, void *arg, struct err *err)
{
    struct slack_request *k = ask_new(s, token, done, arg);
    const char *at = strchr(to, '@');
    int r;

    k->m = m;
    if (strstr(to, "://")) {
        r = send_hook(k, to, err);
    } else if (at && at != to) {
        form_add(&k->body, "email", to);
        r = send_method(k, STEP_LOOKUP, "users.lookupByEmail", FORM, err);
    } else if ((to[0] == 'U' || to[0] == 'W') && strlen(to) > 1) {
        r = open_person(k, to, err);
    } else if (!to[0] || strlen(to) >= sizeof(k->channel)) {
        r = err_set(err, -EINVAL, "the Slack channel is missing: set slack.channel, or to");
    } else {
        mem_copy_str(k->channel, sizeof(k->channel), to);
        r = go_on(k, err);
    }
    return begun(ret, k, r);
}
