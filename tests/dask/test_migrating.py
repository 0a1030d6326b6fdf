#!/usr/bin/python3
"""Follows docs/migrating/dask-metrics.md: installs the package and runs an unchanged script of dask-metrics on a real cluster."""
import csv
import glob
import importlib.util
import json
import os
import re
import shlex
import shutil
import unittest

import lib
import migration

DASK = os.path.exists("/usr/bin/dask-scheduler") and importlib.util.find_spec("distributed")
LIBMUSTER = os.path.join(lib.TOP, "build", "libmuster.so.0")  # the plain build: one with sanitizers cannot be loaded into Python
# The example of dask-metrics' README, in one script with a job between its two steps.
SCRIPT = """
from dask.distributed import Client
from dask_metrics import Monitor

client = Client('{address}')  # Client connected to cluster
monitor = Monitor(client)  # create Monitor object bound to client
monitor.attach({how}['mem-util', 'compute-util'])
monitor.start()  # start recording metrics
client.close()

client = Client('{address}')
assert client.submit(lambda x: x + 1, 1).result() == 2
import time; time.sleep(1)
client.close()

client = Client('{address}')  # Client connected to cluster
monitor = Monitor(client)  # Monitor object bound to client
monitor.stop()  # stop recording metrics
monitor.to_csv('path/to/folder')  # export metrics to folder
monitor.shutdown()
client.close()
"""


@unittest.skipUnless(DASK, "python3-distributed is not installed (tools/install-deps --test)")
class DaskMetrics(lib.Case):
    def cluster(self, env):
        scheduler = self.start("/usr/bin/dask-scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", env=env, cwd=self.dir)
        address = scheduler.wait_line(r"Scheduler at:\s+(tcp://\S+)").group(1)
        for name in ("w0", "w1"):
            worker = self.start("/usr/bin/dask-worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1", "--host", "127.0.0.1", "--memory-limit", "0", "--local-directory", self.dir,
                                "--name", name, env=env, cwd=self.dir)
            worker.wait_line("Registered to")
        return address

    def test_the_page_leads_from_an_unchanged_script_to_its_files(self):
        target = self.path("packages")
        page = migration.Page(self, "dask-metrics.md", {
            "conda install pip": "/usr/bin/python3 -m pip --version",  # conda's own Python is the old system's
            "pip install ./python": f"/usr/bin/python3 -m pip install -q --no-build-isolation --no-index --no-deps --target {target} ./python"},
            cwd=self.path("tree"), env={"MUSTER_LIB": LIBMUSTER, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
        shutil.copytree(os.path.join(lib.TOP, "python"), self.path("tree/python"), ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        page.run("conda install pip && pip install ./python")
        env = {"PYTHONPATH": target, "MUSTER_COLLECTOR": "replay:2", "OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s"}
        names = re.findall(r"`(\w+)`", page.prose[page.prose.index("`dask_metrics` with"):page.prose.index(", based on")])
        self.assertEqual(names[0], "dask_metrics")
        self.run_ok("/usr/bin/python3", "-c", f"from dask_metrics import {', '.join(names[1:])}; import dask_metrics; assert dask_metrics.__file__.startswith({target!r})", env=env)

        address = self.cluster(env)
        forms = re.findall(r"`monitor\.attach\((\w*=?)\[\.\.\.\]\)`", page.prose)
        self.assertEqual(sorted(forms), ["", "tracking="])
        for how in forms:
            shutil.rmtree(self.path("path"), ignore_errors=True)
            self.run_ok("/usr/bin/python3", "-W", "ignore::DeprecationWarning", "-c", SCRIPT.format(address=address, how=how), env=env, cwd=self.dir)
            files = sorted(glob.glob(self.path("path/to/folder/*.csv")))
            self.assertEqual([os.path.basename(f) for f in files], ["worker_0.csv", "worker_1.csv"])
            for number, name in enumerate(files):
                with open(name, encoding="utf-8", newline="") as f:
                    rows = list(csv.reader(f))
                self.assertEqual(rows[0], ["job", "dag", "timestamp", "mem-util", "compute-util"])
                self.assertGreater(len(rows), 1)
                self.assertRegex(rows[1][4], r"^\d+, \d+$")  # every GPU of the machine
                with open(name.replace(".csv", ".json"), encoding="utf-8") as f:
                    about = json.load(f)
                self.assertEqual((about["name"], bool(about["host"]), len(about["devices"])), (f"w{number}", True, 2), about)
        for phrase in re.findall(r"`(muster (?:peaks|plot))`", page.prose):
            more = {"muster peaks": " path/to/folder", "muster plot": " path/to/folder/worker_0.csv -o a.svg"}[phrase]
            self.run_ok(lib.MUSTER, *shlex.split(phrase + more)[1:], cwd=self.dir)
        self.assertTrue(os.path.getsize(self.path("a.svg")))
        self.assertEqual(page.check_phrases(), 2)
        page.finish()


if __name__ == "__main__":
    lib.main()
