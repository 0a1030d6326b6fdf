"""The sampler and the Dask monitor on a machine with a GPU: two jobs of known size in a LocalCluster, and what was recorded of them beside what is known of them and what nvidia-smi says.

    python3 -m pip install -q --no-build-isolation --no-deps --target DIR ./python && PYTHONPATH=DIR python3 tests/device/cluster.py FOLDER

Needs PyTorch and distributed. Exits with 1 where a number is not what it must be.
"""
import csv
import json
import subprocess
import sys
import time

import muster
from distributed import Client, LocalCluster

from muster.dask import Monitor, custom_metric

GIB = 1 << 30
FAILED = []


def check(what, ok, shown):
    print(f"{'as it should be' if ok else 'WRONG':16} {what}: {shown}", flush=True)
    if not ok:
        FAILED.append(what)


def smi(field):
    return float(subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "-i", "0"], check=True, capture_output=True, text=True).stdout)


def hold(gib, seconds):
    """So much memory for so long, and the GPU busy all the while."""
    import torch
    held = torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(50):
            a = (a @ a).clamp(-1, 1)
        torch.cuda.synchronize()
    size = held.numel()
    del held, a
    torch.cuda.empty_cache()
    return size


@custom_metric("handle-watts")
def watts(worker, handle):
    import pynvml
    return pynvml.nvmlDeviceGetPowerUsage(handle) / 1000


def sampler_alone():
    with muster.Sampler(0.01, metrics=["total-mem", "compute-util", "power", "temp"]) as s:
        time.sleep(2)
        times, power = s.read("power")
        rate = (len(times) - 1) / (times[-1] - times[0])
        s.stop()
        check("samples a second at 10 ms", 95 < rate < 101, f"{rate:.1f}")
        check("power against nvidia-smi, W", abs(power[-1] - smi("power.draw")) < 30, f"{power[-1]:.1f} and {smi('power.draw'):.1f}")
        check("a GPU is there", len(s.devices) >= 1, s.devices[0]["name"])


def monitored(folder):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            client.run(hold, 1, 0.1)  # CUDA's own memory of the worker is there from here on
            monitor = Monitor(client)
            try:
                import pynvml  # noqa: F401
                custom = [watts]
            except ImportError:
                custom = []
            print("pynvml's handles:", "tried" if custom else "pynvml is not here, not tried")
            monitor.attach(job_type="manual", tracking=["total-mem", "compute-util", "power", "tasks"], custom_metrics=custom, polling_interval=20)
            monitor.start()
            time.sleep(1)
            for job, gib in enumerate((8, 24)):
                monitor.new_job(job)
                client.submit(hold, gib, 3, pure=False).result()
                time.sleep(0.5)
            monitor.stop()
            monitor.to_csv(folder)
            peaks = monitor.get_peaks("total-mem")
            busy = monitor.get_peaks("compute-util")
            monitor.shutdown()
    return peaks, busy


def read(folder):
    with open(f"{folder}/worker_0.csv", encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    with open(f"{folder}/worker_0.json", encoding="utf-8") as f:
        print("worker_0.json:", json.dumps(json.load(f))[:300])
    return rows


def main():
    folder = sys.argv[1]
    sampler_alone()
    peaks, busy = monitored(folder)
    print("peaks:", peaks, busy)
    rows = read(folder)
    base = float(rows[0]["total-mem"])
    for job, gib in enumerate((8, 24)):
        of = [r for r in rows if r["job"] == str(job)]
        top = max(float(r["total-mem"]) for r in of)
        check(f"job {job} took {gib} GiB", gib <= (top - base) / GIB < gib + 1, f"{(top - base) / GIB:.2f} GiB more than at the start")
        check(f"job {job} kept the GPU busy", max(float(r["compute-util"]) for r in of) >= 90, f"{max(float(r['compute-util']) for r in of):.0f} %")
        check(f"job {job}'s task is named", any("hold" in r["tasks"] for r in of), next((r["tasks"] for r in of if r["tasks"]), ""))
        check(f"job {job}'s peak as get_peaks says", top in [float(x) for w in peaks for x in w[job]], f"{top:.0f}")
    gaps = [float(b["timestamp"]) - float(a["timestamp"]) for a, b in zip(rows, rows[1:])]
    check("rows every 20 ms", 0.019 < sorted(gaps)[len(gaps) // 2] < 0.021, f"median {sorted(gaps)[len(gaps) // 2] * 1000:.1f} ms, worst {max(gaps) * 1000:.1f} ms, {len(rows)} rows")
    if rows and "handle-watts" in rows[0]:
        pairs = [(float(r["power"]), float(r["handle-watts"])) for r in rows if r["handle-watts"] and r["power"]]
        near = sum(abs(a - b) < 60 for a, b in pairs)
        check("pynvml's watts are ours", near > len(pairs) * 0.9, f"{near} of {len(pairs)} within 60 W")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
