import os
import signal
import threading

import numpy as np
import pytest
import supercool
from conftest import LIQUID


@pytest.fixture
def liquid():
    return supercool.Simulation(LIQUID)


def is_frame(simulation, frame):
    assert simulation.step == frame.step
    np.testing.assert_array_equal(simulation.positions, frame.positions)
    np.testing.assert_array_equal(simulation.images, frame.images)
    np.testing.assert_array_equal(simulation.velocities, frame.velocities)
    np.testing.assert_array_equal(simulation.box, frame.box)
    np.testing.assert_array_equal(simulation.unwrapped, frame.unwrapped)


@pytest.mark.parametrize("precision", ["fixed-point", "double"])
def test_it_has_the_bits_of_the_command_through_all_stages(tmp_path, precision):
    text = LIQUID.replace("fixed-point", precision)
    stages = supercool.run(text, output=tmp_path).open().stages
    simulation = supercool.Simulation(text)
    first, *others = stages["equilibrate"].trajectory
    is_frame(simulation, first)
    # In parts that are not those of the run.
    for steps, frame in zip((60, 60), others):
        simulation.advance(7)
        simulation.advance(steps - 7)
        is_frame(simulation, frame)
        assert simulation.stage == "equilibrate"
    # Its first frame is of step 120, too, behind set_total_energy.
    for frame in stages["production"].trajectory[1:]:
        simulation.advance(50)
        is_frame(simulation, frame)
        assert simulation.stage == "production"
    now = simulation.thermodynamics()
    last = {
        name: stages["production"].observables[name].value[-1]
        for name in ("temperature", "pressure", "potential_energy")
    }
    assert {name: now[name] for name in last} == last
    assert now["total_energy"] == now["potential_energy"] + now["kinetic_energy"]


def test_shapes_and_types(liquid):
    assert liquid.positions.shape == liquid.velocities.shape == liquid.forces().shape == (256, 3)
    assert liquid.positions.dtype == np.float64 and liquid.images.dtype == np.int32
    assert liquid.species_names == ["A", "B"]
    np.testing.assert_array_equal(liquid.species, [0] * 200 + [1] * 56)
    np.testing.assert_array_equal(liquid.masses, [1.0] * 200 + [2.0] * 56)
    assert np.prod(liquid.box) == pytest.approx(256 / 0.8442, rel=1e-14)
    assert (liquid.step, liquid.total_steps, liquid.time) == (0, 320, 0.0)
    assert "step 0 of 320" in repr(liquid)
    copy = liquid.positions
    copy[:] = 0.0
    assert not (liquid.positions == 0.0).all()


def test_two_dimensions():
    text = LIQUID.replace("dimension = 3", "dimension = 2").replace("fcc", "square")
    simulation = supercool.Simulation(text)
    simulation.advance(10)
    assert simulation.positions.shape == simulation.forces().shape == (256, 2)
    assert simulation.box.shape == (2,)
    assert np.prod(simulation.box) == pytest.approx(256 / 0.8442, rel=1e-14)
    velocities = simulation.velocities
    simulation.set_velocities(velocities)
    np.testing.assert_array_equal(simulation.velocities, velocities)


def test_forces_are_those_of_the_potential(liquid):
    liquid.advance(30)
    box, cutoff = liquid.box, 2.2
    apart = liquid.positions[:, None] - liquid.positions[None]
    apart -= box * np.round(apart / box)
    square = (apart**2).sum(-1)
    np.fill_diagonal(square, np.inf)
    near = square < cutoff**2
    power = np.where(near, square, 1.0) ** -3.0
    over_r = np.where(near, 24.0 * (2.0 * power**2 - power) / np.where(near, square, 1.0), 0.0)
    expected = (over_r[..., None] * apart).sum(1)
    np.testing.assert_allclose(liquid.forces(), expected, rtol=1e-4, atol=1e-4)
    shift = 4.0 * (cutoff**-12.0 - cutoff**-6.0)
    energy = np.where(near, 4.0 * (power**2 - power) - shift, 0.0).sum() / 2 / 256
    assert liquid.thermodynamics()["potential_energy"] == pytest.approx(energy, rel=1e-5)


