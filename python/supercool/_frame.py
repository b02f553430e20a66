"""States of particles as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._bridges import Bridges

if TYPE_CHECKING:
    import numpy


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Frame(Bridges):
    """Particles at a step, in their order.

    positions: in the box, 0 <= x < edge, with a tilt `0 <= x - tilt (L_x / L_y) y < L_x`: (N, D). Others are wrapped, and images changed
    accordingly.
    box: edges of the periodic box, which begins at the origin: (D,).
    tilt: of the period along y, which is `(tilt L_x, L_y)`, as in a shear: from -1/2 to 1/2. Others are flipped, to that with the same
    periodic images.
    images: how often each has left it upwards, less downwards: integers (N, D); None where that is not known.
    velocities: (N, D), or None. masses, diameters: (N,), or None.
    species: index of each into `species_names`: (N,); one species "A" where nothing is given.

    >>> import supercool
    >>> frame = supercool.Frame(positions=[[0.5, -0.25], [1.0, 1.0]], box=[2.0, 2.0], images=[[0, 0], [3, 0]])
    >>> print(frame.positions[0], frame.images[0], frame.unwrapped[1])
    [0.5  1.75] [ 0 -1] [7. 1.]
    """

    positions: numpy.ndarray
    box: numpy.ndarray
    images: numpy.ndarray | None = None
    velocities: numpy.ndarray | None = None
    species: numpy.ndarray | None = None
    species_names: Sequence[str] = ("A",)
    masses: numpy.ndarray | None = None
    diameters: numpy.ndarray | None = None
    step: int = 0
    time: float = 0.0
    tilt: float = 0.0

    def __post_init__(self):
        import numpy

        def put(name, values):
            object.__setattr__(self, name, values)

        put("positions", numpy.asarray(self.positions, dtype=float))
        put("box", numpy.asarray(self.box, dtype=float))
        shape = self.positions.shape
        if len(shape) != 2 or shape[1] not in (2, 3):
            raise ValueError(f"positions have the shape {shape}; it must be (N, 2) or (N, 3)")
        if self.box.shape != shape[1:] or not (self.box > 0).all():
            raise ValueError(f"box = {self.box}: it must be {shape[1]} edges, all above zero")
        if not numpy.isfinite(self.positions).all():
            raise ValueError("positions: all must be finite")
        if self.species is None:
            put("species", numpy.zeros(shape[0], dtype=numpy.uint8))
        of = {"images": ("int32", shape), "velocities": (float, shape), "species": (None, shape[:1])}
        of.update(masses=(float, shape[:1]), diameters=(float, shape[:1]))
        for name, (dtype, expected) in of.items():
            if getattr(self, name) is not None:
                put(name, numpy.asarray(getattr(self, name), dtype=dtype))
                if getattr(self, name).shape != expected:
                    raise ValueError(f"{name} have the shape {getattr(self, name).shape}; it must be {expected}")
        put("species_names", list(self.species_names))
        if shape[0] and not (0 <= self.species.min() and self.species.max() < len(self.species_names)):
            raise ValueError(f"species: indices into species_names, 0 to {len(self.species_names) - 1}")
        if not numpy.isfinite(self.tilt):
            raise ValueError(f"tilt = {self.tilt}: it must be finite")
        flips = round(float(self.tilt)) if abs(self.tilt) > 0.5 else 0
        put("tilt", float(self.tilt) - flips)
        if flips and self.images is not None:
            put("images", self.images + _along_x(flips * self.images[:, 1], shape[1]))
        self._wrap(put)

    def _wrap(self, put):
        import numpy

        tilted = self.tilt * self.box[0] / self.box[1]
        skewed = self.positions - _along_x(tilted * self.positions[:, 1], len(self.box)) if self.tilt else self.positions
        outside = ((skewed < 0) | (skewed >= self.box)).any(axis=1)
        if outside.any():
            times = numpy.floor(skewed / self.box)
            wrapped = skewed - times * self.box
            # What is just below an edge may be rounded onto it.
            beyond = wrapped >= self.box
            wrapped = numpy.where(beyond, 0.0, numpy.maximum(wrapped, 0.0))
            if self.tilt:
                wrapped = numpy.where(outside[:, None], wrapped + _along_x(tilted * wrapped[:, 1], len(self.box)), self.positions)
            put("positions", wrapped)
            if self.images is not None:
                put("images", self.images + (times + beyond).astype("int32"))

    @property
    def periods(self) -> numpy.ndarray:
        """Of the box, one in each row: (D, D)."""
        import numpy

        periods = numpy.diag(self.box)
        periods[1, 0] = self.tilt * self.box[0]
        return periods

    @property
    def unwrapped(self) -> numpy.ndarray:
        """Positions as if there were no periodic boundary, positions + images @ periods: (N, D)."""
        if self.images is None:
            raise ValueError("this frame has no images: how often particles have left the box is not known")
        return self.positions + self.images @ self.periods

    @property
    def types(self) -> list[str]:
        """Name of the species of each particle."""
        return [self.species_names[index] for index in self.species]

    def _frame(self):
        return self

    def __repr__(self):
        return f"<Frame of {len(self.positions)} particles, step {self.step}>"


def _along_x(values, dimension):
    """As the components along x of vectors: (N, D)."""
    import numpy

    vectors = numpy.zeros((len(values), dimension), dtype=values.dtype)
    vectors[:, 0] = values
    return vectors


def nearest(apart, periods):
    """Displacements (N, D) to the periodic images that are nearest in coordinates along the periods."""
    import numpy

    for axis in reversed(range(len(periods))):
        apart = apart - numpy.round(apart[:, axis : axis + 1] / periods[axis, axis]) * periods[axis]
    return apart
