/*
 * vesta.c: senders of vesta 1.0 as nodes of ours. What they post becomes facts, processes and a batch like any agent's
 * and takes the same way. A sender's id is a secret it was given; the node's key is made from its hash, so that nobody
 * who reads our screens can post in its name.
 */
#include "compat/vesta.h"

#include <errno.h>
#include <jansson.h>

#include "access/auth.h"
#include "base/log.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/rand.h"
#include "format/words.h"
#include "model/gather.h"
#include "model/work.h"
#include "nodes/feature.h"
#include "notify/channel.h"
#include "notify/outbox.h"
#include "people/people.h"

#define VESTA_NAME_MAX  64
#define VESTA_GPUS_MAX  64
#define VESTA_PROCS_MAX 256 /* per GPU */
#define GAP_FIRST_MS    60000
#define MIB             (1 << 20)
#define TO_MAX          200
#define SAID_MAX        4000

/* The key and the 16 bytes of a node id, both of the secret's hash. */
static void key_of(struct str id, char key[NODE_KEY_MAX], struct node_id *ret)
{
    uint8_t hash[32];
    char hex[33];
    sha256(id.p, id.len, hash);
    memcpy(ret->b, hash, sizeof(ret->b));
    snprintf(key, NODE_KEY_MAX, "vesta:%s", node_id_text(ret, hex));
}

/* Characters vesta would not have in a name become '_', as do ours. */
static bool clean_name(struct str in, char out[NAME_MAX_LEN])
{
    in = str_trim(in);
    if (in.len == 0 || in.len > VESTA_NAME_MAX || !plain_typed(in))
        return false;
    for (size_t i = 0; i < in.len; i++)
        out[i] = strchr(".,-@[]:;\"\\/\t", in.p[i]) ? '_' : in.p[i];
    out[in.len] = 0;
    return true;
}

/* It is there, whatever else it has to say. */
static void hear(struct hub *h, const struct request *rq, struct peer *peer, struct node_now *n,
                 const struct node_id *id)
{
    struct hello hello = {.node = *id,
                          .run = 1,
                          .sent_ms = rq->now_ms,
                          .state_since_ms = rq->now_ms,
                          .collect = COLLECT_OK};
    mem_copy_str(hello.name, sizeof(hello.name), peer->rec.own_name);
    live_hello(h->live, n, &hello, rq->peer, rq->now_ms);
    peer->heard = peer->mine = true;
}

int vesta_register(struct hub *h, struct request *rq, struct str host_name, char id[40], char name[NAME_MAX_LEN],
                   struct err *err)
{
    struct node_now *n;
    struct node_id bytes;
    char key[NODE_KEY_MAX];
    if (!clean_name(host_name, name))
        return err_set(err, -EINVAL, "host_name must be 1 to %d bytes of text.", VESTA_NAME_MAX);
    if (live_find(h->live, name)) {
        size_t at = strlen(name);
        snprintf(name + at, NAME_MAX_LEN - at, "_%08x", (unsigned)(rand_u64() & 0xffffffffu));
    }
    rand_bytes(bytes.b, sizeof(bytes.b));
    node_id_text(&bytes, id);
    key_of(str_of(id), key, &bytes);
    struct peer *peer = ingest_node(h, key, name, rq->now_ms, &n);
    if (!peer)
        return err_set(err, -ENOSPC, "this hub holds as many hosts as it may.");
    hear(h, rq, peer, n, &bytes);
    peer_save(h->peers, peer, n, true, rq->now_ms);
    log_info("hub", "vesta sender %s (%s) from %s registered", name, key, rq->peer);
    return 0;
}

/* ---- a post ---- */

struct vesta_post {
    struct node_fact facts;
    struct proc_list procs;
    size_t n_uses;
    struct proc_use *uses;
    struct sample samples[VESTA_GPUS_MAX];
    int64_t sent_ms[VESTA_GPUS_MAX]; /* by the sender's clock; -1: not said */
};

/* Senders give numbers as numbers; older ones as text. */
static bool number(const json_t *o, const char *name, int64_t max, int64_t *ret)
{
    const json_t *v = json_object_get(o, name);
    int64_t n;
    if (json_is_integer(v))
        n = json_integer_value(v);
    else if (!json_is_string(v) || !str_int(str_trim(str_n(json_string_value(v), json_string_length(v))), &n))
        return false;
    if (n < 0 || n > max)
        return false;
    *ret = n;
    return true;
}

