/*
 * host.c: the node's own metrics out of /proc and statvfs. Network file systems are never touched, and even local disks
 * only from a thread: a dead one must not stop the agent.
 */
#include "collect/host.h"

#include <sys/utsname.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/order.h"
#include "collect/collect.h"
#include "collect/worker.h"

#define HOST_SOON_MS   900 /* from the first reading, which has no CPU share yet, to the second */
#define HOST_EVERY_MS  4900
#define HOST_DISKS_MS  30000
#define HOST_IFACES_MS 60000
#define HOST_DISKS     64
#define HOST_IFACES    64

/* Shared with the thread, under its lock. */
struct host_disks {
    pthread_mutex_t lock;
    char *proc;
    bool known;
    struct host_space space;
};

struct host {
    char *proc;
    struct host_cpu cpu;
    int64_t read_ms, disks_ms, ifaces_ms; /* monotonic; when last done */
    unsigned reads;                       /* 2: two or more */
    size_t n_ifaces;
    char ifaces[HOST_IFACES][16]; /* the physical ones */
    struct host_disks *disks;
    struct worker *worker;
};

static struct str host_file(const struct host *h, const char *name, char *out, size_t size)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", h->proc, name);
    return file_small(path, out, size);
}

/* ---- disks ---- */

static bool host_local(struct str type)
{
    static const char *const types[] = {"ext2", "ext3", "ext4",     "xfs",    "btrfs",   "zfs",
                                        "f2fs", "jfs",  "bcachefs", "nilfs2", "reiserfs"};

    return ANY(ARRAY_LEN(types), i, str_eq(type, types[i]));
}

/* The mount table escapes spaces and similar characters as \040. Returns false if the result does not fit. */
static bool host_unescape(struct str s, char *out, size_t size)
{
    size_t n = 0;

    while (s.len && n + 1 < size) {
        if (s.len >= 4 && s.p[0] == '\\' && s.p[1] >= '0' && s.p[1] <= '3' && s.p[2] >= '0' && s.p[2] <= '7' &&
            s.p[3] >= '0' && s.p[3] <= '7') {
            out[n++] = (char)((s.p[1] - '0') << 6 | (s.p[2] - '0') << 3 | (s.p[3] - '0'));
            s = str_drop(s, 4);
        } else {
            out[n++] = s.p[0];
            s = str_drop(s, 1);
        }
    }
    out[n] = 0;
    return s.len == 0;
}

size_t host_mounts(struct str mounts, struct host_disk *ret, size_t max)
{
    struct str line, source, path, type;
    size_t n = 0;

    while (n < max && str_line(&mounts, &line)) {
        struct host_disk *d = &ret[n];
        if (!str_word(&line, &source) || !str_word(&line, &path) || !str_word(&line, &type) || !host_local(type))
            continue;
        *d = (struct host_disk){0};
        if (!host_unescape(source, d->source, sizeof(d->source)) || !host_unescape(path, d->path, sizeof(d->path)))
            continue;
        memcpy(d->type, type.p, MIN(type.len, sizeof(d->type) - 1));
        n += !ANY(n, i, strcmp(ret[i].source, d->source) == 0); /* bind mounts and subvolumes share their source */
    }
    return n;
}

bool host_space_add(struct host_space *s, const struct statvfs *v, bool shared)
{
    uint64_t size = (uint64_t)v->f_blocks * v->f_frsize, left = MIN((uint64_t)v->f_bfree * v->f_frsize, size);

    s->used += size - left;
    s->total += shared ? size - left : size;
    if (!shared && v->f_bavail <= v->f_bfree) /* otherwise avail is below zero: root uses part of its reserve */
        s->avail += MIN((uint64_t)v->f_bavail * v->f_frsize, left);
    return size > 0;
}

/* True if an earlier data set belongs to the same ZFS pool: they share its free space. */
static bool host_shares_pool(const struct host_disk *all, size_t i)
{
    size_t pool = strcspn(all[i].source, "/");

    return strcmp(all[i].type, "zfs") == 0 &&
           ANY(i, k,
               strcmp(all[k].type, "zfs") == 0 && strcspn(all[k].source, "/") == pool &&
                   strncmp(all[k].source, all[i].source, pool) == 0);
}

/* In the thread. */
static void host_disks_run(void *arg)
{
    struct host_disks *s = arg;
    AUTO_FREE char *path = mem_fmt("%s/self/mounts", s->proc);
    AUTO_FREE struct host_disk *d = mem_zero(HOST_DISKS, sizeof(*d));
    AUTO_BUF text = {0};
    struct host_space space = {0};
    bool any = false;

    if (file_read(path, 1u << 20, &text, NULL) < 0)
        return;
    size_t n = host_mounts(buf_str(&text), d, HOST_DISKS);
    buf_fini(&text);
    for (size_t i = 0; i < n; i++) {
        struct statvfs v;
        any |= statvfs(d[i].path, &v) == 0 && host_space_add(&space, &v, host_shares_pool(d, i));
    }
    LOCKED(&s->lock);
    s->known = any;
    s->space = space;
}

