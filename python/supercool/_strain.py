"""Curves and plastic events of stages of athermal quasi-static strain."""

from __future__ import annotations

from . import _figures, _file
from ._functions import Group, _Lazy

_ROOT = "strain"


class StrainCurve(_Lazy):
    """Something over the strain: `value` at each `strain`, in the order of the steps. `error` is there of many systems only: that of their
    mean."""

    def _load(self, group):
        complete = len(group["step"])
        of = slice(complete) if self._system is None else (slice(complete), self._system)
        read = {"step": group["step"][:complete], "strain": group["strain"][:complete], "value": group["value"][of]}
        if "error" in group:
            read["error"] = group["error"][of]
        read["unit"] = _file.text(group["value"].attrs.get("unit", ""))
        return read

    strain = property(lambda self: self._of("strain"), doc="Array of float: it may turn.")
    step = property(lambda self: self._of("step"), doc="Steps since the start of the run.")

    def plot(self, ax=None, label=None, **style):
        """Draws it over the strain; gives the axes of matplotlib. `style` goes to `plot`."""
        ax = _figures.axes(ax)
        ax.plot(self.strain, self.value.reshape(len(self.strain), -1), label=label, **style)
        _figures.name(ax, "strain", self.name, self.unit)
        return ax


class Strain(Group):
    """Curves by name, such as `stage.strain["stress"]`, `["potential_energy"]`, `["stress_tensor"]`; empty in other stages."""

    def __init__(self, path, system=None):
        root = _ROOT if system is None else f"systems/{_ROOT}"
        super().__init__(path, root, StrainCurve, system)

    @property
    def events(self) -> dict:
        """Plastic events: arrays by name, `step`, `system`, `strain_before`, `strain_after`, `energy_drop` (per particle), `stress_drop`,
        `participation_ratio`, `largest_displacement`; of one of many systems its own."""

        def take(file):
            if f"{_ROOT}/events" not in file:
                return {}
            group = file[f"{_ROOT}/events"]
            complete = len(group["step"])
            return {name: dataset[:complete] for name, dataset in group.items()}

        events = _file.read(self._path, take)
        if self._system is None or not events:
            return events
        own = events["system"] == self._system
        return {name: values[own] for name, values in events.items()}
