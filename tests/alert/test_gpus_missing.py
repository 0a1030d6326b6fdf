#!/usr/bin/python3
"""A GPU that vanished while hub and agent were down is still missed, until it is back or muster.yaml expects fewer."""
import contextlib
import signal
import sqlite3

import alerting
import lib
import sender

CONFIG = """
rule: {stale_after: 8s, down_after: 20s}
alerts:
  gpu-idle: off
  gpu-lost: {for: 0s, clear: 0s}
  gpus-missing: {for: 0s, clear: 0s, expect: {EXPECT}}
"""


class GpusMissing(alerting.Watched):
    config = CONFIG.replace("{EXPECT}", "{other: 4}")

    def prepare(self):
        self.more["a1"] = ("GPU-second", "GPU-third")

    def kept(self, kind=20):
        with contextlib.closing(sqlite3.connect(self.path("data/muster.db"))) as db:
            return "".join(v.decode() if isinstance(v, bytes) else v for v, in db.execute("SELECT bytes FROM notes WHERE kind = ?", (kind,)))

    def texts(self):
        return sorted(r["text"] for r in self.rows())

    def test_a_gpu_that_went_while_nobody_looked_is_missed(self):
        lib.wait_until("what it has is known", lambda: sorted(line.split()[1] for line in self.kept().splitlines()) == ["1", "3"])
        self.hub.stop()
        self.more["a1"] = ("GPU-second",)
        node, token = self.nodes["a1"]
        self.nodes["a1"] = (sender.Node("a1", node_id=node.id, uuid=node.uuid), token)  # its agent restarted
        self.begin()
        lib.wait_until("one is missed", lambda: self.texts() and self.texts()[0].startswith("a1"))
        told = self.texts()
        self.assertEqual(len(told), 1, told)  # by one rule
        lib.wait_until("that is on disk", lambda: "gpu-lost" in self.kept(1))
        self.hub.kill9()
        self.begin()  # now neither knows of it
        lib.wait_until("both are heard of", lambda: all(n["state"] == "up" and "since the hub started" not in n["reason"] for n in self.ask("GET", "/api/v1/state")[1]["nodes"]))
        self.assertEqual(self.texts(), told)
        with self.assertRaises(AssertionError):
            lib.wait_until("it is told by another rule, too", lambda: self.texts() != told, 12)
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("{EXPECT}", "{'a1': 2, 'a2': 8}"))
        self.hub.p.send_signal(signal.SIGHUP)
        lib.wait_until("what is expected counts", lambda: "a2 has 1 of 8 GPUs" in self.texts())
        lib.wait_until("that is how it should be", lambda: self.texts() == ["a2 has 1 of 8 GPUs"])
        self.more["a2"] = tuple(f"GPU-more{i}" for i in range(7))
        lib.wait_until("all are there", lambda: self.texts() == [])


if __name__ == "__main__":
    lib.main()
