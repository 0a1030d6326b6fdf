/*
 * demo_cluster.c: nodes that play a recorded trace. Each GPU loops over a section of the trace that fits its job, with
 * its own offset and speed.
 */
#include "sim/demo_cluster.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/version.h"
#include "model/work.h"

#define CLOCK_MAX_HZ 1980000000 /* of the recorded H200 */

/* The parameters of a job: a section of the trace, looped, and additional memory. */
static const struct alert_input {
    const char *program, *cmd;
    int64_t from_ms, to_ms;
    int64_t mem_min, mem_max;            /* GiB added */
    int minutes;                         /* typical duration */
    int sm, tensor, fp32, integer, dram; /* activity while busy, in percent: tests/data/truework.csv has such jobs */
} scenes[] = {
    {"python", "python train.py --config configs/7b.yaml", 114500, 134500, 60, 120, 180, 94, 56, 4, 17, 31},
    {"python", "python finetune.py --lora --lr 2e-5", 25000, 88000, 20, 70, 45, 89, 52, 4, 16, 32},
    {"python3", "python3 -m vllm.entrypoints.openai.api_server --model large", 175000, 214000, 90, 110, 600, 82, 3, 0,
     2, 77},
    {"python", "python diffusion.py --batch 64", 60000, 88000, 10, 40, 30, 96, 92, 0, 1, 17},
    {"python", "python eval_sweep.py --tasks all", 135000, 150000, 5, 30, 12, 57, 31, 0, 3, 7},
    {"python", "/opt/jupyter/bin/python -m ipykernel_launcher -f kernel.json", 156000, 173000, 1, 30, 240, 97, 0, 77, 6,
     5},
};
enum { SCENE_TRAIN, SCENE_TUNE, SCENE_SERVE, SCENE_DIFFUSE, SCENE_EVAL, SCENE_NOTEBOOK };
static const char *const people[] = {"kim", "lee", "ana", "raj", "mia", "tom", "zoe", "ben"};

/* The login of one of many users: the first ones have real names. */
static void person(unsigned who, char out[16])
{
    static const char *const first[] = {"ada", "bo", "cy",  "dev", "eli", "fay", "gus",  "hal", "ida", "jo",
                                        "kai", "lu", "max", "nia", "oz",  "pia", "quin", "rae", "sol", "ty"};
    static const char last[] = "abcdefghijklmnopqrstuvwxyz";

    if (who < ARRAY_LEN(people)) {
        mem_copy_str(out, 16, people[who]);
        return;
    }
    who -= ARRAY_LEN(people);
    unsigned name = who % ARRAY_LEN(first), letter = who / ARRAY_LEN(first) % 26, more = who / ARRAY_LEN(first) / 26;
    snprintf(out, 16, more ? "%s%c%u" : "%s%c", first[name], last[letter], more);
}

struct demo_cluster_gpu {
    int scene; /* -1: none */
    int64_t offset_ms, mem_add;
    int64_t until_ms; /* end of the job, or the time from which a free GPU may be used again */
    int64_t energy_mj, busy_us;
    uint16_t proc; /* index into procs, if scene >= 0 */
};

enum { PIDS_START = 2000, PIDS_END = 4000000, STRIDE_MS = 7919 };

static int pick(struct prng *g, int n)
{
    return (int)(prng_next(g) % (uint64_t)n);
}

