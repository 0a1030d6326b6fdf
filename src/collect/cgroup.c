/*
 * cgroup.c: from the text of /proc/PID/cgroup to container, pod and Slurm job. Pure. Nothing is anchored: nested
 * set-ups (kind, k3s, docker in docker) put one shape inside another, and the rightmost one is the process's own.
 */
#include "base/mem.h"
#include "base/order.h"
#include "collect/collect.h"
#include "collect/proc_info.h"

#define ID_LEN   64 /* hex digits of a container id */
#define PATH_LEN 4096

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_run(struct str s)
{
    return FIRST(s.len, i, !is_hex(s.p[i]));
}

/* The most specific path: the unified one, unless it is the root; else that of memory, pids, systemd. */
static struct str cgroup_path(struct str text)
{
    static const char *const controllers[] = {"memory", "pids", "name=systemd"};
    struct str line, no, names, best = STR("");
    size_t rank = ARRAY_LEN(controllers) + 1;

    while (str_line(&text, &line)) {
        struct str rest = line, name;
        if (!str_cut(&rest, ':', &no) || !str_cut(&rest, ':', &names) || !rest.p)
            continue;
        if (names.len == 0 && !str_eq(rest, "/"))
            return rest;
        while (str_cut(&names, ',', &name))
            for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
                if (i < rank && str_eq(name, controllers[i])) {
                    rank = i;
                    best = rest;
                }
    }
    return best;
}

static bool put_id(struct str at, const char *runtime, struct proc_fact *ret)
{
    if (hex_run(at) != ID_LEN)
        return false;
    mem_copy_str(ret->runtime, sizeof(ret->runtime), runtime);
    memcpy(ret->container, at.p, ID_LEN);
    ret->container[ID_LEN] = 0;
    return true;
}

/* docker-<id>, cri-containerd-<id>, ... anywhere in the path, the last one first. conmon's own scopes do not match. */
static bool find_prefixed(struct str path, struct proc_fact *ret)
{
    static const struct {
        const char *prefix, *runtime;
    } shapes[] = {{"docker-", "docker"},
                  {"cri-containerd-", "containerd"},
                  {"crio-", "crio"},
                  {"libpod-", "podman"},
                  {"nerdctl-", "nerdctl"}};

    for (size_t at = path.len; at-- > 0;)
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
            if (str_starts(str_drop(path, at), shapes[i].prefix) &&
                put_id(str_drop(path, at + strlen(shapes[i].prefix)), shapes[i].runtime, ret))
                return true;
    return false;
}

/* A path element that is an id by itself: /docker/<id>, /kubepods/.../pod<uid>/<id>, /default/<id>. The last one. */
static bool find_bare(struct str path, struct proc_fact *ret)
{
    struct str head = path;

    for (int slash; (slash = str_rfind(head, "/")) >= 0; head.len = (size_t)slash) {
        struct str element = str_drop(head, (size_t)slash + 1), before = str_n(head.p, (size_t)slash);
        if (element.len != ID_LEN)
            continue;
        const char *runtime = str_find(before, "kubepods") >= 0 ? "containerd"
                              : str_ends(before, "/docker")     ? "docker"
                              : str_ends(before, "/default")    ? "nerdctl"
                                                                : "";
        if (put_id(element, runtime, ret))
            return true;
    }
    return false;
}

/* lxc and systemd-nspawn name containers instead of numbering them. A virtual machine (machine-qemu...) is none. */
static void find_named(struct str path, struct proc_fact *ret)
{
    struct str element;
    bool machine = false;

    while (str_cut(&path, '/', &element)) {
        const char *runtime = NULL;
        if (str_skip(&element, "lxc.payload.")) {
            runtime = "lxc";
        } else if (machine && str_ends(element, ".service")) {
            runtime = "nspawn";
            element.len -= strlen(".service");
            str_skip(&element, "systemd-nspawn@");
        }
        machine = str_eq(element, "machine.slice");
        if (!runtime || element.len == 0)
            continue;
        mem_copy_str(ret->runtime, sizeof(ret->runtime), runtime);
        collect_text(ret->container, sizeof(ret->container), element);
    }
}

/* pod<uid>, with '_' for '-' under the systemd driver; static pods have 32 hex digits of a hash instead. */
static void find_pod(struct str path, struct proc_fact *ret)
{
    for (size_t at = path.len; at-- > 0;) {
        struct str s = str_drop(path, at);
        if (!str_skip(&s, "pod"))
            continue;
        size_t n = 0;
        while (n < s.len && n <= 36 && (is_hex(s.p[n]) || s.p[n] == '-' || s.p[n] == '_'))
            n++;
        bool uid = n == 36 && hex_run(s) == 8;
        if (!uid && (n != 32 || hex_run(s) != 32))
            continue;
        for (size_t i = 0; i < n; i++)
            ret->pod[i] = s.p[i] == '_' ? '-' : s.p[i];
        ret->pod[n] = 0;
        return;
    }
}

static void find_slurm(struct str path, struct proc_fact *ret)
{
    int slurm = str_find(path, "slurm");

    for (size_t at = path.len; slurm >= 0 && at-- > (size_t)slurm;) {
        struct str s = str_drop(path, at);
        uint64_t job;
        if (!str_skip(&s, "job_"))
            continue;
        size_t n = FIRST(s.len, i, s.p[i] < '0' || s.p[i] > '9');
        if (!str_uint(str_n(s.p, n), &job) || job == 0 || job > INT64_MAX)
            continue;
        ret->slurm_job = (int64_t)job;
        return;
    }
}

/* 's' and 13 digits of Crockford's base 32 */
static bool is_sluid(struct str s)
{
    return s.len == 14 && s.p[0] == 's' &&
           !ANY(s.len - 1, i, !strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", s.p[i + 1]) || !s.p[i + 1]);
}

bool cgroup_sluid(struct str text, struct str *ret)
{
    struct str line, element;
    while (str_line(&text, &line))
        for (bool scope = false; str_cut(&line, '/', &element); scope = str_ends(element, "slurmstepd.scope"))
            if (scope && is_sluid(element)) {
                *ret = element;
                return true;
            }
    return false;
}

void cgroup_parse(struct str text, struct proc_fact *ret)
{
    struct str path = cgroup_path(text), line;

    path.len = MIN(path.len, (size_t)PATH_LEN);
    memset(ret->runtime, 0, sizeof(ret->runtime));
    memset(ret->container, 0, sizeof(ret->container));
    memset(ret->pod, 0, sizeof(ret->pod));
    ret->slurm_job = 0;
    if (!find_prefixed(path, ret) && !find_bare(path, ret))
        find_named(path, ret);
    find_pod(path, ret);
    find_slurm(path, ret);
    while (ret->slurm_job == 0 && str_line(&text, &line)) /* hybrid: the job is in a tree of version 1 alone */
        find_slurm(str_n(line.p, MIN(line.len, (size_t)PATH_LEN)), ret);
}
