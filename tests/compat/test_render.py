#!/usr/bin/python3
"""`muster render`: the page is replaced as a whole or left alone, and what is wrong is said in one line."""
import os

import lib

HEAD = ",load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username\n"
ROW = "0,91,38,0, GeForce GTX 1080 Ti, GPU-fa,host6.domain.tld,\"user5, user5\"\n"


class Render(lib.Case):
    def write(self, text):
        with open(self.path("load_data.csv"), "wb") as f:
            f.write(text.encode())
        os.utime(self.path("load_data.csv"), (1700000000, 1700000000))
        return self.path("load_data.csv")

    def page(self):
        with open(self.path("www/gpu/index.html"), encoding="utf-8") as f:
            return f.read()

    def test_the_page_is_written_whole_or_not_at_all(self):
        csv, www = self.write(HEAD + ROW), self.path("www/gpu")
        status, out, err = self.run_any(lib.MUSTER, "render", "-i", csv, "-o", www)  # the folder is made
        self.assertEqual((status, out, err), (0, "", ""))
        first = self.page()
        self.assertIn("host6.domain.tld", first)
        self.assertIn('<time datetime="2023-11-14T22:13:20.000Z">', first)  # the file's time
        self.assertEqual(os.listdir(www), ["index.html"])
        self.assertEqual(os.stat(www + "/index.html").st_mode & 0o777, 0o644)
        self.write(HEAD + ROW + "1,x,0,1,A,U,h,\n")
        status, out, err = self.run_any(lib.MUSTER, "render", "-i", csv, "-o", www)
        self.assertEqual((status, out), (3, ""))
        self.assertEqual(err, f"muster render: '{csv}': line 3: load: expected a number from 0 to 100, or nothing\n")
        self.assertEqual(self.page(), first)
        self.assertEqual(os.listdir(www), ["index.html"])

    def test_a_host_that_was_not_read_stays(self):
        csv, www = self.write(HEAD + ROW), self.path("www/gpu")

        def render(text, at):
            with open(csv + ".unread", "w") as f:
                f.write(text)
            os.utime(csv + ".unread", (at, at))
            return self.run_any(lib.MUSTER, "render", "-i", csv, "-o", www)
        self.assertEqual(render("host7,ssh: host7 does not answer\n", 1700000000), (0, "", ""))
        self.assertIn('<h2>host7</h2><p class="why">ssh: host7 does not answer</p>', self.page())
        self.assertIn("<b>0 of 1</b> GPUs on 1 host are free. 1 host cannot be read.", self.page())
        status, _, err = render("host7\n", 1700000000)
        self.assertEqual((status, err), (3, f"muster render: '{csv}.unread': line 1: expected one host and why it was not read\n"))
        self.assertEqual(render("host7,down\n", 1699999999), (0, "", ""))  # the old script has written its file since
        self.assertNotIn("host7", self.page())

    def test_a_folder_whose_hosts_were_never_read_has_a_page(self):
        """`muster fetch` writes load_data.csv when it has read a host; until then there is only its list of the others."""
        csv, www = self.path("load_data.csv"), self.path("www/gpu")
        with open(csv + ".unread", "w") as f:
            f.write("host7,ssh: host7 refuses connections\n")
        os.utime(csv + ".unread", (1700000000, 1700000000))
        self.assertEqual(self.run_any(lib.MUSTER, "render", "-i", csv, "-o", www), (0, "", ""))
        self.assertIn('<h2>host7</h2><p class="why">ssh: host7 refuses connections</p>', self.page())
        self.assertIn("<b>0 of 0</b> GPUs on 0 hosts are free. 1 host cannot be read.", self.page())
        self.assertIn('<time datetime="2023-11-14T22:13:20.000Z">', self.page())  # the list's time
        first = self.page()
        with open(csv + ".unread", "w") as f:
            f.write("host7\n")
        status, _, err = self.run_any(lib.MUSTER, "render", "-i", csv, "-o", www)
        self.assertEqual((status, err), (3, f"muster render: '{csv}.unread': line 1: expected one host and why it was not read\n"))
        self.assertEqual(self.page(), first)

    def test_what_is_not_there_is_named(self):
        status, _, err = self.run_any(lib.MUSTER, "render", "-i", self.path("none.csv"), "-o", self.dir)
        self.assertEqual(status, 3)
        self.assertRegex(err, r"^muster render: cannot open '.*none\.csv': No such file or directory\n$")
        status, _, err = self.run_any(lib.MUSTER, "render", "--hub", f"http://127.0.0.1:{lib.free_port()}", "-o", self.path("w"))
        self.assertEqual(status, 3)
        self.assertRegex(err, r"^muster render: .*\n$")
        self.assertFalse(os.path.exists(self.path("w")))
        csv = self.write(HEAD)
        status, _, err = self.run_any(lib.MUSTER, "render", "-i", csv, "-o", csv)
        self.assertEqual(status, 3)
        self.assertIn("a file of that name is in the way", err)

    def test_a_file_that_is_named_goes_before_a_hub_that_is_set(self):
        csv = self.write(HEAD + ROW)
        env = dict(os.environ, MUSTER_HUB="http://127.0.0.1:1")
        status, _, err = self.run_any(lib.MUSTER, "render", "-i", csv, "-o", self.path("www/gpu"), env=env)
        self.assertEqual((status, err), (0, ""))
        status, _, err = self.run_any(lib.MUSTER, "render", "-o", self.path("www/gpu"), env=env)
        self.assertEqual(status, 3)

    def test_a_hub_without_nodes_has_a_page(self):
        hub = self.start_hub()
        status, _, err = self.run_any(lib.MUSTER, "render", "--hub", hub.url, "-o", self.path("www/gpu"), "--title", "Lab & co")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("There are no hosts here yet.", self.page())
        self.assertIn("<h1>Lab &amp; co</h1>", self.page())


lib.main()
