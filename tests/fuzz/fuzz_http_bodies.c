/*
 * Bodies of every route that takes one, through api_handle into a whole hub. The first byte says which route; for
 * batches the rest is taken as it is, or as frames whose checksums are put right. The hub is opened once and serves
 * them all.
 */
#include <assert.h>
#include <event2/event.h>

#include "base/rand.h"
#include "compat/vesta.h"
#include "nodes/feature.h"
#include "whole_hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1700000000000

static struct hub *hub;
static char admin[64], agent[64], vesta_id[40], host_key[NODE_KEY_MAX];
static int lates; /* answers that are on their way */

static void take_late(void *arg, struct reply *rp)
{
    (void)arg;
    lates--;
    assert(rp->body.err == 0);
    reply_fini(rp);
    *rp = (struct reply){0};
}

/* Until all that was asked is answered, and all that was taken is on disk. */
static void settle(void)
{
    store_flush(hub->store, NULL);
    while (lates > 0)
        event_base_loop(hub->loop, EVLOOP_ONCE);
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

static void end(void)
{
    whole_hub_close(hub);
    hub = NULL;
}

/* With a GPU to book. */
static void start(void)
{
    char id[20];
    uint8_t hash[32];
    struct device_fact d = {.uuid = "GPU-1", .name = "H200", .mig = -1};
    struct node_fact f = {.name = "n1", .n_devices = 1, .devices = &d};
    hub = whole_hub_open("{read: open, max_nodes: 100, bookings: {auth: open}, vesta_token: t}");
    token_new(id, hash, admin);
    token_new(id, hash, agent);
    whole_hub_token(hub, admin, ROLE_ADMIN, "", false);
    whole_hub_token(hub, agent, ROLE_AGENT, "", false);
    live_facts(hub->live, live_node(hub->live, "n1", "n1", NOW), 1, &f, NOW);
    atexit(end);
}

/* A sender of vesta's: a new one, unless the last has sent samples and is called so still. */
static void put_host(void)
{
    char name[NAME_MAX_LEN];
    struct request rq = {.header = header, .now_ms = NOW};
    registry_delete(hub, host_key, NULL);
    if (live_find(hub->live, "host") || vesta_register(hub, &rq, STR("host"), vesta_id, name, NULL) < 0)
        return;
    mem_copy_str(host_key, sizeof(host_key), live_find(hub->live, "host")->key);
}

static void ask(enum method method, const char *target, struct str body)
{
    struct asker who = {0};
    struct request rq =
        {.method = method, .header = header, .now_ms = NOW, .peer = "127.0.0.1", .take = take_late, .who = &who};
    struct reply rp = {0};
    char scratch[256];
    request_target(&rq, str_of(target), scratch, NULL);
    rq.body = body;
    enum reply_mode how = api_handle(&hub->api, &rq, &rp);
    lates += how == REPLY_LATER;
    if (how == REPLY_NOW) {
        assert(rp.status >= 300 || rp.body.len || rp.blob);
        reply_fini(&rp);
    }
    settle();
}

/* Where the newest booking is. */
static void booking_target(char *out, size_t size)
{
    AUTO_FREE struct booking *last = NULL;
    struct store *beside = NULL; /* the hub's own reads nothing on this thread */
    if (store_open_tools(&beside, hub->data, NULL, NULL) == 0)
        store_get(beside, GET_BOOKING(0, &last), NULL);
    store_close(beside);
    snprintf(out, size, "/api/v1/bookings/%lld?person=kim", last ? (long long)last->id : 1);
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
    struct str body = str_n(data + 1, size - 1);
    AUTO_BUF out = BUF_INIT(1 << 20);
    char target[128];
    if (!hub)
        start();
    put_host();
    switch (data[0] % 7) {
    case 0:
        ask(METHOD_POST, targets[0], body);
        break;
    case 1:
        authorization = admin;
        ask(METHOD_PATCH, targets[1], body);
        ask(METHOD_POST, "/api/v1/nodes/host/join", body);
        ask(METHOD_DELETE, targets[1], body);
        break;
    case 2:
        snprintf(target, sizeof(target), "%s%s?token=t", targets[2], vesta_id);
        ask(METHOD_POST, target, body);
        ask(METHOD_GET, "/states/", STR(""));
        ask(METHOD_GET, "/?term=true&detail=true", STR(""));
        break;
    case 3:
        authorization = agent;
        ask(METHOD_POST, targets[3], body);
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
        store_put(hub->store, STORE_JOB, &job, 1, NULL, NULL);
        ask(METHOD_POST, targets[4], body);
        ask(METHOD_POST, targets[4], body);
        ask(METHOD_PATCH, "/api/v1/jobs/0000000000000007", body);
        ask(METHOD_GET, "/api/v1/jobs/0000000000000007", STR(""));
        break;
    }
    case 6: /* booked, booked again, changed; and the same words as the old form's */
        ask(METHOD_POST, "/api/v1/bookings", STR("{\"gpus\":\"n1:0\",\"for\":\"1h\",\"person\":\"kim\"}"));
        booking_target(target, sizeof(target));
        ask(METHOD_PATCH, target, body);
        ask(METHOD_POST, "/api/v1/bookings", body);
        ask(METHOD_POST, "/index.php", body);
        ask(METHOD_GET, "/api/v1/bookings", STR(""));
        ask(METHOD_DELETE, target, STR(""));
        break;
    case 4:
        authorization = agent;
        frames(&out, body);
        ask(METHOD_POST, targets[3], buf_str(&out));
        ask(METHOD_POST, targets[3], buf_str(&out));
        authorization = admin;
        ask(METHOD_GET, "/api/v1/state", STR(""));
        ask(METHOD_GET, "/metrics", STR(""));
        break;
    }
    authorization = NULL;
    return 0;
}
