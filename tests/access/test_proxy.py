#!/usr/bin/python3
"""The hub behind Debian's nginx, with the lines of docs/proxy.md: TLS, the stream, agents, logging in, and names that clients make up."""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl

import lib
from sender import Node, answer

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
NAME = "gpus.lab.example"
TRIES = 10


def snippets():
    """What the page has between ```nginx and ```, in order."""
    with open(os.path.join(lib.TOP, "docs", "proxy.md"), encoding="utf-8") as f:
        return re.findall(r"^```nginx\n(.*?)^```$", f.read(), re.M | re.S)


def basic(user, password="secret"):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Behind(lib.Case):
    def setUp(self):
        super().setUp()
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"read: token\nhost_names: [{NAME}]\nproxy:\n  from: [127.0.0.1]\n  header: X-Remote-User\n  admins: [ana]\n")
        self.hub = self.start_hub("--config", self.path("muster.yaml"), "--commit", "10ms")
        self.run_ok("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.path("muster.key"), "-out", self.path("muster.crt"),
                    "-days", "2", "-subj", "/CN=" + NAME, "-addext", "subjectAltName=DNS:" + NAME)
        with open(self.path("muster.htpasswd"), "w", encoding="utf-8") as f:
            for who in ("kim", "ana"):
                f.write(f"{who}:" + self.run_ok("openssl", "passwd", "-apr1", "secret"))
        os.chmod(self.dir, 0o755)
        os.chmod(self.path("muster.htpasswd"), 0o644)
        self.trust = ssl.create_default_context(cafile=self.path("muster.crt"))

    def proxy(self, snippet):
        """nginx with one snippet, as a process of its own. The port may be taken by somebody else before nginx has it: then another."""
        for _ in range(TRIES):
            port = lib.free_port()
            text, n = re.subn(r"listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;", snippet)
            self.assertEqual(n, 1)
            text = text.replace("/etc/nginx/", self.dir + "/").replace("127.0.0.1:8765", f"127.0.0.1:{self.hub.port}")
            folder = self.path(f"nginx-{port}")
            os.makedirs(folder, exist_ok=True)
            temp = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            with open(folder + "/nginx.conf", "w", encoding="utf-8") as f:
                f.write(f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n    access_log {folder}/access.log;\n{temp}{text}\n}}\n")
            p = self.start(NGINX, "-p", folder, "-e", "stderr", "-c", folder + "/nginx.conf")
            self.port = port
            if lib.wait_until("nginx", lambda: (not p.alive() and "gone") or self.answers()) != "gone":
                return
            self.assertIn("Address already in use", p.text)
        self.fail("no port for nginx")

    def answers(self):
        with contextlib.suppress(OSError):
            return self.ask("/healthz")[0] in (200, 401)  # the second one asks for a password everywhere
        return False

    def connect(self):
        c = http.client.HTTPSConnection(NAME, 443, timeout=lib.LIMIT_S, context=self.trust)
        s = socket.create_connection(("127.0.0.1", self.port), timeout=lib.LIMIT_S)
        c.sock = self.trust.wrap_socket(s, server_hostname=NAME)
        return c

    def ask(self, path, method="GET", body=None, headers=None):
        with contextlib.closing(self.connect()) as c:
            c.request(method, path, body=body, headers=headers or {})
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()

    def who(self, **headers):
        status, _, body = self.ask("/api/v1/whoami", headers=headers)
        self.assertEqual(status, 200, body)
        who = json.loads(body)
        return who["role"], who.get("person")

    def agent_and_stream(self, **headers):
        """An agent sends through the proxy, and a stream through it tells at once."""
        n, enroll = Node("n1"), self.token("enroll")
        send = lambda token, *frames: self.ask("/api/v1/batches", "POST", n.stream(*frames) if frames else n.first(), {"Authorization": "Bearer " + token})
        status, _, body = send(enroll)
        self.assertEqual(status, 200, body)
        token = answer(body)["token"]
        with contextlib.closing(self.connect()) as c:
            c.request("GET", "/api/v1/stream", headers=headers)
            r = c.getresponse()
            self.assertEqual((r.status, r.getheader("Content-Type").split(";")[0]), (200, "text/event-stream"))
            seen = b""
            while b"event: snapshot" not in seen:
                seen += r.fp.readline()
            self.assertEqual(send(token, n.batch(util=1234))[0], 200)
            while b'"util":0.1234' not in seen:  # would wait for ever where the proxy holds it back
                line = r.fp.readline()
                self.assertTrue(line, seen[-300:])
                seen += line

    def test_tokens_through_nginx(self):
        self.proxy(snippets()[0])
        self.assertEqual(self.ask("/api/v1/state")[0], 401)  # the world is not local
        self.assertEqual(self.who(**{"X-Remote-User": "ana"}), ("none", None))
        kim = self.token("member", "--person", "kim")
        origin = "https://" + NAME
        status, headers, body = self.ask("/api/v1/login", "POST", json.dumps({"token": kim}), {"Origin": origin})
        self.assertEqual(status, 200, body)
        self.assertIn("; Secure", headers["set-cookie"])
        jar = {"Cookie": headers["set-cookie"].split(";")[0]}
        self.assertEqual(self.who(**jar), ("member", "kim"))
        self.assertEqual(self.ask("/api/v1/logout", "POST", "{}", {**jar, "Origin": "https://evil.example"})[0], 403)
        self.assertEqual(self.ask("/api/v1/logout", "POST", "{}", {**jar, "Origin": origin})[0], 204)
        self.assertEqual(self.who(**jar), ("none", None))
        self.assertEqual(self.ask("/api/v1/state", headers={"Host": "other.example"})[0], 421)
        self.agent_and_stream(Authorization="Bearer " + kim)

    def test_people_nginx_knows(self):
        self.proxy(snippets()[1])
        self.assertEqual(self.ask("/api/v1/state")[0], 401)
        self.assertEqual(self.ask("/api/v1/state", headers=basic("kim", "guess"))[0], 401)
        self.assertEqual(self.who(**basic("kim")), ("member", "kim"))
        self.assertEqual(self.who(**basic("ana")), ("admin", "ana"))
        self.assertEqual(self.who(**basic("kim"), **{"X-Remote-User": "ana"}), ("member", "kim"))
        status, _, body = self.ask("/api/v1/whoami", headers={"Authorization": "Bearer " + self.token("reader"), "X-Remote-User": "ana"})
        self.assertEqual((status, json.loads(body)["role"]), (200, "reader"))
        self.assertEqual(self.ask("/api/v1/state", headers={"Authorization": "Bearer nonsense", "X-Remote-User": "ana"})[0], 401)
        self.agent_and_stream(**basic("kim"))

        # past the proxy: from its address the header counts, once; from another not at all
        def direct(*names, source="127.0.0.1"):
            with socket.create_connection(("127.0.0.1", self.hub.port), timeout=lib.LIMIT_S, source_address=(source, 0)) as s:
                s.sendall(b"GET /api/v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + b"".join(b"X-Remote-User: %s\r\n" % n for n in names) + b"\r\n")
                got = b""
                while chunk := s.recv(65536):
                    got += chunk
            head, _, body = got.partition(b"\r\n\r\n")
            return int(head.split(b" ")[1]), json.loads(body)
        self.assertEqual(direct(b"ana")[1]["role"], "admin")
        self.assertEqual(direct(b"ana", source="127.0.0.2")[1]["role"], "none")
        for name in ("Lee, Kim", "kim, ana", "ana,"):  # one name, commas and all
            status, body = direct(name.encode())
            self.assertEqual((status, body["role"], body.get("person")), (200, "member", name))
        for names in ((b"kim", b"ana"), (b"ana", b"ana")):
            for source in ("127.0.0.1", "127.0.0.2"):
                status, body = direct(*names, source=source)
                self.assertEqual((status, body["detail"]), (400, "more than one X-Remote-User"))


if __name__ == "__main__":
    lib.main()
