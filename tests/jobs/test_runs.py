#!/usr/bin/python3
"""Runs that nobody labelled: a hub makes them of the processes that agents tell of."""
import html
import json
import os
import re
import signal
import subprocess
import time

import agentcase
import lib
import sender
import terminal

FLAGS = ("--runs-after", "1s", "--runs-gap", "3s")


class Runs(lib.Case):
    def setUp(self):
        super().setUp()
        self.tokens = {}

    def post(self, node, *frames, **hello):
        token = self.tokens.get(node.key) or self.tokens.setdefault(node.key, self.token("agent"))
        auth = {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames, **hello), headers=auth)
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

    def past(self, node, began, minutes, step_ms=5000, **values):
        """A past of its own: a sample every 5 s, or as often as that."""
        numbers = {"power": 8, "energy": 10, "clock": 11, "clock_max": 13, "sm": 31, "tensor": 33, "dram": 34, "active": 36, "fp32": 51, "work": 54, "flops": 55, "cpu": 57, "top": 58}
        frames = [node.facts(note=getattr(node, "note", "")), node.procs(*getattr(node, "who", ()))]
        for i in range(minutes * 60000 // step_ms):
            more = {numbers[k]: v for k, v in values.items()}
            if "energy" in values:
                more[10] = values["energy"] * (i + 1)
            frames.append(node.batch(at_ms=began + step_ms * i, more=more))
        self.post(node, *frames)

    def verdict(self, job):
        return lib.ask_json(f"{self.hub.url}/api/v1/jobs/{job['id']}/verdict")

    def label(self, **body):
        status, _, answer = lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=json.dumps(body).encode(),
                                    headers={"Authorization": "Bearer " + self.token("admin")})
        self.assertEqual(status, 201, answer)
        return json.loads(answer)

    def test_the_verdict_of_a_run(self):
        self.hub = self.start_hub("--runs-after", "0", "--usage-price", "Test=3.60")  # none but those that are labelled
        node, began = sender.Node("dgx1"), (int(time.time()) // 60 - 60) * 60000
        node.who = (41, "kim", "python", "python train.py"), (42, "lee", "other", "")
        self.past(node, began, 10, power=500_000, energy=2_500_000, clock=1_485_000_000, clock_max=1_980_000_000, sm=5300, tensor=4000, dram=2000,
                  active=5900, fp32=100, work=4000, flops=400_000, cpu=1500, top=1000)
        job = self.label(name="train", kind="custom", node="dgx1", devices=[node.uuid], start=began, end=began + 600_000, person="kim")
        v = self.verdict(job)
        self.assertEqual(v["sentence"], "1 x Test for 10 m: active 59 %, waited 41 %, 30 % of the tensor peak; 83 Wh, 0.60 EUR")
        self.assertEqual((v["active"], v["waited"], v["tensor_peak"], v["work"], v["flops"], v["host_cpu"], v["cost"], v["measured"], v["why"]),
                         (0.59, 0.41, 0.3, 0.4, 400, 1.5, 0.6, True, None))
        self.assertEqual((v["memory_peak"], v["memory_total"]), (1 << 30, 80 << 30))
        self.assertEqual([a["rule"] for a in v["advice"]], ["starved"])
        self.assertIn("the busiest 1.0: it is what limits", v["advice"][0]["evidence"])
        self.assertEqual(v["advice"][0]["devices"], [node.uuid])
        self.assertEqual(v["job"]["id"], job["id"])
        with self.subTest("in a terminal"):
            out = self.run_ok(lib.MUSTER, "run", job["id"], "--hub", self.hub.url)
            self.assertTrue(out.startswith(v["sentence"] + "\ntrain, custom, kim, "), out)
            for words in ("dgx1:0\n", "\nstarved: waits for the host, for ", "try more data-loader workers", "memory: peak 1.0 GiB of 80.0 GiB on a GPU, 79.0 GiB unused",
                          "host: 1.5 cores per GPU, busiest process 1.0 on average, 1.5 at most", f"{self.hub.url}/run/{job['id']}\n"):
                self.assertIn(words, out)
            row = out.split("GPU     MODEL")[1].splitlines()[1]
            self.assertEqual(" ".join(row.split()), "dgx1:0 NVIDIA Test 59 % 30 % 40 % 400 50 % 1.0 GiB 1.5 500 W 83 Wh")
            self.assertEqual(json.loads(self.run_ok(lib.MUSTER, "run", job["id"], "--json", "--hub", self.hub.url))["active"], 0.59)
        with self.subTest("its processes, and in a terminal its charts"):
            said = [" ".join(line.split()) for line in out.splitlines()]
            at = said.index("PROGRAM GPU FROM TIME MEMORY")
            self.assertRegex(said[at + 1], r"^python dgx1:0 20\d\d-\d\d-\d\d \d\d:\d\d (10 m|9 m \d+ s)")
            self.assertEqual(said[at + 2], "")  # lee's is none of it
            self.assertNotIn("┤", out)
            tty = terminal.Terminal(self, 100, 80)
            tty.run(f"{lib.MUSTER} run {job['id']} --hub {self.hub.url}")
            screen = tty.wait(rf"/run/{job['id']}$")
            for words in ("\ndgx1:0 active\n", "\ndgx1:0 efficiency\n", "\ndgx1:0 memory used\n", "\ndgx1:0 power\n", " least 59 %, mean 59 %, most 59 %\n", "\nPROGRAM  GPU "):
                self.assertIn(words, screen)
            moments = re.findall(r"(?m)^ +(\d\d:\d\d:\d\d) +(\d\d:\d\d:\d\d)$", screen)
            self.assertEqual(set(moments), {tuple(time.strftime("%H:%M:%S", time.localtime(ms / 1000)) for ms in (began, began + 600_000))})  # clipped to the run
        with self.subTest("as a picture"):
            url = self.hub.url + f"/api/v1/jobs/{job['id']}/verdict?format="
            status, head, png = lib.ask(url + "png")
            self.assertEqual((status, head["content-type"], png[:4]), (200, "image/png", b"\x89PNG"))
            svg = lib.ask(url + "svg")[2].decode()
            words = [html.unescape(t) for t in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
            self.assertIn("train (custom)", words)
            self.assertIn(v["sentence"], words)
            self.assertTrue(any(w.startswith("kim, 20") and w.endswith(", dgx1:0") for w in words), words)
            self.assertTrue(any(w.startswith("waits for the host (active 59 %") for w in words), words)
            for label in ("active", "efficiency", "power"):
                self.assertTrue(any(w.startswith(label) for w in words), (label, words))
            self.assertEqual(lib.ask(url + "gif")[0], 400)
            self.run_ok(lib.MUSTER, "run", job["id"], "-o", self.path("run.png"), "--hub", self.hub.url)
            with open(self.path("run.png"), "rb") as f:
                self.assertEqual(f.read(), png)
            self.assertIn(".png, .svg, .pdf or .jpg", self.run_any(lib.MUSTER, "run", job["id"], "-o", "x.txt", "--hub", self.hub.url)[2])
        with self.subTest("beside another"):
            shorter = self.label(name="short", kind="custom", node="dgx1", devices=[node.uuid], start=began, end=began + 300_000, person="kim")
            out = [" ".join(line.split()) for line in self.run_ok(lib.MUSTER, "compare", job["id"], shorter["id"], "--hub", self.hub.url).splitlines()]
            for line in ("time 10 m 5 m -50 %", "active 59 % 59 % +0 points", "cost 0.60 EUR 0.30 EUR -50 %", "both: starved: waits for the host"):
                self.assertIn(line, out)
        with self.subTest("what is no run"):
            for words, said in ((["run", "zz"], (2, "is not a run ID")), (["run"], (2, "which run?")), (["compare", job["id"]], (2, "which two runs?")), (["run", "0000000000000001"], (1, "there is no job"))):
                status, _, err = self.run_any(lib.MUSTER, *words, "--hub", self.hub.url)
                self.assertEqual((status, said[1] in err), (said[0], True), err)
        with self.subTest("in a list"):
            self.assertEqual(self.run_ok(lib.MUSTER, "runs", "--hub", self.hub.url), self.run_ok(lib.MUSTER, "jobs", "--hub", self.hub.url))
        self.assertEqual([d["gpu"] for d in v["devices"]], [0])

    def test_what_is_not_measured_is_said_and_never_zero(self):
        self.hub = self.start_hub(*FLAGS)
        node, began = sender.Node("old1"), (int(time.time()) // 60 - 60) * 60000
        node.note = "efficiency is not measured: GPUs before Hopper do not tell it; utilisation is not efficiency"
        self.past(node, began, 3, power=300_000)
        job = self.label(name="train", kind="custom", node="old1", devices=[node.uuid], start=began, end=began + 180_000)
        v = self.verdict(job)
        self.assertEqual((v["active"], v["waited"], v["tensor_peak"], v["work"], v["cost"], v["measured"], v["why"], v["advice"], v["rules"]),
                         (None, None, None, None, None, False, "efficiency is not measured: GPUs before Hopper do not tell it", [], False))
        self.assertEqual(v["sentence"], "1 x Test for 3 m: efficiency is not measured: GPUs before Hopper do not tell it, utilisation 50 % (not efficiency); 15 Wh")
        nothing = self.verdict(self.label(name="x", kind="custom", node="old1", start=began))
        self.assertEqual((nothing["devices"], nothing["why"], nothing["energy"]), ([], "no GPU of it is known", None))
        earlier = self.verdict(self.label(name="y", kind="custom", node="old1", devices=[node.uuid], start=began - 600_000, end=began - 300_000))
        self.assertEqual((earlier["why"], earlier["active"], earlier["memory_peak"]), ("nothing is stored of that time", None, None))
        self.assertEqual(lib.ask(self.hub.url + "/api/v1/jobs/0000000000000001/verdict")[0], 404)

    def test_time_without_data_is_neither_active_nor_billed(self):
        self.hub = self.start_hub("--runs-after", "0", "--usage-price", "Test=3.60")
        node, began = sender.Node("dgx1"), (int(time.time()) // 60 - 60) * 60000
        self.past(node, began, 10, power=500_000, sm=9000, active=9900, work=4000)
        job = self.label(name="train", kind="custom", node="dgx1", devices=[node.uuid], start=began, person="kim")

        self.post(node, state=2, why="the driver does not answer")
        lib.wait_until("the driver hangs", lambda: lib.ask_json(f"{self.hub.url}/api/v1/state?node=dgx1")["nodes"][0]["state"] == "hung")
        v = self.verdict(job)
        self.assertRegex(v["sentence"], r"^1 x Test for 9 m 55 s: no data since 20\d\d-\d\d-\d\d \d\d:\d\d \w+: the driver of dgx1 is not responding; 83 Wh, 0\.(59|60) EUR$")
        self.assertEqual((v["seconds"], v["gpu_seconds"], v["cost"], v["rules"], v["advice"], v["job"]["state"]), (595, 595, 0.595, False, [], "unfinished"))
        self.assertEqual(v["no_data"], {"since": began + 595_000, "gpus": 1, "node": "dgx1", "state": "hung"})
        self.assertGreater(v["unknown_seconds"], 2900)
        out = self.run_ok(lib.MUSTER, "run", job["id"], "--hub", self.hub.url)
        self.assertTrue(out.startswith(v["sentence"] + "\n"), out)
        self.assertNotIn("No problems found", out)
        (listed,) = self.jobs("kind=custom")
        self.assertEqual((listed["state"], listed["end"]), ("unfinished", None))
        self.assertEqual(listed["data_to"], began + 595_000)
        self.assertRegex(self.run_ok(lib.MUSTER, "runs", "--hub", self.hub.url).splitlines()[1], r" 9 m 55 s +unfinished ")
        now = node.now()
        self.post(node, node.facts(), node.procs(), *(node.batch(at_ms=now - 600_000 + 5000 * i, more={8: 500_000, 31: 9000, 36: 9900, 54: 4000}) for i in range(121)))
        v = self.verdict(job)
        self.assertRegex(v["sentence"], r"^1 x Test for (19 m 5\d s|20 m|20 m \d+ s), and 4\d m( \d+ s)? without data: active 99 %")
        self.assertEqual((v["no_data"], v["job"]["state"], v["rules"]), (None, "running", True))
        self.assertAlmostEqual(v["gpu_seconds"], 1200, delta=20)
        self.assertAlmostEqual(v["cost"], 1.2, delta=0.02)

    def test_unknown_time_begins_at_the_newest_sample(self):
        """Of samples that are not at the ends of bins, which are of 5 s and of a minute."""
        self.hub = self.start_hub("--runs-after", "0", "--usage-price", "Test=3.60")
        for name, step_ms, off_ms in (("fine", 5000, 0), ("rare", 60000, 1000)):  # a bin of a minute has the time of its newest sample in 64 parts
            with self.subTest(name):
                node, began = sender.Node(name), (int(time.time()) // 60 - 60) * 60000 + 12_300
                self.past(node, began, 30, step_ms=step_ms, power=500_000, sm=9000, active=9900, work=4000)
                newest = began + 30 * 60000 - step_ms
                job = self.label(name="train", kind="custom", node=name, devices=[node.uuid], start=began, person="kim")
                self.post(node, state=2, why="the driver does not answer")
                lib.wait_until("the driver hangs", lambda: lib.ask_json(f"{self.hub.url}/api/v1/state?node={name}")["nodes"][0]["state"] == "hung")
                v = self.verdict(job)
                self.assertEqual(v["job"]["data_to"], newest)
                for got in (v["data_to"], v["no_data"]["since"], v["devices"][0]["data_to"], began + v["seconds"] * 1000, began + v["gpu_seconds"] * 1000):
                    self.assertAlmostEqual(got, newest, delta=off_ms)
                self.assertAlmostEqual(v["cost"], (newest - began) / 1000 * 0.001, delta=0.001)

    def test_only_the_verdict_of_a_run_has_the_numbers_of_a_finding(self):
        """The live rules begin with the hub, the verdict with the run: what they count differs, so screens show the verdict's or none."""
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write("alerts:\n  run-starved: {for: 0s}\n  node-new: off\n")
        self.hub = self.start_hub("--runs-after", "0", "--rule-stale-after", "10m", "--config", self.path("muster.yaml"))
        node = sender.Node("dgx1")
        began = node.now() - 300_000
        node.who = (41, "kim", "python", "python train.py"),
        self.past(node, began, 5, sm=5300, tensor=4000, dram=2000, active=5900, fp32=100, work=4000, cpu=1500, top=1000)
        job = self.label(name="train", kind="custom", node="dgx1", devices=[node.uuid], start=began, person="kim")
        (live,) = lib.wait_until("the live rules find it", lambda: lib.ask_json(f"{self.hub.url}/api/v1/state?node=dgx1")["nodes"][0]["devices"][0].get("advice"))
        (found,) = self.verdict(job)["advice"]
        self.assertIn("active 59 %", found["evidence"])
        self.assertEqual({k: found[k] for k in ("rule", "title", "remedy")}, {k: live[k] for k in live if k != "since"})
        alerts = lib.wait_until("its alert", lambda: lib.ask_json(self.hub.url + "/api/v1/alerts?all")["rows"])
        self.assertEqual([(a["rule"], a["text"]) for a in alerts], [("run-starved", "dgx1:0, kim's run: waits for the host")])
        listed = self.run_ok(lib.MUSTER, "ls", "-l", "--width", "400", "--hub", self.hub.url)
        boxes = lib.ask(self.hub.url + "/?term=true&detail=true&width=160")[2].decode()
        for screen in (listed, boxes):
            self.assertIn(found["title"], screen)
            self.assertIn(found["remedy"], screen)
            self.assertNotIn("active 59 %", screen)

    def test_it_can_be_turned_off(self):
        self.hub = self.start_hub("--runs-after", "0")
        node = sender.Node("dgx1")
        self.send(node, (41, "kim", "python", ""))
        self.assertEqual(self.jobs(), [])
        self.assertIn("muster_hub_runs 0", lib.ask(self.hub.url + "/metrics")[2].decode())


class Launch(lib.Case):
    """Real agents, which read /proc; the driver is the stub."""

    def child_of(self, launcher):
        def found():
            kids = agentcase.children(launcher.pid)
            return kids and kids[0]
        lib.wait_until("the launcher's child", found)
        return found()

    def test_a_launch_over_nodes_is_told_by_a_launcher_and_by_an_environment(self):
        hub = self.start_hub(*FLAGS)
        with open(self.path("launch.sh"), "w", encoding="utf-8") as f:
            f.write("sleep 600\ntrue\n")
        launcher = subprocess.Popen(["sh", self.path("launch.sh"), "--rdzv_endpoint=10.9.8.7:29500"], start_new_session=True)
        self.addCleanup(lambda: (os.killpg(launcher.pid, signal.SIGKILL), launcher.wait()))
        alone = subprocess.Popen(["sleep", "600"], env={"MASTER_ADDR": "10.9.8.7", "MASTER_PORT": "29500", "API_KEY": "s3cret", "PATH": os.environ["PATH"]})
        self.addCleanup(lambda: (alone.kill(), alone.wait()))
        token = self.token("enroll")
        for name, pid in (("n1", self.child_of(launcher)), ("n2", alone.pid)):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(f"gpus 1\nproc 0 {pid} 1073741824 c\n")
            self.start(lib.AGENT, env={"MUSTER_STATE_DIR": self.path("state-" + name), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path(name),
                                       "MUSTER_TOKEN": token, "MUSTER_NAME": name, "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": "500ms",
                                       "MUSTER_COLLECTOR": "nvml", "MUSTER_HUB": hub.url})

        def runs():
            return lib.ask_json(hub.url + "/api/v1/jobs?kind=auto")["jobs"]
        lib.wait_until("two runs", lambda: len(runs()) == 2)
        got = runs()
        self.assertEqual({j["attributes"].get("launch") for j in got}, {"10.9.8.7:29500"})
        first = [j for j in got if not j["parent"]]
        self.assertEqual([j["parent"] for j in got if j["parent"]], [first[0]["id"]])
        state = lib.ask_json(hub.url + "/api/v1/state")
        self.assertEqual([p["launch"] for n in state["nodes"] for d in n["devices"] for p in d["processes"]], ["10.9.8.7:29500"] * 2)
        for path in ("/api/v1/state", "/api/v1/jobs?kind=auto"):  # and nothing else of an environment
            self.assertNotIn("s3cret", json.dumps(lib.ask_json(hub.url + path)))


if __name__ == "__main__":
    lib.main()
