/* test_spool: S1 to S5 of uplink/spool.h. kill -9 is a copy of the folder taken while the spool is open. */
#include "uplink/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "test.h"

#define NOW 1794700803000
#define DAY 86400000ll

/* ---- folders ---- */

struct dirs {
    char top[64], a[80], b[80];
};

static void folder_empty(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static size_t folder_count(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static int set_up(void **state)
{
    struct dirs *d = mem_zero(1, sizeof(*d));

    snprintf(d->top, sizeof(d->top), "/tmp/muster-spool-XXXXXX");
    if (!mkdtemp(d->top))
        return -1;
    snprintf(d->a, sizeof(d->a), "%s/a", d->top);
    snprintf(d->b, sizeof(d->b), "%s/b", d->top);
    mkdir(d->b, 0700);
    *state = d;
    return 0;
}

static int tear_down(void **state)
{
    struct dirs *d = *state;

    folder_empty(d->a);
    folder_empty(d->b);
    rmdir(d->a);
    rmdir(d->b);
    rmdir(d->top);
    free(d);
    return 0;
}

static void copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    AUTO_FREE char *from = mem_fmt("%s/%s", from_dir, name);
    AUTO_FREE char *to = mem_fmt("%s/%s", to_dir, name);
    AUTO_BUF b = {0};

    assert_int_equal(file_read(from, 64 << 20, &b, NULL), 0);
    assert_int_equal(file_write(to, 0600, b.p, b.len, NULL), 0);
}

/* What a crash leaves behind. */
static void folder_copy(const char *from, const char *to)
{
    DIR *d = opendir(from);
    const struct dirent *e;

    folder_empty(to);
    assert_non_null(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            copy_file(from, to, e->d_name);
    closedir(d);
}

/* ---- spools ---- */

static struct spool *must_open(const char *dir, int64_t max_bytes, int64_t now_ms)
{
    struct spool_conf conf = {dir, max_bytes, 3 * DAY};
    struct spool *s = NULL;
    struct err err = {0};
    int rc = spool_open(&s, &conf, now_ms, &err);

    if (rc < 0)
        print_message("%s\n", err.msg);
    assert_int_equal(rc, 0);
    return s;
}

/* Record n: its bytes are made of n, size of them. */
static struct str bytes_of(struct buf *b, uint64_t n, size_t size)
{
    AUTO_BUF some = BUF_INIT(8192);

    while (some.len < 4096)
        buf_addf(&some, "<%llu>", (unsigned long long)n);
    buf_reset(b);
    while (b->len < size)
        buf_addstr(b, buf_str(&some));
    buf_cut(b, size);
    return buf_str(b);
}

static int try_put(struct spool *s, uint64_t run, uint64_t n, size_t size, int64_t at_ms)
{
    AUTO_BUF b = BUF_INIT(32 << 20);
    struct err err = {0};
    struct spool_rec rec = {.run = run, .number = n, .at_ms = at_ms, .blobs = {7, 0}, .bytes = bytes_of(&b, n, size)};

    return spool_put(s, &rec, at_ms, &err);
}

static void put(struct spool *s, uint64_t run, uint64_t n, size_t size)
{
    assert_int_equal(try_put(s, run, n, size, NOW + (int64_t)n), 0);
}

/* The i-th is (run, n) with all its bytes; n 0: there is none. */
static void expect(struct spool *s, size_t i, uint64_t run, uint64_t n, size_t size)
{
    AUTO_BUF b = BUF_INIT(32 << 20);
    struct spool_rec rec = {0};
    struct err err = {0};

    assert_int_equal(spool_peek(s, i, &rec, &err), n ? 1 : 0);
    if (n == 0)
        return;
    assert_true(rec.run == run && rec.number == n && rec.at_ms == NOW + (int64_t)n);
    assert_true(rec.blobs[0] == 7 && rec.blobs[1] == 0);
    struct str want = bytes_of(&b, n, size);
    assert_int_equal(rec.bytes.len, want.len);
    assert_memory_equal(rec.bytes.p, want.p, want.len);
}

static void done(struct spool *s, uint64_t run, uint64_t n)
{
    struct err err = {0};

    assert_int_equal(spool_done(s, run, n, &err), 0);
}

static struct spool_stat stat_of(struct spool *s)
{
    struct spool_stat st;

    spool_stat(s, &st);
    return st;
}

/* ---- tests ---- */

static void s1_what_was_put_survives_a_crash_in_order(void **state)
{
    struct dirs *d = *state;
    struct err err = {0};
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    for (uint64_t n = 1; n <= 300; n++)
        put(s, n <= 150 ? 111 : 222, n, 9000 + n); /* some megabytes: several files */
    assert_int_equal(spool_sync(s, &err), 0);
    assert_true(folder_count(d->a) >= 3);
    folder_copy(d->a, d->b);
    spool_close(s);

    s = must_open(d->b, 64 << 20, NOW);
    assert_int_equal(stat_of(s).records, 300);
    assert_int_equal(stat_of(s).oldest_ms, NOW);
    for (uint64_t n = 1; n <= 300; n++) /* S2 */
        expect(s, n - 1, n <= 150 ? 111 : 222, n, 9000 + n);
    expect(s, 300, 0, 0, 0);
    put(s, 333, 301, 50);
    expect(s, 300, 333, 301, 50);
    assert_true(stat_of(s).damaged == 0 && stat_of(s).dropped == 0);
    spool_close(s);
}

static void s5_done_is_exact_and_lasts(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    for (uint64_t n = 1; n <= 10; n++)
        put(s, 5, n, 100);
    done(s, 5, 4);
    done(s, 5, 1);
    done(s, 6, 2);  /* another run's */
    done(s, 5, 99); /* none */
    for (int round = 0; round < 2; round++) {
        static const uint64_t want[] = {2, 3, 5, 6, 7, 8, 9, 10};
        for (size_t i = 0; i < ARRAY_LEN(want); i++)
            expect(s, i, 5, want[i], 100);
        expect(s, ARRAY_LEN(want), 0, 0, 0);
        assert_int_equal(stat_of(s).records, 8);
        assert_int_equal(stat_of(s).oldest_ms, NOW);
        folder_copy(d->a, d->b);
        spool_close(s);
        s = must_open(d->b, 64 << 20, NOW);
    }
    spool_close(s);
}

static void files_go_when_all_in_them_is_done(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    for (uint64_t n = 1; n <= 400; n++)
        put(s, 5, n, 10000);
    size_t files = folder_count(d->a);
    assert_true(files >= 4);
    for (uint64_t n = 400; n > 200; n--) /* in any order */
        done(s, 5, n);
    assert_true(folder_count(d->a) < files);
    expect(s, 0, 5, 1, 10000);
    for (uint64_t n = 1; n <= 200; n++)
        done(s, 5, n);
    assert_int_equal(folder_count(d->a), 0);
    assert_int_equal(stat_of(s).bytes, 0);
    assert_int_equal(stat_of(s).records, 0);

    put(s, 5, 1000, 10); /* a small file is kept for the next record, and goes at the end */
    done(s, 5, 1000);
    assert_int_equal(folder_count(d->a), 1);
    put(s, 5, 1001, 10);
    assert_int_equal(folder_count(d->a), 1);
    expect(s, 0, 5, 1001, 10);
    done(s, 5, 1001);
    spool_close(s);
    assert_int_equal(folder_count(d->a), 0);
}

static void s3_the_oldest_go_when_it_is_full(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 1 << 20, NOW);

    for (uint64_t n = 1; n <= 500; n++) {
        put(s, 5, n, 10000);
        assert_true(stat_of(s).bytes <= 1 << 20);
    }
    struct spool_stat st = stat_of(s);
    assert_int_equal(st.records + st.dropped, 500);
    assert_true(st.records >= 90); /* most of the megabyte is used */
    for (size_t i = 0; i < st.records; i++)
        expect(s, i, 5, st.dropped + 1 + i, 10000);
    assert_int_equal(try_put(s, 5, 501, 2 << 20, NOW), -E2BIG);
    assert_int_equal(stat_of(s).records, st.records); /* nothing was given up for it */
    spool_close(s);

    s = must_open(d->a, 200 << 10, NOW); /* a smaller bound next time */
    assert_true(stat_of(s).bytes <= 200 << 10);
    assert_true(stat_of(s).dropped > 0);
    expect(s, stat_of(s).records - 1, 5, 500, 10000);
    spool_close(s);
}

static void s3_what_is_too_old_goes(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    for (uint64_t n = 1; n <= 10; n++)
        assert_int_equal(try_put(s, 5, n, 100, NOW + (int64_t)n * DAY / 4), 0);
    assert_int_equal(stat_of(s).dropped, 0);
    assert_int_equal(try_put(s, 5, 11, 100, NOW + 4 * DAY), 0); /* 1 day and older is too old: 1 to 3 */
    assert_int_equal(stat_of(s).dropped, 3);
    assert_int_equal(stat_of(s).records, 8);
    spool_close(s);
    s = must_open(d->a, 64 << 20, NOW + 4 * DAY);
    assert_int_equal(stat_of(s).dropped, 0); /* not counted twice */
    assert_int_equal(stat_of(s).records, 8);
    spool_close(s);
    s = must_open(d->a, 64 << 20, NOW + 5 * DAY);
    assert_int_equal(stat_of(s).dropped, 4);
    assert_int_equal(stat_of(s).records, 4);
    spool_close(s);
    s = must_open(d->a, 64 << 20, NOW + 90 * DAY);
    assert_int_equal(stat_of(s).records, 0);
    spool_close(s);
    assert_int_equal(folder_count(d->a), 0);
}

/* One file of 6 records and a blob; where each record ends. */
static void one_file(struct dirs *d, struct buf *ret, size_t end[7])
{
    struct spool *s = must_open(d->a, 64 << 20, NOW);
    AUTO_FREE char *path = mem_fmt("%s/00000001.seg", d->a);
    struct err err = {0};

    assert_int_equal(spool_put_blob(s, 7, STR("the facts"), &err), 0);
    end[0] = (size_t)stat_of(s).bytes;
    for (uint64_t n = 1; n <= 6; n++) {
        put(s, 5, n, 20 + n);
        end[n] = (size_t)stat_of(s).bytes;
    }
    assert_int_equal(file_read(path, 1 << 20, ret, NULL), 0);
    assert_int_equal(ret->len, end[6]);
    spool_close(s);
}

static void write_file(struct dirs *d, const char *name, const void *p, size_t n)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", d->b, name);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, n), n);
}

