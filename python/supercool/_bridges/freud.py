"""freud: tuples of a box, centred at the origin, and points."""

from .._frame import Frame
from . import centred, padded, sheared, slope


def made(frame):
    import freud

    edges = padded(frame.box)
    box = freud.box.Box(*edges, xy=slope(frame), is2D=len(frame.box) == 2)
    return box, padded(centred(frame)[0])


def of(system):
    import numpy

    box, points = system
    if hasattr(box, "Lx"):
        edges, tilts, flat = [box.Lx, box.Ly, box.Lz], [box.xy, box.xz, box.yz], box.is2D
    else:
        numbers = numpy.asarray(box, dtype=float).reshape(-1)
        if len(numbers) not in (2, 3, 6):
            raise ValueError(f"a box is its edges, or Lx, Ly, Lz, xy, xz, yz, or one of freud, not {box!r}")
        edges, tilts = numbers[:3], numbers[3:]
        flat = len(numbers) == 2 or edges[2] == 0
    axes = slice(2 if flat else 3)
    edges = numpy.asarray(edges, dtype=float)[axes]
    tilt, along_x = sheared(edges, tilts)
    return Frame(positions=numpy.asarray(points, dtype=float)[:, axes] + 0.5 * (edges + along_x), box=edges, tilt=tilt)
