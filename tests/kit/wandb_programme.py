"""A programme of companies that were lent nodes, as W&B knows it: projects, runs, metrics and config.yaml, made from a seed.

Everything awkward that was seen or documented is in it: companies of many teams, schedules with gaps and closing zeros, ignored tags, project patterns, each kind of rule for
GPU counts, runs without runInfo, without length, over midnight and over days, labelled keys of many nodes, keys that must not match, runs started twice on a host, the same
run id in several projects, deleted runs, runs that still go on. What comes out of it is worked out in wandb_calc.py.
"""
import bisect
import datetime
import json
import random
from decimal import Decimal

from wandb_world import Run, thin

DAY_MS, MINUTE_MS = 86400000, 60000
FIRST = datetime.date(2025, 3, 1)
EPOCH = datetime.date(1970, 1, 1)
IGNORE_TAGS = ["other_gpu", "others_gpu"]
PALETTE = 24


def iso(ms, style=0):
    """As W&B writes times: with or without Z, with or without a fraction."""
    t = datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    if ms % 1000:
        t += f".{ms % 1000:03d}"
    return t + ("" if style else "Z")


# ---- metrics ----

class Tails:
    """What samples say beside their time: a palette per number of GPUs and nodes, so that a million samples are a million small joins."""

    def __init__(self, rng, gpus, nodes):
        self.texts = []
        for k in range(PALETTE):
            pairs = []
            for node in range(nodes):
                label = f"/l:node-{node}" if nodes > 1 else ""
                for i in range(gpus):
                    pairs += [(f"system.gpu.{i}.gpu{label}", self.number(rng)), (f"system.gpu.{i}.memory{label}", self.number(rng)),
                              (f"system.gpu.{i}.memoryAllocated{label}", "99.9"), (f"system.gpu.{i}.temp{label}", str(rng.randint(30, 80)))]
                    if k % 3 == 0:
                        pairs += [(f"system.gpu.process.{i}.gpu{label}", "100"), (f"system.gpu.process.{i}.memory{label}", "100")]
            pairs += [("system.cpu", self.number(rng)), ("system.memory_percent", "42.5"), ("system.proc.memory.rssMB", "1234.5"), ("system.disk./.usagePercent", "12")]
            if k % 4 == 1:  # near misses
                pairs += [("system.gpu.0.gpu.x", "100"), ("system.gpu.x.gpu", "100"), ("xsystem.gpu.0.gpu", "100"), ("system.gpu.0.gpu/l:", "100"), ("system.gpu..memory", "100"),
                          ("system.gpu.0.gpux/l:node-0", "100"), ("system.gpu.0.memory/x:a", "100"), ("gpu.0.gpu", "100")]
            if k % 8 == 2:  # a reading that failed
                pairs[0] = (pairs[0][0], rng.choice(["null", '"NaN"', '"100"', "true", "[100]", '{"gpu":100}']))
            if k % 8 == 5:
                rng.shuffle(pairs)
            self.texts.append(",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}")
        self.escaped = [json.dumps(t)[1:-1] for t in self.texts]

    @staticmethod
    def number(rng):
        kind = rng.random()
        if kind < 0.45:
            return str(rng.randint(0, 100))
        if kind < 0.65:
            return str(rng.randint(0, 1000) / 10)
        if kind < 0.75:
            return str(Decimal(rng.randint(0, 10**11)) / 10**9)
        if kind < 0.95:
            return repr(rng.random() * 100)  # up to 17 digits, as averages of floats are
        return rng.choice(["0", "100", "100.0", "0.0", "1e-05", "2.5e1", "1E+2", "33.333333333333336", "0.1", "5e-10", "4.9999999999e-10"])


