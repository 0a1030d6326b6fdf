#!/usr/bin/python3
"""A second reader of muster's wire format, written from docs/internals/wire.md alone, to count and check what a hub stored.

    wire_reader.py < FILE            one line per batch, then the totals; FILE is a stream, or frames one after the other
    wire_reader.py --values < FILE   also every value: node run number at_ms slot metric value

As a module: decode_batch(frame) -> Batch, decode_frames(bytes) -> frames of every kind, Tally to count and sum.

The checksum of a set of samples does not depend on their order: the sum modulo 2^64, over all values, of zlib's CRC-32 of
the 36 bytes node (16), at_ms (i64), slot (u16), metric (u16), value (i64), little-endian.

Only the standard library is used; it has no zstd, so packed bodies go through the `zstd` command, all at once.
"""
import argparse
import collections
import struct
import subprocess
import sys
import zlib

HELLO, FACTS, PROCS, BATCH = 1, 2, 3, 4
TICKS_MAX, DEVICES_MAX, PROCS_MAX, CUSTOM_MAX = 4096, 256, 1024, 256
METRICS_END = 1000 + CUSTOM_MAX
CELLS_MAX, COLUMNS_MAX, USES_MAX, EVENTS_MAX = 1 << 21, 1 << 16, 1 << 14, 1 << 12
BATCH_RAW_MAX, BLOB_RAW_MAX, TEXT_MAX, TIME_END = 8 << 20, 2 << 20, 4096, 1 << 43
MASK = (1 << 64) - 1

Frame = collections.namedtuple("Frame", "type whole payload")
Key = collections.namedtuple("Key", "node run number")
Use = collections.namedtuple("Use", "proc slot kind mem sm")
Event = collections.namedtuple("Event", "at_ms kind slot code text")
# columns: {(metric, slot): [value or None, one per tick]}
Batch = collections.namedtuple("Batch", "key facts procs ticks columns uses events")


class Bad(ValueError):
    """The bytes are not what docs/internals/wire.md says."""


def need(ok, why):
    if not ok:
        raise Bad(why)


# ---- checksums ----

def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def fnv64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


# ---- numbers and text ----

