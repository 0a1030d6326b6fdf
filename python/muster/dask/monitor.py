"""Monitor: the user's object for Dask. All state is on the cluster: any client's Monitor can continue for another."""
import bisect
import json
import os
import shutil
import tempfile
import time
import uuid
import warnings

from .. import tables
from .worker import NAME, SCHEDULER_OP, WorkerMonitor
from .scheduler import BUILT_IN, SchedulerMonitor, refuse_taken


class CustomMetric:
    """A function of yours that is sampled; see custom_metric."""

    def __init__(self, op, name, per_device=True):
        if not callable(op) or not name or "," in name:
            raise ValueError("a custom metric is a function and a name without commas")
        refuse_taken([name], BUILT_IN)
        self.op, self.name, self.per_device = op, str(name), bool(per_device)

    def __call__(self, *args, **kwargs):
        return self.op(*args, **kwargs)


def custom_metric(name, per_device=True):
    """Decorator: f(worker, handle) is called for each GPU, or f(worker, [handles]) once if per_device is False.

    The result goes to the column `name`."""
    return lambda op: CustomMetric(op, name, per_device)


def _custom(metric):
    if isinstance(metric, CustomMetric):
        return metric
    if isinstance(metric, dict):  # result of the decorator of dask-metrics
        return CustomMetric(metric["op"], metric["name"], metric.get("per_device", True))
    raise TypeError(f"{metric!r} is no custom metric: decorate the function with @custom_metric(name)")


