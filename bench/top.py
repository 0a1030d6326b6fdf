#!/usr/bin/python3
"""`muster top` on a terminal of our own: how long from a key to the screen, processor, memory, bytes of an idle frame; beside nvtop where it is built.

    bench/top.py [--nodes 1000] [--keys 200] [--seconds 30] [--nvtop PATH]

nvtop is built from source outside the repository; both then read the same stub driver (`make stub`), 8 GPUs that do nothing. Times are wall
times of an otherwise idle machine or mean nothing.
"""
import argparse
import fcntl
import os
import pty
import random
import select
import struct
import subprocess
import termios
import time

import lib


class Screen:
    """A program on a pseudo terminal: what it writes is read and counted."""

    def __init__(self, argv, env=None, w=200, h=60):
        self.fd, slave = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", h, w, 0, 0))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        clean.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": "/nonexistent"}, **(env or {}))
        self.p = subprocess.Popen(argv, env=clean, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(slave)
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.terminate()
        self.p.wait()
        os.close(self.fd)

    def read(self, seconds):
        """What it writes within that time; ends early when it stays silent for good."""
        out, end = b"", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                out += os.read(self.fd, 1 << 20)
        self.seen += len(out)
        return out

    def until(self, words, limit=60):
        """Seconds until it has written one of these."""
        out, begin = b"", time.monotonic()
        while not any(w in out for w in words):
            left = begin + limit - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise SystemExit(f"not seen: {words}, in {out[-300:]!r}")
            out += os.read(self.fd, 1 << 20)
        return time.monotonic() - begin

    def key(self, text):
        os.write(self.fd, text)

    def family(self):
        """Its own pid and its children's: the collector is one."""
        kids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.p.pid)], stdout=subprocess.PIPE, check=False).stdout.split()
        return [self.p.pid, *map(int, kids)]


def latency(top, keys):
    """Help on, help off: its words are on the screen, or the list's foot is again."""
    took = []
    for _ in range(keys // 2):
        for key, words in ((b"?", (b"Any key goes", b"goes back")), (b"x", (b"overview", b"processes", b"history"))):
            top.read(random.uniform(0.05, 0.35))  # anywhere between two frames
            begin = time.monotonic()
            top.key(key)
            top.until(words)
            took.append((time.monotonic() - begin) * 1000)
    return sorted(took)


def load(screen, seconds):
    """(CPU share of a core, resident and private MB) of a program and its children."""
    pids = screen.family()
    before, begin = sum(map(lib.cpu_ms, pids)), time.monotonic()
    written = len(screen.read(seconds))
    took = time.monotonic() - begin
    memory = [lib.memory_mb(p) for p in pids]
    return (sum(map(lib.cpu_ms, pids)) - before) / took / 1000, sum(m[0] for m in memory), sum(m[2] for m in memory), written / took


def stub(path):
    lib_dir = os.path.join(path, "lib")
    os.makedirs(lib_dir)
    for name in ("libnvidia-ml.so", "libnvidia-ml.so.1"):
        os.symlink(os.path.join(lib.TOP, "build", "libnvml-stub.so"), os.path.join(lib_dir, name))
    with open(os.path.join(path, "stub"), "w", encoding="ascii") as f:
        f.write("gpus 8\n")
    return {"MUSTER_NVML_STUB": os.path.join(path, "stub"), "MUSTER_NVML_LIB": os.path.join(lib_dir, "libnvidia-ml.so.1"), "MUSTER_COLLECTOR": "nvml", "MUSTER_STATE_DIR": os.path.join(path, "state"), "LD_LIBRARY_PATH": lib_dir}


def one_machine(args):
    rows = []
    with lib.folder() as path:
        env = stub(path)
        peers = [("muster top", [lib.MUSTER, "top", "-v", "devices"])] + ([("nvtop", [args.nvtop])] if args.nvtop else [])
        for name, argv in peers:
            with Screen(argv, env) as s:
                s.read(5)
                rows.append((name, *load(s, args.seconds)))
    print(f"this machine, 8 GPUs of the stub driver, one frame a second, {args.seconds} s:")
    for name, cpu, rss, private, written in rows:
        print(f"  {name}: {cpu:.2%} of a core, {rss:.1f} MB resident ({private:.1f} private), {written:.0f} bytes written a second")
    if len(rows) > 1:
        print(f"  muster top / nvtop: processor {rows[0][1] / rows[1][1]:.2f}, resident {rows[0][2] / rows[1][2]:.2f}, private {rows[0][3] / rows[1][3]:.2f}")


def cluster(args):
    with lib.hub("--max-connections", "20000") as hub:
        sim = [lib.MUSTER, "simulate", "--hub", hub.url, "--token-file", hub.token_file, "--nodes", str(args.nodes), "--actors", "50", "--quiet"]
        with lib.Server(sim), Screen([lib.MUSTER, "top", "--hub", hub.url]) as top:
            top.until((b" GPUs",), 120)
            top.read(15)
            took = latency(top, args.keys)
            cpu, rss, private, written = load(top, args.seconds)
    print(f"{args.nodes} nodes x 8 GPUs streaming through a hub, {len(took)} keys, 200x60:")
    print(f"  key to screen: median {took[len(took) // 2]:.1f} ms, p95 {took[int(len(took) * .95)]:.1f} ms, worst {took[-1]:.1f} ms")
    print(f"  {cpu:.1%} of a core, {rss:.1f} MB resident ({private:.1f} private), {written:.0f} bytes written a second")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=1000)
    p.add_argument("--keys", type=int, default=200)
    p.add_argument("--seconds", type=int, default=30)
    p.add_argument("--nvtop", help="the program, where it was built")
    args = p.parse_args()
    one_machine(args)
    cluster(args)


if __name__ == "__main__":
    main()
