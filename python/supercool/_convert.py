"""Trajectories in other formats."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pathlib

from . import _native

_LOG = logging.getLogger("supercool")


@dataclasses.dataclass(frozen=True)
class Converted:
    """What was converted: the file that was written, number of frames, particles of the first, steps of the first and the last one,
    and what was left out or assumed."""

    path: pathlib.Path
    frames: int
    particles: int
    steps: tuple[int, int]
    notes: list[str]


def convert(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    frames: int | slice | str = ":",
    every: int | None = None,
    system: int | None = None,
    wrapped: bool = False,
    unwrapped: bool = False,
    from_format: str | None = None,
    to_format: str | None = None,
    force: bool = False,
) -> Converted:
    """Writes a trajectory or state in another format, as the command `convert`: H5MD, GSD, extended XYZ, LAMMPS dump or data file.

    source: a file of these formats; a results file of supercool stands for the trajectory beside it. destination: the end of its name
    says its format: .h5md, .gsd, .xyz, .lammpstrj (or .dump), .data. from_format, to_format: instead, "h5md", "gsd", "xyz",
    "lammps-dump" or "lammps-data".

    frames: which ones, as a slice, its text, or the number of one. every: of these only those at multiples of this number of steps
    behind the first frame of the file. system: of many systems, which one.

    Positions are written within the box with images beside them, if the source has any; wrapped: without images; unwrapped: as if there
    were no periodic boundary. force: replace an existing file. What is left out or assumed goes to the logger "supercool", too.

    Raises Error where the source cannot be read, or the destination cannot hold it, ValueError for wrong arguments.

    >>> import pathlib, supercool
    >>> lattice = 'Lattice="3 0 0 0 3 0 0 0 3" Properties=species:S:1:pos:R:3 step=5'
    >>> _ = pathlib.Path("two.xyz").write_text(f"2\\n{lattice}\\nA 0.5 1.0 1.5\\nB 2.0 2.5 0.25\\n")
    >>> converted = supercool.convert("two.xyz", "two.data")
    >>> print(converted.path, converted.frames, converted.particles, converted.steps)
    two.data 1 2 (5, 5)
    >>> print(pathlib.Path("two.data").read_text().splitlines()[-2:])
    ['1 1 0.5 1.0 1.5', '2 2 2.0 2.5 0.25']
    """
    if wrapped and unwrapped:
        raise ValueError("wrapped, unwrapped: give one of them")
    if every is not None and every < 1:
        raise ValueError(f"every = {every}: it is a number of steps")
    if isinstance(frames, slice):
        parts = [frames.start, frames.stop, frames.step]
        frames = ":".join("" if part is None else str(part) for part in parts)
    destination = pathlib.Path(destination).expanduser()
    done = _native.convert(
        os.fspath(pathlib.Path(source).expanduser()),
        os.fspath(destination),
        positions="wrapped" if wrapped else "unwrapped" if unwrapped else "both",
        frames=str(frames),
        every=every,
        system=system,
        from_format=from_format,
        to_format=to_format,
        force=force,
    )
    done = json.loads(done)
    for note in done["notes"]:
        _LOG.warning("convert: %s", note)
    return Converted(destination, done["frames"], done["particles"], tuple(done["steps"]), done["notes"])
