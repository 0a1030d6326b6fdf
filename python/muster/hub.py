"""Spans in a muster hub: Dask's jobs and dags as jobs of kind `dask`, for the charts of GPUs and for usage.

A thread posts them sequentially from a bounded queue. A hub that is unreachable, slow or refuses only costs the label:
dropped spans are counted and logged once.
"""
import json
import logging
import os
import queue
import threading
import time
import urllib.error
import urllib.request

log = logging.getLogger("muster.hub")

QUEUE_MAX, TRIES, PATIENCE_S = 1000, 4, 5
DAG_MIN_S = 1.0  # shorter dags are reported only as part of their job
DEVICES_MAX = 256


def find_token(token=None):
    """The given token, that of the environment, or of the file named in the environment; None if not found.

    Like `muster`, refuses a file that other users can read."""
    token = token or os.environ.get("MUSTER_TOKEN")
    path = os.environ.get("MUSTER_TOKEN_FILE")
    if not token and path:
        try:
            with open(os.path.expanduser(path), encoding="utf-8") as f:
                st = os.fstat(f.fileno())
                if st.st_mode & (0o037 if st.st_uid == 0 else 0o077):
                    raise PermissionError(f"cannot read a secret from '{path}': other users have access to it (mode {st.st_mode & 0o7777:04o}); chmod 600 it")
                token = f.read().strip()
        except OSError as e:
            log.warning("muster: %s", e)
    return token or None


class Spans:
    """places() gives {host: uuids of GPUs}: a job of the hub is of one node, so a Dask job over three hosts becomes three, with one name."""

    def __init__(self, url, token, name, run, places):
        self.url, self.token, self.name, self.run, self.places = url.rstrip("/"), find_token(token), name, run, places
        self.posted = self.lost = 0
        self.why = None
        self.ids = {}  # (number of a job, host) -> the hub's id, its GPUs, its start in ms
        self.queue = queue.Queue(QUEUE_MAX)
        self.thread = threading.Thread(target=self._work, name="muster-hub", daemon=True)
        self.thread.start()

    def status(self):
        return {"url": self.url, "posted": self.posted, "lost": self.lost, "waiting": self.queue.qsize(), "error": self.why}

    # ---- from the scheduler's loop: never waits ----

    def job_began(self, job):
        self._put(("begin", job.number, job.start, self.places()))

    def job_ended(self, job):
        self._put(("end", job.number, job.end, {"dags": job.submitted, "tasks": len(job.ok), "failed": job.ok.count(False)}))

    def dag_ended(self, dag):
        if dag.end - dag.start >= DAG_MIN_S:
            self._put(("dag", dag.job, dag.number, dag.start, dag.end, dag.ok))

    def close(self):
        self._put(None)

    def _put(self, what):
        try:
            self.queue.put_nowait(what)
        except queue.Full:
            self.lost += 1

    # ---- the thread ----

    def _work(self):
        while True:
            what = self.queue.get()
            if what is None:
                return
            try:
                getattr(self, "_" + what[0])(*what[1:])
            except Exception as e:
                self._failed(e)

    def _failed(self, e):
        self.lost += 1
        if str(e) != self.why:
            self.why = str(e)
            log.warning("muster: cannot send a job to the hub at %s: %s", self.url, e)

    def _begin(self, number, start, places):
        for host, uuids in sorted(places.items()):
            body = {"name": f"{self.name} job {number}", "kind": "dask", "start": round(start * 1000), "devices": uuids[:DEVICES_MAX],
                    "attributes": {"job": number, "host": host}, "key": f"{self.run}/{number}/{host}/{round(start * 1000)}"}
            answer = self._tell("POST", "/api/v1/jobs", body)
            if answer:
                self.ids[number, host] = answer["id"], uuids[:DEVICES_MAX], round(start * 1000)

    def _end(self, number, at, attributes):
        for (job, host), (ident, _, _) in sorted(self.ids.items()):
            if job == number:
                del self.ids[job, host]
                self._tell("PATCH", f"/api/v1/jobs/{ident}", {"end": round(at * 1000), "attributes": dict(attributes, job=number, host=host)})

    def _dag(self, number, dag, start, end, ok):
        for (job, host), (ident, uuids, began) in sorted(self.ids.items()):
            if job == number:
                first = max(round(start * 1000), began + 1)  # after its job: usage assigns time to the earliest
                self._tell("POST", "/api/v1/jobs", {
                    "name": f"{self.name} job {number} dag {dag}", "kind": "dask", "parent": ident, "start": first, "end": round(end * 1000),
                    "devices": uuids, "attributes": {"job": number, "dag": dag, "ok": ok}, "key": f"{self.run}/{number}/{host}/dag/{dag}/{round(start * 1000)}"})

    def _tell(self, method, path, body):
        """Returns the hub's reply, or None. A failure for one host must not affect the jobs of other hosts."""
        try:
            return self._ask(method, path, body)
        except RuntimeError as e:
            self._failed(e)
            return None

    def _ask(self, method, path, body):
        """Returns the hub's reply. Retries if that can help: the key makes a repeat harmless."""
        for attempt in range(TRIES):
            request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
            if self.token:
                request.add_header("Authorization", "Bearer " + self.token)
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    self.posted += 1
                    return json.loads(answer.read(1 << 20))
            except urllib.error.HTTPError as e:
                said = e.read(4096).decode("utf-8", "replace")
                try:
                    said = json.loads(said).get("detail", said)
                except ValueError:
                    pass
                if e.code < 500 and e.code != 429:
                    raise RuntimeError(f"HTTP {e.code}: {said}") from None
                why = f"HTTP {e.code}: {said}"
            except (OSError, ValueError) as e:
                why = str(e)
            if attempt + 1 < TRIES:
                time.sleep(0.5 * 2**attempt)
        raise RuntimeError(why)
