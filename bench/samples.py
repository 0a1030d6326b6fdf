#!/usr/bin/python3
"""Samples in ClickHouse: what sending them costs the hub and the server, and a question over all of them beside the hub's own store. Loopback only; two minutes.

    bench/samples.py [--days 10] [--nodes 4]
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
    subprocess.run([lib.MUSTER, "simulate", "--backfill", f"{args.days}d", "--every", "60s", "--nodes", str(args.nodes), "--hub", f"http://127.0.0.1:{port}", "--token", token, "--quiet"], check=True)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as r:
        return r.read()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--days", type=int, default=10)
    p.add_argument("--nodes", type=int, default=4)
    args = p.parse_args()
    question = f"/api/v1/history?device=*&metric=util&agg=avg&tier=raw&step=1h&from=-{args.days}d&group=all"
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as top:
        click = peers.ClickHouseLz4(None, top + "/click")
        cost, answers = {}, {}
        with click.started() as server:
            for how in ("own store alone", "with ClickHouse"):
                port, folder = lib.free_port(), f"{top}/{how[0]}"
                flags = [] if how.startswith("own") else ["--samples", f"clickhouse://default@127.0.0.1:{click.port}/default", "--keep-raw", "1d"]
                before = lib.cpu_s(server.pid)
                with hub(folder, port, *flags) as h:
                    fill(folder, port, args)
                    time.sleep(20)  # logs are sealed, compacted, sent
                    cost[how] = lib.cpu_s(h.pid), lib.cpu_s(server.pid) - before
                    was, began = (lib.cpu_s(h.pid), lib.cpu_s(server.pid)), time.monotonic()
                    answers[how] = json.loads(get(port, question))["series"]
                    print(f"{how}: question {(time.monotonic() - began) * 1000:.0f} ms, CPU of hub {lib.cpu_s(h.pid) - was[0]:.2f} s, of ClickHouse {lib.cpu_s(server.pid) - was[1]:.2f} s")
            columns = click.sql("SELECT name FROM system.columns WHERE table = 'muster_sample' AND type LIKE 'Nullable%' FORMAT TSV").decode().split()
            n = int(click.sql("SELECT " + "+".join(f"count(`{c}`)" for c in columns) + " FROM muster_sample FINAL")) / 1e6
        print(f"{n:.1f} million samples; CPU seconds for a million: hub {cost['own store alone'][0] / n:.3f} alone, {cost['with ClickHouse'][0] / n:.3f} with ClickHouse, which takes {cost['with ClickHouse'][1] / n:.3f}")
        print("answers are", "the same" if answers["own store alone"] == answers["with ClickHouse"] else "NOT the same")


if __name__ == "__main__":
    main()
