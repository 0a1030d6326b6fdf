/*
 * muster.h: libmuster, GPU samples from inside a program. Link with -lmuster, or load libmuster.so.0.
 *
 * A sampler reads this machine's GPUs in a dedicated thread, every 10 ms to 60 s. It keeps the samples in bounded
 * memory, then on disk. The program sets labels (job, dag, tasks, any other) and its own values; they apply to every
 * sample from then on. Samples are read one by one, as columns, or as CSV.
 *
 *     char why[256];
 *     muster_sampler *s;
 *     struct muster_options o = {.size = sizeof(o), .interval_us = 10000};
 *     if (muster_open(&s, &o, why, sizeof(why)) < 0 || muster_start(s, why, sizeof(why)) < 0)
 *         ...print why...
 *     muster_label(s, "job", "1");
 *     ...work...
 *     muster_stop(s);
 *     muster_write_csv(s, "gpus.csv", why, sizeof(why));
 *     muster_close(s);
 *
 * Promises (tests quote the numbers):
 * L1 Functions that can fail return 0 or a count, or a negative errno. With `err`, they also write a message there (cut
 *    to err_size, always terminated; err may be NULL).
 * L2 All functions are thread-safe, with two exceptions: no other call may use a sampler while it is being closed, and
 *    a cursor belongs to one thread at a time.
 * L3 Setting a label or a value never waits for the driver or the disk.
 * L4 A tick that is late is skipped and counted, never made up for: the next one is on the grid again.
 * L5 Memory does not grow with time. Samples that do not fit go to an unnamed file in spill_dir. The system removes it
 *    when the sampler is closed, or when the process ends in any way. If that disk is full, the oldest samples not yet
 *    on disk are dropped and counted, and muster_error reports it.
 * L6 The library installs no signal handlers, and its threads get no signals. It does not change the environment and
 *    prints nothing. Two samplers are independent.
 * L7 After fork() the child's copy of a sampler is dead: every call on it returns -ECHILD (or NULL, or 0 for the number
 *    of devices or names). muster_close on it releases nothing and is harmless. The parent is not affected.
 * L8 Values that the driver does not report are absent: -ENODATA, NaN, an empty cell; never zero.
 * L9 Functions and fields are added, never changed or removed, while the library is libmuster.so.0. Every struct starts
 *    with its size in the caller's version: fields after that count as zero.
 */
#ifndef MUSTER_H
#define MUSTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_API 1 /* counts up with additions */

typedef struct muster_sampler muster_sampler;
typedef struct muster_cursor muster_cursor;

struct muster_options {
    uint32_t size; /* sizeof(struct muster_options) */
    /* Time between samples in microseconds, 10000 to 60000000; 0: 200000. */
    uint32_t interval_us;
    /*
     * NULL or "auto": the driver that is found. "nvml": NVIDIA's. "replay": a recording of an H200 that comes with the
     * library, as one GPU; "replay:8": as eight; "replay:FILE" and "replay:FILE:8": of a file (format:
     * docs/collect.md).
     */
    const char *collector;
    /*
     * NULL or "all": every GPU. "own": those of CUDA_VISIBLE_DEVICES (all if it is not set); "own:1": the first one of
     * these, which is the GPU of a dask-cuda worker. Otherwise comma-separated indexes and uuids (or their prefixes):
     * "0,2". Devices are always in the driver's order.
     */
    const char *devices;
    /*
     * Comma-separated names; NULL: "total-mem,mem-util,compute-util". A name is a device metric of metrics.def (util,
     * power, temp, ...; docs/libmuster.md lists them), in base units, or one of the old names:
     *
     *     total-mem         memory used, bytes
     *     mem-util          memory controller busy, percent
     *     compute-util      GPU busy, percent
     *     mem-used-percent  memory used of the total, percent
     *
     * "tasks" adds the column for the label of this name.
     */
    const char *metrics;
    /* Keep at most this many samples in memory before they go to disk; 0: as many as fit in 1 MiB. */
    uint64_t mem_limit;
    /*
     * An existing folder for samples that do not fit in memory; NULL: $TMPDIR, or /tmp. The file is created when it is
     * needed.
     */
    const char *spill_dir;
};

