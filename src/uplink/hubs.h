/*
 * hubs.h: hubs that stand in for each other: a list of addresses with commas between, of which one is spoken to at a
 * time, and one folder for all of them.
 */
#pragma once

#include "base/str.h"

struct buf;

size_t hubs_count(const char *list);
struct str hubs_item(const char *list, size_t i);    /* of a list with a single item that one, whatever i is */
size_t hubs_find(const char *list, const char *hub); /* where it is; 0, the first, when it is not there */
/* A name for one hub's folder: the URL without its scheme, made safe. */
void hub_leaf(struct str hub, struct buf *out);
/* The folder of the state, below state_dir/hubs: of several hubs the first that has one, else that of the first of
 * them; so it stays when hubs are added, or given in another order. state_dir NULL: that of the first. */
void hubs_folder(const char *list, const char *state_dir, struct buf *out);
