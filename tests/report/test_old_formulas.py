#!/usr/bin/python3
"""The old dashboard's formulas and ours on the same rows: they differ in what docs/report.md lists, by these numbers, and in nothing else."""
import csv
import datetime
import io
import json
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import lib
import wandb_world
from wandb_standin import KEY, Standin

DAY = datetime.timedelta(days=1)
FIRST, LAST = datetime.date(2026, 5, 3), datetime.date(2026, 5, 9)  # a Sunday week
CONFIG = """
companies:
- {company: Acme, teams: [acme], schedule: [{date: "2026-05-03", assigned_gpu_node: 1}, {date: "2026-05-06", assigned_gpu_node: 0}, {date: "2026-05-08", assigned_gpu_node: 1}, {date: "2026-06-30", assigned_gpu_node: 0}]}
- {company: Bolt, teams: [bolt], schedule: [{date: "2026-05-03", assigned_gpu_node: 2}, {date: "2026-06-30", assigned_gpu_node: 0}]}
- {company: Calm, teams: [calm], schedule: [{date: "2026-05-05", assigned_gpu_node: 1}, {date: "2026-05-06", assigned_gpu_node: 0}]}
"""
SCHEDULES = {"Acme": {3: 1, 6: 0, 8: 1}, "Bolt": {3: 2}, "Calm": {5: 1, 6: 0}}  # the same, by days of May
COLUMNS = ("date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,cpu_count,average_gpu_utilization,average_gpu_memory,max_gpu_utilization,"
           "max_gpu_memory,host_name,logged_at,run_exists")
ROWS = [  # day, team, project, run, from, to (hours), hours, GPUs, mean and most of utilisation, of memory, host
    (3, "acme", "llm", "a1", 0, 10, "10.0", 8, "50.0", "90.0", "20.0", "30.0", "n1"),
    (4, "acme", "llm", "a2", 0, 6, "6.0", 8, "80.0", "95.0", "40.0", "60.0", "n1"),
    (6, "acme", "llm", "a3", 0, 12, "12.0", 8, "10.0", "99.0", "5.0", "70.0", "n1"),  # without nodes
    (8, "acme", "llm", "a4", 0, 4, "4.0", 8, "", "", "60.0", "65.0", "n1"),  # memory alone
    (3, "bolt", "tts", "b1", 0, 23, "23.25", 16, "33.3", "77.0", "11.1", "22.2", "m1"),  # more than a day of one node, less than two
    (5, "bolt", "tts", "b2", 0, 20, "20.0", 64, "70.0", "88.0", "40.0", "41.0", "m1"),  # more than was assigned
    (7, "bolt", "asr", "b3", 0, 1, "0.05", 8, "12.5", "25.0", "1.5", "3.0", "m2"),
    (5, "calm", "llm", "c1", 0, 10, "10.0", 1, "50.0", "60.0", "20.0", "30.0", "c1"),
    (5, "calm", "llm", "c2", 1, 2, "1.0", 1, "50.0", "60.0", "20.0", "30.0", "c1"),  # with its neighbour c1
    (5, "calm", "llm", "c3", 3, 4, "1.0", 1, "50.0", "60.0", "20.0", "30.0", "c1"),  # with c1, which is not the one just before it
    (5, "calm", "eval", "c4", 5, 6, "1.0", 9, "50.0", "60.0", "20.0", "30.0", "c1"),  # with c1, of another project
]
NAMES = ("day", "team", "project", "run", "from", "to", "hours", "gpus", "util", "util_max", "mem", "mem_max", "host")
BLANK = {"total_gpu_hour", "utilization_rate", "average_performance", "max_performance", "average_memory", "max_memory", "n_runs", "_total_gpu_hour", "total_metrics_hour"}


