"""How neighborhoods deform between two frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _bridges

if TYPE_CHECKING:
    import numpy


class Deformation(NamedTuple):
    """Of the neighborhood of each particle.

    d2_min: mean square non-affine displacement of the neighbors: (N,).
    gradient: the affine part, J: (N, D, D).
    strain: shear strain of J, the square root of half of the squares of the components of the deviator of `E = (J^T J - 1) / 2`: (N,).
    """

    d2_min: numpy.ndarray
    gradient: numpy.ndarray
    strain: numpy.ndarray


def local_deformation(earlier: Any, later: Any, *, radius: float) -> Deformation:
    """Non-affine displacements and local strain of each particle between two frames (M. L. Falk & J. S. Langer, Phys. Rev. E 57, 7192
    (1998)). It needs scipy.

    With the distances `d` to the `n` particles closer than `radius` in the earlier frame, and `d'` to the same in the later one,
    `D2_min = min_J (1/n) sum |d' - J d|^2`; Falk and Langer have the sum. NaN for a particle whose neighbors do not span space.

    earlier, later: frames, or any objects that `supercool.frame` takes, of the same particles in the same order, in boxes that may have a
    tilt; images are not needed, as neighbors stay closer than half an edge.

    >>> import numpy, supercool
    >>> square = numpy.stack(numpy.meshgrid(range(6), range(6)), -1).reshape(-1, 2).astype(float)
    >>> sheared = square + 0.1 * square[:, 1:] * [1, 0]
    >>> before, after = supercool.Frame(positions=square, box=[6, 6]), supercool.Frame(positions=sheared, box=[6, 6], tilt=0.1)
    >>> found = supercool.local_deformation(before, after, radius=1.5)
    >>> print(found.d2_min.max() < 1e-28, found.gradient[7].round(12).tolist(), round(found.strain[7], 6))
    True [[1.0, 0.1], [0.0, 1.0]] 0.050062
    """
    import numpy

    first, second = _bridges.frame(earlier), _bridges.frame(later)
    if first.positions.shape != second.positions.shape:
        raise ValueError(f"frames of {len(first.positions)} and {len(second.positions)} particles: they must be the same")
    particle, neighbor, before = _neighbors(first, radius)
    after = _nearest(second.positions[neighbor] - second.positions[particle], second)
    count, dimension = first.positions.shape

    def sums(pairs):
        total = numpy.zeros((count, *pairs.shape[1:]))
        numpy.add.at(total, particle, pairs)
        return total

    spread = sums(before[:, :, None] * before[:, None, :])
    mixed = sums(after[:, :, None] * before[:, None, :])
    # In units of the mean square distance, so that the bound is a number.
    size = numpy.trace(spread, axis1=1, axis2=2)
    spans = numpy.linalg.det(spread / numpy.where(size > 0, size, 1)[:, None, None]) > 1e-9
    gradient = numpy.full((count, dimension, dimension), numpy.nan)
    gradient[spans] = mixed[spans] @ numpy.linalg.inv(spread[spans])
    rest = after - (gradient[particle] @ before[:, :, None])[:, :, 0]
    neighbors = numpy.bincount(particle, minlength=count)
    d2_min = numpy.where(spans, sums((rest**2).sum(1)) / numpy.maximum(neighbors, 1), numpy.nan)
    green = 0.5 * (gradient.transpose(0, 2, 1) @ gradient - numpy.eye(dimension))
    deviator = green - numpy.trace(green, axis1=1, axis2=2)[:, None, None] / dimension * numpy.eye(dimension)
    return Deformation(d2_min, gradient, numpy.sqrt(0.5 * (deviator**2).sum((1, 2))))


def _nearest(apart, frame):
    """The nearest of the periodic images, for distances that are short beside the box."""
    import numpy

    periods = frame.periods
    for axis in reversed(range(len(frame.box))):
        apart = apart - numpy.round(apart[:, axis] / frame.box[axis])[:, None] * periods[axis]
    return apart


def _neighbors(frame, radius):
    """Pairs closer than a radius, both ways: particles, neighbors, and the distances between them (pairs, D)."""
    import itertools

    import numpy
    from scipy.spatial import cKDTree

    # Between the faces of the box.
    slope = frame.tilt * frame.box[0] / frame.box[1]
    heights = frame.box.copy()
    heights[0] /= numpy.sqrt(1 + slope**2)
    if not 0 < radius <= 0.5 * heights.min():
        raise ValueError(f"radius = {radius}: it must be above zero, up to half the shortest height of the box, {0.5 * heights.min():.6g}")
    count, dimension = frame.positions.shape
    fractions = frame.positions @ numpy.linalg.inv(frame.periods)
    margin = radius / heights * (1 + 1e-9)
    places, owners = [], []
    for shift in itertools.product((0, -1, 1), repeat=dimension):
        moved = fractions + numpy.array(shift)
        inside = ((moved >= -margin) & (moved < 1 + margin)).all(1)
        places.append(frame.positions[inside] + numpy.array(shift) @ frame.periods)
        owners.append(numpy.flatnonzero(inside))
    places, owners = numpy.concatenate(places), numpy.concatenate(owners)
    pairs = cKDTree(frame.positions).sparse_distance_matrix(cKDTree(places), radius, output_type="coo_matrix")
    particle, neighbor = pairs.row, owners[pairs.col]
    other = particle != neighbor
    return particle[other], neighbor[other], (places[pairs.col] - frame.positions[pairs.row])[other]
