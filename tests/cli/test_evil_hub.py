#!/usr/bin/python3
"""What a hub says cannot move the cursor, hide text or turn it round: every command that prints a hub's words, against one whose every text tries."""
import http.server
import json
import glob
import os
import threading
import urllib.error
import urllib.request

import lib
import sender

MUSTER = lib.MUSTER
CONTROL = "\x1b[2J\x07\x9b31m\r"
TURNED = "\u202e\u2066\u200f\u061c"
# What commands compare with words of their own; the rest is for people.
WORDS = {"state", "id", "uuid", "kind", "unit", "severity", "metric", "agg", "collect", "role", "parent", "vendor", "type", "device", "format",
         "agent", "collector", "driver", "cuda", "os", "kernel", "arch", "cpu", "pci", "serial", "address", "runtime", "container", "pod"}


def spoil(v, evil, key=""):
    if isinstance(v, dict):
        return {k: spoil(x, evil, k) for k, x in v.items()}
    if isinstance(v, list):
        return [spoil(x, evil, key) for x in v]
    return v + evil if isinstance(v, str) and v and key not in WORDS else v


class EvilHub:
    """Stands before a real hub and spoils every text of its answers; or, with a status, refuses everything in evil words."""

    def __init__(self, url, evil, status=0, ascii_only=True):
        hub = self
        self.spoilt = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *a):
                pass

            def forward(self):
                n = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(n) if n else None
                if status:
                    self.answer(status, "application/problem+json", json.dumps({"title": evil, "detail": "no" + evil + "\nok    fake"}).encode())
                    return
                ask = urllib.request.Request(url + self.path, body, method=self.command)
                for name in ("Authorization", "Content-Type"):
                    if self.headers.get(name):
                        ask.add_header(name, self.headers[name])
                try:
                    with urllib.request.urlopen(ask) as r:
                        code, kind, said = r.status, r.headers.get("Content-Type") or "", r.read()
                except urllib.error.HTTPError as e:
                    code, kind, said = e.code, e.headers.get("Content-Type") or "", e.read()
                if "json" in kind:
                    said = json.dumps(spoil(json.loads(said), evil), ensure_ascii=ascii_only).encode()
                elif kind.startswith("text/"):
                    said = said.replace(b" ", evil.encode() + b" ") + evil.encode() + b"\xff\xc3\n"
                hub.spoilt += 1
                self.answer(code, kind, said)

            def answer(self, code, kind, said):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = do_PATCH = do_DELETE = forward

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


COMMANDS = [
    ("ls",), ("ls", "-l", "--wide"), ("ls", "--csv"), ("ls", "--json"), ("node", "list"), ("node", "list", "--json"),
    ("jobs",), ("jobs", "--csv"), ("jobs", "--json"), ("people",), ("people", "--json"), ("idle", "--longer", "0s"),
    ("usage", "--last", "2h"), ("usage", "--last", "2h", "--format", "csv"), ("usage", "--last", "2h", "--format", "json"), ("usage", "--last", "2h", "--format", "html"),
    ("alerts",), ("alerts", "--json"), ("alerts", "rules"), ("alerts", "test"), ("alerts", "silences"), ("alerts", "channels"), ("alerts", "send", "pager"),
    ("history", "evil1:0", "util", "--last", "1h"), ("history", "evil1:0", "util", "--last", "1h", "--csv"), ("history", "evil1:0", "util", "--last", "1h", "--json"),
    ("book", "--list"), ("book", "--list", "--csv"), ("book", "--list", "--json"), ("free", "1"), ("free", "1", "--json"), ("wait", "--list"),
    ("wait", "--gpus", "1", "--timeout", "1s", "--for", "0s"),
    ("report", "--period", "daily"), ("reports",), ("reports", "--json"), ("reports", "show", "morning"), ("say", "free"), ("say", "people", "--json"),
    ("plot", "--history", "evil1:0", "util", "-o", "-"), ("doctor",), ("node", "rename", "evil1", "evil1"), ("record", "--", "true"),
]


