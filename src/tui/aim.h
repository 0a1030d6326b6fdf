/*
 * aim.h: tagged processes, and a signal for them or for the chosen one, after a confirmation. What is aimed at is held
 * by a handle from then on (feed.h): a process that ends meanwhile is not mistaken for another with its number.
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
    bool asking;  /* which signal, and whether */
    unsigned sig; /* index of the one that is offered */
    size_t n;
    struct signal_target v[AIM_MAX];
    char said[160]; /* how it went; empty: nothing to say */
};

void aim_fini(struct aim *a);
bool aim_tagged(const struct aim *a, uint64_t id);
void aim_tag(struct top *t);   /* the chosen one, or not any more */
void aim_begin(struct top *t); /* asks */
void aim_key(struct top *t, int key);
void aim_words(const struct aim *a, struct buf *out); /* the question */
