import numpy as np
import pytest
import supercool
from conftest import fcc, needed
from supercool import _hessian

needed("scipy.sparse.linalg")

PAIR = {"epsilon": 1.0, "sigma": 1.0}
MIXTURE = {
    "kind": "lennard-jones",
    "cutoff": 2.5,
    "truncation": "even-quartic",
    "pairs": {"AA": PAIR, "AB": {"epsilon": 1.5, "sigma": 0.8}, "BB": {"epsilon": 0.5, "sigma": 0.88}},
}


def test_moduli_of_a_crystal():
    """Sums over minimum images in numpy, by the formulas, of the crystal of 256 particles."""
    positions, box = fcc(4, 1.0)
    potential = {**MIXTURE, "truncation": "shifted", "pairs": {"AA": PAIR}}
    found = supercool.elastic_moduli(potential, positions, box)
    assert found.born[0, 0, 0, 0] == pytest.approx(54.515809863683316, rel=1e-12)
    assert found.born[0, 0, 1, 1] == pytest.approx(31.94540493184166, rel=1e-12)
    assert found.born[0, 1, 0, 1] == pytest.approx(31.94540493184166, rel=1e-12)
    assert found.pressure == pytest.approx(-3.3935747813785846, rel=1e-12)
    # Every particle is a centre of symmetry.
    np.testing.assert_allclose(found.non_affine, 0.0, atol=1e-20)
    # Of the simple shear in the plane of cube edges, and of the stretches along them.
    np.testing.assert_allclose(found.shear_moduli[:3], 35.33897971322025, rtol=1e-12)
    np.testing.assert_allclose(found.shear_moduli[3:], (54.515809863683316 - 31.94540493184166) / 2 + 3.3935747813785846, rtol=1e-12)
    bulk = (54.515809863683316 + 2 * 31.94540493184166 - 3.3935747813785846) / 3
    assert found.bulk_modulus == pytest.approx(bulk, rel=1e-12)
    assert found.affine_bulk_modulus == pytest.approx(bulk, rel=1e-12)
    assert found.affine_shear_modulus == pytest.approx(found.shear_modulus, rel=1e-12)


def disordered(dimension):
    """Places and species of a liquid."""
    counts = {2: (130, 70), 3: (160, 40)}[dimension]
    simulation = supercool.Simulation(configuration(counts, density=1.2, dimension=dimension))
    simulation.advance(400)
    return simulation, counts


def configuration(counts, **system):
    return {
        "system": {
            "seed": 5,
            "species": [{"name": name, "count": count} for name, count in zip("AB", counts)],
            "initial": {"temperature": 2.0},
            **system,
        },
        "potential": MIXTURE,
        "run": {"engine": "cpu", "precision": "double", "timestep": 0.003},
        "stage": [{"name": "hot", "steps": 400, "thermostat": {"kind": "andersen", "temperature": 1.0, "rate": 5.0}}],
    }


def at_rest(positions, box, species):
    """By Newton's steps, from a minimum or a little beside one: positions and `evaluate` of them."""
    for _ in range(12):
        state = supercool.evaluate(MIXTURE, positions, box, species=species, hessian=True)
        if np.abs(state.forces).max() < 1e-10:
            return positions, state
        step = np.linalg.lstsq(state.hessian.toarray(), state.forces.ravel(), rcond=1e-9)[0]
        positions = (positions + step.reshape(positions.shape)) % box
    raise AssertionError(f"a force of {np.abs(state.forces).max():.2g} is left")


@pytest.mark.parametrize("dimension", [2, 3])
def test_moduli_are_slopes_of_the_stress(dimension):
    simulation, counts = disordered(dimension)
    species, box = np.repeat(["A", "B"], counts), simulation.box
    positions, state = at_rest(simulation.minimize().positions, box, species)
    found = supercool.elastic_moduli(MIXTURE, positions, box, species=species)
    np.testing.assert_allclose(found.stress, state.stress)
    assert found.largest_step < 1e-9

    def stress(stretch):
        return at_rest(positions * stretch, box * stretch, species)[1].stress

    def slope(direction, h=2e-5):
        """Of strains that stretch edges, by central differences: off by h^2 and by 1e-11 / h."""
        return (stress(np.exp(h * direction)) - stress(np.exp(-h * direction))) / (2 * h)

    def close(value, expected):
        assert value == pytest.approx(expected, rel=3e-5, abs=3e-4)

    # Each axis alone gives a row of the coefficients.
    for axis in range(dimension):
        changes = slope(np.eye(dimension)[axis])
        close(changes, found.stiffness[:, :, axis, axis])
    pure = 0.5 * np.eye(dimension)[0] - 0.5 * np.eye(dimension)[1]
    changes = slope(pure)
    number_of_edges = dimension * (dimension - 1) // 2
    close(0.5 * (changes[0, 0] - changes[1, 1]), found.shear_moduli[number_of_edges])
    # dV/V is D times the strain of each edge.
    changes = slope(np.ones(dimension))
    close(changes.trace() / dimension**2, found.bulk_modulus)
    # The non-affine part is not small, and never negative.
    assert found.shear_modulus < 0.9 * found.affine_shear_modulus
    assert found.bulk_modulus < found.affine_bulk_modulus
    of_pairs = found.non_affine.reshape(dimension**2, dimension**2)
    assert np.linalg.eigvalsh(of_pairs).min() > -1e-9 * np.abs(of_pairs).max()


def test_the_pseudoinverse_is_that_of_dense_matrices():
    spheres = {"kind": "inverse-power", "n": 12, "cutoff": 1.6, "truncation": "even-quartic", "pairs": {"AA": PAIR}}
    # A triangular lattice.
    a, rows = 1.15, 6
    plane = np.array([[(i + 0.5 * (j % 2)) * a, j * a * 3**0.5 / 2] for j in range(rows) for i in range(rows)])
    box = np.array([rows * a, rows * a * 3**0.5 / 2])
    hessian = supercool.evaluate(spheres, plane, box, hessian=True).hessian
    right = np.random.default_rng(3).normal(size=(len(plane), 2, 4))
    right = (right - right.mean(0)).reshape(-1, 4)
    expected = np.linalg.pinv(hessian.toarray(), rcond=1e-10) @ right
    np.testing.assert_allclose(_hessian.solve(hessian, right, 2), expected, atol=1e-11)
    # It is isotropic: the two shears are the same.
    found = supercool.elastic_moduli(spheres, plane, box)
    np.testing.assert_allclose(found.shear_moduli, found.shear_modulus, rtol=1e-10)
    # Particles that touch none have no moduli, and do not make the matrix singular.
    spheres["cutoff"] = 1.1
    found = supercool.elastic_moduli(spheres, plane, box)
    assert found.bulk_modulus == found.shear_modulus == found.largest_step == 0.0


def test_what_is_no_minimum_is_refused():
    positions, box = fcc(4, 1.0)
    moved = positions.copy()
    moved[7, 0] += 0.01
    potential = {**MIXTURE, "pairs": {"AA": PAIR}}
    with pytest.raises(ValueError, match="a Newton step moves a particle by 0.01, more than 1e-05; the largest force is"):
        supercool.elastic_moduli(potential, moved, box)
    assert supercool.elastic_moduli(potential, moved, box, tolerance=0.1).largest_step == pytest.approx(0.01, rel=0.2)
    # A crystal that is stretched far is a saddle point without forces.
    with pytest.raises(ValueError, match="no minimum of the potential energy: .* curvatures are negative"):
        supercool.elastic_moduli(potential, positions * 1.3, box * 1.3)
