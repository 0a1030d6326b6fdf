#!/usr/bin/python3
"""Several real hubs on one real PostgreSQL server are one muster: what one is told all know, and what must happen once happens once."""
import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time

import hook_standin
import lib
import postgres
import sender
from clustercase import BELIEVES, HOUR, Cluster, now_ms


class Slurm(Cluster):
    def says(self, *lines):
        with open(self.path("bin/new"), "w", encoding="ascii") as f:
            f.writelines(f"{number}|kim|dgx1|gpu:1|5:00|2026-11-15T06:00:00|lab|gpu|{name}\n" for number, name in lines)
        os.rename(self.path("bin/new"), self.path("bin/out"))  # whole at any moment

    def hub(self, i, *flags):
        return self.start_hub(*BELIEVES, "--store", self.pg.url, "--store-password-file", self.pg.password, *flags, data=self.path(f"data{i}"),
                              env={"PATH": self.path("bin") + ":" + os.environ["PATH"]})

    def jobs(self, h):
        return {j["name"]: j.get("end") for j in lib.ask_json(h.url + "/api/v1/jobs?kind=slurm&from=-30d")["jobs"]}

    @lib.long
    def test_what_ended_while_the_lead_changed_is_closed_by_the_next_leader(self):
        os.mkdir(self.path("bin"))
        for name, text in (("squeue", f"cat {self.path('bin/out')}"), ("scontrol", "exit 0")):
            with open(self.path("bin/" + name), "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\n{text}\n")
            os.chmod(self.path("bin/" + name), 0o755)
        self.says((1, "early"))
        self.open(1)
        first = self.leader()
        self.node("dgx1")
        first.p.send_signal(signal.SIGHUP)
        lib.wait_until("a job is there", lambda: self.jobs(first) == {"early": None})
        second = self.hub(1)  # it has seen that one open
        self.hubs.append(second)
        lib.wait_until("both are there", lambda: self.metric(first, "muster_hub_hubs") == 2)
        self.says((2, "over"), (3, "goes on"))
        first.p.send_signal(signal.SIGHUP)
        lib.wait_until("two more began, one ended", lambda: len(self.jobs(first)) == 3 and self.jobs(first)["early"])
        end = self.jobs(first)["early"]
        first.kill9()
        self.says((3, "goes on"))
        lib.wait_until("the other leads and closes it", lambda: self.jobs(second)["over"])
        self.assertEqual(self.leaders(), [second])
        self.assertEqual(self.jobs(second), {"early": end, "over": self.jobs(second)["over"], "goes on": None})  # and leaves alone what the first one ended
        self.assertEqual(self.pg.sql("SELECT count(*) FROM jobs WHERE kind = 'slurm'"), "3")


