/*
 * mirror.h: keeps the bookings and GPU Monitor's comments.json the same, both ways. Files are read and written beside
 * the loop; what differs is decided on it.
 *
 * R1 A change on one side reaches the other; where both changed one GPU's entry since they last agreed, the hub's
 * stays, the file is put right, and the log says what was dropped. R2 The file is replaced as a whole or not at all,
 * and not when somebody else wrote it since it was read. R3 What nobody here knows (hosts, members) stays as it is. R4
 * What they last agreed on is kept in the data folder, so a restart is no change.
 */
#pragma once

#include <stdint.h>

struct hub;
struct mirror;
struct mirror *mirror_new(struct hub *h);
void mirror_free(struct mirror *m);                  /* accepts NULL; after the workers have ended */
void mirror_set(struct mirror *m, const char *path); /* NULL: none */
void mirror_update(void *mirror);                    /* bookings have changed */
void mirror_tick(struct mirror *m, int64_t now_ms);  /* once a second */
