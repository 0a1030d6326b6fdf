#!/bin/sh
# libmuster on a machine with a GPU: built there, sampling at 10 ms beside a PyTorch job (without PyTorch: a job of the
# driver's own). What it costs the job, how even its intervals are, whether it agrees with nvidia-smi.
# Needs a C compiler, make, python3 and the driver; takes about four minutes. Results also go to $OUT.
#     tests/device/libmuster.sh [SECONDS PER ROUND]
set -e
cd "$(dirname "$0")/../.."
OUT=${OUT:-/tmp/muster-device}
mkdir -p "$OUT"
make lib > "$OUT/build.log" 2>&1 || { tail -20 "$OUT/build.log"; exit 1; }
PYTHONUNBUFFERED=1 python3 tests/device/libmuster.py build/libmuster.so.0 "$OUT" "${1:-3}" > "$OUT/libmuster.txt" 2>&1 || { cat "$OUT/libmuster.txt"; exit 1; }
cat "$OUT/libmuster.txt"
