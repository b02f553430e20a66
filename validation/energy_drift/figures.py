"""Figures 4, 5 and 6 of Colberg & Hoefling, Comput. Phys. Commun. 182, 1120 (2011), of our runs, with the paper's numbers
in grey; and the energy of the Kob-Andersen liquid over the longest runs of the suite `drift`.

    python figures.py [--runs results/energy_drift] [--kept full_runs] [--suite results/validation/full/drift] [--format svg]

draws what is there: `momentum` (figure 4) and `energy` (figure 5) from the runs of drift.py, `fluctuations` (figure 6)
from those of fluctuations.py, `kob_andersen` from those of `supercool validate --full drift`; finished or not. Runs that are not there are drawn from what drift.py has
kept of the last full ones. The figures lie beside the runs. Needs h5py, matplotlib and numpy.

The paper prints few numbers beside its figures; those that are drawn, from sections 4.1 and 4.2:
  momentum: in single precision the centre of mass of the Lennard-Jones liquid drifts ten times less than that of WCA; sums
    of forces in double-single take factors of 20 (WCA) and 2.7 (LJ) off that, integration in double-single 100 more;
  energy: 1e-3 per 1e7 steps in single; 7 (WCA) and 3 (LJ) times less in double-single; smoothed, at a time step of 0.001,
    5e-6 (WCA) and 6e-5 (LJ).
"""

import argparse
from pathlib import Path

import h5py
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import fluctuations  # noqa: E402
from drift import TEMPERATURE, cases  # noqa: E402

PRECISIONS = ["single", "double-single", "fixed-point", "double"]
POTENTIALS = {"wca": "WCA", "lj": "Lennard-Jones"}
PAPER = "0.4"
# Of the single-precision drift, when forces and integration are in double-single.
MOMENTUM_FACTOR = {"wca": 20 * 100, "lj": 2.7 * 100}
ENERGY_IN_SINGLE = 1e-3
ENERGY_FACTOR = {"wca": 7, "lj": 3}
ENERGY_SMOOTH = {"wca": 5e-6, "lj": 6e-5}
STYLES = {
    (True, 0.001): dict(color="C0", label="smooth, 0.001"),
    (False, 0.001): dict(color="C1", label="shifted, 0.001"),
    (True, 0.003): dict(color="C0", linestyle="--", label="smooth, 0.003"),
    (False, 0.003): dict(color="C1", linestyle="--", label="shifted, 0.003"),
}


def series(path, name):
    """Steps since the start of the stage and samples, or None if there is no such run."""
    if not path.exists():
        return None
    with h5py.File(path, "r", swmr=True) as f:
        group = f[f"observables/{name}"]
        value = group["value"][:]
        step = group["step"][: len(value)].astype(float)
    # The first sample of a run that has just begun shows nothing.
    return (step - step[0], value) if len(value) > 1 else None


def kept_series(path, name):
    """The same of a file of `drift.py --keep`."""
    if not path.exists():
        return None
    step, energy, *velocity = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    return step, energy if name == "internal_energy" else np.transpose(velocity)


def of_runs(runs, name):
    """Steps and samples by potential, precision, smoothing and time step."""
    found = {}
    for case, potential, smooth, timestep in cases():
        for precision in PRECISIONS:
            curve = series(runs[0] / f"{case}-{precision}" / "constant-energy.h5", name)
            if curve is None:
                curve = kept_series(runs[1] / f"{case}-{precision}.csv", name)
            if curve is not None:
                found[potential, precision, smooth, timestep] = curve
    return found


def panels(found, rows, share):
    """A grid of rows and the precisions that there are. `rows` names those of the keys of a row by its title; yields
    the axes, title, precision and curves of every panel."""
    precisions = [p for p in PRECISIONS if any(key[1] == p for key in found)]
    rows = {title: of for title, of in rows.items() if any(of(key) for key in found)}
    figure, axes = plt.subplots(
        len(rows), len(precisions), figsize=(3.6 * len(precisions) + 1, 2.8 * len(rows) + 0.8),
        sharex=True, sharey=share, squeeze=False, layout="constrained")
    for row, (title, of) in zip(axes, rows.items()):
        for ax, precision in zip(row, precisions):
            ax.set_title(f"{title}, {precision}", fontsize="medium", loc="right")
            yield ax, title, precision, {key: curve for key, curve in found.items() if of(key) and key[1] == precision}
    for ax in axes[-1]:
        ax.set_xlabel("steps")


