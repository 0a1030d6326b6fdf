"""libmuster through ctypes beside a GPU job: see libmuster.sh. MUSTER_DEVICE_DRY=1 tries this script itself without a GPU."""
import ctypes
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

LIB, OUT, ROUND_S = sys.argv[1], sys.argv[2], float(sys.argv[3])
DRY = os.environ.get("MUSTER_DEVICE_DRY")
CHEAP = "total-mem,mem_used,mem-util,compute-util,power,temp,temp_mem,clock_sm,clock_mem,throttle,mem_reserved,mem_total"

L = ctypes.CDLL(os.path.abspath(LIB))


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("interval_us", ctypes.c_uint32), ("collector", ctypes.c_char_p), ("devices", ctypes.c_char_p),
                ("metrics", ctypes.c_char_p), ("mem_limit", ctypes.c_uint64), ("spill_dir", ctypes.c_char_p)]


class Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("interval_us", ctypes.c_uint32)] + [(n, ctypes.c_int64) for n in (
        "samples", "skipped", "failed", "spilled", "spilled_bytes", "dropped", "memory_bytes", "slowest_us")]


L.muster_count.restype = L.muster_read.restype = ctypes.c_int64
L.muster_read.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64] + [ctypes.POINTER(ctypes.c_double)] * 2 + [ctypes.c_void_p]
L.muster_cursor_wall.restype = L.muster_cursor_time.restype = ctypes.c_double
for f in ("muster_cursor_wall", "muster_cursor_time", "muster_cursor_next", "muster_cursor_close"):
    getattr(L, f).argtypes = [ctypes.c_void_p]
L.muster_version.restype = L.muster_device_name.restype = ctypes.c_char_p


class Sampler:
    def __init__(self, metrics=CHEAP, interval_us=10000):
        self.s, why = ctypes.c_void_p(), ctypes.create_string_buffer(400)
        o = Options(ctypes.sizeof(Options), interval_us, b"replay" if DRY else b"nvml", None, metrics.encode(), 0, OUT.encode())
        if L.muster_open(ctypes.byref(self.s), ctypes.byref(o), why, 400) < 0 or L.muster_start(self.s, why, 400) < 0:
            sys.exit("libmuster: " + why.value.decode())

    def stop(self):
        assert L.muster_stop(self.s) == 0, "the driver hangs"

    def column(self, name):
        n = L.muster_count(self.s)
        t, v = (ctypes.c_double * n)(), (ctypes.c_double * n)()
        assert L.muster_read(self.s, L.muster_metric_find(self.s, name.encode()), 0, 0, n, t, v, None) == n
        return list(t), list(v)

    def walls(self):
        c, out = ctypes.c_void_p(), []
        assert L.muster_cursor_open(self.s, ctypes.c_int64(0), ctypes.byref(c)) == 0
        while L.muster_cursor_next(c) == 1:
            out.append(L.muster_cursor_wall(c))
        L.muster_cursor_close(c)
        return out

    def stats(self):
        st = Stats(ctypes.sizeof(Stats))
        assert L.muster_stats(self.s, ctypes.byref(st)) == 0
        return st

    def csv(self, path):
        why = ctypes.create_string_buffer(400)
        assert L.muster_write_csv(self.s, path.encode(), why, 400) == 0, why.value

    def close(self):
        L.muster_close(self.s)


def pct(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, int(len(v) * p))]


def jobs_torch():
    import torch
    torch.manual_seed(1)
    dev = "cuda"
    net = torch.nn.Sequential(*[m for _ in range(12) for m in (torch.nn.Linear(256, 256), torch.nn.ReLU())]).to(dev)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    x = torch.randn(64, 256, device=dev)
    a, b = (torch.randn(8192, 8192, device=dev, dtype=torch.bfloat16) for _ in range(2))
    host = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(1 << 28, dtype=torch.uint8, device=dev)

    def train():  # some 100 small kernels a step: as sensitive to whoever holds the driver as a job can be
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()

    def matmul():
        a @ b

    def copy():
        there.copy_(host, non_blocking=True)

    def run(step, seconds, every):
        n, end = 0, time.perf_counter() + seconds
        begin = time.perf_counter()
        while time.perf_counter() < end:
            for _ in range(every):
                step()
            torch.cuda.synchronize()
            n += every
        return n / (time.perf_counter() - begin)

    def hold(gib):
        return torch.empty(int(gib * (1 << 30)), dtype=torch.uint8, device=dev).fill_(1)

    print(f"torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    return {"training steps/s (small kernels)": (lambda s: run(train, s, 50)), "bf16 8192 matmuls/s": (lambda s: run(matmul, s, 20)),
            "host to device GB/s": (lambda s: run(copy, s, 4) * (1 << 28) / 1e9)}, (lambda s: run(matmul, s, 20)), hold


