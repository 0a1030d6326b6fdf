/* logs.c: rotation and retention of log files. logs.h describes the order of steps, which makes it crash-safe. */
#include "store/logs.h"

#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "store/log_rows.h"

#define ROTATE_MS    3600000
#define COMPACT_MS   600000 /* with compaction: the span of a fresh chunk */
#define ROTATE_BYTES (64 << 20)
#define ROTATE_NODE                                                                                                    \
    (128 << 10) /* a log of many nodes may grow to this for each: short chunks cost more than long logs … */
#define ROTATE_MOST  (1ll << 30) /* … up to what a start after a crash should read */
#define ROTATE_LEAST (1 << 20)
#define KEEP_PARTS   8 /* minimum number of files within the retention, so that they are deleted in small steps */

struct logs {
    char *dir;
    struct records *rec;
    struct log *cur; /* NULL: none, or creating it failed */
    /* PostgreSQL instead of files */
    struct batch_rows *shared;
    struct rows_log *cur_rows;
    int64_t hub, oldest; /* oldest: of all hubs, at the last check */
    int64_t last;        /* the highest number used */
    int64_t opened_ms;
    struct log_sum *sealed; /* by number */
    size_t n, cap;
    struct log_sum *due; /* by number; in chunks, and not in the archive yet */
    size_t n_due, cap_due;
    uint64_t missed;
    bool archives;
    int64_t keep_ms, keep_bytes, rotate_ms, rotate_bytes, rotate_most;
    /* retention of a log that is not in chunks: the longest of all tiers made from it. 0: forever */
    int64_t keep_log_ms;
    bool compacts; /* batches are compacted: chunks expire by the time of their data, a log by the time it was sealed */
    int64_t (*now_ms)(void);
    int64_t known_ms; /* the last trusted time; 0: never */
    uint32_t damaged;
};

/* 0 if unknown. */
static int64_t logs_now(struct logs *g)
{
    int64_t now = g->now_ms ? g->now_ms() : 0;

    if (now > 0)
        g->known_ms = now;
    return now;
}

static int64_t longer(int64_t a, int64_t b) /* 0: forever */
{
    return a && b ? MAX(a, b) : 0;
}

static void logs_conf(struct logs *g, const struct store_conf *conf)
{
    g->keep_ms = g->keep_log_ms = conf->keep_raw_ms;
    if (conf->decoder)
        g->keep_log_ms = longer(conf->keep_raw_ms, longer(conf->keep_minute_ms, conf->keep_hour_ms));
    g->keep_bytes = conf->keep_bytes;
    g->now_ms = conf->now_ms;
    g->compacts = conf->decoder != NULL;
    g->archives = conf->archive && !conf->url;
    g->rotate_ms = conf->rotate_ms ? conf->rotate_ms : conf->decoder ? COMPACT_MS : ROTATE_MS;
    g->rotate_bytes = conf->rotate_bytes ? conf->rotate_bytes : ROTATE_BYTES;
    g->rotate_most = conf->rotate_bytes || g->keep_bytes ? 0 : ROTATE_MOST;
    if (!conf->rotate_ms && g->keep_ms)
        g->rotate_ms = MAX(1000, MIN(g->rotate_ms, g->keep_ms / KEEP_PARTS));
    if (!conf->rotate_bytes && g->keep_bytes)
        g->rotate_bytes = MAX(ROTATE_LEAST, MIN(g->rotate_bytes, g->keep_bytes / KEEP_PARTS));
}

static void logs_add_sealed(struct logs *g, struct log_sum sum)
{
    size_t at = COUNT_BEFORE(g->n, i, g->sealed[i].n < sum.n);

    sum.bytes = log_file_bytes(g->dir, sum.n);
    VEC_INSERT(g->sealed, g->n, g->cap, at, sum);
}

static void logs_add_due(struct logs *g, struct log_sum sum)
{
    size_t at = COUNT_BEFORE(g->n_due, i, g->due[i].n < sum.n);

    sum.bytes = log_file_bytes(g->dir, sum.n);
    VEC_INSERT(g->due, g->n_due, g->cap_due, at, sum);
}

static void remove_sum(struct log_sum *v, size_t *n, size_t i)
{
    memmove(&v[i], &v[i + 1], (*n - i - 1) * sizeof(v[0]));
    --*n;
}

/* ---- sealing ---- */

static int logs_put_seen(struct logs *g, struct index_node *const *nodes, size_t n)
{
    int64_t log = log_sum(g->cur)->n;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->seen.n && r == 0; k++)
            if (nodes[i]->seen.v[k].last_log == log)
                r = records_put_seen(g->rec, nodes[i]->key, &nodes[i]->seen.v[k]);
    return r;
}

