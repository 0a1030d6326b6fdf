#!/usr/bin/python3
"""Alerts told through channels, against a stand-in that is rude in every way: late, endless, redirecting, failing."""
import hashlib
import hmac
import json
import time

import hook_standin
import lib
import telling

CONFIG = """
rule: {{stale_after: 8s, down_after: 10s}}
alerts:
  node-down: {{clear: 0s}}
  gpu-idle: off
  rules:
    - {{name: held-a, when: "user:kim", clear: 0s, channel: [slack, hook], text: "{{place}} is <{{user}}>"}}
    - {{name: held-b, when: "user:kim", clear: 0s, channel: hook}}
    - {{name: held-c, when: "user:kim", clear: 0s, channel: [hook, rude]}}
channels:
  slack: {{type: slack, url_file: {dir}/slack.url, severity: critical}}
  hook: {{type: webhook, url_env: HOOK_URL, secret_file: {dir}/hook.key, severity: critical}}
  ntfy: {{type: ntfy, url: "http://127.0.0.1:{port}/hidden-path-5", secret_env: NTFY_KEY, severity: critical}}
  prog: {{type: command, command: [/bin/sh, -c, "env > {dir}/env; cat >> {dir}/told"], secret_env: PROG_KEY, severity: critical}}
  rude: {{type: webhook, url: "http://127.0.0.1:{port}/rude", severity: critical}}
"""


