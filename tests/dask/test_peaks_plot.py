#!/usr/bin/python3
"""muster peaks and muster plot: files of Dask workers against an independent calculation, and what is in the pictures."""
import csv
import json
import math
import os
import re
import struct
import unittest
import zlib

import lib

FIXTURES = os.path.join(lib.SHARED, "fixtures", "gpu-bdb")


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def numbers(cell):
    return [int(x) for x in cell.split(",")]


def peaks(path, metric, per_job):
    got = {}
    for row in table(path):
        best = got.setdefault(row["job"] if per_job else "", [])
        for i, v in enumerate(numbers(row[metric])):
            if i == len(best):
                best.append(v)
            best[i] = max(best[i], v)
    return got if per_job else got[""]


def quartile(values, q):
    """Linear between the nearest two, as numpy's default and matplotlib's boxes have it."""
    at = (len(values) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] * (1 - (at - low)) + values[high] * (at - low)


def boxes(path, job, metric, freq):
    """[(label, low whisker, q1, median, q3, high whisker, outliers)]"""
    rows, got = [r for r in table(path) if r["job"] == job], []
    for i in range(0, len(rows), freq):
        values = sorted(v for r in rows[i:i + freq] for v in numbers(r[metric]))
        q1, median, q3 = (quartile(values, q) for q in (0.25, 0.5, 0.75))
        inside = [v for v in values if q1 - 1.5 * (q3 - q1) <= v <= q3 + 1.5 * (q3 - q1)]
        got.append((f"{float(rows[i]['timestamp']):.2f}", min(inside[0], q1), q1, median, q3, max(inside[-1], q3), [v for v in values if v < inside[0] or v > inside[-1]]))
    return got


def group(svg, name):
    return [m.group(1) for m in re.finditer(rf'<g class="{name}">(.*?)</g>', svg, re.S)]


class Axis:
    """Heights in a picture, back to values: two grid lines with their numbers."""

    def __init__(self, y):
        lines = [float(m) for m in re.findall(r'<path d="M[\d.]+ ([\d.]+)L', y)]
        values = [float(m) for m in re.findall(r">(-?[\d.]+)</text>", y)]
        assert len(lines) == len(values) and len(lines) > 1, y
        self.y0, self.v0 = lines[0], values[0]
        self.per = (values[-1] - values[0]) / (lines[-1] - lines[0])

    def value(self, y):
        return self.v0 + (y - self.y0) * self.per


def png_pixels(data):
    """Rows of (r, g, b): 8 bits, no alpha, not interlaced."""
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (depth, colour) == (8, 2)
    at, packed = 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + n] if name == b"IDAT" else b""
        at += 12 + n
    raw, rows, up = zlib.decompress(packed), [], bytes(width * 3)
    for y in range(height):
        kind, line = raw[y * (width * 3 + 1)], bytearray(raw[y * (width * 3 + 1) + 1:(y + 1) * (width * 3 + 1)])
        for i in range(len(line)):
            a, b, c = line[i - 3] if i > 2 else 0, up[i], up[i - 3] if i > 2 else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[kind]) % 256
        up = bytes(line)
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), 3)])
    return rows


