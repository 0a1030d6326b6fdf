"""Room for those who come: streams of one address, few descriptors."""
import contextlib
import http.client
import os
import resource
import socket

import lib
from sender import Node, answer


class Room(lib.Case):
    """Few descriptors, and readers who would take all streams."""

    def hub(self, *flags):
        return self.start_hub("--commit", "10ms", "--read", "open", *flags)

    def opened(self, h, *, data=b"", n=1):
        """Connections that have sent data; refused ones are among them."""
        got = []
        for _ in range(n):
            s = socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S)
            self.addCleanup(s.close)
            with contextlib.suppress(OSError):
                s.sendall(data)
            got.append(s)
        return got

    def wait_healthy(self, h):
        self.wait_ok("the hub to answer with all of them there", lambda: lib.ask(h.url + "/healthz"))

    def wait_ok(self, what, ask):
        """Asks until there is room."""
        def ok():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return ask()[0] == 200
        lib.wait_until(what, ok)

    def stream(self, h, client=None):
        """The status of a stream that stays open, asked for by a client of the proxy's."""
        ask = b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n" + (b"X-Forwarded-For: 203.0.113.8\r\n" + f"X-Forwarded-For: 203.0.113.9, {client}\r\n".encode() if client else b"") + b"\r\n"
        return int(self.opened(h, data=ask)[0].recv(4096).split(b" ")[1])

    def test_one_address_has_its_share_of_streams_and_behind_a_proxy_each_client_has(self):
        h = self.hub("--max-streams", "9", "--max-streams-per-address", "3", "--proxy.from", "127.0.0.0/8")
        self.assertEqual([self.stream(h, "198.51.100.1") for _ in range(4)], [200, 200, 200, 503])
        self.assertEqual([self.stream(h, "198.51.100.2") for _ in range(4)], [200, 200, 200, 503])
        self.assertEqual([self.stream(h) for _ in range(4)], [200, 200, 200, 503])  # the proxy's own
        self.assertEqual(self.stream(h, "198.51.100.3"), 503)  # nine in all
        reply = lib.ask(h.url + "/api/v1/stream", headers={"X-Forwarded-For": "198.51.100.1"})
        self.assertEqual((reply[0], reply[1]["retry-after"]), (503, "30"))

    def test_whoever_is_no_proxy_forwards_for_nobody(self):
        h = self.hub("--max-streams-per-address", "3")
        self.assertEqual([self.stream(h, f"198.51.100.{i}") for i in range(4)], [200, 200, 200, 503])

    def few(self, argv):
        """With 64 descriptors, and not as root who could have more."""
        drop = ["setpriv", "--bounding-set", "-sys_resource"] if os.geteuid() == 0 else []
        p = self.start(*drop, "prlimit", "--nofile=64:64", *argv)
        m = p.wait_line(r"(https?)://(127\.0\.0\.1):(\d+)")
        p.url, p.port = m.group(0), int(m.group(3))
        return p

    def test_with_few_descriptors_the_hub_keeps_some_and_answers(self):
        h = self.few([lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", self.path("data"), "--read", "open", "--commit", "10ms"])
        n, enroll = Node("n1"), self.token("enroll")
        post = lambda body, token: lib.ask(h.url + "/api/v1/batches", method="POST", body=body, headers={"Authorization": "Bearer " + token})
        token = answer(post(n.first(), enroll)[2])["token"]
        for name, data in (("idle", b""), ("half a head", b"GET / HTTP/1.1\r\nHost: loc"), ("streams", b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                           ("half a body", b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")):
            with self.subTest(name):
                self.opened(h, data=data, n=80)
                self.wait_healthy(h)
        self.wait_ok("the store to have what it needs", lambda: post(n.stream(n.batch()), token))
        self.wait_ok("and so has a reader of it", lambda: lib.ask(h.url + "/api/v1/history?device=n1&metric=util"))
        self.assertEqual(resource.prlimit(h.p.pid, resource.RLIMIT_NOFILE), (64, 64))  # it did not help itself to more

    def test_descriptors_that_run_out_are_given_back(self):
        h = self.hub()
        resource.prlimit(h.p.pid, resource.RLIMIT_NOFILE, (48, 48))  # behind its back
        self.opened(h, data=b"GET / HTTP/1.1\r\nHost: loc", n=80)
        self.wait_healthy(h)
        self.opened(h, n=80)
        self.wait_healthy(h)


if __name__ == "__main__":
    lib.main()
