/*
 * alertmonth.c: the past of a cluster whose troubles are known, for a test that asks which alerts there would have
 * been. alertmonth DIR DAYS NODES SEED UNTIL_MS Eight GPUs a node, a sample every 30 s. Ordinary life: people come and
 * go, train with pauses for checkpoints, try things out with long pauses, come late to what they booked; sensors
 * stutter, agents are started anew. Into that go troubles, at most one per node and half a day; each is one line of
 * JSON on standard output:
 *   {"rule", "place", "fired": when the rule should fire, "until": when it is over}
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "history/cmd_import_sink.h"
#include "wire/wire.h"

enum { GPUS = 8, TICK_S = 30, A_DAY = 86400 / TICK_S, SLOT = A_DAY / 2, PEOPLE = 8, PER_BATCH = A_DAY };
#define TICKS(minutes) ((int)((minutes)*60 / TICK_S))

enum flag { HOT = 1, THROTTLED = 2, PENDING = 4, GONE = 8, SPIKE = 16 };
enum quiet { TALKS, SILENT, HUNG };
enum trouble { DOWN, HANGS, LOSES, HEAT, SLOW, REMAP, XID, IDLE, LEFT_UNUSED, TAKEN, TROUBLES, BOOKED_WELL };

static const char *const people[PEOPLE] = {"ana", "ben", "kim", "lee", "mia", "raj", "tom", "yui"};

struct gpu {
    uint8_t *util, *flags, *who, *guest; /* by tick; who and guest: a person's number from 1 on, 0: nobody */
    bool warm;                           /* it sits where the air is warm */
};
struct node {
    struct node_id id;
    char key[33], name[16];
    struct gpu gpus[GPUS];
    uint8_t *quiet;
    struct import_sink_node *in;
    uint64_t run, number;
};

static struct prng rng;
static struct import_sink *in;
static int64_t from_ms;
static int n_ticks;
static int64_t bookings;

static double unit(void)
{
    return prng_unit(&rng);
}

static int between(int lo, int hi)
{
    return lo + (int)(unit() * (double)(hi - lo + 1));
}

static int64_t ms_of(int tick)
{
    return from_ms + (int64_t)tick * TICK_S * 1000;
}

static void die(const struct err *err)
{
    fprintf(stderr, "alertmonth: %s\n", err->msg);
    exit(1);
}

static void fill(uint8_t *v, int a, int b, int with)
{
    for (int t = MAX(a, 0); t < MIN(b, n_ticks); t++)
        v[t] = (uint8_t)with;
}

/* ---- ordinary life ---- */

static void works(struct gpu *g, int a, int b)
{
    for (int t = MAX(a, 0); t < MIN(b, n_ticks); t++)
        g->util[t] = (uint8_t)between(80, 100);
}

/* Full load, with pauses of some minutes for checkpoints. */
static void trains(struct gpu *g, int a, int b)
{
    works(g, a, b);
    for (int t = a + TICKS(between(20, 60)); t < b - TICKS(10); t += TICKS(between(30, 120)))
        fill(g->util, t, t + TICKS(between(1, 8)), between(0, 3));
}

/* A few minutes of work, then up to an hour and a half of none. */
static void tries(struct gpu *g, int a, int b)
{
    for (int t = a; t < b;) {
        int end = MIN(t + TICKS(between(1, 30)), b);
        works(g, t, end);
        t = end + TICKS(between(3, 95));
    }
}

static void lives(struct gpu *g)
{
    for (int t = TICKS(between(0, 300)); t < n_ticks;) {
        int start = TICKS(between(1, 12)), length = TICKS(between(5, 60)), kind = between(0, 99);
        if (kind < 50)
            length = TICKS(60 + (int)(unit() * unit() * 40 * 60));
        else if (kind < 85)
            length = TICKS(30 + (int)(unit() * 10 * 60));
        int end = t + start + length, left = between(0, 9) < 3 ? TICKS(between(1, kind < 50 ? 60 : 20)) : 0;
        fill(g->who, t, end + left, between(1, PEOPLE));
        if (kind < 50)
            trains(g, t + start, end);
        else if (kind < 85)
            tries(g, t + start, end - TICKS(1));
        else
            works(g, t + start, end);
        t = end + left + TICKS(between(1, 240));
    }
    for (int t = 0; t < n_ticks; t++)
        if (unit() < 1e-4)
            fill(g->flags, t, t + between(1, 3), SPIKE);
}

