#!/usr/bin/python3
"""Messages through kills: the hub is killed again and again while alerts fire, Slack and the mail server go away and come back, and everything arrives, in order.

    MUSTER_TEST_KILLS=100 tests/notify/test_restarts.py     as ./test --long has it

GPUs are taken one after the other; each is seen by every rule, and each rule is told through every channel. A GPU that was taken stays so: nothing may be missing in the end. A message comes a second time only
where a kill, or Slack's or the mail server's end, fell between its being sent and that being noted: such copies are counted, and there are no more of them than there were ends.
"""
import os
import random
import re
import time

import lib
import slack_standin
import smtp_standin
import telling

KILLS = int(os.environ.get("MUSTER_TEST_KILLS", "20"))
RULES = [f"r{i}" for i in range(8)]
AT_ONCE = 8  # so many GPUs at most are told of in one message, which names ten
CHANNELS = ("hook", "bot", "mail")
SECRETS = (slack_standin.BOT, slack_standin.APP, slack_standin.SIGNING, "hidden-password", "T0/hidden-hook")

CONFIG = """
alerts:
  rules:
{rules}
channels:
  hook: {{type: slack, url_file: {dir}/hook.url, ca_file: {ca}, severity: critical}}
  bot: {{type: slack-bot, severity: critical}}
  mail: {{type: mail, url: "smtp://localhost:{smtp}", ca_file: {cert}, user: muster, secret_file: {dir}/password, from: muster@example.org, to: ops@example.org, severity: critical}}
{slack}
"""


class Restarts(telling.Telling):
    names = [f"n{i}" for i in range(40)]
    SECRETS = SECRETS

    def setUp(self):
        super().setUp()
        self.taken = 0
        self.slack = slack_standin.Slack(self.path(""))
        self.slack.per_second = True
        self.cert = (self.path("mail.pem"), self.path("mail.key"))
        smtp_standin.certificate(*self.cert)
        self.smtp = self.mail_server(lib.free_port())
        self.addCleanup(lambda: (self.slack.stop(), self.smtp.close()))
        rules = "\n".join(f'    - {{name: {r}, when: "user:kim", channel: [{", ".join(CHANNELS)}], text: "{{place}} is taken"}}' for r in RULES)
        self.set_up(CONFIG.format(rules=rules, dir=self.path(""), ca=self.slack.ca, cert=self.cert[0], smtp=self.smtp.port, slack=self.slack.section(self.path(""))),
                    **{"hook.url": self.slack.url + "/services/T0/hidden-hook\n", "password": "hidden-password\n"})

    def mail_server(self, port):
        return smtp_standin.Smtp(cert=self.cert, logins={"muster": "hidden-password"}, port=port)

    def user_on(self, name):
        return "kim" if self.names.index(name) < self.taken else None

    def came(self):
        """By channel, the text of each message in the order they came."""
        with self.smtp.lock:
            mails = [f"{m['msg']['Subject']}\n{next(m['msg'].iter_parts()).get_content()}" for m in self.smtp.mails]
        with self.slack.lock:
            hooks, posts = [h["text"] for h in self.slack.hooks], [p["text"] for p in self.slack.posts]
        return {"hook": hooks, "bot": posts, "mail": mails}

    def seen(self, texts):
        """By rule, the GPUs in the order they were first told of."""
        found = {r: [] for r in RULES}
        for text in texts:
            rule = None
            for line in text.split("\n"):
                rule = next((r for r in RULES if re.search(rf"\b{r}: ", line)), rule)
                for n in re.findall(r"\bn(\d+):0\b", line):
                    if rule and int(n) not in found[rule]:
                        found[rule].append(int(n))
        return found

    def away(self):
        """Slack and the mail server end, with whatever they were doing, and come back with what they had."""
        self.slack.stop()
        self.smtp.close()
        time.sleep(random.uniform(0, 1))
        self.slack.start()
        before, self.smtp = self.smtp, self.mail_server(self.smtp.port)
        self.smtp.mails, self.smtp.faults = before.mails, before.faults

    def test_every_message_arrives_in_order_through_kills(self):
        ends = 0
        for kill in range(KILLS):
            told = min(len(v) for t in self.came().values() for v in self.seen(t).values())
            self.taken = min(self.taken + 1, told + AT_ONCE, len(self.names))
            time.sleep(random.choice((random.uniform(0, 2), random.uniform(5, 9))))  # one look at everything, or two
            if kill % 3 == 2:
                self.away()
                ends += 1
            self.hub.kill9()
            ends += 1
            self.begin()
        during = sum(map(len, self.came().values()))
        self.assertGreater(during, len(RULES), "messages were on their way while it was killed")

        def missing():
            return {(c, r): rest for c, t in self.came().items() for r, v in self.seen(t).items() if (rest := sorted(set(range(self.taken)) - set(v)))}
        try:
            lib.wait_until("everything was told", lambda: not missing(), limit=600, pause=0.5)
        except AssertionError as late:
            raise AssertionError(f"{late}; missing are {missing()}") from late
        lib.wait_until("nothing waits", lambda: all(self.channel(c)["waiting"] == 0 for c in CHANNELS))
        copies = {}
        for channel, texts in self.came().items():
            for rule, order in self.seen(texts).items():
                self.assertEqual(order, sorted(order), f"{channel}, {rule}: in order")
            copies[channel] = len(texts) - len(set(texts))
            self.assertLessEqual(copies[channel], ends, channel)
        self.assertEqual((self.slack.faults, self.smtp.faults), ([], []))
        self.no_secrets()
        print(f"restarts: {KILLS} of the hub, {ends - KILLS} of Slack and the mail server; {during} messages meanwhile, in all {({c: len(t) for c, t in self.came().items()})}, second copies {copies}", flush=True)


if __name__ == "__main__":
    lib.main()
