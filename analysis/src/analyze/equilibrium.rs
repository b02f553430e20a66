//! Whether a state point was in equilibrium: what changed in the course of its stages, and how long these are in relaxation times.
use super::course::ENERGIES;
use super::runs::{FS, Run};
use super::{Average, Flag, StatePoint, aging};
use crate::fit::time_of_decay;
use crate::numbers::{short, with_error};
use crate::statistics::Halves;

/// Change of an energy per particle between the halves of a stage, in units of temperature, below which nothing is flagged:
/// relaxation times of fragile liquids change by a per cent with it.
pub const VISIBLE_CHANGE: f64 = 1e-3;
/// Relaxation times that a stage should last.
const ENOUGH: f64 = 10.0;
/// The wave number of the structural relaxation is within this factor of that of the mean distance between particles.
const STRUCTURAL: f64 = 1.5;

/// Flags what was not measured in equilibrium, or over few relaxation times, and says why.
pub(super) fn flag(point: &mut StatePoint, runs: &[Run]) {
    const THEREFORE: &str = "it ages or has not come to rest, and what is averaged over it depends on when it was measured";
    if let Some(what) = change(point, runs).or_else(|| aging::change(runs)) {
        point.notes.push(format!("{what}: {THEREFORE}"));
        point.estimates.iter_mut().for_each(|row| row.flags.push(Flag::NotStationary));
    }
    let durations: Option<Vec<f64>> = runs.iter().map(|run| run.course.duration).collect();
    let Some(duration) = durations.map(|all| all.into_iter().fold(f64::INFINITY, f64::min)) else {
        return;
    };
    let density = runs[0].density();
    let dimension = runs[0].dimension as f64;
    let structural = density.map(|density| std::f64::consts::TAU * density.powf(1.0 / dimension));
    let relaxations: Vec<Relaxation> = point.averages.iter().flat_map(relaxations).collect();
    let of_structure: Vec<&Relaxation> =
        relaxations.iter().filter(|one| one.is_structural(structural, &relaxations)).collect();
    for row in &mut point.estimates {
        let same = |one: &&Relaxation| one.species == row.species;
        let tau = match row.wavenumber {
            Some(_) => relaxations.iter().filter(same).find(|one| one.wavenumber == row.wavenumber),
            None => {
                let longest = |a: &&Relaxation, b: &&Relaxation| a.tau.total_cmp(&b.tau);
                let own = of_structure.iter().copied().find(same);
                own.or_else(|| of_structure.iter().copied().max_by(longest))
            }
        };
        row.flags.extend(tau.and_then(|one| one.flag(duration)));
    }
    point.notes.extend(of_structure.iter().filter_map(|one| one.said(duration)));
}

/// What differs between the halves of the stages, if anything does.
fn change(point: &StatePoint, runs: &[Run]) -> Option<String> {
    let visible = VISIBLE_CHANGE * point.temperature.map_or(0.0, |t| t.value);
    ENERGIES.iter().find_map(|&name| {
        let of = |run: &Run| run.course.energies.iter().find(|(its, _)| *its == name).cloned();
        let all: Vec<Halves> = runs.iter().filter_map(of).map(|(_, halves)| halves).collect();
        let alone = Run::watched_alone(runs).iter().find_map(|run| Some((run, of(run)?.1)).filter(|(_, h)| h.differ(visible)));
        let what = name.replace('_', " ");
        let said = |halves: &Halves| {
            let [first, second] = [halves.first, halves.second].map(|mean| {
                let (value, error) = with_error(mean.value, mean.error);
                format!("{value} +- {error}")
            });
            format!("{first} in the first half, {second} in the second")
        };
        if let Some((run, halves)) = alone {
            let said = said(&halves);
            return Some(format!("{}: {what} {said}", run.file.display()));
        }
        (all.len() > 1 && Halves::differ_together(&all, visible)).then(|| {
            let change = all.iter().map(Halves::change).sum::<f64>() / all.len() as f64;
            let change = short(change);
            format!("{what} changes by {change} from the first to the second half, on average over the runs")
        })
    })
}

/// A time at which `F_s` falls to 1/e, to compare the length of stages with.
struct Relaxation {
    species: String,
    wavenumber: Option<f64>,
    tau: f64,
    /// It has not fallen: of an exponential it would be this time, of anything stretched a longer one.
    at_least: bool,
}

fn relaxations(average: &Average) -> Vec<Relaxation> {
    let of = |curve: &super::AverageCurve| {
        // Every lag counts, also those without errors.
        let crossing = time_of_decay(&average.time, &curve.mean, &[], (-1.0_f64).exp());
        let tau = match crossing {
            Some(crossing) => crossing.time.value,
            None => {
                let measured = |k: &usize| curve.mean[*k].is_finite() && average.time[*k] > 0.0;
                let last = (0..average.time.len()).rfind(measured)?;
                let decay = -curve.mean[last].ln();
                (0.0..1.0).contains(&decay).then(|| average.time[last] / decay)?
            }
        };
        let (species, wavenumber) = (average.species.clone(), curve.wavenumber);
        Some(Relaxation { species, wavenumber, tau, at_least: crossing.is_none() })
    };
    if average.name == FS { average.curves.iter().filter_map(of).collect() } else { Vec::new() }
}

impl Relaxation {
    fn flag(&self, duration: f64) -> Option<Flag> {
        match duration / self.tau {
            ratio if ratio < 1.0 => Some(Flag::ShorterThanTau),
            ratio if ratio < ENOUGH => Some(Flag::ShorterThanTenTau),
            _ => None,
        }
    }

    fn said(&self, duration: f64) -> Option<String> {
        let species = &self.species;
        let at = self.wavenumber.map(|q| format!(" at q = {}", short(q))).unwrap_or_default();
        let least = if self.at_least { "at least " } else { "" };
        let (tau, length) = (short(self.tau), short(duration));
        let what = match self.flag(duration)? {
            Flag::ShorterThanTau => "it cannot have been in equilibrium unless it began there",
            _ => "less than ten of them: errors rest on few relaxations",
        };
        Some(format!(
            "{species}{at}: F_s takes {least}{tau} to fall to 1/e, the stage is {length} long: {what}"
        ))
    }

    /// Whether this is the wave number next to that of the structure, of those of its species.
    fn is_structural(&self, structural: Option<f64>, all: &[Relaxation]) -> bool {
        let off = |one: &Relaxation| Some((one.wavenumber? / structural?).ln().abs());
        let Some(own) = off(self) else { return self.wavenumber.is_none() };
        let others = all.iter().filter(|one| one.species == self.species).filter_map(off);
        own < STRUCTURAL.ln() && others.fold(f64::INFINITY, f64::min) >= own
    }
}
