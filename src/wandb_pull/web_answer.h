/*
 * web_answer.h: what W&B answered, read: the data of a GraphQL question, or what went wrong, in whichever of the four
 * shapes it is said: {"errors":[{"message"}],"data"}, {"error":"text"}, {"error":{"message"}}, {"errors":["text"]}.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

/*
 * A question's answer with its HTTP status. 0: *ret is its "data", an object, the caller's. Else the code that
 * wandb_pull/web_api.h lists, with a sentence that begins with what (the operation's name). Errors beside data are
 * errors: part of a page is not a page.
 */
int wandb_answer_data(const char *what, int status, struct str body, json_t **ret, struct err *err);
/* The same for what is no question: 0 for 2xx. */
int wandb_answer_status(const char *what, int status, struct str body, struct err *err);
/* Whether the vendor's client tries again after this HTTP status (0: no answer). */
bool wandb_again(int status, bool conflict_again);
