#!/usr/bin/python3
"""Faults, with the real servers: PostgreSQL with a synchronous standby, three hubs, haproxy, invented nodes; what is lost, doubled, told twice, and for how long nobody answers. Needs root, and Debian's
postgresql-15, haproxy, nftables, iproute2. In namespaces of its own: nothing else on the machine is touched.

    bench/faults.py --faults 200 --seed 1              the table of docs/scale.md
    bench/faults.py --faults 3 --kinds kill_hub        of one kind
"""
import argparse
import collections
import json
import os
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "kit"))
import fault_kinds  # noqa: E402
import faultworld  # noqa: E402
import lib  # noqa: E402


def draw(rng, names, n):
    """So many kinds, each by its weight, each at least once where there is room."""
    kinds = [k for k in fault_kinds.KINDS if not names or k.__name__ in names]
    first = kinds[:n]
    rng.shuffle(first)
    return first + rng.choices(kinds, [fault_kinds.KINDS[k] for k in kinds], k=n - len(first))


def table(outcomes):
    by = collections.defaultdict(list)
    for o in outcomes:
        by[o.kind].append(o)
    print("\n| kind | faults | batches lost | doubled | messages doubled | not told | longest without an answer | said in words after | well again after |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")

    def row(name, them):
        words = [o.words for o in them if o.words is not None]
        said = "" if not words else f"{max(words):.1f} s" if min(words) >= 0 else f"{sum(x < 0 for x in words)} times not"
        print(f"| {name} | {len(them)} | {sum(o.lost for o in them)} | {sum(o.doubled for o in them)} | {sum(o.messages for o in them)} | {sum(o.unsaid for o in them)} |"
              f" {max(o.silent for o in them):.1f} s | {said} | {max(o.mended for o in them):.0f} s |")
    for kind in fault_kinds.KINDS:
        if by[kind.__name__]:
            row(kind.__name__.replace("_", " "), by[kind.__name__])
    row("all", outcomes)


def load(line):
    o = fault_kinds.Outcome("")
    vars(o).update(json.loads(line))
    return o


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--faults", type=int, default=20)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--nodes", type=int, default=500)
    ap.add_argument("--kinds", default="", help="of these alone: " + ", ".join(k.__name__ for k in fault_kinds.KINDS))
    ap.add_argument("--minutes", type=float, default=600, help="no new fault after so long")
    ap.add_argument("--out", help="add what came of each fault to this file, a line each")
    ap.add_argument("--table", nargs="+", metavar="FILE", help="nothing but the table of what such files hold")
    ap.add_argument("--keep", help="logs are left in this folder")
    a = ap.parse_args()
    if a.table:
        return table([load(line) for name in a.table for line in open(name, encoding="utf-8")])
    why = None if os.environ.get("FAULT_WORLD") else faultworld.missing()
    if why:
        sys.exit(f"bench/faults.py: {why}")
    faultworld.enter()
    rng, folder, outcomes = random.Random(a.seed), tempfile.mkdtemp(prefix="muster-faults-"), []
    began = time.monotonic()
    w = faultworld.World(folder, nodes=a.nodes)
    try:
        lib.wait_until("all is well", w.settled, 120)
        asker, racer = faultworld.Asker(w), faultworld.Racer(w)
        asker.start()
        racer.start()
        for no, kind in enumerate(draw(rng, set(filter(None, a.kinds.split(","))), a.faults), 1):
            if time.monotonic() - began > a.minutes * 60:
                break
            o = fault_kinds.do(w, kind, rng, asker)
            made = w.made()
            lost, twice = fault_kinds.check(w, made)
            o.lost, o.doubled = len(lost), len(twice)
            outcomes.append(o)
            said = o.said if o.words is not None and (o.words < 0 or o.words > fault_kinds.WORDS_S) else ""
            print(f"{time.monotonic() - began:6.0f} s  {no:3d} {o.kind:15s} made {len(made)} lost {o.lost} doubled {o.doubled} silent {o.silent:.1f} s"
                  f" words {'-' if o.words is None else f'{o.words:.1f} s'} well after {o.mended:.1f} s {said}", flush=True)
        racer.over = asker.over = True
        racer.join()
        gone, overlap = racer.kept()
        fault_kinds.count_messages(w, outcomes)
        table(outcomes)
        wrong = w.values()
        print(f"\nvalues of one metric in the history, counted for each node: {len(wrong)} nodes of {a.nodes} have more or fewer than were made {wrong[:5] if wrong else ''}")
        print(f"\nbookings: {racer.tries} raced, {racer.got} given, {racer.both} given to both, {len(gone)} promised and lost, {overlap} that overlap")
        print(f"messages with a number that was told already: {w.told()[1]}; {len(w.made())} batches of {a.nodes} nodes, {asker.answers} answers, {time.monotonic() - began:.0f} s")
    finally:
        if a.out:
            with open(a.out, "a", encoding="utf-8") as f:
                f.writelines(json.dumps({k: v for k, v in vars(o).items() if k not in ("marks", "said")}) + "\n" for o in outcomes)
        if a.keep:
            os.makedirs(a.keep, exist_ok=True)
            for h in w.hubs:
                with open(os.path.join(a.keep, h.name + ".log"), "w", encoding="utf-8") as f:
                    f.write(h.words())
            for name in ("db1.log", "db2.log", "told"):
                if os.path.exists(w.path(name)):
                    shutil.copy(w.path(name), a.keep)
            with open(os.path.join(a.keep, "sim.log"), "w", encoding="utf-8") as f:
                f.write(w.sim.text)
        w.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
