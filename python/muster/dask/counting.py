"""Counts the current job and dag: events of the scheduler in, numbers out. Pure: no Dask, and the clock is passed in.

A dag is one submitted graph. It is done when every requested key is in memory, has failed or was cancelled.

client mode  a job is one client connection, in order of connection. A client that was there before gets its number with
             its first graph. The current job stays until all it has submitted is done. Then it is the lowest job with
             work left, else the next connected client that has not submitted yet, else it stays. Within a job the
             oldest dag that is not done is the current one.
manual mode  only new_job() changes the job; each requested key that ends increments the dag.

Clients of tasks ("Client-worker-...") are not jobs: the graphs that a task submits belong to the current job and dag.
"""

JOB_MAX = 1_000_000


def of_a_task(client):
    return "Client-worker-" in client


class Dag:
    """One submitted graph. `left`: keys that have not ended. end is None while there are some."""

    __slots__ = ("job", "number", "client", "left", "ok", "start", "end")

    def __init__(self, job, number, client, left, start):
        self.job, self.number, self.client, self.left, self.start = job, number, client, left, start
        self.ok, self.end = True, None


class Job:
    __slots__ = ("number", "client", "submitted", "open", "keys_left", "ok", "start", "end")

    def __init__(self, number, client):
        self.number, self.client = number, client  # client None: it has left
        self.submitted = 0  # dags so far
        self.open = {}  # dags that are not done, oldest first (a dict: cheap to take one out)
        self.keys_left = 0  # of these
        self.ok = []  # per finished task: did it succeed
        self.start = self.end = None  # start: of its first dag; None again after its end was reported


