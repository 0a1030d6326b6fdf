/*
 * web_answer.h: reads the replies of W&B: the data of a GraphQL query, or an error in one of four shapes:
 * {"errors":[{"message"}],"data"}, {"error":"text"}, {"error":{"message"}}, {"errors":["text"]}.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

/*
 * Reads a query's reply with its HTTP status. Returns 0 with its "data", an object that the caller owns, in *ret.
 * Otherwise returns a code listed in wandb_pull/web_api.h, with a message that starts with what (the operation's name).
 * A reply with both errors and data is an error: part of a page is not a page.
 */
int wandb_answer_data(const char *what, int status, struct str body, json_t **ret, struct err *err);
/* The same for requests that are not queries: 0 for 2xx. */
int wandb_answer_status(const char *what, int status, struct str body, struct err *err);
/* True if the vendor's client retries after this HTTP status (0: no reply). */
bool wandb_is_retryable(int status, bool conflict_again);
