#!/usr/bin/python3
"""Dask: a real scheduler and four workers, a recording in place of GPUs. What predecessors.md 4 promises, and what it lists as faults."""
import csv
import json
import os
import re
import sys
import threading
import time

import daskcase
import lib
from daskcase import NAMES, Client, DaskCase, Monitor

from muster import tables
from muster.dask import custom_metric

STEP_ONE = """
from dask.distributed import Client
from dask_metrics import Monitor

client = Client('{address}')  # Client connected to cluster
monitor = Monitor(client)  # create Monitor object bound to client

# attach monitor to cluster with list of metrics to track
monitor.attach({how}['mem-util', 'compute-util'])
monitor.start()  # start recording metrics

client.close()
"""
JOBS = """
from dask.distributed import Client
import time

client = Client('{address}')
assert client.gather(client.map(lambda x: time.sleep(0.2) or x + 1, range(8))) == list(range(1, 9))
client.close()
"""
STEP_TWO = """
from dask.distributed import Client
from dask_metrics import Monitor

client = Client('{address}')  # Client connected to cluster
monitor = Monitor(client)  # Monitor object bound to client

monitor.stop()  # stop recording metrics
monitor.to_csv('path/to/folder')  # export metrics to folder

client.close()
"""
NUMBER = r"(\d+|\d+\.\d+|\d(\.\d+)?e-\d\d)"


def nap(seconds, what=None):
    time.sleep(seconds)
    return what


def hold(gate, what=None):
    """Until the file is there."""
    while not os.path.exists(gate):
        time.sleep(0.02)
    return what


def fail():
    raise ValueError("as it should")


def pairs(path):
    """(job, dag) in the order of rows, each run of equal ones once."""
    table = tables.columns(path)
    got = []
    for pair in zip(table["job"], table["dag"]):
        if not got or got[-1] != pair:
            got.append(pair)
    return got


class Usage(DaskCase):
    """The documented way, as it stands in the README of dask-metrics: three scripts, each with its own process and client."""

    def script(self, text, **kw):
        return self.run_ok(sys.executable, "-c", text.format(address=self.cluster.address, **kw), env=daskcase.ENV)

    def check(self, how):
        here = os.getcwd()
        os.chdir(self.dir)
        self.addCleanup(os.chdir, here)
        self.script(STEP_ONE, how=how)
        self.script(JOBS)
        self.script(STEP_TWO)
        folder = self.path("path/to/folder")
        self.assertEqual(sorted(os.listdir(folder)), sorted(f"worker_{i}.{end}" for i in range(4) for end in ("csv", "json")))
        for i in range(4):
            with open(f"{folder}/worker_{i}.csv", encoding="utf-8", newline="") as f:
                lines = f.read().split("\n")
            self.assertEqual((lines[0], lines[-1]), ("job,dag,timestamp,mem-util,compute-util", ""))
            self.assertGreater(len(lines), 4)
            for line in lines[1:-1]:
                self.assertRegex(line, rf'^\d+,\d+,{NUMBER},"\d+, \d+","\d+, \d+"$')
            self.assertEqual(pairs(f"{folder}/worker_{i}.csv")[0], (0, 0))
        self.assertLess(float(lines[1].split(",")[2]), 60)  # counted from the start
        self.assertEqual(len(Monitor.peaks_from_csv(folder, "compute-util", per_job=False)), 4)

    def test_the_two_steps_unchanged(self):
        self.check("tracking=")

    @lib.long
    def test_the_two_steps_as_the_first_release_wrote_them(self):
        self.check("")


