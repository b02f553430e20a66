"""Writes the small fixtures of this folder with other people's writers (gsd, h5py, pyh5md).

    pip install gsd==5.0.1 h5py pyh5md numpy && python make_fixtures.py

The numbers are formulas that the tests repeat: particle i of frame k.
"""
import os
import struct

import gsd.fl
import gsd.hoomd
import h5py
import numpy as np
import pyh5md

N = 5
EDGES = np.array([4.0, 5.0, 6.0])


def position(k):
    i = np.arange(N)[:, None]
    return np.hstack([-2 + 0.75 * i + 0.125 * k, 0.5 * i - 1, -3 + 0 * i]).astype(np.float32)


def velocity(k):
    i = np.arange(N)[:, None]
    return np.hstack([i + k, -0.5 * i, 0.25 + 0 * i]).astype(np.float32)


def hoomd(path):
    """Frame 0 full; frame 1 new positions and images only; frame 2 fewer particles."""
    with gsd.hoomd.open(path, "w") as file:
        for k in range(3):
            n = N if k < 2 else 3
            frame = gsd.hoomd.Frame()
            frame.configuration.step = 1000 * k
            frame.configuration.box = [*EDGES, 0, 0, 0]
            frame.particles.N = n
            frame.particles.types = ["A", "Bee"]
            frame.particles.typeid = [0, 1, 0, 0, 1][:n]
            frame.particles.position = position(k)[:n]
            if k == 0:
                frame.particles.velocity = velocity(0)
                frame.particles.mass = [1, 2, 1, 1, 2]
            if k == 1:
                frame.particles.velocity = velocity(0)
                frame.particles.mass = [1, 2, 1, 1, 2]
                frame.particles.image = [[i, -i, 0] for i in range(N)]
            file.append(frame)


def hoomd_property(path):
    """As HOOMD-blue with dynamic=['property']: velocities and images in frame 0 only, although particles move on."""
    with gsd.hoomd.open(path, "w") as file:
        for k in range(5):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = 10 * k
            frame.configuration.box = [*EDGES, 0, 0, 0]
            frame.particles.N = N
            unwrapped = np.array([[0.75 * i + (i - 2) * 0.5 * k, 0, 8] for i in range(N)])
            image = np.floor(unwrapped / EDGES + 0.5)
            frame.particles.position = unwrapped - image * EDGES
            if k == 0:
                frame.particles.velocity = velocity(0)
                frame.particles.image = image
            file.append(frame)


def hoomd_2d(path):
    with gsd.hoomd.open(path, "w") as file:
        frame = gsd.hoomd.Frame()
        frame.configuration.step = 7
        frame.configuration.box = [4, 5, 0, 0, 0, 0]
        frame.particles.N = 2
        frame.particles.position = [[-1.5, 2.25, 0], [0.5, -2.5, 0]]
        file.append(frame)


def diameters(path):
    """Frame 0 with diameters, 1 as frame 0, 2 with others, 3 of fewer particles."""
    with gsd.hoomd.open(path, "w") as file:
        for k, of in enumerate([[0.8125, 1.0, 1.25], None, [1.25, 1.0, 0.8125], None]):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = k
            frame.configuration.box = [*EDGES, 0, 0, 0]
            frame.particles.N = 3 if k < 3 else 2
            frame.particles.position = position(k)[:frame.particles.N]
            frame.particles.diameter = of
            file.append(frame)


def triclinic(path):
    with gsd.hoomd.open(path, "w") as file:
        frame = gsd.hoomd.Frame()
        frame.configuration.box = [4, 5, 6, 0.5, 0, 0]
        frame.particles.N = 1
        frame.particles.position = [[1, 1, 1]]
        file.append(frame)


def version_1(source, target):
    """The same chunks in the file layer 1.0: names in 64-byte cells."""
    data = open(source, "rb").read()
    head = bytearray(data[:256])
    names_at, names_n = struct.unpack_from("<QQ", data, 24)
    names = [n for n in data[names_at:names_at + 64 * names_n].split(b"\0") if n]
    cells = b"".join(n.ljust(64, b"\0") for n in names) + bytes(64)
    struct.pack_into("<QQ", head, 24, len(data), len(names) + 1)
    struct.pack_into("<I", head, 44, 0x00010000)
    open(target, "wb").write(bytes(head) + data[256:] + cells)


def foreign_h5md(path):
    """As pyh5md writes: group `atoms`, float32, fixed box, time-dependent species, equal steps."""
    with pyh5md.File(path, "w", author="nobody", creator="pyh5md") as file:
        group = file.particles_group("atoms")
        group.create_box(dimension=3, boundary=["periodic"] * 3, store="fixed", data=EDGES)
        pos = pyh5md.element(group, "position", store="linear", data=position(0), step=50, time=0.25,
                             step_offset=100, time_offset=0.5)
        vel = pyh5md.element(group, "velocity", store="time", data=velocity(0), time=True)
        species = pyh5md.element(group, "species", store="time", data=np.array([3, 1, 3, 3, 1]), time=True)
        for k in range(3):
            pos.append(position(k))
            if k < 2:
                vel.append(velocity(k), 100 + 50 * k, 0.5 + 0.25 * k)
            species.append(np.array([3, 1, 3, 3, 1]), 100 + 50 * k, 0.5 + 0.25 * k)


