#!/usr/bin/python3
"""Alerts against a real hub: they fire, are resolved, survive kill -9 without firing twice, and can be silenced."""
import contextlib
import json
import sqlite3

import alerting
import lib

CONFIG = """
rule: {stale_after: 8s, down_after: 10s}
alerts:
  node-down: {clear: 1s}
  gpu-idle: off
  rules:
    - name: busy-kim
      when: user:kim
      for: 0s
      clear: 0s
      severity: info
      text: "{place} is {user}'s"
"""


class Alerts(alerting.Watched):
    config = CONFIG

    def test_an_alert_fires_once_over_restarts_and_is_resolved(self):
        self.assertEqual(self.cli()[:2], (0, "no alerts\n"))
        self.on["a1"] = "kim"
        self.quiet.add("a2")
        lib.wait_until("both fire", lambda: [f[:2] for f in self.firing()] == [("busy-kim", "a1:0"), ("node-down", "a2")])
        was = self.firing()
        status, out, _ = self.cli()
        self.assertEqual(status, 1)
        self.assertRegex(out, r"critical +node-down +a2 .*a2 is offline")
        self.assertRegex(out, r"info +busy-kim +a1:0 .*a1:0 is kim's")
        self.hub.kill9()
        self.begin()
        lib.wait_until("the same, not others", lambda: self.firing() == was)
        self.hub.stop()
        self.begin()
        self.assertEqual(self.firing(), was)
        with open(self.path("muster.yaml"), encoding="utf-8") as f:
            self.assertEqual(f.read(), CONFIG)
        past = self.rows("?all")
        self.assertEqual([r["id"] for r in past if r["state"] == "resolved" and not r.get("notice")], [])
        self.assertEqual(sorted(r["text"] for r in past if r.get("notice")), ["a1 is new: it was seen for the first time", "a2 is new: it was seen for the first time"])

    def test_what_is_over_is_listed_in_the_same_order_after_a_restart(self):
        over = lambda: [r["place"] for r in self.rows("?all&rule=busy-kim") if r["state"] == "resolved"]
        for name in ("a1", "a2"):
            self.on[name] = "kim"
            lib.wait_until(f"{name} fires", lambda: [f for f in self.firing() if f[1] == name + ":0"])
        for name in ("a2", "a1"):
            self.on.pop(name)
            lib.wait_until(f"{name} is over", lambda: name + ":0" in over())
        self.assertEqual(over(), ["a1:0", "a2:0"])
        self.hub.stop()
        self.begin()
        self.assertEqual(over(), ["a1:0", "a2:0"])

    def test_silences_keep_it_listed_and_end(self):
        self.on["a1"] = "kim"
        lib.wait_until("it fires", lambda: [f[:2] for f in self.firing()] == [("busy-kim", "a1:0")])
        status, out, err = self.cli("silence", "--node", "a1", "--for", "2h", "--reason", "we know")
        self.assertEqual((status, out), (0, "silence 1\n"), err)
        row = self.rows()[0]
        self.assertEqual((row["silenced"]["reason"], row["silenced"]["id"]), ("we know", 1))
        self.assertEqual(self.ask("GET", "/api/v1/alerts")[1]["firing"], 0)
        self.assertEqual(self.cli()[0], 0)
        self.hub.kill9()
        self.begin()
        with contextlib.closing(sqlite3.connect(self.path("data/muster.db"))) as db:  # it goes with the other records once it is over
            self.assertEqual(db.execute("SELECT over_ms FROM notes WHERE kind = 2").fetchall(), [(row["silenced"]["until"],)])
        lib.wait_until("it is silenced still", lambda: [r["silenced"]["id"] for r in self.rows()] == [1])
        self.assertRegex(self.cli("silences")[1], r"1 +- +a1 .*we know")
        self.assertEqual(self.cli("unsilence", "1")[0], 0)
        self.assertEqual(self.cli()[0], 1)
        self.assertEqual(self.cli("unsilence", "1")[0], 1)
        self.hub.kill9()
        self.begin()
        self.assertEqual(self.ask("GET", "/api/v1/silences")[1]["rows"], [])
        self.assertEqual(self.cli("silence", "--node", "a2", "--for", "2h", "--reason", "a button that ends silence 1 ends no other")[1], "silence 2\n")
        for body, words in (({"rule": "*", "for": "1h"}, "reason is missing"), ({"for": "1h", "reason": "x"}, "name what to silence"), ({"rule": "*", "reason": "x"}, "for how long"),
                            ({"rule": "*", "reason": "x", "for": "1h", "until": "friday"}, "one way"), ({"rule": "*", "reason": "x", "for": "soon"}, "for"),
                            ({"rule": "*", "reason": "x", "for": "10w", "what": "y"}, "not understood"), ({"rule": 7}, "must be text"), ({"rule": "*", "reason": "a\u202eb", "for": "1h"}, "reason must be text"), ({"rule": "*", "reason": "x", "until": "2020-01-01"}, "past")):
            status, got = self.ask("POST", "/api/v1/silences", body)
            self.assertEqual(status, 400, (body, got))
            self.assertIn(words, got["detail"])
        self.assertEqual(lib.ask(self.url + "/api/v1/silences", method="POST", body=b"{}")[0], 401)

    def test_members_silence_what_is_theirs_and_for_a_day_what_is_not_critical(self):
        kim, lee = self.token("member", "--person", "kim"), self.token("member", "--person", "lee")

        def as_who(token, method, path, body=None):
            status, _, raw = lib.ask(self.url + path, method=method, headers={"Authorization": "Bearer " + token}, body=None if body is None else json.dumps(body).encode())
            return status, json.loads(raw)
        silence = lambda token, **what: as_who(token, "POST", "/api/v1/silences", {"reason": "x", **what})
        self.on["a1"] = "kim"
        lib.wait_until("it fires", lambda: [f[:2] for f in self.firing()] == [("busy-kim", "a1:0")])
        status, everything = silence(lee, rule="*", **{"for": "1d"})
        self.assertEqual((status, everything["by"], everything["owner"]), (201, "lee", "lee"))
        self.assertEqual([r["silenced"]["id"] for r in self.rows()], [everything["id"]])
        self.quiet.add("a2")
        down = lambda: [r for r in self.rows() if r["rule"] == "node-down"]
        lib.wait_until("a2 is down", down)
        self.assertNotIn("silenced", down()[0])  # lee's star has no critical alert in it
        for token, what, words in ((kim, {"node": "a2", "for": "1h"}, "node-down of a2 is critical"), (kim, {"rule": "node-down", "node": "a1", "for": "1h"}, "node-down is critical"),
                                   (kim, {"rule": "busy-kim", "for": "25h"}, "for longer than a day"), (kim, {"rule": "busy-kim", "for": "2d", "person": "k*"}, "for longer than a day"),
                                   (lee, {"rule": "busy-kim", "for": "2d", "person": "kim"}, "for longer than a day")):
            status, got = silence(token, **what)
            self.assertEqual(status, 403, (what, got))
            self.assertIn(words, got["detail"])
        status, own = silence(kim, rule="*", person="kim", **{"for": "10d"})
        self.assertEqual(status, 201, own)
        path = f"/api/v1/silences/{own['id']}"
        status, got = as_who(lee, "DELETE", path)
        self.assertEqual(status, 403)
        self.assertIn("is by kim: they or an admin end it", got["detail"])
        self.hub.kill9()
        self.begin()
        self.assertEqual(as_who(lee, "DELETE", path)[0], 403)  # it is still kim's
        self.assertEqual(as_who(kim, "DELETE", path)[0], 200)
        self.assertEqual(self.ask("DELETE", f"/api/v1/silences/{everything['id']}")[0], 200)
        status, all_ = self.ask("POST", "/api/v1/silences", {"rule": "*", "for": "10d", "reason": "moving house"})
        self.assertEqual((status, all_["owner"]), (201, None))
        self.assertEqual([r["silenced"]["id"] for r in self.rows()], [all_["id"]] * 2)

    def test_rules_and_what_they_find_now(self):
        status, out, _ = self.cli("rules")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"gpu-idle +info +off")
        self.assertRegex(out, r"busy-kim +info +on +immediately +never +user:kim")
        self.on["a2"] = "kim"
        lib.wait_until("it is found", lambda: "a2:0 is kim's" in self.cli("test")[1])
        self.assertEqual(self.cli("what")[0], 2)
        self.assertRegex(self.cli("test")[1], r"node-new .*which token it used")
        for argv, words in ((("--for", "1h", "--reason", "x"), "--rule, --node or --person"), (("--node", "a1", "--reason", "x"), "--for 2h"), (("--node", "a1", "--for", "1h"), "--reason")):
            status, _, err = self.cli("silence", *argv)
            self.assertEqual((status, words in err), (2, True), err)
        with open(self.path("bad.yaml"), "w", encoding="utf-8") as f:
            f.write("alerts:\n  gpu-ilde: off\n")
        status, _, err = self.run_any(lib.MUSTER, "hub", "--config", self.path("bad.yaml"), "--listen", "127.0.0.1:0", "--data", self.path("data2"))
        self.assertNotEqual(status, 0)
        self.assertIn("bad.yaml:2:3: there is no built-in rule 'gpu-ilde'", err)


if __name__ == "__main__":
    lib.main()
