/*
 * load.c: a GPU job of known size, with nothing but the driver: holds memory and keeps the GPU busy for a share of the
 * time. Says at the end how long its kernels ran, by its own clock.
 *   load SECONDS MIB BUSY_PERCENT PERIOD_MS
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry spin(.param .u64 n)\n{\n.reg .pred %p<2>;\n.reg .b64 %rd<5>;\n"
                          "ld.param.u64 %rd1, [n];\nmov.u64 %rd2, %clock64;\nAGAIN:\nmov.u64 %rd3, %clock64;\n"
                          "sub.s64 %rd4, %rd3, %rd2;\nsetp.lt.s64 %p1, %rd4, %rd1;\n@%p1 bra AGAIN;\nret;\n}\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *cuda;
static int call(const char *name, void *a, void *b, void *c)
{
    void *f = dlsym(cuda, name);
    int (*fn)(void *, void *, void *);
    memcpy(&fn, &f, sizeof(f));
    int rc = f ? fn(a, b, c) : -1;
    if (rc) {
        fprintf(stderr, "%s: %d\n", name, rc);
        exit(1);
    }
    return rc;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10, share = argc > 3 ? atof(argv[3]) / 100 : 1;
    size_t mib = argc > 2 ? strtoul(argv[2], NULL, 10) : 1024;
    double period = argc > 4 ? atof(argv[4]) / 1000 : 1;
    void *context, *module, *kernel, *memory;
    uint64_t cycles = 10 * 1000 * 1000; /* about 5 ms */
    void *args[] = {&cycles};
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **);
    if (!(cuda = dlopen("libcuda.so.1", RTLD_NOW))) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    call("cuInit", NULL, NULL, NULL);
    call("cuDevicePrimaryCtxRetain", &context, NULL, NULL);
    call("cuCtxSetCurrent", context, NULL, NULL);
    call("cuModuleLoadData", &module, (void *)ptx, NULL);
    call("cuModuleGetFunction", &kernel, module, "spin");
    call("cuMemAlloc_v2", &memory, (void *)(mib << 20), NULL);
    void *f = dlsym(cuda, "cuLaunchKernel");
    memcpy(&launch, &f, sizeof(f));
    double start = now(), busy = 0;
    for (double turn = start; turn < start + seconds; turn += period) {
        while (now() < turn + share * period) {
            double t = now();
            if (launch(kernel, 256, 1, 1, 128, 1, 1, 0, NULL, args, NULL) != 0)
                return 1;
            call("cuCtxSynchronize", NULL, NULL, NULL);
            busy += now() - t;
        }
        double left = turn + period - now();
        if (left > 0)
            usleep((useconds_t)(left * 1e6));
    }
    printf("pid %d busy %.3f s of %.3f s\n", getpid(), busy, now() - start);
    return 0;
}
