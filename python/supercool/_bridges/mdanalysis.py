"""MDAnalysis `Universe`."""

from .._frame import Frame
from . import dimension_of, indexed, padded, placed


def made(frames, unwrapped):
    import MDAnalysis
    import numpy
    from MDAnalysis.lib.mdamath import triclinic_box

    first = frames[0]
    universe = MDAnalysis.Universe.empty(len(first.species), trajectory=False)
    universe.add_TopologyAttr("types", first.types)
    universe.add_TopologyAttr("names", first.types)
    universe.add_TopologyAttr("masses", numpy.ones(len(first.species)) if first.masses is None else first.masses)
    if first.diameters is not None:
        universe.add_TopologyAttr("radii", 0.5 * first.diameters)
    boxes = numpy.array([triclinic_box(*_periods(frame)) for frame in frames])
    given = {} if first.velocities is None else {"velocities": _stacked(frame.velocities for frame in frames)}
    # Of frames that do not follow each other at equal times there is no step of time that is right for all.
    between = numpy.diff([frame.time for frame in frames])
    even = len(between) > 0 and numpy.allclose(between, between[0]) and between[0] > 0
    universe.load_new(
        _stacked(placed(frame, unwrapped) for frame in frames),
        order="fac",
        dimensions=boxes.astype("float32"),
        dt=float(between[0]) if even else 1.0,
        **({"time_offset": float(first.time)} if even or len(frames) == 1 else {}),
        **given,
    )
    return universe


def _periods(frame):
    """Three of three components; those that are missing are of an edge of 1."""
    import numpy

    periods = numpy.eye(3)
    dimension = len(frame.box)
    periods[:dimension, :dimension] = frame.periods
    return periods


def _stacked(rows):
    import numpy

    return numpy.array([padded(each) for each in rows], dtype="float32")


def of(universe):
    import numpy
    from MDAnalysis.lib.mdamath import triclinic_vectors

    atoms, now = universe.atoms, universe.trajectory.ts
    if now.dimensions is None:
        raise ValueError("this universe has no box: set universe.dimensions")
    periods = triclinic_vectors(now.dimensions).astype(float)
    if numpy.abs(now.dimensions[3:5] - 90.0).max() > 1e-6:
        raise ValueError("the box is triclinic: only tilts of x along y are taken")
    positions = atoms.positions.astype(float)
    velocities = atoms.velocities.astype(float) if now.has_velocities else None
    axes = slice(dimension_of(positions, velocities))
    named = next((name for name in ("types", "names") if hasattr(atoms, name)), None)
    return Frame(
        positions=positions[:, axes],
        box=numpy.diagonal(periods)[axes],
        tilt=0.0 if abs(now.dimensions[5] - 90.0) <= 1e-6 else float(periods[1, 0] / periods[0, 0]),
        velocities=None if velocities is None else velocities[:, axes],
        masses=atoms.masses if hasattr(atoms, "masses") and (atoms.masses > 0).all() else None,
        diameters=2.0 * atoms.radii if hasattr(atoms, "radii") else None,
        step=int(now.data.get("step", now.frame)),
        time=float(now.time),
        **(indexed(getattr(atoms, named)) if named else {}),
    )
