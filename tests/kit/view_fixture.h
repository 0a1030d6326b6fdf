/* view_fixture.h: a small cluster with one of everything, made by hand, for the tests of format and now. */
#ifndef TESTS_UNIT_VIEW_FIXTURE_H
#define TESTS_UNIT_VIEW_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/now.h"

#define NOW             1794737172345ll /* 2026-11-15T10:06:12.345Z */
#define MIB             ((int64_t)1 << 20)
#define GIB             ((int64_t)1 << 30)
#define SET(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

struct cluster {
    struct view v;
    struct node_now n[8];
    const struct node_now *p[8];
};

static inline struct node_now *add_host(struct cluster *c, const char *name, const char *address, size_t n_devices)
{
    struct node_now *n = &c->n[c->v.n];

    c->p[c->v.n++] = n;
    c->v.nodes = c->p;
    SET(n->key, "key-%s", name);
    SET(n->name, "%s", name);
    SET(n->address, "%s", address);
    n->state = NODE_UP;
    n->collect = COLLECT_OK;
    n->at_ms = n->sample_at_ms = NOW - 1000;
    n->since_ms = NOW - 3600000;
    n->version = 40 + c->v.n;
    SET(n->fact.agent, "0.1.0");
    SET(n->fact.driver, "580.65.06");
    n->fact.tick_ms = 1000;
    n->n_devices = n_devices;
    n->devices = mem_zero(n_devices ? n_devices : 1, sizeof(*n->devices));
    for (size_t i = 0; i < n_devices; i++) {
        struct device_now *d = &n->devices[i];
        SET(d->fact.uuid, "GPU-%s-%zu", name, i);
        SET(d->fact.name, "NVIDIA H200");
        SET(d->fact.pci, "0000:%02zx:00.0", i + 4);
        d->fact.index = d->fact.minor = (int32_t)i;
        d->fact.mig = -1;
        d->fact.vendor = VENDOR_NVIDIA;
        d->at_ms = d->now.at_ms = NOW - 1200;
        d->since_ms = NOW - 7200000;
        SET(d->reason, "nobody on it");
        for (int m = 0; m < M_COUNT; m++)
            d->v_at_ms[m] = d->at_ms;
    }
    for (int m = 0; m < M_COUNT; m++)
        n->v_at_ms[m] = n->at_ms;
    return n;
}

static inline void set_state(struct device_now *d, enum dev_state state, const char *reason)
{
    d->state = state;
    SET(d->reason, "%s", reason);
}

static inline void set_values(struct device_now *d, int64_t util, int64_t used_mib, int64_t total_mib, int64_t temp)
{
    sample_set(&d->now, M_util, util * 100);
    sample_set(&d->now, M_mem_used, used_mib * MIB);
    sample_set(&d->now, M_mem_total, total_mib * MIB);
    sample_set(&d->now, M_temp, temp * 1000);
}

static inline struct proc_now *add_proc(struct device_now *d, int pid, const char *user, const char *name, int64_t mem)
{
    d->procs = mem_grow(d->procs, d->n_procs + 1, sizeof(*d->procs));
    struct proc_now *p = &d->procs[d->n_procs++];
    static struct proc_fact facts[64];
    static size_t used;
    *p = (struct proc_now){.kind = PROC_COMPUTE, .mem = mem, .sm = -1, .fact = &facts[used++ % 64]};
    *p->fact = (struct proc_fact){0};
    p->fact->pid = p->fact->root_pid = pid;
    p->fact->uid = 1000;
    p->fact->start_ms = NOW - 12000000; /* 3 h 20 m */
    SET(p->fact->user, "%s", user);
    SET(p->fact->name, "%s", name);
    SET(p->fact->cmd, "/usr/bin/%s --secret %d", name, pid);
    return p;
}

