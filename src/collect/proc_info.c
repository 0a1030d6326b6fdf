/*
 * proc_info.c: looks a process up in /proc and caches the result by (pid, start time), since pids are reused. The start
 * time is read before and after the rest, and again at every lookup. A thread looks up user names (worker.h), since a
 * name service may take seconds.
 */
#include "collect/proc_info.h"

#include <errno.h>
#include <pwd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "collect/collect.h"
#include "collect/owner.h"
#include "collect/worker.h"
#include "model/launch.h"

#define WHO_MAX        4096 /* processes and users remembered */
#define WHO_VERIFY_MS  4900 /* a start time read within this is believed: it is a tenth of a millisecond to read */
#define WHO_REREAD_MS  60000
#define WHO_FORGET_MS  60000
#define WHO_NAME_MS    600000 /* a name is looked up again after this time */
#define WHO_NO_NAME_MS 60000  /* and an unknown uid after this time */
#define WHO_ANCESTORS  64
#define WHO_ENVIRON    65536 /* bytes of it read */
#define WHO_LAUNCHERS  8     /* ancestors whose command line is read */
#define WHO_ARGUMENTS  8192  /* bytes of it */

struct proc_entry {
    int32_t pid;
    uint64_t start; /* clock ticks since boot */
    bool gone;
    int64_t asked_ms, verified_ms, read_ms;
    struct proc_fact fact;
    char told[64]; /* its owner, if that is not a uid's name; else empty */
};

struct user_entry {
    int64_t uid, asked_ms; /* asked_ms: time of the last request or its result */
    bool wanted, found;
    char name[64];
};

/* Shared with the thread, under its lock. */
struct user_cache {
    pthread_mutex_t lock;
    size_t n, cap;
    struct user_entry *v;
};

struct proc_info {
    char *proc, *pods;
    bool cmdline;
    int64_t boot_ms, hz;
    size_t n, cap;
    struct proc_entry **v; /* by pid */
    struct user_cache *users;
    struct worker *worker;
};

/* ---- names of users ---- */

static void who_users_fini(void *arg)
{
    struct user_cache *u = arg;

    pthread_mutex_destroy(&u->lock);
    FREE_ALL(u->v, u);
}

/* In the thread: looks up the wanted names one at a time, without holding the lock. */
static void who_users_run(void *arg)
{
    struct user_cache *u = arg;
    char text[8192];
    size_t i = 0;

    pthread_mutex_lock(&u->lock);
    while (i < u->n) {
        if (!u->v[i].wanted) {
            i++;
            continue;
        }
        int64_t uid = u->v[i].uid;
        struct passwd pw, *found = NULL;
        pthread_mutex_unlock(&u->lock);
        int r = getpwuid_r((uid_t)uid, &pw, text, sizeof(text), &found);
        pthread_mutex_lock(&u->lock); /* entries are only ever added, so i still means the same one */
        u->v[i].wanted = false;
        if (r == 0 && found)
            collect_text(u->v[i].name, sizeof(u->v[i].name), str_of(pw.pw_name));
        u->v[i].found = r == 0 && found;
    }
    pthread_mutex_unlock(&u->lock);
}

/* The name, if known. Requests a lookup if it is unknown or old. */
static void who_name(struct proc_info *w, int64_t uid, int64_t now_ms, char ret[64])
{
    struct user_cache *u = w->users;

    memset(ret, 0, 64);
    if (uid < 0)
        return;
    LOCKED(&u->lock);
    struct user_entry *e = FIND(u->v, u->n, k, k->uid == uid);
    if (!e && u->n < WHO_MAX) {
        VEC_ADD(u->v, u->n, u->cap, (struct user_entry){.uid = uid, .asked_ms = now_ms, .wanted = true});
        worker_kick(w->worker);
    } else if (e) {
        if (!e->wanted && now_ms - e->asked_ms > (e->found ? WHO_NAME_MS : WHO_NO_NAME_MS)) {
            e->asked_ms = now_ms;
            e->wanted = true;
            worker_kick(w->worker);
        }
        memcpy(ret, e->name, 64);
    }
}

/* ---- /proc ---- */

struct proc_stat_fields {
    char comm[64];
    int32_t ppid, session;
    int64_t tty;
    uint64_t start;
};

/* Empty if it cannot be read: the process has ended, or is hidden from us. */
static struct str who_text(const struct proc_info *w, int32_t pid, const char *name, char *out, size_t size)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%d/%s", w->proc, pid, name);

    return n < 0 || (size_t)n >= sizeof(path) ? STR("") : file_small(path, out, size);
}

