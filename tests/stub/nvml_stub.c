/*
 * nvml_stub.c: a fake libnvidia-ml.so.1 with NVML's ABI, for tests on machines without a GPU. nvml_stub.h says how to
 * script it. It declares NVML's structs a second time, on purpose: a wrong offset in the collector then shows as a
 * wrong value.
 *
 * -DOLD_DRIVER leaves out what older drivers lack (but keeps one _v2 process list, so that this step of the ladder is
 * walked too). -DWIDE_V3 is drivers 535.43 to 535.97: _v3 process records of 32 bytes.
 */
#include <fnmatch.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml_stub.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* a library of entry points without a header */

typedef unsigned long long ull;
enum { OK, UNINIT, BADARG, NOSUPPORT, NOTFOUND = 6, TOOSMALL, TIMEOUT = 10, NOFUNC = 13, LOST = 15, BADVERSION = 25 };
enum { GENERATIONS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned inits, generation, delivered;
/* Handles are addresses in here, a new set for each init, so that one kept across nvmlShutdown is refused. */
static char handle_space[GENERATIONS][MAX_GPUS * (MAX_MIG + 1)];

/* ---- the frame of every call ---- */
struct dev {
    int gpu, mig; /* gpu -1: no such handle; mig -1: the whole GPU */
};

static struct dev dev_of(const void *handle)
{
    const char *p = handle, *base = handle_space[generation % GENERATIONS];
    if (p < base || p >= base + sizeof(handle_space[0]))
        return (struct dev){-1, -1};
    int i = (int)(p - base);
    return (struct dev){i / (MAX_MIG + 1), i % (MAX_MIG + 1) - 1};
}

static void *handle_of(int gpu, int mig)
{
    return &handle_space[generation % GENERATIONS][gpu * (MAX_MIG + 1) + mig + 1];
}

static struct {
    const char *name;
    int gpu;
    unsigned long n;
} calls[4096];

static void count_call(const char *name, int gpu)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (!calls[i].name) {
            calls[i].name = name;
            calls[i].gpu = gpu;
        }
        if (calls[i].gpu == gpu && !strcmp(calls[i].name, name)) {
            calls[i].n++;
            return;
        }
    }
}

/* For tests: how often calls whose name matches were made, for one GPU or (-1) in all. Not part of NVML. */
__attribute__((visibility("default"))) unsigned long muster_stub_calls(const char *glob, int gpu)
{
    unsigned long n = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && calls[i].name; i++)
        if ((gpu < 0 || calls[i].gpu == gpu) && fnmatch(glob, calls[i].name, 0) == 0)
            n += calls[i].n;
    pthread_mutex_unlock(&lock);
    return n;
}

/* For tests: forget what was counted and what the GPUs did. Not part of NVML. */
__attribute__((visibility("default"))) void muster_stub_reset(void)
{
    pthread_mutex_lock(&lock);
    memset(calls, 0, sizeof(calls));
    delivered = 0;
    script_reset();
    pthread_mutex_unlock(&lock);
}

static void nap(unsigned ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    pthread_mutex_unlock(&lock);
    nanosleep(&t, NULL);
    pthread_mutex_lock(&lock);
}