/* A job uses `count` GPUs from `first` on; they play the same section slightly shifted, like GPUs of one job. */
static void start_job(struct demo_cluster_node *n, size_t first, size_t count, int scene, unsigned who,
                      int64_t start_ms, int64_t until_ms)
{
    const struct alert_input *s = &scenes[scene];
    char user[16];
    person(who, user);
    struct proc_fact p = {.pid = n->next_pid, .ppid = n->next_pid - 1, .root_pid = n->next_pid, .start_ms = start_ms};
    n->next_pid += 40 + pick(&n->rng, 400);
    if (n->next_pid > PIDS_END)
        n->next_pid = PIDS_START;
    p.uid = who < ARRAY_LEN(people) ? 1000 + (user[0] - 'a') * 7 + user[1] % 7 : 2000 + (int64_t)who;
    mem_copy_str(p.user, sizeof(p.user), user);
    mem_copy_str(p.name, sizeof(p.name), s->program);
    mem_copy_str(p.cmd, sizeof(p.cmd), s->cmd);
    n->procs.v = mem_grow(n->procs.v, n->procs.n + 1, sizeof(*n->procs.v));
    n->procs.v[n->procs.n] = p;
    int64_t mem = s->mem_min + pick(&n->rng, (int)(s->mem_max - s->mem_min) + 1);
    int64_t offset = pick(&n->rng, (int)(s->to_ms - s->from_ms));
    for (size_t i = first; i < first + count && i < n->n_gpus; i++)
        n->gpus[i] = (struct demo_cluster_gpu){.scene = scene,
                                               .offset_ms = offset + pick(&n->rng, 400),
                                               .mem_add = (mem << 30) + ((int64_t)pick(&n->rng, 200) << 20),
                                               .until_ms = until_ms,
                                               .energy_mj = n->gpus[i].energy_mj,
                                               .busy_us = n->gpus[i].busy_us,
                                               .proc = (uint16_t)n->procs.n};
    n->procs.n++;
    n->procs_changed++;
}

static void end_job(struct demo_cluster_node *n, uint16_t proc, int64_t now_ms)
{
    for (size_t i = 0; i < n->n_gpus; i++) {
        struct demo_cluster_gpu *g = &n->gpus[i];
        if (g->scene < 0)
            continue;
        if (g->proc == proc) {
            g->scene = -1;
            g->until_ms = now_ms + 60000 + pick(&n->rng, 1200000);
        } else if (g->proc > proc) {
            g->proc--;
        }
    }
    memmove(&n->procs.v[proc], &n->procs.v[proc + 1], (n->procs.n - proc - 1u) * sizeof(*n->procs.v));
    n->procs.n--;
    n->procs_changed++;
}

/* Selects a user: with few users all are equal; with many, some come often and most rarely, changing by the week. */
static unsigned somebody(struct demo_cluster_node *n, int64_t now_ms)
{
    if (!n->people)
        return (unsigned)pick(&n->rng, (int)ARRAY_LEN(people));
    double x = prng_unit(&n->rng);
    return (unsigned)((uint64_t)(x * x * n->people) + (uint64_t)(now_ms / (7 * 86400000ll)) * 3) % n->people;
}

/* May start a job: sometimes on a whole node, mostly on one to four adjacent GPUs. */
static void maybe_start(struct demo_cluster_node *n, size_t at, int64_t now_ms)
{
    size_t room = 0;
    while (at + room < n->n_gpus && n->gpus[at + room].scene < 0 && n->gpus[at + room].until_ms <= now_ms)
        room++;
    static const unsigned char sizes[] = {1, 1, 1, 2, 2, 4, 4, 8};
    size_t want = sizes[pick(&n->rng, (int)ARRAY_LEN(sizes))];
    int scene = want >= 4 ? SCENE_TRAIN : pick(&n->rng, (int)ARRAY_LEN(scenes));
    int64_t length = (int64_t)(scenes[scene].minutes * 60000.0 * (0.3 + 1.4 * prng_unit(&n->rng)));
    start_job(n, at, MIN(want, MAX(room, 1)), scene, somebody(n, now_ms), now_ms, now_ms + length);
}

static void direct(struct demo_cluster_node *n, int64_t now_ms)
{
    for (size_t i = 0; i < n->n_gpus; i++) {
        struct demo_cluster_gpu *g = &n->gpus[i];
        if (g->until_ms > now_ms)
            continue;
        if (g->scene >= 0)
            end_job(n, g->proc, now_ms);
        else
            maybe_start(n, i, now_ms);
    }
}