/* The program's name is in parentheses and may contain spaces and parentheses itself: cut at the last one. */
static int who_stat(const struct proc_info *w, int32_t pid, struct proc_stat_fields *ret)
{
    char text[1024];
    struct str field, rest;
    int64_t ppid = 0, session = 0, tty = 0;
    struct proc_stat_fields s = {0};
    struct str all = who_text(w, pid, "stat", text, sizeof(text));
    int open = str_find(all, "("), close = str_rfind(all, ")");

    if (open < 0 || close <= open)
        return -EBADMSG;
    collect_text(s.comm, sizeof(s.comm), str_n(text + open + 1, (size_t)(close - open - 1)));
    rest = str_drop(all, (size_t)close + 1);
    for (int i = 3; str_word(&rest, &field); i++) { /* numbered as in proc(5) */
        if ((i == 4 && !str_int(field, &ppid)) || (i == 6 && !str_int(field, &session)) ||
            (i == 7 && !str_int(field, &tty)))
            return -EBADMSG;
        if (i < 22)
            continue;
        if (!str_uint(field, &s.start))
            return -EBADMSG;
        s.ppid = (int32_t)ppid;
        s.session = (int32_t)session;
        s.tty = tty;
        *ret = s;
        return 0;
    }
    return -EBADMSG;
}

/* The uid at the start of text; -1 if it has no number. */
static int64_t uid_of(struct str text)
{
    struct str word;
    uint64_t uid;

    return str_word(&text, &word) && str_uint(word, &uid) && uid < UINT32_MAX ? (int64_t)uid : -1;
}

static int64_t who_uid(const struct proc_info *w, int32_t pid)
{
    char text[2048];
    struct str rest = who_text(w, pid, "status", text, sizeof(text)), line;

    while (str_line(&rest, &line))
        if (str_skip(&line, "Uid:"))
            return uid_of(line);
    return -1;
}

static int64_t who_boot_ms(const char *proc)
{
    struct str rest, line, word;
    uint64_t s;
    AUTO_FREE char *path = mem_fmt("%s/stat", proc);
    AUTO_BUF text = {0};

    if (file_read(path, 4u << 20, &text, NULL) < 0)
        return 0;
    for (rest = buf_str(&text); str_line(&rest, &line);)
        if (str_skip(&line, "btime "))
            return str_word(&line, &word) && str_uint(word, &s) && s < 1u << 31 ? (int64_t)s * 1000 : 0;
    return 0;
}

/* Programs that start jobs for users and are not jobs. Names as the kernel cuts them: 15 bytes. */
static bool who_starts_jobs(const struct proc_stat_fields *s, int32_t pid)
{
    static const char *const starters[] = {
        "systemd",    "(sd-pam)",     "init",   "sshd",        "sshd-session",    "login",          "su",
        "sudo",       "tmux: server", "tmux",   "screen",      "SCREEN",          "cron",           "crond",
        "anacron",    "atd",          "slurmd", "slurmstepd",  "dockerd",         "containerd",     "containerd-shim",
        "conmon",     "runc",         "crun",   "jupyter-lab", "jupyter-noteboo", "jupyter-server", "jupyterhub-sing",
        "jupyterhub", "code-server",
    };
    static const char *const shells[] = {"sh",   "bash", "dash", "zsh", "fish", "ksh",
                                         "mksh", "tcsh", "csh",  "ash", "nu"};

    return ANY(ARRAY_LEN(starters), i, strcmp(s->comm, starters[i]) == 0) ||
           (s->tty != 0 && s->session == pid && ANY(ARRAY_LEN(shells), i, strcmp(s->comm, shells[i]) == 0));
}

/* See proc_info.h. An unreadable process ends the walk: the job is then the part we can see. */
static int32_t who_root(const struct proc_info *w, int32_t pid, int32_t ppid, int64_t uid)
{
    struct proc_stat_fields up;

    for (int i = 0; i < WHO_ANCESTORS && ppid > 1 && uid >= 0; i++) {
        if (who_stat(w, ppid, &up) < 0 || who_uid(w, ppid) != uid || who_starts_jobs(&up, ppid))
            break;
        pid = ppid;
        ppid = up.ppid;
    }
    return pid;
}

/* Joins the arguments with spaces. Also completes the program's name if the kernel cut it. */
static void who_cmdline(const struct proc_info *w, struct proc_fact *f)
{
    char text[CMD_MAX + 1], base[sizeof(f->name)];
    struct str all = who_text(w, f->pid, "cmdline", text, sizeof(text));

    if (!all.len)
        return;
    struct str first = str_of(text);
    int after = str_rfind(first, "/") + 1;
    collect_text(base, sizeof(base), str_drop(first, (size_t)after));
    if (strlen(f->name) == 15 && strncmp(base, f->name, 15) == 0)
        memcpy(f->name, base, sizeof(base));
    collect_text(f->cmd, sizeof(f->cmd), all);
}

