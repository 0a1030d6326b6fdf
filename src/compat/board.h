/*
 * board.h: the static page that Web-GPU-Monitor's users have on a wall: hosts, their GPUs, red or green. What it
 * shows comes from load_data.csv or from a view; the page is one file that asks for nothing else. Pure.
 *
 * A row is red when load >= 5 %, memory-controller load > 2 % or somebody has a process on it (the old rule), or when
 * the hub says that the GPU is held or busy; green when none of that is so; grey when that is not known.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "model/now.h"

#define BOARD_CSV_MAX  (16u << 20) /* bytes of load_data.csv */
#define BOARD_GPUS_MAX 65536
#define BOARD_CELL_MAX 4096u /* bytes of users; other cells have NAME_MAX_LEN */
#define BOARD_HTML_MAX (64u << 20)

enum board_mark { BOARD_FREE, BOARD_TAKEN, BOARD_UNKNOWN };

struct board_gpu {
    char label[24]; /* "0"; "0.3" is a MIG instance */
    enum board_mark mark;
    int64_t load, load_mem;      /* percent; -1: not known */
    int64_t mem_used, mem_total; /* bytes; -1: not known */
    const char *name, *uuid;
    const char *users; /* distinct, "kim, lee"; "" for none */
    const char *why;   /* what is to be said of it besides; "" for nothing */
};

struct board_host {
    const char *name;
    const char *why; /* why there is nothing to show, or what is wrong; "" when all is well: it was read */
    size_t n;
    struct board_gpu *v;
};

struct board {
    int64_t at_ms; /* last update */
    bool demo;
    const char *notice; /* "" for none */
    size_t n;
    struct board_host *v; /* in the order of names */
    struct arena arena;   /* holds all of it */
};

/* *ret is overwritten; untouched on failure. at_ms: the file's time. Errors name the line. */
int board_csv(struct str csv, int64_t at_ms, struct board *ret, struct err *err);
/* Hosts that were not read since: "hostname,reason" in each line. One that has rows loses them. On failure b is as it
 * was. */
int board_unread(struct str csv, struct board *b, struct err *err);
void board_view(const struct view *v, struct board *ret);
void board_fini(struct board *b);

struct board_page {
    const char *title;          /* of window and page */
    int64_t refresh_s, stale_s; /* reloads itself so often; says that it is old when it is older than that */
};
void board_html(struct buf *out, const struct board *b, const struct board_page *p);
