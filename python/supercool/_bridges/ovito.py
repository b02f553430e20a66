"""OVITO `DataCollection`."""

from .._frame import Frame
from . import dimension_of, orthorhombic, padded


def made(frame):
    import numpy
    from ovito.data import DataCollection

    data = DataCollection()
    cell = numpy.hstack([numpy.diag(padded(frame.box, 1.0)), numpy.zeros((3, 1))])
    flat = len(frame.box) == 2
    data.create_cell(cell, pbc=(True, True, not flat)).is2D = flat
    particles = data.create_particles(count=len(frame.species))
    particles.create_property("Position", data=padded(frame.positions))
    kinds = particles.create_property("Particle Type", data=frame.species.astype("int32") + 1)
    for number, name in enumerate(frame.species_names, start=1):
        kinds.add_type_id(number, particles, name=name)
    for name, values in (
        ("Velocity", None if frame.velocities is None else padded(frame.velocities)),
        ("Periodic Image", None if frame.images is None else padded(frame.images)),
        ("Mass", frame.masses),
        ("Radius", None if frame.diameters is None else 0.5 * frame.diameters),
    ):
        if values is not None:
            particles.create_property(name, data=values)
    data.attributes["Timestep"] = frame.step
    data.attributes["Time"] = frame.time
    return data


def of(data):
    import numpy

    cell, particles = data.cell, data.particles
    if cell is None:
        raise ValueError("this data collection has no simulation cell")
    velocities = particles.get("Velocity")
    velocities = None if velocities is None else numpy.array(velocities)
    origin = numpy.array(cell[:, 3])
    positions = numpy.array(particles["Position"]) - origin
    axes = slice(2 if cell.is2D else dimension_of(positions, velocities))
    if not all(cell.pbc[axes]):
        raise ValueError(f"pbc = {cell.pbc}: all directions must be periodic")
    species = {}
    if "Particle Type" in particles:
        kinds = particles["Particle Type"]
        numbers = [kind.id for kind in kinds.types] or sorted(set(numpy.array(kinds).tolist()))
        names = [kind.name or str(kind.id) for kind in kinds.types] or [str(number) for number in numbers]
        index = {number: at for at, number in enumerate(numbers)}
        species = {"species": [index[number] for number in numpy.array(kinds).tolist()], "species_names": names}

    def of_each(name):
        return numpy.array(particles[name]) if name in particles else None

    images, radii = of_each("Periodic Image"), of_each("Radius")
    return Frame(
        positions=positions[:, axes],
        box=orthorhombic(numpy.array(cell[:, :3])[axes, axes]),
        images=None if images is None else images[:, axes],
        velocities=None if velocities is None else velocities[:, axes],
        masses=of_each("Mass"),
        diameters=None if radii is None or not (radii > 0).all() else 2.0 * radii,
        step=int(data.attributes.get("Timestep", 0)),
        time=float(data.attributes.get("Time", 0.0)),
        **species,
    )
