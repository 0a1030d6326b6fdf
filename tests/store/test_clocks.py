#!/usr/bin/python3
"""Clocks that are wrong: the hub's own, set while it runs, and those of agents. Detected, shown, corrected; nothing is lost, doubled, or dropped for its age."""
import collections
import os
import struct
import time

import lib
import sample_feed
import sender

SHIM = os.path.join(lib.BIN, "libclock-shim.so")
HOUR, DAY = 3600000, 86400000
YEAR = 365 * DAY
Then = collections.namedtuple("Then", "name_ acked")


def total(url, name, lo, hi, step):
    got = lib.ask_json(f"{url}/api/v1/history?device={name}:0&metric=util&from={lo}&to={hi}&step={step}ms&agg=count,sum")
    by = {s["agg"]: [v or 0 for v in s["v"]] for s in got["series"]}
    return sum(by.get("count", [])), round(sum(by.get("sum", [])) * 10000)


@lib.plain  # sanitizers want to be loaded first
class HubClock(lib.Case):
    def set_clock(self, ms):
        with open(self.path("offset"), "r+b") as f:
            f.write(struct.pack("<q", ms))

    def notice(self, url):
        return lib.ask_json(url + "/api/v1/state").get("notice", "")

    def setUp(self):
        super().setUp()
        with open(self.path("offset"), "wb") as f:
            f.write(struct.pack("<q", 0))
        self.enroll = self.token("enroll")
        self.hub = self.start_hub("--rotate", "1s", "--keep-raw", "30h", "--commit", "20ms", env={"LD_PRELOAD": SHIM, "CLOCK_SHIM": self.path("offset")})

    def test_a_hubs_clock_that_jumps_for_a_moment_costs_nothing(self):
        now = int(time.time() * 1000) // 60000 * 60000
        feeders = []
        for i in range(3):
            f = sample_feed.Feeder(self.hub.port, self.enroll, f"n{i}", now - 20 * HOUR, 20000, seed=i + 1)
            f.start()
            feeders.append(f)
            self.addCleanup(f._stop_now.set)
        lib.wait_until("samples are acknowledged", lambda: all(f.sent > 60 for f in feeders))
        before = [Then(f.name_, dict(f.acked)) for f in feeders]
        for ms, word in ((YEAR, "ahead"), (-20 * YEAR, "back"), (10 * YEAR, "ahead"), (HOUR, "ahead"), (-HOUR, "back")):
            if ms == -HOUR:  # what comes then is put an hour back, which is to lie behind what is compared below
                lib.wait_until("an hour and a half went by", lambda: all(f.sent * 20000 > 2 * HOUR for f in feeders))
            self.set_clock(ms)
            lib.wait_until("the hub sees it", lambda: f"clock jumped {word}" in self.notice(self.hub.url))
            self.assertIn("muster_hub_clock_doubted 1", lib.ask(self.hub.url + "/metrics")[2].decode())
            sent = [f.sent for f in feeders]
            lib.wait_until("it goes on taking samples, and compacts", lambda: all(f.sent > s + 30 for f, s in zip(feeders, sent)))
            node = lib.ask_json(self.hub.url + "/api/v1/state?node=n0")["nodes"][0]
            self.assertAlmostEqual(node["clock_off_ms"], -ms, delta=60000)  # to the hub it is the agent's that is wrong
            self.set_clock(0)
            lib.wait_until("it sees that it is over", lambda: not self.notice(self.hub.url))
        for f in feeders:
            f.stop()
        # all that was there before is still there to the sample: nothing was dropped for its age
        self.assertEqual([w for t in before for w in sample_feed.wrong_values(self.hub.url, Then(t.name_, {k: v for k, v in t.acked.items() if k < min(t.acked) + HOUR // 2}), 20000)], [])
        for _ in range(2):
            for f in feeders:  # and every value counts once, wherever it was put while the clock was wrong
                lo = now - 21 * YEAR
                lo -= lo % (10 * DAY)
                self.assertEqual(total(self.hub.url, f.name_, lo, now + 11 * YEAR, 10 * DAY), (len(f.acked), sum(f.acked.values())))
            self.assertEqual(self.hub.stop(), 0, self.hub.text)
            self.hub = self.start_hub("--rotate", "1s", "--keep-raw", "30h", env={"LD_PRELOAD": SHIM, "CLOCK_SHIM": self.path("offset")})

    def test_a_hub_that_starts_with_a_wrong_clock_drops_nothing(self):
        now = int(time.time() * 1000) // 60000 * 60000
        f = sample_feed.Feeder(self.hub.port, self.enroll, "n0", now - 20 * HOUR, 60000, seed=1)
        f.start()
        lib.wait_until("samples are acknowledged", lambda: f.sent > 60)
        f.stop()
        self.assertEqual(self.hub.stop(), 0, self.hub.text)
        for ms in (YEAR, -30 * YEAR, 0):
            self.set_clock(ms)
            hub = self.start_hub("--rotate", "1s", "--keep-raw", "30h", env={"LD_PRELOAD": SHIM, "CLOCK_SHIM": self.path("offset")})
            time.sleep(2)  # a few rounds of compaction and retention
            if ms < 0:
                self.assertIn("clock jumped back", lib.wait_until("it says so", lambda: self.notice(hub.url)))
            self.assertEqual(sample_feed.wrong_values(hub.url, f, 20000), [])
            self.assertEqual(hub.stop(), 0, hub.text)


class AgentClocks(lib.Case):
    def setUp(self):
        super().setUp()
        self.enroll = self.token("enroll")
        self.hub = self.start_hub()

    def post(self, node, *frames):
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={"Authorization": "Bearer " + getattr(node, "token", self.enroll)})
        self.assertEqual(status, 200, body)
        for line in body.decode().splitlines():
            if line.startswith("token "):
                node.token = line.split()[1]
        self.assertIn(f"stored {node.run:016x} {node.number}".encode(), body)

    def count_near_now(self, name):
        now = int(time.time() * 1000)
        return total(self.hub.url, name, now - 120000, now + 120000, 1000)

    def test_an_agents_wrong_clock_is_shown_and_corrected(self):
        cases = {"hours-behind": -5 * HOUR, "hours-ahead": 7 * HOUR, "in-1970": 1000 - int(time.time() * 1000), "in-2100": 74 * YEAR, "a-year-back": -YEAR}
        for i, (name, off) in enumerate(cases.items()):
            n = sender.Node(name)
            n.offset_ms = off
            for k in range(3):
                self.post(n, n.facts(), n.batch(util=100 + i))
            node = lib.ask_json(f"{self.hub.url}/api/v1/state?node={name}")["nodes"][0]
            self.assertAlmostEqual(node["clock_off_ms"], off, delta=5000)
            self.assertLess(node["age_ms"], 60000)
            self.assertLess(node["devices"][0]["age_ms"], 60000)
            self.assertEqual(self.count_near_now(name), (3, 3 * (100 + i)), name)  # by the hub's clock
        text = lib.ask(f"{self.hub.url}/?term=true&detail=true")[2].decode()
        self.assertEqual(text.count("clock off by"), len(cases))
        self.assertEqual(lib.ask(self.hub.url + "/healthz")[2], b"ok\n")

    def test_a_clock_that_drifts_or_was_set_between_sample_and_sending(self):
        n = sender.Node("drifts")
        for k in range(20):
            n.offset_ms = k * 20000
            self.post(n, n.facts(), n.batch(util=7))
        self.assertEqual(self.count_near_now("drifts"), (20, 140))
        n = sender.Node("booted")  # sampled in 1970 and in 2100, sent with a clock that is right by now
        for at in (5000, 74 * YEAR + int(time.time() * 1000), int(time.time() * 1000)):
            self.post(n, n.facts(), n.batch(at_ms=at, util=9))
        self.assertEqual(self.count_near_now("booted"), (3, 27))
        node = lib.ask_json(f"{self.hub.url}/api/v1/state?node=booted")["nodes"][0]
        self.assertNotIn("clock_off_ms", node)
        self.assertLess(node["devices"][0]["age_ms"], 60000)


if __name__ == "__main__":
    lib.main()
