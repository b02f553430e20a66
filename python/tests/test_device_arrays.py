import importlib
import importlib.util

import numpy as np
import pytest
import supercool
from conftest import LIQUID

NAMES = ("positions", "unwrapped", "images", "velocities", "forces")


def expected(simulation, name):
    return simulation.forces() if name == "forces" else getattr(simulation, name)


def on_gpu():
    try:
        return supercool.Simulation(LIQUID, engine="cuda")
    except supercool.Error as error:
        pytest.skip(f"no GPU: {error}".splitlines()[0])


def library(name):
    """Only where there is a GPU: the packages are large."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else pytest.skip(f"no {name}")


@pytest.mark.parametrize("name", NAMES)
def test_without_a_gpu_they_are_arrays_of_numpy(name):
    simulation = supercool.Simulation(LIQUID, engine="cpu")
    simulation.advance(20)
    taken = np.from_dlpack(simulation.device_array(name))
    np.testing.assert_array_equal(taken, expected(simulation, name))
    assert taken.dtype == expected(simulation, name).dtype


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_other_names_are_refused(engine):
    simulation = supercool.Simulation(LIQUID, engine="cpu") if engine == "cpu" else on_gpu()
    with pytest.raises(ValueError, match="masses.*there are positions, unwrapped"):
        simulation.device_array("masses")


@pytest.mark.parametrize("module", ["torch", "cupy"])
def test_other_libraries_take_them_without_a_copy(module):
    simulation = on_gpu()
    taker = library(module)
    simulation.advance(20)
    arrays = {name: simulation.device_array(name) for name in NAMES}
    assert arrays["positions"].__dlpack_device__() == (2, 0)
    taken = {name: taker.from_dlpack(array) for name, array in arrays.items()}
    # Of this step, whatever comes later; and they outlive what they came from.
    values = {name: expected(simulation, name) for name in NAMES}
    again = taker.from_dlpack(arrays["velocities"])
    pointer = (lambda array: array.data_ptr()) if module == "torch" else (lambda array: array.data.ptr)
    assert pointer(again) == pointer(taken["velocities"])
    simulation.advance(20)
    del simulation, arrays, again
    for name, array in taken.items():
        host = array.cpu().numpy() if module == "torch" else taker.asnumpy(array)
        assert host.dtype == values[name].dtype
        np.testing.assert_array_equal(host, values[name])
