"""To and from the objects of other programs, each in the real package."""

import numpy as np
import pytest
import supercool
from conftest import LIQUID, needed

FLAT = """\
[system]
dimension = 2
box = [9.0, 8.0]
seed = 3
species = [{ name = "big", count = 30, mass = 1.0 }, { name = "B", count = 20, mass = 2.0 }]
initial = { lattice = "square", temperature = 1.0 }
[potential]
kind = "lennard-jones"
cutoff = 1.12246204830937
truncation = "shifted"
[potential.pairs]
bigbig = { epsilon = 1.0, sigma = 1.0 }
bigB = { epsilon = 1.0, sigma = 0.9 }
BB = { epsilon = 1.0, sigma = 0.8 }
[run]
engine = "cpu"
precision = "double"
timestep = 0.004
[[stage]]
name = "only"
steps = 2000
thermostat = { kind = "bussi", temperature = 2.0, time = 0.2 }
observe = { trajectory = 1000 }
"""

#: What 32-bit floats keep of positions in boxes of ten.
SINGLE = dict(rtol=0, atol=2e-6)


@pytest.fixture(scope="module", params=["3D", "2D"])
def simulation(request):
    simulation = supercool.Simulation(LIQUID if request.param == "3D" else FLAT)
    simulation.advance(320 if request.param == "3D" else 2000)
    # Else nothing is tested of images.
    assert (simulation.images != 0).any() or request.param == "3D"
    return simulation


@pytest.fixture
def frame(simulation):
    frame = simulation.frame
    rng = np.random.default_rng(5)
    images = rng.integers(-3, 4, frame.images.shape)
    return supercool.Frame(**{**vars(frame), "images": images})


def is_same(found, frame, *, images=True, velocities=True, names=True, tolerance=None):
    tolerance = tolerance or dict(rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.box, frame.box, **tolerance)
    assert ((found.positions >= 0) & (found.positions < found.box)).all()
    apart = found.positions - frame.positions
    np.testing.assert_allclose(apart - frame.box * np.round(apart / frame.box), 0.0, **tolerance)
    if images:
        # The images of unwrapped positions to the last one.
        np.testing.assert_allclose(found.unwrapped, frame.unwrapped, rtol=1e-12, atol=10 * tolerance["atol"])
    if velocities:
        np.testing.assert_allclose(found.velocities, frame.velocities, **tolerance)
    if names:
        assert found.types == frame.types
        np.testing.assert_allclose(found.masses, frame.masses, **tolerance)
        np.testing.assert_allclose(found.diameters, frame.diameters, **tolerance)


def minimum_distances(positions, box):
    """Of each particle to its nearest."""
    apart = positions[:, None] - positions[None]
    apart -= box * np.round(apart / box)
    distances = np.sqrt((apart**2).sum(-1))
    np.fill_diagonal(distances, np.inf)
    return distances.min(1)


