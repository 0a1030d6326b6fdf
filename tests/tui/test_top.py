#!/usr/bin/python3
"""`muster top` in a terminal (tmux), against the demo cluster: every view and key, two sizes, and a terminal as it was afterwards."""
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import lib  # noqa: E402
from terminal import Terminal  # noqa: E402


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Top(lib.Case):
    @classmethod
    def setUpClass(cls):
        cls.hub_case = lib.Case()
        cls.hub_case.setUp()
        hub = cls.hub_case.start(lib.MUSTER, "up", "--demo", "--listen", "127.0.0.1:0", "--data", cls.hub_case.path("data"))
        cls.url = hub.wait_line(r"http://127\.0\.0\.1:\d+").group(0)

        def settled():
            nodes = {n["name"]: n for n in lib.ask_json(cls.url + "/api/v1/state")["nodes"]}
            seen = [d["state"] for n in nodes.values() for d in n.get("devices", [])]
            return len(nodes) == 6 and seen.count("free") == 10 and nodes["dgx5"]["state"] == "hung" and nodes["dgx6"]["state"] == "down"
        lib.wait_until("the demo's nodes", settled)

    @classmethod
    def tearDownClass(cls):
        cls.hub_case.doCleanups()

    def top(self, w=80, h=24, *flags, env=None):
        t = Terminal(self, w, h, env)
        t.before = t.mode()
        t.run(f"stty -g > {self.path('before')}; {lib.MUSTER} top --hub {self.url} {' '.join(flags)}; echo status $?; stty -g > {self.path('after')}")
        t.wait(r"^muster top +.*48 GPUs|^muster top  DEMO  48 GPUs", but="^READY>$")
        return t

    def pid(self, t):
        shell = t.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["ps", "-o", "pid=", "--ppid", shell], stdout=subprocess.PIPE, check=True).stdout.split()[0])

    def sane(self, t):
        """The terminal is as it was before: line discipline, normal screen, cursor, no mouse."""
        t.wait(r"^READY>$")
        lib.wait_until("modes", lambda: t.mode() == t.before)
        lib.wait_until("stty", lambda: os.path.exists(self.path("after")) and os.path.getsize(self.path("after")))
        with open(self.path("before"), encoding="utf-8") as a, open(self.path("after"), encoding="utf-8") as b:
            self.assertEqual(a.read(), b.read())

    def test_each_view_has_its_key_at_80x24(self):
        t = self.top()
        t.wait(r"^>dgx1 +[●◐○]{8} +H200")
        t.wait(r"^\d+ of 48 free: ")
        t.wait(r"dgx5 +✕ driver not responding")
        t.wait(r"dgx6 +◌ offline, no data")
        t.wait(r"dgx1:7 .*ana")  # the chosen node's devices below
        t.wait(r"o overview d devices p processes u users h history e events a alerts +/ \? q$")
        t.keys("d")
        s = t.wait(r"^>dgx1:0 ● kim +\d+% [█░]{6} .* \d+\.\d/140G [█░]{6} +\d+W [█░]{4} +\d+° [█░]{4}")
        self.assertTrue(all(len(line) <= 80 for line in s.splitlines()))
        t.keys("p")
        t.wait(r"^ +PID USER +GPU +SM +MEM +TIME COMMAND")
        t.wait(r"^> +\d+ zoe +dgx4:[01] .* \d+G .* python3")
        t.keys("u")
        t.wait(r"^ USER +GPUS +IDLE +MEM +LONGEST +WHERE")
        t.wait(r"^>tom +8 +\d .*dgx3:0 dgx3:1")
        t.keys("h")
        t.wait(r"the last hour, by place$")
        t.wait(r"^ GPU +\d\d:\d\d +\d\d:\d\d ")
        t.wait(r"^ dgx1:\d +● .*[a-z]{3}[█▇▆▅▄▃▂▁]{5,}.*[█▇▆▅▄▃▂▁]$")  # somebody's, and at work now
        t.keys("t", "t")
        t.wait(r"the last day, by place$")

        def apart():
            first, second = re.search(r"(?m)^ GPU +(\d\d:\d\d) +(\d\d:\d\d) ", t.wait(r"^ GPU +\d\d:\d\d +\d\d:\d\d ")).groups()
            return (int(second[:2]) - int(first[:2])) % 24
        lib.wait_until("a day's axis, hours between its labels", lambda: apart() > 1)  # another past came, and the one before went
        t.keys("Enter")
        t.wait(r"^ dgx1:0  NVIDIA H200")
        t.keys("e")
        t.wait(r"^ WHEN +NODE +EVENT +WHAT")
        t.wait(r"dgx\d|no events yet")
        t.keys("a")
        t.wait(r"^ SEVERITY +WHERE +DURATION WHAT")
        t.wait(r"^[> ]!! critical dgx5 .* the driver of dgx5 is not responding")
        t.keys("o")
        t.wait(r"^>dgx1")
        t.keys("q")
        t.wait(r"^status 0$")
        self.sane(t)

    def test_enter_looks_nearer_and_escape_goes_back(self):
        t = self.top()
        t.keys("j")
        t.wait(r"^>dgx2 ")
        t.keys("Enter")
        t.wait(r"^>dgx2:0 ", but=r"dgx1:0")
        t.keys("G")
        t.wait(r"^>dgx2:7 ")
        t.keys("Enter")
        t.wait(r"^ dgx2:7  NVIDIA H200  GPU-")
        t.wait(r"power +\d+ W")
        t.wait(r"^> +\d+ raj +dgx2:7")
        t.keys("Escape")
        t.wait(r"^>dgx2:7 ")
        t.keys("Escape")
        t.wait(r"^>dgx2 ")
        t.keys("u")
        t.wait(r"^>tom")
        t.keys("j", "Enter")
        t.wait(r"^> +\d+ kim .*dgx1:\d", but=r"^.{9}tom ")

    def test_the_mouse_chooses(self):
        t = Terminal(self, 80, 24)
        t.run(f"TERM=xterm-256color {lib.MUSTER} top --hub {self.url}")
        line = next(i for i, s in enumerate(t.wait(r"^ dgx3 ").splitlines()) if s.startswith(" dgx3 ")) + 1
        t.tmux("send-keys", "-l", f"\x1b[<0;5;{line}M\x1b[<0;5;{line}m")
        t.wait(r"^>dgx3 ")
        t.tmux("send-keys", "-l", f"\x1b[<64;5;{line}M")  # the wheel
        t.wait(r"^>dgx2 ")
        before = re.search(r"\d\d:\d\d:\d\d", t.wait(r"\d\d:\d\d:\d\d  1 s$")).group(0)
        t.wait(r"\d\d:\d\d:\d\d  1 s$", but=before)  # and it goes on by itself
        t.tmux("send-keys", "-l", f"\x1b[<0;5;{line}M\x1b[<0;5;{line}m\x1b[<0;5;{line}M\x1b[<0;5;{line}m")  # twice
        t.wait(r"^>dgx3:0 ")
        t.keys("q")
        t.wait(r"^READY>$")

    def test_filter_is_live_and_names_the_column_of_an_error(self):
        t = self.top()
        t.keys("d")
        t.keys("/")
        t.tmux("send-keys", "-l", "user:kim")
        t.wait(r"^4 of 48 match 'user:kim': 4 on dgx1", but=r"raj")
        t.tmux("send-keys", "-l", " mem<")
        t.wait(r"^/user:kim mem<_ +column 14: expected")
        t.wait(r"^4 of 48 match 'user:kim'")  # what was whole last stays
        t.keys("C-u")
        t.wait(r"^/_ ")
        t.tmux("send-keys", "-l", "free host:dgx2")
        t.keys("Enter")
        t.wait(r"^6 of 48 match 'free host:dgx2': 6 on dgx2")
        t.keys("p")
        t.wait(r"no match for the filter")
        t.keys("Escape")
        t.wait(r"^\d+ of 48 free")
        t.wait(r"python")

    def test_sort_reverse_pause_speed_and_help(self):
        t = self.top(100, 30)
        t.keys("p")
        t.wait(r"by memory$")
        t.keys("s", "s")
        t.wait(r"by user$")
        t.keys("g")
        t.wait(r"^> +\d+ ana ")
        t.keys("r")
        t.wait(r"by user, reversed$")
        t.keys("g")
        t.wait(r"^> +\d+ zoe ")
        t.keys("Space")
        t.wait(r"PAUSED")

        def still():
            """The frame is whole, and two frames' time in which nothing may change."""
            s = t.screen()
            time.sleep(2.5)
            return t.screen() == s
        lib.wait_until("nothing changes", still)
        t.keys("Space")
        t.wait(r"\d\d:\d\d:\d\d  1 s$", but="PAUSED")
        t.keys("+")
        t.wait(r"  500 ms$")
        t.keys("-", "-")
        t.wait(r"  2 s$")
        t.keys("?")
        t.wait(r"^ Keys$")
        t.wait(r"○ free: not in use, not booked")
        t.keys("x")
        t.wait(r"PID USER", but=r"^ Keys$")

    def test_wide_screens_show_more_and_resizing_follows(self):
        t = self.top(200, 60)
        t.wait(r"CPU  RAM")
        t.wait(r"^muster top  " + re.escape(self.url) + r"  DEMO  48 GPUs .* offline .* not responding")
        t.wait(r"dgx1:7 .*python")
        t.wait(r"PID USER +GPU +SM +MEM +TIME COMMAND\n +\d+ kim +dgx1:0 ")  # the middle: the chosen node's, then the others'
        t.wait(r"\n +\d+ tom +dgx3:7 ")
        t.wait(r"^>dgx1 .*%% [⣀-⣿]{40,} ".replace("%%", "%"))  # a plot of longer than it runs: what was stored
        storm = random.Random(7)
        for w, h in [(storm.randint(20, 300), storm.randint(4, 70)) for _ in range(60)] + [(80, 24)]:
            t.tmux("resize-window", "-x", str(w), "-y", str(h))
        t.wait(r"^ o overview .*/ \? q$", but=r"CPU  RAM")
        s = t.wait(r"^>dgx1 ")
        self.assertEqual(len(s.splitlines()), 24)
        t.keys("q")
        self.sane(t)

    def test_signals_and_a_crash_leave_a_sane_terminal(self):
        for sig, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0), (signal.SIGSEGV, 139), (signal.SIGABRT, 134)):
            with self.subTest(sig.name):
                t = self.top()
                self.assertNotEqual(t.mode(), t.before)
                os.kill(self.pid(t), sig)
                t.wait(rf"^status {status}$")
                self.sane(t)
                t.tmux("kill-server")
                os.unlink(self.path("after"))

    def test_ascii_and_no_color(self):
        t = self.top(80, 24, "--ascii", "-v", "devices", env={"NO_COLOR": "1"})
        s = t.wait(r"^>dgx1:0 # kim +\d+% [#.]{6}")
        self.assertTrue(s.isascii(), s)
        self.assertNotRegex(t.tmux("capture-pane", "-p", "-e"), r"\x1b\[[0-9;]*(3[0-7]|38;5;)")
        t.keys("q")
        self.sane(t)

    def test_colours_by_state(self):
        t = self.top(80, 24, "-v", "devices", "user:kim")
        t.wait(r"^>dgx1:0 ● kim", but="raj")
        # the chosen row, too: on a ground of its own
        lib.wait_until("busy is blue where it is chosen", lambda: re.search(r"\x1b\[48;5;237m>(?:(?!\n|\x1b\[49m).)*\x1b\[38;5;111m● *", t.tmux("capture-pane", "-p", "-e")))

    def test_a_hub_that_is_away_is_said_and_keys_work(self):
        t = Terminal(self, 80, 24)
        t.run(f"{lib.MUSTER} top --hub http://127.0.0.1:{lib.free_port()}")
        t.wait(r"^cannot reach the hub")
        t.keys("u")
        t.wait(r"^ USER +GPUS")
        t.keys("q")
        t.wait(r"^READY>$")

    def test_without_a_hub_it_shows_this_machine(self):
        t = Terminal(self, 80, 24)
        t.run(f"{lib.MUSTER} top")
        t.wait(r"^muster top")
        t.wait(r"no GPUs|\d+ GPUs")
        t.keys("d")
        t.wait(r"^ GPU +USER")
        t.keys("q")
        t.wait(r"^READY>$")

    def test_compact_shows_many_to_a_line(self):
        t = self.top(100, 30)
        t.keys("c")
        t.wait(r"^ NODES$")
        t.wait(r"^>dgx1 +[●◐○]{8} .*dgx2 +[●◐○]{8} ")
        t.keys("Right")
        t.wait(r"^ dgx1 .*>dgx2 ")
        t.keys("Enter")
        t.wait(r"^ GPUS +dgx2 *$")
        t.wait(r"^>dgx2:0 . .*dgx2:1 ")
        t.keys("d")
        t.wait(r"^>dgx1:0 ● kim +\d+% .*dgx1:1 ")
        t.keys("Down", "Right")
        t.wait(r">dgx1:[3-7] ")
        t.keys("c")
        t.wait(r"^ GPU +USER")

    def test_settings_are_kept_on_request(self):
        t = self.top(100, 30)
        t.keys("p", "s", "s", "r", "t", "+", "W")
        t.wait(r"^saved in .*/config/muster/top\.env")
        t.keys("q")
        t.wait(r"^status 0$")
        t.run(f"clear; {lib.MUSTER} top --hub {self.url}")
        t.wait(r"by user, reversed$")
        t.wait(r"  500 ms$")
        with open(self.path("config/muster/top.env"), encoding="utf-8") as f:
            kept = f.read()
        self.assertIn("MUSTER_VIEW=processes\nMUSTER_EVERY=500ms\n", kept)
        self.assertIn("MUSTER_TREE=true\n", kept)
        t.keys("q")
        t.wait(r"^READY>$")
        t.run(f"clear; {lib.MUSTER} top --hub {self.url} -v devices --sort devices:power")  # a flag beats what was kept
        t.wait(r"by power$")
        t.keys("q")
        with open(self.path("config/muster/top.env"), "w", encoding="utf-8") as f:
            f.write("MUSTER_VIEW=what\n")
        status, _, err = self.run_any(lib.MUSTER, "top", env={"XDG_CONFIG_HOME": self.path("config")})
        self.assertEqual(status, 2)
        self.assertRegex(err, r"top\.env:1: .*what")

    def test_a_hubs_processes_get_no_signal_from_here(self):
        t = self.top()
        t.keys("p")
        t.wait(r"^> +\d+ zoe")
        t.keys("K")
        t.wait(r"^signals need muster top on the machine of the process")
        t.keys("j")
        t.wait(r"^ o overview")

    def test_own_processes_of_this_machine_get_a_signal_after_a_yes(self):
        own = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
        for p in own:
            self.addCleanup(lambda p=p: (p.kill(), p.wait()))
        with open(self.path("stub"), "w", encoding="ascii") as f:
            f.write("gpus 2\n" + "".join(f"proc {i % 2} {p.pid} {(3 - i) << 30}\n" for i, p in enumerate(own)) + "proc 0 1 1048576\n")
        t = Terminal(self, 100, 24, {"MUSTER_NVML_STUB": self.path("stub"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_COLLECTOR": "nvml", "MUSTER_STATE_DIR": self.path("state")})
        t.run(f"{lib.MUSTER} top -v processes")
        t.wait(rf"^> *{own[0].pid} ")
        t.keys("K")
        t.wait(rf"^send TERM to sleep \({own[0].pid}\)\? y yes")
        t.keys("n")
        t.wait(r"^nothing was sent")
        t.keys("x", "x", "K")
        t.wait(rf"^send TERM to sleep \({own[0].pid}\) and 1 more")
        t.keys("k")
        t.wait(r"^send KILL to sleep")
        self.assertEqual([p.poll() for p in own], [None] * 3)
        t.keys("y")
        t.wait(r"^sent KILL to 2 processes")
        self.assertEqual([p.wait(lib.LIMIT_S) for p in own[:2]], [-signal.SIGKILL] * 2)
        self.assertIsNone(own[2].poll())
        t.keys("g", "K")  # the stub still lists it, but it has ended
        t.wait(rf"^process {own[0].pid} has ended")
        t.keys("q")
        t.wait(r"^READY>$")

    def test_idle_frames_are_small(self):
        """What a frame sends when nothing but the clock changed: bounded, so that nothing flickers and ssh stays quiet."""
        with open(self.path("stub"), "w", encoding="ascii") as f:
            f.write("gpus 8\n")
        env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        env.update({"MUSTER_NVML_STUB": self.path("stub"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_COLLECTOR": "nvml", "MUSTER_STATE_DIR": self.path("state"), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": self.path("config")})
        fd, slave = pty.openpty()
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        top = subprocess.Popen([lib.MUSTER, "top", "-v", "devices", "--every", "1s"], env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.addCleanup(lambda: (top.kill() if top.poll() is None else None, top.wait(), os.close(fd)))
        seen, at = b"", time.monotonic()
        while b"8 GPUs" not in seen or time.monotonic() - at < 4:  # until it is settled
            self.assertLess(time.monotonic() - at, lib.LIMIT_S, seen[-500:])
            if select.select([fd], [], [], 0.1)[0]:
                seen += os.read(fd, 65536)
        frames = []
        while len(frames) < 6:
            self.assertTrue(select.select([fd], [], [], lib.LIMIT_S)[0])
            piece = b""
            while select.select([fd], [], [], 0.3)[0]:
                piece += os.read(fd, 65536)
            frames.append(len(piece))
        self.assertLess(sorted(frames)[3], 600, frames)  # a whole frame is several thousand
        os.write(fd, b"q")
        self.assertEqual(top.wait(lib.LIMIT_S), 0)

    def test_without_a_terminal_it_says_so(self):
        status, out, err = self.run_any(lib.MUSTER, "top")
        self.assertEqual((status, out, err), (2, "", "muster top: it needs a terminal; for pipes use `muster ls`\n"))
        status, _, err = self.run_any(lib.MUSTER, "top", "mem<")
        self.assertEqual(status, 2)
        self.assertIn("column 5 of 'mem<'", err)


if __name__ == "__main__":
    lib.main()
