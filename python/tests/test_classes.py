import numpy as np
import pytest
import supercool

BOX = [6.0] * 3
DIAMETERS = np.linspace(0.8, 1.4, 216)[np.random.default_rng(4).permutation(216)]


def moving(frames=8):
    """Places of a simple cubic lattice; particles of the smallest third move by 0.02 along x between frames, others by 0.01."""
    at = np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    step = np.where(np.argsort(np.argsort(DIAMETERS)) < 72, 0.02, 0.01)
    displacement = np.arange(frames)[:, None, None] * np.stack([step, 0 * step, 0 * step], axis=-1)
    return at + 0.1 + displacement


def test_correlations_by_classes_of_diameter():
    options = {"timestep": 1.0, "unwrapped": True, "diameters": DIAMETERS, "observables": ["mean-square-displacement"]}
    stage = supercool.correlate(moving(), BOX, diameter_classes=3, **options)
    assert list(stage.classes) == ["class1", "class2", "class3"]
    first = stage.classes["class1"]
    assert (first.particles, first.label) == (72, "class 1 (0.80-1.00)")
    small = np.sort(DIAMETERS)[:72]
    np.testing.assert_allclose([first.least, first.mean, first.greatest], [small[0], small.mean(), small[-1]], rtol=1e-6)
    for name, expected in {"class1": 4e-4, "class2": 1e-4, "class3": 1e-4, "all-particles": 2e-4}.items():
        function = stage.dynamics[f"{name}/mean_square_displacement"]
        np.testing.assert_allclose(function.value[1], expected, rtol=1e-9)
    bounds = supercool.correlate(moving(), BOX, diameter_classes=[1.0, 1.1], **options)
    assert [of.particles for of in bounds.classes.values()] == [72, 36, 108]
    without = supercool.correlate(moving(), BOX, timestep=1.0, unwrapped=True)
    assert without.classes == {}


def test_local_order_of_a_lattice():
    stage = supercool.correlate(
        moving(), BOX, timestep=1.0, unwrapped=True, diameters=DIAMETERS, local_order={"every": 7, "radius": 1.2}
    )
    # Six neighbors are too few of a crystal; diameters are assigned at random.
    assert stage.observables["crystallinity"].value.tolist() == [0.0, 0.0]
    assert 0.6 < stage.observables["demixing"].value[0] < 1.4
    dense = supercool.correlate(moving(), BOX, timestep=1.0, unwrapped=True, local_order={"every": 7, "radius": 1.5})
    assert dense.observables["crystallinity"].value[0] == 1.0
    assert np.isnan(dense.observables["demixing"].value[0])


def test_classes_need_diameters():
    with pytest.raises(ValueError, match="diameter_classes: the trajectory has no diameters"):
        supercool.correlate(moving(), BOX, timestep=1.0, unwrapped=True, diameter_classes=3)
    with pytest.raises(supercool.ConfigError, match="classes"):
        supercool.correlate(moving(), BOX, timestep=1.0, unwrapped=True, diameters=DIAMETERS, diameter_classes=[0.9, 1.5])
