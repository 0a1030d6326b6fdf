/* log.c: lines to standard error, each in one write(2), so that processes sharing it do not mix theirs. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/secret.h"

#define LOG_MSG_MAX 4096

const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
const char *const log_formats[] = {"text", "json", NULL};
static _Atomic int log_limit = LOG_INFO;
static _Atomic bool log_as_json;

void log_set_level(enum log_level level)
{
    atomic_store(&log_limit, (int)level);
}

void log_set_json(bool json)
{
    atomic_store(&log_as_json, json);
}

/* Control characters and bytes that are not UTF-8 as \xNN: a line stays a line, and a terminal is left alone. */
static void log_add_visible(struct buf *out, struct str s)
{
    while (s.len) {
        uint32_t c = 0;
        size_t n = str_utf8(s, &c);
        if (n == 0 || !plain_point(c)) {
            n = n ? n : 1;
            for (size_t i = 0; i < n; i++) {
                buf_addstr(out, STR("\\x"));
                buf_addx(out, s.p + i, 1);
            }
        } else {
            buf_add(out, s.p, n);
        }
        s = str_n(s.p + n, s.len - n);
    }
}

void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    char msg[LOG_MSG_MAX], at[32];
    int saved = errno;
    va_list ap;

    if ((int)level > atomic_load_explicit(&log_limit, memory_order_relaxed))
        return;
    va_start(ap, fmt);
    int n = vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    if (n < 0)
        msg[0] = 0;
    else if ((size_t)n >= sizeof(msg))
        memcpy(msg + sizeof(msg) - 4, "...", 4);

    AUTO_BUF hidden = BUF_INIT((size_t)LOG_MSG_MAX * 4);
    if (strstr(msg, "://")) {
        secret_text(&hidden, str_of(msg));
        mem_copy_str(msg, sizeof(msg), hidden.p);
    }
    AUTO_BUF line = BUF_INIT((size_t)LOG_MSG_MAX * 6 + 256);
    clock_iso(clock_wall_ms(), at);
    if (atomic_load_explicit(&log_as_json, memory_order_relaxed)) {
        struct json j = json_on(&line);
        json_obj(&j, NULL);
        json_cstr(&j, "at", at);
        json_cstr(&j, "level", log_levels[level]);
        json_cstr(&j, "area", area);
        json_cstr(&j, "msg", msg);
        json_end_obj(&j);
    } else {
        buf_addf(&line, "%s %-5s %-5s ", at, log_levels[level], area);
        log_add_visible(&line, str_of(msg));
    }
    buf_addc(&line, '\n');
    while (write(STDERR_FILENO, line.p, line.len) < 0 && errno == EINTR)
        ;
    errno = saved;
}