static void leave(int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

/* Wait as the script says, and answer -1 to go on or the code to return. The lock is held. */
static int enter(const char *name, int gpu)
{
    const struct rule *r;
    script_reload();
    count_call(name, gpu);
    while (script_rule(RULE_HANG, name, gpu)) {
        nap(5);
        script_reload();
    }
    if ((r = script_rule(RULE_SLOW, name, gpu)))
        nap((unsigned)r->value);
    if ((r = script_rule(RULE_RC, name, gpu)))
        return (int)r->value;
    return -1;
}

static int enter_init(const char *name)
{
    pthread_mutex_lock(&lock);
    int rc = enter(name, -1);
    if (rc >= 0 || script.init_rc)
        return rc >= 0 ? rc : script.init_rc;
    if (!inits++)
        generation++;
    return OK;
}

static int enter_lib(const char *name)
{
    pthread_mutex_lock(&lock);
    int rc = enter(name, -1);
    return rc >= 0 ? rc : inits ? -1 : UNINIT;
}

static int enter_dev(const char *name, const void *handle, struct dev *ret)
{
    pthread_mutex_lock(&lock);
    *ret = dev_of(handle);
    int rc = enter(name, ret->gpu);
    if (rc >= 0)
        return rc;
    if (!inits)
        return UNINIT;
    if (ret->gpu < 0 || (ret->mig >= 0 && ret->mig >= script.gpu[ret->gpu].mig))
        return BADARG;
    const struct gpu *g = &script.gpu[ret->gpu];
    return g->lost || g->gone || (unsigned)ret->gpu >= script.gpus ? LOST : -1;
}

#define API       __attribute__((visibility("default"))) int
#define UNLOCKING __attribute__((cleanup(leave)))
#define CALL()                                                                                                         \
    UNLOCKING int rc = enter_lib(__func__);                                                                            \
    if (rc >= 0)                                                                                                       \
    return rc
/* A call on a device d of GPU g. */
#define CALL_ANY(handle)                                                                                               \
    struct dev d;                                                                                                      \
    UNLOCKING int rc = enter_dev(__func__, handle, &d);                                                                \
    if (rc >= 0)                                                                                                       \
        return rc;                                                                                                     \
    const struct gpu *g = &script.gpu[d.gpu];                                                                          \
    (void)g
/* The same where a MIG instance has no answer, */
#define CALL_WHOLE(handle)                                                                                             \
    CALL_ANY(handle);                                                                                                  \
    if (d.mig >= 0)                                                                                                    \
    return NOSUPPORT
/* and where a GPU with MIG on has none either. */
#define CALL_NOMIG(handle)                                                                                             \
    CALL_ANY(handle);                                                                                                  \
    if (g->mig >= 0)                                                                                                   \
    return NOSUPPORT
#define GIVE(out, value)                                                                                               \
    do {                                                                                                               \
        if (!(out))                                                                                                    \
            return BADARG;                                                                                             \
        *(out) = (value);                                                                                              \
        return OK;                                                                                                     \
    } while (0)

static int give_number(unsigned *out, int64_t v)
{
    if (v < 0)
        return NOSUPPORT;
    GIVE(out, (unsigned)v);
}

static int give_text(char *out, unsigned size, const char *text)
{
    if (!out)
        return BADARG;
    if (strlen(text) >= size)
        return TOOSMALL;
    snprintf(out, size, "%s", text);
    return OK;
}

/* ---- library and system ---- */
API nvmlInit_v2(void)
{
    UNLOCKING int rc = enter_init(__func__);
    return rc;
}
API nvmlInit(void)
{
    UNLOCKING int rc = enter_init(__func__);
    return rc;
}
API nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    UNLOCKING int rc = enter_init(__func__);
    return rc;
}
API nvmlShutdown(void)
{
    CALL();
    inits--;
    return OK;
}
__attribute__((visibility("default"))) const char *nvmlErrorString(int rc)
{
    static const char *const text[] = {
        [0] = "Success",           [1] = "Uninitialized",
        [2] = "Invalid Argument",  [3] = "Not Supported",
        [4] = "No Permission",     [6] = "Not Found",
        [7] = "Insufficient Size", [9] = "Driver Not Loaded",
        [10] = "Timeout",          [13] = "Function Not Found",
        [15] = "GPU is lost",      [16] = "GPU requires reset",
        [17] = "Operating System", [18] = "Driver/library version mismatch",
    };
    return rc >= 0 && (size_t)rc < sizeof(text) / sizeof(text[0]) && text[rc] ? text[rc] : "Unknown Error";
}
API nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    CALL();
    return give_text(out, size, script.driver);
}
API nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    CALL();
    return give_text(out, size, "13.580.159.04");
}
API nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    CALL();
    GIVE(out, 13000);
}

