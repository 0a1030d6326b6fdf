/*
 * census.h: the hub's census: files read, Unix groups asked for, a new one made when any of it changes. The groups come
 * from `getent` in a child process, since a name service may take its time; the loop never waits for it.
 */
#ifndef HUB_CENSUS_H
#define HUB_CENSUS_H

#include "hub/conf.h"
#include "people/census.h"

struct hub;

/* What the census's files say, read whole. */
struct census_files {
    struct buf aliases, companies;
};
void census_files_fini(struct census_files *f);

struct unix_groups;
/* Everything conf tells of people, files included. groups NULL: none are known yet. 0 or -errno with a sentence. */
int census_load(const struct hub_conf *conf, const struct unix_groups *groups, struct census_files *ret_files,
                struct census **ret, struct err *err);

struct census_desk;
struct census_desk *census_desk_new(struct hub *h);
void census_desk_free(struct census_desk *d);
const struct unix_groups *census_desk_groups(const struct census_desk *d);
/* The census in force from now on, and the files it was made of; takes both. Asks for Unix groups where it needs them.
 */
void census_desk_tick(struct census_desk *d, int64_t now_ms); /* memberships begin and end with days */
void census_desk_take(struct census_desk *d, struct census *c, struct census_files *files);

#endif