class Jobs(DaskCase):
    def test_a_written_out_scenario(self):
        """B: three dags, the last fails. C: two at once. The numbers after each step, and those of the samples."""
        self.attached(tracking=["total-mem", "mem-util", "compute-util", "tasks"])
        asker = self.client()  # job 0: it is there from before B, and submits nothing
        monitor = Monitor(asker)
        b = Client(self.cluster.address)
        self.assertEqual(self.status(monitor), (0, 0))

        def sampled(*pair):
            """Every worker knows of it, and has a row of it."""
            lib.wait_until(f"samples of {pair}", lambda: all(pair in zip(t["job"], t["dag"]) for t in monitor.request_metrics()), pause=0.2)

        def let_go(gate):
            with open(self.path(gate), "w", encoding="ascii"):
                pass
        one = b.submit(hold, self.path("g0"), 1, pure=False)
        sampled(1, 0)
        let_go("g0")
        one.result()
        self.assertEqual(self.status(monitor), (1, 0))
        six = b.map(hold, [self.path("g1")] * 6, pure=False)
        sampled(1, 1)
        let_go("g1")
        b.gather(six)
        self.assertEqual(self.status(monitor), (1, 1))
        with self.assertRaises(ValueError):
            b.submit(lambda _: fail(), b.submit(nap, 0.2, pure=False), pure=False).result()
        last = b.submit(hold, self.path("g2"), pure=False)
        sampled(1, 4)
        let_go("g2")
        last.result()
        self.assertEqual(self.status(monitor)[0], 1)
        b.close()
        c = Client(self.cluster.address)
        lib.wait_until("job 2", lambda: self.status(monitor) == (2, 0))
        first, second = c.submit(hold, self.path("g3"), pure=False), c.submit(hold, self.path("g4"), pure=False)
        sampled(2, 0)
        let_go("g3")
        first.result()
        self.assertEqual(self.status(monitor), (2, 1))
        sampled(2, 1)
        let_go("g4")
        second.result()
        self.assertEqual(self.status(monitor), (2, 1))
        c.close()
        monitor.stop()
        made = monitor.to_csv(self.dir)
        self.assertEqual([os.path.basename(p) for p in made], [f"worker_{i}.csv" for i in range(4)])
        # The failing graph asks for what depends on the nap: two graphs (dags 2 and 3), then one more.
        want = [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (2, 0), (2, 1)]
        for path in made:
            got = pairs(path)
            self.assertEqual([p for p in want if p in got], got, path)  # in order, none made up
            for sure in ((1, 0), (1, 1), (1, 4), (2, 0), (2, 1)):  # they went on until they were seen
                self.assertIn(sure, got)
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.readline(), "job,dag,timestamp,total-mem,mem-util,compute-util,tasks\n")
        seen = [t for path in made for t in tables.columns(path)["tasks"] if t]
        self.assertTrue(seen and all(re.match(r"nap-|hold-|lambda-", t) for t in seen))
        done = monitor.successful_jobs()
        self.assertEqual((done[0], sorted(done[1]), done[2]), ([], [False] + [True] * 9, [True, True]))
        peaks = monitor.get_peaks("compute-util")
        self.assertEqual([sorted(p) for p in peaks], [sorted({p[0] for p in pairs(path)}) for path in made])
        told = json.loads(self.run_ok(lib.MUSTER, "peaks", self.dir, "--metric", "compute-util", "--per-job", "--json"))
        self.assertEqual(told, {str(i): {str(job): best for job, best in p.items()} for i, p in enumerate(peaks)})

    @lib.long
    def test_manual_jobs_from_a_second_client(self):
        self.attached(job_type="manual")
        one, two = self.client(), self.client()
        monitor = Monitor(two)
        one.submit(nap, 0.1, pure=False).result()
        two.submit(nap, 0.1, pure=False).result()
        self.assertEqual(self.status(monitor), (0, 2))
        monitor.new_job()
        self.assertEqual(self.status(monitor), (1, 0))
        with self.assertRaises(ValueError):
            one.submit(fail, pure=False).result()
        self.assertEqual(self.status(monitor), (1, 1))
        monitor.new_job(job=7)
        one.submit(nap, 0.1, pure=False).result()
        time.sleep(0.1)
        Monitor(one).stop()
        self.assertEqual(monitor.successful_jobs(), [[True, True], [False], [], [], [], [], [], [True]])
        self.assertIn((7, 0), pairs(monitor.to_csv(self.dir)[0]))
        with self.assertRaises(ValueError):
            monitor.new_job(job=-1)

    @lib.long
    def test_new_job_where_clients_count(self):
        self.attached()
        with self.assertWarnsRegex(RuntimeWarning, "manual"):
            Monitor(self.client()).new_job()

    @lib.long
    def test_two_clients_at_once(self):
        self.attached()
        a, b = self.client(), self.client()
        a0, b0 = a.submit(nap, 0.5, pure=False), b.submit(nap, 2.5, pure=False)
        monitor = Monitor(a)
        self.assertEqual(self.status(monitor), (0, 0))
        a0.result()
        lib.wait_until("b's dag", lambda: self.status(monitor) == (1, 0))
        a1 = a.submit(nap, 3, pure=False)
        self.assertEqual(self.status(monitor), (1, 0))  # b's is not done
        b0.result()
        lib.wait_until("a's second dag", lambda: self.status(monitor) == (0, 1))
        a1.result()
        for client in (a, b):  # both stop, both read: it is the same
            Monitor(client).stop()
        self.assertEqual(Monitor(a).request_metrics(), Monitor(b).request_metrics())
        self.assertEqual(pairs(monitor.to_csv(self.dir)[0]), [(0, 0), (1, 0), (0, 1)])

    @lib.long
    def test_what_is_in_memory_already_is_a_dag_that_is_done(self):
        self.attached()
        c = self.client()
        kept = c.submit(nap, 0.01, key="same")
        kept.result()
        again = c.submit(nap, 0.01, key="same")
        again.result()
        monitor = Monitor(c)
        monitor.stop(timeout=20)
        self.assertEqual(self.status(monitor)[0], 0)

    @lib.long
    def test_tasks_of_tasks_are_no_jobs(self):
        self.attached()
        c = self.client()

        def outer():
            from distributed import worker_client
            with worker_client() as inner:
                return inner.submit(nap, 0.05, 7, pure=False).result()
        self.assertEqual(c.submit(outer, pure=False).result(), 7)
        monitor = Monitor(c)
        monitor.stop()
        self.assertEqual((self.status(monitor), monitor.successful_jobs()), ((0, 0), [[True, True]]))

    @lib.long
    def test_clear_begins_anew(self):
        self.attached()
        c = self.client()
        c.submit(nap, 0.05, pure=False).result()
        c.submit(nap, 0.05, pure=False).result()
        monitor = Monitor(c)
        self.assertEqual(self.status(monitor), (0, 1))
        monitor.clear_metrics()
        self.assertEqual((self.status(monitor), monitor.successful_jobs()), ((0, 0), []))
        before = len(monitor.request_metrics()[0]["job"])
        c.submit(nap, 0.3, pure=False).result()
        monitor.stop()
        self.assertGreater(len(monitor.request_metrics()[0]["job"]), before)
        self.assertEqual(pairs(monitor.to_csv(self.dir)[0]), [(0, 0)])


