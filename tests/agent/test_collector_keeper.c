/*
 * The keeper's rules about children that hang, end and do not die, with children that are only numbers: the file is
 * compiled in here with waitpid, kill and the clock in the test's hand.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>

static pid_t fake_waitpid(pid_t pid, int *status, int flags);
static int fake_kill(pid_t pid, int sig);
#define waitpid fake_waitpid
#define kill    fake_kill
#include "../../src/agent/collector_keeper.c"
#undef waitpid
#undef kill

#include "test.h"

#define FIRST_PID 100000000 /* above any real one */
#define PIDS      64

static struct {
    int started;
    int theirs; /* the newest child's end */
    struct {
        bool killed, ended, dies; /* dies: of SIGKILL */
        int status;
    } p[PIDS];
    size_t states, starts;
    struct keeper_state last;
    int64_t now;
} w;

int spawn_collector(const struct agent_conf *conf, struct str first, pid_t *ret_pid, int *ret_fd, struct err *err)
{
    int pair[2];

    (void)conf;
    if (w.started == PIDS)
        return err_set(err, -EAGAIN, "too many");
    if (w.theirs >= 0)
        close(w.theirs);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    w.theirs = pair[1];
    if (first.len)
        assert_int_equal(send(pair[0], first.p, first.len, 0), (ssize_t)first.len);
    *ret_fd = pair[0];
    *ret_pid = FIRST_PID + w.started++;
    return 0;
}

int spawn_be_collector(const struct agent_conf *conf)
{
    (void)conf;
    return 0;
}

static pid_t fake_waitpid(pid_t pid, int *status, int flags)
{
    int i = pid - FIRST_PID;

    (void)flags;
    if (!w.p[i].ended)
        return 0;
    if (status)
        *status = w.p[i].status;
    return pid;
}

static int fake_kill(pid_t pid, int sig)
{
    int i = pid - FIRST_PID;

    if (sig == SIGKILL) {
        w.p[i].killed = true;
        w.p[i].ended |= w.p[i].dies;
    }
    return 0;
}

static void on_start(void *arg)
{
    (void)arg;
    w.starts++;
}
static void on_msg(void *arg, const struct child_msg *m)
{
    (void)arg;
    (void)m;
}
static void on_state(void *arg, const struct keeper_state *was, const struct keeper_state *now)
{
    (void)arg;
    (void)was;
    w.states++;
    w.last = *now;
}

static struct agent_conf conf = {.tick = 1000, .collect_timeout = 5000};
static const struct keeper_hooks hooks = {on_start, on_msg, on_state};

static struct keeper *up(bool dies)
{
    memset(&w, 0, sizeof(w));
    w.theirs = -1;
    w.now = 1700000000000;
    clock_set_for_test(w.now);
    for (int i = 0; i < PIDS; i++)
        w.p[i].dies = dies;
    log_set_level(LOG_ERROR);
    struct keeper *k = keeper_new(event_base_new(), &conf, &hooks, NULL);
    keeper_start(k);
    return k;
}

static void down(struct keeper *k)
{
    struct event_base *base = k->base;

    for (int i = 0; i < PIDS; i++)
        w.p[i].ended = true;
    keeper_free(k);
    event_base_free(base);
    if (w.theirs >= 0)
        close(w.theirs);
    clock_set_for_test(-1);
}

static void pass(int64_t ms)
{
    w.now += ms;
    clock_set_for_test(w.now);
}

static void say_status(struct keeper *k, enum collect_state s, const char *why)
{
    AUTO_BUF b = BUF_INIT(CHILD_MSG_MAX);

    assert_int_equal(child_msg_status(&b, (uint8_t)s, why), 0);
    assert_int_equal(send(w.theirs, b.p, b.len, 0), (ssize_t)b.len);
    on_readable(k->fd, EV_READ, k);
}

static void ends(struct keeper *k, int status)
{
    w.p[w.started - 1].ended = true;
    w.p[w.started - 1].status = status;
    on_child(SIGCHLD, EV_SIGNAL, k);
}