static void s4_cut_anywhere_the_rest_is_read_and_goes_on(void **state)
{
    struct dirs *d = *state;
    AUTO_BUF whole = {0};
    size_t end[7];

    one_file(d, &whole, end);
    for (size_t cut = 0; cut <= whole.len; cut++) {
        uint64_t left = 0;
        bool clean = cut == end[0] || cut == 0 || cut == 8;
        for (uint64_t n = 1; n <= 6; n++) {
            left = cut >= end[n] ? n : left;
            clean |= cut == end[n];
        }
        folder_empty(d->b);
        write_file(d, "00000001.seg", whole.p, cut);
        struct spool *s = must_open(d->b, 64 << 20, NOW);
        assert_int_equal(stat_of(s).records, left);
        assert_int_equal(stat_of(s).damaged, clean ? 0 : 1);
        for (uint64_t n = 1; n <= left; n++)
            expect(s, n - 1, 5, n, 20 + n);
        put(s, 6, 100, 77); /* and what comes behind the cut is whole */
        spool_close(s);
        s = must_open(d->b, 64 << 20, NOW);
        assert_int_equal(stat_of(s).records, left + 1);
        assert_int_equal(stat_of(s).damaged, 0);
        expect(s, left, 6, 100, 77);
        spool_close(s);
    }
}

