"""A hub of a hundred lines for the agent's tests: keeps what it is sent, answers in the hub's words, and misbehaves on request.

It reads only the fixed fields of frames (docs/internals/wire.md); what is inside a batch, tests read with build/tool/wiredump.
"""
import http.server
import json
import os
import ssl
import struct
import subprocess
import threading
import time

import lib

HELLO, FACTS, PROCS, BATCH = 1, 2, 3, 4
COLLECT = ("starting", "ok", "hung", "paused", "none", "failed")


def varint(p, at):
    v = shift = 0
    while True:
        v |= (p[at] & 0x7F) << shift
        shift += 7
        at += 1
        if p[at - 1] < 0x80:
            return v, at


def text(p, at):
    n, at = varint(p, at)
    return p[at:at + n].decode(), at + n


class Frame:
    """One frame of a stream: type, whole bytes, and the fields that stand at fixed places."""

    def __init__(self, kind, whole, body):
        self.kind, self.whole = kind, whole
        self.node = body[:16].hex()
        if kind == HELLO:
            self.run = struct.unpack_from("<Q", body, 16)[0]
            self.sent_ms, at = varint(body, 24)
            since, at = varint(body, at)
            self.since_ms = since >> 1
            self.collect, self.stuck = COLLECT[body[at]], body[at + 1]
            self.backlog = struct.unpack_from("<I", body, at + 2)[0]
            self.name, at = text(body, at + 6)
            self.why, at = text(body, at)
        elif kind in (FACTS, PROCS):
            self.id = struct.unpack_from("<Q", body, 16)[0]
        elif kind == BATCH:
            self.run, self.number, self.facts, self.procs = struct.unpack_from("<4Q", body, 16)
            self.key = (self.run, self.number)


def frames(stream):
    if stream[:5] != b"MUST\x01":
        raise ValueError("not a stream")
    at, out = 5, []
    while at < len(stream):
        kind, n, _crc = struct.unpack_from("<BII", stream, at)
        whole = stream[at:at + 9 + n]
        if len(whole) != 9 + n:
            raise ValueError("frame is cut")
        out.append(Frame(kind, whole, whole[9:]))
        at += 9 + n
    return out


def dump(stream):
    """What wiredump says of a stream, one dict per frame."""
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")  # asked for often
    done = subprocess.run([os.path.join(lib.BIN, "tool", "wiredump")], input=stream, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.splitlines()]


class Post:
    def __init__(self, headers, body):
        self.at, self.headers, self.frames = time.monotonic(), headers, frames(body)
        self.hello = next((f for f in self.frames if f.kind == HELLO), None)
        self.batches = [f for f in self.frames if f.kind == BATCH]
        self.live = True


class FakeHub:
    """`with FakeHub() as hub:`; hub.url is where. All state is under hub.lock; tests read through the methods."""

    def __init__(self, tls=None):
        self.lock = threading.Lock()
        self.tls, self.port, self.server = tls, lib.free_port(), None  # it goes away and comes back
        self.posts, self.stored, self.blobs, self.seen = [], {}, {}, 0
        self.order = []          # keys as they were stored
        self.repeats = 0         # batches that came again
        self.connections = 0
        self.words = {}          # further lines of every answer: interval, phase, retry, token
        self.tokens = None       # those accepted; None: any
        self.mode = None         # None, or a function (handler, post) -> True when it has answered
        self.start()

    def start(self):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                with hub.lock:
                    hub.connections += 1

            def log_message(self, *a):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    hub.take(self, Post(self.headers, body))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # an agent that was killed in the middle

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.tls:
            ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            ctx.load_cert_chain(*self.tls)
            self.server.socket = ctx.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def stop(self):
        """The hub is away: nothing listens, and connections that are open answer no more."""
        if not self.server:
            return
        self.mode = drop
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.server = None

    def back(self):
        self.mode = None
        self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.stop()

    def take(self, handler, post):
        with self.lock:
            self.posts.append(post)
            mode = self.mode
            token = (post.headers.get("Authorization") or "").removeprefix("Bearer ")
            denied = self.tokens is not None and token not in self.tokens
        if mode and mode(handler, post):
            return
        if denied:
            reply(handler, 401, b'{"title":"Unauthorized","detail":"this token is not known here"}')
            return
        with self.lock:
            lines = self.store(post)
        reply(handler, 200, lines.encode())

    def store(self, post):
        lines = []
        for f in post.frames:
            if f.kind in (FACTS, PROCS):
                self.blobs[f.id] = f.whole
        for f in post.batches:
            lacking = [b for b in (f.facts, f.procs) if b and b not in self.blobs]
            if lacking:
                lines += [f"need {b:016x}" for b in lacking]
                continue
            if f.key in self.stored:
                self.repeats += 1
                assert self.stored[f.key] == f.whole, "one key, two contents"
            else:
                self.stored[f.key] = f.whole
                self.order.append(f.key)
            lines.append(f"stored {f.run:016x} {f.number}")
        lines.append(f"time {int(time.time() * 1000)}")
        lines += [f"{k} {v}" for k, v in self.words.items()]
        return "".join(line + "\n" for line in lines)

    # ---- for tests ----
    def hellos(self):
        with self.lock:
            return [p.hello for p in self.posts if p.hello]

    def last(self):
        with self.lock:
            return self.posts[-1] if self.posts else None

    def count(self):
        with self.lock:
            return len(self.posts)

    def keys(self):
        with self.lock:
            return list(self.order)

    def numbers(self, run):
        return [n for r, n in self.keys() if r == run]

    def runs(self):
        out = []
        for run, _ in self.keys():
            if run not in out:
                out.append(run)
        return out

    def contents(self, since=0):
        """Facts, process lists and the stored batches from the since-th on, decoded."""
        with self.lock:
            stream = b"MUST\x01" + b"".join(self.blobs.values()) + b"".join(self.stored[k] for k in self.order[since:])
        return dump(stream)

    def batches(self, since=0):
        return [f for f in self.contents(since) if f["type"] == "batch"]

    def events(self):
        return [(e["kind"], e["slot"]) for b in self.batches() for e in b["events"]]


# ---- ways to misbehave ----
def reply(handler, status, body, headers=()):
    handler.send_response(status)
    handler.send_header("content-type", "text/plain")  # small, as a proxy may write them
    handler.send_header("content-length", str(len(body)))
    for k, v in headers:
        handler.send_header(k, v)
    handler.end_headers()
    handler.wfile.write(body)


def drop(handler, _post):
    """Close without a word."""
    handler.close_connection = True
    return True


def hang(seconds=3600):
    def mode(handler, _post):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
        handler.close_connection = True
        return True
    return mode


def status(code, body=b"", headers=()):
    def mode(handler, _post):
        reply(handler, code, body, headers)
        return True
    return mode
