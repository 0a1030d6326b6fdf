#!/usr/bin/python3
"""`muster completion`: what bash, zsh and fish themselves offer after reading it, beside what --help lists."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import unittest

import lib  # noqa: E402
from terminal import Terminal  # noqa: E402

# A line as it is typed, and what is offered at its end.
LINES = [
    ("muster to", {"token", "top"}),
    ("muster ls --fr", {"--free"}),
    ("muster token ", {"new", "list", "revoke"}),
    ("muster node re", {"rename", "retire"}),
    ("muster hub --read ", {"open", "token"}),
    ("muster up --no", {"--no-agent"}),
    ("muster completion ", {"bash", "zsh", "fish"}),
    ("muster ls --width ", set()),
    ("muster wandb pu", {"pull", "push"}),
    ("muster wandb pull --start", {"--start-date"}),
]


def output(*argv, **kw):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, timeout=60, **kw).stdout.decode()


class Completion(lib.Case):
    def script(self, shell):
        path = self.path("muster." + shell)
        with open(path, "w", encoding="utf-8") as f:
            f.write(output(lib.MUSTER, "completion", shell))
        return path

    def offers(self, ask):
        for line, want in LINES:
            with self.subTest(line=line):
                self.assertEqual(set(ask(line)), want)

    def test_bash(self):
        script = self.script("bash")

        def ask(line):
            words = line.split(" ")
            return output("bash", "--norc", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _muster; printf "%s\n" "${COMPREPLY[@]}"',
                          "bash", script, *words, cwd=self.dir).split()
        self.offers(ask)
        for command in ("ls", "hub", "simulate"):
            flags = set(re.findall(r"^  .{2}[ ,] (--[a-z0-9-]+)", output(lib.MUSTER, command, "--help"), re.M)) - {"--"}
            self.assertGreater(len(flags), 5)
            self.assertLessEqual(flags, set(ask(f"muster {command} --")))
        os.mkdir(self.path("backups"))
        self.assertEqual(ask("muster restore back"), ["backups"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = self.script("fish")

        def ask(line):
            got = output("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'", cwd=self.dir)
            return [one.split("\t")[0] for one in got.splitlines()]
        self.offers(ask)

    @unittest.skipUnless(shutil.which("zsh") and shutil.which("tmux"), "zsh or tmux is not installed")
    def test_zsh(self):
        # A widget of its own puts down what would have been offered: _main_complete with a compadd that tells.
        script, told = self.script("zsh"), self.path("told")
        rc = self.path("rc")
        with open(rc, "w", encoding="utf-8") as f:
            f.write(f"""PS1='ZSH> '
autoload -U compinit; compinit -D -u; source {script}
compadd() {{
    [[ ${{@[(r)-(O|A|D)]}} = -[OAD] ]] && {{ builtin compadd "$@"; return }}
    local -a hits; builtin compadd -O hits "$@"; print -rl -- $hits >> {told}
    builtin compadd "$@"
}}
tell() {{ : > {told}; zle complete-word; print DONE >> {told}; zle kill-whole-line }}
zle -N tell; bindkey '^T' tell
""")
        os.mkdir(self.path("zdot"))
        shutil.copy(rc, self.path("zdot/.zshrc"))
        term = Terminal(self, 200, 50, {"ZDOTDIR": self.path("zdot")})
        term.run(f"cd {self.dir}; exec zsh -d -i")
        term.wait("^ZSH>")

        def ask(line):
            if os.path.exists(told):
                os.unlink(told)
            term.tmux("send-keys", "-l", line)
            term.keys("C-t")

            def answer():
                with contextlib.suppress(FileNotFoundError), open(told, encoding="utf-8") as f:
                    return f.read()
                return ""
            lib.wait_until(f"zsh's answer to '{line}'", lambda: answer().endswith("DONE\n"))
            return [w.strip() for w in answer().split("\n") if w and w != "DONE"]
        self.offers(ask)

    def test_wrong_shell(self):
        got = subprocess.run([lib.MUSTER, "completion", "tcsh"], stderr=subprocess.PIPE, check=False)
        self.assertEqual(got.returncode, 2)
        self.assertEqual(got.stderr.decode(), "muster completion: expected bash | zsh | fish\n")


if __name__ == "__main__":
    lib.main()
