/* store.h: an open store, for the files of this folder. */
#pragma once

#include <stdatomic.h>

#include "store/archive.h"
#include "store/compact.h"
#include "store/past.h"

struct store {
    struct store_conf conf; /* as opened; after store_open_tools() all zero, except dir (which is ours, or the
                             * url) and decoder */
    int lock_fd;
    struct done_queue done;
    bool has_done;
    struct records *rec;     /* connection of the caller's thread */
    struct batch_rows *rows; /* NULL: a folder, or opened with store_open_tools() */
    struct writer *w;        /* NULL: opened with store_open_tools() */
    struct compact *compact;
    struct archiver *archiver; /* NULL: no archive */
    struct past *past;         /* NULL: no decoder */
    bool loaded;               /* thread must no longer wait for the disk */
    pthread_t thread;
    uint64_t waits;     /* how often it waited anyway */
    atomic_int helpers; /* threads that currently help with queries */
};
