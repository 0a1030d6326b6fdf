#!/usr/bin/python3
"""`muster wandb push` and `check` against the stand-in: tables where the old tool put them, a tag that is never lost, and every fault found."""
import datetime
import hashlib
import json
import os
import sqlite3
from decimal import Decimal

import lib
import wandb_calc
import wandb_programme
import wandb_world
from wandb_standin import KEY, Standin

BOARD = ("geniac-gpu", "gpu-dashboard2")
DAY = "2026-05-09"
LONG = bool(os.environ.get("MUSTER_TEST_LONG"))
CONFIG = """
enable_alert: true
ignore_tags: [other_gpu]
dashboard: {entity: geniac-gpu, project: gpu-dashboard2, tag_for_latest: latest}
dataset: {entity: geniac-gpu, project: gpu-dashboard2, artifact_name: all_runs_data}
companies:
  - company: Acme
    teams: [acme, acme-lab]
    schedule: [{date: "2026-05-01", assigned_gpu_node: 1}]
  - company: Beta
    teams: [beta]
    schedule: [{date: "2026-05-08", assigned_gpu_node: 2}]
  - company: Old
    teams: [old]
    schedule: [{date: "2026-05-01", assigned_gpu_node: 1}, {date: "2026-05-03", assigned_gpu_node: 0}]
"""
HEAD = ("date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,cpu_count,average_gpu_utilization,average_gpu_memory,"
        "max_gpu_utilization,max_gpu_memory,host_name,logged_at,run_exists\n")
ROWS = [
    "2026-05-09,acme,llm,aaaa0001,[],2026-05-08T22:00:00,2026-05-09T23:59:59,finished,24.0,8,96,53.272727273,24.0,100.0,30.5,n1,2026-05-10T00:15:00,exists\n",
    "2026-05-08,acme,llm,aaaa0001,[],2026-05-08T22:00:00,2026-05-09T23:59:59,finished,2.0,8,96,80.0,40.0,90.0,50.0,n1,2026-05-10T00:15:00,exists\n",
    "2026-05-02,old,p,cccc0001,[],2026-05-02T10:00:00,2026-05-02T11:00:00,finished,1.0,8,,,,,,n9,2026-05-10T00:15:00,exists\n",
    "2026-05-09,beta,tts,bbbb0001,[],2026-05-09T00:00:00,2026-05-09T11:59:59,finished,12.0,8,,70.0,20.0,99.0,44.0,m1,2026-05-10T00:15:00,exists\n",
    "2026-05-09,beta,tts,bbbb0002,\"[\"\"other_gpu\"\"]\",2026-05-09T00:00:00,2026-05-09T11:59:59,finished,12.0,8,,70.0,20.0,99.0,44.0,m2,2026-05-10T00:15:00,exists\n",
    "2026-05-09,beta,tts,bbbb0003,[],2026-05-09T00:00:00,2026-05-09T11:59:59,finished,12.0,8,,70.0,20.0,99.0,44.0,m3,2026-05-10T00:15:00,deleted\n",
]
OVERALL = ["overall_gpu_usage", "monthly_gpu_usage", "weekly_gpu_usage", "daily_gpu_usage"]
COMPANY = ["company_daily_gpu_usage", "company_daily_gpu_usage_within_30days", "company_weekly_gpu_usage", "company_weekly_gpu_usage_within_4weeks", "company_summary"]


def rows(text):
    """Of a dataset, however many decimals its seconds have."""
    return {line.replace(".000000", "") for line in text.splitlines(True)[1:]}


def put_artifact(world, name, files, kind="dataset", where=BOARD):
    """A version as somebody else wrote it."""
    project = world.add_project(*where)
    coll = project.collections.setdefault(name, wandb_world.Collection(world, name))
    entries = {n: wandb_world.b64_md5(d) for n, d in files.items()}
    art = wandb_world.Artifact(coll, wandb_world.manifest_digest(entries), {"artifactTypeName": kind})
    art.contents, art.state, art.versionIndex = dict(files), "COMMITTED", len(coll.versions)
    coll.versions.append(art)
    coll.aliases["latest"] = art
    world.artifacts[art.id] = art
    return art


def put_run(world, name, display, tags, where=BOARD, **kw):
    project = world.add_project(*where)
    run = wandb_world.Run(project, name, displayName=display, tags=list(tags), createdAt="2026-05-09T00:20:00Z", heartbeatAt="2026-05-09T00:20:10Z", state="finished", **kw)
    project.add(run)
    return run


def old_world(having=ROWS):
    """As the old tool left it a day before."""
    world = wandb_world.World()
    if having is not None:
        put_artifact(world, "all_runs_data", {"all_runs_data.csv": (HEAD + "".join(having)).encode()})
    put_run(world, "old00000", "Tables_2026-05-08", ["overall", "latest"], config='{"x":{"value":1}}', notes="n", group="g")
    put_run(world, "old00001", "Tables_2026-05-08", ["Acme", "latest"])
    put_run(world, "old00002", "Tables_2026-05-08", ["Beta", "latest"])
    put_run(world, "old00003", "Tables_2026-05-02", ["Old", "latest"])
    put_run(world, "other001", "somebody's", ["latest", "else"])
    return world


