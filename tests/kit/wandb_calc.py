"""What a programme of companies (wandb_programme.py) comes to, worked out with whole numbers and fractions from what docs/report.md and the old tool's rules say.

Nothing here is shared with muster: run-days as all_runs_data.csv has them, and the five tables.
"""
import datetime
import fnmatch
import json
import re
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from wandb_programme import MINUTE_MS, Days

ONE = 10**9  # utilisation counts 1e-9 %
DAY = datetime.timedelta(days=1)
KEY = re.compile(r"system\.gpu\.[0-9]+\.(gpu|memory)(/l:.+)?", re.DOTALL)
FAR = datetime.date(2100, 1, 1)


def away(x):
    """A fraction of nothing below zero to a whole number, half up."""
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


def number_text(x):
    """At most 9 places, none needlessly, but one at least: as datasets have floats."""
    whole, rest = divmod(away(Fraction(x) * ONE), ONE)
    return f"{whole}.{f'{rest:09d}'.rstrip('0') or '0'}"


class Sums:
    """Of values of one family."""
    __slots__ = ("n", "sum", "max")

    def __init__(self):
        self.n = self.sum = self.max = 0

    def add(self, n, total, most):
        self.n, self.sum, self.max = self.n + n, self.sum + total, max(self.max, most) if self.n else most


class RunDay:
    def __init__(self, run, day, minutes, gpus):
        self.run, self.day, self.minutes, self.gpus, self.util, self.mem = run, day, minutes, gpus, None, None

    key = property(lambda self: (str(self.day), self.run.team, self.run.project, self.run.name))

    def cells(self):
        """As the dataset has them, but for when it was logged and whether it exists."""
        pair = lambda m: (number_text(Fraction(m[0], ONE)), number_text(Fraction(m[1], ONE))) if m else ("", "")
        (ua, um), (ma, mm) = pair(self.util), pair(self.mem)
        cpus = (self.run.info or {}).get("cpuCount")
        return {"date": str(self.day), "company_name": self.run.team, "project": self.run.project, "run_id": self.run.name, "state": self.run.state,
                "duration_hour": number_text(Fraction(self.minutes, 60)), "gpu_count": str(self.gpus), "cpu_count": "" if cpus is None else str(cpus),
                "average_gpu_utilization": ua, "average_gpu_memory": ma, "max_gpu_utilization": um, "max_gpu_memory": mm, "host_name": self.run.host or ""}


