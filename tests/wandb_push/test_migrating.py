#!/usr/bin/python3
"""Follows docs/migrating/gpu-dashboard.md from the old tool's config.yaml and dataset alone, against the stand-in of W&B."""
import csv
import datetime
import glob
import io
import json
import os
import re
import shutil
import stat

import lib
import migration
from wandb_standin import KEY, Standin
from wandb_world import Run, World

TOKYO = datetime.timezone(datetime.timedelta(hours=9))
CONFIG = """
testmode: false
enable_alert: false
ignore_tags: ["other_gpu", "others_gpu"]
wandb_dir: /tmp/wandb
max_workers: 1
dashboard: {entity: lender, project: gpu-dashboard, tag_for_latest: latest}
dataset: {entity: lender, project: gpu-dashboard, artifact_name: all_runs_data}
companies:
  - company: Acme
    teams: [acme]
    ignore_project_pattern: "sweep*"
    schedule: [{date: "2024-10-25", assigned_gpu_node: 1}]
  - company: Ended
    teams: [ended]
    schedule: [{date: "2024-10-25", assigned_gpu_node: 2}, {date: "2024-11-01", assigned_gpu_node: 0}]
"""
ROWS = """date,company_name,project,run_id,tags,created_at,updated_at,state,duration_hour,gpu_count,average_gpu_utilization,average_gpu_memory,max_gpu_utilization,max_gpu_memory,host_name,logged_at
2024-10-26,acme,llm,aaaa0001,[],2024-10-26T00:00:00,2024-10-26T10:00:00,finished,10.0,8,50.0,20.0,90.0,30.0,n1,2024-10-27T00:15:00
2024-10-31,ended,llm,cccc0001,[],2024-10-31T00:00:00,2024-10-31T01:00:00,finished,1.0,16,60.0,20.0,90.0,30.0,n2,2024-11-01T00:15:00
"""
# A stand-in for aws and podman: logs its arguments, and reads what is piped into it. A file that aws reads must be JSON, except the key.
PROGRAM = """#!/bin/sh
echo "${0##*/} $*" >>"$LOG"
for a; do case $a in
    file://*.json) /usr/bin/python3 -m json.tool "${a#file://}" >>"$LOG" || exit 9 ;;
    file://*) test -s "${a#file://}" || exit 9 ;;
    packaging/*) test -e "$a" || exit 9 ;;
esac; done
case "${0##*/} $*" in
    *--password-stdin* | *"-f - "*) cat >>"$LOG" ;;
    *create-vpc*) echo vpc-1 ;; *create-subnet*) echo subnet-2 ;; *create-security-group*) echo sg-3 ;; *create-internet-gateway*) echo igw-4 ;; *describe-route-tables*) echo rtb-5 ;;
    *get-login-password*) echo secret ;;
esac
"""


