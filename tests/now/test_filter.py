#!/usr/bin/python3
"""Filters through a real hub: state, streams, processes, `muster ls`. What the language means is test_filter.c's."""
import json
import os
import pwd
import urllib.parse

import lib
from hubcase import HubCase, Stream


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Filters(HubCase):
    def gpus(self, h, text):
        return [(n["name"], d["index"]) for n in self.state(h, "?filter=" + quoted(text))["nodes"] for d in n["devices"]]

    def busy(self, h, n, user, util=9000):
        self.post(h, n.stream(n.procs((4711, user, "python", "python train.py")), n.batch(util=util)), n.token)

    def test_a_state_has_what_matches_and_says_of_how_many(self):
        h = self.hub()
        a, _ = self.node(h, "a"), self.node(h, "b")
        self.busy(h, a, "kim")
        self.assertEqual(self.gpus(h, "user:kim"), [("a", 0)])
        self.assertEqual(self.gpus(h, "not user:kim"), [("b", 0)])
        self.assertEqual(self.gpus(h, "mem=1G and (host:a or host:b) util>=50%"), [("a", 0), ("b", 0)])
        self.assertEqual(self.gpus(h, "temp>0 or not temp>0"), [])  # nobody told a temperature
        got = self.state(h, "?filter=" + quoted("util>80%"))
        self.assertEqual((got["filter"], got["of"], len(got["nodes"])), ("util>80%", 2, 1))
        self.assertEqual([n["name"] for n in lib.ask_json(h.url + "/api/v1/nodes?filter=user:kim")], ["a"])
        self.assertEqual([p["user"] for p in lib.ask_json(h.url + "/api/v1/processes?filter=user:kim")], ["kim"])
        self.assertEqual(lib.ask_json(h.url + "/api/v1/processes?filter=user:lee"), [])
        text = lib.ask(h.url + "/metrics?filter=host:b")[2].decode()
        self.assertIn('node="b"', text)
        self.assertNotIn('node="a"', text)

    def test_mine_is_the_persons_of_the_token(self):
        h = self.hub()
        a, b = self.node(h, "a"), self.node(h, "b")
        self.busy(h, a, "kim")
        self.busy(h, b, "lee")
        for person, node in (("kim", "a"), ("lee", "b")):
            auth = {"Authorization": "Bearer " + self.token("member", "--person", person)}
            got = lib.ask_json(h.url + "/api/v1/state?filter=mine", headers=auth)
            self.assertEqual([n["name"] for n in got["nodes"]], [node])
        status, headers, body = lib.ask(h.url + "/api/v1/state?filter=free+mine")
        problem = json.loads(body)
        self.assertEqual((status, headers["content-type"], problem["column"]), (400, "application/problem+json", 6))
        self.assertIn("needs a user", problem["detail"])

    def test_a_filter_that_cannot_be_read_is_refused_everywhere(self):
        h = self.hub()
        for path in ("/api/v1/state", "/api/v1/stream", "/api/v1/processes", "/api/v1/nodes", "/metrics", "/?term", "/gpu_table?term", "/states/"):
            status, _, body = lib.ask(h.url + path + ("&" if "?" in path else "?") + "filter=" + quoted("free or mem>much"))
            problem = json.loads(body)
            self.assertEqual((status, problem["column"]), (400, 13), path)
            self.assertIn("expected a size such as 40G", problem["detail"])
        self.assertEqual(lib.ask(h.url + "/api/v1/state?filter=" + "(" * 1100)[0], 400)

    def test_events_and_targets_of_a_part_of_the_cluster(self):
        h = self.hub()
        a, b = self.node(h, "a"), self.node(h, "b")
        for n in (a, b):
            self.post(h, n.stream(n.batch(util=9000 if n is a else 0, events=[(n.now(), 1, 1, 79, "fell off")])), n.token)

        def kinds(filter_text):
            got = lib.ask_json(h.url + "/api/v1/events?filter=" + quoted(filter_text))
            return sorted((e["node"], e["kind"]) for e in got if e["kind"] == "xid")

        lib.wait_until("both are records", lambda: len(kinds("host:*")) == 2)
        self.assertEqual(kinds("util>50%"), [("a", "xid")])
        self.assertEqual(kinds("host:b"), [("b", "xid")])
        self.assertEqual(len(lib.ask_json(h.url + "/api/v1/events?limit=1&filter=host:b")), 1)
        targets = lib.ask_json(h.url + "/sd/prometheus?filter=" + quoted("util>50%"))
        self.assertEqual([t["labels"]["__meta_muster_node"] for t in targets], ["a"])

    def test_what_no_longer_matches_leaves_a_stream(self):
        h = self.hub()
        a, b = self.node(h, "a"), self.node(h, "b")
        s = Stream(h.url + "/api/v1/stream?filter=" + quoted("util>80%"))
        self.addCleanup(s.close)
        kind, snapshot = s.event()
        self.assertEqual((kind, snapshot["nodes"], snapshot["filter"]), ("snapshot", [], "util>80%"))
        self.post(h, b.stream(b.batch(util=7000)), b.token)  # says nothing to this reader
        self.post(h, a.stream(a.batch(util=9000)), a.token)
        kind, node = s.event()
        self.assertEqual((kind, node["name"], node["devices"][0]["metrics"]["util"]), ("node", "a", 0.9))
        late = Stream(h.url + "/api/v1/stream?filter=" + quoted("util>80%"))  # joins the same group
        self.addCleanup(late.close)
        nodes = late.event()[1]["nodes"]
        if not nodes:  # the snapshot is one it shares with the first; what came since follows
            nodes = [late.event()[1]]
        self.assertEqual([n["name"] for n in nodes], ["a"])
        self.post(h, a.stream(a.batch(util=1000)), a.token)
        self.post(h, b.stream(b.batch(util=9900)), b.token)
        for reader in (s, late):
            got = sorted(reader.event()[0] for _ in range(2))
            self.assertEqual(got, ["gone", "node"])
        self.post(h, a.stream(a.batch(util=9500)), a.token)  # and back again
        kind, node = s.event()
        self.assertEqual((kind, node["name"]), ("node", "a"))

    def test_a_node_in_a_stream_has_the_gpus_that_match_now(self):
        h = self.hub("--vesta-token", "0000")
        got = lib.ask_json(h.url + "/register/?host_name=v&token=0000")

        def post(*utils):
            gpus = {f"gpu:{i}": {"device_num": i, "uuid": f"GPU-v{i}", "gpu_name": "GTX 1080", "temperature": 80, "total_memory": 11169, "available_memory": 3151,
                                 "used_memory": 8018, "timestamp": "x", "gpu_volatile": u, "processes": []} for i, u in enumerate(utils)}
            self.assertEqual(lib.ask(f"{h.url}/update/host/{got['id']}?token=0000", method="POST", body=json.dumps(gpus))[0], 200)

        post(90, 10, 90)
        s = Stream(h.url + "/api/v1/stream?filter=" + quoted("util>50"))
        self.addCleanup(s.close)
        self.assertEqual([d["index"] for d in s.event()[1]["nodes"][0]["devices"]], [0, 2])
        for utils, want in (((90, 90, 10), [0, 1]), ((90, 90, 90), [0, 1, 2]), ((1, 1, 51), [2])):
            post(*utils)
            kind, node = s.event()
            self.assertEqual((kind, [d["index"] for d in node["devices"]]), ("node", want))
        post(1, 1, 1)
        self.assertEqual(s.event()[0], "gone")

    def test_time_alone_moves_a_stream_on(self):
        h = self.hub()
        self.node(h, "a")
        s = Stream(h.url + "/api/v1/stream?filter=" + quoted("since>=3s"))
        self.addCleanup(s.close)
        nodes = s.event()[1]["nodes"]
        if not nodes:  # else this machine took 3 s to get here
            nodes = [s.event()[1]]  # though nothing more was sent
        self.assertEqual([n["name"] for n in nodes], ["a"])

    def test_ls_takes_a_filter_and_says_by_its_end_whether_anything_matched(self):
        h = self.hub()
        a, _ = self.node(h, "a"), self.node(h, "b")
        self.busy(h, a, pwd.getpwuid(os.getuid()).pw_name)
        ls = (lib.MUSTER, "ls", "--hub", h.url)

        def names(*flags):
            return [r["node"] for r in json.loads(self.run_any(*ls, "--json", *flags)[1])]

        self.assertEqual(names(), ["a", "b"])
        self.assertEqual(names("--mine"), ["a"])
        self.assertEqual(names("mine"), ["a"])
        self.assertEqual(names("not", "mine"), ["b"])
        self.assertEqual(names("host:a", "or", "host:b", "--mine"), ["a"])
        self.assertEqual(names("(util>=50", "host:[ab])", "not", "lost"), ["a", "b"])
        status, out, _ = self.run_any(*ls, "mem>=1G host:b")
        self.assertEqual((status, out.splitlines()[0]), (0, "1 of 2 matches 'mem>=1G host:b': 1 on b"))
        status, out, _ = self.run_any(*ls, "mem>40G")
        self.assertEqual((status, out), (1, "none of 2 match 'mem>40G'\n"))
        status, out, _ = self.run_any(*ls, "host:a", "-o", "gpu,node", "--csv")
        self.assertEqual((status, out), (0, "gpu,node\r\n0,a\r\n"))
        status, out, err = self.run_any(*ls, "-o", "gpu,nodes")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("there is no column 'nodes'; there are node, gpu, ", err)
        self.assertNotIn("THROTTLE", self.run_any(*ls, "--width", "60")[1])
        self.assertIn("THROTTLE", self.run_any(*ls, "--width", "60", "--wide")[1])
        status, out, err = self.run_any(*ls, "--free", "--mine")
        self.assertEqual((status, out, err), (1, "none of 2 match 'free mine'\n", ""))
        status, out, err = self.run_any(*ls, "free", "and", "mem>x")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("column 14 of 'free and mem>x': expected a size", err)


if __name__ == "__main__":
    lib.main()