/* The demo's initial scene: a lab on a working day. */
static const struct {
    unsigned char node, first, count, scene, who, mem_gib;
    short ago_min, left_min;
} opening[] = {
    {0, 0, 4, SCENE_TRAIN, 0, 64, 312, 700},   {0, 4, 1, SCENE_NOTEBOOK, 1, 18, 200, 9000},
    {0, 5, 3, SCENE_TUNE, 2, 60, 47, 95},      {1, 6, 2, SCENE_TUNE, 3, 30, 134, 60},
    {2, 0, 8, SCENE_TRAIN, 5, 80, 1660, 3000}, {3, 0, 2, SCENE_SERVE, 6, 105, 8600, 9000},
    {3, 2, 1, SCENE_DIFFUSE, 4, 25, 12, 25},   {3, 4, 1, SCENE_EVAL, 7, 8, 3, 9},
    {4, 0, 4, SCENE_TRAIN, 0, 70, 90, 9000},   {5, 0, 2, SCENE_TUNE, 2, 50, 50, 9000},
};
/* The scene's free GPUs are free since then. Its used GPUs were free for a while before, so that each is a separate
 * hold. */
enum { FREE_FOR_MIN = 95, EMPTY_MIN = 25 };

static bool is_in_opening(const struct demo_cluster_node *n, size_t gpu)
{
    return ANY(ARRAY_LEN(opening), i,
               opening[i].node == n->no && gpu >= opening[i].first &&
                   gpu < (size_t)opening[i].first + opening[i].count);
}

static void clear_gpu(struct demo_cluster_node *n, size_t gpu, int64_t now_ms)
{
    if (n->gpus[gpu].scene >= 0)
        end_job(n, n->gpus[gpu].proc, now_ms);
}

/* Jobs of the scene start at their time; the other GPUs are free from some time before until some time after. */
static void follow_story(struct demo_cluster_node *n, int64_t now_ms)
{
    int64_t opening_ms = n->story_ms / MINUTE_MS * MINUTE_MS;

    for (size_t i = 0; i < n->n_gpus && now_ms == opening_ms - (FREE_FOR_MIN - (int)n->no * 7) * MINUTE_MS; i++) {
        if (is_in_opening(n, i))
            continue;
        clear_gpu(n, i, now_ms);
        n->gpus[i].until_ms = opening_ms + 600000 + pick(&n->rng, 3600000);
    }
    for (size_t i = 0; i < ARRAY_LEN(opening); i++) {
        int64_t start_ms = opening_ms - opening[i].ago_min * MINUTE_MS;
        if (opening[i].node != n->no)
            continue;
        for (size_t k = opening[i].first; k < (size_t)opening[i].first + opening[i].count; k++)
            if (now_ms == start_ms - EMPTY_MIN * MINUTE_MS) {
                clear_gpu(n, k, now_ms);
                n->gpus[k].until_ms = start_ms;
            }
        if (now_ms != start_ms)
            continue;
        start_job(n, opening[i].first, opening[i].count, opening[i].scene, opening[i].who, start_ms,
                  opening_ms + opening[i].left_min * MINUTE_MS);
        for (size_t k = opening[i].first; k < (size_t)opening[i].first + opening[i].count; k++)
            n->gpus[k].mem_add = ((int64_t)opening[i].mem_gib << 30) + ((int64_t)k << 20);
    }
}

/* Starts and ends jobs up to this time. */
static void move_on(struct demo_cluster_node *n, int64_t at_ms)
{
    if (!n->story_ms)
        direct(n, at_ms);
    while (n->story_ms && n->directed_ms + MINUTE_MS <= at_ms) {
        n->directed_ms += MINUTE_MS;
        if (n->trouble != DEMO_CLUSTER_WELL && n->directed_ms >= n->trouble_ms)
            continue; /* no new jobs */
        follow_story(n, n->directed_ms);
        direct(n, n->directed_ms);
    }
}

