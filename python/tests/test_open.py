import h5py
import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed


@pytest.fixture
def stage(finished):
    return supercool.open(finished).stages["production"]


def test_a_directory_has_its_stages_in_order(finished):
    results = supercool.open(finished)
    assert list(results.stages) == ["equilibrate", "production"]
    assert results.toml == LIQUID
    assert results.plan["run"]["timestep"] == 0.004
    assert all(stage.complete for stage in results.stages.values())
    assert supercool.open(finished / "production.h5").name == "production"


def test_functions_are_those_of_the_file(finished, stage):
    names = set(stage.dynamics)
    assert {"A/mean_square_displacement", "all-particles/mean_square_displacement"} <= names
    assert len(stage.dynamics) == len(names)
    with h5py.File(finished / "production.h5") as file:
        for name in names:
            function = stage.dynamics[name]
            group = file["dynamics"][name]
            for part in ("value", "error", "count"):
                np.testing.assert_array_equal(getattr(function, part), group[part][()])
            assert function.value.shape == tuple(len(grid) for grid in function.axes.values())
            np.testing.assert_array_equal(function.time, group["time"][()])
    scattering = stage.dynamics["A/self_intermediate_scattering_function"]
    assert list(scattering.axes) == ["wavenumber", "time"] and len(scattering.axes["wavenumber"]) == 2
    assert stage.dynamics["A/mean_square_displacement"].unit == "sigma2"


def test_the_pair_distribution_is_that_of_the_trajectory(stage):
    assert {"AA/pair_distribution", "AB/pair_distribution", "AA/structure_factor"} <= set(stage.structure)
    function = stage.structure["BB/pair_distribution"]
    (distance,) = function.axes.values()
    assert list(function.axes) == ["distance"] and function.time is None
    np.testing.assert_allclose(distance, np.arange(30) * 0.1 + 0.05)
    bins, pairs = np.linspace(0.0, 3.0, 31), np.zeros(30)
    for frame in stage.trajectory:
        place = frame.positions[200:]
        apart = place[:, None] - place[None]
        apart -= frame.box * np.round(apart / frame.box)
        pairs += np.histogram(np.sqrt((apart**2).sum(-1))[np.triu_indices(56, 1)], bins)[0]
    shell = 4.0 / 3.0 * np.pi * (bins[1:] ** 3 - bins[:-1] ** 3)
    expected = pairs / 5 * np.prod(frame.box) / (56 * 55 / 2 * shell)
    # By their definition, up to (N - 1)/N.
    shown = expected > 0
    ratio = function.value[shown] / expected[shown]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert ratio[0] == pytest.approx(1.0, abs=1 / 55)


def test_the_mean_square_displacement_is_that_of_the_trajectory(stage):
    function = stage.dynamics["all-particles/mean_square_displacement"]
    frames = list(stage.trajectory)
    start, end = frames[0], frames[-1]
    assert end.step - start.step == 200
    at = np.flatnonzero(np.isclose(function.time, 200 * 0.004))
    displacement = ((end.unwrapped - start.unwrapped) ** 2).sum(1).mean()
    for index in at[function.count[at] > 0]:
        # A run in fixed-point sums terms of 32 bits.
        assert function.value[index] == pytest.approx(displacement, rel=1e-7)


def test_observables(stage):
    temperature = stage.observables["temperature"]
    np.testing.assert_array_equal(temperature.step, np.arange(120, 321, 10))
    np.testing.assert_allclose(temperature.time, temperature.step * 0.004)
    assert temperature.value.shape == (21,) and temperature.error is None
    assert stage.observables["stress_tensor"].value.shape == (21, 3, 3)
    assert set(stage.observables) >= {"temperature", "pressure", "stress_tensor"}
    for absent in ("density", "nothing", "temperature/value"):
        assert absent not in stage.observables
    with stage.file() as file:
        assert file["observables/density"][()] == pytest.approx(0.8442)


