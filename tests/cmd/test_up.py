#!/usr/bin/python3
"""`muster up` beside another hub or another program on its port."""
import os
import socket
import unittest

import lib


class Up(lib.Case):
    def refused(self, folder, *flags):
        status, out, err = self.run_any(lib.MUSTER, "up", "--data", self.path(folder), *flags)
        self.assertEqual((status, out), (3, ""), err)
        return err.splitlines()[-1]

    def test_a_second_one_says_where_the_first_runs_and_makes_no_demo(self):
        up = self.start(lib.MUSTER, "up", "--no-agent", "--data", self.path("data"), "--listen", "127.0.0.1:0")
        url = up.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        self.assertIn(f"muster is already running on {url} (data folder '{self.path('data')}')", self.refused("data", "--no-agent"))
        port = url.rsplit(":", 1)[1]
        for listen in (f"127.0.0.1:{port}", f"0.0.0.0:{port}"):
            self.assertIn(f"muster is already running on {url} (data folder ", self.refused("demo", "--demo", "--listen", listen))
        self.assertEqual(os.listdir(self.path("demo")), ["demo.yaml"])
        self.assertEqual(up.stop(), 0)

    def test_each_form_of_an_option_counts_as_the_hub_reads_it(self):
        env = {"XDG_STATE_HOME": self.path("usual"), "HOME": self.path("home"), "MUSTER_DATA": self.path("usual")}
        flags = ("--name", "--demo", "--listen", "127.0.0.1:0")  # a name that looks like an option
        for i, form in enumerate((["-d", "DIR"], ["-dDIR"], ["--data=DIR"], ["--data", "DIR"], ["-n--no-agent", "-dDIR"])):
            folder = self.path(f"data{i}")
            up = self.start(lib.MUSTER, "up", *flags, *(word.replace("DIR", folder) for word in form), "--no-agent", env=env)
            up.wait_line(r"http://127\.0\.0\.1:\d+")
            self.assertEqual(up.stop(), 0)
            self.assertIn("muster.db", os.listdir(folder))
            self.assertFalse(os.path.exists(self.path("usual")))
        for wrong in (["-d"], ["--data"], ["--bananas"], ["word"]):
            status, _, err = self.run_any(lib.MUSTER, "up", "--no-agent", *wrong, env=env)
            self.assertEqual((status, err.count("\n")), (2, 1), err)
        self.assertFalse(os.path.exists(self.path("usual")))

    def test_another_program_on_the_port_is_said_before_the_demo_is_made(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            listen = f"127.0.0.1:{other.getsockname()[1]}"
            self.assertEqual(self.refused("demo", "--demo", "--listen", listen),
                             f"muster up: cannot listen on '{listen}': another program uses the port; --listen selects another one")
        self.assertEqual(os.listdir(self.path("demo")), ["demo.yaml"])

    @unittest.skipIf(any(map(os.path.exists, ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"))), "this machine has a GPU driver")
    def test_ls_without_a_driver_shows_the_hub_of_this_machine(self):
        env = {"MUSTER_DATA": self.path("data")}
        here = self.run_any(lib.MUSTER, "ls", "--csv", env=env)[1]
        self.assertEqual(len(here.splitlines()), 2, "this machine, which has no GPU")
        up = self.start(lib.MUSTER, "up", "--no-agent", "--listen", "127.0.0.1:0", env=env)
        up.wait_line(r"http://127\.0\.0\.1:\d+")
        self.assertEqual(self.run_any(lib.MUSTER, "ls", "--csv", env=env)[1].splitlines(), here.splitlines()[:1], "the hub has no node yet")
        self.assertEqual(up.stop(), 0)


if __name__ == "__main__":
    lib.main()
