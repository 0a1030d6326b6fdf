#!/usr/bin/python3
"""History made, kept and carried: simulate --backfill, backup, restore, export, import."""
import contextlib
import os
import random
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

import lib

UNTIL = "2026-11-15T04:00:00Z"
UNTIL_MS = 1794715200000


def rows(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


class Carry(lib.Case):
    def backfill(self, data, *flags):
        return self.run_any(lib.MUSTER, "simulate", "--backfill", "5h", "--nodes", "2", "--gpus", "3", "--every", "10s", "--until", UNTIL, "--data", data, *flags)

    def limited(self, size, *argv):
        """Runs it with files bounded to size: a disk that is full."""
        def bound():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return subprocess.run([str(a) for a in argv], preexec_fn=bound, restore_signals=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)

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
        token = self.secret("token", self.token("enroll"))
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
        for flags, said in ((["--backfill", "1h"], "needs --data DIR"), (["--data", self.path("x")], "--data needs --backfill"),
                            (["--backfill", "1h", "--data", self.path("x"), "--until", "soon"], "'soon' is not a time"),
                            (["--backfill", "1h", "--data", self.path("x"), "--hub", "http://h"], "exclude each other")):
            status, _, err = self.run_any(lib.MUSTER, "simulate", *flags)
            self.assertEqual(status, 2, err)
            self.assertIn(said, err)


class Killed(Carry):
    """What is killed at a random moment, again and again. MUSTER_TEST_KILLS says how often.

    The past of a class is made once; each of its tests has a copy."""
    past = ()

    @classmethod
    def setUpClass(cls):
        cls.maker = Carry()
        cls.maker.setUp()
        cls.addClassCleanup(cls.maker.doCleanups)
        cls.maker.run_ok(lib.MUSTER, "simulate", *cls.past, "--until", UNTIL, "--data", cls.maker.path("data"))

    def setUp(self):
        super().setUp()
        shutil.copytree(self.maker.path("data"), self.path("data"))
        self.kills = int(os.environ.get("MUSTER_TEST_KILLS", "5"))
        self.random = random.Random(7)

    def kill_at_random(self, argv, longest):
        """True: it was killed; False: it was done before."""
        p = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(self.random.uniform(0, longest))
            return False
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            return True

    def kills_at_random(self, argv, longest):
        """Yields after each try whether it was killed, until that was so at least once; longest: how long it took. What is done before is tried with less: the machine may have had more to do then."""
        tries = killed = 0
        while tries < self.kills or not killed:
            self.assertLess(tries, 100 + self.kills, "it is always done before")
            began = time.monotonic()
            hit = self.kill_at_random(argv, longest)
            longest = longest if hit else min(longest, time.monotonic() - began)
            tries, killed = tries + 1, killed + hit
            yield hit

    def how_long(self, *argv):
        start = time.monotonic()
        self.run_ok(*argv)
        return time.monotonic() - start


class Backup(Killed):
    past = ("--backfill", "1d", "--nodes", "3", "--gpus", "4", "--every", "10s")

    def setUp(self):
        super().setUp()
        self.data, self.file, self.to = self.path("data"), self.path("backup"), self.path("to")

    def test_there_and_back_again_beside_a_hub(self):
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0")
        self.run_ok(lib.MUSTER, "backup", self.file, "--data", self.data)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.run_ok(lib.MUSTER, "backup", "--check", self.file)
        self.run_ok(lib.MUSTER, "restore", self.file, "--data", self.to)
        self.assertEqual(self.chunks(self.to), self.chunks(self.data))
        other = self.start_hub("--keep-raw", "0", "--keep-minute", "0", data=self.to)
        query = f"/api/v1/history?device=*&metric=util,power,energy&from={UNTIL_MS - 7200000}&to={UNTIL_MS}&step=10s&agg=last"
        self.assertEqual(lib.ask_json(hub.url + query), lib.ask_json(other.url + query))
        self.assertTrue(os.path.exists(os.path.join(self.to, "admin.token")))
        self.assertEqual(subprocess.check_output([lib.MUSTER, "backup", "-q", "-", "--data", self.data])[:8], b"MUSTBKUP")
        status, _, err = self.run_any(lib.MUSTER, "restore", self.file, "--data", self.to, "--force")
        self.assertEqual(status, 1)
        self.assertIn("another hub is using it", err)

    def test_a_backup_that_is_killed_leaves_the_one_before(self):
        argv = (lib.MUSTER, "backup", self.file, "--data", self.data)
        longest, killed = self.how_long(*argv), []
        for hit in self.kills_at_random(argv, longest):
            killed.append(hit)
            self.run_ok(lib.MUSTER, "backup", "--check", self.file)
        print(f"backup killed {sum(killed)} times of {len(killed)} ", end="", flush=True)

    def test_a_restore_that_is_killed_leaves_the_old_folder_or_the_new_one(self):
        self.run_ok(lib.MUSTER, "backup", self.file, "--data", self.data)
        want = self.chunks(self.data)
        longest, killed, new = self.how_long(lib.MUSTER, "restore", self.file, "--data", self.path("once")), [], 0

        def prepare():
            shutil.rmtree(self.to, ignore_errors=True)
            os.mkdir(self.to)
            with open(os.path.join(self.to, "mine"), "w", encoding="ascii"):
                pass
        prepare()
        for hit in self.kills_at_random((lib.MUSTER, "restore", self.file, "--data", self.to, "--force"), longest):
            killed.append(hit)
            there = set(os.listdir(self.to))
            if "mine" in there:
                self.assertEqual(there - {"lock"}, {"mine"})
            else:
                new += 1
                self.assertNotIn("unfinished", there)
                self.assertEqual(self.chunks(self.to), want)
            prepare()
        print(f"restore killed {sum(killed)} times of {len(killed)}, {new} times it was done ", end="", flush=True)
        self.run_ok(lib.MUSTER, "restore", self.file, "--data", self.to, "--force")
        for name in os.listdir(self.dir):
            if name.startswith("to.restore-"):
                self.assertFalse(os.path.exists(os.path.join(self.dir, name, "unfinished")), "a leftover stayed")

    def test_a_full_disk_costs_nothing_but_the_try(self):
        self.run_ok(lib.MUSTER, "backup", self.file, "--data", self.data)
        size, want = os.path.getsize(self.file), self.chunks(self.data)
        tried = 0
        for part in (40000, 100000, size // 3, size // 2, size - 1):  # SQLite itself needs 32 KiB beside what it reads
            got = self.limited(part, lib.MUSTER, "backup", self.path("other"), "--data", self.data)
            self.assertEqual(got.returncode, 3)
            self.assertIn(b"cannot write the backup", got.stderr)
            self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("other")], [])
            tried += 1
        with open("/dev/full", "wb") as full:
            got = subprocess.run([lib.MUSTER, "backup", "-", "--data", self.data], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertIn(b"No space left", got.stderr)
        os.mkdir(self.to)
        with open(os.path.join(self.to, "mine"), "w", encoding="ascii"):
            pass
        for part in (0, 1, 4096, 50000, size // 3, size // 2):
            got = self.limited(part, lib.MUSTER, "restore", self.file, "--data", self.to, "--force")
            self.assertEqual(got.returncode, 3, got.stderr)
            self.assertEqual(set(os.listdir(self.to)) - {"lock"}, {"mine"})
            self.assertEqual([n for n in os.listdir(self.dir) if ".restore-" in n], [])
            tried += 1
        print(f"{tried} full disks ", end="", flush=True)
        self.run_ok(lib.MUSTER, "restore", self.file, "--data", self.to, "--force")
        self.assertEqual(self.chunks(self.to), want)

    def test_what_cannot_be_is_said(self):
        for argv, status, said in ((("backup", self.file, "--data", self.path("none")), 3, "no data of a hub"), (("backup",), 2, "expected one FILE"),
                                   (("restore", self.path("none"), "--data", self.to), 3, "No such file"), (("restore", "/bin/sh", "--data", self.to), 3, "not a backup"),
                                   (("backup", self.path("no/such/folder/b"), "--data", self.data), 3, "No such file")):
            got = self.run_any(lib.MUSTER, *argv)
            self.assertEqual(got[0], status, got[2])
            self.assertIn(said, got[2])
        self.assertFalse(os.path.exists(self.to))


class Export(Killed):
    formats = ("jsonl", "csv", "openmetrics")
    past = ("--backfill", "5h", "--nodes", "2", "--gpus", "2", "--every", "10s")

    def setUp(self):
        super().setUp()
        self.data, self.to = self.path("data"), self.path("to")

    def put(self, sql, *rows_):
        with contextlib.closing(sqlite3.connect(os.path.join(self.data, "muster.db"))) as db, db:
            db.executemany(sql, rows_)

    def test_events_and_jobs_come_along_but_not_in_openmetrics(self):
        node, gpu = rows(os.path.join(self.data, "muster.db"), "SELECT node, device FROM processes LIMIT 1")[0]
        self.put("INSERT INTO events(node, device, at_ms, kind, slot, code, text) VALUES(?, ?, ?, 1, 1, 79, ?)",
                 *((node, gpu, UNTIL_MS - i * 1000, f'=cmd "{i}", \u00fc') for i in range(5)))
        job = dict(id=77, parent=0, **{"class": 0}, start_ms=UNTIL_MS - 5000, end_ms=UNTIL_MS - 1000, name="@train, \"x\"", kind="record", person="kim", owner="person:kim", node=node, attrs='{"a":"b"}')
        columns = [r[1] for r in rows(os.path.join(self.data, "muster.db"), "PRAGMA table_info(jobs)")]
        values = [job.get(c, "") for c in columns]
        self.put(f"INSERT INTO jobs({','.join(columns)}) VALUES({','.join('?' * len(columns))})", values)
        for kind in ("jsonl", "csv"):
            text = self.export(self.data, kind)
            self.assertEqual(text.count(b"=cmd"), 5)
            self.assertEqual(text.count(b"@train"), 1)
            for line in text.split(b"\n"):
                for cell in line.split(b"," if kind == "csv" else b"\n"):
                    self.assertFalse(cell.startswith((b"=", b"@")), line)
            to = self.path("to-" + kind)
            self.run_ok(lib.MUSTER, "import", self.save("export", text), "--data", to)
            self.assertEqual(self.export(to, kind), text)
        self.assertNotIn(b"train", self.export(self.data, "openmetrics"))

    def test_data_of_a_newer_muster_is_left_alone(self):
        self.put("PRAGMA user_version = 999", ())
        file = self.save("whole", b'{"muster_export":1}\n')
        for argv in (("export", "--data", self.data), ("import", file, "--data", self.data), ("backup", self.path("b"), "--data", self.data)):
            status, _, err = self.run_any(lib.MUSTER, *argv)
            self.assertEqual(status, 3)
            self.assertIn("written by a newer muster", err)
        self.assertFalse(os.path.exists(self.path("b")))
        status, _, err = self.run_any(lib.MUSTER, "import", "--dry-run", self.save("newer", b'{"muster_export":2}\n'))
        self.assertEqual(status, 1)
        self.assertIn("newer muster", err)

    def export(self, data, kind, *flags):
        return subprocess.run([lib.MUSTER, "export", "--data", data, "--format", kind, *flags], stdout=subprocess.PIPE, check=True).stdout

    def save(self, name, text):
        with open(self.path(name), "wb") as f:
            f.write(text)
        return self.path(name)

    def test_what_is_exported_and_imported_is_exported_alike(self):
        for kind in self.formats:
            text = self.export(self.data, kind)
            file, to = self.save("export." + kind, text), self.path("to-" + kind)
            self.run_ok(lib.MUSTER, "import", file, "--data", to)
            self.assertEqual(self.export(to, kind), text)
            # again, twice at once, and out of another format: it counts once
            self.run_ok(lib.MUSTER, "import", file, file, "--data", to)
            self.run_ok(lib.MUSTER, "import", self.path("export.jsonl"), "--data", to)
            self.assertEqual(self.export(to, kind), text)
        self.assertEqual(self.export(self.path("to-csv"), "jsonl"), self.export(self.data, "jsonl"))
        # what was there before it was exported is there once, too
        self.run_ok(lib.MUSTER, "import", self.path("export.csv"), "--data", self.data)
        self.assertEqual(self.export(self.data, "csv"), self.export(self.path("to-csv"), "csv"))

    def test_a_part_of_it(self):
        lines = self.export(self.data, "csv", "--device", "sim1:1", "--metric", "power", "--kind", "samples", "--from", str(UNTIL_MS - 3600000), "--to", str(UNTIL_MS - 60000)).decode().split("\r\n")
        samples = [r.split(",") for r in lines if r.startswith("samples")]
        self.assertEqual(len(samples), 354)
        self.assertEqual({(s[1] != "", s[4]) for s in samples}, {(True, "power")})
        self.assertEqual(samples[0][3], "2026-11-15T03:00:00.000Z")
        steps = self.export(self.data, "csv", "--device", "sim1:1", "--metric", "power", "--metric", "energy", "--kind", "samples", "--step", "10m").decode().split("\r\n")
        self.assertEqual(len([r for r in steps if ",power," in r]), 30)
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0")  # and beside a hub
        got = lib.ask_json(hub.url + f"/api/v1/history?device=sim1:1&metric=energy&from={UNTIL_MS - 5 * 3600000}&to={UNTIL_MS}&step=10m&agg=last")
        self.assertEqual([float(r.split(",")[5]) for r in steps if ",energy," in r], got["series"][0]["v"])
        self.assertEqual(self.export(self.data, "csv", "--device", "sim1:1", "--metric", "power", "--metric", "energy", "--kind", "samples", "--step", "10m").decode().split("\r\n"), steps)

    def test_openmetrics_is_what_prometheus_takes(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("no promtool")
        file = self.save("export.om", self.export(self.data, "openmetrics"))
        out = self.run_ok(promtool, "tsdb", "create-blocks-from", "openmetrics", file, self.path("tsdb"))
        samples = sum(int(line.split()[4]) for line in out.splitlines() if line.startswith("0"))
        with open(file, encoding="utf-8") as f:
            self.assertEqual(samples, sum(1 for line in f if not line.startswith("#")))

    def test_a_bad_line_is_named_and_what_came_before_counts_once(self):
        for kind, bad, column in (("jsonl", b'{"kind":"samples","node":"aa","metric":"util","t":[5,x],"v":[1,2]}', 54), ("csv", b"samples,aa,,soon,util,1,\r", 13),
                                  ("openmetrics", b"muster_gpu_power_watts{node=\"m\"} 1 5", 1)):
            text = self.export(self.data, kind)
            lines, to = text.split(b"\n"), self.path("to-" + kind)
            at = len(lines) * 2 // 3
            broken = self.save("broken", b"\n".join(lines[:at] + [bad] + lines[at:]))
            for _ in range(2):
                status, _, err = self.run_any(lib.MUSTER, "import", broken, "--data", to)
                self.assertEqual(status, 1)
                self.assertIn(f"{broken}:{at + 1}:{column}: ", err)
            status, _, err = self.run_any(lib.MUSTER, "import", "--dry-run", broken)
            self.assertIn(f"{broken}:{at + 1}:{column}: ", err)
            self.run_ok(lib.MUSTER, "import", self.save("whole", text), "--data", to)
            self.assertEqual(self.export(to, kind), text)
        self.save("cut", self.export(self.data, "openmetrics")[:-6])
        status, _, err = self.run_any(lib.MUSTER, "import", "--dry-run", self.path("cut"))
        self.assertEqual(status, 1)
        self.assertIn("# EOF is missing", err)
        self.run_ok(lib.MUSTER, "import", "--dry-run", self.path("whole"), "--data", self.path("none"))
        self.assertFalse(os.path.exists(self.path("none")))

    def test_an_import_that_is_killed_is_done_again_without_doubles(self):
        text = self.export(self.data, "jsonl")
        file = self.save("export", text)
        longest = self.how_long(lib.MUSTER, "import", file, "--data", self.path("once"))
        killed = list(self.kills_at_random((lib.MUSTER, "import", file, "--data", self.to), longest))
        self.run_ok(lib.MUSTER, "import", file, "--data", self.to)
        self.assertEqual(self.export(self.to, "jsonl"), text)
        print(f"import killed {sum(killed)} times of {len(killed)} ", end="", flush=True)

    def test_a_full_disk_is_said_and_nothing_is_double_afterwards(self):
        text = self.export(self.data, "jsonl")
        file, tried = self.save("export", text), 0
        for size in (0, 4096, 40000, 70000, 100000, 150000, 200000):
            got = self.limited(size, lib.MUSTER, "import", file, "--data", self.to)
            self.assertEqual(got.returncode, 3, (size, got.stderr))
            tried += 1
        got = self.limited(100000, lib.MUSTER, "export", "--data", self.data, "-o", self.path("out"))
        self.assertEqual(got.returncode, 3)
        self.assertIn(b"cannot write", got.stderr)
        self.assertFalse([n for n in os.listdir(self.dir) if n.startswith("out")])
        self.run_ok(lib.MUSTER, "import", file, "--data", self.to)
        self.assertEqual(self.export(self.to, "jsonl"), text)
        print(f"{tried} full disks ", end="", flush=True)

    def test_a_hub_takes_it_in(self):
        text = self.export(self.data, "csv", "--kind", "samples")
        file = self.save("export", text)
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0", data=self.to)
        token = self.secret("token", self.token("enroll", data=self.to))
        for _ in range(2):
            self.run_ok(lib.MUSTER, "import", file, "--hub", hub.url, "--token-file", token)
            self.secret("token", self.token("enroll", data=self.to))
        self.assertEqual(self.export(self.to, "csv", "--kind", "samples"), text)
        status, _, err = self.run_any(lib.MUSTER, "import", file, "--data", self.to)
        self.assertEqual(status, 3)
        self.assertIn("another hub is using it", err)

    def test_what_cannot_be_is_said(self):
        for argv, status, said in ((("import",), 2, "expected FILE"), (("import", "x"), 2, "no destination"), (("import", self.path("x"), "--data", self.to), 3, "No such file"),
                                   (("import", "--dry-run", "/bin/sh"), 1, "/bin/sh:1:1: this is not an export"), (("export", "--data", self.path("x")), 3, "no data of a hub"),
                                   (("export", "--data", self.data, "--format", "xml"), 2, "format"), (("export", "--data", self.data, "--kind", "x"), 2, "--kind: 'x'"),
                                   (("export", "--data", self.data, "--from", "x"), 2, "--from")):
            got = self.run_any(lib.MUSTER, *argv)
            self.assertEqual(got[0], status, got)
            self.assertIn(said, got[2])


if __name__ == "__main__":
    lib.main()