class Bookings(Cluster):
    def test_what_is_booked_at_one_hub_all_know_and_no_two_give_it_away(self):
        self.open(3)
        a, b, _ = self.hubs
        kim, ann, lee = [self.token("member", "--person", name) for name in ("kim", "ann", "lee")]
        node = self.node("dgx1")
        status, row = self.book(a, kim, node)
        self.assertEqual(status, 201, row)
        self.assertSoon(lambda: self.bookings(b), [(row["id"], "kim")])
        self.assertEqual(self.book(b, ann, node)[0], 409)
        status, over = self.ask(b, "DELETE", f"/api/v1/bookings/{row['id']}", kim)
        self.assertEqual(status, 200, over)
        self.assertSoon(lambda: self.bookings(a), [])
        for k in range(8):  # at once, each time at other hours
            got = [None, None, None]

            def go(i, h, token):
                got[i] = self.book(h, token, node, begin=(2 + 2 * k) * HOUR)
            threads = [threading.Thread(target=go, args=(i, h, token)) for i, (h, token) in enumerate(zip(self.hubs, (kim, ann, lee)))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(sorted(status for status, _ in got), [201, 409, 409], got)
        self.assertSoon(lambda: self.bookings(a) == self.bookings(b) and len(self.bookings(a)), 8)
        self.assertEqual(self.pg.sql("SELECT count(*), count(DISTINCT id) FROM holds"), "9|9")
        for error in ("deadlock detected", "already exists"):
            self.assertNotIn(error, self.pg.log())


class Live(Cluster):
    def post(self, h, node, token, *frames):
        status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)

    def util(self, h, name):
        _, got = self.ask(h, "GET", "/api/v1/state")
        devices = [d for n in got["nodes"] if n["name"] == name for d in n["devices"]]
        return devices[0]["metrics"].get("util") if devices else None

    def test_any_hub_shows_what_a_node_sends_to_one_of_them(self):
        self.open(2, "--advertise", "http://127.0.0.1")
        a, b = self.hubs
        lib.wait_until("a knows the address of b", lambda: all(h.get("url") for h in self.ask(a, "GET", "/api/v1/hubs")[1]))
        node, token = sender.Node("dgx1"), self.token("agent")
        sent = 0

        def b_shows_it():  # an agent sends again: b may learn of the first batch before its facts are stored
            nonlocal sent
            self.post(a, node, token, node.facts(), node.procs(), node.batch(util=4200))
            sent += 1
            return self.util(b, "dgx1") == self.util(a, "dgx1") == 0.42

        lib.wait_until("b shows what a receives", b_shows_it)
        for util in (4300, 4400):
            self.post(a, node, token, node.batch(util=util))
            self.assertSoon(lambda: (self.util(a, "dgx1"), self.util(b, "dgx1")), (util / 10000, util / 10000))
        self.post(b, node, token, node.batch(util=4500))  # its agent goes to the next one
        self.assertSoon(lambda: (self.util(a, "dgx1"), self.util(b, "dgx1")), (0.45, 0.45))
        self.assertEqual(self.pg.sql("SELECT count(*), count(DISTINCT (node, run, number)) FROM batch"), f"{sent + 3}|{sent + 3}")
        self.assertEqual(self.pg.sql("SELECT count(*) FROM batch_other"), "0")  # each is in the partition of its day
        a.kill9()
        self.post(b, node, token, node.batch(util=4600))
        self.assertSoon(lambda: self.util(b, "dgx1"), 0.46)


