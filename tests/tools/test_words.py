#!/usr/bin/python3
"""tools/check-words: which phrases it finds in which kinds of text, and its limits."""
import os
import re
import shutil
import subprocess
import unittest

import lib

# file, text, the line of each place that is found with its kind and entry
FOUND = [
    ("src/x/a.c", "/* The hub is\n * told of it. */\n", [(2, "comment", "told-of")]),
    ("src/x/a.c", "int x; // whoever\n", [(1, "comment", "whoever")]),
    ("src/x/a.c", 'f("one line\\n"\n  "is told when");\n', [(2, "text", "told")]),
    ("src/x/a.h", "int hub_ask(int x);\nstruct node_was {\n};\n", [(1, "name", "function"), (2, "name", "struct")]),
    ("src/x/look.c", "int x;\n", [(1, "name", "file")]),
    ("src/x/a.def", "/* so many of them */\n", [(1, "comment", "so-long")]),
    ("web/x/view.js", 'const a = "This is no longer in force";\n', [(1, "web", "in-force")]),
    ("web/a.html", "<p>\nnobody is told</p>\n", [(2, "web", "told")]),
    ("tools/a.py", '"""Reads anew."""\nx = "it is not told why"  # seldom\n', [(1, "comment", "anew"), (2, "comment", "seldom"), (2, "text", "told")]),
    ("run", "#!/bin/sh\nx=1\n# It goes on\n# now and then.\n", [(3, "comment", "goes-on"), (4, "comment", "now-and-then")]),
    ("tool", "#!/bin/sh\n# anew\n", [(2, "comment", "anew")]),
    ("docs/a.md", "Text.\n\n- An entry\n  is read anew.\n", [(4, "doc", "anew")]),
    ("CHANGES.md", "- A fifth less of a processor\n- a fifth less\n", [(1, "changes", "a-ninth-less"), (2, "changes", "a-ninth-less")]),
    ("packaging/a.1", ".SH NAME\nunless told otherwise\n", [(2, "doc", "unless-told")]),
    ("tests/x/test_a.c", "/* It is asked for. */\n", [(1, "comment", "asked-for")]),
]
NOT_FOUND = [
    ("src/x/a.c", "/* The hub notifies the user once; it cannot tell X from Y. Wait for a moment. */\n"),
    ("src/x/a.c", "int told = anew;\n"),  # the code itself
    ("src/x/a.c", "/* anew */ /* words: ok */\n"),
    ("src/x/a.c", 'f("anew");\nf("SELECT x FROM y WHERE it is told");\n'),  # no sentence; SQL
    ("src/x/a.c", "static int hub_ask(int x)\n{\n}\n"),
    ("src/x/a.h", "int password_ask_mine_lookup;\nint record_lookup(void);\n/* int hub_ask(int x); */\n"),
    ("web/x/view.js", 'const a = "the legend beside the chart";\n'),
    ("web/words.ja.js", "// anew\n"),
    ("docs/a.md", "Run `it is told`.\n\n```\nis told anew\n```\n"),
    ("tests/x/test_a.c", 'f("it is told when it is anew");\n'),
    ("tests/golden/a.md", "It is told anew.\n"),
    ("data/a.md", "It is told anew.\n"),
    ("src/x/a.txt", "It is told anew.\n"),
]


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Words(lib.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tools"))
        shutil.copy(os.path.join(lib.TOP, "tools/check-words"), self.path("tools/check-words"))
        self.git("init", "-q")

    def git(self, *argv):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *argv], cwd=self.dir, check=True, capture_output=True)

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w", encoding="utf-8") as f:
            f.write(text)

    def read(self, path):
        with open(self.path(path), encoding="utf-8") as f:
            return f.read()

    def words(self, *argv):
        r = subprocess.run([self.path("tools/check-words"), *argv], cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertNotIn("Traceback", r.stderr)
        return r.returncode, r.stdout + r.stderr

    def places(self, path, text):
        self.write(path, text)
        status, out = self.words(path)
        os.unlink(self.path(path))
        rows = [re.match(r"(.*?):(\d+): \[(\w+) ([\w-]+)\] .* -> ", line).groups() for line in out.splitlines()]
        self.assertEqual(status, 1 if rows else 0)
        self.assertTrue(all(row[0] == path for row in rows), rows)
        return sorted((int(line), kind, entry) for _, line, kind, entry in rows)

    def test_finds_phrases_in_each_kind_of_text(self):
        for path, text, expected in FOUND:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.places(path, text), expected)

    def test_leaves_other_text_alone(self):
        for path, text in NOT_FOUND:
            with self.subTest(path=path, text=text):
                self.assertEqual(self.places(path, text), [])

    def test_a_total_may_only_fall(self):
        self.write("docs/a.md", "anew\n\nanew\n\nanew\n")
        self.git("add", ".")
        self.assertEqual(self.words("--lower")[0], 0)
        self.assertRegex(self.read("tools/words.limits"), r"(?m)^doc +3$")
        self.assertRegex(self.read("tools/words.limits"), r"(?m)^comment +0$")
        self.assertEqual(self.words()[0], 0)

        self.write("docs/b.md", "seldom\n")
        self.assertEqual(self.words()[0], 0, "a file that git does not track does not count")
        self.git("add", ".")
        status, out = self.words()
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^doc +4 +3  too many$")
        self.assertEqual(self.words("--lower")[0], 1)
        self.assertRegex(self.read("tools/words.limits"), r"(?m)^doc +3$")

        self.write("docs/a.md", "anew\n")
        self.assertEqual(self.words()[0], 0)
        self.assertEqual(self.words("--lower")[0], 0)
        self.assertRegex(self.read("tools/words.limits"), r"(?m)^doc +2$")

    def test_lowering_keeps_the_comment(self):
        self.write("tools/words.limits", "# why\n" + "".join(f"{kind} 5\n" for kind in ("comment", "text", "web", "doc", "changes", "name")))
        self.assertEqual(self.words("--lower")[0], 0)
        self.assertEqual(self.read("tools/words.limits").splitlines()[:2], ["# why", "comment      0"])

    def test_a_limit_that_is_missing_or_damaged_fails(self):
        self.write("tools/words.limits", "comment 5\n")
        self.assertEqual(self.words()[0], 1)
        self.write("tools/words.limits", "comment many\n")
        status, out = self.words()
        self.assertEqual((status, out), (2, "check-words: tools/words.limits: expected 'KIND TOTAL', not 'comment many'\n"))

    def test_since_a_commit_it_lists_changed_lines_alone(self):
        self.write("docs/a.md", "anew\n\nText.\n")
        self.write("docs/b.md", "anew\n")
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        self.assertEqual(self.words("--since", "HEAD"), (0, ""))
        self.write("docs/a.md", "anew\n\nseldom\n")
        self.assertEqual(self.words("--since", "HEAD"), (1, "docs/a.md:3: [doc seldom] seldom -> rarely\n"))

    def test_counts_of_one_kind(self):
        self.write("docs/a.md", "anew\n\nseldom\n")
        self.write("run", "#!/bin/sh\n# anew\n")
        self.git("add", ".")
        self.assertRegex(self.words("--count", "--kind", "doc")[1], r" 2 places\n$")
        self.assertRegex(self.words("--count")[1], r" 3 places\n$")
        self.assertEqual(self.words("--lower", "--kind", "doc")[0], 2)


if __name__ == "__main__":
    lib.main()
