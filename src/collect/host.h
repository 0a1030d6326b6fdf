/* host.h: this machine's own metrics (CPU, load, RAM, disks, network, uptime) and facts. No fork, no driver. */
#ifndef COLLECT_HOST_H
#define COLLECT_HOST_H

#include "model/fact.h"

struct host;
struct host *host_new(const char *proc_root); /* starts a thread for disks, which may hang */
void host_free(struct host *h);
void host_read(struct host *h, struct sample *ret); /* what cannot be read stays absent */
void host_fact(struct node_fact *ret);              /* name, os, kernel, arch, cpu, cpus, boot_id, machine_id */

#endif
