/*
 * command.h: a program that is run for its output, on the loop: started, read, limited in time and bytes.
 * needs: of the environment, as in process.h. done is called once, unless it was stopped first. No shell is involved;
 * its locale is C.
 */
#pragma once

#include "base/err.h"
#include "base/process.h"

struct event_base;

struct command_result {
    const char *error; /* NULL: it ended with status 0; else a sentence */
    int status;        /* it ended with; -1: not by itself */
    struct str out;
};
typedef void command_done_fn(void *arg, const struct command_result *r);

struct command;
int command_start(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs,
                  size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg, struct err *err);
/* The same, with `in` for its standard input, which then ends. */
int command_ask(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs, struct str in,
                size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg, struct err *err);
void command_stop(struct command *c); /* accepts NULL; its end is seen to on the loop */
