#!/usr/bin/python3
"""Who gets in where reading takes a token: nobody for coming from this machine, readers to read, and each session for as long as it is not ended."""
import http.client
import http.server
import json
import os
import pty
import re
import socket
import subprocess
import threading
import types

import lib


def bearer(token):
    return {"Authorization": "Bearer " + token}


class Reading(lib.Case):
    def test_a_token_is_asked_for_on_this_machine_too_and_a_reader_writes_nothing(self):
        h = self.start_hub("--read", "token", "--bookings-auth", "open")
        reader, member = self.token("reader", "--note", "prometheus"), self.token("member", "--person", "kim")
        for path in ("/api/v1/state", "/metrics", "/sd/prometheus", "/?term", "/states/", "/api/v1/bookings", "/api/v1/stream"):
            status, _, body = lib.ask(h.url + path)
            self.assertEqual(status, 401, path)
            self.assertIn("--person YOUR-LOGIN", json.loads(body)["detail"])
        for path in ("/healthz", "/readyz", "/install", "/api/v1/openapi.json", "/login"):
            self.assertEqual(lib.ask(h.url + path)[0], 200, path)
        for token in (reader, member):
            for path in ("/api/v1/state", "/metrics", "/sd/prometheus", "/?term"):
                self.assertEqual(lib.ask(h.url + path, headers=bearer(token))[0], 200, path)
        for method, path, body in (("POST", "/api/v1/bookings", {"gpus": "n:0", "for": "1h", "person": "kim"}), ("POST", "/api/v1/waits", {"person": "kim"}), ("POST", "/api/v1/jobs", {"name": "x"}),
                                   ("POST", "/api/v1/silences", {"rule": "*", "for": "1h", "reason": "x"}), ("POST", "/api/v1/tokens", {"role": "reader"}), ("PATCH", "/api/v1/nodes/n", {})):
            status, _, answer = lib.ask(h.url + path, method=method, body=json.dumps(body), headers=bearer(reader))
            self.assertEqual(status, 403, (path, answer))
        self.assertEqual(lib.ask(h.url + "/", method="POST", body="host=n&id=0&name=kim&date=2030-01-01&save=1", headers=bearer(reader))[0], 403)

        # the command line: as the hub's own user, as another login here, as one with a token
        state = self.path("home")
        os.makedirs(state)
        args = (lib.MUSTER, "node", "list", "--hub", h.url)
        self.run_ok(*args, env={"XDG_STATE_HOME": state})  # the hub says where its folder is, and this user may read it
        own = os.path.join(self.path("data"), "admin.token")
        os.rename(own, own + ".away")
        status, _, err = self.run_any(*args, env={"XDG_STATE_HOME": state})
        os.rename(own + ".away", own)
        self.assertNotEqual(status, 0)
        self.assertIn("muster token new --role member --person YOUR-LOGIN", err)
        self.run_ok(*args, "--token-file", os.path.join(self.path("data"), "admin.token"))
        self.run_ok(*args, env={"MUSTER_TOKEN": member})
        token = self.secret("token", member)
        self.run_ok(*args, "--token-file", token)
        for mode in (0o644, 0o604, 0o602):
            os.chmod(token, mode)
            status, _, err = self.run_any(*args, "--token-file", token)
            self.assertEqual((status != 0, err.splitlines()), (True, [f"muster node: cannot read a secret from '{token}': other users have access to it (mode {mode:04o}); chmod 600 it"]))
        status, out, _ = self.run_any(lib.MUSTER, "doctor", "--hub", h.url)
        self.assertEqual(status, 1, out)
        self.assertIn("FAIL  token", out)
        self.assertIn("`read: token` means everybody", out)
        out = self.run_any(lib.MUSTER, "doctor", "--hub", h.url, env={"MUSTER_TOKEN": reader})[1]
        self.assertIn("accepted, role reader", out)

    def test_what_members_and_admins_read_is_for_the_addresses_of_read_from_too(self):
        h = self.start_hub("--read", "token", "--read-from", "10.99.0.0/16")
        for role in ("admin", "member"):
            auth = {"Authorization": "Bearer " + self.token(role, "--person", "kim")}
            for path in ("state", "sessions", *(["audit"] if role == "admin" else [])):
                status, _, body = lib.ask(f"{h.url}/api/v1/{path}", headers=auth)
                self.assertEqual((status, b"addresses of read_from" in body), (403, True), (role, path, body))
            status, _, body = lib.ask(f"{h.url}/api/v1/alerts/test?from=-1h", method="POST", body="{}", headers=auth)  # reads history
            self.assertEqual((status, b"addresses of read_from" in body), (403, True), (role, body))

    def test_a_reader_is_no_person(self):
        status, _, err = self.run_any(lib.MUSTER, "token", "new", "--role", "reader", "--person", "kim", "--data", self.path("data"))
        self.assertEqual(status, 2)
        self.assertIn("a reader has no user", err)


