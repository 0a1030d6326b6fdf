#!/usr/bin/env python3
"""Jobs of known size on a real GPU, seen through the whole agent: what it reads, what the rules say, what it costs, and whether the jobs notice it.

    make agent && python3 tests/device/work.py record [--seconds 180] JOB...     one CSV for all of them, and a verdict on each; without a JOB: their names
    python3 tests/device/work.py slowdown [--slices 12] [--seconds 5]            the same job with and without the agent, in turns

Needs PyTorch with CUDA, gcc, the driver, libzstd's development files. With OUT set, work.csv is left there too. A stand-in hub (tests/kit/fakehub.py) takes the batches.
"""
import argparse
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "kit"))

# name: what the rules should say of it ("": nothing)
JOBS = {"idle": "", "bf16": "", "tf32": "", "fp8": "", "gpt": "", "small": "small-kernels", "tiny": "small-kernels", "fp32": "fp32", "gpt-fp32": "fp32", "copy": "memory",
        "gemv": "memory", "spin": "spinning", "gpt-stall": "starved", "loader": "starved", "checkpoints": "pauses", "idle-tail": "idle-tail"}
METRICS = ("active sm_active sm_occupancy int_active tensor_active dfma_active hmma_active imma_active dram_active fp64_active fp32_active fp16_active work flops util power power_limit power_default "
           "clock_sm clock_sm_max throttle mem_used mem_total host_cpu host_cpu_top pcie_rx pcie_tx nvlink_rx nvlink_tx temp").split()


# ---- the jobs, each in a process of its own ----

def gpt(torch):
    """A GPT-like training step, and its operations: 6 x parameters x tokens, and causal attention."""
    F = torch.nn.functional
    D, heads, layers, T, B, words = 2048, 16, 12, 2048, 8, 32000

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = torch.nn.LayerNorm(D), torch.nn.LayerNorm(D)
            self.q, self.o, self.f, self.g = torch.nn.Linear(D, 3 * D), torch.nn.Linear(D, D), torch.nn.Linear(D, 4 * D), torch.nn.Linear(4 * D, D)

        def forward(self, x):
            q, k, v = self.q(self.n1(x)).view(x.size(0), T, 3, heads, D // heads).permute(2, 0, 3, 1, 4)
            x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.size(0), T, D))
            return x + self.g(F.gelu(self.f(self.n2(x))))

    body = torch.nn.Sequential(torch.nn.Embedding(words, D), *[Block() for _ in range(layers)], torch.nn.Linear(D, words, bias=False)).cuda()
    opt = torch.optim.AdamW(body.parameters(), fused=True)
    tokens = torch.randint(0, words, (B, T), device="cuda")
    params = sum(p.numel() for p in body.parameters()) - body[0].weight.numel()
    flop = 6 * params * B * T + 6 * layers * B * T * T * D

    def step(bf16=True, batch=B):
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(body(tokens[:batch]).view(-1, words), tokens[:batch].view(-1))
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return body, step, flop, B


def make_job(name, torch):
    """A function that does a piece of the job, and the operations of a piece."""
    n = 8192
    a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    if name == "bf16":
        return lambda: a @ a, 2 * n ** 3
    if name == "small":
        s = a[:1024, :1024].contiguous()
        return lambda: [s @ s for _ in range(200)], 200 * 2 * 1024 ** 3
    if name == "tiny":
        s = a[:32, :32].contiguous()
        return lambda: [s.add_(1) for _ in range(1000)], 0
    if name in ("fp32", "tf32"):
        f = a.float()
        return lambda: f @ f, 2 * n ** 3
    if name == "fp8":
        one, f8 = torch.tensor(1.0, device="cuda"), a.to(torch.float8_e4m3fn)
        g8 = f8.t().contiguous().t()
        return lambda: torch._scaled_mm(f8, g8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16), 2 * n ** 3
    if name == "copy":
        x = torch.empty(2 << 30, device="cuda")
        y = torch.empty_like(x)
        return lambda: y.copy_(x), 0
    if name == "gemv":
        x, ws = torch.randn(1, n, device="cuda", dtype=torch.bfloat16), [torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(16)]
        return lambda: [torch.nn.functional.linear(x, w) for w in ws], 16 * 2 * n * n
    if name == "spin":
        return lambda: torch.cuda._sleep(500_000_000), 0
    body, step, flop, batch = gpt(torch)
    if name == "gpt-fp32":
        return lambda: step(False, 2), flop * 2 / batch
    if name == "gpt-stall":
        def stall():
            step()
            torch.cuda.synchronize()
            time.sleep(0.1)
        return stall, flop
    if name == "loader":
        def load():
            step()
            torch.cuda.synchronize()
            until = time.time() + 0.1
            while time.time() < until:  # makes the next batch in Python, on one core
                sum(range(2000))
        return load, flop
    if name == "checkpoints":
        last = [time.time()]

        def save():
            step()
            if time.time() - last[0] > 22:
                torch.cuda.synchronize()
                until = time.time() + 12  # long enough for a reading of 5 s that has nothing else in it
                while time.time() < until:
                    torch.save(body.state_dict(), os.path.join(tempfile.gettempdir(), f"muster-work-{os.getpid()}"))
                os.unlink(os.path.join(tempfile.gettempdir(), f"muster-work-{os.getpid()}"))
                last[0] = time.time()
        return save, flop
    return step, flop  # gpt, idle-tail


