"""Initial states that other programs give, as files that a run can start from."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile

from . import _bridges, _h5md


@contextlib.contextmanager
def kept(initial):
    """Path of a file with the state while it is wanted; None where there is none."""
    if initial is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="supercool-") as folder:
        path = pathlib.Path(folder) / "initial.h5md"
        _h5md.write(path, [_bridges.frame(initial)], diameters=True)
        yield os.fspath(path)


def beside(initial, output):
    """The state in OUTPUT-initial.h5md."""
    if output is None:
        raise ValueError("initial: give output, too: the initial state is kept beside that directory")
    directory = pathlib.Path(output)
    path = directory.with_name(f"{directory.name}-initial.h5md")
    frame = _bridges.frame(initial)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _h5md.write(whole, [frame], diameters=True)
        os.replace(whole, path)
    finally:
        whole.unlink(missing_ok=True)
    return os.fspath(path)
