"""Particles with diameters of their own: energies, swaps, trajectories."""

import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed

#: Of A. Ninarello, L. Berthier & D. Coslovich, Phys. Rev. X 7, 021039 (2017).
POTENTIAL = {
    "kind": "inverse-power",
    "n": 12,
    "cutoff": 1.25,
    "truncation": "even-quartic",
    "pairs": {"AA": {"epsilon": 1.0, "sigma": 1.0}},
}

POLYDISPERSE = """\
[system]
dimension = 3
density = 1.0
seed = 3
species = [{ name = "A", count = 200 }]
initial = { lattice = "fcc", temperature = 0.5 }

[system.diameters]
distribution = "power-law"
exponent = 3
minimum = 0.73
maximum = 1.62
non_additivity = 0.2

[potential]
kind = "inverse-power"
n = 12
cutoff = 1.25
truncation = "even-quartic"
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }

[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.005

[[stage]]
name = "melt"
steps = 20
thermostat = { kind = "langevin", temperature = 0.5, friction = 1.0 }
swap = { every = 5, trials_per_particle = 2.0 }
observe = { trajectory = 10 }

[[stage]]
name = "production"
steps = 40
thermostat = { kind = "langevin", temperature = 0.5, friction = 1.0 }
swap = { every = 10 }
observe = { trajectory = 10 }
"""


def power_law(shares):
    """Diameters of P(s) ~ s^-3 between 0.73 and 1.62."""
    return (0.73**-2 - shares * (0.73**-2 - 1.62**-2)) ** -0.5


def crystal():
    """Positions, box and diameters of 500 particles on an fcc lattice of density 1."""
    base = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    a = 4.0 ** (1 / 3)
    shares = (197 * np.arange(500) % 500 + 0.5) / 500
    return ((corners + base) * a).reshape(-1, 3), [5 * a] * 3, power_law(shares)


def square():
    """The same of 400 particles in two dimensions."""
    positions = np.stack(np.meshgrid(*[np.arange(20)] * 2, indexing="ij"), -1).reshape(-1, 2) + 0.5
    return positions, [20.0] * 2, power_law((147 * np.arange(400) % 400 + 0.5) / 400)


def pairs(positions, box, diameters, non_additivity=0.2):
    """Energy of each particle, forces and stress by a plain sum over all pairs."""
    box = np.asarray(box)
    apart = positions[:, None] - positions[None]
    apart -= box * np.round(apart / box)
    sum_of, difference = diameters[:, None] + diameters[None], np.abs(diameters[:, None] - diameters[None])
    sigma = 0.5 * sum_of * (1 - non_additivity * difference)
    x = np.sqrt((apart**2).sum(-1)) / sigma
    np.fill_diagonal(x, np.inf)
    inside = x < 1.25
    x = np.where(inside, x, 1.0)
    c0, c2, c4 = -28 / 1.25**12, 48 / 1.25**14, -21 / 1.25**16
    energy = np.where(inside, x**-12 + c0 + c2 * x**2 + c4 * x**4, 0.0)
    slope = np.where(inside, -12 * x**-13 + 2 * c2 * x + 4 * c4 * x**3, 0.0)
    over_r = slope / (sigma**2 * x)
    forces = -(over_r[..., None] * apart).sum(1)
    stress = 0.5 * np.einsum("ij,ija,ijb->ab", over_r, apart, apart) / np.prod(box)
    return 0.5 * energy.sum(1), forces, stress


