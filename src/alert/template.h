/*
 * template.h: a sentence with holes: "{place} is held by {user} and idle for {idle}". A name that is not known is a
 * mistake, found when it is read; a value that is not known is "-". "{{" is a brace.
 */
#ifndef ALERT_TEMPLATE_H
#define ALERT_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/now.h"

#define TEMPLATE_MAX 1000

/* 0, or -EINVAL with a sentence. */
int template_check(struct str text, struct err *err);
/* Of a GPU, or d NULL of a node; seconds: how long it has been so. Numbers as people read them. */
void template_fill(struct buf *out, const char *text, const struct node_now *n, const struct device_now *d,
                   int64_t now_ms, int64_t since_ms);

#endif
