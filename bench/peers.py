#!/usr/bin/python3
"""History beside its peers: the same generated telemetry in muster, VictoriaMetrics, Prometheus and ClickHouse, in one run.

Each is fed everything in bulk, made to merge what it has and measured on disk; then all are started again and asked the same questions in turns, over
one keep-alive connection each; then each takes the same hosts live, a tick per second. Every store must give the same sum of power, or the run fails. CPU and memory are
what the kernel counted for the server's process. Prints markdown; peers that are not installed are left out (--install gets them from Debian).

    bench/peers.py [--gpus 1000] [--ticks 600] [--runs 3] [--only muster,victoria,...] [--parts bulk,ask,live] [--live 30] [--json FILE] [--again FILE] [--install]
"""
import argparse
import contextlib
import json
import mmap
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
from urllib.parse import urlencode

import lib

NAMES = ("gpu_util mem_copy_util enc_util dec_util fb_used_mib fb_free_mib fb_reserved_mib bar1_used_mib temp_c mem_temp_c power_mw power_limit_mw energy_mj sm_clock_mhz "
         "mem_clock_mhz video_clock_mhz pcie_tx_kbps pcie_rx_kbps pcie_replay nvlink_tx_kbps nvlink_rx_kbps ecc_sbe ecc_dbe retired_pages xid_last throttle_mask pstate fan_pct "
         "sm_active_pm tensor_active_pm").split()  # as bench/telemetry.c has them
TURNS = 3  # of every question
PACKAGES = ["victoria-metrics", "prometheus", "clickhouse-server"]
QUESTIONS = {  # in the order of the table
    "latest": "newest value of everything",
    "node": "newest values of one node (8 GPUs)",
    "node_wrk": "the same from 32 connections at once",
    "series": "one device, one metric, 10 min at 1 s",
    "series_wrk": "the same from 32 connections at once",
    "series_wrk_again": "the same, asked again",
    "util": "mean utilisation per host, 60 s steps, from samples",
    "util_tier": "the same from kept minutes",
    "util_again": "the same, asked again",
    "power": "power per host over everything, from samples",
    "power_tier": "the same from kept hours",
    "power_again": "the same, asked again",
    "all": "all metrics per host over everything, from samples",
    "all_tier": "the same from kept hours",
    "all_again": "the same, asked again",
    "series_log": "one device, one metric, 10 min at 1 s, still in the log",
    "util_log": "mean utilisation per host, 60 s steps, still in the log",
    "all_log": "all metrics per host over everything, still in the log",
    "state": "the whole cluster as it was at a moment",
    "state_log": "the same, still in the log",
}
TIMES = {"live1": 20, "live5": 50, "bulk": 3, "bytes": 1.45, "latest": 100, "series_wrk": 5, "util": 8, "util_tier": 100, "power": 5, "power_tier": 80, "all": 3, "all_tier": 60,
         "rss": 4, "series_wrk_again": 5}  # goals: so many times less than the best peer; live and memory: than VictoriaMetrics
GOALS = {"state": 30, "state_log": 30, "latest": 1, "node_wrk": .025, "series_wrk": .06, "util": 3, "util_tier": .2, "power_tier": .2, "all": 45, "all_tier": 2}  # CPU ms


class Set:
    """The generated data: its size, and files of it in the formats the peers read."""

    def __init__(self, gpus, ticks, path):
        self.gpus, self.ticks, self.path = gpus, ticks, path
        self.hosts, self.samples = (gpus + 7) // 8, gpus * ticks * len(NAMES)
        self.t0 = lib.yesterday_ms()
        self.end = self.t0 + ticks * 1000  # hosts tick within the second: the last ones just before this
        self.power = None
        self.host = f"node{42 % self.hosts:04d}"

    def file(self, form, ticks=None):
        path = f"{self.path}/{form}.{self.gpus}.{ticks or self.ticks}"
        if not os.path.exists(path):
            out = subprocess.run([lib.BENCH + "/gen", form, path, str(self.gpus), str(ticks or self.ticks), str(self.t0)], check=True, stdout=subprocess.PIPE).stdout.split()
            if not ticks:
                self.power = int(out[1])
        return path

    def forget(self, form):
        for end in ("", ".idx"):
            os.remove(f"{self.path}/{form}.{self.gpus}.{self.ticks}{end}")