@pytest.mark.parametrize("of, energy, virial", [(crystal, 3.734693234217222, 50.91294853494512), (square, 1.7176129933966116, 24.924603843261234)])
def test_statics_are_exact(of, energy, virial):
    """Energy and virial of each particle, of a plain sum over pairs in 64 bits by another program."""
    positions, box, diameters = of()
    found = supercool.evaluate(POTENTIAL, positions, box, diameters=diameters, non_additivity=0.2)
    count, dimension = positions.shape
    assert found.energy / count == pytest.approx(energy, rel=1e-12)
    assert found.pressure * dimension * np.prod(box) / count == pytest.approx(virial, rel=1e-12)
    if dimension == 3:
        assert found.stress[0, 1] == pytest.approx(-5.670168073170374, rel=1e-12)
    energies, forces, stress = pairs(positions, box, diameters)
    np.testing.assert_allclose(found.energies, energies, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.forces, forces, atol=1e-12 * np.abs(forces).max() * 10)
    np.testing.assert_allclose(found.stress, stress, atol=1e-12 * np.abs(stress).max())


@pytest.mark.parametrize(
    "pair, change", [((10, 321), 2.640922683012377), ((0, 499), -0.0005660168503709), ((100, 101), -7.14199327259098)]
)
def test_an_exchange_changes_the_energy_by_the_exact_number(pair, change):
    """The last two are neighbors."""
    positions, box, diameters = crystal()
    exchanged = diameters.copy()
    exchanged[list(pair)] = diameters[list(pair[::-1])]
    before, after = (
        supercool.evaluate(POTENTIAL, positions, box, diameters=each, non_additivity=0.2).energy for each in (diameters, exchanged)
    )
    # Of sums over 500 particles, of about 1867.
    assert after - before == pytest.approx(change, abs=1e-12 * before)


def test_the_hessian_is_the_derivative_of_the_forces():
    needed("scipy.sparse")
    positions, box, diameters = crystal()
    positions = positions + np.random.default_rng(5).uniform(-0.05, 0.05, positions.shape)

    def at(positions, **options):
        return supercool.evaluate(POTENTIAL, positions, box, diameters=diameters, non_additivity=0.2, **options)

    found, h = at(positions, hessian=True), 1e-5
    np.testing.assert_allclose(found.forces, pairs(positions % box, box, diameters)[1], atol=1e-9)
    for particle, axis in ((0, 0), (7, 1), (499, 2)):
        step = np.zeros_like(positions)
        step[particle, axis] = h
        column = (at(positions - step).forces - at(positions + step).forces).ravel() / (2 * h)
        row = found.hessian[[3 * particle + axis], :].toarray().ravel()
        np.testing.assert_allclose(row, column, atol=1e-6 * np.abs(column).max())


def test_equal_diameters_are_a_unit_of_length():
    positions, box, _ = crystal()
    plain = supercool.evaluate(POTENTIAL, positions, box)
    scaled = supercool.evaluate(POTENTIAL, 1.3 * positions, 1.3 * np.array(box), diameters=[1.3] * 500)
    assert scaled.energy == pytest.approx(plain.energy, rel=1e-12)
    assert scaled.pressure * 1.3**3 == pytest.approx(plain.pressure, rel=1e-12)


def test_it_has_the_diameters_of_a_simulation():
    simulation = supercool.Simulation(POLYDISPERSE.replace("fixed-point", "double"))
    simulation.advance(15)
    found = supercool.evaluate(POTENTIAL, simulation)
    np.testing.assert_allclose(found.forces, simulation.forces(), atol=1e-9)
    assert found.energy / 200 == pytest.approx(simulation.thermodynamics()["potential_energy"], rel=1e-11)
    # A frame holds them, too, and they can be given.
    assert supercool.evaluate(POTENTIAL, simulation.frame, non_additivity=0.2).energy == found.energy
    given = supercool.evaluate(POTENTIAL, simulation.positions, simulation.box, diameters=simulation.diameters, non_additivity=0.2)
    assert given.energy == found.energy
    # Lengths of species are no diameters of particles.
    mixture = supercool.Simulation(LIQUID.replace("sigma = 1.0 }\n\n", "sigma = 0.9 }\n\n"))
    assert set(mixture.frame.diameters) == {1.0, 0.9}
    potential = {"kind": "lennard-jones", "cutoff": 2.2, "truncation": "shifted"}
    one = {"epsilon": 1.0, "sigma": 1.0}
    potential["pairs"] = {"AA": one, "AB": one, "BB": {"epsilon": 1.0, "sigma": 0.9}}
    energy = mixture.thermodynamics()["potential_energy"]
    assert supercool.evaluate(potential, mixture).energy / 256 == pytest.approx(energy, rel=1e-5)


