import logging

import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convert")
    supercool.run(LIQUID[: LIQUID.index('[[stage]]\nname = "production"')], output=folder / "run")
    return folder


def test_a_results_file_becomes_gsd(folder, caplog):
    hoomd = needed("gsd.hoomd")
    with caplog.at_level(logging.WARNING, logger="supercool"):
        converted = supercool.convert(folder / "run/equilibrate.h5", folder / "a.gsd", frames=slice(1, None))
    assert (converted.path, converted.frames, converted.particles) == (folder / "a.gsd", 2, 256)
    assert converted.steps == (60, 120)
    assert [f"convert: {note}" for note in converted.notes] == caplog.messages
    assert any("left out: times, parameters" in note for note in converted.notes)
    with hoomd.open(folder / "a.gsd") as frames:
        assert [frame.configuration.step for frame in frames] == [60, 120]
        assert list(frames[0].particles.types) == ["A", "B"]


def test_wrong_arguments_are_named(folder):
    source = folder / "run/equilibrate.h5md"
    for given in ({"wrapped": True, "unwrapped": True}, {"every": 0}):
        with pytest.raises(ValueError):
            supercool.convert(source, folder / "b.xyz", **given)
    for given, message in [
        ({"frames": "x"}, "FIRST:END:STRIDE"),
        ({"frames": 7}, "none of its 3 frames"),
        ({"to_format": "dcd"}, "lammps-dump"),
    ]:
        with pytest.raises(supercool.Error, match=message):
            supercool.convert(source, folder / "b.xyz", **given)
    supercool.convert(source, folder / "b.xyz", frames=-1, unwrapped=True)
    with pytest.raises(supercool.Error, match="exists already"):
        supercool.convert(source, folder / "b.xyz")
    last = np.loadtxt(folder / "b.xyz", skiprows=2, usecols=(1, 2, 3))
    expected = supercool.open(folder / "run/equilibrate.h5").trajectory[-1].unwrapped
    np.testing.assert_array_equal(last, expected)
