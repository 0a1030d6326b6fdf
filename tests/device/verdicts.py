#!/usr/bin/env python3
"""Records the jobs of tests/device/jobs.py, each for some seconds, a reading a second: tests/verdict/test_expert.c replays them.

    python3 tests/device/verdicts.py [--seconds 8] [--within 540] [--flops] [JOB...]      without a JOB: all of them

Needs PyTorch with CUDA and the driver; nvcc for one line of --flops. Leaves verdicts.csv and log.txt in $OUT, or here.
--flops measures how far the estimate `flops` is from counted operations, kernel by kernel (flops.txt).
"""
import argparse
import ctypes
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
OUT = os.environ.get("OUT") or "."
METRICS = ("active sm_active sm_occupancy int_active tensor_active dfma_active hmma_active imma_active dram_active fp64_active fp32_active fp16_active util power power_limit power_default "
           "clock_sm clock_sm_max throttle mem_used mem_total host_cpu host_cpu_top pcie_rx pcie_tx").split()


# ---- what the driver says ----

class Metric(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("rc", ctypes.c_int), ("value", ctypes.c_double), ("names", ctypes.c_char_p * 3)]


class Ask(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("count", ctypes.c_uint), ("first", ctypes.c_void_p), ("second", ctypes.c_void_p), ("metric", Metric * 16)]


class Util(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Gpu:
    """The first GPU, in stored steps, as src/collect reads it."""

    PIPES = {1: "active", 2: "sm_active", 3: "sm_occupancy", 4: "int_active", 5: "tensor_active", 6: "dfma_active", 7: "hmma_active", 9: "imma_active", 10: "dram_active", 11: "fp64_active",
             12: "fp32_active", 13: "fp16_active", 20: "pcie_tx", 21: "pcie_rx"}

    def __init__(self):
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        assert self.lib.nvmlInit_v2() == 0
        self.dev = ctypes.c_void_p()
        assert self.lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.dev)) == 0
        self.samples = [ctypes.c_void_p(), ctypes.c_void_p()]
        for s in self.samples:
            self.lib.nvmlGpmSampleAlloc(ctypes.byref(s))
        self.empty = self.number("MemoryInfo", kind=Memory).used  # what the driver keeps
        self.begin()

    def begin(self):
        self.lib.nvmlGpmSampleGet(self.dev, self.samples[0])

    def number(self, call, *args, kind=ctypes.c_uint):
        v = kind()
        rc = getattr(self.lib, "nvmlDeviceGet" + call)(self.dev, *args, ctypes.byref(v))
        return v if rc == 0 else None

    def pipes(self):
        """Since the last call, or begin."""
        self.lib.nvmlGpmSampleGet(self.dev, self.samples[1])
        q = Ask(version=1, count=len(self.PIPES), first=self.samples[0].value, second=self.samples[1].value)
        for i, k in enumerate(self.PIPES):
            q.metric[i].id = k
        rc = self.lib.nvmlGpmMetricsGet(ctypes.byref(q))
        self.samples.reverse()
        if rc != 0:
            return {}
        return {name: round(q.metric[i].value * (1048576 if name.startswith("pcie") else 100)) for i, name in enumerate(self.PIPES.values()) if q.metric[i].rc == 0}

    def read(self):
        v = self.pipes()
        util, mem = self.number("UtilizationRates", kind=Util), self.number("MemoryInfo", kind=Memory)
        plain = {"power": ("PowerUsage", 1), "power_limit": ("EnforcedPowerLimit", 1), "power_default": ("PowerManagementDefaultLimit", 1)}
        for name, (call, per) in plain.items():
            n = self.number(call)
            v[name] = n and n.value * per
        for name, call in (("clock_sm", "ClockInfo"), ("clock_sm_max", "MaxClockInfo")):
            n = self.number(call, 1)
            v[name] = n and n.value * 1000000
        why = self.number("CurrentClocksThrottleReasons", kind=ctypes.c_ulonglong)
        v.update(util=util and util.gpu * 100, mem_used=mem and max(0, mem.used - self.empty), mem_total=mem and mem.total, throttle=None if why is None else why.value)
        return v


def cores(group):
    """CPU seconds of each process of a group."""
    got, hz = {}, os.sysconf("SC_CLK_TCK")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                v = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(v[2]) == group:
            got[pid] = (int(v[11]) + int(v[12])) / hz
    return got


# ---- a job ----

READY, STEPS, FLOP = 0, 8, 16  # doubles in the memory that it shares


def run_job(job, shared):
    """In a process of its own, for ever."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    main = os.getpid()
    step, begun = job.make(), time.time()
    for _ in range(3):
        step()
        torch.cuda.synchronize()
        if time.time() - begun > 1.5:
            break
    if job.counted:
        with FlopCounterMode(display=False) as count:
            step()
        struct.pack_into("d", shared, FLOP, float(count.get_total_flops()))
        step()
    torch.cuda.synchronize()
    n = 0
    if os.getpid() == main:
        struct.pack_into("d", shared, READY, 1.0)
    while True:
        step()
        n += 1
        if n % 4 == 0:
            torch.cuda.synchronize()
            if os.getpid() == main:
                struct.pack_into("d", shared, STEPS, float(n))


def start(work, log):
    """work in a child with a group of its own."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # the child must not return into the parent's code
        import traceback
        traceback.print_exc()
    os._exit(code)


