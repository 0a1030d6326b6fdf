#!/usr/bin/python3
"""Runs that share a host: a pull says so, keeps an event per company and sends W&B's own alert; `muster wandb overlap` lists them."""
import csv
import io
import json
import sqlite3

import lib
import wandb_world
from test_wandb_push import put_artifact
from wandb_standin import KEY, Standin

CONFIG = """
enable_alert: {alert}
dashboard: {{entity: programme, project: dashboard, tag_for_latest: latest}}
companies:
- {{company: Acme, teams: [acme-a, acme-b], schedule: [{{date: "2024-11-01", assigned_gpu_node: 2}}]}}
- {{company: Beta, teams: [beta], schedule: [{{date: "2024-11-01", assigned_gpu_node: 2}}]}}
base_url: {url}
"""


class Overlap(lib.Case):
    def setUp(self):
        super().setUp()
        self.world, projects = wandb_world.World(), {}
        for team, project, name, host, begun, ended in (
                ("acme-a", "llm", "aaaa0001", "n1", "2024-11-02T00:00:00", "2024-11-02T06:00:00"),
                ("acme-b", "eval two", "aaaa0002", "n1", "2024-11-02T05:00:00", "2024-11-02T05:30:00"),
                ("acme-a", "llm", "aaaa0003", "n1", "2024-11-02T06:00:00", "2024-11-02T07:00:00"),
                ("beta", "llm", "bbbb0001", "n1", "2024-11-02T01:00:00", "2024-11-02T02:00:00")):
            p = projects.get((team, project)) or projects.setdefault((team, project), self.world.add_project(team, project))
            p.add(wandb_world.Run(p, name, displayName=name, state="finished", host=host, createdAt=begun, heartbeatAt=ended, updatedAt=ended,
                                  runInfo={"gpu": "H200", "gpuCount": 8, "cpuCount": 64}))
        self.world.add_project("programme", "dashboard")
        self.standin = Standin(self.world)
        self.standin.__enter__()
        self.addCleanup(self.standin.__exit__)

    def pull(self, alert, data, more="", want=0):
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG.format(alert="true" if alert else "false", url=self.standin.url) + more)
        status, out, err = self.run_any(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--start-date", "2024-11-02", "--end-date", "2024-11-02",
                                        "--data", self.path(data), env={"WANDB_API_KEY": KEY})
        self.assertEqual(status, want, out + err)
        return err

    def test_a_pull_tells_and_the_list_names_them(self):
        said = self.pull(True, "data")
        self.assertIn("1 run of Acme began on a host while another was there", said)
        self.assertNotIn("Beta", said)
        self.assertEqual([(a["title"], a["text"], a["entityName"], a["projectName"]) for a in self.world.alerts],
                         [("Overlap of runs found", "acme-a\nacme-b", "programme", "dashboard")])
        run = self.world.must_find("programme", "dashboard", self.world.alerts[0]["runName"])
        self.assertEqual((run.displayName, run.state), ("Overlap Alert", "finished"))
        with sqlite3.connect(self.path("data/wandb.db")) as db:
            events = db.execute("SELECT subject, text FROM events WHERE kind = 1").fetchall()
        self.assertEqual(len(events), 1)
        self.assertEqual(events[0][0], "Acme")
        self.assertIn(f"2024-11-02 14:00 to 2024-11-02 14:30 {self.standin.url}/acme-b/eval%20two/runs/aaaa0002/overview", events[0][1])
        status, out, _ = self.run_any(lib.MUSTER, "wandb", "overlap", "--config", self.path("config.yaml"), "--data", self.path("data"), "--csv",
                                      "--start-date", "2024-11-01", "--end-date", "2024-11-30")
        self.assertEqual(status, 1)
        self.assertEqual([(r["company"], r["host"], r["begun"], r["late"], r["url"].split("/")[-2]) for r in csv.DictReader(io.StringIO(out))],
                         [("Acme", "n1", "2024-11-02 09:00:00", "0", "aaaa0001"), ("Acme", "n1", "2024-11-02 14:00:00", "1", "aaaa0002")])
        status, out, _ = self.run_any(lib.MUSTER, "wandb", "overlap", "--config", self.path("config.yaml"), "--data", self.path("data"), "--company", "Beta",
                                      "--end-date", "2024-11-30")
        self.assertEqual((status, out), (0, "No overlaps found from 2024-10-25 to 2024-11-30\n"))

    def test_pages_are_of_the_server_that_is_named(self):
        self.pull(False, "data")
        for flags, env, want in (((), {}, self.standin.url), ((), {"WANDB_BASE_URL": "https://wandb.lab.example"}, "https://wandb.lab.example"), ((), {"WANDB_BASE_URL": ""}, self.standin.url),
                                 (("--base-url", "https://api.wandb.ai"), {"WANDB_BASE_URL": "https://wandb.lab.example"}, "https://wandb.ai")):
            out = self.run_any(lib.MUSTER, "wandb", "overlap", "--config", self.path("config.yaml"), "--data", self.path("data"), "--json", "--start-date", "2024-11-02", "--end-date",
                               "2024-11-02", *flags, env=env)[1]
            self.assertEqual({r["url"].rsplit("/", 5)[0] for r in json.loads(out)}, {want}, (flags, env))

    def test_as_many_are_late_as_the_summary_counts(self):
        """Whatever they are: tagged, on days without nodes, without GPUs, without a host, of two projects."""
        for k, (team, project, begun, more) in enumerate((
                ("acme-a", "llm", "02T05:10:00", {"tags": ["other_gpu"]}), ("acme-a", "eval", "02T05:20:00", {"host": None}), ("acme-b", "eval two", "02T05:25:00", {}),
                ("acme-b", "eval two", "02T05:26:00", {"runInfo": {"gpu": "H200", "gpuCount": 0}}), ("beta", "llm", "04T01:00:00", {}), ("beta", "llm", "04T01:30:00", {}),
                ("beta", "llm", "02T22:00:00", {"heartbeatAt": "2024-11-04T01:10:00"}))):
            p = self.world.add_project(team, project)
            run = {"displayName": "x", "state": "finished", "host": "n1", "heartbeatAt": f"2024-11-{begun[:2]}T23:00:00", "runInfo": {"gpu": "H200", "gpuCount": 8}, **more}
            p.add(wandb_world.Run(p, f"cccc000{k}", createdAt=f"2024-11-{begun}", **run))
        self.pull(False, "data", "ignore_tags: [other_gpu]\n")
        with open(self.path("config.yaml")) as f:
            config = f.read().replace("teams: [beta], schedule: [{date: \"2024-11-01\", assigned_gpu_node: 2}", "teams: [beta], schedule: [{date: \"2024-11-01\", assigned_gpu_node: 2}, "
                                      "{date: \"2024-11-04\", assigned_gpu_node: 0}")
        with open(self.path("config.yaml"), "w") as f:
            f.write(config)
        days = ("--config", self.path("config.yaml"), "--start-date", "2024-11-02", "--end-date", "2024-11-05", "--data", self.path("data"))
        self.run_ok(lib.MUSTER, "wandb", "pull", *days, env={"WANDB_API_KEY": KEY})
        hub = self.start_hub("--people-companies", self.path("config.yaml"))
        rows = lib.ask_json(f"{hub.url}/api/v1/report?source=wandb&period=summary&from=2024-11-02&to=2024-11-05")["rows"]
        counted = {}
        for r in rows:
            counted[r["company_name"]] = counted.get(r["company_name"], 0) + r["overlap_runs"]
        late = dict.fromkeys(counted, 0)
        for r in csv.DictReader(io.StringIO(self.run_any(lib.MUSTER, "wandb", "overlap", *days, "--csv")[1])):
            late[r["company"]] += int(r["late"])
        self.assertEqual(late, counted)
        self.assertGreater(late["Acme"], 2)

    def test_without_enable_alert_nobody_is_bothered_at_wandb(self):
        said = self.pull(False, "data")
        self.assertIn("1 run of Acme", said)
        self.assertEqual(self.world.alerts, [])

    def test_addresses_are_those_of_the_server_that_was_asked(self):
        self.pull(False, "before")
        with open(self.path("config.yaml")) as f:
            config = f.read().replace(f"base_url: {self.standin.url}\n", "")
        with open(self.path("config.yaml"), "w") as f:
            f.write(config)
        days = ("--config", self.path("config.yaml"), "--start-date", "2024-11-02", "--end-date", "2024-11-02", "--data", self.path("data"), "--base-url", self.standin.url + "/")
        self.run_ok(lib.MUSTER, "wandb", "pull", *days, env={"WANDB_API_KEY": KEY})
        with sqlite3.connect(self.path("data/wandb.db")) as db:
            text, = db.execute("SELECT text FROM events WHERE kind = 1").fetchone()
        self.assertIn(f"{self.standin.url}/acme-b/eval%20two/runs/aaaa0002/overview", text)
        self.assertNotIn("https://wandb.ai", text)
        _, out, _ = self.run_any(lib.MUSTER, "wandb", "overlap", *days)
        self.assertIn(f"{self.standin.url}/acme-b/eval%20two/runs/aaaa0002/overview", out)

    def test_the_blacklist_that_the_config_names_is_read(self):
        more = "blacklist: {entity: programme, project: dashboard, artifact_name: blacklist}\n"
        runs = lambda: [line.split(",")[3] for line in self.run_ok(lib.MUSTER, "wandb", "export", "--data", self.path("data")).splitlines()[1:]]
        self.assertIn("1 run of Acme", self.pull(False, "data", more))  # there is none at W&B
        self.assertEqual(runs(), ["aaaa0001", "aaaa0003", "aaaa0002", "bbbb0001"])
        where = ("programme", "dashboard")
        put_artifact(self.world, "blacklist", {"blacklist.json": json.dumps([{"run_path": "acme-b/eval two/aaaa0002", "tags": ["x"]}]).encode()}, where=where)
        self.assertNotIn("Acme", self.pull(False, "data", more))
        self.assertEqual(runs(), ["aaaa0001", "aaaa0003", "bbbb0001"])
        put_artifact(self.world, "blacklist", {"blacklist.json": b"{}"}, where=where)
        self.assertIn("the one before stays", self.pull(False, "data", more, want=3))
        self.assertEqual(runs(), ["aaaa0001", "aaaa0003", "bbbb0001"])
        put_artifact(self.world, "blacklist", {"blacklist.json": b"[]"}, where=where)
        self.pull(False, "data", more)
        self.assertEqual(runs(), ["aaaa0001", "aaaa0003", "aaaa0002", "bbbb0001"])


if __name__ == "__main__":
    lib.main()