class Stopping(DaskCase):
    @lib.long
    def test_failed_dags_do_not_hold_it_up(self):
        self.attached()
        c = self.client()
        failed = [c.submit(fail, pure=False) for _ in range(3)]
        for f in failed:
            with self.assertRaises(ValueError):
                f.result()
        Monitor(c).stop(timeout=20)
        self.assertEqual(Monitor(c).successful_jobs(), [[False] * 3])

    @lib.long
    def test_it_waits_for_what_runs(self):
        self.attached()
        c = self.client()
        f = c.submit(nap, 1.0, 5, pure=False)
        Monitor(c).stop()
        self.assertTrue(f.done())

    @lib.long
    def test_force_does_not(self):
        self.attached()
        c = self.client()
        f = c.submit(nap, 2.0, pure=False)
        Monitor(c).stop(force=True)
        self.assertFalse(f.done())
        f.result()

    @lib.long
    def test_a_dag_that_cannot_run(self):
        self.attached()
        c = self.client()
        f = c.submit(nap, 0, resources={"NOBODY-HAS-IT": 1}, pure=False)
        with self.assertWarnsRegex(RuntimeWarning, "1 dags are not done after 0.5 s"):
            Monitor(c).stop(timeout=0.5)
        with self.assertWarnsRegex(RuntimeWarning, "nothing runs on any worker"):
            Monitor(c).stop()
        f.cancel()
        Monitor(c).stop(timeout=20)

    @lib.long
    def test_dags_of_clients_that_left(self):
        from distributed import fire_and_forget
        self.attached()
        with Client(self.cluster.address) as c:
            f = c.submit(nap, 0, resources={"NOBODY-HAS-IT": 1}, pure=False)
            fire_and_forget(c.submit(nap, 1.5, pure=False))
            del f
        self.stop_without_giving_up(Monitor(self.client()))

    @lib.long
    def test_without_a_monitor_it_says_so(self):
        for call in (lambda m: m.stop(), lambda m: m.start(), lambda m: m.to_csv(self.dir), lambda m: m.new_job(), lambda m: m.shutdown()):
            with self.assertRaisesRegex(RuntimeError, "attach"):
                call(Monitor(self.client()))


