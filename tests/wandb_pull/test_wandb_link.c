/* test_wandb_link.c: the client of W&B against a server in the same loop (W1 to W5 of wandb_pull/web_api.h). */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/http.h"
#include "wandb_pull/web_answer.h"
#include "wandb_pull/web_api.h"

#include "test.h"

#define KEY   "0123456789abcdef0123456789abcdef01234567"
#define BASIC "Basic YXBpOjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc="

/* ---- a server that says what it is told to ---- */

struct step {
    int status;
    const char *body, *name, *value; /* a header, or NULL */
};

struct alert_input {
    struct event_base *base;
    struct evhttp *server, *other; /* other: of another address */
    struct wandb *w;
    char url[64], other_url[64];
    const struct step *steps; /* the last one is repeated */
    size_t at;
    int asked, asked_other, now, most; /* now: held back */
    int gather;                        /* answer only once so many are asked */
    struct evhttp_request *held[64];
    size_t big; /* bytes of an answer instead of steps */
    char auth[256], auth_other[256], last_body[4096], last_header[128], last_uri[256];
    enum evhttp_cmd_type method;
    /* what came back */
    int done, ok;
    struct wandb_answer last;
    char text[256];
};

static void answer(struct alert_input *s, struct evhttp_request *req)
{
    struct evbuffer *out = evbuffer_new();
    if (s->big) {
        AUTO_FREE char *p = mem_alloc(s->big);
        memset(p, 'x', s->big);
        evbuffer_add(out, p, s->big);
        evhttp_send_reply(req, 200, "OK", out);
    } else {
        const struct step *st = &s->steps[s->at];
        if (st[1].status)
            s->at++;
        AUTO_BUF where = BUF_INIT(400);
        if (st->name && strcmp(st->name, "Location") == 0 && st->value[0] != '/')
            buf_addf(&where, "%s%s", s->other_url, strchr(st->value, '/'));
        if (st->name)
            evhttp_add_header(evhttp_request_get_output_headers(req), st->name, where.len ? where.p : st->value);
        evbuffer_add(out, st->body, strlen(st->body));
        evhttp_send_reply(req, st->status, "said", out);
    }
    evbuffer_free(out);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct alert_input *s = arg;
    const char *auth = evhttp_find_header(evhttp_request_get_input_headers(req), "Authorization");
    const char *mine = evhttp_find_header(evhttp_request_get_input_headers(req), "X-Mine");
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    size_t n = MIN(evbuffer_get_length(in), sizeof(s->last_body) - 1);

    mem_copy_str(s->auth, sizeof(s->auth), auth ? auth : "");
    mem_copy_str(s->last_header, sizeof(s->last_header), mine ? mine : "");
    mem_copy_str(s->last_uri, sizeof(s->last_uri), evhttp_request_get_uri(req));
    evbuffer_copyout(in, s->last_body, n);
    s->last_body[n] = 0;
    s->method = evhttp_request_get_command(req);
    s->asked++;
    if (!s->gather) {
        answer(s, req);
        return;
    }
    s->held[s->now++] = req;
    s->most = MAX(s->most, s->now);
    if (s->now < s->gather)
        return;
    for (int i = 0; i < s->now; i++)
        answer(s, s->held[i]);
    s->now = 0;
}

static void on_other(struct evhttp_request *req, void *arg)
{
    struct alert_input *s = arg;
    const char *auth = evhttp_find_header(evhttp_request_get_input_headers(req), "Authorization");
    struct evbuffer *out = evbuffer_new();

    mem_copy_str(s->auth_other, sizeof(s->auth_other), auth ? auth : "");
    s->asked_other++;
    evbuffer_add(out, "a file", 6);
    evhttp_send_reply(req, 200, "OK", out);
    evbuffer_free(out);
}

static struct evhttp *serve(struct alert_input *s, void (*fn)(struct evhttp_request *, void *), char url[64])
{
    struct evhttp *h = evhttp_new(s->base);
    struct evhttp_bound_socket *b = evhttp_bind_socket_with_handle(h, "127.0.0.1", 0);
    struct sockaddr_in in;
    socklen_t len = sizeof(in);

