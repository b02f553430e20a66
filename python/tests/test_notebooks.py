"""The notebooks of the guide: all their code, in one process after each other."""

import json
import pathlib

import pytest
from conftest import needed

FOLDER = pathlib.Path(__file__).parents[2] / "docs/notebooks"


def run(name, tmp_path, monkeypatch, **sizes):
    pytest.importorskip("tomllib")
    needed("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs are not kept here"
    names = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)
            # The first code gives the sizes: here they are smaller.
            for size, value in sizes.items():
                assert size in names
                names[size] = value
            sizes = {}
    return names


def test_four_temperatures(tmp_path, monkeypatch, capsys):
    names = run("four_temperatures", tmp_path, monkeypatch, particles=200, steps=1000)
    assert names["run"].outcome == "finished"
    found = [point.temperature for point in names["averages"]]
    assert found == pytest.approx([1.0, 0.8, 0.7, 0.6], abs=0.15) and found == sorted(found, reverse=True)
    for figure in ("scattering", "displacement"):
        assert pathlib.Path(f"{figure}.svg").stat().st_size > 1000
    printed = capsys.readouterr().out
    assert printed.count("T = ") >= 8
    # Runs this short have numbers that cannot be trusted: they have flags.
    assert "not-diffusive" in printed


def test_propensities(tmp_path, monkeypatch):
    names = run("propensities", tmp_path, monkeypatch, particles=200, runs=4, steps=500)
    displacement = names["displacement"]
    assert displacement.value.shape == (2, len(displacement.time), 200)
    assert (displacement.value > 0).all()
    assert (displacement.predictable_share[:, 0] < 1).all()
    assert pathlib.Path("propensities.svg").stat().st_size > 1000


def test_polydisperse_spheres(tmp_path, monkeypatch, capsys):
    names = run("polydisperse_spheres", tmp_path, monkeypatch, particles=300, steps=1200)
    assert names["run"].outcome == names["no_swaps"].outcome == "finished"
    assert (names["first"] != names["last"]).mean() > 0.9
    still = names["results"]["no swaps"].trajectory
    assert (still[0].diameters == still[-1].diameters).all()
    assert 0.01 < names["simulation"].swaps.acceptance < 0.6
    # Both begin with the same state; exchanges bring the energy further down.
    energies = [stage.observables["potential_energy"].value for stage in names["results"].values()]
    assert energies[0][0] == energies[1][0]
    late = [energy[len(energy) // 2 :].mean() for energy in energies]
    assert late[0] < late[1] < energies[1][0]
    path = "A/self_intermediate_scattering_function"
    curves = [names["stages"][stage].dynamics[path] for stage in ("with_swaps", "dynamics")]
    late = curves[0].time > 4
    assert (curves[0].value[0, late] < curves[1].value[0, late]).all()
    for figure in ("diameters", "energy", "scattering"):
        assert pathlib.Path(f"{figure}.svg").stat().st_size > 1000
    assert "accepted" in capsys.readouterr().out
