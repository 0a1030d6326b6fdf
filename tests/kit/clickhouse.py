"""A ClickHouse server of a test's own: in a folder of its own, on loopback, with a password, as nobody where the test is root. Without the package the tests that need it say that they were skipped."""
import base64
import os
import shutil
import socket
import subprocess
import unittest

import lib

PROGRAM = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
needed = unittest.skipUnless(PROGRAM, "clickhouse-server is not installed")
PASSWORD = "se:cr@t"


class Server:
    """It is started; .url is what `--samples` takes, .password_file goes with it."""

    def __init__(self, case, name="clickhouse", more=""):
        self.case, self.dir, self.port, self.process = case, case.path(name), lib.free_port(), None
        tcp, between = lib.free_port(), lib.free_port()
        os.makedirs(self.dir + "/data/tmp")
        self.password_file = self.dir + ".password"
        with open(self.password_file, "w", encoding="ascii") as f:
            f.write(PASSWORD + "\n")
        os.chmod(self.password_file, 0o600)
        with open(self.dir + "/config.xml", "w", encoding="utf-8") as f:
            f.write(f"""<?xml version="1.0"?><yandex><logger><level>warning</level><log>{self.dir}/log</log><errorlog>{self.dir}/err</errorlog></logger><display_name>{self.dir}</display_name>
<listen_host>127.0.0.1</listen_host><http_port>{self.port}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{between}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><path>{self.dir}/data/</path><tmp_path>{self.dir}/data/tmp/</tmp_path><users_config>{self.dir}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>{more}</yandex>""")
        with open(self.dir + "/users.xml", "w", encoding="utf-8") as f:
            f.write(f"""<?xml version="1.0"?><yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<users><muster><password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></muster></users><quotas><default/></quotas></yandex>""")
        if os.geteuid() == 0:
            os.chmod(case.dir, 0o755)
            subprocess.run(["chown", "-R", "65534:65534", self.dir], check=True)
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"clickhouse://muster@{self.host}/default"
        self.start()

    def start(self):
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        self.process = self.case.start(*as_nobody, PROGRAM, f"--config-file={self.dir}/config.xml", cwd=self.dir)
        self.case.addCleanup(self.process.kill9)  # asked to end, it takes its time
        lib.wait_until("ClickHouse answers", self.answers)

    def answers(self):
        if not self.process.alive():
            raise AssertionError(f"ClickHouse ended: {self.process.text}")
        try:
            # an occupied port is only logged: is it really ours?
            return lib.ask(f"http://{self.host}/ping")[1].get("x-clickhouse-server-display-name") == self.dir or self.sql("SELECT 1") == "1\n"
        except OSError:
            return False

    def sql(self, text):
        login = base64.b64encode(f"muster:{PASSWORD}".encode()).decode()
        status, _, body = lib.ask(f"http://{self.host}/", method="POST", body=text.encode(), headers={"Authorization": "Basic " + login})
        if status != 200:
            raise AssertionError(f"{text}: {body[:400]!r}")
        return body.decode()

    def number(self, text):
        return int(self.sql(text))

    def kill(self):
        self.process.kill9()

    def flags(self):
        return ("--samples", self.url, "--samples-password-file", self.password_file)


ZOOKEEPER = "/usr/share/java/zookeeper.jar"
replicas_needed = unittest.skipUnless(PROGRAM and os.path.exists(ZOOKEEPER) and shutil.which("java"), "zookeeper is not installed")


class ZooKeeper:
    """One of its own; .config is what a ClickHouse server must be told of it."""

    def __init__(self, case):
        self.case, self.port = case, lib.free_port()
        os.makedirs(case.path("zookeeper"))
        with open(case.path("zookeeper/zoo.cfg"), "w", encoding="ascii") as f:
            f.write(f"tickTime=500\ndataDir={case.path('zookeeper')}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n")
        self.process = case.start("java", "-Xmx128m", "-cp", f"{ZOOKEEPER}:/usr/share/java/slf4j-simple.jar", "org.apache.zookeeper.server.quorum.QuorumPeerMain", case.path("zookeeper/zoo.cfg"))
        lib.wait_until("ZooKeeper answers", self.answers)

    def answers(self):
        if not self.process.alive():
            raise AssertionError(f"ZooKeeper ended: {self.process.text}")
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as c:
                c.sendall(b"ruok")
                return c.recv(4) == b"imok"
        except OSError:
            return False

    def config(self, replica):
        return (f"<zookeeper><node><host>127.0.0.1</host><port>{self.port}</port></node><session_timeout_ms>4000</session_timeout_ms></zookeeper>"
                f"<macros><shard>1</shard><replica>{replica}</replica></macros>")