static void nobody(struct gpu *g, int a, int b)
{
    fill(g->util, a, b, 0);
    fill(g->who, a, b, 0);
    fill(g->guest, a, b, 0);
}

/* ---- troubles ---- */

static void told(const char *rule, const char *place, int64_t fired_ms, int64_t until_ms)
{
    printf("{\"rule\": \"%s\", \"place\": \"%s\", \"fired\": %" PRId64 ", \"until\": %" PRId64 "}\n", rule, place,
           fired_ms, until_ms);
}

static void happens(struct node *n, int gpu, int tick, enum event_kind kind, int64_t code, const char *text)
{
    struct node_event e = {.at_ms = ms_of(tick), .kind = kind, .code = code};
    char uuid[UUID_MAX];

    snprintf(e.text, sizeof(e.text), "%s", text);
    snprintf(uuid, sizeof(uuid), "GPU-%s-%d", n->name, gpu);
    store_put(import_sink_store(in), STORE_EVENT, &(struct store_event){n->key, gpu < 0 ? "" : uuid, e}, 1, NULL, NULL);
}

static void kept(void *arg, int result)
{
    (void)arg;
    if (result < 0)
        exit(1);
}

static void books(const struct node *n, int gpu, int a, int b, int who)
{
    char uuid[UUID_MAX], place[32];
    struct booking h = {.id = ++bookings,
                        .from_ms = ms_of(a),
                        .until_ms = ms_of(b),
                        .created_ms = ms_of(a) - 86400000,
                        .changed_ms = ms_of(a) - 86400000,
                        .person = people[who - 1],
                        .by = people[who - 1],
                        .devices = uuid,
                        .places = place,
                        .model = "",
                        .where = "",
                        .comment = ""};

    snprintf(uuid, sizeof(uuid), "GPU-%s-%d", n->name, gpu);
    snprintf(place, sizeof(place), "%s:%d", n->name, gpu);
    store_put(import_sink_store(in), STORE_BOOKING, &h, 1, kept, NULL);
}

/* Booked and used, with what is ordinary: late, with pauses, somebody else by mistake for some minutes. */
static void uses_well(struct node *n, int gpu, int a, int b, int who)
{
    struct gpu *g = &n->gpus[gpu];
    int other = who % PEOPLE + 1, come = a + TICKS(between(0, 50)), go = b - TICKS(between(0, 50));

    nobody(g, a - TICKS(30), b);
    if (between(0, 2) == 0) /* who was there before goes late */
        fill(g->who, a - TICKS(30), a + TICKS(between(1, 8)), other), works(g, a - TICKS(30), a);
    if (g->who[a] && come < a + TICKS(9))
        come = a + TICKS(9);
    fill(g->who, come, go, who);
    trains(g, come + TICKS(2), go);
    int at = come + TICKS(between(20, 40));
    nobody(g, at, at + TICKS(between(1, 45))); /* it crashed, and was started anew */
    at = go - TICKS(between(20, 30));
    fill(g->guest, at, at + TICKS(between(1, 8)), other);
}

