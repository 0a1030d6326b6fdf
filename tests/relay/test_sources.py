#!/usr/bin/python3
"""Sources of names against servers, files and programs: lists come, change, fail and come back."""
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import unittest

import consul
import lib

SHOW = os.path.join(lib.BIN, "tool", "sourceshow")


class Sources(lib.Case):
    def show(self, *args, env=None):
        p = lib.Process([SHOW, *args, "proxy=none"], env=env)
        self.addCleanup(p.end)
        return p

    def consul(self, **kw):
        c = consul.Consul(**kw)
        self.addCleanup(lambda: c.up and c.stop())
        return c

    def path(self, name, text=None, mode=0o644):
        p = os.path.join(self.dir, name)
        if text is not None:
            os.makedirs(os.path.dirname(p), exist_ok=True)
            with open(p + ".new", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(p + ".new", mode)
            os.rename(p + ".new", p)
        return p

    # ---- Consul ----
    def test_consul_nodes_come_and_go(self):
        c = self.consul()
        c.register("gpu01", "10.0.0.1", team="vision")
        p = self.show(f"consul:{c.url}/v1/catalog/service/gpu")
        p.wait_line(r"^list n=1 gpu01@10.0.0.1:8114\{consul_dc=dc1,consul_service=gpu,team=vision\} \| $")
        lib.wait_until("a held question", lambda: any("index" in q for _, q in c.asked))
        c.register("gpu02", "10.0.0.2")
        p.wait_line(r"^list n=2 gpu01@.* gpu02@10.0.0.2:8114")
        c.deregister("gpu01")
        p.wait_line(r"^list n=1 gpu02@")
        c.register("web", "10.0.0.9", service="web")  # the index moves, the list does not
        lib.wait_until("the next held question", lambda: any(q.get("index") == str(c.index) for _, q in list(c.asked)))
        self.assertEqual(len(p.lines), 3)
        self.assertEqual(p.stop(), 0)

    def test_consul_health_shows_who_is_ill(self):
        c = self.consul()
        c.register("gpu01", "10.0.0.1", status="critical")
        c.register("gpu02", "10.0.0.2")
        self.show(f"consul:{c.url}/v1/health/service/gpu", "only=gpu*", "user=kim").wait_line(
            r"n=2 kim/gpu01@10.0.0.1:8114\{consul_dc=dc1,consul_health=critical,.*kim/gpu02@.*consul_health=passing")
        self.show(f"consul:{c.url}/v1/health/service/gpu?passing").wait_line(r"list n=1 gpu02@")
        self.show(f"consul:{c.url}/v1/health/service/gpu", "only=*01,x").wait_line(r"list n=1 gpu01@")
        self.show(f"consul:{c.url}/v1/health/service/none").wait_line(r"^list n=0 \| $")

    def test_consul_index_that_goes_back_is_dropped(self):
        c = self.consul()
        c.set_index(1000)
        c.register("gpu01", "10.0.0.1")
        p = self.show(f"consul:{c.url}/v1/catalog/service/gpu")
        p.wait_line(r"n=1")
        lib.wait_until("a held question", lambda: c.asked[-1][1].get("index") == "1001")
        n = len(c.asked)
        c.set_index(5, {("gpu", "gpu07"): ("10.0.0.7", 1, "passing", {})})
        p.wait_line(r"^list n=1 gpu07@")
        lib.wait_until("two questions", lambda: len(c.asked) >= n + 2)
        self.assertNotIn("index", c.asked[n][1])
        self.assertEqual(c.asked[n + 1][1]["index"], "5")
        self.assertNotIn("0", [q.get("index") for _, q in c.asked])

    def test_consul_that_fails_keeps_its_last_list(self):
        c = self.consul()
        c.register("gpu01", "10.0.0.1")
        p = self.show(f"consul:{c.url}/v1/catalog/service/gpu")
        p.wait_line(r"^list n=1")
        c.set(fail=(500, "No cluster leader"))
        p.wait_line(r"^failing n=1 gpu01@10.0.0.1:8114\S* \| Consul answers 500: No cluster leader$")
        c.set(fail=None, raw=b'[{"Node": "gpu0')
        p.wait_line(r"^failing n=1 gpu01@\S* \| Consul's answer is not JSON")
        c.set(raw=None)
        lib.wait_until("well again", lambda: p.lines[-1].startswith("list n=1 gpu01@"))
        c.stop()
        p.wait_line(r"^failing n=1 gpu01@\S* \| Consul does not answer: ")
        c.set_index(3)
        c.start()
        c.register("gpu02", "10.0.0.2")
        p.wait_line(r"^list n=2")

    def test_consul_tokens(self):
        c = self.consul(token="s3cret")
        c.register("gpu01", "10.0.0.1")
        p = self.show(f"consul:{c.url}/v1/catalog/service/gpu", "token=wrong")
        p.wait_line(r"^failing n=0 \| Consul answers 403: Permission denied.*\(is the token right, and may it read this\?\)$")
        c.filtered = True
        self.show(f"consul:{c.url}/v1/catalog/service/gpu", "token=s3cret").wait_line(r"^list n=1.* \| Consul's token sees only a part of the list$")

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_consul_over_tls(self):
        cert, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "36500",
                        "-subj", "/CN=consul", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        c = self.consul(tls=(cert, key))
        c.register("gpu01", "10.0.0.1")
        self.show(f"consul:{c.url}/v1/catalog/service/gpu", "ca_file=" + cert).wait_line(r"^list n=1 gpu01@")
        self.show(f"consul:{c.url}/v1/catalog/service/gpu").wait_line(r"^failing n=0 \| Consul does not answer: .*certificate")

    def test_consul_old_file_and_a_server_without_indexes(self):
        c = self.consul()
        c.no_index = True
        c.register("gpu01", "10.0.0.1")
        old = self.path("fetch_stats_conf.json", json.dumps({"CONSUL_SERVICE_URI": f"{c.url}/v1/catalog/service/gpu"}))
        p = self.show("consul:" + old, "every=200ms")
        p.wait_line(r"^list n=1")
        c.register("gpu02", "10.0.0.2")
        p.wait_line(r"^list n=2")
        self.assertFalse(any("index" in q for _, q in c.asked))

    # ---- Prometheus ----
    def test_files_of_targets(self):
        self.path("sd/a.json", '[{"targets": ["gpu01:9400"], "labels": {"rack": "r1"}}]')
        p = self.show(f"file_sd:{self.dir}/sd/*.json", "every=100ms")
        p.wait_line(r"^list n=1 gpu01@gpu01:9400\{rack=r1\} \| $")
        self.path("sd/b.json", '[{"targets": ["gpu02", "-x"]}]')
        p.wait_line(r"^list n=2 .*gpu02@gpu02:0 \| 1 of its names cannot be hosts and are left out$")
        self.path("sd/b.json", '[{"targets": ')
        p.wait_line(r"^failing n=2 .* \| .*/sd/b.json: the list of targets is not JSON")
        self.path("sd/b.json", "[]")
        lib.wait_until("well again", lambda: p.lines[-1].startswith("list n=1 gpu01@"))
        self.path("t.yml", "- targets: [gpu05]\n  labels: {rack: r5}\n")
        self.show(f"file_sd:{self.dir}/t.yml").wait_line(r"^list n=1 gpu05@gpu05:0\{rack=r5\}")
        self.show(f"file_sd:{self.dir}/none.json").wait_line(r"^failing n=0 \| there is no file")

    def test_an_address_with_targets(self):
        state = {"answer": (200, b'[{"targets": ["gpu01:9400"]}]'), "heads": []}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                state["heads"].append(dict(self.headers))
                status, body = state["answer"]
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        p = self.show(f"http_sd:http://127.0.0.1:{server.server_address[1]}/sd", "every=100ms", "token=abc")
        p.wait_line(r"^list n=1 gpu01@gpu01:9400 \| $")
        self.assertEqual(state["heads"][0]["Authorization"], "Bearer abc")
        self.assertEqual(state["heads"][0]["X-Prometheus-Refresh-Interval-Seconds"], "1")
        state["answer"] = (302, b"")
        p.wait_line(r"^failing n=1 gpu01@\S+ \| the list's server answers 302 \(redirects are not followed")
        state["answer"] = (200, b"x" * (17 << 20))
        p.wait_line(r"^failing n=1 gpu01@\S+ \| the list's server does not answer: the answer is longer than 16777216 bytes")

    # ---- ssh's configuration, Slurm, DNS ----
    def test_hosts_of_an_ssh_configuration(self):
        self.path("conf.d/lab", "Host gpu02\n  Include lab\n")  # itself: ends by depth
        config = self.path("config", "Include conf.d/*\nHost gpu01 *.x\n")
        p = self.show("ssh_config:" + config, "every=100ms")
        p.wait_line(r"^list n=2 gpu01@gpu01:0 gpu02@gpu02:0 \| $")
        os.unlink(config)
        p.wait_line(r"^failing n=2 .* \| cannot open")
        self.path("config", "Host gpu03\nInclude config\n")
        p.wait_line(r"^list n=1 gpu03@")

    def test_nodes_of_slurm(self):
        fake = self.path("sinfo", '#!/bin/sh\n[ "$*" = "-h -N -o %N %G %t -p batch" ] && [ "$LC_ALL" = C ] || { echo "odd: $*" >&2; exit 3; }\n'
                         'cat "$(dirname "$0")/out" && exit 0\necho "slurm_load_partitions: Unable to contact slurm controller" >&2\nexit 1\n', 0o755)
        out = self.path("out", "gpu01 gpu:h200:8 mix\ngpu01 gpu:h200:8 mix\ncpu01 (null) idle\n")
        p = self.show("sinfo:batch", "program=" + fake, "every=100ms")
        p.wait_line(r"^list n=1 gpu01@gpu01:0\{slurm_gres=gpu:h200:8,slurm_state=mix\} \| $")
        os.unlink(out)
        p.wait_line(r"^failing n=1 gpu01@\S+ \| .*sinfo: slurm_load_partitions: Unable to contact slurm controller$")
        self.show("sinfo:all", "program=/does/not/exist").wait_line(r"^failing n=0 \| /does/not/exist could not be started: is it installed\?$")
        slow = self.path("slow", '#!/bin/sh\ntouch "$0.began"\nexec sleep 600\n', 0o755)
        q = self.show("sinfo:all", "program=" + slow)
        lib.wait_until("it runs", lambda: os.path.exists(slow + ".began"))
        self.assertEqual(q.stop(), 0)  # closing does not wait for it

    def test_srv_records(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 0))
        self.addCleanup(s.close)
        state = {"targets": [b"gpu01", b"gpu02"], "rcode": 0}

        def serve():
            while True:
                try:
                    q, who = s.recvfrom(4096)
                except OSError:
                    return
                if not q:
                    return
                end = q.index(b"\0", 12) + 5
                rr = b"".join(b"\xc0\x0c\0\x21\0\x01\0\0\0\x05" + struct.pack("!H", 8 + len(t)) + struct.pack("!HHH", 1, 1, 8114) + bytes([len(t)]) + t + b"\0"
                              for t in state["targets"])
                s.sendto(q[:2] + bytes([0x81, 0x80 | state["rcode"], 0, 1, 0, len(state["targets"]), 0, 0, 0, 0]) + q[12:end] + rr, who)

        t = threading.Thread(target=serve, daemon=True)
        t.start()
        self.addCleanup(lambda: s.sendto(b"", s.getsockname()))
        p = self.show(f"dns_srv:_muster._tcp.example@127.0.0.1:{s.getsockname()[1]}", "every=100ms")
        p.wait_line(r"^list n=2 gpu01@gpu01:8114 gpu02@gpu02:8114 \| $")
        state["targets"] = [b"gpu02"]
        p.wait_line(r"^list n=1 gpu02@")
        state.update(targets=[], rcode=3)
        p.wait_line(r"^failing n=1 gpu02@\S+ \| there is no SRV record of that name$")
        p.wait_line(r"^list n=0 \| there is no such name$")

    # ---- in use: a hub's own relay ----
    def test_a_hub_reads_what_consul_names(self):
        c = self.consul(token="s3cret")
        c.register("gpu01", "10.0.0.1")
        c.register("web01", "10.0.0.9")
        ssh = self.path("ssh", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\necho "ssh: connect to host $2 port 22: Connection refused" >&2\nexit 255\n', 0o755)
        token = self.path("token", "s3cret\n", 0o600)
        hub = self.start_hub("--sources", f"consul:{c.url}/v1/health/service/gpu token_file={token}", "--source-only", "gpu*", "--nodes", "fixed", "--ssh-program", ssh)

        def nodes():
            return {n["name"]: n["reason"] for n in lib.ask_json(hub.url + "/api/v1/nodes")}

        def wait(name, words):
            try:
                lib.wait_until("x", lambda: words in (nodes().get(name) or ""))
            except AssertionError:
                raise AssertionError(f"{name}: {words}: {nodes()}\n{hub.text}") from None
        wait("gpu01", "10.0.0.1 refuses connections")
        wait("fixed", "fixed refuses connections")
        c.register("gpu02", "10.0.0.2")
        wait("gpu02", "10.0.0.2 refuses connections")
        c.deregister("gpu01")
        wait("gpu01", "unlisted")
        c.stop()
        hub.wait_line(r"consul:\S+: Consul does not answer: .*; its 1 machine stays as before")
        words = "a source of nodes fails, its one node stays as it is: consul:http://127.0.0.1"
        lib.wait_until("every screen says so", lambda: words in lib.ask_json(hub.url + "/api/v1/state").get("notice", ""))
        self.assertIn(words, lib.ask(hub.url + "/?term=true")[2].decode())
        self.assertIn(words, str(self.run_any(lib.MUSTER, "ls", "--hub", hub.url)))
        said = lib.ask_json(hub.url + "/api/v1/sources")
        self.assertEqual([(s["way"], s["nodes"], s["failing"]) for s in said], [("ssh", 1, True)])
        self.assertIn("Consul does not answer", said[0]["error"])
        wait("gpu02", "10.0.0.2 refuses connections")
        c.nodes.clear()
        c.start()
        c.register("gpu01", "10.0.0.1")
        wait("gpu01", "10.0.0.1 refuses connections")
        wait("gpu02", "unlisted")
        lib.wait_until("nothing is said any more", lambda: "notice" not in lib.ask_json(hub.url + "/api/v1/state"))
        self.assertEqual([s["failing"] for s in lib.ask_json(hub.url + "/api/v1/sources")], [False])
        status, _, _ = lib.ask(hub.url + "/api/v1/sources", "POST", b"[]", {"Authorization": "Bearer " + self.token("member", "--person", "mei")})
        self.assertEqual(status, 403)
        relay = {"Authorization": "Bearer " + self.token("relay")}
        for bad in (b"", b"{}", b"[1]", b'[{"source": 1}]', b'[{"source": "x", "nodes": -1}]', b"[" * 5000):
            self.assertEqual(lib.ask(hub.url + "/api/v1/sources", "POST", bad, relay)[0], 400, bad)
        self.assertEqual(sorted(nodes()), ["fixed", "gpu01", "gpu02"])
        self.assertEqual(hub.stop(), 0)

    def test_labels_reach_every_screen(self):
        """What sources say of a node is in the state, in `muster ls` and in filters, follows the source, and is told again to a hub that was started again."""
        c = self.consul()
        c.register("gpu01", "10.0.0.1", team="vision", note="<img src=x onerror=alert(1)>")
        self.path("sd.json", '[{"targets": ["gpu01", "gpu02:9400"], "labels": {"rack": "a1", "team": "sound"}}, {"targets": ["gpu03"]}]')
        ssh = self.path("ssh", "#!/bin/sh\nexec sleep 600\n", 0o755)
        port = lib.free_port()
        args = ("--listen", f"127.0.0.1:{port}", "--data", os.path.join(self.dir, "data"))
        hub = self.start(lib.MUSTER, "hub", *args)
        url = f"http://127.0.0.1:{port}"
        hub.wait_line(url)
        token = self.path("relay.token", self.token("relay") + "\n", 0o600)
        relay = self.start(lib.MUSTER, "relay", "--hub", url, "--token-file", token, "--sources", f"consul:{c.url}/v1/health/service/gpu",
                           "--sources", f"file_sd:{self.dir}/sd.json", "--nodes", "gpu02", "--ssh-program", ssh, "--sandbox")
        relay.wait_line(r"sandbox: (writes are limited|this kernel has no Landlock)")

        def labels(query=""):
            try:
                return {n["name"]: n.get("labels") for n in lib.ask_json(url + "/api/v1/state" + query)["nodes"]}
            except OSError:
                return None

        def expect(**want):
            try:
                lib.wait_until("labels", lambda: labels() == want)
            except AssertionError:
                raise AssertionError(f"{labels()}\n{hub.text}\n{relay.text}") from None
        one = {"consul_dc": "dc1", "consul_health": "passing", "consul_service": "gpu", "note": "<img src=x onerror=alert(1)>", "rack": "a1", "team": "vision"}
        two = {"rack": "a1", "team": "sound"}
        expect(gpu01=one, gpu02=two, gpu03=None)
        self.assertEqual(sorted(labels("?filter=label:rack")), ["gpu01", "gpu02"])
        self.assertEqual(sorted(labels("?filter=label:team=Vis*")), ["gpu01"])
        self.assertEqual(sorted(labels("?filter=label:team!=vision")), ["gpu02", "gpu03"])
        self.assertEqual(lib.ask(url + "/api/v1/state?filter=label:rack<3")[0], 400)
        rows = json.loads(self.run_ok(lib.MUSTER, "ls", "--hub", url, "-o", "node,labels", "--json", "label:note:onerror"))
        self.assertEqual([r["node"] for r in rows], ["gpu01"])
        self.assertIn("note=<img src=x onerror=alert(1)>, rack=a1, team=vision", rows[0]["labels"])
        self.assertNotIn("LABELS", self.run_any(lib.MUSTER, "ls", "--hub", url)[1])
        self.assertIn("rack=a1, team=sound", self.run_any(lib.MUSTER, "ls", "--hub", url, "--wide")[1])
        self.assertNotIn(b"<img src=x", lib.ask(url + "/")[2])
        # they follow the source
        c.register("gpu01", "10.0.0.1", team="speech")
        self.path("sd.json", '[{"targets": ["gpu02:9400"]}, {"targets": ["gpu03"], "labels": {"rack": "b1"}}]')
        one = {"consul_dc": "dc1", "consul_health": "passing", "consul_service": "gpu", "team": "speech"}
        expect(gpu01=one, gpu02=None, gpu03={"rack": "b1"})
        # what a relay may not say
        bearer = {"Authorization": "Bearer " + self.token("relay")}
        for bad in (b'{"labels": 1}', b'{"labels": {"ssh:gpu01": []}}', b'{"labels": {"gpu01": {}}}', b'{"labels": {"ssh:gpu01": {}, "ssh:gpu01": {}}}'):
            self.assertEqual(lib.ask(url + "/api/v1/sources", "POST", bad, bearer)[0], 400, bad)
        odd = {"labels": {"ssh:gpu03": {"rack": 1, "a b": "x", "tab": "a\tb", "long": "x" * 257, "ok": "yes"}, "ssh:nobody": {"a": "b"}}}
        self.assertEqual(lib.ask(url + "/api/v1/sources", "POST", json.dumps(odd).encode(), bearer)[0], 200)
        expect(gpu01=one, gpu02=None, gpu03={"ok": "yes"})
        # a hub that was started again
        self.assertEqual(hub.stop(), 0)
        hub = self.start(lib.MUSTER, "hub", *args)
        expect(gpu01=one, gpu02=None, gpu03={"rack": "b1"})
        self.assertEqual(relay.stop(), 0)
        self.assertEqual(hub.stop(), 0)

    def test_sources_change_with_the_settings(self):
        """A source that stays keeps its machines all the while; one that is gone leaves them unlisted; settings that are wrong change nothing."""
        ssh = self.path("ssh", "#!/bin/sh\nexec sleep 600\n", 0o755)
        for name in "ab":
            self.path(name + ".json", f'[{{"targets": ["{name}1", "{name}2:9400"]}}]')

        def settings(text):
            return self.path("relay.yaml", f"hub: http://127.0.0.1:9\ntoken: mst_x\nssh: {{program: {ssh}}}\n{text}\n")
        relay = self.start(lib.MUSTER, "relay", "--config", settings(f"sources: ['file_sd:{self.dir}/a.json']"))

        def reload(text, says):
            seen = len(relay.lines)
            settings(text)
            relay.p.send_signal(signal.SIGHUP)
            for words in ("settings read again|cannot apply the settings", says):  # both: what a list brings comes by itself
                lib.wait_until(words, lambda w=words: any(re.search(w, line) for line in relay.lines[seen:]))
        relay.wait_line(r"a.json: 2 machines")
        reload(f"sources: ['file_sd:{self.dir}/a.json', 'file_sd:{self.dir}/b.json']", "b.json: 2 machines")
        reload("sources: ['etcd:x']", "cannot apply the settings, the old ones stay: sources: 'etcd:x' does not start with a kind")
        reload(f"sources: ['file_sd:{self.dir}/b.json', 'file_sd:{self.dir}/none.txt']", "cannot apply the settings.*none.txt")
        reload(f"sources: ['file_sd:{self.dir}/b.json']\nsource: {{only: b1}}", r"b.json: 1 machine\b")
        reload("nodes: [c]", "settings read again")
        self.assertEqual(len([line for line in relay.lines if "a.json: 2 machines" in line]), 1)  # it was left alone
        self.assertEqual(relay.stop(), 0)
        self.assertRegex(relay.text, r"5 machines: ")  # c, and four that are unlisted

    def test_settings_with_odd_sources_are_refused(self):
        status, _, err = self.run_any(lib.MUSTER, "hub", "--data", self.path("data"), "--sources", "consul:x tokn=y")
        self.assertEqual((status, "'tokn=y' is not token_file=" in err), (2, True), err)
        for spec in ("consul", "etcd:x"):
            got = self.run_any(lib.MUSTER, "hub", "--data", self.path("data"), "--sources", spec)
            self.assertIn("does not start with a kind (consul:, file_sd:", str(got))

    def test_what_cannot_be_meant_is_refused(self):
        for spec in ("nothing:x", "consul:", "consul:ftp://x", "file_sd:/x.txt", "http_sd:x", "sinfo:-x", "dns_srv:x@y"):
            p = self.show(spec)
            self.assertEqual(p.p.wait(lib.LIMIT_S), 2, spec)


lib.main()
