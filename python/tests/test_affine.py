import numpy as np
import pytest
import supercool
from conftest import needed

needed("scipy.spatial")


@pytest.mark.parametrize("dimension", [2, 3])
def test_an_affine_deformation_is_its_own_gradient_through_a_flip(dimension):
    rng = np.random.default_rng(3)
    box = np.array([7.0, 8.0, 9.0])[:dimension]
    earlier = supercool.Frame(positions=rng.uniform(0, 1, (400, dimension)) * box, box=box, tilt=0.4)
    gradient = np.eye(dimension)
    gradient[0, 1] = 0.3 * box[0] / box[1]
    # The tilt becomes 0.7, and the frame has -0.3.
    later = supercool.Frame(positions=earlier.positions @ gradient.T, box=box, tilt=0.7)
    assert later.tilt == pytest.approx(-0.3)
    found = supercool.local_deformation(earlier, later, radius=1.9)
    np.testing.assert_allclose(found.gradient, np.broadcast_to(gradient, found.gradient.shape), atol=1e-12)
    assert found.d2_min.max() < 1e-24
    green = 0.5 * (gradient.T @ gradient - np.eye(dimension))
    deviator = green - np.trace(green) / dimension * np.eye(dimension)
    np.testing.assert_allclose(found.strain, np.sqrt(0.5 * (deviator**2).sum()), rtol=1e-9)


def test_non_affine_displacements_are_those_of_a_fit_for_each_particle():
    rng = np.random.default_rng(5)
    box = np.array([6.0, 6.0, 6.0])
    earlier = supercool.Frame(positions=rng.uniform(0, 6, (150, 3)), box=box)
    later = supercool.Frame(positions=earlier.positions + 0.1 * rng.normal(size=(150, 3)), box=box)
    found = supercool.local_deformation(earlier, later, radius=1.6)
    for particle in range(0, 150, 7):
        before = earlier.positions - earlier.positions[particle]
        before -= box * np.round(before / box)
        near = (np.linalg.norm(before, axis=1) < 1.6) & (np.arange(150) != particle)
        after = later.positions - later.positions[particle]
        after -= box * np.round(after / box)
        fit, rest, *_ = np.linalg.lstsq(before[near], after[near], rcond=None)
        np.testing.assert_allclose(found.gradient[particle], fit.T, atol=1e-10)
        assert found.d2_min[particle] == pytest.approx(rest.sum() / near.sum(), rel=1e-9)


def test_what_cannot_be_fitted_is_no_number_and_what_does_not_fit_is_refused():
    line = supercool.Frame(positions=[[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], box=[8.0, 8.0])
    found = supercool.local_deformation(line, line, radius=1.5)
    assert np.isnan(found.d2_min).all() and np.isnan(found.strain).all()
    with pytest.raises(ValueError, match="up to half the shortest height of the box, 4"):
        supercool.local_deformation(line, line, radius=4.5)
    with pytest.raises(ValueError, match="frames of 3 and 2 particles"):
        supercool.local_deformation(line, supercool.Frame(positions=[[1.0, 1.0], [2.0, 1.0]], box=[8.0, 8.0]), radius=1.5)
