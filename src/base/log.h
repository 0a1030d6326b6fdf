/*
 * log.h: one line per thing that happened, to standard error. Only programs (agent, hub, cmd) call it; all other
 * folders return errors. Never pass a token or a command line.
 */
#pragma once

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
extern const char *const log_levels[], *const log_formats[]; /* for settings; NULL at the end */

void log_set_level(enum log_level level);
void log_set_json(bool json);

/* area is a short constant word: "agent", "hub", "store". Control characters in the text are shown as \xNN. */
void log_line(enum log_level level, const char *area, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
