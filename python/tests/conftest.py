import importlib
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

# A shell that starts the tests in its background has SIGINT ignored: interrupts would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

LIQUID = """\
[system]
dimension = 3
density = 0.8442
seed = 7
species = [{ name = "A", count = 200, mass = 1.0 }, { name = "B", count = 56, mass = 2.0 }]
initial = { lattice = "fcc", temperature = 1.5 }

[potential]
kind = "lennard-jones"
cutoff = 2.2
truncation = "shifted"
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }
AB = { epsilon = 1.0, sigma = 1.0 }
BB = { epsilon = 1.0, sigma = 1.0 }

[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004

[[stage]]
name = "equilibrate"
steps = 120
thermostat = { kind = "bussi", temperature = 1.0, time = 0.2 }
observe = { thermodynamics = 20, trajectory = 60 }

[[stage]]
name = "production"
steps = 200
set_total_energy = "mean of equilibrate"
observe = { thermodynamics = 10, trajectory = 50, structure = { every = 50, maximum_distance = 3.0, bin_width = 0.1, maximum_wavenumber = 8.0 } }

[[stage.correlation]]
every = 5
wavenumbers = [3.0, 7.0]
"""


def fcc(cells, density):
    """Places and edges of an fcc crystal of 4 cells^3 particles."""
    a = (4 / density) ** (1 / 3)
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    base = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    return ((corners + base) * a).reshape(-1, 3), np.full(3, cells * a)


def needed(module):
    """Skips the test where it is not installed, except in CI."""
    return importlib.import_module(module) if os.environ.get("CI") else pytest.importorskip(module)


def command(*words, cwd=None):
    """The command: that which the wheel has installed beside this Python, or of the module where it is not installed."""
    installed = pathlib.Path(sys.executable).with_name("supercool")
    program = [installed] if installed.exists() else [sys.executable, "-m", "supercool"]
    return subprocess.run([*program, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The directory of a run of the liquid by the command."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "liquid.toml").write_text(LIQUID)
    ended = command("run", "liquid.toml", "--quiet", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder / "results" / "liquid"
