"""Several hubs of one store give the same answers: each answer of every hub, byte by byte."""
import json
import time
import urllib.parse

import lib

OWN = {"at", "age_ms", "now", "version", "waiting"}  # the time of the response, the hub's own stream version, its own clients


def paths(from_ms, to_ms):
    """name: path. The span holds what is compared of the past; nothing may be sent any more."""
    span = f"from={from_ms}&to={to_ms}"
    then = (from_ms + to_ms) // 2
    out = {"history": f"history?node=*&metric=util&{span}&step=1s", "history of bins": f"history?node=*&metric=power&{span}&step=1m&agg=avg",
           "state": "state", "state then": f"state?at={then}", "summary": "summary", "strip": f"strip?{span}", "people": "people?recent=true", "events": f"events?{span}&limit=1000",
           "processes": f"processes?{span}", "jobs": f"jobs?{span}", "bookings": "bookings", "alerts": "alerts?all=true", "waits": "waits", "silences": "silences", "nodes": "nodes",
           "usage": f"usage?{span}"}
    return {name: "/api/v1/" + path for name, path in out.items()}


def without_own(x):
    if isinstance(x, dict):
        return {k: without_own(v) for k, v in x.items() if k not in OWN}
    return [without_own(v) for v in x] if isinstance(x, list) else x


def first_difference(a, b, at=""):
    """Where two answers differ, in words; None: nowhere."""
    if type(a) is not type(b):
        return f"{at}: {json.dumps(a)[:200]} | {json.dumps(b)[:200]}"
    if isinstance(a, dict):
        for k in [*a, *(k for k in b if k not in a)]:
            if (k in a) != (k in b):
                return f"{at}.{k}: {json.dumps(a.get(k, 'none'))[:200]} | {json.dumps(b.get(k, 'none'))[:200]}"
            if a[k] != b[k]:
                return first_difference(a[k], b[k], f"{at}.{k}")
        return None if list(a) == list(b) else f"{at}: the order of its fields"
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{at}: {len(a)} | {len(b)}"
        return next((first_difference(x, y, f"{at}[{i}]") for i, (x, y) in enumerate(zip(a, b)) if x != y), None)
    return None if a == b else f"{at}: {a!r} | {b!r}"


def fetch(url, path, headers):
    status, _, body = lib.ask(url + path, headers=headers, limit=60)
    if status != 200:
        return [status, body.decode()[:300]]
    return without_own(json.loads(body))


def differences(hubs, from_ms, to_ms, token=None, limit=60):
    """{name: what differs} of the answers that stay different for so long; hubs: their URLs."""
    headers = {"Authorization": "Bearer " + token} if token else {}
    out, end = {}, time.monotonic() + limit
    for name, path in paths(from_ms, to_ms).items():
        while True:
            got = [fetch(h, path, headers) for h in hubs]
            found = [f"{hubs[0]} and {h}: {first_difference(got[0], x)}" for h, x in zip(hubs[1:], got[1:]) if x != got[0] or json.dumps(x) != json.dumps(got[0])]
            if isinstance(got[0], list) and got[0] and got[0][0] != 200 and isinstance(got[0][0], int) and not found:
                found = [f"HTTP {got[0]}"]
                break
            if not found or time.monotonic() > end:
                break
            time.sleep(0.5)
        if found:
            out[name] = "; ".join(found)
    return out