def jobs_driver():
    """No PyTorch: kernels that spin, through the driver alone."""
    cu = ctypes.CDLL("libcuda.so.1")
    ptx = (b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry spin(.param .u64 n)\n{\n.reg .pred %p<2>;\n.reg .b64 %rd<5>;\n"
           b"ld.param.u64 %rd1, [n];\nmov.u64 %rd2, %clock64;\nAGAIN:\nmov.u64 %rd3, %clock64;\nsub.s64 %rd4, %rd3, %rd2;\n"
           b"setp.lt.s64 %p1, %rd4, %rd1;\n@%p1 bra AGAIN;\nret;\n}\n")

    def check(rc):
        if rc:
            sys.exit(f"CUDA driver: error {rc}")
    ctx, mod, fn = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cu.cuInit(0))
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0))
    check(cu.cuCtxSetCurrent(ctx))
    check(cu.cuModuleLoadData(ctypes.byref(mod), ptx))
    check(cu.cuModuleGetFunction(ctypes.byref(fn), mod, b"spin"))

    def run(cycles, seconds, every):
        arg = ctypes.c_uint64(cycles)
        args = (ctypes.c_void_p * 1)(ctypes.addressof(arg))
        n, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for _ in range(every):
                check(cu.cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, None, args, None))
            check(cu.cuCtxSynchronize())
            n += every
        return n / (time.perf_counter() - begin)

    def hold(gib):
        p = ctypes.c_void_p()
        check(cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(int(gib * (1 << 30)))))
        return p
    print("no PyTorch here: kernels of the driver's own")
    return {"small kernels/s": (lambda s: run(1000, s, 200)), "5 ms kernels/s": (lambda s: run(10000000, s, 4))}, (lambda s: run(10000000, s, 4)), hold


def jobs_dry():
    def run(seconds):
        n, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            sum(range(1000))
            n += 1
        return n / (time.perf_counter() - begin)
    return {"dry loops/s": run}, run, lambda gib: None


def find_jobs():
    if DRY:
        return jobs_dry()
    try:
        import torch
        if torch.cuda.is_available():
            return jobs_torch()
    except ImportError:
        pass
    return jobs_driver()


def intervals(s, title):
    t, _ = s.column("compute-util")
    d = [(b - a) * 1e3 for a, b in zip(t, t[1:])]
    st = s.stats()
    late = [abs(x - 10) for x in d]
    print(f"{title}: {st.samples} samples, intervals ms p1 {pct(d, .01):.3f} p50 {pct(d, .5):.3f} p99 {pct(d, .99):.3f} max {max(d):.3f}; "
          f"off 10 ms p99 {pct(late, .99):.3f}; skipped {st.skipped}, failed {st.failed}, slowest read {st.slowest_us} us")


def cost_idle():
    s = Sampler()
    time.sleep(1)
    cpu, wall = time.process_time(), time.monotonic()
    time.sleep(5)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    s.stop()
    intervals(s, "idle program")
    print(f"processor time of sampling 11 metrics every 10 ms: {100 * cpu / wall:.2f} % of a core, {1e6 * cpu / wall / 100:.1f} us a sample")
    s.close()


