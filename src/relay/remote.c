/* remote.c: puts the script for another machine together, and reads the lines it prints there. */
#include "relay/remote.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "collect/host.h"
#include "collect/smi_tables.h"
#include "relay/readings.h"
#include "relay/remote_script.h"
#include "relay/sysfs_gpu.h"

#define FIRST_MS   60000 /* without persistence mode the driver wakes every GPU first */
#define SILENCE_MS 15000
#define PS_MAX     PROCS_MAX
#define LINES_MAX  400 /* of processes, before ps runs again for the existing ones: pids are reused */

struct ps { /* result of ps for a pid */
    int32_t pid;
    int64_t start_ms, told_ms; /* start by the hub's clock; told: when ps last reported it, monotonic */
    int64_t age_s;
    bool gone; /* it ended, but the driver still lists it */
    char user[64], args[CMD_MAX];
};

struct remote {
    int64_t every_ms, began_ms, heard_ms; /* monotonic */
    struct smi_tables tables;
    struct sysfs_gpu *cards; /* NULL until a source other than nvidia-smi reports GPUs */
    bool gpus_ended, hung, bare;
    char why[160];
    uint64_t skipped;
    struct sample node;
    struct host_cpu cpu;
    struct disk disks; /* df's lines so far; total -1: not between its braces */
    struct node_fact fact;
    size_t n_ps, cap_ps;
    struct ps *ps;
};

struct remote *remote_new(int64_t every_ms)
{
    return NEW(struct remote, .every_ms = MAX(every_ms, 1000), .disks.total = -1);
}

void remote_free(struct remote *r)
{
    if (!r)
        return;
    smi_tables_fini(&r->tables);
    sysfs_gpu_free(r->cards);
    node_fact_fini(&r->fact);
    FREE_ALL(r->ps, r);
}

void remote_begin(struct remote *r, int64_t mono_ms)
{
    smi_tables_gpus_reset(&r->tables);
    smi_tables_apps_reset(&r->tables);
    r->began_ms = r->heard_ms = mono_ms;
    if (r->cards)
        sysfs_gpu_begin(r->cards);
    r->gpus_ended = r->hung = r->bare = false;
    r->why[0] = 0;
    r->cpu = (struct host_cpu){0};
}

/* ---- the script ---- */

void remote_script(const struct remote *r, bool agent, struct buf *out)
{
    buf_addf(out, "agent=%d ended=%d every=%lld apps=" SMI_APP_FIELDS " lines=%d fields=", agent, REMOTE_AGENT_ENDED,
             (long long)(r->every_ms / 1000), LINES_MAX);
    smi_tables_fields(&r->tables, out);
    buf_addc(out, '\n');
    buf_adds(out, remote_script_text);
}

/* ---- lines ---- */

static struct ps *ps_of(struct remote *r, int32_t pid)
{
    return FIND(r->ps, r->n_ps, p, p->pid == pid);
}

/* Returns a new entry; if there is no room, replaces the oldest one. */
static struct ps *ps_new(struct remote *r)
{
    size_t oldest = 0;
    if (r->n_ps < PS_MAX) {
        VEC_ROOM(r->ps, r->n_ps, r->cap_ps);
        return &r->ps[r->n_ps++];
    }
    for (size_t i = 1; i < r->n_ps; i++)
        if (r->ps[i].told_ms < r->ps[oldest].told_ms)
            oldest = i;
    return &r->ps[oldest];
}

/* "  48121 raj    8040 python train.py": pid, user, seconds since it began, arguments. */
static bool take_ps(struct remote *r, struct str line, int64_t mono_ms)
{
    struct str pid, user, age;
    int64_t n, s;
    if (!str_word(&line, &pid) || !str_word(&line, &user) || !str_word(&line, &age) || !str_int(pid, &n) || n <= 0 ||
        n > INT32_MAX || !str_int(age, &s) || s < 0 || s > 1ll << 33)
        return false;
    struct ps *p = ps_of(r, (int32_t)n);
    /* The same process reported again: with whole seconds its start time would jitter. */
    bool same =
        p && p->age_s + (mono_ms - p->told_ms) / 1000 - s <= 3 && s - p->age_s - (mono_ms - p->told_ms) / 1000 <= 3;
    if (!p)
        p = ps_new(r);
    if (!same)
        *p = (struct ps){.pid = (int32_t)n, .age_s = s, .told_ms = mono_ms};
    collect_text(p->user, sizeof(p->user), user);
    collect_text(p->args, sizeof(p->args), line);
    p->gone = false;
    return true;
}

