"""The Python page of the guide: its configuration and all its code, in one process after each other."""

import pathlib
import re

import pytest
from conftest import needed

PAGE = pathlib.Path(__file__).parents[2] / "docs/guide/python.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("tomllib")
    needed("matplotlib").use("Agg")
    for program in ("ase", "MDAnalysis", "scipy.sparse.linalg"):
        needed(program)
    monkeypatch.chdir(tmp_path)
    (configuration,) = blocks("toml")
    pathlib.Path("liquid.toml").write_text(configuration)
    names = {}
    code = blocks("python")
    assert len(code) == 12
    for block in code:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["run"].outcome == "finished"
    # The figure takes six lines at most, with the runs.
    figure = next(block for block in code if "savefig" in block)
    assert len([line for line in figure.splitlines() if line]) <= 6
    assert pathlib.Path("scattering.svg").stat().st_size > 1000
    assert len(names["ax"].containers) == 5
    assert "finished" in capsys.readouterr().out
