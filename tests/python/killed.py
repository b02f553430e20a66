"""Checks what killed and resumed runs left behind: killed.py REFERENCE DIRECTORY...

Each directory holds `killed/`, a copy of the files as the killed process left them, and the files
as the resumed run finished them, to be equal to those in REFERENCE.
"""

import os
import sys

import gsd.hoomd
import h5py
import numpy as np


def open_killed(path):
    """Plainly, or in SWMR mode if the process died within a write."""
    try:
        return h5py.File(path, "r"), 0
    except OSError:
        return h5py.File(path, "r", swmr=True), 1


def check_killed(directory):
    f, within_write = open_killed(f"{directory}/run.h5")
    with f:
        steps = f["observables/temperature/step"][:]
        np.testing.assert_array_equal(steps, np.arange(len(steps)))
        temperature = f["observables/temperature/value"][: len(steps)]
        np.testing.assert_array_equal(temperature, 1 + steps / 1024)
        velocity = f["observables/center_of_mass_velocity/value"][: len(steps)]
        np.testing.assert_array_equal(velocity[:, 0], steps)
        assert len(f["parameters/toml"].asstr()[()]) > 0
    f, trajectory_within_write = open_killed(f"{directory}/run.h5md")
    with f:
        group = f["particles/trajectory"]
        steps = group["position/step"][:]
        np.testing.assert_array_equal(steps, np.arange(len(steps)))
        velocity = group["velocity/value"][: len(steps)]
        np.testing.assert_array_equal(velocity[:, 0, 0], steps)
        assert group["position/value"][: len(steps)].shape[0] == len(steps)
    with gsd.hoomd.open(f"{directory}/run.gsd") as trajectory:
        for i, frame in enumerate(trajectory):
            assert frame.configuration.step == i
            assert frame.particles.velocity[0, 0] == i
    return within_write + trajectory_within_write


def equal_attributes(a, b):
    assert sorted(a.attrs) == sorted(b.attrs)
    for name in a.attrs:
        np.testing.assert_array_equal(a.attrs[name], b.attrs[name])


def equal_hdf5(path, reference):
    with h5py.File(path, "r") as a, h5py.File(reference, "r") as b:
        names = []
        b.visit(names.append)
        others = []
        a.visit(others.append)
        assert names == others
        for name in names:
            equal_attributes(a[name], b[name])
            if isinstance(b[name], h5py.Dataset) and name != "progress/seconds":
                assert a[name].dtype == b[name].dtype
                np.testing.assert_array_equal(a[name][()], b[name][()], err_msg=name)


def equal_gsd(path, reference):
    with gsd.hoomd.open(path) as a, gsd.hoomd.open(reference) as b:
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert x.configuration.step == y.configuration.step
            for name in ["position", "velocity", "image", "typeid", "mass", "diameter"]:
                np.testing.assert_array_equal(
                    getattr(x.particles, name), getattr(y.particles, name), err_msg=name
                )


reference, directories = sys.argv[1], sys.argv[2:]
within = 0
for directory in directories:
    within += check_killed(os.path.join(directory, "killed"))
    for name in ["run.h5", "run.h5md"]:
        equal_hdf5(os.path.join(directory, name), os.path.join(reference, name))
    equal_gsd(os.path.join(directory, "run.gsd"), os.path.join(reference, "run.gsd"))
print(f"{within} of {2 * len(directories)} HDF5 files were killed within a write")
print("ok")