static void text(const json_t *o, const char *name, char *out, size_t size)
{
    const char *v = json_string_value(json_object_get(o, name));
    struct str s = str_trim(str_of(v ? v : ""));
    AUTO_FREE char *copy = mem_strn(s.p, s.len);
    if (str_utf8_ok(s))
        mem_copy_str(out, size, copy);
}

static void post_process(struct vesta_post *p, uint16_t slot, const json_t *o)
{
    int64_t pid, mem;
    if (p->procs.n >= PROCS_MAX || !json_is_object(o) || !number(o, "pid", INT32_MAX, &pid))
        return;
    struct proc_fact *f = &p->procs.v[p->procs.n];
    *f = (struct proc_fact){.pid = (int32_t)pid, .uid = -1, .root_pid = (int32_t)pid};
    text(o, "user", f->user, sizeof(f->user));
    text(o, "name", f->name, sizeof(f->name));
    p->uses[p->n_uses++] = (struct proc_use){.proc = (uint16_t)p->procs.n++,
                                             .slot = slot,
                                             .kind = PROC_COMPUTE,
                                             .mem = number(o, "used_memory", 1 << 30, &mem) ? mem * MIB : -1,
                                             .sm = -1};
}

static void post_gpu(struct vesta_post *p, const json_t *o, int64_t index)
{
    struct device_fact *d = &p->facts.devices[p->facts.n_devices];
    struct sample *s = &p->samples[p->facts.n_devices];
    uint16_t slot = (uint16_t)++p->facts.n_devices;
    int64_t v, left;
    size_t i;
    const json_t *proc;
    char when[32] = "";
    *d = (struct device_fact){.index = (int32_t)index, .minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA};
    text(o, "uuid", d->uuid, sizeof(d->uuid));
    text(o, "gpu_name", d->name, sizeof(d->name));
    mem_copy_str(d->note, sizeof(d->note), NO_WORK_SMI);
    const struct {
        const char *name;
        enum metric m;
        int64_t scale, max;
    } values[] = {{"temperature", M_temp, 1000, 1000},
                  {"total_memory", M_mem_total, MIB, 1 << 30},
                  {"used_memory", M_mem_used, MIB, 1 << 30},
                  {"gpu_volatile", M_util, 100, 100}};
    for (size_t k = 0; k < ARRAY_LEN(values); k++)
        if (number(o, values[k].name, values[k].max, &v))
            sample_set(s, values[k].m, v * values[k].scale);
    if (number(o, "available_memory", 1 << 30, &left) && sample_has(s, M_mem_total) && sample_has(s, M_mem_used))
        sample_set(s, M_mem_reserved, s->v[M_mem_total] - s->v[M_mem_used] - left * MIB); /* as memory_left has it */
    text(o, "timestamp", when, sizeof(when));
    p->sent_ms[slot - 1] = sent_parse(when);
    json_array_foreach (json_object_get(o, "processes"), i, proc) {
        if (i >= VESTA_PROCS_MAX)
            break;
        post_process(p, slot, proc);
    }
}

/* {"gpu:0": {...}, ...} in the order of their numbers. 0 or -EINVAL. */
static int post_parse(struct vesta_post *p, struct str body, struct err *err)
{
    json_error_t e;
    const char *key;
    json_t *o;
    json_auto_t *root = json_loadb(body.p, body.len, JSON_REJECT_DUPLICATES, &e);
    const json_t *by_index[VESTA_GPUS_MAX] = {0};
    int64_t index;
    int r = 0;
    if (!root)
        return err_set(err, -EINVAL, "the body is not JSON: line %d, column %d: %s", e.line, e.column, e.text);
    json_object_foreach (root, key, o) {
        struct str rest = str_of(key);
        if (!str_skip(&rest, "gpu:") || !str_int(rest, &index) || index < 0 || index >= VESTA_GPUS_MAX ||
            !json_is_object(o) || by_index[index])
            r = err_set(err, -EINVAL, "'%.40s' is not understood: expected objects named gpu:0 to gpu:%d.", key,
                        VESTA_GPUS_MAX - 1);
        else
            by_index[index] = o;
    }
    if (!json_is_object(root))
        r = err_set(err, -EINVAL, "the body must be a JSON object.");
    for (index = 0; r == 0 && index < VESTA_GPUS_MAX; index++)
        if (by_index[index])
            post_gpu(p, by_index[index], index);
    for (size_t i = 0; r == 0 && i < p->facts.n_devices; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->facts.devices[i].uuid, p->facts.devices[k].uuid) == 0)
                r = err_set(err, -EINVAL, "two GPUs have the uuid '%s'.", p->facts.devices[i].uuid);
    for (size_t i = 0; r == 0 && i < p->facts.n_devices; i++)
        if (!p->facts.devices[i].uuid[0])
            r = err_set(err, -EINVAL, "gpu:%d has no uuid.", p->facts.devices[i].index);
    return r;
}

