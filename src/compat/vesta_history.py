"""Reads the database of vesta's server and writes what `muster import` reads, as lines of JSON.

`muster vesta history` runs this and takes its output; the program has it inside. Nothing of the database is trusted: its
pickles are read by the small reader below, which builds plain data and knows no opcode that could name or call anything.
"""
import argparse
import bz2
import collections
import datetime
import hashlib
import json
import os
import resource
import sqlite3
import struct
import sys
import time

PACKED_MAX, PLAIN_MAX = 1 << 20, 4 << 20  # bytes of a row, and unpacked
OPS_MAX, STACK_MAX = 200000, 20000
HOSTS_MAX, GPUS_MAX, PROCS_MAX = 10000, 64, 256
MIB = 1 << 20
SPAN_MS = 2 * 3600000
TICKS_MS = [5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000]
MEMORY_MAX = 1 << 30


class Refused(Exception):
    """A row that cannot be read; the text says why."""


def need(fine, why="a pickle that makes no sense"):
    if not fine:
        raise Refused(why)


# ---- pickles ----

MARK = object()


class Plain:
    """A pickle as dict, list, tuple, str, bytes, int, float, bool and None, of any protocol. Anything else is refused."""

    def __init__(self, data):
        self.data, self.at, self.stack, self.memo = data, 0, [], {}

    def take(self, n):
        end = self.at + n
        if end > len(self.data):
            raise Refused("a pickle that ends too early")
        got = self.data[self.at:end]
        self.at = end
        return got

    def line(self):
        end = self.data.find(b"\n", self.at, self.at + 100000)
        need(end >= 0, "a pickle that ends too early")
        got = self.data[self.at:end]
        self.at = end + 1
        return got

    def number(self, form, n):
        return struct.unpack(form, self.take(n))[0]

    def sized(self, form, n):
        return self.take(self.number(form, n))

    def pop(self):
        if not self.stack or self.stack[-1] is MARK:
            raise Refused("a pickle that makes no sense")
        return self.stack.pop()

    def top(self, kind):
        if not self.stack or type(self.stack[-1]) is not kind:
            raise Refused("a pickle that makes no sense")
        return self.stack[-1]

    def marked(self):
        at = len(self.stack)
        while at and self.stack[at - 1] is not MARK:
            at -= 1
        need(at)
        got = self.stack[at:]
        del self.stack[at - 1:]
        return got

    def extend(self, values):
        self.top(list).extend(values)

    def update(self, pairs):
        self.fill(self.top(dict), pairs)

    @staticmethod
    def fill(into, pairs):
        need(len(pairs) % 2 == 0)
        for key, value in zip(pairs[::2], pairs[1::2]):
            if type(key) is not str:
                raise Refused("a key that is not text")
            into[key] = value
        return into

    def remember(self, where):
        if not self.stack or self.stack[-1] is MARK or len(self.memo) >= OPS_MAX:
            raise Refused("a pickle that makes no sense")
        self.memo[where] = self.stack[-1]

    def recall(self, where):
        need(where in self.memo)
        return self.memo[where]

    @staticmethod
    def whole(text):
        need(0 < len(text) <= 20, "a number that is too long")
        return int(text)

    def long(self, n):
        need(n <= 8, "a number that is too long")
        return int.from_bytes(self.take(n), "little", signed=True)

    def string(self):
        text = self.line()
        need(len(text) >= 2 and text[:1] == text[-1:] and text[:1] in b"'\"" and b"\\" not in text, "a text with escapes, of Python 2")
        return text[1:-1].decode("utf-8")

    def load(self):
        push = self.stack.append
        for _ in range(OPS_MAX):
            if len(self.stack) > STACK_MAX:
                raise Refused("a pickle that is too deep")
            op = self.take(1)
            if op == b".":
                got = self.pop()
                if self.stack:
                    raise Refused("a pickle that makes no sense")
                return got
            do = OPS.get(op)
            if do:
                do(self, push)
            else:
                raise Refused(f"a pickle with opcode 0x{op.hex()}: more than plain data")
        raise Refused("a pickle that does not end")


