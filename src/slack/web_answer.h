/*
 * web_answer.h: what an answer of Slack's Web API means: HTTP says 200 of most errors, and the body says which one.
 * Pure; any bytes are survived. No sentence repeats an answer, but for the word Slack has for the error.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"

#define SLACK_ANSWER_MAX (1u << 20)

enum slack_outcome {
    SLACK_DONE,
    SLACK_AGAIN,  /* it may go well another time */
    SLACK_REFUSED /* it will never: what was asked for is not there, or is not as it should be */
};

struct slack_result {
    enum slack_outcome how;
    json_t *body;    /* of what is done: an object, until the callback returns; of a hook or an upload NULL */
    char word[60];   /* what Slack calls the error; "": it has no word for it */
    char error[200]; /* a sentence; "": none */
    int64_t wait_ms; /* again, but not before; 0: not said */
};

/* An answer of the Web API. ret->body is the caller's to json_decref. */
void slack_answer_read(int status, struct str body, int64_t retry_after_ms, struct slack_result *ret);
/* One of an address to answer to, or of an upload: text, "ok" or a word. */
void slack_answer_plain(int status, struct str body, int64_t retry_after_ms, struct slack_result *ret);
const char *slack_text(const json_t *o, const char *key); /* of a member; "": it is not there */
