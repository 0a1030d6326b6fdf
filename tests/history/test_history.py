#!/usr/bin/python3
"""The past over HTTP and on the command line: a real hub, fed with samples of known value."""
import csv
import gzip
import io
import json
import re
import socket
import time

import lib
import sender


class History(lib.Case):
    def setUp(self):
        super().setUp()
        self.hub = self.start_hub()
        self.tokens = {}

    def post(self, node, raw):
        self.know(node)
        auth = {"Authorization": "Bearer " + self.tokens[node.key], "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=raw, headers=auth)
        self.assertEqual(status, 200, body)
        return sender.answer(body)

    def know(self, node):
        if node.key not in self.tokens:
            self.tokens[node.key] = self.token("agent")

    def feed(self, node, samples, *procs):
        """samples: (moment in ms, utilisation in 0.01 %)"""
        self.know(node)  # before it says what time it is: a token takes a while
        frames = [node.facts(), node.procs(*procs)]
        frames += [node.batch(at_ms=at, util=util) for at, util in samples]
        self.assertEqual(len(self.post(node, node.stream(*frames))["stored"]), len(samples))

    def history(self, query, **kw):
        return lib.ask_json(self.hub.url + "/api/v1/history?" + query, **kw)

    def refused(self, query):
        status, headers, body = lib.ask(self.hub.url + "/api/v1/history?" + query)
        self.assertEqual(headers["content-type"], "application/problem+json")
        return status, json.loads(body)["detail"]

    def test_samples_come_back_as_they_went_in_with_nulls_between(self):
        base = (int(time.time()) - 600) // 60 * 60000
        node = sender.Node("dgx1")
        self.feed(node, [(base + i * 1000, i * 100) for i in range(60) if not 20 <= i < 40])
        got = self.history(f"device=dgx1:0&metric=util&from={base}&to={base + 60000}&step=1s&agg=last")
        self.assertEqual((got["from"], got["to"], got["step"], got["tier"]), (base, base + 60000, 1000, "raw"))
        self.assertEqual(len(got["series"]), 1)
        s = got["series"][0]
        self.assertEqual((s["device"], s["node"], s["index"], s["metric"], s["unit"], s["agg"]), (node.uuid, "dgx1", 0, "util", "ratio", "last"))
        self.assertEqual(s["v"], [None if 20 <= i < 40 else i / 100 for i in range(60)])
        # ten seconds a bin: the mean of what there is
        got = self.history(f"device={node.uuid}&metric=util&from={base}&to={base + 60000}&step=10s&agg=avg,min,max,count")
        want = {"avg": [0.045, 0.145, None, None, 0.445, 0.545], "min": [0, 0.1, None, None, 0.4, 0.5],
                "max": [0.09, 0.19, None, None, 0.49, 0.59], "count": [10, 10, None, None, 10, 10]}
        self.assertEqual({s["agg"]: s["v"] for s in got["series"]}, want)
        # and what was sent twice counts once
        self.assertEqual(self.history(f"device=dgx1&metric=util&from={base}&to={base + 60000}&step=1m&agg=count")["series"][0]["v"], [40])

    def test_several_nodes_patterns_groups_and_filters(self):
        base = (int(time.time()) - 300) // 60 * 60000
        for i in range(3):
            self.feed(sender.Node(f"dgx{i}"), [(base + k * 1000, 1000 * (i + 1)) for k in range(60)])
        span = f"from={base}&to={base + 60000}&step=1m"
        got = self.history(f"device=dgx*&metric=util,mem_used&{span}")
        self.assertEqual(sorted((s["node"], s["metric"], s["v"][0]) for s in got["series"]),
                         sorted([(f"dgx{i}", m, v) for i in range(3) for m, v in (("util", (i + 1) / 10), ("mem_used", 1 << 30))]))
        got = self.history(f"device=dgx0,dgx2&metric=util&group=model&{span}")
        self.assertEqual([(s["model"], s["devices"], s["v"]) for s in got["series"]], [("NVIDIA Test", 2, [0.2])])
        self.assertEqual(self.history(f"metric=util&group=model&fold=sum&{span}")["series"][0]["v"], [0.6])
        whole = self.history(f"metric=util&group=all&fold=sum&{span}")["series"]
        self.assertEqual([(s["v"], s["node"], s["devices"]) for s in whole], [([0.6], None, whole[0]["devices"])])
        got = self.history(f"metric=util&filter=host:dgx1&{span}")
        self.assertEqual([s["node"] for s in got["series"]], ["dgx1"])

    def test_who_was_there_while_the_hub_was_away_is_known_after_the_catch_up(self):
        now = int(time.time() * 1000)
        node = sender.Node("dgx1")
        # live news first, then the backlog: kim's process is still there, lee's came and went meanwhile
        self.feed(node, [(now - 2000, 5000)], (11, "kim", "python", "x"))
        self.feed(node, [(now - 3600000 + k * 5000, 5000) for k in range(12)], (11, "kim", "python", "x"), (12, "lee", "train", "x"))
        self.feed(node, [(now - 3000000 + k * 5000, 5000) for k in range(12)], (11, "kim", "python", "x"))

        def spans():
            return {s["user"]: s for s in lib.ask_json(self.hub.url + "/api/v1/processes?from=-2h")["spans"]}

        got = lib.wait_until("both are records", lambda: len(spans()) == 2 and spans())
        began = 1700000000000  # they ran when the node was first heard of: they are taken to have been there before
        self.assertEqual((got["kim"]["first"], got["kim"]["ended"]), (began, False))
        self.assertEqual((got["lee"]["first"], got["lee"]["last"], got["lee"]["ended"]), (began, now - 3545000, True))
        was = lib.ask_json(self.hub.url + f"/api/v1/state?at={now - 3590000}")["nodes"][0]["devices"][0]
        self.assertEqual(sorted(p["user"] for p in was["processes"]), ["kim", "lee"])

    def strip(self, query=""):
        return lib.ask_json(self.hub.url + "/api/v1/strip?" + query)

    def test_the_strip_says_who_worked_who_held_without_work_and_what_was_wrong(self):
        base = (int(time.time()) - 1200) // 60 * 60000
        node = sender.Node("dgx1")

        def minutes(first, last):  # in the middle of each: a hub that reads late moves them by a few seconds
            return [base + m * 60000 + s * 1000 for m in range(first, last) for s in (20, 30, 40)]
        self.feed(node, [(at, 9000) for at in minutes(0, 2)], (11, "kim", "python", "x"))
        self.feed(node, [(at, 0) for at in minutes(2, 4)], (12, "lee", "train", "x"))
        hung, back = base + 270000, base + 390000
        self.post(node, node.stream(node.procs(), node.batch(at_ms=back, util=0, events=[(hung, 5, 0, 0, "hung"), (back, 6, 0, 120, "answers")])))
        free = sender.Node("dgx2")
        self.feed(free, [(at, 0) for at in minutes(0, 7)])
        query = f"from={base}&to={base + 420000}&step=1m"
        want = {"name": "dgx1:0", "node": "dgx1", "device": node.uuid, "by": "util", "work": [90, 90, 0, 0, None, None, 0],
                "held": [[0, 2, "kim"], [2, 4, "lee"]], "idle": [[2, 4]], "wrong": [(120000, "the driver did not respond")]}

        def shown():
            row = self.strip(query)["rows"][0]
            row["wrong"] = [(w["to"] - w["from"], w["what"]) for w in row.get("wrong", [])]
            return {k: row.get(k) for k in want}
        self.assertSoon(shown, want)
        got = self.strip(query)
        self.assertEqual((got["from"], got["to"], got["step"]), (base, base + 420000, 60000))
        self.assertEqual(got["free"], [1, 1, 1, 1, 1, 1, 2])
        self.assertEqual([r["name"] for r in got["rows"]], ["dgx1:0", "dgx2:0"])
        self.assertEqual([r["name"] for r in self.strip(query + "&filter=node:dgx2")["rows"]], ["dgx2:0"])
        self.assertEqual([r["name"] for r in self.strip(query + "&device=dgx1")["rows"]], ["dgx1:0"])

    def test_the_strip_is_sorted_by_work_or_by_time_without_it(self):
        base = (int(time.time()) - 600) // 60 * 60000
        for name, util, procs in (("a", 0, ()), ("b", 9000, ((11, "kim", "python", "x"),)), ("c", 0, ((12, "lee", "python", "x"),))):
            self.feed(sender.Node(name), [(base + k * 10000, util) for k in range(2, 10)], *procs)

        def names(sort):
            return [r["node"] for r in self.strip(f"from={base}&to={base + 120000}&step=1m&sort={sort}")["rows"]]
        self.assertEqual(names("node"), ["a", "b", "c"])
        self.assertEqual(names("work")[0], "b")
        self.assertSoon(lambda: names("idle")[0], "c")

    def test_the_strip_has_bookings_and_is_a_picture(self):
        node = sender.Node("dgx1")
        self.feed(node, [(node.now() - k * 1000, 5000) for k in range(5, 0, -1)])
        auth = {"Authorization": "Bearer " + self.token("admin"), "Content-Type": "application/json"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/bookings", method="POST", headers=auth,
                                  body=json.dumps({"devices": [node.uuid], "for": "2h", "person": "mia"}).encode())
        self.assertEqual(status, 201, body)
        self.assertSoon(lambda: [b["person"] for b in self.strip()["rows"][0].get("booked", [])], ["mia"])
        for word, head, kind in (("png", b"\x89PNG", "image/png"), ("svg", b"<svg ", "image/svg+xml"), ("pdf", b"%PDF", "application/pdf")):
            status, headers, body = lib.ask(self.hub.url + "/api/v1/strip?format=" + word)
            self.assertEqual((status, headers["content-type"], body[:len(head)]), (200, kind, head))
        light, dark = (lib.ask(self.hub.url + "/api/v1/strip?format=svg&theme=" + theme)[2] for theme in ("light", "dark"))
        self.assertIn(b">dgx1:0<", light)
        self.assertIn(b">the darker, ", light)
        self.assertIn(b">the brighter, ", dark)
        colours = [set(re.findall(rb"#[0-9a-f]{6}", svg)) for svg in (light, dark)]
        self.assertEqual(colours[0] & colours[1], set())  # none of one is readable on the ground of the other
        for query, words in (("format=gif", "format 'gif' is not known: there are json, png, svg, pdf and jpg"), ("sort=size", "sort 'size' is not known: there are node, work and idle"), ("theme=blue", "theme 'blue' is not known: there are light and dark"),
                             ("from=tomorrow", "from"), ("filter=x:", "")):
            status, _, body = lib.ask(self.hub.url + "/api/v1/strip?" + query)
            self.assertEqual(status, 400)
            self.assertIn(words, json.loads(body)["detail"])

    def test_a_series_for_each_user(self):
        base = (int(time.time()) - 600) // 60 * 60000
        node = sender.Node("dgx1")
        self.feed(node, [(base + k * 1000, 9000) for k in range(60)], (11, "kim", "python", "x"))
        self.feed(node, [(base + 60000 + k * 1000, 1000) for k in range(60)], (11, "kim", "python", "x"), (12, "lee", "train", "x"))
        self.feed(node, [(base + 120000 + k * 1000, 2000) for k in range(60)], (12, "lee", "train", "x"))
        self.feed(node, [(base + 180000, 0)])
        query = f"metric=util&group=user&from={base}&to={base + 240000}&step=1m"
        got = lib.wait_until("both are records", lambda: len(self.history(query)["series"]) == 2 and self.history(query))
        # kim's last sight is in the second minute, lee's in the third; the second they share
        self.assertEqual([(s["user"], s["devices"], s["v"]) for s in got["series"]], [("kim", 1, [0.9, 0.1, None, None]), ("lee", 1, [None, 0.1, 0.2, None])])
        rows = list(csv.DictReader(io.StringIO(lib.ask(self.hub.url + "/api/v1/history?format=csv&" + query)[2].decode())))
        self.assertEqual([(r["user"], r["value"]) for r in rows[:2]], [("kim", "0.9"), ("kim", "0.1")])
        text = self.run_ok(lib.MUSTER, "history", "--hub", self.hub.url, "*", "util", "--group", "user", "--from", base, "--step", "1m", "--to", base + 240000)
        self.assertEqual(text.splitlines()[0].split()[1:], ["kim", "utilisation", "lee", "utilisation"])

    def test_what_cannot_be_answered_says_why(self):
        self.feed(sender.Node("dgx1"), [(int(time.time() * 1000) - 5000, 5000)])
        for query, status, words in (("metric=nonsense", 404, "nonsense"), ("device=dgx1", 400, "which metric"), ("device=x&metric=util", 404, "'x'"),
                                     ("metric=util&from=-1d&step=1s", 413, "longer step"), ("metric=util&from=whenever", 400, "whenever"),
                                     ("metric=util&filter=bussy(", 400, "column"), ("metric=util&format=xml", 400, "xml")):
            got, detail = self.refused(query)
            self.assertEqual(got, status, query)
            self.assertIn(words, detail)

    def test_csv_etag_and_gzip(self):
        base = (int(time.time()) - 300) // 60 * 60000
        self.feed(sender.Node("dgx1"), [(base + k * 1000, 2500) for k in range(0, 60, 2)])
        url = self.hub.url + f"/api/v1/history?device=dgx1&metric=util&from={base}&to={base + 60000}&step=1s"
        status, headers, body = lib.ask(url + "&format=csv")
        self.assertEqual((status, headers["content-type"]), (200, "text/csv; charset=utf-8"))
        rows = list(csv.DictReader(io.StringIO(body.decode())))
        self.assertEqual([r["value"] for r in rows], ["0.25", ""] * 30)
        self.assertEqual({(r["node"], r["gpu"], r["metric"], r["agg"], r["unit"]) for r in rows}, {("dgx1", "0", "util", "avg", "ratio")})
        status, headers, plain = lib.ask(url)
        again, _, _ = lib.ask(url, headers={"If-None-Match": headers["etag"]})
        self.assertEqual((status, again), (200, 304))
        _, packed, body = lib.ask(url + "&points=9", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed.get("content-encoding", "none"), "gzip" if len(plain) >= 1024 else "none")

    def kept(self, n):
        """So many answers were given again. What /metrics says may be a second old."""
        lib.wait_until(f"{n} answers given again", lambda: f"\nmuster_hub_history_kept_total {n}\n" in lib.ask(self.hub.url + "/metrics")[2].decode())

    def test_an_answer_is_kept_until_a_late_batch_or_another_name_changes_it(self):
        base = (int(time.time()) - 1200) // 60 * 60000
        node, other = sender.Node("dgx1"), sender.Node("dgx2")
        self.feed(node, [(base + k * 1000, 2500) for k in range(0, 60, 2)])
        url = self.hub.url + f"/api/v1/history?device={node.uuid}&metric=util&from={base}&to={base + 60000}&step=1s&agg=count"
        first = lib.ask(url)
        for _ in range(2):
            again = lib.ask(url)
            self.assertEqual((again[0], again[2], again[1]["etag"], again[1]["content-type"]), (200, first[2], first[1]["etag"], first[1]["content-type"]))
        self.assertEqual(lib.ask(url, headers={"If-None-Match": first[1]["etag"]})[0], 304)
        packed = [lib.ask(url, headers={"Accept-Encoding": "gzip"}) for _ in range(2)]
        self.assertEqual([gzip.decompress(p[2]) if p[1].get("content-encoding") else p[2] for p in packed], [first[2]] * 2)
        self.kept(5)
        # what begins behind the span changes nothing; whoever wants it read anew says so
        self.feed(other, [(base + 60000, 100), (base + 120000, 100)])
        self.assertEqual(lib.ask(url)[2], first[2])
        self.kept(6)
        self.assertEqual(lib.ask(url, headers={"Cache-Control": "no-cache"})[2], first[2])
        # a batch that came late is there at once
        self.feed(node, [(base + 1000, 700)])
        late = json.loads(lib.ask(url)[2])["series"][0]["v"]
        self.assertEqual((sum(v or 0 for v in late), late[1]), (31, 1))
        self.assertEqual(json.loads(lib.ask(url)[2])["series"][0]["v"], late)
        self.kept(7)
        # under another name it is another answer; and what is not over yet, or ends now, is never kept
        auth = {"Authorization": "Bearer " + self.token("admin")}
        self.assertEqual(lib.ask(self.hub.url + "/api/v1/nodes/dgx1", method="PATCH", body='{"name": "box"}', headers=auth)[0], 200)
        self.assertEqual(json.loads(lib.ask(url)[2])["series"][0]["node"], "box")
        for _ in range(2):
            self.history(f"metric=util&from={base}&step=1s&to={int(time.time() * 1000) + 60000}")
            self.history("metric=util&from=-10m")
        self.assertEqual(json.loads(lib.ask(url)[2])["series"][0]["node"], "box")
        self.kept(8)

    def test_an_answer_that_is_kept_asks_for_the_same_rights(self):
        hub = self.start_hub("--read", "token", data=self.path("closed"))
        reader = {"Authorization": "Bearer " + self.token("reader", data=self.path("closed"))}
        url = hub.url + "/api/v1/history?metric=util&from=1000&to=601000&step=60s"
        self.assertEqual([lib.ask(url, headers=h)[0] for h in (reader, reader, {}, {"Authorization": "Bearer x"})], [200, 200, 401, 401])

    def test_readers_that_leave_and_many_at_once_do_no_harm(self):
        self.feed(sender.Node("dgx1"), [(int(time.time() * 1000) - 5000, 5000)])
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", self.hub.port)) as s:
                s.sendall(b"GET /api/v1/history?metric=util HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(len(self.history("metric=util")["series"]), 1)
        self.assertEqual(lib.ask(self.hub.url + "/healthz")[0], 200)

    def test_the_cluster_as_it_was(self):
        now = int(time.time())
        base = (now - 1200) * 1000
        node = sender.Node("dgx1")
        self.feed(node, [(base + k * 1000, 9000) for k in range(90)])
        self.feed(node, [(base + (k + 600) * 1000, 0) for k in range(90)])
        got = lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 60000}")
        device = got["nodes"][0]["devices"][0]
        self.assertEqual((got["at"], device["state"], device["metrics"]["util"]), (base + 60000, "busy", 0.9))
        self.assertEqual(got["nodes"][0]["state"], "up")
        device = lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 660000}")["nodes"][0]["devices"][0]
        self.assertEqual((device["state"], device["metrics"]["util"], device["metrics"]["mem_total"]), ("free", 0, 80 << 30))
        # between the two nothing was heard: unknown, not zero
        device = lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 400000}")["nodes"][0]["devices"][0]
        self.assertEqual((device["state"], device["metrics"]), ("stale", {}))
        for words, status in (("at=whenever", 400), ("at=now%2B1h", 400), ("at=-1h&node=nobody", 404)):
            self.assertEqual(lib.ask(self.hub.url + "/api/v1/state?" + words)[0], status)
        got = lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 60000}&filter=busy")
        self.assertEqual(len(got["nodes"]), 1)
        self.assertEqual(lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 60000}&filter=free")["nodes"], [])

    def test_a_node_has_the_name_of_then(self):
        base = (int(time.time()) - 1200) * 1000
        node = sender.Node("dgx1")
        self.feed(node, [(base + k * 1000, 9000) for k in range(90)])
        auth = {"Authorization": "Bearer " + self.token("admin")}
        self.assertEqual(lib.ask(self.hub.url + "/api/v1/nodes/dgx1", method="PATCH", body='{"name":"anna"}', headers=auth)[0], 200)
        self.assertEqual(lib.ask_json(self.hub.url + "/api/v1/state")["nodes"][0]["name"], "anna")
        lib.wait_until("the change on disk", lambda: lib.ask_json(self.hub.url + "/api/v1/state?at=now")["nodes"][0]["name"] == "anna")
        got = lib.ask_json(self.hub.url + f"/api/v1/state?at={base + 60000}")["nodes"][0]
        self.assertEqual((got["name"], got["devices"][0]["state"]), ("dgx1", "busy"))

    def test_the_cluster_as_it_was_has_its_processes(self):
        node = sender.Node("dgx1")
        start = int(time.time() * 1000)
        self.feed(node, [(start, 0)], (4711, "kim", "python", "python train.py"))

        def seen():  # as it was right then: later the sample is an old one
            at = min(int(time.time() * 1000), start + 5000)
            got = lib.ask_json(self.hub.url + f"/api/v1/state?at={at}")["nodes"][0]["devices"][0]
            return got if got["processes"] else None
        device = lib.wait_until("a process in the past", seen)
        self.assertEqual((device["state"], device["processes"][0]["user"], device["processes"][0]["pid"]), ("held", "kim", 4711))
        self.assertNotIn("cmd", device["processes"][0])

    def test_vesta_readers_get_several_samples_oldest_first(self):
        base = (int(time.time()) - 30) * 1000
        self.feed(sender.Node("dgx1"), [(base + k * 2000, 1000 + 100 * k) for k in range(10)])
        self.assertEqual(len(lib.ask_json(self.hub.url + "/states/dgx1/")["dgx1"]["data"]), 1)
        for path in ("/states/dgx1/", "/states/"):
            got = lib.ask_json(self.hub.url + path + "?fetch_num=4")["dgx1"]
            self.assertEqual([e["gpu_data"]["gpu:0"]["gpu_volatile"] for e in got["data"]], [16, 17, 18, 19])
            self.assertEqual(got["status"], "running")
            stamps = [e["timestamp"] for e in got["data"]]
            self.assertEqual(stamps, sorted(set(stamps)))
        self.assertEqual(len(lib.ask_json(self.hub.url + "/states/dgx1/?fetch_num=100")["dgx1"]["data"]), 10)

    def test_muster_history(self):
        base = (int(time.time()) - 300) // 60 * 60000
        self.feed(sender.Node("dgx1"), [(base + k * 1000, 2500) for k in range(60)])
        ask = [lib.MUSTER, "history", "--hub", self.hub.url, "dgx1:0", "util"]
        text = self.run_ok(*ask, "--from", base, "--to", base + 120000, "--step", "1m")
        self.assertEqual([line.split() for line in text.splitlines()[1:]][0][2:], ["25", "%"])
        self.assertEqual(text.splitlines()[2].split()[-1], "-")
        status, text, err = self.run_any(*ask, "--from", base - 600000, "--to", base + 120000, "--step", "1m")  # it begins where there is data
        self.assertEqual((status, len(text.splitlines()), text.splitlines()[1].split()[2:]), (0, 3, ["25", "%"]))
        self.assertIn("no samples before " + text.splitlines()[1][:16], err)
        self.assertEqual(json.loads(self.run_ok(*ask, "--json", "--last", "10m"))["series"][0]["metric"], "util")
        self.assertTrue(self.run_ok(*ask, "--csv").startswith("time,node,gpu"))
        self.assertEqual(self.run_any(*ask[:-1])[0], 2)
        status, _, err = self.run_any(*ask[:-1], "utli")
        self.assertEqual(status, 2, "a mistyped name is a mistake of the one who typed it")
        self.assertIn("did you mean 'util'", err)


