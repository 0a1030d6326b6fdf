"""What is done to a site (faultworld), by kind: how it breaks, what must be said meanwhile, how it is mended.

A kind is a generator: it breaks something and yields who must say so in which words (hubs, pattern), once or not at all; when it goes on it mends what it broke.
Each takes the world and a random.Random."""
import contextlib
import os
import re
import signal
import time

import lib

AWAY = r"PostgreSQL is unreachable|the store cannot write|the standby"
LONG_S = 17  # beyond every lease


def kill_hub(w, rng):
    h = rng.choice(w.hubs)
    h.kill9()
    yield [x for x in w.hubs if x is not h], rf"{h.url} (is away|does not answer)"
    h.start()


def kill_leader(w, rng):
    h = rng.choice(w.leaders() or w.hubs)
    h.kill9()
    yield [x for x in w.hubs if x is not h], rf"no hub leads|{h.url} (is away|does not answer)"
    h.start()


def stop_hub(w, rng):
    """It sleeps for longer than any lease lasts, and goes on as if nothing had been."""
    h = rng.choice(w.hubs if rng.random() < 0.5 else w.leaders() or w.hubs)
    h.signal(signal.SIGSTOP)
    began = time.monotonic()
    try:
        yield [x for x in w.hubs if x is not h], rf"no hub leads|{h.url} (is away|does not answer)"
        time.sleep(max(0, LONG_S - (time.monotonic() - began)))
    finally:
        h.signal(signal.SIGCONT)


def end_hub(w, rng):
    """In order, and again, as for an upgrade."""
    h = rng.choice(w.hubs)
    h.p.stop()
    h.ended()
    yield [], ""
    h.start()


def promote(w, rng):
    """The primary's machine goes; somebody (patroni, say) promotes the standby, and makes another out of what is left."""
    old, new = w.primary, w.standby
    old.kill9()
    time.sleep(rng.uniform(0, 3))
    new.promote()
    new.wait_for_standby(False)
    w.primary, w.standby = new, old
    yield [], ""
    old.follow(new)
    new.wait_for_standby(True)


def promote_late(w, rng):
    """The same, but nobody is quick."""
    old, new = w.primary, w.standby
    old.kill9()
    yield w.hubs, AWAY
    new.promote()
    new.wait_for_standby(False)
    w.primary, w.standby = new, old
    old.follow(new)
    new.wait_for_standby(True)


def restart_server(w, rng):
    """As an upgrade of the package does."""
    w.primary.stop(rng.choice([signal.SIGINT, signal.SIGQUIT]))
    time.sleep(rng.uniform(0, 2))
    w.primary.start()
    yield [], ""


def server_away(w, rng):
    w.primary.stop(signal.SIGQUIT)
    yield w.hubs, AWAY
    w.primary.start()


@contextlib.contextmanager
def stopped(pids):
    """They stand still meanwhile."""
    def tell(how):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
    tell(signal.SIGSTOP)
    try:
        yield
    finally:
        tell(signal.SIGCONT)


def freeze_server(w, rng):
    """Its machine hangs: connections stay, nothing answers."""
    with stopped([w.primary.p.pid, *w.primary.processes()]):
        yield w.hubs, AWAY


def cut_hub_server(w, rng):
    h = rng.choice(w.hubs if rng.random() < 0.6 else w.leaders() or w.hubs)
    w.net.cut(h.name, w.primary.name)
    yield [h], AWAY
    time.sleep(rng.choice([0, 0, 8]))
    w.net.heal()


def reset_hub_server(w, rng):
    """As cut_hub_server, but every packet is answered: the connection is reset."""
    h = rng.choice(w.hubs if rng.random() < 0.6 else w.leaders() or w.hubs)
    w.net.cut(h.name, w.primary.name, "ip protocol tcp reject with tcp reset")
    yield [h], AWAY
    w.net.heal()


def cut_hubs(w, rng):
    a, b = rng.sample(w.hubs, 2)
    w.net.cut(a.name, b.name)
    yield [a, b], r"does not answer|is away"
    w.net.heal()


def cut_servers(w, rng):
    w.net.cut(w.primary.name, w.standby.name)
    yield w.hubs, AWAY
    w.net.heal()


def cut_front(w, rng):
    """Whoever asks and sends does not reach it, but it is well."""
    h = rng.choice(w.hubs)
    w.net.cut(h.name, "front")
    time.sleep(rng.uniform(6, 10))
    yield [], ""
    w.net.heal()


def cut_standby(w, rng):
    """A hub does not reach the server that it does not need now."""
    h = rng.choice(w.hubs)
    w.net.cut(h.name, w.standby.name)
    time.sleep(5)
    yield [], ""
    w.net.heal()


def full_disk(w, rng):
    w.primary.disk.fill()
    try:
        yield w.hubs, AWAY + "|disk is full|store full|No space"
    finally:
        w.primary.disk.empty()
    time.sleep(2)
    if w.primary.p.poll() is not None:  # it could not even recover
        w.primary.start()


def full_folder(w, rng):
    """The disk under a hub's own folder: it goes on, and starts again there."""
    h = rng.choice(w.hubs)
    h.disk.fill()
    try:
        yield [h], "no room in the hub's own folder"
        h.kill9()
        h.start()
    finally:
        h.disk.empty()


