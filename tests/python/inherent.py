"""Inherent structures against L-BFGS by scipy and sums over all pairs:
inherent.py RESULTS TRAJECTORY MINIMA

The trajectory has a frame for every inherent structure.
"""

import json
import sys
import warnings

import h5py
import numpy as np
from scipy.optimize import minimize

warnings.simplefilter("ignore")
import MDAnalysis

results, trajectory, minima = (h5py.File(path, "r") for path in sys.argv[1:])
plan = json.loads(results["parameters/plan"][()])
tolerance = plan["stages"][-1]["observe"]["inherent_structures"]["force_tolerance"]
pairs = plan["potential"]["pairs"]
assert plan["potential"]["form"] == {"kind": "lennard-jones"}
assert plan["potential"]["truncation"] == {"kind": "force-shifted"}
edges = trajectory["particles/trajectory/box/edges/value"][0]
species = trajectory["particles/trajectory/species"][:]
count = len(species)
i, j = np.triu_indices(count, 1)
epsilon, sigma, cutoff = (
    np.array([[pair[key] for pair in row] for row in pairs])[species[i], species[j]]
    for key in ("epsilon", "sigma", "cutoff")
)


def bare(r, epsilon, sigma):
    s6 = (sigma / r) ** 6
    return 4 * epsilon * (s6 * s6 - s6), -24 * epsilon * (2 * s6 * s6 - s6) / r


u_cutoff, slope_cutoff = bare(cutoff, epsilon, sigma)


def energy_and_gradient(flat):
    """U(r) - U(r_c) - (r - r_c) U'(r_c)."""
    x = flat.reshape(count, 3)
    d = x[i] - x[j]
    d -= edges * np.round(d / edges)
    r = np.sqrt((d**2).sum(axis=1))
    near = np.flatnonzero(r < cutoff)
    r, d = r[near], d[near]
    u, slope = bare(r, epsilon[near], sigma[near])
    u -= u_cutoff[near] + (r - cutoff[near]) * slope_cutoff[near]
    pull = ((slope - slope_cutoff[near]) / r)[:, None] * d
    sums = lambda particle, axis: np.bincount(particle[near], pull[:, axis], minlength=count)
    gradient = np.stack([sums(i, axis) - sums(j, axis) for axis in range(3)], axis=1)
    return u.sum(), gradient.ravel()


observables = results["observables"]
e_is = observables["inherent_structure_energy/value"][:]
steps = observables["inherent_structure_energy/step"][:]
frames = trajectory["particles/trajectory/position/value"][:]
assert (minima["particles/trajectory/position/step"][:] == steps).all()
assert (trajectory["particles/trajectory/position/step"][:] == steps).all()
configurations = minima["particles/trajectory/position/value"][:]
assert (observables["inherent_structure_residual_force/value"][:] < tolerance).all()

worst = 0
for start, end, energy in zip(frames, configurations, e_is):
    plain, gradient = energy_and_gradient(end.ravel())
    assert abs(plain / count - energy) < 1e-11
    forces = np.linalg.norm(gradient.reshape(count, 3), axis=1)
    assert forces.max() < tolerance * (1 + 1e-6), forces.max()
    # The gradient of this file is that of its energy.
    direction = np.sin(np.arange(3 * count))
    near = [energy_and_gradient(start.ravel() + s * 1e-6 * direction)[0] for s in (1, -1)]
    slope = energy_and_gradient(start.ravel())[1] @ direction
    assert abs((near[0] - near[1]) / 2e-6 - slope) < 1e-5 * abs(slope) + 1e-4
    options = dict(maxiter=100_000, maxfun=200_000, gtol=1e-7, ftol=0, maxcor=20)
    other = minimize(
        energy_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    worst = max(worst, abs(other.fun / count - energy))
    print(energy, other.fun / count - energy, abs(other.jac).max(), other.nit)
assert worst < 1e-8, worst

universe = MDAnalysis.Universe(sys.argv[3])
assert len(universe.trajectory) == len(steps) and len(universe.atoms) == count
np.testing.assert_array_equal(universe.trajectory[-1].positions, np.float32(configurations[-1]))
assert (universe.trajectory[-1].velocities == 0).all()
print("ok")
