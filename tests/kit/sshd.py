"""Real sshd's of this machine, on loopback, each with its own key and port, and machines behind them that have a fake nvidia-smi.

A machine is a name in an ssh configuration that leads to one of the sshd's with FAKE set to its folder: what the fake
nvidia-smi says there is written in files of that folder, and may change while it runs.
"""
import getpass
import os
import shutil
import socket
import subprocess
import time
import zlib

import lib

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")



def recorded(state):
    """What an H200 said to --query-gpu in that state (tests/data/h200): field -> (title, value)."""
    with open(os.path.join(lib.TOP, "tests/data/h200", state + ".query-gpu.csv"), encoding="utf-8") as f:
        titles, values = (line.rstrip("\n").split(", ") for line in f)
    out = {t.split(" [")[0]: (t, v) for t, v in zip(titles, values)}
    out |= {"clocks." + k.rsplit(".", 1)[1]: v for k, v in out.items() if k.startswith("clocks.current.")}  # two names for one thing
    out["clocks.mem"] = out["clocks.memory"]
    return out


# As recorded; which GPU of which machine it is, is put in.
FIELDS = recorded("busy") | {
    "index": ("index", "@"), "count": ("count", "#"), "uuid": ("uuid", "[N/A]"), "gpu_uuid": ("uuid", "[N/A]"),
    "gpu_name": ("name", "NVIDIA H200"), "pci.bus_id": ("pci.bus_id", "00000000:@@:00.0"), "serial": ("serial", "[N/A]"),
}

# Loops by itself, as the real one does with -l; builtins and sleep alone, for there are many of it.
FAKE = r"""#!/bin/sh
every= fields= apps= nounits=
while [ $# -gt 0 ]; do
  case $1 in
    --query-gpu=*) fields=${1#*=} ;;
    --query-compute-apps=*) apps=${1#*=} ;;
    --format=*nounits*) nounits=1 ;;
    -L) [ -r "$FAKE/list" ] && while IFS= read -r l; do echo "$l"; done <"$FAKE/list"; exit 0 ;;
    -l) every=$2; shift ;;
  esac
  shift
done
value() { # title in t, value in v
  [ "$1" = clocks_throttle_reasons.active ] && { echo "Field \"$1\" is not a valid field to query."; echo; exit 2; }
  if [ -r "$FAKE/../fields/$1" ]; then { IFS= read -r t; IFS= read -r v; } <"$FAKE/../fields/$1"; else t=$1 v='[N/A]'; fi
  [ -r "$FAKE/$1" ] && IFS= read -r v <"$FAKE/$1"
  ii=$i; [ ${#i} = 1 ] && ii=0$i
  case $v in *@@*) v=${v%%@@*}$ii${v#*@@} ;; *@*) v=$i ;; '#') v=$gpus ;; esac
  [ "$LC_ALL" = C ] || case $v in *.*' W') v=${v%.*},${v##*.} ;; esac # a decimal comma
  [ -n "$nounits" ] && v=${v% %} && v=${v% MiB} && v=${v% W} && v=${v% MHz}
}
line() { # of titles (t) or values (v) of $2
  out= sep=
  old=$IFS; IFS=,
  for f in $2; do IFS=$old; value $f; if [ $1 = t ]; then out=$out$sep$t; else out=$out$sep$v; fi; sep=', '; done
  IFS=$old
}
round=0 i=0
while :; do
  mode=ok; read -r mode <"$FAKE/mode"
  read -r gpus <"$FAKE/gpus"
  round=$((round + 1))
  case $mode in
    garbage) echo 'Segmentation fault ]]> 12, 13'; [ -n "$every" ] || exit 1; sleep $every; continue ;;
    broken) echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."; exit 9 ;;
    hang) while :; do sleep 3600; done ;;
    half) [ -n "$fields" ] && { printf '0, 1'; while :; do sleep 3600; done; } ;;
  esac
  if [ -n "$fields" ]; then
    i=0
    [ $round = 1 ] && line t $fields && echo "$out"
    while [ $i -lt $gpus ]; do line v $fields; echo "$out"; i=$((i + 1)); done
    echo >>"$FAKE/rounds" # whole ones, one line each
  else
    if [ $round = 1 ]; then case $apps in pid,*) echo 'pid, gpu_uuid' ;; *) echo 'gpu_uuid, pid, used_gpu_memory [MiB]' ;; esac; fi
    while read -r uuid pid mem; do
      [ -n "$nounits" ] && mem=${mem% MiB}
      case $apps in pid,*) echo "$pid, $uuid" ;; *) echo "$uuid, $pid, $mem" ;; esac
    done <"$FAKE/apps"
  fi
  [ -n "$every" ] || exit 0
  sleep $every
done
"""


