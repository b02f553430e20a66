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


def test_structure_by_classes_of_diameter():
    structure = {"every": 1, "maximum_distance": 2.0, "bin_width": 0.5, "maximum_wavenumber": 3.0, "diameter_classes": 3}
    options = {"timestep": 1.0, "unwrapped": True, "observables": ["mean-square-displacement"], "structure": structure}
    stage = supercool.correlate(moving(), BOX, diameters=DIAMETERS, **options)
    assert [of.particles for of in stage.classes.values()] == [72, 72, 72]
    assert len(stage.structure) == 14 and "class1-class3/structure_factor" in stage.structure
    pairs = [(a, b) for a in (1, 2, 3) for b in range(a, 4)]
    of = {(a, b): stage.structure[f"class{a}-class{b}/structure_factor"].value for a, b in pairs}
    total = sum(s if a == b else 2 * s for (a, b), s in of.items())
    np.testing.assert_allclose(stage.structure["all-particles/structure_factor"].value, total, atol=1e-12)
    # No neighbors within half a lattice constant, and six at about one.
    g = stage.structure["all-particles/pair_distribution"].value
    assert g[0] == 0.0 and g[1] + g[2] > 0.0
    with pytest.raises(ValueError, match="diameter_classes: the trajectory has no diameters"):
        supercool.correlate(moving(), BOX, **options)


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
