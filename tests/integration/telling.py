"""A hub that has something to tell: nodes that speak every half second, a config of one's own, and how channels do."""
import threading

import lib
import sender


class Telling(lib.Case):
    """begin() starts the hub, again and again; `quiet` are nodes that say nothing, `user` is on n0's GPU."""
    NAMES = [f"n{i}" for i in range(6)]
    SECRETS = ()

    def set_up(self, config, env=None, **files):
        self.port, self.over, self.texts, self.env = lib.free_port(), threading.Event(), [], env or {}
        for name, text in (("muster.yaml", config), *files.items()):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        self.hub = None
        self.begin()
        self.nodes = {n: (sender.Node(n), self.token("agent")) for n in self.NAMES}
        self.quiet, self.user = set(), None
        self.say()
        thread = threading.Thread(target=self.go_on, daemon=True)
        thread.start()
        self.addCleanup(lambda: (self.over.set(), thread.join()))

    def begin(self):
        if self.hub:
            self.texts.append(self.hub.text)
        self.url = f"http://127.0.0.1:{self.port}"
        self.hub = self.start(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--listen", f"127.0.0.1:{self.port}", "--data", self.path("data"), "--log-level", "debug", env=self.env)
        self.hub.wait_line(r"http://127")

    def say(self):
        for name, (node, token) in list(self.nodes.items()):
            if name in self.quiet:
                continue
            on = self.user_on(name)
            procs = node.procs((100, on, "train", "train")) if on else node.procs()
            raw = node.stream(node.facts(), procs, node.batch(util=5000 if on else 0, mem=8 << 30 if on else 0))
            lib.ask(self.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})

    def user_on(self, name):
        return self.user if name == "n0" else None

    def go_on(self):
        while not self.over.wait(0.5):
            try:
                self.say()
            except OSError:
                pass  # the hub is away

    def channel(self, name):
        rows = lib.ask_json(self.url + "/api/v1/alerts")["channels"]
        return next(r for r in rows if r["name"] == name)

    def no_secrets(self):
        """Neither logs nor answers nor the settings shown hold one."""
        said = [*self.texts, self.hub.text]
        for path in ("/api/v1/alerts", "/api/v1/alerts?all", "/api/v1/alerts/rules"):
            said.append(lib.ask(self.url + path)[2].decode())
        said.append(self.run_ok(lib.MUSTER, "config", "show", "--config", self.path("muster.yaml")))
        for text in said:
            for secret in self.SECRETS:
                self.assertNotIn(secret, text)
        self.assertIn("# channels: (set)", said[-1])
