#!/usr/bin/python3
"""/metrics of many nodes: how large it is, that it is compressed at every size, and its parts: ?node= and ?shard=."""
import gzip
import re

import lib
from hubcase import HubCase

NODES = 250  # more than are rendered in one go


class Metrics(HubCase):
    def get(self, path, status=200):
        got, head, body = lib.ask(self.h.url + path, headers={"Accept-Encoding": "gzip"})
        self.assertEqual((got, head.get("content-encoding")), (status, "gzip") if status == 200 else (status, None), body[:300])
        return (body, gzip.decompress(body).decode()) if status == 200 else body.decode()

    def names(self, text):
        return set(re.findall(r'^muster_node_up\{node="([^"]+)"\} 1$', text, re.M))

    def test_its_size_and_its_parts(self):
        self.h = self.hub()
        token = self.secret("token", self.h.enroll)
        self.start(lib.MUSTER, "simulate", "--hub", self.h.url, "--token-file", token, "--nodes", NODES, "--actors", 10, "--interval", "5s")
        lib.wait_until("all send", lambda: len(self.names(self.get("/metrics")[1])) == NODES)
        packed, whole = self.get("/metrics")
        self.assertEqual(whole.count("\nmuster_gpu_info{"), NODES * 8)
        self.assertLess(len(whole) / NODES, 26000)
        self.assertLess(len(packed) / NODES, 5500)

        parts = [self.get(f"/metrics?shard={k}/4")[1] for k in (1, 2, 3, 4)]
        names = [self.names(part) for part in parts]
        self.assertEqual(sum(len(n) for n in names), NODES)
        self.assertEqual(set().union(*names), self.names(whole))
        self.assertTrue(all(NODES / 8 < len(n) < NODES / 2 for n in names), [len(n) for n in names])
        self.assertEqual([names[k] for k in range(4)], [self.names(self.get(f"/metrics?shard={k + 1}/4")[1]) for k in range(4)])
        self.assertEqual(["muster_hub_requests_total" in part for part in parts], [True, False, False, False])  # sums over the parts count the hub once
        self.assertEqual(self.names(self.get("/metrics?shard=1/1")[1]), self.names(whole))  # in pieces, too

        one = self.get("/metrics?node=sim7")[1]
        self.assertEqual((self.names(one), one.count("\nmuster_gpu_info{"), "muster_hub_requests_total" in one), ({"sim7"}, 8, False))
        self.assertIn("no node is called", self.get("/metrics?node=nobody", 404))
        for bad in ("0/4", "5/4", "1", "1/", "/4", "a/b", "1/1001", "-1/4"):
            self.assertIn("shard must be K/N", self.get(f"/metrics?shard={bad}", 400))


if __name__ == "__main__":
    lib.main()
