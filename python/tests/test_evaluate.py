import json

import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed

MIXTURE = {
    "kind": "lennard-jones",
    "cutoff": 2.5,
    "truncation": {"kind": "smooth", "width": 0.05},
    "pairs": {
        "AA": {"epsilon": 1.0, "sigma": 1.0},
        "AB": {"epsilon": 1.5, "sigma": 0.8},
        "BB": {"epsilon": 0.5, "sigma": 0.88},
    },
}
SPHERES = {"kind": "inverse-power", "n": 12, "cutoff": 2.5, "truncation": "force-shifted"}
PAIR = {"epsilon": 1.0, "sigma": 1.0}


def disordered(dimension, n, edge, seed=3):
    """Places off a lattice, in a box of unequal edges."""
    rng = np.random.default_rng(seed)
    box = edge * np.array([1.0, 1.05, 0.95])[:dimension]
    grid = np.stack(np.meshgrid(*[np.arange(n)] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    return (grid + 0.5 + 0.15 * rng.uniform(-1, 1, grid.shape)) / n * box, box


@pytest.mark.parametrize("truncation", [MIXTURE["truncation"], "even-quartic"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_all_are_derivatives_of_the_energy(dimension, truncation):
    needed("scipy.sparse")
    positions, box = disordered(dimension, 6, 6.2)
    # Not in the order of the names.
    species = np.where(np.arange(len(positions)) % 3 == 1, "A", "B")

    def at(positions, box=box, **options):
        mixture = {**MIXTURE, "truncation": truncation}
        return supercool.evaluate(mixture, positions, box, species=species, **options)

    found = at(positions, hessian=True)
    assert found.energies.sum() == found.energy
    np.testing.assert_allclose(found.forces.sum(0), 0.0, atol=1e-10)
    matrix, h = found.hessian, 1e-5
    for particle, axis in ((0, 0), (7, 1), (len(positions) - 1, dimension - 1)):
        moved = positions.copy()
        moved[particle, axis] += h
        up = at(moved)
        moved[particle, axis] -= 2 * h
        down = at(moved)
        scale = np.abs(found.forces).max()
        assert (down.energy - up.energy) / (2 * h) == pytest.approx(found.forces[particle, axis], abs=1e-6 * scale)
        column = (down.forces - up.forces).ravel() / (2 * h)
        row = matrix[[particle * dimension + axis], :].toarray().ravel()
        np.testing.assert_allclose(row, column, atol=1e-6 * np.abs(column).max())
    # The stress: of an affine stretch along each axis.
    for axis in range(dimension):
        stretch = np.ones(dimension)
        stretch[axis] += h
        more = at(positions * stretch, box * stretch).energy
        less = at(positions / stretch, box / stretch).energy
        expected = (more - less) / (2 * h) / np.prod(box)
        assert found.stress[axis, axis] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(found.stress, found.stress.T, atol=1e-12)
    assert found.pressure == pytest.approx(-np.trace(found.stress) / dimension)


def test_even_quartic_is_the_polynomial_of_its_definition():
    spheres = {"kind": "inverse-power", "n": 12, "cutoff": 1.25, "truncation": "even-quartic", "pairs": {"AA": PAIR}}
    # Of A. Ninarello, L. Berthier & D. Coslovich, Phys. Rev. X 7, 021039 (2017).
    c0, c2, c4 = -28 / 1.25**12, 48 / 1.25**14, -21 / 1.25**16
    for r in (0.8, 1.0, 1.2, 1.2499, 1.26):
        found = supercool.evaluate(spheres, [[1.0, 1.0, 1.0], [1.0 + r, 1.0, 1.0]], [6.0, 6.0, 6.0])
        inside = r < 1.25
        assert found.energy == pytest.approx(inside * (r**-12 + c0 + c2 * r**2 + c4 * r**4), abs=1e-13)
        force = -inside * (12 * r**-13 - 2 * c2 * r - 4 * c4 * r**3)
        assert found.forces[0, 0] == pytest.approx(force, rel=1e-9, abs=1e-12)


def test_the_hessian_is_symmetric_and_keeps_translations():
    needed("scipy.sparse")
    positions, box = disordered(3, 5, 5.6)
    matrix = supercool.evaluate({**SPHERES, "pairs": {"AA": PAIR}}, positions, box, hessian=True).hessian
    assert matrix.shape == (375, 375)
    np.testing.assert_allclose((matrix - matrix.T).toarray(), 0.0, atol=1e-9)
    for axis in range(3):
        together = np.zeros((125, 3))
        together[:, axis] = 1.0
        np.testing.assert_allclose(matrix @ together.ravel(), 0.0, atol=1e-9)


def test_the_modes_are_the_phonons_of_a_crystal():
    """Of an fcc crystal, whose eigenvalues are those of the 3 x 3 dynamical matrices at all wave vectors of the box."""
    needed("scipy.sparse.linalg")
    from scipy.sparse.linalg import eigsh

    cells, a = 4, 1.6
    base = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    positions = ((corners + base) * a).reshape(-1, 3)
    cutoff = 2.5
    found = supercool.evaluate(
        {"kind": "lennard-jones", "cutoff": cutoff, "truncation": "shifted", "pairs": {"AA": PAIR}},
        positions,
        [cells * a] * 3,
        hessian=True,
    )
    np.testing.assert_allclose(found.forces, 0.0, atol=1e-10)
    # By the formula of the potential, and sums over the lattice.
    lattice = (np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3, indexing="ij"), -1).reshape(-1, 1, 3) + base).reshape(-1, 3) * a
    r = np.sqrt((lattice**2).sum(1))
    lattice, r = lattice[(r > 0) & (r < cutoff)], r[(r > 0) & (r < cutoff)]
    slope = 4 * (-12 * r**-13 + 6 * r**-7)
    second = 4 * (156 * r**-14 - 42 * r**-8)
    along = lattice[:, :, None] * lattice[:, None, :] / r[:, None, None] ** 2
    springs = second[:, None, None] * along + (slope / r)[:, None, None] * (np.eye(3) - along)
    # Wave vectors of the box in the first zone of the primitive lattice: one for each particle.
    primitive = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    counts = np.stack(np.meshgrid(*[np.arange(2 * cells)] * 3, indexing="ij"), -1).reshape(-1, 3)
    seen = {}
    for n in counts:
        phase = tuple(np.round((primitive @ n / cells) % 1.0, 9) % 1.0)
        seen.setdefault(phase, 2 * np.pi * n / (cells * a))
    assert len(seen) == len(positions)
    exact = [
        np.linalg.eigvalsh(((1 - np.cos(lattice @ k))[:, None, None] * springs).sum(0)) for k in seen.values()
    ]
    exact = np.sort(np.concatenate(exact))
    all_modes = np.linalg.eigvalsh(found.hessian.toarray())
    np.testing.assert_allclose(all_modes, exact, atol=1e-9 * exact[-1])
    lowest = np.sort(eigsh(found.hessian, k=9, sigma=-1.0, return_eigenvectors=False))
    np.testing.assert_allclose(lowest, exact[:9], atol=1e-8 * exact[-1])


def test_it_has_the_numbers_of_a_simulation():
    simulation = supercool.Simulation(LIQUID.replace("fixed-point", "double"))
    simulation.advance(40)
    potential = {
        "kind": "lennard-jones",
        "cutoff": 2.2,
        "truncation": "shifted",
        "pairs": {"AA": PAIR, "AB": PAIR, "BB": PAIR},
    }
    found = supercool.evaluate(potential, simulation)
    np.testing.assert_allclose(found.forces, simulation.forces(), atol=1e-9)
    now = simulation.thermodynamics()
    # The sums of the engine are rounded to 2^-40 for each particle.
    assert found.energy / 256 == pytest.approx(now["potential_energy"], rel=1e-12, abs=2.0**-40)
    density = 256 / np.prod(simulation.box)
    # The pressure of particles that move has their kinetic part, too.
    kinetic = 2 * density * now["kinetic_energy"] / 3
    assert found.pressure + kinetic == pytest.approx(now["pressure"], rel=1e-9)


@pytest.mark.parametrize("name", list(supercool.presets()))
def test_presets(name):
    system = json.loads(supercool._native.json_of(supercool.presets()[name]))["system"]
    positions, box = disordered(system["dimension"], 7, 8.9)
    two = len(system["species"]) > 1
    species = np.where(np.arange(len(positions)) % 5 == 0, "B", "A")
    diameters = np.ones(len(positions)) if "diameters" in system else None
    found = supercool.evaluate(name, positions, box, species=species if two else None, diameters=diameters)
    assert np.isfinite(found.energies).all() and np.isfinite(found.forces).all()
    # One species alone.
    supercool.evaluate(name, positions, box, diameters=diameters)


def test_what_is_wrong_is_said():
    place, box = [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]], [6.0] * 3
    with pytest.raises(ValueError, match="there is no such preset; there are .*kob-andersen,"):
        supercool.evaluate("kob", place, box)
    with pytest.raises(ValueError, match="those of the preset are A, B"):
        supercool.evaluate("kob-andersen", place, box, species=["A", "C"])
    with pytest.raises(ValueError, match="one for each of 2 particles"):
        supercool.evaluate(MIXTURE, place, box, species=["A"])
    with pytest.raises(supercool.ConfigError, match="half the shortest edge"):
        supercool.evaluate(MIXTURE, place, [4.0] * 3)
    # Species that are not there need no particles.
    supercool.evaluate(MIXTURE, place, box)
    with pytest.raises(supercool.ConfigError, match="epsilonn"):
        supercool.evaluate({**SPHERES, "pairs": {"AA": {"epsilonn": 1.0, "sigma": 1.0}}}, place, box)
    with pytest.raises(supercool.Error, match="0 and 1"):
        supercool.evaluate(MIXTURE, [[1.0, 1.0, 1.0]] * 2, box)
