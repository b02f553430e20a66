"""Stored states."""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import pathlib
from typing import TYPE_CHECKING

from . import _file

if TYPE_CHECKING:
    import numpy

#: Read at once, in bytes of positions.
_BLOCK = 16 << 20


@dataclasses.dataclass(frozen=True)
class Frame:
    """Particles at a step, in their order, as arrays (N, D). positions: in the box. images: how often each has left it upwards, less
    downwards. box: edges (D,)."""

    step: int
    time: float
    positions: numpy.ndarray
    images: numpy.ndarray
    velocities: numpy.ndarray
    box: numpy.ndarray

    @property
    def unwrapped(self) -> numpy.ndarray:
        """Positions as if there were no periodic boundary."""
        return self.positions + self.images * self.box


class Trajectory(collections.abc.Sequence):
    """Frames of a file STAGE.h5md, read when they are wanted: `for frame in trajectory`, `trajectory[-1]`."""

    def __init__(self, path: pathlib.Path, system: int | None = None):
        self.path = path
        with _file.reading(path) as file:
            groups = sorted(file["particles"], key=lambda name: int(name.rpartition("-")[2]) if "-" in name else 0)
            if system is None and len(groups) > 1:
                raise ValueError(f"{path} holds {len(groups)} systems: give system, 0 to {len(groups) - 1}")
            self._group = f"particles/{groups[system or 0]}"
            group = file[self._group]
            #: Of each particle.
            self.species, self.masses = group["species"][()], group["mass"][()]
            plan = json.loads(_file.text(file["parameters/plan"][()]))
            self._dimension = plan["system"]["simulation_box"]["dimension"]

    def __len__(self) -> int:
        with _file.reading(self.path) as file:
            return len(file[f"{self._group}/position/step"])

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
        with _file.reading(self.path) as file:
            group = file[self._group]
            arrays = [group[f"{name}/value"][start:end, :, axes] for name in ("position", "image", "velocity")]
            edges = group["box/edges/value"][start:end, axes]
            steps, times = (group[f"position/{name}"][start:end] for name in ("step", "time"))
        return [Frame(int(step), float(time), *of) for step, time, *of in zip(steps, times, *arrays, edges)]

    def __repr__(self):
        return f"<Trajectory of {len(self.species)} particles, {len(self)} frames: {self.path}>"