def latest(world):
    """{tag: [runs]} of the runs tagged latest."""
    got = {}
    for run in world.add_project(*BOARD).byname.values():
        if "latest" in run.tags:
            for tag in run.tags:
                if tag != "latest":
                    got.setdefault(tag, []).append(run)
    return got


def table(world, run, key):
    art = world.add_project(*BOARD).artifact(f"run-{run.name}-{key}:latest")
    return json.loads(art.contents[f"{key}.table.json"]) if art else None


def whole(world, run):
    """What is missing of a run that has the tag; None: nothing."""
    if run.name.startswith(("old0", "other")):
        return None
    keys = OVERALL if "overall" in run.tags else COMPANY
    if run.state != "finished" or run.exitcode != 0:
        return "its end"
    history = [json.loads(line) for line in run.lines.get("wandb-history.jsonl", [])]
    if len(history) != 1 or json.loads(run.summaryMetrics) != history[0]:
        return "history and summary"
    for key in keys:
        value = history[0].get(key, {})
        data = run.stored.get(value.get("path"))
        if value.get("_type") != "table-file" or not data or hashlib.sha256(data).hexdigest() != value["sha256"] or len(data) != value["size"]:
            return f"the file of {key}"
        got = table(world, run, key)
        if not got or (got["ncols"], got["nrows"]) != (value["ncols"], value["nrows"]) or got["data"] != json.loads(data)["data"]:
            return f"the artifact of {key}"
        art = run.project.artifact(f"run-{run.name}-{key}:v0")
        if art.type != "run_table" or value["artifact_path"] != f"wandb-client-artifact://{art.given['clientID']}/{key}.table.json":
            return f"the address of {key}"
    return None


class PushCase(lib.Case):
    def setUp(self):
        super().setUp()
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        self.s = Standin(old_world())
        self.s.__enter__()
        self.addCleanup(self.s.__exit__)

    @property
    def world(self):
        return self.s.world

    def new_world(self, world=None):
        self.s.clear()
        self.s.world = world or old_world()
        self.s.world.url = self.s.url

    def muster(self, verb, *flags, data="data", key=KEY):
        return self.run_any(lib.MUSTER, "wandb", verb, "--config", self.path("config.yaml"), "--data", self.path(data), "--base-url", self.s.url, *flags,
                            env={"WANDB_API_KEY": key, "ASAN_OPTIONS": "detect_leaks=0"})

    def push(self, *flags, want=0, **kw):
        status, out, err = self.muster("push", "--start-date", DAY, "--end-date", DAY, *flags, **kw)
        self.assertEqual(status, want, out + err)
        self.assertNotIn(KEY, out + err)
        return out if want == 0 else err

    def dataset(self):
        return self.world.add_project(*BOARD).artifact("all_runs_data:latest").contents["all_runs_data.csv"].decode()

    def right(self, day=DAY):
        """All is as a whole push leaves it."""
        got = latest(self.world)
        self.assertEqual({tag: [r.displayName for r in runs] for tag, runs in got.items()},
                         {"overall": [f"Tables_{day}"], "Acme": [f"Tables_{day}"], "Beta": [f"Tables_{day}"], "Old": ["Tables_2026-05-02"], "else": ["somebody's"]})
        for runs in got.values():
            self.assertIsNone(whole(self.world, runs[0]), runs[0].tags)
        self.assertEqual(self.s.wrong, [])
        return got


