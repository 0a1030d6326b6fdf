"""What integration tests share: binaries, processes that end with the test, ports nobody else has, waiting with a limit.

A test file ends with `lib.main()`. Nothing here depends on the time of day, on free ports or on another test.
"""
import contextlib
import fcntl
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("MUSTER_BIN", os.path.join(TOP, "build"))
SHARED = os.environ.get("MUSTER_SHARED", os.path.join(TOP, "..", "shared"))
MUSTER, AGENT = os.path.join(BIN, "muster"), os.path.join(BIN, "muster-agent")
STUB = os.path.join(BIN, "libnvml-stub.so")
LIMIT_S = 600  # generous: a limit only bounds a failing test, it never decides a passing one, also where the machine is taken away for minutes


def wait_until(what, check, limit=LIMIT_S, pause=0.05):
    """The first true value check() gives; fails with `what` after limit seconds."""
    end = time.monotonic() + limit
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit} s in vain: {what}")
        time.sleep(pause)


class Process:
    """A program under test: output collected, ended with the test, its end status checked by whoever cares."""

    def __init__(self, argv, env=None, **kw):
        self.argv, self.lines, self._cond = argv, [], threading.Condition()
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        clean.update(env or {})
        self.p = subprocess.Popen(argv, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for raw in self.p.stdout:
            with self._cond:
                self.lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
                self._cond.notify_all()

    @property
    def text(self):
        with self._cond:
            return "\n".join(self.lines)

    def wait_line(self, pattern, limit=LIMIT_S):
        """The match of the first line (past or to come) that fits pattern."""
        seen = 0
        end = time.monotonic() + limit
        while True:
            with self._cond:
                while seen < len(self.lines):
                    m = re.search(pattern, self.lines[seen])
                    seen += 1
                    if m:
                        return m
                if self.p.poll() is not None and not self._reader.is_alive():
                    break
                self._cond.wait(0.1)
            if time.monotonic() > end:
                break
        raise AssertionError(f"no line like {pattern!r} from {self.argv}:\n{self.text}")

    def alive(self):
        return self.p.poll() is None

    def kill9(self):
        self.p.send_signal(signal.SIGKILL)
        self.p.wait()
        self._reader.join()

    def stop(self, sig=signal.SIGTERM, limit=LIMIT_S):
        if self.p.poll() is None:
            self.p.send_signal(sig)
        try:
            self.p.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"{self.argv} did not end:\n{self.text}")
        self._reader.join()
        return self.p.returncode

    def end(self):
        """For cleanup: whatever state it is in, it is gone afterwards. Reports of sanitizers, and of a loop that read from its disk, fail the test."""
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(20)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self._reader.join()
        self.p.stdout.close()
        for bad in ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "WARNING: ThreadSanitizer", "the loop waited for the disk"):
            if bad in self.text:
                raise AssertionError(f"{self.argv}:\n{self.text}")


