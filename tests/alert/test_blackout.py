#!/usr/bin/python3
"""Five hundred nodes go down at once and return: one message each, and the hub answers all the while."""
import json
import threading

import hook_standin
import lib

NODES = 500
CONFIG = """
rule: {{stale_after: 15s, down_after: 20s}}
alerts:
  node-down: {{clear: 5s}}
channels:
  ops: {{type: webhook, url: "http://127.0.0.1:{port}/ops", severity: critical}}
"""


class Blackout(lib.Case):
    def setUp(self):
        super().setUp()
        self.standin = hook_standin.started(self)
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.format(port=self.standin.server_port))
        port = lib.free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.hub = self.start(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--listen", f"127.0.0.1:{port}", "--data", self.path("data"))
        self.hub.wait_line(r"http://127")
        self.secret("token", self.token("enroll"))
        self.over, self.statuses = threading.Event(), []
        thread = threading.Thread(target=self.go_on_asking, daemon=True)
        thread.start()
        self.addCleanup(lambda: (self.over.set(), thread.join()))

    def go_on_asking(self):
        """Requests of screens, sequentially; a missing response counts as a failure, too."""
        paths = ("/healthz", "/api/v1/alerts", "/api/v1/events?limit=10", "/api/v1/state")
        while not self.over.wait(0.1):
            for path in paths:
                try:
                    self.statuses.append((path, lib.ask(self.url + path)[0]))
                except OSError as e:
                    self.statuses.append((path, repr(e)))

    def simulate(self):
        return self.start(lib.MUSTER, "simulate", "--hub", self.url, "--token-file", self.path("token"), "--nodes", str(NODES), "--actors", "5", "--gpus", "1", "--tick", "2s", "--interval", "4s", "--quiet")

    def up(self):
        return sum(n["state"] == "up" for n in lib.ask_json(self.url + "/api/v1/state")["nodes"])

    def told(self):
        return [json.loads(g["body"]) for g in self.standin.of("/ops")]

    def test_one_message_when_they_go_and_one_when_they_return(self):
        sim = self.simulate()
        lib.wait_until("all are there", lambda: self.up() == NODES, limit=180, pause=1)
        self.assertEqual(self.told(), [])
        sim.kill9()
        lib.wait_until("it is told", self.told, limit=180, pause=0.5)
        lib.wait_until("all are down", lambda: lib.ask_json(self.url + "/api/v1/alerts")["firing"] == NODES, limit=60, pause=1)
        self.simulate()
        lib.wait_until("nothing fires", lambda: lib.ask_json(self.url + "/api/v1/alerts")["firing"] == 0, limit=240, pause=1)
        lib.wait_until("the end is told", lambda: len(self.told()) > 1, limit=240, pause=0.5)
        lib.wait_until("nothing waits", lambda: lib.ask_json(self.url + "/api/v1/alerts")["channels"][0]["waiting"] == 0)
        self.over.set()
        down, back = self.told()
        self.assertEqual((down["kind"], back["kind"]), ("fired", "resolved"))
        names = ", ".join(f"sim{i + 1}" for i in range(10))
        self.assertEqual(down["title"], f"[critical] node-down: {NODES} nodes: {names} and {NODES - 10} more")
        self.assertRegex(back["title"], rf"^\[resolved\] node-down: {NODES} nodes, after up to [^:]*: {names} and {NODES - 10} more$")
        self.assertGreater(len(self.statuses), 20)
        self.assertEqual({s for s in self.statuses if s[1] != 200}, set(), "the hub answers all the while")


if __name__ == "__main__":
    lib.main()
