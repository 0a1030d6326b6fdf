"""Several real hubs on one real PostgreSQL server, for tests."""
import json
import time

import lib
import postgres
import sender


def now_ms():
    return int(time.time() * 1000)


HOUR = 3600 * 1000
BELIEVES = ["--rule-stale-after", "1h", "--rule-down-after", "1h", "--commit", "20ms"]  # nodes speak once, for as long as a test may take


class Cluster(lib.Case):
    def open(self, n, *flags):
        self.pg = postgres.Postgres(self)
        self.hubs = [self.hub(i, *flags) for i in range(n)]
        lib.wait_until("all are known to each other", lambda: all(self.metric(h, "muster_hub_hubs") == n for h in self.hubs))

    def hub(self, i, *flags):
        return self.start_hub(*BELIEVES, "--store", self.pg.url, "--store-password-file", self.pg.password, *flags, data=self.path(f"data{i}"))

    def token(self, role, *flags, data=None):
        return self.run_ok(lib.MUSTER, "token", "new", "--role", role, "--store", self.pg.url, "--store-password-file", self.pg.password, *flags).strip()

    def metric(self, h, name):
        for line in lib.ask(h.url + "/metrics")[2].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def leaders(self):
        return [h for h in self.hubs if h.alive() and self.metric(h, "muster_hub_leads") == 1]

    def leader(self):
        lib.wait_until("one leads", lambda: len(self.leaders()) == 1)
        return self.leaders()[0]

    def other(self, h):
        return next(x for x in self.hubs if x is not h and x.alive())

    def ask(self, h, method, path, token=None, body=None):
        head = {"Authorization": "Bearer " + token} if token else {}
        raw = None if body is None else json.dumps(body).encode()
        status, _, answer = lib.ask(h.url + path, method=method, body=raw, headers=head)
        return status, json.loads(answer)

    def node(self, name, gpus=1):
        """A node that every hub has heard of."""
        node = sender.Node(name)
        node.all = [node.uuid] + [f"GPU-{name}-{i}" for i in range(1, gpus)]
        token = node.token = self.token("agent")
        for h in self.hubs:
            raw = node.stream(node.facts(more=node.all[1:]), node.procs(), node.batch(util=0))
            status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
            self.assertEqual(status, 200, body)
        return node

    def bookings(self, h):
        status, got = self.ask(h, "GET", "/api/v1/bookings")
        self.assertEqual(status, 200, got)
        return sorted((r["id"], r["person"]) for r in got["rows"])

    def book(self, h, token, node, begin=HOUR, **more):
        at = now_ms() + begin
        return self.ask(h, "POST", "/api/v1/bookings", token, {"devices": node.all, "from": at, "until": at + HOUR, **more})
