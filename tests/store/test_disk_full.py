#!/usr/bin/python3
"""T8 with the real programs: the hub's disk fills up, every screen shows it, agents keep their samples, and the hub resumes automatically when there is space.

The disk is a small tmpfs in the hub's own mount namespace; the test reaches it through /proc/PID/root.
"""
import os
import shutil
import signal
import subprocess
import time
import unittest

import hubcase
import lib
import sample_feed

SIZE = 24 << 20
NODES = 4


def namespace():
    """How to get a mount namespace here, or None."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        private = "private" if " shared:" in f.read() else "unchanged"
    for how in (["unshare"], ["unshare", "--map-root-user"]):
        argv = [*how, "--mount", "--propagation", private]
        tried = subprocess.run([*argv, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if tried.returncode == 0:
            return argv
    return None


NAMESPACE = namespace()


@unittest.skipUnless(NAMESPACE, "no mount namespaces here")
class DiskFull(lib.Case):
    def hub_on(self, port, *flags):
        script = f'mount -t tmpfs -o size={SIZE} tmpfs "$1" && cp -a "$2/." "$1" && shift 2 && exec "$@"'
        p = self.start(*NAMESPACE, "sh", "-c", script, "sh", self.path("small"), self.path("seed"), lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}",
                       "--data", self.path("small"), *flags)
        m = p.wait_line(r"(https?)://(127\.0\.0\.1):(\d+)")
        p.url, p.inside = m.group(0), f"/proc/{p.p.pid}/root{self.path('small')}"
        return p

    def fill(self, hub):
        """Every byte there is, and again what was given back meanwhile."""
        with open(hub.inside + "/ballast", "ab", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("small"))
        os.mkdir(self.path("seed"))
        self.enroll = self.token("enroll", data=self.path("seed"))
        self.feeders = []

    def feed(self, port, start_ms, step_ms, pause=0.02):
        for i in range(NODES):
            f = sample_feed.Feeder(port, self.enroll, f"n{i}", start_ms, step_ms, seed=i + 1, pause=pause)
            f.start()
            self.feeders.append(f)
            self.addCleanup(f._stop_now.set)

    def said(self, url):
        """The current state on each screen."""
        status, _, ready = lib.ask(url + "/readyz")
        metrics = lib.ask(url + "/metrics")[2].decode()
        return {
            "readyz": (status, ready.decode()),
            "healthz": (lib.ask(url + "/healthz")[0], lib.ask(url + "/healthz")[2].decode()),
            "json": lib.ask_json(url + "/api/v1/state").get("notice", ""),
            "one node": lib.ask_json(url + "/api/v1/state?node=n0").get("notice", ""),
            "text": lib.ask(url + "/", headers={"User-Agent": "curl/7"})[2].decode(),
            "page": hubcase.snapshot(url),
            "ls": self.run_ok(lib.MUSTER, "ls", "--hub", url),
            "metrics": "\nmuster_hub_store_full 1\n" in metrics,
        }

    def check_full(self, hub):
        """Every screen reports the full disk at the same time."""
        said = {}

        def told():
            self.fill(hub)  # space that was freed meanwhile
            said.update(self.said(hub.url))
            return said["metrics"] and said["readyz"][0] == 503 and all("store full" in said[w] for w in ("json", "one node", "text", "page", "ls"))
        try:
            lib.wait_until("every screen says so", told)
        except AssertionError as late:
            raise AssertionError(f"{late}; they say {said}") from None
        self.assertEqual(said["healthz"][0], 200)
        self.assertIn("store full", said["healthz"][1])
        self.assertIn("store full", said["readyz"][1])

    def check_well(self, url):
        def well():
            said = self.said(url)
            return said["readyz"] == (200, "ok\n") and said["healthz"] == (200, "ok\n") and not said["json"] and not said["metrics"] and said
        said = lib.wait_until("all is well again", well)
        for where in ("one node", "text", "page", "ls"):
            self.assertNotIn("store full", said[where], where)

    def end_and_compare(self, hub, step):
        for f in self.feeders:
            f.stop()
        wrong = [w for f in self.feeders for w in sample_feed.wrong_values(hub.url, f, step)]
        self.assertEqual(wrong, [])
        os.kill(hub.p.pid, signal.SIGSTOP)  # its disk disappears with it: copy a consistent state, as after a crash
        shutil.copytree(hub.inside, self.path("data"))
        os.kill(hub.p.pid, signal.SIGCONT)
        self.assertEqual(hub.stop(), 0, hub.text)
        again = self.start_hub(data=self.path("data"))
        wrong = [w for f in self.feeders for w in sample_feed.wrong_values(again.url, f, step)]
        self.assertEqual(wrong, [])

    def test_T8_a_full_disk_is_told_everywhere_and_nothing_is_lost_or_doubled(self):
        port = lib.free_port()
        hub = self.hub_on(port)
        stream = self.start("curl", "-sN", hub.url + "/api/v1/stream")
        self.feed(port, int(time.time() * 1000) - 7200000, 1000)
        lib.wait_until("samples are acknowledged", lambda: all(f.sent > 5 for f in self.feeders))
        for _ in range(3):
            self.fill(hub)

            def full():
                self.fill(hub)
                return lib.ask(hub.url + "/readyz")[0] == 503
            lib.wait_until("the hub is not ready", full)
            lib.wait_until("the notice is shown", lambda: lib.ask_json(hub.url + "/api/v1/state").get("notice"))
            self.check_full(hub)
            before = [f.sent for f in self.feeders]
            lib.wait_until("agents are told to keep theirs", lambda: all(507 in f.statuses for f in self.feeders))
            os.unlink(hub.inside + "/ballast")
            self.check_well(hub.url)
            lib.wait_until("it goes on by itself", lambda: all(f.sent > b + 5 for f, b in zip(self.feeders, before)))
        stream.wait_line(r'^data: \{"notice":"store full')
        stream.wait_line(r'^data: \{"notice":""\}')
        hub.wait_line("No space left")
        hub.wait_line("works again")
        self.end_and_compare(hub, 1000)

    def test_T8_full_while_history_is_compacted_and_old_data_goes(self):
        """Buckets of the past are over at once, so that every round compacts, merges and drops; the disk is full for half of them."""
        port = lib.free_port()
        hub = self.hub_on(port, "--rotate", "1s", "--keep-raw", "30h")
        self.feed(port, int(time.time() * 1000) - 48 * 3600000, 60000, pause=0.002)
        lib.wait_until("history is compacted", lambda: os.path.exists(hub.inside + "/history.db") and not os.path.exists(hub.inside + "/log-1.db"))
        for _ in range(5):
            self.fill(hub)
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                self.fill(hub)
                time.sleep(0.02)
            lib.wait_until("a screen says so", lambda: "store full" in lib.ask_json(hub.url + "/api/v1/state").get("notice", "") or self.fill(hub))
            before = [f.sent for f in self.feeders]
            os.unlink(hub.inside + "/ballast")
            lib.wait_until("it goes on by itself", lambda: all(f.sent > b + 20 for f, b in zip(self.feeders, before)))
        self.check_well(hub.url)
        self.end_and_compare(hub, 60000)


if __name__ == "__main__":
    lib.main()
