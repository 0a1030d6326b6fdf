#!/usr/bin/python3
"""Reports that go out by themselves: once for each period, whatever the hub and its clock go through; what is in them; looking and sending by hand."""
import base64
import contextlib
import datetime
import json
import re
import shutil
import signal
import sqlite3
import struct
import time
import unittest

import lib
import slack_standin
import smtp_standin

DAY = 86400000
NOTE_ALERT, NOTE_MESSAGE, NOTE_REPORT = 1, 3, 10


def zone_at_noon():
    """A zone in which it is about noon, so that no test runs over midnight."""
    off = 12 - datetime.datetime.now(datetime.timezone.utc).hour  # -11 to 12
    return "Etc/GMT%+d" % -off, off


CONFIG = """
usage: {{zone: {zone}}}
people: {{kim: {{logins: [kim]}}, lee: {{logins: [lee]}}}}
teams: {{vision: {{members: [kim]}}}}
channels:
  prog: {{type: command, command: [/bin/sh, -c, "cat >> {dir}/told"]}}
  other: {{type: command, command: [/bin/sh, -c, "cat >> {dir}/other"]}}
reports:
  daily: {{every: day, at: "08:00", channel: [prog, other]}}
  vision: {{every: day, at: "23:30", channel: prog, what: usage by team, team: vision}}
  look: {{every: week, what: usage by node, chart: no, idle: no}}
  all: {{every: day, at: "00:00", channel: prog, what: status}}
"""


class Base(lib.Case):
    def setUp(self):
        super().setUp()
        self.zone, self.off = zone_at_noon()
        self.data = self.path("data")
        self.write(CONFIG.format(zone=self.zone, dir=self.path("")))
        self.hub = None

    def write(self, text):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(text)

    def past(self, *more):
        self.run_ok(lib.MUSTER, "simulate", "--every", "60s", "--nodes", "2", "--gpus", "4", "--quiet", "--backfill", "3d", "--data", self.data, *more, limit=300)

    def begin(self):
        self.hub = self.start_hub("--config", self.path("muster.yaml"), data=self.data)

    def reload(self):
        self.rows()  # it runs: before that a SIGHUP ends it
        self.hub.p.send_signal(signal.SIGHUP)

    def counted(self):
        lib.wait_until("every hour is counted", lambda: lib.ask_json(self.hub.url + "/api/v1/usage?last=1h")["waiting"] == 0)

    def rows(self):
        return {r["name"]: r for r in lib.ask_json(self.hub.url + "/api/v1/reports")["rows"]}

    def told(self, name="told"):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return [json.loads(line) for line in f if line.endswith("\n") and line.strip()]  # the last one may be on its way
        except FileNotFoundError:
            return []

    def db(self):
        return contextlib.closing(sqlite3.connect(self.data + "/muster.db", timeout=lib.LIMIT_S))

    def notes(self, kind):
        with self.db() as db:
            return [json.loads(b) for b, in db.execute("select bytes from notes where kind = ?", (kind,))]

    def set_done(self, **done):
        """While the hub is off: the last period seen to ended then."""
        with self.db() as db:
            for i, b in db.execute("select id, bytes from notes where kind = ?", (NOTE_REPORT,)).fetchall():
                n = json.loads(b)
                if n["name"] in done:
                    n["done"] = done[n["name"]]
                    db.execute("update notes set bytes = ? where kind = ? and id = ?", (json.dumps(n).encode(), NOTE_REPORT, i))
            db.commit()

    def midnight(self):
        now = int(time.time() * 1000) + self.off * 3600000
        return now // DAY * DAY - self.off * 3600000

    def wait_told(self, n, name="told"):
        lib.wait_until(f"{n} messages", lambda: len(self.told(name)) >= n)
        return self.told(name)

    def settle(self):
        """Long enough for a second message, if there were one: one a second goes out."""
        time.sleep(3)


