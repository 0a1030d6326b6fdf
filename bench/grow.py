#!/usr/bin/python3
"""How cost grows: nodes x days x questions, and the exponent of each.

`muster simulate --backfill` makes pasts of different sizes; a hub on each is asked the same questions over one keep-alive connection. The exponent is that
of a straight line through the logarithms: 0 says that the size does not matter, 1 that twice as much costs twice as much. What is asked for grows by what
stands beside it; nothing may grow faster. A fixed part of every request makes small questions look flatter than they are: the last column has the CPU.

    bench/grow.py [--nodes 5,15,45] [--days 1,3,9] [--every 60s] [--json FILE]
"""
import argparse
import json
import math
import subprocess
import time
from urllib.parse import urlencode

import lib

MINUTE, HOUR, DAY = 60000, 3600000, 86400000
UNTIL = int(time.time()) // 86400 * DAY  # today's midnight: every bucket of the store is over
SLACK = 0.2  # a line through three sizes on a busy machine is no better than that


def history(metric, back, **q):
    return "/api/v1/history?" + urlencode({"metric": metric, "from": UNTIL - back, "to": UNTIL, **q})


def questions(days):
    """Each: what, path, whether what is asked for grows with the nodes, and with the days."""
    over = {"group": "node", "fold": "sum", "agg": "sum", "step": "1h"}
    return [
        ("one GPU, one metric, an hour of samples", history("util", HOUR, device="sim3:3", step="60s", tier="raw"), 0, 0),
        ("one GPU, one metric, all samples", history("util", days * DAY, device="sim3:3", step="1h", tier="raw"), 0, 1),
        ("one GPU, one metric, all hours", history("util", days * DAY, device="sim3:3", step="1h"), 0, 1),
        ("utilisation per node, an hour of samples", history("util", HOUR, group="node", step="60s", tier="raw"), 1, 0),
        ("power per node, all hours", history("power", days * DAY, **over), 1, 1),
        ("every metric per node, a day of samples", history("*", DAY, tier="raw", **over), 1, 0),
        ("every metric per node, all hours", history("*", days * DAY, **over), 1, 1),
        ("the cluster as it was an hour before the end", f"/api/v1/state?at={UNTIL - HOUR}", 1, 0),
        ("one node as it was then", f"/api/v1/state?at={UNTIL - HOUR}&node=sim3", 0, 0),
        ("the state of everything now", "/api/v1/state", 1, 0),
        ("the state of one node now", "/api/v1/state?node=sim3", 0, 0),
        ("usage by person, everything", f"/api/v1/usage?by=person&from={UNTIL - days * DAY}&to={UNTIL}", 1, 1),
        ("free GPUs, by a filter", "/api/v1/state?q=" + "free%20model:h200", 1, 0),
    ]


def measure(path, nodes, days, every):
    subprocess.run([lib.MUSTER, "simulate", "--backfill", f"{days}d", "--every", every, "--until", str(UNTIL), "--nodes", str(nodes), "--gpus", "8", "--data", path], check=True, stderr=subprocess.DEVNULL)
    lib.settle(path)
    got = {}
    with lib.Server([lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", path, "--keep-raw", "0", *lib.OLD_IS_FINE], r"http://127\.0\.0\.1:(\d+)") as hub:
        port = int(hub.match.group(1))
        lib.wait_http(port, "/readyz")
        got["the hub's start"] = lib.cpu_ms(hub.pid)
        asker = lib.Asker(port)
        lib.quiet(hub.pid, 120)  # usage of these days is counted
        for what, ask, _, _ in questions(days):
            if ask == "/api/v1/state":
                got[what] = lib.timed(lambda a=ask: asker.get(a), hub.pid, 4, 0, lib.new_second)["cpu_ms"]  # made anew each second
                continue
            got[what] = min(lib.timed(lambda a=ask: asker.get(a), hub.pid, 3, 0.3)["cpu_ms"] for _ in range(2))
        got["memory, MB"] = lib.memory_mb(hub.pid)[0]
    return got


def exponent(sizes, costs):
    x, y = [math.log(v) for v in sizes], [math.log(max(v, 1e-6)) for v in costs]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--nodes", default="5,15,45")
    p.add_argument("--days", default="1,3,9")
    p.add_argument("--every", default="60s")
    p.add_argument("--json")
    args = p.parse_args()
    nodes, days = ([int(v) for v in w.split(",")] for w in (args.nodes, args.days))
    cost = {}
    for n, d in sorted({(n, days[-1]) for n in nodes} | {(nodes[-1], d) for d in days}):
        with lib.folder() as path:
            t0 = time.monotonic()
            cost[n, d] = measure(path + "/data", n, d, args.every)
            print(f"{n} nodes, {d} days: {time.monotonic() - t0:.0f} s", flush=True)
    if args.json:
        with open(args.json, "a", encoding="utf-8") as f:
            f.write(json.dumps([{"nodes": n, "days": d, **c} for (n, d), c in cost.items()]) + "\n")
    grows = {what: (n, d) for what, _, n, d in questions(days[-1])}
    grows |= {"the hub's start": (1, 0), "memory, MB": (1, 0)}
    print(f"\n| {args.nodes} nodes x {args.days} days | nodes: exponent, asked for | days: exponent, asked for | CPU ms, least and most |\n| --- | --- | --- | --- |")
    worse = 0
    for what, (by_node, by_day) in grows.items():
        cells = []
        for sizes, of, limit in ((nodes, lambda v: (v, days[-1]), by_node), (days, lambda v: (nodes[-1], v), by_day)):
            e = exponent(sizes, [cost[of(v)][what] for v in sizes])
            worse += e > limit + SLACK
            cells.append(f"{e:.2f}, {limit}" + (" **worse**" if e > limit + SLACK else ""))
        v = [c[what] for c in cost.values()]
        print(f"| {what} | {cells[0]} | {cells[1]} | {min(v):.3g}, {max(v):.3g} |")
    print(f"\n{worse} grow faster than what is asked for")


if __name__ == "__main__":
    main()