def means(step, value, blocks):
    """Over blocks of samples: single ones scatter by more than the energy drifts."""
    width = max(len(value) // blocks, 1)
    count = len(value) // width
    return step[: count * width].reshape(count, width).mean(axis=1), value[: count * width].reshape(count, width).mean(axis=1)


def save(axes, path):
    """With one legend for all panels."""
    figure = axes[0].figure
    entries = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    # A figure of one panel is too narrow for five.
    columns = 5 if len(axes) > 1 else 2
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, fontsize="small")
    figure.savefig(path)
    plt.close(figure)
    print(path)


def momentum(runs, output):
    found = of_runs(runs, "center_of_mass_velocity")
    if not found:
        return
    thermal = np.sqrt(3 * TEMPERATURE)
    moved = {
        key: (step, np.linalg.norm(value - value[0], axis=1) / thermal)
        for key, (step, value) in found.items()
    }
    all_axes = []
    rows = {name: lambda key, potential=potential: key[0] == potential for potential, name in POTENTIALS.items()}
    for ax, name, precision, curves in panels(moved, rows, share=True):
        potential = next(potential for potential, other in POTENTIALS.items() if other == name)
        for key, (step, value) in curves.items():
            ax.plot(step[1:], np.maximum(value[1:], 1e-16), linewidth=0.8, **STYLES[key[2:]])
        single = [value.max() for key, (_, value) in moved.items() if key[:2] == (potential, "single")]
        other = [value.max() for key, (_, value) in moved.items() if key[:2] == ("wca", "single")]
        if precision == "double-single" and single:
            ax.axhline(max(single) / MOMENTUM_FACTOR[potential], color=PAPER, linestyle=":",
                       label="paper, in relation to single")
        elif precision == "single" and potential == "lj" and other:
            ax.axhline(max(other) / 10, color=PAPER, linestyle="-.", label="paper: a tenth of WCA")
        ax.set_yscale("log")
        all_axes.append(ax)
    all_axes[0].set_ylabel(r"$|v_{cm}(t) - v_{cm}(0)| / \sqrt{3T}$")
    save(all_axes, output)


def energy(runs, output):
    found = of_runs(runs, "internal_energy")
    if not found:
        return
    rows = {
        f"{name}, {timestep}": lambda key, of=(potential, timestep): (key[0], key[3]) == of
        for potential, name in POTENTIALS.items() for timestep in (0.001, 0.003)
    }
    by_row = {}
    for ax, row, precision, curves in panels(found, rows, share=False):
        for key, (step, value) in curves.items():
            ax.plot(*means(step, (value - value[0]) / abs(value[0]), 200), linewidth=0.9, **STYLES[key[2:]])
        potential, timestep = next((key[0], key[3]) for key in found if rows[row](key))
        longest = max((step[-1] for step, _ in curves.values()), default=0.0)
        lines = []
        if precision == "single":
            lines = [(ENERGY_IN_SINGLE, "-.", "paper, single")]
        elif timestep == 0.001:
            lines = [(ENERGY_IN_SINGLE / ENERGY_FACTOR[potential], ":", "paper, double-single"),
                     (ENERGY_SMOOTH[potential], "-", "paper, double-single, smooth, 0.001")]
        for slope, style, label in lines:
            ax.plot([0, longest], [0, slope * longest / 1e7], color=PAPER, linestyle=style, label=label)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        by_row.setdefault(row, []).append((precision, ax))
    # One scale a row, except for single precision, as in the paper.
    for row in by_row.values():
        others = [ax for precision, ax in row if precision != "single"]
        limits = [limit for ax in others for limit in ax.get_ylim()]
        for ax in others:
            ax.set_ylim(min(limits), max(limits))
        row[0][1].set_ylabel(r"$[E(t) - E(0)] / |E(0)|$")
    save([ax for row in by_row.values() for _, ax in row], output)


