#!/usr/bin/python3
"""Files of the data folder that are damaged, cut to nothing or gone: nothing is overwritten or emptied silently, and every screen lists the quarantined files."""
import contextlib
import os
import re
import sqlite3
import time

import hubcase
import lib
import sample_feed

JUNK = b"\x5a" * 8192


class Kept(lib.Case):
    def file(self, name):
        return self.path("data/" + name)

    def read(self, name):
        with open(self.file(name), "rb") as f:
            return f.read()

    def begin(self, *flags):
        self.hub = self.start_hub(*flags)
        return self.hub

    def feed(self, n=20):
        f = sample_feed.Feeder(self.hub.port, self.enroll, "n1", int(time.time() * 1000) - 60000, 1000)
        f.start()
        lib.wait_until("samples are stored", lambda: f.sent >= n)
        f.stop()

    def damage(self, name):
        with open(self.file(name), "r+b") as f:
            f.write(JUNK)

    def screens(self):
        url = self.hub.url
        return {
            "readyz": lib.ask(url + "/readyz")[2].decode(),
            "healthz": lib.ask(url + "/healthz")[2].decode(),
            "json": lib.ask_json(url + "/api/v1/state").get("notice", ""),
            "text": lib.ask(url + "/", headers={"User-Agent": "curl/7"})[2].decode(),
            "page": hubcase.snapshot(url),
            "ls": self.run_ok(lib.MUSTER, "ls", "--hub", url),
            "doctor": self.run_any(lib.MUSTER, "doctor", "--hub", url, "--data", self.path("data"))[1],
        }

    def everywhere(self, what):
        lib.wait_until(what, lambda: what in lib.ask_json(self.hub.url + "/api/v1/state").get("notice", ""))
        for where, said in self.screens().items():
            self.assertIn(what, " ".join(said.split()), where)
        self.assertEqual(lib.ask(self.hub.url + "/readyz")[0], 200, "batches are taken all the same")

    def test_a_second_damage_leaves_the_first_copy_and_both_are_told_until_moved_away(self):
        self.begin()
        self.enroll = self.token("enroll")
        self.feed()
        self.assertEqual(self.hub.stop(), 0)
        self.damage("history.db")
        first = self.read("history.db")
        self.begin()
        self.everywhere("history.db.damaged")
        self.hub.kill9()
        self.damage("history.db")
        self.begin()
        self.everywhere("history.db.damaged.2 and 1 more")
        self.assertEqual(self.read("history.db.damaged"), first)
        self.assertEqual(self.hub.stop(), 0)
        self.begin()  # no new damage: still reported
        self.everywhere("history.db.damaged.2 and 1 more")
        for name in os.listdir(self.path("data")):
            if ".damaged" in name:
                os.rename(self.file(name), self.path(name))
        lib.wait_until("nothing is said any more", lambda: not lib.ask_json(self.hub.url + "/api/v1/state").get("notice"))
        self.assertSoon(lambda: lib.ask(self.hub.url + "/readyz")[2], b"ok\n")

    def test_a_lost_muster_db_is_refused_everywhere_and_set_aside_when_told(self):
        self.begin()
        self.enroll = self.token("enroll")
        self.feed()
        os.rename(self.file("muster.db"), self.path("kept.db"))  # under the running hub
        self.everywhere("muster.db was removed")
        os.rename(self.path("kept.db"), self.file("muster.db"))
        self.assertEqual(self.hub.stop(), 0)
        for lose in (lambda: os.truncate(self.file("muster.db"), 0), lambda: os.unlink(self.file("muster.db"))):
            lose()
            before = sorted(os.listdir(self.path("data")))
            for argv in (("hub", "--listen", "127.0.0.1:0"), ("up", "--no-agent", "--listen", "127.0.0.1:0"), ("token", "list")):
                status, out, err = self.run_any(lib.MUSTER, *argv, "--data", self.path("data"))
                self.assertNotEqual(status, 0, argv)
                for words in ("muster.db", "muster restore", "--start-empty"):
                    self.assertIn(words, err, (argv, out))
            self.assertIn("--start-empty", self.run_any(lib.MUSTER, "doctor", "--data", self.path("data"))[1])
            self.assertEqual(sorted(os.listdir(self.path("data"))), before, "nothing was made, nothing is gone")
        self.begin("--start-empty")
        self.everywhere("set-aside-1")
        self.assertEqual(lib.ask_json(self.hub.url + "/api/v1/state")["nodes"], [])
        self.assertTrue(lib.stored_frames(self.file("set-aside-1")), "what is left is a data folder of its own")
        self.enroll = self.token("enroll")
        self.feed(3)
        self.assertEqual(self.hub.stop(), 0)
        self.begin("--start-empty")  # left in a unit file: it does nothing more
        self.assertEqual([n["name"] for n in lib.ask_json(self.hub.url + "/api/v1/state")["nodes"]], ["n1"])
        self.assertFalse(os.path.exists(self.file("set-aside-2")))

    def flip_chunks(self):
        """A bit in the head of every chunk of raw samples, in the file itself."""
        with contextlib.closing(sqlite3.connect(self.file("history.db"))) as db:
            chunks = [row[0] for row in db.execute("SELECT bytes FROM chunk WHERE tier = 0")]
        with open(self.file("history.db"), "r+b") as f:
            data = f.read()
            for chunk in chunks:
                part = next(p for p in (chunk[i:i + 24] for i in range(0, 64, 8)) if data.count(p) == 1)  # whole in one page
                f.seek(data.index(part) + 20)
                f.write(bytes([part[20] ^ 4]))
        return len(chunks)

    def counted(self):
        return int(re.search(r"\nmuster_hub_store_damaged_columns_total (\d+)\n", lib.ask(self.hub.url + "/metrics")[2].decode()).group(1))

    def test_damage_that_readers_meet_is_counted_logged_and_shown_and_raises_an_alert(self):
        self.run_ok(lib.MUSTER, "simulate", "--backfill", "4h", "--every", "10s", "--nodes", "2", "--gpus", "2", "--data", self.path("data"), "-q")
        self.assertGreater(self.flip_chunks(), 1)
        self.begin()
        ask = self.hub.url + "/api/v1/history?device=*&metric=util&from=-5h&step=1m&tier=raw"
        before = self.counted()
        damaged = lib.ask_json(ask)["damaged"]
        self.assertGreater(damaged, 0)
        lib.wait_until("it is counted", lambda: self.counted() >= before + damaged)  # /metrics is kept for a moment
        for form in ("json", "csv", "svg"):
            self.assertGreater(int(lib.ask(f"{ask}&format={form}")[1]["x-muster-damaged"]), 0, form)
        self.everywhere("stored history is damaged")
        self.assertIn("muster store check", self.hub.wait_line(r".*stored history is damaged.*").group(0))
        for form in ((), ("--csv",), ("--json",)):
            status, out, err = self.run_any(lib.MUSTER, "history", "*", "util", "--from", "-5h", "--step", "10s", *form, "--hub", self.hub.url)
            self.assertEqual(status, 0, err)
            self.assertIn("stored history is damaged", err)
            self.assertNotIn("stored history is damaged", out)
        for form in ("csv", "jsonl", "openmetrics"):
            status, out, err = self.run_any(lib.MUSTER, "export", "--kind", "samples", "--format", form, "--data", self.path("data"))
            self.assertEqual((status, "stored history is damaged" in err, "damaged" in out), (0, True, False), err)
        status, out, err = self.run_any(lib.MUSTER, "export", "--step", "10s", "--format", "csv", "-o", self.path("saved.csv"), "--data", self.path("data"))
        self.assertEqual((status, "stored history is damaged" in err), (0, True), err)
        lib.wait_until("the alert fires", lambda: [r for r in lib.ask_json(self.hub.url + "/api/v1/alerts")["rows"] if r["rule"] == "store-damaged" and "stored history is damaged" in r["text"]])
        self.assertEqual(self.hub.text.count("columns that could not be read since the start"), 1, "a line, not one for each reader")

    def test_the_hubs_own_key_is_never_replaced(self):
        def pin(hub):
            return hub.wait_line(r"--pin (\S+)").group(1)
        was = pin(self.begin("--tls"))
        self.hub.kill9()
        os.unlink(self.file("tls.crt"))
        self.assertEqual(pin(self.begin("--tls")), was, "agents go on trusting it")
        self.hub.kill9()
        key = self.read("tls.key")
        os.truncate(self.file("tls.key"), 0)
        status, _, err = self.run_any(lib.MUSTER, "hub", "--tls", "--listen", "127.0.0.1:0", "--data", self.path("data"))
        self.assertTrue(status != 0 and "tls.key" in err, err)
        os.unlink(self.file("tls.key"))
        status, _, err = self.run_any(lib.MUSTER, "hub", "--tls", "--listen", "127.0.0.1:0", "--data", self.path("data"))
        self.assertTrue(status != 0 and "tls.key' is missing" in err, err)
        self.assertFalse(os.path.exists(self.file("tls.key")))
        with open(self.file("tls.key"), "wb") as f:
            f.write(key)
        self.assertEqual(pin(self.begin("--tls")), was)


if __name__ == "__main__":
    lib.main()
