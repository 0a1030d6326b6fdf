/*
 * muster.h: libmuster, GPU samples from inside a program. Link with -lmuster, or load libmuster.so.0.
 *
 * A sampler reads this machine's GPUs in a thread of its own, every 10 ms to 60 s, and keeps what it read in bounded
 * memory, then on disk. The program sets labels (job, dag, tasks, any other) and values of its own; they are in force
 * from then on, for every sample that follows. Samples are read back one by one, as columns, or as CSV.
 *
 *     char why[256];
 *     muster_sampler *s;
 *     struct muster_options o = {.size = sizeof(o), .interval_us = 10000};
 *     if (muster_open(&s, &o, why, sizeof(why)) < 0 || muster_start(s, why, sizeof(why)) < 0)
 *         ...say why...
 *     muster_label(s, "job", "1");
 *     ...work...
 *     muster_stop(s);
 *     muster_write_csv(s, "gpus.csv", why, sizeof(why));
 *     muster_close(s);
 *
 * Promises (tests quote the numbers):
 * L1 Functions that can fail return 0 or a count, or a negative errno; with `err`, a sentence for people goes there too
 *    (cut to err_size, always terminated; err may be NULL).
 * L2 Any function may be called from any thread at any time, except that nothing else may be using a sampler while it
 *    is being closed, and that one cursor belongs to one thread at a time.
 * L3 Setting a label or a value never waits for the driver or the disk.
 * L4 A tick that cannot be taken in time is skipped and counted, never made up for: the next one is on the grid again.
 * L5 Memory does not grow with time. What does not fit goes to a file without a name in spill_dir, which the system
 *    removes when the sampler is closed or the process ends, however it ends. If that disk is full, the oldest samples
 *    not yet on disk are dropped and counted, and muster_error says so.
 * L6 No signal handlers, no signals to our threads, no environment changed, nothing printed. Two samplers do not know
 *    of each other.
 * L7 After fork() the child's copy of a sampler is dead: every call on it returns -ECHILD (or NULL, or 0 where a count
 *    of devices or names is asked for), muster_close releases nothing and harms nothing. The parent goes on.
 * L8 What the driver does not tell is absent: -ENODATA, NaN, an empty cell; never zero.
 * L9 Functions and fields are added, never changed or taken away, while the library is libmuster.so.0. Every struct
 *    begins with its size as the caller knows it: fields behind that are as if zero.
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
     * these, which is a dask-cuda worker's. Otherwise indexes and uuids (or their beginnings), with commas: "0,2". The
     * order of devices is always that of the driver.
     */
    const char *devices;
    /*
     * Names with commas; NULL: "total-mem,mem-util,compute-util". A name is a device metric of metrics.def (util,
     * power, temp, ...; docs/libmuster.md lists them), in base units, or one of the old names:
     *
     *     total-mem         memory used, bytes
     *     mem-util          memory controller busy, percent
     *     compute-util      GPU busy, percent
     *     mem-used-percent  memory used of all there is, percent
     *
     * "tasks" asks for the column that the label of this name fills.
     */
    const char *metrics;
    /* Keep at most this many samples in memory before they go to disk; 0: as many as fit in 1 MiB. */
    uint64_t mem_limit;
    /* An existing folder for what does not fit in memory; NULL: $TMPDIR, or /tmp. Nothing is made there before it is
     * needed. */
    const char *spill_dir;
};

/*
 * Find the devices and have everything ready; no sample is taken yet. o may be NULL: all defaults. -ENODEV: no GPU,
 * with a sentence that says what was looked for; -EINVAL: an option that cannot be; -ENOMEM. The caller closes *ret,
 * which is untouched on failure.
 */
int muster_open(muster_sampler **ret, const struct muster_options *o, char *err, size_t err_size);
/* Stops it first. Accepts NULL. Cursors are closed before. */
void muster_close(muster_sampler *s);

/* "0.1.0": of the library. */
const char *muster_version(void);
/* MUSTER_API of the library. */
int muster_api(void);

/* ---- what there is; does not change after muster_open ---- */

int muster_devices(const muster_sampler *s);                         /* how many */
int muster_device_index(const muster_sampler *s, int device);        /* the driver's index; -EINVAL: no such device */
const char *muster_device_uuid(const muster_sampler *s, int device); /* NULL: no such device */
const char *muster_device_name(const muster_sampler *s, int device);
int muster_metrics(const muster_sampler *s); /* how many */
const char *muster_metric_name(const muster_sampler *s,
                               int metric); /* as asked for; in the order of the CSV's columns */
const char *muster_metric_unit(const muster_sampler *s,
                               int metric);                        /* "bytes", "percent", "ratio", "watts", ... or "" */
int muster_metric_find(const muster_sampler *s, const char *name); /* -ENOENT: not among those asked for */

/* ---- sampling ---- */

/* Start the thread: the first sample is taken at once. 0 also when it runs already. The first start is the moment that
 * sample times count from. */
int muster_start(muster_sampler *s, char *err, size_t err_size);
/* 0 once the thread has ended, also when none ran. -ETIMEDOUT: a call to the driver has not returned for two seconds;
 * the thread is given up, and the sampler takes no more samples. */
