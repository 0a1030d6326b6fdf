/* Workers beside the loop: K1 to K4 of workers.h. */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/workers.h"

struct probe {
    struct work_job job; /* first */
    sem_t *started, *go;
    bool saw_stop;
    int dones;
    pthread_t ran_on, done_on;
    struct event_base *loop;
    int *left;
};

static void run_at_once(struct work_job *j)
{
    struct probe *p = (struct probe *)j;

    p->ran_on = pthread_self();
}

static void run_when_told(struct work_job *j)
{
    struct probe *p = (struct probe *)j;

    sem_post(p->started);
    sem_wait(p->go);
    p->saw_stop = job_stopped(j);
}

static void run_until_stopped(struct work_job *j)
{
    struct probe *p = (struct probe *)j;

    sem_post(p->started);
    while (!job_stopped(j))
        usleep(1000);
    p->saw_stop = true;
}

static void count_done(struct work_job *j)
{
    struct probe *p = (struct probe *)j;

    p->dones++;
    p->done_on = pthread_self();
    if (p->left && --*p->left == 0)
        event_base_loopbreak(p->loop);
}

static struct event_base *make_loop(void)
{
    evthread_use_pthreads();
    return event_base_new();
}

static void a_job_runs_beside_the_loop_and_ends_on_it_once_K1(void **unused)
{
    enum { N = 20 };
    struct event_base *loop = make_loop();
    struct work *w = work_new(loop, 2, N);
    struct probe p[N] = {0};
    int left = N;

    (void)unused;
    for (int i = 0; i < N; i++) {
        p[i] = (struct probe){.job = {.run = run_at_once, .done = count_done}, .loop = loop, .left = &left};
        assert_int_equal(work_add(w, &p[i].job, 60000), 0);
    }
    assert_int_equal(work_busy(w), N);
    event_base_dispatch(loop);
    for (int i = 0; i < N; i++) {
        assert_int_equal(p[i].dones, 1);
        assert_true(p[i].job.ran);
        assert_false(pthread_equal(p[i].ran_on, pthread_self()));
        assert_true(pthread_equal(p[i].done_on, pthread_self()));
    }
    assert_int_equal(work_busy(w), 0);
    work_free(w);
    event_base_free(loop);
}

static void a_full_queue_refuses_at_once_K2_and_what_waits_can_be_cancelled_K3(void **unused)
{
    struct event_base *loop = make_loop();
    struct work *w = work_new(loop, 1, 1);
    sem_t started, go;
    int left = 2;

    (void)unused;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    struct probe first = {.job = {.run = run_when_told, .done = count_done}, .started = &started, .go = &go};
    struct probe second = {.job = {.run = run_at_once, .done = count_done}}, third = second;
    first.loop = second.loop = loop;
    first.left = second.left = &left;
    assert_int_equal(work_add(w, &first.job, 60000), 0);
    sem_wait(&started);
    assert_int_equal(work_add(w, &second.job, 60000), 0);
    assert_int_equal(work_add(w, &third.job, 60000), -EAGAIN);
    job_cancel(&second.job);
    sem_post(&go);
    event_base_dispatch(loop);
    assert_true(first.job.ran);
    assert_false(first.saw_stop);
    assert_false(second.job.ran);
    assert_int_equal(second.dones, 1);
    assert_int_equal(third.dones, 0);
    work_free(w);
    event_base_free(loop);
    sem_destroy(&started);
    sem_destroy(&go);
}

static void time_runs_out_K3(void **unused)
{
    struct event_base *loop = make_loop();
    struct work *w = work_new(loop, 1, 4);
    sem_t started;
    int left = 1;

    (void)unused;
    sem_init(&started, 0, 0);
    struct probe p = {.job = {.run = run_until_stopped, .done = count_done}, .started = &started};
    p.loop = loop;
    p.left = &left;
    assert_int_equal(work_add(w, &p.job, 20), 0);
    event_base_dispatch(loop);
    assert_int_equal(p.dones, 1); /* it ran and was stopped, or never got its turn */
    assert_true(p.saw_stop || !p.job.ran);
    work_free(w);
    event_base_free(loop);
    sem_destroy(&started);
}

static void the_end_stops_what_runs_and_tells_everybody_K4(void **unused)
{
    struct event_base *loop = make_loop();
    struct work *w = work_new(loop, 1, 8);
    sem_t started;
    struct probe p[4] = {0};

    (void)unused;
    sem_init(&started, 0, 0);
    for (int i = 0; i < 4; i++) {
        p[i] = (struct probe){.job = {.run = run_until_stopped, .done = count_done}, .started = &started};
        assert_int_equal(work_add(w, &p[i].job, 3600000), 0);
    }
    sem_wait(&started);
    work_free(w);
    for (int i = 0; i < 4; i++)
        assert_int_equal(p[i].dones, 1);
    assert_true(p[0].saw_stop);
    assert_false(p[3].job.ran);
    event_base_free(loop);
    sem_destroy(&started);
}

TESTS(cmocka_unit_test(a_job_runs_beside_the_loop_and_ends_on_it_once_K1),
      cmocka_unit_test(a_full_queue_refuses_at_once_K2_and_what_waits_can_be_cancelled_K3),
      cmocka_unit_test(time_runs_out_K3), cmocka_unit_test(the_end_stops_what_runs_and_tells_everybody_K4))
