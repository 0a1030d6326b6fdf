/*
 * store.c: what a durable batch costs: SQLite as one would write it at first (a key, a transaction per row), against
 * the store fed as fast as it takes them, and against the store fed evenly as a cluster would. One run, one disk, the
 * same rows. Prints rows per second, CPU of the whole process per row and per million samples, and the ratio.
 *
 *   build/bench/store [ROWS [BYTES [SAMPLES [PER_SECOND [URL]]]]]      URL: postgres://..., an empty database; its own
 *                                                                      CPU is not counted
 */
#include <event2/event.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/samples.h"

#define NODES 125

struct bench {
    int64_t rows, bytes, samples, per_second;
    char *dir, *frame;
    const char *url; /* NULL: a folder */
    uint64_t run;    /* of the first node; another for each part */
    char keys[NODES][40];
};
struct figure {
    double seconds, cpu, loop; /* loop: of cpu, what the caller's thread took */
    int64_t rows;
};

static double cpu_now(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void begin(struct figure *f)
{
    *f = (struct figure){.seconds = -(double)clock_mono_us() / 1e6, .cpu = -cpu_now(RUSAGE_SELF)};
    f->loop = -cpu_now(RUSAGE_THREAD);
}

static void end(struct figure *f, int64_t rows)
{
    f->seconds += (double)clock_mono_us() / 1e6;
    f->cpu += cpu_now(RUSAGE_SELF);
    f->loop += cpu_now(RUSAGE_THREAD);
    f->rows = rows;
}

static void print_figure(const struct bench *b, const char *what, const struct figure *f, const struct figure *base)
{
    double us = f->cpu / (double)f->rows * 1e6;

    printf("%-34s %9.0f rows/s %8.1f us CPU/row %8.3f s CPU per million samples", what, (double)f->rows / f->seconds,
           us, us / (double)b->samples);
    if (base)
        printf("   x%.1f rows/s, CPU /%.1f", (double)f->rows / f->seconds / ((double)base->rows / base->seconds),
               base->cpu / (double)base->rows / (f->cpu / (double)f->rows));
    putchar('\n');
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench: %s failed\n", what);
        exit(1);
    }
}

/* ---- SQLite as it comes ---- */

static struct figure bench_plain(struct bench *b, int64_t rows)
{
    AUTO_FREE char *path = mem_fmt("%s/plain.db", b->dir);
    sqlite3 *h;
    sqlite3_stmt *st;
    struct figure f;

    must(sqlite3_open(path, &h) == SQLITE_OK, "open");
    must(sqlite3_exec(h,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE batch(node TEXT, run INTEGER, "
                      "number "
                      "INTEGER, at INTEGER, shift INTEGER, facts INTEGER, procs INTEGER, bytes BLOB, PRIMARY KEY(node, "
                      "run, number))",
                      NULL, NULL, NULL) == SQLITE_OK,
         "create");
    must(sqlite3_prepare_v2(h, "INSERT OR IGNORE INTO batch VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", -1, &st, NULL) ==
             SQLITE_OK,
         "prepare");
    begin(&f);
    for (int64_t i = 0; i < rows; i++) {
        sqlite3_bind_text(st, 1, b->keys[i % NODES], -1, SQLITE_STATIC);
        sqlite3_bind_int64(st, 2, 0x1234567890abcdef + i % NODES);
        sqlite3_bind_int64(st, 3, i / NODES);
        sqlite3_bind_int64(st, 4, 1700000000000 + i);
        sqlite3_bind_int64(st, 5, 0);
        sqlite3_bind_int64(st, 6, 0x1122334455667788);
        sqlite3_bind_int64(st, 7, 0x1122334455667788);
        sqlite3_bind_blob(st, 8, b->frame, (int)b->bytes, SQLITE_STATIC);
        must(sqlite3_step(st) == SQLITE_DONE, "insert");
        sqlite3_reset(st);
    }
    end(&f, rows);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return f;
}

/* ---- the store ---- */

struct feed {
    struct bench *b;
    struct store *s;
    struct event_base *loop;
    int64_t next, done, total;
    int64_t *sent_us, *took_us; /* paced: by number */
};

static void feed_done(void *arg, int result);

static void feed_one(struct feed *f)
{
    int64_t i = f->next++;
    struct store_batch b = {
        .node = f->b->keys[i % NODES],
        .run = f->b->run + (uint64_t)(i % NODES),
        .number = (uint64_t)(i / NODES),
        .facts = 0x1122334455667788,
        .procs = 0x1122334455667788,
        .at_ms = 1700000000000 + i,
        .bytes = {f->b->frame, (size_t)f->b->bytes},
    };

    if (f->sent_us)
        f->sent_us[i] = clock_mono_us();
    store_append(f->s, &b, 1, feed_done, f);
}

/* Results come in the order of appends (T5), so counting them says which this is. */
static void feed_done(void *arg, int result)
{
    struct feed *f = arg;

    must(result == 0, "append");
    if (f->took_us)
        f->took_us[f->done] = clock_mono_us() - f->sent_us[f->done];
    if (++f->done == f->total)
        event_base_loopbreak(f->loop);
    else if (!f->sent_us && f->next < f->total)
        feed_one(f);
}

static struct store *feed_open(struct bench *b, const char *leaf, struct event_base *loop)
{
    AUTO_FREE char *dir = mem_fmt("%s/%s", b->dir, leaf);
    struct store_conf conf = {.dir = dir, .url = b->url, .hub = 1};
    struct store *s;
    struct err err = {0};

