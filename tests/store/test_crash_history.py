#!/usr/bin/python3
"""H1 with the real hub: repeated kill -9 while batches are appended, logs compacted, chunks merged, old data deleted, an old folder migrated and a backup written.

Each node knows every value it sent (sample_feed.py); afterwards history over HTTP has each acknowledged one exactly once, in minutes and, where still kept, raw.
"""
import collections
import contextlib
import os
import random
import sqlite3
import subprocess
import threading
import time

import lib
import sample_feed

KILLS = int(os.environ.get("MUSTER_TEST_KILLS", "20"))
NODES = 5
HOUR = 3600000


def to_oldest_format(data):
    """muster.db as its first version was, with the rows it has now; history.db did not exist then."""
    now, was = os.path.join(data, "muster.db"), os.path.join(data, "was.db")
    with contextlib.closing(sqlite3.connect(now)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.rename(now, was)
    for name in os.listdir(data):
        if name.startswith("history.db") or name.startswith("muster.db-"):
            os.unlink(os.path.join(data, name))
    with contextlib.closing(sqlite3.connect(now)) as db:
        with open(os.path.join(lib.TOP, "tests/kit/data/muster-v1.sql"), encoding="utf-8") as f:
            db.executescript(f.read())
        db.execute("ATTACH ? AS was", (was,))
        for table in [r[0] for r in db.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]:
            columns = ", ".join(r[1] for r in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table}({columns}) SELECT {columns} FROM was.{table}")
        db.commit()
    os.chmod(now, 0o600)
    os.unlink(was)


class Backups(threading.Thread):
    """`muster backup` again and again, every third of them killed; .last is a whole one and what must be in it."""

    def __init__(self, case, seed):
        super().__init__(daemon=True)
        self.case, self.rng, self.stop, self.last, self.made, self.killed = case, random.Random(seed), threading.Event(), None, 0, 0

    def run(self):
        while not self.stop.is_set():
            acked = [Then(f.name_, dict(f.acked)) for f in self.case.feeders]
            path = self.case.path(f"backup-{self.made % 2}")
            p = subprocess.Popen([lib.MUSTER, "backup", "--data", self.case.data, "-q", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.rng.random() < 0.33:
                time.sleep(self.rng.uniform(0, 0.1))
                p.kill()
                self.killed += 1
            if p.wait() == 0:
                self.last = path, acked
                self.made += 1
            time.sleep(self.rng.uniform(0, 0.3))


Then = collections.namedtuple("Then", "name_ acked")


class CrashHistory(lib.Case):
    def hub_on(self, *flags):
        p = lib.Process([lib.MUSTER, "hub", "--listen", f"127.0.0.1:{self.port}", "--data", self.data, "--log-level", "warn", *flags])
        m = p.wait_line(r"http://127\.0\.0\.1:\d+")
        p.url = m.group(0)
        return p

    def setUp(self):
        super().setUp()
        self.data, self.port = self.path("data"), lib.free_port()
        self.enroll = self.token("enroll", data=self.data)
        self.rng, self.feeders = random.Random(11), []

    def feed(self, start_ms, step_ms):
        for i in range(NODES):
            f = sample_feed.Feeder(self.port, self.enroll, f"n{i}", start_ms, step_ms, seed=i + 1)
            f.start()
            self.feeders.append(f)
            self.addCleanup(f._stop_now.set)

    def killed(self, hub, most_s, flags, times):
        """Kill the hub at random times. Return the last one started."""
        for _ in range(times):
            time.sleep(self.rng.uniform(0, most_s))
            hub.kill9()
            hub.end()
            hub = self.hub_on(*flags)
        return hub

    def ask_file(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{os.path.join(self.data, 'history.db')}?mode=ro", uri=True, timeout=lib.LIMIT_S)) as db:
            return db.execute(sql).fetchone()[0]

    def compare(self, hub, raw_from):
        wrong = [w for f in self.feeders for w in sample_feed.wrong_values(hub.url, f, 60000)]
        wrong += [w for f in self.feeders for w in sample_feed.wrong_values(hub.url, f, 20000, raw_from)]
        self.assertEqual(wrong, [])

    def test_H1_every_value_once_over_kills_in_compaction_retention_and_migration(self):
        now = int(time.time() * 1000) // 60000 * 60000
        keep_raw = 30 * HOUR
        flags = ["--rotate", "1s", "--keep-raw", "30h", "--commit", "20ms"]
        # a folder of the oldest format: everything is in logs
        hub = self.hub_on("--commit", "20ms")
        self.addCleanup(lambda: hub.end())
        self.feed(now - 50 * HOUR, 180000)
        lib.wait_until("samples are acknowledged", lambda: all(f.sent > 40 for f in self.feeders))
        self.assertEqual(hub.stop(), 0, hub.text)
        hub.end()
        to_oldest_format(self.data)
        # brought up to date under kills that come at once, then kills while it compacts, merges and drops every second
        hub = self.hub_on(*flags)
        backups = Backups(self, 5)
        backups.start()
        self.addCleanup(backups.stop.set)
        hub = self.killed(hub, 0.2, flags, KILLS // 5)
        hub = self.killed(hub, 1.5, flags, KILLS - KILLS // 5)
        lib.wait_until("what is still kept raw is reached", lambda: all(f.start_ms + f.sent * f.step_ms > now - keep_raw + 6 * HOUR for f in self.feeders))
        lib.wait_until("a backup came to its end", lambda: backups.last)
        backups.stop.set()
        backups.join()
        for f in self.feeders:
            f.stop()
        sent = sum(f.sent for f in self.feeders)
        lib.wait_until("logs become chunks", lambda: len([n for n in os.listdir(self.data) if n.startswith("log-") and n.endswith(".db")]) <= 1 or self.nudge())
        self.compare(hub, now - keep_raw + 3 * HOUR)
        self.assertEqual(hub.stop(), 0, hub.text)
        hub.end()
        hub = self.hub_on(*flags)
        self.compare(hub, now - keep_raw + 3 * HOUR)
        lib.wait_until("the scenario does drop", lambda: self.ask_file("SELECT min(bucket) FROM chunk WHERE tier = 0") > now - keep_raw - 3 * HOUR or self.nudge())
        lib.wait_until("the scenario does merge", lambda: self.ask_file("SELECT count(*) FROM chunk WHERE level = 2") or self.nudge())
        self.assertEqual(hub.stop(), 0, hub.text)
        self.assertEqual(self.ask_file("PRAGMA integrity_check"), "ok")
        # what was acknowledged before the last whole backup began is in it, once
        path, acked = backups.last
        self.run_ok(lib.MUSTER, "backup", "--check", path)
        self.run_ok(lib.MUSTER, "restore", "-q", path, "--data", self.path("restored"))
        again = self.start_hub(data=self.path("restored"))
        wrong = [w for f in acked if f.acked for w in sample_feed.wrong_values(again.url, f, 60000)]
        self.assertEqual(wrong, [])
        print(f"{KILLS} kills of the hub, {backups.killed} of a backup, {backups.made} backups made, {sent} values acknowledged: lost 0, doubled 0", flush=True)

    def nudge(self):
        """A log is sealed with the next commit after its time."""
        f = self.feeders[0]
        at, value = f.start_ms + f.sent * f.step_ms, 77
        f._deliver(f.node.batch(at_ms=at, util=value), f.node.number)
        f.acked[at] = value
        f.sent += 1
        return False


if __name__ == "__main__":
    lib.main()
