"""Molecular dynamics of supercooled liquids and glasses, exact to the last bit.

run, resume, check: what the commands of these names do.
presets: configurations of well-known models to start from, texts by name.
Simulation: one system in this process, without files.
open: results of a run. analyze: averages over runs and fits.
"""

from ._fits import Fit, analyze
from ._functions import Function, Propensity, TimeSeries
from ._native import ConfigError, Error, __version__, presets
from ._results import Results, Stage, System, open
from ._run import Run, check, resume, run
from ._simulation import Simulation
from ._trajectory import Frame, Trajectory

__all__ = [
    "ConfigError",
    "Error",
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
    "open",
    "presets",
    "resume",
    "run",
]
