#!/usr/bin/python3
"""Usage: integral.py URL MUSTER.DB FROM_MS TO_MS: work and tensor activity integrated over the time each login held each GPU, as JSON {"login device": [held, effective, tensor]} in seconds.

Shares no code with what it checks: samples once a minute come from the hub's history as they were stored, who held what from the table of processes. A sample stands for its minute; a process holds
from when it was first seen to a minute after it was last seen. No two may hold the same GPU at once."""
import collections
import contextlib
import json
import sqlite3
import sys
import urllib.request

MINUTE, WEEK = 60000, 7 * 86400000


def samples(url, metric, start, end):
    """{device: {minute: share}}"""
    out = collections.defaultdict(dict)
    for at in range(start, end, WEEK):
        with urllib.request.urlopen(f"{url}/api/v1/history?metric={metric}&step=1m&from={at}&to={min(at + WEEK, end)}") as r:
            got = json.load(r)
        for series in got["series"]:
            for i, v in enumerate(series["v"]):
                if v is not None:
                    out[series["device"]][got["from"] + i * MINUTE] = v
    return out


def main():
    url, db, start, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    work, tensor = (samples(url, metric, start, end) for metric in ("work", "tensor_active"))
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=30)) as c:
        held = c.execute("SELECT device, user, first_ms, last_ms FROM processes").fetchall()
    sums, taken = collections.defaultdict(lambda: [0, 0, 0]), set()
    for device, user, first, last in held:
        assert first % MINUTE == 0 == last % MINUTE, (first, last)
        for at in range(max(first, start), min(last + MINUTE, end), MINUTE):
            assert (device, at) not in taken, (device, at)
            taken.add((device, at))
            row = sums[f"{user} {device}"]
            row[0] += 60
            row[1] += 60 * work[device][at]
            row[2] += 60 * tensor[device][at]
    print(json.dumps(sums))


main()
