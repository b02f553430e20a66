#!/usr/bin/env python3
"""The runs and the pictures of docs/guide/gallery.md: pictures.py [FOLDER]. Runs that are finished in results/gallery are kept."""

import os
import pathlib
import sys
import tomllib

import numpy as np
import supercool

RESULTS = pathlib.Path("results/gallery")
#: Of the Kob-Andersen mixture in three dimensions.
TEMPERATURES = (1.4, 1.2, 1.0, 0.9, 0.8)
#: Particles and steps of each stage, and particles of the other pictures.
SIZES = {"particles": 500, "steps": 5_000, "flat": 1_000, "modes": 300}
FS = "self-intermediate-scattering-function"


def mixture(particles):
    config = tomllib.loads(supercool.presets()["kob-andersen"])
    large = particles * 4 // 5
    config["system"]["species"] = [{"name": "A", "count": large}, {"name": "B", "count": particles - large}]
    config["run"]["precision"] = "fixed-point"
    return config


def finished(config, name):
    """The directory of a run."""
    directory = RESULTS / name
    # A run that was interrupted goes on; one that is finished is left as it is.
    run = supercool.resume(directory) if directory.exists() else supercool.run(config, output=directory, quiet=True)
    if run.outcome != "finished":
        sys.exit(f"{directory}: {run.outcome}")
    return directory


def at_temperature(temperature, sizes):
    """Cooled, equilibrated, and observed at constant energy."""
    config, steps = mixture(sizes["particles"]), sizes["steps"]
    thermostat = {"kind": "bussi", "time": 0.2}
    observables = ["mean-square-displacement", "non-gaussian-parameter", FS, "self-overlap", "self-overlap-susceptibility"]
    config["stage"] = [
        {"name": "cool", "steps": steps, "thermostat": {**thermostat, "temperature": {"from": 2.0, "to": temperature}}},
        {
            "name": "equilibrate",
            "steps": 2 * steps,
            "thermostat": {**thermostat, "temperature": temperature},
            "observe": {"thermodynamics": 20},
        },
        {
            "name": "production",
            "steps": 4 * steps,
            "set_total_energy": "mean of equilibrate",
            "observe": {"thermodynamics": 50, "structure": {"every": 500, "maximum_wavenumber": 15.0}},
            "correlation": [{"every": 5, "wavenumbers": [7.25], "observables": observables}],
        },
    ]
    return finished(config, f"T{temperature}")


def liquid(folder, sizes):
    """Structure, motion and their fits of a liquid as it is cooled."""
    files = [at_temperature(temperature, sizes) / "production.h5" for temperature in TEMPERATURES]
    choices = {"by": "temperature", "size": (20, 8)}
    supercool.plot(files, folder / "caging.svg", ["mean-square-displacement", FS], **choices)
    heterogeneity = ["non-gaussian-parameter", "self-overlap-susceptibility"]
    supercool.plot(files, folder / "heterogeneity.svg", heterogeneity, **choices)
    structure = ["pair-distribution", "structure-factor"]
    supercool.plot([files[0], files[-1]], folder / "structure.svg", structure, by="temperature", size=(20, 8))


def mobility(folder, sizes):
    """How far particles move in a layer of a cold mixture in two dimensions."""
    import matplotlib.pyplot as plt

    config, steps = mixture(sizes["flat"]), sizes["steps"]
    # R. Bruening et al., J. Phys.: Condens. Matter 21, 035117 (2009): 65:35 does not crystallise in two dimensions.
    large = sizes["flat"] * 65 // 100
    config["system"].update(dimension=2, initial={"lattice": "hexagonal", "temperature": 2.0})
    config["system"]["species"] = [{"name": "A", "count": large}, {"name": "B", "count": sizes["flat"] - large}]
    thermostat = {"kind": "bussi", "time": 0.2}
    config["stage"] = [
        {"name": "cool", "steps": 2 * steps, "thermostat": {**thermostat, "temperature": {"from": 2.0, "to": 0.45}}},
        {"name": "relax", "steps": 2 * steps, "thermostat": {**thermostat, "temperature": 0.45}},
        {"name": "motion", "steps": steps, "observe": {"trajectory": steps}},
    ]
    first, last = supercool.open(finished(config, "flat")).stages["motion"].trajectory
    moved = last.unwrapped - first.unwrapped
    figure, ax = plt.subplots(figsize=(6.2, 5))
    lengths = np.hypot(*moved.T)
    arrows = ax.quiver(*first.positions.T, *moved.T, lengths, angles="xy", scale_units="xy", scale=1, cmap="plasma", width=0.004)
    ax.set(aspect="equal", xlabel="x", ylabel="y")
    figure.colorbar(arrows, label=f"displacement in t = {last.time - first.time:.4g}")
    figure.savefig(folder / "mobility.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def vibrations(folder, sizes):
    """Frequencies of the normal modes of an energy minimum, from the matrix of second derivatives."""
    import matplotlib.pyplot as plt

    config = mixture(sizes["modes"])
    config["stage"] = [
        {
            "name": "cool",
            "steps": sizes["steps"],
            "thermostat": {"kind": "bussi", "temperature": {"from": 2.0, "to": 0.5}, "time": 0.2},
        }
    ]
    simulation = supercool.Simulation(config)
    simulation.advance(sizes["steps"])
    minimum = simulation.minimize(force_tolerance=1e-9)
    species = np.array(simulation.species_names)[simulation.species]
    state = supercool.evaluate(config["potential"], minimum.positions, simulation.box, species=species, hessian=True)
    squares = np.linalg.eigvalsh(state.hessian.toarray())
    # Three are translations. Negative ones would be no minimum.
    assert np.abs(squares[:3]).max() < 1e-6 < squares[3], squares[:5]
    figure, ax = plt.subplots(figsize=(6.2, 4))
    ax.hist(np.sqrt(squares[3:]), bins=40, density=True, color="#3b528b")
    ax.set(xlabel="frequency", ylabel="density of normal modes")
    figure.savefig(folder / "vibrations.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


#: What makes which pictures.
PIECES = {
    liquid: ("caging", "heterogeneity", "structure"),
    mobility: ("mobility",),
    vibrations: ("vibrations",),
}


def main(folder, sizes=SIZES):
    os.environ.setdefault("MPLBACKEND", "Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for piece in PIECES:
        piece(folder, sizes)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent))