def rescaled_fluctuations(runs, output):
    truncations = list(fluctuations.TRUNCATIONS)
    curves = {}
    for truncation in truncations:
        for precision in PRECISIONS:
            for dt in fluctuations.TIMESTEPS:
                directory = runs / f"{truncation}-{precision}-{dt}"
                if (directory / "follow.h5").exists():
                    curves[truncation, precision, dt] = fluctuations.energies(directory)
    if not curves:
        return
    precisions = [p for p in PRECISIONS if any(key[1] == p for key in curves)]
    figure, axes = plt.subplots(
        len(truncations), len(precisions), figsize=(3.6 * len(precisions) + 1, 3 * len(truncations) + 0.8),
        sharex=True, sharey=True, squeeze=False, layout="constrained")
    for row, truncation in enumerate(truncations):
        for column, precision in enumerate(precisions):
            ax = axes[row, column]
            ax.set_title(f"{truncation}, {precision}", fontsize="medium", loc="right")
            for index, dt in enumerate(fluctuations.TIMESTEPS):
                if (truncation, precision, dt) in curves:
                    time, change = curves[truncation, precision, dt]
                    ax.plot(time, change / dt**2, linewidth=0.8, color=f"C{index}", label=f"dt = {dt}")
    for ax in axes[-1]:
        ax.set_xlabel("t")
    axes[0, 0].set_ylabel(r"$[E(t) - E(0)] / dt^2$")
    # Without the curves that fall out of it, as figure 6 of the paper.
    sound = [change / dt**2 for (_, precision, dt), (_, change) in curves.items() if precision != "single"]
    if sound:
        low, high = min(map(np.min, sound)), max(map(np.max, sound))
        axes[0, 0].set_ylim(low - 0.2 * (high - low), high + 0.2 * (high - low))
    save(axes.ravel(), output)


def kob_andersen(suite, output):
    found = {}
    for precision in PRECISIONS:
        curve = series(suite / f"kob-andersen-{precision}" / "production.h5", "internal_energy")
        if curve is not None:
            found[precision] = curve
    if not found:
        return
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    longest = max(step[-1] for step, _ in found.values())
    for precision, (step, value) in found.items():
        middle, mean = means(step, value, max(int(100 * step[-1] / longest), 1))
        ax.plot(middle, (mean - mean[0]) / abs(mean[0]), label=precision)
    ax.axhspan(-3e-6, 3e-6, color="0.9", label="bound: 3e-6")
    ax.plot([0, longest], [0, 3e-5 * longest / 2e8], color=PAPER, linestyle="-.", label="paper, T = 0.43: 3e-5 in 2e8 steps")
    ax.set(xlabel="steps", ylabel=r"$[E(t) - E(0)] / |E(0)|$", title="Kob-Andersen, 50,000 particles, T = 0.48, dt = 0.001")
    save([ax], output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("results/energy_drift"), help="of drift.py")
    parser.add_argument("--kept", type=Path, default=Path(__file__).parent / "full_runs", help="of `drift.py --keep`")
    parser.add_argument("--suite", type=Path, default=Path("results/validation/full/drift"))
    parser.add_argument("--format", choices=["svg", "png", "pdf"], default="svg")
    arguments = parser.parse_args()
    runs = arguments.runs
    if not any(folder.is_dir() for folder in (runs, arguments.kept, arguments.suite)):
        parser.error(f"neither {runs} nor {arguments.kept} nor {arguments.suite} is there: run drift.py first")
    runs.mkdir(parents=True, exist_ok=True)

    def output(name):
        return runs / f"{name}.{arguments.format}"

    momentum((runs, arguments.kept), output("momentum"))
    energy((runs, arguments.kept), output("energy"))
    rescaled_fluctuations(runs / "fluctuations", output("fluctuations"))
    kob_andersen(arguments.suite, output("kob_andersen"))


if __name__ == "__main__":
    main()
