/* test_process.c: a program beside us that is told more while it runs. */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/mem.h"
#include "link/process.h"

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

static void start(struct seen *s, const char *in)
{
    static const char *const cat[] = {"cat", NULL};
    struct err err = {0};

    signal(SIGPIPE, SIG_IGN);
    *s = (struct seen){.loop = event_base_new(), .out = BUF_INIT(4u << 20)};
    assert_int_equal(process_start(&s->p, s->loop, cat, str_of(in), &calls, s, &err), 0);
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
    int status;

    (void)unused;
    start(&s, "here");
    until(&s, 4);
    process_drop(s.p);
    assert_true(wait(&status) > 0); /* it does end */
    event_base_loop(s.loop, EVLOOP_NONBLOCK);
    assert_int_equal(s.ends, 0);
    stop(&s);
}

TESTS(cmocka_unit_test(what_is_written_later_comes_behind_what_there_was),
      cmocka_unit_test(one_that_does_not_read_takes_a_bounded_amount),
      cmocka_unit_test(one_that_is_dropped_ends_and_tells_nobody))
