#!/usr/bin/python3
"""Runs that nobody labelled: a hub makes them of the processes that agents tell of."""
import json
import time

import lib
import sender

FLAGS = ("--runs-after", "1s", "--runs-gap", "3s")


class Runs(lib.Case):
    def setUp(self):
        super().setUp()
        self.tokens = {}

    def post(self, node, *frames):
        token = self.tokens.get(node.key) or self.tokens.setdefault(node.key, self.token("agent"))
        auth = {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers=auth)
        self.assertEqual(status, 200, body)

    def send(self, node, *procs):
        """One tick with these processes on its GPU."""
        node.tick_ms = max(getattr(node, "tick_ms", 0) + 1, node.now())
        self.post(node, node.facts(), node.procs(*procs), node.batch(at_ms=node.tick_ms))

    def jobs(self, query="kind=auto"):
        return lib.ask_json(self.hub.url + "/api/v1/jobs?" + query)["jobs"]

    def until(self, what, node, *procs):
        """Sends until there is something to see, and returns that."""
        for _ in range(300):
            self.send(node, *procs)
            got = what()
            if got:
                return got
            time.sleep(0.1)
        self.fail(f"nothing came of {procs}: {self.jobs()}")

    def test_a_persons_processes_are_a_run_from_start_to_end(self):
        self.hub = self.start_hub(*FLAGS)
        node = sender.Node("dgx1")
        kim = (41, "kim", "python", "python train.py --secret")
        run = self.until(self.jobs, node, kim)[0]
        self.assertEqual((run["kind"], run["person"], run["node"], run["devices"], run["pids"], run["state"], run["name"]),
                         ("auto", "kim", "dgx1", [node.uuid], [41], "running", "python"))
        self.assertEqual(run["attributes"], {})  # the command line is its person's
        self.hub.stop()  # the same one goes on after a restart
        self.hub = self.start_hub(*FLAGS)
        self.send(node, kim)
        ended = self.until(lambda: [j for j in self.jobs() if j["end"]], node)
        self.assertEqual([j["id"] for j in ended], [run["id"]])
        self.assertEqual(len(self.jobs()), 1)
        self.assertGreater(ended[0]["end"], ended[0]["start"])
        status, _, _ = lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=json.dumps({"name": "x", "kind": "auto"}).encode(),
                               headers={"Authorization": "Bearer " + self.token("admin")})
        self.assertEqual(status, 400)

    def test_what_somebody_labelled_is_no_run_beside_it(self):
        self.hub = self.start_hub(*FLAGS)
        node = sender.Node("dgx1")
        self.send(node)
        admin = {"Authorization": "Bearer " + self.token("admin")}
        body = json.dumps({"name": "label", "kind": "record", "node": "dgx1", "person": "kim", "pids": [41]}).encode()
        status, _, answer = lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=body, headers=admin)
        self.assertEqual(status, 201, answer)
        lee = self.until(self.jobs, node, (41, "kim", "python", ""), (42, "lee", "python", ""))
        self.assertEqual([j["person"] for j in lee], ["lee"])
        late = json.dumps({"name": "late", "kind": "dask", "node": "dgx1", "person": "lee", "devices": [node.uuid], "start": lee[0]["start"]}).encode()
        label = json.loads(lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=late, headers=admin)[2])
        self.until(lambda: not self.jobs(), node)  # it ends, and is the label's
        self.assertEqual(lib.ask_json(f"{self.hub.url}/api/v1/jobs/{lee[0]['id']}")["id"], label["id"])

    def test_it_can_be_turned_off(self):
        self.hub = self.start_hub("--runs-after", "0")
        node = sender.Node("dgx1")
        self.send(node, (41, "kim", "python", ""))
        self.assertEqual(self.jobs(), [])
        self.assertIn("muster_hub_runs 0", lib.ask(self.hub.url + "/metrics")[2].decode())


if __name__ == "__main__":
    lib.main()
