/*
 * test_store_crash.c: T1 and T2 under kill -9. A child appends as fast as its appends are acknowledged and writes their
 * numbers to a pipe. It is killed after a random number of them, thirty times over one folder. Every acknowledged batch
 * must be there, once, whole, whatever the child was doing: committing, checkpointing, rotating, or still recovering.
 */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "scan_store.h"
#include "store_dir.h"

#define ROUNDS 30
#define ACKS   120 /* maximum per round */
#define FLIGHT 8   /* concurrent appends */
#define FRAME  900 /* with rotate_bytes: a new file every dozen batches */
#define REPEAT 20  /* batches of the previous round that are sent again */
#define TOTAL  (ROUNDS * (ACKS + REPEAT) + 1)

static struct store *open_dir(const char *dir, struct event_base *loop)
{
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .rotate_bytes = 12 * FRAME};
    struct store *s;
    struct err err = {0};

    if (store_open(&s, &conf, loop, &err) == 0 && !err.msg[0])
        return s;
    fprintf(stderr, "%s\n", err.msg);
    return NULL;
}

/* ---- the child ---- */

struct sender {
    struct store *s;
    int fd;
    uint64_t next, end; /* then it only waits to be killed */
};
struct sent {
    struct sender *from;
    uint64_t number;
};

static void send_next(struct sender *se);

static void sent_done(void *arg, int result)
{
    struct sent *t = arg;

    if (result != 0 || write(t->from->fd, &t->number, sizeof(t->number)) != sizeof(t->number))
        _exit(3);
    send_next(t->from);
    free(t);
}

static void send_next(struct sender *se)
{
    char bytes[FRAME];

    if (se->next == se->end)
        return;
    struct sent *t = mem_alloc(sizeof(*t));
    struct store_batch b = batch_make("n", 1, se->next, bytes, sizeof(bytes));

    *t = (struct sent){se, se->next++};
    b.facts = 1 + b.number / 50; /* a new blob every 50 batches */
    if (store_get_blob(se->s, "n", b.facts, NULL, NULL) != 1)
        store_put_blob(se->s, "n", BLOB_FACTS, b.facts, STR("facts"));
    store_append(se->s, &b, 1, sent_done, t);
}

static _Noreturn void child(const char *dir, uint64_t first, int fd)
{
    struct event_base *loop = event_base_new();
    struct sender se = {open_dir(dir, loop), fd, first, first + ACKS + REPEAT};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!se.s)
        _exit(2);
    for (int i = 0; i < FLIGHT; i++)
        send_next(&se);
    event_base_dispatch(loop);
    _exit(4);
}

/* ---- the parent ---- */

struct tally {
    struct store *s;
    bool acked[TOTAL];
    uint8_t copies[TOTAL];
    uint64_t highest; /* acknowledged */
};

static int tally_one(void *arg, const struct store_batch *b)
{
    struct tally *t = arg;
    AUTO_BUF blob = BUF_INIT(100);

    assert_true(b->number < TOTAL);
    assert_int_equal(b->bytes.len, FRAME);
    assert_true(batch_whole(b));
    assert_int_equal(store_get_blob(t->s, "n", b->facts, &blob, NULL), 1);
    assert_int_equal(t->copies[b->number]++, 0); /* T2 */
    return 0;
}

static int check(struct tally *t, const char *dir)
{
    int n = 0;

    t->s = open_dir(dir, NULL);
    assert_non_null(t->s);
    memset(t->copies, 0, sizeof(t->copies));
    assert_int_equal(scan_store(t->s, tally_one, t, NULL), 0);
    for (size_t i = 0; i < TOTAL; i++) {
        if (t->acked[i] && !t->copies[i])
            fail_msg("batch %zu was acknowledged and is not there", i); /* T1 */
        assert_int_equal(store_has(t->s, "n", 1, i), t->copies[i]);
        n += t->copies[i];
    }
    store_close(t->s);
    return n;
}

static void run_and_kill(struct tally *t, const char *dir, int acks)
{
    int fds[2], status;
    uint64_t number, first = t->highest > REPEAT ? t->highest - REPEAT : 0;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        child(dir, first, fds[1]);
    }
    close(fds[1]);
    for (int i = 0; i < acks; i++) {
        assert_int_equal(read(fds[0], &number, sizeof(number)), sizeof(number));
        t->acked[number] = true;
        t->highest = MAX(t->highest, number);
    }
    kill(pid, SIGKILL);
    while (read(fds[0], &number, sizeof(number)) == sizeof(number)) { /* acknowledged before it died */
        t->acked[number] = true;
        t->highest = MAX(t->highest, number);
    }
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void t1_t2_kill_9_fifty_times(void **unused)
{
    char *dir = dir_new_quick(); /* a kill needs no disk */
    AUTO_FREE struct tally *t = mem_zero(1, sizeof(*t));
    struct prng g = {rand_u64()};
    int n = 0;

    (void)unused;
    print_message("seed %llu\n", (unsigned long long)g.s);
    for (int i = 0; i < ROUNDS; i++) {
        run_and_kill(t, dir, (int)(prng_next(&g) % ACKS));
        if (i % 3 == 0) /* the others are recovered by the next child */
            n = check(t, dir);
    }
    n = check(t, dir);
    print_message("%d batches, the highest acknowledged is %llu\n", n, (unsigned long long)t->highest);
    assert_true(n > ROUNDS);
    dir_free(dir);
}

TESTS(cmocka_unit_test(t1_t2_kill_9_fifty_times))
