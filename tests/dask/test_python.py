#!/usr/bin/python3
"""The Python package without a cluster: job and dag numbers, worker files and their peaks, pictures, the sampler, custom metrics, the hub's labels."""
import asyncio
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
import types
import xml.etree.ElementTree

import lib

sys.path.insert(0, os.path.join(lib.TOP, "python"))
os.environ["MUSTER_LIB"] = os.path.join(lib.TOP, "build", "libmuster.so.0")  # the plain build: one with sanitizers cannot be loaded into Python

import dask_metrics  # noqa: E402
import muster  # noqa: E402
from muster import hub, tables, visualize  # noqa: E402
from muster.dask.counting import Counter  # noqa: E402
from muster.dask.monitor import CustomMetric, Monitor, custom_metric  # noqa: E402
from muster.dask.scheduler import SchedulerMonitor, natural  # noqa: E402
from muster.dask.worker import SCHEDULER_OP, WorkerMonitor, handles_of  # noqa: E402

BDB = os.path.join(lib.SHARED, "fixtures", "gpu-bdb")


class Numbers(lib.Case):
    """A step is an event and the (job, dag) in force after it."""

    def play(self, mode, steps):
        c = Counter(mode)
        for step, want in steps:
            name, *args = step
            getattr(c, name)(*args)
            self.assertEqual((c.job, c.dag), want, step)
        return c

    def test_clients_one_after_the_other(self):
        c = self.play("client", [
            (("add_client", "B"), (0, 0)),
            (("submit", "B", ["x"]), (0, 0)), (("finished", "x", True), (0, 0)),
            (("submit", "B", ["y"]), (0, 1)), (("finished", "y", True), (0, 1)),
            (("submit", "B", ["z"]), (0, 2)), (("finished", "z", False), (0, 2)),  # a failed dag counts
            (("remove_client", "B"), (0, 2)),
            (("add_client", "C"), (1, 0)),
            (("submit", "C", ["p"]), (1, 0)), (("submit", "C", ["q"]), (1, 0)),
            (("finished", "p", True), (1, 1)), (("finished", "q", True), (1, 1)),
            (("remove_client", "C"), (1, 1)),
            (("add_client", "D"), (2, 0)),
        ])
        self.assertEqual(c.successful(), [[True, True, False], [True, True], []])
        self.assertEqual(c.pending(), [])

    def test_a_client_from_before_gets_its_number_with_its_first_graph(self):
        self.play("client", [(("add_client", "B"), (0, 0)), (("submit", "A", ["x"]), (1, 0)), (("finished", "x", True), (1, 0)), (("submit", "B", ["y"]), (0, 0))])

    def test_two_clients_at_once(self):
        self.play("client", [
            (("add_client", "A"), (0, 0)), (("add_client", "B"), (0, 0)),
            (("submit", "A", ["a0"]), (0, 0)), (("submit", "B", ["b0"]), (0, 0)), (("submit", "A", ["a1"]), (0, 0)),
            (("finished", "b0", True), (0, 0)),  # not of the job in force
            (("finished", "a0", True), (0, 1)), (("submit", "B", ["b1"]), (0, 1)),
            (("finished", "a1", True), (1, 1)),  # b0 is done: B's oldest is b1
            (("submit", "A", ["a2"]), (1, 1)), (("finished", "b1", True), (0, 2)), (("finished", "a2", True), (0, 2)),
        ])

    def test_the_table_of_the_documentation(self):
        self.play("client", [
            (("add_client", "B"), (0, 0)), (("submit", "B", ["b0"]), (0, 0)), (("finished", "b0", True), (0, 0)),
            (("submit", "B", ["b1"]), (0, 1)), (("finished", "b1", False), (0, 1)), (("remove_client", "B"), (0, 1)), (("add_client", "C"), (1, 0)),
            (("submit", "C", ["c0"]), (1, 0)), (("submit", "C", ["c1"]), (1, 0)), (("finished", "c0", True), (1, 1)),
            (("add_client", "D"), (1, 1)), (("submit", "D", ["d0"]), (1, 1)), (("finished", "c1", True), (2, 0)), (("submit", "C", ["c2"]), (2, 0)),
            (("finished", "d0", True), (1, 2))])

    def test_a_connected_client_that_has_not_submitted_is_next(self):
        self.play("client", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("add_client", "B"), (0, 0)),
            (("finished", "a", True), (1, 0)), (("submit", "A", ["a1"]), (0, 1)), (("finished", "a1", True), (1, 0)), (("submit", "B", ["b"]), (1, 0))])

    def test_a_dag_is_done_when_all_it_asked_for_has_ended(self):
        self.play("client", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a", "b", "c"]), (0, 0)), (("submit", "A", ["d"]), (0, 0)),
            (("finished", "a", True), (0, 0)), (("finished", "d", True), (0, 0)), (("finished", "b", False), (0, 0)), (("finished", "c", True), (0, 1))])

    def test_keys_that_are_there_already_do_not_stall(self):
        c = self.play("client", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("finished", "a", True), (0, 0)),
            (("submit", "A", ["a"], (), {"a": True}), (0, 1)), (("submit", "A", ["a", "e"], (), {"a": True, "e": False}), (0, 2)), (("submit", "A", []), (0, 3))])
        self.assertEqual(c.pending(), [])

    def test_cancelled_and_restarted_work_is_over(self):
        c = self.play("client", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("submit", "A", ["b"]), (0, 0)),
            (("forgotten", "a"), (0, 1)), (("restarted",), (0, 1))])
        self.assertEqual((c.pending(), c.successful()), ([], [[]]))

    def test_a_key_asked_for_twice_ends_both(self):
        c = self.play("client", [(("add_client", "A"), (0, 0)), (("add_client", "B"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("submit", "B", ["a"]), (0, 0)),
                                 (("finished", "a", True), (1, 0))])
        self.assertEqual(c.pending(), [])

    def test_work_of_tasks_belongs_to_the_job_in_force(self):
        c = self.play("client", [
            (("add_client", "A"), (0, 0)), (("add_client", "Client-worker-1"), (0, 0)), (("submit", "A", ["a"]), (0, 0)),
            (("submit", "Client-worker-1", ["t"], ["t"]), (0, 0)), (("finished", "t", True), (0, 0)), (("finished", "a", True), (0, 0))])
        self.assertEqual(c.successful(), [[True, True]])

    def test_manual(self):
        c = self.play("manual", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("finished", "a", True), (0, 1)),
            (("submit", "B", ["b"]), (0, 1)), (("finished", "b", False), (0, 2)),  # another client: the same job
            (("new_job",), (1, 0)), (("submit", "A", ["c", "d"]), (1, 0)), (("finished", "c", True), (1, 1)), (("finished", "d", True), (1, 2)),
            (("new_job", 7), (7, 0)), (("submit", "A", ["e"]), (7, 0)), (("finished", "e", True), (7, 1)), (("new_job",), (8, 0))])
        self.assertEqual(c.successful(), [[True, False], [True, True], [], [], [], [], [], [True], []])
        for bad in (-1, True, "3", 10**9, 1.5):
            with self.assertRaises(ValueError):
                c.new_job(bad)

    def test_clear_begins_with_0_again_and_keeps_what_runs(self):
        c = self.play("client", [
            (("add_client", "A"), (0, 0)), (("submit", "A", ["a"]), (0, 0)), (("finished", "a", True), (0, 0)), (("add_client", "B"), (1, 0)),
            (("submit", "B", ["b"]), (1, 0)), (("clear",), (0, 0))])
        self.assertEqual(len(c.pending()), 1)
        c.finished("b", True)
        self.assertEqual((c.pending(), c.job, c.dag, c.successful()), ([], 0, 0, [[True]]))
        c.add_client("C")
        self.assertEqual((c.job, c.dag), (1, 0))

    def test_numbers_stay_sane_whatever_comes(self):
        rng = random.Random(8)
        for mode in ("client", "manual"):
            for _ in range(200):
                told = []
                c = Counter(mode, lambda job, dag: told.append((job, dag)))
                live, n = [], 0
                for _ in range(60):
                    what = rng.randrange(8)
                    client = rng.choice("ABC")
                    if what < 1:
                        c.add_client(client)
                    elif what < 2:
                        c.remove_client(client)
                    elif what < 5:
                        keys = [f"k{n + i}" for i in range(rng.randrange(3))]
                        n += len(keys)
                        live += keys
                        c.submit(client, keys, keys)
                    elif live:
                        key = live.pop(rng.randrange(len(live)))
                        (c.finished if what < 7 else lambda k, ok: c.forgotten(k))(key, rng.random() < 0.8)
                    self.assertGreaterEqual(c.dag, 0)
                    if mode == "client" and c.pending():
                        self.assertTrue(any(d.job == c.job and d.number == c.dag for d in c.pending()), "the dag in force is one that runs")
                for key in live:
                    c.finished(key, True)
                self.assertEqual((c.pending(), c.waiting), ([], {}))
                self.assertTrue(all(a != b for a, b in zip(told, told[1:])))

    def test_names_sort_as_people_count(self):
        self.assertEqual(sorted(["w10", "w2", "w1", "a", "w"], key=natural), ["a", "w", "w1", "w2", "w10"])
        sorted(["1", "a1", "tcp://127.0.0.1:4", "", "x-3-y", "x-3"], key=natural)