class PushTest(PushCase):
    def test_tables_are_where_the_old_tool_put_them(self):
        out = self.push()
        self.assertIn("3 runs, 0 of them there already; 14 tables written; the tag taken from 3 older runs", out)
        got = self.right()
        run = got["Beta"][0]
        self.assertEqual((run.tags, run.jobType), (["Beta", "latest"], "update-table"))
        daily = table(self.world, run, "company_daily_gpu_usage")
        self.assertEqual(daily["columns"], ["企業名", "日付", "合計GPU使用時間(h)", "GPU稼働率(%)", "平均GPUパフォーマンス率(%)", "最大GPUパフォーマンス率(%)", "平均GPUメモリ利用率(%)",
                                            "最大GPUメモリ利用率(%)", "n_runs", "assigned_gpu_node", "assigned_gpu_hour", "_total_gpu_hour", "total_metrics_hour"])
        # a deleted run and one with an ignored tag count for nothing
        self.assertEqual(daily["data"], [["Beta", "2026-05-09", 96.0, 25.0, 70.0, 99.0, 20.0, 44.0, 1, 2, 384.0, 96.0, 12.0],
                                         ["Beta", "2026-05-08", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 2, 384.0, 0.0, 0.0]])
        self.assertEqual(table(self.world, run, "company_summary")["data"], [["Beta", "tts", 96.0, 1, 0, 0, 1]])
        self.assertEqual([row[:3] for row in table(self.world, got["overall"][0], "overall_gpu_usage")["data"]],
                         [["Acme", 208.0, 12.0], ["Beta", 96.0, 12.5], ["Old", 8.0, 2.1]])
        # what lost the tag is as it was but for that
        old = self.world.find(*BOARD, "old00000")
        self.assertEqual((old.tags, old.displayName, old.config, old.notes, old.group), (["overall"], "Tables_2026-05-08", '{"x":{"value":1}}', "n", "g"))

    def test_the_same_again_makes_nothing_new(self):
        self.push()
        first = sorted(self.world.add_project(*BOARD).byname)
        self.s.count.clear()
        self.assertIn("W&B has just that", self.push())
        self.assertEqual(sorted(self.world.add_project(*BOARD).byname), first)
        self.assertEqual(sum(n for op, n in self.s.count.items() if op not in ("runs", "artifact", "artifact_files", "download")), 0, self.s.count)
        self.right()
        self.assertIn("3 runs, 0 of them there already", self.push("--again"))
        self.right()

    def test_a_fresh_machine_gets_the_same_tables_from_what_is_at_wandb(self):
        self.push()
        before = {tag: runs[0].name for tag, runs in latest(self.world).items()}
        out = self.push(data="elsewhere")  # nothing was ever pulled there
        self.assertIn("3 runs, 3 of them there already", out)
        self.assertIn("W&B has just that", out)
        self.assertEqual({tag: runs[0].name for tag, runs in self.right().items()}, before)

    def test_the_dataset_has_what_both_had(self):
        self.push()
        self.assertEqual(rows(self.dataset()), set(ROWS))
        # another machine wrote a row that is new, and one that is newer
        newer = ROWS[2].replace("1.0,8", "2.0,8").replace("2026-05-10T00:15", "2026-05-11T00:15")
        new = ROWS[2].replace("cccc0001", "cccc0002")
        put_artifact(self.world, "all_runs_data", {"all_runs_data.csv": (HEAD + newer + new).encode()})
        out = self.push()
        self.assertIn("7 rows, 2 of them only at W&B before; written", out)
        self.assertEqual(rows(self.dataset()), set(ROWS) - {ROWS[2]} | {newer, new})
        self.right()
        update = [r for r in self.world.add_project(*BOARD).byname.values() if r.displayName == f"Update_{DAY}"]
        self.assertEqual({r.state for r in update}, {"finished"})

    def test_columns_of_an_older_dataset_are_read_and_written(self):
        self.push("--columns", "16")
        head = self.dataset().splitlines()[0].split(",")
        self.assertEqual((len(head), head[0], head[-1], "cpu_count" in head), (16, "date", "logged_at", False))
        self.push("--columns", "old", data="elsewhere")
        self.assertIn("assigned_gpu_node", self.dataset().splitlines()[0])

    def test_a_dataset_that_cannot_be_read_is_not_overwritten(self):
        before = self.dataset()
        for plant in (lambda: self.s.fault("errors", op="artifact"), lambda: self.s.fault("status", op="artifact_files", status=403),
                      lambda: self.s.fault("status", op="download", status=404), lambda: self.s.fault("null_project", op="artifact"),
                      lambda: self.s.fault("nulls", op="artifact", path=("project", "artifact")),
                      lambda: self.s.fault("nulls", op="artifact_files", path=("artifact", "files")),
                      lambda: self.s.fault("nulls", op="artifact_files", path=("artifact", "files", "edges", "*"))):
            self.s.clear()
            plant()
            err = self.push(want=3, data="fresh")
            self.assertIn("not overwritten", err)
            self.assertEqual(self.dataset(), before)
            self.assertEqual([r.name for r in latest(self.world)["Acme"]], ["old00001"])
        for text in ("", "a,b\n1,2\n", HEAD + ROWS[0] + "not a day,acme,llm,x,[],,,finished,1.0,8,,,,,,,,\n", HEAD + '"' + ROWS[0]):
            self.new_world()
            put_artifact(self.world, "all_runs_data", {"all_runs_data.csv": text.encode()})
            self.assertIn("not overwritten", self.push(want=3, data="fresh"), text)
            self.assertEqual(self.dataset(), text)
        self.new_world()
        put_artifact(self.world, "all_runs_data", {"other.csv": b"x"})
        self.assertIn("has no file", self.push(want=3, data="fresh"))

    def test_the_first_push_of_all_makes_what_is_not_there(self):
        self.new_world(wandb_world.World())
        out = self.push()
        self.assertIn("the tag taken from 0 older runs", out)
        self.assertEqual(sorted(latest(self.world)), ["Acme", "Beta", "overall"])
        self.assertEqual(self.dataset(), HEAD)
        run = latest(self.world)["Beta"][0]
        self.assertEqual(table(self.world, run, "company_summary")["data"], [["Beta", *[None] * 6, "not pulled"]])
        self.assertEqual(json.loads(run.summaryMetrics)["warning"], "No data")

    def test_a_company_whose_assignment_ended_is_called_by_its_last_day(self):
        status, out, err = self.muster("push", "--start-date", "2026-05-01", "--end-date", DAY)
        self.assertEqual(status, 0, out + err)
        self.right()
        self.assertNotEqual(latest(self.world)["Old"][0].name, "old00003")  # it had nodes in that time: new tables

    def test_the_summary_is_of_the_week_that_is_asked_for(self):
        def summary(company, *flags):
            status, out, err = self.muster("push", "--start-date", "2026-05-01", *flags)
            self.assertEqual(status, 0, out + err)
            got = table(self.world, latest(self.world)[company][0], "company_summary")
            return [row[:4] + row[7:] for row in got["data"]]

        self.assertEqual(summary("Acme", "--end-date", "2026-05-08"), [["Acme", "llm", 16.0, 1, "5 of 6 days not pulled"]])
        self.assertEqual(summary("Acme", "--end-date", "2026-05-08", "--week", "last"), [["Acme", None, 0.0, 0, "1 of 2 days not pulled"]])  # up to the second
        self.assertEqual(summary("Acme", "--end-date", DAY, "--week", "last"), [["Acme", "llm", 208.0, 1, "5 of 7 days not pulled"]])  # a Saturday: it is over
        for flags in ((), ("--week", "last")):
            self.assertEqual(summary("Old", "--end-date", DAY, *flags), [["Old", "p", 8.0, 1, "1 of 2 days not pulled"]])  # which ended on the second

    def test_the_running_month_is_there_when_asked_for(self):
        for flags, want in (((), ["column"]), (("--partial",), ["Acme", "Beta", "Old"])):
            self.push(*flags)
            got = table(self.world, latest(self.world)["overall"][0], "monthly_gpu_usage")
            self.assertEqual([row[0] for row in got["data"]] or got["columns"], want)
            self.assertTrue(all(row[1] == "2026-05" for row in got["data"]))

    def test_that_nothing_was_pulled_is_said(self):
        _, _, err = self.muster("push", "--start-date", DAY, "--end-date", DAY)
        self.assertIn(f"no finished pull reaches {DAY}", err)

    def test_usage(self):
        for flags, want, words in ((["--start-date", "2026-05-10", "--end-date", DAY], 2, "after"), (["--end-date", "yesterday"], 2, "expected a day"), (["more"], 2, "not expected"),
                                   (["--columns", "17"], 2, "17")):
            status, _, err = self.muster("push", *flags)
            self.assertEqual((status, words in err), (want, True), err)
        self.assertEqual(self.push(want=3, key="wrong" * 8).count("\n"), 2)  # nothing was pulled; and the key is wrong
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("dashboard:", "other:"))
        self.assertIn("dashboard", self.push(want=2))


