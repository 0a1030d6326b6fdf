#!/usr/bin/python3
"""What the Slack bot answers, through POST /api/v1/say and `muster say` against a real hub: in the asker's name, with their rights."""
import base64
import contextlib
import http.client
import json
import threading

import lib
import sender

CONFIG = """
people:
  kim: {name: Kim Doe, mail: kim@lab.example, slack: U111}
  lee: {logins: [lee, lee2]}
teams:
  vision: [kim, lee]
rule: {stale_after: 8s, down_after: 10s}
alerts:
  node-down: {for: 0s}
  gpu-idle: off
channels:
  own: {type: command, command: [/bin/sh, -c, "cat >> TOLD"], to: person}
"""
SECRET = "--api-key=hunter2"


class Say(lib.Case):
    def setUp(self):
        super().setUp()
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("TOLD", self.path("told")))
        self.port, self.on, self.idle, self.away, self.over = lib.free_port(), {"dgx1": "lee"}, set(), set(), threading.Event()
        self.begin()
        self.nodes = {n: (sender.Node(n), self.token("agent")) for n in ("dgx1", "dgx2", "dgx3")}
        self.kim = self.token("member", "--person", "kim")
        self.lee = self.token("member", "--person", "lee")
        self.send()
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()
        self.addCleanup(lambda: (self.over.set(), self.thread.join()))

    def begin(self):
        self.url = f"http://127.0.0.1:{self.port}"
        self.hub = self.start(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--listen", f"127.0.0.1:{self.port}", "--data", self.path("data"))
        self.hub.wait_line(r"http://127")

    def send(self):
        for name, (node, token) in list(self.nodes.items()):
            if name in self.away:
                continue
            user = self.on.get(name)
            procs = node.procs((100, user, "train", "python train.py " + SECRET)) if user else node.procs()
            raw = node.stream(node.facts(), procs, node.batch(util=5000 if user and name not in self.idle else 0, mem=8 << 30 if user else 0))
            lib.ask(self.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})

    def go_on(self):
        while not self.over.wait(0.5):
            try:
                self.send()
            except (OSError, http.client.HTTPException):
                pass  # the hub is away, or ended in the middle of an answer

    def say(self, text, token=None, talk=False):
        headers = {"Authorization": "Bearer " + token} if token else {}
        status, _, raw = lib.ask(self.url + "/api/v1/say", method="POST", headers=headers, body=json.dumps({"text": text, "talk": talk}).encode())
        self.assertEqual(status, 200, raw)
        answer = json.loads(raw)
        self.assertLessEqual(len(answer["blocks"]), 50)
        self.assertNotIn("<!", raw.decode())
        for f in answer["files"]:
            f["bytes"] = base64.b64decode(f["base64"])
        return answer

    def get(self, path, token=None):
        return lib.ask_json(self.url + path, headers={"Authorization": "Bearer " + (token or self.kim)})

    def test_keywords_of_the_old_bot_are_files_and_ordinary_talk_is_nothing(self):
        answer = self.say("HOSTS", talk=True)
        self.assertEqual([(f["name"], f["title"], f["bytes"]) for f in answer["files"]], [("HOSTS.txt", "response: HOSTS", b"dgx1\ndgx2\ndgx3\n")])
        tree = self.say("ALL", talk=True)["files"][0]["bytes"].decode()
        self.assertRegex(tree, r"^dgx1             : Alive\n    \[gpu:0 \(.*\)\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+\n        └── train +1024MiB lee\n\ndgx2             : Alive\n")
        self.assertEqual(self.say("dgx2", talk=True)["files"][0]["bytes"].decode(), "dgx2             : Alive\n")
        self.assertEqual(self.say("dgx2", talk=True)["files"][0]["name"], "dgx2.txt")
        self.assertIn("| host", self.say("ALL_cmd", talk=True)["files"][0]["bytes"].decode())
        self.assertIn("#### dgx1 ::", self.say("ALL_detail", talk=True)["files"][0]["bytes"].decode())
        self.assertIn("http://127.0.0.1", self.say("WHERE", talk=True)["text"])
        self.assertRegex(self.say("WHERE dgx1", talk=True)["text"], r"^dgx1 \(127\.0\.0\.1\) last update: .*, status: up$")
        for text in ("ALL of us", "all", "free 4", "hosts", "dgx9", "A"):
            self.assertEqual(self.say(text, talk=True), {"text": "", "blocks": [], "files": [], "ephemeral": False, "refused": False})
        self.away.add("dgx3")
        lib.wait_until("dgx3 is dead", lambda: "dgx3             : DEAD" in self.say("ALL", talk=True)["files"][0]["bytes"].decode())

    def test_what_is_free_and_who_is_on_what(self):
        lib.wait_until("two are free", lambda: self.say("free")["text"].startswith("2 of 3 GPUs free"))
        self.assertRegex(self.say("free 2")["text"], r"^2 free now: dgx2:0 dgx3:0")
        none = self.say("free 3")
        self.assertTrue(none["refused"] and none["text"].startswith("2 of 3 GPUs are free, 3 requested"), none)
        who = self.say("who")["text"]
        self.assertRegex(who, r"lee +1 .* dgx1:0")
        self.assertRegex(self.say("who dgx1")["text"], r"busy +lee +train")
        self.assertRegex(self.say("who is on dgx2?")["text"], r"0  free")

    def test_nobody_sees_command_lines_that_are_not_his(self):
        texts = ("ALL", "ALL_cmd", "ALL_detail", "who", "who dgx1", "who lee", "free", "dgx1", "bookings", "alerts")
        for token in (None, self.kim):
            for text in texts:
                answer = self.say(text, token)
                self.assertNotIn("hunter2", json.dumps(answer["blocks"]) + answer["text"] + "".join(str(f["bytes"]) for f in answer["files"]))

    def test_a_booking_is_the_askers_and_survives_kill_9(self):
        self.assertTrue(self.say("book 1 for 4h")["refused"])  # nobody asks
        answer = self.say("book dgx2:0 for 4h because a paper", self.kim)
        self.assertRegex(answer["text"], r"^Booked for kim: dgx2:0 until ")
        self.hub.kill9()
        self.begin()
        rows = self.get("/api/v1/bookings")["rows"]
        self.assertEqual([(r["person"], r["where"], r["comment"]) for r in rows], [("kim", "dgx2:0", "a paper")])
        taken = self.say("book dgx2:0 for 1h", self.lee)
        self.assertTrue(taken["refused"] and "booked by kim until" in taken["text"], taken)
        number = rows[0]["id"]
        foreign = self.say(f"release {number}", self.lee)
        self.assertTrue(foreign["refused"], foreign)
        button = answer["blocks"][-1]["elements"][0]["value"]
        self.assertEqual(button, f"release {number}")
        self.assertEqual(self.say(button, self.kim)["text"], "Released: dgx2:0.")
        self.assertEqual(self.say("bookings")["text"], "There are no bookings.")

    def test_a_wait_is_kept_without_a_word_and_given_when_it_is_free(self):
        self.idle = {"dgx2", "dgx3"}  # held, without work: what worked is busy for a minute more, over a restart too
        self.on.update({"dgx2": "lee", "dgx3": "lee"})
        lib.wait_until("nothing is free", lambda: self.say("free")["refused"])
        self.assertIn("you are next", self.say("wait 1", self.kim)["text"])
        self.hub.kill9()
        self.begin()
        self.on.pop("dgx3")
        wait = lib.wait_until("it is kim's", lambda: [w for w in self.get("/api/v1/waits")["rows"] if w["state"] == "yours"])[0]
        self.assertEqual((wait["person"], wait["where"], wait["tell"]), ("kim", "dgx3:0", True))

        def told():
            with contextlib.suppress(OSError), open(self.path("told"), encoding="utf-8") as f:
                return '"person":"kim"' in (text := f.read()) and "dgx3:0" in text

        lib.wait_until("kim is told", told)
        self.assertEqual(self.say(f"release {wait['id']}", self.kim)["text"], "Released: dgx3:0.")

    def test_alerts_and_silences(self):
        self.assertEqual(self.say("alerts")["text"], "No active alerts.")
        self.away.add("dgx3")
        lib.wait_until("dgx3 is told of", lambda: "dgx3" in self.say("alerts")["text"])
        buttons = [e["value"] for b in self.say("alerts")["blocks"] if b["type"] == "actions" for e in b["elements"]]
        number = self.get("/api/v1/alerts")["rows"][0]["id"]
        self.assertEqual(buttons, [f"silence #{number} for 1h by a button", f"silence #{number} for 8h by a button"])
        self.assertTrue(self.say(buttons[0])["refused"])  # nobody asks
        self.assertIn("Node-down of dgx3 is critical", self.say(buttons[0], self.kim)["text"])  # an admin's
        boss = self.token("admin", "--person", "boss")
        self.assertRegex(self.say(buttons[0], boss)["text"], r"^Muted: node-down on dgx3 until .*: by a button\nBy boss;")
        silence = self.get("/api/v1/silences")["rows"][0]
        self.assertEqual((silence["rule"], silence["node"], silence["by"], silence["reason"]), ("node-down", "dgx3", "boss", "by a button"))
        self.assertIn("Silenced by boss.", self.say("alerts")["text"])
        self.assertIn("is by boss: they or an admin end it", self.say(f"unsilence {silence['id']}", self.kim)["text"])
        self.assertEqual(self.say(f"unsilence {silence['id']}", boss)["text"], "The silence has ended.")
        self.assertIn("Did you mean node-down?", self.say("silence node-dwn for 1h x", self.kim)["text"])

    def test_usage_and_history_have_pictures(self):
        for text, name in (("usage me last 2d", "usage.png"), ("usage vision", "usage.png"), ("history dgx1 util last 1h", "history.png"), ("history all mem", "history.png")):
            answer = lib.wait_until(text, lambda t=text: (lambda a: a if a["files"] else None)(self.say(t, self.kim)))
            (file,) = answer["files"]
            self.assertEqual((file["name"], file["type"], file["bytes"][:8]), (name, "image/png", b"\x89PNG\r\n\x1a\n"), text)
        self.assertIn("Usage of kim, last 2 days", self.say("usage me last 2d", self.kim)["text"])
        self.assertTrue(self.say("usage me")["refused"])

    def test_on_a_terminal(self):
        flags = ("--hub", self.url, "--token", self.kim)
        self.assertIn("`free [N] [filter]`", self.run_ok(lib.MUSTER, "say", *flags, "help"))
        self.assertEqual(self.run_ok(lib.MUSTER, "say", *flags, "--talk", "HOSTS"), "response: HOSTS\ndgx1\ndgx2\ndgx3\n")
        no = self.run_any(lib.MUSTER, "say", *flags, "fre", "4")
        self.assertEqual(no, (1, "I do not understand 'fre'. Did you mean `free [N] [filter]`? `help` lists all commands.\n", ""))
        lib.wait_until("usage has a picture", lambda: self.say("usage me", self.kim)["files"])
        self.run_ok(lib.MUSTER, "say", *flags, "--save", self.path("."), "usage", "me")
        with open(self.path("usage.png"), "rb") as f:
            self.assertEqual(f.read(4), b"\x89PNG")


if __name__ == "__main__":
    lib.main()
