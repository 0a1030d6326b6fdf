"""pgbouncer, haproxy, and PostgreSQL under patroni, as the files in packaging/cluster have them: only names of machines, ports, folders and passwords are others. Without the packages the tests that need them are skipped."""
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import lib
import postgres

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin"
bouncer_needed = unittest.skipUnless(shutil.which("pgbouncer", path=PATH), "pgbouncer is not installed")
patroni_needed = unittest.skipUnless(shutil.which("patroni", path=PATH) and shutil.which("etcd", path=PATH), "patroni and etcd are not installed")
haproxy_needed = unittest.skipUnless(shutil.which("haproxy", path=PATH), "haproxy is not installed")


def example(name, words):
    """The file with some words replaced; each of them must be there."""
    with open(os.path.join(lib.TOP, "packaging/cluster", name), encoding="utf-8") as f:
        text = f.read()
    for old, new in words.items():
        if old not in text:
            raise AssertionError(f"{name} has no '{old}'")
        text = text.replace(old, str(new))
    return text


class Folder:
    """A folder of its own, and programs in it that are not root's and end with the test."""

    def __init__(self, case, name):
        self.dir = tempfile.mkdtemp(prefix=f"muster-{name}-")
        self.case, self.running = case, []
        case.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        case.addCleanup(self.end)
        self.give(self.dir)

    def give(self, path):
        if os.geteuid() == 0:
            who = pwd.getpwnam("postgres")
            os.chown(path, who.pw_uid, who.pw_gid)

    def put(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600), encoding="utf-8") as f:
            f.write(text)
        self.give(path)
        return path

    def start(self, *argv):
        log = open(self.dir + "/log", "ab")
        program = shutil.which(argv[0], path=PATH)
        p = subprocess.Popen([program, *argv[1:]], cwd=self.dir, preexec_fn=postgres._leave_root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                             env={"PATH": PATH, "HOME": self.dir, "LC_ALL": "C.UTF-8"})
        log.close()
        self.running.append(p)
        return p

    def log(self):
        with open(self.dir + "/log", encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self, how=signal.SIGTERM):
        for p in reversed(self.running):
            if p.poll() is None:
                p.send_signal(how)
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
        self.running = []


class Bouncer(Folder):
    """In front of a postgres.Postgres, one transaction at a time."""

    def __init__(self, case, pg):
        super().__init__(case, "bouncer")
        self.port = lib.free_port()
        users = self.put("users", f'"muster" "{postgres.PASSWORD}"\n')
        ini = self.put("ini", example("pgbouncer.ini", {"muster = host=db1 port=5432 dbname=muster": f"muster = host=127.0.0.1 port={pg.port} dbname=postgres", "listen_addr = *": "listen_addr = 127.0.0.1",
                                                        "6432": self.port, "/etc/pgbouncer/userlist.txt": users, "default_pool_size = 20": "default_pool_size = 3"}))
        self.url = f"postgres://muster@127.0.0.1:{self.port}/muster"
        self.start("pgbouncer", ini)


class Haproxy(Folder):
    """Hubs that the test does not have are left out. ends_tls: the line that ends TLS is in force."""

    def __init__(self, case, hubs, ends_tls=False):
        super().__init__(case, "haproxy")
        port = lib.free_port()
        words = {"bind :8765": f"bind 127.0.0.1:{port}", **{f"hub{i + 1}:8765": h.url.split("//")[1] for i, h in enumerate(hubs)}}
        self.url = f"http{'s' * ends_tls}://127.0.0.1:{port}"
        if ends_tls:
            pem = self.put("pem", "")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pem, "-out", self.dir + "/cert", "-subj", "/CN=gpus"], check=True, stderr=subprocess.DEVNULL)
            with open(self.dir + "/cert", "rb") as f, open(pem, "ab") as to:
                to.write(f.read())
            self.give(pem)
            del words["bind :8765"]
            words["# bind :443 ssl crt /etc/haproxy/muster.pem"] = f"bind 127.0.0.1:{port} ssl crt {pem}"
            words["    bind :8765\n"] = ""
        cfg = example("haproxy.cfg", words).replace("\nfrontend", f"\nlisten counters\n    bind unix@{self.dir}/stats\n    stats enable\n    stats uri /\n\nfrontend")
        cfg = "".join(line for line in cfg.splitlines(True) if not re.search(r"hub\d:8765", line))
        self.start("haproxy", "-db", "-f", self.put("cfg", cfg))

    def up(self, backend):
        """The servers that haproxy sends requests to."""
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as s:
            try:
                s.connect(self.dir + "/stats")
            except OSError:
                return None
            s.sendall(b"GET /;csv HTTP/1.0\r\n\r\n")
            rows = b"".join(iter(lambda: s.recv(65536), b"")).decode().splitlines()
        fields = [row.split(",") for row in rows]
        return {f[1] for f in fields if f[0] == backend and f[1].startswith("hub") and f[17].startswith("UP")}


class Etcd(Folder):
    def __init__(self, case):
        super().__init__(case, "etcd")
        self.port = lib.free_port()
        at, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{lib.free_port()}"
        self.start("etcd", "--data-dir", self.dir + "/data", "--listen-client-urls", at, "--advertise-client-urls", at, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", f"default={peer}")


class Patroni(Folder):
    """One of two servers. kill9() is a machine that dies."""

    def __init__(self, case, etcd, name):
        super().__init__(case, name)
        self.name, self.port, self.rest = name, lib.free_port(), lib.free_port()
        self.yml = self.put("yml", example("patroni.yml", {"name: db1": "name: " + name, "db1:8008": f"127.0.0.1:{self.rest}", "db1:5432": f"127.0.0.1:{self.port}", "etcd1:2379": f"127.0.0.1:{etcd.port}",
                                                           "/var/lib/postgresql/15/muster": self.dir + "/data", "/var/run/postgresql": self.dir, "SUPERUSER-PASSWORD": postgres.PASSWORD,
                                                           "REPLICATION-PASSWORD": "r", "REWIND-PASSWORD": "w"}))
        self.go()

    def go(self):
        self.p = self.start("patroni", self.yml)

    def cluster(self):
        """Of every member its role and state, as this one tells."""
        try:
            _, _, body = lib.ask(f"http://127.0.0.1:{self.rest}/cluster")
            return {m["name"]: (m["role"], m["state"]) for m in json.loads(body)["members"]}
        except (OSError, ValueError):
            return {}

    def sql(self, text, base="postgres"):
        done = subprocess.run([postgres.BIN + "/psql", "-XqAt", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", base, "-c", text], env=dict(os.environ, PGPASSWORD=postgres.PASSWORD),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            raise AssertionError(done.stderr.decode() + self.log()[-3000:])
        return done.stdout.decode().strip()

    def kill9(self):
        with open(self.dir + "/data/postmaster.pid", encoding="ascii") as f:
            server = int(f.read().split()[0])
        self.p.kill()
        self.p.wait()
        os.kill(server, signal.SIGQUIT)  # its processes end at once and write nothing more
        lib.wait_until("it is gone", lambda: not os.path.exists(f"/proc/{server}"))

    def end(self, how=signal.SIGINT):
        super().end(how)
        try:
            with open(self.dir + "/data/postmaster.pid", encoding="ascii") as f:
                os.kill(int(f.read().split()[0]), signal.SIGQUIT)
        except (FileNotFoundError, ProcessLookupError):
            pass
