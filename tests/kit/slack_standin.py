"""A Slack of one's own for tests: incoming webhooks, the Web API, uploads and Socket Mode, over TLS, on one port.

    s = Slack(folder)              makes a certificate in the folder and listens; s.stop() ends it, s.start() goes on, on the same port and with
                                   everything it remembers, as if Slack had been away
    s.section(folder)              the section `slack` of muster.yaml, with token files written into the folder
    s.log                          everything that came, in order: tuples ("api", method, arguments), ("hook", path, body), ("upload", name, bytes),
                                   ("link", number), ("ack", envelope, number), ("gone", number); a number is that of a websocket
    s.posts                        messages that were taken, in order: dicts as chat.postMessage had them, with "ts"; "files": names and bytes
    s.hooks                        bodies posted to /services/... and to response_urls, with "path"
    s.faults                       what a client may not do: frames without a mask, tokens of the wrong kind, tickets used twice. Tests want it empty
    s.next[method] = [way, ...]    how the next requests are answered; "hook" and "upload" count as methods, too. A way is a word (ok: false with it), a status
                                   (429 with Retry-After s.after), "garbage", "endless", "hang", "redirect", "lost": taken, and the connection cut
    s.per_second = True            a second message to a channel within a second is refused with 429, as Slack does it
    s.users["U1"] = "a@b"          who there is, and the mail address
    s.say(text, user, channel)     a message; mention=True, direct=True, thread="1.2", bot=True. Returns the envelope's id
    s.command(text), s.button(v)   a slash command, a button
    s.acked(id)                    was it acknowledged?
    s.warn(), s.refresh()          disconnect frames; the connection goes s.grace seconds later; None: with s.let_go()
    s.disable()                    link_disabled
    s.cut()                        all websockets end without a word
    s.raw(bytes), s.text(str)      onto the newest websocket: a frame by hand, or text as a frame
    s.pieces = 3                   frames come in so many fragments, with a ping between them
    s.mute = True                  pings are not answered
Envelopes that are not acknowledged within s.retry seconds are sent again, on whichever websocket there is, with the same id as Slack's event_id has it.
"""
import base64
import collections
import contextlib
import hashlib
import http.server
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse

import lib

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BOT, APP, SIGNING = "xoxb-hidden-bot-1", "xapp-hidden-app-2", "hidden-signing-3"
OWN_USER = "U0BOT"


