/* nvml_lib.c: loads NVML and classifies its return codes. It reads no device. */
#include "collect/nvml_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#include "base/mem.h"

enum { MAYBE, NEED };
static const struct {
    bool need;
    unsigned short offset;
    const char *symbol, *older;
} calls[] = {
#define X(need, field, symbol, older, args) {need, offsetof(struct nvml, field), symbol, older},
    NVML_CALLS(X)
#undef X
};

int nvml_load(struct nvml *lib, const char *path, struct err *err)
{
    const char *names[] = {path ? path : "libnvidia-ml.so.1", path ? NULL : "libnvidia-ml.so"};
    struct nvml l = {.so = dlopen(names[0], RTLD_LAZY | RTLD_LOCAL)};
    if (!l.so)
        err_set(err, -ENODEV, "cannot load NVIDIA's library: %s", dlerror());
    if (!l.so && names[1])
        l.so = dlopen(names[1], RTLD_LAZY | RTLD_LOCAL);
    if (!l.so)
        return -ENODEV;
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        void *f = dlsym(l.so, calls[i].symbol);
        if (!f && calls[i].older)
            f = dlsym(l.so, calls[i].older);
        if (!f && calls[i].need) {
            dlclose(l.so);
            return err_set(err, -ENOSYS, "NVIDIA's library has no '%s'", calls[i].symbol);
        }
        memcpy((char *)&l + calls[i].offset, &f, sizeof(f));
    }
    void *text = dlsym(l.so, "nvmlErrorString");
    memcpy(&l.error_string, &text, sizeof(text));
    bool wide =
        dlsym(l.so, "nvmlDeviceGetConfComputeMemSizeInfo") && !dlsym(l.so, "nvmlDeviceGetRunningProcessDetailList");
    l.stride_v3 = wide && dlsym(l.so, "nvmlDeviceGetComputeRunningProcesses_v3") ? 32 : 24;
    *lib = l;
    return 0;
}

void nvml_unload(struct nvml *lib)
{
    if (lib->so)
        dlclose(lib->so);
    *lib = (struct nvml){0};
}

const char *nvml_text(const struct nvml *lib, int rc)
{
    const char *s = lib->error_string ? lib->error_string(rc) : NULL;
    return s ? s : "unknown error";
}

enum nvml_verdict nvml_judge(int rc)
{
    switch (rc) {
    case 0:
        return NVML_GOOD;
    case 2:  /* invalid argument: an id or a kind this driver does not know */
    case 3:  /* not supported */
    case 4:  /* no permission */
    case 13: /* function not found: also a struct version the driver does not know */
    case 22: /* no ECC under vGPU */
    case 25: /* struct version */
    case 26: /* deprecated */
        return NVML_ABSENT;
    case 15: /* lost */
    case 16: /* needs a reset */
    case 28: /* not found */
        return NVML_LOST;
    case 18:
        return NVML_STALE;
    case 1:  /* not initialised */
    case 9:  /* driver not loaded */
    case 12: /* library not found */
        return NVML_DEAD;
    default:
        return NVML_NOT_NOW;
    }
}

int64_t nvml_number(unsigned type, union nvml_value v)
{
    switch (type) {
    case NVML_DOUBLE:
        return v.real > -1e18 && v.real < 1e18 ? (int64_t)v.real : 0;
    case NVML_U32:
        return v.u32;
    default:
        return (int64_t)v.u64;
    }
}