# muster-agent as it may be found there: the real one with a fake driver, or something that bears its name.
AGENT = r"""#!/bin/sh
echo >>"$FAKE/agent-starts"
mode=ok; read -r mode <"$FAKE/agent"
real() { env MUSTER_NVML_STUB="$FAKE/stub" @AGENT@ --collector nvml --nvml-lib @STUB@ --state-dir "$FAKE/state" "$@"; }
case $mode in
  ok) real "$@" ;;
  old) echo "muster-agent: unknown option '--stdout'" >&2; exit 2 ;;
  dies) exit 1 ;;
  newer) printf 'MUST\002'; exec sleep 1000 ;;
  noise) echo 'Segmentation fault (core dumped)'; exec sleep 1000 ;;
  mute) exec sleep 1000 ;;
  half) real "$@" | { dd bs=1 count=1500 2>/dev/null; echo >"$FAKE/agent-half"; exec sleep 1000; } ;;
  spoilt) real "$@" | { dd bs=1 count=1500 2>/dev/null; head -c 4000 /dev/zero; exec sleep 1000; } ;;
esac
"""


class Sshd:
    """One sshd. stop() and start() leave its port and key as they are."""

    def __init__(self, farm, name, tools=("nvidia",)):
        self.farm, self.dir = farm, os.path.join(farm.dir, "sshd-" + name)
        os.makedirs(self.dir)
        self.port, self.p = lib.free_port(), None
        self.new_key()
        with open(os.path.join(self.dir, "config"), "w") as f:
            f.write(f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.dir}/key\nPidFile none\nAuthorizedKeysFile {farm.dir}/authorized_keys\n"
                    f"UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nAcceptEnv FAKE\nPrintMotd no\n"
                    f"MaxStartups 500\nMaxSessions 500\nLogLevel ERROR\nSetEnv PATH={''.join(f'{farm.dir}/{t}:' for t in tools)}/usr/bin:/bin\n")
        self.start()

    def new_key(self):
        for end in ("", ".pub"):
            if os.path.exists(os.path.join(self.dir, "key" + end)):
                os.unlink(os.path.join(self.dir, "key" + end))
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(self.dir, "key")], check=True)

    def start(self):
        self.p = lib.Process([SSHD, "-D", "-e", "-f", os.path.join(self.dir, "config")], start_new_session=True)

        def listens():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0
        lib.wait_until(f"sshd listens: {self.p.text}", listens)

    def pids(self):
        """It and all its descendants."""
        of = {}
        for line in subprocess.run(["ps", "-eo", "pid=,ppid="], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
            pid, parent = map(int, line.split())
            of.setdefault(parent, []).append(pid)
        out, todo = [], [self.p.p.pid]
        while todo:
            out.append(todo.pop())
            todo += of.get(out[-1], [])
        return out

    def kill(self):
        """At once, with every connection it has."""
        for pid in self.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.p.p.wait()
        self.p.end()

    def end(self):
        if self.p.p.poll() is None:
            self.kill()


class Farm:
    """Machines by name. Give `config` and `key` to whoever reads them."""

    def __init__(self, case):
        self.dir = case.path("farm")
        for name in ("nvidia", "amd", "agent", "fields"):
            os.makedirs(os.path.join(self.dir, name))
        self.case, self.key, self.config, self.known = case, os.path.join(self.dir, "id"), os.path.join(self.dir, "config"), os.path.join(self.dir, "known_hosts")
        for name, (title, value) in FIELDS.items():
            self.write(os.path.join("fields", name), f"{title}\n{value}\n")
        self.tool("nvidia/nvidia-smi", FAKE)
        self.tool("amd/rocm-smi", '#!/bin/sh\necho "WARNING: AMD GPU device(s) is/are in a low-power state."\ncat "$FAKE/rocm"\n')
        self.tool("agent/muster-agent", AGENT.replace("@AGENT@", lib.AGENT).replace("@STUB@", lib.STUB))
        for name in ("id", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(self.dir, name)], check=True)
        shutil.copy(self.key + ".pub", os.path.join(self.dir, "authorized_keys"))
        self.write("known_hosts", "")
        self.write("config", "")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def tool(self, name, text):
        self.write(name, text)
        os.chmod(os.path.join(self.dir, name), 0o755)

    def sshd(self, name, tools=("nvidia",), trust=True):
        """tools: what is on the PATH there: nvidia, amd, agent."""
        s = Sshd(self, name, tools)
        self.case.addCleanup(s.end)
        if trust:
            self.trust(s)
        return s

    def trust(self, s):
        with open(os.path.join(s.dir, "key.pub")) as f, open(self.known, "a") as to:
            to.write(f"[127.0.0.1]:{s.port} {' '.join(f.read().split()[:2])}\n")

    def machine(self, name, sshd=None, port=None, gpus=2, mode="ok", apps="", key=None, options="", agent="ok"):
        os.makedirs(os.path.join(self.dir, name), exist_ok=True)
        self.write(name + "/gpus", f"{gpus}\n")
        self.write(name + "/agent", agent + "\n")
        self.write(name + "/stub", f"gpus {gpus}\n")
        for field in ("uuid", "gpu_uuid"):
            self.set(name, field, self.uuid(name, "@@"))
        self.write(name + "/apps", apps)
        self.mode(name, mode)
        with open(self.config, "a") as f:
            f.write(f"Host {name}\n HostName 127.0.0.1\n Port {port or sshd.port}\n User {getpass.getuser()}\n IdentityFile {key or self.key}\n IdentitiesOnly yes\n"
                    f" UserKnownHostsFile {self.known}\n GlobalKnownHostsFile /dev/null\n SetEnv FAKE={self.dir}/{name}\n{options}")

    @staticmethod
    def uuid(name, i):
        return f"GPU-{zlib.crc32(name.encode()):08x}-0000-4000-8000-0000000000{i:02}" if i != "@@" else Farm.uuid(name, 0)[:-2] + i

    def mode(self, name, mode):
        tmp = os.path.join(self.dir, name, "mode.new")
        with open(tmp, "w") as f:
            f.write(mode + "\n")
        os.rename(tmp, os.path.join(self.dir, name, "mode"))

    def set(self, name, field, value):
        self.write(f"{name}/{field}", value + "\n")

    def rounds(self, name):
        """How many whole tables its nvidia-smi has printed."""
        try:
            return os.path.getsize(os.path.join(self.dir, name, "rounds"))
        except FileNotFoundError:
            return 0


def left_over(farm, limit=lib.LIMIT_S):
    """Processes of the far side that nobody reads any more."""
    end = time.monotonic() + limit
    while True:
        out = subprocess.run(["ps", "-eo", "pid=,args="], stdout=subprocess.PIPE, check=True).stdout.decode()
        left = [line for line in out.splitlines() if farm.dir + "/nvidia/nvidia-smi" in line or farm.dir + "/agent/muster-agent" in line or (lib.AGENT in line and farm.dir in line)]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)
