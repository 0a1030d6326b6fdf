/*
 * smi_loop.c: the collector that keeps two nvidia-smi running in loop mode, one for the GPUs and one for the processes
 * on them, and reads their tables as they come: no process is started per sample. For drivers whose library cannot be
 * loaded; NVML is what to use otherwise.
 */
#include <errno.h>

#include "base/clock.h"
#include "collect/piped.h"
#include "collect/smi.h"

#define LOOP_BYTES_MAX  (256u << 10)
#define FIRST_ANSWER_MS 30000 /* without persistence mode the driver wakes every GPU first */
#define ANSWER_MS       15000
#define APPS_RETRY_MS   30000
#define APPS_MIN_MS     1000

/* What is asked for. A driver that does not know one names it and ends; then it is left out. */
static const char *const fields[] = {
    "index",
    "count",
    "uuid",
    "name",
    "pci.bus_id",
    "serial",
    "driver_version",
    "utilization.gpu",
    "utilization.memory",
    "utilization.encoder",
    "utilization.decoder",
    "memory.total",
    "memory.used",
    "memory.reserved",
    "temperature.gpu",
    "temperature.memory",
    "power.draw",
    "enforced.power.limit",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "clocks_event_reasons.active",
    "clocks_throttle_reasons.active", /* its name before 535 */
    "pstate",
    "fan.speed",
    "pcie.link.gen.current",
    "pcie.link.width.current",
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
    "remapped_rows.correctable",
    "remapped_rows.uncorrectable",
    "remapped_rows.pending",
    "retired_pages.sbe",
    "retired_pages.dbe",
    "retired_pages.pending",
};
#define APP_FIELDS "gpu_uuid,pid,used_gpu_memory"

struct loop {
    struct piped p;
    struct smi_table t;
    int64_t started_ms, heard_ms; /* monotonic */
    char words[120];              /* the last line that was no row */
};

struct app_seen {
    struct smi_app app;
    int64_t seen_ms;
};

struct collector {
    char *path;
    int64_t tick_ms;
    bool dropped[ARRAY_LEN(fields)];
    struct loop gpus, apps;
    struct reading coming, now; /* a table being printed, and the last whole one */
    bool fresh;
    bool apps_known;
    int64_t apps_retry_ms;
    size_t n_seen, cap_seen;
    struct app_seen *seen;
};

/* ---- starting ---- */

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path ? path : "/usr/bin:/bin"), dir;

    while (str_cut(&rest, ':', &dir)) {
        AUTO_FREE char *full = mem_fmt("%.*s/%s", STR_ARG(dir), name);
        if (dir.len && access(full, X_OK) == 0)
            return true;
    }
    return false;
}

static const char *smi_path(const struct collect_conf *conf)
{
    return conf->smi_path && conf->smi_path[0] ? conf->smi_path : "nvidia-smi";
}

static bool smi_present(const struct collect_conf *conf)
{
    const char *path = smi_path(conf);

    return strchr(path, '/') ? access(path, X_OK) == 0 : in_path(path);
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
    for (size_t i = 0, n = 0; i < ARRAY_LEN(fields); i++)
        if (!c->dropped[i])
            buf_addf(&query, "%s%s", n++ ? "," : "", fields[i]);
    reading_reset(&c->coming);
    return loop_start(&c->gpus, c->path, query.p, c->tick_ms, err);
}

static int smi_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    struct collector *c = mem_zero(1, sizeof(*c));

    c->path = mem_str(smi_path(conf));
    c->tick_ms = conf->tick_ms;
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
    reading_fini(&c->coming);
    reading_fini(&c->now);
    free(c->seen);
    free(c->path);
    free(c);
}

/* ---- the table of GPUs ---- */

static void frame_done(struct collector *c)
{
    struct reading old = c->now;

    c->now = c->coming;
    c->coming = old;
    reading_reset(&c->coming);
    c->fresh = true;
}

static bool frame_has(const struct reading *r, const struct device_fact *f)
{
    for (size_t i = 0; i < r->n_devices; i++)
        if (strcmp(r->devices[i].fact.uuid, f->uuid) == 0 && strcmp(r->devices[i].fact.pci, f->pci) == 0)
            return true;
    return false;
}

/* It may come once or before every table. */
static bool is_header(struct str line, const char *first_title)
{
    struct str rest = line, first;

    return str_cut(&rest, ',', &first) && str_eq(str_trim(first), first_title);
}

/* A table is whole when it has as many rows as there are GPUs; or, not told how many, when a GPU comes again. */
static void gpus_line(struct collector *c, struct str line)
{
    struct loop *l = &c->gpus;
    struct device_reading d = {.fact = {.mig = -1, .minor = -1}};
    int64_t count = -1;

    if (str_trim(line).len == 0)
        return;
    if (!l->t.n || is_header(line, fields[0])) {
        if (smi_header(&l->t, line) < 0)
            collect_text(l->words, sizeof(l->words), line);
        return;
    }
    if (smi_row(&l->t, line, &d, &count, c->coming.driver) < 0) {
        collect_text(l->words, sizeof(l->words), line);
        return;
    }
    if (frame_has(&c->coming, &d.fact) || c->coming.n_devices >= DEVICES_MAX)
        frame_done(c);
    struct device_reading *to = reading_add(&c->coming);
    to->fact = d.fact;
    to->sample = d.sample;
    if (count > 0 && c->coming.n_devices == (size_t)count)
        frame_done(c);
}