def some(p, push, n):
    push(tuple([p.pop() for _ in range(n)][::-1]))


def integer(p, push):
    text = p.line()
    push({b"00": False, b"01": True}[text] if text in (b"00", b"01") else p.whole(text))


OPS = {
    b"\x80": lambda p, push: p.take(1),
    b"\x95": lambda p, push: p.take(8),
    b"(": lambda p, push: push(MARK),
    b"0": lambda p, push: p.pop(),
    b"1": lambda p, push: p.marked(),
    b"2": lambda p, push: push(p.stack[-1] if p.stack else p.pop()),
    b"N": lambda p, push: push(None),
    b"\x88": lambda p, push: push(True),
    b"\x89": lambda p, push: push(False),
    b"I": integer,
    b"L": lambda p, push: push(p.whole(p.line().rstrip(b"L"))),
    b"J": lambda p, push: push(p.number("<i", 4)),
    b"K": lambda p, push: push(p.number("<B", 1)),
    b"M": lambda p, push: push(p.number("<H", 2)),
    b"\x8a": lambda p, push: push(p.long(p.number("<B", 1))),
    b"\x8b": lambda p, push: push(p.long(p.number("<I", 4))),
    b"F": lambda p, push: push(float(p.line())),
    b"G": lambda p, push: push(p.number(">d", 8)),
    b"S": lambda p, push: push(p.string()),
    b"T": lambda p, push: push(p.sized("<I", 4).decode("utf-8")),
    b"U": lambda p, push: push(p.sized("<B", 1).decode("utf-8")),
    b"V": lambda p, push: push(p.line().decode("raw-unicode-escape")),
    b"X": lambda p, push: push(p.sized("<I", 4).decode("utf-8")),
    b"\x8c": lambda p, push: push(p.sized("<B", 1).decode("utf-8")),
    b"\x8d": lambda p, push: push(p.sized("<Q", 8).decode("utf-8")),
    b"B": lambda p, push: push(p.sized("<I", 4)),
    b"C": lambda p, push: push(p.sized("<B", 1)),
    b"\x8e": lambda p, push: push(p.sized("<Q", 8)),
    b"]": lambda p, push: push([]),
    b"l": lambda p, push: push(p.marked()),
    b"a": lambda p, push: p.extend([p.pop()]),
    b"e": lambda p, push: p.extend(p.marked()),
    b"}": lambda p, push: push({}),
    b"d": lambda p, push: push(p.fill({}, p.marked())),
    b"s": lambda p, push: p.update([p.pop(), p.pop()][::-1]),
    b"u": lambda p, push: p.update(p.marked()),
    b")": lambda p, push: push(()),
    b"t": lambda p, push: push(tuple(p.marked())),
    b"\x85": lambda p, push: some(p, push, 1),
    b"\x86": lambda p, push: some(p, push, 2),
    b"\x87": lambda p, push: some(p, push, 3),
    b"p": lambda p, push: p.remember(p.whole(p.line())),
    b"q": lambda p, push: p.remember(p.number("<B", 1)),
    b"r": lambda p, push: p.remember(p.number("<I", 4)),
    b"\x94": lambda p, push: p.remember(len(p.memo)),
    b"g": lambda p, push: push(p.recall(p.whole(p.line()))),
    b"h": lambda p, push: push(p.recall(p.number("<B", 1))),
    b"j": lambda p, push: push(p.recall(p.number("<I", 4))),
}


def unpack(data):
    """The payload of a row."""
    need(isinstance(data, bytes), "data that are not bytes, or too many")
    try:
        d = bz2.BZ2Decompressor()
        plain = d.decompress(data, PLAIN_MAX + 1)
    except (OSError, EOFError) as e:
        raise Refused("data that bzip2 cannot read") from e
    need(len(plain) <= PLAIN_MAX, "data that unpack to too much")
    need(d.eof, "data that bzip2 cannot read")
    try:
        return Plain(plain).load()
    except (ValueError, OverflowError, struct.error) as e:
        raise Refused("a pickle that makes no sense") from e
    except (MemoryError, RecursionError) as e:
        raise Refused("a pickle that is too large") from e