def signed(v):
    v &= MASK
    return v - (1 << 64) if v >> 63 else v


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, n):
        need(n <= self.left(), "ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.bytes(1)[0]

    def u32(self):
        return struct.unpack("<I", self.bytes(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.bytes(8))[0]

    def varint(self):
        v = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            need(shift < 63 or byte < 2, "a varint of more than 64 bits")
            v |= (byte & 127) << shift
            if byte < 128:
                return v
        raise Bad("a varint of more than ten bytes")

    def zigzag(self):
        v = self.varint()
        return v >> 1 if v & 1 == 0 else -(v >> 1) - 1

    def count(self, limit, what):
        n = self.varint()
        need(n <= limit, f"{what}: {n} are too many")
        return n

    def time(self):
        t = self.varint()
        need(0 < t < TIME_END, f"{t} is no time")
        return t

    def text(self, size):
        raw = self.bytes(self.count(TEXT_MAX, "bytes of a text"))
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Bad("a text is not UTF-8") from None
        need(not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text), "a text has control characters")
        return raw[:size].decode("utf-8", "ignore")

    def name(self, size):
        text = self.text(size)
        need(text and not set('"\\/') & set(text), "not a name")
        return text

    def i32(self):
        v = self.zigzag()
        need(-(1 << 31) <= v < 1 << 31, "does not fit into 32 bits")
        return v

    def ints(self, n):
        if n == 0:
            return []
        coding = self.u8()
        factor = self.varint() if coding & 0x10 else 1
        need(coding & 0xEF in CODINGS, f"coding {coding} is not known")
        values = CODINGS[coding & 0xEF](self, n)
        return [signed(v * factor) for v in values]

    def end(self):
        need(self.left() == 0, f"{self.left()} bytes too many")


# ---- columns of integers ----

def _const(r, n):
    return [r.zigzag()] * n


def _delta(r, n):
    out, at = [], 0
    for _ in range(n):
        at = signed(at + r.zigzag())
        out.append(at)
    return out


def _runs(r, n):
    out, at = [], 0
    while len(out) < n:
        length = r.varint()
        at = signed(at + r.zigzag())
        need(0 < length <= n - len(out), "a run of wrong length")
        out += [at] * length
    return out


def _pack(r, n):
    least, width = r.zigzag(), r.u8()
    need(width <= 64, "wider than 64 bits")
    bits = int.from_bytes(r.bytes((n * width + 7) // 8), "little")
    mask = (1 << width) - 1
    return [signed(least + (bits >> i * width & mask)) for i in range(n)]


def _pack_delta(r, n):
    out = [r.zigzag()]
    for step in _pack(r, n - 1):
        out.append(signed(out[-1] + step))
    return out


CODINGS = {0: _const, 1: _delta, 2: _runs, 3: _pack, 4: _pack_delta}


# ---- frames ----

def frames(data):
    """The frames in data: a stream, or frames alone, one after the other. Types that are not known are left out."""
    r = Reader(data)
    if data[:4] == b"MUST":
        r.bytes(4)
        need(r.u8() == 1, "not version 1")
    while r.left():
        start = r.at
        kind, length, crc = r.u8(), r.u32(), r.u32()
        payload = r.bytes(length)
        need(crc32c(bytes([kind]) + payload) == crc, f"a frame of type {kind} fails its checksum")
        if HELLO <= kind <= BATCH:
            yield Frame(kind, data[start:r.at], payload)


FIXED = {FACTS: 24, PROCS: 24, BATCH: 48}


def _body(frame):
    """(packing, unpacked length, bytes) of a frame's body."""
    r = Reader(frame.payload)
    r.bytes(FIXED[frame.type])
    packing, length = r.u8(), r.u32()
    rest = r.bytes(r.left())
    need(packing in (0, 1), f"packing {packing} is not known")
    need(length <= (BATCH_RAW_MAX if frame.type == BATCH else BLOB_RAW_MAX), "too large when unpacked")
    need(packing == 1 or length == len(rest), "the body is not as long as it says")
    return packing, length, rest


def unpack(frames_):
    """The unpacked bodies of these frames, with one run of zstd for all."""
    bodies = [_body(f) for f in frames_]
    packed = b"".join(rest for packing, _, rest in bodies if packing == 1)
    raw = b""
    if packed:
        done = subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        need(done.returncode == 0, "zstd: " + done.stderr.decode("utf-8", "replace").strip())
        raw = done.stdout
    need(len(raw) == sum(length for packing, length, _ in bodies if packing == 1), "bodies of wrong length")
    out, at = [], 0
    for packing, length, rest in bodies:
        if packing == 1:
            rest = raw[at:at + length]
            at += length
        out.append(rest)
    return out


# ---- what is in them ----

def _hello(frame):
    r = Reader(frame.payload)
    h = {"node": r.bytes(16).hex(), "run": r.u64(), "sent_ms": r.time(), "state_since_ms": r.zigzag(), "collect": r.u8(),
         "stuck": r.u8(), "backlog": r.u32(), "name": r.name(127), "why": r.text(159)}
    need(0 <= h["state_since_ms"] < TIME_END and h["collect"] < 6, "out of range")
    r.end()
    return h


def _uuid(r, may_be_empty):
    text = r.text(TEXT_MAX)
    need(len(text) <= 79 and (text or may_be_empty), "not a uuid")
    need(all(" " < c <= "~" and c not in '"\\' for c in text), "not a uuid")
    return text


def _facts(raw):
    r = Reader(raw)
    f = {"name": r.name(127), "os": r.text(127), "kernel": r.text(63), "arch": r.text(15), "cpu": r.text(127), "cpus": r.i32(),
         "driver": r.text(31), "cuda": r.text(15), "agent": r.text(31), "boot_id": r.text(39), "machine_id": r.text(39),
         "collector": r.text(63), "tick_ms": r.i32(), "devices": [], "custom": []}
    for _ in range(r.count(DEVICES_MAX, "devices")):
        d = {"uuid": _uuid(r, False), "parent": _uuid(r, True), "name": r.text(127), "serial": r.text(39), "pci": r.text(19),
             "index": r.i32(), "minor": r.i32(), "mig": r.i32(), "vendor": r.u8()}
        flags = r.u8()
        d.update(lost=bool(flags & 1), asleep=bool(flags & 2), note=r.text(95))
        f["devices"].append(d)
    need(len({d["uuid"] for d in f["devices"]}) == len(f["devices"]), "a uuid comes twice")
    for _ in range(r.count(CUSTOM_MAX, "custom metrics")):
        c = {"name": r.name(63), "unit": r.u8(), "kind": r.u8(), "per": r.zigzag()}
        need(c["per"] >= 1, "out of range")
        f["custom"].append(c)
    r.end()
    return f


def _procs(raw):
    r = Reader(raw)
    out = []
    for _ in range(r.count(PROCS_MAX, "processes")):
        out.append({"pid": r.i32(), "ppid": r.i32(), "start_ms": r.zigzag(), "uid": r.zigzag(), "user": r.text(63),
                    "name": r.text(63), "cmd": r.text(1023), "runtime": r.text(15), "container": r.text(71), "pod": r.text(47),
                    "slurm_job": r.zigzag(), "root_pid": r.i32()})
    r.end()
    return out


def _ticks(r):
    n = r.count(TICKS_MAX, "ticks")
    if n == 0:
        return []
    ticks = [r.time()]
    for step in r.ints(n - 1):
        need(step > 0 and ticks[-1] + step < TIME_END, "ticks do not ascend")
        ticks.append(ticks[-1] + step)
    return ticks


def _bitmap(r, n):
    bits = int.from_bytes(r.bytes((n + 7) // 8), "little")
    need(bits >> n == 0, "bits behind the last tick")
    return bits


def _columns(r, n_ticks):
    total, columns, metric = r.count(COLUMNS_MAX, "columns"), {}, 0
    need(n_ticks or not total, "columns without ticks")
    need(total * n_ticks <= CELLS_MAX, "too many values")
    while len(columns) < total:
        step, shape, n, slot = r.varint(), r.u8(), r.varint(), r.varint()
        metric += step
        need(step >= 1 and metric < METRICS_END, "a metric out of range")
        need(shape < 8 and shape & 3 != 3, "a shape that is not known")
        need(1 <= n <= total - len(columns), "wrong number of slots")
        slots = [slot]
        for _ in range(n - 1):
            gap = r.varint() if shape & 4 else 1
            need(gap >= 1, "slots do not ascend")
            slots.append(slots[-1] + gap)
            need(slots[-1] <= DEVICES_MAX, "a slot out of range")
        need(slot <= DEVICES_MAX, "a slot out of range")
        maps = [(1 << n_ticks) - 1] * n
        if shape & 3 == 1:
            maps = [_bitmap(r, n_ticks)] * n
        elif shape & 3 == 2:
            maps = [_bitmap(r, n_ticks) for _ in range(n)]
        values = iter(r.ints(sum(bin(m).count("1") for m in maps)))
        for s, m in zip(slots, maps):
            columns[metric, s] = [next(values) if m >> t & 1 else None for t in range(n_ticks)]
    return columns


def _uses(r):
    n = r.count(USES_MAX, "uses")
    uses = [Use(*u) for u in zip(*(r.ints(n) for _ in range(5)))]
    for u in uses:
        need(0 <= u.proc < PROCS_MAX and 1 <= u.slot <= DEVICES_MAX and 0 <= u.kind < 8, "a use out of range")
        need(u.mem >= -1 and -1 <= u.sm < 1 << 31, "a use out of range")
    return uses


def _events(r):
    out = []
    for _ in range(r.count(EVENTS_MAX, "events")):
        e = Event(r.time(), r.varint(), r.varint(), r.zigzag(), r.text(159))
        need(1 <= e.kind < 65536 and e.slot <= DEVICES_MAX, "an event out of range")
        out.append(e)
    return out


def batch_key(frame):
    return Key(frame.payload[:16].hex(), *struct.unpack("<QQ", frame.payload[16:32]))


def _batch(frame, raw):
    facts, procs = struct.unpack("<QQ", frame.payload[32:48])
    r = Reader(raw)
    ticks = _ticks(r)
    columns = _columns(r, len(ticks))
    uses, events = _uses(r), _events(r)
    r.end()
    return Batch(batch_key(frame), facts, procs, ticks, columns, uses, events)


def decode_frames(data):
    """[(Frame, what it says)] for a stream or frames alone: a dict, a list of dicts, or a Batch."""
    all_ = list(frames(data))
    packed = [f for f in all_ if f.type != HELLO]
    raws = dict(zip((id(f) for f in packed), unpack(packed)))
    out = []
    for f in all_:
        if f.type == HELLO:
            out.append((f, _hello(f)))
            continue
        raw = raws[id(f)]
        if f.type != BATCH:
            need((fnv64(raw) or 1) == struct.unpack("<Q", f.payload[16:24])[0], "a blob's name is not its content's")
        out.append((f, _batch(f, raw) if f.type == BATCH else _facts(raw) if f.type == FACTS else _procs(raw)))
    return out


def decode_batch(frame_bytes):
    """One batch frame, as a hub stores it."""
    got = decode_frames(frame_bytes)
    need(len(got) == 1 and got[0][0].type == BATCH, "not one batch")
    return got[0][1]


# ---- counting ----

_SAMPLE = struct.Struct("<16sqHHq")


def samples(batch):
    """Every value that is there: (at_ms, slot, metric, value)."""
    for (metric, slot), column in batch.columns.items():
        for at_ms, value in zip(batch.ticks, column):
            if value is not None:
                yield at_ms, slot, metric, value


def checksum(batch):
    """(number of samples, their checksum)."""
    node, n, total = bytes.fromhex(batch.key.node), 0, 0
    for one in samples(batch):
        n += 1
        total += zlib.crc32(_SAMPLE.pack(node, *one))
    return n, total & MASK


class Tally:
    """Counts batches once by their key, whatever order they come in."""

    def __init__(self):
        self.keys, self.repeated, self.samples, self.sum = set(), 0, 0, 0

    def add(self, batch):
        if batch.key in self.keys:
            self.repeated += 1
            return
        self.keys.add(batch.key)
        n, total = checksum(batch)
        self.samples += n
        self.sum = self.sum + total & MASK

    def __str__(self):
        return f"batches={len(self.keys)} repeated={self.repeated} samples={self.samples} checksum={self.sum:016x}"


def lines(data, values=False):
    """What the command prints."""
    tally = Tally()
    for frame, got in decode_frames(data):
        if frame.type != BATCH:
            continue
        tally.add(got)
        n, total = checksum(got)
        k = got.key
        span = f"{got.ticks[0]}..{got.ticks[-1]}" if got.ticks else "-"
        yield (f"batch {k.node} {k.run:016x} {k.number} facts={got.facts:016x} procs={got.procs:016x} ticks={len(got.ticks)} {span} "
               f"columns={len(got.columns)} uses={len(got.uses)} events={len(got.events)} samples={n} checksum={total:016x}")
        if values:
            for one in samples(got):
                yield " ".join(str(x) for x in (k.node, f"{k.run:016x}", k.number, *one))
    yield f"total {tally}"


def main():
    p = argparse.ArgumentParser(description="count and check the batches of a muster stream on standard input")
    p.add_argument("--values", action="store_true", help="print every value")
    a = p.parse_args()
    try:
        for line in lines(sys.stdin.buffer.read(), a.values):
            print(line)
    except Bad as why:
        sys.exit(f"wire_reader: {why}")


if __name__ == "__main__":
    main()
