"""Frames as H5MD files, from which the part in Rust reads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _bridges

if TYPE_CHECKING:
    import pathlib

    from ._frame import Frame

#: Frames that are written at once, in bytes of positions.
_BLOCK = 16 << 20


def write(path: pathlib.Path, frames: Iterable[Frame], *, diameters: bool = False) -> int:
    """Writes frames of the same particles; gives their number. Images, velocities and, where they are wanted, diameters are there if
    the first frame has them."""
    import h5py
    import numpy

    frames = iter(frames)
    first = next(frames, None)
    if first is None:
        raise ValueError("there are no frames")
    _bridges.straight(first)
    count, dimension = first.positions.shape
    held = {"position": "positions", "velocity": "velocities", "image": "images"}
    if diameters:
        held["diameter"] = "diameters"
    held = {name: of for name, of in held.items() if getattr(first, of) is not None}
    with h5py.File(path, "w") as file:
        metadata = file.create_group("h5md")
        metadata.attrs["version"] = numpy.array([1, 1], "int32")
        metadata.create_group("author").attrs["name"] = numpy.bytes_("supercool")
        creator = metadata.create_group("creator")
        creator.attrs["name"], creator.attrs["version"] = numpy.bytes_("supercool"), numpy.bytes_("python")
        particles = file.create_group("particles/trajectory")
        box = particles.create_group("box")
        box.attrs["dimension"] = dimension
        box.attrs["boundary"] = numpy.array([b"periodic"] * dimension)
        box["edges"] = first.box
        for name, of in held.items():
            rows = getattr(first, of)
            particles.create_dataset(f"{name}/value", (0, *rows.shape), rows.dtype, maxshape=(None, *rows.shape))
            for clock, dtype in (("step", "int64"), ("time", "float64")):
                particles.create_dataset(f"{name}/{clock}", (0,), dtype, maxshape=(None,))
        particles["species"] = first.species.astype("int32")
        particles["species"].attrs["names"] = numpy.array([name.encode() for name in first.species_names])
        if first.masses is not None:
            particles["mass"] = first.masses
        written = 0
        frames = itertools.chain([first], frames)
        while block := list(itertools.islice(frames, max(1, _BLOCK // (8 * max(1, first.positions.size))))):
            for number, frame in enumerate(block, start=written):
                _check(frame, first, number, held)
            for name, of in held.items():
                element = particles[name]
                for clock in ("step", "time"):
                    _append(element[clock], [getattr(frame, clock) for frame in block])
                _append(element["value"], [getattr(frame, of) for frame in block])
            written += len(block)
    return written


def _append(dataset, rows):
    start = len(dataset)
    dataset.resize(start + len(rows), axis=0)
    dataset[start:] = rows


def _check(frame, first, number, held):
    """It must be of the particles of the first one."""
    import numpy

    if frame.positions.shape != first.positions.shape or frame.types != first.types:
        raise ValueError(f"frame {number}: its particles are not those of the first frame")
    _bridges.straight(frame)
    if not numpy.allclose(frame.box, first.box, rtol=1e-6, atol=0):
        raise ValueError(f"frame {number}: its box, {frame.box}, is not that of the first frame, {first.box}")
    missing = [of for of in held.values() if getattr(frame, of) is None]
    if missing:
        raise ValueError(f"frame {number}: has no {missing[0]}, which the first frame has")
