#!/usr/bin/python3
"""`muster wandb pull` against the stand-in for W&B: every row and every table to the last digit, whatever is killed, refused or broken on the way.

MUSTER_TEST_LONG=1: the whole programme of 20,000 runs, and more kills; else one of 1,500 and some.
"""
import collections
import csv
import datetime
import io
import json
import os
import random
import signal
import subprocess
import threading
from decimal import Decimal

import lib
import wandb_calc
import wandb_programme
import wandb_world
from wandb_standin import KEY, Standin

LONG = bool(os.environ.get("MUSTER_TEST_LONG"))
COLUMNS = ("date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,cpu_count,average_gpu_utilization,average_gpu_memory,"
           "max_gpu_utilization,max_gpu_memory,host_name,logged_at,run_exists").split(",")


class PullCase(lib.Case):
    def setUp(self):
        super().setUp()
        self.said = []

    def serve(self, programme, page_most=1000, **kw):
        self.programme, self.world = programme, programme.fill(wandb_world.World())
        self.world.page_most = page_most
        self.standin = Standin(self.world, **kw)
        self.standin.__enter__()
        self.addCleanup(self.standin.__exit__)
        self.write_config()
        return self.standin

    def write_config(self, **more):
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(self.programme.config_text(**{"base_url": self.standin.url, **more}))

    def argv(self, *flags, data="data", first=None, last=None):
        os.makedirs(self.path(data), exist_ok=True)
        return [lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--start-date", str(first or self.programme.first),
                "--end-date", str(last or self.programme.last), "--data", self.path(data), *flags]

    def pull(self, *flags, want=0, key=KEY, **kw):
        status, out, err = self.run_any(*self.argv(*flags, **kw), env={"WANDB_API_KEY": key} if key else {}, limit=600)
        self.said.append(out + err)
        self.assertEqual(status, want, out + err)
        return out + err

    def rows(self, data="data", *flags):
        text = self.run_ok(lib.MUSTER, "wandb", "export", "--columns", "18", "--data", self.path(data), *flags)
        got = list(csv.DictReader(io.StringIO(text)))
        if got:
            self.assertEqual(list(got[0]), COLUMNS)
        return got

    def asked(self):
        """How many samples were asked of each run."""
        return {(v["entity"], v["project"], v["name"]): v["samples"] for _, op, v in self.standin.log if op == "events"}

    def calculation(self, asked=None, **kw):
        asked = self.asked() if asked is None else asked
        by_key = {(r.team, r.project, r.name): r for r in self.programme.runs}
        for key, samples in asked.items():  # one a minute
            life = (by_key[key].heartbeat - by_key[key].created) // 60000
            self.assertTrue(samples in (min(10000, max(100, life)), min(10000, max(100, life + 1))), (key, samples, life))
        return wandb_calc.Calculation(self.programme, samples=asked, **kw)

    def assertRows(self, calc, got, logged=1):
        want = {r.key: r for r in calc.rows}
        have = {}
        for row in got:
            key = (row["date"], row["company_name"], row["project"], row["run_id"])
            self.assertNotIn(key, have)
            have[key] = row
        self.assertEqual(sorted(set(want) - set(have))[:5], [], "missing")
        self.assertEqual(sorted(set(have) - set(want))[:5], [], "too many")
        for key, r in want.items():
            cells = r.cells()
            self.assertEqual({k: have[key][k] for k in cells}, cells, key)
            self.assertEqual(json.loads(have[key]["tags"]), r.run.tags)
            for name, at in (("created_at", r.run.created), ("updated_at", r.run.heartbeat)):
                self.assertEqual(datetime.datetime.fromisoformat(have[key][name]), local(at, self.programme.zone), key)
        self.assertEqual(len({row["logged_at"] for row in got}), logged)
        order = [(r["company_name"], [-ord(c) for c in r["date"]], r["run_id"], r["project"]) for r in got]
        self.assertEqual(order, sorted(order))

    def assertTables(self, calc, data="data"):
        """The report of the hub over what was pulled."""
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"people_companies: {self.path('config.yaml')}\nwandb:\n  config: {self.path('config.yaml')}\n")
        hub = self.start_hub("--config", self.path("muster.yaml"), data=self.path(data))
        first, last = self.programme.first, self.programme.last
        ask = lambda period, a, b: json.loads(lib.ask(f"{hub.url}/api/v1/report?source=wandb&zone={self.programme.zone}&period={period}&from={a}&to={b}")[2], parse_float=Decimal)
        for period in ("daily", "weekly", "monthly", "overall"):
            self.assertEqual(exact(ask(period, first, last)["rows"]), exact(calc.table(period, first, last)), period)
        for a, b in ((first, last), (last - datetime.timedelta(days=6), last), (min(first + datetime.timedelta(days=30), last), min(first + datetime.timedelta(days=60), last))):
            self.assertEqual(exact(ask("summary", a, b)["rows"]), exact(calc.summary(a, b)), (a, b))
        hub.stop()


