"""Many systems in one run against what they must agree with. Needs numpy and h5py.

compare.py scatter RESULTS       errors of block averages and the scatter over the systems
compare.py temperatures RESULTS SINGLE...
                                 mean energies and pressures at each temperature, and of single runs (directories) of other seeds
compare.py exchange RESULTS ALONE
                                 energies with exchanges, without, and reweighted from the neighbors in the ladder
compare.py propensities CONFIGURATIONS RESULTS
                                 energies and pressures, F_s and overlap of A at the last time beside their references, and predictable shares
"""

import sys

import h5py
import numpy as np

BLOCKS = 20


def of_systems(path, name):
    """Potential energy or the like of each system: (rows, systems)."""
    with h5py.File(path) as file:
        group = file["systems/observables"] if "systems" in file else file["observables"]
        values = group[name]["value"][1:]
        temperatures = file["systems/temperature"][:] if "systems/temperature" in file else None
        return values.reshape(len(values), -1), temperatures


def block_errors(values):
    """Mean and its error from BLOCKS blocks, of each column."""
    length = len(values) // BLOCKS
    blocks = values[: BLOCKS * length].reshape(BLOCKS, length, -1).mean(axis=1)
    return blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)


def ratio(means, errors):
    """Scatter of the means over their errors, and the uncertainty of that if errors are right: of both variances."""
    systems = len(means)
    found = means.std(ddof=1) / np.sqrt((errors**2).mean())
    return found, found * np.sqrt(0.5 / (systems - 1) + 0.5 / (systems * (BLOCKS - 1)))


def line(what, found, uncertainty):
    sign = "" if abs(found - 1.0) < 3.0 * uncertainty else "   differs"
    print(f"{what:58} {found:.3f} +- {uncertainty:.3f}{sign}")


def scatter(results):
    path = f"{results}/production.h5"
    print("scatter of the systems / error that each states")
    for name in ("potential_energy", "pressure", "temperature"):
        values, _ = of_systems(path, name)
        means, errors = block_errors(values)
        line(name, *ratio(means, errors))
        print(f"    mean {means.mean():.5f}, error {means.std(ddof=1) / np.sqrt(len(means)):.5f}")
    with h5py.File(path) as file:
        for name in ("mean_square_displacement", "self_intermediate_scattering_function", "velocity_autocorrelation"):
            group = file["systems/dynamics/A"][name]
            value, error = group["value"][:], group["error"][:]
            value, error = value.reshape(len(value), -1), error.reshape(len(error), -1)
            time = file["dynamics/A"][name]["time"][:]
            known = np.isfinite(error).all(axis=0) & (error > 0).all(axis=0)
            for lag in np.flatnonzero(known)[::4]:
                line(f"{name}, t = {time[lag]:g}", *ratio(value[:, lag], error[:, lag]))


def temperatures(results, singles):
    path = f"{results}/production.h5"
    for name in ("potential_energy", "pressure"):
        values, of = of_systems(path, name)
        means, _ = block_errors(values)
        for single in singles:
            alone, alone_error = (part[0] for part in block_errors(of_systems(f"{single}/production.h5", name)[0]))
            with h5py.File(f"{single}/production.h5") as file:
                temperature = file["observables/half_step_temperature/value"][1:].mean()
            nearest = of[np.abs(of - temperature).argmin()]
            there = means[of == nearest]
            error = np.hypot(there.std(ddof=1) / np.sqrt(len(there)), alone_error)
            off = (there.mean() - alone) / error
            print(
                f"T = {nearest:g}, {name}: {there.mean():.5f} of {len(there)} systems, {alone:.5f} alone, "
                f"{off:+.1f} standard errors{'' if abs(off) < 3 else '   differs'}"
            )


def moments(values):
    """Mean and standard deviation of each system's energy: averages over the systems, and their errors."""
    both = np.array([values.mean(axis=0), values.std(axis=0, ddof=1)])
    return both.mean(axis=1), both.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


def reweighted(values, from_temperature, to_temperature, particles):
    """Mean and standard deviation at another temperature, from each system's energies."""
    energy = particles * values
    exponent = -(1.0 / to_temperature - 1.0 / from_temperature) * (energy - energy.mean())
    weight = np.exp(exponent - exponent.max())
    weight /= weight.sum(axis=0)
    mean = (weight * values).sum(axis=0)
    width = np.sqrt((weight * (values - mean) ** 2).sum(axis=0))
    both = np.array([mean, width])
    return both.mean(axis=1), both.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


