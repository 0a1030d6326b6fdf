/* test_child.c: the collector's loop with collectors that do as they are told, seen from the parent's end. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "collect/child.h"
#include "model/state.h"

#include "test.h"

#define TICK_MS 20

/* ---- collectors that do as they are told ---- */

static _Atomic bool gpu_present, standin_present;
static _Atomic int gpu_open_result, gpu_read_result, gpu_devices, gpu_reads, gpu_closes, standin_reads, gpu_pid;
static char a_collector;

static bool gpu_is_present(const struct collect_conf *conf)
{
    (void)conf;
    return gpu_present;
}

static int gpu_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    (void)conf;
    if (gpu_open_result < 0)
        return err_set(err, gpu_open_result, "told not to open");
    *ret = (struct collector *)&a_collector;
    return 0;
}

static int gpu_read(struct collector *c, struct reading *ret, struct err *err)
{
    (void)c;
    gpu_reads++;
    if (gpu_read_result < 0)
        return err_set(err, gpu_read_result, "told not to read");
    for (int i = 0; i < gpu_devices; i++) {
        struct device_reading *d = reading_add(ret);
        snprintf(d->fact.uuid, sizeof(d->fact.uuid), "GPU-%d", i);
        d->fact.index = i;
        sample_set(&d->sample, M_util, 100 * (i + 1));
        if (gpu_pid) {
            device_reading_use(d, (struct raw_use){.pid = 1201, .kind = PROC_COMPUTE, .mem = 10, .sm = -1});
            device_reading_use(d, (struct raw_use){.pid = gpu_pid, .kind = PROC_COMPUTE, .mem = 5, .sm = -1});
            device_reading_use(d, (struct raw_use){.pid = 1201, .kind = PROC_GRAPHICS, .mem = 7, .sm = 30});
        }
    }
    return 0;
}

static void gpu_close(struct collector *c)
{
    gpu_closes += c != NULL;
}

static bool standin_is_present(const struct collect_conf *conf)
{
    (void)conf;
    return standin_present;
}

static int standin_read(struct collector *c, struct reading *ret, struct err *err)
{
    (void)c;
    standin_reads++;
    mem_copy_str(reading_add(ret)->fact.uuid, UUID_MAX, "GPU-0");
    return err_set(err, 0, "only a stand-in");
}

static int standin_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    (void)conf, (void)err;
    *ret = (struct collector *)&a_collector;
    return 0;
}

static void standin_close(struct collector *c)
{
    (void)c;
}

static const struct collector_ops gpu = {.name = "gpu",
                                         .present = gpu_is_present,
                                         .open = gpu_open,
                                         .read = gpu_read,
                                         .close = gpu_close};
static const struct collector_ops standin = {.name = "standin",
                                             .present = standin_is_present,
                                             .open = standin_open,
                                             .read = standin_read,
                                             .close = standin_close,
                                             .unless = "gpu"};
static const struct collector_ops *const table[] = {&gpu, &standin, NULL};

/* ---- the parent's end ---- */

struct run {
    int fd, child_fd, result;
    const char *list;
    pthread_t thread;
    struct child_msg msg;
};

static void *run_thread(void *p)
{
    static const struct collect_conf conf = {.tick_ms = TICK_MS, .cmdline = true};
    struct run *r = p;
    r->result = child_run(r->child_fd, table, r->list, &conf, "tests/kit/data/proc");
    close(r->child_fd);
    return NULL;
}

static void start(struct run *r, const char *list, const struct node_fact *before)
{
    int fds[2];
    *r = (struct run){.list = list};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    r->fd = fds[0];
    r->child_fd = fds[1];
    if (before) {
        AUTO_BUF b = {0};
        assert_int_equal(child_msg_facts(&b, before), 0);
        assert_int_equal(send(r->fd, b.p, b.len, 0), b.len);
    }
    assert_int_equal(pthread_create(&r->thread, NULL, run_thread, r), 0);
}

/* The next message; false when the child is done. A child that says nothing for long is a failed test. */
static bool next(struct run *r)
{
    static char in[CHILD_MSG_MAX];
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    struct err err = {0};
    assert_int_equal(poll(&p, 1, 20000), 1);
    ssize_t n = recv(r->fd, in, sizeof(in), 0);
    if (n <= 0)
        return false;
    if (child_msg_read(&r->msg, in, (size_t)n, &err) < 0)
        fail_msg("%s", err.msg);
    return true;
}

static void until(struct run *r, enum child_msg_type type)
{
    do
        assert_true(next(r));
    while (r->msg.type != type);
}

static void until_status(struct run *r, enum collect_state status)
{
    do
        until(r, CHILD_STATUS);
    while (r->msg.status != status);
}

static int stop(struct run *r)
{
    close(r->fd);
    pthread_join(r->thread, NULL);
    child_msg_fini(&r->msg);
    return r->result;
}

