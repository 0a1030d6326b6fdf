#!/usr/bin/python3
"""What a server of vesta leaves behind: its settings become a muster.yaml, its database history; nothing of either is run."""
import bz2
import contextlib
import datetime
import hashlib
import importlib.util
import ipaddress
import json
import os
import pickle
import random
import re
import sqlite3
import stat
import time
import unittest.mock
import zoneinfo

import hook_standin
import lib
import slack_standin
from slack_standin import Slack

MIB = 1 << 20
DAY = datetime.datetime(2026, 9, 3, 4, 0)


def payload(host, gpus=2, util=50, procs=(("31415", "train", "kim", 6400),)):
    """What a sender of vesta posts, and its server stores."""
    return {f"gpu:{g}": {"device_num": g, "uuid": f"GPU-{host}-{g}", "gpu_name": "Tesla V100", "temperature": 60 + g, "total_memory": 16160, "available_memory": 8160,
                         "used_memory": 8000, "timestamp": "2026/09/03 04:00:00.000", "gpu_volatile": util,
                         "processes": [{"pid": p, "name": n, "user": u, "used_memory": m} for p, n, u, m in procs]} for g in range(gpus)}


def packed(value, protocol=pickle.HIGHEST_PROTOCOL):
    return bz2.compress(pickle.dumps(value, protocol))


def ms(local, zone="UTC", fold=0):
    return int(local.replace(tzinfo=zoneinfo.ZoneInfo(zone), fold=fold).timestamp() * 1000)