def test_wrong_diameters_are_refused():
    positions, box, diameters = crystal()

    def evaluate(diameters, **options):
        return supercool.evaluate(POTENTIAL, positions, box, diameters=diameters, **options)

    with pytest.raises(ValueError, match=r"shape \(499,\); it must be \(500,\)"):
        evaluate(diameters[:-1])
    for wrong in (0.0, -1.0, np.nan, np.inf):
        diameters[3] = wrong
        with pytest.raises(ValueError, match="particle 3: the diameter .* is not a finite number above zero"):
            evaluate(diameters)
    diameters[3] = 1.0
    with pytest.raises(supercool.ConfigError, match="non_additivity"):
        evaluate(diameters, non_additivity=1.2)
    with pytest.raises(ValueError, match="it belongs to diameters"):
        evaluate(None, non_additivity=0.2)
    with pytest.raises(supercool.ConfigError, match="one species"):
        evaluate(diameters, species=["A"] * 400 + ["B"] * 100)
    # Lengths reach as far as the largest pair does.
    diameters[3] = 4.0
    with pytest.raises(supercool.ConfigError, match="half the shortest edge"):
        evaluate(diameters)


@pytest.mark.parametrize("precision", ["fixed-point", "double"])
def test_swaps_exchange_diameters(precision):
    simulation = supercool.Simulation(POLYDISPERSE.replace("fixed-point", precision))
    first = simulation.diameters
    assert first.shape == (200,) and first.dtype == np.float64
    expected = power_law((np.arange(200) + 0.5) / 200)
    np.testing.assert_allclose(np.sort(first), expected, rtol=1e-7 if precision == "fixed-point" else 1e-15)
    assert (simulation.swaps.trials, simulation.swaps.accepted) == (0, 0)
    assert np.isnan(simulation.swaps.acceptance)
    simulation.advance(4)
    assert simulation.swaps.trials == 0
    simulation.advance(1)
    swaps = simulation.swaps
    assert swaps.trials == 400 and 0 < swaps.accepted < 400
    assert swaps.acceptance == swaps.accepted / 400
    assert (simulation.diameters != first).any()
    np.testing.assert_array_equal(np.sort(simulation.diameters), np.sort(first))
    np.testing.assert_array_equal(simulation.frame.diameters, simulation.diameters)
    # Four rounds of 400 in the first stage; of 200 in the second one.
    simulation.advance(35)
    assert simulation.swaps.trials == 4 * 400 + 2 * 200


def test_diameters_can_be_set():
    simulation = supercool.Simulation(POLYDISPERSE)
    simulation.advance(8)
    state, bits, now = simulation.frame, simulation.hash(), simulation.diameters
    simulation.set_diameters(now)
    assert simulation.hash() == bits
    others = np.linspace(0.73, 1.62, 200)
    simulation.diameters = others
    # The pair loop takes 32-bit floats.
    np.testing.assert_array_equal(simulation.diameters, np.float32(others))
    assert simulation.hash() != bits and simulation.swaps.trials == 400 and simulation.step == 8
    np.testing.assert_array_equal(simulation.positions, state.positions)
    np.testing.assert_array_equal(simulation.velocities, state.velocities)
    forces = pairs(simulation.positions, simulation.box, simulation.diameters)[1]
    np.testing.assert_allclose(simulation.forces(), forces, atol=1e-5 * np.abs(forces).max())
    # Those of a state can be given back, also where bounds were rounded.
    simulation.set_diameters(simulation.diameters)
    simulation.set_velocities(0.5 * simulation.velocities)
    np.testing.assert_array_equal(simulation.diameters, np.float32(others))
    # Back as it was, it goes on as if nothing had been.
    simulation.set_diameters(now)
    simulation.set_velocities(state.velocities)
    simulation.advance(4)
    again = supercool.Simulation(POLYDISPERSE)
    again.advance(12)
    np.testing.assert_allclose(simulation.positions, again.positions, atol=1e-12)
    np.testing.assert_array_equal(simulation.diameters, again.diameters)


