#!/usr/bin/python3
"""`muster run` where there is more than it shows, or less than it asks for: a stand-in says what a hub would."""
import answers
import lib
import terminal

ID = "3f9a6c1be2d07a55"
FROM, TO = 1794736800000, 1794737400000
FAILED = (500, {"title": "Internal Server Error", "status": 500, "detail": "the disk is full"})


class Told(lib.Case):
    def setUp(self):
        super().setUp()
        self.nodes, self.person = 10, "kim"
        self.history, self.processes = self.drawn, self.spans_of
        self.hub = answers.Answers(self, self.say)

    def say(self, path, query):
        if path == f"/api/v1/jobs/{ID}/verdict":
            devices = [{"node": f"dgx{n}", "node_id": f"{n:032x}", "gpu": g, "device": f"GPU-{n}-{g}", "model": "Test"} for n in range(1, self.nodes + 1) for g in (0, 1)]
            return 200, {"sentence": "20 x Test for 10 m", "from": FROM, "to": TO, "measured": True, "devices": devices, "advice": [], "rules": True,
                         "job": {"id": ID, "name": "train", "kind": "custom", "person": self.person, "state": "ended", "attributes": {}}}
        return self.history(query) if path == "/api/v1/history" else self.processes(query)

    def drawn(self, query, value=0.5):
        series = [{"device": d, "node": "dgx" + d.split("-")[1], "index": int(d[-1]), "metric": "active", "agg": "avg", "unit": "ratio", "v": [value] * 4} for d in query["device"].split(",")]
        return 200, {"from": FROM, "to": TO, "step": 150_000, "series": series}

    def spans_of(self, query):
        """Newest first, and of a GPU that is not the run's, too."""
        n = int(query["node"], 16)
        spans = [{"node": f"dgx{n}", "node_id": query["node"], "device": f"GPU-{n}-{g}", "index": g, "user": "kim", "person": "kim", "program": f"p{g}", "first": FROM + 1000 * (3 - g), "last": TO, "ended": True,
                  "memory_max": None, "there": False} for g in (2, 1, 0)]
        return 200, {"from": FROM, "to": TO, "more": False, "spans": spans}

    def run_it(self):
        out = self.run_ok(lib.MUSTER, "run", ID, "--hub", self.hub.url)
        self.assertTrue(out.startswith("20 x Test for 10 m\ntrain, custom, "), out)
        self.assertTrue(out.endswith(f"\n{self.hub.url}/run/{ID}\n"), out)
        return [" ".join(line.split()) for line in out.splitlines()]

    def on_terminal(self):
        tty = terminal.Terminal(self, 100, 120)
        tty.run(f"{lib.MUSTER} run {ID} --hub {self.hub.url}; echo status $?")
        return tty.wait(r"^status \d")

    def test_processes_are_in_order_and_of_how_many_nodes_is_said(self):
        self.nodes = 12
        said = self.run_it()
        at = said.index("PROGRAM GPU FROM TIME MEMORY")
        self.assertEqual([line.split()[1] for line in said[at + 1:at + 17]], [f"dgx{n}:{g}" for n in range(1, 9) for g in (0, 1)])
        self.assertEqual(said[at + 17], "processes of 8 of its 12 nodes")
        self.nodes = 8
        self.assertFalse([line for line in self.run_it() if "of its 8 nodes" in line])

    def test_a_hub_is_asked_for_the_runs_person_alone(self):
        asked = lambda: [{k: q[k] for k in ("person", "user") if k in q} for path, q in self.hub.asked if path.endswith("/processes")]  # noqa: E731
        self.nodes = 1
        self.run_it()
        self.assertEqual(asked(), [{"person": "kim"}])
        with self.subTest("a login that is somebody's under another name"):
            self.hub.asked.clear()
            self.processes = lambda query: self.spans_of(query) if "user" in query else (200, {"spans": []})
            self.assertIn("p0 dgx1:0", "\n".join(self.run_it()))
            self.assertEqual(asked(), [{"person": "kim"}, {"user": "kim"}])
        with self.subTest("nobody's"):
            self.hub.asked.clear()
            self.person, self.processes = None, self.spans_of
            self.assertIn("p0 dgx1:0", "\n".join(self.run_it()))
            self.assertEqual(asked(), [{}])

    def test_the_verdict_is_told_where_the_rest_fails(self):
        with self.subTest("processes of the third node"):
            self.processes = lambda query: FAILED if int(query["node"], 16) == 3 else self.spans_of(query)
            said = self.run_it()
            at = said.index("PROGRAM GPU FROM TIME MEMORY")
            self.assertEqual([line.split()[1] for line in said[at + 1:at + 5]], ["dgx1:0", "dgx1:1", "dgx2:0", "dgx2:1"])
            self.assertRegex(said[at + 5], "^processes: .*the disk is full$")
        with self.subTest("all of it"):
            self.history = self.processes = lambda query: FAILED
            screen = self.on_terminal()
            self.assertRegex(screen, r"(?m)^charts: .*the disk is full$")
            self.assertRegex(screen, r"(?m)^processes: .*the disk is full$")
            self.assertRegex(screen, r"(?m)^dgx10:1 ")
            self.assertRegex(screen, r"(?m)^status 0$")

    def test_of_how_many_gpus_there_are_charts_is_said_where_there_are_any(self):
        self.assertIn("\ncharts of 16 of its 20 GPUs\n", self.on_terminal())
        self.history = lambda query: self.drawn(query, None)
        self.assertNotIn("charts", self.on_terminal())


if __name__ == "__main__":
    lib.main()
