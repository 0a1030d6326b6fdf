#!/usr/bin/python3
"""The second reader of docs/internals/wire.md: it reads what the first one wrote, the example in the page, and refuses what is not right."""
import os
import re
import struct
import subprocess
import sys
import unittest

import lib
import wire_reader as wire

GOLDEN = os.path.join(lib.TOP, "tests/golden/wire")


def golden():
    with open(os.path.join(GOLDEN, "v1.stream"), "rb") as f:
        return f.read()


def frame(kind, payload):
    return struct.pack("<BII", kind, len(payload), wire.crc32c(bytes([kind]) + payload)) + payload


class Reads(unittest.TestCase):
    def test_known_checksums(self):
        self.assertEqual(wire.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(wire.fnv64(b"a"), 0xAF63DC4C8601EC8C)

    def test_golden_stream_to_the_last_value(self):
        with open(os.path.join(GOLDEN, "v1.txt")) as f:
            self.assertEqual(list(wire.lines(golden())), f.read().splitlines())

    def test_hello_facts_and_procs(self):
        got = {f.type: what for f, what in wire.decode_frames(golden())}
        self.assertEqual(got[wire.HELLO]["name"], "dgx-1")
        self.assertEqual(got[wire.FACTS]["cpu"], "Xeon®")
        self.assertEqual([p["pid"] for p in got[wire.PROCS]], [4000, 4001, 4002])

    def test_example_in_the_page(self):
        with open(os.path.join(lib.TOP, "docs/internals/wire.md")) as f:
            block = re.search(r"^```\n(04 .*?)^```", f.read(), re.S | re.M).group(1)
        text = "".join(re.match(r"((?:[0-9a-f]+ )*[0-9a-f]+)(?:   |$)", line).group(1) for line in block.splitlines())
        b = wire.decode_batch(bytes.fromhex(text.replace(" ", "")))
        self.assertEqual(b.key, wire.Key("0102030405060708090a0b0c0d0e0f10", 42, 7))
        self.assertEqual((b.facts, b.procs, b.ticks), (5, 6, [1794700803555, 1794700804555]))
        self.assertEqual(b.columns, {(1, 1): [9700, 9800], (1, 2): [0, 0], (8, 2): [None, 512345]})

    def test_command_line(self):
        done = subprocess.run([sys.executable, os.path.join(lib.TOP, "tests/kit/wire_reader.py"), "--values"], input=golden(),
                              stdout=subprocess.PIPE, check=True)
        out = done.stdout.decode().splitlines()
        total = re.match(r"total batches=(\d+) repeated=0 samples=(\d+) ", out[-1])
        self.assertEqual(len(out), 1 + int(total.group(1)) + int(total.group(2)))

    def test_a_batch_that_comes_twice_counts_once(self):
        one = [f.whole for f in wire.frames(golden()) if f.type == wire.BATCH]
        *_, last = wire.lines(b"".join(one + one[:2]))
        *_, whole = wire.lines(b"".join(one))
        self.assertIn("repeated=2", last)
        self.assertEqual(last.replace("repeated=2", "repeated=0"), whole)


class Refuses(unittest.TestCase):
    def test_a_flipped_bit(self):
        data = golden()
        for at in range(5, len(data), 997):
            with self.assertRaises(wire.Bad):
                list(wire.frames(data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]))

    def test_what_ends_too_early_or_too_late(self):
        whole = next(f for f in wire.frames(golden()) if f.type == wire.BATCH)
        raw = wire.unpack([whole])[0]
        fixed = whole.payload[:48]
        for body in (raw[:-1], raw + b"\0", b""):
            with self.assertRaises(wire.Bad):
                wire.decode_batch(frame(wire.BATCH, fixed + struct.pack("<BI", 0, len(body)) + body))
        self.assertEqual(wire.decode_batch(frame(wire.BATCH, fixed + struct.pack("<BI", 0, len(raw)) + raw)),
                         wire.decode_batch(whole.whole))

    def test_unknown_frames_are_skipped(self):
        self.assertEqual(list(wire.frames(b"MUST\1" + frame(99, b"later"))), [])
        with self.assertRaises(wire.Bad):
            list(wire.frames(b"MUST\2"))


if __name__ == "__main__":
    lib.main()
