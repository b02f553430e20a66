//! The same pair potential as it is built in, as a formula and as tables.
use crate::potential::{
    Columns, EPSILON, Formula, PairParameters, PairPotential, PotentialPlan, SIGMA, TABLE, Tables,
    Truncation, evaluate_exactly,
};

/// How the potential is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WrittenAs {
    /// As the model has it.
    BuiltIn,
    /// With `kind = "formula"`.
    Formula,
    /// With `kind = "table"`, of energies and forces in steps of 0.001 from 0.4 sigma on.
    Table,
}

const STEP: f64 = 0.001;
const CLOSEST: f64 = 0.4;

impl WrittenAs {
    /// A plan of Lennard-Jones or an inverse power in this form.
    pub fn of(self, plan: PotentialPlan) -> PotentialPlan {
        match self {
            WrittenAs::BuiltIn => plan,
            WrittenAs::Formula => {
                let text = match plan.form {
                    PairPotential::InversePower { n } => format!("epsilon*(sigma/r)^{n}"),
                    _ => "4*epsilon*((sigma/r)^12 - (sigma/r)^6)".to_owned(),
                };
                let form = Formula::new(&text).expect("it is one").into();
                let pair = |of: &PairParameters| {
                    let values = [of.of(&EPSILON), of.of(&SIGMA)];
                    PairParameters::of_form(form, of.cutoff, &values)
                };
                PotentialPlan { pairs: each(&plan, pair), form, ..plan }
            }
            WrittenAs::Table => {
                let mut tables: Vec<Columns> = Vec::new();
                let mut pair = |of: &PairParameters| {
                    let columns = columns(plan.form, of);
                    let known = tables.iter().position(|other| *other == columns);
                    let number = known.unwrap_or_else(|| {
                        tables.push(columns);
                        tables.len() - 1
                    });
                    PairParameters::new(of.cutoff, [(&TABLE, number as f64)])
                };
                let pairs = each(&plan, &mut pair);
                let form = Tables::new(tables).expect("forces are derivatives").into();
                PotentialPlan { pairs, form, ..plan }
            }
        }
    }
}

fn each(
    plan: &PotentialPlan,
    mut pair: impl FnMut(&PairParameters) -> PairParameters,
) -> Vec<Vec<PairParameters>> {
    plan.pairs.iter().map(|row| row.iter().map(&mut pair).collect()).collect()
}

fn columns(form: PairPotential, pair: &PairParameters) -> Columns {
    let (from, to) = (CLOSEST * pair.of(&SIGMA), pair.cutoff);
    let count = ((to - from) / STEP).ceil() as usize;
    let distance = |k: usize| from + (to - from) * k as f64 / count as f64;
    let distances: Vec<f64> = (0..=count).map(distance).collect();
    // At the cutoff the potential is already cut.
    let endless = pair.with_cutoff(2.0 * to);
    let at = |r: &f64| evaluate_exactly(form, &Truncation::Sharp, &endless, *r);
    Columns {
        energies: distances.iter().map(|r| at(r).1).collect(),
        forces: Some(distances.iter().map(|r| at(r).0 * r).collect()),
        distances,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_are_the_same_potential() {
        let pair =
            |epsilon, sigma: f64| PairParameters::of_epsilon_and_sigma(epsilon, sigma, 2.5 * sigma);
        let (aa, ab, bb) = (pair(1.0, 1.0), pair(1.5, 0.8), pair(0.5, 0.88));
        let plan = PotentialPlan {
            form: PairPotential::LennardJones,
            truncation: Truncation::Shifted,
            pairs: vec![vec![aa, ab], vec![ab, bb]],
            diameters: None,
        };
        for written in [WrittenAs::Formula, WrittenAs::Table] {
            let other = written.of(plan.clone());
            for (a, b) in [(0, 0), (0, 1), (1, 1)] {
                let sigma = plan.pairs[a][b].of(&SIGMA);
                for k in 0..160 {
                    let r = sigma * (0.9 + 0.01 * f64::from(k));
                    let at = |plan: &PotentialPlan| {
                        evaluate_exactly(plan.form, &plan.truncation, &plan.pairs[a][b], r)
                    };
                    let (expected, found) = (at(&plan), at(&other));
                    let scale = 1.0 + expected.0.abs();
                    assert!((found.0 - expected.0).abs() < 1e-7 * scale, "{written:?} {r}");
                    assert!((found.1 - expected.1).abs() < 1e-7 * scale, "{written:?} {r}");
                }
            }
        }
    }
}
