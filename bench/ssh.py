#!/usr/bin/python3
"""Machines over ssh: what a round costs and takes, against one ssh per command per host, one host after the other, as Web-GPU-Monitor's fetch_data.py did.

    bench/ssh.py [--hosts 200] [--rounds 6] [--every 5]

Both read the same machines in the same run: names of an ssh configuration that lead to real sshd's on loopback, where a fake nvidia-smi prints
what was recorded on an H200 (tests/kit/sshd.py). CPU is that of this side alone: hub, relay and their ssh processes, or the script's.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "kit"))
import lib  # noqa: E402
import sshd  # noqa: E402


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(w) for w in f.read().split()]


def cpu_ms(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


def old_round(farm, names):
    """fetch_data.py's connections: GPUs, processes, and one per process for its user; one after the other."""
    def ask(host, command):
        return subprocess.run(["ssh", "-F", farm.config, "-o", "BatchMode=yes", host, command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout.decode()
    connections = 0
    for host in names:
        ask(host, "nvidia-smi --query-gpu=utilization.gpu,utilization.memory,index,gpu_name,gpu_uuid --format=csv")
        pids = [line.split(",")[0] for line in ask(host, "nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv").splitlines()[1:]]
        for pid in pids:
            ask(host, f"ps -o user= {pid}")
        connections += 2 + len(pids)
    return connections


def samples_at(url):
    """When each node's GPU was sampled last."""
    with urllib.request.urlopen(url + "/api/v1/state") as r:
        state = json.load(r)
    return {n["name"]: state["at"] - n["devices"][0]["age_ms"] for n in state["nodes"] if n["devices"] and "age_ms" in n["devices"][0]}


class Bench(lib.Case):
    def runTest(self):
        a = self.args
        farm = sshd.Farm(self)
        servers = [farm.sshd(str(i)) for i in range(4)]
        names = [f"gpu{i:03}" for i in range(a.hosts)]
        for i, name in enumerate(names):
            farm.machine(name, servers[i % 4], gpus=8, apps=f"{farm.uuid(name, 0)} {os.getpid()} 5160 MiB\n")

        def spent():
            u = resource.getrusage(resource.RUSAGE_CHILDREN)
            return u.ru_utime + u.ru_stime
        cpu, began = spent(), time.monotonic()
        connections = old_round(farm, names)
        old_cpu, old_s = spent() - cpu, time.monotonic() - began
        print(f"one ssh per command: {a.hosts} hosts, {connections} connections, one after the other: a round takes {old_s:.1f} s and {old_cpu:.2f} s CPU", flush=True)

        began = time.monotonic()
        hub = self.start_hub("--nodes", ",".join(names), "--ssh-config", farm.config, "--ssh-every", f"{a.every}s")
        lib.wait_until("all are read", lambda: len(samples_at(hub.url)) == a.hosts, limit=600, pause=0.5)
        first_s = time.monotonic() - began
        relay = children(hub.p.pid)[0]
        time.sleep(2 * a.every)
        ours = [hub.p.pid, relay] + children(relay)
        cpu, before, rounds = {p: cpu_ms(p) for p in ours}, {n: farm.rounds(n) for n in names}, []
        time.sleep(a.rounds * a.every)  # nobody asks meanwhile
        took = {p: cpu_ms(p) - ms for p, ms in cpu.items() if os.path.exists(f"/proc/{p}")}
        printed = sum(farm.rounds(n) - before[n] for n in names) / a.hosts
        for _ in range(a.rounds):  # a round: everybody has a newer sample than at its beginning
            was, began = samples_at(hub.url), time.monotonic()
            lib.wait_until("a round", lambda: all(at > was[n] + 500 for n, at in samples_at(hub.url).items()), limit=120, pause=0.2)
            rounds.append(time.monotonic() - began)
        new_cpu = sum(took.values()) / 1000 / printed
        print(f"muster: first round of all {first_s:.1f} s; then all {a.hosts} are newer within {max(rounds):.1f} s (every {a.every} s, median {sorted(rounds)[len(rounds) // 2]:.1f} s); CPU of a round: "
              f"hub {took[hub.p.pid] / 1000 / printed:.3f} s, relay {took[relay] / 1000 / printed:.3f} s, ssh {sum(took[p] for p in took if p not in ours[:2]) / 1000 / printed:.3f} s", flush=True)
        print(f"CPU of a round: 1 : {old_cpu / new_cpu:.0f}; time of a round: {max(rounds):.1f} s against {old_s:.1f} s", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--hosts", type=int, default=200)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--every", type=int, default=5)
    Bench.args = p.parse_args()
    import unittest
    sys.exit(not unittest.TextTestRunner(verbosity=0).run(Bench()).wasSuccessful())
