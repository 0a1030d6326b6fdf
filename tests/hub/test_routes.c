/* Routes of a whole hub: who may call what, whose Host and Origin count, what errors look like. */
#include "http/address.h"
#include "nodes/feature.h"
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fault_vfs.h"
#include "http/web.h"
#include "hub/record_fetch.h"
#include "notify/outbox.h"
#include "now/live.h"
#include "now/streams.h"
#include "report/feature.h"
#include "whole_hub.h"

#define NOW       1700000000000 /* 2023-11-14T22:13:20Z */
#define TURNS_MAX 200000        /* of the loop, until a worker is done */

static const char settings[] = "name: lab\n"
                               "read: token\n"
                               "session: 60s\n"
                               "vesta_token: '0000'\n"
                               "slack: {token_env: MUSTER_TEST_SLACK, signing_env: MUSTER_TEST_SLACK}\n"
                               "channels:\n"
                               "  ops: {type: command, command: [/bin/true]}\n"
                               "  mail: {type: command, command: [/bin/true]}\n"
                               "reports:\n"
                               "  daily: {every: day, at: '08:05', zone: UTC, what: usage by team, team: vision,\n"
                               "          chart: no, channel: [ops, mail]}\n"
                               "  quiet: {every: week, what: status}\n";

static struct hub *hub;
static char by_role[ROLE_COUNT][64]; /* tokens */

static void put_event(const char *node, const char *device, const char *text)
{
    static int64_t n; /* each is another one */
    struct node_event e = {.at_ms = NOW - 1000, .kind = EVENT_XID, .code = ++n};
    mem_copy_str(e.text, sizeof(e.text), text);
    store_put(hub->store, STORE_EVENT, &(struct store_event){node, device, e}, 1, NULL, NULL);
}

static struct node_now *put_node(const char *key, const char *name)
{
    struct node_now *n;
    assert_non_null(ingest_node(hub, key, name, NOW, &n));
    return n;
}

static int setup(void **state)
{
    struct proc_fact p = {.pid = 7, .start_ms = 5, .uid = 1, .user = "kim", .name = "python", .cmd = "python secret"};
    struct device_fact d = {.uuid = "GPU-1", .name = "Test", .mig = -1};
    struct node_fact f = {.name = "box", .n_devices = 1, .devices = &d};
    struct proc_list l = {1, &p};
    struct proc_use u = {.slot = 1, .kind = PROC_COMPUTE, .mem = 1 << 30, .sm = -1};
    int64_t at = NOW - 1000;
    struct batch b = {.facts = 1, .procs = 2, .n_ticks = 1, .at_ms = &at, .n_uses = 1, .uses = &u};
    char id[20];
    uint8_t hash[32];
    (void)state;
    clock_set_for_test(NOW);
    setenv("MUSTER_TEST_SLACK", "secret", 1);
    fault_install();
    hub = whole_hub_open(settings);
    for (int r = ROLE_AGENT; r < ROLE_COUNT; r++) {
        token_new(id, hash, by_role[r]);
        whole_hub_token(hub, by_role[r], (enum role)r, r == ROLE_MEMBER ? "kim" : "", false);
    }
    struct node_now *n = put_node("k1", "box");
    live_facts(hub->live, n, 1, &f, NOW);
    live_procs(hub->live, n, 2, &l, NOW);
    live_batch(hub->live, n, &b, 0, NOW);
    put_event("k1", "GPU-1", "of the GPU");
    put_event("k1", NULL, "of the node");
    put_event("k0", "GPU-1", "of one that is gone");
    assert_int_equal(store_flush(hub->store, NULL), 0);
    return 0;
}

/* For what answers say, whoever asks. */
static int setup_open(void **state)
{
    int r = setup(state);
    hub->api.read_open = true;
    return r;
}

static int teardown(void **state)
{
    (void)state;
    fault_arm(FAULT_NONE, 0);
    whole_hub_close(hub);
    clock_set_for_test(-1);
    return 0;
}

/* ---- asking ---- */

struct ask {
    const char *method, *target, *body, *peer;
    const char *token, *cookie, *origin, *host, *forwarded, *user, *if_none_match, *accept;
    const char *more, *value; /* a header of any name */
    struct str bytes;         /* instead of body */
};
static const struct ask *asking;
static char authorization[128];

static struct str header(const struct request *rq, const char *name)
{
    const char *v = NULL;
    (void)rq;
    if (strcmp(name, "Host") == 0)
        v = asking->host ? asking->host : "localhost:8765";
    else if (strcmp(name, "Authorization") == 0 && asking->token)
        v = authorization;
    else if (strcmp(name, "Cookie") == 0)
        v = asking->cookie;
    else if (asking->more && strcmp(name, asking->more) == 0)
        v = asking->value;
    else if (strcmp(name, "Origin") == 0)
        v = asking->origin;
    else if (strcmp(name, "X-Forwarded-For") == 0)
        v = asking->forwarded;
    else if (strcmp(name, "X-User") == 0)
        v = asking->user;
    else if (strcmp(name, "Accept") == 0)
        v = asking->accept;
    else if (strcmp(name, "If-None-Match") == 0)
        v = asking->if_none_match;
    return str_of(v ? v : "");
}

static struct request request_of(const struct ask *a, char *scratch)
{
    static struct token_memo memo; /* all come on one connection, whatever token they bring */
    static struct asker who;
    struct request rq = {.header = header, .now_ms = NOW, .body = a->bytes, .memo = &memo, .who = &who};
    who = (struct asker){0};
    if (a->body)
        rq.body = str_of(a->body);
    asking = a;
    snprintf(authorization, sizeof(authorization), "Bearer %s", a->token ? a->token : "");
    snprintf(rq.peer, sizeof(rq.peer), "%s", a->peer ? a->peer : "127.0.0.1");
    rq.loopback = address_is_loopback(rq.peer);
    rq.method = (enum method)method_of(str_of(a->method ? a->method : "GET"));
    assert_int_equal(request_target(&rq, str_of(a->target), scratch, NULL), 0);
    return rq;
}

struct late_answer {
    struct reply *rp;
    bool came;
};

static void take_late(void *arg, struct reply *rp)
{
    struct late_answer *l = arg;
    *l->rp = *rp;
    *rp = (struct reply){0};
    l->came = true;
}

static int ask(const struct ask *a, struct reply *rp)
{
    char scratch[1024];
    struct request rq = request_of(a, scratch);
    struct late_answer late = {.rp = rp};
    rq.take = take_late;
    rq.take_arg = &late;
    *rp = (struct reply){0};
    if (api_handle(&hub->api, &rq, rp) == REPLY_LATER)
        while (!late.came)
            event_base_loop(hub->loop, EVLOOP_ONCE);
    return rp->status ? rp->status : 200;
}

static struct str body_of(const struct reply *rp)
{
    return buf_str(rp->blob ? &rp->blob->plain : &rp->body);
}

static int ask_status(const struct ask *a)
{
    struct reply rp;
    int status = ask(a, &rp);
    reply_fini(&rp);
    return status;
}

/* What an agent sends: a batch under facts that no frame brings. */
static void put_batch(struct buf *out, uint64_t facts)
{
    struct hello hello = {.node = {{1}}, .run = 7, .sent_ms = NOW, .collect = COLLECT_OK, .name = "sender"};
    struct batch b = {.key = {.node = hello.node, .run = 7, .number = 1}, .facts = facts};
    struct wire_enc *e = wire_enc_new(3);
    assert_int_equal(wire_start(out), 0);
    assert_int_equal(wire_put_hello(out, &hello), 0);
    assert_int_equal(wire_put_batch(e, out, &b), 0);
    wire_enc_free(e);
}

