#!/usr/bin/python3
"""Weights & Biases and the hub: the daily pull as its child, the report from either source, and both compared run by run with what processes held, against
the same rules done minute by minute here."""
import datetime
import json
import os
import random
import sqlite3
import threading
import time
from fractions import Fraction

import lib
from wandb_standin import KEY, Standin
from wandb_world import Run, World

MINUTE = 60000
TOKYO = datetime.timezone(datetime.timedelta(hours=9))
FIRST = datetime.datetime(2024, 10, 22, tzinfo=TOKYO)
DAYS = 4
NODES = {"0" * 31 + "1": "alpha1", "0" * 31 + "2": "beta1.lab.example"}
HOSTS = {"alpha1": 0, "ALPHA1.lab.example": 0, "beta1": 1, "beta1.lab.example": 1, "elsewhere": None, None: None}
CONFIG = """
ignore_tags: [other_gpu]
companies:
  - {company: Acme, teams: [acme], schedule: [{date: "2024-10-01", assigned_gpu_node: 2}]}
  - {company: Brick, teams: [brick], schedule: [{date: "2024-10-01", assigned_gpu_node: 1}]}
"""
PLACES = """
dashboard: {entity: lender, project: gpu-dashboard, tag_for_latest: latest}
dataset: {entity: lender, project: gpu-dashboard, artifact_name: all_runs_data}
"""
PEOPLE = """
people:
  ann: {logins: [ann, ann-at-wandb]}
  bob: {logins: [bob]}
teams:
  acme: {members: [ann, bob]}
"""


def ms(moment):
    return int(moment.timestamp() * 1000)


def utc(at_ms):
    return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def run_of(project, name, begin, end, **kw):
    """Minutes from FIRST; end is the last instant that counts."""
    more = {"state": "finished", "runInfo": {"gpu": "NVIDIA H200", "gpuCount": kw.pop("gpus", 8), "cpuCount": 64}, "tags": kw.pop("tags", [])}
    return Run(project, name, createdAt=utc(ms(FIRST) + begin * MINUTE), heartbeatAt=utc(ms(FIRST) + end * MINUTE), **more, **kw)


