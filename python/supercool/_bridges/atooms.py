"""atooms `System`, whose cells are centred at the origin."""

from .._frame import Frame
from . import indexed, placed


def made(frame, unwrapped):
    from atooms.system import System
    from atooms.system.cell import Cell
    from atooms.system.particle import Particle

    positions = placed(frame, unwrapped) - 0.5 * frame.box
    particles = [
        Particle(
            position=positions[i].copy(),
            velocity=None if frame.velocities is None else frame.velocities[i].copy(),
            species=name,
            mass=1.0 if frame.masses is None else float(frame.masses[i]),
            radius=0.5 if frame.diameters is None else 0.5 * float(frame.diameters[i]),
        )
        for i, name in enumerate(frame.types)
    ]
    return System(particle=particles, cell=Cell(side=frame.box.copy()))


def of(system):
    import numpy

    if system.cell is None:
        raise ValueError("this system has no cell")
    if not all(system.cell.periodic):
        raise ValueError(f"periodic = {system.cell.periodic}: all directions must be periodic")

    def of_each(name):
        return numpy.array([getattr(particle, name) for particle in system.particle])

    edges = numpy.asarray(system.cell.side, dtype=float)
    velocities = of_each("velocity").astype(float)
    return Frame(
        positions=of_each("position") - system.cell.center + 0.5 * edges,
        box=edges,
        # Velocities that were never given are zero.
        velocities=velocities if velocities.any() else None,
        masses=of_each("mass"),
        diameters=2.0 * of_each("radius"),
        **indexed(of_each("species")),
    )
