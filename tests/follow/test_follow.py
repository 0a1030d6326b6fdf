#!/usr/bin/python3
"""Hubs that follow hubs: what is seen, what is refused, what is said when one is away."""
import http.server
import json
import os
import re
import signal
import struct
import threading
import urllib.parse

import hubcase
import lib
from lib import MUSTER

SHIM = os.path.join(lib.BIN, "libclock-shim.so")


class FollowCase(hubcase.HubCase):
    """Every hub has a folder of its own, and the same port whenever it starts."""

    def setUp(self):
        super().setUp()
        self.ports = {}

    def site(self, name, follows=(), flags=(), env=None):
        """A hub called so that follows these: (name, port) or a dictionary as muster.yaml has it."""
        port = self.ports.setdefault(name, lib.free_port())
        rows = [f if isinstance(f, dict) else {"name": f, "url": f"http://127.0.0.1:{self.ports.setdefault(f, lib.free_port())}"} for f in follows]
        with open(self.path(name + ".yaml"), "w") as f:
            json.dump({"follow": rows}, f)
        h = self.start_hub("--config", self.path(name + ".yaml"), "--listen", f"127.0.0.1:{port}", "--commit", "10ms", *flags, data=self.path(name), env=env)
        h.url, h.port, h.name = f"http://127.0.0.1:{port}", port, name
        h.enroll = self.token("enroll", data=self.path(name))
        return h

    def start_hub(self, *flags, data=None, env=None):
        if "--listen" not in flags:
            return super().start_hub(*flags, data=data, env=env)
        p = self.start(MUSTER, "hub", "--data", data, *flags, env=env)
        p.wait_line(r"muster .* on https?://127\.0\.0\.1:\d+")
        return p

    def names(self, h, query=""):
        return [n["name"] for n in self.state(h, query)["nodes"]]

    def sites(self, h):
        return {s["name"]: s for s in lib.ask_json(h.url + "/api/v1/sites")["rows"]}

    def until_followed(self, h, name):
        lib.wait_until(f"{h.name} follows {name}", lambda: self.sites(h)[name]["connected"])

    def until_away(self, h, name, why=""):
        lib.wait_until(f"{h.name} does not follow {name}: {why}", lambda: not self.sites(h)[name]["connected"] and why in self.sites(h)[name].get("why", "") and self.sites(h)[name].get("why"))
        return self.sites(h)[name]["why"]

    def told(self, h):
        """What every screen says at its head."""
        return self.state(h).get("notice", "")


