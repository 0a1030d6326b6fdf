/*
 * test_backup.c: the promises of backup.h and bundle.h by number: what was acknowledged is in a backup once, whatever
 * the hub does meanwhile; a damaged one is refused; a restore that fails changes nothing.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "backup/backup.h"
#include "backup/bundle.h"
#include "base/file.h"
#include "fault_vfs.h"
#include "history_model.h"
#include "wandb/store.h"

static struct store *open_rotating(const char *dir, int64_t rotate_bytes)
{
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = rotate_bytes, .decoder = &hub_decoder};
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static struct store *open_dir(const char *dir)
{
    return open_rotating(dir, 3000);
}

/* A backup in memory. */
static int check_bytes(struct str bytes, struct backup_sum *ret, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create("backup", MFD_CLOEXEC);
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (file_put(fd, bytes.p, bytes.len) < 0)
        abort();
    return backup_check(path, NULL, ret, err);
}

static void make_backup(const char *dir, const char *path, struct backup_sum *ret)
{
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct err err = {0};

    assert_true(fd >= 0);
    if (backup_write(dir, fd, H0, NULL, ret, &err) < 0)
        fail_msg("%s", err.msg);
}

static void bring_back(const char *path, const char *dir)
{
    struct backup_sum sum;
    struct err err = {0};
    char old[4096];

    if (backup_restore(path, dir, false, NULL, &sum, old, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(old, "");
}

/* Some batches in chunks, some in logs. */
static char *a_folder(struct h_model *m, int batches)
{
    char *dir = dir_new_quick();
    struct store *s = open_dir(dir);

    h_init(m, 1);
    for (int i = 0; i < batches; i++) {
        h_batch(m, (unsigned)i % H_NODES, H0 + i / H_NODES * 50000, 4, 5000);
        h_send(s, m, &m->sent[i], NULL, NULL);
        if (i != batches / 2)
            continue;
        assert_int_equal(store_settle(s, NULL), 0);
        store_close(s);
        s = open_rotating(dir, 0); /* what comes now stays in its log, however long it takes */
    }
    struct node_event e = {.at_ms = H0 + 5, .kind = EVENT_XID, .code = 79, .text = "fell off the bus"};
    store_put(s, STORE_EVENT, &(struct store_event){"aa", "GPU-one", e}, 1, NULL, NULL);
    struct store_token t = {.id = "tok", .role = "admin", .created_ms = H0};
    assert_int_equal(store_put_now(s, STORE_TOKEN, &t, NULL), 0);
    assert_int_equal(store_flush(s, NULL), 0);
    store_close(s);
    AUTO_FREE char *file = mem_fmt("%s/admin.token", dir);
    assert_int_equal(file_write(file, 0600, "secret\n", 7, NULL), 0);
    return dir;
}

static void count_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    assert_string_equal(node, "aa");
    assert_string_equal(device, "GPU-one");
    assert_int_equal(e->code, 79);
    ++*(int *)arg;
}

static void check_folder(const char *dir, const struct h_model *m)
{
    struct store *s = open_dir(dir);
    struct store_token t;
    int events = 0;

    h_check_all(s, m, H0, H0 + H_HOUR);
    for (size_t i = 0; i < m->n_sent; i++) {
        assert_true(store_has(s, h_nodes[m->sent[i].node], m->sent[i].run, m->sent[i].number));
        h_send(s, m, &m->sent[i], NULL, NULL); /* again: it counts once */
    }
    assert_int_equal(store_settle(s, NULL), 0);
    h_check_all(s, m, H0, H0 + H_HOUR);
    assert_int_equal(store_each(s, EACH_EVENT(count_event, &events, .limit = 10), NULL), 0);
    assert_int_equal(events, 1);
    assert_int_equal(store_get(s, GET_TOKEN("tok", &t), NULL), 1);
    store_close(s);
    assert_true(dir_has(dir, "admin.token"));
    assert_false(dir_has(dir, "unfinished"));
}

static void what_was_backed_up_comes_back(void **unused)
{
    struct h_model m;
    struct backup_sum sum, seen;
    char *dir = a_folder(&m, 12);
    AUTO_FREE char *file = mem_fmt("%s.backup", dir), *to = mem_fmt("%s.to", dir);

    (void)unused;
    make_backup(dir, file, &sum);
    assert_true(sum.batches > 0 && sum.chunks > 0);
    assert_int_equal(backup_check(file, NULL, &seen, NULL), 0);
    assert_int_equal(seen.rows, sum.rows);
    assert_int_equal(seen.bytes, sum.bytes);
    assert_int_equal(seen.made_ms, H0);
    bring_back(file, to);
    check_folder(to, &m);
    /* a second one is the same to the byte */
    AUTO_FREE char *again = mem_fmt("%s.again", dir);
    AUTO_BUF a = {0};
    AUTO_BUF b = {0};
    make_backup(dir, again, &sum);
    assert_int_equal(file_read(file, 1 << 24, &a, NULL), 0);
    assert_int_equal(file_read(again, 1 << 24, &b, NULL), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.p, b.p, a.len);
    unlink(file);
    unlink(again);
    h_fini(&m);
    dir_empty(to);
    rmdir(to);
    dir_free(dir);
}

/* B1: cut at every byte, and one bit of every byte turned. */
static void damage_anywhere_is_refused(void **unused)
{
    struct h_model m;
    struct backup_sum sum;
    char *dir = a_folder(&m, 6);
    AUTO_FREE char *file = mem_fmt("%s.backup", dir);
    AUTO_BUF all = {0};
    size_t tried = 0;

    (void)unused;
    make_backup(dir, file, &sum);
    assert_int_equal(file_read(file, 1 << 24, &all, NULL), 0);
    assert_int_equal(check_bytes(buf_str(&all), &sum, NULL), 0);
    for (size_t i = 0; i < all.len; i++) {
        struct err err = {0};
        int r = check_bytes(str_n(all.p, i), &sum, &err);
        assert_true(r < 0 && err.msg[0]);
        all.p[i] ^= (char)(1 << i % 8);
        r = check_bytes(buf_str(&all), &sum, &err);
        if (r >= 0)
            fail_msg("byte %zu of %zu is another, and nobody noticed", i, all.len);
        all.p[i] ^= (char)(1 << i % 8);
        tried += 2;
    }
    buf_addc(&all, 0);
    assert_true(check_bytes(buf_str(&all), &sum, NULL) < 0);
    print_message("%zu damaged backups refused\n", tried);
    unlink(file);
    h_fini(&m);
    dir_free(dir);
}

/* ---- K1, beside a hub that writes, seals, compacts and merges ---- */

struct hub_beside {
    const char *dir;
    struct h_model m;
    atomic_size_t acked;
    atomic_bool stop;
};

static void *write_on(void *arg)
{
    struct hub_beside *h = arg;
    struct store *s = open_dir(h->dir);

    for (size_t i = 0; i < h->m.n_sent && !atomic_load(&h->stop); i++) {
        h_send(s, &h->m, &h->m.sent[i], NULL, NULL);
        if (i % 7 == 3 ? store_settle(s, NULL) : store_flush(s, NULL))
            break;
        atomic_store(&h->acked, i + 1);
    }
    store_close(s);
    return NULL;
}

struct walk {
    const struct h_model *m;
    size_t at, acked_samples, found;
    unsigned node, device, metric;
    int64_t last;
};

static int walk_point(void *arg, int64_t at, int64_t v)
{
    struct walk *w = arg;

    assert_true(at > w->last); /* every moment is of one batch: twice would be a double */
    w->last = at;
    while (w->at < w->m->n) {
        const struct h_sample *s = &w->m->v[w->at++];
        if (s->node != w->node || s->device != w->device || s->metric != w->metric)
            continue;
        if (s->at == at) {
            assert_int_equal(s->v, v);
            w->found++;
            return 0;
        }
        assert_true(w->at > w->acked_samples); /* left out: then it was not acknowledged yet */
    }
    fail_msg("a sample that nobody sent");
    return 0;
}

static void check_once(const char *dir, const struct h_model *m, size_t acked)
{
    struct store *s = open_dir(dir);
    size_t samples = acked ? m->sent[acked - 1].first + m->sent[acked - 1].n : 0, want = 0, found = 0;

    for (unsigned i = 0; i < H_NODES * H_DEVICES * H_METRICS; i++) {
        struct walk w = {.m = m,
                         .acked_samples = samples,
                         .node = i / (H_DEVICES * H_METRICS),
                         .device = i / H_METRICS % H_DEVICES,
                         .metric = i % H_METRICS};
        assert_int_equal(store_points(s, h_nodes[w.node], h_devices[w.device], h_metrics[w.metric], 0, H0 * 2,
                                      walk_point, &w, NULL),
                         0);
        found += w.found;
        for (size_t k = 0; k < samples; k++)
            want += m->v[k].node == w.node && m->v[k].device == w.device && m->v[k].metric == w.metric;
    }
    assert_true(found >= want); /* all that was acknowledged, and what came while it was made */
    store_close(s);
}

static void a_hub_at_work_is_backed_up_whole_and_once(void **unused)
{
    struct hub_beside h = {.dir = dir_new_quick()};
    AUTO_FREE char *file = mem_fmt("%s.backup", h.dir), *to = mem_fmt("%s.to", h.dir);
    struct backup_sum sum;
    pthread_t thread;
    size_t tried = 0;

    (void)unused;
    h_init(&h.m, 2);
    for (int i = 0; i < 700; i++)
        h_batch(&h.m, (unsigned)i % H_NODES, H0 + i * 30000ll, 4, 5000);
    store_close(open_dir(h.dir));
    assert_int_equal(pthread_create(&thread, NULL, write_on, &h), 0);
    while (atomic_load(&h.acked) < h.m.n_sent && tried < 200) {
        size_t acked = atomic_load(&h.acked);
        make_backup(h.dir, file, &sum);
        bring_back(file, to);
        check_once(to, &h.m, acked);
        dir_empty(to);
        rmdir(to);
        tried++;
    }
    atomic_store(&h.stop, true);
    pthread_join(thread, NULL);
    print_message("%zu backups of a store at work, nothing lost, nothing double\n", tried);
    assert_true(tried > 3);
    unlink(file);
    h_fini(&h.m);
    dir_free((char *)h.dir);
}

/* ---- K4 ---- */

static int count_beside(const char *dir)
{
    AUTO_FREE char *parent = mem_str(dir);
    char *slash = strrchr(parent, '/');
    struct str base = str_of(strrchr(dir, '/') + 1);
    int n = 0;

    *slash = 0;
    DIR *d = opendir(parent);
    for (struct dirent *e; (e = readdir(d));) {
        struct str name = str_of(e->d_name);
        n += name.len > base.len && memcmp(name.p, base.p, base.len) == 0 && str_find(name, ".restore-") > 0;
    }
    closedir(d);
    return n;
}

static void a_restore_that_fails_changes_nothing(void **unused)
{
    static const enum fault_mode modes[] = {FAULT_ONCE, FAULT_FULL, FAULT_DEAD};
    struct h_model m;
    struct backup_sum sum;
    char *dir = a_folder(&m, 6), *to = dir_new_quick(), old[4096];
    AUTO_FREE char *file = mem_fmt("%s.backup", dir), *mine = mem_fmt("%s/mine", to);
    long tried = 0;

    (void)unused;
    make_backup(dir, file, &sum);
    (void)fault_power_returns; /* files are synced behind SQLite's back: the fake disk would not know */
    fault_install();
    for (size_t k = 0; k < ARRAY_LEN(modes); k++)
        for (long at = 1;; at++) {
            assert_int_equal(file_write(mine, 0600, "x", 1, NULL), 0);
            struct err err = {0};
            fault_arm(modes[k], at);
            int r = backup_restore(file, to, true, NULL, &sum, old, &err);
            bool hit = fault_was_hit();
            fault_arm(FAULT_NONE, 0);
            if (r < 0) {
                assert_true(hit && err.msg[0]);
                assert_true(dir_has(to, "mine"));
                assert_false(dir_has(to, "muster.db"));
                assert_int_equal(count_beside(to), 0);
                tried++;
                continue;
            }
            assert_false(dir_has(to, "mine"));
            check_folder(to, &m);
            dir_empty(to);
            dir_empty(old);
            rmdir(old);
            if (!hit)
                break;
        }
    print_message("%ld failing accesses to the disk\n", tried);
    assert_true(tried > 20);
    unlink(file);
    h_fini(&m);
    dir_free(to);
    dir_free(dir);
}

static void what_is_there_is_not_overwritten_unasked(void **unused)
{
    struct h_model m;
    struct backup_sum sum;
    char *dir = a_folder(&m, 6), *to = dir_new_quick(), old[4096];
    AUTO_FREE char *file = mem_fmt("%s.backup", dir), *mine = mem_fmt("%s/mine", to);
    struct err err = {0};

    (void)unused;
    make_backup(dir, file, &sum);
    assert_int_equal(file_write(mine, 0600, "x", 1, NULL), 0);
    assert_int_equal(backup_restore(file, to, false, NULL, &sum, old, &err), -ENOTEMPTY);
    assert_non_null(strstr(err.msg, "--force"));
    struct store *s = open_dir(to); /* a hub has it */
    assert_int_equal(backup_restore(file, to, true, NULL, &sum, old, &err), -EBUSY);
    assert_non_null(strstr(err.msg, "another hub is using it"));
    store_close(s);
    assert_int_equal(backup_restore(file, to, true, NULL, &sum, old, &err), 0);
    assert_true(dir_has(old, "mine") && dir_has(old, "muster.db"));
    check_folder(to, &m);
    dir_empty(old);
    rmdir(old);
    unlink(file);
    h_fini(&m);
    dir_free(to);
    dir_free(dir);
}

/* ---- bundles made by hand ---- */

static void put_db(struct buf *part, const char *name, uint64_t magic, uint64_t version, const char *sql)
{
    buf_text(part, str_of(name));
    buf_varint(part, magic);
    buf_varint(part, version);
    buf_varint(part, 0);
    buf_varint(part, 1);
    buf_text(part, str_of(sql));
}

static void what_no_muster_wrote_is_refused(void **unused)
{
    static const struct {
        const char *name, *sql, *said;
        uint64_t magic, version;
        int want;
    } cases[] = {
        {"muster.db", "CREATE TABLE t(a)", NULL, 0x6d737472, 1, 0},
        {"muster.db", "CREATE TABLE t(a)", "newer muster", 0x6d737472, 99, -ENOTSUP},
        {"log-3.db", "CREATE TABLE t(a)", "newer muster", 0x6d73746c, 99, -ENOTSUP},
        {"../muster.db", "CREATE TABLE t(a)", "not muster's", 0x6d737472, 1, -EBADMSG},
        {"log-x.db", "CREATE TABLE t(a)", "not muster's", 0x6d73746c, 1, -EBADMSG},
        {"muster.db", "CREATE TABLE t(a)", "not muster's", 1, 1, -EBADMSG},
        {"muster.db", "ATTACH '/tmp/x' AS x", "something else", 0x6d737472, 1, -EBADMSG},
        {"muster.db", "CREATE TABLE t(a); DROP TABLE t", "something else", 0x6d737472, 1, -EBADMSG},
        {"muster.db", "CREATE VIEW v AS SELECT 1", "something else", 0x6d737472, 1, -EBADMSG},
    };
    char *dir = dir_new_quick(), old[4096];
    AUTO_FREE char *file = mem_fmt("%s/b", dir), *to = mem_fmt("%s.to", dir);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bundle_writer w = {.fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
        AUTO_BUF head = BUF_INIT(256);
        AUTO_BUF part = BUF_INIT(4096);
        AUTO_BUF end = BUF_INIT(16);
        struct backup_sum sum;
        struct err err = {0};
        print_message("%s %s\n", cases[i].name, cases[i].sql);
        buf_u64(&head, 1);
        buf_text(&head, STR("9"));
        buf_varint(&head, 0);
        put_db(&part, cases[i].name, cases[i].magic, cases[i].version, cases[i].sql);
        buf_varint(&end, 0);
        assert_int_equal(bundle_begin(&w, NULL), 0);
        assert_int_equal(bundle_put(&w, PART_HEAD, buf_str(&head), NULL), 0);
        assert_int_equal(bundle_put(&w, PART_DB, buf_str(&part), NULL), 0);
        assert_int_equal(bundle_put(&w, PART_DB_END, buf_str(&end), NULL), 0);
        assert_int_equal(bundle_end(&w, NULL), 0);
        close(w.fd);
        bundle_writer_fini(&w);
        assert_int_equal(backup_restore(file, to, false, NULL, &sum, old, &err), cases[i].want);
        if (cases[i].said)
            assert_non_null(strstr(err.msg, cases[i].said));
        assert_int_equal(access(to, F_OK), cases[i].want ? -1 : 0);
        assert_int_equal(count_beside(to), 0);
        dir_empty(to);
        rmdir(to);
    }
    dir_free(dir);
}

static void a_newer_format_is_refused_politely(void **unused)
{
    struct backup_sum sum;
    struct err err = {0};

    (void)unused;
    assert_int_equal(check_bytes(str_n("MUSTBKUP\2\0\0\0", 12), &sum, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, "newer muster (format 2"));
    assert_int_equal(check_bytes(STR("SQLite format 3"), &sum, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "not a backup"));
}

static int note_wandb_day(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    return buf_addf(arg, "%s %s %d %d;", r->id, d->host, d->day, d->minutes);
}

static void runs_of_wandb_are_in_a_backup_as_of_one_moment(void **unused)
{
    static struct h_model m;
    char *dir = a_folder(&m, 4), *to = dir_new_quick();
    AUTO_FREE char *path = mem_fmt("%s.backup", dir);
    struct wandb_store *s = NULL;
    struct wandb_run run = {.team = "t", .project = "p", .id = "r1"};
    struct wandb_day day = {.day = 7, .minutes = 60, .host = "n1", .logged_ms = 5};
    struct wandb_query all = WANDB_ASK_ALL;
    AUTO_BUF got = BUF_INIT(4096);
    struct backup_sum sum;
    enum wandb_put put;
    struct err err = {0};
    char old[4096];

    (void)unused;
    assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
    assert_int_equal(wandb_zone_set(s, "Asia/Tokyo", NULL), 0);
    assert_int_equal(wandb_row_put(s, &run, &day, &put, NULL), 0);
    assert_int_equal(wandb_store_flush(s, NULL), 0);
    run.id = "r2"; /* not flushed when the backup is made */
    assert_int_equal(wandb_row_put(s, &run, &day, &put, NULL), 0);
    make_backup(dir, path, &sum);
    rmdir(to);
    bring_back(path, to);
    assert_false(dir_has(to, "wandb.lock"));
    /* while somebody writes, the folder is not replaced under it */
    assert_int_equal(backup_restore(path, dir, true, NULL, &sum, old, &err), -EBUSY);
    wandb_store_close(s);
    assert_int_equal(wandb_store_open(&s, to, true, NULL), 0);
    assert_string_equal(wandb_store_zone(s), "Asia/Tokyo");
    assert_int_equal(wandb_days_each(s, &all, note_wandb_day, &got, NULL), 1);
    assert_string_equal(got.p, "r1 n1 7 60;");
    assert_int_equal(wandb_row_put(s, &run, &day, &put, NULL), 0);
    wandb_store_close(s);
    unlink(path);
    dir_free(dir);
    dir_free(to);
}

TESTS(cmocka_unit_test(runs_of_wandb_are_in_a_backup_as_of_one_moment), cmocka_unit_test(what_was_backed_up_comes_back),
      cmocka_unit_test(damage_anywhere_is_refused), cmocka_unit_test(a_hub_at_work_is_backed_up_whole_and_once),
      cmocka_unit_test(a_restore_that_fails_changes_nothing),
      cmocka_unit_test(what_is_there_is_not_overwritten_unasked), cmocka_unit_test(what_no_muster_wrote_is_refused),
      cmocka_unit_test(a_newer_format_is_refused_politely))
