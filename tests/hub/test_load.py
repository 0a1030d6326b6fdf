#!/usr/bin/python3
"""Many nodes out of one process: `simulate --actors`, and what it says of itself."""
import gzip
import http.client
import json
import re
import socket
import subprocess
import zlib

import fakehub
import lib
import sender


class Crowd(lib.Case):
    def simulate(self, hub, *flags):
        argv = [lib.MUSTER, "simulate", "--hub", hub.url, "--token", self.token("enroll", "--uses", "20000"), *flags]
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)

    def test_nodes_that_repeat_others_are_nodes_of_their_own(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--nodes", "40", "--actors", "4", "--gpus", "2", "--tick", "200ms", "--interval", "1s", "--duration", "4s", "--drain", "180s")
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text)
        made, stored, waiting, samples = (int(x) for x in re.search(r"(\d+) batches made, (\d+) stored, (\d+) waiting, (\d+) samples", text.splitlines()[-1]).groups())
        self.assertGreaterEqual(made, 80)
        self.assertEqual((stored, waiting), (made, 0))
        self.assertGreater(samples, made * 40)
        nodes = lib.ask_json(hub.url + "/api/v1/state")["nodes"]
        self.assertEqual(len({n["id"] for n in nodes}), 40)
        self.assertEqual(sorted({n["name"] for n in nodes}), sorted(f"sim{i + 1}" for i in range(40)))
        self.assertEqual(len({d["uuid"] for n in nodes for d in n["devices"]}), 80)
        self.assertEqual({n["state"] for n in nodes}, {"up"})

    def test_an_answer_through_a_proxy_is_read(self):
        with fakehub.FakeHub() as hub:  # writes names of headers small, as haproxy does
            done = subprocess.run([lib.MUSTER, "simulate", "--hub", hub.url, "--token", "any", "--nodes", "2", "--interval", "1s", "--duration", "3s", "--drain", "180s"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout.decode())
            self.assertGreater(len(hub.keys()), 2)
            self.assertEqual(hub.repeats, 0)

    def test_a_large_state_is_compressed_once_beside_the_loop(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--nodes", "200", "--actors", "4", "--gpus", "8", "--interval", "1s", "--duration", "2s")
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        plain = lib.ask(hub.url + "/api/v1/state")[2]
        self.assertGreater(len(plain), 1 << 20)
        ask = b"GET /api/v1/state HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
        for _ in range(3):  # some leave before it is done, one asks twice in a row
            gone = [socket.create_connection(("127.0.0.1", hub.port)) for _ in range(4)]
            for s in gone:
                s.sendall(ask)
            stays = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=lib.LIMIT_S)
            stays.request("GET", "/api/v1/state", headers={"Accept-Encoding": "gzip"})
            for s in gone:
                s.close()
            for again in (True, False):
                answer = stays.getresponse()
                self.assertEqual((answer.status, answer.headers["Content-Encoding"]), (200, "gzip"))
                self.assertEqual(len(json.loads(gzip.decompress(answer.read()))["nodes"]), 200)
                if again:
                    stays.request("GET", "/api/v1/state", headers={"Accept-Encoding": "gzip"})
            stays.close()
        self.assertEqual(lib.ask(hub.url + "/healthz")[0], 200)

    def test_what_is_given_out_again_is_not_taken_for_the_newest(self):
        hub = self.start_hub("--commit", "10ms")
        done = self.simulate(hub, "--nodes", "200", "--actors", "4", "--gpus", "8", "--interval", "1s", "--duration", "2s")
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        n, token, url = sender.Node("late"), self.token("agent"), hub.url + "/api/v1/state"
        older = 0
        for util in range(100, 2100, 100):  # a state is shared for as long as it took to draw, and more
            lib.ask(url)
            raw = n.stream(n.facts(), n.procs(), n.batch(util=util))
            status, _, said = lib.ask(hub.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token})
            self.assertEqual(status, 200, said)
            _, headers, body = lib.ask(url)
            shown = [x["devices"][0]["metrics"]["util"] for x in json.loads(body)["nodes"] if x["name"] == "late"]
            if shown != [util / 10000]:
                older += 1
                self.assertEqual(lib.ask(url, headers={"If-None-Match": headers["etag"]})[0], 200, "there is something newer")
        print(f"{older} of 20 were older ones ", end="", flush=True)

    def test_a_ledger_and_actors_do_not_go_together(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--actors", "1", "--ledger", self.path("ledger"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"do not go together", done.stdout)

    def counts(self, hub):
        """The hub's own counters: what it did, not how long it took."""
        self.asked = getattr(self, "asked", 0) % 900 + 1
        # one node's, so that asking costs next to nothing; another one's each time, since an answer is kept for the rest of its second
        text = lib.ask(hub.url + f"/metrics?filter=node:sim{self.asked}")[2].decode()
        return {m.group(1): int(m.group(2)) for m in re.finditer(r"^muster_hub_(\w+?)(?:_total)? (\d+)$", text, re.M)}

    def snapshot(self, hub, path, packed):
        """The data of a stream's first event."""
        unpack = zlib.decompressobj(31) if packed else None
        text = b""
        with socket.create_connection(("127.0.0.1", hub.port), timeout=lib.LIMIT_S) as s, s.makefile("rb") as f:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {'gzip' if packed else 'identity'}\r\n\r\n".encode())
            while f.readline() != b"\r\n":
                pass
            while not (m := re.search(rb"^event: snapshot\ndata: (.*)\n\n", text, re.M)):
                more = f.read1(1 << 20)
                self.assertTrue(more, text[-300:])
                text += unpack.decompress(more) if packed else more
        return m.group(1)

    def test_what_a_node_costs_does_not_depend_on_how_many_there_are(self):
        """1,000 nodes with as many batches as a minute has: work is counted, in steps of the database and in pieces drawn."""
        hub = self.start_hub("--max-connections", "1100", "--max-per-address", "1100")
        done = self.simulate(hub, "--nodes", "1000", "--actors", "20", "--tick", "200ms", "--interval", "500ms", "--duration", "6s", "--drain", "180s")
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text)
        made, stored = (int(x) for x in re.search(r"(\d+) batches made, (\d+) stored", text.splitlines()[-1]).groups())
        self.assertEqual(stored, made)
        # usage of some hundred nodes was written, each amid the names of 8,000 devices
        lib.wait_until("usage of 150 nodes is counted", lambda: self.counts(hub)["usage_counts"] >= 150)
        before = self.counts(hub)
        print(f"{before['batches']} batches, {before['store_records']} records, {before['usage_counts']} hours counted, {before['store_steps']} steps of the database")
        self.assertGreaterEqual(before["batches"], 1000)
        self.assertLess(before["store_records"], 40 * 1000 + before["batches"], "records for each node, and few for each batch")
        self.assertLess(before["store_steps"], 100 * before["store_records"] + 1500 * before["usage_counts"], "steps of the database for each record and counted hour")
        # everybody's state is drawn in pieces, so that others are answered in between; one node's in one go
        whole = lib.ask(hub.url + "/api/v1/state")[2]
        self.assertEqual(len(json.loads(whole)["nodes"]), 1000)
        between, again = self.counts(hub), self.counts(hub)
        own = again["pieces"] - between["pieces"]  # /metrics is drawn in pieces, too
        self.assertGreater(between["pieces"] - before["pieces"], len(whole) / (512 << 10), "no piece is large")
        self.assertEqual(len(lib.ask_json(hub.url + "/api/v1/state?node=sim1")["nodes"]), 1)
        self.assertLess(self.counts(hub)["pieces"] - again["pieces"], own + 10, "one node draws no other")
        # and so is what a stream begins with, compressed or not, with a filter or without
        for packed in (False, True):
            for query, names in (("", {f"sim{i + 1}" for i in range(1000)}), ("?filter=node:sim7", {"sim7"})):
                between = self.counts(hub)
                snapshot = self.snapshot(hub, "/api/v1/stream" + query, packed)
                self.assertEqual({n["name"] for n in json.loads(snapshot)["nodes"]}, names)
                self.assertGreater(self.counts(hub)["pieces"] - between["pieces"], len(snapshot) / (512 << 10), "no piece is large")


if __name__ == "__main__":
    lib.main()