class Monitor:
    """GPU metrics per worker, job and dag of the cluster that client is connected to.

    Monitor(client).attach(tracking=["total-mem", "compute-util"]); .start(); run jobs from any client; then, from this or any other client,
    Monitor(client).stop(); .to_csv("folder")
    """

    def __init__(self, client):
        if getattr(client, "asynchronous", False):
            raise TypeError("Monitor needs a client that is not asynchronous")
        self.client = client
        self._folder = self._workers = None
        self._whole = False  # the fetched data is complete

    def __del__(self):
        self._forget()

    def _forget(self):
        folder, self._folder, self._workers, self._whole = getattr(self, "_folder", None), None, None, False
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, action, **kwargs):
        answer = self.client.sync(getattr(self.client.scheduler, SCHEDULER_OP), action=action, **kwargs)
        if not isinstance(answer, dict) or "status" in answer:
            raise RuntimeError("no monitor is attached to this cluster: attach() does that")
        if "error" in answer:
            raise {"KeyError": KeyError, "ValueError": ValueError}.get(answer["kind"], RuntimeError)(answer["error"])
        for late in answer.get("late", ()):
            warnings.warn(f"worker {late}", RuntimeWarning, stacklevel=3)
        return answer

    # ---- attach, start, stop ----

    def attach(self, job_type="client", tracking=(), custom_metrics=(), polling_interval=200, mem_limit=0, dump_loc="temp", *, devices=None,
               collector=None, hub=None, hub_token=None, name=None, checkpoint=10):
        """Puts the monitor on the cluster; start() starts recording. Repeating the call has no effect.

        job_type          "client": a job is a client's connection; "manual": new_job() starts one
        tracking          total-mem, mem-util, compute-util, tasks, mem-used-percent, and every device metric of muster by name (power, temp, ...)
        custom_metrics    functions decorated with custom_metric
        polling_interval  milliseconds between samples, 10 to 60000
        mem_limit         samples a worker keeps in memory before they go to a file in dump_loc; 0: as many as fit in 1 MiB
        devices           None: every GPU of the worker's machine; "own": those it may use; "0,2"; uuids
        collector         None: the driver; "replay" or "replay:8": a recording, for tests without a GPU
        hub, hub_token    muster hub in which jobs and dags are labelled
                          (default: MUSTER_HUB, MUSTER_TOKEN and MUSTER_TOKEN_FILE)
        name              their name there
        checkpoint        seconds between transfers of rows: a worker that crashes loses at most these; 0: only at exit
        """
        if not isinstance(job_type, str):  # attach([...]): metrics came first in the first releases
            tracking, job_type = job_type, tracking if isinstance(tracking, str) else "client"
        if job_type not in ("client", "manual"):
            raise ValueError(f"job_type must be 'client' or 'manual', not {job_type!r}")
        if not 10 <= polling_interval <= 60_000:
            raise ValueError(f"polling_interval is 10 to 60000 ms, not {polling_interval!r}")
        if isinstance(tracking, str):
            raise TypeError("tracking is a list of names")
        custom = [_custom(m) for m in custom_metrics]
        refuse_taken([m.name for m in custom], tracking)
        settings = {"id": uuid.uuid4().hex, "job_type": job_type, "tracking": list(tracking), "interval": polling_interval / 1000, "mem_limit": int(mem_limit or 0),
                    "dump_loc": str(dump_loc), "devices": ",".join(map(str, devices)) if isinstance(devices, (list, tuple)) else devices, "collector": collector,
                    "custom": [[m.name, m.per_device] for m in custom], "hub": hub or os.environ.get("MUSTER_HUB"), "hub_token": hub_token, "name": name,
                    "checkpoint": checkpoint}
        self._register(SchedulerMonitor())
        if settings["hub"] and not hub_token:
            settings["hub_token"] = _token()
        told = self._ask("attach", settings=settings)
        if told["attached"]:
            try:
                self._register(WorkerMonitor(settings, custom))
            except Exception:
                self.shutdown()  # otherwise the next attach() finds an attached monitor without samplers
                raise
            self._workers_or_raise()
        elif not told["same"]:
            warnings.warn("a monitor with other settings is attached and has recorded: it stays as it is (shutdown() takes it away)", RuntimeWarning, stacklevel=2)

    def _register(self, plugin):
        client, scheduler = self.client, isinstance(plugin, SchedulerMonitor)
        if hasattr(client, "register_plugin"):  # distributed 2023.9.2 and later
            client.register_plugin(plugin, name=NAME)
        elif scheduler:
            client.register_scheduler_plugin(plugin, name=NAME, idempotent=True)
        else:
            client.register_worker_plugin(plugin, name=NAME)

    def _workers_or_raise(self):
        workers = [w for w in self._ask("status")["workers"] if w["here"]]
        failed = [w for w in workers if w["failed"]]
        for w in failed:
            if len(failed) < len(workers):
                warnings.warn(f"worker {w['name']} records nothing: {w['failed']}", RuntimeWarning, stacklevel=3)
        if workers and len(failed) == len(workers):
            self.shutdown()
            raise RuntimeError(f"no worker can sample; {failed[0]['name']} says: {failed[0]['failed']}")

    def start(self, tracking=()):
        """Starts recording on all workers, also on later ones. A different list of metrics clears the recorded data."""
        self._forget()
        self._ask("start", tracking=list(tracking))
        self._workers_or_warn()

    def _workers_or_warn(self):
        for w in self._ask("status")["workers"]:
            if w["here"] and w["failed"]:
                warnings.warn(f"worker {w['name']} records nothing: {w['failed']}", RuntimeWarning, stacklevel=3)

    def stop(self, force=False, timeout=600):
        """Stops recording when every dag submitted so far is done; with force, now.

        It does not wait for dags of clients that have left, nor where nothing has run on any worker for ten seconds, nor longer than timeout
        seconds: then it stops all the same and warns.
        """
        end, still = time.monotonic() + timeout, None
        while not force:
            own = self._own_pending()
            told = self._ask("wait", seconds=max(0.0, min(0.2 if own else 2.0, end - time.monotonic())))
            left, now = max(told["left"], own and self._own_pending()), time.monotonic()
            if not left:
                break
            still = None if told["moving"] else still or now
            if now >= end or still and now - still >= 10:
                what = f"after {timeout} s" if now >= end else "and nothing runs on any worker"
                warnings.warn(f"{left} dags are not done {what}; recording stops anyway", RuntimeWarning, stacklevel=2)
                break
        self._forget()
        self._ask("stop")

    def _own_pending(self):
        """Futures of this client that have not ended: the scheduler may not have received new ones yet."""
        return sum(state.status == "pending" for state in list(getattr(self.client, "futures", {}).values()))

    def shutdown(self):
        """Removes the monitor from the cluster, with all recorded data and the files on workers."""
        self._forget()
        self._ask("shutdown")
        try:
            self.client.unregister_worker_plugin(NAME)
        except ValueError:  # no such plugin
            pass

    def new_job(self, job=None):
        """Manual mode: starts the next job, or the one with this number."""
        if not self._ask("new_job", job=job)["manual"]:
            warnings.warn("jobs are counted by client here: new_job() is for job_type='manual'", RuntimeWarning, stacklevel=2)

    # ---- recorded data ----

    def _fetch(self):
        """Fetches the files of all workers into a folder of ours, and returns the list of these workers."""
        if self._workers is not None and self._whole:
            return self._workers
        told = self._ask("collect")
        self._forget()
        self._folder = tempfile.mkdtemp(prefix="muster-dask-")
        for w in told["workers"]:
            w["file"] = os.path.join(self._folder, f"worker_{w['number']}.csv")
            with open(w["file"], "wb") as f:
                while True:
                    data = self._ask("read", run=w["run"], offset=f.tell())["data"]
                    if not data:
                        break
                    f.write(data)
        self._workers = [w for w in told["workers"] if os.path.getsize(w["file"])]
        self._whole = not told["recording"]
        return self._workers

    def request_metrics(self):
        """Fetches the data recorded so far and returns it: per worker, in order of number, {column: list}."""
        return [tables.columns(w["file"]) for w in self._fetch()]

    @property
    def metrics(self):
        """Data of the last request."""
        return [tables.columns(w["file"]) for w in self._workers or ()]

    def clear_metrics(self, **kwargs):
        """Removes all recorded data; job and dag start with 0 again."""
        self._forget()
        self._ask("clear")

    def to_csv(self, path, fname="worker", clear_dir=False):
        """Writes <path>/<fname>_<number>.csv for each worker, and a companion .json: its owner, GPUs and columns.

        Returns the names of the CSV files."""
        workers = self._fetch()
        os.makedirs(path, exist_ok=True)
        if clear_dir:
            for name in os.listdir(path):
                if not os.path.isdir(os.path.join(path, name)):
                    os.remove(os.path.join(path, name))
        made = []
        for w in workers:
            target = os.path.join(path, f"{fname}_{w['number']}.csv")
            shutil.copyfile(w["file"], target + ".part")
            os.replace(target + ".part", target)
            about = dict(w["companion"])  # the companion of libmuster's own files, plus the owner of this one
            about.update({key: w[key] for key in ("number", "name", "address", "host", "pid", "rows", "started", "devices")}, file=os.path.basename(target), ended=not w["here"])
            with open(target[:-4] + ".json.part", "w", encoding="utf-8") as f:
                json.dump(about, f, indent=1)
                f.write("\n")
            os.replace(target[:-4] + ".json.part", target[:-4] + ".json")
            made.append(target)
        return made

    def get_peaks(self, metric, workers=None, per_job=True):
        """The highest values of a metric per GPU: a list over workers of {job: [...]}, or of [...] without per_job.

        If one worker is requested, its value alone."""
        return tables.peaks([(w["number"], w["file"]) for w in self._fetch()], metric, workers, per_job)

    @classmethod
    def peaks_from_csv(cls, csv_dir, metric, workers=None, per_job=True):
        """The same from files <anything>_<number>.csv of a folder; workers are their numbers."""
        return tables.peaks(tables.numbered(csv_dir), metric, workers, per_job)

    def successful_jobs(self):
        """Per job a list with one bool per finished task: True if it succeeded."""
        return [list(job) for job in self._ask("successful")["jobs"]]

    # ---- tasks and the GPUs' metrics, by time ----

    def tasks(self, metrics=None):
        """Tasks that finished while recording, oldest first (the last 100,000), each with its worker's GPU metrics.

        {"key", "worker" (number), "name", "job", "dag", "start", "stop" (seconds since 1970), "ok", "samples",
         "metrics": {metric: {"mean": [per GPU], "max": [per GPU]}}}; None where no sample fell into its time.
        """
        workers = {w["run"]: w for w in self._fetch()}
        rows, tables_of = [], {}
        while True:
            more = self._ask("tasks", offset=len(rows))["tasks"]
            rows += more
            if not more:
                break
        for w in workers.values():
            tables_of[w["run"]] = _Samples(w, metrics)
        got = []
        for key, run, job, dag, start, stop, ok in rows:
            if run in tables_of and start is not None:
                samples, values = tables_of[run].between(start, stop)
                got.append({"key": key, "worker": workers[run]["number"], "name": workers[run]["name"], "job": job, "dag": dag, "start": start, "stop": stop,
                            "ok": ok, "samples": samples, "metrics": values})
        return got


class _Samples:
    """A worker's rows by wall time."""

    def __init__(self, w, metrics):
        table = tables.columns(w["file"])
        self.times = [(w["started"] or 0) + t for t in table["timestamp"]]
        names = [n for n in table if n not in ("job", "dag", "timestamp", "tasks") and (metrics is None or n in metrics)]
        self.values = {n: [tables.numbers(cell) for cell in table[n]] for n in names}

    def between(self, start, stop):
        a, b = bisect.bisect_left(self.times, start), bisect.bisect_right(self.times, stop)
        got = {}
        for name, cells in self.values.items():
            per_gpu = [[v for v in column if v is not None] for column in zip(*cells[a:b])]
            got[name] = {"mean": [sum(v) / len(v) if v else None for v in per_gpu], "max": [max(v) if v else None for v in per_gpu]} if per_gpu else None
        return b - a, got


def _token():
    from ..hub import find_token
    return find_token()
