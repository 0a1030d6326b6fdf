"""What tests of a hub over real sockets share: a hub, nodes that send to it, and a reader of its stream."""
import http.client
import json
import urllib.parse

import lib
from sender import Node, answer


class Stream:
    """A reader of server-sent events."""

    def __init__(self, url, headers=None):
        u = urllib.parse.urlsplit(url)
        self.conn = http.client.HTTPConnection(u.hostname, u.port, timeout=lib.LIMIT_S)
        self.conn.request("GET", u.path + ("?" + u.query if u.query else ""), headers=headers or {})
        self.r = self.conn.getresponse()
        self.status = self.r.status

    def event(self):
        """The next (kind, data) that tells of nodes."""
        kind, data = None, []
        while True:
            line = self.r.fp.readline()
            if not line:
                return None, None
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data.append(line[6:])
            elif line == "" and kind == "clock":
                kind, data = None, []
            elif line == "" and kind:
                return kind, json.loads("\n".join(data))

    def close(self):
        self.r.close()
        self.conn.close()


def snapshot(url):
    """What a page is fed with first."""
    s = Stream(url + "/api/v1/stream")
    try:
        return json.dumps(s.event()[1])
    finally:
        s.close()


class HubCase(lib.Case):
    def hub(self, *flags, **kw):
        h = self.start_hub("--commit", "10ms", *flags, **kw)
        h.enroll = self.token("enroll")
        return h

    def post(self, h, body, token=None, **headers):
        return lib.ask(h.url + "/api/v1/batches", method="POST", body=body, headers={"Authorization": "Bearer " + (token or h.enroll), **headers})

    def node(self, h, name="n1", **kw):
        """A node that has sent its first sample, with a token of its own."""
        n = Node(name, **kw)
        status, _, body = self.post(h, n.first())
        self.assertEqual(status, 200, body)
        n.token = answer(body)["token"]
        return n

    def state(self, h, query=""):
        return lib.ask_json(h.url + "/api/v1/state" + query)

    def until_shown(self, h, what, check):
        """For who has asked before: a state that was drawn a moment ago is given out again, on a slow machine for up to a second."""
        lib.wait_until(what, lambda: check(self.state(h)["nodes"]))