/* A command line as a launcher's, of one of a user's own processes. */
static bool launch_of_args(const struct proc_info *w, int32_t pid, char ret[LAUNCH_MAX])
{
    char text[WHO_ARGUMENTS];
    struct str all = who_text(w, pid, "cmdline", text, sizeof(text));

    for (size_t i = 0; i < all.len; i++)
        text[i] = text[i] ? text[i] : ' ';
    return launch_of_command(all, ret);
}

/* The one at the end may be cut. */
static bool launch_of_env(const struct proc_info *w, int32_t pid, char ret[LAUNCH_MAX])
{
    AUTO_FREE char *text = mem_alloc(WHO_ENVIRON);
    struct str all = who_text(w, pid, "environ", text, WHO_ENVIRON);

    while (all.len == 0 || all.p[all.len - 1]) {
        if (all.len == 0)
            return false;
        all.len--;
    }
    return launch_of_environ(all, ret);
}

/*
 * Finds the id that joins a process with processes on other nodes: from its arguments, its launcher's (an ancestor in
 * the same job), or its environment if readable. Runs once in a process's life.
 */
static void who_launch(const struct proc_info *w, struct proc_fact *f)
{
    struct proc_stat_fields up;
    int32_t pid = f->pid;

    if (!w->cmdline || launch_of_args(w, pid, f->launch))
        return;
    for (int i = 0; i < WHO_LAUNCHERS && pid != f->root_pid && who_stat(w, pid, &up) == 0; i++) {
        pid = up.ppid;
        if (launch_of_args(w, pid, f->launch))
            return;
    }
    launch_of_env(w, f->pid, f->launch);
}

/* "slurmstepd: [4711.batch]": root's process above the job's first one shows its number. 0: it does not. */
static int64_t who_step(const struct proc_info *w, int32_t pid)
{
    char text[64];
    struct str title = who_text(w, pid, "cmdline", text, sizeof(text)), number;
    uint64_t job;

    if (who_uid(w, pid) != 0 || !str_skip(&title, "slurmstepd: [") || !str_cut(&title, '.', &number))
        return 0;
    return str_uint(number, &job) && job <= INT64_MAX ? (int64_t)job : 0;
}

/* The job of a process whose cgroup has no job number but a SLUID. Without a number the SLUID still joins the job's
 * processes. */
static void who_slurm(const struct proc_info *w, struct str cgroup, struct proc_fact *f)
{
    struct proc_stat_fields s;
    struct str sluid;
    int32_t pid = f->ppid;

    if (f->slurm_job || !cgroup_sluid(cgroup, &sluid))
        return;
    for (int i = 0; i < WHO_ANCESTORS && pid > 1 && !f->slurm_job && who_stat(w, pid, &s) == 0; i++) {
        f->slurm_job = who_step(w, pid);
        pid = s.ppid;
    }
    if (!f->slurm_job && !f->launch[0])
        snprintf(f->launch, sizeof(f->launch), LAUNCH_SLURM "%.*s", STR_ARG(sluid));
}

/* f->uid is the process's own until here. */
static void who_owner(const struct proc_info *w, struct proc_entry *e, struct str cgroup)
{
    struct proc_fact *f = &e->fact;
    struct owner_ask ask = {.uid = f->uid, .loginuid = -1, .cgroup = cgroup, .pods = w->pods};
    struct owner owner;
    char login[32];
    AUTO_FREE char *text = NULL;

    if (owner_system(f->uid)) {
        ask.loginuid = uid_of(who_text(w, f->pid, "loginuid", login, sizeof(login)));
        if (f->slurm_job > 0) {
            text = mem_alloc(WHO_ENVIRON);
            ask.environ = who_text(w, f->pid, "environ", text, WHO_ENVIRON);
        }
    }
    owner_of(&ask, f, &owner);
    f->uid = owner.uid;
    memcpy(e->told, owner.user, sizeof(e->told));
}

static int64_t who_start_ms(const struct proc_info *w, const struct proc_stat_fields *s)
{
    return w->boot_ms + (int64_t)(s->start % (1ull << 53)) * 1000 / w->hz;
}

/*
 * Reads a whole process. The start time must be the same at the end, otherwise two processes were mixed and this one is
 * gone. old is the cached entry of this pid, or NULL.
 */