int32_t vesta_pace_ms(struct vesta_pace *p, int64_t now_ms)
{
    static const int64_t steps[] = {5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000};
    int64_t gap = p->post_ms && now_ms > p->post_ms ? now_ms - p->post_ms : 0;

    if (!p->mean_ms)
        p->mean_ms = GAP_FIRST_MS;
    if (gap > 0) { /* an outage is one long gap between short ones */
        p->mean_ms = (p->mean_ms * 3 + (p->gap_ms ? MIN(gap, p->gap_ms) : MIN(gap, p->mean_ms))) / 4;
        p->gap_ms = gap;
    }
    p->post_ms = now_ms;
    return (int32_t)steps[FIRST(ARRAY_LEN(steps) - 1, i, p->mean_ms <= steps[i])];
}

static void on_stored(void *arg, int result)
{
    struct reply rp = {.outcome = result < 0 ? 507 : 200, .body = BUF_INIT(1024)};
    if (result < 0)
        buf_adds(&rp.body, "{\"status\":\"ERROR\",\"status_code\":507,\"message\":\"the hub cannot store.\"}\n");
    else
        buf_adds(&rp.body, "{\"status\":\"OK\",\"status_code\":200}\n");
    httpd_late_reply(arg, &rp);
}

static int post_store(struct hub *h, struct request *rq, struct vesta_post *p, const char *key, struct node_id *id,
                      struct peer *peer, struct node_now *n, struct err *err)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct gather *g = gather_new();
    struct batch b;
    uint64_t facts_id, procs_id;
    int64_t now_ms = rq->now_ms;
    size_t procs_at, batch_at;
    gather_tick(g, now_ms);
    for (size_t i = 0; i < p->facts.n_devices; i++) {
        gather_sample(g, (uint16_t)(i + 1), &p->samples[i]);
        if (p->sent_ms[i] >= 0)
            gather_value(g, (uint16_t)(i + 1), METRIC_CUSTOM, p->sent_ms[i]);
    }
    gather_uses(g, p->uses, p->n_uses);
    dup_gpus_resolve(h, peer, n, &p->facts, now_ms);
    int r = wire_put_facts(&out, id, &p->facts, &facts_id);
    procs_at = out.len;
    r = r ?: wire_put_procs(&out, id, &p->procs, &procs_id);
    batch_at = out.len;
    if (r == 0) {
        gather_batch(g, &b);
        if (!peer->run)
            peer->run = rand_u64() | 1;
        b.key = (struct batch_key){.node = *id, .run = peer->run, .number = ++peer->number};
        b.facts = facts_id;
        b.procs = procs_id;
        r = wire_put_batch(h->enc, &out, &b);
    }
    if (r == 0) {
        store_put_blob(h->store, key, BLOB_FACTS, facts_id, str_n(out.p, procs_at));
        store_put_blob(h->store, key, BLOB_PROCS, procs_id, str_n(out.p + procs_at, batch_at - procs_at));
        facts_take(h, peer, n, facts_id, &p->facts, now_ms);
        live_procs(h->live, n, procs_id, &p->procs, now_ms);
        live_batch(h->live, n, &b, 0, now_ms);
        peer_track(h->peers, peer, n, now_ms);
        peer_save(h->peers, peer, n, false, now_ms);
        struct store_batch sb = {.node = key,
                                 .run = b.key.run,
                                 .number = b.key.number,
                                 .facts = facts_id,
                                 .procs = procs_id,
                                 .at_ms = now_ms,
                                 .bytes = str_n(out.p + batch_at, out.len - batch_at)};
        hub_time(h, key, now_ms, now_ms, now_ms);
        store_append(h->store, &sb, 1, on_stored, httpd_late(rq));
    } else {
        err_set(err, -EINVAL, "the sample cannot be taken.");
    }
    gather_free(g);
    return r < 0 ? -EINVAL : 0;
}

