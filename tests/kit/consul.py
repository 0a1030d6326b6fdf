"""A stand-in for Consul's HTTP API as documented: catalog and health of a service, blocking queries, ACL tokens, and misbehaving on request.

Held questions end on a change, or after their wait. The index is the raft index: it grows with each change, whatever service it is of; set_index()
makes it go back, as a restored or rebuilt server's does.
"""
import http.server
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

import lib


class Consul:
    def __init__(self, token=None, tls=None):
        self.token, self.tls = token, tls
        self.nodes, self.index, self.cond = {}, 10, threading.Condition()
        self.fail = None       # (status, text): every question is answered so
        self.raw = None        # bytes in place of the list
        self.filtered = False  # X-Consul-Results-Filtered-By-ACLs
        self.no_index = False  # some other server
        self.asked = []        # (path, query) of each question
        self.server = None
        self.port = lib.free_port()  # it goes away and comes back
        self.start()

    # ---- what tests do to it ----
    def start(self):
        """Listen, on the same port each time."""
        consul = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                consul.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass  # who asked went away

        self.open = set()
        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.tls:
            ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            ctx.load_cert_chain(*self.tls)
            self.server.socket = ctx.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.up = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        """Gone: nobody listens, and connections that stood are cut."""
        with self.cond:
            self.up = False
            for s in self.open:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.cond.notify_all()
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def change(self, what):
        with self.cond:
            what()
            self.index += 1
            self.cond.notify_all()

    def register(self, node, address, port=8114, service="gpu", status="passing", **meta):
        self.change(lambda: self.nodes.__setitem__((service, node), (address, port, status, meta)))

    def deregister(self, node, service="gpu"):
        self.change(lambda: self.nodes.pop((service, node)))

    def set_index(self, index, nodes=None):
        """A server that begins anew: those who hold a question hear of it only when it ends."""
        with self.cond:
            self.index = index
            if nodes is not None:
                self.nodes = nodes
            self.cond.notify_all()

    def set(self, **kw):
        """Misbehave from now on, questions that are held included."""
        with self.cond:
            self.__dict__.update(kw)
            self.index += 1
            self.cond.notify_all()

    # ---- the API ----
    def listed(self, kind, service, passing):
        out = []
        for (name, node), (address, port, status, meta) in sorted(self.nodes.items()):
            if name != service:
                continue
            if kind == "catalog":
                out.append({"ID": "", "Node": node, "Address": address, "Datacenter": "dc1", "NodeMeta": {}, "ServiceID": name, "ServiceName": name,
                            "ServiceAddress": "", "ServiceTags": [], "ServiceMeta": meta, "ServicePort": port, "CreateIndex": 1, "ModifyIndex": self.index})
            elif status == "passing" or not passing:
                out.append({"Node": {"ID": "", "Node": node, "Address": address, "Datacenter": "dc1", "Meta": {}},
                            "Service": {"ID": name, "Service": name, "Tags": [], "Meta": meta, "Port": port, "Address": ""},
                            "Checks": [{"Node": node, "CheckID": "serfHealth", "Name": "Serf", "Status": status, "Output": "", "ServiceID": "", "ServiceName": ""}]})
        return out

    def answer(self, h):
        url = urllib.parse.urlsplit(h.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        m = re.fullmatch(r"/v1/(catalog|health)/service/([^/]+)", url.path)
        with self.cond:
            self.open.add(h.connection)
            self.asked.append((url.path, query))
            if not m:
                return self.reply(h, 404, "")
            if self.token and self.token != h.headers.get("X-Consul-Token"):
                return self.reply(h, 403, "Permission denied: token with AccessorID '00000000-0000-0000-0000-000000000002' lacks permission 'service:read'")
            if query.get("passing", "1") not in ("", "1", "true"):
                return self.reply(h, 400, "Invalid value for ?passing")
            index = int(query.get("index", 0))
            if index and not self.fail:
                wait = query.get("wait", "300s")
                limit = time.monotonic() + float(re.fullmatch(r"(\d+)s", wait)[1])
                while self.up and self.index == index and time.monotonic() < limit:
                    self.cond.wait(limit - time.monotonic())
            if not self.up:
                h.close_connection = True
                return None
            if self.fail:
                return self.reply(h, *self.fail)
            return self.reply(h, 200, self.raw if self.raw is not None else json.dumps(self.listed(m[1], m[2], "passing" in query)), True)

    def reply(self, h, status, text, listed=False):
        body = text if isinstance(text, bytes) else text.encode()
        h.send_response(status)
        h.send_header("Content-Type", "application/json" if listed else "text/plain")
        h.send_header("Content-Length", str(len(body)))
        if listed and not self.no_index:
            h.send_header("X-Consul-Index", str(self.index))
            h.send_header("X-Consul-KnownLeader", "true")
        if listed and self.filtered:
            h.send_header("X-Consul-Results-Filtered-By-ACLs", "true")
        h.end_headers()
        h.wfile.write(body)
