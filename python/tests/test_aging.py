"""Correlations from given time origins."""

import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed

MSD = "A/mean_square_displacement"
SCATTERING = "A/self_intermediate_scattering_function"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    text = LIQUID[: LIQUID.index('[[stage]]\nname = "production"')]
    text += """[[stage]]
name = "quench"
steps = 400
thermostat = { kind = "bussi", temperature = 0.3, time = 0.2 }
draw_velocities = true
observe = { trajectory = 20, inherent_structures = { times = [0.08, 0.8] } }
[[stage.correlation]]
every = 20
block_size = 4
wavenumbers = [3.0, 7.0]
observables = ["mean-square-displacement", "self-intermediate-scattering-function"]
origins = [0.0, 0.4, 0.8]
[ensemble]
kind = "independent"
systems = 3
"""
    return supercool.run(text, output=tmp_path_factory.mktemp("aging") / "run").open().stages["quench"]


def test_arrays_have_an_axis_of_waiting_times(results):
    moved, scattered = results.aging[MSD], results.aging[SCATTERING]
    assert list(scattered.axes) == ["wavenumber", "waiting_time", "time"]
    np.testing.assert_allclose(moved.waiting_time, [0.0, 0.4, 0.8])
    np.testing.assert_allclose(moved.time[:4], [0.0, 0.08, 0.16, 0.24])
    assert moved.value.shape == (3, len(moved.time)) and moved.unit == "sigma2"
    beyond = moved.waiting_time[:, None] + moved.time > 1.6 + 1e-9
    assert beyond.any() and (np.isnan(moved.value) == beyond).all()
    assert (moved.count[beyond] == 0).all() and (moved.error[~beyond][1:] >= 0).any()
    each = np.array([system.aging[MSD].value for system in results.systems])
    np.testing.assert_allclose(each.mean(axis=0)[~beyond], moved.value[~beyond])
    assert np.isnan(results.systems[0].aging[MSD].error).all()
    assert results.dynamics.get(MSD) is None and results.aging[MSD].change is None
    assert results.observables["inherent_structure_energy"].value.shape[0] == 2
    assert moved.to_pandas().index.names == ["waiting_time", "time"]


def test_stored_frames_give_the_same(results):
    stage = supercool.correlate(
        results.systems[1].trajectory,
        every=20,
        block_size=4,
        wavenumbers=[3.0, 7.0],
        observables=["mean-square-displacement", "self-intermediate-scattering-function"],
        origins=[0.0, 0.4, 0.8],
    )
    for name in (MSD, SCATTERING):
        found, expected = stage.aging[name], results.systems[1].aging[name]
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-9, atol=1e-12)
    with pytest.raises(supercool.Error, match="no frame"):
        supercool.correlate(results.systems[1].trajectory, observables=["mean-square-displacement"], origins=[0.004])


def test_figures_are_over_time_and_over_the_waiting_time(results, tmp_path):
    needed("matplotlib").use("Agg")
    function = results.aging[MSD]
    assert len(function.plot().get_legend_handles_labels()[1]) == 3
    scaled = function.plot(over="t/tw")
    labels = scaled.get_legend_handles_labels()[1]
    assert labels == ["waiting_time = 0.4", "waiting_time = 0.8"] and scaled.get_xlabel() == "t / t_w"
    with pytest.raises(ValueError, match="t/tw"):
        function.plot(over="t")
    for over, label in ((None, "t_w = 0.4"), ("t/tw", "t / t_w")):
        figure = supercool.plot(results, tmp_path / "figure.svg", "mean-square-displacement", over=over)
        assert label in figure.read_text()
