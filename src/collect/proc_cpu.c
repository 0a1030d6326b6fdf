/*
 * proc_cpu.c: walks from the processes on each device down the tree of /proc/PID/task/TID/children. It reads the CPU
 * time of each process and computes the growth since the previous reading.
 */
#include "collect/proc_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"

#define CHILDREN_MAX 16384 /* bytes of one list: some two thousand processes */

struct cpu_proc {
    int32_t pid, ppid;
    uint64_t start;      /* clock ticks since boot */
    int64_t own, ended;  /* ticks so far: its own, and those of children it has waited for */
    int64_t grew;        /* own, since the reading before */
    int64_t ended_grew;  /* ended, since the reading before */
    int64_t ended_known; /* the part of it that was counted while the children lived */
    unsigned round;
    unsigned walked; /* the round in which the lists of all its threads were read; 0: never */
    bool known;      /* grew covers the whole time since the previous reading */
};

struct tree { /* of one device, in one reading */
    uint16_t slot;
    bool whole;
    size_t first, n, roots; /* in pids; roots of them are on the device */
};

struct proc_cpu {
    char *proc;
    int64_t hz, read_ms, due_ms;
    uint64_t booted; /* ticks since boot at the reading before */
    unsigned round;
    size_t files;
    size_t n, cap;
    struct cpu_proc *v; /* by pid */
    size_t n_pids, cap_pids;
    int32_t *pids; /* of all trees, in order */
    size_t n_trees, cap_trees;
    struct tree *trees;
    char *children;
};

/* ---- one process ---- */

static struct cpu_proc *find_member(const struct proc_cpu *p, int32_t pid)
{
    size_t at = COUNT_BEFORE(p->n, i, p->v[i].pid < pid);

    return at < p->n && p->v[at].pid == pid ? &p->v[at] : NULL;
}

/* Fields of /proc/PID/stat, numbered as in proc(5); the name in parentheses may hold anything. */
static bool read_stat(struct proc_cpu *p, int32_t pid, struct cpu_proc *ret)
{
    char path[512], text[1024];
    struct str field;
    uint64_t f[23] = {0};
    snprintf(path, sizeof(path), "%s/%d/stat", p->proc, pid);
    p->files++;
    struct str all = file_small(path, text, sizeof(text));
    int close = str_rfind(all, ")");
    if (close < 0)
        return false;
    struct str rest = str_drop(all, (size_t)close + 1);
    for (int i = 3; i <= 22; i++)
        if (!str_word(&rest, &field) || ((i == 4 || (i >= 14 && i <= 17) || i == 22) && !str_uint(field, &f[i])))
            return false;
    *ret = (struct cpu_proc){.pid = pid,
                             .ppid = (int32_t)f[4],
                             .start = f[22],
                             .own = (int64_t)(f[14] + f[15]),
                             .ended = (int64_t)(f[16] + f[17])};
    return true;
}

/* Reads the process, once per round. Returns false if it is gone. */
static bool take_member(struct proc_cpu *p, int32_t pid)
{
    struct cpu_proc now, *old = find_member(p, pid);
    if (old && old->round == p->round)
        return true;
    if (!read_stat(p, pid, &now))
        return false;
    now.round = p->round;
    if (old && old->start == now.start) {
        now.grew = MAX(now.own - old->own, 0);
        now.ended_grew = MAX(now.ended - old->ended, 0);
        now.walked = old->walked;
        now.known = true;
    } else if (p->read_ms && now.start >= p->booted) { /* began since the reading before */
        now.grew = now.own;
        now.ended_grew = now.ended;
        now.known = true;
    }
    if (old) {
        *old = now;
        return true;
    }
    size_t at = COUNT_BEFORE(p->n, i, p->v[i].pid < pid);
    VEC_INSERT(p->v, p->n, p->cap, at, now);
    return true;
}

/* ---- a tree ---- */

static void add_pid(struct proc_cpu *p, const struct tree *t, int32_t pid)
{
    size_t n = p->n_pids - t->first;
    if (pid > 0 && !ANY(n, i, p->pids[t->first + i] == pid) && p->n_pids < (size_t)2 * PROC_CPU_FILES)
        VEC_ADD(p->pids, p->n_pids, p->cap_pids, pid);
}

/* Adds the children that one thread started. Returns false if they cannot be read. */
static bool add_children(struct proc_cpu *p, const struct tree *t, int32_t pid, const char *tid)
{
    char path[512];
    struct str word;
    int64_t child;
    snprintf(path, sizeof(path), "%s/%d/task/%s/children", p->proc, pid, tid);
    p->files++;
    int n = file_read_small(path, p->children, CHILDREN_MAX);
    if (n < 0) { /* the thread has ended, or the kernel has no list */
        struct cpu_proc gone;
        return strtol(tid, NULL, 10) != pid || !read_stat(p, pid, &gone);
    }
    if (n >= CHILDREN_MAX - 1)
        return false;
    for (struct str rest = str_n(p->children, (size_t)n); str_word(&rest, &word);)
        if (str_int(word, &child) && child <= INT32_MAX)
            add_pid(p, t, (int32_t)child);
    return true;
}

/*
 * Adds the children of a process. Known children and the list of its first thread are nearly complete: the lists of the
 * other threads are read only every PROC_CPU_THREADS rounds.
 */
