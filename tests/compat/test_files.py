#!/usr/bin/python3
"""Machines known by GPU Monitor's files: pulled from their folders on the web, or pushed into one; on every screen like any other."""
import os
import re
import signal
import threading
import time

import consul
import lib
import readings


class Files(lib.Case):
    def machine(self, host, folder=None, **kw):
        return readings.Machine(self.path(folder or host), host, **kw)

    def web(self, folder, port=0):
        w = readings.Web(self.path(folder), port)
        self.addCleanup(w.stop)
        return w

    def hub_with(self, *flags):
        self.hub = self.start_hub("--files-every", "1s", *flags)
        return self.hub

    def wait_node(self, name, check, machine=None):
        """machine: writes its files anew every few seconds meanwhile, as its scripts do."""
        seen, written = [None], [time.monotonic()]

        def look():
            if machine and time.monotonic() - written[0] > 4:
                machine.write()
                written[0] = time.monotonic()
            for n in lib.ask_json(self.hub.url + "/api/v1/state")["nodes"]:
                if n["name"] == name:
                    seen[0] = n
                    return n if check(n) else None
            return None
        try:
            return lib.wait_until("x", look, pause=0.2)
        except AssertionError:
            raise AssertionError(f"{name} is {seen[0]}\n{self.hub.text}") from None

    def check_whole(self, name, machine=None):
        """What the files say is what every screen shows."""
        n = self.wait_node(name, lambda n: n["collect"] == "ok" and len(n["devices"]) == 2 and "cpus" in n and "load1" in n.get("metrics", {})  # several files, one after the other
                           and len(n.get("custom", {})) == 2 and n["devices"][0].get("processes") and n["devices"][0]["processes"][0].get("user"), machine)
        self.assertEqual(n["id"], "file:" + name)
        self.assertEqual(n["collector"], "files")
        self.assertEqual(n["cpus"], 32)
        self.assertEqual(n["metrics"]["load1"], 16.52)
        self.assertEqual(n["metrics"]["ram_total"], 64000 << 20)
        self.assertEqual(n["custom"], {"disk:": 0.25, "disk:var:opt": 0.95})  # as df says: some is kept for root
        self.assertEqual([n["metrics"]["disk_" + k] >> 10 for k in ("used", "avail", "total")], [2520, 3080, 6000])
        a, b = n["devices"]
        self.assertEqual((a["state"], b["state"]), ("busy", "free"))
        self.assertEqual((a["name"], a["index"]), ("Tesla V100-PCIE-16GB", 0))
        self.assertEqual((a["metrics"]["mem_used"], a["metrics"]["util"], a["metrics"]["temp"]), (8018 << 20, 0.92, 61))
        self.assertLess(a["age_ms"], 1200000)  # its times were read in its zone: another is half an hour off
        p = a["processes"][0]
        self.assertEqual((p["pid"], p["user"], p["name"], p["mem"]), (31415, "raj", "python", 6400 << 20))
        now = lib.ask_json(self.hub.url + "/api/v1/state")["at"]
        self.assertAlmostEqual(now - p["start"], 3600000, delta=1200000)
        old = lib.ask_json(self.hub.url + "/states/")[name]
        self.assertEqual(old["status"], "running")
        gpu = old["data"][0]["gpu_data"]["gpu:0"]
        self.assertEqual((gpu["used_memory"], gpu["total_memory"], gpu["gpu_volatile"], gpu["temperature"]), (8018, 16160, 92, 61))
        self.assertEqual(gpu["processes"][0]["user"], "raj")
        text = lib.ask(self.hub.url + "/?term=true")[2].decode()
        self.assertIn(name, text)
        self.assertIn("V100", text)
        out = self.run_ok(lib.MUSTER, "ls", "--hub", self.hub.url)
        self.assertRegex(out, name + r".*V100")
        self.assertIn("raj", out)

    # ---- pulled ----
    def test_machines_are_pulled_from_their_folders(self):
        near, far = self.machine("gpu01"), self.machine("gpu02", hours=9)
        near.write()
        far.write()
        w1, w2 = self.web("gpu01"), self.web("gpu02")
        with open(os.path.join(near.folder, "hosts & more.json"), "w", encoding="utf-8") as f:
            f.write("{}")
        self.hub_with("--files-pull", f"127.0.0.1:{w1.port}", "--files-pull", f"localhost:{w2.port}")
        self.check_whole("gpu01")
        self.check_whole("gpu02")
        lib.wait_until("a file that has not changed is not sent again", lambda: ("/gpu01_gpus.csv", 304) in w1.asked)
        self.assertFalse([p for p, _ in w1.asked if "hosts" in p])
        near.write(ago_s=-2)  # newer
        lib.wait_until("a file that has changed is", lambda: w1.asked.count(("/gpu01_gpus.csv", 200)) >= 2)
        self.assertEqual(self.hub.stop(), 0)

    def test_a_machine_that_does_not_answer_says_so_and_comes_back(self):
        port = lib.free_port()
        good, late = self.machine("gpu01"), self.machine("127.0.0.1")
        good.write()
        late.write()
        w = self.web("gpu01")
        self.hub_with("--files-pull", f"localhost:{w.port}", "--files-pull", f"127.0.0.1:{port}")
        self.wait_node("127.0.0.1", lambda n: re.search(f"port {port} there does not answer: .*[Cc]onnect", n["reason"]))
        self.check_whole("gpu01")
        back = self.web("127.0.0.1", port)
        self.check_whole("127.0.0.1")
        back.stop()
        n = self.wait_node("127.0.0.1", lambda n: "does not answer" in n["reason"])
        self.assertEqual([d["state"] for d in n["devices"]], ["busy", "free"])  # for 500 s
        self.check_whole("gpu01")

    def test_folders_without_files_and_of_garbage(self):
        os.makedirs(self.path("empty"))
        odd = self.machine("odd")
        for kind in odd.texts():
            with open(odd.path(kind), "wb") as f:
                f.write(os.urandom(2000) + b"\n{{{\n,,,,,,,,\n" + b"9" * 5000 + b"\n")
        w1, w2 = self.web("empty"), self.web("odd")
        self.hub_with("--files-pull", f"127.0.0.1:{w1.port}", "--files-pull", f"localhost:{w2.port}")
        self.wait_node("127.0.0.1", lambda n: "none of the files HOST_gpus.csv" in n["reason"])
        self.wait_node("odd", lambda n: n["collect"] == "none" and "its files name no GPU" in n["reason"])

    def test_old_readings_are_stale(self):
        m = self.machine("gpu01")
        m.write(ago_s=400)
        w = self.web("gpu01")
        self.hub_with("--files-pull", f"127.0.0.1:{w.port}", "--files-zone", "UTC")
        self.wait_node("gpu01", lambda n: [d["state"] for d in n["devices"]] == ["busy", "free"])
        old = self.machine("gpu02")
        old.write(ago_s=700)
        w2 = self.web("gpu02")
        self.hub.stop()
        self.hub_with("--files-pull", f"127.0.0.1:{w2.port}", "--files-zone", "UTC")
        n = self.wait_node("gpu02", lambda n: n["collect"] == "failed" and len(n["devices"]) == 2)
        self.assertIn("more than 500 s old", n["reason"])
        self.assertEqual([d["state"] for d in n["devices"]], ["stale", "stale"])

    def test_consul_names_whom_to_pull_from(self):
        """fetch_stats_conf.json, as it was."""
        m, other = self.machine("gpu01"), self.machine("gpu02")
        m.write()
        other.write()
        w, w2 = self.web("gpu01"), self.web("gpu02")
        c = consul.Consul()
        self.addCleanup(lambda: c.up and c.stop())
        c.register("localhost", "192.0.2.1", rack="a1")  # asked by its Node, as there; nobody is at its Address
        with open(self.path("fetch_stats_conf.json"), "w", encoding="utf-8") as f:
            f.write('{"CONSUL_SERVICE_URI": "%s/v1/catalog/service/gpu"}' % c.url)
        self.hub_with("--files-sources", "consul:" + self.path("fetch_stats_conf.json"), "--files-port", w.port, "--files-pull", f"127.0.0.1:{w2.port}")
        self.check_whole("gpu01")
        self.wait_node("gpu01", lambda n: n.get("labels", {}).get("rack") == "a1")
        answer = lambda: lib.ask(self.hub.url + "/", headers={"User-Agent": "curl/8"})[2].decode().splitlines()[0]
        self.wait_node("gpu02", lambda n: len(n["devices"]) == 2)
        self.assertEqual(answer(), "2 of 4 free: 1 on gpu01, 1 on gpu02")
        c.deregister("localhost")
        n = self.wait_node("gpu01", lambda n: "unlisted" in n["reason"])
        self.assertEqual([d["state"] for d in n["devices"]], ["stale", "stale"])  # with that very news: its readings would be good for 500 s
        self.assertEqual(answer(), "1 of 2 free: 1 on gpu02")
        c.register("localhost", "192.0.2.1")
        self.check_whole("gpu01")

    # ---- pushed ----
    def test_files_pushed_into_a_folder(self):
        a, b = self.machine("gpu01", "drop", hours=-5), self.machine("gpu02", "drop", hours=5.5)
        a.write()
        self.hub_with("--files-watch", self.path("drop"))
        self.check_whole("gpu01", a)
        b.write()
        self.check_whole("gpu02", b)
        for kind in b.texts():
            os.unlink(b.path(kind))
        self.wait_node("gpu02", lambda n: "unlisted: its files are no longer in the folder" in n["reason"])
        self.check_whole("gpu01")
        self.assertEqual(self.hub.stop(), 0)

    def test_a_file_that_is_being_written_is_not_read(self):
        m = self.machine("gpu01", "drop")
        text = m.texts()["gpus"]
        self.hub_with("--files-watch", self.path("drop"))
        m.write(kinds=("status",))  # a round of its own, before the others
        self.wait_node("gpu01", lambda n: "its files name no GPU" in n["reason"])
        with open(m.path("gpus"), "w", encoding="utf-8") as f:
            f.write(text[:len(text) * 3 // 4])
            f.flush()
            over = threading.Event()

            def go_on():
                while not over.wait(0.02):  # all the while, however long the hub takes to answer
                    f.write("\n")
                    f.flush()
            writer = threading.Thread(target=go_on, daemon=True)
            writer.start()
            try:
                for _ in range(12):
                    self.assertEqual([x["devices"] for x in lib.ask_json(self.hub.url + "/api/v1/state")["nodes"]], [[]])
            finally:
                over.set()
                writer.join()
            f.seek(0)
            f.truncate()
            f.write(text)
        self.wait_node("gpu01", lambda n: len(n["devices"]) == 2)

    def test_a_folder_that_is_not_there_yet(self):
        self.hub_with("--files-watch", self.path("drop"))
        self.hub.wait_line(r"cannot read the folder '.*drop': No such file")
        m = self.machine("gpu01", "drop")
        m.write()
        self.check_whole("gpu01", m)

    def test_what_comes_behind_its_gpus_is_told_without_them(self):
        m = self.machine("gpu01", "drop")
        self.hub_with("--files-watch", self.path("drop"))
        m.write(ago_s=45, kinds=("gpus",))
        self.wait_node("gpu01", lambda n: len(n["devices"]) == 2)
        m.write(kinds=("status",))  # their next reading would take it along, but none comes
        self.wait_node("gpu01", lambda n: "load1" in n.get("metrics", {}))

    def test_names_on_screens(self):
        self.machine("gpu01", "drop").write()
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"names: {{gpu01: Vision 1, 'Tesla V100*': [V100, V1]}}\npage: {{colours: gpu-monitor}}\nfiles: {{watch: {self.path('drop')}}}\n")
        self.hub = self.start_hub("--config", self.path("muster.yaml"))
        n = self.wait_node("gpu01", lambda n: len(n["devices"]) == 2)
        self.assertEqual((n["display"], n["devices"][0]["display"], n["devices"][0]["short"]), ("Vision 1", "V100", "V1"))
        self.assertEqual(n["devices"][0]["name"], "Tesla V100-PCIE-16GB")
        text = lib.ask(self.hub.url + "/?term=true")[2].decode()
        self.assertRegex(text, r"Vision 1 +\| 0:V100 ")
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "--hub", self.hub.url, "host:gpu01", "model:tesla"), r"Vision 1 +0 .* V100 ")
        self.assertIn('"node":"gpu01"', self.run_ok(lib.MUSTER, "ls", "--hub", self.hub.url, "--json"))
        self.assertEqual(lib.ask_json(self.hub.url + "/api/v1/metrics")["colours"], "gpu-monitor")
        self.assertEqual(list(lib.ask_json(self.hub.url + "/states/")), ["gpu01"])
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(f"files: {{watch: {self.path('drop')}}}\n")
        self.hub.p.send_signal(signal.SIGHUP)
        self.wait_node("gpu01", lambda n: "display" not in n and "display" not in n["devices"][0])

    # ---- settings ----
    def test_settings_change(self):
        m1, m2 = self.machine("gpu01"), self.machine("gpu02")
        m1.write()
        m2.write()
        w1, w2 = self.web("gpu01"), self.web("gpu02")

        def settings(pull, more=""):
            with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
                f.write(f"files:\n  every: 1s\n  pull: [{pull}]\n{more}")
        settings(f"'127.0.0.1:{w1.port}'")
        self.hub = self.start_hub("--config", self.path("muster.yaml"))
        self.check_whole("gpu01")
        settings(f"'127.0.0.1:{w2.port}'")
        self.hub.p.send_signal(signal.SIGHUP)
        self.check_whole("gpu02")
        self.wait_node("gpu01", lambda n: "unlisted" in n["reason"])
        settings("x", "  zone: Mars\n")
        self.hub.p.send_signal(signal.SIGHUP)
        self.hub.wait_line("files.zone: 'Mars' is no zone")
        self.check_whole("gpu02")

    def test_settings_that_cannot_be_meant_are_refused(self):
        for flags, words in ((["--files-zone", "x"], "is no zone"), (["--files-sources", "etcd:x"], "does not start with a kind"),
                             (["--files-pull", "gpu[2-1]"], "files.pull")):
            status, _, err = self.run_any(lib.MUSTER, "hub", "--data", self.path("data"), *flags)
            self.assertEqual(status, 2, err)
            self.assertIn(words, err)


lib.main()
