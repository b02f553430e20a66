"""Opens converted files with other programs: converted.py SOURCE.xyz XYZ H5MD GSD DUMP DATA

All files but the last hold the frames of the source, DATA its first one.
"""

import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
import ase.io
import atooms.trajectory
import gsd.hoomd
import h5py
import MDAnalysis
import pyh5md

source, xyz, h5md, gsd_file, dump, data = sys.argv[1:]


def read(path):
    """Frames of the source, of which the columns are known."""
    frames = []
    with open(path) as file:
        while line := file.readline():
            header = file.readline()
            rows = [file.readline().split() for _ in range(int(line))]
            lattice = np.array(header.split('"')[1].split(), dtype=float)[[0, 4, 8]]
            numbers = np.array([row[1:] for row in rows], dtype=float)
            frames.append(
                {
                    "edges": lattice,
                    "species": [row[0] for row in rows],
                    "position": numbers[:, 0:3],
                    "velocity": numbers[:, 3:6],
                    "image": numbers[:, 6:9].astype(int),
                    "mass": numbers[:, 9],
                    "diameter": 2 * numbers[:, 10],
                    "step": int(header.split("step=")[1].split()[0]),
                    "time": float(header.split("time=")[1].split()[0]),
                }
            )
    return frames


expected = read(source)
first = expected[0]

# ASE: every digit.
for path, format in [(xyz, "extxyz"), (dump, "lammps-dump-text")]:
    atoms = ase.io.read(path, index=":", format=format)
    assert len(atoms) == len(expected)
    for found, frame in zip(atoms, expected):
        assert list(found.symbols) == frame["species"]
        np.testing.assert_array_equal(found.cell.lengths(), frame["edges"])
        assert found.pbc.all()
        if path == xyz:
            np.testing.assert_array_equal(found.positions, frame["position"])
            np.testing.assert_array_equal(found.get_masses(), frame["mass"])
            np.testing.assert_array_equal(found.arrays["velo"], frame["velocity"])
            np.testing.assert_array_equal(found.arrays["image"], frame["image"])
            np.testing.assert_array_equal(2 * found.arrays["radius"], frame["diameter"])
            assert found.info["step"] == frame["step"] and found.info["time"] == frame["time"]
        else:
            # ASE goes by way of scaled positions.
            np.testing.assert_allclose(found.positions, frame["position"], rtol=1e-12)

# atooms.
with atooms.trajectory.TrajectoryEXYZ(xyz) as trajectory:
    for system, frame in zip(trajectory, expected):
        radii = [particle.radius for particle in system.particle]
        np.testing.assert_allclose(radii, frame["diameter"] / 2, rtol=1e-15)

# GSD.
with gsd.hoomd.open(gsd_file, "r") as trajectory:
    assert len(trajectory) == len(expected)
    for found, frame in zip(trajectory, expected):
        found.validate()
        particles, edges = found.particles, frame["edges"]
        assert found.configuration.step == frame["step"]
        np.testing.assert_array_equal(found.configuration.box, np.float32([*edges, 0, 0, 0]))
        assert [particles.types[number] for number in particles.typeid] == frame["species"]
        np.testing.assert_array_equal(particles.velocity, np.float32(frame["velocity"]))
        np.testing.assert_array_equal(particles.mass, np.float32(frame["mass"]))
        np.testing.assert_array_equal(particles.diameter, np.float32(frame["diameter"]))
        assert (np.abs(particles.position) <= np.float32(edges) / 2).all()
        unwrapped = particles.position + particles.image * edges
        np.testing.assert_allclose(unwrapped, frame["position"] + frame["image"] * edges, atol=1e-5)

# H5MD: the layout of our own trajectories.
with h5py.File(h5md, "r") as file:
    particles = file["particles/trajectory"]
    names = [name.decode() for name in particles["species"].attrs["names"]]
    for k, frame in enumerate(expected):
        assert [names[number] for number in particles["species"]] == frame["species"]
        np.testing.assert_array_equal(particles["position/value"][k], frame["position"])
        np.testing.assert_array_equal(particles["velocity/value"][k], frame["velocity"])
        np.testing.assert_array_equal(particles["image/value"][k], frame["image"])
        np.testing.assert_array_equal(particles["box/edges/value"][k], frame["edges"])
    np.testing.assert_array_equal(particles["mass"][()], first["mass"])
    np.testing.assert_array_equal(particles["diameter"][()], first["diameter"])
with pyh5md.File(h5md, "r") as file:
    position = pyh5md.element(pyh5md.ParticlesGroup(file, "trajectory"), "position")
    assert position.element_type == "TimeElement" and position.value.shape[0] == len(expected)


def check(universe, velocities):
    assert len(universe.trajectory) == len(expected)
    for found, frame in zip(universe.trajectory, expected):
        shift = (found.positions - frame["position"]) / frame["edges"]
        np.testing.assert_allclose(shift, np.round(shift), atol=1e-6)
        np.testing.assert_allclose(found.dimensions[:3], frame["edges"], rtol=1e-6)
        if velocities:
            np.testing.assert_allclose(found.velocities, frame["velocity"], rtol=1e-6)


# MDAnalysis: species by name where a file holds names; H5MD with the names of another file, as its reader takes none.
select = {"type": [i for i, name in enumerate(first["species"]) if name == "P"]}
bare = MDAnalysis.Universe(h5md)
check(bare, velocities=True)
assert [frame.time for frame in bare.trajectory] == [frame["time"] for frame in expected]
for topology, trajectory in [(gsd_file, None), (gsd_file, h5md), (xyz, h5md)]:
    files = [topology] if trajectory is None else [topology, trajectory]
    universe = MDAnalysis.Universe(*files)
    check(universe, velocities=trajectory is not None)
    kind = "name" if topology == xyz else "type"
    assert list(universe.select_atoms(f"{kind} P").indices) == select["type"], topology
    if topology == gsd_file:
        np.testing.assert_array_equal(universe.atoms.radii, np.float32(first["diameter"]) / 2)

with h5py.File(h5md, "r") as file:
    species = file["particles/trajectory/species"]
    bare.add_TopologyAttr("types", species.attrs["names"].astype(str)[species[()]])
assert list(bare.select_atoms("type P").indices) == select["type"]

universe = MDAnalysis.Universe(dump, format="LAMMPSDUMP", additional_columns=["diameter"])
check(universe, velocities=False)
for found, frame in zip(universe.trajectory, expected):
    np.testing.assert_array_equal(found.data["diameter"], frame["diameter"])
assert list(universe.select_atoms("type 2").indices) == select["type"]
universe = MDAnalysis.Universe(data, atom_style="id type diameter density x y z")
assert list(universe.select_atoms("type 2").indices) == select["type"]
np.testing.assert_allclose(universe.atoms.positions, first["position"], rtol=1e-6)
print("ok")
