#!/usr/bin/python3
"""The node agent: what it sends, and a driver that hangs, vanishes and comes back. P1 to P5 are DESIGN.md's promises."""
import contextlib
import os
import signal
import socket
import stat
import struct
import subprocess
import time

import fakehub
import lib
from agentcase import TOKEN, AgentCase, children, maps_stub
from fakehub import FakeHub
from lib import wait_until


class Sending(AgentCase):
    def test_a_node_shows_itself_with_facts_samples_and_node_metrics(self):
        self.driver("gpus 2", "util 1 70", f"proc 1 {os.getpid()} 1073741824 c")
        self.agent(leaks=True)
        self.wait_collect("ok")

        def found():
            seen = self.hub.contents()
            procs = {f["id"]: f["procs"] for f in seen if f["type"] == "procs"}
            used = [procs[b["procs"]][u["proc"]]["pid"] for b in seen if b["type"] == "batch" for u in b["uses"] if u["slot"] == 2]
            return os.getpid() in used and seen
        seen = wait_until("our process on the second GPU", found)  # with it facts and samples have come
        facts = [f for f in seen if f["type"] == "facts" and f["devices"]][-1]
        self.assertEqual([len(facts["devices"]), facts["name"], facts["collector"], facts["tick_ms"]], [2, "testnode", "nvml", 200])
        columns = {(c["metric"], c["slot"]): c["v"] for b in seen if b["type"] == "batch" for c in b["columns"]}
        self.assertEqual({v for v in columns["util", 2] if v is not None}, {7000})
        self.assertIn(("ram_total", 0), columns)
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
            self.assertLessEqual(self.hub.connections, 2)  # one, and one more should a batch have had to catch up

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
        self.wait_stored(6)  # by itself it would send in ten minutes

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

    def test_a_token_file_that_others_can_read_is_refused_but_by_a_node_with_its_own(self):
        given, own = self.secret("given", TOKEN), "mst_own-token-of-this-node"
        start = lambda: self.agent("--token-file", given, env={"MUSTER_TOKEN": None})
        os.chmod(given, 0o644)
        a = start()
        a.wait_line(r"other users have access to it \(mode 0644\); chmod 600 it")
        self.assertNotEqual(a.p.wait(lib.LIMIT_S), 0)
        os.chmod(given, 0o600)
        self.hub.words = {"token": own}
        a = start()
        wait_until("the own token in use", lambda: self.hub.last() and self.hub.last().headers["Authorization"] == "Bearer " + own)
        a.stop()
        os.chmod(given, 0o644)
        n = self.hub.count()
        a = start()
        a.wait_line(r"chmod 600 it; the node's own token is used")
        wait_until("the next run", lambda: self.hub.count() > n)
        self.assertEqual(self.hub.last().headers["Authorization"], "Bearer " + own)

    def test_two_hubs_get_everything_and_one_away_holds_nobody_up(self):
        with FakeHub() as other:
            a = self.agent("--hub", self.hub.url, "--hub", other.url)
            self.wait_stored(3)
            self.wait_stored(3, other)
            other.stop()
            n = len(self.hub.keys())
            self.wait_stored(n + 4)
            other.back()
            have = set(self.hub.keys())
            wait_until("the other has all of that, too", lambda: have <= set(other.keys()))
            self.assertTrue(a.alive())
            for hub in (self.hub, other):
                self.assert_whole(hub.runs()[0], hub)

    def hub_folders(self):
        return os.listdir(self.path("state/hubs"))

    def test_a_hub_stands_in_for_another_and_the_agent_stays_with_it(self):
        with FakeHub() as other:
            a = self.agent(env={"MUSTER_HUB": f"{self.hub.url},{other.url}"})
            self.wait_stored(2)
            self.assertEqual(other.count(), 0, "one is spoken to at a time")
            self.hub.stop()
            self.wait_stored(3, other)
            wait_until("nothing waits on disk", lambda: self.spooled() == 0)
            run = other.runs()[0]
            wait_until("every batch is with one of them", lambda: (n := set(self.hub.numbers(run)) | set(other.numbers(run))) == set(range(1, len(n) + 1)))
            self.hub.back()
            n, was = len(other.keys()), self.hub.count()
            self.wait_stored(n + 3, other)
            self.assertEqual(self.hub.count(), was, "it stays with the one that answers")
            self.assertIn(other.url, self.ask("status"))
            self.assertEqual(len(self.hub_folders()), 1, "one spool for both")
            a.stop()
            a = self.agent(env={"MUSTER_HUB": f"{other.url},{self.hub.url}"})  # the other way round: token and spool are still theirs
            n = len(other.keys())
            self.wait_stored(n + 2, other)
            self.assertEqual(len(self.hub_folders()), 1)

    def test_batches_wait_on_disk_while_none_of_several_hubs_answers(self):
        with FakeHub() as other:
            a = self.agent(env={"MUSTER_HUB": f"{self.hub.url},{other.url}"})
            self.wait_stored(1)
            self.hub.stop()
            other.stop()
            wait_until("some wait on disk", lambda: self.spooled() >= 2)
            wait_until("both were tried", lambda: "either" in a.text)
            other.back()
            wait_until("nothing waits on disk", lambda: self.spooled() == 0 and other.keys())
            run = other.runs()[0]
            wait_until("every batch is with one of them", lambda: (n := set(self.hub.numbers(run)) | set(other.numbers(run))) == set(range(1, len(n) + 1)))

    def test_a_hub_that_refuses_a_token_is_not_left_for_another(self):
        with FakeHub() as other:
            self.hub.tokens = {"another"}
            a = self.agent(env={"MUSTER_HUB": f"{self.hub.url},{other.url}"})
            wait_until("it was refused twice", lambda: self.hub.count() >= 2)
            self.assertEqual(other.count(), 0)
            self.assertIn("401", a.text)

    def batches_in(self, name):
        with open(self.path(name), "rb") as f:
            stream = f.read()
        try:
            return sum(f.kind == fakehub.BATCH for f in fakehub.frames(stream))
        except (ValueError, struct.error):
            return 0  # still being written

    def test_stdout_carries_the_wire_stream(self):
        argv = [lib.AGENT, "--stdout", "--tick", "200ms", "--interval", "500ms", "--collector", "nvml", "--nvml-lib", lib.STUB, "--state-dir", self.path("none")]
        with open(self.path("out"), "wb") as f:
            p = subprocess.Popen(argv, env={"PATH": os.environ["PATH"], "MUSTER_NVML_STUB": self.path("stub")}, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL)
        self.addCleanup(p.kill)
        wait_until("a few batches", lambda: self.batches_in("out") > 2)
        p.terminate()
        p.wait(lib.LIMIT_S)
        with open(self.path("out"), "rb") as f:
            out = f.read()
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
        a = self.agent(leaks=True)
        self.wait_collect("ok")
        self.wait_stored(3)
        self.driver("gpus 2", "hang all")
        self.wait_collect("hung")
        hello = self.hub.last().hello
        self.assertGreater(hello.sent_ms - hello.since_ms, 900)
        self.wait_stored(len(self.hub.keys()) + 2)  # what was measured before has come
        most, n, since = 0, self.hub.count(), len(self.hub.keys())
        end = time.monotonic() + 10
        late = end + lib.LIMIT_S
        while time.monotonic() < end or self.hub.count() <= n + 5:  # long enough for several collectors to be tried
            self.assertLess(time.monotonic(), late, "batches go on")
            most = max(most, len(children(a.p.pid)))
            time.sleep(0.05)
        self.assertLessEqual(most, 2)
        columns = {(c["metric"], c["slot"]) for b in self.hub.batches(since) for c in b["columns"]}
        self.assertIn(("load1", 0), columns)
        self.assertNotIn(("util", 1), columns)
        self.driver("gpus 2")
        self.wait_collect("ok")
        wait_until("it is an event", lambda: "answers" in [k for k, _ in self.hub.events()])
        self.assert_whole(self.hub.runs()[0])
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

    def test_the_collector_has_no_descriptor_of_the_parents(self):
        a = self.agent()
        self.wait_stored(2)
        for pid in children(a.p.pid):  # its successor begins while the connection to the hub is open
            os.kill(pid, signal.SIGKILL)
        n = len(self.hub.keys())
        self.wait_stored(n + 2)

        def links(pid):
            found = set()
            for f in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    found.add(os.readlink(f"/proc/{pid}/fd/{f}"))
            return found
        child = wait_until("a new collector is at work", lambda: [c for c in children(a.p.pid) if maps_stub(c)])[0]
        ours = wait_until("its own sockets", lambda: (found := links(a.p.pid)) and sum(link.startswith("socket:") for link in found) > 2 and found)
        theirs = links(child)
        self.assertEqual([link for link in theirs & ours if not link.startswith(("/dev/null", "pipe:"))], [])  # standard error is shared

    def test_pause_lets_go_of_the_driver_and_resume_takes_it_again(self):
        a = self.agent()
        self.wait_collect("ok")
        wait_until("a collector has the library", lambda: any(maps_stub(p) for p in children(a.p.pid)))
        self.assertIn("released", self.run_ok(lib.AGENT, "--state-dir", self.path("state"), "pause", "10m"))
        wait_until("nobody has the library", lambda: not any(maps_stub(p) for p in children(a.p.pid)))
        self.wait_collect("paused")
        self.assertIn("paused until", self.hub.last().hello.why)
        n = self.hub.count()
        wait_until("heartbeats", lambda: self.hub.count() > n + 2)
        self.run_ok(lib.AGENT, "resume", "--state-dir", self.path("state"))
        self.wait_collect("ok")
        wait_until("it says so", lambda: "devices ok" in self.run_ok(lib.AGENT, "status", "--state-dir", self.path("state")))

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


