#!/usr/bin/python3
"""`muster wandb import` and `export`: what a few files of the old dashboard become is calculated again here, the way it
was described: all rows together, the newest logged_at of each key, ordered by company, newest day, run, project."""

import csv
import io
import json
import os
import random
import signal
import subprocess
import time

import lib

SET18 = ("date company_name project run_id tags created_at updated_at state duration_hour gpu_count cpu_count "
         "average_gpu_utilization average_gpu_memory max_gpu_utilization max_gpu_memory host_name logged_at run_exists").split()
SET16 = [c for c in SET18 if c not in ("cpu_count", "run_exists")]
OLD = ("date company_name project run_id assigned_gpu_node created_at updated_at state duration_hour gpu_count "
       "average_gpu_utilization average_gpu_memory max_gpu_utilization max_gpu_memory logged_at testmode").split()
KEY = ("date", "company_name", "project", "run_id")


def write(path, columns, rows):
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n", restval="")
        w.writeheader()
        w.writerows(rows)


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def made(rng, logged, n):
    """Rows of one day's dataset: some keys come again in the next, some values are not there."""
    rows = {}
    for _ in range(n):
        day = "2024-11-%02d" % rng.randint(1, 28)
        measured = rng.random() < 0.7
        util, mem = rng.randint(0, 99 * 10**9), rng.randint(0, 99 * 10**9)
        minutes = rng.choice([1, 7, 60, 91, 1440])
        row = {
            "date": day, "company_name": rng.choice(["acme", "beta-2", "会社"]), "project": rng.choice(["llm", "p,q", "x"]),
            "run_id": "r%03d" % rng.randint(0, 60), "tags": json.dumps(rng.choice([[], ["a"], ["other_gpu", "b"]])),
            "created_at": day + "T00:00:01.000000", "updated_at": day + "T23:59:59.000000",
            "state": rng.choice(["finished", "running", "crashed"]), "duration_hour": decimal(round(minutes * 10**9 / 60)),
            "gpu_count": str(rng.choice([0, 1, 8, 64])), "cpu_count": "128", "host_name": "node%d" % rng.randint(0, 3),
            "average_gpu_utilization": decimal(util) if measured else "",
            "max_gpu_utilization": decimal(util + 10**9) if measured else "",
            "average_gpu_memory": decimal(mem) if measured else "", "max_gpu_memory": decimal(mem) if measured else "",
            "logged_at": logged, "run_exists": "exists", "assigned_gpu_node": "0", "testmode": "false",
        }
        rows[tuple(row[k] for k in KEY)] = row
    return list(rows.values())


def decimal(nano):
    text = "%d.%09d" % divmod(nano, 10**9)
    return text.rstrip("0") + ("0" if text.rstrip("0").endswith(".") else "")


def merge(files):
    """files: (columns, rows), as they were told. Rows that lack a column get null."""
    best = {}
    for columns, rows in files:
        for row in rows:
            row = {c: row[c] if c in columns else "" for c in SET18}
            key = tuple(row[k] for k in KEY)
            if key not in best or row["logged_at"] > best[key]["logged_at"]:
                best[key] = row
    out = sorted(best.values(), key=lambda r: (r["run_id"], r["project"].encode()))
    out.sort(key=lambda r: r["date"], reverse=True)
    out.sort(key=lambda r: r["company_name"].encode())
    return out


