import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed

TEMPERATURES = (1.8, 1.5, 1.3, 1.1, 1.0)
SCATTERING = "A/self_intermediate_scattering_function"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Four runs at the last temperature, one at the others."""
    folder = tmp_path_factory.mktemp("average")
    for temperature in TEMPERATURES:
        text = LIQUID.replace("temperature = 1.0", f"temperature = {temperature}").replace("steps = 200", "steps = 400")
        for seed in range(7, 11 if temperature == 1.0 else 8):
            supercool.run(text.replace("seed = 7", f"seed = {seed}"), output=folder / f"T{temperature}-{seed}")
    return folder


@pytest.fixture
def averages(runs):
    return supercool.average(sorted(runs.glob("T*")))


def test_state_points_hold_means_and_errors_from_the_scatter(runs, averages):
    assert len(averages) == 5 and averages.temperatures == sorted(averages.temperatures, reverse=True)
    assert [point.runs for point in averages] == [1, 1, 1, 1, 4]
    cold = averages[-1]
    assert len(cold.files) == 4
    each = [supercool.open(path).stages["production"] for path in sorted(runs.glob("T1.0-*"))]
    mean = np.mean([stage.observables["temperature"].value.mean() for stage in each])
    assert cold.temperature == pytest.approx(mean, rel=1e-6)
    for name in (SCATTERING, "A/mean_square_displacement"):
        found, values = cold.dynamics[name], np.array([stage.dynamics[name].value for stage in each])
        np.testing.assert_allclose(found.value, values.mean(0), rtol=1e-12, atol=1e-15)
        scatter = values.std(0, ddof=1)
        np.testing.assert_allclose(found.scatter, scatter, rtol=1e-9, atol=1e-15)
        # Student's of four: ((R - 1) / (R - 3))^(1/2), over R^(1/2).
        later = scatter > 1e-12
        np.testing.assert_allclose(found.error[later], (scatter * 3**0.5 / 2)[later], rtol=1e-9)
        assert (found.count == 4).all() and found.unit == each[0].dynamics[name].unit
        assert list(found.axes) == list(each[0].dynamics[name].axes)
    with pytest.raises(KeyError, match="there is .*mean_square_displacement"):
        cold.dynamics["C/mean_square_displacement"]


def test_fits_are_those_of_analyze(runs, averages):
    paths = sorted(runs.glob("T*"))
    assert averages.analysis == supercool.analyze(paths)
    rows = [row for point in averages.analysis["state_points"] for row in point["estimates"]]
    rows += averages.analysis["over_temperature"]
    assert [fit.quantity for fit in averages.fits()] == [row["quantity"] for row in rows]
    with pytest.raises(LookupError, match="there is no tau0_vft of C"):
        averages.vft("C")
    # What is opened already does, too.
    one = supercool.average(supercool.open(paths[0]))
    assert len(one) == 1
    # Why there is none is said.
    with pytest.raises(LookupError, match="there is no tau0_vft of A; no fit over temperatures .*4 are needed"):
        one.vft("A")


def test_laws_over_temperatures_are_found():
    analysis = {"state_points": [], "notes": []}
    analysis["over_temperature"] = [
        {"quantity": name, "species": "A", "wavenumber": q, "temperature": None, "value": value, "error": 0.1, "flags": [], "remark": ""}
        for q in (7.0, 3.0)
        for name, value in (("tau0_vft", 0.2), ("B_vft", q), ("T0_vft", 0.3), ("Tc_mct(tau)", 0.43), ("gamma_mct(tau)", 2.5))
    ]
    averages = supercool.Averages(analysis, [])
    assert [fit.value for fit in averages.vft("A", wavenumber=7.2)] == [0.2, 7.0, 0.3]
    assert [fit.value for fit in averages.mode_coupling("A", wavenumber=3.0)] == [0.43, 2.5]
    with pytest.raises(LookupError, match="several"):
        averages.vft("A")
    with pytest.raises(LookupError, match="no Tc_mct"):
        averages.mode_coupling("A", of="D")


def test_scattering_at_five_temperatures_in_six_lines(runs, tmp_path, monkeypatch):
    needed("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    code = """
averages = supercool.average(sorted(runs.glob("T*")))
ax = averages.plot("A/self_intermediate_scattering_function", wavenumber=7.0)
ax.figure.savefig("scattering.svg")
"""
    assert len(code.strip().splitlines()) <= 6
    names = {"supercool": supercool, "runs": runs}
    exec(code, names)
    ax, averages = names["ax"], names["averages"]
    assert len(ax.containers) == 5 and ax.get_xscale() == "log"
    for container, point in zip(ax.containers, averages):
        line = container[0]
        function = point.dynamics[SCATTERING]
        at = np.abs(function.axes["wavenumber"] - 7.0).argmin()
        np.testing.assert_array_equal(line.get_ydata(), function.value[at][function.time > 0])
        assert container.has_yerr
    # From red to blue, and a color bar that names the temperatures.
    reds, _, blues, _ = np.array([container[0].get_color() for container in ax.containers]).T
    assert reds[0] > 0.7 > 0.3 > blues[0] and blues[-1] > 0.7 > 0.3 > reds[-1]
    assert (np.diff(reds / blues) < 0).all()
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    assert bar.get_ylabel() == "T"
    assert [text.get_text() for text in bar.get_yticklabels()] == [f"{point.temperature:.4g}" for point in averages[::-1]]


def test_all_wave_numbers_differ_by_their_lines(averages):
    needed("matplotlib").use("Agg")
    ax = averages.plot(SCATTERING, label="A")
    assert len(ax.containers) == 10
    grid = averages[0].dynamics[SCATTERING].axes["wavenumber"]
    assert ax.get_legend_handles_labels()[1] == [f"A, q = {q:.4g}" for q in grid]
    assert {container[0].get_linestyle() for container in ax.containers} == {"-", "--"}
    with pytest.raises(KeyError, match="there is"):
        averages.plot("A/nothing")


def test_figures_of_one_run_at_several_temperatures(tmp_path):
    needed("matplotlib").use("Agg")
    text = LIQUID.replace("temperature = 1.0", 'temperature = "ensemble"')
    text += '\n[ensemble]\nkind = "temperatures"\ntemperatures = [1.4, 1.2, 1.0]\nsystems = 1\n'
    stage = supercool.run(text, output=tmp_path).open().stages["production"]
    ax = stage.dynamics["A/mean_square_displacement"].plot()
    assert len(ax.containers) == 3 and len(ax.figure.axes) == 2
    averages = supercool.average(stage)
    assert [point.runs for point in averages] == [1, 1, 1]


def test_tables(averages):
    needed("pandas")
    table = averages.to_pandas(SCATTERING)
    assert table.index.names == ["temperature", "wavenumber", "time"]
    of_one = table.loc[averages.temperatures[2]]
    np.testing.assert_array_equal(of_one["value"].to_numpy(), averages[2].dynamics[SCATTERING].value.ravel())
    fits = averages.to_pandas()
    assert len(fits) == len(averages.fits()) and {"quantity", "value", "error", "flags"} <= set(fits.columns)
