"""An SMTP server that takes nothing for granted: it speaks ESMTP with STARTTLS or TLS from the start, checks every line it gets,
and is late, rude or broken where it is told to be. What it takes is parsed with Python's email package, where every defect counts."""
import base64
import email
import email.policy
import email.utils
import re
import socket
import ssl
import subprocess
import threading

ONCE = ("From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Auto-Submitted", "List-Id")


def certificate(cert, key, name="localhost"):
    """One that signs itself, for `name`."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "36500",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def faults_of(msg):
    """What is wrong with a mail, in words."""
    found = [f"{part.get_content_type()}: {d!r}" for part in msg.walk() for d in part.defects]
    found += [f"{name}: {d!r}" for part in msg.walk() for name, value in part.items() for d in getattr(value, "defects", ())]
    found += [f"{len(msg.get_all(h, []))} of {h}" for h in ONCE if len(msg.get_all(h, [])) != 1]
    if not re.fullmatch(r"<[^<>@\s]+@[^<>@\s]+>", msg.get("Message-ID", "").strip()):
        found.append(f"Message-ID {msg.get('Message-ID')!r}")
    if msg.get("Auto-Submitted") != "auto-generated":
        found.append("Auto-Submitted")
    try:
        email.utils.parsedate_to_datetime(msg["Date"])
    except (TypeError, ValueError):
        found.append(f"Date {msg['Date']!r}")
    return found


class Smtp:
    """`ways` has, by step (greet ehlo starttls auth mail data end quit, or rcpt:ADDRESS), what to do the next times: (code, text) to
    answer that, "hang" to say nothing, "cut" to close. `cert`: (file, key) for TLS; `implicit`: from the start; `logins`: {user: password}."""

    def __init__(self, cert=None, implicit=False, logins=None, starttls=True, port=0):
        self.cert, self.implicit, self.logins, self.starttls = cert, implicit, logins or {}, starttls and not implicit
        self.mails, self.faults, self.ways, self.said, self.lock, self.over = [], [], {}, [], threading.Lock(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        self.over.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.thread.join()

    def _serve(self):
        while not self.over.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=Session(self, sock).run, daemon=True).start()

    def way(self, step):
        with self.lock:
            left = self.ways.get(step)
            return left.pop(0) if left else None

    def of(self, address):
        with self.lock:
            return [m for m in self.mails if address in m["to"]]


class Cut(Exception):
    pass


class Session:
    def __init__(self, server, sock):
        self.server, self.sock, self.tls, self.user, self.from_, self.to = server, sock, None, None, None, []
        sock.settimeout(120)

    def fault(self, text):
        with self.server.lock:
            self.server.faults.append(text)

    def encrypt(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server.cert)
        self.sock = context.wrap_socket(self.sock, server_side=True)
        self.file, self.tls = self.sock.makefile("rb"), self.sock.version()

    def line(self):
        raw = self.file.readline(100000)
        if not raw:
            raise Cut
        if not raw.endswith(b"\r\n") or b"\r" in raw[:-2] or b"\n" in raw[:-2]:
            self.fault(f"a line does not end with CRLF: {raw[:80]!r}")
        if len(raw) > 1000:
            self.fault(f"a line of {len(raw)} bytes")
        if max(raw) > 126:
            self.fault(f"a line is not plain: {raw[:80]!r}")
        return raw[:-2]

    def say(self, text):
        self.sock.sendall(text.encode() + b"\r\n")

    def step(self, name, usual):
        """Answer as usual, or as told; True: as usual."""
        way = self.server.way(name)
        with self.server.lock:
            self.server.said.append(name)
        if way == "hang":
            self.server.over.wait(100)
            raise Cut
        if way == "cut":
            raise Cut
        if way:
            self.say(f"{way[0]} {way[1]}")
            return False
        if usual:
            self.say(usual)
        return True

    def run(self):
        try:
            if self.server.implicit:
                self.encrypt()
            else:
                self.file = self.sock.makefile("rb")
            self.step("greet", "220 standin ESMTP")
            while self.command():
                pass
        except (Cut, OSError, ssl.SSLError):
            pass
        finally:
            self.sock.close()

    def command(self):
        line = self.line().decode("ascii", "replace")
        verb, _, rest = line.partition(" ")
        verb = verb.upper()
        if verb == "EHLO":
            offers = ["standin", "SIZE 3000000", "8BITMIME"]
            if self.server.starttls and not self.tls:
                offers.append("STARTTLS")
            if self.server.logins and self.tls:
                offers.append("AUTH PLAIN LOGIN")
            if self.step("ehlo", None):
                self.say("\r\n".join(f"250{'-' if i + 1 < len(offers) else ' '}{o}" for i, o in enumerate(offers)))
        elif verb == "STARTTLS":
            if self.step("starttls", "220 go on"):
                self.encrypt()
        elif verb == "AUTH":
            self.auth(rest)
        elif verb == "MAIL":
            self.mail(line)
        elif verb == "RCPT":
            address = re.fullmatch(r"RCPT TO:<([^<> ]+)>", line)
            if not address:
                self.fault(f"not a receiver: {line!r}")
            if self.step(f"rcpt:{address[1]}", "250 taken"):
                self.to.append(address[1])
        elif verb == "DATA":
            self.data()
        elif verb == "QUIT":
            self.step("quit", "221 bye")
            return False
        elif verb in ("RSET", "NOOP"):
            self.say("250 ok")
        else:
            self.fault(f"unknown: {line!r}")
            self.say("500 what?")
        return True

    def auth(self, rest):
        kind, _, first = rest.partition(" ")
        if not self.tls:
            self.fault("a password without TLS")
        if kind.upper() == "PLAIN":
            if not first:
                self.say("334 ")
                first = self.line().decode()
            _, user, password = base64.b64decode(first, validate=True).decode().split("\0")
        else:
            if not first:
                self.say("334 VXNlcm5hbWU6")
                first = self.line().decode()
            self.say("334 UGFzc3dvcmQ6")
            user, password = (base64.b64decode(x, validate=True).decode() for x in (first, self.line()))
        if not self.step("auth", None):
            return
        if self.server.logins.get(user) == password:
            self.user = user
            self.say("235 welcome")
        else:
            self.say(f"535 no, {user}, {password} is not it")  # as rude as can be: it repeats the password

    def mail(self, line):
        m = re.fullmatch(r"MAIL FROM:<([^<> ]+)>(?: SIZE=(\d+))?", line)
        if not m:
            self.fault(f"not a sender: {line!r}")
        if self.server.logins and not self.user:
            self.say("530 log in first")
        elif self.step("mail", "250 go on"):
            self.from_, self.size, self.to = m[1], int(m[2] or 0), []

    def data(self):
        if not self.to:
            self.fault("DATA without a receiver")
        if not self.step("data", "354 go on"):
            return
        raw = []
        while (line := self.line()) != b".":
            if line.startswith(b".."):
                line = line[1:]
            elif line.startswith(b"."):
                self.fault("a dot that is not doubled")
            raw.append(line + b"\r\n")
        raw = b"".join(raw)
        if self.size and abs(len(raw) - self.size) > 2:
            self.fault(f"SIZE={self.size}, and {len(raw)} came")
        msg = email.message_from_bytes(raw, policy=email.policy.SMTP)
        for text in faults_of(msg):
            self.fault(text)
        if self.step("end", None):
            with self.server.lock:
                self.server.mails.append({"from": self.from_, "to": list(self.to), "msg": msg, "raw": raw, "tls": self.tls, "user": self.user})
            self.say("250 taken")
