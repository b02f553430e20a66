"""Makes tests/data/formulas.json, nist.json and berni.json.

    python formula_reference.py                   # every form with every truncation; NIST; fcc
    python formula_reference.py --berni DIRECTORY  # berni.json too, from berni_samples.py's files

The values come from pair_sum.py: a plain sum over all pairs in 80-bit arithmetic. Needs numpy.
"""

import argparse
from pathlib import Path

import numpy as np

import extended_xyz
from models import (
    EVEN_QUARTIC,
    FORCE_SHIFTED,
    LENNARD_JONES,
    SHARP,
    SHIFTED,
    SOFT_SPHERES,
    exp_6_mixture,
    mixture,
    one_component,
    smooth,
)
from pair_sum import VIRIAL_MEANING, evaluate, write_cases

DATA = Path(__file__).resolve().parent.parent / "data"
FORCES_KEPT = 50

FORMS = [
    (LENNARD_JONES, {}),
    ({"kind": "mie", "m": 14, "n": 7}, {}),
    ({"kind": "mie", "m": 36, "n": 18}, {}),
    ({"kind": "inverse-power", "n": 8}, {}),
    ({"kind": "inverse-power", "n": 12}, {}),
    ({"kind": "inverse-power", "n": 18}, {}),
    ({"kind": "inverse-power", "n": 24}, {}),
    ({"kind": "harmonic-spheres"}, {"cutoff": 1.0}),
    ({"kind": "yukawa"}, {"kappa": 2.0}),
    ({"kind": "gaussian-core"}, {}),
    ({"kind": "dzugutov"}, {"cutoff": 1.94}),
]
TRUNCATIONS = [SHARP, SHIFTED, FORCE_SHIFTED, EVEN_QUARTIC, smooth(0.005)]

# NIST Standard Reference Simulation Website, Lennard-Jones fluid reference calculations, cuboid cell:
# configuration, scheme, cutoff, U_pair, W_pair, U_LRC as printed there.
NIST = [
    (1, "lrc", 3.0, "-4.3515E+03", "-5.6867E+02", "-1.9849E+02"),
    (1, "lrc", 4.0, "-4.4675E+03", "-1.2639E+03", "-8.3769E+01"),
    (1, "force-shifted", 3.0, "-3.8709E+03", "3.1754E+02", "0"),
    (2, "lrc", 3.0, "-6.9000E+02", "-5.6846E+02", "-2.4230E+01"),
    (2, "lrc", 4.0, "-7.0460E+02", "-6.5599E+02", "-1.0226E+01"),
    (2, "force-shifted", 3.0, "-6.2012E+02", "-4.4533E+02", "0"),
    (3, "lrc", 3.0, "-1.1467E+03", "-1.1649E+03", "-4.9622E+01"),
    (3, "lrc", 4.0, "-1.1754E+03", "-1.3371E+03", "-2.0942E+01"),
    (3, "force-shifted", 3.0, "-1.0210E+03", "-9.3578E+02", "0"),
    (4, "lrc", 3.0, "-1.6790E+01", "-4.6249E+01", "-5.4517E-01"),
    (4, "lrc", 4.0, "-1.7060E+01", "-4.7869E+01", "-2.3008E-01"),
    (4, "force-shifted", 3.0, "-1.5001E+01", "-4.3096E+01", "0"),
]


def case(name, configuration_name, configuration, definition, kept=FORCES_KEPT):
    result = evaluate(configuration, definition)
    return {
        "name": name,
        "configuration": configuration_name,
        "potential": definition,
        "pairs_in_cutoff": result["pairs_in_cutoff"],
        "energy": result["energy"],
        "virial": result["virial"],
        "forces": result["forces"][:kept].tolist(),
    }


def form_cases():
    configuration = extended_xyz.read(DATA / "kob_andersen_3d.xyz")
    for form, extra in FORMS:
        words = [str(value) for value in form.values()]
        for truncation in TRUNCATIONS:
            name = " ".join(words + [truncation["kind"]])
            definition = mixture(form, truncation, **extra)
            yield case(name, "kob_andersen_3d.xyz", configuration, definition)
    for truncation in TRUNCATIONS:
        name = f"buckingham {truncation['kind']}"
        yield case(name, "kob_andersen_3d.xyz", configuration, exp_6_mixture(truncation))


