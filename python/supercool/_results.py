"""Results of runs."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _file, _fits
from ._fits import Fit
from ._functions import Function, Group, Propensity, TimeSeries
from ._strain import Strain
from ._trajectory import Trajectory

if TYPE_CHECKING:
    import h5py


def open(path: str | os.PathLike[str], *, system: int | None = None) -> Any:
    """What a run has written: of its directory a `Results`, of STAGE.h5 a `Stage`, of STAGE.h5md a `Trajectory` (of many systems,
    of that of number `system`). Files are read when something of them is wanted; the run may still go on."""
    path = pathlib.Path(path).expanduser()
    if path.is_dir():
        return Results(path)
    if path.suffix == ".h5md":
        return Trajectory(path, system)
    return Stage(path)


class Results:
    """The directory of a run. stages: those that have files, by name, in their order."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        files = sorted(path.glob("*.h5")) + sorted(path.glob("*.h5md"))
        if not files:
            raise FileNotFoundError(f"{path}: has no results (*.h5, *.h5md); name the directory of a run")
        #: What was run, with every default, as `/parameters/plan` of its files has it; and the configuration as it was typed.
        self.plan, self.toml = _plan(files[0])
        names = [stage["name"] for stage in self.plan["stages"]]
        there = [name for name in names if any((path / f"{name}.{end}").exists() for end in ("h5", "h5md"))]
        self.stages = {name: Stage(path / f"{name}.h5") for name in there}

    def __repr__(self):
        return f"<Results of {', '.join(self.stages)}: {self.path}>"


@dataclasses.dataclass(frozen=True)
class DiameterClass:
    """Particles of a class of diameters. label: for legends, as `class 1 (0.73-0.82)`. particles: their number in a system.
    least, greatest, mean: their diameters."""

    label: str
    particles: int
    least: float
    greatest: float
    mean: float

    @classmethod
    def _of(cls, attributes):
        diameters = (float(attributes[f"{which}_diameter"]) for which in ("least", "greatest", "mean"))
        return cls(_file.text(attributes["label"]), int(attributes["particles"]), *diameters)


class Stage:
    """What a stage has written.

    observables: time series, such as `stage.observables["temperature"]`.
    dynamics: time correlations, such as `stage.dynamics["A/mean_square_displacement"]`.
    aging: those from given time origins, such as `stage.aging["A/mean_square_displacement"]`, by `waiting_time` and `time`.
    structure: such as `stage.structure["AA/pair_distribution"]`.
    propensity: of isoconfigurational ensembles, such as `stage.propensity["displacement"]`.
    strain: of a stage of strain, such as `stage.strain["stress"]`, and plastic events in `stage.strain.events`.
    systems: of many systems, each of them, with the same of its own; these are averages over them. Else empty.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.name = path.stem
        self.observables = Group(path, "observables", TimeSeries)
        self.dynamics = Group(path, "dynamics", Function)
        self.aging = Group(path, "aging", Function)
        self.structure = Group(path, "structure", Function)
        self.propensity = Group(path, "propensity", Propensity)
        self.strain = Strain(path)

    @property
    def classes(self) -> dict[str, DiameterClass]:
        """Classes of diameter that `dynamics`, `aging` and `structure` are averaged over, by their names in them; none where the averages are over
        species."""

        def take(file):
            roots = [file.get(root, {}) for root in ("structure", "aging", "dynamics")]
            return {name: dict(group.attrs) for root in roots for name, group in root.items()}

        groups = _file.read(self.path, take)
        classes = {name: of for name, of in groups.items() if "mean_diameter" in of}
        return {name: DiameterClass._of(of) for name, of in classes.items()}

    @property
    def plan(self) -> dict:
        """What was run, with every default."""
        return _plan(self._file())[0]

    @property
    def toml(self) -> str:
        """The configuration as it was typed."""
        return _plan(self._file())[1]

    def _file(self):
        return self.path if self.path.exists() else self.path.with_suffix(".h5md")

    @property
    def complete(self) -> bool:
        """Whether the stage has ended."""
        return _file.read(self.path, lambda file: bool(file["progress/complete"][()]))

    @property
    def trajectory(self) -> Trajectory:
        """Its frames; of many systems see `systems`."""
        return Trajectory(self.path.with_suffix(".h5md"))

    @property
    def systems(self) -> list[System]:
        def take(file):
            if "systems" not in file:
                return [], []
            seeds = file["systems/seed"][()]
            return seeds, file["systems/temperature"][()] if "systems/temperature" in file else [None] * len(seeds)

        seeds, temperatures = _file.read(self.path, take)
        return [System(self.path, n, int(seed), of) for n, (seed, of) in enumerate(zip(seeds, temperatures))]

    @contextlib.contextmanager
    def file(self) -> Iterator[h5py.File]:
        """Its results file for h5py, open for reading: `with stage.file() as file: ...`."""
        with _file.reading(self.path) as file:
            yield file

    def fits(self) -> list[Fit]:
        """Diffusion, relaxation and more with errors and flags, as of `supercool analyze`: a list of `Fit`."""
        return _fits.of_state_points(_fits.analyze(self.path))

    def relaxation_time(
        self, species: str | None = None, *, wavenumber: float | None = None, temperature: float | None = None
    ) -> Fit:
        """Where F_s has fallen to 1/e: a `Fit`."""
        return _fits.choose(self.fits(), "tau", species, wavenumber, temperature)

    def diffusion(self, species: str | None = None, *, temperature: float | None = None) -> Fit:
        """The diffusion coefficient of the mean-square displacement: a `Fit`."""
        return _fits.choose(self.fits(), "D", species, None, temperature)

    def kww(
        self, species: str | None = None, *, wavenumber: float | None = None, temperature: float | None = None
    ) -> tuple[Fit, ...]:
        """Amplitude, time and exponent of a stretched exponential through F_s: three of `Fit`."""
        found = self.fits()
        names = ("A_kww", "tau_kww", "beta_kww")
        return tuple(_fits.choose(found, name, species, wavenumber, temperature) for name in names)

    def __repr__(self):
        return f"<Stage {self.name}: {self.path}>"


class System:
    """One of many systems of a stage: `number`, `seed`, `temperature` of the ensemble (None where they do not differ in it)."""

    def __init__(self, path, number, seed, temperature):
        self.number, self.seed = number, seed
        self.temperature = None if temperature is None else float(temperature)
        self._path = path
        self.observables = Group(path, "systems/observables", TimeSeries, number)
        self.dynamics = Group(path, "systems/dynamics", Function, number)
        self.aging = Group(path, "systems/aging", Function, number)
        self.structure = Group(path, "systems/structure", Function, number)
        self.strain = Strain(path, number)

    @property
    def trajectory(self) -> Trajectory:
        return Trajectory(self._path.with_suffix(".h5md"), self.number)

    def __repr__(self):
        return f"<System {self.number} of {self._path}>"


def _plan(path):
    plan, toml = _file.read(path, lambda file: [_file.text(file[f"parameters/{name}"][()]) for name in ("plan", "toml")])
    return json.loads(plan), toml
