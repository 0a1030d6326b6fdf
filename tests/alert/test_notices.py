#!/usr/bin/python3
"""What happened and has no end is told once, also by a hub that was killed meanwhile; nothing is wrong because of it."""
import json
import os

import alerting
import lib

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
        """Numbers of the alerts that were told of."""
        return {i for m in self.told() if m["rule"] == rule for i in m["alerts"]}

    def test_a_new_node_is_told_of_once_and_one_that_is_back_is_too(self):
        lib.wait_until("it happened", lambda: len(self.rows("?all")) == 2)
        self.hub.kill9()  # before it is told, most likely: it waits for others
        self.begin()
        lib.wait_until("both are told of", lambda: len(self.ids("node-new")) == 2)
        self.assertEqual({k for k in self.kinds()}, {("notice", "node-new")})
        self.assertIn("is new", json.dumps(self.told()))
        self.assertEqual(self.cli()[:2], (0, "nothing is wrong\n"))
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
        self.quiet.add("a1")  # something to wait for, behind which nothing else may stand
        lib.wait_until("the other is down", lambda: self.kinds().count(("fired", "node-down")) == 2)
        self.assertEqual(sorted(k for k in self.kinds() if k[1] != "node-new"), [("fired", "node-down"), ("fired", "node-down"), ("notice", "node-back")])
        self.assertEqual(len(self.ids("node-new")), 2)
        self.assertNotIn("resolved", {kind for kind, _ in self.kinds()})  # the notice said so


if __name__ == "__main__":
    lib.main()