class ProgrammeTest(lib.Case):
    """A generated programme, pulled and pushed: what W&B shows then is what the runs come to, worked out elsewhere in fractions."""

    def test_tables_at_wandb_are_what_the_runs_come_to(self):
        programme = wandb_programme.Programme(7, companies=12, projects=24, runs=400, days=40)
        first, last = min(d for c in programme.companies for d, _ in c.schedule), programme.last
        with Standin(programme.fill(wandb_world.World())) as s:
            with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                f.write(programme.config_text(base_url=s.url))
            flags = ["--config", self.path("config.yaml"), "--start-date", str(programme.first), "--end-date", str(last)]
            env = {"WANDB_API_KEY": KEY}
            self.run_ok(lib.MUSTER, "wandb", "pull", *flags, "--data", self.path("data"), env=env)
            asked = {(v["entity"], v["project"], v["name"]): v["samples"] for _, op, v in s.log if op == "events"}
            calc = wandb_calc.Calculation(programme, samples=asked)
            status, out, err = self.run_any(lib.MUSTER, "wandb", "push", *flags, "--data", self.path("data"), env=env)
            self.assertEqual((status, err), (0, ""), out)
            self.compare(s, programme, calc, first, last)
            # and back: a machine that never pulled makes the same tables out of the dataset, so there is nothing to push
            said = self.run_ok(lib.MUSTER, "wandb", "push", *flags, "--data", self.path("other"), env=env)
            runs = len(self.tagged(s))
            self.assertIn(f"{runs} runs, {runs} of them there already; 0 tables written", said)
            self.assertEqual((s.wrong, s.refused), ([], 0))
            status, out, err = self.run_any(lib.MUSTER, "wandb", "check", *flags[:2], "--date", str(last), "--data", self.path("other"), env=env)
            self.assertIn(status, (0, 1), out + err)
            self.assertEqual([line for line in out.splitlines() if not line.startswith(("Low GPU", "No errors", "Deleted"))], [])

    @staticmethod
    def tagged(s):
        runs = s.world.add_project("host", "gpu-dashboard2").byname.values()
        return {t: r for r in runs if "latest" in r.tags for t in r.tags if t != "latest"}

    def compare(self, s, programme, calc, first, last):
        def shown(tag, key):
            art = s.world.add_project("host", "gpu-dashboard2").artifact(f"run-{runs[tag].name}-{key}:latest")
            got = json.loads(art.contents[key + ".table.json"], parse_float=Decimal)
            noted = got["columns"][-1] == "備考"  # days before the pull: nobody knows, and 0 as far as the runs go
            rows = [row[:-1] if noted else row for row in got["data"]]
            return [] if got["columns"] == ["column"] else [[Decimal(x or 0) if isinstance(x, int) or x is None else x for x in row] for row in rows]

        def want(rows, company=None):
            return [[Decimal(x) if isinstance(x, int) else x for x in row.values()] for row in rows if company in (None, row.get("company", row.get("company_name")))]

        runs = self.tagged(s)
        active = [c.name for c in programme.companies if any(calc.nodes(c, programme.first + datetime.timedelta(days=k)) for k in range((last - programme.first).days + 1))]
        self.assertEqual(sorted(runs), sorted([*active, "overall"]))
        self.assertGreater(len(active), 5)
        for period in ("overall", "monthly", "weekly", "daily"):
            self.assertEqual(shown("overall", f"{period}_gpu_usage"), want(calc.table(period, first, last)), period)
        daily, weekly = calc.table("daily", first, last), calc.table("weekly", first, last)
        for name in active:
            company = next(c for c in programme.companies if c.name == name)
            until = next(day for day in (last - datetime.timedelta(days=k) for k in range(1000)) if calc.nodes(company, day))  # of one that ended: its last week
            summary = [row for row in calc.summary(until - datetime.timedelta(days=until.isoweekday() % 7), until) if row["project"] is not None]
            self.assertEqual(shown(name, "company_daily_gpu_usage"), want(daily, name))
            self.assertEqual(shown(name, "company_daily_gpu_usage_within_30days"), want(daily, name)[:30])
            self.assertEqual(shown(name, "company_weekly_gpu_usage"), want(weekly, name))
            self.assertEqual(shown(name, "company_weekly_gpu_usage_within_4weeks"), want(weekly, name)[:4])
            self.assertEqual(shown(name, "company_summary"), want(summary, name))