    assert_non_null(b);
    getsockname(evhttp_bound_socket_get_fd(b), (struct sockaddr *)&in, &len);
    snprintf(url, 64, "http://127.0.0.1:%d", ntohs(in.sin_port));
    evhttp_set_allowed_methods(h, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT);
    evhttp_set_gencb(h, fn, s);
    return h;
}

static void scene_open(struct alert_input *s, const struct step *steps, struct wandb_conf conf)
{
    struct err err = {0};
    *s = (struct alert_input){.base = event_base_new(), .steps = steps};
    s->server = serve(s, on_request, s->url);
    s->other = serve(s, on_other, s->other_url);
    conf.base = s->url;
    conf.key = KEY;
    conf.proxy = "none";
    conf.wait_ms = 1;
    assert_int_equal(wandb_new(&s->w, s->base, &conf, &err), 0);
}

static void scene_close(struct alert_input *s)
{
    wandb_free(s->w);
    evhttp_free(s->server);
    evhttp_free(s->other);
    event_base_free(s->base);
}

static void on_done(void *arg, const struct wandb_answer *a)
{
    struct alert_input *s = arg;
    s->done++;
    s->ok += a->err.code == 0;
    s->last = *a;
    s->text[0] = 0;
    if (json_object_get(a->data, "x"))
        mem_copy_str(s->text, sizeof(s->text), json_string_value(json_object_get(a->data, "x")));
    else if (a->body.len)
        snprintf(s->text, sizeof(s->text), "%.*s", (int)MIN(a->body.len, (size_t)200), a->body.p);
}

static void until(struct alert_input *s, int done)
{
    while (s->done < done)
        assert_int_equal(event_base_loop(s->base, EVLOOP_ONCE), 0);
}

static void ask(struct alert_input *s)
{
    assert_int_equal(wandb_send(s->w, &(struct wandb_request){.op = "Ask", .query = "query Ask{x}"}, on_done, s, NULL),
                     0);
}

/* ---- tests ---- */

static const struct step good[] = {{200, "{\"data\":{\"x\":\"y\"},\"new\":1}", NULL, NULL}, {0}};

static void a_question_is_asked_as_the_vendor_does(void **unused)
{
    struct alert_input s;
    json_t *data = NULL;
    struct err err = {0};
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){0});
    struct wandb_request q = {.op = "Ask", .query = "query Ask($n:Int){x(n:$n)}", .variables = STR("{\"n\":1}")};
    assert_int_equal(wandb_wait(s.w, &q, &data, NULL, &err), 0);
    assert_string_equal(json_string_value(json_object_get(data, "x")), "y");
    json_decref(data);
    assert_string_equal(s.auth, BASIC);
    assert_string_equal(s.last_uri, "/graphql");
    assert_string_equal(s.last_body,
                        "{\"query\":\"query Ask($n:Int){x(n:$n)}\",\"operationName\":\"Ask\",\"variables\":{\"n\":1}}");
    scene_close(&s);
}