def bad_letters(text):
    """CSV ends its lines in CR LF, which moves no terminal's cursor anywhere else; a CR alone does."""
    return sorted({hex(ord(c)) for c in text.replace("\r\n", "\n")
                   if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or c in "\u061c\u200e\u200f\u2028\u2029" or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u206f"})


class EvilHubTest(lib.Case):
    def setUp(self):
        super().setUp()
        config = self.path("muster.yaml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("channels:\n  pager:\n    type: command\n    command: [/bin/cat]\nalerts:\n  rules:\n    - {name: held-here, when: 'node:evil1'}\n"
                    "reports:\n  morning: {every: day, channel: pager}\n")
        self.hub = self.start_hub("--config", config)
        self.admin, self.agent = self.token("admin"), self.token("agent")
        node = sender.Node("evil1", uuid="GPU-evil-1")
        stream = node.stream(node.facts(note="a note"), node.procs((100, "kim", "python", "python train.py")), node.batch())
        self.post("/api/v1/batches", stream, "application/octet-stream")
        self.post("/api/v1/jobs", json.dumps({"kind": "record", "name": "train", "person": "kim", "node": "evil1"}).encode())
        self.post("/api/v1/bookings", json.dumps({"devices": ["GPU-evil-1"], "person": "kim", "for": "2h", "comment": "paper"}).encode())
        lib.wait_until("an alert is there to be told of", lambda: "held-here" in [a["rule"] for a in lib.ask_json(self.hub.url + "/api/v1/alerts")["rows"]])

    def post(self, path, body, kind="application/json"):
        token = self.admin if kind == "application/json" else self.agent
        status, _, said = lib.ask(self.hub.url + path, "POST", body, {"Authorization": "Bearer " + token, "Content-Type": kind})
        self.assertLess(status, 300, (path, said))

    def run_all(self, evil):
        """Every command; what each printed, by its words."""
        said = {}
        env = {"MUSTER_HUB": evil.url, "MUSTER_TOKEN": self.admin, "HOME": self.dir, "TERM": "dumb"}
        for words in COMMANDS:
            status, out, err = self.run_any(MUSTER, *words, env=env)
            said[words] = (status, out + err)
            self.assertIn(status, (0, 1, 2, 3), (words, out, err))
            self.assertEqual(bad_letters(out + err), [], (words, out, err))
            if "--json" in words and status in (0, 1) and out:
                json.loads(out)
        return said

    def test_nothing_a_hub_says_is_obeyed_by_a_terminal(self):
        for evil, plain in ((CONTROL + TURNED, True), (TURNED, False)):
            before = EvilHub(self.hub.url, evil, ascii_only=plain)
            self.addCleanup(before.close)
            said = self.run_all(before)
            self.assertGreater(before.spoilt, len(COMMANDS))
            # The commands did print what the hub said: its texts are there, each with a mark for what was taken out.
            for words in (("node", "list"), ("jobs",), ("people",), ("alerts",), ("alerts", "rules"), ("book", "--list"), ("usage", "--last", "2h"), ("say", "free"), ("reports", "show", "morning"),
                          ("jobs", "--csv"), ("alerts", "channels")):
                self.assertIn("\ufffd", said[words][1], (words, said[words]))
            self.assertIn("\\u202e", said[("jobs", "--json")][1])
            if not plain:  # with controls in it, a state is refused as a whole
                self.assertIn("evil1\ufffd", said[("ls",)][1])
            else:
                self.assertIn("control characters", said[("ls",)][1])

    def test_a_refusal_in_evil_words_is_one_clean_line(self):
        before = EvilHub(self.hub.url, CONTROL + TURNED, status=400)
        self.addCleanup(before.close)
        said = self.run_all(before)
        for words in (("ls",), ("jobs",), ("alerts",), ("node", "list"), ("people",), ("usage", "--last", "2h"), ("say", "free"), ("book", "--list")):
            status, text = said[words]
            self.assertNotEqual(status, 0, words)
            self.assertIn("no\ufffd[2J", text, words)
            self.assertEqual(text.count("\n"), 1, (words, text))

    def test_every_command_reads_a_hubs_json_through_the_one_door(self):
        files = [f for folder in ("cli/*.c", "cmd/*.c", "sim/*.c", "tui/*.c", "*/cmd_*.c") for f in glob.glob(os.path.join(lib.TOP, "src", folder))]
        self.assertGreater(len(files), 80)
        readers = set()
        for path in files:
            with open(path, encoding="utf-8") as f:
                readers |= {os.path.basename(path)} if "json_load" in f.read() else set()
        self.assertEqual(readers, {"client.c"}, "client_json cleans what they print")

    def test_curls_table_and_the_hubs_own_json_are_clean(self):
        self.agent = self.token("agent")
        evil = sender.Node("turn\u202eed")
        status, _, said = lib.ask(self.hub.url + "/api/v1/batches", "POST", evil.stream(evil.facts(), evil.batch()), {"Authorization": "Bearer " + self.agent, "Content-Type": "application/octet-stream"})
        self.assertEqual((status, b"the name of a node must be text without control characters and bidirectional marks" in said), (400, True), said)
        self.agent = self.token("agent")
        node = sender.Node("turned", uuid="GPU-turned")
        self.post("/api/v1/batches", node.stream(node.facts(note="a\u2066note"), node.procs((7, "lee\u200f", "py\u202e", "py\u202e x")), node.batch()), "application/octet-stream")
        for path in ("/?term=true", "/?term=true&detail=true", "/gpu_table?term=true", "/?width=120", "/api/v1/state", "/api/v1/people"):
            _, _, body = lib.ask(self.hub.url + path, headers={"User-Agent": "curl/8"})
            self.assertIn(b"turn" if path != "/api/v1/people" else b"lee", body, path)
            self.assertEqual(bad_letters(body.decode()), [], path)


if __name__ == "__main__":
    os.environ.pop("MUSTER_HUB", None)
    lib.main()
