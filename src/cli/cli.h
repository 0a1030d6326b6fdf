/* cli.h: common parts of all subcommands: defaults, configuration file, environment, flags, --help, one-line errors. */
#pragma once

#include "base/opt.h"

/*
 * Fills conf from the table: defaults, a YAML file if help enables it (--config, MUSTER_CONFIG, or
 * /etc/muster/muster.yaml if it exists), MUSTER_… variables, then flags (also between operands). Returns -1 to
 * continue (operands start at *ret_argi), or an exit code (after --help or a printed error).
 */
int cli_parse(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi);
/* The same without output: returns 0, 1 for --help, or -errno. For rereading a configuration. */
int cli_load(const struct opt_cmd *help, void *conf, int argc, char **argv, int *ret_argi, struct err *err);
int cli_help(const struct opt_cmd *help); /* what --help prints */
/* Prints "muster ls: message" to standard error; returns code. */
int cli_fail(const struct opt_cmd *help, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Writes to standard output, escaped for a terminal (base/plain.h), with colours if enabled. A closed pipe ends
 * quietly; other errors return EXIT_REACH. */
int cli_print(const struct opt_cmd *help, const struct buf *out);
int cli_print_json(const struct opt_cmd *help, const struct buf *out); /* the same for JSON, which stays valid JSON */
/* Writes a file atomically and unchanged. path NULL: standard output, like cli_print unless it is binary and not a
 * terminal. */
int cli_save(const struct opt_cmd *help, const char *path, bool binary, const struct buf *out);
/* The same for data too large for memory: write writes to the file and returns 0, or -errno with a message in err. */
int cli_stream(const char *path, int (*write)(void *arg, FILE *to, struct err *err), void *arg, struct err *err);
/* Width of the terminal on standard output, else fallback. */
int cli_width(int fallback);
/* Adds ?width= and &colour= to the path of a table made by the hub. told: width set by the user, 0: the terminal's;
 * file: output file, NULL: standard output. */
void cli_table_params(struct buf *path, int64_t told, const char *file);
/* Colours are enabled: a terminal, TERM not dumb, NO_COLOR not set. */
bool cli_colour(void);
