#!/usr/bin/python3
"""The command line as somebody types it: what --help lists, what a slip is answered with, hints that work as they stand."""
import importlib.machinery
import importlib.util
import os
import re

import lib  # noqa: E402
from hubcase import HubCase  # noqa: E402


class Words(lib.Case):
    def test_commands_stand_in_groups(self):
        text = self.run_ok(lib.MUSTER, "--help")
        groups = dict(re.findall(r"^([A-Z][^\n]*):\n((?:  .*\n)+)", text, re.M))
        self.assertIn("  ls ", groups["Current state"])
        self.assertIn("  up ", groups["Start"])
        self.assertGreaterEqual(len(groups), 5)
        self.assertEqual(len(re.findall(r"^  [a-z]+ ", text, re.M)), sum(g.count("\n") for g in groups.values()), "none stands outside")

    def test_help_of_a_command_is_its_own(self):
        for words in (["ls"], ["up"], ["wandb", "pull"]):
            self.assertEqual(self.run_ok(lib.MUSTER, "help", *words), self.run_ok(lib.MUSTER, *words, "--help"))
        self.assertEqual(self.run_ok(lib.MUSTER, "help"), self.run_ok(lib.MUSTER, "--help"))

    def commands(self):
        """Each command as a list of words."""
        yield from ([name] for name in re.findall(r"^  ([a-z]+) +", self.run_ok(lib.MUSTER, "--help").partition("\nHow much")[0], re.M))
        yield from (["wandb", verb] for verb in ("pull", "push", "check", "explain", "export", "import", "download", "overlap"))
        yield from (["vesta", verb] for verb in ("settings", "history"))

    def test_a_summary_begins_with_a_verb(self):
        tool = importlib.machinery.SourceFileLoader("check_commits", os.path.join(lib.TOP, "tools/check-commits"))
        check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_commits", tool))
        tool.exec_module(check)
        for words in self.commands():
            with self.subTest(command=words):
                self.assertIn(self.run_ok(lib.MUSTER, *words, "--help").splitlines()[2].split()[0].strip(","), check.VERBS)

    def test_an_option_names_its_default_once(self):
        seen = 0
        for words in self.commands():
            text = self.run_ok(lib.MUSTER, *words, "--help")
            for option in re.findall(r"^  (?:-.,|   ) (--.*\n(?: {8}.*\n)*)", text, re.M):
                with self.subTest(command=words, option=option):
                    seen += 1
                    one_line = " ".join(option.split())
                    self.assertLessEqual(one_line.count("default"), 1)
                    self.assertNotRegex(one_line, r"default(?!: )|unless told")
        self.assertGreater(seen, 400)

    def test_a_slip_is_asked_about(self):
        for typed, said in (("lss", "did you mean 'ls'?"), ("histroy", "did you mean 'history'?"), ("xylophone", "`muster --help` lists them")):
            for argv in ([typed], ["help", typed]):
                status, _, err = self.run_any(lib.MUSTER, *argv)
                self.assertEqual((status, err), (2, f"muster: unknown command '{typed}'; {said}\n"))

    def test_an_option_that_the_verb_does_not_use_is_an_error(self):
        for command, option, said in (
                ("token list --role admin --uses 3 --expires 1d", "--role", "muster token list"), ("token list -e 1d", "--expires", "muster token list"),
                ("token revoke abcdefgh --json", "--json", "muster token revoke"), ("session end 0123 --person X --json", "--person", "muster session end"),
                ("node rename a b --undo", "--undo", "muster node rename"), ("node list --yes", "--yes", "muster node list"),
                ("alerts --last 7d", "--last", "muster alerts"), ("alerts rules --rule x", "--rule", "muster alerts rules"), ("alerts unsilence 3 --json", "--json", "muster alerts unsilence"),
                ("alerts list --to x", "--to", "muster alerts"), ("reports --channel x", "--channel", "muster reports"), ("reports send daily -o x", "--output", "muster reports send"),
                ("book --list --for 2d", "--for", "muster book --list"), ("book dgx2:0 --for 2d --csv", "--csv", "muster book"), ("book --release 7 --list", "--release", "muster book --list"),
                ("wait --list -n 2", "--gpus", "muster wait --list"), ("wait --leave 3 --uuids", "--uuids", "muster wait --leave"), ("wait --tell --quiet", "--quiet", "muster wait --tell"),
                ("store status postgres://u@h/d --quiet", "--quiet", "muster store status"), ("plot lines x.csv --freq 3", "--freq", "muster plot lines"), ("plot x.csv --freq 3", "--freq", "muster plot")):
            status, out, err = self.run_any(lib.MUSTER, *command.split())
            with self.subTest(command=command):
                self.assertEqual((status, out, err), (2, "", f"muster {command.split()[0]}: {option} is not used by `{said}`\n"))
        status, _, err = self.run_any(lib.MUSTER, "config", "check", "--name", "x")
        self.assertEqual((status, err), (2, "muster config: '--name' is not used by `muster config check`\n"))
        self.assertEqual(self.run_any(lib.MUSTER, "alerts", "test", "--rule", "x")[0], 2)
        env = {"MUSTER_PERSON": "kim", "MUSTER_JSON": "yes", "MUSTER_HUB": "http://127.0.0.1:1"}  # the environment is for all commands
        self.assertEqual(self.run_any(lib.MUSTER, "session", "end", "0123", env=env)[0], 3)

    def test_up_shows_ten_flags_and_all_the_rest(self):
        def flags(text):
            return set(re.findall(r"^  .{2}[ ,] (--[a-z0-9-]+)", text, re.M)) - {"--help"}
        few, every = self.run_ok(lib.MUSTER, "up", "--help"), self.run_ok(lib.MUSTER, "up", "--help", "all")
        self.assertEqual(len(flags(few)), 10)
        self.assertIn("--listen", flags(few))
        self.assertIn("muster up --help all", few)
        self.assertLess(flags(few), flags(every))
        self.assertLessEqual(flags(self.run_ok(lib.MUSTER, "hub", "--help")), flags(every))