/* The pause before the next try, as the retry timer has it; -1: none. */
static int64_t retry_ms(struct keeper *k)
{
    struct timeval at, now;
    struct event *e = *(struct event **)k->retry; /* a timer begins with its event */

    if (!event_pending(e, EV_TIMEOUT, &at))
        return -1;
    evutil_gettimeofday(&now, NULL);
    evutil_timersub(&at, &now, &at);
    return at.tv_sec < 0 ? 0 : at.tv_sec * 1000 + at.tv_usec / 1000 + 50; /* the loop's clock is a little behind */
}

static void k2_a_silent_child_is_hung_since_its_last_word_and_replaced(void **unused)
{
    struct keeper *k = up(true);

    (void)unused;
    say_status(k, COLLECT_OK, "");
    assert_int_equal(w.last.collect, COLLECT_OK);
    int64_t heard = w.now;
    pass(5900);
    on_silence(k);
    assert_int_equal(w.last.collect, COLLECT_OK); /* a second of silence is normal, and five are allowed */
    pass(200);
    on_silence(k);
    assert_int_equal(w.last.collect, COLLECT_HUNG);
    assert_int_equal(w.last.since_ms, heard);
    assert_true(w.p[0].killed);
    assert_true(retry_ms(k) >= 0 && retry_ms(k) < 500); /* K4: at once the first time */
    on_retry(k);
    assert_int_equal(w.started, 2);
    assert_int_equal(k->state.collect, COLLECT_HUNG); /* a new process is no answer */
    pass(700);
    say_status(k, COLLECT_OK, "");
    assert_int_equal(w.last.collect, COLLECT_OK);
    down(k);
}

static void k2_a_new_child_may_take_longer_before_it_is_killed_but_not_to_be_called_hung(void **unused)
{
    struct keeper *k = up(true);

    (void)unused;
    say_status(k, COLLECT_STARTING, ""); /* no word about the driver yet */
    pass(5100);
    on_silence(k);
    assert_int_equal(w.last.collect, COLLECT_HUNG);
    assert_false(w.p[0].killed);
    pass(25000);
    on_silence(k);
    assert_true(w.p[0].killed);
    down(k);
}

static void k2_what_waits_in_the_socket_counts_when_we_were_away_ourselves(void **unused)
{
    struct keeper *k = up(true);
    AUTO_BUF b = BUF_INIT(CHILD_MSG_MAX);

    (void)unused;
    say_status(k, COLLECT_OK, "");
    child_msg_status(&b, COLLECT_OK, "");
    assert_int_equal(send(w.theirs, b.p, b.len, 0), (ssize_t)b.len);
    pass(60000); /* the machine slept */
    on_silence(k);
    assert_int_equal(w.last.collect, COLLECT_OK);
    assert_false(w.p[0].killed);
    down(k);
}

static void k3_two_that_do_not_die_are_enough(void **unused)
{
    struct keeper *k = up(false);

    (void)unused;
    say_status(k, COLLECT_OK, "");
    for (int i = 0; i < 2; i++) {
        pass(31000);
        on_silence(k);
        on_retry(k);
    }
    assert_int_equal(w.started, 2); /* the third is not started */
    pass(2100);
    keeper_reap_dying(k);
    assert_int_equal(k->state.stuck, 2);
    on_retry(k);
    assert_int_equal(w.started, 2);
    assert_non_null(strstr(w.last.why, "no new one is started"));
    timer_stop(k->retry);
    w.p[0].ended = true; /* one comes out of the kernel at last */
    on_child(SIGCHLD, EV_SIGNAL, k);
    assert_int_equal(w.started, 3);
    say_status(k, COLLECT_OK, "");
    assert_int_equal(w.last.collect, COLLECT_OK);
    assert_int_equal(k->state.stuck, 1);
    down(k);
}

static void k4_a_child_that_ends_again_and_again_is_tried_ever_more_slowly(void **unused)
{
    struct keeper *k = up(true);
    int64_t last = -1;

    (void)unused;
    for (int i = 0; i < 8; i++) {
        ends(k, 11); /* a crash */
        assert_int_equal(w.last.collect, COLLECT_FAILED);
        assert_non_null(strstr(w.last.why, "signal 11"));
        int64_t ms = retry_ms(k);
        assert_true(ms <= RETRY_MAX_MS + 100);
        assert_true(ms > last || ms > RETRY_MAX_MS - 1000);
        last = ms;
        on_retry(k);
    }
    say_status(k, COLLECT_OK, "");
    pass(SETTLED_MS + 1000);
    say_status(k, COLLECT_OK, "");
    ends(k, 11);
    assert_true(retry_ms(k) < 500); /* it had been a good one */
    down(k);
}