class Files(lib.Case):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def test_peaks(self):
        head = "job,dag,timestamp,total-mem,compute-util\n"
        self.write("w_2.csv", head + '0,0,0.1,"5, 9","4, 0"\n0,0,0.2,"7, 8","1, 2"\n2,0,0.3,"1, 1","0, 0"\n')
        self.write("w_10.csv", head + '0,0,6.2e-05,3,1\n')
        self.write("w_10.json", "{}")
        self.write("notes.csv", "a,b\n")
        ask = Monitor.peaks_from_csv
        self.assertEqual(ask(self.dir, "total-mem"), [{0: [7, 9], 2: [1, 1]}, {0: [3]}])
        self.assertEqual(ask(self.dir, "compute-util", per_job=False), [[4, 2], [1]])
        self.assertEqual(ask(self.dir, "compute-util", workers=[10]), {0: [1]})
        self.assertEqual(ask(self.dir, "compute-util", workers=[10, 2], per_job=False), [[1], [4, 2]])
        for metric, workers in (("power", None), ("job", None), ("total-mem", [0])):
            with self.assertRaises(KeyError):
                ask(self.dir, metric, workers)
        self.write("v_2.csv", head)
        with self.assertRaisesRegex(ValueError, "v_2.csv' and .*w_2.csv' are both of worker 2"):
            ask(self.dir, "total-mem")

    def test_absent_cells_are_no_zeros(self):
        path = self.write("w_0.csv", 'job,dag,timestamp,power\n0,0,0.1,", 3"\n0,0,0.2,", 4"\n')
        self.assertEqual(tables.peaks_of_file(path, "power"), {0: [None, 4]})
        path = self.write("w_1.csv", 'job,dag,timestamp,util\n0,0,0.1,"0.25, 1.0"\n0,0,0.2,"0.5, nan"\n')
        self.assertEqual(tables.peaks_of_file(path, "util"), {0: [0.5, 1]})  # ratios are not cut to whole numbers
        path = self.write("w_2.csv", 'job,dag,timestamp,loss\n0,0,0.1,nan\n0,0,0.2,inf\n0,0,0.3,0.5\n')
        self.assertEqual(tables.peaks_of_file(path, "loss"), {0: [0.5]})

    def test_the_real_ones_against_another_calculation(self):
        if not os.path.isdir(BDB):
            self.skipTest("no recorded files here")
        for metric in ("total-mem", "mem-util", "compute-util"):
            want = []
            for name in ("worker_0.csv", "worker_10.csv"):
                jobs = {}
                with open(os.path.join(BDB, name), newline="", encoding="utf-8") as f:
                    for row in csv.DictReader(f):
                        jobs.setdefault(int(row["job"]), []).append([int(x) for x in row[metric].split(", ")])
                want.append({job: [max(column) for column in zip(*rows)] for job, rows in jobs.items()})
            self.assertEqual(Monitor.peaks_from_csv(BDB, metric), want)
            self.assertEqual(Monitor.peaks_from_csv(BDB, metric, workers=[10]), want[1])
            self.assertEqual(Monitor.peaks_from_csv(BDB, metric, per_job=False), [[max(column) for column in zip(*jobs.values())] for jobs in want])


