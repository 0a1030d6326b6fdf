#!/usr/bin/python3
"""Building the page: without a registry one sentence, soon; from a release without node and npm. Notes of assembled objects."""
import glob
import http.server
import json
import os
import platform
import shutil
import socket
import subprocess
import tarfile
import threading
import unittest

import lib

LIMIT_S = 120  # it ends within 30 s on an idle machine; npm alone tries for 15 minutes


@unittest.skipUnless(shutil.which("npm"), "npm is not here")
class Registry(lib.Case):
    def refused(self, port, why="does not answer"):
        top = self.path("checkout")
        for name in ("web/package.json", "web/package-lock.json", "tools/fetch-web"):
            os.makedirs(os.path.join(top, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(lib.TOP, name), os.path.join(top, name))
        registry = f"http://127.0.0.1:{port}/"
        env = {**os.environ, "npm_config_registry": registry, "npm_config_cache": self.path("cache")}
        done = subprocess.run([top + "/tools/fetch-web"], env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        first, last = done.stderr.splitlines()
        self.assertEqual((done.returncode, first), (3, f"fetching 14 npm packages for the page from {registry} (once)"))
        self.assertIn(why, last)
        self.assertIn(registry, last)

    def test_a_closed_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.refused(port)

    def test_a_registry_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.refused(silent.getsockname()[1])


    def test_a_registry_that_stops_answering(self):
        over = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path != "/htm":
                    over.wait(LIMIT_S)
                    return
                body = json.dumps({"name": "htm", "dist-tags": {"latest": "3.1.1"}, "versions": {"3.1.1": {"name": "htm", "version": "3.1.1"}}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                self.refused(server.server_address[1], "cannot fetch the packages that web/package-lock.json names")
            finally:
                over.set()
                server.shutdown()


class Release(lib.Case):
    @unittest.skipUnless(os.path.exists(lib.TOP + "/.git") and os.path.exists(lib.TOP + "/web/node_modules"), "this is no checkout")
    def test_it_has_the_page_built(self):
        run = lambda *argv, **more: subprocess.run(argv, check=True, capture_output=True, **more)
        clone, top = self.path("clone"), self.path("muster-0.1.0")
        run("git", "clone", "-q", "--shared", lib.TOP, clone)
        os.symlink(lib.TOP + "/web/node_modules", clone + "/web/node_modules")
        run("make", "-s", "dist", cwd=clone)
        with tarfile.open(clone + "/build/muster-0.1.0.tar.gz") as tar:
            tar.extractall(self.path(""), filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(self.path(""))
        os.mkdir(self.path("bin"))
        for name in ("node", "npm"):
            with open(self.path(f"bin/{name}"), "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nexit 9\n")
            os.chmod(self.path(f"bin/{name}"), 0o755)
        objects = ["build/obj/web/table.o", "build/obj/web/bytes.o"]
        run("make", "-s", *objects, cwd=top, env={**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"]})
        for o in objects:
            self.assertTrue(os.path.exists(os.path.join(top, o)))


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("readelf"), "this is not x86_64, or readelf is missing")
class Notes(lib.Case):
    def test_every_assembled_object_has_the_notes_of_cet_and_of_the_stack(self):
        """Of programs the linker keeps the mark only if the start files and static libraries of the system have it: Debian's do not."""
        sources = [os.path.relpath(s, lib.TOP) for s in glob.glob(lib.TOP + "/src/*/*.S")]
        objects = [self.path("obj/" + s[:-2] + ".o") for s in sources] + [self.path("obj/pic/src/collect/trace_data.o")]
        if os.path.exists(lib.TOP + "/build/web/bytes.S") or os.path.exists(lib.TOP + "/web/built/bytes.S"):
            objects.append(self.path("obj/web/bytes.o"))
        env = {k: v for k, v in os.environ.items() if k not in ("CC", "SAN", "THREAD", "FUZZ", "MAKEFLAGS")}
        subprocess.run(["make", "-s", "O=" + self.path("obj"), *objects], cwd=lib.TOP, env=env, check=True)
        self.assertGreater(len(sources), 2)
        for o in objects:
            self.assertIn("x86 feature: IBT, SHSTK", subprocess.run(["readelf", "-n", o], capture_output=True, text=True, check=True).stdout, o)
            stack = [line for line in subprocess.run(["readelf", "-SW", o], capture_output=True, text=True, check=True).stdout.splitlines() if ".note.GNU-stack" in line]
            self.assertEqual(len(stack), 1, o)
            self.assertNotIn(" X ", stack[0], o)


if __name__ == "__main__":
    lib.main()
