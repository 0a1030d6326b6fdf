#!/usr/bin/python3
"""The alert about a company that used less than a tenth of its assignment is sent once a day, even after a restart."""
import json
import os

import lib

CONFIG = """
usage: {zone: Asia/Tokyo}
alerts: {node-down: off, gpu-idle: off, gpu-xid: off, node-new: off, usage-unusual: off}
companies:
  vast: {nodes: ["sim*"], schedule: [{date: 2020-01-01, assigned_gpu_node: 500}]}
  small: {nodes: ["other"], schedule: [{date: 2020-01-01, assigned_gpu_node: 0}]}
channels:
  wall: {type: command, command: [/bin/sh, -c, "cat >> {dir}/told"], severity: info}
"""


class UsageAlerts(lib.Case):
    def told(self):
        if not os.path.exists(self.path("told")):
            return []
        with open(self.path("told"), encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n") and line.strip()]  # one may be on its way

    def begin(self):
        return self.start_hub("--config", self.path("muster.yaml"), data=self.path("data"))

    def test_low_usage_is_told_once_a_day(self):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("{dir}", self.dir))
        self.run_ok(lib.MUSTER, "simulate", "--every", "60s", "--nodes", "2", "--gpus", "2", "--people", "6", "--quiet", "--data", self.path("data"), "--backfill", "3d", limit=300)
        hub = self.begin()
        lib.wait_until("it is told", self.told, limit=180)
        first, = self.told()
        self.assertEqual((first["kind"], first["rule"], first["severity"]), ("notice", "usage-low", "warning"))
        self.assertRegex(first["title"], r"^\[warning\] usage-low: company vast used \d+\.\d of 96000 GPU-hours on 20\d\d-\d\d-\d\d: 0\.\d % of what was assigned$")
        rows = lib.ask_json(hub.url + "/api/v1/alerts?all")
        self.assertEqual(([r["subject"] for r in rows["rows"]], rows["firing"]), (["company:vast"], 0))
        past = lib.ask_json(hub.url + "/api/v1/alerts/test?last=36h&rule=usage-low")
        self.assertIn(first["title"].split("usage-low: ")[1], [r["text"] for r in past["rows"]])  # it would have fired then
        self.assertEqual(len({r["text"] for r in past["rows"]}), len(past["rows"]))  # each day once
        hub.kill9()
        hub = self.begin()
        lib.wait_until("it is looked at again", lambda: [r["subject"] for r in lib.ask_json(hub.url + "/api/v1/alerts/test")["rows"]] == ["company:vast"], limit=180)
        lib.wait_until("and known", lambda: lib.ask_json(hub.url + "/api/v1/alerts?all")["rows"], limit=60)
        self.assertEqual([r["id"] for r in lib.ask_json(hub.url + "/api/v1/alerts?all")["rows"]], [rows["rows"][0]["id"]])
        self.assertEqual({m["id"] for m in self.told()}, {first["id"]})


if __name__ == "__main__":
    lib.main()
