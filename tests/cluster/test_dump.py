#!/usr/bin/python3
"""docs/backup.md: pg_dump beside a running hub, pg_restore into another server, and hubs there have all of it."""
import os
import subprocess

import lib
import postgres
import sender
import test_cluster


class Dump(test_cluster.Cluster):
    def tool(self, program, pg, *argv):
        done = subprocess.run([f"{postgres.BIN}/{program}", "-h", pg.dir, "-p", str(pg.port), "-U", "muster", *argv], env=dict(os.environ, PGPASSWORD=postgres.PASSWORD), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def past(self, h, node):
        return lib.ask(f"{h.url}/api/v1/history?device={node.uuid}&metric=util&from={node.began - 60000}&to={node.began + 60000}&step=1s&agg=avg")[2]

    def test_a_dump_in_another_server_has_everything(self):
        self.open(1)
        first, node, token = self.hubs[0], sender.Node("dgx1"), self.token("agent")
        node.began = test_cluster.now_ms() - 60000
        frames = [node.facts(), node.procs()] + [node.batch(at_ms=node.began + 1000 * i, util=100 * i) for i in range(20)]
        status, _, body = lib.ask(first.url + "/api/v1/batches", method="POST", body=node.stream(*frames), headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)
        kim = self.token("member", "--person", "kim")
        node.all = [node.uuid]
        status, row = self.book(first, kim, node)
        self.assertEqual(status, 201, row)
        before = lib.wait_until("it has the past", lambda: b"0.19" in (b := self.past(first, node)) and b)
        dump = self.path("dump")
        self.tool("pg_dump", self.pg, "-Fc", "-d", "postgres", "-f", dump)
        first.stop()
        self.pg.stop()
        self.pg = postgres.Postgres(self)
        self.tool("pg_restore", self.pg, "--no-owner", "-d", "postgres", dump)
        self.run_ok(lib.MUSTER, "store", "check", self.pg.url, "--password-file", self.pg.password)
        self.hubs = [self.hub(i + 1) for i in range(2)]
        for h in self.hubs:
            self.assertSoon(lambda h=h: self.past(h, node), before)
            self.assertSoon(lambda h=h: self.bookings(h), [(row["id"], "kim")])


if __name__ == "__main__":
    lib.main()
