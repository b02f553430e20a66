import numpy as np
import pytest
import supercool
from conftest import fcc, needed

needed("scipy.sparse.linalg")

PAIRS = {"AA": {"epsilon": 1.0, "sigma": 1.0}, "AB": {"epsilon": 1.5, "sigma": 0.8}, "BB": {"epsilon": 0.5, "sigma": 0.88}}


def lennard_jones(truncation, **pairs):
    return {"kind": "lennard-jones", "cutoff": 2.5, "truncation": truncation, "pairs": pairs or PAIRS}


def sheared(cells, density, strain):
    positions, box = fcc(cells, density)
    positions[:, 0] += strain * positions[:, 1]
    return positions, box


@pytest.mark.parametrize(
    ("truncation", "energy", "virial", "stress"),
    [
        ("shifted", -6.322934942691007, 10.623704205862117, 6.873093727837959),
        ("even-quartic", -4.922158514361259, 15.126937616927691, 6.791165850619784),
    ],
)
def test_sheared_crystals_have_the_sums_of_their_images(truncation, energy, virial, stress):
    positions, box = sheared(5, 1.2, 0.1)
    species = np.where(np.arange(500) % 5 == 4, "B", "A")
    found = supercool.evaluate(lennard_jones(truncation), positions, box, tilt=0.1, species=species, hessian=True)
    assert found.energy / 500 == pytest.approx(energy, rel=1e-12)
    assert 3 * found.pressure * np.prod(box) / 500 == pytest.approx(virial, rel=1e-12)
    assert found.stress[0, 1] == pytest.approx(stress, rel=1e-12)
    # The same periodic images, flipped.
    for tilt in (-0.9, 1.1):
        flipped = supercool.evaluate(lennard_jones(truncation), positions, box, tilt=tilt, species=species, hessian=True)
        assert flipped.energy == pytest.approx(found.energy, rel=1e-13)
        np.testing.assert_allclose(flipped.forces, found.forces, atol=1e-11)
        np.testing.assert_allclose((flipped.hessian - found.hessian).toarray(), 0.0, atol=1e-9)


def test_sheared_spheres_of_many_diameters():
    positions, box = sheared(5, 1.0, 0.1)
    u = (np.arange(500) * 197 % 500 + 0.5) / 500
    diameters = (0.73**-2 - u * (0.73**-2 - 1.62**-2)) ** -0.5
    spheres = {"kind": "inverse-power", "n": 12, "cutoff": 1.25, "truncation": "even-quartic", "pairs": {"AA": PAIRS["AA"]}}
    found = supercool.evaluate(spheres, positions, box, tilt=0.1, diameters=diameters, non_additivity=0.2)
    assert found.energy / 500 == pytest.approx(3.4196497274169104, rel=1e-12)
    assert found.stress[0, 1] == pytest.approx(-0.7792562657885834, rel=1e-10)


def test_a_sheared_crystal_has_the_modulus_of_its_stress():
    potential = lennard_jones("even-quartic", AA=PAIRS["AA"])

    def of(strain):
        positions, box = sheared(4, 1.0, strain)
        return supercool.elastic_moduli(potential, positions, box, tilt=strain)

    shifted = lennard_jones("shifted", AA=PAIRS["AA"])
    positions, box = sheared(4, 1.0, 0.02)
    stress = supercool.evaluate(shifted, positions, box, tilt=0.02).stress
    assert stress[0, 1] == pytest.approx(0.6518326591973272, rel=1e-11)
    h = 1e-5
    slope = (of(0.02 + h).stress[0, 1] - of(0.02 - h).stress[0, 1]) / (2 * h)
    modes = [supercool.normal_modes(potential, positions, box, tilt=tilt).frequencies for tilt in (0.02, -0.98)]
    np.testing.assert_allclose(modes[0][3:], modes[1][3:], rtol=1e-9)
    assert np.abs(modes[0][:3]).max() < 1e-5 < modes[0][3]
    found = of(0.02)
    np.testing.assert_allclose(found.non_affine, 0.0, atol=1e-12)
    assert found.shear_moduli[0] + 0.5 * (found.stress[1, 1] - found.stress[0, 0]) == pytest.approx(slope, rel=1e-7)


def configuration(folder):
    cool = {"kind": "bussi", "temperature": {"from": 1.5, "to": 0.2}, "time": 0.2}
    strain = {"mode": "simple-shear", "step": 5e-5, "to": [2e-4, -1e-4], "force_tolerance": 1e-10}
    return {
        "system": {
            "dimension": 2,
            "density": 1.2,
            "seed": 4,
            "species": [{"name": "A", "count": 70}, {"name": "B", "count": 40}],
            "initial": {"temperature": 1.5},
        },
        "potential": lennard_jones("even-quartic"),
        "run": {"engine": "cpu", "precision": "double", "timestep": 0.004, "threads": 1},
        "stage": [
            {"name": "flow", "steps": 500, "thermostat": cool, "shear": {"rate": 0.24995}},
            {"name": "strain", "strain": strain, "observe": {"trajectory": 1, "gsd": True}},
        ],
        "output": {"directory": str(folder)},
    }