static void set_facts(struct demo_cluster_node *n, const char *prefix, unsigned no, unsigned gpus, int64_t now_ms)
{
    struct node_fact *f = &n->fact;
    snprintf(f->name, sizeof(f->name), "%s%u", prefix, no + 1);
    mem_copy_str(f->os, sizeof(f->os), "Debian GNU/Linux 12 (bookworm)");
    mem_copy_str(f->kernel, sizeof(f->kernel), "6.1.0-26-amd64");
    mem_copy_str(f->arch, sizeof(f->arch), "x86_64");
    mem_copy_str(f->cpu, sizeof(f->cpu), "Intel(R) Xeon(R) Platinum 8480C");
    mem_copy_str(f->driver, sizeof(f->driver), "580.159.04");
    mem_copy_str(f->cuda, sizeof(f->cuda), "13.0");
    mem_copy_str(f->agent, sizeof(f->agent), muster_agent_build);
    mem_copy_str(f->collector, sizeof(f->collector), "replay");
    f->cpus = 128;
    f->tick_ms = 1000;
    f->n_devices = gpus;
    f->devices = mem_zero(gpus, sizeof(*f->devices));
    for (unsigned i = 0; i < gpus; i++) {
        struct device_fact *d = &f->devices[i];
        uint64_t a = prng_next(&n->rng), b = prng_next(&n->rng);
        snprintf(d->uuid, sizeof(d->uuid), "GPU-%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
                 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(b >> 52),
                 (unsigned long long)(b & 0xffffffffffffull));
        snprintf(d->pci, sizeof(d->pci), "0000:%02x:00.0", 0x18 + i * 0x11);
        mem_copy_str(d->name, sizeof(d->name), "NVIDIA H200");
        d->index = d->minor = (int32_t)i;
        d->mig = -1;
        d->vendor = VENDOR_NVIDIA;
    }
    n->boot_ms = now_ms - (int64_t)(86400000.0 * (2 + 60 * prng_unit(&n->rng)));
}

static void init(struct demo_cluster_node *n, const struct replay *trace, const char *prefix, unsigned no,
                 unsigned gpus, uint64_t seed, int64_t now_ms)
{
    *n = (struct demo_cluster_node){.trace = trace,
                                    .rng = {seed * 1000003 + no},
                                    .n_gpus = gpus,
                                    .next_pid = PIDS_START,
                                    .last_ms = now_ms};
    for (int i = 0; i < 3; i++)
        prng_next(&n->rng); /* makes nearby seeds diverge */
    uint64_t a = prng_next(&n->rng), b = prng_next(&n->rng);
    memcpy(n->id.b, &a, 8);
    memcpy(n->id.b + 8, &b, 8);
    n->gpus = mem_zero(gpus, sizeof(*n->gpus));
    n->uses = mem_zero(gpus, sizeof(*n->uses));
    for (unsigned i = 0; i < gpus; i++)
        n->gpus[i] =
            (struct demo_cluster_gpu){.scene = -1, .energy_mj = (int64_t)(prng_next(&n->rng) % 900000000000ull)};
    set_facts(n, prefix, no, gpus, now_ms);
}

static void fill_by_chance(struct demo_cluster_node *n, int64_t now_ms)
{
    for (unsigned i = 0; i < n->n_gpus; i++)
        n->gpus[i].until_ms = pick(&n->rng, 100) < 70 ? now_ms : now_ms + 60000 + pick(&n->rng, 1800000);
    direct(n, now_ms);
}

void demo_cluster_init(struct demo_cluster_node *n, const struct replay *trace, const char *prefix, unsigned no,
                       unsigned gpus, uint64_t seed, unsigned n_people, int64_t now_ms)
{
    init(n, trace, prefix, no, gpus, seed, now_ms);
    n->people = n_people;
    fill_by_chance(n, now_ms);
}

