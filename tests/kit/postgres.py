"""A PostgreSQL server of a test's own, in a folder of its own, on loopback and with a password. It is not durable and ends with the test."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import lib

BIN = "/usr/lib/postgresql/15/bin"
PASSWORD = "se:cr@t"


def _leave_root():
    if os.geteuid() == 0:
        who = pwd.getpwnam("postgres")
        os.setgroups([])
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)


class Postgres:
    def __init__(self, case):
        self.dir = tempfile.mkdtemp(prefix="muster-pg-")
        case.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.password = os.path.join(self.dir, "password")
        with open(self.password, "w", encoding="utf-8") as f:
            f.write(PASSWORD + "\n")
        os.chmod(self.password, 0o600)
        if os.geteuid() == 0:
            who = pwd.getpwnam("postgres")
            for path in (self.dir, self.password):
                os.chown(path, who.pw_uid, who.pw_gid)
        self._run("initdb", "-D", self.dir + "/data", "-U", "muster", "--pwfile", self.password, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.port = lib.free_port()
        self.url = f"postgres://muster@127.0.0.1:{self.port}/postgres"
        self.process = None
        case.addCleanup(self.stop)
        self.start()

    def _run(self, program, *argv):
        subprocess.run([os.path.join(BIN, program), *argv], cwd=self.dir, preexec_fn=_leave_root, stdout=subprocess.DEVNULL, check=True)

    def start(self):
        log = open(self.dir + "/log", "ab")
        self.process = subprocess.Popen([BIN + "/postgres", "-D", self.dir + "/data", "-k", self.dir, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
                                        cwd=self.dir, preexec_fn=_leave_root, stdout=log, stderr=log)
        log.close()
        lib.wait_until("PostgreSQL answers", lambda: self.sql("SELECT 1", check=False) == "1")

    def stop(self, how=signal.SIGINT):
        if self.process:
            self.process.send_signal(how)
            self.process.wait(lib.LIMIT_S)
            self.process = None

    def log(self):
        with open(self.dir + "/log", encoding="utf-8", errors="replace") as f:
            return f.read()

    def sql(self, text, check=True):
        """The rows as text, fields with | between."""
        done = subprocess.run([BIN + "/psql", "-XqAt", "-h", self.dir, "-p", str(self.port), "-U", "muster", "-d", "postgres", "-c", text],
                              env=dict(os.environ, PGPASSWORD=PASSWORD), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if check and done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout.decode().strip()
