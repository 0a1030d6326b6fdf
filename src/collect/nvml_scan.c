/* nvml_scan.c: makes the list of devices from the driver's list, the kernel's list and the previous list. */
#include "collect/nvml_scan.h"

#include "base/order.h"

enum { BACK_MS = 5000 }; /* a GPU stays lost for at least this time, to prevent flapping */

static struct nvml_dev *find_uuid(const struct nvml_list *l, const char *uuid)
{
    struct nvml_dev **d = FIND(l->v, l->n, e, !strcmp((*e)->fact.uuid, uuid));
    return d ? *d : NULL;
}

static struct nvml_dev *find_pci(const struct nvml_list *l, const char *pci)
{
    struct nvml_dev **d = FIND(l->v, l->n, e, !(*e)->parent && !strcmp((*e)->fact.pci, pci));
    return d ? *d : NULL;
}

static struct nvml_dev *add(struct nvml_list *l)
{
    if (l->n == DEVICES_MAX)
        return NULL;
    VEC_ROOM(l->v, l->n, l->cap);
    return l->v[l->n++] = nvml_dev_new();
}

static void drop_instances(struct nvml_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i]->parent)
            nvml_dev_free(l->v[i]);
        else
            l->v[n++] = l->v[i];
    }
    l->n = n;
}

void nvml_list_close(struct nvml_list *l)
{
    drop_instances(l);
    for (size_t i = 0; i < l->n; i++) {
        l->v[i]->handle = NULL;
        l->v[i]->instances = 0;
    }
}

void nvml_list_fini(struct nvml_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        nvml_dev_free(l->v[i]);
    free(l->v);
    *l = (struct nvml_list){0};
}

void nvml_list_lose(struct nvml_dev *d, const char *note, int64_t now_ms)
{
    if (d->fact.lost)
        return;
    d->lost_ms = now_ms;
    d->fact.lost = true;
    d->fact.asleep = false;
    mem_copy_str(d->fact.note, sizeof(d->fact.note), note);
}

/* A handle proves nothing: a lost GPU is back only if a call succeeds. */
static int probe(const struct nvml *lib, nvml_handle h)
{
    unsigned u;
    int temp = lib->temperature ? lib->temperature(h, 0, &u) : 0, power = lib->power ? lib->power(h, &u) : 0;
    if (nvml_judge(temp) == NVML_LOST || temp == NVML_UNKNOWN)
        return temp;
    return nvml_judge(power) == NVML_LOST || power == NVML_UNKNOWN ? power : 0;
}

/* A GPU the driver gave a handle for. */
static int take(struct nvml_list *l, const struct nvml *lib, const char *root, nvml_handle handle, int32_t index,
                int64_t now_ms)
{
    struct device_fact f = {.index = index};
    int rc = nvml_identify(lib, handle, &f);
    if (rc)
        return rc;
    struct nvml_dev *d = find_uuid(l, f.uuid);
    if (!d && !(d = add(l)))
        return 0;
    if (d->fact.lost && (now_ms - d->lost_ms < BACK_MS || (rc = probe(lib, handle)) != 0))
        return rc;
    d->fact = f;
    d->seen = true;
    d->may_sleep = nvml_pci_can_sleep(root, f.pci);
    nvml_dev_open(d, handle);
    struct nvml_query a = {.lib = lib, .handle = handle, .absent = &d->absent, .sample = &d->first};
    nvml_query_limits(&a);
    return a.worst >= NVML_STALE ? a.rc : 0; /* a GPU lost during this call is noticed at the next tick */
}

static void take_asleep(struct nvml_list *l, const char *root, const char *pci)
{
    struct nvml_dev *d = find_pci(l, pci);
    struct device_fact f = {.index = (int32_t)l->n};
    if (!d) {
        if (!nvml_pci_fact(root, pci, &f)) {
            l->nameless++;
            return;
        }
        if (!(d = add(l)))
            return;
        d->fact = f;
    }
    d->seen = d->may_sleep = d->fact.asleep = true;
    d->fact.lost = false;
    mem_copy_str(d->fact.note, sizeof(d->fact.note), "asleep; not woken by muster");
}

/* The driver counts a GPU but returns no handle for it: the kernel may still have its identity. */
static void take_lost(struct nvml_list *l, const char *root, const struct nvml_pci_list *pcis, size_t how_many,
                      int64_t now_ms)
{
    for (size_t i = 0; i < pcis->n && how_many > 0; i++) {
        struct nvml_dev *d = find_pci(l, pcis->id[i]);
        struct device_fact f = {.index = (int32_t)i};
        if (d && d->seen)
            continue;
        how_many--;
        if (!d) {
            if (!nvml_pci_fact(root, pcis->id[i], &f) || !(d = add(l)))
                continue;
            d->fact = f;
        }
        nvml_list_lose(d, "the driver has lost this GPU", now_ms);
        d->seen = true;
    }
}

static int take_instances(struct nvml_list *l, const struct nvml *lib, struct nvml_dev *gpu)
{
    int slots = nvml_mig_slots(lib, gpu->handle);
    gpu->instances = 0;
    for (int i = 0; i < slots; i++) {
        struct device_fact f;
        nvml_handle handle;
        unsigned gi;
        int rc = nvml_identify_mig(lib, gpu, (unsigned)i, &handle, &gi, &f);
        if (nvml_judge(rc) >= NVML_LOST)
            return rc;
        struct nvml_dev *d = rc == 0 ? add(l) : NULL;
        if (!d)
            continue;
        d->fact = f;
        d->gi = gi;
        d->sms = nvml_mig_sms(lib, handle);
        d->parent = gpu->handle;
        nvml_dev_open(d, handle);
        gpu->instances++;
    }
    if (slots > 0)
        mem_copy_str(gpu->fact.note, sizeof(gpu->fact.note),
                     "MIG is on: the driver reports no utilisation of the whole GPU");
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct device_fact *x = &(*(struct nvml_dev *const *)a)->fact, *y = &(*(struct nvml_dev *const *)b)->fact;
    const char *gpu_x = x->parent[0] ? x->parent : x->uuid, *gpu_y = y->parent[0] ? y->parent : y->uuid;

    return ORDER(x->index, y->index) ?: strcmp(gpu_x, gpu_y) ?: ORDER(x->mig, y->mig);
}

static int scan_gpus(struct nvml_list *l, const struct nvml *lib, const char *root, const struct nvml_pci_list *pcis,
                     int64_t now_ms)
{
    size_t asleep = 0, lost = 0, unknown = 0;
    unsigned n = 0;
    for (size_t i = 0; i < pcis->n; i++)
        asleep += nvml_pci_asleep(root, pcis->id[i]);
    int rc = lib->count(&n);
    if (nvml_judge(rc) >= NVML_STALE)
        return rc;
    bool one_by_one = asleep > 0 && lib->by_pci; /* by index the driver might open and wake all of them */
    if (one_by_one)
        n = (unsigned)pcis->n;
    for (unsigned i = 0; i < MIN(n, (unsigned)DEVICES_MAX); i++) {
        nvml_handle h = NULL;
        if (one_by_one && nvml_pci_asleep(root, pcis->id[i])) {
            take_asleep(l, root, pcis->id[i]);
            continue;
        }
        rc = one_by_one ? lib->by_pci(pcis->id[i], &h) : lib->by_index(i, &h);
        if (rc == 0)
            rc = take(l, lib, root, h, (int32_t)i, now_ms);
        if (nvml_judge(rc) >= NVML_STALE)
            return rc;
        lost += nvml_judge(rc) == NVML_LOST || rc == NVML_UNKNOWN;
        unknown += rc == NVML_UNKNOWN;
    }
    if (unknown > 0 && unknown == n)
        return NVML_UNKNOWN; /* not one GPU works: it is the driver */
    take_lost(l, root, pcis, lost, now_ms);
    return 0;
}

int nvml_scan(struct nvml_list *l, const struct nvml *lib, const char *root, int64_t now_ms)
{
    struct nvml_pci_list pcis;
    nvml_list_close(l);
    l->nameless = 0;
    for (size_t i = 0; i < l->n; i++)
        l->v[i]->seen = false;
    nvml_pci_list(root, &pcis);
    int rc = scan_gpus(l, lib, root, &pcis, now_ms);
    if (rc)
        return rc;
    size_t gpus = l->n;
    for (size_t i = 0; i < gpus; i++) {
        if (!l->v[i]->seen)
            nvml_list_lose(l->v[i], "the driver no longer has this GPU", now_ms);
        if (l->v[i]->handle && (rc = take_instances(l, lib, l->v[i])))
            if (nvml_judge(rc) >= NVML_STALE)
                return rc; /* a GPU lost just now shows at the next tick */
    }
    SORT(l->v, l->n, by_place);
    return 0;
}

bool nvml_scan_asleep(struct nvml_list *l, const char *root)
{
    struct nvml_pci_list pcis;
    nvml_pci_list(root, &pcis);
    l->nameless = 0;
    if (ANY(pcis.n, i, !nvml_pci_asleep(root, pcis.id[i])))
        return false;
    for (size_t i = 0; i < pcis.n; i++)
        take_asleep(l, root, pcis.id[i]);
    return pcis.n > 0;
}

bool nvml_list_stale(const struct nvml_list *l, const struct nvml *lib)
{
    unsigned n = 0;
    if (ANY(l->n, i, l->v[i]->fact.asleep))
        return false; /* looking might wake it */
    if (lib->count(&n) != 0)
        return false;
    for (unsigned i = 0; i < MIN(n, (unsigned)DEVICES_MAX); i++) {
        nvml_handle h;
        char uuid[96] = "";
        if (lib->by_index(i, &h) != 0 || lib->uuid(h, uuid, sizeof(uuid)) != 0)
            continue;
        const struct nvml_dev *d = find_uuid(l, uuid);
        if (!d ? l->n < DEVICES_MAX : d->fact.lost && probe(lib, h) == 0)
            return true;
    }
    return false;
}