class Scene:
    """Processes on two nodes, and runs of W&B; every moment is a whole minute from FIRST."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.worked = seed == 1  # GPUs of the first node tell what they really did
        self.held, self.claims, self.world = [], [], World()
        project = self.world.add_project("acme", "llm")
        self.world.add_project("brick", "empty")
        for n in range(30):
            begin = rng.randint(0, DAYS * 1440 - 400)
            first = rng.randint(0, 7)
            self.held.append({"node": rng.randint(0, 1), "gpus": list(range(first, rng.randint(first, 7) + 1)), "user": rng.choice(["ann", "bob", "ubuntu"]),
                              "pid": 100 * (n + 1), "begin": begin, "end": begin + rng.randint(1, 900)})
        for n in range(40):
            begin = rng.randint(0, DAYS * 1440 - 400)
            user = rng.choice(["ann", "ann-at-wandb", "bob", "stranger", None])
            c = {"id": f"run{n:05d}", "host": rng.choice(list(HOSTS)), "user": user, "gpus": rng.choice([1, 2, 4, 8, 16]), "begin": begin, "end": begin + rng.randint(0, 600)}
            self.claims.append(c)
            project.add(run_of(project, c["id"], begin, c["end"], gpus=c["gpus"], host=c["host"], user={"name": "x", "username": user} if user else None))

    def lines(self):
        yield {"muster_export": 1}
        for k, (node, name) in enumerate(NODES.items()):
            yield {"kind": "node", "node": node, "name": name, "tick_ms": 60000}
            for gpu in range(8):
                uuid = f"GPU-{k}{gpu}"
                yield {"kind": "device", "node": node, "device": uuid, "name": "NVIDIA H200", "index": gpu, "minor": gpu, "mig": -1, "vendor": 1}
                t = [ms(FIRST) + i * MINUTE for i in range(DAYS * 1440)]
                for metric, value in [("util", 0.4)] + ([("work", 0.2), ("tensor_active", 0.1)] if self.worked and k == 0 else []):
                    for i in range(0, len(t), 5000):
                        yield {"kind": "samples", "node": node, "device": uuid, "metric": metric, "t": t[i:i + 5000], "v": [value] * len(t[i:i + 5000])}
        for h in self.held:
            for gpu in h["gpus"]:
                yield {"kind": "process", "node": list(NODES)[h["node"]], "device": f"GPU-{h['node']}{gpu}", "pid": h["pid"] + gpu, "start": ms(FIRST) + h["begin"] * MINUTE, "ppid": 1,
                       "root_pid": h["pid"], "uid": 1000, "user": h["user"], "name": "python", "slurm_job": 0, "first": ms(FIRST) + h["begin"] * MINUTE,
                       "last": ms(FIRST) + h["end"] * MINUTE - 1, "mem_max": 1 << 30, "ended": True}

    def there(self, minute, person):
        """[GPUs of this person on node 0, on node 1]"""
        return [len({g for h in self.held if h["node"] == k and h["user"] == person and h["begin"] <= minute < h["end"] for g in h["gpus"]}) for k in (0, 1)]

    def person(self, c):
        """Of a claim: told, or who held the most on that host meanwhile."""
        told = {"ann": "ann", "ann-at-wandb": "ann", "bob": "bob"}.get(c["user"])
        if told or HOSTS[c["host"]] is None:
            return told
        sums = {}
        for h in self.held:
            both = min(h["end"], c["end"] + 1) - max(h["begin"], c["begin"])
            if h["node"] == HOSTS[c["host"]] and both > 0:
                sums[h["user"]] = sums.get(h["user"], 0) + both * len(h["gpus"])
        return min(sums, key=lambda p: (-sums[p], p)) if sums else None

    def expected(self):
        """{id: GPU-minutes} by the rules of docs/internals/wandb-rules.md."""
        got = {c["id"]: Fraction(0) for c in self.claims}
        persons = {c["id"]: self.person(c) for c in self.claims}
        order = sorted(self.claims, key=lambda c: (c["begin"], c["id"]))
        for minute in range(DAYS * 1440 + 700):
            for person in ("ann", "bob", "ubuntu"):
                active = [c for c in order if persons[c["id"]] == person and HOSTS[c["host"]] is not None and c["begin"] <= minute <= c["end"]]
                if not active:
                    continue
                have = self.there(minute, person)
                need = [sum(c["gpus"] for c in active if HOSTS[c["host"]] == k) for k in (0, 1)]
                spare = [max(have[k] - need[k], 0) for k in (0, 1)]
                for c in active:
                    k = HOSTS[c["host"]]
                    share = Fraction(c["gpus"]) if need[k] <= have[k] else Fraction(have[k] * c["gpus"], need[k])
                    if have[k] < c["gpus"]:
                        more = min(int(c["gpus"] - share), spare[1 - k])
                        spare[1 - k] -= more
                        share += more
                    got[c["id"]] += share
        return got


class Sources(lib.Case):
    def files(self):
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"people_companies: {self.path('config.yaml')}\n{PEOPLE}")

    def pull(self, s, *flags, data=None):
        return self.run_any(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, "--data", data or self.path("data"), *flags, env={"WANDB_API_KEY": KEY})

    def test_runs_are_compared_with_what_was_held_by_the_rules(self):
        self.files()
        for seed in (1, 2, 3):
            scene = Scene(seed)
            data = self.path(f"data{seed}")
            with open(self.path("past.jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in scene.lines())
            self.run_ok(lib.MUSTER, "import", self.path("past.jsonl"), "--data", data)
            with Standin(scene.world) as s:
                status, out, err = self.pull(s, "--start-date", "2024-10-21", "--end-date", "2024-10-27", data=data)
                self.assertEqual(status, 0, out + err)
            hub = self.start_hub("--config", self.path("muster.yaml"), "--keep-raw", "0", "--keep-minute", "0", "--keep-records", "0", data=data, env={"TZ": "UTC"})
            got = lib.ask_json(f"{hub.url}/api/v1/report?period=runs&from=2024-10-21&to=2024-10-27")
            self.assertEqual((got["source"], got["zone"], got["period"]), ("both", "Asia/Tokyo", "runs"))
            rows = {r["run"]: r for r in got["rows"]}
            self.assertEqual(len(rows), len(scene.claims))
            expected = scene.expected()
            for c in scene.claims:
                r, claimed, held = rows[f"acme/llm/{c['id']}"], Fraction((c["end"] - c["begin"] + 1) * c["gpus"], 60), expected[c["id"]] / 60
                with self.subTest(seed=seed, claim=c, row=r):
                    self.assertAlmostEqual(r["claimed"], float(claimed), delta=0.051)
                    self.assertAlmostEqual(r["held"], float(held), delta=0.051)
                    self.assertAlmostEqual(r["difference"], r["claimed"] - r["held"], delta=0.001)
                    if r["busy"] is not None:
                        self.assertAlmostEqual(r["busy"], float(held * 2 / 5), delta=0.1)
                    self.assertEqual("effective" in r, scene.worked)
                    if r.get("effective") is not None:
                        self.assertLessEqual(r["effective_measured"], r["held"])
                        self.assertAlmostEqual(r["effective"], r["effective_measured"] / 5, delta=0.061)
                        self.assertAlmostEqual(r["tensor"], r["tensor_measured"] / 10, delta=0.056)
                    if HOSTS[c["host"]] is None:
                        self.assertEqual(r["why"], "no such host")
                    elif claimed - held <= max(claimed / 20, Fraction(5 * c["gpus"], 60)):
                        self.assertEqual(r["why"], "agrees")
                    elif held:
                        self.assertIn(r["why"], ("fewer GPUs", "shorter", "shared"))
                    else:
                        self.assertIn(r["why"], ("no process", "only others"))
            self.assertEqual({r["page"] for r in got["rows"]}, {None})  # nobody labelled anything
            c = next(c for c in scene.claims if HOSTS[c["host"]] is not None and c["end"] - c["begin"] > 60)
            at = lambda minute: ms(FIRST) + minute * MINUTE  # noqa: E731
            job = json.loads(lib.ask(hub.url + "/api/v1/jobs", method="POST", headers={"Authorization": "Bearer " + self.token("admin", data=data)}, body=json.dumps(
                {"name": "ours", "kind": "record", "node": list(NODES.values())[HOSTS[c["host"]]], "start": at(c["begin"]), "end": at(c["end"])}).encode())[2])
            pages = {r["run"]: r["page"] for r in lib.ask_json(f"{hub.url}/api/v1/report?period=runs&from=2024-10-21&to=2024-10-27")["rows"]}
            self.assertEqual(pages[f"acme/llm/{c['id']}"], f"/run/{job['id']}")
            self.assertTrue(all(pages[f"acme/llm/{x['id']}"] is None for x in scene.claims if HOSTS[x["host"]] is None))
            # by period: each side is its own report
            both = lib.ask_json(f"{hub.url}/api/v1/report?source=both&from=2024-10-21&to=2024-10-27")["rows"]
            for key, source in (("wandb_gpu_hour", "wandb"), ("held_gpu_hour", "agents")):
                one = lib.ask_json(f"{hub.url}/api/v1/report?source={source}&zone=Asia/Tokyo&from=2024-10-21&to=2024-10-27")
                self.assertEqual(one["source"], source)
                self.assertEqual([(r["company"], r["date"], r[key]) for r in both], [(r["company"], r["date"], r["_total_gpu_hour"]) for r in one["rows"]])
                for work in ("effective_gpu_hour", "effective_measured_hour", "tensor_gpu_hour", "tensor_measured_hour") if source == "agents" else ():
                    self.assertEqual([r.get(work, "none") for r in both], [r.get(work, "none") for r in one["rows"]])
                    self.assertEqual(any(r.get(work) for r in both), scene.worked)
            self.assertTrue(any(r["difference"] for r in both))
            for r in both:
                self.assertAlmostEqual(r["difference"], r["wandb_gpu_hour"] - r["held_gpu_hour"], delta=0.001)
            hub.end()

    def test_a_run_of_wandb_is_a_run_with_a_page(self):
        self.files()
        node, at = list(NODES)[0], lambda minute: ms(FIRST) + minute * MINUTE  # noqa: E731

        def job(number, devices, begin, end, **kw):
            return {"kind": "job", "node": node, "id": number, "parent": 0, "start": at(begin), "end": at(end), "name": "python", "type": "auto", "person": "ann", "owner": "auto",
                    "devices": devices, "pids": "100", "attrs": "{}", **kw}
        lines = [line for line in Scene(5).lines() if line.get("kind") not in ("process", "samples")]
        lines += [{"kind": "samples", "node": node, "device": "GPU-00", "metric": "util", "t": [at(i) for i in range(1000)], "v": [0.4] * 1000}]
        lines += [job(1, "GPU-00,GPU-01", 0, 125), job(2, "GPU-02", 200, 900)]
        with open(self.path("past.jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(line) + "\n" for line in lines)
        self.run_ok(lib.MUSTER, "import", self.path("past.jsonl"), "--data", self.path("data"))
        world = World()
        project = world.add_project("acme", "llm")
        world.add_project("brick", "empty")
        for name, begin, end, host in (("whole001", 2, 124, "alpha1"), ("sweep001", 210, 400, "ALPHA1.lab.example"), ("sweep002", 410, 700, "alpha1"), ("other001", 0, 100, "elsewhere"), ("alone001", 1000, 1100, "alpha1")):
            project.add(run_of(project, name, begin, end, host=host, user={"name": "x", "username": "ann-at-wandb"}, displayName="name of " + name))
        with Standin(world) as s:
            status, out, err = self.pull(s, "--start-date", "2024-10-21", "--end-date", "2024-10-27")
            self.assertEqual(status, 0, out + err)
        hub = self.start_hub("--config", self.path("muster.yaml"), "--keep-raw", "0", "--keep-minute", "0", "--keep-records", "0", env={"TZ": "UTC"})

        def jobs(query=""):
            return {j["name"]: j for j in lib.ask_json(f"{hub.url}/api/v1/jobs?limit=1000{query}")["jobs"]}
        lib.wait_until("runs of W&B as jobs", lambda: len(jobs("&kind=wandb")) == 3)
        got = jobs("&kind=wandb")
        whole, sweep = got["name of whole001"], got["name of sweep001"]
        self.assertEqual((whole["node"], whole["person"], whole["devices"], whole["start"], whole["end"], whole["parent"]), ("alpha1", "ann", ["GPU-00", "GPU-01"], at(2), at(124), None))
        self.assertEqual(whole["attributes"], {"wandb": "acme/llm/whole001", "url": "https://wandb.ai/acme/llm/runs/whole001", "state": "finished"})
        self.assertEqual(lib.ask_json(f"{hub.url}/api/v1/jobs/{1:016x}")["id"], whole["id"])  # the run without a name leads to it
        self.assertEqual((sweep["devices"], sweep["parent"], got["name of sweep002"]["parent"]), (["GPU-02"], f"{2:016x}", f"{2:016x}"))
        self.assertEqual(lib.ask_json(f"{hub.url}/api/v1/jobs/{2:016x}")["kind"], "auto")  # of which they are parts
        self.assertEqual(lib.ask_json(f"{hub.url}/api/v1/jobs/{whole['id']}/verdict")["gpus"], "2 x H200")
        pages = {r["run"]: r["page"] for r in lib.ask_json(f"{hub.url}/api/v1/report?period=runs&from=2024-10-21&to=2024-10-27")["rows"]}
        self.assertEqual(pages, {"acme/llm/whole001": f"/run/{whole['id']}", "acme/llm/sweep001": f"/run/{sweep['id']}", "acme/llm/sweep002": f"/run/{got['name of sweep002']['id']}",
                                 "acme/llm/other001": None, "acme/llm/alone001": None})

    def test_a_run_that_was_pulled_while_it_ran_is_the_run_it_was(self):
        self.files()
        node, at = list(NODES)[0], lambda minute: ms(FIRST) + minute * MINUTE  # noqa: E731
        world = World()
        project = world.add_project("acme", "llm")
        world.add_project("brick", "empty")

        def say(state, *ends):
            for (name, begin, user), end in zip((("whole001", 2, "ann-at-wandb"), ("twin0001", 3, "ann"), ("short001", 10, "bob")), ends):
                project.add(run_of(project, name, begin, end, gpus=2, host="alpha1", user={"name": "x", "username": user}, displayName=name))
                project.byname[name].state = state

        def auto(number, person, devices, end):
            return {"kind": "job", "node": node, "id": number, "parent": 0, "start": at(0), "end": end, "name": "python", "type": "auto", "person": person, "owner": "auto", "devices": devices,
                    "pids": "100", "attrs": "{}"}

        def begin(data, *jobs):
            with open(self.path("past.jsonl"), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in [line for line in Scene(5).lines() if line.get("kind") not in ("process", "samples")] + list(jobs))
            self.run_ok(lib.MUSTER, "import", self.path("past.jsonl"), "--data", data)

        def hub_of(s, data, settled):
            status, out, err = self.pull(s, "--start-date", "2024-10-21", "--end-date", "2024-10-27", data=data)
            self.assertEqual(status, 0, out + err)
            hub = self.start_hub("--config", self.path("muster.yaml"), "--keep-raw", "0", "--keep-minute", "0", "--keep-records", "0", data=data, env={"TZ": "UTC"})
            lib.wait_until("runs of W&B as jobs", lambda: settled(jobs(hub)))
            return hub

        def jobs(hub):
            return {j["name"]: j for j in lib.ask_json(f"{hub.url}/api/v1/jobs?limit=1000&kind=wandb")["jobs"]}

        def parents(got):
            return [got[name]["parent"] if name in got else "?" for name in ("whole001", "twin0001", "short001")]
        data = self.path("data")
        begin(data, auto(1, "ann", "GPU-00", 0), auto(2, "bob", "GPU-02", 0))
        with Standin(world) as s:
            say("running", 60, 60, 30)
            hub = hub_of(s, data, lambda got: parents(got) == [f"{1:016x}", f"{1:016x}", f"{2:016x}"])
            self.assertEqual((jobs(hub)["whole001"]["devices"], jobs(hub)["whole001"]["end"]), (["GPU-00"], at(60)))
            for number, change in ((1, {"end": at(125), "devices": ["GPU-00", "GPU-01"]}), (2, {"end": at(900)})):
                self.assertEqual(lib.ask(f"{hub.url}/api/v1/jobs/{number:016x}", method="PATCH", headers={"Authorization": "Bearer " + self.token("admin", data=data)}, body=json.dumps(change).encode())[0], 200)
            hub.stop()
            say("finished", 124, 123, 40)
            begin(self.path("new"), auto(1, "ann", "GPU-00,GPU-01", at(125)), auto(2, "bob", "GPU-02", at(900)))
            whole = jobs(hub_of(s, self.path("new"), lambda got: len(got) == 3))["whole001"]
            settled = [None, whole["id"], f"{2:016x}"]
            for _ in range(2):  # the second time nothing is left to change
                hub = hub_of(s, data, lambda got: parents(got) == settled)
                got = jobs(hub)
                self.assertEqual(got["whole001"], whole)  # as if it had been pulled after its end alone
                self.assertEqual((whole["start"], whole["end"], whole["devices"], whole["attributes"]["state"]), (at(2), at(124), ["GPU-00", "GPU-01"], "finished"))
                self.assertEqual((got["twin0001"]["end"], got["short001"]["end"]), (at(123), at(40)))
                self.assertEqual(lib.ask_json(f"{hub.url}/api/v1/jobs/{1:016x}")["id"], whole["id"])  # the old id leads to it
                listed = lib.ask_json(f"{hub.url}/api/v1/jobs?limit=1000")["jobs"]
                self.assertEqual(sorted(j["name"] for j in listed), ["python", "short001", "twin0001", "whole001"])  # bob's run, and each of W&B once
                self.assertEqual(lib.ask_json(f"{hub.url}/api/v1/jobs/{whole['id']}/verdict")["gpus"], "2 x H200")
                explained = self.run_ok(lib.MUSTER, "wandb", "explain", "acme/llm/whole001", "--config", self.path("config.yaml"), "--base-url", s.url, "--data", data, "--hub", hub.url, env={"WANDB_API_KEY": KEY})
                self.assertIn(f"{hub.url}/run/{whole['id']}\n", explained)
                hub.stop()
            with sqlite3.connect(os.path.join(data, "muster.db")) as db:  # as if it had been cut off half-way: the run led to it already
                db.execute("update jobs set parent = 1 where id = ?", (int(whole["id"], 16),))
            hub_of(s, data, lambda got: parents(got) == settled)

    def test_every_format_and_what_does_not_go_together(self):
        self.files()
        scene = Scene(4)
        with Standin(scene.world) as s:
            self.assertEqual(self.pull(s, "--start-date", "2024-10-21", "--end-date", "2024-10-27")[0], 0)
        hub = self.start_hub("--config", self.path("muster.yaml"), env={"TZ": "UTC"})
        url = f"{hub.url}/api/v1/report?from=2024-10-21&to=2024-10-27"
        got = lib.ask_json(url)  # no agent ever saw anything
        self.assertEqual((got["source"], got["zone"]), ("wandb", "Asia/Tokyo"))
        self.assertGreater(got["pulled"], 1.7e9)
        self.assertEqual(lib.ask_json(url + "&source=agents")["source"], "agents")
        self.assertEqual(lib.ask_json(url + "&zone=UTC")["source"], "agents")  # W&B's days are of another zone
        self.assertIn("from Weights & Biases (as of 20", self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--from", "2024-10-21", "--to", "2024-10-27"))
        for flags in (["--source", "wandb", "--period", "weekly"], ["--source", "both", "--period", "monthly", "--partial"], ["--period", "runs"]):
            for form in ("table", "csv", "json", "html", "pdf"):
                with self.subTest(flags=flags, form=form):
                    self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--from", "2024-10-21", "--to", "2024-10-27", *flags, "--format", form, "-o", self.path("out"))
                    with open(self.path("out"), "rb") as f:
                        self.assertGreater(len(f.read()), 200)
        ja = self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--from", "2024-10-21", "--to", "2024-10-27", "--source", "both", "--headings", "ja", "--format", "csv")
        self.assertTrue(ja.startswith("企業名,日付,W&B GPU使用時間(h),実測GPU使用時間(h),"), ja[:200])
        for query, status, words in (("source=wandb&zone=UTC", 400, "Asia/Tokyo"), ("source=both&period=summary", 400, "projects differ"), ("source=agents&period=runs", 400, "both sources"),
                                     ("source=slurm", 400, "agents, wandb, both")):
            got, _, body = lib.ask(f"{url}&{query}")
            self.assertEqual(got, status, query)
            self.assertIn(words, body.decode())
        os.remove(self.path("data/wandb.db"))
        self.assertEqual(lib.ask(url + "&source=wandb")[0], 404)
        self.assertEqual(lib.ask_json(url)["source"], "agents")


class Daily(lib.Case):
    """The hub's own pulls. A time of day that is past when the test begins and does not come again while it runs: twelve hours ago."""

    def setUp(self):
        super().setUp()
        now = datetime.datetime.now(TOKYO)
        self.slot = (now - datetime.timedelta(hours=12)).strftime("%H:%M")
        self.yesterday = now.date() - datetime.timedelta(days=1)
        self.world = World()
        self.project = project = self.world.add_project("acme", "llm")
        self.world.add_project("brick", "empty")
        noon = datetime.datetime.combine(self.yesterday, datetime.time(12), TOKYO)
        project.add(Run(project, "run00001", createdAt=utc(ms(noon)), heartbeatAt=utc(ms(noon) + 59 * MINUTE), state="finished", host="gpu01", runInfo={"gpu": "H200", "gpuCount": 8}))
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)

    def hub(self, s, *flags, data=None, more=""):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"wandb: {{config: {self.path('config.yaml')}, schedule: ['{self.slot}'], key_file: {self.path('key')}, base_url: '{s.url}'{more}}}\n")
        with open(self.path("key"), "w", encoding="utf-8") as f:
            f.write(KEY + "\n")
        os.chmod(self.path("key"), 0o600)
        return self.start_hub("--config", self.path("muster.yaml"), *flags, data=data)

    def state(self, hub):
        return lib.ask_json(f"{hub.url}/api/v1/wandb")

    def settled(self, hub, good=True):
        def look():
            state = self.state(hub)
            return state if not state["running"] and state["pull"]["ended"] and (state["pulled"]["to"] or not good) else None
        return lib.wait_until("the pull ended", look)

    def test_the_first_pull_is_made_at_once_and_once(self):
        with Standin(self.world) as s:
            seen, looked = [], threading.Event()
            s.on_request = lambda op, variables: looked.wait(lib.LIMIT_S)  # it runs until it was looked at
            hub = self.hub(s)

            def running():
                if self.state(hub)["running"] == "pull":
                    for pid in filter(str.isdigit, os.listdir("/proc")):
                        try:
                            with open(f"/proc/{pid}/cmdline", "rb") as f:
                                line = f.read()
                        except OSError:
                            continue
                        if s.url.encode() in line and b"pull" in line:
                            seen.append(line)
                return seen
            lib.wait_until("a pull runs", running)
            looked.set()
            self.assertTrue(all(KEY.encode() not in line for line in seen))
            state = self.settled(hub)
            self.assertEqual((state["scheduled"], state["zone"], state["pull"]["error"], state["pulled"]["to"]), (True, "Asia/Tokyo", None, str(self.yesterday)))
            report = lib.ask_json(f"{hub.url}/api/v1/report?company=Acme&from={self.yesterday}&to={self.yesterday}")
            self.assertEqual((report["source"], report["rows"][0]["total_gpu_hour"]), ("wandb", 8.0))
            before = self.yesterday - datetime.timedelta(days=1)  # never pulled: not 0
            report = lib.ask_json(f"{hub.url}/api/v1/report?source=wandb&company=Acme&from={before}&to={before + datetime.timedelta(days=2)}")
            self.assertEqual([(r["total_gpu_hour"], r["assigned_gpu_hour"], r["note"]) for r in report["rows"]], [(None, 384, "not pulled"), (8, 384, None), (None, 384, "not pulled")])
            self.assertEqual((report["data_to"], report["notes"]), (str(self.yesterday), [f"There is no data after {self.yesterday}: later days are not pulled."]))
            both = lib.ask_json(f"{hub.url}/api/v1/report?source=both&company=Acme&from={before}&to={self.yesterday}")["rows"]  # agents saw nothing, and say so
            self.assertEqual([(r["wandb_gpu_hour"], r["held_gpu_hour"], r["difference"], r["wandb_runs"], r["seen_runs"], r["note"]) for r in both],
                             [(8, 0, 8, 1, 0, None), (None, 0, None, None, 0, "not pulled")])
            self.assertIn(f", data up to {self.yesterday}\n", self.run_ok(lib.MUSTER, "report", "--hub", hub.url, "--source", "wandb", "--last", "1d"))
            self.assertIn("ok    wandb", self.run_any(lib.MUSTER, "doctor", "--hub", hub.url)[1])
            self.assertNotIn(KEY, hub.text)
            self.assertNotIn(KEY, self.run_ok(lib.MUSTER, "config", "show", "--config", self.path("muster.yaml")))
            hub.stop()
            asked = s.count["runs"]
            again = self.hub(s)  # nothing is due
            time.sleep(3)
            self.assertIsNone(self.state(again)["pull"]["began"])
            self.assertEqual(s.count["runs"], asked)
            self.assertEqual(self.state(again)["pulled"]["to"], str(self.yesterday))

    def test_days_that_were_missed_are_made_up_for(self):
        before = self.yesterday - datetime.timedelta(days=5)
        half = ms(datetime.datetime.combine(self.yesterday, datetime.time(12, 30), TOKYO))
        self.project.add(Run(self.project, "run00002", createdAt=utc(half), heartbeatAt=utc(half + MINUTE), state="finished", host="gpu01", runInfo={"gpu": "H200", "gpuCount": 8}))
        with Standin(self.world) as s:
            self.run_ok(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, "--data", self.path("data"), "--start-date", before, "--end-date", before,
                        env={"WANDB_API_KEY": KEY})
            hub = self.hub(s)
            state = lib.wait_until("made up", lambda: (lambda v: v if v["pulled"]["to"] == str(self.yesterday) else None)(self.state(hub)))
            self.assertEqual(state["pulled"]["from"], str(before + datetime.timedelta(days=1)))
            said = lib.wait_until("told", lambda: [e["text"] for e in lib.ask_json(f"{hub.url}/api/v1/events?kind=wandb") if e["text"].startswith("overlap")])
            self.assertEqual(said, ["overlap Acme: 1 run of Acme began on a host while another was there"])  # one line, whatever follows it
            rows = lib.wait_until("a notice", lambda: [r for r in lib.ask_json(f"{hub.url}/api/v1/alerts?all")["rows"] if r["rule"] == "wandb"])
            self.assertEqual([(r["text"], r["notice"]) for r in rows], [(said[0], True)])  # and none of the pull that went well

    def test_a_pull_that_was_cut_off_is_gone_on_with(self):
        with Standin(self.world) as s:
            cut = threading.Event()
            s.on_request = lambda op, variables: cut.wait(lib.LIMIT_S)
            hub = self.hub(s)
            lib.wait_until("a pull runs", lambda: self.state(hub)["running"] == "pull" and s.count)
            hub.kill9()
            cut.set()
            hub = self.hub(s)
            self.assertIsNone(self.settled(hub)["pull"]["error"])

    def test_tables_follow_the_pull_and_are_checked_when_it_is_time(self):
        with open(self.path("config.yaml"), "a", encoding="utf-8") as f:
            f.write(PLACES)
        self.world.add_project("lender", "gpu-dashboard")
        with Standin(self.world) as s:
            hub = self.hub(s, more=f", push: true, check: ['{self.slot}']")
            state = lib.wait_until("pushed", lambda: (lambda v: v if v["push"]["ended"] else None)(self.state(hub)))
            self.assertEqual((state["push"]["error"], state["pull"]["error"], state["check"]["began"]), (None, None, None))
            self.assertGreater(state["push"]["next"], time.time())
            self.assertEqual(state["push"]["next"], state["pull"]["next"])
            runs = [r for r in self.world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags]
            self.assertEqual({tuple(sorted(set(r.tags) - {"latest"})) for r in runs}, {("overall",), ("Acme",), ("Brick",)})
            self.assertTrue(all(r.displayName == f"Tables_{self.yesterday}" for r in runs))
            hub.stop()
            with sqlite3.connect(self.path("data/muster.db")) as db:  # as if the hub had been down since the day before
                pull, check, event, _ = bytes(db.execute("select value from settings where name = 'wandb'").fetchone()[0]).decode().split()
                db.execute("update settings set value = ? where name = 'wandb'", (f"{pull} {int(check) - 86400000} {event} ".encode(),))
            hub = self.hub(s, more=f", push: true, check: ['{self.slot}']")
            state = lib.wait_until("checked", lambda: (lambda v: v if v["check"]["ended"] else None)(self.state(hub)))
            self.assertIsNone(state["pull"]["began"])
            self.assertIn("Low GPU Usage", state["check"]["error"])  # eight hours of 384

    def test_one_unreadable_project_stops_nobodys_tables(self):
        with open(self.path("config.yaml"), "a", encoding="utf-8") as f:
            f.write(PLACES)
        self.world.add_project("lender", "gpu-dashboard")
        with Standin(self.world) as s:
            s.fault("status", op="runs", where={"entity": "brick"}, status=403, times=None)
            hub = self.hub(s, more=", push: true")
            state = lib.wait_until("pushed", lambda: (lambda v: v if v["push"]["ended"] else None)(self.state(hub)))
            self.assertEqual((state["push"]["error"], state["pull"]["tries"], state["pulled"]["to"]), (None, 1, None))  # and the pull is tried again
            self.assertIn("brick/empty", state["pull"]["error"])
            rows = lib.wait_until("an alert", lambda: [r for r in lib.ask_json(f"{hub.url}/api/v1/alerts?all")["rows"] if r["rule"] == "wandb" and "brick/empty" in r["text"]])
            self.assertTrue(rows[0]["notice"])
            runs = [r for r in self.world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags]
            self.assertEqual({tuple(sorted(set(r.tags) - {"latest"})) for r in runs}, {("overall",), ("Acme",), ("Brick",)})

    def test_a_pull_that_cron_started_and_that_failed_is_an_alert(self):
        pull = [lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--data", self.path("data")]
        firing = lambda hub: [r["text"] for r in lib.ask_json(f"{hub.url}/api/v1/alerts")["rows"] if r["rule"] == "wandb-failed"]  # noqa: E731
        with Standin(self.world) as s:
            env = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": s.url}
            fault = s.fault("status", op="runs", where={"entity": "brick"}, status=403, times=None)
            self.assertEqual(self.run_any(*pull, env=env)[0], 3)
            hub = self.start_hub(data=self.path("data"))
            text, = lib.wait_until("an alert", lambda: firing(hub))
            self.assertIn("Weights & Biases: pull failed: brick/empty", text)
            self.assertIn("brick/empty", self.run_ok(lib.MUSTER, "alerts", "test", "--hub", hub.url))
            hub.stop()
            s.faults.remove(fault)
            self.run_ok(*pull, env=env)
            hub = self.start_hub(data=self.path("data"))
            lib.wait_until("it knows of the pull", lambda: self.state(hub)["pulled"]["to"])
            self.assertIsNone(self.state(hub)["pull"]["error"])
            self.assertNotIn("wandb-failed", self.run_ok(lib.MUSTER, "alerts", "test", "--hub", hub.url))  # the alert ends when the hub has run for a while

    def test_a_failure_is_said_everywhere_and_is_an_event(self):
        with Standin(self.world) as s:
            s.fault("status", op="runs", status=403, times=None)
            hub = self.hub(s)
            state = self.settled(hub, good=False)
            self.assertEqual((state["pull"]["tries"], state["pull"]["good"]), (1, None))
            self.assertTrue(state["pull"]["error"])
            self.assertLess(abs(state["pull"]["next"] - state["pull"]["ended"] - 900), 60)  # the next try, not the time of tomorrow
            self.assertIsNone(state["push"]["next"])  # not configured
            fires = lib.wait_until("an alert", lambda: [r for r in lib.ask_json(f"{hub.url}/api/v1/alerts")["rows"] if r["rule"] == "wandb-failed"])
            self.assertIn("Weights & Biases: pull failed", fires[0]["text"])
            status, out, _ = self.run_any(lib.MUSTER, "alerts", "--hub", hub.url)
            self.assertEqual((status, "wandb-failed" in out), (1, True))
            lib.wait_until("screens say so", lambda: "Weights & Biases: pull failed" in lib.ask(f"{hub.url}/?term=true")[2].decode())
            events = lib.wait_until("an event", lambda: [e for e in lib.ask_json(f"{hub.url}/api/v1/events?limit=50") if e["kind"] == "wandb"])
            self.assertIn("acme/llm", events[0]["text"])
            self.assertIn("FAIL  wandb", self.run_any(lib.MUSTER, "doctor", "--hub", hub.url)[1])
            self.assertNotIn(KEY, hub.text)
            n = len(events)
            hub.stop()
            hub = self.hub(s)  # each is passed on once
            self.assertTrue(self.state(hub)["pull"]["error"])  # kept over the restart
            self.settled(hub, good=False)
            with sqlite3.connect(f"file:{self.path('data/muster.db')}?mode=ro", uri=True) as db:
                self.assertLessEqual(n, db.execute("select count(distinct code) from events where node = ''").fetchone()[0])


if __name__ == "__main__":
    lib.main()