class Settings(AgentCase):
    def test_sighup_takes_a_new_token_and_a_bad_file_changes_nothing(self):
        with open(self.path("env"), "w", encoding="utf-8") as f:
            f.write(f"MUSTER_TOKEN_FILE={self.path('token')}\nMUSTER_NAME=first\n")
        with open(self.path("token"), "w", encoding="utf-8") as f:
            f.write("mst_old\n")
        os.chmod(self.path("token"), 0o600)
        self.hub.tokens = {"mst_new"}
        a = self.agent("--env-file", self.path("env"), env={"MUSTER_TOKEN": None, "MUSTER_NAME": None}, leaks=True)
        a.wait_line(r"HTTP 401: this token is not known here; they wait on disk")  # the sentence, not its JSON
        with open(self.path("env"), "a", encoding="utf-8") as f:
            f.write("MUSTER_TICKS=1s\n")
        a.p.send_signal(signal.SIGHUP)
        m = a.wait_line(r"cannot apply the settings, the old ones stay: .*MUSTER_TICKS")
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
                status, out, err = self.run_any(lib.AGENT, *flags, env={"MUSTER_STATE_DIR": self.path("s"), "HOME": self.dir, "ASAN_OPTIONS": "detect_leaks=0"})
                self.assertEqual((status, out), (2, ""), err)
                self.assertIn(want, err)
                self.assertEqual(len(err.strip().splitlines()), 1)

    def test_help_and_version(self):
        self.assertIn("--token-file", self.run_ok(lib.AGENT, "--help"))
        self.assertRegex(self.run_ok(lib.AGENT, "--version"), r"^muster-agent \d+\.\d+\.\d+(\+[0-9a-f]+(-dirty)?)?, wire format \d+\n$")

    def test_the_service_manager_is_told(self):
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(lib.LIMIT_S)
            a = self.agent(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
            said = b""
            while b"WATCHDOG=1" not in said or b"READY=1" not in said:
                said += s.recv(4096) + b"\n"
            for pid in wait_until("a collector at work", lambda: [c for c in children(a.p.pid) if maps_stub(c)]):
                with open(f"/proc/{pid}/environ", "rb") as f:
                    self.assertNotIn(b"NOTIFY_SOCKET", f.read())
            a.p.terminate()
            while b"STOPPING=1" not in said:
                said += s.recv(4096) + b"\n"


if __name__ == "__main__":
    lib.main()
