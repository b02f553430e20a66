"""Energies, forces, stress and second derivatives of particles at given places."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from . import _bridges, _configuration, _native
from ._frame import Frame
from ._simulation import Simulation

if TYPE_CHECKING:
    import numpy
    import scipy.sparse

#: Time step and temperature of a configuration that takes no step, in units of the fastest pair: only allowed ones are wanted.
_TIMESTEP, _TEMPERATURE = 1e-4, 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """What particles have at their places, in reduced units.

    energy: potential energy of all. energies: half of all pairs of each particle: (N,).
    forces: (N, D).
    stress: `-sum_pairs r_a F_b / V`, of the particles at rest: (D, D). Tension is positive.
    hessian: `d^2 U / dr_ia dr_jb` as a sparse matrix (N D, N D); row `i D + a` is component a of particle i. None where it was not asked
    for.
    """

    energy: float
    energies: numpy.ndarray
    forces: numpy.ndarray
    stress: numpy.ndarray
    hessian: scipy.sparse.csr_array | None = None

    @property
    def pressure(self) -> float:
        """Of the particles at rest: `sum_pairs r . F / (D V)`."""
        return -float(self.stress.trace()) / len(self.stress)


def evaluate(
    potential: dict | str,
    positions: Any,
    box: Any = None,
    *,
    tilt: float = 0.0,
    species: Any = None,
    diameters: Any = None,
    non_additivity: float | None = None,
    hessian: bool = False,
) -> Evaluation:
    """Energies, forces (those of the CPU engine in `double`) and stress of particles at given places, and second derivatives.

    potential: the table `[potential]` of a configuration as a dictionary, or the name of a preset (`supercool.presets()`).
    positions, box: arrays (N, D) and (D,); or any object that `supercool.frame` takes, and no box.
    tilt: with a box of arrays, that of a `Frame`.
    species: name of the species of each particle; of arrays "A" for all, if not given.
    diameters: of each particle, all of one species: the potential is then that of `r / sigma_ij`, with
    `sigma_ij = (s_i + s_j)/2 (1 - non_additivity |s_i - s_j|)`. Where none are given, they are those of a Simulation that has diameters, and
    of other objects with one species those that are not all the same.
    non_additivity: in units of an inverse length; if not given that of the Simulation or of the preset, else 0.
    hessian: whether second derivatives are wanted, too: analytic ones, which need scipy. Its lowest eigenvalues and modes are those of
    `scipy.sparse.linalg.eigsh(hessian, k, sigma=-1e-3)`.

    Raises ConfigError where the potential is wrong or does not fit the box, Error where particles are too close.

    >>> import supercool
    >>> lennard_jones = {"kind": "lennard-jones", "cutoff": 2.5, "truncation": "sharp", "pairs": {"AA": {"epsilon": 1, "sigma": 1}}}
    >>> two = supercool.evaluate(lennard_jones, [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]], [6.0, 6.0, 6.0])
    >>> print(two.energy, two.forces[0])
    0.0 [-24.   0.   0.]
    """
    import numpy

    if box is None and tilt:
        raise ValueError(f"tilt = {tilt}: it belongs to a box of arrays; objects have their own")
    frame = _bridges.frame(positions) if box is None else Frame(positions=positions, box=box, tilt=tilt)
    names = numpy.array(frame.types if species is None else species, dtype=str)
    count, dimension = frame.positions.shape
    if names.shape != (count,):
        raise ValueError(f"species: {names.shape} names; it must be one for each of {count} particles")
    if not count:
        raise ValueError("positions: there are no particles")
    if diameters is None and box is None:
        diameters = _own_diameters(positions, frame)
    if non_additivity is None and isinstance(positions, Simulation):
        non_additivity = positions._native.non_additivity
    if isinstance(potential, str):
        potential, known, of_preset = _preset(potential, set(names))
        if of_preset is not None and diameters is None:
            raise ValueError("diameters: the preset is one of particles with diameters: give that of each")
        if non_additivity is None and of_preset is not None:
            non_additivity = of_preset.get("non_additivity")
    else:
        known = frame.species_names
    there, index = numpy.unique(names, return_inverse=True)
    # The engine has particles in the order of the species.
    order = numpy.argsort(index, kind="stable")
    of_particles = None
    if diameters is not None:
        diameters = _checked(diameters, count)
        of_particles = _diameters(diameters, non_additivity)
    elif non_additivity is not None:
        raise ValueError(f"non_additivity = {non_additivity}: it belongs to diameters, which are not given")
    text = _text(_table(potential, known, there), there, numpy.bincount(index), frame.box, of_particles)
    of_each = None if diameters is None else diameters[order].tobytes()
    found = _native.evaluate(text, frame.positions[order].tobytes(), hessian, of_each, frame.tilt)

    def in_order(numbers, *shape):
        values = numpy.frombuffer(numbers).reshape(count, *shape)
        back = numpy.empty_like(values)
        back[order] = values
        return back

    energies = in_order(found["energies"])
    return Evaluation(
        energy=float(energies.sum()),
        energies=energies,
        forces=in_order(found["forces"], dimension),
        stress=numpy.array(numpy.frombuffer(found["stress"])).reshape(dimension, dimension),
        hessian=_matrix(found["hessian"], order, dimension) if hessian else None,
    )


def _own_diameters(given, frame):
    """Those that particles of an object have. The diameters of a frame may also be lengths of its species."""
    if isinstance(given, Simulation):
        return given.diameters
    differ = frame.diameters is not None and len(set(frame.species)) == 1 and len(set(frame.diameters)) > 1
    return frame.diameters if differ else None


def _checked(diameters, count):
    import numpy

    diameters = numpy.array(diameters, dtype=float)
    if diameters.shape != (count,):
        raise ValueError(f"diameters have the shape {diameters.shape}; it must be ({count},)")
    wrong = numpy.flatnonzero(~(numpy.isfinite(diameters) & (diameters > 0)))
    if len(wrong):
        raise ValueError(f"particle {wrong[0]}: the diameter {diameters[wrong[0]]} is not a finite number above zero")
    return diameters


def _diameters(diameters, non_additivity):
    """A table [system.diameters] with their bounds."""
    table = {"distribution": "discrete", "values": sorted({float(diameters.min()), float(diameters.max())})}
    return table if non_additivity is None else {**table, "non_additivity": float(non_additivity)}


def _preset(name, there):
    """Potential, names of species and, where it has one, the table of the diameters of a preset."""
    presets = _native.presets()
    if name not in presets:
        raise ValueError(f"potential = {name!r}: there is no such preset; there are {', '.join(presets)}")
    preset = json.loads(_native.json_of(presets[name]))
    names = [species["name"] for species in preset["system"]["species"]]
    unknown = sorted(there - set(names))
    if unknown:
        raise ValueError(f"species {', '.join(unknown)}: those of the preset are {', '.join(names)}")
    return preset["potential"], names, preset["system"].get("diameters")


def _table(potential, names, there):
    """The table of the potential without pairs of species that are not there."""
    # Names that pairs of equal particles have: AA, or A-A.
    keys = [key.replace("-", "") for key in potential.get("pairs", {})]
    known = {*names, *there, *(key[: len(key) // 2] for key in keys if key[: len(key) // 2] == key[len(key) // 2 :])}

    def between(names):
        return {a + dash + b for a in names for b in names for dash in ("", "-")}

    present = {str(name) for name in there}
    # Names may be made so that two pairs have one key.
    absent = {a + dash + b for a in known for b in known for dash in ("", "-") if not {a, b} <= present} - between(present)
    pairs = {key: pair for key, pair in potential.get("pairs", {}).items() if key not in absent}
    return {**potential, "pairs": pairs}


def _text(potential, names, counts, box, diameters):
    """A configuration that has the particles, and takes no step."""
    pairs = [pair for pair in potential["pairs"].values() if isinstance(pair, dict)]

    def of(parameters, least):
        found = [abs(float(pair[name])) for pair in pairs for name in parameters if isinstance(pair.get(name), (int, float))]
        return least((number for number in found if number > 0), default=1.0)

    energy, length = of(("epsilon", "A"), max), of(("sigma", "rho"), min)
    of_particles = {}
    if diameters is not None:
        of_particles["diameters"] = diameters
        length *= min(1.0, diameters["values"][0])
    return _configuration.split(
        {
            "system": {
                **of_particles,
                "dimension": len(box),
                "box": [float(edge) for edge in box],
                "seed": 1,
                "species": [{"name": str(name), "count": int(count)} for name, count in zip(names, counts)],
                "initial": {"temperature": _TEMPERATURE * energy},
            },
            "potential": potential,
            "run": {"engine": "cpu", "precision": "double", "timestep": _TIMESTEP * length / energy**0.5},
            "stage": [{"name": "evaluate", "steps": 1}],
        }
    )[1]


def _matrix(parts, order, dimension):
    import numpy
    import scipy.sparse

    starts, columns = (numpy.frombuffer(part, dtype="int64") for part in parts[:2])
    blocks = numpy.frombuffer(parts[2]).reshape(-1, dimension, dimension)
    rows = numpy.repeat(numpy.arange(len(order)), numpy.diff(starts))
    axes = numpy.arange(dimension)
    row = order[rows][:, None, None] * dimension + axes[:, None] + 0 * axes
    column = order[columns][:, None, None] * dimension + axes + 0 * axes[:, None]
    size = len(order) * dimension
    matrix = scipy.sparse.coo_array((blocks.ravel(), (row.ravel(), column.ravel())), shape=(size, size)).tocsr()
    matrix.sort_indices()
    return matrix
