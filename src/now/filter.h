/*
 * filter.h: the filter language (docs/filter.md): `free model:h200 memfree>=40G`. One implementation for every list,
 * stream and screen. Text becomes a small program once; running it allocates nothing and never recurses.
 *
 * F1 Text is capped: FILTER_MAX bytes, FILTER_DEPTH nested parentheses, FILTER_TERMS conditions, FILTER_WORDS bare
 * words. F2 An error names the column (counted in characters, from 1) and what was expected there. F3 Three values:
 * what is not known is neither true nor false, and `not` leaves it so; only what is certainly true matches. F4 Values
 * of a device out of sight (stale, hung, lost) are not known, but for how much memory it has; who was on it when last
 * seen is.
 */
#pragma once

#include "model/now.h"

#define FILTER_MAX   1024
#define FILTER_DEPTH 32
#define FILTER_TERMS 128
#define FILTER_WORDS 8 /* bare ones: each is looked for on every GPU, whatever else matches */

struct filter;

/* What the bare words of a filter are, as far as has been seen: a bit for each kind. Zeroed at first. */
struct filter_kinds {
    uint8_t of[FILTER_WORDS];
};

struct filter_err {
    unsigned column;
    char message[240]; /* a sentence without the column */
};

/* me: who `mine` speaks of; NULL or empty: nobody, and `mine` is an error. -EINVAL with err filled; ret untouched then.
 */
int filter_new(struct str text, const char *me, struct filter **ret, struct filter_err *err);
/* The same for what is written down once and asked again and again, as a rule: a bare word is a mistake there. */
int filter_new_exact(struct str text, const char *me, struct filter **ret, struct filter_err *err);
void filter_free(struct filter *f);
void filter_free_ptr(struct filter **f);
#define AUTO_FILTER __attribute__((cleanup(filter_free_ptr))) struct filter

const char *filter_text(const struct filter *f); /* as it was given, without blanks around it */
/* Tells filters apart that may match differently: the text, and who `mine` is where that matters. */
const char *filter_key(const struct filter *f);
/* Whether passing time alone can change what matches: it asks for idle, since or age. */
bool filter_is_timed(const struct filter *f);

/* d NULL: the node itself, of which nothing is known that only a device has. */
bool filter_match(const struct filter *f, const struct node_now *n, const struct device_now *d, int64_t now_ms);
/* Whether any device of n does, or n itself where it has none. */
bool filter_match_node(const struct filter *f, const struct node_now *n, int64_t now_ms);
/* The same as filter_match with p as the only process, also where d is NULL: user, program and the like speak of it
 * alone. */
bool filter_match_proc(const struct filter *f, const struct node_now *n, const struct device_now *d,
                       const struct proc_now *p, int64_t now_ms);

/* A bare word is a person, a node, a model or a program, whichever fits. Looks at a node, matching or not, … */
void filter_see(const struct filter *f, const struct node_now *n, int64_t now_ms, struct filter_kinds *k);
/* … and says what the words were: "kim: person, h200: model"; nothing where there are none. True: one is nothing. */
bool filter_say(const struct filter *f, const struct filter_kinds *k, char out[FILTER_SAID]);

/* Names a filter can ask for, those of metrics.def left out; NULL at the end. */
const char *filter_name(size_t i);
/* How that one is asked for: "host:dgx1", "mem>40G", or alone: "free". */
enum filter_kind { FILTER_TEXT, FILTER_NUMBER, FILTER_WORD };
enum filter_kind filter_kind(size_t i);
