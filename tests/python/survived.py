"""Checks what killed runs have left: survived.py REFERENCE DIRECTORY...

Every file of every directory opens, and what it holds up to its last flush is what the uninterrupted
run in REFERENCE has.
"""

import os
import sys

import gsd.hoomd
import h5py
import numpy as np

FIRST = {"melt": 0, "thermostat": 600, "production": 1100}


def open_killed(path):
    """Plainly, or in SWMR mode if the process died within a write."""
    try:
        return h5py.File(path, "r"), 0
    except OSError:
        return h5py.File(path, "r", swmr=True), 1


def same_start(found, expected, length, name):
    assert found.shape[0] >= length, (name, found.shape, length)
    np.testing.assert_array_equal(found[:length], expected[:length], err_msg=name)


def check_results(path, reference, first):
    f, within = open_killed(path)
    with f, h5py.File(reference, "r") as whole:
        assert len(f["parameters/toml"].asstr()[()]) > 0
        # The step of the last flush is written after everything else.
        flushed = int(f["progress/step"][()])
        rows = len(f["observables/temperature/step"])
        if flushed > first:
            assert rows >= flushed - first + 1, (path, flushed, rows)
        for name, group in f["observables"].items():
            if not isinstance(group, h5py.Group):
                continue
            length = len(group["step"])
            for dataset in ["step", "time", "value"]:
                inside = f"observables/{name}/{dataset}"
                same_start(f[inside], whole[inside], length, f"{path} {inside}")
        correlations = f["dynamics/A/mean_square_displacement"]
        assert correlations["value"].shape == correlations["time"].shape
    return within


def check_trajectory(path, reference):
    f, within = open_killed(path)
    with f, h5py.File(reference, "r") as whole:
        group, expected = f["particles/trajectory"], whole["particles/trajectory"]
        length = len(group["position/step"])
        for name in ["position/step", "position/time", "position/value", "velocity/value", "image/value"]:
            same_start(group[name], expected[name], length, f"{path} {name}")
    return within


def check_gsd(path, reference):
    with gsd.hoomd.open(path) as a, gsd.hoomd.open(reference) as b:
        for x, y in zip(a, b):
            assert x.configuration.step == y.configuration.step
            np.testing.assert_array_equal(x.particles.position, y.particles.position)


reference, directories = sys.argv[1], sys.argv[2:]
files = within = 0
for directory in directories:
    for name in os.listdir(directory):
        path, whole = os.path.join(directory, name), os.path.join(reference, name)
        if name.endswith(".gsd"):
            check_gsd(path, whole)
            continue
        files += 1
        if name.endswith(".h5md"):
            within += check_trajectory(path, whole)
        else:
            within += check_results(path, whole, FIRST[name.removesuffix(".h5")])
print(f"{within} of {files} HDF5 files of {len(directories)} kills were killed within a write")
print("ok")
