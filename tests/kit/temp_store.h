/*
 * temp_store.h: a folder for as long as a test runs, and a store in it. For unit tests and fuzz targets: cmocka is not
 * needed here, and what cannot be made ends the program.
 */
#ifndef TESTS_KIT_TEMP_STORE_H
#define TESTS_KIT_TEMP_STORE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "sql/pg.h"
#include "store/samples.h"

static inline char *dir_new(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = mem_fmt("%s/muster-store-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (!mkdtemp(path)) {
        perror(path);
        abort();
    }
    return path;
}

/* In memory where there is a place for it: nothing waits for a disk. */
static inline char *dir_new_quick(void)
{
    char *path = mem_str("/dev/shm/muster-store-XXXXXX");

    if (mkdtemp(path))
        return path;
    free(path);
    return dir_new();
}

/* Calls each with every name in the folder. */
static inline void dir_each(const char *dir, void (*each)(void *arg, const char *path, const char *name), void *arg)
{
    DIR *d = opendir(dir);

    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, e->d_name);
        each(arg, path, e->d_name);
    }
    closedir(d);
}

static inline void dir_unlink_one(void *arg, const char *path, const char *name)
{
    (void)arg;
    (void)name;
    unlink(path);
}

static inline void dir_empty(const char *dir)
{
    dir_each(dir, dir_unlink_one, NULL);
}

static inline void dir_free(char *dir)
{
    dir_empty(dir);
    rmdir(dir);
    free(dir);
}

/* Where a store is: a folder, or a server, on which each is another hub. */
static inline void conf_place(struct store_conf *conf, const char *place)
{
    static int64_t hubs;

    conf->dir = place;
    conf->url = pg_is_place(place) ? place : NULL;
    conf->hub = ++hubs;
}

/* The hub's own store, which commits at once. It has no decoder, so there is no history. */
static inline struct store *store_new_for_test(const char *place, struct event_base *loop)
{
    struct store_conf conf = {.commit_ms = 1};
    struct store *s = NULL;
    struct err err = {0};

    conf_place(&conf, place);
    if (store_open(&s, &conf, loop, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    return s;
}

#endif
