"""Relaxation times of the case swap/relaxation of the suites, beside those of the paper, as a table and a figure."""
import pathlib
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import supercool

# J. Stat. Mech. (2019) 064004, read off a plot (10 %): trials per particle and time, tau_alpha.
PAPER = [
    (0.0060, 2727), (0.0105, 2082), (0.0226, 1415), (0.0470, 926), (0.0753, 654), (0.132, 445), (0.237, 291), (0.682, 134),
    (1.38, 72.5), (3.15, 47.4), (6.56, 31.0), (12.5, 21.1), (29.4, 14.9), (54.5, 10.9), (117, 11.4), (291, 9.4),
]


def main(directory, figure):
    files = sorted(pathlib.Path(directory).glob("rate-*.h5"), key=lambda path: float(path.stem.split("-")[1]))
    expected = dict(PAPER)
    rates, times, errors = [], [], []
    print(f"{'rate':>8} {'tau':>9} {'error':>8} {'paper':>8} {'ratio':>6}")
    for path in files:
        rate = float(path.stem.split("-")[1])
        tau = supercool.open(path).relaxation_time()
        rates.append(rate), times.append(tau.value), errors.append(tau.error)
        print(f"{rate:8g} {tau.value:9.2f} {tau.error:8.2f} {expected[rate]:8g} {tau.value / expected[rate]:6.3f}")
    plt.errorbar(rates, times, errors, fmt="o", label="supercool")
    plt.plot(*zip(*PAPER), "k--", label="Berthier et al. 2019")
    plt.xscale("log"), plt.yscale("log")
    plt.xlabel("trials per particle and time"), plt.ylabel("tau"), plt.legend()
    plt.savefig(figure)


main(*sys.argv[1:3])
