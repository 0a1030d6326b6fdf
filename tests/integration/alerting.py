#!/usr/bin/python3
"""A hub with rules of alerts and a few nodes that speak twice a second, for tests."""
import json
import threading

import lib
import sender


class Watched(lib.Case):
    """config: muster.yaml, with {dir} where the test's folder is wanted; names: the nodes."""
    config, names = "", ("a1", "a2")

    def setUp(self):
        super().setUp()
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(self.config.replace("{dir}", self.dir))
        self.port, self.on, self.over = lib.free_port(), {}, threading.Event()
        self.begin()
        self.nodes = {n: (sender.Node(n), self.token("agent")) for n in self.names}
        self.admin = self.token("admin")
        self.quiet, self.more = set(), {}
        self.prepare()
        self.say()
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()
        self.addCleanup(lambda: (self.over.set(), self.thread.join()))

    def prepare(self):
        """Before the nodes are heard of: on (who is where), more (uuids of further GPUs), quiet (who is silent)."""

    def begin(self):
        self.url = f"http://127.0.0.1:{self.port}"
        self.hub = self.start(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--listen", f"127.0.0.1:{self.port}", "--data", self.path("data"))
        self.hub.wait_line(r"http://127")

    def say(self):
        for name, (node, token) in list(self.nodes.items()):
            if name in self.quiet:
                continue
            user = self.on.get(name)
            procs = node.procs((100, user, "train", "train")) if user else node.procs()
            raw = node.stream(node.facts(more=self.more.get(name, ())), procs, node.batch(util=5000 if user else 0, mem=8 << 30 if user else 0))
            lib.ask(self.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})

    def go_on(self):
        while not self.over.wait(0.5):
            try:
                self.say()
            except OSError:
                pass  # the hub is away

    def ask(self, method, path, body=None):
        status, _, raw = lib.ask(self.url + path, method=method, headers={"Authorization": "Bearer " + self.admin}, body=None if body is None else json.dumps(body).encode())
        return status, json.loads(raw)

    def rows(self, query=""):
        return self.ask("GET", "/api/v1/alerts" + query)[1]["rows"]

    def firing(self):
        return sorted((r["rule"], r["place"], r["id"]) for r in self.rows())

    def cli(self, *argv):
        return self.run_any(lib.MUSTER, "alerts", *argv, env={"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.admin})