class Pictures(lib.Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("worker_0.csv")
        with open(self.file, "w", encoding="utf-8") as f:
            f.write("job,dag,timestamp,compute-util,tasks\n")
            for i in range(40):
                f.write(f'{i // 30},0,{i * 0.2!r},"{i % 7}, {100 if i == 3 else i % 5}",\n')
        before = visualize.program
        visualize.program = lambda: None  # without the program; muster plot has tests of its own
        self.addCleanup(setattr, visualize, "program", before)
        for name in ("matplotlib", "matplotlib.figure"):  # nor this, as if it were not installed
            self.addCleanup(self.put_back, name, sys.modules.get(name))
            sys.modules[name] = None

    @staticmethod
    def put_back(name, module):
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module

    def test_what_is_not_there_is_named(self):
        for job, metrics, word in ((9, ["compute-util"], "job 9"), (0, ["power"], "power"), (0, ["job"], "job"), (0, [], "metric")):
            with self.assertRaisesRegex(ValueError, word):
                visualize.lines(self.file, job, metrics)
        with self.assertRaisesRegex(ValueError, "its jobs are 0-1"):
            visualize.boxes(self.file, 5, ["compute-util"])
        for kw in ({"save": self.path("x.bmp")}, {"freq": 0}, {"width": 0}):
            with self.assertRaises(ValueError):
                visualize.boxes(self.file, 0, ["compute-util"], **kw)
        for kind in ("png", "jpg", "pdf"):
            with self.assertRaisesRegex(RuntimeError, "matplotlib, which is not installed, or by the program muster, .*MUSTER_PROGRAM"):
                visualize.lines(self.file, 0, ["compute-util"], save=self.path("x." + kind))

    def test_matplotlib_draws_where_it_is_as_it_did_before(self):
        """A stand-in keeps what it is told; what dask_metrics.visualize told matplotlib is worked out here once more from the file."""
        told = []

        class Axis:
            def __getattr__(self, name):
                return lambda *args, **kwargs: told.append((name, args, kwargs))

        class Drawn:
            def __init__(self, figsize):
                told.append(("figure", (), {"figsize": figsize}))

            def subplots(self, rows, columns, **kwargs):
                told.append(("subplots", (rows, columns), kwargs))
                return [[Axis()] for _ in range(rows)]

            def tight_layout(self):
                pass

            def savefig(self, out, format):
                out.write(f"a {format}".encode())
        sys.modules["matplotlib"], sys.modules["matplotlib.figure"] = types.ModuleType("matplotlib"), types.ModuleType("matplotlib.figure")
        sys.modules["matplotlib.figure"].Figure = Drawn
        with open(self.file, newline="", encoding="utf-8") as f:
            rows = [r for r in csv.DictReader(f) if r["job"] == "0"]
        times, gpus = [float(r["timestamp"]) for r in rows], [list(g) for g in zip(*([int(v) for v in r["compute-util"].split(", ")] for r in rows))]
        for kind in ("png", "jpg", "jpeg"):
            told.clear()
            visualize.lines(self.file, 0, ["compute-util", "compute-util"], save=self.path("x." + kind))
            with open(self.path("x." + kind), "rb") as f:
                self.assertEqual(f.read(), f"a {kind}".encode())
        self.assertEqual(told[:2], [("figure", (), {"figsize": (20, 10)}), ("subplots", (2, 1), {"sharex": True, "squeeze": False})])
        self.assertEqual([a for n, a, _ in told if n == "set_title"], [("compute-util",)] * 2)
        self.assertEqual([(a, k["alpha"]) for n, a, k in told if n == "plot"], [((times, g), 0.5) for g in gpus] * 2)
        self.assertEqual([a for n, a, _ in told if n == "set_xlabel"], [("time since start (seconds)",)])  # shared
        told.clear()
        visualize.boxes(self.file, 0, ["compute-util", "compute-util"], freq=15, save=self.path("x.png"))
        self.assertFalse(told[1][2]["sharex"])  # each box is a place of its axis: two charts on one axis have twice as many places as labels
        (groups,), how = next((a, k) for n, a, k in told if n == "boxplot")
        self.assertEqual(groups, [[v for g in gpus for v in g[i:i + 15]] for i in (0, 15)])
        self.assertEqual((how["boxprops"]["facecolor"], how["whiskerprops"]["color"], how["whiskerprops"]["linewidth"], how["capprops"]["color"], how["flierprops"]["marker"]),
                         ("#aec6cf", "#cedde2", 3, "#cfb7ae", "D"))
        self.assertEqual([(a, k) for n, a, k in told if n == "set_xticklabels"], [((["0", "3"],), {"rotation": 45})] * 2)
        self.assertEqual([a for n, a, _ in told if n == "set_xlabel"], [("time since start (seconds)",)])

    def test_a_notebook_shows_the_figure(self):
        figure = visualize.lines(self.file, 0, ["compute-util"], width=6, height=3)
        tree = xml.etree.ElementTree.fromstring(figure._repr_svg_())
        self.assertEqual((tree.get("width"), tree.get("height")), ("432", "216"))
        svg = "{http://www.w3.org/2000/svg}"
        self.assertEqual([t.text for t in tree.iter(svg + "title")], ["GPU 0", "GPU 1"])
        texts = [t.text for t in tree.iter(svg + "text")]
        for want in ("compute-util", "compute-util (%)", "time since start (seconds)", "GPU 1"):
            self.assertIn(want, texts)
        line = next(p.get("d") for p in tree.iter(svg + "path") if p.find(svg + "title") is not None)
        self.assertEqual(line.count("L"), 29)  # job 0 has 30 samples

    def test_the_program_draws_where_it_is(self):
        visualize.program = lambda: lib.MUSTER
        for kind, start in (("png", b"\x89PNG"), ("jpg", b"\xff\xd8\xff"), ("jpeg", b"\xff\xd8\xff"), ("svg", b"<svg"), ("pdf", b"%PDF")):
            self.assertIsNone(visualize.lines(self.file, 0, ["compute-util"], 6, 3, save=self.path("l." + kind)))
            self.assertIsNone(visualize.boxes(self.file, 0, "compute-util", freq=10, save=self.path("b." + kind)))
            for name in ("l.", "b."):
                with open(self.path(name + kind), "rb") as f:
                    self.assertTrue(f.read().lstrip().startswith(start), name + kind)
        xml.etree.ElementTree.fromstring(visualize.boxes(self.file, 1, ["compute-util"])._repr_svg_())

    def test_arguments_come_in_the_old_order(self):
        """Scripts for dask_metrics.visualize name them or not."""
        figure = dask_metrics.visualize.boxes(self.file, 0, ["compute-util"], 10, 6, 3)
        self.assertEqual((figure.freq, figure.width, figure.height, len(figure.boxes("compute-util"))), (10, 6, 3, 3))
        self.assertIsNone(dask_metrics.visualize.boxes(self.file, 0, ["compute-util"], 10, 6, 3, self.path("b.svg")))
        self.assertTrue(os.path.exists(self.path("b.svg")))
        figure = dask_metrics.visualize.lines(self.file, 0, ["compute-util"], 6, 3)
        self.assertEqual((figure.width, figure.height), (6, 3))

    def test_boxes_are_quartiles(self):
        figure = visualize.boxes(self.file, 0, ["compute-util"], freq=15)
        got = figure.boxes("compute-util")
        self.assertEqual([round(t, 2) for t, _ in got], [0.0, 3.0])
        values = sorted([i % 7 for i in range(15)] + [100 if i == 3 else i % 5 for i in range(15)])
        median = (values[14] + values[15]) / 2
        q1, q3 = (values[math.floor(29 * q)] * (1 - 29 * q % 1) + values[math.floor(29 * q) + 1] * (29 * q % 1) for q in (0.25, 0.75))
        box = got[0][1]
        self.assertEqual((box["median"], box["q1"], box["q3"], box["outliers"], box["low"], box["high"]), (median, q1, q3, [100], 0, 6))
        tree = xml.etree.ElementTree.fromstring(figure._repr_svg_())
        self.assertEqual(sum(r.get("fill") == "#aec6cf" for r in tree.iter("{http://www.w3.org/2000/svg}rect")), 2)


class Custom(lib.Case):
    def test_the_decorator(self):
        @custom_metric("power", per_device=False)
        def power(worker, handles):
            return len(handles)

        self.assertEqual((power.name, power.per_device, power(None, [1, 2])), ("power", False, 2))
        for name in ("", "a,b"):
            with self.assertRaises(ValueError):
                CustomMetric(print, name)
        for name in ("total-mem", "mem-util", "compute-util", "tasks", "job", "timestamp"):
            with self.assertRaisesRegex(ValueError, f"a custom metric cannot be named like a built-in one: {name}"):
                custom_metric(name)(print)
            with self.assertRaisesRegex(ValueError, "named like a built-in one"):
                Monitor(types.SimpleNamespace()).attach(custom_metrics=[{"op": print, "name": name}])  # the old decorator's
        with self.assertRaisesRegex(ValueError, "named like a built-in one: power"):  # one of muster's, which is tracked
            Monitor(types.SimpleNamespace()).attach(tracking=["power"], custom_metrics=[power])

    def test_a_later_list_of_metrics_leaves_custom_names_alone(self):
        async def play():
            there = SchedulerMonitor()
            await there.start(types.SimpleNamespace(handlers={}))
            self.addCleanup(there.drop_files)
            await there.do_attach(dict(Pieces.SETTINGS, custom=[["power", True]]))
            return await there.handle("start", tracking=["power"])
        self.assertEqual(asyncio.run(play()), {"error": "a custom metric cannot be named like a built-in one: power", "kind": "ValueError"})

    def test_handles_are_pynvmls(self):
        fake = types.ModuleType("pynvml")
        fake.nvmlInit = lambda: None
        fake.nvmlDeviceGetHandleByUUID = lambda uuid: ("handle", uuid)
        sys.modules["pynvml"] = fake
        self.addCleanup(sys.modules.pop, "pynvml", None)
        devices = [{"index": 0, "uuid": "GPU-a", "name": "x"}, {"index": 1, "uuid": "GPU-b", "name": "x"}]
        self.assertEqual(handles_of(devices, False), [("handle", "GPU-a"), ("handle", "GPU-b")])

        def old(uuid):
            if not isinstance(uuid, bytes):
                raise TypeError("bytes")
            return uuid
        fake.nvmlDeviceGetHandleByUUID = old
        self.assertEqual(handles_of(devices, False), [b"GPU-a", b"GPU-b"])

    def test_where_there_is_no_pynvml(self):
        sys.modules["pynvml"] = None  # as if it were not installed
        self.addCleanup(sys.modules.pop, "pynvml", None)
        devices = [{"index": 3, "uuid": "GPU-a", "name": "x"}]
        with self.assertRaisesRegex(RuntimeError, "pip install nvidia-ml-py"):
            handles_of(devices, False)
        self.assertEqual([(h.index, h.uuid) for h in handles_of(devices, True)], [(3, "GPU-a")])


class Pieces(lib.Case):
    """The two plugins without Dask: the scheduler's part answers the worker's directly."""

    SETTINGS = {"job_type": "client", "tracking": ["total-mem"], "interval": 1, "mem_limit": 0, "dump_loc": "temp", "devices": None, "collector": "replay", "custom": [],
                "hub": None, "hub_token": None, "name": None, "checkpoint": 0}

    async def play(self, lost):
        """Rows 0 to 2 are sent, and the answer is lost where told; rows 3 and 4 follow. What the scheduler has in the end."""
        there, answers = SchedulerMonitor(), iter(lost)
        await there.start(types.SimpleNamespace(handlers={}))
        self.addCleanup(there.drop_files)
        await there.do_attach(self.SETTINGS)

        async def ask(action=None, **kwargs):
            told = await there.handle(action, **kwargs)
            if action == "rows" and next(answers, False):
                raise OSError("the connection broke")
            return told

        worker = types.SimpleNamespace(handlers={}, stream_handlers={}, name="w", address="tcp://w", plugins={}, scheduler=types.SimpleNamespace(**{SCHEDULER_OP: ask}))
        here = WorkerMonitor(self.SETTINGS)
        await here.setup(worker)
        for rows in (3, 2):
            for _ in range(rows):
                here.sampler.tick()
            try:
                await here.push()
            except OSError:
                pass
        await here.push()
        want = here.sampler.csv(0, header=True)[0]
        await here.close()
        recorded = there.by_run[here.run]
        with open(recorded.file, "rb") as f:
            return f.read(), recorded.rows, want

    def test_rows_come_once_whatever_answers_are_lost(self):
        for lost in ((False,), (True,), (False, True), (True, True), (True, False, True)):
            with self.subTest(lost=lost):
                got, rows, want = asyncio.run(self.play(lost))
                self.assertEqual((got, rows), (want, 5))


class Sampling(lib.Case):
    def test_a_recording_is_sampled(self):
        with muster.Sampler(0.01, collector="replay:2", metrics=["total-mem", "compute-util", "tasks"]) as s:
            self.assertEqual((len(s.devices), s.metrics[:2]), (2, ["total-mem", "compute-util"]))
            s.label("job", 3)
            s.label("tasks", "('a\nb', 1)")
            s.value("loss", 0.5)
            s.value("note", "fine", 1)
            before = len(s)
            lib.wait_until("samples", lambda: len(s) > before + 5)
            s.stop()
            times, values = s.read("total-mem", 1)
            self.assertEqual(len(times), len(s))
            self.assertTrue(all(v >= 0 for v in values) and sorted(times) == list(times))
            self.assertEqual(s.latest("total-mem", 1), values[-1])
            s.to_csv(self.path("w_0.csv"))
            table = tables.columns(self.path("w_0.csv"))
            self.assertEqual(s.peaks("total-mem")[3][1], max(v for v, job in zip(values, table["job"]) if job == 3))
            self.assertEqual(list(table), ["job", "dag", "timestamp", "total-mem", "compute-util", "tasks", "loss", "note"])
            self.assertEqual((table["job"][-1], table["tasks"][-1], table["loss"][-1]), (3, "('a b', 1)", "0.5"))
            with open(self.path("w_0.json"), encoding="utf-8") as f:
                self.assertEqual(json.load(f), s.about())
            text, after = s.csv(0, 3, header=True)
            self.assertEqual((text.count(b"\n"), after), (4, 3))
            self.assertEqual(s.stats()["samples"], len(s))
            with self.assertRaises(KeyError):
                s.read("power")
            s.clear()
            self.assertEqual(len(s), 0)

    def test_what_cannot_be_is_said(self):
        for kw, word in (({"interval": 0.001}, ""), ({"collector": "replay:/nonexistent"}, "nonexistent"), ({"collector": "replay", "metrics": ["nope"]}, "nope")):
            with self.assertRaisesRegex(muster.MusterError, word):
                muster.Sampler(**kw)
        s = muster.Sampler(collector="replay")
        s.close()
        s.close()
        with self.assertRaisesRegex(muster.MusterError, "closed"):
            s.start()

    def test_a_child_of_the_process_is_told(self):
        program = ("import muster, os\ns = muster.Sampler(0.01, collector='replay')\ns.start()\nif os.fork() == 0:\n try:\n  s.start()\n except muster.MusterError as e:\n"
                   "  os._exit(7)\n os._exit(1)\nstatus = os.wait()[1]\ns.stop()\nprint(os.WEXITSTATUS(status))")
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, PYTHONPATH=os.path.join(lib.TOP, "python")), stdout=subprocess.PIPE, check=True, timeout=lib.LIMIT_S)
        self.assertEqual(done.stdout, b"7\n")

    def test_a_library_that_is_not_there(self):
        env = dict(os.environ, PYTHONPATH=os.path.join(lib.TOP, "python"), MUSTER_LIB=self.path("none.so"))
        done = subprocess.run([sys.executable, "-c", "import muster; muster.Sampler()"], env=env, stderr=subprocess.PIPE, check=False, timeout=lib.LIMIT_S)
        self.assertIn(b"OSError: cannot load libmuster", done.stderr)