def test_diameters_beyond_the_bounds_are_refused():
    simulation = supercool.Simulation(POLYDISPERSE)
    bits, diameters = simulation.hash(), simulation.diameters
    for wrong in (0.72, 1.63, np.nan, -1.0):
        diameters = np.ones(200)
        diameters[7] = wrong
        with pytest.raises(supercool.Error, match="particle 7: the diameter .* is not between 0.73 and 1.62"):
            simulation.set_diameters(diameters)
    with pytest.raises(ValueError, match=r"shape \(199,\); it must be \(200,\)"):
        simulation.set_diameters(diameters[:-1])
    assert simulation.hash() == bits
    simulation.advance(1)


def test_particles_may_have_none():
    simulation = supercool.Simulation(LIQUID)
    assert simulation.diameters is None
    assert simulation.swaps == supercool.Swaps(0, 0)
    np.testing.assert_array_equal(simulation.frame.diameters, [1.0] * 256)
    with pytest.raises(supercool.Error, match="no diameters of their own"):
        simulation.set_diameters(np.ones(256))


def test_frames_have_the_diameters_of_their_step(tmp_path):
    stages = supercool.run(POLYDISPERSE, output=tmp_path).open().stages
    simulation = supercool.Simulation(POLYDISPERSE)
    seen = set()
    for frame in [*stages["melt"].trajectory, *stages["production"].trajectory[1:]]:
        simulation.advance(frame.step - simulation.step)
        np.testing.assert_array_equal(frame.diameters, simulation.diameters)
        seen.add(frame.diameters.tobytes())
    assert simulation.step == 60 and len(seen) == 7
    trajectory = supercool.open(tmp_path / "production.h5md")
    np.testing.assert_array_equal(trajectory[-1].diameters, simulation.diameters)
    assert [len(frame.diameters) for frame in trajectory[1:3]] == [200, 200]


def test_frames_of_gsd_have_their_diameters(tmp_path):
    gsd = needed("gsd.hoomd")
    text = POLYDISPERSE.replace("trajectory = 10 }", "trajectory = 10, gsd = true }")
    supercool.run(text, output=tmp_path)
    simulation = supercool.Simulation(POLYDISPERSE)
    with gsd.open(tmp_path / "melt.gsd") as frames:
        for each in frames:
            frame = supercool.frame(each)
            simulation.advance(frame.step - simulation.step)
            np.testing.assert_array_equal(frame.diameters, simulation.diameters)
    assert simulation.step == 20
    np.testing.assert_array_equal(simulation.to_gsd().particles.diameter, simulation.diameters)


def test_a_simulation_starts_from_the_diameters_of_an_object(tmp_path):
    simulation = supercool.Simulation(POLYDISPERSE)
    simulation.advance(8)
    # Its own, with a distribution.
    other = supercool.Simulation(POLYDISPERSE, initial=simulation)
    np.testing.assert_array_equal(other.positions, simulation.positions)
    assert (other.diameters != simulation.diameters).any()
    # Bounds are those of the file of the configuration.
    supercool.run(POLYDISPERSE, output=tmp_path)
    start, end = POLYDISPERSE.index("distribution"), POLYDISPERSE.index("non_additivity")
    text = POLYDISPERSE[:start] + 'distribution = "file"\n' + POLYDISPERSE[end:]
    text = text.replace('lattice = "fcc"', f'file = "{tmp_path}/melt.h5md"')
    other = supercool.Simulation(text, initial=simulation)
    np.testing.assert_array_equal(other.diameters, simulation.diameters)
    np.testing.assert_allclose(other.forces(), simulation.forces(), rtol=1e-5, atol=1e-4)