static void trouble_on(struct node *n, enum trouble kind, int a)
{
    int gpu = between(0, GPUS - 1), who = between(1, PEOPLE), other = who % PEOPLE + 1, b = a, c;
    struct gpu *g = &n->gpus[gpu];
    char place[32];

    snprintf(place, sizeof(place), "%s:%d", n->name, gpu);
    switch (kind) {
    case DOWN:
        b = a + TICKS(between(10, 180));
        fill(n->quiet, a, b, SILENT);
        told("node-down", n->name, ms_of(a) + 60000, ms_of(b));
        break;
    case HANGS:
        b = a + TICKS(between(10, 120));
        fill(n->quiet, a, b, HUNG);
        happens(n, -1, a, EVENT_HUNG, 0, "the driver does not answer");
        happens(n, -1, b, EVENT_ANSWERS, 0, "the driver answers again");
        told("driver-hung", n->name, ms_of(a) + 30000, ms_of(b));
        break;
    case LOSES:
        b = a + TICKS(between(20, 240));
        nobody(g, a, b);
        fill(g->flags, a, b, GONE);
        happens(n, gpu, a, EVENT_LOST, 0, "gone");
        happens(n, gpu, b, EVENT_BACK, 0, "back");
        told("gpu-lost", place, ms_of(a) + 30000, ms_of(b));
        break;
    case HEAT:
        b = a + TICKS(between(10, 90));
        fill(g->who, a - TICKS(20), b + TICKS(20), who);
        works(g, a - TICKS(20), b + TICKS(20));
        fill(g->flags, a, b, HOT);
        told("gpu-hot", place, ms_of(a) + 120000, ms_of(b));
        break;
    case SLOW:
        b = a + TICKS(between(15, 60));
        fill(g->flags, a, b, THROTTLED);
        told("gpu-throttled-heat", place, ms_of(a) + 300000, ms_of(b));
        break;
    case REMAP:
        b = a + TICKS(between(30, 300));
        fill(g->flags, a, b, PENDING);
        told("gpu-remap", place, ms_of(a), ms_of(b));
        break;
    case XID:
        happens(n, gpu, a, EVENT_XID, 79, "Xid 79");
        told("gpu-xid", place, ms_of(a), ms_of(a) + 3600000);
        break;
    case IDLE:
        b = a + TICKS(20) + TICKS(between(135, 300));
        nobody(g, a - TICKS(5), b + TICKS(5));
        fill(g->who, a, b, who);
        works(g, a, a + TICKS(20));
        told("gpu-idle", place, ms_of(a + TICKS(20)) + 7200000, ms_of(b));
        break;
    case LEFT_UNUSED:
        b = a + TICKS(between(120, 300));
        nobody(g, a - TICKS(5), b);
        books(n, gpu, a, b, who);
        told("booking-unused", place, ms_of(a) + 3600000, ms_of(b));
        break;
    case TAKEN:
        b = a + TICKS(between(180, 300));
        nobody(g, a - TICKS(30), b);
        books(n, gpu, a, b, who);
        fill(g->who, a + TICKS(between(1, 40)), b - TICKS(5), who);
        works(g, a + TICKS(40), b - TICKS(5));
        c = between(0, 1) ? a : a + TICKS(between(60, 100)); /* there before it began, or comes later */
        fill(g->guest, c == a ? a - TICKS(20) : c, c + TICKS(between(15, 60)), other);
        told("booking-taken", place, ms_of(c) + 600000, ms_of(c) + 3600000);
        break;
    case BOOKED_WELL:
        b = a + TICKS(between(180, 300));
        books(n, gpu, a, b, who);
        uses_well(n, gpu, a, b, who);
        break;
    case TROUBLES:
        break;
    }
}

static void plan(struct node *n)
{
    n->quiet = mem_zero((size_t)n_ticks, 1);
    for (int i = 0; i < GPUS; i++) {
        struct gpu *g = &n->gpus[i];
        *g = (struct gpu){mem_zero((size_t)n_ticks, 1), mem_zero((size_t)n_ticks, 1), mem_zero((size_t)n_ticks, 1),
                          mem_zero((size_t)n_ticks, 1), between(0, 9) == 0};
        lives(g);
    }
    for (int t = 0; t < n_ticks; t++)
        if (unit() < 2e-4) /* an agent is started anew: one sample is missing */
            n->quiet[t] = SILENT;
    for (int t = 0; t < n_ticks; t++)
        if (unit() < 1e-5) /* it is updated by hand: nothing is wrong, but a hub cannot know */
            fill(n->quiet, t, t + TICKS(between(2, 4)), SILENT);
    for (int slot = 1; (slot + 1) * SLOT <= n_ticks; slot++) { /* the first half day goes before what is asked for */
        int a = slot * SLOT + TICKS(between(60, 240)), dice = between(0, 99);
        if (dice < 40)
            trouble_on(n, (enum trouble)between(0, TROUBLES - 1), a);
        else if (dice < 70)
            trouble_on(n, BOOKED_WELL, a);
    }
}

/* ---- into the store ---- */

static bool gone_at(const struct node *n, int gpu, int t)
{
    return n->gpus[gpu].flags[t] & GONE;
}

