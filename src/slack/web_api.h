/*
 * web_api.h: Slack's Web API, on the loop: one method asked, or one message posted with all that belongs to it. Knows
 * the protocol, not what an alert is.
 *
 * L1 done is called once for each request, never from inside the call that made it, and not after slack_request_free.
 * L2 The token goes to the base address alone, and into no sentence. L3 An answer is limited in bytes and time, and
 * redirects are not followed. L4 Addresses to answer to lie under the known one; uploads go over https.
 */
#pragma once

#include <event2/event.h>

#include "base/err.h"
#include "model/message.h"
#include "slack/web_answer.h"

struct slack_server {
    const char *api;     /* "https://slack.com/api" */
    const char *hooks;   /* "https://hooks.slack.com" */
    const char *ca_file; /* NULL: the system's */
};

struct slack;
int slack_new(struct slack **ret, struct event_base *loop, const struct slack_server *at, struct err *err);
void slack_set(struct slack *s, const struct slack_server *at); /* what is asked from now on is asked there */
void slack_free(struct slack *s);                               /* after what was asked */

typedef void slack_done_fn(void *arg, const struct slack_result *r);
struct slack_request;
/* One method, with at most one argument (name NULL: none), as a form: methods that read take no JSON. */
int slack_request(struct slack_request **ret, struct slack *s, const char *method, struct str token, const char *name,
                  const char *value, slack_done_fn *done, void *arg, struct err *err);
/*
 * A message, which is borrowed until it is done. to: a channel ("#gpus", "C0123"), a person ("U0123", or a mail
 * address), or an address to answer to, which gets no files. What was posted before the files failed is not posted
 * again when the same message (by its id) comes a second time.
 */
int slack_post(struct slack_request **ret, struct slack *s, struct str token, const char *to, const struct message *m,
               slack_done_fn *done, void *arg, struct err *err);
void slack_request_free(struct slack_request *k); /* done is not called; not inside it. Accepts NULL */
