"""What results files hold: functions on a grid, and time series."""

from __future__ import annotations

import collections.abc
import itertools

from . import _figures, _file


class _Lazy:
    """Read all at once, when something of it is first wanted."""

    def __init__(self, path, group, system=None):
        self._path, self._group, self._system = path, group, system
        self._read = None

    @property
    def name(self):
        return self._group.rsplit("/", 1)[-1]

    @property
    def _data(self):
        if self._read is None:
            self._read = _file.read(self._path, lambda file: self._load(file[self._group]))
        return self._read

    def _of(self, name):
        return self._data.get(name)

    value = property(lambda self: self._of("value"), doc="Array of float.")
    error = property(lambda self: self._of("error"), doc="Standard errors; NaN where there is none.")
    time = property(lambda self: self._of("time"), doc="Array; None where it is no function of time.")
    unit = property(lambda self: self._data["unit"], doc="Text; empty for a pure number.")

    def __repr__(self):
        return f"<{type(self).__name__} {self._group} of {self._path}>"


class Function(_Lazy):
    """A time correlation or a function of structure: `value`, `error` and `count` (samples) on the grid of `axes`."""

    def _load(self, group):
        import numpy

        names = [_file.text(name) for name in group["value"].attrs["axes"]]
        if self._system is not None:
            names = names[1:]
        of = (...,) if self._system is None else (self._system, ...)
        shape = group["value"].shape[-len(names) :]
        # Systems and configurations are only numbered.
        grid = {name: group[name][()] if name in group else numpy.arange(n) for name, n in zip(names, shape)}
        read = {"axes": grid}
        for name in ("value", "error", "count", "change", "change_error", "ensemble_value", "ensemble_error"):
            if name in group:
                read[name] = numpy.asarray(group[name][of])
        read["time"] = read["axes"].get("time")
        read["unit"] = _file.text(group["value"].attrs.get("unit", ""))
        read["description"] = _file.text(group.attrs.get("description", ""))
        return read

    waiting_time = property(
        lambda self: self.axes.get("waiting_time"), doc="Array, of functions from given time origins; else None."
    )
    axes = property(lambda self: self._data["axes"], doc="Name and array of each axis of `value`, the slowest first.")
    count = property(lambda self: self._of("count"), doc="Samples of each value.")
    description = property(lambda self: self._data["description"], doc="What it is, with its formula.")
    change = property(
        lambda self: self._of("change"), doc="From the first to the later time origins; None where not measured."
    )
    change_error = property(lambda self: self._of("change_error"), doc="Standard error of `change`.")
    ensemble_value = property(lambda self: self._of("ensemble_value"), doc="Of many systems: over all of them.")
    ensemble_error = property(lambda self: self._of("ensemble_error"), doc="Standard error of `ensemble_value`.")

    def plot(self, ax=None, label=None, *, over=None, xscale=None, yscale=None, **style):
        """Draws it with its errors over its last axis, a curve for each value of the others, up to its last error; gives the axes of
        matplotlib. Of several temperatures curves have colors in their order, which a color bar names. xscale, yscale: "linear" or
        "log", if not those of `supercool.plot`. over="t/tw": the lag in units of the waiting time. `style` goes to `errorbar`: `marker="o"`, `color=`."""
        *others, (name, x) = self.axes.items()
        if over not in (None, "t/tw") or (over and (self.waiting_time is None or name != "time")):
            raise ValueError('over: "t/tw" is of functions of time from given time origins')
        curves = []
        for index in itertools.product(*(range(len(grid)) for _, grid in others)):
            at = {axis: grid[i] for (axis, grid), i in zip(others, index)}
            if over and at["waiting_time"] == 0:
                continue
            several = [f"{axis} = {at[axis]:.4g}" for axis, grid in others if len(grid) > 1 and axis != "temperature"]
            shown = x > 0 if name == "time" and xscale != "linear" else slice(None)
            scaled = x / at["waiting_time"] if over else x
            points = (scaled[shown], self.value[index][shown], self.error[index][shown])
            curves.append(_figures.Curve(*points, ", ".join(([label] if label else []) + several), at.get("temperature")))
        return _figures.draw(ax, curves, over or name, self.name, self.unit, xscale=xscale, yscale=yscale, **style)

    def to_pandas(self):
        """A DataFrame of values, errors and counts; its index are the axes."""
        import pandas

        index = pandas.MultiIndex.from_product(self.axes.values(), names=list(self.axes))
        columns = {name: self._of(name) for name in ("value", "error", "count")}
        columns = {name: values.ravel() for name, values in columns.items() if values is not None}
        return pandas.DataFrame(columns, index=index if len(self.axes) > 1 else index.get_level_values(0))