static bool reply_has(const struct reply *rp, const char *words)
{
    return str_find(rp->blob ? buf_str(&rp->blob->plain) : buf_str(&rp->body), words) >= 0;
}

/* ---- who may do what ---- */

static void every_route_lets_in_whom_it_should_and_nobody_else(void **unused)
{
    /*
     * For nobody on this machine where reading takes a token; nobody elsewhere where it is open; nobody elsewhere where
     * it takes one; then elsewhere with a token of role agent, enroll, member, admin, relay, reader. + let in, 1 is
     * 401, 3 is 403.
     */
    static const struct {
        const char *path, *method, *want;
    } table[] = {
        {"/node/{node*}", "GET", "++++++++++"},
        {"/history", "GET", "++++++++++"},
        {"/usage", "GET", "++++++++++"},
        {"/trends", "GET", "++++++++++"},
        {"/reports", "GET", "++++++++++"},
        {"/bookings", "GET", "++++++++++"},
        {"/people", "GET", "++++++++++"},
        {"/run/{id}", "GET", "++++++++++"},
        {"/person/{person}", "GET", "++++++++++"},
        {"/team/{team}", "GET", "++++++++++"},
        {"/events", "GET", "++++++++++"},
        {"/alerts", "GET", "++++++++++"},
        {"/login", "GET", "++++++++++"},
        {"/add", "GET", "++++++++++"},
        {"/assets/{file*}", "GET", "++++++++++"},
        {"/api/v1/metrics", "GET", "++++++++++"},
        {"/api/v1/openapi.json", "GET", "++++++++++"},
        {"/healthz", "GET", "++++++++++"},
        {"/readyz", "GET", "++++++++++"},
        {"/api/v1/folder", "GET", "+333333333"},
        {"/favicon.ico", "GET", "++++++++++"},
        {"/api/v1/hubs", "GET", "1+133++3+3"},
        {"/api/v1/login", "POST", "++++++++++"},
        {"/api/v1/logout", "POST", "++++++++++"},
        {"/api/v1/once", "POST", "11133++333"},
        {"/api/v1/sessions", "GET", "11133++333"},
        {"/api/v1/sessions/{id}", "DELETE", "11133++333"},
        {"/api/v1/whoami", "GET", "++++++++++"},
        {"/api/v1/tokens", "POST", "111333+333"},
        {"/api/v1/audit", "GET", "111333+333"},
        {"/", "GET", "++++++++++"}, /* the page; its text is another matter, below */
        {"/index.php", "GET", "++++++++++"},
        {"/gpu_table", "GET", "++++++++++"},
        {"/gpu/{device*}", "GET", "++++++++++"},
        {"/api/v1/state", "GET", "1+133++3+3"},
        {"/api/v1/summary", "GET", "1+133++3+3"},
        {"/api/v1/filter", "GET", "++++++++++"},
        {"/api/v1/stream", "GET", "1+133++3+3"},
        {"/api/v1/pace", "GET", "1+133++3+3"},
        {"/api/v1/processes", "GET", "1+133++3+3"},
        {"/metrics", "GET", "1+133++3+3"},
        {"/states/", "GET", "1+133++3+3"},
        {"/states/{host}/", "GET", "1+133++3+3"},
        {"/api/v1/nodes", "GET", "1+133++3+3"},
        {"/api/v1/nodes/{id*}", "PATCH", "111333+333"},
        {"/api/v1/nodes/{node*}", "DELETE", "111333+333"},
        {"/api/v1/nodes/{node*}/join", "POST", "111333+333"},
        {"/api/v1/events", "GET", "1+133++3+3"},
        {"/api/v1/batches", "POST", "111++33+33"},
        {"/api/v1/shared", "POST", "111333333+"},
        {"/api/v1/sources", "GET", "1+133++3+3"},
        {"/api/v1/sources", "POST", "1113333+33"},
        {"/install", "GET", "++++++++++"},
        {"/api/v1/install", "GET", "1+133++3+3"},
        {"/install/{file}", "GET", "++++++++++"},
        {"/sd/prometheus", "GET", "1+133++3+3"},
        {"/api/v1/channels/{name}/test", "POST", "111333+333"},
        {"/api/v1/bookings", "GET", "1+133++3+3"},
        {"/api/v1/bookings", "POST", "11133++333"},
        {"/api/v1/bookings.ics", "GET", "1+133++3+3"},
        {"/api/v1/bookings/{id}", "GET", "1+133++3+3"},
        {"/api/v1/bookings/{id}", "PATCH", "11133++333"},
        {"/api/v1/bookings/{id}", "DELETE", "11133++333"},
        {"/api/v1/waits", "GET", "1+133++3+3"},
        {"/api/v1/waits", "POST", "11133++333"},
        {"/api/v1/waits/{id}", "POST", "11133++333"},
        {"/api/v1/waits/{id}", "DELETE", "11133++333"},
        {"/api/v1/free", "GET", "1+133++3+3"},
        {"/api/v1/jobs", "GET", "1+133++3+3"},
        {"/api/v1/jobs", "POST", "111+3++333"},
        {"/api/v1/jobs/{id}", "GET", "1+133++3+3"},
        {"/api/v1/jobs/{id}/verdict", "GET", "1+133++3+3"},
        {"/api/v1/jobs/{id}", "PATCH", "111+3++333"},
        {"/api/v1/history", "GET", "1+133++3+3"},
        {"/api/v1/strip", "GET", "1+133++3+3"},
        {"/api/v1/people", "GET", "1+133++3+3"},
        {"/api/v1/usage", "GET", "1+133++3+3"},
        {"/api/v1/idle", "GET", "1+133++3+3"},
        {"/api/v1/advise", "GET", "1+133++3+3"},
        {"/api/v1/usage/recount", "POST", "111333+333"},
        {"/api/v1/alerts", "GET", "1+133++3+3"},
        {"/api/v1/alerts/rules", "GET", "1+133++3+3"},
        {"/api/v1/alerts/test", "GET", "1+133++3+3"},
        {"/api/v1/alerts/test", "POST", "11133++333"},
        {"/api/v1/silences", "GET", "1+133++3+3"},
        {"/api/v1/silences", "POST", "11133++333"},
        {"/api/v1/silences/{id}", "DELETE", "11133++333"},
        {"/api/v1/report", "GET", "1+133++3+3"},
        {"/api/v1/reports", "GET", "1+133++3+3"},
        {"/api/v1/reports/{name}", "GET", "1+133++3+3"},
        {"/api/v1/reports/{name}", "POST", "111333+333"},
        {"/api/v1/say", "POST", "1+133++3+3"},
        {"/slack/events", "POST", "1111111111"},
        {"/slack/command", "POST", "1111111111"},
        {"/slack/action", "POST", "1111111111"},
        {"/api/v1/wandb", "GET", "1+133++3+3"},
        {"/", "POST", "3333333333"}, /* bookings.auth is token here */
        {"/index.php", "POST", "3333333333"},
        {"/register/", "GET", "??????????"},
        {"/update/host/{id}", "POST", "??????????"},
        {"/notification/send_notification/slack/", "POST", "??????????"},
        {"/api/v1/sites", "GET", "1+133++3+3"},
    };
    static const enum role roles[] = {ROLE_NONE,   ROLE_NONE,  ROLE_NONE,  ROLE_AGENT,  ROLE_ENROLL,
                                      ROLE_MEMBER, ROLE_ADMIN, ROLE_RELAY, ROLE_READER, ROLE_HUB};
    size_t n = 0;
    (void)unused;
    for (const struct route *const *all = routes_all(), *r; (r = *all); all++, n++) {
        assert_true(n < ARRAY_LEN(table));
        assert_string_equal(r->path, table[n].path);
        for (size_t who = 0; who < ARRAY_LEN(roles); who++) {
            char target[128], scratch[128];
            const char *brace = strchr(r->path, '{');
            snprintf(target, sizeof(target), "%.*s%s%s", brace ? (int)(brace - r->path) : 100, r->path,
                     brace ? "box" : "", brace ? strchr(brace, '}') + 1 : "");
            struct ask a = {.method = table[n].method,
                            .target = target,
                            .peer = who == 0 ? "127.0.0.1" : "10.0.0.9",
                            .host = "10.0.0.1:8765",
                            .token = roles[who] ? by_role[roles[who]] : NULL};
            hub->api.read_open = who == 1;
            struct request rq = request_of(&a, scratch);
            struct reply rp = {0};
            bool in = api_admit(&hub->api, &rq, &rp);
            print_message("%s %s as %zu: %d\n", a.method, target, who, in ? 200 : rp.status);
            assert_int_equal(in ? '+' : rp.status == 401 ? '1' : rp.status == 403 ? '3' : '?', table[n].want[who]);
            reply_fini(&rp);
        }
    }
    assert_int_equal(n, ARRAY_LEN(table));
    hub->api.read_open = false;
}