/* dgx1: busy, held and idle, free, lost; dgx2: hung; mig1: a split GPU; ws3: down; ws10: never heard; zoo: no GPU. */
static inline struct cluster *cluster_new(void)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct node_now *n = add_host(c, "dgx1", "10.0.0.1", 4);
    struct device_now *d = n->devices;

    c->v.at_ms = NOW;
    c->v.version = 99;
    n->clock_off_ms = 7000;
    n->fact.cpus = 128;
    n->labels = mem_str("note=<img onerror=x>\nrack=a1\nteam=vision\n");
    SET(n->fact.os, "Debian GNU/Linux 12");
    sample_set(&n->now, M_load1, 1437);
    sample_set(&n->now, M_ram_used, 100 * GIB);
    n->fact.n_custom = 2;
    n->fact.custom = mem_zero(2, sizeof(*n->fact.custom));
    SET(n->fact.custom[0].name, "Queue \"depth\"");
    n->fact.custom[0].per = 1;
    SET(n->fact.custom[1].name, "tokens");
    n->fact.custom[1].per = 1000;
    n->fact.custom[1].kind = KIND_COUNTER;
    n->n_custom = 1;
    n->custom = mem_zero(1, sizeof(*n->custom));
    n->custom[0] = (struct custom_now){METRIC_CUSTOM, 17, NOW - 1000};

    set_state(&d[0], DEV_BUSY, "working");
    for (int m = 0; m < M_COUNT; m++) /* one with every metric of a device */
        if (metrics[m].scope == SCOPE_DEVICE)
            sample_set(&d[0].now, (enum metric)m, 1000 + m);
    set_values(&d[0], 98, 131072, 143771, 62);
    d[0].now.v[M_throttle] = 0x4 | 0x20 | 0x400;
    d[0].v_at_ms[M_energy] = d[0].at_ms - 30000;
    d[0].n_custom = 1;
    d[0].custom = mem_zero(1, sizeof(*d[0].custom));
    d[0].custom[0] = (struct custom_now){METRIC_CUSTOM + 1, 1234567, NOW - 1200};
    struct proc_now *p = add_proc(&d[0], 48121, "kim", "python", 100 * GIB);
    p->sm = 5234;
    p->fact->slurm_job = 77;
    SET(p->fact->runtime, "docker");
    SET(p->fact->container, "3f9a");
    add_proc(&d[0], 48122, "ana", "/opt/conda/envs/very/long/path/to/python3", 28 * GIB);

    set_state(&d[1], DEV_HELD, "1 process, no work");
    set_values(&d[1], 0, 2048, 143771, 35);
    d[1].idle_since_ms = NOW - 10500000; /* 2 h 55 m */
    add_proc(&d[1], 500, "lee", "jupyter", -1);
    d[1].booking = mem_zero(1, sizeof(*d[1].booking));
    *d[1].booking =
        (struct booking_now){.id = 7, .from_ms = NOW - 3600000, .until_ms = NOW + 93600000, .person = "kim"};
    SET(d[1].booking->comment, "paper <b>");
    d[1].next = mem_zero(1, sizeof(*d[1].next));
    *d[1].next =
        (struct booking_now){.id = 9, .from_ms = NOW + 93600000, .until_ms = NOW + 97200000, .person = "Robert'); --"};

    set_values(&d[2], 0, 0, 143771, 30);
    d[2].idle_since_ms = NOW - 86400000;

    set_state(&d[3], DEV_LOST, "was there, is gone: fell off the bus");
    d[3].fact.lost = true;
    d[3].at_ms = NOW - 600000;
    SET(d[3].fact.note, "fell off the bus");
    set_values(&d[3], 77, 7, 143771, 7);

    n = add_host(c, "dgx2", "10.0.0.2", 1);
    n->state = NODE_HUNG;
    n->collect = COLLECT_HUNG;
    n->collect_since_ms = n->since_ms = NOW - 245000;
    SET(n->reason, "driver does not answer for 4 m");
    set_state(&n->devices[0], DEV_HUNG, "driver does not answer for 4 m");
    n->devices[0].at_ms = NOW - 250000;
    set_values(&n->devices[0], 55, 999, 143771, 44);

    n = add_host(c, "mig1", "10.0.0.3", 3);
    d = n->devices;
    set_state(&d[0], DEV_HELD, "split into 2 MIG instances");
    sample_set(&d[0].now, M_mem_total, 81920 * MIB);
    for (int i = 1; i < 3; i++) {
        d[i].fact.index = 0;
        d[i].fact.mig = i;
        SET(d[i].fact.uuid, "MIG-%d", i);
        SET(d[i].fact.parent, "%s", d[0].fact.uuid);
        SET(d[i].fact.name, "NVIDIA H200 MIG 1g.18gb");
        sample_set(&d[i].now, M_mem_used, 12 * MIB);
        sample_set(&d[i].now, M_mem_total, 16384 * MIB);
    }

    n = add_host(c, "ws3", "192.168.100.200", 1);
    n->state = NODE_DOWN;
    n->at_ms = n->since_ms = NOW - 250000;
    SET(n->reason, "no data for 4 m");
    set_state(&n->devices[0], DEV_STALE, "no data for 4 m");
    n->devices[0].at_ms = NOW - 251000;
    set_values(&n->devices[0], 66, 888, 24564, 55);
    sample_set(&n->now, M_load1, 300);

    n = add_host(c, "ws10", "", 0);
    n->state = NODE_DOWN;
    n->at_ms = 0;
    SET(n->reason, "no data since the hub started");
    n = add_host(c, "zoo", "10.0.0.9", 0);
    SET(n->reason, "no device to read");
    n->collect = COLLECT_NONE;
    return c;
}

static inline void cluster_free(struct cluster *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        node_now_fini(&c->n[i]);
    free(c);
}

/* Times on screens are local: tests live in UTC. */
static inline int in_utc(void **unused)
{
    (void)unused;
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

#ifdef CMOCKA_H_ /* fuzz targets are without it */
/* Compare with tests/golden/name byte for byte; MUSTER_GOLDEN=update writes it instead. */
static inline void assert_golden(const char *name, const struct buf *got)
{
    char path[256];
    struct err err = {0};
    AUTO_BUF want = {0};
    const char *mode = getenv("MUSTER_GOLDEN");

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    assert_int_equal(got->err, 0);
    if (mode && strcmp(mode, "update") == 0) {
        assert_int_equal(file_write(path, 0644, got->p, got->len, &err), 0);
        return;
    }
    if (file_read(path, 16 << 20, &want, &err) < 0)
        fail_msg("%s", err.msg);
    if (want.len != got->len || memcmp(want.p, got->p, got->len) != 0)
        fail_msg("%s differs; what came out:\n%s", path, got->p);
}
#endif

#endif
