/*
 * proc_cpu.h: how many CPU cores the processes on each device use, with all their children: a GPU is often fed by data
 * loaders that the driver never sees. Reads /proc every PROC_CPU_EVERY_MS or less often. A process is its pid and start
 * time.
 * P1 A device's value covers whole trees. It is absent if a part of a tree is not readable, or if there are too many
 *    processes.
 * P2 A process counts once for a device, also if two of its ancestors are on the device.
 * P3 A pid that was reused is another process.
 *    A child that was not started by its parent's first thread may be found a minute later.
 * P4 A reading opens at most PROC_CPU_FILES files. The more files it opened, the later is the next reading.
 */
#pragma once

#include "collect/device_slots.h"

enum {
    PROC_CPU_EVERY_MS = 10000,
    PROC_CPU_FILES = 4096,
    PROC_CPU_THREADS = 6, /* every Nth reading reads the children of all threads of a process */
    PROC_CPU_EASY = 512,  /* each time this many files of one reading delay the next one by another PROC_CPU_EVERY_MS */
};

struct proc_cpu;
struct proc_cpu *proc_cpu_new(const char *proc_root); /* "/proc" */
void proc_cpu_free(struct proc_cpu *p);               /* accepts NULL */
/*
 * If a reading is due, sets host_cpu and host_cpu_top in the samples of devices with processes. The first reading sets
 * none. Processes that a collector knows without /proc are skipped.
 */
void proc_cpu_read(struct proc_cpu *p, struct device_slots *s, int64_t mono_ms);
