/*
 * smi_tables.c: assembles rows into tables. A table of GPUs is complete when it has as many rows as there are GPUs. A
 * table of processes never is: it may have no rows and has no end mark.
 */
#include "collect/smi_tables.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/work.h"

void smi_tables_fini(struct smi_tables *t)
{
    reading_fini(&t->coming);
    reading_fini(&t->now);
    FREE_ALL(t->seen, t->migs);
    *t = (struct smi_tables){0};
}

void smi_tables_fields(const struct smi_tables *t, struct buf *out)
{
    for (size_t i = 0, n = 0; i < SMI_ASKED; i++)
        if (!t->dropped[i])
            buf_addf(out, "%s%s", n++ ? "," : "", smi_names[i].name);
}

bool smi_tables_drop(struct smi_tables *t, struct str field)
{
    for (size_t i = 0; i < SMI_ASKED; i++)
        if (str_eq(field, smi_names[i].name) && !t->dropped[i])
            return t->dropped[i] = true;
    return false;
}

void smi_tables_gpus_reset(struct smi_tables *t)
{
    t->gpus.n = 0;
    t->words[0] = 0;
    reading_reset(&t->coming);
}

void smi_tables_apps_reset(struct smi_tables *t)
{
    t->apps.n = 0;
}

/* ---- the table of GPUs ---- */

static void table_done(struct smi_tables *t)
{
    struct reading old = t->now;

    t->now = t->coming;
    t->coming = old;
    reading_reset(&t->coming);
    t->fresh = true;
}

static bool table_has(const struct reading *r, const struct device_fact *f)
{
    return ANY(r->n_devices, i,
               strcmp(r->devices[i].fact.uuid, f->uuid) == 0 && strcmp(r->devices[i].fact.pci, f->pci) == 0);
}

/* It may come once or before every table. */
static bool is_header(struct str line, const char *first_title)
{
    struct str rest = line, first;

    return str_cut(&rest, ',', &first) && str_eq(str_trim(first), first_title);
}

/* If the number of GPUs is unknown, a table is complete when a GPU repeats. */
void smi_tables_gpu(struct smi_tables *t, struct str line)
{
    struct device_reading d = {.fact = {.mig = -1, .minor = -1}};
    int64_t count = -1;

    if (str_trim(line).len == 0)
        return;
    if (!t->gpus.n || is_header(line, smi_names[0].name)) {
        if (smi_header(&t->gpus, line) < 0)
            collect_text(t->words, sizeof(t->words), line);
        return;
    }
    if (smi_row(&t->gpus, line, &d, &count, t->coming.driver) < 0) {
        collect_text(t->words, sizeof(t->words), line);
        return;
    }
    if (table_has(&t->coming, &d.fact) || t->coming.n_devices >= DEVICES_MAX)
        table_done(t);
    struct device_reading *to = reading_add(&t->coming);
    to->fact = d.fact;
    to->sample = d.sample;
    if (count > 0 && t->coming.n_devices == (size_t)count)
        table_done(t);
}

/* ---- the table of processes: a process that is not repeated in time is gone ---- */

void smi_tables_app(struct smi_tables *t, struct str line, int64_t mono_ms)
{
    struct smi_app a;

    if (is_header(line, "gpu_uuid")) {
        smi_header(&t->apps, line);
        return;
    }
    if (!t->apps.n || smi_app(&t->apps, line, &a) < 0)
        return;
    struct smi_seen *same = FIND(t->seen, t->n_seen, e, e->app.pid == a.pid && strcmp(e->app.uuid, a.uuid) == 0);
    if (same)
        *same = (struct smi_seen){a, mono_ms};
    else if (t->n_seen < PROCS_MAX)
        VEC_ADD(t->seen, t->n_seen, t->cap_seen, (struct smi_seen){a, mono_ms});
}

/* ---- the list of instances ---- */

/* "GPU 0: NVIDIA H200 (UUID: GPU-…)", "  MIG 3g.40gb     Device  0: (UUID: MIG-…)" */
static bool list_uuid(struct str line, struct str *ret)
{
    int at = str_rfind(line, "(UUID: ");
    if (at < 0)
        return false;
    struct str rest = str_n(line.p + at + 7, line.len - (size_t)at - 7);
    return str_cut(&rest, ')', ret) && ret->len > 4 && ret->len < UUID_MAX;
}

void smi_tables_list(struct smi_tables *t, struct str line)
{
    struct str uuid, word, number, profile, rest = line;
    int64_t n;
    if (str_eq(line, "{")) {
        t->n_migs = 0;
        t->parent[0] = 0;
        return;
    }
    if (!str_word(&rest, &word) || !list_uuid(line, &uuid))
        return;
    if (str_eq(word, "GPU")) {
        collect_text(t->parent, sizeof(t->parent), uuid);
        return;
    }
    if (!str_eq(word, "MIG") || !t->parent[0] || !str_word(&rest, &profile) || !str_word(&rest, &word) ||
        !str_eq(word, "Device") || !str_word(&rest, &word) || t->n_migs == DEVICES_MAX)
        return;
    if (!str_cut(&word, ':', &number) || !str_int(number, &n) || n < 0 || n > 64)
        return;
    VEC_ROOM(t->migs, t->n_migs, t->cap_migs);
    struct device_fact *f = &t->migs[t->n_migs++];
    *f = (struct device_fact){.minor = -1, .mig = (int32_t)n, .vendor = VENDOR_NVIDIA};
    collect_text(f->uuid, sizeof(f->uuid), uuid);
    memcpy(f->parent, t->parent, sizeof(f->parent));
    snprintf(f->name, sizeof(f->name), "MIG %.*s", (int)MIN(profile.len, 40u), profile.p);
    mem_copy_str(f->note, sizeof(f->note), "nvidia-smi's tables do not list MIG instances");
}

static void add_uses(const struct smi_tables *t, struct device_reading *d)
{
    for (size_t k = 0; k < t->n_seen; k++)
        if (strcmp(t->seen[k].app.uuid, d->fact.uuid) == 0)
            device_reading_use(d, (struct raw_use){t->seen[k].app.pid, PROC_COMPUTE, t->seen[k].app.mem, -1, NULL});
}

static void add_migs(const struct smi_tables *t, const struct device_fact *gpu, struct reading *ret)
{
    for (size_t i = 0; i < t->n_migs && ret->n_devices < DEVICES_MAX; i++) {
        if (strcmp(t->migs[i].parent, gpu->uuid) != 0)
            continue;
        struct device_reading *d = reading_add(ret);
        d->fact = t->migs[i];
        d->fact.index = gpu->index;
        memcpy(d->fact.pci, gpu->pci, sizeof(d->fact.pci));
        add_uses(t, d);
    }
}

bool smi_tables_read(struct smi_tables *t, int64_t mono_ms, int64_t keep_ms, struct reading *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_seen; i++)
        if (mono_ms - t->seen[i].seen_ms <= keep_ms)
            t->seen[kept++] = t->seen[i];
    t->n_seen = kept;
    if (!t->now.n_devices)
        return false;
    memcpy(ret->driver, t->now.driver, sizeof(ret->driver));
    for (size_t i = 0; i < t->now.n_devices; i++) {
        struct device_reading *d = reading_add(ret);
        d->fact = t->now.devices[i].fact;
        if (t->fresh)
            d->sample = t->now.devices[i].sample;
        struct device_fact gpu = d->fact; /* adding moves it */
        add_uses(t, d);
        add_migs(t, &gpu, ret);
    }
    t->fresh = false;
    reading_no_work(ret, NO_WORK_SMI);
    return true;
}
