"""A small site that faults are done to: a PostgreSQL primary with a synchronous standby, hubs, haproxy, invented nodes, a network between them.

Everything lives in namespaces of its own (network, mounts, processes), which `enter` makes, so that nothing outside is touched and nothing stays. It needs root.
The servers, hubs and what asks them have an address each in 10.77.0.0/24 on a bridge; a cut is a rule of nftables at one end.
"""
import collections
import contextlib
import http.client
import json
import os
import pwd
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import lib
import sender

PG = "/usr/lib/postgresql/15/bin"
PASSWORD = "se:cr@t"
HERE = "10.77.0.1"
DAY = 86400000
SHIM = os.path.join(lib.BIN, "libclock-shim.so")
TOOLS = ("ip", "nft", "unshare", "haproxy")


def path_of(tool):
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def missing():
    """Why there can be no such world here, or None."""
    if os.geteuid() != 0:
        return "only root may make networks"
    for tool in (*TOOLS, PG + "/postgres"):
        if not path_of(tool):
            return f"there is no {tool}"
    probe = [path_of("unshare"), "--net", "--mount", "--pid", "--fork", path_of("nft"), "add", "table", "ip", "m"]
    return None if subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0 else "no namespaces or no nftables here"


def enter():
    """The program again, in namespaces of its own; they end with it, and all that runs in them."""
    if os.environ.get("FAULT_WORLD"):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
        return
    argv = [path_of("unshare"), "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", sys.executable, *sys.argv]
    os.execve(argv[0], argv, dict(os.environ, FAULT_WORLD="1", PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"))


def run(*argv, check=True, **kw):
    return subprocess.run([str(a) for a in argv], check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw).stdout.decode()


class Net:
    """A bridge, and a namespace for each that has an address."""

    def __init__(self):
        self.at = {"front": HERE}
        self.cuts = 0
        for line in ("link set lo up", "link add br0 type bridge", f"addr add {HERE}/24 dev br0", "link set br0 up"):
            run("ip", *line.split())

    def add(self, name, address):
        self.at[name] = address
        for line in (f"netns add {name}", f"link add v{name} type veth peer name eth0 netns {name}", f"link set v{name} master br0 up", f"-n {name} addr add {address}/24 dev eth0",
                     f"-n {name} link set eth0 up", f"-n {name} link set lo up"):
            run("ip", *line.split())
        for line in ("add table ip cut", "add chain ip cut in { type filter hook input priority 0 ; }", "add chain ip cut out { type filter hook output priority 0 ; }"):
            run("ip", "netns", "exec", name, "nft", *line.split())

    def cut(self, a, b, how="drop"):
        """Not a packet between these two; how: what a gets for one that it sends."""
        if a == "front":
            a, b = b, a
        run("ip", "netns", "exec", a, "nft", "add", "rule", "ip", "cut", "in", "ip", "saddr", self.at[b], "drop")
        run("ip", "netns", "exec", a, "nft", "add", "rule", "ip", "cut", "out", "ip", "daddr", self.at[b], *how.split())

    def heal(self):
        for name in self.at:
            if name != "front":
                run("ip", "netns", "exec", name, "nft", "flush", "table", "ip", "cut")

    def inside(self, name):
        return ["ip", "netns", "exec", name]


class Clock:
    """A file that a program's clock is set by."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(struct.pack("<q", 0))
        os.chmod(path, 0o644)
        self.env = {"LD_PRELOAD": SHIM, "CLOCK_SHIM": path}

    def set(self, ms):
        with open(self.path, "r+b") as f:
            f.write(struct.pack("<q", ms))


class Disk:
    """A small one."""

    def __init__(self, path, size):
        self.path = path
        os.mkdir(path)
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path)

    def fill(self):
        """Every byte of it."""
        with open(self.path + "/ballast", "ab", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(1 << 16))

    def empty(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path + "/ballast")

    def close(self):
        run("umount", "-l", self.path, check=False)


class Server:
    """PostgreSQL on a disk of its own."""

    def __init__(self, world, name, address, size):
        self.world, self.name, self.address, self.p = world, name, address, None
        world.net.add(name, address)
        self.disk = Disk(world.path(name), size)
        self.dir = self.disk.path + "/db"
        who = pwd.getpwnam("postgres")
        os.chown(self.disk.path, who.pw_uid, who.pw_gid)
        self.clock = Clock(world.path(name + ".clock"))
        self.log = world.path(name + ".log")

    def inside(self):
        """In its network, as somebody who is not root."""
        return [*self.world.net.inside(self.name), "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def tool(self, program, *argv, check=True):
        return run(*self.inside(), f"{PG}/{program}", *argv, check=check, cwd=self.disk.path, env=dict(os.environ, PGPASSWORD=PASSWORD))

    def make(self):
        secret = self.disk.path + "/secret"
        with open(secret, "w", encoding="ascii") as f:
            f.write(PASSWORD + "\n")
        os.chmod(secret, 0o644)
        self.tool("initdb", "-D", self.dir, "-U", "muster", "--pwfile", secret, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--wal-segsize=4")
        run(*self.inside(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.dir + "/server.key", "-out", self.dir + "/server.crt",
            "-days", "36500", "-subj", "/CN=" + self.name)
        with open(self.dir + "/pg_hba.conf", "w", encoding="ascii") as f:
            f.write("local all all trust\nhostssl all all 10.77.0.0/24 scram-sha-256\nhost replication all 10.77.0.0/24 scram-sha-256\n")
        with open(self.dir + "/postgresql.conf", "a", encoding="ascii") as f:
            f.write("ssl = on\nwal_level = replica\nwal_keep_size = 64MB\nmax_wal_size = 64MB\nmin_wal_size = 32MB\nshared_buffers = 32MB\nfsync = off\n"
                    "wal_sender_timeout = 10s\nwal_receiver_timeout = 10s\nmax_connections = 60\n")

    def start(self, wait=True):
        log = open(self.log, "ab")
        self.p = subprocess.Popen([*self.inside(), f"{PG}/postgres", "-D", self.dir, "-k", self.disk.path, "-c", f"listen_addresses={self.address}"],
                                  cwd=self.disk.path, start_new_session=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=dict(os.environ, **self.clock.env))
        log.close()
        if wait:
            lib.wait_until(self.name + " answers", lambda: self.sql("SELECT 1", check=False) == "1", 60)

    def stop(self, how=signal.SIGINT):
        """SIGINT: its clients are sent away, and it ends."""
        if self.p.poll() is None:
            self.p.send_signal(how)
        self.p.wait(60)

    def kill9(self):
        """All of its processes at once, as when its machine goes."""
        with contextlib.suppress(ProcessLookupError):
            for pid in [*self.processes(), self.p.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.p.wait()

    def processes(self, of=None):
        """Children of the server; of: only those so called."""
        out = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as f:
                    words = f.read()
                if parent == self.p.pid and (not of or of in words):
                    out.append(int(name))
        return out

    def follow(self, other):
        """It becomes the other's standby, from nothing."""
        shutil.rmtree(self.dir, ignore_errors=True)
        self.tool("pg_basebackup", "-D", self.dir, "-R", "-X", "stream", "-c", "fast", "-d", f"host={other.address} user=muster dbname=postgres application_name={self.name}")
        self.start()

    def promote(self):
        self.sql("SELECT pg_promote(true, 30)")

    def wait_for_standby(self, on):
        """on: a commit waits for the standby from now on, which must be there; else for nobody."""
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '%s'" % ("*" if on else ""))
        self.sql("SELECT pg_reload_conf()")
        if on:
            lib.wait_until("the standby keeps up", lambda: self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", check=False) == "1", 60)

    def sql(self, text, check=True, base="postgres"):
        done = subprocess.run([PG + "/psql", "-XqAt", "-h", self.disk.path, "-U", "muster", "-d", base, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env=dict(os.environ, PGOPTIONS="-c synchronous_commit=local"))
        if check and done.returncode:
            raise AssertionError(f"{text}: {done.stderr.decode()}")
        return done.stdout.decode().strip()


class Hub:
    def __init__(self, world, name, address, flags):
        self.world, self.name, self.address, self.flags = world, name, address, flags
        self.url = f"http://{address}:8765"
        world.net.add(name, address)
        self.clock = Clock(world.path(name + ".clock"))
        self.data = world.path(name)
        self.disk = Disk(self.data, "16m")
        self.p, self.texts = None, []

    def argv(self):
        w = self.world
        return [*w.net.inside(self.name), lib.MUSTER, "hub", "--listen", f"{self.address}:8765", "--data", self.data, "--store", w.store, "--store-password-file", w.secret, "--advertise", self.url,
                "--config", w.path("muster.yaml"), "--host-names", HERE, *self.flags]

    def start(self, wait=True):
        env = {} if os.environ.get("MUSTER_SAN") else self.clock.env
        self.p = lib.Process(self.argv(), env)
        if wait:
            self.p.wait_line(r"http://10\.77", 60)

    def kill9(self):
        self.p.kill9()
        self.ended()

    def ended(self):
        self.p.p.stdout.close()
        self.texts.append(self.p.text)

    def signal(self, how):
        self.p.p.send_signal(how)

    def ask(self, path, limit=5, **kw):
        return lib.ask(self.url + path, limit=limit, **kw)

    def metric(self, name):
        with contextlib.suppress(OSError):
            for line in self.ask("/metrics")[2].decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        return None

    def notice(self):
        """What its screens say is wrong; "": nothing; None: it does not answer."""
        with contextlib.suppress(OSError, ValueError, AssertionError):
            return lib.ask_json(self.url + "/api/v1/state?node=sim1", limit=3).get("notice", "")
        return None

    def well(self):
        said = self.notice()
        return said is not None and re.match("$|the hub's clock jumped", said)

    def words(self):
        """All that this hub said in its log."""
        return "\n".join([*self.texts, self.p.text])


CONFIG = """
channels:
  tell: {type: command, command: [/bin/sh, "%s/tell.sh", "%s/told"], severity: critical}
alerts:
  rules:
    - {name: mark, when: "free node:mark*", for: 0s, clear: 1h, channel: tell, text: "{place} is marked"}
"""
TELL = 'x=$(cat | tr -d "\\n")\nprintf "%s\\n" "$x" >>"$1"\n'


class World:
    """Hubs h1, h2 …, servers db1 (the first primary) and db2, haproxy at self.url."""

    def __init__(self, folder, hubs=3, nodes=500, gpus=1, tick="5s", interval="5s", disk="700m", flags=()):
        self.folder, self.n_nodes = folder, nodes
        os.chmod(folder, 0o755)
        self.net = Net()
        self.secret = self.path("secret")
        with open(self.secret, "w", encoding="ascii") as f:
            f.write(PASSWORD + "\n")
        os.chmod(self.secret, 0o600)
        self.servers = [Server(self, "db1", "10.77.0.21", disk), Server(self, "db2", "10.77.0.22", disk)]
        self.primary, self.standby = self.servers
        self.store = "postgres://muster@10.77.0.21:5432,10.77.0.22:5432/postgres?sslmode=require"
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG % (folder, folder))
        with open(self.path("tell.sh"), "w", encoding="ascii") as f:
            f.write(TELL)
        self.primary.make()
        self.primary.start()
        self.standby.follow(self.primary)
        self.primary.wait_for_standby(True)
        flags = ("--rule-stale-after", "1h", "--rule-down-after", "1h", "--rotate", "20s", "--log-level", "info", *flags)
        self.hubs = [Hub(self, f"h{i + 1}", f"10.77.0.{11 + i}", flags) for i in range(hubs)]
        for h in self.hubs:
            h.start()
        self.url = f"http://{HERE}:8080"
        self._haproxy()
        self.enroll = self.token("enroll", "--uses", "100000")  # for marks
        self.marks, self.alerts, self.closed = 0, {}, False
        self.ledger = self.path("ledger")
        with open(self.path("enroll"), "w", encoding="ascii") as f:
            f.write(self.token("enroll", "--uses", str(2 * nodes + 10)))
        os.chmod(self.path("enroll"), 0o600)
        self.sim = lib.Process([lib.MUSTER, "simulate", "--hub", ",".join(h.url for h in self.hubs), "--token-file", self.path("enroll"), "--nodes", str(nodes), "--gpus", str(gpus),
                                "--tick", tick, "--interval", interval, "--ledger", self.ledger, "--drain", "120s"])

    def path(self, name):
        return os.path.join(self.folder, name)

    def token(self, role, *flags):
        return run(lib.MUSTER, "token", "new", "--role", role, "--store", self.store, "--store-password-file", self.secret, *flags).strip()

    def _haproxy(self):
        with open(self.path("haproxy.cfg"), "w", encoding="ascii") as f:
            f.write("defaults\n mode http\n timeout connect 1s\n timeout client 60s\n timeout server 60s\n timeout check 1s\n retries 3\n option redispatch\n option httpchk GET /healthz\n"
                    " default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n"
                    f"frontend muster\n bind {HERE}:8080\n default_backend hubs\nbackend hubs\n balance roundrobin\n" + "".join(f" server {h.name} {h.address}:8765 check\n" for h in self.hubs))
        self.haproxy = lib.Process([path_of("haproxy"), "-db", "-f", self.path("haproxy.cfg")])

    def close(self):
        """In any state."""
        self.closed = True
        for p in [self.sim, self.haproxy, *(h.p for h in self.hubs)]:
            if p.p.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(p.p.pid, signal.SIGCONT)
                p.p.kill()
        for s in self.servers:
            s.kill9()
        for x in (*self.servers, *self.hubs):
            x.disk.close()

    # ---- who does what ----

    def leaders(self):
        return [h for h in self.hubs if h.p.alive() and h.metric("muster_hub_leads") == 1]

    def settled(self):
        """All are there, and know it; one leads. (That its clock was wrong a hub says for an hour.)"""
        n = len(self.hubs)
        return len(self.leaders()) == 1 and all(h.p.alive() and h.metric("muster_hub_hubs") == n and h.well() for h in self.hubs)

    def sql(self, text):
        return self.primary.sql(text)

    # ---- what is told ----

    def mark(self):
        """A node that somebody must be told of, once; it speaks to whoever takes it, for a while. Its name."""
        self.marks += 1
        node = sender.Node(f"mark{self.marks}")
        threading.Thread(target=self.speak, args=(node,), daemon=True).start()
        return node.name

    def speak(self, node, times=4, limit=60):
        token, end, spoke = self.enroll, time.monotonic() + limit, 0
        while spoke < times and time.monotonic() < end and not self.closed:
            with contextlib.suppress(OSError, http.client.HTTPException):
                body = node.stream(node.facts(), node.procs(), node.batch(util=0))
                status, _, answer = lib.ask(self.url + "/api/v1/batches", method="POST", body=body, limit=15,
                                            headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
                if status == 200:
                    token, spoke = sender.answer(answer).get("token", token), spoke + 1
            time.sleep(5 if spoke else 0.5)

    def told(self):
        """How often each mark was told of, and how many of these messages came with a number that was there already."""
        times, ids, again = collections.Counter(), set(), 0
        for h in self.hubs:  # a message of very many names only the first
            with contextlib.suppress(OSError, ValueError, AssertionError):
                for row in lib.ask_json(h.url + "/api/v1/alerts", limit=5)["rows"]:
                    if row["rule"] == "mark":
                        self.alerts[row["id"]] = row["place"].split(":")[0]
        with contextlib.suppress(FileNotFoundError), open(self.path("told"), encoding="utf-8", errors="replace") as f:
            for line in f:
                with contextlib.suppress(ValueError):
                    m = json.loads(line)
                    if m.get("rule") == "mark" and m.get("kind") == "fired":
                        times.update({*re.findall(r"mark\d+", m["text"] or m["title"]), *(self.alerts[i] for i in m["alerts"] if i in self.alerts)})
                        again += m["id"] in ids
                        ids.add(m["id"])
        return times, again

    # ---- what is stored ----

    def values(self):
        """The simulator ends, all acknowledged; then of each node how many values of one metric there must be, and how many the history of each hub has: [(hub, node, made, found)] where they differ."""
        self.sim.stop(limit=150)
        made, names, wrong = collections.Counter(node for node, _, _ in self.made()), {}, []
        for row in self.sql("SELECT key, name FROM nodes WHERE name LIKE 'sim%'").splitlines():
            key, name = row.split("|")
            names[key] = name
        now = int(time.time() * 1000)
        for h in self.hubs:
            for key, name in names.items():
                status, _, body = h.ask(f"/api/v1/history?device={name}:0&metric=mem_total&from={now - 3 * DAY}&to={now + 3 * DAY}&step=1h&agg=count", limit=60)
                found = sum(v or 0 for s in json.loads(body)["series"] for v in s["v"]) if status == 200 else f"HTTP {status}"
                if found != made[key]:
                    wrong.append((h.name, name, made[key], found))
        return wrong

    def made(self):
        """(node, run, number) of every batch so far, and its samples."""
        out = {}
        with open(self.ledger, encoding="ascii") as f:
            for line in f:
                if line.endswith("\n"):
                    node, how, number, samples, total = line.split()
                    out[(node, how, int(number))] = (int(samples), total)
        return out

    def stored(self):
        """Keys that are stored: as frames, or taken up into chunks; and which stand there twice."""
        rows = self.sql("SELECT n.key, to_hex(b.run), b.number FROM batch b JOIN batch_node n ON n.id = b.node").splitlines()
        times = collections.Counter()
        for row in rows:
            node, how, number = row.split("|")
            times[(node, how.rjust(16, "0"), int(number))] += 1
        ranges = self.sql("SELECT n.key, to_hex(t.run), t.first, t.last FROM taken t JOIN batch_node n ON n.id = t.node").splitlines()
        keys = set(times)
        for row in ranges:
            node, how, first, last = row.split("|")
            keys.update((node, how.rjust(16, "0"), k) for k in range(int(first), int(last) + 1))
        return keys, [k for k, n in times.items() if n > 1]


class Asker(threading.Thread):
    """Somebody who looks at one node through haproxy, again and again; how long was there no answer?"""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.over, self.last, self.worst, self.answers, self.lock = world, False, time.monotonic(), 0.0, 0, threading.Lock()

    def run(self):
        while not self.over:
            began = time.monotonic()
            with contextlib.suppress(Exception):
                if lib.ask(self.world.url + "/api/v1/state?node=sim1", limit=2)[0] == 200:
                    with self.lock:
                        now = time.monotonic()
                        self.worst, self.last, self.answers = max(self.worst, now - self.last), now, self.answers + 1
            time.sleep(max(0.05, 0.25 - (time.monotonic() - began)))

    def take(self):
        """The longest time since this was asked last."""
        with self.lock:
            worst = max(self.worst, time.monotonic() - self.last)
            self.worst = 0.0
            return worst


class Queue:
    """People who wait for the GPUs of a few nodes, use each for some seconds, and wait again."""
    NODES, PEOPLE = 4, 6

    def __init__(self, world):
        self.world, self.over, self.grants, self.lock = world, False, [], threading.Lock()
        nodes = [sender.Node(f"queue{i + 1}") for i in range(self.NODES)]
        for n in nodes:
            threading.Thread(target=world.speak, args=(n, 1 << 30, 1 << 30), daemon=True).start()
        tokens = [world.token("member", "--person", f"p{i + 1}") for i in range(self.PEOPLE)]
        self.threads = [threading.Thread(target=self._wait, args=(token, random.Random(i)), daemon=True) for i, token in enumerate(tokens)]
        for t in self.threads:
            t.start()

    def _ask(self, rng, method, path, token, body=None):
        """What any of the hubs answers; None: it does not."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            status, _, answer = rng.choice(self.world.hubs).ask(path, limit=8, method=method, headers={"Authorization": "Bearer " + token}, body=None if body is None else json.dumps(body))
            return status, json.loads(answer)
        return None, {}

    def _wait(self, token, rng):
        while not self.over:
            status, row = self._ask(rng, "POST", "/api/v1/waits", token, {"count": 1, "node": "queue*", "hold": "1m", "free_for": "0s"})
            if status == 201:
                self._turn(token, rng, f"/api/v1/waits/{row['id']}")
            time.sleep(0.5)

    def _turn(self, token, rng, path):
        began = None
        while True:
            status, row = self._ask(rng, "POST", path, token)
            now = time.time()
            if status == 404 or (status == 200 and row["state"] in ("left", "over")):
                return
            if status == 200 and row["state"] == "yours" and not began:
                began, where, until, leave = now, row["where"], row["until"] / 1000, now + rng.uniform(1, 4)
                with self.lock:
                    self.grants.append([where, began, until, path])
            if began and (now > leave or self.over):
                with self.lock:
                    self.grants[[g[3] for g in self.grants].index(path)][2] = min(now, until)
                while self._ask(rng, "DELETE", path, token)[0] not in (200, 404, 409) and time.time() < until:
                    time.sleep(0.3)
                return
            if self.over:
                return
            time.sleep(rng.uniform(0.4, 0.8))

    def stop(self):
        self.over = True
        for t in self.threads:
            t.join(60)

    def overlaps(self):
        """Pairs of grants of one GPU at one time."""
        by = sorted(self.grants)
        return [(a, b) for a, b in zip(by, by[1:]) if a[0] == b[0] and b[1] < a[2]]


class Racer(threading.Thread):
    """Two who book the same GPU for the same hour at two hubs, again and again."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.over, self.tries, self.got, self.both, self.ids = world, False, 0, 0, 0, []
        self.tokens = [world.token("member", "--person", who) for who in ("kim", "ann")]

    def book(self, h, token, at, out, i):
        body = json.dumps({"devices": ["sim1:0"], "from": at, "until": at + 1800000}).encode()
        try:
            status, _, answer = h.ask("/api/v1/bookings", limit=15, method="POST", body=body, headers={"Authorization": "Bearer " + token})
            out[i] = json.loads(answer)["id"] if status == 201 else None
        except Exception:  # no answer is no promise
            out[i] = None

    def run(self):
        at = int(time.time() * 1000) + 7200000
        rng = random.Random(1)
        while not self.over:
            at += 3600000
            if at > time.time() * 1000 + 85 * 86400000:
                return
            out, hubs = [None, None], rng.sample(self.world.hubs, 2)
            both = [threading.Thread(target=self.book, args=(hubs[i], self.tokens[i], at, out, i)) for i in (0, 1)]
            for t in both:
                t.start()
            for t in both:
                t.join()
            self.tries += 1
            self.got += any(out)
            self.both += all(out)
            self.ids += [i for i in out if i]
            time.sleep(0.8)

    def kept(self):
        """(bookings that were promised and are not there, pairs in the table that overlap)"""
        w = self.world
        there = set(w.sql("SELECT id FROM holds").split())
        rows = w.sql("SELECT count(*) FROM booked a JOIN booked b ON a.device = b.device AND a.span && b.span AND a.hold < b.hold")
        return [i for i in self.ids if str(i) not in there], int(rows)
