#!/usr/bin/python3
"""Many nodes out of one process: `simulate --actors`, and what it says of itself."""
import gzip
import http.client
import json
import re
import socket
import subprocess

import lib


class Crowd(lib.Case):
    def simulate(self, hub, *flags):
        argv = [lib.MUSTER, "simulate", "--hub", hub.url, "--token", self.token("enroll", "--uses", "20000"), *flags]
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)

    def test_nodes_that_repeat_others_are_nodes_of_their_own(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--nodes", "40", "--actors", "4", "--gpus", "2", "--tick", "200ms", "--interval", "1s", "--duration", "4s")
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
            stays = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=30)
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

    def test_a_ledger_and_actors_do_not_go_together(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--actors", "1", "--ledger", self.path("ledger"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"do not go together", done.stdout)


if __name__ == "__main__":
    lib.main()
