/*
 * smi_tables.h: assembles the tables that nvidia-smi prints in loop mode, one of GPUs and one of the processes on them,
 * line by line. Pure: the lines come from a pipe or from another machine.
 */
#pragma once

#include "collect/smi.h"

#define SMI_APP_FIELDS "gpu_uuid,pid,used_gpu_memory"

struct smi_tables {
    bool dropped[SMI_ASKED]; /* fields this driver does not know */
    struct smi_table gpus, apps;
    struct reading coming, now; /* a table being printed, and the last whole one */
    size_t n_migs, cap_migs;
    struct device_fact *migs; /* instances, as a list named them */
    char parent[UUID_MAX];    /* GPU of the instances that follow in the list */
    bool fresh;
    size_t n_seen, cap_seen;
    struct smi_seen {
        struct smi_app app;
        int64_t seen_ms;
    } * seen;
    char words[120]; /* the last line from the GPU loop that was not a row */
};

void smi_tables_fini(struct smi_tables *t);
/*
 * The fields to request: "index,count,uuid,…". A driver that does not know a field names it and ends; that field is
 * then dropped.
 */
void smi_tables_fields(const struct smi_tables *t, struct buf *out);
bool smi_tables_drop(struct smi_tables *t, struct str field); /* false: not requested, or already dropped */
/* nvidia-smi was restarted: its next output starts with a header. */
void smi_tables_gpus_reset(struct smi_tables *t);
void smi_tables_apps_reset(struct smi_tables *t);
void smi_tables_gpu(struct smi_tables *t, struct str line);
void smi_tables_app(struct smi_tables *t, struct str line, int64_t mono_ms);
/*
 * A line of `nvidia-smi -L` between "{" and "}": MIG instances are in none of the tables. They have no values, and
 * nvidia-smi does not list their processes.
 */
void smi_tables_list(struct smi_tables *t, struct str line);
/*
 * Copies the last complete table into ret: values only if they were not read before, and the processes seen within
 * keep_ms. Returns false if there is no table yet.
 */
bool smi_tables_read(struct smi_tables *t, int64_t mono_ms, int64_t keep_ms, struct reading *ret);
