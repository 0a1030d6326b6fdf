#!/usr/bin/python3
"""tools/check-commits: which messages it refuses, and which commits it takes for new."""
import os
import shutil
import subprocess
import unittest

import lib

GOOD = [
    "hub: add a route",
    "docs/store: correctly describe the WAL",
    "hub: apply the setting to readers",
    "alert: fire on the first failure",
    "tests: test that a hub refuses a reader",
    'Revert "hub: what is told"',
    "page: " + "show " + "x" * 61,
]
BAD = [
    ("add a route", "no 'area: ' at the start"),
    ("hub: what is told is kept", "no imperative verb after the area: 'what is'"),
    ("hub: adds a route", "no imperative verb after the area: 'adds a'"),
    ("hub: work is shared", "no imperative verb after the area: 'work is'"),
    ("hub: process that nobody labelled", "no imperative verb after the area: 'process that'"),
    ("hub, page: add a route", "more than one area: split the commit or name the wider one"),
    ("hub: add a route.", "the subject ends with punctuation"),
    ("page: " + "show " + "x" * 62, "the subject has 73 characters (at most 72)"),
]


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Commits(lib.Case):
    def setUp(self):
        super().setUp()
        self.top = self.new_repository("top")

    def new_repository(self, name):
        os.makedirs(self.path(f"{name}/tools"))
        shutil.copy(os.path.join(lib.TOP, "tools/check-commits"), self.path(f"{name}/tools/check-commits"))
        self.git(self.path(name), "init", "-q", "-b", "main")
        return self.path(name)

    def git(self, top, *argv):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *argv], cwd=top, check=True, capture_output=True)

    def commit(self, message, top=None):
        self.git(top or self.top, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)

    def check(self, *argv, top=None):
        r = subprocess.run([os.path.join(top or self.top, "tools/check-commits"), *argv], capture_output=True, text=True, check=False)
        self.assertNotIn("Traceback", r.stderr)
        return r.returncode, r.stdout.splitlines()

    def test_subjects(self):
        self.commit("hub: add the first")
        for subject, wrong in [(s, None) for s in GOOD] + BAD:
            self.commit(subject)
            with self.subTest(subject=subject):
                status, out = self.check("HEAD~1..HEAD")
                self.assertEqual((status, [line.strip() for line in out[1:-1]]), (1, [wrong]) if wrong else (0, []))
        self.assertEqual(self.check("HEAD")[1][-1], f"commits: {len(GOOD) + len(BAD) + 1} checked, {len(BAD)} refused")

    def test_a_large_change_of_src_needs_a_reason(self):
        self.commit("hub: add the first")
        cases = [
            ("src/a.c", 20, "", 0),
            ("src/b.c", 21, "", 1),
            ("src/c.c", 21, "\n\nIt was slow.", 0),
            ("src/d.c", 21, "\n\nSigned-off-by: x <x@example.com>", 1),
            ("docs/e.md", 500, "", 0),
        ]
        for path, lines, body, status in cases:
            os.makedirs(os.path.join(self.top, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(self.top, path), "w", encoding="utf-8") as f:
                f.write("x\n" * lines)
            self.git(self.top, "add", path)
            self.commit("hub: add a file" + body)
            with self.subTest(path=path):
                self.assertEqual(self.check("HEAD~1..HEAD")[0], status)

    def test_without_a_range_it_checks_what_is_not_on_main(self):
        self.commit("what was told before")
        self.assertEqual(self.check(), (0, ["commits: 0 checked, 0 refused"]))
        self.git(self.top, "checkout", "-q", "-b", "work")
        self.commit("hub: add a route")
        self.assertEqual(self.check(), (0, ["commits: 1 checked, 0 refused"]))
        self.commit("hub: what is told")
        self.assertEqual(self.check()[0], 1)

    def test_in_a_clone_it_checks_what_is_not_on_the_main_branch_there(self):
        self.commit("what was told before")
        self.git(self.dir, "clone", "-q", self.top, "clone")
        clone = self.path("clone")
        os.mkdir(os.path.join(clone, "tools"))
        shutil.copy(os.path.join(self.top, "tools/check-commits"), os.path.join(clone, "tools/check-commits"))
        self.assertEqual(self.check(top=clone), (0, ["commits: 0 checked, 0 refused"]))
        self.commit("hub: what is told", clone)
        self.assertEqual(self.check(top=clone)[0], 1)

    def test_where_it_cannot_tell_it_says_why_and_passes(self):
        self.assertEqual(self.check(), (0, ["commits not checked: this is not a git checkout"]))
        self.git(self.top, "checkout", "-q", "-b", "work")
        self.commit("hub: what is told")
        self.assertEqual(self.check(), (0, ["commits not checked: there is no origin/HEAD or origin/main or origin/master or main"]))
        self.git(self.top, "checkout", "-q", "--orphan", "main")
        self.commit("hub: what is told, too")
        self.git(self.top, "checkout", "-q", "work")
        self.assertEqual(self.check(), (0, ["commits not checked: HEAD and main have no common commit here (a shallow clone?)"]))

    def test_a_range_that_git_does_not_know(self):
        self.commit("hub: add a route")
        self.assertEqual(self.check("nowhere..HEAD"), (2, []))


if __name__ == "__main__":
    lib.main()
