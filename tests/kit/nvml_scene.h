/*
 * nvml_scene.h: a scripted fake driver (tests/stub) and a clock that stands still until a test moves it, in the driver
 * too. Three builds of the driver: today's, an old one, and 535 with its wider process records.
 */
#ifndef TESTS_UNIT_NVML_SCENE_H
#define TESTS_UNIT_NVML_SCENE_H

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/collect.h"
#include "collect/nvml_slow.h"
#include "test.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* each test file uses its part */

enum { TODAY, OLD, R535, LIBS };
static const char *const lib_names[LIBS] = {"libnvml-stub.so", "libnvml-stub-old.so", "libnvml-stub-535.so"};
static char lib_paths[LIBS][PATH_MAX];
static char folder[] = "/tmp/muster-nvml-XXXXXX";
static char script_path[64];
#define MIB    1048576ll
#define GPU(n) "GPU-00000000-0000-4000-8000-00000000000" #n

static int64_t now_ms;
static void *stub; /* kept open, so that what it counted survives the collector's own dlclose */
static unsigned long (*stub_calls)(const char *glob, int gpu);
static struct collector *nvml;
static struct reading got;
static struct err why;
static bool with_events; /* else the driver has none to offer, and no thread waits for them */

static void write_file(const char *path, const char *text)
{
    char tmp[PATH_MAX];
    snprintf(tmp, sizeof(tmp), "%s.new", path);
    FILE *f = fopen(tmp, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(rename(tmp, path), 0);
}

/* The driver is like this from now on. */
static void say(const char *script)
{
    char text[4096];
    static int turn; /* the length tells two scripts written within one tick of the kernel's clock apart */
    turn = (turn + 1) % 40;
    snprintf(text, sizeof(text), "%s\nnow %lld\n%s# %*s\n", script, (long long)now_ms * 1000,
             with_events ? "" : "events 0 0\nevents 1 0\nevents 2 0\n", turn, "");
    write_file(script_path, text);
}

/* Time passes, then the driver is like this. */
static void later(int64_t ms, const char *script)
{
    now_ms += ms;
    say(script); /* first: what is due from now on must see it */
    clock_set_for_test(now_ms);
}

static void begin_scene(int lib, const char *script)
{
    void (*reset)(void);
    stub = dlopen(lib_paths[lib], RTLD_NOW | RTLD_LOCAL);
    assert_non_null(stub);
    void *f = dlsym(stub, "muster_stub_calls");
    memcpy(&stub_calls, &f, sizeof(f));
    f = dlsym(stub, "muster_stub_reset");
    memcpy(&reset, &f, sizeof(f));
    reset();
    now_ms = 1800000000000;
    later(0, script);
}

static int start(int lib, const char *script, const char *root)
{
    struct collect_conf conf = {.tick_ms = 1000, .nvml_lib = lib_paths[lib], .root = root};
    begin_scene(lib, script);
    nvml = NULL;
    return collector_nvml.open(&nvml, &conf, &why);
}

static int tick(void)
{
    reading_reset(&got);
    got.at_ms = now_ms;
    why = (struct err){0};
    return collector_nvml.read(nvml, &got, &why);
}

static int end_scene(void **unused)
{
    (void)unused;
    say("");
    collector_nvml.close(nvml);
    nvml = NULL;
    if (stub)
        dlclose(stub);
    stub = NULL;
    reading_fini(&got);
    got = (struct reading){0};
    with_events = false;
    clock_set_for_test(-1);
    return 0;
}

static int64_t value(size_t device, enum metric m)
{
    assert_true(device < got.n_devices);
    assert_true(sample_has(&got.devices[device].sample, m));
    return got.devices[device].sample.v[m];
}

static bool has(size_t device, enum metric m)
{
    return device < got.n_devices && sample_has(&got.devices[device].sample, m);
}

/* Tick until the slow thread has brought a value: it looks at least once a second. */
static void tick_until(size_t device, enum metric m)
{
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(tick(), 0);
        if (has(device, m))
            return;
        usleep(5000);
    }
    fail_msg("metric %s never came", metrics[m].name);
}

static const struct node_event *tick_until_event(int kind)
{
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(tick(), 0);
        for (size_t k = 0; k < got.n_events; k++)
            if (got.events[k].kind == kind)
                return &got.events[k];
        usleep(5000);
    }
    fail_msg("event %d never came", kind);
    return NULL;
}

static const struct raw_use *use_of(size_t device, int32_t pid)
{
    for (size_t i = 0; i < got.devices[device].n_uses; i++)
        if (got.devices[device].uses[i].pid == pid)
            return &got.devices[device].uses[i];
    return NULL;
}

static int set_up(void **unused)
{
    char self[PATH_MAX - 64];
    (void)unused;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0 || !mkdtemp(folder))
        return -1;
    self[n] = 0;
    for (int i = 0; i < 2; i++) /* the folder above the one the test is in */
        *strrchr(self, '/') = 0;
    for (int i = 0; i < LIBS; i++)
        snprintf(lib_paths[i], sizeof(lib_paths[i]), "%s/%s", self, lib_names[i]);
    snprintf(script_path, sizeof(script_path), "%s/script", folder);
    return setenv("MUSTER_NVML_STUB", script_path, 1);
}

static int tear_down(void **unused)
{
    char command[128];
    (void)unused;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

#define SCENE(f) cmocka_unit_test_teardown(f, end_scene)
/* Every test file of scenes ends with SCENES(SCENE(name), ...). */
#define SCENES(...)                                                                                                    \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return cmocka_run_group_tests(tests, set_up, tear_down);                                                       \
    }

#endif
