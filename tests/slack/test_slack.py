#!/usr/bin/python3
"""The bot of a hub against a Slack of one's own: what is asked by Socket Mode and over HTTP, what is posted, and what goes wrong at the other end."""
import hashlib
import hmac
import json
import os
import random
import shutil
import signal
import time
import unittest
import urllib.parse

import lib
import sender
import slack_standin

SECRETS = (slack_standin.BOT, slack_standin.APP, slack_standin.SIGNING, "hidden")
CONFIG = """
rule: {{stale_after: 8s, down_after: 10s}}
people:
  kim: {{slack: U1}}
  lee: {{mail: lee@example.org}}
alerts:
  gpu-idle: off
  rules:
    - {{name: held, when: "user:kim", clear: 0s, channel: [ops, nowhere], text: "{{place}} is <{{user}}>"}}
    - {{name: own, when: "user:lee", clear: 0s, channel: [hook, dm], person: yes, text: "{{place}} is {{user}}'s"}}
channels:
  ops: {{type: slack-bot, to: "#ops", severity: critical}}
  nowhere: {{type: slack-bot, to: CNOWHERE, severity: critical}}
  dm: {{type: slack-bot, to: person, severity: critical}}
  hook: {{type: slack, url: "{url}/services/T0/B0/hidden-hook", ca_file: {ca}, severity: critical}}
"""


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Bot(lib.Case):
    more = ""

    def setUp(self):
        super().setUp()
        self.slack = slack_standin.Slack(self.dir)
        self.addCleanup(self.slack.stop)
        self.slack.users.update(U1="kim@example.org", U2="lee@example.org", U3="max@example.org")
        self.config = self.path("muster.yaml")
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(CONFIG.format(url=self.slack.url, ca=self.slack.ca) + self.slack.section(self.dir, self.more))
        self.hubs = []
        self.begin()

    def begin(self):
        self.hub = self.start_hub("--config", self.config, "--log-level", "debug", env={"no_proxy": "127.0.0.1"})
        self.hubs.append(self.hub)

    def linked(self):
        lib.wait_until("Socket Mode is connected", self.slack.live)

    def post(self, path, body, at=None, secret=slack_standin.SIGNING, **headers):
        ts = str(int(time.time() if at is None else at))
        sign = "v0=" + hmac.new(secret.encode(), f"v0:{ts}:".encode() + body, hashlib.sha256).hexdigest()
        kind = "application/json" if path == "/slack/events" else "application/x-www-form-urlencoded"
        head = {"X-Slack-Request-Timestamp": ts, "X-Slack-Signature": sign, "Content-Type": kind}
        head.update(headers)
        return lib.ask(self.hub.url + path, method="POST", body=body, headers=head)

    def answers(self, n=1):
        return lib.wait_until(f"{n} posts", lambda: len(self.slack.posts) >= n and list(self.slack.posts))

    def bot(self):
        rows = lib.ask_json(self.hub.url + "/api/v1/alerts")["channels"]
        return next(r for r in rows if r["name"] == "slack-bot")

    @staticmethod
    def cmdline(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return f.read()
        except OSError:
            return b""

    def nothing_secret(self):
        said = [h.text for h in self.hubs]
        for path in ("/api/v1/alerts?all", "/api/v1/openapi.json", "/metrics"):
            said.append(lib.ask(self.hub.url + path)[2].decode())
        said.append(self.run_ok(lib.MUSTER, "config", "show", "--config", self.config))
        for text in said:
            for secret in SECRETS:
                self.assertNotIn(secret, text)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for secret in SECRETS[:3]:
                self.assertNotIn(secret.encode(), self.cmdline(pid))

    # ---- Socket Mode ----

    def test_who_asks_is_answered_in_his_thread_and_acknowledged(self):
        self.linked()
        talk = self.slack.say("HOSTS are fine", "U1")  # ordinary talk
        event = self.slack.message("HELP", "U1", channel="C7")
        asked = self.slack.envelope("events_api", event)
        first = self.answers()[0]
        self.assertEqual((first["channel"], first["thread_ts"]), ("C7", event["event"]["ts"]))
        self.assertIn("HOSTS", json.dumps(first))
        lib.wait_until("both are acknowledged", lambda: self.slack.acked(asked) and self.slack.acked(talk))
        in_thread = self.slack.say("HELP", "U1", channel="C7", thread="1500000000.000001")
        self.assertEqual(self.answers(2)[1]["thread_ts"], "1500000000.000001")
        alone = self.slack.say("HELP", "U1", direct=True)
        third = self.answers(3)[2]
        self.assertEqual((third["channel"], third.get("thread_ts")), ("DU1", None))
        mention = self.slack.say("HELP", "U1", channel="C8", mention=True)
        self.assertEqual(self.answers(4)[3]["channel"], "C8")
        lib.wait_until("all are acknowledged", lambda: all(map(self.slack.acked, (in_thread, alone, mention))))
        for more in ({"bot": True}, {"subtype": "message_changed"}, {"user": slack_standin.OWN_USER}):
            quiet = self.slack.say("HELP", **more)
            lib.wait_until("it is acknowledged", lambda which=quiet: self.slack.acked(which))
        last = self.slack.say("HELP", "U1", channel="C9")
        self.assertEqual(self.answers(5)[4]["channel"], "C9")  # and nothing between
        lib.wait_until("it is acknowledged", lambda: self.slack.acked(last))
        self.assertEqual((self.slack.faults, len(self.slack.posts)), ([], 5))
        self.nothing_secret()

    def test_what_comes_twice_is_answered_once(self):
        self.linked()
        event = self.slack.message("HELP", "U1")
        both = [self.slack.envelope("events_api", event) for _ in range(3)]
        twin = dict(event, event_id="EvTwin", event=dict(event["event"], type="app_mention", text=f"<@{slack_standin.OWN_USER}> HELP"))
        both.append(self.slack.envelope("events_api", twin))  # the same message, as one that names the bot
        status, _, _ = self.post("/slack/events", json.dumps(event).encode(), **{"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"})
        self.assertEqual(status, 200)
        lib.wait_until("all are acknowledged", lambda: all(map(self.slack.acked, both)))
        other = self.slack.say("HELP", "U1", channel="C2")
        self.assertEqual(sorted(p["channel"] for p in self.answers(2)), ["C1", "C2"])
        lib.wait_until("acknowledged", lambda: self.slack.acked(other))

    def test_what_comes_twice_while_it_is_asked_who_says_it_is_not_asked_twice(self):
        self.linked()
        self.slack.next["users.info"] = ["hang"]
        event = self.slack.message("HELP", "U2")  # known by their mail alone: Slack is asked for it
        twin = dict(event, event_id="EvTwin", event=dict(event["event"], type="app_mention", text=f"<@{slack_standin.OWN_USER}> HELP"))
        both = [self.slack.envelope("events_api", e) for e in (event, twin)]
        lib.wait_until("both are acknowledged", lambda: all(map(self.slack.acked, both)))
        self.slack.say("HELP", "U1", channel="C2")
        self.assertEqual([p["channel"] for p in self.answers()], ["C2"])
        self.assertEqual([a["user"] for a in self.slack.asked("users.info")], ["U2"])

    def test_a_command_and_a_button_are_answered_where_they_came_from(self):
        self.linked()
        self.slack.command("HELP", "U1")
        self.slack.button("HELP", "U1")
        hooks = lib.wait_until("both", lambda: len(self.slack.hooks) >= 2 and list(self.slack.hooks))
        for h in hooks:
            self.assertEqual((h["response_type"], h["replace_original"]), ("ephemeral", False))
            self.assertIn("HOSTS", json.dumps(h))
        self.slack.next["hook"] = ["gone"]
        self.slack.command("HELP", "U1")
        self.hub.wait_line("is given up, it was refused")
        self.assertEqual(self.slack.faults, [])
        strange = dict(self.slack.fields("HELP"), response_url="https://127.0.0.1:1/elsewhere")
        which = self.slack.envelope("slash_commands", strange)
        lib.wait_until("acknowledged", lambda: self.slack.acked(which))
        self.hub.wait_line("the address to answer to is not Slack's")
        self.nothing_secret()

    def test_people_are_known_by_their_id_or_their_mail_and_others_are_told_so(self):
        self.linked()
        of = lambda channel: [p for p in self.slack.posts if p["channel"] == channel]
        for times in (1, 2):
            for user in ("U1", "U2", "U3"):
                self.slack.say("HOSTS", user, direct=True)
            lib.wait_until("all are answered", lambda n=times: all(sum("files" in p for p in of(c)) == n for c in ("DU1", "DU2")) and len(of("DU3")) == n)
        self.assertFalse(any("files" in p for p in of("DU3")))  # nobody knows them: they are told so
        self.assertIn("U3", json.dumps(of("DU3")))
        asked = [a["user"] for a in self.slack.asked("users.info")]
        self.assertNotIn("U1", asked)  # the section people has that id
        self.assertEqual(sorted(asked), ["U2", "U3"])  # each once
        self.assertEqual(self.slack.faults, [])

    def test_files_come_behind_the_answer_and_are_shown_once(self):
        self.linked()
        self.slack.next["files.completeUploadExternal"] = ["internal_error", 429]
        self.slack.next["upload"] = [500]
        event = self.slack.message("HOSTS", "U1", channel="C6")
        self.slack.envelope("events_api", event)
        text, shown = self.answers(2)
        self.assertEqual(text["thread_ts"], event["event"]["ts"])
        self.assertEqual((shown["channel"], shown["thread_ts"]), ("C6", event["event"]["ts"]))
        (name, data), = shown["files"]
        uploaded = [w for w in self.slack.log if w[0] == "upload"]
        self.assertEqual((uploaded[-1][1], uploaded[-1][2]), (name, data))
        self.slack.command("HOSTS", "U1")  # an address to answer to takes no files: they come to the asker
        third = self.answers(4)[2:]
        self.assertEqual([p["channel"] for p in third], ["DU1", "DU1"])
        self.assertIn("files", third[1])
        self.assertEqual(self.slack.faults, [])

    def test_the_child_dies_and_comes_back_and_slack_switches_it_off(self):
        self.linked()
        pids = [int(p) for p in self.run_ok("pgrep", "-P", str(self.hub.p.pid)).split()]
        child = [p for p in pids if b"slack-socket" in self.cmdline(p)]
        self.assertEqual(len(child), 1)
        os.kill(child[0], signal.SIGKILL)
        lib.wait_until("a new one", lambda: sum(w[0] == "link" for w in self.slack.log) >= 2)
        which = self.slack.say("HELP", "U1")
        self.answers()
        lib.wait_until("acknowledged", lambda: self.slack.acked(which))
        self.assertTrue(self.bot()["ok"])
        self.slack.disable()
        lib.wait_until("it is shown", lambda: "switched off" in self.bot().get("error", ""))
        links = sum(w[0] == "link" for w in self.slack.log)
        self.hub.p.send_signal(signal.SIGHUP)  # somebody has switched it on again
        lib.wait_until("it is back", lambda: sum(w[0] == "link" for w in self.slack.log) > links)
        lib.wait_until("nothing is wrong", lambda: self.bot()["ok"])
        self.assertEqual(self.slack.faults, [])

    def test_a_hub_that_was_away_gets_what_it_missed(self):
        self.linked()
        self.hub.kill9()
        missed = self.slack.say("HELP", "U1", channel="C3")
        self.begin()
        self.assertEqual(self.answers()[0]["channel"], "C3")
        lib.wait_until("acknowledged", lambda: self.slack.acked(missed))
        self.slack.stop()
        self.slack.start()
        self.linked()
        late = self.slack.say("HELP", "U1", channel="C4")
        self.assertEqual(self.answers(2)[1]["channel"], "C4")
        lib.wait_until("acknowledged", lambda: self.slack.acked(late))
        self.assertEqual(self.slack.faults, [])
        self.nothing_secret()

    def test_a_token_that_does_not_work_is_shown_and_a_new_one_counts(self):
        self.linked()
        with open(self.path("slack-app_token"), "w", encoding="ascii") as f:
            f.write("xapp-hidden-wrong\n")
        self.slack.cut()
        lib.wait_until("it is shown", lambda: "invalid_auth" in self.bot().get("error", ""))
        lib.wait_until("the rule fires", lambda: [r for r in lib.ask_json(self.hub.url + "/api/v1/alerts?state=all")["rows"] if r["rule"] == "channel"])
        with open(self.path("slack-app_token"), "w", encoding="ascii") as f:
            f.write(slack_standin.APP + "\n")
        self.hub.p.send_signal(signal.SIGHUP)
        self.linked()
        lib.wait_until("nothing is wrong", lambda: self.bot()["ok"])
        self.nothing_secret()

    def test_every_question_is_answered_whoever_goes_away_meanwhile(self):
        chance, asked, kills = random.Random(7), [], 0
        for i in range(9):
            for k in range(3):
                asked.append(f"C{i}X{k}")
                self.slack.say("HELP", "U1", channel=asked[-1])
                time.sleep(chance.random() * 0.3)
            if i % 3 == 2:
                self.slack.stop()
                time.sleep(chance.random())
                self.slack.start()
            elif i % 3 == 1:
                self.hub.kill9()
                kills += 1
                self.begin()
            else:
                chance.choice([self.slack.warn, self.slack.refresh, self.slack.cut])()
        of = lambda channel: sum(p["channel"] == channel for p in self.slack.posts)
        lib.wait_until("all are answered", lambda: all(map(of, asked)))
        lib.wait_until("all are acknowledged", lambda: not self.slack.waiting)
        last = self.slack.say("HELP", "U1", channel="CLAST")
        lib.wait_until("the last one", lambda: of("CLAST") and self.slack.acked(last))
        self.assertLessEqual(sum(map(of, asked)), len(asked) + kills)  # a second copy where the kill fell between sending and noting that
        self.assertEqual(self.slack.faults, [])

    # ---- over HTTP ----

    def test_only_slack_is_listened_to(self):
        event = json.dumps(self.slack.message("HELP", "U1", channel="C5")).encode()
        now = time.time()
        for what, want in (({"secret": "other"}, 401), ({"at": now - 400}, 401), ({"at": now + 400}, 401), ({"X-Slack-Signature": "v0=00"}, 401), ({"X-Slack-Signature": ""}, 401),
                           ({"X-Slack-Request-Timestamp": ""}, 401), ({"X-Slack-Request-Timestamp": "soon"}, 401)):
            self.assertEqual(self.post("/slack/events", event, **what)[0], want, what)
        self.assertEqual(lib.ask(self.hub.url + "/slack/events", method="POST", body=event)[0], 401)
        self.assertEqual(self.post("/slack/events", b"x" * 300000)[0], 413)
        for body in (b"", b"{", b"[]", b'{"type":"other"}'):
            self.assertEqual(self.post("/slack/events", body)[0], 400, body)
        self.assertEqual(self.post("/slack/command", b"text=%zz")[0], 400)
        self.assertEqual(self.post("/slack/action", b"payload=%7B")[0], 400)
        status, _, told = self.post("/slack/events", b'{"type":"url_verification","token":"x","challenge":"abc.DEF"}')
        self.assertEqual((status, told), (200, b"abc.DEF"))
        # a browser's cookie or a foreign page mean nothing here, for or against
        status, _, told = self.post("/slack/events", event, Origin="https://evil.example", Cookie="muster=1")
        self.assertEqual((status, told), (200, b""))
        self.assertEqual(self.answers()[0]["channel"], "C5")
        self.assertEqual(len(self.slack.posts), 1)

    def test_commands_and_buttons_over_http_are_answered_at_once_and_then_in_full(self):
        status, _, told = self.post("/slack/command", urllib.parse.urlencode(self.slack.fields("HELP")).encode())
        self.assertEqual((status, told), (200, b""))
        status, _, told = self.post("/slack/action", urllib.parse.urlencode({"payload": json.dumps(self.slack.pressed("HELP"))}).encode())
        self.assertEqual((status, told), (200, b""))
        hooks = lib.wait_until("both", lambda: len(self.slack.hooks) >= 2 and list(self.slack.hooks))
        self.assertEqual({h["response_type"] for h in hooks}, {"ephemeral"})
        # whoever is not known is looked up first, and a Slack that does not say so holds up nobody
        self.slack.next["users.info"] = ["hang"]
        self.assertEqual(self.post("/slack/command", urllib.parse.urlencode(self.slack.fields("HELP", user="U9")).encode())[0], 200)
        lib.wait_until("it hangs still, or is about to", lambda: self.slack.hanging)
        self.assertEqual(len(self.slack.hooks), 2)

    # ---- posting ----

    def hold(self, user):
        node, token = self.node
        procs = node.procs((100, user, "train", "train")) if user else node.procs()
        raw = node.stream(node.facts(), procs, node.batch(util=5000 if user else 0, mem=8 << 30 if user else 0))
        lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})

    def test_alerts_are_posted_once_whatever_slack_says_first(self):
        self.node = sender.Node("n1"), self.token("agent")
        ways = [429, "garbage", "redirect", "endless"]
        self.slack.next["chat.postMessage"] = [w for w in ways for _ in range(2)]  # ops and nowhere
        end = time.monotonic() + 240
        while not any(p["channel"] == "COPS" for p in self.slack.posts) and time.monotonic() < end:
            self.hold("kim")
            time.sleep(0.5)
        posts = [p for p in self.slack.posts if p["channel"] == "COPS"]
        self.assertEqual(len(posts), 1)
        self.assertIn("&lt;kim&gt;", posts[0]["text"])
        self.hub.wait_line("nowhere: message .* is given up, it was refused")
        self.assertEqual(self.slack.next["chat.postMessage"], [])
        lib.wait_until("the endless ones are cut off", lambda: any(w[0] == "cut off" for w in list(self.slack.log)))
        self.assertEqual(self.slack.faults, [])
        self.nothing_secret()


    def test_a_person_who_is_not_in_slack_is_no_fault_of_the_channel(self):
        self.node = sender.Node("n1"), self.token("agent")
        self.slack.users.clear()
        end = time.monotonic() + 120
        while "dm to lee@example.org: message" not in self.hub.text and time.monotonic() < end:
            self.hold("lee")
            time.sleep(0.5)

        def shown():
            (dm,) = [c for c in lib.ask_json(self.hub.url + "/api/v1/alerts")["channels"] if c["name"] == "dm"]
            return dm["ok"], dm.get("error"), dm["waiting"]
        self.assertSoon(shown, (False, "Slack reports users_not_found", 0))
        self.assertEqual(lib.ask_json(self.hub.url + "/api/v1/alerts/test?rule=channel")["rows"], [])  # and nobody is alarmed

    def test_a_person_is_told_himself_and_a_webhook_is_one_of_slack_s(self):
        self.node = sender.Node("n1"), self.token("agent")
        end = time.monotonic() + 120
        while not (self.slack.posts and self.slack.hooks) and time.monotonic() < end:
            self.hold("lee")
            time.sleep(0.5)
        self.assertEqual([p["channel"] for p in self.slack.posts], ["DU2"])  # found by their mail address
        self.assertEqual(self.slack.asked("users.lookupByEmail"), [{"email": "lee@example.org"}])
        self.assertIn("n1:0 is lee's", self.slack.posts[0]["text"])
        self.assertEqual([(h["path"], "n1:0" in h["text"]) for h in self.slack.hooks], [("/services/T0/B0/hidden-hook", True)])
        self.assertEqual(self.slack.faults, [])
        self.nothing_secret()


class Config(lib.Case):
    def check(self, text):
        with open(self.path("m.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        status, out, err = self.run_any(lib.MUSTER, "config", "check", self.path("m.yaml"))
        return status, out + err

    def test_what_is_wrong_in_the_section_is_said_with_its_place_and_nothing_secret(self):
        for text, want in (("slack:\n  token: xoxb-hidden-9\n", "m.yaml:2:3: a secret does not belong here"), ("slack: {channel: x}\n", "m.yaml:1:"),
                           ("channels:\n  a: {type: slack-bot}\n", "channel 'a': Slack's bot needs its section"),
                           ("slack: {token_env: A}\nchannels:\n  slack-bot: {type: ntfy, url: https://x}\n", "channel 'slack-bot' is the bot's own")):
            status, said = self.check(text)
            self.assertNotEqual(status, 0, text)
            self.assertIn(want, said)
            self.assertNotIn("hidden", said)
        self.assertEqual(self.check("slack: {token_env: A}\nchannels:\n  ops: {type: slack-bot, to: '#ops'}\n")[0], 0)


if __name__ == "__main__":
    lib.main()
