"""Numerical fluctuations of the energy, which scale as the square of the time step: section 4.3 of Colberg & Hoefling,
Comput. Phys. Commun. 182, 1120 (2011), figure 6.

    python fluctuations.py SUPERCOOL [--particles 10000] [--precisions ...] [--engine auto] [--output DIR]

One state of the Lennard-Jones liquid (density 0.75, T = 1.12; 1e5 steps with an Andersen thermostat in double-single) is
followed for a time of 1 with time steps of 0.001 to 0.005, cut and shifted and smoothed (h = 0.01). Minutes on a CPU. A
run whose results are there is not repeated. Needs h5py and numpy; figures.py draws the figure.

[E(t) - E(0)] / dt^2 should not depend on dt: `spread` is the root mean square of its difference from the mean over 0.002,
0.003 and 0.004, in relation to that mean's root mean square, and counts what the precision and the cutoff spoil.
"""

import argparse
import json
import subprocess
from pathlib import Path

import h5py
import numpy as np

TIMESTEPS = [0.001, 0.002, 0.003, 0.004, 0.005]
# Of these the mean is taken.
MIDDLE = [0.002, 0.003, 0.004]
TRUNCATIONS = {"shifted": '"shifted"', "smooth": '{ kind = "smooth", width = 0.01 }'}

SYSTEM = """
[system]
dimension = 3
density = 0.75
seed = 20110
species = [{{ name = "A", count = {particles} }}]
initial = {initial}

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = {truncation}
pairs = {{ AA = {{ epsilon = 1.0, sigma = 1.0 }} }}

[run]
engine = "{engine}"
precision = "{precision}"
timestep = {timestep}

[[stage]]
name = "{stage}"
steps = {steps}
"""

EQUILIBRATE = """thermostat = {{ kind = "andersen", temperature = 1.12, rate = 1.0 }}
observe = {{ thermodynamics = {steps}, trajectory = {steps} }}
"""

FOLLOW = "observe = { thermodynamics = 1 }\n"


def run(supercool, output, name, text, stage):
    """The directory of a run, which is not repeated if it is complete and of the same text."""
    config, directory = output / f"{name}.toml", output / name
    same = config.exists() and config.read_text() == text
    results = directory / f"{stage}.h5"
    if not (same and results.exists() and complete(results)):
        config.write_text(text)
        command = [supercool, "run", config, "--output", directory, "--force", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return directory


def complete(path):
    with h5py.File(path, "r") as f:
        return bool(f["progress/complete"][()])


def energies(directory):
    """Times and E(t) - E(0)."""
    with h5py.File(directory / "follow.h5", "r") as f:
        group = f["observables/internal_energy"]
        return group["time"][:] - group["time"][0], group["value"][:] - group["value"][0]


def spread(curves):
    """By time step; `curves` holds times and rescaled energies by time step."""
    times = np.linspace(0.05, 0.95, 200)
    values = {dt: np.interp(times, *curve) for dt, curve in curves.items()}
    mean = np.mean([values[dt] for dt in MIDDLE], axis=0)
    size = np.sqrt(np.mean(mean**2))
    return {dt: float(np.sqrt(np.mean((value - mean) ** 2)) / size) for dt, value in values.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("supercool", type=Path)
    parser.add_argument("--particles", type=int, default=10_000)
    parser.add_argument("--equilibration", type=int, default=100_000, help="steps")
    parser.add_argument("--precisions", nargs="+", default=["fixed-point", "double-single", "single", "double"])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--output", type=Path, default=Path("results/energy_drift/fluctuations"))
    arguments = parser.parse_args()
    # A bare file name would be looked for on the PATH.
    arguments.supercool = arguments.supercool.resolve()
    if not arguments.supercool.is_file():
        parser.error(f"{arguments.supercool}: no such program")
    output = arguments.output
    output.mkdir(parents=True, exist_ok=True)

    def system(stage, steps, precision, timestep, truncation, initial, rest):
        return SYSTEM.format(
            particles=arguments.particles, engine=arguments.engine, initial=initial, precision=precision,
            timestep=timestep, truncation=truncation, stage=stage, steps=steps) + rest

    steps = arguments.equilibration
    start = run(
        arguments.supercool, output, "start",
        system("equilibrate", steps, "double-single", 0.001, '{ kind = "smooth", width = 0.005 }',
               '{ lattice = "fcc", temperature = 1.12 }', EQUILIBRATE.format(steps=steps)), "equilibrate")
    # Positions and velocities as 64-bit numbers, for every precision.
    initial = f'{{ file = "{(start / "equilibrate.h5md").resolve()}", step = {steps} }}'
    print(f"{'truncation':12}{'precision':>15}" + "".join(f"{dt:>10}" for dt in TIMESTEPS) + "   spread, by time step")
    rows = []
    for truncation, words in TRUNCATIONS.items():
        for precision in arguments.precisions:
            curves = {}
            for dt in TIMESTEPS:
                name = f"{truncation}-{precision}-{dt}"
                text = system("follow", round(1 / dt), precision, dt, words, initial, FOLLOW)
                time, change = energies(run(arguments.supercool, output, name, text, "follow"))
                curves[dt] = (time, change / dt**2)
            found = spread(curves)
            print(f"{truncation:12}{precision:>15}" + "".join(f"{found[dt]:>10.3f}" for dt in TIMESTEPS), flush=True)
            rows.append({"truncation": truncation, "precision": precision, "spread": found})
    (output / "fluctuations.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
