#!/usr/bin/python3
"""Who is who through a real hub: logins become persons wherever people appear, and the logins stay to be seen."""
import json
import os
import signal
import urllib.parse

import lib
from hubcase import HubCase

CONFIG = """\
people:
  kim:
    logins: [kim, kdoe]
    name: Kim Doe
  ann:
    logins: ["guest@b"]
teams:
  vision: [kim]
  past: [{name: kim, until: 2020-12-31}]
companies:
- company: Acme
  teams: [vision]
  schedule: [{date: 2026-01-01, assigned_gpu_node: 1}]
people_ignore: [root]
"""


class People(HubCase):
    def configured(self, text=CONFIG):
        self.config = self.path("muster.yaml")
        with open(self.config, "w") as f:
            f.write(text)
        return self.hub("--config", self.config)

    def use(self, h, n, *users):
        procs = [(4711 + i, user, "python", "python train.py --secret") for i, user in enumerate(users)]
        status, _, body = self.post(h, n.stream(n.procs(*procs), n.batch(util=9000)), n.token)
        self.assertEqual(status, 200, body)

    def procs(self, h):
        return {p["user"]: p for n in self.state(h)["nodes"] for d in n["devices"] for p in d["processes"]}

    def names(self, h, text):
        return [n["name"] for n in self.state(h, "?filter=" + urllib.parse.quote(text))["nodes"]]

    def test_logins_of_one_person_are_one(self):
        h = self.configured()
        a, b = self.node(h, "a"), self.node(h, "b")
        self.use(h, a, "kim")
        self.use(h, b, "kdoe")
        people = lib.ask_json(h.url + "/api/v1/people")
        self.assertEqual([(p["person"], p["gpus"], p.get("logins")) for p in people], [("kim", 2, ["kim", "kdoe"])])
        got = self.procs(h)
        self.assertNotIn("person", got["kim"])
        self.assertEqual((got["kdoe"]["person"], got["kdoe"]["teams"], got["kdoe"]["companies"]), ("kim", ["vision"], ["Acme"]))
        for text in ("person:kim", "team:vision", "company:acme"):
            self.assertEqual(self.names(h, text), ["a", "b"], text)
        self.assertEqual(self.names(h, "user:kdoe"), ["b"])
        self.assertEqual(self.names(h, "team:past"), [])
        rows = lib.ask_json(h.url + "/api/v1/processes?filter=person:kim")
        self.assertEqual([(r["user"], r["person"]) for r in rows], [("kim", "kim"), ("kdoe", "kim")])
        out = self.run_ok(lib.MUSTER, "ls", "--hub", h.url, "team:vision")
        self.assertEqual(out.count("kim"), 2, out)
        self.assertNotIn("kdoe", out)

    def test_the_past_is_theirs_too_and_history_goes_by_person_and_team(self):
        h = self.configured()
        a, b = self.node(h, "a"), self.node(h, "b")
        self.use(h, a, "kdoe")
        self.use(h, b, "lee")

        def holders(group):
            got = lib.ask_json(f"{h.url}/api/v1/history?metric=util&group={group}&from=-5m&step=1m")
            return [(s["user"], s["devices"]) for s in got["series"]]

        lib.wait_until("both are records", lambda: holders("user") == [("kdoe", 1), ("lee", 1)])
        self.assertEqual(holders("person"), [("kim", 1), ("lee", 1)])
        spans = lib.ask_json(h.url + "/api/v1/processes?from=-5m")["spans"]
        self.assertEqual(sorted((s["user"], s["person"]) for s in spans), [("kdoe", "kim"), ("lee", "lee")])
        self.assertEqual(sorted(holders("team"), key=str), [("vision", 1), (None, 1)])

        def then():
            got = self.state(h, f"?at={a.now()}&filter=team:vision")
            return [(p["user"], p["person"]) for n in got["nodes"] for d in n["devices"] for p in d["processes"]]

        lib.wait_until("the past is read", lambda: then() == [("kdoe", "kim")])

    def test_a_persons_processes_of_before_are_found_under_every_login(self):
        h = self.configured()
        a, b = self.node(h, "a"), self.node(h, "b")
        self.use(h, a, "kdoe", "guest")
        self.use(h, b, "kim", "guest")
        self.use(h, a)
        self.use(h, b)

        def logins(query):
            return [(s["node"], s["user"]) for s in lib.ask_json(h.url + "/api/v1/processes?from=-1h" + query)["spans"] if s["ended"]]

        lib.wait_until("all have ended", lambda: len(logins("")) == 4)
        for query, want in (("&person=kim", [("a", "kdoe"), ("b", "kim")]), ("&person=ann", [("b", "guest")]), ("&person=guest", [("a", "guest")]),
                            ("&person=kdoe", []), ("&user=kdoe", [("a", "kdoe")]), ("&person=kim&node=b", [("b", "kim")])):
            self.assertEqual(sorted(logins(query)), want, query)

    def test_a_persons_jobs_are_found_under_every_login(self):
        h = self.configured()
        self.node(h, "b")
        auth = {"Authorization": "Bearer " + self.token("admin")}
        for name, person, node in (("one", "kim", None), ("two", "kdoe", None), ("three", "guest", "b"), ("four", "guest", None)):
            body = json.dumps({"name": name, "person": person, "node": node} if node else {"name": name, "person": person})
            self.assertEqual(lib.ask(h.url + "/api/v1/jobs", method="POST", body=body, headers=auth)[0], 201, name)
        for query, want in (("person:kim", ["one", "two"]), ("team:vision", ["one", "two"]), ("person:ann", ["three"]), ("user:guest", ["four", "three"])):
            got = lib.ask_json(h.url + "/api/v1/jobs?filter=" + query)["jobs"]
            self.assertEqual(sorted(j["name"] for j in got), want, query)

    def test_a_login_can_be_somebody_on_one_node_and_nobody_everywhere(self):
        h = self.configured()
        a, b = self.node(h, "a"), self.node(h, "b")
        self.use(h, a, "guest")
        self.use(h, b, "guest")
        self.assertEqual(self.names(h, "person:ann"), ["b"])
        self.use(h, a, "root")
        got = self.procs(h)
        self.assertIsNone(got["root"]["person"])
        self.assertEqual([p["person"] for p in lib.ask_json(h.url + "/api/v1/people")], ["ann"])

    def test_mine_and_the_command_line_are_the_persons_under_every_login(self):
        h = self.configured()
        a = self.node(h, "a")
        self.use(h, a, "kdoe", "lee")
        for person in ("kim", "kdoe"):  # a token may name a login, too
            auth = {"Authorization": "Bearer " + self.token("member", "--person", person)}
            got = lib.ask_json(h.url + "/api/v1/processes?filter=mine", headers=auth)
            self.assertEqual([(r["user"], r["command"]) for r in got], [("kdoe", "python train.py --secret")], person)
        auth = {"Authorization": "Bearer " + self.token("member", "--person", "lee")}
        shown = {r["user"]: r["command"] for r in lib.ask_json(h.url + "/api/v1/processes", headers=auth)}
        self.assertEqual(shown, {"kdoe": None, "lee": "python train.py --secret"})

    def test_a_reload_takes_all_of_it_or_none(self):
        h = self.configured()
        a = self.node(h, "a")
        self.use(h, a, "kdoe")
        self.assertEqual(self.names(h, "person:kim"), ["a"])
        with open(self.config, "w") as f:
            f.write("people:\n  lee: [kdoe]\n  ann: [kdoe]\n")
        h.p.send_signal(signal.SIGHUP)
        h.wait_line(r"nothing was changed: .*muster.yaml:3:9: login 'kdoe' of 'ann' is one of 'lee' already")
        self.assertEqual(self.names(h, "person:kim"), ["a"])
        with open(self.config, "w") as f:
            f.write("people:\n  lee: [kdoe]\n")
        h.p.send_signal(signal.SIGHUP)
        h.wait_line(r"reloaded")
        self.assertSoon(lambda: self.names(h, "person:kim"), [])
        self.assertSoon(lambda: self.names(h, "person:lee"), ["a"])
        self.assertSoon(lambda: [p["person"] for p in lib.ask_json(h.url + "/api/v1/people")], ["lee"])

    def test_unix_groups_of_the_system_are_teams(self):
        fake = self.path("bin")
        os.mkdir(fake)
        with open(fake + "/getent", "w") as f:
            f.write("#!/bin/sh\n"
                    "[ $1 = passwd ] && echo 'zoe:x:7:1500::/:' && exit 0\n"
                    "[ $# = 1 ] && printf 'ml:x:1500:kdoe\\nml-old:x:1501:lee\\nother:x:1502:lee\\n' && exit 0\n"
                    "exit 2\n")
        os.chmod(fake + "/getent", 0o755)
        self.config = self.path("muster.yaml")
        with open(self.config, "w") as f:
            f.write("people: {kim: [kdoe]}\npeople_unix_groups: ['ml*', nothere]\n")
        h = self.hub("--config", self.config, env={"PATH": fake + ":" + os.environ["PATH"]})
        a = self.node(h, "a")
        h.wait_line(r"2 Unix groups with 3 members")
        self.use(h, a, "kdoe", "lee", "zoe")
        got = self.procs(h)
        self.assertEqual([got[u].get("teams") for u in ("kdoe", "lee", "zoe")], [["ml"], ["ml-old"], ["ml"]])

    def test_config_check_covers_the_sections(self):
        for text, words in (("teams: {t: [{name: kim, from: yesterday}]}", "2026-01-31"),
                            ("companies: [{teams: [a]}]", "'company' is missing"),
                            ("people_aliases: /nonexistent/aliases.csv", "cannot open"),
                            ("people: 5", "expected keys")):
            status, _, err = self.run_any(lib.MUSTER, "config", "check", "-", stdin=text.encode())
            self.assertEqual(status, 1, err)
            self.assertIn(words, err)
        self.configured()
        shown = self.run_ok(lib.MUSTER, "config", "show", "--config", self.config)
        self.assertIn("logins: [kim, kdoe]", shown)
        self.run_ok(lib.MUSTER, "config", "check", "-", stdin=shown.encode())


if __name__ == "__main__":
    lib.main()
