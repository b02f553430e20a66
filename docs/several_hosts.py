#!/usr/bin/env python3
"""A model of what a step costs on GPUs of several hosts: prints the tables of several_hosts.md.

Nothing here was run; every number is measured on one GPU or one host (BENCHMARKS.md), or an assumption and named so."""
from math import exp, log

DENSITY = 1.2
RIM = 2.5 + 0.42  # cutoff and skin
SITE = 16  # bytes of a ghost's position in fixed point, padded
LIFETIME = 10  # steps between list buildings, measured with 1,000,000 particles a GPU
GHOST = 39  # bytes of a ghost at a list building: a record, its place on the way back, and the share of migration
# Seconds that a list building and the steps to the next take longer than on a GPU alone, and more for each particle of
# the GPU: fitted to four GPUs with 64,000 and 1,000,000 particles each. It holds for direct stores; other transports
# have the host lead, for which more is assumed.
LONGER, LONGER_BY_PARTICLE = 47e-6, 390e-12
HOST = 300e-6

# Steps per second of one H200, Kob-Andersen, fixed-point (BENCHMARKS.md).
MEASURED = {1e3: 205500, 4e3: 134100, 16384: 79900, 5e4: 42700, 2.56e5: 11360, 1e6: 2983, 4e6: 736}
KERNEL = 0.66e-6  # a kernel more in a graph, measured
MEMORY = 3e12  # bytes per second that packing and unpacking move, assumed

# Latency of an exchange with all neighbors at once in seconds, bytes per second of a GPU.
DIRECT = "NVLink, direct stores (measured on one host)"
TRANSPORTS = {
    DIRECT: (2.9e-6, 373e9),
    "CUDA-aware MPI, one 400 Gb/s adapter a GPU (assumed)": (12e-6, 45e9),
    "pinned host buffers and MPI, the same adapter (assumed)": (35e-6, 20e9),
}
ALL_REDUCE = 6e-6  # seconds per doubling of the ranks, assumed


def compute(particles):
    """Seconds of a step on one GPU, between measured sizes a power law."""
    sizes = sorted(MEASURED)
    above = next((i for i in range(1, len(sizes)) if sizes[i] >= particles), len(sizes) - 1)
    a, b = sizes[above - 1], sizes[above]
    slope = log(MEASURED[a] / MEASURED[b]) / log(b / a)
    return exp(-log(MEASURED[a]) + slope * log(particles / a))


def step(particles, gpus, transport):
    """Seconds of a step, and those of them in which the GPU waits for messages; None where domains are too small."""
    latency, bandwidth = TRANSPORTS[transport]
    edge = (particles / DENSITY) ** (1 / 3)
    if edge < RIM:
        return None
    ghosts = DENSITY * ((edge + 2 * RIM) ** 3 - edge**3)
    interior = max(0.0, 1 - 2 * RIM / edge) ** 3
    work = compute(particles)
    packing = 3 * KERNEL + 4 * ghosts * SITE / MEMORY
    travel = latency + ghosts * SITE / bandwidth
    exposed = max(0.0, travel - interior * work)
    doublings = log(gpus, 2)
    longer = LONGER + LONGER_BY_PARTICLE * particles + (0 if transport == DIRECT else HOST)
    rebuild = (longer + 3 * latency + ghosts * GHOST / bandwidth + 2 * doublings * ALL_REDUCE) / LIFETIME
    return work + packing + exposed + rebuild, exposed + rebuild


def row(label, particles, gpus):
    alone = compute(particles)
    cells = []
    for transport in TRANSPORTS:
        modelled = step(particles, gpus, transport)
        if modelled is None:
            cells += ["no room"]
            continue
        total, waiting = modelled
        cells.append(f"{1 / total:,.0f} ({alone / total:.2f}, {100 * waiting / total:.0f} %)")
    return f"| {label} | {gpus} | " + " | ".join(cells) + " |"


def table(rows):
    head = "| case | GPUs | " + " | ".join(TRANSPORTS) + " |"
    return "\n".join([head, "|" + " --- |" * (2 + len(TRANSPORTS)), *rows])


if __name__ == "__main__":
    rows = [row("1,000,000 per GPU", 1e6, gpus) for gpus in (8, 64, 512)]
    for total in (4_000_000, 32_000_000, 100_000_000):
        rows += [row(f"{total:,} in all", total / gpus, gpus) for gpus in (8, 64, 512)]
    print(table(rows))