def test_the_slope_of_simple_shear_is_born_less_non_affine_through_a_flip(tmp_path):
    supercool.run(configuration(tmp_path / "out"))
    stage = supercool.open(tmp_path / "out").stages["strain"]
    stress, energy = stage.strain["stress"].value, stage.strain["potential_energy"].value
    assert len(stage.strain.events["step"]) == 0, "it is elastic"
    frames = list(stage.trajectory)
    tilts = [frame.tilt for frame in frames]
    np.testing.assert_allclose(tilts[:5], [0.4999, 0.49995, tilts[2], -0.49995, -0.4999], atol=1e-9)
    # Places, other than positions and images, do not jump where the box is flipped: they move with the strain.
    steps = np.diff([frame.unwrapped for frame in frames], axis=0)
    signs = np.sign(np.diff(stage.strain["stress"].strain))
    for sign, frame, step in zip(signs, frames, steps):
        step[:, 0] -= sign * 5e-5 * frame.unwrapped[:, 1]
        assert np.abs(step).max() < 0.01
    for frame, of_point, tensor in zip(frames, energy, stage.strain["stress_tensor"].value):
        state = supercool.evaluate(lennard_jones("even-quartic"), frame)
        assert state.energy / 110 == pytest.approx(of_point, rel=1e-12)
        assert np.abs(state.forces).max() < 1e-9
        np.testing.assert_allclose(state.stress, tensor, rtol=1e-9, atol=1e-9)
    found = supercool.elastic_moduli(lennard_jones("even-quartic"), frames[1])
    modulus = found.shear_moduli[0] + 0.5 * (found.stress[1, 1] - found.stress[0, 0])
    affine = found.born[0, 1, 0, 1] + found.stress[1, 1]
    assert modulus == pytest.approx(affine - found.non_affine[0, 1, 0, 1], rel=1e-10)
    assert found.non_affine[0, 1, 0, 1] > 1.0, "particles do not follow the strain"
    assert (stress[2] - stress[0]) / 1e-4 == pytest.approx(modulus, rel=2e-3)
    with pytest.raises(ValueError, match="only boxes without one"):
        frames[0].to_ase()


def test_other_programs_take_tilted_frames():
    random = np.random.default_rng(2)
    for box, tilt in (([5.0, 4.0], 0.3), ([5.0, 4.0, 6.0], -0.45)):
        places = random.uniform(-10, 10, (40, len(box)))
        frame = supercool.Frame(positions=places, box=box, tilt=tilt, images=np.zeros_like(places, int))
        np.testing.assert_allclose(frame.unwrapped, places, atol=1e-12)
        skewed = frame.positions @ np.linalg.inv(frame.periods)
        assert skewed.min() > -1e-12 and skewed.max() < 1 + 1e-12
        for program in ("gsd.hoomd", "MDAnalysis", "freud"):
            needed(program)
            there = {"gsd.hoomd": frame.to_gsd, "MDAnalysis": frame.to_mdanalysis, "freud": frame.to_freud}[program]()
            back = supercool.frame(there)
            np.testing.assert_allclose(back.periods, frame.periods, atol=1e-5)
            apart = (back.positions - frame.positions) @ np.linalg.inv(frame.periods)
            np.testing.assert_allclose(apart, np.round(apart), atol=1e-5)
        if len(box) == 3:
            # Distances by the minimum images of MDAnalysis.
            from MDAnalysis.lib.distances import self_distance_array

            distances = self_distance_array(frame.positions, box=frame.to_mdanalysis().dimensions)
            first, second = np.triu_indices(40, 1)
            shifts = np.stack(np.meshgrid(*[range(-2, 3)] * 3), -1).reshape(-1, 3) @ frame.periods
            apart = frame.positions[second] - frame.positions[first]
            expected = np.linalg.norm(apart[:, None] + shifts, axis=2).min(1)
            np.testing.assert_allclose(distances, expected, atol=1e-4)


def test_flips_keep_places():
    frame = supercool.Frame(positions=[[1.0, 3.0]], box=[4.0, 4.0], images=[[2, 3]], tilt=0.45)
    flipped = supercool.Frame(positions=frame.positions, box=frame.box, images=frame.images - [[3, 0]], tilt=1.45)
    assert flipped.tilt == pytest.approx(0.45)
    np.testing.assert_allclose(flipped.unwrapped, frame.unwrapped)
    with pytest.raises(ValueError, match="tilt = nan"):
        supercool.Frame(positions=[[1.0, 3.0]], box=[4.0, 4.0], tilt=np.nan)
    with pytest.raises(ValueError, match="belongs to a box of arrays"):
        supercool.evaluate(lennard_jones("shifted"), frame, tilt=0.1)