    b->run += 0x1234567890abcdef;

    if (store_open(&s, &conf, loop, &err) < 0) {
        fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    for (int i = 0; i < NODES; i++)
        store_put_blob(s, b->keys[i], BLOB_FACTS, 0x1122334455667788, str_n(b->frame, (size_t)b->bytes));
    store_flush(s, NULL);
    return s;
}

/* As many under way as a catch-up of every node would have: each waits for its result before it sends more. */
static struct figure bench_bulk(struct bench *b)
{
    struct feed f = {.b = b, .loop = event_base_new(), .total = b->rows};
    struct figure fig;

    f.s = feed_open(b, "bulk", f.loop);
    begin(&fig);
    for (int64_t i = 0; i < MIN(NODES * 64, b->rows); i++)
        feed_one(&f);
    event_base_dispatch(f.loop);
    end(&fig, b->rows);
    store_close(f.s);
    event_base_free(f.loop);
    return fig;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void feed_tick(evutil_socket_t fd, short what, void *arg)
{
    struct feed *f = arg;

    (void)fd;
    (void)what;
    if (f->next < f->total)
        feed_one(f);
}

static struct figure bench_paced(struct bench *b, int64_t seconds)
{
    struct feed f = {.b = b, .loop = event_base_new(), .total = b->per_second * seconds};
    struct timeval gap = {.tv_usec = (suseconds_t)(1000000 / b->per_second)};
    struct event *tick = event_new(f.loop, -1, EV_PERSIST, feed_tick, &f);
    struct figure fig;

    f.s = feed_open(b, "paced", f.loop);
    event_add(tick, &gap);
    f.sent_us = mem_zero((size_t)f.total, sizeof(int64_t));
    f.took_us = mem_zero((size_t)f.total, sizeof(int64_t));
    begin(&fig);
    event_base_dispatch(f.loop);
    end(&fig, f.total);
    printf("paced: %.1f us/row in the writer thread; %.1f in the loop, most of it this program's own timer\n",
           (fig.cpu - fig.loop) / (double)fig.rows * 1e6, fig.loop / (double)fig.rows * 1e6);
    fig.cpu -= fig.loop;
    qsort(f.took_us, (size_t)f.total, sizeof(int64_t), by_value);
    printf("paced: acknowledged after %.1f ms (median), %.1f ms (p99)\n", (double)f.took_us[f.total / 2] / 1000,
           (double)f.took_us[f.total * 99 / 100] / 1000);
    event_free(tick);
    store_close(f.s);
    event_base_free(f.loop);
    free(f.sent_us);
    free(f.took_us);
    return fig;
}

static void bench_tokens(struct bench *b)
{
    AUTO_FREE char *dir = mem_fmt("%s/bulk", b->dir);
    struct store_token t = {.role = "agent"};
    struct store *s;
    struct figure f;

    must(store_open_tools(&s, dir, NULL, NULL) == 0, "open for tools");
    for (int i = 0; i < NODES; i++) {
        snprintf(t.id, sizeof(t.id), "k%d", i);
        must(store_put_now(s, STORE_TOKEN, &t, NULL) == 0, "token");
    }
    begin(&f);
    for (int i = 0; i < 100000; i++) {
        char id[20];
        snprintf(id, sizeof(id), "k%d", i % NODES);
        must(store_get(s, GET_TOKEN(id, &t), NULL) == 1, "token");
    }
    end(&f, 100000);
    printf("token look-up: %.1f us\n", f.seconds * 10);
    store_close(s);
}

static int64_t argument(int argc, char **argv, int i, int64_t other)
{
    int64_t v = other;

    if (i < argc)
        must(str_int(str_of(argv[i]), &v) && v > 0 && v < 100000000, "reading the arguments");
    return v;
}

int main(int argc, char **argv)
{
    struct bench b = {
        .rows = argument(argc, argv, 1, 75000), /* 18 million samples in batches of one second */
        .bytes = argument(argc, argv, 2, 340),
        .samples = argument(argc, argv, 3, 240),
        .per_second = argument(argc, argv, 4, 125),
        .url = argc > 5 ? argv[5] : NULL,
    };
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *dir = b.dir = mem_fmt("%s/muster-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    AUTO_FREE char *frame = b.frame = mem_alloc((size_t)b.bytes);

    must(mkdtemp(dir) != NULL, "mkdtemp");
    rand_bytes(frame, (size_t)b.bytes); /* already compressed */
    for (int i = 0; i < NODES; i++)
        snprintf(b.keys[i], sizeof(b.keys[i]), "%016llx%016llx", (unsigned long long)rand_u64(),
                 (unsigned long long)rand_u64());
    printf("%lld rows of %lld bytes, %lld samples each, %d nodes; paced at %lld rows/s for 10 s\n", (long long)b.rows,
           (long long)b.bytes, (long long)b.samples, NODES, (long long)b.per_second);
    struct figure plain = bench_plain(&b, MAX(b.rows / 10, 1));
    print_figure(&b, "sqlite, a key, a commit per row", &plain, NULL);
    struct figure bulk = bench_bulk(&b);
    print_figure(&b, "store, as fast as it goes", &bulk, &plain);
    struct figure paced = bench_paced(&b, 10);
    print_figure(&b, "store, arriving evenly (writer)", &paced, &plain);
    bench_tokens(&b);
    printf("files left in %s\n", dir);
    return 0;
}
