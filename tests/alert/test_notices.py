#!/usr/bin/python3
"""A notice is sent once, also by a hub that was killed meanwhile. It does not count as a firing alert."""
import json
import os
import re

import alerting
import faultworld
import lib
import sender

CONFIG = """
rule: {stale_after: 8s, down_after: 10s}
alerts:
  node-down: {clear: 0s, resolved: off}
  node-back: on
  gpu-idle: off
channels:
  wall: {type: command, command: [/bin/sh, -c, "cat >> {dir}/told"], severity: info}
"""


class Notices(alerting.Watched):
    config = CONFIG

    def told(self):
        if not os.path.exists(self.path("told")):
            return []
        with open(self.path("told"), encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n") and line.strip()]  # one may be on its way

    def heard(self):
        """All of them, since this hub began: it believes that nodes it only knew before are up, until they had a chance."""
        return all(n["state"] == "up" and "since the hub started" not in n["reason"] for n in self.ask("GET", "/api/v1/state")[1]["nodes"])

    def kinds(self):
        """Of each message once: it may come twice where the hub ended between sending it and noting that."""
        return [(m["kind"], m["rule"]) for m in {m["id"]: m for m in self.told()}.values()]

    def ids(self, rule):
        """Ids of the alerts with a message."""
        return {i for m in self.told() if m["rule"] == rule for i in m["alerts"]}

    def test_a_new_node_is_told_of_once_and_one_that_is_back_is_too(self):
        lib.wait_until("it happened", lambda: len(self.rows("?all")) == 2)
        self.hub.kill9()  # most likely before the message is sent: alerts wait for others
        self.begin()
        lib.wait_until("both are told of", lambda: len(self.ids("node-new")) == 2)
        self.assertEqual({k for k in self.kinds()}, {("notice", "node-new")})
        self.assertIn("is new", json.dumps(self.told()))
        self.assertEqual(self.cli()[:2], (0, "no alerts\n"))
        rows = self.rows("?all")
        self.assertEqual(sorted((r["rule"], r["place"], r["notice"]) for r in rows), [("node-new", "a1", True), ("node-new", "a2", True)])
        self.hub.kill9()
        self.begin()
        lib.wait_until("both are heard of again", self.heard)
        self.quiet.add("a2")
        lib.wait_until("it is down", lambda: ("fired", "node-down") in self.kinds())
        self.quiet.clear()
        lib.wait_until("it is back", lambda: ("notice", "node-back") in self.kinds())
        self.assertRegex([m for m in self.told() if m["rule"] == "node-back"][0]["title"], r"^\[info\] node-back: a2 is back after ")
        lib.wait_until("that is over", lambda: not self.rows())
        self.hub.stop()
        self.begin()
        lib.wait_until("both are heard of once more", self.heard)
        self.assertRegex(self.cli("--all")[1], r"info +node-back +a2 +- +a2 is back after .* \(.* ago\)")
        self.quiet.add("a1")  # an alert to wait for; no message may follow it
        lib.wait_until("the other is down", lambda: self.kinds().count(("fired", "node-down")) == 2)
        self.assertEqual(sorted(k for k in self.kinds() if k[1] != "node-new"), [("fired", "node-down"), ("fired", "node-down"), ("notice", "node-back")])
        self.assertEqual(len(self.ids("node-new")), 2)
        self.assertNotIn("resolved", {kind for kind, _ in self.kinds()})  # the notice replaces it


class LongRun(lib.Case):
    """A labelled run spins; the hub restarts when the run is five days old and still spins."""
    config = "alerts:\n  run-spinning: {for: 0s}\n  node-new: off\n"

    def begin(self, clock):
        self.hub = self.start_hub("--config", self.path("muster.yaml"), "--runs-after", "1s", env=clock.env)

    def post(self, node, *frames):
        auth = {"Authorization": "Bearer " + self.tokens.setdefault(node.key, self.token("agent")), "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers=auth)
        self.assertEqual(status, 200, body)

    def ask(self, path, **body):
        status, _, raw = lib.ask(self.hub.url + path, method="POST" if body else "GET", body=json.dumps(body).encode() if body else None, headers={"Authorization": "Bearer " + self.admin})
        self.assertIn(status, (200, 201), raw)
        return json.loads(raw)

    def looked(self):
        """Nodes whose jobs were looked up for their runs."""
        return int(re.search(rb"^muster_hub_runs_looked\S* (\d+)", lib.ask(self.hub.url + "/metrics", headers={"Authorization": "Bearer " + self.admin})[2], re.M)[1])

    def spin(self, *nodes):
        """Two minutes of it, when the hub knows whose label it is."""
        frames = {n.key: (n.facts(), n.procs((41, "kim", "python", "python train.py"))) for n in nodes}
        began = {n.key: n.now() - 120000 for n in nodes}
        before = self.looked()
        for n in nodes:
            self.post(n, *frames[n.key], n.batch(at_ms=began[n.key]))
        lib.wait_until("labels are looked for", lambda: self.looked() >= before + len(nodes))
        for n in nodes:  # up to now: a GPU without data has no advice
            last = n.now()
            self.post(n, *frames[n.key], *(n.batch(at_ms=last - 5000 * (23 - i), more={31: 200, 33: 0, 34: 0, 36: 9900}) for i in range(1, 24)))

    def told(self):
        return sorted(r["place"] for r in self.ask("/api/v1/alerts?all")["rows"] if r["rule"] == "run-spinning")

    @lib.plain  # the clock is set by a library, which sanitizers do not take
    def test_it_is_not_told_again_after_a_restart(self):
        clock, old, new = faultworld.Clock(self.path("clock")), sender.Node("old1"), sender.Node("new1")
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(self.config)
        self.tokens, self.admin = {}, self.token("admin")
        clock.set(-5 * faultworld.DAY)
        old.offset_ms = -5 * faultworld.DAY
        self.begin(clock)
        self.post(old, old.facts(), old.procs(), old.batch(at_ms=old.now() - 180000))
        self.ask("/api/v1/jobs", name="train", person="kim", node="old1", devices=[old.uuid], start=old.now() - 180000)
        self.spin(old)
        lib.wait_until("it is told", lambda: self.told() == ["old1:0"])
        self.hub.stop()
        clock.set(0)
        old.offset_ms = 0
        self.begin(clock)
        self.spin(old, new)
        lib.wait_until("what is new is told", lambda: "new1:0" in self.told())
        self.assertEqual(self.told(), ["new1:0", "old1:0"])


if __name__ == "__main__":
    lib.main()
