#!/usr/bin/python3
"""Which alerts there would have been: a past that was made beforehand, a hub on it, and `muster alerts test --last`."""
import json
import time

import lib

MINUTE, HOUR, DAY = 60000, 3600000, 86400000
NEW_RULES = """
listen: [127.0.0.1:0]
channels:
  ops: {type: webhook, url: "http://127.0.0.1:1/very-secret"}
alerts:
  gpu-idle: off
  rules:
    - {name: warm, when: temp>1, for: 5m, severity: info, text: "{place} is at {temp}"}
"""


class Past(lib.Case):
    """A day of two nodes that `muster simulate` made."""

    def setUp(self):
        super().setUp()
        self.until = int(time.time()) // 3600 * HOUR - HOUR
        status, _, err = self.run_any(lib.MUSTER, "simulate", "--backfill", "26h", "--every", "60s", "--until", str(self.until), "--nodes", "2", "--gpus", "2", "--data", self.path("data"), "-q")
        self.assertEqual(status, 0, err)
        hub = self.start(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", self.path("data"), "--keep-raw", "0")
        self.url = hub.wait_line(r"(http://127\.0\.0\.1:\d+)").group(1)
        self.member = self.token("member", "--person", "kim")

    def cli(self, *argv, token=None):
        return self.run_any(lib.MUSTER, "alerts", "test", *argv, env={"MUSTER_HUB": self.url, "MUSTER_TOKEN": token or self.member})

    def past(self, *argv):
        status, out, err = self.cli("--json", *argv)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_a_day_is_played_again(self):
        got = self.past("--last", "1d", "--until", str(self.until))
        self.assertEqual((got["to"], got["until"], got["complete"], got["nodes"]), (self.until, self.until, True, 2))
        rules = {r["rule"]: r for r in got["rules"]}
        self.assertLessEqual({"channel", "clock-off", "sources", "store"}, set(got["left_out"]))
        self.assertEqual(rules["node-down"]["alerts"], 0)
        self.assertEqual(rules["gpu-idle"]["alerts"], len([r for r in got["rows"] if r["rule"] == "gpu-idle"]))
        self.assertEqual(sum(r["alerts"] for r in got["rules"]), got["alerts"])
        for r in got["rows"]:
            self.assertGreaterEqual(r["fired"] - r["since"], 2 * HOUR)  # no other rule finds anything in an ordinary day
        silent = self.past("--last", "2h", "--until", str(self.until + 10 * MINUTE))  # its samples end: both nodes are down
        self.assertEqual({r["rule"]: r["firing"] for r in silent["rules"]}["node-down"], 2)
        self.assertEqual([r["since"] for r in silent["rows"] if r["rule"] == "node-down"], [self.until] * 2)

    def test_other_rules_are_tried_and_nothing_else_is_sent(self):
        with open(self.path("new.yaml"), "w", encoding="utf-8") as f:
            f.write(NEW_RULES)
        got = self.past("--last", "3h", "--until", str(self.until), "--rules", self.path("new.yaml"))
        self.assertEqual({r["rule"] for r in got["rows"]}, {"warm"})
        self.assertEqual({r["rule"]: r["alerts"] for r in got["rules"]}["warm"], 4)
        self.assertNotIn("gpu-idle", {r["rule"] for r in got["rules"]})
        status, out, err = self.cli("--last", "3h", "--until", str(self.until), "--rules", self.path("new.yaml"))
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"warm +info +4 +")
        self.assertRegex(out, r"(?m)^warm +sim\d:\d .* still .* is at ")
        self.assertRegex(out, r"not looked at, since nothing is stored of it: clock-off, .*store, sources, channel\n")
        rules = json.loads(lib.ask(self.url + "/api/v1/alerts/rules")[2])["rows"]
        self.assertNotIn("warm", {r["rule"] for r in rules})  # not in force

    def test_mistakes_are_said(self):
        with open(self.path("bad.yaml"), "w", encoding="utf-8") as f:
            f.write("alerts:\n  gpu-ilde: off\n")
        for argv, words in ((("--last", "2y"), "last '2y' is not a length of time"), (("--last", "100d"), "one minute to 92 days"), (("--last", "1d", "--until", "tomorrow"), "time to come"),
                            (("--rules", self.path("bad.yaml")), "bad.yaml:2:3: there is no built-in rule 'gpu-ilde'"), (("--rules", self.path("none.yaml")), "cannot open")):
            status, _, err = self.cli(*argv)
            self.assertNotEqual(status, 0)
            self.assertIn(words, err)
        head = {"Authorization": "Bearer " + self.member}
        for body, words in ((b"gpu-hot: {when: 'temp<'}\n", "column"), (b"a\0b", "text"), (b"- x\n", "expected names of rules")):
            status, _, raw = lib.ask(self.url + "/api/v1/alerts/test?last=1d", method="POST", body=body, headers=head)
            self.assertEqual((status, words in raw.decode()), (400, True), raw)
        self.assertEqual(lib.ask(self.url + "/api/v1/alerts/test?last=1d", method="POST", body=b"")[0], 401)
        self.assertEqual(lib.ask(self.url + "/api/v1/alerts/test?last=1d", method="POST", body=b"x" * 300000, headers=head)[0], 413)


if __name__ == "__main__":
    lib.main()
