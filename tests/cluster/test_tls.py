#!/usr/bin/python3
"""Hubs that speak TLS forward samples to each other: by the public key that each publishes in the store, or by a CA of one's own."""
import os
import signal

import lib
import postgres
import sender
import test_cluster


class Tls(test_cluster.Cluster):
    def open(self, n, *flags):
        self.ports = [lib.free_port() for _ in range(n)]
        super().open(n, *flags)

    def hub(self, i, *flags):
        h = self.start(lib.MUSTER, "hub", "--listen", f"127.0.0.1:{self.ports[i]}", "--data", self.path(f"data{i}"), "--store", self.pg.url, "--store-password-file", self.pg.password,
                       "--advertise", f"https://127.0.0.1:{self.ports[i]}", *test_cluster.BELIEVES, *flags)
        h.url = h.wait_line(r"https://127\.0\.0\.1:\d+").group(0)
        return h

    def send(self, h, util):
        frames = [self.box.batch(util=util)] if self.box.sent else [self.box.facts(), self.box.procs(), self.box.batch(util=util)]
        self.box.sent = True
        status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=self.box.stream(*frames),
                                  headers={"Authorization": "Bearer " + self.box.token, "Content-Type": "application/octet-stream"})
        self.assertEqual(status, 200, body)

    def make_node(self):
        self.box = sender.Node("dgx1")
        self.box.sent, self.box.token = False, self.token("agent")

    def util(self, h):
        got = [d["metrics"].get("util") for n in lib.ask_json(h.url + "/api/v1/state")["nodes"] for d in n["devices"]]
        return got[0] if got else None

    def assertForwards(self, to, util, *hubs):
        """What one hub gets these show. It is sent until they do: a hub learns of another some seconds after its start."""
        def shown():
            self.send(to, util)
            return all(self.util(h) == util / 10000 for h in hubs)
        lib.wait_until(f"all show {util}", shown, pause=0.3)

    def notice(self, h):
        return lib.ask(h.url + "/?width=240", headers={"User-Agent": "curl/8"})[2].decode()

    def assertNotice(self, h, *words):
        lib.wait_until("its screens say " + words[0], lambda: all(w in self.notice(h) for w in words))

    def test_their_keys_are_in_the_store_and_a_wrong_one_is_refused_with_its_reason(self):
        self.open(3, "--tls")
        a, b, c = self.hubs
        self.make_node()
        self.assertForwards(a, 4200, a, b, c)
        self.assertForwards(b, 4300, a, b, c)

        b.stop()  # it comes back with another key
        for name in ("tls.key", "tls.crt"):
            os.remove(self.path(f"data1/{name}"))
        b = self.hubs[1] = self.hub(1, "--tls")
        self.assertForwards(a, 4400, a, b, c)
        self.assertForwards(b, 4500, a, b, c)

        own = "sha256//" + "A" * 43 + "="
        right = self.pg.sql(f"SELECT pin FROM hub WHERE url = '{c.url}'")
        self.assertRegex(right, r"^sha256//[A-Za-z0-9+/]{43}=$")
        self.pg.sql(f"UPDATE hub SET pin = '{own}' WHERE url = '{c.url}'")
        self.assertNotice(a, f"hub {c.url} does not show what nodes send here: this hub refuses its certificate", "its public key is not the one that it published")
        a.wait_line(f"cannot forward samples to hub {c.url}: its public key is not the one that it published in the store")
        self.assertForwards(a, 4600, a, b)
        self.assertEqual(self.util(c), 0.45)
        self.assertNotIn("refuses", self.notice(c))  # c still trusts the others
        self.pg.sql(f"UPDATE hub SET pin = '{right}' WHERE url = '{c.url}'")
        a.wait_line(f"forwarding samples to hub {c.url} works again")
        self.assertForwards(a, 4700, a, b, c)
        lib.wait_until("no word of it is left", lambda: "refuses" not in self.notice(a))

    def certificate(self, ca, name):
        make = lambda *argv: self.run_ok("openssl", *argv)
        if not os.path.exists(self.path(ca + ".pem")):
            make("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.path(ca + ".key"), "-out", self.path(ca + ".pem"), "-subj", "/CN=" + ca, "-days", "2")
        make("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".csr"), "-subj", "/CN=" + name)
        with open(self.path("san"), "w", encoding="ascii") as f:
            f.write("subjectAltName=IP:127.0.0.1\n")
        make("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path(ca + ".pem"), "-CAkey", self.path(ca + ".key"), "-CAcreateserial", "-out", self.path(name + ".pem"), "-days", "2",
             "-extfile", self.path("san"))
        return "--tls-cert", self.path(name + ".pem"), "--tls-key", self.path(name + ".key")

    def test_a_ca_of_ones_own_works_by_keys_and_by_its_file(self):
        self.pg, self.ports = postgres.Postgres(self), [lib.free_port() for _ in range(3)]
        by_file = ("--hubs-ca-file", self.path("ours.pem"))
        a = self.hub(0, *self.certificate("ours", "a"), *by_file)
        b = self.hub(1, *self.certificate("ours", "b"))
        self.make_node()
        self.assertForwards(a, 4200, a, b)
        self.assertForwards(b, 4300, a, b)
        c = self.hub(2, *self.certificate("other", "c"))
        self.assertNotice(a, f"hub {c.url} does not show what nodes send here: this hub refuses its certificate: ", "unable to get local issuer certificate")
        self.assertForwards(c, 4400, a, b, c)

        self.certificate("ours", "c")  # another certificate, read at a reload
        c.p.send_signal(signal.SIGHUP)
        a.wait_line(f"forwarding samples to hub {c.url} works again")
        self.assertForwards(a, 4500, a, b, c)


if __name__ == "__main__":
    lib.main()
