/*
 * cmd_gpu_request.h: the options that select GPUs, for `muster free` and `muster wait`, at a hub or on this machine
 * only.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "book/queue.h"
#include "cli/client.h"

struct gpu_request_conf {
    int64_t mem, free_for, need;
    char *model, *host;
    bool same_host;
};
#define GPU_REQUEST_OPTS(strct, field)                                                                                 \
    OPTN(strct, "mem", field.mem, 0, OPT_BYTES, "0", "SIZE", "at least this much free memory, e.g. 40G",               \
         .default_text = "any", .verbs = "wait tell"),                                                                 \
        OPTN(strct, "model", field.model, 0, OPT_STR, NULL, "PATTERN", "only this model, e.g. H200",                   \
             .verbs = "wait tell"),                                                                                    \
        OPTN(strct, "host", field.host, 0, OPT_STR, NULL, "PATTERN",                                                   \
             "only these nodes, e.g. 'dgx*', or one GPU: 'dgx2:3'", .verbs = "wait tell"),                             \
        OPTN(strct, "same_host", field.same_host, 0, OPT_BOOL, NULL, NULL, "all GPUs on one node",                     \
             .verbs = "wait tell"),                                                                                    \
        OPTN(strct, "for", field.free_for, 0, OPT_DURATION, "15s", "TIME",                                             \
             "only GPUs that have been free at least this long", .min = 0, .max = 604800000, .verbs = "wait tell"),    \
        OPTN(strct, "need", field.need, 0, OPT_DURATION, "1h", "TIME",                                                 \
             "only GPUs that no other user has booked within this time", .min = 0, .max = 604800000,                   \
             .verbs = "wait tell")

/* Writes the options for the hub: as members of an object, or as parameters of a path. */
void gpu_request_json(struct json *j, const struct gpu_request_conf *w, int64_t count);
void gpu_request_params(struct buf *path, const struct gpu_request_conf *w, int64_t count);
/* The options for pick_among. Borrows from w. */
struct pick_request gpu_request_local(const struct gpu_request_conf *w, int64_t count, int64_t now_ms);

/* Devices that were found, for output. */
struct found_gpus {
    char places[BOOKING_PLACES_MAX]; /* "dgx2:0,1" */
    struct buf uuids;                /* comma-separated */
    bool here;                       /* all of them are on this machine, by name */
    int64_t free_until_ms;           /* start of the first booking of one of them; 0: none, or unknown */
};
/* This machine's name: the agent's name by default. */
const char *gpu_request_host(char out[NAME_MAX_LEN]);
/* Reads the hub's reply: {"where", "devices": [{"device"}]}. */
struct json_t;
void found_read(struct json_t *o, struct found_gpus *ret);
