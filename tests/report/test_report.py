#!/usr/bin/python3
"""`muster report` out of a hub's records, against the same sums done minute by minute here: zones, the day the clocks
change, people who change company, nodes that belong to one."""
import datetime
import json
import random
import urllib.parse
import zoneinfo
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import lib

MINUTE = 60000
NODES = {"0" * 31 + "1": "alpha1", "0" * 31 + "2": "beta1"}
FIRST = datetime.datetime(2024, 10, 22, tzinfo=datetime.timezone.utc)
MINUTES = 12 * 1440
CONFIG = """
people_ignore: [root]
teams:
  red: {members: [ann, {name: bob, until: 2024-10-25}]}
  blue: {members: [{name: bob, from: 2024-10-26}]}
companies:
  - {company: "Acme, Inc", teams: [red], schedule: [{date: "2024-10-23", assigned_gpu_node: 1}, {date: "2024-10-27", assigned_gpu_node: 2}, {date: "2024-11-02", assigned_gpu_node: 0}]}
  - {company: "=Bolt", teams: [blue], nodes: ["beta*"], gpus_per_node: 2, schedule: [{date: "2024-10-24", assigned_gpu_node: 1}]}
  - {company: "Calm", teams: [nobody-here], schedule: [{date: "2024-10-26", assigned_gpu_node: 3}]}
"""


def ms(moment):
    return int(moment.timestamp() * 1000)


def uuid(node, gpu):
    return f"GPU-{node[-1]}{gpu}"


def tenths(x):
    return float((Decimal(x.numerator * 10) / Decimal(x.denominator)).quantize(Decimal(1), ROUND_HALF_UP) / 10)