/* ---- identity ---- */
API nvmlDeviceGetCount_v2(unsigned *out)
{
    CALL();
    unsigned n = 0;
    for (unsigned i = 0; i < script.gpus; i++)
        n += !script.gpu[i].gone;
    GIVE(out, n);
}
API nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    CALL();
    for (unsigned i = 0; i < script.gpus; i++) {
        if (script.gpu[i].gone || index-- > 0)
            continue;
        if (script.gpu[i].lost)
            return LOST;
        GIVE(out, handle_of((int)i, -1));
    }
    return BADARG;
}
API nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out)
{
    CALL();
    const char *bus = strchr(id, ':');
    long want = bus ? strtol(bus + 1, NULL, 16) : -1;
    for (unsigned i = 0; i < script.gpus; i++) {
        if (script.gpu[i].gone || script.gpu[i].bus != want)
            continue;
        if (script.gpu[i].lost)
            return LOST;
        GIVE(out, handle_of((int)i, -1));
    }
    return NOTFOUND;
}
API nvmlDeviceGetIndex(void *dev, unsigned *out)
{
    CALL_WHOLE(dev);
    unsigned n = 0;
    for (int i = 0; i < d.gpu; i++)
        n += !script.gpu[i].gone;
    GIVE(out, n);
}
API nvmlDeviceGetUUID(void *dev, char *out, unsigned size)
{
    CALL_ANY(dev);
    char text[96];
    if (d.mig < 0)
        snprintf(text, sizeof(text), "GPU-00000000-0000-4000-8000-%012x", d.gpu + 1);
    else
        snprintf(text, sizeof(text), "MIG-00000000-0000-5000-8000-%08x%04x", d.gpu + 1, d.mig + 1);
    return give_text(out, size, text);
}
API nvmlDeviceGetName(void *dev, char *out, unsigned size)
{
    CALL_ANY(dev);
    return give_text(out, size, d.mig < 0 ? "NVIDIA H200" : "NVIDIA H200 MIG 1g.18gb");
}
API nvmlDeviceGetSerial(void *dev, char *out, unsigned size)
{
    CALL_WHOLE(dev);
    char text[30];
    snprintf(text, sizeof(text), "16512300%05d", d.gpu);
    return give_text(out, size, text);
}
API nvmlDeviceGetVbiosVersion(void *dev, char *out, unsigned size)
{
    CALL_WHOLE(dev);
    return give_text(out, size, "96.00.A5.00.1A");
}
struct pci_v3 {
    char legacy[16];
    unsigned domain, bus, device, pci_device, subsystem;
    char id[32];
};
_Static_assert(sizeof(struct pci_v3) == 68 && offsetof(struct pci_v3, id) == 36, "nvmlPciInfo_t");
static struct pci_v3 pci_of(const struct gpu *g)
{
    struct pci_v3 p = {.bus = (unsigned)g->bus & 0xff, .pci_device = 0x233510de, .subsystem = 0x18be10de};
    snprintf(p.legacy, sizeof(p.legacy), "0000:%02X:00.0", p.bus);
    snprintf(p.id, sizeof(p.id), "00000000:%02X:00.0", p.bus);
    return p;
}
API nvmlDeviceGetPciInfo_v2(void *dev, char *out)
{
    CALL_WHOLE(dev);
    struct pci_v3 p = pci_of(g);
    memcpy(out, &p, 36); /* the fields of this version; 16 reserved bytes follow them */
    memset(out + 36, 0, 16);
    return OK;
}

/* ---- plain numbers ---- */
#define NUMBER(name, scope, value)                                                                                     \
    API name(void *dev, unsigned *out)                                                                                 \
    {                                                                                                                  \
        CALL_##scope(dev);                                                                                             \
        return give_number(out, value);                                                                                \
    }
NUMBER(nvmlDeviceGetMinorNumber, WHOLE, g->minor)
NUMBER(nvmlDeviceGetBrand, WHOLE, 14)
NUMBER(nvmlDeviceGetPowerUsage, WHOLE, gpu_power_mw(g))
NUMBER(nvmlDeviceGetEnforcedPowerLimit, WHOLE, g->limit)
NUMBER(nvmlDeviceGetPowerManagementLimit, WHOLE, g->limit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, WHOLE, g->deflimit)
NUMBER(nvmlDeviceGetPerformanceState, WHOLE, g->pstate)
NUMBER(nvmlDeviceGetFanSpeed, WHOLE, g->fan)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, WHOLE, g->pciegen)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, WHOLE, g->pciewidth)
NUMBER(nvmlDeviceGetPcieReplayCounter, WHOLE, g->replay)
/* asked by nvtop alone, which bench/top.py runs on this */
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, WHOLE, g->pciegen)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, WHOLE, g->pciewidth)
API nvmlDeviceGetTemperatureThreshold(void *dev, unsigned kind, unsigned *out)
{
    (void)dev, (void)kind;
    *out = 90;
    return 0;
}