def test_velocities_can_be_drawn_and_set(liquid):
    liquid.advance(10)
    place, bits = liquid.positions, liquid.hash()
    liquid.draw_velocities(0.7)
    assert liquid.thermodynamics()["temperature"] == pytest.approx(0.7, rel=1e-9)
    momentum = (liquid.masses[:, None] * liquid.velocities).sum(0)
    np.testing.assert_allclose(momentum, 0.0, atol=1e-9)
    assert liquid.hash() != bits
    drawn = liquid.velocities
    liquid.velocities = -drawn
    # Fixed point has other last bits.
    np.testing.assert_allclose(liquid.velocities, -drawn, rtol=1e-15)
    np.testing.assert_array_equal(liquid.positions, place)
    assert liquid.step == 10


@pytest.mark.parametrize("precision", ["fixed-point", "double"])
def test_velocities_set_to_those_that_are_there_change_no_bit(precision):
    text = LIQUID.replace("fixed-point", precision)
    liquid, other = supercool.Simulation(text), supercool.Simulation(text)
    for simulation in (liquid, other):
        simulation.advance(50)
    for step in (50, 120, 250):
        liquid.advance(step - liquid.step)
        liquid.set_velocities(liquid.velocities)
    other.advance(200)
    assert liquid.hash() == other.hash()


STAGES = """
[[stage]]
name = "quench"
minimize = { force_tolerance = 1e-4, temperature = 0.3 }

[[stage]]
name = "short"
steps = 40
timestep = 0.001
observe = { trajectory = 20 }

[[stage]]
name = "compress"
steps = 60
density = { to = 0.9, every = 25 }
observe = { thermodynamics = 30 }

[[stage]]
name = "after"
steps = 20
timestep = 0.002
observe = { trajectory = 20 }
"""


def test_stages_with_other_timesteps_boxes_and_minima_have_the_bits_of_the_command(tmp_path):
    text = LIQUID.split("[[stage.correlation]]")[0] + STAGES
    stages = supercool.run(text, output=tmp_path).open().stages
    simulation = supercool.Simulation(text)
    simulation.advance(320)
    for frame in stages["short"].trajectory[1:]:
        simulation.advance(20)
        is_frame(simulation, frame)
        assert simulation.time == pytest.approx(frame.time, rel=1e-13)
    assert simulation.timestep == 0.001
    compressed = stages["compress"].observables["potential_energy"].value
    simulation.advance(30)
    assert simulation.thermodynamics()["potential_energy"] == compressed[1]
    assert 0.8442 < 256 / np.prod(simulation.box) < 0.9 and simulation.timestep == 0.004
    simulation.advance(30)
    assert 256 / np.prod(simulation.box) == pytest.approx(0.9, rel=1e-14)
    simulation.advance(20)
    is_frame(simulation, stages["after"].trajectory[-1])
    assert simulation.time == pytest.approx(stages["after"].trajectory[-1].time, rel=1e-13)
    assert simulation.timestep == 0.002


PRESSURE = """
[[stage]]
name = "npt"
steps = 100
thermostat = { kind = "bussi", temperature = 1.0, time = 0.2 }
barostat = { kind = "cell-rescaling", pressure = 2.0, time = 0.2, every = 5 }
observe = { thermodynamics = 10 }

[[stage]]
name = "to-mean-density"
steps = 60
density = { to = "mean of npt", every = 25 }
thermostat = { kind = "bussi", temperature = 1.0, time = 0.2 }
observe = { trajectory = 60 }

[[stage]]
name = "slab"
steps = 60
box = { to = [6.5, 6.6, 7.5], every = 4 }
observe = { trajectory = 60 }

[[stage]]
name = "after"
steps = 20
observe = { trajectory = 20 }
"""


