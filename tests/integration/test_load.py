#!/usr/bin/python3
"""Many nodes out of one process: `simulate --actors`, and what it says of itself."""
import re
import subprocess

import lib


class Crowd(lib.Case):
    def simulate(self, hub, *flags):
        argv = [lib.MUSTER, "simulate", "--hub", hub.url, "--token", self.token("enroll"), *flags]
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)

    def test_nodes_that_repeat_others_are_nodes_of_their_own(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--nodes", "40", "--actors", "4", "--gpus", "2", "--tick", "200ms", "--interval", "1s", "--duration", "4s")
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text)
        made, stored, waiting, samples = (int(x) for x in re.search(r"(\d+) batches made, (\d+) stored, (\d+) waiting, (\d+) samples", text.splitlines()[-1]).groups())
        self.assertGreaterEqual(made, 80)
        self.assertEqual((stored, waiting), (made, 0))
        self.assertGreater(samples, made * 40)
        nodes = lib.ask_json(hub.url + "/api/v1/state")["nodes"]
        self.assertEqual(len({n["id"] for n in nodes}), 40)
        self.assertEqual(sorted({n["name"] for n in nodes}), sorted(f"sim{i + 1}" for i in range(40)))
        self.assertEqual(len({d["uuid"] for n in nodes for d in n["devices"]}), 80)
        self.assertEqual({n["state"] for n in nodes}, {"up"})

    def test_a_ledger_and_actors_do_not_go_together(self):
        hub = self.start_hub()
        done = self.simulate(hub, "--actors", "1", "--ledger", self.path("ledger"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"do not go together", done.stdout)


if __name__ == "__main__":
    lib.main()
