/*
 * aim.h: tagged processes, and a signal for them or for the selected one, after a confirmation. Targets are held by a
 * handle (feed.h): another process that gets the same pid is not hit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define AIM_MAX 64

struct top;

struct signal_target {
    int fd;
    int32_t pid;
    char name[64];
};

struct aim {
    uint64_t *tags; /* ids of items */
    size_t n_tags, cap_tags;
    bool asking;  /* the dialog is open */
    unsigned sig; /* index of the offered signal */
    size_t n;
    struct signal_target v[AIM_MAX];
    char said[160]; /* result; empty: none */
};

void aim_fini(struct aim *a);
bool aim_tagged(const struct aim *a, uint64_t id);
void aim_tag(struct top *t);   /* toggles the tag of the selected process */
void aim_begin(struct top *t); /* opens the dialog */
void aim_key(struct top *t, int key);
void aim_words(const struct aim *a, struct buf *out); /* text of the dialog */
