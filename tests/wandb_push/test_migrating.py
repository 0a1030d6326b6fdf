#!/usr/bin/python3
"""Runs the commands of docs/migrating/gpu-dashboard.md in a folder with the old tool's config.yaml and dataset alone, against the stand-in of W&B."""
import csv
import datetime
import io
import os
import re

import lib
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


class GpuDashboard(lib.Case):
    def commands(self, page, begin, end):
        """Of the blocks between two headings: those of the program, without comments."""
        part = page[page.index(begin):page.index(end)]
        blocks = "".join(re.findall(r"```sh\n(.*?)```", part, re.S))
        return [re.sub(r"\s+#.*", "", line).removesuffix(" &") for line in blocks.splitlines() if line.startswith("build/muster ")]

    def test_each_command_does_what_the_page_says(self):
        with open(os.path.join(lib.TOP, "docs", "migrating", "gpu-dashboard.md"), encoding="utf-8") as f:
            page = f.read()
        for name, text in (("config.yaml", CONFIG), ("all_runs_data.csv", ROWS)):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        yesterday = datetime.datetime.now(TOKYO).date() - datetime.timedelta(days=1)
        noon = datetime.datetime.combine(yesterday, datetime.time(12), TOKYO).astimezone(datetime.timezone.utc)
        world = World()
        world.add_project("lender", "gpu-dashboard")
        project = world.add_project("acme", "llm")
        world.add_project("ended", "llm")
        project.add(Run(project, "run00001", createdAt=noon.strftime("%Y-%m-%dT%H:%M:%S"), heartbeatAt=(noon + datetime.timedelta(minutes=239)).strftime("%Y-%m-%dT%H:%M:%S"), state="finished",
                        host="gpu01", runInfo={"gpu": "H200", "gpuCount": 8}))
        with Standin(world) as s:
            env = {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": s.url}

            def run(line, want=(0,)):
                status, out, err = self.run_any("/bin/sh", "-c", f"cd {self.path('')} && exec {os.path.abspath(lib.MUSTER)} {line.removeprefix('build/muster ')}", env=env)
                self.assertIn(status, want, f"{line}: {out}{err}")
                return out

            first = self.commands(page, "## 1. ", "## 2. ")
            self.assertEqual([line.split()[1:3] for line in first], [["wandb", "pull"], ["report", "--data"], ["wandb", "import"], ["wandb", "pull"]])
            run(first[0])
            self.assertRegex(run(first[1]), rf"Acme +{yesterday} +32\.0")
            run(first[2])
            compare, = re.findall(r"(muster report \S+ [^`]*--period daily[^`]*)`", page)
            rows = list(csv.DictReader(io.StringIO(run(compare.removeprefix("muster ")))))
            self.assertEqual(list(rows[0])[:4], ["企業名", "日付", "合計GPU使用時間(h)", "GPU稼働率(%)"])
            hours = {(r["企業名"], r["日付"]): r["合計GPU使用時間(h)"] for r in rows}
            self.assertEqual((hours["Acme", "2024-10-26"], hours["Ended", "2024-10-31"], hours["Acme", str(yesterday)]), ("80", "16", "32"))
            self.assertNotIn(("Ended", "2024-11-01"), hours)
            run(first[3])  # the other way to the past
            last = self.commands(page, "## 3. ", "## 4. ")
            self.assertEqual([line.split()[1:3] for line in last], [["wandb", "push"], ["wandb", "check"]])
            run(last[0])
            run(last[1])  # 32 of 192 hours: no fault
            tags = {tuple(sorted(set(r.tags) - {"latest"})): r.displayName for r in world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags}
            self.assertEqual(tags, {("overall",): f"Tables_{yesterday}", ("Acme",): f"Tables_{yesterday}"})  # the ended one keeps what it has


if __name__ == "__main__":
    lib.main()
