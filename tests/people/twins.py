#!/usr/bin/python3
"""Usage: twins.py URL TOKEN: a machine that stopped, the same set up anew, and one that never sends a sample."""
import os
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kit"))
import sender  # pylint: disable=wrong-import-position


def send(body, token):
    ask = urllib.request.Request(sys.argv[1] + "/api/v1/batches", body, {"Authorization": "Bearer " + token, "Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(ask) as r:
        return sender.answer(r.read())


def main():
    enroll = sys.argv[2]
    old = sender.Node("dgx7")
    token = send(old.first(), enroll)["token"]
    send(old.stream(old.batch(events=[(old.now(), 8, 0, 0, "stopped")])), token)
    new = sender.Node("dgx7", uuid=old.uuid)
    send(new.stream(new.facts(), new.batch(at_ms=new.now() + 5)), enroll)
    ghost = sender.Node("ghost")
    send(ghost.stream(), enroll)


main()