class Two(FollowCase):
    def test_a_site_is_seen_and_refused_and_stale_when_away(self):
        b = self.site("munich")
        self.node(b, "dgx1")
        a = self.site("a", ["munich"])
        self.node(a, "own1")
        self.until_followed(a, "munich")
        self.until_shown(a, "both", lambda nodes: [x["name"] for x in nodes] == ["munich/dgx1", "own1"])
        guest = self.state(a, "?node=munich/dgx1")["nodes"][0]
        there = self.state(b)["nodes"][0]
        self.assertEqual((guest["id"], guest["site"], guest["site_url"]), ("munich/" + there["id"], "munich", b.url))
        self.assertEqual([d["uuid"] for d in guest["devices"]], ["munich/" + d["uuid"] for d in there["devices"]])
        self.assertEqual(self.names(a, "?filter=site:munich"), ["munich/dgx1"])
        self.assertEqual(self.names(a, "?filter=host:munich/*"), ["munich/dgx1"])
        self.assertIn("munich/dgx1", self.run_ok(MUSTER, "ls", "--hub", a.url))
        self.assertIn("munich/dgx1", lib.ask(a.url + "/?term=true")[2].decode())
        self.assertIn("munich/dgx1", hubcase.snapshot(a.url))
        self.only_shown(a)
        self.refused(a, b, guest)
        self.no_echo(a)
        # away: stale, since when and why; then back without a restart
        b.kill9()
        self.until_away(a, "munich", "cannot reach the hub")
        lib.wait_until("a notice", lambda: self.told(a))
        self.assertRegex(self.told(a), r"^the site munich is not followed since \d{4}-\d\d-\d\d \d\d:\d\d \w+: ")
        guest = self.state(a, "?node=munich/dgx1")["nodes"][0]
        self.assertEqual((guest["state"], {d["state"] for d in guest["devices"]}), ("down", {"stale"}))
        self.assertIn("the site munich is not followed since", guest["devices"][0]["reason"])
        self.assertIn("the site munich is not followed since", "".join(str(x) for x in self.run_any(MUSTER, "ls", "--hub", a.url)))
        b = self.site("munich")
        self.until_followed(a, "munich")
        self.until_shown(a, "not stale by the line", lambda nodes: not any("is not followed" in x["reason"] for x in nodes) and len(nodes) == 2)
        self.assertSoon(lambda: self.told(a), "")
        a.stop()

    def only_shown(self, a):
        """Nothing is kept, counted or told of them."""
        self.assertEqual([n["name"] for n in lib.ask_json(a.url + "/api/v1/nodes")], ["own1"])
        metrics = lib.ask(a.url + "/metrics")[2].decode()
        self.assertNotIn("munich/", metrics)
        self.assertIn("muster_hub_sites 1\n", metrics)
        self.assertIn("muster_hub_sites_away 0\n", metrics)
        self.assertIn("muster_hub_sites_nodes 1\n", metrics)
        for path in ("/api/v1/alerts", "/api/v1/events", "/api/v1/usage?by=node", "/states/", "/sd/prometheus", "/api/v1/people"):
            self.assertNotIn("munich/", lib.ask(a.url + path)[2].decode(), path)

    def refused(self, a, b, guest):
        """With a sentence that says where to go."""
        admin = {"Authorization": "Bearer " + self.token("admin", data=self.path("a"))}
        key, gpu = urllib.parse.quote(guest["id"], safe=""), guest["devices"][0]["uuid"]
        soon = {"for": "1h", "person": "kim"}
        for method, path, body in (("POST", "/api/v1/bookings", {"devices": [gpu], **soon}), ("POST", "/api/v1/bookings", {"gpus": "munich/dgx1:0", **soon}),
                                   ("POST", "/api/v1/bookings", {"node": "munich/dgx1", "count": 1, **soon}), ("POST", "/api/v1/waits", {"node": "munich/*"}),
                                   ("POST", "/api/v1/silences", {"node": "munich/dgx1", "for": "1h", "reason": "x"}), ("POST", "/api/v1/jobs", {"name": "j", "node": "munich/dgx1"}),
                                   ("POST", "/api/v1/jobs", {"name": "j", "devices": [gpu]}), ("PATCH", "/api/v1/nodes/" + key, {"retired": True}),
                                   ("DELETE", "/api/v1/nodes/" + key, {}), ("POST", f"/api/v1/nodes/{key}/join", {"old": "own1"}),
                                   ("GET", f"/api/v1/history?device={gpu}&metric=util", None), ("GET", "/api/v1/history?device=munich/dgx1&metric=util", None),
                                   ("GET", "/api/v1/strip?device=munich/dgx1", None), ("GET", "/api/v1/events?node=munich/dgx1", None), ("GET", "/api/v1/jobs?node=munich/dgx1", None),
                                   ("GET", "/api/v1/state?at=-1m&node=munich/dgx1", None), ("GET", "/api/v1/processes?from=-1h&node=munich/dgx1", None)):
            status, _, answer = lib.ask(a.url + path, method=method, body=None if body is None else json.dumps(body), headers={"Content-Type": "application/json", **admin})
            detail = json.loads(answer).get("detail", "")
            self.assertEqual(status, 403, (method, path, answer))
            self.assertIn("to the site munich, which this hub only follows", detail, path)
            self.assertIn(b.url, detail, path)

    def no_echo(self, a):
        """Who follows a sees its own nodes alone."""
        s = hubcase.Stream(a.url + "/api/v1/stream?own=1")
        seen = {}
        while "whole" not in seen:
            kind, data = s.event()
            seen.setdefault(kind, []).append(data)
        s.close()
        self.assertEqual([n["name"] for n in seen["node"]], ["own1"])
        self.assertEqual(list(seen["hub"][0]["follows"].values()), [1])
        self.assertEqual(list(seen), ["hub", "begin", "node", "whole"])

    def seldom(self, h):
        return int(re.search(r"^muster_hub_streams_seldom (\d+)$", lib.ask(h.url + "/metrics")[2].decode(), re.MULTILINE)[1])

    def test_values_come_seldom_where_nobody_looks(self):
        b = self.site("munich")
        n = self.node(b, "dgx1")
        a = self.site("a", ["munich"])
        self.until_followed(a, "munich")
        self.assertSoon(lambda: self.seldom(b), 1)
        s = hubcase.Stream(b.url + "/api/v1/stream?own=1&seldom=1&key=k1")
        while s.event()[0] != "whole":
            pass
        self.assertSoon(lambda: self.seldom(b), 2)
        status, _, answer = lib.ask(b.url + "/api/v1/pace?key=k1&seldom=0")
        self.assertEqual((status, json.loads(answer)), (200, {"seldom": False}))
        self.assertSoon(lambda: self.seldom(b), 1)
        self.assertEqual(lib.ask(b.url + "/api/v1/pace?key=k1&seldom=1")[0], 200)
        self.assertSoon(lambda: self.seldom(b), 2)
        for key in ("k2", "", "k1%20"):
            self.assertEqual(lib.ask(b.url + f"/api/v1/pace?key={key}&seldom=1")[0], 404, key)
        self.assertEqual(self.post(b, n.stream(n.batch(util=7600)), n.token)[0], 200)  # it may wait
        self.assertEqual(lib.ask(b.url + "/api/v1/pace?key=k1&seldom=0")[0], 200)
        self.assertEqual(self.post(b, n.stream(n.batch(util=7700)), n.token)[0], 200)
        while True:
            kind, data = s.event()
            if kind == "node" and data["devices"][0]["metrics"]["util"] == 0.77:
                break
        s.close()
        self.assertSoon(lambda: self.seldom(b), 1)
        self.until_shown(a, "what came meanwhile", lambda nodes: nodes[0]["devices"][0]["metrics"]["util"] == 0.77)
        self.assertSoon(lambda: self.seldom(b), 0)  # somebody looked at a

    @lib.long
    def test_a_silent_hub_is_known_to_be_away(self):
        b = self.site("munich")
        self.node(b, "dgx1")
        a = self.site("a", ["munich"])
        self.until_followed(a, "munich")
        self.until_shown(a, "it", lambda nodes: len(nodes) == 1)
        b.p.send_signal(signal.SIGSTOP)
        try:
            self.until_away(a, "munich", "has said nothing for 8 s")
            self.assertEqual(self.state(a)["nodes"][0]["devices"][0]["state"], "stale")
        finally:
            b.p.send_signal(signal.SIGCONT)
        self.until_followed(a, "munich")
        lib.wait_until("no notice", lambda: not self.told(a))

    @lib.long
    def test_a_token_that_is_put_right_counts_without_a_restart(self):
        b = self.site("munich", flags=["--read", "token"])
        url = f"http://127.0.0.1:{self.ports['munich']}"
        a = self.site("a", [{"name": "munich", "url": url, "token_file": self.path("tok")}])
        self.until_away(a, "munich", self.path("tok"))
        with open(self.path("tok"), "w") as f:
            f.write("mst_aaaaaaaa_" + "b" * 43 + "\n")
        os.chmod(self.path("tok"), 0o600)
        self.until_away(a, "munich", "token")
        lib.wait_until("a notice", lambda: "the site munich is not followed" in self.told(a))
        with open(self.path("tok"), "w") as f:
            f.write(self.token("reader", data=self.path("munich")) + "\n")
        self.until_followed(a, "munich")
        self.assertTrue(b.alive())

    @lib.long
    def test_a_certificate_must_be_good(self):
        port = self.ports["munich"] = lib.free_port()
        b = self.start(MUSTER, "hub", "--data", self.path("munich"), "--listen", f"127.0.0.1:{port}", "--tls")
        pin = b.wait_line(r"(sha256//[A-Za-z0-9+/=]+)").group(1)
        row = {"name": "munich", "url": f"https://127.0.0.1:{port}"}
        a = self.site("a", [row])
        self.until_away(a, "munich", "certificate")
        with open(self.path("a.yaml"), "w") as f:
            json.dump({"follow": [{**row, "pin": pin}]}, f)
        a.p.send_signal(signal.SIGHUP)
        self.until_followed(a, "munich")

    @lib.long
    def test_a_reload_takes_and_leaves_sites(self):
        b = self.site("munich")
        self.node(b, "dgx1")
        a = self.site("a", ["munich"])
        self.until_shown(a, "it", lambda nodes: [n["name"] for n in nodes] == ["munich/dgx1"])
        since = self.sites(a)["munich"]["since"]
        row = {"name": "munich", "url": b.url}
        for rows, want, kept in (([row, {"name": "again", "url": f"http://localhost:{b.port}"}], ["again/dgx1", "munich/dgx1"], True),
                                 ([{**row, "name": "bavaria"}], ["bavaria/dgx1"], False), ([], [], False)):
            with open(self.path("a.yaml"), "w") as f:
                json.dump({"follow": rows}, f)
            a.p.send_signal(signal.SIGHUP)
            self.until_shown(a, want, lambda nodes: [n["name"] for n in nodes] == want)
            if kept:
                self.assertEqual(self.sites(a)["munich"]["since"], since)
        with open(self.path("a.yaml"), "w") as f:
            f.write("follow: [{url: http://kim:secret@h, name: x}]\n")
        r = "".join(str(x) for x in self.run_any(MUSTER, "config", "check", self.path("a.yaml")))
        self.assertIn("expected an address without a password", r)
        self.assertNotIn("secret", r)


