"""Elastic moduli of minima of the potential energy."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import _bridges, _hessian
from ._evaluate import evaluate
from ._frame import Frame

if TYPE_CHECKING:
    import numpy

#: The longest step to the minimum that is allowed, in units of the mean distance `(V/N)^(1/D)` of particles.
_TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True, eq=False)
class ElasticModuli:
    """Elastic constants of a minimum of the potential energy at temperature zero, in units of a pressure.

    born: `C^B_abcd = (1/V) sum_pairs (U'' - U'/r) r_a r_b r_c r_d / r^2`, second derivatives of the energy density by the Lagrangian
    strain where all particles follow it: (D, D, D, D).
    non_affine: `Xi_ab^T H^+ Xi_cd / V`, by which the constants are less since particles come to rest again: (D, D, D, D). `H^+` is the
    inverse of the Hessian without translations, `Xi_ab` the second derivatives of the energy by strain and place.
    stress: that of `evaluate`, (D, D); tension is positive.
    largest_step: how far the particle farthest from the minimum is from it, as a Newton step has it.
    """

    born: numpy.ndarray
    non_affine: numpy.ndarray
    stress: numpy.ndarray
    largest_step: float

    @property
    def stiffness(self) -> numpy.ndarray:
        """Stress-strain coefficients `B_abcd = C_abcd + (d_ac s_bd + d_ad s_bc + d_bc s_ad + d_bd s_ac - 2 d_cd s_ab) / 2` with the
        stress s, d_ab = 1 for a = b, else 0, and `C = born - non_affine`: `ds_ab = B_abcd e_cd` of a small symmetric strain e."""
        return _of_stress(self.born - self.non_affine, self.stress)

    @property
    def shear_moduli(self) -> numpy.ndarray:
        """`d(E : s) / dg` of the strains `g E`, in two dimensions `E = (xy + yx)/2, (xx - yy)/2`, in three
        `(xy + yx)/2, (xz + zx)/2, (yz + zy)/2, (xx - yy)/2, (2 zz - xx - yy)/12^(1/2)`: (2,) or (5,). That of a simple shear, which also
        turns the stress, `ds_xy / dg`, is the first one plus `(s_yy - s_xx)/2`."""
        return _shear_moduli(self.stiffness)

    @property
    def shear_modulus(self) -> float:
        """Mean of `shear_moduli`: that of the isotropic average over directions (Voigt)."""
        return float(self.shear_moduli.mean())

    @property
    def affine_shear_modulus(self) -> float:
        """The same of the Born part and the stress alone, as if all particles followed the strain."""
        return float(_shear_moduli(_of_stress(self.born, self.stress)).mean())

    @property
    def bulk_modulus(self) -> float:
        """`-V dP/dV` with all edges in proportion, `B_aabb / D^2`: of the isotropic pressure P, `C_aabb / D^2 + P (D - 2) / D`."""
        return _bulk_modulus(self.stiffness)

    @property
    def affine_bulk_modulus(self) -> float:
        """The same of the Born part and the stress alone."""
        return _bulk_modulus(_of_stress(self.born, self.stress))

    @property
    def pressure(self) -> float:
        """`-s_aa / D`."""
        return -float(self.stress.trace()) / len(self.stress)


def elastic_moduli(
    potential: dict | str,
    positions: Any,
    box: Any = None,
    *,
    tilt: float = 0.0,
    species: Any = None,
    diameters: Any = None,
    non_additivity: float | None = None,
    tolerance: float = _TOLERANCE,
) -> ElasticModuli:
    """Elastic moduli of particles at a minimum of the potential energy (an inherent structure): the Born part, and the non-affine
    part from the Hessian (J. F. Lutsko, J. Appl. Phys. 65, 2991 (1989)). It needs scipy.

    potential, positions, box, tilt, species, diameters, non_additivity: as of `supercool.evaluate`.
    tolerance: how far a Newton step to the minimum may move a particle, in units of `(V/N)^(1/D)`. Moduli are off by about as much,
    relatively, times what third derivatives of the potential are in these units, 10 or 20.

    Particles that touch no other one move freely: they are left out of the non-affine part. Second derivatives must be continuous at
    the cutoff (truncations `even-quartic` and `smooth`); with `shifted` the moduli have not what the jump of the force there gives.
    Time and memory of the direct solver grow faster than N: 4,000 particles in three dimensions take minutes and gigabytes.

    Raises ValueError where the positions are no minimum: where a force is too large, or a curvature of the energy is not positive.

    >>> import numpy, supercool
    >>> lattice = numpy.stack(numpy.meshgrid(*[numpy.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    >>> fcc = (lattice + numpy.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])).reshape(-1, 3) * 4 ** (1 / 3)
    >>> lennard_jones = {"kind": "lennard-jones", "cutoff": 2.5, "truncation": "shifted", "pairs": {"AA": {"epsilon": 1, "sigma": 1}}}
    >>> moduli = supercool.elastic_moduli(lennard_jones, fcc, [4 ** (4 / 3)] * 3)
    >>> print(moduli.shear_moduli.round(3), round(moduli.bulk_modulus, 3))
    [35.339 35.339 35.339 14.679 14.679] 38.338
    """
    import numpy

    frame = _bridges.frame(positions) if box is None else Frame(positions=positions, box=box, tilt=tilt)
    state = evaluate(
        potential,
        positions,
        box,
        tilt=tilt,
        species=species,
        diameters=diameters,
        non_additivity=non_additivity,
        hessian=True,
    )
    bonds = _hessian.bonds(state.hessian, frame)
    count, dimension = frame.positions.shape
    volume = float(numpy.prod(frame.box))
    directions = (bonds.directions[:, :, None] * bonds.directions[:, None, :]).reshape(-1, dimension**2)
    # Each pair is there twice.
    weights = (bonds.second * bonds.lengths**2 - bonds.slope * bonds.lengths) / (2 * volume)
    born = (directions * weights[:, None]).T @ directions
    # Of the strain ab and component c of the place of a particle; what is left out is its force, which is zero.
    along = -(bonds.second * bonds.lengths - bonds.slope)[:, None] * bonds.directions
    coupling = numpy.zeros((count, dimension, dimension**2))
    numpy.add.at(coupling, bonds.particles, along[:, :, None] * directions[:, None, :])
    coupling = coupling.reshape(count * dimension, -1)
    solved = _hessian.solve(state.hessian, numpy.column_stack([state.forces.ravel(), coupling]), dimension)
    largest = float(numpy.linalg.norm(solved[:, 0].reshape(count, dimension), axis=1).max())
    allowed = tolerance * (volume / count) ** (1 / dimension)
    if not largest <= allowed:
        raise ValueError(
            f"positions: this is no minimum of the potential energy: a Newton step moves a particle by {largest:.2g}, more than "
            f"{allowed:.2g}; the largest force is {numpy.linalg.norm(state.forces, axis=1).max():.2g}. Minimise with a smaller tolerance of "
            "the force first, or take a larger tolerance here"
        )
    shape = (dimension,) * 4
    return ElasticModuli(
        born=born.reshape(shape),
        non_affine=(coupling.T @ solved[:, 1:] / volume).reshape(shape),
        stress=state.stress,
        largest_step=largest,
    )


def _of_stress(constants, stress):
    """Stress-strain coefficients from second derivatives by the Lagrangian strain."""
    import numpy

    one = numpy.eye(len(stress))
    terms = sum(numpy.einsum(f"{a},{b}->abcd", one, stress) for a, b in (("ac", "bd"), ("ad", "bc"), ("bc", "ad"), ("bd", "ac")))
    return constants + 0.5 * terms - numpy.einsum("cd,ab->abcd", one, stress)


def _shear_moduli(stiffness):
    import numpy

    dimension = len(stiffness)
    strains = []
    for a in range(dimension):
        for b in range(a + 1, dimension):
            strain = numpy.zeros((dimension, dimension))
            strain[a, b] = strain[b, a] = 0.5
            strains.append(strain)
    for axis in range(1, dimension):
        # Of the axes before it, less those of itself.
        diagonal = numpy.zeros(dimension)
        diagonal[:axis], diagonal[axis] = 1.0, -axis
        strains.append(numpy.diag(diagonal) / (2 * axis * (axis + 1)) ** 0.5)
    return numpy.array([numpy.einsum("ab,abcd,cd", strain, stiffness, strain) for strain in strains])


def _bulk_modulus(stiffness):
    import numpy

    return float(numpy.einsum("aabb", stiffness)) / len(stiffness) ** 2
