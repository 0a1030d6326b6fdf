/*
 * readings.h: what GPU Monitor's node scripts leave of a machine, <HOST>_gpus.csv and its like, read as its page read
 * them. Pure: how the files come is somebody else's business, so this is tested and fuzzed without any.
 *
 * E1 A row of another shape, and a last line without its end, is passed over; of several rows of a GPU the
 * last counts. E2 A GPU that the newest sweep does not name is gone, unless the file may be too short for all GPUs. E3
 * Who is on a GPU: rows at most 3 s older than the newest of them and at most 60 s older than the newest of the GPUs.
 * Their owner is who ps names, else who it names for the first child; unknown otherwise, and left out on a GPU that has
 * less than 10 MiB in use. E4 Times are the node's: its zone is told, or taken from the clock time of `uptime` and when
 * that file was written.
 */
#pragma once

#include "collect/collect.h"

#define READINGS_FILE_MAX (1u << 20) /* of text; the scripts write a few KB */

enum readings_file {
    READINGS_GPUS,
    READINGS_PROCESSES,
    READINGS_USERS,
    READINGS_STATUS,
    READINGS_DISKS,
    READINGS_FILES,
};
/* "gpu01_gpus.csv": which of them, and of whom; false: none of them, or no name a node can have. */
bool readings_name(struct str file, struct str *ret_host, enum readings_file *ret);

struct disk {                   /* a file system, in bytes: some of what is not used is kept for root */
    char source[64], mount[60]; /* of a longer one the end */
    int64_t used, avail, total; /* avail: of one that is fuller than full below 0, as df has it; of a sum never */
};
/* A line of df -P, "/dev/sda1 1000 250 700 27% /"; false: it is none. */
bool disk_row(struct str line, struct disk *ret);
void disk_sum(struct disk *all, const struct disk *d);
void disk_sample(const struct disk *all, struct sample *ret); /* a total of 0: nothing */

struct readings_zone {
    bool automatic; /* E4; UTC, as the page had it, when nothing says more */
    int64_t offset_ms;
};
/* "auto", "UTC", "+02:00", "-0330"; 0 or -EINVAL with a sentence. */
int readings_zone(const char *text, struct readings_zone *ret, struct err *err);

struct readings;
struct readings *readings_new(void);
void readings_free(struct readings *r);
/* A file as it is now, instead of what it was; written_ms: when it was written, UTC, 0: not known. */
void readings_take(struct readings *r, enum readings_file which, struct str text, int64_t written_ms);

int64_t readings_at(const struct readings *r, const struct readings_zone *z); /* of the newest GPU row, UTC; 0: none */
/* What they say together. Each disk is a custom metric of the node, its mount point with ':' for '/': "disk:var:opt";
 * one whose name is taken gets "_2". False: nothing yet. */
bool readings_read(const struct readings *r, const struct readings_zone *z, struct reading *ret);
size_t readings_left_out(const struct readings *r); /* disks of which nothing is told: there are too many */
int32_t readings_cpus(const struct readings *r);    /* 0: not said */