int muster_stop(muster_sampler *s);
/* Without a thread: take one sample now, in the calling thread. -EBUSY while the thread runs. */
int muster_tick(muster_sampler *s);

/*
 * In force for the samples that follow, until set again. Name: 1 to 63 bytes, of value at most 8191; no control
 * characters. value NULL: no longer set. Labels "job" and "dag" are "0" until set. At most 16 labels.
 */
int muster_label(muster_sampler *s, const char *name, const char *value);
/*
 * A value of the program's own, sampled with the devices': device 0 and up, or -1 for one that is not of a device; a
 * name is the one or the other throughout (-EINVAL). Numbers or text (at most 1023 bytes); NaN or NULL: absent again.
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
    int64_t samples; /* taken since opening or muster_clear */
    int64_t skipped; /* ticks not taken because the one before was late */
    int64_t failed;  /* of the samples: those in which the driver gave nothing */
    int64_t spilled; /* samples on disk */
    int64_t spilled_bytes;
    int64_t dropped;      /* samples lost because they could not be written */
    int64_t memory_bytes; /* room for samples in memory */
    int64_t slowest_us;   /* the longest that reading the devices took */
};
int muster_stats(const muster_sampler *s, struct muster_stats *ret);
/* What went wrong since opening or muster_clear, newest (disk full, driver gone): copied to err. 0: nothing; otherwise
 * the negative errno. */
int muster_error(const muster_sampler *s, char *err, size_t err_size);

/* ---- reading ---- */

/* Samples there are. They are numbered from 0; numbers of dropped samples are missing. */
int64_t muster_count(const muster_sampler *s);
/* Forget all samples, on disk too; labels and values stay in force, time goes on. Open cursors get -ESTALE. */
int muster_clear(muster_sampler *s);

/*
 * A cursor walks samples in order, from number `from` on, over those on disk and those in memory, also while sampling
 * goes on. It stands before the first one. -ENOMEM.
 */
int muster_cursor_open(muster_sampler *s, int64_t from, muster_cursor **ret);
/* 1: it stands on the next sample; 0: there is none yet (ask again later); -ESTALE after muster_clear; -EIO, -EBADMSG:
 * the disk. */
int muster_cursor_next(muster_cursor *c);
void muster_cursor_close(muster_cursor *c); /* accepts NULL */
/* Of the sample it stands on. Text is the cursor's, until it moves. */
int64_t muster_cursor_number(const muster_cursor *c);
double muster_cursor_time(const muster_cursor *c); /* seconds since the first muster_start */
double muster_cursor_wall(const muster_cursor *c); /* seconds since 1970 */
int muster_cursor_metric(const muster_cursor *c, int metric, int device, double *ret);      /* -ENODATA: absent */
const char *muster_cursor_label(const muster_cursor *c, const char *name);                  /* NULL: not set */
int muster_cursor_value(const muster_cursor *c, const char *name, int device, double *ret); /* -ENODATA: absent, text */
const char *muster_cursor_text(const muster_cursor *c, const char *name, int device); /* NULL: absent, or a number */

/*
 * One metric of one device as columns: at most max samples from number `from` on, absent ones as NaN. times may be
 * NULL. How many there were, or a negative errno. *next (may be NULL) is the number to go on from.
 */
int64_t muster_read(muster_sampler *s, int metric, int device, int64_t from, int64_t max, double *times, double *values,
                    int64_t *next);

/*
 * The highest value per device of a metric, or of a value set with muster_value, over all samples: fn is called once
 * for each value of the label "job" in order of appearance, or once with job NULL when per_job is 0. n is the number of
 * devices (1 for a value that is not of a device); NaN where there is none. fn returning other than 0 ends it, and that
 * is returned. -ENOENT: no such metric or value.
 */
typedef int (*muster_peaks_fn)(void *arg, const char *job, const double *peaks, int n);
int muster_peaks(muster_sampler *s, const char *metric, int per_job, muster_peaks_fn fn, void *arg);

/*
 * All samples as CSV, as dask-metrics wrote it: job,dag,timestamp, then of total-mem, mem-util, compute-util and tasks
 * those asked for, other metrics, other labels, and the program's own values. A cell of several devices is "a, b" in
 * quotes. The file appears whole or not at all; beside it, with .json instead of .csv, what the columns and devices
 * are, and the notes. -errno with a sentence.
 */
int muster_write_csv(muster_sampler *s, const char *path, char *err, size_t err_size);
/*
 * The same as text, in pieces: at most max samples from number `from` on, with the header line before them if header is
 * not 0. *ret is given back with muster_free. How many samples there were, or a negative errno. *next as in
 * muster_read.
 */
int64_t muster_csv_text(muster_sampler *s, int64_t from, int64_t max, int header, char **ret, size_t *ret_len,
                        int64_t *next);
/* The content of the companion file, ended with 0. To be given back with muster_free. */
int muster_about(muster_sampler *s, char **ret);
void muster_free(void *p); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif
