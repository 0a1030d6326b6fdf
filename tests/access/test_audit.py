#!/usr/bin/python3
"""The audit log: every write over HTTP is one entry with who, from where and how it ended, whatever route comes to be; no secret is in it, and it is bounded."""
import http.client
import json
import os
import pwd
import re
import time
import urllib.parse

import bookcase
import lib

MACHINES = {("post", "/api/v1/batches"), ("post", "/api/v1/shared"), ("post", "/api/v1/sources"), ("get", "/register/"), ("post", "/update/host/{id}")}
NO_CHANGE = {("post", "/api/v1/alerts/test"), ("post", "/api/v1/say"), ("post", "/api/v1/waits/{id}")}  # say: it calls other routes, which are entries
SIGNED = {("post", "/slack/events"), ("post", "/slack/command"), ("post", "/slack/action")}  # by Slack; the same


def bearer(token):
    return {"Authorization": "Bearer " + token}


class Audit(lib.Case):
    def send(self, method, path, body="{}", token=None, **headers):
        headers = {**headers, **(bearer(token) if token else {})}
        return lib.ask(self.h.url + path, method=method.upper(), body=body, headers=headers)

    def entries(self, query="", local=False):
        """The oldest first: of requests, or of `muster token`."""
        rows = lib.ask_json(self.h.url + "/api/v1/audit" + query, headers=bearer(self.admin))["rows"][::-1]
        return [e for e in rows if (e["role"] == "local") == local]

    def until_last(self, what, query=""):
        """All entries so far: the one that is written last has come."""
        def done():
            rows = self.entries(query)
            return rows if rows and what.items() <= rows[-1].items() else None
        return lib.wait_until(f"the entry {what}", done)

    def start_it(self, *flags):
        self.admin, self.member = self.token("admin", "--person", "root"), self.token("member", "--person", "kim")
        self.h = self.start_hub("--commit", "10ms", *flags)

    def test_every_writing_route_of_openapi_is_one_entry(self):
        self.start_it("--vesta-token", "vesta-secret")
        left_out, want = set(), []
        for path, operations in lib.ask_json(self.h.url + "/api/v1/openapi.json")["paths"].items():
            for method, about in operations.items():
                writes = method not in ("get", "head")
                self.assertEqual("x-muster-audit" in about, (method, path) not in SIGNED and (writes or (method, path) in MACHINES), (method, path))
                if "x-muster-audit" not in about:
                    continue
                if not about["x-muster-audit"]:
                    left_out.add((method, path))
                object_ = "box" if "{" in path else None
                status, _, body = self.send(method, re.sub(r"{[^}]*}", "box", path), token=self.admin)
                self.assertNotIn(status, (405, 421), (path, body))  # the route was there
                if path.startswith("/notification/"):  # vesta's: 200 in any case
                    status = json.loads(body)["status_code"]
                    self.assertEqual(status, 403)
                if about["x-muster-audit"] and path != "/api/v1/logout":  # it ended no session
                    want.append((method.upper(), path, object_, status))
        self.assertEqual(left_out, MACHINES | NO_CHANGE)
        self.assertGreater(len(want), 15)
        self.assertEqual(self.send("post", "/api/v1/usage/recount", token=self.member)[0], 403)
        rows = self.until_last({"person": "kim"})
        self.assertEqual([(e["method"], e["route"], e["object"], e["status"]) for e in rows[:-1]], want)
        open_ = [e for e in rows[:-1] if e["token"] is None]  # these routes look at no token
        self.assertLessEqual({e["route"] for e in open_}, {"/api/v1/login", "/notification/send_notification/slack/"})
        for e in rows[:-1]:
            self.assertEqual(e["address"], "127.0.0.1")
            if e not in open_:
                self.assertEqual((e["person"], e["role"], e["token"]), ("root", "admin", self.admin[4:12]))

    def test_who_did_what_and_how_it_ended(self):
        self.start_it("--read", "token")
        agent = self.token("agent", "--node", "n1")
        secrets = [self.admin, self.member, agent]
        origin = {"Origin": self.h.url}

        def log_in(**body):
            status, headers, _ = self.send("post", "/api/v1/login", json.dumps(body), **origin)
            jar = headers.get("set-cookie", "").split(";")[0]
            secrets.extend([jar[7:]] if jar else [])
            return status, {"Cookie": jar, **origin}

        fresh = self.token("member", "--person", "lee")  # the hub reads it while the request waits
        secrets.append(fresh)
        status, jar = log_in(token=fresh)
        self.assertEqual(status, 200)
        wrong = "mst_aaaaaaaa_" + "b" * 43
        self.assertEqual(log_in(token=wrong)[0], 401)
        self.assertEqual(log_in(token=agent)[0], 403)
        self.assertEqual(self.send("post", "/api/v1/logout", **jar)[0], 204)
        self.assertEqual(self.send("post", "/api/v1/tokens", "{}", token=wrong)[0], 401)
        self.assertEqual(self.send("post", "/api/v1/tokens", token=self.member)[0], 403)
        status, _, body = self.send("post", "/api/v1/tokens", '{"role": "reader", "note": "wall"}', token=self.admin)
        made = json.loads(body)
        secrets += [made["token"], wrong]
        status, _, body = self.send("post", "/api/v1/silences", '{"rule": "*", "node": "n1", "for": "1h", "reason": "x"}', token=self.admin)
        silence = json.loads(body)["id"]
        self.assertEqual(self.send("delete", f"/api/v1/silences/{silence}?x=query-secret", token=self.admin)[0], 200)
        self.assertEqual(self.send("delete", "/api/v1/silences/" + self.admin, token=self.admin)[0], 404)
        self.assertEqual(self.send("post", "/api/v1/jobs", '{"name": "train"}', token=agent)[0], 201)  # a machine's: no entry
        self.assertEqual(self.send("post", "/api/v1/tokens", token=agent)[0], 403)
        status, _, body = self.send("post", "/api/v1/once", token=self.admin)
        secrets.append(json.loads(body)["once"])
        self.assertEqual(log_in(once=json.loads(body)["once"])[0], 200)
        rows = self.until_last({"route": "/api/v1/login", "person": "root"})
        admin = ("root", "admin", self.admin[4:12])
        login, tokens, silences = "/api/v1/login", "/api/v1/tokens", "/api/v1/silences"
        self.assertEqual([(e["person"], e["role"], e["token"], e["method"], e["route"], e["object"], e["status"]) for e in rows], [
            ("lee", "member", fresh[4:12], "POST", login, None, 200),
            (None, "none", "aaaaaaaa", "POST", login, None, 401),
            (None, "agent", agent[4:12], "POST", login, None, 403),
            ("lee", "member", fresh[4:12], "POST", "/api/v1/logout", None, 204),
            (None, "none", "aaaaaaaa", "POST", tokens, None, 401),
            ("kim", "member", self.member[4:12], "POST", tokens, None, 403),
            (*admin, "POST", tokens, made["id"], 201),
            (*admin, "POST", silences, str(silence), 201),
            (*admin, "DELETE", silences + "/{id}", str(silence), 200),
            (*admin, "DELETE", silences + "/{id}", "***", 404),
            (None, "agent", agent[4:12], "POST", tokens, None, 403),
            (*admin, "POST", "/api/v1/once", None, 201),
            (*admin, "POST", login, None, 200)])

        # who reads it, and how
        self.assertEqual([e["route"] for e in self.entries("?person=kim")], [tokens])
        self.assertEqual(len(self.entries("?limit=2")), 2)
        self.assertEqual(self.entries(f"?to={rows[0]['at']}"), [])
        self.assertEqual([e["route"] for e in self.entries(f"?from={rows[3]['at']}")][-1], login)
        self.assertEqual(self.send("get", "/api/v1/audit", None, token=self.member)[0], 403)
        self.assertEqual(self.send("get", "/api/v1/audit?format=csv", None, token=self.admin)[0], 400)
        data = ("--hub", self.h.url)
        own = {"MUSTER_TOKEN": self.admin}
        out = self.run_ok(lib.MUSTER, "audit", "--last", "7d", "--json", *data, env=own)
        self.assertEqual([e for e in map(json.loads, out.splitlines()) if e["role"] != "local"], rows[::-1])
        table = self.run_ok(lib.MUSTER, "audit", "--person", "kim", *data, env=own).splitlines()
        self.assertEqual(len(table), 2)
        self.assertRegex(table[0], r"^TIME +USER")
        self.assertRegex(table[1], r"kim .*127\.0\.0\.1.* 403 .*POST /api/v1/tokens")
        self.assertIn("no such entry", self.run_ok(lib.MUSTER, "audit", "--person", "nobody", *data, env=own))
        self.assertNotEqual(self.run_any(lib.MUSTER, "audit", *data, env={"MUSTER_TOKEN": self.member})[0], 0)

        # a restart keeps it; the log has a line of each; secrets are nowhere
        self.assertEqual(self.h.stop(), 0)
        self.assertEqual(len(re.findall(r" info  audit ", self.h.text)), len(rows), self.h.text)
        self.assertRegex(self.h.text, rf"root \(admin, token {self.admin[4:12]}\) from 127\.0\.0\.1: POST /api/v1/tokens {made['id']} \(reader\): 201")
        for secret in (*secrets, "query-secret"):
            for text in (out, self.h.text):
                self.assertNotIn(secret[13:] if secret.startswith("mst_") else secret, text)
        self.h = self.start_hub("--read", "token")
        self.assertEqual(self.entries(), rows)

    def test_refused_requests_do_not_push_out_the_others(self):
        self.start_it()
        for _ in range(130):
            self.assertEqual(self.send("post", "/api/v1/login", '{"token": "x"}')[0], 400)
        self.assertEqual(self.send("post", "/api/v1/tokens", token=self.member)[0], 403)  # users have another limit
        rows = self.until_last({"person": "kim"})
        self.assertEqual(len(rows), 101)
        self.assertEqual(rows[-1]["skipped"], 30)
        self.assertFalse(any("skipped" in e for e in rows[:-1]))

    def test_the_command_line_that_makes_and_revokes_tokens_leaves_entries(self):
        self.start_it()
        made = self.token("reader", "--note", "wall")
        self.run_ok(lib.MUSTER, "token", "revoke", made[4:12], "--data", self.path("data"))
        self.run_ok(lib.MUSTER, "token", "revoke", made[4:12], "--data", self.path("data"))  # it is revoked already
        self.run_ok(lib.MUSTER, "token", "list", "--data", self.path("data"))
        rows = self.entries(local=True)
        user = pwd.getpwuid(os.getuid()).pw_name
        self.assertEqual([(e["person"], e["uid"], e["address"], e["token"], e["method"], e["route"], e["object"], e["detail"], e["status"]) for e in rows],
                         [(user, os.getuid(), "local", None, "muster", *what) for what in (
                             ("token new", self.admin[4:12], "admin", 201), ("token new", self.member[4:12], "member", 201),
                             ("token new", made[4:12], "reader", 201), ("token revoke", made[4:12], "reader", 200))])
        self.assertNotIn(made[13:], json.dumps(rows))
        out = self.run_ok(lib.MUSTER, "audit", "--hub", self.h.url, env={"MUSTER_TOKEN": self.admin})
        self.assertRegex(out, rf"{user} .*muster token revoke +{made[4:12]} +reader")

    def test_an_entry_names_what_was_changed(self):
        self.start_it()
        self.assertEqual(self.send("patch", "/api/v1/nodes/box", '{"name": "secret", "maintenance": true}', token=self.admin)[0], 404)
        self.assertEqual(self.send("patch", "/api/v1/nodes/box", '{"retired": true, "mst_x": 1}', token=self.admin)[0], 400)
        self.assertEqual(self.send("post", "/api/v1/tokens", '{"role": "member", "person": "lee", "note": "secret"}', token=self.admin)[0], 201)
        self.assertEqual(self.send("post", "/api/v1/tokens", '{"role": "admin"}', token=self.admin)[0], 400)
        rows = self.until_last({"route": "/api/v1/tokens", "status": 400})
        self.assertEqual([(e["status"], e.get("detail")) for e in rows], [(404, "name, maintenance"), (400, "retired"), (201, "member"), (400, None)])
        self.assertNotRegex(json.dumps(rows), "secret|mst_")

    def test_a_logout_that_ends_no_session_is_no_entry(self):
        self.start_it()
        for headers in ({}, {"Cookie": "muster=" + "a" * 43, "Origin": self.h.url}, {"token": self.member}):
            self.assertEqual(self.send("post", "/api/v1/logout", "", **headers)[0], 204)
        self.assertEqual(self.send("post", "/api/v1/once", token=self.member)[0], 201)
        self.assertEqual([e["route"] for e in self.until_last({"person": "kim"})], ["/api/v1/once"])

    def test_the_writes_of_one_token_do_not_push_out_the_others(self):
        self.start_it()
        conn = http.client.HTTPConnection("127.0.0.1", self.h.port, timeout=lib.LIMIT_S)
        for _ in range(1010):
            conn.request("POST", "/api/v1/once", "{}", bearer(self.member))
            r = conn.getresponse()
            r.read()
            self.assertEqual(r.status, 201)
        conn.close()
        self.assertEqual(self.send("post", "/api/v1/once", token=self.admin)[0], 201)
        rows = self.until_last({"person": "root"}, "?limit=2000")
        self.assertEqual(len(rows), 1001)
        self.assertEqual(rows[-1]["skipped"], 10)
        self.assertEqual(self.h.stop(), 0)
        self.assertEqual(len(re.findall(r" info  audit kim ", self.h.text)), 1010)  # the hub's log has them all

    def test_behind_a_proxy_it_is_the_client_and_the_person_the_proxy_names(self):
        self.start_it("--proxy-header", "X-Remote-User", "--proxy-from", "127.0.0.1", "--proxy-admins", "ada")
        named = {"X-Remote-User": "ada", "X-Forwarded-For": "10.1.2.3", "Origin": self.h.url}
        self.assertEqual(self.send("post", "/api/v1/silences", '{"rule": "*", "for": "1h", "reason": "x"}', **named)[0], 201)
        self.assertEqual(self.send("post", "/api/v1/silences", token="mst_aaaaaaaa_" + "b" * 43, **{"X-Forwarded-For": "10.1.2.4"})[0], 401)
        rows = self.until_last({"status": 401})
        self.assertEqual([(e["person"], e["role"], e["token"], e["address"]) for e in rows], [("ada", "admin", None, "10.1.2.3"), (None, "none", "aaaaaaaa", "10.1.2.4")])


class AnonymousWrites(bookcase.BookCase):
    def test_they_do_not_push_out_the_others(self):
        admin = self.token("admin", "--person", "root")
        self.open("--commit", "10ms", "--bookings.auth", "open")
        self.node("a1")
        row = self.booked(person="mia", gpus="a1:0", **{"for": "2h"})
        form = {"host": "a1", "id": "0", "name": "mia", "comment": "x", "date": time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + 7200)), "save": ""}
        self.assertEqual(lib.ask(self.hub.url + "/", method="POST", body=urllib.parse.urlencode(form), headers={"Content-Type": "application/x-www-form-urlencoded"})[0], 303)
        for i in range(118):
            self.assertEqual(self.ask("PATCH", f"/api/v1/bookings/{row['id']}?person=mia", None, {"comment": str(i)})[0], 200)
        self.assertEqual(self.ask("POST", "/api/v1/once", admin, {})[0], 201)

        def done():
            rows = [e for e in self.ask("GET", "/api/v1/audit", admin)[1]["rows"] if e["role"] != "local"]
            return rows if rows and rows[0]["route"] == "/api/v1/once" else None
        rows = lib.wait_until("the last entry", done)
        self.assertEqual((len(rows), rows[0]["skipped"]), (101, 20))
        self.assertEqual([(e["method"], e["route"], e["object"], e.get("detail")) for e in rows[:-4:-1]],
                         [("POST", "/api/v1/bookings", str(row["id"]), None), ("POST", "/", str(row["id"]), None), ("PATCH", "/api/v1/bookings/{id}", str(row["id"]), "comment")])


if __name__ == "__main__":
    lib.main()
