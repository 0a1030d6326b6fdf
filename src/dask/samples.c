/*
 * samples.c: reads a worker's CSV. A record is scanned once, in the buffer it was read into: cells are found with
 * memchr, and unwanted ones are skipped.
 */
#include "dask/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define CHUNK (256u << 10)

struct samples {
    char *path;
    int fd;
    bool end; /* of the file */
    char *buf;
    size_t cap, at, len; /* unread bytes: [at, len) */
    int64_t read;
    size_t line;
    size_t n_columns;
    char **columns;
    struct str cells[SAMPLES_COLUMNS_MAX];
};

static int fail(const struct samples *s, struct err *err, const char *what)
{
    return err_set(err, -EINVAL, "%s:%zu: %s", s->path, s->line, what);
}

/* Reads more bytes. Returns 1, or 0 at the end of the file. */
static int fill(struct samples *s, struct err *err)
{
    if (s->end)
        return 0;
    if (s->at > 0) {
        memmove(s->buf, s->buf + s->at, s->len - s->at);
        s->len -= s->at;
        s->at = 0;
    }
    if (s->len > SAMPLES_RECORD_MAX)
        return fail(s, err, "a record is longer than 1 MiB: this is not a worker's CSV");
    if (s->cap - s->len < CHUNK) {
        s->cap = s->len + CHUNK;
        s->buf = mem_grow(s->buf, s->cap, 1);
    }
    ssize_t n;
    do
        n = read(s->fd, s->buf + s->len, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, -errno, "cannot read '%s': %s", s->path, strerror(errno));
    s->end = n == 0;
    s->len += (size_t)n;
    s->read += n;
    return n > 0;
}

enum { CUT = -1, BROKEN = -2, LINE_END = 0, MORE = 1 };

/* Reads the cell at *p, and moves *p after its comma or line end. CUT: the buffer ends within the cell. */
static int cell(const char **p, const char *end, bool whole, struct str *ret)
{
    const char *from = *p, *to;
    if (from < end && *from == '"') {
        for (to = ++from;; to += 2) {
            to = memchr(to, '"', (size_t)(end - to));
            if (!to || (to + 1 == end && !whole))
                return to || !whole ? CUT : BROKEN;
            if (to + 1 == end || to[1] != '"')
                break;
            if (to + 2 >= end)
                return whole ? BROKEN : CUT;
        }
        *ret = str_n(from, (size_t)(to - from));
        to++;
    } else {
        for (to = from; to < end && *to != ',' && *to != '\n'; to++)
            ;
        if (to == end && !whole)
            return CUT;
        *ret = str_n(from, (size_t)(to - from));
        if (ret->len && (to == end || *to == '\n') && ret->p[ret->len - 1] == '\r')
            ret->len--;
    }
    if (to < end && *to == '\r') {
        if (to + 1 == end && !whole)
            return CUT;
        to++;
    }
    if (to < end && *to != ',' && *to != '\n')
        return BROKEN;
    *p = to < end ? to + 1 : to;
    return to < end && *to == ',' ? MORE : LINE_END;
}

/* All cells of the next record into s->cells: how many, 0 at the end. */
static int record(struct samples *s, struct err *err)
{
    s->line++;
    for (;;) {
        const char *p = s->buf + s->at, *end = s->buf + s->len;
        size_t n = 0;
        if (p == end && s->end)
            return 0;
        int r = p == end ? CUT : MORE;
        while (r == MORE) {
            struct str one;
            r = cell(&p, end, s->end, &one);
            if (r >= 0 && n < SAMPLES_COLUMNS_MAX)
                s->cells[n++] = one;
        }
        if (r == BROKEN)
            return fail(s, err, "quotes that do not fit");
        if (r == LINE_END) {
            s->at = (size_t)(p - s->buf);
            if (n > 1 || s->cells[0].len)
                return (int)n;
            s->line++; /* an empty line */
        } else if ((r = fill(s, err)) < 0) {
            return r;
        }
    }
}

int samples_next(struct samples *s, const int *columns, size_t n, struct str *cells, struct err *err)
{
    int got = record(s, err);
    if (got <= 0)
        return got;
    if ((size_t)got != s->n_columns)
        return fail(s, err, "a record has another number of cells than the line of names");
    for (size_t i = 0; i < n; i++)
        cells[i] = s->cells[columns[i]];
    return 1;
}