class GpuDashboard(lib.Case):
    def setUp(self):
        super().setUp()
        self.yesterday = datetime.datetime.now(TOKYO).date() - datetime.timedelta(days=1)
        noon = datetime.datetime.combine(self.yesterday, datetime.time(12), TOKYO).astimezone(datetime.timezone.utc)
        self.world = World()
        self.world.add_project("lender", "gpu-dashboard")
        project = self.world.add_project("acme", "llm")
        self.world.add_project("ended", "llm")
        project.add(Run(project, "run00001", createdAt=noon.strftime("%Y-%m-%dT%H:%M:%S"), heartbeatAt=(noon + datetime.timedelta(minutes=239)).strftime("%Y-%m-%dT%H:%M:%S"), state="finished",
                        host="gpu01", runInfo={"gpu": "H200", "gpuCount": 8}, config=json.dumps({"num_nodes": {"value": 1}, "num_gpus": {"value": 8}})))
        self.old, self.tree, self.port = self.path("old"), self.path("muster"), lib.free_port()
        os.makedirs(self.path("old/gpu_dashboard"))
        os.makedirs(self.path("muster/build"))
        os.symlink(os.path.abspath(lib.MUSTER), self.path("muster/build/muster"))
        shutil.copytree(os.path.join(lib.TOP, "packaging"), self.path("muster/packaging"))
        for name, text in (("old/gpu_dashboard/config.yaml", CONFIG), ("muster/all_runs_data.csv", ROWS), ("muster/wandb.key", KEY + "\n")):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)

    def tags(self):
        return {tuple(sorted(set(r.tags) - {"latest"})): r.displayName for r in self.world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags}

    def test_the_page_leads_from_the_old_files_to_tables_every_day(self):
        with Standin(self.world) as s:
            page = migration.Page(self, "gpu-dashboard.md", {
                "…/gpu_dashboard/": self.old + "/gpu_dashboard/", "WANDB_API_KEY=…": "WANDB_API_KEY=" + KEY, "127.0.0.1:8765": f"127.0.0.1:{self.port}",
                "TEAM/PROJECT/RUN": "acme/llm/run00001", "16|18|old": "old", "/etc/muster": self.path("etc/muster"), "/etc/cron.d": self.path("etc/cron.d"), "/var/lib/muster": self.path("state"),
                "-o muster -g muster ": "", "-o muster -m": "-m"}, cwd=self.tree, env={"WANDB_BASE_URL": s.url})
            self.first_table(page)
            self.compare(page)
            self.push(page)
            self.every_day(page)
            self.aws(page)
            self.assertGreater(page.check_phrases({word: "muster wandb " + word for word in ("pull", "push", "import", "export", "check")}), 8)
            page.finish()

    def first_table(self, page):
        build = page.site("git clone … muster && cd muster && tools/install-deps && make -j4")
        self.assertEqual(re.sub(r"^git clone … muster|make -j4$|&&|cd muster|tools/install-deps| ", "", build), "")
        page.run("cp …/gpu_dashboard/config.yaml .")
        page.run("export WANDB_API_KEY=")
        page.run("build/muster wandb pull")
        self.assertRegex(page.run("build/muster report"), rf"Acme +{self.yesterday} +32\.0")
        page.run("build/muster wandb import")
        phrase, = re.findall(r"`(build/muster hub [^`]*)`", page.prose)
        hub = self.start(*page.put(phrase).replace("build/muster", lib.MUSTER).split(), "--listen", f"127.0.0.1:{self.port}", env=page.env, cwd=self.tree)
        url, = re.findall(r"shows the page at\s+(http://[\w.:]+\d)", page.put(page.prose))
        hub.wait_line(re.escape(url))
        companies = lambda: lib.ask(url + "/api/v1/report?source=wandb&period=overall")[2].decode()
        lib.wait_until("the hub has the company", lambda: "Acme" in companies())
        self.assertEqual(lib.ask(url + "/")[0], 200)
        self.assertEqual(hub.stop(), 0)

    def compare(self, page):
        line, = re.findall(r"`(muster report \S+ [^`]*--period daily[^`]*)`", page.prose)
        rows = list(csv.DictReader(io.StringIO(page.run_line(line))))
        self.assertEqual(list(rows[0])[:4], ["企業名", "日付", "合計GPU使用時間(h)", "GPU稼働率(%)"])
        hours = {(r["企業名"], r["日付"]): r["合計GPU使用時間(h)"] for r in rows}
        self.assertEqual((hours["Acme", "2024-10-26"], hours["Ended", "2024-10-31"], hours["Acme", str(self.yesterday)]), ("80", "16", "32"))
        self.assertNotIn(("Ended", "2024-11-01"), hours)
        explain, = re.findall(r"`(muster wandb explain [^`]*)`", page.prose)
        self.assertIn("8", page.run_line(explain + " --data ./data"))
        with open(self.path("muster/rules.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG + page.block("yaml"))
        self.assertIn("config.NNODES * 8", page.run_line(explain + " --data ./data --config rules.yaml"))
        page.run("build/muster wandb pull")  # the other way to the past; W&B does not have the imported runs

    def push(self, page):
        page.run("build/muster wandb push")
        page.run("build/muster wandb check")  # 32 of 192 hours: no fault
        self.assertEqual(self.tags(), {("overall",): f"Tables_{self.yesterday}", ("Acme",): f"Tables_{self.yesterday}"})  # the ended one keeps what it has

    def every_day(self, page):
        """The files of cron are installed below this folder, and its lines run as cron runs them, from an empty data folder. Accounts and units are checked only."""
        units, = re.findall(r"`(systemctl [^`]*)`", page.prose)
        page.check_units(units)
        add = page.site("useradd --system")
        self.assertEqual(add.split()[-1], "muster")
        self.assertIn(f"--home-dir {re.search('--data ([^ ]+)', self.packaged('cron/muster-wandb'))[1]} ", add)
        if shutil.which("useradd", path=page.env["PATH"]):
            known = self.run_ok("useradd", "--help", env=page.env)
            self.assertEqual([flag for flag in re.findall(r"--[a-z-]+", add) if flag not in known], [])
        os.makedirs(self.path("etc/cron.d"))
        while page.commands[0][1].startswith("install "):
            page.run("install ")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("state")).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("etc/muster/wandb.key")).st_mode), 0o600)
        tab = migration.commands_of(page.put(self.packaged("../" + os.path.relpath(self.path("etc/cron.d/muster-wandb"), lib.TOP))))
        path, lines = tab[0], tab[1:]
        path = path.replace("/usr/local/bin", os.path.dirname(shutil.which("muster", path=page.env["PATH"])))
        self.assertEqual(len(lines), 2)
        self.world.find("lender", "gpu-dashboard").byname.clear()
        for line in lines:
            user, command = re.fullmatch(r"(?:\S+ ){5}(\S+) (.*)", line).groups()
            self.assertEqual(user, "muster")
            self.run_ok("env", "-i", path, "WANDB_BASE_URL=" + page.env["WANDB_BASE_URL"], "/bin/sh", "-c", command, cwd=self.path("state"))
        self.assertEqual(set(self.tags()), {("overall",), ("Acme",)})

    def packaged(self, name):
        with open(os.path.join(lib.TOP, "packaging", name), encoding="utf-8") as f:
            return f.read()

    def aws(self, page):
        """With stand-ins for aws and podman: order, variables, files and what sed replaces."""
        for name in ("aws", "podman"):
            with open(self.path("programs/" + name), "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o755)) as f:
                f.write(PROGRAM)
        page.env["LOG"] = self.path("log")
        account, = re.findall(r"`(sed -i s/ACCOUNT/[^`]*)`", page.prose)
        page.run_line(account)
        for start in ("vpc=", "aws iam create-role", "registry="):
            page.run_block(start)
        for name in glob.glob(self.path("muster/packaging/aws/*.json")):
            with open(name, encoding="utf-8") as f:
                self.assertNotRegex(f.read(), "ACCOUNT|SUBNET|GROUP", name)
        with open(self.path("log"), encoding="utf-8") as f:
            log = f.read()
        for said in ("--gateway-id igw-4", "--route-table-id rtb-5", '"subnet-2"', '"sg-3"', "FROM muster\nCOPY config.yaml"):
            self.assertIn(said, log)
        tag, = re.findall(r"podman push \S+/(\S+)", log)
        self.assertIn(f"/{tag}\"", log)  # the image of the task


if __name__ == "__main__":
    lib.main()