def repack(path):
    """Same objects, types and attributes without the room that growing datasets leave in a small file."""
    def copy(name, item):
        if isinstance(item, h5py.Dataset):
            target[name] = item[()]
        else:
            target.require_group(name)
        for key, value in item.attrs.items():
            target[name].attrs[key] = value

    with h5py.File(path) as source, h5py.File(path + ".new", "w", libver="latest") as target:
        source.visititems(copy)
    os.replace(path + ".new", path)


def matrix_h5md(path):
    """By hand: enumerated species, box as a time-dependent matrix, ids out of order, vlen strings, 64 bits."""
    with h5py.File(path, "w") as file:
        file.create_group("h5md").attrs["version"] = [1, 1]
        group = file.create_group("particles/trajectory")
        file.create_group("particles/aaa")  # no positions: never chosen
        box = group.create_group("box")
        box.attrs["dimension"] = 3
        box.attrs["boundary"] = ["periodic"] * 3
        step = group.create_dataset("position/step", data=[0, 10])
        time = group.create_dataset("position/time", data=[0.0, 0.01])
        order = [3, 1, 4, 0, 2]
        group["position/value"] = np.stack([position(k).astype(float)[order] for k in range(2)])
        box.create_group("edges")["step"] = step
        box["edges/time"] = time
        box["edges/value"] = np.stack([np.diag(EDGES)] * 2)
        image = np.stack([[[i, 0, -i] for i in order]] * 2).astype(np.int32)
        group.create_group("image")["step"] = step
        group["image/value"] = image
        kind = h5py.enum_dtype({"Si": 14, "O": 8}, basetype="i")
        group.create_dataset("species", data=np.array([14, 8, 14, 14, 8], dtype="i")[order], dtype=kind)
        group["id"] = np.array(order) + 10
        group["mass"] = np.array(order, dtype="f4") + 1


def results(path):
    """A results file in the layout of the simulation, with numbers from formulas."""
    fixed = lambda text: np.bytes_(text)
    with h5py.File(path, "w", libver="latest") as file:
        creator = file.create_group("h5md/creator")
        creator.attrs["name"] = fixed("supercool")
        creator.attrs["version"] = fixed("0.1.0")
        parameters = file.create_group("parameters")
        parameters["stage"] = fixed("production")
        parameters["precision"] = fixed("fixed-point")
        parameters["plan"] = fixed(
            '{"system":{"simulation_box":{"dimension":3,"edges":[10.0,10.0,10.0]}},'
            '"potential":{"form":{"kind":"lennard-jones"},"truncation":{"kind":"smooth","width":0.005},'
            '"pairs":[[{"cutoff":2.5},{"cutoff":2.0}],[{"cutoff":2.0},{"cutoff":2.2}]]}}')
        parameters["timestep"] = 0.001
        parameters["species/name"] = np.array([b"A", b"B"])
        parameters["species/count"] = [960, 240]
        file["progress/step"] = 40000
        file["progress/complete"] = np.uint8(1)
        observables = file.create_group("observables")
        observables.attrs["dimension"] = 3
        observables["particle_number"] = 1200
        steps = np.arange(0, 40001, 400)
        rng = np.random.default_rng(1)
        for name, mean, width in [("temperature", 0.8, 0.01), ("potential_energy", -6.5, 0.01),
                                  ("internal_energy", -5.3, 0), ("pressure", 2.0, 0.1)]:
            group = observables.create_group(name)
            group["step"] = steps
            group["time"] = steps * 0.001
            group["value"] = mean + width * rng.standard_normal(len(steps))
        group = observables.create_group("center_of_mass_velocity")
        group["step"] = steps
        group["time"] = steps * 0.001
        group["value"] = np.zeros((len(steps), 3))
        t = np.concatenate([[0], np.logspace(-2, 2, 41)])
        for species, d, q in [("A", 0.05, 7.25), ("B", 0.08, 7.25)]:
            def series(name, value, **axes):
                group = file.create_group(f"dynamics/{species}/{name}")
                for axis, numbers in axes.items():
                    group[axis] = numbers
                group["value"] = value
                group["error"] = 0.01 * np.abs(value)
                group["count"] = np.full(np.shape(value), 1000)
            series("mean_square_displacement", 6 * d * t, time=t)
            fs = np.stack([np.exp(-k * k * d * t) for k in (3.5, q)])
            series("self_intermediate_scattering_function", fs, time=t, wavenumber=[3.5, q])
            unmeasured = np.where(t > 50, np.nan, 0.3 * t / (1 + t * t))
            series("non_gaussian_parameter", unmeasured, time=t)
            series("velocity_autocorrelation", 2.4 * np.exp(-10 * t), time=t)
        r = 0.025 + 0.05 * np.arange(80)
        for pair in ["AA", "AB", "BB"]:
            group = file.create_group(f"structure/{pair}/pair_distribution")
            group["distance"] = r
            group["value"] = 1 / (1 + np.exp(-20 * (r - 1)))
            group["error"] = 0 * r + 0.01
            group["count"] = 0 * r + 10
            group = file.create_group(f"structure/{pair}/structure_factor")
            group["wavenumber"] = 0.5 + 0.5 * np.arange(30)
            group["value"] = np.ones(30)
            group["error"] = 0.01 * np.ones(30)
            group["count"] = 10 * np.ones(30)


hoomd("hoomd.gsd")
hoomd_property("hoomd_property.gsd")
hoomd_2d("hoomd_2d.gsd")
diameters("diameters.gsd")
triclinic("triclinic.gsd")
version_1("hoomd.gsd", "hoomd_v1.gsd")
foreign_h5md("pyh5md.hdf5")
repack("pyh5md.hdf5")
matrix_h5md("matrix.hdf5")
results("results.hdf5")
