/*
 * who.h: from a pid to user, program, container, Slurm job, pod. Reads /proc; cached by (pid, start time).
 * Never blocks on a name service: users are looked up in a thread and appear when known.
 */
#pragma once

#include "model/fact.h"

struct who;
struct who *who_new(const char *proc_root, bool cmdline); /* "/proc", or a recorded tree in tests */
void who_free(struct who *w);
void who_set_pods(struct who *w,
                  const char *dir); /* the kubelet's folder of logs, for names of pods; NULL: not asked */
/*
 * user and uid are the owner's (owner.h), who need not be the one it runs as.
 * 0; -ESRCH when it is gone; -ENOENT when /proc never had it (a pid of another pid namespace, or hidden from us).
 * root_pid is the topmost ancestor that still belongs to the same job: going up, the walk stops below another user's
 * process, below one that starts jobs for people (sshd, systemd, cron, tmux, slurmstepd, a container's shim, Jupyter;
 * who.c has the list), and below a shell that leads a session with a terminal: the one somebody types into.
 */
int who_ask(struct who *w, int32_t pid, int64_t now_ms, struct proc_fact *ret);
bool who_settle(struct who *w, int64_t max_ms); /* wait a little for names being looked up; false: not all are here */
void who_sweep(struct who *w, int64_t now_ms);  /* forget what was not asked for in a minute */

/* When the process that has this number now began, as its fact has it; -ESRCH: none has it. */
int64_t who_began_ms(int32_t pid);

/* Pure: the text of /proc/PID/cgroup -> runtime, container, pod, slurm_job of ret. */
void cgroup_parse(struct str text, struct proc_fact *ret);
/* Pure: the job's SLUID ("s5K1KKYAYG5D00") in such a text: Slurm 26.05 names cgroups by it, not by the job number. */
bool cgroup_sluid(struct str text, struct str *ret);
