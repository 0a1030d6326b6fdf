/*
 * sign.h: checks that Slack sent a request. Its signature is over the time it was sent and the bytes of the body as
 * they came; one that is older than five minutes, or from the future, counts for nothing, so that none can be sent
 * again.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SLACK_WINDOW_S 300

/* 0, or -EACCES with a sentence that tells nothing of the secret. now_ms: wall time. */
int slack_sign_check(struct str secret, struct str timestamp, struct str signature, struct str body, int64_t now_ms,
                     struct err *err);
/* "v0=..." onto the end of ret; for tests, and for who signs. */
struct buf;
void slack_sign(struct str secret, struct str timestamp, struct str body, struct buf *ret);