static int logs_seal(struct logs *g, struct index_node *const *nodes, size_t n, struct err *err)
{
    if (g->shared) {
        rows_log_free(g->cur_rows);
        g->cur_rows = NULL;
        return 0;
    }
    struct log_sum sum = *log_sum(g->cur);
    int r = records_begin(g->rec, err);

    if (r < 0)
        return r;
    logs_now(g);
    int64_t now = g->known_ms; /* with an untrusted clock, the last trusted time: a file is not as old as its data */
    if (now > 0 && (g->compacts || sum.last_ms > now))
        sum.last_ms = now; /* late data is new here, and a time in the future must not keep the file forever */
    r = records_put_log(g->rec, &sum);
    if (r == 0)
        r = logs_put_seen(g, nodes, n);
    r = records_end(g->rec, r, err);
    if (r < 0)
        return r;
    log_seal(g->cur);
    g->cur = NULL;
    logs_add_sealed(g, sum);
    return 0;
}

/* ---- opening ---- */

static int logs_aside(struct logs *g, int64_t n, struct err *why, struct err *err)
{
    char to[ASIDE_NAME];
    int r = log_quarantine(g->dir, n, to);

    if (r < 0)
        return err_set(err, r, "cannot set the damaged '%s/log-%lld.db' aside: %s", g->dir, (long long)n, strerror(-r));
    g->damaged++;
    err_set(err, 0, "%s; it was renamed to %s, the other files stay in use (%u damaged)", why->msg, to, g->damaged);
    return 0;
}

static bool logs_is_damage(int r)
{
    return r == -EUCLEAN || r == -EINVAL || r == -ENODATA;
}

/* Deletes rows of `logs` whose file is gone: a user removed it, or the process was killed while deleting it. */
static int logs_open_sealed(struct logs *g, const int64_t *files, size_t n_files, struct err *err)
{
    struct log_sum *v;
    size_t n, at = 0;
    int r = records_load_logs(g->rec, &v, &n, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct err why = {0};
        g->known_ms = g->now_ms ? MAX(g->known_ms, v[i].last_ms) : 0;
        while (at < n_files && files[at] < v[i].n)
            at++;
        bool there = at < n_files && files[at] == v[i].n;
        if (v[i].compacted && there && g->archives) {
            logs_add_due(g, v[i]);
            continue;
        }
        if (v[i].compacted) { /* the process was killed before the unlink */
            r = there ? log_unlink(g->dir, v[i].n) : 0;
            if (r < 0)
                err_set(err, r, "cannot remove '%s/log-%lld.db': %s", g->dir, (long long)v[i].n, strerror(-r));
            continue;
        }
        if (there) {
            log_finish(g->dir, v[i].n);
            r = log_probe(g->dir, v[i].n, &why);
        }
        if (there && r == 0) {
            logs_add_sealed(g, v[i]);
            continue;
        }
        if (there && !logs_is_damage(r))
            r = err_set(err, r, "%s", why.msg);
        else if (there)
            r = logs_aside(g, v[i].n, &why, err);
        if (r == 0 && (r = records_drop_log(g->rec, v[i].n)) < 0)
            records_fail(g->rec, r, err);
    }
    free(v);
    return r;
}

/*
 * Files without a row: the one in use when the process stopped, or all of them if muster.db is new. named: the highest
 * number in muster.db. A log is created before anything refers to it, so an empty one with a lower number was emptied
 * later.
 */
static int logs_open_rest(struct logs *g, const int64_t *files, size_t n_files, int64_t named, struct index *x,
                          struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < n_files && r == 0; i++) {
        struct err why = {0};
        struct log *l;
        if (ANY(g->n, k, g->sealed[k].n == files[i]) || ANY(g->n_due, k, g->due[k].n == files[i]))
            continue;
        AUTO_FREE char *path = log_path(g->dir, files[i]);
        if (access(path, F_OK) < 0) /* quarantined just before */
            continue;
        r = files[i] <= named && log_probe(g->dir, files[i], &why) == -ENODATA
                ? -ENODATA
                : log_open(&l, g->dir, files[i], x, &why);
        if (logs_is_damage(r)) {
            r = logs_aside(g, files[i], &why, err);
        } else if (r < 0) {
            err_set(err, r, "%s", why.msg);
        } else {
            if (g->cur)
                r = logs_seal(g, x->v, x->n, err);
            if (r < 0)
                log_close(l);
            else
                g->cur = l;
        }
    }
    return r;
}