class Workers(DaskCase):
    def about(self, folder):
        got = {}
        for name in os.listdir(folder):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    got[int(re.search(r"_(\d+)", name).group(1))] = json.load(f)
        return got

    @lib.long
    def test_numbers_follow_names(self):
        self.attached(tracking=["total-mem"])
        monitor = Monitor(self.client())
        time.sleep(0.1)
        monitor.stop()
        monitor.to_csv(self.dir, fname="gpu")
        about = self.about(self.dir)
        self.assertEqual([about[i]["name"] for i in range(4)], ["w0", "w1", "w2", "w10"])
        for i, w in about.items():
            self.assertEqual((w["number"], w["file"], [c["name"] for c in w["columns"]], len(w["devices"]), w["ended"]),
                             (i, f"gpu_{i}.csv", ["job", "dag", "timestamp", "total-mem"], 2, False))
            self.assertEqual((w["columns"][3]["unit"], w["notes"]["worker"], w["format"]), ("bytes", w["name"], "muster-samples"))
            self.assertEqual(w["pid"], self.cluster.workers[w["name"]].p.pid)
            with open(self.path(f"gpu_{i}.csv"), encoding="utf-8") as f:
                self.assertEqual(sum(1 for _ in f) - 1, w["rows"])

    @lib.long
    def test_one_is_killed_one_leaves_one_joins(self):
        self.attached(checkpoint=0.2)
        c = self.client()
        monitor = Monitor(c)
        c.gather(c.map(nap, [0.1] * 8, pure=False))
        lib.wait_until("rows of all are safe", lambda: all(w["rows"] > 20 for w in monitor._ask("collect")["workers"]))
        time.sleep(0.5)
        self.cluster.workers["w1"].kill9()
        self.assertEqual(self.cluster.workers["w2"].stop() in (0, 1, -15), True)
        lib.wait_until("they are gone", lambda: len(c.scheduler_info()["workers"]) == 2)
        self.cluster.add("w3")
        lib.wait_until("the new one records", lambda: any(w["name"] == "w3" and w["ready"] for w in monitor._ask("status")["workers"]))
        c.gather(c.map(nap, [0.1] * 8, pure=False))
        monitor.stop(timeout=30)
        made = monitor.to_csv(self.dir)
        about = self.about(self.dir)
        self.assertEqual([(about[i]["name"], about[i]["ended"]) for i in range(5)], [("w0", False), ("w1", True), ("w2", True), ("w10", False), ("w3", False)])
        self.assertEqual(len(made), 5)
        for path in made:
            table = tables.columns(path)
            self.assertGreater(len(table["timestamp"]), 5)
            self.assertEqual(table["timestamp"], sorted(table["timestamp"]))
        self.assertGreater(len(tables.columns(made[1])["job"]), 30)  # killed: what was there a moment before
        self.assertEqual(pairs(made[4])[0], (0, 0))  # joined in job 0
        self.assertEqual(len(monitor.get_peaks("compute-util", per_job=False)), 5)

    @lib.long
    def test_all_go_and_one_comes_back(self):
        self.attached(checkpoint=0.2)
        c = self.client()
        monitor = Monitor(c)
        time.sleep(0.5)
        for name in NAMES:
            self.cluster.workers[name].kill9()
        lib.wait_until("they are gone", lambda: not c.scheduler_info()["workers"])
        f = c.submit(nap, 0.2, 3, pure=False)
        self.cluster.add("w0")
        self.assertEqual(f.result(timeout=lib.LIMIT_S), 3)
        monitor.stop(timeout=30)
        self.assertEqual(len(monitor.to_csv(self.dir)), 5)
        self.assertEqual([w["name"] for _, w in sorted(self.about(self.dir).items())], ["w0", "w1", "w2", "w10", "w0"])

    @lib.long
    def test_a_restarted_cluster_goes_on(self):
        self.attached()
        c = self.client()
        f = c.submit(nap, 0.1, pure=False)
        f.result()
        c.submit(nap, 0, resources={"NOBODY-HAS-IT": 1}, pure=False)
        c.restart(wait_for_workers=False)
        for name in NAMES:  # without a nanny they end
            self.cluster.workers[name].p.wait(lib.LIMIT_S)
        Monitor(c).stop(timeout=30)