def test_what_is_not_there_is_said(tmp_path, stage):
    with pytest.raises(KeyError, match="A/mean_square_displacement"):
        stage.dynamics["C/mean_square_displacement"]
    with pytest.raises(FileNotFoundError, match="name the directory of a run"):
        supercool.open(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing.h5"):
        supercool.open(tmp_path / "nothing.h5").dynamics["A"]


def test_frames(finished, stage):
    trajectory = supercool.open(finished / "production.h5md")
    assert len(trajectory) == len(stage.trajectory) == 5
    assert [frame.step for frame in trajectory] == [120, 170, 220, 270, 320]
    assert trajectory[-1].step == trajectory[4].step == 320
    assert [frame.step for frame in trajectory[1:3]] == [170, 220]
    with pytest.raises(IndexError):
        trajectory[5]
    frame = trajectory[2]
    assert frame.positions.shape == (256, 3)
    assert (frame.positions >= 0).all() and (frame.positions < frame.box).all()
    assert trajectory.species.shape == trajectory.masses.shape == (256,)


def test_many_systems_and_their_averages(tmp_path):
    text = LIQUID.replace("temperature = 1.0", 'temperature = "ensemble"')
    text += '\n[ensemble]\nkind = "temperatures"\ntemperatures = [1.2, 1.0]\nsystems = 3\n'
    stage = supercool.run(text, output=tmp_path).open().stages["production"]
    systems = stage.systems
    assert [system.number for system in systems] == [0, 1, 2, 3, 4, 5]
    assert [system.temperature for system in systems] == [1.2] * 3 + [1.0] * 3
    assert [system.seed for system in systems] == [7, 8, 9, 10, 11, 12]
    name = "A/mean_square_displacement"
    average = stage.dynamics[name]
    assert list(average.axes) == ["temperature", "time"]
    each = np.array([system.dynamics[name].value for system in systems])
    np.testing.assert_allclose(average.value, each.reshape(2, 3, -1).mean(1), rtol=1e-12)
    assert list(systems[0].dynamics[name].axes) == ["time"]
    rows = np.array([system.observables["pressure"].value for system in systems])
    means = stage.observables["pressure"]
    np.testing.assert_allclose(means.value, rows.reshape(2, 3, -1).mean(1).T, rtol=1e-12)
    assert means.error.shape == means.value.shape
    assert systems[4].trajectory[0].positions.shape == (256, 3)
    with pytest.raises(ValueError, match="give system, 0 to 5"):
        stage.trajectory


def test_propensities_and_one_of_their_runs(tmp_path):
    start = LIQUID + '\n[ensemble]\nkind = "independent"\nsystems = 2\n'
    supercool.run(start, output=tmp_path / "start")
    text = LIQUID.replace('lattice = "fcc", ', "").replace("thermodynamics = 20, ", "")
    text = text[: text.index('[[stage]]\nname = "production"')].replace("steps = 120", "steps = 60")
    text += '[stage.propensity]\ntimes = [0.08, 0.24]\nobservables = ["displacement"]\n'
    text += '[ensemble]\nkind = "isoconfigurational"\nruns = 3\nconfigurations = "FILE"\n'
    text = text.replace("FILE", str(tmp_path / "start/production.h5md"))
    stage = supercool.run(text, output=tmp_path / "runs").open().stages["equilibrate"]
    assert list(stage.propensity) == ["displacement"] and len(stage.systems) == 6
    displacement = stage.propensity["displacement"]
    assert displacement.value.shape == (2, 2, 256) and displacement.predictable_share.shape == (2, 2)
    np.testing.assert_allclose(displacement.time, [0.08, 0.24])
    assert "|r_i(t) - r_i(0)|" in displacement.description
    # By the stored frames of the runs from the second configuration; the last is of the time 0.24.
    moved = []
    for number in (3, 4, 5):
        first, last = (stage.systems[number].trajectory[n] for n in (0, -1))
        assert last.step - first.step == 60
        moved.append(np.sqrt(((last.unwrapped - first.unwrapped) ** 2).sum(1)))
    np.testing.assert_allclose(displacement.value[1, 1], np.mean(moved, axis=0), rtol=1e-6, atol=1e-7)
    # One of them alone.
    simulation = supercool.Simulation(text, system=4)
    simulation.advance(60)
    np.testing.assert_array_equal(simulation.positions, stage.systems[4].trajectory[-1].positions)


def test_figures(stage):
    matplotlib = needed("matplotlib")
    matplotlib.use("Agg")
    ax = stage.dynamics["A/self_intermediate_scattering_function"].plot(label="cold")
    words = ax.get_legend_handles_labels()[1]
    grid = stage.dynamics["A/self_intermediate_scattering_function"].axes["wavenumber"]
    assert words == [f"cold, wavenumber = {q:.4g}" for q in grid]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "t")
    assert stage.observables["temperature"].plot(ax) is ax
    ax = stage.structure["AB/pair_distribution"].plot()
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("linear", "r", "pair distribution")