def stop(pid):
    for call in (lambda: os.killpg(pid, signal.SIGKILL), lambda: os.waitpid(pid, 0)):
        try:
            call()
        except (ProcessLookupError, ChildProcessError):
            pass


def record(gpu, job, seconds, log):
    """Rows of METRICS, and counted TFLOP/s."""
    shared = mmap.mmap(-1, 4096)
    log.write(f"== {job.name}\n")
    log.flush()
    pid, begun, rows = start(lambda: run_job(job, shared), log), time.time(), []
    try:
        while not struct.unpack_from("d", shared, READY)[0]:
            if time.time() - begun > 30 or os.waitpid(pid, os.WNOHANG)[0]:
                return [], 0, time.time() - begun
            time.sleep(0.02)
        prepared = time.time() - begun
        gpu.begin()
        cpu, steps, first = cores(pid), struct.unpack_from("d", shared, STEPS)[0], time.time()
        for i in range(seconds):
            time.sleep(max(0, first + i + 1 - time.time()))
            v, now = gpu.read(), cores(pid)
            used = [now[p] - cpu.get(p, 0) for p in now]
            v.update(host_cpu=round(sum(used) * 1000), host_cpu_top=round(max(used, default=0) * 1000), at_ms=round(time.time() * 1000))
            cpu = now
            rows.append(v)
        rate = (struct.unpack_from("d", shared, STEPS)[0] - steps) / (time.time() - first)
        return rows, rate * struct.unpack_from("d", shared, FLOP)[0] / 1e12, prepared
    finally:
        stop(pid)
        until = time.time() + 4
        while time.time() < until and gpu.number("MemoryInfo", kind=Memory).used > gpu.empty + (200 << 20):
            time.sleep(0.05)


# ---- the estimate, kernel by kernel ----

MMA = r"""
#include <mma.h>
#include <cstdio>
#include <chrono>
using namespace nvcuda;
__global__ void work(float *out, int n) { /* mma.sync, as kernels built for Ampere use it */
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
    wmma::fill_fragment(a, __float2bfloat16(0.5f));
    wmma::fill_fragment(b, __float2bfloat16(0.25f));
    for (int j = 0; j < 4; j++)
        wmma::fill_fragment(c[j], 0.5f * j);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            wmma::mma_sync(c[j], a, b, c[j]);
    for (int j = 0; j < 4; j++)
        if (c[j].x[0] == 1.25f)
            out[threadIdx.x] = c[j].x[1];
}
int main() {
    float *out;
    cudaMalloc(&out, 4096);
    double flop = 0, s = 0;
    auto t0 = std::chrono::steady_clock::now();
    while (s < 5) {
        for (int k = 0; k < 20; k++, flop += 132.0 * 4 * 8 * 10000 * 4 * 8192)
            work<<<132 * 4, 256>>>(out, 10000);
        cudaDeviceSynchronize();
        s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    }
    printf("%.1f\n", flop / s / 1e12);
    return 0;
}
"""


