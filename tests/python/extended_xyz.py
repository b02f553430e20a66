"""Reading and writing the extended XYZ files of tests/data (cubic or orthorhombic box)."""

import re
from dataclasses import dataclass

import numpy as np


@dataclass
class Configuration:
    """Particles in id order. In two dimensions the third component of everything is zero."""

    dimension: int
    edges: np.ndarray  # (3,), the third is 1 in two dimensions
    species: list  # names
    position: np.ndarray  # (N, 3)
    velocity: np.ndarray | None = None  # (N, 3)
    diameter: np.ndarray | None = None  # (N,)

    @property
    def volume(self):
        return float(np.prod(self.edges[: self.dimension]))


def read(path):
    with open(path) as file:
        count = int(file.readline())
        comment = file.readline()
        rows = [file.readline().split() for _ in range(count)]
    lattice = np.array(re.search(r'Lattice="([^"]*)"', comment).group(1).split(), dtype=float)
    lattice = lattice.reshape(3, 3)
    if np.any(lattice != np.diag(np.diag(lattice))):
        raise ValueError(f"{path}: the box is not orthorhombic")
    numbers = np.array([[float(word) for word in row[1:]] for row in rows])
    diameter = None
    if ":diameter:R:1" in comment:
        numbers, diameter = numbers[:, :-1], numbers[:, -1]
    return Configuration(
        dimension=2 if 'pbc="T T F"' in comment else 3,
        edges=np.diag(lattice).copy(),
        species=[row[0] for row in rows],
        position=numbers[:, 0:3],
        velocity=numbers[:, 3:6] if numbers.shape[1] >= 6 else None,
        diameter=diameter,
    )


def write(path, configuration, digits=None, comment=""):
    """`digits` decimals, or as many as it takes to give back the same number (None)."""

    def text(number):
        return repr(float(number)) if digits is None else f"{number:.{digits}f}"

    lx, ly, lz = (repr(float(edge)) for edge in configuration.edges)
    pbc = "T T F" if configuration.dimension == 2 else "T T T"
    columns = "species:S:1:pos:R:3"
    arrays = [configuration.position]
    if configuration.velocity is not None:
        columns += ":velo:R:3"
        arrays.append(configuration.velocity)
    if configuration.diameter is not None:
        columns += ":diameter:R:1"
        arrays.append(configuration.diameter[:, None])
    with open(path, "w") as file:
        file.write(f"{len(configuration.species)}\n")
        file.write(f'Lattice="{lx} 0 0 0 {ly} 0 0 0 {lz}" Properties={columns} pbc="{pbc}"')
        file.write(f" {comment}\n" if comment else "\n")
        for name, numbers in zip(configuration.species, np.hstack(arrays)):
            file.write(name + " " + " ".join(text(number) for number in numbers) + "\n")
