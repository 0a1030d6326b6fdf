#!/usr/bin/python3
"""What questions cost through HTTP: CPU of the hub per request, beside the goals of the design.

Fills a folder with the generated set (build/bench/history: 1,000 GPUs on 125 hosts x 30 metrics x 10 minutes at 1 s, compacted), starts a hub on
it and asks over one keep-alive connection; CPU is what the kernel counted for all threads of the hub. Then the same while everything is
still in the log (what a hub has of its last minutes), and the state of now with simulated nodes. With wrk installed, the small questions are asked
by it too.

    bench/query.py [gpus=1000] [seconds=600] [only=WORD]
"""
import http.client
import os
import statistics
import subprocess
import sys
import time

import lib

ARGS = dict(a.split("=", 1) for a in sys.argv[1:])
GPUS, SECONDS, ONLY = int(ARGS.get("gpus", 1000)), int(ARGS.get("seconds", 600)), ARGS.get("only", "")
FILL = os.path.join(lib.TOP, "build", "bench", "history")
METRICS = ("util,mem_util,enc,dec,mem_used,fb_free_mib,mem_reserved,bar1_used_mib,temp,temp_mem,power,power_limit,energy,clock_sm,clock_mem,video_clock_mhz,pcie_tx,pcie_rx,"
           "pcie_replay,nvlink_tx,nvlink_rx,ecc_corrected,ecc_uncorrected,rows_remapped,xid_last,throttle,pstate,fan,sm_active,tensor_active")
ROWS = []


def cpu_us(pid):
    """CPU of all threads, to the nanosecond the scheduler counts in."""
    total = 0
    for t in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{t}/schedstat", encoding="utf-8") as f:
            total += int(f.read().split()[0])
    return total / 1000


def ask(conn, path, headers):
    conn.request("GET", path, headers=headers)
    r = conn.getresponse()
    body = r.read()
    if r.status != 200:
        raise SystemExit(f"{path}: {r.status} {body[:300]}")
    return body


def measure(hub, what, path, goal_us, rounds, gzip=False, fresh=None):
    """The median over five passes of `rounds` requests each; fresh() before each request makes the answer a new one."""
    if ONLY not in ("", "history") and ONLY not in what:
        return
    conn = http.client.HTTPConnection("127.0.0.1", hub.port)
    headers = {"Accept-Encoding": "gzip"} if gzip else {}
    body = ask(conn, path, headers)
    ask(conn, path, headers)
    costs, walls = [], []
    for _ in range(5):
        before, t0 = cpu_us(hub.pid), time.perf_counter()
        for _ in range(rounds):
            if fresh:
                fresh()
            ask(conn, path, headers)
        costs.append((cpu_us(hub.pid) - before) / rounds)
        walls.append((time.perf_counter() - t0) / rounds * 1e6)
    row(what, statistics.median(costs), statistics.median(walls), len(body), goal_us)


def row(what, cpu, wall, size, goal_us):
    ROWS.append((what, cpu, wall, size, goal_us))
    print(f"{what:66} {cpu:10.0f} us CPU {wall:10.0f} us {size / 1000:9.1f} kB   goal {goal_us or '-':>6}  {'' if not goal_us else 'ok' if cpu <= goal_us else 'MISSED'}", flush=True)


def wrk(hub, what, path, goal_us):
    if ONLY not in ("", "history") and ONLY not in what:
        return
    got = lib.wrk(hub.port, path, hub.pid)
    row(f"{what} (32 connections)", got["cpu_ms"] * 1000, 1e6 / got["rate"], 0, goal_us)


