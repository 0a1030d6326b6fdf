"""The scheduler's part: counts jobs and dags, notifies the workers, stores their rows, serves monitors.

A monitor sends requests by RPC (op `muster_monitor`, an action and its arguments) from any client; so does a worker.
Rows of workers that have left stay. Nothing here waits for a worker without a limit, and no failure here affects the
scheduler's own work.
"""
import asyncio
import collections
import json
import logging
import os
import re
import shutil
import tempfile
import time
import zlib

from distributed.diagnostics.plugin import SchedulerPlugin

from .counting import Counter, of_a_task
from .worker import LABEL_OP, NAME, SCHEDULER_OP, WORKER_OP
from ..hub import Spans

log = logging.getLogger("muster.dask")

WORKER_LIMIT_S = 30  # timeout of a request to a worker
TASKS_MAX = 100_000  # finished tasks remembered
READ_MAX = 4 << 20
PIECE_MAX = 64 << 20  # a worker's rows in one message, unpacked
BUILT_IN = ("job", "dag", "timestamp", "total-mem", "mem-util", "compute-util", "mem-used-percent", "tasks")  # columns


def natural(name):
    """w2 before w10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def refuse_taken(custom, names):
    """ValueError: a custom metric has one of these names."""
    for name in custom:
        if name in names:
            raise ValueError(f"a custom metric cannot be named like a built-in one: {name}")


class Recorded:
    """One worker that samples or sampled, and its rows."""

    def __init__(self, run, address, name, host, pid):
        self.run, self.address, self.name, self.host, self.pid = run, address, name, host, pid
        self.number, self.file, self.companion = None, None, {}
        self.here, self.ready, self.failed, self.devices, self.started = True, False, None, [], None
        self.epoch = self.pieces = self.rows = 0


class SchedulerMonitor(SchedulerPlugin):
    name = NAME
    idempotent = True  # the first one stays

    def __init__(self):
        self.settings = None

    # ---- life ----

    async def start(self, scheduler=None, **kwargs):
        self.scheduler, self.counter = scheduler, Counter()
        self.recording, self.seq, self.epoch = False, 0, 0
        self.workers, self.by_run = {}, {}  # address -> Recorded; run -> Recorded, also of those that left
        self.numbered = 0
        self.tasks, self.tasks_lost = collections.deque(maxlen=TASKS_MAX), 0
        self.timeless = {}  # (run, key) -> a task without times by its worker's clock, which the samples use
        self.spans, self.folder, self.changed = None, None, asyncio.Event()
        scheduler.handlers[SCHEDULER_OP] = self.handle

    async def close(self, **kwargs):
        if self.settings is not None and self.spans:
            self.counter.end_spans()
            self.spans.close()
        self.drop_files()

    def drop_files(self):
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    # ---- the scheduler's events ----

    def add_client(self, scheduler=None, client=None, **kwargs):
        self.counter.add_client(client)

    def remove_client(self, scheduler=None, client=None, **kwargs):
        self.counter.remove_client(client)
        self.changed.set()

    def update_graph(self, scheduler=None, client=None, keys=(), tasks=(), **kwargs):
        if client is None:
            return
        states = {key: self.scheduler.tasks[key].state for key in keys if key in self.scheduler.tasks}
        self.counter.submit(client, keys, tasks, {key: state == "memory" for key, state in states.items() if state in ("memory", "erred")})

    def transition(self, key, start, finish, *args, worker=None, startstops=None, **kwargs):
        if finish in ("memory", "erred"):
            if start == "processing":
                self.remember(key, finish == "memory", worker, startstops)
            self.counter.finished(key, finish == "memory", start == "processing")
        elif finish == "forgotten":
            self.counter.forgotten(key)
        else:
            return
        self.changed.set()

    def remember(self, key, ok, worker, startstops):
        if not self.recording:
            return
        at = self.workers.get(worker)
        if at is None:
            return
        if len(self.tasks) == TASKS_MAX:
            self.tasks_lost += 1
            self.timeless.pop((self.tasks[0][1], self.tasks[0][0]), None)
        job, dag = self.counter.owner.get(key, (self.counter.job, self.counter.dag))
        spans = [s for s in startstops or () if isinstance(s, dict) and s.get("action") == "compute"]
        task = [str(key), at.run, job, dag, min((s["start"] for s in spans), default=None), max((s["stop"] for s in spans), default=None), ok]
        self.tasks.append(task)
        self.timeless[at.run, task[0]] = task

    def restart(self, scheduler=None, **kwargs):
        self.counter.restarted()
        self.changed.set()

    def remove_worker(self, scheduler=None, worker=None, **kwargs):
        gone = self.workers.pop(worker, None)
        if gone is not None:
            gone.here = False
        self.changed.set()

    def told(self, job, dag):
        """The current numbers have changed."""
        self.seq += 1
        for address in list(self.workers):
            try:
                self.scheduler.worker_send(address, {"op": LABEL_OP, "seq": self.seq, "job": job, "dag": dag})
            except Exception as e:  # it is on its way out
                log.debug("muster: %s did not receive job %s: %s", address, job, e)

    # ---- requests ----

    async def handle(self, action=None, **kwargs):
        do = getattr(self, "do_" + str(action), None)
        if do is None:
            return {"error": f"this scheduler's muster knows no {action!r}", "kind": "RuntimeError"}
        if self.settings is None and action != "attach":
            return {"error": "no monitor is attached", "kind": "RuntimeError"}
        try:
            return await do(**kwargs)
        except (KeyError, ValueError, OSError, RuntimeError) as e:
            return {"error": str(e.args[0] if e.args else e), "kind": type(e).__name__ if type(e) in (KeyError, ValueError) else "RuntimeError"}

    async def ask_workers(self, action, **kwargs):
        """Sends a request to all workers concurrently, and names those that do not respond in time.

        The current numbers are part of the request: they must not arrive after it."""
        force = {"seq": self.seq, "job": self.counter.job, "dag": self.counter.dag}
        async def one(w):
            try:
                told = await asyncio.wait_for(getattr(self.scheduler.rpc(w.address), WORKER_OP)(action=action, **force, **kwargs), WORKER_LIMIT_S)
                if isinstance(told, dict) and "error" not in told:
                    self.note(w, told)
                    return None
                return f"{w.name}: {told.get('error') if isinstance(told, dict) else 'is not monitored'}"
            except Exception as e:
                return f"{w.name}: {type(e).__name__} {e}".rstrip() if w.here else None
        return [why for why in await asyncio.gather(*(one(w) for w in list(self.workers.values()))) if why]

    def note(self, w, about):
        w.ready, w.failed, w.devices = True, about.get("failed"), about.get("devices") or []
        w.started, w.companion = about.get("started") or w.started, about.get("companion") or w.companion

    # ---- from monitors ----

    async def do_attach(self, settings=None, **kwargs):
        if self.settings is not None:
            same = json.dumps(dict(self.settings, id=0), sort_keys=True) == json.dumps(dict(settings, id=0), sort_keys=True)
            if same or self.recording or any(w.rows for w in self.by_run.values()):
                return {"attached": False, "same": same}
        self.counter = Counter(settings["job_type"], self.told, time.time)
        self.settings, self.tracking = settings, list(settings["tracking"])
        self.workers, self.by_run, self.numbered = {}, {}, 0
        if self.spans:
            self.spans.close()
        url = settings["hub"] or os.environ.get("MUSTER_HUB")
        self.spans = Spans(url, settings["hub_token"], settings["name"] or "dask", settings["id"], self.places) if url else None
        if self.spans:
            self.counter.job_began, self.counter.job_ended, self.counter.dag_ended = self.spans.job_began, self.spans.job_ended, self.spans.dag_ended
        return {"attached": True, "same": False}

    async def do_status(self, **kwargs):
        return {"job_type": self.settings["job_type"], "recording": self.recording, "job": self.counter.job, "dag": self.counter.dag,
                "pending": len(self.counter.pending()), "tracking": self.tracking, "hub": self.spans.status() if self.spans else None,
                "workers": [{"name": w.name, "address": w.address, "host": w.host, "ready": w.ready, "failed": w.failed, "here": w.here,
                             "devices": w.devices} for w in self.by_run.values()]}

    async def do_start(self, tracking=None, **kwargs):
        fresh = tracking if tracking and list(tracking) != self.tracking else None
        refuse_taken([name for name, _ in self.settings["custom"]], fresh or ())
        if fresh:
            self.tracking = list(fresh)
            self.empty()
        self.number_all()
        self.recording = True
        return {"late": await self.ask_workers("start", tracking=fresh, epoch=self.epoch)}

    async def do_wait(self, seconds=1, **kwargs):
        """Waits up to `seconds` for dags to end. Returns the number of dags clients wait for, and if any can move."""
        end = time.monotonic() + seconds
        while True:
            self.changed.clear()
            clients = {c for c in self.scheduler.clients if not of_a_task(c)}
            left = self.counter.pending(clients)
            rest = end - time.monotonic()
            if not left or rest <= 0:
                return {"left": len(left), "moving": any(ws.processing for ws in self.scheduler.workers.values())}
            try:
                await asyncio.wait_for(self.changed.wait(), rest)
            except asyncio.TimeoutError:
                pass

    async def do_stop(self, **kwargs):
        self.recording = False
        late = await self.ask_workers("stop")
        self.counter.end_spans()
        return {"late": late}

    async def do_new_job(self, job=None, **kwargs):
        if self.settings["job_type"] != "manual":
            return {"manual": False}
        self.counter.new_job(job)
        return {"manual": True, "job": self.counter.job}

    async def do_clear(self, **kwargs):
        self.empty()
        return {"late": await self.ask_workers("clear", epoch=self.epoch)}

    def empty(self):
        """No rows, no tasks, job and dag 0; workers that have left are forgotten."""
        self.counter.clear()
        self.tasks.clear()
        self.timeless.clear()
        self.tasks_lost = 0
        self.epoch += 1
        self.by_run = {run: w for run, w in self.by_run.items() if w.here}
        for w in self.by_run.values():
            w.epoch, w.pieces, w.rows, w.number = self.epoch, 0, 0, None
            w.file = None
        self.drop_files()
        self.numbered = 0
        self.number_all()

    async def do_collect(self, **kwargs):
        late = await self.ask_workers("flush")
        self.number_all()
        return {"late": late, "recording": self.recording, "workers": [
            {"number": w.number, "run": w.run, "name": w.name, "address": w.address, "host": w.host, "pid": w.pid, "here": w.here, "failed": w.failed,
             "devices": w.devices, "rows": w.rows, "bytes": os.path.getsize(w.file) if w.file else 0, "started": w.started, "companion": w.companion}
            for w in sorted(self.by_run.values(), key=lambda w: w.number)]}

    async def do_read(self, run=None, offset=0, **kwargs):
        w = self.by_run[run]
        if not w.file:
            return {"data": b""}
        with open(w.file, "rb") as f:
            f.seek(offset)
            return {"data": f.read(READ_MAX)}

    async def do_tasks(self, offset=0, **kwargs):
        rows = [list(t) for i, t in enumerate(self.tasks) if offset <= i < offset + 10_000]
        return {"tasks": rows, "lost": self.tasks_lost}

    async def do_successful(self, **kwargs):
        return {"jobs": self.counter.successful()}

    async def do_shutdown(self, **kwargs):
        self.recording = False
        late = await self.ask_workers("detach")
        self.counter.end_spans()
        if self.spans:
            self.spans.close()
        self.settings = self.spans = None
        self.counter, self.workers, self.by_run = Counter(), {}, {}
        self.drop_files()
        self.scheduler.handlers.pop(SCHEDULER_OP, None)
        self.scheduler.remove_plugin(name=self.name)
        return {"late": late}

    # ---- from workers ----

    async def do_hello(self, worker=None, run=None, name="", host="", pid=0, **kwargs):
        w = self.by_run[run] = self.workers[worker] = Recorded(run, worker, name, host, pid)
        w.epoch = self.epoch
        if self.recording:
            self.number(w)
        return {"tracking": self.tracking, "recording": self.recording, "seq": self.seq, "job": self.counter.job, "dag": self.counter.dag,
                "epoch": self.epoch}

    async def do_ready(self, run=None, **about):
        self.note(self.by_run[run], about)
        return {}

    async def do_rows(self, run=None, epoch=0, piece=0, text=b"", spans=(), started=None, **kwargs):
        w = self.by_run[run]
        for key, start, stop in spans:
            task = self.timeless.pop((run, key), None)
            if task is not None:
                task[4:6] = start, stop
        if epoch != w.epoch or piece != w.pieces:
            return {"taken": False}  # cleared meanwhile, or here already
        unpacked = zlib.decompressobj()
        rows = unpacked.decompress(text, PIECE_MAX)
        if unpacked.unconsumed_tail:
            raise ValueError(f"rows of {w.name} are longer than {PIECE_MAX} bytes")
        if w.file is None:
            self.folder = self.folder or tempfile.mkdtemp(prefix="muster-dask-")
            w.file = os.path.join(self.folder, run + ".csv")
        with open(w.file, "ab") as f:
            f.write(rows)
        w.rows += rows.count(b"\n") - (1 if piece == 0 else 0)
        w.pieces, w.started = piece + 1, started or w.started
        return {"taken": True}

    def number(self, w):
        w.number, self.numbered = self.numbered, self.numbered + 1

    def number_all(self):
        """Gives a number to all workers without one, in order of names: w2 before w10."""
        for w in sorted((w for w in self.by_run.values() if w.number is None), key=lambda w: (natural(w.name), w.address)):
            self.number(w)

    def places(self):
        """{host: uuids of the GPUs that its workers sample}."""
        got = {}
        for w in self.by_run.values():
            for d in w.devices if w.here else ():
                got.setdefault(w.host, {})[d["uuid"]] = True
        return {host: list(uuids) for host, uuids in got.items()}