static int who_read(const struct proc_info *w, int32_t pid, const struct proc_entry *old, struct proc_entry *ret)
{
    char text[4096];
    struct proc_stat_fields s, again;
    struct proc_fact *f = &ret->fact;
    int r = who_stat(w, pid, &s);

    if (r < 0)
        return r;
    memset(f, 0, sizeof(*f));
    f->pid = pid;
    f->ppid = s.ppid;
    f->uid = who_uid(w, pid);
    f->start_ms = who_start_ms(w, &s);
    memcpy(f->name, s.comm, sizeof(f->name));
    if (w->cmdline)
        who_cmdline(w, f);
    struct str cgroup = who_text(w, pid, "cgroup", text, sizeof(text));
    cgroup_parse(cgroup, f);
    f->root_pid = who_root(w, pid, s.ppid, f->uid);
    if (old && old->start == s.start)
        memcpy(f->launch, old->fact.launch, sizeof(f->launch));
    else
        who_launch(w, f);
    who_slurm(w, cgroup, f);
    who_owner(w, ret, cgroup);
    r = who_stat(w, pid, &again);
    if (r < 0)
        return r;
    if (again.start != s.start)
        return -ESRCH;
    ret->pid = pid;
    ret->start = s.start;
    return 0;
}

/* ---- the cache ---- */

static int who_answer(struct proc_info *w, struct proc_entry *e, int64_t now_ms, struct proc_fact *ret)
{
    e->asked_ms = now_ms;
    if (e->told[0])
        memcpy(e->fact.user, e->told, sizeof(e->told));
    else
        who_name(w, e->fact.uid, now_ms, e->fact.user);
    *ret = e->fact;
    return 0;
}

int proc_info_fetch(struct proc_info *w, int32_t pid, int64_t now_ms, struct proc_fact *ret)
{
    size_t at = COUNT_BEFORE(w->n, i, w->v[i]->pid < pid);
    struct proc_entry *e = at < w->n && w->v[at]->pid == pid ? w->v[at] : NULL, fresh = {0};
    struct proc_stat_fields s;

    if (e && !e->gone) {
        bool young = now_ms - e->read_ms < WHO_REREAD_MS && now_ms >= e->read_ms;
        if (young && now_ms - e->verified_ms < WHO_VERIFY_MS)
            return who_answer(w, e, now_ms, ret);
        if (young && who_stat(w, pid, &s) == 0 && s.start == e->start) {
            e->verified_ms = now_ms;
            return who_answer(w, e, now_ms, ret);
        }
    }
    if (pid <= 0 || who_read(w, pid, e, &fresh) < 0) {
        if (!e)
            return -ENOENT;
        e->gone = true;
        e->asked_ms = now_ms;
        return -ESRCH;
    }
    fresh.verified_ms = fresh.read_ms = now_ms;
    if (!e && w->n < WHO_MAX) {
        e = NEW(struct proc_entry);
        VEC_INSERT(w->v, w->n, w->cap, at, e);
    }
    if (e)
        *e = fresh;
    return who_answer(w, e ? e : &fresh, now_ms, ret);
}

void proc_info_expire(struct proc_info *w, int64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->n; i++) {
        int64_t age = now_ms - w->v[i]->asked_ms;
        if (age > WHO_FORGET_MS || age < -WHO_FORGET_MS) /* the clock may have been set back */
            free(w->v[i]);
        else
            w->v[kept++] = w->v[i];
    }
    w->n = kept;
}

bool proc_info_wait(struct proc_info *w, int64_t max_ms)
{
    return worker_settle(w->worker, max_ms);
}

struct proc_info *proc_info_new(const char *proc_root, bool cmdline)
{
    struct proc_info *w = NEW(struct proc_info, .proc = mem_str(proc_root), .cmdline = cmdline,
                              .boot_ms = who_boot_ms(proc_root), .hz = sysconf(_SC_CLK_TCK));

    w->hz = w->hz > 0 ? w->hz : 100;
    w->users = NEW(struct user_cache);
    pthread_mutex_init(&w->users->lock, NULL);
    w->worker = worker_new(who_users_run, who_users_fini, w->users);
    return w;
}

int64_t proc_start_ms(int32_t pid)
{
    char proc[] = "/proc";
    struct proc_info w = {.proc = proc, .hz = MAX(1, sysconf(_SC_CLK_TCK)), .boot_ms = who_boot_ms(proc)};
    struct proc_stat_fields s;

    return who_stat(&w, pid, &s) < 0 ? -ESRCH : who_start_ms(&w, &s);
}

void proc_info_set_pods(struct proc_info *w, const char *dir)
{
    free(w->pods);
    w->pods = mem_str(dir);
}

void proc_info_free(struct proc_info *w)
{
    if (!w)
        return;
    worker_free(w->worker); /* the users go with it */
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i]);
    FREE_ALL(w->v, w->proc, w->pods, w);
}
