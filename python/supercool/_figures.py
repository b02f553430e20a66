"""Figures of functions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

#: Of temperatures: blue is cold, red is hot.
_COLORS = "coolwarm"
_STYLES = ("-", "--", ":", "-.")


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """Points with errors. words: what tells it from others of its temperature."""

    x: numpy.ndarray
    y: numpy.ndarray
    error: numpy.ndarray
    words: str = ""
    temperature: float | None = None


def draw(ax, curves, over, quantity, unit, **style):
    """Draws curves with their errors; gives the axes. With several temperatures color tells these, and the style of lines the others."""
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
        ax.errorbar(curve.x, curve.y, curve.error, label=label, **of_this)
    if colors and "color" not in style:
        bar = ax.figure.colorbar(colors, ax=ax, label="T")
        if len(temperatures) <= 10:
            bar.set_ticks(temperatures, labels=[f"{temperature:.4g}" for temperature in temperatures])
    if over == "time":
        ax.set_xscale("log")
    name(ax, over, quantity, unit)
    return ax


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
    ax.set_xlabel({"time": "t", "wavenumber": "q", "distance": "r"}.get(over, over))
    ax.set_ylabel(quantity.replace("_", " ") + (f" ({unit})" if unit else ""))
