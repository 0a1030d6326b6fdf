#!/usr/bin/python3
"""W&B's runs in a store that hubs share: any hub answers, and the next leader goes on where the last one stopped."""
import collections
import datetime
import json
import os

import lib
import postgres
from wandb_standin import KEY, Standin
from wandb_world import Run, World

MINUTE = 60000
TOKYO = datetime.timezone(datetime.timedelta(hours=9))
CONFIG = """
companies:
  - {company: Acme, teams: [acme], schedule: [{date: "2024-10-01", assigned_gpu_node: 2}]}
"""


def utc(moment):
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


class Shared(lib.Case):
    def setUp(self):
        super().setUp()
        now = datetime.datetime.now(TOKYO)
        self.slot = (now - datetime.timedelta(hours=12)).strftime("%H:%M")  # is past, and does not come again meanwhile
        self.yesterday = now.date() - datetime.timedelta(days=1)
        self.world = World()
        noon = datetime.datetime.combine(self.yesterday, datetime.time(12), TOKYO)
        for name in ("one", "two"):
            project = self.world.add_project("acme", name)
            project.add(Run(project, f"run-{name}", createdAt=utc(noon), heartbeatAt=utc(noon + datetime.timedelta(minutes=59)), state="finished", host="gpu-" + name,
                            runInfo={"gpu": "H200", "gpuCount": 8}))
        self.pg = postgres.Postgres(self)
        self.place = ["--store", self.pg.url, "--store-password-file", self.pg.password]
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        with open(self.path("key"), "w", encoding="utf-8") as f:
            f.write(KEY + "\n")
        os.chmod(self.path("key"), 0o600)

    def hub(self, i, s, schedule=True):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"people_companies: {self.path('config.yaml')}\n")
            if schedule:
                f.write(f"wandb: {{config: {self.path('config.yaml')}, schedule: ['{self.slot}'], key_file: {self.path('key')}, base_url: '{s.url}'}}\n")
        return self.start_hub("--config", self.path("muster.yaml"), *self.place, data=self.path(f"data{i}"))

    def leads(self, hub):
        return "\nmuster_hub_leads 1\n" in lib.ask(hub.url + "/metrics")[2].decode()

    def state(self, hub):
        return lib.ask_json(f"{hub.url}/api/v1/wandb")

    def hours(self, hub):
        status, _, body = lib.ask(f"{hub.url}/api/v1/report?source=wandb&company=Acme&from={self.yesterday}&to={self.yesterday}")
        return json.loads(body)["rows"][0]["total_gpu_hour"] if status == 200 else status

    def pull(self, s, *where):
        self.run_ok(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, *where, env={"WANDB_API_KEY": KEY})

    def export(self, *where):
        return self.run_ok(lib.MUSTER, "wandb", "export", *where)

    def test_any_hub_answers_and_the_next_leader_pulls_what_is_missing(self):
        with Standin(self.world) as s:
            s.fault("slow", op="events", where={"name": "run-two"}, delay=lib.LIMIT_S * 2, times=1)  # until its hub is dead
            first = self.hub(0, s)
            lib.wait_until("it leads", lambda: self.leads(first))
            second = self.hub(1, s)
            lib.wait_until("one of two runs is stored", lambda: self.pg.sql("SELECT count(*) FROM wandb_runs WHERE days_pull = seen_pull", check=False) == "1")
            lib.wait_until("the other is asked for", lambda: any(op == "events" and v.get("name") == "run-two" for _, op, v in s.log))
            self.assertEqual(self.state(first)["running"], "pull")
            self.assertIsNone(self.state(second)["running"])
            first.kill9()
            lib.wait_until("the other leads", lambda: self.leads(second))
            state = lib.wait_until("the pull ended", lambda: (lambda v: v if v["pulled"]["to"] else None)(self.state(second)))
            self.assertEqual((state["pulled"]["to"], state["pull"]["error"]), (str(self.yesterday), None))
            self.assertEqual(self.hours(second), 16)
            asked = collections.Counter(v.get("name") for _, op, v in s.log if op == "events")
            self.assertEqual(asked, {"run-one": 1, "run-two": 2})  # what was stored is not asked for again
            self.assertEqual(self.pg.sql("SELECT count(*), min(done) FROM wandb_pulls"), "1|1")  # one pull, gone on with
            again = self.hub(0, s)  # it pulled nothing itself and has all of it
            self.assertEqual(lib.wait_until("days", lambda: self.hours(again) == 16 and self.hours(again)), 16)
            lib.wait_until("it knows of the pull", lambda: self.state(again)["pulled"]["to"] == str(self.yesterday))
            self.assertFalse(self.leads(again))
            self.assertEqual([e["text"][:5] for e in lib.ask_json(f"{again.url}/api/v1/events?kind=wandb")], ["done:"])  # told by one hub
            self.assertFalse([name for i in (0, 1) for name in os.listdir(self.path(f"data{i}")) if name.startswith("wandb")])
            self.assertNotIn(postgres.PASSWORD, first.text + second.text + again.text)

    @lib.long
    def test_a_store_takes_them_along_there_and_back(self):
        self.start_hub(data=self.path("data")).stop()
        with Standin(self.world) as s:
            self.pull(s, "--data", self.path("data"))
            before = self.export("--data", self.path("data"))
            self.assertEqual(before.count("\n"), 3)
            flags = ["--password-file", self.pg.password]
            self.run_ok(lib.MUSTER, "store", "move", self.path("data"), self.pg.url, *flags)
            self.assertEqual(self.export(*self.place), before)
            self.assertIn("wandb_runs", self.run_ok(lib.MUSTER, "store", "init", "--print"))
            self.run_ok(lib.MUSTER, "store", "move", self.pg.url, self.path("back"), *flags)
            self.assertEqual(self.export("--data", self.path("back")), before)
            asked = s.count["events"]
            self.pull(s, "--data", self.path("back"))  # how far it came, too
            self.assertEqual(s.count["events"], asked)

    @lib.long
    def test_the_file_of_a_hub_that_has_one_comes_into_the_store(self):
        with Standin(self.world) as s:
            os.mkdir(self.path("data1"))
            self.pull(s, "--data", self.path("data1"))
            before = self.export("--data", self.path("data1"))
            first, second = self.hub(0, s, schedule=False), self.hub(1, s, schedule=False)
            for hub in (first, second):
                self.assertSoon(lambda h=hub: self.hours(h), 16)
            self.assertEqual(self.export(*self.place), before)
            self.assertEqual(self.export("--data", self.path("data1")), before)  # it stays as it is

    @lib.long
    def test_two_pulls_do_not_write_at_once(self):
        with Standin(self.world) as s:
            s.fault("slow", op="events", where={"name": "run-two"}, delay=lib.LIMIT_S, times=1)
            argv = [lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", s.url, *self.place]
            first = self.start(*argv, env={"WANDB_API_KEY": KEY})
            lib.wait_until("it is under way", lambda: any(op == "events" and v.get("name") == "run-two" for _, op, v in s.log))
            status, _, err = self.run_any(*argv, env={"WANDB_API_KEY": KEY})
            self.assertEqual(status, 3)
            self.assertIn("another process is doing so", err)
            first.kill9()
            self.run_ok(*argv, env={"WANDB_API_KEY": KEY})  # as soon as that is known
            self.assertEqual(self.export(*self.place).count("\n"), 3)


if __name__ == "__main__":
    lib.main()
