/*
 * hubs.h: redundant hubs: a comma-separated list of addresses, of which one is used at a time, and one folder for all
 * of them.
 */
#pragma once

#include "base/str.h"

struct buf;

size_t hubs_count(const char *list);
struct str hubs_item(const char *list, size_t i);    /* the only item of a list of one, for any i */
size_t hubs_find(const char *list, const char *hub); /* its index; 0, the first, if not found */
/* A name for one hub's folder: the URL without its scheme, made safe. */
void hub_leaf(struct str hub, struct buf *out);
/*
 * The folder of the state, below state_dir/hubs. With several hubs it is the first existing one, else that of the first
 * hub. So it stays the same if hubs are added or reordered. state_dir NULL: that of the first hub.
 */
void hubs_folder(const char *list, const char *state_dir, struct buf *out);