/*
 * Finds the devices and prepares sampling; takes no sample yet. o may be NULL: all defaults. Returns -ENODEV if there
 * is no GPU, with a message that lists the places searched; -EINVAL for an invalid option; -ENOMEM. The caller closes
 * *ret, which is unchanged on failure.
 */
int muster_open(muster_sampler **ret, const struct muster_options *o, char *err, size_t err_size);
/* Stops it first. Accepts NULL. Close its cursors before. */
void muster_close(muster_sampler *s);

/* "0.1.0": of the library. */
const char *muster_version(void);
/* MUSTER_API of the library. */
int muster_api(void);

/* ---- devices and metrics; they do not change after muster_open ---- */

int muster_devices(const muster_sampler *s);                         /* how many */
int muster_device_index(const muster_sampler *s, int device);        /* the driver's index; -EINVAL: no such device */
const char *muster_device_uuid(const muster_sampler *s, int device); /* NULL: no such device */
const char *muster_device_name(const muster_sampler *s, int device);
int muster_metrics(const muster_sampler *s); /* how many */
const char *muster_metric_name(const muster_sampler *s,
                               int metric); /* as requested; in the order of the CSV's columns */
const char *muster_metric_unit(const muster_sampler *s,
                               int metric);                        /* "bytes", "percent", "ratio", "watts", ... or "" */
int muster_metric_find(const muster_sampler *s, const char *name); /* -ENOENT: not requested */

/* ---- sampling ---- */

/*
 * Starts the thread, which takes the first sample immediately. Returns 0 also if it runs already. Sample times count
 * from the first start.
 */
int muster_start(muster_sampler *s, char *err, size_t err_size);
/*
 * Returns 0 once the thread has ended, also if none ran. -ETIMEDOUT: a call to the driver has not returned for two
 * seconds; the thread is abandoned, and the sampler takes no more samples.
 */
int muster_stop(muster_sampler *s);
/* Without a thread: takes one sample in the calling thread. -EBUSY while the thread runs. */
int muster_tick(muster_sampler *s);

/*
 * Sets a label for the samples that follow, until set again. Name: 1 to 63 bytes, value: at most 8191; no control
 * characters. value NULL: unset. Labels "job" and "dag" are "0" until set. At most 16 labels.
 */
int muster_label(muster_sampler *s, const char *name, const char *value);
/*
 * The program's own value, sampled with the devices' values: device 0 and up, or -1 for a value without a device. A
 * name is always used for one or the other (-EINVAL). Numbers or text (at most 1023 bytes); NaN or NULL: absent again.
 * At most 64 names.
 */
int muster_value(muster_sampler *s, const char *name, int device, double v);
int muster_text(muster_sampler *s, const char *name, int device, const char *text);
/* About the whole recording, not about samples ("worker", "host"): goes to the CSV's companion file. At most 64. */
int muster_note(muster_sampler *s, const char *name, const char *value);

/* The newest sample's value of a metric. -ENODATA: absent, or no sample yet. */
int muster_latest(const muster_sampler *s, int metric, int device, double *ret);

struct muster_stats {
    uint32_t size; /* sizeof(struct muster_stats), set by the caller */
    uint32_t interval_us;
    int64_t samples; /* since opening or muster_clear */
    int64_t skipped; /* ticks skipped because the one before was late */
    int64_t failed;  /* samples without any value from the driver */
    int64_t spilled; /* samples on disk */
    int64_t spilled_bytes;
    int64_t dropped;      /* samples lost because they could not be written */
    int64_t memory_bytes; /* room for samples in memory */
    int64_t slowest_us;   /* longest time of reading the devices */
};
int muster_stats(const muster_sampler *s, struct muster_stats *ret);
/*
 * The newest error since opening or muster_clear (disk full, driver gone), copied to err. Returns 0 if none, else the
 * negative errno.
 */