static int64_t clock_of(const struct gpu *g, unsigned type)
{
    return type == 2 ? g->memclk : g->smclk >= 0 ? g->smclk : g->util ? 1980 : 345;
}
API nvmlDeviceGetClockInfo(void *dev, unsigned type, unsigned *out)
{
    CALL_WHOLE(dev);
    return type > 3 ? BADARG : give_number(out, clock_of(g, type));
}
API nvmlDeviceGetMaxClockInfo(void *dev, unsigned type, unsigned *out)
{
    CALL_WHOLE(dev);
    return type > 3 ? BADARG : give_number(out, type == 2 ? g->maxmemclk : g->maxsmclk);
}
API nvmlDeviceGetTemperature(void *dev, unsigned sensor, unsigned *out)
{
    CALL_WHOLE(dev);
    return sensor ? BADARG : give_number(out, g->temp >= 0 ? g->temp : 35 + g->util * 3 / 10);
}
API nvmlDeviceGetEncoderUtilization(void *dev, unsigned *out, unsigned *period_us)
{
    CALL_NOMIG(dev);
    *period_us = 167000;
    return give_number(out, g->enc);
}
API nvmlDeviceGetDecoderUtilization(void *dev, unsigned *out, unsigned *period_us)
{
    CALL_NOMIG(dev);
    *period_us = 167000;
    return give_number(out, g->dec);
}
API nvmlDeviceGetCurrentClocksThrottleReasons(void *dev, ull *out)
{
    CALL_WHOLE(dev);
    GIVE(out, (ull)(g->reasons >= 0 ? g->reasons : g->util == 0));
}
struct utilization {
    unsigned gpu, memory;
};
API nvmlDeviceGetUtilizationRates(void *dev, struct utilization *out)
{
    CALL_NOMIG(dev);
    if (g->util < 0)
        return NOSUPPORT;
    GIVE(out, ((struct utilization){(unsigned)g->util, (unsigned)gpu_memutil(g)}));
}
struct memory_v1 {
    ull total, free, used;
};
struct memory_v2 {
    unsigned version;
    ull total, reserved, free, used;
};
_Static_assert(sizeof(struct memory_v1) == 24 && sizeof(struct memory_v2) == 40, "nvmlMemory_t");
static struct memory_v2 memory_of(struct dev d, const struct gpu *g)
{
    struct memory_v2 m = {.total = (ull)g->total, .reserved = (ull)g->reserved, .used = (ull)g->mem};
    if (d.mig >= 0)
        m = (struct memory_v2){.total = 16384 * MIB, .used = (ull)g->migmem[d.mig]};
    m.free = m.total - m.reserved - m.used;
    return m;
}
API nvmlDeviceGetMemoryInfo(void *dev, struct memory_v1 *out)
{
    CALL_ANY(dev);
    struct memory_v2 m = memory_of(d, g);
    GIVE(out, ((struct memory_v1){m.total, m.free, m.used + m.reserved}));
}