void demo_cluster_init_demo(struct demo_cluster_node *n, const struct replay *trace, unsigned no, int64_t story_ms)
{
    static const struct {
        enum demo_cluster_trouble trouble;
        int minutes; /* duration at the start of the story */
    } troubles[DEMO_CLUSTER_DEMO_NODES] = {[4] = {DEMO_CLUSTER_HUNG, 4}, [5] = {DEMO_CLUSTER_DOWN, 37}};
    int64_t begin_ms = story_ms / MINUTE_MS * MINUTE_MS - DEMO_CLUSTER_PAST_MS;

    init(n, trace, DEMO_CLUSTER_DEMO_PREFIX, no, DEMO_CLUSTER_DEMO_GPUS, DEMO_CLUSTER_DEMO_SEED, begin_ms);
    n->no = no;
    n->tells = true;
    n->story_ms = story_ms;
    n->trouble = troubles[no].trouble;
    n->trouble_ms = story_ms - troubles[no].minutes * MINUTE_MS;
    n->noise = (struct prng){DEMO_CLUSTER_DEMO_SEED + no};
    n->directed_ms = begin_ms;
    n->every_ms = MINUTE_MS;
    fill_by_chance(n, begin_ms);
}

void demo_cluster_catch_up(struct demo_cluster_node *n, int64_t now_ms)
{
    struct gather *g = gather_new();

    for (int64_t at_ms = n->last_ms; at_ms < now_ms; at_ms += MINUTE_MS) {
        demo_cluster_tick(n, at_ms, g);
        gather_reset(g);
    }
    gather_free(g);
    n->every_ms = 0;
}

bool demo_cluster_has_trouble(const struct demo_cluster_node *n, enum demo_cluster_trouble trouble, int64_t at_ms)
{
    return n->trouble == trouble && trouble != DEMO_CLUSTER_WELL && at_ms >= n->trouble_ms;
}

