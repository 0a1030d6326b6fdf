"""Pictures of a worker's file: lines and boxes, as dask_metrics.visualize had them.

matplotlib draws them where it is installed, as it did for dask_metrics; else `muster plot` does, of the program that the package brings or the path has; where neither is here they are drawn as SVG only.
Without `save` both return a Figure, which a notebook shows.
"""
import html
import io
import math
import os
import shutil
import subprocess
import tempfile

from . import tables

FORMATS = ("png", "jpg", "jpeg", "svg", "pdf")
LINES = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
UNITS = {"total-mem": "GiB", "mem-util": "%", "compute-util": "%", "mem-used-percent": "%"}
SCALE = {"total-mem": 1 << 30}  # of the file's unit
TIME = "time since start (seconds)"
BOXES = {"patch_artist": True, "boxprops": {"facecolor": "#aec6cf", "color": "#aec6cf"}, "whiskerprops": {"color": "#cedde2", "linestyle": ":", "linewidth": 3},
         "capprops": {"color": "#cfb7ae", "linewidth": 2}, "medianprops": {"color": "#cfb7ae", "linewidth": 2}, "flierprops": {"marker": "D"}}
INCH = 72  # points


def program():
    """The muster program: MUSTER_PROGRAM, of this package, on the path, or in the source tree; None if not found."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours, tree = os.path.join(here, "muster"), os.path.join(here, "..", "..", "build", "muster")
    return os.environ.get("MUSTER_PROGRAM") or shutil.which(ours) or shutil.which("muster") or shutil.which(tree)


def matplotlib():
    """matplotlib's Figure; None if not installed."""
    try:
        from matplotlib.figure import Figure as drawn  # no pyplot: no window, and nothing of it stays
    except ImportError:
        return None
    return drawn


def lines(worker_file, job, metrics, width=20, height=10, save=None):
    """One chart per metric over one axis of time, a line per GPU. width and height are inches."""
    return _draw(Figure("lines", worker_file, job, metrics, width, height), save)


def boxes(worker_file, job, metrics, freq=15, width=20, height=10, save=None):
    """One chart per metric: freq samples of all GPUs make a box (quartiles; whiskers to the last value within 1.5 of their distance; the rest as diamonds)."""
    if not isinstance(freq, int) or freq < 1:
        raise ValueError(f"freq is a number of samples, 1 or more, not {freq!r}")
    return _draw(Figure("boxes", worker_file, job, metrics, width, height, freq), save)


def _draw(figure, save):
    if save is None:
        return figure
    figure.save(save)
    return None