class Dataset(lib.Case):
    def setUp(self):
        super().setUp()
        self.data = self.path("data")
        rng = random.Random(11)
        self.files = [(OLD, made(rng, "2024-11-29T00:15:00.000000", 150)), (SET16, made(rng, "2024-11-30T00:15:00.250000", 150)),
                      (SET18, made(rng, "2024-12-01T00:15:00.500000", 150))]
        self.names = []
        for i, (columns, rows) in enumerate(self.files):
            self.names.append(self.path("all_runs_data.%d.csv" % i))
            write(self.names[-1], columns, rows)

    def muster(self, verb, *argv):
        return self.run_any(lib.MUSTER, "wandb", verb, "--data", self.data, *argv)

    def take(self, *argv):
        """Import, and what it said."""
        code, _, told = self.muster("import", *argv)
        self.assertEqual(code, 0, told)
        return told

    def export(self, *flags):
        code, out, told = self.muster("export", *flags)
        self.assertEqual(code, 0, told)
        return out

    def test_files_merge_as_the_old_tool_merged_them(self):
        want = merge(self.files)
        self.take(self.names[2], self.names[0])
        told = self.take(self.names[1])
        self.assertRegex(told, r"\d+ rows: [1-9]\d* new, [1-9]\d* newer than those stored, 0 the same, [1-9]\d* older and left out, 0 bad")
        got = read(self.export())
        exists = {(r["company_name"], r["project"], r["run_id"]) for r in self.files[2][1]}
        for row in want:  # of a run, not of a row
            row["run_exists"] = "exists" if (row["company_name"], row["project"], row["run_id"]) in exists else ""
        self.assertEqual(got, want)
        self.assertEqual(list(got[0]), SET18)
        for columns, flag in ((SET16, "16"), (OLD, "old")):
            part = read(self.export("--columns", flag))
            self.assertEqual(list(part[0]), columns)
            self.assertEqual([[r[c] for c in columns if c in SET18] for r in part],
                             [[r[c] for c in columns if c in SET18] for r in want])
        told = self.take(*self.names)
        self.assertRegex(told, r" 0 new, 0 newer ")
        self.assertEqual(read(self.export()), want)

    def test_bad_lines_are_told_and_what_is_no_dataset_is_refused(self):
        with open(self.names[1], "a") as f:
            f.write("2024-11-01,acme\n")
            f.write("nonsense,acme,p,r,,,,,1.0,8,,,,,,\n" * 20)
        with open(self.names[1]) as f:
            lines = len(f.readlines())
        code, _, told = self.muster("import", self.names[1])
        self.assertEqual(code, 1, told)
        self.assertIn("%s:%d: it has 2 columns where the first line has 16" % (self.names[1], lines - 20), told)
        self.assertIn("%s:%d: date is 'nonsense'; expected a date" % (self.names[1], lines - 19), told)
        self.assertIn("and 11 more", told)
        self.assertRegex(told, r" 21 bad\n")
        self.assertEqual(len(read(self.export())), len(self.files[1][1]))
        other = self.path("other.csv")
        with open(other, "w") as f:
            f.write("a,b\n1,2\n")
        code, _, told = self.muster("import", other)
        self.assertEqual(code, 1, told)
        self.assertIn("no dataset of runs", told)
        code, _, told = self.muster("import", self.path("nowhere.csv"))
        self.assertEqual(code, 3, told)
        code, _, told = self.muster("import", "--zone", "UTC", self.names[0])
        self.assertEqual(code, 2, told)
        self.assertIn("Asia/Tokyo", told)
        code, _, told = self.muster("export", "--from", "2024-11-02", "--to", "2024-11-01")
        self.assertEqual(code, 2, told)
        self.assertIn("is after", told)

    def test_an_import_that_is_killed_is_done_again(self):
        big = self.path("big.csv")
        rows = [dict(self.files[2][1][0], run_id="k%06d" % i) for i in range(30000)]
        write(big, SET18, rows)
        for pause in (0.05, 0.15, 0.3):
            p = subprocess.Popen([lib.MUSTER, "wandb", "import", "--data", self.data, "-"], stdin=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
            with open(big, "rb") as f:
                p.stdin.write(f.read(2 << 20))
            time.sleep(pause)
            p.send_signal(signal.SIGKILL)
            p.stdin.close()
            p.wait()
        self.take(big)
        self.assertEqual([r["run_id"] for r in read(self.export())], [r["run_id"] for r in rows])
        self.assertEqual(self.export("-o", self.path("out.csv")), "")
        with open(self.path("out.csv")) as f:
            self.assertEqual(len(f.readlines()), 30001)

    def test_two_do_not_write_at_once(self):
        os.mkfifo(self.path("slow.csv"))  # nobody writes to it, so the first one waits
        p = self.start(lib.MUSTER, "wandb", "import", "--data", self.data, self.path("slow.csv"))
        lib.wait_until("the first one has the file, and others can read it", lambda: self.muster("export")[0] == 0)
        code, _, told = self.muster("import", self.names[0])
        self.assertEqual(code, 3, told)
        self.assertIn("a pull or an import", told)
        self.assertEqual(self.muster("export")[0], 0)
        p.end()

    def test_the_blacklist_and_deleted_runs(self):
        rows = self.files[2][1]
        gone = rows[0]
        for row in rows:
            if all(row[k] == gone[k] for k in KEY[1:]):
                row["run_exists"] = "deleted"
        write(self.names[2], SET18, rows)
        barred = next(r for r in rows if [r[k] for k in KEY[1:]] != [gone[k] for k in KEY[1:]])
        black = self.path("blacklist.json")
        with open(black, "w") as f:
            json.dump([{"run_path": "/".join(barred[k] for k in KEY[1:]), "tags": ["x"]}], f)
        self.assertEqual(self.muster("export")[0], 3)
        self.take("--blacklist", black, self.names[2])
        got = read(self.export())
        self.assertFalse([r for r in got if all(r[k] == barred[k] for k in KEY[1:])])
        self.assertTrue([r for r in got if r["run_exists"] == "deleted"])
        self.assertEqual(read(self.export("--deleted")), [{"run_id": gone["run_id"], "company_name": gone["company_name"],
                                                           "project": gone["project"], "created_at": newest(rows, gone)}])


def newest(rows, of):
    """created_at of a run is that of the row that was logged last; they were all logged at once, so the first."""
    return next(r["created_at"] for r in rows if all(r[k] == of[k] for k in KEY[1:]))


if __name__ == "__main__":
    lib.main()