class Jpeg:
    """A decoder of baseline JPEG without subsampling, by the standard (ITU-T T.81) and not by how ours is written."""

    def __init__(self, data):
        self.codes, at, zigzag = {}, 2, sorted(range(64), key=lambda i: (i // 8 + i % 8, (i // 8 if (i // 8 + i % 8) % 2 else i % 8)))
        while data[at + 1] != 0xda:
            kind, n = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
            part = data[at + 4:at + 2 + n]
            if kind == 0xdb:
                self.steps = part[1:65]
            elif kind == 0xc0:
                self.height, self.width = struct.unpack(">HH", part[1:5])
                assert part[0] == 8 and [part[7 + 3 * i] for i in range(part[5])] == [0x11] * 3
            elif kind == 0xc4:
                code, place = 0, 17
                for bits in range(1, 17):
                    for _ in range(part[bits]):
                        self.codes[part[0] >> 4, bits, code] = part[place]
                        code, place = code + 1, place + 1
                    code *= 2
            at += 2 + n
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
        assert data[-2:] == b"\xff\xd9"
        self.bits = "".join(f"{b:08b}" for b in data[at:-2].replace(b"\xff\0", b"\xff"))
        self.at, self.zigzag, dc = 0, zigzag, [0, 0, 0]
        waves = [[(math.sqrt(0.125) if u == 0 else 0.5) * math.cos((2 * x + 1) * u * math.pi / 16) for x in range(8)] for u in range(8)]
        self.rows = [[None] * self.width for _ in range(self.height)]
        for y0 in range(0, self.height, 8):
            for x0 in range(0, self.width, 8):
                parts = []
                for c in range(3):
                    v, dc[c] = self.block(dc[c])
                    half = [[sum(v[k * 8 + u] * waves[k][y] for k in range(8) if v[k * 8 + u]) for u in range(8)] for y in range(8)]
                    parts.append([[sum(half[y][u] * waves[u][x] for u in range(8) if half[y][u]) for x in range(8)] for y in range(8)])
                for y in range(min(8, self.height - y0)):
                    for x in range(min(8, self.width - x0)):
                        light, blue, red = (p[y][x] for p in parts)
                        self.rows[y0 + y][x0 + x] = (light + 128 + 1.402 * red, light + 128 - 0.344136 * blue - 0.714136 * red, light + 128 + 1.772 * blue)

    def symbol(self, kind):
        for bits in range(1, 17):
            got = self.codes.get((kind, bits, int(self.bits[self.at:self.at + bits], 2)))
            if got is not None:
                self.at += bits
                return got
        raise AssertionError("no such code")

    def value(self, n):
        text = self.bits[self.at:self.at + n]
        self.at += n
        return 0 if not n else int(text, 2) if text[0] == "1" else int(text, 2) - 2**n + 1

    def block(self, before):
        v = [0] * 64
        dc = before + self.value(self.symbol(0))
        v[0], i = dc * self.steps[0], 1
        while i < 64:
            s = self.symbol(1)
            if s == 0:
                break
            i += s >> 4
            if s & 15:
                v[self.zigzag[i]] = self.value(s & 15) * self.steps[i]
            i += 1
        return v, dc


class PeaksTest(lib.Case):
    def muster(self, *argv, code=0):
        status, out, err = self.run_any(lib.MUSTER, *argv)
        self.assertEqual(status, code, out + err)
        return out if code == 0 else err

    def small(self, name="worker_0.csv", text=None):
        with open(self.path(name), "w") as f:
            f.write(text or 'job,dag,timestamp,total-mem,mem-used-percent,loss,tasks\n'
                            '0,0,0.1,"100, 200","10, 20",0.5,"(\'a\', 1)"\n'
                            '0,0,0.3,"300, 100",30.25,0.25,\n'
                            '2,0,0.5,"5, None","1, 2",,x\n')
        return self.path(name)

    @unittest.skipUnless(os.path.isdir(FIXTURES), "no real files here")
    def test_real_files_have_the_peaks_that_are_worked_out(self):
        files = {"0": os.path.join(FIXTURES, "worker_0.csv"), "10": os.path.join(FIXTURES, "worker_10.csv")}
        for metric in ("total-mem", "mem-util", "compute-util"):
            for per_job in (False, True):
                got = json.loads(self.muster("peaks", FIXTURES, "--metric", metric, "--json", *(["--per-job"] if per_job else [])))
                self.assertEqual(got, {w: peaks(f, metric, per_job) for w, f in files.items()})
        one = json.loads(self.muster("peaks", FIXTURES, "--workers", "10", "--json"))
        self.assertEqual(list(one), ["10"])
        self.assertIn("there is no worker '1'; there are 0, 10", self.muster("peaks", FIXTURES, "--workers", "1", code=2))
        rows = self.muster("peaks", FIXTURES, "--metric", "mem-util", "--csv").splitlines()
        self.assertEqual(rows[2].split(",")[1:], [str(v) for v in peaks(files["10"], "mem-util", False)])

    def test_custom_metrics_and_gaps(self):
        self.small()
        self.assertEqual(json.loads(self.muster("peaks", self.dir, "--metric", "loss", "--json")), {"0": [0.5]})
        self.assertEqual(json.loads(self.muster("peaks", self.dir, "--metric", "mem-used-percent", "--json")), {"0": [30.25, 20]})
        self.assertEqual(json.loads(self.muster("peaks", self.dir, "--metric", "total-mem", "--json", "--per-job")), {"0": {"0": [300, 200], "2": [5, None]}})
        self.assertIn("it has total-mem, mem-used-percent, loss, tasks", self.muster("peaks", self.dir, "--metric", "power", code=2))
        self.assertIn("has no numbers", self.muster("peaks", self.dir, "--metric", "tasks", code=3))
        self.small("worker_1.csv", "job,dag,timestamp,loss\n0,0,1,\n")  # one worker's driver told nothing
        self.assertEqual(json.loads(self.muster("peaks", self.dir, "--metric", "loss", "--json")), {"0": [0.5], "1": [None]})

    def test_worker_10_is_worker_10_and_its_name_is_shown(self):
        for n in (0, 2, 10):
            self.small(f"worker_{n}.csv", f"job,dag,timestamp,total-mem\n0,0,1,{n * 7}\n")
        with open(self.path("worker_10.json"), "w") as f:
            json.dump({"number": 10, "name": "tcp://10.0.0.1:4000", "host": "dgx1"}, f)
        got = json.loads(self.muster("peaks", self.dir, "--metric", "total-mem", "--json"))
        self.assertEqual((list(got), got["10"]), (["0", "2", "10"], [70]))
        self.assertIn("tcp://10.0.0.1:4000", self.muster("peaks", self.dir, "--metric", "total-mem"))
        self.small("other_2.csv")
        self.assertIn("are both of worker 2", self.muster("peaks", self.dir, code=3))

    # ---- pictures ----

    @unittest.skipUnless(os.path.isdir(FIXTURES), "no real files here")
    def test_boxes_are_where_they_are_worked_out_to_be(self):
        path = os.path.join(FIXTURES, "worker_10.csv")
        for job, metric, freq, per in (("3", "compute-util", 15, 1), ("30", "mem-util", 40, 1), ("12", "total-mem", 20, 1 << 30)):
            out = self.path("boxes.svg")
            self.muster("plot", "boxes", path, "--job", job, "--metrics", metric, "--freq", str(freq), "-o", out)
            with open(out) as f:
                svg = f.read()
            want = boxes(path, job, metric, freq)
            drawn = group(svg, "boxes")[0]
            axis = Axis(group(svg, "y")[0])
            tolerance = abs(axis.per) * 0.02  # numbers of the picture have two decimals
            rects = [tuple(map(float, m)) for m in re.findall(r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.-]+)" height="([\d.-]+)"', drawn)]
            self.assertEqual(len(rects), len(want))
            medians = [float(m) for m in re.findall(r'<path d="M[\d.]+ ([\d.]+)L[\d. ]+" fill="none" [^>]*stroke-width="2"', drawn)]
            self.assertEqual(len(medians), len(want))
            labels = re.findall(r"<title>([\d.]+): median ([\d.]+)", drawn)
            for k, (label, _low, q1, median, q3, _high, _out) in enumerate(want):
                self.assertEqual(labels[k][0], label)
                self.assertAlmostEqual(float(labels[k][1]) * per, median, delta=median * 1e-4)
                self.assertAlmostEqual(axis.value(rects[k][1]) * per, q3, delta=tolerance * per, msg=f"{job} {k}")
                self.assertAlmostEqual(axis.value(rects[k][1] + rects[k][3]) * per, q1, delta=2 * tolerance * per)
                self.assertAlmostEqual(axis.value(medians[k]) * per, median, delta=tolerance * per)
            far = sorted(axis.value(float(y) + 2.4) * per for y in re.findall(r'<path d="M[\d.]+ ([\d.-]+)L', group(svg, "outliers")[0]))
            expected = sorted(v for w in want for v in w[6])
            self.assertEqual(len(far), len(expected))
            for a, b in zip(far, expected):
                self.assertAlmostEqual(a, b, delta=2 * tolerance * per)

    def test_one_gpu_and_one_sample_are_not_several(self):
        with open(self.path("worker_0.csv"), "w", encoding="utf-8") as f:
            f.write("job,dag,timestamp,compute-util\n0,0,0.0,5\n0,0,0.2,6\n")
        for freq, words in ((15, "15 samples of 1 GPU"), (1, "1 sample of 1 GPU")):
            self.muster("plot", "boxes", self.path("worker_0.csv"), "--job", "0", "--metrics", "compute-util", "--freq", str(freq), "-o", self.path("b.svg"))
            with open(self.path("b.svg"), encoding="utf-8") as f:
                self.assertIn(f">time since start, s; a box is {words}<", f.read())

    @unittest.skipUnless(os.path.isdir(FIXTURES), "no real files here")
    def test_lines_have_a_chart_per_metric_and_a_line_per_gpu(self):
        out = self.path("lines.svg")
        self.muster("plot", "lines", os.path.join(FIXTURES, "worker_0.csv"), "--job", "3", "--metrics", "compute-util,total-mem", "--width", "20", "--height", "10", "-o", out)
        with open(out) as f:
            svg = f.read()
        self.assertIn('width="1440" height="720"', svg)
        for lines in group(svg, "lines"):
            self.assertEqual(len(set(re.findall(r'stroke="(#[0-9a-f]+)"', lines))), 8)
        self.assertEqual(len(group(svg, "lines")), 2)
        for text in ("compute-util, %", "total-mem, GiB", "GPU 7", "worker_0.csv, job 3", "time since start, s"):
            self.assertIn(f">{text}<", svg)
        self.muster("plot", "boxes", os.path.join(FIXTURES, "worker_0.csv"), "--job", "3", "--metrics", "compute-util", "-o", self.path("boxes.svg"))
        with open(self.path("boxes.svg")) as f:
            self.assertIn(">time since start, s; a box is 15 samples of 8 GPUs<", f.read())  # the same unit in both
        # the first chart's line reaches the highest value of its GPU, and no further
        axis, top = Axis(group(svg, "y")[0]), peaks(os.path.join(FIXTURES, "worker_0.csv"), "compute-util", True)["3"]
        by_gpu = {}
        for d, colour in re.findall(r'<path d="([^"]*)" fill="none" [^>]*stroke="(#[0-9a-f]+)"', group(svg, "lines")[0]):
            by_gpu.setdefault(colour, []).extend(float(y) for y in re.findall(r"[ML][\d.-]+ ([\d.-]+)", d))
        self.assertEqual(sorted(round(axis.value(min(ys))) for ys in by_gpu.values()), sorted(top))

    def test_every_format_opens(self):
        self.small()
        for kind in ("lines", "boxes"):
            for end in ("png", "svg", "pdf"):
                self.muster("plot", kind, self.path("worker_0.csv"), "--job", "0", "--metrics", "total-mem,loss", "-o", self.path("x." + end))
                with open(self.path("x." + end), "rb") as f:
                    data = f.read()
                if end == "png":
                    self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
                    self.assertEqual(struct.unpack(">II", data[16:24]), (1440, round(3.6 * 2 * 72) * 2))
                    at, packed = 8, b""
                    while at < len(data):
                        n, name = struct.unpack(">I4s", data[at:at + 8])
                        packed += data[at + 8:at + 8 + n] if name == b"IDAT" else b""
                        at += 12 + n
                    self.assertGreater(len(set(zlib.decompress(packed))), 2)
                elif end == "pdf":
                    self.assertTrue(data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF"))
                else:
                    self.assertIn(b"</svg>", data)

    def test_a_jpeg_is_the_same_picture(self):
        self.small()
        for end in ("png", "jpg"):
            self.muster("plot", "lines", self.path("worker_0.csv"), "--job", "0", "--metrics", "total-mem", "--width", "1.7", "--height", "1.4", "-o", self.path("x." + end))
        with open(self.path("x.png"), "rb") as f:
            want = png_pixels(f.read())
        with open(self.path("x.jpg"), "rb") as f:
            got = Jpeg(f.read())
        self.assertEqual((got.width, got.height), (len(want[0]), len(want)))
        off = [abs(a - b) for y, row in enumerate(want) for x, pixel in enumerate(row) for a, b in zip(pixel, got.rows[y][x])]
        self.assertLess(max(off), 16)
        self.assertLess(sum(off) / len(off), 1)
        self.assertGreater(len({p for row in want for p in row}), 20)  # there is something in it

    def test_a_terminal_gets_dots(self):
        self.small()
        out = self.muster("plot", "lines", self.path("worker_0.csv"), "--job", "0", "--metrics", "total-mem", "-o", "-")
        self.assertTrue(any(0x2801 <= ord(c) <= 0x28ff for c in out), out)
        self.assertIn("total-mem, GPU 1", out)
        out = self.muster("plot", "boxes", self.path("worker_0.csv"), "--metrics", "total-mem", "--freq", "1")
        self.assertEqual(out.count("┃"), 3, out)

    def test_what_is_not_there_is_said_with_what_is(self):
        path = self.small()
        for argv, code, text in ((["boxes", path, "--job", "7"], 2, "has no metric 'compute-util'; it has total-mem, mem-used-percent, loss, tasks"),
                                 (["boxes", path, "--job", "7", "-m", "loss"], 2, "has no job '7'; its jobs are 0, 2"), (["lines", path, "-m", "loss", "-o", "x.gif"], 2, ".png, .jpg, .svg or .pdf"),
                                 (["lines", self.dir, "-m", "loss"], 2, "is a folder"), (["lines", self.path("none.csv")], 3, "No such file"), (["lines"], 2, "expected lines or boxes and a file"),
                                 (["lines", path, "-m", "loss", "--width", "x", "-o", self.path("x.png")], 2, "inches")):
            self.assertIn(text, self.muster("plot", *argv, code=code))

    def test_history_of_a_hub_is_drawn(self):
        hub = self.start_hub()
        self.start(lib.MUSTER, "simulate", "--hub", hub.url, "--token", self.token("enroll"), "--nodes", "1", "--gpus", "2")
        out = self.path("hub.svg")

        def drawn():
            return self.run_any(lib.MUSTER, "plot", "--hub", hub.url, "--token", self.token("admin"), "--device", "*", "--metrics", "util,power", "--last", "5m", "-o", out)[0] == 0
        lib.wait_until("a picture of the hub's history", drawn)
        with open(out) as f:
            svg = f.read()
        self.assertEqual(len(group(svg, "lines")), 2)


if __name__ == "__main__":
    lib.main()
