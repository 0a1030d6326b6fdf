#!/usr/bin/python3
"""Alerts told by mail, against a server that checks TLS, lines and headers, and that is rude in every way."""
import os
import shutil
import time
import unittest
import unittest.mock

import lib
import smtp_standin
import telling

CONFIG = """
rule: {{stale_after: 8s, down_after: 10s}}
alerts:
  node-down: {{clear: 0s}}
  gpu-idle: off
  rules:
    - {{name: a-hält, when: "user:kim", clear: 0s, channel: [{channels}], text: "{{place}} is <{{user}}>", advice: ".a line with a dot: ä"}}
    - {{name: held-b, when: "user:kim", clear: 0s, channel: [{channels}]}}
channels:
{section}
"""
LINE = "  {name}: {{type: mail, url: \"{url}\", from: muster@example.org, to: {to}, severity: critical, {more}}}\n"


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Mail(telling.Telling):
    SECRETS = ("hidden-password-1", "aGlkZGVuLXBhc3N3b3Jk")

    def setUp(self):
        super().setUp()
        self.cert, self.other = [(self.path(n + ".pem"), self.path(n + ".key")) for n in ("cert", "other")]
        smtp_standin.certificate(*self.cert)
        smtp_standin.certificate(*self.other, "elsewhere.example.org")
        self.servers, self.section = {}, ""

    def server(self, name, to="[ops@example.org]", more=None, **how):
        """A server and the channel that leads to it."""
        how = {"cert": self.cert, "logins": {"muster": "hidden-password-1"}, **how}
        s = self.servers[name] = smtp_standin.Smtp(**how)
        self.addCleanup(s.close)
        login = f"user: muster, secret_file: {self.path('password')}, " if s.logins else ""
        url = f"smtp{'s' if s.implicit else ''}://localhost:{s.port}"
        self.section += LINE.format(name=name, url=url, to=to, more=login + (f"ca_file: {self.cert[0]}" if more is None else more))
        return s

    def go(self, **files):
        self.set_up(CONFIG.format(channels=", ".join(self.servers), section=self.section), **{"password": "hidden-password-1\n", **files})
        self.user = "kim"

    def fails(self, name, *words):
        """The channel says why it fails, and nothing got through."""
        lib.wait_until(f"{name} fails for {words}", lambda: (error := self.channel(name).get("error")) and all(w in error for w in words))
        self.assertEqual(self.servers[name].mails, [])

    def tearDown(self):
        for name, s in self.servers.items():
            self.assertEqual(s.faults, [], name)
        super().tearDown()

    def test_mails_go_out_after_the_program_was_replaced(self):
        start, program = self.server("start"), shutil.copy(lib.MUSTER, self.path("muster"))
        with unittest.mock.patch.object(lib, "MUSTER", program):
            self.go()
        os.unlink(program)  # as a newer package does it
        lib.wait_until("both came", lambda: len(start.mails) == 2)

    def test_a_mail_is_as_mails_should_be(self):
        start, implicit = self.server("start"), self.server("implicit", implicit=True, to="[a@example.org, b@example.org]")
        self.go()
        for s in (start, implicit):
            lib.wait_until("both came", lambda: len(s.mails) == 2)
        for m in (*start.mails, *implicit.mails):
            self.assertRegex(m["tls"], "TLS")
            self.assertEqual((m["user"], m["from"]), ("muster", "muster@example.org"))
        self.assertEqual(implicit.mails[0]["to"], ["a@example.org", "b@example.org"])
        msg = start.mails[0]["msg"]
        self.assertEqual(str(msg["Subject"]), "[warning] a-hält: n0:0 is <kim>")
        self.assertEqual((msg["From"].addresses[0].addr_spec, msg["To"].addresses[0].addr_spec, len(implicit.mails[0]["msg"]["To"].addresses)), ("muster@example.org", "ops@example.org", 2))
        self.assertEqual(msg.get_content_type(), "multipart/alternative")
        plain, html = msg.iter_parts()
        self.assertIn("\n.a line with a dot: ä\n", plain.get_content().replace("\r\n", "\n"))
        self.assertIn("n0:0 is &lt;kim&gt;<", html.get_content())
        for forbidden in ("<script", "http://", "https://", "<img", "<link", "@import", "url("):
            self.assertNotIn(forbidden, html.get_content())
        self.quiet.add("n5")
        lib.wait_until("a node is down", lambda: len(start.mails) == 3)
        self.quiet.clear()
        lib.wait_until("it is over", lambda: len(start.mails) == 4)
        down, over = (m["msg"] for m in start.mails[2:])
        self.assertEqual((down["Importance"], over["Importance"], down["X-Muster-Rule"]), ("high", None, "node-down"))
        self.assertTrue(str(over["Subject"]).startswith("[resolved] node-down: n5, after "))
        self.assertEqual(over["In-Reply-To"], down["Message-ID"], "what is over is an answer to what was told")
        self.assertEqual(len({m["msg"]["Message-ID"] for m in start.mails}), 4)
        self.no_secrets()

    def test_without_tls_or_with_the_wrong_certificate_nothing_is_sent(self):
        self.server("bare", starttls=False)
        self.server("other", cert=self.other, more=f"ca_file: {self.other[0]}")
        self.server("unknown", more="severity: critical")
        self.server("unknown2", implicit=True, more="severity: critical")
        self.server("wrong", logins={"muster": "another"})
        plain = self.server("plain", logins={}, starttls=False, more="tls: off")
        self.go()
        lib.wait_until("without TLS where that is said", lambda: len(plain.mails) == 2)
        self.fails("bare", "STARTTLS")
        self.fails("other", "localhost")
        self.fails("unknown", "certificate")
        self.fails("unknown2", "certificate")
        self.fails("wrong", "the login with 535")
        status, _, err = self.run_any(lib.MUSTER, "alerts", "send", "wrong", "--hub", self.url, "--token", self.token("admin"))
        self.assertNotEqual(status, 0)
        self.assertIn("wrong fails: the server answers to the login with 535\n", err)
        self.assertIn("wrong", self.run_any(lib.MUSTER, "alerts", "channels", "--hub", self.url, "--token", self.token("admin"))[1])
        self.assertNotIn("mail", self.servers["bare"].said, "no word of it without TLS")
        self.assertNotIn("auth", self.servers["bare"].said)
        self.assertEqual({m["tls"] for m in plain.mails}, {None})
        self.no_secrets()
        self.servers["wrong"].logins["muster"] = "hidden-password-1"
        lib.wait_until("a password that is mended is enough", lambda: len(self.servers["wrong"].mails) == 2)

    def test_later_is_not_never(self):
        later = self.server("later")
        later.ways = {"end": [(451, "busy")], "greet": [(421, "full")], "mail": [(450, "not now")]}
        never = self.server("never")
        never.ways = {"end": [(554, "this looks like spam")]}
        cut, hang = self.server("cut"), self.server("hang")
        cut.ways = {"end": ["cut"], "data": ["cut"]}
        hang.ways = {"quit": ["hang", "hang"], "end": ["hang"]}
        self.go()
        lib.wait_until("the second one", lambda: len(never.mails) == 1)
        self.assertIn("held-b", str(never.mails[0]["msg"]["Subject"]))
        self.hub.wait_line("the server answers to the mail with 554: this looks like spam")
        self.hub.wait_line("is given up, it was refused")
        for s in (later, cut, hang):
            lib.wait_until("all came", lambda: len(s.mails) == 2)
            self.assertEqual(["a-hält" in str(m["msg"]["Subject"]) for m in s.mails], [True, False], "in order")
        for words in ("later fails: the server answers to the greeting with 421: full", "with 450: not now", "with 451: busy", "later works again", "hang fails: "):
            self.hub.wait_line(words)
        self.assertNotIn("no data for", self.hub.text, "the hub listens all the time")

    def test_one_bad_receiver_among_several_is_named_and_a_late_one_gets_it_later(self):
        s = self.server("several", to="[a@example.org, bad@example.org, grey@example.org]")
        s.ways = {"rcpt:bad@example.org": [(550, "no such user")] * 9, "rcpt:grey@example.org": [(451, "greylisted")]}
        all_bad = self.server("all", to="[bad@example.org]")
        all_bad.ways = {"rcpt:bad@example.org": [(550, "no such user")] * 9}
        self.go()
        lib.wait_until("the good one has both", lambda: len(s.of("a@example.org")) == 2)
        error = lib.wait_until("the bad one is named", lambda: self.channel("several").get("error"))
        self.assertIn("bad@example.org: 550 no such user", error)
        lib.wait_until("the late one alone waits", lambda: self.channel("several")["waiting"] == 1)
        lib.wait_until("and that is noted", lambda: self.on_disk("SELECT count(*) FROM notes WHERE kind = 3 AND instr(hex(bytes), hex('grey@example.org')) > 0"))
        lib.wait_until("the one that is sent is off the disk", lambda: self.on_disk("SELECT count(*) FROM notes WHERE kind = 3") == 1)
        self.hub.kill9()
        self.begin()
        lib.wait_until("the late one has both", lambda: len(s.of("grey@example.org")) >= 2)
        time.sleep(2)
        held = [m for m in s.mails if "n0:0" in str(m["msg"]["Subject"])]
        self.assertEqual([sum(x in m["to"] for m in held) for x in ("a@example.org", "bad@example.org", "grey@example.org")], [2, 0, 2], "nobody has one twice")
        self.assertSoon(lambda: (all_bad.mails, self.channel("all")["waiting"]), ([], 0))


if __name__ == "__main__":
    lib.main()
