use super::*;
use crate::potential::{Truncation, evaluate_exactly};

/// Of Lennard-Jones.
fn lennard_jones(from: f64, to: f64, count: usize, with_forces: bool) -> Columns {
    let step = (to - from) / (count - 1) as f64;
    let distances: Vec<f64> = (0..count).map(|k| from + step * k as f64).collect();
    let of =
        |power: fn(f64) -> f64| distances.iter().map(|r| power(r.powi(-6))).collect::<Vec<f64>>();
    let energies = of(|inverse| 4.0 * (inverse * inverse - inverse));
    let slopes = of(|inverse| 24.0 * (2.0 * inverse * inverse - inverse));
    let forces = slopes.iter().zip(&distances).map(|(slope, r)| slope / r).collect();
    Columns { distances, energies, forces: with_forces.then_some(forces) }
}

fn pair(number: usize, cutoff: f64) -> PairParameters {
    PairParameters::new(cutoff, [(&TABLE, number as f64)])
}

/// In 64 bits the error is that of the interpolation; in 32 bits the force has that of the squared distance, about 6e-8 times 7, and
/// so has the built-in potential.
#[test]
fn a_table_of_lennard_jones_has_its_forces() {
    let built_in = PairParameters::of_epsilon_and_sigma(1.0, 1.0, 2.5);
    // Steps of the table, whether it has forces, and the error of force and energy that is allowed in 64 bits.
    for (count, with_forces, allowed) in
        [(2001, true, 3e-8), (2001, false, 3e-6), (4001, false, 3e-7), (401, true, 1e-4)]
    {
        let tables = Tables::new(vec![lennard_jones(0.5, 2.5, count, with_forces)]).unwrap();
        let of_table = pair(0, 2.5);
        let in_32 = tables.evaluator::<f32>(&of_table);
        let mut squares = [0.0; 3];
        for k in 0..2000 {
            let r = 0.9 + 0.0008 * f64::from(k);
            for truncation in [Truncation::Shifted, Truncation::EvenQuartic] {
                let expected =
                    evaluate_exactly(PairPotential::LennardJones, &truncation, &built_in, r);
                let found = evaluate_exactly(tables.into(), &truncation, &of_table, r);
                let scale = 1.0 + expected.0.abs();
                assert!(
                    (found.0 - expected.0).abs() < allowed * scale,
                    "{count} {truncation:?} {r}: {found:?} {expected:?}"
                );
                assert!(
                    (found.1 - expected.1).abs() < allowed * scale,
                    "{count} {truncation:?} {r}: {found:?} {expected:?}"
                );
            }
            let (exact, _) =
                evaluate_exactly(PairPotential::LennardJones, &Truncation::Sharp, &built_in, r);
            let narrow = in_32.evaluate((r * r) as f32).0;
            let differences = [exact * r, (f64::from(narrow) - exact) * r];
            for (sum, difference) in squares.iter_mut().zip(differences) {
                *sum += difference * difference;
            }
        }
        if with_forces && count == 2001 {
            let error = (squares[1] / squares[0]).sqrt();
            assert!(error < 3e-7, "{error:e} of the root mean square force in 32 bits");
        }
        let notes = tables.notes(&of_table);
        assert!(notes.contains(&format!("table of {count} distances from 0.5 to 2.5")), "{notes}");
        assert_eq!(tables.inner_maximum(&of_table), Some(0.5));
        let Scale { energy, length } = PairForm::scale(&tables, &of_table);
        assert!(
            (energy - 0.983_683).abs() < 1e-3 && (length - 1.0).abs() < 1e-2,
            "{energy} {length}"
        );
    }
}

#[test]
fn tables_that_begin_at_zero_have_a_contact_energy() {
    let distances: Vec<f64> = (0..=600).map(|k| 0.005 * f64::from(k)).collect();
    let energies = distances.iter().map(|r| (-r * r).exp()).collect();
    let tables = Tables::new(vec![Columns { distances, energies, forces: None }]).unwrap();
    let of_table = pair(0, 3.0);
    assert_eq!(tables.inner_maximum(&of_table), None);
    let evaluator = tables.evaluator::<f64>(&of_table);
    assert_eq!(evaluator.contact_energy(), Some(1.0));
    for k in 1..300 {
        let r = 0.01 * f64::from(k);
        let (force, energy) = evaluator.evaluate(r * r);
        let exact = (-r * r).exp();
        // The end of the spline is that of five points 0.005 apart: 3e-11 of the slope.
        assert!(
            (energy - exact).abs() < 1e-9 && (force - 2.0 * exact).abs() * r < 1e-7,
            "{r}: {force} {energy}"
        );
    }
}

#[test]
fn several_tables_stand_behind_each_other() {
    let (one, two) = (lennard_jones(0.5, 2.5, 1001, true), lennard_jones(0.3, 3.0, 2001, true));
    let tables = Tables::new(vec![one.clone(), two.clone()]).unwrap();
    for (number, columns) in [one, two].into_iter().enumerate() {
        let alone = Tables::new(vec![columns]).unwrap();
        for k in 0..150 {
            let r2 = 0.7 + 0.03 * f64::from(k);
            let (force, energy) = tables.evaluator::<f64>(&pair(number, 2.5)).evaluate(r2);
            let expected = alone.evaluator::<f64>(&pair(0, 2.5)).evaluate(r2);
            // Octaves may be divided more often there.
            assert!((force - expected.0).abs() < 1e-6 * (1.0 + force.abs()), "{number} {r2}");
            assert!((energy - expected.1).abs() < 1e-6 * (1.0 + energy.abs()), "{number} {r2}");
        }
    }
    let json = serde_json::to_string(&PairPotential::from(tables)).unwrap();
    assert_eq!(serde_json::from_str::<PairPotential>(&json).unwrap(), tables.into());
}

#[test]
fn forces_that_are_no_derivative_are_refused() {
    let mut columns = lennard_jones(0.8, 2.5, 500, true);
    let forces = columns.forces.as_mut().unwrap();
    forces.iter_mut().for_each(|force| *force = -*force);
    let (number, message) = Tables::new(vec![columns.clone()]).unwrap_err();
    assert!(number == 0 && message.contains("the third column is F = -U'(r)"), "{message}");
    // Energies with six digits are fine.
    columns.energies.iter_mut().for_each(|energy| *energy = (*energy * 1e6).round() * 1e-6);
    columns.forces.as_mut().unwrap().iter_mut().for_each(|force| *force = -*force);
    assert!(Tables::new(vec![columns]).is_ok());
    let tables = Tables::new(vec![lennard_jones(0.8, 2.5, 500, true)]).unwrap();
    let fault = |cutoff: f64| PairForm::fault(&tables, &pair(0, cutoff)).map(|fault| fault.message);
    assert!(fault(2.5).is_none());
    assert_eq!(fault(2.6).unwrap(), "2.6 is beyond the table, which ends at 2.5");
    assert_eq!(fault(0.7).unwrap(), "0.7 is before the table, which begins at 0.8");
}
