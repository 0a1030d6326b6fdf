#!/usr/bin/python3
"""H6: the largest questions about the past, asked by many who hardly read the answers or leave, hold up neither agents nor the page."""
import socket
import time

import lib
import sample_feed

CLIENTS = 60
BIG = "/api/v1/history?metric=util,mem_used,power,temp&from=-20h&step=60s&agg=avg,min,max,last"


class SlowReaders(lib.Case):
    def setUp(self):
        super().setUp()
        self.enroll = self.token("enroll")
        self.run_ok(lib.MUSTER, "simulate", "--backfill", "20h", "--nodes", "20", "--gpus", "8", "--every", "20s", "--data", self.path("data"), "-q", limit=300)
        self.hub = self.start_hub("--commit", "20ms")
        self.socks = []
        self.addCleanup(lambda: [s.close() for s in self.socks])

    def ask_slowly(self, path):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(lib.LIMIT_S)
        s.connect(("127.0.0.1", self.hub.port))
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.socks.append(s)
        return s

    def test_H6_ingest_and_page_go_on_while_many_ask_for_the_most(self):
        def whole():
            status, _, body = lib.ask(self.hub.url + BIG)
            self.assertIn(status, (200, 503), body[:300])  # what takes the machine too long is given up, and asked again
            return body if status == 200 else None
        self.assertGreater(len(lib.wait_until("the whole answer", whole)), 1 << 20, "it is a large answer")
        for _ in range(CLIENTS):
            self.ask_slowly(BIG)
        feeder = sample_feed.Feeder(self.hub.port, self.enroll, "live", int(time.time() * 1000) - 3600000, 1000, seed=1)
        feeder.start()
        self.addCleanup(feeder._stop_now.set)
        for i in range(30):  # in turn: an agent's batch is acknowledged, the page and its data come
            sent = feeder.sent
            lib.wait_until("an agent is acknowledged", lambda: feeder.sent > sent, pause=0.005)
            self.assertEqual(lib.ask(self.hub.url + "/healthz")[0], 200)
            self.assertEqual(lib.ask(self.hub.url + "/api/v1/state?node=live")[0], 200)
        # nobody has their whole answer: what was done above was done meanwhile, not afterwards
        first = [s.recv(1024) for s in self.socks[:2]]
        self.assertTrue(all(b.startswith(b"HTTP/1.1") for b in first))
        feeder.stop()
        # they leave, and what they asked is not worked on any more (K3, in test_workers.c): a small question is answered
        for s in self.socks:
            s.close()
        got = lib.wait_until("a small question is answered", lambda: lib.ask(self.hub.url + "/api/v1/history?device=live:0&metric=util&from=-2h&step=1h&agg=count", limit=120)[0] == 200)
        self.assertTrue(got)
        self.assertEqual(sample_feed.wrong_values(self.hub.url, feeder, 1000), [])
        self.assertEqual(self.hub.stop(), 0, self.hub.text)


if __name__ == "__main__":
    lib.main()