class OwnHub(lib.Case):
    def test_the_token_of_a_data_folder_goes_to_its_own_hub_while_that_runs_and_to_nobody_else(self):
        seen = []

        class Standin(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get("Authorization"))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"[]")

            def log_message(self, *args):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Standin)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        standin = f"http://127.0.0.1:{server.server_port}"

        own = {"MUSTER_DATA": self.path("data")}
        ask = lambda url: self.run_any(lib.MUSTER, "node", "list", "--hub", url, env=own)
        h = self.start_hub("--read", "token")
        other = self.start_hub("--read", "token", data=self.path("others"))
        self.assertEqual(ask(h.url)[0], 0)
        self.assertEqual(ask(h.url.replace("127.0.0.1", "localhost") + "/")[0], 0)
        self.assertEqual(ask(other.url)[0], 0)  # with the token of its own folder
        os.remove(os.path.join(self.path("others"), "admin.token"))
        status, _, err = ask(other.url)
        self.assertNotEqual(status, 0)
        self.assertIn("requires a token", err)  # ours was not sent: it would not have been known
        self.assertEqual(ask(standin)[0], 0)
        self.assertEqual(seen, [None])
        where = os.path.join(self.path("data"), "hub.url")
        with open(where, encoding="utf-8") as f:
            said = f.read()
        self.assertEqual(said.split(), [h.url])
        self.assertEqual(os.stat(where).st_mode & 0o777, 0o600)
        with open(where, "w", encoding="utf-8") as f:
            f.write(said + standin + "\n")
        ask(standin)
        with open(os.path.join(self.path("data"), "admin.token"), encoding="utf-8") as f:
            self.assertEqual(seen.pop(), "Bearer " + f.read().strip())
        h.kill9()  # hub.url stays; somebody else may have the port by now
        ask(standin)
        self.assertEqual(seen, [None, None])
        h = self.start_hub("--read", "token")
        self.assertEqual(ask(h.url)[0], 0)
        self.assertEqual(h.stop(), 0)
        self.assertFalse(os.path.exists(where))


class New(lib.Case):
    def test_a_token_made_beside_the_hub_works_at_once(self):
        h = self.start_hub("--read", "token")
        at = ("127.0.0.1", int(h.url.rsplit(":", 1)[1]))
        body = json.dumps({"rule": "*", "for": "1h", "reason": "x"}).encode()
        head = "POST /api/v1/silences HTTP/1.1\r\nHost: %s:%d\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"

        def send(token, later):
            """The head, and the body with the next request behind it, or with the head; what is answered to both."""
            with socket.create_connection(at, timeout=lib.LIMIT_S) as s:
                first, rest = (head % (*at, token, len(body))).encode(), body + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                for part in (first, rest) if later else (first + rest,):
                    s.sendall(part)
                return re.findall(rb"HTTP/1.1 (\d+)", b"".join(iter(lambda: s.recv(65536), b"")))

        for later in (False, True):
            self.assertEqual(send(self.token("member", "--person", "kim"), later), [b"201", b"200"])
        self.assertEqual(send("mst_aaaaaaaa_" + "b" * 43, False), [b"401"])  # its body is not read

        secure = {"Origin": h.url, "X-Forwarded-Proto": "https"}
        status, headers, _ = lib.ask(h.url + "/api/v1/login", method="POST", body=json.dumps({"token": self.token("reader")}), headers=secure)
        self.assertEqual(status, 200)
        name, _, rest = headers["set-cookie"].partition("=")
        self.assertEqual((name, "; Path=/;" in rest, rest.endswith("; Secure"), "Domain" in rest), ("__Host-muster", True, True, False))  # else browsers refuse it
        by_tls = rest.split(";")[0]

        def role(cookie, **more):
            return json.loads(lib.ask(h.url + "/api/v1/whoami", headers={"Cookie": cookie, **more})[2])["role"]

        plain = lib.ask(h.url + "/api/v1/login", method="POST", body=json.dumps({"token": self.token("member", "--person", "kim")}), headers={"Origin": h.url})[1]["set-cookie"].split(";")[0]
        self.assertTrue(plain.startswith("muster="), plain)
        self.assertEqual([role(c) for c in (f"__Host-muster={by_tls}", plain, f"{plain}; __Host-muster={by_tls}", f"muster={by_tls}")], ["reader", "member", "reader", "reader"])
        self.assertEqual([role(c, **{"X-Forwarded-Proto": "https"}) for c in (f"__Host-muster={by_tls}", plain, f"muster={by_tls}")], ["reader", "none", "none"])  # other hosts of the domain can set the plain one
        status, headers, _ = lib.ask(h.url + "/api/v1/logout", method="POST", headers={**secure, "Cookie": f"{plain}; __Host-muster={by_tls}"})
        self.assertEqual((status, headers["set-cookie"].split(";")[0]), (204, "__Host-muster="))
        self.assertEqual([role(c) for c in (f"__Host-muster={by_tls}", plain)], ["none", "none"])  # both are over, for the browser keeps the plain one
        with socket.create_connection(at, timeout=lib.LIMIT_S) as s:  # one who leaves meanwhile is nobody's loss
            s.sendall((head % (*at, self.token("member", "--person", "kim"), 0)).encode())
        self.assertEqual(h.stop(), 0)


