"""Mean energies, pressures and temperatures under each thermostat, against the time step.

    python time_step.py SUPERCOOL [--temperature 2.0] [--particles 4000] [--time 1000] [--engine cuda] [--timesteps 0.001 ...]
                        [--output DIR]

The Kob-Andersen liquid at density 1.2 (shifted, cutoff 2.5). After 20 time units under the thermostat, means over `time`, with
errors from blocks. Configurations that have the temperature of the thermostat for any time step give the same U and P in each
row, up to the fourth order. Of Brownian dynamics the time step is the time of flight in a step. Runs that are there are not repeated. Needs h5py and numpy.
"""

import argparse
import subprocess
from pathlib import Path

import h5py
import numpy as np

THERMOSTATS = {
    "andersen": 'kind = "andersen", rate = 2.0',
    "nose-hoover": 'kind = "nose-hoover", period = 0.5',
    "bussi": 'kind = "bussi", time = 0.2',
    "langevin": 'kind = "langevin", friction = 1.0',
    # The time step is that of flight, sqrt(2 dt / friction).
    "brownian": 'kind = "brownian", friction = 10.0',
}

TEMPLATE = """
[system]
dimension = 3
density = 1.2
seed = 20
species = [{{ name = "A", count = {majority} }}, {{ name = "B", count = {minority} }}]
initial = {{ lattice = "fcc", temperature = {temperature} }}

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
[potential.pairs]
AA = {{ epsilon = 1.0, sigma = 1.0 }}
AB = {{ epsilon = 1.5, sigma = 0.8 }}
BB = {{ epsilon = 0.5, sigma = 0.88 }}

[run]
engine = "{engine}"
precision = "fixed-point"
timestep = {timestep}

[[stage]]
name = "equilibrate"
steps = {equilibration}
thermostat = {{ {thermostat}, temperature = {temperature} }}

[[stage]]
name = "production"
steps = {steps}
thermostat = {{ {thermostat}, temperature = {temperature} }}
observe = {{ thermodynamics = {every} }}
"""

COLUMNS = ["potential_energy", "pressure", "half_step_temperature", "temperature"]
BLOCKS = 32


def run(arguments, name, timestep):
    directory = arguments.output / f"{name}-{timestep}"
    results = directory / "production.h5"
    if not results.exists():
        minority = arguments.particles // 5
        step = 5.0 * timestep**2 if name == "brownian" else timestep
        every = round(0.04 / step)
        steps = lambda time: every * round(time / step / every)
        text = TEMPLATE.format(
            majority=arguments.particles - minority,
            minority=minority,
            temperature=arguments.temperature,
            engine=arguments.engine,
            timestep=step,
            thermostat=THERMOSTATS[name],
            equilibration=steps(20),
            steps=steps(arguments.time),
            every=every,
        )
        arguments.output.mkdir(parents=True, exist_ok=True)
        configuration = arguments.output / f"{name}-{timestep}.toml"
        configuration.write_text(text)
        command = [arguments.supercool, "run", configuration, "--quiet", "--force", "--output", directory]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with h5py.File(results) as file:
        for column in COLUMNS:
            values = file[f"observables/{column}/value"][1:]
            blocks = values[: len(values) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)
            yield blocks.mean(), blocks.std(ddof=1) / np.sqrt(BLOCKS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("supercool")
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--particles", type=int, default=4000)
    parser.add_argument("--time", type=float, default=1000)
    parser.add_argument("--engine", default="cuda")
    parser.add_argument("--timesteps", type=float, nargs="+", default=[0.001, 0.002, 0.003, 0.004, 0.005])
    parser.add_argument("--thermostats", nargs="+", default=list(THERMOSTATS))
    parser.add_argument("--output", type=Path, default=Path("time_step"))
    arguments = parser.parse_args()
    print("| thermostat | time step | U / N | P | T of half steps | T of whole steps |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in arguments.thermostats:
        for timestep in arguments.timesteps:
            cells = [f"{mean:.5f} ± {error:.5f}" for mean, error in run(arguments, name, timestep)]
            print(f"| {name} | {timestep} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
