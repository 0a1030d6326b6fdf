"""Whoever a webhook leads to: keeps what comes, and is late, endless, redirecting or failing where it is told to be."""
import http.server
import threading
import time


class Standin(http.server.ThreadingHTTPServer):
    """Keeps what comes by path; answers with what `next` has for that path, else with 200."""
    daemon_threads = True

    def __init__(self):
        self.got, self.next, self.lock, self.cut = [], {}, threading.Lock(), []
        super().__init__(("127.0.0.1", 0), Handler)

    def of(self, path):
        with self.lock:
            return [g for g in self.got if g["path"] == path]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def endless(self, pause):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * (1 if pause else 65536))
                time.sleep(pause)
        except OSError:
            self.server.cut.append(time.monotonic())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.got.append({"path": self.path, "at": time.monotonic(), "headers": dict(self.headers), "body": body})
            way = (self.server.next.get(self.path) or [200]).pop(0)
        if hasattr(way, "wait"):  # until somebody sets it
            way.wait(60)
            way = 200
        if way == "endless":
            return self.endless(0)
        if way == "drip":
            return self.endless(0.2)
        self.send_response(way)
        if way == 429:
            self.send_header("Retry-After", "4")
        if way == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        text = b"invalid_token" if way == 403 else self.path.encode()
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def started(case):
    """One that listens until the test is over."""
    s = Standin()
    case.addCleanup(s.server_close)
    case.addCleanup(s.shutdown)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s
