/*
 * smi_loop.c: the collector that keeps two nvidia-smi running in loop mode, one for the GPUs and one for their
 * processes, and reads their tables as they arrive: no process is started per sample. For drivers whose library cannot
 * be loaded; otherwise use NVML.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/piped.h"
#include "collect/smi_tables.h"

#define LOOP_BYTES_MAX  (256u << 10)
#define FIRST_ANSWER_MS 30000 /* without persistence mode the driver wakes every GPU first */
#define ANSWER_MS       15000
#define APPS_RETRY_MS   30000
#define APPS_MIN_MS     1000

struct loop {
    struct piped p;
    int64_t started_ms, heard_ms; /* monotonic */
};

struct collector {
    char *path;
    int64_t tick_ms;
    struct loop gpus, apps;
    struct smi_tables tables;
    int64_t apps_retry_ms;
};

/* ---- starting ---- */

static const char *smi_path(const struct collect_conf *conf)
{
    return conf->smi_path && conf->smi_path[0] ? conf->smi_path : "nvidia-smi";
}

static bool smi_present(const struct collect_conf *conf)
{
    const char *path = smi_path(conf);

    return strchr(path, '/') ? access(path, X_OK) == 0 : file_in_path(path);
}

static int loop_start(struct loop *l, const char *path, const char *query, int64_t period_ms, struct err *err)
{
    char every[24];
    bool whole = period_ms % 1000 == 0;
    snprintf(every, sizeof(every), "%lld", (long long)(whole ? period_ms / 1000 : period_ms));
    const char *argv[] = {path, query, "--format=csv,nounits", whole ? "-l" : "-lms", every, NULL};

    *l = (struct loop){.p = PIPED_NONE};
    int r = piped_start(&l->p, argv, LOOP_BYTES_MAX, err);
    l->started_ms = l->heard_ms = clock_mono_ms();
    return r;
}

static int gpus_start(struct collector *c, struct err *err)
{
    AUTO_BUF query = BUF_INIT(4096);

    buf_adds(&query, "--query-gpu=");
    smi_tables_fields(&c->tables, &query);
    smi_tables_gpus_reset(&c->tables);
    return loop_start(&c->gpus, c->path, query.p, c->tick_ms, err);
}

static int smi_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    struct collector *c = NEW(struct collector, .path = mem_str(smi_path(conf)), .tick_ms = conf->tick_ms);

    c->gpus.p = c->apps.p = PIPED_NONE;
    int r = gpus_start(c, err);
    if (r < 0) {
        collector_smi.close(c);
        return r;
    }
    *ret = c;
    return 0;
}

static void smi_close(struct collector *c)
{
    if (!c)
        return;
    piped_stop(&c->gpus.p);
    piped_stop(&c->apps.p);
    smi_tables_fini(&c->tables);
    FREE_ALL(c->path, c);
}

/* ---- reading ---- */

/* It ended: if it reported an unknown field, restart it without that field. The caller reports all other errors. */
static int gpus_ended(struct collector *c, struct err *err)
{
    char words[sizeof(c->tables.words)], end[40];
    struct str field;

    memcpy(words, c->tables.words, sizeof(words));
    piped_words(c->gpus.p.status, end);
    piped_stop(&c->gpus.p);
    if (smi_unknown_field(str_of(words), &field) && smi_tables_drop(&c->tables, field)) {
        int r = gpus_start(c, err);
        return r < 0 ? r : -EAGAIN;
    }
    if (smi_failure(str_of(words)) < 0)
        return err_set(err, -ENODEV, "%s", words);
    return err_set(err, -EIO, "%s ended (%s)%s%s", c->path, end, words[0] ? ": " : "", words);
}

/* Reads complete lines into their table. Returns 0, 1 if it ended, -ETIMEDOUT if it does not respond. */
static int loop_read(struct collector *c, struct loop *l)
{
    size_t at = 0;
    struct str line;
    int r = piped_read(&l->p);
    bool any = false;

    while (piped_line(&l->p, &at, &line)) {
        if (l == &c->apps)
            smi_tables_app(&c->tables, line, clock_mono_ms());
        else
            smi_tables_gpu(&c->tables, line);
        any = true;
    }
    if (r == -ENOBUFS && at == 0)
        at = l->p.out.len; /* an endless line: not from our query */
    piped_consumed(&l->p, at);
    int64_t mono = clock_mono_ms();
    if (any)
        l->heard_ms = mono;
    int64_t limit = l->heard_ms == l->started_ms ? FIRST_ANSWER_MS : ANSWER_MS;
    return r == 1 ? 1 : mono - l->heard_ms > limit + 2 * c->tick_ms ? -ETIMEDOUT : 0;
}

static int64_t apps_period(const struct collector *c)
{
    return MAX(c->tick_ms, APPS_MIN_MS);
}

static void apps_read(struct collector *c, int64_t mono)
{
    if (!c->apps.p.pid && mono >= c->apps_retry_ms) {
        c->apps_retry_ms = mono + APPS_RETRY_MS;
        smi_tables_apps_reset(&c->tables);
        loop_start(&c->apps, c->path, "--query-compute-apps=" SMI_APP_FIELDS, apps_period(c), NULL);
    }
    if (c->apps.p.pid && loop_read(c, &c->apps) == 1)
        piped_stop(&c->apps.p);
}

static int smi_read(struct collector *c, struct reading *ret, struct err *err)
{
    int64_t mono = clock_mono_ms();
    int r = 0;

    if (!c->gpus.p.pid)
        r = gpus_start(c, err);
    if (r == 0)
        r = loop_read(c, &c->gpus);
    if (r == 1)
        return gpus_ended(c, err);
    if (r == -ETIMEDOUT) {
        piped_stop(&c->gpus.p);
        return err_set(err, r, "%s has not answered for %lld s", c->path, (long long)(mono - c->gpus.heard_ms) / 1000);
    }
    if (r < 0)
        return r;
    apps_read(c, mono);
    if (!smi_tables_read(&c->tables, mono, apps_period(c) * 5 / 2, ret))
        return err_set(err, -EAGAIN, "waiting for the first answer of %s", c->path);
    return 0;
}

const struct collector_ops collector_smi = {
    .name = "smi",
    .present = smi_present,
    .open = smi_open,
    .read = smi_read,
    .close = smi_close,
    .unless = "nvml",
};
