import numpy as np
import pytest
import supercool
from conftest import needed

needed("scipy.sparse.linalg")

POTENTIAL = {
    "kind": "lennard-jones",
    "cutoff": 2.5,
    "truncation": "even-quartic",
    "pairs": {
        "AA": {"epsilon": 1.0, "sigma": 1.0},
        "AB": {"epsilon": 1.5, "sigma": 0.8},
        "BB": {"epsilon": 0.5, "sigma": 0.88},
    },
}


def configuration(folder, **more):
    species = [{"name": "A", "count": 52}, {"name": "B", "count": 28}]
    cool = {"kind": "bussi", "temperature": {"from": 1.5, "to": 0.2}, "time": 0.2}
    strain = {"mode": "pure-shear", "step": 2e-4, "to": [6e-4, -2e-4], "force_tolerance": 1e-10}
    return {
        "system": {"dimension": 2, "density": 1.2, "seed": 4, "species": species, "initial": {"temperature": 1.5}},
        "potential": POTENTIAL,
        "run": {"engine": "cpu", "precision": "double", "timestep": 0.004, "threads": 1},
        "stage": [
            {"name": "cool", "steps": 500, "thermostat": cool},
            {"name": "strain", "strain": strain, "observe": {"trajectory": 1}},
        ],
        "output": {"directory": str(folder)},
        **more,
    }


def test_the_slope_of_the_stress_is_the_modulus_born_less_non_affine(tmp_path):
    supercool.run(configuration(tmp_path / "out"))
    stage = supercool.open(tmp_path / "out").stages["strain"]
    strain, stress = stage.strain["stress"].strain, stage.strain["stress"].value
    np.testing.assert_allclose(strain, 2e-4 * np.array([0, 1, 2, 3, 2, 1, 0, -1]), atol=1e-18)
    assert len(stage.strain.events["step"]) == 0, "it is elastic"
    # Back along the branch with the same bits.
    energy = stage.strain["potential_energy"].value
    assert list(energy[4:7]) == list(energy[2::-1])
    frame = stage.trajectory[0]
    found = supercool.elastic_moduli(POTENTIAL, frame.positions, frame.box, species=frame.types)
    stiffness = found.stiffness
    modulus = stiffness[0, 0, 0, 0] - stiffness[0, 0, 1, 1] - stiffness[1, 1, 0, 0] + stiffness[1, 1, 1, 1]
    assert modulus == pytest.approx(4 * found.shear_moduli[1], rel=1e-12)
    assert found.non_affine.max() > 1.0, "particles do not follow the strain"
    assert (stress[1] - stress[-1]) / 4e-4 == pytest.approx(modulus, rel=2e-3)
    np.testing.assert_allclose(stage.strain["stress_tensor"].value[0], found.stress, rtol=1e-8)
    # Every frame is a minimum in its own box.
    for frame, of_point in zip(stage.trajectory, energy):
        state = supercool.evaluate(POTENTIAL, frame.positions, frame.box, species=frame.types)
        assert state.energy / 80 == pytest.approx(of_point, rel=1e-12)
        assert np.abs(state.forces).max() < 1e-9


def test_many_systems_have_curves_of_their_own(tmp_path):
    supercool.run(configuration(tmp_path / "out", ensemble={"kind": "independent", "systems": 2}))
    stage = supercool.open(tmp_path / "out").stages["strain"]
    both = np.array([system.strain["stress"].value for system in stage.systems])
    np.testing.assert_allclose(stage.strain["stress"].value, both.mean(0), rtol=1e-12)
    assert stage.strain["stress"].error.shape == (8,)
    assert set(stage.systems[1].strain.events) == set(stage.strain.events)
    assert list(stage.strain) and not list(supercool.open(tmp_path / "out" / "strain.h5").propensity)
