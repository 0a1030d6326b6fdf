#!/usr/bin/python3
"""Peaks of Dask workers' files: muster peaks against pandas (Debian's python3-pandas), the same files in one run, the same answer.

    bench/peaks.py [FILES] [ROUNDS]         default 16 5
    bench/peaks.py --large GB               one more folder of that size: time and memory of muster alone

The files are the recorded worker's where shared/fixtures/gpu-bdb is there (2 MB, 8 GPUs), else made up alike. CPU time (user and system) of
each process, imports and start included, and of pandas' own work without them; the best of the rounds.
"""
import json
import os
import random
import resource
import subprocess
import sys

import lib

FIXTURE = os.path.join(os.environ.get("MUSTER_SHARED", os.path.join(lib.TOP, "..", "shared")), "fixtures", "gpu-bdb", "worker_0.csv")
PANDAS = r"""
import glob, json, os, re, sys, time
import pandas as pd
start = time.process_time()
def peaks(path, metric):
    frame = pd.read_csv(path, usecols=["job", metric])
    values = frame[metric].str.split(", ", expand=True).astype("int64")
    best = values.groupby(frame["job"]).max()
    return {str(job): [int(v) for v in row] for job, row in zip(best.index, best.to_numpy())}
files = {int(re.search(r"_(\d+)\.csv$", f).group(1)): f for f in glob.glob(os.path.join(sys.argv[1], "*.csv"))}
print(json.dumps({str(n): peaks(files[n], sys.argv[2]) for n in sorted(files)}))
print(time.process_time() - start, file=sys.stderr)
"""


def made_up(path):
    rng = random.Random(7)
    with open(path, "w", encoding="utf-8") as f:
        f.write("job,dag,timestamp,total-mem,mem-util,compute-util\n")
        for i in range(10750):
            cells = [", ".join(str(rng.randrange(top)) for _ in range(8)) for top in (32_000_000_000, 80, 101)]
            f.write(f'{i // 350},0,{i * 0.229:.9g},"{cells[0]}","{cells[1]}","{cells[2]}"\n')


def run(argv):
    """(CPU seconds, standard output, standard error) of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout, done.stderr


def compare(files, rounds):
    with lib.folder() as path:
        first = path + "/worker_0.csv"
        if os.path.exists(FIXTURE):
            with open(FIXTURE, "rb") as a, open(first, "wb") as b:
                b.write(a.read())
        else:
            made_up(first)
        for i in range(1, files):
            os.link(first, f"{path}/worker_{i}.csv")
        print(f"{files} files of {os.path.getsize(first) / 1e6:.1f} MB, {'recorded' if os.path.exists(FIXTURE) else 'made up'}; per job and GPU; best of {rounds}")
        print(f"{'':24}{'muster':>10}{'pandas':>10}{'its work':>10}{'ratio':>8}{'of work':>8}")
        for metric in ("compute-util", "total-mem"):
            mine, whole, work = [], [], []
            for _ in range(rounds):
                cpu, out, _ = run([lib.MUSTER, "peaks", path, "--metric", metric, "--per-job", "--json"])
                mine.append(cpu)
                cpu, theirs, said = run(["/usr/bin/python3", "-c", PANDAS, path, metric])
                whole.append(cpu)
                work.append(float(said))
                if json.loads(out) != json.loads(theirs):
                    raise SystemExit("they differ")
            a, b, c = min(mine), min(whole), min(work)
            print(f"{metric:24}{a:8.3f} s{b:8.2f} s{c:8.2f} s{b / a:7.0f}x{c / a:7.0f}x")


def large(gigabytes):
    with lib.folder() as path:
        first = path + "/worker_0.csv"
        with open(first, "wb") as f:
            made_up(first + ".part")
            with open(first + ".part", "rb") as part:
                head, body = part.readline(), part.read()
            os.unlink(first + ".part")
            f.write(head)
            while f.tell() < 512 << 20:
                f.write(body)
        size = os.path.getsize(first)
        n = max(1, round(gigabytes * 1e9 / size))
        for i in range(1, n):
            os.link(first, f"{path}/worker_{i}.csv")
        cpu, _, _ = run([lib.MUSTER, "peaks", path, "--per-job", "--json"])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{n * size / 1e9:.1f} GB in {n} files: {cpu:.1f} s of CPU time, {n * size / 1e6 / cpu:.0f} MB/s, {peak:.1f} MB at most")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--large"]:
        large(float(sys.argv[2]))
    else:
        compare(int(sys.argv[1]) if len(sys.argv) > 1 else 16, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