class Case(unittest.TestCase):
    """A test with a folder of its own and processes that end with it."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="muster-test-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def secret(self, name, text):
        """A file that others cannot read: muster refuses a secret in any other."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(text)
        return path

    def on_disk(self, question):
        """What muster.db says, as it is on disk now: the first column of the first row."""
        with contextlib.closing(sqlite3.connect(self.path("data/muster.db"), timeout=LIMIT_S)) as db:
            return db.execute(question).fetchone()[0]

    def assertSoon(self, look, want, msg=None):
        """look() gives what is wanted, now or in a moment: it comes by another way, or an answer that was drawn a moment ago is given out again."""
        got = None

        def same():
            nonlocal got
            got = look()
            return got == want
        with contextlib.suppress(AssertionError):
            wait_until("", same)
        self.assertEqual(got, want, msg)

    def start(self, *argv, env=None, **kw):
        p = Process([str(a) for a in argv], env, **kw)
        self.addCleanup(p.end)
        return p

    def start_hub(self, *flags, data=None, env=None):
        """`muster hub` on a free port; .url and .port say where."""
        p = self.start(MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", data or self.path("data"), *flags, env=env)
        m = p.wait_line(r"(https?)://(127\.0\.0\.1):(\d+)")
        p.url, p.port = m.group(0), int(m.group(3))
        return p

    def token(self, role, *flags, data=None):
        """A token of the hub of this folder; where there has been none yet, one starts and ends."""
        if not os.path.exists(os.path.join(data or self.path("data"), "muster.db")):
            self.start_hub(data=data).stop()
        return self.run_ok(MUSTER, "token", "new", "--role", role, "--data", data or self.path("data"), *flags).strip()

    def run_any(self, *argv, env=None, limit=LIMIT_S, stdin=None, cwd=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        clean.update(env or {})
        done = subprocess.run([str(a) for a in argv], env=clean, cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")

    def run_ok(self, *argv, **kw):
        status, out, err = self.run_any(*argv, **kw)
        self.assertEqual(status, 0, f"{argv}: {out}{err}")
        return out


def ask(url, method="GET", body=None, headers=None, limit=LIMIT_S):
    """(status, headers, body bytes) of one request; no redirects, no retries. A certificate is not verified."""
    m = re.match(r"(https?)://([^:/]+):(\d+)(/.*)?$", url)
    if m.group(1) == "https":
        conn = http.client.HTTPSConnection(m.group(2), int(m.group(3)), timeout=limit, context=ssl._create_unverified_context())
    else:
        conn = http.client.HTTPConnection(m.group(2), int(m.group(3)), timeout=limit)
    with contextlib.closing(conn):
        conn.request(method, m.group(4) or "/", body=body, headers=headers or {})
        r = conn.getresponse()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()


def ask_json(url, **kw):
    status, _, body = ask(url, **kw)
    if status != 200:
        raise AssertionError(f"{url}: HTTP {status}: {body[:300]!r}")
    return json.loads(body)


def stored_frames(data):
    """Every batch in a hub's logs, as it was stored, one after the other."""
    out = []
    for name in sorted(os.listdir(data)):
        if name.startswith("log-") and name.endswith(".db"):
            with contextlib.closing(sqlite3.connect(os.path.join(data, name), timeout=LIMIT_S)) as db:
                out += [row[0] for row in db.execute("SELECT bytes FROM batch ORDER BY id")]
    return b"".join(out)


PORTS = []  # those that are ours until we end: their locks


def free_port():
    """A port for things that must be away first, or come back on the same one: the system gives it to nobody, and no other test has it until this one ends."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        above = int(f.read().split()[0])  # from there on it gives them out by itself
    folder = os.path.join(tempfile.gettempdir(), f"muster-test-ports-{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    ports = range(max(1024, above - 16384), above) or range(16384, 32768)
    for port in random.sample(ports, len(ports)):
        lock = open(os.path.join(folder, str(port)), "w", encoding="ascii")
        with contextlib.suppress(OSError), socket.socket() as s:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            s.bind(("127.0.0.1", port))
            PORTS.append(lock)
            return port
        lock.close()
    raise AssertionError("no port is free")


def long(thing):
    """Marks a test, or a class of tests, for ./test --long: it takes longer than what it shows beyond the others is worth each time."""
    thing.marked = "long"
    return thing


def plain(thing):
    """Marks one that a build with sanitizers cannot run."""
    thing.marked = "plain"
    return thing


class Loader(unittest.TestLoader):
    """MUSTER_TEST_MARKED=long or plain: those marked so; else all that are not for ./test --long and can run. A test named on the command line runs."""

    def getTestCaseNames(self, testCaseClass):
        want = os.environ.get("MUSTER_TEST_MARKED")
        wants = {want} if want else {"", "plain"} - ({"plain"} if os.environ.get("MUSTER_SAN") else set())
        return [n for n in super().getTestCaseNames(testCaseClass) if (getattr(getattr(testCaseClass, n), "marked", "") or getattr(testCaseClass, "marked", "")) in wants]


def main():
    counting = "--count" in sys.argv
    if counting:
        sys.argv.remove("--count")
    program = unittest.main(module="__main__", exit=False, verbosity=2, testLoader=Loader())
    r = program.result
    bad = len(r.failures) + len(r.errors) + len(r.unexpectedSuccesses)
    skipped = len(r.skipped)
    if counting:
        print(f"COUNT {r.testsRun - bad - skipped} {bad} {skipped}", flush=True)
    sys.exit(1 if bad else 0)
