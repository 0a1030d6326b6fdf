#!/usr/bin/python3
"""Charts as files: well-formed, the same again, and a clear sentence where cairo or a font is missing."""
import os
import subprocess
import xml.etree.ElementTree

import lib

SHOW = os.path.join(lib.BIN, "tool", "plotshow")
SVG = "{http://www.w3.org/2000/svg}"


class Plots(lib.Case):
    def draw(self, name, **env):
        os.mkdir(self.path(name))
        status, _, err = self.run_any(SHOW, self.path(name), env=dict(os.environ, **env))
        return status, err

    def test_every_kind_of_file_is_well_formed(self):
        self.assertEqual(self.draw("a"), (0, ""))
        names = sorted(os.listdir(self.path("a")))
        self.assertGreater(len(names), 20)
        for name in names:
            with open(self.path("a/" + name), "rb") as f:
                head = f.read(8)
            self.assertTrue(head.startswith({"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-1.", "svg": b"<svg xml", "jpg": b"\xff\xd8\xff\xe0"}[name[-3:]]), name)
        top = xml.etree.ElementTree.parse(self.path("a/bars.svg")).getroot()
        said = [t.text for t in top.iter(SVG + "text")]
        for word in ("GPU time held, by person", "GPU time, h", "kim", "Łukasz Żółć", "assigned", "26 Oct", "2026"):
            self.assertIn(word, said)
        bars = next(g for g in top.iter(SVG + "g") if g.get("class") == "bars")
        self.assertEqual(bars[0].find(SVG + "title").text, "kim, 25 Oct 2026: 52 h")
        for name in names:
            if name.endswith(".svg"):
                xml.etree.ElementTree.parse(self.path("a/" + name))

    def test_the_same_description_gives_the_same_bytes(self):
        self.draw("a")
        self.draw("b")
        self.assertEqual(subprocess.run(["diff", "-r", self.path("a"), self.path("b")], stdout=subprocess.PIPE, check=False).stdout, b"")

    def test_without_a_font_it_says_what_to_install(self):
        conf = self.path("fonts.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("<?xml version='1.0'?><fontconfig></fontconfig>")
        status, err = self.draw("a", FONTCONFIG_FILE=conf)
        self.assertEqual(status, 1)
        self.assertIn("cannot draw: there is no font here; install one (Debian: fonts-dejavu-core)", err)

    def test_without_cairo_it_says_what_to_install(self):
        os.mkdir(self.path("lib"))
        with open(self.path("lib/libcairo.so.2"), "w", encoding="utf-8") as f:
            f.write("not a library")
        status, err = self.draw("a", LD_LIBRARY_PATH=self.path("lib"))
        self.assertEqual(status, 1)
        self.assertRegex(err, r"cannot draw: .*libcairo\.so\.2.*; install it \(Debian and Ubuntu: libcairo2\)")


lib.main()
