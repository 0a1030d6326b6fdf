#!/usr/bin/python3
"""Samples in ClickHouse: what sending them costs the hub and the server, and questions over all of them beside the hub's own store. Loopback only; minutes.

    bench/samples.py [--days 30] [--nodes 4] [--every 60s]
"""
import argparse
import json
import subprocess
import tempfile
import time
import urllib.request

import lib
import peers


def hub(folder, port, *flags):
    s = lib.Server([lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", folder, "--rotate", "5s", *flags])
    lib.wait_http(port, "/healthz")
    return s


def fill(folder, port, args):
    token = subprocess.run([lib.MUSTER, "token", "new", "--role", "enroll", "--data", folder], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    subprocess.run([lib.MUSTER, "simulate", "--backfill", f"{args.days}d", "--every", args.every, "--until", str(args.until), "--nodes", str(args.nodes), "--hub", f"http://127.0.0.1:{port}", "--token", token, "--quiet"], check=True)


QUESTIONS = {  # from samples all of them, none from kept hours
    "mean utilisation of all GPUs, hours": "device=*&metric=util&agg=avg&step=1h&group=all",
    "power per node, hours": "device=*&metric=power&agg=avg&step=1h&group=node&fold=sum",
    "one GPU's utilisation, hours": "device=sim1:0&metric=util&agg=avg&step=1h",
    "all metrics per node, days": "device=*&metric=*&agg=avg&step=1d&group=node",
}


def ask(port, query, days, hub, server):
    """The series, and of the middle of three: wall ms, CPU ms of the hub and of ClickHouse."""
    took, series = [], None
    for _ in range(3):
        was, began = (lib.cpu_ms(hub), lib.cpu_ms(server)), time.monotonic()
        series = json.loads(get(port, f"/api/v1/history?{query}&tier=raw&from=-{days}d"))["series"]
        took.append(((time.monotonic() - began) * 1000, lib.cpu_ms(hub) - was[0], lib.cpu_ms(server) - was[1]))
    return series, sorted(took, key=lambda t: t[1] + t[2])[1]


def same(a, b):
    """Do both have the same values, but for the first and last step, which the clock cuts where it is?"""
    cut = lambda v: {(s.get("node"), s.get("device"), s.get("metric")): s["v"][2:-2] for s in v}  # noqa: E731
    a, b = cut(a), cut(b)
    return a.keys() == b.keys() and all(len(a[k]) == len(b[k]) and all(x == y or (x is not None and y is not None and abs(x - y) <= 1e-6 * max(abs(x), abs(y), 1)) for x, y in zip(a[k], b[k])) for k in a)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as r:
        return r.read()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--days", type=int, default=30)
    p.add_argument("--every", default="60s")
    p.add_argument("--nodes", type=int, default=4)
    args = p.parse_args()
    args.until = int(time.time()) // 3600 * 3600  # the same past for both: counters begin where it does
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as top:
        click = peers.ClickHouseLz4(None, top + "/click")
        cost, answers = {}, {}
        with click.started() as server:
            for how in ("own store alone", "with ClickHouse"):
                port, folder = lib.free_port(), f"{top}/{how[0]}"
                flags = ["--keep-raw", "400d"] if how.startswith("own") else ["--samples", f"clickhouse://default@127.0.0.1:{click.port}/default", "--keep-raw", "1d"]
                before = lib.cpu_s(server.pid)
                with hub(folder, port, *flags) as h:
                    fill(folder, port, args)
                    time.sleep(20)  # logs are sealed, compacted, sent
                    cost[how] = lib.cpu_s(h.pid), lib.cpu_s(server.pid) - before
                    answers[how] = {q: ask(port, query, args.days, h.pid, server.pid) for q, query in QUESTIONS.items()}
            columns = click.sql("SELECT name FROM system.columns WHERE table = 'muster_sample' AND type LIKE 'Nullable%' FORMAT TSV").decode().split()
            n = sum(int(click.sql(f"SELECT count(`{c}`) FROM muster_sample FINAL")) for c in columns) / 1e6  # all at once take more memory than 18.16 allows
        print(f"{n:.1f} million samples; CPU seconds for a million: hub {cost['own store alone'][0] / n:.3f} alone, {cost['with ClickHouse'][0] / n:.3f} with ClickHouse, which takes {cost['with ClickHouse'][1] / n:.3f}")
        rows = []
        for q in QUESTIONS:
            (own, a), (far, b) = answers["own store alone"][q], answers["with ClickHouse"][q]
            rows.append([q, f"{a[0]:.0f} ({a[1]:.0f})", f"{b[0]:.0f} ({b[1]:.0f} + {b[2]:.0f})", f"{(b[1] + b[2]) / a[1]:.1f}", "yes" if same(own, far) else "NO"])
        peers.table([f"{args.days} days, from samples: wall ms (CPU ms)", "own store", "from ClickHouse (hub + server)", "CPU, times", "the same answer"], rows)


if __name__ == "__main__":
    main()
