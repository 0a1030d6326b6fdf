"""What the benchmarks share: processes measured by the kernel's own counters, and one table at the end. Loopback only, bounded in time."""
import contextlib
import fcntl
import glob
import http.client
import json
import os
import pwd
import re
import secrets
import selectors
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MUSTER = os.path.join(TOP, "build", "muster")
BENCH = os.path.join(TOP, "build", "bench")
OLD_IS_FINE = ("--rule-stale-after", "30d", "--rule-down-after", "30d")  # for a hub that is fed yesterday: its newest values count as such
TICK = os.sysconf("SC_CLK_TCK")


def build():
    """What the benchmarks run, built when it is not there or older than its source. Quick when there is nothing to do."""
    os.makedirs(os.path.dirname(BENCH), exist_ok=True)
    with open(os.path.join(TOP, "build", "bench.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two of them may start at once
        subprocess.run(["make", "-s", "-j2", "-C", TOP, "bench-programs"], check=True)


if not os.environ.get("MUSTER_BENCH_BUILT"):  # whoever starts many of them builds once
    build()


def cpu_s(pid):
    """CPU seconds of all threads of a process so far, those that ended included."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def cpu_ms(pid):
    """The same in ms, to the nanosecond: the kernel's own clock of that process (see clock_getcpuclockid(3)), threads that ended included."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


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

    patience = 20  # seconds to end in when asked

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
            self.p.wait(self.patience)
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
            h.token = subprocess.run([MUSTER, "token", "new", "--role", "enroll", "--uses", "100000", "--data", h.data], check=True, stdout=subprocess.PIPE).stdout.decode().strip()
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


def yesterday_ms():
    """Where generated data begins: 02:00 UTC of yesterday, so that what lies there is over and may be merged for good."""
    return (int(time.time()) // 86400 * 86400 - 86400 + 7200) * 1000


def feed(hub, gpus, ticks, t0_ms, *flags):
    """Generated telemetry into a hub, in catch-up. What feed says of it, and "cpu": the hub's seconds meanwhile."""
    argv = [BENCH + "/feed", "--hub", hub.url, "--token-file", hub.token_file, "--gpus", str(gpus), "--ticks", str(ticks), "--t0", str(t0_ms), *flags]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        if p.stdout.readline() != b"ready\n":
            raise SystemExit("bench/feed could not enroll its hosts")
        before = cpu_s(hub.pid)
        p.stdin.write(b"go\n")
        p.stdin.flush()
        line = p.stdout.readline()
        if not line:
            raise SystemExit("bench/feed failed")
        got = json.loads(line)
        got["cpu"] = cpu_s(hub.pid) - before
        return got


def chunk_bytes(data):
    """Bytes of chunks of history.db: raw, minutes, hours."""
    with contextlib.closing(sqlite3.connect(data + "/history.db")) as db:
        got = dict(db.execute("SELECT tier, sum(length(bytes)) FROM chunk GROUP BY 1"))
    return [got.get(tier, 0) for tier in range(3)]


def tiers_take(data):
    """How much smaller history.db would be without its tiers: it is written anew with and without."""
    with folder() as tmp:
        full, raw = tmp + "/full.db", tmp + "/raw.db"
        with contextlib.closing(sqlite3.connect(data + "/history.db")) as db:
            db.execute("VACUUM INTO ?", (full,))
        shutil.copy(full, raw)
        with contextlib.closing(sqlite3.connect(raw, isolation_level=None)) as db:
            db.execute("DELETE FROM chunk WHERE tier > 0")
            db.execute("VACUUM")
        return os.path.getsize(full) - os.path.getsize(raw)


def settle(data):
    """Compact what a stopped hub left: (CPU seconds, peak MB)."""
    out = subprocess.run([BENCH + "/settle", data], check=True, stdout=subprocess.PIPE).stdout.split()
    return float(out[0]), float(out[1])


def quiet(pid, limit=60, least=0):
    """Until the server does nothing more of its own. least: so many seconds anyway, for what it begins later by itself."""
    time.sleep(least)
    end, before = time.monotonic() + limit, cpu_s(pid)
    while time.monotonic() < end:
        time.sleep(1.5)
        now = cpu_s(pid)
        if now - before < .05:
            return
        before = now


class Asker:
    """One keep-alive connection."""

    def __init__(self, port):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def get(self, path, body=None, headers=None):
        for again in (True, False):
            try:
                self.c.request("GET" if body is None else "POST", path, body, headers or {})
                r = self.c.getresponse()
                break
            except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
                self.c.close()  # it was idle for longer than the server keeps one; the next request opens it anew
                if not again:
                    raise
        text = r.read()
        if r.status >= 300:
            raise SystemExit(f"HTTP {r.status} for {path[:200]}: {text[:400]!r}")
        return text


def timed(ask, pid, least=5, seconds=1.0, fresh=None):
    """ask() over and over: median wall ms, mean CPU ms of the server, bytes of an answer. fresh() comes before each and is not counted."""
    size, wall, cpu = len(ask()), [], 0
    end, before = time.monotonic() + seconds, cpu_ms(pid)
    while len(wall) < least or time.monotonic() < end:
        if fresh:
            fresh()
        c, t = fresh and cpu_ms(pid), time.perf_counter()
        ask()
        wall.append((time.perf_counter() - t) * 1000)
        cpu += cpu_ms(pid) - c if fresh else 0
    return {"ms": statistics.median(wall), "cpu_ms": (cpu if fresh else cpu_ms(pid) - before) / len(wall), "bytes": size, "n": len(wall)}


def new_second():
    """Until a second begins: what a hub renders of now is made anew then."""
    time.sleep(1.02 - time.time() % 1)


def at_once(port, path, seconds, connections=32, header=""):
    """How many requests were answered: each connection has one on its way all the time. wrk's stand-in, whose own cost is not counted either."""
    ask, n, bad = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{header + chr(13) + chr(10) if header else ''}\r\n".encode(), 0, 0
    with selectors.DefaultSelector() as waits, contextlib.ExitStack() as stack:
        for _ in range(connections):
            c = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            waits.register(c, selectors.EVENT_READ, [b"", 0])  # what came, bytes of the whole answer
            c.sendall(ask)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in waits.select(1):
                got, c = key.data, key.fileobj
                more = c.recv(1 << 18)
                if not more:
                    raise SystemExit(f"port {port} closed a connection")
                got[0] += more
                head = got[0].find(b"\r\n\r\n")
                if head >= 0 and not got[1]:
                    bad += not got[0].startswith(b"HTTP/1.1 200")
                    m = re.search(rb"(?i)\r\ncontent-length: *(\d+)", got[0][:head])
                    got[1] = head + 4 + int(m.group(1)) if m else 0
                whole = got[1] and len(got[0]) >= got[1] or not got[1] and got[0].endswith(b"\r\n0\r\n\r\n")
                if whole:
                    n += 1
                    got[:] = b"", 0
                    c.sendall(ask)
    if bad or not n:
        raise SystemExit(f"{path[:200]}: {bad} of {n} answers were no answers")
    return n


def wrk(port, path, pid, seconds=3, header=""):
    """The same question from 32 connections at once: CPU ms per request and requests per second. header: "Name: value", one more."""
    before = cpu_ms(pid)
    if not shutil.which("wrk"):
        n = at_once(port, path, seconds, header=header)
        return {"cpu_ms": (cpu_ms(pid) - before) / n, "rate": n / seconds}
    out = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", *(["-H", header] if header else []), f"http://127.0.0.1:{port}{path}"], check=True, stdout=subprocess.PIPE).stdout.decode()
    cpu, n = cpu_ms(pid) - before, int(re.search(r"(\d+) requests in", out).group(1))
    if "Non-2xx" in out or not n:
        raise SystemExit(f"wrk {path[:200]}: {out}")
    return {"cpu_ms": cpu / n, "rate": n / seconds}


def kin_cpu_s(pid):
    """CPU seconds of a process, of its children, and of those that ended."""
    total = 0
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat", encoding="utf-8") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(p) == pid:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == pid:
            total += int(fields[11]) + int(fields[12])
    return total / TICK


class Postgres:
    """A PostgreSQL server in a folder of its own, durable, on loopback and with a password: .url, .password (a file), .pid."""

    def __init__(self, path, *settings):
        self.path, self.bin = path, sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.who = {}
        os.makedirs(path)
        self.password = path + "/password"
        with open(self.password, "w", opener=lambda p, f: os.open(p, f, 0o600), encoding="utf-8") as f:
            f.write(secrets.token_hex(16))
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chmod(os.path.dirname(path), 0o711)
            for p in (path, self.password):
                os.chown(p, user.pw_uid, user.pw_gid)
            self.who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        subprocess.run([self.bin + "/initdb", "-D", path + "/db", "-U", "muster", "--pwfile", self.password, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"], check=True, cwd=path,
                       stdout=subprocess.DEVNULL, **self.who)
        self.port = free_port()
        self.url = f"postgres://muster@127.0.0.1:{self.port}/postgres"
        self.store = ["--store", self.url, "--store-password-file", self.password]
        argv = [self.bin + "/postgres", "-D", path + "/db", "-k", path, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1"]
        self.p = subprocess.Popen(argv + [x for s in settings for x in ("-c", s)], cwd=path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.who)
        self.pid, end = self.p.pid, time.monotonic() + 60
        while self.sql("SELECT 1") != "1":
            if self.p.poll() is not None or time.monotonic() > end:
                raise SystemExit("PostgreSQL does not start")
            time.sleep(.2)

    def sql(self, text):
        """The rows as text, fields with | between."""
        with open(self.password, encoding="utf-8") as f:
            env = {**os.environ, "PGPASSWORD": f.read()}
        return subprocess.run([self.bin + "/psql", "-XqAt", "-h", self.path, "-p", str(self.port), "-U", "muster", "-d", "postgres", "-c", text], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode().strip()

    def cpu_s(self):
        return kin_cpu_s(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.send_signal(signal.SIGINT)
        self.p.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def enroll_token(path, *where):
    """A file with a token by which many nodes enrol."""
    token = subprocess.run([MUSTER, "token", "new", "--role", "enroll", "--uses", "100000", *where], check=True, stdout=subprocess.PIPE).stdout
    with open(path, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(token)
    return path


def programs():
    """What the benchmarks run is built."""
    subprocess.run(["make", "-s", "-C", TOP, "-j2", "bench-programs"], check=True, stdout=subprocess.DEVNULL)
