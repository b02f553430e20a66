"""Potentials that users write themselves: formulas, and tables from arrays."""

import numpy as np
import pytest
import supercool

PAIRS = {"AA": (1.0, 1.0), "AB": (1.5, 0.8), "BB": (0.5, 0.88)}
BUILT_IN = {
    "kind": "lennard-jones",
    "cutoff": 2.5,
    "truncation": "force-shifted",
    "pairs": {name: {"epsilon": epsilon, "sigma": sigma} for name, (epsilon, sigma) in PAIRS.items()},
}
FORMULA = BUILT_IN | {"kind": "formula", "energy": "4*epsilon*((sigma/r)^12 - (sigma/r)^6)"}


def table(folder):
    """The same from files."""
    pairs = {}
    for name, (epsilon, sigma) in PAIRS.items():
        r = np.linspace(0.5 * sigma, 2.5 * sigma, 2001)
        power = (sigma / r) ** 6
        energy = 4 * epsilon * (power**2 - power)
        force = 24 * epsilon * (2 * power**2 - power) / r
        np.savetxt(folder / f"{name}.txt", np.column_stack([r, energy, force]))
        pairs[name] = {"file": str(folder / f"{name}.txt")}
    return {"kind": "table", "truncation": "force-shifted", "pairs": pairs}


def particles():
    """Off a lattice of 1.1, at least 0.8 apart."""
    axis = np.arange(6) * 1.1
    places = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    places += np.random.default_rng(5).uniform(-0.12, 0.12, places.shape)
    return places, np.full(3, 6.6), np.where(np.arange(len(places)) % 5 == 0, "B", "A")


def test_formula_and_table_have_the_forces_of_the_built_in_potential(tmp_path):
    places, box, species = particles()
    expected = supercool.evaluate(BUILT_IN, places, box, species=species, hessian=True)
    size = np.sqrt((expected.forces**2).mean())
    # Tables are as near as their splines: 3e-8 (1 + F) of each pair.
    for potential, tolerance in [(FORMULA, 1e-13), (table(tmp_path), 1e-7)]:
        found = supercool.evaluate(potential, places, box, species=species, hessian=True)
        assert np.abs(found.forces - expected.forces).max() < tolerance * 10 * size
        assert abs(found.energy - expected.energy) < tolerance * len(places) * 10
        assert np.abs(found.stress - expected.stress).max() < tolerance * 100
        # Second derivatives of a table have an error of the second order of its steps.
        of_second = max(tolerance * 1e3, 1e-10)
        assert np.abs((found.hessian - expected.hessian).toarray()).max() < of_second * 1e2


def test_what_is_wrong_names_the_key(tmp_path):
    places, box, species = particles()
    with pytest.raises(supercool.ConfigError, match="at character 5 of the formula"):
        supercool.evaluate(FORMULA | {"energy": "1/r $"}, places, box, species=species)
    missing = BUILT_IN | {"kind": "table", "pairs": {name: {"file": "no.txt"} for name in PAIRS}}
    del missing["cutoff"]
    with pytest.raises(supercool.ConfigError, match="no.txt: No such file"):
        supercool.evaluate(missing, places, box, species=species)
