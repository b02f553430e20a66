"""Stored states."""

from __future__ import annotations

import collections.abc
import json
import pathlib
from typing import TYPE_CHECKING

from . import _bridges, _file
from ._frame import Frame

if TYPE_CHECKING:
    from typing import Any

#: Of each particle in each frame, where they have diameters of their own.
_DIAMETER = "diameter/value"

#: Read at once, in bytes of positions.
_BLOCK = 16 << 20


class Trajectory(collections.abc.Sequence):
    """Frames of a file STAGE.h5md, read when they are wanted: `for frame in trajectory`, `trajectory[-1]`. `diameters` of a frame are
    those that the particles have at its step; of particles without, sigma of their species with itself, or None."""

    def __init__(self, path: pathlib.Path, system: int | None = None):
        self.path = path
        #: Of a file of many systems, which one; else None.
        self.system = None
        groups = _file.read(path, lambda file: list(file["particles"]))
        groups.sort(key=lambda name: int(name.rpartition("-")[2]) if "-" in name else 0)
        if system is None and len(groups) > 1:
            raise ValueError(f"{path} holds {len(groups)} systems: give system, 0 to {len(groups) - 1}")
        self._group = f"particles/{groups[system or 0]}"
        if self._group.startswith("particles/system-"):
            self.system = int(self._group.rpartition("-")[2])

        def take(file):
            group = file[self._group]
            return group["species"][()], group["mass"][()], json.loads(_file.text(file["parameters/plan"][()]))

        #: Of each particle.
        self.species, self.masses, plan = _file.read(path, take)
        self._dimension = plan["system"]["simulation_box"]["dimension"]
        self.species_names = [species["name"] for species in plan["system"]["species"]]
        self._lengths = _lengths(plan, self.species)

    def __len__(self) -> int:
        return _file.read(self.path, lambda file: len(file[f"{self._group}/position/step"]))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        length = len(self)
        at = index + length if index < 0 else index
        if not 0 <= at < length:
            raise IndexError(f"frame {index}: {self.path} has {length}")
        return self._frames(at, at + 1)[0]

    def __iter__(self) -> collections.abc.Iterator[Frame]:
        block = max(1, _BLOCK // (24 * len(self.species)))
        for start in range(0, len(self), block):
            yield from self._frames(start, min(start + block, len(self)))

    def _frames(self, start, end):
        axes = slice(self._dimension)

        def take(file):
            group = file[self._group]
            arrays = [group[f"{name}/value"][start:end, :, axes] for name in ("position", "image", "velocity")]
            diameters = group[_DIAMETER][start:end] if _DIAMETER in group else [self._lengths] * (end - start)
            steps, times = (group[f"position/{name}"][start:end] for name in ("step", "time"))
            return arrays, group["box/edges/value"][start:end], diameters, steps, times

        arrays, boxes, diameters, steps, times = _file.read(self.path, take)
        edges, tilts = _boxes(boxes, axes)
        return [
            Frame(
                positions=positions,
                box=box,
                images=images,
                velocities=velocities,
                species=self.species,
                species_names=self.species_names,
                masses=self.masses,
                diameters=of_particles,
                step=int(step),
                time=float(time),
                tilt=tilt,
            )
            for step, time, positions, images, velocities, box, tilt, of_particles in zip(
                steps, times, *arrays, edges, tilts, diameters
            )
        ]

    def to_ase(self, *, unwrapped: bool = False) -> list[Any]:
        """A list of `ase.Atoms`, one for each frame: see `Frame.to_ase`."""
        return [frame.to_ase(unwrapped=unwrapped) for frame in self]

    def to_mdanalysis(self, *, unwrapped: bool = False) -> Any:
        """An `MDAnalysis.Universe` of all frames in memory, also of one of many systems, which MDAnalysis does not find in the file. It
        has types, names and masses, which MDAnalysis does not read of H5MD. Radii are those of the first frame."""
        if not len(self):
            raise ValueError(f"{self.path} has no frames")
        return _bridges._module("mdanalysis").made(list(self), unwrapped)

    def to_gsd(self) -> list[Any]:
        """A list of `gsd.hoomd.Frame`: see `Frame.to_gsd`."""
        return [frame.to_gsd() for frame in self]

    def __repr__(self):
        return f"<Trajectory of {len(self.species)} particles, {len(self)} frames: {self.path}>"


def _boxes(stored, axes):
    """Edges (T, D) and tilts of boxes that are stored as edges, or as matrices with a period in each row."""
    import numpy

    if stored.ndim == 2:
        return stored[:, axes], [0.0] * len(stored)
    return numpy.diagonal(stored, axis1=1, axis2=2)[:, axes], [float(periods[1, 0] / periods[0, 0]) for periods in stored]


def _lengths(plan, species):
    """Sigma of the species of each particle with itself; None where the potential has no such length."""
    pairs = plan["potential"]["pairs"]
    sigmas = [pairs[index][index].get("sigma") for index in range(len(pairs))]
    if None in sigmas:
        return None
    import numpy

    return numpy.array(sigmas)[species]