def test_stages_at_constant_pressure_and_at_its_mean_density_have_the_bits_of_the_command(tmp_path):
    text = LIQUID.split("[[stage.correlation]]")[0] + PRESSURE
    stages = supercool.run(text, output=tmp_path).open().stages
    simulation = supercool.Simulation(text)
    simulation.advance(420)
    mean = stages["npt"].observables["density"].value[1:].mean()
    # The last frame of a stage is that before the last change of the box.
    for before, name in (("to-mean-density", "slab"), ("slab", "after")):
        simulation.advance(60)
        is_frame(simulation, stages[name].trajectory[0])
        if before == "to-mean-density":
            assert 256 / np.prod(simulation.box) == pytest.approx(mean, rel=1e-13)
    np.testing.assert_array_equal(simulation.box, [6.5, 6.6, 7.5])


def test_beyond_a_limit_steps_end_and_the_state_can_be_looked_at(caplog):
    hot = supercool.Simulation(LIQUID + "\n[limits]\ntemperature = 0.5\n")
    with pytest.raises(supercool.Error, match='stage "equilibrate", step 20: the temperature is .* limits.temperature = 0.5'):
        hot.advance(100)
    assert hot.step == 20 and hot.thermodynamics()["temperature"] > 0.5
    caplog.clear()
    warned = supercool.Simulation(LIQUID + '\n[limits]\ntemperature = 0.5\naction = "warn"\n')
    warned.advance(100)
    assert warned.step == 100
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "limits.temperature" in caplog.text


def test_energies_are_compared_with_those_after_a_change_from_outside():
    simulation = supercool.Simulation(LIQUID + "\n[limits]\nenergy_drift = 0.05\n")
    simulation.advance(150)
    simulation.set_velocities(1.2 * simulation.velocities)
    simulation.advance(100)
    narrow = supercool.Simulation(LIQUID + "\n[limits]\nenergy_drift = 1e-9\n")
    with pytest.raises(supercool.Error, match='stage "production", step 130: the energy per particle changed by'):
        narrow.advance(250)