static int set_up(void **unused)
{
    (void)unused;
    gpu_present = true;
    standin_present = false;
    gpu_open_result = gpu_read_result = gpu_reads = gpu_closes = standin_reads = gpu_pid = 0;
    gpu_devices = 2;
    return 0;
}

/* ---- tests ---- */

static void facts_and_processes_come_before_the_tick_that_names_them(void **unused)
{
    struct run r;
    int64_t last = 0;
    (void)unused;
    gpu_pid = 1301;
    start(&r, "auto", NULL);
    assert_true(next(&r));
    assert_int_equal(r.msg.type, CHILD_STATUS);
    assert_int_equal(r.msg.status, COLLECT_STARTING);
    until_status(&r, COLLECT_OK);
    assert_true(next(&r));
    assert_int_equal(r.msg.type, CHILD_FACTS);
    assert_int_equal(r.msg.facts.n_devices, 2);
    assert_string_equal(r.msg.facts.collector, "gpu");
    assert_int_equal(r.msg.facts.tick_ms, TICK_MS);
    assert_true(next(&r));
    assert_int_equal(r.msg.type, CHILD_PROCS);
    assert_int_equal(r.msg.procs.n, 2);
    assert_int_equal(r.msg.procs.v[0].pid, 1201); /* by pid, each once */
    assert_string_equal(r.msg.procs.v[0].runtime, "docker");
    assert_int_equal(r.msg.procs.v[1].slurm_job, 4711);
    for (int i = 0; i < 5; i++) {
        until(&r, CHILD_TICK);
        assert_int_equal(r.msg.tick.n_slots, 3);
        assert_int_equal(r.msg.tick.samples[2].v[M_util], 200);
        assert_int_equal(r.msg.tick.n_uses, 4);
        assert_int_equal(r.msg.tick.uses[0].kind, PROC_COMPUTE | PROC_GRAPHICS);
        assert_int_equal(r.msg.tick.uses[0].mem, 10);
        assert_int_equal(r.msg.tick.uses[0].sm, 30);
        assert_int_equal(r.msg.tick.uses[3].slot, 2);
        assert_true(r.msg.tick.at_ms > last);
        last = r.msg.tick.at_ms;
    }
    assert_int_equal(stop(&r), CHILD_EXIT_CLOSED);
    assert_int_equal(gpu_closes, 1);
}

static void a_pid_of_another_namespace_counts_without_a_name(void **unused)
{
    struct run r;
    (void)unused;
    gpu_pid = 99999;
    start(&r, "gpu", NULL);
    until(&r, CHILD_TICK);
    assert_int_equal(r.msg.procs.n, 2);
    assert_int_equal(r.msg.procs.v[1].pid, 99999);
    assert_int_equal(r.msg.procs.v[1].uid, -1);
    assert_string_equal(r.msg.procs.v[1].name, "");
    assert_int_equal(r.msg.tick.n_uses, 4);
    stop(&r);
}

static void a_driver_that_goes_and_comes_back(void **unused)
{
    struct run r;
    (void)unused;
    start(&r, "auto", NULL);
    until(&r, CHILD_TICK);
    gpu_read_result = -ENODEV;
    until_status(&r, COLLECT_FAILED);
    assert_string_equal(r.msg.why, "gpu: told not to read");
    until(&r, CHILD_FACTS);
    assert_true(r.msg.facts.devices[0].lost && r.msg.facts.devices[1].lost);
    until(&r, CHILD_EVENT);
    assert_int_equal(r.msg.event.kind, EVENT_LOST);
    assert_int_equal(r.msg.event.slot, 1);
    gpu_read_result = 0;
    until_status(&r, COLLECT_OK);
    until(&r, CHILD_EVENT);
    assert_int_equal(r.msg.event.kind, EVENT_BACK);
    until(&r, CHILD_TICK);
    assert_int_equal(r.msg.tick.samples[1].v[M_util], 100);
    assert_false(r.msg.facts.devices[0].lost);
    stop(&r);
    assert_int_equal(gpu_closes, 2);
}

static void a_read_that_fails_loses_nothing(void **unused)
{
    struct run r;
    (void)unused;
    start(&r, "gpu", NULL);
    until(&r, CHILD_TICK);
    gpu_read_result = -EIO;
    until_status(&r, COLLECT_FAILED);
    gpu_read_result = 0;
    while (next(&r) && r.msg.type != CHILD_TICK)
        assert_true(r.msg.type == CHILD_STATUS || r.msg.type == CHILD_FACTS);
    assert_false(r.msg.facts.devices[0].lost);
    stop(&r);
}

static void a_stale_library_ends_the_process(void **unused)
{
    struct run r;
    (void)unused;
    start(&r, "auto", NULL);
    until(&r, CHILD_TICK);
    gpu_read_result = -ESTALE;
    until_status(&r, COLLECT_FAILED);
    assert_string_equal(r.msg.why, "gpu: told not to read");
    while (next(&r))
        ;
    assert_int_equal(stop(&r), CHILD_EXIT_STALE);
}

