"""Compares a data set with the results and the trajectories that it was made of: data_set.py RESULTS TRAJECTORY FOLDER TIMES

TIMES: "all"; "bare", all without positions of the runs; the number of one; or values of F_s, such as "0.9,0.7".
"""

import json
import os
import sys

import h5py
import numpy as np

results, trajectory = (h5py.File(path, "r") for path in sys.argv[1:3])
folder, times = sys.argv[3:]
plan = json.loads(results["parameters/plan"][()])
root = results["propensity"]
runs, species, steps = root["runs"][()], root["species"][:], root["step"][:]
names = [name for name in root if f"{name}/value" in root]
configurations, particles, dimension = root["initial_position"].shape
edges = np.array(plan["system"]["simulation_box"]["edges"])
stem = f"isoconfig_N{particles}T{plan['system']['initial']['temperature']}"


def unwrapped(system, step):
    of_system = trajectory[f"particles/system-{system}"]
    frame = list(of_system["position/step"][:]).index(step)
    image = of_system["image/value"][frame] - of_system["image/value"][0]
    return (of_system["position/value"][frame] + image * of_system["box/edges/value"][0])[:, :dimension]


def chosen(configuration):
    """Numbers in names, and places among the times."""
    if "." in times:
        values = root["self_intermediate_scattering_function/value"][configuration]
        curve = values[:, species == 0].mean(1)
        return [(k, np.flatnonzero(curve <= float(value))[0]) for k, value in enumerate(times.split(","))]
    return [(k, k) for k in ([int(times)] if times.isdigit() else range(len(steps)))]


expected = set()
for configuration in range(configurations):
    for number, time in chosen(configuration):
        name = f"{stem}_{configuration}_tc{number:02}.npz"
        expected.add(name)
        data = np.load(os.path.join(folder, name))
        arrays = {"types", "initial_positions", "time", "box"} | {f"propensity_{each}" for each in names}
        assert set(data) == (arrays if times == "bare" else arrays | {"positions"}), list(data)
        assert data["types"].dtype == np.int64
        np.testing.assert_array_equal(data["types"], species)
        np.testing.assert_array_equal(data["initial_positions"], root["initial_position"][configuration])
        assert data["time"].shape == () and data["time"] == root["time"][time]
        np.testing.assert_array_equal(data["box"], edges)
        for each in names:
            np.testing.assert_array_equal(data[f"propensity_{each}"], root[f"{each}/value"][configuration, time])
        if times == "bare":
            continue
        positions = data["positions"]
        assert positions.shape == (runs, particles, dimension) and positions.dtype == np.float64
        for run in range(runs):
            np.testing.assert_array_equal(positions[run], unwrapped(configuration * runs + run, steps[time]))
        # What the data set is for.
        moved = np.linalg.norm(positions - data["initial_positions"], axis=-1)
        np.testing.assert_allclose(moved.mean(0), data["propensity_displacement"], rtol=1e-12)
assert set(os.listdir(folder)) == expected and expected
print(f"{len(expected)} files")
print("ok")
