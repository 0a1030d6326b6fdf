#!/usr/bin/python3
"""Must-show 2 and promises P1, P2: repeated kill -9 of the hub under load; every batch is stored once, none twice.

The simulator's ledger has the sent batches. wire_reader.py reads the stored ones from the database files; it shares no code with the hub.
"""
import collections
import os
import random
import time

import lib
import wire_reader

KILLS = int(os.environ.get("MUSTER_TEST_KILLS", "30"))
NODES = 50


class Crash(lib.Case):
    def hub_on(self, port, data):
        p = lib.Process([lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", data, "--log-level", "warn"])
        p.wait_line(r"http://127")
        return p

    def test_P1_P2_every_sample_is_stored_once_over_many_kills_of_the_hub(self):
        data, ledger = self.path("data"), self.path("ledger")
        token = self.token("enroll", data=data)
        with open(self.path("token"), "w", encoding="utf-8") as f:
            f.write(token)
        os.chmod(self.path("token"), 0o600)
        port = lib.free_port()
        hub = self.hub_on(port, data)
        self.addCleanup(lambda: hub.end())
        sim = self.start(lib.MUSTER, "simulate", "--hub", f"http://127.0.0.1:{port}", "--token-file", self.path("token"), "--nodes", NODES, "--gpus", "8",
                         "--interval", "1s", "--ledger", ledger, "--drain", "600s")
        rng = random.Random(7)
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.05, 0.9))  # any moment will do: that is the test
            hub.kill9()
            hub.end()
            hub = self.hub_on(port, data)
        sim.stop(limit=660)
        self.assertEqual(sim.p.returncode, 0, sim.text)
        self.assertEqual(hub.stop(), 0, hub.text)

        made = {}
        with open(ledger, encoding="utf-8") as f:
            for line in f:
                node, run, number, count, total = line.split()
                made[(node, run, int(number))] = (int(count), total)
        stored, times = {}, collections.Counter()
        for _, b in wire_reader.decode_frames(lib.stored_frames(data)):
            key = (b.key.node, f"{b.key.run:016x}", b.key.number)
            count, total = wire_reader.checksum(b)
            stored[key] = (count, f"{total:016x}")
            times[key] += 1
        self.assertGreater(len(made), NODES)
        self.assertEqual([k for k, n in times.items() if n > 1], [], "stored twice")
        self.assertEqual(sorted(set(made) - set(stored)), [], "made but not stored")
        self.assertEqual(sorted(set(stored) - set(made)), [], "stored but never made")
        self.assertEqual([k for k in made if made[k] != stored[k]], [], "stored with other values")


if __name__ == "__main__":
    lib.main()
