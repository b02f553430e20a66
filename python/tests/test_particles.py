import numpy as np
import pytest
import supercool
from conftest import fcc, needed


def test_order_of_crystals():
    needed("scipy.spatial")
    positions, box = fcc(4, 1.2)
    radius = 0.8 * box[0] / 4
    for averaged in (False, True):
        found = supercool.bond_orientational_order(positions, box, radius=radius, averaged=averaged)
        # Steinhardt, Nelson & Ronchetti, of the twelve neighbors of fcc.
        np.testing.assert_allclose(found, 0.5745242597140696, rtol=1e-12)
        found = supercool.bond_orientational_order(positions, box, radius=radius, l=4, averaged=averaged)
        np.testing.assert_allclose(found, 0.19094065395649334, rtol=1e-12)
    rows = 6
    plane = np.array([[i + 0.5 * (j % 2), j * 3**0.5 / 2] for j in range(rows) for i in range(rows)])
    box = np.array([rows, rows * 3**0.5 / 2])
    np.testing.assert_allclose(supercool.bond_orientational_order(plane, box, radius=1.3), 1.0, rtol=1e-12)
    np.testing.assert_allclose(supercool.bond_orientational_order(plane, box, radius=1.3, l=5), 0.0, atol=1e-12)


def test_order_is_the_sum_over_pairs_of_bonds():
    """`q_l^2` is the mean of `P_l(cos)` over all pairs of bonds of a particle, by the addition theorem."""
    needed("scipy.spatial")
    rng = np.random.default_rng(4)
    positions, box, radius = rng.uniform(0, 5, (60, 3)), np.full(3, 5.0), 1.4
    found = supercool.bond_orientational_order(positions, box, radius=radius)
    for particle in range(60):
        apart = positions - positions[particle]
        apart -= box * np.round(apart / box)
        r = np.linalg.norm(apart, axis=1)
        units = (apart / np.where(r > 0, r, 1)[:, None])[(r > 0) & (r < radius)]
        cosines = units @ units.T
        of_pairs = np.polynomial.legendre.Legendre([0] * 6 + [1])(cosines)
        expected = np.sqrt(of_pairs.mean()) if len(units) else 0.0
        assert found[particle] == pytest.approx(expected, abs=1e-7)
    with pytest.raises(ValueError, match="up to half the shortest edge, 2.5"):
        supercool.bond_orientational_order(positions, box, radius=3.0)


def test_first_passages(finished):
    trajectory = supercool.open(finished).stages["production"].trajectory
    found = supercool.first_passage_times(trajectory, 0.1, origins=[0, 2])
    places, times = np.array([frame.unwrapped for frame in trajectory]), np.array([frame.time for frame in trajectory])
    assert found.shape == (2, 256)
    for row, origin in zip(found, (0, 2)):
        far = np.linalg.norm(places[origin:] - places[origin], axis=2) > 0.1
        expected = np.where(far.any(0), times[origin:][far.argmax(0)] - times[origin], np.nan)
        np.testing.assert_array_equal(row, expected)
    assert np.isfinite(found).any()
    with pytest.raises(ValueError, match="origins: 99 is not a frame"):
        supercool.first_passage_times(trajectory, 0.1, origins=[99])
    with pytest.raises(ValueError, match="with times of as many frames"):
        supercool.first_passage_times(places, 0.1)
