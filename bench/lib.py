"""What the benchmarks share: processes measured by the kernel's own counters, and one table at the end. Loopback only, bounded in time."""
import contextlib
import http.client
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MUSTER = os.path.join(TOP, "build", "muster")
TICK = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """CPU seconds of all threads of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid):
    """(resident, peak resident, private) in MB."""
    got = {}
    for name in ("status", "smaps_rollup"):
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as f:
            for line in f:
                m = re.match(r"(\w+):\s+(\d+) kB", line)
                if m:
                    got[m.group(1)] = int(m.group(2)) / 1024
    return got["VmRSS"], got["VmHWM"], got.get("Private_Dirty", 0) + got.get("Private_Clean", 0)


class Server:
    """A program in a folder of its own; gone when the block ends."""

    def __init__(self, argv, ready=None, env=None):
        self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        self.pid, self.lines = self.p.pid, []
        self.found = threading.Event()
        self.match = None
        threading.Thread(target=self._read, args=(ready,), daemon=True).start()
        if ready and not self.found.wait(30):
            raise SystemExit(f"{argv[0]} did not start:\n" + "\n".join(self.lines[-20:]))

    def _read(self, ready):
        for raw in self.p.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            self.lines.append(line)
            m = ready and not self.match and re.search(ready, line)
            if m:
                self.match = m
                self.found.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.terminate()
        try:
            self.p.wait(20)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="muster-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def hub(*flags):
    """A hub on a free port with an enroll token; .url, .port, .token."""
    with folder() as path:
        with Server([MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", path + "/data", *flags], r"http://127\.0\.0\.1:(\d+)") as h:
            h.port = int(h.match.group(1))
            h.url = h.match.group(0)
            h.data = path + "/data"
            h.token = subprocess.run([MUSTER, "token", "new", "--role", "enroll", "--data", h.data], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
            h.token_file = path + "/token"
            with open(h.token_file, "w", encoding="utf-8") as f:
                f.write(h.token)
            os.chmod(h.token_file, 0o600)
            yield h


def disk_bytes(path, prefix=""):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files if f.startswith(prefix))


def wait_http(port, path, limit=30):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            c.request("GET", path)
            if c.getresponse().status < 500:
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers on port {port}")
