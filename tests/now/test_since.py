#!/usr/bin/python3
"""One fact has one value: how long somebody has held a GPU, in `muster ls`, the state, people, and who was there; and whose stretch ends with their node."""
import json

import lib
from hubcase import HubCase
from sender import Node

START = 1700000000000  # of every process of sender.py


class Since(HubCase):
    def held(self, h, *flags):
        n = Node("n1")
        at = n.now()
        self.assertEqual(self.post(h, n.stream(n.facts(), n.procs((4711, "kim", "python", "train.py")), n.batch(at_ms=at)))[0], 200)
        return n, at

    def spans(self, h):
        return lib.ask_json(h.url + "/api/v1/processes?from=0&by=user")["spans"]

    def test_every_screen_says_the_same(self):
        h = self.hub()
        n, _ = self.held(h)
        device = self.state(h)["nodes"][0]["devices"][0]
        row = json.loads(self.run_ok(lib.MUSTER, "ls", "--hub", h.url, "--json"))[0]
        person = lib.ask_json(h.url + "/api/v1/people")[0]
        self.assertEqual(device["processes"][0]["since"], START)
        self.assertEqual({device["since"], row["since"], person["since"], person["devices"][0]["since"]}, {START})
        span, = lib.wait_until("the record", lambda: self.spans(h))
        self.assertEqual((span["user"], span["first"], span["ended"], span["there"]), ("kim", START, False, True))
        self.assertEqual(self.run_any(lib.MUSTER, "ls", "--hub", h.url, "since>1000d")[0], 0)
        self.assertIn(" d", self.run_ok(lib.MUSTER, "ls", "--hub", h.url, "-o", "since"))
        h.stop()
        h = self.hub()  # the same data folder
        device = self.state(h)["nodes"][0]["devices"][0]
        row = json.loads(self.run_ok(lib.MUSTER, "ls", "--hub", h.url, "--json"))[0]
        self.assertEqual((device["since"], row["since"]), (START, START))

    def test_a_stretch_ends_with_its_node(self):
        h = self.hub("--rule-down-after", "1s", "--rule-down-exact")
        _, at = self.held(h)
        lib.wait_until("it is down", lambda: self.state(h)["nodes"][0]["state"] == "down")
        span, = lib.wait_until("the record", lambda: self.spans(h))
        self.assertEqual((span["user"], span["ended"], span["there"]), ("kim", False, False))
        self.assertEqual(span["last"], at)
        self.assertEqual(self.spans(h)[0]["last"], at)


if __name__ == "__main__":
    lib.main()