class Metrics:
    """Samples of one run: from first_us on, one each step_us."""

    def __init__(self, tails, first_us, step_us, n, seed, places, created_ms):
        self.tails, self.first_us, self.step_us, self.n, self.seed, self.places, self.created_ms = tails, first_us, step_us, n, seed, places, created_ms

    def kept(self, samples):
        """(time in us, number of its tail) of those a server gives that was asked for so many."""
        cut = 10 ** (6 - self.places)
        for k in thin(range(self.n), samples):
            yield (self.first_us + k * self.step_us) // cut * cut, (self.seed + k * 7) % PALETTE

    def answer(self, samples):
        """The list of JSON strings, as JSON."""
        if not self.n:
            return "[]"
        parts, escaped, places, t0 = [], self.tails.escaped, self.places, self.created_ms * 1000
        for us, tail in self.kept(samples):
            at = f"{us // 1000000}.{us % 1000000:06d}"[:-6 + places or None] if places else str(us // 1000000)
            parts.append(f'{{\\"_wandb\\":true,\\"_timestamp\\":{at},\\"_runtime\\":{(us - t0) // 1000000},' + escaped[tail])
        return '["' + '","'.join(parts) + '"]'


# ---- GPU counts ----

def plain(v):
    """A number out of what configs hold; None: there is none."""
    if isinstance(v, dict):
        return plain(v.get("value"))
    if isinstance(v, str):
        try:
            return float(v) if "." in v else int(v)
        except ValueError:
            pass
        try:
            inner = json.loads(v.replace("'", '"'))
        except ValueError:
            return None
        return plain(inner) if isinstance(inner, dict) else None
    return v if type(v) in (int, float) else None


def times(*vs):
    got = 1
    for v in vs:
        if v is None:
            return None
        got *= v
    return got


class Form:
    """A way in which a team writes down how many GPUs it uses: expression, what a run of it says, and what the expression is then."""

    def __init__(self, expr, write, value):
        self.expr, self.write, self.value = expr, write, value


def wrap(rng, v):
    """One value as configs have it."""
    return rng.choice([{"value": v, "desc": None}, {"value": v, "desc": None}, {"value": str(v), "desc": None}, v, str(v), json.dumps({"value": v}), str({"value": v})])


def cfg(key):
    return lambda says: plain(says["config"].get(key))


def one_key(key, factor, low, high):
    def write(rng, says):
        says["config"][key] = wrap(rng, rng.randint(low, high))
    text = f'config["{key}"]' if " " in key else "config." + key
    return Form(text + (f" * {factor}" if factor != 1 else ""), write, lambda says: times(cfg(key)(says), factor))


def two_keys(a, b):
    def write(rng, says):
        says["config"][a] = wrap(rng, rng.randint(1, 4))
        says["config"][b] = wrap(rng, rng.choice([1, 2, 4, 8]))
    return Form(f"config.{a} * config.{b}", write, lambda says: times(cfg(a)(says), cfg(b)(says)))


def nested():
    def write(rng, says):
        n = rng.randint(1, 6)
        if rng.random() < 0.5:
            says["config"]["trainer.num_nodes"] = wrap(rng, n)
            says["config"]["trainer"] = {"value": {"num_nodes": 77}}
        else:
            says["config"]["trainer"] = {"value": {"num_nodes": n, "other": {"x": 1}}, "desc": None}

    def value(says):
        c = says["config"]
        if "trainer.num_nodes" in c:
            return times(plain(c["trainer.num_nodes"]), 8)
        trainer = c.get("trainer")
        trainer = trainer.get("value") if isinstance(trainer, dict) else None
        return times(plain(trainer.get("num_nodes")) if isinstance(trainer, dict) else None, 8)
    return Form("config.trainer.num_nodes * 8", write, value)


def world_size():
    def write(rng, says):
        says["config"][rng.choice(["world_size", "world size"])] = wrap(rng, rng.choice([8, 16, 24, 64]))
    return Form('config.world_size or config["world size"]', write, lambda says: cfg("world_size")(says) or cfg("world size")(says))


def summary():
    def write(rng, says):
        says["summary"]["gpus"] = rng.choice([8, 16, "24", 32.0])
    return Form("summary.gpus", write, lambda says: plain(says["summary"].get("gpus")))


def description():
    def write(rng, says):
        n = rng.randint(1, 9)
        says["description"] = rng.choice([f"{n}Node", f"{n}Nodes", f"pretrain {n}Nodes, second try"])
        says["nodes"] = n
    return Form('match(description, "([0-9]+)Nodes?") * 8', write, lambda says: times(says.get("nodes"), 8))


def metadata():
    def write(rng, says):
        says["metadata"] = {"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 8, "slurm": {"nnodes": rng.choice([1, 2, "4"])}, "host": "x"}
    return Form("metadata.slurm.nnodes * 8", write, lambda says: times(plain((says["metadata"] or {}).get("slurm", {}).get("nnodes")), 8))


def no_info():
    return Form("gpu_count or 8", lambda rng, says: None, lambda says: says["gpu_count"] or 8)


FORMS = [one_key("NUM_NODES", 8, 1, 8), one_key("NNODES", 8, 1, 4), one_key("nnodes", 8, 1, 12), nested(), two_keys("num_nodes", "num_gpus"),
         two_keys("num_nodes", "num_gpus_per_node"), two_keys("NNODES", "NUM_GPUS"), world_size(), one_key("SLURM_NTASKS", 1, 1, 64), one_key("gpu_num", 1, 1, 16), summary(),
         description(), metadata(), no_info(), None, None]


# ---- the programme ----

NAMES = ["Acme", "Borealis", "Cobalt Labs", "Dandelion", "Ember", "富士計算", "Glacier", "Harbor", "Ion", "Juniper", "Kestrel", "Lumen", "Mistral-7", "Nimbus", "Onyx", "Pine"]


class Company:
    def __init__(self, name, teams, schedule, ignore=None, include=None):
        self.name, self.teams, self.schedule, self.ignore, self.include = name, teams, schedule, ignore, include


class Team:
    def __init__(self, name, form):
        self.name, self.form, self.projects = name, form, []


class Programme:
    def __init__(self, seed=1, companies=12, projects=60, runs=20000, days=184, first=FIRST, zone="Asia/Tokyo"):
        self.seed, self.zone, self.first, self.last = seed, zone, first, first + datetime.timedelta(days=days - 1)
        self.rng = rng = random.Random(f"programme {seed}")
        self.companies, self.teams, self.runs, self.rules = [], {}, [], []
        self.tails = {(g, n): Tails(rng, g, n) for g, n in ((1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (8, 2))}
        self.begin_ms = (first - EPOCH).days * DAY_MS - 9 * 3600000
        self.span_ms = days * DAY_MS
        for k in range(companies):
            self.make_company(k, days)
        self.make_rules(days)
        self.make_projects(projects)
        self.make_runs(runs)

    def day(self, n):
        return self.first + datetime.timedelta(days=n)

    def make_company(self, k, days):
        rng = self.rng
        name = NAMES[k % len(NAMES)] + ("" if k < len(NAMES) else str(k))
        slug = "co%02d" % k
        n_teams = [1, 1, 3, 1, 2, 1, 8, 1, 1, 2, 1, 1][k % 12]
        teams = [f"{slug}-{'abcdefgh'[t]}" if n_teams > 1 else slug for t in range(n_teams)]
        part = lambda f: self.day(int(days * f))
        schedule = [[(self.day(-40), rng.randint(1, 9))],
                    [(part(0), 2), (part(0.3), 5), (part(0.6), 1)],
                    [(part(0.1), 4), (part(0.4), 0), (part(0.55), 6), (part(0.9), 0)],  # a gap, and an end
                    [(self.day(-400), 3), (self.day(-200), 0)],                         # long over
                    [(part(0.5), 7)],                                                    # begins late
                    [(self.day(-10), 1), (part(0.7), 0)],
                    [(self.day(-30), 12), (part(0.25), 20)],
                    [(part(1) + datetime.timedelta(days=20), 4)],                        # begins after it all
                    [(part(0.2), 0), (part(0.3), 3), (part(0.35), 3), (part(0.8), 2)],   # begins with 0
                    [(part(0), 1), (self.last, 0)],                                      # ends on the last day
                    [(self.day(-5), 2)],
                    [(part(0.15), 8), (part(0.95), 0)]][k % 12]
        ignore = {1: "test*", 4: "*-scratch"}.get(k % 12)
        include = {6: "prod*", 8: "[pq]*"}.get(k % 12)
        if k % 12 == 8:
            ignore = "p*"  # not looked at: there is an include
        self.companies.append(Company(name, teams, schedule, ignore, include))
        for t in teams:
            self.teams[t] = Team(t, FORMS[len(self.teams) % len(FORMS)])

    def make_rules(self, days):
        """Each as (what config.yaml has, whether it is for a run, its value)."""
        names = list(self.teams)
        self.rules.append(({"project": "*-excluded", "gpus": "0"}, lambda run: run.project.endswith("-excluded"), lambda says: 0))
        for project, gpus in (("const16", 16), ("prod-const64", 64), ("const80", 80)):
            self.rules.append(({"project": project + "*", "gpus": str(gpus)}, lambda run, p=project: run.project.startswith(p), lambda says, g=gpus: g))
        first, last = self.day(days // 4), self.day(days // 4 + 10)
        self.rules.append(({"team": names[0], "from": str(first), "to": str(last), "gpus": "96"},
                           lambda run: run.team == names[0] and first <= run.created_day <= last, lambda says: 96))
        for t in self.teams.values():
            if t.form:
                self.rules.append(({"team": t.name, "gpus": t.form.expr}, lambda run, n=t.name: run.team == n, t.form.value))

    def make_projects(self, n):
        """Names that patterns and rules speak of first, so that the smallest programme has each; unequal sizes."""
        words = ["pretrain", "prod-llm", "test-run", "const16-a", "qa", "prod-const64", "vision-scratch", "tune-excluded", "const80", "p.q_r-1", "sandbox", "prod-x-excluded", "empty"]
        teams = list(self.teams.values())
        self.weights = []
        for k in range(max(n, len(teams))):
            team = teams[k % len(teams)]
            word = words[k % len(words)] if k % 3 else words[(k // 3) % len(words)]
            company = next(c for c in self.companies if team.name in c.teams)
            if company.include and not team.projects:
                word = "prod-llm"
            name = word if word not in team.projects else f"{word}-{k}"
            team.projects.append(name)
            idle = self.companies.index(company) % 12 in (3, 7) or (company.include and not name.startswith("prod")) or name.endswith("-excluded")
            self.weights.append((team, name, 0 if word == "empty" else 1 if idle else 40 if k == 2 else self.rng.choice([4, 6, 8, 12])))

    def make_runs(self, n):
        rng = self.rng
        total = sum(w for _, _, w in self.weights)
        made = []
        for team, project, weight in self.weights:
            made += [(team, project)] * (n * weight // total)
        while len(made) < n:
            made.append(rng.choice([(t, p) for t, p, w in self.weights if w]))
        taken = {}
        for team, project in made:
            hosts = [f"{team.name}-node{h}" for h in range(6)]
            before = taken.setdefault(team.name, [])
            twin = before and rng.random() < 0.06  # started again on the same host while the other one runs
            run = ProgrammeRun(self, team, project, rng, hosts, rng.choice(before[-20:]) if twin else None)
            if rng.random() < 0.03 and self.runs:
                run.name = self.runs[-1].name  # the same id elsewhere: ids are a project's own
            while any(run.name == other.name and other.project == project for other in before):
                run.name = run_id(rng)
            before.append(run)
            self.runs.append(run)

    # ---- what others are given ----

    def fill(self, world):
        for team in self.teams.values():
            for project in team.projects:
                world.add_project(team.name, project)
        for run in self.runs:
            if not run.deleted:
                run.add_to(world)
        for n in range(70):  # more projects than a page of 50, of a team no company has
            world.add_project("stranger", f"project{n}")
        return world

    def config(self, **more):
        return {"testmode": False, "enable_alert": False, "ignore_tags": IGNORE_TAGS, "wandb_dir": "/tmp/wandb", "max_workers": 2,
                "dashboard": {"entity": "host", "project": "gpu-dashboard2", "tag_for_latest": "latest"},
                "dataset": {"entity": "host", "project": "gpu-dashboard2", "artifact_name": "all_runs_data"},
                "companies": [{k: v for k, v in {
                    "company": c.name, "teams": c.teams, "ignore_project_pattern": c.ignore, "include_project_pattern": c.include,
                    "schedule": [{"date": str(d), "assigned_gpu_node": n} for d, n in c.schedule]}.items() if v is not None} for c in self.companies],
                "zone": self.zone, "gpu_count": [r[0] for r in self.rules], **more}

    def config_text(self, **more):
        """YAML; JSON is YAML, and its quoting is exact."""
        return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in self.config(**more).items())


def run_id(rng):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(8))


class ProgrammeRun:
    """What is true of a run; `says` is what it tells W&B of itself."""

    def __init__(self, programme, team, project, rng, hosts, twin):
        self.programme, self.team, self.project, self.name = programme, team.name, project, run_id(rng)
        kind = rng.random()
        if kind < 0.02:
            length = 0
        elif kind < 0.05:
            length = rng.randint(1, 59999)
        elif kind < 0.08:
            length = rng.randint(1, 20) * MINUTE_MS  # ends on a minute
        elif kind < 0.70:
            length = rng.randint(MINUTE_MS, 5 * 3600000)
        elif kind < 0.90:
            length = rng.randint(5 * 3600000, 20 * 3600000)
        elif kind < 0.99:
            length = rng.randint(20 * 3600000, 5 * DAY_MS)
        else:
            length = rng.randint(5 * DAY_MS, 35 * DAY_MS)
        if twin:
            self.created = min(twin.created + rng.randint(0, 600000), max(twin.created, twin.heartbeat))
            self.host = twin.host
        else:
            self.created = programme.begin_ms + rng.randint(-6 * DAY_MS, programme.span_ms + 3 * DAY_MS)
            self.host = rng.choice([*hosts, *hosts, None])
        if rng.random() < 0.03:  # at midnight, sharp
            self.created -= (self.created + 9 * 3600000) % DAY_MS
        if rng.random() < 0.9:
            self.created -= self.created % 1000
            length -= length % 1000
        self.heartbeat = self.created + length
        self.style = rng.randint(0, 1)
        self.running = length > 3600000 and self.heartbeat > programme.begin_ms + programme.span_ms - 2 * DAY_MS
        self.state = "running" if self.running else rng.choice(["finished", "finished", "finished", "crashed", "failed", "killed"])
        self.tags = rng.choice([[], [], [], ["baseline"], ["a", "日本"], ["with, comma", 'and "quotes"']])
        if rng.random() < 0.05:
            self.tags = self.tags + [rng.choice(["other_gpu", "Others_GPU", "OTHER_GPU"])]
        self.ignored = any(t.lower() in IGNORE_TAGS for t in self.tags)
        gpus, nodes = rng.choice([(1, 1), (1, 1), (2, 1), (4, 1), (8, 1), (8, 1), (2, 2), (8, 2)])
        kind = rng.random()
        self.info = {"gpu": "NVIDIA H100 80GB HBM3", "gpuCount": gpus, "cpuCount": gpus * 24}
        if kind < 0.04:
            self.info = None
        elif kind < 0.06:
            self.info = {"gpu": None, "gpuCount": None, "cpuCount": 8}
        elif kind < 0.08:
            self.info["cpuCount"] = None
        self.says = {"config": {"lr": {"value": 0.001, "desc": None}, "_wandb": {"value": {"cli_version": "0.17"}}}, "summary": {"loss": 1.5}, "description": None, "metadata": None,
                     "gpu_count": (self.info or {}).get("gpuCount")}
        if team.form and rng.random() < 0.85:
            team.form.write(rng, self.says)
            if rng.random() < 0.05:  # unreadable: the default
                self.says["config"] = {k: rng.choice([None, "auto", {"value": None}, {"value": "auto"}, {"value": 0}, [], {"value": []}]) if k not in ("lr", "_wandb") else v
                                       for k, v in self.says["config"].items()}
        self.user = rng.choice([{"name": "Kim", "username": "kim"}, {"name": "Lee", "username": None}, None])
        self.metrics = self.make_metrics(rng, gpus, nodes, length)
        self.deleted = False

    def make_metrics(self, rng, gpus, nodes, length):
        p, kind = self.programme, rng.random()
        first = self.created * 1000 + rng.randint(0, 20_000_000)
        step, n = 0, 0
        if kind < 0.05:
            n = 0
        elif kind < 0.08:
            n = 1
        elif kind < 0.13 and length < 6 * 3600000:  # each 15 s, as the client sends: more than are asked for
            step, n = 15_000_000, length // 15000
        else:
            n = min(length // 15000, rng.randint(2, 60))
            step = length * 1000 // n if n else 0
        if n > 1 and rng.random() < 0.1:  # goes on after the last heartbeat
            step = step * 11 // 10
        if n > 1 and rng.random() < 0.02:  # just before midnight
            first = (first // 1000000 // 86400 + 1) * 86400_000000 - 9 * 3600_000000 - rng.choice([1, 400, 600, 1000])
        return Metrics(p.tails[gpus, nodes], first, step, n, rng.randint(0, 10**6), rng.choice([0, 3, 6, 6]), self.created)

    @property
    def created_day(self):
        return self.programme_days().day_of(self.created)

    def programme_days(self):
        return Days.of(self.programme.zone)

    def add_to(self, world):
        p = world.add_project(self.team, self.project)
        p.add(Run(p, self.name, displayName="run of " + self.name, state=self.state, tags=self.tags, host=self.host, createdAt=iso(self.created, self.style),
                  heartbeatAt=iso(self.heartbeat, self.style), updatedAt=iso(self.heartbeat + 12345678, self.style), config=json.dumps(self.says["config"]),
                  summaryMetrics=json.dumps(self.says["summary"]), description=self.says["description"], user=self.user, runInfo=self.info, metrics=self.metrics,
                  stored={} if self.says["metadata"] is None else {"wandb-metadata.json": json.dumps(self.says["metadata"]).encode(), "output.log": b"hello\n"}))


class Days:
    """When the days of a zone begin."""
    kept = {}

    def __init__(self, zone):
        import zoneinfo
        z = zoneinfo.ZoneInfo(zone)
        self.first = datetime.date(2024, 1, 1)
        self.begins = []
        for k in range(1500):
            d = self.first + datetime.timedelta(days=k)
            self.begins.append(int(datetime.datetime(d.year, d.month, d.day, tzinfo=z).timestamp() * 1000))

    @classmethod
    def of(cls, zone):
        if zone not in cls.kept:
            cls.kept[zone] = cls(zone)
        return cls.kept[zone]

    def day_of(self, ms):
        return self.first + datetime.timedelta(days=bisect.bisect_right(self.begins, ms) - 1)

    def begin(self, day):
        return self.begins[(day - self.first).days]
