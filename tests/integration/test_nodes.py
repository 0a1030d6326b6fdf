#!/usr/bin/python3
"""Which nodes a hub has: how many are let in, what becomes of those that never said anything."""
import json
import os
import sqlite3
import threading

import lib
from sender import Node, answer
from test_hub import HubCase


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

    def test_nodes_that_never_sent_a_sample_are_deleted_with_their_tokens(self):
        h = self.hub()
        real, ghosts = self.node(h, "real"), [Node(f"ghost{i}") for i in range(3)]
        for g in ghosts:
            g.token = answer(self.post(h, g.stream(g.facts()))[2])["token"]
        admin = self.token("admin")
        member = self.token("member", "--person", "kim")
        flags = lambda: {n["name"]: n.get("never_sampled", False) for n in self.state(h)["nodes"]}
        self.assertEqual(flags(), {"real": False, "ghost0": True, "ghost1": True, "ghost2": True})
        status, _, body = self.admin(h, "DELETE", "/api/v1/nodes/real", token=admin)
        self.assertEqual((status, "retire it" in json.loads(body)["detail"]), (409, True))
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost0", token=member)[0], 403)
        self.assertEqual(lib.ask(h.url + "/api/v1/nodes/ghost0", method="DELETE")[0], 401)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/nobody", token=admin)[0], 404)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost0", token=admin)[0], 200)
        self.run_ok(lib.MUSTER, "node", "delete", "ghost1", ghosts[2].key, "--hub", h.url, "--token", admin)
        self.assertEqual(flags(), {"real": False})
        self.assertEqual(self.post(h, ghosts[0].stream(ghosts[0].batch()), ghosts[0].token)[0], 401)
        back = self.post(h, ghosts[1].first())  # the enroll token lets a machine in again that is really there
        self.assertEqual(back[0], 200)
        h.stop()
        h = self.hub()
        self.assertEqual(flags(), {"real": False, "ghost1": False})
        self.assertEqual(self.post(h, ghosts[0].stream(ghosts[0].batch()), ghosts[0].token)[0], 401)
        self.assertEqual(self.admin(h, "DELETE", "/api/v1/nodes/ghost1", token=admin)[0], 409)
        self.assertEqual(self.post(h, real.stream(real.batch()), real.token)[0], 200)

    def test_an_agent_that_comes_too_early_keeps_its_batches(self):
        h = self.hub()
        n = 0
        while self.post(h, Node(f"g{n}").stream())[0] != 429:  # the burst is spent
            n += 1
        with open(self.path("token"), "w") as f:
            f.write(h.enroll)
        with open(self.path("stub"), "w") as f:
            f.write("gpus 1\n")
        agent = self.start(lib.AGENT, env={"MUSTER_STATE_DIR": self.path("state"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub"),
                                           "MUSTER_TOKEN_FILE": self.path("token"), "MUSTER_NAME": "late", "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": "500ms",
                                           "MUSTER_COLLECTOR": "nvml", "MUSTER_HUB": h.url})
        late = lambda: next((x for x in self.state(h)["nodes"] if x["name"] == "late"), None)
        lib.wait_until("the node", lambda: late() and not late().get("never_sampled"))
        lib.wait_until("nothing left on its disk", lambda: not late().get("backlog"))
        agent.stop()


if __name__ == "__main__":
    lib.main()
