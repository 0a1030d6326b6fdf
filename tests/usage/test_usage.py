#!/usr/bin/python3
"""Usage against a real hub: sums add up, late data corrects, counting again changes nothing, kill -9 loses nothing, days of a zone, CSV and pages are harmless."""
import contextlib
import csv
import datetime
import io
import json
import os
import re
import sqlite3
import time

import lib
import sender

HOUR = 3600
NOW = int(time.time())
POWER, ENERGY, TENSOR, WORK = 8, 10, 33, 54  # metrics.def
FIELDS = ("held", "busy", "idle", "idle_long", "memory", "energy", "effective_measured", "effective", "tensor_measured", "tensor", "effective_energy")


class Usage(lib.Case):
    def backfill(self, data=None, hub=None, **flags):
        argv = [lib.MUSTER, "simulate", "--every", "60s", "--nodes", "2", "--gpus", "3", "--people", "12", "--work", "--quiet"]
        argv += ["--data", data] if data else ["--hub", hub, "--token-file", self.path("enroll")]
        for k, v in flags.items():
            argv += ["--" + k, str(v)]
        self.run_ok(*argv, limit=300)

    def hub_with(self, *flags, **back):
        data = self.path("data")
        self.backfill(data=data, **back)
        hub = self.start_hub(*flags, data=data)
        self.counted(hub)
        return hub

    def counted(self, hub):
        lib.wait_until("every hour is counted", lambda: self.ask(hub, "last=1h")["waiting"] == 0)

    def ask(self, hub, query):
        return lib.ask_json(hub.url + "/api/v1/usage?" + query)

    def check_rows(self, answer):
        for row in answer["rows"] + [answer["total"]]:
            self.assertAlmostEqual(row["busy"] + row["idle"], row["held"], places=6)
            self.assertLessEqual(row["idle_long"], row["idle"] + 1e-9)
            self.assertLessEqual(row.get("effective", 0), row["effective_measured"])
            self.assertLessEqual(row["effective_measured"], row["held"])
            if "wall" in row:
                self.assertAlmostEqual(row["held"] + row["free"] + row["booked_unused"] + row["down"], row["wall"], places=6)

    def total(self, rows, field):
        return sum(r.get(field, 0) for r in rows)

    def same(self, a, b, fields=FIELDS):
        for f in fields:
            self.assertAlmostEqual(a[f], b[f], delta=max(1e-6, abs(a[f]) * 1e-12), msg=f)

    def test_sums_add_up_whatever_is_asked(self):
        hub = self.hub_with(backfill="5d")
        span = f"from={(NOW - 6 * 86400) * 1000}&to={NOW // HOUR * HOUR * 1000}"
        hours = self.ask(hub, span + "&by=device&period=hour")
        self.check_rows(hours)
        self.assertGreater(len(hours["rows"]), 5 * 24 * 6 - 24)
        self.assertEqual({r["wall"] for r in hours["rows"]}, {HOUR})  # every device, every hour, to the millisecond
        first = hours["total"]
        self.assertGreater(first["held"], 0)
        self.assertGreater(first["busy"], 0)
        self.assertGreater(first["energy"], 0)
        self.assertAlmostEqual(self.total(hours["rows"], "wall"), first["wall"], places=3)
        for by in ("person", "team", "project", "company", "node", "model", "device", "job"):
            for period in ("hour", "day", "week", "month", "year", "all"):
                got = self.ask(hub, f"{span}&by={by}&period={period}")
                self.check_rows(got)
                self.same(got["total"], first)
                self.assertEqual(got["total"]["wall"], first["wall"])
                for f in ("held", "busy", "idle_long", "energy", "effective", "tensor", "effective_energy"):
                    self.assertAlmostEqual(self.total(got["rows"], f), first[f], places=3, msg=(by, period, f))
        nobody = [r for r in self.ask(hub, span)["rows"] if r.get("name") == "nobody"]
        self.assertEqual([(r["key"], r["held"]) for r in nobody], [(None, 0)])
        self.assertGreater(nobody[0]["energy"], 0)
        self.assertIn("(nobody)", self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, "--last", "6d"))
        people = [r["key"] for r in self.ask(hub, span)["rows"] if r.get("name") != "nobody"]
        self.assertGreater(len(people), 5)
        self.assertEqual(len(people), len(set(people)))
        by_person = [self.ask(hub, f"{span}&by=device&person={p}")["total"] for p in people if p]
        self.assertAlmostEqual(self.total(by_person, "held") + sum(r["held"] for r in self.ask(hub, span)["rows"] if not r["key"]), first["held"], places=3)
        self.assertNotIn("wall", by_person[0])
        # days of a zone that the store has no days of are made of hours: the same sums
        for zone in ("Asia/Tokyo", "America/New_York", "Asia/Kolkata"):
            self.same(self.ask(hub, f"{span}&period=day&zone={zone}")["total"], first)
        # and so are days of a zone that are kept ready, made while the hub runs
        per_day = f"{span}&by=device&period=day&zone=Asia/Tokyo"
        slow = self.ask(hub, per_day)["rows"]
        own, = self.zones_with_days()
        self.assertEqual(hub.stop(), 0)
        hub = self.start_hub("--usage-zones", "Asia/Tokyo", "--usage-zones", "America/New_York", "--usage-zones", "Asia/Tokyo", data=self.path("data"))
        lib.wait_until("days of these zones", lambda: self.zones_said() == [own, "Asia/Tokyo", "America/New_York"])
        lib.wait_until("all on disk", lambda: self.zones_with_days() == {own, "Asia/Tokyo", "America/New_York"})
        self.counted(hub)  # the last of them, too
        self.assertEqual(self.ask(hub, per_day)["rows"], slow)
        self.same(self.ask(hub, f"{span}&period=week&zone=America/New_York")["total"], first)
        self.assertEqual(hub.stop(), 0)
        hub = self.start_hub(data=self.path("data"))  # not kept any more: not trusted either
        lib.wait_until("its own zone alone", lambda: self.zones_said() == [own])
        self.assertEqual(self.ask(hub, per_day)["rows"], slow)
        status, _, err = self.run_any(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", self.path("other"), "--usage-zones", "Mars/Olympus")
        self.assertNotEqual(status, 0)
        self.assertIn("Mars/Olympus", err)

    def rows_of(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.path('data')}/muster.db?mode=ro", uri=True, timeout=30)) as db:
            return db.execute(sql).fetchall()

    def zones_with_days(self):
        return {name for name, in self.rows_of("SELECT DISTINCT n.text FROM usage_days d JOIN usage_names n ON n.id = d.zone")}

    def zones_said(self):
        (value,), = self.rows_of("SELECT value FROM settings WHERE name = 'usage_clock'")
        return (value.decode() if isinstance(value, bytes) else value).split()[1:]

    def test_counting_again_and_late_data(self):
        hub = self.start_hub(data=self.path("data"))
        self.secret("enroll", self.token("enroll", data=self.path("data")))
        until = NOW - 2 * HOUR
        iso = lambda t: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))
        self.backfill(hub=hub.url, backfill="1d", until=iso(until))
        self.counted(hub)
        day = self.ask(hub, "last=5d&by=device&period=hour")
        self.check_rows(day)
        # two days that come late, before those that are there: hours are counted without a gap
        self.backfill(hub=hub.url, backfill="6h", until=iso(until - 2 * 86400), seed=7)
        self.counted(hub)
        span = f"from={(NOW - 6 * 86400) * 1000}&to={(NOW - HOUR) * 1000}&by=device&period=hour"
        late = self.ask(hub, span)
        self.check_rows(late)
        self.assertGreater(late["total"]["wall"], day["total"]["wall"] + 40 * HOUR)
        # killed while data comes: what was acknowledged is counted after the restart
        self.backfill(hub=hub.url, backfill="3h", until=iso(until - 86400 - 5 * HOUR), seed=9)
        hub.kill9()
        hub = self.start_hub(data=self.path("data"))
        self.counted(hub)
        before = self.ask(hub, span)
        self.check_rows(before)
        admin = self.token("admin", data=self.path("data"))
        self.secret("admin", admin)
        out = self.run_ok(lib.MUSTER, "usage", "--recount", "--hub", hub.url, "--token-file", self.path("admin"), "--last", "5d", limit=180)
        self.assertIn("total", out)
        after = self.ask(hub, span)
        self.assertEqual(before["rows"], after["rows"])
        self.assertEqual(before["total"], after["total"])
        member = self.token("member", "--person", "kim", data=self.path("data"))
        self.assertEqual(self.run_any(lib.MUSTER, "usage", "--recount", "--hub", hub.url, "--token", member)[0], 3)

    def test_days_are_those_of_the_zone(self):
        # the last Sunday of an October, the newest that is over: less than 400 days ago, so its minutes are kept
        year = time.gmtime(NOW).tm_year
        changes = (datetime.date(y, 10, 31 - (datetime.date(y, 10, 31).weekday() + 1) % 7) for y in (year, year - 1))
        sunday = next(d for d in changes if (datetime.date.fromtimestamp(NOW) - d).days > 3)
        before, after = (str(sunday + datetime.timedelta(days=n)) for n in (-1, 1))
        hub = self.hub_with("--usage-zone", "Europe/Berlin", backfill="4d", until=f"{sunday + datetime.timedelta(days=2)}T12:00:00Z")
        got = self.ask(hub, f"from={before}&to={after}&by=node&period=day")
        days = {}
        for r in got["rows"]:
            days[r["label"]] = days.get(r["label"], 0) + r["wall"]
        self.assertEqual(days, {before: 24 * HOUR * 6, str(sunday): 25 * HOUR * 6, after: 24 * HOUR * 6})
        self.assertEqual(got["zone"], "Europe/Berlin")
        begins = datetime.datetime.fromtimestamp(got["from"] / 1000, datetime.timezone.utc)
        self.assertEqual((begins.date(), begins.hour), (sunday - datetime.timedelta(days=2), 22))
        hours = self.ask(hub, f"from={sunday}&to={sunday}&by=model&period=hour")
        self.assertEqual(len(hours["rows"]), 25)
        self.assertEqual([r["label"] for r in hours["rows"]].count(f"{sunday} 02:00"), 2)
        utc = self.ask(hub, f"from={sunday}&to={sunday}&by=model&period=day&zone=UTC")
        self.assertEqual(utc["total"]["wall"], 24 * HOUR * 6)

    def test_names_are_harmless_and_questions_refused_in_words(self):
        hub = self.hub_with("--usage-price", "H200=2.50", "--usage-co2", "400", "--usage-split", "equal", backfill="8h")
        data = self.path("data")
        nodes = lib.ask_json(hub.url + "/api/v1/state")["nodes"]
        free = nodes[0]["devices"][0]
        auth = {"Authorization": "Bearer " + self.token("admin", data=data)}
        start = (NOW // HOUR - 5) * HOUR * 1000
        names = ["=1+cmd|'C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "<img src=x onerror=alert(1)>", "Robert'); DROP TABLE usage;--"]
        for i, name in enumerate(names):
            body = {"name": "j", "kind": "slurm", "person": name, "node": nodes[0]["name"], "devices": [free["uuid"]], "start": start + i * 600000, "end": start + (i + 1) * 600000, "key": f"k{i}"}
            status, _, answer = lib.ask(hub.url + "/api/v1/jobs", method="POST", body=json.dumps(body).encode(), headers=auth)
            self.assertEqual(status, 201, answer)
        lib.wait_until("the jobs are counted", lambda: set(names) <= {r["key"] for r in self.ask(hub, "last=2d")["rows"]})
        self.counted(hub)
        span = f"from={(NOW - 2 * 86400) * 1000}&to={NOW // HOUR * HOUR * 1000}"  # without the hour that is under way
        rows = self.ask(hub, span)["rows"]
        text = lib.ask(f"{hub.url}/api/v1/usage?{span}&format=csv")[2].decode()
        back = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(back), len(rows))
        for got in back:
            for cell in got.values():
                self.assertFalse(cell[:1] in "=+@\t\r" and cell, got)  # a spreadsheet runs none of them
        keys = {g["key"] for g in back}
        for name in names:
            self.assertIn(("'" + name) if name[0] in "=+-@" else name, keys)
        self.assertAlmostEqual(sum(float(g["held_s"]) for g in back), sum(r["held"] for r in rows), places=3)
        page = lib.ask(hub.url + "/api/v1/usage?last=2d&format=html")[2].decode()
        self.assertNotIn("<img", page)
        self.assertIn("&lt;img src=x", page)
        for f, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")):
            status, head, body = lib.ask(hub.url + "/api/v1/usage?last=2d&format=" + f)
            self.assertEqual(status, 200, body[:200])
            self.assertTrue(body.startswith(magic), body[:20])
            self.assertNotIn(b"<img", body)
        table = self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, "--last", "2d")
        self.assertIn("EUR", table)
        row = max(rows, key=lambda r: r["held"])
        self.assertAlmostEqual(row["cost"], row["held"] / 3600 * 2.5, places=5)
        self.assertAlmostEqual(row["co2"], row["energy"] / 3.6e6 * 400, delta=0.01)
        for query, word in (("by=nobody", "by"), ("period=fortnight", "period"), ("zone=Mars/Base", "time zone"), ("last=x", "last"), ("from=x", "from"),
                            ("from=2026-01-02&to=2026-01-01", "before"), ("format=exe", "format"), ("week-start=noday", "week-start"), ("from=1&last=3d", "exclude"),
                            ("filter=((", "filter"), ("from=0&period=hour", "hours")):
            status, _, body = lib.ask(hub.url + "/api/v1/usage?" + query)
            self.assertIn(status, (400, 413), query)
            self.assertIn(word, json.loads(body)["detail"], query)

    def test_energy_of_minutes_without_a_reading_of_the_counter_is_counted_once(self):
        hub = self.start_hub("--usage-zone", "UTC")
        start = (NOW // HOUR - 4) * HOUR * 1000
        node = sender.Node("n1")
        frames = [node.facts(), node.procs((4711, "kim", "python", "python train.py"))]
        for minute in range(60):
            counter = {} if minute % 3 == 1 else {ENERGY: 7_000_000 + 500_000 * 60 * minute}
            frames.append(node.batch(at_ms=start + minute * 60000, util=9900, more={POWER: 500_000, **counter}))
        auth = {"Authorization": "Bearer " + self.token("enroll")}
        self.assertEqual(lib.ask(hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={**auth, "Content-Type": "application/octet-stream"})[0], 200)
        span = f"from={start}&to={start + HOUR * 1000}"
        lib.wait_until("it is counted", lambda: self.ask(hub, span)["total"].get("energy"))
        self.counted(hub)
        self.assertEqual(self.ask(hub, span)["total"]["energy"], 500 * HOUR)

    def test_effective_hours_are_of_those_that_were_measured(self):
        """Three hours held by one: without work, with tensor activity alone (as before there was work), with both."""
        hub = self.start_hub("--usage-zone", "UTC")
        start = (NOW // HOUR - 4) * HOUR * 1000
        node = sender.Node("n1")
        frames = [node.facts(), node.procs((4711, "kim", "python", "python train.py"))]
        kinds = ({}, {TENSOR: 2500}, {TENSOR: 5000, WORK: 6000, POWER: 500000})
        frames += [node.batch(at_ms=start + minute * 60000, util=9900, more=kinds[minute // 60]) for minute in range(180)]
        auth = {"Authorization": "Bearer " + self.token("enroll")}
        self.assertEqual(lib.ask(hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={**auth, "Content-Type": "application/octet-stream"})[0], 200)
        span = f"from={start}&to={start + 3 * HOUR * 1000}"
        lib.wait_until("it is counted", lambda: self.ask(hub, span)["total"].get("effective"))
        self.counted(hub)
        first, second, third = self.ask(hub, span + "&period=hour")["rows"]
        self.assertEqual([r["effective_measured"] for r in (first, second, third)], [0, 0, HOUR])
        self.assertEqual([r["tensor_measured"] for r in (first, second, third)], [0, HOUR, HOUR])
        for r in (first, second):
            for field in ("effective", "effective_energy", "energy_per_effective_hour"):
                self.assertNotIn(field, r)
        self.assertNotIn("tensor", first)
        self.assertEqual((second["tensor"], third["tensor"], third["effective"]), (HOUR / 4, HOUR / 2, HOUR * 0.6))
        self.assertEqual(third["effective_energy"], 500 * HOUR)
        self.assertAlmostEqual(third["energy_per_effective_hour"], 500 * HOUR / 0.6, places=2)
        for by in ("person", "team", "project", "company", "node", "model", "device", "job"):
            r = self.ask(hub, f"{span}&by={by}")["rows"][0]
            self.assertEqual((r["held"], r["effective"], r["effective_measured"], r["tensor"]), (3 * HOUR, 0.6 * HOUR, HOUR, 0.75 * HOUR), by)
        rows = list(csv.DictReader(io.StringIO(lib.ask(f"{hub.url}/api/v1/usage?{span}&period=hour&format=csv")[2].decode())))
        self.assertEqual([r["effective_s"] for r in rows], ["", "", "2160"])
        self.assertEqual([r["tensor_s"] for r in rows], ["", "900", "1800"])
        self.assertEqual([r["work_ratio"] for r in rows], ["", "", "0.6"])
        iso = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start // 1000 + s)) for s in (0, 3 * HOUR)]
        table = self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, "--from", iso[0], "--to", iso[1], "--width", "200")
        for words in ("EFFECTIVE", "36 m of 1.0 h", "45 m of 2.0 h", "60 %", "0.83", " 500 Wh"):
            self.assertIn(words, table)
        self.assertIn("36 m of 1.0 h", lib.ask(f"{hub.url}/api/v1/usage?{span}&format=html")[2].decode())
        self.assertNotIn("EFFECTIVE", lib.ask(f"{hub.url}/api/v1/usage?from={start}&to={start + HOUR * 1000}&format=table&width=200")[2].decode())

    def counters(self, hub):
        """{"muster_person_held_seconds_total kim": 7200.0}"""
        text = lib.ask(hub.url + "/metrics")[2].decode()
        return {f"{name} {who}": float(v) for name, who, v in re.findall(r'^(muster_(?:person|team)_\w+)\{\w+="([^"]*)"\} (\S+)$', text, re.M)}

    def test_counters_of_people_never_fall(self):
        """Two share a GPU. Split otherwise and counted again, one of them had less: the counter stands still, over restarts too, until there is more than before."""
        config, admin = self.path("muster.yaml"), self.path("admin")
        with open(config, "w") as f:
            f.write("teams:\n  vision: [kim]\n")
        start = (NOW // HOUR - 9) * HOUR * 1000
        node = sender.Node("n1")
        both = ((1, "kim", "python", "a"), (2, "kim", "python", "b"), (3, "lee", "python", "c"))
        seen = {}

        def send(first, last, *procs):
            frames = [node.facts(), node.procs(*procs)]
            frames += [node.batch(at_ms=start + minute * 60000, util=9900, more={TENSOR: 2500, WORK: 5000}) for minute in range(first * 60, last * 60)]
            auth = {"Authorization": "Bearer " + self.token("enroll", data=self.path("data")), "Content-Type": "application/octet-stream"}
            self.assertEqual(lib.ask(hub.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers=auth)[0], 200)

        def look():
            """No counter has fallen, whenever one looks."""
            now = self.counters(hub)
            for name, v in seen.items():
                self.assertGreaterEqual(now.get(name, 0), v, name)
            seen.update(now)
            return now

        def told(**hours):
            """The counters say that many hours, and what follows from them, of persons and of kim's team."""
            def fits():
                now = look()
                names = [("person", who, h) for who, h in hours.items()] + [("team", "vision", hours["kim"])]
                return all(abs(now.get(f"muster_{of}_{field}_seconds_total {who}", 0) / HOUR - h * part) < 0.1
                           for of, who, h in names for field, part in (("held", 1), ("effective_measured", 1), ("effective", 0.5), ("tensor", 0.25)))
            lib.wait_until(f"{hours} are told", fits)

        def held(**hours):
            for who, h in hours.items():
                lib.wait_until(f"{h} h of {who} are counted", lambda w=who, n=h: abs(self.ask(hub, f"last=1d&person={w}")["total"]["held"] / HOUR - n) < 0.1)

        hub = self.start_hub("--config", config, data=self.path("data"))
        self.secret("admin", self.token("admin", data=self.path("data")))
        send(0, 6, *both)
        told(kim=4, lee=2)
        self.assertEqual(hub.stop(), 0)
        equal = ("--config", config, "--usage-split", "equal")
        hub = self.start_hub(*equal, data=self.path("data"))
        look()
        self.run_ok(lib.MUSTER, "usage", "--recount", "--hub", hub.url, "--token-file", admin, limit=180)
        held(kim=3, lee=3)
        told(kim=4, lee=3)  # lee's grew, so kim's were summed, too
        hub.kill9()
        hub = self.start_hub(*equal, data=self.path("data"))
        self.assertNotEqual(look(), {})
        send(6, 7, *both)
        held(kim=3.5, lee=3.5)
        told(kim=4, lee=3.5)
        send(7, 8, *both[:1])
        held(kim=4.5)
        told(kim=4.5, lee=3.5)

    def integral(self, hub, start, end):
        argv = ["/usr/bin/python3", os.path.join(os.path.dirname(os.path.abspath(__file__)), "integral.py"), hub.url, self.path("data/muster.db"), str(start), str(end)]
        return {tuple(k.split(" ")): v for k, v in json.loads(self.run_ok(*argv, limit=600)).items()}

    def check_integral(self, days):
        """What is counted of invented months is the integral that a script of its own computes: of every person on every GPU, and of each in all."""
        end = NOW // HOUR * HOUR
        data = self.path("data")
        self.run_ok(lib.MUSTER, "simulate", "--every", "60s", "--nodes", "1", "--gpus", "2", "--people", "9", "--work", "--quiet", "--data", data, "--backfill", f"{days}d",
                    "--until", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end)), limit=600)
        hub = self.start_hub(data=data)
        lib.wait_until("every hour is counted", lambda: self.ask(hub, "last=1h")["waiting"] == 0, limit=900)
        span = f"from={(end - days * 86400) * 1000}&to={end * 1000}"
        want = self.integral(hub, (end - days * 86400) * 1000, end * 1000)
        people = sorted({person for person, _ in want})
        self.assertGreater(len(people), 6)
        got = {}
        for person in people:
            for r in self.ask(hub, f"{span}&by=device&person={person}")["rows"]:
                if r["held"]:
                    got[person, r["key"]] = [r["held"], r["effective"], r["tensor"]]
                    self.assertEqual((r["effective_measured"], r["tensor_measured"]), (r["held"], r["held"]))
        self.assertEqual(sorted(got), sorted(want))
        for key, row in want.items():
            for a, b in zip(got[key], row):
                self.assertAlmostEqual(a, b, places=2, msg=key)
        total = self.ask(hub, span)["total"]
        for name, i in (("held", 0), ("effective", 1), ("tensor", 2)):
            self.assertAlmostEqual(total[name], sum(row[i] for row in want.values()), places=1, msg=name)
        self.assertGreater(total["effective"], total["held"] / 10)
        self.assertLess(total["effective"], total["busy"])
        self.assertLess(total["tensor"], total["effective"])

    def test_effective_hours_of_some_days_are_the_integral_of_work(self):
        self.check_integral(10)

    @lib.long
    def test_effective_hours_of_a_year_are_the_integral_of_work(self):
        self.check_integral(365)

    def test_who_to_ask_and_who_holds_without_work(self):
        hub = self.hub_with(backfill="2d")
        people = lambda: lib.ask_json(hub.url + "/api/v1/people?recent=1")
        # a past that was not counted before the hub started is in the averages once it is, without a restart
        lib.wait_until("the averages are there", lambda: any("ema" in p for p in people()))
        once = {p["person"]: p["ema"]["24h"] for p in people()}
        self.assertGreater(max(once.values()), 0.2)
        self.assertEqual(hub.stop(), 0)
        hub = self.start_hub(data=self.path("data"))
        lib.wait_until("the averages are read back", lambda: any("ema" in p for p in people()))
        for p in people():
            self.assertAlmostEqual(p["ema"]["24h"], once[p["person"]], delta=0.1 + 0.1 * once[p["person"]])
        for p in people():
            self.assertEqual(sorted(p["ema"]), ["1w", "24h", "2h"])
            self.assertGreaterEqual(p["ema"]["24h"], 0)
        # a mean is over the time with records: that of a week is the mean of the two days there are
        days = self.ask(hub, "last=7d")
        held = {r["key"]: r["held"] / (days["to"] - days["records_from"]) * 1000 for r in days["rows"]}
        for p in people():
            self.assertAlmostEqual(p["ema"]["1w"], held[p["person"]], delta=0.1 + 0.1 * held[p["person"]])
            self.assertEqual(p["records_from"], days["records_from"])
        self.assertIn("24 H", self.run_ok(lib.MUSTER, "people", "--hub", hub.url))
        self.assertRegex(self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, env={"TZ": "Asia/Tokyo"}), r"\nrecords since 20\d\d-\d\d-\d\d \d\d:00 (?!JST)\w+\n$")  # the zone is the hub's
        self.assertNotIn("records since", self.run_ok(lib.MUSTER, "usage", "--hub", hub.url, "--last", "1d"))
        self.assertEqual(lib.ask_json(hub.url + "/api/v1/idle?longer=1s"), [])
        self.assertEqual(self.run_any(lib.MUSTER, "idle", "--hub", hub.url)[0], 1)
        self.assertEqual(lib.ask(hub.url + "/api/v1/idle?longer=soon")[0], 400)


if __name__ == "__main__":
    lib.main()