class Calls:
    """Runs a command when it is unpickled by the usual means."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


class Vesta(lib.Case):
    def database(self, hosts):
        """As vesta makes one: {name: [(local time, bytes)]}; the id of a host is made of its name."""
        path = self.path("gpu_states.db")
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("create table if not exists machines (id TEXT, name TEXT, ip_address TEXT)")
            for name, rows in hosts.items():
                table = '"' + name.replace('"', '""') + '"'
                if not db.execute("select 1 from machines where name = ?", (name,)).fetchall():
                    db.execute(f"create table {table} (timestamp INTEGER, data BLOB)")
                    db.execute("insert into machines values(?, ?, ?)", (self.ident(name), name, "10.0.0.1"))
                db.executemany(f"insert into {table} values(?, ?)", [(t if isinstance(t, int) else int(t.strftime("%Y%m%d%H%M%S")), d) for t, d in rows])
            db.commit()
        return path

    @staticmethod
    def ident(name):
        return hashlib.md5(name.encode()).hexdigest()

    @staticmethod
    def key(name):
        return "vesta:" + hashlib.sha256(Vesta.ident(name).encode()).hexdigest()[:32]

    def history(self, path, *flags, zone="UTC", want=0):
        status, out, err = self.run_any(lib.MUSTER, "vesta", "history", path, "--zone", zone, "--data", self.path("data"), *flags)
        self.assertEqual((status, out), (want, ""), err)
        return err

    def settings(self, text, *flags, want=0):
        path = self.path("local_settings.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        status, out, err = self.run_any(lib.MUSTER, "vesta", "settings", path, *flags)
        self.assertEqual(status, want, err)
        return out, err

    def slack_hub(self, slack, into):
        """A hub with these settings, and the standin as Slack."""
        config = os.path.join(into, "muster.yaml")
        with open(config, encoding="utf-8") as f:
            text = f.read()
        slack.section(self.dir)  # writes the app's token
        with open(config, "w", encoding="utf-8") as f:
            f.write(text.replace("\nslack:\n", f"\nslack:\n  api: {slack.url}/api\n  hooks: {slack.url}\n  ca_file: {slack.ca}\n  app_token_file: {self.path('slack-app_token')}\n"))
        return self.start(lib.MUSTER, "hub", "--config", config, "--listen", "127.0.0.1:0", "--data", self.path("data"), env={"no_proxy": "127.0.0.1"})

    def asked(self, hub, name, metric, start, end, step="1m", agg="avg"):
        got = lib.ask_json(hub.url + f"/api/v1/history?device={name}:0&metric={metric}&from={start}&to={end}&step={step}&agg={agg}")
        return got["series"][0]["v"] if got["series"] else []

    def records(self, sql):
        with contextlib.closing(sqlite3.connect(self.path("data/muster.db"))) as db:
            return db.execute(sql).fetchall()


class Reader(Vesta):
    def test_any_bytes_are_plain_data_or_refused(self):
        path = os.path.join(lib.TOP, "src", "compat", "vesta_history.py")
        spec = importlib.util.spec_from_file_location("vesta_history", path)
        reader = importlib.util.module_from_spec(spec)
        with unittest.mock.patch("sys.dont_write_bytecode", True):
            spec.loader.exec_module(reader)
        dice, kinds = random.Random(9), {dict, list, tuple, str, bytes, int, float, bool, type(None)}
        good = [pickle.dumps(v, p) for p in range(pickle.HIGHEST_PROTOCOL + 1) for v in (payload("a"), [1.5, -7, 2**40, (None, True, "ä", ()), {"k": [[]]}])]
        for data in good:
            self.assertEqual(reader.Plain(data).load(), pickle.loads(data))
        read = 0
        for _ in range(20000):
            data = bytearray(dice.choice(good))
            for _ in range(dice.randrange(1, 6)):
                at = dice.randrange(len(data))
                data[at:at + dice.randrange(3)] = bytes(dice.choice((dice.randrange(256), *b"(.0R}]")) for _ in range(dice.randrange(3)))
            try:
                got = reader.unpack(bz2.compress(bytes(data), 1))
            except reader.Refused:
                continue
            read += 1
            self.assertIn(type(got), kinds)
        self.assertTrue(0 < read < 20000, read)


class History(Vesta):
    def test_rows_of_every_protocol_become_history_once(self):
        rows = [(DAY + datetime.timedelta(minutes=i), packed(payload("a", util=i), i % (pickle.HIGHEST_PROTOCOL + 1))) for i in range(60)]
        odd = 'b"; drop table machines; --'
        path = self.database({"a": rows, odd: [(DAY, packed(payload("b", gpus=1)))]})
        with open(path, "rb") as f:
            before = f.read()
        err = self.history(path)
        self.assertIn("vesta: 61 rows of 2 hosts: 61 can be read, 0 refused\n", err)
        self.assertIn("of 61 moments 61 new, 0 there already; 726 samples (0 were there already), 3 processes", err)
        err = self.history(path)  # again: nothing twice
        self.assertIn("of 61 moments 0 new, 61 there already; 726 samples (726 were there already)", err)
        self.assertEqual(self.records("SELECT count(*) FROM processes"), [(3,)])
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)
        more = [(DAY + datetime.timedelta(minutes=60), packed(payload("a", procs=())))]
        err = self.history(self.database({"a": more}))
        self.assertIn("vesta: 62 rows of 2 hosts: 62 can be read, 0 refused\n", err)
        self.assertIn("of 62 moments 1 new, 61 there already; 738 samples (726 were there already)", err)
        proc = "SELECT pid, user, name, first_ms, last_ms, mem_max, ended FROM processes WHERE device = 'GPU-a-0'"
        self.assertEqual(self.records(proc), [(31415, "kim", "train", ms(DAY), ms(rows[-1][0]), 6400 * MIB, 1)])
        self.assertEqual(set(self.records("SELECT key, own_name FROM nodes")), {(self.key("a"), "a"), (self.key(odd), odd)})
        hub = self.start_hub("--keep-raw", "0", "--keep-minute", "0", "--keep-records", "0")
        got = [round(v, 4) for v in self.asked(hub, "a", "util", ms(DAY), ms(DAY) + 3600000)]
        self.assertEqual(got, [i / 100 for i in range(60)])
        self.assertEqual(self.asked(hub, "a", "mem_used", ms(DAY), ms(DAY) + 60000), [8000 * MIB])
        self.assertEqual(self.asked(hub, "a", "temp", ms(DAY), ms(DAY) + 60000), [60])
        self.assertEqual(self.asked(hub, "a", "util", ms(DAY), ms(DAY) + 7200000, "1h", "count"), [60, 1])
        url = hub.url + f"/api/v1/usage?by=person&from={ms(DAY)}&to={ms(DAY) + 3600000}"
        lib.wait_until("kim's three GPUs are counted", lambda: [r["gpus"] for r in lib.ask_json(url)["rows"] if r["key"] == "kim"] == [3])

    def test_a_row_in_the_midst_of_a_minute_is_there_already_when_it_comes_again(self):
        odd_second = DAY + datetime.timedelta(seconds=37)
        path = self.database({"a": [(odd_second, packed(payload("a")))] * 3})  # one second, three rows
        err = self.history(path)
        self.assertIn("vesta: 3 rows of 1 hosts: 3 can be read, 0 refused\n", err)
        self.assertIn("of 1 moments 1 new, 0 there already; ", err)
        self.assertIn("of 1 moments 0 new, 1 there already; ", self.history(path))

    @unittest.skipUnless(os.geteuid() == 0, "only root can leave files to others")
    def test_what_root_brings_in_belongs_to_the_folders_owner(self):
        path = self.database({"a": [(DAY, packed(payload("a")))]})
        self.history(path)
        first = os.listdir(self.path("data"))
        for name in ("", *first):
            os.chown(self.path(f"data/{name}"), 12345, 54321)
        self.history(self.database({"a": [(DAY + datetime.timedelta(minutes=1), packed(payload("a")))]}))
        files = {name: os.stat(self.path(f"data/{name}")) for name in os.listdir(self.path("data"))}
        self.assertGreater(files.keys() - first, set())  # a log of its own
        self.assertEqual({name: (st.st_uid, st.st_gid) for name, st in files.items()}, dict.fromkeys(files, (12345, 54321)))

    def test_a_sender_goes_on_as_the_same_node(self):
        self.history(self.database({"a": [(DAY, packed(payload("a")))]}))
        hub = self.start_hub("--vesta-token", "t")
        body = json.dumps(payload("a"))
        got = lib.ask_json(f"{hub.url}/update/host/{self.ident('a')}?token=t", method="POST", body=body, headers={"Content-Type": "application/json"})
        self.assertEqual(got["status_code"], 200)
        nodes = lib.ask_json(hub.url + "/api/v1/state")["nodes"]
        self.assertEqual([(n["id"], n["name"]) for n in nodes], [(self.key("a"), "a")])
        self.assertNotIn(self.ident("a"), json.dumps(nodes))

    def test_what_is_older_than_raw_history_is_kept_by_the_minute(self):
        old = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0, second=0) - datetime.timedelta(days=40)
        self.history(self.database({"a": [(old + datetime.timedelta(minutes=i), packed(payload("a"))) for i in range(10)]}))
        hub = self.start_hub()
        self.assertEqual(self.asked(hub, "a", "util", ms(old), ms(old) + 600000), [0.5] * 10)

    def test_an_hour_that_comes_twice_is_two(self):
        night = datetime.datetime(2026, 10, 25, 1, 30)
        real = [ms(night, "Europe/Berlin") + i * 600000 for i in range(18)]  # three hours, from 01:30 to 03:20
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
        local = [datetime.datetime.fromtimestamp(t / 1000, berlin).replace(tzinfo=None) for t in real]
        self.assertEqual(len(set(local)), 12)
        path = self.database({"a": [(t, packed(payload("a", util=i))) for i, t in enumerate(local)]})
        out = self.run_ok(lib.MUSTER, "vesta", "history", path, "--zone", "Europe/Berlin", "--jsonl")
        lines = [json.loads(line) for line in out.splitlines()]
        times = sorted(t for s in lines if s.get("metric") == "util" and s["device"] == "GPU-a-0" for t in s["t"])
        self.assertEqual(times, real)
        path = self.database({"b": [(datetime.datetime(2026, 3, 29, 2, 30), packed(payload("b")))]})  # never was
        self.assertIn("0 refused", self.history(path, "--dry-run", zone="Europe/Berlin"))
        status, _, err = self.run_any(lib.MUSTER, "vesta", "history", path, "--jsonl", env={"TZ": "Asia/Tokyo"})
        self.assertEqual(status, 0, err)
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "history", path, "--jsonl", "--zone", "Asia/Tokyo")[1], self.run_any(lib.MUSTER, "vesta", "history", path, "--jsonl", env={"TZ": "Asia/Tokyo"})[1])

    def test_processes_come_and_go(self):
        at = [DAY + datetime.timedelta(minutes=i) for i in range(7)] + [DAY + datetime.timedelta(hours=5)]
        kim, lee, other = ("7", "train", "kim", 100), ("8", "eval", "lee", 200), ("7", "bash", "raj", 5)
        who = [[kim], [kim, lee], [kim], [], [kim], [other], [other], [other]]
        self.history(self.database({"a": [(t, packed(payload("a", gpus=1, procs=w))) for t, w in zip(at, who)]}))
        got = self.records("SELECT pid, user, first_ms, last_ms FROM processes ORDER BY first_ms, pid")
        self.assertEqual(got, [(7, "kim", ms(at[0]), ms(at[2])), (8, "lee", ms(at[1]), ms(at[1])), (7, "kim", ms(at[4]), ms(at[4])), (7, "raj", ms(at[5]), ms(at[6])),
                               (7, "raj", ms(at[7]), ms(at[7]))])

    def hostile(self):
        """Each is refused, and nothing of it is run, built or waited for."""
        marker = self.path("ran")
        laughs = "x"
        for _ in range(60):
            laughs = [laughs] * 2
        deep_dict = {}
        for _ in range(150):
            deep_dict = {"a": deep_dict}
        key = b"\x80\x04}" + b")" + b"\x85" * 150000 + b"Ns."  # a dict whose key is tuples all the way down
        nested = b"(" * 100000 + b"l" * 100000 + b"."
        return [packed(Calls(f"touch {marker}"), p) for p in range(pickle.HIGHEST_PROTOCOL + 1)] + [packed(payload("a") | {"gpu:5": Calls(f"touch {marker}")})] + [
            packed(laughs), packed({f"gpu:{i}": laughs for i in range(3)}), packed(deep_dict), bz2.compress(nested), bz2.compress(key),
            bz2.compress(b"\x80\x04]" + b"]a" * 90000 + b"."),
            bz2.compress(b"\x80\x04]" + b"r\xff\xff\xff\xff" + b"."),  # a memo of 4 thousand million places; then no payload
            bz2.compress(b"\x80\x04\x8e" + b"\xff" * 8 + b"x."), bz2.compress(b"\x80\x04\x8b\xff\xff\xff\x7f."), bz2.compress(b"I" + b"9" * 90000 + b"\n."),
            bz2.compress(b"cos\nsystem\n(S'touch " + marker.encode() + b"'\ntR."), bz2.compress(b"(S'touch " + marker.encode() + b"'\nios\nsystem\n."),
            bz2.compress(b"\x80\x02(cos\nsystem\nS'true'\no."), bz2.compress(b"\x80\x02\x82\x01."), bz2.compress(b"Pabc\n."), bz2.compress(b"N" * 300000), bz2.compress(b"2."), bz2.compress(b""),
            bz2.compress(b"]q\x00h\x00a."), bz2.compress(b"\0" * (200 << 20)), packed(payload("a"))[:-9], b"BZh9 no", b"", None, 7, "text", packed({}.keys().__class__.__name__),
            packed([payload("a")]), packed({"gpu:0": {"device_num": 0}}), packed({"cpu:0": payload("a")["gpu:0"]}), packed({"gpu:0": payload("a")["gpu:0"], "gpu:1": payload("a")["gpu:0"]}),
            packed({1: 2}), packed({"gpu:0": payload("a")["gpu:0"], "gpu:99": payload("z")["gpu:1"]}), packed({"a" * 5: {}}), packed(set()), packed(bytearray(b"x")), packed(complex(1, 2)),
            packed(datetime.datetime(2026, 1, 1)), os.urandom(2 << 20)]

    def test_hostile_rows_are_refused_one_by_one_and_counted(self):
        bad = self.hostile()
        rows = []
        for i, b in enumerate(bad):
            rows += [(DAY + datetime.timedelta(minutes=2 * i), packed(payload("a", gpus=1))), (DAY + datetime.timedelta(minutes=2 * i + 1), b)]
        rows += [(t, packed(payload("a", gpus=1))) for t in (0, -1, 20261399000000, 99991231235959, 2**62)]
        path = self.database({"a": rows})
        err = self.history(path)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertIn(f"vesta: {2 * len(bad) + 5} rows of 1 hosts: {len(bad)} can be read, {len(bad) + 5} refused\n", err)
        said = sum(int(line.split()[2]) for line in err.splitlines() if line.startswith("vesta: refused "))
        self.assertEqual(said, len(bad) + 5, err)
        self.assertIn("more than plain data", err)
        self.assertIn("unpack to too much", err)
        self.assertIn(f"{6 * len(bad)} samples", err)

    def test_a_host_that_cannot_be_read_keeps_no_other_from_it(self):
        path = self.database({"a": [(DAY + datetime.timedelta(minutes=i), packed(payload("a", gpus=1))) for i in range(3)], "z": [(DAY, packed(payload("z", gpus=1)))]})
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("create table odd (x)")
            db.execute("insert into machines values('1', 'odd', 'x')")
            db.execute("create table flat (timestamp INTEGER PRIMARY KEY, data BLOB) WITHOUT ROWID")
            db.execute("insert into machines values('2', 'flat', 'x')")
            db.commit()
        err = self.history(path, want=3)
        self.assertIn("vesta: 4 rows of 4 hosts: 4 can be read, 0 refused\n", err)
        self.assertIn("host 'odd' could not be read to its end: no such column", err)
        self.assertIn("host 'flat' could not be read to its end: no such column", err)
        self.assertIn("not all of the database was read", err)
        self.assertEqual(self.records("SELECT count(*) FROM processes"), [(2,)])

    def test_what_is_no_database_of_vesta_is_said(self):
        other = self.path("other.db")
        with contextlib.closing(sqlite3.connect(other)) as db:
            db.execute("create table t (x)")
        text = self.path("text")
        with open(text, "w", encoding="ascii") as f:
            f.write("hello\n" * 1000)
        for path, what in ((other, "no table machines"), (text, "not a database")):
            self.assertIn(what, self.history(path, want=3))
        for args, want, what in (((), 2, "expected one FILE"), ((other,), 2, "no destination"), ((self.path("none"), "--dry-run"), 3, "cannot open"),
                                 ((other, "--dry-run", "--python", "/nowhere/python3"), 3, "name the interpreter with --python"), ((other, "--dry-run", "--zone", "Mars/Base"), None, "Mars/Base")):
            status, _, err = self.run_any(lib.MUSTER, "vesta", "history", *args)
            self.assertIn(what, err)
            self.assertIn(status, (2, 3) if want is None else (want,))
        with contextlib.closing(sqlite3.connect(other)) as db:  # a machine without a table, one that is a view, one twice
            db.execute("create table machines (id TEXT, name TEXT, ip_address TEXT)")
            db.execute("create view v as with recursive n(i) as (select 1 union all select i + 1 from n) select i as timestamp, i as data from n")
            db.executemany("insert into machines values(?, ?, ?)", [("1", "gone", "x"), ("2", "v", "x"), ("3", "machines", "x"), (None, "t", "x"), ("5", None, "x")])
            db.commit()
        self.assertIn("vesta: 0 rows of 0 hosts", self.history(other, "--dry-run"))


def odd(host, gpus=2):
    """Memory the driver keeps for itself, or has rounded (8161 of 16160 - 8000), and a clock that is not the hub's."""
    got = payload(host, gpus)
    for g, gpu in enumerate(got.values()):
        gpu.update(available_memory=7777 + 384 * g, timestamp=f"2019/03/24 20:00:0{g}.{g}07", temperature=80 - g)
    return got


