#!/usr/bin/python3
"""A hub that is looked at all the time: is the minute before a compaction as cheap as the one after it, and is memory flat?

200 simulated nodes send 5 s batches; five streams are open and six ordinary questions are asked every ten seconds, half of them about the last ten
minutes, which are in the log. By the minute: the hub's CPU, what the questions took of it, memory. A log is compacted after ten minutes, so 22 minutes
show two of them. A fixed piece of work is done between the questions: a machine that is slower in a minute is so for both, and minutes are compared by
what the questions take of it.

    bench/soak.py [--nodes 200] [--minutes 22] [--streams 5] [--json FILE]
"""
import argparse
import json
import os
import socket
import statistics
import threading
import time

import lib


def questions():
    now = int(time.time() * 1000)
    ten = f"from={now - 600000}&to={now}"
    return {
        "the cluster three minutes ago": f"/api/v1/state?at={now - 180000}",
        "utilisation per node, ten minutes": f"/api/v1/history?metric=util&{ten}&group=node&step=10s",
        "one GPU, every metric, ten minutes": f"/api/v1/history?metric=*&device=sim5:3&{ten}&step=1s",
        "power of everything, ten minutes": f"/api/v1/history?metric=power&{ten}&group=all&fold=sum&step=5s",
        "usage of a day": f"/api/v1/usage?by=person&from={now - 86400000}&to={now}",
        "the cluster now": "/api/v1/state",
    }


def stream(port, stop):
    """Reads a stream and throws it away."""
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        c.settimeout(1)
        while not stop.is_set():
            try:
                if not c.recv(1 << 18):
                    return
            except socket.timeout:
                pass


def fixed_work():
    """CPU ms of what is always the same."""
    before = time.thread_time()
    json.loads(json.dumps([[i, str(i), i / 7] for i in range(6000)]))
    return (time.thread_time() - before) * 1000


def minute(hub, asker, end):
    """Questions until then: CPU of each kind in ms, by question; and of the fixed work."""
    took, fixed = {}, []
    while time.monotonic() < end:
        begin = time.monotonic()
        for what, path in questions().items():
            before = lib.cpu_ms(hub.pid)
            asker.get(path)
            took.setdefault(what, []).append(lib.cpu_ms(hub.pid) - before)
            fixed.append(fixed_work())
        time.sleep(max(0, min(begin + 10, end) - time.monotonic()))
    return {what: statistics.median(v) for what, v in took.items()}, statistics.median(fixed)


def logs(data):
    return sorted(f for f in os.listdir(data) if f.startswith("log-") and f.endswith(".db"))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--nodes", type=int, default=200)
    p.add_argument("--minutes", type=int, default=22)
    p.add_argument("--streams", type=int, default=5)
    p.add_argument("--json")
    args = p.parse_args()
    rows, stop = [], threading.Event()
    with lib.hub("--max-connections", "20000") as hub:
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(args.nodes), "--interval", "5s", "--duration", f"{args.minutes + 2}m"]
        with lib.Server(sim):
            time.sleep(10)
            asker = lib.Asker(hub.port)
            for _ in range(args.streams):
                threading.Thread(target=stream, args=(hub.port, stop), daemon=True).start()
            print("minute  CPU of a core  questions alone  fixed ms  resident MB  peak MB  compacted", flush=True)
            for m in range(args.minutes):
                before, t0, files = lib.cpu_s(hub.pid), time.monotonic(), logs(hub.data)
                cost, fixed = minute(hub, asker, t0 + 60)
                took = time.monotonic() - t0
                rss, peak, _ = lib.memory_mb(hub.pid)
                row = {"cpu": (lib.cpu_s(hub.pid) - before) / took, "asked": sum(cost.values()) / 1e4, "rss": rss, "peak": peak, "compacted": logs(hub.data) != files, "each": cost, "fixed": fixed}
                rows.append(row)
                print(f"{m + 1:6}  {row['cpu']:13.1%}  {row['asked']:15.1%}  {fixed:8.2f}  {rss:11.1f}  {peak:7.1f}  {'yes' if row['compacted'] else ''}", flush=True)
            stop.set()
    steady = rows[10:] if len(rows) > 12 else rows  # until then there are no ten minutes to ask for
    asked, of_fixed = [r["asked"] for r in steady], [r["asked"] / r["fixed"] for r in steady]
    print(f"\nof {len(steady)} minutes the dearest takes {max(of_fixed) / min(of_fixed):.2f} times what the cheapest takes for the same questions (goal 1.5; "
          f"{max(asked) / min(asked):.2f} times in CPU, of which the fixed work took {max(r['fixed'] for r in steady) / min(r['fixed'] for r in steady):.2f} times as much in its dearest minute); "
          f"memory at their beginning {steady[0]['rss']:.1f} MB, at their end {steady[-1]['rss']:.1f} MB\n")
    print("| question, hub CPU ms where the fixed work takes its median | cheapest minute | dearest | times |\n| --- | --- | --- | --- |")
    for q in rows[0]["each"]:
        pace = statistics.median(r["fixed"] for r in steady)
        v = [r["each"][q] / r["fixed"] * pace for r in steady if q in r["each"]]
        print(f"| {q} | {min(v):.3g} | {max(v):.3g} | {max(v) / min(v):.2f} |")
    if args.json:
        with open(args.json, "a", encoding="utf-8") as f:
            f.write(json.dumps({"nodes": args.nodes, "rows": rows}) + "\n")


if __name__ == "__main__":
    main()
