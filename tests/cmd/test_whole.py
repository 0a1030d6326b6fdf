#!/usr/bin/python3
"""Agent, hub and screens together: from a driver (the stub) to every place a person looks. Must-shows 1, 3 and 4."""
import contextlib
import json
import os
import re
import time

import lib
import wire_reader
from agentcase import spooled
from lib import ask, ask_json, wait_until


class Whole(lib.Case):
    def setUp(self):
        super().setUp()
        self.driver("gpus 2")

    def driver(self, *lines):
        with open(self.path("stub.new"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(self.path("stub.new"), self.path("stub"))

    def token_file(self):
        path = self.path("token")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.token("enroll"))
            os.chmod(path, 0o600)
        return path

    def agent(self, url):
        env = {"MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub")}
        return self.start(lib.AGENT, "--hub", url, "--token-file", self.token_file(), "--state-dir", self.path("state"), "--name", "node1", "--tick", "200ms",
                          "--interval", "1s", "--collector", "nvml", env=env)

    def state(self, hub):
        nodes = ask_json(hub.url + "/api/v1/state")["nodes"]
        return nodes[0] if nodes else None

    def test_a_hung_driver_shows_on_every_screen_and_the_heartbeat_goes_on(self):
        hub = self.start_hub()
        agent = self.agent(hub.url)
        wait_until("two free GPUs", lambda: (n := self.state(hub)) and [d["state"] for d in n["devices"]] == ["free", "free"])
        self.driver("gpus 2", "hang all")
        n = wait_until("hung", lambda: (n := self.state(hub)) and n["state"] == "hung" and n)
        self.assertEqual([d["state"] for d in n["devices"]], ["hung", "hung"])
        self.assertIn("does not answer", n["reason"])
        for _ in range(2):  # the agent is heard all the while, and the node's own metrics are fresh
            before = self.state(hub)["version"]
            wait_until("news from a node with a hung driver", lambda: (n := self.state(hub)) and n["version"] > before and n["age_ms"] < 5000 and n["state"] == "hung")
        for path, want in (("/?term=true", "driver not responding"), ("/gpu_table?term=true", "node1"), ("/", "hung"), ("/states/", "node1")):
            status, _, body = ask(hub.url + path, headers={"User-Agent": "Mozilla/5.0"})
            self.assertEqual(status, 200, path)
            self.assertIn(want, body.decode(), path)
        _, _, metrics = ask(hub.url + "/metrics")
        self.assertNotRegex(metrics.decode(), r"(?m)^muster_gpu_utilization_ratio\{", "a value nobody can know")
        self.assertRegex(metrics.decode(), r'(?m)^muster_gpu_state\{[^}]*state="hung"[^}]*\} 1')
        self.assertIn('\nmuster_node_up{node="node1"} 0\n', metrics.decode())
        out = self.run_ok(lib.MUSTER, "ls", "--hub", hub.url)
        self.assertEqual(len(re.findall(r"(?<!driver )not responding", out)), 3, out)  # each of the two, and the count
        own = [p for p in os.listdir("/proc") if p.isdigit() and self.is_child(p, agent.p.pid)]
        self.assertLessEqual(len(own), 3, "a pile of processes")
        self.driver("gpus 2", "util 1 70")
        wait_until("the driver is back", lambda: (n := self.state(hub)) and n["state"] == "up" and [d["state"] for d in n["devices"]] == ["free", "busy"])

    @staticmethod
    def is_child(pid, parent):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                return int(f.read().rsplit(")", 1)[1].split()[1]) == parent
        return False

    @staticmethod
    def second_word(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[1]

    def test_P1_P3_hub_away_and_agent_killed_meanwhile_cost_at_most_the_batch_being_filled(self):
        port = lib.free_port()
        url, data = f"http://127.0.0.1:{port}", self.path("data")

        def hub_up():
            p = self.start(lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", data)
            p.wait_line("http://127")
            p.url = url
            return p

        hub = hub_up()
        agent = self.agent(url)
        wait_until("first batches", lambda: (n := self.state(hub)) and n["devices"] and n["devices"][0]["metrics"])
        time.sleep(2)
        self.assertEqual(hub.stop(), 0)
        known = max(b.key.number for _, b in wire_reader.decode_frames(lib.stored_frames(data)))
        agent.wait_line("does not take our batches")
        away = spooled(self.path("state"))
        wait_until("batches go to the spool meanwhile", lambda: spooled(self.path("state")) >= away + 3)
        kept = spooled(self.path("state")) - away
        agent.kill9()
        agent = self.agent(url)
        time.sleep(2)
        hub = hub_up()

        def caught_up():
            n = self.state(hub)
            fresh = [d.get("age_ms") is not None and d["age_ms"] < 3000 for d in n["devices"]] if n else []
            return len(fresh) == 2 and all(fresh) and n["state"] == "up" and not n.get("backlog")

        wait_until("caught up", caught_up)
        self.assertEqual(agent.stop(), 0, agent.text)
        self.assertEqual(hub.stop(), 0)

        runs = {}
        for _, b in wire_reader.decode_frames(lib.stored_frames(data)):
            runs.setdefault(b.key.run, {})[b.key.number] = b
        self.assertEqual(len(runs), 2, "one run before the kill, one after")
        first, second = sorted(runs.values(), key=lambda r: min(t for b in r.values() for t in b.ticks))
        for batches in (first, second):
            self.assertEqual(sorted(batches), list(range(1, max(batches) + 1)), "a batch is missing")
        # one of those kept may have been with the hub, which had no time to say so
        self.assertGreaterEqual(max(first), known + kept - 1, "more than the batch being filled was lost")

    def six_nodes_with_their_troubles(self, url):
        """And on every screen that they are a demo's."""
        def nodes():
            s = ask_json(url + "/api/v1/state")
            self.assertTrue(s["demo"])
            got = {n["name"]: n for n in s["nodes"]}
            measured = [n for n in got.values() if n["devices"] and n["devices"][0].get("metrics")]
            troubles = len(got) == 6 and len(measured) == 4 and (got["dgx5"]["state"], got["dgx6"]["state"]) == ("hung", "down")
            return got if troubles and all(len(n["devices"]) == 8 for n in got.values()) and got["dgx1"]["devices"][4]["state"] == "held" else None

        got = wait_until("six nodes", nodes)
        self.assertEqual(sorted(got), [f"dgx{i}" for i in range(1, 7)])
        self.assertGreaterEqual(len({p["user"] for n in got.values() for d in n["devices"] for p in d.get("processes", [])}), 4)
        for path, agent in (("/", "curl/8"), ("/?term=true&detail=true", "curl/8"), ("/gpu_table?term=true", "curl/8")):
            _, _, body = ask(url + path, headers={"User-Agent": agent})
            self.assertIn("DEMO", body.decode(), f"{path} for {agent}")
        self.assertIn("DEMO", self.run_ok(lib.MUSTER, "ls", "--hub", url))
        # its people have teams and companies
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "--hub", url, "team:vision"), r"dgx1 +\d +busy +(kim|lee|ana)")
        report = lambda: self.run_ok(lib.MUSTER, "report", "--hub", url, "--period", "overall")
        wait_until("both companies' usage is counted", lambda: re.search(r"(?m)^Acme +\d+\.\d +\d+\.\d ", said := report()) and re.search(r"(?m)^Globex +\d+\.\d +\d+\.\d ", said))

    def a_week_that_leads_to_what_is_live(self, url, held, again):
        """held: since when, the first time, and the same afterwards."""
        state = lambda: {n["name"]: n for n in ask_json(url + "/api/v1/state")["nodes"]}
        wait_until("who is on it", lambda: len(state()) == 6 and all(d.get("processes") for d in state()["dgx3"]["devices"]))
        # what is live was there before the hub was: the same processes, since the same moment, on every screen
        listed = lambda: {(r["node"], r["gpu"]): r for r in json.loads(self.run_ok(lib.MUSTER, "ls", "--hub", url, "--json"))}
        rows = wait_until("who is on it, in a list", lambda: all((rows := listed())["dgx3", gpu]["user"] for gpu in range(8)) and rows)
        spans = {(s["node"], s["index"]): s for s in ask_json(url + "/api/v1/processes?from=-3d&by=user&node=dgx3")["spans"] if s["there"]}
        for gpu in range(8):
            self.assertEqual(rows["dgx3", gpu]["user"], "tom")
            self.assertEqual(rows["dgx3", gpu]["since"], spans["dgx3", gpu]["first"])
            held.setdefault(gpu, rows["dgx3", gpu]["since"])
            self.assertEqual(rows["dgx3", gpu]["since"], held[gpu])
        self.assertGreater(time.time() * 1000 - held[0], 86400000)
        # what they recorded of it is the same: since the same moment, on the same GPUs; of a node that went down nobody says that it ended
        jobs = lambda query: [(j["name"], j["person"], j["state"], len(j["devices"]), j["start"]) for j in ask_json(url + "/api/v1/jobs?from=-1m&" + query)["jobs"]]
        self.assertEqual(jobs("node=dgx3"), [("train.py", "tom", "running", 8, held[0])])
        self.assertEqual([j[:4] for j in jobs("node=dgx6")], [("finetune.py", "ana", "unfinished", 2)])
        # up to its newest data, as its verdict has it; the same where the driver hangs
        for node in ("dgx5", "dgx6"):
            (job,) = ask_json(f"{url}/api/v1/jobs?from=-1m&node={node}")["jobs"]
            verdict = ask_json(f"{url}/api/v1/jobs/{job['id']}/verdict")
            self.assertEqual(job["state"], "unfinished", node)
            self.assertAlmostEqual(job["data_to"], verdict["no_data"]["since"], delta=60000, msg=node)
            self.assertEqual((verdict["rules"], verdict["advice"]), (False, []), node)
        self.assertEqual(ask_json(url + "/api/v1/jobs?from=-1m&node=dgx3")["jobs"][0]["gpus"], list(range(8)))
        self.assertEqual({j["person"] for j in ask_json(url + "/api/v1/jobs?from=-2d&limit=1000&filter=team:language")["jobs"]}, {"raj", "mia"})
        week = ask_json(url + "/api/v1/jobs?from=-6d&limit=1000&person=kim")["jobs"]
        self.assertGreater(len(week), 5)
        self.assertEqual(len(week), len({(j["node"], j["start"], j["pids"][0]) for j in week}), f"again: {again}")
        # idle and free since before the hub was started, and idle not longer than held
        hours = lambda at: (time.time() * 1000 - at) / 3600000
        idle = wait_until("lee's notebook is idle for long", lambda: (d := state()["dgx1"]["devices"][4])["state"] == "held" and hours(d["idle_since"]) > 2 and d)
        self.assertGreaterEqual(idle["idle_since"], min(q.get("since", q["start"]) for q in idle["processes"]))
        wait_until("free for long", lambda: (d := state()["dgx4"]["devices"][7])["state"] == "free" and hours(d["since"]) > 1)
        # what broke is told of, once
        events = [(e["node"], e["kind"]) for e in ask_json(url + "/api/v1/events?from=-2h&kind=hung,down,xid")]
        self.assertEqual(events, [("dgx5", "hung"), ("dgx5", "xid"), ("dgx6", "down")])
        # the week has a sample in each minute up to the opening's own, so that charts go on without a hole
        opening = (ask_json(url + "/api/v1/events?from=-2h&kind=down")[0]["at"] + 36 * 60000) // 60000 * 60000
        minutes = ask_json(f"{url}/api/v1/history?device=dgx1:0&metric=util&agg=count&step=1m&from={opening - 300000}&to={opening + 60000}")["series"][0]["v"]
        self.assertEqual((len(minutes), all(minutes)), (6, True), minutes)
        wait_until("an alert", lambda: any(a["place"] == "dgx5" for a in ask_json(url + "/api/v1/alerts")["rows"]))
        # who was on what broke is not there any more
        for node in ("dgx5", "dgx6"):
            gone = [s for s in ask_json(url + f"/api/v1/processes?from=-2h&by=user&node={node}")["spans"] if not s["ended"]]
            self.assertTrue(gone)
            self.assertFalse(any(s["there"] for s in gone), gone)
            self.assertLess(max(s["last"] for s in gone), time.time() * 1000 - 180000)
        self.assertEqual(sorted(b["person"] for b in ask_json(url + "/api/v1/bookings?all=1")["rows"]), ["ben", "ben"])
        # nothing of the week is nobody's
        lib.wait_until("the week is counted", lambda: ask_json(url + "/api/v1/usage?last=8d")["waiting"] == 0)
        self.assertEqual([r["held"] for r in ask_json(url + "/api/v1/usage?last=8d")["rows"] if r["key"] is None], [0], f"again: {again}")

    def all_are_let_in(self, p, url, since):
        """At once, as who they were."""
        wait_until("all but the sixth are heard", lambda: sum(n["last_news"] > since for n in ask_json(url + "/api/v1/nodes")) == 5)
        self.assertEqual(re.findall(r"(?m)^muster_hub_refused_total (\d+)$", ask(url + "/metrics")[2].decode()), ["0"], p.text)

    def test_the_demo_has_six_nodes_and_a_week_and_goes_on_after_a_restart_whoever_tells_it_where(self):
        held = {}
        for again, told, env in ((False, (), {"MUSTER_DATA": self.path("data")}), (True, ("--data", self.path("data/demo")), {})):
            since = time.time() * 1000
            p = self.start(lib.MUSTER, "up", "--demo", "--listen", "127.0.0.1:0", *told, env=env)
            url = p.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
            self.all_are_let_in(p, url, since)
            self.assertNotIn("the demo ended", p.text)
            if not again:
                self.assertTrue(os.path.exists(self.path("data/demo/demo.token")))
                self.six_nodes_with_their_troubles(url)
            self.a_week_that_leads_to_what_is_live(url, held, again)
            if again:  # whoever looks may book
                self.assertIn("dgx2:0 for guest", self.run_ok(lib.MUSTER, "book", "--hub", url, "dgx2:0", "--for", "2h", "--person", "guest"))
                (nodes,) = [x for x in os.listdir("/proc") if x.isdigit() and self.is_child(x, p.p.pid) and self.second_word(x) != b"hub"]
                since = time.time() * 1000
                os.kill(int(nodes), 9)
                p.wait_line("starting it again")
                self.all_are_let_in(p, url, since)  # the same while the hub goes on
            self.assertEqual(p.stop(), 0, p.text)
            self.assertEqual(p.text.count(" is enrolled"), 0 if again else 5, p.text)

    def test_up_ends_with_its_parts_and_starts_a_dead_agent_again(self):
        env = {"MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub")}
        p = self.start(lib.MUSTER, "up", "--listen", "127.0.0.1:0", "--data", self.path("data"), env=env)
        url = p.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        wait_until("this machine", lambda: (s := ask_json(url + "/api/v1/state"))["nodes"] and len(s["nodes"][0]["devices"]) == 2)
        parts = [int(x) for x in os.listdir("/proc") if x.isdigit() and self.is_child(x, p.p.pid)]
        self.assertEqual(len(parts), 2)
        (agent,) = [x for x in parts if self.second_word(x) != b"hub"]
        os.kill(agent, 9)
        p.wait_line("starting it again")
        wait_until("another agent", lambda: [x for x in os.listdir("/proc") if x.isdigit() and int(x) not in parts and self.is_child(x, p.p.pid)])
        self.assertEqual(p.stop(), 0, p.text)
        wait_until("no part is left", lambda: not any(os.path.exists(f"/proc/{x}") for x in parts))

    def test_up_with_tls_prints_a_pin_that_its_own_agent_and_others_use(self):
        env = {"MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub")}
        p = self.start(lib.MUSTER, "up", "--tls", "--listen", "127.0.0.1:0", "--data", self.path("data"), env=env)
        url = p.wait_line(r"https://127\.0\.0\.1:\d+").group(0)
        pin = p.wait_line(r"sha256//\S+").group(0)
        wait_until("this machine", lambda: self.run_ok(lib.MUSTER, "ls", "--hub", url, "--pin", pin, "--csv").count(",free,") == 2)
        self.assertEqual(self.run_any(lib.MUSTER, "ls", "--hub", url)[0], 3, "a certificate nobody signed is refused")
        self.assertIn(" up ", self.run_ok(lib.MUSTER, "node", "list", env={"MUSTER_DATA": self.path("data")}), "the local hub's address, pin and token")
        self.assertIn("this port speaks HTTPS: the address begins with https://", self.run_any(lib.MUSTER, "ls", "--hub", url.replace("https", "http"))[2])
        self.assertEqual(self.run_any(lib.MUSTER, "ls", "--hub", url, "--pin", "sha256//" + 43 * "A" + "=")[0], 3, "and so is another pin")
        self.assertEqual(p.stop(), 0, p.text)
        status, _, err = self.run_any(lib.MUSTER, "up", "--tls", "--demo", "--listen", "127.0.0.1:0", "--data", self.path("data2"))
        self.assertEqual(status, 2)
        self.assertIn("the demo does not support TLS", err)
        self.assertFalse(os.path.exists(self.path("data2/history.db")), "its week was made before")

    def test_https_to_a_hub_without_tls_is_recognised(self):
        hub = self.start_hub()
        status, _, err = self.run_any(lib.MUSTER, "ls", "--hub", hub.url.replace("http://", "https://"))
        self.assertEqual(status, 3)
        self.assertIn("this port speaks HTTP, not HTTPS: the address begins with http://", err)

    def test_up_says_how_to_add_a_node_where_others_can_reach_it(self):
        p = self.start(lib.MUSTER, "up", "--no-agent", "--listen", "0.0.0.0:0", "--address", "http://gpu-hub.example:8765", "--data", self.path("data"))
        p.wait_line(r"add a node: `muster token new --role enroll --data \S+`, then there: curl -fsS http://gpu-hub\.example:8765/install \| sh -s -- TOKEN")
        self.assertEqual(p.stop(), 0, p.text)
        self.assertEqual(self.run_any(lib.MUSTER, "up", "--no-agent", "--listen", "here")[0], 2)

    def test_settings_shown_are_settings_that_can_be_read(self):
        shown = self.run_ok(lib.MUSTER, "config", "show", "--name", "lab", "--rule-preset", "web-gpu-monitor", "--listen", "127.0.0.1:9999")
        self.assertIn("web-gpu-monitor", shown)
        self.run_ok(lib.MUSTER, "config", "check", "-", stdin=shown.encode())
        path = self.path("own.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("read: token\n")
        for flags in (("--config", path), ("--config=" + path,), ("-c", path), ("-c" + path,)):
            self.assertIn("\nread: token\n", self.run_ok(lib.MUSTER, "config", "show", *flags))
        for program in (("hub",), ("relay",), ("config", "show"), ("up", "--no-agent", "--data", self.path("none"))):
            status, _, err = self.run_any(lib.MUSTER, *program, "-c", path + ".missing")
            self.assertNotEqual(status, 0, program)
            self.assertIn(path + ".missing", err)
        status, _, err = self.run_any(lib.MUSTER, "config", "check", "-", stdin=b"name: lab\nlisten_to: here\n")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"standard input:2:\d+: .*listen_to")

    def test_man_pages_have_their_parts_and_every_setting(self):
        self.run_ok(lib.MUSTER, "man", self.path("man"))
        with open(self.path("man/muster.1"), encoding="utf-8") as f:
            page = f.read()
        heads = re.findall(r"(?m)^\.SH (.+)$", page)
        self.assertEqual([h for h in heads if h in ("COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")],
                         ["COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"])
        with open(self.path("man/muster.yaml.5"), encoding="utf-8") as f:
            keys = {k.replace("\\-", "-") for k in re.findall(r"(?m)^\.TP\n\\fB([^\\]+(?:\\-[^\\]+)*)\\fR", f.read())}
        want, path = set(), []
        for line in self.run_ok(lib.MUSTER, "config", "show", "--data", self.path("none")).splitlines():
            m = re.match(r"( *)(?:# )?(\w+):(.*)$", line)
            if not m:
                continue
            path = path[:len(m[1]) // 2] + [m[2]]
            if m[3].strip():
                want.add(".".join(path))
        self.assertGreater(len(want), 50)
        self.assertEqual(want - keys, set())

    def test_every_metric_is_in_json_prometheus_and_the_man_page(self):
        with open(os.path.join(lib.TOP, "src/model/metrics.def"), encoding="utf-8") as f:
            metrics = re.findall(r'METRIC\(\s*\d+, (\w+),\s*"(\w+)"', f.read())
        self.run_ok(lib.MUSTER, "man", self.path("man"))
        with open(self.path("man/muster-metrics.7"), encoding="utf-8") as f:
            page = f.read()
        hub = self.start_hub()
        trace = self.path("trace.csv")
        columns = ["t"] + [prom for _, prom in metrics]
        with open(trace, "w", encoding="utf-8") as f:
            f.write(",".join(columns) + "\n" + "".join(",".join([str(t)] + ["1"] * len(metrics)) + "\n" for t in range(3)))
        self.start(lib.AGENT, "--hub", hub.url, "--token-file", self.token_file(), "--state-dir", self.path("state"), "--collector", "replay", "--replay", trace, "--interval", "1s")

        def all_there():
            n = self.state(hub)
            return n and n["devices"] and {**n["metrics"], **n["devices"][0]["metrics"]}

        wait_until("samples", all_there)
        want = {name for name, _ in metrics}
        wait_until(f"every metric in JSON; missing {want - set(all_there())}", lambda: want <= set(all_there()))
        text = ask(hub.url + "/metrics")[2].decode()
        for name, prom in metrics:
            self.assertRegex(text, rf"(?m)^{prom}\{{", prom)
            self.assertIn(f".B {name}\n", page)


if __name__ == "__main__":
    lib.main()