class Attaching(DaskCase):
    @lib.long
    def test_twice_is_harmless(self):
        self.attached()
        c = self.client()
        monitor = Monitor(c)
        lib.wait_until("rows", lambda: all(w["rows"] > 3 for w in monitor._ask("collect")["workers"]))
        before = [w["run"] for w in monitor._ask("collect")["workers"]]
        monitor.attach(tracking=["compute-util"], polling_interval=10)
        with self.assertWarnsRegex(RuntimeWarning, "other settings"):
            monitor.attach(tracking=["total-mem"])
        c.submit(nap, 0.05, pure=False).result()
        self.assertEqual([w["run"] for w in monitor._ask("collect")["workers"]], before)  # the same samplers go on
        self.assertEqual(self.status(monitor), (0, 0))  # counted once
        monitor.stop()
        self.assertEqual(monitor.successful_jobs(), [[True]])

    @lib.long
    def test_again_before_recording_changes_the_settings(self):
        c = self.client()
        monitor = Monitor(c)
        monitor.attach(tracking=["compute-util"])
        monitor.attach(tracking=["total-mem", "power"], polling_interval=10, job_type="manual")
        monitor.start()
        time.sleep(0.1)
        monitor.stop()
        self.assertEqual(list(monitor.request_metrics()[0]), ["job", "dag", "timestamp", "total-mem", "power"])

    @lib.long
    def test_start_with_other_metrics(self):
        c = self.client()
        monitor = Monitor(c)
        monitor.attach(tracking=["compute-util"], polling_interval=10)
        monitor.start()
        c.submit(nap, 0.1, pure=False).result()
        monitor.start(tracking=["mem-used-percent", "total-mem", "tasks"])
        self.assertEqual(self.status(monitor), (0, 0))
        c.submit(nap, 0.1, pure=False).result()
        monitor.stop()
        table = monitor.request_metrics()[0]
        self.assertEqual(list(table)[:5], ["job", "dag", "timestamp", "total-mem", "tasks"])
        self.assertIn("mem-used-percent", table)
        self.assertEqual(table, monitor.metrics[0])

    @lib.long
    def test_nothing_tracked_has_three_columns(self):
        self.attached(tracking=[])
        monitor = Monitor(self.client())
        time.sleep(0.1)
        monitor.stop()
        self.assertEqual(list(monitor.request_metrics()[0]), ["job", "dag", "timestamp"])
        with self.assertRaises(KeyError):
            monitor.get_peaks("compute-util")

    @lib.long
    def test_memory_is_limited_in_samples(self):
        self.attached(mem_limit=5, dump_loc="spilled/here")
        monitor = Monitor(self.client())
        self.assertTrue(os.path.isdir(os.path.join(self.cluster.dir, "spilled/here")))
        lib.wait_until("many more than that", lambda: all(w["rows"] > 60 for w in monitor._ask("collect")["workers"]))
        monitor.stop()
        for table in monitor.request_metrics():
            steps = [b - a for a, b in zip(table["timestamp"], table["timestamp"][1:])]
            self.assertTrue(all(s > 0 for s in steps))
        monitor.shutdown()
        self.assertEqual(os.listdir(os.path.join(self.cluster.dir, "spilled/here")), [])

    @lib.long
    def test_what_cannot_be_is_said(self):
        monitor = Monitor(self.client())
        for kw, error, word in (({"job_type": "auto"}, ValueError, "auto"), ({"polling_interval": 1}, ValueError, "polling"), ({"tracking": "tasks"}, TypeError, "list"),
                                ({"custom_metrics": [len]}, TypeError, "custom_metric"),
                                ({"custom_metrics": [custom_metric("power")(len)], "tracking": ["power"]}, ValueError, "named like a built-in one: power"), ({"tracking": ["nope"]}, RuntimeError, "nope"),
                                ({"tracking": ["total-mem"], "collector": "nvml"}, RuntimeError, "replay")):
            with self.assertRaisesRegex(error, word):
                monitor.attach(**kw)
        with self.assertRaisesRegex(RuntimeError, "attach"):
            monitor.start()

    @lib.long
    def test_what_cannot_travel_leaves_nothing_attached(self):
        monitor, lock = Monitor(self.client()), threading.Lock()
        for _ in range(2):  # the second time it must not be taken for attached
            with self.assertRaisesRegex(TypeError, "pickle"):
                monitor.attach(tracking=["total-mem"], custom_metrics=[custom_metric("locked")(lambda worker, handle: lock)])
            with self.assertRaisesRegex(RuntimeError, "attach"):
                monitor.start()

    @lib.long
    def test_only_its_own_gpu(self):
        self.cluster.add("own", env={"CUDA_VISIBLE_DEVICES": "1"})
        c = self.client()
        c.wait_for_workers(5)
        monitor = Monitor(c)
        monitor.attach(tracking=["total-mem"], devices="own", polling_interval=10)
        devices = {w["name"]: [d["index"] for d in w["devices"]] for w in monitor._ask("status")["workers"]}
        self.assertEqual((devices["own"], devices["w0"]), ([1], [0, 1]))

    @lib.long
    def test_custom_metrics(self):
        @custom_metric("power")
        def power(worker, handle):
            return handle.index * 100 + 5

        @custom_metric("threads", per_device=False)
        def threads(worker, handles):
            return worker.state.nthreads + 10 * len(handles)

        @custom_metric("who", per_device=False)
        def who(worker, handles):
            return worker.name + ', "quoted"'

        @custom_metric("broken")
        def broken(worker, handle):
            raise OSError("no")
        self.attached(tracking=["tasks"], custom_metrics=[power, {"op": threads.op, "name": "threads", "per_device": False}, who, broken])
        monitor = Monitor(self.client())
        time.sleep(0.3)
        monitor.stop()
        table = monitor.request_metrics()[0]
        self.assertEqual(list(table), ["job", "dag", "timestamp", "tasks", "power", "threads", "who", "broken"])
        self.assertEqual((table["power"][-1], table["threads"][-1], table["who"][-1]), ("5, 105", "21", 'w0, "quoted"'))
        self.assertEqual(table["broken"][-1].strip(" ,"), "")
        self.assertEqual(monitor.get_peaks("power", workers=[0], per_job=False), [5, 105])

    @lib.long
    def test_tasks_with_what_the_gpus_did(self):
        self.attached(tracking=["total-mem", "compute-util"])
        c = self.client()
        c.gather(c.map(nap, [0.2] * 4, pure=False))
        with self.assertRaises(ValueError):
            c.submit(fail, pure=False).result()
        monitor = Monitor(c)
        monitor.stop()
        tasks = monitor.tasks()
        self.assertEqual((len(tasks), [t["ok"] for t in tasks].count(False)), (5, 1))
        for t in tasks[:4]:
            self.assertEqual((t["job"], t["dag"], t["ok"]), (0, 0, True))
            self.assertGreater(t["samples"], 3)
            self.assertTrue(0.19 < t["stop"] - t["start"] < 30)
            mem = t["metrics"]["total-mem"]
            self.assertTrue(len(mem["mean"]) == 2 and mem["max"][0] >= mem["mean"][0] >= 0)
        self.assertEqual(list(monitor.tasks(metrics=["compute-util"])[0]["metrics"]), ["compute-util"])

    @lib.long
    def test_old_files_go_only_when_asked(self):
        self.attached()
        monitor = Monitor(self.client())
        time.sleep(0.05)
        monitor.stop()
        with open(self.path("old.txt"), "w", encoding="utf-8"):
            os.mkdir(self.path("kept"))
        monitor.to_csv(self.dir)
        self.assertIn("old.txt", os.listdir(self.dir))
        monitor.to_csv(self.dir, clear_dir=True)
        self.assertEqual(sorted(os.listdir(self.dir))[:2], ["kept", "worker_0.csv"])
        with open(self.path("worker_0.csv"), newline="", encoding="utf-8") as f:
            self.assertEqual(len(list(csv.reader(f))) - 1, len(monitor.metrics[0]["job"]))


