#!/usr/bin/python3
"""A pull from W&B against one request at a time, as the old tool asked: wall time, requests, memory; both from one stand-in that takes 50 ms to answer.

    bench/wandb.py [--runs 1500] [--latency 0.05] [--limit 400/1] [--skip-baseline]

The baseline asks for projects by 50, for runs by 1000 until an empty page comes, and then for the metrics of each run that counts, 100 samples each, over one connection that
stays open. muster asks for up to one sample a minute. Nothing is shared but the stand-in (tests/kit/wandb_standin.py) and its programme.
"""
import argparse
import base64
import contextlib
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import time

import lib

sys.path.insert(0, os.path.join(lib.TOP, "tests", "kit"))
import wandb_calc  # noqa: E402
import wandb_programme  # noqa: E402
from wandb_standin import KEY  # noqa: E402

PROJECTS = """query Projects($entity:String,$cursor:String,$perPage:Int=50){
 models(entityName:$entity,after:$cursor,first:$perPage){pageInfo{endCursor hasNextPage} edges{node{id name entityName createdAt isBenchmark}}}}"""
RUNS = """query GetGpuInfoForProject($project:String!,$entity:String!,$first:Int!,$cursor:String!){
 project(name:$project,entityName:$entity){name runs(first:$first,after:$cursor){edges{cursor node{name createdAt updatedAt heartbeatAt state tags host runInfo{gpuCount gpu} config}}}}}"""
EVENTS = """query RunFullHistory($project:String!,$entity:String!,$name:String!,$samples:Int){
 project(name:$project,entityName:$entity){run(name:$name){events(samples:$samples)}}}"""


class Baseline:
    """One request after another."""

    def __init__(self, port):
        self.http, self.requests = http.client.HTTPConnection("127.0.0.1", port), 0
        self.headers = {"Authorization": "Basic " + base64.b64encode(b"api:" + KEY.encode()).decode(), "Content-Type": "application/json"}

    def ask(self, query, **variables):
        self.requests += 1
        self.http.request("POST", "/graphql", json.dumps({"query": query, "variables": variables}), self.headers)
        return json.loads(self.http.getresponse().read())["data"]

    def pull(self, programme):
        calc = wandb_calc.Calculation.__new__(wandb_calc.Calculation)  # which runs count, not what they come to
        calc.p, calc.first, calc.last, calc.days = programme, programme.first, programme.last, wandb_programme.Days.of(programme.zone)
        calc.company_of = {t: c for c in programme.companies for t in c.teams}
        by_key = {(r.team, r.project, r.name): r for r in programme.runs}
        samples = 0
        for company in programme.companies:
            if not calc.wanted_team(company):
                continue
            for team in company.teams:
                names, cursor = [], None
                while True:
                    models = self.ask(PROJECTS, entity=team, cursor=cursor)["models"]
                    names += [e["node"]["name"] for e in models["edges"]]
                    cursor = models["pageInfo"]["endCursor"]
                    if not models["pageInfo"]["hasNextPage"]:
                        break
                for name in names:
                    if not calc.wanted_project(company, name):
                        continue
                    cursor = ""
                    while True:
                        edges = self.ask(RUNS, project=name, entity=team, first=1000, cursor=cursor)["project"]["runs"]["edges"]
                        if not edges:
                            break
                        cursor = edges[-1]["cursor"]
                        for e in edges:
                            if calc.counts(by_key[team, name, e["node"]["name"]]) is not None:
                                events = self.ask(EVENTS, project=name, entity=team, name=e["node"]["name"], samples=100)["project"]["run"]["events"]
                                samples += len([json.loads(x) for x in events])
        return samples


def stats(port, clear=False):
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request("GET", "/_standin/stats")
    got = json.loads(c.getresponse().read())
    if clear:
        c.request("POST", "/_standin/clear")
        c.getresponse().read()
    return got


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--runs", type=int, default=1500)
    p.add_argument("--latency", type=float, default=0.05)
    p.add_argument("--limit", help="REQUESTS/SECONDS the stand-in allows (default: as many as come)")
    p.add_argument("--in-flight", type=int, help="requests under way at once (default: muster's)")
    p.add_argument("--skip-baseline", action="store_true")
    a = p.parse_args()
    programme = wandb_programme.Programme(1, runs=a.runs)
    rows = len(wandb_calc.Calculation(programme).rows)
    with lib.folder() as path:
        argv = [sys.executable, os.path.join(lib.TOP, "tests/kit/wandb_standin.py"), "--programme", "1", "--runs", str(a.runs), "--latency", str(a.latency)]
        with lib.Server(argv + (["--limit", a.limit] if a.limit else []), r"http://127\.0\.0\.1:(\d+)") as standin:
            port = int(standin.match.group(1))
            more = {"base_url": f"http://127.0.0.1:{port}"}
            if a.in_flight:
                more["in_flight"] = a.in_flight
            with open(path + "/config.yaml", "w", encoding="utf-8") as f:
                f.write(programme.config_text(**more))
            os.mkdir(path + "/data")
            begun = time.monotonic()
            before = lib.cpu_s(standin.pid)
            pull = subprocess.Popen([lib.MUSTER, "wandb", "pull", "--config", path + "/config.yaml", "--start-date", str(programme.first), "--end-date", str(programme.last),
                                     "--data", path + "/data"], env=dict(os.environ, WANDB_API_KEY=KEY), stdin=subprocess.DEVNULL)
            peak, done = 0, 0
            while not done:  # not what wait4 says of memory: that of this program before the exec is in it
                with contextlib.suppress(OSError, KeyError):
                    peak = lib.memory_mb(pull.pid)[1]
                time.sleep(0.01)
                done, status, usage = os.wait4(pull.pid, os.WNOHANG)
            wall = time.monotonic() - begun
            if status:
                raise SystemExit(f"muster wandb pull ended with {status}")
            ours = stats(port, clear=True)
            with contextlib.closing(sqlite3.connect(path + "/data/wandb.db")) as db:
                stored = db.execute("SELECT count(*) FROM days").fetchone()[0]
            if stored != rows:
                raise SystemExit(f"{stored} run-days were stored, {rows} were expected")
            cpu = usage.ru_utime + usage.ru_stime
            print(f"{a.runs} runs, {rows} run-days, {a.latency * 1000:.0f} ms a request" + (f", {a.limit} requests allowed" if a.limit else ""))
            print(f"muster wandb pull: {wall:.2f} s, {ours['requests']} requests ({ours['requests'] / wall:.0f} a second, {ours['inflight_max']} at once), {ours['bytes'] / 1e6:.0f} MB, "
                  f"{cpu:.2f} s CPU, {peak:.1f} MB resident at most, {lib.disk_bytes(path + '/data') / 1e6:.1f} MB on disk; "
                  f"over the limit: {ours['over']}; stand-in {lib.cpu_s(standin.pid) - before:.1f} s CPU")
            if not a.skip_baseline:
                old = Baseline(port)
                begun = time.monotonic()
                samples = old.pull(programme)
                old_wall = time.monotonic() - begun
                print(f"one at a time: {old_wall:.2f} s, {old.requests} requests, {samples} samples; muster is {old_wall / wall:.1f} times faster")


if __name__ == "__main__":
    main()
