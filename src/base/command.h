/*
 * command.h: runs a program on the loop and reads its output, limited in time and bytes.
 * needs: the environment it gets, as in process.h. done is called once, unless the caller stopped the command first. No
 * shell is involved; the locale is C.
 */
#pragma once

#include "base/err.h"
#include "base/process.h"

struct event_base;

struct command_result {
    const char *error; /* NULL: exit status 0; else an error message */
    int status;        /* exit status; -1: it did not exit by itself */
    struct str out;
};
typedef void command_done_fn(void *arg, const struct command_result *r);

struct command;
int command_start(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs,
                  size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg, struct err *err);
/* The same, with `in` as its standard input, which then ends. */
int command_start_with_input(struct command **ret, struct event_base *loop, const char *const *argv, unsigned needs,
                             struct str in, size_t out_max, int64_t limit_ms, command_done_fn *done, void *arg,
                             struct err *err);
void command_stop(struct command *c); /* accepts NULL; the loop reaps the process */
