#!/usr/bin/env python3
"""The whole agent on a machine with a GPU: a real job, values beside nvidia-smi's, busy-seconds beside a 100 ms reference, and what the agent costs.

    make agent && python3 tests/device/agent.py [SECONDS=120]

Needs gcc, the driver, libzstd's development files; a stand-in hub (tests/kit/fakehub.py) takes the batches.
"""
import collections
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "kit"))
import fakehub  # noqa: E402
import lib  # noqa: E402

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120
IDLE = 20  # seconds before and after the job: the driver's buffer is read every few seconds


def smaps(pid):
    out = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        for line in f:
            m = re.match(r"(\w+):\s+(\d+) kB", line)
            if m:
                out[m.group(1)] = int(m.group(2))
    return out["Rss"], out["Pss"], out["Private_Clean"] + out["Private_Dirty"], out["Private_Dirty"]


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        v = f.read().rsplit(")", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return [int(x) for x in f.read().split()]


class Reference(threading.Thread):
    """Utilisation read every 100 ms straight from NVML, summed up: what busy-seconds must agree with."""

    class Util(ctypes.Structure):
        _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]

    def __init__(self):
        super().__init__(daemon=True)
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        assert self.nvml.nvmlInit_v2() == 0
        self.dev = ctypes.c_void_p()
        assert self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.dev)) == 0
        self.busy, self.n, self.stop = 0.0, 0, threading.Event()

    def run(self):
        last = time.monotonic()
        u = self.Util()
        while not self.stop.is_set():
            time.sleep(max(0, last + 0.1 - time.monotonic()))
            now = time.monotonic()
            if self.nvml.nvmlDeviceGetUtilizationRates(self.dev, ctypes.byref(u)) == 0:
                self.busy += u.gpu / 100 * (now - last)
                self.n += 1
            last = now


def smi():
    fields = "utilization.gpu,memory.used,temperature.gpu,power.draw,clocks.sm,clocks.mem,pstate,pcie.link.gen.current,pcie.link.width.current"
    out = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    return time.time(), dict(zip(fields.split(","), (x.strip() for x in out.split(","))))


def main():
    tmp = tempfile.mkdtemp(prefix="muster-device-")
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", '-DMUSTER_VERSION="device"', "-Isrc", "-pthread"]
    src = [os.path.join(d, f) for d in ("src/base", "src/model", "src/codec", "src/wire") for f in sorted(os.listdir(os.path.join(TOP, d))) if f.endswith(".c")]
    os.makedirs(os.path.join(tmp, "tool"))
    subprocess.run(["gcc", *flags, "-o", tmp + "/tool/wiredump", "tests/tool/wiredump.c", *src, "-levent_core", "-lzstd", "-lm"], cwd=TOP, check=True)
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-std=gnu11", "-o", tmp + "/load", "tests/device/load.c", "-ldl"], cwd=TOP, check=True)
    lib.BIN = tmp
    with open(tmp + "/token", "w", encoding="utf-8") as f:
        f.write("mst_device")
    os.chmod(tmp + "/token", 0o600)
    agent_path = os.path.join(TOP, "build", "muster-agent")
    print(f"binary: {os.path.getsize(agent_path)} bytes")
    with fakehub.FakeHub() as hub:
        agent = lib.Process([agent_path, "--hub", hub.url, "--token-file", tmp + "/token", "--state-dir", tmp + "/state", "--log-level", "info"])
        lib.wait_until("first batch", lambda: hub.stored)
        time.sleep(3)
        pids = {"parent": agent.p.pid, "child": children(agent.p.pid)[0]}
        ref = Reference()
        ref.start()
        t0 = time.monotonic()
        cpu0 = {k: cpu_s(p) for k, p in pids.items()}
        idle_cpu0 = dict(cpu0)
        time.sleep(IDLE)
        idle_cpu = {k: cpu_s(p) - idle_cpu0[k] for k, p in pids.items()}
        job = subprocess.Popen([tmp + "/load", str(SECONDS), "4096", "60", "700"], stdout=subprocess.PIPE)
        readings = []
        for _ in range(max(1, SECONDS // 10)):
            time.sleep(10)
            readings.append(smi())
        job_out = job.communicate()[0].decode().strip()
        time.sleep(IDLE)
        took = time.monotonic() - t0
        cpu = {k: cpu_s(p) - cpu0[k] for k, p in pids.items()}
        mem = {k: smaps(p) for k, p in pids.items()}
        ref.stop.set()
        ref.join()
        status = agent.stop()
        stream = b"MUST\x01" + b"".join(hub.blobs.values()) + b"".join(hub.stored[k] for k in hub.order)
    frames = fakehub.dump(stream)
    if os.environ.get("OUT"):
        with open(os.environ["OUT"] + "/stream.bin", "wb") as f:
            f.write(stream)
        with open(os.environ["OUT"] + "/agent.log", "w", encoding="utf-8") as f:
            f.write(agent.text)

    series = collections.defaultdict(dict)  # metric -> {ms: value} of the first GPU
    users = set()
    for fr in frames:
        if fr.get("type") == "procs":
            for p in fr.get("procs", []):
                users.add((p.get("user"), p.get("name"), p.get("pid")))
        for c in fr.get("columns", []):
            if c["slot"] == 1:
                for ms, v in zip(fr["at_ms"], c["v"]):
                    if v is not None:
                        series[c.get("name", c["metric"])][ms] = v
    print(f"agent ended with {status}; {len(frames)} frames; metrics of the GPU: {', '.join(sorted(map(str, series)))}")
    print(f"job: {job_out}; seen as {sorted(map(str, users))}")
    scale = {"utilization.gpu": ("util", 100), "memory.used": ("mem_used", 1 << 20), "temperature.gpu": ("temp", 1000), "power.draw": ("power", 1000), "clocks.sm": ("clock_sm", 1000000),
             "clocks.mem": ("clock_mem", 1000000), "pcie.link.gen.current": ("pcie_gen", 1), "pcie.link.width.current": ("pcie_width", 1)}
    for field, (name, per) in scale.items():
        rows = []
        for at, got in readings:
            near = [(abs(ms / 1000 - at), v) for ms, v in series.get(name, {}).items()]
            if near and got[field].replace(".", "").isdigit():
                rows.append((float(got[field]), min(near)[1] / per))
        print(f"{field:28} nvidia-smi / agent: " + "  ".join(f"{a:g}/{b:.4g}" for a, b in rows[:8]))
    busy = series.get("busy", {})
    if busy:
        first, last = busy[min(busy)], busy[max(busy)]
        print(f"busy-seconds: agent {(last - first) / 1e6:.2f}, reference {ref.busy:.2f} ({ref.n} readings at 100 ms), difference {((last - first) / 1e6 / ref.busy - 1):+.2%}")
    for k in pids:
        rss, pss, private, dirty = mem[k]
        print(f"{k}: resident {rss / 1024:.1f} MB, proportional {pss / 1024:.1f} MB, private {private / 1024:.1f} MB ({dirty / 1024:.1f} MB of it written, the rest pages of libraries nobody else uses); CPU {cpu[k] / took:.3%} of a core ({idle_cpu[k] / IDLE:.3%} while idle)")
    print(f"both: proportional {sum(m[1] for m in mem.values()) / 1024:.1f} MB, private {sum(m[2] for m in mem.values()) / 1024:.1f} MB ({sum(m[3] for m in mem.values()) / 1024:.1f} MB written), CPU {sum(cpu.values()) / took:.3%} of a core")


if __name__ == "__main__":
    main()
