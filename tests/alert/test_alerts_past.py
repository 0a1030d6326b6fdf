#!/usr/bin/python3
"""Which alerts there would have been: a past that was made beforehand, a hub on it, and `muster alerts test --last`."""
import collections
import json
import os
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
        self.assertRegex(out, r"not evaluated, because the store has no data for it: run-spinning, .*clock-off, .*store, store-damaged, sources, channel\n")
        rules = json.loads(lib.ask(self.url + "/api/v1/alerts/rules")[2])["rows"]
        self.assertNotIn("warm", {r["rule"] for r in rules})  # not active

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


class Month(lib.Case):
    """A past whose troubles are known (tests/tool/alertmonth.c): which alerts fire, which are missed, which have no cause. A week of five nodes; with
    MUSTER_TEST_LONG a month of twenty."""

    LATE_MS = 2 * MINUTE

    def look(self, *argv):
        for _ in range(5):  # what takes the machine too long is cut short, and asked again
            t0 = time.monotonic()
            got = self.look_once(*argv)
            if got["complete"]:
                break
        self.assertEqual((got["complete"], got["nodes"]), (True, self.nodes))
        return got, time.monotonic() - t0

    def look_once(self, *argv):
        status, out, err = self.run_any(lib.MUSTER, "alerts", "test", "--last", f"{self.days}d", "--until", str(self.until), "--json", *argv, env={"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.member}, limit=600)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def compare(self, truth, got, took):
        """(missed, false, how late each was, per rule)"""
        tally, missed, false, off = collections.defaultdict(collections.Counter), [], [], []
        for t in truth:
            t["found"] = [a for a in got["rows"] if a["rule"] == t["rule"] and a["place"] == t["place"] and t["fired"] - 2 * MINUTE <= a["fired"] <= t["until"] + 5 * MINUTE]
            tally[t["rule"]]["caused"] += 1
            tally[t["rule"]]["again"] += max(0, len(t["found"]) - 1)
            if t["found"]:
                off.append(t["found"][0]["fired"] - t["fired"])
            else:
                missed.append(t)
                tally[t["rule"]]["missed"] += 1
        for a in got["rows"]:
            tally[a["rule"]]["fired"] += 1
            if not any(a in t["found"] for t in truth):
                false.append(a)
                tally[a["rule"]]["false"] += 1
        print(f"{self.days} days of {self.nodes} nodes with 8 GPUs, looked at in {took:.1f} s: {len(truth)} troubles, {len(got['rows'])} alerts, {len(missed)} missed, {len(false)} false")
        for rule, c in sorted(tally.items()):
            print(f"  {rule:20} caused {c['caused']:3}  fired {c['fired']:3}  missed {c['missed']}  false {c['false']}  again {c['again']}")
        print(f"  fired {min(off) / 1000:+.0f} s to {max(off) / 1000:+.0f} s from when they should have")
        self.assertEqual(sum(c["again"] for c in tally.values()), 0)
        self.assertGreaterEqual(len(tally), 8)  # kinds of trouble
        return missed, false, off

    def test_troubles_are_found_and_little_else(self):
        self.days, self.nodes = (30, 20) if os.environ.get("MUSTER_TEST_LONG") else (7, 5)
        self.until = int(time.time() * 1000) // DAY * DAY
        status, out, err = self.run_any(os.path.join(lib.BIN, "tool", "alertmonth"), self.path("data"), str(self.days + 1), str(self.nodes), "1", str(self.until), limit=600)
        self.assertEqual(status, 0, err)
        hub = self.start(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", self.path("data"), "--keep-raw", "0")
        self.url = hub.wait_line(r"(http://127\.0\.0\.1:\d+)").group(1)
        self.member = self.token("member", "--person", "kim")
        got, took = self.look()
        truth = [t for t in map(json.loads, out.splitlines()) if t["until"] >= got["from"]]
        missed, false, off = self.compare(truth, got, took)
        self.assertEqual(missed, [])
        self.assertTrue(all(-MINUTE < late <= self.LATE_MS for late in off), sorted(off))
        # an agent without reports for two to four minutes looks like a node that is down; no other alert may be false
        self.assertEqual([a for a in false if a["rule"] != "node-down" or a["resolved"] - a["since"] > 5 * MINUTE], [])
        self.assertLessEqual(len(false), self.nodes * self.days / 20)
        # try other rules on these false alerts
        with open(self.path("new.yaml"), "w", encoding="utf-8") as f:
            f.write("alerts:\n  node-down: {for: 6m}\n")
        missed, false, _ = self.compare(truth, *self.look("--rules", self.path("new.yaml")))
        self.assertEqual((missed, false), ([], []))


if __name__ == "__main__":
    lib.main()
