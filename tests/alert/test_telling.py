#!/usr/bin/python3
"""Recipients: persons for their own alerts, resolved messages for recipients of the first, short critical alerts."""
import contextlib
import json
import signal
import sqlite3

import hook_standin
import lib
import speaking

CONFIG = """
rule: {{stale_after: 8s, down_after: 10s}}
people:
  kim: {{logins: [kdoe], mail: kim@example.org}}
  pat: {{tell: no}}
alerts:
  gpu-idle: {{for: 1s, clear: 0s}}
  rules:
    - {{name: lasting, when: "user:still", remind: 1m, clear: 0s, severity: info, text: "{{place}} is on"}}
    - {{name: blip, when: "user:blip", severity: critical, clear: 0s, text: "{{place}} blinked"}}
channels:
  ops: {{type: webhook, url: "http://127.0.0.1:{port}/ops", severity: {severity}}}
  own: {{type: webhook, url: "http://127.0.0.1:{port}/own", to: person}}
"""


class Telling(speaking.Speaking):
    names, util = [f"n{i}" for i in range(4)], 0

    def setUp(self):
        super().setUp()
        self.standin = hook_standin.started(self)
        self.configure("info")
        self.speak()

    def configure(self, severity, more=""):
        self.write("muster.yaml", CONFIG.format(port=self.standin.server_port, severity=severity) + more)

    def told(self, path):
        return [m for m in (json.loads(g["body"]) for g in self.standin.of(path)) if not m["rule"].startswith("node-")]

    def over_on_disk(self, rule):
        with contextlib.closing(sqlite3.connect(self.path("data/muster.db"))) as db:
            notes = db.execute("SELECT bytes FROM notes WHERE kind = 1 AND over_ms > 0").fetchall()
        return sum(json.loads(n[0])["rule"] == rule for n in notes)

    def rows(self, query=""):
        return lib.ask_json(self.url + "/api/v1/alerts" + query)

    def test_persons_and_the_end_goes_to_whoever_was_told(self):
        self.on.update(n0="kdoe", n1="kdoe", n2="lee", n3="pat")
        lib.wait_until("both are told", lambda: self.told("/ops") and len(self.told("/own")) == 2)
        (ops,), own = self.told("/ops"), {m["person"]: m for m in self.told("/own")}
        self.assertRegex(ops["title"], r"^\[info\] gpu-idle: 4 GPUs: n0:0, n1:0, n2:0, n3:0$")
        self.assertRegex(own["kim"]["title"], r"^\[info\] gpu-idle: you hold n0:0 and n1:0, idle for [\dms ]+$")
        self.assertRegex(own["lee"]["title"], r"^\[info\] gpu-idle: you hold n2:0, idle for [\dms ]+$")
        self.assertEqual((len(own), ops["kind"], own["kim"]["kind"]), (2, "fired", "fired"), "pat wants no messages")
        self.configure("critical", f"  late: {{type: webhook, url: \"http://127.0.0.1:{self.standin.server_port}/late\", severity: info}}\n")
        self.hub.p.send_signal(signal.SIGHUP)
        lib.wait_until("the new channel is there", lambda: len(self.rows()["channels"]) == 3)
        self.on.clear()
        lib.wait_until("all are over, and that is on disk", lambda: self.over_on_disk("gpu-idle") == 4)
        self.hub.kill9()
        self.begin()
        lib.wait_until("the end is told", lambda: len(self.told("/ops")) == 2)
        end = self.told("/ops")[1]
        self.assertRegex(end["title"], r"^\[resolved\] gpu-idle: 4 GPUs, after up to [\dms ]+: n0:0, n1:0, n2:0, n3:0$")
        self.assertEqual(end["kind"], "resolved")
        self.assertEqual((len(self.told("/own")), self.told("/late")), (2, []), "nobody else is told of it")

    def test_who_has_no_address_is_counted_until_he_has_one(self):
        post = f"  post: {{type: mail, url: 'smtp://127.0.0.1:{lib.free_port()}', tls: off, from: muster@example.org, to: person}}\n"
        count = lambda: next((c.get("no_address") for c in self.rows()["channels"] if c["name"] == "post"), "no channel")
        self.configure("info", post)
        self.hub.p.send_signal(signal.SIGHUP)
        self.on["n0"] = "lee"
        lib.wait_until("lee is passed over", lambda: count() == 1)
        with open(self.path("muster.yaml"), encoding="utf-8") as f:
            text = f.read().replace("people:\n", "people:\n  lee: {mail: lee@example.org}\n")
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.hub.p.send_signal(signal.SIGHUP)
        lib.wait_until("they can be told", lambda: count() is None)

    def test_a_critical_alert_never_vanishes(self):
        told = lambda: [m for m in self.told("/ops") if m["rule"] == "blip"]
        for _ in range(5):
            before = len(told())
            self.on["n0"] = "blip"
            lib.wait_until("it fires", lambda: any(r["rule"] == "blip" for r in self.rows()["rows"]))
            self.on.clear()  # before a message is sent: ten seconds are enough, else it is tried again
            self.say()
            lib.wait_until("it is told", lambda: len(told()) > before)
            one = told()[before]
            if one["kind"] == "notice":
                break
            lib.wait_until("its end is told", lambda: len(told()) > before + 1)
        self.assertEqual((one["kind"], len(told())), ("notice", before + 1))
        self.assertRegex(one["title"], r"^\[critical\] blip: n0:0 blinked, over after [\dms ]+$")

    def test_what_still_fires_is_told_again_in_one_message(self):
        self.on["n0"] = "still"
        lib.wait_until("it is told", lambda: any(m["rule"] == "lasting" for m in self.told("/ops")))
        self.on["n1"] = "still"
        lib.wait_until("the other one is told", lambda: sum(m["rule"] == "lasting" for m in self.told("/ops")) == 2)
        self.hub.kill9()
        self.begin()
        (again,) = lib.wait_until("they are told again", lambda: [m for m in self.told("/ops") if m["kind"] == "reminder"], limit=120)
        self.assertRegex(again["title"], r"^\[info\] lasting, still, for up to [\dms ]+: 2 GPUs: n0:0, n1:0$")


if __name__ == "__main__":
    lib.main()