static void what_is_tried_again_is_as_in_the_sheet(void **unused)
{
    static const struct {
        struct step steps[4];
        bool conflict;
        int asked, code;
    } cases[] = {
        {{{500, "", 0, 0}, {502, "<html>", 0, 0}, {200, "{\"data\":{\"x\":\"y\"}}", 0, 0}}, false, 3, 0},
        {{{429, "", 0, 0}, {408, "", 0, 0}, {200, "{\"data\":{\"x\":\"y\"}}", 0, 0}}, false, 3, 0},
        {{{429, "", "Retry-After", "0"},
          {503, "", "Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"},
          {200, "{\"data\":{}}", 0, 0}},
         false,
         3,
         0},
        {{{500, "{\"error\":\"no\"}", 0, 0}}, false, 5, -EIO}, /* the tries are used up */
        {{{400, "", 0, 0}}, false, 1, -EINVAL},
        {{{401, "", 0, 0}}, false, 1, -EACCES},
        {{{403, "", 0, 0}}, false, 1, -EACCES},
        {{{404, "", 0, 0}}, false, 1, -ENOENT},
        {{{409, "", 0, 0}}, false, 1, -EEXIST},
        {{{409, "", 0, 0}, {200, "{\"data\":{}}", 0, 0}}, true, 2, 0},
        {{{410, "", 0, 0}}, false, 1, -EIO},
        {{{413, "", 0, 0}}, false, 1, -EMSGSIZE},
        {{{422, "", 0, 0}}, false, 1, -EINVAL},
        {{{501, "", 0, 0}}, false, 1, -EIO},
        {{{302, "", "Location", "/elsewhere"}}, false, 1, -EIO}, /* a question goes nowhere else */
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_input s;
        print_message("%d\n", cases[i].steps[0].status);
        scene_open(&s, cases[i].steps, (struct wandb_conf){.tries = 5});
        assert_int_equal(wandb_send(s.w,
                                    &(struct wandb_request){.op = "Ask",
                                                            .query = "query Ask{x}",
                                                            .conflict_again = cases[i].conflict},
                                    on_done, &s, NULL),
                         0);
        assert_int_equal(s.done, 0); /* W1 */
        until(&s, 1);
        assert_int_equal(s.last.err.code, cases[i].code);
        assert_int_equal(s.asked, cases[i].asked);
        assert_int_equal(s.last.tries, cases[i].asked);
        assert_int_equal(wandb_counts(s.w).again, cases[i].asked - 1);
        scene_close(&s);
    }
}

static void on_http(void *arg, const struct http_result *r)
{
    *(int64_t *)arg = r->retry_after_ms;
}

static void a_date_says_how_long_to_wait(void **unused)
{
    char date[64];
    struct tm tm;
    time_t at = time(NULL) + 100;
    struct step steps[] = {{429, "", "Retry-After", date}, {0}};
    struct alert_input s;
    struct http *h = NULL;
    int64_t after = -1;
    (void)unused;
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
    scene_open(&s, steps, (struct wandb_conf){0});
    assert_int_equal(http_new(&h, s.base, NULL), 0);
    struct http_call *c = http_call_new(h, &(struct http_conf){.url = s.url, .proxy = "none"}, on_http, &after);
    assert_int_equal(http_send(c,
                               &(struct http_request){.method = "POST",
                                                      .body = STR("x"),
                                                      .body_max = 100,
                                                      .timeout_ms = 10000},
                               NULL),
                     0);
    while (after < 0)
        event_base_loop(s.base, EVLOOP_ONCE);
    assert_in_range(after, 60000, 100000);
    http_call_free(c);
    http_free(h);
    scene_close(&s);
}

