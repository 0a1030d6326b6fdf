#!/usr/bin/python3
"""Follows docs/migrating/gpu-monitor.md from the old web server's data folder, its Consul and the files of its node scripts."""
import os
import re
import signal

import consul
import lib
import migration
import readings

OLD = {"fetch_stats_conf.json": '{"CONSUL_SERVICE_URI": "%s/v1/catalog/service/gpu"}', "comments.json": '{"gpu01":[{"name":"kim","date":"2099-01-01 00:00","comment":"paper"}]}'}


class GpuMonitor(lib.Case):
    def setUp(self):
        super().setUp()
        self.port, self.www, self.etc = lib.free_port(), self.path("www/data"), self.path("etc/muster")
        self.node = readings.Machine(self.path("gpu01"), "gpu01")
        self.node.write()
        self.web, self.consul = readings.Web(self.path("gpu01")), consul.Consul()
        self.addCleanup(self.web.stop)
        self.addCleanup(self.consul.stop)
        self.consul.register("localhost", "192.0.2.1")
        os.makedirs(self.www)
        for name, text in OLD.items():
            with open(os.path.join(self.www, name), "w", encoding="utf-8") as f:
                f.write(text % self.consul.url if "%s" in text else text)
        self.url, self.config = f"http://127.0.0.1:{self.port}", os.path.join(self.etc, "muster.yaml")

    def wait_node(self, name, check):
        nodes = lambda: lib.ask_json(self.url + "/api/v1/state")["nodes"]
        try:
            return lib.wait_until(name, lambda: next((n for n in nodes() if n["name"] == name and check(n)), None), pause=0.2)
        except AssertionError:
            raise AssertionError(f"{nodes()}\n{self.hub.text}") from None

    def add(self, text):
        with open(self.config, "a", encoding="utf-8") as f:
            f.write(text)

    def test_the_page_leads_from_the_old_files_to_a_hub_and_then_to_an_agent(self):
        page = migration.Page(self, "gpu-monitor.md", {
            "/etc/muster": self.etc, "/var/www/html/data": self.www, "0.0.0.0:8765": f"127.0.0.1:{self.port}", "127.0.0.1:8765": f"127.0.0.1:{self.port}", "http://hub:8765": self.url,
            "file:HOST": "file:gpu01"}, env={"MUSTER_CONFIG": self.config, "MUSTER_DATA": self.path("state")})
        self.begin(page)
        self.names_colours_and_reservations(page)
        self.check_and_switch(page)
        self.replace_the_scripts(page)
        self.check_settings(page)
        self.assertGreater(page.check_phrases(), 0)
        page.finish()

    def begin(self, page):
        page.run("mkdir -p /etc/muster")
        page.run("cp /var/www/html/data/fetch_stats_conf.json")
        self.add(page.block("yaml", 0))
        page.run("muster config check")
        self.hub = page.start("muster hub", f"--files-port {self.web.port} --files-every 1s")  # not 8114, and at once
        self.hub.wait_line(re.escape(self.url))
        node = self.wait_node("gpu01", lambda n: len(n["devices"]) == 2)
        self.assertEqual(node["id"], "file:gpu01")
        self.assertRegex(page.run("muster ls --hub"), "gpu01.*V100")
        self.assertIn("gpu01", lib.ask(self.url + "/", headers={"User-Agent": "curl/8"})[2].decode())

    def names_colours_and_reservations(self, page):
        self.add(page.block("yaml", 1))
        self.assertIn("kill -HUP", page.prose)
        self.run_ok(lib.MUSTER, "config", "check", self.config)
        self.hub.p.send_signal(signal.SIGHUP)
        node = self.wait_node("gpu01", lambda n: n.get("display") and n["devices"] and n["devices"][0].get("booking"))
        gpu = node["devices"][0]
        self.assertEqual((node["display"], gpu["display"], gpu["short"], gpu["booking"]["person"]), ("Vision 1", "V100", "V1", "kim"))

    def check_and_switch(self, page):
        for path in ("/index.php", "/index.php?content"):
            status, headers, body = lib.ask(self.url + path, headers={"User-Agent": "Mozilla/5.0", "Accept": "text/html"})
            if status in (301, 302, 303, 307, 308):
                self.assertIn("layout=table", headers["location"])
            else:
                self.assertEqual(status, 200, (path, body))
        status, _, body = lib.ask(self.url + "/", method="POST", body="host=gpu01&id=1&name=lee&date=2h&comment=new&save=Save", headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.assertIn(status, (200, 303), body)

        def mirrored():
            with open(os.path.join(self.www, "comments.json"), encoding="utf-8") as f:
                return "lee" in f.read()
        lib.wait_until("the reservation of the old form is in comments.json", mirrored)
        drop_in, = re.findall(r"`(ReadWritePaths=[^`]*)`", page.prose)
        enable, = re.findall(r"# with systemd: (systemctl enable [^`\n]*)", page.text)
        reload, = re.findall(r"`(systemctl reload [^`]*)`", page.prose)
        for line in (enable, reload):
            page.check_units(line, {"muster-hub.service": "[Service]\n" + drop_in})

    def replace_the_scripts(self, page):
        self.consul.deregister("localhost")
        self.wait_node("gpu01", lambda n: "unlisted" in n["reason"])
        page.env["MUSTER_HUB"] = self.url  # not the default port
        page.run("muster node retire")
        self.assertEqual(lib.ask_json(self.url + "/api/v1/state")["nodes"], [])
        page.replaced["sh -s -- TOKEN"] = "sh -s -- " + page.run("muster token new --role enroll").strip()
        page.install_agent("curl -fsS http://hub:8765/install")
        node, = lib.wait_until("the agent's node", lambda: lib.ask_json(self.url + "/api/v1/state")["nodes"])
        self.assertFalse(node["id"].startswith("file:"), node)

    def check_settings(self, page):
        """Each `files.name: value` of the page, and what it says of names."""
        found = re.findall(r"`((?:files|host_names|page|rule)[.:][^`]*)`", page.prose)
        self.assertGreaterEqual(len(found), 6)
        for phrase in found:
            phrase = page.put(" ".join(phrase.split()))
            text = re.sub(r"^(\w+)\.(\w+: .*)", r"\1: {\2}", phrase)
            if re.search(": .", text):
                status, out, err = self.run_any(lib.MUSTER, "config", "check", "-", stdin=text.encode())
                self.assertEqual(status, 0, text + out + err)


if __name__ == "__main__":
    lib.main()
