"""Opens a results file with h5py and pyh5md: results.py FILE EXPECTED.json"""

import json
import sys

import h5py
import numpy as np
import pyh5md

path, expected = sys.argv[1], json.load(open(sys.argv[2]))
D = expected["dimension"]


def fixed_string(attribute_owner, name):
    attribute = attribute_owner.attrs.get_id(name)
    assert attribute.shape == (), name
    assert not h5py.check_string_dtype(attribute.dtype).length is None, f"{name} has no fixed length"
    value = attribute_owner.attrs[name]
    return value.decode() if isinstance(value, bytes) else str(value)


with h5py.File(path, "r") as f:
    # H5MD 1.1, root group.
    version = f["h5md"].attrs["version"]
    assert version.dtype.kind == "i" and list(version) == [1, 1]
    assert fixed_string(f["h5md/author"], "name") == "Ada Lovelace"
    assert fixed_string(f["h5md/creator"], "name") == "supercool"
    assert fixed_string(f["h5md/creator"], "version") == "1.2.3"
    # Modules.
    assert list(f["h5md/modules/units"].attrs["version"]) == [1, 0]
    assert fixed_string(f["h5md/modules/units"], "system") == "LJ"
    assert list(f["h5md/modules/thermodynamics"].attrs["version"]) == [1, 0]

    # Thermodynamics.
    observables = f["observables"]
    assert observables.attrs["dimension"] == D
    assert observables["particle_number"][()] == expected["particle_number"]
    assert observables["density"][()] == expected["density"]
    first = observables["potential_energy"]
    names = sorted(name for name in observables if isinstance(observables[name], h5py.Group))
    assert names == sorted(expected["thermodynamics"])
    for name in names:
        element = observables[name]
        assert element["step"].id.__eq__(first["step"].id), "step is one dataset"
        assert element["time"].id.__eq__(first["time"].id), "time is one dataset"
        assert element["step"].dtype.kind == "i"
        assert fixed_string(element["value"], "unit")
        assert fixed_string(element["time"], "unit") == "tau"
        np.testing.assert_array_equal(element["value"][:], expected["thermodynamics"][name])
    np.testing.assert_array_equal(first["step"][:], expected["step"])
    np.testing.assert_array_equal(first["time"][:], expected["time"])

    # Series.
    for series in expected["series"]:
        group = f[series["path"]]
        for name in ["value", "error", "count", "change", "change_error"]:
            if name not in series:
                assert name not in group
                continue
            values = np.array(series[name], dtype=float).reshape(group[name].shape)
            np.testing.assert_array_equal(group[name][()], values)
            assert [axis.decode() for axis in group[name].attrs["axes"]] == series["axes"]
        assert group["count"].dtype == np.uint64
        shape = tuple(group[axis].shape[0] for axis in series["axes"])
        assert group["value"].shape == shape
        assert "<" in fixed_string(group, "description")
    shells = f["dynamics/A/self_intermediate_scattering_function"]
    np.testing.assert_array_equal(shells["vectors_per_shell"][()], [2, 1])
    np.testing.assert_array_equal(shells["wave_vector"][()], [[7.2, 0.0], [0.0, 7.2], [5.7, 7.6]])
    np.testing.assert_array_equal(shells["wave_vector_shell"][()], [0, 0, 1])
    np.testing.assert_allclose(shells["wave_vector_length"][()], [7.2, 7.2, 9.5], rtol=1e-15)
    assert fixed_string(shells["wave_vector"], "unit") == fixed_string(shells["wavenumber"], "unit")
    assert shells["wavenumber"].attrs["shell_half_width"] == 0.005

    # What reproduces the run.
    parameters = f["parameters"]
    assert parameters["toml"].asstr()[()] == expected["toml"]
    assert json.loads(parameters["plan"][()]) == expected["plan"]
    assert parameters["seed"][()] == expected["plan"]["system"]["seed"]
    assert json.loads(parameters["hardware"][()]) == {"cpu": "abacus", "threads": 2}
    assert list(parameters["species/name"].asstr()[()]) == ["A", "B"]
    assert f["progress/complete"][()] == expected["complete"]
    assert f["progress/step"][()] == expected["last_step"]

    # No strings of variable length anywhere: SWMR does not support them.
    def no_variable_strings(name, thing):
        if isinstance(thing, h5py.Dataset):
            info = h5py.check_string_dtype(thing.dtype)
            assert info is None or info.length is not None, name

    f.visititems(no_variable_strings)

with pyh5md.File(path, "r") as f:
    temperature = pyh5md.element(f["observables"], "temperature")
    assert temperature.element_type == "H5MD TimeElement" or temperature.element_type == "TimeElement"
    np.testing.assert_array_equal(temperature.value[:], expected["thermodynamics"]["temperature"])
    number = pyh5md.element(f["observables"], "particle_number")
    assert number.element_type == "FixedElement" and number.value[()] == expected["particle_number"]
print("ok")
