"""Follows a page of docs/migrating/: its commands in order, with a declared table of texts that are different in a test.

    page = migration.Page(self, "vesta.md", {"/etc/muster": self.path("etc")})
    page.run("mkdir")           # the next command of the page must start like this; it runs
    hub = page.start("muster hub")
    page.site("service x")      # belongs to the site or the old system: not run
    page.finish()               # every command was taken, every entry of the table was used

A command that the page has and the test does not expect fails the test, and so does one that muster refuses.
"""
import glob
import os
import re
import shlex
import shutil

import lib

FOLDER = os.path.join(lib.TOP, "docs", "migrating")
SYSTEMD = os.path.join(lib.TOP, "packaging", "systemd")
IN_REPOSITORY = r"(?<![\w./-])(?:packaging|tools|bench)/[\w./*-]*[\w*]"


def parse(text):
    """(text without blocks, [(language, block)]). A block without a language is an error: tests need to know what to run."""
    blocks = re.findall(r"(?m)^```(\w*)\n(.*?)^```$", text, re.S)
    for language, block in blocks:
        if not language:
            raise AssertionError(f"a block needs a language (sh, yaml, cron, text, ...):\n{block}")
    return re.sub(r"(?ms)^```.*?^```$", "", text), blocks


def commands_of(block):
    """The command lines of a block: joined where they continue, without comments."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in (re.sub(r"(^|\s+)#\s.*", "", line).strip() for line in lines) if line]


class Page:
    """env: variables of all commands; cwd: their folder; replaced: {text of the page: text in the test}."""

    def __init__(self, case, name, replaced, cwd=None, env=None):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
            self.text = f.read()
        self.case, self.replaced, self.unused, self.cwd = case, replaced, set(replaced), cwd or case.dir
        self.prose, self.blocks = parse(self.text)
        self.commands = [(number, line) for number, (language, block) in enumerate(self.blocks) if language == "sh" for line in commands_of(block)]
        programs = case.path("programs")
        os.mkdir(programs)
        os.symlink(os.path.abspath(lib.MUSTER), os.path.join(programs, "muster"))
        self.env = {"PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin:/sbin", "no_proxy": "*", **(env or {})}

    def put(self, text):
        """The text with the values of this test, the longest entry first."""
        for old in sorted(self.replaced, key=len, reverse=True):
            if old in text:
                self.unused.discard(old)
                text = text.replace(old, self.replaced[old])
        return text

    def block(self, language, number=0):
        """One of the blocks in this language, with the values of this test."""
        return self.put([block for name, block in self.blocks if name == language][number])

    # ---- commands in the order of the page ----
    def next(self, start):
        self.case.assertTrue(self.commands, f"the page has no command after the last one; the test expects: {start}")
        line = self.commands[0][1]
        self.case.assertTrue(line.startswith(start), f"the next command of the page is: {line}\nthe test expects: {start}")
        return self.commands.pop(0)

    def run(self, start, want=0, before=()):
        """Runs the next command and returns its output. before: words in front of the shell, to run it as another user."""
        return self.run_line(self.next(start)[1], want, before)

    def run_line(self, line, want=0, before=()):
        line = self.put(line)
        exported = re.fullmatch(r"export (\w+)=(.*)", line)
        if exported:
            self.env[exported[1]] = exported[2]
            return ""
        status, out, err = self.case.run_any(*before, "/bin/sh", "-ec", line, env=self.env, cwd=self.cwd)
        self.case.assertEqual(status, want, f"{line}\n{out}{err}")
        return out + err

    def run_block(self, start):
        """Runs the rest of the block as one script, for blocks that set variables."""
        number, line = self.next(start)
        lines = [line]
        while self.commands and self.commands[0][0] == number:
            lines.append(self.commands.pop(0)[1])
        return self.run_line("set -u\n" + "\n".join(lines))

    def start(self, start, more=""):
        """Starts the next command as a program that keeps running. more: arguments that only the test needs."""
        argv = shlex.split(self.put(self.next(start)[1])) + shlex.split(more)
        return self.case.start(shutil.which(argv[0], path=self.env["PATH"]), *argv[1:], env=self.env, cwd=self.cwd)

    def site(self, start):
        """Takes a command that needs root, systemd or the site; files of the repository that it names must exist."""
        line = self.next(start)[1]
        self.check_files(line)
        return line

    def install_agent(self, start):
        """Runs `curl ... | sh -s -- TOKEN` as a user without root, who gets a node in the background, and removes it at the end."""
        home, before = self.case.path("home"), []
        os.mkdir(home)
        os.chmod(self.case.dir, 0o755)
        if os.geteuid() == 0:
            os.chown(home, 65534, 65534)
            before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        kept, cwd = self.env, self.cwd
        self.env = {"PATH": kept["PATH"], "HOME": home, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        self.cwd = home
        line = self.next(start)[1]
        remove = re.sub(r"(?<= -s -- ).*", "--uninstall", self.put(line))
        self.case.addCleanup(self.case.run_any, *before, "/bin/sh", "-ec", remove, env=self.env, cwd=home)
        out = self.run_line(line, before=before)
        self.env, self.cwd = kept, cwd
        return out

    # ---- form only ----
    def check_form(self, line):
        """muster knows the command, its verb and every option of this line: --help is read after the options before it."""
        argv = shlex.split(self.put(line))
        argv = argv[argv.index("muster") + 1 if "muster" in argv else argv.index("build/muster") + 1:]
        ours = argv[:argv.index("--")] if "--" in argv else argv
        status, out, err = self.case.run_any(lib.MUSTER, *ours, "--help", env=self.env)
        self.case.assertEqual(status, 0, f"{line}\n{err}")
        usage = out.splitlines()[0]
        known = re.match(r"Usage: muster ((?:[a-z-]+ )*)\[OPTIONS\](.*)", usage)
        self.case.assertTrue(known, usage)
        name = known[1].split()
        self.case.assertEqual(ours[:len(name)], name, line)
        rest = ours[len(name):]
        if rest and not rest[0].startswith("-") and ("VERB" in known[2] or "|" in known[2]):
            self.case.assertIn(rest[0], re.findall(r"[a-z]+", known[2]), line)

    def check_phrases(self, short=None):
        """The commands in running text; short: {first word: the command that it stands for}. Returns how many there are."""
        count = 0
        for phrase in re.findall(r"`([^`]+)`", self.prose):
            words = phrase.split()
            if words and words[0] in (short or {}) and len(words) > 1:
                words[0] = short[words[0]]
            elif not words or words[0] not in ("muster", "build/muster") or len(words) < 2:
                continue
            self.check_form(" ".join(words))
            count += 1
        return count

    def check_files(self, text=None):
        """Files of the repository that the page names exist."""
        for name in re.findall(IN_REPOSITORY, text or self.text):
            self.case.assertTrue(glob.glob(os.path.join(lib.TOP, name)), f"{name} is not in the repository")

    def check_units(self, line, drop_ins=None):
        """The units of a systemctl command exist, can be enabled, and parse with these drop-ins: {unit: text}."""
        names = [name if "." in name else name + ".service" for name in shlex.split(line) if name.startswith("muster")]
        self.case.assertTrue(names, line)
        folder = os.path.join(self.case.dir, "units")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for path in glob.glob(os.path.join(SYSTEMD, "*.service")) + glob.glob(os.path.join(SYSTEMD, "*.timer")):
            with open(path, encoding="utf-8") as f, open(os.path.join(folder, os.path.basename(path)), "w", encoding="utf-8") as to:
                to.write(f.read().replace("/usr/local/bin", os.path.abspath(lib.BIN)))
        for unit, text in (drop_ins or {}).items():
            os.mkdir(os.path.join(folder, unit + ".d"))
            with open(os.path.join(folder, unit + ".d", "test.conf"), "w", encoding="utf-8") as f:
                f.write(text)
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            if "enable" in line:
                self.case.assertIn("[Install]", text, name)
            if "reload" in line:
                self.case.assertIn("ExecReload=", text, name)
        if shutil.which("systemd-analyze"):
            status, out, err = self.case.run_any("systemd-analyze", "verify", "--man=no", *(os.path.join(folder, n) for n in names))
            self.case.assertEqual((status, out, err), (0, "", ""), line)

    def finish(self):
        self.case.assertEqual([line for _, line in self.commands], [], "commands of the page that the test does not follow")
        self.case.assertEqual(self.unused, set(), "entries of the table that the page does not have")
        self.check_files()
