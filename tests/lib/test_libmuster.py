#!/usr/bin/python3
"""libmuster as it is installed: what it shows, that the example of docs/libmuster.md builds with -lmuster alone and runs, what it leaves behind."""
import contextlib
import csv
import json
import os
import re
import subprocess
import tempfile
import unittest

import lib

TOP = lib.TOP
# As it is installed: a sanitizer's library wants its program built alike. The unit tests are those under sanitizers.
SO = os.path.join(os.path.join(TOP, "build") if "-san" in lib.BIN or "-tsan" in lib.BIN else lib.BIN, "libmuster.so.0")


def names_in_header():
    text = open(os.path.join(TOP, "src/lib/muster.h")).read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"\b(muster_[a-z_]+)\(", text)) - {"muster_peaks_fn"}


class Library(unittest.TestCase):
    def test_shows_the_functions_of_its_header_with_their_version_and_nothing_else(self):
        out = subprocess.run(["nm", "-D", "--defined-only", SO], capture_output=True, text=True, check=True).stdout
        shown = {line.split()[-1] for line in out.splitlines()}
        self.assertEqual(shown, {f"{n}@@MUSTER_1" for n in names_in_header()} | {"MUSTER_1"})

    def test_has_the_soname_and_needs_libc_alone(self):
        out = subprocess.run(["readelf", "-d", SO], capture_output=True, text=True, check=True).stdout
        self.assertIn("soname: [libmuster.so.0]", out)
        needs = set(re.findall(r"NEEDED.*\[(.*)\]", out))
        self.assertTrue(needs <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2"}, needs)

    def test_the_manual_page_names_every_function(self):
        text = open(os.path.join(TOP, "src/lib/libmuster.3")).read()
        self.assertEqual(set(re.findall(r"\bmuster_[a-z_]+", text)), names_in_header())

    def test_page_lists_every_metric_of_a_device(self):
        page = open(os.path.join(TOP, "docs/libmuster.md")).read()
        for line in open(os.path.join(TOP, "src/model/metrics.def")):
            if re.search(r"\bDEVICE,", line) and line.startswith("METRIC("):
                self.assertIn(f"| `{line.split(',')[1].strip()}` |", page)


class Program(unittest.TestCase):
    """The page's example, built against an installed tree."""

    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        cls.dir = cls.tmp.name
        os.makedirs(os.path.join(cls.dir, "lib"))
        os.makedirs(os.path.join(cls.dir, "include"))
        os.symlink(SO, os.path.join(cls.dir, "lib/libmuster.so.0"))
        os.symlink("libmuster.so.0", os.path.join(cls.dir, "lib/libmuster.so"))
        os.symlink(os.path.join(TOP, "src/lib/muster.h"), os.path.join(cls.dir, "include/muster.h"))
        page = open(os.path.join(TOP, "docs/libmuster.md")).read()
        with open(os.path.join(cls.dir, "example.c"), "w") as f:
            f.write(re.search(r"```c\n(.*?)```", page, re.S).group(1))
        cls.flags = [f"-I{cls.dir}/include", f"-L{cls.dir}/lib", f"-Wl,-rpath,{cls.dir}/lib", "-lmuster"]

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def build(self, *command):
        done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_example_of_the_page_builds_with_the_library_alone_and_runs(self):
        self.build("cc", "-std=c99", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", "example", "example.c", *self.flags)
        done = subprocess.run(["./example", "replay:2"], cwd=self.dir, capture_output=True, text=True, timeout=lib.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"job 1: \d+ \d+ percent at most\n")
        self.assertRegex(done.stdout, r"job 2: \d+ \d+ percent at most\n")
        with open(os.path.join(self.dir, "gpus.csv"), newline="") as f:
            rows = list(csv.reader(f))
        self.assertEqual(rows[0], ["job", "dag", "timestamp", "total-mem", "mem-util", "compute-util", "power", "loss"])
        self.assertLessEqual({"1", "2"}, {row[0] for row in rows})  # samples of both jobs; how many, the machine decides
        for row in rows[1:]:
            self.assertEqual(len(row), 8)
            self.assertRegex(row[3], r"^\d+, \d+$")
        about = json.load(open(os.path.join(self.dir, "gpus.json")))
        self.assertEqual(about["samples"], len(rows) - 1)
        self.assertEqual([c["name"] for c in about["columns"]], rows[0])
        self.assertEqual([d["index"] for d in about["devices"]], [0, 1])

    def test_without_a_gpu_it_says_so(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver")
        self.build("cc", "-std=c99", "-D_DEFAULT_SOURCE", "-o", "example", "example.c", *self.flags)
        env = {k: v for k, v in os.environ.items() if k != "MUSTER_NVML_LIB"}
        done = subprocess.run(["./example"], cwd=self.dir, capture_output=True, text=True, timeout=lib.LIMIT_S, env=env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU found on this machine", done.stderr)

    def test_the_header_is_good_c_and_good_cxx(self):
        with open(os.path.join(self.dir, "h.c"), "w") as f:
            f.write("#include <muster.h>\nint main(void) { struct muster_options o = {0}; (void)o; return 0; }\n")
        self.build("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "h.c")
        try:
            subprocess.run(["c++", "--version"], capture_output=True, check=True)
        except (FileNotFoundError, subprocess.CalledProcessError):
            return
        with open(os.path.join(self.dir, "h.cc"), "w") as f:
            f.write("#include <muster.h>\nint main() { muster_options o = muster_options(); (void)o; return muster_api() == 0; }\n")
        self.build("c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "h.cc")


class Disk(unittest.TestCase):
    """What a run leaves behind when it is killed."""

    SCRIPT = """
import ctypes, sys, time
L = ctypes.CDLL(sys.argv[1])
class O(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("interval_us", ctypes.c_uint32), ("collector", ctypes.c_char_p), ("devices", ctypes.c_char_p),
                ("metrics", ctypes.c_char_p), ("mem_limit", ctypes.c_uint64), ("spill_dir", ctypes.c_char_p)]
s = ctypes.c_void_p()
o = O(ctypes.sizeof(O), 10000, b"replay:8", None, None, 5, sys.argv[2].encode())
assert L.muster_open(ctypes.byref(s), ctypes.byref(o), None, 0) == 0
L.muster_count.restype = ctypes.c_int64
assert L.muster_start(s, None, 0) == 0
while L.muster_count(s) < 30:
    time.sleep(0.01)
print("spilled", flush=True)
time.sleep(60)
"""

    def test_nothing_is_left_after_kill_9(self):
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.Popen(["/usr/bin/python3", "-c", self.SCRIPT, SO, folder], stdout=subprocess.PIPE, text=True)
            self.assertEqual(p.stdout.readline(), "spilled\n")
            held = []
            for fd in os.listdir(f"/proc/{p.pid}/fd"):
                with contextlib.suppress(FileNotFoundError):  # closed since
                    held.append(os.readlink(f"/proc/{p.pid}/fd/{fd}"))
            self.assertTrue(any(h.startswith(folder) and h.endswith("(deleted)") for h in held), held)
            p.kill()
            p.wait()
            p.stdout.close()
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    lib.main()
