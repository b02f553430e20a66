"""Fits with errors, by what `supercool analyze` does."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence

from . import _native


@dataclasses.dataclass(frozen=True)
class Fit:
    """A number that was fitted. Where there are `flags` it cannot be taken as it stands: they and `remark` say why; `value` is NaN
    where it is not given. `error` is its standard error."""

    quantity: str
    species: str
    wavenumber: float | None
    temperature: float | None
    value: float
    error: float
    flags: tuple
    remark: str

    def __str__(self) -> str:
        words = "; ".join([*self.flags, *([self.remark] if self.remark else [])])
        return f"{self.quantity} = {self.value:.6g} ± {self.error:.2g}" + (f" [{words}]" if words else "")


def analyze(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, same_temperature: float | None = None
) -> dict:
    """Averages over independent runs and fits: what `supercool analyze --json` writes, as a dictionary.

    paths: results files, or directories of runs; one or several. same_temperature: as of the command.
    """
    return _both(paths, same_temperature)[0]


def _both(paths, same_temperature):
    """The analysis, and the averages of each of its state points."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return tuple(map(json.loads, _native.analyze([os.fspath(path) for path in paths], same_temperature)))


def fits(rows: list[dict]) -> list[Fit]:
    """The fits of rows of an analysis."""

    def number(value):
        return float("nan") if value is None else value

    return [
        Fit(
            row["quantity"],
            row["species"],
            row["wavenumber"],
            row["temperature"],
            number(row["value"]),
            number(row["error"]),
            tuple(row["flags"]),
            row["remark"],
        )
        for row in rows
    ]


def of_state_points(analysis: dict) -> list[Fit]:
    """All fits of single state points."""
    return [fit for point in analysis["state_points"] for fit in fits(point["estimates"])]


def choose(found, quantity, species, wavenumber, temperature):
    """The one of this quantity, species, nearest wave number and temperature."""
    found = [fit for fit in found if fit.quantity == quantity and species in (None, fit.species)]
    for name, wanted in (("wavenumber", wavenumber), ("temperature", temperature)):
        there = [getattr(fit, name) for fit in found if getattr(fit, name) is not None]
        if wanted is not None and there:
            nearest = min(there, key=lambda value: abs(value - wanted))
            found = [fit for fit in found if getattr(fit, name) == nearest]
    if len(found) == 1:
        return found[0]
    if not found:
        raise LookupError(f"there is no {quantity}" + (f" of {species}" if species else ""))
    of = "; ".join(f"species {fit.species}, q = {fit.wavenumber}, T = {fit.temperature}" for fit in found)
    raise LookupError(f"there are several of {quantity}: say which by species, wavenumber, temperature ({of})")
