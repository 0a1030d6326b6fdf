"""What the tests of bookings share: a hub, nodes with GPUs, booking over HTTP."""
import csv
import io
import json
import time

import lib
import sender

HOUR = 3600 * 1000
ROBERT, IMG = "Robert'); DROP TABLE", "<img onerror>"


def now():
    return int(time.time() * 1000)


class BookCase(lib.Case):
    def open(self, *flags):
        """A hub that believes its nodes, which speak once, for as long as a test may take."""
        self.hub = self.start_hub("--rule-stale-after", "1h", "--rule-down-after", "1h", *flags)
        return self.hub

    def ask(self, method, path, token=None, body=None, **headers):
        if token:
            headers["Authorization"] = "Bearer " + token
        raw = None if body is None else json.dumps(body).encode()
        status, head, answer = lib.ask(self.hub.url + path, method=method, body=raw, headers={k.replace("_", "-"): v for k, v in headers.items()})
        if head.get("content-type", "").startswith("text/csv"):
            return status, list(csv.DictReader(io.StringIO(answer.decode())))
        return status, json.loads(answer)

    def node(self, name, gpus=1, busy=None):
        node, token = sender.Node(name), self.token("agent")
        node.all = [node.uuid] + [f"GPU-{name}-{i}" for i in range(1, gpus)]
        procs = [(100, busy, "train", "train")] if busy else []
        raw = node.stream(node.facts(more=node.all[1:]), node.procs(*procs), node.batch(util=5000 if busy else 0))
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)
        return node

    def book(self, token=None, **body):
        return self.ask("POST", "/api/v1/bookings", token, body)

    def booked(self, token=None, **body):
        status, row = self.book(token, **body)
        self.assertEqual(status, 201, row)
        return row

    def rows(self, query="", token=None):
        status, got = self.ask("GET", "/api/v1/bookings?" + query, token)
        self.assertEqual(status, 200, got)
        return got["rows"]

    def events(self):
        return [(e["kind"], e["code"], e["text"]) for e in self.ask("GET", "/api/v1/events?limit=50")[1] if e["kind"] in ("booked", "rebooked", "released", "expired")]