static void host_disks_fini(void *arg)
{
    struct host_disks *s = arg;

    pthread_mutex_destroy(&s->lock);
    FREE_ALL(s->proc, s);
}

static void host_disks(struct host *h, int64_t now, struct sample *ret)
{
    if (now - h->disks_ms >= HOST_DISKS_MS) {
        h->disks_ms = now;
        worker_kick(h->worker);
    }
    LOCKED(&h->disks->lock);
    if (h->disks->known) {
        sample_set(ret, M_disk_used, (int64_t)h->disks->space.used);
        sample_set(ret, M_disk_total, (int64_t)h->disks->space.total);
        sample_set(ret, M_disk_avail, (int64_t)h->disks->space.avail);
    }
}

/* ---- processor, memory, load ---- */

bool host_cpu_line(struct str line, struct host_cpu *before, struct sample *ret)
{
    struct str word;
    uint64_t v, all = 0, idle = 0;

    if (!str_word(&line, &word) || !str_eq(word, "cpu"))
        return false;
    for (int i = 0; i < 8 && str_word(&line, &word); i++) { /* user nice system idle iowait irq softirq steal */
        if (!str_uint(word, &v))
            return false;
        all += v;
        idle += i == 3 || i == 4 ? v : 0; /* waiting for a disk is idle time: it could have done something else */
    }
    uint64_t busy = all - idle;
    /* Counters of a CPU that was taken offline may decrease. */
    if (before->all && all > before->all && busy >= before->busy && busy - before->busy <= all - before->all)
        sample_set(ret, M_cpu, (int64_t)((busy - before->busy) * 10000 / (all - before->all)));
    if (all)
        *before = (struct host_cpu){busy, all};
    return all > 0;
}

static void host_cpu(struct host *h, struct sample *ret)
{
    char text[256];
    struct str rest = host_file(h, "stat", text, sizeof(text)), line;

    if (str_line(&rest, &line))
        host_cpu_line(line, &h->cpu, ret);
}

static void host_memory(struct host *h, struct sample *ret)
{
    char text[512];                                  /* the fields we need are in the first lines */
    uint64_t total = UINT64_MAX, avail = UINT64_MAX; /* not reported */
    struct str rest = host_file(h, "meminfo", text, sizeof(text)), line, word;

    while (str_line(&rest, &line)) {
        if (str_skip(&line, "MemTotal:") && str_word(&line, &word))
            str_uint(word, &total);
        else if (str_skip(&line, "MemAvailable:") && str_word(&line, &word))
            str_uint(word, &avail);
    }
    if (total > INT64_MAX / 1024)
        return;
    sample_set(ret, M_ram_total, (int64_t)(total * 1024));
    if (avail <= total)
        sample_set(ret, M_ram_used, (int64_t)((total - avail) * 1024));
}

/* First word of a file, as a decimal. */
static void host_word(struct host *h, const char *file, enum metric m, struct sample *ret)
{
    char text[128];
    struct str rest = host_file(h, file, text, sizeof(text)), word;
    int64_t v;

    if (str_word(&rest, &word) && str_fixed(word, metrics[m].per, &v))
        sample_set(ret, m, v);
}

/* ---- network ---- */

/* A physical interface has a device behind it; bridges, bonds, veths and tunnels carry the same bytes again. */
static bool host_physical(const struct host *h, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/../sys/class/net/%s/device", h->proc, name);
    return access(path, F_OK) == 0;
}

static bool host_iface(struct str *line, char name[16])
{
    struct str part;

    if (!str_cut(line, ':', &part) || !line->p)
        return false;
    part = str_trim(part);
    if (part.len == 0 || part.len > 15 || memchr(part.p, '/', part.len))
        return false;
    memcpy(name, part.p, part.len);
    name[part.len] = 0;
    return true;
}

static void host_find_ifaces(struct host *h, struct str text)
{
    struct str line;
    char name[16];

    h->n_ifaces = 0;
    while (h->n_ifaces < HOST_IFACES && str_line(&text, &line))
        if (host_iface(&line, name) && host_physical(h, name))
            memcpy(h->ifaces[h->n_ifaces++], name, sizeof(name));
}

static void host_network(struct host *h, int64_t now, struct sample *ret)
{
    uint64_t rx = 0, tx = 0, v[9];
    bool any = false;
    struct str line, word, rest;
    char name[16];
    AUTO_FREE char *path = mem_fmt("%s/net/dev", h->proc);
    AUTO_BUF text = {0};

    if (file_read(path, 1u << 20, &text, NULL) < 0)
        return;
    if (now - h->ifaces_ms >= HOST_IFACES_MS) {
        h->ifaces_ms = now;
        host_find_ifaces(h, buf_str(&text));
    }
    for (rest = buf_str(&text); str_line(&rest, &line);) {
        size_t k = 0;
        if (!host_iface(&line, name) || !ANY(h->n_ifaces, i, strcmp(h->ifaces[i], name) == 0))
            continue;
        while (k < ARRAY_LEN(v) && str_word(&line, &word) && str_uint(word, &v[k]))
            k++;
        if (k < ARRAY_LEN(v)) /* received bytes are the first number, sent bytes the ninth */
            continue;
        rx += v[0];
        tx += v[8];
        any = true;
    }
    if (!any)
        return;
    sample_set(ret, M_net_rx, (int64_t)(rx & INT64_MAX));
    sample_set(ret, M_net_tx, (int64_t)(tx & INT64_MAX));
}