static void the_page_is_for_everybody_and_its_text_for_readers(void **unused)
{
    static const struct {
        const char *target;
        const char *peer;
        int want;
    } cases[] = {{"/", "10.0.0.9", 200},
                 {"/?term", "10.0.0.9", 401},
                 {"/?term", "127.0.0.1", 401},
                 {"/index.php", "10.0.0.9", 200},
                 {"/index.php?content", "10.0.0.9", 200},
                 {"/index.php?content&term", "10.0.0.9", 401},
                 {"/gpu_table", "10.0.0.9", 200},
                 {"/gpu_table?term", "10.0.0.9", 401},
                 {"/people", "10.0.0.9", 200},
                 {"/node/", "10.0.0.9", 404},
                 {"/node/a/b", "10.0.0.9", 200}, /* of a site */
                 {"/node/a%20b", "10.0.0.9", 200},
                 {"/assets/", "10.0.0.9", 404},
                 {"/assets/nodes/x.js", "10.0.0.9", 404}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ask a = {.target = cases[i].target, .peer = cases[i].peer, .host = "10.0.0.1:8765"};
        print_message("%s\n", cases[i].target);
        assert_int_equal(ask_status(&a), cases[i].want);
    }
}

static void a_browser_is_told_in_words_what_is_not_there(void **unused)
{
    static const struct {
        const char *target, *host, *accept, *method;
        int status;
        const char *type, *has, *has_not;
    } cases[] = {
        {"/nowhere", NULL, "text/html,*/*", "GET", 404, "text/html; charset=utf-8", "<div id=\"app\">", "nowhere"},
        {"/nowhere", NULL, "*/*", "GET", 404, "application/problem+json", "nothing at '/nowhere'", "<"},
        {"/nowhere", NULL, "text/html", "POST", 404, "application/problem+json", "nothing at '/nowhere'", "<"},
        {"/", "evil.example:80", "text/html", "GET", 421, "text/html; charset=utf-8", "[evil.example]", "script"},
        {"/", "<script>", "text/html", "GET", 421, "text/html; charset=utf-8", "not known as this name", "script"},
        {"/", "evil.example", "*/*", "GET", 421, "application/problem+json", "'evil.example'", "<"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply rp;
        struct ask a = {.target = cases[i].target,
                        .host = cases[i].host,
                        .accept = cases[i].accept,
                        .method = cases[i].method};
        print_message("%s of %s for %s\n", a.target, a.host ? a.host : "us", a.accept);
        assert_int_equal(ask(&a, &rp), cases[i].status);
        assert_string_equal(rp.type, cases[i].type);
        assert_true(reply_has(&rp, cases[i].has));
        assert_false(reply_has(&rp, cases[i].has_not));
        assert_string_equal(rp.etag, ""); /* what is not there is not kept */
        reply_fini(&rp);
    }
}

static void the_page_names_files_that_are_there_and_never_change(void **unused)
{
    struct reply rp;
    char target[128];
    size_t n = 0, named = 0;
    struct ask a = {.target = "/"};
    (void)unused;
    assert_int_equal(ask(&a, &rp), 200);
    AUTO_FREE char *page = mem_str(rp.blob->plain.p);
    assert_string_equal(rp.cache, "no-cache");
    assert_non_null(strstr(rp.extra, "Content-Security-Policy: default-src 'none'; script-src 'self' 'sha256-"));
    assert_null(strstr(rp.extra, "unsafe"));
    AUTO_FREE char *etag = mem_str(rp.etag);
    reply_fini(&rp);
    a.if_none_match = etag;
    assert_int_equal(ask(&a, &rp), 304);
    assert_int_equal(rp.body.len, 0);
    assert_null(rp.blob);
    reply_fini(&rp);
    a.more = "Accept-Language";
    a.value = "de,ja;q=0.8,en;q=0.5";
    assert_int_equal(ask(&a, &rp), 200); /* the page it has is in another language */
    AUTO_FREE char *japanese = mem_str(rp.blob->plain.p);
    assert_non_null(strstr(japanese, "<html lang=\"ja\">"));
    reply_fini(&rp);
    a.cookie = "muster=x; muster_language=en";
    assert_int_equal(ask(&a, &rp), 304); /* what was chosen counts more */
    reply_fini(&rp);
    for (const struct asset *at = web_assets; at->path; at++, n++) {
        snprintf(target, sizeof(target), "/assets/%s", at->path);
        struct ask file = {.target = target};
        assert_int_equal(ask(&file, &rp), 200);
        assert_string_equal(rp.cache, "public, max-age=31536000, immutable");
        assert_string_equal(rp.type, at->type);
        assert_true(rp.blob->gz.len > 0 && rp.blob->plain.len > 0);
        named += strstr(page, target) || strstr(japanese, target);
        reply_fini(&rp);
    }
    assert_true(n > 10);
    assert_true(named + 1 >= n); /* all but the licences */
}

static void facts_are_in_the_page_and_cannot_end_their_element(void **unused)
{
    struct reply rp;
    struct ask page = {.target = "/"}, facts = {.target = "/api/v1/metrics"};
    const char *before = hub->api.name;
    (void)unused;
    hub->api.name = "</script><script>alert(1)</script>";
    assert_int_equal(ask(&page, &rp), 200);
    assert_true(reply_has(&rp, "\"name\":\"\\u003c/script>\\u003cscript>alert(1)"));
    assert_false(reply_has(&rp, "<script>alert"));
    reply_fini(&rp);
    assert_int_equal(ask(&facts, &rp), 200);
    json_t *o = json_loadb(body_of(&rp).p, body_of(&rp).len, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "name")), hub->api.name);
    assert_int_equal(json_array_size(json_object_get(o, "metrics")), M_COUNT);
    assert_int_equal(json_array_size(json_object_get(o, "states")), DEV_STATES);
    for (size_t i = 0; i < M_COUNT; i++) {
        json_t *m = json_array_get(json_object_get(o, "metrics"), i);
        assert_string_equal(json_string_value(json_object_get(m, "name")), metrics[i].name);
        assert_string_equal(json_string_value(json_object_get(m, "unit")), unit_names[metrics[i].unit]);
        assert_int_equal(json_integer_value(json_object_get(m, "per")), metrics[i].per);
    }
    json_decref(o);
    reply_fini(&rp);
    hub->api.name = before;
}

static void a_token_that_is_wrong_is_worse_than_none(void **unused)
{
    struct ask a = {.target = "/api/v1/state", .token = "mst_aaaaaaaa_0123456789012345678901234567890123456789012"};
    (void)unused;
    assert_int_equal(ask_status(&a), 401);
    struct ask who = {.target = "/api/v1/whoami", .token = a.token};
    assert_int_equal(ask_status(&who), 401);
    a.token = "nonsense";
    assert_int_equal(ask_status(&a), 401);
    a.token = by_role[ROLE_ADMIN];
    assert_int_equal(ask_status(&a), 200);
    whole_hub_token(hub, by_role[ROLE_ADMIN], ROLE_ADMIN, "", true);
    assert_int_equal(ask_status(&a), 401);
}

static void a_proxy_names_people_and_whoever_else_uses_its_header_is_nobody(void **unused)
{
    static const char *const proxies[] = {"127.0.0.1"}, *const admins[] = {"ana"};
    struct ask a = {.target = "/api/v1/state", .forwarded = "203.0.113.5"};
    (void)unused;
    assert_int_equal(ask_status(&a), 401); /* whoever put the header there: no rights come from it */
    hub->api.proxy_header = "X-User";
    hub->api.proxies = proxies;
    hub->api.n_proxies = 1;
    hub->api.admins = admins;
    hub->api.n_admins = 1;
    a.forwarded = NULL;
    assert_int_equal(ask_status(&a), 401); /* the proxy itself names nobody */
    a.user = "kim";
    assert_int_equal(ask_status(&a), 200);
    a.user = "Lee, Kim"; /* one name */
    assert_int_equal(ask_status(&a), 200);
    a.user = "kim";
    a.peer = "10.0.0.9"; /* not the proxy */
    assert_int_equal(ask_status(&a), 401);
    struct ask patch = {.method = "PATCH",
                        .target = "/api/v1/nodes/box",
                        .body = "{}",
                        .user = "kim",
                        .origin = "http://localhost:8765"};
    assert_int_equal(ask_status(&patch), 403);
    patch.user = "ana";
    assert_int_equal(ask_status(&patch), 200);
    patch.origin = NULL;
    assert_int_equal(ask_status(&patch), 403);
    patch.origin = "http://evil.example";
    assert_int_equal(ask_status(&patch), 403);
}

static void this_machine_is_told_what_to_ask_for(void **unused)
{
    static const struct {
        const char *method, *target, *peer, *forwarded;
        bool local;
    } cases[] = {{"GET", "/api/v1/state", "127.0.0.1", NULL, true},
                 {"GET", "/?term", "::1", NULL, true},
                 {"GET", "/api/v1/state", "10.0.0.9", NULL, false},
                 {"GET", "/api/v1/state", "127.0.0.1", "203.0.113.5", false}, /* through some proxy here */
                 {"POST", "/api/v1/jobs", "127.0.0.1", NULL, false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply rp;
        struct ask a = {.method = cases[i].method,
                        .target = cases[i].target,
                        .peer = cases[i].peer,
                        .forwarded = cases[i].forwarded};
        print_message("%s from %s\n", a.target, a.peer);
        assert_int_equal(ask(&a, &rp), 401);
        assert_int_equal(reply_has(&rp, "also on its own machine"), cases[i].local);
        assert_true(reply_has(&rp, "muster token new --role member"));
        assert_non_null(strstr(rp.extra, "WWW-Authenticate: Bearer"));
        reply_fini(&rp);
    }
}

static void only_commands_of_this_machine_are_told_where_its_data_is(void **unused)
{
    static const char *const proxies[] = {"127.0.0.1"};
    static const struct {
        const char *peer, *more, *value;
        int want;
    } cases[] = {{"127.0.0.1", NULL, NULL, 200},
                 {"::1", NULL, NULL, 200},
                 {"10.0.0.9", NULL, NULL, 403},
                 {"127.0.0.1", "User-Agent", "muster", 200},
                 {"127.0.0.1", "X-Forwarded-For", "203.0.113.5", 403},
                 {"127.0.0.1", "X-Forwarded-Host", "gpus.example", 403},
                 {"127.0.0.1", "X-Forwarded-Proto", "https", 403},
                 {"127.0.0.1", "X-Real-IP", "203.0.113.5", 403},
                 {"127.0.0.1", "Forwarded", "for=203.0.113.5", 403},
                 {"127.0.0.1", "Via", "1.1 proxy", 403},
                 {"127.0.0.1", "Origin", "http://localhost:8765", 403},
                 {"127.0.0.1", "Sec-Fetch-Site", "none", 403}};
    struct ask a = {.target = "/api/v1/folder"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %s\n", cases[i].peer, cases[i].more ? cases[i].more : "");
        a.peer = cases[i].peer;
        a.more = cases[i].more;
        a.value = cases[i].value;
        assert_int_equal(ask_status(&a), cases[i].want);
    }
    a = (struct ask){.target = "/api/v1/folder"};
    hub->api.proxies = proxies; /* without a header that names people */
    hub->api.n_proxies = 1;
    assert_int_equal(ask_status(&a), 403);
}

static void host_and_origin_are_checked_before_anything_happens(void **unused)
{
    struct ask a = {.target = "/healthz", .host = "evil.example"};
    struct hello hello = {.node = {{1}}, .run = 7, .sent_ms = NOW, .collect = COLLECT_OK, .name = "sender"};
    AUTO_BUF bytes = BUF_INIT(4096);
    (void)unused;
    assert_int_equal(ask_status(&a), 421);
    assert_int_equal(wire_start(&bytes), 0);
    assert_int_equal(wire_put_hello(&bytes, &hello), 0);
    struct ask post = {.method = "POST",
                       .target = "/api/v1/batches",
                       .token = by_role[ROLE_AGENT],
                       .origin = "http://evil.example",
                       .bytes = buf_str(&bytes)};
    assert_int_equal(ask_status(&post), 403);
    assert_null(live_find(hub->live, "sender"));
    post.origin = NULL;
    assert_int_equal(ask_status(&post), 200);
    assert_non_null(live_find(hub->live, "sender"));
    struct ask reg = {.target = "/register/?host_name=a&token=0000", .origin = "http://evil.example"};
    assert_int_equal(ask_status(&reg), 403);
}

/* Every line of the table that is no reading says that it writes, whoever it is for: that is what has Origin checked.
 */
static void no_write_goes_without_a_look_at_its_origin(void **unused)
{
    (void)unused;
    for (const struct route *const *all = routes_all(), *r; (r = *all); all++) {
        static const struct {
            enum method m;
            const char *word;
        } words[] = {{METHOD_POST, "POST"}, {METHOD_PUT, "PUT"}, {METHOD_PATCH, "PATCH"}, {METHOD_DELETE, "DELETE"}};
        char target[128];
        const char *brace = strchr(r->path, '{');
        print_message("%s\n", r->path);
        if (str_starts(str_of(r->path), "/slack/"))
            continue;
        assert_true(r->write || !(r->methods & ~(METHOD_GET | METHOD_HEAD)));
        snprintf(target, sizeof(target), "%.*s%s%s", brace ? (int)(brace - r->path) : 128, r->path, brace ? "1" : "",
                 brace ? strchr(brace, '}') + 1 : "");
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (r->methods & (int)words[i].m) {
                struct ask a = {.method = words[i].word,
                                .target = target,
                                .token = by_role[ROLE_ADMIN],
                                .origin = "http://evil.example"};
                assert_int_equal(ask_status(&a), 403);
            }
    }
}

/* What does not change is made once: the same bytes, and with them their gzip, are for all who ask. */
static void what_does_not_change_is_made_once(void **unused)
{
    static const char *const targets[] = {"/api/v1/openapi.json", "/api/v1/metrics", "/",
                                          "/api/v1/people",       "/api/v1/nodes",   "/sd/prometheus"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        for (int head = 0; head < 2; head++) {
            struct reply one, two;
            struct ask a = {.method = head ? "HEAD" : "GET", .target = targets[i]};
            print_message("%s %s\n", a.method, a.target);
            assert_int_equal(ask(&a, &one), 200);
            assert_int_equal(ask(&a, &two), 200);
            assert_non_null(one.blob);
            assert_ptr_equal(one.blob, two.blob);
            reply_fini(&one);
            reply_fini(&two);
        }
}

/* ---- answers ---- */

static void errors_are_problem_json_with_a_sentence(void **unused)
{
    static const struct {
        const char *method, *target;
        int want;
    } cases[] = {{"GET", "/nowhere", 404},
                 {"DELETE", "/", 405},
                 {"GET", "/api/v1/state?node=nobody", 404},
                 {"GET", "/readyz", 503},
                 {"GET", "/install/muster-agent-vax", 404},
                 {"GET", "/api/v1/batches", 405}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply rp;
        struct ask a = {.method = cases[i].method, .target = cases[i].target};
        print_message("%s %s\n", a.method, a.target);
        if (cases[i].want == 503) {
            fault_arm(FAULT_FULL, 1);
            put_event("k1", NULL, "of the disk");
            assert_int_equal(store_flush(hub->store, NULL), -ENOSPC);
        }
        assert_int_equal(ask(&a, &rp), cases[i].want);
        fault_arm(FAULT_NONE, 0);
        assert_string_equal(rp.type, "application/problem+json");
        json_t *o = json_loadb(rp.body.p, rp.body.len, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(o, "status")), cases[i].want);
        assert_true(json_string_length(json_object_get(o, "detail")) > 10);
        if (cases[i].want == 405)
            assert_true(str_starts(str_of(rp.extra), "Allow: "));
        json_decref(o);
        reply_fini(&rp);
    }
}

static void openapi_lists_every_route(void **unused)
{
    struct reply rp;
    struct ask a = {.target = "/api/v1/openapi.json"};
    (void)unused;
    assert_int_equal(ask(&a, &rp), 200);
    json_t *o = json_loadb(body_of(&rp).p, body_of(&rp).len, JSON_REJECT_DUPLICATES, NULL);
    json_t *paths = json_object_get(o, "paths");
    size_t n = 0;
    for (const struct route *const *all = routes_all(), *r; (r = *all); all++) {
        const struct route *const *same = routes_all();
        while (strcmp((*same)->path, r->path) != 0)
            same++;
        n += same == all; /* a path is counted where it comes first */
        json_t *path = json_object_get(paths, r->path);
        print_message("%s\n", r->path);
        assert_true(json_is_object(path));
        assert_true(json_object_size(path) >= 1);
        AUTO_FREE char *text = json_dumps(path, JSON_COMPACT);
        assert_int_equal(strstr(text, "\"in\":\"path\"") != NULL, strchr(r->path, '{') != NULL);
    }
    assert_int_equal(json_object_size(paths), n);
    json_decref(o);
    reply_fini(&rp);
}

/* The report that is due went out before, and cannot be made now: the disk is full. */
static void fail_to_send(void)
{
    struct ask list = {.target = "/api/v1/reports", .token = by_role[ROLE_ADMIN]};
    struct str mark = STR("{\"name\":\"daily\",\"done\":1699833600000,\"sent\":1699999999993}");
    bool failed = false;
    store_put(hub->store, STORE_NOTE, &(struct note){.kind = NOTE_REPORT, .id = 1, .bytes = mark}, 1, NULL, NULL);
    assert_int_equal(store_flush(hub->store, NULL), 0);
    assert_int_equal(report_feature.load(feature_self(&hub->features, &report_feature), NULL), 0);
    whole_hub_reads++;
    fault_arm(FAULT_FULL, 1);
    report_feature.tick(feature_self(&hub->features, &report_feature), NOW + 20 * MINUTE_MS);
    for (int turn = 0; !failed; turn++) {
        struct reply rp;
        assert_true(turn < TURNS_MAX);
        event_base_loop(hub->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        assert_int_equal(ask(&list, &rp), 200);
        failed = reply_has(&rp, "\"error\":\"");
        reply_fini(&rp);
        sched_yield();
    }
    fault_arm(FAULT_NONE, 0);
}

static size_t messages_for(const char *channel)
{
    size_t n;
    const struct channel_now *c = outbox_now(hub->outbox, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(c[i].name, channel) == 0)
            return c[i].waiting;
    fail_msg("there is no channel %s", channel);
    return 0;
}

static void reports_are_listed_and_sent(void **unused)
{
    static const struct {
        const char *method, *target, *body;
        int want;
        const char *has;
    } cases[] = {
        {"GET", "/api/v1/reports", NULL, 200,
         "{\"name\":\"daily\",\"what\":\"usage by team\",\"every\":\"day\",\"at\":\"08:05\",\"zone\":\"UTC\","
         "\"channels\":[\"ops\",\"mail\"],\"filter\":null,\"company\":null,\"team\":\"vision\","
         "\"next\":1700035500000,\"sent\":1699999999993,\"error\":\"history cannot be read: "},
        {"GET", "/api/v1/reports", NULL, 200, "No space left on device\"},{\"name\":\"quiet\",\"what\":\"status\""},
        {"GET", "/api/v1/reports", NULL, 200, "\"next\":null,\"sent\":null,\"error\":null}]}"},
        {"GET", "/api/v1/reports/none", NULL, 404, "no report 'none'"},
        {"GET", "/api/v1/reports/daily?format=pdf", NULL, 400, "there are text, html and png"},
        {"POST", "/api/v1/reports/daily", "{}", 202, "{\"name\":\"daily\",\"channels\":[\"ops\",\"mail\"]}"},
        {"POST", "/api/v1/reports/quiet", "{\"channel\":\"ops\"}", 202, "{\"name\":\"quiet\",\"channels\":[\"ops\"]}"},
        {"POST", "/api/v1/reports/quiet", "{}", 400, "has no channel"},
        {"POST", "/api/v1/reports/daily", "{\"channel\":7}", 400, "channel is not a text"},
        {"POST", "/api/v1/reports/daily", "[", 400, "JSON"},
        {"POST", "/api/v1/reports/none", "{}", 404, "no report 'none'"},
    };
    (void)unused;
    fail_to_send();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply rp;
        struct ask a = {.method = cases[i].method,
                        .target = cases[i].target,
                        .body = cases[i].body,
                        .token = by_role[ROLE_ADMIN]};
        print_message("%s %s %s\n", a.method, a.target, a.body ? a.body : "");
        assert_int_equal(ask(&a, &rp), cases[i].want);
        if (!reply_has(&rp, cases[i].has))
            fail_msg("no '%s' in '%.*s'", cases[i].has, STR_ARG(body_of(&rp)));
        reply_fini(&rp);
    }
    assert_int_equal(messages_for("ops"), 2);
    assert_int_equal(messages_for("mail"), 1);
}

static void a_login_makes_a_cookie_and_a_logout_takes_it(void **unused)
{
    char body[128], cookie[256];
    struct reply rp;
    struct ask a = {.method = "POST", .target = "/api/v1/login", .body = body, .origin = "http://localhost:8765"};
    (void)unused;
    snprintf(body, sizeof(body), "{\"token\":\"%s\"}", by_role[ROLE_MEMBER]);
    assert_int_equal(ask(&a, &rp), 200);
    assert_true(reply_has(&rp, "\"person\":\"kim\""));
    assert_non_null(strstr(rp.cookie, "; HttpOnly; SameSite=Strict"));
    snprintf(cookie, sizeof(cookie), "%.*s", (int)strcspn(rp.cookie, ";"), rp.cookie);
    reply_fini(&rp);
    struct ask read = {.target = "/api/v1/processes", .peer = "10.0.0.9", .host = "10.0.0.1", .cookie = cookie};
    assert_int_equal(ask(&read, &rp), 200);
    assert_true(reply_has(&rp, "python secret")); /* kim's own */
    reply_fini(&rp);
    cookie[strlen(cookie) - 1] ^= 1;
    assert_int_equal(ask_status(&read), 401);
    snprintf(body, sizeof(body), "{\"token\":\"%s\"}", by_role[ROLE_AGENT]);
    assert_int_equal(ask_status(&a), 403);
    cookie[strlen(cookie) - 1] ^= 1;
    assert_int_equal(ask_status(&read), 200);
    struct ask out = {.method = "POST", .target = "/api/v1/logout", .origin = "http://localhost:8765"};
    assert_int_equal(ask(&out, &rp), 204);
    assert_non_null(strstr(rp.cookie, "muster=; Path=/; Max-Age=0"));
    reply_fini(&rp);
    assert_int_equal(ask_status(&read), 200); /* that was another browser */
    out.cookie = cookie;
    out.body = "{\"all\":1}";
    assert_int_equal(ask_status(&out), 400);
    out.body = "{}";
    assert_int_equal(ask_status(&out), 204);
    assert_int_equal(ask_status(&read), 401);
    out.body = "{\"all\":true}";
    assert_int_equal(ask_status(&out), 401); /* whose? */
    out.token = by_role[ROLE_MEMBER];
    assert_int_equal(ask_status(&out), 204);
}

static void a_link_logs_in_once_and_is_made_with_a_token_alone(void **unused)
{
    char body[128], cookie[256];
    struct reply rp;
    struct ask make = {.method = "POST", .target = "/api/v1/once", .token = by_role[ROLE_ADMIN]};
    struct ask a = {.method = "POST", .target = "/api/v1/login", .body = body, .origin = "http://localhost:8765"};
    (void)unused;
    assert_int_equal(ask(&make, &rp), 201);
    assert_true(reply_has(&rp, "{\"once\":\""));
    snprintf(body, sizeof(body), "%.*s", STR_ARG(body_of(&rp))); /* it is sent as it came */
    reply_fini(&rp);
    assert_int_equal(ask(&a, &rp), 200);
    assert_true(reply_has(&rp, "\"role\":\"admin\""));
    snprintf(cookie, sizeof(cookie), "%.*s", (int)strcspn(rp.cookie, ";"), rp.cookie);
    reply_fini(&rp);
    assert_int_equal(ask(&a, &rp), 401);
    assert_true(reply_has(&rp, "used already"));
    reply_fini(&rp);
    make.token = NULL;
    make.cookie = cookie;
    make.origin = "http://localhost:8765";
    assert_int_equal(ask_status(&make), 403);
    for (size_t i = 0; i < 4; i++) {
        static const char *const bad[] = {"{}", "{\"once\":5}", "{\"once\":\"a\",\"token\":\"b\"}", "{\"once\":null}"};
        a.body = bad[i];
        assert_int_equal(ask_status(&a), 400);
    }
}

static void command_lines_are_for_their_owner_and_admins(void **unused)
{
    static const struct {
        enum role role;
        bool all, want;
    } cases[] = {{ROLE_NONE, false, false},
                 {ROLE_MEMBER, false, true},
                 {ROLE_ADMIN, false, true},
                 {ROLE_READER, false, false},
                 {ROLE_NONE, true, true}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static const char *const targets[] = {"/api/v1/processes", "/api/v1/state", "/api/v1/state?node=box"};
        hub->api.show_cmd = cases[i].all;
        for (size_t k = 0; k < ARRAY_LEN(targets); k++) {
            struct reply rp;
            struct ask a = {.target = targets[k], .token = cases[i].role ? by_role[cases[i].role] : NULL};
            print_message("%s as %s\n", targets[k], role_words[cases[i].role]);
            assert_int_equal(ask(&a, &rp), 200);
            assert_int_equal(reply_has(&rp, "python secret"), cases[i].want);
            reply_fini(&rp);
        }
    }
    char id[20], lee[64];
    uint8_t hash[32];
    token_new(id, hash, lee);
    whole_hub_token(hub, lee, ROLE_MEMBER, "lee", false);
    hub->api.show_cmd = false;
    struct reply rp;
    struct ask a = {.target = "/api/v1/processes", .token = lee};
    assert_int_equal(ask(&a, &rp), 200);
    assert_false(reply_has(&rp, "secret"));
    reply_fini(&rp);
}

static void state_has_an_etag_that_changes_with_the_state(void **unused)
{
    struct reply rp;
    char etag[48];
    struct ask a = {.target = "/api/v1/state"};
    (void)unused;
    assert_int_equal(ask(&a, &rp), 200);
    memcpy(etag, rp.etag, sizeof(etag));
    struct blob *kept = blob_ref(rp.blob);
    reply_fini(&rp);
    assert_int_equal(ask(&a, &rp), 200);
    assert_ptr_equal(rp.blob, kept); /* rendered once */
    reply_fini(&rp);
    blob_unref(kept);
    a.if_none_match = etag;
    assert_int_equal(ask_status(&a), 304);
    live_admin(hub->api.live, live_find(hub->api.live, "box"), "other", false, false);
    assert_int_equal(ask_status(&a), 200);
    assert_int_equal(hub->api.watched_ms, NOW);
}

static void who_asks_for_metrics_again_and_again_is_there_meanwhile(void **unused)
{
    struct ask a = {.target = "/metrics"};
    struct scraping s = {0};

    (void)unused;
    assert_int_equal(ask_status(&a), 200);
    assert_int_equal(hub->api.scraping.last_ms, NOW);
    api_scrape(&s, NOW);
    assert_false(api_scraped(&s, NOW)); /* once */
    api_scrape(&s, NOW + 15000);
    assert_true(api_scraped(&s, NOW + 44999));
    assert_false(api_scraped(&s, NOW + 45000));
    api_scrape(&s, NOW + 16000); /* another one */
    assert_true(api_scraped(&s, NOW + 44999));
    api_scrape(&s, NOW + 116000);
    assert_true(api_scraped(&s, NOW + 235999));
    assert_false(api_scraped(&s, NOW + 236000)); /* two minutes at most */
    api_scrape(&s, NOW + 900000);
    assert_false(api_scraped(&s, NOW + 900000));
}

static void patching_a_node_takes_what_it_knows_and_nothing_else(void **unused)
{
    static const struct {
        const char *node, *body;
        int want;
        const char *name; /* what it is called then */
        bool retired;
    } cases[] = {{"k1", "{\"name\":\"new\"}", 200, "new", false},
                 {"k1", "{\"retired\":true}", 200, "new", true},
                 {"k1", "{\"name\":null}", 200, "box", true},
                 {"k1", "{\"name\":\"new\",\"retired\":false}", 200, "new", false},
                 {"k1", "{\"name\":\"\"}", 200, "box", false},
                 {"k1", "{\"name\":\"taken\"}", 409, "box", false},
                 {"nobody", "{}", 404, "box", false},
                 {"k1", "{\"retired\":1}", 400, "box", false},
                 {"k1", "{\"name\":\"a/b\"}", 400, "box", false},
                 {"k1", "{\"size\":1}", 400, "box", false},
                 {"k1", "", 400, "box", false},
                 {"k1", "{", 400, "box", false},
                 {"k1", "[]", 400, "box", false},
                 {"k1", "{\"name\":\"a\",\"name\":\"b\"}", 400, "box", false}};
    (void)unused;
    put_node("k2", "taken");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char target[64];
        snprintf(target, sizeof(target), "/api/v1/nodes/%s", cases[i].node);
        struct ask a = {.method = "PATCH", .target = target, .body = cases[i].body, .token = by_role[ROLE_ADMIN]};
        print_message("%s %s\n", target, cases[i].body);
        assert_int_equal(ask_status(&a), cases[i].want);
        assert_string_equal(live_find(hub->live, "k1")->name, cases[i].name);
        assert_int_equal(live_find(hub->live, "k1")->retired, cases[i].retired);
    }
}

static void register_host(char id[40])
{
    struct reply rp;
    struct ask a = {.target = "/register/?host_name=b&token=0000"};
    assert_int_equal(ask(&a, &rp), 200);
    json_t *o = json_loadb(body_of(&rp).p, body_of(&rp).len, 0, NULL);
    snprintf(id, 40, "%s", json_string_value(json_object_get(o, "id")));
    json_decref(o);
    reply_fini(&rp);
}

static void vesta_is_answered_under_200_with_its_own_codes(void **unused)
{
    static const struct {
        const char *method, *target;
        bool known; /* with the id of a host in the middle */
        const char *rest, *want;
    } cases[] = {{"GET", "/register/?host_name=a&token=0000", false, "",
                  "\"register_name\":\"a\",\"status\":\"OK\",\"status_code\":200"},
                 {"GET", "/register/?host_name=a&token=0001", false, "", "\"status\":\"ERROR\",\"status_code\":403"},
                 {"GET", "/register/?host_name=a", false, "", "403"},
                 {"POST", "/update/host/", false, "feed?token=0000", "404"},
                 {"POST", "/update/host/", true, "?token=", "403"},
                 {"POST", "/update/host/", true, "?token=0000", "400"},
                 {"POST", "/notification/send_notification/slack/?token=0000", false, "", "400"},
                 {"POST", "/notification/send_notification/slack/?token=1", false, "", "403"},
                 {"GET", "/states/nobody/", false, "", "404"}};
    char id[40], target[128];
    struct reply rp;
    (void)unused;
    register_host(id);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ask a = {.method = cases[i].method, .target = target};
        snprintf(target, sizeof(target), "%s%s%s", cases[i].target, cases[i].known ? id : "", cases[i].rest);
        print_message("%s\n", a.target);
        assert_int_equal(ask(&a, &rp), 200);
        assert_true(reply_has(&rp, cases[i].want));
        reply_fini(&rp);
    }
    hub->api.vesta_token = NULL;
    struct ask a = {.target = "/register/?host_name=a&token="};
    assert_int_equal(ask(&a, &rp), 200);
    assert_true(reply_has(&rp, "403"));
    reply_fini(&rp);
}

