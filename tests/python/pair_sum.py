"""Energy, virial and forces of a configuration by a plain sum over all pairs, in extended precision.

Written from the formulas alone (numpy only, nothing shared with the engine): every pair once, minimum
image, 80-bit `longdouble` throughout, rounded to 64 bits at the end. A potential is a dictionary of
the same form as `potential` in the result files: form, truncation, pairs[a][b].
"""

import json

import numpy as np

REAL = np.longdouble
if np.finfo(REAL).nmant < 63:
    raise SystemExit("longdouble has no more digits than double here: use an x86 machine")


def pair(epsilon, sigma, cutoff, kappa=0.0):
    return {"epsilon": epsilon, "sigma": sigma, "cutoff": cutoff, "kappa": kappa}


def potential(form, truncation, pairs):
    return {"form": form, "truncation": truncation, "pairs": pairs}


def decay(x, end, rate):
    """exp(rate / (x - end)), zero beyond the end, and its derivative."""
    gap = np.minimum(x - end, REAL(-1) / 2**20)
    value = np.exp(rate / gap)
    return value, -value * rate / gap**2


def bare(form, parameters, r):
    """U(r) and U'(r), not truncated."""
    kind = form["kind"]
    if kind == "buckingham":
        a, rho, c = (REAL(parameters[key]) for key in ("A", "rho", "C"))
        repulsion, attraction = a * np.exp(-r / rho), c / r**6
        return repulsion - attraction, 6 * attraction / r - repulsion / rho
    epsilon, sigma, kappa = (REAL(parameters[key]) for key in ("epsilon", "sigma", "kappa"))
    x = sigma / r
    if kind == "lennard-jones":
        return 4 * epsilon * (x**12 - x**6), 4 * epsilon * (6 * x**6 - 12 * x**12) / r
    if kind == "mie":
        m, n = REAL(form["m"]), REAL(form["n"])
        c = m / (m - n) * (m / n) ** (n / (m - n))
        m_power, n_power = x ** form["m"], x ** form["n"]
        return c * epsilon * (m_power - n_power), c * epsilon * (n * n_power - m * m_power) / r
    if kind == "inverse-power":
        u = epsilon * x ** form["n"]
        return u, -form["n"] * u / r
    if kind == "harmonic-spheres":
        overlap = np.maximum(1 - r / sigma, REAL(0))
        return epsilon / 2 * overlap**2, -epsilon * overlap / sigma
    if kind == "yukawa":
        u = epsilon * x * np.exp(-kappa * (r - sigma))
        return u, -u * (kappa + 1 / r)
    if kind == "dzugutov":
        x, inverse = r / sigma, sigma / r
        (e_1, de_1), (e_2, de_2) = decay(x, REAL("1.87"), REAL("1.1")), decay(x, REAL("1.94"), REAL("0.27"))
        a, b = epsilon * REAL("5.82"), REAL("1.28")
        core = inverse**16 - b
        du = a * (core * de_1 - 16 * inverse**17 * e_1) + epsilon * b * de_2
        return a * core * e_1 + epsilon * b * e_2, du / sigma
    if kind == "gaussian-core":
        u = epsilon * np.exp(-((r / sigma) ** 2))
        return u, -2 * r / sigma**2 * u
    raise ValueError(kind)


def second_derivative(form, parameters, r):
    """U''(r)."""
    kind = form["kind"]
    if kind == "buckingham":
        a, rho, c = (REAL(parameters[key]) for key in ("A", "rho", "C"))
        return a * np.exp(-r / rho) / rho**2 - 42 * c / r**8
    epsilon, sigma, kappa = (REAL(parameters[key]) for key in ("epsilon", "sigma", "kappa"))
    x = sigma / r
    if kind == "lennard-jones":
        return 4 * epsilon * (156 * x**12 - 42 * x**6) / r**2
    if kind == "mie":
        m, n = REAL(form["m"]), REAL(form["n"])
        c = m / (m - n) * (m / n) ** (n / (m - n))
        return c * epsilon * (m * (m + 1) * x ** form["m"] - n * (n + 1) * x ** form["n"]) / r**2
    if kind == "inverse-power":
        n = form["n"]
        return n * (n + 1) * epsilon * x**n / r**2
    if kind == "dzugutov":
        assert r > REAL("1.9399999") * sigma, "only at its end, where all derivatives are zero"
        return REAL(0)
    if kind == "harmonic-spheres":
        return epsilon / sigma**2 if r <= sigma else REAL(0)
    if kind == "yukawa":
        u = epsilon * x * np.exp(-kappa * (r - sigma))
        return u * ((kappa + 1 / r) ** 2 + 1 / r**2)
    if kind == "gaussian-core":
        u = epsilon * np.exp(-((r / sigma) ** 2))
        return u * (4 * r**2 / sigma**4 - 2 / sigma**2)
    raise ValueError(kind)


