/* host.h: this machine's own metrics (CPU, load, RAM, disks, network, uptime) and facts. No fork, no driver. */
#pragma once

#include <sys/statvfs.h>

#include "model/fact.h"

struct host;
/* proc_root is "/proc", or a recorded tree with sys/ next to it. A thread reads the disks, since that may hang. */
struct host *host_new(const char *proc_root);
void host_free(struct host *h);
/*
 * Unreadable values stay absent. CPU is the share since the last read, so the first read has none. New values come at
 * most every 5 s, except that the second read has values after 1 s; in between nothing is set. Disk figures are from
 * the last 30 s.
 */
void host_read(struct host *h, struct sample *ret);
void host_fact(struct node_fact *ret); /* name, os, kernel, arch, cpu, cpus, boot_id, machine_id */

/* ---- pure ---- */

struct host_cpu { /* /proc/stat at the last reading; all 0: not read yet */
    uint64_t busy, all;
};
/*
 * Parses the first line of /proc/stat, "cpu  1 2 3 4 5 6 7 8", of this or another machine: the share since the last
 * reading. Returns false if it is not such a line.
 */
bool host_cpu_line(struct str line, struct host_cpu *before, struct sample *ret);

struct host_space { /* of file systems, in bytes, counted as in df: root reserves some unused space */
    uint64_t used, avail, total;
};
/*
 * shared: its free space is counted already, e.g. for the second data set of a ZFS pool. Returns false if it has no
 * size.
 */
bool host_space_add(struct host_space *s, const struct statvfs *v, bool shared);

struct host_disk { /* a local file system of the mount table */
    char source[256], path[256], type[16];
};
size_t host_mounts(struct str mounts, struct host_disk *ret, size_t max); /* each source once */
