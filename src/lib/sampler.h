/* sampler.h: internal data of a sampler, shared by the parts of the library. Its promises are in muster.h. */
#pragma once

#include <sys/types.h>

#include "lib/keep.h"
#include "lib/muster.h"
#include "lib/pick.h"

#define SAMPLER_NOTES 64
#define SAMPLER_BLOCK TAPE_BLOCK_MAX

struct sampler_device {
    char uuid[UUID_MAX], name[NAME_MAX_LEN];
    int index;
    size_t at; /* where it was in the last reading */
};

struct muster_sampler {
    pid_t pid; /* of the process that opened it */
    /* fixed once open */
    const struct collector_ops *ops;
    struct pick pick;
    size_t n_devices;
    struct sampler_device *devices; /* at is the ticking one's */
    int64_t interval_us;
    char collector[16], driver[32];
    /* used by the ticking thread, or muster_tick */
    pthread_mutex_t tick;
    struct collector *collector_state;
    struct reading reading;
    int64_t retry_us; /* after the driver failed: not before this */
    struct held {
        bool have;
        int64_t v, at_us;
    } * held; /* [metric * devices + device]: last values of slow metrics */
    /* under keep.lock */
    struct keep keep;
    struct tape_state now; /* current labels and own values; the newest sample */
    struct tape_state last;
    bool begun, sampled; /* time counts; there was a sample */
    int64_t origin_us, origin_wall_us;
    int64_t skipped, failed, slowest_us;
    struct err error;
    size_t n_notes;
    struct sampler_note {
        char name[TAPE_NAME_MAX];
        char *value;
    } notes[SAMPLER_NOTES];
    bool stop, ended, orphan; /* the thread must end, has ended, must free everything when it ends */
    pthread_cond_t wake;
    /* under life: starting and stopping */
    pthread_mutex_t life;
    bool running, given_up;
    pthread_t thread;
};

/* 0; -EINVAL: NULL; -ECHILD: from before a fork, no call may touch it. */
int sampler_check(const muster_sampler *s);
bool sampler_dead(const muster_sampler *s); /* the same as yes or no */
/* A value of the tape, in the unit of its column. */
double sampler_number(const muster_sampler *s, size_t metric, int64_t v);
/* err into a caller's buffer; returns code. */
int sampler_fail(const struct err *e, int code, char *err, size_t err_size);

/* The sample of a cursor, for the rest of the library. */
const struct tape_state *cursor_state(const muster_cursor *c);
