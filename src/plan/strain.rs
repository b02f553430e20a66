//! Athermal quasi-static strain: the box in which a stage finds minima, point by point.
use serde::{Deserialize, Serialize};

use super::{InherentStructuresPlan, Plan};
use crate::arithmetic::elementary::exp_f64;
use crate::system::{SimulationBox, round_tilt};

/// How the box changes with the strain `e`, from the edges `L` that it has at the start of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrainMode {
    /// `L_x exp(e)` and `L_y exp(-e)`: the volume stays. Stress `s_xx - s_yy`.
    PureShear,
    /// The tilt of x along y grows by `e L_y / L_x`, as in a flow `dx/dt ~ y`; beyond 1/2 the box is flipped. Stress `s_xy`.
    SimpleShear,
    /// The volume is `V exp(-e)`, and the box keeps its shape. Stress: the pressure `p`.
    Compression,
    /// The volume is `V exp(-e)`, and only this edge changes: `L_a exp(-e)`. Stress `-s_aa`.
    UniaxialCompression(usize),
}

impl StrainMode {
    /// The box at a strain. At zero it is `reference` to the bit, whose tilt stays (as a fraction of the edge along x) or is added to.
    pub fn box_at(self, reference: &SimulationBox, strain: f64) -> SimulationBox {
        let tilt = self.tilt_at(reference, strain);
        let dimension = reference.dimension();
        let exponent = |axis: usize| match self {
            StrainMode::PureShear => [strain, -strain, 0.0][axis],
            StrainMode::SimpleShear => 0.0,
            StrainMode::Compression => -strain / dimension as f64,
            StrainMode::UniaxialCompression(along) if along == axis => -strain,
            StrainMode::UniaxialCompression(_) => 0.0,
        };
        let edges = reference.edges().iter().enumerate();
        let edges: Vec<f64> = edges.map(|(axis, edge)| edge * exp_f64(exponent(axis))).collect();
        SimulationBox::new(&edges).with_tilt(SimulationBox::nearest_tilt(tilt))
    }

    /// The tilt at a strain as it grows, without flips.
    fn tilt_at(self, reference: &SimulationBox, strain: f64) -> f64 {
        let [x, y, _] = reference.padded_edges();
        match self {
            StrainMode::SimpleShear => reference.tilt() + round_tilt(strain * (y / x)),
            _ => reference.tilt(),
        }
    }

    /// The stress `s` of this strain, of the stress tensor, in which tension is positive: along elastic branches `dU/de = V s`.
    pub fn stress(self, stress: &[[f64; 3]; 3], dimension: usize) -> f64 {
        match self {
            StrainMode::PureShear => stress[0][0] - stress[1][1],
            StrainMode::SimpleShear => stress[0][1],
            StrainMode::Compression => {
                let trace: f64 = (0..dimension).map(|axis| stress[axis][axis]).sum();
                -trace / dimension as f64
            }
            StrainMode::UniaxialCompression(axis) => -stress[axis][axis],
        }
    }

    /// What the strain is, and its stress, for files.
    pub fn formulas(self) -> [String; 2] {
        match self {
            StrainMode::PureShear => [
                "pure shear: L_x = L_x(0) exp(e), L_y = L_y(0) exp(-e)".to_owned(),
                "s_xx - s_yy".to_owned(),
            ],
            StrainMode::SimpleShear => {
                ["simple shear: x = x(0) + e y, a tilt".to_owned(), "s_xy".to_owned()]
            }
            StrainMode::Compression => {
                ["compression: V = V(0) exp(-e), in the same shape".to_owned(), "p".to_owned()]
            }
            StrainMode::UniaxialCompression(axis) => {
                let axis = ["x", "y", "z"][axis];
                let strain = format!("compression along {axis}: L_{axis} = L_{axis}(0) exp(-e)");
                [strain, format!("-s_{axis}{axis}")]
            }
        }
    }
}

/// A box that is too narrow along x for the tilts of a strain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NarrowForStrain {
    edge: f64,
    tilt: f64,
    needed: f64,
    reach: f64,
}

impl NarrowForStrain {
    pub fn message(&self) -> String {
        let NarrowForStrain { edge, tilt, reach, .. } = self;
        format!(
            "the edge along x, {edge:.4}, is too short for a tilt of {tilt:.4}: lists of descents reach {reach:.4} (cutoff and skin)"
        )
    }

    pub fn help(&self) -> String {
        format!("an edge of at least {:.4}, or a smaller strain", self.needed)
    }
}

impl Plan {
    /// Whether the box is too narrow for the tilts of a stage of strain: `L_x >= 2 R (1 + |u| L_x / L_y)` at all of them, where `R` is the
    /// `reach` of the lists of descents.
    pub fn narrow_for_strain(&self, stage: usize, reach: f64) -> Option<NarrowForStrain> {
        let strain = self.stages[stage].strain.as_ref()?;
        let reference = self.at_stage(stage).system.simulation_box;
        let tilt = strain.largest_tilt(&reference);
        if tilt == 0.0 {
            return None;
        }
        let at = |multiple: i64| {
            let [x, y, _] = strain.mode.box_at(&reference, strain.strain(multiple)).padded_edges();
            let needed = 2.0 * reach * (1.0 + tilt * x / y);
            NarrowForStrain { edge: x, tilt, needed, reach }
        };
        let boxes = strain.turns.iter().copied().chain([0]).map(at);
        boxes.into_iter().find(|of| of.edge < of.needed)
    }
}

/// Strain in steps, with a descent to a minimum after each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrainPlan {
    pub mode: StrainMode,
    /// All points are whole multiples of it.
    pub step: f64,
    /// Where legs end, in steps; the first one starts from zero.
    pub turns: Vec<i64>,
    /// Plastic events are timed to this strain by halving the step; `None`: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halve_to: Option<f64>,
    /// An event is a step in which the energy per particle comes out lower than `V s de / N` says, by more than this.
    pub event_threshold: f64,
    pub descent: InherentStructuresPlan,
}

impl StrainPlan {
    /// Points of all legs after the first one, which has no strain.
    pub fn steps(&self) -> u64 {
        self.legs().map(|[from, to]| from.abs_diff(to)).sum()
    }

    fn legs(&self) -> impl Iterator<Item = [i64; 2]> {
        let starts = std::iter::once(0).chain(self.turns.iter().copied());
        starts.zip(&self.turns).map(|(from, &to)| [from, to])
    }

    /// The strain after a step of the stage, as a multiple of the step of strain.
    pub fn multiple(&self, mut step: u64) -> i64 {
        for [from, to] in self.legs() {
            let length = from.abs_diff(to);
            if step <= length {
                return from + (to - from).signum() * step as i64;
            }
            step -= length;
        }
        self.turns.last().copied().unwrap_or(0)
    }

    /// The strain of a multiple.
    pub fn strain(&self, multiple: i64) -> f64 {
        self.step * multiple as f64
    }

    /// The box after a step of a stage that has begun in another one.
    pub fn box_after(&self, step: u64, reference: &SimulationBox) -> SimulationBox {
        self.mode.box_at(reference, self.strain(self.multiple(step)))
    }

    /// Whether it leaves another tilt behind.
    pub fn shears(&self) -> bool {
        self.mode == StrainMode::SimpleShear && self.turns.last().is_some_and(|&last| last != 0)
    }

    /// Whether the box may have a tilt in the course of a stage that has begun in another one.
    pub fn may_tilt(&self, reference: &SimulationBox) -> bool {
        self.mode == StrainMode::SimpleShear || reference.is_tilted()
    }

    /// The largest magnitude of the tilt on the way: 1/2 where the box is flipped.
    pub fn largest_tilt(&self, reference: &SimulationBox) -> f64 {
        let strains = self.turns.iter().map(|&turn| self.strain(turn)).chain([0.0]);
        let tilts = strains.map(|strain| self.mode.tilt_at(reference, strain));
        let magnitude = tilts.map(f64::abs).fold(0.0, f64::max);
        magnitude.min(0.5)
    }

    /// Whether another leg comes after the one that a step ends in.
    pub fn turns_after(&self, step: u64) -> bool {
        let last = self.legs().last().map_or(0, |[from, to]| from.abs_diff(to));
        step <= self.steps() - last
    }

