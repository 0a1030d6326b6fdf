#!/usr/bin/python3
"""Several real hubs on one real PostgreSQL server: every hub knows the GPUs of every node, whichever hub took its batches and whichever hub stops."""
import json

import lib
import same_answers
import sender
from clustercase import Cluster, now_ms

ADVERTISE = ("--advertise", "http://127.0.0.1")


class Facts(Cluster):
    maxDiff = None

    def post(self, h, node, *frames, **hello):
        status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=node.stream(*frames, **hello),
                                  headers={"Authorization": "Bearer " + node.token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)

    def nodes_at(self, h, names, **batch):
        """New nodes, whose batches this hub takes."""
        out = []
        for name in names:
            node = sender.Node(name)
            node.token = self.token("agent")
            self.post(h, node, node.facts(), node.procs(), node.batch(**batch))
            out.append(node)
        return out

    def devices(self, h):
        _, got = self.ask(h, "GET", "/api/v1/state")
        return {n["name"]: len(n["devices"]) for n in got["nodes"]}

    def shown_by_all(self, names):
        want = {name: 1 for name in names}
        for h in self.hubs:
            self.assertSoon(lambda: self.devices(h), want)

    def without_facts(self):
        return self.pg.sql("SELECT count(*) FROM nodes WHERE facts = 0")

    def past(self, h, node):
        """Values of the past of its GPU."""
        status, _, body = lib.ask(h.url + f"/api/v1/history?device={node.uuid}&metric=util&from={now_ms() - 600000}&to={now_ms()}&step=1h&agg=count")
        return sum(v or 0 for s in json.loads(body)["series"] for v in s["v"]) if status == 200 else status

    def again(self, i):
        """One hub of a rolling restart."""
        self.hubs[i].stop()
        self.hubs[i] = self.hub(i, *ADVERTISE)
        lib.wait_until("all are known to each other", lambda: all(self.metric(h, "muster_hub_hubs") == len(self.hubs) for h in self.hubs))

    def test_a_hub_that_stops_leaves_the_facts_of_other_hubs_nodes(self):
        self.open(3, *ADVERTISE)
        nodes = [n for i, h in enumerate(self.hubs) for n in self.nodes_at(h, [f"n{i}{k}" for k in range(5)])]
        self.shown_by_all([n.name for n in nodes])
        for n, h in ((n, self.hubs[i // 5]) for i, n in enumerate(nodes)):  # so that each hub has something to write when it ends
            self.post(h, n, n.batch())
        for h in self.hubs:
            self.assertSoon(lambda: sum(self.past(h, n) for n in nodes), 30)
        self.hubs[0].stop()
        self.assertEqual(self.without_facts(), "0")
        self.assertEqual(self.pg.sql("SELECT count(*) FROM node_spans WHERE facts = 0"), "0")

    def test_a_node_that_moves_and_one_that_is_away_keep_their_facts(self):
        self.open(3, *ADVERTISE)
        away, = self.nodes_at(self.hubs[1], ["away"])
        move, = self.nodes_at(self.hubs[0], ["move"])
        self.shown_by_all(["away", "move"])
        new_facts = move.facts(note="another driver")
        self.post(self.hubs[0], move, new_facts, move.batch())
        facts = lambda: self.pg.sql("SELECT count(DISTINCT id) FROM nodes JOIN blobs ON node = key AND id = facts")
        newest = lambda: self.pg.sql("SELECT count(*) FROM nodes JOIN batch_node n ON n.key = nodes.key JOIN batch b ON b.node = n.id AND b.facts = nodes.facts AND b.number = 2")
        self.assertSoon(newest, "1")
        self.post(self.hubs[1], move, move.batch())  # its agent goes to the next hub
        self.post(self.hubs[1], move, move.batch())
        self.assertSoon(lambda: [self.past(h, move) for h in self.hubs], [4] * 3)
        for i in (0, 1, 2, 0, 1, 2):  # two rolling restarts
            self.again(i)
            self.assertEqual((self.without_facts(), facts(), newest()), ("0", "2", "1"), f"after hub {i}")
        self.shown_by_all(["away", "move"])
        self.assertEqual([self.past(h, away) for h in self.hubs], [1] * 3)

    def test_facts_that_a_database_lost_are_found_again(self):
        self.open(3, *ADVERTISE)
        nodes = [n for i, h in enumerate(self.hubs) for n in self.nodes_at(h, [f"n{i}"])]
        names = [n.name for n in nodes]
        self.shown_by_all(names)
        was = self.pg.sql("SELECT key, facts FROM nodes ORDER BY key")
        for h in self.hubs:
            h.stop()
        self.pg.sql("UPDATE nodes SET facts = 0, last_ms = last_ms + 60000")
        self.pg.sql(f"DELETE FROM node_spans WHERE node = '{nodes[0].key}' AND facts <> 0")  # known by its batches alone
        self.assertEqual(self.without_facts(), "3")
        self.hubs = [self.hub(i, *ADVERTISE) for i in range(3)]
        self.assertEqual(self.pg.sql("SELECT key, facts FROM nodes ORDER BY key"), was)
        self.shown_by_all(names)
        self.assertEqual([self.past(h, n) for h in self.hubs for n in nodes], [1] * 9)
        self.assertEqual(self.pg.sql(f"SELECT count(*) FROM node_spans WHERE facts = 0 AND node <> '{nodes[0].key}'"), "0")

    def test_all_hubs_give_the_same_answers_after_each_was_killed(self):
        self.open(3, *ADVERTISE)
        began = now_ms() - 10800000
        nodes = [n for i, h in enumerate(self.hubs) for n in self.nodes_at(h, [f"n{i}{k}" for k in range(2)], at_ms=began)]
        self.shown_by_all([n.name for n in nodes])
        for i, n in enumerate(nodes):  # lee in an hour that is over, so that there are averages
            self.post(self.hubs[i // 2], n, n.procs((7, "lee", "train", "train")), *(n.batch(at_ms=began + k * 60000) for k in range(1, 10)))
        for i in range(3):
            self.hubs[i].kill9()
            self.again(i)
            for k, node in enumerate(nodes):  # to the hubs that are there, and to the one that came back
                self.post(self.hubs[(i + k) % 3], node, node.procs((100 + k, "kim", "train", "train")), node.batch(util=5000 if k % 2 else 0))
        for h in self.hubs:
            self.assertSoon(lambda: sum(self.past(h, n) for n in nodes), 18)
            self.assertSoon(lambda: any(p["person"] == "lee" and p.get("ema", {}).get("24h", 0) > 0.1 for p in self.ask(h, "GET", "/api/v1/people?recent=true")[1]), True)
        self.assertEqual(same_answers.differences([h.url for h in self.hubs], began, now_ms(), self.token("admin")), {})

    def silent_nodes(self, *flags):
        """Nodes that send nothing any more, and of which no batch is left; then two hubs are restarted, one after the other. Each time the URLs of all hubs."""
        self.open(3, *ADVERTISE, *flags)
        nodes = [n for i, h in enumerate(self.hubs) for n in self.nodes_at(h, [f"n{i}{k}" for k in range(2)], util=0)]
        self.shown_by_all([n.name for n in nodes])
        for i, n in enumerate(nodes):
            self.post(self.hubs[i // 2], n, n.procs((100, "kim", "train", "train")), n.batch(util=0, more={9: 4100 + i}))
        self.post(self.hubs[1], nodes[2], nodes[2].procs(), nodes[2].batch(util=0, mem=0), state=5, why="the driver is away")
        yield [h.url for h in self.hubs]
        self.pg.sql("DELETE FROM batch")
        for i in (0, 1):
            self.hubs[i].kill9()
            self.hubs[i] = self.hub(i, *ADVERTISE, *flags)
            lib.wait_until("all are known to each other", lambda: all(self.metric(h, "muster_hub_hubs") == 3 for h in self.hubs))
            yield [h.url for h in self.hubs]

    def states(self, h, of):
        return sorted({x["state"] for n in self.ask(h, "GET", "/api/v1/state")[1]["nodes"] for x in of(n)})

    def test_nodes_that_send_nothing_any_more_are_the_same_at_a_hub_that_starts(self):
        began = now_ms() - 60000
        for urls in self.silent_nodes():
            for h in self.hubs:
                self.assertSoon(lambda: self.states(h, lambda n: n["devices"]), ["free", "held"])
            self.assertEqual(same_answers.differences(urls, began, now_ms(), self.token("admin"), 15), {})

    def test_nodes_that_are_down_are_the_same_at_a_hub_that_starts(self):
        began = now_ms() - 60000
        for urls in self.silent_nodes("--rule-stale-after", "3s", "--rule-down-after", "6s"):
            for h in self.hubs:
                self.assertSoon(lambda: self.states(h, lambda n: [n]), ["down"])
            self.assertEqual(same_answers.differences(urls, began, now_ms(), self.token("admin"), 15), {})

    def test_a_name_given_at_one_hub_is_not_taken_back_by_the_hub_of_the_node(self):
        self.open(2, *ADVERTISE)
        a, b = self.hubs
        node, = self.nodes_at(a, ["dgx1"])
        self.shown_by_all(["dgx1"])
        admin = self.token("admin")
        self.pg.sql("UPDATE nodes SET name = 'gold'")  # as another hub writes it, before this one hears of it
        a.stop()
        self.assertEqual(self.pg.sql("SELECT name FROM nodes"), "gold")
        self.assertSoon(lambda: self.devices(b), {"gold": 1})
        self.assertEqual(self.ask(b, "PATCH", "/api/v1/nodes/gold", admin, {"name": "silver", "maintenance": True})[0], 200)
        self.assertSoon(lambda: self.pg.sql("SELECT name, maintenance FROM nodes WHERE facts <> 0"), "silver|1")


if __name__ == "__main__":
    lib.main()