class Filled:
    """A hub on a folder that was filled before it started."""

    def __init__(self, path, *more):
        out = subprocess.run([FILL, str(GPUS), str(SECONDS), path, *more], check=True, stdout=subprocess.PIPE).stdout.decode().split()
        self.start, self.end = int(out[-3]), int(out[-1])
        self.server = lib.Server([lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", path], r"http://127\.0\.0\.1:(\d+)")
        self.pid, self.port = self.server.pid, int(self.server.match.group(1))
        time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()


def history(hub, when):
    span, every = f"from={hub.start}&to={hub.end}", "group=node&step=60000ms"
    ten = f"from={hub.end - 600000}&to={hub.end}"
    settled = when == "compacted"
    measure(hub, f"{when}: one device, one metric, 10 min raw", f"/api/v1/history?device=node0017:3&metric=power&{ten}&step=1s", 60 if settled else None, 200 if settled else 50)
    measure(hub, f"{when}: one device, one metric, 10 min raw, gzip", f"/api/v1/history?device=node0017:3&metric=power&{ten}&step=1s", None, 100 if settled else 50, gzip=True)
    wrk(hub, f"{when}: one device, one metric, 10 min raw", f"/api/v1/history?device=node0017:3&metric=power&{ten}&step=1s", 60 if settled else None)
    measure(hub, f"{when}: mean utilisation per host, 60 s, raw", f"/api/v1/history?metric=util&{span}&{every}&tier=raw", 3000 if settled else None, 10 if settled else 3)
    if settled:
        measure(hub, f"{when}: mean utilisation per host, 60 s, tier", f"/api/v1/history?metric=util&{span}&{every}", 200, 20)
        measure(hub, f"{when}: power per host over everything, tier", f"/api/v1/history?metric=power&{span}&group=node&fold=sum&step={hub.end - hub.start}ms&tier=minute", 200, 20)
    measure(hub, f"{when}: all metrics per host, 60 s, raw", f"/api/v1/history?metric={METRICS}&{span}&{every}&agg=avg&tier=raw", 45000 if settled else None, 2)
    if settled:
        measure(hub, f"{when}: all metrics per host, 60 s, tiers", f"/api/v1/history?metric={METRICS}&{span}&{every}&agg=avg", 2000, 5)
    at = hub.end - 90000
    measure(hub, f"{when}: state of the cluster at a time, two minutes read", f"/api/v1/state?at={at}", None, 1)
    measure(hub, f"{when}: state of one node at a time", f"/api/v1/state?at={at}&node=node0017", None, 10)


def now():
    with lib.hub() as hub:
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(GPUS // 8), "--gpus", "8"]
        with lib.Server(sim + ["--duration", "8s"]):
            time.sleep(12)
        # Nothing comes in any more; a new second makes a new rendering, so that what is counted is the making.
        second = lambda: time.sleep(1.01 - time.time() % 1)
        measure(hub, "now: newest value of everything, made anew", "/api/v1/state", 1000, 3, fresh=second)
        measure(hub, "now: newest value of everything, made anew, gzip", "/api/v1/state", None, 3, gzip=True, fresh=second)
        measure(hub, "now: newest value of everything, shared rendering", "/api/v1/state", None, 30)
        measure(hub, "now: state of one node", "/api/v1/state?node=sim17", 25, 500)
        wrk(hub, "now: state of one node", "/api/v1/state?node=sim17", 25)
        measure(hub, "now: state of one node, gzip", "/api/v1/state?node=sim17", None, 500, gzip=True)


def main():
    with lib.folder() as path:
        if not ONLY or "compacted" in ONLY or ONLY == "history":
            with Filled(path + "/settled") as hub:
                history(hub, "compacted")
                print("resident, peak, private MB:", " ".join(f"{v:.1f}" for v in lib.memory_mb(hub.pid)))
        if not ONLY or "log" in ONLY or ONLY == "history":
            with Filled(path + "/fresh", "fresh") as hub:
                history(hub, "in the log")
                print("resident, peak, private MB:", " ".join(f"{v:.1f}" for v in lib.memory_mb(hub.pid)))
    if not ONLY or "now" in ONLY:
        now()
    print("\n| question | CPU per request | goal | wall | answer |\n| --- | --- | --- | --- | --- |")
    for what, cpu, wall, size, goal in ROWS:
        print(f"| {what} | {cpu:.0f} us | {f'{goal} us, {chr(114)}eached' if goal and cpu <= goal else f'{goal} us, **missed**' if goal else ''} | {wall:.0f} us | {size / 1000:.1f} kB |")


if __name__ == "__main__":
    main()
