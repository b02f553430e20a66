import numpy as np
import pytest
import supercool
from conftest import fcc, needed

PAIR = {"epsilon": 1.0, "sigma": 1.0}
CRYSTAL = {"kind": "lennard-jones", "cutoff": 2.5, "truncation": "shifted", "pairs": {"AA": PAIR}}


def integral(found, values):
    return np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(found.frequency))


def test_frequencies_of_a_crystal():
    needed("scipy.linalg")
    positions, box = fcc(4, 1.0)
    found = supercool.normal_modes(CRYSTAL, positions, box)
    assert found.modes.shape == (768, 256, 3)
    assert np.abs(found.frequencies[:3]).max() < 1e-5
    # By sums over minimum images in numpy.
    assert found.frequencies[3] == pytest.approx(5.262705791206245, rel=1e-10)
    assert found.frequencies[-1] == pytest.approx(21.356569806723662, rel=1e-12)
    assert np.mean(found.frequencies**2) == pytest.approx(219.231319203069, rel=1e-12)
    np.testing.assert_allclose(found.participation_ratios[:3], 1.0, rtol=1e-9)
    modes = found.modes.reshape(768, -1)
    np.testing.assert_allclose(modes @ modes.T, np.eye(768), atol=1e-12)
    fewer = supercool.normal_modes(CRYSTAL, positions, box, lowest=9)
    np.testing.assert_allclose(fewer.frequencies[3:], found.frequencies[3:9], rtol=1e-9)
    # Four times the mass is half the frequency; a crystal that is stretched far is unstable.
    heavy = supercool.normal_modes(CRYSTAL, positions, box, masses=np.full(256, 4.0))
    np.testing.assert_allclose(2 * heavy.frequencies[3:], found.frequencies[3:], rtol=1e-9)
    assert supercool.normal_modes(CRYSTAL, 1.3 * positions, 1.3 * box, lowest=5).frequencies[0] < -1.0


def test_masses_weight_the_modes():
    """A light and a heavy particle on a spring: the light one moves more, both with the reduced mass."""
    needed("scipy.linalg")
    apart = 2 ** (1 / 6)
    found = supercool.normal_modes(CRYSTAL, [[1.0, 1.0], [1.0 + apart, 1.0]], [6.0, 6.0], masses=[1.0, 3.0])
    displacement = found.modes[-1] / np.sqrt([[1.0], [3.0]])
    assert displacement[0, 0] == pytest.approx(-3 * displacement[1, 0])
    with pytest.raises(ValueError, match="masses: all must be finite and above zero"):
        supercool.normal_modes(CRYSTAL, [[1.0, 1.0], [2.0, 1.0]], [6.0, 6.0], masses=[1.0, 0.0])
    with pytest.raises(ValueError, match="lowest = 4: it must be from 1 to 3"):
        supercool.normal_modes(CRYSTAL, [[1.0, 1.0], [2.0, 1.0]], [6.0, 6.0], lowest=4)


#: Time between samples.
STEP = 0.05


def oscillators(time, phases):
    """Correlated: one light particle A at frequency 4 beside two heavy ones B at 9."""
    frequencies, amplitudes = np.array([4.0, 9.0, 9.0]), np.array([1.0, 0.5, 0.5])
    velocities = np.zeros((len(time), 3, 2))
    velocities[:, :, 0] = amplitudes * np.cos(frequencies * time[:, None] + phases)
    places = np.ones((len(time), 3, 2))
    options = {"species": ["A", "B", "B"], "masses": [1.0, 3.0, 3.0], "times": time, "unwrapped": True}
    return supercool.correlate(places, [4.0, 4.0], velocities=velocities, block_size=120, levels=1, **options)