def slow_standby(w, rng):
    with stopped(w.standby.processes("walreceiver")):
        yield w.hubs, AWAY


def hub_clock(w, rng):
    h = rng.choice(w.hubs)
    h.clock.set(rng.choice([-1, 1]) * rng.choice([900, 3600, 86400, 400 * 86400]) * 1000)
    yield [h], "clock jumped"
    h.clock.set(0)


def server_clock(w, rng):
    w.primary.clock.set(rng.choice([-1, 1]) * rng.choice([60, 3600, 86400]) * 1000)
    time.sleep(rng.uniform(3, 12))
    yield [], ""
    w.primary.clock.set(0)


def wrong_password(w, rng):
    w.sql("ALTER ROLE muster PASSWORD 'another'")
    w.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'muster%'")
    yield w.hubs, "password"
    w.sql("ALTER ROLE muster PASSWORD 'se:cr@t'")


def other_version(w, rng):
    """A hub of this version is started where one that is two versions newer made the tables."""
    h = rng.choice(w.hubs)
    h.kill9()
    w.sql("UPDATE muster_version SET version = version + 2")
    try:
        h.start(wait=False)
        h.p.p.wait(60)
        h.p.wait_line("made by a newer muster")
        h.ended()
        w.sql("UPDATE muster_version SET version = version - 1")  # but of the next version it makes use
        h.start()
    finally:
        w.sql("UPDATE muster_version SET version = version - 1")
    yield [], ""


#        kind             weight
KINDS = {kill_hub: 4, kill_leader: 4, stop_hub: 3, end_hub: 2, promote: 3, promote_late: 1, restart_server: 4, server_away: 1, freeze_server: 1, cut_hub_server: 3, reset_hub_server: 2, cut_hubs: 2, cut_servers: 1,
         cut_front: 2, cut_standby: 1, full_disk: 1, full_folder: 1, slow_standby: 2, hub_clock: 2, server_clock: 2, wrong_password: 1, other_version: 1}
WORDS_S = 10


class Outcome:
    """lost, doubled: batches; messages: told twice; silent: longest time without an answer, in s; words: in how many s all who must said it, None where nobody must, -1: not said."""

    def __init__(self, kind):
        self.kind, self.lost, self.doubled, self.messages, self.unsaid, self.silent, self.words, self.mended = kind, 0, 0, 0, 0, 0.0, None, 0.0
        self.marks = ()  # numbers of the nodes that somebody was to be told of
        self.said = {}


def wait_words(hubs, pattern, limit):
    """(seconds until all said it, or -1; what each says)"""
    began, said = time.monotonic(), {}
    while True:
        for h in hubs:
            if h.name not in said or not re.search(pattern, said[h.name] or ""):
                said[h.name] = h.notice()
        if all(re.search(pattern, said[h.name] or "") for h in hubs):
            return time.monotonic() - began, said
        if time.monotonic() - began > limit:
            return -1, said
        time.sleep(0.2)


def do(w, kind, rng, asker, limit=WORDS_S + 5):
    """One fault, from a site that is well to one that is well again."""
    out = Outcome(kind.__name__)
    out.marks = w.marks + 1
    asker.take()
    w.mark()
    time.sleep(rng.uniform(0, 0.6))
    fault = kind(w, rng)
    began = time.monotonic()
    hubs, pattern = next(fault)
    if kind is not hub_clock:  # who speaks once, to a hub whose clock is wrong, is shown as long silent
        w.mark()
    if hubs:
        spent = time.monotonic() - began
        took, out.said = wait_words(hubs, pattern, limit)
        out.words = took + spent if took >= 0 else -1
    with contextlib.suppress(StopIteration):
        next(fault)
    w.mark()
    began = time.monotonic()
    try:
        lib.wait_until(f"all is well after {out.kind}", w.settled, 120, 0.3)
    except AssertionError:
        out.said = {h.name: (h.p.alive(), h.metric("muster_hub_leads"), h.metric("muster_hub_hubs"), h.notice()) for h in w.hubs}
        print(f"not well after {out.kind}: {out.said}", flush=True)
        lib.wait_until(f"all is well after {out.kind}", w.settled, 300, 0.3)
    out.mended = time.monotonic() - began
    out.marks = range(out.marks, w.marks + 1)
    out.silent = asker.take()
    return out


def count_messages(w, outcomes):
    """Waits until all were told of; how often twice, and how often not at all, into each outcome."""
    with contextlib.suppress(AssertionError):
        lib.wait_until("", lambda: all(w.told()[0][f"mark{i}"] for o in outcomes for i in o.marks), 60, 0.5)
    times = w.told()[0]
    for o in outcomes:
        o.messages = sum(max(times[f"mark{i}"] - 1, 0) for i in o.marks)
        o.unsaid = sum(not times[f"mark{i}"] for i in o.marks)


def check(w, made=None):
    """Waits until all that was made so far is stored. (keys that are not there, keys that are there twice)"""
    made = set(made or w.made())
    end = time.monotonic() + 60
    while True:
        keys, twice = w.stored()
        lost = made - keys
        if not lost or time.monotonic() > end:
            return lost, twice
        time.sleep(1)
