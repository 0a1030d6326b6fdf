#!/usr/bin/env python3
"""Whose a GPU process is, on a machine with a GPU: the same job as root, as root after a login, as somebody, and what the agent makes of each.

    make agent && python3 tests/device/owner.py        # as root

Needs gcc, the driver, libzstd's development files.
"""
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "kit"))
import fakehub  # noqa: E402
import lib  # noqa: E402

SECONDS = 40


def logged_in(uid):
    def do():
        with open("/proc/self/loginuid", "w", encoding="utf-8") as f:
            f.write(str(uid))
    return do


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().strip()
    except OSError as e:
        return str(e)


def main():
    tmp = tempfile.mkdtemp(prefix="muster-device-")
    os.chmod(tmp, 0o755)
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", '-DMUSTER_VERSION="device"', "-Isrc", "-pthread"]
    src = [os.path.join(d, f) for d in ("src/base", "src/model", "src/codec", "src/wire") for f in sorted(os.listdir(os.path.join(TOP, d))) if f.endswith(".c")]
    os.makedirs(tmp + "/tool")
    subprocess.run(["gcc", *flags, "-o", tmp + "/tool/wiredump", "tests/tool/wiredump.c", *src, "-levent_core", "-lzstd", "-lm"], cwd=TOP, check=True)
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-std=gnu11", "-o", tmp + "/load", "tests/device/load.c", "-ldl"], cwd=TOP, check=True)
    lib.BIN = tmp
    with open(tmp + "/token", "w", encoding="utf-8") as f:
        f.write("mst_device")
    os.chmod(tmp + "/token", 0o600)
    jobs = {}
    with fakehub.FakeHub() as hub:
        agent = lib.Process([os.path.join(TOP, "build", "muster-agent"), "--hub", hub.url, "--token-file", tmp + "/token", "--state-dir", tmp + "/state"])
        lib.wait_until("first batch", lambda: hub.stored)
        for what, kw in (("root", {}), ("root, logged in as 1000", {"preexec_fn": logged_in(1000)}), ("user 1000", {"user": 1000, "group": 1000}),
                         ("user 1000 that claims a Slurm job", {"user": 1000, "group": 1000, "env": {**os.environ, "SLURM_JOB_USER": "kim", "SLURM_JOB_ID": "7"}})):
            try:
                p = subprocess.Popen([tmp + "/load", str(SECONDS), "1024", "10", "300"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
                jobs[p.pid] = (what, p)
            except (OSError, subprocess.SubprocessError) as e:
                print(f"{what}: could not be started: {e}")
        time.sleep(20)
        known = {pid: (read(f"/proc/{pid}/loginuid"), read(f"/proc/{pid}/cgroup")) for pid in jobs}
        time.sleep(SECONDS - 10)
        for _, p in jobs.values():
            p.wait()
        agent.stop()
        stream = b"MUST\x01" + b"".join(hub.blobs.values()) + b"".join(hub.stored[k] for k in hub.order)
    seen = {}
    for fr in fakehub.dump(stream):
        if fr.get("type") == "procs":
            for p in fr.get("procs", []):
                seen[p["pid"]] = p
    for pid, (what, p) in jobs.items():
        got = seen.get(pid)
        print(f"{what}: ended {p.returncode}, loginuid {known[pid][0]}, cgroup {known[pid][1]!r}: the agent says {({k: got.get(k) for k in ('uid', 'user', 'slurm_job', 'runtime')} if got else 'nothing')}")
    others = [p for pid, p in seen.items() if pid not in jobs]
    print(f"others: {[(p['pid'], p.get('uid'), p.get('user'), p.get('name')) for p in others]}")


if __name__ == "__main__":
    main()