class Calculation:
    def __init__(self, programme, first=None, last=None, samples=None):
        """samples: how many were asked of a run, by (team, project, id)."""
        self.p, self.first, self.last = programme, first or programme.first, last or programme.last
        self.days, self.samples, self.tails = Days.of(programme.zone), samples or {}, {}
        self.company_of = {t: c for c in programme.companies for t in c.teams}
        self.rows = [row for run in programme.runs for row in self.run_days(run)]

    # ---- runs ----

    def period(self, company):
        """From the first day of the schedule, until the last when that has no nodes."""
        steps = sorted(company.schedule)
        return steps[0][0], steps[-1][0] if steps[-1][1] == 0 else FAR

    def wanted_team(self, company):
        begin, end = self.period(company)
        return begin <= self.last and end >= self.first

    def wanted_project(self, company, project):
        if company.include is not None:
            return fnmatch.fnmatchcase(project, company.include)
        return company.ignore is None or not fnmatch.fnmatchcase(project, company.ignore)

    def gpus(self, run):
        """(count, or None: it does not count)"""
        for _, fits, value in self.p.rules:
            if not fits(run):
                continue
            got = value(run.says)
            if got is None or (got == 0 and value(EMPTY) != 0):  # a zero that was read is none; a zero that was written is meant
                continue
            return int(got) or None
        if not run.info or not run.info["gpu"]:
            return None
        return run.info["gpuCount"] or 0

    def counts(self, run):
        company = self.company_of.get(run.team)
        if not company or not self.wanted_team(company) or not self.wanted_project(company, run.project):
            return None
        begun, ended = self.days.day_of(run.created), self.days.day_of(run.heartbeat)
        begin, end = self.period(company)
        if begun > self.last or ended < self.first or begun > end or ended < begin:
            return None
        return self.gpus(run)

    def run_days(self, run):
        gpus = self.counts(run)
        if gpus is None:
            return
        metrics = self.metrics(run)
        day = max(self.first, self.days.day_of(run.created))
        while day <= self.last:
            begin, end = self.days.begin(day), self.days.begin(day + DAY)
            if begin > run.heartbeat:
                break
            # k with begin <= created + k min < end, and <= heartbeat
            low = max(0, -((run.created - begin) // MINUTE_MS))
            high = min((end - 1 - run.created) // MINUTE_MS, (run.heartbeat - run.created) // MINUTE_MS)
            if high >= low:
                row = RunDay(run, day, high - low + 1, gpus)
                row.util, row.mem = metrics.get(day, (None, None))
                yield row
            day += DAY

    # ---- metrics ----

    def tail(self, text):
        """[(n, sum, max) of utilisation, of memory] of one sample."""
        if text not in self.tails:
            got = [Sums(), Sums()]
            for name, value in json.loads("{" + text, parse_float=Decimal, parse_int=Decimal, object_pairs_hook=list):
                m = KEY.fullmatch(name)
                if m and isinstance(value, Decimal):
                    v = int((value * ONE).quantize(Decimal(1), ROUND_HALF_UP))
                    got[m.group(1) == "memory"].add(1, v, v)
            self.tails[text] = [(s.n, s.sum, s.max) for s in got]
        return self.tails[text]

    def metrics(self, run):
        """{day: ((mean, max) or None of utilisation, the same of memory)}, in 1e-9 %."""
        life = (run.heartbeat - run.created) // MINUTE_MS
        asked = self.samples.get((run.team, run.project, run.name), min(10000, max(100, life)))
        texts, sums, total = run.metrics.tails.texts, {}, 0
        for us, tail in run.metrics.kept(asked):
            total += 1
            day = self.days.day_of(us // 1000)
            both = sums.setdefault(day, (Sums(), Sums()))
            for to, more in zip(both, self.tail(texts[tail])):
                if more[0]:
                    to.add(*more)
        if total <= 1:
            return {}
        return {day: tuple((away(Fraction(s.sum, s.n)), s.max) if s.n else None for s in both) for day, both in sums.items()}

    # ---- tables ----

    def nodes(self, company, day):
        got = 0
        for d, n in sorted(company.schedule):
            if d <= day:
                got = n
        return got

    def hours(self, day):
        """Of a day, in minutes."""
        return (self.days.begin(day + DAY) - self.days.begin(day)) // MINUTE_MS

    def of(self, company):
        return [r for r in self.rows if self.company_of[r.run.team] is company and not r.run.deleted]

    def table(self, period, first, last):
        """Rows by English keys; numbers as Decimals with one place."""
        out = []
        for company in sorted(self.p.companies, key=lambda c: c.name.encode()):
            by_day = {}
            for r in self.of(company):
                if not r.run.ignored:
                    by_day.setdefault(r.day, []).append(r)
            groups, day = {}, first
            while day <= last:
                if self.nodes(company, day):
                    begin = {"daily": day, "weekly": day - DAY * (day.isoweekday() % 7), "monthly": day.replace(day=1), "overall": first}[period]
                    over = period != "monthly" or (last + DAY).month != last.month or begin != last.replace(day=1)
                    if over:
                        groups.setdefault(begin, []).append(day)
                day += DAY
            for begin in sorted(groups, reverse=True):
                out.append({"company": company.name, **({"daily": {"date": str(begin)}, "weekly": {"week_start": str(begin)}, "monthly": {"month": str(begin)[:7]}}.get(period, {})),
                            **self.row(company, groups[begin], by_day)})
        return out

    def row(self, company, days, by_day):
        total = uncapped = nodes = assigned = 0  # hours in tenths
        ids, util, mem = set(), [], []
        for day in days:
            here, n = by_day.get(day, []), self.nodes(company, day)
            used = away(Fraction(sum(r.minutes * r.gpus for r in here), 6))
            most = Fraction(n * 8 * self.hours(day), 6)
            total, uncapped, nodes, assigned = total + min(used, most), uncapped + used, nodes + n, assigned + most
            ids |= {r.run.name for r in here}
            util += [(r.minutes, r.util) for r in here if r.util]
            mem += [(r.minutes, r.mem) for r in here if r.mem]
        mean = lambda ms: away(Fraction(sum(m * v[0] for m, v in ms), sum(m for m, _ in ms)) * 10 / ONE) if ms else 0
        most = lambda ms: away(Fraction(max((v[1] for _, v in ms), default=0), ONE // 10))
        tenths = lambda x: Decimal(int(x)) / 10
        return {"total_gpu_hour": tenths(total), "utilization_rate": tenths(away(Fraction(total * 1000) / assigned)), "average_performance": tenths(mean(util)),
                "max_performance": tenths(most(util)), "average_memory": tenths(mean(mem)), "max_memory": tenths(most(mem)), "n_runs": len(ids), "assigned_gpu_node": nodes,
                "assigned_gpu_hour": tenths(assigned), "_total_gpu_hour": tenths(uncapped), "total_metrics_hour": tenths(away(Fraction(sum(m for m, _ in util), 6)))}

    @staticmethod
    def late(rows):
        """How many runs of each project began on a host on which another of the company was, whatever its project."""
        runs = {}
        for r in rows:
            if not r.run.ignored:
                # several teams of a company may have one id in projects of one name
                runs.setdefault((r.run.project, r.run.name), []).append(r)
        spans = [(next((r.run.host for r in rs if r.run.host), None), min(r.run.created for r in rs), max(r.run.heartbeat for r in rs), project.encode(), name)
                 for (project, name), rs in runs.items()]
        out, there = {}, {}
        for host, begun, ended, project, _ in sorted(s for s in spans if s[0]):
            if host in there and (begun < there[host][1] or begun == there[host][0]):
                out[project.decode()] = out.get(project.decode(), 0) + 1
            there[host] = (begun, max(ended, there[host][1]) if host in there else ended)
        return out

    def summary(self, first, last):
        out = []
        for company in sorted(self.p.companies, key=lambda c: c.name.encode()):
            # what ran on days without nodes is in no table
            mine = [r for r in self.of(company) if first <= r.day <= last and self.nodes(company, r.day)]
            projects = {}
            for r in mine:
                projects.setdefault(r.run.project, []).append(r)
            if not mine and any(self.nodes(company, first + DAY * k) for k in range((last - first).days + 1)):
                out.append({"company_name": company.name, "project": None, "total_hours": Decimal("0.00"), "total_runs": 0, "master_node_runs": 0, "overlap_runs": 0, "ignore_runs": 0})
            late = self.late(mine)
            for project in sorted(projects, key=str.encode):
                rows = projects[project]
                ours = [r for r in rows if not r.run.ignored]
                runs = {}
                for r in ours:
                    runs.setdefault(r.run.name, []).append(r)
                overlaps = late.get(project, 0)
                hours = Fraction(sum(r.minutes * r.gpus for r in ours), 60)
                out.append({"company_name": company.name, "project": project, "total_hours": Decimal(away(hours * 100)) / 100, "total_runs": len(runs),
                            "master_node_runs": sum(1 for rs in runs.values() if max(r.gpus for r in rs) >= 9), "overlap_runs": overlaps,
                            "ignore_runs": len({r.run.name for r in rows if r.run.ignored} - set(runs))})
        return out


EMPTY = {"config": {}, "summary": {}, "description": None, "metadata": None, "gpu_count": None}
