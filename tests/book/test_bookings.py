#!/usr/bin/python3
"""Bookings over HTTP against a real hub: made, changed, released; who may; two hundred at once; kill -9 in between."""
import csv
import io
import json
import os
import pwd
import threading
import time
import urllib.parse

import lib
from bookcase import HOUR, IMG, ROBERT, BookCase, now


class Bookings(BookCase):
    def test_a_booking_from_first_to_last(self):
        self.open()
        kim, lee, admin = (self.token("member", "--person", "kim"), self.token("member", "--person", "lee"), self.token("admin"))
        n = self.node("dgx1", gpus=2)
        row = self.booked(kim, gpus="dgx1:0,1", **{"for": "2d 4h"}, comment="grüße")
        self.assertEqual((row["person"], row["by"], row["node"], row["node_id"], row["devices"], row["gpus"], row["models"], row["comment"], row["state"], row["mine"], row["where"]),
                         ("kim", "kim", "dgx1", n.key, n.all, [0, 1], ["NVIDIA Test"] * 2, "grüße", "active", True, "dgx1:0,1"))
        self.assertEqual(row["until"] - row["from"], 52 * HOUR)
        status, no = self.book(lee, devices=[n.all[1]], **{"for": "1h"})
        self.assertEqual((status, no["conflicts"][0]["id"], no["conflicts"][0]["mine"]), (409, row["id"], False))
        self.assertRegex(no["error"], r"^dgx1:1 is booked by kim until \d{4}-\d\d-\d\d \d\d:\d\d \w+$")
        # what begins when it ends does not overlap
        later = self.booked(lee, devices=[n.all[1]], **{"from": row["until"]}, until=row["until"] + HOUR)
        self.assertEqual(later["state"], "planned")
        path = f"/api/v1/bookings/{row['id']}"
        self.assertEqual(self.ask("PATCH", path, lee, {"comment": "mine"})[0], 403)
        self.assertEqual(self.ask("DELETE", path, lee)[0], 403)
        status, no = self.ask("PATCH", path, kim, {"extend": "30m"})
        self.assertEqual((status, no["conflicts"][0]["id"]), (409, later["id"]))
        self.assertIn("booked by lee from ", no["error"])
        status, row = self.ask("PATCH", path, kim, {"until": row["until"] - HOUR, "comment": "less", "devices": [n.all[1]]})
        self.assertEqual((status, row["gpus"], row["comment"], row["changes"]), (200, [1], "less", 1))
        self.assertEqual(self.ask("PATCH", path, kim, {"from": row["from"] + HOUR})[0], 400)  # it has begun
        self.assertEqual(self.ask("PATCH", path, admin, {"extend": "30m"})[1]["until"], row["until"] + HOUR // 2)
        status, row = self.ask("DELETE", path, kim)
        self.assertEqual((status, row["state"]), (200, "released"))
        self.assertEqual(self.ask("DELETE", path, kim)[0], 409)
        self.assertEqual(self.ask("PATCH", path, kim, {"extend": "1h"})[0], 409)
        self.assertEqual([r["id"] for r in self.rows()], [later["id"]])
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{later['id']}", lee)[1]["state"], "released")
        self.assertEqual(self.rows(), [])
        self.assertEqual([r["id"] for r in self.rows("all")], [row["id"], later["id"]])
        self.assertEqual([r["id"] for r in self.rows(f"from={row['from']}&to={row['from'] + 1}")], [row["id"]])
        self.assertEqual([r["id"] for r in self.rows("all&person=lee")], [later["id"]])
        lib.wait_until("the events", lambda: len(self.events()) == 6)
        self.assertEqual([e[:2] for e in self.events()], [("released", later["id"]), ("released", row["id"]), ("rebooked", row["id"]), ("rebooked", row["id"]),
                                                         ("booked", later["id"]), ("booked", row["id"])])
        self.assertIn("for kim", self.events()[2][2])  # the admin's change says whose it is

    def test_what_is_not_a_booking_is_refused_with_a_sentence(self):
        self.open("--bookings.auth", "open")
        self.node("dgx1")
        for body, say in (({}, "which GPUs"), ({"gpus": "dgx1:0"}, "the end is missing"), ({"gpus": "dgx1:0", "for": "2 cows"}, "not a length of time"),
                          ({"gpus": "dgx1:7", "for": "1h"}, "has no GPU 7"), ({"gpus": "nowhere:0", "for": "1h"}, "no node is called 'nowhere'"),
                          ({"gpus": "dgx1:0", "for": "1h", "until": "tomorrow"}, "in one way"), ({"gpus": "dgx1:0", "until": 5}, "in the past"),
                          ({"gpus": "dgx1:0", "for": "20000d"}, "ten years"), ({"gpus": "dgx1:0", "for": "1h", "count": 2}, "in one way"),
                          ({"gpus": "dgx1:0", "for": "1h", "bananas": 2}, "not understood"), ({"count": 9, "model": "test", "for": "1h"}, "1 of 1 GPU like test is not booked then, 9 requested"),
                          ({"count": 1, "model": "B300", "for": "1h"}, "there is no GPU like B300"), ({"gpus": "dgx1:0", "for": "1h", "comment": "x" * 500}, "at most 400"),
                          ({"gpus": "dgx1:0", "for": "1h", "comment": "a\u2066b"}, "comment must be text of at most 400 bytes without control characters and bidirectional marks"),
                          ({"gpus": "dgx1:0", "for": "1h", "comment": "a\u0085b"}, "comment must be text"), ({"gpus": "dgx1:0", "for": "1h", "person": "a\u202eb"}, "bidirectional marks"),
                          ({"gpus": "dgx1:0", "for": "1h", "person": "a\nb"}, "person must be"), ({"gpus": "dgx1:0", "for": "1h", "person": None}, "for whom")):
            status, no = self.book(**{"person": "kim", **body})
            self.assertIn(status, (400, 404, 409), body)
            self.assertIn(say, no["detail"], body)
        self.assertEqual(self.ask("GET", "/api/v1/bookings/99")[0], 404)
        self.assertEqual(self.ask("DELETE", "/api/v1/bookings/-1")[0], 404)
        self.assertEqual(self.rows("all"), [])

    def test_any_of_a_model_takes_what_is_free_on_one_node(self):
        self.open("--bookings.auth", "open")
        self.node("a1", busy="tom")
        self.node("b1")
        self.node("b2")
        self.assertEqual(self.booked(person="kim", count=1, model="nvidia test", **{"for": "1h"})["where"], "b1:0")
        self.assertEqual(self.booked(person="kim", count=1, node="b*", **{"for": "1h"})["where"], "b2:0")
        status, no = self.book(person="kim", count=1, **{"for": "1h"})
        self.assertEqual((status, no["detail"]), (409, "0 of 3 GPUs are free now and not booked then; 1 more is not booked, but in use or not reporting"))
        # what they use themselves is theirs to book; what comes later is anybody's
        self.assertEqual(self.booked(person="tom", count=1, **{"for": "1h"})["use"], "own")
        self.assertEqual(self.booked(person="kim", count=2, **{"from": now() + 5 * HOUR, "for": "1h"})["where"], "a1:0 b1:0")

    def test_a_booking_beside_the_real_use(self):
        self.open("--bookings.auth", "open")
        self.node("a1", busy="tom")
        self.node("b1")
        self.assertEqual((lambda r: (r["use"], r["others"]))(self.booked(person="kim", gpus="a1:0", **{"for": "1h"})), ("others", ["tom"]))
        self.assertEqual((lambda r: (r["use"], r["others"]))(self.booked(person="kim", gpus="b1:0", **{"for": "1h"})), ("unused", []))

    def test_of_two_gpus_with_somebody_on_one_only_that_one_is_said_to_be_used(self):
        self.open("--bookings.auth", "open")
        self.node("a1", busy="tom")
        self.node("b1")
        row = self.booked(person="kim", gpus="a1:0 b1:0", **{"for": "1h"})
        self.assertEqual((row["use"], row["others"]), ("others", ["tom"]))
        self.assertEqual([(p["node"], p["use"], p["others"]) for p in row["places"]], [("a1", "others", ["tom"]), ("b1", "unused", [])])
        later = self.booked(person="kim", gpus="a1:0", **{"from": now() + 5 * HOUR, "for": "1h"})
        self.assertEqual([(p["use"], p["others"]) for p in later["places"]], [(None, [])])
        self.assertIn("by tom on a1:0 ", self.run_ok(lib.MUSTER, "book", "--list", "--hub", self.hub.url) + " ")
        said = lib.wait_until("the alert", lambda: [r["text"] for r in lib.ask_json(self.hub.url + "/api/v1/alerts?state=pending")["rows"] if r["rule"] == "booking-taken"])
        self.assertEqual(said, ["tom is on a1:0, which kim has booked"])

    def device(self, query=""):
        return lib.ask_json(self.hub.url + "/api/v1/state?" + query)["nodes"][0]["devices"][0]

    def test_a_booked_gpu_is_held_and_says_by_whom(self):
        self.open("--bookings.auth", "open")
        self.node("a1")
        self.assertEqual(self.device()["state"], "free")
        row = self.booked(person=IMG, gpus="a1:0", **{"for": "2h"}, comment="hi")
        then = self.booked(person=ROBERT, gpus="a1:0", **{"from": row["until"] + HOUR, "for": "2h"})
        d = self.device()
        self.assertEqual((d["state"], d["booking"]), ("held", {"id": row["id"], "person": IMG, "from": row["from"], "until": row["until"], "comment": "hi"}))
        self.assertEqual(d["next"], {"id": then["id"], "person": ROBERT, "from": then["from"], "until": then["until"]})
        self.assertRegex(d["reason"], rf"^booked by {IMG} until \d{{4}}-\d\d-\d\d")
        self.assertEqual(self.device("filter=booked")["booking"]["id"], row["id"])
        self.assertEqual(lib.ask_json(self.hub.url + "/api/v1/state?filter=free")["nodes"], [])
        table = self.run_ok(lib.MUSTER, "ls", "--hub", self.hub.url)
        self.assertIn(f"({IMG})", table)
        self.assertIn("none of 1 free", table)
        # after a kill -9 the hub knows it before the node speaks again
        self.hub.kill9()
        self.open("--bookings.auth", "open")
        self.assertEqual(self.device()["booking"]["person"], IMG)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{row['id']}?person=" + urllib.parse.quote(IMG))[0], 200)
        d = self.device()
        self.assertNotIn("booking", d)
        self.assertEqual(d["next"]["id"], then["id"])

    def test_who_may(self):
        self.open("--proxy.header", "X-Remote-User", "--proxy.from", "127.0.0.1", "--proxy.admins", "root")
        self.node("a1")
        self.node("b1")
        one = {"gpus": "a1:0", "for": "1h"}
        kim, agent = self.token("member", "--person", "kim"), self.token("agent")
        # token: only those
        self.assertEqual(self.book(**one)[0], 401)
        self.assertEqual(self.ask("POST", "/api/v1/bookings", None, one, X_Remote_User="lee", Origin=self.hub.url)[0], 401)
        self.assertEqual(self.book(agent, **one)[0], 403)
        self.assertEqual(self.book(kim, person="lee", **one)[0], 403)
        mine = self.booked(kim, **one)
        self.assertEqual(self.book(self.token("admin"), gpus="b1:0", **{"for": "1h"})[0], 400)  # for whom?
        row = self.booked(self.token("admin"), gpus="b1:0", **{"for": "1h"}, person="lee")
        self.assertEqual((row["person"], row["by"][:6]), ("lee", "token "))
        self.assertEqual(self.hub.stop(), 0)
        # proxy: whom it names, with an Origin
        self.open("--proxy.header", "X-Remote-User", "--proxy.from", "127.0.0.1", "--proxy.admins", "root", "--bookings.auth", "proxy")
        later = {"gpus": "a1:0", "from": now() + 24 * HOUR, "for": "1h"}
        self.assertEqual(self.ask("POST", "/api/v1/bookings", None, later)[0], 401)
        self.assertEqual(self.ask("POST", "/api/v1/bookings", None, later, X_Remote_User="zoe")[0], 403)
        self.assertEqual(self.ask("POST", "/api/v1/bookings", None, later, X_Remote_User="zoe", Origin="http://evil.example")[0], 403)
        status, row = self.ask("POST", "/api/v1/bookings", None, later, X_Remote_User="zoe", Origin=self.hub.url)
        self.assertEqual((status, row["person"]), (201, "zoe"))
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{mine['id']}", None, None, X_Remote_User="zoe", Origin=self.hub.url)[0], 403)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{mine['id']}", None, None, X_Remote_User="root", Origin=self.hub.url)[0], 200)
        self.assertEqual(self.hub.stop(), 0)
        # open: a name is typed; it owns what it booked. Another site's page still may not
        self.open("--bookings.auth", "open")
        self.assertEqual(self.ask("POST", "/api/v1/bookings", None, {**one, "person": "mia"}, Origin="http://evil.example")[0], 403)
        row = self.booked(person="mia", **one)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{row['id']}")[0], 403)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{row['id']}?person=kim")[0], 403)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{row['id']}?person=mia")[0], 200)

    def test_two_hundred_at_once_for_one_gpu(self):
        self.open("--bookings.auth", "open")
        self.node("a1")
        answers, gate = [], threading.Barrier(200)

        def one(i):
            gate.wait()
            answers.append((i, *self.book(person=f"p{i}", gpus="a1:0", **{"for": "1h"})))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(200)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        won = [(i, row) for i, status, row in answers if status == 201]
        lost = [row for _, status, row in answers if status == 409]
        self.assertEqual((len(won), len(lost)), (1, 199))
        for row in lost:
            self.assertRegex(row["error"], rf"^a1:0 is booked by p{won[0][0]} until ")
        self.assertEqual([r["person"] for r in self.rows()], [f"p{won[0][0]}"])

    def test_kill_9_loses_no_booking_that_was_answered(self):
        self.open("--bookings.auth", "open")
        self.node("a1", gpus=8)
        kept, start = {}, now() + HOUR

        def many(worker):
            for i in range(200):
                try:
                    status, row = self.book(person=f"w{worker}", gpus=f"a1:{worker}", **{"from": start + i * HOUR, "for": "30m"})
                except (OSError, ValueError, lib.http.client.HTTPException):
                    return
                if status == 201:
                    kept[row["id"]] = (row["person"], row["from"], row["until"])

        threads = [threading.Thread(target=many, args=(w,)) for w in range(8)]
        for t in threads:
            t.start()
        lib.wait_until("some bookings", lambda: len(kept) >= 40)
        self.hub.kill9()
        for t in threads:
            t.join()
        self.open("--bookings.auth", "open")
        found = {r["id"]: (r["person"], r["from"], r["until"]) for r in self.rows()}
        self.assertEqual({k: found.get(k) for k in kept}, kept)
        self.assertLessEqual(len(found) - len(kept), 8)  # at most those that were under way
        fresh = self.booked(person="w0", gpus="a1:0", **{"from": start + 5000 * HOUR, "for": "30m"})
        self.assertGreater(fresh["id"], max(found))

    def test_a_backup_has_the_bookings(self):
        self.open("--bookings.auth", "open")
        self.node("a1")
        row = self.booked(person=ROBERT, gpus="a1:0", **{"for": "5h"}, comment="kept")
        self.run_ok(lib.MUSTER, "backup", self.path("file"), "--data", self.path("data"))
        self.ask("DELETE", f"/api/v1/bookings/{row['id']}?person=" + urllib.parse.quote(ROBERT))
        self.assertEqual(self.hub.stop(), 0)
        self.run_ok(lib.MUSTER, "restore", self.path("file"), "--data", self.path("to"))
        self.hub = self.start_hub("--bookings.auth", "open", data=self.path("to"))
        got = self.rows()
        self.assertEqual([(r["id"], r["person"], r["comment"], r["from"], r["until"], r["devices"]) for r in got],
                         [(row["id"], ROBERT, "kept", row["from"], row["until"], row["devices"])])

    def test_names_that_would_be_code(self):
        self.open("--bookings.auth", "open")
        self.node("a1", gpus=2)
        one = self.booked(person=ROBERT, gpus="a1:0", **{"for": "1h"}, comment="=1+1")
        two = self.booked(person=IMG, gpus="a1:1", **{"for": "1h"}, comment="a,b;c\\d\"e\u3000")
        self.assertEqual([(r["person"], r["comment"]) for r in self.rows()], [(ROBERT, "=1+1"), (IMG, "a,b;c\\d\"e\u3000")])
        status, table = self.ask("GET", "/api/v1/bookings?format=csv")
        self.assertEqual([(r["person"], r["comment"]) for r in table], [(ROBERT, "'=1+1"), (IMG, "a,b;c\\d\"e\u3000")])
        status, no = self.book(person="kim", gpus="a1:0,1", **{"for": "1h"})
        self.assertIn(f"a1:0 is booked by {ROBERT} until", no["error"])
        who = urllib.parse.quote(ROBERT)
        self.assertEqual([r["mine"] for r in self.rows("me=" + who)], [True, False])
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{two['id']}?person={who}")[0], 403)
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{one['id']}?person={who}")[0], 200)
        self.assertEqual(len(self.rows("all&person=" + who)), 1)

    def test_a_calendar_to_subscribe_to(self):
        self.open("--bookings.auth", "open")
        self.node("a1", gpus=2)
        one = self.booked(person=ROBERT, gpus="a1:0,1", **{"for": "1h"}, comment="line; one, two \\ ä" + "x" * 100)
        two = self.booked(person=IMG, gpus="a1:0", **{"from": one["until"], "for": "1h"})
        self.ask("DELETE", f"/api/v1/bookings/{two['id']}?person=" + urllib.parse.quote(IMG))
        status, head, raw = lib.ask(self.hub.url + "/api/v1/bookings.ics")
        self.assertEqual((status, head["content-type"]), (200, "text/calendar; charset=utf-8"))
        self.assertTrue(raw.endswith(b"END:VCALENDAR\r\n") and b"\n" not in raw.replace(b"\r\n", b""))
        self.assertLessEqual(max(len(line) for line in raw.split(b"\r\n")), 75)
        events = raw.decode().replace("\r\n ", "").split("BEGIN:VEVENT\r\n")[1:]
        self.assertEqual(len(events), 2)
        self.assertIn("SUMMARY:Robert')\\; DROP TABLE: a1:0\\,1\r\n", events[0])
        self.assertIn("DESCRIPTION:line\\; one\\, two \\\\ äx", events[0])
        self.assertIn(time.strftime("DTSTART:%Y%m%dT%H%M%SZ\r\n", time.gmtime(one["from"] // 1000)), events[0])
        self.assertIn("STATUS:CANCELLED", events[1])
        self.assertIn("SEQUENCE:1", events[1])

    def cli(self, *args, **kw):
        return self.run_any(lib.MUSTER, "book", "--hub", self.hub.url, *args, **kw)

    def test_the_command_line(self):
        self.open("--bookings.auth", "open")
        self.node("a1", gpus=2)
        code, out, err = self.cli("a1:0,1", "--for", "2d", "--comment", "paper", "--person", IMG)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, rf"^booked 1: a1:0,1 for {IMG} until \d{{4}}-\d\d-\d\d \d\d:\d\d\n$")
        code, out, err = self.cli("a1:1", "--for", "2h", "--person", ROBERT)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"a1:1 is booked by {IMG} until", err)
        code, out, err = self.cli("a1:1", "--from", "2030-01-02 10:00", "--until", "2030-01-02T12:00:00Z", "--person", ROBERT, env={"TZ": "Europe/Berlin"})
        self.assertEqual((code, err), (0, ""))
        self.assertIn("from 2030-01-02 10:00 until 2030-01-02 13:00", out)
        self.assertEqual([(r["from"], r["until"]) for r in self.rows("person=" + urllib.parse.quote(ROBERT))], [(1893574800000, 1893585600000)])
        code, out, _ = self.cli("--list")
        self.assertEqual(code, 0)
        self.assertIn(ROBERT, out)
        self.assertRegex(out, rf"1  {IMG} +a1:0,1 +active .* paper")
        self.assertEqual([r["person"] for r in json.loads(self.cli("--list", "--json")[1])["rows"]], [IMG, ROBERT])
        self.assertEqual([r["person"] for r in csv.DictReader(io.StringIO(self.cli("--list", "--csv")[1]))], [IMG, ROBERT])
        self.assertEqual(self.cli("--extend", "1", "2h")[0], 1)  # not ours
        code, out, err = self.cli("--extend", "1", "2h", "--person", IMG)
        self.assertEqual((code, err, out[:11]), (0, "", "extended 1:"))
        code, out, err = self.cli("--change", "2", "a1:0", "--comment", "later", "--person", ROBERT)
        self.assertEqual((code, err, out[:15]), (0, "", "changed 2: a1:0"))
        self.assertEqual(self.cli("--release", "1", "--person", IMG)[:2], (0, f"released 1: a1:0,1 for {IMG}\n"))
        self.assertEqual(self.cli("--release", "2", "--person", ROBERT)[0], 0)
        self.assertEqual(self.cli("--list")[0], 1)
        self.assertEqual(self.cli("--list", "--all")[0], 0)
        for args, want in ((("a1:0",), 2), ((), 2), (("a1:0", "--for", "2 cows"), 2), (("--extend", "1"), 2), (("--release", "x"), 2), (("--list", "--release", "1"), 2),
                           (("--count", "2", "--model", "B300", "--for", "1h"), 1), (("--release", "99"), 1), (("nowhere:0", "--for", "1h"), 1)):
            self.assertEqual(self.cli(*args)[0], want, args)
        self.assertEqual(self.run_any(lib.MUSTER, "book", "--hub", "http://127.0.0.1:1", "--list")[0], 3)
        # with a token the person is its own; the hub's own user needs none and books for their login; an admin names anybody
        self.assertEqual(self.hub.stop(), 0)
        self.open()
        code, out, _ = self.cli("a1:0", "--for", "1h", "--token", self.token("member", "--person", "kim"))
        self.assertIn("for kim until", out)
        code, out, _ = self.cli("a1:1", "--for", "1h")
        self.assertIn(f"for {pwd.getpwuid(os.getuid()).pw_name} until", out)
        self.assertEqual(self.cli("--release", "4")[0], 0)
        code, out, _ = self.cli("a1:1", "--for", "1h", "--token", self.token("admin"), "--person", "lee")
        self.assertIn("for lee until", out)


if __name__ == "__main__":
    lib.main()
