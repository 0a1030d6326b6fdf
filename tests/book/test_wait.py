#!/usr/bin/python3
"""`muster wait` and `muster free` against a real hub whose nodes' GPUs come and go."""
import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

import lib
import sender


class Cluster:
    """Nodes with one GPU each, heard of every half second; who is on which can be changed at any time."""

    def __init__(self, url, tokens):
        self.url, self.tokens, self.nodes, self.on = url, tokens, {n: sender.Node(n) for n in tokens}, {}
        self.lock, self.over = threading.Lock(), threading.Event()
        self.say()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def say(self):
        with self.lock:
            for name, node in self.nodes.items():
                user = self.on.get(name)
                procs = node.procs((100, user, "train", "train")) if user else node.procs()
                raw = node.stream(node.facts(), procs, node.batch(util=5000 if user else 0, mem=8 << 30 if user else 0))
                auth = {"Authorization": "Bearer " + self.tokens[name], "Content-Type": "application/octet-stream"}
                lib.ask(self.url + "/api/v1/batches", method="POST", body=raw, headers=auth)

    def use(self, name, user):
        self.on[name] = user
        self.say()

    def leave(self, name):
        self.on.pop(name, None)
        self.say()

    def _run(self):
        while not self.over.wait(0.5):
            try:
                self.say()
            except OSError:
                pass  # the hub is away

    def stop(self):
        self.over.set()
        self.thread.join()


TOLD = """
people:
  kim: {{tell: [wait]}}
  lee: {{tell: [gpu-idle]}}
channels:
  own: {{type: command, command: [/bin/sh, -c, "cat >> {told}"], to: person, quiet: "00:00-23:59"}}
"""