def quartile(values, q):
    """Of sorted values: between the two that are nearest."""
    at = (len(values) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def box(values):
    """{"low", "q1", "median", "q3", "high", "outliers"} of numbers."""
    values = sorted(values)
    q1, median, q3 = (quartile(values, q) for q in (0.25, 0.5, 0.75))
    reach = 1.5 * (q3 - q1)
    inside = [v for v in values if q1 - reach <= v <= q3 + reach]
    return {"low": min(inside[0], q1), "q1": q1, "median": median, "q3": q3, "high": max(inside[-1], q3),
            "outliers": [v for v in values if v < q1 - reach or v > q3 + reach]}


class Figure:
    """A picture that is drawn when it is shown or saved. .times and .values are its data: per metric, per GPU."""

    def __init__(self, kind, path, job, metrics, width, height, freq=15):
        metrics = [metrics] if isinstance(metrics, str) else list(metrics)
        table = tables.columns(path)
        for metric in metrics:
            if metric not in table or metric in ("job", "dag", "timestamp"):
                raise ValueError(f"'{metric}' is not in {path}, which has {', '.join(n for n in table if n not in ('job', 'dag', 'timestamp'))}")
        if not metrics:
            raise ValueError("no metric is named")
        at = [i for i, j in enumerate(table["job"]) if j == job]
        if not at:
            raise ValueError(f"job {job} is not in {path}; its jobs are {_ranges(sorted(set(table['job'])))}")
        if not (0 < width <= 200 and 0 < height <= 200):
            raise ValueError("width and height are inches, at most 200")
        self.kind, self.path, self.job, self.metrics, self.width, self.height, self.freq = kind, os.fspath(path), job, metrics, width, height, freq
        self.times = [table["timestamp"][i] for i in at]
        self.values = {m: [list(gpu) for gpu in zip(*(tables.numbers(table[m][i]) for i in at))] for m in metrics}

    def groups(self, metric):
        """[(time of the first sample, values of all GPUs)] of freq samples each."""
        return [(self.times[i], [v for gpu in self.values[metric] for v in gpu[i:i + self.freq] if v is not None]) for i in range(0, len(self.times), self.freq)]

    def boxes(self, metric):
        """[(time of the first sample, box)] of a metric."""
        return [(t, box(values)) for t, values in self.groups(metric) if values]

    def save(self, path):
        kind = os.path.splitext(os.fspath(path))[1][1:].lower()
        if kind not in FORMATS:
            raise ValueError(f"a picture is saved as .png, .jpg, .svg or .pdf, not as {os.path.basename(os.fspath(path))!r}")
        data = self.render(kind)
        with open(path, "wb") as f:
            f.write(data)

    def render(self, kind):
        """The picture as bytes: "png", "jpg", "svg" or "pdf"."""
        drawn, muster = matplotlib(), program()
        if drawn is not None:
            return self._by_matplotlib(drawn, kind)
        if muster is None and kind != "svg":
            raise RuntimeError(f"{kind.upper()} pictures are drawn by matplotlib, which is not installed, or by the program muster, which is neither in this package nor on the path (MUSTER_PROGRAM names it); "
                               ".svg needs neither")
        return self._by_program(muster, "jpg" if kind == "jpeg" else kind) if muster else _Svg(self).text().encode()

    def _by_matplotlib(self, drawn, kind):
        """As dask_metrics had it: a chart per metric over one axis of time, a line per GPU, or a box per group of samples."""
        figure = drawn(figsize=(self.width, self.height))
        axes = [row[0] for row in figure.subplots(len(self.metrics), 1, sharex=self.kind == "lines", squeeze=False)]
        for metric, axis in zip(self.metrics, axes):
            scale = SCALE.get(metric, 1)
            axis.set_title(metric)
            axis.set_ylabel(_with_unit(metric))
            if self.kind == "lines":
                for i, gpu in enumerate(self.values[metric]):
                    axis.plot(self.times, [math.nan if v is None else v / scale for v in gpu], alpha=0.5, label=f"GPU {i}")
                axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
            else:
                groups = self.groups(metric)
                axis.boxplot([[v / scale for v in values] for _, values in groups], **BOXES)
                axis.set_xticklabels([f"{round(t, 2):g}" for t, _ in groups], rotation=45)
        axes[-1].set_xlabel(TIME)
        figure.tight_layout()
        out = io.BytesIO()
        figure.savefig(out, format=kind)
        return out.getvalue()

    def _by_program(self, muster, kind):
        with tempfile.TemporaryDirectory(prefix="muster-plot-") as folder:
            out = os.path.join(folder, "plot." + kind)
            argv = [muster, "plot", self.kind, self.path, "--job", str(self.job), "--metrics", ",".join(self.metrics), "--width", str(self.width),
                    "--height", str(self.height), "-o", out] + (["--freq", str(self.freq)] if self.kind == "boxes" else [])
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
            if done.returncode == 2 and kind == "svg":  # an older program that does not know how
                return _Svg(self).text().encode()
            if done.returncode != 0:
                raise RuntimeError(done.stdout.decode("utf-8", "replace").strip() or f"{muster} ended with {done.returncode}")
            with open(out, "rb") as f:
                return f.read()

    def _repr_svg_(self):
        return self.render("svg").decode()

    def __repr__(self):
        return f"<{self.kind} of {', '.join(self.metrics)}, job {self.job} of {self.path}>"


def _with_unit(metric):
    return f"{metric} ({UNITS[metric]})" if metric in UNITS else metric


def _ranges(numbers):
    """0-4, 6, 8-30"""
    got, start = [], None
    for i, n in enumerate(numbers):
        start = n if start is None else start
        if i + 1 == len(numbers) or numbers[i + 1] != n + 1:
            got.append(str(start) if start == n else f"{start}-{n}")
            start = None
    return ", ".join(got)


def _steps(low, high, wanted=6):
    """Round numbers from low to high."""
    if not high > low:
        high = low + (abs(low) or 1)
    raw = (high - low) / wanted
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= raw)
    first = math.floor(low / step) * step
    return [first + i * step for i in range(math.ceil((high - first) / step - 1e-9) + 1)]