static void s4_a_bad_byte_costs_only_its_record(void **state)
{
    struct dirs *d = *state;
    AUTO_BUF whole = {0};
    size_t end[7];

    one_file(d, &whole, end);
    for (size_t at = 0; at < whole.len; at++) {
        size_t hit = 0, mark = 0; /* 0: none, or the blob */
        for (size_t n = 1; n <= 6; n++)
            if (at >= end[n - 1] && at < end[n]) {
                hit = n;
                mark = end[n - 1] + 5;
            }
        if (at == mark || at == end[0] - 69 + 5 || at == 6 || at == 7)
            continue; /* marks: below; version: its own test; a byte without meaning */
        folder_empty(d->b);
        whole.p[at] ^= 0x10;
        write_file(d, "00000001.seg", whole.p, whole.len);
        whole.p[at] ^= 0x10;
        struct spool *s = must_open(d->b, 64 << 20, NOW);
        assert_int_equal(stat_of(s).damaged, 1);
        assert_int_equal(stat_of(s).records, hit ? 5 : 6);
        for (size_t n = 1, i = 0; n <= 6; n++)
            if (n != hit)
                expect(s, i++, 5, n, 20 + n);
        spool_close(s);
    }
}

static void s5_a_damaged_mark_makes_no_record_vanish(void **state)
{
    struct dirs *d = *state;
    AUTO_BUF whole = {0};
    size_t end[7];

    one_file(d, &whole, end);
    for (int bit = 0; bit < 8; bit++) {
        folder_empty(d->b);
        whole.p[end[2] + 5] ^= (char)(1 << bit);
        write_file(d, "00000001.seg", whole.p, whole.len);
        whole.p[end[2] + 5] ^= (char)(1 << bit);
        struct spool *s = must_open(d->b, 64 << 20, NOW);
        assert_int_equal(stat_of(s).records, 6);
        spool_close(s);
    }
}

