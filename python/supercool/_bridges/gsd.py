"""Frames of GSD, and snapshots of HOOMD-blue, which have the same fields. Boxes are centred at the origin."""

from .._frame import Frame
from . import centred, padded, sheared, slope


def made(frame):
    import gsd.hoomd
    import numpy

    made = gsd.hoomd.Frame()
    positions, images = centred(frame)
    made.configuration.step = frame.step
    made.configuration.dimensions = len(frame.box)
    # In two dimensions the third edge is zero.
    made.configuration.box = [*padded(frame.box), slope(frame), 0, 0]
    particles = made.particles
    particles.N = len(frame.species)
    particles.types = list(frame.species_names)
    particles.typeid = frame.species.astype("uint32")
    particles.position, particles.image = padded(positions), padded(images)
    particles.mass = numpy.ones(particles.N, "float32") if frame.masses is None else frame.masses.astype("float32")
    if frame.velocities is not None:
        particles.velocity = padded(frame.velocities).astype("float32")
    if frame.diameters is not None:
        particles.diameter = frame.diameters.astype("float32")
    return made


def of(snapshot):
    import numpy

    configuration, particles = snapshot.configuration, snapshot.particles
    if configuration.box is None or particles.position is None:
        raise ValueError("this frame has no box or no positions of its own: read it with gsd.hoomd.open, which fills in defaults")
    box = numpy.asarray(configuration.box, dtype=float)
    dimension = getattr(configuration, "dimensions", None) or (2 if box[2] == 0 else 3)
    axes = slice(2 if box[2] == 0 else dimension)
    edges = box[:3][axes]
    tilt, along_x = sheared(edges, box[3:])

    def rows(values):
        return None if values is None else numpy.asarray(values)[:, axes]

    names = particles.types or ["A"]
    return Frame(
        positions=rows(particles.position).astype(float) + 0.5 * (edges + along_x),
        box=edges,
        tilt=tilt,
        images=rows(particles.image),
        velocities=rows(particles.velocity),
        species=None if particles.typeid is None else numpy.asarray(particles.typeid),
        species_names=list(names),
        masses=particles.mass,
        diameters=particles.diameter,
        step=int(getattr(configuration, "step", None) or 0),
    )