static void k4_a_stale_child_is_replaced_at_once_and_without_alarm(void **unused)
{
    struct keeper *k = up(true);

    (void)unused;
    say_status(k, COLLECT_OK, "");
    size_t states = w.states;
    ends(k, CHILD_EXIT_STALE << 8);
    assert_int_equal(w.states, states);
    assert_true(retry_ms(k) < 500);
    down(k);
}

static void nonsense_from_the_child_ends_it(void **unused)
{
    struct keeper *k = up(true);

    (void)unused;
    log_set_level(LOG_ERROR);
    assert_int_equal(send(w.theirs, "\x63garbage", 8, 0), 8);
    on_readable(k->fd, EV_READ, k);
    assert_true(w.p[0].killed);
    assert_true(retry_ms(k) >= 0);
    down(k);
}

static void a_pause_lets_go_and_a_hung_child_is_killed_for_it(void **unused)
{
    struct keeper *k = up(true);

    (void)unused;
    say_status(k, COLLECT_OK, "");
    keeper_pause(k, 60000);
    assert_int_equal(w.last.collect, COLLECT_PAUSED);
    assert_int_equal(keeper_pid(k), -1);
    assert_false(w.p[0].killed); /* it is given time to close the driver */
    assert_int_equal(recv(w.theirs, &(char){0}, 1, 0), 0);
    pass(CLOSE_MS + 100);
    keeper_reap_dying(k);
    assert_true(w.p[0].killed);
    pass(60000);
    on_retry(k);
    assert_int_equal(w.started, 2);
    assert_int_equal(w.last.collect, COLLECT_STARTING);
    pass(31000);
    on_silence(k);
    on_child(SIGCHLD, EV_SIGNAL, k);
    on_retry(k);
    keeper_pause(k, 60000);
    assert_true(w.p[2].killed);
    keeper_resume(k);
    assert_int_equal(w.started, 4);
    down(k);
}

static void the_next_child_hears_of_the_devices_of_the_last(void **unused)
{
    struct keeper *k = up(true);
    struct device_fact d = {.uuid = "GPU-1", .mig = -1, .minor = -1};
    struct node_fact f = {.n_devices = 1, .devices = &d};
    AUTO_BUF b = BUF_INIT(CHILD_MSG_MAX);
    static char in[CHILD_MSG_MAX];
    struct child_msg m = {0};

    (void)unused;
    child_msg_facts(&b, &f);
    assert_int_equal(send(w.theirs, b.p, b.len, 0), (ssize_t)b.len);
    on_readable(k->fd, EV_READ, k);
    for (int i = 0; i < 2; i++) { /* the second of them has not said a word of its own */
        ends(k, 11);
        on_retry(k);
    }
    ssize_t n = recv(w.theirs, in, sizeof(in), 0);
    assert_true(n > 0);
    assert_int_equal(child_msg_read(&m, in, (size_t)n, NULL), 0);
    assert_int_equal(m.type, CHILD_FACTS);
    assert_string_equal(m.facts.devices[0].uuid, "GPU-1");
    child_msg_fini(&m);
    down(k);
}

TESTS(cmocka_unit_test(k2_a_silent_child_is_hung_since_its_last_word_and_replaced),
      cmocka_unit_test(k2_a_new_child_may_take_longer_before_it_is_killed_but_not_to_be_called_hung),
      cmocka_unit_test(k2_what_waits_in_the_socket_counts_when_we_were_away_ourselves),
      cmocka_unit_test(k3_two_that_do_not_die_are_enough),
      cmocka_unit_test(k4_a_child_that_ends_again_and_again_is_tried_ever_more_slowly),
      cmocka_unit_test(k4_a_stale_child_is_replaced_at_once_and_without_alarm),
      cmocka_unit_test(nonsense_from_the_child_ends_it),
      cmocka_unit_test(a_pause_lets_go_and_a_hung_child_is_killed_for_it),
      cmocka_unit_test(the_next_child_hears_of_the_devices_of_the_last))
