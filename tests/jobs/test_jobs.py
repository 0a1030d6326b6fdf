#!/usr/bin/python3
"""Jobs: labelled spans over HTTP, `muster record` and `muster jobs`, against a real hub."""
import csv
import io
import json
import os
import re
import signal
import socket
import threading
import time

import lib
import sender

BASE = (int(time.time()) - 86400) * 1000  # yesterday: what is too old is not kept


def iso(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(ms / 1000))


class Jobs(lib.Case):
    def setUp(self):
        super().setUp()
        self.hub = self.start_hub()
        self.kim = self.token("member", "--person", "kim")
        self.lee = self.token("member", "--person", "lee")
        self.admin = self.token("admin")

    def ask(self, method, path, token=None, body=None, **headers):
        if token:
            headers["Authorization"] = "Bearer " + token
        raw = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        status, head, answer = lib.ask(self.hub.url + path, method=method, body=raw, headers=headers)
        if head.get("content-type", "").startswith("text/csv"):
            return status, list(csv.DictReader(io.StringIO(answer.decode())))
        return status, json.loads(answer)

    def post(self, token, **body):
        return self.ask("POST", "/api/v1/jobs", token, body)

    def made(self, token, **body):
        status, job = self.post(token, **body)
        self.assertEqual(status, 201, job)
        return job

    def list(self, query="", token=None):
        status, got = self.ask("GET", "/api/v1/jobs?" + query, token)
        self.assertEqual(status, 200, got)
        return got["jobs"]

    def node(self, name, **kw):
        node, token = sender.Node(name, **kw), self.token("agent")
        auth = {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=node.first(), headers=auth)
        self.assertEqual(status, 200, body)
        return node, token

    def test_a_job_from_start_to_end(self):
        node, _ = self.node("dgx1")
        job = self.made(self.kim, name="train", kind="dask", node="dgx1", devices=[node.uuid], pids=[12, 13], start=BASE, attributes={"lr": 0.1, "tags": ["a"]})
        self.assertEqual((job["name"], job["kind"], job["person"], job["node"], job["node_id"], job["devices"], job["pids"], job["parent"]),
                         ("train", "dask", "kim", "dgx1", node.key, [node.uuid], [12, 13], None))
        self.assertEqual((job["start"], job["end"], job["state"], job["attributes"]), (BASE, None, "running", {"lr": 0.1, "tags": ["a"]}))
        child = self.made(self.kim, name="worker", kind="dask", parent=job["id"], start=iso(BASE + 1000))
        self.assertEqual(child["parent"], job["id"])
        later = int((time.time() + 1800) * 1000)
        status, planned = self.ask("PATCH", "/api/v1/jobs/" + job["id"], self.kim, {"end": later})
        self.assertEqual((status, planned["end"], planned["planned_end"], planned["state"]), (200, None, later, "running"))
        status, ended = self.ask("PATCH", "/api/v1/jobs/" + job["id"], self.kim, {"end": BASE + 60000, "name": "trained", "attributes": {"loss": 1}})
        self.assertEqual((status, ended["end"], ended["state"], ended["name"], ended["attributes"]), (200, BASE + 60000, "ended", "trained", {"loss": 1}))
        self.assertNotIn("planned_end", ended)
        self.assertEqual(self.ask("GET", "/api/v1/jobs/" + job["id"]), (200, ended))
        self.assertEqual([j["id"] for j in self.list()], [child["id"], job["id"]])  # newest start first
        # a restart forgets nothing
        self.assertEqual(self.hub.stop(), 0)
        self.hub = self.start_hub()
        self.assertEqual(self.ask("GET", "/api/v1/jobs/" + job["id"])[1]["end"], BASE + 60000)

    def test_lists_are_of_a_time_a_node_a_person_a_device_a_kind_a_parent(self):
        one, _ = self.node("dgx1")
        base = BASE
        a = self.made(self.kim, name="a", node="dgx1", devices=[one.uuid], start=base, end=base + 1000)["id"]
        b = self.made(self.kim, name="b", kind="wandb", parent=a, start=base + 2000, end=base + 3000)["id"]
        c = self.made(self.lee, name="c", start=base + 2500)["id"]
        for query, want in (("", [c, b, a]), (f"from={base + 1000}", [c, b]), (f"to={base + 2500}", [b, a]), (f"from={base + 500}&to={base + 2001}", [b, a]),
                            ("node=dgx1", [a]), (f"node={one.key}", [a]), (f"device={one.uuid}", [a]), ("person=lee", [c]), ("kind=wandb", [b]), (f"parent={a}", [b]),
                            ("limit=1", [c]), ("node=nobody", []), ("filter=user:kim", [b, a]), ("filter=host:dgx1", [a]), ("filter=program:b", [b]),
                            ("filter=user:kim+not+host:dgx*", []), ("filter=mine&me=lee", [c]), ("filter=model:test", [a])):
            self.assertEqual([j["id"] for j in self.list(query)], want, query)
        self.assertEqual(self.ask("GET", "/api/v1/jobs?limit=2")[1]["more"], True)
        self.assertEqual(self.ask("GET", "/api/v1/jobs?limit=3")[1]["more"], False)
        status, rows = self.ask("GET", "/api/v1/jobs?format=csv")
        self.assertEqual((status, [r["name"] for r in rows], rows[1]["end"], rows[0]["end"], rows[2]["node"]), (200, ["c", "b", "a"], iso(base + 3000), "", "dgx1"))
        for query in ("from=whenever", "from=now&to=-1h", "parent=7", "format=xml", "filter=mem>"):
            status, problem = self.ask("GET", "/api/v1/jobs?" + query)
            self.assertEqual((status, problem["status"]), (400, 400), query)

    def test_a_retry_does_not_double_and_two_people_do_not_meet(self):
        first = self.made(self.kim, name="train", key="run-1")
        status, again = self.post(self.kim, name="another", key="run-1")
        self.assertEqual((status, again), (200, first))
        other = self.made(self.lee, name="train", key="run-1")
        self.assertNotEqual(other["id"], first["id"])
        self.assertNotEqual(self.made(self.kim, name="train")["id"], self.made(self.kim, name="train")["id"])
        part = self.made(self.lee, name="part", key="run-1 part", parent=first["id"])
        self.assertEqual(self.post(self.lee, name="another", key="run-1 part", parent=first["id"]), (200, part))
        # two clients at the same moment
        ids, threads = [], []
        for _ in range(8):
            threads.append(threading.Thread(target=lambda: ids.append(self.post(self.kim, name="train", key="run-2")[1]["id"])))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(ids), len(set(ids))), (8, 1))
        self.assertEqual(len(self.list("person=kim")), 4)

    def test_who_may(self):
        node, agent = self.node("dgx1")
        other, second = self.node("dgx2")
        self.assertEqual(self.post(None, name="x")[0], 401)
        self.assertEqual(self.post(self.token("enroll"), name="x")[0], 403)
        self.assertEqual(self.post(self.token("agent"), name="x")[0], 403)  # of no node yet
        self.assertEqual(self.post(self.kim, name="x", person="lee")[0], 403)
        self.assertEqual(self.made(self.admin, name="x", person="lee")["person"], "lee")
        self.assertEqual(self.post(agent, name="x", node="dgx2")[0], 403)
        job = self.made(agent, name="slurm 17", kind="slurm", person="kim", devices=[node.uuid])
        self.assertEqual((job["node_id"], job["person"]), (node.key, "kim"))
        path = "/api/v1/jobs/" + job["id"]
        self.assertEqual(self.ask("PATCH", path, None, {"name": "y"})[0], 401)
        self.assertEqual(self.ask("PATCH", path, self.lee, {"name": "y"})[0], 403)
        self.assertEqual(self.ask("PATCH", path, second, {"name": "y"})[0], 403)
        for token in (agent, self.kim, self.admin):
            self.assertEqual(self.ask("PATCH", path, token, {"end": "now"})[0], 200)
        self.assertEqual(self.ask("POST", "/api/v1/jobs", self.kim, {"name": "x"}, Origin="http://evil.example")[0], 403)
        # devices alone say which node it was
        self.assertEqual(self.made(self.kim, name="x", devices=[other.uuid])["node"], "dgx2")
        # a command line is its owner's
        job = self.made(self.kim, name="x", attributes={"command": "train --secret", "n": 1})
        path = "/api/v1/jobs/" + job["id"]
        self.assertEqual([self.ask("GET", path, t)[1]["attributes"] for t in (None, self.lee)], [{"n": 1}] * 2)
        self.assertEqual([self.ask("GET", path, t)[1]["attributes"].get("command") for t in (self.kim, self.admin)], ["train --secret"] * 2)
        self.assertEqual(self.list("limit=1")[0]["attributes"], {"n": 1})

    def test_bad_bodies_are_told_what_is_wrong(self):
        good = self.made(self.kim, name="x", start=BASE)["id"]
        for body, words in ((b"{", "JSON"), (b"[]", "object"), ({}, "name"), ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"name": "a\u202eb"}, "bidirectional marks"), ({"name": "a\u009bb"}, "control characters"), ({"name": "x", "person": "kim\u200f"}, "bidirectional marks"),
                            ({"name": "x" * 300}, "name"), ({"name": 7}, "name"),
                            ({"name": "x", "kind": "A b"}, "kind"), ({"name": "x", "start": "soon"}, "start"), ({"name": "x", "start": 99999999999999}, "start"),
                            ({"name": "x", "start": BASE, "end": BASE - 1000}, "before"), ({"name": "x", "devices": "GPU-a"}, "devices"), ({"name": "x", "devices": ["a,b"]}, "devices"),
                            ({"name": "x", "pids": [0]}, "pids"), ({"name": "x", "pids": [1] * 300}, "pids"), ({"name": "x", "parent": "0000000000000001"}, "parent"),
                            ({"name": "x", "attributes": []}, "attributes"), ({"name": "x", "attributes": {"a": "x" * 5000}}, "attributes"), ({"name": "x", "colour": 1}, "colour")):
            status, problem = self.ask("POST", "/api/v1/jobs", self.kim, body)
            self.assertEqual(status, 400, body)
            self.assertIn(words, problem["detail"], body)
        self.assertEqual(self.post(self.kim, name="x", node="nobody")[0], 404)
        for body in ({"kind": "x"}, {"end": None}, {"end": BASE - 1000}):
            self.assertEqual(self.ask("PATCH", "/api/v1/jobs/" + good, self.kim, body)[0], 400, body)
        for path in ("/api/v1/jobs/7", "/api/v1/jobs/00000000000000ff", "/api/v1/jobs/zzzzzzzzzzzzzzzz"):
            self.assertEqual(self.ask("GET", path)[0], 404)
        self.assertEqual(len(self.list()), 1)

    def test_a_job_whose_node_went_away_is_unfinished(self):
        self.node("dgx1")
        job = self.made(self.kim, name="x", node="dgx1")
        self.assertEqual(job["state"], "running")
        self.assertEqual(self.ask("PATCH", "/api/v1/nodes/dgx1", self.admin, {"retired": True})[0], 200)
        self.assertEqual([(j["state"], j["end"]) for j in self.list()], [("unfinished", None)])

    def test_muster_jobs(self):
        self.made(self.kim, name="train", kind="dask", start=BASE + 1000, end=BASE + 61000)
        self.made(self.lee, name="evaluate")
        ask = [lib.MUSTER, "jobs", "--hub", self.hub.url, "--last", "3d"]
        lines = self.run_ok(*ask).splitlines()
        self.assertEqual([line.split()[:2] == ["START", "TOOK"] for line in lines], [True, False, False])
        self.assertRegex(lines[1], r"running +custom +lee .* evaluate ")
        self.assertRegex(lines[2], r" 1 m.* ended +dask +kim .* train ")
        self.assertEqual(len(json.loads(self.run_ok(*ask, "--person", "kim", "--json"))["jobs"]), 1)
        self.assertEqual(len(self.run_ok(*ask, "--kind", "dask", "--csv").splitlines()), 2)
        self.assertEqual(len(self.run_ok(*ask, "--last", "1h").splitlines()), 2)
        self.assertEqual(self.run_any(*ask, "--person", "nobody")[0], 1)
        self.assertEqual(self.run_any(*ask, "--json", "--csv")[0], 2)
        self.assertEqual(self.run_any(*ask, "--filter", "mem>")[0], 2)
        self.assertEqual(self.run_any(lib.MUSTER, "jobs", "--hub", "http://127.0.0.1:1")[0], 3)