class StaleTest(PushCase):
    """What could not be read, and what nobody asked for."""

    def pull(self, want):
        status, out, err = self.muster("pull", "--start-date", DAY, "--end-date", DAY)
        self.assertEqual(status, want, out + err)

    def daily(self, company):
        return table(self.world, latest(self.world)[company][0], "company_daily_gpu_usage")

    def test_a_project_that_cannot_be_read_marks_its_company_and_nobody_else(self):
        for where in (("acme", "llm"), ("acme-lab", "p"), ("beta", "tts")):
            self.world.add_project(*where)
        self.s.fault("status", op="runs", where={"entity": "acme"}, status=403, times=None)
        self.pull(3)
        self.push()
        self.right()
        # what was known before stays, and says since when
        self.assertEqual(self.daily("Acme")["data"][0], ["Acme", DAY, 192.0, 100.0, 53.3, 100.0, 24.0, 30.5, 1, 1, 192.0, 192.0, 24.0, f"stale since {DAY}"])
        self.assertIn(ROWS[0], rows(self.dataset()))
        self.assertNotIn("備考", self.daily("Beta")["columns"])
        status, out, err = self.muster("check", "--date", DAY)
        self.assertEqual(status, 1, out + err)
        self.assertIn(f"Stale table of Acme: stale since {DAY}\n", out)
        self.assertTrue(any(f"Stale table of Acme: stale since {DAY}" in a["text"] for a in self.world.alerts), self.world.alerts)
        with sqlite3.connect(self.path("data/wandb.db")) as db:
            self.assertEqual(db.execute("select subject, text from events where kind = 3 and subject <> ''").fetchall(), [("Acme", f"Stale table of Acme: stale since {DAY}")])
        self.s.clear()
        self.pull(0)
        self.push()
        self.assertIsNone(self.daily("Acme")["data"][0][-1])
        self.assertNotIn("Stale table", self.muster("check", "--date", DAY)[1])

    def test_windows_that_overlap_clear_the_days_they_share(self):
        for where in (("acme", "llm"), ("acme-lab", "p"), ("beta", "tts")):
            self.world.add_project(*where)
        self.s.fault("status", op="runs", where={"entity": "acme"}, status=403, times=None)
        self.assertEqual(self.muster("pull", "--start-date", "2026-05-06", "--end-date", "2026-05-08")[0], 3)
        self.s.clear()
        self.assertEqual(self.muster("pull", "--start-date", "2026-05-07", "--end-date", "2026-05-09")[0], 0)
        self.push()
        got = {row[1]: row[-1] for row in self.daily("Acme")["data"]}
        self.assertEqual([got[f"2026-05-0{day}"] for day in (9, 8, 7, 6)], [None, None, None, "stale since 2026-05-06"])

    def test_days_that_nobody_pulled_are_blank_and_say_so(self):
        self.push()  # the dataset has the second, the eighth and the ninth
        got = self.daily("Acme")
        self.assertEqual(got["columns"][-1], "備考")
        self.assertEqual(got["data"][-1], ["Acme", "2026-05-01", *[None] * 7, 1, 192.0, None, None, "not pulled"])
        self.assertEqual([row[-1] for row in got["data"]], [None, None, *["not pulled"] * 5, None, "not pulled"])
        self.assertEqual(got["data"][-2], ["Acme", "2026-05-02", *[0.0] * 6, 0, 1, 192.0, 0.0, 0.0, None])
        weekly = table(self.world, latest(self.world)["Acme"][0], "company_weekly_gpu_usage")
        self.assertEqual([row[-1] for row in weekly["data"]], ["5 of 7 days not pulled", "1 of 2 days not pulled"])

    def test_what_a_container_missed_stays_blank_when_a_later_one_reads_the_dataset(self):
        for where in (("acme", "llm"), ("acme-lab", "p"), ("beta", "tts")):
            self.world.add_project(*where)
        for data, day in (("first", "2026-05-10"), ("second", "2026-05-11")):  # each without a disk
            run = wandb_world.Run(self.world.add_project("acme", "llm"), f"aaaa00{day[-2:]}", createdAt=f"{day}T01:00:00", heartbeatAt=f"{day}T02:00:00", state="finished",
                                  runInfo={"gpu": "H200", "gpuCount": 8})
            self.world.add_project("acme", "llm").add(run)
            for verb in ("pull", "push"):
                status, out, err = self.muster(verb, "--start-date", day, "--end-date", day, data=data)
                self.assertEqual(status, 0, out + err)
            got = {row[1]: row for row in self.daily("Acme")["data"]}
            self.assertEqual((got[day][2], got[day][-1]), (8.1, None))
            for missed in range(3, 8):
                self.assertEqual(got[f"2026-05-0{missed}"], ["Acme", f"2026-05-0{missed}", *[None] * 7, 1, 192.0, None, None, "not pulled"])


