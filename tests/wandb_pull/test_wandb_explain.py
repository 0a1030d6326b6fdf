#!/usr/bin/python3
"""muster wandb explain: which rule gave a run its GPUs, what it looked at, and why the others did not."""
import collections
import json

import lib
import sender
import wandb_world
from wandb_standin import KEY, Standin

CONFIG = """
companies:
  - company: Acme
    teams: [acme]
    schedule: [{date: "2025-01-01", assigned_gpu_node: 4}]
    ignore_project_pattern: 'test-*'
ignore_tags: [other_gpu]
gpu_count:
  - {team: beta, gpus: 1}
  - {project: slurm, gpus: metadata.slurm.nnodes * 8}
  - {project: gone, gpus: 0}
  - {gpus: config.num_nodes * config.num_gpus, name: nodes}
  - {gpus: 'match(description, "([0-9]+)Nodes?") * 8'}
"""


Done = collections.namedtuple("Done", "returncode stdout stderr")


class ExplainTest(lib.Case):
    def setUp(self):
        super().setUp()
        self.world = wandb_world.World()
        for name, run in {
            "train": {"config": json.dumps({"num_nodes": {"value": 2}}), "description": "pretraining, 4Nodes", "host": "dgx1", "tags": ["Other_GPU", "x"],
                      "displayName": "happy\x1b[31m", "user": {"username": "kim", "name": "Kim"}},
            "slurm": {"stored": {"wandb-metadata.json": json.dumps({"slurm": {"nnodes": "3"}}).encode()}},
            "gone": {}, "test-1": {}, "plain": {}, "none": {"runInfo": None},
        }.items():
            p = self.world.add_project("acme", name)
            p.add(wandb_world.Run(p, "abcd1234", **{"createdAt": "2025-01-05T13:00:00", "heartbeatAt": "2025-01-05T16:30:00Z", "state": "finished",
                                                    "runInfo": {"gpu": "NVIDIA H100", "gpuCount": 8, "cpuCount": 96}, **run}))
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG)
        self.s = self.enterContext(Standin(self.world))

    def explain(self, run, *flags):
        return Done(*self.run_any(lib.MUSTER, "wandb", "explain", run, "--config", self.path("config.yaml"), "--base-url", f"http://127.0.0.1:{self.s.port}", "--data", self.path("data"), *flags,
                                  env={"WANDB_API_KEY": KEY}))

    def test_every_rule_and_value_is_shown(self):
        r = self.explain("acme/train/abcd1234")
        self.assertEqual(r.returncode, 0, r.stderr)
        for line in ["2025-01-05 22:00:00 to 2025-01-06 01:30:00 (Asia/Tokyo), 3 h 30 m, finished", "host      dgx1, user kim", "It does not count: one of its tags is in ignore_tags", "NVIDIA H100, gpuCount 8, cpuCount 96",
                     "company   Acme, 4 nodes", '32 GPUs, by gpu_count[5]: match(description, "([0-9]+)Nodes?") * 8', "is for other teams", "is for other projects",
                     'config.num_nodes = {"value":2}', "config.num_gpus = not there", "has no value: config.num_gpus is not there", 'description = "pretraining, 4Nodes"']:
            self.assertIn(line, r.stdout)
        self.assertNotIn("\x1b", r.stdout)
        got = json.loads(self.explain(f"http://127.0.0.1:{self.s.port}/acme/train/runs/abcd1234/overview", "--json").stdout)
        self.assertEqual([x["what"] for x in got["rules"]], ["other_team", "other_project", "other_project", "no_value", "applies", "not_reached"])
        self.assertEqual((got["gpus"], got["counts"], got["ignored"], got["company"]), (32, False, True, "Acme"))

    def test_a_hub_says_where_it_tells_what_the_run_did(self):
        hub, node, began = self.start_hub("--keep-records", "0", data=self.path("hub")), sender.Node("dgx1"), 1736082000000
        agent, admin = self.token("agent", data=self.path("hub")), self.token("admin", data=self.path("hub"))
        status, _, body = lib.ask(hub.url + "/api/v1/batches", method="POST", body=node.first(), headers={"Authorization": "Bearer " + agent, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)
        jobs = [json.loads(lib.ask(hub.url + "/api/v1/jobs", method="POST", headers={"Authorization": "Bearer " + admin}, body=json.dumps(
            {"name": "train", "kind": "record", "node": "dgx1", "start": began + from_ms, "end": began + to_ms}).encode())[2]) for from_ms, to_ms in ((-7200000, 600000), (60000, 9000000))]
        page = f"{hub.url}/run/{jobs[1]['id']}"
        self.assertIn(f"\n  page      {page}\n", self.explain("acme/train/abcd1234", "--hub", hub.url).stdout)
        self.assertEqual(json.loads(self.explain("acme/train/abcd1234", "--json", "--hub", hub.url).stdout)["page"], page)
        hub.end()
        away = self.explain("acme/train/abcd1234", "--hub", hub.url)
        self.assertEqual(away.returncode, 0)
        self.assertIn("what it did is not known: ", away.stderr)

    def test_days_are_those_of_the_report(self):
        for more, second in (("", "GPU-hours\n"), (', {date: "2025-01-06", assigned_gpu_node: 0}', "GPU-hours, in no table: its company has no nodes that day\n")):
            with open(self.path("config.yaml"), "w") as f:
                f.write(CONFIG.replace("assigned_gpu_node: 4}", "assigned_gpu_node: 4}" + more))
            self.assertIn("It counts:\n  2025-01-05  120 min  16.00 GPU-hours\n  2025-01-06  91 min  12.13 " + second, self.explain("acme/plain/abcd1234").stdout)

    def test_one_is_no_plural(self):
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG.replace("assigned_gpu_node: 4", "assigned_gpu_node: 1"))
        run = self.world.find("acme", "plain", "abcd1234")
        for ended, more in (("2025-02-04T14:30:00Z", None), ("2025-02-05T14:30:00Z", "and 1 more day\n"), ("2025-02-06T14:30:00Z", "and 2 more days\n")):
            run.heartbeatAt = ended
            out = self.explain("acme/plain/abcd1234").stdout
            self.assertIn("company   Acme, 1 node when it began\n", out)
            self.assertTrue(more in out if more else " more day" not in out, out)

    def test_a_run_only_on_days_without_nodes_does_not_count(self):
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG.replace("assigned_gpu_node: 4}", 'assigned_gpu_node: 4}, {date: "2025-01-05", assigned_gpu_node: 0}, {date: "2025-02-01", assigned_gpu_node: 4}'))
        self.assertIn("It does not count: its company has no nodes on any of its days", self.explain("acme/plain/abcd1234").stdout)
        got = json.loads(self.explain("acme/plain/abcd1234", "--json").stdout)
        self.assertEqual((got["counts"], got["why_not"][:28]), (False, "its company has no nodes on "))
        self.assertEqual(got["days"], [{"day": "2025-01-05", "minutes": 120, "gpu_hours": 16, "nodes": False}, {"day": "2025-01-06", "minutes": 91, "gpu_hours": 12.13, "nodes": False}])
        self.assertEqual(got["more_days"], 0)

    def test_a_run_of_the_blacklist_does_not_count(self):
        self.assertTrue(json.loads(self.explain("acme/plain/abcd1234", "--json").stdout)["counts"])
        with open(self.path("blacklist.json"), "w") as f:
            json.dump([{"run_path": "acme/plain/abcd1234", "tags": []}], f)
        self.run_ok(lib.MUSTER, "wandb", "import", "--blacklist", self.path("blacklist.json"), "--data", self.path("data"))
        self.assertIn("It does not count: the blacklist has it", self.explain("acme/plain/abcd1234").stdout)
        got = json.loads(self.explain("acme/plain/abcd1234", "--json").stdout)
        self.assertEqual((got["counts"], got["why_not"], [d["nodes"] for d in got["days"]]), (False, "the blacklist has it, so that it is kept, and in no table", [True, True]))
        self.assertTrue(json.loads(self.explain("acme/slurm/abcd1234", "--json").stdout)["counts"])

    def test_metadata_is_fetched_when_a_rule_asks_for_it(self):
        got = json.loads(self.explain("acme/slurm/abcd1234", "--json").stdout)
        self.assertEqual((got["gpus"], got["rules"][1]["values"]), (24, [{"name": "metadata.slurm.nnodes", "value": '"3"'}]))

    def test_why_a_run_does_not_count(self):
        for project, gpus, why in [("gone", 0, "a rule gives 0 GPUs"), ("test-1", 8, "the company's patterns leave the project out"), ("none", 0, "it reported no GPU"), ("plain", 8, None)]:
            got = json.loads(self.explain(f"acme/{project}/abcd1234", "--json").stdout)
            self.assertEqual((got["gpus"], got["counts"]), (gpus, why is None), project)
            self.assertTrue(why is None or got["why_not"].startswith(why), got)

    def test_what_is_not_there_or_not_a_run_is_said(self):
        for run, code, text in [("acme/train/nobody00", 1, "W&B has no run acme/train/nobody00"), ("acme/train", 2, "expected TEAM/PROJECT/RUN")]:
            r = self.explain(run)
            self.assertEqual(r.returncode, code)
            self.assertIn(text, r.stderr)
            self.assertNotIn(KEY, r.stderr)

    def test_offline_shows_what_a_pull_kept(self):
        self.assertEqual(self.explain("acme/train/abcd1234", "--offline").returncode, 1)
        self.run_ok(lib.MUSTER, "wandb", "pull", "--config", self.path("config.yaml"), "--base-url", f"http://127.0.0.1:{self.s.port}", "--data", self.path("data"), "--start-date", "2025-01-05",
                    "--end-date", "2025-01-06", env={"WANDB_API_KEY": KEY})
        r = self.explain("acme/train/abcd1234", "--offline")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("32 GPUs, by gpu_count[5]", r.stdout)
        # the rules change: the next one to ask is told that the stored number is of the old ones
        with open(self.path("config.yaml"), "a") as f:
            f.write("  - {gpus: 5}\n")
        self.assertNotIn("The last pull counted", self.explain("acme/train/abcd1234").stdout)
        with open(self.path("config.yaml"), "w") as f:
            f.write(CONFIG.replace(") * 8'", ") * 4'"))
        self.assertIn('The last pull counted 32 GPUs, by gpu_count[5]: match(description, "([0-9]+)Nodes?") * 8: the rules or the run have changed', self.explain("acme/train/abcd1234").stdout)


if __name__ == "__main__":
    lib.main()
