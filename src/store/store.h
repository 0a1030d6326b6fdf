/* store.h: a store that is open, for the files of this folder. */
#pragma once

#include <stdatomic.h>

#include "store/archive.h"
#include "store/compact.h"
#include "store/past.h"

struct store {
    struct store_conf
        conf; /* as it was opened; beside a running hub all zero but for dir, which is ours (or the url), and decoder */
    int lock_fd;
    struct done_queue done;
    bool has_done;
    struct records *rec;     /* the caller's */
    struct batch_rows *rows; /* NULL: a folder, or tools */
    struct writer *w;        /* NULL: tools */
    struct compact *compact;
    struct archiver *archiver; /* NULL: no archive */
    struct past *past;         /* NULL: no decoder */
    bool loaded;               /* thread is to wait for the disk no more: */
    pthread_t thread;
    uint64_t waits;     /* how often it did all the same */
    atomic_int helpers; /* threads that read for questions */
};