class Back(Vesta):
    """What a sender sent comes back from /states/ as vesta's server gave it."""

    def states(self, hub, path=""):
        return lib.ask_json(f"{hub.url}/states{path}")

    def sender(self, hub, name):
        ident = lib.ask_json(f"{hub.url}/register/?host_name={name}&token=t")["id"]
        return lambda data: self.assertEqual(lib.ask_json(f"{hub.url}/update/host/{ident}?token=t", method="POST", body=json.dumps(data))["status_code"], 200)

    def test_a_sample_comes_back_as_it_was_sent_now_then_and_after_a_restart(self):
        hub = self.start_hub("--vesta-token", "t")
        post = self.sender(hub, "a")
        for path in ("/", "/a/", "/?fetch_num=3", "/a/?fetch_num=3", ""):
            self.assertEqual(self.states(hub, path), {"a": {"data": [{"gpu_data": {}, "timestamp": "no entry received."}], "ip_address": "127.0.0.1", "status": "running"}}, path)
        post(odd("a"))
        for path in ("/", "/a/", "", "/a", "/?fetch_num=3", "/a/?fetch_num=3"):
            got = self.states(hub, path)["a"]
            self.assertEqual(([e["gpu_data"] for e in got["data"]], got["status"]), ([odd("a")], "running"), path)
        for text in (lib.ask(hub.url + "/?term=1&detail=1")[2], lib.ask(hub.url + "/?list=processes&term=1")[2]):
            self.assertIn("2019/03/24 20:00:01.107", text.decode())
        stamp = got["data"][0]["timestamp"]
        hub.stop()
        hub = self.start_hub("--vesta-token", "t")
        for path in ("/", "/a/", "/?fetch_num=3", "/a/?fetch_num=3"):
            got = self.states(hub, path)["a"]
            self.assertEqual(([e["gpu_data"] for e in got["data"]], got["data"][0]["timestamp"], got["status"]), ([odd("a")], stamp, "waiting for re-uplink"), path)

    def test_what_a_post_does_not_know_is_unknown(self):
        known, sparse = odd("a", gpus=1), odd("a", gpus=1)
        sparse["gpu:0"].update(used_memory="[N/A]", gpu_volatile="[N/A]", processes=[])
        want = {"gpu:0": sparse["gpu:0"] | dict.fromkeys(("used_memory", "available_memory", "gpu_volatile"))}
        hub = self.start_hub("--vesta-token", "t")
        post = self.sender(hub, "a")
        post(known)
        second = int(time.time())
        lib.wait_until("another second", lambda: int(time.time()) > second)
        post(sparse)
        for path in ("/", "/a/"):
            self.assertEqual(self.states(hub, path)["a"]["data"][0]["gpu_data"], want)
        got = lib.wait_until("both are stored", lambda: len(d := self.states(hub, "/a/?fetch_num=2")["a"]["data"]) == 2 and d)
        self.assertEqual([e["gpu_data"] for e in got], [known, want])
        hub.stop()
        hub = self.start_hub("--vesta-token", "t")
        self.assertEqual(self.states(hub, "/a/")["a"]["data"][0]["gpu_data"], want)

    def test_posts_of_other_gpus_within_a_minute_each_come_back(self):
        sent = [payload("a", gpus=1), payload("b", gpus=2), payload("b", gpus=1), payload("a", gpus=2)]
        hub = self.start_hub("--vesta-token", "t")
        post = self.sender(hub, "a")
        for i, data in enumerate(sent):
            second = int(time.time())
            lib.wait_until("another second", lambda s=second: int(time.time()) > s)
            post(data)
            got = lib.wait_until("it is stored", lambda n=i: len(d := self.states(hub, "/a/?fetch_num=9")["a"]["data"]) > n and d)
        self.assertEqual([e["gpu_data"] for e in got], sent)
        hub.stop()
        hub = self.start_hub("--vesta-token", "t")
        self.assertEqual([e["gpu_data"] for e in self.states(hub, "/a/?fetch_num=9")["a"]["data"]], sent)

    def test_a_form_of_times_counts_for_the_hubs_own_and_each_gpu_keeps_its_own(self):
        """vesta: format_timestamp(); of the frames, too."""
        forms = {"YMD": "%Y/%m/%d %H:%M:%S", "MDY": "%m/%d/%Y %H:%M:%S", "DMY": "%d/%m/%Y %H:%M:%S"}
        for word, form in forms.items():
            hub = self.start_hub("--vesta-token", "t", "--vesta-timestamp-format", word, data=self.path("data" + word))
            self.sender(hub, "a")(odd("a"))
            for path in ("/", "/a/", "/?fetch_num=2", "/a/?fetch_num=2"):
                entry, = self.states(hub, path)["a"]["data"]
                self.assertEqual(entry["gpu_data"], odd("a"), path)
                datetime.datetime.strptime(entry["timestamp"], form)
                self.assertEqual(len(entry["timestamp"]), 19)
            self.assertIn("last update: " + entry["timestamp"], lib.ask(f"{hub.url}/?term=1&detail=1")[2].decode())
            hub.stop()
        status, _, err = self.run_any(lib.MUSTER, "config", "check", "-", stdin=b"vesta_timestamp_format: DYM\n")
        self.assertNotEqual(status, 0)
        self.assertIn("is not one of number, YMD, MDY, DMY", err)

    def test_an_import_gives_the_last_row_until_a_host_is_heard_and_is_lost(self):
        days = {"a": 0, "b": 3, "c": 40}  # samples of c are no longer kept, its minutes are
        now = datetime.datetime.fromtimestamp(int(time.time()) // 60 * 60 - 7200 + 37, datetime.timezone.utc).replace(tzinfo=None)
        rows = {name: [(now - datetime.timedelta(days=d, minutes=i), packed(odd(name) if i == 0 else payload(name))) for i in (2, 1, 0)] for name, d in days.items()}
        self.history(self.database(rows))
        hub = self.start_hub("--vesta-token", "t")
        for name in days:
            last = int(rows[name][-1][0].strftime("%Y%m%d%H%M%S"))
            for path in (f"/{name}/", "/", f"/{name}/?fetch_num=2", "/?fetch_num=2"):
                got = self.states(hub, path)[name]
                self.assertEqual((got["data"][-1]["gpu_data"], got["status"], got["ip_address"]), (odd(name), "waiting for re-uplink", "10.0.0.1"), (name, path))
                self.assertEqual(len(got["data"]), 2 if "fetch_num" in path else 1)
                coarse = 100 if name == "c" else 1
                self.assertEqual(got["data"][-1]["timestamp"] // coarse, last // coarse, (name, path))
            self.assertEqual(self.states(hub, f"/{name}/?fetch_num=2")[name]["data"][0]["gpu_data"], payload(name))


class Stream(Vesta):
    def test_the_example_of_the_docs_prints_what_the_websocket_sent(self):
        with open(os.path.join(lib.TOP, "docs", "migrating", "vesta.md"), encoding="utf-8") as f:
            example, = re.findall(r"```python\n(.*?)```", f.read(), re.S)
        self.assertLessEqual(len(example.splitlines()), 10)
        hub = self.start_hub("--vesta-token", "t", "--read", "token")
        ident = lib.ask_json(f"{hub.url}/register/?host_name=gpu01&token=t")["id"]
        post = lambda data: lib.ask_json(f"{hub.url}/update/host/{ident}?token=t", method="POST", body=json.dumps(data))
        post(odd("a"))
        reader = self.start("/usr/bin/python3", "-c", example, env={"HUB": hub.url, "MUSTER_TOKEN": self.token("reader"), "no_proxy": "*"})

        def updates():
            return [json.loads(line)["update"]["gpu01"] for line in reader.text.splitlines() if line.startswith('{"update"')]

        first = lib.wait_until("the state at the beginning", updates)[0]
        self.assertEqual((first["data"][0]["gpu_data"], first["ip_address"], first["status"]), (odd("a"), "127.0.0.1", "running"))
        post(payload("a", util=77))
        lib.wait_until("the host that posted", lambda: any(u["data"][0]["gpu_data"] == payload("a", util=77) for u in updates()))


class Pages(Vesta):
    def test_pages_have_so_many_hosts_each_and_an_end(self):
        """vesta: host_order[PAGE_PER_HOST_NUM * (page - 1):PAGE_PER_HOST_NUM * page]; past the end a frame without hosts; page 0 is all, below it 404."""
        hub = self.start_hub("--vesta-token", "t", "--vesta-page-hosts", "3")
        names = [f"h{i}" for i in range(7)]
        for name in names:
            lib.ask_json(f"{hub.url}/register/?host_name={name}&token=t")
        for detail in ("", "&detail=1"):
            text = [lib.ask(f"{hub.url}/?term=true{detail}&page={n}")[2].decode() for n in range(6)]
            shown = [[n for n in names if f" {n} " in t] for t in text]
            self.assertEqual(shown, [names] + [names[3 * (n - 1):3 * n] for n in range(1, 6)])
            self.assertEqual(text[0], lib.ask(f"{hub.url}/?term=true{detail}")[2].decode())
            self.assertEqual(text[0], lib.ask(f"{hub.url}/?term=true{detail}&page=x")[2].decode())
            self.assertTrue(text[1].startswith(text[4]), text[4])  # the head of the frame alone
            self.assertEqual(lib.ask_json(f"{hub.url}/?term=true{detail}&page=-1"), {"status": "ERROR", "status_code": 404, "message": "invalid page number."})

    def test_the_table_page_has_every_host_and_its_own_title(self):
        """vesta: gpu_table.html: per host GPU ID, GPU Name and Memory Usage, the server's time on top."""
        browser = {"User-Agent": "Mozilla/5.0", "Accept": "text/html"}
        hub = self.start_hub("--vesta-token", "t", "--vesta-table-title", "Our <tables>", "--vesta-table-about", "of all & each", "--page-about", "ask <kim>", "--vesta-timestamp-format", "DMY")
        ident = lib.ask_json(f"{hub.url}/register/?host_name=h0&token=t")["id"]
        lib.ask_json(f"{hub.url}/update/host/{ident}?token=t", method="POST", body=json.dumps(odd("a")))
        lib.ask_json(f"{hub.url}/register/?host_name=h1&token=t")
        _, headers, page = lib.ask(hub.url + "/gpu_table", headers=browser)
        self.assertIn("default-src 'none'", headers["content-security-policy"])
        text = page.decode()
        for want in ("<h1>Our &lt;tables&gt;<small>of all &amp; each</small></h1>", "<th colspan=3>h0 (127.0.0.1)</th>", "<th>GPU ID</th><th>GPU Name</th><th>Memory Usage</th>",
                     "<tr><td>1</td><td>Tesla V100</td><td>8000 / 16160 MiB</td></tr>", "<th colspan=3>h1 (127.0.0.1)</th>"):
            self.assertIn(want, text)
        self.assertRegex(text, r"<p>last update: \d\d/\d\d/\d{4} \d\d:\d\d:\d\d</p>")
        self.assertIn('"about":"ask \\u003ckim>"', lib.ask(hub.url + "/", headers=browser)[2].decode())
        hub.stop()
        hub = self.start_hub("--read", "token")  # who may not read logs in on the page
        self.assertNotIn(b"Tesla", lib.ask(hub.url + "/gpu_table", headers=browser)[2])

    def test_a_host_that_is_down_keeps_its_box(self):
        hub = self.start_hub("--vesta-token", "t", "--rule-down-after", "2s", "--rule-down-exact")
        ident = lib.ask_json(f"{hub.url}/register/?host_name=h0&token=t")["id"]
        lib.ask_json(f"{hub.url}/update/host/{ident}?token=t", method="POST", body=json.dumps(odd("a")))
        lib.wait_until("it is down", lambda: lib.ask_json(f"{hub.url}/states/")["h0"]["status"] == "down")
        text = lib.ask(f"{hub.url}/?term=true&detail=true")[2].decode()
        lines = text.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("#### h0 :: 127.0.0.1 "))
        box = lines[at + 2:]  # as vesta's format_gpu_detail_info has it for a host without data
        self.assertEqual(box[:3] + box[4:], ["-" * 80, "  ┌" + "─" * 74 + "┐", "  │" + " " * 74 + "│", "  │" + " " * 74 + "│", "  └" + "─" * 74 + "┘", "_" * 80])
        self.assertRegex(box[3], "^  │  status: offline, no data for .{43}│$")
        self.assertNotIn("Tesla", text)


SECRETS = {"TOKEN": "hidden-token-1", "SLACK_WEBHOOK": "https://hooks.slack.com/services/T0/B0/hidden-hook-2", "SLACK_BOT_TOKEN": "xoxb-hidden-bot-3"}
# Every key that vesta 1.0.0 or 1.2.5 has, and one that neither has.
EVERY = """
IP: gpus.lab.example
PORT_NUM: 8081
TOKEN: '{TOKEN}'
SERVER_NAME: gpu_monitor
BIND_HOST: 0.0.0.0
DB_NAME: states.db
DB_DIR: /srv/vesta
TIMESTAMP_FORMAT: DMY
PAGE_PER_HOST_NUM: 8
MAIN_PAGE_TITLE: "The \\"best\\" GPUs"
MAIN_PAGE_DESCRIPTION: below
TABLE_PAGE_TITLE: Tables
TABLE_PAGE_DESCRIPTION: beside
TERM_WIDTH: 100
SORT_BY: name
SERVER_SLEEP_TIME: 5
DOWN_TH: 90
WS_RECEIVE_TIMEOUT: 1
SLACK_BOT_SLEEP_TIME: 1
SAVE_INTERVAL: 60
SLACK_WEBHOOK: "{SLACK_WEBHOOK}"
SLACK_BOT_TOKEN: "{SLACK_BOT_TOKEN}"
SLACK_BOT_POST_CHANNEL: "#gpus"
VALID_NETWORK: ^192\\.168\\.
SCHEDULE_FUNCTION:
  - 'schedule.every().day.at("00:00").do(self.send_hosts_statuses, "SCHEDULED_STATUS_REPORT")'
  - '__import__("os").system("touch {marker}")'
REGISTER_UPLINK_MSG: "new `{{}}`"
RE_UPLINK_MSG: "`{{}}` is back"
HOST_DOWN_MSG: "lost `{{host_name}}` for {{lost_th}} sec"
SERVER_UP_MSG: "started\\non `{{ip}}:{{port}}/`"
SERVER_INFO_MSG: "on `{{ip}}`"
SLACKBOT_MEMBER_JOINED_CHANNEL_MSG: "Hi {{user}}!"
KEYWORD_CMD_PREFIX: "!"
KEYWORD_PRINT_HOSTS: HOSTS
KEYWORD_PRINT_ALL_HOSTS: EVERYTHING
KEYWORD_PRINT_ALL_HOSTS_CMD: ALL_cmd
KEYWORD_PRINT_ALL_HOSTS_DETAIL: ""
KEYWORD_PRINT_HELP: HELP
KEYWORD_PRINT_HOST_INFO: WHERE
QUIET: true
DEBUG: false
SSL_CERT: ""
SSL_KEY: ""
NVIDIA_SMI_PARSE_VER: 2
SOMETHING_ELSE: 7
"""


class Settings(Vesta):
    def every(self):
        return EVERY.format(marker=self.path("ran"), **SECRETS)

    def test_every_key_has_a_line_and_secrets_have_files(self):
        text = self.every()
        out, err = self.settings(text)
        keys = [line.split(":")[0] for line in text.splitlines() if line and line[0].isupper()]
        self.assertEqual([line.split(":")[0] for line in err.splitlines()], keys)
        for line in err.splitlines():
            self.assertRegex(line, r"^[A-Z_]+: \S")
        self.assertIn("SOMETHING_ELSE: left out: vesta has no such key", err)
        into = self.path("etc")
        printed, said = self.settings(text, "--into", into)
        self.assertEqual((printed, said), ("", err))
        with open(os.path.join(into, "muster.yaml"), encoding="utf-8") as f:
            written = f.read()
        self.assertEqual(written, out.replace("/etc/muster", into))
        for secret in SECRETS.values():
            for where in (out, err, written):
                self.assertNotIn(secret, where)
        for name, secret in (("vesta.token", "TOKEN"), ("slack.url", "SLACK_WEBHOOK"), ("slack-bot.token", "SLACK_BOT_TOKEN")):
            path = os.path.join(into, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, encoding="ascii") as f:
                self.assertEqual(f.read(), SECRETS[secret] + "\n")
        for want in ('listen: ["0.0.0.0:8081"]', 'name: "The \\"best\\" GPUs"', 'host_names: ["gpus.lab.example"]', "read: open\nread_from: [192.168.0.0/16]\n", "  down_after: 90s\n  down_exact: true\n", "log_level: warn", "vesta_page_hosts: 8", "vesta_timestamp_format: DMY", 'page:\n  about: "below"\n', 'vesta_table:\n  title: "Tables"\n  about: "beside"\n',
                     "  vesta: {type: slack, ", "severity: warning, each: true}", '  channel: "#gpus"', '  prefix: "!"',
                     '  keywords: {hosts: "HOSTS", all: "EVERYTHING", all_cmd: "ALL_cmd", all_detail: "", help: "HELP", where: "WHERE"}',
                     '  node-new: {channel: vesta, text: "new `{}`"}',
                     "  hub-up: {channel: vesta, text: \"started on `gpus.lab.example:8081/`\"}",
                     '  node-down: {clear: 0s, remind: off, text: "lost `{host_name}` for {lost_th} sec", resolved_text: "`{}` is back"}', '  vesta: {every: day, at: "00:00", what: processes, channel: slack-bot}',
                     "# history: muster vesta history /srv/vesta/states.db --data DIR"):
            self.assertIn(want, written)
        self.assertNotIn("type: slack-bot", written)  # the webhook tells; the bot has its report, and answers
        self.assertIn("1 of its statements left out: Python is not run here", err)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.run_ok(lib.MUSTER, "config", "check", os.path.join(into, "muster.yaml"))
        _, err = self.settings(text, "--into", into, want=3)  # what is there is left alone
        self.assertIn("is there already; nothing was written", err)
        os.remove(os.path.join(into, "muster.yaml"))
        self.settings(text.replace("hidden-token-1", "another"), "--into", into, want=3)
        self.assertFalse(os.path.exists(os.path.join(into, "muster.yaml")))
        with open(os.path.join(into, "vesta.token"), encoding="ascii") as f:
            self.assertEqual(f.read(), "hidden-token-1\n")

    def test_networks_are_blocks_that_hold_the_same_addresses(self):
        """vesta: re.search(VALID_NETWORK, remote_addr). What is not a beginning of addresses, dot by dot, is refused."""
        dice = random.Random(3)
        for net in (r"^192\.168\.", r"^10\.", r"^10\.1\.|^192\.168\.7\.", r"^10[.]1[.]2\..*", r"^172\.16\.0\.9$", r"^127\.0\.0\.1$|^10\.0\..*$"):
            out, err = self.check(f"VALID_NETWORK: '{net}'\n")
            blocks = [ipaddress.ip_network(b) for b in re.search(r"(?m)^read_from: \[(.*)\]$", out).group(1).split(", ")]
            self.assertIn("\n# addresses of read_from read without a token; others cannot read, even with one\nread: open\n", out)
            self.assertRegex(err, rf"^VALID_NETWORK: read: open and read_from: addresses in {re.escape(', '.join(map(str, blocks)))} read without a token, as with vesta; others cannot read")
            for _ in range(3000):
                first = dice.choice(("192.168.7", "192.168.77", "10.1.2", "10.11.2", "10.0.0", "172.16.0", "127.0.0", "10.192.168", f"{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(256)}"))
                address = f"{first}.{dice.choice((1, 9, 90, dice.randrange(256)))}"
                self.assertEqual(any(ipaddress.ip_address(address) in b for b in blocks), re.search(net, address) is not None, (net, address))
        for text, said in (("VALID_NETWORK: 127.0.0.1\n", ""), ("", "not set, so vesta's own: ")):  # what it has where nothing says another
            out, err = self.check(text)
            self.assertIn("\nread: open\nread_from: [127.0.0.1]\n", out)
            self.assertRegex(err, f"(?m)^VALID_NETWORK: {said}read: open and read_from: addresses in 127.0.0.1 read without a token")
        for net in (r"192\.168\.", "^192.168.", r"^10\.1", r"^10\.1\.|192\.168\.", r"^10\.300\.", r"^(10\.|192\.)", r"^10\.0\.0\.1", r"^10\.0\.0\.1\.", r"^fe80:", r"^10\.[0-9]", r"^1234\.", r"^010\."):
            out, err = self.check(f"VALID_NETWORK: '{net}'\n")
            self.assertIn("read: token\n", out)
            self.assertNotIn("read_from:", out)
            self.assertRegex(err, "^VALID_NETWORK: left out: only anchored beginnings")
            self.assertIn("read: token: every reader needs a token", err)

    def test_an_address_is_asked_for_beside_the_token_and_never_instead(self):
        paths = ("/states/", "/?term", "/gpu_table?term", "/api/v1/state", "/metrics")
        hub = self.start_hub("--read", "token", "--read-from", "10.1.0.0/16", "--vesta-token", "t")
        good = {"Authorization": "Bearer " + self.token("reader")}
        for path in paths:
            for headers in ({}, good):
                status, _, body = lib.ask(hub.url + path, headers=headers)
                self.assertEqual(status, 403, path)
                self.assertIn(b"127.0.0.1 is not one of them", body)
        self.assertEqual(lib.ask_json(hub.url + "/register/?host_name=a&token=t")["status_code"], 200)  # senders are not asked
        hub.stop()
        hub = self.start_hub("--read-from", "10.1.0.0/16", "--proxy-from", "127.0.0.1")  # open, but to these; a proxy says who asks
        self.assertEqual([lib.ask(hub.url + "/states/", headers={"X-Forwarded-For": a})[0] for a in ("10.1.2.3", "10.2.2.3", "10.2.2.3, 10.1.2.3")], [200, 403, 200])
        self.assertEqual(lib.ask(hub.url + "/states/")[0], 403)
        hub.stop()
        hub = self.start_hub("--read", "token", "--read-from", "127.0.0.0/8", "--read-from", "10.1.0.0/16")
        for path in paths:
            self.assertEqual([lib.ask(hub.url + path, headers=h)[0] for h in ({}, good)], [401, 200], path)
        self.assertIn("read_from 'x' is not an address", self.run_any(lib.MUSTER, "config", "check", "-", stdin=b"read_from: [x]\n")[2])

    def test_flags_of_the_server_are_settings_and_the_file_counts_before_them(self):
        flags = ["--port_num", "8081", "--token=hidden-token-1", "--slack_bot_token", SECRETS["SLACK_BOT_TOKEN"], "-quiet", "--down_th", "15", "--host_down_msg", "lost {host_name}, {lost_th} s",
                 "--shedule_function", 'schedule.every().day.at("06:30").do(self.send_hosts_statuses)', "exit()", "--server_name", "lab"]
        status, out, err = self.run_any(lib.MUSTER, "vesta", "settings", "--", *flags)
        self.assertEqual(status, 0, err)
        for want in ('listen: ["0.0.0.0:8081"]', 'name: "lab"', "vesta_token_file: ", "  down_after: 15s", "log_level: warn", 'text: "lost {host_name}, {lost_th} s"', 'at: "06:30"'):
            self.assertIn(want, out)
        self.assertNotIn("hidden", out + err)
        self.assertIn("SCHEDULE_FUNCTION: reports.vesta; 1 of its statements left out", err)
        both, said = self.settings("PORT_NUM: 9000\n", "--", *flags)
        self.assertEqual(both, out.replace("8081", "9000"))
        self.assertEqual(sorted(said.splitlines()), sorted(err.splitlines()))
        path = self.path("local_settings.yaml")
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "settings", "--", *flags, "--local_settings_yaml_path", path)[1], both)
        short = ["--port", "8081", "--tok=hidden-token-1", "--slack_bot_t", SECRETS["SLACK_BOT_TOKEN"], "-q", *flags[6:10], "--sh", *flags[11:13], "--server_n", "lab"]  # argparse: a beginning of one alone
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "settings", "--", *short)[1], out)
        status, _, err = self.run_any(lib.MUSTER, "vesta", "settings", "--port_num", "8081")
        self.assertEqual((status, "put flags of another program behind --" in err), (2, True), err)
        for bad, why in ((["--port_num"], "needs a value"), (["--Port-num", "1"], "'--Port-num' is not a flag"), (["--port_nummer", "1"], "'--port_nummer' is not a flag"), (["--no_such=1"], "'--no_such' is not a flag"),
                         (["--server", "x"], "several flags of gpu_status_server.py start with '--server'"), (["-verbose"], "'-verbose' is not a flag"), (["a", "b"], "one FILE"), (["--", "-"], "not a flag")):
            status, _, err = self.run_any(lib.MUSTER, "vesta", "settings", "--", *bad)
            self.assertEqual(status, 2, err)
            self.assertIn(why, err)

    def test_of_what_is_given_twice_the_last_counts(self):
        """As Python's yaml.load and argparse have it."""
        out, err = self.settings("PORT_NUM: 9000\nSERVER_NAME: first\nDOWN_TH: 20\nPORT_NUM: 9001\nDOWN_TH: 30\nSERVER_NAME: last\n", "--", "--token", "a", "--main_page_title", "b", "--token", "c", "--main_page_title", "d", "--down_th", "40")
        for want in ('listen: ["0.0.0.0:9001"]', 'name: "d"', "  down_after: 30s"):
            self.assertIn(want, out)
        for key in ("PORT_NUM", "DOWN_TH", "TOKEN"):
            self.assertEqual(err.count(f"\n{key}: ") + err.startswith(f"{key}: "), 1, err)

    def test_a_relative_folder_is_named_whole(self):
        top = self.path("elsewhere")
        os.mkdir(top)
        text = self.path("local_settings.yaml")
        with open(text, "w", encoding="utf-8") as f:
            f.write("TOKEN: t\n")
        for into in ("etc", "./new/etc"):
            status, _, err = self.run_any(os.path.abspath(lib.MUSTER), "vesta", "settings", text, "--into", into, cwd=top)
            self.assertEqual(status, 0, err)
            with open(os.path.join(top, into, "muster.yaml"), encoding="utf-8") as f:
                self.assertIn(f'vesta_token_file: "{os.path.realpath(top)}/{into.removeprefix("./")}/vesta.token"\n', f.read())

    def test_texts_that_are_not_set_are_vestas_own(self):
        """vesta: the defaults of gpu_status_server.py, 1.0.0 and 1.2.5; only where somebody is told."""
        usual = {"REGISTER_UPLINK_MSG": ("node-new", "⬆︎⬆︎⬆︎ `Uplink` Detected - New uplink from `{}`. Hello!"),
                 "RE_UPLINK_MSG": ("node-down", "⬆︎⬆︎⬆︎ `  Up  ` Detected - Uplink from `{}`. Welcome back!"),
                 "HOST_DOWN_MSG": ("node-down", "⬇︎⬇︎⬇︎ ` Down ` Detected - Connection from `{host_name}` has been lost more than {lost_th} sec. Check network and machine.")}
        for told, channel in ((f"SLACK_WEBHOOK: {SECRETS['SLACK_WEBHOOK']}\n", "vesta"), (f"SLACK_BOT_TOKEN: {SECRETS['SLACK_BOT_TOKEN']}\n", "vesta-bot")):
            out, err = self.check(told)
            new, back, down = (json.dumps(usual[key][1], ensure_ascii=False) for key in usual)
            self.assertIn(f"  node-new: {{channel: {channel}, text: {new}}}\n  node-down: {{clear: 0s, remind: off, text: {down}, resolved_text: {back}}}\n", out)
            for key, (rule, _) in usual.items():
                self.assertIn(f"{key}: not set, so vesta's own: alerts.{rule}.{'resolved_text' if key == 'RE_UPLINK_MSG' else 'text'}\n", err)
            self.assertNotIn("hub-up", out)  # 1.0.0 says nothing then
            out, err = self.check(told + "RE_UPLINK_MSG: '{} again'\nHOST_DOWN_MSG: ''\n")
            self.assertIn('  node-down: {clear: 0s, remind: off, resolved_text: "{} again"}\n', out)
            self.assertEqual(err.count("not set, so vesta's own: alerts."), 1)
        self.assertNotIn("alerts", "".join(self.check("")))

    def check(self, text):
        out, err = self.settings(text)
        status, _, said = self.run_any(lib.MUSTER, "config", "check", "-", stdin=out.encode())
        self.assertEqual(status, 0, said + out)
        return out, err

    def test_what_is_odd_is_left_out_and_the_rest_is_good(self):
        out, err = self.check("")
        self.assertIn('listen: ["0.0.0.0:8080"]', out)
        self.assertIn("rule:\n  down_after: 60s\n  down_exact: true\n", out)  # vesta's own
        self.assertIn("DOWN_TH: not set, so vesta's own: rule.down_after: 60 s", err)
        self.assertIn('vesta_token_file: "/etc/muster/vesta.token"', out)  # vesta's senders give 0000 unless told
        self.assertIn("TOKEN: not set, so vesta's own", err)
        self.assertNotIn("TOKEN: not set", self.check("TOKEN: ''\n")[1])
        for text, key, why in (("PORT_NUM: http", "PORT_NUM", "not a port"), ("PORT_NUM: 99999", "PORT_NUM", "not a port"), ("BIND_HOST: 'a b'", "BIND_HOST", "not an address"),
                               ("DOWN_TH: soon", "DOWN_TH", "not a number of seconds; rule.down_after has vesta's own, 60 s"), ("TOKEN: ''", "TOKEN", "it is empty"), ("TOKEN: '0000'", "TOKEN", "is public"),
                               ("SLACK_WEBHOOK: 'https://hooks.slack.com/services/<your web hook>'", "SLACK_WEBHOOK", "not an address"), ("SLACK_WEBHOOK:", "SLACK_WEBHOOK", "not needed"),
                               ("SLACK_BOT_TOKEN: your BOT token", "SLACK_BOT_TOKEN", "not a token"), ("HOST_DOWN_MSG: 'x {} {} {}'", "HOST_DOWN_MSG", "too many {}"),
                               ("RE_UPLINK_MSG: '{name}'", "RE_UPLINK_MSG", "{name} is not known"), ("KEYWORD_PRINT_HELP: H", "KEYWORD_PRINT_HELP", "no bot"),
                               ("VALID_NETWORK: '.*'", "VALID_NETWORK", "read: open"), ("SCHEDULE_FUNCTION: [1, [2], {a: b}, '']", "SCHEDULE_FUNCTION", "4 of its statements left out"),
                               ("TIMESTAMP_FORMAT: ISO", "TIMESTAMP_FORMAT", "vesta_timestamp_format: MDY, as vesta took"), ("IP: 10.0.0.1", "IP", "not needed"), ("BIND_HOST: '::1'", "BIND_HOST", "listen")):
            out, err = self.check(text + "\n")
            self.assertRegex(err, f"(?m)^{key}: .*{why}")
        self.assertIn('listen: ["[::1]:8080"]', out)
        for given, form in (("ymd", "YMD"), ("Dmy", "DMY"), ("MDY", "MDY"), ("iso", "MDY"), ("''", "MDY")):  # vesta: TIMESTAMP_FORMAT.lower(), else MDY
            self.assertIn(f"\nvesta_timestamp_format: {form}\n", self.check(f"TIMESTAMP_FORMAT: {given}\n")[0])
        self.assertNotIn("vesta_timestamp_format", self.check("")[0])
        for text in ("- a", "a: [", "a: &x 1", "\0"):
            self.settings(text, want=1)
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "settings", self.path("none"))[0], 3)
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "settings")[0], 2)
        self.assertEqual(self.run_any(lib.MUSTER, "vesta", "nonsense")[0], 2)