/* ---- dear numbers ---- */
API nvmlDeviceGetTotalEnergyConsumption(void *dev, ull *out)
{
    CALL_WHOLE(dev);
    if (g->energy < 0)
        return NOSUPPORT;
    GIVE(out, gpu_energy_mj(d.gpu));
}
API nvmlDeviceGetPcieThroughput(void *dev, unsigned counter, unsigned *out)
{
    CALL_WHOLE(dev);
    nap(20); /* as the real one: it counts for this long */
    return give_number(out, counter == 0 ? g->pcietx : g->pcierx);
}
API nvmlDeviceGetTotalEccErrors(void *dev, unsigned uncorrected, unsigned aggregate, ull *out)
{
    CALL_WHOLE(dev);
    int64_t v = uncorrected ? g->ecc_unc : g->ecc_corr;
    if (v < 0)
        return NOSUPPORT;
    GIVE(out, (ull)v + aggregate * 100);
}
API nvmlDeviceGetRetiredPages(void *dev, unsigned cause, unsigned *count, ull *addresses)
{
    CALL_WHOLE(dev);
    (void)addresses;
    if (g->retired < 0)
        return NOSUPPORT;
    unsigned have = cause ? 0 : (unsigned)g->retired, room = *count; /* 0: by single-bit errors, 1: by a double one */
    *count = have;
    return room < have ? TOOSMALL : OK;
}
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, WHOLE, g->retired < 0 ? -1 : g->rows_pending)
API nvmlDeviceGetNvLinkState(void *dev, unsigned link, unsigned *active)
{
    CALL_WHOLE(dev);
    if (link > 17 || g->nvlinktx < 0)
        return link > 17 ? BADARG : NOSUPPORT;
    GIVE(active, link < 4);
}
union value {
    double real;
    unsigned u32;
    ull u64;
};
struct sample {
    ull at_us;
    union value value;
};
_Static_assert(sizeof(struct sample) == 16, "nvmlSample_t");
API nvmlDeviceGetSamples(void *dev, unsigned type, ull since_us, unsigned *value_type, unsigned *count,
                         struct sample *out)
{
    CALL_WHOLE(dev);
    if (type > 2 || g->samples < 0 || (type > 0 && g->mig >= 0))
        return NOSUPPORT;
    int64_t step = type == 0 ? 20000 : 200000, now = script_now_us();
    unsigned hold = type == 0 ? 119 : 71, n = 0;
    *value_type = 1;
    if (!out) {
        *count = hold + 1;
        return OK;
    }
    for (int64_t t = (now / step - hold + 1) * step; t <= now; t += step) {
        if (t <= (int64_t)since_us)
            continue;
        if (n == *count)
            return TOOSMALL;
        out[n].at_us = (ull)t;
        out[n].value.u64 = 0xdeadbeef00000000ull; /* only the half that the type names is the value */
        out[n++].value.u32 = (unsigned)gpu_past(d.gpu, t, type);
    }
    *count = n;
    return n ? OK : NOTFOUND;
}
struct process_sample {
    unsigned pid;
    ull at_us;
    unsigned sm, mem, enc, dec;
};
_Static_assert(sizeof(struct process_sample) == 32 && offsetof(struct process_sample, sm) == 16,
               "nvmlProcessUtilizationSample_t");
API nvmlDeviceGetProcessUtilization(void *dev, struct process_sample *out, unsigned *count, ull since_us)
{
    CALL_NOMIG(dev);
    if (!out) {
        *count = 72;
        return TOOSMALL;
    }
    unsigned n = 0;
    ull at = (ull)(script_now_us() / 1000000 * 1000000);
    for (unsigned i = 0; i < script.procs && at > since_us; i++) {
        const struct proc *p = &script.proc[i];
        if (p->gpu != d.gpu)
            continue;
        if (n == *count)
            return TOOSMALL;
        unsigned sm = (unsigned)(p->sm >= 0 ? p->sm : g->util);
        unsigned mem = (unsigned)(p->memutil >= 0 ? p->memutil : gpu_memutil(g));
        out[n++] = (struct process_sample){p->pid, at, sm, mem, 0, 0};
    }
    *count = n;
    return n ? OK : NOTFOUND;
}

struct field_value {
    unsigned id, scope;
    int64_t at_us, latency_us;
    unsigned type;
    int rc;
    union value value;
};
_Static_assert(sizeof(struct field_value) == 40 && offsetof(struct field_value, value) == 32, "nvmlFieldValue_t");
enum { U32 = 1, U64 = 3 };
/* The value, or -1 where it is not supported, -2 where the id is not known. */
static int64_t field_of(int gpu, const struct gpu *g, unsigned id, unsigned *ret_type)
{
    int64_t now_ms = script_now_us() / 1000;
    *ret_type = (id >= 138 && id <= 145) || id == 83 ? U64 : U32;
    switch (id) {
    case 82:
        return g->memtemp >= 0 ? g->memtemp : 34 + g->util * 3 / 10;
    case 83:
        return g->energy < 0 ? -1 : (int64_t)gpu_energy_mj(gpu);
    case 94:
        return g->replay;
    case 138:
        return g->nvlinktx < 0 ? -1 : g->nvlinktx * now_ms / 1000;
    case 139:
        return g->nvlinkrx < 0 ? -1 : g->nvlinkrx * now_ms / 1000;
    case 142:
        return g->rows_corr;
    case 143:
        return g->rows_unc;
    case 144:
        return g->rows_pending;
    case 145:
        return g->rows_failure;
    case 185:
    case 186:
        return gpu_power_mw(g);
    case 197:
        return (uint32_t)(g->pcietx * now_ms);
    case 198:
        return (uint32_t)(g->pcierx * now_ms);
    default:
        return id >= 303 ? -2 : -1;
    }
}
API nvmlDeviceGetFieldValues(void *dev, int count, struct field_value *fv)
{
    CALL_WHOLE(dev);
    if (count < 1 || !fv)
        return BADARG;
    for (int i = 0; i < count; i++) {
        int64_t v = field_of(d.gpu, g, fv[i].id, &fv[i].type);
        fv[i].at_us = script_now_us();
        fv[i].latency_us = 0;
        fv[i].rc = v >= 0 ? OK : v == -1 ? NOSUPPORT : BADARG;
        fv[i].value.u64 = fv[i].type == U64 ? (ull)v : 0xdeadbeef00000000ull | (unsigned)v;
    }
    return OK;
}

/* ---- processes ---- */
static bool shown(const struct proc *p, struct dev d, char kind)
{
    return p->gpu == d.gpu && p->kind == kind && (d.mig < 0 || p->gi == d.mig + 1);
}
static int give_processes(struct dev d, char kind, unsigned *count, char *out, size_t stride)
{
    unsigned n = 0, room;
    if (!count)
        return BADARG;
    for (unsigned i = 0; i < script.procs; i++)
        n += shown(&script.proc[i], d, kind);
    room = *count;
    *count = n;
    if (room < n || (n && !out))
        return TOOSMALL;
    for (unsigned i = 0; i < script.procs; i++) {
        const struct proc *p = &script.proc[i];
        if (!shown(p, d, kind))
            continue;
        unsigned instance[2] = {p->gi < 0 ? 0xffffffff : (unsigned)p->gi, p->gi < 0 ? 0xffffffff : 0};
        memset(out, 0, stride);
        memcpy(out, &p->pid, 4);
        memcpy(out + 8, &p->bytes, 8);
        if (stride >= 24)
            memcpy(out + 16, instance, 8);
        out += stride;
    }
    return OK;
}
#define PROCESSES(name, kind, stride)                                                                                  \
    API name(void *dev, unsigned *count, void *out)                                                                    \
    {                                                                                                                  \
        CALL_ANY(dev);                                                                                                 \
        return give_processes(d, kind, count, out, stride);                                                            \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, 'c', 16)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, 'g', 16)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 'g', 24)

/* ---- events ---- */
struct event_set {
    ull types[MAX_GPUS];
};
struct event_data {
    void *device;
    ull type, data;
    unsigned gi, ci;
};
_Static_assert(sizeof(struct event_data) == 32, "nvmlEventData_t");
API nvmlEventSetCreate(struct event_set **out)
{
    CALL();
    GIVE(out, calloc(1, sizeof(struct event_set)));
}
API nvmlEventSetFree(struct event_set *set)
{
    CALL();
    free(set);
    return OK;
}
API nvmlDeviceGetSupportedEventTypes(void *dev, ull *out)
{
    CALL_WHOLE(dev);
    GIVE(out, (ull)g->events);
}
API nvmlDeviceRegisterEvents(void *dev, ull types, struct event_set *set)
{
    CALL_WHOLE(dev);
    if (types & ~(ull)g->events)
        return NOSUPPORT;
    set->types[d.gpu] |= types;
    return OK;
}
static int wait_event(const char *name, const struct event_set *set, unsigned timeout_ms, struct event_data *ret)
{
    for (unsigned waited = 0;; waited += 5) {
        if (delivered > script.events)
            delivered = script.events; /* lines were taken away: those that come next are new */
        while (delivered < script.events) {
            const struct event *e = &script.event[delivered++];
            if (!(set->types[e->gpu] & e->type))
                continue;
            *ret = (struct event_data){handle_of(e->gpu, -1), e->type, e->data, 0xffffffff, 0xffffffff};
            return OK;
        }
        if (waited >= timeout_ms && !script_rule(RULE_HANG, name, -1))
            return TIMEOUT;
        nap(5);
        script_reload();
    }
}
API nvmlEventSetWait(struct event_set *set, void *out, unsigned timeout_ms)
{
    CALL();
    struct event_data e;
    int r = wait_event(__func__, set, timeout_ms, &e);
    if (r == OK)
        memcpy(out, &e, 24); /* no instances in the first version */
    return r;
}

