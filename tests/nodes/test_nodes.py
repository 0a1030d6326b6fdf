#!/usr/bin/python3
"""Which nodes a hub has: how many are let in, what becomes of those that never said anything."""
import json
import os
import sqlite3
import threading
import time

import lib
import terminal
from sender import Node, answer, origin_id
from hubcase import HubCase


class Enrolment(HubCase):
    def muster(self, *argv):
        return self.run_any(lib.MUSTER, *argv)

    def admin(self, h, method, path, body=None, token=None):
        token = token or self.token("admin")
        return lib.ask(h.url + path, method=method, body=body, headers={"Authorization": "Bearer " + token})

    def test_a_token_is_used_up_over_a_restart(self):
        h = self.hub()
        token = self.token("enroll", "--uses", "3")
        nodes = [Node(f"n{i}") for i in range(4)]
        for n in nodes[:3]:
            status, _, body = self.post(h, n.first(), token)
            self.assertEqual(status, 200, body)
            n.token = answer(body)["token"]
        status, _, body = self.post(h, nodes[3].first(), token)
        self.assertEqual(status, 403)
        self.assertIn("made for 3 nodes and is used up", json.loads(body)["detail"])
        self.assertEqual(self.post(h, nodes[0].stream(nodes[0].batch()), nodes[0].token)[0], 200)  # who is in stays in
        h.stop()
        h = self.hub()
        self.assertEqual(self.post(h, nodes[3].first(), token)[0], 403)
        listed = json.loads(self.run_ok(lib.MUSTER, "token", "list", "--json", "--data", self.path("data")))
        mine = [t for t in listed if token.split("_")[1] == t["id"]]
        self.assertEqual([(t["nodes"], t["state"]) for t in mine], [("3 of 3", "used up")])
        status, _, err = self.muster("token", "new", "--role", "agent", "--uses", "3", "--data", self.path("data"))
        self.assertEqual((status, "only an enroll token" in err), (2, True), err)

    def test_a_token_ends(self):
        h = self.hub()
        token = self.token("enroll", "--expires", "1h")
        n = Node("n1")
        self.assertEqual(self.post(h, n.first(), token)[0], 200)
        h.stop()
        with sqlite3.connect(os.path.join(self.path("data"), "muster.db")) as db:  # an hour later
            db.execute("UPDATE tokens SET expires_ms = created_ms + 1 WHERE id = ?", (token.split("_")[1],))
        h = self.hub()
        status, _, body = self.post(h, Node("n2").first(), token)
        self.assertEqual((status, "has expired" in json.loads(body)["detail"]), (401, True))
        self.assertIn("expired", self.run_ok(lib.MUSTER, "token", "list", "--data", self.path("data")))

    def test_a_hub_that_just_started_gives_no_living_nodes_token_away(self):
        h = self.hub()
        enroll, on, off = h.enroll, self.node(h, "on"), Node("off")
        off.token = answer(self.post(h, off.stream(off.facts(), off.batch(at_ms=off.now() - 600000)))[2])["token"]
        for n in (on, off):
            self.assertEqual(self.post(h, n.stream(), n.token)[0], 200)
        h.stop()
        with sqlite3.connect(os.path.join(self.path("data"), "muster.db")) as db:  # silent for ten minutes before the hub ended
            db.execute("UPDATE nodes SET last_ms = last_ms - 600000 WHERE key = ?", (off.key,))
        h = self.hub()
        thief = Node("thief", node_id=on.id, run=on.run)
        for _ in range(2):  # it is not heard of since the start, but nor could it be
            status, headers, body = self.post(h, thief.first(), enroll)
            self.assertEqual((status, "is alive and has a token" in json.loads(body)["detail"]), (409, True))
            self.assertIn("retry-after", headers)
        self.assertEqual(self.post(h, on.stream(on.batch()), on.token)[0], 200)
        again = answer(self.post(h, off.stream(off.batch()), enroll)[2])["token"]
        self.assertEqual(again[:12], off.token[:12])
        self.assertEqual(self.post(h, off.stream(off.batch()), off.token)[0], 401)  # its old secret ends
        self.assertEqual(self.post(h, off.stream(off.batch()), again)[0], 200)

    def test_too_many_at_once_come_again_and_share_their_commits(self):
        h = self.hub("--commit", "200ms")
        commits = lambda: int(next(line.split()[1] for line in lib.ask(h.url + "/metrics")[2].decode().splitlines() if line.startswith("muster_hub_commits_total ")))
        before, got = commits(), []

        def enrol(many):
            for _ in range(many):
                n = Node("ghost")
                status, headers, body = self.post(h, n.stream())  # a hello alone
                got.append((status, headers.get("retry-after"), answer(body).get("token") if status == 200 else json.loads(body)["detail"]))
        threads = [threading.Thread(target=enrol, args=(20,)) for _ in range(10)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        taken = [x for x in got if x[0] == 200]
        self.assertGreaterEqual(len(taken), 100)
        self.assertTrue(all(x[2].startswith("mst_") for x in taken))
        self.assertEqual({x[0] for x in got}, {200, 429} if len(taken) < 200 else {200})
        for status, after, why in got:
            if status == 429:
                self.assertGreaterEqual(int(after), 1)
                self.assertIn("at once and then 10 a second", why)
        self.assertLess(commits() - before, len(taken))  # many of them in one

    def test_retire_says_what_it_did_and_asks_on_a_terminal(self):
        h = self.hub()
        self.node(h, "n1")
        flags = ("--hub", h.url, "--token", self.token("admin"))
        names = lambda: [n["name"] for n in self.state(h)["nodes"]]
        self.assertEqual(self.run_ok(lib.MUSTER, "node", "retire", "n1", *flags), "n1 is retired: it left the screens, its history stays. To undo: muster node retire n1 --undo\n")
        self.assertSoon(names, [])
        self.assertEqual(self.run_ok(lib.MUSTER, "node", "retire", "n1", "--undo", *flags), "n1 is on the screens again\n")
        self.assertSoon(names, ["n1"])
        self.assertEqual(self.run_ok(lib.MUSTER, "node", "rename", "n1", "n2", *flags), "n1 is called n2 now\n")
        t = terminal.Terminal(self, 200, 20)
        line = f"{lib.MUSTER} node retire n2 --hub {h.url} --token-file {self.path('admin')}"
        with open(self.path("admin"), "w", encoding="ascii") as f:
            f.write(flags[3])
        os.chmod(self.path("admin"), 0o600)
        t.run(line)
        t.wait(r"Retire n2\? .* \[y/N\]")
        t.run("n")
        t.wait("n2 is not retired")
        self.assertEqual(names(), ["n2"])
        t.run(line + " --yes")
        t.wait("n2 is retired")
        t.run(line + " --undo")
        t.wait("n2 is on the screens again")
        t.run(line)
        t.wait(r"(?s)again.*\[y/N\]")
        t.run("y")
        t.wait(r"(?s)again.*n2 is retired")

    def test_nodes_that_never_sent_a_sample_are_deleted_with_their_tokens(self):
        h = self.hub()
        real, ghosts = self.node(h, "real"), [Node(f"ghost{i}") for i in range(3)]
        for g in ghosts:
            g.token = answer(self.post(h, g.stream(g.facts()))[2])["token"]
        admin = self.token("admin")
        member = self.token("member", "--person", "kim")
        flags = lambda: {n["name"]: n.get("never_sampled", False) for n in self.state(h)["nodes"]}
        self.assertSoon(flags, {"real": False, "ghost0": True, "ghost1": True, "ghost2": True})
        status, _, body = self.admin(h, "DELETE", "/api/v1/nodes/real", token=admin)
        self.assertEqual((status, "retire it" in json.loads(body)["detail"]), (409, True))
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost0", token=member)[0], 403)
        self.assertEqual(lib.ask(h.url + "/api/v1/nodes/ghost0", method="DELETE")[0], 401)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/nobody", token=admin)[0], 404)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost0", token=admin)[0], 200)
        self.run_ok(lib.MUSTER, "node", "delete", "ghost1", ghosts[2].key, "--hub", h.url, "--token", admin)
        self.assertSoon(flags, {"real": False})
        self.assertEqual(self.post(h, ghosts[0].stream(ghosts[0].batch()), ghosts[0].token)[0], 401)
        back = self.post(h, ghosts[1].first())  # the enroll token lets a machine in again that is really there
        self.assertEqual(back[0], 200)
        h.stop()
        h = self.hub()
        self.assertSoon(flags, {"real": False, "ghost1": False})
        self.assertEqual(self.post(h, ghosts[0].stream(ghosts[0].batch()), ghosts[0].token)[0], 401)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost1", token=admin)[0], 409)
        self.assertEqual(self.post(h, real.stream(real.batch()), real.token)[0], 200)

    def test_an_agent_that_comes_too_early_keeps_its_batches(self):
        h = self.hub()
        spent = threading.Event()

        def spend():
            while not spent.is_set():
                if self.post(h, Node("g").stream())[0] == 429:
                    spent.set()
        threads = [threading.Thread(target=spend) for _ in range(10)]  # more than are let in a second, however slow each is
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.secret("token", h.enroll)
        with open(self.path("stub"), "w") as f:
            f.write("gpus 1\n")
        agent = self.start(lib.AGENT, env={"MUSTER_STATE_DIR": self.path("state"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub"),
                                           "MUSTER_TOKEN_FILE": self.path("token"), "MUSTER_NAME": "late", "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": "500ms",
                                           "MUSTER_COLLECTOR": "nvml", "MUSTER_HUB": h.url})
        late = lambda: next((x for x in self.state(h)["nodes"] if x["name"] == "late"), None)
        lib.wait_until("the node", lambda: late() and not late().get("never_sampled"))
        lib.wait_until("nothing left on its disk", lambda: not late().get("backlog"))
        agent.stop()


class NodesCase(HubCase):
    def setUp(self):
        super().setUp()
        self.h = self.hub("--config", self.write("muster.yaml", "alerts:\n  name-taken: {for: 0s, clear: 0s}\n"))
        self.admin = self.token("admin")

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def again(self):
        self.h.stop()
        self.h = self.hub("--config", self.path("muster.yaml"))

    def ask(self, method, path, body=None, token=None):
        status, _, raw = lib.ask(self.h.url + path, method=method, body=json.dumps(body) if body is not None else None,
                                 headers={"Authorization": "Bearer " + (token or self.admin)})
        return status, json.loads(raw) if raw else None

    def names(self):
        return {n["id"]: n["name"] for n in self.state(self.h)["nodes"]}

    def one(self, n):
        return next(x for x in self.state(self.h)["nodes"] if x["id"] == n.key)

    def stop(self, n):
        """It stops in good order: silent at once."""
        self.assertEqual(self.post(self.h, n.stream(n.batch(events=[(n.now(), 8, 0, 0, "stopped")])), n.token)[0], 200)

    def say(self, n, token=None):
        return self.post(self.h, n.stream(n.facts(), n.batch()), token or n.token)

    def doctor(self):
        return self.run_any(lib.MUSTER, "doctor", "--hub", self.h.url, "--token", self.admin)[1]

    def alerts(self):
        return [a["text"] for a in lib.ask_json(self.h.url + "/api/v1/alerts?state=firing")["rows"] if a["rule"] == "name-taken"]


class TakeOver(NodesCase):
    def test_only_the_nodes_own_token_moves_its_history(self):
        old = self.node(self.h, "box")
        other = self.node(self.h, "other")
        self.stop(old)
        tokens = {"another node's": (other.token, 403), "an agent's that is not bound": (self.token("agent"), 200), "enroll": (None, 200),
                  "member": (self.token("member", "--person", "kim"), 403), "admin": (self.admin, 403), "none": ("mst_aaaaaaaa_" + "b" * 43, 401)}
        came = []
        for kind, (token, want) in tokens.items():
            n = Node("box", uuid=old.uuid)
            status, _, body = self.post(self.h, n.first(), token)
            self.assertEqual(status, want, (kind, body))
            if status == 200:
                came.append(n)
                n.token = answer(body).get("token", token)
                mine = lib.wait_until(kind, lambda who=n: next((x for x in self.state(self.h)["nodes"] if x["id"] == who.key), None))
                self.assertEqual((mine["belonged_to"], mine["belonged_to_id"]), ("box", old.key), kind)
                self.assertEqual(mine["reason"], "has GPUs that belonged to box")
                self.stop(n)
        self.assertSoon(self.names, {old.key: "box", other.key: "other", came[0].key: "box~2", came[1].key: "box~3"})
        status = lib.ask(self.h.url + "/api/v1/batches", method="POST", body=Node("box", uuid=old.uuid).first())[0]
        self.assertEqual(status, 401)
        own = Node("box", uuid=old.uuid)  # the machine itself: its token is there, its id is not
        self.assertEqual(self.post(self.h, own.first(), old.token)[0], 200)
        self.assertSoon(self.names, {own.key: "box", other.key: "other", came[0].key: "box~2", came[1].key: "box~3"})
        self.assertEqual(self.post(self.h, own.stream(own.batch()), old.token)[0], 200)
        self.assertEqual(self.post(self.h, old.stream(old.batch()), old.token)[0], 403)  # the token went along
        self.again()
        self.assertSoon(lambda: self.names().get(own.key), "box")
        self.assertNotIn(old.key, self.names())
        stranger = Node("box")  # the token alone is not enough: it brings other GPUs
        self.stop_as(own, old.token)
        self.assertEqual(self.post(self.h, stranger.first(), old.token)[0], 403)

    def stop_as(self, n, token):
        n.token = token
        self.stop(n)

    def test_an_admin_joins_two_that_are_one(self):
        auth = {"Authorization": "Bearer " + self.token("member", "--person", "kim")}
        old = self.node(self.h, "dgx7")
        status, _, body = lib.ask(self.h.url + "/api/v1/bookings", method="POST", body=json.dumps({"devices": [old.uuid], "for": "2h"}), headers=auth)
        self.assertEqual(status, 201, body)
        new = Node("dgx7", uuid=old.uuid)
        self.assertEqual(self.post(self.h, old.stream(old.batch(util=7700)), old.token)[0], 200)
        self.stop(old)
        time.sleep(0.01)
        status, _, body = self.post(self.h, new.first())
        new.token = answer(body)["token"]
        self.assertSoon(lambda: self.names().get(new.key), "dgx7~2")
        booked = lambda n: [d.get("booking", {}).get("person") for d in self.one(n)["devices"]]
        self.assertSoon(lambda: (booked(old), booked(new)), (["kim"], [None]))  # not the newcomer's yet
        self.assertIn("`muster node join dgx7~2 dgx7`", self.doctor())
        self.assertIn("has GPUs that belonged to dgx7", lib.ask(self.h.url + "/?term&width=200")[2].decode())
        join = lambda a, b, **kw: self.ask("POST", f"/api/v1/nodes/{a}/join", {"old": b}, **kw)
        self.assertEqual(join("dgx7~2", "dgx7", token=self.token("member", "--person", "kim"))[0], 403)
        self.assertEqual(join("dgx7~2", "nobody")[0], 404)
        self.assertEqual(join("nobody", "dgx7")[0], 404)
        self.assertEqual(join("dgx7", "dgx7")[0], 400)
        self.assertEqual(self.ask("POST", "/api/v1/nodes/dgx7/join", {"of": "x"})[0], 400)
        self.say(new)
        status, said = join("dgx7", "dgx7~2")  # the wrong way round: the newcomer is alive
        self.assertEqual((status, "is reporting" in said["detail"]), (409, True))
        third = self.node(self.h, "third")
        self.stop(new)
        status, said = join("third", "dgx7~2")
        self.assertEqual((status, said["detail"]), (409, "third and dgx7~2 sent samples at the same time: they are two machines"))
        self.say(new)
        self.run_ok(lib.MUSTER, "node", "join", "dgx7~2", "dgx7", "--hub", self.h.url, "--token", self.admin)
        self.assertSoon(self.names, {new.key: "dgx7", third.key: "third"})
        self.assertSoon(lambda: booked(new), ["kim"])
        self.assertSoon(lambda: "belonged_to" in self.one(new), False)
        self.again()
        self.assertSoon(self.names, {new.key: "dgx7", third.key: "third"})
        self.say(new)
        self.assertSoon(lambda: booked(new), ["kim"])
        self.h.stop()
        out = self.run_ok(lib.MUSTER, "export", "--data", self.path("data"), "--format", "csv", "--from", "-1h")
        self.assertIn("0.77", out)  # what the old one sent …
        self.assertEqual({line.split(",")[1] for line in out.splitlines() if line.startswith("samples,")}, {new.key, third.key})  # … is the new one's

    def test_samples_that_came_late_are_not_joined_over_another_nodes(self):
        old = self.node(self.h, "dgx8")
        self.stop(old)
        new = Node("dgx8", uuid=old.uuid)
        new.token = answer(self.post(self.h, new.first())[2])["token"]
        # It was offline for an hour, and both had samples then.
        self.assertEqual(self.post(self.h, new.stream(new.batch(at_ms=new.now() - 3600000)), new.token)[0], 200)
        refused = (409, "dgx8~2 and dgx8 sent samples at the same time: they are two machines")
        for _ in range(2):
            status, said = self.ask("POST", "/api/v1/nodes/dgx8~2/join", {"old": "dgx8"})
            self.assertEqual((status, said["detail"]), refused)
            self.again()  # and a hub that was started since knows it, too


class Names(NodesCase):
    def test_two_nodes_never_share_a_name_or_a_gpu(self):
        a = self.node(self.h, "dgx1")
        b = self.node(self.h, "dgx1", uuid=a.uuid)  # a copied disk image: the same name, the same GPU
        c = self.node(self.h, "dgx1")
        want = {a.key: "dgx1", b.key: "dgx1~2", c.key: "dgx1~3"}
        uuids = lambda: {n["id"]: n["devices"][0]["uuid"] for n in self.state(self.h)["nodes"]}
        apart = {a.key: a.uuid, b.key: a.uuid + "~2", c.key: c.uuid}
        self.assertSoon(lambda: (self.names(), uuids()), (want, apart))
        for n in (a, b, c):
            self.assertEqual(self.say(n)[0], 200)
        lib.wait_until("alerts", lambda: len(self.alerts()) == 3)
        self.assertIn("dgx1~2 calls itself dgx1, as another node does", self.alerts())
        self.assertIn(f"dgx1~2:0 is a GPU that another node reports, too: here it is {a.uuid}~2", self.alerts())
        self.assertIn("`muster node rename dgx1~2 NAME`", self.doctor())
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/dgx1~3", {"name": "silver"})[0], 200)
        want[c.key] = "silver"
        lib.wait_until("one alert less", lambda: len(self.alerts()) == 2)
        # each is found by its name, in filters, as NODE:N and in paths
        found = lambda query: [n["id"] for n in self.state(self.h, query)["nodes"]]
        for query, n in (("?node=dgx1~2", b), ("?node=dgx1", a), ("?filter=node:dgx1~2", b), (f"?filter=uuid:{a.uuid}~2", b)):
            self.assertEqual(found(query), [n.key], query)
        auth = {"Authorization": "Bearer " + self.token("member", "--person", "kim")}
        for devices, person in ((["dgx1~2:0"], b), ([a.uuid + "~2"], None), (["dgx1:0"], a)):
            status, _, body = lib.ask(self.h.url + "/api/v1/bookings", method="POST", body=json.dumps({"devices": devices, "for": "2h"}), headers=auth)
            self.assertEqual(status, 201 if person else 409, (devices, body))  # the second is the same GPU again
        booked = lambda: {n["id"]: [d.get("booking", {}).get("person") for d in n["devices"]] for n in self.state(self.h)["nodes"]}
        self.assertSoon(booked, {a.key: ["kim"], b.key: ["kim"], c.key: [None]})
        self.again()
        self.assertSoon(lambda: (self.names(), uuids()), (want, apart))
        b.pci = False  # as machines read by files
        for n in (c, b, a):  # in another order
            self.assertEqual(self.say(n)[0], 200)
        self.assertSoon(lambda: (self.names(), uuids()), (want, apart))
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/dgx1~2", {"name": "gold"})[0], 200)
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/silver", {"name": "dgx1"})[0], 409)
        self.assertEqual([self.ask("PATCH", "/api/v1/nodes/silver", {"name": name})[0] for name in ("a\u202eb", "a\u009bb", "a\u200eb")], [400] * 3)
        self.assertSoon(self.names, {**want, b.key: "gold"})
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/" + a.key, {"retired": True})[0], 200)
        self.assertEqual(self.say(b)[0], 200)
        self.assertSoon(lambda: uuids()[b.key], a.uuid)  # nobody else has it any more
        for _ in range(2):
            self.assertSoon(lambda: [d["uuid"] for d in self.one(b)["devices"]], [a.uuid])
            self.again()  # what is recalled began under the other uuid
            self.assertEqual(self.say(b)[0], 200)
        self.assertSoon(lambda: [(d["uuid"], d.get("lost")) for d in self.one(b)["devices"]], [(a.uuid, None)])

    def test_a_node_that_comes_back_keeps_its_gpus(self):
        a = self.node(self.h, "a")
        self.stop(a)
        b = Node("b", uuid=a.uuid)
        b.token = answer(self.post(self.h, b.first())[2])["token"]
        self.assertEqual(self.one(b)["devices"][0]["uuid"], a.uuid)
        status, _, body = lib.ask(self.h.url + "/api/v1/bookings", method="POST", body=json.dumps({"devices": [a.uuid], "for": "2h"}),
                                  headers={"Authorization": "Bearer " + self.token("member", "--person", "kim")})
        self.assertEqual(status, 201, body)
        self.again()
        booked = lambda n: self.one(n)["devices"][0].get("booking", {}).get("person")
        for _ in range(2):
            self.assertSoon(lambda: (booked(a), booked(b), self.one(b).get("belonged_to"), self.one(b)["devices"][0]["uuid"]), ("kim", None, "a", a.uuid))
            self.assertEqual(self.say(b)[0], 200)
        status, said = self.ask("POST", "/api/v1/nodes/b/join", {"old": "a"})
        self.assertEqual((status, "just started" in said["detail"]), (409, True))  # a may be about to speak
        self.assertEqual(self.say(a)[0], 200)
        self.assertEqual(self.say(b)[0], 200)
        self.assertSoon(lambda: [d["uuid"] for d in self.one(b)["devices"]], [a.uuid + "~2"])
        self.assertSoon(lambda: "belonged_to" in self.one(b), False)
        self.assertEqual([d["uuid"] for d in self.one(a)["devices"]], [a.uuid])

    def test_a_gpu_is_nobody_elses_by_being_called_an_instance(self):
        a = Node("a")
        mig = "MIG-" + a.key
        a.token = answer(self.post(self.h, a.stream(a.facts(more=[(mig, a.uuid)]), a.batch()))[2])["token"]
        other = self.node(self.h, "other")
        auth = {"Authorization": "Bearer " + self.token("member", "--person", "kim")}
        status, _, body = lib.ask(self.h.url + "/api/v1/bookings", method="POST", body=json.dumps({"devices": [mig, other.uuid], "for": "2h"}), headers=auth)
        self.assertEqual(status, 201, body)
        seen = lambda n: [(d["uuid"], d.get("parent"), d.get("booking", {}).get("person")) for d in self.one(n)["devices"]]
        whole, thief, copy, orphan = Node("whole", uuid=mig), Node("thief"), Node("copy", uuid=a.uuid), Node("orphan")
        told = {whole: [], thief: [(mig, thief.uuid), (other.uuid, thief.uuid)], copy: [(mig, a.uuid)], orphan: [(other.uuid, "GPU-of-nobody")]}
        want = {a: [(a.uuid, None, None), (mig, a.uuid, "kim")], other: [(other.uuid, None, "kim")], whole: [(mig + "~2", None, None)],
                thief: [(thief.uuid, None, None), (mig + "~3", thief.uuid, None), (other.uuid + "~2", thief.uuid, None)],
                copy: [(a.uuid + "~4", None, None), (mig + "~4", a.uuid + "~4", None)], orphan: [(orphan.uuid, None, None), (other.uuid + "~3", None, None)]}
        for n, more in told.items():
            n.token = answer(self.post(self.h, n.stream(n.facts(more=more), n.batch()))[2])["token"]
            self.assertSoon(lambda who=n: who.key in self.names() and seen(who), want[n], n.name)
        for _ in range(2):
            self.assertSoon(lambda: {n.name: seen(n) for n in want}, {n.name: v for n, v in want.items()})
            for n in want:
                self.assertEqual(self.post(self.h, n.stream(n.batch()), n.token)[0], 200)
            self.assertSoon(lambda: {n.name: seen(n) for n in want}, {n.name: v for n, v in want.items()})
            self.again()

    def test_a_retired_nodes_name_is_free(self):
        a, b = self.node(self.h, "dgx1"), self.node(self.h, "dgx1")
        rename = lambda node, name: self.ask("PATCH", "/api/v1/nodes/" + node, {"name": name})[0]
        self.assertEqual(rename("dgx1~2", "dgx1"), 409)
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/dgx1", {"retired": True})[0], 200)
        self.assertEqual(rename("dgx1~2", a.key), 409)  # its id is still its own
        self.run_ok(lib.MUSTER, "node", "rename", "dgx1~2", "dgx1", "--hub", self.h.url, "--token", self.admin)
        for _ in range(2):
            self.assertSoon(self.names, {b.key: "dgx1"})
            for n in (a, b):
                self.assertEqual(self.say(n)[0], 200)
            self.again()
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/" + a.key, {"retired": False})[0], 200)
        self.assertSoon(self.names, {a.key: "dgx1~2", b.key: "dgx1"})

    def test_a_silent_nodes_gpu_is_booked_there_however_few_another_brings(self):
        a, b = Node("a"), Node("b")
        more = [f"GPU-{i}-{a.key}" for i in range(3)]
        a.token = answer(self.post(self.h, a.stream(a.facts(more=more), a.batch()))[2])["token"]
        book = lambda uuid: lib.ask(self.h.url + "/api/v1/bookings", method="POST", body=json.dumps({"devices": [uuid], "for": "2h"}),
                                    headers={"Authorization": "Bearer " + self.token("member", "--person", "kim")})
        self.assertEqual(book(more[0])[0], 201)
        self.stop(a)
        take = [more[0], (more[1], b.uuid)]
        # its samples may be older than the other's first: it came second all the same
        b.token = answer(self.post(self.h, b.stream(b.facts(more=take), b.batch(at_ms=b.now() - 7200000), b.batch()))[2])["token"]
        booked = lambda n: {d["uuid"]: d.get("booking", {}).get("person") for d in self.one(n)["devices"]}
        self.assertSoon(lambda: booked(b), {b.uuid: None, more[0]: None, more[1]: None})
        self.assertSoon(lambda: "belonged_to" in self.one(b), False)
        status, _, body = book(more[1])  # of the two it is the one that had it
        self.assertEqual((status, json.loads(body)["node"]), (201, "a"))
        for _ in range(2):
            self.assertSoon(lambda: booked(a), {a.uuid: None, more[0]: "kim", more[1]: "kim", more[2]: None})
            self.assertSoon(lambda: booked(b), {b.uuid: None, more[0]: None, more[1]: None})
            self.assertEqual(self.post(self.h, b.stream(b.batch()), b.token)[0], 200)
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/a", {"retired": True})[0], 200)
        self.assertEqual(self.post(self.h, b.stream(b.batch()), b.token)[0], 200)
        self.assertSoon(lambda: booked(b), {b.uuid: None, more[0]: "kim", more[1]: "kim"})  # nobody else has them any more
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/" + a.key, {"retired": False})[0], 200)
        self.assertEqual(self.post(self.h, b.stream(b.batch()), b.token)[0], 200)
        self.assertSoon(lambda: booked(b), {b.uuid: None, more[0]: None, more[1]: None})
        self.assertSoon(lambda: booked(a), {a.uuid: None, more[0]: "kim", more[1]: "kim", more[2]: None})

    def test_a_relays_node_and_an_agent_are_told_apart(self):
        relay = self.token("relay")
        n = Node("gpu01", node_id=origin_id("ssh:gpu01"))
        self.assertEqual(lib.ask(self.h.url + "/api/v1/batches?origin=ssh:gpu01", method="POST", body=n.first(), headers={"Authorization": "Bearer " + relay})[0], 200)
        agent = self.node(self.h, "gpu01", uuid=n.uuid)
        self.assertSoon(self.names, {"ssh:gpu01": "gpu01", agent.key: "gpu01~2"})
        self.assertEqual(self.one(agent)["devices"][0]["uuid"], n.uuid + "~2")


if __name__ == "__main__":
    lib.main()
