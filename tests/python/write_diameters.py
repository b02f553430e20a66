"""Writes three particles with diameters by other programs: write_diameters.py ASE.xyz ATOOMS.xyz GSD.gsd H5PY.h5md"""

import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
import ase
import ase.io
import gsd.hoomd
import h5py
from atooms.system import Cell, Particle, System
from atooms.trajectory import TrajectoryEXYZ

ase_file, atooms_file, gsd_file, h5md_file = sys.argv[1:]
EDGES = [4.0, 5.0, 6.0]
diameter = np.array([0.725, 1.0, 1.62])
position = np.array([[0.5, 1.0, 1.5], [1.5, 2.0, 2.5], [2.5, 3.0, 3.5]])

atoms = ase.Atoms("Ni3", positions=position, cell=EDGES, pbc=True)
atoms.set_array("radii", diameter / 2)
ase.io.write(ase_file, atoms, format="extxyz")

particles = [Particle(species="A", position=x, radius=d / 2) for x, d in zip(position, diameter)]
with TrajectoryEXYZ(atooms_file, "w") as trajectory:
    trajectory.variables = ["particle.species", "particle.position", "particle.radius"]
    trajectory.write(System(particle=particles, cell=Cell(EDGES)), 0)

with gsd.hoomd.open(gsd_file, "w") as file:
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [*EDGES, 0, 0, 0]
    frame.particles.N = 3
    frame.particles.position = position - np.array(EDGES) / 2
    frame.particles.diameter = diameter
    file.append(frame)

with h5py.File(h5md_file, "w") as file:
    group = file.create_group("particles/all")
    group["box/edges"] = EDGES
    group["box"].attrs["dimension"] = 3
    group["box"].attrs["boundary"] = ["periodic"] * 3
    for name, values in [("position", position), ("diameter", diameter)]:
        group[f"{name}/step"] = [0]
        group[f"{name}/time"] = [0.0]
        group[f"{name}/value"] = values[None]
print("ok")