def shown(x, places=1):
    return float((Decimal(x.numerator) / Decimal(x.denominator)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


class Old:
    """What the old tool did: blank tables of days with nodes, joined by what ran; each period's runs joined apart from its days."""

    def __init__(self):
        self.rows = [dict(zip(NAMES, row)) for row in ROWS]
        for r in self.rows:
            r.update({k: Fraction(r[k]) if r[k] != "" else None for k in ("hours", "util", "util_max", "mem", "mem_max")}, date=datetime.date(2026, 5, r["day"]))

    def nodes(self, company, day):
        past = [d for d in SCHEDULES[company] if d <= day.day]
        return SCHEDULES[company][max(past)] if past else 0

    def of(self, company, dates):
        return [r for r in self.rows if r["team"].title() == company and r["date"] in dates]

    def period(self, company, dates):
        """dates: all of the period. Hours are summed over the days of the blank table; what else there is, over whatever ran."""
        total = uncapped = Fraction(0)
        nodes = 0
        for day in dates:
            n = self.nodes(company, day)
            if n:
                used = Fraction(str(shown(sum((r["hours"] * r["gpus"] for r in self.of(company, [day])), Fraction(0)))))
                nodes, uncapped, total = nodes + n, uncapped + used, total + min(used, n * 192)
        runs, assigned = self.of(company, dates), nodes * 192
        metrics = sum((r["hours"] for r in runs if r["util"] is not None), Fraction(0))
        mean = lambda key: sum(((r[key] or 0) * r["hours"] for r in runs), Fraction(0)) / metrics if metrics else Fraction(0)
        most = lambda key: max((r[key] or Fraction(0) for r in runs), default=Fraction(0))
        return {"total_gpu_hour": shown(total), "utilization_rate": shown(min(total / assigned, Fraction(1)) * 100), "average_performance": shown(mean("util")),
                "max_performance": shown(most("util_max")), "average_memory": shown(mean("mem")), "max_memory": shown(most("mem_max")), "n_runs": len({r["run"] for r in runs}),
                "assigned_gpu_node": nodes, "assigned_gpu_hour": float(assigned), "_total_gpu_hour": shown(uncapped), "total_metrics_hour": shown(metrics)}

    def table(self, period):
        days, out = [FIRST + DAY * k for k in range(7)], {}
        for company in SCHEDULES:
            for dates in [[d] for d in days] if period == "daily" else [days]:
                if any(self.nodes(company, d) for d in dates):
                    out[company, str(dates[0])] = self.period(company, dates)
        return out

    def summary(self, company, first=FIRST):
        """Of the week from `first` on, by project; of overlaps, each run with the one just before it of its project on its host."""
        out, before = {}, None
        for r in sorted(self.of(company, [first + DAY * k for k in range(7)]), key=lambda r: (r["project"], r["host"], r["from"])):
            to = out.setdefault(r["project"], {"total_hours": Fraction(0), "total_runs": 0, "master_node_runs": 0, "overlap_runs": 0, "ignore_runs": 0})
            to["total_hours"] += r["hours"] * r["gpus"]
            to["total_runs"] += 1
            to["master_node_runs"] += r["gpus"] >= 9
            to["overlap_runs"] += bool(before and (before["project"], before["host"]) == (r["project"], r["host"]) and r["from"] < before["to"])
            before = r
        return {p: {**row, "total_hours": shown(row["total_hours"], 2)} for p, row in out.items()}


def differing(old, ours):
    """{(row, column): (old, ours)}"""
    return {(row, column): (value, ours[row][column]) for row in old for column, value in old[row].items() if value != ours[row][column]}


class OldFormulas(lib.Case):
    def setUp(self):
        super().setUp()
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)

    def report(self, period, days=f"from={FIRST}&to={LAST}"):
        with open(self.path("all_runs_data.csv"), "w", encoding="utf-8") as f:
            print(COLUMNS, file=f)
            for day, team, project, run, begun, ended, hours, gpus, util, util_max, mem, mem_max, host in ROWS:
                date = f"2026-05-{day:02d}"
                print(date, team, project, run, "[]", f"{date}T{begun:02d}:00:00", f"{date}T{ended:02d}:00:00", "finished", hours, gpus, "", util, mem, util_max, mem_max, host,
                      "2026-05-10T00:15:00", "exists", sep=",", file=f)
        self.run_ok(lib.MUSTER, "wandb", "import", self.path("all_runs_data.csv"), "--data", self.path("data"))
        hub = self.start_hub("--people-companies", self.path("config.yaml"))
        return lib.ask_json(f"{hub.url}/api/v1/report?source=wandb&period={period}&{days}")["rows"]

    def test_runs_of_wandb_need_no_hub(self):
        """As the old container: a folder that `muster wandb` made, and the dashboard's config.yaml."""
        want = self.report("daily")
        self.run_ok(lib.MUSTER, "wandb", "import", self.path("all_runs_data.csv"), "--data", self.path("alone"))
        out = self.run_ok(lib.MUSTER, "report", "--data", self.path("alone"), "--people-companies", self.path("config.yaml"), "--from", FIRST, "--to", LAST, "--format", "json")
        self.assertEqual((json.loads(out)["source"], json.loads(out)["rows"]), ("wandb", want))

    def test_days_differ_by_memory_alone_and_by_what_was_not_fetched(self):
        ours = {(r["company"], r["date"]): r for r in self.report("daily")}
        old = Old().table("daily")
        self.assertEqual(set(ours), set(old))
        blank = {((company, str(day)), column): (0, None) for company, day in (("Acme", LAST), ("Bolt", LAST)) for column in BLANK}
        # nobody has a row of the ninth: it was not fetched; the old tool's 0.0 said that nothing ran
        self.assertEqual(differing(old, ours), {(("Acme", "2026-05-08"), "average_memory"): (0.0, 60.0), **blank})
        self.assertEqual({key: r["note"] for key, r in ours.items() if r["note"]}, {("Acme", str(LAST)): "not pulled", ("Bolt", str(LAST)): "not pulled"})

    def test_weeks_differ_by_days_without_nodes_and_the_divisor_of_memory(self):
        ours = {(r["company"], r["week_start"]): r for r in self.report("weekly")}
        old, acme = Old().table("weekly"), ("Acme", str(FIRST))
        self.assertEqual(set(ours), set(old))
        self.assertEqual(differing(old, ours), {
            (acme, "average_performance"): (39.3, 61.3), (acme, "max_performance"): (99.0, 95.0), (acme, "average_memory"): (26.4, 34.0), (acme, "max_memory"): (70.0, 65.0),
            (acme, "n_runs"): (4, 3), (acme, "total_metrics_hour"): (28.0, 16.0)})
        self.assertEqual((ours[acme]["note"], ours["Bolt", str(FIRST)]["note"], ours["Calm", str(FIRST)]["note"]), ("1 of 5 days not pulled", "1 of 7 days not pulled", None))

    def test_a_run_overlaps_with_others_than_its_neighbour(self):
        ours = {r["project"]: r for r in self.report("summary") if r["company_name"] == "Calm"}
        self.assertEqual(differing(Old().summary("Calm"), ours), {("llm", "overlap_runs"): (1, 2), ("eval", "overlap_runs"): (0, 1)})

    def test_the_weekly_report_of_the_notebook_is_a_monday_week(self):
        """create_weekly_report.ipynb, run on a day: Monday to Sunday of the week before; docs/migrating/gpu-dashboard.md has the options."""
        day = datetime.date(2026, 5, 14)
        monday = day - DAY * (day.weekday() + 7)
        self.assertEqual(monday, datetime.date(2026, 5, 4))
        ours = {r["project"]: r for r in self.report("summary", f"week-start=monday&to={monday + 6 * DAY}") if r["company_name"] == "Bolt"}
        old = Old().summary("Bolt", monday)
        self.assertEqual((set(ours), differing(old, ours)), ({"tts", "asr"}, {}))
        self.assertNotEqual(old, Old().summary("Bolt"))  # a Sunday week has a run of the third, too

    def test_the_documented_forms_count_the_gpus_of_every_team(self):
        world = wandb_world.World()
        for team in ("acme", "bolt", "calm"):
            p = world.add_project(team, "llm")
            p.add(wandb_world.Run(p, "abcd1234", createdAt="2026-05-05T01:00:00", heartbeatAt="2026-05-05T02:00:00", state="finished", runInfo={"gpu": "H200", "gpuCount": 8},
                                  config=json.dumps({"num_nodes": {"value": 2}, "num_gpus": {"value": 6}, "world_size": {"value": 3}} if team == "acme" else {"world_size": {"value": 32}})))
        with Standin(world) as s:
            got = {}
            for name, more in (("ours", ""), ("old", "gpu_count: []\n")):  # teams that its code did not name had what W&B counted
                with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                    f.write(CONFIG + more)
                self.run_ok(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, "--data", self.path(name), "--start-date", "2026-05-05", "--end-date",
                            "2026-05-05", env={"WANDB_API_KEY": KEY})
                out = self.run_ok(lib.MUSTER, "wandb", "export", "--data", self.path(name))
                got[name] = {r["company_name"]: int(r["gpu_count"]) for r in csv.DictReader(io.StringIO(out))}
        self.assertEqual(got, {"ours": {"acme": 12, "bolt": 32, "calm": 32}, "old": {"acme": 8, "bolt": 8, "calm": 8}})


if __name__ == "__main__":
    lib.main()