class Channels(telling.Telling):
    SECRETS = ("hidden-path-1", "hidden-path-2", "hidden-key-3", "hidden-key-4", "hidden-path-5", "hidden-key-6", "hidden-key-7")

    def setUp(self):
        super().setUp()
        self.standin = hook_standin.started(self)
        base = f"http://127.0.0.1:{self.standin.server_port}/"
        self.set_up(CONFIG.format(dir=self.path(""), port=self.standin.server_port), {"HOOK_URL": base + "hidden-path-2", "NTFY_KEY": "hidden-key-4", "PROG_KEY": "hidden-key-6", "MUSTER_VESTA_TOKEN": "hidden-key-7"},
                    **{"slack.url": base + "hidden-path-1\n", "hook.key": "hidden-key-3\n"})

    def test_every_kind_is_told_once_and_in_one_message(self):
        down = self.names[1:5]
        self.quiet.update(down)
        kinds = {"slack": "/hidden-path-1", "hook": "/hidden-path-2", "ntfy": "/hidden-path-5"}
        lib.wait_until("all are told", lambda: all(self.standin.of(p) for p in kinds.values()))
        title = "[critical] node-down: 4 nodes: n1, n2, n3, n4"
        slack, hook, ntfy = (self.standin.of(p)[0] for p in kinds.values())
        self.assertEqual(json.loads(slack["body"])["text"].split("\n")[0], title)
        self.assertEqual(ntfy["body"].decode().split("\n")[0], title)
        self.assertEqual((ntfy["headers"]["Priority"], ntfy["headers"]["Authorization"]), ("5", "Bearer hidden-key-4"))
        told = json.loads(hook["body"])
        self.assertEqual((told["title"], told["kind"], told["severity"], told["rule"], len(told["alerts"])), (title, "fired", "critical", "node-down", 4))
        self.assertEqual(hook["headers"]["X-Muster-Signature"], "sha256=" + hmac.new(b"hidden-key-3", hook["body"], hashlib.sha256).hexdigest())

        def lines():
            try:
                with open(self.path("told"), encoding="utf-8") as f:
                    return [json.loads(line)["title"] for line in f if line.endswith("\n")]  # the last one may be on its way
            except FileNotFoundError:
                return []
        lib.wait_until("the command is told", lines)
        self.assertEqual(lines(), [title])
        with open(self.path("env"), encoding="utf-8") as f:
            env = dict(line.split("=", 1) for line in f.read().splitlines())
        self.assertEqual(env["MUSTER_SECRET"], "hidden-key-6")  # its own secret, and nobody else's
        self.assertEqual([k for k, v in env.items() if "hidden" in v or k.startswith("MUSTER_")], ["MUSTER_SECRET"])
        self.assertEqual([k for k in env if k not in ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "LC_ALL", "MUSTER_SECRET", "PWD", "OLDPWD", "_", "SHLVL")
                          and not k.endswith("SAN_OPTIONS")], [])
        self.assertSoon(lambda: {(self.channel(n)["ok"], self.channel(n)["waiting"]) for n in ("slack", "hook", "ntfy", "prog")}, {(True, 0)})
        self.hub.stop()
        self.begin()
        time.sleep(3)
        self.assertEqual([len(self.standin.of(p)) for p in kinds.values()], [1, 1, 1], "nobody is told again after a restart")
        self.no_secrets()

    def test_rude_answers_are_cut_off_and_hold_up_nobody(self):
        self.standin.next["/rude"] = ["endless", "drip", 302, 403]
        self.standin.next["/hidden-path-1"] = [403]
        self.user = "kim"
        lib.wait_until("the other one is told", lambda: len(self.standin.of("/hidden-path-2")) == 3)
        sent = [g["at"] for g in self.standin.of("/hidden-path-2")]
        self.assertGreater(sent[2] - sent[0], 0.9, "one a second, however late the first of them was taken")
        lib.wait_until("the endless answers are cut off", lambda: len(self.standin.cut) == 2)
        lib.wait_until("it is told in the end", lambda: len(self.standin.of("/rude")) == 5 and self.channel("rude")["ok"])
        self.assertEqual(self.standin.of("/elsewhere"), [])
        self.assertEqual(len({g["body"] for g in self.standin.of("/rude")}), 1, "the same message each time")
        for words in ("rude fails: the answer is longer than", "rude fails: Operation timed out", "rude fails: it answers with a redirect", "rude fails: it answers with status 403", "rude works again",
                      "slack fails: it answers with status 403: invalid_token"):
            self.hub.wait_line(words)
        text = json.loads(self.standin.of("/hidden-path-1")[-1]["body"])["text"]
        self.assertIn("n0:0 is &lt;kim&gt;", text)
        self.no_secrets()

    def test_it_waits_as_it_was_told_and_order_survives_kills(self):
        self.standin.next["/hidden-path-2"] = [429] + [503] * 4
        self.user = "kim"
        lib.wait_until("it was asked twice", lambda: len(self.standin.of("/hidden-path-2")) == 2)
        first, second = self.standin.of("/hidden-path-2")
        self.assertGreaterEqual(second["at"] - first["at"], 4)
        self.assertEqual((self.channel("hook")["ok"], self.channel("hook")["waiting"]), (False, 3))
        for _ in range(3):
            self.hub.kill9()
            self.begin()
            time.sleep(0.5)
        lib.wait_until("all came", lambda: self.channel("hook")["waiting"] == 0)
        self.hub.kill9()
        got = [json.loads(g["body"]) for g in self.standin.of("/hidden-path-2")]
        order = []
        for m in got:
            if not order or order[-1] != m["id"]:
                order.append(m["id"])
        self.assertEqual(order, sorted(set(order)), "never one before an older one")
        rules = {m["id"]: m["rule"] for m in got}.values()
        self.assertEqual(sorted(r for r in rules if r.startswith("held-")), ["held-a", "held-b", "held-c"], "each at least once")
        self.begin()
        self.no_secrets()

    def test_a_channel_can_be_tried_and_says_how_it_went(self):
        ask = lambda *words, who=("admin",): self.run_any(lib.MUSTER, "alerts", *words, "--hub", self.url, "--token", self.token(*who))
        self.assertEqual(ask("send", "hook")[:2], (0, "sent through hook\n"))
        told = json.loads(self.standin.of("/hidden-path-2")[0]["body"])
        self.assertEqual((told["title"], told["kind"], told["severity"], told["alerts"]), ("A test of the channel hook", "notice", "info", []))
        status, out, _ = ask("channels")
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"(?m)^hook +webhook +works +0")
        self.standin.next["/hidden-path-1"] = [403]
        status, _, err = ask("send", "slack")
        self.assertNotEqual(status, 0)
        self.assertIn("slack fails: it answers with status 403: invalid_token", err)
        self.assertEqual(ask("send", "prog")[0], 0)
        with open(self.path("told"), encoding="utf-8") as f:
            self.assertEqual(json.loads(f.read())["title"], "A test of the channel prog")
        self.assertIn("there is no channel 'nobody'", ask("send", "nobody")[2])
        self.assertNotEqual(ask("send", "hook", who=("member", "--person", "kim"))[0], 0)
        self.assertEqual(len(self.standin.of("/hidden-path-2")), 1)
        self.no_secrets()

    def test_a_mistake_is_said_with_its_place(self):
        with open(self.path("bad.yaml"), "w", encoding="utf-8") as f:
            f.write("channels:\n  ops: {type: slack, url: hidden-path-1}\n")
        status, out, err = self.run_any(lib.MUSTER, "config", "check", self.path("bad.yaml"))
        self.assertNotEqual(status, 0)
        self.assertIn("bad.yaml:2:", err)
        self.assertIn("expected an address", err)
        self.assertNotIn("hidden", out + err)
        with open(self.path("bad.yaml"), "w", encoding="utf-8") as f:
            f.write("alerts:\n  rules:\n    - {name: mine, when: held, channel: [ops, opps]}\nchannels:\n  ops: {type: command, command: [/bin/true]}\n")
        status, out, err = self.run_any(lib.MUSTER, "config", "check", self.path("bad.yaml"))
        self.assertEqual((status, out, err), (1, "", "muster config: alerts: rule 'mine': there is no channel 'opps' under channels\n"))


