#!/usr/bin/python3
"""Who gets in where reading takes a token: nobody for coming from this machine, readers to read, and each session for as long as it is not ended."""
import json
import os

import lib


def bearer(token):
    return {"Authorization": "Bearer " + token}


class Reading(lib.Case):
    def test_a_token_is_asked_for_on_this_machine_too_and_a_reader_writes_nothing(self):
        h = self.start_hub("--read", "token", "--bookings-auth", "open")
        reader, member = self.token("reader", "--note", "prometheus"), self.token("member", "--person", "kim")
        for path in ("/api/v1/state", "/metrics", "/sd/prometheus", "/?term", "/states/", "/api/v1/bookings", "/api/v1/stream"):
            status, _, body = lib.ask(h.url + path)
            self.assertEqual(status, 401, path)
            self.assertIn("--person YOUR-LOGIN", json.loads(body)["detail"])
        for path in ("/healthz", "/readyz", "/install", "/api/v1/openapi.json", "/login"):
            self.assertEqual(lib.ask(h.url + path)[0], 200, path)
        for token in (reader, member):
            for path in ("/api/v1/state", "/metrics", "/sd/prometheus", "/?term"):
                self.assertEqual(lib.ask(h.url + path, headers=bearer(token))[0], 200, path)
        for method, path, body in (("POST", "/api/v1/bookings", {"gpus": "n:0", "for": "1h", "person": "kim"}), ("POST", "/api/v1/waits", {"person": "kim"}), ("POST", "/api/v1/jobs", {"name": "x"}),
                                   ("POST", "/api/v1/silences", {"rule": "*", "for": "1h", "reason": "x"}), ("POST", "/api/v1/tokens", {"role": "reader"}), ("PATCH", "/api/v1/nodes/n", {})):
            status, _, answer = lib.ask(h.url + path, method=method, body=json.dumps(body), headers=bearer(reader))
            self.assertEqual(status, 403, (path, answer))
        self.assertEqual(lib.ask(h.url + "/", method="POST", body="host=n&id=0&name=kim&date=2030-01-01&save=1", headers=bearer(reader))[0], 403)

        # the command line: as the hub's own user, as another login here, as one with a token
        state = self.path("home")
        os.makedirs(state)
        args = (lib.MUSTER, "node", "list", "--hub", h.url)
        status, _, err = self.run_any(*args, env={"XDG_STATE_HOME": state})
        self.assertNotEqual(status, 0)
        self.assertIn("muster token new --role member --person YOUR-LOGIN", err)
        self.run_ok(*args, "--token-file", os.path.join(self.path("data"), "admin.token"))
        self.run_ok(*args, env={"MUSTER_TOKEN": member})
        status, out, _ = self.run_any(lib.MUSTER, "doctor", "--hub", h.url)
        self.assertEqual(status, 1, out)
        self.assertIn("FAIL  token", out)
        self.assertIn("`read: token` means everybody", out)
        out = self.run_any(lib.MUSTER, "doctor", "--hub", h.url, env={"MUSTER_TOKEN": reader})[1]
        self.assertIn("accepted, role reader", out)

    def test_a_reader_is_no_person(self):
        status, _, err = self.run_any(lib.MUSTER, "token", "new", "--role", "reader", "--person", "kim", "--data", self.path("data"))
        self.assertEqual(status, 2)
        self.assertIn("a reader is no person", err)


if __name__ == "__main__":
    lib.main()