def run_job(name, seconds):
    """In a process of its own: prints when it began and ended, and the TFLOP/s that were counted."""
    if name == "idle":
        t0 = time.time()
        time.sleep(seconds)
        print(json.dumps({"t0": t0, "t1": time.time(), "tflops": 0}))
        return
    import torch
    piece, flop = make_job(name, torch)
    for _ in range(3):
        piece()
    torch.cuda.synchronize()
    work_s = seconds * 0.45 if name == "idle-tail" else seconds
    t0, n = time.time(), 0
    while time.time() - t0 < work_s:
        for _ in range(4):
            piece()
            n += 1
        torch.cuda.synchronize()
    worked = time.time() - t0
    if name == "idle-tail":
        time.sleep(seconds - worked)
    print(json.dumps({"t0": t0, "t1": time.time(), "tflops": flop * n / worked / 1e12}))


def run_slices(name, seconds):
    """One job, a slice at each line that comes in: prints the TFLOP/s of each."""
    import torch
    piece, flop = make_job(name, torch)
    for _ in range(20):
        piece()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        t0, n = time.perf_counter(), 0
        while time.perf_counter() - t0 < seconds:
            for _ in range(4):
                piece()
                n += 1
            torch.cuda.synchronize()
        print(flop * n / (time.perf_counter() - t0) / 1e12, flush=True)


def job(name, seconds):
    p = subprocess.run([sys.executable, os.path.abspath(__file__), "job", name, "--seconds", str(seconds)], stdout=subprocess.PIPE, check=True)
    return json.loads(p.stdout.decode().strip().splitlines()[-1])


# ---- the agent ----

def cpu_s(pid):
    """Of each thread of a process, in the order they were started."""
    got = []
    for tid in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="utf-8") as f:
            got.append(int(f.read().split()[0]) / 1e9)
    return got


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return [int(x) for x in f.read().split()]


def prepare():
    """A folder with wiredump and judge, and a token."""
    import lib
    tmp = tempfile.mkdtemp(prefix="muster-work-")
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", '-DMUSTER_VERSION="device"', "-Isrc", "-Itests/kit", "-pthread", "-ffunction-sections", "-Wl,--gc-sections"]
    src = {d: [os.path.join(d, f) for f in sorted(os.listdir(os.path.join(TOP, d))) if f.endswith(".c")] for d in ("src/base", "src/model", "src/codec", "src/wire", "src/verdict")}
    os.makedirs(tmp + "/tool")
    wire = src["src/base"] + src["src/model"] + src["src/codec"] + src["src/wire"]
    subprocess.run(["gcc", *flags, "-o", tmp + "/tool/wiredump", "tests/tool/wiredump.c", *wire, "-levent_core", "-lzstd", "-lm"], cwd=TOP, check=True)
    subprocess.run(["gcc", *flags, "-o", tmp + "/judge", "tests/device/judge.c", *src["src/base"], *src["src/model"], *src["src/verdict"], "-levent_core", "-lm"], cwd=TOP, check=True)
    lib.BIN = tmp
    with open(tmp + "/token", "w", encoding="utf-8") as f:
        f.write("mst_device")
    os.chmod(tmp + "/token", 0o600)
    return tmp


def start_agent(tmp, hub, name):
    import lib
    agent = lib.Process([os.path.join(TOP, "build", "muster-agent"), "--hub", hub.url, "--token-file", tmp + "/token", "--state-dir", f"{tmp}/state-{name}", "--log-level", "info", "--collect-timeout", "10m"],
                        env={k: v for k, v in os.environ.items() if k.startswith("MUSTER_NVML")})  # a stub of the driver, to try the script itself
    lib.wait_until("first batch, or its end", lambda: hub.stored or agent.p.poll() is not None)
    if not hub.stored:
        sys.exit(f"the agent ended: {agent.text}")
    time.sleep(3)
    return agent


