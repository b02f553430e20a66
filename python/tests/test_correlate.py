import logging

import numpy as np
import pytest
import supercool
from conftest import LIQUID, command, needed

SCATTERING = "A/self_intermediate_scattering_function"
MSD = "all-particles/mean_square_displacement"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Of a run with 21 frames that are so near to each other that minimum images follow particles."""
    text = LIQUID[: LIQUID.index('[[stage]]\nname = "production"')]
    text += '[[stage]]\nname = "production"\nsteps = 400\nobserve = { trajectory = 20, gsd = true }\n'
    folder = tmp_path_factory.mktemp("correlate")
    supercool.run(text, output=folder / "run")
    return folder / "run/production.h5md"


@pytest.fixture(scope="module")
def expected(path):
    """By the command."""
    folder = path.parent.parent
    text = LIQUID[: LIQUID.index('[[stage]]\nname = "production"')]
    text += """[[stage]]
name = "production"
steps = 400
observe = { structure = { every = 20, maximum_distance = 3.0, bin_width = 0.1, maximum_wavenumber = 8.0 } }
[[stage.correlation]]
every = 20
wavenumbers = [7.0]
"""
    (folder / "liquid.toml").write_text(text)
    ended = command("correlate", path, folder / "liquid.toml", "--output", folder / "command", "--quiet")
    assert ended.returncode == 0, ended.stderr
    return supercool.open(folder / "command/production.h5")


def is_same(stage, expected, *, tolerance=1e-12, velocities=True):
    names = set(stage.dynamics)
    assert names >= {MSD, SCATTERING, "B/non_gaussian_parameter"}
    assert ("A/velocity_autocorrelation" in names) == velocities
    for name in names:
        found, wanted = stage.dynamics[name], expected.dynamics[name]
        np.testing.assert_allclose(found.time, wanted.time, rtol=1e-9)
        np.testing.assert_array_equal(found.count, wanted.count)
        for part in ("value", "error"):
            scale = np.nanmax(np.abs(wanted.value))
            np.testing.assert_allclose(
                getattr(found, part), getattr(wanted, part), rtol=100 * tolerance, atol=tolerance * scale, equal_nan=True
            )


def test_files_and_trajectories_of_supercool(path, expected, tmp_path):
    structure = {"maximum_distance": 3.0, "bin_width": 0.1, "maximum_wavenumber": 8.0}
    for trajectory in (path, str(path), supercool.open(path)):
        stage = supercool.correlate(trajectory, wavenumbers=[7.0], structure=structure)
        is_same(stage, expected)
        for name in ("AB/pair_distribution", "BB/structure_factor"):
            np.testing.assert_array_equal(stage.structure[name].value, expected.structure[name].value)
    stage = supercool.correlate(path, wavenumbers=[7.0], output=tmp_path / "kept")
    assert stage.path == tmp_path / "kept/correlate.h5" and isinstance(stage.fits(), list)
    with pytest.raises(supercool.Error, match="earlier run"):
        supercool.correlate(path, wavenumbers=[7.0], output=tmp_path / "kept")
    supercool.correlate(path, wavenumbers=[7.0], output=tmp_path / "kept", force=True)


def test_arrays(path, expected, caplog):
    frames = list(supercool.open(path))
    names = frames[0].types
    options = dict(
        box=frames[0].box,
        times=[frame.time for frame in frames],
        species=names,
        masses=frames[0].masses,
        wavenumbers=[7.0],
    )
    unwrapped = np.array([frame.unwrapped for frame in frames])
    velocities = np.array([frame.velocities for frame in frames])
    is_same(supercool.correlate(unwrapped, velocities=velocities, unwrapped=True, **options), expected)
    assert not caplog.records
    # Wrapped, and centred: by minimum images, which is said.
    with caplog.at_level(logging.WARNING, "supercool"):
        wrapped = np.array([frame.positions for frame in frames]) - 0.5 * frames[0].box
        is_same(supercool.correlate(wrapped, **options), expected, velocities=False)
    assert "minimum images" in caplog.text
    # In another order of particles.
    order = np.random.default_rng(2).permutation(len(names))
    mixed = {**options, "species": np.array(names)[order], "masses": options["masses"][order]}
    is_same(supercool.correlate(unwrapped[:, order], unwrapped=True, **mixed), expected, velocities=False)
    # By hand, of the first and the last frame.
    function = supercool.correlate(unwrapped, unwrapped=True, remove_drift=False, **options).dynamics[MSD]
    last = np.flatnonzero(np.isclose(function.time, 1.6))
    by_hand = ((unwrapped[-1] - unwrapped[0]) ** 2).sum(1).mean()
    assert function.value[last] == pytest.approx(by_hand, rel=1e-12) and len(last) == 1


def test_lists_of_objects(path, expected):
    needed("ase")
    trajectory = supercool.open(path)
    is_same(supercool.correlate(list(trajectory), wavenumbers=[7.0]), expected)
    # Momenta are divided by masses again.
    is_same(supercool.correlate(trajectory.to_ase(), wavenumbers=[7.0]), expected, tolerance=1e-11)


def test_mdanalysis(path, expected):
    needed("MDAnalysis")
    universe = supercool.open(path).to_mdanalysis()
    is_same(supercool.correlate(universe, wavenumbers=[7.0]), expected, tolerance=1e-5)


def test_gsd(path, expected):
    hoomd = needed("gsd.hoomd")
    file = path.with_suffix(".gsd")
    with pytest.raises(ValueError, match="give the time of a step"):
        supercool.correlate(file, wavenumbers=[7.0])
    is_same(supercool.correlate(file, timestep=0.004, wavenumbers=[7.0]), expected, tolerance=1e-5)
    with hoomd.open(file, "r") as frames:
        is_same(supercool.correlate(frames, timestep=0.004, wavenumbers=[7.0]), expected, tolerance=1e-5)


def test_atooms(path, expected, tmp_path):
    needed("atooms")
    from atooms.trajectory import TrajectoryRam, TrajectoryXYZ

    trajectory = supercool.open(path)
    ram = TrajectoryRam()
    for frame in trajectory:
        ram.write(frame.to_atooms(), step=frame.step)
    is_same(supercool.correlate(ram, timestep=0.004, wavenumbers=[7.0]), expected)
    # In its own format, with its time step.
    with TrajectoryXYZ(str(tmp_path / "x.xyz"), "w", fields=["species", "position", "velocity", "mass"]) as file:
        file.write_timestep(0.004)
        file.precision = 14
        for frame in trajectory:
            file.write(frame.to_atooms(), frame.step)
    with TrajectoryXYZ(str(tmp_path / "x.xyz")) as file:
        is_same(supercool.correlate(file, wavenumbers=[7.0]), expected, tolerance=1e-9)


def test_two_dimensions_and_times_that_double():
    rng = np.random.default_rng(4)
    # Ballistic: |dr|^2 = v^2 t^2.
    velocity = rng.normal(size=(20, 2))
    times = np.sort([*np.arange(0, 81, 10), 1, 2, 4]) * 0.05
    positions = rng.uniform(0, 5, (20, 2)) + times[:, None, None] * velocity
    stage = supercool.correlate(positions, [5.0, 6.0], times=times, unwrapped=True, remove_drift=False)
    function = stage.dynamics["A/mean_square_displacement"]
    np.testing.assert_allclose(function.value, (velocity**2).sum(1).mean() * function.time**2, rtol=1e-9, atol=1e-12)
    assert len(function.time) > 5 and function.time[1] == pytest.approx(0.5)


def test_frames_without_an_interval_count_with_all_pairs_that_are_as_far_apart(path, tmp_path):
    rng = np.random.default_rng(5)
    velocity = rng.normal(size=(20, 3))
    # The pairs 0-4, 0-7, ..., and 4-11, 7-11 of the lags 7 and 4; steps of 0.1 in times that are no multiples of the first.
    times = np.array([0.0, 0.4, 0.7, 1.1, 5.3])
    positions = rng.uniform(0, 5, (20, 3)) + times[:, None, None] * velocity
    stage = supercool.correlate(positions, [5.0] * 3, times=times, unwrapped=True, remove_drift=False)
    function = stage.dynamics["A/mean_square_displacement"]
    np.testing.assert_allclose(function.time, times, rtol=1e-12)
    # Of 20 particles.
    np.testing.assert_array_equal(function.count, 20 * np.array([5, 2, 2, 1, 1]))
    np.testing.assert_allclose(function.value, (velocity**2).sum(1).mean() * times**2, rtol=1e-9, atol=1e-12)
    # Of a file, and of any numbers.
    frames = [frame for frame in supercool.open(path)]
    chosen = [frames[k] for k in (0, 1, 3, 4, 20)]
    found = supercool.correlate(chosen, remove_drift=False).dynamics[MSD]
    np.testing.assert_allclose(found.time, 0.08 * np.array([0, 1, 3, 4, 20]), rtol=1e-9)
    np.testing.assert_array_equal(found.count, 256 * np.array([5, 2, 2, 1, 1]))
    by_hand = sum(((chosen[k].unwrapped - chosen[j].unwrapped) ** 2).sum(1).mean() for j, k in ((0, 1), (2, 3))) / 2
    assert found.value[1] == pytest.approx(by_hand, rel=1e-12)
    irrational = np.exp(np.linspace(0, 3, 12))
    positions = rng.uniform(0, 5, (20, 3)) + irrational[:, None, None] * velocity
    found = supercool.correlate(positions, [5.0] * 3, times=irrational, unwrapped=True, remove_drift=False)
    found = found.dynamics["A/mean_square_displacement"]
    np.testing.assert_allclose(found.time, irrational - irrational[0], rtol=1e-3)
    np.testing.assert_allclose(found.value, (velocity**2).sum(1).mean() * found.time**2, rtol=2e-3, atol=1e-12)
    with pytest.raises(supercool.Error, match="interval|equal"):
        supercool.correlate(positions, [5.0] * 3, times=irrational, unwrapped=True, structure={"maximum_distance": 2.0})


def test_what_is_wrong_is_said(path):
    positions, box = np.ones((5, 3, 3)), [4.0] * 3
    for match, arguments, options in [
        ("box: give the edges", (positions,), {}),
        ("times: give the time of each", (positions, box), {}),
        ("a time for each of 5 frames", (positions, box), {"times": [0, 1, 2]}),
        ("later than the one before", (positions, box), {"times": [0, 1, 1, 2, 3]}),
        ("give one of them", (positions, box), {"times": range(5), "timestep": 1}),
        ("must be .frames, N, D.", (positions[0], box), {"timestep": 1}),
        ("velocities have the shape", (positions, box), {"timestep": 1, "velocities": positions[1:]}),
        ("files have their own", (path,), {"times": [1, 2]}),
        ("the file says the times", (path,), {"timestep": 0.004}),
    ]:
        with pytest.raises(ValueError, match=match):
            supercool.correlate(*arguments, **options)
    with pytest.raises(TypeError, match="not int"):
        supercool.correlate(3)
    with pytest.raises(supercool.ConfigError, match="wave_numbers"):
        supercool.correlate(path, wave_numbers=[7.0])
    with pytest.raises(supercool.Error, match="every = 30"):
        supercool.correlate(path, every=30)
    # As long as there are pairs of frames.
    assert supercool.correlate(path, every=60).dynamics[MSD].time[1] == pytest.approx(0.24)
    with pytest.raises(supercool.Error, match="cannot be followed"):
        rng = np.random.default_rng(0)
        supercool.correlate(rng.uniform(0, 4, (6, 30, 3)), box, timestep=1.0)
    with pytest.raises(supercool.Error, match="different masses"):
        supercool.correlate(positions, box, timestep=1.0, masses=[1.0, 1.0, 2.0])