int64_t demo_cluster_until_ms(const struct demo_cluster_node *n, size_t gpu)
{
    return (n->gpus[gpu].until_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
}

void demo_cluster_fini(struct demo_cluster_node *n)
{
    if (!n)
        return;
    node_fact_fini(&n->fact);
    proc_list_fini(&n->procs);
    FREE_ALL(n->uses, n->gpus);
    *n = (struct demo_cluster_node){0};
}

/* Activity of the GPU's parts, which the trace does not have: as in similar jobs, scaled by utilisation. */
static void add_activity(const struct alert_input *scene, const char *model, struct sample *s)
{
    int64_t util = sample_has(s, M_util) ? s->v[M_util] : 0, v;
    const struct gpu_peak *peak = gpu_peak_of(model);
    const struct {
        enum metric m;
        int percent;
    } parts[] = {{M_active, 100},
                 {M_sm_active, scene->sm},
                 {M_tensor_active, scene->tensor},
                 {M_hmma_active, scene->tensor},
                 {M_imma_active, 0},
                 {M_dfma_active, 0},
                 {M_fp64_active, 0},
                 {M_fp32_active, scene->fp32},
                 {M_fp16_active, 0},
                 {M_int_active, scene->integer},
                 {M_dram_active, scene->dram}};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        sample_set(s, parts[i].m, util * parts[i].percent / 100);
    if (work_of(s, &v))
        sample_set(s, M_work, v);
    if (!peak || !sample_has(s, M_clock_sm))
        return;
    sample_set(s, M_clock_sm_max, CLOCK_MAX_HZ);
    if (flops_of(peak, peak->sms, s->v[M_clock_sm], s, &v))
        sample_set(s, M_flops, v);
}

static void play_gpu(struct demo_cluster_node *n, size_t i, int64_t at_ms, struct gather *g)
{
    static const int64_t idle_from_ms = 500, idle_to_ms = 14000;
    struct demo_cluster_gpu *gpu = &n->gpus[i];
    int64_t from = idle_from_ms, to = idle_to_ms;
    if (gpu->scene >= 0) {
        from = scenes[gpu->scene].from_ms;
        to = scenes[gpu->scene].to_ms;
    }
    struct sample s = {0};
    /* With whole seconds between ticks, a loop of whole seconds would repeat the same few rows. */
    int64_t moved_ms = n->every_ms ? at_ms / n->every_ms * STRIDE_MS : at_ms;
    replay_at(n->trace, from + (moved_ms + gpu->offset_ms) % (to - from), &s);
    if (gpu->scene >= 0 && sample_has(&s, M_mem_used))
        s.v[M_mem_used] =
            MIN(s.v[M_mem_used] + gpu->mem_add, sample_has(&s, M_mem_total) ? s.v[M_mem_total] : INT64_MAX);
    int64_t dt = MAX(0, at_ms - n->last_ms);
    if (sample_has(&s, M_power))
        gpu->energy_mj += s.v[M_power] * dt / 1000;
    if (sample_has(&s, M_util))
        gpu->busy_us += s.v[M_util] * dt / 10;
    sample_set(&s, M_energy, gpu->energy_mj);
    sample_set(&s, M_busy, gpu->busy_us);
    if (n->tells)
        add_activity(gpu->scene >= 0 ? &scenes[gpu->scene] : &(struct alert_input){0}, n->fact.devices[i].name, &s);
    gather_sample(g, (uint16_t)(i + 1), &s);
    if (gpu->scene >= 0)
        n->uses[n->n_uses++] = (struct proc_use){.proc = gpu->proc,
                                                 .slot = (uint16_t)(i + 1),
                                                 .kind = PROC_COMPUTE,
                                                 .mem = sample_has(&s, M_mem_used) ? s.v[M_mem_used] - (500 << 20) : -1,
                                                 .sm = sample_has(&s, M_util) ? (int32_t)s.v[M_util] : -1};
}

static void play_node(struct demo_cluster_node *n, int64_t at_ms, struct gather *g)
{
    struct sample s = {0};
    struct prng *rng = n->story_ms ? &n->noise : &n->rng;
    int64_t jobs = (int64_t)n->procs.n, seconds = MAX(1, (at_ms - n->last_ms) / 1000);
    sample_set(&s, M_cpu, MIN(9500, 150 + jobs * 700 + pick(rng, 300)));
    sample_set(&s, M_load1, 40 + jobs * 800 + pick(rng, 200));
    sample_set(&s, M_ram_total, 2113ll << 30);
    sample_set(&s, M_ram_used, (38ll + jobs * 64) << 30);
    sample_set(&s, M_disk_total, 28000ll << 30);
    sample_set(&s, M_disk_used, 11234ll << 30);
    sample_set(&s, M_disk_avail, 15366ll << 30); /* 1/20 is reserved for root */
    n->net_rx += (20000 + pick(rng, 4000000) * jobs) * seconds;
    n->net_tx += (20000 + pick(rng, 1000000) * jobs) * seconds;
    sample_set(&s, M_net_rx, n->net_rx);
    sample_set(&s, M_net_tx, n->net_tx);
    sample_set(&s, M_uptime, (at_ms - n->boot_ms) / 1000);
    gather_sample(g, 0, &s);
}

void demo_cluster_tick(struct demo_cluster_node *n, int64_t at_ms, struct gather *g)
{
    move_on(n, at_ms);
    if (!gather_tick(g, at_ms))
        return;
    play_node(n, at_ms, g);
    n->n_uses = 0;
    if (!demo_cluster_has_trouble(n, DEMO_CLUSTER_HUNG, at_ms))
        for (size_t i = 0; i < n->n_gpus; i++)
            play_gpu(n, i, at_ms, g);
    gather_uses(g, n->uses, n->n_uses);
    n->last_ms = at_ms;
}
