#!/usr/bin/python3
"""The report's tables for random programmes of companies against the same formulas done with fractions, in no hurry."""
import datetime
import fnmatch
import os
import random
import subprocess
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import lib

CALC = os.path.join(lib.BIN, "tool", "reportcalc")
DAY = datetime.timedelta(days=1)
FIRST = datetime.date(2027, 12, 20)  # weeks, months, a year and a leap day lie ahead
DAYS = 75


def to_tenths(x):
    """A fraction to one decimal, half away from zero, times ten."""
    return int((Decimal(x.numerator * 10) / Decimal(x.denominator)).quantize(Decimal(1), ROUND_HALF_UP))


class Programme:
    def __init__(self, rng):
        self.rng = rng
        self.companies = {}
        for i in range(rng.randint(1, 6)):
            steps, day = {}, FIRST + DAY * rng.randint(-20, 60)
            for _ in range(rng.randint(1, 4)):
                steps[day] = rng.choice([0, 1, 1, 2, 3])
                day += DAY * rng.randint(1, 25)
            self.companies[f"{rng.choice('ZYMCBA')}{i}"] = {
                "teams": [f"t{i}-{k}" for k in range(rng.randint(1, 3))], "steps": steps, "gpus": rng.choice([8, 8, 4]),
                "ignore": rng.choice(["-", "-", "p1*"]), "include": rng.choice(["-", "-", "-", "p*"])}
        teams = [t for c in self.companies.values() for t in c["teams"]] + ["nobody"]
        self.runs = []
        for n in range(rng.randint(0, 150)):
            team, project, host = rng.choice(teams), rng.choice(["p1", "p12", "p2", "-", "q"]), rng.choice(["h1", "h2", "-"])
            day, length, start = FIRST + DAY * rng.randint(0, DAYS), rng.randint(1, 4), rng.randint(0, 86400)
            run_id = f"r{n}" if host != "h1" or rng.random() < 0.8 else "r"  # the same one in several projects and teams
            gpus, ignored = rng.choice([1, 2, 3, 7, 8, 8, 9, 16, 64]), rng.random() < 0.08
            from_ms = (day - datetime.date(1970, 1, 1)).days * 86400000 + start * 1000
            until_ms = from_ms + length * 86400000
            for k in range(length):
                pick = lambda: str(rng.choice([Decimal(rng.randint(0, 2000)) / 20, Decimal(rng.randint(0, 10**11)) / 10**9]))
                measured = [pick() for _ in range(4)] if rng.random() < 0.8 else ["-"] * 4
                minutes = rng.choice([1440, rng.randint(1, 1440), rng.choice([3, 9, 15, 21])])
                self.runs.append([day + DAY * k, minutes, gpus, team, project, run_id, host,
                                  int(ignored), from_ms, until_ms, *measured])

    def lines(self):
        for name, c in self.companies.items():
            yield f"company\t{name}\t{','.join(c['teams'])}\t{c['gpus']}\t{c['ignore']}\t{c['include']}"
            for day, nodes in sorted(c["steps"].items()):
                yield f"step\t{day}\t{nodes}"
        for r in self.runs:
            yield "run\t" + "\t".join(str(x) for x in r)

    def nodes(self, c, day):
        past = [d for d in c["steps"] if d <= day]
        return c["steps"][max(past)] if past else 0

    def of(self, c, day_from, day_to):
        """The run-days that count for a company."""
        for r in self.runs:
            project = "" if r[4] == "-" else r[4]
            if not day_from <= r[0] <= day_to or r[3] not in c["teams"] or self.nodes(c, r[0]) == 0:
                continue
            if c["include"] != "-":
                if not fnmatch.fnmatchcase(project, c["include"]):
                    continue
            elif c["ignore"] != "-" and fnmatch.fnmatchcase(project, c["ignore"]):
                continue
            yield r

    def table(self, period, day_from, day_to, week_start, partial):
        rows = []
        for name, c in sorted(self.companies.items()):
            groups = {}
            for k in range((day_to - day_from).days + 1):
                day = day_from + DAY * k
                if self.nodes(c, day) == 0:
                    continue
                key = {"daily": day, "weekly": day - DAY * ((day.weekday() - week_start) % 7), "monthly": day.replace(day=1),
                       "overall": day_from}[period]
                if period == "monthly" and not partial and key == day_to.replace(day=1) and (day_to + DAY).day != 1:
                    continue
                groups.setdefault(key, []).append(day)
            for key in sorted(groups, reverse=True):
                total = uncapped = nodes = 0
                util = mem = Fraction(0)
                minutes, ids, tops = 0, set(), [Fraction(0), Fraction(0)]
                for day in groups[key]:
                    here = [r for r in self.of(c, day, day) if not r[7]]
                    used = to_tenths(Fraction(sum(r[1] * r[2] for r in here), 60))
                    uncapped += used
                    total += min(used, self.nodes(c, day) * c["gpus"] * 240)
                    nodes += self.nodes(c, day)
                    ids |= {r[5] for r in here}
                    for r in here:
                        if r[10] != "-":
                            util += Fraction(r[10]) * r[1]
                            mem += Fraction(r[12]) * r[1]
                            minutes += r[1]
                            tops = [max(tops[0], Fraction(r[11])), max(tops[1], Fraction(r[13]))]
                assigned = nodes * c["gpus"] * 240
                rows.append([name, str(key), total, to_tenths(Fraction(total * 100, assigned)),
                             to_tenths(util / minutes) if minutes else 0, to_tenths(tops[0]), to_tenths(mem / minutes) if minutes else 0,
                             to_tenths(tops[1]), len(ids), nodes, assigned, uncapped, to_tenths(Fraction(minutes, 60))])
        return rows

    def summary(self, day_from, day_to):
        rows = []
        for name, c in sorted(self.companies.items()):
            mine = list(self.of(c, day_from, day_to))
            assigned = any(self.nodes(c, day_from + DAY * k) for k in range((day_to - day_from).days + 1))
            if not mine and assigned:
                rows.append([name, "-", 0, 0, 0, 0, 0])
            projects = {}
            for r in mine:
                projects.setdefault("" if r[4] == "-" else r[4], {}).setdefault(r[5], []).append(r)
            counted = {(p, i): rs for p, runs in projects.items() for i, rs in runs.items() if not any(r[7] for r in rs)}
            # of all projects: (host, begun, ended, project, id); what has no length is there for a moment
            spans = [(next((r[6] for r in rs if r[6] != "-"), None), min(r[8] for r in rs), max(r[9] for r in rs), p.encode(), i) for (p, i), rs in counted.items()]
            spans = sorted(a for a in spans if a[0])
            for project in sorted(projects):
                runs = projects[project]
                ours = {i: rs for i, rs in runs.items() if (project, i) in counted}
                hours = Fraction(sum(r[1] * r[2] for rs in runs.values() for r in rs if not r[7]), 60)
                # one that is there when it begins, or begins with it and is before it in that order
                overlaps = sum(1 for a in spans if a[3] == project.encode() and any(b[0] == a[0] and (b[1] < a[1] < b[2] or (b[1] == a[1] and b < a)) for b in spans))
                rows.append([name, project, int((Decimal(hours.numerator * 100) / hours.denominator).quantize(Decimal(1), ROUND_HALF_UP)),
                             len(ours), sum(1 for rs in ours.values() if max(r[2] for r in rs) >= 9), overlaps, len(runs) - len(ours)])
        return rows