static int read_names(struct samples *s, struct err *err)
{
    int n = record(s, err);
    if (n < 0)
        return n;
    s->columns = mem_zero((size_t)n + 1, sizeof(*s->columns));
    for (int i = 0; i < n; i++) {
        struct str name = str_trim(s->cells[i]);
        if (i == 0)
            str_skip(&name, "\xef\xbb\xbf");
        s->columns[s->n_columns++] = mem_strn(name.p, str_utf8_ok(name) ? MIN(name.len, 255u) : 0);
    }
    if (n == SAMPLES_COLUMNS_MAX || samples_find(s, "job") < 0 || samples_find(s, "timestamp") < 0)
        return err_set(err, -EINVAL, "'%s' is not a worker's CSV: expected columns job, dag, timestamp and metrics",
                       s->path);
    return 0;
}

int samples_open(const char *path, struct samples **ret, struct err *err)
{
    struct samples *s = NEW(struct samples, .path = mem_str(path), .fd = open(path, O_RDONLY | O_CLOEXEC));
    int r = s->fd < 0 ? err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno)) : fill(s, err);
    if (r >= 0)
        r = read_names(s, err);
    if (r < 0) {
        samples_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

void samples_close(struct samples *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    for (size_t i = 0; i < s->n_columns; i++)
        free(s->columns[i]);
    FREE_ALL(s->columns, s->buf, s->path, s);
}

int samples_find(const struct samples *s, const char *name)
{
    size_t at = FIRST(s->n_columns, i, strcmp(s->columns[i], name) == 0);
    return at < s->n_columns ? (int)at : -1;
}

static bool is_metric(const char *column)
{
    return strcmp(column, "job") != 0 && strcmp(column, "dag") != 0 && strcmp(column, "timestamp") != 0;
}

int samples_metric(const struct samples *s, const char *name, struct err *err)
{
    AUTO_BUF there = BUF_INIT(64 << 10);
    char list[300];
    int at = is_metric(name) ? samples_find(s, name) : -1;
    if (at >= 0)
        return at;
    for (size_t i = 0; i < s->n_columns; i++)
        if (is_metric(s->columns[i]))
            buf_addf(&there, "%s%s", there.len ? ", " : "", s->columns[i]);
    mem_copy_str(list, sizeof(list), there.len ? there.p : "none");
    return err_set(err, -ENOENT, "'%s' has no metric '%.60s'; it has %s", s->path, name, list);
}

int64_t samples_done(const struct samples *s)
{
    return s->read;
}

/* ---- numbers ---- */

bool samples_number(struct str s, double *ret)
{
    static const double tens[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                  1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    uint64_t digits = 0;
    size_t n = 0, places = 0, i = 0;
    bool dot = false;
    bool minus = s.len && s.p[0] == '-';
    /* up to 15 digits with a dot are exact: a whole number, divided once */
    for (i = minus; i < s.len && n <= 15; i++) {
        char c = s.p[i];
        if (c == '.' && !dot) {
            dot = true;
        } else if (c >= '0' && c <= '9') {
            digits = digits * 10 + (uint64_t)(c - '0');
            n += digits > 0;
            places += dot;
        } else {
            break;
        }
    }
    if (i == s.len && i > (size_t)minus + dot && n <= 15 && places < ARRAY_LEN(tens)) {
        *ret = (minus ? -1.0 : 1.0) * (double)digits / tens[places];
        return true;
    }
    char copy[64], *end;
    if (!s.len || s.len >= sizeof(copy) ||
        !(s.p[0] == '-' || s.p[0] == '+' || s.p[0] == '.' || (s.p[0] >= '0' && s.p[0] <= '9')))
        return false;
    memcpy(copy, s.p, s.len);
    copy[s.len] = 0;
    double v = strtod(copy, &end);
    if (*end || !isfinite(v) || strpbrk(copy, "xX"))
        return false;
    *ret = v;
    return true;
}

size_t samples_numbers(struct str cell, double *ret)
{
    const char *p = cell.p, *end = cell.p + cell.len;
    for (size_t n = 0;;) {
        /* fast path: integers of up to 15 digits, which nearly all are */
        uint64_t digits = 0;
        while (p < end && *p == ' ')
            p++;
        const char *from = p;
        for (unsigned d; p < end && (d = (unsigned)(*p - '0')) <= 9; p++)
            digits = digits * 10 + d;
        size_t len = (size_t)(p - from);
        if (len - 1 < 15 && (p == end || *p == ',')) {
            ret[n++] = (double)digits;
        } else {
            p = memchr(p, ',', (size_t)(end - p));
            p = p ? p : end;
            if (!samples_number(str_trim(str_n(from, (size_t)(p - from))), &ret[n]))
                ret[n] = NAN;
            n++;
        }
        if (p == end || n == SAMPLES_GPUS_MAX)
            return n;
        p++; /* the comma */
    }
}
