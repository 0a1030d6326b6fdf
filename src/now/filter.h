/*
 * filter.h: the filter language (docs/filter.md): `free model:h200 memfree>=40G`. One implementation for every list,
 * stream and screen. Compiles text to a small program once; running it allocates nothing and never recurses.
 *
 * F1 Text is limited: FILTER_MAX bytes, FILTER_DEPTH nested parentheses, FILTER_TERMS conditions, FILTER_WORDS bare
 *    words.
 * F2 An error names the column (in characters, from 1) and what was expected there.
 * F3 Three values: an unknown value is neither true nor false, and `not` keeps it unknown. Only certain truth matches.
 * F4 Values of a stale, hung or lost device are unknown, except its total memory and its last seen processes.
 */
#pragma once

#include "model/now.h"

#define FILTER_MAX   1024
#define FILTER_DEPTH 32
#define FILTER_TERMS 128
#define FILTER_WORDS 8 /* each bare word is searched on every GPU, whatever else matches */

struct filter;

/* The kinds of a filter's bare words seen so far, one bit per kind. Initialise with zeros. */
struct filter_kinds {
    uint8_t of[FILTER_WORDS];
};

struct filter_err {
    unsigned column;
    char message[240]; /* without the column */
};

/* me: the user that `mine` matches; NULL or empty: `mine` is an error. Returns 0, or -EINVAL and sets err; ret is
 * unchanged then. */
int filter_new(struct str text, const char *me, struct filter **ret, struct filter_err *err);
/* The same for stored filters, such as those of rules: a bare word is an error. */
int filter_new_exact(struct str text, const char *me, struct filter **ret, struct filter_err *err);
void filter_free(struct filter *f);
void filter_free_ptr(struct filter **f);
#define AUTO_FILTER __attribute__((cleanup(filter_free_ptr))) struct filter

const char *filter_text(const struct filter *f); /* as given, without surrounding spaces */
/* A key that distinguishes filters that may match differently: the text, and the user of `mine` if used. */
const char *filter_key(const struct filter *f);
/* Whether matches can change with time alone: the filter uses idle, since or age. */
bool filter_is_timed(const struct filter *f);

/* d NULL: matches the node itself, whose device values are unknown. */
bool filter_match(const struct filter *f, const struct node_now *n, const struct device_now *d, int64_t now_ms);
/* Whether any device of n matches, or n itself if it has no devices. */
bool filter_match_node(const struct filter *f, const struct node_now *n, int64_t now_ms);
/* Like filter_match with p as the only process, also if d is NULL: user, program and similar fields only match p. */
bool filter_match_proc(const struct filter *f, const struct node_now *n, const struct device_now *d,
                       const struct proc_now *p, int64_t now_ms);

/* A bare word is a person, node, model or program, whichever matches. Call this for every node, matching or not; ... */
void filter_see(const struct filter *f, const struct node_now *n, int64_t now_ms, struct filter_kinds *k);
/* ... then this returns the kinds: "kim: person, h200: model"; "" without bare words. True: a word matches nothing. */
bool filter_describe(const struct filter *f, const struct filter_kinds *k, char out[FILTER_SAID]);

/* Field names, except those of metrics.def; NULL at the end. */
const char *filter_name(size_t i);
/* Form of field i: "host:dgx1", "mem>40G", or a single word: "free". */
enum filter_kind { FILTER_TEXT, FILTER_NUMBER, FILTER_WORD };
enum filter_kind filter_kind(size_t i);
