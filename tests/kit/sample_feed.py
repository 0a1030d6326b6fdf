"""Agents in a test that know every value they sent: each node posts one sample per batch at a moment of its own, and again until it is acknowledged.

What must be in the store afterwards is then known exactly, without any code of the hub: (node, moment) -> value, once.
"""
import http.client
import random
import re
import threading
import time

import lib
import sender


class Feeder(threading.Thread):
    """One node: samples at start_ms, start_ms + step_ms, ... until told to stop; what was acknowledged is in .acked {at_ms: value}."""

    def __init__(self, port, token, name, start_ms, step_ms, seed=1, pause=0.0):
        super().__init__(daemon=True)
        self.port, self.token, self.name_, self.start_ms, self.step_ms, self.pause = port, token, name, start_ms, step_ms, pause
        self.node, self.rng = sender.Node(name, node_id=bytes([seed]) * 16), random.Random(seed)
        self.acked, self.sent, self.refused, self.statuses = {}, 0, 0, set()
        self._stop_now, self.failure = threading.Event(), None

    def post(self, body):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=lib.LIMIT_S)
        try:
            conn.request("POST", "/api/v1/batches", body=body, headers={"Authorization": f"Bearer {self.token}"})
            r = conn.getresponse()
            return r.status, r.read().decode("utf-8", "replace")
        finally:
            conn.close()

    def _deliver(self, frames, key):
        """Until the hub names the key as stored. A hub that is away, full or busy is asked again, as an agent does."""
        with_facts = self.sent == 0
        while True:
            body = self.node.stream(*([self.node.facts()] if with_facts else []), frames)
            try:
                status, text = self.post(body)
            except (OSError, http.client.HTTPException):
                status, text = 0, ""
            self.statuses.add(status)
            if status == 200:
                m = re.search(r"^token (\S+)", text, re.M)
                if m:
                    self.token = m.group(1)
                if re.search(r"^need ", text, re.M):
                    with_facts = True
                    continue
                if re.search(rf"^stored {self.node.run:016x} {key}$", text, re.M):
                    return
            elif status not in (0, 409, 429, 503, 507):
                raise AssertionError(f"{self.name_}: HTTP {status}: {text}")
            self.refused += 1
            time.sleep(0.05)

    def run(self):
        try:
            self.node.facts()
            while not self._stop_now.is_set():
                at, value = self.start_ms + self.sent * self.step_ms, self.rng.randrange(0, 10001)
                if at > time.time() * 1000:  # a hub does not believe in the future
                    time.sleep(0.05)
                    continue
                frame = self.node.batch(at_ms=at, util=value)
                self._deliver(frame, self.node.number)
                self.acked[at] = value
                self.sent += 1
                if self.pause:
                    time.sleep(self.pause)
        except Exception as e:  # told to the test by check()
            self.failure = e

    def stop(self):
        self._stop_now.set()
        self.join()
        if self.failure:
            raise self.failure


def wrong_values(url, feeder, step, from_ms=None):
    """Compare history over HTTP with what was acknowledged: a list of differences, [] when every value is there once. step in ms."""
    out, moments = [], sorted(t for t in feeder.acked if from_ms is None or t >= from_ms)
    if not moments:
        return ["nothing was acknowledged"]
    span = step * 5000
    lo = moments[0] - moments[0] % span
    while lo <= moments[-1]:
        hi = min(lo + span, moments[-1] + step)
        got = lib.ask_json(f"{url}/api/v1/history?device={feeder.name_}:0&metric=util&from={lo}&to={hi}&step={step}ms&agg=count,min,max")
        by = {s["agg"]: s["v"] for s in got["series"]}
        want = {}
        for t in moments:
            if lo <= t < hi:
                want.setdefault((t - got["from"]) // step, []).append(feeder.acked[t])
        n = max((len(v) for v in by.values()), default=0)
        for i in range(max(n, max(want, default=-1) + 1)):
            values = want.get(i, [])
            have = tuple(by[a][i] if a in by and i < len(by[a]) else None for a in ("count", "min", "max"))
            if not values and have[0] in (None, 0):
                continue
            if not values or have[0] != len(values) or abs(have[1] * 10000 - min(values)) > 0.5 or abs(have[2] * 10000 - max(values)) > 0.5:
                if from_ms is None or got["from"] + i * step >= from_ms:
                    out.append((feeder.name_, got["tier"], got["from"] + i * step, have, values))
        if got.get("damaged"):
            out.append((feeder.name_, "damaged", got["damaged"]))
        lo += span
    return out
