"""Storage and loss modulus of a simple liquid under oscillatory shear, beside those of its stress fluctuations at rest.

    python moduli.py SUPERCOOL [--systems 64] [--engine cuda] [--amplitude 0.03] [--periods 1 4 20] [--output DIR]

Lennard-Jones, 2,048 particles, cutoff 2.5 with the force shifted to zero, density 0.973, T = 0.7. At rest and constant energy the
relaxation modulus is G(t) = V / T <s_xy(0) s_xy(t)>, and linear response gives

    G'(omega) = omega int_0^inf G(t) sin(omega t) dt,    G''(omega) = omega int_0^inf G(t) cos(omega t) dt.

The integrals end at t = 10, where G has decayed. Errors are those of the scatter over systems. Needs h5py and numpy.
"""

import argparse
import subprocess
from pathlib import Path

import h5py
import numpy as np

TEMPERATURE = 0.7

HEAD = """
[system]
dimension = 3
density = 0.973
seed = 5
species = [{{ name = "A", count = 2048 }}]
initial = {{ lattice = "fcc", temperature = 1.5 }}

[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "force-shifted"
pairs = {{ AA = {{ epsilon = 1.0, sigma = 1.0 }} }}

[run]
engine = "{engine}"
precision = "fixed-point"
timestep = 0.005

[ensemble]
kind = "independent"
systems = {systems}

[output]
directory = "{output}"

[[stage]]
name = "melt"
steps = 10_000
thermostat = {{ kind = "andersen", temperature = 2.0, rate = 5.0 }}

[[stage]]
name = "cool"
steps = 40_000
thermostat = {{ kind = "bussi", temperature = 0.7, time = 0.2 }}

[[stage]]
name = "rest"
steps = 100_000
[[stage.correlation]]
every = 2
block_size = 1000
levels = 1
observables = ["stress-autocorrelation"]
"""

STAGE = """
[[stage]]
name = "period-{period}"
steps = {steps}
shear = {{ amplitude = {amplitude}, period = {period} }}
thermostat = {{ kind = "bussi", temperature = 0.7, time = 0.2 }}
observe = {{ thermodynamics = {every} }}
"""


def steps_of(period):
    count = max(20, round(400 / period))
    return count * round(period / 0.005)


def of_fluctuations(file, period):
    """G' and G'' of each system."""
    name = "dynamics/all-particles/stress_autocorrelation"
    time, values = file[f"{name}/time"][:], file[f"systems/{name}/value"][:]
    omega = 2 * np.pi / period
    wave = np.array([np.sin(omega * time), np.cos(omega * time)])
    return omega * np.trapezoid(values[:, None, :] * wave[None], time, axis=2)


def of_response(file, period, amplitude):
    """The same, of all but the first two periods."""
    stress = file["systems/observables/shear_stress/value"][:]
    time = np.arange(len(stress)) * (period / 40)
    wave = np.array([np.ones_like(time), np.sin(2 * np.pi * time / period), np.cos(2 * np.pi * time / period)]).T
    fit = np.linalg.lstsq(wave[80:-1], stress[80:-1], rcond=None)[0]
    return fit[1:].T / amplitude


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("supercool")
    parser.add_argument("--systems", type=int, default=64)
    parser.add_argument("--engine", default="cuda")
    parser.add_argument("--amplitude", type=float, default=0.03)
    parser.add_argument("--periods", type=float, nargs="+", default=[1.0, 4.0, 20.0])
    parser.add_argument("--output", type=Path, default=Path("oscillation"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    results = arguments.output / "results"
    text = HEAD.format(engine=arguments.engine, systems=arguments.systems, output=results)
    for period in arguments.periods:
        every = round(period / 0.005 / 40)
        text += STAGE.format(period=period, steps=steps_of(period), amplitude=arguments.amplitude, every=every)
    configuration = arguments.output / "oscillation.toml"
    configuration.write_text(text)
    subprocess.run([arguments.supercool, "run", configuration, "--quiet", "--force"], check=True, stdout=subprocess.DEVNULL)
    print("| period | omega | G' of the response | of fluctuations | G'' of the response | of fluctuations |")
    print("| --- | --- | --- | --- | --- | --- |")
    for period in arguments.periods:
        with h5py.File(results / "rest.h5") as file:
            expected = of_fluctuations(file, period)
        with h5py.File(results / f"period-{period}.h5") as file:
            found = of_response(file, period, arguments.amplitude)
        cells = []
        for part in range(2):
            for values in (found[:, part], expected[:, part]):
                cells.append(f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}")
        print(f"| {period} | {2 * np.pi / period:.3f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
