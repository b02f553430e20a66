"""Conservation of energy and momentum over long runs: section 4 of Colberg & Hoefling, Comput. Phys. Commun.
182, 1120 (2011), figures 4 and 5.

    python drift.py SUPERCOOL [--steps 10000000 single=2000000] [--only lj-smooth-0.001 ...] [--precisions ...]
                    [--gpus 4] [--max-walltime SECONDS] [--particles 10000] [--equilibration 100000] [--output DIR]
                    [--keep DIR]

10,000 particles at density 0.75 and T = 1.12, Lennard-Jones (cutoff 2.5) and WCA, with and without smoothing
(h = 0.005), time steps 0.001 and 0.003: equilibrated over 1e5 steps with an Andersen thermostat, then at constant
energy. A run whose results are there is not repeated; one that was stopped continues. Needs h5py and numpy; figures.py
draws the figures.

`--keep` writes 200 samples of every run into a small file, from which the figures can be drawn without the runs:
full_runs has those of the last full runs.

Drift: slope of a straight line through the total energy per particle, times 1e7 steps, divided by the mean.
The centre-of-mass velocity is its largest magnitude in thermal velocities sqrt(3 T).
"""

import argparse
import itertools
import json
import os
import queue
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np

TEMPERATURE = 1.12
# With which supercool ends if it was stopped before the end of a run.
STOPPED = 75
# Per 1e7 steps, from section 4.2 of the paper: in single precision, and in double-single smoothed at dt = 0.001.
PAPER = {("lj", "single"): 1e-3, ("wca", "single"): 1e-3, ("lj", "smooth"): 6e-5, ("wca", "smooth"): 5e-6}

TEMPLATE = """
[system]
dimension = 3
density = 0.75
seed = 20110
species = [{{ name = "A", count = {particles} }}]
initial = {{ lattice = "fcc", temperature = 1.12 }}

[potential]
kind = "{kind}"
{cutoff}
truncation = {truncation}
pairs = {{ AA = {{ epsilon = 1.0, sigma = 1.0 }} }}

[run]
engine = "{engine}"
precision = "{precision}"
timestep = {timestep}

[[stage]]
name = "equilibrate"
steps = {equilibration}
thermostat = {{ kind = "andersen", temperature = 1.12, rate = 1.0 }}

[[stage]]
name = "constant-energy"
steps = {steps}
observe = {{ thermodynamics = {every} }}
"""


def cases():
    for potential, smooth, timestep in itertools.product(["lj", "wca"], [True, False], [0.001, 0.003]):
        yield f"{potential}-{'smooth' if smooth else 'plain'}-{timestep}", potential, smooth, timestep


