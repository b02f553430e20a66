"""Opens a GSD file with both readers of the gsd package and with MDAnalysis: gsd_file.py FILE EXPECTED.json"""

import json
import sys
import warnings

import gsd.fl
import gsd.hoomd
import gsd.pygsd
import numpy as np

warnings.simplefilter("ignore")
import MDAnalysis

path, expected = sys.argv[1], json.load(open(sys.argv[2]))
D = expected["dimension"]
edges = np.array(expected["edges"])
half = np.float32(edges) / 2

for trajectory in [
    gsd.hoomd.open(path, "r"),
    gsd.hoomd.HOOMDTrajectory(gsd.pygsd.GSDFile(open(path, "rb"))),
]:
    assert trajectory.file.schema == "hoomd" and trajectory.file.schema_version == (1, 4)
    assert len(trajectory) == len(expected["frames"])
    for frame, wanted in zip(trajectory, expected["frames"]):
        frame.validate()
        assert frame.configuration.step == wanted["step"]
        assert frame.configuration.dimensions == D
        third = edges[2] if D == 3 else 0
        np.testing.assert_array_equal(
            frame.configuration.box, np.float32([*edges[:2], third, 0, 0, 0])
        )
        particles = frame.particles
        assert particles.N == len(expected["species"])
        assert particles.types == ["A", "B"]
        np.testing.assert_array_equal(particles.typeid, expected["species"])
        np.testing.assert_array_equal(particles.mass, np.float32(expected["mass"]))
        sigma = np.float32([1.0, 0.88])
        np.testing.assert_array_equal(particles.diameter, sigma[expected["species"]])
        np.testing.assert_array_equal(particles.velocity, np.float32(wanted["velocity"]))
        position = particles.position[:, :D]
        assert (position >= -half[:D]).all() and (position < half[:D]).all()
        unwrapped = (particles.position + particles.image * edges)[:, :D]
        wanted_unwrapped = (np.array(wanted["position"]) + np.array(wanted["image"]) * edges)[:, :D]
        np.testing.assert_allclose(unwrapped, wanted_unwrapped - edges[:D] / 2, atol=2e-6)
        assert (particles.position[:, D:] == 0).all()
    toml = trajectory.file.read_chunk(frame=0, name="supercool/toml").tobytes().decode()
    assert toml == expected["toml"]
    trajectory.close()

universe = MDAnalysis.Universe(path)
assert len(universe.trajectory) == len(expected["frames"])
assert list(universe.atoms.types) == [["A", "B"][species] for species in expected["species"]]
np.testing.assert_allclose(
    universe.trajectory[-1].dimensions[:2], np.float32(edges[:2])
)
print("ok")
