#!/usr/bin/python3
"""Jobs of a real Slurm (slurmctld and slurmd with fake GPUs, without slurmdbd) through a real hub. Needs root, and Debian's slurmctld, slurmd, slurm-client and munge."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess

import lib
from hubcase import HubCase
from sender import Node

PATH = os.environ["PATH"] + ":/usr/sbin"
CONF = """ClusterName=toy
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={dir}/munge/socket
SlurmctldPort={ctld}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={d} CPUs={cpus} Gres=gpu:h200:4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=1:00:00 State=UP OverSubscribe=FORCE:8
"""


class Cluster:
    """One node n1 with four fake GPUs."""

    def __init__(self, folder):
        self.dir = folder
        for d in ("munge", "state", "spool.n1"):
            os.makedirs(f"{folder}/{d}", mode=0o755)
        with open(os.open(f"{folder}/key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(1024))
        for i in range(4):
            os.mknod(f"{folder}/gpu{i}", 0o600 | 0o020000, os.makedev(1, 3))
        with open(f"{folder}/gres.conf", "w", encoding="utf-8") as f:
            f.write(f"NodeName=n1 Name=gpu Type=h200 File={folder}/gpu[0-3]\n")
        with open(f"{folder}/slurm.conf", "w", encoding="utf-8") as f:
            f.write(CONF.format(dir=folder, host=socket.gethostname().split(".")[0], ctld=lib.free_port(), d=lib.free_port(), cpus=os.cpu_count()))
        self.env = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf", PATH=PATH)
        self.call("munged", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge/socket", f"--pid-file={folder}/munged.pid",
                  f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed")
        self.call("slurmctld", "-c")
        self.call("slurmd", "-N", "n1")
        lib.wait_until("the node is idle", lambda: self.call("sinfo", "-h", "-o", "%T").strip() == "idle")

    def call(self, *argv):
        return subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=lib.LIMIT_S).stdout.decode()

    def job(self, name, *flags):
        out = self.call("sbatch", "-o", "/dev/null", "-J", name, *flags, "--wrap", "sleep 600")
        return int(out.split()[-1])

    def stop(self):
        with contextlib.suppress(subprocess.SubprocessError):
            self.call("scancel", "-u", "root")
            lib.wait_until("no job is left", lambda: not self.call("squeue", "-h").strip())
        for name in ("slurmd.n1.pid", "slurmctld.pid", "munged.pid"):
            with contextlib.suppress(OSError, ValueError), open(f"{self.dir}/{name}", encoding="ascii") as f:
                pid = int(f.read())
                os.kill(pid, signal.SIGTERM)
                lib.wait_until(f"{name} has ended", lambda: not running(pid))


def running(pid):
    """Zombies do not count: nothing may reap what was started in the background."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@lib.long
class RealSlurm(HubCase):
    def setUp(self):
        super().setUp()
        if os.getuid() != 0 or not all(shutil.which(x, path=PATH) for x in ("munged", "slurmctld", "slurmd", "sbatch")):
            self.skipTest("needs root and Debian's slurmctld, slurmd, slurm-client and munge")
        self.cluster = Cluster(self.path("slurm"))
        self.addCleanup(self.cluster.stop)

    def test_every_way_to_request_gpus_is_a_job_and_no_name_claims_one(self):
        c = self.cluster
        h = self.hub(env=c.env)
        n = Node("n1")
        self.assertEqual(self.post(h, n.stream(n.facts(more=[f"{n.uuid}-{i}" for i in (1, 2, 3)]), n.procs(), n.batch()))[0], 200)
        uuids = [d["uuid"] for d in self.state(h)["nodes"][0]["devices"]]
        want = {
            c.job("gres", "--gres=gpu:1"): (0,),
            c.job(" Nodes=n1 GRES=gpu:h200:4(IDX:0-3)", "--gpus=1"): (1,),
            c.job("a\n99|x|root|n1|node=1,gres/gpu=4|N/A|N/A|N/A|N/A|1:00|s|a|p|forged", "--gpus-per-task=1", "-n1"): (2,),
            c.job("na|me \"x\"  ", "--gpus-per-node=h200:1"): (3,),
        }
        c.job("no GPU")
        lib.wait_until("all run", lambda: len(c.call("squeue", "-h", "-t", "R", "-o", "%A").split()) == 5)
        os.kill(h.p.pid, signal.SIGHUP)

        def found():
            jobs = lib.ask_json(h.url + "/api/v1/jobs?kind=slurm&from=-1d")["jobs"]
            return {j["attributes"]["job"]: tuple(sorted(uuids.index(u) for u in j["devices"])) for j in jobs}
        try:
            lib.wait_until("every job has its GPU", lambda: found() == want)
        except AssertionError:
            self.assertEqual(found(), want)


if __name__ == "__main__":
    lib.main()
