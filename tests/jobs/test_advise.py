#!/usr/bin/python3
"""What would give back most GPU-hours: runs of known work become lines, in hours and money, by person and team."""
import json
import time

import answers
import lib
import sender

CONFIG = "teams:\n  vision: [kim]\n  speech: [lee]\nusage:\n  price: [Test=3.60]\n"
NUMBERS = {"power": 8, "sm": 31, "tensor": 33, "dram": 34, "active": 36, "fp32": 51, "work": 54, "top": 58}
STARVED = {"power": 500_000, "sm": 5300, "tensor": 4000, "dram": 2000, "active": 5900, "fp32": 100, "work": 4000, "top": 1000}
FP32 = {"power": 600_000, "sm": 9500, "tensor": 300, "dram": 600, "active": 9990, "fp32": 6600, "work": 6600}
GOOD = {"power": 690_000, "sm": 9400, "tensor": 5600, "dram": 3100, "active": 9990, "fp32": 400, "work": 5600}


class Advise(lib.Case):
    def run_of(self, name, person, minutes, values, then=(), **label):
        """A node whose GPU did this an hour ago, labelled as somebody's run. then: (minutes, values) of what it did after that."""
        node, began = sender.Node(name), (int(time.time()) // 60 - 60) * 60000
        frames = [node.facts(), node.procs()]
        did = [{NUMBERS[k]: v for k, v in x.items()} for n, x in ((minutes, values), *then) for _ in range(n * 12)]
        minutes = len(did) // 12
        frames += [node.batch(at_ms=began + 5000 * i, mem=60 << 30, more=more) for i, more in enumerate(did)]
        auth = {"Authorization": "Bearer " + self.token("agent"), "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers=auth)
        self.assertEqual(status, 200, body)
        body = json.dumps({"name": "train-" + name, "kind": "custom", "node": name, "devices": [node.uuid], "start": began, "end": began + minutes * 60_000, "person": person, **label}).encode()
        status, _, answer = lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=body, headers={"Authorization": "Bearer " + self.token("admin")})
        self.assertEqual(status, 201, answer)
        return json.loads(answer)["id"]

    def ask(self, query=""):
        return lib.ask_json(f"{self.hub.url}/api/v1/advise{query}")

    def ready(self, runs, query=""):
        """The answer once that many runs are in it."""
        return lib.wait_until("the hub has read them", lambda: (got := self.ask(query)).get("ready") and got["looked"] == runs and got)

    def say(self, *words):
        return self.run_ok(lib.MUSTER, "advise", *words, "--hub", self.hub.url)

    def test_what_would_give_back_most(self):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        self.hub = self.start_hub("--config", self.path("muster.yaml"))
        self.assertEqual(self.say(), "no run in the last 7 d\n")
        self.assertEqual(self.ask()["lines"], [])
        starved, fp32 = self.run_of("dgx1", "kim", 30, STARVED), self.run_of("dgx2", "lee", 50, FP32)
        self.run_of("dgx3", "kim", 20, GOOD)
        got = self.ready(3)
        self.assertEqual([(x["person"], x["rule"], x["run"], x["runs"]) for x in got["lines"]], [("lee", "fp32", fp32, 1), ("kim", "starved", starved, 1)])
        lee, kim = got["lines"]
        self.assertAlmostEqual(lee["gpu_hours"], 50 / 60 * 0.75, delta=0.02)
        self.assertAlmostEqual(lee["cost"], 50 / 60 * 0.75 * 3.6, delta=0.06)
        self.assertAlmostEqual(kim["gpu_hours"], 30 / 60 * 0.41, delta=0.02)
        self.assertAlmostEqual(got["gpu_hours"], 100 / 60, delta=0.02)
        self.assertAlmostEqual(got["effective_hours"], (30 * 0.4 + 50 * 0.66 + 20 * 0.56) / 60, delta=0.05)
        self.assertEqual((got["runs"], got["looked"], got["currency"]), (3, 3, "EUR"))
        with self.subTest("a request reads nothing"):
            self.assertEqual({self.ask(query)["to"] for query in ("", "?person=kim", "?person=lee", "?team=vision", "?team=speech")} - {got["to"]}, set())
        for query, who in (("?person=kim", ["kim"]), ("?team=speech", ["lee"]), ("?team=nobody", []), ("?last=2h", ["lee", "kim"])):
            self.assertEqual([x["person"] for x in self.ask(query)["lines"]], who, query)
        self.assertEqual(lib.ask(self.hub.url + "/api/v1/advise?last=soon")[0], 400)
        with self.subTest("in a terminal"):
            out = self.say().splitlines()
            self.assertIn(len(out), (4, 5), out)  # one line more while a part of the usage is not counted
            self.assertRegex(out[0], r"^3 runs in the last 7 d, 1\.7 GPU-hours: \d+ % of the \d\.\d held, 0\.9 of them effective")
            self.assertRegex(out[-2], rf"^1\. lee, 3[78] GPU-minutes, 2\.\d\d EUR, 1 run, {fp32} train-dgx2: computes in fp32, tensor cores idle \(.*\): use bf16")
            self.assertIn("kim", self.say("--team", "vision"))
            self.assertNotIn("lee", self.say("--team", "vision"))
            self.assertRegex(self.say("--run", starved), r"\n1\. 1[23] GPU-minutes, 0\.7\d EUR: waits for the host \(")
            self.assertEqual(len(json.loads(self.say("--json", "--person", "lee"))["lines"]), 1)
            status, _, err = self.run_any(lib.MUSTER, "advise", "--run", "zz", "--hub", self.hub.url)
            self.assertEqual((status, "is not a run ID" in err), (2, True), err)

    def test_it_is_the_same_after_a_restart_and_of_a_known_share_of_usage(self):
        self.hub = self.start_hub(data=self.path("data"))
        self.run_of("dgx1", "kim", 30, STARVED)
        self.run_of("dgx2", "lee", 20, GOOD)
        counted = lambda: lib.ask_json(f"{self.hub.url}/api/v1/usage?last=7d")["total"]["held"]
        without_time = lambda a: {k: v for k, v in a.items() if k not in ("from", "to")}
        lib.wait_until("usage is counted and the share is known", lambda: counted() and (self.ask().get("usage_hours") or 0) * 3600 == round(counted() / 36) * 36)
        before = self.ready(2)
        self.assertAlmostEqual(before["share"], min(1, before["gpu_hours"] / before["usage_hours"]), delta=0.01)
        self.assertEqual(self.hub.stop(), 0)
        self.hub = self.start_hub(data=self.path("data"))
        self.assertEqual(without_time(self.ready(2)), without_time(before))

    def test_what_goes_on_after_a_break_is_so_now(self):
        self.hub = self.start_hub()

        def said(run):
            return [(a["rule"], a["now"]) for a in lib.ask_json(f"{self.hub.url}/api/v1/jobs/{run}/verdict")["advice"]]

        self.assertEqual(said(self.run_of("one1", "kim", 5, STARVED, [(10, GOOD), (5, STARVED)])), [("starved", True)])
        self.assertEqual(said(self.run_of("one2", "kim", 5, STARVED, [(10, GOOD), (5, STARVED), (2, GOOD)])), [("starved", False)])
        slow = {**GOOD, "power": GOOD["power"] * 7 // 10}
        for number, last, now in ((7, 6, True), (8, 4, False)):  # minutes that it is slow at the end, of 6
            did = [(7, slow), (8, GOOD), (last, slow), (6 - last, GOOD)]
            run = [self.run_of(f"s{number}{i}", "lee", 15, GOOD, did if i == 0 else [(21, GOOD)], kind="slurm", attributes={"job": number}) for i in range(3)][0]
            self.assertEqual(said(run), [("straggler", now)])

    def test_what_was_looked_at_is_said(self):
        answer = {"runs": 20, "looked": 20, "sampled": 0, "gpu_hours": 412, "looked_hours": 412, "effective_hours": 131.4, "currency": None, "lines": []}

        hub = answers.Answers(self, lambda path, query: (200, answer))
        for change, words in (({}, "412.0 GPU-hours, 131.4 of them effective"),
                              ({"sampled": 2}, "412.0 GPU-hours, 131.4 of them effective; for 2 large runs only a sample of GPUs was analysed"),
                              ({"sampled": 1}, "412.0 GPU-hours, 131.4 of them effective; for 1 large run only a sample of GPUs was analysed"),
                              ({"sampled": 0, "looked": 9, "looked_hours": 380}, "412.0 GPU-hours; analysed: the largest 9, 380.0 GPU-hours, 131.4 of them effective")):
            answer.update(change)
            out = self.run_ok(lib.MUSTER, "advise", "--hub", hub.url)
            self.assertEqual(out, f"20 runs in the last 7 d, {words}\nNo savings found.\n")


if __name__ == "__main__":
    lib.main()