static void s4_holes_and_junk_are_stepped_over(void **state)
{
    struct dirs *d = *state;
    AUTO_BUF whole = {0}, file = BUF_INIT(1 << 20);
    size_t end[7];

    one_file(d, &whole, end);
    buf_add(&file, whole.p, end[2]);
    buf_fill(&file, 0, 5000);
    buf_adds(&file, "\xd5REC\xd5REC\xd5");
    buf_add(&file, whole.p + end[2], end[4] - end[2]);
    buf_fill(&file, 'x', 300);
    buf_add(&file, whole.p + end[4], end[6] - end[4]);
    write_file(d, "00000001.seg", file.p, file.len);
    write_file(d, "00000002.seg", "", 0);
    write_file(d, "00000003.seg", "not a spool file at all, but long enough to be looked at for what it may have been",
               80);
    struct spool *s = must_open(d->b, 64 << 20, NOW);
    assert_int_equal(stat_of(s).damaged, 3);
    for (uint64_t n = 1; n <= 6; n++)
        expect(s, n - 1, 5, n, 20 + n);
    spool_close(s);
}

static void s4_damage_after_opening_is_found_when_read(void **state)
{
    struct dirs *d = *state;
    AUTO_BUF whole = {0};
    size_t end[7];

    one_file(d, &whole, end);
    write_file(d, "00000001.seg", whole.p, whole.len);
    struct spool *s = must_open(d->b, 64 << 20, NOW);
    whole.p[end[2] + 62] ^= 1;
    write_file(d, "00000001.seg", whole.p, whole.len);
    expect(s, 1, 5, 2, 22);
    expect(s, 2, 5, 4, 24); /* the third is skipped */
    assert_int_equal(stat_of(s).damaged, 1);
    assert_int_equal(stat_of(s).records, 5);
    spool_close(s);
}

static void blobs_are_in_every_file_that_needs_them(void **state)
{
    struct dirs *d = *state;
    struct err err = {0};
    AUTO_BUF blob = BUF_INIT(1 << 20);
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    assert_int_equal(spool_blob(s, 7, &blob, &err), 0);
    assert_int_equal(spool_put_blob(s, 7, STR("the facts"), &err), 0);
    int64_t before = stat_of(s).bytes;
    assert_int_equal(spool_put_blob(s, 7, STR("the facts"), &err), 0);
    assert_int_equal(stat_of(s).bytes, before); /* once per file */
    for (uint64_t n = 1; n <= 200; n++)
        put(s, 5, n, 10000); /* names blob 7, puts it nowhere: it is brought along */
    assert_true(folder_count(d->a) >= 2);
    for (uint64_t n = 1; n <= 190; n++)
        done(s, 5, n);
    assert_int_equal(folder_count(d->a), 1);
    folder_copy(d->a, d->b);
    spool_close(s);

    s = must_open(d->b, 64 << 20, NOW);
    assert_int_equal(spool_blob(s, 7, &blob, &err), 1);
    assert_string_equal(blob.p, "the facts");
    assert_int_equal(spool_blob(s, 8, &blob, &err), 0);
    spool_close(s);
}

