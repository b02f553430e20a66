"""One system without files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _configuration, _initial, _native, _nvrtc
from ._bridges import Bridges
from ._frame import Frame

if TYPE_CHECKING:
    from typing import Any

    import numpy

    from ._configuration import Configuration


@dataclasses.dataclass(frozen=True)
class Minimum:
    """A minimum of the potential energy (inherent structure).

    positions: in the box: (N, D). images: continued from those of the state above it: integers (N, D).
    energy: per particle. pressure: of the potential energy alone, without kinetic part.
    residual_force: modulus of the largest force that is left on a particle: below the tolerance unless `converged` is false.
    """

    positions: numpy.ndarray
    images: numpy.ndarray
    energy: float
    pressure: float
    residual_force: float
    iterations: int
    converged: bool


@dataclasses.dataclass(frozen=True)
class Swaps:
    """Trials in which two particles may exchange their diameters, and how many were accepted, since the start."""

    trials: int
    accepted: int

    @property
    def acceptance(self) -> float:
        """accepted / trials; NaN before the first trial."""
        return self.accepted / self.trials if self.trials else float("nan")


class Simulation(Bridges):
    """One system that takes the steps of a configuration, in this process and without files.

    config: path, TOML text (of several lines) or dictionary. engine: "auto", "cpu" or "cuda", instead of run.engine.
    system: which one of an [ensemble], counted from 0.
    initial: particles to start from, in place of system.initial: any object that `supercool.frame` takes. Names and numbers of species,
    and the box, must be those of the configuration. Velocities are those of the object; where it has none, and for many systems, they
    are drawn at the temperature of system.initial. Images begin at zero. In fixed-point the last bits are others than of the object.
    Diameters are those of the object where system.diameters.distribution is "file"; else they are drawn as it says: see `set_diameters`.

    It begins with the initial state in the first stage. `advance` goes through the stages as `supercool run` does, with the same
    thermostats and the same bits; what they observe is not measured, and rechecks are not made. Limits of the energy, the
    temperature and the centre of mass are applied: beyond one, `advance` ends with an error, and the state can be looked at. A temperature
    changes in the course of a stage as its thermostat says; other changes take another stage, or another Simulation with `initial=` this
    one. A system of a replica exchange is refused: whether it is exchanged depends on the others. Arrays are copies, in the order of the
    particles, in reduced units.
    """

    def __init__(
        self, config: Configuration, engine: str | None = None, *, system: int | None = None, initial: Any = None
    ):
        _nvrtc.find()
        name, text = _configuration.split(config)
        with _initial.kept(initial) as file:
            self._native = _native.Simulation(name, text, engine=engine, system=system, initial=file)
        self._dimension = len(self._native.edges)

    def __repr__(self):
        return (
            f"<supercool.Simulation: {len(self.species)} particles, step {self.step} of {self.total_steps}, "
            f"stage {self.stage!r}>"
        )

    def advance(self, steps: int) -> None:
        """Takes some steps. Where Ctrl-C or a limit ends it, the steps taken so far stay; where another error does, there is no state
        any more."""
        self._native.advance(steps)

    @property
    def step(self) -> int:
        """Steps since the start."""
        return self._native.step

    @property
    def total_steps(self) -> int:
        """Steps of all stages."""
        return self._native.total_steps

    @property
    def time(self) -> float:
        """Time since the start."""
        return self._native.time

    @property
    def timestep(self) -> float:
        """Of the present stage."""
        return self._native.timestep

    @property
    def stage(self) -> str:
        """Name of the stage. At its last step it is still that one: the next begins with the next step."""
        return self._native.stage

    @property
    def box(self) -> numpy.ndarray:
        """Edges of the periodic box, from the origin: (D,)."""
        import numpy

        return numpy.array(self._native.edges)

    @property
    def tilt(self) -> float:
        """Of the box, as of a `Frame`."""
        return self._native.tilt

    @property
    def positions(self) -> numpy.ndarray:
        """In the box, as those of a `Frame`: (N, D)."""
        return self._rows(self._native.positions())

    @positions.setter
    def positions(self, positions: numpy.ndarray) -> None:
        self.set_positions(positions)

    @property
    def images(self) -> numpy.ndarray:
        """How often each particle has left the box upwards, less downwards: integers (N, D)."""
        return self._rows(self._native.images(), "int32")

    @property
    def unwrapped(self) -> numpy.ndarray:
        """Positions as if there were no periodic boundary, positions + images @ periods: (N, D)."""
        return self._rows(self._native.unwrapped())

    @property
    def velocities(self) -> numpy.ndarray:
        """(N, D)."""
        return self._rows(self._native.velocities())

    @velocities.setter
    def velocities(self, velocities: numpy.ndarray) -> None:
        self.set_velocities(velocities)

    @property
    def species(self) -> numpy.ndarray:
        """Index of the species of each particle, into `species_names`: (N,)."""
        import numpy

        return numpy.frombuffer(self._native.species_of(), dtype=numpy.uint8)

    @property
    def species_names(self) -> list[str]:
        return [name for name, _, _ in self._native.species]

    @property
    def masses(self) -> numpy.ndarray:
        """Of each particle: (N,)."""
        import numpy

        return numpy.array([mass for _, _, mass in self._native.species])[self.species]

    @property
    def diameters(self) -> numpy.ndarray | None:
        """Of each particle: (N,); None without [system.diameters]. Swaps exchange them. In 64-bit floats that hold what the pair loop
        takes: 32-bit ones, except in double precision."""
        import numpy

        diameters = self._native.diameters()
        return None if diameters is None else numpy.frombuffer(diameters)

    @diameters.setter
    def diameters(self, diameters: numpy.ndarray) -> None:
        self.set_diameters(diameters)

    @property
    def swaps(self) -> Swaps:
        """Exchanges of diameters so far, in all stages."""
        return Swaps(*self._native.swaps())

    @property
    def frame(self) -> Frame:
        """All of it at the present step, as a `Frame`. Particles without diameters have the natural length of their species with
        itself there: sigma where the potential has one."""
        import numpy

        diameters = self.diameters
        return Frame(
            positions=self.positions,
            box=self.box,
            images=self.images,
            velocities=self.velocities,
            species=self.species,
            species_names=self.species_names,
            masses=self.masses,
            diameters=numpy.array(self._native.lengths)[self.species] if diameters is None else diameters,
            step=self.step,
            time=self.time,
            tilt=self.tilt,
        )

    def _frame(self):
        return self.frame

    def device_array(self, name: str) -> Any:
        """`positions`, `unwrapped`, `images`, `velocities` or `forces` at the present step, in memory of the GPU: an object for
        `torch.from_dlpack`, `cupy.from_dlpack` and others that know DLPack, which take it without a copy. Shapes, types and bits are
        those of the arrays of numpy. Later steps leave it alone, and it outlives the simulation. Where the engine has no GPU it is the
        array of numpy, which the same functions take.

        >>> import numpy, supercool
        >>> simulation = supercool.Simulation(supercool.presets()["kob-andersen"], engine="cpu")
        >>> numpy.from_dlpack(simulation.device_array("velocities")).dtype
        dtype('float64')
        """
        array = self._native.device_array(name)
        if array is not None:
            return array
        return self.forces() if name == "forces" else getattr(self, name)

    def forces(self) -> numpy.ndarray:
        """(N, D)."""
        return self._rows(self._native.forces())

    def thermodynamics(self) -> dict[str, float]:
        """`temperature`, `half_step_temperature`, `pressure` and, per particle, `potential_energy`, `kinetic_energy`, `virial`,
        `total_energy` and `conserved_energy`: floats."""
        return self._native.thermodynamics()

    def set_velocities(self, velocities: numpy.ndarray) -> None:
        """(N, D); rounded to the precision. Positions keep their bits, and so do velocities that are as they were."""
        import numpy

        velocities = numpy.ascontiguousarray(velocities, dtype=numpy.float64)
        shape = (len(self.species), self._dimension)
        if velocities.shape != shape:
            raise ValueError(f"velocities have the shape {velocities.shape}; it must be {shape}")
        self._native.set(velocities=velocities.tobytes())

    def set_positions(self, positions: numpy.ndarray, images: numpy.ndarray | None = None) -> None:
        """(N, D); rounded to the precision. Positions beyond the box are wrapped, and images changed accordingly, so that
        `unwrapped` has them; images are zero where none are given. Velocities, thermostat and step stay; neighbor lists are made anew."""
        import numpy

        images = images if images is not None else numpy.zeros_like(positions, dtype="int32")
        frame = Frame(positions=positions, box=self.box, tilt=self.tilt, images=images)
        shape = (len(self.species), self._dimension)
        if frame.positions.shape != shape:
            raise ValueError(f"positions have the shape {frame.positions.shape}; it must be {shape}")
        self._native.set(positions=frame.positions.tobytes(), images=frame.images.tobytes())

    def set_diameters(self, diameters: numpy.ndarray) -> None:
        """(N,); rounded to the precision. They must lie between the least and the greatest one of the distribution in
        [system.diameters]. All else stays as it is; neighbor lists are made anew."""
        import numpy

        diameters = numpy.ascontiguousarray(diameters, dtype=numpy.float64)
        if diameters.shape != (len(self.species),):
            raise ValueError(f"diameters have the shape {diameters.shape}; it must be ({len(self.species)},)")
        self._native.set(diameters=diameters.tobytes())

    def minimize(self, force_tolerance: float = 1e-6, maximum_iterations: int = 100_000) -> Minimum:
        """The minimum of the potential energy below the present state (FIRE, in 64-bit floats), which stays as it is. It depends
        on the state alone, not on precision or lists; processor and GPU may find different ones. Ctrl-C ends it."""
        if not force_tolerance > 0.0:
            raise ValueError(f"force_tolerance = {force_tolerance}: it must be a positive number")
        if maximum_iterations < 1:
            raise ValueError(f"maximum_iterations = {maximum_iterations}: it must be 1 or more")
        found = self._native.minimize(force_tolerance, maximum_iterations)
        found["positions"] = self._rows(found["positions"])
        found["images"] = self._rows(found["images"], "int32")
        return Minimum(**found, converged=found["residual_force"] < force_tolerance)

    def draw_velocities(self, temperature: float) -> None:
        """Maxwell-Boltzmann velocities without total momentum, of exactly this temperature. Their random numbers are those of
        seed and step: at one step they are the same each time."""
        self._native.draw_velocities(temperature)

    def hash(self) -> str:
        """Of step, positions, images, velocities and diameters: equal where all their bits are."""
        return self._native.hash()

    def _rows(self, numbers, dtype="float64"):
        import numpy

        return numpy.frombuffer(numbers, dtype=dtype).reshape(-1, self._dimension)