class DownloadTest(PushCase):
    def download(self, *flags):
        return self.run_any(lib.MUSTER, "wandb", "download", "--config", self.path("config.yaml"), "--base-url", self.s.url, "-o", self.path("out"), *flags, env={"WANDB_API_KEY": KEY})

    def found(self):
        got = {}
        for root, _, names in os.walk(self.path("out")):
            for name in names:
                with open(os.path.join(root, name), "rb") as f:
                    got[os.path.relpath(os.path.join(root, name), self.path("out"))] = f.read()
        return got

    def test_what_is_newest_comes_as_files_where_the_notebook_put_them(self):
        self.push()
        project, want = self.world.add_project(*BOARD), {}
        for runs in latest(self.world).values():
            for art in (a for c in project.collections.values() for a in c.versions if a.given.get("runName") == runs[0].name):
                want.update({f"{runs[0].displayName}/{art.collection.name}:v{art.versionIndex}/{n}": data for n, data in art.contents.items()})
        self.assertEqual(len(want), 14)
        art = project.artifact("all_runs_data:latest")
        want[f"all_runs_data:v{art.versionIndex}/all_runs_data.csv"] = art.contents["all_runs_data.csv"]
        for again in range(2):
            status, out, err = self.download(*["-q"] * again)
            self.assertEqual((status, sorted(out.splitlines())), (0, [] if again else sorted(self.path(f"out/{name}") for name in want)), err)
            self.assertIn("15 files in", err)
            self.assertEqual(self.found(), want)

    def test_a_name_leads_to_no_other_folder(self):
        for name in ("../evil", "/evil", "a/../../../evil", "a//b"):
            self.new_world()
            put_artifact(self.world, "all_runs_data", {name: b"x"})
            status, _, err = self.download()
            self.assertEqual((status, self.found()), (3, {}), err)
            self.assertFalse(os.path.exists(self.path("evil")))


class OddTest(lib.Case):
    """What one run says of itself, however odd, does not keep the tables of all from being pushed."""

    def test_what_was_pushed_can_be_read_again(self):
        world = wandb_world.World()
        p = world.add_project("acme", "llm")
        for name, kw in (("aaaa0001", {"host": "a\nb\x1b[2J"}), ("aaaa0002", {"host": "h" * 600}), ("aaaa0003", {"tags": ["\x7f\u0085, \"x\"\n"]}),
                         ("aaaa0004", {"config": json.dumps({"world_size": {"value": 9000000}})}), ("aaaa0005", {"state": "\t\r", "displayName": "\x07"})):
            run = wandb_world.Run(p, name, createdAt="2026-05-08T20:00:00", heartbeatAt="2026-05-08T21:00:00", runInfo={"gpu": "H200", "gpuCount": 8}, **kw)
            at = datetime.datetime(2026, 5, 8, 20, 30, tzinfo=datetime.timezone.utc).timestamp()
            run.lines["wandb-events.jsonl"] = [json.dumps({"_timestamp": at + k, "system.gpu.0.gpu": 900000.5}) for k in range(3)]
            p.add(run)
        for other in (("acme-lab", "p"), ("beta", "p"), BOARD):
            world.add_project(*other)
        with Standin(world) as s:
            with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                f.write(CONFIG + f"base_url: {s.url}\n")
            flags = ["--config", self.path("config.yaml"), "--start-date", DAY, "--end-date", DAY]
            self.run_ok(lib.MUSTER, "wandb", "pull", *flags, "--data", self.path("data"), env={"WANDB_API_KEY": KEY})
            self.assertIn("dataset: 5 rows", self.run_ok(lib.MUSTER, "wandb", "push", *flags, "--data", self.path("data"), env={"WANDB_API_KEY": KEY}))
            said = self.run_ok(lib.MUSTER, "wandb", "push", *flags, "--data", self.path("other"), env={"WANDB_API_KEY": KEY})
            self.assertIn("dataset: 5 rows, 5 of them only at W&B before; W&B has just that", said)


