/*
 * owner.h: finds the owner of a process if its uid is not enough: root and system users run things for others. The
 * order is: the Slurm job, the Kubernetes pod, the login before sudo, the session; otherwise the uid's user stays. A
 * process of an ordinary user belongs to that user, whatever its environment contains.
 */
#pragma once

#include "model/fact.h"

/* Data of a process from /proc, as far as readable. */
struct owner_ask {
    int64_t uid;        /* real */
    int64_t loginuid;   /* -1: not set */
    struct str cgroup;  /* the file's text */
    struct str environ; /* NULs between */
    const char *pods;   /* folder of the kubelet's logs, with entries NAMESPACE_NAME_UID; NULL if none */
};
struct owner {
    int64_t uid;   /* -1: only the name is known */
    char user[64]; /* "": the one of uid */
};
/* f: runtime, pod and slurm_job are filled; the pod becomes "namespace/name" where that can be found. */
void owner_of(const struct owner_ask *ask, struct proc_fact *f, struct owner *ret);
bool owner_system(int64_t uid); /* root, a system user, or the user nobody: only then environ is worth reading */
