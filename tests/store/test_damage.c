/*
 * test_damage.c: random damage to the store's files. A folder with history in chunks and in logs is damaged in many
 * places, one place and one kind of damage per run. Each time the store must open or fail with a message, execute every
 * query, and accept and keep new batches. A result may lack the damaged data, if the store reports that. It is never
 * wrong, and nothing crashes or hangs.
 */
#include "test.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "history_model.h"

#define BATCHES 60
#define LATER   (H0 + 10 * H_HOUR)

static int64_t now_ms;

static int64_t tell_now(void)
{
    return now_ms;
}

static int open_dir(const char *dir, struct store **ret, struct err *err)
{
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .rotate_bytes = 20000,
                              .now_ms = tell_now,
                              .decoder = &hub_decoder};

    return store_open(ret, &conf, NULL, err);
}

/* Twenty batches of each node: most of them merged, some in fresh chunks, the last in a log. */
static char *make_sound(struct h_model *m)
{
    char *dir = dir_new_quick();
    struct store *s = NULL;

    h_init(m, 3);
    now_ms = H0;
    assert_int_equal(open_dir(dir, &s, NULL), 0);
    for (int i = 0; i < BATCHES; i++) {
        now_ms = H0 + i / 6 * H_HOUR;
        h_send(s, m, h_batch(m, (unsigned)i % H_NODES, H0 + i / 6 * H_HOUR / 2 + i % 6 * 60000, 40, 1000), NULL, NULL);
        if (i % 6 == 5 && i < BATCHES - 6)
            assert_int_equal(store_settle(s, NULL), 0);
    }
    assert_int_equal(store_flush(s, NULL), 0);
    store_close(s);
    return dir;
}

/* ---- damage ---- */

enum harm { HARM_BIT, HARM_BYTES, HARM_ZERO, HARM_JUNK, HARM_SWAP, HARM_CUT, HARM_KINDS };

static void harm(const char *path, struct prng *g, enum harm how)
{
    AUTO_BUF b = {0};
    uint64_t pages, page, at;

    assert_int_equal(file_read(path, 64 << 20, &b, NULL), 0);
    pages = MAX(b.len / 4096, 1);
    page = prng_next(g) % pages;
    at = page * 4096 + prng_next(g) % 4096;
    switch (how) {
    case HARM_BIT:
        b.p[at] = (char)(b.p[at] ^ 1 << prng_next(g) % 8);
        break;
    case HARM_BYTES:
        for (int i = 0; i < 16; i++)
            b.p[page * 4096 + prng_next(g) % 4096] = (char)prng_next(g);
        break;
    case HARM_ZERO:
        memset(b.p + page * 4096, 0, 4096);
        break;
    case HARM_JUNK:
        for (int i = 0; i < 4096; i++)
            b.p[page * 4096 + (uint64_t)i] = (char)prng_next(g);
        break;
    case HARM_SWAP: /* a page that was written to another's place */
        memcpy(b.p + page * 4096, b.p + prng_next(g) % pages * 4096, 4096);
        break;
    default:
        buf_cut(&b, page * 4096);
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(b.len ? b.p : "", 1, b.len, f), b.len);
    fclose(f);
}

/* ---- remaining data ---- */

struct seen_all {
    uint64_t want, got; /* samples */
    uint32_t damaged, failed;
    uint32_t quiet; /* results that lack data without a report */
};

/* No bin has more samples than were sent, and a complete bin is exact to the bit. */
static void check_node(struct store *s, const struct h_model *m, unsigned node, int tier, struct seen_all *all)
{
    int64_t step = tier == TIER_HOUR ? H_HOUR : 60000;
    struct bins_query ask = {.node = h_nodes[node],
                             .devices = h_devices,
                             .metrics = h_metrics,
                             .n_devices = H_DEVICES,
                             .n_metrics = H_METRICS,
                             .from_ms = H0 - H0 % H_HOUR,
                             .to_ms = LATER + 2 * H_HOUR,
                             .step_ms = step,
                             .tier = tier};
    struct history h;
    struct err err = {0};
    uint64_t want_all = 0, got_all = 0;
    int r = store_history(s, &ask, &h, &err);

    if (r < 0) {
        assert_true(err.msg[0]);
        all->failed++;
        return;
    }
    size_t n = h.n_series * h.n;
    AUTO_FREE struct bin *want = mem_zero(n, sizeof(*want));
    for (size_t i = 0; i < m->n; i++) {
        const struct h_sample *x = &m->v[i];
        if (x->node != node)
            continue;
        struct bin *b = &want[(size_t)(x->device * H_METRICS + x->metric) * h.n + (size_t)((x->at - h.from_ms) / step)];
        b->min = b->count ? MIN(b->min, x->v) : x->v;
        b->max = b->count ? MAX(b->max, x->v) : x->v;
        b->sum += x->v;
        b->count++;
    }
    for (size_t i = 0; i < n; i++) {
        const struct bin *a = &want[i], *b = &h.v[i];
        want_all += a->count;
        got_all += b->count;
        if (b->count > a->count ||
            (b->count == a->count && b->count && (b->sum != a->sum || b->min != a->min || b->max != a->max)))
            fail_msg("%s tier %d bin %zu: count %u of %u, sum %lld not %lld", h_nodes[node], tier, i, b->count,
                     a->count, (long long)b->sum, (long long)a->sum);
        if (b->count && (b->min < a->min || b->max > a->max))
            fail_msg("%s tier %d bin %zu: %lld to %lld is outside of %lld to %lld", h_nodes[node], tier, i,
                     (long long)b->min, (long long)b->max, (long long)a->min, (long long)a->max);
    }
    all->want += want_all;
    all->got += got_all;
    all->damaged += h.damaged;
    all->quiet += got_all < want_all && !h.damaged;
    history_fini(&h);
}