class FailTest(PushCase):
    """A failure at any request (at every single one with MUSTER_TEST_LONG): nobody is ever without a newest run, and the next push heals."""

    def invariant(self, *_):
        got = latest(self.s.world)
        for tag in ("overall", "Acme", "Beta", "Old", "else"):
            if not got.get(tag):
                self.lost.append(tag)
            for run in got.get(tag, []):
                lacks = whole(self.s.world, run)
                if lacks:
                    self.lost.append(f"{tag}: {run.name} lacks {lacks}")

    def each(self, plant, step):
        self.lost = []
        self.s.on_request = self.invariant
        self.push()
        n = sum(self.s.count.values())
        self.assertGreater(n, 100)
        self.assertEqual(self.lost, [])
        for k in range(0, n, 1 if LONG else step):
            self.new_world()
            fault = plant(k)
            status, out, err = self.muster("push", "--start-date", DAY, "--end-date", DAY, data=f"d{k}")
            self.invariant()
            self.assertEqual((fault.hits, self.lost), (1, []), f"request {k}: {out}{err}")
            if fault.kind == "status":
                self.assertEqual((status, err.count("\n")), (3, 2), f"request {k}: {out}{err}")
            self.assertGreaterEqual(rows(self.dataset()), {*ROWS})
            self.push(data=f"d{k}")
            self.right()
            self.assertGreaterEqual(rows(self.dataset()), {*ROWS})

    def test_a_request_that_fails(self):
        self.each(lambda k: self.s.fault("status", status=403, skip=k), step=7)

    def test_a_request_whose_answer_is_lost(self):
        self.each(lambda k: self.s.fault("lost", skip=k), step=13)

    def test_killed_at_any_request(self):
        self.lost, started = [], []
        for k in range(1, 100, 1 if LONG else 13):
            self.new_world()
            started.clear()  # else the one before is killed once more
            seen = []

            def on_request(op, _, k=k, seen=seen):
                self.invariant()
                seen.append(op)
                if len(seen) == k:
                    lib.wait_until("it was started", lambda: started)
                    started[0].p.kill()

            self.s.on_request = on_request
            started[:] = [self.start(lib.MUSTER, "wandb", "push", "--config", self.path("config.yaml"), "--data", self.path(f"k{k}"), "--base-url", self.s.url, "--start-date",
                                     DAY, "--end-date", DAY, env={"WANDB_API_KEY": KEY})]
            self.assertEqual(started[0].p.wait(), -9)
            self.s.on_request = self.invariant
            self.assertEqual(self.lost, [])
            self.push(data=f"k{k}")
            self.right()


