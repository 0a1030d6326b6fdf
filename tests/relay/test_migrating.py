#!/usr/bin/python3
"""Follows docs/migrating/web-gpu-monitor.md from the old config.ini, against an sshd of this machine and a web server."""
import getpass
import os
import re
import shutil
import unittest

import lib
import migration
import sshd

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
FREE = "of 1</b> GPUs on 1 host are free.</p>(?s:.)*<h2>host1</h2>"
UNREAD = '0 of 0</b> GPUs on 0 hosts are free. 1 host cannot be read.</p>(?s:.)*<h2>host1</h2><p class="why">ssh: host1 refuses'


@unittest.skipUnless(sshd.SSHD, "there is no sshd here")
class WebGpuMonitor(lib.Case):
    def setUp(self):
        super().setUp()
        self.farm, self.port, self.web_port = sshd.Farm(self), lib.free_port(), lib.free_port()
        self.there = self.farm.sshd("a", trust=False)  # its host key is unknown, as for a new user of ssh
        self.farm.machine("host1", self.there, gpus=1)
        self.old, self.www = self.path("old"), self.path("www")
        os.mkdir(self.old)
        with open(self.path("old/config.ini"), "w", encoding="utf-8") as f:
            f.write(f"[common]\nuser = {getpass.getuser()}\nhosts = host1\nkey_filename = {self.farm.key}\n")

    def test_the_page_leads_from_the_old_file_to_the_page_of_a_web_server(self):
        page = migration.Page(self, "web-gpu-monitor.md", {
            "/srv/gpu": self.old, "/var/www/gpu": self.www, "-c config.ini": "-c config.ini --ssh-config " + self.farm.config, "USER": getpass.getuser(),
            "--ssh-ini config.ini": f"--ssh-ini config.ini --ssh-config {self.farm.config}", "127.0.0.1:8765": f"127.0.0.1:{self.port}",
            "listen 80;": f"listen 127.0.0.1:{self.web_port};"}, cwd=self.old)
        status, _, err = self.run_any(lib.MUSTER, *page.put("fetch -c config.ini").split(), cwd=self.old)  # as in cron before the first time by hand
        self.assertEqual((status, "host key" in err), (3, True), err)
        page.run("muster fetch -c config.ini --accept-new-keys")
        os.unlink(self.path("old/load_data.csv"))
        install, = re.findall(r"`(install -d [^`]*)`", page.prose)
        page.run_line(install)
        self.cron(page)
        self.hub(page)
        self.nginx(page)
        page.run_line("muster render -o .")
        self.assertTrue(os.path.exists(self.path("old/index.html")))
        self.assertGreater(page.check_phrases(), 5)
        page.finish()

    def tab(self, page, number):
        """(PATH with muster in place of /usr/local/bin, command of the line) of a block for cron."""
        path, line = migration.commands_of(page.block("cron", number))
        command, = re.fullmatch(r"(?:[\d*/,-]+ ){5}(.*)", line).groups()
        self.assertIn("/usr/local/bin", path)
        return path.replace("/usr/local/bin", self.path("programs")), command

    def page_of(self, tab):
        self.run_ok("env", "-i", tab[0], "/bin/sh", "-c", tab[1], cwd="/")
        with open(self.www + "/index.html", encoding="utf-8") as f:
            return f.read()

    def cron(self, page):
        tab = self.tab(page, 0)
        self.there.kill()
        self.assertRegex(self.page_of(tab), UNREAD)  # there is no load_data.csv yet
        self.assertFalse(os.path.exists(self.path("old/load_data.csv")))
        self.there.start()
        self.assertRegex(self.page_of(tab), FREE)
        self.there.kill()  # no host can be read: no old row is shown as current
        self.assertRegex(self.page_of(tab), UNREAD)
        self.there.start()
        self.assertRegex(self.page_of(tab), FREE)

    def hub(self, page):
        line, = [" ".join(p.split()) for p in re.findall(r"`(muster hub --ssh-ini [^`]*--accept-new-keys)`", page.prose)]
        url = f"http://127.0.0.1:{self.port}"
        hub = self.start(lib.MUSTER, *page.put(line).split()[1:], "--listen", f"127.0.0.1:{self.port}", "--ssh-every", "1s", "--data", self.path("data"), cwd=self.old)
        hub.wait_line(re.escape(url))
        lib.wait_until("the hub has the GPU", lambda: [n for n in lib.ask_json(url + "/api/v1/nodes") if n["collect"] == "ok" and n["devices"]])
        listed, = re.findall(r"`(muster ls --hub [^`]*)`", page.prose)
        self.assertIn("host1", page.run_line(listed))
        os.unlink(self.www + "/index.html")
        self.assertIn("<h2>host1</h2>", self.page_of(self.tab(page, 1)))
        yaml, = re.findall(r"`(accept_new_keys: true)`", page.prose)
        self.run_ok(lib.MUSTER, "config", "check", "-", stdin=yaml.encode())

    def nginx(self, page):
        block = page.block("nginx")
        if not NGINX:
            return
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        with open(self.path("nginx.conf"), "w", encoding="utf-8") as f:
            f.write(f"daemon off; pid {self.path('pid')}; error_log stderr; {user} events {{}}\nhttp {{ access_log off; {self.temp()}\n{block} }}\n")
        self.start(NGINX, "-e", "stderr", "-c", self.path("nginx.conf"))
        got = lib.wait_until("nginx", self.ask_nginx)
        status, headers, body = got
        self.assertEqual((status, headers["cache-control"], headers["x-content-type-options"]), (200, "no-cache", "nosniff"))
        self.assertIn(b"<h2>host1</h2>", body)

    def temp(self):
        return " ".join(f"{kind}_temp_path {self.path('temp-' + kind)};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))

    def ask_nginx(self):
        try:
            return lib.ask(f"http://127.0.0.1:{self.web_port}/", headers={"Host": "gpu.example.org"})
        except OSError:
            return None


if __name__ == "__main__":
    lib.main()