class Link:
    """One websocket, from the server's side."""

    def __init__(self, owner, number, sock):
        self.owner, self.number, self.sock, self.lock, self.open = owner, number, sock, threading.Lock(), True
        self.one_text = threading.Lock()  # the pieces of two texts may not mix, a ping may stand between them

    def frame(self, opcode, data, fin=True):
        n = len(data)
        head = bytes([opcode | (0x80 if fin else 0)])
        head += bytes([n]) if n < 126 else bytes([126]) + struct.pack(">H", n) if n < 65536 else bytes([127]) + struct.pack(">Q", n)
        self.bytes(head + data)

    def bytes(self, data):
        try:
            with self.lock:
                self.sock.sendall(data)
        except (OSError, ValueError):
            self.open = False

    def text(self, text):
        data, pieces = text.encode(), self.owner.pieces
        step = max(1, (len(data) + pieces - 1) // pieces)
        parts = [data[i:i + step] for i in range(0, len(data), step)] or [b""]
        with self.one_text:
            for i, part in enumerate(parts):
                self.frame(1 if i == 0 else 0, part, fin=i == len(parts) - 1)
                if i < len(parts) - 1:
                    self.frame(9, b"between")

    def binary(self, data):
        with self.one_text:
            self.frame(2, data)

    def close(self):
        self.frame(8, struct.pack(">H", 1000))
        self.end()

    def end(self):
        self.open = False
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass

    def exactly(self, f, n):
        data = f.read(n)
        if len(data) != n:
            raise ConnectionError
        return data

    def serve(self, f):
        s = self.owner
        try:
            while True:
                a, b = self.exactly(f, 2)
                n = b & 127
                if n == 126:
                    n = struct.unpack(">H", self.exactly(f, 2))[0]
                elif n == 127:
                    n = struct.unpack(">Q", self.exactly(f, 8))[0]
                if not b & 128:
                    s.fault("a frame without a mask")
                if a & 8 and (n > 125 or not a & 128):
                    s.fault("a control frame that is long or in pieces")
                mask = self.exactly(f, 4) if b & 128 else b"\0\0\0\0"
                data = bytes(c ^ mask[i % 4] for i, c in enumerate(self.exactly(f, n)))
                if a & 15 == 8:
                    return
                if a & 15 == 9:
                    s.pings += 1
                    if not s.mute:
                        self.frame(10, data)
                elif a & 15 == 10:
                    s.pongs += 1
                elif a & 15 == 1:
                    s.client_said(self, data)
        except (ConnectionError, OSError, ValueError):
            pass
        finally:
            self.open = False
            s.note("gone", self.number)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # handshakes that fail, readers that leave


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request.settimeout(60)
        self.request = self.server.slack.tls.wrap_socket(self.request, server_side=True)
        with self.server.slack.lock:
            self.server.slack.sockets.add(self.request)
        super().setup()

    def finish(self):
        with self.server.slack.lock:
            self.server.slack.sockets.discard(self.request)
        super().finish()
        self.request.close()

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json; charset=utf-8", headers=()):
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def rude(self, way):
        """True: answered, one way or the other."""
        s = self.server.slack
        if way is None:
            return False
        if way == "hang":
            s.hanging += 1
            s.over.wait(60)
            s.hanging -= 1
        elif way == "garbage":
            self.answer(200, b"\x00\xff<html>{")
        elif way == "redirect":
            self.answer(302, "", headers=[("Location", s.url + "/elsewhere")])
        elif way == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while not s.over.is_set():
                    self.wfile.write(b"x" * 65536)
            except OSError:
                s.note("cut off")
        elif isinstance(way, int):
            self.answer(way, {"ok": False, "error": "ratelimited"} if way == 429 else "no", headers=[("Retry-After", str(s.after))] if way == 429 else ())
        else:
            self.answer(200, {"ok": False, "error": way})
        self.close_connection = True
        return True

    def do_POST(self):
        s = self.server.slack
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlparse(self.path)
        if url.path.startswith("/api/"):
            return self.api(url.path[5:], body)
        if url.path.startswith("/upload/"):
            s.note("upload", s.uploads[url.path], body)
            way = s.way("upload")
            if not self.rude(way):
                with s.taking():
                    s.files[url.path.rsplit("/", 1)[1]] = (s.uploads[url.path], body)
                    self.answer(200, "OK - " + str(len(body)), "text/plain")
            return None
        if url.path.startswith(("/services/", "/respond/")):
            if self.headers.get("Authorization"):
                s.fault("a token for a hook")
            told = json.loads(body)
            s.note("hook", url.path, told)
            way = s.way("hook")
            if way == "gone":
                return self.answer(404, "expired_url", "text/plain")
            if not self.rude(way):
                with s.taking():
                    s.hooks.append(dict(told, path=url.path))
                    self.answer(200, "ok", "text/plain")
            return None
        return self.answer(404, "no_service", "text/plain")

    def api(self, method, body):
        s = self.server.slack
        kind = self.headers.get("Content-Type", "")
        try:
            args = json.loads(body) if kind.startswith("application/json") else dict(urllib.parse.parse_qsl(body.decode()))
        except ValueError:
            args = {}
        s.note("api", method, args)
        if kind.startswith("application/json") and method not in ("chat.postMessage", "files.completeUploadExternal", "conversations.open"):
            s.fault(f"{method} takes no JSON")
        want = APP if method == "apps.connections.open" else BOT
        if self.headers.get("Authorization") != "Bearer " + want:
            s.fault(f"{method} with a wrong token")
            return self.answer(200, {"ok": False, "error": "invalid_auth"})
        way = s.way(method)
        if way != "lost" and self.rude(way):
            return None
        with s.taking():
            status, told = s.do(method, args)
            if way == "lost":
                self.close_connection = True
                return self.connection.shutdown(socket.SHUT_RDWR)
            return self.answer(status, told, headers=[("Retry-After", "1")] if status == 429 else ())

    def do_GET(self):
        s = self.server.slack
        ticket = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query).get("ticket", [""])[0]
        self.close_connection = True
        with s.lock:
            good = ticket in s.tickets
            s.tickets.discard(ticket)
        if not good:
            s.fault("a ticket that was used, or never given")
            return self.answer(403, "no")
        if self.headers.get("Upgrade", "").lower() != "websocket" or self.headers.get("Sec-WebSocket-Version") != "13":
            s.fault("no websocket")
            return self.answer(400, "no")
        key = self.headers["Sec-WebSocket-Key"] + GUID
        self.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                          + base64.b64encode(hashlib.sha1(key.encode()).digest()).decode() + "\r\n\r\n").encode())
        link = s.linked(self.connection)
        link.serve(self.rfile)
        return None