class Told(Vesta):
    def test_hosts_that_come_go_and_return_are_told_of_in_vestas_own_words(self):
        standin = hook_standin.started(self)
        into = self.path("etc")
        self.settings(f"""
TOKEN: t
DOWN_TH: 9
SLACK_WEBHOOK: "http://127.0.0.1:{standin.server_port}/hidden"
REGISTER_UPLINK_MSG: "⬆ `Uplink` Detected - New uplink from `{{}}`. Hello!"
RE_UPLINK_MSG: "`{{}}` is back"
HOST_DOWN_MSG: "⬇ Connection from `{{}}` has been lost more than {{}} sec."
SERVER_UP_MSG: "Server has been started. (bind : `{{bind_host}}`)"
""", "--into", into)
        hub = self.start(lib.MUSTER, "hub", "--config", os.path.join(into, "muster.yaml"), "--listen", "127.0.0.1:0", "--data", self.path("data"))
        url = hub.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        ident = lib.ask_json(url + "/register/?host_name=gpu01&token=t")["id"]

        def post():
            self.assertEqual(lib.ask_json(f"{url}/update/host/{ident}?token=t", method="POST", body=json.dumps(payload("a")))["status_code"], 200)

        def heard(text, speak=lambda: None):
            return lib.wait_until(text, lambda: (speak(), text in [json.loads(g["body"])["text"] for g in standin.of("/hidden")])[1])

        post()  # how often it posts is not known yet: DOWN_TH counts all the same
        heard("Server has been started. (bind : `0.0.0.0`)")
        heard("⬆ `Uplink` Detected - New uplink from `gpu01`. Hello!")
        down, back = "⬇ Connection from `gpu01` has been lost more than 9 sec.", "`gpu01` is back"
        said = lambda: [json.loads(g["body"])["text"] for g in standin.of("/hidden")]
        for outage in (1, 2):
            lib.wait_until(f"outage {outage}", lambda n=outage: said().count(down) >= n)
            lib.wait_until(f"it is back from outage {outage}", lambda n=outage: (post(), said().count(back) >= n)[1])
        told = said()[2:]
        self.assertEqual(told, [down, back] * (len(told) // 2))  # each down has its up, in order: the last word is how it is
        self.assertNotIn("hidden", hub.text)

    def test_the_webhook_alone_tells_each_host_by_itself_and_the_bot_has_its_report(self):
        standin, slack, into = hook_standin.started(self), Slack(self.dir), self.path("etc")
        self.addCleanup(slack.stop)
        self.settings(f"""
TOKEN: t
DOWN_TH: 9
SLACK_WEBHOOK: "http://127.0.0.1:{standin.server_port}/hidden"
SLACK_BOT_TOKEN: {slack_standin.BOT}
SLACK_BOT_POST_CHANNEL: "#gpus"
REGISTER_UPLINK_MSG: "new {{}}"
HOST_DOWN_MSG: "lost {{host_name}} for {{lost_th}} sec"
SCHEDULE_FUNCTION:
  - 'schedule.every().day.at("00:00").do(self.send_hosts_statuses, "SCHEDULED_STATUS_REPORT")'
""", "--into", into)
        hub = self.slack_hub(slack, into)
        url = hub.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        names = [f"gpu0{i}" for i in range(4)]
        ids = [lib.ask_json(f"{url}/register/?host_name={n}&token=t")["id"] for n in names]
        for ident in ids:
            self.assertEqual(lib.ask_json(f"{url}/update/host/{ident}?token=t", method="POST", body=json.dumps(odd(ident)))["status_code"], 200)
        want = sorted([f"new {n}" for n in names] + [f"lost {n} for 9 sec" for n in names])
        said = lambda: sorted(json.loads(g["body"])["text"] for g in standin.of("/hidden"))
        lib.wait_until("each is told of by itself", lambda: len(said()) >= len(want))
        self.assertEqual(said(), want)
        env = {"MUSTER_HUB": url, "MUSTER_TOKEN": self.token("admin")}

        def report():
            lib.ask_json(f"{url}/update/host/{ids[1]}?token=t", method="POST", body=json.dumps(odd(ids[1])))
            self.run_ok(lib.MUSTER, "reports", "send", "vesta", env=env)
            return [p["files"] for p in list(slack.posts) if p.get("files") and b"Alive" in p["files"][0][1]]

        (name, text), = lib.wait_until("a report in which one is alive", report, pause=1)[0]
        gpus = "".join(f"    [gpu:{g} (Tesla V100)] 2019/03/24 20:00:0{g}.{g}07\n        └── {'train':25} {6400:6}MiB kim\n" for g in range(2))
        self.assertEqual((name, text.decode()), ("statuses.txt", "".join(f"{n:16} : {'Alive' if n == 'gpu01' else 'DEAD'}\n{gpus if n == 'gpu01' else ''}\n" for n in names)))
        self.assertEqual([p["text"] for p in slack.posts if "lost" in p.get("text", "") or "new" in p.get("text", "")], [])
        self.assertEqual(slack.faults, [])


class Notified(Vesta):
    def notify(self, hub, body, token="t"):
        return lib.ask_json(f"{hub.url}/notification/send_notification/slack/?token={token}", method="POST", body=body if isinstance(body, str) else json.dumps(body))

    def test_the_bot_says_it_to_whom_it_is_for(self):
        slack = Slack(self.dir)
        self.addCleanup(slack.stop)
        slack.users = {"U0KIMKIM": "kim@x.example", "U0LEELEE": "lee@x.example"}
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(slack.section(self.dir) + "channels: {bot: {type: slack-bot}}\nvesta_token: t\npeople:\n  kim: {logins: [kim], slack: U0KIMKIM}\n"
                    "  lee: {logins: [lee], name: Lee Doe, mail: lee@x.example}\n  raj: {logins: [raj]}\n")
        hub = self.start_hub("--config", self.path("muster.yaml"))
        for to, text in (("kim", "first"), ("Lee Doe", "a <b> & c\nsecond line"), ("U0KIMKIM", "by id"), ("lee@x.example", "by mail")):
            self.assertEqual(self.notify(hub, {"text": text, "to": to}), {"status": "OK", "status_code": 200})
        lib.wait_until("four posts", lambda: len(slack.posts) == 4)
        got = {(p["channel"], p["text"]) for p in slack.posts}
        self.assertEqual(got, {("DU0KIMKIM", "first"), ("DU0LEELEE", "a &lt;b&gt; &amp; c\nsecond line"), ("DU0KIMKIM", "by id"), ("DU0LEELEE", "by mail")})
        for body, token, code in (({"text": "x", "to": "raj"}, "t", 400), ({"text": "x", "to": "nobody"}, "t", 400), ({"text": "", "to": "kim"}, "t", 400), ({"text": "x"}, "t", 400),
                                  ({"text": "x" * 5000, "to": "kim"}, "t", 400), ({"text": 7, "to": "kim"}, "t", 400), ("[]", "t", 400), ("{", "t", 400), ("", "t", 400),
                                  ({"text": "x", "to": "kim"}, "wrong", 403), ({"text": "x", "to": "a\0@b"}, "t", 400)):
            self.assertEqual(self.notify(hub, body, token)["status_code"], code, body)
        self.assertEqual(len(slack.posts), 4)
        self.assertEqual(slack.faults, [])

    def test_the_old_keywords_are_answered_to_everybody(self):
        slack = Slack(self.dir)
        self.addCleanup(slack.stop)
        into = self.path("etc")
        self.settings(f"TOKEN: t\nSLACK_BOT_TOKEN: {slack_standin.BOT}\nSLACK_BOT_POST_CHANNEL: '#gpus'\nKEYWORD_CMD_PREFIX: '!'\nKEYWORD_PRINT_HOSTS: MACHINES\nKEYWORD_PRINT_HELP: ''\n", "--into", into)
        hub = self.slack_hub(slack, into)
        url = hub.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        lib.ask_json(url + "/register/?host_name=gpu01&token=t")
        lib.wait_until("Socket Mode is connected", slack.live)
        for text in ("MACHINES", "!HOSTS", "!HELP", "!", "talk of !MACHINES", "!MACHINES"):  # the last alone is one
            slack.envelope("events_api", slack.message(text, user="U9"))
        said = lib.wait_until("an answer with its file", lambda: [p for p in slack.posts if p.get("files")])
        lib.wait_until("all are acknowledged", lambda: not slack.waiting)
        self.assertIn(b"gpu01", said[0]["files"][0][1])
        self.assertEqual(len({p.get("thread_ts") for p in slack.posts if "New uplink" not in p.get("text", "")}), 1, slack.posts)
        self.assertEqual(slack.faults, [])

    def test_without_a_bot_it_says_so(self):
        hub = self.start_hub("--vesta-token", "t")
        got = self.notify(hub, {"text": "x", "to": "kim"})
        self.assertEqual((got["status"], got["status_code"]), ("ERROR", 500))


if __name__ == "__main__":
    lib.main()
