"""Averages over independent runs."""

from __future__ import annotations

import collections.abc
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _figures, _fits
from ._fits import Fit
from ._functions import Function

if TYPE_CHECKING:
    import pandas


def average(
    paths: str | os.PathLike[str] | Iterable[Any], *, same_temperature: float | None = None
) -> Averages:
    """Averages over independent runs of each state point, with errors from their scatter, and fits: what `supercool analyze` does.

    paths: results files or directories of runs, or what `supercool.open`, `run` and `correlate` give; one or several. Of many systems
    in a run each is one. same_temperature: as of the command.
    """
    if isinstance(paths, (str, os.PathLike)) or hasattr(paths, "path"):
        paths = [paths]
    paths = [getattr(path, "path", path) for path in paths]
    return Averages(*_fits._both(paths, same_temperature))


class StatePoint:
    """Runs of one state. temperature, temperature_error: mean, and its standard error; None where it is not known. runs: how many. files.

    dynamics: averages of time correlations, such as `point.dynamics["A/mean_square_displacement"]`: their `count` is of runs.
    notes: what could not be estimated, and why.
    """

    def __init__(self, point, averages):
        of = point["temperature"] or {}
        self.temperature, self.temperature_error = of.get("value"), of.get("error")
        self.runs, self.notes, self.grouped_by = point["runs"], point["notes"], point["grouped_by"]
        self.files = [pathlib.Path(file) for file in point["files"]]
        self._estimates = point["estimates"]
        self.dynamics = _Averaged(averages, self.files[0])

    def fits(self) -> list[Fit]:
        """Diffusion, relaxation and more, with errors and flags."""
        return _fits.fits(self._estimates)

    def __repr__(self):
        return f"<StatePoint T = {self.temperature}, {self.runs} runs>"


class Averages(collections.abc.Sequence):
    """State points, the hottest first. notes: what could not be fitted over temperatures, and why."""

    def __init__(self, analysis: dict, averages: list):
        #: What `supercool analyze --json` writes.
        self.analysis = analysis
        self.notes = analysis["notes"]
        self._points = [StatePoint(*of) for of in zip(analysis["state_points"], averages)]

    def __len__(self):
        return len(self._points)

    def __getitem__(self, index):
        return self._points[index]

    @property
    def temperatures(self) -> list[float | None]:
        return [point.temperature for point in self]

    def fits(self) -> list[Fit]:
        """Those of all state points, and those over temperatures."""
        return [fit for point in self for fit in point.fits()] + _fits.fits(self.analysis["over_temperature"])

    def vft(self, species: str | None = None, *, wavenumber: float | None = None) -> tuple[Fit, ...]:
        """`tau_0`, `B` and `T_0` of `tau = tau_0 exp(B / (T - T_0))` through the relaxation times: three of `Fit`. It takes four
        temperatures; LookupError where there is none, with the reasons in `notes`."""
        return self._over_temperature(("tau0_vft", "B_vft", "T0_vft"), species, wavenumber)

    def mode_coupling(
        self, species: str | None = None, *, of: str = "tau", wavenumber: float | None = None
    ) -> tuple[Fit, ...]:
        """`T_c` and `gamma` of `1/tau` (`of="tau"`) or `D` (`of="D"`) `= c (T - T_c)^gamma`: two of `Fit`."""
        return self._over_temperature((f"Tc_mct({of})", f"gamma_mct({of})"), species, wavenumber)

    def _over_temperature(self, names, species, wavenumber):
        found = _fits.fits(self.analysis["over_temperature"])
        try:
            return tuple(_fits.choose(found, name, species, wavenumber, None) for name in names)
        except LookupError as error:
            raise LookupError("; ".join([str(error), *self.notes])) from None

    def plot(
        self,
        name: str,
        ax: Any = None,
        *,
        wavenumber: float | None = None,
        label: str = "",
        xscale: str | None = None,
        yscale: str | None = None,
        **style: Any,
    ) -> Any:
        """Draws a function, such as "A/mean_square_displacement", of all state points with its errors, up to the last one, colors in the
        order of the temperatures and a color bar; gives the axes of matplotlib. wavenumber: the nearest one only. xscale, yscale:
        "linear" or "log", if not those of `supercool.plot`. `style` goes to `errorbar`: `marker="o"`, `color=`."""
        curves = []
        for point, function in self._having(name):
            *others, (over, x) = function.axes.items()
            grid = others[0][1] if others else [None]
            near = grid if wavenumber is None or not others else [min(grid, key=lambda q: abs(q - wavenumber))]
            for row, q in enumerate(grid):
                if q in near:
                    rows = (function.value, function.error) if q is None else (function.value[row], function.error[row])
                    words = [label] * bool(label)
                    if len(near) > 1:
                        words.append(f"q = {q:.4g}")
                    shown = x > 0 if xscale != "linear" else x >= 0
                    points = (x[shown], *(values[shown] for values in rows))
                    curves.append(_figures.Curve(*points, ", ".join(words), point.temperature))
        return _figures.draw(ax, curves, over, function.name, function.unit, xscale=xscale, yscale=yscale, **style)

    def to_pandas(self, name: str | None = None) -> pandas.DataFrame:
        """A DataFrame of a function of all state points, whose index has the temperature first; without a name one of all fits."""
        import dataclasses

        import pandas

        if name is None:
            return pandas.DataFrame([dataclasses.asdict(fit) for fit in self.fits()])
        tables = {point.temperature: function.to_pandas() for point, function in self._having(name)}
        return pandas.concat(tables, names=["temperature"])

    def _having(self, name):
        found = [(point, point.dynamics[name]) for point in self if name in point.dynamics]
        if not found:
            there = sorted({each for point in self for each in point.dynamics})
            raise KeyError(f"{name}: there is {', '.join(there) or 'nothing'}")
        return found

    def __repr__(self):
        return f"<Averages of {sum(point.runs for point in self)} runs at T = {', '.join(map(str, self.temperatures))}>"


class _Averaged(collections.abc.Mapping):
    """Averages by the path of the function."""

    def __init__(self, averages, path):
        self._all, self._path = {each["name"]: each for each in averages}, path

    def __iter__(self):
        return iter(self._all)

    def __len__(self):
        return len(self._all)

    def __getitem__(self, name):
        import numpy

        if name not in self._all:
            raise KeyError(f"{name}: there is {', '.join(self._all)}")
        each = self._all[name]
        wavenumbers = [curve["wavenumber"] for curve in each["curves"]]
        has_wavenumbers = None not in wavenumbers

        def rows(part):
            values = numpy.array([curve[part] for curve in each["curves"]], dtype=float)
            return values if has_wavenumbers else values[0]

        time = numpy.array(each["time"])
        read = {name: rows(name) for name in ("value", "error", "scatter")}
        read["count"] = rows("runs").astype(int)
        read["axes"] = {"wavenumber": numpy.array(wavenumbers)} if has_wavenumbers else {}
        read["axes"]["time"] = read["time"] = time
        of_file = Function(self._path, f"dynamics/{name}")
        return Average(self._path, f"dynamics/{name}", {"unit": of_file.unit, "description": of_file.description, **read})

    def __repr__(self):
        return f"<{', '.join(self._all)}>"


class Average(Function):
    """A time correlation averaged over runs: `value`, `error` from their scatter, `count` of runs on the grid of `axes`."""

    def __init__(self, path, group, data):
        super().__init__(path, group)
        self._read = data

    scatter = property(lambda self: self._data["scatter"], doc="Standard deviation of the runs; NaN of one.")
