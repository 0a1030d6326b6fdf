#!/usr/bin/python3
"""What sampling costs a busy Dask worker, and how even it is: libmuster's thread against a Python loop in the worker's event loop.

    bench/dask_worker.py [ROUNDS]

A real scheduler and one worker with two threads that run pure Python without a pause. In each round the same work is done without sampling,
with the old loop every 200 ms (its default) and every 10 ms, and with muster every 10 ms; eight devices each. Slowdown is CPU time of the
whole worker process for the same work, against the same round without sampling: wall time on a shared machine says little.
"""
import os
import statistics
import sys
import tempfile
import time

import lib

sys.path.insert(0, os.path.join(lib.TOP, "python"))
sys.path.insert(0, os.path.join(lib.TOP, "bench"))
os.environ["MUSTER_LIB"] = os.path.join(lib.TOP, "build", "libmuster.so.0")

from distributed import Client  # noqa: E402

import dask_old  # noqa: E402
from muster.dask import Monitor  # noqa: E402

DEVICES, TASKS, LOOPS = 8, 120, 400_000
MODES = (("no sampling", None), ("old loop, 200 ms", 0.2), ("old loop, 10 ms", 0.01), ("muster, 10 ms", 0.01))


def work(loops):
    start, total = time.perf_counter(), 0
    for i in range(loops):
        total += i * i
    return time.perf_counter() - start


def process_cpu():
    return time.process_time()


def old_times(dask_worker=None):
    return list(dask_worker.plugins[dask_old.NAME].times)


def thread_cpu():
    """CPU seconds of the library's sampling thread so far."""
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm", encoding="utf-8") as f:
            if f.read() != "muster\n":
                continue
        with open(f"/proc/self/task/{task}/schedstat", encoding="utf-8") as f:
            return int(f.read().split()[0]) / 1e9
    return 0


def one(client, name, interval):
    """(CPU seconds of the worker's process, wall seconds per task, times of samples, CPU seconds of the sampling thread)."""
    monitor, times, thread = None, [], 0
    if name.startswith("old"):
        client.register_worker_plugin(dask_old.OldWay(interval, DEVICES), name=dask_old.NAME)
    elif interval:
        monitor = Monitor(client)
        monitor.attach(tracking=["total-mem", "mem-util", "compute-util"], polling_interval=interval * 1000, collector=f"replay:{DEVICES}")
        monitor.start()
    before = list(client.run(process_cpu).values())[0]
    walls = client.gather(client.map(work, [LOOPS] * TASKS, pure=False))
    cpu = list(client.run(process_cpu).values())[0] - before
    if name.startswith("old"):
        times = list(client.run(old_times).values())[0]
        client.unregister_worker_plugin(dask_old.NAME)
    elif monitor:
        thread = list(client.run(thread_cpu).values())[0]
        monitor.stop()
        times = monitor.request_metrics()[0]["timestamp"]
        monitor.shutdown()
    return cpu, statistics.median(walls), times, thread


def percentile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * q))]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    env = dict(os.environ, PYTHONPATH=os.path.join(lib.TOP, "python") + ":" + os.path.join(lib.TOP, "bench"), OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder, \
            lib.Server(["/usr/bin/dask-scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"], r"Scheduler at:\s+(tcp://\S+)", env) as scheduler:
        address = scheduler.match.group(1)
        with lib.Server(["/usr/bin/dask-worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "2", "--host", "127.0.0.1", "--memory-limit", "0",
                         "--local-directory", folder], "Registered to", env), Client(address) as client:
            one(client, *MODES[0])  # warm
            cpus, walls, gaps, counts, shares = ({name: [] for name, _ in MODES} for _ in range(5))
            for r in range(rounds):
                for name, interval in MODES[r % len(MODES):] + MODES[:r % len(MODES)]:
                    cpu, wall, times, thread = one(client, name, interval)
                    cpus[name].append(cpu)
                    walls[name].append(wall)
                    shares[name].append(thread / (times[-1] - times[0]) if thread else 0)
                    gaps[name] += [abs(b - a - interval) for a, b in zip(times, times[1:])] if interval else []
                    counts[name].append((len(times) - 1) * interval / (times[-1] - times[0]) if interval and len(times) > 1 else 0)
    print(f"{rounds} rounds of {TASKS} tasks ({statistics.median(cpus[MODES[0][0]]):.2f} s of CPU time without sampling), {DEVICES} devices\n")
    print("| | CPU time against none, median (least to most) | wall per task against none | interval off by: p50 | p99 | worst | samples of those due |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    base = MODES[0][0]
    for name, interval in MODES:
        ratios = [a / b for a, b in zip(cpus[name], cpus[base])]
        wall = statistics.median(walls[name]) / statistics.median(walls[base])
        jitter = " | ".join(f"{percentile(gaps[name], q) * 1000:.2f} ms" for q in (0.5, 0.99, 1)) if interval else "| |"
        due = f"{statistics.median(counts[name]) * 100:.1f} %" if interval else ""
        print(f"| {name} | {(statistics.median(ratios) - 1) * 100:+.2f} % ({(min(ratios) - 1) * 100:+.1f} to {(max(ratios) - 1) * 100:+.1f}) | {(wall - 1) * 100:+.1f} % | {jitter} | {due} |")
    print(f"\nmuster's sampling thread: {statistics.median(shares[MODES[3][0]]) * 100:.2f} % of a core")


if __name__ == "__main__":
    main()
