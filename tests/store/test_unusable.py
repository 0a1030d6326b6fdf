#!/usr/bin/python3
"""A data folder that cannot be used: each cause has its own message, and the folder stays as it is."""
import os
import shutil
import unittest

import lib
from test_disk_full import NAMESPACE

PAGE = 4096


class Unusable(lib.Case):
    def setUp(self):
        super().setUp()
        self.start_hub().stop()
        self.on_disk("SELECT count(*) FROM nodes")  # the last to close the file removes its WAL, without which it cannot be opened on a read-only disk

    @unittest.skipUnless(NAMESPACE, "no mount namespaces here")
    def test_a_read_only_file_system_is_named(self):
        os.mkdir(self.path("disk"))
        script = 'mount -t tmpfs tmpfs "$1" && cp -a "$2" "$1/d" && mount -o remount,ro "$1" && shift 2 && exec "$@"'
        data = self.path("disk/d")
        for argv in (["hub", "--listen", "127.0.0.1:0", "--data", data], ["token", "list", "--data", data]):
            status, _, text = self.run_any(*NAMESPACE, "sh", "-c", script, "sh", self.path("disk"), self.path("data"), lib.MUSTER, *argv)
            self.assertEqual(status, 3, text)
            self.assertRegex(text, "cannot open '.*muster.db': its file system is read-only")
            self.assertNotIn("missing", text)
            self.assertNotIn("--start-empty", text)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "only root can become another user")
    def test_files_of_another_user_are_not_a_read_only_file_system(self):
        other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if self.run_any(*other, lib.MUSTER, "--version")[0]:
            self.skipTest("another user cannot run the program here")
        for folder, _, files in os.walk(self.dir):
            os.chmod(folder, 0o755)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o644)
        for argv in (["hub", "--listen", "127.0.0.1:0"], ["token", "list"]):
            status, _, text = self.run_any(*other, lib.MUSTER, *argv, "--data", self.path("data"))
            self.assertEqual(status, 3, text)
            self.assertRegex(text, "Permission denied|may not write")
            self.assertNotIn("ead-only", text)

    def test_damage_in_any_page_of_muster_db_comes_with_advice(self):
        size, refused = os.path.getsize(self.path("data/muster.db")), 0
        for at in range(PAGE, size, PAGE):
            copy = self.path(f"page-{at // PAGE}")
            shutil.copytree(self.path("data"), copy)
            with open(copy + "/muster.db", "r+b") as f:
                f.seek(at)
                f.write(b"\x55" * PAGE)
            p = self.start(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", copy)
            lib.wait_until("the hub runs or has ended", lambda: p.p.poll() is not None or "http://" in p.text)
            if p.p.poll() is None:  # nothing reads this page at the start
                p.stop()
            else:
                refused += 1
                self.assertEqual(p.p.returncode, 3, p.text)
                self.assertEqual(p.text.count("is damaged: nothing was changed. Put back a copy (`muster restore`)"), 1, p.text)
        self.assertGreater(refused, 5)


if __name__ == "__main__":
    lib.main()
