#!/usr/bin/python3
"""Times that people read, where the reader's zone is not the hub's: in the reader's zone, or with the name of the zone."""
import datetime
import json
import time

import lib
import sender

UTC, TOKYO = {"TZ": "UTC"}, {"TZ": "Asia/Tokyo"}


class ReaderZone(lib.Case):
    def setUp(self):
        super().setUp()
        self.agent, self.admin = self.token("agent"), self.token("admin")
        self.hub = self.start_hub("--runs-after", "0", env=UTC)
        self.node = sender.Node("dgx1")
        self.began = (int(time.time()) // 60 - 30) * 60000
        self.post(self.node.facts(), self.node.procs((41, "kim", "python", "")),
                  *(self.node.batch(at_ms=self.began + 5000 * i, more={31: 9000, 36: 9900, 54: 4000}) for i in range(120)))

    def post(self, *frames, **hello):
        auth = {"Authorization": "Bearer " + self.agent, "Content-Type": "application/octet-stream"}
        status, _, body = lib.ask(self.hub.url + "/api/v1/batches", method="POST", body=self.node.stream(*frames, **hello), headers=auth)
        self.assertEqual(status, 200, body)

    def tokyo(self, *argv):
        return self.run_ok(lib.MUSTER, *argv, env=TOKYO)

    @staticmethod
    def at(ms, hours, form="%Y-%m-%d %H:%M"):
        return time.strftime(form, time.gmtime(ms / 1000 + hours * 3600))

    def test_a_run_without_data(self):
        body = json.dumps({"name": "train", "kind": "custom", "node": "dgx1", "devices": [self.node.uuid], "start": self.began, "person": "kim"})
        status, _, answer = lib.ask(self.hub.url + "/api/v1/jobs", method="POST", body=body.encode(), headers={"Authorization": "Bearer " + self.admin})
        self.assertEqual(status, 201, answer)
        self.post(state=2, why="the driver does not answer")
        lib.wait_until("the driver hangs", lambda: lib.ask_json(self.hub.url + "/api/v1/state?node=dgx1")["nodes"][0]["state"] == "hung")
        first, second = self.tokyo("run", json.loads(answer)["id"], "--hub", self.hub.url).splitlines()[:2]
        self.assertIn(f"no data since {self.at(self.began + 595_000, 0)} UTC: the driver of dgx1 is not responding", first)
        self.assertIn(self.at(self.began, 9), second)

    def test_the_table_of_history(self):
        ask = ["history", "dgx1:0", "util", "--hub", self.hub.url, "--from", self.began - 600_000, "--to", self.began + 600_000]
        status, out, err = self.run_any(lib.MUSTER, *ask, "--step", "1m", env=TOKYO)
        self.assertEqual((status, out.splitlines()[1][:18]), (0, self.at(self.began, 9) + "  "), err)
        self.assertIn("no samples before " + self.at(self.began, 9) + "\n", err)
        self.assertTrue(self.tokyo(*ask, "--step", "5s").splitlines()[1].startswith(self.at(self.began, 9, "%Y-%m-%d %H:%M:%S ")))
        self.assertIn(self.at(self.began, 0, "%Y-%m-%dT%H:%M:%S.000Z"), self.tokyo(*ask, "--step", "1m", "--csv"))

    def test_the_list_of_tokens(self):
        made = json.loads(self.tokyo("token", "list", "--json", "--data", self.path("data")))[0]["created"]
        self.assertRegex(made, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ$")
        out = self.tokyo("token", "list", "--data", self.path("data"))
        self.assertIn(self.at(datetime.datetime.fromisoformat(made.replace("Z", "+00:00")).timestamp() * 1000, 9), out)
        self.assertNotIn("Z ", out)


if __name__ == "__main__":
    lib.main()