class Folder(HubCase):
    """A hub whose data is where nobody would look: it says where, on its own machine."""

    def home(self):
        os.makedirs(self.path("home"), exist_ok=True)
        return {"HOME": self.path("home"), "XDG_STATE_HOME": self.path("home"), "MUSTER_HUB": self.h.url}

    def setUp(self):
        super().setUp()
        self.h = self.hub()

    def test_backup_export_and_token_ask_the_hub(self):
        self.run_ok(lib.MUSTER, "backup", "-q", self.path("all.backup"), env=self.home())
        self.run_ok(lib.MUSTER, "backup", "--check", self.path("all.backup"))
        self.run_ok(lib.MUSTER, "export", "--from", "-1h", "-o", self.path("day.csv"), env=self.home())
        token = self.run_ok(lib.MUSTER, "token", "new", "--role", "admin", env=self.home()).strip()
        self.assertEqual(lib.ask_json(self.h.url + "/api/v1/whoami", headers={"Authorization": "Bearer " + token})["role"], "admin")
        self.assertFalse(os.listdir(self.path("home")), "nothing is left where no hub is")

    def test_an_output_does_not_replace_a_device(self):
        link = self.path("null")
        os.symlink("/dev/null", link)  # a mistake replaces the link, not the machine's device
        for words in (["export", "--from", "-1h", "-o"], ["backup", "-q"]):
            self.run_ok(lib.MUSTER, *words, link, env=self.home())
            self.assertTrue(os.path.islink(link), words)

    def test_who_is_elsewhere_is_not_told(self):
        self.assertEqual(lib.ask_json(self.h.url + "/api/v1/folder")["data"], os.path.realpath(self.path("data")))
        for name, value in (("X-Forwarded-For", "192.0.2.7"), ("Via", "1.1 proxy"), ("Sec-Fetch-Site", "none")):
            self.assertEqual(lib.ask(self.h.url + "/api/v1/folder", headers={name: value})[0], 403, name)

    def test_no_token_for_a_folder_no_hub_has(self):
        for verb in (["new", "--role", "admin"], ["list"], ["revoke", "3f9a1c02"]):
            status, out, err = self.run_any(lib.MUSTER, "token", *verb, "--data", self.path("typo"))
            self.assertEqual((status, out), (3, ""))
            self.assertIn("no data of a hub in", err)
        self.assertFalse(os.path.exists(self.path("typo")))

    def test_no_jobs_names_the_span(self):
        ask = [lib.MUSTER, "jobs", "--hub", self.h.url]
        for flags, said in (([], "no run within the last 1 d"), (["--last", "7d"], "within the last 7 d"), (["--last", "0"], "no run\n"),
                            (["--person", "kim"], "no such run within the last 1 d")):
            status, _, err = self.run_any(*ask, *flags)
            self.assertEqual(status, 1)
            self.assertIn(said, err)

    def test_a_folder_that_others_could_have_made_is_not_believed(self):
        """Whoever has the port can name any folder, and leave a link in it to a file that only we may read."""
        folder = os.path.realpath(self.path("data"))
        os.chmod(folder, 0o777)
        status, _, err = self.run_any(lib.MUSTER, "backup", "-q", self.path("no.backup"), env={**self.home(), "MUSTER_DATA": self.path("nowhere")})
        self.assertEqual(status, 3)
        self.assertIn("name the folder with --data", err)
        self.assertFalse(os.path.exists(self.path("no.backup")))


class OwnUser(lib.Case):
    """Whoever runs a hub writes to it without a token, wherever its data is."""

    def test_silence_as_the_help_has_it(self):
        env = {"HOME": self.path(""), "XDG_STATE_HOME": self.path("nowhere")}
        up = self.start(lib.MUSTER, "up", "--demo", "--data", self.path("demo"), "--listen", "127.0.0.1:0", env=env)
        url = up.wait_line(r"(http://127\.0\.0\.1:\d+)").group(1)
        env["MUSTER_HUB"] = url
        self.run_ok(lib.MUSTER, "alerts", "silence", "--node", "dgx2", "--for", "4h", "--reason", "new fans", env=env)
        self.assertIn("new fans", self.run_ok(lib.MUSTER, "alerts", "silences", env=env))
        self.assertIn("daily", self.run_ok(lib.MUSTER, "reports", env=env))
        self.assertIn("Who used how much", self.run_ok(lib.MUSTER, "reports", "show", "daily", env=env))
        status, _, err = self.run_any(lib.MUSTER, "reports", "show", "weekly", env=env)
        self.assertEqual((status, err), (1, "muster reports: there is no report 'weekly': there is daily\n"))
        lib.wait_until("the demo's nodes", lambda: self.run_any(lib.MUSTER, "ls", "kim", env=env)[0] == 0)
        self.assertRegex(self.run_ok(lib.MUSTER, "ls", "kim", env=env), r"^DEMO.*\n4 of 48 match 'kim' \(kim: person\)")
        status, out, _ = self.run_any(lib.MUSTER, "ls", "fere", env=env)
        self.assertEqual(status, 1)
        self.assertIn("none of 48 match 'fere' (fere: no person, node, model or program; did you mean 'free'?)", out)
        up.stop()


if __name__ == "__main__":
    lib.main()
