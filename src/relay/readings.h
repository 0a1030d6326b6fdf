/*
 * readings.h: reads the files of GPU Monitor's node scripts, <HOST>_gpus.csv and similar, as its page does. Pure: it
 * gets the files from the caller, so it can be tested and fuzzed without any.
 *
 * E1 Malformed rows and an incomplete last line are skipped. Of several rows of a GPU the last counts.
 * E2 A GPU that is missing in the newest sweep is gone, unless the file may be too short for all GPUs.
 * E3 Processes of a GPU are rows at most 3 s older than the newest of them and at most 60 s older than the newest GPU
 *    row. Their owner is the user in ps, else the user of the first child in ps. Otherwise the owner is unknown; such
 *    processes are left out on a GPU with less than 10 MiB in use.
 * E4 Times are in the node's zone. It is configured, or computed from the clock time of `uptime` and the time that file
 *    was written.
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
/*
 * Parses "gpu01_gpus.csv" to the host and the kind of file. Returns false if it is neither, or not a valid node name.
 */
bool readings_name(struct str file, struct str *ret_host, enum readings_file *ret);

struct disk {                   /* a file system, in bytes: root reserves some unused space */
    char source[64], mount[60]; /* long names keep the end */
    int64_t used, avail, total; /* avail: below 0 if root uses its reserve, as in df; never in a sum */
};
/* Parses a line of df -P, "/dev/sda1 1000 250 700 27% /". Returns false if it is not such a line. */
bool disk_row(struct str line, struct disk *ret);
void disk_sum(struct disk *all, const struct disk *d);
void disk_sample(const struct disk *all, struct sample *ret); /* a total of 0: nothing */

struct readings_zone {
    bool automatic; /* E4; UTC, as on the page, if nothing else is known */
    int64_t offset_ms;
};
/* Parses "auto", "UTC", "+02:00", "-0330". Returns 0, or -EINVAL with a message in err. */
int readings_zone(const char *text, struct readings_zone *ret, struct err *err);

struct readings;
struct readings *readings_new(void);
void readings_free(struct readings *r);
/* Replaces the content of a file. written_ms: when it was written, UTC, 0 if unknown. */
void readings_take(struct readings *r, enum readings_file which, struct str text, int64_t written_ms);

int64_t readings_at(const struct readings *r, const struct readings_zone *z); /* of the newest GPU row, UTC; 0: none */
/*
 * Combines all files. Each disk is a custom metric of the node, its mount point with ':' for '/': "disk:var:opt";
 * duplicates get the suffix "_2". Returns false if there is no reading yet.
 */
bool readings_read(const struct readings *r, const struct readings_zone *z, struct reading *ret);
size_t readings_left_out(const struct readings *r); /* number of disks omitted because there are too many */
int32_t readings_cpus(const struct readings *r);    /* 0 if unknown */
