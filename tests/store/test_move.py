#!/usr/bin/python3
"""`muster store`: a store goes from a folder to a PostgreSQL server and back, also when it is killed on the way; init, status and check."""
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import time

import lib
import pgcase

UNTIL = "2026-11-10T04:00:00Z"
TABLES = ("blobs", "nodes", "node_spans", "processes", "events", "jobs", "job_devices", "holds", "notes", "aliases", "usage_names", "usage_hours", "usage_days", "tokens")


def rows(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return sorted(db.execute(sql).fetchall())


class Move(pgcase.PgCase):
    def setUp(self):
        super().setUp()
        self.start_pg()
        self.secret = self.path("secret")
        with open(self.secret, "w", encoding="ascii") as f:
            f.write(pgcase.PASSWORD + "\n")
        os.chmod(self.secret, 0o600)

    def store(self, *args):
        return self.run_any(lib.MUSTER, "store", *args, "--password-file", self.secret)

    def fill(self, data, nodes=3):
        self.run_ok(lib.MUSTER, "simulate", "--backfill", "5h", "--nodes", nodes, "--gpus", "3", "--every", "10s", "--until", UNTIL, "--people", "20", "--data", data)
        for role in ("enroll", "reader"):
            self.run_ok(lib.MUSTER, "token", "new", "--role", role, "--data", data)

    def points(self, data):
        """All samples there are, as text."""
        out = self.path("out.csv")
        self.run_ok(lib.MUSTER, "export", "--format", "csv", "--from", "2026-11-09T00:00:00Z", "--to", "2026-11-11T00:00:00Z", "--data", data, "-o", out)
        with open(out, encoding="utf-8") as f:
            return sorted(f)

    def check_same(self, a, b):
        for table in TABLES:
            self.assertEqual(rows(f"{a}/muster.db", f"SELECT * FROM {table}"), rows(f"{b}/muster.db", f"SELECT * FROM {table}"), table)
        taken = "SELECT node, run, ranges FROM seen"
        self.assertEqual(rows(f"{a}/muster.db", taken), rows(f"{b}/muster.db", taken))
        got, want = self.points(b), self.points(a)
        self.assertGreater(len(want), 1000)
        self.assertEqual(len(got), len(want))
        self.assertEqual(got, want)

    def move_under_fire(self, source, to, times):
        """Killed with -9 so often, at any point, and then to its end."""
        for _ in range(times):
            p = subprocess.Popen([lib.MUSTER, "store", "move", source, to, "--password-file", self.secret], stderr=subprocess.PIPE)
            time.sleep(random.random() * 0.5)
            p.kill()
            p.communicate()
            if p.returncode == 0:
                return
        status, _, err = self.store("move", source, to)
        if "there is a store already" not in err:  # the last one that was killed had come to its end
            self.assertEqual(status, 0, err)

    def test_a_folder_goes_to_a_server_and_back_though_it_is_killed(self):
        a, b = self.path("a"), self.path("b")
        self.fill(a)
        url = self.base("one")
        self.move_under_fire(a, url, 6)
        status, out, err = self.store("check", url, "--json")
        self.assertEqual(status, 0, err)
        got = json.loads(out)
        self.assertEqual((got["nodes"], got["damaged_chunks"], got["batches"], got["astray"]), (3, 0, 0, 0))
        self.assertEqual(got["chunks"], rows(f"{a}/history.db", "SELECT count(*) FROM chunk")[0][0])
        self.move_under_fire(url, b, 6)
        self.check_same(a, b)
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0", data=b)  # and it is a store as any
        self.assertTrue(lib.ask_json(hub.url + "/api/v1/state")["nodes"])

    @lib.long
    def test_it_goes_on_after_many_ends(self):
        a, b = self.path("a"), self.path("b")
        self.fill(a, nodes=20)
        url = self.base("one")
        self.move_under_fire(a, url, 60)
        self.move_under_fire(url, b, 60)
        self.check_same(a, b)

    @lib.long
    def test_what_changed_in_between_is_moved_too(self):
        a, b = self.path("a"), self.path("b")
        self.fill(a)
        url = self.base("one")
        status, _, err = self.store("move", a, url)
        self.assertEqual(status, 0, err)
        self.sql("one", "CREATE TABLE moving(source text, mark text, stage bigint)")  # as if it had been killed at its last step
        self.sql("one", f"INSERT INTO moving VALUES('{a}', 'another', 17)")
        self.run_ok(lib.MUSTER, "simulate", "--backfill", "5h", "--nodes", "5", "--gpus", "3", "--every", "10s", "--until", UNTIL, "--data", a)
        self.assertEqual(self.store("move", a, url)[0], 0)
        self.assertEqual(self.store("move", url, b)[0], 0)
        self.check_same(a, b)

    @lib.long
    def test_it_is_refused_with_a_reason(self):
        a, c = self.path("a"), self.path("c")
        self.fill(a)
        url = self.base("one")
        hub = self.start_hub(data=a)
        status, _, err = self.store("move", a, url)
        self.assertEqual(status, 1, err)
        self.assertIn("another hub is using it", err)
        hub.stop()
        status, _, err = self.store("move", self.path("nothing"), url)
        self.assertEqual(status, 3, err)
        self.assertIn("there is no store in", err)
        self.assertFalse(os.path.exists(self.path("nothing")))
        for args, want in (((a, self.path("b")), "both are folders"), ((url, url), "both are on a server"), ((a,), "expected init")):
            status, _, err = self.store("move", *args)
            self.assertEqual(status, 2, err)
            self.assertIn(want, err)
        self.assertEqual(self.store("move", a, url)[0], 0)
        self.fill(c)
        for source, to in ((c, url), (url, c)):
            status, _, err = self.store("move", source, to)
            self.assertEqual(status, 1, err)
            self.assertIn("there is a store already", err)
        os.remove(self.secret)
        status, _, err = self.store("status", url)
        self.assertEqual(status, 3, err)

    @lib.long
    def test_a_hub_does_not_open_what_is_half_moved(self):
        a = self.path("a")
        self.fill(a)
        with contextlib.closing(sqlite3.connect(f"{a}/muster.db")) as db:
            db.execute("CREATE TABLE moving(source TEXT, mark TEXT, stage INTEGER)")
            db.commit()
        status, _, err = self.run_any(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", a)
        self.assertNotEqual(status, 0)
        self.assertIn("a move into this store is not finished", err)

    @lib.long
    def test_init_makes_tables_and_status_shows_them(self):
        url = self.base("one")
        status, _, err = self.store("status", url)
        self.assertEqual(status, 1, err)
        self.assertIn("muster store init", err)
        self.assertIn("the tables are there\n", self.store("init", url)[2])
        self.assertIn("the tables are there already", self.store("init", url)[2])
        status, out, err = self.store("status", url, "--json")
        self.assertEqual(status, 0, err)
        got = json.loads(out)
        self.assertEqual((got["hubs"], got["batches_waiting"], got["chunks"], got["moving"]), ([], 0, 0, False))
        self.assertIn("no hub uses it", self.store("status", url)[1])
        text = self.run_ok(lib.MUSTER, "store", "init", "--print")
        other = self.base("two")
        self.sql("two", text)
        self.assertIn("the tables are there already", self.store("init", other)[2])
        self.sql("two", "UPDATE muster_version SET version = version + 2")
        status, _, err = self.store("init", other)
        self.assertEqual(status, 1, err)
        self.assertIn("made by a newer muster", err)

    @lib.long
    def test_check_tells_damage(self):
        a = self.path("a")
        self.fill(a)
        self.assertEqual(self.store("check", a)[0], 0)
        with contextlib.closing(sqlite3.connect(f"{a}/history.db")) as db:
            db.execute("UPDATE chunk SET bytes = CAST(substr(bytes, 1, length(bytes) - 3) || x'ffffff' AS BLOB) WHERE id = (SELECT min(id) FROM chunk)")
            db.commit()
        status, out, err = self.store("check", a)
        self.assertEqual(status, 1, err)
        self.assertIn("(1 damaged)", out)


lib.main()
