"""Reads worker files, <name>_<number>.csv of Monitor.to_csv and dask-metrics, and finds their highest values."""
import csv
import math
import os
import re

csv.field_size_limit(1 << 24)
NUMBERED = re.compile(r"_(\d+)\.csv$")


def rows(path):
    """The header, then each row, as lists of text."""
    with open(path, newline="", encoding="utf-8", errors="replace") as f:
        yield from csv.reader(f)


def columns(path):
    """{column: list}: job and dag as integers, timestamp as float, the rest as text."""
    reader = rows(path)
    header = next(reader, [])
    got = {name: [] for name in header}
    convert = [{"job": int, "dag": int, "timestamp": float}.get(name, str) for name in header]
    for row in reader:
        if len(row) == len(header):
            for name, to, cell in zip(header, convert, row):
                got[name].append(to(cell))
    return got


def numbers(cell):
    """A cell's values, one per GPU: "4, 0" -> [4, 0]; None if absent or not a number."""
    got = []
    for part in cell.split(","):
        part = part.strip()
        try:
            got.append(int(part))
        except ValueError:
            try:
                v = float(part)
                got.append(int(v) if v.is_integer() else v if math.isfinite(v) else None)
            except ValueError:
                got.append(None)
    return got


def numbered(folder):
    """[(number, path)] of a folder's worker files in order of number: 2 before 10. ValueError: two are of one worker."""
    found = sorted((int(m.group(1)), os.path.join(folder, name)) for name in os.listdir(folder) for m in [NUMBERED.search(name)] if m)
    for (number, one), (other, path) in zip(found, found[1:]):
        if number == other:
            raise ValueError(f"'{one}' and '{path}' are both of worker {number}")
    return found


def _higher(best, cell):
    for i, v in enumerate(numbers(cell)):
        if i == len(best):
            best.append(v)
        elif v is not None and (best[i] is None or v > best[i]):
            best[i] = v


def peaks_of_file(path, metric, per_job=True):
    """{job: [highest per GPU]}, or [highest per GPU]. KeyError: the file has no such column."""
    reader = rows(path)
    header = next(reader, [])
    if metric not in header or metric in ("job", "dag", "timestamp"):
        raise KeyError(f"{os.path.basename(path)} has no metric {metric!r}; it has {', '.join(header[3:]) or 'none'}")
    at, job_at, jobs = header.index(metric), header.index("job"), {}
    for row in reader:
        if len(row) == len(header):
            _higher(jobs.setdefault(int(row[job_at]) if per_job else None, []), row[at])
    return jobs if per_job else jobs.get(None, [])


def peaks(files, metric, workers=None, per_job=True):
    """files: [(number, path)]. A list over workers; if exactly one worker is requested, its value alone."""
    by_number = dict(files)
    asked = list(workers) if workers else sorted(by_number)
    for number in asked:
        if number not in by_number:
            raise KeyError(f"there is no worker {number}; there are {', '.join(str(n) for n in sorted(by_number)) or 'none'}")
    got = [peaks_of_file(by_number[number], metric, per_job) for number in asked]
    return got[0] if workers and len(asked) == 1 else got