int muster_error(const muster_sampler *s, char *err, size_t err_size);

/* ---- reading ---- */

/* Samples there are. They are numbered from 0; numbers of dropped samples are missing. */
int64_t muster_count(const muster_sampler *s);
/* Removes all samples, on disk too; labels and values stay set, time continues. Open cursors get -ESTALE. */
int muster_clear(muster_sampler *s);

/*
 * Opens a cursor, which iterates over samples in order, from number `from`, on disk and in memory, also during
 * sampling. Its initial position is before the first sample. -ENOMEM.
 */
int muster_cursor_open(muster_sampler *s, int64_t from, muster_cursor **ret);
/*
 * Moves to the next sample. Returns 1; 0 if it is not sampled yet (try again later); -ESTALE after muster_clear; -EIO,
 * -EBADMSG for a disk error.
 */
int muster_cursor_next(muster_cursor *c);
void muster_cursor_close(muster_cursor *c); /* accepts NULL */
/* Of the current sample. Text is valid until the cursor moves. */
int64_t muster_cursor_number(const muster_cursor *c);
double muster_cursor_time(const muster_cursor *c); /* seconds since the first muster_start */
double muster_cursor_wall(const muster_cursor *c); /* seconds since 1970 */
int muster_cursor_metric(const muster_cursor *c, int metric, int device, double *ret);      /* -ENODATA: absent */
const char *muster_cursor_label(const muster_cursor *c, const char *name);                  /* NULL: not set */
int muster_cursor_value(const muster_cursor *c, const char *name, int device, double *ret); /* -ENODATA: absent, text */
const char *muster_cursor_text(const muster_cursor *c, const char *name, int device); /* NULL: absent, or a number */

/*
 * One metric of one device as columns: at most max samples from number `from`, absent ones as NaN. times may be NULL.
 * Returns the number of samples, or a negative errno. *next (may be NULL) is the number to continue from.
 */
int64_t muster_read(muster_sampler *s, int metric, int device, int64_t from, int64_t max, double *times, double *values,
                    int64_t *next);

/*
 * The highest value per device of a metric, or of a value set with muster_value, over all samples. Calls fn once for
 * each value of the label "job" in order of appearance, or once with job NULL if per_job is 0. n is the number of
 * devices (1 for a value without a device); NaN if absent. A nonzero result of fn ends it and is returned. -ENOENT: no
 * such metric or value.
 */
typedef int (*muster_peaks_fn)(void *arg, const char *job, const double *peaks, int n);
int muster_peaks(muster_sampler *s, const char *metric, int per_job, muster_peaks_fn fn, void *arg);

/*
 * Writes all samples as CSV in the format of dask-metrics: job,dag,timestamp, then the requested ones of total-mem,
 * mem-util, compute-util and tasks, other metrics, other labels, and the program's own values. A cell of several
 * devices is "a, b" in quotes. The file is written atomically. A companion file with .json instead of .csv describes
 * the columns and devices, and has the notes. Returns -errno with a message in err.
 */
int muster_write_csv(muster_sampler *s, const char *path, char *err, size_t err_size);
/*
 * The same as text, in pieces: at most max samples from number `from`, after the header line if header is not 0. Free
 * *ret with muster_free. Returns the number of samples, or a negative errno. *next as in muster_read.
 */
int64_t muster_csv_text(muster_sampler *s, int64_t from, int64_t max, int header, char **ret, size_t *ret_len,
                        int64_t *next);
/* The content of the companion file, NUL-terminated. Free it with muster_free. */
int muster_about(muster_sampler *s, char **ret);
void muster_free(void *p); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif
