#!/usr/bin/python3
"""The queue of `muster wait` with several hubs: whatever happens to the leader and to PostgreSQL, no GPU is "yours" for two persons at the same time."""
import collections
import http.client
import json
import os
import random
import signal
import threading
import time

import lib
from clustercase import Cluster, now_ms

GRANT = "UPDATE holds SET changes = changes + 1, devices = '{}', places = '{}', from_ms = {}, until_ms = {} WHERE id = {}"
RELEASE = "UPDATE holds SET changes = changes + 1, released_ms = {} WHERE id = {}"
WISH = {"count": 1, "free_for": 0, "need": 0}


class Queue(Cluster):
    def as_hub(self, *texts):
        """Writes as the leader would in a commit whose answer is lost: other hubs are notified, the leader is not."""
        own = self.pg.sql("SELECT holder FROM lease WHERE name = 'leader'")
        self.pg.sql("; ".join([f"SET application_name = 'muster-hub-{own}'", *texts]))

    def post(self, path, person, body):
        status, row = self.ask(self.hubs[0], "POST", path, self.admin, {"person": person, **body})
        self.assertIn(status, (200, 201), row)
        return row

    def state(self, wait):
        status, row = self.ask(self.hubs[0], "POST", f"/api/v1/waits/{wait}?person=kim", self.admin, {})
        self.assertEqual(status, 200, row)
        return row["state"], row.get("where")

    def test_a_grant_whose_commit_was_not_answered_counts(self):
        self.open(1)
        self.leader()
        self.admin, node = self.token("admin"), self.node("dgx1", gpus=2)
        first, second = [self.post("/api/v1/bookings", "pat", {"devices": [uuid], "for": "2h"})["id"] for uuid in node.all]
        wait = self.post("/api/v1/waits", "kim", WISH)["id"]
        self.assertEqual(self.state(wait), ("waiting", None))
        at = now_ms()
        self.as_hub(RELEASE.format(at, second), GRANT.format(node.all[1], "dgx1:1", at, at + 120000, wait))
        status, row = self.ask(self.hubs[0], "DELETE", f"/api/v1/bookings/{first}?person=pat", self.admin)
        self.assertEqual(status, 200, row)  # the hub knows of this one alone, and gives it to kim
        lib.wait_until("it is kim's turn", lambda: self.state(wait)[0] != "waiting")
        self.assertEqual(self.state(wait), ("yours", "dgx1:1"))
        self.assertEqual(self.pg.sql(f"SELECT devices FROM holds WHERE id = {wait}"), node.all[1])
        self.as_hub(RELEASE.format(now_ms(), wait))
        self.assertEqual(self.state(wait), ("left", "dgx1:1"))  # by the store, not by what the hub remembers


    @lib.long
    def test_a_change_that_was_stored_late_is_found(self):
        self.open(1)
        self.leader()
        self.admin = self.token("admin")
        self.node("dgx1")
        wait = self.post("/api/v1/waits", "kim", {"hold": "1h", **WISH})["id"]
        lib.wait_until("it is kim's turn", lambda: self.state(wait)[0] == "yours")
        self.as_hub(RELEASE.format(now_ms(), wait))
        self.assertSoon(lambda: self.ask(self.hubs[0], "GET", "/api/v1/waits", self.admin)[1]["rows"], [])


class Person(threading.Thread):
    """Waits, has a GPU for a moment, gives it back, waits again; asks any hub that answers."""
    over = False

    def __init__(self, case, name, seed):
        super().__init__(daemon=True)
        self.case, self.name, self.rng, self.had = case, name, random.Random(seed), []
        self.start()

    def ask(self, method, path, body=None):
        """(200, row), or (status, None); 0 without an answer."""
        h = self.rng.choice(self.case.hubs)
        try:
            head = {"Authorization": "Bearer " + self.case.admin}
            status, _, raw = lib.ask(h.url + path, method=method, body=None if body is None else json.dumps(body), headers=head, limit=5)
        except (OSError, http.client.HTTPException):
            return 0, None
        return status, json.loads(raw) if status in (200, 201) else None

    def wait(self):
        _, row = self.ask("POST", "/api/v1/waits", {"person": self.name, "hold": "10s", "timeout": "5m", **WISH})
        while row and not self.over:
            if row["state"] == "yours":
                return row
            if row["state"] != "waiting":
                return None
            time.sleep(0.5)
            status, again = self.ask("POST", f"/api/v1/waits/{row['id']}?person={self.name}", {})
            if status == 404:
                return None
            row = again or row
        return None

    def run(self):
        while not self.over:
            row = self.wait()
            if not row:
                time.sleep(0.5)
                continue
            begin = now_ms()
            time.sleep(self.rng.uniform(0, 1))
            for d in row["devices"]:
                self.had.append((d["device"], begin, min(now_ms(), row["until"]), self.name, row["id"]))
            for _ in range(5):
                if self.ask("DELETE", f"/api/v1/waits/{row['id']}?person={self.name}")[0] in (200, 404):
                    break


@lib.long
class Many(Queue):
    test_a_grant_whose_commit_was_not_answered_counts = test_a_change_that_was_stored_late_is_found = None
    GRANTS, GPUS, PERSONS = 2000, 32, 40

    def steal_lead(self):
        """Ends the lease on the server; its holder believes for two seconds that it still leads."""
        self.pg.sql("UPDATE lease SET until = clock_timestamp() - interval '1 s' WHERE name = 'leader'")
        time.sleep(3)

    def stop_server(self):
        backends = [int(pid) for pid in self.pg.sql("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()").split()]
        for pid in [self.pg.process.pid, *backends]:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(10)
        for pid in [self.pg.process.pid, *backends]:
            os.kill(pid, signal.SIGCONT)
        time.sleep(3)

    def end_leader(self, kill):
        for i, h in enumerate(self.hubs):
            if h in self.leaders():
                h.kill9() if kill else h.stop()
                self.hubs[i] = self.hub(i)
                return

    def test_no_gpu_is_given_to_two_while_the_lead_changes(self):
        self.open(3)
        self.admin = self.token("admin")
        for i in range(self.GPUS):
            self.node(f"dgx{i}")
        rng = random.Random(os.environ.get("MUSTER_TEST_SEED", "1"))
        persons = [Person(self, f"p{i}", rng.random()) for i in range(self.PERSONS)]
        kinds = [self.steal_lead] * 6 + [self.stop_server, lambda: self.end_leader(True), lambda: self.end_leader(False)]
        count = lambda: sum(len(p.had) for p in persons)
        lib.wait_until("there were grants enough", lambda: rng.choice(kinds)() or count() >= self.GRANTS, 1800)
        for p in persons:
            p.over = True
        for p in persons:
            p.join()
        of = collections.defaultdict(list)
        for device, *rest in sorted(had for p in persons for had in p.had):
            of[device].append(rest)
        both = [(device, a, b) for device, v in of.items() for a, b in zip(v, v[1:]) if b[0] < a[1]]
        self.assertEqual(both, [])
        epoch = int(self.pg.sql("SELECT epoch FROM lease WHERE name = 'leader'"))
        self.assertGreater(epoch, 10)
        self.assertNotIn("deadlock detected", self.pg.log())


if __name__ == "__main__":
    lib.main()
