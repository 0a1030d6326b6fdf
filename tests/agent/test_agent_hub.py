#!/usr/bin/python3
"""The node agent and a hub that is away, hangs, lies or refuses. P1 to P5 are DESIGN.md's promises."""
import base64
import contextlib
import hashlib
import http.server
import os
import shutil
import subprocess
import threading
import time
import unittest

import fakehub
import lib
from agentcase import TOKEN, AgentCase, children, maps_stub
from fakehub import FakeHub
from lib import wait_until


class Outage(AgentCase):
    def test_p3_a_hub_that_is_away_gets_everything_in_order_beside_live_data(self):
        a = self.agent(leaks=True)
        self.wait_collect("ok")
        self.wait_stored(2)
        self.hub.stop()
        wait_until("a backlog", lambda: self.spooled() >= 12)
        before = len(self.hub.keys())
        self.hub.back()
        wait_until("caught up", lambda: self.spooled() == 0)
        a.stop()
        run = self.hub.runs()[0]
        self.assert_whole(run)
        late = self.hub.numbers(run)[before:]
        gone = [n for n in late if n <= before + 11]
        self.assertEqual(gone, sorted(gone))  # oldest first
        with self.hub.lock:
            self.assertLessEqual(max(len(p.batches) for p in self.hub.posts), 8)

    def test_p3_live_data_is_not_starved_by_a_slow_catch_up(self):
        self.agent()
        self.wait_collect("ok")
        self.hub.stop()
        wait_until("a backlog", lambda: self.spooled() >= 30)

        old = max(n for _, n in self.hub.keys()) + 25  # on disk before the hub came back

        def slow(_handler, post):  # holds up what waited until something fresh has come, or for ever so long
            end = time.monotonic() + 5
            while len(post.batches) > 1 and time.monotonic() < end and not any(n > old + 10 for _, n in self.hub.keys()):
                time.sleep(0.05)
            return False
        self.hub.mode = slow
        self.hub.start()
        wait_until("caught up", lambda: self.spooled() == 0)
        numbers = self.hub.numbers(self.hub.runs()[0])
        fresh = [i for i, n in enumerate(numbers) if n > old + 10]
        self.assertLess(fresh[0], max(i for i, n in enumerate(numbers) if n <= old))  # live ones overtake those that wait
        self.assert_whole(self.hub.runs()[0])

    def test_p1_kill_9_of_the_agent_costs_at_most_the_batch_being_filled(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.hub.stop()
        wait_until("a backlog", lambda: self.spooled() >= 8)
        made = len(self.hub.keys()) + self.spooled()
        a.kill9()
        self.hub.back()
        self.agent()
        wait_until("a second run", lambda: len(self.hub.runs()) == 2)
        wait_until("caught up", lambda: self.spooled() == 0)
        first = self.hub.runs()[0]
        self.assert_whole(first)
        self.assertGreaterEqual(len(self.hub.numbers(first)), made)  # those that were whole by then

    def test_p2_an_answer_that_is_lost_makes_a_repeat_with_the_same_key_and_bytes(self):
        lost = []

        def store_and_drop(handler, post):
            with self.hub.lock:
                self.hub.store(post)
            if len(lost) < 3 and post.batches:
                lost.append(post)
                return fakehub.drop(handler, post)
            return False
        self.hub.mode = store_and_drop
        a = self.agent()
        wait_until("lost answers", lambda: len(lost) == 3)
        wait_until("repeats", lambda: self.hub.repeats >= 3)  # store() checks that the bytes are the same
        self.wait_stored(len(self.hub.keys()) + 3)
        a.stop()
        self.assert_whole(self.hub.runs()[0])

    def test_p1_a_hub_that_hangs_makes_batches_go_to_disk_within_seconds(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.hub.mode = fakehub.hang()
        wait_until("a backlog", lambda: self.spooled() >= 3)
        a.kill9()
        self.hub.stop()
        self.hub.back()
        self.agent()
        wait_until("a second run", lambda: len(self.hub.runs()) == 2)
        wait_until("caught up", lambda: self.spooled() == 0)
        self.assert_whole(self.hub.runs()[0])

    def test_spool_always_writes_before_it_sends(self):
        self.hub.mode = fakehub.hang()
        a = self.agent(env={"MUSTER_SPOOL": "always"})
        wait_until("on disk", lambda: os.path.exists(self.path("state/agent.sock")) and self.spooled() >= 1)
        a.kill9()
        self.hub.stop()
        self.hub.back()
        self.agent()
        wait_until("the first run", lambda: len(self.hub.runs()) == 2)
        self.assert_whole(self.hub.runs()[0])

    def test_the_spool_is_bounded_and_says_what_it_gave_up(self):
        self.hub.stop()
        a = self.agent("--spool-max-bytes", "1M", "--tick", "100ms", "--interval", "200ms")
        wait_until("a backlog", lambda: os.path.exists(self.path("state/agent.sock")) and self.spooled() >= 5)
        size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(self.path("state")) for f in files)
        self.assertLess(size, 3 << 20)
        self.assertTrue(a.alive())

    def test_sigterm_sends_what_is_left(self):
        a = self.agent(env={"MUSTER_INTERVAL": "600s"})
        wait_until("it measures", lambda: os.path.exists(self.path("state/agent.sock")) and "devices ok" in self.ask("status"))
        self.assertEqual(a.stop(), 0)
        self.assertEqual(self.hub.events()[-1], ("stop", 0))
        self.assert_whole(self.hub.runs()[0])

    def test_sigterm_spools_what_a_hanging_hub_does_not_take(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.hub.mode = fakehub.hang()
        self.assertEqual(a.stop(), 0)
        self.hub.stop()
        self.hub.back()
        self.agent()
        wait_until("the last batch", lambda: ("stop", 0) in self.hub.events())
        self.assert_whole(self.hub.runs()[0])


class BadHub(AgentCase):
    def survives(self, mode, posts=3):
        """The hub answers so for some POSTs, then well: nothing is missing in the end."""
        self.hub.mode = mode
        a = self.agent("--log-level", "debug")
        wait_until("some POSTs", lambda: self.hub.count() >= posts)
        self.hub.mode = None
        self.wait_stored(3)
        wait_until("caught up", lambda: self.spooled() == 0)
        a.stop()
        self.assert_whole(self.hub.runs()[0])
        return a

    def test_p4_garbage_answers_cost_nothing(self):
        for body in (os.urandom(5000), b"stored zzz 1\n", b"<html>please log in</html>", b"time 99999999999999999999\n", b"\0" * 100, b"stored " * 20000):
            with self.subTest(body=body[:20]):
                self.survives(fakehub.status(200, body))
                shutil.rmtree(self.path("state"))
                with self.hub.lock:
                    self.hub.posts.clear(), self.hub.stored.clear(), self.hub.order.clear(), self.hub.blobs.clear()

    def test_p4_an_endless_answer_is_cut(self):
        def endless(handler, _post):
            handler.send_response(200)
            handler.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(4000):
                    handler.wfile.write(b"word " * 2000)
            handler.close_connection = True
            return True
        a = self.survives(endless)
        self.assertIn("longer than", a.text)

    def test_p4_errors_cost_nothing(self):
        for code in (500, 503, 404, 302):
            with self.subTest(code=code):
                self.survives(fakehub.status(code, b"no", [("Location", "http://127.0.0.1:1/")]))
                shutil.rmtree(self.path("state"))
                with self.hub.lock:
                    self.hub.posts.clear(), self.hub.stored.clear(), self.hub.order.clear(), self.hub.blobs.clear()

    def test_p4_closed_connections_cost_nothing(self):
        self.survives(fakehub.drop)

    def test_retry_after_is_honoured(self):
        self.hub.mode = fakehub.status(429, b"slow down", [("Retry-After", "3")])
        self.agent()
        wait_until("one", lambda: self.hub.count() >= 2)
        with self.hub.lock:
            gap = self.hub.posts[1].at - self.hub.posts[0].at
        self.assertGreater(gap, 2.9)

    def test_a_batch_the_hub_refuses_alone_does_not_hold_up_the_others(self):
        def poison(handler, post):
            if any(b.number == 2 for b in post.batches):
                fakehub.reply(handler, 400, b"this batch is bad")
                return True
            return False
        self.hub.mode = poison
        a = self.agent()
        a.wait_line(r"batch [0-9a-f]{16}/2 is given up: HTTP 400: this batch is bad")
        wait_until("caught up", lambda: self.spooled() == 0)
        a.stop()
        numbers = self.hub.numbers(self.hub.runs()[0])
        self.assertEqual(sorted(numbers + [2]), list(range(1, len(numbers) + 2)))
        self.assertIn(("dropped", 0), self.hub.events())

    def test_a_body_too_large_is_sent_in_parts(self):
        self.agent()
        self.wait_collect("ok")
        self.hub.stop()
        wait_until("a backlog", lambda: self.spooled() >= 10)

        def small(handler, post):
            if len(post.batches) > 2:
                fakehub.reply(handler, 413, b"too large")
                return True
            return False
        self.hub.mode = small
        self.hub.start()
        wait_until("caught up", lambda: self.spooled() == 0)
        self.assert_whole(self.hub.runs()[0])

    def test_the_token_is_in_no_log_and_in_no_process_list(self):
        def echo(handler, post):
            fakehub.reply(handler, 500, f"you said {post.headers['Authorization']}".encode())
            return True
        self.hub.mode = echo
        a = self.agent("--log-level", "debug", f"--token={TOKEN}")
        wait_until("some POSTs", lambda: self.hub.count() >= 2)
        self.hub.mode = fakehub.status(200, f"token {TOKEN} {TOKEN}\nstored {TOKEN}".encode())
        n = self.hub.count()
        wait_until("more POSTs", lambda: self.hub.count() >= n + 2)
        self.hub.tokens = set()
        self.hub.mode = None
        a.wait_line("HTTP 401")
        everything = [a.p.pid] + wait_until("one collector at work", lambda: (c := children(a.p.pid)) and len(c) == 1 and maps_stub(c[0]) and c)
        for pid in everything:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                self.assertNotIn(TOKEN.encode(), f.read())
        with open(f"/proc/{everything[1]}/environ", "rb") as f:
            self.assertNotIn(TOKEN.encode(), f.read())
        a.stop()
        self.assertNotIn(TOKEN, a.text)
        self.assertIn("not shown", a.text)


class Transport(AgentCase):
    def certificate(self, name):
        key, cert = self.path(name + ".key"), self.path(name + ".crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "36500",
                        "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        der = subprocess.run(["openssl", "x509", "-in", cert, "-pubkey", "-noout"], check=True, stdout=subprocess.PIPE).stdout
        der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=der, check=True, stdout=subprocess.PIPE).stdout
        return cert, key, "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode()

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls_is_verified_by_pin_or_ca_file(self):
        cert, key, pin = self.certificate("a")
        _, _, other = self.certificate("b")
        with FakeHub((cert, key)) as hub:
            for flags, good in (([], False), (["--pin", other], False), (["--pin", pin], True), (["--ca-file", cert], True), (["--ca-file", self.path("b.crt")], False),
                                (["--ca-file", cert, "--pin", other], False)):
                with self.subTest(flags=flags):
                    shutil.rmtree(self.path("state"), ignore_errors=True)
                    n = len(hub.keys())
                    a = self.agent("--hub", hub.url, *flags, hub=False)
                    if good:
                        self.wait_stored(n + 1, hub)
                    else:
                        a.wait_line("does not take our batches")
                        self.assertEqual(hub.count(), 0 if not n else hub.count())
                    a.stop()

    def test_a_proxy_is_used(self):
        seen = []

        class Proxy(http.server.BaseHTTPRequestHandler):
            def log_message(self, *a):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                seen.append(self.path)
                status, _, answer = lib.ask(self.path, "POST", body, dict(self.headers))
                fakehub.reply(self, status, answer)

        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        self.agent("--proxy", f"http://127.0.0.1:{proxy.server_address[1]}")
        self.wait_stored(2)
        self.assertTrue(seen and all(s == self.hub.url + "/api/v1/batches" for s in seen))


if __name__ == "__main__":
    lib.main()
