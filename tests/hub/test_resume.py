#!/usr/bin/python3
"""A hub that ends, by SIGTERM or by kill -9, and is started again: what it shows is what it last knew, with its age, and nobody is announced as down who only had no chance to be heard."""
import os
import struct

import lib
from sender import Node, answer

SHIM = os.path.join(lib.BIN, "libclock-shim.so")
MINUTE = 60000


class Resume(lib.Case):
    env = None

    def begin(self):
        self.hub = self.start_hub("--commit", "10ms", env=self.env)
        lib.wait_until("it is up", lambda: lib.ask(self.hub.url + "/readyz")[0] == 200)

    def post(self, n, *frames):
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=n.stream(*frames), headers={"Authorization": "Bearer " + n.token})
        self.assertEqual(status, 200, body)
        n.token = answer(body).get("token", n.token)

    def node(self, name, *procs, util=0, uuid=None):
        n = Node(name, uuid=uuid)
        n.token = self.token("enroll")
        self.post(n, n.facts(), n.procs(*procs), n.batch(util=util))
        return n

    def shown(self):
        return {n["name"]: n for n in lib.ask_json(self.hub.url + "/api/v1/state")["nodes"]}

    def until_util(self, name, util):
        """A state that was rendered a moment ago is given out again: on a slow machine for up to a second."""
        lib.wait_until(f"{name} at {util}", lambda: self.shown()[name]["devices"][0]["metrics"]["util"] == util)

    def news_since(self, name, then_ms):
        """The same goes for the list of nodes."""
        return lib.wait_until(f"news of {name}", lambda: (news := self.last_news())[name] >= then_ms and news)

    def last_news(self):
        return {n["name"]: n["last_news"] for n in lib.ask_json(self.hub.url + "/api/v1/nodes")}

    def events(self, *kinds):
        return [(e["kind"], e["node"]) for e in lib.ask_json(self.hub.url + "/api/v1/events") if e["kind"] in kinds]

    def driver(self, *lines):
        with open(self.path("stub"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")

    def admin(self, node, **what):
        with open(self.path("data/admin.token"), encoding="ascii") as f:
            token = f.read().strip()
        body = ",".join(f'"{k}":{v}' for k, v in what.items())
        status, _, said = lib.ask(f"{self.hub.url}/api/v1/nodes/{node}", method="PATCH", body="{" + body + "}",
                                  headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        self.assertLess(status, 300, said)

    def test_a_restart_shows_what_was_last_known(self):
        self.begin()
        busy = self.node("busy", (77, "kim", "python", "python train.py"), util=9000)
        self.node("idle")
        self.node("kept")
        self.admin("kept", name='"renamed"', maintenance="true")
        self.node("gone")
        self.admin("gone", retired="true")
        for end in ("kill9", "stop"):
            then_ms = busy.now()
            self.post(busy, busy.batch(util=9100))
            self.until_util("busy", 0.91)
            before, news, known = self.shown(), self.news_since("busy", then_ms), self.events("new")
            self.assertEqual(set(before), {"busy", "idle", "renamed"})
            getattr(self.hub, end)()
            self.begin()
            after = self.shown()
            self.assertEqual(set(after), set(before))
            for name, n in after.items():
                self.assertEqual((n["state"], n["devices"][0]["metrics"]), (before[name]["state"], before[name]["devices"][0]["metrics"]), name)
                self.assertGreaterEqual(n["devices"][0]["age_ms"], 0)
                self.assertNotIn("starting", n.get("reason") or "")
            self.assertEqual([p["user"] for p in after["busy"]["devices"][0]["processes"]], ["kim"])
            for name, at in self.last_news().items():  # a batch of one tick is stored with its moment; that it came is known to the second
                self.assertLessEqual(at, news[name], name)
                self.assertLess(news[name] - at, MINUTE, name)
            if end == "stop":
                self.assertEqual(self.last_news(), news)
            self.assertEqual(self.events("new", "down", "back"), known)
        self.post(busy, busy.batch(util=100))  # and it goes on
        self.until_util("busy", 0.01)
        self.assertEqual(self.shown()["busy"]["devices"][0]["metrics"]["mem_used"], 1 << 30)

    def test_two_nodes_with_one_gpu_are_both_shown_as_before(self):
        self.begin()
        a = self.node("a", util=4000)
        b = self.node("b", (77, "kim", "python", "python train.py"), util=9000, uuid=a.uuid)
        self.until_util("b", 0.9)
        before = self.shown()
        self.assertEqual(before["b"]["devices"][0]["uuid"], a.uuid + "~2")
        for end in ("kill9", "stop"):
            getattr(self.hub, end)()
            self.begin()
            for name, n in self.shown().items():
                self.assertEqual((n["devices"][0]["uuid"], n["devices"][0].get("metrics")), (before[name]["devices"][0]["uuid"], before[name]["devices"][0]["metrics"]), name)
            self.assertEqual([p["user"] for p in self.shown()["b"]["devices"][0]["processes"]], ["kim"])
        self.post(b, b.batch(util=100))
        self.until_util("b", 0.01)

    def test_a_real_agent_is_shown_at_once_and_goes_on(self):
        self.driver("gpus 2")
        port = lib.free_port()

        def begin():
            self.hub = self.start(lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", self.path("data"))
            self.hub.wait_line(r"http://127\.0\.0\.1:(\d+)")
            self.hub.url, self.hub.port = f"http://127.0.0.1:{port}", port
            lib.wait_until("it is up", lambda: lib.ask(self.hub.url + "/readyz")[0] == 200)
        begin()
        token = self.token("enroll")
        self.start(lib.AGENT, "--hub", self.hub.url, env={"MUSTER_STATE_DIR": self.path("state"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub"), "MUSTER_TOKEN": token,
                                                          "MUSTER_NAME": "real", "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": "1s"})
        def sampled():
            devices = self.shown().get("real", {}).get("devices", [])
            return devices and "mem_total" in devices[0]["metrics"]
        lib.wait_until("samples", sampled)
        # A batch is shown before it is on disk; the agent sends its next one when it is.
        lib.wait_until("another batch", lambda was=self.last_news()["real"]: self.last_news()["real"] > was)
        for end in ("kill9", "stop"):
            getattr(self.hub, end)()
            begin()
            n = self.shown()["real"]
            self.assertEqual((n["state"], len(n["devices"])), ("up", 2), n.get("reason"))
            self.assertIn("mem_total", n["devices"][0]["metrics"])
            at = self.last_news()["real"]
            lib.wait_until("it is heard again", lambda was=at: self.last_news()["real"] > was)
            self.assertEqual(self.events("down", "back"), [])

    @lib.plain  # sanitizers want to be loaded first
    def test_who_had_no_chance_is_not_down_and_who_was_down_stays_so(self):
        def clock(ms):
            with open(self.path("offset"), "wb") as f:
                f.write(struct.pack("<q", ms))
        clock(0)
        self.env = {"LD_PRELOAD": SHIM, "CLOCK_SHIM": self.path("offset")}
        self.begin()
        well, dead = self.node("well"), self.node("dead")
        died = self.last_news()["dead"]
        clock(10 * MINUTE)
        self.post(well, well.batch(util=4200))
        lib.wait_until("one of them is down", lambda: self.shown()["dead"]["state"] == "down")
        lib.wait_until("that is told", lambda: ("down", "dead") in self.events("down"))
        self.hub.kill9()
        clock(30 * MINUTE)
        self.begin()
        nodes, told = self.shown(), self.events("down", "back", "new")
        self.assertEqual((nodes["well"]["state"], nodes["well"]["reason"]), ("up", "no data since the hub started, the last came 20 m ago"))
        self.assertEqual((nodes["well"]["devices"][0]["state"], nodes["well"]["devices"][0]["metrics"]["util"]), ("stale", 0.42))
        self.assertGreater(nodes["well"]["devices"][0]["age_ms"], 19 * MINUTE)
        self.assertEqual((nodes["dead"]["state"], nodes["dead"]["since"]), ("down", died))
        self.assertEqual(nodes["dead"]["devices"][0]["state"], "stale")
        self.assertEqual(self.last_news()["dead"], died)
        alerts = [(a["rule"], a.get("subject", "") + a.get("text", "")) for a in lib.ask_json(self.hub.url + "/api/v1/alerts")["rows"]]
        self.assertEqual([t for rule, t in alerts if rule == "node-down" and "well" in t], [])
        self.post(well, well.batch(util=4300))
        self.until_util("well", 0.43)
        self.assertEqual((self.shown()["well"]["state"], self.shown()["well"].get("reason") or ""), ("up", ""))
        self.post(dead, dead.batch())
        lib.wait_until("it is back", lambda: ("back", "dead") in self.events("back"))
        self.assertEqual([e for e in self.events("down", "back", "new") if e != ("back", "dead")], told)


if __name__ == "__main__":
    lib.main()
