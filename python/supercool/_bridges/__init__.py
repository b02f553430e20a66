"""To and from the objects of other programs, one module for each. None of them is needed, but by what uses it.

A module has `of(object)`, which gives a `Frame`, and `made(frame, ...)`, which gives the object. Numbers stay in reduced units.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._frame import Frame

#: Package in which the type of an object is defined, and the module here.
_MODULES = {
    "ase": "ase",
    "MDAnalysis": "mdanalysis",
    "gsd": "gsd",
    "hoomd": "gsd",
    "ovito": "ovito",
    "atooms": "atooms",
}


def frame(state: Any) -> Frame:
    """The particles of any of these as a `Frame`: ASE `Atoms`, MDAnalysis `Universe` (its present frame), frame of GSD or snapshot
    of HOOMD-blue, OVITO `DataCollection`, atooms `System`, a tuple `(box, points)` of freud, `Frame`, `Simulation`.

    Boxes must be orthorhombic and periodic; those of GSD, HOOMD-blue, freud and MDAnalysis may have a tilt of x along y. Those that are centred at the origin (GSD, HOOMD-blue, freud, atooms) are moved so that
    they begin there.

    >>> import numpy, supercool
    >>> supercool.frame(([4.0, 4.0, 4.0], numpy.zeros((1, 3)))).positions
    array([[2., 2., 2.]])
    """
    if isinstance(state, Bridges):
        return state._frame()
    if isinstance(state, tuple) and len(state) == 2:
        return _module("freud").of(state)
    for kind in type(state).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _MODULES:
            return _module(_MODULES[package]).of(state)
    raise TypeError(
        f"particles are taken from a Frame or Simulation, ASE Atoms, an MDAnalysis Universe, a GSD frame, a HOOMD-blue snapshot, an "
        f"OVITO DataCollection, an atooms System or a tuple (box, points), not from {type(state).__name__}"
    )


class Bridges:
    """What has particles and gives them to other programs."""

    def _frame(self) -> Frame:
        raise NotImplementedError

    def to_ase(self, *, unwrapped: bool = False) -> Any:
        """`ase.Atoms`. Species are in `arrays["species"]`; symbols are their names where all are chemical symbols, else H, He, Li, ...
        in their order. Images and diameters are in `arrays`, step and time in `info`. A third edge of two dimensions is 1, and is not
        periodic. Velocities, with masses, are in reduced units, not in those of ASE."""
        return _module("ase").made(straight(self._frame()), unwrapped)

    def to_mdanalysis(self, *, unwrapped: bool = False) -> Any:
        """`MDAnalysis.Universe` in memory: positions (32-bit floats), velocities, dimensions; types and names by species, masses. A
        third edge of two dimensions is 1."""
        return _module("mdanalysis").made([self._frame()], unwrapped)

    def to_freud(self) -> Any:
        """`(box, points)`, the `system` argument of freud: points lie in a box that is centred at the origin."""
        return _module("freud").made(self._frame())

    def to_gsd(self) -> Any:
        """`gsd.hoomd.Frame`: 32-bit floats in a box that is centred at the origin, with images, types, masses and diameters."""
        return _module("gsd").made(self._frame())

    def to_ovito(self) -> Any:
        """`ovito.data.DataCollection`, with particle types by name, a simulation cell, images, velocities, masses and radii."""
        return _module("ovito").made(straight(self._frame()))

    def to_atooms(self, *, unwrapped: bool = False) -> Any:
        """`atooms.system.System`: positions in a cell that is centred at the origin."""
        return _module("atooms").made(straight(self._frame()), unwrapped)


def _module(name):
    return importlib.import_module(f".{name}", __name__)


def placed(frame: Frame, unwrapped: bool):
    """Positions (N, D) as they are wanted."""
    return frame.unwrapped if unwrapped else frame.positions


def padded(rows, fill=0.0):
    """(N, D) or (D,) with three components."""
    import numpy

    rows = numpy.asarray(rows)
    missing = [(0, 0)] * (rows.ndim - 1) + [(0, 3 - rows.shape[-1])]
    return numpy.pad(rows, missing, constant_values=fill)


def centred(frame: Frame):
    """Positions and images (N, D) of a box that is centred at the origin: positions are 32-bit floats in [-L/2, L/2). Images are zero
    where they are not known."""
    import numpy

    images = numpy.zeros(frame.positions.shape, dtype="int32") if frame.images is None else frame.images
    # In coordinates along the periods.
    skewed = frame.positions - 0.5 * frame.periods.sum(0)
    skewed[:, 0] -= slope(frame) * skewed[:, 1]
    positions = skewed.astype("float32")
    beyond = positions >= (0.5 * frame.box).astype("float32")
    positions = numpy.where(beyond, (-0.5 * frame.box).astype("float32"), positions)
    positions[:, 0] += (slope(frame) * positions[:, 1]).astype("float32")
    return positions, images + beyond.astype("int32")


def slope(frame: Frame) -> float:
    """`dx/dy` of the tilted period, the factor xy of HOOMD-blue."""
    return float(frame.tilt * frame.box[0] / frame.box[1])


def sheared(edges, factors):
    """Tilt, and the shift (D,) along x of the upper end of the period along y, of a box with the factors xy, xz and yz of HOOMD-blue."""
    import numpy

    factors = [*(float(factor) for factor in factors), 0.0]
    if any(factors[1:]):
        raise ValueError("the box is triclinic: only tilts of x along y are taken")
    shift = numpy.zeros(len(edges))
    shift[0] = factors[0] * edges[1]
    return shift[0] / edges[0], shift


def straight(frame: Frame) -> Frame:
    """A frame of which no tilt is taken."""
    if frame.tilt:
        raise ValueError(f"the box has a tilt, {frame.tilt:.6g}, and only boxes without one are taken here")
    return frame


def dimension_of(positions, velocities=None) -> int:
    """Of rows of three components: 2 where several particles lie at z = 0 and do not move along z, as of files."""
    flat = len(positions) > 1 and not positions[:, 2].any()
    return 2 if flat and (velocities is None or not velocities[:, 2].any()) else 3


def indexed(names) -> dict:
    """`species` and `species_names` of names of each particle; names are sorted."""
    import numpy

    there, species = numpy.unique(numpy.asarray(names, dtype=str), return_inverse=True)
    return {"species": species.reshape(-1), "species_names": [str(name) for name in there]}


def orthorhombic(matrix):
    """Edges of a cell given as a matrix."""
    import numpy

    matrix = numpy.asarray(matrix, dtype=float)
    if numpy.abs(matrix - numpy.diag(numpy.diagonal(matrix))).max() > 1e-9 * numpy.abs(matrix).max():
        raise ValueError("the cell is triclinic: only orthorhombic boxes along the axes are taken")
    return numpy.diagonal(matrix).copy()
