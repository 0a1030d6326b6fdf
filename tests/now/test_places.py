#!/usr/bin/python3
"""NODE:N, as every command prints it, names a GPU wherever a UUID does: the page's address, the API."""
import json

import bookcase
import lib

ASKED = ("/api/v1/processes?", "/api/v1/processes?from=-1h&", "/api/v1/jobs?", "/api/v1/bookings?", "/api/v1/bookings.ics?", "/api/v1/usage?by=device&last=1d&")


class Places(bookcase.BookCase):
    def setUp(self):
        super().setUp()
        self.open()
        self.n = self.node("dgx1", gpus=2, busy="kim")
        self.uuid = self.n.all[1]

    def page(self, path, **headers):
        status, head, _ = lib.ask(self.hub.url + path, headers=headers)
        return status, head.get("location")

    def test_the_api_takes_a_place_for_a_uuid(self):
        kim = self.token("member", "--person", "kim")
        self.booked(kim, devices=["dgx1:1"], **{"for": "1h"})
        status, job = self.ask("POST", "/api/v1/jobs", kim, {"name": "train", "devices": ["dgx1:1"]})
        self.assertEqual((status, job["devices"]), (201, [self.uuid]))
        for path in ASKED:
            with self.subTest(path):
                status, _, by_place = lib.ask(f"{self.hub.url}{path}device=dgx1:1")
                self.assertEqual((status, self.still(by_place)), (200, self.still(lib.ask(f"{self.hub.url}{path}device={self.uuid}")[2])))
                if "usage" not in path:  # what was just said is not counted yet
                    self.assertNotEqual(self.still(by_place), self.still(lib.ask(f"{self.hub.url}{path}device=dgx1:0")[2]))

    @staticmethod
    def still(answer):
        """The response without the times of the query."""
        try:
            got = json.loads(answer)
        except ValueError:
            return [line for line in answer.decode().splitlines() if not line.startswith("DTSTAMP")]
        return {k: v for k, v in got.items() if k in ("spans", "jobs", "rows", "bookings")} if isinstance(got, dict) else got

    def test_a_place_that_is_none_is_said(self):
        for path in ASKED:
            for place, words in (("dgx1:9", "dgx1 has no GPU 9; it has 2"), ("nobody:0", "no node is called 'nobody'")):
                status, answer = self.ask("GET", f"{path}device={place}")
                self.assertEqual(status, 404, path)
                self.assertIn(words, answer["detail"])

    def test_the_address_of_a_gpu_is_its_uuid(self):
        for path, want in ((f"/gpu/{self.uuid}", (200, None)), ("/gpu/dgx1:1", (302, f"/gpu/{self.uuid}")), ("/gpu/dgx1:0", (302, f"/gpu/{self.n.all[0]}")),
                           ("/gpu/dgx1:1?range=1w&m=util,power", (302, f"/gpu/{self.uuid}?range=1w&m=util,power")), (f"/gpu/{self.n.key}:1", (302, f"/gpu/{self.uuid}")),
                           ("/gpu/dgx1:9", (200, None)), ("/gpu/nobody:0", (200, None)), ("/gpu/dgx1", (200, None))):
            self.assertEqual(self.page(path), want, path)

    def test_who_may_not_read_is_not_told_a_uuid(self):
        self.hub.stop()
        self.open("--read", "token")
        self.assertEqual(self.page("/gpu/dgx1:1"), (200, None))
        reader = self.token("reader")
        self.assertEqual(self.page("/gpu/dgx1:1", Authorization="Bearer " + reader), (302, f"/gpu/{self.uuid}"))


if __name__ == "__main__":
    lib.main()
