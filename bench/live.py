#!/usr/bin/python3
"""Hub CPU per million samples, live and durable, beside VictoriaMetrics taking the same rate in the same run.

125 hosts x 8 GPUs at 1 s, each host one POST per second (and per 5 s), arriving evenly. muster acknowledges after its commit; VictoriaMetrics
answers before anything is on disk, so the comparison favours it. Server CPU is what the kernel counted for the server's process alone.

    bench/live.py [seconds=60] [runs=1]
"""
import http.client
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time

import lib

HOSTS, GPUS = 125, 8
NAMES = ["util", "mem_util", "mem_used", "mem_reserved", "mem_total", "temp", "temp_mem", "power", "power_limit", "energy", "clock_sm", "clock_mem", "throttle", "pstate",
         "pcie_rx", "pcie_tx", "pcie_gen", "pcie_width", "pcie_replay", "enc", "dec", "ecc_corrected", "ecc_uncorrected", "busy"]


def muster(seconds, interval):
    with lib.hub() as hub:
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(HOSTS), "--gpus", str(GPUS), "--interval", interval]
        with lib.Server(sim + ["--duration", "600s"]) as load:
            time.sleep(8)  # tokens are minted, files are open
            made0 = progress(load)  # each right after a line of the simulator's: samples and CPU of the same interval
            before, t0 = lib.cpu_s(hub.pid), time.monotonic()
            time.sleep(seconds)
            made1 = progress(load)
            cpu, took = lib.cpu_s(hub.pid) - before, time.monotonic() - t0
            rss, peak, private = lib.memory_mb(hub.pid)
            samples = made1 - made0
            return {"what": f"muster, POST every {interval}", "samples": samples, "cpu": cpu, "rate": samples / took, "took": took, "rss": rss, "peak": peak, "private": private}


def progress(load):
    """Samples made so far, from the simulator's own lines; waits for a fresh one."""
    seen = len(load.lines)
    end = time.monotonic() + 15
    while time.monotonic() < end:
        for line in load.lines[seen:]:
            m = re.search(r"(\d+) samples", line)
            if m:
                return int(m.group(1))
        time.sleep(0.05)
    raise SystemExit("the simulator says nothing:\n" + "\n".join(load.lines[-5:]))


def victoria(seconds):
    binary = shutil.which("victoria-metrics")
    if not binary:
        return None
    port = 18428 + os.getpid() % 1000
    with lib.folder() as path, lib.Server([binary, f"-storageDataPath={path}/vm", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=1"]) as vm:
        lib.wait_http(port, "/health")
        stop, sent = threading.Event(), [0] * 4

        def bodies(host):
            """Twenty seconds of this host as influx lines, one per GPU with all its fields, as telegraf would send."""
            rng = random.Random(host)
            out = []
            for _ in range(20):
                rows = []
                for gpu in range(GPUS):
                    fields = ",".join(f"{n}={rng.randrange(100000)}" if i % 2 else f"{n}={700000 + i}" for i, n in enumerate(NAMES))
                    rows.append(f"muster,host=node{host:04d},gpu={gpu},uuid=GPU-{host:08x}-{gpu:04x} {fields}")
                out.append("\n".join(rows).encode())
            return out

        def sender(k):
            hosts = list(range(k, HOSTS, len(sent)))
            ready = {h: bodies(h) for h in hosts}
            conns = {h: http.client.HTTPConnection("127.0.0.1", port, timeout=20) for h in hosts}
            tick, start = 0, time.monotonic()
            while not stop.is_set():
                for i, h in enumerate(hosts):
                    late = start + tick + i / len(hosts) - time.monotonic()
                    if late > 0:
                        time.sleep(late)
                    conns[h].request("POST", "/write", ready[h][tick % 20])
                    conns[h].getresponse().read()
                    sent[k] += GPUS * len(NAMES)
                tick += 1

        threads = [threading.Thread(target=sender, args=(k,), daemon=True) for k in range(len(sent))]
        for t in threads:
            t.start()
        time.sleep(12)
        before, n0, t0 = lib.cpu_s(vm.pid), sum(sent), time.monotonic()
        time.sleep(seconds)
        n1, cpu = sum(sent), lib.cpu_s(vm.pid) - before
        rss, peak, private = lib.memory_mb(vm.pid)
        took = time.monotonic() - t0
        stop.set()
        for t in threads:
            t.join(5)
        return {"what": "VictoriaMetrics, POST every 1s", "samples": n1 - n0, "cpu": cpu, "rate": (n1 - n0) / took, "rss": rss, "peak": peak, "private": private}


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for _ in range(runs):
        rows = [r for r in (victoria(seconds), muster(seconds, "1s"), muster(seconds, "5s")) if r]
        base = rows[0]["cpu"] / rows[0]["samples"] if rows[0]["what"].startswith("Victoria") else None
        print(f"{'':32} {'samples/s':>10} {'CPU s per M':>12} {'of a core':>10} {'RSS MB':>8} {'peak':>6} {'ratio':>7}")
        for r in rows:
            per = r["cpu"] / r["samples"] * 1e6
            ratio = f"{base * 1e6 / per:6.1f}x" if base else "-"
            print(f"{r['what']:32} {r['rate']:10.0f} {per:12.3f} {r['cpu'] / r.get('took', seconds):9.2%} {r['rss']:8.1f} {r['peak']:6.1f} {ratio:>7}", flush=True)


if __name__ == "__main__":
    main()