int logs_open(struct logs **ret, const struct store_conf *conf, struct records *r, struct index *x, struct err *err)
{
    struct logs *g = NEW(struct logs, .dir = mem_str(conf->dir), .rec = r, .opened_ms = clock_mono_ms());
    int64_t *files = NULL, last = 0;
    size_t n = 0;

    logs_conf(g, conf);
    if (conf->url) { /* the server knows the stored batches */
        g->shared = rows_new(records_db(r));
        g->hub = conf->hub;
        *ret = g;
        return 0;
    }
    int code = log_list(g->dir, &files, &n, &g->last, err);
    if (code == 0)
        code = records_last_log(r, &last, err);
    g->last = MAX(g->last, last);
    if (code == 0)
        code = records_load_seen(r, x, err);
    if (code == 0)
        code = logs_open_sealed(g, files, n, err);
    if (code == 0)
        code = logs_open_rest(g, files, n, last, x, err);
    free(files);
    if (code < 0) {
        logs_close(g);
        return code;
    }
    *ret = g;
    return 0;
}

void logs_close(struct logs *g)
{
    if (!g)
        return;
    log_close(g->cur);
    rows_log_free(g->cur_rows);
    rows_free(g->shared);
    free(g->sealed);
    free(g->due);
    free(g->dir);
    free(g);
}

/* ---- the current log ---- */

int logs_current(struct logs *g, struct err *err)
{
    struct index none = {0}; /* a new file adds nothing to the index */
    int r;

    if (g->cur || g->cur_rows)
        return 0;
    if (g->shared) {
        r = rows_log_begin(&g->cur_rows, g->shared, g->hub, g->now_ms ? g->now_ms() : 0, err);
    } else {
        r = log_open(&g->cur, g->dir, g->last + 1, &none, err);
        index_fini(&none);
        g->last += r == 0;
    }
    if (r == 0)
        g->opened_ms = clock_mono_ms();
    return r;
}

struct log *logs_file(struct logs *g)
{
    return g->cur;
}

struct rows_log *logs_rows(struct logs *g)
{
    return g->cur_rows;
}

/* Of the current log; NULL if none. */
static const struct log_sum *logs_sum(const struct logs *g)
{
    return g->cur_rows ? rows_log_sum(g->cur_rows) : g->cur ? log_sum(g->cur) : NULL;
}

int64_t logs_number(const struct logs *g)
{
    const struct log_sum *s = logs_sum(g);

    return s ? s->n : 0;
}

void logs_quarantine(struct logs *g)
{
    int64_t n = logs_number(g);

    if (g->shared) {
        rows_log_free(g->cur_rows);
        g->cur_rows = NULL;
        return;
    }
    log_close(g->cur);
    g->cur = NULL;
    if (log_quarantine(g->dir, n, NULL) == 0)
        g->damaged++;
}

bool logs_full(const struct logs *g)
{
    const struct log_sum *s = logs_sum(g);
    int64_t most = g->rotate_bytes;

    if (s && g->rotate_most) {
        int64_t nodes = g->cur ? log_nodes(g->cur) : rows_log_nodes(g->cur_rows);
        most = MAX(most, MIN(g->rotate_most, nodes * ROTATE_NODE));
    }
    return s && s->batches && (s->bytes >= most || clock_mono_ms() - g->opened_ms >= g->rotate_ms);
}

bool logs_any(const struct logs *g)
{
    const struct log_sum *s = logs_sum(g);

    return s && (s->batches || g->shared);
}

int logs_rotate(struct logs *g, struct index_node *const *nodes, size_t n, struct err *err)
{
    int r = logs_seal(g, nodes, n, err);

    return r < 0 ? r : logs_current(g, err);
}

int64_t logs_bytes(const struct logs *g)
{
    if (g->shared)
        return rows_bytes(g->shared);
    int64_t sum = g->cur ? log_file_bytes(g->dir, log_sum(g->cur)->n) : 0;

    for (size_t i = 0; i < g->n; i++)
        sum += g->sealed[i].bytes;
    for (size_t i = 0; i < g->n_due; i++)
        sum += g->due[i].bytes;
    return sum;
}

/* ---- logs waiting for the archive ---- */

size_t logs_due(const struct logs *g, struct log_sum **ret)
{
    *ret = mem_dup(g->due, g->n_due, sizeof(**ret));
    return g->n_due;
}

int logs_sent(struct logs *g, int64_t n)
{
    size_t i = FIRST(g->n_due, k, g->due[k].n == n);
    int r = i < g->n_due ? log_unlink(g->dir, n) : 0;

    if (r == 0 && i < g->n_due)
        remove_sum(g->due, &g->n_due, i);
    return r;
}

uint64_t logs_missed(const struct logs *g)
{
    return g->missed;
}

