"""A hub, and nodes with a GPU each that speak twice a second, whatever becomes of the hub."""
import http.client
import threading

import lib
import sender


class Speaking(lib.Case):
    """speak() starts it all with the muster.yaml that is there; begin() starts the hub again. `on`: who is on whose GPU; `quiet`: nodes that say nothing;
    `more`: uuids of further GPUs by node; `logs`: what hubs that are gone have said."""
    names, util, options = ("n0", "n1"), 5000, ()  # the nodes; 1/100 %, of a GPU that somebody is on; more words for the hub

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def speak(self, env=None):
        self.port, self.over, self.logs, self.env, self.hub = lib.free_port(), threading.Event(), [], env, None
        self.url = f"http://127.0.0.1:{self.port}"
        self.on, self.quiet, self.more = {}, set(), {}
        self.begin()
        self.nodes = {n: (sender.Node(n), self.token("agent")) for n in self.names}
        self.prepare()
        self.say()
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()
        self.addCleanup(lambda: (self.over.set(), self.thread.join()))

    def prepare(self):
        """Before the nodes are heard of."""

    def begin(self):
        if self.hub:
            self.logs.append(self.hub.text)
        self.hub = self.start(lib.MUSTER, "hub", "--config", self.path("muster.yaml"), "--listen", f"127.0.0.1:{self.port}", "--data", self.path("data"), *self.options, env=self.env)
        self.hub.wait_line(r"http://127")

    def user_on(self, name):
        return self.on.get(name)

    def say(self):
        for name, (node, token) in list(self.nodes.items()):
            if name in self.quiet:
                continue
            user = self.user_on(name)
            procs = node.procs((100, user, "train", "train")) if user else node.procs()
            raw = node.stream(node.facts(more=self.more.get(name, ())), procs, node.batch(util=self.util if user else 0, mem=8 << 30 if user else 0))
            lib.ask(self.url + "/api/v1/batches", method="POST", body=raw, headers={"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})

    def go_on(self):
        while not self.over.wait(0.5):
            try:
                self.say()
            except (OSError, http.client.HTTPException):
                pass  # the hub is away, or ended in the middle of an answer
