"""Sampler: GPU samples of this machine from a thread that is not Python's."""
import array
import ctypes
import errno
import json
import math
import os

from . import _lib

CSV_PIECE = 4096  # samples per request
BLANKS = {c: " " for c in list(range(0x20)) + [0x7f]}  # labels have no control characters


class MusterError(RuntimeError):
    """An error of libmuster, with its message. `errno` is the kind."""

    def __init__(self, message, number=0):
        super().__init__(message)
        self.errno = number


def _bytes(text):
    return None if text is None else os.fsencode(text) if isinstance(text, os.PathLike) else str(text).encode()


def _clip(text, limit):
    """Text cleaned for labels and values: no control characters, at most limit bytes, cut at a whole character."""
    text = str(text)
    if len(text) <= limit and text.isascii() and text.isprintable():  # nearly always
        return text.encode()
    return text.translate(BLANKS).encode("utf-8", "replace")[:limit].decode("utf-8", "ignore").encode()


class Sampler:
    """Reads this machine's GPUs every `interval` seconds (0.01 to 60) in a thread of libmuster, without Python's lock.

    collector  None: the driver that is found; "nvml"; "replay", "replay:8", "replay:FILE": a recording, for tests
    devices    None: all; "own": those of CUDA_VISIBLE_DEVICES; "0,2"; uuids; or a list of these
    metrics    names of metrics.def, or total-mem, mem-util, compute-util, mem-used-percent, tasks
    mem_limit  samples kept in memory before they go to disk, into spill_dir

    with Sampler(0.01, metrics=["util", "power"]) as s:   # opens; starts; stops and closes at the end
        train()
        s.to_csv("gpus.csv")
    """

    def __init__(self, interval=0.2, collector=None, devices=None, metrics=None, mem_limit=0, spill_dir=None):
        self._handle, self._c = None, _lib.load()
        # For libmuster an empty list means its three default metrics; a list with an empty name means none.
        joined = [",".join(str(x) for x in v) if isinstance(v, (list, tuple)) else v for v in (devices, metrics)]
        options = _lib.Options(ctypes.sizeof(_lib.Options), round(interval * 1e6), _bytes(collector), _bytes(joined[0]), _bytes("," if joined[1] == "" else joined[1]),
                               mem_limit or 0, _bytes(spill_dir))
        handle, why = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        self._check(self._c.open(ctypes.byref(handle), ctypes.byref(options), why, len(why)), why)
        self._handle = handle
        self.devices = [{"index": self._c.device_index(handle, i), "uuid": self._c.device_uuid(handle, i).decode(),
                         "name": self._c.device_name(handle, i).decode()} for i in range(self._c.devices(handle))]
        self.metrics = [self._c.metric_name(handle, i).decode() for i in range(self._c.metrics(handle))]
        self.units = {name: self._c.metric_unit(handle, i).decode() for i, name in enumerate(self.metrics)}

    @property
    def _s(self):
        if self._handle is None:
            raise MusterError("this sampler is closed")
        return self._handle

    def _check(self, r, why=None):
        if r < 0:
            text = why.value.decode("utf-8", "replace") if why is not None and why.value else os.strerror(-r)
            raise MusterError(text, -r)
        return r

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        """Stops the sampler and releases everything. Safe to call twice."""
        s, self._handle = getattr(self, "_handle", None), None
        if s:
            self._c.close(s)

    # ---- sampling ----

    def start(self):
        why = ctypes.create_string_buffer(512)
        self._check(self._c.start(self._s, why, len(why)), why)

    def stop(self):
        self._check(self._c.stop(self._s))

    def tick(self):
        """Without the thread: one sample, now."""
        self._check(self._c.tick(self._s))

    def label(self, name, value):
        """Sets a label for the samples that follow; None: unset."""
        self._check(self._c.label(self._s, _bytes(name), None if value is None else _clip(value, 8191)))

    def value(self, name, value, device=-1):
        """A number or text of the program, sampled with the devices' values. None: absent."""
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 2**53:
            self._check(self._c.value(self._s, _bytes(name), device, float(value)))
        elif value is None:
            self._check(self._c.value(self._s, _bytes(name), device, math.nan))
        else:
            self._check(self._c.text(self._s, _bytes(name), device, _clip(value, 1023)))

    def note(self, name, value):
        """About the whole recording: goes to the CSV's companion file."""
        self._check(self._c.note(self._s, _bytes(name), _clip(value, 1023)))

    # ---- reading ----

    def __bool__(self):
        return True  # also without samples

    def __len__(self):
        return self._c.count(self._s)

    def latest(self, metric, device=0):
        """The newest value, or None."""
        ret = ctypes.c_double()
        return ret.value if self._c.latest(self._s, self._metric(metric), device, ctypes.byref(ret)) == 0 else None

    def _metric(self, name):
        m = self._c.metric_find(self._s, _bytes(name))
        if m < 0:
            raise KeyError(f"{name!r} is not sampled; these are: {', '.join(self.metrics)}")
        return m

    def read(self, metric, device=0, start=0):
        """(seconds, values) as arrays of doubles, from sample number start on; absent values are NaN."""
        m, times, values, after = self._metric(metric), array.array("d"), array.array("d"), ctypes.c_int64(start)
        piece = (ctypes.c_double * CSV_PIECE)
        t, v = piece(), piece()
        while True:
            n = self._check(self._c.read(self._s, m, device, after.value, CSV_PIECE, t, v, ctypes.byref(after)))
            times.extend(t[:n])
            values.extend(v[:n])
            if n < CSV_PIECE:
                return times, values

    def peaks(self, metric, per_job=True):
        """{job: [highest per GPU]} or [highest per GPU]; None if it has no value."""
        got, failed = {}, []

        def one(_, job, peaks, n):
            try:
                got[None if job is None else int(job) if job.isdigit() else job.decode()] = [None if math.isnan(peaks[i]) else peaks[i] for i in range(n)]
                return 0
            except Exception as e:  # must not cross into C
                failed.append(e)
                return 1

        r = self._c.peaks(self._s, _bytes(metric), 1 if per_job else 0, _lib.PEAKS_FN(one), None)
        if failed:
            raise failed[0]
        if r == -errno.ENOENT:
            raise KeyError(f"{metric!r} is not sampled")
        self._check(r)
        return got if per_job else got.get(None, [])

    def csv(self, start=0, limit=CSV_PIECE, header=False):
        """(text, next number) of at most limit samples from number start on."""
        text, length, after = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int64(start)
        n = self._check(self._c.csv_text(self._s, start, limit, 1 if header else 0, ctypes.byref(text), ctypes.byref(length), ctypes.byref(after)))
        try:
            return ctypes.string_at(text, length.value) if text else b"", after.value if n else start
        finally:
            self._c.free(text)

    def about(self):
        """The description of columns and devices, and the notes: the content of the companion file."""
        text = ctypes.c_void_p()
        self._check(self._c.about(self._s, ctypes.byref(text)))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            self._c.free(text)

    def to_csv(self, path):
        """Writes path, and its companion file with .json instead of .csv."""
        why = ctypes.create_string_buffer(512)
        self._check(self._c.write_csv(self._s, _bytes(path), why, len(why)), why)

    def clear(self):
        self._check(self._c.clear(self._s))

    def stats(self):
        st = _lib.Stats(ctypes.sizeof(_lib.Stats))
        self._check(self._c.stats(self._s, ctypes.byref(st)))
        return {name: getattr(st, name) for name, _ in _lib.Stats._fields_ if name != "size"}

    def error(self):
        """The newest error since opening (disk full, driver gone), or None."""
        why = ctypes.create_string_buffer(512)
        return why.value.decode("utf-8", "replace") if self._c.error(self._s, why, len(why)) < 0 else None