class Joined(telling.Telling):
    """More than a few wait: they come as one."""
    RULES = [f"held-{c}" for c in "abcdefgh"]

    def setUp(self):
        super().setUp()
        self.standin = hook_standin.started(self)
        url = f"http://127.0.0.1:{self.standin.server_port}"
        rules = "".join(f'    - {{name: {r}, when: "user:kim", channel: [phone, hook], text: "{r} is it", advice: "look, {r}"}}\n' for r in self.RULES)
        self.set_up(f"alerts:\n  gpu-idle: off\n  rules:\n{rules}channels:\n  phone: {{type: ntfy, url: '{url}/phone', severity: critical}}\n  hook: {{type: webhook, url: '{url}/hook', severity: critical}}\n")

    def test_what_waited_comes_as_one_in_order_and_over_restarts(self):
        self.standin.next["/phone"] = [503] * 20
        self.user = "kim"
        lib.wait_until("it was tried", lambda: len(self.standin.of("/phone")) >= 4)
        self.assertEqual({g["body"].decode().split("\n")[0] for g in self.standin.of("/phone")}, {"[warning] held-a: held-a is it"}, "not joined while it fails")
        lib.wait_until("programs get each", lambda: len(self.standin.of("/hook")) == 8)
        first = self.standin.of("/phone")[0]["at"]
        lib.wait_until("they have waited", lambda: time.monotonic() - first > 31)
        self.standin.next["/phone"] = [503]
        self.hub.kill9()
        self.begin()
        lib.wait_until("joined, and refused", lambda: not self.standin.next["/phone"])
        self.hub.kill9()
        self.begin()
        lib.wait_until("all came", lambda: self.channel("phone")["waiting"] == 0)
        last = self.standin.of("/phone")[-1]["body"].decode()
        self.assertRegex(last, r"^\[warning\] 8 messages since \d{4}-\d\d-\d\d \d\d:\d\d \w+\n")
        self.assertEqual([line.split(" ")[2].rstrip(":") for line in last.split("\n")[1:] if not line.startswith("  ")], self.RULES)
        self.assertEqual([line for line in last.split("\n") if line.startswith("  ")], [f"  look, {r}" for r in self.RULES])
        lib.wait_until("and that is noted", lambda: not self.on_disk("SELECT count(*) FROM notes WHERE kind = 3"))
        self.hub.kill9()
        told = len(self.standin.of("/phone"))
        self.begin()
        time.sleep(3)
        self.assertEqual(len(self.standin.of("/phone")), told, "nothing comes again")
        self.assertEqual([json.loads(g["body"])["rule"] for g in self.standin.of("/hook")][:8], self.RULES)


if __name__ == "__main__":
    lib.main()