def test_frames_wrap_and_refuse_what_does_not_fit():
    frame = supercool.Frame(positions=[[-1e-18, 4.0], [3.0, -4.5]], box=[4.0, 4.0], images=[[0, 0], [1, 1]])
    np.testing.assert_array_equal(frame.positions, [[0.0, 0.0], [3.0, 3.5]])
    np.testing.assert_array_equal(frame.images, [[0, 1], [1, -1]])
    np.testing.assert_allclose(frame.unwrapped, [[0.0, 4.0], [7.0, -0.5]])
    with pytest.raises(ValueError, match="it must be .N, 2. or .N, 3."):
        supercool.Frame(positions=[1.0, 2.0], box=[4.0, 4.0])
    with pytest.raises(ValueError, match="2 edges, all above zero"):
        supercool.Frame(positions=[[1.0, 2.0]], box=[4.0, 4.0, 4.0])
    with pytest.raises(ValueError, match=r"velocities have the shape \(1, 3\)"):
        supercool.Frame(positions=[[1.0, 2.0]], box=[4.0, 4.0], velocities=[[0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="0 to 0"):
        supercool.Frame(positions=[[1.0, 2.0]], box=[4.0, 4.0], species=[1])
    with pytest.raises(ValueError, match="finite"):
        supercool.Frame(positions=[[1.0, np.nan]], box=[4.0, 4.0])
    with pytest.raises(ValueError, match="no images"):
        supercool.Frame(positions=[[1.0, 2.0]], box=[4.0, 4.0]).unwrapped
    with pytest.raises(TypeError, match="not from list"):
        supercool.frame([1.0])


def test_a_frame_of_a_simulation_is_what_it_holds(simulation):
    frame = supercool.frame(simulation)
    for name in ("positions", "images", "unwrapped", "velocities", "species", "masses", "box"):
        np.testing.assert_array_equal(getattr(frame, name), getattr(simulation, name))
    assert (frame.step, frame.time) == (simulation.step, simulation.time)
    assert set(frame.diameters[frame.species == 1]) == ({1.0} if len(frame.box) == 3 else {0.8})


def test_ase(frame):
    needed("ase")
    atoms = frame.to_ase()
    assert atoms.get_chemical_symbols()[0] == "H" and list(atoms.pbc) == [True, True, len(frame.box) == 3]
    found = supercool.frame(atoms)
    is_same(found, frame)
    assert found.species_names == frame.species_names and (found.step, found.time) == (frame.step, frame.time)
    kinetic = 0.5 * (frame.masses[:, None] * frame.velocities**2).sum()
    assert atoms.get_kinetic_energy() == pytest.approx(kinetic)
    if len(frame.box) == 3:
        # Distances by the minimum images of ASE.
        distances = atoms.get_all_distances(mic=True)
        np.fill_diagonal(distances, np.inf)
        np.testing.assert_allclose(distances.min(1), minimum_distances(frame.positions, frame.box))
    # Unwrapped, they go through without images of their own.
    is_same(supercool.frame(frame.to_ase(unwrapped=True)), frame, images=False, tolerance=dict(rtol=0, atol=1e-12))
    atoms = frame.to_ase()
    atoms.set_cell(np.array(atoms.cell) + [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="triclinic"):
        supercool.frame(atoms)
    atoms = frame.to_ase()
    atoms.pbc = [True, False, False]
    with pytest.raises(ValueError, match="must be periodic"):
        supercool.frame(atoms)


def test_ase_elements_keep_their_symbols():
    ase = needed("ase")
    atoms = ase.Atoms("ArNiAr", positions=[[0, 0, 0], [1, 1, 1], [2, 2, 2.5]], cell=[5, 5, 5], pbc=True)
    frame = supercool.frame(atoms)
    assert frame.types == ["Ar", "Ni", "Ar"] and frame.velocities is None and frame.masses is None
    assert frame.to_ase().get_chemical_symbols() == ["Ar", "Ni", "Ar"]


def test_mdanalysis(frame):
    needed("MDAnalysis")
    universe = frame.to_mdanalysis()
    is_same(supercool.frame(universe), frame, images=False, tolerance=SINGLE)
    first = frame.species_names[0]
    chosen = universe.select_atoms(f"type {first}")
    np.testing.assert_array_equal(chosen.indices, np.flatnonzero(frame.species == 0))
    from MDAnalysis.lib.distances import distance_array

    distances = distance_array(universe.atoms.positions, universe.atoms.positions, box=universe.dimensions)
    np.fill_diagonal(distances, np.inf)
    if len(frame.box) == 3:
        np.testing.assert_allclose(distances.min(1), minimum_distances(frame.positions, frame.box), **SINGLE)
    unwrapped = frame.to_mdanalysis(unwrapped=True).atoms.positions[:, : len(frame.box)]
    np.testing.assert_allclose(unwrapped, frame.unwrapped, rtol=1e-6, atol=1e-6)
    assert universe.trajectory.ts.time == pytest.approx(frame.time)


def test_freud(frame):
    freud = needed("freud")
    system = frame.to_freud()
    assert system[0].is2D == (len(frame.box) == 2)
    is_same(supercool.frame(system), frame, images=False, velocities=False, names=False, tolerance=SINGLE)
    neighbors = freud.locality.AABBQuery.from_system(system).query(
        system[1], {"mode": "nearest", "num_neighbors": 1, "exclude_ii": True}
    )
    found = neighbors.toNeighborList().distances
    np.testing.assert_allclose(found, minimum_distances(frame.positions, frame.box), **SINGLE)
    order = freud.order.Hexatic(6) if len(frame.box) == 2 else freud.order.Steinhardt(6)
    values = order.compute(system, neighbors={"num_neighbors": 6}).particle_order
    assert values.shape == (len(frame.species),) and np.isfinite(values).all()
    with pytest.raises(ValueError, match="triclinic"):
        supercool.frame((freud.box.Box(4, 4, 4, 0, 0.5, 0), np.zeros((1, 3))))


def test_gsd(frame, tmp_path):
    hoomd = needed("gsd.hoomd")
    made = frame.to_gsd()
    made.validate()
    half = np.float32(0.5 * frame.box)
    dimension = len(frame.box)
    assert (made.particles.position[:, :dimension] >= -half).all()
    assert (made.particles.position[:, :dimension] < half).all()
    with hoomd.open(tmp_path / "x.gsd", "w") as file:
        file.append(made)
    with hoomd.open(tmp_path / "x.gsd", "r") as file:
        read = file[0]
    assert read.configuration.dimensions == dimension
    for each in (made, read):
        found = supercool.frame(each)
        is_same(found, frame, tolerance=SINGLE)
        assert found.step == frame.step
    # supercool reads the file, too.
    text = LIQUID if dimension == 3 else FLAT
    simulation = supercool.Simulation(text, initial=read)
    apart = simulation.positions - frame.positions
    np.testing.assert_allclose(apart - frame.box * np.round(apart / frame.box), 0.0, **SINGLE)


def test_a_particle_just_below_the_edge_stays_in_the_centred_box():
    needed("gsd.hoomd")
    box = np.array([10.1, 9.7, 8.3])
    frame = supercool.Frame(positions=[np.nextafter(box, 0.0)], box=box, images=[[1, 0, -2]])
    particles = frame.to_gsd().particles
    assert (particles.position < np.float32(0.5 * box)).all()
    np.testing.assert_allclose(particles.position + particles.image * box + 0.5 * box, frame.unwrapped, rtol=1e-6)


def test_atooms(frame):
    needed("atooms")
    system = frame.to_atooms()
    assert system.density == pytest.approx(len(frame.species) / np.prod(frame.box))
    assert (np.abs([particle.position for particle in system.particle]) <= 0.5 * frame.box).all()
    is_same(supercool.frame(system), frame, images=False)
    near = system.particle[0].nearest_image(system.particle[1], system.cell, copy=True).position
    apart = frame.positions[0] - frame.positions[1]
    apart -= frame.box * np.round(apart / frame.box)
    np.testing.assert_allclose(near - system.particle[1].position, apart, atol=1e-12)


def test_ovito(frame):
    # 500 MB: not in CI.
    pytest.importorskip("ovito.data")
    data = frame.to_ovito()
    found = supercool.frame(data)
    is_same(found, frame, names=False)
    assert found.types == frame.types
    np.testing.assert_array_equal(found.masses, frame.masses)
    np.testing.assert_array_equal(np.float32(found.diameters), np.float32(frame.diameters))
    assert data.cell.is2D == (len(frame.box) == 2)
    assert [kind.name for kind in data.particles.particle_types.types] == frame.species_names


def test_trajectories(finished):
    trajectory = supercool.open(finished / "production.h5md")
    first = trajectory[0]
    assert first.types[0] == "A" and first.types[-1] == "B" and first.masses[-1] == 2.0
    np.testing.assert_array_equal(first.diameters, 1.0)
    needed("MDAnalysis")
    universe = trajectory.to_mdanalysis(unwrapped=True)
    assert len(universe.trajectory) == 5 and len(universe.select_atoms("type B")) == 56
    for timestep, frame in zip(universe.trajectory, trajectory):
        np.testing.assert_allclose(universe.atoms.positions, frame.unwrapped, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(universe.atoms.velocities, frame.velocities, rtol=1e-6, atol=1e-6)
        assert timestep.time == pytest.approx(frame.time)
    assert len(trajectory.to_ase()) == 5
    assert [frame.configuration.step for frame in trajectory.to_gsd()] == [120, 170, 220, 270, 320]


def test_mdanalysis_of_one_of_many_systems(tmp_path):
    needed("MDAnalysis")
    text = LIQUID + '\n[ensemble]\nkind = "independent"\nsystems = 2\n'
    stage = supercool.run(text, output=tmp_path / "many").open().stages["production"]
    trajectory = stage.systems[1].trajectory
    universe = trajectory.to_mdanalysis()
    np.testing.assert_allclose(universe.trajectory[-1].positions, trajectory[-1].positions, rtol=1e-6, atol=1e-6)
    other = stage.systems[0].trajectory[-1].positions
    assert not np.allclose(universe.trajectory[-1].positions, other, atol=0.1)


def test_a_simulation_starts_from_an_object(simulation):
    needed("ase")
    text = LIQUID if len(simulation.box) == 3 else FLAT
    atoms = simulation.to_ase()
    other = supercool.Simulation(text, initial=atoms)
    np.testing.assert_allclose(other.positions, simulation.positions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.velocities, simulation.velocities, rtol=0, atol=1e-14)
    assert other.step == 0 and not other.images.any()
    energy = simulation.thermodynamics()["potential_energy"]
    assert other.thermodynamics()["potential_energy"] == pytest.approx(energy, rel=1e-12)
    # Of an object without velocities they are drawn.
    atoms.set_array("momenta", None)
    drawn = supercool.Simulation(text, initial=atoms)
    temperature = 1.5 if len(simulation.box) == 3 else 1.0
    assert drawn.thermodynamics()["temperature"] == pytest.approx(temperature, rel=1e-9)
    # Particles are put into the order of the species.
    order = np.random.default_rng(1).permutation(len(atoms))
    mixed = supercool.Simulation(text, initial=atoms[order])
    assert mixed.thermodynamics()["potential_energy"] == pytest.approx(energy, rel=1e-12)


def test_a_simulation_refuses_what_does_not_fit(simulation):
    text = LIQUID if len(simulation.box) == 3 else FLAT
    frame = simulation.frame
    wrong = supercool.Frame(**{**vars(frame), "box": 2 * frame.box})
    with pytest.raises(supercool.Error, match="box"):
        supercool.Simulation(text, initial=wrong)
    wrong = supercool.Frame(**{**vars(frame), "species_names": ["X", "Y"]})
    with pytest.raises(supercool.Error, match="species"):
        supercool.Simulation(text, initial=wrong)
    wrong = supercool.Frame(**{**vars(frame), "masses": 3 * frame.masses})
    with pytest.raises(supercool.Error, match="mass"):
        supercool.Simulation(text, initial=wrong)


def test_a_run_starts_from_an_object_and_keeps_it(tmp_path, simulation):
    text = LIQUID if len(simulation.box) == 3 else FLAT
    run = supercool.run(text, output=tmp_path / "runs/from", initial=simulation)
    kept = tmp_path / "runs/from-initial.h5md"
    assert run.outcome == "finished" and run.open().plan["system"]["initial"]["path"] == str(kept)
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_file()] == [kept.name]
    first = next(iter(run.open().stages.values())).trajectory[0]
    assert first.step == 0
    np.testing.assert_allclose(first.positions, simulation.positions, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="give output"):
        supercool.run(text, initial=simulation)