class ReportTables(lib.Case):
    def test_random_programmes_come_out_the_same(self):
        for seed in range(60):
            rng = random.Random(seed)
            p = Programme(rng)
            asks, want = [], []
            for period in ("daily", "weekly", "monthly", "overall", "summary"):
                for _ in range(2):
                    day_from = FIRST + DAY * rng.randint(-10, 40)
                    day_to = day_from + DAY * rng.choice([0, 6, rng.randint(0, 60), (datetime.date(2028, 2, 29) - day_from).days])
                    week_start, partial = rng.randint(0, 6), rng.randint(0, 1)
                    asks.append(f"ask\t{period}\t{day_from}\t{day_to}\t{week_start}\t{partial}\t-")
                    want.append(p.summary(day_from, day_to) if period == "summary" else p.table(period, day_from, day_to, week_start, partial))
            text = "\n".join([*p.lines(), *asks]) + "\n"
            got = subprocess.run([CALC], input=text, capture_output=True, text=True, check=True).stdout.split("end\n")
            for ask, w, g in zip(asks, want, got):
                self.assertEqual([[str(x) for x in row] for row in w], [line.split("\t") for line in g.strip("\n").split("\n") if line],
                                 f"seed {seed}: {ask}")


if __name__ == "__main__":
    lib.main()
