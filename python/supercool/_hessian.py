"""What is made of a Hessian: its bonds, solutions of linear equations."""

from __future__ import annotations

import typing

from ._frame import nearest

if typing.TYPE_CHECKING:
    import numpy

#: Below this part of the largest pivot a curvature is no more than rounding.
_ROUNDING = 1e-12


class Bonds(typing.NamedTuple):
    """Pairs of particles that interact, each in both orders."""

    particles: numpy.ndarray
    others: numpy.ndarray
    #: Distance, and unit vector from the particle to the other one.
    lengths: numpy.ndarray
    directions: numpy.ndarray
    #: `U'(r)` and `U''(r)`.
    slope: numpy.ndarray
    second: numpy.ndarray


def bonds(hessian, frame) -> Bonds:
    """From its blocks, which are `-(U'' n n + (U'/r) (1 - n n))` of two different particles."""
    import numpy

    positions = frame.positions
    dimension = positions.shape[1]
    blocks = hessian.tobsr(blocksize=(dimension, dimension))
    particles = numpy.repeat(numpy.arange(len(positions)), numpy.diff(blocks.indptr))
    different = particles != blocks.indices
    particles, others, curvature = particles[different], blocks.indices[different], -blocks.data[different]
    apart = nearest(positions[others] - positions[particles], frame.periods)
    lengths = numpy.linalg.norm(apart, axis=1)
    directions = apart / lengths[:, None]
    second = numpy.einsum("ma,mab,mb->m", directions, curvature, directions)
    across = (numpy.einsum("maa->m", curvature) - second) / (dimension - 1)
    return Bonds(particles, others, lengths, directions, across * lengths, second)


def solve(hessian, right, dimension):
    """`H^+ right` of columns to which translations of all particles, and of groups that touch no other ones, add nothing. Raises
    ValueError where a curvature besides those is not positive."""
    import numpy
    import scipy.sparse
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    blocks = hessian.tobsr(blocksize=(dimension, dimension))
    touch = scipy.sparse.csr_array((numpy.ones(len(blocks.indices)), blocks.indices, blocks.indptr))
    groups, group = connected_components(touch, directed=False)
    # One particle of each group stays where it is: what is left has no translations.
    stays = numpy.zeros(len(group), dtype=bool)
    stays[numpy.unique(group, return_index=True)[1]] = True
    moves = numpy.repeat(~stays, dimension)
    solved = numpy.zeros_like(right)
    if moves.any():
        inner = hessian[moves][:, moves].tocsc()
        try:
            factors = splu(inner, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError as error:
            raise ValueError(f"positions: the Hessian has more zero modes than translations ({error})") from error
        # Pivots on the diagonal have the signs of the eigenvalues.
        pivots = factors.U.diagonal()
        least = pivots.min()
        if least <= _ROUNDING * pivots.max():
            raise ValueError(
                f"positions: this is no minimum of the potential energy: {int((pivots <= 0).sum())} curvatures are negative, others zero "
                "up to rounding"
                if least < 0
                else "positions: the Hessian has more zero modes than translations"
            )
        solved[moves] = factors.solve(right[moves])
    # The mean of each group is zero, as of the pseudoinverse.
    shape = (len(group), dimension, right.shape[1])
    by_particle = solved.reshape(shape)
    members = numpy.bincount(group, minlength=groups)
    means = numpy.zeros((groups, *shape[1:]))
    numpy.add.at(means, group, by_particle)
    return (by_particle - (means / members[:, None, None])[group]).reshape(solved.shape)
