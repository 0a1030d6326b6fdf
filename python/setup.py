"""Builds libmuster with the tree's own Makefile and puts it into the package. What this needs from Debian: gcc, make and tools/install-deps' libraries.

MUSTER_LIB=FILE  put this libmuster.so.0 in, build nothing
MUSTER_LIB=      put none in: the system's is used
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
SONAME = "libmuster.so.0"


class BuildPy(build_py):
    def run(self):
        super().run()
        lib = os.environ.get("MUSTER_LIB")
        if lib is None:
            subprocess.run(["make", "-C", os.path.dirname(HERE), "lib"], check=True)
            lib = os.path.join(os.path.dirname(HERE), "build", SONAME)
        if lib:
            shutil.copy(lib, os.path.join(self.build_lib, "muster", SONAME))


class Wheel(bdist_wheel):
    """Of this machine's kind, for any Python 3: the library is no extension module."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildPy, "bdist_wheel": Wheel})
