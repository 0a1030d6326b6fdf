"""A hub that has something to tell, a config of one's own, and how channels do."""
import lib
import speaking


class Telling(speaking.Speaking):
    """`user` is on n0's GPU."""
    names, options = [f"n{i}" for i in range(6)], ("--log-level", "debug")
    SECRETS = ()

    def set_up(self, config, env=None, **files):
        self.user = None
        for name, text in (("muster.yaml", config), *files.items()):
            self.secret(name, text)
        self.speak(env)

    def user_on(self, name):
        return self.user if name == "n0" else None

    def channel(self, name):
        rows = lib.ask_json(self.url + "/api/v1/alerts")["channels"]
        return next(r for r in rows if r["name"] == name)

    def no_secrets(self):
        """Neither logs nor answers nor the settings shown hold one."""
        said = [*self.logs, self.hub.text]
        for path in ("/api/v1/alerts", "/api/v1/alerts?all", "/api/v1/alerts/rules"):
            said.append(lib.ask(self.url + path)[2].decode())
        said.append(self.run_ok(lib.MUSTER, "config", "show", "--config", self.path("muster.yaml")))
        for text in said:
            for secret in self.SECRETS:
                self.assertNotIn(secret, text)
        self.assertIn("# channels: (set)", said[-1])
