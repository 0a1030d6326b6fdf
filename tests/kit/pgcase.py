"""A PostgreSQL server of a test's own, on a unix socket in a folder of its own, with a password. It is not durable (fsync is off) and ends with the test."""
import os
import pwd
import shutil
import subprocess
import tempfile
import urllib.parse

import lib

PG_BIN = "/usr/lib/postgresql/15/bin"
PASSWORD = "se:cr@t"


class PgCase(lib.Case):
    def start_pg(self):
        """self.pg is its process, self.pg_dir its folder."""
        self.pg_dir = tempfile.mkdtemp(prefix="muster-pg-")
        self.addCleanup(shutil.rmtree, self.pg_dir, ignore_errors=True)
        self.as_who = {}
        if os.geteuid() == 0:  # it refuses to run as root
            who = pwd.getpwnam("postgres")
            os.chown(self.pg_dir, who.pw_uid, who.pw_gid)
            self.as_who = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        secret = os.path.join(self.pg_dir, "password")
        with open(secret, "w", encoding="ascii") as f:
            f.write(PASSWORD + "\n")
        os.chmod(secret, 0o644)
        subprocess.run([f"{PG_BIN}/initdb", "-D", f"{self.pg_dir}/data", "-U", "muster", "--pwfile", secret, "-A", "scram-sha-256", "-E", "UTF8",
                        "--locale=C.UTF-8", "--no-sync"], check=True, cwd=self.pg_dir, stdout=subprocess.DEVNULL, **self.as_who)
        self.run_pg()

    def run_pg(self):
        self.pg = subprocess.Popen([f"{PG_BIN}/postgres", "-D", f"{self.pg_dir}/data", "-k", self.pg_dir, "-c", "listen_addresses=", "-c", "fsync=off"],
                                   cwd=self.pg_dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.as_who)
        self.addCleanup(self.end_pg)
        lib.wait_until("PostgreSQL answers", lambda: self.sql("postgres", "SELECT 1", check=False) == "1")

    def end_pg(self):
        if self.pg.poll() is None:
            self.pg.terminate()
            self.pg.wait()

    def sql(self, base, text, check=True):
        done = subprocess.run([f"{PG_BIN}/psql", "-qXAt", "-h", self.pg_dir, "-U", "muster", "-d", base, "-c", text], env=dict(os.environ, PGPASSWORD=PASSWORD),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode().strip()

    def base(self, name):
        """A new and empty database: its URL, without the password."""
        self.sql("postgres", f"CREATE DATABASE {name}")
        return f"postgres://muster@{urllib.parse.quote(self.pg_dir, safe='')}/{name}"