def write(path, potential, smooth, timestep, precision, steps, arguments):
    path.write_text(TEMPLATE.format(
        particles=arguments.particles, equilibration=arguments.equilibration, engine=arguments.engine,
        kind="lennard-jones" if potential == "lj" else "wca",
        cutoff="cutoff = 2.5" if potential == "lj" else "",
        truncation='{ kind = "smooth", width = 0.005 }' if smooth else '"shifted"',
        precision=precision, timestep=timestep, steps=steps, every=max(steps // 1000, 1)))


def run(supercool, path, directory, gpu, seconds):
    """The seconds that it took; None if it was stopped after those that it had."""
    begin = time.monotonic()
    environment = dict(os.environ)
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    if any(directory.glob("checkpoint-*.scp")):
        command = [supercool, "resume", directory, "--quiet"]
    else:
        command = [supercool, "run", path, "--output", directory, "--force", "--quiet"]
    if seconds is not None:
        command += ["--max-walltime", f"{max(seconds, 0):.0f}s"]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, env=environment)
    if ended.returncode == STOPPED:
        return None
    ended.check_returncode()
    return time.monotonic() - begin


def finished(directory):
    path = directory / "constant-energy.h5"
    if not path.exists():
        return False
    with h5py.File(path, "r", swmr=True) as f:
        return bool(f["progress/complete"][()])


def evaluate(directory):
    with h5py.File(directory / "constant-energy.h5", "r") as f:
        step = f["observables/internal_energy/step"][:].astype(float)
        energy = f["observables/internal_energy/value"][:]
        velocity = f["observables/center_of_mass_velocity/value"][:]
    slope = np.polyfit(step - step[0], energy, 1)[0]
    mean = abs(energy.mean())
    return {
        "steps": int(step[-1] - step[0]),
        "drift": slope * 1e7 / mean,
        "change": (energy[-1] - energy[0]) / mean,
        "scatter": float(np.std(energy - np.polyval(np.polyfit(step, energy, 1), step)) / mean),
        "center_of_mass": float(np.linalg.norm(velocity, axis=1).max() / np.sqrt(3 * TEMPERATURE)),
    }


def keep(directory, path):
    """Steps since the start, total energy per particle and velocity of the centre of mass at 200 moments."""
    with h5py.File(directory / "constant-energy.h5", "r") as f:
        step = f["observables/internal_energy/step"][:]
        energy = f["observables/internal_energy/value"][:]
        velocity = f["observables/center_of_mass_velocity/value"][:]
    rows = np.unique(np.linspace(0, len(step) - 1, 201).astype(int))
    # Energies to 1e-9, a hundredth of the smallest change that is seen.
    lines = [f"{step[row] - step[0]},{energy[row]:.9f},{','.join(f'{v:.3e}' for v in velocity[row])}" for row in rows]
    path.write_text("step,energy,velocity_x,velocity_y,velocity_z\n" + "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("supercool", type=Path)
    parser.add_argument("--steps", nargs="+", default=["10000000"], help="number, or PRECISION=NUMBER for one precision")
    parser.add_argument("--only", nargs="*", help="names such as lj-smooth-0.001")
    parser.add_argument("--precisions", nargs="+", default=["fixed-point", "double-single", "single", "double"])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--particles", type=int, default=10_000, help="fewer, to try it")
    parser.add_argument("--equilibration", type=int, default=100_000, help="steps")
    parser.add_argument("--gpus", type=int, default=0, help="run on this number of GPUs at once")
    parser.add_argument("--max-walltime", type=float, help="seconds after which runs are stopped; the same command goes on")
    parser.add_argument("--output", type=Path, default=Path("results/energy_drift"))
    parser.add_argument("--keep", type=Path, help="folder for small files of the runs")
    arguments = parser.parse_args()
    # A bare file name would be looked for on the PATH.
    arguments.supercool = arguments.supercool.resolve()
    if not arguments.supercool.is_file():
        parser.error(f"{arguments.supercool}: no such program")
    if arguments.keep and arguments.keep.exists() and not arguments.keep.is_dir():
        parser.error(f"--keep {arguments.keep}: this is a file; a folder is needed")
    names = [name for name, *_ in cases()]
    unknown = [name for name in arguments.only or [] if name not in names]
    if unknown:
        parser.error(f"--only {unknown[0]}: no such case; there are {', '.join(names)}")
    steps = {}
    for word in arguments.steps:
        precision, _, number = word.rpartition("=")
        if precision and precision not in arguments.precisions:
            parser.error(f"--steps {word}: no such precision among {', '.join(arguments.precisions)}")
        if not number.isdecimal() or int(number) == 0:
            parser.error(f"--steps {word}: the number of steps is a positive integer")
        steps[precision or None] = int(number)
    if arguments.gpus < 0:
        parser.error(f"--gpus {arguments.gpus}: a number of GPUs, or 0 for the one that supercool takes")
    arguments.output.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    gpus = queue.SimpleQueue()
    for gpu in range(arguments.gpus) if arguments.gpus else [None]:
        gpus.put(gpu)
    print(f"{'case':18}{'precision':>15}{'steps':>10}{'drift/1e7':>11}{'paper':>9}"
          f"{'change':>10}{'scatter':>10}{'v_cm':>10}{'seconds':>9}", flush=True)

    def row(job):
        (name, potential, smooth, timestep), precision = job
        directory = arguments.output / f"{name}-{precision}"
        config = arguments.output / f"{name}-{precision}.toml"
        wanted = steps.get(precision, steps.get(None, 10_000_000))
        write(config, potential, smooth, timestep, precision, wanted, arguments)
        seconds = 0.0
        if not finished(directory):
            gpu = gpus.get()
            try:
                most = arguments.max_walltime
                left = None if most is None else most - (time.monotonic() - begin)
                seconds = None if left is not None and left <= 0 else run(arguments.supercool, config, directory, gpu, left)
            finally:
                gpus.put(gpu)
            if seconds is None:
                return None
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            keep(directory, arguments.keep / f"{directory.name}.csv")
        row = {"case": name, "precision": precision, "seconds": seconds, **evaluate(directory)}
        paper = PAPER.get((potential, "single" if precision == "single" else "smooth" if smooth else ""))
        paper = f"{paper:.0e}" if paper and timestep == 0.001 else "-"
        print(f"{name:18}{precision:>15}{row['steps']:>10}{row['drift']:>11.1e}{paper:>9}"
              f"{row['change']:>10.1e}{row['scatter']:>10.1e}{row['center_of_mass']:>10.1e}{seconds:>9.1f}", flush=True)
        return row

    chosen = [case for case in cases() if not arguments.only or case[0] in arguments.only]
    jobs = [(case, precision) for precision in arguments.precisions for case in chosen]
    with ThreadPoolExecutor(max(arguments.gpus, 1)) as pool:
        rows = [done for done in pool.map(row, jobs) if done is not None]
    if len(rows) < len(jobs):
        print(f"stopped: {len(jobs) - len(rows)} runs are not finished; the same command goes on with them")
    (arguments.output / "drift.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
