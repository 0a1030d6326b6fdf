#!/usr/bin/python3
"""Samples in a real ClickHouse: all of them, once, whatever was killed meanwhile; and questions about what only it has still."""
import json
import os
import time

import clickhouse
import lib

HOUR = 3600000
ROWS = "SELECT count() FROM muster_sample FINAL"


@clickhouse.needed
class Samples(lib.Case):
    def setUp(self):
        super().setUp()
        self.port = lib.free_port()  # one that a hub comes back on

    def hub(self, server, *flags):
        return self.start_hub("--listen", f"127.0.0.1:{self.port}", *server.flags(), "--rotate", "1s", *flags)

    def backfill(self, port, until, data, span="2h", every="10s"):
        """The same past each time, sent to the hub there as agents would."""
        token = self.token("enroll", data=data)
        return self.start(lib.MUSTER, "simulate", "--backfill", span, "--every", every, "--nodes", "3", "--gpus", "2", "--until", str(until // 1000), "--hub", f"http://127.0.0.1:{port}", "--token", token, "--quiet")

    def fill(self, hub, until, **words):
        self.assertEqual(self.wait_end(self.backfill(self.port, until, self.path("data"), **words)), 0)

    def wait_end(self, p):
        lib.wait_until("the past is sent", lambda: not p.alive())
        return p.p.returncode

    def waiting(self, hub):
        text = lib.ask(hub.url + "/metrics")[2].decode()
        return {w: int(text.split(f"\nmuster_hub_samples_{w} ")[1].split("\n")[0]) for w in ("rows_total", "waiting_bytes", "failing", "missed_total")}

    def sent(self, hub):
        """All logs that there are but the newest went, and ClickHouse has them."""
        logs = [n for n in os.listdir(self.path("data")) if n.startswith("log-") and n.endswith(".db")]
        return len(logs) == 1 and self.waiting(hub)["waiting_bytes"] == 0

    def history(self, hub, **words):
        query = "&".join(f"{k}={v}" for k, v in words.items())
        return lib.ask_json(f"{hub.url}/api/v1/history?{query}")

    def values(self, hub, **words):
        return {(s["node"], s.get("device"), s["metric"], s["agg"]): s["v"] for s in self.history(hub, **words)["series"]}

    def test_every_sample_once_after_kill_9_and_past_retention(self):
        server = clickhouse.Server(self)
        end = int(time.time() * 1000) // HOUR * HOUR - 72 * HOUR
        # the same past in a hub that keeps all of it, to compare with
        whole = self.start_hub("--keep-raw", "0", data=self.path("whole"))
        self.assertEqual(self.wait_end(self.backfill(whole.port, end, self.path("whole"))), 0)
        hub = self.hub(server, "--keep-raw", "1d")
        past = self.backfill(self.port, end, self.path("data"))
        lib.wait_until("some rows are there", lambda: server.number("EXISTS TABLE muster_sample") and server.number(ROWS) > 0)
        hub.kill9()
        hub = self.hub(server, "--keep-raw", "1d")
        server.kill()  # and ClickHouse, while it is fed
        server.start()
        self.assertEqual(self.wait_end(past), 0, past.text)
        lib.wait_until("all of it is sent", lambda: self.sent(hub))
        rows = server.number(ROWS)
        self.assertEqual(rows, server.number("SELECT uniqExact(node, dev, ts) FROM muster_sample"))
        status = [lib.MUSTER, "store", "status", server.url, "--password-file", server.password_file]
        host = json.loads(self.run_ok(*status, "--json"))["hosts"][0]
        self.assertEqual((host["host"], host["up"], host["last_day"]), (server.host, True, server.sql("SELECT max(partition) FROM system.parts WHERE active AND table = 'muster_sample'").strip()))
        self.assertGreaterEqual(host["rows"], rows)
        self.assertIn(f"{server.host}: ClickHouse ", self.run_ok(*status))
        self.assertEqual(server.number("SELECT count(util) FROM muster_sample FINAL"), sum(sum(v for v in s if v) for s in self.values(
            whole, device="*", metric="util", agg="count", tier="raw", step="1h", **{"from": (end - 2 * HOUR) // 1000, "to": end // 1000}).values()))
        # what is older than a day is not kept here any more, raw: it comes from there
        span = {"from": (end - HOUR) // 1000, "to": (end - HOUR // 2) // 1000}
        lib.wait_until("the hub has seen that it is back", lambda: not self.history(hub, tier="raw", device="*", metric="util", step="1m", **span).get("missing"))
        for words in ({"metric": "util,power,mem_used,energy", "agg": "avg,min,max,sum,last,count", "step": "10s"}, {"metric": "cpu,ram_used", "agg": "avg,last", "step": "30s"},
                      {"metric": "util", "group": "all", "step": "10s"}, {"metric": "energy", "step": "1m"}):
            words = {"tier": "raw", "device": "*", **words, **span}
            with self.subTest(words=words):
                got, want = self.history(hub, **words), self.history(whole, **words)
                self.assertTrue(any(v is not None for s in got["series"] for v in s["v"]))
                self.assertEqual(json.dumps(got["series"], sort_keys=True), json.dumps(want["series"], sort_keys=True))
        server.kill()
        lib.wait_until("every screen says so", lambda: "ClickHouse" in lib.ask(hub.url + "/healthz")[2].decode())
        away = self.history(hub, tier="raw", device="*", metric="util", step="10s", **span)
        self.assertIn("does not answer", away["missing"])
        code, out, _ = self.run_any(*status)
        self.assertEqual((code, out.startswith(f"{server.host}: away: ")), (1, True), out)

    @lib.long
    def test_what_waits_is_kept_and_sent_later(self):
        server = clickhouse.Server(self)
        server.kill()
        end = int(time.time() * 1000) // HOUR * HOUR - 2 * HOUR
        hub = self.hub(server)
        self.fill(hub, end)
        lib.wait_until("they wait", lambda: self.waiting(hub)["waiting_bytes"] > 0 and self.waiting(hub)["failing"])
        self.assertIn("wait for ClickHouse", lib.ask(hub.url + "/?term=true")[2].decode())
        server.start()
        lib.wait_until("all of it is sent", lambda: self.sent(hub))
        self.assertGreater(server.number(ROWS), 0)
        self.assertSoon(lambda: "ClickHouse" in lib.ask(hub.url + "/healthz")[2].decode(), False)

    @lib.long
    def test_a_wrong_password_is_said_and_nothing_is_lost(self):
        server = clickhouse.Server(self)
        end = int(time.time() * 1000) // HOUR * HOUR - 2 * HOUR
        with open(server.password_file, "w", encoding="ascii") as f:
            f.write("wrong\n")
        hub = self.hub(server)
        self.fill(hub, end)
        lib.wait_until("it is said", lambda: "Wrong password" in lib.ask(hub.url + "/healthz")[2].decode())
        self.assertNotIn("wrong\n", hub.text)
        hub.stop()
        with open(server.password_file, "w", encoding="ascii") as f:
            f.write(clickhouse.PASSWORD + "\n")
        hub = self.hub(server)
        lib.wait_until("all of it is sent", lambda: self.sent(hub) and server.number(ROWS) > 0)

    @lib.long
    def test_old_days_are_dropped_there(self):
        server = clickhouse.Server(self)
        now = int(time.time() * 1000) // HOUR * HOUR
        hub = self.hub(server)
        for back in (100, 10):
            self.fill(hub, now - back * 24 * HOUR, span="1h")
        lib.wait_until("all of it is sent", lambda: self.sent(hub) and server.number("SELECT uniqExact(intDiv(ts, 86400000)) FROM muster_sample") >= 2)
        hub.stop()
        self.hub(server, "--keep-samples", "30d")
        lib.wait_until("the older day is gone", lambda: server.number("SELECT min(ts) FROM muster_sample") > now - 31 * 24 * HOUR)

    @lib.long
    @clickhouse.replicas_needed
    def test_two_replicas_of_which_one_is_killed(self):
        keeper = clickhouse.ZooKeeper(self)
        a, b = (clickhouse.Server(self, name, keeper.config(name)) for name in ("a", "b"))
        a.url = f"clickhouse://muster@{a.host},{b.host}/default?replicated"
        now = int(time.time() * 1000) // HOUR * HOUR
        hub = self.hub(a)
        self.fill(hub, now - 10 * HOUR)
        lib.wait_until("all of it is sent", lambda: self.sent(hub) and a.number(ROWS) > 0)
        before = a.number(ROWS)
        lib.wait_until("the other has it, too", lambda: b.number(ROWS) == before)
        a.kill()
        self.fill(hub, now - 5 * HOUR)
        lib.wait_until("it goes to the other", lambda: self.sent(hub) and b.number(ROWS) > before)
        after = b.number(ROWS)
        self.assertEqual(after, b.number("SELECT uniqExact(node, dev, ts) FROM muster_sample"))
        a.start()
        lib.wait_until("the first has all of it again", lambda: a.number(ROWS) == after)


if __name__ == "__main__":
    lib.main()