#ifndef OLD_DRIVER
/* ---- what newer drivers added ---- */
API nvmlDeviceGetPciInfo_v3(void *dev, struct pci_v3 *out)
{
    CALL_WHOLE(dev);
    GIVE(out, pci_of(g));
}
NUMBER(nvmlDeviceGetArchitecture, WHOLE, g->arch)
API nvmlDeviceGetMemoryInfo_v2(void *dev, struct memory_v2 *io)
{
    CALL_ANY(dev);
    if (io->version != 0x02000028)
        return NOFUNC;
    struct memory_v2 m = memory_of(d, g);
    m.version = io->version;
    GIVE(io, m);
}
API nvmlDeviceGetCurrentClocksEventReasons(void *dev, ull *out)
{
    CALL_WHOLE(dev);
    GIVE(out, (ull)(g->reasons >= 0 ? g->reasons : g->util == 0));
}
API nvmlDeviceGetRemappedRows(void *dev, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                              unsigned *failure)
{
    CALL_WHOLE(dev);
    if (g->rows_corr < 0)
        return NOSUPPORT;
    *corrected = (unsigned)g->rows_corr;
    *uncorrected = (unsigned)g->rows_unc;
    *pending = (unsigned)g->rows_pending;
    *failure = (unsigned)g->rows_failure;
    return OK;
}
API nvmlDeviceGetRowRemapperHistogram(void *dev, unsigned out[5]) /* banks with all, many, some, few, no spare rows */
{
    CALL_WHOLE(dev);
    if (g->rows_corr < 0)
        return NOSUPPORT;
    out[0] = 640 - (unsigned)g->rows_none;
    out[1] = out[2] = out[3] = 0;
    out[4] = (unsigned)g->rows_none;
    return OK;
}
API nvmlEventSetWait_v2(struct event_set *set, struct event_data *out, unsigned timeout_ms)
{
    CALL();
    return wait_event(__func__, set, timeout_ms, out);
}
#ifdef WIDE_V3
#define STRIDE_V3 32
#else
#define STRIDE_V3 24
API nvmlDeviceGetRunningProcessDetailList(void *dev, void *list)
{
    CALL_ANY(dev);
    (void)list;
    return NOSUPPORT;
}
#endif
API nvmlDeviceGetConfComputeMemSizeInfo(void *dev, void *out)
{
    CALL_ANY(dev);
    (void)out;
    return NOSUPPORT;
}
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 'c', 24)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 'c', STRIDE_V3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 'g', STRIDE_V3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, 'm', 16)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'm', 24)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'm', STRIDE_V3)

