"""Vibrational density of states: of velocities, and of normal modes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _bridges
from ._errors import of_scatter
from ._evaluate import evaluate
from ._frame import Frame
from ._functions import Function

if TYPE_CHECKING:
    import numpy

#: Windows: width of a line at half its height, in units of 1/T of the longest lag T.
_WINDOWS = {"hann": 6.2832, None: 3.7910}
#: Lags at equal distances, at least.
_FEWEST = 8
#: Share of the largest value up to which the density counts as zero at the highest frequencies, and C(t) at the end.
_ALIASED, _TRUNCATED = 0.02, 0.05


@dataclasses.dataclass(frozen=True, eq=False)
class DensityOfStates:
    """`g(w)`, per degree of freedom: its integral over the frequencies (trapezoidal rule) is 1.

    frequency: angular frequencies w, from 0 in equal steps.
    value, error: g and its standard error, from the scatter over four or more runs; NaN of fewer.
    species: the part of each species, by name: they add up to `value`.
    resolution: width of a line at half its height.
    flags: "aliased" where g has not come to zero at the highest frequency: lags are too far apart; "truncated" where the velocities are
    still correlated at the longest lag, and no window hides that.
    """

    frequency: numpy.ndarray
    value: numpy.ndarray
    error: numpy.ndarray
    species: dict[str, numpy.ndarray]
    resolution: float
    flags: tuple[str, ...]


def density_of_states(stages: Any, *, window: str | None = "hann", longest: float | None = None) -> DensityOfStates:
    """Vibrational density of states of velocities: `g(w) = (2/pi) int_0^T C(t) W(t) cos(w t) dt`, where
    `C(t) = sum_i m_i <v_i(t) . v_i(0)> / sum_i m_i <v_i^2>`.

    stages: a `Stage` with the velocity autocorrelation of all species, also of `supercool.correlate`, or several of runs of one state point;
    of many systems each counts as a run. Lags are those from 0 on at equal distances: a large `block_size`.
    window: "hann", `W = (1 + cos(pi t/T))/2`, which gives lines a width of 2 pi/T; or None, `W = 1`, of 1.2 pi/T with ripples beside them.
    longest: lag T; that of the longest at equal distances if not given. Longer ones resolve more and are noisier.

    In a harmonic system it is the distribution of the frequencies; in a liquid `g(0)` is the mean of
    `2 m_i D_i / (pi k_B T)` over the particles.

    Raises ValueError where the functions are missing or have too few such lags.

    >>> import numpy, supercool
    >>> time = 0.05 * numpy.arange(800)
    >>> velocities = numpy.cos(3 * time)[:, None, None] * numpy.array([[1.0, 0, 0], [-1.0, 0, 0]])
    >>> steady = numpy.ones((800, 2, 3))
    >>> stage = supercool.correlate(steady, [4.0] * 3, times=time, velocities=velocities, unwrapped=True, block_size=200, levels=1)
    >>> found = supercool.density_of_states(stage)
    >>> print(found.frequency[found.value.argmax()].round(2), found.resolution.round(2))
    3.16 0.63
    """
    import numpy

    if window not in _WINDOWS:
        raise ValueError(f'window = {window!r}: it must be "hann" or None')
    runs = [_weighted(run, stage) for stage in _several(stages) for run in stage.systems or [stage]]
    if not runs:
        raise ValueError("stages: there are none")
    names, times = list(runs[0][1]), runs[0][0]
    for time, parts in runs:
        if list(parts) != names or len(time) != len(times) or not numpy.allclose(time, times, rtol=1e-9):
            raise ValueError("stages: all must have the same species and lags")
    count = len(times)
    if longest is not None:
        count = min(count, int(numpy.searchsorted(times, longest * (1 + 1e-9), side="right")))
    if count < _FEWEST:
        raise ValueError(
            f"{count} lags at equal distances from 0 on{'' if longest is None else f' up to {longest}'}: at least {_FEWEST} are needed; "
            "give the correlation a block_size as large"
        )
    times = times[:count]
    weights = 0.5 * (1.0 + numpy.cos(numpy.pi * times / times[-1])) if window else numpy.ones(count)
    frequency = numpy.pi / times[-1] * numpy.arange(count)
    species, values, ends = {name: 0.0 for name in names}, [], []
    for _, parts in runs:
        whole = sum(part[0] for part in parts.values())
        of_run = {name: _cosine_transform(part[:count] / whole * weights, times[1]) for name, part in parts.items()}
        values.append(sum(of_run.values()))
        ends.append(sum(part[count - count // 8 - 1 : count] for part in parts.values()) / whole)
        for name in names:
            species[name] = species[name] + of_run[name] / len(runs)
    value, error = of_scatter(numpy.array(values))
    flags = []
    # Where the spectrum is still large at its end, higher frequencies have been folded into it.
    if numpy.abs(value[-(count // 16) - 1 :]).mean() > _ALIASED * numpy.abs(value).max():
        flags.append("aliased")
    if window is None and numpy.sqrt(numpy.mean(numpy.mean(ends, axis=0) ** 2)) > _TRUNCATED:
        flags.append("truncated")
    return DensityOfStates(frequency, value, error, species, _WINDOWS[window] / times[-1], tuple(flags))


def _several(stages):
    return list(stages) if isinstance(stages, Iterable) else [stages]


def _weighted(run, stage):
    """Lags at equal distances, and `N m <v(t) . v(0)>` of each species."""
    import numpy

    plan = stage.plan["system"]["species"]
    particles = {species["name"]: (species["count"], species["mass"]) for species in plan}
    if classes := stage.classes:
        particles = {name: (of.particles, plan[0]["mass"]) for name, of in classes.items()}
    parts, times = {}, None
    for name, (count, mass) in particles.items():
        try:
            function: Function = run.dynamics[f"{name}/velocity_autocorrelation"]
        except KeyError as error:
            raise ValueError(f"{stage.path}: there is no velocity autocorrelation of {name}; those of all species are needed") from error
        times, parts[name] = function.time, count * mass * function.value
    steps = numpy.diff(times)
    equal = numpy.abs(steps - steps[0]) < 1e-6 * steps[0]
    count = 1 + (len(steps) if equal.all() else int(numpy.argmin(equal)))
    return times[:count], {name: part[:count] for name, part in parts.items()}


def _cosine_transform(values, step):
    """`(2/pi) int f(t) cos(w t) dt` by the trapezoidal rule at the frequencies `k pi / T`, of which it has the integral f(0)."""
    import numpy

    both = numpy.concatenate([values, values[-2:0:-1]])
    return numpy.fft.rfft(both).real * (step / numpy.pi)


@dataclasses.dataclass(frozen=True, eq=False)
class NormalModes:
    """Harmonic vibrations around given places.

    frequencies: square roots of the eigenvalues of `H_ia,jb / (m_i m_j)^(1/2)`, ascending, as angular frequencies; of a negative
    eigenvalue, which no minimum has, minus the root of its modulus. D of them are translations: zero up to rounding, some 1e-7 of the largest.
    modes: eigenvectors of this matrix, of length 1: (modes, N, D). Displacements are these over `m_i^(1/2)`.
    """

    frequencies: numpy.ndarray
    modes: numpy.ndarray

    @property
    def participation_ratios(self) -> numpy.ndarray:
        """`(sum_i e_i^2)^2 / (N sum_i e_i^4)` of each mode: 1 where all particles move alike, 1/N where one moves alone."""
        import numpy

        squares = (self.modes**2).sum(2)
        return 1.0 / (squares.shape[1] * (squares**2).sum(1)) * numpy.square(squares.sum(1))


def normal_modes(
    potential: dict | str,
    positions: Any,
    box: Any = None,
    *,
    tilt: float = 0.0,
    species: Any = None,
    masses: Any = None,
    diameters: Any = None,
    non_additivity: float | None = None,
    lowest: int | None = None,
) -> NormalModes:
    """Frequencies and normal modes of particles around given places: `NormalModes`. It needs scipy.

    potential, positions, box, tilt, species, diameters, non_additivity: as of `supercool.evaluate`.
    masses: (N,); if not given those of the object that the positions are of, else 1.
    lowest: how many modes are wanted, from the lowest; else all, of a dense matrix of (N D)^2 numbers.

    Of an instantaneous configuration, which is no minimum, they are its instantaneous normal modes, with unstable ones.

    >>> import numpy, supercool
    >>> spring = {"kind": "lennard-jones", "cutoff": 2.5, "truncation": "sharp", "pairs": {"AA": {"epsilon": 1, "sigma": 1}}}
    >>> two = supercool.normal_modes(spring, [[1.0, 1.0], [1.0 + 2 ** (1 / 6), 1.0]], [6.0, 6.0], masses=[1.0, 3.0])
    >>> print(round(two.frequencies[-1] ** 2 / (72 / 2 ** (1 / 3)), 9))
    1.333333333
    """
    import numpy

    frame = _bridges.frame(positions) if box is None else Frame(positions=positions, box=box, tilt=tilt)
    count, dimension = frame.positions.shape
    if masses is None:
        masses = numpy.ones(count) if frame.masses is None else frame.masses
    masses = numpy.asarray(masses, dtype=float)
    if masses.shape != (count,):
        raise ValueError(f"masses have the shape {masses.shape}; it must be ({count},)")
    if not (numpy.isfinite(masses).all() and (masses > 0).all()):
        raise ValueError("masses: all must be finite and above zero")
    size = count * dimension
    if lowest is not None and not 1 <= lowest < size:
        raise ValueError(f"lowest = {lowest}: it must be from 1 to {size - 1}")
    options = {"tilt": tilt, "species": species, "diameters": diameters, "non_additivity": non_additivity}
    hessian = evaluate(potential, positions, box, hessian=True, **options).hessian
    import scipy.linalg
    import scipy.sparse

    root = scipy.sparse.diags_array(numpy.repeat(masses**-0.5, dimension))
    matrix = root @ hessian @ root
    if lowest is None:
        squares, vectors = scipy.linalg.eigh(matrix.toarray())
    else:
        squares, vectors = _lowest(matrix.tocsc(), lowest)
    frequencies = numpy.sign(squares) * numpy.sqrt(numpy.abs(squares))
    return NormalModes(frequencies, vectors.T.reshape(-1, count, dimension))


def _lowest(matrix, count):
    """By inverse iteration around a number below all eigenvalues."""
    import numpy
    from scipy.sparse.linalg import eigsh

    least = float(eigsh(matrix, k=1, which="SA", return_eigenvectors=False, tol=1e-3)[0])
    # A sum of moduli of a row is no less than any eigenvalue.
    largest = float(numpy.abs(matrix).sum(1).max())
    size = matrix.shape[0]
    # Of crystals many are equal, which takes a large subspace; always from the same vector, for the same numbers.
    options = {"ncv": min(size, 4 * count + 60), "v0": numpy.random.default_rng(1).normal(size=size)}
    squares, vectors = eigsh(matrix, k=count, sigma=1.01 * min(least, 0.0) - 1e-5 * largest, **options)
    order = numpy.argsort(squares)
    return squares[order], vectors[:, order]
