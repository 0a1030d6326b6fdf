#!/usr/bin/python3
"""History made, kept and carried: simulate --backfill."""
import contextlib
import os
import sqlite3

import lib

UNTIL = "2026-11-15T04:00:00Z"
UNTIL_MS = 1794715200000


def rows(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


class Carry(lib.Case):
    def backfill(self, data, *flags):
        return self.run_any(lib.MUSTER, "simulate", "--backfill", "5h", "--nodes", "2", "--gpus", "3", "--every", "10s", "--until", UNTIL, "--data", data, *flags)

    def chunks(self, data):
        return rows(os.path.join(data, "history.db"), "SELECT n.key, c.tier, c.bucket, c.bytes FROM chunk c JOIN node n ON n.id = c.node ORDER BY 1, 2, 3, 4")


class Backfill(Carry):
    def test_the_same_past_comes_out_of_the_same_seed_and_counts_once(self):
        a, b = self.path("a"), self.path("b")
        status, out, err = self.backfill(a)
        self.assertEqual((status, out), (0, ""), err)
        self.assertIn("samples in", err)
        self.assertEqual(self.backfill(b)[0], 0)
        self.assertEqual(self.chunks(a), self.chunks(b))
        self.assertTrue(self.chunks(a))
        before = self.chunks(a)
        self.assertEqual(self.backfill(a)[0], 0)  # again
        self.assertEqual(self.chunks(a), before)
        self.assertEqual(self.backfill(b, "--seed", "2")[0], 0)
        self.assertNotEqual(self.chunks(b), before)

    def test_it_reaches_from_then_to_now_and_people_come_and_go(self):
        data = self.path("data")
        self.assertEqual(self.backfill(data, "--people", "30")[0], 0)
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0")
        got = lib.ask_json(hub.url + f"/api/v1/history?device=sim1:0,sim2:2&metric=util,energy&from={UNTIL_MS - 6 * 3600000}&to={UNTIL_MS + 3600000}&step=1h&agg=count")
        self.assertEqual([s["v"] for s in got["series"]], [[None] + [360] * 5 + [None]] * 4)
        users = rows(os.path.join(data, "muster.db"), "SELECT user, start_ms, first_ms, last_ms, ended FROM processes")
        self.assertGreater(len({u[0] for u in users}), 3)
        for user, start, first, last, ended in users:
            self.assertTrue(user and start <= first <= last < UNTIL_MS and last >= UNTIL_MS - 5 * 3600000, (user, start, first, last))
            self.assertEqual(ended, int(last != UNTIL_MS - 10000))

    def test_a_hub_takes_the_past_as_from_agents(self):
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0")
        token = self.path("token")
        with open(token, "w", encoding="ascii") as f:
            f.write(self.token("enroll"))
        flags = ("--backfill", "5h", "--nodes", "2", "--gpus", "3", "--until", UNTIL, "--hub", hub.url, "--token-file", token)
        self.run_ok(lib.MUSTER, "simulate", *flags)
        url = hub.url + f"/api/v1/history?device=sim1:0,sim2:2&metric=util&from={UNTIL_MS - 5 * 3600000}&to={UNTIL_MS}&step=1h&agg=count"
        self.assertEqual([s["v"] for s in lib.ask_json(url)["series"]], [[360] * 5] * 2)
        self.assertTrue(rows(self.path("data/muster.db"), "SELECT 1 FROM processes WHERE ended = 1"))

    def test_what_cannot_be_is_said(self):
        hub = self.start_hub()
        self.assertTrue(hub.alive())
        status, _, err = self.backfill(self.path("data"))
        self.assertEqual(status, 3)
        self.assertIn("another hub is using it", err)
        for flags, said in ((["--backfill", "1h"], "needs --data DIR"), (["--data", self.path("x")], "--data goes with --backfill"),
                            (["--backfill", "1h", "--data", self.path("x"), "--until", "soon"], "'soon' is not a time"),
                            (["--backfill", "1h", "--data", self.path("x"), "--hub", "http://h"], "exclude each other")):
            status, _, err = self.run_any(lib.MUSTER, "simulate", *flags)
            self.assertEqual(status, 2, err)
            self.assertIn(said, err)


if __name__ == "__main__":
    lib.main()