def truncated(form, truncation, parameters, r):
    """U(r) and U'(r) inside the cutoff."""
    cutoff, unit = REAL(parameters["cutoff"]), REAL(parameters.get("sigma", 1))
    u, du = bare(form, parameters, r)
    u_cut, du_cut = bare(form, parameters, cutoff)
    kind = truncation["kind"]
    if kind == "sharp":
        return u, du
    if kind == "shifted":
        return u - u_cut, du
    if kind == "force-shifted":
        return u - u_cut - (r - cutoff) * du_cut, du - du_cut
    if kind == "even-quartic":
        # Less the Taylor polynomial of second order in s = r^2: dU/ds = U'/2r, d^2U/ds^2 = (U'' - U'/r)/4r^2.
        y = r**2 - cutoff**2
        first = du_cut / (2 * cutoff)
        second = (second_derivative(form, parameters, cutoff) - du_cut / cutoff) / (4 * cutoff**2)
        return u - u_cut - y * (first + y * second / 2), du - 2 * r * (first + y * second)
    if kind == "smooth":
        scale = REAL(truncation["width"]) * unit
        x = (r - cutoff) / scale
        g = x**4 / (1 + x**4)
        dg = 4 * x**3 / (1 + x**4) ** 2 / scale
        return (u - u_cut) * g, du * g + (u - u_cut) * dg
    raise ValueError(kind)


def evaluate(configuration, definition):
    """Dictionary of energy (total), virial tensor sum_pairs r_i f_j, forces and the number of pairs."""
    names = sorted(set(configuration.species))
    kinds = np.array([names.index(name) for name in configuration.species])
    position = configuration.position.astype(REAL)
    edges = configuration.edges.astype(REAL)
    first, second = np.triu_indices(len(kinds), k=1)
    delta = position[first] - position[second]
    delta -= edges * np.rint(delta / edges)
    squared = (delta * delta).sum(axis=1)

    energy = REAL(0)
    virial = np.zeros((3, 3), dtype=REAL)
    forces = np.zeros_like(position)
    count = 0
    for a in range(len(names)):
        for b in range(a, len(names)):
            parameters = definition["pairs"][a][b]
            of_kind = ((kinds[first] == a) & (kinds[second] == b)) | (
                (kinds[first] == b) & (kinds[second] == a)
            )
            chosen = np.flatnonzero(of_kind & (squared < REAL(parameters["cutoff"]) ** 2))
            r = np.sqrt(squared[chosen])
            u, du = truncated(definition["form"], definition["truncation"], parameters, r)
            on_first = (-du / r)[:, None] * delta[chosen]
            energy += u.sum()
            virial += delta[chosen].T @ on_first
            np.add.at(forces, first[chosen], on_first)
            np.subtract.at(forces, second[chosen], on_first)
            count += len(chosen)
    return {
        "pairs_in_cutoff": count,
        "energy": float(energy),
        "virial": [float(virial[i, j]) for i, j in VIRIAL_ORDER],
        "forces": forces.astype(float),
    }


def write_cases(path, document):
    """JSON with one case a line."""
    head = {key: value for key, value in document.items() if key != "cases"}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in document["cases"])
    with open(path, "w") as file:
        file.write(json.dumps(head, separators=(",", ":"))[:-1])
        file.write(',"cases":[\n' + lines + "\n]}\n")


VIRIAL_ORDER = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
VIRIAL_MEANING = "sum over pairs of r_i f_j: xx, yy, zz, xy, xz, yz"
