#!/usr/bin/python3
"""Adding a node with one line: the script of /install as a person pipes it into a shell.

As root it runs in a root folder that holds nothing but a shell, curl and the small programs every Debian has, in a mount namespace of its own; without root
only the part for users runs.
"""
import contextlib
import hashlib
import http.server
import json
import os
import platform
import pty
import shutil
import subprocess
import termios
import threading
import unittest

import lib

# What the script may lean on: Debian's essential packages, and curl.
PROGRAMS = ("sh", "curl", "cat", "chgrp", "chmod", "chown", "grep", "id", "kill", "mkdir", "mktemp", "mv", "nohup", "rm", "rmdir", "sed", "sha256sum", "sleep", "tail", "uname", "useradd",
            "userdel")
ROOT = os.geteuid() == 0


def files_of(top, *, beside=()):
    """Every file and folder below top, as paths from there."""
    found = set()
    for at, folders, files in os.walk(top):
        found.update(os.path.relpath(os.path.join(at, f), top) for f in folders + files)
    return {f for f in found if not f.startswith(beside)} if beside else found


def libraries_of(program):
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return [word for line in out.splitlines() for word in line.split() if word.startswith("/")]


class Changed(http.server.BaseHTTPRequestHandler):
    """Between a node and the hub: all as the hub sends it, but the file at `path` has another byte, or ends early."""
    hub = path_changed = how = None

    def do_GET(self):
        headers = {k: v for k, v in self.headers.items() if k in ("Host", "Authorization")}
        status, got, body = lib.ask(self.hub + self.path, headers=headers)
        announced = len(body)
        if self.path == self.path_changed:
            body = body[:-1] + bytes([body[-1] ^ 1]) if self.how == "differs" else body[:len(body) // 2]
        self.send_response(status)
        self.send_header("Content-Type", got.get("content-type", ""))
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Install(lib.Case):
    def setUp(self):
        super().setUp()
        self.hub = self.start_hub()
        self.enroll = self.token("enroll")

    def node_names(self):
        return [n["name"] for n in lib.ask_json(self.hub.url + "/api/v1/state")["nodes"]]

    def pipe(self, where, argument, env=None, url=None):
        """`curl … | sh -s -- argument` through the command `where`; (status, all it said)."""
        line = f"curl -fsS {url or self.hub.url}/install | sh -s -- {argument}"
        done = subprocess.run([*where, "sh", "-c", line], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=lib.LIMIT_S,
                              check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def test_a_user_without_root_and_without_systemd_adds_and_removes_a_node(self):
        home = self.path("home")
        os.mkdir(home)
        os.chmod(self.dir, 0o755)
        as_user = []
        if ROOT:
            os.chown(home, 65534, 65534)
            as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        env = {"HOME": home, "PATH": os.environ["PATH"], "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        self.addCleanup(self.pipe, as_user, "--uninstall", env)

        status, said = self.pipe(as_user, "mst_notatoken", env)
        self.assertEqual(status, 1, said)
        self.assertIn("does not take this token", said)
        status, said = self.pipe(as_user, "hello", env)
        self.assertEqual(status, 1, said)
        self.assertIn("not a token", said)
        self.assertEqual(files_of(home), set(), "a refused token leaves nothing behind")

        for words, why in (("--token-file /nonexistent", "cannot read"), ("--token-file", "name of a file"), ("--token-fil x", "not understood"), ("", "no token given")):
            status, said = self.pipe(["setsid", *as_user], words, env)  # without a terminal nobody can be asked
            self.assertEqual(status, 1, said)
            self.assertIn(why, said)
        self.assertEqual(files_of(home), set())

        token_file = self.path("token")
        with open(token_file, "w", encoding="ascii") as f:
            f.write(self.enroll + "\n")
        os.chmod(token_file, 0o644)
        status, said = self.pipe(as_user, "--token-file " + token_file, env)
        self.assertEqual(status, 0, said)
        self.assertIn("no systemd here: started in the background", said)
        self.assertIn(f"{home}/.local/bin/muster-agent --env-file {home}/.config/muster/agent.env", said)
        lib.wait_until("the node appears", self.node_names)
        with open(home + "/.local/state/muster-agent/agent.pid", encoding="ascii") as f:
            pid = int(f.read())
        self.only_its_own_token(home, pid)

        # Asked on the terminal, as a second time, with the token in no list of arguments; the node is the same one.
        status, said = self.pipe_on_terminal(as_user, self.enroll, env)
        self.assertEqual(status, 0, said)
        self.assertNotIn(self.enroll, said, "it is not echoed")
        with open(home + "/.local/state/muster-agent/agent.pid", encoding="ascii") as f:
            pid = int(f.read())
        self.only_its_own_token(home, pid)
        self.assertEqual(len(self.node_names()), 1)

        status, said = self.pipe(as_user, "--uninstall", env)
        self.assertEqual(status, 0, said)
        self.assertEqual(files_of(home), set())
        self.assertFalse(self.runs(pid), "the agent has ended")

    def only_its_own_token(self, home, pid):
        """The token that adds nodes is nowhere on the node's disk, nor with the agent."""
        first = home + "/.local/state/muster-agent/first.token"
        lib.wait_until("the token for the first contact is removed", lambda: not os.path.exists(first))
        for name in files_of(home):
            if os.path.isfile(os.path.join(home, name)):
                with contextlib.suppress(FileNotFoundError), open(os.path.join(home, name), "rb") as f:  # the agent removes files meanwhile
                    self.assertNotIn(self.enroll.encode(), f.read(), name)
        for what in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{what}", "rb") as f:
                self.assertNotIn(self.enroll.encode(), f.read(), what)
        own = [f for f in files_of(home) if f.endswith("/token")]
        self.assertEqual(len(own), 1, own)
        self.assertEqual(os.stat(os.path.join(home, own[0])).st_mode & 0o777, 0o600)

    def pipe_on_terminal(self, where, token, env):
        """`curl … | sh` by somebody at a terminal, who types the token when asked."""
        line = f"curl -fsS {self.hub.url}/install | sh"
        pid, fd = pty.fork()
        if pid == 0:
            os.execvpe((*where, "sh")[0], [*where, "sh", "-c", line], env)
        said = b""
        typed = False
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:  # its other end is closed
                piece = b""
            if not piece:
                break
            said += piece
            if not typed and b"token for" in said:
                typed = True
                self.assertFalse(termios.tcgetattr(fd)[3] & termios.ECHO, "the echo is off before it asks")
                os.write(fd, token.encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        return os.waitstatus_to_exitcode(status), said.decode("utf-8", "replace")

    @staticmethod
    def runs(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return b"muster-agent" in f.read()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def small_root(self):
        """A root folder with PROGRAMS, the libraries they and the agent need, and nothing else."""
        top = self.path("root")
        for d in ("bin", "dev", "proc", "tmp", "run", "etc/systemd/system", "usr/local/bin", "usr/sbin", "var/lib", "root"):
            os.makedirs(os.path.join(top, d))
        wanted = [shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin:/sbin") for p in PROGRAMS]
        for program in wanted:
            shutil.copy2(os.path.realpath(program), os.path.join(top, "bin", os.path.basename(program)))
        # curl's libcurl.so.4 is among these; it is all the agent needs beside libc.
        for library in {x for p in [*wanted, lib.AGENT] for x in libraries_of(p)}:
            os.makedirs(top + os.path.dirname(library), exist_ok=True)
            shutil.copy2(os.path.realpath(library), top + library)
        for name in ("passwd", "group"):
            with open(f"{top}/etc/{name}", "w", encoding="ascii") as f:
                f.write("root:x:0:0:root:/root:/bin/sh\n" if name == "passwd" else "root:x:0:\n")
        with open(top + "/etc/nsswitch.conf", "w", encoding="ascii") as f:
            f.write("passwd: files\ngroup: files\n")
        return top

    @staticmethod
    def inside(top):
        mounts = f"mount -t proc proc {top}/proc && mount --bind /dev {top}/dev && exec chroot {top} \"$@\""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:  # in a chroot '/' is no mount point and cannot be made private
            private = "private" if " shared:" in f.read() else "unchanged"
        return ["unshare", "--mount", "--propagation", private, "sh", "-c", mounts, "sh", "/bin/sh", "-c", 'exec "$@"', "sh"]

    @unittest.skipUnless(ROOT, "needs root for a chroot")
    def test_root_adds_and_removes_a_node_where_there_is_nothing_but_curl(self):
        top = self.small_root()
        env = {"PATH": "/bin:/usr/bin:/usr/sbin:/sbin", "HOME": "/root", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        if subprocess.run([*self.inside(top), "sh", "-c", ":"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mount namespaces here")
        self.addCleanup(self.pipe, self.inside(top), "--uninstall", env)
        before = files_of(top)

        status, said = self.pipe(self.inside(top), self.enroll, env)
        self.assertEqual(status, 0, said)
        self.assertIn("no systemd here: started in the background", said)
        lib.wait_until("the node appears", self.node_names)
        self.assertFalse(os.path.exists(top + "/etc/systemd/system/muster-agent.service"), "no unit where nothing reads it")
        self.assertTrue(os.path.exists(f"{top}/usr/local/bin/muster-agent"))

        status, said = self.pipe(self.inside(top), self.enroll, env)
        self.assertEqual(status, 0, "a second time is an upgrade: " + said)
        status, said = self.pipe(self.inside(top), "--uninstall", env)
        self.assertEqual(status, 0, said)
        self.assertEqual(files_of(top) - before, set())

    @unittest.skipUnless(ROOT, "needs root for a chroot")
    def test_with_systemd_it_becomes_a_service_with_a_sandbox_and_an_account(self):
        top = self.small_root()
        env = {"PATH": "/bin:/usr/bin:/usr/sbin:/sbin", "HOME": "/root", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        os.makedirs(top + "/run/systemd/system")
        with open(top + "/bin/systemctl", "w", encoding="ascii") as f:  # says what it was told
            f.write('#!/bin/sh\necho "$*" >>/tmp/systemctl\n')
        os.chmod(top + "/bin/systemctl", 0o755)
        if subprocess.run([*self.inside(top), "sh", "-c", ":"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mount namespaces here")
        before = files_of(top)
        status, said = self.pipe(self.inside(top), self.enroll, env)
        self.assertEqual(status, 0, said)
        with open(top + "/tmp/systemctl", encoding="ascii") as f:
            told = f.read().splitlines()
        self.assertEqual(told[-3:], ["daemon-reload", "enable muster-agent.service", "restart muster-agent.service"])
        with open(top + "/etc/systemd/system/muster-agent.service", encoding="utf-8") as f, \
                open(lib.TOP + "/packaging/systemd/muster-agent.service", encoding="utf-8") as g:
            unit, packaged = f.read(), g.read()
        with open(top + "/etc/passwd", encoding="ascii") as f:
            has_account = "muster-agent" in f.read()
        self.assertTrue(has_account, said)
        self.assertEqual(unit, packaged)
        self.assertFalse(os.path.exists(top + "/etc/muster/agent.token"))
        status = os.stat(top + "/var/lib/muster-agent/first.token")
        self.assertEqual(status.st_mode & 0o777, 0o600)
        self.assertNotEqual(status.st_uid, 0, "the agent removes it, so it is the agent's")
        self.assertEqual(os.stat(top + "/var/lib/muster-agent").st_uid, status.st_uid)
        # again, while the agent's account puts a link to a file of root's where the token goes
        os.rename(top + "/bin/chown", top + "/bin/chown.own")
        with open(top + "/bin/chown", "w", encoding="ascii") as f:
            f.write('#!/bin/sh\nmv -fT /tmp/link /var/lib/muster-agent/first.token\nexec chown.own "$@"\n')
        os.chmod(top + "/bin/chown", 0o755)
        os.symlink("/tmp/roots", top + "/tmp/link")
        with open(top + "/tmp/roots", "w", encoding="ascii") as f:
            f.write("as it was\n")
        again, said = self.pipe(self.inside(top), self.enroll, env)
        self.assertEqual(again, 0, said)
        os.replace(top + "/bin/chown.own", top + "/bin/chown")
        self.assertFalse(os.path.lexists(top + "/tmp/link"))
        with open(top + "/tmp/roots", encoding="ascii") as f:
            self.assertEqual((f.read(), os.fstat(f.fileno()).st_uid), ("as it was\n", os.geteuid()))
        with open(top + "/var/lib/muster-agent/first.token", encoding="ascii", opener=lambda p, flags: os.open(p, flags | os.O_NOFOLLOW)) as f:
            now = os.fstat(f.fileno())
            self.assertEqual((f.read(), now.st_mode & 0o777, now.st_uid), (self.enroll + "\n", 0o600, status.st_uid))
        self.assertEqual(os.listdir(top + "/var/lib"), ["muster-agent"])
        status, said = self.pipe(self.inside(top), "--uninstall", env)
        self.assertEqual(status, 0, said)
        left = {f for f in files_of(top) - before if not f.startswith(("tmp/", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/sub", "etc/.pwd"))}
        self.assertEqual(left, set())
        with open(top + "/etc/passwd", encoding="ascii") as f:
            self.assertNotIn("muster-agent", f.read())

    def changed(self, path, how):
        """The URL of a server that stands for the hub and changes one file."""
        handler = type("Handler", (Changed,), {"hub": self.hub.url, "path_changed": path, "how": how})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_an_agent_that_differs_or_is_cut_is_refused_and_removed(self):
        home = self.path("home")
        os.mkdir(home)
        env = {"HOME": home, "PATH": os.environ["PATH"], "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        as_user = []
        if ROOT:
            os.chmod(self.dir, 0o755)
            os.chown(home, 65534, 65534)
            as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for how, why in (("differs", "'.muster-agent.new' is not the file that the hub announced"), ("cut", "cannot fetch the agent")):
            status, said = self.pipe(as_user, self.enroll, env, self.changed(f"/install/muster-agent-{platform.machine()}", how))
            self.assertEqual((status, why in said), (1, True), said)
            self.assertEqual({f for f in files_of(home) if os.path.isfile(os.path.join(home, f))}, set())
        self.assertEqual(self.node_names(), [])

    @unittest.skipUnless(ROOT, "needs root for a chroot")
    def test_a_unit_that_differs_or_is_cut_is_refused_and_nothing_changes(self):
        top = self.small_root()
        env = {"PATH": "/bin:/usr/bin:/usr/sbin:/sbin", "HOME": "/root", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        os.makedirs(top + "/run/systemd/system")
        with open(top + "/bin/systemctl", "w", encoding="ascii") as f:
            f.write('#!/bin/sh\necho "$*" >>/tmp/systemctl\n')
        os.chmod(top + "/bin/systemctl", 0o755)
        if subprocess.run([*self.inside(top), "sh", "-c", ":"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mount namespaces here")
        units = top + "/etc/systemd/system"
        with open(units + "/muster-agent.service", "w", encoding="ascii") as f:
            f.write("of before\n")
        before = files_of(top)
        for how, why in (("differs", "'.muster-agent.service.new' is not the file that the hub announced"), ("cut", "cannot fetch the unit")):
            status, said = self.pipe(self.inside(top), self.enroll, env, self.changed("/install/muster-agent.service", how))
            self.assertEqual((status, why in said), (1, True), said)
            self.assertEqual(files_of(top), before, how)
            with open(units + "/muster-agent.service", encoding="ascii") as f:
                self.assertEqual(f.read(), "of before\n")

    def test_the_script_names_the_machine_it_has_an_agent_for(self):
        _, _, body = lib.ask(self.hub.url + "/install")
        self.assertIn(f"arch='{platform.machine()}'".encode(), body)
        status, _, body = lib.ask(f"{self.hub.url}/install/muster-agent-{platform.machine()}")
        self.assertEqual((status, body[:4]), (200, b"\x7fELF"))

    def test_one_client_s_host_never_reaches_another(self):
        """A Host with the FNV-1a hash of another made the hub serve the wrong script; one that is no address of this machine is refused."""
        true = "127.0.0.1:21200"
        for host in (true, "other.localhost", true):
            _, _, body = lib.ask(self.hub.url + "/install", headers={"Host": host})
            self.assertIn(f"hub='http://{host}'".encode(), body)
        for junk in ("[2001:db8:1:4CCF:Ef54:E0B7:bDCb:4E7e]", "198.51.100.77:8765", "10.66.6.6:oZAG0oJxw2xoXe4L0F20", "10.66.6.6:", "10.66.6.6:70000", "[::1]:x"):
            self.assertEqual(lib.ask(self.hub.url + "/install", headers={"Host": junk})[0], 421, junk)
        _, _, unit = lib.ask(self.hub.url + "/install/muster-agent.service")
        self.assertIn(f"unit_sum='{hashlib.sha256(unit).hexdigest()}'".encode(), body)

    def test_a_command_for_other_machines_never_has_an_address_that_they_cannot_reach(self):
        ask = lambda hub, **headers: json.loads(lib.ask(hub.url + "/api/v1/install", headers=headers)[2])
        for host in (self.hub.url[7:], "localhost:8765", "[::1]", "198.51.100.77:8765"):
            told = ask(self.hub, Host=host)
            self.assertEqual((told["why"], told.get("command")), ("loopback", None), host)
            self.assertIn("--listen 0.0.0.0:8765", told["detail"])
        hub = self.start_hub("--address", "https://GPUs.example", "--host-names", "other.example", data=self.path("set"))
        for host in (hub.url[7:], "gpus.example", "other.example:8765"):
            self.assertEqual(ask(hub, Host=host), {"url": "https://GPUs.example", "command": "curl -fsS https://GPUs.example/install | sh -s -- TOKEN"}, host)
            self.assertIn(b"hub='https://GPUs.example'", lib.ask(hub.url + "/install", headers={"Host": host})[2])
        proxied = self.start_hub("--host-names", "gpus.example", data=self.path("proxied"))
        self.assertEqual(ask(proxied, Host="gpus.example")["url"], "http://gpus.example")
        told = json.loads(lib.ask(proxied.url + "/api/v1/install", headers={"Host": "gpus.example", "X-Forwarded-Proto": "https"})[2])
        self.assertEqual(told["url"], "https://gpus.example")
        for bad in ("gpus.example", "http://", "http://a/b", "http://a'b", "ftp://a"):
            status, _, err = self.run_any(lib.MUSTER, "hub", "--address", bad, "--data", self.path("bad"))
            self.assertEqual((status, "is not the address of a hub" in err), (2, True), err)

    @unittest.skipUnless(ROOT, "needs root for a chroot")
    def test_an_agent_without_libcurl_says_what_to_install(self):
        top = self.small_root()
        for at, _, files in os.walk(top):
            for f in files:
                if f.startswith("libcurl"):
                    os.remove(os.path.join(at, f))
        shutil.copy2(lib.AGENT, top + "/bin/muster-agent")
        status, _, err = self.run_any("chroot", top, "/bin/muster-agent", "--hub", self.hub.url, "--token", self.enroll, "--state-dir", "/tmp/state")
        if "LeakSanitizer has encountered a fatal error" not in err:  # it finds neither its settings nor threads where there is no /proc, and ends in its own way
            self.assertEqual(status, 3, err)
        self.assertIn("install it (Debian and Ubuntu: libcurl4)", err)
        self.assertIn("libcurl.so.4", err)


lib.main()
