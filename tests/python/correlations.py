"""Compares a results file with tidynamics and freud on its trajectory: correlations.py RESULTS TRAJECTORY

The trajectory has a frame for every sample of the correlations; the finest interval is that of its frames.
"""

import json
import sys

import freud
import h5py
import numpy as np
import tidynamics

results, trajectory = (h5py.File(path, "r") for path in sys.argv[1:])
plan = json.loads(results["parameters/plan"][()])
stage = plan["stages"][-1]
block_size = stage["correlations"][0]["block_size"]
every = stage["correlations"][0]["every"]
dimension = plan["system"]["simulation_box"]["dimension"]

particles = trajectory["particles/trajectory"]
step = particles["position/step"][:]
edges = particles["box/edges/value"][0][:dimension]
wrapped = particles["position/value"][:, :, :dimension]
position = wrapped + particles["image/value"][:, :, :dimension] * edges
velocity = particles["velocity/value"][:, :, :dimension]
if stage["correlations"][0]["remove_drift"]:
    position -= position.mean(axis=1, keepdims=True)
    velocity = velocity - velocity.mean(axis=1, keepdims=True)
species = np.repeat(
    np.arange(len(plan["system"]["species"])), [s["count"] for s in plan["system"]["species"]]
)
names = [s["name"] for s in plan["system"]["species"]]
assert (np.diff(step) == every).all()

# Time correlations. Lags of level n have the origins 0, l^n, 2 l^n, ...: those of every l^n-th frame.
compared = 0
for index, name in enumerate(names):
    own = np.flatnonzero(species == index)
    online = {
        "mean_square_displacement": lambda r, v: tidynamics.msd(r - r[0]),
        "velocity_autocorrelation": lambda r, v: tidynamics.acf(v),
    }
    for observable, evaluate in online.items():
        group = results[f"dynamics/{name}/{observable}"]
        lags = np.rint(group["time"][:] / (plan["run"]["timestep"] * every)).astype(int)
        level = 0
        while block_size**level < len(step):
            interval = block_size**level
            values = np.mean(
                [evaluate(position[::interval, i], velocity[::interval, i]) for i in own], axis=0
            )
            for multiple in range(0 if level == 0 else 1, block_size):
                place = np.flatnonzero(lags == multiple * interval)
                if multiple < len(values) and len(place):
                    # A sum of squares by Fourier transforms: rounding of the largest term.
                    np.testing.assert_allclose(
                        group["value"][place[0]], values[multiple], rtol=1e-9, atol=1e-12 * values.max()
                    )
                    compared += 1
            level += 1
assert compared >= 4 * 2 * block_size, compared

# Bond breaking, of all pairs of particles and frames.
correlation = stage["correlations"][0]
square = np.empty((len(step), len(species), len(species)))
for square_of, r in zip(square, position):
    apart = r[:, None] - r[None]
    apart -= edges * np.rint(apart / edges)
    square_of[:] = (apart**2).sum(axis=2)
neighbors = square < correlation["bonds"]["radius"] ** 2
near = square < correlation["bonds"]["breaking_radius"] ** 2
neighbors[:, np.arange(len(species)), np.arange(len(species))] = False
lost = 0
for part in names + ["all-particles"]:
    own = species == names.index(part) if part in names else species >= 0
    mean, chi = (results[f"dynamics/{part}/{name}"] for name in ("bond_breaking", "bond_breaking_susceptibility"))
    lags = np.rint(mean["time"][:] / (plan["run"]["timestep"] * every)).astype(int)
    for place, lag in enumerate(lags):
        interval = block_size ** max(level for level in range(10) if level == 0 or lag >= block_size**level)
        share = []
        for origin in range(0, len(step) - lag, interval):
            bonds = neighbors[origin][own]
            kept = (bonds & near[origin + lag][own]).sum(axis=1)
            count = bonds.sum(axis=1)
            share.append(np.where(count > 0, kept / np.maximum(count, 1), 1).mean())
        np.testing.assert_allclose(mean["value"][place], np.mean(share), atol=1e-9)
        if len(share) > 1:
            np.testing.assert_allclose(chi["value"][place], own.sum() * np.var(share), atol=1e-6)
        assert lag > 0 or set(share) == {1}
        lost += np.mean(share) < 0.99
assert lost >= 6, lost

# Pair distributions. freud has 32-bit floats: some pairs change the bin.
box = freud.box.Box(*edges, *([] if dimension == 3 else [0]))
frames = wrapped[:: stage["observe"]["structure"]["every"] // every]
for a in range(len(names)):
    for b in range(a, len(names)):
        group = results[f"structure/{names[a]}{names[b]}/pair_distribution"]
        distance, value = group["distance"][:], group["value"][:]
        width = distance[1] - distance[0]
        rdf = freud.density.RDF(bins=len(distance), r_max=len(distance) * width)
        pairs = np.zeros(len(distance))
        for frame in frames:
            points = np.zeros((len(frame), 3))
            points[:, :dimension] = frame - edges / 2
            query = {"r_max": len(distance) * width, "exclude_ii": a == b}
            system = (box, points[species == a])
            rdf.compute(system, query_points=points[species == b], neighbors=query)
            pairs += rdf.bin_counts
        inner, outer = distance - width / 2, distance + width / 2
        power, unit = (3, 4 * np.pi / 3) if dimension == 3 else (2, np.pi)
        shell = unit * (outer**power - inner**power)
        counts = [(species == s).sum() for s in (a, b)]
        ordered = counts[0] * (counts[1] - (a == b))
        expected = len(frames) * ordered * shell / np.prod(edges)
        assert pairs.sum() > 1000
        assert np.abs(value * expected - pairs).max() <= 4, np.abs(value * expected - pairs).max()

# Bond-orientational order; in three dimensions freud's global order weights particles, not bonds.
order = {
    name: results[f"observables/{name}/value"][:]
    for name in ("bond_orientational_order", "local_bond_orientational_order")
}
plan_of_order = stage["observe"]["bond_order"]
frames = wrapped[:: plan_of_order["every"] // every]
assert len(frames) == len(order["bond_orientational_order"]) > 5
for frame, found, local in zip(frames, *order.values()):
    points = np.zeros((len(frame), 3))
    points[:, :dimension] = frame - edges / 2
    neighbors = {"r_max": plan_of_order["radius"], "exclude_ii": True}
    if dimension == 3:
        particle_order = freud.order.Steinhardt(l=6)
    else:
        particle_order = freud.order.Hexatic(k=6)
    particle_order.compute((box, points), neighbors=neighbors)
    each = particle_order.particle_order
    # 32-bit floats: a bond more or less changes the mean by some 1e-4.
    np.testing.assert_allclose(local, np.abs(each).mean(), atol=5e-4)
    if dimension == 2:
        np.testing.assert_allclose(found, np.abs(each.mean()), atol=5e-4)
print("ok")