class Slack:
    def __init__(self, folder):
        self.key, self.ca = os.path.join(folder, "slack-key.pem"), os.path.join(folder, "slack-ca.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.key, "-out", self.ca,
                        "-days", "36500", "-subj", "/CN=slack", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.ca, self.key)
        self.lock, self.sockets = threading.RLock(), set()
        self.idle, self.answering, self.leaving = threading.Condition(self.lock), 0, []
        self.log, self.posts, self.hooks, self.faults = [], [], [], []
        self.next, self.users, self.channels = collections.defaultdict(list), {}, {}
        self.after, self.per_second, self.pieces, self.mute, self.grace, self.retry, self.say_hello = 2, False, 1, False, 2.0, 3.0, True
        self.pings = self.pongs = self.count = 0
        self.tickets, self.uploads, self.files, self.last_post = set(), {}, {}, {}
        self.links, self.waiting, self.done = [], {}, set()
        self.port, self.server = lib.free_port(), None
        self.start()

    # ---- being there ----

    def start(self):
        self.over = threading.Event()
        self.hanging = 0  # requests that are left without an answer just now
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.slack = self
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        threading.Thread(target=self.again, args=(self.over,), daemon=True).start()

    @contextlib.contextmanager
    def taking(self):
        """What is taken in here is answered before an end: without an answer it would come again, and that is what "lost" is for."""
        with self.lock:
            if self.over.is_set():
                raise ConnectionResetError
            self.answering += 1
        try:
            yield
        finally:
            with self.lock:
                self.answering -= 1
                self.idle.notify_all()

    def stop(self):
        with self.lock:
            self.over.set()
            self.idle.wait_for(lambda: not self.answering, lib.LIMIT_S)
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            open_ones, self.links = list(self.sockets), []
        for sock in open_ones:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except (OSError, ValueError):
                pass

    def section(self, folder, more=""):
        lines = [f"  api: {self.url}/api", f"  hooks: {self.url}", f"  ca_file: {self.ca}", '  channel: "#gpus"']
        for name, secret in (("token", BOT), ("app_token", APP), ("signing", SIGNING)):
            path = os.path.join(folder, "slack-" + name)
            with open(path, "w", encoding="ascii", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
                f.write(secret + "\n")
            lines.append(f"  {name}_file: {path}")
        return "slack:\n" + "\n".join(lines) + "\n" + more

    # ---- what came ----

    def note(self, *what):
        with self.lock:
            self.log.append(what)

    def fault(self, what):
        with self.lock:
            self.faults.append(what)

    def asked(self, method):
        with self.lock:
            return [w[2] for w in self.log if w[0] == "api" and w[1] == method]

    def way(self, method):
        with self.lock:
            return self.next[method].pop(0) if self.next[method] else None

    # ---- the Web API ----

    def do(self, method, args):
        with self.lock:
            self.count += 1
            n = self.count
            if method == "auth.test":
                return 200, {"ok": True, "user_id": OWN_USER, "bot_id": "B0BOT", "team_id": "T1", "url": "https://team.slack.com/"}
            if method == "apps.connections.open":
                ticket = f"t{n}-{os.urandom(8).hex()}"
                self.tickets.add(ticket)
                return 200, {"ok": True, "url": f"wss://127.0.0.1:{self.port}/link/?ticket={ticket}&app_id=A1"}
            if method == "users.info":
                mail = self.users.get(args.get("user"))
                return 200, {"ok": True, "user": {"id": args["user"], "profile": {"email": mail}}} if mail else {"ok": False, "error": "user_not_found"}
            if method == "users.lookupByEmail":
                found = [u for u, mail in self.users.items() if mail == args.get("email")]
                return 200, {"ok": True, "user": {"id": found[0]}} if found else {"ok": False, "error": "users_not_found"}
            if method == "conversations.open":
                return 200, {"ok": True, "channel": {"id": "D" + args["users"]}} if args.get("users") in self.users else {"ok": False, "error": "user_not_found"}
            if method == "chat.postMessage":
                return self.post(args, n)
            if method == "files.getUploadURLExternal":
                if not args.get("filename") or not args.get("length", "").isdigit():
                    return 200, {"ok": False, "error": "invalid_arguments"}
                self.uploads[f"/upload/v1/F{n}"] = args["filename"]
                return 200, {"ok": True, "upload_url": f"{self.url}/upload/v1/F{n}", "file_id": f"F{n}"}
            if method == "files.completeUploadExternal":
                files = args["files"] if isinstance(args["files"], list) else json.loads(args["files"])
                if not args.get("channel_id", "").startswith(("C", "D")) or any(f["id"] not in self.files for f in files):
                    return 200, {"ok": False, "error": "file_not_found"}
                self.posts.append({"channel": args["channel_id"], "thread_ts": args.get("thread_ts"), "files": [self.files[f["id"]] for f in files], "at": time.monotonic()})
                return 200, {"ok": True, "files": files}
            return 200, {"ok": False, "error": "unknown_method"}

    def post(self, args, n):
        channel, now = args.get("channel", ""), time.monotonic()
        if not args.get("text") and not args.get("blocks"):
            return 200, {"ok": False, "error": "no_text"}
        if isinstance(args.get("blocks"), str) or len(args.get("blocks") or []) > 50:
            return 200, {"ok": False, "error": "invalid_blocks"}
        if channel.startswith("#"):
            channel = "C" + channel[1:].upper()
        if not channel.startswith(("C", "D", "G")) or channel == "CNOWHERE":
            return 200, {"ok": False, "error": "channel_not_found"}
        if self.per_second and now - self.last_post.get(channel, -9) < 0.95:
            self.log.append(("limited", channel))
            return 429, {"ok": False, "error": "ratelimited"}
        self.last_post[channel] = now
        ts = f"1700000000.{n:06d}"
        self.posts.append(dict(args, channel=channel, ts=ts, at=now))
        return 200, {"ok": True, "channel": channel, "ts": ts, "message": {"text": args.get("text", "")}}

    # ---- Socket Mode ----

    def linked(self, sock):
        with self.lock:
            self.count += 1
            link = Link(self, self.count, sock)
            self.log.append(("link", link.number))
            if self.say_hello:  # who has heard it finds the connection among the live ones
                link.text(json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"},
                                      "debug_info": {"host": "standin", "build_number": 1, "approximate_connection_time": 18060}}))
            self.links.append(link)
        return link

    def live(self):
        with self.lock:
            self.links = [x for x in self.links if x.open]
            return list(self.links)

    def client_said(self, link, data):
        try:
            told = json.loads(data)
            which = told["envelope_id"]
        except (ValueError, KeyError, TypeError):
            return self.fault("not an acknowledgement: " + repr(data[:100]))
        with self.lock:
            self.log.append(("ack", which, link.number))
            if which not in self.waiting and which not in self.done:
                self.faults.append("an acknowledgement of nothing")
            self.waiting.pop(which, None)
            self.done.add(which)
        return None

    def acked(self, which):
        with self.lock:
            return which in self.done

    def envelope(self, kind, payload):
        with self.lock:
            self.count += 1
            which = f"e-{self.count}-{os.urandom(4).hex()}"
            self.waiting[which] = {"at": 0.0, "tries": 0, "frame": {"envelope_id": which, "type": kind, "accepts_response_payload": kind == "slash_commands", "payload": payload}}
        self.send_waiting()
        return which

    def send_waiting(self):
        """What nobody has acknowledged, oldest first, to the newest websocket that is not on its way out."""
        links = self.live()
        if not links:
            return
        now, out = time.monotonic(), []
        with self.lock:
            for w in self.waiting.values():
                if now - w["at"] >= self.retry:
                    if w["tries"]:
                        w["frame"].update(retry_attempt=w["tries"], retry_reason="timeout")
                    w["at"], w["tries"] = now, w["tries"] + 1
                    out.append(json.dumps(w["frame"]))
        for text in out:
            links[-1].text(text)

    def again(self, over):
        while not over.wait(0.1):
            self.send_waiting()

    def message(self, text, user="U1", channel="C1", mention=False, direct=False, thread=None, bot=False, subtype=None):
        with self.lock:
            self.count += 1
            n = self.count
        event = {"type": "app_mention" if mention else "message", "user": user, "text": (f"<@{OWN_USER}> " if mention else "") + text, "ts": f"1600000000.{n:06d}",
                 "channel": "D" + user if direct else channel, "channel_type": "im" if direct else "channel"}
        if thread:
            event["thread_ts"] = thread
        if bot:
            event["bot_id"] = "B9"
        if subtype:
            event["subtype"] = subtype
        return {"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event": event, "event_id": f"Ev{n}", "event_time": 1600000000}

    def fields(self, text, user="U1", channel="C1"):
        with self.lock:
            self.count += 1
            n = self.count
        return {"token": "old", "team_id": "T1", "team_domain": "team", "channel_id": channel, "channel_name": "gpus", "user_id": user, "user_name": "name", "command": "/gpus", "text": text,
                "api_app_id": "A1", "response_url": f"{self.url}/respond/{n}", "trigger_id": f"{n}.1.abc"}

    def pressed(self, value, user="U1", channel="C1", action="run"):
        with self.lock:
            self.count += 1
            n = self.count
        return {"type": "block_actions", "user": {"id": user}, "channel": {"id": channel}, "message": {"ts": f"1600000001.{n:06d}"}, "actions": [{"action_id": action, "value": value, "type": "button"}],
                "response_url": f"{self.url}/respond/{n}", "trigger_id": f"{n}.1.abc"}

    def say(self, text, user="U1", channel="C1", **more):
        return self.envelope("events_api", self.message(text, user, channel, **more))

    def command(self, text, user="U1", channel="C1"):
        return self.envelope("slash_commands", self.fields(text, user, channel))

    def button(self, value, user="U1", channel="C1", action="run"):
        return self.envelope("interactive", self.pressed(value, user, channel, action))

    def disconnect(self, reason):
        for link in self.live():
            link.text(json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "standin"}}))
            if self.grace is None:
                self.leaving.append(link)
            else:
                threading.Timer(self.grace, link.close).start()

    def let_go(self):
        while self.leaving:
            self.leaving.pop().close()

    def warn(self):
        self.disconnect("warning")

    def refresh(self):
        self.disconnect("refresh_requested")

    def disable(self):
        self.disconnect("link_disabled")

    def cut(self):
        for link in self.live():
            link.end()

    def raw(self, data):
        self.live()[-1].bytes(data)

    def text(self, text):
        self.live()[-1].text(text)
