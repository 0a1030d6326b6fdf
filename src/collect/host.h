/* host.h: this machine's own metrics (CPU, load, RAM, disks, network, uptime) and facts. No fork, no driver. */
#pragma once

#include <sys/statvfs.h>

#include "model/fact.h"

struct host;
/* proc_root is "/proc", or a recorded tree with sys/ beside it. Disks are looked at in a thread, which may hang. */
struct host *host_new(const char *proc_root);
void host_free(struct host *h);
/*
 * What cannot be read stays absent. CPU is the share since the last read, so the first has none. Asked more often than
 * every 5 s it answers every 5 s, and nothing in between; only the second time comes after a second. Disk figures are
 * those of the last half minute.
 */
void host_read(struct host *h, struct sample *ret);
void host_fact(struct node_fact *ret); /* name, os, kernel, arch, cpu, cpus, boot_id, machine_id */

/* ---- pure ---- */

struct host_cpu { /* of /proc/stat, the last time; all 0: not yet */
    uint64_t busy, all;
};
/* Its first line, "cpu  1 2 3 4 5 6 7 8", here or of another machine: the share since the last time. False: it is none.
 */
bool host_cpu_line(struct str line, struct host_cpu *before, struct sample *ret);

struct host_space { /* of file systems, in bytes, as df counts: some of what is not used is kept for root */
    uint64_t used, avail, total;
};
/* shared: its free space is counted already, as of the second data set of a ZFS pool. False: it has no size. */
bool host_space_add(struct host_space *s, const struct statvfs *v, bool shared);

struct host_disk { /* a local file system of the mount table */
    char source[256], path[256], type[16];
};
size_t host_mounts(struct str mounts, struct host_disk *ret, size_t max); /* each source once */
