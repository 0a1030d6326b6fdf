#!/usr/bin/python3
"""A month in one hub: does a question cost what is asked for, or what is stored?

`muster simulate --backfill` makes two pasts of the same cluster (104 GPUs on 13 nodes, every 10 s) that end at the same moment: one of a day, one of
30 days. A hub on each is asked the same questions over one keep-alive connection; then the larger one is asked for more and more.

    bench/month.py [--days 30] [--nodes 13] [--runs 3] [--json FILE]
"""
import argparse
import json
import re
import statistics
import subprocess
import time
from urllib.parse import urlencode

import lib

HOUR, DAY = 3600000, 86400000
UNTIL = int(time.time()) // 86400 * DAY  # today's midnight: every bucket of the store is over


def make(path, days, nodes):
    t0 = time.monotonic()
    out = subprocess.run([lib.MUSTER, "simulate", "--backfill", f"{days}d", "--every", "10s", "--until", str(UNTIL), "--nodes", str(nodes), "--gpus", "8", "--data", path],
                         check=True, stderr=subprocess.PIPE).stderr.decode()
    samples = int(re.findall(r"(\d+) samples in", out)[-1])
    took, before = time.monotonic() - t0, lib.disk_bytes(path)
    cpu, peak = lib.settle(path)
    return {"samples": samples, "took": took, "settle_cpu": cpu, "settle_peak": peak, "bytes": lib.disk_bytes(path), "before": before}


def hub(path):
    t0 = time.monotonic()
    s = lib.Server([lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", path, "--keep-raw", "0"], r"http://127\.0\.0\.1:(\d+)")
    s.port, s.start_s = int(s.match.group(1)), time.monotonic() - t0
    return s


def history(metric, back, **q):
    """The last `back` ms; gone: as it was so long before that."""
    to = UNTIL - q.pop("gone", 0)
    return "/api/v1/history?" + urlencode({"metric": metric, "from": to - back, "to": to, **q})


def same():
    """Asked of both."""
    over = {"group": "node", "fold": "sum", "agg": "sum", "step": "1h"}
    return {
        "one device, one metric, 10 min at 10 s": history("util", HOUR // 6, device="sim5:3", step="10s"),
        "one device, one metric, a day at 10 s": history("util", DAY, device="sim5:3", step="10s"),
        "mean utilisation per host, 60 s steps, 1 h, from samples": history("util", HOUR, group="node", step="60s", tier="raw"),
        "the same from kept minutes": history("util", HOUR, group="node", step="60s"),
        "power per host, a day, from kept hours": history("power", DAY, **over),
        "all metrics per host, a day, from samples": history("*", DAY, tier="raw", **over),
        "all metrics per host, a day, from kept hours": history("*", DAY, **over),
        "the whole cluster as it was an hour before the end": f"/api/v1/state?at={UNTIL - HOUR}",
    }


def more(days):
    """Asked of the larger one only: older, and longer."""
    over = {"group": "node", "fold": "sum", "agg": "sum", "step": "1h"}
    out = {f"one device, one metric, 10 min at 10 s, {days // 2} days back": history("util", HOUR // 6, device="sim5:3", step="10s", gone=days // 2 * DAY)}
    out[f"the whole cluster as it was {days // 2} days back"] = f"/api/v1/state?at={UNTIL - days // 2 * DAY}"
    for n in sorted({1, min(7, days), days}):
        out[f"power per host, {n} days, from kept hours"] = history("power", n * DAY, **over)
    for n in sorted({1, min(7, days), days}):
        out[f"one device, one metric, {n} days, 1 h steps, from samples"] = history("util", n * DAY, device="sim5:3", step="1h", tier="raw")
    for n in sorted({1, min(7, days), days}):
        out[f"all metrics per host, {n} days, from kept hours"] = history("*", n * DAY, **over)
    return out


def ask_all(server, questions, runs):
    asker, got = lib.Asker(server.port), {}
    for what, path in questions.items():
        try:
            if "tier=raw" in path and b'"tier":"raw"' not in asker.get(path)[:200]:
                raise SystemExit("the hub did not read samples")
            v = [lib.timed(lambda: asker.get(path), server.pid, 3, 0.5) for _ in range(runs)]
            got[what] = {k: statistics.median(x[k] for x in v) for k in v[0]}
        except SystemExit as e:
            print(f"{what}: {e}", flush=True)
    return got


def cell(v):
    return f"{v['ms']:.3g} ({v['cpu_ms']:.3g})" if v else "-"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--days", type=int, default=30)
    p.add_argument("--nodes", type=int, default=13)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--json")
    args = p.parse_args()
    made, answers, mem = {}, {}, {}
    with lib.folder() as path:
        for days in (1, args.days):
            made[days] = m = make(f"{path}/{days}", days, args.nodes)
            with hub(f"{path}/{days}") as server:
                answers[days] = ask_all(server, same(), args.runs)
                if days == args.days:
                    longer = ask_all(server, more(days), args.runs)
                mem[days] = lib.memory_mb(server.pid)
                m["start_s"] = server.start_s
            print(f"{days} days: {m['samples'] / 1e6:.0f} million samples made in {m['took']:.0f} s, {m['bytes'] / m['samples']:.3f} B/sample ({m['bytes'] / 1e6:.0f} MB) after "
                  f"{m['settle_cpu']:.1f} s CPU of merging; hub ready after {m['start_s']:.2f} s, resident {mem[days][0]:.0f} MB, peak {mem[days][1]:.0f} MB", flush=True)
    if args.json:
        with open(args.json, "a", encoding="utf-8") as f:
            f.write(json.dumps({"made": made, "answers": answers, "longer": longer, "memory": mem}) + "\n")
    print(f"\n| question: wall ms (hub CPU ms) | 1 day stored | {args.days} days stored | CPU ratio |\n| --- | --- | --- | --- |")
    for q, a in answers[1].items():
        b = answers[args.days].get(q)
        print(f"| {q} | {cell(a)} | {cell(b)} | {b['cpu_ms'] / a['cpu_ms']:.2f} |" if b else f"| {q} | {cell(a)} | - | |")
    print(f"\n| asked of {args.days} days: wall ms (hub CPU ms) | |\n| --- | --- |")
    for q, v in longer.items():
        print(f"| {q} | {cell(v)} |")


if __name__ == "__main__":
    main()
