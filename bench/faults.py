#!/usr/bin/python3
"""Faults, with the real servers: PostgreSQL with a synchronous standby, three hubs, haproxy, invented nodes; what is lost, doubled, told twice, and for how long nobody answers. Needs root, and Debian's
postgresql-15, haproxy, nftables, iproute2. In namespaces of its own: nothing else on the machine is touched.

    bench/faults.py --faults 200 --seed 1              see docs/internals/cluster.md
    bench/faults.py --faults 3 --kinds kill_hub        of one kind
    bench/faults.py --faults 35 --kills 20             20 times kill -9 of a hub, and 15 other faults
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
import same_answers  # noqa: E402


def draw(rng, names, n, kills):
    """So many kinds, each by its weight, each at least once where there is room; kills: so many of them kill a hub."""
    if kills:
        out = [fault_kinds.kill_hub] * kills + draw(rng, names, n - kills, 0)
        rng.shuffle(out)
        return out
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


def answers(w, from_ms):
    """After the last fault: what differs between the answers of all hubs."""
    paths, differ = same_answers.paths(from_ms, 0), same_answers.differences([h.url for h in w.hubs], from_ms, int(time.time() * 1000))
    for name, what in differ.items():
        print(f"differs: {name}: {what}")
    return ", ".join(f"{name}: {'differs' if name in differ else 'the same'}" for name in paths), len(differ)


def load(line):
    o = fault_kinds.Outcome("")
    vars(o).update(json.loads(line))
    return o


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--faults", type=int, default=20)
    ap.add_argument("--kills", type=int, default=0, help="so many of the faults kill a hub")
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
        asker, racer, queue, from_ms = faultworld.Asker(w), faultworld.Racer(w), faultworld.Queue(w), int(time.time() * 1000)
        asker.start()
        racer.start()
        for no, kind in enumerate(draw(rng, set(filter(None, a.kinds.split(","))), a.faults, a.kills), 1):
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
        queue.stop()
        gone, overlap = racer.kept()
        fault_kinds.count_messages(w, outcomes)
        table(outcomes)
        wrong = w.values()
        w.closed = True  # the last nodes that spoke are silent
        same, differ = answers(w, from_ms)
        print(f"""
| what | result |
| --- | --- |
| batches made | {len(w.made())} of {a.nodes} nodes |
| lost, doubled in the store | {sum(o.lost for o in outcomes)}, {sum(o.doubled for o in outcomes)} |
| nodes whose history has more or fewer values than were made, on any of {len(w.hubs)} hubs | {len(wrong)} {wrong[:5] if wrong else ''} |
| bookings raced | {racer.tries} |
| one winner, two winners | {racer.got - racer.both}, {racer.both} |
| bookings confirmed and lost, overlaps in the table | {len(gone)}, {overlap} |
| alerts | {w.marks} |
| not told, told twice, of these with the number of the first | {sum(o.unsaid for o in outcomes)}, {sum(o.messages for o in outcomes)}, {w.told()[1]} |
| grants of the queue | {len(queue.grants)} |
| overlaps of grants | {len(queue.overlaps())} {queue.overlaps()[:2] or ''} |
| answers of all hubs, byte by byte but for at and age_ms | {same} |
| answers that differ | {differ} |
| answers while faults were made | {asker.answers} in {time.monotonic() - began:.0f} s |""")
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