# ---- payloads ----

def text_of(v, most):
    """Text without control characters, of at most so many bytes."""
    if not isinstance(v, str):
        return ""
    v = "".join(c for c in v[:4 * most] if c.isprintable()).strip()
    return v.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")


def int_of(v, most):
    """Senders give numbers as numbers; older ones as text. None: it is not one."""
    if isinstance(v, str) and len(v) < 20:
        try:
            v = int(v)
        except ValueError:
            return None
    return v if type(v) is int and 0 <= v <= most else None


def sent_of(v):
    """What the sender's clock said, in ms and as if it were UTC; None where it is written otherwise."""
    try:
        at = datetime.datetime.strptime(v, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
    except (TypeError, ValueError):
        return None
    return int(at.timestamp()) * 1000 + at.microsecond // 1000 if at.year >= 1970 and len(v) == 23 else None


def gpus_of(payload):
    """[(index, uuid, name, {metric: value}, [(pid, user, name, bytes)])]"""
    need(type(payload) is dict and len(payload) <= GPUS_MAX, "a payload that is not vesta's")
    out, seen = [], set()
    for key, gpu in payload.items():
        index = int_of(key[4:], GPUS_MAX - 1) if key.startswith("gpu:") else None
        uuid = text_of(gpu.get("uuid"), 79) if type(gpu) is dict else ""
        need(index is not None and uuid and uuid not in seen, "a payload that is not vesta's")
        seen.add(uuid)
        values = {}
        for name, metric, scale, most in (("temperature", "temp", 1, 1000), ("total_memory", "mem_total", MIB, 1 << 30), ("used_memory", "mem_used", MIB, 1 << 30)):
            v = int_of(gpu.get(name), most)
            if v is not None:
                values[metric] = str(v * scale)
        left = int_of(gpu.get("available_memory"), 1 << 30)
        if left is not None and "mem_total" in values and "mem_used" in values:
            values["mem_reserved"] = str(int(values["mem_total"]) - int(values["mem_used"]) - left * MIB)
        sent = sent_of(gpu.get("timestamp"))
        if sent is not None:
            values["vesta_timestamp"] = f"{sent // 1000}.{sent % 1000:03d}"
        v = int_of(gpu.get("gpu_volatile"), 100)
        if v is not None:
            values["util"] = f"{v // 100}.{v % 100:02d}"
        processes = gpu.get("processes")
        procs = []
        for p in processes[:PROCS_MAX] if type(processes) is list else []:
            pid = int_of(p.get("pid"), (1 << 31) - 1) if type(p) is dict else None
            if pid is not None:
                used = int_of(p.get("used_memory"), 1 << 30)
                procs.append((pid, text_of(p.get("user"), 63), text_of(p.get("name"), 63), -1 if used is None else used * MIB))
        out.append((index, uuid, text_of(gpu.get("gpu_name"), 127), values, procs))
    return out


# ---- times ----

class Clock:
    """YYYYMMDDhhmmss of the server's zone as milliseconds since 1970. Rows come in the order in which they were stored, so
    of an hour that the clock had twice the second one begins where it goes back."""

    def __init__(self, zone):
        self.zone, self.last, self.fold = zone, None, 0

    def moments(self, local):
        return [int(local.replace(tzinfo=self.zone, fold=f).timestamp()) for f in (0, 1)]

    def ms(self, stamp):
        need(type(stamp) is int and 19700102000000 <= stamp <= 22000101000000, "not a time")
        try:
            local = datetime.datetime(stamp // 10**10, stamp // 10**8 % 100, stamp // 10**6 % 100, stamp // 10**4 % 100, stamp // 100 % 100, stamp % 100)
        except ValueError as e:
            raise Refused("not a time") from e
        first, second = self.moments(local)
        if second <= first:  # once, or left out: the moment that many seconds after the gap began
            self.fold = 0
        elif self.last is not None and 60 < (self.last - local).total_seconds() <= second - first:
            self.fold = 1
        elif self.last is None or local.date() != self.last.date():
            self.fold = 0
        self.last = local
        return 1000 * (second if self.fold and second > first else first)


# ---- a host ----

class Host:
    def __init__(self, out, ident, name, address, tick_ms):
        self.out, self.tick_ms = out, tick_ms
        self.key = "vesta:" + hashlib.sha256(ident.encode()).hexdigest()[:32]
        self.devices, self.series, self.procs = {}, {}, {}
        self.span = self.last_ms = self.taken = 0
        self.put(kind="node", node=self.key, name=name, address=address, agent="vesta", collector="vesta", tick_ms=tick_ms)
        self.put(kind="metric", node=self.key, metric="vesta_timestamp", unit="seconds", type="gauge", per=1000)

    def put(self, **record):
        self.out.write(json.dumps(record, separators=(",", ":")) + "\n")

    def flush(self):
        for (uuid, metric), (times, values) in self.series.items():
            head = json.dumps({"kind": "samples", "node": self.key, "device": uuid, "metric": metric}, separators=(",", ":"))
            self.out.write(f'{head[:-1]},"t":[{",".join(times)}],"v":[{",".join(values)}]}}\n')
        self.series = {}

    def end_process(self, where):
        first, last, user, name, most = self.procs.pop(where)
        self.put(kind="process", node=self.key, device=where[0], pid=where[1], start=first, root_pid=where[1], user=user, name=name, first=first, last=last, mem_max=most,
                 ended=True)

    def end_processes(self, which):
        for where in list(which):
            self.end_process(where)

    def see_process(self, at_ms, where, user, name, used):
        was = self.procs.get(where)
        if was and (was[2], was[3]) != (user, name):  # the number again, of another
            self.end_process(where)
            was = None
        first, last, _, _, most = was or (at_ms, at_ms, user, name, -1)
        self.procs[where] = (first, max(last, at_ms), user, name, max(most, used))

    def row(self, at_ms, gpus):
        if at_ms // SPAN_MS != self.span:
            self.flush()
            self.span = at_ms // SPAN_MS
        if at_ms - self.last_ms > max(10 * self.tick_ms, 600000):
            self.end_processes(self.procs)
        self.last_ms = at_ms
        seen = set()
        for index, uuid, model, _, _ in gpus:  # before any of its values: a row is not torn
            if self.devices.get(uuid) != (index, model):
                self.flush()
                self.devices[uuid] = (index, model)
                self.put(kind="device", node=self.key, device=uuid, name=model, index=index, vendor=1)
        for _, uuid, _, values, procs in gpus:
            for metric, value in values.items():
                times, v = self.series.setdefault((uuid, metric), ([], []))
                times.append(str(at_ms))
                v.append(value)
            for pid, user, name, used in procs:
                seen.add((uuid, pid))
                self.see_process(at_ms, (uuid, pid), user, name, used)
        self.end_processes(w for w in self.procs if w not in seen)
        self.taken += 1

    def close(self):
        self.flush()
        self.end_processes(self.procs)


# ---- the database ----

def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Database:
    def __init__(self, path, quiet):
        self.db = sqlite3.connect(f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
        self.db.text_factory = lambda b: b.decode("utf-8", "replace")
        self.db.execute("PRAGMA trusted_schema=OFF")
        self.db.execute("BEGIN")  # one moment of it, though vesta may go on writing
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        need("machines" in self.tables, "it has no table machines: it is not vesta's")
        self.total, self.done, self.said = 0, 0, time.monotonic() + 0.5
        self.quiet = quiet or not sys.stderr.isatty()

    def hosts(self):
        rows = self.db.execute("SELECT id, name, ip_address FROM machines LIMIT ?", (HOSTS_MAX,)).fetchall()
        return [(i, n, ip) for i, n, ip in rows if isinstance(i, str) and isinstance(n, str) and i and n]

    def count(self, name):
        return self.db.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]

    def stamps(self, name):
        return [r[0] for r in self.db.execute(f"SELECT timestamp FROM {quoted(name)} ORDER BY rowid LIMIT 1000")]

    def rows(self, name):
        ask = f"SELECT timestamp, CASE WHEN length(data) <= {PACKED_MAX} THEN data END FROM {quoted(name)} ORDER BY rowid"
        for row in self.db.execute(ask):
            self.done += 1
            if not self.quiet and self.done % 64 == 0 and time.monotonic() >= self.said:
                self.said = time.monotonic() + 0.25
                sys.stderr.write(f"\r\033[Kvesta: {self.done} of {self.total} rows, {100 * self.done // max(self.total, 1)} %")
                sys.stderr.flush()
            yield row

    def clear(self):
        if not self.quiet:
            sys.stderr.write("\r\033[K")


def tick(db, name, zone):
    """How often the host posted, roughly."""
    clock, got = Clock(zone), []
    for stamp in db.stamps(name):
        try:
            got.append(clock.ms(stamp))
        except Refused:
            pass
    gaps = sorted(b - a for a, b in zip(got, got[1:]) if b > a)
    middle = gaps[len(gaps) // 2] if gaps else 60000
    return next((t for t in TICKS_MS if middle <= t + 1000), TICKS_MS[-1])


def convert_host(db, zone, host, name, refused):
    clock = Clock(zone)
    for stamp, data in db.rows(name):
        try:
            at_ms = clock.ms(stamp)
            host.row(at_ms, gpus_of(unpack(data)))
        except Refused as e:
            refused[str(e)] += 1


def convert(db, zone, out):
    """(hosts, rows taken, {why: how many rows were not}, {host that could not be read to its end: why})"""
    taken, refused, broken = 0, collections.Counter(), {}
    hosts = [(i, n, ip) for i, n, ip in db.hosts() if n in db.tables and n != "machines"]
    for _, name, _ in hosts:
        try:
            db.total += db.count(name)
        except sqlite3.Error as e:
            broken[name] = e
    for ident, name, ip in hosts:
        host = None
        try:
            host = Host(out, ident, text_of(name, 64) or "host", text_of(ip, 45), tick(db, name, zone))
            convert_host(db, zone, host, name, refused)
        except sqlite3.Error as e:
            broken[name] = e
        if host:
            host.close()
            taken += host.taken
    db.clear()
    return len(hosts), taken, refused, broken


def main():
    ask = argparse.ArgumentParser(allow_abbrev=False)
    ask.add_argument("--zone")
    ask.add_argument("--quiet", action="store_true")
    ask.add_argument("file")
    given = ask.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    zone = None
    if given.zone:
        import zoneinfo
        try:
            zone = zoneinfo.ZoneInfo(given.zone)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            sys.exit(f"there is no time zone '{given.zone}'")
    try:
        db = Database(os.path.abspath(given.file), given.quiet)
        sys.stdout.write('{"muster_export":1}\n')
        hosts, taken, refused, broken = convert(db, zone, sys.stdout)
        sys.stdout.flush()
    except (sqlite3.Error, Refused) as e:
        sys.exit(f"cannot read '{given.file}': {e}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    for why, n in sorted(refused.items()):
        print(f"vesta: refused {n} rows: {why}", file=sys.stderr)
    print(f"vesta: {taken + sum(refused.values())} rows of {hosts} hosts: {taken} can be read, {sum(refused.values())} refused", file=sys.stderr)
    for name, why in sorted(broken.items()):
        print(f"vesta: host '{text_of(name, 64)}' could not be read to its end: {why}", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
