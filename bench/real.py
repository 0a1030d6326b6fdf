#!/usr/bin/python3
"""What recorded telemetry takes on disk: the H200 trace of data/, and the Dask workers' files where ../shared has them.

    bench/real.py [FILE.csv ...]       more of Dask's files
"""
import glob
import os
import subprocess
import sys

import lib


def main():
    files = [("h200", lib.TOP + "/data/h200-trace.csv")]
    shared = os.environ.get("MUSTER_SHARED", os.path.join(lib.TOP, "..", "shared"))
    files += [("dask", f) for f in sys.argv[1:] or sorted(glob.glob(shared + "/fixtures/gpu-bdb/*.csv"))]
    print("| recorded | samples | raw columns, B/sample | with tiers | history.db | minutes, hours |\n| --- | --- | --- | --- | --- | --- |")
    for kind, path in files:
        with lib.folder() as tmp:
            samples = int(subprocess.run([lib.BENCH + "/real", kind, path, tmp + "/data"], check=True, stdout=subprocess.PIPE).stdout.split()[0])
            tiers = [n / samples for n in lib.chunk_bytes(tmp + "/data")]
            size = os.path.getsize(tmp + "/data/history.db") / samples
            print(f"| {os.path.basename(path)} | {samples} | {tiers[0]:.4f} | {sum(tiers):.4f} | {size:.4f} | {tiers[1]:.4f}, {tiers[2]:.4f} |")


if __name__ == "__main__":
    main()
