#!/usr/bin/python3
"""Usage: evil.py URL TOKEN: a node whose every name tries to be a script, as an agent would send it."""
import os
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kit"))
import sender  # pylint: disable=wrong-import-position

EVIL = ("<img src=x onerror=boom()>", "<script>boom()<\u2044script>", "'><svg onload=boom()>", "javascript:boom()", "${boom()}", "{{boom()}}", "</script><script>boom()</script>")


def main():
    url, token = sys.argv[1:]
    for i, name in enumerate(n for n in EVIL if "/" not in n):
        node = sender.Node(name, uuid="GPU-<b>" + str(i))
        users = [(100 + k, user, program, "--" + program) for k, (user, program) in enumerate(zip(EVIL, EVIL[1:] + EVIL[:1]))]
        body = node.stream(node.facts(note=EVIL[0]), node.procs(*users), node.batch())
        ask = urllib.request.Request(url + "/api/v1/batches", body, {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(ask) as r:
            assert r.status == 200, r.status


main()
