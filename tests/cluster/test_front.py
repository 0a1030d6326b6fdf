#!/usr/bin/python3
"""What stands between hubs and their database, and before hubs, as packaging/cluster has it: pgbouncer, patroni with a synchronous standby, haproxy."""
import os
import signal
import time

import front
import lib
import postgres
import sender
import test_cluster


class Bouncer(test_cluster.Cluster):
    @front.bouncer_needed
    def test_two_hubs_work_through_a_pool_of_transactions(self):
        self.pg = postgres.Postgres(self)
        self.pool = front.Bouncer(self, self.pg)
        direct, self.pg.url = self.pg.url, self.pool.url
        lib.wait_until("pgbouncer answers", lambda: self.run_any(lib.MUSTER, "store", "init", self.pool.url, "--password-file", self.pg.password)[0] == 0)
        self.hubs = [self.hub(0, "--advertise", "http://127.0.0.1"), self.hub(1, "--advertise", "http://127.0.0.1")]
        lib.wait_until("all are known to each other", lambda: all(self.metric(h, "muster_hub_hubs") == 2 for h in self.hubs))
        a, b = self.hubs
        node, kim = self.node("dgx1"), self.token("member", "--person", "kim")
        status, row = self.book(a, kim, node)
        self.assertEqual(status, 201, row)
        self.assertSoon(lambda: self.bookings(b), [(row["id"], "kim")])
        self.assertEqual(self.book(b, kim, node)[0], 409)
        self.assertEqual(self.pg.sql("SELECT count(*), count(DISTINCT (node, run, number)) FROM batch"), "2|2")
        self.assertNotIn("prepared statement", a.text + b.text)
        self.assertLessEqual(int(self.pg.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'muster%'")), 3)
        # an old hub may go directly, beside one that goes through the pool
        self.pg.url = direct
        self.hubs.append(self.hub(2))
        self.assertSoon(lambda: self.bookings(self.hubs[2]), [(row["id"], "kim")])
        self.assertEqual(self.ask(self.hubs[2], "DELETE", f"/api/v1/bookings/{row['id']}", kim)[0], 200)
        self.assertSoon(lambda: (self.bookings(a), self.bookings(b)), ([], []))


class Ready(test_cluster.Cluster):
    def page(self, url):
        status, _, body = lib.ask(url + "/?width=200", headers={"User-Agent": "curl/8"})
        return status, "PostgreSQL is unreachable" in body.decode()

    @front.bouncer_needed
    @front.haproxy_needed
    def test_haproxy_sends_requests_to_hubs_that_have_their_store_and_to_any_when_none_has(self):
        self.pg = postgres.Postgres(self)
        pool, direct = front.Bouncer(self, self.pg), self.pg.url
        a = self.hub(0)
        self.pg.url = pool.url
        lib.wait_until("pgbouncer answers", lambda: self.run_any(lib.MUSTER, "store", "init", pool.url, "--password-file", self.pg.password)[0] == 0)
        b = self.hub(1)
        self.pg.url = direct
        for ends_tls in (False, True):
            proxy = front.Haproxy(self, [a, b], ends_tls)
            lib.wait_until("haproxy knows both", lambda: proxy.up("hubs") == proxy.up("running") == {"hub1", "hub2"})
            self.assertEqual({self.page(proxy.url) for _ in range(10)}, {(200, False)})
        pool.end()  # b alone loses its store
        lib.wait_until("b says so", lambda: self.page(b.url) == (200, True) and lib.ask(b.url + "/readyz")[0] == 503)
        lib.wait_until("haproxy knows it", lambda: proxy.up("hubs") == {"hub1"})
        self.assertEqual(proxy.up("running"), {"hub1", "hub2"})
        self.assertEqual({self.page(proxy.url) for _ in range(20)}, {(200, False)})
        self.pg.stop(signal.SIGQUIT)
        lib.wait_until("none is ready", lambda: proxy.up("hubs") == set())
        self.assertSoon(lambda: {self.page(proxy.url) for _ in range(4)}, {(200, True)})


@front.patroni_needed
class Patroni(test_cluster.Cluster):
    def send(self, h, node, token, *frames):
        head = {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"}
        return lib.ask(h.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers=head)[0]

    @lib.long
    @front.haproxy_needed
    def test_the_primary_dies_and_hubs_go_on_with_the_standby(self):
        etcd = front.Etcd(self)
        dbs = [front.Patroni(self, etcd, "db1")]
        lib.wait_until("the first leads", lambda: dbs[0].cluster().get("db1") == ("leader", "running"))
        dbs.append(front.Patroni(self, etcd, "db2"))
        lib.wait_until("the second follows", lambda: dbs[0].cluster().get("db2", ("", ""))[0] == "sync_standby")
        dbs[0].sql(f"CREATE ROLE muster LOGIN PASSWORD '{postgres.PASSWORD}'")
        dbs[0].sql("CREATE DATABASE muster OWNER muster")

        class Both:  # what Cluster needs of a server
            url = "postgres://muster@" + ",".join(f"127.0.0.1:{d.port}" for d in dbs) + "/muster"
            password = os.path.join(self.path("secret"))
        with open(Both.password, "w", opener=lambda p, f: os.open(p, f, 0o600), encoding="utf-8") as f:
            f.write(postgres.PASSWORD)
        self.pg = Both
        self.hubs = [self.hub(i, "--advertise", "http://127.0.0.1") for i in range(3)]
        proxy = front.Haproxy(self, self.hubs)
        node, token, kim = sender.Node("dgx1"), self.token("agent"), self.token("member", "--person", "kim")
        node.all = [node.uuid]
        facts, procs = node.facts(), node.procs()
        one = node.batch(util=4200)
        lib.wait_until("it is taken", lambda: self.send(self.hubs[0], node, token, facts, procs, one) == 200)
        status, row = self.book(self.hubs[0], kim, node)
        self.assertEqual(status, 201, row)

        died = time.monotonic()
        dbs[0].kill9()
        lib.wait_until("the standby was promoted", lambda: dbs[1].cluster().get("db2") == ("leader", "running"))
        two = node.batch(util=4300)
        for h in self.hubs:
            lib.wait_until("it takes batches again", lambda h=h: self.send(h, node, token, one, two) == 200)
        print(f"{time.monotonic() - died:.0f} s until all hubs took batches again", flush=True)
        self.assertEqual(dbs[1].sql("SELECT count(*), count(DISTINCT (node, run, number)) FROM batch", "muster"), "2|2")
        for h in self.hubs:
            self.assertSoon(lambda h=h: self.bookings(h), [(row["id"], "kim")])
        self.leader()
        self.assertSoon(lambda: lib.ask(proxy.url + "/api/v1/summary")[0], 200)

        dbs[0].go()  # the machine is back, and follows
        lib.wait_until("the old one follows", lambda: dbs[1].cluster().get("db1", ("", ""))[0] == "sync_standby")
        self.hubs[0].p.send_signal(signal.SIGKILL)
        lib.wait_until("haproxy has found another", lambda: lib.ask(proxy.url + "/api/v1/summary")[0] == 200)


if __name__ == "__main__":
    lib.main()