class Installing(lib.Case):
    def make_the_program(self, tree, recipe):
        """The program is not compiled once more: the Makefile's rule for it has this recipe."""
        rule = "$(BIN)/muster: $(MAIN_OBJ) $(LIB_OBJ)\n"
        with open(os.path.join(lib.TOP, "Makefile"), encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(text.count(rule), 1)
        with open(os.path.join(tree, "Makefile"), "w", encoding="utf-8") as f:
            f.write(text.replace(rule, f"$(BIN)/muster:\n\tmkdir -p $(@D)\n\t{recipe}\nas-it-was: $(MAIN_OBJ) $(LIB_OBJ)\n"))

    def build(self, tree, env=None):
        """What its setup.py puts into the package, beside what is Python."""
        self.run_ok("/bin/sh", "-c", 'cd "$1/python" && exec /usr/bin/python3 setup.py -q build --build-base "$2" --build-lib "$3"', "sh", tree, self.path("work"), self.path("built"),
                    env=env, limit=600)
        got = sorted(n for n in os.listdir(self.path("built/muster")) if n in ("muster", "libmuster.so.0"))
        shutil.rmtree(self.path("built"))
        return got

    def test_pip_builds_it_and_puts_library_and_program_in(self):
        """In a copy of the tree's files, without a network; libmuster is built there by its Makefile."""
        tree, target = self.path("tree"), self.path("target")
        names = self.run_ok("git", "-C", lib.TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src", "python", "Makefile", "data").split("\0")
        for name in filter(None, names):
            if os.path.exists(os.path.join(lib.TOP, name)):
                os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
                shutil.copy(os.path.join(lib.TOP, name), os.path.join(tree, name))
        self.make_the_program(tree, f"cp {os.path.abspath(lib.MUSTER)} $@")
        self.run_ok("/usr/bin/python3", "-m", "pip", "install", "-q", "--no-build-isolation", "--no-index", "--no-deps", "--target", target, os.path.join(tree, "python"),
                    env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"}, limit=600)
        self.assertEqual(sorted(n for n in os.listdir(target) if not n.startswith("muster-")), ["dask_metrics", "muster"])
        program = "import muster, dask_metrics; s = muster.Sampler(collector='replay'); s.tick(); print(len(s), s._c.path, dask_metrics.Monitor.__module__)"
        got = self.run_ok("/usr/bin/python3", "-c", program, env={"PYTHONPATH": target}).split()
        self.assertEqual(got, ["1", os.path.join(target, "muster", "libmuster.so.0"), "muster.dask.monitor"])
        with open(self.path("worker_0.csv"), "w", encoding="utf-8") as f:
            f.write("job,dag,timestamp,compute-util\n0,0,0.0,5\n0,0,0.2,6\n")
        program = ("import sys; sys.modules['matplotlib'] = None; from dask_metrics import visualize as v; import muster.visualize as m; print(m.program());"
                   f"v.lines({self.path('worker_0.csv')!r}, 0, ['compute-util'], save={self.path('a.png')!r})")
        self.assertEqual(self.run_ok("/usr/bin/python3", "-c", program, env={"PYTHONPATH": target}), os.path.join(target, "muster", "muster") + "\n")
        with open(self.path("a.png"), "rb") as f:
            self.assertEqual(f.read(4), b"\x89PNG")
        shutil.rmtree(os.path.join(tree, "build", "python"))
        self.make_the_program(tree, "false")
        self.assertEqual(self.build(tree), ["libmuster.so.0"])  # where a library for it is missing
        self.assertEqual(self.build(tree, {"MUSTER_LIB": ""}), [])
        os.mkdir(self.path("elsewhere"))
        for file, name in ((os.environ["MUSTER_LIB"], "libmuster.so.0"), (lib.MUSTER, "muster")):
            shutil.copy(file, self.path("elsewhere/" + name))
        self.assertEqual(self.build(tree, {"MUSTER_LIB": self.path("elsewhere/libmuster.so.0")}), ["libmuster.so.0", "muster"])

    def test_pip_needs_no_compiler(self):
        """The package is Python alone then: files are read, and the sampler needs a library: MUSTER_LIB names one."""
        tree, target, empty = self.path("tree"), self.path("target"), self.path("bin")
        os.mkdir(empty)
        shutil.copytree(os.path.join(lib.TOP, "python"), os.path.join(tree, "python"), ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        self.run_ok("/usr/bin/python3", "-m", "pip", "install", "-q", "--no-build-isolation", "--no-index", "--no-deps", "--target", target, os.path.join(tree, "python"),
                    env={"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PATH": empty, "CC": ""}, limit=600)
        about, = [n for n in os.listdir(target) if n.startswith("muster-")]
        with open(os.path.join(target, about, "WHEEL"), encoding="utf-8") as f:
            self.assertIn("Tag: py3-none-any\n", f.read())
        self.assertFalse({"muster", "libmuster.so.0"} & set(os.listdir(os.path.join(target, "muster"))))
        os.mkdir(self.path("files"))
        with open(self.path("files/worker_0.csv"), "w", encoding="utf-8") as f:
            f.write("job,dag,timestamp,compute-util\n0,0,0.0,5\n0,0,0.2,6\n")
        read = f"from dask_metrics import Monitor; print(Monitor.peaks_from_csv({self.path('files')!r}, 'compute-util', per_job=False))"
        self.assertEqual(self.run_ok("/usr/bin/python3", "-c", read, env={"PYTHONPATH": target}), "[[6]]\n")
        program = "import muster; s = muster.Sampler(collector='replay'); s.tick(); print(len(s))"
        status, _, err = self.run_any("/usr/bin/python3", "-c", program, env={"PYTHONPATH": target, "MUSTER_LIB": self.path("none.so.0")})
        self.assertEqual((status, "OSError: cannot load libmuster" in err), (1, True), err)
        self.assertEqual(self.run_ok("/usr/bin/python3", "-c", program, env={"PYTHONPATH": target, "MUSTER_LIB": os.environ["MUSTER_LIB"]}), "1\n")

    def test_the_systems_library_is_found(self):
        place = self.path("lib")
        os.mkdir(place)
        shutil.copy(os.environ["MUSTER_LIB"], place)
        shutil.copytree(os.path.join(lib.TOP, "python", "muster"), self.path("site/muster"))
        program = "import muster; s = muster.Sampler(collector='replay'); print(s._c.path)"
        self.assertEqual(self.run_ok("/usr/bin/python3", "-c", program, env={"PYTHONPATH": self.path("site"), "LD_LIBRARY_PATH": place}), "libmuster.so.0\n")


class Hub(lib.Case):
    """Spans in a real hub."""

    def spans(self, url, token, places=None):
        from muster.hub import Spans
        s = Spans(url, token, "etl", "run1", lambda: places or {"box": ["GPU-1", "GPU-2"]})
        self.addCleanup(s.close)
        return s

    def counter(self, spans, clock):
        c = Counter("client", clock=lambda: clock[0])
        c.job_began, c.job_ended, c.dag_ended = spans.job_began, spans.job_ended, spans.dag_ended
        return c

    def test_jobs_and_their_dags_are_jobs_of_the_hub(self):
        hub = self.start_hub()
        spans = self.spans(hub.url, self.token("member", "--person", "kim"), {"box": ["GPU-1"], "other": ["GPU-9"]})
        now = [time.time() - 100]
        c = self.counter(spans, now)
        c.submit("A", ["a"])
        now[0] += 0.5
        c.finished("a", True)  # a short one is a part of its job
        c.submit("A", ["b"])
        now[0] += 5
        c.finished("b", False)
        c.add_client("A")
        c.remove_client("A")
        lib.wait_until("six messages", lambda: spans.posted >= 6)
        jobs = lib.ask_json(hub.url + "/api/v1/jobs?kind=dask")["jobs"]
        self.assertEqual(sorted((j["name"], j["devices"][0], j["person"], j["state"]) for j in jobs), [
            ("etl job 0", "GPU-1", "kim", "ended"), ("etl job 0", "GPU-9", "kim", "ended"), ("etl job 0 dag 1", "GPU-1", "kim", "ended"), ("etl job 0 dag 1", "GPU-9", "kim", "ended")])
        parents = {j["id"]: j for j in jobs if not j["parent"]}
        for j in jobs:
            if j["parent"]:
                self.assertEqual((parents[j["parent"]]["devices"], j["attributes"]["ok"], j["end"] - j["start"]), (j["devices"], False, 5000))
            else:
                self.assertEqual({k: j["attributes"][k] for k in ("dags", "tasks", "failed")}, {"dags": 2, "tasks": 2, "failed": 1})

    def test_usage_counts_them(self):
        data, now = self.path("data"), time.time() // 3600 * 3600  # whole hours: usage is made of them
        self.run_ok(lib.MUSTER, "simulate", "--quiet", "--backfill", "1d", "--every", "60s", "--nodes", 1, "--gpus", 2, "--people", 3, "--data", data, limit=300)
        hub = self.start_hub(data=data)
        span = f"from={round(now - 20 * 3600) * 1000}&to={round(now - 3600) * 1000}"

        def counted():
            got = lib.ask_json(f"{hub.url}/api/v1/usage?{span}")
            return got["waiting"] == 0 and [r["key"] for r in got["rows"] if r["key"]]
        who = lib.wait_until("every hour is counted", counted)[0]
        gpu = lib.ask_json(f"{hub.url}/api/v1/usage?{span}&by=device&person={who}")["rows"][0]
        spans = self.spans(hub.url, self.token("member", "--person", who), {"sim1": [gpu["key"]]})
        clock = [now - 20 * 3600]
        c = self.counter(spans, clock)
        c.add_client("A")
        c.submit("A", ["a"])
        clock[0] = now - 3600
        c.finished("a", True)
        c.remove_client("A")
        lib.wait_until("the hub knows", lambda: spans.posted >= 3)
        rows = lib.ask_json(f"{hub.url}/api/v1/usage?{span}&by=job&device={gpu['key']}")["rows"]
        got = [r for r in rows if r["key"] and r["name"] == "etl job 0"]
        self.assertEqual((len(got), got[0]["person"]), (1, who))
        self.assertAlmostEqual(got[0]["held"], gpu["held"], delta=gpu["held"] * 0.01 + 1)  # all of that person's time there; not the dag's again
        text = self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, "--by", "job", "--last", "2d")
        self.assertIn("etl job 0", text)

    def test_a_hub_that_is_away_or_refuses_harms_nobody(self):
        import muster.hub
        before = muster.hub.TRIES
        muster.hub.TRIES = 1
        self.addCleanup(setattr, muster.hub, "TRIES", before)
        away = self.spans(f"http://127.0.0.1:{lib.free_port()}", None)
        hub = self.start_hub()
        refused = self.spans(hub.url, "no-such-token")
        for spans, word in ((away, "refused"), (refused, "HTTP 401")):
            c = self.counter(spans, [1.0])
            c.submit("A", ["a"])
            lib.wait_until("it is said", lambda: spans.status()["error"])
            self.assertIn(word, spans.status()["error"])
            self.assertEqual((spans.posted, spans.lost), (0, 1))

    def test_one_host_that_is_refused_does_not_hold_up_the_others(self):
        hub, now = self.start_hub(), [time.time() - 100]
        spans = self.spans(hub.url, self.token("member", "--person", "kim"), {"a": ["no gpu " * 100], "b": ["GPU-1"]})
        c = self.counter(spans, now)
        c.add_client("A")
        c.submit("A", ["a"])
        c.finished("a", True)
        c.remove_client("A")
        lib.wait_until("begin and end of one, and the other's refusal", lambda: (spans.posted, spans.lost) == (2, 1))
        jobs = lib.ask_json(hub.url + "/api/v1/jobs?kind=dask")["jobs"]
        self.assertEqual([(j["devices"], j["state"]) for j in jobs], [(["GPU-1"], "ended")])


class Token(lib.Case):
    def test_a_token_file_that_others_can_read_is_refused(self):
        path = self.secret("token", "mst_x\n")
        os.environ["MUSTER_TOKEN_FILE"] = path
        self.addCleanup(os.environ.pop, "MUSTER_TOKEN_FILE")
        self.assertEqual(hub.find_token(), "mst_x")
        for mode in (0o644, 0o604, 0o660):
            os.chmod(path, mode)
            with self.assertLogs("muster.hub", "WARNING") as logs:
                self.assertIsNone(hub.find_token())
            self.assertIn(f"other users have access to it (mode {mode:04o}); chmod 600 it", logs.output[0])


if __name__ == "__main__":
    lib.main()
