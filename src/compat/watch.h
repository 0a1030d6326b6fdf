/*
 * watch.h: GPU Monitor's files pushed into a folder, as its nodes did with scp.
 * W1 A file is read when who wrote it has closed it or has moved it there; where that cannot be seen (no inotify, a
 * network file system) when it looks the same twice in a row, LOOK_MS apart. W2 A folder that is not there, or not
 * yet, is looked for again. W3 A machine whose files are gone is left.
 */
#pragma once

#include "compat/filehost.h"

struct watch;
struct watch *watch_new(struct event_base *loop, struct filehosts *all);
void watch_free(struct watch *w);                 /* before the filehosts */
void watch_set(struct watch *w, const char *dir); /* NULL: none */
struct json;
void watch_status_json(const struct watch *w,
                       struct json *j); /* the folder as a source, as finder_status_json has them */
