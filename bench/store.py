#!/usr/bin/python3
"""What a sample costs in each store, in one run: a hub on its own disk, a hub on a PostgreSQL server and that server's processes, and VictoriaMetrics.

All of them take the same hosts at the same time, a tick per second; what came in is made into chunks every --rotate while it is measured. Prints the ratios first.
Builds what it needs; postgresql and victoria-metrics are those of Debian.

    bench/store.py [--gpus 2000] [--seconds 300] [--batch 5] [--rotate 300] [--perf FILE] [--statements]
"""
import argparse
import shutil
import subprocess
import threading
import time

import lib
import peers

GOAL_HUB, GOAL_ALL = 1.3, .2


class Fed:
    """A hub with its load: CPU since mark()."""

    def __init__(self, folder, name, args, *where):
        self.name = name
        port = lib.free_port()
        self.hub = lib.Server([lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", f"{folder}/{name}", "--rotate", f"{args.rotate}s", *where], r"http://127\.0\.0\.1:(\d+)")
        token = lib.enroll_token(f"{folder}/{name}.token", *(where or ("--data", f"{folder}/{name}")))
        self.load = lib.Server([lib.BENCH + "/feed", "--hub", self.hub.match.group(0), "--token-file", token, "--gpus", str(args.gpus), "--batch", str(args.batch), "--live", "2h"])

    def mark(self):
        return peers.Muster.fed(self.load) / 1e6, lib.cpu_s(self.hub.pid)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.load.__exit__(*why)
        self.hub.__exit__(*why)


def perf(path, hub, postgres):
    """What both do for 20 s: PATH.hub and PATH.pg."""
    pids = [p for p in subprocess.run(["pgrep", "-P", str(postgres)], stdout=subprocess.PIPE, check=False).stdout.decode().split()]
    both = [subprocess.Popen(["perf", "record", "-q", "-g", "-o", f"{path}.{n}", "-p", p, "--", "sleep", "20"]) for n, p in (("hub", str(hub)), ("pg", ",".join(pids)))]
    for p in both:
        p.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--gpus", type=int, default=2000)
    p.add_argument("--seconds", type=int, default=300)
    p.add_argument("--batch", type=int, default=5, help="seconds in a batch of muster's")
    p.add_argument("--rotate", type=int, default=300, help="seconds until what came in is made into chunks")
    p.add_argument("--perf", metavar="FILE", help="profile hub and server as well")
    p.add_argument("--statements", action="store_true", help="what the server was asked most (pg_stat_statements, of its contrib package)")
    args = p.parse_args()
    lib.programs()
    extra = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on"] if args.statements else []
    with lib.folder() as path, lib.Postgres(path + "/pg", *extra) as pg, Fed(path, "embedded", args) as own, Fed(path, "postgres", args, *pg.store) as far:
        victoria, vm = shutil.which("victoria-metrics"), {}
        if victoria:
            peer = peers.Victoria(peers.Set(args.gpus, 120, path), path)
            peer.data.file("scrape", 120)
        time.sleep(args.rotate + 75)  # chunks are made, and frames dropped a minute after that
        if args.statements:
            pg.sql("CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()")
        if args.perf:
            perf(args.perf, far.hub.pid, pg.pid)
        beside = threading.Thread(target=lambda: vm.update(peer.live(args.seconds)) if victoria else None)
        beside.start()
        before = own.mark(), far.mark(), pg.cpu_s()
        time.sleep(args.seconds)
        after = own.mark(), far.mark(), pg.cpu_s()
        beside.join()
        for x in (own, far):
            if x.hub.p.poll() is not None:
                raise SystemExit(f"the hub ({x.name}) ended: {x.hub.lines[-3:]}")
        per = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(before[:2], after[:2])]
        server = (after[2] - before[2]) / (after[1][0] - before[1][0])
        rate = (after[1][0] - before[1][0]) * 1e6 / args.seconds
        if args.statements:
            print(pg.sql("SELECT round((total_exec_time + total_plan_time)::numeric), calls, rows, left(query, 200) FROM pg_stat_statements ORDER BY 1 DESC LIMIT 40"))
        size = int(pg.sql("SELECT pg_database_size(current_database())"))
    hub_times = per[1] / per[0]
    print(f"hub on PostgreSQL: {hub_times:.2f} times the embedded hub's CPU (goal {GOAL_HUB}: {'reached' if hub_times <= GOAL_HUB else 'MISSED'})")
    if vm:
        vm_per = vm["cpu"] / vm["samples"] * 1e6
        part = (per[1] + server) / vm_per
        print(f"hub and PostgreSQL together: {part:.3f} of VictoriaMetrics' CPU (goal {GOAL_ALL}: {'reached' if part <= GOAL_ALL else 'MISSED'})")
    print(f"\n{args.gpus} GPUs x 30 metrics, a tick per second, batches of {args.batch} s, chunks every {args.rotate} s, {args.seconds} s; {rate:,.0f} samples/s\n")
    rows = [["embedded hub", f"{per[0]:.4f}"], ["hub on PostgreSQL", f"{per[1]:.4f}"], ["PostgreSQL, all its processes", f"{server:.4f}"]]
    peers.table(["", "CPU s per million samples"], rows + ([["VictoriaMetrics, text, a request per host and second", f"{vm_per:.4f}"]] if vm else []))
    print(f"the database has {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
