/*
 * nvml_stub.h: what the fake NVML is told to be. Its behaviour is a text file named by MUSTER_NVML_STUB, read again
 * whenever it changes, so that a running agent sees GPUs work, hang and vanish. One `key value...` per line, '#'
 * comments; the last line for a GPU wins. INDEX is the GPU's number before any is gone.
 *
 *   gpus N                    how many (1)
 *   driver TEXT               driver version
 *   hang GLOB [INDEX]         calls named so block until the line goes away; "all" is every call
 *   slow GLOB MS [INDEX]      they take this long
 *   rc GLOB CODE [INDEX]      they answer CODE
 *   lost INDEX                code 15 from every call
 *   gone INDEX                no longer counted; a kept handle answers 15
 *   mismatch                  nvmlInit answers 18
 *   noinit CODE               nvmlInit answers CODE
 *   proc INDEX PID BYTES [c|g|m] [GI]   a process: compute, graphics or MPS; GI is its MIG instance
 *   procutil INDEX PID SM MEM           its utilisation, else the GPU's own; after its proc line
 *   xid INDEX NUMBER          delivered once to an event set; lines count in order, so append to deliver more
 *   event INDEX TYPE DATA     the same for any event type
 *   mig INDEX N               MIG on, with N instances
 *   migmem INDEX I BYTES      memory used by instance I (from 0)
 *   now US                    the stub's clock stands here (microseconds of wall time), for tests without waiting
 *   KEY INDEX VALUE           any of GPU_KEYS below
 */
#ifndef TESTS_STUB_NVML_STUB_H
#define TESTS_STUB_NVML_STUB_H

#include <stdbool.h>
#include <stdint.h>

#define MIB (1024ll * 1024)
enum { MAX_GPUS = 64, MAX_MIG = 7, MAX_RULES = 64, MAX_PROCS = 256, MAX_EVENTS = 64, MAX_CHANGES = 256 };

/* Name and default; -1 is "not supported", or "as utilisation suggests" for temperatures, power, SM clock and reasons.
 */
#define GPU_KEYS(X)                                                                                                    \
    X(util, 0)                                                                                                         \
    X(memutil, -1)                                                                                                     \
    X(mem, 0)                                                                                                          \
    X(reserved, 644939776)                                                                                             \
    X(total, 143771 * MIB)                                                                                             \
    X(temp, -1)                                                                                                        \
    X(memtemp, -1)                                                                                                     \
    X(power, -1)                                                                                                       \
    X(limit, 700000)                                                                                                   \
    X(deflimit, 700000)                                                                                                \
    X(smclk, -1)                                                                                                       \
    X(memclk, 3201)                                                                                                    \
    X(maxsmclk, 1980)                                                                                                  \
    X(maxmemclk, 3201)                                                                                                 \
    X(reasons, -1)                                                                                                     \
    X(pstate, 0)                                                                                                       \
    X(fan, -1)                                                                                                         \
    X(enc, 0)                                                                                                          \
    X(dec, 0)                                                                                                          \
    X(ecc_corr, 0)                                                                                                     \
    X(ecc_unc, 0)                                                                                                      \
    X(rows_corr, 0)                                                                                                    \
    X(rows_unc, 0)                                                                                                     \
    X(rows_pending, 0)                                                                                                 \
    X(rows_failure, 0)                                                                                                 \
    X(rows_none, 0)                                                                                                    \
    X(retired, -1)                                                                                                     \
    X(replay, 0)                                                                                                       \
    X(pciegen, 5)                                                                                                      \
    X(pciewidth, 16)                                                                                                   \
    X(pcietx, 1024) /* KB/s, as NVML has it */                                                                         \
    X(pcierx, 512)                                                                                                     \
    X(nvlinktx, -1) /* KiB/s */                                                                                        \
    X(nvlinkrx, -1)                                                                                                    \
    X(gpm, 1)                                                                                                          \
    X(arch, 9)                                                                                                         \
    X(mig, -1)                                                                                                         \
    X(minor, index)                                                                                                    \
    X(bus, 0x10 + index)                                                                                               \
    X(samples, 1)                                                                                                      \
    X(energy, 1)                                                                                                       \
    X(events, 0xff9f)

struct gpu {
#define X(name, value) int64_t name;
    GPU_KEYS(X)
#undef X
    int64_t migmem[MAX_MIG];
    bool lost, gone;
};

enum rule_kind { RULE_HANG, RULE_SLOW, RULE_RC };
struct rule {
    enum rule_kind kind;
    char glob[64];
    int64_t value;
    int index; /* -1: every GPU, and calls without one */
};
struct proc {
    int gpu, gi; /* gi -1: not MIG */
    unsigned pid;
    uint64_t bytes;
    char kind;
    int64_t sm, memutil; /* -1: the GPU's own */
};
struct event {
    int gpu;
    uint64_t type, data;
};
struct script {
    unsigned gpus, rules, procs, events;
    struct gpu gpu[MAX_GPUS];
    struct rule rule[MAX_RULES];
    struct proc proc[MAX_PROCS];
    struct event event[MAX_EVENTS];
    char driver[80];
    int init_rc;
    int64_t now_us; /* 0: the real clock */
};

/* The caller of all of these holds one lock. */
extern struct script script;
void script_reload(void); /* if the file changed */
void script_reset(void);  /* forget it, and the past */
int64_t script_now_us(void);
const struct rule *script_rule(enum rule_kind kind, const char *call, int gpu); /* NULL: none */

int64_t gpu_power_mw(const struct gpu *g);
int64_t gpu_memutil(const struct gpu *g);
/* What the GPU did at a moment since the stub was loaded: 0 power, 1 utilisation, 2 memory utilisation. */
int64_t gpu_past(int gpu, int64_t at_us, unsigned what);
uint64_t gpu_energy_mj(int gpu);

#endif
