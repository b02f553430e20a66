"""Figures of results files, and of functions on axes of matplotlib."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy

#: Of temperatures: blue is cold, red is hot.
_COLORS = "coolwarm"
_STYLES = ("-", "--", ":", "-.")


def plot(
    paths: str | os.PathLike[str] | Iterable[Any],
    output: str | os.PathLike[str],
    quantities: str | Iterable[str] = (),
    *,
    by: str | None = None,
    markers: bool = False,
    x_scale: str | None = None,
    y_scale: str | None = None,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    size: tuple[float, float] | None = None,
    over: str | None = None,
) -> pathlib.Path:
    """Draws what results files hold, several overlaid, as the command `plot`: gives the path of the figure. It needs no matplotlib.

    paths: results files, directories of runs or sweeps, or what `supercool.open` and `run` give. output: the figure, .svg, .pdf or .png.
    quantities: such as "mean-square-displacement"; all that is there if none.

    by: what tells curves apart, a key of the configuration or "temperature"; numbers give colors in their order and a color bar. markers:
    at the points. x_scale, y_scale: "linear" or "log". x_range, y_range: ends of the axes. size: width and height in centimetres. over="t/tw": functions from given
    time origins only, over the lag in units of the waiting time.

    Raises ValueError for wrong choices, Error where a file cannot be read or nothing is there.
    """
    if isinstance(paths, (str, os.PathLike)) or hasattr(paths, "path"):
        paths = [paths]
    files = [os.fspath(pathlib.Path(getattr(path, "path", path)).expanduser()) for path in paths]
    output = pathlib.Path(output).expanduser()
    quantities = [quantities] if isinstance(quantities, str) else list(quantities)
    words = [f"--output={output}"] + ["--markers"] * markers
    words += [f"--quantities={','.join(quantities)}"] * bool(quantities)
    for name, choice in {"by": by, "x-scale": x_scale, "y-scale": y_scale, "over": over}.items():
        words += [f"--{name}={choice}"] * (choice is not None)
    for name, choice, between in (("x-range", x_range, ":"), ("y-range", y_range, ":"), ("size", size, "x")):
        if choice is not None:
            first, second = choice
            words.append(f"--{name}={float(first)!r}{between}{float(second)!r}")
    _native.plot([*words, "--", *files])
    return output


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """Points with errors. words: what tells it from others of its temperature."""

    x: numpy.ndarray
    y: numpy.ndarray
    error: numpy.ndarray
    words: str = ""
    temperature: float | None = None


def draw(ax, curves, over, quantity, unit, *, xscale=None, yscale=None, **style):
    """Draws curves with their errors, as far as they have some; gives the axes. With several temperatures color tells these, and the
    style of lines the others."""
    ax = axes(ax)
    temperatures = sorted({curve.temperature for curve in curves if curve.temperature is not None})
    colors = _colors(temperatures) if len(temperatures) > 1 else None
    words = list(dict.fromkeys(curve.words for curve in curves))
    for curve in curves:
        of_this, label = dict(style), curve.words or None
        if colors and curve.temperature is not None:
            of_this.setdefault("color", colors.to_rgba(curve.temperature))
            of_this.setdefault("linestyle", _STYLES[words.index(curve.words) % len(_STYLES)])
            # Once, of the first temperature.
            label = label if curve.temperature == temperatures[0] else None
        end = _end(curve.error)
        ax.errorbar(curve.x[:end], curve.y[:end], curve.error[:end], label=label, **of_this)
    if colors and "color" not in style:
        bar = ax.figure.colorbar(colors, ax=ax, label="T")
        if len(temperatures) <= 10:
            bar.set_ticks(temperatures, labels=[f"{temperature:.4g}" for temperature in temperatures])
    ax.set_xscale(xscale or ("log" if over in ("time", "t/tw") else "linear"))
    ax.set_yscale(yscale or ("log" if _native.has_logarithmic_axis(quantity) else "linear"))
    name(ax, over, quantity, unit)
    return ax


def _end(errors):
    """Behind the last error of a curve; of one that has not two (besides zero) behind all points."""
    import numpy

    known = numpy.flatnonzero(numpy.isfinite(errors))
    return known[-1] + 1 if (errors[known] > 0).sum() > 1 else None


def _colors(temperatures):
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(temperatures[0], temperatures[-1]), _COLORS)


def axes(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot

    return matplotlib.pyplot.subplots()[1]


def name(ax, over, quantity, unit):
    ax.set_xlabel({"time": "t", "wavenumber": "q", "distance": "r", "t/tw": "t / t_w"}.get(over, over))
    ax.set_ylabel(quantity.replace("_", " ") + (f" ({unit})" if unit else ""))
