#!/usr/bin/python3
"""`muster slack-socket` by itself against the stand-in: what the hub would say is said here."""
import http.client
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
import unittest
import urllib.request

import lib
import slack_standin


class Child:
    """The process, with its lines; what it wants it gets, unless told otherwise."""

    def __init__(self, slack, ca):
        self.slack, self.give, self.states, self.envelopes, self.lock = slack, True, [], [], threading.Lock()
        env = {"PATH": "/usr/bin:/bin", "no_proxy": "*", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        self.p = subprocess.Popen([lib.MUSTER, "slack-socket", "--ca-file", ca], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.wants = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def tell(self, **line):
        try:
            self.p.stdin.write(json.dumps(line).encode() + b"\n")
            self.p.stdin.flush()
        except OSError:
            pass

    def url(self):
        ask = urllib.request.Request(self.slack.url + "/api/apps.connections.open", data=b"", headers={"Authorization": "Bearer " + slack_standin.APP, "Content-Type": "application/x-www-form-urlencoded"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.slack.ca))).open(ask) as r:
            return json.load(r)["url"]

    def read(self):
        for raw in self.p.stdout:
            line = json.loads(raw)
            with self.lock:
                (self.envelopes if "envelope_id" in line else self.states).append(line)
            if line.get("socket") == "want":
                self.wants.append(time.monotonic())
                try:
                    if self.give:
                        self.tell(url=self.url())
                except (OSError, http.client.HTTPException):
                    self.tell(url="wss://127.0.0.1:1/link/?ticket=none")  # Slack is away: nobody is there, nor when it is back

    def said(self, state):
        with self.lock:
            return [s for s in self.states if s.get("socket") == state]

    def got(self, which):
        with self.lock:
            return [e for e in self.envelopes if e["envelope_id"] == which]

    def end(self):
        self.p.stdin.close()
        try:
            self.p.wait(lib.LIMIT_S)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.thread.join()
        self.p.stdout.close()
        return self.p.returncode


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Socket(lib.Case):
    def setUp(self):
        super().setUp()
        self.slack = slack_standin.Slack(self.dir)
        self.addCleanup(self.slack.stop)

    def child(self, ca=None):
        c = Child(self.slack, ca or self.slack.ca)
        self.addCleanup(c.end)
        return c

    def opened(self, c, n=1):
        lib.wait_until(f"{n} opened", lambda: len(c.said("open")) >= n)

    def test_an_envelope_is_acknowledged_when_the_hub_says_so_and_not_before(self):
        c = self.child()
        self.opened(c)
        first, second = self.slack.say("free"), self.slack.command("who")
        lib.wait_until("both came", lambda: c.got(first) and c.got(second))
        self.assertEqual(c.got(first)[0]["payload"]["event"]["text"], "free")
        self.assertFalse(self.slack.acked(first) or self.slack.acked(second))
        c.tell(ack=second)
        lib.wait_until("the second is acknowledged", lambda: self.slack.acked(second))
        lib.wait_until("the first comes again", lambda: len(c.got(first)) > 1)  # nobody acknowledged it
        self.assertFalse(self.slack.acked(first))
        c.tell(ack=first)
        lib.wait_until("the first is acknowledged", lambda: self.slack.acked(first))
        c.tell(ack="never-heard-of")
        self.assertEqual(c.end(), 0)  # its input ended
        self.assertEqual(self.slack.faults, [])

    def test_a_connection_that_will_go_is_replaced_before_it_goes(self):
        self.slack.grace = None  # it goes when the other is there, however long that takes
        c = self.child()
        self.opened(c)
        for n, end in enumerate((self.slack.warn, self.slack.refresh), 2):
            end()
            self.opened(c, n)
            self.slack.let_go()
            late = self.slack.say("after")
            lib.wait_until("it came", lambda which=late: c.got(which))
            c.tell(ack=late)
            lib.wait_until("and was acknowledged", lambda which=late: self.slack.acked(which))
            lib.wait_until("one is left", lambda: len(self.slack.live()) == 1 and sum(w[0] == "gone" for w in list(self.slack.log)) == n - 1)
        self.assertEqual(c.said("closed"), [])  # never was there none
        log = [w for w in self.slack.log if w[0] in ("link", "gone")]
        links = [w[1] for w in log if w[0] == "link"]
        for old, new in zip(links, links[1:]):
            self.assertLess(log.index(("link", new)), log.index(("gone", old)))
        self.assertEqual(self.slack.faults, [])

    def test_frames_in_pieces_bad_frames_and_long_ones_are_survived(self):
        self.slack.pieces = 7
        c = self.child()
        self.opened(c)
        whole = self.slack.say("x" * 3000)
        lib.wait_until("in pieces", lambda: c.got(whole))
        lib.wait_until("what came between them is answered", lambda: self.slack.pongs)
        for text in ("{", "[]", "7", "", "null", '{"type":"new"}', '{"envelope_id":7}', '{"envelope_id":"' + "e" * 500 + '"}', "x" * (1 << 20)):
            self.slack.text(text)
        self.slack.pieces = 1
        self.slack.live()[-1].binary(b"\x00\x01")
        after = self.slack.say("after all that")
        lib.wait_until("what comes then", lambda: c.got(after))
        self.assertEqual((len(c.said("open")), c.said("closed")), (1, []))
        for junk in (b"\xff\xff\xff\xff\xff\xff", b"\x81\xff" + b"\x7f" * 12, b"\x0b\x00" * 9):  # no frames of the protocol at all
            n = len(c.said("open"))
            link = self.slack.live()[-1]  # of which it may be gone by itself
            link.bytes(junk)
            link.end()
            self.opened(c, n + 1)
        again = self.slack.say("and after that")
        lib.wait_until("it came", lambda: c.got(again))
        self.assertEqual(self.slack.faults, [])

    def test_a_slack_that_does_not_answer_pings_is_left(self):
        c = self.child()
        self.opened(c)
        self.slack.mute = True
        lib.wait_until("it is gone", lambda: any(w[0] == "gone" for w in self.slack.log))
        self.slack.mute = False
        self.opened(c, 2)

    def test_one_that_goes_away_is_asked_again_later_and_later(self):
        c = self.child()
        self.opened(c)
        self.slack.stop()
        lib.wait_until("it tried", lambda: len(c.wants) >= 4)
        between = [b - a for a, b in zip(c.wants[1:], c.wants[2:])]
        self.assertGreaterEqual(min(between), 0.9)
        self.slack.start()
        self.opened(c, 2)
        self.assertEqual(self.slack.faults, [])

    def test_switched_off_is_the_end(self):
        c = self.child()
        self.opened(c)
        self.slack.disable()
        lib.wait_until("it says so", lambda: c.said("disabled"))
        self.assertEqual(c.p.wait(lib.LIMIT_S), 0)
        self.assertEqual(len(c.wants), 1)

    def test_a_certificate_that_is_not_signed_as_told_is_refused(self):
        other = self.path("other")
        os.mkdir(other)
        strange = slack_standin.Slack(other)
        self.addCleanup(strange.stop)
        c = self.child(ca=strange.ca)
        lib.wait_until("refused", lambda: c.said("closed"))
        self.assertEqual(c.said("open"), [])
        self.assertFalse(any(w[0] == "link" for w in self.slack.log))


if __name__ == "__main__":
    lib.main()
