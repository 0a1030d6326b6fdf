#!/usr/bin/python3
"""One hub under many simulated nodes: CPU, memory, and how fast /api/v1/state answers meanwhile.

    bench/thousand.py [nodes=1000] [seconds=300] [interval=1s]
"""
import http.client
import re
import sys
import time

import lib
import live


def main():
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    interval = sys.argv[3] if len(sys.argv) > 3 else "1s"
    with lib.hub("--max-connections", "20000") as hub:
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(nodes), "--interval", interval, "--duration", f"{seconds + 20}s"]
        with lib.Server(sim) as load:
            time.sleep(15)
            made0, before, t0 = live.progress(load), lib.cpu_s(hub.pid), time.monotonic()
            load0 = lib.cpu_s(load.pid)
            all_ms, one_ms, sizes = [], [], 0
            conn = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=30)
            while time.monotonic() - t0 < seconds:
                for path, out in (("/api/v1/state", all_ms), ("/api/v1/state?node=sim1", one_ms)):
                    t = time.monotonic()
                    conn.request("GET", path, headers={"Accept-Encoding": "gzip"})
                    body = conn.getresponse().read()
                    out.append((time.monotonic() - t) * 1000)
                    sizes = max(sizes, len(body))
                time.sleep(0.5)
            made1, cpu, took = live.progress(load), lib.cpu_s(hub.pid) - before, time.monotonic() - t0
            client, span = lib.cpu_s(load.pid) - load0, made1 - made0  # samples that this CPU was spent on
            rss, peak, private = lib.memory_mb(hub.pid)
            load.p.wait()
            end = load.lines[-1] if load.lines else ""
            made, stored, samples = (int(x) for x in re.search(r"(\d+) batches made, (\d+) stored, (\d+) samples", end).groups())
        hub.p.terminate()  # what is in its write-ahead logs moves to where it stays
        hub.p.wait()
        disk = lib.disk_bytes(hub.data, "log-")

    def at(v, q):
        return sorted(v)[min(len(v) - 1, int(len(v) * q))]

    print(f"nodes {nodes}, {interval} per request, {took:.0f} s: {samples} samples, {made} batches made, {stored} stored")
    print(f"hub CPU {cpu / took:.1%} of a core ({cpu / span * 1e6:.3f} s per million samples), simulator {client / took:.1%}")
    print(f"hub memory: resident {rss:.1f} MB, peak {peak:.1f} MB, private {private:.1f} MB; disk {disk / samples:.2f} bytes per sample before compaction")
    for what, v in (("/api/v1/state, all, gzip", all_ms), ("/api/v1/state, one node", one_ms)):
        print(f"{what}: median {at(v, .5):.1f} ms, p99 {at(v, .99):.1f} ms, worst {max(v):.1f} ms, {len(v)} requests")
    print(f"largest answer {sizes} bytes on the wire")


if __name__ == "__main__":
    main()