int vesta_update(struct hub *h, struct request *rq, struct str id, struct err *err)
{
    struct node_id bytes;
    char key[NODE_KEY_MAX];
    key_of(id, key, &bytes);
    struct peer *peer = peers_find(h->peers, key);
    struct node_now *n = peer ? live_find(h->live, key) : NULL;
    if (!n)
        return -ENOENT;
    struct vesta_post *p = mem_zero(1, sizeof(*p));
    p->facts.devices = mem_zero(VESTA_GPUS_MAX, sizeof(*p->facts.devices));
    p->facts.custom = mem_zero(1, sizeof(*p->facts.custom));
    p->facts.custom[p->facts.n_custom++] = sent_fact;
    p->procs.v = mem_zero(PROCS_MAX, sizeof(*p->procs.v));
    p->uses = mem_zero(PROCS_MAX, sizeof(*p->uses));
    int r = post_parse(p, rq->body, err);
    if (r == 0) {
        mem_copy_str(p->facts.name, sizeof(p->facts.name), peer->rec.own_name);
        mem_copy_str(p->facts.agent, sizeof(p->facts.agent), "vesta");
        mem_copy_str(p->facts.collector, sizeof(p->facts.collector), "vesta");
        p->facts.tick_ms = vesta_pace_ms(&peer->vesta_pace, rq->now_ms);
        hear(h, rq, peer, n, &bytes);
        r = post_store(h, rq, p, key, &bytes, peer, n, err);
    }
    node_fact_fini(&p->facts);
    proc_list_fini(&p->procs);
    free(p->uses);
    free(p);
    return r;
}

/* ---- to somebody, through the Slack bot ---- */

static bool is_slack_id(const char *s)
{
    return (s[0] == 'U' || s[0] == 'W') && strlen(s) > 6 &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == strlen(s);
}

/*
 * Whom they mean, as Slack is asked for that person: a mail address, Slack's own id, or a person of ours. NULL: nobody.
 */
static const char *slack_of(const struct hub *h, const char *to)
{
    size_t n;
    const struct person *p = people_persons(h->api.people, &n);
    if (strchr(to, '@') || is_slack_id(to))
        return to;
    p = FIND(p, n, e, strcmp(e->name, to) == 0 || str_same(e->full, to));
    return !p ? NULL : p->slack ? p->slack : p->mail;
}

static const char *bot_channel(const struct hub *h)
{
    const struct channels *all = h->outbox ? outbox_channels(h->outbox) : NULL;
    const struct channel *c = all ? FIND(all->v, all->n, e, e->type == CHANNEL_SLACK_BOT) : NULL;
    return c ? c->name : NULL;
}

int vesta_notify(struct hub *h, struct request *rq, struct err *err)
{
    json_error_t e;
    json_auto_t *root = json_loadb(rq->body.p ? rq->body.p : "", rq->body.len, JSON_REJECT_DUPLICATES, &e);
    const json_t *text = json_object_get(root, "text"), *to = json_object_get(root, "to");
    struct str said = str_n(json_string_value(text), json_string_length(text)), first;
    struct str whom = str_n(json_string_value(to), json_string_length(to));
    const char *channel = bot_channel(h), *address = NULL;
    int r = 0;
    if (!said.p || !whom.p || !str_trim(said).len || said.len > SAID_MAX || whom.len > TO_MAX || !str_utf8_ok(whom) ||
        memchr(said.p, 0, said.len))
        r = err_set(err, -EINVAL, "expected {\"text\": up to %d bytes, \"to\": a name or a mail address}.", SAID_MAX);
    else if (!channel)
        r = err_set(err, -ENOTSUP, "there is no channel of type slack-bot: docs/slack.md.");
    else if (!(address = slack_of(h, json_string_value(to))))
        r = err_set(err, -ENOENT, "unknown user name: no person of muster.yaml with a slack or mail is called that.");
    if (r == 0) {
        struct str rest = str_trim(said);
        str_line(&rest, &first);
        AUTO_FREE char *title = mem_strn(first.p, first.len), *more = mem_strn(rest.p, rest.len);
        outbox_send(h->outbox,
                    &(struct message){.created_ms = rq->now_ms,
                                      .kind = MESSAGE_ANSWER, /* at once, whatever the hour */
                                      .channel = channel,
                                      .to = address,
                                      .rule = "",
                                      .title = title,
                                      .text = more},
                    NULL, on_stored, httpd_late(rq));
    }
    return r;
}