class CheckTest(PushCase):
    """Each fault of the old tool's list, planted alone."""

    def setUp(self):
        super().setUp()
        self.push()

    def check(self, want, *flags, **kw):
        status, out, err = self.muster("check", "--date", DAY, *flags, **kw)
        self.assertEqual(status, want, out + err)
        return out

    def events(self):
        with sqlite3.connect(self.path("data/wandb.db")) as db:
            return db.execute("SELECT kind, subject, text FROM events ORDER BY id").fetchall()

    def test_all_is_well(self):
        self.world.find(*BOARD, "other001").tags.remove("latest")
        out = self.check(0)
        self.assertIn("No errors", out)
        self.assertIn("Deleted Runs Summary: 1 in all, Beta 1", out)
        (alert,) = self.world.alerts
        self.assertEqual((alert["title"], alert["entityName"], alert["severity"]), (f"Dashboard health check for {DAY}", BOARD[0], "INFO"))
        self.assertEqual(self.world.find(*BOARD, alert["runName"]).displayName, "Health Alert")
        self.assertEqual(self.events(), [])
        self.check(0, "--no-alert")
        self.assertEqual(len(self.world.alerts), 1)

    def test_each_fault_is_found(self):
        def run(tag):
            return latest(self.world)[tag][0]

        def untag(tag):
            run(tag).tags.remove("latest")

        def low(rate):
            art = run("Acme").project.artifact(f"run-{run('Acme').name}-company_daily_gpu_usage:v0")
            got = json.loads(art.contents["company_daily_gpu_usage.table.json"])
            got["data"][0][got["columns"].index("GPU稼働率(%)")] = rate
            art.contents["company_daily_gpu_usage.table.json"] = json.dumps(got).encode()

        def old_table():
            art = run("Acme").project.artifact(f"run-{run('Acme').name}-company_daily_gpu_usage:v0")
            got = json.loads(art.contents["company_daily_gpu_usage.table.json"])
            del got["data"][0]
            art.contents["company_daily_gpu_usage.table.json"] = json.dumps(got).encode()

        cases = [
            (lambda: untag("overall"), "Missing latest runs: overall"),
            (lambda: untag("Beta"), "Missing latest runs: Beta"),
            (lambda: put_run(self.world, "bad00001", f"Tables_{DAY}", ["Nobody", "latest"]), "Unexpected latest runs: Nobody"),
            (lambda: setattr(run("Beta"), "displayName", "Tables_2026-05-08"), "Error of target date: Beta: "),
            (lambda: setattr(run("overall"), "displayName", "Tables_2026-05-08"), "Error of target date: overall: "),
            (lambda: setattr(run("Old"), "displayName", f"Tables_{DAY}"), "expected 2026-05-02, the last day it had nodes"),
            (lambda: run("Beta").tags.append("more"), "Error of number of tags: "),
            (lambda: setattr(run("Beta"), "tags", ["latest"]), "Error of number of tags: "),
            (lambda: put_run(self.world, "bad00002", f"Tables_{DAY}", ["overall", "latest"]), "Error of number of latest runs: overall has 2: "),
            (lambda: low(10.0), "Low GPU Usage for Acme: 10.0 % on 2026-05-09"),
            (lambda: low(0), "Low GPU Usage for Acme: 0.0 % on 2026-05-09"),
            (old_table, "its newest day is 2026-05-08, expected 2026-05-09"),
            (lambda: run("Acme").project.collections.pop(f"run-{run('Acme').name}-company_daily_gpu_usage"), "Error of artifact: table company_daily_gpu_usage of Acme"),
            (lambda: self.s.fault("errors", op="artifact"), "Error of artifact: table company_daily_gpu_usage of Acme"),
        ]
        for plant, want in cases:
            self.new_world()
            self.push()
            self.world.find(*BOARD, "other001").tags.remove("latest")
            low(50)
            plant()
            before = len(self.events())
            out = self.check(1)
            self.assertIn(want, out)
            self.assertNotIn("No errors", out)
            lines = [line for line in out.splitlines() if not line.startswith("Deleted")]
            self.assertEqual(len(lines), 2 if "number of tags" in want and "Missing" in out else 1, out)
            (alert,) = self.world.alerts
            self.assertIn(want, alert["text"])
            self.assertEqual(alert["severity"], "WARN")
            self.assertEqual([text for _, _, text in self.events()[before:]], lines)

    def test_deleted_runs_are_told_of_where_nothing_was_pulled(self):
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("artifact_name: all_runs_data", "artifact_name: all_runs_data, deleted_runs_artifact_name: deleted_runs_data"))
        self.new_world()
        self.push(data="again")
        art = self.world.add_project(*BOARD).artifact("deleted_runs_data:latest")
        self.assertEqual(art.contents["deleted_runs_data.csv"].decode().replace(".000000", ""),
                         "run_id,company_name,project,created_at\nbbbb0003,beta,tts,2026-05-09T00:00:00\n")
        self.assertIn("Deleted Runs Summary: 1 in all, Beta 1\n", self.check(1, data="nothing"))
        art.contents["deleted_runs_data.csv"] += b"x,stranger,p,\n"
        self.assertIn("Deleted Runs Summary: 2 in all, Beta 1, of no company 1\n", self.check(1, data="no"))
        for text in (b"", b"a,b\n1,2\n", b'run_id,company_name\n"x'):
            art.contents["deleted_runs_data.csv"] = text
            self.assertNotIn("Deleted", self.check(1, data=f"no{len(text)}"))

    def test_nobody_is_active_before_the_programme(self):
        status, out, _ = self.muster("check", "--date", "2026-04-01", "--no-alert")
        self.assertEqual((status, "No active companies" in out), (1, True))

    def test_wandb_that_cannot_be_asked_is_something_else(self):
        for plant in (lambda: self.s.fault("status", op="runs", status=403), lambda: self.s.fault("bad_json", op="runs"), lambda: self.s.fault("errors", op="runs")):
            self.s.clear()
            plant()
            self.check(3)
        self.check(3, key="wrong" * 8)
        self.assertEqual(self.world.alerts, [])

    def test_the_alert_is_sent_whatever_enable_alert_says(self):
        """The first version of the old check never looked at it."""
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("enable_alert: true", "enable_alert: false"))
        self.check(1)  # a tag of somebody else's
        self.assertEqual([a["title"] for a in self.world.alerts], [f"Dashboard health check for {DAY}"])


if __name__ == "__main__":
    lib.main()
