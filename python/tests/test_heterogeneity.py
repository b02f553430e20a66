import types

import numpy as np
import pytest
import supercool
from conftest import LIQUID


def function(q, values, errors):
    time = np.array([0.0, 1.0])
    both = np.stack([np.ones_like(values), values], axis=1)
    return types.SimpleNamespace(
        axes={"wavenumber": q, "time": time}, time=time, value=both, error=np.stack([0 * errors, errors], axis=1)
    )


def test_the_length_is_that_of_the_curve():
    q = np.array([0.4, 0.6, 0.8, 1.0, 1.3])
    exact = 12.0 / (1 + (q * 1.7) ** 2)
    found = supercool.dynamic_length(function(q, exact, 0.05 * exact), 0.9)
    assert (found.time, found.flags) == (1.0, ())
    assert found.length == pytest.approx(1.7, rel=1e-9) and found.limit == pytest.approx(12.0, rel=1e-9)
    np.testing.assert_allclose(found.fitted, exact, rtol=1e-9)
    # Errors cover what repeated noise does.
    rng = np.random.default_rng(8)
    deviations = []
    for _ in range(400):
        noisy = supercool.dynamic_length(function(q, exact * (1 + 0.05 * rng.normal(size=5)), 0.05 * exact), 1.0)
        deviations.append([(noisy.length - 1.7) / noisy.length_error, (noisy.limit - 12.0) / noisy.limit_error])
    # Of 400: known to 4 %; the curve is not straight over the errors.
    spread = np.sqrt(np.mean(np.square(deviations), axis=0))
    assert ((spread > 0.85) & (spread < 1.2)).all(), spread


def test_what_cannot_be_trusted_has_flags():
    q = np.array([0.4, 0.6, 0.8, 1.0])
    exact = 12.0 / (1 + (q * 1.7) ** 2)
    bare = supercool.dynamic_length(function(q, exact, np.full(4, np.nan)), 1.0)
    assert bare.flags == ("no-errors",) and np.isnan(bare.length_error) and bare.length == pytest.approx(1.7)
    rising = supercool.dynamic_length(function(q, 1 + q, 0.01 * q), 1.0)
    assert rising.flags == ("no-length",) and np.isnan(rising.length)
    long = 12.0 / (1 + (q * 3.0) ** 2)
    assert supercool.dynamic_length(function(q, long, 0.01 * long), 1.0).flags == ("small-box",)
    bent = exact * np.array([1.0, 1.1, 0.9, 1.0])
    assert supercool.dynamic_length(function(q, bent, 0.01 * bent), 1.0).flags == ("poor-fit",)
    with pytest.raises(ValueError, match="2 wave numbers with a value at t = 1: a fit takes three or more"):
        supercool.dynamic_length(function(q, exact, exact), 1.0, largest=0.7)


def test_a_run_has_the_four_point_structure_factor(tmp_path):
    observables = '["self-overlap", "four-point-structure-factor", "distinct-van-hove-function"]'
    text = LIQUID.replace("wavenumbers = [3.0, 7.0]", f"wavenumbers = [1.0, 1.5, 2.0, 3.0]\nobservables = {observables}")
    supercool.run(text, output=tmp_path / "liquid")
    dynamics = supercool.open(tmp_path / "liquid").stages["production"].dynamics
    s4 = dynamics["all-particles/four_point_structure_factor"]
    assert s4.value.shape == (4, len(s4.time)) and (s4.value > 0).all()
    assert supercool.dynamic_length(s4, 0.2).time == pytest.approx(0.2)
    distinct = dynamics["A-B/distinct_van_hove_function"]
    # Nearest neighbors at first, none at contact; the density far away.
    assert distinct.value[0, 0] == 0.0 and distinct.value[:, 0].max() > 1.5 * 0.8442
    assert distinct.value[-10:, -1].mean() == pytest.approx(0.8442, rel=0.15)


def made(temperature, energy, overlap, chi=None, error=0.01):
    time = np.array([0.0, 1.0, 2.0])

    def of(values, error):
        return types.SimpleNamespace(time=time, value=np.array(values), error=np.full(3, error))

    dynamics = {"A/self_overlap": of(overlap, error)}
    if chi is not None:
        dynamics["A/self_overlap_susceptibility"] = of(chi, 0.1)
    series = {"temperature": temperature, "total_energy": energy}
    return types.SimpleNamespace(
        dynamics=dynamics,
        observables={name: types.SimpleNamespace(value=np.array([value])) for name, value in series.items()},
        plan={"system": {"species": [{"name": "A", "count": 75}, {"name": "B", "count": 25}]}},
        classes={},
    )


def test_the_correction_is_its_formula():
    colder, hotter = made(0.9, -3.0, [1.0, 0.9, 0.7]), made(1.1, -2.4, [1.0, 0.8, 0.3])
    stage = made(1.0, -2.7, [1.0, 0.85, 0.5], chi=[0.0, 1.0, 2.0])
    found = supercool.canonical_susceptibility(stage, colder, hotter, part="A")
    assert found.heat_capacity == pytest.approx(3.0) and found.temperature == 1.0
    # (75/100) (1/3) (dQ/dT)^2.
    np.testing.assert_allclose(found.correction, 0.25 * np.array([0.0, 0.25, 4.0]), atol=1e-12)
    np.testing.assert_allclose(found.value, found.measured + found.correction)
    of_slope = 0.01 * 2**0.5 / 0.2
    expected = 0.25 * np.sqrt(4 * 4.0 * of_slope**2 + 2 * of_slope**4)
    assert found.correction_error[2] == pytest.approx(expected)
    assert found.error[2] == pytest.approx(np.hypot(0.1, expected))
    given = supercool.canonical_susceptibility(stage, colder, hotter, part="A", heat_capacity=(1.5, 0.3))
    np.testing.assert_allclose(given.correction, 2 * found.correction)
    assert given.correction_error[2] == pytest.approx(np.hypot(2 * expected, 0.2 * 2.0))
    with pytest.raises(ValueError, match="of colder, stage and hotter are not in order"):
        supercool.canonical_susceptibility(stage, hotter, colder, part="A")