/* ---- all of it ---- */

struct host *host_new(const char *proc_root)
{
    struct host *h = NEW(struct host, .proc = mem_str(proc_root), .disks_ms = clock_mono_ms());

    h->disks = NEW(struct host_disks, .proc = mem_str(proc_root));
    pthread_mutex_init(&h->disks->lock, NULL);
    h->worker = worker_new(host_disks_run, host_disks_fini, h->disks);
    h->ifaces_ms = h->disks_ms - HOST_IFACES_MS;
    worker_kick(h->worker);
    return h;
}

void host_free(struct host *h)
{
    if (!h)
        return;
    worker_free(h->worker); /* the disks go with it */
    FREE_ALL(h->proc, h);
}

void host_read(struct host *h, struct sample *ret)
{
    int64_t now = clock_mono_ms();

    *ret = (struct sample){.at_ms = clock_wall_ms()};
    if (h->reads && now - h->read_ms < (h->reads == 1 ? HOST_SOON_MS : HOST_EVERY_MS))
        return;
    h->reads = h->reads ? 2 : 1;
    h->read_ms = now;
    host_cpu(h, ret);
    host_word(h, "loadavg", M_load1, ret);
    host_memory(h, ret);
    host_disks(h, now, ret);
    host_network(h, now, ret);
    host_word(h, "uptime", M_uptime, ret);
}

/* ---- facts ---- */

/* Arm reports cores by number; these are the names of cores in GPU servers. */
static void host_arm(struct str text, char *dst, size_t size)
{
    static const struct {
        uint64_t maker, part;
        const char *name;
    } cores[] = {{0x41, 0xd4f, "Neoverse-V2"},  {0x41, 0xd40, "Neoverse-V1"},   {0x41, 0xd49, "Neoverse-N2"},
                 {0x41, 0xd0c, "Neoverse-N1"},  {0x41, 0xd84, "Neoverse-V3"},   {0x41, 0xd8e, "Neoverse-N3"},
                 {0x41, 0xd42, "Cortex-A78AE"}, {0x4e, 0x004, "NVIDIA Carmel"}, {0xc0, 0xac3, "Ampere-1"},
                 {0xc0, 0xac4, "Ampere-1a"},    {0x41, 0xd08, "Cortex-A72"}};
    uint64_t maker = 0, part = 0;
    struct str line;

    while (str_line(&text, &line)) {
        struct str key;
        if (!str_cut(&line, ':', &key) || !line.p)
            continue;
        if (str_starts(key, "CPU implementer"))
            str_hex(str_trim(line), &maker);
        else if (str_starts(key, "CPU part"))
            str_hex(str_trim(line), &part);
    }
    for (size_t i = 0; i < ARRAY_LEN(cores); i++)
        if (cores[i].maker == maker && cores[i].part == part)
            mem_copy_str(dst, size, cores[i].name);
    if (!dst[0] && part)
        snprintf(dst, size, "Arm implementer 0x%x part 0x%x", (unsigned)maker, (unsigned)part);
}

static void host_cpu_name(char *dst, size_t size)
{
    char text[4096];
    struct str all = file_small("/proc/cpuinfo", text, sizeof(text)), rest = all, line, key;

    while (str_line(&rest, &line))
        if (str_starts(line, "model name") && str_cut(&line, ':', &key) && line.p) {
            collect_text(dst, size, line);
            return;
        }
    host_arm(all, dst, size);
}

static void host_os_name(char *dst, size_t size)
{
    char text[4096];
    struct str rest = file_small("/etc/os-release", text, sizeof(text)), line;

    while (str_line(&rest, &line))
        if (str_skip(&line, "PRETTY_NAME=")) {
            collect_quoted(dst, size, line);
            return;
        }
    mem_copy_str(dst, size, "Linux");
}

static void host_line(const char *path, char *dst, size_t size)
{
    char text[128];

    collect_text(dst, size, file_small(path, text, sizeof(text)));
}

void host_fact(struct node_fact *ret)
{
    struct utsname u;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (uname(&u) == 0) {
        collect_text(ret->name, sizeof(ret->name), str_of(u.nodename));
        collect_text(ret->kernel, sizeof(ret->kernel), str_of(u.release));
        collect_text(ret->arch, sizeof(ret->arch), str_of(u.machine));
    }
    host_os_name(ret->os, sizeof(ret->os));
    host_cpu_name(ret->cpu, sizeof(ret->cpu));
    ret->cpus = cpus > 0 ? (int32_t)cpus : 0;
    host_line("/proc/sys/kernel/random/boot_id", ret->boot_id, sizeof(ret->boot_id));
    host_line("/etc/machine-id", ret->machine_id, sizeof(ret->machine_id));
}
