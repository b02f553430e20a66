"""What else goes on in the process of a run."""

import signal
import subprocess
import sys
import threading

import h5py
import pytest
import supercool
from conftest import LIQUID
from supercool import _file
from test_command import until
from test_run import interrupt_when

LONG = LIQUID.replace("steps = 200", "steps = 100_000_000") + "\n[output]\nflush_seconds = 0.02\n"


def test_a_run_that_goes_on_is_read(tmp_path):
    ended = []
    thread = threading.Thread(target=lambda: ended.append(supercool.run(LONG, output=tmp_path, max_walltime=3.0)))
    thread.start()
    until((tmp_path / "production.h5").exists)
    last = reads = 0
    while thread.is_alive():
        stage = supercool.open(tmp_path).stages["production"]
        temperature = stage.observables["temperature"]
        assert len(temperature.value) == len(temperature.step) == len(temperature.time) >= last
        assert stage.dynamics["A/mean_square_displacement"].value.shape
        assert not stage.complete
        last, reads = len(temperature.step), reads + 1
    thread.join()
    assert [run.outcome for run in ended] == ["stopped"]
    assert reads > 3 and last > 0


def test_what_is_being_written_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "of.h5"
    with h5py.File(path, "w") as file:
        file["value"] = 3.0
    monkeypatch.setattr(_file, "_PAUSE", 0.0)
    failures = iter([OSError("addr overflow"), RuntimeError("object not found")])

    def take(file):
        for failure in failures:
            raise failure
        return file["value"][()]

    assert _file.read(path, take) == 3.0
    with pytest.raises(OSError, match="no luck"):
        _file.read(path, lambda _: (_ for _ in ()).throw(OSError("no luck")))


def test_a_file_that_is_cut_off_is_refused_on_opening(tmp_path, monkeypatch):
    path = tmp_path / "of.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file["values"] = list(range(10_000))
    monkeypatch.setattr(_file, "_PAUSE", 0.0)
    assert _file.read(path, lambda file: file["values"][7]) == 7
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(OSError, match="truncated file"):
        _file.read(path, lambda _: pytest.fail("it was opened"))


def test_a_run_in_another_thread_leaves_signals_as_they_are(tmp_path):
    """SIGTERM ends the process, as before."""
    program = f"""
import os, signal, threading, supercool
thread = threading.Thread(target=lambda: supercool.run({LIQUID!r}, output={str(tmp_path)!r}))
thread.start()
thread.join()
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""
    ended = subprocess.run([sys.executable, "-c", program], timeout=120)
    assert ended.returncode == -signal.SIGTERM
    assert (tmp_path / "production.h5").exists()


def test_an_interrupted_advance_keeps_its_steps(tmp_path):
    simulation = supercool.Simulation(LONG)
    ready = threading.Event()
    interrupt_when(lambda: ready.is_set() and simulation.step > 0, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ready.set()
        simulation.advance(100_000_000)
    assert 0 < simulation.step < 100_000_000
    other = supercool.Simulation(LONG)
    other.advance(simulation.step)
    assert other.hash() == simulation.hash()


def test_the_compiler_of_kernels_is_found_where_pip_installs_it(tmp_path, monkeypatch):
    from supercool import _nvrtc

    library = tmp_path / "nvidia/cu13/lib/libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    library.with_name("libnvrtc-builtins.so.13.0").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setenv("SUPERCOOL_NVRTC", "mine")
    _nvrtc.find()
    assert _nvrtc.os.environ["SUPERCOOL_NVRTC"] == "mine"
    monkeypatch.delenv("SUPERCOOL_NVRTC")
    _nvrtc.find()
    assert _nvrtc.os.environ.pop("SUPERCOOL_NVRTC") == str(library)