@lib.long
class Three(FollowCase):
    def test_a_circle_of_two_is_refused_by_both_until_one_leaves_it(self):
        a, b = self.site("a", ["b"]), self.site("b", ["a"])
        for h, other in ((a, "b"), (b, "a")):
            self.until_away(h, other, "cannot follow each other in a circle")
            lib.wait_until("a notice", lambda: "in a circle" in self.told(h))
        with open(self.path("b.yaml"), "w") as f:
            f.write("follow: []\n")
        b.p.send_signal(signal.SIGHUP)
        self.until_followed(a, "b")

    def test_a_circle_of_three_is_found_and_a_chain_is_none(self):
        c = self.site("c")
        self.node(c, "cc")
        b = self.site("b", ["c"])
        self.node(b, "bb")
        a = self.site("a", ["b", "c"])
        self.until_followed(a, "b")
        self.until_followed(a, "c")
        self.until_shown(a, "each once", lambda nodes: [n["name"] for n in nodes] == ["b/bb", "c/cc"])
        self.until_shown(b, "one", lambda nodes: [n["name"] for n in nodes] == ["bb", "c/cc"])
        with open(self.path("c.yaml"), "w") as f:
            json.dump({"follow": [{"name": "a", "url": a.url}]}, f)
        c.p.send_signal(signal.SIGHUP)
        self.until_away(c, "a", "in a circle")

    def test_a_hub_does_not_follow_itself(self):
        port = self.ports["a"] = lib.free_port()
        a = self.site("a", [{"name": "me", "url": f"http://localhost:{port}"}])
        self.until_away(a, "me", "that is this hub itself")
        self.assertEqual(self.names(a), [])

    def test_an_old_or_foreign_server_is_named(self):
        class Old(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(self.server.text)

            def log_message(self, *args):
                pass
        for text, want in ((b'event: snapshot\ndata: {"at":5,"nodes":[]}\n\n', "too old to be followed"), (b"event: begin\ndata: []\n\n", "sent an unexpected response"),
                           (b'event: begin\ndata: {"at":5}\n\nevent: node\ndata: {"id":5}\n\n', "a node that cannot be read")):
            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Old) as s:
                s.text = text
                threading.Thread(target=s.serve_forever, daemon=True).start()
                a = self.site("a", [{"name": "old", "url": f"http://127.0.0.1:{s.server_port}"}])
                self.until_away(a, "old", want)
                a.stop()
                s.shutdown()

    @lib.plain  # sanitizers want to be loaded first
    def test_a_site_whose_clock_is_off_shows_right_ages(self):
        with open(self.path("offset"), "wb") as f:
            f.write(struct.pack("<q", -3600000))
        b = self.site("munich", env={"LD_PRELOAD": SHIM, "CLOCK_SHIM": self.path("offset")})
        self.node(b, "dgx1")
        a = self.site("a", ["munich"])
        self.until_shown(a, "it", lambda nodes: len(nodes) == 1)
        self.assertLess(abs(self.sites(a)["munich"]["clock_off_ms"] + 3600000), 60000)
        state, there = self.state(a), self.state(b)
        self.assertLess(there["at"], state["at"] - 3000000)
        self.assertLess(abs(state["nodes"][0]["since"] - there["nodes"][0]["since"] - 3600000), 60000)
        self.assertLess(state["nodes"][0]["age_ms"], 600000)


if __name__ == "__main__":
    lib.main()