static bool take_gone(struct remote *r, struct str line, int64_t mono_ms)
{
    int64_t n;
    if (!str_int(line, &n) || n <= 0 || n > INT32_MAX)
        return false;
    struct ps *p = ps_of(r, (int32_t)n);
    if (!p) {
        p = ps_new(r);
        *p = (struct ps){.pid = (int32_t)n, .told_ms = mono_ms};
    }
    p->gone = true;
    return true;
}

static bool take_memory(struct remote *r, struct str line)
{
    struct str word, number;
    int64_t kib;
    if (!str_word(&line, &word) || !str_word(&line, &number) || !str_int(number, &kib) || kib < 0 || kib > 1ll << 43)
        return false;
    if (str_eq(word, "MemTotal:"))
        sample_set(&r->node, M_ram_total, kib << 10);
    else if (str_eq(word, "MemAvailable:") && sample_has(&r->node, M_ram_total))
        sample_set(&r->node, M_ram_used, MAX(r->node.v[M_ram_total] - (kib << 10), 0));
    else
        return false;
    return true;
}

/* df -lPk between braces: local file systems on a device, each once. */
static bool take_disk(struct remote *r, struct str line)
{
    struct disk d;
    if (str_eq(line, "{")) {
        r->disks = (struct disk){0};
        return true;
    }
    if (str_eq(line, "}")) {
        disk_sample(&r->disks, &r->node);
        r->disks.total = -1;
        return true;
    }
    if (r->disks.total < 0)
        return false;
    if (str_starts(line, "/dev/") && disk_row(line, &d)) /* else its header, a tmpfs: nothing of ours */
        disk_sum(&r->disks, &d);
    return true;
}

static bool take_fixed(struct remote *r, enum metric m, struct str line)
{
    struct str word;
    int64_t v;
    if (!str_word(&line, &word) || !str_fixed(word, metrics[m].per, &v) || v < 0)
        return false;
    sample_set(&r->node, m, v);
    return true;
}

static enum remote_event take_end(struct remote *r)
{
    struct str field;
    const char *words = r->tables.words;
    if (smi_unknown_field(str_of(words), &field) && smi_tables_drop(&r->tables, field))
        return REMOTE_AGAIN;
    snprintf(r->why, sizeof(r->why), "%.150s", words[0] ? words : "nvidia-smi ended without a word");
    return REMOTE_FAILED;
}

static struct sysfs_gpu *cards(struct remote *r)
{
    if (!r->cards)
        r->cards = sysfs_gpu_new();
    return r->cards;
}

/* Facts of the machine. Returns false if malformed. */
static bool take_fact(struct remote *r, char what, struct str rest)
{
    struct node_fact *f = &r->fact;
    const struct {
        char what, *to;
        size_t size;
    } texts[] = {{'N', f->name, sizeof(f->name)},
                 {'K', f->kernel, sizeof(f->kernel)},
                 {'R', f->arch, sizeof(f->arch)},
                 {'Y', f->cpu, sizeof(f->cpu)},
                 {'B', f->boot_id, sizeof(f->boot_id)}};
    int64_t cpus;
    size_t i = FIRST(ARRAY_LEN(texts), k, texts[k].what == what);
    if (i < ARRAY_LEN(texts))
        collect_text(texts[i].to, texts[i].size, rest);
    else if (what == 'O')
        collect_quoted(f->os, sizeof(f->os), rest);
    else if (what == 'J' && str_int(str_trim(rest), &cpus) && cpus > 0 && cpus < 1 << 20)
        f->cpus = (int32_t)cpus;
    else
        return false;
    return true;
}

/* Lines of GPUs without nvidia-smi. */
static bool take_cards(struct remote *r, char what, struct str rest, int64_t mono_ms)
{
    switch (what) {
    case 'S':
        return sysfs_gpu_line(cards(r), rest, mono_ms);
    case 'I':
        sysfs_gpu_json_begin(cards(r));
        return true;
    case 'H':
        sysfs_gpu_json_line(cards(r), rest);
        return true;
    case 'F':
        r->why[0] = 0;
        if (!sysfs_gpu_json_end(cards(r)))
            snprintf(r->why, sizeof(r->why), "AMD's tool prints no JSON of GPUs but: %.100s",
                     sysfs_gpu_words(r->cards));
        return true;
    default:
        return take_fact(r, what, rest);
    }
}

/* Measured values. */
static bool take_value(struct remote *r, char what, struct str rest, int64_t mono_ms)
{
    switch (what) {
    case 'P':
        return take_ps(r, rest, mono_ms);
    case 'V':
        return take_gone(r, rest, mono_ms);
    case 'L':
        return take_fixed(r, M_load1, rest);
    case 'U':
        return take_fixed(r, M_uptime, rest);
    case 'C':
        return host_cpu_line(rest, &r->cpu, &r->node);
    case 'M':
        return take_memory(r, rest);
    case 'D':
        return take_disk(r, rest);
    default:
        return take_cards(r, what, rest, mono_ms);
    }
}

