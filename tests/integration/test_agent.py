#!/usr/bin/python3
"""The node agent against a hub that can misbehave and a driver that can hang. P1 to P5 are DESIGN.md's promises."""
import base64
import contextlib
import hashlib
import http.server
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import fakehub
import lib
from fakehub import FakeHub
from lib import wait_until

TOKEN = "mst_secret-token-of-the-tests"
INTERVAL_S = 0.5


def children(pid):
    """Processes whose parent is pid, zombies included."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(name))
    return found


def maps_stub(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
            return "libnvml-stub" in f.read()
    return False


class AgentCase(lib.Case):
    def setUp(self):
        super().setUp()
        self.hub = FakeHub()
        self.addCleanup(self.hub.stop)
        self.driver("gpus 2")

    def driver(self, *lines):
        """What the fake driver is from now on."""
        with open(self.path("stub.new"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(self.path("stub.new"), self.path("stub"))

    def agent(self, *flags, hub=True, env=None, **kw):
        e = {"MUSTER_STATE_DIR": self.path("state"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub"),
             "MUSTER_TOKEN": TOKEN, "MUSTER_NAME": "testnode", "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": f"{INTERVAL_S}s",
             "MUSTER_COLLECTOR": "nvml", "MUSTER_COLLECT_TIMEOUT": "1s"}
        if hub:
            e["MUSTER_HUB"] = self.hub.url
        e.update(env or {})
        return self.start(lib.AGENT, *flags, env={k: v for k, v in e.items() if v is not None}, **kw)

    def ask(self, *words):
        return self.run_ok(lib.AGENT, "--state-dir", self.path("state"), *words)

    def wait_stored(self, n, hub=None, limit=lib.LIMIT_S):
        hub = hub or self.hub
        wait_until(f"{n} batches", lambda: len(hub.keys()) >= n, limit)

    def wait_collect(self, word):
        wait_until(f"collect {word}", lambda: self.hub.last() and self.hub.last().hello.collect == word)

    def spooled(self):
        """Batches on disk, as the agent says it."""
        for line in self.ask("status").splitlines():
            if "on disk:" in line:
                return int(line.split("on disk:")[1].split()[0])
        raise AssertionError("no status")

    def assert_whole(self, run, hub=None):
        """P1, P2: every batch of a run from 1 on is there, once."""
        numbers = (hub or self.hub).numbers(run)
        self.assertEqual(sorted(numbers), list(range(1, len(numbers) + 1)))


class Sending(AgentCase):
    def test_a_node_shows_itself_with_facts_samples_and_node_metrics(self):
        self.driver("gpus 2", "util 1 70", f"proc 1 {os.getpid()} 1073741824 c")
        self.agent()
        self.wait_collect("ok")
        self.wait_stored(4)
        seen = self.hub.contents()
        facts = [f for f in seen if f["type"] == "facts" and f["devices"]][-1]
        self.assertEqual([len(facts["devices"]), facts["name"], facts["collector"], facts["tick_ms"]], [2, "testnode", "nvml", 200])
        columns = {(c["metric"], c["slot"]): c["v"] for b in seen if b["type"] == "batch" for c in b["columns"]}
        self.assertEqual(columns["util", 2][-1], 7000)
        self.assertIn(("ram_total", 0), columns)
        procs = {f["id"]: f["procs"] for f in seen if f["type"] == "procs"}
        used = [procs[b["procs"]][u["proc"]]["pid"] for b in seen if b["type"] == "batch" for u in b["uses"] if u["slot"] == 2]
        self.assertIn(os.getpid(), used)
        self.assertIn(("start", 0), self.hub.events())
        with self.hub.lock:
            heads = {p.headers["Authorization"] for p in self.hub.posts}
        self.assertEqual(heads, {"Bearer " + TOKEN})

    def test_facts_travel_once_and_the_connection_is_kept(self):
        self.agent()
        self.wait_collect("ok")
        self.wait_stored(8)
        with self.hub.lock:
            sent = [f.id for p in self.hub.posts for f in p.frames if f.kind in (fakehub.FACTS, fakehub.PROCS)]
            self.assertEqual(len(sent), len(set(sent)))
            self.assertEqual(self.hub.connections, 1)

    def test_blobs_go_again_when_the_hub_needs_them(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        with self.hub.lock:
            self.hub.blobs.clear()
            n = len(self.hub.order)
        self.wait_stored(n + 3)
        self.assert_whole(self.hub.runs()[0])
        self.assertTrue(a.alive())

    def test_the_hub_sets_the_pace(self):
        self.hub.words = {"interval": 200, "phase": 50}
        self.agent(env={"MUSTER_INTERVAL": "600s"})
        self.wait_stored(6, limit=30)  # by itself it would send in ten minutes

    def test_node_id_is_kept_and_a_run_is_new(self):
        a = self.agent()
        self.wait_stored(1)
        a.stop()
        self.agent()
        wait_until("a second run", lambda: len(self.hub.runs()) == 2)
        self.assertEqual(len({h.node for h in self.hub.hellos()}), 1)
        with open(self.path("state/node-id"), encoding="ascii") as f:
            self.assertEqual(f.read().strip(), self.hub.hellos()[0].node)

    def test_one_state_folder_has_one_agent(self):
        self.agent()
        self.wait_stored(1)
        second = self.agent()
        self.assertEqual(second.stop(sig=0), 3)
        self.assertIn("another agent runs", second.text)

    def test_enrolment_keeps_the_nodes_own_token(self):
        own = "mst_own-token-of-this-node"
        self.hub.words = {"token": own}
        a = self.agent()
        wait_until("the own token in use", lambda: self.hub.last() and self.hub.last().headers["Authorization"] == "Bearer " + own)
        self.hub.words = {}
        kept = [os.path.join(d, f) for d, _, files in os.walk(self.path("state")) for f in files if f == "token"]
        self.assertEqual(len(kept), 1)
        self.assertEqual(stat.S_IMODE(os.stat(kept[0]).st_mode), 0o600)
        a.stop()
        n = self.hub.count()
        a = self.agent()
        wait_until("the next run", lambda: self.hub.count() > n)
        self.assertEqual(self.hub.last().headers["Authorization"], "Bearer " + own)
        self.hub.tokens = {TOKEN}  # the own one was revoked: the given one counts again
        n = len(self.hub.keys())
        self.wait_stored(n + 2)
        self.assertNotIn(own, a.text)

    def test_two_hubs_get_everything_and_one_away_holds_nobody_up(self):
        with FakeHub() as other:
            a = self.agent("--hub", self.hub.url, "--hub", other.url)
            self.wait_stored(3)
            self.wait_stored(3, other)
            other.stop()
            n = len(self.hub.keys())
            self.wait_stored(n + 4)
            other.back()
            wait_until("both have the same", lambda: set(self.hub.keys()) <= set(other.keys()) or set(other.keys()) >= set(self.hub.keys()[:-1]))
            a.stop()
            wait_until("all", lambda: set(self.hub.keys()) == set(other.keys()), 10)
            self.assert_whole(self.hub.runs()[0])
            self.assert_whole(self.hub.runs()[0], other)

    def test_stdout_carries_the_wire_stream(self):
        p = subprocess.Popen([lib.AGENT, "--stdout", "--tick", "200ms", "--interval", "500ms", "--collector", "nvml", "--nvml-lib", lib.STUB, "--state-dir", self.path("none")],
                             env={"PATH": os.environ["PATH"], "MUSTER_NVML_STUB": self.path("stub")}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(2.5)
        p.terminate()
        out = p.communicate(timeout=lib.LIMIT_S)[0]
        kinds = [f["type"] for f in fakehub.dump(out)]
        self.assertEqual(p.returncode, 0)
        self.assertEqual(kinds[0], "hello")
        self.assertLess(kinds.index("facts"), kinds.index("batch"))
        self.assertGreater(kinds.count("batch"), 2)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_local_snapshot_shows_this_machine(self):
        self.driver("gpus 3", f"proc 0 {os.getpid()} 1048576 c")
        show = os.path.join(lib.BIN, "tool", "localshow")
        env = {"MUSTER_NVML_STUB": self.path("stub")}
        out = self.run_ok(show, "--name", "here", "--collector", "nvml", "--nvml-lib", lib.STUB, env=env).splitlines()
        self.assertEqual(out[0], "hello here ok ")
        self.assertIn("facts 1 devices 3", out)
        self.assertIn("procs 1 processes 1", out)
        self.assertEqual(sum(line.startswith("batch") for line in out), 2)
        self.assertEqual(out[-1], "result 1 ")
        out = self.run_ok(show, "--name", "here", "--collector", "none", env=env).splitlines()
        self.assertTrue(out[0].startswith("hello here none"), out)
        self.driver("hang all")
        out = self.run_ok(show, "--name", "here", "--collector", "nvml", "--nvml-lib", lib.STUB, "--collect-timeout", "1s", env=env).splitlines()
        self.assertTrue(out[0].startswith("hello here hung"), out)


class Driver(AgentCase):
    def test_p5_heartbeat_and_node_metrics_go_on_while_the_driver_hangs(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(3)
        self.driver("gpus 2", "hang all")
        began = time.monotonic()
        self.wait_collect("hung")
        self.assertLess(time.monotonic() - began, 10)
        hello = self.hub.last().hello
        self.assertGreater(hello.sent_ms - hello.since_ms, 900)
        most, n, since = 0, self.hub.count(), len(self.hub.keys())
        end = time.monotonic() + 10
        while time.monotonic() < end:  # long enough for several collectors to be tried
            most = max(most, len(children(a.p.pid)))
            time.sleep(0.05)
        self.assertLessEqual(most, 2)
        self.assertGreater(self.hub.count(), n + 5)
        columns = {(c["metric"], c["slot"]) for b in self.hub.batches(since) for c in b["columns"]}
        self.assertIn(("load1", 0), columns)
        self.assertNotIn(("util", 1), columns)
        self.driver("gpus 2")
        self.wait_collect("ok")
        self.wait_stored(len(self.hub.keys()) + 2)
        kinds = [k for k, _ in self.hub.events()]
        self.assertIn("hung", kinds)
        self.assertLess(kinds.index("hung"), kinds.index("answers"))
        self.assert_whole(self.hub.runs()[0])

    def test_p5_a_driver_that_hangs_from_the_start_is_said(self):
        self.driver("hang nvmlInit*")
        self.agent()
        wait_until("a hello", lambda: self.hub.count() > 0)
        self.wait_collect("hung")
        self.driver("gpus 1")
        self.wait_collect("ok")

    def test_a_gpu_that_vanishes_is_lost_and_comes_back_as_the_same(self):
        self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.driver("gpus 2", "gone 1")
        wait_until("lost", lambda: ("lost", 2) in self.hub.events())
        facts = [f for f in self.hub.contents() if f["type"] == "facts" and f["devices"]]
        self.assertIn([False, True], [[d["lost"] for d in f["devices"]] for f in facts])
        self.driver("gpus 2")
        wait_until("back", lambda: ("back", 2) in self.hub.events())
        facts = [f for f in self.hub.contents() if f["type"] == "facts" and f["devices"]]
        self.assertEqual(len({d["uuid"] for f in facts for d in f["devices"]}), 2)

    def test_a_gpu_lost_while_the_collector_was_replaced_is_lost(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.driver("gpus 2", "gone 0")
        for pid in children(a.p.pid):
            os.kill(pid, signal.SIGKILL)
        wait_until("lost", lambda: ("lost", 1) in self.hub.events())

    def test_a_driver_reload_is_survived(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        first = children(a.p.pid)
        self.driver("mismatch", "rc nvmlDeviceGet* 18", "rc nvmlSystem* 18")
        wait_until("not ok", lambda: self.hub.last().hello.collect != "ok")
        n = self.hub.count()
        self.driver("gpus 2", "driver 999.1")
        self.wait_collect("ok")
        wait_until("the new driver's name", lambda: "999.1" in [f.get("driver") for f in self.hub.contents()])
        self.assertNotEqual(children(a.p.pid), first)
        self.assertGreater(self.hub.count(), n)

    def test_a_killed_collector_is_replaced_and_busy_seconds_never_fall(self):
        self.driver("gpus 1", "util 0 100")
        a = self.agent()
        self.wait_collect("ok")
        busy = lambda: [v for b in self.hub.batches() for c in b["columns"] if c["metric"] == "busy" for v in c["v"] if v is not None]
        wait_until("busy seconds", lambda: busy() and busy()[-1] > 1000000)
        before = len(self.hub.keys())
        for pid in children(a.p.pid):
            os.kill(pid, signal.SIGKILL)
        top = max(busy())
        wait_until("busy seconds of the new one", lambda: len(self.hub.keys()) > before + 3 and busy()[-1] > top)
        values = busy()
        self.assertEqual(values, sorted(values))

    def test_pause_lets_go_of_the_driver_and_resume_takes_it_again(self):
        a = self.agent()
        self.wait_collect("ok")
        self.assertTrue(any(maps_stub(p) for p in children(a.p.pid)))
        self.assertIn("let go", self.ask("pause", "10m"))
        wait_until("nobody has the library", lambda: not any(maps_stub(p) for p in children(a.p.pid)))
        self.wait_collect("paused")
        self.assertIn("paused until", self.hub.last().hello.why)
        n = self.hub.count()
        wait_until("heartbeats", lambda: self.hub.count() > n + 2)
        self.ask("resume")
        self.wait_collect("ok")
        self.assertIn("devices ok", self.ask("status"))

    def test_a_pause_ends_by_itself(self):
        self.agent()
        self.wait_collect("ok")
        self.ask("pause", "1s")
        wait_until("paused", lambda: "paused" in [h.collect for h in self.hub.hellos()])
        self.wait_collect("ok")

    def test_what_makes_no_sense_is_refused_in_words(self):
        self.agent()
        self.wait_stored(1)
        for words, want in ((("pause", "never"), "expected a time"), (("pause",), "expected a time"), (("dance",), "unknown word")):
            status, _, err = self.run_any(lib.AGENT, "--state-dir", self.path("state"), *words)
            self.assertEqual(status, 2, words)
            self.assertIn(want, err)
        status, _, err = self.run_any(lib.AGENT, "--state-dir", self.path("nobody"), "status")
        self.assertEqual(status, 3)
        self.assertIn("no agent runs", err)

    def test_the_socket_is_for_the_owner_alone(self):
        self.agent()
        self.wait_stored(1)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("state/agent.sock")).st_mode), 0o600)
        with socket.socket(socket.AF_UNIX) as s:  # P4: a line that never ends is cut
            s.connect(self.path("state/agent.sock"))
            s.settimeout(lib.LIMIT_S)
            with contextlib.suppress(BrokenPipeError):
                s.sendall(b"x" * 100000)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(s.recv(10), b"")
        self.assertIn("node testnode", self.ask("status"))


class Outage(AgentCase):
    def test_p3_a_hub_that_is_away_gets_everything_in_order_beside_live_data(self):
        a = self.agent()
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

        def slow(_handler, post):
            if len(post.batches) > 1:
                time.sleep(0.5)
            return False
        old = max(n for _, n in self.hub.keys()) + 25  # on disk before the hub came back
        self.hub.back()
        self.hub.mode = slow
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
        at_ms = time.time() * 1000
        a.kill9()
        self.hub.back()
        self.agent()
        wait_until("a second run", lambda: len(self.hub.runs()) == 2)
        wait_until("caught up", lambda: self.spooled() == 0)
        first = self.hub.runs()[0]
        self.assert_whole(first)
        newest = max(t for b in self.hub.batches() if int(b["run"], 16) == first for t in b["at_ms"])
        self.assertGreater(newest, at_ms - INTERVAL_S * 1000 - 2000)

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
        self.wait_collect("ok") if self.hub.count() > 1 else None
        time.sleep(2)
        self.assertEqual(a.stop(), 0)
        self.assertEqual(self.hub.events()[-1], ("stop", 0))
        self.assert_whole(self.hub.runs()[0])

    def test_sigterm_spools_what_a_hanging_hub_does_not_take(self):
        a = self.agent()
        self.wait_collect("ok")
        self.wait_stored(2)
        self.hub.mode = fakehub.hang()
        began = time.monotonic()
        self.assertEqual(a.stop(), 0)
        self.assertLess(time.monotonic() - began, 10)
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
        self.hub.back()
        self.hub.mode = small
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
        everything = [a.p.pid] + children(a.p.pid)
        self.assertEqual(len(everything), 2)
        for pid in everything:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                self.assertNotIn(TOKEN.encode(), f.read())
        with open(f"/proc/{everything[1]}/environ", "rb") as f:
            self.assertNotIn(TOKEN.encode(), f.read())
        a.stop()
        self.assertNotIn(TOKEN, a.text)
        self.assertIn("not shown", a.text)


class Settings(AgentCase):
    def test_sighup_takes_a_new_token_and_a_bad_file_changes_nothing(self):
        with open(self.path("env"), "w", encoding="utf-8") as f:
            f.write(f"MUSTER_TOKEN_FILE={self.path('token')}\nMUSTER_NAME=first\n")
        with open(self.path("token"), "w", encoding="utf-8") as f:
            f.write("mst_old\n")
        os.chmod(self.path("token"), 0o600)
        self.hub.tokens = {"mst_new"}
        a = self.agent("--env-file", self.path("env"), env={"MUSTER_TOKEN": None, "MUSTER_NAME": None})
        a.wait_line("HTTP 401")
        with open(self.path("env"), "a", encoding="utf-8") as f:
            f.write("MUSTER_TICKS=1s\n")
        a.p.send_signal(signal.SIGHUP)
        m = a.wait_line(r"settings not taken, the old ones stay: .*MUSTER_TICKS")
        self.assertIn(":3", m.group(0))
        with open(self.path("env"), "w", encoding="utf-8") as f:
            f.write(f"MUSTER_TOKEN_FILE={self.path('token')}\nMUSTER_NAME=second\n")
        with open(self.path("token"), "w", encoding="utf-8") as f:
            f.write("mst_new\n")
        a.p.send_signal(signal.SIGHUP)
        a.wait_line("settings read again")
        self.wait_stored(2)
        wait_until("the new name", lambda: self.hub.last().hello.name == "second")
        wait_until("caught up", lambda: self.spooled() == 0)
        self.assert_whole(self.hub.runs()[0])

    def test_sighup_moves_to_another_hub(self):
        with FakeHub() as other:
            with open(self.path("env"), "w", encoding="utf-8") as f:
                f.write(f"MUSTER_HUB={self.hub.url}\n")
            a = self.agent("--env-file", self.path("env"), hub=False)
            self.wait_stored(2)
            with open(self.path("env"), "w", encoding="utf-8") as f:
                f.write(f"MUSTER_HUB={other.url}\n")
            a.p.send_signal(signal.SIGHUP)
            self.wait_stored(2, other)
            a.stop()
            run = self.hub.runs()[0]
            both = set(self.hub.numbers(run)) | set(other.numbers(run))
            self.assertEqual(both, set(range(1, len(both) + 1)))

    def test_bad_settings_end_it_with_one_sentence(self):
        for flags, want in ((["--hub", "ftp://x"], "only http:// and https://"), (["--tick", "1"], None), (["--tick", "10ms"], "tick"), (["--pin", "abc"], "sha256//"),
                            (["--hub", "http://u:p@h"], "no user or password"), (["--collector", "magic"], "magic"), (["--name", 'a"b'], "name"),
                            (["--hub", "h:1", "--hub", "http://h:1/"], "twice"), (["--spool-max-bytes", "1"], "spool-max-bytes"), (["--token", "a b"], "token"), ([], "no hub")):
            if want is None:
                continue
            with self.subTest(flags=flags):
                status, out, err = self.run_any(lib.AGENT, *flags, env={"MUSTER_STATE_DIR": self.path("s"), "HOME": self.dir})
                self.assertEqual((status, out), (2, ""), err)
                self.assertIn(want, err)
                self.assertEqual(len(err.strip().splitlines()), 1)

    def test_help_and_version(self):
        self.assertIn("--token-file", self.run_ok(lib.AGENT, "--help"))
        self.assertRegex(self.run_ok(lib.AGENT, "--version"), r"^muster-agent \d+\.\d+\.\d+\n$")

    def test_the_service_manager_is_told(self):
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(lib.LIMIT_S)
            a = self.agent(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
            said = b""
            while b"WATCHDOG=1" not in said or b"READY=1" not in said:
                said += s.recv(4096) + b"\n"
            for pid in children(a.p.pid):
                with open(f"/proc/{pid}/environ", "rb") as f:
                    self.assertNotIn(b"NOTIFY_SOCKET", f.read())
            a.p.terminate()
            while b"STOPPING=1" not in said:
                said += s.recv(4096) + b"\n"


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