class _Svg:
    """The picture without the program: stacked charts with axes, units and a legend."""

    LEFT, RIGHT, TOP, BOTTOM = 78, 16, 30, 54

    def __init__(self, figure):
        self.f, self.out = figure, []

    def add(self, form, **v):
        self.out.append(form.format(**v))

    def label(self, x, y, text, anchor="middle", size=12, turn=""):
        self.add('<text x="{x:.1f}" y="{y:.1f}" text-anchor="{a}" font-size="{s}"{t}>{w}</text>', x=x, y=y, a=anchor, s=size,
                 t=f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else "", w=html.escape(text))

    def text(self):
        f = self.f
        width, height = f.width * INCH, f.height * INCH
        self.add('<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" font-family="sans-serif">', w=width, h=height)
        self.add('<rect width="100%" height="100%" fill="#fff"/>')
        each = height / len(f.metrics)
        for i, metric in enumerate(f.metrics):
            self.chart(metric, i * each, width, each)
        self.add("</svg>")
        return "\n".join(self.out)

    def chart(self, metric, top, width, height):
        f = self.f
        boxes = f.boxes(metric) if f.kind == "boxes" else None
        scale = SCALE.get(metric, 1)
        flat = [v / scale for gpu in f.values[metric] for v in gpu if v is not None] or [0]
        ticks = _steps(min(0, *flat), max(flat))
        x0, x1, y0, y1 = self.LEFT, width - self.RIGHT, top + height - self.BOTTOM, top + self.TOP

        def at(v):
            return y0 + (v / scale - ticks[0]) * (y1 - y0) / (ticks[-1] - ticks[0])

        self.label(x0, top + 19, metric, "start", 14)
        for v in ticks:
            self.add('<line x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>', a=x0, b=x1, y=at(v * scale))
            self.label(x0 - 6, at(v * scale) + 4, f"{v:g}", "end")
        self.label(16, (y0 + y1) / 2, _with_unit(metric), turn="-90")
        self.label((x0 + x1) / 2, top + height - 6, TIME)
        self.add('<path d="M{a:.1f} {t:.1f}V{y:.1f}H{b:.1f}" fill="none" stroke="#333"/>', a=x0, b=x1, y=y0, t=y1)
        if boxes is None:
            self.lines(metric, x0, x1, y0, y1, at)
        else:
            self.boxes(boxes, x0, x1, y0, at)

    def lines(self, metric, x0, x1, y0, y1, at):
        times, gpus = self.f.times, self.f.values[metric]
        ticks = _steps(times[0], times[-1], 10)

        def x(t):
            return x0 + (t - times[0]) * (x1 - x0) / ((times[-1] - times[0]) or 1)

        for t in ticks:
            if times[0] <= t <= times[-1]:
                self.label(x(t), y0 + 16, f"{t:g}")
        for i, gpu in enumerate(gpus):
            path, pen = [], "M"
            for t, v in zip(times, gpu):
                if v is None:
                    pen = "M"  # a gap stays a gap
                else:
                    path.append(f"{pen}{x(t):.1f} {at(v):.1f}")
                    pen = "L"
            colour = LINES[i % len(LINES)]
            self.add('<path d="{d}" fill="none" stroke="{c}" stroke-width="1.5" opacity="0.5"><title>GPU {i}</title></path>', d="".join(path) or "M0 0", c=colour, i=i)
            left = x1 - 58 * (len(gpus) - i)
            self.add('<rect x="{x:.1f}" y="{y:.1f}" width="10" height="10" fill="{c}" opacity="0.5"/>', x=left, y=y1 - 20, c=colour)
            self.label(left + 14, y1 - 11, f"GPU {i}", "start", 11)

    def boxes(self, boxes, x0, x1, y0, at):
        each = (x1 - x0) / max(1, len(boxes))
        half, every = min(each * 0.35, 30), max(1, math.ceil(len(boxes) * 34 / (x1 - x0)))
        for i, (t, b) in enumerate(boxes):
            x = x0 + each * (i + 0.5)
            for a, z in ((b["low"], b["q1"]), (b["q3"], b["high"])):
                self.add('<line x1="{x:.1f}" x2="{x:.1f}" y1="{a:.1f}" y2="{z:.1f}" stroke="#cedde2" stroke-width="3" stroke-dasharray="1 3"/>', x=x, a=at(a), z=at(z))
            self.add('<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="#aec6cf"/>', x=x - half, y=at(b["q3"]), w=2 * half, h=max(0.5, at(b["q1"]) - at(b["q3"])))
            for v, part in ((b["low"], 0.6), (b["high"], 0.6), (b["median"], 1)):
                self.add('<line x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#cfb7ae" stroke-width="2"/>', a=x - half * part, b=x + half * part, y=at(v))
            for v in b["outliers"]:
                self.add('<path d="M{x:.1f} {y:.1f}m0 -4l4 4l-4 4l-4 -4z" fill="#777"/>', x=x, y=at(v))
            if i % every == 0:
                self.label(x, y0 + 14, f"{round(t, 2):g}", "end", 10, "-45")
