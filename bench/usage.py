#!/usr/bin/python3
"""Must a year of usage be waited for? A simulated year at 60 s, 200 people, 100 GPUs (25 nodes of 4): what counting it costs, that sums equal wall time exactly, that
counting again gives the same, and what every kind of question takes over HTTP.

    bench/usage.py [--days 365] [--data DIR (made before, kept)] [--recount] [--json FILE]
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import time

import lib

DAY = 86400
UNTIL = int(time.time()) // DAY * DAY
BYS = ("person", "team", "project", "company", "node", "model", "device", "job")


def make(path, days):
    argv = [lib.MUSTER, "simulate", "--backfill", f"{days}d", "--every", "60s", "--nodes", "25", "--gpus", "4", "--people", "200", "--until", str(UNTIL), "--data", path, "--quiet"]
    subprocess.run(argv, check=True)
    with open(os.path.join(path, "..", "muster.yaml"), "w", encoding="utf-8") as f:
        f.write("usage: {price: [H200=2.50], co2: 380}\n")


def waiting(asker):
    return json.loads(asker.get("/api/v1/usage?last=1h&by=model"))["waiting"]


def count(hub, asker):
    before, t0 = lib.cpu_ms(hub.pid), time.monotonic()
    hours = waiting(asker)
    while waiting(asker):
        time.sleep(0.5)
    time.sleep(1)
    return hours, time.monotonic() - t0, (lib.cpu_ms(hub.pid) - before) / 1000


def check(asker, days, span):
    """Sums of every device and month, to the millisecond."""
    got = json.loads(asker.get(f"/api/v1/usage?{span}&by=device&period=month"))
    wall = 0
    for r in got["rows"]:
        parts = sum(round(r[k] * 1000) for k in ("held", "free", "booked_unused", "down"))
        assert parts == round(r["wall"] * 1000), r
        assert round(r["busy"] * 1000) + round(r["idle"] * 1000) == round(r["held"] * 1000), r
        wall += parts
    devices = {}
    for r in got["rows"]:
        devices[r["key"]] = devices.get(r["key"], 0) + round(r["wall"] * 1000)
    assert set(devices.values()) == {days * DAY * 1000}, sorted(set(devices.values()))
    assert wall == days * DAY * 1000 * 100, wall
    people = json.loads(asker.get(f"/api/v1/usage?{span}&by=person&period=day"))
    assert sum(round(r["held"] * 1000) for r in people["rows"]) == sum(round(r["held"] * 1000) for r in got["rows"])
    return got["rows"], people["rows"]


def questions(span):
    for by in BYS:
        for period in ("all", "month", "week", "day"):
            yield f"by {by}, per {period}", f"/api/v1/usage?{span}&by={by}&period={period}"
    last = f"from={(UNTIL - 30 * DAY) * 1000}&to={UNTIL * 1000}"
    yield "30 days by person, per hour", f"/api/v1/usage?{last}&by=person&period=hour"
    yield "30 days by device, per hour", f"/api/v1/usage?{last}&by=device&period=hour"
    yield "30 days by person", f"/api/v1/usage?{last}&by=person"
    yield "30 days by job", f"/api/v1/usage?{last}&by=job"
    yield "by person, per month, days of another zone that is kept ready", f"/api/v1/usage?{span}&by=person&period=month&zone=Asia/Tokyo"
    yield "by person, per day, days of another zone that is kept ready", f"/api/v1/usage?{span}&by=person&period=day&zone=Asia/Tokyo"
    yield "by person, per day, days of a zone that is not", f"/api/v1/usage?{span}&by=person&period=day&zone=America/New_York"
    yield "devices of one person, per week", f"/api/v1/usage?{span}&by=device&period=week&person=kim"
    yield "by person, per day, as CSV", f"/api/v1/usage?{span}&by=person&period=day&format=csv"
    yield "by person, per month, as a chart (SVG)", f"/api/v1/usage?{span}&by=person&period=month&format=svg"
    yield "who holds without work", "/api/v1/idle?longer=1s"
    yield "who to ask", "/api/v1/people?recent=1"


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--days", type=int, default=365)
    ap.add_argument("--data")
    ap.add_argument("--recount", action="store_true", help="count everything again and compare")
    ap.add_argument("--json")
    args = ap.parse_args()
    out = {"rows": []}
    with contextlib.ExitStack() as stack:
        data = args.data or stack.enter_context(lib.folder()) + "/data"
        if not os.path.exists(data):
            make(data, args.days)
        before = lib.disk_bytes(data, "muster.db")
        hub = stack.enter_context(lib.Server([lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", data, "--keep-raw", "0", "--usage-zones", "Asia/Tokyo"], r"http://127\.0\.0\.1:(\d+)"))
        asker = lib.Asker(int(hub.match.group(1)))
        hours, took, cpu = count(hub, asker)
        span = f"from={(UNTIL - args.days * DAY) * 1000}&to={UNTIL * 1000}"
        print(f"counted {hours} hours of nodes in {took:.0f} s, {cpu:.1f} s of CPU; muster.db grew by {(lib.disk_bytes(data, 'muster.db') - before) / 1e6:.1f} MB")
        first = check(asker, args.days, span)
        print(f"sums of 100 devices over {args.days} days equal wall time to the millisecond")
        if args.recount:
            token = subprocess.run([lib.MUSTER, "token", "new", "--role", "admin", "--data", data], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
            asker.get("/api/v1/usage/recount", b"{}", {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
            hours, took, cpu = count(hub, asker)
            assert check(asker, args.days, span) == first
            print(f"counting {hours} hours again: {took:.0f} s, {cpu:.1f} s of CPU, and every row is the same")
        for name, path in questions(span):
            got = lib.timed(lambda p=path: asker.get(p), hub.pid, least=5, seconds=0.5)
            out["rows"].append({"name": name, **got})
            print(f"{name:55} {got['ms']:8.1f} ms {got['cpu_ms']:8.1f} ms of CPU {got['bytes']:10} bytes", flush=True)
        worst = max(out["rows"], key=lambda r: r["cpu_ms"])
        print(f"most: {worst['name']}, {worst['cpu_ms']:.1f} ms of CPU; median {statistics.median(r['cpu_ms'] for r in out['rows']):.1f} ms; hub {lib.memory_mb(hub.pid)[0]:.0f} MB")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(out, f)


if __name__ == "__main__":
    main()
