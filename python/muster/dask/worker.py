"""The worker's part: a sampler of libmuster, with job, dag and tasks as labels; sends its rows to the scheduler.

Nothing here runs per sample: the library's thread does that. Python runs when a task starts or ends (only if `tasks` is
tracked), when the job or dag changes, every `checkpoint` seconds for the new rows, and every interval if there are
custom metrics.
"""
import asyncio
import collections
import logging
import os
import socket
import time
import uuid
import zlib

from distributed.diagnostics.plugin import WorkerPlugin
from tornado.ioloop import PeriodicCallback

from ..sampler import Sampler

log = logging.getLogger("muster.dask")

NAME = "muster-monitor"
PIECE = 1024  # samples sent at a time
SPANS_MAX = 20_000  # tasks whose times wait to be sent
SCHEDULER_OP, WORKER_OP, LABEL_OP = "muster_monitor", "muster_worker", "muster-label"


class StandIn:
    """Replaces a pynvml handle in custom metrics if the devices are a recording and pynvml is missing."""

    def __init__(self, device):
        self.index, self.uuid, self.name = device["index"], device["uuid"], device["name"]


def handles_of(devices, replayed):
    """A pynvml handle for each device. Raises RuntimeError with a message if that fails."""
    try:
        import pynvml
        pynvml.nvmlInit()
    except Exception as e:
        if replayed:
            return [StandIn(d) for d in devices]
        how = "is not installed there (pip install nvidia-ml-py)" if isinstance(e, ImportError) else f"cannot reach the driver: {e}"
        raise RuntimeError(f"custom metrics are given pynvml's handles of the GPUs, and pynvml {how}") from None
    got = []
    for d in devices:
        try:
            got.append(pynvml.nvmlDeviceGetHandleByUUID(d["uuid"]))
        except Exception:
            try:
                got.append(pynvml.nvmlDeviceGetHandleByUUID(d["uuid"].encode()))  # older ones want bytes
            except Exception:
                got.append(pynvml.nvmlDeviceGetHandleByIndex(d["index"]))
    return got