static void errors_of_every_shape_become_one_sentence(void **unused)
{
    static const struct {
        int status;
        const char *body, *want;
        int code;
    } cases[] = {
        {200, "{\"errors\":[{\"message\":\"no such field\",\"path\":[\"project\"]}],\"data\":null}",
         "Ask: no such field", -EPROTO},
        {200, "{\"errors\":[{\"message\":\"half\"}],\"data\":{\"project\":{}}}", "Ask: half", -EPROTO},
        {200, "{\"error\":\"text\"}", "Ask: text", -EPROTO},
        {400, "{\"error\":{\"message\":\"deep\"}}", "Ask: HTTP 400: deep", -EINVAL},
        {403, "{\"errors\":[\"a\",{\"message\":\"b\\nc\"}]}", "Ask: HTTP 403: a; b c", -EACCES},
        {500, "{\"errors\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}", "Ask: HTTP 500: a; b; c (and 2 more)", -EIO},
        {500, "<html>", "Ask: HTTP 500", -EIO},
        {401, "", "Ask: HTTP 401: the key is not accepted", -EACCES},
        {200, "<html>", "Ask: the answer is not JSON", -EBADMSG},
        {200, "", "Ask: the answer is not JSON", -EBADMSG},
        {200, "[]", "Ask: the answer is not JSON", -EBADMSG},
        {200, "{}", "Ask: the answer has no data", -EBADMSG},
        {200, "{\"data\":null}", "Ask: the answer has no data", -EBADMSG},
        {200, "{\"data\":{},\"errors\":[{}]}", "Ask: the response reports a failure without a reason", -EPROTO},
        {200, "{\"data\":{},\"errors\":[]}", "", 0},
        {200, "{\"data\":{},\"errors\":null,\"error\":null}", "", 0},
        {200, "{\"data\":{\"a\":\"b\\u0000c\"},\"extensions\":{}}", "", 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *data = NULL;
        struct err err = {0};
        print_message("%s\n", cases[i].body);
        assert_int_equal(wandb_answer_data("Ask", cases[i].status, str_of(cases[i].body), &data, &err), cases[i].code);
        assert_string_equal(err.msg, cases[i].want);
        assert_int_equal(data != NULL, cases[i].code == 0);
        json_decref(data);
    }
}

static void the_key_goes_home_and_into_no_message(void **unused)
{
    static const struct step echo[] = {{400, "{\"error\":\"bad key " KEY " or " BASIC "\"}", NULL, NULL}, {0}};
    static const struct step moved[] = {{302, "", "Location", "other/signed?x=1"}, {0}};
    static const char *const headers[] = {"X-Mine:yes", NULL};
    struct alert_input s;
    (void)unused;
    scene_open(&s, echo, (struct wandb_conf){0});
    ask(&s);
    until(&s, 1);
    assert_null(strstr(s.last.err.msg, KEY));
    assert_null(strstr(s.last.err.msg, strchr(BASIC, ' ') + 1));
    assert_non_null(strstr(s.last.err.msg, "bad key ****"));
    scene_close(&s);

    scene_open(&s, moved, (struct wandb_conf){0}); /* a file that is kept elsewhere */
    assert_int_equal(wandb_send(s.w, &(struct wandb_request){.op = "file", .method = "GET", .url = "/files/a/b"},
                                on_done, &s, NULL),
                     0);
    until(&s, 1);
    assert_int_equal(s.last.err.code, 0);
    assert_string_equal(s.text, "a file");
    assert_string_equal(s.auth, BASIC);
    assert_int_equal(s.asked_other, 1);
    assert_string_equal(s.auth_other, "");
    scene_close(&s);

    scene_open(&s, good, (struct wandb_conf){0}); /* an upload */
    AUTO_FREE char *url = mem_fmt("%s/upload?sig=1", s.url);
    assert_int_equal(wandb_wait(s.w,
                                &(struct wandb_request){.op = "upload",
                                                        .method = "PUT",
                                                        .url = url,
                                                        .headers = headers,
                                                        .body = STR("bytes")},
                                NULL, NULL, NULL),
                     0);
    assert_int_equal(s.method, EVHTTP_REQ_PUT);
    assert_string_equal(s.auth, "");
    assert_string_equal(s.last_header, "yes");
    assert_string_equal(s.last_body, "bytes");
    assert_int_equal(wandb_wait(s.w,
                                &(struct wandb_request){.op = "stream",
                                                        .method = "POST",
                                                        .url = "/files/a/b/c/file_stream",
                                                        .body = STR("{}")},
                                NULL, NULL, NULL),
                     0);
    assert_string_equal(s.auth, BASIC);
    assert_string_equal(s.last_uri, "/files/a/b/c/file_stream");
    scene_close(&s);
}

static void addresses_that_are_none_are_refused(void **unused)
{
    static const char *const bases[] = {NULL,          "",          "api.wandb.ai", "ftp://x", "http://u:" KEY "@x",
                                        "http://x/?a", "http://x y"};
    struct event_base *base = event_base_new();
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        struct wandb *w = NULL;
        struct err err = {0};
        assert_int_equal(wandb_new(&w, base, &(struct wandb_conf){.base = bases[i]}, &err), -EINVAL);
        assert_null(strstr(err.msg, KEY));
    }
    event_base_free(base);
}

