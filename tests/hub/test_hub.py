#!/usr/bin/python3
"""The hub over real sockets: what agents, readers, browsers and vesta's senders get, and what bad requests of every kind get."""
import base64
import contextlib
import gzip
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import tempfile
import threading
import time
import urllib.parse
import zlib

import lib
from hubcase import HubCase, Stream
from sender import START, Node, answer, body as unpacked, frame, origin_id, varint, zigzag

EVENT_XID = 1


def raw(port, data, limit=lib.LIMIT_S, parts=None, pause=0):
    """Send bytes as they are, read until the other side closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=limit) as s:
        try:
            for part in parts or [data]:
                s.sendall(part)
                if pause:
                    time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass
        out = b""
        try:
            while chunk := s.recv(65536):
                out += chunk
        except (ConnectionResetError, socket.timeout):
            pass
        return out


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


class Ingest(HubCase):
    def test_a_batch_is_stored_once_and_acknowledged_each_time(self):
        h = self.hub()
        n = self.node(h)
        body = n.stream(n.batch(), n.batch())
        first = answer(self.post(h, body, n.token)[2])
        again = answer(self.post(h, body, n.token)[2])
        self.assertEqual(first["stored"], [(n.run, 2), (n.run, 3)])
        self.assertEqual(again["stored"], first["stored"])
        self.assertNotIn("token", again)
        self.assertEqual([d["name"] for d in self.state(h)["nodes"]], ["n1"])

    def test_a_batch_without_its_blobs_is_not_stored_but_asked_for(self):
        h = self.hub()
        n = self.node(h)
        facts = n.facts(note="other")
        got = answer(self.post(h, n.stream(n.batch()), n.token)[2])
        self.assertEqual((got["stored"], got["need"]), ([], [n.facts_id]))
        got = answer(self.post(h, n.stream(facts, n.batch(number=n.number)), n.token)[2])
        self.assertEqual((got["stored"], got["need"]), ([(n.run, n.number)], []))

    def test_what_was_acknowledged_is_known_after_kill_9(self):
        h = self.hub()
        n = self.node(h)
        body = n.stream(*[n.batch() for _ in range(20)])
        self.assertEqual(len(answer(self.post(h, body, n.token)[2])["stored"]), 20)
        h.kill9()
        h = self.hub()
        node = self.state(h)["nodes"][0]
        self.assertEqual((node["name"], node["state"], node["devices"][0]["uuid"]), ("n1", "up", n.uuid))
        self.assertEqual(node["devices"][0]["metrics"]["util"], 0.5)  # what was last known, with its age
        self.assertGreaterEqual(node["devices"][0]["age_ms"], 0)
        got = answer(self.post(h, body, n.token)[2])
        self.assertEqual(len(got["stored"]), 20)
        metrics = lib.ask(h.url + "/metrics")[2].decode()
        self.assertIn("muster_hub_repeats_total 20\n", metrics)

    def test_after_a_restart_nodes_are_there_with_what_was_last_known_lost_gpus_too(self):
        h = self.hub()
        n = self.node(h)
        self.assertEqual(self.post(h, n.stream(n.facts(more=["GPU-2"]), n.batch()), n.token)[0], 200)
        self.assertEqual(self.post(h, n.stream(n.facts(), n.batch()), n.token)[0], 200)  # it fell off the bus, and the agent was started again
        states = lambda: {d["uuid"]: d["state"] for d in self.state(h)["nodes"][0]["devices"]}
        self.assertEqual(states(), {n.uuid: "busy", "GPU-2": "lost"})
        h.stop()
        h = self.hub()
        self.assertEqual(states()["GPU-2"], "lost")
        self.assertNotEqual(self.state(h)["nodes"][0]["devices"][0]["metrics"], {})
        self.assertEqual(self.post(h, n.stream(n.batch(util=7000)), n.token)[0], 200)
        self.until_shown(h, "the news", lambda nodes: nodes[0]["devices"][0]["metrics"]["util"] == 0.7)
        self.assertEqual(states()["GPU-2"], "lost")
        self.assertEqual(self.post(h, n.stream(n.facts(more=["GPU-2"]), n.batch()), n.token)[0], 200)
        self.until_shown(h, "the same device is back", lambda nodes: [d["state"] for d in nodes[0]["devices"] if d["uuid"] == "GPU-2"] != ["lost"])

    def test_catching_up_does_not_change_what_is_shown(self):
        h = self.hub()
        n = self.node(h)
        now = n.now()
        self.post(h, n.stream(n.batch(now, util=7000)), n.token)
        old = n.facts(note="of before")
        got = answer(self.post(h, n.stream(old, n.batch(now - 60000, util=1000)), n.token)[2])
        self.assertEqual(len(got["stored"]), 1)
        device = self.state(h)["nodes"][0]["devices"][0]
        self.assertEqual(device["metrics"]["util"], 0.7)

    def test_an_event_is_of_the_gpu_that_its_own_facts_have_there(self):
        h = self.hub()
        n = self.node(h)
        now = n.now()
        xid = lambda code: [(now, EVENT_XID, 2, code, "of slot 2")]
        both = n.facts(more=["GPU-2"])
        self.assertEqual(self.post(h, n.stream(both, n.batch(now)), n.token)[0], 200)
        self.assertEqual(self.post(h, n.stream(n.facts(), n.batch(now + 1)), n.token)[0], 200)  # GPU-2 is lost, and shown behind the first
        self.assertEqual(self.post(h, n.stream(n.batch(now + 2, events=xid(1))), n.token)[0], 200)
        h.wait_line("n1 sent an event of GPU 2 but has 1 GPUs")
        self.assertEqual(self.post(h, n.stream(n.facts(more=["GPU-2"]), n.batch(now - 60000, events=xid(2))), n.token)[0], 200)  # late, under those of then
        self.assertSoon(lambda: {e["code"]: e["device"] for e in lib.ask_json(h.url + "/api/v1/events") if e["kind"] == "xid"}, {1: None, 2: "GPU-2"})

    def test_a_clock_that_is_off_is_shown_and_its_times_are_shifted(self):
        h = self.hub()
        n = Node("late")
        n.offset_ms = -3600000
        body = n.stream(n.facts(), n.procs(), n.batch(events=[(n.now(), EVENT_XID, 1, 79, "fallen off the bus")]))
        self.assertEqual(self.post(h, body)[0], 200)
        node = self.state(h)["nodes"][0]
        self.assertLess(node["devices"][0]["age_ms"], 60000)
        off = lib.ask_json(h.url + "/api/v1/nodes")[0]["clock_off_ms"]
        self.assertTrue(-4200000 < off < -3000000, off)
        xid = lib.wait_until("the event", lambda: [e for e in lib.ask_json(h.url + "/api/v1/events") if e["kind"] == "xid"])
        self.assertEqual((xid[0]["device"], xid[0]["code"]), (n.uuid, 79))
        about = "Xid 79: GPU has fallen off the bus; needs a reboot (fallen off the bus)"
        self.assertEqual(xid[0]["about"], about)
        alert = lib.wait_until("the alert", lambda: [a for a in lib.ask_json(h.url + "/api/v1/alerts")["rows"] if a["rule"] == "gpu-xid"])
        self.assertEqual(alert[0]["text"], "late:0: " + about)
        self.assertLess(abs(xid[0]["at"] - time.time() * 1000), 600000)
        last = lib.ask_json(h.url + "/api/v1/nodes")[0]["last_news"]
        self.assertLess(abs(last - time.time() * 1000), 600000)
        got = lambda at: [e["kind"] for e in lib.ask_json(h.url + f"/api/v1/events?from={at}")]
        self.assertIn("xid", got(xid[0]["at"]))  # a time as the API gives it can be given back
        self.assertNotIn("xid", got(xid[0]["at"] + 1))
        for query, wanted in (("from=-30d", True), ("from=now-1h&to=now", True), ("to=-1h", False), ("kind=xid", True), ("kind=down,xid", True), ("kind=down", False),
                              ("find=FALLEN", True), ("find=late%20xid%2079", True), ("find=nothing", False), ("from=-1d&kind=xid&find=bus&filter=host:late", True)):
            with self.subTest(query):
                self.assertEqual("xid" in [e["kind"] for e in lib.ask_json(h.url + "/api/v1/events?" + query)], wanted)
        self.assertEqual(xid[0]["index"], 0)
        for query, word in (("from=soon", "from"), ("to=soon", "to"), ("kind=boom", "boom"), ("find=" + "x" * 200, "find")):
            status, _, body = lib.ask(h.url + "/api/v1/events?" + query)
            self.assertEqual(status, 400)
            self.assertIn(word, body.decode())

    def test_a_second_agent_with_the_same_id_is_refused_visibly(self):
        h = self.hub()
        n = self.node(h)
        twin = Node("twin", node_id=n.id)
        twin.facts(), twin.procs()
        self.assertEqual(self.post(h, twin.stream(twin.batch()), n.token)[0], 200)  # it might be an agent started again
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)  # but the first one lives
        status, _, body = self.post(h, twin.stream(twin.batch()), n.token)
        self.assertEqual(status, 409)
        self.assertIn("another agent", json.loads(body)["detail"])
        self.assertIn("second agent", self.state(h)["nodes"][0]["reason"])
        kinds = lambda: [e["kind"] for e in lib.ask_json(h.url + "/api/v1/events")]
        lib.wait_until("the event", lambda: "refused" in kinds())
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)  # the first goes on

    def test_agents_are_told_to_hurry_while_somebody_watches(self):
        h = self.hub()
        n = self.node(h)
        self.assertEqual(answer(self.post(h, n.stream(n.batch()), n.token)[2])["interval"], "5000")
        self.state(h)
        self.assertEqual(answer(self.post(h, n.stream(n.batch()), n.token)[2])["interval"], "1000")

    def test_processes_come_and_go_with_their_command_lines_kept_private(self):
        h = self.hub()
        n = self.node(h)
        procs = n.procs((4711, "kim", "python", "python train.py --key=secret"))
        self.post(h, n.stream(procs, n.batch()), n.token)
        rows = lib.ask_json(h.url + "/api/v1/processes")
        self.assertEqual([(r["pid"], r["user"], r["program"], r["command"]) for r in rows], [(4711, "kim", "python", None)])
        for role, flags, seen in (("admin", (), True), ("member", ("--person", "kim"), True), ("member", ("--person", "lee"), False)):
            auth = {"Authorization": "Bearer " + self.token(role, *flags)}
            for path in ("/api/v1/processes", "/api/v1/state", "/api/v1/state?node=n1"):
                text = lib.ask(h.url + path, headers=auth)[2].decode()
                self.assertEqual("--key=secret" in text, seen, (role, flags, path))
        for path in ("/", "/?term=true&detail=true", "/metrics", "/states/", "/states/n1/", "/api/v1/nodes"):
            self.assertNotIn("secret", lib.ask(h.url + path)[2].decode(), path)
        csv = lib.ask(h.url + "/api/v1/processes?format=csv")[2].decode()
        self.assertTrue(csv.startswith("node,"), csv)
        people = lib.ask_json(h.url + "/api/v1/people")
        self.assertEqual([(p["person"], p["gpus"], [d["program"] for d in p["devices"]]) for p in people], [("kim", 1, ["python"])])
        self.assertEqual(lib.ask_json(h.url + "/api/v1/people?filter=user:lee"), [])
        self.post(h, n.stream(n.procs(), n.batch()), n.token)
        for path in ("/api/v1/processes", "/api/v1/people"):  # an answer of a moment ago is given out again
            lib.wait_until(path + " is empty", lambda p=path: lib.ask_json(h.url + p) == [])

    def test_who_was_on_a_gpu_is_told_later(self):
        h = self.hub()
        n = self.node(h)
        self.post(h, n.stream(n.procs((4711, "kim", "python", "python --key=secret")), n.batch()), n.token)
        self.post(h, n.stream(n.procs(), n.batch()), n.token)
        spans = h.url + "/api/v1/processes?from=-1h"
        got = lib.wait_until("the process has ended in the records", lambda: [s for s in lib.ask_json(spans)["spans"] if s["ended"]])
        self.assertEqual([(s["node"], s["index"], s["user"], s["program"], s["pid"]) for s in got], [("n1", 0, "kim", "python", 4711)])
        self.assertEqual([(s["user"], s["pid"], s["processes"]) for s in lib.ask_json(spans + "&by=user&node=n1")["spans"]], [("kim", None, 1)])
        self.assertEqual(lib.ask_json(spans + "&user=lee")["spans"], [])
        self.assertEqual(lib.ask_json(spans + "&device=GPU-none")["spans"], [])
        self.assertEqual(lib.ask_json(spans + "&to=-30m")["spans"], [])
        self.assertNotIn("secret", lib.ask(spans)[2].decode())
        self.assertTrue(lib.ask(spans + "&format=csv")[2].decode().startswith("node,"))
        for bad, status in (("from=soon", 400), ("from=-1h&to=-2h", 400), ("from=-1h&by=colour", 400), ("from=-1h&node=nobody", 404)):
            self.assertEqual(lib.ask(h.url + "/api/v1/processes?" + bad)[0], status, bad)


class Folder(lib.Case):
    def test_a_data_folder_that_others_can_enter_is_a_warning(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        data = self.path("data")
        for mode, warned in ((None, False), (0o755, True), (0o777, True), (0o770, True), (0o701, True), (0o750, False), (0o700, False)):
            if mode:
                os.chmod(data, mode)
            hub = self.start_hub(data=data)
            self.assertEqual(lib.ask(hub.url + "/healthz")[0], 200)
            self.assertEqual(hub.stop(), 0)
            self.assertEqual(f"other users have access to the data folder (mode {mode or 0:04o}): chmod 700 '{data}'" in hub.text, warned, hub.text)
            self.assertEqual("other users" in hub.text, warned)
            self.assertEqual(os.stat(data).st_mode & 0o7777, mode or 0o700)  # never changed


class Sandbox(HubCase):
    def test_a_hub_in_the_sandbox_and_its_programs_write_to_its_folders_alone(self):
        top = tempfile.mkdtemp(dir=os.path.abspath(lib.BIN))  # not below /tmp, which can be written
        self.addCleanup(shutil.rmtree, top)
        for name in ("more", "outside"):
            os.mkdir(f"{top}/{name}")
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"sandbox: true\nsandbox_folders: ['{top}/more']\nchannels:\n" +
                    "".join(f"  {name}: {{type: command, command: [/bin/sh, -c, 'cat > {top}/{name}/told']}}\n" for name in ("more", "outside")))
        hub = self.start_hub("--config", self.path("muster.yaml"), data=f"{top}/data")
        line = hub.wait_line(r"sandbox: (writes are limited|this kernel has no Landlock)")
        limited = "limited" in line.group(1)
        admin = {"Authorization": "Bearer " + self.token("admin", data=f"{top}/data")}
        told = {name: lib.ask(f"{hub.url}/api/v1/channels/{name}/test", method="POST", headers=admin)[0] for name in ("more", "outside")}
        self.assertEqual({name: status == 200 for name, status in told.items()}, {"more": True, "outside": not limited})
        self.assertEqual((os.path.exists(f"{top}/more/told"), os.path.exists(f"{top}/outside/told")), (True, not limited))
        self.assertEqual(hub.stop(), 0)
        hub = self.start_hub("--config", self.path("muster.yaml"), data=f"{top}/data")
        self.assertEqual(lib.ask(f"{hub.url}/api/v1/whoami", headers=admin)[0], 200)  # what it wrote is there
        self.assertEqual(hub.stop(), 0)
        if limited:
            shutil.rmtree(f"{top}/more")
            status, _, err = self.run_any(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--data", f"{top}/data", "--listen", "127.0.0.1:0")
            self.assertEqual((status != 0, f"sandbox: cannot open '{top}/more'" in err), (True, True), err)


class InClear(lib.Case):
    """Secrets that leave the machine without TLS. Nothing answers at 192.0.2.1, and nothing has to."""

    def test_a_secret_without_tls_is_a_notice(self):
        key, far = self.secret("key", "hidden-key"), "192.0.2.1"
        cases = ((f"samples: clickhouse://u@{far}/d\nsamples_password_file: {key}\n", f"the password for ClickHouse and all samples can go to {far} without TLS: add ?secure to the address of samples"),
                 (f"follow: [{{url: 'http://{far}:8765', name: munich, token_file: {key}}}]\n", f"the token for the hub munich can go to {far} without TLS: use https:// in follow"),
                 (f"channels: {{ops: {{type: webhook, url: 'http://{far}/x', secret_file: {key}}}}}\n", f"the secret of the channel ops can go to {far} without TLS: use https:// in its address"),
                 (f"slack: {{token_file: {key}, api: 'http://{far}/api'}}\n", f"the token of Slack's bot can go to {far} without TLS: use https:// in slack.api"),
                 (f"wandb: {{base_url: 'http://{far}'}}\n", f"the key for Weights & Biases can go to {far} without TLS: use https:// in wandb.base_url"))
        for i, (text, words) in enumerate(cases):
            for safe in (False, True):
                with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
                    f.write(text.replace("//u@" + far, "//u@127.0.0.1").replace("http://" + far, "https://" + far) if safe else text)
                hub = self.start_hub("--config", self.path("muster.yaml"), data=self.path(f"data{i}{safe}"))
                if not safe:
                    hub.wait_line(re.escape(words))
                notice = lambda hub=hub: lib.ask_json(hub.url + "/api/v1/state").get("notice") or ""
                if safe:
                    self.assertNotIn(words, notice())
                else:  # after what else is wrong
                    lib.wait_until("the notice is on screens", lambda words=words, notice=notice: words in notice())
                hub.stop()
                self.assertEqual(words in hub.text, not safe)


class Tokens(HubCase):
    def test_a_token_sends_for_one_node_only(self):
        h = self.hub()
        n = self.node(h)
        other = Node("other")
        status, _, body = self.post(h, other.first(), n.token)
        self.assertEqual(status, 403, body)
        unbound = self.token("agent")
        self.assertEqual(self.post(h, other.first(), unbound)[0], 200)
        third = Node("third")
        self.assertEqual(self.post(h, third.first(), unbound)[0], 403)
        self.assertEqual({d["name"] for d in self.state(h)["nodes"]}, {"n1", "other"})

    def test_a_node_of_somebody_else_cannot_be_claimed(self):
        h = self.hub()
        agent = self.token("agent")
        n = Node("mine")
        self.assertEqual(self.post(h, n.first(), agent)[0], 200)
        thief = Node("thief", node_id=n.id, run=n.run)
        for token in (self.token("agent"), h.enroll):
            self.assertEqual(self.post(h, thief.first(), token)[0], 403)
        self.assertEqual(self.state(h)["nodes"][0]["name"], "mine")

    def test_a_living_node_keeps_its_token(self):
        h = self.hub()
        n = self.node(h)
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)
        status, _, body = self.post(h, Node("thief", node_id=n.id, run=n.run).first())
        self.assertEqual(status, 409, body)
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)
        enroll = h.enroll
        h.stop()
        h = self.hub()
        self.assertEqual(self.post(h, n.stream(n.batch()), enroll)[0], 409)  # not heard of since the start, and had no chance to be
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)

    def test_an_answer_that_was_lost_is_given_again(self):
        h = self.hub()
        n = Node("n")
        first = answer(self.post(h, n.first())[2])["token"]
        again = answer(self.post(h, n.stream(n.batch()))[2])["token"]
        self.assertEqual(first, again)
        elsewhere = Node("n", node_id=n.id)  # the id alone, or with another enroll token, does not get the same told
        self.assertEqual(self.post(h, elsewhere.first())[0], 409)
        other = answer(self.post(h, n.stream(n.batch()), self.token("enroll"))[2])["token"]
        self.assertNotEqual(other, first)
        self.assertEqual(self.post(h, n.stream(n.batch()), first)[0], 200)
        self.assertEqual(self.post(h, n.stream(n.batch()), other)[0], 403)  # the one used first is the node's

    def test_a_relay_sends_for_nodes_without_an_agent_and_for_no_others(self):
        h = self.hub()
        relay, post = self.token("relay"), h.url + "/api/v1/batches"
        send = lambda n, origin, token=relay: lib.ask(post + (f"?origin={origin}" if origin else ""), method="POST", body=n.first(), headers={"Authorization": "Bearer " + token})
        n = Node("gpu01", node_id=origin_id("ssh:gpu01"))
        status, _, body = send(n, "ssh:gpu01")
        self.assertEqual((status, b"token" in body), (200, False), body)
        self.assertEqual([(x["id"], x["name"], len(x["devices"])) for x in self.state(h)["nodes"]], [("ssh:gpu01", "gpu01", 1)])
        for who, origin in ((n, None), (n, "ssh:gpu02"), (n, "vesta:gpu01"), (n, "ssh:"), (n, "ssh:" + "x" * 90), (Node("n2"), "ssh:gpu01"), (Node("n2"), None)):
            self.assertEqual(send(who, origin)[0], 400, origin)
        self.assertEqual(send(Node("n2"), "ssh:n2", h.enroll)[0], 400)
        self.assertEqual(len(self.state(h)["nodes"]), 1)
        self.assertEqual(lib.ask(h.url + "/api/v1/nodes/gpu01", method="PATCH", body="{}", headers={"Authorization": "Bearer " + relay})[0], 403)

    def test_a_revoked_token_ends(self):
        h = self.hub()
        n = self.node(h)
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)
        self.run_ok(lib.MUSTER, "token", "revoke", n.token[4:12], "--data", self.path("data"))
        lib.wait_until("revoked", lambda: self.post(h, n.stream(n.batch()), n.token)[0] == 401)
        self.assertEqual(self.post(h, n.stream(n.batch()))[0], 403)  # nor can it enrol itself again

    def test_only_agents_send_and_agents_only_send(self):
        h = self.hub()
        n = self.node(h)
        for token, want in (("mst_aaaaaaaa_" + "b" * 43, 401), ("nonsense", 401), (self.token("admin"), 403), (self.token("member", "--person", "kim"), 403)):
            self.assertEqual(self.post(h, n.stream(n.batch()), token)[0], want)
        status, _, body = lib.ask(h.url + "/api/v1/batches", method="POST", body=n.stream(n.batch()))
        self.assertEqual(status, 401)
        self.assertIn("muster token new", json.loads(body)["detail"])


class BadRequests(HubCase):
    def test_each_gets_one_clear_error_and_the_hub_goes_on(self):
        h = self.hub()
        n = self.node(h)
        auth = f"Host: localhost\r\nAuthorization: Bearer {n.token}\r\n".encode()
        batch = n.stream(n.batch())
        length = f"Content-Length: {len(batch)}\r\n".encode()
        post = b"POST /api/v1/batches HTTP/1.1\r\n" + auth
        cases = {
            "duplicate Content-Length": (post + length + length + b"\r\n" + batch, 400),
            "two lengths": (post + b"Content-Length: 5, 6\r\n\r\nhello", 400),
            "negative length": (post + b"Content-Length: -1\r\n\r\n", 400),
            "length and chunks": (post + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            "unknown coding": (post + b"Transfer-Encoding: gzip\r\n\r\n", 501),
            "huge head": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000 + b"\r\n\r\n", 431),
            "many headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431),
            "endless head": (b"GET / HTTP/1.1\r\nX: " + b"a" * 200000, 431),
            "long target": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
            "huge body announced": (post + b"Content-Length: 99999999999\r\n\r\n", 413),
            "body where none belongs": (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413),
            "login too long": (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n" + b"x" * 99999, 413),
            "chunks too long": (b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 413),
            "bad chunk": (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            "chunk in C's digits": (post + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n", 400),
            "chunk with a bare LF": (post + b"Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n", 400),
            "chunk with a NUL": (post + b"Transfer-Encoding: chunked\r\n\r\n1;a\0\r\na\r\n", 400),
            "bad trailer": (post + b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", 400),
            "bad chunk end": (post + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
            "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
            "two hosts": (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", 400),
            "foreign host": (b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 421),
            "foreign origin": (post + b"Origin: http://evil.example\r\n" + length + b"\r\n" + batch, 403),
            "old line ends": (b"GET / HTTP/1.1\nHost: localhost\r\n\r\n", 400),
            "folded header": (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
            "blank before colon": (b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
            "nul in header": (b"GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n", 400),
            "http 2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            "unknown method": (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
            "wrong method": (b"DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
            "bad escape": (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            "nul in path": (b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            "absolute target": (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            "many parameters": (b"GET /?" + b"a=b&" * 99 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            "packed body": (post + b"Content-Encoding: gzip\r\n" + length + b"\r\n" + gzip.compress(batch)[:20], 415),
            "odd expectation": (post + b"Expect: tea\r\n" + length + b"\r\n", 417),
            "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(300) + b"\r\n\r\n", 400),
        }
        for name, (data, want) in cases.items():
            with self.subTest(name):
                reply = raw(h.port, data)
                self.assertEqual(status_of(reply), want, reply[:300])
                head, _, body = reply.partition(b"\r\n\r\n")
                self.assertIn(b"application/problem+json", head)
                problem = json.loads(body)
                self.assertEqual(problem["status"], want)
                self.assertTrue(problem["detail"])
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)

    def test_frames_that_are_wrong_are_refused_whole(self):
        h = self.hub()
        n = self.node(h)
        other = Node("other")
        other.facts(), other.procs()
        batch = n.batch()
        cases = {
            "empty": b"",
            "not ours": b"hello world",
            "other version": b"MUST\x09" + n.hello(),
            "no hello": START + batch,
            "two hellos": n.stream(n.hello()),
            "cut": n.stream(batch)[:-3],
            "flipped": n.stream(batch[:-1] + bytes([batch[-1] ^ 1])),
            "another's batch": n.stream(other.batch()),
            "another's facts": n.stream(other.facts()),
            "garbage batch": n.stream(frame(4, batch[9:9 + 48] + b"\x00\x03\x00\x00\x00abc")),
            "garbage zstd": n.stream(frame(4, batch[9:9 + 48] + b"\x01\x00\x10\x00\x00garbage")),
            "says it is huge": n.stream(frame(4, batch[9:9 + 48] + b"\x01\xff\xff\xff\xff" + b"\x28\xb5\x2f\xfd")),
            "garbage facts": n.stream(frame(2, n.id + b"\x02" * 8 + b"\x00\x03\x00\x00\x00abc")),
            "wrong blob name": n.stream(frame(2, n.id + b"\x02" * 8 + n.facts()[9 + 24:])),
        }
        for name, body in cases.items():
            with self.subTest(name):
                status, headers, reply = self.post(h, body, n.token)
                self.assertEqual((status, headers["content-type"]), (400, "application/problem+json"), reply)
                self.assertTrue(json.loads(reply)["detail"])
        bomb = frame(4, batch[9:9 + 48] + b"\x01\x00\x00\x80\x00" + b"\x28\xb5\x2f\xfd")  # a few bytes that are to become 8 MiB
        self.assertEqual(self.post(h, n.stream(*[bomb] * 20), n.token)[0], 413)
        for cut in range(0, len(batch), 7):
            self.assertEqual(self.post(h, n.stream(batch)[:-1 - cut], n.token)[0], 200 if cut + 1 == len(batch) else 400)
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)

    def test_whoever_sends_slowly_is_let_go(self):
        h = self.hub()
        token = self.node(h).token
        slow_head = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
        slow_body = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", h.port)) as a, socket.create_connection(("127.0.0.1", h.port)) as b:
            a.sendall(slow_head)
            b.sendall(slow_body)
            replies = []
            for s in (a, b):
                s.settimeout(0.5)
                for _ in range(600):
                    with contextlib.suppress(OSError):  # it was let go just now: what it was told is still to be read
                        s.sendall(b"x")  # a byte now and then is not enough
                    try:
                        replies.append(s.recv(65536))
                        break
                    except socket.timeout:
                        pass
        self.assertEqual([status_of(r) for r in replies], [408, 408])

    def test_pipelined_requests_are_answered_in_order(self):
        h = self.hub()
        n = self.node(h)
        batch = n.stream(n.batch())
        one = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {n.token}\r\nContent-Length: {len(batch)}\r\n\r\n".encode() + batch
        two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        reply = raw(h.port, one + two + one + last)
        self.assertEqual([part[:3] for part in reply.split(b"HTTP/1.1 ")[1:]], [b"200", b"200", b"200", b"404"])

    def test_a_body_in_chunks_and_one_that_waits_for_100_are_taken(self):
        h = self.hub()
        n = self.node(h)
        body = n.stream(n.batch())
        head = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {n.token}\r\n".encode()
        chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7)) + b"0\r\nTrailer: x\r\n\r\n"
        reply = raw(h.port, b"", parts=[head + b"Transfer-Encoding: chunked\r\n\r\n", chunks[:50], chunks[50:]], pause=0.05)
        self.assertEqual(status_of(reply), 200, reply)
        with socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S) as s:
            s.sendall(head + b"Expect: 100-continue\r\n" + f"Content-Length: {len(body)}\r\n\r\n".encode())
            self.assertEqual(s.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            s.sendall(body)
            self.assertEqual(status_of(s.recv(65536)), 200)

    def test_millions_of_tiny_pieces_are_taken_in_stride(self):
        h = self.hub()
        n = self.node(h)
        ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        reply = raw(h.port, b"\r\n" * 1000000 + ask + b"\r\n" + ask + b"Connection: close\r\n\r\n", limit=lib.LIMIT_S)
        self.assertEqual(reply.count(b"HTTP/1.1 200 OK"), 2)
        head = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {n.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        body = n.stream(n.batch(), frame(99, b"x" * 200000))
        pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        self.assertEqual(status_of(raw(h.port, head.encode() + pieces, limit=lib.LIMIT_S)), 200)

    def test_the_largest_body_is_taken_and_one_byte_more_is_not(self):
        h = self.hub()
        n = self.node(h)
        filler = lambda room: frame(99, b"x" * (room - 9))  # a frame of a later version is skipped
        base = n.stream(n.batch())
        body = base + filler((16 << 20) - len(base))
        self.assertEqual(len(body), 16 << 20)
        self.assertEqual(self.post(h, body, n.token)[0], 200)
        reply = raw(h.port, f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {n.token}\r\nContent-Length: {len(body) + 1}\r\n\r\n".encode() + body[:100000])
        self.assertEqual(status_of(reply), 413)

    @lib.plain  # a sanitizer keeps what is freed
    def test_a_large_body_leaves_no_large_buffer_behind(self):
        h = self.hub()
        n = self.node(h)
        body = b"x" * (15 << 20)
        head = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {n.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for _ in range(8):
            s = socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S)
            self.addCleanup(s.close)
            s.sendall(head + body + b"GET /healthz HTTP/1.1\r\n")  # and the next one is on its way
            self.assertEqual(status_of(s.recv(65536)), 400)
        with open(f"/proc/{h.p.pid}/status", encoding="utf-8") as f:
            resident = int(next(line for line in f if line.startswith("VmRSS")).split()[1])
        self.assertLess(resident, 90 << 10)

    def test_bodies_that_never_end_do_not_keep_others_out(self):
        h = self.hub()
        n = self.node(h)

        def promise(size, address):
            s = socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S, source_address=(address, 0))
            self.addCleanup(s.close)
            s.sendall(f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {n.token}\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n".encode())
            return status_of(s.recv(65536))
        self.assertEqual([promise(16 << 20, "127.0.0.1") for _ in range(6)], [100] * 4 + [503] * 2)
        self.assertEqual(promise(16 << 20, "127.0.0.2"), 100)
        self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)  # and small ones go on, whoever sends them

    def test_a_node_that_floods_slows_itself_down(self):
        h = self.hub()
        n, other = self.node(h), self.node(h, "other")
        bomb = frame(4, n.batch()[9:9 + 48] + b"\x01\x00\x00\x80\x00" + b"\x28\xb5\x2f\xfd")
        self.assertEqual(self.post(h, n.stream(*[bomb] * 5), n.token)[0], 400)
        lib.wait_until("it is slowed down", lambda: self.post(h, n.stream(*[bomb] * 5), n.token)[0] == 429, pause=0)  # what it may send grows with time
        self.assertEqual(self.post(h, other.stream(other.batch()), other.token)[0], 200)
        lib.wait_until("it may send again", lambda: self.post(h, n.stream(n.batch()), n.token)[0] == 200)

    def test_small_batches_that_unpack_to_much_are_taken_a_few_at_a_time(self):
        h = self.hub()
        n, other = self.node(h), self.node(h, "other")

        def large(number):  # 2^21 equal values in a hundred bytes
            ticks = 4096
            raw = varint(ticks) + varint(n.now() - ticks * 1000) + b"\x00" + zigzag(1000) + varint(512)
            for _ in range(2):
                raw += varint(1) + b"\x00" + varint(256) + varint(1) + b"\x00" + zigzag(7)
            return frame(4, n.id + struct.pack("<QQQQ", n.run, number, n.facts_id, 0) + unpacked(raw + varint(0) + varint(0)))
        status, _, body = self.post(h, n.stream(*[large(100 + i) for i in range(20)]), n.token)
        self.assertEqual(status, 200, body)
        took = answer(body)["stored"]
        self.assertEqual(took, [(n.run, 100 + i) for i in range(len(took))])
        self.assertIn(len(took), range(1, 8))
        again = itertools.count(200, 20)
        lib.wait_until("it is slowed down", lambda: self.post(h, n.stream(*[large(k + i) for k in [next(again)] for i in range(20)]), n.token)[0] == 429, pause=0)
        self.assertEqual(self.post(h, other.stream(other.batch()), other.token)[0], 200)

    def test_a_flood_of_events_neither_fills_the_log_nor_the_records(self):
        h = self.hub()
        n = self.node(h)
        for k in range(3):
            flood = [(n.now() - 20000 + i, EVENT_XID, 1, 10000 * k + i, "once more") for i in range(4000)]
            self.assertEqual(self.post(h, n.stream(n.batch(events=flood)), n.token)[0], 200)
        h.wait_line("sends too many events")
        self.assertLess(h.text.count("once more"), 50)
        ahead = [(n.now() + 10 ** 9, EVENT_XID, 1, 1, "from the future")]
        other = self.node(h, "other")
        self.assertEqual(self.post(h, other.stream(other.batch(events=ahead)), other.token)[0], 200)
        got = lib.wait_until("told", lambda: [e for e in lib.ask_json(h.url + "/api/v1/events?node=other") if e["kind"] == "xid"])
        self.assertLess(got[0]["at"], n.now() + 20000)

    def test_connections_past_the_limit_do_not_shut_anybody_out(self):
        h = self.hub("--max-connections", "16")
        idle = [socket.create_connection(("127.0.0.1", h.port)) for _ in range(40)]
        try:
            self.assertEqual(lib.ask(h.url + "/healthz")[0], 200)
        finally:
            for s in idle:
                s.close()


    def test_one_address_cannot_take_all_connections(self):
        h = self.hub("--max-per-address", "20")
        many = [socket.create_connection(("127.0.0.1", h.port), source_address=("127.0.0.9", 0)) for _ in range(40)]
        try:
            many[-1].settimeout(lib.LIMIT_S)
            self.assertIn(b"503", many[-1].recv(200))
            self.assertEqual(lib.ask(h.url + "/healthz")[0], 200)  # from another address
            for s in many[:20]:
                s.close()
            again = lib.wait_until("room again", lambda: self.answers(h, "127.0.0.9"))
            self.assertTrue(again)
        finally:
            for s in many:
                s.close()

    @staticmethod
    def answers(h, source):
        with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S, source_address=(source, 0)) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b"200 OK" in s.recv(200)


class Reading(HubCase):
    def test_state_is_cached_compressed_and_not_sent_twice(self):
        h = self.hub()
        for i in range(4):
            self.node(h, f"n{i}")
        url = h.url + "/api/v1/state"
        status, headers, plain = lib.ask(url)
        self.assertEqual((status, headers["content-type"], headers["vary"]), (200, "application/json", "Accept-Encoding"))
        status, packed_headers, packed = lib.ask(url, headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed_headers["content-encoding"], "gzip")
        self.assertLess(len(packed), len(plain) / 2)
        self.assertEqual([n["id"] for n in json.loads(gzip.decompress(packed))["nodes"]], [n["id"] for n in json.loads(plain)["nodes"]])
        status, _, body = lib.ask(url, headers={"If-None-Match": packed_headers["etag"]})
        self.assertEqual((status, body), (304, b""))
        n = self.node(h, "late")

        def newer():  # one of a moment ago may be given out once more
            status, fresh, _ = lib.ask(url, headers={"If-None-Match": packed_headers["etag"]})
            self.assertEqual(status, 200)
            return fresh["etag"] != packed_headers["etag"]
        lib.wait_until("another state has another name", newer)
        status, head, body = lib.ask(url, method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(head["content-length"]), 1000)
        self.assertEqual([d["name"] for d in self.state(h, "?node=late")["nodes"]], ["late"])
        self.assertEqual([d["id"] for d in self.state(h, "?node=" + n.key)["nodes"]], [n.key])
        self.assertEqual(lib.ask(url + "?node=nobody")[0], 404)

    def test_documents_may_run_nothing(self):
        h = self.hub()
        self.node(h)
        page = lib.ask(h.url + "/", headers={"User-Agent": "Mozilla/5.0"})[1]["content-security-policy"]
        self.assertIn("default-src 'none'; script-src 'self'", page)
        for path, kind in (("/api/v1/usage?format=html", "text/html"), ("/api/v1/usage?format=svg", "image/svg+xml"), ("/api/v1/history?device=n1&metric=util&format=svg", "image/svg+xml")):
            with self.subTest(path):
                status, headers, body = lib.ask(h.url + path)
                self.assertEqual(status, 200, body)
                self.assertTrue(headers["content-type"].startswith(kind))
                rules = headers["content-security-policy"]
                self.assertIn("default-src 'none'", rules)
                self.assertIn("frame-ancestors 'none'", rules)
                self.assertNotIn("script-src", rules)
        self.assertNotIn("content-security-policy", lib.ask(h.url + "/api/v1/state")[1])

    def test_a_head_says_what_a_get_would_and_compresses_nothing(self):
        h = self.hub()
        self.node(h)
        for path in ("/install", "/api/v1/openapi.json", "/api/v1/metrics", "/api/v1/people", "/", "/healthz"):
            for coding in ({}, {"Accept-Encoding": "gzip"}):
                with self.subTest(path, coding=coding):
                    first = lib.ask(h.url + path, method="HEAD", headers=coding)[1]
                    status, get, body = lib.ask(h.url + path, headers=coding)
                    head = lib.ask(h.url + path, method="HEAD", headers=coding)[1]
                    self.assertEqual((status, first.get("content-length", get["content-length"])), (200, get["content-length"]))
                    self.assertEqual(int(get["content-length"]), len(body))
                    for one in (first, head):
                        self.assertEqual({k: v for k, v in one.items() if k not in ("date", "content-length", "etag")}, {k: v for k, v in get.items() if k not in ("date", "content-length", "etag")})

    def test_every_path_answers(self):
        h = self.hub()
        self.node(h)
        browser = {"User-Agent": "Mozilla/5.0", "Accept": "text/html"}
        self.assertEqual(lib.ask_json(h.url + "/api/v1/whoami")["role"], "none")
        self.assertRegex(lib.ask(h.url + "/healthz")[1]["date"], r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")
        for path, headers, kind, words in (
            ("/", browser, "text/html", "importmap"), ("/node/n1", browser, "text/html", "importmap"), ("/gpu/GPU-1", browser, "text/html", "importmap"), ("/", {"User-Agent": "curl/7.88"}, "text/plain", "muster"), ("/?term=true&detail=true", browser, "text/plain", "n1"),
            ("/?term=true&width=200&colour=1", {}, "text/plain", "n1"), ("/gpu_table?term=true", {}, "text/plain", "NVIDIA Test"), ("/gpu_table", browser, "text/html", "last update: "), ("/index.php", browser, "text/html", "importmap"),
            ("/index.php?content", browser, "text/html", "importmap"), ("/index.php?content", {"User-Agent": "curl/7.88"}, "text/plain", "n1"), ("/api/v1/metrics", {}, "application/json", "bytes_per_second"),
            ("/api/v1/nodes", {}, "application/json", "550.1"), ("/api/v1/processes", {}, "application/json", "["), ("/api/v1/events?node=n1&limit=5", {}, "application/json", "new"),
            ("/api/v1/openapi.json", {}, "application/json", "/api/v1/batches"), ("/metrics", {}, "text/plain; version=0.0.4", "muster_gpu_utilization_ratio"),
            ("/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"}, "application/openmetrics-text", "# EOF"), ("/healthz", {}, "text/plain", "ok"),
            ("/readyz", {}, "text/plain", "ok"), ("/states/", {}, "application/json", "gpu:0"), ("/states/n1/?fetch_num=3", {}, "application/json", "gpu:0"),
            ("/states/n1", {}, "application/json", "gpu:0"), ("/states/nobody/", {}, "application/json", "404"), ("/sd/prometheus", {}, "application/json", "__meta_muster_node"),
            ("/install", {}, "text/plain", "#!/bin/sh")):
            with self.subTest(path + str(headers)):
                status, got, body = lib.ask(h.url + path, headers=headers)
                self.assertEqual(status, 200, body[:300])
                self.assertTrue(got["content-type"].startswith(kind), got["content-type"])
                self.assertIn(words, body.decode())
        self.assertEqual(lib.ask(h.url + "/favicon.ico")[0], 204)
        self.assertEqual(lib.ask(h.url + "/api/v1/events?from=yesterday")[0], 400)

    def test_prometheus_finds_nothing_wrong_with_the_metrics(self):
        if not any(os.access(os.path.join(d, "promtool"), os.X_OK) for d in os.environ["PATH"].split(":")):
            self.skipTest("promtool is not here")
        h = self.hub()
        self.node(h)
        body = lib.ask(h.url + "/metrics")[2]
        status, out, err = self.run_any("promtool", "check", "metrics", stdin=body)
        self.assertEqual((status, out + err), (0, ""))

    def test_a_stream_gives_a_snapshot_then_changes_alone(self):
        h = self.hub()
        a, b = self.node(h, "a"), self.node(h, "b")
        s = Stream(h.url + "/api/v1/stream")
        self.addCleanup(s.close)
        kind, snapshot = s.event()
        self.assertEqual((kind, [n["name"] for n in snapshot["nodes"]]), ("snapshot", ["a", "b"]))
        self.post(h, b.stream(b.batch(util=3300)), b.token)
        kind, node = s.event()
        self.assertEqual((kind, node["id"], node["devices"][0]["metrics"]["util"]), ("node", b.key, 0.33))
        one = Stream(h.url + "/api/v1/stream?node=a")
        self.addCleanup(one.close)
        self.assertEqual([n["name"] for n in one.event()[1]["nodes"]], ["a"])
        self.post(h, b.stream(b.batch()), b.token)
        self.post(h, a.stream(a.batch(util=100)), a.token)
        kind, node = one.event()
        self.assertEqual((kind, node["id"], node["devices"][0]["metrics"]["util"]), ("node", a.key, 0.01))
        auth = {"Authorization": "Bearer " + self.token("admin")}
        self.assertEqual(lib.ask(h.url + "/api/v1/nodes/a", method="PATCH", body='{"retired":true}', headers=auth)[0], 200)
        while True:
            kind, data = s.event()
            if kind == "gone":
                break
        self.assertEqual(data, {"id": a.key})
        self.assertEqual(answer(self.post(h, b.stream(b.batch()), b.token)[2])["interval"], "1000")

    def test_streams_are_counted_and_readers_that_left_are_forgotten(self):
        h = self.hub("--max-streams", "2")
        streams = [Stream(h.url + "/api/v1/stream") for _ in range(3)]
        self.assertEqual([s.status for s in streams], [200, 200, 503])
        for s in streams:
            s.close()

        def free():
            s = Stream(h.url + "/api/v1/stream")
            s.close()
            return s.status == 200
        lib.wait_until("room for a reader", free)

    def test_a_reader_that_keeps_up_is_not_dropped_for_a_burst(self):
        h = self.hub()
        nodes = [self.node(h, f"n{i}") for i in range(8)]
        for n in nodes:
            fat = n.procs(*[(i, "kim", "python", "x" * 1000) for i in range(1, 801)])
            self.assertEqual(self.post(h, n.stream(fat, n.batch()), n.token)[0], 200)
        auth = {"Authorization": "Bearer " + self.token("admin")}
        s = Stream(h.url + "/api/v1/stream", auth)
        self.addCleanup(s.close)
        self.assertEqual(len(s.event()[1]["nodes"]), 8)
        for n in nodes:
            self.assertEqual(self.post(h, n.stream(n.batch(util=1234)), n.token)[0], 200)
        time.sleep(0.5)  # it looks away: some MB wait for it
        late = Stream(h.url + "/api/v1/stream", auth)  # and who comes now shares the snapshot, and gets what changed since
        self.addCleanup(late.close)
        for reader in (s, late):
            fresh = {}
            while len(fresh) < 8:
                kind, data = reader.event()
                self.assertIsNotNone(kind, "the reader was dropped")
                for node in data["nodes"] if kind == "snapshot" else [data]:
                    if node["devices"][0]["metrics"]["util"] == 0.1234:
                        fresh[node["id"]] = True

    def test_a_stream_is_compressed_for_readers_that_say_so(self):
        h = self.hub()
        n = self.node(h)
        s = socket.create_connection(("127.0.0.1", h.port))
        self.addCleanup(s.close)
        s.settimeout(lib.LIMIT_S)
        s.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
        raw, text, unpack = b"", "", zlib.decompressobj(31)

        def read_until(word):
            nonlocal raw, text
            while word not in text:
                more = s.recv(65536)
                self.assertTrue(more, text[-300:])
                raw += more
                head, gap, body = raw.partition(b"\r\n\r\n")
                if gap:
                    self.assertIn(b"Content-Encoding: gzip", head)
                    text += unpack.decompress(body if len(raw) - len(more) < len(head) + 4 else more).decode()

        read_until("event: snapshot")
        self.assertTrue(text.startswith("event: clock\ndata: {\"now\":"), text[:100])
        self.assertEqual(self.post(h, n.stream(n.batch(util=1234)), n.token)[0], 200)
        read_until('"util":0.1234')
        late = Stream(h.url + "/api/v1/stream")  # others are not compressed, and share all the same
        self.addCleanup(late.close)
        self.assertEqual(late.event()[0], "snapshot")
        read_until('"util":0.1234')

    def test_a_slow_reader_is_dropped_and_never_waited_for(self):
        h = self.hub()
        n = self.node(h)
        fat = n.procs(*[(i, "kim", "python", "x" * 1000) for i in range(1, 401)])
        self.post(h, n.stream(fat, n.batch()), n.token)
        admin = self.token("admin")
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", h.port))
        self.addCleanup(s.close)
        s.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {admin}\r\n\r\n".encode())
        seen = b""
        while not (b"event: snapshot" in seen and seen.endswith(b"\n\n")):
            more = s.recv(65536)  # then never again
            self.assertTrue(more, seen[:300])
            seen += more
        streams = lambda: "muster_hub_streams 1\n" in lib.ask(h.url + "/metrics")[2].decode()
        lib.wait_until("the stream is counted", streams)

        def dropped():
            self.assertEqual(self.post(h, n.stream(n.batch()), n.token)[0], 200)
            return not streams()
        lib.wait_until("the reader is dropped", dropped, pause=0.25)


class Browsers(HubCase):
    def test_a_token_becomes_a_cookie_that_writes_only_from_our_own_page(self):
        h = self.hub()
        self.node(h)
        admin = self.token("admin")
        login = h.url + "/api/v1/login"
        origin = h.url
        status, headers, body = lib.ask(login, method="POST", body=json.dumps({"token": admin}), headers={"Origin": origin})
        self.assertEqual((status, json.loads(body)["role"]), (200, "admin"))
        cookie = headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)
        jar = {"Cookie": cookie.split(";")[0]}
        patch = lambda **extra: lib.ask(h.url + "/api/v1/nodes/n1", method="PATCH", body='{"maintenance":true}', headers={**jar, **extra})[0]
        self.assertEqual(patch(), 403)
        self.assertEqual(patch(Origin="http://evil.example"), 403)
        self.assertEqual(patch(Origin="null"), 403)
        self.assertEqual(patch(Origin=origin), 200)
        self.assertEqual(self.state(h)["nodes"][0]["state"], "maintenance")
        forged = {"Cookie": jar["Cookie"][:-1] + ("A" if jar["Cookie"][-1] != "A" else "B"), "Origin": origin}
        self.assertEqual(lib.ask(h.url + "/api/v1/nodes/n1", method="PATCH", body="{}", headers=forged)[0], 401)
        self.run_ok(lib.MUSTER, "token", "revoke", admin[4:12], "--data", self.path("data"))
        lib.wait_until("the session ends with its token", lambda: patch(Origin=origin) == 401)
        status, headers, _ = lib.ask(h.url + "/api/v1/logout", method="POST", headers={"Origin": origin})
        self.assertEqual(status, 204)
        self.assertIn("Max-Age=0", headers["set-cookie"])

    def test_an_admin_makes_the_token_that_adds_a_node(self):
        h = self.hub()
        path, admin = h.url + "/api/v1/tokens", self.token("admin")
        make = lambda body, token=admin: lib.ask(path, method="POST", body=json.dumps(body), headers={"Authorization": "Bearer " + token})
        status, headers, body = make({"role": "enroll", "note": "rack 4"})
        made = json.loads(body)
        self.assertEqual((status, made["role"], headers["cache-control"]), (201, "enroll", "no-store"))
        self.assertNotIn("command", made)
        self.assertIn("other machines cannot reach this hub", made["detail"])
        self.assertIn("rack 4", self.run_ok(lib.MUSTER, "token", "list", "--data", self.path("data")))
        for note in ("a\u2067b", "a\u061cb", "a\u0090b"):
            status, _, body = make({"role": "enroll", "note": note})
            self.assertEqual((status, "control characters and bidirectional marks" in json.loads(body)["detail"]), (400, True))
            status, _, err = self.run_any(lib.MUSTER, "token", "new", "--role", "enroll", "--note", note, "--data", self.path("data"))
            self.assertNotEqual(status, 0, err)
        n = Node("n1")
        self.assertEqual(self.post(h, n.first(), made["token"])[0], 200)
        self.assertEqual([x["name"] for x in self.state(h)["nodes"]], [n.name])
        self.assertEqual(make({"role": "member", "person": "kim"})[0], 201)
        for body in ({}, {"role": "admin"}, {"role": "boss"}, {"role": "member"}, {"role": "enroll", "person": "kim"}, {"role": "enroll", "note": "a/b"}, {"role": "enroll", "more": 1}, [],
                     {"role": "enroll", "expires": 5}, {"role": "enroll", "expires": "soon"}, {"role": "enroll", "expires": "1s"}, {"role": "enroll", "uses": 0},
                     {"role": "enroll", "uses": "7"}, {"role": "agent", "uses": 7}):
            self.assertEqual(make(body)[0], 400, body)
        self.assertEqual(make({"role": "enroll"}, self.token("member", "--person", "kim"))[0], 403)

    def test_logins_that_are_not_are_refused(self):
        h = self.hub()
        agent = self.token("agent")
        for body, want in (("", 400), ("{", 400), ("[]", 400), ('{"token":5}', 400), ('{"token":"x"}', 400), ('{"token":"mst_aaaaaaaa_%s"}' % ("b" * 43), 401),
                           (json.dumps({"token": agent}), 403), ('{"token":"\\u0000"}', 400), ("[" * 2000, 400), ('{"token":"a","token":"b"}', 400)):
            status, headers, _ = lib.ask(h.url + "/api/v1/login", method="POST", body=body)
            self.assertEqual(status, want, body[:60])
            self.assertNotIn("set-cookie", headers)

    def test_admins_rename_retire_and_set_maintenance(self):
        h = self.hub()
        a, b = self.node(h, "a"), self.node(h, "b")
        auth = {"Authorization": "Bearer " + self.token("admin")}
        patch = lambda who, body: lib.ask(h.url + "/api/v1/nodes/" + who, method="PATCH", body=body, headers=auth)[0]
        self.assertEqual(patch("a", '{"name":"alpha"}'), 200)
        self.assertEqual(patch("alpha", '{"name":"b"}'), 409)
        self.assertEqual(patch("nobody", "{}"), 404)
        for bad in ("", "[]", '{"name":5}', '{"name":"a/b"}', '{"name":"x\\ny"}', '{"colour":1}', '{"retired":"yes"}', '{"name":"%s"}' % ("x" * 200)):
            self.assertEqual(patch("alpha", bad), 400, bad)
        self.assertEqual(patch(b.key, '{"retired":true}'), 200)
        self.assertEqual([n["name"] for n in self.state(h)["nodes"]], ["alpha"])
        self.assertEqual([n["name"] for n in self.state(h, "?all")["nodes"]], ["alpha", "b"])
        h.stop()
        h = self.hub()
        self.assertEqual([n["name"] for n in self.state(h)["nodes"]], ["alpha"])
        self.assertEqual(self.state(h)["nodes"][0]["id"], a.key)


class Vesta(HubCase):
    SAMPLE = {"gpu:0": {"device_num": 0, "uuid": "GPU-v0", "gpu_name": "GTX 1080", "temperature": 80, "total_memory": 11169, "available_memory": 3151, "used_memory": 8018,
                        "timestamp": "2019/03/24 20:00:00.000", "gpu_volatile": 92, "processes": [{"pid": "31415", "name": "train1", "user": "root", "used_memory": 6400}]},
              "gpu:1": {"device_num": "1", "uuid": "GPU-v1", "gpu_name": "GTX 1080", "temperature": "35", "total_memory": "11169", "available_memory": "11100", "used_memory": "69",
                        "timestamp": "x", "gpu_volatile": "0", "processes": []}}

    def ask(self, url, **kw):
        status, headers, body = lib.ask(url, **kw)
        self.assertEqual((status, headers["content-type"]), (200, "application/json"), body)  # errors too, as it was
        return json.loads(body)

    def test_an_unmodified_sender_registers_posts_and_is_shown(self):
        h = self.hub("--vesta-token", "0000")
        got = self.ask(h.url + "/register/?host_name=web.lab-1&token=0000")
        self.assertEqual((got["status"], got["status_code"], got["register_name"]), ("OK", 200, "web_lab_1"))
        self.assertRegex(got["id"], "^[0-9a-f]{32}$")
        url = f"{h.url}/update/host/{got['id']}?token=0000"
        body, kind = json.dumps(self.SAMPLE), {"Content-Type": "application/json"}
        self.assertEqual(self.ask(url, method="POST", body=body, headers=kind), {"status": "OK", "status_code": 200})
        node = self.state(h)["nodes"][0]
        self.assertTrue(node["id"].startswith("vesta:"))
        self.assertNotIn(got["id"], json.dumps(self.state(h)))  # what lets it post is not shown
        gpu = node["devices"][0]
        self.assertEqual((gpu["uuid"], gpu["metrics"]["util"], gpu["metrics"]["temp"], gpu["metrics"]["mem_used"]), ("GPU-v0", 0.92, 80, 8018 << 20))
        self.assertEqual(gpu["processes"][0]["user"], "root")
        states = self.ask(h.url + "/states/")["web_lab_1"]
        shown = states["data"][0]["gpu_data"]["gpu:0"]
        self.assertEqual((states["status"], shown["gpu_name"], shown["used_memory"], shown["gpu_volatile"]), ("running", "GTX 1080", 8018, 92))
        self.assertEqual(shown["processes"][0]["name"], "train1")
        h.stop()
        h = self.hub("--vesta-token", "0000")  # it is known by its id after a restart
        self.assertEqual(self.ask(f"{h.url}/update/host/{got['id']}?token=0000", method="POST", body=body)["status_code"], 200)

    def test_names_are_unique_and_clean(self):
        h = self.hub("--vesta-token", "t")
        reg = lambda name: self.ask(h.url + "/register/?token=t&host_name=" + urllib.parse.quote(name))
        self.assertEqual(reg("a.b,c-d@e[f]g:h;i")["register_name"], "a_b_c_d_e_f_g_h_i")
        self.assertEqual(reg("same")["register_name"], "same")
        self.assertRegex(reg("same")["register_name"], "^same_[0-9a-f]{8}$")
        for bad in ("", "x" * 100, " "):
            self.assertEqual(reg(bad)["status_code"], 400)

    def test_refusals_are_vestas(self):
        h = self.hub("--vesta-token", "t")
        host = self.ask(h.url + "/register/?token=t&host_name=h")["id"]
        self.assertEqual(self.ask(h.url + "/register/?token=wrong&host_name=h")["status_code"], 403)
        self.assertEqual(self.ask(h.url + "/register/?host_name=h")["status_code"], 403)
        self.assertEqual(self.ask(h.url + "/update/host/feedbeef?token=t", method="POST", body="{}")["status_code"], 404)
        update = lambda body, token="t": self.ask(f"{h.url}/update/host/{host}?token={token}", method="POST", body=body)["status_code"]
        self.assertEqual(update("{}", "wrong"), 403)
        early = raw(h.port, f"POST /update/host/{host}?token=wrong HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n".encode())
        self.assertIn(b'"status_code":403', early)  # nobody waits for a body that is not wanted
        for bad in ("", "nonsense", "[]", '{"gpu:x":{}}', '{"gpu:0":5}', '{"gpu:0":{}}', '{"gpu:999":{"uuid":"a"}}', '{"gpu:0":{"uuid":"a"},"gpu:1":{"uuid":"a"}}', "[" * 5000,
                    '{"gpu:0":{"uuid":"%s"}}' % "é\\u0001", '{"gpu:0":{"uuid":"a b"}}'):
            self.assertEqual(update(bad), 400, bad[:60])
        self.assertEqual(update('{"gpu:0":{"uuid":"a","temperature":"N/A","gpu_volatile":-5,"used_memory":99999999999999,"processes":[{"pid":"x"},5,{"pid":7}]}}'), 200)
        gpu = self.state(h)["nodes"][0]["devices"][0]
        self.assertEqual(gpu["metrics"], {})  # what cannot be is absent, not zero
        self.assertEqual([p["pid"] for p in gpu["processes"]], [7])
        off = self.start_hub(data=self.path("other"))
        self.assertEqual(self.ask(off.url + "/register/?token=0000&host_name=h")["status_code"], 403)


class Doors(HubCase):
    def pin(self, h):
        return h.wait_line(r"(sha256//\S+)").group(1)

    def test_tls_with_a_certificate_of_its_own_that_stays_and_can_be_pinned(self):
        h = self.start_hub("--tls")
        pin = self.pin(h)
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", h.port)) as s, context.wrap_socket(s, server_hostname="localhost") as t:
            der = t.getpeercert(True)
            t.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            reply = b""
            while chunk := t.recv(65536):
                reply += chunk
        self.assertTrue(reply.endswith(b"ok\n"), reply)
        pem = self.path("cert.pem")
        with open(pem, "w") as f:
            f.write(ssl.DER_cert_to_PEM_cert(der))
        key = self.run_ok("openssl", "x509", "-in", pem, "-noout", "-pubkey")
        spki = base64.b64decode("".join(key.splitlines()[1:-1]))
        self.assertEqual(pin, "sha256//" + base64.b64encode(hashlib.sha256(spki).digest()).decode())
        self.assertEqual(self.run_ok("curl", "-fsSk", "--pinnedpubkey", pin, h.url + "/healthz"), "ok\n")
        self.assertNotEqual(self.run_any("curl", "-fsSk", "--pinnedpubkey", "sha256//" + "A" * 43 + "=", h.url + "/healthz")[0], 0)
        big = self.run_ok("curl", "-fsSk", "--compressed", h.url + "/api/v1/openapi.json")
        self.assertIn("/api/v1/batches", json.loads(big)["paths"])
        h.stop()
        self.assertEqual(self.pin(self.start_hub("--tls")), pin)

    def test_what_is_pipelined_over_tls_is_all_answered(self):
        h = self.start_hub("--tls")
        one, n = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 2000
        with socket.create_connection(("127.0.0.1", h.port), timeout=lib.LIMIT_S) as s, ssl._create_unverified_context().wrap_socket(s, server_hostname="localhost") as t:
            t.sendall(one * (n - 1) + one[:-2] + b"Connection: close\r\n\r\n")
            reply = b""
            while chunk := t.recv(65536):
                reply += chunk
        self.assertEqual(reply.count(b"HTTP/1.1 200 OK"), n)

    def test_a_certificate_given_is_used_and_read_again(self):
        make = lambda name: self.run_ok("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.path("key.pem"), "-out", self.path("cert.pem"),
                                        "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1")
        make("one")
        h = self.start_hub("--tls-cert", self.path("cert.pem"), "--tls-key", self.path("key.pem"))
        self.assertEqual(self.run_ok("curl", "-fsS", "--cacert", self.path("cert.pem"), h.url + "/healthz"), "ok\n")
        make("two")
        h.p.send_signal(signal.SIGHUP)
        h.wait_line("reloaded")
        self.assertEqual(self.run_ok("curl", "-fsS", "--cacert", self.path("cert.pem"), h.url + "/healthz"), "ok\n")
        with open(self.path("cert.pem"), "w") as f:
            f.write("not a certificate")
        h.p.send_signal(signal.SIGHUP)
        h.wait_line("reload: nothing was changed")
        self.assertEqual(self.run_ok("curl", "-fsSk", h.url + "/healthz"), "ok\n")

    def test_plain_bytes_on_a_tls_port_and_a_handshake_that_stops_do_no_harm(self):
        h = self.start_hub("--tls")
        self.assertNotIn(b"200 OK", raw(h.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        with socket.create_connection(("127.0.0.1", h.port)) as s:
            s.sendall(b"\x16\x03\x01\x02\x00\x01")
            self.assertEqual(self.run_ok("curl", "-fsSk", h.url + "/healthz"), "ok\n")

    def test_a_reload_takes_all_of_it_or_none(self):
        conf = self.path("muster.yaml")

        def write(text):
            with open(conf, "w") as f:
                f.write(text)
        write("show_cmdlines: false\n")
        h = self.hub("--config", conf)
        n = self.node(h)
        self.post(h, n.stream(n.procs((1, "kim", "p", "secret words")), n.batch()), n.token)
        shown = lambda: "secret words" in lib.ask(h.url + "/api/v1/processes")[2].decode()
        self.assertFalse(shown())
        for bad in ("show_cmdlines: true\nrule: {preset: nonsense}\n", "show_cmdlines: true\nrule: {util: many}\n", "show_cmdlines: true\nnonsense: 1\n",
                    "show_cmdlines: true\ntls_cert: /nowhere\ntls_key: /nowhere\n", "show_cmdlines: true\nproxy: {header: X-User}\n"):
            write(bad)
            seen = h.text.count("nothing was changed")
            h.p.send_signal(signal.SIGHUP)
            lib.wait_until("it says so", lambda: h.text.count("nothing was changed") > seen)
            self.assertFalse(shown(), bad)
        write("show_cmdlines: true\n")
        h.p.send_signal(signal.SIGHUP)
        h.wait_line("reloaded")
        self.assertTrue(shown())

    def test_what_cannot_start_says_why(self):
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for flags, code, words in ((("--listen", "nonsense"), 2, "ADDRESS:PORT"), (("--listen", "host.example:80"), 2, "not an address"), (("--listen", f"127.0.0.1:{port}"), 3, "cannot listen"),
                                   (("--tls-cert", "/nowhere"), 2, "belong together"), (("--rule-preset", "x"), 2, "rule.preset"), (("--nonsense",), 2, "nonsense"),
                                   (("--data", "/proc/nowhere"), 3, "/proc/nowhere"), (("extra",), 2, "extra"), (("--rule-held-mem", "much"), 2, "rule.held_mem")):
            with self.subTest(flags):
                argv = [lib.MUSTER, "hub"]
                if "--data" not in flags:
                    argv += ["--data", self.path("d")]
                if "--listen" not in flags:
                    argv += ["--listen", "127.0.0.1:0"]
                status, out, err = self.run_any(*argv, *flags)
                self.assertEqual(status, code, err)
                self.assertIn(words, err)
                self.assertEqual(len(err.strip().splitlines()), 1, err)

    def test_a_second_hub_on_the_same_data_is_refused(self):
        self.hub()
        status, _, err = self.run_any(lib.MUSTER, "hub", "--listen", "127.0.0.1:0", "--data", self.path("data"))
        self.assertEqual(status, 3, err)

    def test_it_ends_in_good_order(self):
        h = self.hub()
        s = Stream(h.url + "/api/v1/stream")
        self.addCleanup(s.close)
        idle = socket.create_connection(("127.0.0.1", h.port))
        self.addCleanup(idle.close)
        self.assertEqual(h.stop(), 0)

    def test_the_supervisor_is_told(self):
        path = self.path("notify")
        box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(box.close)
        box.bind(path)
        box.settimeout(lib.LIMIT_S)
        told = []

        def listen():  # all the while: the box is small, and what does not fit is lost
            while not told or told[-1] != b"STOPPING=1":
                told.append(box.recv(100))
        ears = threading.Thread(target=listen, daemon=True)
        ears.start()
        h = self.start_hub(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
        lib.wait_until("it is ready, and alive", lambda: told[:2] == [b"READY=1", b"WATCHDOG=1"])
        h.stop()
        ears.join()
        self.assertEqual(told[-1], b"STOPPING=1")


if __name__ == "__main__":
    lib.main()
