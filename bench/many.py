#!/usr/bin/python3
"""One hub, as many nodes as it carries: 8 GPUs each at 1 s in batches, durable, with compaction and tiers, on the cores that the load shares.

Prints when the nodes, which enrol within five seconds (more than 20,000: 400 a second), had settled (what they have to send is taken as it comes), each minute the hub's CPU and memory, how fast the load is acknowledged, and the store on disk; at the end what was made and what was stored, and how fast
/api/v1/state answered meanwhile: one node twice a second, all of them (gzip) every ASK seconds, ASK 0 for never.

    bench/many.py [options] [nodes=10000] [seconds=600] [actors=500] [ask=30] [interval=5s] [connections=nodes]

With fewer connections than nodes these share them, a request at a time, each with its own token: as agents behind a proxy do.
Options add readers of the whole cluster: --metrics, --text (the table of /?term=true) and --page (the stream's snapshot), each with its pause in seconds; --shards N scrapes /metrics as N targets; --scrapes is what a busy cluster
has: /metrics every 12 s, the whole state every 8 s, the text table each second. Each reader's line has its times, its size, and how often it was refused (503) or failed.
"""
import argparse
import http.client
import os
import re
import sys
import threading
import time
import zlib

import lib

LINE = r"(\d+) batches made, (\d+) stored, (\d+) waiting, (\d+) samples, (\d+) requests, (\d+) failed; acknowledged after (\d+) ms \(median\), (\d+) ms \(99 %\), (\d+) ms \(all\), (\d+) ms"


def newest(load, fresh=True):
    """The simulator's newest line, as numbers; one that comes after the call if fresh."""
    seen, end = len(load.lines), time.monotonic() + 15
    while fresh and time.monotonic() < end and not any(re.search(LINE, x) for x in load.lines[seen:]):
        time.sleep(0.02)
    for line in reversed(load.lines):
        m = re.search(LINE, line)
        if m:
            return [int(x) for x in m.groups()]
    return [0] * 10


def settled(load, nodes, interval, arrive):
    """Waits until all have enrolled, half a minute at least, and until little waits to be sent."""
    start = time.monotonic()
    while True:
        at = newest(load)
        took = time.monotonic() - start
        if load.p.poll() is not None:
            raise SystemExit("\n".join(load.lines[-5:]))
        if at[1] >= nodes and at[2] <= nodes // 5 or took > arrive + 100:
            break
    print(f"{nodes} nodes, batches of {interval}: after {took:.0f} s (looked at every ten) {at[0]} batches made, {at[1]} stored, {at[2]} wait; {at[4]} requests, {at[5]} failed", flush=True)
    time.sleep(max(0, arrive + 30 - took))


class Asker(threading.Thread):
    """Asks for one path over one connection, again and again. until: of an answer without an end, the name of the event to wait for."""

    def __init__(self, port, path, pause, until=None):
        super().__init__(daemon=True)
        self.port, self.path, self.pause, self.until = port, path, pause, until
        self.ms, self.failed, self.refused, self.size, self.plain, self.stop = [], 0, 0, 0, 0, threading.Event()

    def read(self, answer):
        """The answer to its end: bytes on the wire, and what they unpack to."""
        packed = answer.getheader("Content-Encoding") == "gzip"
        unpack, wire, plain, tail, seen = zlib.decompressobj(31), 0, 0, b"", False
        while part := answer.read1(1 << 20):
            out = unpack.decompress(part) if packed else part
            wire, plain, tail = wire + len(part), plain + len(out), (tail + out)[-64 << 10:]
            seen |= bool(self.until) and self.until in tail
            if seen and tail.endswith(b"\n\n"):
                return wire, plain
        answer.read()  # read1 leaves the connection unfinished
        if self.until or packed and not unpack.eof:
            raise http.client.IncompleteRead(b"")
        return wire, plain

    def run(self):
        conn = None
        while not self.stop.wait(self.pause):
            try:
                conn = conn or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                t = time.monotonic()
                conn.request("GET", self.path, headers={"Accept-Encoding": "gzip"})
                answer = conn.getresponse()
                if answer.status == 503:
                    self.refused += 1
                    answer.read()
                    continue
                wire, plain = self.read(answer)
                self.ms.append((time.monotonic() - t) * 1000)
                self.size, self.plain = max(self.size, wire), max(self.plain, plain)
                self.failed += answer.status != 200
            except (OSError, http.client.HTTPException, zlib.error):
                conn = None
                self.failed += 1
            if self.until and conn:
                conn.close()
                conn = None

    def __str__(self):
        v = sorted(self.ms) or [0]
        at = lambda q: v[min(len(v) - 1, int(len(v) * q))]  # noqa: E731
        return (f"median {at(.5):.1f} ms, p99 {at(.99):.1f} ms, worst {v[-1]:.1f} ms of {len(self.ms)}, {self.refused} refused, {self.failed} failed, "
                f"{self.size / 1e6:.2f} MB on the wire, {self.plain / 1e6:.2f} MB unpacked")


