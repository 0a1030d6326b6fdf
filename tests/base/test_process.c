/* test_process.c: a program beside us that is told more while it runs. */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/process.h"

struct seen {
    struct event_base *loop;
    struct process *p;
    struct buf out;
    int ends, status;
};

static void on_out(void *arg, struct str bytes)
{
    struct seen *s = arg;

    buf_addstr(&s->out, bytes);
    event_base_loopbreak(s->loop);
}

static void on_ended(void *arg, int status)
{
    struct seen *s = arg;

    s->ends++;
    s->status = status;
    event_base_loopbreak(s->loop);
}

static const struct process_calls calls = {.out = on_out, .ended = on_ended};

static void start_program(struct seen *s, const char *const *argv, const char *in)
{
    struct err err = {0};

    signal(SIGPIPE, SIG_IGN);
    *s = (struct seen){.loop = event_base_new(), .out = BUF_INIT(4u << 20)};
    assert_int_equal(process_start(&s->p, s->loop, argv, NULL, str_of(in), &calls, s, &err), 0);
}

static void start(struct seen *s, const char *in)
{
    static const char *const cat[] = {"cat", NULL};

    start_program(s, cat, in);
}

static void until(struct seen *s, size_t bytes)
{
    while (s->out.len < bytes && !s->ends)
        event_base_dispatch(s->loop);
}

static void stop(struct seen *s)
{
    buf_fini(&s->out);
    event_base_free(s->loop);
}

static void what_is_written_later_comes_behind_what_there_was(void **unused)
{
    struct seen s;

    (void)unused;
    start(&s, "one ");
    assert_int_equal(process_write(s.p, STR("two ")), 0);
    until(&s, 8);
    assert_int_equal(process_write(s.p, STR("three")), 0); /* after all of it was written */
    until(&s, 13);
    assert_string_equal(s.out.p, "one two three");
    process_input_ends(s.p);
    assert_int_equal(process_write(s.p, STR("late")), -EPIPE);
    while (!s.ends)
        event_base_dispatch(s.loop);
    assert_true(WIFEXITED(s.status) && WEXITSTATUS(s.status) == 0);
    stop(&s);
}

static void one_that_does_not_read_takes_a_bounded_amount(void **unused)
{
    AUTO_BUF much = BUF_INIT(1u << 20);
    struct seen s;

    (void)unused;
    start(&s, "");
    buf_fill(&much, 'x', 1u << 20);
    assert_int_equal(process_write(s.p, buf_str(&much)), 0);
    assert_int_equal(process_write(s.p, STR("y")), -EMSGSIZE); /* nothing was read yet */
    until(&s, 1u << 20);
    assert_int_equal(process_write(s.p, STR("y")), 0);
    until(&s, (1u << 20) + 1);
    assert_int_equal(s.out.p[1u << 20], 'y');
    process_stop(s.p);
    while (!s.ends)
        event_base_dispatch(s.loop);
    stop(&s);
}

