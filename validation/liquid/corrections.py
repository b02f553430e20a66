"""What the suite `liquid` adds to published values before it expects them of us: corrections.py STEPS DIRECTORY.

Runs the two liquids of NIST and HOOMD-blue's with `supercool` (found on the path, or $SUPERCOOL), unless DIRECTORY
has them already. STEPS is a multiple of 6,000; the suite's numbers are of 1,200,000. Needs numpy and h5py.
"""

import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np

CONFIGURATION = """
[system]
dimension = 3
density = {density}
seed = 42
species = [{{ name = "A", count = {particles} }}]
initial = {{ lattice = "{lattice}", temperature = {temperature} }}
[potential]
kind = "lennard-jones"
cutoff = {cutoff}
truncation = "{truncation}"
pairs = {{ AA = {{ epsilon = 1.0, sigma = 1.0 }} }}
[run]
precision = "fixed-point"
timestep = {timestep}
[output]
directory = "{directory}"
[[stage]]
name = "equilibrate"
steps = 10000
thermostat = {{ kind = "andersen", temperature = {temperature}, rate = 1.0 }}
[[stage]]
name = "production"
steps = {steps}
thermostat = {{ kind = "andersen", temperature = {temperature}, rate = 1.0 }}
observe = {observe}
"""


def potential(r):
    return 4 * (r**-12 - r**-6)


def derivative(r):
    return 4 * (6 * r**-7 - 12 * r**-13)


def tail(density, cutoff):
    """Energy per particle and pressure of what lies beyond the cutoff, if g = 1 there."""
    energy = 8 / 3 * np.pi * density * (cutoff**-9 / 3 - cutoff**-3)
    return energy, 16 / 3 * np.pi * density**2 * (2 / 3 * cutoff**-9 - cutoff**-3)


def run(directory, **values):
    production = directory / "production.h5"
    if not production.exists():
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "job.toml"
        path.write_text(CONFIGURATION.format(directory=directory, **values))
        subprocess.run([os.environ.get("SUPERCOOL", "supercool"), "run", path, "--force", "--quiet"], check=True)
    return production


def ensemble(directory, temperature, cutoff=3.0):
    """Means of energy and pressure where the potential jumps less those where it is shifted: -cov(A, n) u(r_c)/T."""
    with h5py.File(directory / "production.h5md") as file:
        edges = file["particles/trajectory/box/edges/value"][0]
        positions = file["particles/trajectory/position/value"][:]
    count, volume = positions.shape[1], edges.prod()
    first, second = np.triu_indices(count, 1)
    pairs, energy, pressure = (np.empty(len(positions)) for _ in range(3))
    for k, x in enumerate(positions):
        apart = np.abs(x[first] - x[second])
        squares = (np.minimum(apart, edges - apart) ** 2).sum(axis=1)
        inverse = squares[squares < cutoff**2] ** -3.0
        pairs[k], energy[k] = len(inverse), 4 * (inverse**2 - inverse).sum() / count
        pressure[k] = (48 * inverse**2 - 24 * inverse).sum() / (3 * volume)
    for name, samples in ("U/N", energy), ("P", pressure):
        products = -potential(cutoff) / temperature * (samples - samples.mean()) * (pairs - pairs.mean())
        blocks = [block.mean() for block in np.array_split(products, 30)]
        print(f"  {name}: {np.mean(blocks):+.5f} +- {np.std(blocks) / 30**0.5:.5f}")


def xplor(production, density, on=3.2, cutoff=4.0):
    """Pressure of the shifted potential less that of one which XPLOR's polynomial switches off."""
    with h5py.File(production) as file:
        group = file["structure/AA/pair_distribution"]
        distance, value = group["distance"][:], group["value"][:]
    r = np.linspace(on, cutoff, 100_001)
    x, inner, outer = r * r, on * on, cutoff * cutoff
    switch = (outer - x) ** 2 * (outer + 2 * x - 3 * inner) / (outer - inner) ** 3
    slope = 12 * r * (outer - x) * (inner - x) / (outer - inner) ** 3
    difference = derivative(r) * switch + potential(r) * slope - derivative(r)
    for name, g in ("g = 1", np.ones_like(r)), ("g(r)", np.interp(r, distance, value)):
        print(f"  {name}: {2 / 3 * np.pi * density**2 * np.trapezoid(r**3 * difference * g, r):+.5f}")


def main(steps, directory):
    for temperature, density, cutoff in (0.85, 0.776, 3), (0.85, 0.86, 3), (0.85, 0.007, 6), (0.9, 0.009, 6):
        energy, pressure = tail(density, cutoff)
        rest = density * temperature / 500
        print(f"T = {temperature}, density {density}: beyond {cutoff} U/N {energy:.6f}, P {pressure:.3e}; T/V {rest:.3e}")
    for density in 0.776, 0.86:
        here = directory / f"nist-{density}"
        nist = dict(density=density, particles=500, lattice="fcc", temperature=0.85, cutoff=3.0, truncation="sharp")
        run(here, **nist, timestep=0.002, steps=steps, observe="{ thermodynamics = 100, trajectory = 100 }")
        print(f"density {density}: jumping less shifted")
        ensemble(here, 0.85)
    density = 0.6269137133228043
    hoomd = dict(density=density, particles=4096, lattice="simple-cubic", temperature=1.5, cutoff=4.0)
    observe = "{ structure = { every = 200, maximum_distance = 4.2 } }"
    production = run(
        directory / "hoomd", **hoomd, truncation="shifted", timestep=0.004, steps=steps // 30, observe=observe
    )
    print("HOOMD-blue's: pressure of the shifted potential less that with XPLOR")
    xplor(production, density)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    main(int(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