static void a_parent_that_does_not_read_loses_ticks_not_time(void **unused)
{
    struct run r;
    (void)unused;
    gpu_devices = 200;
    start(&r, "auto", NULL);
    int queued = -1, before = 0;
    struct pollfd p = {.fd = r.child_fd, .events = POLLOUT};
    while (queued != 0) /* until the child cannot send any more */
        queued = poll(&p, 1, 0);
    before = gpu_reads;
    while (gpu_reads < before + 3) /* it goes on reading */
        poll(NULL, 0, 1);
    for (int i = 0; i < 3; i++) { /* and what it says after that is whole */
        until(&r, CHILD_TICK);
        assert_int_equal(r.msg.tick.n_slots, 201);
    }
    assert_int_equal(stop(&r), CHILD_EXIT_CLOSED);
}

static void with_nothing_to_read_it_says_so_and_lives(void **unused)
{
    struct run r;
    (void)unused;
    gpu_present = false;
    start(&r, "auto", NULL);
    until_status(&r, COLLECT_NONE);
    assert_string_equal(r.msg.why, "no GPU driver found");
    assert_true(next(&r)); /* a sign of life */
    assert_int_equal(r.msg.type, CHILD_STATUS);
    gpu_present = true; /* a driver was loaded */
    until(&r, CHILD_TICK);
    stop(&r);
    start(&r, "none", NULL);
    until_status(&r, COLLECT_NONE);
    assert_string_equal(r.msg.why, "told to read no devices");
    assert_int_equal(stop(&r), CHILD_EXIT_CLOSED);
}

static void one_that_cannot_be_opened_says_why(void **unused)
{
    struct run r;
    (void)unused;
    gpu_open_result = -EACCES;
    start(&r, "gpu", NULL);
    until_status(&r, COLLECT_FAILED);
    assert_string_equal(r.msg.why, "gpu: told not to open");
    gpu_open_result = 0;
    until(&r, CHILD_TICK);
    stop(&r);
}

static void a_list_that_makes_no_sense_is_refused(void **unused)
{
    struct run r;
    (void)unused;
    start(&r, "gpu,tpu", NULL);
    assert_true(next(&r));
    assert_int_equal(r.msg.status, COLLECT_FAILED);
    assert_string_equal(r.msg.why, "unknown collector 'tpu': there are gpu, standin, auto, none");
    assert_false(next(&r));
    assert_int_equal(stop(&r), CHILD_EXIT_LIST);
}

static void a_stand_in_reads_only_while_it_must(void **unused)
{
    struct run r;
    (void)unused;
    standin_present = true;
    gpu_open_result = -ENODEV;
    start(&r, "auto", NULL);
    until(&r, CHILD_TICK);
    assert_string_equal(r.msg.facts.collector, "standin");
    assert_string_equal(r.msg.facts.devices[0].uuid, "GPU-0");
    gpu_open_result = 0;
    do
        assert_true(next(&r));
    while (strcmp(r.msg.facts.collector, "gpu") != 0);
    int before = standin_reads;
    for (int i = 0; i < 3; i++)
        until(&r, CHILD_TICK);
    assert_int_equal(standin_reads, before);
    assert_int_equal(r.msg.facts.n_devices, 2); /* the same device, not one more */
    stop(&r);
}

static void devices_of_the_process_before_are_not_forgotten(void **unused)
{
    struct device_fact known[] = {{.uuid = "GPU-7", .mig = -1}, {.uuid = "GPU-1", .mig = -1}};
    struct node_fact before = {.n_devices = 2, .devices = known};
    struct run r;
    (void)unused;
    start(&r, "auto", &before);
    until(&r, CHILD_TICK);
    assert_int_equal(r.msg.facts.n_devices, 3);
    assert_string_equal(r.msg.facts.devices[0].uuid, "GPU-7");
    assert_true(r.msg.facts.devices[0].lost);
    assert_string_equal(r.msg.facts.devices[1].uuid, "GPU-1");
    assert_false(r.msg.facts.devices[1].lost);
    assert_string_equal(r.msg.facts.devices[2].uuid, "GPU-0");
    stop(&r);
}

#define WITH(test) cmocka_unit_test_setup(test, set_up)
TESTS(WITH(facts_and_processes_come_before_the_tick_that_names_them),
      WITH(a_pid_of_another_namespace_counts_without_a_name), WITH(a_driver_that_goes_and_comes_back),
      WITH(a_read_that_fails_loses_nothing), WITH(a_stale_library_ends_the_process),
      WITH(a_parent_that_does_not_read_loses_ticks_not_time), WITH(with_nothing_to_read_it_says_so_and_lives),
      WITH(one_that_cannot_be_opened_says_why), WITH(a_list_that_makes_no_sense_is_refused),
      WITH(a_stand_in_reads_only_while_it_must), WITH(devices_of_the_process_before_are_not_forgotten))