def slowdown(jobs, rounds=6):
    for name, job in jobs.items():
        job(2)  # warm
        rates = {"none": [], "3 metrics": [], "11 metrics": []}
        for r in range(rounds):
            order = list(rates) if r % 2 == 0 else list(rates)[::-1]
            for how in order:
                s = None if how == "none" else Sampler("total-mem,mem-util,compute-util" if how == "3 metrics" else CHEAP)
                rates[how].append(job(ROUND_S))
                if s:
                    s.stop()
                    if r == rounds - 1:
                        intervals(s, f"  beside {name}, {how}")
                    s.close()
        base = statistics.median(rates["none"])
        spread = (max(rates["none"]) - min(rates["none"])) / base * 100
        for how, v in rates.items():
            m = statistics.median(v)
            print(f"{name:36} {how:11} median {m:12.2f}  ({100 * (base - m) / base:+.2f} % slower than none; rounds of 'none' differ by {spread:.2f} %)")


def smi_lines(lines, proc):
    for line in proc.stdout:
        lines.append((time.time(), line.decode().strip()))


def agreement(busy, hold):
    q = "timestamp,memory.used,utilization.gpu,utilization.memory,power.draw,temperature.gpu,clocks.sm"
    lines = []
    smi = subprocess.Popen(["nvidia-smi", f"--query-gpu={q}", "--format=csv,noheader,nounits", "-lms", "250", "-i", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    threading.Thread(target=smi_lines, args=(lines, smi), daemon=True).start()
    s = Sampler()
    kept = []
    for k, phase in enumerate(("idle", "memory", "busy", "half", "idle again")):
        L.muster_label(s.s, b"job", str(k).encode())
        L.muster_label(s.s, b"tasks", phase.encode())
        if phase == "memory":
            for _ in range(4):
                kept.append(hold(2))
                time.sleep(1)
        elif phase == "busy":
            busy(6)
        elif phase == "half":
            for _ in range(6):
                busy(0.5)
                time.sleep(0.5)
        else:
            time.sleep(4)
    smi.terminate()
    smi.wait()
    s.stop()
    wall = s.walls()
    names = ("mem_used", "compute-util", "mem-util", "power", "temp", "clock_sm")
    scale = (1 << 20, 1, 1, 1, 1, 1e6)
    slack = (0.5, 0, 0, 2, 0, 0)  # rounding to MiB; watts
    cols = [s.column(n)[1] for n in names]
    good, n, worst = [0] * len(names), 0, [0.0] * len(names)
    for at, line in lines:
        cells = [c.strip() for c in line.split(",")]
        if len(cells) != 7 or not cells[1].isdigit():
            continue
        stamp = datetime.datetime.strptime(cells[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
        stamp = stamp if abs(stamp - at) < 5 else at  # another time zone there
        near = [i for i, w in enumerate(wall) if stamp - 0.3 <= w <= stamp + 0.1]
        if not near:
            continue
        n += 1
        for k, (c, v) in enumerate(zip(cols, cells[1:])):
            got = [c[i] / scale[k] for i in near if c[i] == c[i]]
            try:
                v = float(v)
            except ValueError:
                continue
            off = 0 if got and min(got) - slack[k] <= v <= max(got) + slack[k] else min(abs(g - v) for g in got) if got else float("inf")
            good[k] += off == 0
            worst[k] = max(worst[k], off)
    print(f"nvidia-smi every 250 ms, {n} readings; libmuster's samples from 0.3 s before to 0.1 s after each: nvidia-smi's value lies within them")
    for k, name in enumerate(names):
        print(f"  {name:13} {good[k]} of {n} ({100 * good[k] / max(n, 1):.1f} %), slack {slack[k]}, worst beyond {worst[k]:.2f}")
    s.csv(os.path.join(OUT, "h200.csv"))
    intervals(s, "the whole of it")
    with open(os.path.join(OUT, "nvidia-smi.csv"), "w") as f:
        f.writelines(f"{at:.3f},{line}\n" for at, line in lines)
    s.close()


def main():
    print(f"libmuster {L.muster_version().decode()}, python {sys.version.split()[0]}")
    if not DRY:
        print(subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip())
    cost_idle()
    jobs, busy, hold = find_jobs()
    slowdown(jobs, 2 if DRY else 6)
    if shutil.which("nvidia-smi"):
        agreement(busy, hold)


main()