class Record(lib.Case):
    def record(self, *argv):
        with open(self.path("stub"), "w", encoding="ascii") as f:
            f.write("")
        env = {"MUSTER_NVML_STUB": self.path("stub"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_COLLECTOR": "nvml", "MUSTER_STATE_DIR": self.path("state")}
        return self.run_any(lib.MUSTER, "record", "--every", "200ms", *argv, env=env)

    def test_the_exit_status_and_output_are_the_commands(self):
        status, out, err = self.record("--", "sh", "-c", "echo said; exit 7")
        self.assertEqual((status, out), (7, "said\n"))
        self.assertIn("ran ", err)
        self.assertEqual(self.record("--quiet", "--", "sh", "-c", "kill -TERM $$"), (143, "", ""))
        status, _, err = self.record("--", self.path("nothing"))
        self.assertEqual(status, 127)
        self.assertIn("cannot start", err)
        self.assertEqual(self.record()[0], 2)

    def test_peaks_means_and_csv_of_every_gpu(self):
        for seconds in ("2", "20", "100"):  # on a machine that has much to do the first samples come late
            status, _, err = self.record("--all", "--csv", self.path("run.csv"), "--", "sleep", seconds)
            self.assertEqual(status, 0)
            with open(self.path("run.csv"), encoding="utf-8", newline="") as f:
                found = [r for r in csv.DictReader(f) if r["metric"] == "util" and r["gpu"] == "0"]
            if len(found) > 2:
                break
        self.assertGreater(len(found), 2)
        self.assertRegex(err, r"(?s)gpu 0 .*util +peak .* %, mean .* %.*mem_used +peak")
        self.assertRegex(err, r"\n +energy +[0-9.]*[1-9][0-9.]* Wh\n", "also where the counter was read only once")
        _, _, err = self.record("--", "sleep", "1")
        self.assertIn("it used no GPU", err)


if __name__ == "__main__":
    lib.main()
