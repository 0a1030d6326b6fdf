#!/usr/bin/python3
"""Faults with the real servers: whatever is killed, stopped, cut, filled or set wrong, nothing acknowledged is lost or doubled, no GPU is booked twice, nobody misses a message, and every screen says what is wrong.

The site is tests/kit/faultworld.py, in namespaces of its own; what is done to it tests/kit/fault_kinds.py. bench/faults.py does hundreds, and measures.
"""
import os
import random
import shutil
import tempfile
import time
import unittest

import fault_kinds as fk
import faultworld
import lib
import same_answers

ONE_OF_EACH = [fk.kill_leader, fk.cut_hub_server, fk.stop_hub, fk.promote, fk.restart_server, fk.wrong_password, fk.other_version, fk.slow_standby, fk.hub_clock, fk.full_disk, fk.full_folder]


@lib.plain  # clocks are set by what is preloaded
class Faults(lib.Case):
    maxDiff = None

    def do_all(self, kinds, seed, nodes):
        folder = tempfile.mkdtemp(prefix="muster-faults-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        w, rng = faultworld.World(folder, nodes=nodes), random.Random(seed)
        self.addCleanup(w.close)
        lib.wait_until("all is well", w.settled)
        asker, racer, queue, outcomes = faultworld.Asker(w), faultworld.Racer(w), faultworld.Queue(w), []
        from_ms = int(time.time() * 1000)
        asker.start()
        racer.start()
        for kind in kinds:
            o = fk.do(w, kind, rng, asker, lib.LIMIT_S)
            self.assertNotEqual(o.words, -1, f"{o.kind}: nobody says so: {o.said}")
            self.assertEqual(fk.check(w), (set(), []), o.kind)
            outcomes.append(o)
        racer.over = asker.over = True
        racer.join()
        queue.stop()
        fk.count_messages(w, outcomes)
        self.assertEqual([o.kind for o in outcomes if o.unsaid], [], "somebody was not told")
        self.assertTrue(w.told()[1] or not any(o.messages for o in outcomes), "told twice under two numbers")
        self.assertGreater(racer.got, 0)
        self.assertEqual((racer.both, *racer.kept()), (0, [], 0))
        self.assertEqual(w.values(), [])
        self.assertGreater(len(queue.grants), 0)
        self.assertEqual(queue.overlaps(), [])
        return w, from_ms

    def test_of_no_kind_of_fault_anything_is_lost_or_doubled(self):
        self.do_all(ONE_OF_EACH, 1, 20)


@lib.long
class Many(Faults):
    test_of_no_kind_of_fault_anything_is_lost_or_doubled = None

    def test_many_in_any_order(self):
        rng = random.Random(os.environ.get("MUSTER_TEST_SEED", "1"))
        w, from_ms = self.do_all(rng.sample(list(fk.KINDS), len(fk.KINDS)), rng.random(), 100)
        time.sleep(65)  # means over a minute are of samples from after the last fault
        w.closed = True  # no node sends any longer
        self.assertEqual(same_answers.differences([h.url for h in w.hubs], from_ms, int(time.time() * 1000)), {})


if __name__ == "__main__":
    WHY = None if os.environ.get("FAULT_WORLD") else faultworld.missing()
    if WHY:
        Faults = unittest.skip(WHY)(Faults)
        Many = unittest.skip(WHY)(Many)
    else:
        faultworld.enter()
    lib.main()
