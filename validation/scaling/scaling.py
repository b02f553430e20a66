"""Weak and strong scaling over the GPUs of a host.

    python scaling.py SUPERCOOL [--gpus 1 2 4] [--cases weak strong-4000000 ...] [--precisions double-single fixed-point]
                      [--transport auto] [--output scaling.json]

Kob-Andersen mixtures at density 1.2, T = 0.8, time step 0.004 (`supercool bench`), and the fluid of Glaser et al.,
Comput. Phys. Commun. 192, 97 (2015): 10,976,000 particles at packing fraction 0.2, cutoff 3.0, time step 0.002. Every number of GPUs is
measured in the same call. Weak: efficiency is the speed of a GPU among others over that of one alone. Strong: steps
per second over those of one GPU. The share of communication is that of all ranks' time in which they waited for
others, or exchanged particles and ghosts. SUPERCOOL is a build with the feature `mpi`; `mpirun` starts it.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

# Model, time step, particles (of each GPU for `weak`), and what four GPUs should reach.
CASES = {
    "weak": ("kob-andersen", 0.004, 1_000_000, 0.93),
    "strong-4000000": ("kob-andersen", 0.004, 4_000_000, 3.6),
    "strong-1000000": ("kob-andersen", 0.004, 1_000_000, 3.0),
    "strong-256000": ("kob-andersen", 0.004, 256_000, 2.0),
    "fluid-10976000": ("lj-fluid", 0.002, 10_976_000, 3.7),
}


def measure(program, model, timestep, particles, gpus, precision, transport):
    """A measurement of `supercool bench` on a number of ranks."""
    bench = ["bench", "--engine", "cuda", "--model", model, "--particles", str(particles), "--precision", precision]
    bench += ["--timestep", str(timestep), "--transport", transport, "--json"]
    ranks = ["mpirun", "--bind-to", "none", "-n", str(gpus)] if gpus > 1 else []
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ended = subprocess.run([*ranks, program, *bench], env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join([*ranks, program, *bench])} failed:\n{ended.stderr}")
    [measured] = json.loads(ended.stdout)
    return measured


def row(case, precision, gpus, measured, alone):
    """A line of the table."""
    *_, wanted = CASES[case]
    ratio = measured["steps_per_second"] / alone["steps_per_second"]
    target = f" (four: {wanted})" if gpus == 4 else ""
    engine = measured["engine"]
    share = engine.get("communication_share")
    return " | ".join(
        [
            f"| {case}",
            precision,
            str(gpus),
            f"{measured['particles']:,}",
            f"{measured['steps_per_second']:,.0f}",
            f"{measured['particle_steps_per_second']:.3g}",
            f"{ratio:.3f}{target}",
            f"{100 * share:.1f} %" if share is not None else "",
            engine.get("transport", "") + " |",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("supercool", type=Path)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--precisions", nargs="+", default=["double-single", "fixed-point"])
    parser.add_argument("--transport", default="auto")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    program = str(arguments.supercool.resolve())
    print("| case | precision | GPUs | particles | steps/s | particle-steps/s | ratio | communication | transport |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    results = []
    for case in arguments.cases:
        model, timestep, particles, _ = CASES[case]
        for precision in arguments.precisions:
            alone = None
            for gpus in sorted({1, *arguments.gpus}):
                count = particles * gpus if case == "weak" else particles
                measured = measure(program, model, timestep, count, gpus, precision, arguments.transport)
                alone = alone or measured
                print(row(case, precision, gpus, measured, alone), flush=True)
                results.append({"case": case, "gpus": gpus, **measured})
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
