"""The files GPU Monitor's node scripts leave, as they would write them now, and a folder of them on the web as Python's http.server shows it."""
import http.server
import os
import threading
import time


class Machine:
    """One host's files in a folder. hours: how far east of UTC its clock is read."""

    def __init__(self, folder, host, gpus=2, hours=0):
        self.folder, self.host, self.gpus, self.hours = folder, host, gpus, hours
        os.makedirs(folder, exist_ok=True)

    def local(self, ago_s, form):
        return time.strftime(form, time.gmtime(time.time() - ago_s + self.hours * 3600))

    def stamp(self, ago_s=0.0):
        return self.local(ago_s, "%Y/%m/%d %H:%M:%S.123")

    def texts(self, ago_s=0.0):
        rows = []
        for sweep in (20, 0):
            for i in range(self.gpus):
                used, util = (8018, 92) if i == 0 else (4, 0)
                rows.append(f"{i}, GPU-{self.host}-{i}, Tesla V100-PCIE-16GB, {used}, 16160, {util}, 40, 61, {self.stamp(ago_s + sweep)}\n")
        return {
            "gpus": "".join(rows),
            "processes": f"{self.stamp(ago_s + 1)}, GPU-{self.host}-0, 6400, /opt/conda/bin/python, 31415\n",
            "users": '{"31415": ["31416"]}\n' + f"31415 raj                  {self.local(3600, '%a %b %d %H:%M:%S %Y')}\n",
            "status": "/dev/sda1        4000  1000 3000      25% /\n"
                      "Mem:          64000       12000       40000         100       12322       51000\n32\n"
                      f" {self.local(0, '%H:%M:%S')} up 3 days,  1:02,  2 users,  load average: 16.52, 0.58, 0.59\n",
            "disks": "Filesystem     1024-blocks      Used Available Capacity Mounted on\n/dev/sda1        4000  1000 3000      25% /\n"
                     "/dev/sdb1        2000  1520   80      95% /var/opt\ntmpfs 1 1 0 100% /run\n",
        }

    def path(self, kind):
        return os.path.join(self.folder, f"{self.host}_{kind}.csv")

    def write(self, ago_s=0.0, kinds=None):
        """As the scripts do: each file over itself."""
        for kind, text in self.texts(ago_s).items():
            if kinds is None or kind in kinds:
                with open(self.path(kind), "w", encoding="utf-8") as f:
                    f.write(text)


class Web:
    """http.server over a folder; .asked: (path, status) of each request."""

    def __init__(self, folder, port=0):
        self.asked, web = [], self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=folder)

            def log_request(self, code="-", size="-"):
                web.asked.append((self.path, int(code)))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass  # who asked went away

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.server = None
