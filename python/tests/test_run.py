import os
import pathlib
import signal
import threading

import numpy as np
import pytest
import supercool
from conftest import LIQUID
from test_command import until

WRONG = LIQUID.replace("cutoff = 2.2", 'cutoff = "far"')


def frames(directory):
    return {
        (name, frame.step): (frame.positions, frame.images, frame.velocities)
        for name, stage in supercool.open(directory).stages.items()
        for frame in stage.trajectory
    }


def same(one, other):
    assert one.keys() == other.keys() and one
    for key in one:
        for a, b in zip(one[key], other[key]):
            np.testing.assert_array_equal(a, b)


def tables():
    """LIQUID as Python has it."""
    try:
        import tomllib
    except ModuleNotFoundError:
        tomllib = pytest.importorskip("tomli")
    return tomllib.loads(LIQUID)


def test_runs_from_a_path_a_text_and_a_dictionary_are_the_command_s(tmp_path, finished):
    configuration = tables()
    configuration["system"]["seed"] = np.int64(7)
    (tmp_path / "liquid.toml").write_text(LIQUID)
    for config in (tmp_path / "liquid.toml", str(tmp_path / "liquid.toml"), LIQUID, configuration):
        run = supercool.run(config, output=tmp_path / "out", force=True)
        assert (run.outcome, run.path, run.step) == ("finished", tmp_path / "out", 320)
        same(frames(run.path), frames(finished))
    names = [stage["name"] for stage in run.summary]
    assert names == ["equilibrate", "production"]
    # The rows behind the first of a stage are its samples.
    energies = run.open().stages["equilibrate"].observables["internal_energy"].value
    assert run.summary[0]["samples"] == 6
    assert run.summary[0]["total_energy"] == pytest.approx(np.mean(energies[1:]), rel=1e-14)


def test_a_time_limit_stops_with_a_checkpoint_and_resume_gives_the_same_bits(tmp_path, finished):
    run = supercool.run(LIQUID, output=tmp_path / "out", max_walltime=0.0)
    assert (run.outcome, run.why) == ("stopped", "the time limit (--max-walltime)")
    assert run.checkpoint.exists() and run.summary is None
    run = supercool.resume(run.path)
    assert (run.outcome, run.step) == ("finished", 320)
    same(frames(run.path), frames(finished))
    assert supercool.resume(run.path).was_complete


def interrupt_when(exists, number):
    def wait():
        until(exists)
        os.kill(os.getpid(), number)

    threading.Thread(target=wait).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_it_and_get_their_handlers_back(tmp_path, number):
    before = signal.getsignal(number)
    interrupt_when((tmp_path / "production.h5").exists, number)
    run = supercool.run(LIQUID.replace("steps = 200", "steps = 100_000_000"), output=tmp_path)
    assert (run.outcome, run.why) == ("stopped", signal.Signals(number).name)
    assert run.checkpoint.exists()
    assert signal.getsignal(number) is before
    if number == signal.SIGINT:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_an_exception_of_a_handler_stops_it_first(tmp_path):
    class Mine(Exception):
        pass

    def handle(number, frame):
        raise Mine

    signal.signal(signal.SIGUSR1, handle)
    interrupt_when((tmp_path / "production.h5").exists, signal.SIGUSR1)
    with pytest.raises(Mine):
        supercool.run(LIQUID.replace("steps = 200", "steps = 100_000_000"), output=tmp_path)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    # It has ended in its second stage, with a checkpoint.
    steps = [int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("checkpoint-*.scp")]
    assert max(steps) >= 120
    assert supercool.resume(tmp_path, max_walltime=0.0).outcome == "stopped"


def test_other_threads_go_on_meanwhile(tmp_path):
    count = 0
    done = threading.Event()

    def work():
        nonlocal count
        while not done.wait(0.001):
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    supercool.run(LIQUID, output=tmp_path)
    done.set()
    thread.join()
    assert count > 3


def test_all_that_is_wrong_is_said_with_key_line_and_remedy(tmp_path):
    (tmp_path / "wrong.toml").write_text(WRONG.replace("seed = 7", "seed = -7"))
    with pytest.raises(supercool.ConfigError) as raised:
        supercool.check(tmp_path / "wrong.toml")
    keys = {key: line for key, line, message, help in raised.value.problems}
    lines = WRONG.splitlines()
    assert keys, str(raised.value)
    for key, line in keys.items():
        assert key.rpartition(".")[2] in lines[line - 1]
        assert f"wrong.toml:{line}: {key}: " in str(raised.value)
    with pytest.raises(supercool.ConfigError) as raised:
        supercool.check(LIQUID.replace("lennard-jones", "lenard-jones"))
    ((key, line, message, help),) = raised.value.problems
    assert (key, line) == ("potential.kind", 9)
    assert "lennard-jones" in help and f"\nhelp: {help}" in str(raised.value)


def test_errors_are_of_supercool(tmp_path, finished):
    assert issubclass(supercool.ConfigError, supercool.Error)
    with pytest.raises(supercool.ConfigError, match="nothing.toml"):
        supercool.run(tmp_path / "nothing.toml")
    with pytest.raises(supercool.Error, match="holds the files of an earlier run"):
        supercool.run(LIQUID, output=finished)
    with pytest.raises(supercool.Error, match="no checkpoint to resume from"):
        supercool.resume(tmp_path)
    with pytest.raises(supercool.Error, match="no_such_file"):
        supercool.run(
            LIQUID.replace('lattice = "fcc", temperature = 1.5', 'file = "no_such_file.gsd"'), output=tmp_path
        )
    with pytest.raises(ValueError, match='there is "auto", "cpu" and "cuda"'):
        supercool.run(LIQUID, engine="gpu")
    with pytest.raises(ValueError, match="is no time"):
        supercool.run(LIQUID, max_walltime="soon")
    with pytest.raises(TypeError, match="a configuration is"):
        supercool.run(7)
    with pytest.raises(supercool.Error, match="cannot be written as TOML"):
        supercool.check({"system": {"seed": None}})


def test_check_is_the_command_s(tmp_path):
    from conftest import command

    (tmp_path / "liquid.toml").write_text(LIQUID)
    path = pathlib.Path("liquid.toml")
    printed = command("check", path, cwd=tmp_path)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert supercool.check(path) == printed.stdout
    finally:
        os.chdir(before)


def test_warnings_go_to_logging(tmp_path, caplog):
    # Far too hot for the bound.
    text = LIQUID + '\n[limits]\naction = "warn"\ntemperature = 0.01\n'
    supercool.run(text, output=tmp_path)
    said = [record for record in caplog.records if record.name == "supercool"]
    assert any("temperature" in record.getMessage() for record in said)
    assert {record.levelname for record in said} == {"WARNING"}


def test_copies_started_by_mpirun_are_refused_with_the_command_to_take(tmp_path, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    for attempt in (lambda: supercool.run(LIQUID, output=tmp_path), lambda: supercool.resume(tmp_path)):
        with pytest.raises(supercool.Error, match="one of 2 processes .*\n.*mpirun -n 2 supercool run FILE"):
            attempt()
    assert not list(tmp_path.iterdir())
