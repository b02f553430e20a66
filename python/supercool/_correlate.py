"""Time correlations and structure of any trajectory."""

from __future__ import annotations

import atexit
import dataclasses
import json
import logging
import math
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _bridges, _configuration, _h5md, _native
from ._frame import Frame
from ._results import Stage
from ._trajectory import Trajectory

if TYPE_CHECKING:
    import numpy

_LOG = logging.getLogger("supercool")
#: Name of the stage, and of its results file.
STAGE = "correlate"
#: How far times may be from multiples of a step, in units of the shortest interval.
_UNEVEN = 5e-4
#: Steps of the shortest interval between frames, at most.
_STEPS = 1000
#: Samples of a block, if the trajectory has so many.
_BLOCK = 10


def correlate(
    trajectory: Any,
    box: Any = None,
    *,
    times: Any = None,
    timestep: float | None = None,
    species: Any = None,
    masses: Any = None,
    velocities: Any = None,
    diameters: Any = None,
    unwrapped: bool = False,
    system: int | None = None,
    structure: dict | None = None,
    bond_order: dict | None = None,
    local_order: dict | None = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    **correlation: Any,
) -> Stage:
    """Time correlations and structure of a trajectory, with the functions and errors of the command `correlate`: a `Stage`.

    trajectory: one of
    - positions as an array (frames, N, D), with `box` (D,). With `unwrapped=True` as if there were no periodic boundary; else particles
      are followed from frame to frame by minimum images. `velocities` (frames, N, D), `species` (names), `masses` and `diameters` (N,) may be given;
    - a list of objects that `supercool.frame` takes: ASE `Atoms`, frames of GSD, ...;
    - an MDAnalysis `Universe`, a trajectory of atooms, or one of supercool;
    - the path of a file: H5MD, GSD, (extended) XYZ, LAMMPS dump; of many systems that of number `system`.

    times: of all frames, for those that do not say. timestep: time of a step, for those that only say steps, or, if they do not, time
    from one frame to the next. Where frames follow the first one at equal intervals, perhaps with others between them, correlations have
    lags of these; else at the times of all frames after the first, with all pairs of frames that are so far apart. Structure takes
    frames at equal intervals only.

    correlation: keys of `[[stage.correlation]]`, such as `wavenumbers=[7.25]`, `observables=[...]`; `every` counts steps, and is the
    interval of the frames if not given; without an interval it has no meaning. Without `observables`: displacements, the velocity
    autocorrelation where there are velocities, F_s where there are wave numbers. structure, bond_order, local_order: keys of
    `[stage.observe]`, as dictionaries. `diameter_classes=3`, there or in structure, needs diameters, which do not change.
    `origins=[0.0, 10.0]`: from these times behind the first frame, each at a frame, in `stage.aging`.

    output: directory for the results file, which is kept; else it is removed at the end of the process. What had to be assumed goes to
    the logger "supercool". The potential in the file's plan is a placeholder.

    Raises ConfigError where a key is wrong, Error where the trajectory does not do, ValueError for wrong arguments.

    >>> import numpy, supercool
    >>> steady = numpy.arange(50)[:, None, None] * numpy.array([0.1, 0.0, 0.0]) + numpy.ones((50, 8, 3))
    >>> stage = supercool.correlate(steady, [4.0, 4.0, 4.0], times=numpy.arange(50) * 0.5, unwrapped=True, remove_drift=False)
    >>> moved = stage.dynamics["A/mean_square_displacement"]
    >>> print(moved.time[:4], moved.value[:4].round(12))
    [0.  0.5 1.  1.5] [0.   0.01 0.04 0.09]
    """
    arrays = {"species": species, "masses": masses, "velocities": velocities, "diameters": diameters}
    classes = "diameter_classes" in correlation or "diameter_classes" in (structure or {})
    sized = diameters is not None or local_order is not None or classes
    with tempfile.TemporaryDirectory(prefix="supercool-") as folder:
        if isinstance(trajectory, Trajectory):
            path, system = trajectory.path, trajectory.system
        elif isinstance(trajectory, (str, os.PathLike)):
            path = pathlib.Path(trajectory).expanduser()
        else:
            path = pathlib.Path(folder) / "trajectory.h5md"
            frames, clock = _frames(trajectory, box, times, timestep, unwrapped, arrays)
            _h5md.write(path, _at(frames, *clock), diameters=sized)
            times = timestep = None
            box = arrays = None
        if box is not None or times is not None or any(given is not None for given in (arrays or {}).values()):
            raise ValueError("box, times, species, masses, velocities, diameters: files have their own")
        of = json.loads(_native.trajectory(os.fspath(path), system))
        if classes and of["diameters"] is None:
            raise ValueError("diameter_classes: the trajectory has no diameters; arrays of positions take diameters=")
        observe = {"structure": structure, "bond_order": bond_order, "local_order": local_order}
        text = _text(of, _timestep(of, timestep), correlation, observe, sized)
        done = _native.correlate(
            text,
            os.fspath(path),
            os.fspath(_directory(output)),
            system=system,
            steps_per_frame=1 if of["counts_frames"] and of["times"][0] is None else None,
            force=force,
        )
    done = json.loads(done)
    for note in done["notes"]:
        _LOG.warning("correlate: %s", note)
    return Stage(pathlib.Path(done["results"]))