def exact(rows):
    """Numbers as text without needless zeros, so that 24 and 24.0 are the same and 24.1 and 24.10000001 are not."""
    return [{k: str(Decimal(v).normalize() + 0) if isinstance(v, (int, Decimal)) else v or None for k, v in row.items()} for row in rows]


def local(ms, zone):
    import zoneinfo
    return datetime.datetime.fromtimestamp(ms // 1000, zoneinfo.ZoneInfo(zone)).replace(tzinfo=None) + datetime.timedelta(milliseconds=ms % 1000)


class Whole(PullCase):
    def test_a_pull_is_what_the_runs_come_to(self):
        self.serve(wandb_programme.Programme(1, runs=20000 if LONG else 1500), page_most=1000 if LONG else 70)
        said = self.pull()
        calc = self.calculation()
        self.assertRows(calc, self.rows())
        self.assertTables(calc)
        count = self.standin.count
        counted = len({(r.run.team, r.run.project, r.run.name) for r in calc.rows})
        self.assertEqual(self.standin.wrong, [])
        self.assertLessEqual(count["events"], counted)
        self.assertGreater(count["events"], counted * 9 // 10)
        self.assertEqual(count["upsertBucket"] + count["notifyScriptableRunAlert"], 0)  # enable_alert is off
        # a second one asks for no metrics again of runs that are over, and changes nothing
        asked = self.asked()
        self.standin.clear()
        self.pull()
        self.assertEqual(self.standin.count["events"], 0)
        self.assertRows(calc, self.rows())
        self.assertNotIn(KEY, "".join(self.said))
        self.assertRegex(said, r"\d")
        # what goes on is heard of again
        grown = [r for r in self.programme.runs if r.running][:20]
        self.assertGreater(len(grown), 3)
        for r in grown:
            r.heartbeat += 5 * 3600000
            r.metrics.n += 10
            self.world.find(r.team, r.project).drop(r.name)
            r.add_to(self.world)
        self.standin.clear()
        self.pull()
        self.assertLessEqual(set(self.asked()), {(r.team, r.project, r.name) for r in grown})
        self.assertRows(self.calculation(asked={**asked, **self.asked()}), self.rows())

    def test_another_zone_and_another_window(self):
        self.serve(wandb_programme.Programme(2, runs=300, days=60, first=datetime.date(2025, 3, 1), zone="Europe/Berlin"), page_most=13)  # clocks go forward on March 30
        self.pull()
        calc = self.calculation()
        self.assertRows(calc, self.rows())
        self.assertTables(calc)
        # a part of it, into another file; then the whole again
        self.standin.clear()
        first, last = self.programme.first + datetime.timedelta(days=20), self.programme.first + datetime.timedelta(days=31)
        self.pull(data="part", first=first, last=last)
        self.assertRows(self.calculation(first=first, last=last), self.rows("part"))
        self.pull(data="part")
        self.assertRows(calc, self.rows("part"))

    def test_runs_that_were_deleted_are_in_no_table(self):
        self.serve(wandb_programme.Programme(3, runs=250, days=40))
        self.pull()
        calc = self.calculation()
        gone = random.Random(3).sample([r for r in self.programme.runs if calc.counts(r) is not None], 20)
        for r in gone:
            r.deleted = True
            self.world.find(r.team, r.project).drop(r.name)
        self.pull()
        got = self.rows()
        self.assertRows(calc, got, logged=2)  # what is gone is as it was
        keys = {(r.team, r.project, r.name) for r in gone}
        for row in got:
            self.assertEqual(row["run_exists"], "deleted" if (row["company_name"], row["project"], row["run_id"]) in keys else "exists")
        self.assertTables(calc)


class Killed(PullCase):
    def test_killed_at_any_request_it_goes_on_and_comes_to_the_same(self):
        rng = random.Random(41)
        self.serve(wandb_programme.Programme(4, runs=20000 if LONG else 600, days=184 if LONG else 90), page_most=1000 if LONG else 25, latency=0.002)
        kills, victim, begun, left = (200 if LONG else 20), [None], threading.Event(), [0]

        def on_request(op, variables):
            begun.wait()
            if victim[0] is None:
                return
            left[0] -= 1
            if left[0] <= 0:
                victim[0].send_signal(signal.SIGTERM if k % 15 == 5 else signal.SIGKILL)  # asked politely it takes its time
                victim[0] = None
        self.standin.on_request = on_request
        asked, done = {}, False
        for k in range(kills):
            left[0] = rng.choice([1, 2, rng.randint(1, 30), rng.randint(20, 40), rng.randint(1, 400 if LONG else 20)])
            begun.clear()  # every request of it counts
            p = victim[0] = subprocess.Popen(self.argv(), env={**os.environ, "WANDB_API_KEY": KEY}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            begun.set()
            p.wait()
            asked.update(self.asked())
            self.assertIn(p.returncode, (0, 3, -signal.SIGKILL, -signal.SIGTERM))
            if p.returncode == 0:
                done = True
                break
        victim[0] = None
        self.assertGreaterEqual(k, 10)  # the rest is luck: what is under way when one is killed may still be stored
        if not done:
            self.pull()
        asked.update(self.asked())
        calc = self.calculation(asked)
        self.assertRows(calc, self.rows())
        counted = len({(r.run.team, r.run.project, r.run.name) for r in calc.rows})
        # what was stored is not asked for again: at most what was under way, and what had not been committed
        self.assertLess(self.standin.count["events"], counted + (k + 1) * (32 + 64))
        print(f"{k + 1} kills, {self.standin.count['events']} questions for the metrics of {counted} runs", flush=True)


class Faults(PullCase):
    def small(self, seed=5, runs=260, **kw):
        return self.serve(wandb_programme.Programme(seed, runs=runs, days=30), page_most=4, **kw)

    def wanted(self, least=5):
        """Projects that are asked for and have more than a page."""
        calc = wandb_calc.Calculation(self.programme)
        sizes = collections.Counter((r.team, r.project) for r in self.programme.runs)
        return [{"entity": t, "project": p} for (t, p), n in sorted(sizes.items())
                if n >= least and calc.wanted_team(calc.company_of[t]) and calc.wanted_project(calc.company_of[t], p)]

    def test_what_passes_is_tried_again(self):
        """One of each kind, in one pull."""
        s = self.small()
        kinds = [("status", {"status": 500}), ("status", {"status": 502}), ("status", {"status": 503, "retry_after": 1}), ("status", {"status": 429, "retry_after": 1}),
                 ("status", {"status": 429, "retry_after": 1, "date": True}), ("status", {"status": 408}), ("error_text", {"status": 500}), ("error_object", {"status": 503}),
                 ("errors", {"status": 502}), ("errors_text", {"status": 504}), ("reset", {}), ("close", {}), ("truncate", {}), ("garbage", {})]
        calc = wandb_calc.Calculation(self.programme)
        hit = random.Random(5).sample([r for r in self.programme.runs if calc.counts(r) is not None], len(kinds))  # a run each, so that none is hit twice
        faults = [s.fault(kind, op="events", where={"entity": r.team, "project": r.project, "name": r.name}, **more) for (kind, more), r in zip(kinds, hit)]
        faults += [s.fault(kind, op=op, **more) for (kind, more), op in zip(kinds[:2] + kinds[10:13] + kinds[:1] + kinds[11:12],
                                                                            ("models", "runs", "runs", "models", "runs", "download", "download"))]
        self.pull()
        self.assertTrue(all(f.hits for f in faults), [f.kind for f in faults if not f.hits])
        self.assertRows(self.calculation(), self.rows())

    def test_a_page_that_fails_is_that_projects_error_and_nothing_is_lost(self):
        s = self.small()
        there = self.wanted()[:4]
        self.assertEqual(len(there), 4)
        self.pull()
        before = self.rows()
        asked = self.asked()
        grown = [r for r in self.programme.runs if r.running]
        for r in grown:
            r.heartbeat += 3600000
            self.world.find(r.team, r.project).drop(r.name)
            r.add_to(self.world)
        shapes = ("errors", "errors_text", "error_text", "error_object")
        faults = [s.fault(kind, op="runs", where=lambda v, w=where: v["project"] == w["project"] and v["entity"] == w["entity"] and v["cursor"], times=None,
                          message=f"told you {k}", status=200 if k < 2 else 400) for k, (kind, where) in enumerate(zip(shapes, there))]
        said = self.pull(want=3)
        for k, where in enumerate(there):
            self.assertIn(f"{where['entity']}/{where['project']}", said)
            self.assertIn(f"told you {k}", said)
            self.assertGreaterEqual(faults[k].hits, 1)
        failed = {(w["entity"], w["project"]) for w in there}
        calc = self.calculation(asked={**asked, **self.asked()})
        after = self.rows()
        keys = lambda rows: {(r["date"], r["company_name"], r["project"], r["run_id"]) for r in rows}
        self.assertLessEqual(keys(before), keys(after))
        self.assertEqual({r["run_exists"] for r in after}, {"exists"})
        for r in calc.rows:  # the others are as they must be
            if (r.run.team, r.run.project) not in failed:
                self.assertIn(r.key, keys(after))
        s.faults.clear()
        self.pull()  # goes on where it was
        asked.update(self.asked())
        self.assertRows(self.calculation(asked), self.rows(), logged=2 if len({r["logged_at"] for r in self.rows()}) == 2 else 1)

    def test_a_first_pull_that_failed_in_the_middle_is_gone_on_with(self):
        s = self.small()
        where = self.wanted()[0]
        s.fault("errors", op="runs", where=lambda v: v["project"] == where["project"] and v["entity"] == where["entity"] and v["cursor"], times=None)
        self.pull(want=3)
        s.faults.clear()
        pages = s.count["runs"]
        self.pull()
        self.assertRows(self.calculation(), self.rows())
        self.assertLess(s.count["runs"] - pages, pages // 2)  # only what was left

    def test_pages_that_lead_nowhere_end(self):
        """More is said to come, and where it begins is where this one began."""
        s = self.small(runs=60)

        def again(data):
            data["project"]["runs"]["pageInfo"] = {"endCursor": "again", "hasNextPage": True}
            return data
        where = self.wanted(1)[0]
        s.fault("change", op="runs", where=lambda v: v["project"] == where["project"] and v["entity"] == where["entity"] and not v["cursor"], times=None, change=again)
        s.fault("change", op="runs", where=lambda v: v["cursor"] == "again", times=None, change=lambda _: {"project": {"runCount": 1, "runs": {
            "edges": [], "pageInfo": {"endCursor": "again", "hasNextPage": True}}}})
        self.assertIn(where["project"], self.pull(want=3))
        s.faults.clear()

    def test_too_much_at_once_is_asked_for_in_parts(self):
        s = self.small(runs=120)
        pages = s.fault("status", op="runs", where=lambda v: v["perPage"] > 30, times=None, status=413)
        samples = s.fault("status", op="events", where=lambda v: v["samples"] > 1000, times=None, status=413)
        self.pull()
        self.assertTrue(pages.hits and samples.hits)
        self.assertRows(wandb_calc.Calculation(self.programme, samples=self.asked()), self.rows())

    def test_two_at_once_do_not_meet(self):
        self.small()
        refused = threading.Event()
        self.standin.on_request = lambda op, variables: refused.wait(lib.LIMIT_S)  # the first one is not over before the second was refused
        first = self.start(*self.argv(), env={"WANDB_API_KEY": KEY})
        lib.wait_until("a request", lambda: self.standin.count["models"])
        said = self.pull(want=3)
        refused.set()
        self.assertRegex(said, str(first.p.pid))
        self.assertEqual(first.p.wait(lib.LIMIT_S), 0)
        self.assertRows(self.calculation(), self.rows())

    def test_a_listing_of_projects_that_fails_is_the_teams_error(self):
        s = self.small()
        team = self.wanted()[0]["entity"]
        s.fault("errors", op="models", where={"entity": team}, times=None, message="no such luck")
        said = self.pull(want=3)
        self.assertIn(team, said)
        self.assertIn("no such luck", said)
        s.faults.clear()
        self.pull()
        self.assertRows(self.calculation(), self.rows())

    def test_half_an_answer_is_no_answer(self):
        """Data beside errors, a project that is null, text that is no JSON: never a complete list."""
        for kind, more in (("partial", {"path": ("project", "runs", "edges", 0)}), ("null_project", {}), ("nulls", {"path": ("project", "runs")}),
                           ("nulls", {"path": ("project", "runs", "pageInfo")}), ("nulls", {"path": ("project", "runs", "edges")}), ("html", {}), ("bad_json", {})):
            with self.subTest(kind=kind, more=more):
                s = self.small(runs=120)
                self.pull()
                rows, asked = self.rows(), self.asked()
                where = self.wanted(1)[0]
                s.fault(kind, op="runs", where=where, times=None, **more)
                s.fault(kind, op="names", where=where, times=None, **more)
                said = self.pull(want=3)
                self.assertIn(where["project"], said)
                got = self.rows()
                for r in rows + got:
                    del r["logged_at"]
                self.assertEqual(got, rows)
                s.faults.clear()
                self.pull()
                self.assertRows(self.calculation({**asked, **self.asked()}), self.rows(), logged=len({r["logged_at"] for r in self.rows()}))
                for name in os.listdir(self.path("data")):
                    os.unlink(self.path("data/" + name))

    def test_a_run_that_is_null_in_a_list_is_not_deleted(self):
        s = self.small(runs=120)
        self.pull()
        calc = self.calculation()
        for path in (("project", "runs", "edges", "*", "node"), ("project", "runs", "edges", 0, "node"), ("project", "runs", "edges", "*", "node", "name"),
                     ("project", "runs", "edges", "*", "node", "createdAt")):
            s.faults.clear()
            s.fault("nulls", op="runs", path=path, times=None)
            status, out, err = self.run_any(*self.argv(), env={"WANDB_API_KEY": KEY})
            self.assertIn(status, (0, 3), out + err)
            got = self.rows()
            self.assertRows(calc, got, logged=len({r["logged_at"] for r in got}))
            self.assertEqual({r["run_exists"] for r in got}, {"exists"}, path)

    def test_nulls_anywhere_are_survived(self):
        s = self.small(runs=40)
        node = ("project", "runs", "edges", "*", "node")
        paths = [("project",), ("project", "runs"), ("project", "runs", "edges"), ("project", "runs", "edges", "*"), node,
                 *[node + (f,) for f in ("id", "name", "displayName", "state", "tags", "host", "createdAt", "heartbeatAt", "config", "summaryMetrics", "description", "user", "runInfo")],
                 node + ("runInfo", "gpu"), node + ("runInfo", "gpuCount"), node + ("user", "username"), ("project", "runs", "pageInfo"), ("project", "runs", "pageInfo", "endCursor"),
                 ("project", "runs", "pageInfo", "hasNextPage"), ("project", "run"), ("project", "run", "events"), ("models",), ("models", "edges"), ("models", "edges", "*"),
                 ("models", "edges", "*", "node"), ("models", "edges", "*", "node", "name"), ("models", "pageInfo")]
        for k, path in enumerate(paths):
            s.faults.clear()
            s.fault("nulls", path=path, times=None)
            status, out, err = self.run_any(*self.argv(data=f"d{k}"), env={"WANDB_API_KEY": KEY})
            self.assertIn(status, (0, 3), f"{path}: {out}{err}")
            self.assertNotIn("Sanitizer", out + err)
            s.faults.clear()
            if k % 4:
                continue
            # whatever came of it, the next one puts it right
            self.pull(data=f"d{k}")
            got = {(r["date"], r["company_name"], r["project"], r["run_id"]) for r in self.rows(f"d{k}") if r["run_exists"] != "deleted"}
            self.assertLessEqual({r.key for r in wandb_calc.Calculation(self.programme).rows}, got, path)

    def test_what_nobody_asked_for_and_packed_answers(self):
        self.small(extra=True, gzip_answers=True)
        self.pull()
        self.assertRows(self.calculation(), self.rows())

    def test_what_the_user_can_mend_is_told_apart(self):
        self.small(runs=20)
        for flags, words in ((("--base-url", "nowhere"), "not the address"), (("--start-date", "2025-03-02", "--end-date", "2025-03-01"), "is after"),
                             (("--start-date", "yesterday"), "expected a day")):
            status, _, said = self.run_any(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--data", self.path("data"), *flags, env={"WANDB_API_KEY": KEY})
            self.assertEqual(status, 2, said)
            self.assertIn(words, said)

    def test_a_wrong_key_is_one_clear_error(self):
        s = self.small(runs=60)
        wrong = "ffffffffffffffffffffffffffffffffffffffff"
        said = self.pull(want=3, key=wrong)
        self.assertNotIn(wrong, said)
        self.assertRegex(said, r"(?i)key|log(ged)? in|401")
        self.assertLessEqual(said.strip().count("\n"), 2, said)
        self.assertLessEqual(s.refused, 40)
        self.assertEqual(self.rows(), [])
        self.pull()
        self.assertRows(self.calculation(), self.rows())
        for root, _, files in os.walk(self.dir):
            for name in files:
                with open(os.path.join(root, name), "rb") as f:
                    text = f.read()
                self.assertFalse(KEY.encode() in text or wrong.encode() in text, name)
        self.assertNotIn(KEY, "".join(self.said))


class Said(lib.Case):
    """What a pull says, word by word."""
    TWO = """
companies:
  - {company: Acme, teams: [acme, misspelt], schedule: [{date: "2026-05-01", assigned_gpu_node: 1}, {date: "2026-05-10", assigned_gpu_node: 0}]}
"""

    def pull(self, world, day, *flags):
        with Standin(world) as s:
            with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                f.write(self.TWO)
            status, out, err = self.run_any(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, "--data", self.path("data"), "--start-date", day,
                                            "--end-date", day, *flags, env={"WANDB_API_KEY": KEY})
            self.assertEqual(status, 0, out + err)
            return out, err

    def test_one_is_not_many_and_what_is_empty_is_said(self):
        world = wandb_world.World()
        project = world.add_project("acme", "llm")
        world.entities.setdefault("misspelt", {})
        for n in (1, 2):  # both at once on a host
            project.add(wandb_world.Run(project, f"run0000{n}", createdAt="2026-05-02T03:00:00", heartbeatAt="2026-05-02T04:00:00", host="n1", runInfo={"gpu": "H200", "gpuCount": 8}))
        out, err = self.pull(world, "2026-05-02")
        self.assertRegex(out, r"^2026-05-02 to 2026-05-02: 1 of 1 project, 2 runs, \d+ requests in .+\n$")
        self.assertIn("no projects are listed for misspelt", err)
        self.assertIn("1 run of Acme began on a host while another was there", err)
        out, err = self.pull(world, "2026-05-20")
        self.assertIn("0 of 0 projects, 0 runs, 0 requests", out)
        self.assertIn("no company has nodes from 2026-05-20 to 2026-05-20: nothing was requested", err)
        for day, want in (("2026-05-02", "no projects are listed for misspelt: "), ("2026-05-20", "no company has nodes from 2026-05-20 to ")):
            out, err = self.pull(world, day, "-q")  # as cron and systemd ask: nobody would ever be told otherwise
            self.assertEqual((out, err.count("\n")), ("", 1), err)
            self.assertIn(want, err)


class Server(PullCase):
    def test_the_flag_the_environment_and_the_config_name_the_server_in_this_order(self):
        s, nobody = self.serve(wandb_programme.Programme(6, runs=110, days=30)), "http://127.0.0.1:1"
        for k, (flag, env, config) in enumerate(((None, s.url + "/", nobody), (s.url, nobody, nobody), (None, "", s.url))):
            self.write_config(base_url=config)
            status, out, err = self.run_any(*self.argv("--tries", "1", *(["--base-url", flag] if flag else []), data=f"data{k}"), env={"WANDB_API_KEY": KEY, "WANDB_BASE_URL": env})
            self.assertEqual(status, 0, out + err)
        self.assertEqual(self.run_any(*self.argv(data="none"), env={"WANDB_API_KEY": KEY, "WANDB_BASE_URL": "wandb.example"})[0], 2)


class Limited(PullCase):
    def test_the_limit_that_is_told_is_never_exceeded(self):
        for form, scope in (("int", "limit"), ("float", "limit"), ("int", "project_limit")):
            with self.subTest(form=form, scope=scope):
                s = self.serve(wandb_programme.Programme(6, runs=110, days=30), page_most=20, reset_form=form, **{scope: (60, 3) if scope == "limit" else (10, 3)})
                self.pull(data=form + scope)
                self.assertRows(self.calculation(), self.rows(form + scope))
                self.assertEqual(s.over, 0)
                self.assertGreater(sum(s.count.values()), 80)

    def test_a_limit_that_is_not_told_is_learned(self):
        for form in ("seconds", "date"):
            with self.subTest(form=form):
                s = self.serve(wandb_programme.Programme(6, runs=110, days=30), page_most=20, limit=(50, 1), headers=False, retry_after=form, latency=0.002)
                self.pull(data=form)
                self.assertRows(self.calculation(), self.rows(form))
                self.assertGreater(s.over, 0)
                self.assertLess(s.over, 40 * (1 + sum(s.count.values()) / 50))


if __name__ == "__main__":
    lib.main()