    /// How often the step can be halved.
    pub fn halvings(&self) -> u32 {
        self.halve_to.map_or(0, |to| (self.step / to).log2().ceil().max(0.0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(turns: &[i64]) -> StrainPlan {
        StrainPlan {
            mode: StrainMode::PureShear,
            step: 1e-3,
            turns: turns.to_vec(),
            halve_to: Some(1e-6),
            event_threshold: 1e-5,
            descent: InherentStructuresPlan {
                every: 1,
                force_tolerance: 1e-8,
                maximum_iterations: 100,
                timestep: 0.002,
            },
        }
    }

    #[test]
    fn legs_lead_from_turn_to_turn() {
        let cycle = plan(&[3, -2, 0]);
        assert_eq!(cycle.steps(), 10);
        let multiples: Vec<i64> = (0..=10).map(|step| cycle.multiple(step)).collect();
        assert_eq!(multiples, [0, 1, 2, 3, 2, 1, 0, -1, -2, -1, 0]);
        let turns: Vec<bool> = (0..=10).map(|step| cycle.turns_after(step)).collect();
        assert_eq!(turns.iter().filter(|&&turn| turn).count(), 9, "up to the last turn");
        assert_eq!(plan(&[-4]).multiple(4), -4);
        assert!(!plan(&[-4]).turns_after(1));
        assert_eq!(cycle.halvings(), 10);
    }

    #[test]
    fn pure_shear_keeps_the_volume_and_compression_gives_the_density() {
        let reference = SimulationBox::new(&[7.0, 8.0, 9.0]);
        let volume = reference.volume();
        let sheared = StrainMode::PureShear.box_at(&reference, 0.1);
        assert!((sheared.volume() / volume - 1.0).abs() < 1e-15);
        assert!((sheared.edges()[0] / 7.0 - 0.1_f64.exp()).abs() < 1e-15);
        for mode in [StrainMode::Compression, StrainMode::UniaxialCompression(1)] {
            let compressed = mode.box_at(&reference, 0.1);
            assert!((compressed.volume() / volume - (-0.1_f64).exp()).abs() < 1e-15);
            assert_eq!(mode.box_at(&reference, 0.0), reference);
        }
        let tilted = reference.with_tilt(0.25);
        assert_eq!(StrainMode::PureShear.box_at(&tilted, 0.1), sheared.with_tilt(0.25));
        let uniaxial = StrainMode::UniaxialCompression(1).box_at(&reference, 0.1);
        assert_eq!([uniaxial.edges()[0], uniaxial.edges()[2]], [7.0, 9.0]);
    }

    #[test]
    fn simple_shear_tilts_the_box_and_flips_it_beyond_half_an_edge() {
        let reference = SimulationBox::new(&[4.0, 8.0, 9.0]);
        let tilt = |from: &SimulationBox, strain| {
            let sheared = StrainMode::SimpleShear.box_at(from, strain);
            assert_eq!(sheared.edges(), from.edges());
            sheared.tilt()
        };
        assert_eq!(StrainMode::SimpleShear.box_at(&reference, 0.0), reference);
        assert_eq!(tilt(&reference, 0.125), 0.25);
        assert_eq!(tilt(&reference, 0.25), 0.5);
        assert_eq!(tilt(&reference, 0.375), -0.25);
        assert_eq!(tilt(&reference, -1.125), -0.25);
        // It adds to a tilt that is there, which stays to the bit where there is no strain.
        for before in [0.375, -0.5, 0.5] {
            let from = reference.with_tilt(before);
            assert_eq!(StrainMode::SimpleShear.box_at(&from, 0.0), from);
        }
        assert_eq!(tilt(&reference.with_tilt(0.375), 0.125), -0.375);
        let plan = |turns: &[i64]| StrainPlan { mode: StrainMode::SimpleShear, ..plan(turns) };
        assert!((plan(&[50, -100]).largest_tilt(&reference) - 0.2).abs() < 1e-15);
        assert_eq!(plan(&[300]).largest_tilt(&reference), 0.5);
        assert!((plan(&[50]).largest_tilt(&reference.with_tilt(-0.25)) - 0.25).abs() < 1e-15);
    }
}
