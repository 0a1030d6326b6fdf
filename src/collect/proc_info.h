/*
 * proc_info.h: from a pid to user, program, container, Slurm job, pod. Reads /proc; cached by (pid, start time).
 * Never blocks on a name service: users are looked up in a thread and appear when known.
 */
#pragma once

#include "model/fact.h"

struct proc_info;
struct proc_info *proc_info_new(const char *proc_root, bool cmdline); /* "/proc", or a recorded tree in tests */
void proc_info_free(struct proc_info *w);
void proc_info_set_pods(
    struct proc_info *w,
    const char *dir); /* the kubelet's folder of logs, for names of pods; NULL: pods are not looked up */
/*
 * user and uid are the owner's (owner.h), which can differ from the user it runs as. Returns 0; -ESRCH if it is gone;
 * -ENOENT if /proc never had it (a pid of another pid namespace, or hidden from us).
 * root_pid is the topmost ancestor in the same job. Going up, the walk stops below:
 * - a process of another user
 * - a program that starts jobs for users (sshd, systemd, cron, tmux, slurmstepd, a container's shim, Jupyter; the list
 *   is in proc_info.c)
 * - a shell that leads a session with a terminal: an interactive shell
 */
int proc_info_fetch(struct proc_info *w, int32_t pid, int64_t now_ms, struct proc_fact *ret);
bool proc_info_wait(struct proc_info *w, int64_t max_ms); /* waits for names being looked up; false: some are missing */
void proc_info_expire(struct proc_info *w, int64_t now_ms); /* drops entries that were not queried for a minute */

/* Start time of the process that has this number now, as in its fact; -ESRCH if no process has it. */
int64_t proc_start_ms(int32_t pid);

/* Pure: the text of /proc/PID/cgroup -> runtime, container, pod, slurm_job of ret. */
void cgroup_parse(struct str text, struct proc_fact *ret);
/* Pure: the job's SLUID ("s5K1KKYAYG5D00") in such a text: Slurm 26.05 names cgroups by it, not by the job number. */
bool cgroup_sluid(struct str text, struct str *ret);