def _directory(output):
    if output is not None:
        return pathlib.Path(output).expanduser()
    folder = tempfile.mkdtemp(prefix="supercool-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder) / "results"


def _frames(trajectory, box, times, timestep, unwrapped, arrays):
    """Frames, and the step and the time of each."""
    import numpy

    if hasattr(trajectory, "__array__") or (isinstance(trajectory, (list, tuple)) and _is_numbers(trajectory)):
        if box is None:
            raise ValueError("box: give the edges of the periodic box")
        positions = numpy.asarray(trajectory, dtype=float)
        if positions.ndim != 3:
            raise ValueError(f"positions have the shape {positions.shape}; it must be (frames, N, D)")
        if times is None and timestep is None:
            raise ValueError("times: give the time of each frame, or timestep, the time from one to the next")
        return _of_arrays(positions, box, unwrapped, arrays), _clock(len(positions), times, timestep, None, None)
    if box is not None or unwrapped or any(given is not None for given in arrays.values()):
        raise ValueError("box, unwrapped, species, masses, velocities, diameters go with arrays of positions; objects have their own")
    package = type(trajectory).__module__.partition(".")[0]
    if package == "MDAnalysis":
        of_each = [float(now.time) for now in trajectory.trajectory]
        # Universes change while their frames are read.
        return (_bridges.frame(trajectory) for _ in trajectory.trajectory), _clock(len(of_each), times, timestep, None, of_each)
    if package == "atooms":
        steps, given = [int(step) for step in trajectory.steps], None
        if timestep is None and times is None:
            given = [step * float(trajectory.timestep) for step in steps]
        return (_bridges.frame(each) for each in trajectory), _clock(len(steps), times, timestep, steps, given)
    if isinstance(trajectory, Iterable):
        frames = [_bridges.frame(each) for each in trajectory]
        steps, of_each = [frame.step for frame in frames], [frame.time for frame in frames]
        return frames, _clock(len(frames), times, timestep, steps, of_each)
    raise TypeError(
        "a trajectory is an array of positions, a list of frames, an MDAnalysis Universe, a trajectory of atooms or of supercool, or "
        f"the path of a file, not {type(trajectory).__name__}"
    )


def _is_numbers(rows):
    while isinstance(rows, (list, tuple)) and len(rows):
        rows = rows[0]
    return isinstance(rows, (int, float)) or hasattr(rows, "__array__") and not hasattr(rows, "get_positions")


def _of_arrays(positions, box, unwrapped, arrays):
    import numpy

    count = positions.shape[1]
    species, names = numpy.zeros(count, dtype=int), ["A"]
    if arrays["species"] is not None:
        names, species = numpy.unique(numpy.asarray(arrays["species"], dtype=str), return_inverse=True)
    velocities = arrays["velocities"]
    if velocities is not None and numpy.shape(velocities) != positions.shape:
        raise ValueError(f"velocities have the shape {numpy.shape(velocities)}; it must be {positions.shape}")
    for number, rows in enumerate(positions):
        yield Frame(
            positions=rows,
            box=box,
            images=numpy.zeros(rows.shape, dtype="int32") if unwrapped else None,
            velocities=None if velocities is None else velocities[number],
            species=species,
            species_names=[str(name) for name in names],
            masses=arrays["masses"],
            diameters=arrays["diameters"],
        )


def _clock(count, times, timestep, steps, of_each):
    """Steps and times of all frames, of what is known of them."""
    import numpy

    def rises(numbers):
        return numbers is not None and len(numbers) == count and bool((numpy.diff(numbers) > 0).all())

    if count < 2:
        raise ValueError(f"{count} frames; at least two are needed")
    if timestep is not None:
        if times is not None:
            raise ValueError("times and timestep: give one of them")
        steps = steps if rises(steps) else list(range(count))
        return steps, [step * float(timestep) for step in steps]
    times = of_each if times is None else [float(time) for time in times]
    if len(times or ()) != count or not rises(times):
        raise ValueError(f"times: give a time for each of {count} frames, each later than the one before, or timestep")
    if rises(steps) and _is_even(numpy.array(steps), numpy.array(times)):
        return steps, times
    after = numpy.array(times) - times[0]
    shortest = numpy.diff(times).min()
    # The longest step of which all times are multiples.
    for parts in range(1, _STEPS + 1):
        found = numpy.round(after / shortest * parts)
        apart = numpy.abs(after - found * (shortest / parts))
        if (apart <= _UNEVEN * shortest * numpy.maximum(1.0, 1e-6 * found)).all():
            break
    return found.astype(int).tolist(), times


def _is_even(steps, times):
    """Whether all steps take the same time."""
    import numpy

    timestep = (times[-1] - times[0]) / (steps[-1] - steps[0])
    return numpy.abs(times - times[0] - timestep * (steps - steps[0])).max() <= _UNEVEN * timestep * (steps[1] - steps[0])


def _at(frames, steps, times):
    for frame, step, time in zip(frames, steps, times, strict=True):
        yield dataclasses.replace(frame, step=step, time=time)


def _timestep(of, timestep):
    """The time of a step."""
    (first, last), (start, end) = of["steps"], of["times"]
    if start is not None and end is not None:
        if timestep is not None:
            raise ValueError("timestep: the file says the times of its frames")
        return (end - start) / (last - first)
    if timestep is None:
        raise ValueError("timestep: the file does not say the times of its frames: give the time of a step")
    return float(timestep)


def _text(of, timestep, correlation, observe, sized):
    # Without an interval correlations take all frames.
    every = of["spacing"] or 1
    dimension, box = len(of["box"]), of["box"]
    if "observables" not in correlation:
        of_these = ["mean-square-displacement", "mean-quartic-displacement", "non-gaussian-parameter"]
        of_these += ["velocity-autocorrelation"] if of["velocities"] else []
        of_these += ["self-intermediate-scattering-function"] if "wavenumbers" in correlation else []
        correlation = {"observables": of_these, **correlation}
    if not {"every", "from"} & set(correlation):
        correlation = {"every": every, **correlation}
    steps = of["steps"][1] - of["steps"][0]
    if not {"from", "block_size"} & set(correlation) and steps < (_BLOCK - 1) * int(correlation["every"]):
        # A block has more samples than that by itself.
        correlation = {**correlation, "block_size": max(2, steps // int(correlation["every"]) + 1)}
    observe = {name: {"every": every, **keys} for name, keys in observe.items() if keys is not None}
    # The stage takes whole intervals; what is evaluated is as long as the trajectory, as by the command.
    intervals = [table["every"] for table in (correlation, *observe.values()) if "every" in table]
    whole = math.lcm(*(number for number in intervals if isinstance(number, int) and number > 0))
    steps = -(-steps // whole) * whole
    # Something has to stand there: it takes no step. The time step must suit it.
    system = {"dimension": dimension, "box": box, "seed": 1, "species": of["species"]}
    length = min(box) / 10
    if sized and of["diameters"] and len(of["species"]) == 1:
        least, greatest = of["diameters"]
        system["diameters"] = {"distribution": "uniform", "minimum": least, "maximum": greatest}
        if not least < greatest:
            system["diameters"] = {"distribution": "discrete", "values": [least]}
        # Of which the reach of the pair of the largest is a multiple.
        length /= greatest
    energy = min(species["mass"] for species in of["species"]) * (length / (1e3 * timestep)) ** 2
    names = [species["name"] for species in of["species"]]
    pairs = {f"{a}-{b}": {"epsilon": energy, "sigma": length} for i, a in enumerate(names) for b in names[i:]}
    return _configuration.split(
        {
            "system": {**system, "initial": {"temperature": 1e-3 * energy}},
            "potential": {"kind": "gaussian-core", "cutoff": 2.0, "truncation": "shifted", "pairs": pairs},
            "run": {"precision": "double", "timestep": timestep},
            "stage": [
                {
                    "name": STAGE,
                    "steps": steps,
                    "observe": observe,
                    "correlation": [correlation],
                }
            ],
        }
    )[1]