def threads_cpu(pid):
    """CPU seconds of each thread in the order they were started: the loop, the writer, compaction; others count usage, read history and compress."""
    out = []
    for t in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with open(f"/proc/{pid}/task/{t}/schedstat", encoding="utf-8") as f:
            out.append(int(f.read().split()[0]) / 1e9)
    return out


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, default in (("nodes", int, 10000), ("seconds", int, 600), ("actors", int, 500), ("ask", float, None), ("interval", str, "5s"), ("connections", int, None)):
        p.add_argument(name, type=kind, nargs="?", default=default)
    for name in ("--metrics", "--text", "--page"):
        p.add_argument(name, type=float, default=0, metavar="SECONDS")
    p.add_argument("--shards", type=int, default=1)
    p.add_argument("--scrapes", action="store_true")
    a = p.parse_args()
    if a.scrapes:
        a.metrics, a.ask, a.text = a.metrics or 12, 8 if a.ask is None else a.ask, a.text or 1
    a.ask = 30 if a.ask is None else a.ask
    a.connections = min(a.nodes, a.connections or a.nodes)
    return a


def readers(port, a):
    """One node twice a second, /healthz for how long the loop is held up, and what the options add."""
    shards = [f"/metrics?shard={k + 1}/{a.shards}" for k in range(a.shards)] if a.shards > 1 else ["/metrics"]
    whole = [("/api/v1/state", a.ask, None), ("/?term=true", a.text, None), ("/api/v1/stream", a.page, b"event: snapshot")] + [(path, a.metrics, None) for path in shards]
    return [Asker(port, "/healthz", 0.1), Asker(port, "/api/v1/state?node=sim1", 0.5)] + [Asker(port, path, pause, until) for path, pause, until in whole if pause]


def main():
    a = arguments()
    nodes, seconds, actors, interval, connections = a.nodes, a.seconds, a.actors, a.interval, a.connections
    step = min(60, max(20, seconds // 5))
    with lib.hub("--max-nodes", str(max(nodes, 65536)), "--max-connections", str(connections + 1000)) as hub:
        arrive = nodes // 400 if nodes > 20000 else 0
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(nodes), "--actors", str(actors), "--interval", interval,
               "--duration", f"{seconds + arrive + 45}s", "--arrive", f"{arrive}s", "--drain", "60s", "--connections", str(connections % nodes)]
        with lib.Server(sim) as load:
            settled(load, nodes, interval, arrive)
            askers = readers(hub.port, a)
            for asker in askers:
                asker.start()
            at0, t0, cpu0, load0, threads0 = newest(load), time.monotonic(), lib.cpu_s(hub.pid), lib.cpu_s(load.pid), threads_cpu(hub.pid)
            t1, cpu1, at1 = t0, cpu0, at0
            print(f"{'minute':>6} {'samples/s':>10} {'hub CPU':>8} {'s per M':>8} {'resident MB':>12} {'disk MB':>8} {'waiting':>8} {'failed':>7}", flush=True)
            while time.monotonic() - t0 < seconds:
                time.sleep(max(0, min(step - 5, t0 + seconds - time.monotonic())))
                at, t, cpu = newest(load), time.monotonic(), lib.cpu_s(hub.pid)
                rss = lib.memory_mb(hub.pid)[0]
                made = max(at[3] - at1[3], 1)
                print(f"{(t - t0) / 60:6.1f} {made / (t - t1):10.0f} {(cpu - cpu1) / (t - t1):8.1%} {(cpu - cpu1) / made * 1e6:8.3f} {rss:12.1f} {lib.disk_bytes(hub.data) / 1e6:8.0f} {at[2]:8d} {at[5]:7d}", flush=True)
                t1, cpu1, at1 = t, cpu, at
            for asker in askers:
                asker.stop.set()
            took, cpu, client, threads = t1 - t0, cpu1 - cpu0, lib.cpu_s(load.pid) - load0, threads_cpu(hub.pid)
            span = max(at1[3] - at0[3], 1)
            rss, peak, private = lib.memory_mb(hub.pid)
            load.p.wait()
            end = newest(load, False)
    print(f"{nodes} nodes x 8 GPUs, batches of {interval}, {took:.0f} s: made {end[0]}, stored {end[1]}, {'equal' if end[0] == end[1] else 'NOT EQUAL'}; {end[3]} samples, {end[5]} requests failed")
    print(f"hub CPU {cpu / took:.1%} of a core, {cpu / span * 1e6:.3f} s per million samples; the load's own {client / took:.1%}")
    print("  of it " + ", ".join(f"{n} {(b - a) / took:.1%}" for n, a, b in zip(("loop", "writer", "compaction"), threads0, threads)) + f", others {sum(threads[3:]) / took - sum(threads0[3:]) / took:.1%}")
    print(f"hub memory: resident {rss:.0f} MB, peak {peak:.0f} MB, private {private:.0f} MB: {private * 1024 / nodes:.1f} KB a node")
    print(f"acknowledged: median {end[6]} ms, p99 {end[7]} ms, worst {end[8]} ms (from the first request on); p99 after the first minute {end[9]} ms")
    for asker in askers:
        print(f"{asker.path}: {asker}")


if __name__ == "__main__":
    main()
