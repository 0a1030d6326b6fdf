#!/usr/bin/python3
"""Which build runs where: what programs, screens and /metrics say of version, commit and format, and the notice where builds differ."""
import re
import shutil
import subprocess

import lib
from hubcase import HubCase
from sender import Node, answer

TOP = lib.TOP


class Versions(HubCase):
    def build(self):
        m = re.match(r"muster (\d+\.\d+\.\d+)(?:\+([0-9a-f]{8}(?:-dirty)?))?, store format (\d+), wire format (\d+)\n$", self.run_ok(lib.MUSTER, "--version"))
        self.assertTrue(m)
        return m.groups()

    def test_the_commit_of_a_tarball_comes_from_its_file(self):
        shutil.copy(TOP + "/Makefile", self.path("Makefile"))
        for text, want in (("13362185a212aee4c9ef4bfc0f5e313208f5f4ac", "13362185"), ("$Format:%H$", "")):  # the file as `git archive` writes it, and as it is in a checkout
            with open(self.path("COMMIT"), "w", encoding="ascii") as f:
                f.write(text + "\n")
            said = subprocess.run(["make", "-pn", "clean"], cwd=self.dir, env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": self.dir}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
            self.assertEqual(re.search(r"^COMMIT := *(.*)$", said, re.M).group(1), want)
        with open(TOP + "/.gitattributes", encoding="ascii") as f:
            self.assertIn("COMMIT export-subst", f.read().splitlines())

    def test_every_screen_of_a_hub_names_its_build(self):
        version, commit, store, wire = self.build()
        plus = f"+{commit}" if commit else ""
        self.assertEqual(self.run_ok(lib.AGENT, "--version"), f"muster-agent {version}{plus}, wire format {wire}\n")
        h = self.hub()
        self.assertIn(f"muster {version}{plus} format {store}, on a local store", h.text)
        self.assertIn(f'muster_build_info{{version="{version}",commit="{commit or ""}",format="{store}"}} 1', lib.ask(h.url + "/metrics")[2].decode())
        row, = lib.ask_json(h.url + "/api/v1/hubs")
        self.assertEqual((row["version"], row.get("commit"), row["format"], row["leads"], row["own"]), (version, commit, int(store), True, True))
        facts = lib.ask_json(h.url + "/api/v1/metrics")
        self.assertEqual((facts["muster"], facts.get("commit"), facts["format"]), (version, commit, int(store)))

    def test_an_agent_of_another_version_is_a_notice(self):
        version, commit, _, wire = self.build()
        ours = f"{version}{'+' + commit if commit else ''} wire {wire}"
        h, n, same = self.hub(), Node("old"), Node("new")
        n.agent, same.agent = "0.0.9+0badc0de wire 1", ours
        n.token = answer(self.post(h, n.first())[2])["token"]
        self.post(h, same.first())
        notice = lambda: lib.ask_json(h.url + "/api/v1/state").get("notice", "")
        lib.wait_until("a notice", lambda: f"1 of 2 nodes has not the version of this hub, {ours}: old has 0.0.9+0badc0de wire 1" in notice())
        self.assertIn("0.0.9+0badc0de wire 1", self.run_ok(lib.MUSTER, "node", "list", "--hub", h.url))
        self.assertIn('agent="0.0.9+0badc0de wire 1"', lib.ask(h.url + "/metrics")[2].decode())
        n.agent = ours
        self.post(h, n.stream(n.facts(), n.procs(), n.batch()), n.token)
        lib.wait_until("no notice", lambda: not notice())


if __name__ == "__main__":
    lib.main()