def exchange(results, without):
    path = f"{results}/exchange.h5"
    values, of = of_systems(path, "potential_energy")
    alone, alone_of = of_systems(f"{without}/alone.h5", "potential_energy")
    with h5py.File(path) as file:
        particles = int(file["observables/particle_number"][()])
        acceptance = file["systems/exchange/acceptance"][:]
        trips = file["systems/exchange/round_trips"][:]
    print("acceptance of each pair:", " ".join(f"{each:.2f}" for each in acceptance), "  round trips:", trips.sum())
    ladder = sorted(set(of), reverse=True)

    def compare(temperature, what, here, there):
        off = (here[0] - there[0]) / np.hypot(here[1], there[1])
        sign = "" if (abs(off) < 3.5).all() else "   differs"
        print(f"T = {temperature:g}, {what}: <U>/N {off[0]:+.1f}, its width {off[1]:+.1f} standard errors{sign}")

    for place, temperature in enumerate(ladder):
        here = moments(values[:, of == temperature])
        print(f"T = {temperature:g}: <U>/N {here[0][0]:.5f}({here[1][0]:.5f}), width {here[0][1]:.5f}({here[1][1]:.5f})")
        compare(temperature, "without exchanges", here, moments(alone[:, alone_of == temperature]))
        for neighbor in ladder[max(place - 1, 0) : place] + ladder[place + 1 : place + 2]:
            other = reweighted(alone[:, alone_of == neighbor], neighbor, temperature, particles)
            compare(temperature, f"reweighted from T = {neighbor:g} without exchanges", here, other)


# Force-shifted Kob-Andersen liquid at T = 0.44: value and error. F_s at 7.25 and the overlap, of A after a time of 3,981.
REFERENCES = {
    "potential_energy": (-6.212, 0.003),
    "pressure": (3.925, 0.020),
    "self_intermediate_scattering_function": (0.290, 0.020),
    "self_overlap": (0.383, 0.024),
}


def beside_reference(what, name, value, error):
    reference, uncertainty = REFERENCES[name]
    off = (value - reference) / np.hypot(error, uncertainty)
    print(f"{what:58} {value:.4f}({error:.4f}), reference {reference:.3f}({uncertainty:.3f}): {off:+.1f}")


def propensities(configurations, results):
    for path, what in ((f"{configurations}/relax.h5", "configurations"), (f"{results}/propensities.h5", "runs")):
        for name in ("potential_energy", "pressure"):
            # Runs of one configuration are not independent of each other.
            means, _ = block_errors(of_systems(path, name)[0])
            with h5py.File(path) as file:
                of = file["systems/configuration"][:] if "systems/configuration" in file else np.arange(len(means))
            means = np.array([means[of == number].mean() for number in np.unique(of)])
            beside_reference(f"{name}, {what}", name, means.mean(), means.std(ddof=1) / np.sqrt(len(means)))
    with h5py.File(f"{results}/propensities.h5") as file:
        group = file["propensity"]
        is_a = group["species"][:] == 0
        for name in ("self_intermediate_scattering_function", "self_overlap"):
            of_configurations = group[name]["value"][:, -1][:, is_a[0] if is_a.ndim > 1 else is_a].mean(axis=1)
            error = of_configurations.std(ddof=1) / np.sqrt(len(of_configurations))
            beside_reference(f"{name} of A at the last time", name, of_configurations.mean(), error)
        for name in ("displacement", "self_overlap", "self_intermediate_scattering_function"):
            share, error = group[name]["predictable_share"][:], group[name]["predictable_share_error"][:]
            for species, label in enumerate("AB"):
                row = ", ".join(f"{x:.3f}({e:.3f})" for x, e in zip(share[:, species], error[:, species]))
                print(f"predictable share of {name}, {label}: {row}")


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "scatter":
        scatter(sys.argv[2])
    elif len(sys.argv) >= 4 and sys.argv[1] == "temperatures":
        temperatures(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "exchange":
        exchange(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 4 and sys.argv[1] == "propensities":
        propensities(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