def record(names, seconds):
    import fakehub
    tmp = prepare()
    done, cost = {}, {}
    with fakehub.FakeHub() as hub:
        agent = start_agent(tmp, hub, "record")
        pids = [agent.p.pid, *children(agent.p.pid)]
        for name in names:
            cpu, at = [cpu_s(p) for p in pids], time.monotonic()
            done[name] = job(name, seconds)
            took = time.monotonic() - at
            by = [[(y - x) / took for x, y in zip(was, now)] for was, now in zip(cpu, [cpu_s(p) for p in pids])]
            cost[name] = sum(map(sum, by))
            print(f"{name}: counted {done[name]['tflops']:.1f} TFLOP/s; the agent used {cost[name]:.3%} of a core, by process and thread {', '.join(' '.join(f'{v:.3%}' for v in p) for p in by)}", flush=True)
            time.sleep(6)  # the last reading comes up to 5 s later
        time.sleep(6)
        agent.stop()
        stream = b"MUST\x01" + b"".join(hub.blobs.values()) + b"".join(hub.stored[k] for k in hub.order)
    at = collections.defaultdict(dict)  # ms -> metric -> value of the first GPU, in stored steps
    for fr in fakehub.dump(stream):
        for c in fr.get("columns", []):
            if c["slot"] == 1 and c["metric"] in METRICS:
                for ms, v in zip(fr["at_ms"], c["v"]):
                    if v is not None:
                        at[ms][c["metric"]] = v
    rows = ["job,want,tflops,at_ms," + ",".join(METRICS)]
    seldom = {}  # limits come once a minute: each job begins with the newest
    for name in names:
        d, first = done[name], True
        for ms in sorted(at):
            seldom.update({m: at[ms][m] for m in ("power_limit", "power_default", "clock_sm_max", "mem_total") if m in at[ms]})
            if d["t0"] * 1000 + 6000 <= ms <= d["t1"] * 1000:  # a reading is of the 5 s before it
                v = {**at[ms], **(seldom if first else {})}
                rows.append(f"{name},{JOBS[name]},{d['tflops']:.3f},{ms}," + ",".join(str(v.get(m, "")) for m in METRICS))
                first = False
    text = "\n".join(rows) + "\n"
    for where in filter(None, [tmp, os.environ.get("OUT")]):
        with open(where + "/work.csv", "w", encoding="utf-8") as f:
            f.write(text)
    print(f"the agent used {sum(cost.values()) / len(cost):.3%} of a core on average; {len(rows) - 1} samples in {tmp}/work.csv")
    return subprocess.run([tmp + "/judge"], input=text.encode(), check=False).returncode


def slowdown(slices, seconds):
    """A training step alone and with the agent, in turns: what one loses, beside what two slices of a kind differ by. The agent is stopped and goes on by signals, so that the job never restarts."""
    import fakehub
    tmp = prepare()
    got = {"without": [], "with": []}
    me = [sys.executable, os.path.abspath(__file__), "slices", "gpt", "--seconds", str(seconds)]
    with fakehub.FakeHub() as hub, subprocess.Popen(me, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        agent = start_agent(tmp, hub, "slowdown")
        pids = [agent.p.pid, *children(agent.p.pid)]  # a collector that is silent while it is stopped is not replaced
        assert p.stdout.readline().strip() == "ready"
        for i in range(2 * slices):
            kind = ("without", "with")[(i + i // 2) % 2]  # a b b a: what drifts falls on both
            for pid in pids:
                os.kill(pid, signal.SIGCONT if kind == "with" else signal.SIGSTOP)
            p.stdin.write("go\n")
            p.stdin.flush()
            got[kind].append(float(p.stdout.readline()))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        p.stdin.close()
        agent.stop()
    mean = {k: sum(v) / len(v) for k, v in got.items()}
    sd = {k: (sum((x - mean[k]) ** 2 for x in v) / max(1, len(v) - 1)) ** 0.5 for k, v in got.items()}
    print(json.dumps(got))
    print(f"TFLOP/s without the agent {mean['without']:.2f} (sd {sd['without']:.2f}), with it {mean['with']:.2f} (sd {sd['with']:.2f}): {mean['with'] / mean['without'] - 1:+.3%}, "
          f"standard error {((sd['with'] ** 2 + sd['without'] ** 2) / slices) ** 0.5 / mean['without']:.3%}")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["record", "slowdown", "job", "slices"])
    p.add_argument("jobs", nargs="*", metavar="JOB")
    p.add_argument("--seconds", type=int, default=None)
    p.add_argument("--slices", type=int, default=12)
    o = p.parse_intermixed_args()
    unknown = [j for j in o.jobs if j not in JOBS]
    if unknown or (o.what == "record" and not o.jobs):
        sys.exit(f"{'no such job: ' + ', '.join(unknown) if unknown else 'which jobs?'} There are {', '.join(JOBS)}")
    if o.what == "slices":
        run_slices(o.jobs[0], o.seconds or 5)
        return
    if o.what == "job":
        run_job(o.jobs[0], o.seconds or 180)
        return
    sys.exit(record(o.jobs, o.seconds or 180) if o.what == "record" else slowdown(o.slices, o.seconds or 5))


if __name__ == "__main__":
    main()