/* Before the rows of these are deleted: a file without a row would count as a new one. */
static int logs_miss_old(struct logs *g)
{
    int64_t now = g->keep_ms ? logs_now(g) : 0;
    int r = 0;

    while (r == 0 && g->n_due &&
           ((now && now - g->due[0].last_ms > g->keep_ms) || (g->keep_bytes && logs_bytes(g) > g->keep_bytes))) {
        r = logs_sent(g, g->due[0].n);
        g->missed += r == 0;
    }
    return r;
}

/* Index of the first sealed file to delete, or g->n. */
static size_t logs_too_old(struct logs *g)
{
    size_t i = g->n;

    if (g->keep_log_ms) {
        int64_t now = logs_now(g);
        i = FIRST(g->n, k, now - g->sealed[k].last_ms > g->keep_log_ms);
    }
    if (i == g->n && g->n && g->keep_bytes && logs_bytes(g) > g->keep_bytes)
        i = 0;
    return i;
}

/* Within the transaction: deletes expired rows of compacted logs, with their runs and blobs. */
static int logs_forget_old(struct logs *g, int64_t *ret_oldest)
{
    int64_t oldest = 0;
    int r = logs_miss_old(g);

    if (r == 0 && g->keep_ms)
        r = records_drop_old_logs(g->rec, logs_now(g) - g->keep_ms);
    if (r == 0)
        r = records_oldest_log(g->rec, &oldest);
    if (oldest == 0)
        oldest = g->last;
    if (g->cur)
        oldest = MIN(oldest, logs_number(g));
    if (r == 0)
        r = records_drop_before(g->rec, oldest);
    if (r == 0)
        *ret_oldest = oldest;
    return r;
}

/* Leftovers of a deleted file in muster.db are harmless, so a failure there is retried next time. */
static int64_t logs_forget(struct logs *g, const int64_t *dropped, size_t n)
{
    int64_t oldest = 0;
    int r = records_begin(g->rec, NULL);

    if (r < 0)
        return 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = records_drop_log(g->rec, dropped[i]);
    if (r == 0)
        r = logs_forget_old(g, &oldest);
    return records_end(g->rec, r, NULL) == 0 ? oldest : 0;
}

/* Deletes runs and blobs that nothing refers to any longer: another hub may have deleted their logs. */
static int64_t logs_retain_rows(struct logs *g)
{
    int64_t oldest = 0, before = g->oldest, now = logs_now(g);

    if (!g->compacts && g->keep_ms && now && g->cur_rows)
        rows_drop_older(g->shared, g->hub, logs_number(g), now - g->keep_ms, NULL);
    if (records_oldest_log(g->rec, &oldest) < 0)
        return 0;
    g->oldest = oldest;
    return before && oldest > before ? oldest : 0;
}

int64_t logs_retain(struct logs *g)
{
    int64_t dropped[64];
    size_t n = 0, i;

    if (g->shared)
        return logs_retain_rows(g);
    logs_miss_old(g);
    while (n < ARRAY_LEN(dropped) && (i = logs_too_old(g)) < g->n) {
        if (log_unlink(g->dir, g->sealed[i].n) < 0)
            break;
        dropped[n++] = g->sealed[i].n;
        remove_sum(g->sealed, &g->n, i);
    }
    return n ? logs_forget(g, dropped, n) : 0;
}

size_t logs_list(const struct logs *g, struct log_ref **ret)
{
    struct log_ref *v = mem_alloc((g->n + 1) * sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++)
        v[n++] = (struct log_ref){g->sealed[i].n, true};
    if (g->cur || g->cur_rows)
        v[n++] = (struct log_ref){logs_number(g), false};
    *ret = v;
    return n;
}

int logs_compacted(struct logs *g, int64_t n, int64_t *ret_oldest, struct err *err)
{
    size_t i = FIRST(g->n, k, g->sealed[k].n == n);

    if (i == g->n)
        return 0;
    int64_t now = logs_now(g);
    int r = records_begin(g->rec, err);
    if (r < 0)
        return r;
    r = records_compacted(g->rec, n, now); /* this recent: its row must not be deleted before its file */
    if (r == 0)
        r = logs_forget_old(g, ret_oldest);
    r = records_end(g->rec, r, err);
    if (r < 0)
        return r;
    struct log_sum sum = g->sealed[i];
    sum.last_ms = MAX(sum.last_ms, now);
    remove_sum(g->sealed, &g->n, i);
    if (g->archives) {
        logs_add_due(g, sum);
        return 0;
    }
    r = log_unlink(g->dir, n); /* a remaining file is unlinked at the next start */
    return r == 0 ? file_sync_dir(g->dir) : r;
}

void logs_tidy(struct logs *g)
{
    if (g->cur)
        log_tidy(g->cur);
}

uint32_t logs_damaged(const struct logs *g)
{
    return g->damaged;
}