static void one_that_is_dropped_ends_and_tells_nobody(void **unused)
{
    struct seen s;

    (void)unused;
    start(&s, "here");
    until(&s, 4);
    process_drop(s.p);
    event_base_dispatch(s.loop); /* which returns when nothing is left on it */
    assert_int_equal(s.ends, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it has ended, and is reaped */
    assert_int_equal(errno, ECHILD);
    stop(&s);
}

/* C6: running, told to end a moment ago, dropped, one that will not hear of it; and those of another loop are left. */
static void all_end_with_their_loop(void **unused)
{
    static const char *const deaf[] = {"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done", NULL};
    struct seen runs, stopped, dropped, deaf_one, other;
    struct err err = {0};

    (void)unused;
    start(&runs, "here");
    start(&other, "here");
    start_program(&deaf_one, deaf, "");
    until(&runs, 4);
    until(&deaf_one, 5);
    stopped = dropped = (struct seen){.loop = runs.loop};
    static const char *const cat[] = {"cat", NULL};
    assert_int_equal(process_start(&stopped.p, runs.loop, cat, NULL, STR(""), &calls, &stopped, &err), 0);
    assert_int_equal(process_start(&dropped.p, runs.loop, cat, NULL, STR(""), &calls, &dropped, &err), 0);
    process_stop(stopped.p);
    process_drop(dropped.p);
    process_end_all(runs.loop);
    assert_int_equal(runs.ends, 1);
    assert_int_equal(stopped.ends, 1);
    assert_int_equal(dropped.ends, 0);
    assert_int_equal(other.ends, 0);
    process_end_all(deaf_one.loop);
    assert_int_equal(deaf_one.ends, 1);
    assert_true(WIFSIGNALED(deaf_one.status) && WTERMSIG(deaf_one.status) == SIGKILL);
    process_end_all(other.loop);
    process_end_all(other.loop); /* nothing is left: no matter */
    assert_int_equal(other.ends, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    stop(&runs);
    stop(&deaf_one);
    stop(&other);
}

/* Ended or not: is there a line that begins so? */
static bool has_line(const struct buf *out, const char *begin)
{
    struct str rest = buf_str(out), line;

    while (str_line(&rest, &line))
        if (str_starts(line, begin))
            return true;
    return false;
}

static void it_gets_of_our_environment_what_it_needs_and_no_descriptor(void **unused)
{
    static const char *const show[] = {"sh", "-c", "env; for f in /proc/$$/fd/*; do echo fd ${f##*/}; done", NULL};
    static const char *const ours[] = {"MUSTER_TOKEN",  "MUSTER_VESTA_TOKEN", "OPS_URL",  "WANDB_API_KEY",
                                       "SSH_AUTH_SOCK", "SLURM_CONF",         "NO_PROXY", "NOTIFY_SOCKET"};
    static const struct {
        struct process_env env;
        const char *gets[4];
    } cases[] = {
        {{0}, {"PATH="}},
        {{.needs = NEEDS_NET}, {"NO_PROXY="}},
        {{.needs = NEEDS_SSH}, {"SSH_AUTH_SOCK="}},
        {{.needs = NEEDS_SLURM}, {"SLURM_CONF="}},
        {{.needs = NEEDS_WANDB}, {"WANDB_API_KEY=", "NO_PROXY="}},
        {{.secret = "its own"}, {"MUSTER_SECRET=its own"}},
    };
    int open_fd = fcntl(STDERR_FILENO, F_DUPFD, 100); /* one that does not close by itself */

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        setenv(ours[i], "x", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen s = {.loop = event_base_new(), .out = BUF_INIT(1u << 20)};
        struct err err = {0};
        size_t got = 0, want = 0;
        print_message("%zu\n", i);
        assert_int_equal(process_start(&s.p, s.loop, show, &cases[i].env, str_of(NULL), &calls, &s, &err), 0);
        while (!s.ends)
            event_base_dispatch(s.loop);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].gets) && cases[i].gets[k]; k++) {
            assert_true(has_line(&s.out, cases[i].gets[k]));
            want += strncmp(cases[i].gets[k], "PATH", 4) != 0 && strncmp(cases[i].gets[k], "MUSTER_SECRET", 13) != 0;
        }
        for (size_t k = 0; k < ARRAY_LEN(ours); k++)
            got += has_line(&s.out, ours[k]);
        assert_int_equal(got, want);
        assert_true(has_line(&s.out, "LC_ALL=C"));
        assert_true(has_line(&s.out, "fd 2"));
        char fd[16];
        snprintf(fd, sizeof(fd), "fd %d", open_fd);
        assert_false(has_line(&s.out, fd));
        stop(&s);
    }
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        unsetenv(ours[i]);
    close(open_fd);
}

TESTS(cmocka_unit_test(it_gets_of_our_environment_what_it_needs_and_no_descriptor),
      cmocka_unit_test(what_is_written_later_comes_behind_what_there_was),
      cmocka_unit_test(one_that_does_not_read_takes_a_bounded_amount),
      cmocka_unit_test(one_that_is_dropped_ends_and_tells_nobody), cmocka_unit_test(all_end_with_their_loop))
