"""A real Dask cluster for tests: dask-scheduler and four workers on loopback, with free ports, over the tree's own python/ and libmuster.

What is missing fails: these tests have nothing to fall back on.
"""
import os
import shutil
import sys
import tempfile
import warnings

import lib

PYTHON = os.path.join(lib.TOP, "python")
LIBMUSTER = os.path.join(lib.TOP, "build", "libmuster.so.0")  # the plain build: one with sanitizers cannot be loaded into Python
sys.path.insert(0, PYTHON)
os.environ["MUSTER_LIB"] = LIBMUSTER

from distributed import Client  # noqa: E402
from muster.dask import Monitor  # noqa: E402

ENV = {"PYTHONPATH": PYTHON, "MUSTER_LIB": LIBMUSTER, "MUSTER_COLLECTOR": "replay:2", "OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false",
       "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s"}
NAMES = ("w10", "w2", "w1", "w0")  # started in this order


class Cluster:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="muster-test-")
        self.workers = {}
        self.scheduler = lib.Process(["/usr/bin/dask-scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"], ENV, cwd=self.dir)
        self.address = self.scheduler.wait_line(r"Scheduler at:\s+(tcp://\S+)").group(1)
        for name in NAMES:
            self.add(name)

    def add(self, name, env=None):
        if name in self.workers:
            self.workers.pop(name).end()
        p = self.workers[name] = lib.Process(["/usr/bin/dask-worker", self.address, "--no-nanny", "--no-dashboard", "--nthreads", "1", "--host", "127.0.0.1",
                                              "--memory-limit", "0", "--local-directory", self.dir, "--name", name], dict(ENV, **(env or {})), cwd=self.dir)
        return p

    def end(self):
        for p in list(self.workers.values()) + [self.scheduler]:
            p.p.kill()
            p.end()
        shutil.rmtree(self.dir, ignore_errors=True)


class DaskCase(lib.Case):
    """One cluster for all tests of a class; each begins and ends with no monitor, and with the four workers."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.end)

    def stop_without_giving_up(self, monitor):
        """It waits for nothing that never comes: if it did, it would warn in the end."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            monitor.stop()

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore", DeprecationWarning)  # Debian's tornado, with this Python
        warnings.simplefilter("error", RuntimeWarning)
        for name in NAMES:
            if not self.cluster.workers[name].alive():
                self.cluster.add(name)
        for name in list(self.cluster.workers):
            if name not in NAMES:
                self.cluster.workers.pop(name).end()
        with Client(self.cluster.address) as client:
            lib.wait_until("the four workers", lambda: sorted(w["name"] for w in client.scheduler_info()["workers"].values()) == sorted(NAMES))
            try:
                Monitor(client).shutdown()
            except RuntimeError:
                pass  # there was none

    def client(self):
        client = Client(self.cluster.address)
        self.addCleanup(client.close)
        return client

    def attached(self, **kw):
        """A monitor that records every 10 ms, attached and started by a client that has left."""
        kw.setdefault("polling_interval", 10)
        kw.setdefault("tracking", ["compute-util"])
        with Client(self.cluster.address) as client:
            monitor = Monitor(client)
            monitor.attach(**kw)
            monitor.start()

    def status(self, monitor):
        told = monitor._ask("status")
        return told["job"], told["dag"]