class Reports(Base):
    def test_each_period_goes_out_once(self):
        self.past()
        self.begin()
        lib.wait_until("what is due is noted", lambda: {n["name"] for n in self.notes(NOTE_REPORT)} == {"daily", "vision", "all"})
        self.settle()
        self.assertEqual(self.told(), [])  # they are new: nothing of before is sent
        midnight = self.midnight()
        self.assertEqual({n["name"]: n["done"] for n in self.notes(NOTE_REPORT)}, {"daily": midnight, "vision": midnight - DAY, "all": midnight})
        # off while it was due: once when it is back, and two days before are said to be missing
        self.hub.stop()
        self.set_done(daily=midnight - 3 * DAY)
        self.begin()
        first = self.wait_told(1)
        self.wait_told(1, "other")
        day = datetime.datetime.fromtimestamp((midnight + self.off * 3600000 - DAY) / 1000, datetime.timezone.utc)
        m = first[0]
        self.assertEqual((m["kind"], m["severity"], m["rule"], m["channel"]), ("report", "info", "daily", "prog"))
        self.assertEqual(m["title"], "muster: usage by person, " + day.strftime("%A %Y-%m-%d"))
        self.assertIn("2 earlier reports were not sent", m["text"])
        self.assertIn("The chart does not go through this channel.", m["text"])
        self.hub.wait_line("2 earlier reports were not sent")
        # the numbers are those of /api/v1/usage
        usage = lib.ask_json(f"{self.hub.url}/api/v1/usage?by=person&from={midnight - DAY}&to={midnight}")
        self.assertGreater(len(usage["rows"]), 3)
        for row in usage["rows"]:
            if row["key"] is None:
                continue  # what nobody used is no line of a report
            self.assertRegex(m["text"], rf"(?m)^{row['key']} +{row['gpus']} +{row['held'] / 3600:.1f} h +{row['busy'] / 3600:.1f} h")
        # restarts, kill -9, reload, another time of day, another zone: not a second time
        lib.wait_until("that they were sent is noted", lambda: self.notes(NOTE_MESSAGE) == [])
        for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
            self.hub.stop(how)
            self.begin()
        text = CONFIG.format(zone=self.zone, dir=self.path(""))
        self.write(text.replace('"08:00"', '"09:00"'))
        self.reload()
        lib.wait_until("the reload", lambda: self.rows()["daily"]["at"] == "09:00")
        self.settle()
        self.assertEqual(len(self.told()), 1)
        self.assertEqual(len(self.told("other")), 1)
        # the clock was ahead by an hour when it went out: nothing; by a year: begun anew, still nothing of today
        self.hub.stop()
        self.set_done(daily=midnight + 3600000, all=midnight + 365 * DAY)
        self.begin()
        lib.wait_until("begun anew", lambda: {n["name"]: n["done"] for n in self.notes(NOTE_REPORT)}["all"] == midnight)
        self.settle()
        self.assertEqual(len(self.told()), 1)
        self.hub.wait_line("because a clock was wrong")
        # a week whose Monday is more than a day gone by is left out, and that is said
        self.hub.stop()
        today = datetime.datetime.fromtimestamp((midnight + self.off * 3600000) / 1000, datetime.timezone.utc)
        self.write(text.replace("look: {every: week,", "look: {every: month, at: \"00:00\", channel: prog,"))
        self.begin()
        lib.wait_until("look is noted", lambda: "look" in {n["name"] for n in self.notes(NOTE_REPORT)})
        self.hub.stop()
        self.set_done(look=midnight - 100 * DAY)
        self.begin()
        lib.wait_until("look is seen to", lambda: {n["name"]: n["done"] for n in self.notes(NOTE_REPORT)}["look"] > midnight - 40 * DAY)
        self.settle()
        if today.day > 2:
            self.hub.wait_line("look was due more than a day ago")
            self.assertEqual(len(self.told()), 1)

    def test_a_kill_while_it_goes_out_sends_it_still_and_once(self):
        self.past()
        self.begin()
        lib.wait_until("what is due is noted", lambda: len(self.notes(NOTE_REPORT)) == 3)
        midnight = self.midnight()
        self.hub.stop()
        self.set_done(daily=midnight - DAY)
        for pause in (0, 0.1, 0.3, 0.6):  # in the middle of whatever it does then
            self.begin()
            time.sleep(pause)
            self.hub.stop(signal.SIGKILL)
        self.begin()
        self.wait_told(1)
        self.wait_told(1, "other")
        self.settle()
        # one more only where the kill fell between sending it and noting that: the same message, by its number
        for name in ("told", "other"):
            self.assertEqual(len({m["id"] for m in self.told(name)}), 1)
        self.assertSoon(lambda: self.notes(NOTE_MESSAGE), [])

    def add_alerts(self):
        """Alerts of yesterday: node-down thrice, on two nodes, once beyond the day's end; one hot GPU of the day before."""
        midnight = self.midnight()
        rows = [("node-down", 2, "sim1", midnight - 3600000, midnight - 1800000), ("node-down", 2, "sim1", midnight - DAY, midnight - DAY + 1), ("node-down", 2, "sim2", midnight - 1, midnight + 60000), ("gpu-idle", 0, "sim1:2", midnight - 7200000, midnight - 3600000), ("gpu-hot", 1, "sim1:0", midnight - DAY - 1, midnight - DAY + 1), ("gpu-hot", 1, "sim1:0", midnight, midnight + 1)]
        with self.db() as db:
            for i, (rule, severity, place, fired, over) in enumerate(rows, 1):
                note = {"id": i, "severity": severity, "since": fired, "fired": fired, "resolved": over, "rule": rule, "subject": "node:x", "place": place, "text": "x"}
                db.execute("insert into notes(kind, id, over_ms, bytes) values(?, ?, ?, ?)", (NOTE_ALERT, i, over, json.dumps(note).encode()))
            (node,) = db.execute("select key from nodes where own_name = 'sim1'").fetchone()
            for at, kind, code, text in ((midnight - 7000000, 1, 31, "python, pid 48120"), (midnight - 6000000, 7, 0, ""), (midnight - DAY - 1, 1, 79, ""), (midnight, 1, 79, "")):
                db.execute("insert into events(at_ms, node, device, kind, code, slot, text) values(?, ?, '', ?, ?, 0, ?)", (at, node, kind, code, text))
            db.commit()

    def test_looking_and_sending_by_hand(self):
        self.past("--work")
        self.add_alerts()
        self.begin()
        self.counted()
        env = {"MUSTER_HUB": self.hub.url}
        out = self.run_ok(lib.MUSTER, "reports", env=env)
        self.assertRegex(out, r"(?m)^daily +usage by person +day +08:00 .* prog, other ")
        self.assertRegex(out, r"(?m)^look +usage by node +week .*\(none\)")
        text = self.run_ok(lib.MUSTER, "reports", "show", "daily", env=env)
        self.assertIn("Held and idle, for 30 m and longer", text)
        self.assertRegex(text, r"(?m)^Alerts\nALERT .*\nnode-down +critical +3 +1 +sim1, sim2\ngpu-idle +info +1 +0 +sim1:2\n\n")
        events = re.search(r"(?m)^Events\n(?:.+\n)+", text)[0]
        self.assertRegex(events, r"^Events\n\S+ \d\d:\d\d  sim1  Xid 31: memory page fault: usually the application's\n    fault \(python, pid 48120\)\n$")  # neither the agent's start nor another day's
        self.assertTrue(all(len(line) <= 90 for line in text.splitlines()), text)
        self.run_ok(lib.MUSTER, "reports", "show", "daily", "--format", "html", "-o", self.path("d.html"), env=env)
        self.run_ok(lib.MUSTER, "reports", "show", "daily", "--format", "png", "-o", self.path("d.png"), env=env)
        with open(self.path("d.html"), encoding="utf-8") as f:
            page = f.read()
        with open(self.path("d.png"), "rb") as f:
            png = f.read()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", png[16:24]), (1440, 720))
        inside = re.search(r'<img src="data:image/png;base64,([^"]+)"', page)
        self.assertEqual(base64.b64decode(inside.group(1)), png)
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:)', page), [])  # nothing is loaded
        self.assertIn("USER HELD BUSY% EFFECTIVE TENSOR IDLE", " ".join(re.sub("<[^>]*>", " ", page).split()))  # neither without the other
        self.assertIn("Effective: hours times efficiency.", text)
        self.assertIn("Tensor: hours times the share of time that tensor pipes worked.", text)
        team = self.run_ok(lib.MUSTER, "reports", "show", "vision", env=env)
        self.assertIn("team vision", team)
        self.assertIsNone(re.search(r"(?m)^lee ", team))
        self.assertNotRegex(team, "(?m)^(Alerts|Events)$")
        status = self.run_ok(lib.MUSTER, "reports", "show", "all", env=env)
        self.assertIn("gpu info.", status)
        for argv, code, words in ((("show", "none"), 1, "no report 'none'"), (("show",), 2, "which?"), (("look",), 2, "not one of"), (("show", "look", "--format", "png", "-o", self.path("x")), 1, "has no chart")):
            status, _, err = self.run_any(lib.MUSTER, "reports", *argv, env=env)
            self.assertEqual(status, code, err)
            self.assertIn(words, err)
        # by hand: once more, whatever went out, and its own time stays as it is
        before = self.rows()["daily"]
        admin = {"MUSTER_TOKEN": self.token("admin", data=self.data), **env}
        self.run_ok(lib.MUSTER, "reports", "send", "daily", "--channel", "other", env=admin)
        lib.wait_until("it comes through other", lambda: text.splitlines()[1] in [m["text"].splitlines()[0] for m in self.told("other")])
        self.assertIn("all is on its way through prog", self.run_ok(lib.MUSTER, "reports", "send", "all", env=admin))
        lib.wait_until("it comes through prog", lambda: any("gpu info." in m["text"] for m in self.told()))
        self.assertEqual(self.rows()["daily"], before)
        self.assertEqual(lib.ask(self.hub.url + "/api/v1/reports/daily", method="POST", body=b"{}")[0], 401)
        self.assertIn("has no channel", self.run_any(lib.MUSTER, "reports", "send", "look", env=admin)[2])
        self.assertIn("no channel 'nowhere'", self.run_any(lib.MUSTER, "reports", "send", "look", "--channel", "nowhere", env=admin)[2])

    def test_mistakes_are_said_with_their_place_and_leave_what_is(self):
        self.begin()
        shown = self.run_ok(lib.MUSTER, "config", "show", "--config", self.path("muster.yaml"))
        self.assertIn("usage by team", shown)
        self.assertNotIn("/bin/sh", shown)
        self.assertEqual(self.run_any(lib.MUSTER, "config", "check", "-", stdin=shown.encode())[::2], (0, ""))
        good = CONFIG.format(zone=self.zone, dir=self.path(""))
        bad = good.replace("channel: [prog, other]", "channel: [prog, ops]")
        line = next(i for i, t in enumerate(bad.split("\n"), 1) if "ops" in t)
        self.write(bad)
        status, _, err = self.run_any(lib.MUSTER, "config", "check", self.path("muster.yaml"))
        self.assertNotEqual(status, 0)
        column = bad.split("\n")[line - 1].index("ops") + 1
        self.assertIn(f"muster.yaml:{line}:{column}: there is no channel 'ops' under channels", err)
        self.reload()
        self.hub.wait_line(r"no channel 'ops'")
        self.assertEqual(self.rows()["daily"]["channels"], ["prog", "other"])


