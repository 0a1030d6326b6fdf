/*
 * owner.h: who a process belongs to where its uid says little: root and system users run things for others. Asked in
 * this order: the Slurm job, the Kubernetes pod, who logged in before sudo, the session it is in; else it stays as it
 * is. A process of an ordinary user is that user's, whatever it says of itself.
 */
#pragma once

#include "model/fact.h"

/* What /proc says of a process, as far as it could be read. */
struct owner_ask {
    int64_t uid;        /* real */
    int64_t loginuid;   /* -1: not set */
    struct str cgroup;  /* the file's text */
    struct str environ; /* NULs between */
    const char *pods;   /* folder of the kubelet's logs, whose entries are called NAMESPACE_NAME_UID; NULL: none */
};
struct owner {
    int64_t uid;   /* -1: only the name is known */
    char user[64]; /* "": the one of uid */
};
/* f: runtime, pod and slurm_job are filled; the pod becomes "namespace/name" where that can be found. */
void owner_of(const struct owner_ask *ask, struct proc_fact *f, struct owner *ret);
bool owner_system(int64_t uid); /* root, a system user, nobody: environ is worth reading only then */
