"""Compares propensities with a plain evaluation of all runs: propensity.py RESULTS TRAJECTORY [INHERENT]

Trajectory and inherent structures have a frame at each of the times of the propensities.
"""

import json
import sys

import h5py
import numpy as np

results, *trajectories = (h5py.File(path, "r") for path in sys.argv[1:])
plan = json.loads(results["parameters/plan"][()])
of_stage = plan["stages"][0]["propensity"]
runs, configurations = plan["ensemble"]["samples"], len(plan["ensemble"]["configurations"])
dimension = plan["system"]["simulation_box"]["dimension"]
root = results["propensity"]
species = root["species"][:]
steps = root["step"][:]
assert list(steps) == of_stage["steps"] and root["measured"][()] == len(steps)
assert root["runs"][()] == runs
np.testing.assert_allclose(root["time"][:], steps * plan["run"]["timestep"], rtol=1e-15)


def unwrapped(trajectory, system):
    particles = trajectory[f"particles/system-{system}"]
    edges = particles["box/edges/value"][0][:dimension]
    position = particles["position/value"][:, :, :dimension]
    frames = np.searchsorted(particles["position/step"][:], [0, *steps])
    assert list(particles["position/step"][:][frames]) == [0, *steps]
    image = particles["image/value"][:, :, :dimension]
    return (position + image * edges)[frames], position[0], edges


def pairs(positions, edges):
    apart = positions[:, None] - positions[None, :]
    apart -= edges * np.rint(apart / edges)
    return np.sqrt((apart**2).sum(-1))


def bond_breaking(positions, edges):
    radii = of_stage["bonds"]
    bonded = pairs(positions[0], edges) < radii["radius"]
    np.fill_diagonal(bonded, False)
    bonds = bonded.sum(1)
    kept = [(bonded & (pairs(r, edges) < radii["breaking_radius"])).sum(1) for r in positions[1:]]
    return np.where(bonds > 0, np.array(kept) / np.maximum(bonds, 1), 1.0)


def evaluate(name, positions, edges):
    moved = positions[1:] - positions[0]
    square = (moved**2).sum(-1)
    return {
        "displacement": lambda: np.sqrt(square),
        "square-displacement": lambda: square,
        "self-overlap": lambda: (square < of_stage["overlap_length"] ** 2) * 1.0,
        "self-intermediate-scattering-function": lambda: np.cos(of_stage["wavenumber"] * moved).mean(-1),
        "bond-breaking": lambda: bond_breaking(positions, edges),
    }[name]()


def share(value, square, chosen):
    """R of the runs, from values and squares by configuration, particle."""
    mean, delta, square = value[chosen].mean(), (value[chosen] ** 2).mean(), square[chosen].mean()
    corrected = delta - (square - delta) / (runs - 1)
    return (corrected - mean**2) / (square - mean**2)


assert ("inherent" in of_stage) == (len(trajectories) == 2)
compared = 0
for prefix, trajectory in zip(["", "inherent_"], trajectories):
    systems = [unwrapped(trajectory, system) for system in range(runs * configurations)]
    for configuration in range(configurations):
        found = root[f"{prefix}initial_position"][configuration]
        np.testing.assert_array_equal(found, systems[configuration * runs][1])
    for name in of_stage["observables"]:
        group = root[prefix + name.replace("-", "_")]
        each = np.array([evaluate(name, positions, edges) for positions, _, edges in systems])
        each = each.reshape(configurations, runs, len(steps), len(species))
        value, square = each.mean(1), (each**2).mean(1)
        assert group["value"].shape == (configurations, len(steps), len(species))
        np.testing.assert_allclose(group["value"][:], value, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(group["second_moment"][:], square, rtol=1e-12, atol=1e-13)
        for kind in range(species.max() + 1):
            own = species == kind
            for time in range(len(steps)):
                v, s = value[:, time, own], square[:, time, own]
                found = {key: group[key][time, kind] for key in group if group[key].ndim == 2}
                np.testing.assert_allclose(found["mean"], v.mean(), rtol=1e-12)
                np.testing.assert_allclose(found["square_of_propensity"], (v**2).mean(), rtol=1e-12)
                np.testing.assert_allclose(found["square"], s.mean(), rtol=1e-12)
                if s.mean() - v.mean() ** 2 < 1e-10 * s.mean():
                    assert np.isnan(found["predictable_share"])
                    continue
                everything = np.ones(configurations, bool)
                np.testing.assert_allclose(found["predictable_share"], share(v, s, everything), rtol=1e-7, atol=1e-7)
                without = [share(v, s, everything & (np.arange(configurations) != c)) for c in range(configurations)]
                plain = np.sqrt((configurations - 1) / configurations * ((without - np.mean(without)) ** 2).sum())
                # Of two: Student's distribution with one degree of freedom, an interval of 68 %.
                assert configurations == 2
                np.testing.assert_allclose(found["predictable_share_error"], 1.837 * plain, rtol=1e-6, atol=1e-7)
                compared += 1
assert compared >= 20, compared
print(f"{compared} predictable shares")
print("ok")