class Record(lib.Case):
    def stub(self):
        with open(self.path("stub"), "w", encoding="ascii") as f:
            f.write("gpus 2\n")
        return {"MUSTER_NVML_STUB": self.path("stub"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_COLLECTOR": "nvml", "MUSTER_STATE_DIR": self.path("state")}

    def record(self, *argv, url, how=None):
        env = self.stub()
        return (how or self.run_any)(lib.MUSTER, "record", "--every", "200ms", "--hub", url, "--token-file", self.path("token"), *argv, env=env)

    def keep_token(self, *flags):
        self.secret("token", self.token(*flags))

    def jobs(self, hub):
        with open(self.path("token"), encoding="ascii") as f:
            auth = {"Authorization": "Bearer " + f.read()}
        return lib.ask_json(hub.url + "/api/v1/jobs", headers=auth)["jobs"]

    def test_a_command_is_a_job_with_the_gpus_it_used(self):
        hub = self.start_hub()
        self.keep_token("member", "--person", "kim")
        gpu_work = f"printf 'mem 0 1073741824\\nproc 0 %d 1073741824\\n' $$ > {self.path('stub')}; sleep 2; exit 5"
        status, _, err = self.record("--name", "my run", "--", "sh", "-c", gpu_work, url=hub.url)
        self.assertEqual(status, 5, err)
        self.assertIn("gpu 0", err)
        (job,) = self.jobs(hub)
        self.assertIn(f"run page: {hub.url}/run/{job['id']}\n", err)
        self.assertEqual((job["name"], job["kind"], job["person"], job["state"], len(job["devices"])), ("my run", "record", "kim", "ended", 1))
        self.assertEqual((job["attributes"]["exit_code"], job["attributes"]["command"]), (5, "sh -c " + gpu_work))
        self.assertGreaterEqual(job["end"] - job["start"], 2000)
        self.assertEqual(len(job["pids"]), 1)
        # an admin's token names nobody: then it is the login; the node is known by its GPU
        node = sender.Node("other-name")
        node.uuid = job["devices"][0]
        auth = {"Authorization": "Bearer " + self.token("agent"), "Content-Type": "application/octet-stream"}
        self.assertEqual(lib.ask(hub.url + "/api/v1/batches", method="POST", body=node.first(), headers=auth)[0], 200)
        self.keep_token("admin")
        status, _, err = self.record("--", "sh", "-c", gpu_work, url=hub.url)
        job = self.jobs(hub)[0]
        self.assertEqual((status, job["name"], job["node"]), (5, "sh", "other-name"), err)
        self.assertTrue(job["person"])

    def test_on_the_hubs_own_machine_all_commands_find_it_and_its_token(self):
        env = {**self.stub(), "MUSTER_DATA": self.path("data")}
        up = self.start(lib.MUSTER, "up", "--listen", "127.0.0.1:0", env=env)
        url = up.wait_line(r"http://127\.0\.0\.1:\d+")[0]
        nodes = lambda: json.loads(self.run_ok(lib.MUSTER, "node", "list", "--json", env=env))
        lib.wait_until("its GPUs", lambda: [n["devices"] for n in nodes()] == [2])
        gpu_work = f"printf 'gpus 2\\nutil 0 90\\nmem 0 1073741824\\nproc 0 %d 1073741824\\n' $$ > {self.path('stub')}; sleep 12"
        status, _, err = self.run_any(lib.MUSTER, "record", "--name", "first", "--", "sh", "-c", gpu_work, env=env)
        self.assertEqual(status, 0, err)
        address = re.search(f"(?m)^run page: {url}/run/([0-9a-f]{{16}})$", err)
        self.assertTrue(address, err)
        self.assertRegex(err, r"(?m)^verdict: ")
        runs = self.run_ok(lib.MUSTER, "runs", env=env)
        self.assertRegex(runs, r"ended +record .* first +" + address[1])
        _, _, err = self.run_any(lib.MUSTER, "record", "--", "true", env=env)
        self.assertIn("no verdict: it used no GPU", err)
        self.assertIn("first, record, ", self.run_ok(lib.MUSTER, "run", address[1], env=env))
        for words in (("people",), ("idle",), ("alerts",), ("reports",), ("wait", "--list"), ("book", "--list"), ("advise",), ("jobs",), ("usage",)):
            status, out, err = self.run_any(lib.MUSTER, *words, env=env)
            self.assertIn(status, (0, 1), f"{words}: {out}{err}")
        self.assertIn("booked", self.run_ok(lib.MUSTER, "book", f"{nodes()[0]['name']}:1", "--for", "1h", env=env))
        status, out, err = self.run_any(lib.MUSTER, "free", "2", env=env)
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r"[01] of 2 GPUs (is|are) free, 2 requested.*; wait with `muster wait -n 2`")
        up.stop()  # without a hub it is a command as ever
        status, out, err = self.run_any(lib.MUSTER, "record", "--", "sh", "-c", "echo said; exit 7", env=env)
        self.assertEqual((status, out), (7, "said\n"), err)
        self.assertNotIn("hub", err)

    def test_the_verdict_comes_when_the_hub_has_samples(self):
        hub = self.start_hub()
        self.keep_token("admin")
        with open(self.path("enroll"), "w", encoding="ascii") as f:
            f.write(self.token("enroll"))
        os.chmod(self.path("enroll"), 0o600)
        agent = self.start(lib.AGENT, "--hub", hub.url, "--token-file", self.path("enroll"), "--state-dir", self.path("state"), "--interval", "1s", env=self.stub())
        lib.wait_until("its GPUs", lambda: [len(n["devices"]) for n in lib.ask_json(hub.url + "/api/v1/state")["nodes"]] == [2])
        os.kill(agent.p.pid, signal.SIGSTOP)  # it sends nothing until the command has ended
        gpu_work = f"printf 'gpus 2\\nutil 0 90\\nmem 0 1073741824\\nproc 0 %d 1073741824\\n' $$ > {self.path('stub')}; sleep 12"
        run = self.record("--", "sh", "-c", gpu_work, url=hub.url, how=self.start)
        run.wait_line(r"run page: http")
        os.kill(agent.p.pid, signal.SIGCONT)
        self.assertEqual(run.p.wait(lib.LIMIT_S), 0, run.text)
        run.wait_line("^verdict: ")

    def test_the_gpus_of_a_command_are_known_while_it_runs(self):
        hub = self.start_hub()
        self.keep_token("member", "--person", "kim")
        on_gpus = "".join(f"; printf 'mem {i} 1073741824\\nproc {i} %d 1073741824\\n' $$ >> {self.path('stub')}; while [ ! -e {self.path(f'go{i}')} ]; do sleep 0.1; done" for i in range(2))
        run = self.record("--", "sh", "-c", ":" + on_gpus, url=hub.url, how=self.start)

        def go(i):
            with open(self.path(f"go{i}"), "w", encoding="ascii"):
                pass

        self.addCleanup(lambda: [go(i) for i in range(2)])  # also where the test fails: nobody else ends the command
        address = run.wait_line("^live page: (.*)$")[1]
        for i in range(2):
            lib.wait_until("its GPUs are known", lambda n=i + 1: [len(j["devices"]) for j in self.jobs(hub)] == [n])
            (job,) = self.jobs(hub)
            self.assertEqual((job["state"], address), ("running", f"{hub.url}/run/{job['id']}"))
            verdict = lib.ask_json(f"{hub.url}/api/v1/jobs/{job['id']}/verdict")
            self.assertEqual(len(verdict["devices"]), i + 1, verdict)
            go(i)
        run.wait_line("^run page: " + address)
        (job,) = self.jobs(hub)
        self.assertEqual((job["state"], len(job["devices"]), job["attributes"]["exit_code"]), ("ended", 2, 0))

    def test_a_hub_that_is_away_hangs_or_refuses_changes_nothing_for_the_command(self):
        hub = self.start_hub()
        self.keep_token("enroll")
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(8)
            for url, words in ((f"http://127.0.0.1:{lib.free_port()}", "cannot reach"), (f"http://127.0.0.1:{deaf.getsockname()[1]}", "cannot reach"), (hub.url, "may not do this")):
                status, out, err = self.record("--quiet", "--", "sh", "-c", "echo said; exit 7", url=url)
                self.assertEqual((status, out), (7, "said\n"))
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertIn("not a run in the hub", err)
                self.assertIn(words, err)
        self.assertEqual(lib.ask_json(hub.url + "/api/v1/jobs")["jobs"], [])

    def test_a_hub_that_comes_back_gets_the_whole_span(self):
        port = lib.free_port()

        def start():
            return self.start(lib.MUSTER, "hub", "--listen", f"127.0.0.1:{port}", "--data", self.path("data"))

        hub = start()
        hub.wait_line(r"http://")
        self.keep_token("member", "--person", "kim")
        hub.stop()
        done = []
        work = f"touch {self.path('began')}; while [ ! -e {self.path('go')} ]; do sleep 0.1; done; exit 3"
        t = threading.Thread(target=lambda: done.append(self.record("--", "sh", "-c", work, url=f"http://127.0.0.1:{port}")))
        t.start()
        lib.wait_until("the command runs", lambda: os.path.exists(self.path("began")))
        time.sleep(1)  # the start was told to nobody, unless it takes long to say; the span is whole either way
        away_ms = int(time.time() * 1000)
        hub = start()
        hub.wait_line(r"http://")
        hub.url = f"http://127.0.0.1:{port}"
        back_ms = int(time.time() * 1000)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        t.join()
        self.assertEqual(done[0][0], 3, done)
        (job,) = self.jobs(hub)
        self.assertEqual((job["state"], job["attributes"]["exit_code"]), ("ended", 3))
        self.assertLessEqual(job["start"], away_ms)
        self.assertGreaterEqual(job["end"], back_ms)


if __name__ == "__main__":
    lib.main()
