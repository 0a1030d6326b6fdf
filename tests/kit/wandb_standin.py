#!/usr/bin/python3
"""A stand-in for W&B's servers: GraphQL, file_stream, uploads and downloads, with auth, rate limits, delays and faults on request.

As a module:
    with Standin(world) as s:                     # a thread of its own; s.url, s.key
        s.fault("status", op="runs", status=502)  # the next request for runs; see Fault
        ...
        s.count["events"], s.over, s.log
On the command line, with a generated programme (wandb_programme.py):
    wandb_standin.py --port 0 --programme 1 --runs 1500 --latency 0.05 --write DIR
prints its address; DIR gets config.yaml. GET /_standin/stats gives counts as JSON; POST /_standin/fault {"kind": ...} plants a fault.
"""
import argparse
import asyncio
import base64
import collections
import email.utils
import gzip
import json
import math
import os
import socket
import struct
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from wandb_gql import Wrong  # noqa: E402
from wandb_world import SCHEMA, World, b64_md5  # noqa: E402

KEY = "0123456789abcdef0123456789abcdef01234567"
STATUS = {200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 413: "Content Too Large",
          429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


class Fault:
    """What goes wrong, with which requests, how often.

    kind                           what the client sees
    errors                         {"errors":[{"message","path"}],"data":null}
    errors_text                    {"errors":["text"]}
    error_text                     {"error":"text"}
    error_object                   {"error":{"message":"text"}}
                                   (status= of these four: 200 unless told; message=)
    status                         that HTTP status and a page of HTML; retry_after= seconds, or date=True: as a date
    reset, close, hang, garbage    the connection is reset or closed, nothing ever comes, bytes that are no HTTP
    truncate                       the right answer, but only half of it, then closed
    lost                           carried out, then the connection is reset
    slow                           the right answer after delay= seconds
    null_project, null_run         data.project, data.project.run is null
    nulls                          path=("project","runs","edges"): that is null; "*" stands for every item of a list
    partial                        data as it is, with null at path, and errors beside it
    bad_json                       text that is no JSON
    html                           status 200 and a page of HTML
    change                         change(data) returns what to answer with (module only)

    op= an operation (Standin.operation), None: any; where= variables that must be so, or a function of them; skip= that many before it;
    times= how often, None: for ever.
    """

    def __init__(self, kind, op=None, where=None, skip=0, times=1, **more):
        self.kind, self.op, self.where, self.skip, self.times, self.more, self.hits = kind, op, where, skip, times, more, 0

    def fits(self, op, variables):
        if self.op is not None and self.op != op:
            return False
        if callable(self.where):
            if not self.where(variables):
                return False
        elif self.where and any(variables.get(k) != v for k, v in self.where.items()):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            if self.times <= 0:
                return False
            self.times -= 1
        self.hits += 1
        return True


class Limit:
    """So many requests in each window of seconds; who comes when they are used up is over the limit."""

    def __init__(self, requests, window, clock=time.monotonic):
        self.requests, self.window, self.clock, self.begun, self.used = requests, window, clock, None, 0

    def take(self):
        """(within the limit, remaining, seconds until it begins anew)"""
        now = self.clock()
        if self.begun is None or now >= self.begun + self.window:
            self.begun, self.used = now if self.begun is None else self.begun + (now - self.begun) // self.window * self.window, 0
        self.used += 1
        return self.used <= self.requests, max(0, self.requests - self.used), self.begun + self.window - now


class Connection(asyncio.Protocol):
    def __init__(self, standin):
        self.s, self.data, self.transport, self.busy, self.gone = standin, bytearray(), None, False, False

    def connection_made(self, transport):
        self.transport = transport
        self.s.connections.add(self)

    def connection_lost(self, exc):
        self.gone = True
        self.s.connections.discard(self)

    def data_received(self, data):
        self.data += data
        if not self.busy:
            self.next()

    def next(self):
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self.data[:end].decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue" and len(self.data) == end + 4:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            headers["expect"] = ""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, at = bytearray(), end + 4
            while True:
                nl = self.data.find(b"\r\n", at)
                if nl < 0:
                    return
                size = int(self.data[at:nl].split(b";")[0], 16)
                if len(self.data) < nl + 2 + size + 2:
                    return
                body += self.data[nl + 2:nl + 2 + size]
                at = nl + 2 + size + 2
                if size == 0:
                    break
            body = bytes(body)
        else:
            length = int(headers.get("content-length", 0))
            at = end + 4 + length
            if len(self.data) < at:
                return
            body = bytes(self.data[end + 4:at])
        del self.data[:at]
        self.busy = True
        self.s.handle(self, method, target, headers, body)

    def send(self, status, body, headers=(), kind="application/json", fault=None):
        self.s.inflight -= 1
        if self.gone:
            return
        if isinstance(body, str):
            body = body.encode()
        head = [f"HTTP/1.1 {status} {STATUS.get(status, 'Status')}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
        data = ("\r\n".join(head) + "\r\n\r\n").encode() + body
        if fault == "truncate":
            self.transport.write(data[:len(data) - max(1, len(body) // 2)])
            self.transport.close()
            return
        self.transport.write(data)
        self.s.bytes_out += len(data)
        self.busy = False
        if self.data:
            asyncio.get_running_loop().call_soon(self.next)

    def reset(self):
        self.s.inflight -= 1
        if not self.gone:
            sock = self.transport.get_extra_info("socket")
            if sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()


class Standin:
    def __init__(self, world=None, key=KEY, latency=0.0, limit=None, project_limit=None, reset_form="int", headers=True, retry_after="seconds",
                 gzip_answers=False, extra=False, port=0):
        """limit, project_limit: (requests, seconds) for everything, and for each project. extra: members nobody asked for in every answer."""
        self.world, self.key, self.latency, self.port = world or World(), key, latency, port
        self.limit, self.project_limits, self.project_limit = limit and Limit(*limit), {}, project_limit
        self.reset_form, self.rate_headers, self.retry_after, self.gzip_answers, self.extra = reset_form, headers, retry_after, gzip_answers, extra
        self.faults, self.count, self.log, self.connections = [], collections.Counter(), [], set()
        self.over = self.refused = self.bytes_out = self.inflight = self.inflight_max = 0
        self.wrong = []  # requests whose shape was not right, in a sentence each
        self.delay = None  # a function of the operation: seconds more
        self.on_request = None  # called with (op, variables) in the stand-in's thread

    # ---- the thread ----

    def __enter__(self):
        ready = threading.Event()
        self.thread = threading.Thread(target=self._main, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join()

    def _main(self, ready):
        asyncio.run(self.serve(ready.set))

    async def serve(self, ready):
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        server = await self.loop.create_server(lambda: Connection(self), "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self.url = self.world.url = f"http://127.0.0.1:{self.port}"
        ready()
        await self.stop.wait()
        server.close()
        for c in list(self.connections):
            c.transport.abort()

    # ---- for tests ----

    def fault(self, kind, **kw):
        f = Fault(kind, **kw)
        self.faults.append(f)
        return f

    def stats(self):
        return {"requests": sum(self.count.values()), "count": dict(self.count), "over": self.over, "refused": self.refused, "wrong": self.wrong[:20],
                "bytes": self.bytes_out, "inflight_max": self.inflight_max}

    def clear(self):
        self.faults.clear()
        self.count.clear()
        self.log.clear()
        self.wrong.clear()
        self.over = self.refused = self.bytes_out = self.inflight_max = 0

    # ---- requests ----

    def handle(self, conn, method, target, headers, body):
        self.inflight += 1
        self.inflight_max = max(self.inflight_max, self.inflight)
        url = urllib.parse.urlsplit(target)
        if url.path.startswith("/_standin/"):
            return self.control(conn, method, url.path, body)
        if method == "PUT" and url.path.startswith("/storage/"):
            return self.put(conn, url.path, headers, body)
        if not self.allowed(headers):
            self.count["refused"] += 1
            self.refused += 1
            return conn.send(401, '{"errors":[{"message":"user is not logged in","path":["viewer"],"extensions":{"code":"PERMISSION_ERROR"}}]}')
        if method == "POST" and url.path == "/graphql":
            return self.graphql(conn, headers, body)
        parts = [urllib.parse.unquote(p) for p in url.path.strip("/").split("/")]
        if method == "POST" and len(parts) == 5 and parts[0] == "files" and parts[4] == "file_stream":
            return self.stream(conn, parts[1:4], headers, body)
        if method == "GET":
            return self.get(conn, parts)
        return conn.send(404, '{"error":"not found"}')

    def allowed(self, headers):
        want = "Basic " + base64.b64encode(b"api:" + self.key.encode()).decode()
        return headers.get("authorization") == want

    @staticmethod
    def operation(plan):
        """What a request is about: models, runs, names (a listing of names alone), events, history, files, run, artifact, artifact_files, viewer, or a mutation's name."""
        _, name, _, sub, *_ = plan.fields[0]
        if name in ("project", "model"):
            for _, inner, _, below, *_ in sub:
                if inner in ("run", "bucket"):
                    kinds = {f[1] for f in below}
                    return "events" if "events" in kinds else "history" if "history" in kinds else "files" if "files" in kinds else "run"
                if inner == "runs":
                    nodes = [n for e in below if e[1] == "edges" for f in e[3] if f[1] == "node" for n in f[3]]
                    return "runs" if {n[1] for n in nodes} - {"id", "name"} else "names"
                if inner in ("artifact", "artifactType"):
                    return "artifact"
            return "project"
        if name == "artifact":
            return "artifact_files"
        return name

    def limits(self, op, variables):
        """(over, headers)"""
        over, headers = False, []
        which = [self.limit] if self.limit else []
        if self.project_limit and variables.get("project"):
            key = (variables.get("entity"), variables["project"])
            which.append(self.project_limits.setdefault(key, Limit(*self.project_limit)))
        least = None
        for limit in which:
            within, remaining, reset = limit.take()
            over = over or not within
            if least is None or remaining < least[0]:
                least = (remaining, reset)
        if least and self.rate_headers:
            reset = math.ceil(least[1]) if self.reset_form == "int" else f"{least[1]:.3f}"
            headers = [f"RateLimit-Remaining: {least[0]}", f"RateLimit-Reset: {reset}"]
        if over:
            self.over += 1
            wait = math.ceil(least[1])
            headers.append("Retry-After: " + (email.utils.formatdate(time.time() + wait + 1, usegmt=True) if self.retry_after == "date" else str(wait)))
        return over, headers

    def graphql(self, conn, headers, body):
        try:
            ask = json.loads(body)
            if "application/json" not in headers.get("content-type", ""):
                raise Wrong("Content-Type must be application/json")
            if not isinstance(ask, dict) or not isinstance(ask.get("query"), str) or set(ask) - {"query", "variables", "operationName", "extensions"}:
                raise Wrong("a request has query, variables and operationName")
            plan = SCHEMA.plan(ask["query"])
            if ask.get("operationName") and ask["operationName"] != plan.name:
                raise Wrong(f'Unknown operation named "{ask["operationName"]}".')
            variables = plan.values(ask.get("variables") or {})
        except (ValueError, Wrong) as wrong:
            self.count["wrong"] += 1
            self.wrong.append(str(wrong))
            return conn.send(400, json.dumps({"errors": [{"message": str(wrong)}], "data": None}))
        op = self.operation(plan)
        self.count[op] += 1
        self.log.append((time.monotonic(), op, variables))
        if self.on_request:
            self.on_request(op, variables)
        over, rate = self.limits(op, variables)
        if over:
            return self.later(conn, 0, lambda: conn.send(429, '{"error":"rate limit exceeded"}', rate))
        fault = next((f for f in self.faults if f.fits(op, variables)), None)
        wait = self.latency + (self.delay(op) if self.delay else 0)
        if fault:
            if fault.kind == "slow":
                wait += fault.more.get("delay", 1)
            elif self.broken(conn, fault, wait, rate):
                return None
        self.later(conn, wait, lambda: self.answer(conn, plan, ask.get("variables") or {}, headers, rate, fault))
        return None

    def later(self, conn, wait, call):
        if wait > 0:
            self.loop.call_later(wait, call)
        else:
            call()

    def broken(self, conn, fault, wait, rate):
        """Faults that need no answer worked out; whether this was one."""
        kind, more = fault.kind, fault.more
        message, status, headers = more.get("message", "something went wrong"), more.get("status", 200), list(rate)
        if "retry_after" in more:
            at = more["retry_after"]
            headers.append("Retry-After: " + (email.utils.formatdate(time.time() + at + 1, usegmt=True) if more.get("date") else str(at)))
        shapes = {"errors": {"errors": [{"message": message, "path": ["project"]}], "data": None}, "errors_text": {"errors": [message]},
                  "error_text": {"error": message}, "error_object": {"error": {"message": message}}}
        page = f"<html><head><title>{status}</title></head><body><h1>{STATUS.get(status, '')}</h1></body></html>"
        if kind in shapes:
            call = lambda: conn.send(status, json.dumps(shapes[kind]), headers)
        elif kind == "status":
            call = lambda: conn.send(status, page, headers, "text/html")
        elif kind == "html":
            call = lambda: conn.send(200, page, headers, "text/html")
        elif kind == "bad_json":
            call = lambda: conn.send(200, '{"data":{"project":', headers)
        elif kind == "reset":
            call = conn.reset
        elif kind == "close":
            call = lambda: (setattr(self, "inflight", self.inflight - 1), conn.transport.close())
        elif kind == "garbage":
            call = lambda: (setattr(self, "inflight", self.inflight - 1), conn.transport.write(b"\x00\xffnot http\r\n\r\n"), conn.transport.close())
        elif kind == "hang":
            self.inflight -= 1
            return True
        else:
            return False
        self.later(conn, wait, call)
        return True

    def answer(self, conn, plan, variables, headers, rate, fault):
        if conn.gone and plan.kind == "query":
            self.inflight -= 1
            return
        self.world.raws = raws = []
        data, errors = plan.run(self.world, variables), plan.errors
        kind = fault.kind if fault else None
        if kind == "lost":
            conn.reset()
            return
        if kind == "null_project":
            data["project"] = None
        elif kind == "null_run" and data.get("project"):
            data["project"]["run"] = None
        elif kind in ("nulls", "partial"):
            put_null(data, list(fault.more["path"]))
            if kind == "partial":
                errors = errors + [{"message": fault.more.get("message", "something went wrong"), "path": list(fault.more["path"])}]
        elif kind == "change":
            data = fault.more["change"](data)
        got = {"data": data}
        if errors:
            got = {"errors": errors, "data": data}
        if self.extra:
            got = with_more(got)
        body = json.dumps(got, separators=(",", ":"))
        for k, raw in enumerate(raws):
            body = body.replace('"\\u0000raw%d\\u0000"' % k, raw, 1)
        body = body.encode()
        more = list(rate)
        if self.gzip_answers and "gzip" in headers.get("accept-encoding", "") and len(body) > 1000:
            body = gzip.compress(body, 1)
            more.append("Content-Encoding: gzip")
        conn.send(200, body, more, fault=kind)

    def stream(self, conn, where, headers, body):
        self.count["file_stream"] += 1
        self.log.append((time.monotonic(), "file_stream", dict(zip(("entity", "project", "run"), where))))
        over, rate = self.limits("file_stream", {"entity": where[0], "project": where[1]})
        if over:
            return conn.send(429, '{"error":"rate limit exceeded"}', rate)
        fault = next((f for f in self.faults if f.fits("file_stream", dict(zip(("entity", "project", "run"), where)))), None)
        if fault and self.broken(conn, fault, self.latency, rate):
            return None
        try:
            if headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            got = self.world.file_stream(*where, json.loads(body))
            self.later(conn, self.latency, lambda: conn.reset() if fault and fault.kind == "lost" else conn.send(200, json.dumps(got), rate))
        except LookupError as e:
            conn.send(404, json.dumps({"error": str(e)}), rate)
        except ValueError as e:
            self.wrong.append(str(e))
            conn.send(400, json.dumps({"error": str(e)}), rate)
        return None

    def put(self, conn, path, headers, body):
        self.count["upload"] += 1
        fault = next((f for f in self.faults if f.fits("upload", {"path": path})), None)
        if fault and self.broken(conn, fault, self.latency, []):
            return None
        there = self.world.pending.get(path)
        problem = None
        if not there or headers.get("x-ticket") != there[0]:
            problem = "this URL is not signed"
        elif "authorization" in headers:
            problem = "only one auth mechanism allowed"
        elif "content-type" in headers:
            problem = "the content type is not signed"
        elif there[1] is not None and b64_md5(body) != there[1]:
            problem = "the content is not what its md5 says"
        elif "content-md5" in headers and headers["content-md5"] != b64_md5(body):
            problem = "the content is not what Content-MD5 says"
        if problem:
            self.wrong.append(problem)
            return conn.send(400, f"<Error><Code>BadDigest</Code><Message>{problem}</Message></Error>", kind="application/xml")
        there[2](body)
        self.later(conn, self.latency, lambda: conn.send(200, "", [f"ETag: \"{b64_md5(body)}\""], "text/plain"))
        return None

    def get(self, conn, parts):
        data = None
        self.count["download"] += 1
        fault = next((f for f in self.faults if f.fits("download", {"path": "/".join(parts)})), None)
        if fault and self.broken(conn, fault, self.latency, []):
            return None
        if len(parts) >= 5 and parts[0] == "files":
            run = self.world.find(*parts[1:4])
            data = run.stored.get("/".join(parts[4:])) if run else None
        elif len(parts) >= 4 and parts[0] == "artifactsV2":
            art = self.world.artifacts.get(parts[2])
            name = "/".join(parts[3:])
            data = None if not art else art.manifest if name == "wandb_manifest.json" else art.contents.get(name)
        if data is None:
            return conn.send(404, '{"error":"not found"}')
        if isinstance(data, str):
            data = data.encode()
        self.later(conn, self.latency, lambda: conn.send(200, data, kind="application/octet-stream", fault=fault and fault.kind))
        return None

    def control(self, conn, method, path, body):
        self.inflight_max = max(0, self.inflight_max)
        if method == "POST" and path == "/_standin/fault":
            self.fault(**json.loads(body))
            return conn.send(200, "{}")
        if method == "POST" and path == "/_standin/clear":
            self.clear()
            return conn.send(200, "{}")
        if path == "/_standin/stats":
            return conn.send(200, json.dumps(self.stats()))
        return conn.send(404, "{}")


def put_null(data, path):
    if not path or data is None:
        return
    if isinstance(data, list):
        if path[0] == "*":
            if len(path) == 1:
                data[:] = [None] * len(data)
            else:
                for item in data:
                    put_null(item, path[1:])
        elif isinstance(path[0], int) and path[0] < len(data):
            if len(path) == 1:
                data[path[0]] = None
            else:
                put_null(data[path[0]], path[1:])
    elif isinstance(data, dict) and path[0] in data:
        if len(path) == 1:
            data[path[0]] = None
        else:
            put_null(data[path[0]], path[1:])


def with_more(value):
    """Members nobody asked for, everywhere."""
    if isinstance(value, dict):
        got = {"x_new": {"deep": [1, {"name": "no"}]}}
        got.update((k, with_more(v)) for k, v in value.items())
        got["zNewer"] = None
        return got
    if isinstance(value, list):
        return [with_more(v) for v in value]
    return value


def main():
    p = argparse.ArgumentParser(description="A stand-in for W&B's servers, with a generated programme of companies, projects and runs.")
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--key", default=KEY)
    p.add_argument("--programme", type=int, metavar="SEED", help="generate one")
    p.add_argument("--companies", type=int, default=12)
    p.add_argument("--projects", type=int, default=60)
    p.add_argument("--runs", type=int, default=20000)
    p.add_argument("--days", type=int, default=184)
    p.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    p.add_argument("--limit", metavar="REQUESTS/SECONDS")
    p.add_argument("--write", metavar="DIR", help="write config.yaml there")
    a = p.parse_args()
    world = World()
    if a.programme is not None:
        import wandb_programme
        programme = wandb_programme.Programme(a.programme, companies=a.companies, projects=a.projects, runs=a.runs, days=a.days)
        programme.fill(world)
        if a.write:
            os.makedirs(a.write, exist_ok=True)
            with open(os.path.join(a.write, "config.yaml"), "w", encoding="utf-8") as f:
                f.write(programme.config_text())
    limit = tuple(float(x) for x in a.limit.split("/")) if a.limit else None
    s = Standin(world, key=a.key, latency=a.latency, limit=limit, port=a.port)
    try:
        asyncio.run(s.serve(lambda: print(f"listening on {s.url}", flush=True)))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
