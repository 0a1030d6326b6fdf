/*
 * usage_code.h: a span of usage <-> few bytes. The caller writes names: as text in the writer's queue, as numbers of a
 * table on disk.
 *
 * u8 2; varints: how many numbers a device has, and a login; varint devices; of each: name of the device, name of its
 * model, its numbers as varints, varint logins; of each: name, its numbers. model/usage.def lists the numbers. (u8 1,
 * the older format of hours: the same without these counts; a device has 4, a login 5.)
 */
#pragma once

#include "base/mem.h"
#include "model/usage.h"

struct buf;
struct rd;

#define USAGE_BYTES_MAX (8u << 20) /* of one span */

struct usage_names {
    int (*put)(void *arg, struct buf *out, const char *name); /* 0 or -errno */
    const char *(*get)(void *arg, struct rd *in);             /* NULL if unknown */
    void *arg;
};

int usage_encode(const struct usage_span *s, const struct usage_names *names, struct buf *out);
/* All memory except the names belongs to mem. Returns -EBADMSG if invalid. at_ms and end_ms are not included. */
int usage_decode(struct rd *in, const struct usage_names *names, struct arena *mem, struct usage_span *ret);
/* Names as text; get copies them to mem. */
struct usage_names usage_text_names(struct arena *mem);

/* Sum of several spans of one node. sum is zero at first; names and devices are borrowed, or belong to mem. */
struct usage_sum_up {
    struct arena *mem;
    struct usage_device *v;
    size_t n, cap, hint;
    size_t *caps; /* capacity of each device's held */
};
void usage_sum_add(struct usage_sum_up *u, const struct usage_span *s);
struct usage_span usage_sum_span(const struct usage_sum_up *u, int64_t at_ms, int64_t end_ms);