static void a_target_is_decoded_or_refused(void **unused)
{
    static const struct {
        const char *target;
        int want;
        const char *path, *value;
    } cases[] = {{"/a%20b?x=1%2B1+2", 0, "/a b", "1+1 2"},
                 {"/?x", 0, "/", ""},
                 {"/?x=&y=2", 0, "/", ""},
                 {"/?&&x=3", 0, "/", "3"},
                 {"/+", 0, "/+", ""},
                 {"/%zz", -EINVAL, NULL, NULL},
                 {"/%4", -EINVAL, NULL, NULL},
                 {"/%", -EINVAL, NULL, NULL},
                 {"/%00", -EINVAL, NULL, NULL},
                 {"/?x=%0a", -EINVAL, NULL, NULL},
                 {"x", -EINVAL, NULL, NULL},
                 {"", -EINVAL, NULL, NULL},
                 {"/#a", -EINVAL, NULL, NULL},
                 {"/%ff", -EINVAL, NULL, NULL},
                 {"/%c3%a9", 0, "/\xc3\xa9", ""}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request rq = {0};
        char scratch[128];
        print_message("'%s'\n", cases[i].target);
        assert_int_equal(request_target(&rq, str_of(cases[i].target), scratch, NULL), cases[i].want);
        if (cases[i].want == 0) {
            assert_true(str_eq(rq.path, cases[i].path));
            assert_true(str_eq(request_query(&rq, "x"), cases[i].value));
        }
    }
}

