/*
 * words.h: reads what people write of GPUs and times, in any order: "4 h200 on dgx2 with 40G for 2h from tomorrow
 * 9:00". Views into the text; nothing is copied.
 */
#pragma once

#include "slack/talk.h"

struct dialog_words {
    int64_t count;                     /* 0: not said */
    struct str model, node, mem;       /* "h200", "dgx*", "40G"; empty: not said */
    struct str places;                 /* "dgx2:0,1 dgx3:4" */
    bool one_node;                     /* all on one */
    int64_t for_ms, from_ms, until_ms; /* 0: not said */
    struct str because;                /* what for */
    struct str odd;                    /* the first word that is none of these; empty: none */
};
/* False: a time is not one, and the answer says so. */
bool dialog_words(struct dialog *s, struct str text, struct dialog_words *ret);

/* Is it one of these words, which have blanks between? same: strncmp, or strncasecmp for any case of letters. */
bool dialog_is_one(struct str w, const char *words, int (*same)(const char *a, const char *b, size_t n));

/* A length of time at the beginning of *rest, as many words as belong to it: "2h", "1 day". False: none, rest stays. */
bool dialog_span(struct str *rest, int64_t *ret);
/* The same for a moment: "tomorrow 9:00", "friday". */
bool dialog_time(const struct dialog *s, struct str *rest, int64_t *ret);
bool dialog_is_node(const struct dialog *s, struct str name);
/* "dgx2:3" or "dgx2:0,1": a node we have, and which GPUs. */
bool dialog_is_place(const struct dialog *s, struct str word, struct str *ret_node, struct str *ret_gpus);
const char *dialog_when(struct dialog *s, int64_t at_ms); /* as people say it, in the asker's zone; kept */