/* ---- GPM ---- */
struct gpm_sample {
    int gpu, gi;
    int64_t at_us;
};
struct gpm_support {
    unsigned version, supported;
};
struct gpm_metric {
    unsigned id;
    int rc;
    double value;
    const char *name[3];
};
struct gpm_get {
    unsigned version, count;
    struct gpm_sample *first, *second;
    struct gpm_metric metric[];
};
_Static_assert(sizeof(struct gpm_metric) == 40 && offsetof(struct gpm_get, metric) == 24, "nvmlGpmMetricsGet_t");
API nvmlGpmQueryDeviceSupport(void *dev, struct gpm_support *io)
{
    CALL_WHOLE(dev);
    if (io->version != 1)
        return BADVERSION;
    io->supported = g->gpm > 0;
    return OK;
}
API nvmlGpmSampleAlloc(struct gpm_sample **out)
{
    CALL();
    GIVE(out, calloc(1, sizeof(struct gpm_sample)));
}
API nvmlGpmSampleFree(struct gpm_sample *s)
{
    CALL();
    free(s);
    return OK;
}
API nvmlGpmSampleGet(void *dev, struct gpm_sample *s)
{
    CALL_WHOLE(dev);
    if (g->gpm <= 0)
        return NOSUPPORT;
    GIVE(s, ((struct gpm_sample){d.gpu, -1, script_now_us()}));
}
API nvmlGpmMigSampleGet(void *dev, unsigned gi, struct gpm_sample *s)
{
    CALL_WHOLE(dev);
    if (g->gpm <= 0 || g->mig < 0 || gi < 1 || gi > g->mig)
        return NOSUPPORT;
    GIVE(s, ((struct gpm_sample){d.gpu, (int)gi, script_now_us()}));
}
/* Shares of the GPU's utilisation that tell the metrics apart; rates from the script's keys. -1: not supported. */
static double gpm_value(const struct gpu *g, unsigned id, double util, double memutil)
{
    switch (id) {
    case 1:
        return util;
    case 2:
        return util * 0.9;
    case 3:
        return util * 0.5;
    case 4:
        return util * 0.25;
    case 5:
    case 7:
        return util * 0.6;
    case 6:
    case 9:
    case 13:
        return 0;
    case 11:
        return util * 0.01;
    case 12:
        return util * 0.05;
    case 10:
        return memutil;
    case 20:
        return (double)g->pcietx / 1024;
    case 21:
        return (double)g->pcierx / 1024;
    case 60:
        return g->nvlinkrx < 0 ? -1 : (double)g->nvlinkrx / 1024;
    case 61:
        return g->nvlinktx < 0 ? -1 : (double)g->nvlinktx / 1024;
    default:
        return -1;
    }
}
API nvmlGpmMetricsGet(struct gpm_get *io)
{
    CALL();
    if (io->version != 1)
        return BADVERSION;
    const struct gpm_sample *a = io->first, *b = io->second;
    if (!a || !b || a->gpu != b->gpu || a->gi != b->gi || !a->at_us || b->at_us <= a->at_us)
        return BADARG;
    double util = 0, memutil = 0;
    for (int i = 1; i <= 10; i++) { /* looked at ten times between the two */
        int64_t t = a->at_us + (b->at_us - a->at_us) * i / 10;
        util += (double)gpu_past(a->gpu, t, 1) / 10;
        memutil += (double)gpu_past(a->gpu, t, 2) / 10;
    }
    for (unsigned i = 0; i < io->count; i++) {
        struct gpm_metric *m = &io->metric[i];
        m->value = gpm_value(&script.gpu[a->gpu], m->id, util, memutil);
        m->rc = m->value < 0 ? NOSUPPORT : OK;
    }
    return OK;
}

/* ---- MIG ---- */
struct attributes {
    unsigned sms, copy, dec, enc, jpeg, ofa, gi_slices, ci_slices;
    ull memory_mib;
};
_Static_assert(sizeof(struct attributes) == 40 && offsetof(struct attributes, memory_mib) == 32, "attributes");
API nvmlDeviceGetMigMode(void *dev, unsigned *current, unsigned *pending)
{
    CALL_WHOLE(dev);
    *pending = g->mig >= 0;
    GIVE(current, g->mig >= 0);
}
API nvmlDeviceGetMigDeviceHandleByIndex(void *dev, unsigned i, void **out)
{
    CALL_WHOLE(dev);
    if (i >= MAX_MIG)
        return BADARG;
    if (g->mig < 0 || i >= (unsigned)g->mig)
        return NOTFOUND;
    GIVE(out, handle_of(d.gpu, (int)i));
}
NUMBER(nvmlDeviceGetMaxMigDeviceCount, WHOLE, MAX_MIG)
NUMBER(nvmlDeviceGetGpuInstanceId, ANY, d.mig < 0 ? -1 : d.mig + 1)
NUMBER(nvmlDeviceGetComputeInstanceId, ANY, d.mig < 0 ? -1 : 0)
API nvmlDeviceGetAttributes_v2(void *dev, struct attributes *out)
{
    CALL_ANY(dev);
    if (d.mig < 0)
        return NOSUPPORT;
    GIVE(out, ((struct attributes){.sms = 16, .copy = 1, .gi_slices = 1, .ci_slices = 1, .memory_mib = 16384}));
}
#endif