static void a_filter_leaves_what_matches_everywhere(void **unused)
{
    static const struct {
        const char *target;
        bool as_kim;
        int status;
        const char *has, *has_not;
    } cases[] = {
        {"/api/v1/events?filter=user:kim", false, 200, "of the GPU", "of one that is gone"},
        {"/api/v1/events?filter=user:kim", false, 200, "of the node", "of one that is gone"},
        {"/api/v1/events?filter=free", false, 200, "[]", "of"},
        {"/api/v1/events", false, 200, "of the GPU", "[]"},
        {"/api/v1/events", false, 200, "of the node", "[]"},
        {"/api/v1/events", false, 200, "of one that is gone", "[]"},
        {"/api/v1/events?filter=mem>", false, 400, "column", "["},
        {"/sd/prometheus?filter=user:kim", false, 200, "box", "[]"},
        {"/sd/prometheus?filter=user:lee", false, 200, "[]", "box"},
        {"/sd/prometheus?filter=lee:", false, 400, "column", "box"},
        {"/api/v1/state?filter=user:kim", false, 200, "GPU-1", "\"nodes\":[]"},
        {"/api/v1/state?filter=user:lee", false, 200, "\"nodes\":[]", "GPU-1"},
        {"/api/v1/state?filter=", false, 200, "GPU-1", "\"filter\""},
        {"/api/v1/state?filter=+", false, 200, "GPU-1", "\"filter\""},
        {"/api/v1/state?node=box&filter=free", false, 200, "\"nodes\":[]", "GPU-1"},
        {"/api/v1/state?filter=mine", true, 200, "GPU-1", "\"nodes\":[]"},
        {"/api/v1/state?filter=mine&me=kim", false, 200, "GPU-1", "\"nodes\":[]"},
        {"/api/v1/state?filter=mine&me=lee", false, 200, "\"nodes\":[]", "GPU-1"},
        {"/api/v1/state?filter=mine&me=lee", true, 200, "GPU-1", "\"nodes\":[]"}, /* a token knows better */
        {"/api/v1/state?filter=mine", false, 400, "\"column\":1}", "GPU-1"},
        {"/api/v1/state?filter=user:kim+and", false, 400, "\"column\":13}", "GPU-1"},
        {"/api/v1/state?filter=mem>big", false, 400, "filter, column 5: expected a size", "GPU-1"},
        {"/api/v1/processes?filter=user:kim", false, 200, "python", NULL},
        {"/api/v1/processes?filter=not+user:kim", false, 200, "[]", "python"},
        {"/api/v1/processes?format=csv&filter=pid:8", false, 200, "node,", "python"},
        {"/api/v1/processes?filter=)", false, 400, "\"column\":1}", "python"},
        {"/api/v1/nodes?filter=pid:7", false, 200, "box", NULL},
        {"/api/v1/nodes?filter=pid:8", false, 200, "[]", "box"},
        {"/api/v1/nodes?filter=pid", false, 400, "\"column\":4}", "box"},
        {"/api/v1/stream?filter=pid", false, 400, "\"column\":4}", NULL},
        {"/metrics?filter=model:test", false, 200, "GPU-1", NULL},
        {"/metrics?filter=model:h200", false, 200, "muster_build_info", "GPU-1"},
        {"/metrics?filter=x:", false, 400, "\"column\":1}", NULL},
        {"/?term&filter=model:test", false, 200, "box", NULL},
        {"/?term&filter=free", false, 200, "gpu info", "box"},
        {"/gpu_table?term&filter=free", false, 200, NULL, "box"},
        {"/states/?filter=free", false, 200, NULL, "box"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ask a = {.target = cases[i].target, .token = cases[i].as_kim ? by_role[ROLE_MEMBER] : NULL};
        struct reply rp;
        print_message("%s\n", a.target);
        for (int again = 0; again < 2; again++) { /* the second comes from the cache */
            assert_int_equal(ask(&a, &rp), cases[i].status);
            if (cases[i].has)
                assert_true(reply_has(&rp, cases[i].has));
            if (cases[i].has_not)
                assert_false(reply_has(&rp, cases[i].has_not));
            if (cases[i].status == 400)
                assert_string_equal(rp.type, "application/problem+json");
            reply_fini(&rp);
        }
    }
    assert_int_equal(streams_count(hub->streams), 0);
}

static void an_etag_is_of_its_filter(void **unused)
{
    struct reply rp;
    char all[64], some[64];
    (void)unused;
    ask(&(struct ask){.target = "/api/v1/state"}, &rp);
    snprintf(all, sizeof(all), "%s", rp.etag);
    reply_fini(&rp);
    ask(&(struct ask){.target = "/api/v1/state?filter=free"}, &rp);
    snprintf(some, sizeof(some), "%s", rp.etag);
    reply_fini(&rp);
    assert_string_not_equal(all, some);
    assert_int_equal(ask_status(&(struct ask){.target = "/api/v1/state?filter=busy", .if_none_match = some}), 200);
    assert_int_equal(ask_status(&(struct ask){.target = "/api/v1/state?filter=free", .if_none_match = some}), 304);
    assert_int_equal(ask_status(&(struct ask){.target = "/api/v1/state?filter=free", .if_none_match = all}), 200);
}

/* ---- what is read beside the loop ---- */

static struct slow_read {
    struct record_fetch read; /* first */
    sem_t may_end;
    bool over;
} slow;

/* Until it may end; what the test waits for instead is not waited for for ever. */
static int read_slowly(struct record_fetch *r, struct store *s, struct err *err)
{
    struct timespec until = {.tv_sec = time(NULL) + 20};
    (void)r, (void)s, (void)err;
    return sem_timedwait(&slow.may_end, &until);
}

static void slow_is_over(struct record_fetch *r)
{
    (void)r;
    slow.over = true;
}

/* The answer to one who asks while a read of blobs, or of records, does not end. */
static int ask_while_slow(bool blobs, const struct ask *a)
{
    slow = (struct slow_read){.read = {.read = read_slowly, .done = slow_is_over, .blobs = blobs}};
    sem_init(&slow.may_end, 0, 0);
    assert_int_equal(record_fetch(hub, &slow.read, NULL), 0);
    int status = ask_status(a);
    bool waited = slow.over;
    sem_post(&slow.may_end);
    while (!slow.over)
        event_base_loop(hub->loop, EVLOOP_ONCE);
    sem_destroy(&slow.may_end);
    assert_false(waited);
    return status;
}

static void records_and_blobs_do_not_wait_for_each_other(void **unused)
{
    char text[64], id[20], body[128];
    uint8_t hash[32];
    AUTO_BUF bytes = BUF_INIT(4096);
    struct ask login = {.method = "POST", .target = "/api/v1/login", .body = body, .origin = "http://localhost:8765"};
    struct ask post = {.method = "POST", .target = "/api/v1/batches", .token = by_role[ROLE_AGENT]};
    (void)unused;
    token_new(id, hash, text);
    snprintf(body, sizeof(body), "{\"token\":\"%s\"}", text);
    assert_int_equal(ask_while_slow(true, &login), 401);
    put_batch(&bytes, 99);
    post.bytes = buf_str(&bytes);
    assert_int_equal(ask_while_slow(false, &post), 200);
}

static void of_a_node_over_its_budget_nothing_is_read(void **unused)
{
    AUTO_BUF bytes = BUF_INIT(4096);
    struct node_id id = {{1}};
    char key[NODE_KEY_MAX];
    struct ask post = {.method = "POST", .target = "/api/v1/batches", .token = by_role[ROLE_AGENT]};
    (void)unused;
    put_batch(&bytes, 99);
    post.bytes = buf_str(&bytes);
    node_id_text(&id, key);
    assert_int_equal(ask_status(&post), 200);
    peers_find(hub->peers, key)->work = (struct budget){.spent = 1 << 30, .at_ms = NOW};
    assert_int_equal(ask_while_slow(true, &post), 429);
}

static void a_token_is_not_told_again_once_the_enroll_token_has_ended(void **unused)
{
    AUTO_BUF bytes = BUF_INIT(4096);
    struct reply rp;
    struct late_answer late = {.rp = &rp};
    char scratch[1024];
    struct ask post = {.method = "POST", .target = "/api/v1/batches", .token = by_role[ROLE_ENROLL]};
    (void)unused;
    put_batch(&bytes, 99);
    post.bytes = buf_str(&bytes);
    for (int i = 0; i < 2; i++) { /* as one that did not get the first answer */
        assert_int_equal(ask(&post, &rp), 200);
        assert_true(reply_has(&rp, "mst_"));
        reply_fini(&rp);
    }
    struct request rq = request_of(&post, scratch);
    rq.take = take_late;
    rq.take_arg = &late;
    rp = (struct reply){0};
    assert_int_equal(api_handle(&hub->api, &rq, &rp), REPLY_LATER); /* for the facts it names */
    whole_hub_token(hub, by_role[ROLE_ENROLL], ROLE_ENROLL, "", true);
    while (!late.came)
        event_base_loop(hub->loop, EVLOOP_ONCE);
    assert_int_equal(rp.status, 403);
    assert_true(reply_has(&rp, "this token is gone"));
    reply_fini(&rp);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define OPEN(f) cmocka_unit_test_setup_teardown(f, setup_open, teardown)
TESTS(WITH(every_route_lets_in_whom_it_should_and_nobody_else), WITH(a_token_that_is_wrong_is_worse_than_none),
      WITH(a_proxy_names_people_and_whoever_else_uses_its_header_is_nobody), WITH(this_machine_is_told_what_to_ask_for),
      WITH(only_commands_of_this_machine_are_told_where_its_data_is),
      WITH(host_and_origin_are_checked_before_anything_happens), WITH(no_write_goes_without_a_look_at_its_origin),
      OPEN(what_does_not_change_is_made_once), OPEN(errors_are_problem_json_with_a_sentence),
      WITH(openapi_lists_every_route), WITH(reports_are_listed_and_sent),
      WITH(the_page_is_for_everybody_and_its_text_for_readers), WITH(a_browser_is_told_in_words_what_is_not_there),
      WITH(the_page_names_files_that_are_there_and_never_change),
      WITH(facts_are_in_the_page_and_cannot_end_their_element), WITH(a_login_makes_a_cookie_and_a_logout_takes_it),
      WITH(a_link_logs_in_once_and_is_made_with_a_token_alone), OPEN(command_lines_are_for_their_owner_and_admins),
      OPEN(state_has_an_etag_that_changes_with_the_state),
      OPEN(who_asks_for_metrics_again_and_again_is_there_meanwhile),
      WITH(patching_a_node_takes_what_it_knows_and_nothing_else), OPEN(vesta_is_answered_under_200_with_its_own_codes),
      OPEN(a_filter_leaves_what_matches_everywhere), OPEN(an_etag_is_of_its_filter),
      WITH(records_and_blobs_do_not_wait_for_each_other), WITH(of_a_node_over_its_budget_nothing_is_read),
      WITH(a_token_is_not_told_again_once_the_enroll_token_has_ended), cmocka_unit_test(a_target_is_decoded_or_refused))