OUT = """
name: Lab & Söhne
channels:
  mail: {{type: mail, url: "smtps://localhost:{smtp}", from: muster@example.org, to: [boss@example.org, ops@example.org], ca_file: {dir}/cert.pem}}
  bot: {{type: slack-bot, to: "#ops"}}
reports:
  daily: {{every: day, at: "08:00", channel: [mail, bot]}}
  all: {{every: day, at: "00:00", channel: [mail, bot], what: status}}
"""


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Out(Base):
    """By mail and through the bot, as those who get them see them."""
    def setUp(self):
        super().setUp()
        smtp_standin.certificate(self.path("cert.pem"), self.path("cert.key"))
        self.smtp = smtp_standin.Smtp(cert=(self.path("cert.pem"), self.path("cert.key")), implicit=True)
        self.addCleanup(self.smtp.close)
        self.slack = slack_standin.Slack(self.dir)
        self.addCleanup(self.slack.stop)
        self.write(OUT.format(dir=self.dir, smtp=self.smtp.port) + f"usage: {{zone: {self.zone}}}\n" + self.slack.section(self.dir))

    def send(self, name):
        env = {"MUSTER_HUB": self.hub.url, "MUSTER_TOKEN": self.token("admin", data=self.data)}
        self.run_ok(lib.MUSTER, "reports", "send", name, env=env)

    def test_mail_and_bot(self):
        self.past()
        self.begin()
        self.counted()
        self.send("daily")
        text = lib.ask(self.hub.url + "/api/v1/reports/daily")[2].decode().splitlines()
        self.assertFalse([line for line in text if "Effective:" in line or "Tensor:" in line])  # nothing of it was measured
        png = lib.ask(self.hub.url + "/api/v1/reports/daily?format=png")[2]
        lib.wait_until("the mail", lambda: self.smtp.mails)
        m = self.smtp.mails[0]
        self.assertEqual(m["to"], ["boss@example.org", "ops@example.org"])
        msg = m["msg"]
        self.assertEqual(str(msg["Subject"]), text[0])
        self.assertTrue(text[0].startswith("Lab & Söhne: usage by person, "))
        parts = {p.get_content_type(): p for p in msg.walk() if not p.is_multipart()}
        self.assertEqual(set(parts), {"text/plain", "text/html", "image/png"})
        plain, page, picture = (parts[k] for k in ("text/plain", "text/html", "image/png"))
        self.assertIn("\n".join(text[1:]), plain.get_content().replace("\r\n", "\n"))
        shown = re.findall(r'<img src="cid:([^"]+)"', page.get_content())
        self.assertEqual(["<" + c + ">" for c in shown], [picture["Content-ID"]])
        self.assertEqual(picture.get_content(), png)
        self.assertEqual(picture.get_content_disposition(), "inline")
        self.assertEqual(re.findall(r'(?:src|href)="(?!cid:)', page.get_content()), [])  # nothing is loaded
        self.assertIn("Lab &amp; Söhne", page.get_content())
        posts = lib.wait_until("the post and its file", lambda: len(self.slack.posts) >= 2 and list(self.slack.posts))
        self.assertEqual(posts[0]["channel"], "COPS")
        self.assertTrue(posts[0]["text"].startswith("Lab &amp; Söhne: usage by person, "), posts[0]["text"])
        self.assertIn("```\n" + text[1], posts[0]["text"])
        self.assertEqual(posts[1]["files"], [("usage.png", png)])
        self.send("all")
        lib.wait_until("the second mail", lambda: len(self.smtp.mails) == 2)
        parts = {p.get_content_type(): p for p in self.smtp.mails[1]["msg"].walk() if not p.is_multipart()}
        self.assertIn("gpu info.", parts["text/plain"].get_content())
        self.assertIn("<pre", parts["text/html"].get_content())
        posts = lib.wait_until("the status", lambda: len(self.slack.posts) >= 4 and list(self.slack.posts))
        (name, screen), = posts[3]["files"]
        self.assertEqual(name, "status.txt")
        self.assertIn(b"gpu info.", screen)
        self.assertEqual((self.smtp.faults, self.slack.faults), ([], []))


if __name__ == "__main__":
    lib.main()