class WorkerMonitor(WorkerPlugin):
    """settings: arguments of attach(). The sampler is opened when the scheduler has sent the metrics to track."""

    name = NAME
    idempotent = False  # attached again, it replaces the previous one

    def __init__(self, settings, custom=()):
        self.settings, self.custom = settings, list(custom)

    # ---- coming and going ----

    async def setup(self, worker=None, **kwargs):
        self.worker, self.run, self.sampler, self.error = worker, uuid.uuid4().hex, None, None
        self.tracking, self.state, self.executing = list(self.settings["tracking"]), (-1, 0, 0), {}
        self.started, self.epoch, self.sent, self.piece, self.unanswered = None, 0, 0, 0, None
        self.pushing, self.callbacks, self.complained = asyncio.Lock(), [], set()
        self.recording, self.spans = False, collections.deque(maxlen=SPANS_MAX)
        worker.handlers[WORKER_OP] = self.handle
        worker.stream_handlers[LABEL_OP] = self.on_label
        told = await self.tell("hello", name=str(worker.name), host=socket.gethostname(), pid=os.getpid())
        if not told:
            return
        self.tracking, self.epoch = list(told["tracking"]), told["epoch"]
        self.on_label(told["seq"], told["job"], told["dag"])
        await self.open()
        if told["recording"]:
            await self.start()
        await self.tell("ready", **self.about())
        if self.settings["checkpoint"] > 0:
            self.every(self.settings["checkpoint"], self.checkpoint)

    async def teardown(self, worker=None, **kwargs):
        """The worker leaves, or the monitor is removed: sends the remaining samples to the scheduler first."""
        for callback in self.callbacks:
            callback.stop()
        # A label may be in flight; a worker without a handler for a message drops its scheduler.
        self.worker.stream_handlers[LABEL_OP] = lambda **kwargs: None
        if self.worker.handlers.get(WORKER_OP) == self.handle:
            del self.worker.handlers[WORKER_OP]
        if self.sampler is None:
            return
        try:
            await self.off_loop(self.sampler.stop)
            if len(self.sampler):
                await asyncio.wait_for(self.push(), 10)
        except Exception as e:
            log.warning("muster: the last samples of %s are lost: %s", self.worker.name, e)
        await self.close()

    async def tell(self, action, **more):
        """Sends one message to the scheduler's part; None if it is not there."""
        try:
            answer = await getattr(self.worker.scheduler, SCHEDULER_OP)(action=action, worker=self.worker.address, run=self.run, **more)
        except Exception as e:
            log.info("muster: cannot send %r to the scheduler: %s", action, e)
            return None
        return answer if isinstance(answer, dict) and "error" not in answer else None

    async def off_loop(self, call, *args):
        return await asyncio.get_running_loop().run_in_executor(None, call, *args)

    def every(self, seconds, call):
        callback = PeriodicCallback(call, max(1.0, seconds * 1000))
        callback.start()
        self.callbacks.append(callback)

    # ---- the sampler ----

    def open_now(self):
        s = self.settings
        collector = s["collector"] or os.environ.get("MUSTER_COLLECTOR")
        spill = None
        if s["mem_limit"]:
            spill = os.path.abspath(s["dump_loc"])
            os.makedirs(spill, exist_ok=True)
        sampler = Sampler(s["interval"], collector, self.devices(), ",".join(self.tracking), s["mem_limit"], spill)
        sampler.note("worker", self.worker.name)
        sampler.note("address", self.worker.address)
        self.handles = handles_of(sampler.devices, (collector or "").startswith("replay")) if self.custom else []
        for metric in self.custom:  # so that the columns are there from the first row on
            for i in range(len(self.handles)) if metric.per_device else [-1]:
                sampler.value(metric.name, None, i)
        return sampler

    def devices(self):
        """ "own" of a dask-cuda worker is the first of CUDA_VISIBLE_DEVICES: it lists the others behind its own."""
        asked = self.settings["devices"]
        if asked == "own" and any(type(p).__module__.startswith("dask_cuda") for p in self.worker.plugins.values()):
            return "own:1"
        return asked

    async def open(self):
        """Opens the sampler again; reports and keeps the error, if any."""
        await self.close()
        self.error = None
        try:
            self.sampler = await self.off_loop(self.open_now)
        except Exception as e:
            self.error = str(e)
            log.warning("muster: %s cannot sample: %s", self.worker.name, e)
        self.started, self.sent, self.piece, self.unanswered = None, 0, 0, None
        self.put_labels()

    async def close(self):
        old, self.sampler = self.sampler, None
        if old is not None:
            await self.off_loop(old.close)

    def about(self):
        s = self.sampler
        return {"devices": s.devices if s is not None else [], "companion": s.about() if s is not None else {}, "failed": self.error, "started": self.started, "epoch": self.epoch}

    async def start(self):
        if self.sampler is None:
            return
        self.run_custom()
        self.recording, self.started = True, self.started or time.time()
        try:
            await self.off_loop(self.sampler.start)
        except Exception as e:
            self.error = str(e)
            return
        if self.custom and not any(c.callback == self.run_custom for c in self.callbacks):
            self.every(self.settings["interval"], self.run_custom)

    def run_custom(self):
        if self.sampler is None:
            return
        for metric in self.custom:
            for i, handle in enumerate(self.handles) if metric.per_device else [(-1, self.handles)]:
                try:
                    value = metric.op(self.worker, handle)
                except Exception as e:
                    value = None
                    if metric.name not in self.complained:
                        self.complained.add(metric.name)
                        log.warning("muster: custom metric %r has no value: %s: %s", metric.name, type(e).__name__, e)
                self.sampler.value(metric.name, value, i)

    # ---- labels ----

    def on_label(self, seq, job, dag, **kwargs):
        if seq > self.state[0]:
            self.state = (seq, job, dag)
            self.put_labels()

    def put_labels(self):
        if self.sampler is not None:
            self.sampler.label("job", self.state[1])
            self.sampler.label("dag", self.state[2])
            self.put_tasks()

    def put_tasks(self):
        if self.sampler is not None and "tasks" in self.tracking:
            self.sampler.label("tasks", ", ".join(self.executing))

    def transition(self, key, start, finish, **kwargs):
        if finish == "executing":
            self.executing[str(key)] = time.time()
        elif start == "executing":
            began = self.executing.pop(str(key), None)
            if began is not None and self.recording:
                self.spans.append((str(key), began, time.time()))
        else:
            return
        self.put_tasks()

    # ---- rows to the scheduler ----

    async def checkpoint(self):
        if not self.pushing.locked():
            try:
                await self.push()
            except Exception as e:
                log.info("muster: rows wait for the next time: %s", e)

    async def push(self):
        """Sends all samples since the last time.

        A piece without a reply is sent again unchanged, with the same number: it may have been stored."""
        async with self.pushing:
            while self.sampler is not None:
                again = self.unanswered
                text, after = again or await self.off_loop(self.sampler.csv, self.sent, PIECE, self.piece == 0)
                if not again and after == self.sent and self.piece > 0 and not self.spans:
                    return
                epoch, self.unanswered = self.epoch, (text, after)
                spans = [self.spans.popleft() for _ in range(min(PIECE, len(self.spans)))]
                told = await self.tell("rows", epoch=epoch, piece=self.piece, text=zlib.compress(text, 1), spans=spans, started=self.started)
                if told is None:
                    self.spans.extendleft(reversed(spans))
                    raise OSError("the scheduler does not answer")
                self.unanswered = None
                if epoch == self.epoch:  # else it was cleared meanwhile
                    more = again or after > self.sent or self.spans
                    self.sent, self.piece = after, self.piece + 1
                    if not more:
                        return

    # ---- requests of the scheduler ----

    async def handle(self, action=None, seq=-1, job=0, dag=0, **kwargs):
        do = {"start": self.do_start, "stop": self.do_stop, "flush": self.do_flush, "clear": self.do_clear, "detach": self.do_detach}.get(action)
        if do is None:
            return {"error": f"no action {action!r}"}
        self.on_label(seq, job, dag)
        await do(**kwargs)
        return self.about()

    async def do_start(self, tracking=None, epoch=None, **kwargs):
        if tracking is not None:
            async with self.pushing:
                self.tracking, self.epoch = tracking, epoch
                await self.open()
        await self.start()

    async def do_stop(self, **kwargs):
        self.recording = False
        if self.sampler is not None:
            await self.off_loop(self.sampler.stop)
            await self.push()

    async def do_flush(self, **kwargs):
        await self.push()

    async def do_detach(self, **kwargs):
        """The monitor is removed, with all recorded data: the remaining samples have no receiver."""
        self.recording = False
        async with self.pushing:
            await self.close()

    async def do_clear(self, epoch=0, **kwargs):
        async with self.pushing:
            self.epoch, self.sent, self.piece, self.unanswered = epoch, 0, 0, None
            self.spans.clear()
            if self.sampler is not None:
                await self.off_loop(self.sampler.clear)
