#!/usr/bin/python3
"""Follows docs/migrating/vesta.md from the old server's local_settings.yaml and database, and an unchanged sender."""
import datetime
import json
import os
import re
import shutil
import time

import lib
import migration
import test_vesta

SETTINGS = r"""
PORT_NUM: {port}
BIND_HOST: 127.0.0.1
TOKEN: hidden-token-1
SERVER_NAME: lab
VALID_NETWORK: ^127\.0\.0\.
SLACK_WEBHOOK: "https://hooks.slack.com/services/T0/B0/hidden-hook-2"
SLACK_BOT_TOKEN: ""
"""


class Migration(test_vesta.Vesta):
    def setUp(self):
        super().setUp()
        self.port, self.etc, self.data = lib.free_port(), self.path("etc/muster"), self.path("state")
        self.url = f"http://127.0.0.1:{self.port}"
        with open(self.path("local_settings.yaml"), "w", encoding="utf-8") as f:
            f.write(SETTINGS.format(port=self.port))
        now = datetime.datetime.fromtimestamp(int(time.time()) // 60 * 60 - 7200, datetime.timezone(datetime.timedelta(hours=9))).replace(tzinfo=None)
        rows = [(now - datetime.timedelta(minutes=i), test_vesta.packed(test_vesta.payload("a", util=40 + i))) for i in (2, 1, 0)]
        os.mkdir(self.path("data"))
        shutil.move(self.database({"a": rows}), self.path("data/gpu_states.db"))

    def test_the_page_leads_from_the_old_files_to_the_same_addresses(self):
        page = migration.Page(self, "vesta.md", {
            "/etc/muster": self.etc, "/var/lib/muster": self.data, "hub:8080": f"127.0.0.1:{self.port}", "127.0.0.1:8080": f"127.0.0.1:{self.port}",
            "--port_num 8081": f"--port_num {lib.free_port()}"},
            env={"MUSTER_CONFIG": os.path.join(self.etc, "muster.yaml")})
        self.settings_of(page)
        page.run("muster vesta history data/gpu_states.db --dry-run")
        self.assertIn("3 can be read, 0 refused", page.run("muster vesta history data/gpu_states.db --zone Asia/Tokyo"))
        self.switch(page)
        self.replace_the_sender(page)
        self.assertGreater(page.check_phrases(), 1)
        page.finish()

    def settings_of(self, page):
        self.assertIn(f'listen: ["127.0.0.1:{self.port}"]', page.run("muster vesta settings local_settings.yaml"))
        page.run("muster vesta settings local_settings.yaml --into")
        page.run("muster config check")
        self.assertIn("log_level: warn", page.run("muster vesta settings local_settings.yaml -- "))
        drop_in, = re.findall(r"`(LoadCredential=[^`]*)`", page.prose)
        enable, = re.findall(r"# or: (systemctl enable [^\n]*)", page.text)
        page.check_units(enable, {"muster-hub.service": "[Service]\n" + drop_in})
        path, = re.findall(r"`/run/credentials/muster-hub.service/([\w.]+)`", page.prose)
        self.assertTrue(drop_in.startswith(f"LoadCredential={path}:"), drop_in)
        self.assertTrue(os.path.exists(os.path.join(self.etc, path)), path)
        for name in re.findall(r"\(`(vesta.token)`, `(slack.url)`", page.prose)[0]:
            self.assertEqual(os.stat(os.path.join(self.etc, name)).st_mode & 0o777, 0o600)

    def switch(self, page):
        hub = page.start("muster hub --data")
        hub.wait_line(re.escape(self.url))
        self.assertIn(" a ", page.run("curl 'hub:8080/?term=true'"))
        body = json.dumps(test_vesta.payload("a", util=77))
        sent = lib.ask_json(f"{self.url}/update/host/{self.ident('a')}?token=hidden-token-1", method="POST", body=body)  # the sender, unchanged
        self.assertEqual(sent["status_code"], 200)
        states = lambda: lib.ask_json(self.url + "/states/a/?fetch_num=4")["a"]
        self.assertSoon(lambda: [e["gpu_data"]["gpu:0"]["gpu_volatile"] for e in states()["data"]], [42, 41, 40, 77])
        self.assertEqual(states()["status"], "running")
        token = page.run("muster token new --role reader").strip()
        page.replaced["Bearer TOKEN"] = "Bearer " + token
        self.assertIn("77 %", page.run("curl -H"))
        page.run("export MUSTER_HUB=")
        for command in re.findall(r"not the default port: for `([^`]*)`, `([^`]*)`", page.text)[0]:
            status, out, err = self.run_any(lib.MUSTER, *command.split()[-1:], *["list"] * (command == "muster node"), env=page.env)
            self.assertIn(status, (0, 1), out + err)  # 1: no GPU is free
        reader = self.start("/usr/bin/python3", "-c", page.block("python"), env={**page.env, "HUB": self.url})
        reader.wait_line('^{"update": {"a": .*"gpu_volatile": 77')

    def replace_the_sender(self, page):
        enroll, = re.findall(r"`(muster token new --role enroll)`", page.prose)
        page.replaced["sh -s -- TOKEN"] = "sh -s -- " + page.run_line(enroll).strip()
        page.install_agent("curl -fsS http://hub:8080/install")
        names = lambda: [n["name"] for n in lib.ask_json(self.url + "/api/v1/state")["nodes"]]
        new, = lib.wait_until("the agent's node", lambda: set(names()) - {"a"})
        page.replaced["NEW OLD"] = f"{new} a"
        self.assertIn("wait half a minute", " ".join(page.prose.split()))
        line = page.put(page.next("muster node join")[1])

        def joined():
            status, _, err = self.run_any("/bin/sh", "-ec", line, env=page.env)
            self.assertTrue(status == 0 or "half a minute" in err, err)
            return status == 0
        lib.wait_until("half a minute is over", joined, pause=1)
        self.assertEqual(names(), [new])


if __name__ == "__main__":
    lib.main()