def test_lines_are_where_and_as_high_as_they_have_to_be():
    # Of whole periods of both, so that averages over origins are those over phases, up to one block.
    time = np.arange(int(2 * np.pi * 20 / STEP)) * STEP
    stage = oscillators(time, np.array([0.3, 1.0, 2.0]))
    found = supercool.density_of_states(stage)
    assert integral(found, found.value) == pytest.approx(1.0, rel=1e-12)
    # Shares of the kinetic energy: 1/2 of A, twice 3/8 of B.
    assert integral(found, found.species["A"]) == pytest.approx(0.4, abs=2e-3)
    np.testing.assert_allclose(found.species["A"] + found.species["B"], found.value, atol=1e-13)
    longest = 119 * STEP
    assert found.resolution == pytest.approx(2 * np.pi / longest, rel=1e-5)
    # The transform of the window at each line, with its mirror image: half of it is one frequency step away.
    spacing = np.pi / longest

    def line(w):
        x = w / spacing
        return longest / (2 * np.pi) * np.sinc(x) / (1 - x**2)

    expected = sum(share * (line(found.frequency - w) + line(found.frequency + w)) for share, w in ((0.4, 4.0), (0.6, 9.0)))
    np.testing.assert_allclose(found.value, expected, atol=0.01 * expected.max())
    assert found.flags == () and np.isnan(found.error).all()
    shorter = supercool.density_of_states(stage, longest=3.0)
    assert len(shorter.frequency) == 61 and shorter.resolution == pytest.approx(longest / 3 * found.resolution)
    assert integral(shorter, shorter.value) == pytest.approx(1.0, rel=1e-12)
    assert supercool.density_of_states(stage, window=None).flags == ("truncated",)
    # Up to pi / 0.35 = 8.98, just below the line at 9.
    assert supercool.density_of_states(oscillators(time[::7], np.zeros(3))).flags == ("aliased",)


def test_errors_are_of_four_runs():
    time = np.arange(600) * STEP
    stages = [oscillators(time, phases) for phases in np.random.default_rng(2).uniform(0, 6, (4, 3))]
    alone = [supercool.density_of_states(stage).value for stage in stages]
    found = supercool.density_of_states(stages)
    np.testing.assert_allclose(found.value, np.mean(alone, axis=0), atol=1e-13)
    np.testing.assert_allclose(found.error, np.std(alone, axis=0, ddof=1) / 2 * 3**0.5, atol=1e-13)


def test_velocities_of_a_crystal_have_its_frequencies(tmp_path):
    """At a temperature so low that it is harmonic."""
    needed("scipy.linalg")
    positions, box = fcc(4, 1.0)
    crystal = {
        "system": {
            "dimension": 3,
            "density": 1.0,
            "seed": 4,
            "species": [{"name": "A", "count": 256}],
            "initial": {"lattice": "fcc", "temperature": 1e-4},
        },
        "potential": CRYSTAL,
        "run": {"engine": "cpu", "precision": "double", "timestep": 0.005},
        "stage": [
            {
                "name": "vibrate",
                "steps": 3000,
                "correlation": [{"every": 4, "block_size": 400, "levels": 1, "observables": ["velocity-autocorrelation"]}],
            }
        ],
    }
    supercool.run(crystal, output=tmp_path / "crystal")
    found = supercool.density_of_states(supercool.open(tmp_path / "crystal").stages["vibrate"])
    assert integral(found, found.value) == pytest.approx(1.0, rel=1e-12) and found.flags == ()
    exact = supercool.normal_modes(CRYSTAL, positions, box).frequencies[3:]
    outside = (found.frequency < exact[0] - found.resolution) | (found.frequency > exact[-1] + found.resolution)
    assert integral(found, np.where(outside, np.abs(found.value), 0.0)) < 0.01
    # 765 modes with random energies: a mean square of frequencies that differ by 40 % is uncertain by 1.4 %.
    square = integral(found, found.value * found.frequency**2)
    assert square == pytest.approx(np.mean(exact**2), rel=0.05)


def test_what_is_missing_is_named(finished):
    stage = supercool.open(finished).stages["production"]
    with pytest.raises(ValueError, match="give the correlation a block_size as large"):
        supercool.density_of_states(stage, longest=0.1)
    with pytest.raises(ValueError, match="window = 'hamming'"):
        supercool.density_of_states(stage, window="hamming")
    steady = supercool.correlate(np.ones((20, 4, 3)), [4.0] * 3, timestep=0.1)
    with pytest.raises(ValueError, match="no velocity autocorrelation of A; those of all species are needed"):
        supercool.density_of_states(steady)
