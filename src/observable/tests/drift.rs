//! Motion of the centre of mass in what is correlated.
use supercool_analysis::drift::Drift;

use super::super::trajectories::{context, langevin_gas};
use super::*;

/// Of particles in a Langevin thermostat the displacement is that relative to the centre of mass and that of the centre;
/// `F_s` is the product of both. Files say which is meant.
#[test]
fn a_langevin_thermostat_adds_the_motion_of_the_center_of_mass() {
    // A shell of one length.
    let (count, temperature, interval, samples) = (8, 0.7, 0.5, 40_000);
    let mut context = context(&[6.0; 3], &[count], samples - 1);
    context.timestep = interval;
    let observables = vec![
        DynamicObservable::MeanSquareDisplacement,
        DynamicObservable::SelfIntermediateScatteringFunction,
        DynamicObservable::CageRelativeMeanSquareDisplacement,
    ];
    let of_laboratory = CorrelationPlan { observables, species: vec![0], ..plan(1, 6, 1, &[1.05]) };
    let of_center = CorrelationPlan { remove_drift: true, ..of_laboratory.clone() };
    let walk =
        langevin_gas(&context, &mut StdRng::seed_from_u64(9), temperature, interval, samples);
    let [laboratory, center] = [&of_laboratory, &of_center].map(|plan| {
        let correlations = correlate(plan, &context, &walk);
        (correlations.layouts(), correlations.results())
    });
    let drift = Drift::of(
        &serde_json::json!({
            "system": {
                "simulation_box": context.simulation_box,
                "species": [{"count": count, "mass": 1.0}],
            },
            "stages": [{
                "name": "thermostat",
                "thermostat": {"kind": "langevin", "friction": 1.0,
                    "temperature": {"from": temperature, "to": temperature}},
                "correlations": [of_laboratory],
            }],
        }),
        "thermostat",
    );
    let drift = drift.expect("displacements contain it");
    let wavenumber = laboratory.0[1].axes[0].values[0];
    for (index, time) in laboratory.0[0].axis(AxisName::Time).unwrap().iter().enumerate().skip(1) {
        let value = |of: &[Series], which: usize| of[which].value[index];
        let gained = value(&laboratory.1, 0) - value(&center.1, 0);
        let exact = drift.mean_square_displacement(*time);
        assert!((gained / exact - 1.0).abs() < 0.05, "t = {time}: {gained}, not {exact}");
        let decay = (value(&center.1, 1) / value(&laboratory.1, 1)).ln();
        let exact = drift.decay(wavenumber, *time);
        assert!((decay / exact - 1.0).abs() < 0.05, "t = {time}: {decay}, not {exact}");
    }
    let marked = |layouts: &[SeriesLayout]| -> Vec<bool> {
        layouts
            .iter()
            .map(|layout| layout.formula.contains("relative to the centre of mass"))
            .collect()
    };
    assert_eq!(marked(&laboratory.0), [false; 3]);
    assert_eq!(marked(&center.0), [true, true, false]);
}
