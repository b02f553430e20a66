"""Opens frames in tilted boxes with MDAnalysis, gsd and h5py: tilted.py FILE.h5md FILE.gsd EXPECTED.json"""

import json
import sys
import warnings

import gsd.hoomd
import h5py
import numpy as np
from MDAnalysis.lib.mdamath import triclinic_vectors

warnings.simplefilter("ignore")
import MDAnalysis

expected = json.load(open(sys.argv[3]))
edges, tilts = np.array(expected["edges"]), np.array(expected["tilts"])
D = len(edges)
padded = np.ones(3)
padded[:D] = edges


def periods(tilt, edges):
    matrix = np.diag(edges)
    matrix[1, 0] = tilt * edges[0]
    return matrix


with h5py.File(sys.argv[1]) as file:
    stored = file["particles/trajectory/box/edges/value"][()]
    position = file["particles/trajectory/position/value"][()]
    image = file["particles/trajectory/image/value"][()]
for matrix, tilt, places in zip(stored, tilts, position, strict=True):
    np.testing.assert_allclose(matrix, periods(tilt, padded), atol=1e-14)
    fractions = (places @ np.linalg.inv(matrix))[:, :D]
    assert fractions.min() > -1e-12 and fractions.max() < 1 + 1e-12

universe = MDAnalysis.Universe(sys.argv[1])
for timestep, tilt, places in zip(universe.trajectory, tilts, position, strict=True):
    np.testing.assert_allclose(triclinic_vectors(timestep.dimensions), periods(tilt, padded), atol=2e-5)
    np.testing.assert_array_equal(timestep.positions, np.float32(places))
universe.trajectory.close()

# GSD has the same places about the origin: unwrapped ones differ by half of the periods.
with gsd.hoomd.open(sys.argv[2]) as trajectory:
    for frame, tilt, places, images in zip(trajectory, tilts, position, image, strict=True):
        frame.validate()
        box = frame.configuration.box
        np.testing.assert_allclose(box[:D], edges, rtol=1e-6)
        np.testing.assert_allclose(box[3], tilt * edges[0] / edges[1], atol=1e-6)
        assert box[4] == box[5] == 0 and frame.configuration.dimensions == D
        matrix = periods(tilt, padded)
        unwrapped = places + images @ matrix
        of_gsd = frame.particles.position + frame.particles.image @ matrix + 0.5 * matrix[:D].sum(0)
        np.testing.assert_allclose(of_gsd[:, :D], unwrapped[:, :D], atol=1e-4)
universe = MDAnalysis.Universe(sys.argv[2])
for timestep, tilt in zip(universe.trajectory, tilts, strict=True):
    vectors = triclinic_vectors(timestep.dimensions)[:D, :D]
    if D == 3:
        np.testing.assert_allclose(vectors, periods(tilt, padded), atol=2e-5)
print("ok")
