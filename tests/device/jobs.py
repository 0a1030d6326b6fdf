"""Jobs, each with the verdict that an expert would give. tests/device/verdicts.py records them.

A job is a function that prepares its work and returns a step. Jobs of several processes fork before they touch the GPU. One job runs at a time, each in a process of its own.
"""
import collections
import multiprocessing
import os
import random
import tempfile
import time

import numpy as np
import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

F = torch.nn.functional
Job = collections.namedtuple("Job", "name want what make counted")
JOBS = {}


def job(want, what, counted=False):
    """want: the rule that should be reported ("": none). counted: the operations of a step are counted."""
    def add(make):
        name = make.__name__.replace("_", "-")
        JOBS[name] = Job(name, want, what, make, counted)
        return make
    return add


# ---- models and data ----

def vision(name, **kw):
    return getattr(torchvision.models, name)(**kw).cuda()


def images(n, dtype=torch.float32):
    return torch.randn(n, 3, 224, 224, device="cuda", dtype=dtype).contiguous(memory_format=torch.channels_last)


def labels(n, classes=1000):
    return torch.randint(0, classes, (n,), device="cuda")


def trainer(model, amp=True, rate=1e-4):
    opt = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)

    def step(x, y):
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            out = model(x)
            loss = F.cross_entropy(out.flatten(0, -2), y.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        return loss
    return step


def resnet(name="resnet50", amp=True):
    return trainer(vision(name).to(memory_format=torch.channels_last), amp)


def busy(seconds):
    """One core, in Python."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(range(500))


def pixels(n):
    return torch.randint(0, 255, (n, 3, 224, 224), dtype=torch.uint8)


def to_gpu(x):
    return x.cuda().float().div_(255).contiguous(memory_format=torch.channels_last)


class Block(nn.Module):
    """Of a transformer."""

    def __init__(self, d, heads, causal=True):
        super().__init__()
        self.n1, self.n2, self.heads, self.causal = nn.LayerNorm(d), nn.LayerNorm(d), heads, causal
        self.q, self.o, self.f, self.g = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.q(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(b, t, d))
        return x + self.g(F.gelu(self.f(self.n2(x))))


def transformer(d, heads, layers, words=32000, causal=True):
    return nn.Sequential(nn.Embedding(words, d), *[Block(d, heads, causal) for _ in range(layers)], nn.Linear(d, words, bias=False)).cuda()


class Unet(nn.Module):
    """A small one, as of a diffusion model: convolutions, group norms, attention in the middle."""

    def __init__(self, c):
        super().__init__()
        def conv(a, b, stride=1):
            return nn.Sequential(nn.GroupNorm(32, a), nn.SiLU(), nn.Conv2d(a, b, 3, stride, 1))
        self.first, self.last = nn.Conv2d(4, c, 3, 1, 1), nn.Conv2d(c, 4, 3, 1, 1)
        self.down = nn.ModuleList([conv(c, c), conv(c, 2 * c, 2), conv(2 * c, 2 * c), conv(2 * c, 4 * c, 2), conv(4 * c, 4 * c)])
        self.middle = Block(4 * c, 8, False)
        self.up = nn.ModuleList([conv(4 * c, 4 * c), conv(4 * c, 2 * c), conv(2 * c, 2 * c), conv(2 * c, c), conv(c, c)])

    def forward(self, x):
        x = self.first(x)
        for layer in self.down:
            x = layer(x)
        b, c, h, w = x.shape
        x = self.middle(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(b, c, h, w)
        for i, layer in enumerate(self.up):
            x = layer(F.interpolate(x, scale_factor=2) if i in (1, 3) else x)
        return self.last(x)


# ---- trainings that wait for their data ----

def loads_itself(name, batch, seconds):
    train, host = resnet(name), pixels(batch)
    y = labels(batch)

    def step():
        busy(seconds)
        train(to_gpu(host), y).item()
    return step


@job("starved", "ResNet-18; each batch takes 60 ms of Python")
def loader_slow():
    return loads_itself("resnet18", 128, 0.06)


@job("starved", "ResNet-18; 12 ms of Python")
def loader_medium():
    return loads_itself("resnet18", 128, 0.012)


@job("starved", "ResNet-50; 20 ms of Python")
def loader_slight():
    return loads_itself("resnet50", 128, 0.02)


class Items(torch.utils.data.Dataset):
    """Takes so long for an item, busy or waiting."""

    def __init__(self, busy_s=0.0, wait_s=0.0):
        self.busy_s, self.wait_s, self.item = busy_s, wait_s, pixels(1)[0]

    def __len__(self):
        return 10 ** 7

    def __getitem__(self, i):
        busy(self.busy_s) if self.busy_s else None
        time.sleep(self.wait_s) if self.wait_s else None
        return self.item


def loads_by_workers(name, batch, workers, **kw):
    data = iter(torch.utils.data.DataLoader(Items(**kw), batch, num_workers=workers, pin_memory=True, prefetch_factor=2))
    train, y = resnet(name), labels(batch)

    def step():
        train(to_gpu(next(data)), y)
    return step


@job("starved", "ResNet-18; four workers, 2 ms of Python an item")
def loader_workers():
    return loads_by_workers("resnet18", 64, 4, busy_s=0.002)


@job("starved", "ResNet-18; four workers wait 5 ms an item for storage")
def loader_storage():
    return loads_by_workers("resnet18", 64, 4, wait_s=0.005)


@job("", "ResNet-50; eight workers that keep up")
def loader_fast():
    return loads_by_workers("resnet50", 128, 8)


@job("starved", "a small GPT; its text becomes tokens in Python")
def tokens_in_python():
    train, words = trainer(transformer(768, 12, 12)), {str(i): i for i in range(32000)}
    text = " ".join(str(random.randrange(32000)) for _ in range(8 * 513))

    def step():
        for _ in range(60):
            t = [words[w] for w in text.split(" ")]
        t = torch.tensor(t).view(8, 513).cuda()
        train(t[:, :-1], t[:, 1:]).item()
    return step


class Rows(torch.utils.data.IterableDataset):
    def __iter__(self):
        line = ",".join(f"{i * 0.37:.4f}" for i in range(30))
        while True:
            yield torch.tensor([[float(v) for v in line.split(",")] for _ in range(4096)])


@job("starved", "a small MLP; four workers read CSV in Python")
def csv_mlp():
    data = iter(torch.utils.data.DataLoader(Rows(), None, num_workers=4))
    train, y = trainer(nn.Sequential(nn.Linear(30, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()), labels(4096, 10)

    def step():
        train(next(data).cuda(), y).item()
    return step


@job("starved", "each step copies 1 GiB from memory that is not pinned")
def copies_in():
    host, a = torch.ones(1 << 28), torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    there = torch.empty(1 << 28, device="cuda")

    def step():
        there.copy_(host)
        for _ in range(10):
            a @ a
        torch.cuda.synchronize()
    return step


@job("starved", "detection: boxes are sorted out on the processor after each batch")
def boxes_on_the_cpu():
    model, x = vision("resnet50").half().to(memory_format=torch.channels_last).eval(), images(64, torch.float16)

    @torch.no_grad()
    def step():
        out = model(x).float().cpu().numpy()
        boxes = np.abs(out[:, :400].reshape(-1, 4))
        for b in boxes[:1500]:  # suppression, one box at a time
            np.minimum(boxes[:, 2:], b[2:]).max()
    return step


@job("starved", "ResNet-50; eight workers, 6 ms of Python an item")
def workers_resnet50():
    return loads_by_workers("resnet50", 64, 8, busy_s=0.006)


@job("starved", "audio; numpy computes the spectrograms in the same process")
def spectrograms():
    net = nn.Sequential(nn.Conv1d(257, 512, 5, padding=2), nn.ReLU(), nn.Conv1d(512, 512, 5, padding=2), nn.ReLU(),
                        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(512, 50)).cuda()
    train, y, wave = trainer(net), labels(64, 50), np.random.randn(64, 400, 512).astype(np.float32)

    def step():
        x = np.log1p(np.abs(np.fft.rfft(wave, axis=2))).astype(np.float32).transpose(0, 2, 1)
        train(torch.from_numpy(np.ascontiguousarray(x)).cuda(), y).item()
    return step


@job("starved", "a graph network; numpy samples the neighbours")
def neighbours():
    table = torch.randn(1 << 20, 128, device="cuda")
    train, y = trainer(nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 40)).cuda()), labels(8192, 40)

    def step():
        at = np.unique(np.random.randint(0, 1 << 20, 200000))[:163840]
        x = table[torch.from_numpy(at).cuda()]
        train(x[:163840].view(-1, 20, 128).mean(1)[:8192], y[:min(8192, len(at) // 20)]).item()
    return step


# ---- several processes ----

@job("starved", "two ranks on one GPU; one is slowed down by Python")
def ddp_slow_rank():
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = tempfile.mktemp(prefix="muster-ddp-")
    rank = 0 if os.fork() else 1
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    torch.cuda.set_device(0)
    model = nn.parallel.DistributedDataParallel(vision("resnet18").to(memory_format=torch.channels_last))
    train, x, y = trainer(model), images(64), labels(64)

    def step():
        if rank == 1:
            busy(0.15)
        train(x, y).item()
    return step


@job("", "two trainings share the GPU")
def two_trainings():
    os.fork()
    train, x, y = trainer(vision("vit_b_16")), torch.randn(96, 3, 224, 224, device="cuda"), labels(96)
    return lambda: train(x, y)


def policy():
    return nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 16)).cuda()


def simulate(state, steps):
    for _ in range(steps):
        state = state + 0.01 * np.tanh(state[:, ::-1])
    return state


@job("starved", "reinforcement learning: the environments run in the same process")
def rl_one_process():
    model, state = policy(), np.random.rand(64, 64)
    train = trainer(model)

    def step():
        nonlocal state
        seen = []
        for _ in range(16):
            state = simulate(state, 60)
            with torch.no_grad():
                x = torch.tensor(state, dtype=torch.float32).cuda()
                seen.append(x)
                state[:, :16] += model(x).cpu().numpy() * 0.01
        train(torch.cat(seen), labels(16 * 64, 16))
    return step


@job("starved", "reinforcement learning: six processes play, then the GPU learns")
def rl_players():
    def play(pipe):
        while True:
            pipe.send(simulate(np.random.rand(64, 64), pipe.recv()).astype(np.float32))
    pipes = []
    for _ in range(6):
        mine, its = multiprocessing.Pipe()
        if os.fork() == 0:
            play(its)
        pipes.append(mine)
    train = trainer(nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 16)).cuda())

    def step():
        for p in pipes:
            p.send(25000)
        x = torch.from_numpy(np.concatenate([p.recv() for p in pipes])).cuda()
        x, y = x.repeat(64, 1), labels(64 * 384, 16)
        for _ in range(48):
            train(x, y)
        torch.cuda.synchronize()
    return step


# ---- inference ----

def requests(every_s, answer):
    """Requests that come by themselves; each is answered when it comes."""
    rng, due = random.Random(1), [time.time()]

    def step():
        due[0] = max(due[0] + rng.expovariate(1 / every_s), time.time() - 1)
        time.sleep(max(0, due[0] - time.time()))
        with torch.no_grad():
            answer().cpu()
    return step


@job("slice", "a server with twenty requests a second")
def serve_few():
    model, x = vision("resnet50").half().to(memory_format=torch.channels_last).eval(), images(32, torch.float16)
    return requests(0.05, lambda: model(x))


@job("starved", "a server with few requests that keeps 80 GB for its cache")
def serve_few_big():
    model, x = transformer(1024, 16, 24).half().eval(), torch.randint(0, 32000, (4, 1024), device="cuda")
    cache = torch.empty(80 << 30, dtype=torch.uint8, device="cuda")
    return requests(0.04, lambda: model(x)[:, -1] + cache[0])


@job("", "a server whose queue is never empty: ViT, batches of 256")
def serve_full():
    model, host = vision("vit_b_16").half().eval(), torch.randn(256, 3, 224, 224).half().pin_memory()

    @torch.no_grad()
    def step():
        model(host.cuda(non_blocking=True))
    return step


@job("small-kernels", "ResNet-50, one image at a time")
def serve_one():
    model, x = vision("resnet50").half().to(memory_format=torch.channels_last).eval(), images(1, torch.float16)

    @torch.no_grad()
    def step():
        model(x).cpu()
    return step


class Decoder(nn.Module):
    """A token at a time, from a cache of keys and values."""

    def __init__(self, d, layers, batch, past):
        super().__init__()
        kw = {"device": "cuda", "dtype": torch.bfloat16}
        self.heads, self.d = d // 128, d
        self.qkv = nn.ModuleList([nn.Linear(d, 3 * d, bias=False, **kw) for _ in range(layers)])
        self.o = nn.ModuleList([nn.Linear(d, d, bias=False, **kw) for _ in range(layers)])
        self.f = nn.ModuleList([nn.Linear(d, 4 * d, bias=False, **kw) for _ in range(layers)])
        self.g = nn.ModuleList([nn.Linear(4 * d, d, bias=False, **kw) for _ in range(layers)])
        self.k = [torch.randn(batch, self.heads, past, 128, **kw) for _ in range(layers)]
        self.v = [torch.randn(batch, self.heads, past, 128, **kw) for _ in range(layers)]

    def forward(self, x):
        for i, qkv in enumerate(self.qkv):
            q = qkv(F.rms_norm(x, (self.d,)))[:, :, :self.d].view(x.size(0), 1, self.heads, 128).transpose(1, 2)
            x = x + self.o[i](F.scaled_dot_product_attention(q, self.k[i], self.v[i]).transpose(1, 2).reshape(x.shape))
            x = x + self.g[i](F.silu(self.f[i](F.rms_norm(x, (self.d,)))))
        return x


@job("memory", "decoding with a CUDA graph: 5 billion parameters, batch 8, a cache of 2,048 tokens")
def decode_graph():
    model, x = Decoder(4096, 24, 8, 2048).requires_grad_(False), torch.randn(8, 1, 4096, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(x)
    return graph.replay


@job("small-kernels", "decoding without a graph: 0.2 billion parameters, batch 4")
def decode_eager():
    model, x = Decoder(1024, 16, 4, 256).requires_grad_(False), torch.randn(4, 1, 1024, device="cuda", dtype=torch.bfloat16)

    def step():
        for _ in range(10):
            model(x)
    return step


@job("starved", "decoding with a CUDA graph; Python chooses the next token")
def decode_sampled():
    model, x = Decoder(2048, 16, 4, 512).requires_grad_(False), torch.randn(4, 1, 2048, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(x)

    def step():
        graph.replay()
        out.float().cpu()
        busy(0.004)
    return step


@job("starved", "a language model with three requests a second and a large cache")
def serve_some():
    model, x = transformer(4096, 32, 8).bfloat16().eval(), torch.randint(0, 32000, (1, 8192), device="cuda")
    cache = torch.empty(60 << 30, dtype=torch.uint8, device="cuda")
    return requests(0.33, lambda: model(x)[:, -1] + cache[0])


# ---- kernels that are small, and kernels that only move memory ----

@job("small-kernels", "an LSTM of 512, batches of 32")
def lstm():
    model, x = nn.LSTM(256, 512, 2, batch_first=True).cuda(), torch.randn(32, 128, 256, device="cuda")
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        model(x)[0].sum().backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


@job("small-kernels", "an LSTM cell in a loop of Python")
def lstm_cell():
    cell, x = nn.LSTMCell(256, 512).cuda(), torch.randn(100, 32, 256, device="cuda")

    def step():
        h = c = torch.zeros(32, 512, device="cuda")
        for t in x:
            h, c = cell(t, (h, c))
        h.sum().backward()
    return step


@job("small-kernels", "a small MLP in a CUDA graph: always active, few multiprocessors")
def mlp_graph():
    w, x = [torch.randn(512, 512, device="cuda", dtype=torch.bfloat16) for _ in range(100)], torch.randn(64, 512, device="cuda", dtype=torch.bfloat16)

    def run():
        h = x
        for v in w:
            h = torch.relu(h @ v)
        return h
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return lambda: [graph.replay() for _ in range(20)]


@job("small-kernels", "diffusion: one small image, step by step")
def diffusion_sample():
    model, x = Unet(128).cuda().half().eval(), torch.randn(1, 4, 32, 32, device="cuda", dtype=torch.float16)

    @torch.no_grad()
    def step():
        y = x
        for _ in range(20):
            y = y - 0.02 * model(y)
    return step


@job("small-kernels", "a stencil on a plate of 256 x 256")
def stencil_small():
    u = torch.rand(256, 256, device="cuda")

    def step():
        for _ in range(200):
            u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return step


@job("small-kernels", "a GPT trains on one short text a step")
def gpt_short():
    body = transformer(768, 12, 12)
    opt, x = torch.optim.AdamW(body.parameters(), foreach=True), torch.randint(0, 32000, (1, 128), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(body(x).flatten(0, 1), x.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


@job("small-kernels", "a small convolution network for images of 28 x 28, batches of 64")
def digits():
    net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()
    train, x, y = trainer(net), torch.randn(64, 1, 28, 28, device="cuda"), labels(64, 10)
    return lambda: train(x, y)


@job("small-kernels", "small systems of equations, one after the other")
def solves():
    a, b = torch.randn(256, 256, device="cuda") + 20 * torch.eye(256, device="cuda"), torch.randn(256, 16, device="cuda")
    return lambda: [torch.linalg.solve_ex(a, b) for _ in range(20)]


@job("memory", "a stencil in a box of 768 x 768 x 768")
def stencil():
    u, v = torch.rand(768, 768, 768, device="cuda"), torch.empty(768, 768, 768, device="cuda")

    def step():
        v.copy_(u)
        for n in range(3):
            v.narrow(n, 1, 766).add_(u.narrow(n, 0, 766), alpha=0.1).add_(u.narrow(n, 2, 766), alpha=0.1)
        u.copy_(v)
    return step


@job("memory", "FFT of 512 x 512 x 512")
def fft():
    x = torch.randn(512, 512, 512, device="cuda", dtype=torch.complex64)
    return lambda: torch.fft.ifftn(torch.fft.fftn(x))


@job("memory", "a sparse matrix of 2 million rows times 64 columns")
def sparse():
    n, per = 2 << 20, 16
    crow = torch.arange(0, (n + 1) * per, per, device="cuda")
    a = torch.sparse_csr_tensor(crow, torch.randint(0, n, (n * per,), device="cuda"), torch.rand(n * per, device="cuda"), (n, n))
    x = torch.rand(n, 64, device="cuda")
    return lambda: a @ x


@job("memory", "embedding tables of 10 GB")
def embeddings():
    table, at = torch.rand(40 << 20, 64, device="cuda"), torch.randint(0, 40 << 20, (1 << 16, 32), device="cuda")
    return lambda: F.embedding_bag(at, table, mode="sum")


@job("memory", "operations element by element on a large tensor")
def elements():
    x = torch.randn(1 << 29, device="cuda", dtype=torch.float16)
    return lambda: x.mul(1.01).add_(0.1).relu_()


@job("memory", "the transposition of a large matrix")
def transposition():
    x = torch.randn(30000, 30000, device="cuda")
    return lambda: x.t().contiguous()


@job("memory", "layer norm of large tensors")
def norms():
    x = torch.randn(1 << 17, 4096, device="cuda", dtype=torch.bfloat16)
    return lambda: F.layer_norm(x, (4096,))


# ---- fp32 ----

@job("fp32", "ViT-B/16 in fp32", counted=True)
def vit_fp32():
    train, x, y = trainer(vision("vit_b_16"), False), torch.randn(64, 3, 224, 224, device="cuda"), labels(64)
    return lambda: train(x, y)


@job("fp32", "ResNet-50 in fp32, without tf32", counted=True)
def resnet_fp32():
    torch.backends.cudnn.allow_tf32 = False
    train, x, y = trainer(vision("resnet50"), False), torch.randn(128, 3, 224, 224, device="cuda"), labels(128)
    return lambda: train(x, y)


@job("fp32", "distances between points in fp32")
def distances():
    a, b = torch.randn(32768, 1024, device="cuda"), torch.randn(32768, 1024, device="cuda")
    return lambda: torch.cdist(a, b)


# ---- well ----

@job("", "ResNet-50 in bf16, channels last", counted=True)
def resnet_bf16():
    train, x, y = resnet(), images(256), labels(256)
    return lambda: train(x, y)


@job("", "ResNet-50 as PyTorch does by default: tf32", counted=True)
def resnet_tf32():
    train, x, y = resnet(amp=False), images(128), labels(128)
    return lambda: train(x, y)


@job("", "ViT-B/16 in bf16, batches of 256", counted=True)
def vit():
    train, x, y = trainer(vision("vit_b_16")), torch.randn(256, 3, 224, 224, device="cuda"), labels(256)
    return lambda: train(x, y)


@job("", "BERT-large in bf16", counted=True)
def bert():
    train, x = trainer(transformer(1024, 16, 24, 30000, False)), torch.randint(0, 30000, (32, 512), device="cuda")
    return lambda: train(x, x)


@job("", "a GPT that computes its activations again")
def gpt_again():
    body = transformer(2048, 16, 12)
    opt = torch.optim.SGD(body.parameters(), lr=1e-4)
    x = torch.randint(0, 32000, (8, 1024), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(checkpoint_sequential(body, 4, x, use_reentrant=False).flatten(0, 1), x.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


@job("", "diffusion: a U-Net trains in bf16, batches of 64", counted=True)
def diffusion():
    model, x = Unet(256).cuda().to(memory_format=torch.channels_last), torch.randn(64, 4, 64, 64, device="cuda")
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.mse_loss(model(x), x)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


@job("", "fp16 matrices of 4,096", counted=True)
def gemm_fp16():
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    return lambda: [a @ a for _ in range(20)]


@job("", "int8 matrices of 8,192")
def gemm_int8():
    a = torch.randint(-99, 99, (8192, 8192), device="cuda", dtype=torch.int8)
    b = a.t().contiguous().t()
    return lambda: torch._int_mm(a, b)


@job("", "a ConvNeXt trains in bf16")
def convnext():
    train, x, y = trainer(vision("convnext_base").to(memory_format=torch.channels_last)), images(128), labels(128)
    return lambda: train(x, y)


@job("", "a language model reads long prompts")
def prefill():
    model, x = transformer(4096, 32, 8).bfloat16().eval(), torch.randint(0, 32000, (2, 8192), device="cuda")

    @torch.no_grad()
    def step():
        model(x)
    return step


@job("", "fp64 matrices of 8,192")
def gemm_fp64():
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float64)
    return lambda: a @ a
