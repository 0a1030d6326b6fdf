/*
 * Bodies of every route that takes one, through api_handle into a real ingest and a real store. The first byte
 * says which route; for batches the rest is taken as it is, or as frames whose checksums are put right.
 */
#include <assert.h>
#include <stdlib.h>

#include "access/sessions.h"
#include "base/log.h"
#include "base/rand.h"
#include "compat/mirror.h"
#include "hub/hub.h"
#include "temp_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1700000000000

/* Instead of httpd.c: nobody is connected. */
struct late {
    int unused;
};
static int lates;

struct late *httpd_late(struct request *rq)
{
    (void)rq;
    lates++;
    return mem_zero(1, sizeof(struct late));
}

void httpd_late_reply(struct late *l, struct reply *rp)
{
    lates--;
    assert(rp->body.err == 0);
    reply_fini(rp);
    free(l);
}

void httpd_patient(struct request *rq)
{
    (void)rq;
}

static char admin[64], agent[64], vesta_id[40];
static struct token tokens[2];

static int find_token(void *hub, const char *id, struct token *ret)
{
    (void)hub;
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
        if (strcmp(tokens[i].id, id) == 0) {
            *ret = tokens[i];
            return 1;
        }
    return 0;
}

static const char *authorization;
static struct str header(const struct request *rq, const char *name)
{
    static char text[80];
    (void)rq;
    if (strcmp(name, "Host") == 0)
        return STR("localhost");
    if (strcmp(name, "Authorization") != 0 || !authorization)
        return STR("");
    snprintf(text, sizeof(text), "Bearer %s", authorization);
    return str_of(text);
}

static void put_token(struct store *s, const struct token *t)
{
    struct store_token st = {.created_ms = NOW};
    mem_copy_str(st.id, sizeof(st.id), t->id);
    mem_copy_str(st.role, sizeof(st.role), role_words[t->role]);
    memcpy(st.hash, t->hash, sizeof(st.hash));
    store_token_put(s, &st, NULL);
}

static char *dir; /* one for all inputs; each begins with an empty one */

static void remove_dir(void)
{
    dir_free(dir);
}

static void start(struct hub *h)
{
    char name[NAME_MAX_LEN];
    struct request rq = {.header = header, .now_ms = NOW};
    token_new(&tokens[0], admin);
    token_new(&tokens[1], agent);
    tokens[0].role = ROLE_ADMIN;
    tokens[1].role = ROLE_AGENT;
    h->live = live_new(NULL, registry_on_event, h);
    if (!dir) {
        dir = dir_new_quick();
        atexit(remove_dir);
    }
    h->store = store_new_for_test(dir, NULL);
    put_token(h->store, &tokens[0]);
    put_token(h->store, &tokens[1]);
    h->peers = peers_new(h->store);
    h->tokens = tokens_new(h->store);
    h->sessions = sessions_new(h->store, h->tokens);
    h->dec = wire_dec_new();
    h->enc = wire_enc_new(1);
    h->conf.max_nodes = 100;
    h->conf.interval = h->conf.watch_interval = 1000;
    h->book = book_new();
    h->mirror = mirror_new(h);
    h->api = (struct api){.live = h->live,
                          .book = h->book,
                          .book_auth = BOOK_OPEN,
                          .booking_put = bookings_put,
                          .booking_get = bookings_get,
                          .cache = cache_new(1 << 20),
                          .version = "x",
                          .session_ms = 1000,
                          .read_open = true,
                          .hub = h,
                          .find_token = find_token,
                          .session_begin = hub_session_begin,
                          .session_find = hub_session_find,
                          .session_end = hub_session_end,
                          .once_make = hub_once_make,
                          .once_take = hub_once_take,
                          .take_batches = ingest_post,
                          .vesta_token = "t",
                          .vesta_register = vesta_register,
                          .vesta_update = vesta_update,
                          .node_admin = registry_admin,
                          .node_delete = registry_delete,
                          .node_join = registry_join,
                          .events = registry_events,
                          .job_put = jobs_put,
                          .job_change = jobs_change,
                          .job_get = jobs_get};
    vesta_register(h, &rq, STR("host"), vesta_id, name, NULL);
}

static void end(struct hub *h)
{
    store_close(h->store); /* everybody who waits for it is told */
    assert(lates == 0);
    dir_empty(dir);
    peers_free(h->peers);
    sessions_free(h->sessions);
    tokens_free(h->tokens);
    live_free(h->live);
    mirror_free(h->mirror);
    book_free(h->book);
    wire_dec_free(h->dec);
    wire_enc_free(h->enc);
    cache_free(h->api.cache);
    buf_fini(&h->scratch);
}

/* A GPU to book. */
static void add_gpu(struct hub *h)
{
    struct device_fact d = {.uuid = "GPU-1", .name = "H200", .mig = -1};
    struct node_fact f = {.name = "n1", .n_devices = 1, .devices = &d};
    live_facts(h->live, live_node(h->live, "n1", "n1", NOW), 1, &f, NOW);
}

