"""Molecular dynamics of supercooled liquids and glasses, exact to the last bit.

run, resume, check: what the commands of these names do.
presets: configurations of well-known models to start from, texts by name.
Simulation: one system in this process, without files.
open: results of a run. analyze: averages over runs and fits.
frame: particles of ASE, MDAnalysis, freud, OVITO, GSD, HOOMD-blue and atooms; `to_ase` and others give them back.
correlate: time correlations and structure of any trajectory, as of a run.
evaluate: energies, forces, stress and Hessian of particles at given places.
"""

from ._bridges import frame
from ._correlate import correlate
from ._evaluate import Evaluation, evaluate
from ._fits import Fit, analyze
from ._frame import Frame
from ._functions import Function, Propensity, TimeSeries
from ._native import ConfigError, Error, __version__, presets
from ._results import Results, Stage, System, open
from ._run import Run, check, resume, run
from ._simulation import Simulation
from ._trajectory import Trajectory

__all__ = [
    "ConfigError",
    "Error",
    "Evaluation",
    "Fit",
    "Frame",
    "Function",
    "Propensity",
    "Results",
    "Run",
    "Simulation",
    "Stage",
    "System",
    "TimeSeries",
    "Trajectory",
    "__version__",
    "analyze",
    "check",
    "correlate",
    "evaluate",
    "frame",
    "open",
    "presets",
    "resume",
    "run",
]