class TimeSeries(_Lazy):
    """Something that was sampled while the run went on: `value` at each `step` and `time`. `error` is there of many systems only:
    that of their mean."""

    def _load(self, group):
        complete = len(group["step"])
        of = slice(complete) if self._system is None else (slice(complete), self._system)
        read = {"step": group["step"][:complete], "time": group["time"][:complete], "value": group["value"][of]}
        if "error" in group:
            read["error"] = group["error"][of]
        read["unit"] = _file.text(group["value"].attrs.get("unit", ""))
        return read

    step = property(lambda self: self._of("step"), doc="Steps since the start of the run.")

    def plot(self, ax=None, label=None, **style):
        """Draws it over time; gives the axes of matplotlib. `style` goes to `plot`."""
        ax = _figures.axes(ax)
        ax.plot(self.time, self.value.reshape(len(self.time), -1), label=label, **style)
        _figures.name(ax, "time", self.name, self.unit)
        return ax

    def to_pandas(self):
        """A DataFrame over step, with the time; tensors have a column for each component."""
        import numpy
        import pandas

        columns = {"time": self.time}
        for name, values in ((self.name, self.value), (f"{self.name}_error", self.error)):
            if values is not None:
                for index in numpy.ndindex(values.shape[1:]):
                    part = f"[{','.join(map(str, index))}]" if index else ""
                    columns[name + part] = values[(slice(None), *index)]
        return pandas.DataFrame(columns, index=pandas.Index(self.step, name="step"))


class Propensity(_Lazy):
    """Means over the runs from each configuration: `value` and `second_moment` of [configurations, times, particles]; over particles
    and configurations `mean`, `square_of_propensity`, `square` of [times, species]; what the configuration determines of the
    variance: `predictable_share` with its error. NaN at times that are not reached yet."""

    def _load(self, group):
        read = {name: item[()] for name, item in group.items()}
        read["time"] = group.parent["time"][()]
        read["unit"] = _file.text(group["value"].attrs.get("unit", ""))
        read["description"] = _file.text(group.attrs.get("description", ""))
        return read

    second_moment = property(lambda self: self._of("second_moment"), doc="Mean of the square over the runs.")
    mean = property(lambda self: self._of("mean"), doc="Over particles, configurations and runs.")
    square_of_propensity = property(lambda self: self._of("square_of_propensity"), doc="Its mean.")
    square = property(lambda self: self._of("square"), doc="Its mean.")
    predictable_share = property(lambda self: self._of("predictable_share"), doc="Of the variance.")
    predictable_share_error = property(lambda self: self._of("predictable_share_error"), doc="By a jackknife.")
    description = property(lambda self: self._data["description"], doc="What it is, with its formula.")


class Group(collections.abc.Mapping):
    """Functions or time series by name."""

    def __init__(self, path, root, kind, system=None):
        self._path, self._root, self._kind, self._system = path, root, kind, system

    def _names(self):
        import h5py

        def take(file):
            names = []

            def visit(name, item):
                if isinstance(item, h5py.Group) and "value" in item:
                    names.append(name)

            if self._root in file:
                file[self._root].visititems(visit)
            return names

        return _file.read(self._path, take)

    def __iter__(self):
        return iter(self._names())

    def __len__(self):
        return len(self._names())

    def __getitem__(self, name):
        def is_there(file):
            item = file.get(f"{self._root}/{name}")
            return hasattr(item, "keys") and "value" in item

        if _file.read(self._path, is_there):
            return self._kind(self._path, f"{self._root}/{name}", self._system)
        raise KeyError(f"{name}: {self._path} has {', '.join(self._names()) or 'nothing'} in /{self._root}")

    def __repr__(self):
        return f"<{', '.join(self._names())}>"
