"""Opens a trajectory with MDAnalysis, bare, with h5py and with pyh5md: trajectory.py FILE EXPECTED.json"""

import json
import sys
import warnings

import h5py
import numpy as np
import pyh5md

warnings.simplefilter("ignore")
import MDAnalysis

path, expected = sys.argv[1], json.load(open(sys.argv[2]))

universe = MDAnalysis.Universe(path)
assert len(universe.atoms) == len(expected["species"])
assert len(universe.trajectory) == len(expected["frames"])
for timestep, frame in zip(universe.trajectory, expected["frames"]):
    np.testing.assert_array_equal(timestep.positions, np.float32(frame["position"]))
    np.testing.assert_array_equal(timestep.velocities, np.float32(frame["velocity"]))
    np.testing.assert_array_equal(timestep.dimensions, np.float32([*expected["edges"], 90, 90, 90]))
    assert timestep.time == frame["time"], "times are not converted"
    assert timestep.data["step"] == frame["step"]
universe.trajectory.close()

with h5py.File(path, "r") as f:
    assert list(f["particles"]) == ["trajectory"]
    group = f["particles/trajectory"]
    box = group["box"]
    assert box.attrs["dimension"] == 3
    assert [edge.decode() for edge in box.attrs["boundary"]] == expected["boundary"]
    for element in [group["image"], group["velocity"], box["edges"]]:
        for shared in ["step", "time"]:
            assert element[shared].id.__eq__(group["position"][shared].id), "hard links"
    for i, frame in enumerate(expected["frames"]):
        np.testing.assert_array_equal(group["position/value"][i], frame["position"])
        np.testing.assert_array_equal(group["velocity/value"][i], frame["velocity"])
        np.testing.assert_array_equal(group["image/value"][i], frame["image"])
    assert group["position/value"].dtype == np.float64
    np.testing.assert_array_equal(group["species"][()], expected["species"])
    np.testing.assert_array_equal(group["id"][()], np.arange(len(expected["species"])))
    np.testing.assert_array_equal(group["mass"][()], expected["mass"])
    assert f["parameters/toml"].asstr()[()] == expected["toml"]
    assert "observables" not in f

with pyh5md.File(path, "r") as f:
    particles = pyh5md.ParticlesGroup(f, "trajectory")
    image = pyh5md.element(particles, "image")
    assert image.element_type == "TimeElement"
    np.testing.assert_array_equal(image.value[0], expected["frames"][0]["image"])
    assert pyh5md.element(particles, "species").element_type == "FixedElement"
print("ok")
