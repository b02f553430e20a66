"""The potentials for which tests/data holds expected values, in the form of the plan's JSON."""

import math

from pair_sum import pair, potential

SHARP, SHIFTED, FORCE_SHIFTED, EVEN_QUARTIC = (
    {"kind": kind} for kind in ("sharp", "shifted", "force-shifted", "even-quartic")
)


def smooth(width):
    return {"kind": "smooth", "width": width}


LENNARD_JONES = {"kind": "lennard-jones"}
EPSILON = [[1.0, 1.5], [1.5, 0.5]]
SIGMA = [[1.0, 0.8], [0.8, 0.88]]


def kob_andersen_pairs(cutoff=2.5, kappa=0.0):
    """Kob & Andersen, PRL 73, 1376 (1994); cutoff in units of the pair's sigma."""
    return [
        [pair(EPSILON[a][b], SIGMA[a][b], cutoff * SIGMA[a][b], kappa) for b in range(2)]
        for a in range(2)
    ]


def mixture(form, truncation, cutoff=2.5, kappa=0.0):
    """Any form with the Kob-Andersen energies and diameters."""
    return potential(form, truncation, kob_andersen_pairs(cutoff, kappa))


def exp_6_mixture(truncation, alpha=13.0, cutoff=2.5):
    """Buckingham potentials of the Kob-Andersen depths, with minima at 2^(1/6) of its diameters."""
    def exp_6(epsilon, sigma):
        minimum = 2 ** (1 / 6) * sigma
        return {
            "cutoff": cutoff * sigma,
            "A": 6 / (alpha - 6) * math.exp(alpha) * epsilon,
            "rho": minimum / alpha,
            "C": alpha / (alpha - 6) * minimum**6 * epsilon,
        }

    pairs = [[exp_6(EPSILON[a][b], SIGMA[a][b]) for b in range(2)] for a in range(2)]
    return potential({"kind": "buckingham"}, truncation, pairs)


def one_component(form, truncation, cutoff):
    return potential(form, truncation, [[pair(1.0, 1.0, cutoff)]])


# Bernu, Hiwatari, Hansen & Pastore, PRA 36, 4891 (1987), with one cutoff for all pairs, as in berni 0.2.1.
SOFT_SPHERES = potential(
    {"kind": "inverse-power", "n": 12},
    SHIFTED,
    [[pair(1.0, sigma, 2.5) for sigma in row] for row in [[1.0, 1.2], [1.2, 1.4]]],
)
