"""The old way, for comparison: a worker plugin that samples in Python, in the worker's event loop, and sleeps between samples.

It does what dask-metrics did per sample: for each metric, for each device, one call and one text, joined; appended to lists. The calls are
cheaper than pynvml's: they take the next value of a list, no driver is asked.
"""
import asyncio
import itertools
import time

from distributed.diagnostics.plugin import WorkerPlugin

NAME = "old-way"


class OldWay(WorkerPlugin):
    name = NAME

    def __init__(self, interval, devices):
        self.interval, self.devices = interval, devices

    def setup(self, worker=None, **kwargs):
        self.times, self.rows = [], {"total-mem": [], "mem-util": [], "compute-util": []}
        self.trace = {name: [itertools.cycle(range(100 + i)) for i in range(self.devices)] for name in self.rows}
        self.task = asyncio.ensure_future(self.loop())

    def teardown(self, worker=None, **kwargs):
        self.task.cancel()

    async def loop(self):
        start = time.time()
        while True:
            self.times.append(time.time() - start)
            for name, column in self.rows.items():
                column.append(", ".join([str(next(device)) for device in self.trace[name]]))
            await asyncio.sleep(self.interval)
