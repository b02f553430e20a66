"""Runs with files."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import numbers
import os
import pathlib
import signal
import threading
from typing import TYPE_CHECKING

from . import _configuration, _initial, _native, _nvrtc

if TYPE_CHECKING:
    from typing import Any

    from ._configuration import Configuration
    from ._results import Results

_SIGNALS = ("SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP")


@dataclasses.dataclass(frozen=True)
class Run:
    """How a run ended.

    outcome: "finished"; "stopped", by a signal or the time limit, with a checkpoint: `supercool.resume(run.path)` goes on;
    "not begun": stopped before the files of an earlier run were replaced.
    path: the directory of its files. step: the last step.
    summary: of a finished run, a dictionary of means for each stage (of several temperatures: for each of them): `name`,
    `steps`, `samples` and, where there are samples, `temperature`, `potential_energy`, `total_energy` (per particle), `pressure`
    and `drift` (of the conserved energy).
    why: what stopped it. checkpoint: the file to resume from.
    seconds, setup_seconds, engine: of a finished run.
    """

    outcome: str
    path: pathlib.Path
    step: int | None = None
    summary: list[dict] | None = None
    why: str | None = None
    checkpoint: pathlib.Path | None = None
    particles: int | None = None
    seconds: float | None = None
    setup_seconds: float | None = None
    was_complete: bool | None = None
    engine: dict | None = dataclasses.field(default=None, repr=False)

    def open(self) -> Results:
        """Its results: `supercool.open(run.path)`."""
        from ._results import open as open_results

        return open_results(self.path)


def run(
    config: Configuration,
    *,
    output: str | os.PathLike[str] | None = None,
    initial: Any = None,
    engine: str | None = None,
    force: bool = False,
    max_walltime: float | str | None = None,
    quiet: bool = True,
) -> Run:
    """Runs a configuration as `supercool run` does, with the same files and the same bits.

    config: path, TOML text (of several lines) or dictionary.
    output: directory for the results, instead of output.directory. engine: "auto", "cpu" or "cuda", instead of run.engine.
    initial: particles to start from, as of `Simulation`; they are kept as OUTPUT-initial.h5md, and the plan of the run names that
    file. It needs `output`.
    force: removes the files of an earlier run there. max_walltime: seconds, or text such as "12h": then it stops with a checkpoint.
    quiet: no progress bar.

    Ctrl-C and the signals of batch systems stop it with a checkpoint, too: `outcome` of what comes back is then "stopped". They
    are caught where this is called in the main thread and they have no handler of yours. Other threads of Python go on meanwhile.

    Raises ConfigError where the configuration is wrong, Error where the run cannot start or breaks.
    """
    _nvrtc.find()
    name, text = _configuration.split(config)
    file = None if initial is None else _initial.beside(initial, output)
    with _stopped_by_signals() as stop:
        ended = _native.run(
            name,
            text,
            stop,
            initial=file,
            output=None if output is None else os.fspath(output),
            engine=engine,
            force=force,
            max_walltime=_walltime(max_walltime),
            quiet=quiet,
        )
    return _outcome(ended)


def resume(
    directory: str | os.PathLike[str],
    *,
    engine: str | None = None,
    max_walltime: float | str | None = None,
    quiet: bool = True,
) -> Run:
    """Goes on from the last checkpoint of a run's directory, as `supercool resume` does. See `run`."""
    _nvrtc.find()
    with _stopped_by_signals() as stop:
        ended = _native.resume(
            os.fspath(directory), stop, engine=engine, max_walltime=_walltime(max_walltime), quiet=quiet
        )
    return _outcome(ended)


def check(config: Configuration) -> str:
    """What a configuration would run, with every default: the text of `supercool check`. Raises ConfigError where it is wrong."""
    return _native.check(*_configuration.split(config))


def _walltime(limit):
    return f"{float(limit)!r}s" if isinstance(limit, numbers.Real) else limit


def _outcome(ended):
    values = json.loads(ended)
    values["path"] = pathlib.Path(values["path"])
    if "checkpoint" in values:
        values["checkpoint"] = pathlib.Path(values["checkpoint"])
    return Run(**values)


@contextlib.contextmanager
def _stopped_by_signals():
    """While it lasts, signals that have no handler of the user's stop the run."""
    stop = _native.Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in _SIGNALS):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, lambda number, _: stop.signal(number))
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