static bool walk_threads(struct proc_cpu *p, const struct tree *t, int32_t pid)
{
    struct cpu_proc *self = find_member(p, pid);
    char path[512];
    bool ok = true;
    if (self->walked && p->round - self->walked < PROC_CPU_THREADS) {
        for (size_t i = 0; i < p->n; i++)
            if (p->v[i].ppid == pid)
                add_pid(p, t, p->v[i].pid);
        snprintf(path, sizeof(path), "%d", pid);
        return p->files < PROC_CPU_FILES && add_children(p, t, pid, path);
    }
    snprintf(path, sizeof(path), "%s/%d/task", p->proc, pid);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ESRCH; /* it has just ended */
    for (const struct dirent *e; ok && (e = readdir(d));)
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
            ok = p->files < PROC_CPU_FILES && add_children(p, t, pid, e->d_name);
    closedir(d);
    if (ok)
        self->walked = p->round;
    return ok;
}

static bool is_child(const struct proc_cpu *p, const struct tree *t, int32_t pid)
{
    int32_t parent = find_member(p, pid)->ppid;
    return ANY(p->n_pids - t->first, i, p->pids[t->first + i] == parent);
}

/* From the processes on the device, which are in pids already, down to the last child. */
static void walk_tree(struct proc_cpu *p, struct tree *t)
{
    t->roots = p->n_pids - t->first;
    for (size_t i = t->first; i < p->n_pids && t->whole; i++) {
        int32_t pid = p->pids[i];
        bool there = p->files < PROC_CPU_FILES && take_member(p, pid);
        if (there && i - t->first >= t->roots && !is_child(p, t, pid))
            p->pids[i] = 0; /* the pid of a child that ended, reused by an unrelated process */
        else if (there)
            t->whole = walk_threads(p, t, pid);
        else /* a root in another pid namespace, hidden, or about to leave the driver's list; or a child that ended */
            t->whole = p->files < PROC_CPU_FILES && i - t->first >= t->roots;
    }
    t->n = p->n_pids - t->first;
}

/* ---- a reading ---- */

/* Makes one tree of the processes of each device. */
static void begin_trees(struct proc_cpu *p, const struct device_slots *s)
{
    p->n_trees = p->n_pids = 0;
    for (size_t slot = 1; slot < s->n_samples; slot++) {
        struct tree t = {.slot = (uint16_t)slot, .whole = true, .first = p->n_pids};
        for (size_t i = 0; i < s->n_uses; i++)
            if (s->uses[i].slot == slot && !s->uses[i].use->known)
                add_pid(p, &t, s->uses[i].use->pid);
        if (p->n_pids == t.first)
            continue;
        walk_tree(p, &t);
        VEC_ADD(p->trees, p->n_trees, p->cap_trees, t);
    }
}

/* Members that are no longer there: their parent has got their time, of which most was counted while they lived. */
static void drop_ended(struct proc_cpu *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct cpu_proc *parent = p->v[i].round == p->round ? NULL : find_member(p, p->v[i].ppid);
        if (parent && parent->round == p->round)
            parent->ended_known += p->v[i].own + p->v[i].ended;
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].round == p->round)
            p->v[kept++] = p->v[i];
    p->n = kept;
}

static void tell_tree(const struct proc_cpu *p, const struct tree *t, int64_t ms, struct sample *ret)
{
    int64_t ticks = 0, top = 0;
    for (size_t i = t->first; i < t->first + t->n; i++) {
        const struct cpu_proc *m = find_member(p, p->pids[i]);
        if (!m)
            continue; /* a child that ended during the reading */
        if (!m->known && i - t->first < t->roots)
            return; /* older than our first reading: counted from the next reading on */
        ticks += m->grew + MAX(m->ended_grew - m->ended_known, 0);
        top = MAX(top, m->grew);
    }
    sample_set(ret, M_host_cpu, ticks * 1000 * 1000 / p->hz / ms);
    sample_set(ret, M_host_cpu_top, top * 1000 * 1000 / p->hz / ms);
}

static uint64_t read_booted(struct proc_cpu *p)
{
    char path[512], text[64];
    struct str word, all;
    int64_t ticks = 0;
    snprintf(path, sizeof(path), "%s/uptime", p->proc);
    all = file_small(path, text, sizeof(text));
    return str_word(&all, &word) && str_fixed(word, p->hz, &ticks) && ticks > 0 ? (uint64_t)ticks : UINT64_MAX;
}

void proc_cpu_read(struct proc_cpu *p, struct device_slots *s, int64_t mono_ms)
{
    if (mono_ms < p->due_ms)
        return;
    int64_t ms = mono_ms - p->read_ms;
    uint64_t booted = read_booted(p);
    p->round++;
    p->files = 1;
    begin_trees(p, s);
    drop_ended(p);
    for (size_t i = 0; p->read_ms && ms > 0 && i < p->n_trees; i++)
        if (p->trees[i].whole)
            tell_tree(p, &p->trees[i], ms, &s->samples[p->trees[i].slot]);
    p->booted = booted;
    p->read_ms = mono_ms;
    p->due_ms = mono_ms + PROC_CPU_EVERY_MS * (1 + (int64_t)(p->files / PROC_CPU_EASY));
}

struct proc_cpu *proc_cpu_new(const char *proc_root)
{
    int64_t hz = sysconf(_SC_CLK_TCK);

    return NEW(struct proc_cpu, .proc = mem_str(proc_root), .hz = hz > 0 ? hz : 100,
               .children = mem_alloc(CHILDREN_MAX));
}

void proc_cpu_free(struct proc_cpu *p)
{
    if (p)
        FREE_ALL(p->proc, p->v, p->pids, p->trees, p->children, p);
}
