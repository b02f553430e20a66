"""Molecular dynamics of supercooled liquids and glasses, exact to the last bit.

run, resume, check: what the commands of these names do.
presets: configurations of well-known models to start from, texts by name.
Simulation: one system in this process, without files.
open: results of a run. plot: figures of them. average: averages over runs with errors, figures and fits. analyze: the same as a dictionary.
frame: particles of ASE, MDAnalysis, freud, OVITO, GSD, HOOMD-blue and atooms; `to_ase` and others give them back.
correlate: time correlations and structure of any trajectory, as of a run. convert: trajectories in other formats.
evaluate: energies, forces, stress and Hessian of particles at given places. elastic_moduli, normal_modes: of minima of the potential energy.
density_of_states: of velocities. dynamic_length, canonical_susceptibility: of S_4(q,t) and chi_4. bond_orientational_order,
first_passage_times: of each particle. local_deformation: non-affine displacements D2_min and local strain between two frames.
"""

from ._affine import Deformation, local_deformation
from ._average import Average, Averages, StatePoint, average
from ._bridges import frame
from ._convert import Converted, convert
from ._correlate import correlate
from ._elasticity import ElasticModuli, elastic_moduli
from ._evaluate import Evaluation, evaluate
from ._figures import plot
from ._fits import Fit, analyze
from ._frame import Frame
from ._functions import Function, Propensity, TimeSeries
from ._heterogeneity import CanonicalSusceptibility, DynamicLength, canonical_susceptibility, dynamic_length
from ._native import ConfigError, Error, __version__, presets
from ._particles import bond_orientational_order, first_passage_times
from ._results import DiameterClass, Results, Stage, System, open
from ._run import Run, check, resume, run
from ._simulation import Minimum, Simulation, Swaps
from ._trajectory import Trajectory
from ._vibrations import DensityOfStates, NormalModes, density_of_states, normal_modes

__all__ = [
    "Average",
    "Averages",
    "CanonicalSusceptibility",
    "ConfigError",
    "Converted",
    "Deformation",
    "DensityOfStates",
    "DiameterClass",
    "DynamicLength",
    "ElasticModuli",
    "Error",
    "Evaluation",
    "Fit",
    "Frame",
    "Function",
    "Propensity",
    "Results",
    "Run",
    "Minimum",
    "NormalModes",
    "Simulation",
    "Stage",
    "StatePoint",
    "Swaps",
    "System",
    "TimeSeries",
    "Trajectory",
    "__version__",
    "analyze",
    "average",
    "bond_orientational_order",
    "canonical_susceptibility",
    "check",
    "convert",
    "correlate",
    "density_of_states",
    "dynamic_length",
    "elastic_moduli",
    "evaluate",
    "first_passage_times",
    "frame",
    "local_deformation",
    "normal_modes",
    "open",
    "plot",
    "presets",
    "resume",
    "run",
]
