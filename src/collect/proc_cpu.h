/*
 * proc_cpu.h: how many processor cores the processes on each device use, with all their children: what feeds a GPU is
 * often a pool of loaders that the driver never sees. Reads /proc now and then; a process is its pid and start time.
 * P1 A device's value is of whole trees: where a part of one cannot be seen, or there are too many, it is absent.
 * P2 A process counts once for a device, also when it is below two that are on it.
 * P3 A pid that another process has since taken is another process.
 *    A child that another than its parent's first thread began may be found a minute later.
 * P4 A reading opens at most PROC_CPU_FILES files, and the more it opened the later is the next.
 */
#pragma once

#include "collect/device_slots.h"

enum {
    PROC_CPU_EVERY_MS = 10000,
    PROC_CPU_FILES = 4096,
    PROC_CPU_THREADS = 6, /* readings from one look at what all threads of a process began to the next */
    PROC_CPU_EASY = 512,  /* files of one reading that delay the next by PROC_CPU_EVERY_MS once more */
};

struct proc_cpu;
struct proc_cpu *proc_cpu_new(const char *proc_root); /* "/proc" */
void proc_cpu_free(struct proc_cpu *p);               /* accepts NULL */
/* When it is due, set host_cpu and host_cpu_top in the samples of devices with processes; the first reading sets none.
 * Processes that a collector knows without /proc are not looked for. */
void proc_cpu_read(struct proc_cpu *p, struct device_slots *s, int64_t mono_ms);
