#!/usr/bin/python3
"""Machines without an agent, read over ssh by the relay that a hub starts: against real sshd's of this machine (sshd.py)."""
import getpass
import json
import os
import re
import signal
import unittest

import lib
import sshd
import terminal


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(w) for w in f.read().split()]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode()
    except OSError:  # gone since
        return ""


@unittest.skipUnless(sshd.SSHD, "there is no sshd here")
class Relay(lib.Case):
    def setUp(self):
        super().setUp()
        self.farm = sshd.Farm(self)

    def hub_with(self, *flags, every="1s"):
        hub = self.start_hub("--ssh-config", self.farm.config, "--ssh-every", every, *flags)
        self.hub = hub
        return hub

    def node(self, name):
        for n in lib.ask_json(self.hub.url + "/api/v1/nodes"):
            if n["name"] == name:
                return n
        return None

    def wait_node(self, name, check, limit=lib.LIMIT_S):
        seen = [None]

        def look():
            seen[0] = self.node(name)
            return seen[0] if seen[0] and check(seen[0]) else None
        try:
            return lib.wait_until("x", look, limit=limit, pause=0.2)
        except AssertionError:
            raise AssertionError(f"{name} is {seen[0]}\n{self.hub.text}") from None

    def wait_ok(self, name, limit=lib.LIMIT_S):
        return self.wait_node(name, lambda n: n["collect"] == "ok" and n["devices"], limit)

    def wait_why(self, name, pattern, limit=lib.LIMIT_S):
        return self.wait_node(name, lambda n: re.search(pattern, n["reason"] or ""), limit)

    def samples(self, name, index=0):
        """How many samples of this GPU are stored."""
        status, _, body = lib.ask(f"{self.hub.url}/api/v1/history?device={name}:{index}&metric=util&from=-1h&step=1h&agg=count")
        if status == 404:  # nothing is known of it yet
            return 0
        self.assertEqual(status, 200, body)
        return sum(v or 0 for s in json.loads(body)["series"] for v in s["v"])

    def never_missed(self, name, rounds):
        """Every round that was whole before now is stored: rounds is what farm.rounds() said then."""
        lib.wait_until(f"{name}: {rounds} rounds were printed, {self.samples(name)} are stored", lambda: self.samples(name) >= rounds, pause=0.3)

    def relay_pid(self):
        return next(pid for pid in children(self.hub.p.pid) if " relay " in name_of(pid))

    def test_a_machine_shows_its_gpus_its_people_and_itself(self):
        """Processes with owner, start and program; load, RAM and disks; the name as it was listed."""
        a = self.farm.sshd("a")
        work = self.start("/bin/sleep", "1000")
        self.farm.machine("gpu01", a, gpus=2, apps=f"{self.farm.uuid('gpu01', 1)} {work.p.pid} 5160 MiB\n")
        hub = self.hub_with("--nodes", "gpu01", "--show-cmdlines")
        n = self.wait_ok("gpu01")
        self.assertEqual((n["id"], n["devices"], n["driver"], n["collector"]), ("ssh:gpu01", 2, "580.159.04", "ssh"))
        state = lambda: lib.ask_json(hub.url + "/api/v1/state")["nodes"][0]
        now = lib.wait_until("its first sample", lambda: state()["devices"][1]["metrics"])
        self.assertEqual((now["util"], now["mem_used"], now["power"], now["temp"]), (0.27, 5169 << 20, 265.89, 40))  # as the H200 was, and in no locale

        def proc():
            got = lib.ask_json(hub.url + "/api/v1/processes")
            return got[0] if got and got[0].get("user") else None
        p = lib.wait_until(f"the process: {lib.ask_json(hub.url + '/api/v1/processes')}", proc, pause=0.3)
        self.assertEqual((p["pid"], p["user"], p["program"]), (work.p.pid, getpass.getuser(), "sleep"))
        text = lib.wait_until("its own metrics, and its people", lambda: (t := str(state())) and all(w in t for w in ("load1", "ram_total", f"'user': '{getpass.getuser()}'")) and t)
        disks = any(line.startswith("/dev/") for line in self.run_ok("df", "-lPk").splitlines())  # a chroot may show none
        self.assertEqual("disk_total" in text, disks)
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "--hub", hub.url), r"gpu01 +1 .*" + getpass.getuser())
        self.assertNotIn("mst_", name_of(self.relay_pid()))  # no token in a process list
        hub.stop()
        self.assertEqual(sshd.left_over(self.farm), [])  # nothing goes on there

    @lib.long
    def test_every_trouble_has_words_and_none_is_anothers(self):
        a, b, bare = self.farm.sshd("a"), self.farm.sshd("b"), self.farm.sshd("bare", tools=())
        stranger = self.farm.sshd("stranger", trust=False)
        b.kill()
        b.new_key()
        b.start()
        farm = self.farm
        farm.machine("fine", a)
        farm.machine("many", a, gpus=16)
        farm.machine("unsaid", a)
        for field in ("utilization.gpu", "memory.used", "temperature.gpu", "power.draw"):
            farm.set("unsaid", field, "[N/A]")
        farm.machine("wrongkey", a, key=os.path.join(farm.dir, "stranger"))
        farm.machine("changed", b)
        farm.machine("unknown", stranger)
        farm.machine("refused", port=lib.free_port())
        farm.machine("nowhere", a, options=" ProxyCommand /bin/false\n")
        farm.machine("nosmi", bare)
        farm.machine("broken", a, mode="broken")
        farm.machine("flood", a)
        ssh = self.path("ssh")  # a shell that never stops talking, faster than any sshd would let it
        with open(ssh, "w") as f:
            f.write("#!/bin/sh\nfor a; do case $a in flood) exec yes 'G 0, 1, 2' ;; esac; done\nexec ssh \"$@\"\n")
        os.chmod(ssh, 0o755)
        farm.machine("garbage", a, mode="garbage")
        farm.machine("half", a, mode="half")
        farm.machine("hangs", a, mode="hang")
        names = ["fine", "many", "unsaid", "wrongkey", "changed", "unknown", "refused", "nowhere", "nosmi", "broken", "flood", "garbage", "half", "hangs"]
        hub = self.hub_with("--ssh-program", ssh, *[w for n in names for w in ("--nodes", n)])
        self.wait_ok("fine")
        self.assertEqual(self.wait_ok("many")["devices"], 16)
        self.wait_ok("unsaid")
        words = [("wrongkey", "does not let us in"), ("changed", "host key has changed"), ("unknown", "host key is not known"), ("refused", "refuses connections"),
                 ("nowhere", "ssh: "), ("nosmi", "there is no nvidia-smi"), ("broken", "couldn't communicate with the NVIDIA driver"),
                 ("flood", "too many events")]
        for name, why in words:
            self.wait_why(name, why)
        slow = [("garbage", "prints no table but: Segmentation fault"), ("half", "driver does not answer"), ("hangs", "driver does not answer")]
        for name, why in slow:  # the first table may take a minute: without persistence mode the driver wakes every GPU
            self.wait_why(name, why, limit=150)
        self.assertEqual(self.node("hangs")["collect"], "hung")
        self.assertEqual(self.node("nosmi")["collect"], "none")
        text, state = self.run_ok(lib.MUSTER, "ls", "--width", "300", "--hub", hub.url), str(lib.ask_json(hub.url + "/api/v1/state"))
        narrow = self.run_ok(lib.MUSTER, "ls", "--width", "80", "--hub", hub.url)
        for name, why in words + slow:
            self.assertRegex(text, rf"(?m)^{name} .*{why[:40]}")
            self.assertRegex(narrow, rf"(?m)^! {name}: .*{why[:40]}")
            self.assertIn(why, state.replace("\\'", "'"))
        self.assertRegex(narrow, r"(?m)^changed +- +failed ")
        rounds = {n: self.farm.rounds(n) for n in ("fine", "many")}
        self.assertGreater(rounds["fine"], 10)
        for name, n in rounds.items():
            self.never_missed(name, n)
        self.assertEqual(self.samples("unsaid"), 0)  # [N/A] is no number
        self.assertIn("unknown", self.run_ok(lib.MUSTER, "ls", "--hub", hub.url, "--csv", "host:unsaid"))
        self.assertEqual({d["state"] for n in lib.ask_json(hub.url + "/api/v1/state?filter=host:unsaid")["nodes"] for d in n["devices"]}, {"unknown"})
        self.assertEqual(lib.ask_json(hub.url + "/api/v1/state?filter=free+host:unsaid")["nodes"], [])
        self.assertEqual(lib.ask_json(hub.url + "/api/v1/history?device=unsaid:0&metric=mem_total&from=-1h&step=1h&agg=last")["series"][0]["v"][-1], 143771 << 20)

    @lib.long
    def test_an_sshd_killed_in_the_middle_of_a_line_comes_back(self):
        a, b = self.farm.sshd("a"), self.farm.sshd("b")
        self.farm.machine("stays", a)
        self.farm.machine("goes", b)
        self.hub_with("--nodes", "stays,goes")
        self.wait_ok("stays")
        self.wait_ok("goes")
        self.farm.mode("goes", "half")
        lib.wait_until("its next table is half a line", lambda: any(name_of(p).startswith("sleep 3600") for p in b.pids()))
        whole = self.farm.rounds("goes")
        b.kill()
        self.wait_node("goes", lambda n: n["collect"] == "failed" and n["reason"])
        self.assertEqual(self.node("stays")["collect"], "ok")
        self.farm.mode("goes", "ok")
        b.start()
        self.wait_ok("goes")
        self.never_missed("goes", whole + 2)
        self.never_missed("stays", self.farm.rounds("stays"))

    @lib.long
    def test_the_list_may_change(self):
        a = self.farm.sshd("a")
        for name in ("gpu01", "gpu02", "gpu03"):
            self.farm.machine(name, a)
        conf = self.path("muster.yaml")

        def write(nodes):
            with open(conf, "w") as f:
                f.write(f"nodes: [{nodes}]\nssh: {{config: {self.farm.config}, every: 1s}}\n")
        write('"gpu[01-02]"')
        self.hub = hub = self.start_hub("--config", conf)
        self.wait_ok("gpu01")
        self.wait_ok("gpu02")
        relay = self.relay_pid()
        with open(conf, "w") as f:
            f.write('nodes: ["gpu[1-"]\n')
        hub.p.send_signal(signal.SIGHUP)
        hub.wait_line("nothing was changed: nodes: ")
        write("gpu02, gpu03")
        hub.p.send_signal(signal.SIGHUP)
        self.wait_ok("gpu03")
        self.wait_why("gpu01", "unlisted")
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "--width", "80", "--hub", hub.url), r"(?m)^! gpu01: reading is paused: unlisted")
        self.assertEqual(self.relay_pid(), relay)  # connections that stand are kept
        self.never_missed("gpu02", self.farm.rounds("gpu02"))

    @lib.long
    def test_a_relay_that_dies_is_started_again(self):
        a = self.farm.sshd("a")
        self.farm.machine("gpu01", a)
        hub = self.hub_with("--nodes", "gpu01")
        self.wait_ok("gpu01")
        os.kill(self.relay_pid(), signal.SIGKILL)
        hub.wait_line("the relay ended .signal 9.")
        before = self.farm.rounds("gpu01")
        lib.wait_until("it is read again", lambda: self.farm.rounds("gpu01") > before + 2)
        count = self.samples("gpu01")
        lib.wait_until("and stored", lambda: self.samples("gpu01") > count)

    @lib.long
    def test_a_relay_elsewhere_keeps_what_a_hub_misses(self):
        a = self.farm.sshd("a")
        self.farm.machine("gpu01", a)
        port = lib.free_port()
        flags = ["--listen", f"127.0.0.1:{port}", "--data", self.path("data")]
        self.hub = self.start(lib.MUSTER, "hub", *flags)
        self.hub.wait_line("http://")
        self.hub.url = f"http://127.0.0.1:{port}"
        with open(self.path("token"), "w") as f:
            f.write(self.token("relay"))
        os.chmod(self.path("token"), 0o600)
        relay = self.start(lib.MUSTER, "relay", "--hub", self.hub.url, "--token-file", self.path("token"), "--nodes", "gpu01", "--ssh-config", self.farm.config, "--ssh-every", "1s")
        self.wait_ok("gpu01")
        self.hub.kill9()
        before = self.farm.rounds("gpu01")
        relay.wait_line("the hub does not take our batches")
        lib.wait_until("rounds pass meanwhile", lambda: self.farm.rounds("gpu01") > before + 5)
        url, self.hub = self.hub.url, self.start(lib.MUSTER, "hub", *flags)
        self.hub.wait_line("http://")
        self.hub.url = url
        self.never_missed("gpu01", self.farm.rounds("gpu01"))
        self.assertEqual(relay.stop(), 0)
        status, _, err = self.run_any(lib.MUSTER, "relay", "--nodes", "gpu01")
        self.assertEqual((status, "no hub is given" in err), (2, True), err)

    @lib.long
    def test_forty_machines_five_of_them_broken(self):
        """The healthy never miss a round, also while one sshd is killed in the middle of a line and comes back; what it costs is printed."""
        all_sshd, own = [self.farm.sshd(str(i)) for i in range(4)], self.farm.sshd("own")
        for i in range(35):
            self.farm.machine(f"gpu{i:02}", all_sshd[i % 4] if i < 34 else own, gpus=8)
        self.farm.machine("bad35", self.farm.sshd("stranger", trust=False))
        self.farm.machine("bad36", port=lib.free_port())
        self.farm.machine("bad37", all_sshd[1], mode="broken")
        self.farm.machine("bad38", all_sshd[2], mode="hang")
        self.farm.machine("bad39", all_sshd[3], options=" ProxyCommand /bin/sleep 60\n")
        ini = self.path("config.ini")
        with open(ini, "w") as f:
            hosts = ", ".join([f"gpu{i:02}" for i in range(35)] + [f"bad{i}" for i in range(35, 40)])
            f.write(f"[common]\nuser = {getpass.getuser()}\nhosts = {hosts}\nkey_filename = {self.farm.key}\n")
        hub = self.hub_with("--ssh-ini", ini, "--ssh-connections", "8", every="5s")
        names = [f"gpu{i:02}" for i in range(35)]
        lib.wait_until("35 are well", lambda: sum(n["collect"] == "ok" for n in lib.ask_json(hub.url + "/api/v1/nodes")) >= 35, limit=180, pause=1)
        relay = self.relay_pid()
        ours = [hub.p.pid, relay] + [c for c in children(relay) if name_of(c).startswith("ssh ")]
        cpu, began, rounds = {p: cpu_s(p) for p in ours}, self.farm.rounds("gpu00"), {n: self.farm.rounds(n) for n in names}
        lib.wait_until("four rounds more", lambda: self.farm.rounds("gpu00") >= began + 4, pause=0.5)
        spent = {p: cpu_s(p) - was for p, was in cpu.items() if name_of(p)}
        ssh = [spent[p] for p in ours[2:] if p in spent]
        print(f"\n40 machines, 8 GPUs each, 4 rounds of 5 s: CPU of the hub {spent[hub.p.pid]:.2f} s, of the relay {spent[relay]:.2f} s, of {len(ssh)} ssh processes (one connection each) {sum(ssh):.2f} s", flush=True)
        for n in names:
            self.never_missed(n, rounds[n] + 3)
        self.farm.mode("gpu34", "half")
        lib.wait_until("its next table is half a line", lambda: any(name_of(p).startswith("sleep 3600") for p in own.pids()))
        whole = self.farm.rounds("gpu34")
        own.kill()
        self.wait_node("gpu34", lambda n: n["collect"] == "failed" and n["reason"])
        self.farm.mode("gpu34", "ok")
        own.start()
        self.wait_ok("gpu34")
        self.never_missed("gpu34", whole + 2)
        for n in names[:34]:
            self.never_missed(n, self.farm.rounds(n) - 1)
        nodes = {n["name"]: n for n in lib.ask_json(hub.url + "/api/v1/nodes")}
        for i in (35, 36, 37):
            self.assertEqual(nodes[f"bad{i}"]["collect"], "failed")
        for i in (38, 39):
            self.assertNotEqual(nodes[f"bad{i}"]["collect"], "ok")

    @lib.long
    def test_gpus_that_are_not_nvidias_and_instances_of_those_that_are(self):
        a, b = self.farm.sshd("a"), self.farm.sshd("b", tools=("amd",))
        self.farm.machine("mig", a, gpus=1)
        gpu = self.farm.uuid("mig", 0)
        self.farm.write("mig/list", f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {gpu})\n  MIG 3g.20gb     Device  0: (UUID: MIG-aa)\n  MIG 1g.5gb      Device  1: (UUID: MIG-bb)\n")
        self.farm.set("mig", "utilization.gpu", "[N/A]")
        self.farm.machine("amd01", b)
        self.farm.write("amd01/rocm", json.dumps({f"card{i}": {"GPU use (%)": "37", "VRAM Total Memory (B)": "34342961152", "VRAM Total Used Memory (B)": "6782976", "Unique ID": f"0x1{i}",
                                                             "PCI Bus": f"0000:{i}E:00.0", "Card series": "Instinct MI100", "Average Graphics Package Power (W)": "39.0"} for i in range(2)} | {"system": {"Driver version": "6.2.4"}}))
        self.farm.machine("driverless", b)
        self.farm.write("driverless/rocm", "ERROR: no amdgpu driver")
        hub = self.hub_with("--nodes", "mig,amd01,driverless")
        self.assertEqual(self.wait_ok("amd01")["driver"], "6.2.4")
        self.wait_node("mig", lambda n: n["devices"] == 3)
        nodes = {n["name"]: n["devices"] for n in lib.ask_json(hub.url + "/api/v1/state")["nodes"]}
        self.assertEqual([(d["uuid"], d["vendor"], d["name"], d["metrics"]["util"]) for d in nodes["amd01"]], [(f"amd-1{i}", "amd", "Instinct MI100", 0.37) for i in range(2)])
        whole, *parts = nodes["mig"]
        self.assertEqual([(d["uuid"], d["parent"], d["name"]) for d in parts], [("MIG-aa", gpu, "MIG 3g.20gb"), ("MIG-bb", gpu, "MIG 1g.5gb")])
        self.assertEqual((whole["uuid"], whole["state"]), (gpu, "held"))  # cut up: nobody can take the whole
        self.assertNotIn("free", [d["state"] for d in parts])  # for nobody knows
        self.wait_why("driverless", "AMD's tool prints no JSON of GPUs but: WARNING")
        hub.stop()
        self.assertEqual(sshd.left_over(self.farm), [])

    def history(self, name, metric, index=0):
        """How many samples of this metric are stored."""
        status, _, body = lib.ask(f"{self.hub.url}/api/v1/history?device={name}:{index}&metric={metric}&from=-1h&step=1h&agg=count")
        return sum(v or 0 for s in json.loads(body)["series"] for v in s["v"]) if status == 200 else 0

    def starts(self, name):
        """How often muster-agent was started there."""
        try:
            return os.path.getsize(os.path.join(self.farm.dir, name, "agent-starts"))
        except FileNotFoundError:
            return 0

    @lib.long
    def test_an_agent_that_is_there_is_used(self):
        """Everything it reads comes here, under the name of the list; it writes no file and ends with the connection."""
        a, b = self.farm.sshd("a", tools=("agent", "nvidia")), self.farm.sshd("b", tools=("agent", "nvidia"))
        self.farm.machine("gpu01", a, gpus=3)
        work = self.start("/bin/sleep", "1000")
        self.farm.write("gpu01/stub", f"gpus 3\nproc 1 {work.p.pid} 1048576\n")
        self.farm.machine("gpu02", b)
        self.farm.machine("cut", b, agent="half")
        hub = self.hub_with("--nodes", "gpu01,gpu02,cut")
        half = os.path.join(self.farm.dir, "cut", "agent-half")
        lib.wait_until("half a frame has come", lambda: os.path.exists(half))
        self.wait_ok("gpu02")
        count = self.history("gpu02", "util")
        b.kill()
        for name in ("gpu02", "cut"):
            self.wait_node(name, lambda n: n["collect"] == "failed" and n["reason"])
        n = self.wait_ok("gpu01")
        self.assertEqual((n["id"], n["devices"], n["collector"]), ("ssh:gpu01", 3, "ssh,nvml"))
        self.assertTrue(n["agent"])
        lib.wait_until("the energy counter, which no table of nvidia-smi has", lambda: self.history("gpu01", "energy") > 1, pause=0.3)
        p = lib.wait_until("the process", lambda: [p for p in lib.ask_json(hub.url + "/api/v1/processes") if p.get("user")], pause=0.3)[0]
        self.assertEqual((p["pid"], p["user"], p["program"]), (work.p.pid, getpass.getuser(), "sleep"))
        self.assertFalse(os.path.exists(os.path.join(self.farm.dir, "gpu01", "state")))
        with open(os.path.join(self.farm.dir, "gpu01", "stub"), "w") as f:
            f.write("gpus 3\nhang all\n")  # the driver, not the agent
        self.wait_node("gpu01", lambda n: n["collect"] == "hung")
        with open(os.path.join(self.farm.dir, "gpu01", "stub"), "w") as f:
            f.write("gpus 3\n")
        self.wait_ok("gpu01")
        self.farm.write("cut/agent", "ok\n")
        b.start()
        for name in ("gpu02", "cut"):
            self.assertEqual(self.wait_ok(name)["collector"], "ssh,nvml")
        lib.wait_until("it goes on", lambda: self.history("gpu02", "util") > count, pause=0.3)
        self.assertEqual(self.farm.rounds("gpu01") + self.farm.rounds("gpu02"), 0)  # nobody asked nvidia-smi
        hub.stop()
        self.assertEqual(sshd.left_over(self.farm), [])

    @lib.long
    def test_an_agent_of_no_use_is_done_without(self):
        """Too old, dead at once, from another time, no agent at all, spoilt on the way: a shell reads the machine then."""
        a = self.farm.sshd("a", tools=("agent", "nvidia"))
        modes = ("old", "dies", "newer", "noise", "mute", "spoilt")
        for mode in modes:
            self.farm.machine(mode, a, agent=mode)
        hub = self.hub_with("--nodes", ",".join(modes))
        for mode in modes:
            self.wait_node(mode, lambda n: n["collect"] == "ok" and n["collector"] == "ssh" and n["devices"] >= 2)
            self.assertEqual(self.starts(mode), 1, mode)
            self.never_missed(mode, self.farm.rounds(mode))
        hub.wait_line("old: its muster-agent is of no use, a shell reads it: ssh: muster-agent: unknown option '--stdout'")
        hub.wait_line("newer: its muster-agent is of no use, a shell reads it: the stream has version 2")
        hub.wait_line("noise: .* these bytes are not a muster stream")
        hub.wait_line("spoilt: .* fails its checksum|spoilt: .* of type 0")
        hub.stop()
        self.assertEqual(sshd.left_over(self.farm), [])

    @lib.long
    def test_fetch_writes_the_old_file(self):
        """load_data.csv to the byte; a host that cannot be read has no rows and is named."""
        a = self.farm.sshd("a")
        me = getpass.getuser()
        work = self.start("/bin/sleep", "1000")
        gone = self.start("/bin/true")
        gone.p.wait()
        self.farm.machine("host1", a, gpus=2, apps=f"{self.farm.uuid('host1', 1)} {work.p.pid} 1 MiB\n{self.farm.uuid('host1', 1)} {work.p.pid} 2 MiB\n{self.farm.uuid('host1', 0)} {gone.p.pid} 1 MiB\n")
        self.farm.machine("host2", a, gpus=1)
        self.farm.machine("down", port=lib.free_port())
        self.farm.machine("broken", a, mode="broken")
        self.farm.machine("hangs", a, mode="hang")
        ini, out = self.path("config.ini"), self.path("load_data.csv")

        def write(hosts):
            with open(ini, "w") as f:
                f.write(f"[common]\nuser = {me}\nhosts = {hosts}\nkey_filename = {self.farm.key}\n")
        write("host2, down,host1,broken,hangs")
        status, _, err = self.run_any(lib.MUSTER, "fetch", "-c", ini, "-o", out, "--ssh-config", self.farm.config, "--timeout", "15s")
        self.assertEqual(status, 0, err)
        with open(out) as f:
            got = f.read()
        self.assertEqual(got, ",load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username\n"
                         f"0,27,5,0, NVIDIA H200, {self.farm.uuid('host2', 0)},host2,\n"
                         f"0,27,5,0, NVIDIA H200, {self.farm.uuid('host1', 0)},host1,Zombie\n"
                         f"1,27,5,1, NVIDIA H200, {self.farm.uuid('host1', 1)},host1,\"{me}, {me}\"\n")
        self.assertRegex(err, r"(?m)^muster fetch: down: ssh: down refuses connections")
        self.assertRegex(err, r"(?m)^muster fetch: broken: NVIDIA-SMI has failed")
        self.assertRegex(err, r"(?m)^muster fetch: hangs: it did not send everything in time")
        self.assertEqual(sshd.left_over(self.farm), [])
        www = self.path("www")
        self.run_ok(lib.MUSTER, "render", "-i", out, "-o", www)
        with open(www + "/index.html", encoding="utf-8") as f:
            page = f.read()
        for host, why in (("down", "ssh: down refuses connections"), ("broken", "NVIDIA-SMI has failed"), ("hangs", "it did not send everything in time")):
            self.assertIn(f'<h2>{host}</h2><p class="why">{why}', page)
        self.assertIn("GPUs on 2 hosts are free. 3 hosts cannot be read.", page)
        write("host1")
        self.run_ok(lib.MUSTER, "fetch", "-c", ini, "-o", out, "--ssh-config", self.farm.config)
        self.assertFalse(os.path.exists(out + ".unread"))
        with open(out) as f:
            got = f.read()
        write("down")
        status, _, err = self.run_any(lib.MUSTER, "fetch", "-c", ini, "-o", out, "--ssh-config", self.farm.config)
        self.assertEqual(status, 3, err)
        with open(out) as f:
            self.assertEqual(f.read(), got)  # the old file stays
        with open(out + ".unread") as f:
            self.assertRegex(f.read(), "^down,.*refuses connections.*\n$")

    def ini(self, hosts, key=None):
        with open(self.path("config.ini"), "w") as f:
            f.write(f"[common]\nuser = {getpass.getuser()}\nhosts = {hosts}\nkey_filename = {key or self.farm.key}\n")
        return self.path("config.ini")

    def fetch(self, *flags):
        """Its status, its words, and the hosts in the file."""
        out = self.path("load_data.csv")
        if os.path.exists(out):
            os.unlink(out)
        status, _, err = self.run_any(lib.MUSTER, "fetch", "-c", self.path("config.ini"), "-o", out, "--ssh-config", self.farm.config, *flags)
        if not os.path.exists(out):
            return status, err, []
        with open(out) as f:
            return status, err, [line.split(",")[6] for line in f.read().splitlines()[1:]]

    @lib.long
    def test_fetch_takes_new_host_keys_when_told(self):
        """The old script takes every unknown key (paramiko's AutoAddPolicy) and, as ssh, no changed one."""
        new, other = self.farm.sshd("new", trust=False), self.farm.sshd("other", trust=False)
        self.farm.machine("host1", new, gpus=1)
        self.farm.machine("host2", other, gpus=1)
        self.ini("host1")
        status, err, hosts = self.fetch()
        self.assertEqual((status, hosts), (3, []))
        self.assertIn("host1: ssh: its host key is not known: --accept-new-keys takes it", err)
        self.assertEqual(self.fetch("--accept-new-keys"), (0, "", ["host1"]))
        self.assertEqual(self.fetch(), (0, "", ["host1"]))  # known from then on
        new.kill()
        new.new_key()
        new.start()
        status, err, hosts = self.fetch("--accept-new-keys")
        self.assertEqual((status, hosts), (3, []))
        self.assertIn("host1: ssh: its host key has changed", err)
        self.run_ok("/bin/sh", "-c", re.search(r"if that is right: (ssh-keygen .*)\n", err).group(1))
        self.assertEqual(self.fetch("--accept-new-keys"), (0, "", ["host1"]))
        self.ini("host2")
        term = terminal.Terminal(self, 200, 24)  # a person is asked, and once
        ask = f"{lib.MUSTER} fetch -c {self.path('config.ini')} -o {self.path('load_data.csv')} --ssh-config {self.farm.config}; echo ended $?"
        term.run(ask)
        term.wait(r"^Take the key of 1 host .*\[y/N\]")
        term.run("n")
        term.wait("^ended 3")
        term.run("clear; " + ask)
        term.wait(r"^Take the key of 1 host .*\[y/N\]", but="ended 3")
        term.run("y")
        term.wait("^ended 0")
        term.run("clear; " + ask)
        term.wait("^ended 0", but="Take the key")

    @lib.long
    def test_a_jump_host_with_an_unknown_key_asks_nobody(self):
        """ssh passes accept-new on to no jump host: the ssh to that one would ask at the terminal, and be stopped for it."""
        self.farm.machine("gate", self.farm.sshd("gate", trust=False))
        self.farm.machine("host1", self.farm.sshd("a"), gpus=1, options=" ProxyJump gate\n")
        self.ini("host1")
        term = terminal.Terminal(self, 200, 24)
        term.run(f"{lib.MUSTER} fetch -c {self.path('config.ini')} -o {self.path('load_data.csv')} --ssh-config {self.farm.config} --accept-new-keys; echo ended $?")
        term.wait("^ended 3")
        term.wait("host1: ssh: the host key of a host on the way is not known: once, as this user, ssh host1", but="authenticity")

    @lib.long
    def test_a_key_that_does_not_exist_is_said_as_that(self):
        self.farm.machine("host1", self.farm.sshd("a"), key=self.path("none"))
        self.ini("host1", key=self.path("none"))
        status, err, _ = self.fetch()
        self.assertEqual(status, 3)
        self.assertIn(f"host1: ssh: there is no key file {self.path('none')}\n", err)

    @lib.long
    def test_a_process_that_is_hidden_is_no_zombie(self):
        """hidepid: ps knows nothing of a process that is there. A stand-in for ps knows nothing of any."""
        os.mkdir(os.path.join(self.farm.dir, "hidden"))
        self.farm.write("hidden/ps", "#!/bin/sh\nexit 1\n")
        os.chmod(os.path.join(self.farm.dir, "hidden", "ps"), 0o755)
        work, gone = self.start("/bin/sleep", "1000"), self.start("/bin/true")
        gone.p.wait()
        self.farm.machine("host1", self.farm.sshd("a", tools=("hidden", "nvidia")), gpus=2,
                          apps=f"{self.farm.uuid('host1', 0)} {work.p.pid} 1 MiB\n{self.farm.uuid('host1', 1)} {gone.p.pid} 1 MiB\n")
        self.ini("host1")
        self.assertEqual(self.fetch(), (0, "", ["host1", "host1"]))
        with open(self.path("load_data.csv")) as f:
            self.assertEqual([line.split(",")[7] for line in f.read().splitlines()[1:]], ["?", "Zombie"])

    @lib.long
    def test_a_process_that_is_gone_is_a_zombie_on_every_page(self):
        """As `ps -o user= PID || echo Zombie` of the old script has it, over ssh and on the page of the hub."""
        gone = self.start("/bin/true")
        gone.p.wait()
        self.farm.machine("gpu01", self.farm.sshd("a"), gpus=1, apps=f"{self.farm.uuid('gpu01', 0)} {gone.p.pid} 5160 MiB\n")
        hub = self.hub_with("--nodes", "gpu01")
        lib.wait_until("the process", lambda: [p for p in lib.ask_json(hub.url + "/api/v1/processes") if p.get("user") == "Zombie"], pause=0.3)
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "--hub", hub.url), "Zombie")
        self.assertEqual(lib.ask_json(hub.url + "/api/v1/people?recent=1"), [])  # it is no person
        status, out, _ = self.run_any(lib.MUSTER, "people", "--hub", hub.url)
        self.assertEqual((status, "Zombie" in out), (1, False))
        self.run_ok(lib.MUSTER, "render", "--hub", hub.url, "-o", self.path("www"))
        with open(self.path("www/index.html"), encoding="utf-8") as f:
            page = f.read()
        self.assertIn("<b>Zombie</b><br>a process that is gone still holds memory", page)
        self.assertNotIn("no user known", page)

    @lib.long
    def test_a_host_that_cannot_be_read_is_down_for_vestas_readers(self):
        """Their word for a host of which nothing is heard, though the relay tells why."""
        self.farm.machine("gpu01", self.farm.sshd("a"))
        self.farm.machine("gpu02", port=lib.free_port())
        hub = self.hub_with("--nodes", "gpu01,gpu02")
        self.wait_ok("gpu01")
        self.wait_why("gpu02", "refuses connections")
        states = lib.ask_json(hub.url + "/states/")
        self.assertEqual({name: s["status"] for name, s in states.items()}, {"gpu01": "running", "gpu02": "down"})
        _, _, body = lib.ask(hub.url + "/?term=true&list=processes")
        self.assertRegex(body.decode(), r"gpu01 +: Alive\n(?s:.)*gpu02 +: DEAD\n")

    @lib.long
    def test_a_relay_takes_new_host_keys_when_told(self):
        new, changed = self.farm.sshd("new", trust=False), self.farm.sshd("changed")
        changed.kill()
        changed.new_key()
        changed.start()
        self.farm.machine("gpu01", new)
        self.farm.machine("gpu02", changed)
        self.hub_with("--nodes", "gpu01,gpu02", "--accept-new-keys")
        self.wait_ok("gpu01")
        self.wait_why("gpu02", "host key has changed")


if __name__ == "__main__":
    lib.main()
