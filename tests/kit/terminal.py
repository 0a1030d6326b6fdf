"""A terminal for tests of programs that draw on one: a tmux of the test's own, typed into and read back."""
import os
import re
import subprocess

import lib


class Terminal:
    """A tmux of its own: one window with a shell in it."""
    made = 0

    def __init__(self, case, w, h, env=None):
        Terminal.made += 1
        self.socket = case.path(f"tmux{Terminal.made}")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "TMUX", "COLOR", "NO_COLOR"))}
        self.env.update({"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "XDG_CONFIG_HOME": case.path("config")}, **(env or {}))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(w), "-y", str(h), "env PS1='READY> ' sh")
        case.addCleanup(lambda: subprocess.run(["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL, check=False))
        self.wait("READY>")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], env=self.env, stdout=subprocess.PIPE, check=True, timeout=lib.LIMIT_S).stdout.decode("utf-8", "replace")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, line):
        self.tmux("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, pattern, but=None):
        """The screen once it fits pattern (and not `but`)."""
        seen = ""

        def look():
            nonlocal seen
            seen = self.screen()
            return re.search(pattern, seen, re.M) and not (but and re.search(but, seen, re.M))
        try:
            lib.wait_until(pattern, look)
        except AssertionError as late:
            raise AssertionError(f"{late}; the screen is:\n{seen}") from None
        return seen

    def mode(self):
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}").strip()