static struct seen_all check_all(struct store *s, const struct h_model *m)
{
    struct seen_all all = {0};

    for (unsigned node = 0; node < H_NODES; node++)
        for (int tier = TIER_RAW; tier < TIER_COUNT; tier++)
            check_node(s, m, node, tier, &all);
    return all;
}

static void note(void *arg, int result)
{
    *(int *)arg = result;
}

struct sum {
    long runs, refused, told, sound, quiet, failed;
    uint64_t want, got, later_want, later_got; /* later: after the check of the indexes */
};

static void add(struct sum *t, const struct seen_all *a, bool told)
{
    t->want += a->want;
    t->got += a->got;
    t->failed += a->failed;
    t->told += told || a->damaged || a->failed;
    t->sound += !told && !a->damaged && !a->failed && !a->quiet;
    t->quiet += a->quiet && !told && !a->damaged && !a->failed;
}

/* Damages one place: open, query, append, settle, query again. */
static void play(const char *sound, struct h_model *m, const char *name, enum harm how, uint64_t seed, struct sum *t)
{
    char *dir = dir_new_quick();
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    struct prng g = {seed * 1000 + how};
    struct store *s = NULL;
    struct err err = {0};
    struct store_stat st;
    size_t n = m->n, n_sent = m->n_sent;
    int kept = 1;

    print_message("%s: kind %d, place %llu\n", name, how, (unsigned long long)seed);
    dir_each(sound, dir_copy_one, dir);
    harm(path, &g, how);
    now_ms = LATER;
    t->runs++;
    int r = open_dir(dir, &s, &err);
    if (r < 0) {
        assert_true(err.msg[0]); /* a sentence that names it */
        assert_non_null(strstr(err.msg, name));
        t->refused++;
        dir_free(dir);
        return;
    }
    bool told = err.msg[0];
    struct seen_all before = check_all(s, m);
    store_stat(s, &st);
    assert_true(st.damaged_columns >= before.damaged); /* damage that readers met is counted */
    h_send(s, m, h_batch(m, 0, LATER, 10, 1000), note, &kept);
    m->next[0]--;
    store_flush(s, NULL);
    assert_int_not_equal(kept, 1);
    store_settle(s, NULL);
    struct seen_all after = check_all(s, m);
    store_stat(s, &st);
    told |= st.damaged || st.damaged_columns || st.last_error || st.history_error;
    add(t, &before, told);
    t->later_want += after.want;
    t->later_got += after.got;
    if (!told && !before.damaged && !before.failed && !before.quiet) /* sound: nothing goes later */
        assert_true(after.got == after.want);
    store_close(s);
    free(m->sent[n_sent].bytes);
    m->n = n;
    m->n_sent = n_sent;
    dir_free(dir);
}

struct largest {
    const char *start; /* of its name */
    char name[64];
    off_t size;
};

static void note_largest(void *arg, const char *path, const char *name)
{
    struct largest *l = arg;
    struct stat st;

    if (strncmp(name, l->start, strlen(l->start)) != 0 || stat(path, &st) < 0 || st.st_size <= l->size)
        return;
    l->size = st.st_size;
    mem_copy_str(l->name, sizeof(l->name), name);
}

/* start: of a file's name. How many logs there were before the last depends on how batches came to be committed. */
static void sweep(const char *start)
{
    struct h_model m;
    struct sum t = {0};
    char *sound = make_sound(&m);
    struct largest l = {.start = start};
    const char *name = l.name;
    uint64_t each = getenv("MUSTER_TEST_ALL") ? 400 : 5; /* runs per kind: with sanitizers each takes a second */

    dir_each(sound, note_largest, &l);
    assert_true(l.size > 0);
    for (enum harm how = 0; how < HARM_KINDS; how++)
        for (uint64_t seed = 1; seed <= each; seed++)
            play(sound, &m, name, how, seed, &t);
    print_message("%s: %ld places harmed: %ld refused with a sentence, %ld told, %ld without effect, %ld unnoticed, "
                  "%ld "
                  "questions failed, %.2f %% of samples answered, %.2f %% later\n",
                  name, t.runs, t.refused, t.told, t.sound, t.quiet, t.failed,
                  t.want ? 100.0 * (double)t.got / (double)t.want : 0.0,
                  t.later_want ? 100.0 * (double)t.later_got / (double)t.later_want : 0.0);
    h_fini(&m);
    dir_free(sound);
}

static void history_db(void **unused)
{
    (void)unused;
    sweep("history.db");
}

static void muster_db(void **unused)
{
    (void)unused;
    sweep("muster.db");
}

static void a_log(void **unused)
{
    (void)unused;
    sweep("log-");
}

TESTS(cmocka_unit_test(history_db), cmocka_unit_test(muster_db), cmocka_unit_test(a_log))