enum remote_event remote_line(struct remote *r, struct str line, int64_t mono_ms)
{
    bool was_fresh = r->tables.fresh;
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    char what = line.len == 1 || (line.len && line.p[1] == ' ') ? line.p[0] : 0;
    struct str rest = line.len > 2 ? str_drop(line, 2) : STR("");
    switch (what) {
    case 'G':
        smi_tables_gpu(&r->tables, rest);
        if (!r->tables.fresh || was_fresh)
            return REMOTE_NONE;
        r->heard_ms = mono_ms;
        r->hung = false;
        r->why[0] = 0;
        return REMOTE_TICK;
    case 'A':
        smi_tables_app(&r->tables, rest, mono_ms);
        return REMOTE_NONE;
    case 'Q':
        smi_tables_list(&r->tables, rest);
        return REMOTE_NONE;
    case 'T': /* a round of a machine without nvidia-smi */
        r->heard_ms = mono_ms;
        r->hung = false;
        return REMOTE_TICK;
    case 'E':
        r->gpus_ended = true;
        return take_end(r);
    case 'X':
        collect_text(r->why, sizeof(r->why), rest);
        r->gpus_ended = r->bare = true;
        return REMOTE_FAILED;
    case 'W':
        r->gpus_ended = true;
        return REMOTE_AGENT;
    default:
        r->skipped += !take_value(r, what, rest, mono_ms);
        return REMOTE_NONE;
    }
}

enum remote_event remote_wait(struct remote *r, int64_t mono_ms)
{
    int64_t limit = (r->heard_ms == r->began_ms ? FIRST_MS : SILENCE_MS) + 2 * r->every_ms;
    if (r->gpus_ended || mono_ms - r->heard_ms <= limit)
        return REMOTE_NONE;
    if (r->tables.words[0] && r->heard_ms == r->began_ms) { /* it keeps printing text, but no table */
        snprintf(r->why, sizeof(r->why), "nvidia-smi prints no table but: %.100s", r->tables.words);
        return REMOTE_FAILED;
    }
    bool first = !r->hung;
    r->hung = true;
    snprintf(r->why, sizeof(r->why), "%s has not answered for %lld s", r->cards ? "the driver" : "nvidia-smi",
             (long long)(mono_ms - r->heard_ms) / 1000);
    return first ? REMOTE_FAILED : REMOTE_NONE;
}

const char *remote_error(const struct remote *r)
{
    return r->why;
}

bool remote_hung(const struct remote *r)
{
    return r->hung;
}

bool remote_bare(const struct remote *r)
{
    return r->bare;
}

uint64_t remote_skipped(const struct remote *r)
{
    return r->skipped;
}

/* ---- results ---- */

static void know(struct remote *r, struct reading *ret, struct raw_use *u, int64_t wall_ms, int64_t mono_ms)
{
    struct ps *p = ps_of(r, u->pid);
    struct str args = str_of(p ? p->args : ""), program;
    if (!p)
        return;
    AUTO_FREE char *name = str_word(&args, &program) ? mem_strn(program.p, program.len) : mem_str("");
    u->known = reading_known(ret, u->pid, name);
    if (!u->known)
        return;
    mem_copy_str(u->known->user, sizeof(u->known->user), p->gone ? PROC_GONE : p->user);
    mem_copy_str(u->known->cmd, sizeof(u->known->cmd), p->args);
    if (p->gone) /* not the original process: without owner and start time */
        return;
    if (!p->start_ms)
        p->start_ms = wall_ms - (mono_ms - p->told_ms) - p->age_s * 1000;
    u->known->start_ms = p->start_ms;
}

bool remote_read(struct remote *r, int64_t wall_ms, int64_t mono_ms, struct reading *ret)
{
    int64_t keep_ms = r->every_ms * 5 / 2;
    bool any =
        r->cards ? sysfs_gpu_read(r->cards, r->fact.name, ret) : smi_tables_read(&r->tables, mono_ms, keep_ms, ret);
    ret->node = r->node;
    for (size_t i = 0; i < ret->n_devices; i++)
        for (size_t k = 0; k < ret->devices[i].n_uses; k++)
            know(r, ret, &ret->devices[i].uses[k], wall_ms, mono_ms);
    any = any || ANY((size_t)M_COUNT, m, sample_has(&r->node, (enum metric)m));
    r->node = (struct sample){0};
    return any;
}

void remote_fact(const struct remote *r, struct node_fact *ret)
{
    *ret = r->fact; /* it has no devices */
}