def parts(path, per=1):
    """The file's parts, `per` at a time, as views."""
    with open(path + ".idx", "rb") as f:
        raw = f.read()
    at = struct.unpack(f"<{len(raw) // 8}Q", raw)
    with open(path, "rb") as f:
        view = memoryview(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
    return [view[at[i]:at[min(i + per, len(at) - 1)]] for i in range(0, len(at) - 1, per)]


def post_all(port, path, bodies):
    """Two connections, as fast as they are taken."""
    left, lock, errors = list(reversed(bodies)), threading.Lock(), []

    def work():
        asker = lib.Asker(port)
        while not errors:
            with lock:
                if not left:
                    return
                body = left.pop()
            try:
                asker.get(path, body, {"Content-Length": str(len(body))})
            except (SystemExit, OSError) as e:
                errors.append(str(e))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise SystemExit(errors[0])


class Peer:
    """One system. bulk() feeds and merges; started() gives a server on what bulk() left, to be asked."""
    title = name = version = ""
    about = ""

    def __init__(self, data, path):
        self.data, self.path = data, path + "/" + self.name
        self.empty()
        self.port = lib.free_port()

    def empty(self):
        """With an empty folder."""
        self.end()
        os.makedirs(self.path)

    def end(self):
        shutil.rmtree(self.path, ignore_errors=True)

    @classmethod
    def installed(cls):
        return True

    def questions(self):
        return {}

    def many(self):
        """Paths that are asked from many connections at once."""
        return {}

    anew = ""  # the header by which it is told to use no answer it kept

    def again(self, pid):
        """What the same questions cost where answers are kept, by name; a peer that keeps none has no such name."""
        return {}


class Muster(Peer):
    name, title = "muster", "muster"
    batch = 60

    def start(self):
        s = lib.Server([lib.MUSTER, "hub", "--listen", f"127.0.0.1:{self.port}", "--data", self.path + "/data", *lib.OLD_IS_FINE], r"http://127\.0\.0\.1:(\d+)")
        s.url, s.token_file = s.match.group(0), self.path + "/token"
        if not os.path.exists(s.token_file):
            token = subprocess.run([lib.MUSTER, "token", "new", "--role", "enroll", "--uses", "100000", "--data", self.path + "/data"], check=True, stdout=subprocess.PIPE).stdout
            with open(s.token_file, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as f:
                f.write(token)
        return s

    def bulk(self):
        with self.start() as hub:
            fed = lib.feed(hub, self.data.gpus, self.data.ticks, self.data.t0, "--batch", str(self.batch))
            before = lib.cpu_s(hub.pid)
            lib.quiet(hub.pid)
            fed["cpu"] += lib.cpu_s(hub.pid) - before
            if self.asks:  # what is counted of hours begins after a while, and is no part of taking it
                lib.quiet(hub.pid, least=6)
            peak = lib.memory_mb(hub.pid)[1]
            if fed["samples"] != self.data.samples or fed["power"] != self.data.power:
                raise SystemExit("bench/feed made other data than bench/gen")
            # what the state of now costs is asked here, where the newest values are in memory
            self.now = {q: f() for q, f in self.ask_now(hub).items()} if self.asks else {}
            if self.asks:  # and what is still in the log
                self.asker = lib.Asker(self.port)
                self.now |= {q + "_log": lib.timed(f, hub.pid) for q, f in self.questions().items() if q + "_log" in QUESTIONS}
        compact, compact_peak = lib.settle(self.path + "/data")
        whole = lib.disk_bytes(self.path + "/data")
        return {"cpu": fed["cpu"] + compact, "cpu_taken": fed["cpu"], "wall": fed["ms"] / 1000, "bytes": whole, "raw_bytes": whole - lib.tiers_take(self.path + "/data"),
                "chunks": lib.chunk_bytes(self.path + "/data"), "history": os.path.getsize(self.path + "/data/history.db"), "peak": max(peak, compact_peak)}

    asks = True

    def ask_now(self, hub):
        a = lib.Asker(self.port)
        one = "/api/v1/state?node=" + self.data.host
        return {"latest": lambda: lib.timed(lambda: a.get("/api/v1/state"), hub.pid, 8, 0, lib.new_second),
                "node": lambda: lib.timed(lambda: a.get(one), hub.pid), "node_wrk": lambda: lib.wrk(self.port, one, hub.pid)}

    def started(self):
        s = self.start()
        self.asker = lib.Asker(self.port)
        return s

    def path_of(self, **q):
        return "/api/v1/history?" + urlencode({"from": self.data.t0, "to": self.data.end, **q})

    def many(self):
        return {"series": self.path_of(device=self.data.host + ":3", metric="util", step="1s", to=min(self.data.end, self.data.t0 + 600000))}

    anew = "Cache-Control: no-cache"

    def get_anew(self, path):
        return self.asker.get(path, headers={"Cache-Control": "no-cache"})

    def again(self, pid):
        get, self.get_anew = self.get_anew, self.asker.get
        got = {q.removesuffix("_tier") + "_again": lib.timed(ask, pid) for q, ask in self.questions().items() if q.endswith("_tier")}
        self.get_anew = get
        return got | {"series_wrk_again": lib.wrk(self.port, self.many()["series"], pid)}

    def history(self, **q):
        got = self.get_anew(self.path_of(**q))
        if q.get("tier") == "raw" and b'"tier":"raw"' not in got[:200]:
            raise SystemExit("the hub did not read samples")
        return got

    def total(self):
        over = {"group": "node", "fold": "sum", "agg": "sum", "step": "1h"}
        got = json.loads(self.history(metric="*", **over))
        if len(got["series"]) != self.data.hosts * len(NAMES):
            raise SystemExit("muster does not have every metric of every host")
        got = json.loads(self.history(metric="power", **over))
        return sum(round(v * 1000) for s in got["series"] for v in s["v"] if v is not None)

    def questions(self):
        over = {"group": "node", "fold": "sum", "agg": "sum", "step": "1h"}
        return {
            "series": lambda: self.get_anew(self.many()["series"]),
            "util": lambda: self.history(metric="util", group="node", step="60s", tier="raw"),
            "util_tier": lambda: self.history(metric="util", group="node", step="60s"),
            "power": lambda: self.history(metric="power", tier="raw", **over),
            "power_tier": lambda: self.history(metric="power", **over),
            "all": lambda: self.history(metric="*", tier="raw", **over),
            "all_tier": lambda: self.history(metric="*", **over),
            "state": lambda: self.asker.get(f"/api/v1/state?at={self.data.end - 90000}"),
        }

    def live(self, seconds, batch=1):
        with self.start() as hub:
            argv = [lib.BENCH + "/feed", "--hub", hub.url, "--token-file", hub.token_file, "--gpus", str(self.data.gpus), "--batch", str(batch), "--live", f"{seconds + 60}s"]
            with lib.Server(argv) as load:
                time.sleep(10)
                n0, c0, t0 = self.fed(load), lib.cpu_s(hub.pid), time.monotonic()
                time.sleep(seconds)
                n1, c1, took = self.fed(load), lib.cpu_s(hub.pid), time.monotonic() - t0
                rss, peak, _ = lib.memory_mb(hub.pid)
        # The hub compacts after ten minutes, which is longer than this: what that takes is seen of ten minutes of the same batches, sent at once.
        self.empty()
        with self.start() as hub:
            fed = lib.feed(hub, min(self.data.gpus, 1000), 600, self.data.t0, "--batch", str(batch), "--per-post", "100")
        compact = lib.settle(self.path + "/data")[0] / fed["samples"] * (n1 - n0)
        return {"samples": n1 - n0, "cpu": c1 - c0 + compact, "cpu_taken": c1 - c0, "rss": rss, "peak": peak, "seconds": took}

    @staticmethod
    def fed(load):
        """Samples made so far, by a line of this moment."""
        seen, end = len(load.lines), time.monotonic() + 10
        while len(load.lines) == seen and time.monotonic() < end:
            time.sleep(.02)
        return json.loads(load.lines[-1])["samples"]


class PromQL(Peer):
    """What VictoriaMetrics and Prometheus share: the language of their questions."""
    extra = ""

    def path_of(self, path, **q):
        return f"/api/v1/{path}?" + urlencode(q) + self.extra

    def instant(self, query):
        return self.asker.get(self.path_of("query", query=query, time=self.data.end / 1000))

    def many(self):
        last = (self.data.t0 + min(self.data.ticks, 600) * 1000) / 1000
        return {"node": self.path_of("query", query=f'{{host="{self.data.host}"}}', time=self.data.end / 1000),
                "series": self.path_of("query", query=f'gpu_util{{host="{self.data.host}",gpu="3"}}[600s]', time=last)}

    def total(self):
        got = json.loads(self.instant(f"sum(sum_over_time(power_mw[{self.data.ticks + 1}s]))"))
        return int(float(got["data"]["result"][0]["value"][1]))

    def questions(self):
        span = f"{self.data.ticks + 1}s"
        return {
            "latest": lambda: self.instant('{host!=""}'),
            "node": lambda: self.asker.get(self.many()["node"]),
            "series": lambda: self.asker.get(self.many()["series"]),
            "util": lambda: self.asker.get(self.path_of("query_range", query="avg by (host)(avg_over_time(gpu_util[60s]))", start=self.data.t0 / 1000 + 60, end=self.data.end / 1000,
                                                        step=60)),
            "power": lambda: self.instant(f"sum by (host)(sum_over_time(power_mw[{span}]))"),
            "all": lambda: b"".join(self.instant(f"sum by (host)(sum_over_time({m}[{span}]))") for m in NAMES),
        }


class Victoria(PromQL):
    name, title, extra = "victoria", "VictoriaMetrics", "&nocache=1"

    @classmethod
    def installed(cls):
        return shutil.which("victoria-metrics")

    def start(self, path="data", keep=False):
        s = lib.Server(["victoria-metrics", f"-storageDataPath={self.path}/{path}", f"-httpListenAddr=127.0.0.1:{self.port}", "-retentionPeriod=12", "-search.latencyOffset=0s",
                        *([] if keep else ["-search.disableCache"])])
        lib.wait_http(self.port, "/health")
        return s

    def again(self, _):
        """It keeps what questions over a span were answered with; it is started once more for that."""
        self.port, self.extra = lib.free_port(), ""
        with self.start(keep=True) as vm:
            self.asker = lib.Asker(self.port)
            lib.quiet(vm.pid)
            return {q + "_again": lib.timed(self.questions()[q], vm.pid) for q in ("util", "power", "all")} | {"series_wrk_again": lib.wrk(self.port, self.many()["series"], vm.pid)}

    def take(self, folder, path, bodies):
        with self.start(folder) as vm:
            asker, t0, before = lib.Asker(self.port), time.monotonic(), lib.cpu_s(vm.pid)
            post_all(self.port, path, bodies)
            wall = time.monotonic() - t0
            asker.get("/internal/force_flush")
            lib.quiet(vm.pid)
            cpu, peak = lib.cpu_s(vm.pid) - before, lib.memory_mb(vm.pid)[1]
            asker.get("/internal/force_merge")
            lib.quiet(vm.pid)
            size = lib.disk_bytes(self.path + "/" + folder)  # while it runs: at its end it adds its caches
            native = asker.get("/api/v1/export/native?" + urlencode({"match[]": '{host!=""}', "start": self.data.t0 / 1000, "end": self.data.end / 1000 + 5}))
        return {"cpu": cpu, "wall": wall, "bytes": size, "peak": peak}, native

    def bulk(self):
        json_lines, native = self.take("data", "/api/v1/import", parts(self.data.file("vmjson")))
        got, _ = self.take("native", "/api/v1/import/native", [native])
        shutil.rmtree(self.path + "/native")
        json_lines["also"] = f"JSON lines {json_lines['cpu'] / self.data.samples * 1e6:.3f}"
        return {**json_lines, "cpu": got["cpu"], "peak": max(got["peak"], json_lines["peak"])}  # the cheaper way in; both leave the same data

    def started(self):
        s = self.start()
        self.asker = lib.Asker(self.port)
        return s

    def live(self, seconds, **_):
        bodies = parts(self.data.file("scrape", 120))
        with self.start() as vm:
            return paced(vm.pid, seconds, self.port, "/api/v1/import/prometheus", bodies, self.data.hosts, self.data.gpus)


class Prometheus(PromQL):
    name, title = "prometheus", "Prometheus"

    @classmethod
    def installed(cls):
        return shutil.which("prometheus") and shutil.which("promtool")

    def start(self, scrape=""):
        with open(self.path + "/p.yml", "w", encoding="utf-8") as f:
            f.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n" + scrape)
        s = lib.Server(["prometheus", f"--config.file={self.path}/p.yml", f"--storage.tsdb.path={self.path}/data", f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn",
                        "--storage.tsdb.retention.time=1y"])
        lib.wait_http(self.port, "/-/ready")
        return s

    def bulk(self):
        t0 = time.monotonic()
        p = subprocess.Popen(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", self.data.file("om"), self.path + "/data"], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(p.pid, 0)
        if status:
            raise SystemExit("promtool failed")
        return {"cpu": used.ru_utime + used.ru_stime, "wall": time.monotonic() - t0, "bytes": lib.disk_bytes(self.path + "/data"), "peak": used.ru_maxrss / 1024}  # far above what this process has had

    started = Victoria.started

    def live(self, seconds, **_):
        with lib.Server([lib.BENCH + "/scrape", self.data.file("scrape", 120), str(self.data.hosts)], r"port (\d+)") as load:
            jobs = "".join(f" - {{job_name: n{i}, metrics_path: /{i}, static_configs: [{{targets: ['127.0.0.1:{load.match.group(1)}']}}]}}\n" for i in range(self.data.hosts))
            with self.start("scrape_configs:\n" + jobs) as prom:
                time.sleep(12)
                asker, c0, n0 = lib.Asker(self.port), lib.cpu_s(prom.pid), None
                n0, t0 = self.appended(asker), time.monotonic()
                time.sleep(seconds)
                c1, n1 = lib.cpu_s(prom.pid), self.appended(asker)
                rss, peak, _ = lib.memory_mb(prom.pid)
                return {"samples": n1 - n0, "cpu": c1 - c0, "rss": rss, "peak": peak, "seconds": time.monotonic() - t0}

    @staticmethod
    def appended(asker):
        """Samples it took, by its own count."""
        return float(re.search(rb"^prometheus_tsdb_head_samples_appended_total(?:{[^}]*})? (\S+)", asker.get("/metrics"), re.M).group(1))


class ClickHouse(Peer):
    codec = ""
    WIDE = "ts Int64, host String, gpu UInt8, uuid String, " + ", ".join(m + " Int64" for m in NAMES)

    @classmethod
    def installed(cls):
        return shutil.which("clickhouse-server")

    def start(self):
        tcp, inter = lib.free_port(), lib.free_port()
        os.makedirs(self.path + "/data/tmp", exist_ok=True)
        with open(self.path + "/config.xml", "w", encoding="utf-8") as f:
            f.write(f"""<?xml version="1.0"?><yandex><logger><level>warning</level><log>{self.path}/log</log><errorlog>{self.path}/err</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{self.port}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><path>{self.path}/data/</path><tmp_path>{self.path}/data/tmp/</tmp_path><users_config>{self.path}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>536870912</mark_cache_size>
<compression incl="clickhouse_compression"><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>{self.codec}</method></case></compression></yandex>""")
        with open(self.path + "/users.xml", "w", encoding="utf-8") as f:
            f.write("""<?xml version="1.0"?><yandex><profiles><default><max_memory_usage>10000000000</max_memory_usage></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>""")
        s = lib.Server(["clickhouse-server", f"--config-file={self.path}/config.xml"])
        s.patience = 2  # it does not always end when asked
        lib.wait_http(self.port, "/")
        return s

    def sql(self, text):
        return self.asker.get("/", text.encode())

    def started(self):
        s = self.start()
        self.asker = lib.Asker(self.port)
        return s

    INSERT = "/?" + urlencode({"query": "INSERT INTO g FORMAT RowBinary"})

    def create(self):
        self.sql(f"CREATE TABLE g ({self.WIDE}) ENGINE=MergeTree PARTITION BY intDiv(ts, 86400000) ORDER BY (host, gpu, ts)")

    def bulk(self):
        with self.started() as ch:
            self.create()
            before, t0 = lib.cpu_s(ch.pid), time.monotonic()
            post_all(self.port, self.INSERT, parts(self.data.file("widerb"), max(1, 30000 // self.data.gpus)))
            wall = time.monotonic() - t0
            lib.quiet(ch.pid)
            cpu = lib.cpu_s(ch.pid) - before
            self.sql("OPTIMIZE TABLE g FINAL")
            lib.quiet(ch.pid)
            size = int(self.sql("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'g'"))
            return {"cpu": cpu, "wall": wall, "bytes": size, "peak": lib.memory_mb(ch.pid)[1]}

    def total(self):
        return int(self.sql("SELECT sum(power_mw) FROM g"))

    def questions(self):
        last, ten = self.data.end - 1000, self.data.t0 + min(self.data.ticks, 600) * 1000
        newest = f"SELECT host, gpu, {', '.join(NAMES)} FROM g WHERE ts >= {last} {{}} ORDER BY host, gpu, ts DESC LIMIT 1 BY host, gpu FORMAT JSONCompact"
        sums = ", ".join(f"sum({m})" for m in NAMES)
        return {
            "latest": lambda: self.sql(newest.format("")),
            "node": lambda: self.sql(newest.format(f"AND host = '{self.data.host}'")),
            "series": lambda: self.sql(f"SELECT ts, gpu_util FROM g WHERE host = '{self.data.host}' AND gpu = 3 AND ts < {ten} ORDER BY ts FORMAT JSONCompact"),
            "util": lambda: self.sql(f"SELECT host, intDiv(ts - {self.data.t0}, 60000) AS b, avg(gpu_util) FROM g GROUP BY host, b ORDER BY host, b FORMAT JSONCompact"),
            "power": lambda: self.sql("SELECT host, sum(power_mw) FROM g GROUP BY host FORMAT JSONCompact"),
            "all": lambda: self.sql(f"SELECT host, {sums} FROM g GROUP BY host FORMAT JSONCompact"),
        }

    def live(self, seconds, **_):
        """One INSERT per second with a row of every GPU: somebody has to gather them first."""
        with self.started() as ch:
            self.create()
            return paced(ch.pid, seconds, self.port, self.INSERT, parts(self.data.file("widerb", 120)), 1, self.data.gpus)


class ClickHouseZstd(ClickHouse):
    name, title, codec = "clickhouse-zstd", "ClickHouse, wide, zstd", "zstd"


class ClickHouseLz4(ClickHouse):
    name, title, codec = "clickhouse-lz4", "ClickHouse, wide, lz4", "lz4"


def paced(pid, seconds, port, path, bodies, per_second, gpus):
    """per_second requests spread evenly over each second, on four connections; CPU of the server meanwhile, after a start."""
    stop, sent = threading.Event(), [0] * min(4, per_second)
    began = time.monotonic()

    def sender(k):
        asker, n = lib.Asker(port), k
        while not stop.is_set():
            late = began + n / per_second - time.monotonic()
            if late > 0:
                time.sleep(late)
            asker.get(path, bodies[n % len(bodies)], {"Content-Length": str(len(bodies[n % len(bodies)]))})
            sent[k] += 1
            n += len(sent)

    threads = [threading.Thread(target=sender, args=(k,), daemon=True) for k in range(len(sent))]
    for t in threads:
        t.start()
    time.sleep(12)
    c0, n0, t0 = lib.cpu_s(pid), sum(sent), time.monotonic()
    time.sleep(seconds)
    c1, n1, took = lib.cpu_s(pid), sum(sent), time.monotonic() - t0
    rss, peak, _ = lib.memory_mb(pid)
    stop.set()
    for t in threads:
        t.join(5)
    return {"samples": (n1 - n0) * gpus * len(NAMES) / per_second, "cpu": c1 - c0, "rss": rss, "peak": peak, "seconds": took}


PEERS = [Muster, Victoria, Prometheus, ClickHouseZstd, ClickHouseLz4]


def versions():
    out = {"muster": subprocess.run([lib.MUSTER, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split()[-1]}
    for p in PACKAGES:
        r = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", p], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if r.returncode == 0 and r.stdout:
            out[p] = r.stdout.decode()
    return out


def feed(peer, asks):
    """It takes in what there is; of muster also what the newest values cost, which it has in memory then."""
    peer.asks = asks
    got = {"bulk": peer.bulk()}
    return got | ({"ask": dict(getattr(peer, "now", {}))} if asks else {})


def ask_in_turns(asked, got):
    """Every question to one system after the other, TURNS times: a machine that becomes slower for a minute does so for all of them."""
    found = {peer.name: {} for peer, _ in asked}
    for _ in range(TURNS):
        for q in QUESTIONS:
            for peer, server in asked:
                ask, path = peer.questions().get(q), peer.many().get(q.removesuffix("_wrk"))
                try:
                    if ask:
                        found[peer.name].setdefault(q, []).append(lib.timed(ask, server.pid, seconds=0.6))
                    elif q.endswith("_wrk") and path:
                        found[peer.name].setdefault(q, []).append(lib.wrk(peer.port, path, server.pid, 2, header=peer.anew))
                except SystemExit as e:
                    print(f"{peer.title}: {q}: {e}", file=sys.stderr)
    for name, by_question in found.items():
        got[name]["ask"] |= {q: {k: statistics.median(x[k] for x in v) for k in v[0]} for q, v in by_question.items()}


def ask_all(peers, data, got):
    with contextlib.ExitStack() as stack:
        asked = [(peer, stack.enter_context(peer.started())) for peer in peers]
        for peer, server in asked:
            if peer.total() != data.power:
                raise SystemExit(f"{peer.title} holds other data than it was given: {peer.total()} is not {data.power}")
            lib.quiet(server.pid, least=6)
        ask_in_turns(asked, got)
        for peer, server in asked:
            if isinstance(peer, Muster):
                got[peer.name]["ask"] |= peer.again(server.pid)
            got[peer.name]["ask_peak"] = lib.memory_mb(server.pid)[1]
    for peer in peers:
        if not isinstance(peer, Muster):
            got[peer.name]["ask"] |= peer.again(None)


def one_run(classes, data, path, what, seconds):
    """All that is measured, once: by name of the system."""
    got = {c.name: {} for c in classes}
    began = time.monotonic()

    def say(done):
        print(f"{time.monotonic() - began:.0f} s: {done}", file=sys.stderr, flush=True)

    if "bulk" in what or "ask" in what:
        peers = [c(data, path) for c in classes]
        for peer in reversed(peers):  # muster is last: what it is asked then is asked of the others next
            got[peer.name] |= feed(peer, "ask" in what)
            say(f"{peer.title} has its data")
        if "ask" in what:
            ask_all(peers, data, got)
            say("all are asked")
        for peer in peers:
            peer.end()
    for c in classes if "live" in what else ():
        for batch in (1, 5) if c is Muster else (1,):
            peer = c(data, path)
            got[c.name][f"live{batch}"] = peer.live(seconds, batch=batch)
            peer.end()
        say(f"{c.title} was fed live")
    return got


def middle(runs, *keys):
    """The median of runs[i][key][key]..., None when it is not there."""
    v = []
    for r in runs:
        for k in keys:
            r = r.get(k) if isinstance(r, dict) else None
        if r is not None:
            v.append(r)
    return statistics.median(v) if v else None


def text(v, digits=3):
    if v is None:
        return "-"
    return f"{v:,.0f}" if v >= 1000 else f"{v:.{digits}g}" if v >= 1 else f"{v:.3f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for r in rows:
        print("| " + " | ".join(r) + " |")
    print()


def peers_cpu(runs, q):
    """What a peer takes for a question: from its samples, and asked again where it keeps answers."""
    plain = q.removesuffix("_tier").removesuffix("_log")
    kept = middle(runs, "ask", plain, "cpu_ms") if plain.endswith("_again") else None
    return kept or middle(runs, "ask", plain.removesuffix("_again"), "cpu_ms")


def ratio_row(what, key, results, get, others=None):
    """One line of ratios: how many times less muster takes than the best of the others; None when either is not known."""
    ours = get(results.get("muster", []))
    theirs = {n: v for n, v in ((n, get(r, True)) for n, r in results.items() if n != "muster" and (not others or n in others)) if v}
    if not ours or not theirs:
        return None
    best = min(theirs, key=theirs.get)
    times, goal = theirs[best] / ours, TIMES.get(key)
    titles = {c.name: c.title for c in PEERS}
    return [what, f"{times:.3g}", "" if goal is None else f"{goal:g}" + ("" if times >= goal else ", **missed**"), text(ours), f"{text(theirs[best])} ({titles[best]})"]


def ratios(data, results):
    """First what counts: how many times less than the best peer."""
    rows = [ratio_row("bytes per sample, everything on disk", "bytes", results, lambda r, _=0: (middle(r, "bulk", "bytes") or 0) / data.samples),
            ratio_row("bulk, CPU s per million samples, compaction included", "bulk", results, lambda r, _=0: (middle(r, "bulk", "cpu") or 0) / data.samples * 1e6)]
    for q, what in QUESTIONS.items():
        rows.append(ratio_row(what + ", CPU ms", q, results, lambda r, peer=False: peers_cpu(r, q) if peer else middle(r, "ask", q, "cpu_ms")))
    for k, what in (("live1", "live, a request per second"), ("live5", "live, a request per 5 s")):
        per = lambda r, peer=False: (middle(r, "live1" if peer else k, "cpu") or 0) / (middle(r, "live1" if peer else k, "samples") or 1) * 1e6
        rows.append(ratio_row(what + ", CPU s per million samples", k, results, per, ("victoria",)))
    rows.append(ratio_row("memory, live, MB", "rss", results, lambda r, _=0: middle(r, "live1", "rss"), ("victoria",)))
    rows = [r for r in rows if r]
    if rows:
        table(["what", "times less than the best peer", "goal", "muster", "best peer"], rows)


def report(data, results):
    million = data.samples / 1e6
    titles = {c.name: c.title for c in PEERS}
    print(f"\n{data.gpus} GPUs, {data.hosts} hosts, {data.ticks} ticks of 1 s, {len(NAMES)} metrics: {million:.1f} million samples; medians of {max(len(r) for r in results.values())}\n")
    ratios(data, results)
    rows = []
    for name, runs in results.items():
        b = lambda k: middle(runs, "bulk", k)
        if b("bytes") is None:
            continue
        size = f"{b('bytes') / data.samples:.3f}" + (f" ({b('raw_bytes') / data.samples:.3f} without tiers)" if b("raw_bytes") else "")
        also = next((r["bulk"]["also"] for r in runs if "also" in r["bulk"]), "")
        cpu = f"{b('cpu') / million:.4f}" + (f" ({b('cpu_taken') / million:.4f} to take it, the rest compaction)" if b("cpu_taken") else f" ({also})" if also else "")
        rows.append([titles[name], size, cpu, f"{million / b('wall'):.1f}", text(b("peak")), text(middle(runs, "ask_peak"))])
    if rows:
        for r in results.get("muster", [])[:1]:
            parts_of = [f"{v / data.samples:.4f}" for v in (*r["bulk"]["chunks"], r["bulk"]["history"] - sum(r["bulk"]["chunks"]), r["bulk"]["bytes"] - r["bulk"]["history"])]
            print("muster's bytes per sample: raw {}, minutes {}, hours {}, the rest of history.db {}, other files {}\n".format(*parts_of))
        table(["bulk", "bytes per sample, all files", "server CPU s per million samples", "million samples/s while sending", "peak MB taking in", "peak MB answering"], rows)
    asked = [q for q in QUESTIONS if any(middle(r, "ask", q, "cpu_ms") is not None for r in results.values())]
    if asked:
        names = [n for n in results if any(middle(results[n], "ask", q, "cpu_ms") is not None for q in asked)]

        def cell(n, q):
            ms, cpu, rate = (middle(results[n], "ask", q, k) for k in ("ms", "cpu_ms", "rate"))
            return "-" if cpu is None else f"{rate:,.0f}/s ({text(cpu)})" if rate else f"{text(ms)} ({text(cpu)})"

        rows = []
        for q in asked:
            cpu, goal = middle(results.get("muster", []), "ask", q, "cpu_ms"), GOALS.get(q)
            others = [v for v in (peers_cpu(results[n], q) for n in names if n != "muster") if v]
            rows.append([QUESTIONS[q]] + [cell(n, q) for n in names] + [f"{min(others) / cpu:.1f}" if others and cpu else "-"] +
                        ["" if goal is None or cpu is None else f"{goal} {'reached' if cpu <= goal else '**missed**'}"])
        table(["question: wall ms, or requests/s (server CPU ms each)"] + [titles[n] for n in names] + ["times less CPU than the best peer", "goal, CPU ms"], rows)
    rows = []
    for name, runs in results.items():
        for k, label in (("live1", "a request per second"), ("live5", "a request per 5 s")):
            m = lambda f: middle(runs, k, f)
            if m("cpu") is None:
                continue
            per = lambda f: m(f) / m("samples") * 1e6
            label = {"prometheus": "scraping each host every second", "clickhouse-zstd": "one INSERT per second for all", "clickhouse-lz4": "one INSERT per second for all"}.get(name, label)
            rows.append([f"{titles[name]}, {label}", text(m("samples") / m("seconds")), f"{per('cpu'):.3f}" + (f" ({per('cpu_taken'):.3f} to take it, the rest compaction)" if m("cpu_taken") else ""),
                         text(m("rss")), text(m("peak"))])
    if rows:
        table(["live", "samples/s", "server CPU s per million samples", "resident MB", "peak MB"], rows)


def install():
    missing = [p for p in PACKAGES if subprocess.run(["dpkg", "-s", p], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode]
    if missing:  # their services are not wanted: policy-rc.d keeps them from starting
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(["apt-get", "-qy", "install", "--no-install-recommends", *missing], check=True, env=env)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--gpus", type=int, default=1000)
    p.add_argument("--ticks", type=int, default=600)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--only", default="")
    p.add_argument("--parts", default="bulk,ask,live")
    p.add_argument("--live", type=int, default=30, help="seconds")
    p.add_argument("--json", help="append what was measured to this file")
    p.add_argument("--again", help="print what this file of --json holds, and measure nothing")
    p.add_argument("--install", action="store_true", help="install missing peers with apt-get")
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if args.install:
        install()
    peers = [c for c in PEERS if c.installed() and (not args.only or any(c.name.startswith(w) for w in args.only.split(",")))]
    if len(peers) < len(PEERS) and not args.only:
        print("not installed: " + ", ".join(c.title for c in PEERS if c not in peers) + "; apt-get install " + " ".join(PACKAGES), file=sys.stderr)
    print("versions: " + ", ".join(f"{k} {v}" for k, v in versions().items()))
    results = {c.name: [] for c in peers}
    if args.again:
        with open(args.again, encoding="utf-8") as f:
            for got in map(json.loads, f):
                if (got["gpus"], got["ticks"]) == (args.gpus, args.ticks) and got["system"] in results:
                    results[got["system"]].append(got)
        report(Set(args.gpus, args.ticks, ""), results)
        return
    with lib.folder() as path:
        data = Set(args.gpus, args.ticks, path)
        data.file("widerb")  # also says what power adds up to
        for run in range(args.runs):
            for name, got in one_run(peers, data, path, args.parts.split(","), args.live).items():
                results[name].append(got)
                if args.json:
                    with open(args.json, "a", encoding="utf-8") as f:
                        f.write(json.dumps({"system": name, "run": run, "gpus": args.gpus, "ticks": args.ticks, "load": os.getloadavg()[0], **got}) + "\n")
        report(data, results)


if __name__ == "__main__":
    main()