class Known(Cluster):
    """What is said at one hub counts at the other."""
    @lib.long
    def test_names_silences_sessions_and_hours_to_count(self):
        self.open(2, "--read", "token", "--advertise", "http://127.0.0.1")
        admin = self.token("admin")
        first = self.leader()
        other = self.other(first)
        node = self.node("dgx1")
        self.assertEqual(self.ask(other, "PATCH", "/api/v1/nodes/dgx1", admin, {"name": "gold"})[0], 200)
        self.assertSoon(lambda: [n["name"] for n in self.ask(first, "GET", "/api/v1/state", admin)[1]["nodes"]], ["gold"])
        status, made = self.ask(other, "POST", "/api/v1/silences", admin, {"node": "gold", "for": "2h", "reason": "we know"})
        self.assertIn(status, (200, 201), made)
        reasons = lambda h: [r["reason"] for r in self.ask(h, "GET", "/api/v1/silences", admin)[1]["rows"]]
        self.assertSoon(lambda: reasons(first), ["we know"])
        self.assertEqual(self.ask(first, "DELETE", f"/api/v1/silences/{made['id']}", admin)[0], 200)
        self.assertSoon(lambda: reasons(other), [])
        self.sessions_cross_over(first, other)
        hour = now_ms() - 3 * HOUR
        raw = node.stream(node.facts(), node.procs(), *(node.batch(at_ms=hour + 60000 * i, util=0) for i in range(4)))
        status, _, body = lib.ask(other.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + node.token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)
        counts = lambda: sorted(self.metric(h, "muster_hub_usage_counts_total") for h in self.hubs)
        lib.wait_until("one of them counts that hour", lambda: counts()[1] > 0)
        self.assertEqual(counts()[0], 0)
        lib.wait_until("it is stored, and not to be counted any more", lambda: self.pg.sql(f"SELECT (SELECT count(*) FROM usage_hours) > 0, (SELECT count(*) FROM usage_marks WHERE at_ms < {now_ms() - 2 * HOUR})") == "t|0")

    def metric(self, h, name):
        head = {"Authorization": "Bearer " + self.reader} if hasattr(self, "reader") else {}
        for line in lib.ask(h.url + "/metrics", headers=head)[2].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def open(self, n, *flags):
        self.pg = postgres.Postgres(self)
        self.hubs = [self.hub(i, *flags) for i in range(n)]
        self.reader = self.token("reader")
        lib.wait_until("all are known to each other", lambda: all(self.metric(h, "muster_hub_hubs") == n for h in self.hubs))

    def sessions_cross_over(self, a, b):
        body = json.dumps({"token": self.token("member", "--person", "kim")})
        status, headers, answer = lib.ask(a.url + "/api/v1/login", method="POST", body=body, headers={"Origin": a.url})
        self.assertEqual(status, 200, answer)
        cookie = headers["set-cookie"].split(";")[0]
        role = lambda h: json.loads(lib.ask(h.url + "/api/v1/whoami", headers={"Cookie": cookie, "Origin": h.url})[2]).get("role")
        self.assertEqual(role(a), "member")
        self.assertSoon(lambda: role(b), "member")
        self.assertEqual(lib.ask(b.url + "/api/v1/logout", method="POST", headers={"Cookie": cookie, "Origin": b.url})[0], 204)
        self.assertSoon(lambda: role(a), "none")
        admin, answers = self.token("admin"), []
        status, made = self.ask(a, "POST", "/api/v1/once", admin, {})
        self.assertEqual(status, 201, made)

        def follow(h):  # a link, at both hubs at once
            answers.append(lib.ask(h.url + "/api/v1/login", method="POST", body=json.dumps({"once": made["once"]}), headers={"Origin": h.url})[0])
        threads = [threading.Thread(target=follow, args=(h,)) for h in (b, a, b, a)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(answers), [200, 401, 401, 401])
        rows = lambda h: self.ask(h, "GET", "/api/v1/audit", admin)[1]["rows"]  # one audit log: what any hub did
        logins = lambda h: sorted(e["status"] for e in rows(h) if e["route"] == "/api/v1/login")
        self.assertSoon(lambda: (logins(a), rows(a) == rows(b)), ([200, 200, 401, 401, 401], True))

    def test_an_enroll_token_for_two_lets_two_in_whichever_hub_they_ask(self):
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write("companies:\n- {company: Acme, teams: [acme], schedule: [{date: \"2026-05-03\", assigned_gpu_node: 1}]}\n")
        self.open(2, "--config", self.path("muster.yaml"))
        token, answers = self.token("enroll", "--uses", "2"), []

        def speak(i):
            node = sender.Node(f"box{i}")
            status, _, _ = lib.ask(self.hubs[i % 2].url + "/api/v1/batches", method="POST", body=node.stream(node.facts(), node.procs(), node.batch(util=0)),
                                   headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
            answers.append(status)
        threads = [threading.Thread(target=speak, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(answers), set(answers) - {200, 403}), (8, set()))
        self.assertGreaterEqual(answers.count(200), 2)
        self.assertEqual(self.pg.sql("SELECT enrolled, uses, (SELECT count(*) FROM tokens WHERE note = 'enrolled with ' || e.id) FROM tokens e WHERE role = 'enroll'"), "2|2|2")
        status, said = self.ask(self.hubs[1], "GET", "/api/v1/report?source=wandb", self.reader)  # what is a hub's own is said
        self.assertEqual((status, "no runs of W&B at this hub" in said["detail"]), (404, True), said)


RULES = """
channels:
  hook: {type: webhook, url: "http://127.0.0.1:%d/hook"}
alerts:
  rules:
    - {name: is-free, when: free, clear: 0s, channel: hook, text: "{place} is free"}
"""


class Leader(Cluster):
    def set_up(self, *flags):
        self.hook = hook_standin.started(self)
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(RULES % self.hook.server_port)
        self.open(2, "--config", self.path("muster.yaml"), *flags)

    def told(self, name):
        """How often somebody was told of this node."""
        return sum(name in g["body"].decode() for g in self.hook.of("/hook"))

    def firing(self, h):
        return sorted(a["place"] for a in lib.ask_json(h.url + "/api/v1/alerts")["rows"] if a["state"] == "firing")

    @lib.long
    def test_when_the_leader_dies_another_goes_on_and_nobody_is_told_twice(self):
        self.set_up()
        first = self.leader()
        second = self.other(first)
        self.node("dgx1")
        lib.wait_until("it is told", lambda: self.told("dgx1") == 1)
        self.assertSoon(lambda: self.firing(second), self.firing(first))
        first.kill9()
        self.assertEqual(self.leader(), second)
        self.hubs.remove(first)
        self.node("dgx2")
        lib.wait_until("the next one is told", lambda: self.told("dgx2") == 1)
        self.assertEqual(self.told("dgx1"), 1)
        self.assertEqual(self.pg.sql("SELECT count(*) FROM notes WHERE kind = 3"), "0")
        self.assertIn("this hub leads from now on", second.text)

    @lib.long
    def test_a_run_is_made_once_whoever_hears_of_it_and_goes_on_when_the_leader_dies(self):
        self.open(2, "--advertise", "http://127.0.0.1", "--runs-after", "1s", "--runs-gap", "3s")
        first, token = self.leader(), self.token("agent")
        second, node = self.other(first), sender.Node("dgx1")

        def send(*procs):
            node.tick_ms = max(getattr(node, "tick_ms", 0) + 1, node.now())
            raw = node.stream(node.facts(), node.procs(*procs), node.batch(at_ms=node.tick_ms))
            status, _, body = lib.ask(second.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
            self.assertEqual(status, 200, body)

        def runs(*procs):
            send(*procs)
            return self.ask(second, "GET", "/api/v1/jobs?kind=auto")[1]["jobs"]

        kim = (41, "kim", "python", "")
        lib.wait_until("a run", lambda: runs(kim))
        (run,) = runs(kim)
        self.assertGreaterEqual(self.metric(first, "muster_hub_runs_made_total"), 1)
        self.assertEqual(self.metric(second, "muster_hub_runs_made_total"), 0)
        first.kill9()
        lib.wait_until("the other leads", lambda: send(kim) or self.metric(second, "muster_hub_leads") == 1)
        lib.wait_until("it has ended", lambda: [j for j in runs() if j["end"]])
        self.assertEqual([j["id"] for j in runs()], [run["id"]])

    @lib.long
    def test_what_came_late_to_another_hub_is_a_run_too(self):
        self.open(2, "--advertise", "http://127.0.0.1", "--runs-after", "1s", "--runs-gap", "3s")
        first, token = self.leader(), self.token("agent")
        second, node = self.other(first), sender.Node("dgx1")

        def send(*frames):
            status, _, body = lib.ask(second.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
            self.assertEqual(status, 200, body)
        now = node.now()
        send(node.facts(), node.procs(), node.batch(at_ms=now))
        lib.wait_until("the leader shows it", lambda: any(n["name"] == "dgx1" and n["devices"] for n in self.ask(first, "GET", "/api/v1/state")[1]["nodes"]))
        send(node.facts(), node.procs((41, "kim", "python", "")), node.batch(at_ms=now - HOUR), node.batch(at_ms=now - HOUR + 600_000))  # its agent had kept them

        def runs():
            return self.ask(first, "GET", "/api/v1/jobs?kind=auto")[1]["jobs"]
        lib.wait_until("a run", runs)
        (run,) = runs()
        self.assertEqual((run["person"], run["node"], run["start"], run["end"]), ("kim", "dgx1", now - HOUR, now - HOUR + 600_000))
        self.assertEqual(self.metric(second, "muster_hub_runs_made_total"), 0)

    @lib.long
    def test_a_leader_that_was_stopped_for_too_long_does_nothing_more(self):
        self.set_up()
        first = self.leader()
        second = self.other(first)
        os.kill(first.p.pid, signal.SIGSTOP)
        try:
            lib.wait_until("another leads", lambda: self.metric(second, "muster_hub_leads") == 1)
            self.hubs.remove(first)
            self.node("dgx1")
            lib.wait_until("it is told", lambda: self.told("dgx1") == 1)
        finally:
            os.kill(first.p.pid, signal.SIGCONT)
        lib.wait_until("it knows", lambda: self.metric(first, "muster_hub_leads") == 0)
        self.assertSoon(lambda: self.firing(first), self.firing(second))
        self.assertEqual(self.told("dgx1"), 1)
        self.assertEqual(self.pg.sql("SELECT epoch FROM lease WHERE name = 'leader'"), "2")

    @lib.long
    def test_a_message_that_went_out_while_the_server_was_away_is_not_told_again(self):
        self.set_up()
        first, answers = self.leader(), threading.Event()
        self.hook.next["/hook"] = [answers]
        self.node("dgx1")
        lib.wait_until("it is on its way", lambda: self.told("dgx1") == 1)
        self.pg.stop(signal.SIGQUIT)  # that it arrived cannot be noted
        answers.set()
        first.wait_line("cannot be noted yet")
        self.pg.start()
        lib.wait_until("it is noted", lambda: self.pg.sql("SELECT count(*) FROM notes WHERE kind = 3") == "0")
        first = self.leader()
        self.hubs.remove(first)
        first.kill9()
        self.leader()
        self.node("dgx2")
        lib.wait_until("the next one is told", lambda: self.told("dgx2") == 1)
        self.assertEqual(self.told("dgx1"), 1)


class Counters(Cluster):
    def held(self, h):
        found = re.search(r'^muster_person_held_seconds_total\{person="kim"\} (\S+)$', lib.ask(h.url + "/metrics")[2].decode(), re.M)
        return float(found[1]) / 3600 if found else 0

    @lib.long
    def test_counters_of_people_are_the_same_at_every_hub_and_go_on_with_the_next_leader(self):
        self.open(2)
        node, token = sender.Node("n1"), self.token("enroll")
        start = now_ms() // HOUR * HOUR - 6 * HOUR

        def send(h, first, last):
            frames = [node.facts(), node.procs((1, "kim", "python", "a"))] + [node.batch(at_ms=start + minute * 60000) for minute in range(first * 60, last * 60)]
            status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
            self.assertEqual(status, 200, body)

        first = self.leader()
        second = self.other(first)
        send(second, 0, 3)
        lib.wait_until("both tell three hours", lambda: all(abs(self.held(h) - 3) < 0.3 for h in self.hubs))
        before = self.held(second)
        first.kill9()
        self.hubs.remove(first)
        self.assertEqual(self.leader(), second)
        self.assertGreaterEqual(self.held(second), before)
        send(second, 3, 5)
        lib.wait_until("two hours more", lambda: abs(self.held(second) - 5) < 0.3)


class Screens(Cluster):
    def notice(self, h):
        return lib.ask(h.url + "/?width=200", headers={"User-Agent": "curl/8"})[2].decode()

    @lib.long
    def test_every_screen_says_what_is_wrong_between_hubs(self):
        self.open(1)
        a = self.hubs[0]
        self.hubs.append(self.hub(1, "--keep-records", "30d"))
        b = self.hubs[1]
        lib.wait_until("b says it", lambda: "settings of this hub differ" in self.notice(b))
        lib.wait_until("a says it", lambda: "differ from those of the hub that leads" in self.notice(a))
        b.stop()
        lib.wait_until("all is well", lambda: "differ" not in self.notice(a))
        self.pg.stop(signal.SIGQUIT)
        lib.wait_until("it is away", lambda: "PostgreSQL is unreachable" in self.notice(a))
        self.pg.start()
        lib.wait_until("it is back", lambda: "PostgreSQL" not in self.notice(a))

    def test_a_hub_of_another_version_is_a_notice_and_in_the_list(self):
        self.open(1)
        h = self.hubs[0]
        old = self.pg.sql("INSERT INTO hub(url, name, version, conf, started) SELECT 'http://old:8765', 'old', '0.0.9+0badc0de format 8', conf, clock_timestamp() FROM hub RETURNING id")
        self.pg.sql(f"INSERT INTO lease(name, holder, epoch, until) VALUES('hub/{old}', {old}, 1, clock_timestamp() + interval '1 hour')")
        lib.wait_until("its screens say so", lambda: "hubs of different versions run: http://old:8765 has 0.0.9+0badc0de format 8" in lib.ask_json(h.url + "/api/v1/state").get("notice", ""))
        own, other = sorted(lib.ask_json(h.url + "/api/v1/hubs"), key=lambda row: not row["own"])
        self.assertEqual((other["url"], other["version"], other["commit"], other["format"], other["leads"], other["own"]), ("http://old:8765", "0.0.9", "0badc0de", 8, False, False))
        self.assertEqual((own["leads"], own["own"]), (True, True))
        status = self.run_ok(lib.MUSTER, "store", "status", "--store", self.pg.url, "--password-file", self.pg.password)
        self.assertIn("0.0.9+0badc0de format 8", status)
        self.pg.sql(f"UPDATE lease SET until = '-infinity' WHERE name = 'hub/{old}'")
        lib.wait_until("no word of it is left", lambda: "different versions" not in lib.ask_json(h.url + "/api/v1/state").get("notice", ""))

    def test_up_is_one_of_several_hubs_and_its_own_user_needs_no_token(self):
        self.pg = postgres.Postgres(self)
        store, data = ["--store", self.pg.url, "--store-password-file", self.pg.password], self.path("data")
        env = {"MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub")}
        with open(self.path("stub"), "w", encoding="ascii") as f:
            f.write("gpus 2\n")
        p = self.start(lib.MUSTER, "up", "--listen", "127.0.0.1:0", "--data", data, *store, env=env)
        url = p.wait_line(r"http://127\.0\.0\.1:\d+").group(0)
        lib.wait_until("this machine", lambda: (s := lib.ask_json(url + "/api/v1/state"))["nodes"] and len(s["nodes"][0]["devices"]) == 2)
        self.run_ok(lib.MUSTER, "node", "list", "--hub", url, env={"XDG_STATE_HOME": self.path("none"), "HOME": self.path("none")})
        self.assertEqual(self.pg.sql("SELECT role FROM tokens WHERE note IN ('the hub''s own user', 'this machine''s agent') ORDER BY 1"), "admin\nenroll")
        self.assertFalse(os.path.exists(data + "/muster.db"), "its store is elsewhere")
        self.assertEqual(p.stop(), 0, p.text)
        made = self.pg.sql("SELECT count(*) FROM tokens")
        for argv, words in ((["up", "--demo"], "a demo's nodes do not belong"), (["up", "--no-agent", "--start-empty"], "start_empty: it is for a store in the data folder"),
                            (["hub", "--start-empty"], "start_empty: it is for a store in the data folder")):
            status, _, err = self.run_any(lib.MUSTER, *argv, "--listen", "127.0.0.1:0", "--data", data, *store)
            self.assertEqual((status, words in err, len(err.splitlines())), (2, True, 1), err)
        self.assertEqual(self.pg.sql("SELECT count(*) FROM tokens"), made)

    def test_a_password_stays_out_of_addresses(self):
        status, _, err = self.run_any(lib.MUSTER, "hub", "--store", "postgres://muster:secret@127.0.0.1:1/x", "--data", self.path("data"))
        self.assertNotEqual(status, 0)
        self.assertIn("store_password_file", err)
        self.assertNotIn("secret@", err)


    def test_a_password_on_the_open_network_is_a_notice_and_an_open_file_is_refused(self):
        self.pg = postgres.Postgres(self)
        far = self.pg.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")  # no name of this machine, though it is the same address
        h = self.start_hub("--store", far, "--store-password-file", self.pg.password)
        words = "the password for PostgreSQL and all samples can go to ::ffff:127.0.0.1 without TLS: add sslmode=verify-full"
        lib.wait_until("its screens say so", lambda: words in lib.ask_json(h.url + "/api/v1/state").get("notice", ""))
        h.wait_line(words)
        os.chmod(self.pg.password, 0o644)
        for argv in (["hub", "--data", self.path("data2"), "--store", self.pg.url, "--store-password-file", self.pg.password], ["store", "status", self.pg.url, "--password-file", self.pg.password]):
            status, _, err = self.run_any(lib.MUSTER, *argv)
            self.assertEqual((status != 0, "other users have access to it (mode 0644); chmod 600 it" in err, len(err.splitlines())), (True, True, 1), err)


class Try(lib.Case):
    """./run --cluster: hubs, PostgreSQL and haproxy together."""
    @lib.long
    def test_a_hub_is_killed_and_the_address_goes_on(self):
        data = tempfile.mkdtemp(prefix="muster-cluster-")
        os.chmod(data, 0o755)  # the server runs as somebody else
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        port = lib.free_port()
        p = self.start(os.path.join(lib.TOP, "tools/cluster"), "3", "--data", data, "--port", str(port))
        url = p.wait_line(r"muster: (http://\S+)").group(1)
        hubs = [p.wait_line(rf"hub {i}\s+(http://\S+)\s+process (\d+)") for i in (1, 2, 3)]

        def nodes(at):
            status, _, body = lib.ask(at + "/api/v1/summary")
            return json.loads(body)["nodes"] if status == 200 else status
        for at in [url] + [m.group(1) for m in hubs]:
            self.assertSoon(lambda at=at: nodes(at), 6)
        os.kill(int(hubs[0].group(2)), signal.SIGKILL)
        again = p.wait_line(r"hub 1 has ended.* To start it again: (.+)").group(1).split()
        for _ in range(6):  # each is asked in turn
            self.assertSoon(lambda: nodes(url), 6)

        def leading():
            return sum(bool(re.search(rb"^muster_hub_leads 1$", lib.ask(m.group(1) + "/metrics")[2], re.M)) for m in hubs[1:])
        lib.wait_until("one of the others leads", lambda: leading() == 1)
        first = self.start(*again)  # on the address it had
        first.wait_line(re.escape(hubs[0].group(1)))
        self.assertSoon(lambda: nodes(hubs[0].group(1)), 6)
        self.assertEqual(first.stop(), 0, first.text)
        self.assertEqual(p.stop(), 0, p.text)
        with open(data + "/node.tokens", encoding="ascii") as f:  # they were answered, through haproxy
            self.assertEqual(len(f.readlines()), 6)
        p = self.start(os.path.join(lib.TOP, "tools/cluster"), "3", "--data", data, "--port", str(port))
        p.wait_line(r"hub 3 ")

        def states():
            return {d["state"] for n in lib.ask_json(url + "/api/v1/state")["nodes"] for d in n["devices"] if n["state"] == "up"}
        lib.wait_until("they speak again", lambda: "busy" in states() and "stale" not in states())
        for i in (1, 2, 3):
            with open(f"{data}/hub{i}.log", encoding="utf-8") as f:
                self.assertNotIn("refused", f.read())


if __name__ == "__main__":
    lib.main()