class Sessions(lib.Case):
    def log_in(self, h, **body):
        status, headers, answer = lib.ask(h.url + "/api/v1/login", method="POST", body=json.dumps(body), headers={"Origin": h.url})
        self.assertEqual(status, 200, answer)
        return {"Cookie": headers["set-cookie"].split(";")[0], "Origin": h.url}

    def stream(self, h, headers):
        """A reader of the stream, which has its snapshot."""
        conn = http.client.HTTPConnection("127.0.0.1", int(h.url.rsplit(":", 1)[1]), timeout=lib.LIMIT_S)
        self.addCleanup(conn.close)
        conn.request("GET", "/api/v1/stream", headers=headers)
        r = conn.getresponse()
        self.assertEqual(r.status, 200)
        while not r.readline().startswith(b"event: snapshot"):
            pass
        return r

    def role(self, h, jar):
        return lib.ask_json(h.url + "/api/v1/whoami", headers=jar)["role"]

    def test_a_log_out_ends_it_on_the_hub_over_restarts_and_all_means_ones_own(self):
        h = self.start_hub("--read", "token", "--commit", "10ms")
        kim, lee = self.token("member", "--person", "kim"), self.token("member", "--person", "lee")
        wall = self.token("reader")
        one, two, other, screen = self.log_in(h, token=kim), self.log_in(h, token=kim), self.log_in(h, token=lee), self.log_in(h, token=wall)
        self.assertEqual([self.role(h, j) for j in (one, two, other, screen)], ["member"] * 3 + ["reader"])
        self.assertEqual(lib.ask(h.url + "/api/v1/state", headers=screen)[0], 200)
        out = lambda jar, body="{}": lib.ask(h.url + "/api/v1/logout", method="POST", body=body, headers=jar)
        ends, stays = self.stream(h, one), self.stream(h, two)
        status, headers, _ = out(one)
        self.assertEqual(status, 204)
        self.assertIn("Max-Age=0", headers["set-cookie"])
        self.assertEqual(self.role(h, one), "none")  # the cookie itself, kept by whoever kept it
        self.assertEqual(lib.ask(h.url + "/api/v1/state", headers=one)[0], 401)
        while ends.readline():  # to its end
            pass
        while not stays.readline().startswith(b"event: clock"):  # the first one came with the answer
            pass
        self.assertEqual(h.stop(), 0)
        h = self.start_hub("--read", "token", "--commit", "10ms")
        for jar in (one, two, other, screen):
            jar["Origin"] = h.url
        self.assertEqual([self.role(h, j) for j in (one, two, other, screen)], ["none", "member", "member", "reader"])
        three = self.log_in(h, token=kim)
        self.assertEqual(out(three, '{"all":true}')[0], 204)
        self.assertEqual([self.role(h, j) for j in (two, three, other, screen)], ["none", "none", "member", "reader"])
        self.assertEqual(out(other, '{"all":"yes"}')[0], 400)
        with_token = self.stream(h, bearer(lee))
        self.run_ok(lib.MUSTER, "token", "revoke", lee[4:12], "--data", self.path("data"))
        while with_token.readline():  # to its end
            pass
        lib.wait_until("the session ends with its token", lambda: self.role(h, other) == "none")
        self.assertEqual(self.role(h, {"Cookie": "muster=aaaaaaaa.1794700000000." + "b" * 43}), "none")  # as before sessions were records

    def test_sessions_are_listed_and_ended_one_by_one(self):
        h = self.start_hub("--read", "token", "--commit", "10ms")
        admin, kim = self.token("admin"), self.token("member", "--person", "kim")
        lee, wall = self.token("member", "--person", "lee"), self.token("reader")
        one, two, other, screen = self.log_in(h, token=kim), self.log_in(h, token=kim), self.log_in(h, token=lee), self.log_in(h, token=wall)

        def listed(headers, query=""):
            status, _, body = lib.ask(h.url + "/api/v1/sessions" + query, headers=headers)
            self.assertEqual(status, 200, body)
            for jar in (one, two, other, screen):
                self.assertNotIn(jar["Cookie"][7:].encode(), body)
            return json.loads(body)["rows"]
        end = lambda id_, headers: lib.ask(h.url + "/api/v1/sessions/" + id_, method="DELETE", headers=headers)[0]

        rows = listed(bearer(admin))
        self.assertEqual(sorted((s["person"] or "", s["role"], s["token"], s["own"]) for s in rows), [
            ("", "reader", wall[4:12], False), ("kim", "member", kim[4:12], False), ("kim", "member", kim[4:12], False), ("lee", "member", lee[4:12], False)])
        self.assertTrue(all(s["created"] <= s["used"] < s["until"] for s in rows))
        self.assertEqual({s["person"] for s in listed(bearer(admin), "?person=kim")}, {"kim"})
        of_lee = next(s["id"] for s in rows if s["person"] == "lee")
        mine = listed(one)
        self.assertEqual([s["person"] for s in mine], ["kim", "kim"])
        self.assertEqual(sorted(s["own"] for s in mine), [False, True])
        self.assertEqual(lib.ask(h.url + "/api/v1/sessions", headers=screen)[0], 403)
        self.assertEqual(end(of_lee, one), 404)  # another person's
        self.assertEqual(end("0" * 16, bearer(admin)), 404)
        self.assertEqual(self.role(h, other), "member")
        self.assertEqual(end(next(s["id"] for s in mine if not s["own"]), {"Cookie": one["Cookie"]}), 403)  # without an Origin
        self.assertEqual(end(next(s["id"] for s in mine if not s["own"]), one), 204)
        self.assertEqual([self.role(h, j) for j in (one, two, other, screen)], ["member", "none", "member", "reader"])

        # the command line, as an admin and as kim
        flags = ("--hub", h.url)
        run = lambda token, *words: self.run_any(lib.MUSTER, "session", *words, *flags, env={"MUSTER_TOKEN": token})
        status, out, _ = run(admin, "list")
        self.assertEqual(status, 0)
        self.assertEqual(len(out.splitlines()), 4, out)
        self.assertIn(of_lee, out)
        self.assertEqual(len(run(kim, "list")[1].splitlines()), 2)
        self.assertEqual(run(kim, "end", of_lee)[0], 1)
        self.assertEqual(run(admin, "end", of_lee)[0], 0)
        self.assertEqual(run(admin, "end", "../tokens")[0], 2)
        self.assertEqual(self.role(h, other), "none")
        self.assertEqual(h.stop(), 0)
        h = self.start_hub("--read", "token", "--commit", "10ms")
        self.assertEqual([self.role(h, j) for j in (one, two, other, screen)], ["member", "none", "none", "reader"])

    def test_up_prints_a_link_to_a_terminal_that_logs_in_once_and_nothing_to_a_pipe(self):
        flags = ("up", "--no-agent", "--read", "token", "--listen", "127.0.0.1:0", "--data", self.path("data"))
        quiet = self.start(lib.MUSTER, *flags)
        quiet.wait_line(r"other machines cannot reach this hub: it listens on this machine alone")
        url = quiet.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        self.assertEqual(lib.ask(url + "/healthz")[0], 200)
        self.assertEqual(quiet.stop(), 0)
        self.assertNotIn("once", quiet.text)
        master, slave = pty.openpty()
        shown, log = [], self.path("log")
        with open(log, "wb") as errors:
            up = subprocess.Popen([lib.MUSTER, *flags], stdin=subprocess.DEVNULL, stdout=slave, stderr=errors)
        os.close(slave)

        def read():
            try:
                while chunk := os.read(master, 4096):
                    shown.append(chunk)
            except OSError:  # a terminal without a writer
                pass
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            find = lambda: re.search(r"(http://127\.0\.0\.1:(\d+))/login#once=([\w-]+)\s", b"".join(shown).decode("utf-8", "replace"))
            m = lib.wait_until("the link", lambda: find() or up.poll() is not None)
            self.assertTrue(hasattr(m, "group"), b"".join(shown))
            h = types.SimpleNamespace(url=m.group(1))
            self.assertEqual(lib.ask(h.url + "/login")[0], 200)  # a preview uses nothing up
            jar = self.log_in(h, once=m.group(3))
            self.assertEqual(self.role(h, jar), "admin")
            status, _, body = lib.ask(h.url + "/api/v1/login", method="POST", body=json.dumps({"once": m.group(3)}))
            self.assertEqual(status, 401)
            self.assertIn("used already", json.loads(body)["detail"])
            self.assertEqual(lib.ask(h.url + "/api/v1/once", method="POST", body="{}", headers=jar)[0], 403)
        finally:
            up.terminate()
            up.wait()
            reader.join()
            os.close(master)
        with open(log, encoding="utf-8") as f:
            self.assertNotIn(m.group(3), f.read())


if __name__ == "__main__":
    lib.main()
