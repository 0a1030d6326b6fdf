"""Builds libmuster and the program muster, which draws pictures, with the tree's own Makefile and puts them into the package. What this needs from Debian: gcc, make and
tools/install-deps' libraries; where these are not there the package has no program. Without a C compiler or make the package is Python alone, and loads the system's library.

MUSTER_LIB=FILE  put this libmuster.so.0 in, and the program beside it where there is one; build nothing
MUSTER_LIB=      put none of them in: the system's are used
"""
import os
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # 70.1 and later
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
SONAME = "libmuster.so.0"
PROGRAM = os.path.join("build", "python", "muster")  # a place of its own: it is without the page, which needs node


def can_build():
    return bool(shutil.which("make") and any(shutil.which(cc.split()[0]) for cc in (os.environ.get("CC", ""), "cc", "gcc") if cc))


def make(*what):
    return subprocess.run(["make", "-C", TOP, f"-j{os.cpu_count() or 1}", *what], check=False).returncode == 0


def build():
    """Where library and program are; None: there is no such thing."""
    if not can_build():
        print("muster: without a C compiler and make the package has no libmuster: at run time it needs the system's (`make install`), or MUSTER_LIB=FILE")
        return None, None
    if not make("lib"):
        raise SystemExit("cannot build libmuster: run tools/install-deps, or set MUSTER_LIB= to install without it")
    program = make("NOWEB=1", "LDFLAGS=-s", "BIN=" + os.path.dirname(PROGRAM), PROGRAM)
    if not program:
        print("muster: the program cannot be built here: without matplotlib pictures are SVG alone")
    return os.path.join(TOP, "build", SONAME), os.path.join(TOP, PROGRAM) if program else None


def built():
    lib = os.environ.get("MUSTER_LIB")
    if lib is None:
        return build()
    beside = os.path.join(os.path.dirname(lib), "muster")
    return lib or None, beside if lib and os.path.isfile(beside) else None


class BuildPy(build_py):
    def run(self):
        super().run()
        for file, name in zip(built(), (SONAME, "muster")):
            if file:
                shutil.copy(file, os.path.join(self.build_lib, "muster", name))


class Wheel(bdist_wheel):
    """For any Python 3, since library and program are no extension modules; of this machine's kind where they are in it."""

    def finalize_options(self):
        super().finalize_options()
        named = os.environ.get("MUSTER_LIB")
        self.root_is_pure = not can_build() if named is None else not named

    def get_tag(self):
        return "py3", "none", "any" if self.root_is_pure else super().get_tag()[2]


setup(cmdclass={"build_py": BuildPy, "bdist_wheel": Wheel})
