"""Runs `supercool bench` and bench_lammps.py on the same two cores and prints the ratios.

    python compare.py SUPERCOOL [--particles 4000 32000] [--precisions ...] [--json FILE]

The runs alternate with nothing else; the reference is the fastest way of running LAMMPS on two cores
(`omp` or `mpi`), and the ratio to `omp` is given too.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run_json(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return json.loads(done.stdout)


def supercool(binary, particles, precision, steps):
    """The one measurement of a bench of one size and precision."""
    document = run_json([
        binary, "bench", "--particles", str(particles), "--precision", precision,
        "--threads", "2", "--steps", str(steps), "--json"])
    return document[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("supercool", type=Path)
    parser.add_argument("--particles", type=int, nargs="+", default=[4000, 32000])
    parser.add_argument(
        "--precisions", nargs="+", default=["double", "fixed-point", "double-single", "single"])
    parser.add_argument("--particle-steps", type=float, default=4e7, help="of one timed run")
    parser.add_argument("--ways", nargs="+", default=["omp", "mpi", "plain"], help="of running LAMMPS")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    arguments = parser.parse_args()

    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise SystemExit("two cores are needed")
    os.sched_setaffinity(0, cores)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"note: load average is {load:.1f}; other work on this machine spoils the numbers",
              file=sys.stderr)

    lammps = run_json([
        sys.executable, HERE / "bench_lammps.py", "--ways", *arguments.ways,
        "--particles", *map(str, arguments.particles),
        "--steps-per-run", str(arguments.particle_steps)])
    ours = []
    for particles in arguments.particles:
        for precision in arguments.precisions:
            steps = round(arguments.particle_steps / particles)
            result = supercool(arguments.supercool, particles, precision, steps)
            ours.append({"particles": particles, "precision": precision, "result": result})

    print(f"{lammps['processor']}, cores {cores[0]} and {cores[1]}; LAMMPS {lammps['version']}")
    print("Kob-Andersen, density 1.2, T = 0.8, timestep 0.004, cutoff 2.5 sigma_ab")
    print(f"{'':24}{'N':>8}{'steps/s':>12}{'1e6 N steps/s':>15}{'/ omp':>8}{'/ best':>8}")
    for particles in arguments.particles:
        rates = {
            entry["way"]: entry["steps_per_second"]
            for entry in lammps["results"]
            if entry["particles"] == particles
        }
        best = max(rates.values())
        rows = [(f"LAMMPS {way}", rate) for way, rate in rates.items()]
        rows += [
            (f"supercool {entry['precision']}", entry["result"]["steps_per_second"])
            for entry in ours
            if entry["particles"] == particles
        ]
        for name, rate in rows:
            print(f"{name:24}{particles:8}{rate:12.1f}{rate * particles / 1e6:15.3f}"
                  f"{rate / rates['omp']:8.2f}{rate / best:8.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"lammps": lammps, "supercool": ours}, indent=1) + "\n")


if __name__ == "__main__":
    main()
