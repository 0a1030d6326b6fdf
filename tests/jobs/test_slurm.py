#!/usr/bin/python3
"""Slurm's allocations through a real hub: a stand-in squeue and scontrol that print what the manuals say."""
import os
import signal

import lib
from hubcase import HubCase


class Slurm(HubCase):
    def setUp(self):
        super().setUp()
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        for name in ("squeue", "scontrol"):
            with open(f"{self.bin}/{name}", "w") as f:  # MARK in the text is the mark of this call
                f.write(f'#!/bin/sh\necho "$@" >> {self.bin}/{name}.log\n'
                        'mark=$(echo "$*" | sed "s/.*JobID:|//; s/|.*//")\n'
                        f'sed "s/MARK/$mark/" {self.bin}/{name}.out || exit 1\n')
            os.chmod(f"{self.bin}/{name}", 0o755)
            self.says(name, "")

    def says(self, name, text):
        with open(f"{self.bin}/{name}.new", "w") as f:
            f.write(text)
        os.rename(f"{self.bin}/{name}.new", f"{self.bin}/{name}.out")  # whole at any moment

    def asked(self, name):
        try:
            with open(f"{self.bin}/{name}.log") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def slurm_hub(self, *flags):
        return self.hub(*flags, env={"PATH": self.bin + ":" + os.environ["PATH"]})

    def jobs(self, h):
        return [(j["person"], j["name"], j["devices"], j.get("end") is not None) for j in lib.ask_json(h.url + "/api/v1/jobs?kind=slurm&from=-30d")["jobs"]]

    def look(self, h):
        n = len(self.asked("squeue"))
        h.p.send_signal(signal.SIGHUP)
        lib.wait_until("squeue is asked again", lambda: len(self.asked("squeue")) > n)

    def test_an_allocation_is_a_job_until_squeue_lists_it_no_more(self):
        h = self.slurm_hub()
        n = self.node(h, "dgx1")
        self.node(h, "ws1")
        uuid = self.state(h)["nodes"][0]["devices"][0]["uuid"]
        self.says("squeue", "101|MARK|kim|dgx[1-2]|cpu=2,node=2,gres/gpu=2|N/A|gres:gpu:h200:2|N/A|N/A|1:00:00|2026-11-15T06:00:00|lab|gpu|train\n"
                            "102|MARK|lee|ws1|cpu=1,node=1|N/A|N/A|N/A|N/A|10:00|2026-11-15T06:00:00|lab|cpu|make\n")
        self.says("scontrol", "JobId=101 JobName=train UserId=kim(1004) JobState=RUNNING NodeList=dgx[1-2]    Nodes=dgx[1-2] CPU_IDs=0-7 Mem=0 GRES=gpu:h200:1(IDX:0) MinCPUsNode=1\n")
        self.look(h)
        lib.wait_until("the job is there", lambda: self.jobs(h) == [("kim", "train", [uuid], False)])
        job = lib.ask_json(h.url + "/api/v1/jobs?kind=slurm&from=-30d")["jobs"][0]
        self.assertEqual((job["node"], job["kind"], job["attributes"]["job"]), ("dgx1", "slurm", 101))
        self.assertAlmostEqual(job["start"], n.now() - 3600000, delta=60000)
        self.assertRegex(self.asked("squeue")[-1], r"^-h -t R -O JobID:\|[0-9a-f]{16}\|,UserName:\|,.*,Name:$")
        self.assertNotEqual(*self.asked("squeue")[-2:])  # a mark of its own each time
        self.assertEqual(self.asked("scontrol"), ["-d -o show job"])
        self.look(h)  # nothing new: scontrol is left alone
        self.assertEqual(len(self.jobs(h)), 1)
        os.unlink(f"{self.bin}/squeue.out")  # it fails: nothing changes
        self.look(h)
        h.wait_line(r"squeue")
        self.assertEqual(self.jobs(h), [("kim", "train", [uuid], False)])
        self.says("squeue", "")
        self.look(h)
        lib.wait_until("the job has ended", lambda: self.jobs(h) == [("kim", "train", [uuid], True)])
        self.assertEqual(len(self.asked("scontrol")), 1)

    def test_a_job_left_open_is_ended_after_a_restart(self):
        h = self.slurm_hub()
        self.node(h, "dgx1")
        self.says("squeue", "7|MARK|kim|dgx1|node=1|gpu:1|N/A|N/A|N/A|5:00|2026-11-15T06:00:00|lab|gpu|a\n8|MARK|lee|dgx1|node=1|gpu:1|N/A|N/A|N/A|5:00|2026-11-15T06:00:00|lab|gpu|b\n")
        self.look(h)  # scontrol says nothing, but each has all there is
        lib.wait_until("both are there", lambda: len(self.jobs(h)) == 2)
        h.stop()
        self.says("squeue", "8|MARK|lee|dgx1|node=1|gpu:1|N/A|N/A|N/A|6:00|2026-11-15T06:00:00|lab|gpu|b\n")
        h = self.slurm_hub()
        lib.wait_until("one has ended", lambda: sorted(x[0] for x in self.jobs(h) if x[3]) == ["kim"])
        self.assertEqual(sorted(x[0] for x in self.jobs(h)), ["kim", "lee"])

    def test_programs_without_a_configuration_are_no_warning(self):
        refused = "squeue: fatal: Could not establish a configuration source"
        for name in ("squeue", "scontrol"):
            with open(f"{self.bin}/{name}", "r+") as f:
                script = f.read().replace("mark=", f"[ -e {self.bin}/slurm.conf ] || {{ echo '{refused}' >&2; exit 1; }}\nmark=", 1)
                f.seek(0)
                f.write(script)
        h = self.slurm_hub()
        self.node(h, "dgx1")
        self.look(h)
        self.look(h)  # the first answer was read
        self.assertNotRegex(h.text, "warn +slurm")
        self.says("squeue", "7|MARK|kim|dgx1|node=1|gpu:1|N/A|N/A|N/A|5:00|2026-11-15T06:00:00|lab|gpu|a\n")
        with open(f"{self.bin}/slurm.conf", "w"):
            pass
        self.look(h)
        lib.wait_until("the job is there", lambda: len(self.jobs(h)) == 1)
        os.unlink(f"{self.bin}/slurm.conf")  # it worked before: now this is an error
        self.look(h)
        h.wait_line("warn +slurm +squeue: .*configuration source")
        h = self.start_hub("--slurm", "on", data=self.path("other"), env={"PATH": self.bin + ":" + os.environ["PATH"]})
        h.wait_line("warn +slurm +squeue: .*configuration source")

    def test_it_can_be_switched_off(self):
        h = self.slurm_hub("--slurm", "off")
        self.node(h, "dgx1")
        self.assertEqual(self.asked("squeue"), [])
        status, _, err = self.run_any(lib.MUSTER, "hub", "--slurm-every", "5s")
        self.assertEqual(status, 2)
        self.assertIn("below 30s", err)


if __name__ == "__main__":
    lib.main()