static void facts_at(struct node *n, int t)
{
    struct device_fact devices[GPUS];
    struct node_fact f = {.tick_ms = TICK_S * 1000, .devices = devices, .cpus = 64};
    struct store_node rec = {.first_ms = from_ms, .last_ms = ms_of(t)};
    AUTO_BUF frame = BUF_INIT(1 << 20);
    struct err err = {0};

    snprintf(f.name, sizeof(f.name), "%s", n->name);
    for (int i = 0; i < GPUS; i++) {
        if (gone_at(n, i, t))
            continue;
        struct device_fact *d = &devices[f.n_devices++];
        *d = (struct device_fact){.index = i, .minor = i, .mig = -1, .vendor = VENDOR_NVIDIA, .name = "H200"};
        snprintf(d->uuid, sizeof(d->uuid), "GPU-%s-%d", n->name, i);
        snprintf(d->pci, sizeof(d->pci), "0000:%02x:00.0", i + 16);
    }
    if (import_sink_facts(in, n->in, &f, &err) < 0 || wire_put_facts(&frame, &n->id, &f, &rec.facts) < 0)
        die(&err);
    snprintf(rec.key, sizeof(rec.key), "%s", n->key);
    snprintf(rec.own_name, sizeof(rec.own_name), "%s", n->name);
    store_put(import_sink_store(in), STORE_NODE, &rec, 1, NULL, NULL);
    if (import_sink_sync(in, &err) < 0)
        die(&err);
}

static bool same_facts(const struct node *n, int t)
{
    for (int i = 0; i < GPUS && t > 0; i++)
        if (gone_at(n, i, t) != gone_at(n, i, t - 1))
            return false;
    return t > 0;
}

static int64_t temp_of(const struct gpu *g, int t)
{
    int64_t v = 32000 + (g->warm ? 540 : 420) * g->util[t] + (int64_t)(unit() * 6000) - 3000;

    if (g->flags[t] & HOT)
        v = 91000 + (int64_t)(unit() * 3000);
    if (g->flags[t] & SPIKE)
        v = 93000;
    return v;
}

struct batch_room {
    int64_t at_ms[PER_BATCH];
    uint64_t have[2][PER_BATCH / 64 + 1]; /* of the node; of its GPUs */
    int64_t v[1 + GPUS * 5][PER_BATCH];
};

/* Ticks [a, b) under the same facts. */
static void put_batch(struct node *n, int a, int b, struct batch_room *room)
{
    static const enum metric of_gpu[] = {M_util, M_mem_used, M_mem_total, M_temp, M_throttle, M_rows_pending};
    struct column columns[1 + GPUS * ARRAY_LEN(of_gpu)];
    static int64_t totals[PER_BATCH];
    struct batch batch = {.at_ms = room->at_ms, .columns = columns, .key = {.run = n->run, .number = ++n->number}};
    struct err err = {0};
    size_t at = 0;

    memset(room->have, 0, sizeof(room->have));
    for (int t = a; t < b; t++) {
        if (n->quiet[t] == SILENT)
            continue;
        at = batch.n_ticks++;
        room->at_ms[at] = ms_of(t);
        room->v[0][at] = between(100, 3000);
        totals[at] = 140ll << 30;
        room->have[0][at / 64] |= 1ull << at % 64;
        if (n->quiet[t] == TALKS)
            room->have[1][at / 64] |= 1ull << at % 64;
        for (int i = 0; i < GPUS; i++) {
            const struct gpu *g = &n->gpus[i];
            room->v[1 + i * 5][at] = g->util[t] * 100;
            room->v[2 + i * 5][at] = g->who[t] || g->guest[t] ? 20ll << 30 : 500ll << 20;
            room->v[3 + i * 5][at] = temp_of(g, t);
            room->v[4 + i * 5][at] = g->flags[t] & THROTTLED ? 0x20 : g->util[t] > 97 ? 0x4 : g->util[t] ? 0 : 1;
            room->v[5 + i * 5][at] = g->flags[t] & PENDING ? 1 : 0;
        }
    }
    if (!batch.n_ticks)
        return;
    for (size_t m = 0; m < ARRAY_LEN(of_gpu); m++)
        for (int i = 0, slot = 1; i < GPUS; i++) {
            if (gone_at(n, i, a))
                continue;
            columns[batch.n_columns++] =
                (struct column){.metric = metrics[of_gpu[m]].no,
                                .slot = (uint16_t)slot++,
                                .have = room->have[1],
                                .v = m == 2 ? totals : room->v[1 + i * 5 + (int)(m > 2 ? m - 1 : m)]};
        }
    columns[batch.n_columns++] = (struct column){.metric = metrics[M_cpu].no, .have = room->have[0], .v = room->v[0]};
    if (import_sink_batch(in, n->in, &batch, &err) < 0)
        die(&err);
}

