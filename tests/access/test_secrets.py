#!/usr/bin/python3
"""Secrets stay where they belong: not in the process list, not on screens or in logs, not with programs that do not need them."""
import contextlib
import os
import signal
import socket
import subprocess

import lib

MUSTER, AGENT = lib.MUSTER, lib.AGENT
TOKEN = "mst_0123456789abcdef_not-for-everybody"


class CommandLines(lib.Case):
    """A server that takes a connection and never answers: whoever has connected has had the time to hide its token."""

    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(lib.LIMIT_S)
        self.addCleanup(self.listener.close)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def hang_up(self):
        """What the one that is gone has still tried is not the next one's."""
        self.listener.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.listener.accept()[0].close()
        self.listener.settimeout(lib.LIMIT_S)

    def words(self, p):
        with open(f"/proc/{p.pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")

    def test_a_token_given_as_a_flag_shows_in_no_process_list(self):
        cases = [[MUSTER, *words, "--hub", self.url, "--token", TOKEN] for words in (("ls",), ("jobs",), ("alerts",), ("node", "list"), ("people",), ("say", "free"), ("usage",), ("book", "--list"))]
        cases += [[MUSTER, "simulate", "--hub", self.url, "--token=" + TOKEN, "--nodes", "1"],
                  [MUSTER, "agent", "--hub", self.url, "--state-dir", self.path("a1"), "--token", TOKEN],
                  [AGENT, "--hub", self.url, "--state-dir", self.path("a2"), "--token=" + TOKEN],
                  [MUSTER, "relay", "--hub", self.url, "--token", TOKEN, "--nodes", "nowhere.invalid", "--ssh-program", "false"],
                  [MUSTER, "history", "n:0", "util", "--hub", self.url.replace("://", "://kim:" + TOKEN + "@")]]
        env = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")} | {"HOME": self.dir}
        for argv in cases:
            with self.subTest(argv[0].rsplit("/", 1)[-1] + " " + argv[1]):
                p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    heard = b""
                    conn, _ = self.listener.accept()
                    with conn:
                        conn.settimeout(lib.LIMIT_S)
                        while b"\r\n\r\n" not in heard and (more := conn.recv(65536)):
                            heard += more
                        seen = self.words(p)
                    self.assertIn(b"uthorization: B", heard)
                    if "://kim" not in argv[-1]:
                        self.assertIn(TOKEN.encode(), heard)  # it was hidden, not lost
                    self.assertNotIn(TOKEN.encode(), b"\0".join(seen))
                    self.assertIn(b"*" * 8, b"\0".join(seen))
                finally:
                    p.send_signal(signal.SIGKILL)
                    p.wait()
                    self.hang_up()

    def test_the_hub_hides_its_own(self):
        hub = self.start_hub("--vesta-token", TOKEN)
        self.assertNotIn(TOKEN.encode(), b"\0".join(self.words(hub.p)))


class Addresses(lib.Case):
    def test_config_show_and_errors_have_addresses_without_their_credentials(self):
        config = self.path("muster.yaml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("sources:\n  - consul:https://kim:hunter2@consul:8501/v1/health/service/gpu\n  - http_sd:https://sd/x?token=hunter2&dc=eu\n"
                    "wandb: {base_url: 'https://hunter2@wandb.local'}\n"
                    "channels:\n  ops: {type: slack, url: 'https://hooks.slack.com/services/T0/B0/hunter2'}\n")
        shown = self.run_ok(MUSTER, "config", "show", "--config", config)
        self.assertNotIn("hunter2", shown)
        self.assertIn("consul:https://***@consul:8501/v1/health/service/gpu", shown)
        self.assertIn("token=***&dc=eu", shown)
        self.assertIn('# base_url: "https://***@wandb.local"', shown)
        self.run_ok(MUSTER, "config", "check", "-", stdin=shown.encode())
        self.run_ok(MUSTER, "config", "check", config)
        port = lib.free_port()
        for words in (("ls",), ("jobs",), ("doctor",), ("wait", "--gpus", "1", "--timeout", "1s")):
            _, out, err = self.run_any(MUSTER, *words, "--hub", f"http://kim:hunter2@127.0.0.1:{port}")
            self.assertNotIn("hunter2", out + err, words)
        self.assertIn(f"http://***@127.0.0.1:{port}", self.run_any(MUSTER, "ls", "--hub", f"http://kim:hunter2@127.0.0.1:{port}")[2])
        agent = self.start(AGENT, "--hub", f"http://127.0.0.1:{port}/?token=hunter2", "--state-dir", self.path("s"), "--log-level", "debug")
        agent.wait_line(str(port))
        agent.stop()
        self.assertNotIn("hunter2", agent.text)
        self.assertIn("token=***", agent.text)


if __name__ == "__main__":
    lib.main()
