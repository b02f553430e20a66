"""Initial states that other programs give, as files that a run can start from."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile

from . import _bridges


@contextlib.contextmanager
def kept(initial):
    """Path of a file with the state while it is wanted; None where there is none."""
    if initial is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="supercool-") as folder:
        path = pathlib.Path(folder) / "initial.h5md"
        write(path, _bridges.frame(initial))
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
        write(whole, frame)
        os.replace(whole, path)
    finally:
        whole.unlink(missing_ok=True)
    return os.fspath(path)


def write(path, frame):
    """One frame as H5MD."""
    import h5py
    import numpy

    dimension = len(frame.box)
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
        box["edges"] = frame.box
        for name, values in (("position", frame.positions), ("velocity", frame.velocities), ("image", frame.images)):
            if values is not None:
                element = particles.create_group(name)
                element["step"], element["time"] = numpy.array([frame.step]), numpy.array([frame.time])
                element["value"] = values[None]
        particles["species"] = frame.species.astype("int32")
        particles["species"].attrs["names"] = numpy.array([name.encode() for name in frame.species_names])
        if frame.masses is not None:
            particles["mass"] = frame.masses
