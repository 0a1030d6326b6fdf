#!/usr/bin/python3
"""GPU Monitor's reservations: comments.json kept in step with the bookings, both ways, and its form."""
import json
import os
import time
import urllib.parse

import lib
from bookcase import HOUR, ROBERT, BookCase, now

MINUTE = 60 * 1000


def minutes(ms):
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(ms // 1000))


class Mirror(BookCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("old"))
        self.file = self.path("old/comments.json")

    def hub_with(self, *flags):
        return self.open("--bookings.auth", "open", "--bookings.mirror", self.file, *flags)

    def write(self, what):
        """As PHP does: in place, without a lock."""
        text = what if isinstance(what, str) else json.dumps(what)
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(text)

    def read(self):
        with open(self.file, encoding="utf-8") as f:
            return json.load(f)

    def cell(self, host, index):
        try:
            of = self.read().get(host, [])
        except (OSError, ValueError):
            return None
        entry = (of[index] if index < len(of) else None) if isinstance(of, list) else of.get(str(index))
        return tuple((entry or {}).get(k, "") for k in ("name", "date", "comment"))

    def wait_rows(self, want):
        lib.wait_until(f"rows {want}", lambda: sorted((r["person"], r["where"], r["until"] // MINUTE) for r in self.rows()) == sorted(want) or None)

    def wait_cell(self, host, index, want):
        lib.wait_until(f"{host}:{index} {want}", lambda: self.cell(host, index) == want or None)

    def test_the_old_file_is_imported_and_kept_in_step(self):
        until = (now() // MINUTE + 300) * MINUTE
        # lists and objects, comments, spans, hosts we do not know, members of somebody else
        self.write('{ // reservations\n "a1": [ {"name":"kim","date":"%s","comment":"paper // soon"} ],\n'
                   ' "b1": {"0": {"name":"lee","date":"2d 4h","comment":"","color":"red"}},\n'
                   ' "elsewhere": [ {"name":"tom","date":"2030-01-01 00:00","comment":"stays"} ] }\n' % minutes(until))
        os.chmod(self.file, 0o664)
        self.hub_with()
        for name in ("a1", "b1.example.org", "c1"):
            self.node(name)
        lib.wait_until("both", lambda: len(self.rows()) == 2)
        kim, lee = sorted(self.rows(), key=lambda r: r["person"])
        self.assertEqual((kim["person"], kim["where"], kim["until"], kim["comment"], kim["by"], kim["state"]), ("kim", "a1:0", until, "paper // soon", "comments.json", "active"))
        self.assertEqual((lee["person"], lee["where"]), ("lee", "b1.example.org:0"))
        self.assertLess(abs(lee["until"] - now() - 52 * HOUR), 5 * MINUTE)
        # the span is a date now, the rest is as it was
        self.wait_cell("b1", 0, ("lee", minutes(lee["until"]), ""))
        self.assertEqual(self.read()["b1"]["0"]["color"], "red")
        self.assertEqual(self.cell("elsewhere", 0), ("tom", "2030-01-01 00:00", "stays"))
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o664)
        # a booking here is there
        row = self.booked(person=ROBERT, gpus="c1:0", until=until, comment="x")
        self.wait_cell("c1", 0, ("Robert    DROP TABLE", minutes(until), "x"))
        # a change there is here; its name there is not another person
        was = self.read()
        was["c1"][0]["date"] = minutes(until + HOUR)
        self.write(was)
        self.wait_rows([("kim", "a1:0", until // MINUTE), ("lee", "b1.example.org:0", lee["until"] // MINUTE), (ROBERT, "c1:0", (until + HOUR) // MINUTE)])
        self.assertEqual([r["id"] for r in self.rows("person=" + urllib.parse.quote(ROBERT))], [row["id"]])
        # another name there takes over, a reset there releases, a release here empties it
        was["a1"][0].update(name="mia", comment="mine")
        was["b1"]["0"].update(name="", date="", comment="")
        self.write(was)
        self.wait_rows([("mia", "a1:0", until // MINUTE), (ROBERT, "c1:0", (until + HOUR) // MINUTE)])
        self.ask("DELETE", f"/api/v1/bookings/{row['id']}?person=" + urllib.parse.quote(ROBERT))
        self.wait_cell("c1", 0, ("", "", ""))
        # a restart is no change; what was changed while the hub was away is found
        self.assertEqual(self.hub.stop(), 0)
        was = self.read()
        was["c1"][0] = {"name": "zoe", "date": minutes(until), "comment": ""}
        self.write(was)
        self.hub_with()
        self.wait_rows([("mia", "a1:0", until // MINUTE), ("zoe", "c1:0", until // MINUTE)])
        self.assertIn("comments.json released", " ".join(e[2] for e in self.events()))

    def test_when_both_were_changed_the_booking_stays_and_it_is_said(self):
        until = (now() // MINUTE + 300) * MINUTE
        self.write({"a1": [{"name": "kim", "date": minutes(until), "comment": ""}]})
        self.hub_with()
        self.node("a1")
        lib.wait_until("kim", lambda: len(self.rows()) == 1)
        lib.wait_until("it is agreed on", lambda: [n for n in os.listdir(self.path("data")) if n.startswith("mirror-")])
        row = self.rows()[0]
        self.hub.kill9()
        self.write({"a1": [{"name": "lee", "date": minutes(until), "comment": ""}]})
        self.open("--bookings.auth", "open")  # without the mirror: ours changes, too
        self.ask("PATCH", f"/api/v1/bookings/{row['id']}?person=kim", None, {"until": until + HOUR})
        self.assertEqual(self.hub.stop(), 0)
        hub = self.hub_with()
        self.wait_cell("a1", 0, ("kim", minutes(until + HOUR), ""))
        hub.wait_line(r"contains a1:0 as lee's until .*, but it is kim's until .*: both were changed, and the booking stays")
        self.assertEqual([r["person"] for r in self.rows()], ["kim"])

    def test_bad_files_release_nothing(self):
        until = (now() // MINUTE + 300) * MINUTE
        self.write({"a1": [{"name": "kim", "date": minutes(until), "comment": ""}]})
        hub = self.hub_with()
        self.node("a1")
        lib.wait_until("kim", lambda: len(self.rows()) == 1)
        self.write('{"a1": [{"name": "k')  # half a write
        hub.wait_line("comments.json: line 1")
        self.assertEqual(len(self.rows()), 1)
        self.write("")  # emptied, and left so: it is written anew
        self.wait_cell("a1", 0, ("kim", minutes(until), ""))
        os.unlink(self.file)
        self.wait_cell("a1", 0, ("kim", minutes(until), ""))
        self.assertEqual(len(self.rows()), 1)
        # a planned booking of somebody else is in the way: refused, and the file put right
        self.assertEqual(self.ask("DELETE", f"/api/v1/bookings/{self.rows()[0]['id']}?person=kim")[0], 200)
        self.booked(person="ana", gpus="a1:0", **{"from": until - HOUR, "for": "30m"})
        self.wait_cell("a1", 0, ("", "", ""))
        self.write({"a1": [{"name": "lee", "date": minutes(until), "comment": ""}]})
        hub.wait_line("somebody has booked it for a part of that time")
        self.wait_cell("a1", 0, ("", "", ""))

    def form(self, path="/", headers=None, **fields):
        status, head, body = lib.ask(self.hub.url + path, method="POST", body=urllib.parse.urlencode(fields).encode(),
                                     headers={"Content-Type": "application/x-www-form-urlencoded", **(headers or {})})
        return status, head.get("location"), body.decode()

    def test_the_old_form(self):
        self.hub_with()
        self.node("a1.example.org", gpus=2)
        status, where, _ = self.form(host="a1", id="0", name="Robert'); DROP", date="2d 4h", comment="<b>\r\nx", save="Save")
        self.assertEqual((status, where), (303, "/"))
        row = self.rows()[0]
        self.assertEqual((row["person"], row["comment"], row["where"]), ("Robert    DROP", "b   x", "a1.example.org:0"))
        self.assertLess(abs(row["until"] - now() - 52 * HOUR), 5 * MINUTE)
        self.wait_cell("a1", 0, ("Robert    DROP", minutes(row["until"]), "b   x"))
        # the same name changes it; another one takes it over, and any one gives it back, as there
        self.assertEqual(self.form("/index.php", host="a1", id="20", name="Robert'); DROP", date="2030-01-02 03:04", comment="", save="1")[:2], (303, "/index.php"))  # 20 is 0, as there
        self.assertEqual([(r["id"], r["until"]) for r in self.rows()], [(row["id"], 1893553440000)])
        self.assertEqual(self.form(host="a1", id="0", name="lee", date="2030-01-02 03:04", comment="mine", save="1")[:2], (303, "/"))
        self.assertEqual([(r["id"], r["person"], r["comment"]) for r in self.rows()], [(row["id"], "lee", "mine")])
        self.wait_cell("a1", 0, ("lee", "2030-01-02 03:04", "mine"))
        self.assertEqual(self.form(host="a1", id="0", name="ana", date="", comment="", reset="1")[:2], (303, "/"))
        self.assertEqual(self.rows(), [])
        # a date that is none empties, as there
        self.assertEqual(self.form(host="a1", id="1", name="kim", date="1d", comment="", save="1")[0], 303)
        self.assertEqual(self.form(host="a1", id="1", name="kim", date="soon", comment="", save="1")[0], 303)
        self.assertEqual(self.rows(), [])
        self.assertEqual(self.form("/index.php", host="a1", id="1", name="kim", date="", comment="", reset="1")[:2], (303, "/index.php"))  # nothing to empty
        for fields in ({"host": "nowhere", "id": "0"}, {"host": "a1", "id": "7"}, {"host": "a1", "id": "x"}, {"host": "a1"}, {}):
            self.assertEqual(self.form(name="kim", date="1d", comment="", save="1", **fields)[0], 400, fields)
        self.assertEqual(self.form(host="a1", id="0", name="kim", date="1d")[0], 400)  # neither button
        self.assertEqual(self.form(headers={"Origin": "http://evil.example"}, host="a1", id="0", name="kim", date="1d", save="1")[0], 403)
        # several GPUs in one booking: one is given back
        row = self.booked(person="kim", gpus="a1.example.org:0,1", **{"for": "1h"})
        self.assertEqual(self.form(host="a1", id="0", name="kim", date="", comment="", reset="1")[0], 303)
        self.assertEqual([(r["id"], r["gpus"]) for r in self.rows()], [(row["id"], [1])])
        # only where names are typed
        self.assertEqual(self.hub.stop(), 0)
        self.open()
        self.assertEqual(self.form(host="a1", id="0", name="kim", date="1d", comment="", save="1")[0], 403)


if __name__ == "__main__":
    lib.main()