/* It ended: for a field it does not know we ask again without; all else is for the caller to tell. */
static int gpus_ended(struct collector *c, struct err *err)
{
    char words[sizeof(c->gpus.words)], end[40];
    struct str field;

    memcpy(words, c->gpus.words, sizeof(words));
    piped_words(c->gpus.p.status, end);
    piped_stop(&c->gpus.p);
    if (smi_unknown_field(str_of(words), &field))
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            if (str_eq(field, fields[i]) && !c->dropped[i]) {
                c->dropped[i] = true;
                int r = gpus_start(c, err);
                return r < 0 ? r : -EAGAIN;
            }
    if (smi_failure(str_of(words)) < 0)
        return err_set(err, -ENODEV, "%s", words);
    return err_set(err, -EIO, "%s ended (%s)%s%s", c->path, end, words[0] ? ": " : "", words);
}

/* Lines that are there, to `take`. 0, 1 when it ended, -ETIMEDOUT when it does not answer. */
static int loop_read(struct collector *c, struct loop *l, void (*take)(struct collector *, struct str))
{
    size_t at = 0;
    struct str line;
    int r = piped_read(&l->p);
    bool any = false;

    while (piped_line(&l->p, &at, &line)) {
        take(c, line);
        any = true;
    }
    if (r == -ENOBUFS && at == 0)
        at = l->p.out.len; /* a line without end: nothing we asked for */
    piped_taken(&l->p, at);
    int64_t mono = clock_mono_ms();
    if (any)
        l->heard_ms = mono;
    int64_t limit = l->heard_ms == l->started_ms ? FIRST_ANSWER_MS : ANSWER_MS;
    return r == 1 ? 1 : mono - l->heard_ms > limit + 2 * c->tick_ms ? -ETIMEDOUT : 0;
}

/* ---- the table of processes: no rows when there are none, and no end mark: one not repeated in time is gone ---- */

static void apps_line(struct collector *c, struct str line)
{
    struct loop *l = &c->apps;
    struct smi_app a;
    size_t i = 0;

    if (is_header(line, "gpu_uuid")) {
        smi_header(&l->t, line);
        c->apps_known = true;
        return;
    }
    if (!l->t.n || smi_app(&l->t, line, &a) < 0)
        return;
    while (i < c->n_seen && (c->seen[i].app.pid != a.pid || strcmp(c->seen[i].app.uuid, a.uuid) != 0))
        i++;
    if (i == c->n_seen && c->n_seen < PROCS_MAX) {
        VEC_ROOM(c->seen, c->n_seen, c->cap_seen);
        c->n_seen++;
    }
    if (i < c->n_seen)
        c->seen[i] = (struct app_seen){a, clock_mono_ms()};
}

static void apps_read(struct collector *c, int64_t mono)
{
    int64_t period = MAX(c->tick_ms, APPS_MIN_MS);
    size_t kept = 0;

    if (!c->apps.p.pid && mono >= c->apps_retry_ms) {
        c->apps_retry_ms = mono + APPS_RETRY_MS;
        loop_start(&c->apps, c->path, "--query-compute-apps=" APP_FIELDS, period, NULL);
    }
    if (c->apps.p.pid && loop_read(c, &c->apps, apps_line) == 1)
        piped_stop(&c->apps.p);
    if (!c->apps.p.pid)
        c->apps_known = false;
    for (size_t i = 0; i < c->n_seen; i++)
        if (mono - c->seen[i].seen_ms <= period * 5 / 2)
            c->seen[kept++] = c->seen[i];
    c->n_seen = kept;
}

static int smi_read(struct collector *c, struct reading *ret, struct err *err)
{
    int64_t mono = clock_mono_ms();
    int r = 0;

    if (!c->gpus.p.pid)
        r = gpus_start(c, err);
    if (r == 0)
        r = loop_read(c, &c->gpus, gpus_line);
    if (r == 1)
        return gpus_ended(c, err);
    if (r == -ETIMEDOUT) {
        piped_stop(&c->gpus.p);
        return err_set(err, r, "%s has not answered for %lld s", c->path, (long long)(mono - c->gpus.heard_ms) / 1000);
    }
    if (r < 0)
        return r;
    apps_read(c, mono);
    if (!c->now.n_devices)
        return err_set(err, -EAGAIN, "waiting for the first answer of %s", c->path);
    memcpy(ret->driver, c->now.driver, sizeof(ret->driver));
    for (size_t i = 0; i < c->now.n_devices; i++) {
        struct device_reading *d = reading_add(ret);
        d->fact = c->now.devices[i].fact;
        if (c->fresh)
            d->sample = c->now.devices[i].sample;
        d->uses_known = c->apps_known;
        for (size_t k = 0; k < c->n_seen; k++)
            if (strcmp(c->seen[k].app.uuid, d->fact.uuid) == 0)
                device_reading_use(d, (struct raw_use){c->seen[k].app.pid, PROC_COMPUTE, c->seen[k].app.mem, -1, NULL});
    }
    c->fresh = false;
    return 0;
}

const struct collector_ops collector_smi = {
    .name = "smi",
    .summary = "nvidia-smi, kept running; for when the driver's library cannot be used",
    .present = smi_present,
    .open = smi_open,
    .read = smi_read,
    .close = smi_close,
    .unless = "nvml",
};