def tail_energy(configuration, cutoff):
    """U_LRC = (8 pi / 3) (N^2 / V) (r_c^-9 / 3 - r_c^-3) of the Lennard-Jones fluid."""
    count = len(configuration.species)
    return 8 * np.pi / 3 * count**2 / configuration.volume * (cutoff**-9 / 3 - cutoff**-3)


def as_printed(value, printed):
    """`value` to the digits of `printed`."""
    digits = len(printed.split("E")[0].lstrip("-").replace(".", "")) - 1
    return f"{value:.{digits}E}"


def nist_cases():
    for number, scheme, cutoff, energy, virial, tail in NIST:
        file = f"nist/lj-{number}.xyz"
        configuration = extended_xyz.read(DATA / file)
        truncation = SHARP if scheme == "lrc" else FORCE_SHIFTED
        definition = one_component(LENNARD_JONES, truncation, cutoff)
        entry = case(f"nist {number} {scheme} {cutoff}", file, configuration, definition, kept=0)
        entry["printed"] = {"energy": energy, "virial": virial, "tail_energy": tail}
        assert as_printed(entry["energy"], energy) == energy, entry
        assert as_printed(sum(entry["virial"][:3]), virial) == virial, entry
        if scheme == "lrc":
            entry["tail_energy"] = tail_energy(configuration, cutoff)
            assert as_printed(entry["tail_energy"], tail) == tail, entry
        print(entry["name"], "agrees with the printed numbers")
        yield entry


def fcc_case(cells=6, density=0.8442):
    """Lennard-Jones fcc lattice, r_c = 2.5, not shifted: U/N = -6.7733681 (LAMMPS melt)."""
    edge = (4 * cells**3 / density) ** (1 / 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.array(list(np.ndindex(cells, cells, cells)))
    position = (corners[:, None, :] + basis).reshape(-1, 3) * edge / cells
    configuration = extended_xyz.Configuration(
        3, np.array([edge] * 3), ["A"] * len(position), position)
    definition = one_component(LENNARD_JONES, SHARP, 2.5)
    name = f"fcc lattice, {cells}^3 cells, density {density}"
    entry = case(name, None, configuration, definition, kept=0)
    assert f"{entry['energy'] / len(position):.7f}" == "-6.7733681", entry
    entry["particles"] = len(position)
    return entry


# Energy per particle as stored in berni 0.2.1; none is stored for its Kob-Andersen sample.
BERNI = [
    ("lennard_jones", one_component(LENNARD_JONES, SHIFTED, 2.5), -3.8079776291909284),
    ("bernu_hiwatari_hansen_pastore", SOFT_SPHERES, 1.8746927108811235),
    ("kob_andersen", mixture(LENNARD_JONES, SHIFTED), None),
]


def berni_cases(directory):
    for name, definition, stored in BERNI:
        configuration = extended_xyz.read(Path(directory) / f"{name}.xyz")
        entry = case(f"berni {name}", f"{name}.xyz", configuration, definition, kept=0)
        entry["particles"] = len(configuration.species)
        if stored is not None:
            entry["stored_energy_per_particle"] = stored
            assert abs(entry["energy"] / entry["particles"] / stored - 1) < 1e-14, entry
        yield entry


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--berni", metavar="DIRECTORY")
    berni = arguments.parse_args().berni
    source = "plain sum over pairs in 80-bit arithmetic (tests/python/pair_sum.py)"
    head = {"source": source, "virial": VIRIAL_MEANING}
    write_cases(DATA / "formulas.json", head | {"cases": list(form_cases()) + [fcc_case()]})
    write_cases(DATA / "nist.json", head | {"cases": list(nist_cases())})
    if berni is not None:
        write_cases(DATA / "berni.json", head | {"cases": list(berni_cases(berni))})


if __name__ == "__main__":
    main()