static void put_day(struct node *n, int a, int b, struct batch_room *room)
{
    for (int t = a; t < b;) {
        int end = t + 1;
        if (!same_facts(n, t))
            facts_at(n, t);
        while (end < b && same_facts(n, end))
            end++;
        put_batch(n, t, end, room);
        t = end;
    }
}

static void put_procs(const struct node *n, int gpu, const uint8_t *who, int32_t *pid)
{
    char uuid[UUID_MAX];

    snprintf(uuid, sizeof(uuid), "GPU-%s-%d", n->name, gpu);
    for (int t = 0; t < n_ticks;) {
        int end = t + 1;
        while (end < n_ticks && who[end] == who[t])
            end++;
        struct proc_span p = {.node = n->key,
                              .device = uuid,
                              .fact = {.pid = ++*pid, .start_ms = ms_of(t), .uid = -1, .name = "python"},
                              .first_ms = ms_of(t),
                              .last_ms = ms_of(end - 1),
                              .mem_max = 20ll << 30,
                              .ended = end < n_ticks,
                              .kind = PROC_COMPUTE,
                              .sm = -1};
        if (who[t]) {
            snprintf(p.fact.user, sizeof(p.fact.user), "%s", people[who[t] - 1]);
            store_put(import_sink_store(in), STORE_PROC, &p, 1, NULL, NULL);
        }
        t = end;
    }
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int64_t days, n_nodes, seed, until;
    struct client_conf none = {0};

    if (argc != 6 || !str_int(str_of(argv[2]), &days) || !str_int(str_of(argv[3]), &n_nodes) ||
        !str_int(str_of(argv[4]), &seed) || !str_int(str_of(argv[5]), &until) || days < 1 || days > 90 || n_nodes < 1 ||
        n_nodes > 99) {
        fprintf(stderr, "usage: alertmonth DIR DAYS NODES SEED UNTIL_MS\n");
        return 2;
    }
    rng.s = (uint64_t)seed;
    n_ticks = (int)days * A_DAY;
    from_ms = until - days * 86400000;
    if (import_sink_open(&in, argv[1], &none, &err) < 0)
        die(&err);
    struct node *nodes = mem_zero((size_t)n_nodes, sizeof(*nodes));
    struct batch_room *room = mem_alloc(sizeof(*room));
    for (int64_t i = 0; i < n_nodes; i++) {
        struct node *n = &nodes[i];
        int32_t pid = 1000;
        snprintf(n->name, sizeof(n->name), "m%02d", (int)i + 1);
        n->id.b[0] = (uint8_t)(i + 1);
        n->run = (uint64_t)(seed * 1000 + i + 1);
        node_id_text(&n->id, n->key);
        if (import_sink_node(in, n->key, n->name, &n->in, &err) < 0)
            die(&err);
        plan(n);
        for (int g = 0; g < GPUS; g++) {
            put_procs(n, g, n->gpus[g].who, &pid);
            put_procs(n, g, n->gpus[g].guest, &pid);
        }
    }
    for (int day = 0; day < (int)days; day++)
        for (int64_t i = 0; i < n_nodes; i++)
            put_day(&nodes[i], day * A_DAY, (day + 1) * A_DAY, room);
    if (import_sink_finish(in, &err) < 0)
        die(&err);
    import_sink_close(in);
    for (int64_t i = 0; i < n_nodes; i++) {
        free(nodes[i].quiet);
        for (int g = 0; g < GPUS; g++) {
            free(nodes[i].gpus[g].util);
            free(nodes[i].gpus[g].flags);
            free(nodes[i].gpus[g].who);
            free(nodes[i].gpus[g].guest);
        }
    }
    free(nodes);
    free(room);
    return 0;
}