static void many_are_under_way_and_never_more_than_told(void **unused)
{
    struct alert_input s;
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){.in_flight = 8});
    s.gather = 8; /* the server answers only once eight are asked at once */
    assert_int_equal(wandb_room(s.w), 8);
    for (int i = 0; i < 40; i++)
        ask(&s);
    assert_int_equal(wandb_room(s.w), 0);
    until(&s, 40);
    assert_int_equal(s.ok, 40);
    assert_int_equal(s.most, 8);
    assert_int_equal(wandb_counts(s.w).in_flight_peak, 8);
    assert_int_equal(wandb_counts(s.w).sent, 40);
    scene_close(&s);
}

static void answers_on_their_way_are_bounded(void **unused)
{
    enum { BIG = 1 << 20, N = 24 };
    struct alert_input s;
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){.in_flight = 12, .bytes = 2 * BIG});
    s.big = BIG;
    for (int i = 0; i < N; i++)
        assert_int_equal(wandb_send(s.w,
                                    &(struct wandb_request){.op = "file", .method = "GET", .url = "/f", .max = BIG},
                                    on_done, &s, NULL),
                         0);
    until(&s, N);
    assert_int_equal(s.ok, N);
    assert_in_range(wandb_counts(s.w).bytes_peak, BIG, 3 * BIG); /* W3 */
    s.big = BIG + 1;
    assert_int_equal(wandb_send(s.w, &(struct wandb_request){.op = "file", .method = "GET", .url = "/f", .max = BIG},
                                on_done, &s, NULL),
                     0);
    until(&s, N + 1);
    assert_int_equal(s.last.err.code, -EMSGSIZE);
    assert_int_equal(s.last.tries, 1); /* it would be as long again */
    scene_close(&s);
}

static void what_is_dropped_is_not_told(void **unused)
{
    struct alert_input s;
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){.in_flight = 2});
    s.gather = 3; /* never */
    for (int i = 0; i < 5; i++)
        ask(&s);
    while (s.asked < 2)
        event_base_loop(s.base, EVLOOP_ONCE);
    scene_close(&s);
    assert_int_equal(s.done, 0);
}

static void what_is_given_up_is_told_once(void **unused)
{
    struct alert_input s;
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){.in_flight = 2});
    s.gather = 3; /* never */
    for (int i = 0; i < 5; i++)
        ask(&s);
    while (s.asked < 2)
        event_base_loop(s.base, EVLOOP_ONCE);
    wandb_cancel(s.w);
    assert_int_equal(s.done, 5);
    assert_int_equal(s.last.err.code, -ECANCELED);
    s.gather = 1;
    s.now = 0;
    ask(&s); /* and it goes on */
    until(&s, 6);
    assert_int_equal(s.ok, 1);
    scene_close(&s);
}

static void nobody_there_is_said_after_the_tries(void **unused)
{
    struct alert_input s;
    (void)unused;
    scene_open(&s, good, (struct wandb_conf){.tries = 3});
    evhttp_free(s.server);
    s.server = evhttp_new(s.base); /* listens nowhere */
    ask(&s);
    until(&s, 1);
    assert_int_equal(s.last.err.code, -ETIMEDOUT);
    assert_non_null(strstr(s.last.err.msg, "(3 tries)"));
    scene_close(&s);
}

TESTS(cmocka_unit_test(a_question_is_asked_as_the_vendor_does),
      cmocka_unit_test(what_is_tried_again_is_as_in_the_sheet), cmocka_unit_test(a_date_says_how_long_to_wait),
      cmocka_unit_test(errors_of_every_shape_become_one_sentence),
      cmocka_unit_test(the_key_goes_home_and_into_no_message), cmocka_unit_test(addresses_that_are_none_are_refused),
      cmocka_unit_test(many_are_under_way_and_never_more_than_told), cmocka_unit_test(answers_on_their_way_are_bounded),
      cmocka_unit_test(what_is_dropped_is_not_told), cmocka_unit_test(what_is_given_up_is_told_once),
      cmocka_unit_test(nobody_there_is_said_after_the_tries))