def conv_cases(torch):
    """Name, function, operations of a call."""
    F = torch.nn.functional
    for dtype in (torch.bfloat16, torch.float32):
        torch.backends.cudnn.allow_tf32 = False
        for n, cin, cout, k, stride, side in ((256, 3, 64, 7, 2, 224), (256, 64, 64, 3, 1, 56), (256, 64, 256, 1, 1, 56), (256, 256, 64, 1, 1, 56), (256, 128, 128, 3, 1, 28), (256, 256, 256, 3, 1, 14),
                                              (256, 1024, 256, 1, 1, 14), (256, 512, 512, 3, 1, 7)):
            layout = torch.channels_last if dtype == torch.bfloat16 else torch.contiguous_format
            if dtype == torch.float32 and (k, cin) not in ((3, 64), (3, 256), (1, 1024)):
                continue
            x = torch.randn(n, cin, side, side, device="cuda", dtype=dtype).contiguous(memory_format=layout).requires_grad_(cin > 3)
            w = torch.randn(cout, cin, k, k, device="cuda", dtype=dtype).contiguous(memory_format=layout).requires_grad_()
            out = F.conv2d(x, w, None, stride, k // 2)
            flop = 2 * out.numel() * cin * k * k
            name = f"{str(dtype)[6:]} conv {k}x{k} {cin}->{cout} {side}x{side}"
            yield name + " forward", lambda: F.conv2d(x.detach(), w.detach(), None, stride, k // 2), flop
            grad = torch.randn_like(out)
            mask = [cin > 3, True, False]
            back = lambda: torch.ops.aten.convolution_backward(grad, x.detach(), w.detach(), None, [stride] * 2, [k // 2] * 2, [1, 1], False, [0, 0], 1, mask)
            yield name + " backward", back, flop * (2 if cin > 3 else 1)
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    yield "bfloat16 gemm 4096", lambda: a @ a, 2 * 4096 ** 3


def kernels(torch, call):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        call()
        torch.cuda.synchronize()
    return "; ".join(f"{e.key[:90]} {e.self_device_time_total:.0f} us" for e in sorted(p.key_averages(), key=lambda e: -e.self_device_time_total)[:4])


def estimate(gpu, out, name, seconds, work):
    """work(until) does it and returns operations a second."""
    clocks = []
    gpu.begin()
    rate = work(time.time() + seconds, lambda: clocks.append(gpu.number("ClockInfo", 1).value))
    v, clock = gpu.pipes(), sum(clocks) / max(1, len(clocks)) * 1e6
    tensor, fp32 = (132 * per * clock * v[m] / 1e4 / 1e12 for m, per in (("hmma_active", 4096), ("fp32_active", 256)))
    out.write(f"{name}: counted {rate / 1e12:.1f}, tensor says {tensor:.1f} ({tensor / max(rate / 1e12, 1e-9):.3f}), fp32 says {fp32:.1f} ({fp32 / max(rate / 1e12, 1e-9):.3f}); "
              f"{clock / 1e6:.0f} MHz; " + " ".join(f"{k} {x / 100:.1f}" for k, x in v.items() if not k.startswith("pcie")) + "\n")
    out.flush()


def measure_flops(out):
    import torch
    gpu, names = Gpu(), []

    def looped(call, flop):
        def work(until, tick):
            t0, n = time.time(), 0
            while time.time() < until:
                for _ in range(8):
                    call()
                torch.cuda.synchronize()
                n += 8
                tick()
            return n * flop / (time.time() - t0)
        return work
    for name, call, flop in conv_cases(torch):
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        estimate(gpu, out, name, 0.7, looped(call, flop))
        names.append(f"{name}: {kernels(torch, call)}\n")
    out.write("".join(names))
    tmp = tempfile.mkdtemp()
    with open(tmp + "/mma.cu", "w", encoding="utf-8") as f:
        f.write(MMA)
    subprocess.run(["nvcc", "-arch=sm_90", "-O2", "-o", tmp + "/mma", tmp + "/mma.cu"], check=True)

    def mma(until, tick):
        p = subprocess.Popen([tmp + "/mma"], stdout=subprocess.PIPE)
        time.sleep(2)
        gpu.begin()
        for _ in range(10):
            tick()
            time.sleep(0.1)
        mma.v = gpu.pipes()
        return float(p.communicate()[0]) * 1e12
    estimate(gpu, out, "mma.sync in registers (means below hold only for its last moment)", 3, mma)
    out.write(f"mma.sync while it ran: {mma.v}\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("jobs", nargs="*", metavar="JOB")
    p.add_argument("--seconds", type=int, default=8)
    p.add_argument("--within", type=int, default=540, help="seconds for all of it")
    p.add_argument("--flops", action="store_true")
    p.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)  # --flops, in a process of its own
    o = p.parse_args()
    if o.measure:
        with open(OUT + "/flops.txt", "w", encoding="utf-8") as out:
            measure_flops(out)
        return 0
    end = time.time() + o.within
    from jobs import JOBS
    gpu, failed = Gpu(), 0
    with open(OUT + "/log.txt", "w", encoding="utf-8") as log, open(OUT + "/verdicts.csv", "w", encoding="utf-8") as csv:
        csv.write("job,want,tflops,at_ms," + ",".join(METRICS) + "\n")
        for name in o.jobs or JOBS:
            if time.time() > end - o.seconds - 8 - 55 * o.flops:
                print("no time is left for", name)
                continue
            rows, tflops, prepared = record(gpu, JOBS[name], o.seconds, log)
            failed += not rows
            for v in rows:
                csv.write(f"{name},{JOBS[name].want},{tflops:.3f},{v['at_ms']}," + ",".join("" if v.get(m) is None else str(v[m]) for m in METRICS) + "\n")
            csv.flush()
            mean = {m: sum(v.get(m) or 0 for v in rows) / max(1, len(rows)) for m in METRICS}
            print(f"{name}: {'ready after' if rows else 'FAILED after'} {prepared:.1f} s; active {mean['active'] / 100:.0f} SM {mean['sm_active'] / 100:.0f} tensor {mean['tensor_active'] / 100:.0f} "
                  f"fp32 {mean['fp32_active'] / 100:.0f} memory {mean['dram_active'] / 100:.0f} cores {mean['host_cpu'] / 1000:.1f} {mean['host_cpu_top'] / 1000:.1f} PCIe {mean['pcie_rx'] / 1e6:.0f} MB/s "
                  f"{mean['power'] / 1000:.0f} W, {tflops:.1f} TFLOP/s", flush=True)
    if o.flops:
        subprocess.run([sys.executable, os.path.abspath(__file__), "--measure"], timeout=90, check=False)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
