"""What the agent's tests share: an agent with a fake driver and a fake hub."""
import contextlib
import os
import socket

import lib
from fakehub import FakeHub
from lib import wait_until

TOKEN = "mst_secret-token-of-the-tests"
INTERVAL_S = 0.5


def children(pid):
    """Processes whose parent is pid, zombies included."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(name))
    return found


def maps_stub(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
            return "libnvml-stub" in f.read()
    return False


def ask_agent(state_dir, *words):
    """What `muster-agent WORDS` prints, asked for without a process, since tests ask often."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(lib.LIMIT_S)
        s.connect(os.path.join(state_dir, "agent.sock"))
        s.sendall(" ".join(words).encode() + b"\n")
        said = b""
        while chunk := s.recv(65536):
            said += chunk
    verdict, _, answer = said.decode().partition("\n")
    if verdict != "ok":
        raise AssertionError(f"{verdict}: {answer}")
    return answer


def spooled(state_dir):
    """Batches on disk, as the agent says it."""
    for line in ask_agent(state_dir, "status").splitlines():
        if "on disk:" in line:
            return int(line.split("on disk:")[1].split()[0])
    raise AssertionError("no status")


class AgentCase(lib.Case):
    def setUp(self):
        super().setUp()
        self.hub = FakeHub()
        self.addCleanup(self.hub.stop)
        self.driver("gpus 2")

    def driver(self, *lines):
        """What the fake driver is from now on."""
        with open(self.path("stub.new"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(self.path("stub.new"), self.path("stub"))

    def agent(self, *flags, hub=True, env=None, leaks=False, **kw):
        """An agent with a fake driver. leaks: with sanitizers, also look for leaks at its end, which takes seconds each time."""
        e = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + f":detect_leaks={int(leaks)}",
             "MUSTER_STATE_DIR": self.path("state"), "MUSTER_NVML_LIB": lib.STUB, "MUSTER_NVML_STUB": self.path("stub"),
             "MUSTER_TOKEN": TOKEN, "MUSTER_NAME": "testnode", "MUSTER_TICK": "200ms", "MUSTER_INTERVAL": f"{INTERVAL_S}s",
             "MUSTER_COLLECTOR": "nvml", "MUSTER_COLLECT_TIMEOUT": "1s"}
        if hub:
            e["MUSTER_HUB"] = self.hub.url
        e.update(env or {})
        return self.start(lib.AGENT, *flags, env={k: v for k, v in e.items() if v is not None}, **kw)

    def ask(self, *words):
        return ask_agent(self.path("state"), *words)

    def wait_stored(self, n, hub=None, limit=lib.LIMIT_S):
        hub = hub or self.hub
        wait_until(f"{n} batches", lambda: len(hub.keys()) >= n, limit)

    def wait_collect(self, word):
        wait_until(f"collect {word}", lambda: self.hub.last() and self.hub.last().hello.collect == word)

    def spooled(self):
        return spooled(self.path("state"))

    def assert_whole(self, run, hub=None):
        """P1, P2: every batch of a run from 1 on is there, once; one that waited may come after a newer one."""
        numbers = []

        def whole():
            numbers[:] = sorted((hub or self.hub).numbers(run))
            return numbers == list(range(1, len(numbers) + 1))
        try:
            wait_until("no batch is missing", whole)
        except AssertionError as late:
            raise AssertionError(f"{late}; there are {numbers}") from None