class InTheHub(DaskCase):
    @lib.long
    def test_jobs_are_labelled_there(self):
        hub = self.start_hub()
        token = self.token("member", "--person", "kim")
        self.attached(hub=hub.url, hub_token=token, name="etl")
        c = self.client()
        c.submit(nap, 1.3, pure=False).result()
        monitor = Monitor(c)
        devices = monitor._ask("status")["workers"][0]["devices"]
        monitor.stop()

        def both():
            jobs = lib.ask_json(hub.url + "/api/v1/jobs?kind=dask")["jobs"]
            return jobs if len(jobs) == 2 and all(j["end"] for j in jobs) else None
        jobs = lib.wait_until("the job and its dag have ended", both)
        dag, job = sorted(jobs, key=lambda j: j["parent"] is None)
        self.assertEqual((job["name"], job["person"], sorted(job["devices"]), job["state"], job["attributes"]["dags"]),
                         ("etl job 0", "kim", sorted(d["uuid"] for d in devices), "ended", 1))
        self.assertEqual((dag["name"], dag["parent"], dag["end"] - dag["start"] >= 1200), ("etl job 0 dag 0", job["id"], True))

    @lib.long
    def test_a_hub_that_is_away_disturbs_nothing(self):
        self.attached(hub=f"http://127.0.0.1:{lib.free_port()}")
        c = self.client()
        self.assertEqual(c.submit(nap, 0.1, 4, pure=False).result(), 4)
        monitor = Monitor(c)
        self.stop_without_giving_up(monitor)
        self.assertEqual(len(monitor.request_metrics()), 4)


if __name__ == "__main__":
    lib.main()
