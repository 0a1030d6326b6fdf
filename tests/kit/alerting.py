#!/usr/bin/python3
"""A hub with rules of alerts, and an admin who asks it."""
import json

import lib
import speaking


class Watched(speaking.Speaking):
    """config: muster.yaml, with {dir} where the test's folder is wanted."""
    config, names = "", ("a1", "a2")

    def setUp(self):
        super().setUp()
        self.write("muster.yaml", self.config.replace("{dir}", self.dir))
        self.speak()
        self.admin = self.token("admin")

    def ask(self, method, path, body=None):
        status, _, raw = lib.ask(self.url + path, method=method, headers={"Authorization": "Bearer " + self.admin}, body=None if body is None else json.dumps(body).encode())
        return status, json.loads(raw)

    def rows(self, query=""):
        return self.ask("GET", "/api/v1/alerts" + query)[1]["rows"]

    def firing(self):
        return sorted((r["rule"], r["place"], r["id"]) for r in self.rows())

    def cli(self, *argv):
        return self.run_any(lib.MUSTER, "alerts", *argv, env={"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.admin})