class Counter:
    """Calls told(job, dag) when the current numbers change; job_began, dag_ended and job_ended are for spans."""

    def __init__(self, job_type="client", told=None, clock=None):
        if job_type not in ("client", "manual"):
            raise ValueError(f"job_type must be 'client' or 'manual', not {job_type!r}")
        self.job_type = job_type
        self.told = told or (lambda job, dag: None)
        self.clock = clock or (lambda: 0.0)
        self.job_began = self.dag_ended = self.job_ended = lambda what: None
        self._empty()

    def _empty(self):
        self.job = self.dag = 0
        self.jobs = {}  # number -> Job
        self.of_client = {}  # connected client -> its Job (client mode)
        self.waiting = {}  # key -> the dags that requested it and wait for it
        self.owner = {}  # key of any task -> the number of its job and dag

    # ---- numbers ----

    def _set(self, job, dag):
        if (job, dag) != (self.job, self.dag):
            self.job, self.dag = job, dag
            self.told(job, dag)

    def _slot(self, number, client=None):
        job = self.jobs.get(number)
        if job is None:
            job = self.jobs[number] = Job(number, client)
        return job

    def _next_number(self):
        return max(self.jobs, default=-1) + 1

    def _busy(self):
        """The lowest job with work left, or None."""
        return min((j.number for j in self.jobs.values() if j.open), default=None)

    # ---- clients ----

    def add_client(self, client):
        if self.job_type != "client" or of_a_task(client) or client in self.of_client:
            return
        last = self.jobs.get(self._next_number() - 1)
        job = self.of_client[client] = self._slot(self._next_number(), client)
        if last is not None and last.submitted and self._busy() is None:
            self._set(job.number, 0)

    def remove_client(self, client):
        job = self.of_client.pop(client, None)
        if job is not None:
            job.client = None
            self._maybe_over(job)

    def _maybe_over(self, job):
        if job.client is None and not job.open and self.job_type == "client":
            self._over(job)

    def _over(self, job):
        if job.start is not None:
            job.end = self.clock()
            self.job_ended(job)
            job.start = None

    # ---- graphs ----

    def submit(self, client, keys, tasks=(), ended=None):
        """A graph: the requested keys, all its tasks, and the requested keys that have ended: key -> did it succeed."""
        if of_a_task(client):
            for key in tasks:
                self.owner.setdefault(key, (self.job, self.dag))
            return
        ended = ended or {}
        if self.job_type == "client":
            self.add_client(client)
            job = self.of_client[client]
            number = job.submitted
        else:
            job = self._slot(self.job)
            number = self.dag + job.keys_left  # the dag number when it becomes the current one
        dag = Dag(job.number, number, client, set(keys), self.clock())
        idle = self._busy() is None
        job.submitted += 1
        job.open[dag] = True
        job.keys_left += len(dag.left)
        if job.start is None:
            job.start = dag.start
            self.job_began(job)
        for key in dag.left:
            self.waiting.setdefault(key, []).append(dag)
        for key in tasks:
            self.owner.setdefault(key, (job.number, number))
        if self.job_type == "client" and idle:
            self._set(job.number, number)
        for key in list(dag.left):
            if key in ended:
                self._key_ended(key, ended[key], only=dag)
        if not dag.left and dag.end is None:  # a graph that requests nothing
            self._dag_done(dag)

    def finished(self, key, ok, ran=True):
        """A task ended: in memory (ok) or failed. ran: it was computed; not set if it failed due to another task."""
        if ran:
            job = self.jobs.get(self.owner.get(key, (self.job, 0))[0]) or self._slot(self.job)
            job.ok.append(bool(ok))
        self._key_ended(key, ok)

    def forgotten(self, key):
        """No client wants the key any longer: tasks that waited for it are cancelled."""
        self.owner.pop(key, None)
        self._key_ended(key, False)

    def restarted(self):
        """Every task is gone."""
        self.owner.clear()
        for key in list(self.waiting):
            self._key_ended(key, False)

    def _key_ended(self, key, ok, only=None):
        dags = self.waiting.get(key)
        if not dags:
            return
        for dag in [d for d in dags if only is None or d is only]:
            dags.remove(dag)
            dag.left.discard(key)
            self.jobs[dag.job].keys_left -= 1
            dag.ok = dag.ok and ok
            if self.job_type == "manual":
                self._set(self.job, self.dag + 1)
            if not dag.left:
                self._dag_done(dag)
        if not dags:
            self.waiting.pop(key, None)

    def _dag_done(self, dag):
        job = self.jobs[dag.job]
        dag.end = self.clock()
        job.open.pop(dag, None)
        if self.job_type == "client" and job.number == self.job:
            if job.open:
                self._set(job.number, next(iter(job.open)).number)
            else:
                self._next_job(job)
        self.dag_ended(dag)
        self._maybe_over(job)

    def _next_job(self, job):
        busy = self._busy()
        if busy is not None:
            self._set(busy, next(iter(self.jobs[busy].open)).number)
            return
        idle = min((j.number for j in self.of_client.values() if j.number > job.number and not j.submitted), default=None)
        self._set(*((idle, 0) if idle is not None else (job.number, job.submitted - 1)))

    # ---- requests of users ----

    def new_job(self, number=None):
        number = self.job + 1 if number is None else number
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= JOB_MAX:
            raise ValueError(f"a job is a number from 0 to {JOB_MAX}, not {number!r}")
        if self.job in self.jobs:
            self._over(self.jobs[self.job])
        self._slot(number)
        self.job, self.dag = number, 0
        self.told(number, 0)

    def pending(self, present=None):
        """Dags that are not done; with `present`, a set of clients, only theirs."""
        return [d for j in self.jobs.values() for d in j.open if present is None or d.client in present]

    def end_spans(self):
        """Recording is over: so are the jobs that ran."""
        for job in self.jobs.values():
            self._over(job)

    def successful(self):
        """Per job, in order of number: a list with one bool per finished task."""
        return [list(self.jobs[n].ok) if n in self.jobs else [] for n in range(self._next_number())]

    def clear(self):
        """Sets job and dag to 0. Unfinished dags become the first new jobs, in order; clients get new numbers."""
        left, connected = sorted(self.pending(), key=lambda d: (d.job, d.number)), set(self.of_client)
        self._empty()
        again = {}  # number of a job before -> the job now
        for dag in left:
            job = again.get(dag.job)
            if job is None:
                here = self.job_type == "client" and dag.client in connected
                job = again[dag.job] = self._slot(self._next_number() if self.job_type == "client" else 0, dag.client if here else None)
                job.start = dag.start
                if here:
                    self.of_client[dag.client] = job
            dag.job, dag.number = job.number, job.submitted
            job.submitted += 1
            job.keys_left += len(dag.left)
            job.open[dag] = True
            for key in dag.left:
                self.waiting.setdefault(key, []).append(dag)
        self.told(0, 0)
