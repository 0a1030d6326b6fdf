/*
 * cli.h: what every subcommand does first: defaults, configuration file, environment, flags, --help, errors in one
 * line.
 */
#pragma once

#include "base/opt.h"

/*
 * Fill conf from the table: defaults, then, where the help says so, a YAML file (--config, MUSTER_CONFIG, or
 * /etc/muster/muster.yaml where it exists), MUSTER_… variables, then flags (which may stand between operands).
 * Returns -1 to go on (operands start at *ret_argi), or an exit code (--help printed, or an error said).
 */
int cli_parse(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi);
/* The same without a word to anybody: 0, 1 when --help was asked for, or -errno. For reading a configuration again. */
int cli_load(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi, struct err *err);
int cli_help(const struct opt_cmd *help); /* what --help prints */
/* "muster ls: sentence" on standard error; returns code. */
int cli_fail(const struct opt_cmd *help, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Write to standard output, fit for a terminal (base/plain.h) whoever wrote it; colours only where they are wanted. A
 * closed pipe is a quiet end, anything else is EXIT_REACH. */
int cli_print(const struct opt_cmd *help, const struct buf *out);
int cli_print_json(const struct opt_cmd *help, const struct buf *out); /* the same for JSON, which says what it said */
/* Into a file, whole or not at all, as it is; path NULL: standard output, as cli_print unless it is binary and no
 * terminal reads it. */
int cli_save(const struct opt_cmd *help, const char *path, bool binary, const struct buf *out);
/* The same for what is too long for memory: write is given where to, and returns 0 or -errno with a sentence. */
int cli_stream(const char *path, int (*write)(void *arg, FILE *to, struct err *err), void *arg, struct err *err);
/* Columns of the terminal on standard output, else fallback. */
int cli_width(int fallback);
/* Of a table that a hub makes, as ?width= and &colour= of its path. told: what the user wants, 0: the terminal's; file:
 * it goes there, NULL: to standard output. */
void cli_table_params(struct buf *path, int64_t told, const char *file);
/* Colour wanted: a terminal, TERM not dumb, NO_COLOR not set. */
bool cli_colour(void);
