#!/usr/bin/python3
"""Usage: past.py URL TOKEN: two GPUs with three hours behind them, one worked (and told so, the last 90 minutes) and one held idle; who holds them has a name that tries to be code."""
import os
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kit"))
import sender  # pylint: disable=wrong-import-position

MINUTES = 180
HOLDERS = (("works", "Robert'); DROP TABLE", 9000), ("idles", "<img src=x onerror=boom()>", 0))


def main():
    url, token = sys.argv[1:]
    for name, user, util in HOLDERS:
        node = sender.Node(name)
        now = node.now()
        frames = [node.facts(), node.procs((4711, user, "python", "python train.py"))]
        frames += [node.batch(at_ms=now - minute * 60000, util=util, more={33: 2000, 54: 4000} if util and minute < 90 else {}) for minute in range(MINUTES, -1, -1)]
        ask = urllib.request.Request(url + "/api/v1/batches", node.stream(*frames), {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(ask) as r:
            assert r.status == 200, r.status


main()