class World:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.runs, self.util = [], {}
        for n in range(40):
            node, user = rng.choice(list(NODES)), rng.choice(["ann", "bob", "bob", "eve", "root"])
            start = ms(FIRST) + rng.randint(0, MINUTES - 1440) * MINUTE + rng.randint(0, 59999)
            end = start + rng.choice([0, rng.randint(0, 3600000), rng.randint(0, 40 * 3600000)])
            pieces = [(0, rng.randint(0, 1), start, end)]
            for k in range(1, rng.randint(1, 4)):
                a = rng.randint(start, end)
                pieces.append((k, rng.randint(0, 1), a, rng.randint(a, end)))
            self.runs.append({"node": node, "user": user, "root": 1000 + 10 * n, "start": start, "end": end, "pieces": pieces})
        for node in NODES:
            for gpu in (0, 1):
                for metric in ("util", "mem_util"):
                    v, values = 0, []
                    for _ in range(MINUTES):
                        v = rng.randint(0, 100) if rng.random() < 0.02 else v
                        values.append(v if rng.random() < 0.95 else None)
                    self.util[node, gpu, metric] = values

    def lines(self):
        yield {"muster_export": 1}
        for node, name in NODES.items():
            yield {"kind": "node", "node": node, "name": name, "tick_ms": 60000}
            for gpu in (0, 1):
                yield {"kind": "device", "node": node, "device": uuid(node, gpu), "name": "NVIDIA H200", "index": gpu, "minor": gpu, "mig": -1, "vendor": 1}
        for (node, gpu, metric), values in self.util.items():
            some = [(ms(FIRST) + i * MINUTE, v / 100) for i, v in enumerate(values) if v is not None]
            for i in range(0, len(some), 5000):
                yield {"kind": "samples", "node": node, "device": uuid(node, gpu), "metric": metric, "t": [t for t, _ in some[i:i + 5000]], "v": [v for _, v in some[i:i + 5000]]}
        for r in self.runs:
            for k, gpu, a, b in r["pieces"]:
                yield {"kind": "process", "node": r["node"], "device": uuid(r["node"], gpu), "pid": r["root"] + k, "start": a, "ppid": 1, "root_pid": r["root"], "uid": 1000,
                       "user": r["user"], "name": "python", "slurm_job": 0, "first": a, "last": b, "mem_max": 1 << 30, "ended": True}

    def company(self, run, moment, hub_zone):
        """As CONFIG says; memberships change with the hub's days, whatever zone the report has."""
        day = moment.astimezone(hub_zone).date()
        if run["user"] == "root":
            return None
        if run["user"] == "ann" or (run["user"] == "bob" and day <= datetime.date(2024, 10, 25)):
            return "Acme, Inc"
        if run["user"] == "bob":
            return "=Bolt"
        return "=Bolt" if NODES[run["node"]] == "beta1" else None

    def run_days(self, zone):
        """{day: (minutes, gpu-minutes, {metric: [samples]})} of every run."""
        for r in self.runs:
            days = {}
            for t in range(r["start"], r["end"] + 1, MINUTE):
                day = datetime.datetime.fromtimestamp(t / 1000, zone).date()
                gpus = {gpu for _, gpu, a, b in r["pieces"] if a <= t <= b}
                d = days.setdefault(day, [0, 0, {"util": [], "mem_util": []}])
                d[0] += 1
                d[1] += len(gpus)
            for gpu in {p[1] for p in r["pieces"]}:
                held = set()
                for _, g, a, b in r["pieces"]:
                    if g == gpu:
                        held |= set(range((a - ms(FIRST)) // MINUTE, (b - ms(FIRST)) // MINUTE + 1))
                for i in held:
                    if i >= MINUTES:
                        continue
                    # a minute under way when a piece begins is of the piece's day
                    day = datetime.datetime.fromtimestamp(ms(FIRST) / 1000 + i * 60, zone).date()
                    for metric in ("util", "mem_util"):
                        v = self.util[r["node"], gpu, metric][i]
                        if v is not None and day in days:
                            days[day][2][metric].append(v)
            yield r, days

    def daily(self, zone, day_from, day_to, nodes, gpus_per_node, hub_zone=datetime.timezone.utc):
        table = {}
        for r, days in self.run_days(zone):
            for day, (minutes, gpu_minutes, seen) in days.items():
                begin = max(datetime.datetime.combine(day, datetime.time(), zone), datetime.datetime.fromtimestamp(r["start"] / 1000, zone))
                company = self.company(r, begin, hub_zone)
                if company:
                    table.setdefault((company, day), []).append((r["root"], minutes, gpu_minutes, seen))
        rows = []
        for company in sorted(nodes):
            for k in range((day_to - day_from).days, -1, -1):
                day = day_from + datetime.timedelta(days=k)
                n = nodes[company](day)
                if not n:
                    continue
                here = table.get((company, day), [])
                length = ms(datetime.datetime.combine(day + datetime.timedelta(days=1), datetime.time(), zone)) - ms(datetime.datetime.combine(day, datetime.time(), zone))
                assigned = Fraction(n * gpus_per_node[company] * length, 3600000)
                used = tenths(Fraction(sum(g for _, _, g, _ in here), 60))
                total = min(used, float(assigned))
                util = [(m, s["util"]) for _, m, _, s in here if s["util"]]
                mem = [(m, s["mem_util"]) for _, m, _, s in here if s["mem_util"]]
                mean = lambda v: tenths(sum(m * rounded(Fraction(sum(s), len(s))) for m, s in v) / sum(m for m, _ in v)) if v else 0
                rounded = lambda x: Fraction((Decimal(x.numerator * 10**9) / Decimal(x.denominator)).quantize(Decimal(1), ROUND_HALF_UP)) / 10**9
                rows.append({"company": company, "date": str(day), "total_gpu_hour": total, "utilization_rate": tenths(Fraction(str(total)) * 100 / assigned),
                             "average_performance": mean(util), "max_performance": max((max(s) for _, s in util), default=0), "average_memory": mean(mem),
                             "max_memory": max((max(s) for _, s in mem), default=0), "n_runs": len({i for i, _, _, _ in here}), "assigned_gpu_node": n,
                             "assigned_gpu_hour": float(assigned), "_total_gpu_hour": used, "total_metrics_hour": tenths(Fraction(sum(m for m, _ in util), 60))})
        return rows


def step(*steps):
    return lambda day: next((n for d, n in reversed(steps) if datetime.date.fromisoformat(d) <= day), 0)


ASSIGNED = {"Acme, Inc": step(("2024-10-23", 1), ("2024-10-27", 2), ("2024-11-02", 0)), "=Bolt": step(("2024-10-24", 1)), "Calm": step(("2024-10-26", 3))}
GPUS = {"Acme, Inc": 8, "=Bolt": 2, "Calm": 8}


class Report(lib.Case):
    def hub(self, world, zone="UTC"):
        with open(self.path("past.jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line) + "\n" for line in world.lines())
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        data = self.path(f"data-{zone.replace('/', '-')}")
        self.run_ok(lib.MUSTER, "import", self.path("past.jsonl"), "--data", data)
        return self.start_hub("--config", self.path("muster.yaml"), "--usage-zone", zone, "--keep-raw", "0", "--keep-minute", "0", "--keep-records", "0", data=data, env={"TZ": "UTC"})

    def test_daily_rows_are_what_the_minutes_say_in_any_zone(self):
        world = World(7)
        hub = self.hub(world)
        for name in ("UTC", "Europe/Berlin", "Asia/Tokyo", "America/St_Johns"):
            with self.subTest(zone=name):
                zone = zoneinfo.ZoneInfo(name)
                got = lib.ask_json(f"{hub.url}/api/v1/report?zone={name}&from=2024-10-20&to=2024-11-05")
                want = world.daily(zone, datetime.date(2024, 10, 20), datetime.date(2024, 11, 5), ASSIGNED, GPUS)
                self.assertEqual(got["zone"], name)
                self.assertEqual(want, got["rows"])
        for company in ASSIGNED:  # one alone is read in another way, and comes out the same
            one = lib.ask_json(f"{hub.url}/api/v1/report?zone=America/St_Johns&from=2024-10-20&to=2024-11-05&company={urllib.parse.quote(company)}")
            self.assertEqual(one["rows"], [r for r in got["rows"] if r["company"] == company])
        own = self.hub(world, zone="Asia/Tokyo")
        got = lib.ask_json(f"{own.url}/api/v1/report?from=2024-10-20&to=2024-11-05")
        tokyo = zoneinfo.ZoneInfo("Asia/Tokyo")
        self.assertEqual(got["zone"], "Asia/Tokyo")
        self.assertEqual(got["rows"], world.daily(tokyo, datetime.date(2024, 10, 20), datetime.date(2024, 11, 5), ASSIGNED, GPUS, hub_zone=tokyo))
        berlin = {r["date"]: r["assigned_gpu_hour"] for r in lib.ask_json(f"{hub.url}/api/v1/report?zone=Europe/Berlin&company=Calm&from=2024-10-26&to=2024-10-28")["rows"]}
        self.assertEqual(berlin, {"2024-10-26": 576, "2024-10-27": 600, "2024-10-28": 576})

    def test_the_command_prints_what_the_hub_says(self):
        hub = self.hub(World(8))
        report = lambda *flags: self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--zone", "Asia/Tokyo", "--to", "2024-11-05", *flags)
        rows = json.loads(report("--format", "json", "--period", "weekly"))["rows"]
        self.assertEqual([r["week_start"] for r in rows if r["company"] == "Calm"], ["2024-11-03", "2024-10-27", "2024-10-20"])
        self.assertEqual([r["assigned_gpu_node"] for r in rows if r["company"] == "Calm"], [9, 21, 3])
        rows = json.loads(report("--format", "json", "--period", "weekly", "--week-start", "monday"))["rows"]
        self.assertEqual([r["week_start"] for r in rows if r["company"] == "Calm"], ["2024-11-04", "2024-10-28", "2024-10-21"])
        text = report("--period", "monthly")
        self.assertRegex(text, r"COMPANY +MONTH +HOURS +RATE%")
        self.assertIn("2024-11 is not over and not listed", text)
        self.assertRegex(report("--period", "monthly", "--partial"), r"Calm +2024-11 +0\.0")
        csv = report("--format", "csv", "--period", "overall", "--headings", "ja")
        self.assertTrue(csv.startswith("企業名,合計GPU使用時間(h),GPU稼働率(%)"))
        self.assertIn("\n'=Bolt,", csv)
        self.assertIn('\n"Acme, Inc",', csv)
        self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--to", "2024-11-05", "--format", "html", "-o", self.path("mail.html"))
        with open(self.path("mail.html"), encoding="utf-8") as f:
            self.assertIn("Acme, Inc</h2>", f.read())
        for period in ("daily", "overall", "summary"):
            self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--to", "2024-11-05", "--period", period, "--format", "pdf", "-o", self.path("report.pdf"))
            with open(self.path("report.pdf"), "rb") as f:
                pages = f.read()
            self.assertTrue(pages.startswith(b"%PDF-") and pages.rstrip().endswith(b"%%EOF"), period)
        status, headers, _ = lib.ask(f"{hub.url}/api/v1/report?to=2024-11-05&format=pdf")
        self.assertEqual((status, headers["content-type"]), (200, "application/pdf"))
        summary = json.loads(report("--format", "json", "--period", "summary", "--last", "20d"))
        self.assertEqual(summary["from"], "2024-10-17")
        self.assertEqual([r["project"] for r in summary["rows"] if r["company_name"] == "Calm"], [None])

    def test_a_folder_has_the_same_report_beside_a_hub_and_without_one(self):
        data, env = self.path("data-America-St_Johns"), {"TZ": "UTC", "MUSTER_USAGE_ZONE": "America/St_Johns"}
        hub = self.hub(World(8), zone="America/St_Johns")
        days = ["--to", "2024-11-05", "--format", "json"]
        want = {p: self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--period", p, *days) for p in ("daily", "monthly", "overall", "summary")}
        self.assertGreater(sum(r["total_gpu_hour"] for r in json.loads(want["daily"])["rows"]), 100)
        folder = [["--data", data, "--config", self.path("muster.yaml")]]
        with open(self.path("with-data.yaml"), "w", encoding="utf-8") as f:
            f.write(f"data: {data}\n{CONFIG}")
        folder.append(["--config", self.path("with-data.yaml")])
        with open(self.path("empty.yaml"), "w", encoding="utf-8"):
            pass
        for ended in (False, True):
            for flags in folder:
                for period, text in want.items():
                    self.assertEqual(self.run_ok(lib.MUSTER, "report", *flags, "--period", period, *days, env=env), text, (ended, flags, period))
            hub.stop()
        self.run_ok(lib.MUSTER, "report", *folder[0], "--format", "pdf", "-o", self.path("report.pdf"), env=env)
        self.start_hub("--config", self.path("muster.yaml"), data=data).stop()  # the folder is as it was
        for flags, status, words in ((["--data", self.path("none")], 1, "no data of a hub"), (["--data", data, "--config", self.path("empty.yaml")], 1, "no company is known"),
                                     (["--people-companies", self.path("muster.yaml")], 2, "--people-companies needs --data or --config"),
                                     ([*folder[0], "--company", "Nope"], 2, "no company is called 'Nope'")):
            got, out, err = self.run_any(lib.MUSTER, "report", *flags)
            self.assertEqual((got, out, words in err), (status, "", True), err)

    def test_what_cannot_be_is_said(self):
        hub = self.hub(World(9))
        for query, status, words in (("period=hourly", 400, "period 'hourly' is not known: there are daily, weekly"), ("zone=Mars/Base", 400, "Mars/Base"),
                                     ("from=2024-10-30&to=2024-10-20", 400, "from is after to"), ("from=gestern", 400, "is not a day"), ("last=5", 400, "at least a day"),
                                     ("company=Nope&to=2024-10-30", 400, "no company is called 'Nope'"), ("from=-1d&last=3d", 400, "exclude each other"),
                                     ("from=2199-01-01&to=2199-02-01", 400, "in the future"), ("week-start=someday", 400, "monday"), ("format=xls", 400, "there are json, csv"),
                                     ("zone=" + "x" * 3000, 400, "")):
            with self.subTest(query=query[:60]):
                got, _, body = lib.ask(f"{hub.url}/api/v1/report?{query}")
                self.assertEqual(got, status, body)
                self.assertIn(words, json.loads(body)["detail"])
        # days to come are no days of the report
        far = lib.ask_json(f"{hub.url}/api/v1/report?period=overall&to=2199-01-01")
        self.assertLess(far["to"], "2199")
        bare = self.start_hub("--data", self.path("bare"))
        status, out, err = self.run_any(lib.MUSTER, "report", "--hub", bare.url)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("no company is known", err)


if __name__ == "__main__":
    lib.main()
