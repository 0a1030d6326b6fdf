"""A second writer of the wire format (docs/internals/wire.md), just enough to be an agent in a test: one device, a few metrics, nothing packed."""
import os
import struct
import time

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h or 1


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def zigzag(v):
    return varint(2 * v if v >= 0 else -2 * v - 1)


def text(s):
    raw = s.encode() if isinstance(s, str) else s
    return varint(len(raw)) + raw


def ints(values):
    """Coding 1: differences."""
    if not values:
        return b""
    out, before = b"\x01", 0
    for v in values:
        out += zigzag(v - before)
        before = v
    return out


def frame(kind, payload):
    return bytes([kind]) + struct.pack("<II", len(payload), crc32c(bytes([kind]) + payload)) + payload


def body(raw):
    return b"\x00" + struct.pack("<I", len(raw)) + raw


START = b"MUST\x01"


def origin_id(key):
    """The id of a node without an agent, of where it comes from: ssh:NAME, file:NAME."""
    high = fnv(key.encode())
    return struct.pack(">QQ", high, fnv(struct.pack("<Q", high)) ^ len(key))


class Node:
    """One node with one GPU; every call gives frames, stream() puts them behind a hello."""

    def __init__(self, name="n1", node_id=None, run=None, uuid=None):
        self.name, self.id = name, node_id or os.urandom(16)
        self.run, self.number = run or int.from_bytes(os.urandom(8), "little") | 1, 0
        self.uuid = uuid or "GPU-" + self.id.hex()
        self.offset_ms = 0  # its clock less ours
        self.pci = True     # it tells where its GPUs sit
        self.agent = "test" # names no version of muster

    @property
    def key(self):
        return self.id.hex()

    def now(self):
        return int(time.time() * 1000) + self.offset_ms

    def hello(self, state=1, why=""):
        return frame(1, self.id + struct.pack("<Q", self.run) + varint(self.now()) + zigzag(self.now()) + bytes([state, 0])
                     + struct.pack("<I", 0) + text(self.name) + text(why))

    def facts(self, note="", more=()):
        """more: uuids of further GPUs, or (uuid, its GPU's) of MIG instances"""
        raw = text(self.name) + text("Debian") + text("6.1") + text("x86_64") + text("cpu") + zigzag(8) + text("550.1") + text("12.4")
        raw += text(self.agent) + text("boot") + text("machine") + text("test") + zigzag(1000) + varint(1 + len(more))
        for i, device in enumerate((self.uuid, *more)):
            uuid, parent = (device, "") if isinstance(device, str) else device
            raw += text(uuid) + text(parent) + text("NVIDIA Test") + text("") + text(f"0000:{5 + i:02x}:00.0" if self.pci else "") + zigzag(i) + zigzag(i) + zigzag(i if parent else -1)
            raw += b"\x01\x00" + text(note)
        raw += varint(0)
        self.facts_id = fnv(raw)
        return frame(2, self.id + struct.pack("<Q", self.facts_id) + body(raw))

    def procs(self, *procs):
        """procs: (pid, user, program, command line)"""
        raw = varint(len(procs))
        for pid, user, program, cmd in procs:
            raw += zigzag(pid) + zigzag(1) + zigzag(1700000000000) + zigzag(1000) + text(user) + text(program) + text(cmd)
            raw += text("") + text("") + text("") + zigzag(0) + zigzag(pid)
        self.procs_id = fnv(raw)
        self.n_procs = len(procs)
        return frame(3, self.id + struct.pack("<Q", self.procs_id) + body(raw))

    def batch(self, at_ms=None, util=5000, number=None, facts=None, procs=None, events=(), mem=1 << 30, more=None):
        """One tick: utilisation in 0.01 %, mem of 80 GiB used, more by numbers of metrics.def; every process of procs() on the device."""
        if number is None:
            self.number += 1
            number = self.number
        facts = self.facts_id if facts is None else facts
        procs = getattr(self, "procs_id", 0) if procs is None else procs
        values = {1: util, 3: mem, 5: 80 << 30, **(more or {})}
        raw = varint(1) + varint(at_ms or self.now()) + varint(len(values))
        before = 0
        for metric, v in sorted(values.items()):
            raw += varint(metric - before) + b"\x00" + varint(1) + varint(1) + ints([v])
            before = metric
        n = self.n_procs if procs else 0
        raw += varint(n)
        for column in (range(n), [1] * n, [1] * n, [1 << 30] * n, [-1] * n):
            raw += ints(list(column))
        raw += varint(len(events))
        for at, kind, slot, code, words in events:
            raw += varint(at) + varint(kind) + varint(slot) + zigzag(code) + text(words)
        return frame(4, self.id + struct.pack("<QQQQ", self.run, number, facts, procs) + body(raw))

    def stream(self, *frames, **hello):
        return START + self.hello(**hello) + b"".join(frames)

    def first(self):
        """What a new agent sends first: facts, nobody on the device, a sample."""
        return self.stream(self.facts(), self.procs(), self.batch())


def answer(raw):
    """{"stored": [(run, number)], "need": [...], word: value}"""
    out = {"stored": [], "need": []}
    for line in raw.decode().splitlines():
        word, _, value = line.partition(" ")
        if word == "stored":
            run, number = value.split()
            out["stored"].append((int(run, 16), int(number)))
        elif word == "need":
            out["need"].append(int(value, 16))
        else:
            out[word] = value
    return out