static void a_record_that_cannot_be_written_leaves_the_rest_whole(void **state)
{
    struct dirs *d = *state;
    struct rlimit was, small;
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    put(s, 5, 1, 100);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = (rlim_t)stat_of(s).bytes + 80; /* as a full disk: the head fits, the rest does not */
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = try_put(s, 5, 2, 100, NOW + 2);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_true(rc < 0);
    assert_int_equal(stat_of(s).records, 1);
    put(s, 5, 3, 100);
    folder_copy(d->a, d->b);
    spool_close(s);
    s = must_open(d->b, 64 << 20, NOW);
    assert_int_equal(stat_of(s).damaged, 0);
    expect(s, 0, 5, 1, 100);
    expect(s, 1, 5, 3, 100);
    spool_close(s);
}

static void one_process_at_a_time(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 64 << 20, NOW), *second = NULL;
    struct spool_conf conf = {d->a, 64 << 20, DAY};
    struct err err = {0};
    struct stat st;

    assert_int_equal(spool_open(&second, &conf, NOW, &err), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.msg, d->a));
    assert_int_equal(stat(d->a, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    spool_close(s);
    assert_int_equal(spool_open(&second, &conf, NOW, &err), 0);
    spool_close(second);
}

static void other_files_are_left_alone(void **state)
{
    struct dirs *d = *state;
    static const char *const names[] = {"notes.txt",    "0000000g.seg", "1.seg",
                                        "00000000.seg", "ffffffff.seg", "00000001.SEG"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        write_file(d, names[i], "mine", 4);
    write_file(d, "00000005.seg", "MSPOOL\2\0 from a newer version", 29);
    struct spool *s = must_open(d->b, 64 << 20, NOW);
    assert_int_equal(stat_of(s).damaged, 0);
    put(s, 5, 1, 100);
    spool_close(s);
    assert_int_equal(folder_count(d->b), ARRAY_LEN(names) + 2);
    AUTO_FREE char *path = mem_fmt("%s/00000006.seg", d->b);
    assert_true(file_size(path) > 100);
}

static void a_large_record_comes_back(void **state)
{
    struct dirs *d = *state;
    struct spool *s = must_open(d->a, 64 << 20, NOW);

    put(s, 5, 1, 16 << 20);
    put(s, 5, 2, 0);
    expect(s, 0, 5, 1, 16 << 20);
    expect(s, 1, 5, 2, 0);
    assert_int_equal(try_put(s, 5, 3, 18 << 20, NOW), -E2BIG);
    spool_close(s);
    s = must_open(d->a, 64 << 20, NOW);
    expect(s, 0, 5, 1, 16 << 20);
    spool_close(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
TESTS(T(s1_what_was_put_survives_a_crash_in_order), T(s5_done_is_exact_and_lasts), T(files_go_when_all_in_them_is_done),
      T(s3_the_oldest_go_when_it_is_full), T(s3_what_is_too_old_goes), T(s4_cut_anywhere_the_rest_is_read_and_goes_on),
      T(s4_a_bad_byte_costs_only_its_record), T(s5_a_damaged_mark_makes_no_record_vanish),
      T(s4_holes_and_junk_are_stepped_over), T(s4_damage_after_opening_is_found_when_read),
      T(blobs_are_in_every_file_that_needs_them), T(a_record_that_cannot_be_written_leaves_the_rest_whole),
      T(one_process_at_a_time), T(other_files_are_left_alone), T(a_large_record_comes_back))
