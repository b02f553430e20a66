"""Arrays with a number for each particle: bond-orientational order, first-passage times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _bridges
from ._frame import Frame

if TYPE_CHECKING:
    import numpy


def bond_orientational_order(
    positions: Any, box: Any = None, *, radius: float, l: int = 6, averaged: bool = False
) -> numpy.ndarray:
    """Bond-orientational order of each particle: (N,). It needs scipy.

    In three dimensions `q_l = [4 pi/(2 l + 1) sum_m |q_lm|^2]^(1/2)`, where `q_lm` is the mean of the spherical harmonics `Y_lm` over the
    directions to the particles closer than `radius` (Steinhardt, Nelson & Ronchetti, Phys. Rev. B 28, 784 (1983)); `averaged`: that of
    the mean of `q_lm` over the particle and its neighbors (Lechner & Dellago, J. Chem. Phys. 129, 114707 (2008)). In two dimensions
    `psi_l = |mean of exp(i l theta)|`, or of its mean over neighbors. Zero for a particle without neighbors.

    positions, box: arrays (N, D) and (D,), or any object that `supercool.frame` takes. Raises ValueError where `radius` is more than half
    the shortest edge.

    >>> import numpy, supercool
    >>> square = numpy.stack(numpy.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
    >>> print(supercool.bond_orientational_order(square, [6, 6], radius=1.2, l=4)[:3])
    [1. 1. 1.]
    """
    import numpy
    import scipy.sparse
    from scipy.spatial import cKDTree

    frame = _bridges.straight(_bridges.frame(positions) if box is None else Frame(positions=positions, box=box))
    if not 0 < radius <= 0.5 * frame.box.min():
        raise ValueError(f"radius = {radius}: it must be above zero, up to half the shortest edge, {0.5 * frame.box.min():.6g}")
    if l < 1:
        raise ValueError(f"l = {l}: it must be 1 or more")
    count, dimension = frame.positions.shape
    pairs = cKDTree(frame.positions, boxsize=frame.box).query_pairs(radius, output_type="ndarray")
    first, second = numpy.concatenate([pairs, pairs[:, ::-1]]).T
    apart = frame.positions[second] - frame.positions[first]
    apart -= frame.box * numpy.round(apart / frame.box)
    harmonics = _circular(apart, l) if dimension == 2 else _spherical(apart, l)
    neighbors = scipy.sparse.csr_array((numpy.ones(len(first)), (first, second)), shape=(count, count))
    bonds = numpy.bincount(first, minlength=count)
    sums = numpy.zeros((count, harmonics.shape[1]), dtype=complex)
    numpy.add.at(sums, first, harmonics)
    means = sums / numpy.maximum(bonds, 1)[:, None]
    if averaged:
        means = (means + neighbors @ means) / (1 + bonds)[:, None]
    return numpy.sqrt((numpy.abs(means) ** 2).sum(1))


def _circular(apart, l):
    import numpy

    return numpy.exp(1j * l * numpy.arctan2(apart[:, 1], apart[:, 0]))[:, None]


def _spherical(apart, l):
    """`Y_lm (4 pi/(2 l + 1))^(1/2)` for `m = 0, ..., l`, those of `m > 0` times `2^(1/2)`: they stand for `-m`, too."""
    import math

    import numpy
    from scipy.special import lpmv

    cosine = apart[:, 2] / numpy.linalg.norm(apart, axis=1)
    angle = numpy.arctan2(apart[:, 1], apart[:, 0])
    rows = []
    for m in range(l + 1):
        scale = math.sqrt((2.0 if m else 1.0) * math.factorial(l - m) / math.factorial(l + m))
        rows.append(scale * lpmv(m, l, cosine) * numpy.exp(1j * m * angle))
    return numpy.stack(rows, axis=1)


def first_passage_times(
    trajectory: Any, length: float, *, times: Any = None, origins: Sequence[int] = (0,)
) -> numpy.ndarray:
    """The time after which each particle is first found farther than `length` from where it was: (origins, N), NaN where that does not
    happen before the trajectory ends.

    trajectory: positions as if there were no periodic boundary (frames, N, D), with the `times` of all frames; or frames with images and
    times, such as `stage.trajectory`. origins: numbers of the frames that times count from. Passages between frames that are taken back
    before the next one are not seen: times are too large by about the interval of the frames.

    >>> import numpy, supercool
    >>> steady = numpy.arange(5)[:, None, None] * numpy.array([[0.1, 0], [0.4, 0], [0, 0]])
    >>> print(supercool.first_passage_times(steady, 0.35, times=numpy.arange(5) * 0.5))
    [[2.  0.5 nan]]
    """
    import numpy

    if not length > 0:
        raise ValueError(f"length = {length}: it must be above zero")
    if hasattr(trajectory, "__array__"):
        positions = numpy.asarray(trajectory, dtype=float)
        if positions.ndim != 3 or times is None or len(times) != len(positions):
            raise ValueError(f"positions of the shape {positions.shape}: it must be (frames, N, D), with times of as many frames")
        frames, times = positions, numpy.asarray(times, dtype=float)
    else:
        if times is not None:
            raise ValueError("times go with arrays of positions; frames have their own")
        of_each = [(frame.unwrapped, frame.time) for frame in trajectory]
        frames, times = [frame for frame, _ in of_each], numpy.array([time for _, time in of_each])
    if not (numpy.diff(times) > 0).all():
        raise ValueError("times: each must be later than the one before")
    found = numpy.full((len(origins), len(frames[0])), numpy.nan)
    for row, origin in zip(found, origins):
        if not 0 <= origin < len(frames):
            raise ValueError(f"origins: {origin} is not a frame, 0 to {len(frames) - 1}")
        for number in range(origin + 1, len(frames)):
            far = numpy.linalg.norm(frames[number] - frames[origin], axis=1) > length
            row[far & numpy.isnan(row)] = times[number] - times[origin]
    return found
