"""What LAMMPS makes of a state: the other program of `lammps.toml`.

    python lammps_peer.py --version      # which LAMMPS there is; ends with 69 and the reason if there is none
    python lammps_peer.py < STATE        # follows it at constant energy and prints what comes out

STATE and what is printed are JSON: dimension, edges, species (count and mass, all of the first before all of the
second), potential (as in a results file), timestep, steps, every, position and velocity by particle; then `step`,
`series` (by sample, under the names of /observables), `forces` at the start, `position` and `velocity` at the end.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python"))
import lammps_session  # noqa: E402

# EX_UNAVAILABLE of sysexits.h.
UNAVAILABLE = 69


def version():
    try:
        lammps_session.start().close()
        return f"LAMMPS {lammps_session.version()}"
    except (ImportError, OSError) as error:
        print(f"no LAMMPS in {sys.executable}: {error}", file=sys.stderr)
        raise SystemExit(UNAVAILABLE) from None


def flat(vectors):
    return [number for vector in vectors for number in vector]


def follow(state):
    dimension, species = state["dimension"], state["species"]
    kinds = [kind for kind, one in enumerate(species, start=1) for _ in range(one["count"])]
    lmp = lammps_session.load(
        dimension, state["edges"], kinds, [one["mass"] for one in species],
        flat(state["position"]), flat(state["velocity"]))
    lmp.commands_list(lammps_session.pair_commands(state["potential"]) + [
        "compute total all pressure thermo_temp",
        "thermo_style custom step pe ke press c_total[*]",
        "thermo_modify norm no",
        f"timestep {state['timestep']!r}",
        "fix integrate all nve",
        "run 0 post no",
    ])
    names = ["potential_energy", "kinetic_energy", "internal_energy", "pressure", "stress_tensor"]
    step, series = [], {name: [] for name in names}

    def sample():
        potential, kinetic = (lmp.get_thermo(word) / len(kinds) for word in ("pe", "ke"))
        total = lmp.extract_compute("total", 0, 1)
        xx, yy, zz, xy, xz, yz = (-total[k] for k in range(6))
        rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        series["potential_energy"].append(potential)
        series["kinetic_energy"].append(kinetic)
        series["internal_energy"].append(potential + kinetic)
        series["pressure"].append(lmp.get_thermo("press"))
        series["stress_tensor"].extend(flat(row[:dimension] for row in rows[:dimension]))

    forces = lammps_session.vectors(lmp, "f")
    for now in range(0, state["steps"] + 1, state["every"]):
        if now > 0:
            lmp.command(f"run {state['every']} post no")
        step.append(now)
        sample()
    return {
        "step": step,
        "series": series,
        "forces": forces,
        "position": lammps_session.vectors(lmp, "x"),
        "velocity": lammps_session.vectors(lmp, "v"),
    }


if __name__ == "__main__":
    if "--version" in sys.argv:
        print(version())
    else:
        json.dump(follow(json.load(sys.stdin)), sys.stdout)
