/*
 * template.h: a sentence with names to be filled in: "{place} is held by {user} and idle for {idle}". A name that is
 * not known is a mistake, found when the sentence is read; a value that is not known is "-". "{{" is a brace, and so is
 * "}}".
 *
 * Texts of vesta's settings work as they are: {host_name} and {lost_th}, or {} for the first and the second of them.
 */
#pragma once

#include "base/err.h"
#include "model/now.h"

struct buf;

#define TEMPLATE_MAX 1000

/* What a sentence is about. Borrowed. */
struct template_scene {
    const struct node_now *n;   /* NULL: of none; then what it would say is not known */
    const struct device_now *d; /* NULL: of the node */
    int64_t now_ms, since_ms;   /* it has been so since */
    int64_t lost_ms;            /* without news for so long a node is down */
};

/* 0, or -EINVAL with a sentence. */
int template_check(struct str text, struct err *err);
/* Numbers as people read them. */
void template_fill(struct buf *out, const char *text, const struct template_scene *s);
