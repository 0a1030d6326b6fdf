#!/usr/bin/python3
"""What packaging/ has for hubs on PostgreSQL and for a job once a day: files that parse, commands that take their flags, and the container's script against a stand-in."""
import glob
import json
import os
import re
import shlex

import lib
from wandb_standin import KEY, Standin
from wandb_world import World

PACKAGING = os.path.join(lib.TOP, "packaging")
CONFIG = """
companies:
  - {company: Acme, teams: [acme], schedule: [{date: "2024-10-01", assigned_gpu_node: 2}]}
dashboard: {entity: lender, project: gpu-dashboard}
dataset: {entity: lender, project: gpu-dashboard, artifact_name: all_runs_data}
"""
BRICK = '  - {company: Brick, teams: [brick], schedule: [{date: "2024-10-01", assigned_gpu_node: 1}]}\n'


def text(*path):
    with open(os.path.join(PACKAGING, *path), encoding="utf-8") as f:
        return f.read()


class Packaging(lib.Case):
    def flags(self, verb):
        return set(re.findall(r"--[a-z-]+", self.run_ok(lib.MUSTER, "wandb", verb, "--help")))

    def test_commands_take_the_flags_they_are_given(self):
        known = {verb: self.flags(verb) for verb in ("pull", "push", "check")}
        sources = [text("cron", "muster-wandb")] + [text("systemd", os.path.basename(p)) for p in glob.glob(os.path.join(PACKAGING, "systemd", "muster-wandb*.service"))]
        seen = 0
        for source in sources:
            given = re.findall(r"set -- ([^;]*);", source)
            for verb, rest in re.findall(r"muster wandb (\w+)([^&>;\n]*)", re.sub(r"(?m)^#.*", "", source)):
                rest = rest.replace('"$$@"', "".join(given))
                self.assertIn("--config", rest)
                seen += 1
                self.assertLessEqual(set(re.findall(r"--[a-z-]+", rest)), known[verb], rest)
        self.assertEqual(seen, 6)  # pull, push and check by cron and by systemd
        self.assertIn("muster wandb pull --start-date", text("container", "wandb-daily"))
        self.assertIn("--start-date", known["pull"])

    def test_settings_of_a_hub_on_postgresql_fit_its_unit(self):
        settings, n = re.subn(r"(?m)^# ((?:store|store_password_file|advertise): )", r"\1", text("muster.yaml"))
        self.assertEqual(n, 3)
        with open(self.path("muster.yaml"), "w", encoding="utf-8") as f:
            f.write(settings)
        self.run_ok(lib.MUSTER, "config", "check", self.path("muster.yaml"))
        name, = re.findall(r"(?m)^LoadCredential=([^:]+):", text("cluster", "muster-hub-store.conf"))
        self.assertIn(f"store_password_file: /run/credentials/muster-hub.service/{name} ", settings)
        self.assertTrue(glob.glob(os.path.join(PACKAGING, "systemd", "muster-hub.service")))
        self.assertIn("sslmode=verify-full", settings)

    def test_a_hub_with_the_unit_s_command_and_the_packaged_settings_is_in_the_sandbox(self):
        unit = text("systemd", "muster-hub.service")
        program, verb, *flags = shlex.split(re.search(r"(?m)^ExecStart=(.*)", unit).group(1))
        self.assertEqual((os.path.basename(program), verb, flags), ("muster", "hub", ["--data", "/var/lib/muster"]))
        allowed = {name for line in re.findall(r"(?m)^SystemCallFilter=([^~\n]*)", unit) for name in line.split()}
        self.assertLessEqual({"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}, allowed)
        hub = self.start_hub("--config", os.path.join(PACKAGING, "muster.yaml"))  # it adds --data
        hub.wait_line(r"sandbox: (writes are limited|this kernel has no Landlock)")

    def test_a_hub_and_a_relay_in_the_container_are_in_the_sandbox(self):
        env = dict(re.findall(r"(?m)^ENV (\w+)=(\S+)", text("container", "Containerfile")))
        self.assertEqual(env.pop("XDG_STATE_HOME"), "/data")
        hub = self.start_hub(env=env)
        hub.wait_line(r"sandbox: (writes are limited|this kernel has no Landlock)")
        relay = self.start(lib.MUSTER, "relay", "--hub", hub.url, "--token", self.token("relay"), "--nodes", "nowhere.invalid", env=env)
        relay.wait_line(r"sandbox: (writes are limited|this kernel has no Landlock)")

    def test_the_schedules_of_aws_fit_the_task(self):
        task = json.loads(text("aws", "task-definition.json"))
        (box,) = task["containerDefinitions"]
        self.assertEqual(box["command"][0], "wandb-daily")
        self.assertEqual([s["name"] for s in box["secrets"]], ["WANDB_API_KEY"])
        self.assertEqual([m["sourceVolume"] for m in box["mountPoints"]], [v["name"] for v in task["volumes"]])
        for name, cron in (("schedule.json", "cron(15 0 * * ? *)"), ("schedule-check.json", "cron(0 9 * * ? *)")):
            s = json.loads(text("aws", name))
            self.assertEqual((s["ScheduleExpression"], s["ScheduleExpressionTimezone"]), (cron, "Asia/Tokyo"))
            self.assertTrue(s["Target"]["EcsParameters"]["TaskDefinitionArn"].endswith("/" + task["family"]))
            if "Input" in s["Target"]:
                (over,) = json.loads(s["Target"]["Input"])["containerOverrides"]
                self.assertEqual((over["name"], over["command"][:3]), (box["name"], ["muster", "wandb", "check"]))

    def test_the_roles_of_aws_are_made_with_what_the_task_needs(self):
        task, schedule = (json.loads(text("aws", name)) for name in ("task-definition.json", "schedule.json"))
        with open(os.path.join(lib.TOP, "docs", "migrating", "gpu-dashboard.md"), encoding="utf-8") as f:
            page = f.read()
        made = re.findall(r"aws iam create-role --role-name (\S+)[\s\\]+--assume-role-policy-document file://packaging/aws/(\S+)", page)
        execution, starter = task["executionRoleArn"], schedule["Target"]["RoleArn"]
        self.assertEqual([name for name, _ in made], [execution.rsplit("/", 1)[1], starter.rsplit("/", 1)[1]])
        trusted = [json.loads(text("aws", name))["Statement"][0]["Principal"]["Service"] for _, name in made]
        self.assertEqual(trusted, ["ecs-tasks.amazonaws.com", "scheduler.amazonaws.com"])
        may = [(s["Action"], s["Resource"]) for name in ("policy-execution.json", "policy-schedule.json") for s in json.loads(text("aws", name))["Statement"]]
        self.assertIn(("secretsmanager:GetSecretValue", task["containerDefinitions"][0]["secrets"][0]["valueFrom"] + "-??????"), may)
        self.assertIn(("iam:PassRole", execution), may)
        self.assertIn(("ecs:RunTask", schedule["Target"]["EcsParameters"]["TaskDefinitionArn"]), may)
        for name in re.findall(r"file://(packaging/aws/\S+)", page):
            self.assertTrue(os.path.exists(os.path.join(lib.TOP, name)), name)
        net = schedule["Target"]["EcsParameters"]["NetworkConfiguration"]["awsvpcConfiguration"]
        for word in (*net["Subnets"], *net["SecurityGroups"]):
            self.assertIn(word, page)  # what the commands replace

    def test_the_containers_script_pulls_and_pushes(self):
        world = World()
        world.add_project("acme", "llm")
        world.add_project("lender", "gpu-dashboard")
        with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        with open(self.path("key"), "w", encoding="utf-8") as f:
            f.write(KEY)
        os.chmod(self.path("key"), 0o600)
        script, path = os.path.join(PACKAGING, "container", "wandb-daily"), f"{lib.BIN}:{os.environ['PATH']}"
        with Standin(world) as s:
            for k, env in enumerate(({"WANDB_API_KEY": KEY}, {"WANDB_API_KEY_FILE": self.path("key"), "WANDB_DAYS": "3", "WANDB_PUSH": "--partial --week last"})):
                env.update(PATH=path)
                out = self.run_ok(script, "--config", self.path("config.yaml"), "--data", self.path(f"state{k}"), "--base-url", s.url, env=env)
                days = re.search(r"(\S+) to (\S+):", out)
                self.assertEqual(days.group(1) == days.group(2), k == 0, out)
            runs = [r for r in world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags]
            self.assertEqual(len(runs), 2)

    def daily(self):
        """[(whose, command line, where programs are found)] of what is started once a day, with the paths of this test."""
        with open(self.path("wandb.key"), "w", encoding="utf-8") as f:
            f.write(KEY)
        os.chmod(self.path("wandb.key"), 0o600)
        unit = text("systemd", "muster-wandb.service").replace("\\\n", "")
        cron = next(line for line in text("cron", "muster-wandb").splitlines() if "wandb pull" in line)
        usual = f"{lib.BIN}:{os.environ['PATH']}"
        for whose, line, path in (("container", f"{os.path.join(PACKAGING, 'container', 'wandb-daily')} --config /etc/muster/config.yaml --data /var/lib/muster --key-file /etc/muster/wandb.key", usual),
                                  ("cron", cron.split(" muster ", 1)[1], re.search(r"(?m)^PATH=(.*)", text("cron", "muster-wandb")).group(1).replace("/usr/local/bin", lib.BIN)),
                                  ("systemd", re.search(r"ExecStart=/bin/sh -c '([^']*)'", unit).group(1).replace("$$", "$"), usual)):
            for old, new in (("/usr/local/bin/", ""), ("/etc/muster", self.dir), ("/var/lib/muster", self.path(whose))):
                line = line.replace(old, new)
            yield whose, line, path

    def test_one_unreadable_project_stops_nobodys_tables(self):
        for whose, line, path in self.daily():
            world = World()
            for team in ("acme", "brick"):
                world.add_project(team, "llm")
            world.add_project("lender", "gpu-dashboard")
            with Standin(world) as s:
                with open(self.path("config.yaml"), "w", encoding="utf-8") as f:
                    f.write(CONFIG.replace("dashboard:", f"{BRICK}dashboard:", 1) + f"base_url: {s.url}\n")
                s.fault("status", op="runs", where={"entity": "acme"}, status=403, times=None)
                status, out, err = self.run_any("sh", "-c", line, env={"CREDENTIALS_DIRECTORY": self.dir, "PATH": path})
                with self.subTest(whose=whose, out=out, err=err):
                    self.assertEqual(status, 0 if whose == "cron" else 3)  # cron looks at what is printed
                    self.assertIn("acme/llm", err)
                    self.assertNotIn(KEY, out + err)
                    tags = {t for r in world.find("lender", "gpu-dashboard").byname.values() if "latest" in r.tags for t in r.tags}
                    self.assertEqual(tags, {"latest", "overall", "Acme", "Brick"})


if __name__ == "__main__":
    lib.main()