def test_positions_can_be_set(liquid):
    liquid.advance(40)
    twin = supercool.Simulation(LIQUID)
    twin.advance(40)
    # The same in another box of the lattice of images.
    beyond = twin.unwrapped + 3.0 * twin.box
    liquid.set_positions(beyond)
    np.testing.assert_allclose(liquid.unwrapped, beyond, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(liquid.velocities, twin.velocities)
    assert (liquid.step, liquid.stage) == (40, "equilibrate")
    np.testing.assert_allclose(liquid.forces(), twin.forces(), rtol=0, atol=1e-3)
    # To the bit, with the images that were there.
    liquid.set_positions(twin.positions, twin.images)
    liquid.positions = liquid.positions
    liquid.set_positions(twin.positions, twin.images)
    liquid.advance(100)
    twin.advance(100)
    np.testing.assert_allclose(liquid.positions, twin.positions, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match=r"must be \(256, 3\)"):
        liquid.set_positions(np.zeros((255, 3)))


def test_positions_that_are_there_change_no_bit():
    liquid, other = supercool.Simulation(LIQUID), supercool.Simulation(LIQUID)
    liquid.advance(40)
    liquid.set_positions(liquid.positions, liquid.images)
    liquid.advance(200)
    other.advance(240)
    assert liquid.hash() == other.hash()


def test_a_minimum_is_below_the_state_and_leaves_it_alone(liquid):
    liquid.advance(30)
    bits, energy = liquid.hash(), liquid.thermodynamics()["potential_energy"]
    found = liquid.minimize()
    assert found.converged and found.residual_force < 1e-6 and found.iterations > 10
    assert found.energy < energy and liquid.hash() == bits
    potential = {
        "kind": "lennard-jones",
        "cutoff": 2.2,
        "truncation": "shifted",
        "pairs": {"AA": {"epsilon": 1.0, "sigma": 1.0}},
    }
    there = supercool.evaluate(potential, found.positions, liquid.box)
    assert there.energy == pytest.approx(256 * found.energy, rel=1e-10)
    assert np.abs(there.forces).max() < 1e-5
    few = liquid.minimize(maximum_iterations=3)
    assert not few.converged and few.iterations == 3
    for wrong in ({"force_tolerance": 0.0}, {"force_tolerance": float("nan")}, {"maximum_iterations": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            liquid.minimize(**wrong)


def test_a_descent_ends_with_an_interrupt(liquid):
    bits = liquid.hash()
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    # It never comes to this.
    with pytest.raises(KeyboardInterrupt):
        liquid.minimize(force_tolerance=1e-300, maximum_iterations=10**12)
    interrupt.join()
    assert liquid.hash() == bits
    assert liquid.minimize().converged


def test_a_system_of_a_replica_exchange_is_refused():
    text = LIQUID + '\n[ensemble]\nkind = "replica-exchange"\nsystems = 1\ntemperatures = [1.0, 0.9]\nexchange_every = 10\n'
    text = text.replace("temperature = 1.0,", 'temperature = "ensemble",')
    with pytest.raises(supercool.Error, match="depends on the others"):
        supercool.Simulation(text, system=0)


def test_wrong_positions_are_refused(liquid):
    bits = liquid.hash()
    wrong = liquid.positions
    wrong[3, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        liquid.set_positions(wrong)
    with pytest.raises(ValueError, match="images"):
        liquid.set_positions(liquid.positions, liquid.images[:9])
    assert liquid.hash() == bits


def test_wrong_velocities_are_refused(liquid):
    bits = liquid.hash()
    with pytest.raises(ValueError, match=r"must be \(256, 3\)"):
        liquid.set_velocities(np.zeros((3, 256)))
    wrong = liquid.velocities
    wrong[17, 1] = np.nan
    with pytest.raises(supercool.Error, match="particle 17"):
        liquid.set_velocities(wrong)
    with pytest.raises(ValueError, match="positive"):
        liquid.draw_velocities(-1.0)
    assert liquid.hash() == bits


def test_the_stages_end(liquid):
    with pytest.raises(supercool.Error, match="end at step 320"):
        liquid.advance(321)
    assert liquid.step == 0
    liquid.advance(320)
    with pytest.raises(supercool.Error, match="give the last stage more steps"):
        liquid.advance(1)
    with pytest.raises(OverflowError):
        liquid.advance(-1)


def test_a_system_of_many_is_the_one_of_the_run(tmp_path):
    text = LIQUID + '\n[ensemble]\nkind = "independent"\nsystems = 3\n'
    stages = supercool.run(text, output=tmp_path).open().stages
    simulation = supercool.Simulation(text, system=2)
    simulation.advance(320)
    is_frame(simulation, stages["production"].systems[2].trajectory[-1])
    with pytest.raises(supercool.Error, match="give system, 0 to 2"):
        supercool.Simulation(text)
    with pytest.raises(supercool.Error, match="has no .ensemble."):
        supercool.Simulation(LIQUID, system=0)


def test_a_stage_whose_energy_was_not_sampled_is_refused():
    text = LIQUID.replace("thermodynamics = 20, trajectory = 60", "thermodynamics = 200, trajectory = 60")
    with pytest.raises(supercool.Error):
        supercool.Simulation(text).advance(121)


def test_a_simulation_that_broke_gives_no_numbers():
    simulation = supercool.Simulation(LIQUID.replace("timestep = 0.004", "timestep = 0.1"))
    with pytest.raises(supercool.Error, match="run.timestep"):
        simulation.advance(100)
    for of in ("positions", "step", "velocities"):
        with pytest.raises(supercool.Error, match="begin a new simulation"):
            getattr(simulation, of)
    with pytest.raises(supercool.Error, match="begin a new simulation"):
        simulation.thermodynamics()
    with pytest.raises(supercool.Error, match="begin a new simulation"):
        simulation.advance(1)