def test_curves_end_with_their_errors_and_scales_can_be_chosen(stage):
    needed("matplotlib").use("Agg")
    function = stage.dynamics["A/mean_square_displacement"]
    ax = function.plot(marker="o")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    # This run is too short for errors: all of the curve is drawn. Of others what has an error.
    (line,) = [container[0] for container in ax.containers]
    assert line.get_marker() == "o" and line.get_xdata()[-1] == function.time[-1]
    x, errors = np.arange(6.0), np.array([0.0, 0.1, np.nan, 0.1, np.nan, np.nan])
    curve = supercool._figures.Curve(x, x, errors)
    ax = supercool._figures.draw(None, [curve], "time", "self_overlap", "")
    assert ax.containers[0][0].get_xdata()[-1] == 3.0 and ax.get_yscale() == "linear"
    ax = function.plot(xscale="linear", yscale="linear")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.containers[0][0].get_xdata()[0] == 0.0


def test_figures_of_files_are_those_of_the_command(finished, stage, tmp_path):
    from conftest import command

    chosen = ["--by=system.density", "--markers", "--x-range=0.02:1.0", "--y-scale=linear", "--size=12.0x9.0"]
    quantity = "mean-square-displacement"
    ended = command("plot", stage.path, "-q", quantity, "-o", tmp_path / "command.svg", *chosen)
    assert ended.returncode == 0, ended.stderr
    options = dict(by="system.density", markers=True, x_range=(0.02, 1), y_scale="linear", size=(12, 9))
    path = supercool.plot(stage, tmp_path / "python.svg", quantity, **options)
    assert path.read_text() == (tmp_path / "command.svg").read_text()
    path = supercool.plot([finished], tmp_path / "all.pdf")
    assert path.read_bytes().startswith(b"%PDF-")
    for match, wrong in [("LOW:HIGH", {"x_range": (2, 1)}), ("msd", {"quantities": "msd"}), ("scale", {"x_scale": "lin"})]:
        with pytest.raises(ValueError, match=match):
            supercool.plot(stage, tmp_path / "none.svg", **wrong)
    with pytest.raises(supercool.Error, match="no key system.dnsity"):
        supercool.plot(stage, tmp_path / "none.svg", by="system.dnsity")
    assert not (tmp_path / "none.svg").exists()


def test_data_frames(stage):
    needed("pandas")
    scattering = stage.dynamics["A/self_intermediate_scattering_function"]
    table = scattering.to_pandas()
    assert table.index.names == ["wavenumber", "time"]
    np.testing.assert_array_equal(table["value"].to_numpy(), scattering.value.ravel())
    assert stage.dynamics["A/mean_square_displacement"].to_pandas().index.name == "time"
    table = stage.observables["center_of_mass_velocity"].to_pandas()
    np.testing.assert_array_equal(
        table["center_of_mass_velocity[1]"], stage.observables["center_of_mass_velocity"].value[:, 1]
    )


def test_fits_are_those_of_the_command_with_their_flags(tmp_path, finished, stage):
    import json

    from conftest import command

    assert command("analyze", finished, "--json", tmp_path / "fits.json").returncode == 0
    assert supercool.analyze(finished) == json.loads((tmp_path / "fits.json").read_text())
    fits = stage.fits()
    assert {"D", "tau"} & {fit.quantity for fit in fits}
    for fit in fits:
        assert all(flag in str(fit) for flag in fit.flags)
    one = next((fit for fit in fits if fit.quantity == "D" and fit.species == "A"), None)
    if one:
        assert repr(stage.diffusion("A")) == repr(one)
    with pytest.raises(LookupError, match="there is no D of C"):
        stage.diffusion("C")
