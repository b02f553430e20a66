"""Dynamic heterogeneity: the length of S_4(q,t), and chi_4 at constant temperature."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

#: chi^2 per degree of freedom from which on a fit is a poor one, as of `supercool analyze`.
_POOR = 3.0


@dataclasses.dataclass(frozen=True, eq=False)
class DynamicLength:
    """`S_4(q) = S_4(0) / (1 + (q xi)^2)` at a lag time.

    time: the lag. length, length_error: xi, NaN where S_4 does not fall with q. limit, limit_error: S_4(0).
    wavenumber, value, error: what was fitted; fitted: the curve there.
    flags: "poor-fit" where chi^2 per degree of freedom is above 3; "small-box" where xi is above 1/q of the smallest q, so that S_4(0) is an
    extrapolation; "no-length"; "no-errors" where points had none, weigh the same, and errors of the fit are NaN.
    """

    time: float
    length: float
    length_error: float
    limit: float
    limit_error: float
    wavenumber: numpy.ndarray
    value: numpy.ndarray
    error: numpy.ndarray
    fitted: numpy.ndarray
    flags: tuple[str, ...]


def dynamic_length(function: Any, time: float, *, largest: float | None = None) -> DynamicLength:
    """The dynamic correlation length xi_4 of a `four_point_structure_factor`, by least squares with the weights of its errors.

    function: a function on the axes `wavenumber` and `time`: `stage.dynamics["all-particles/four_point_structure_factor"]`, or that of
    `supercool.average`. time: the lag nearest to it is taken. largest: wave numbers up to this are; the form holds up to `q xi` of
    about 1.5.

    Errors are those of points that do not fluctuate together: of single runs, too small where a run has few relaxation times; those of
    `supercool.average` are the scatter over runs.
    Raises ValueError where fewer than three wave numbers are left.
    """
    import numpy

    at = int(numpy.argmin(numpy.abs(function.time - time)))
    q = numpy.asarray(function.axes["wavenumber"], dtype=float)
    value, error = function.value[:, at], function.error[:, at]
    kept = numpy.isfinite(value) & (q <= (numpy.inf if largest is None else largest * (1 + 1e-9)))
    if kept.sum() < 3:
        raise ValueError(f"{int(kept.sum())} wave numbers with a value at t = {function.time[at]:.6g}: a fit takes three or more")
    q, value, error = q[kept], value[kept], error[kept]
    return _fit(float(function.time[at]), q, value, error)


def _fit(time, q, value, error):
    import numpy

    weighted = bool((numpy.isfinite(error) & (error > 0)).all())
    deviation = error if weighted else numpy.ones_like(value)
    # Of 1/S_4 = u + v q^2, from a straight line on.
    line = numpy.column_stack([numpy.ones_like(q), q**2])
    slopes = 1.0 / (deviation / value**2)
    parameters = numpy.linalg.lstsq(line * slopes[:, None], slopes / value, rcond=None)[0]
    nan = float("nan")
    found = {"time": time, "wavenumber": q, "value": value, "error": error}
    none = {"length": nan, "length_error": nan, "limit": nan, "limit_error": nan, "fitted": numpy.full_like(q, nan)}
    for _ in range(50):
        denominators = line @ parameters
        if not (denominators > 0).all():
            return DynamicLength(**found, **none, flags=("no-length",))
        fitted = 1.0 / denominators
        jacobian = -line * (fitted**2 / deviation)[:, None]
        step = numpy.linalg.lstsq(jacobian, (value - fitted) / deviation, rcond=None)[0]
        parameters = parameters + step
        if numpy.abs(step).max() <= 1e-12 * numpy.abs(parameters).max():
            break
    u, v = parameters
    if not (u > 0 and v > 0 and (line @ parameters > 0).all()):
        return DynamicLength(**found, **none, flags=("no-length",))
    fitted = 1.0 / (line @ parameters)
    covariance = numpy.linalg.inv(jacobian.T @ jacobian) if weighted else numpy.full((2, 2), nan)
    length = float((v / u) ** 0.5)
    # Of xi = (v / u)^(1/2) and S_4(0) = 1 / u.
    gradient = 0.5 * length * numpy.array([-1.0 / u, 1.0 / v])
    chi2 = float((((value - fitted) / deviation) ** 2).sum()) / (len(q) - 2)
    flags = [] if weighted else ["no-errors"]
    flags += ["poor-fit"] if weighted and chi2 > _POOR else []
    flags += ["small-box"] if q.min() * length > 1.0 else []
    return DynamicLength(
        **found,
        length=length,
        length_error=float((gradient @ covariance @ gradient) ** 0.5),
        limit=float(1.0 / u),
        limit_error=float(covariance[0, 0] ** 0.5 / u**2),
        fitted=fitted,
        flags=tuple(flags),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class CanonicalSusceptibility:
    """chi_4 at constant temperature: `value` and `error` over `time`; `measured`, at constant energy, and `correction`, which is added, with
    its `correction_error`. temperature, heat_capacity: T, and c_v per particle, of the correction."""

    time: numpy.ndarray
    value: numpy.ndarray
    error: numpy.ndarray
    measured: numpy.ndarray
    correction: numpy.ndarray
    correction_error: numpy.ndarray
    temperature: float
    heat_capacity: float


def canonical_susceptibility(
    stage: Any,
    colder: Any,
    hotter: Any,
    *,
    part: str = "all-particles",
    function: str = "self_overlap",
    heat_capacity: tuple[float, float] | None = None,
) -> CanonicalSusceptibility:
    """The susceptibility that a run at constant temperature would have, from one at constant energy:
    `chi_NVT = chi_NVE + (N_a/N) (T^2 / c_v) (dQ/dT)^2`, k_B = 1 (L. Berthier et al., J. Chem. Phys. 126, 184503 (2007)).

    stage: at constant energy, with `function` and its susceptibility. colder, hotter: stages at neighbouring temperatures, with `function`
    at the same lags; dQ/dT is their difference over that of their mean temperatures. part: "all-particles" or a species, whose share of
    the particles is N_a/N. heat_capacity: c_v per particle and its error; if not given, the difference of the total energies of the
    two over that of the temperatures, whose error is not counted.

    `error` has the errors of chi_NVE, of Q in both runs, and of c_v where it is given. What the curvature of Q(T) between the temperatures
    adds is not in it: take a second pair closer together.
    Raises ValueError where lags differ, or temperatures are not in order.
    """
    import numpy

    temperatures, energies, values, errors = [], [], [], []
    chi = stage.dynamics[f"{part}/{function}_susceptibility"]
    for run in (colder, stage, hotter):
        temperatures.append(float(run.observables["temperature"].value.mean()))
        energies.append(float(run.observables["total_energy"].value.mean()) if heat_capacity is None else float("nan"))
        of = run.dynamics[f"{part}/{function}"]
        if len(of.time) != len(chi.time) or not numpy.allclose(of.time, chi.time, rtol=1e-9):
            raise ValueError(f"{run}: the lags of {function} are not those of the susceptibility")
        values.append(of.value)
        errors.append(of.error)
    low, temperature, high = temperatures
    if not low < temperature < high:
        raise ValueError(f"temperatures {low:.6g}, {temperature:.6g}, {high:.6g} of colder, stage and hotter are not in order")
    if heat_capacity is None:
        capacity, capacity_error = (energies[2] - energies[0]) / (high - low), 0.0
    else:
        capacity, capacity_error = map(float, heat_capacity)
    if not capacity > 0:
        raise ValueError(f"c_v = {capacity:.6g}: it must be above zero")
    slope = (values[2] - values[0]) / (high - low)
    slope_error = numpy.hypot(errors[2], errors[0]) / (high - low)
    factor = _share(stage, part) * temperature**2 / capacity
    correction = factor * slope**2
    # Where the slope is no more than its error, its square is uncertain by more than the first order says.
    of_slope = factor * numpy.sqrt(4 * slope**2 * slope_error**2 + 2 * slope_error**4)
    correction_error = numpy.hypot(of_slope, correction * capacity_error / capacity)
    return CanonicalSusceptibility(
        time=chi.time,
        value=chi.value + correction,
        error=numpy.hypot(chi.error, correction_error),
        measured=chi.value,
        correction=correction,
        correction_error=correction_error,
        temperature=temperature,
        heat_capacity=capacity,
    )


def _share(stage, part):
    counts = {species["name"]: species["count"] for species in stage.plan["system"]["species"]}
    counts.update((name, of.particles) for name, of in stage.classes.items())
    if part == "all-particles":
        return 1.0
    if part not in counts:
        raise ValueError(f"part = {part!r}: there are {', '.join(['all-particles', *counts])}")
    return counts[part] / sum(species["count"] for species in stage.plan["system"]["species"])