class Waits(lib.Case):
    flags = ()

    def open(self, *names):
        self.port = lib.free_port()
        self.begin()
        self.admin = self.token("admin")
        self.cluster = Cluster(self.url, {n: self.token("agent") for n in names})
        self.addCleanup(self.cluster.stop)

    def begin(self):
        self.url = f"http://127.0.0.1:{self.port}"
        self.hub = self.start(lib.MUSTER, "hub", *self.flags, "--listen", f"127.0.0.1:{self.port}", "--data", self.path("data"))
        self.hub.wait_line(r"http://127")

    def ask(self, method, path, token=None, body=None):
        head = {"Authorization": "Bearer " + (token or self.admin)}
        status, _, raw = lib.ask(self.url + path, method=method, headers=head, body=None if body is None else json.dumps(body).encode())
        return status, json.loads(raw)

    def waits(self):
        return self.ask("GET", "/api/v1/waits")[1]["rows"]

    def wait(self, *flags, person="kim"):
        """`muster wait` as its own process, once it stands in the queue or has what it wanted."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        env.update(MUSTER_HUB=self.url, MUSTER_TOKEN=self.admin)
        before = {r["id"] for r in self.waits()}
        p = subprocess.Popen([lib.MUSTER, "wait", "--for", "0s", "--person", person, *flags], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (p.kill() if p.poll() is None else None, p.wait(), p.stdout.close(), p.stderr.close()))
        lib.wait_until("it stands in the queue", lambda: {r["id"] for r in self.waits()} - before or p.poll() is not None)
        return p

    def state(self, name):
        got = lib.ask_json(self.url + "/api/v1/state")
        return next(n["devices"][0] for n in got["nodes"] if n["name"] == name)

    def test_what_is_free_is_given_at_once_and_held_in_ones_name(self):
        self.open("a1")
        p = self.wait("--hold", "1h")
        out, err = p.communicate(timeout=lib.LIMIT_S)
        self.assertEqual((p.returncode, out), (0, "a1:0\n"), err)
        row = self.waits()[0]
        self.assertEqual((row["state"], row["person"], row["where"], row["count"]), ("yours", "kim", "a1:0", 1))
        lib.wait_until("the screens show it", lambda: self.state("a1")["state"] == "held")
        self.assertEqual(self.state("a1")["booking"]["person"], "kim")
        kinds = lambda: [(e["kind"], e["text"].split(" until")[0]) for e in lib.ask_json(self.url + "/api/v1/events") if e["kind"] == "booked"]
        self.assertEqual(lib.wait_until("the event", kinds), [("booked", "kim waited for and got a1:0")])
        status, got = self.ask("DELETE", f"/api/v1/waits/{row['id']}")
        self.assertEqual((status, got["state"]), (200, "left"))
        lib.wait_until("it is free again", lambda: self.state("a1")["state"] == "free")

    def cli(self, *argv):
        return self.run_any(lib.MUSTER, "wait", *argv, env={"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.admin})

    def open_told(self):
        """One node, in use, and a channel that leads to persons."""
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(TOLD.format(told=self.path("told")))
        self.flags = ("--config", self.path("muster.yaml"))
        self.open("a1")
        self.cluster.use("a1", "pat")
        lib.wait_until("it is in use", lambda: self.state("a1")["state"] == "busy")

    def messages(self):
        try:
            with open(self.path("told"), encoding="utf-8") as f:
                return [json.loads(line) for line in f if line.endswith("\n")]  # one may be on its way
        except FileNotFoundError:
            return []

    def test_who_asked_for_it_is_told_by_a_message(self):
        self.open_told()
        status, out, err = self.cli("--tell", "--for", "0s", "--person", "kim")
        self.assertEqual((status, out), (0, "wait 1: 0 ahead of you; a message comes when it is your turn\n"), err)
        self.assertRegex(self.cli("--tell", "--person", "kim")[1], "^wait 2: 1 ahead of you")
        self.assertEqual(self.cli("--leave", "2", "--person", "kim")[0], 0)
        status, out, err = self.cli("--tell", "--person", "lee")
        self.assertNotEqual((status, out), (0, ""))
        self.assertIn("nobody can tell lee", err)
        self.assertEqual(self.cli("--tell", "--", "true")[0], 2)
        self.hub.kill9()
        self.begin()
        queue = [(r["id"], r["state"], r["tell"]) for r in self.waits() if r["state"] == "waiting"]
        self.assertEqual(queue, [(1, "waiting", True)])
        self.assertEqual(self.messages(), [])
        self.cluster.leave("a1")
        (told,) = lib.wait_until("they are told", self.messages, limit=90)
        self.assertEqual((told["kind"], told["person"], told["rule"]), ("notice", "kim", "wait"))
        self.assertRegex(told["title"], r"^a1:0 is yours until .*: you waited [0-9][0-9a-z ]* for 1 GPU$")
        self.assertIn("CUDA_VISIBLE_DEVICES=" + self.cluster.nodes["a1"].uuid, told["text"])
        row = self.waits()[0]
        self.assertEqual((row["state"], row["hold"]), ("yours", 1800000))
        lib.wait_until("it is noted that they were told", lambda: self.on_disk("SELECT count(*) FROM holds WHERE id = 1 AND place LIKE '% said %'"))
        lib.wait_until("the message is gone", lambda: not self.on_disk("SELECT count(*) FROM notes WHERE kind = 3"))
        self.hub.kill9()
        self.begin()
        time.sleep(3)
        self.assertEqual(len(self.messages()), 1, "once, also over a restart")

    def test_a_wait_that_ends_without_anything_is_told_of(self):
        self.open_told()
        self.assertEqual(self.cli("--tell", "--timeout", "3s", "--person", "kim")[0], 0)
        (told,) = lib.wait_until("they are told", self.messages)
        self.assertEqual(told["title"], "your request for 1 GPU has ended: none became free within 3 s")

    def test_ten_over_four_are_served_in_order_also_over_a_restart(self):
        names = ["a1", "a2", "a3", "a4"]
        self.open(*names)
        all_waits = [self.wait("--hold", "1h", person=f"p{i}") for i in range(10)]
        lib.wait_until("four are served", lambda: sum(r["state"] == "yours" for r in self.waits()) == 4)
        served = []  # (person, place), in order
        restarted = False
        while len(served) < 10:
            rows = self.waits()
            held = [r for r in rows if r["state"] == "yours"]
            self.assertEqual(len({r["where"] for r in held}), len(held), "two have the same GPU")
            waiting = [r["person"] for r in rows if r["state"] == "waiting"]
            self.assertEqual(waiting, sorted(waiting), "not in order")
            for r in held:
                if (r["person"], r["where"]) not in served:
                    served.append((r["person"], r["where"]))
            if len(served) >= 6 and not restarted:  # in between
                restarted = True
                self.hub.kill9()
                self.begin()
                lib.wait_until("all are still there", lambda: len(self.waits()) == len(held) + len(waiting))
            if len(served) < 10:
                first = held[0]  # done with it, once it knows that it has it: a command that finds its place gone queues again
                lib.wait_until("it was told", lambda: all_waits[int(first["person"][1:])].poll() is not None)
                self.assertEqual(self.ask("DELETE", f"/api/v1/waits/{first['id']}")[0], 200)
                lib.wait_until("the next is served", lambda: any((r["person"], r["where"]) not in served for r in self.waits() if r["state"] == "yours"), limit=90)
        self.assertEqual([p for p, _ in served], [f"p{i}" for i in range(10)])
        for i, p in enumerate(all_waits):
            out, err = p.communicate(timeout=lib.LIMIT_S)
            self.assertEqual((p.returncode, out.strip()), (0, dict(served)[f"p{i}"]), err)

    def test_who_wants_many_is_not_overtaken_by_who_wants_one(self):
        self.open("a1", "a2")
        self.cluster.use("a1", "lee")
        lib.wait_until("it is in use", lambda: self.state("a1")["state"] == "busy")
        many = self.wait("--gpus", "2", person="many")
        one = self.wait(person="one")
        status, got = self.ask("GET", "/api/v1/free?free_for=0s")
        self.assertEqual(status, 409, got)
        self.assertIn("kept for who waits", got["detail"])
        time.sleep(2.5)  # two rounds: enough to do wrong
        self.assertEqual([(r["person"], r["state"], r["ahead"]) for r in self.waits()], [("many", "waiting", 0), ("one", "waiting", 1)])
        many.send_signal(signal.SIGINT)  # leaves the queue
        self.assertEqual(many.wait(lib.LIMIT_S), 130)
        out, err = one.communicate(timeout=lib.LIMIT_S)
        self.assertEqual(out, "a2:0\n", err)
        self.assertEqual([r["person"] for r in self.waits()], ["one"])

    def test_others_bookings_are_left_alone_ones_own_are_good(self):
        self.open("a1", "a2")
        for name, person in (("a1", "lee"), ("a2", "kim")):
            status, got = self.ask("POST", "/api/v1/bookings", body={"gpus": f"{name}:0", "for": "2h", "person": person})
            self.assertEqual(status, 201, got)
        out, err = self.wait(person="kim").communicate(timeout=lib.LIMIT_S)
        self.assertEqual(out, "a2:0\n", err)
        zoe = self.wait("--timeout", "3s", person="zoe")
        out, err = zoe.communicate(timeout=lib.LIMIT_S)
        self.assertEqual((zoe.returncode, out), (1, ""), err)
        self.assertIn("not so many were free in time", err)
        self.assertNotIn("zoe", [r["person"] for r in self.waits()])

    def test_a_command_gets_them_and_keeps_them_until_it_ends(self):
        host = socket.gethostname().split(".")[0]
        self.open(host)
        p = self.wait("--hold", "10s", "--", "sh", "-c", "exec sleep 15")
        lib.wait_until("it runs", lambda: [r["state"] for r in self.waits()] == ["yours"])
        p.kill()  # the waiter dies; what it was given stays only as long as told
        p = self.wait("--hold", "1h", "--timeout", "150s", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $MUSTER_DEVICES; exit 7")
        out, err = p.communicate(timeout=lib.LIMIT_S)
        self.assertEqual((p.returncode, out), (7, f"{self.cluster.nodes[host].uuid} {host}:0\n"), err)
        lib.wait_until("it is given back", lambda: not self.waits())

    def test_a_command_is_not_started_on_another_machines_gpus(self):
        self.open("a1")
        p = self.wait("--host", "a*", "--", "touch", self.path("ran"))
        out, err = p.communicate(timeout=lib.LIMIT_S)
        self.assertEqual((p.returncode, out), (1, ""))
        self.assertIn("a1:0 is not on this machine", err)
        self.assertFalse(os.path.exists(self.path("ran")))
        lib.wait_until("it is given back", lambda: not self.waits())

    def test_what_can_never_be_is_said_at_once(self):
        self.open("a1", "a2")
        for flags, words in ((["--gpus", "3"], "only 2 GPUs"), (["--gpus", "2", "--same-host"], "none has more than 1"), (["--model", "H900"], "only 0 GPUs like H900"),
                             (["--mem", "90G"], "only 0 GPUs with 90 GiB"), (["--host", "b*"], "only 0 GPUs on b*")):
            p = self.wait(*flags)
            out, err = p.communicate(timeout=lib.LIMIT_S)
            self.assertEqual((p.returncode, out), (1, ""), err)
            self.assertIn(words, err)
        p = self.wait("--gpus", "0")
        self.assertEqual(p.wait(lib.LIMIT_S), 2)

    def test_free_for_scripts(self):
        self.open("a1", "a2")
        env = {"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.admin}
        out = self.run_ok(lib.MUSTER, "free", "2", "--for", "0s", env=env)
        self.assertEqual(out, "a1:0 a2:0\n")
        out = self.run_ok(lib.MUSTER, "free", "--host", "a2", "--for", "0s", "--uuids", env=env)
        self.assertEqual(out.strip(), self.cluster.nodes["a2"].uuid)
        got = json.loads(self.run_ok(lib.MUSTER, "free", "--for", "0s", "--json", env=env))
        self.assertEqual((got["where"], len(got["devices"])), ("a1:0", 1))
        status, out, err = self.run_any(lib.MUSTER, "free", "3", "--for", "0s", env=env)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("of 2 GPUs", err)
        status, out, err = self.run_any(lib.MUSTER, "free", "1", "--for", "1h", env=env)  # not for so long yet
        self.assertEqual((status, out), (1, ""), err)
        for bad in ("0", "x", "300"):
            self.assertEqual(self.run_any(lib.MUSTER, "free", bad, env=env)[0], 2)

    def test_free_says_from_when_a_gpu_is_booked(self):
        self.open("a1", "a2")
        env = {"MUSTER_HUB": self.url, "MUSTER_TOKEN": self.admin, "TZ": "UTC"}
        status, booking = self.ask("POST", "/api/v1/bookings", body={"gpus": "a1:0", "person": "ben", "from": int((time.time() + 7200) * 1000), "for": "1h"})
        self.assertEqual(status, 201, booking)
        status, out, err = self.run_any(lib.MUSTER, "free", "--for", "0s", env=env)
        self.assertEqual((status, out, err), (0, "a2:0\n", ""))
        status, out, err = self.run_any(lib.MUSTER, "free", "2", "--for", "0s", env=env)
        self.assertEqual((status, out), (0, "a2:0 a1:0\n"))
        self.assertRegex(err, "^muster free: one of them is booked from ")
        self.assertEqual(json.loads(self.run_ok(lib.MUSTER, "free", "2", "--for", "0s", "--json", env=env))["free_until"], booking["from"])

    def test_bad_wishes_get_one_clear_error(self):
        self.open("a1")
        for body, words in (({"count": 0}, "from 1 to 256"), ({"count": "x"}, "from 1 to 256"), ({"mem": "much"}, "as 40G"), ({"free_for": "soon"}, "free_for"), ({"hold": 5}, "ten seconds"),
                            ({"what": 1}, "not understood"), ({"model": ["x"]}, "are text"), ({"model": 7}, "are text"), ({"count": ["x"]}, "a text, a whole number"), ({"node": "x" * 200}, "at most 100"), ({"same_host": "maybe"}, "true or false")):
            status, got = self.ask("POST", "/api/v1/waits", body={"person": "kim", **body})
            self.assertEqual(status, 400, (body, got))
            self.assertIn(words, got["detail"])
        self.assertEqual(self.ask("POST", "/api/v1/waits/99999", body={})[0], 404)
        self.assertEqual(lib.ask(self.url + "/api/v1/waits", method="POST", body=b"{}")[0], 401)
        lee = self.token("member", "--person", "lee")
        status, got = self.ask("POST", "/api/v1/waits", body={"person": "kim", "count": 1, "free_for": "1h"})
        self.assertEqual(status, 201, got)
        self.assertEqual(self.ask("POST", f"/api/v1/waits/{got['id']}", lee, body={})[0], 403)
        self.assertEqual(self.ask("DELETE", f"/api/v1/waits/{got['id']}", lee)[0], 403)


if __name__ == "__main__":
    lib.main()
