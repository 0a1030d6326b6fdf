/* owner.c: finds the owner of a process. Needs no privileges; environ is readable where the agent runs as root. */
#include "collect/owner.h"

#include <dirent.h>

#include "base/order.h"
#include "base/str.h"
#include "collect/collect.h"

#define UID_FIRST  1000 /* of ordinary users, as Debian, Ubuntu, RHEL and SUSE have it */
#define UID_NOBODY 65534
#define PODS_MAX   4096 /* entries read */

bool owner_system(int64_t uid)
{
    return uid >= 0 && (uid < UID_FIRST || uid == UID_NOBODY);
}

/* The number between the last `before` of s and `after`; -1 if there is no such number. */
static int64_t number_in(struct str s, const char *before, char after)
{
    for (size_t at = s.len; at-- > 0;) {
        struct str rest = str_drop(s, at);
        uint64_t v;
        if (!str_skip(&rest, before))
            continue;
        size_t n = FIRST(rest.len, i, rest.p[i] < '0' || rest.p[i] > '9');
        if (n < rest.len && rest.p[n] == after && str_uint(str_n(rest.p, n), &v) && v < UINT32_MAX)
            return (int64_t)v;
    }
    return -1;
}

/* Pure: uid_N of a Slurm path (version 1), or that of user-N.slice; -1: neither. */
static int64_t cgroup_owner(struct str text, bool *ret_slurm)
{
    struct str line;
    int64_t slice = -1;
    *ret_slurm = false;
    while (str_line(&text, &line)) {
        int at = str_find(line, "/slurm");
        int64_t uid = at < 0 ? -1 : number_in(str_n(line.p + at, line.len - (size_t)at), "/uid_", '/');
        if (uid >= 0) {
            *ret_slurm = true;
            return uid;
        }
        if (slice < 0)
            slice = number_in(line, "/user-", '.');
    }
    return slice;
}

/* NAME=value; empty: not there. */
static struct str environ_get(struct str all, const char *name)
{
    struct str one;
    while (all.len && str_cut(&all, 0, &one))
        if (str_skip(&one, name) && str_skip(&one, "="))
            return one;
    return STR("");
}

/* The kubelet keeps a folder of logs for each pod, which anybody may list. False: it is not there. */
static bool pod_name(const char *dir, const char *uid, char out[256], struct str *ret_ns, struct str *ret_name)
{
    DIR *d = dir && uid[0] ? opendir(dir) : NULL;
    bool found = false;
    for (int i = 0; d && i < PODS_MAX && !found; i++) {
        const struct dirent *e = readdir(d);
        if (!e)
            break;
        struct str s = str_of(e->d_name);
        if (s.len >= 256 || s.len <= strlen(uid) + 3 || !str_ends(s, uid) || s.p[s.len - strlen(uid) - 1] != '_')
            continue;
        memcpy(out, s.p, s.len);
        *ret_name = str_n(out, s.len - strlen(uid) - 1);
        found = str_cut(ret_name, '_', ret_ns) && ret_ns->len && ret_name->len;
    }
    if (d)
        closedir(d);
    return found;
}

static bool by_slurm(const struct owner_ask *ask, int64_t group, bool slurm, struct owner *ret)
{
    struct str user = environ_get(ask->environ, "SLURM_JOB_USER");
    uint64_t uid;
    if (slurm && group >= UID_FIRST) {
        ret->uid = group;
        return true;
    }
    if (!user.len || user.len >= sizeof(ret->user))
        return false;
    collect_text(ret->user, sizeof(ret->user), user);
    bool known = str_uint(environ_get(ask->environ, "SLURM_JOB_UID"), &uid) && uid < UINT32_MAX;
    ret->uid = known ? (int64_t)uid : -1;
    return true;
}

void owner_of(const struct owner_ask *ask, struct proc_fact *f, struct owner *ret)
{
    bool slurm, boxed = f->runtime[0] || f->pod[0];
    int64_t group = cgroup_owner(ask->cgroup, &slurm);
    char text[256];
    struct str ns, name;
    bool named = pod_name(ask->pods, f->pod, text, &ns, &name);

    *ret = (struct owner){.uid = ask->uid};
    if (named)
        snprintf(f->pod, sizeof(f->pod), "%.*s/%.*s", (int)MIN(ns.len, 63u), ns.p, (int)MIN(name.len, 63u), name.p);
    /* a rootless container uses uids without a user: its owner is the user of its session */
    bool rootless = boxed && !slurm && group >= UID_FIRST && ask->uid > UID_NOBODY && ask->uid != group;
    if (!owner_system(ask->uid) && !rootless)
        return;
    if (f->slurm_job > 0 && by_slurm(ask, group, slurm, ret))
        return;
    if (named) {
        snprintf(ret->user, sizeof(ret->user), "k8s:%.*s", (int)MIN(ns.len, 59u), ns.p);
        ret->uid = -1;
    } else if (!boxed && ask->loginuid >= UID_FIRST && ask->loginuid != UID_NOBODY) {
        ret->uid = ask->loginuid; /* in a container it would be the user who started the daemon */
    } else if (!slurm && group >= UID_FIRST) {
        ret->uid = group;
    }
}
