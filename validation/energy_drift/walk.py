"""How far the energy walks at random at constant energy, in each precision, from many small systems.

    python walk.py SUPERCOOL [--cases wca lj kob-andersen] [--precisions double double-single fixed-point] [--width 0.005]
                   [--timestep 0.001] [--seeds 6] [--steps 1000000] [--particles 500] [--jobs 2] [--output DIR]

The fluids of section 4 of Colberg & Hoefling, Comput. Phys. Commun. 182, 1120 (2011), and the Kob-Andersen liquid at
T = 0.48, smoothed with h = `width`. Minutes on a CPU, an hour for `kob-andersen`. Runs that are there are not repeated.
Needs h5py and numpy.

Pairs that cross the edge of the potential in a few steps change the energy by a little each, of either sign: it walks, and
one run's slope tells nothing below the width of that. Systems are independent of each other, so the variance of the
change of E per particle in n steps is w n / N + f, where f is left by the bounded fluctuation of the discrete energy. w is
the difference of the mean squared changes in 1e5 and in 2e4 steps, over all seeds, times N over 8e4. `width` is the change
in 1e7 steps of 10,000 particles (or in 5e7 steps of 50,000) that this gives, in relation to the energy; `slope` the mean over
the seeds of a straight line's, per 1e7 steps of these systems, with its standard error.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np

import fluctuations

# Steps between two samples, and between the states whose energies are compared.
EVERY, LAG, SHORT_LAG = 200, 100_000, 20_000

ONE = 'species = [{{ name = "A", count = {particles} }}]'
TWO = 'species = [{{ name = "A", count = {majority} }}, {{ name = "B", count = {minority} }}]'
SIGMA = "AA = {{ epsilon = 1.0, sigma = 1.0 }}"
MIXED = f'{SIGMA}\nAB = {{{{ epsilon = 1.5, sigma = 0.8 }}}}\nBB = {{{{ epsilon = 0.5, sigma = 0.88 }}}}'

# Density, temperature at the start and later, species, potential, pairs.
CASES = {
    "wca": (0.75, 1.12, 1.12, ONE, 'kind = "wca"', SIGMA),
    "lj": (0.75, 1.12, 1.12, ONE, 'kind = "lennard-jones"\ncutoff = 2.5', SIGMA),
    "kob-andersen": (1.2, 2.0, 0.48, TWO, 'kind = "lennard-jones"\ncutoff = 2.5', MIXED),
}

TEMPLATE = """
[system]
dimension = 3
density = {density}
seed = {seed}
{species}
initial = {{ lattice = "fcc", temperature = {hot} }}

[potential]
{potential}
truncation = {{ kind = "smooth", width = {width} }}
[potential.pairs]
{pairs}

[run]
engine = "cpu"
threads = 1
precision = "{precision}"
timestep = {timestep}

[[stage]]
name = "equilibrate"
steps = 30_000
thermostat = {{ kind = "nose-hoover", temperature = {{ from = {hot}, to = {temperature} }}, period = 0.5 }}

[[stage]]
name = "constant-energy"
steps = {steps}
observe = {{ thermodynamics = {every} }}
"""


def text(case, precision, seed, arguments):
    density, hot, temperature, species, potential, pairs = CASES[case]
    minority = arguments.particles // 5
    numbers = {"particles": arguments.particles, "majority": arguments.particles - minority, "minority": minority}
    return TEMPLATE.format(
        density=density, seed=seed, species=species.format(**numbers), hot=hot, temperature=temperature,
        potential=potential, pairs=pairs.format(), width=arguments.width, precision=precision,
        timestep=arguments.timestep, steps=arguments.steps, every=EVERY)


def changes2(energy, lag):
    """Squared changes between states that are a number of steps apart."""
    return np.diff(energy[:: lag // EVERY]) ** 2


def row(case, precision, directories, particles):
    energies, slopes = [], []
    for directory in directories:
        with h5py.File(directory / "constant-energy.h5", "r") as f:
            group = f["observables/internal_energy"]
            step, energy = group["step"][:].astype(float), group["value"][:]
        energies.append(energy)
        slopes.append(np.polyfit(step - step[0], energy, 1)[0] * 1e7 / abs(energy.mean()))
    mean = abs(np.mean([energy.mean() for energy in energies]))
    long, short = (np.concatenate([changes2(energy, lag) for energy in energies]) for lag in (LAG, SHORT_LAG))
    walk = (long.mean() - short.mean()) * particles / (LAG - SHORT_LAG)
    error = np.hypot(long.std() / np.sqrt(len(long)), short.std() / np.sqrt(len(short))) * particles / (LAG - SHORT_LAG)
    width = np.sqrt(max(walk, 0.0) * 1e7 / 1e4) / mean
    slope_error = np.std(slopes, ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else float("nan")
    print(f"{case:14}{precision:>15}{len(slopes):>6}{walk:>11.1e}{error:>10.1e}{width:>10.1e}"
          f"{np.mean(slopes):>11.1e}{slope_error:>10.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("supercool", type=Path)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["wca", "lj"])
    parser.add_argument("--precisions", nargs="+", default=["double", "double-single", "fixed-point"])
    parser.add_argument("--width", type=float, default=0.005, help="h of the smoothing")
    parser.add_argument("--timestep", type=float, default=0.001)
    parser.add_argument("--seeds", type=int, default=6, help="runs of each")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--particles", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2, help="runs at once, a thread each")
    parser.add_argument("--output", type=Path, default=Path("results/energy_drift/walk"))
    arguments = parser.parse_args()
    # A bare file name would be looked for on the PATH.
    arguments.supercool = arguments.supercool.resolve()
    if not arguments.supercool.is_file():
        parser.error(f"{arguments.supercool}: no such program")
    for option in ("seeds", "particles", "jobs"):
        if getattr(arguments, option) < 1:
            parser.error(f"--{option} {getattr(arguments, option)}: at least 1")
    if arguments.steps < 2 * LAG:
        parser.error(f"--steps {arguments.steps}: at least {2 * LAG}, twice the steps between compared states")
    arguments.output.mkdir(parents=True, exist_ok=True)
    print(f"{'case':14}{'precision':>15}{'runs':>6}{'w':>11}{'error':>10}{'width':>10}{'slope':>11}{'error':>10}", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for case in arguments.cases:
            for precision in arguments.precisions:
                def run(seed):
                    name = f"{case}-{arguments.width}-{arguments.timestep}-{precision}-{seed}"
                    return fluctuations.run(arguments.supercool, arguments.output, name,
                                            text(case, precision, seed, arguments), "constant-energy")
                row(case, precision, list(pool.map(run, range(1, arguments.seeds + 1))), arguments.particles)


if __name__ == "__main__":
    main()