static void ask(struct hub *h, enum method method, const char *target, struct str body)
{
    struct request rq = {.method = method, .header = header, .now_ms = NOW, .peer = "127.0.0.1"};
    struct reply rp = {0};
    char scratch[256];
    request_target(&rq, str_of(target), scratch, NULL);
    rq.body = body;
    if (api_handle(&h->api, &rq, &rp) == REPLY_NOW)
        assert(rp.status >= 300 || rp.body.len || rp.blob);
    reply_fini(&rp);
}

/* Pieces of the input as frames: a type, a length, the rest; behind a hello that is good. */
static void frames(struct buf *out, struct str in)
{
    struct hello hello = {.node = {{1}}, .run = 7, .sent_ms = NOW, .collect = COLLECT_OK, .name = "n"};
    struct rd r = rd_of(in.p, in.len);
    wire_start(out);
    wire_put_hello(out, &hello);
    while (rd_left(&r) > 3) {
        uint8_t type = rd_u8(&r) % 6;
        size_t n = rd_u16(&r);
        n = MIN(n, rd_left(&r));
        const uint8_t *p = rd_bytes(&r, n);
        AUTO_BUF whole = BUF_INIT(1 << 20);
        buf_u8(&whole, type);
        if (type >= 2)
            buf_add(&whole, hello.node.b, sizeof(hello.node.b));
        buf_add(&whole, p, n);
        buf_u8(out, type);
        buf_u32(out, (uint32_t)whole.len - 1);
        buf_u32(out, crc32c(0, whole.p, whole.len));
        buf_add(out, whole.p + 1, whole.len - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const targets[] = {"/api/v1/login", "/api/v1/nodes/host", "/update/host/", "/api/v1/batches",
                                          "/api/v1/jobs"};
    if (size < 1 || size > (1 << 16))
        return 0;
    struct hub h = {0};
    struct str body = str_n(data + 1, size - 1);
    AUTO_BUF out = BUF_INIT(1 << 20);
    char target[128];
    log_set_level(LOG_ERROR);
    start(&h);
    switch (data[0] % 7) {
    case 0:
        ask(&h, METHOD_POST, targets[0], body);
        break;
    case 1:
        authorization = admin;
        ask(&h, METHOD_PATCH, targets[1], body);
        ask(&h, METHOD_POST, "/api/v1/nodes/host/join", body);
        ask(&h, METHOD_DELETE, targets[1], body);
        break;
    case 2:
        snprintf(target, sizeof(target), "%s%s?token=t", targets[2], vesta_id);
        ask(&h, METHOD_POST, target, body);
        ask(&h, METHOD_GET, "/states/", STR(""));
        ask(&h, METHOD_GET, "/?term=true&detail=true", STR(""));
        break;
    case 3:
        authorization = agent;
        ask(&h, METHOD_POST, targets[3], body);
        break;
    case 5: { /* begun, begun again with the same key, and changed by the same words */
        struct job_fact job = {.id = 7,
                               .start_ms = NOW,
                               .name = "x",
                               .kind = "x",
                               .person = "",
                               .owner = "",
                               .node = "",
                               .devices = "",
                               .pids = "",
                               .attrs = ""};
        authorization = admin;
        store_job_put(h.store, &job, NULL, NULL);
        ask(&h, METHOD_POST, targets[4], body);
        store_flush(h.store, NULL);
        ask(&h, METHOD_POST, targets[4], body);
        ask(&h, METHOD_PATCH, "/api/v1/jobs/0000000000000007", body);
        store_flush(h.store, NULL);
        ask(&h, METHOD_GET, "/api/v1/jobs/0000000000000007", STR(""));
        break;
    }
    case 6: /* booked, booked again, changed; and the same words as the old form's */
        add_gpu(&h);
        ask(&h, METHOD_POST, "/api/v1/bookings", STR("{\"gpus\":\"n1:0\",\"for\":\"1h\",\"person\":\"kim\"}"));
        store_flush(h.store, NULL);
        ask(&h, METHOD_PATCH, "/api/v1/bookings/1?person=kim", body);
        store_flush(h.store, NULL);
        ask(&h, METHOD_POST, "/api/v1/bookings", body);
        store_flush(h.store, NULL);
        ask(&h, METHOD_POST, "/index.php", body);
        store_flush(h.store, NULL);
        ask(&h, METHOD_GET, "/api/v1/bookings", STR(""));
        ask(&h, METHOD_DELETE, "/api/v1/bookings/1?person=kim", STR(""));
        store_flush(h.store, NULL);
        break;
    case 4:
        authorization = agent;
        frames(&out, body);
        ask(&h, METHOD_POST, targets[3], buf_str(&out));
        ask(&h, METHOD_POST, targets[3], buf_str(&out));
        authorization = admin;
        ask(&h, METHOD_GET, "/api/v1/state", STR(""));
        ask(&h, METHOD_GET, "/metrics", STR(""));
        break;
    }
    authorization = NULL;
    end(&h);
    return 0;
}
