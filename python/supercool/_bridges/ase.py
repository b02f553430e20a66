"""ASE `Atoms`."""

from .._frame import Frame
from . import dimension_of, indexed, orthorhombic, padded, placed

SPECIES = "species"
IMAGES = "images"
DIAMETERS = "diameters"
NAMES = "species_names"


def made(frame, unwrapped):
    import ase
    import numpy
    from ase.data import atomic_numbers

    names = frame.species_names
    if all(name in atomic_numbers for name in names):
        numbers = numpy.array([atomic_numbers[name] for name in names])
    else:
        numbers = numpy.arange(1, len(names) + 1)
    dimension = len(frame.box)
    atoms = ase.Atoms(
        numbers=numbers[frame.species],
        positions=padded(placed(frame, unwrapped)),
        cell=padded(frame.box, 1.0),
        pbc=[True, True, dimension == 3],
        masses=numpy.ones(len(frame.species)) if frame.masses is None else frame.masses,
        info={"step": frame.step, "time": frame.time, NAMES: list(names)},
    )
    atoms.set_array(SPECIES, numpy.array(frame.types))
    if frame.velocities is not None:
        atoms.set_velocities(padded(frame.velocities))
    # Of unwrapped positions they would be counted twice.
    if frame.images is not None and not unwrapped:
        atoms.set_array(IMAGES, padded(frame.images))
    if frame.diameters is not None:
        atoms.set_array(DIAMETERS, frame.diameters)
    return atoms


def of(atoms):
    velocities = atoms.get_velocities() if atoms.has("momenta") else None
    positions = atoms.get_positions()
    pbc = list(atoms.pbc)
    dimension = dimension_of(positions, velocities)
    if not all(pbc[:dimension]) or (dimension == 3 and not pbc[2]):
        raise ValueError(f"pbc = {pbc}: all directions must be periodic, or x and y of particles at z = 0")
    axes = slice(dimension)
    cell = atoms.cell.array[axes, axes]
    species = indexed(atoms.get_array(SPECIES) if atoms.has(SPECIES) else atoms.get_chemical_symbols())
    if set(species["species_names"]) <= set(atoms.info.get(NAMES, [])):
        order = list(atoms.info[NAMES])
        index = [order.index(name) for name in species["species_names"]]
        species = {"species": [index[each] for each in species["species"]], "species_names": order}
    return Frame(
        positions=positions[:, axes],
        box=orthorhombic(cell),
        images=atoms.get_array(IMAGES)[:, axes] if atoms.has(IMAGES) else None,
        velocities=None if velocities is None else velocities[:, axes],
        masses=atoms.get_masses() if atoms.has("masses") else None,
        diameters=atoms.get_array(DIAMETERS) if atoms.has(DIAMETERS) else None,
        step=int(atoms.info.get("step", 0)),
        time=float(atoms.info.get("time", 0.0)),
        **species,
    )
