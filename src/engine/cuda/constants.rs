//! What `kernels/run.cuh` shares with the host: `Constants` of the policies (`kernels/precision`), `PairEntry` of a pair of
//! species (`kernels/potential/truncation.cuh`), and numbers by name.
use std::marker::PhantomData;

use super::declare::{
    Declared, DeviceType, Named, Plain, SharedHeader, device_constants, device_struct,
    shared_header,
};
use super::layout::Layout;
use crate::arithmetic::random::Purpose;
use crate::arithmetic::{self, Real, fixed_point};
use crate::engine::pair_core::{Limits, core_distances, core2};
use crate::engine::precision::{Double, DoubleSingles, FixedPoint, Floats, Policy, Single};
use crate::potential::{
    FormVisitor, KernelHeader, PairForm, PairUnits, PotentialPlan, Truncated, TruncationKind,
};
use crate::system::{SimulationBox, Species};

/// A policy that the kernels have too.
pub trait DevicePolicy: Policy<Real: DeviceType + Named> {
    /// Name of its struct in the kernels.
    const NAME: &'static str;

    /// `NAME::Constants`.
    fn constants(&self) -> Layout;

    /// A force from its bits, which are those of a velocity.
    fn force_from_bits(bits: u64) -> Self::Force;
}

impl<F: Real + DeviceType + Named> DevicePolicy for Floats<F> {
    const NAME: &'static str = if F::WIDE { "Double" } else { "Single" };

    fn force_from_bits(bits: u64) -> F {
        F::from_bits(bits)
    }

    fn constants(&self) -> Layout {
        Layout::default()
            .with("edges", &[], self.edges)
            .with("inv_edges", &[], self.inv_edges)
            .with("timestep", &[], self.timestep)
            .with_array("half_kick", "SPECIES_COUNT", HALF_KICK, &self.half_kick)
    }
}

device_struct! {
    /// The number hi + lo.
    struct DoubleSingle {
        hi: f32,
        lo: f32,
    }
}

impl From<arithmetic::DoubleSingle> for DoubleSingle {
    fn from(x: arithmetic::DoubleSingle) -> Self {
        DoubleSingle { hi: x.hi(), lo: x.lo() }
    }
}

impl DevicePolicy for DoubleSingles {
    const NAME: &'static str = "DoubleSingles";

    fn force_from_bits(bits: u64) -> arithmetic::DoubleSingle {
        arithmetic::DoubleSingle::from_bits(bits)
    }

    fn constants(&self) -> Layout {
        let half_kick: Vec<DoubleSingle> = self.half_kick.iter().map(|&x| x.into()).collect();
        Layout::default()
            .with("edges", &[], self.edges.map(DoubleSingle::from))
            .with("inv_edges", &[], self.inv_edges.map(DoubleSingle::from))
            .with("site_length", SITE_LENGTH, self.site_length)
            .with(
                "relative_length",
                &["The same in lengths of the first axis' unit, and the inverse of that one."],
                self.relative_length,
            )
            .with("inv_site_length", &[], self.inv_site_length)
            .with("timestep", &[], DoubleSingle::from(self.timestep))
            .with_array("half_kick", "SPECIES_COUNT", HALF_KICK, &half_kick)
    }
}

device_struct! {
    /// The number multiplier / 2^shift.
    struct Ratio {
        multiplier: u64,
        shift: u32,
        unused: u32,
    }
}

impl From<fixed_point::Ratio> for Ratio {
    fn from(ratio: fixed_point::Ratio) -> Self {
        Ratio { multiplier: ratio.multiplier, shift: ratio.shift, unused: 0 }
    }
}

impl DevicePolicy for FixedPoint {
    const NAME: &'static str = "FixedPoint";

    fn force_from_bits(bits: u64) -> i64 {
        bits as i64
    }

    fn constants(&self) -> Layout {
        let mass_ratio: Vec<Ratio> = self
            .mass_ratio
            .iter()
            .map(|ratio| ratio.map(Ratio::from).unwrap_or_default())
            .collect();
        Layout::default()
            .with("edges", &[], self.edges)
            .with(
                "velocity_quantum",
                &["Reduced units of one velocity increment, and of one quantum of force."],
                [0, 1, 2].map(|axis| self.velocity_quantum(axis)),
            )
            .with("force_quantum", &[], [0, 1, 2].map(|axis| self.force_quantum(axis)))
            .with("timestep", &[], self.timestep)
            .with("site_length", SITE_LENGTH, self.site_length)
            .with(
                "relative_length",
                &["The same in lengths of the first axis' unit."],
                self.relative_length,
            )
            .with("impulse_factor", &["dt^2 2^31 / (m0 2^shift)."], self.impulse_factor)
            .with("inv_impulse_factor", &[], self.inv_impulse_factor)
            .with("shift", &[], self.shift)
            .with_array(
                "mass_ratio",
                "SPECIES_COUNT",
                &["m0 / m of each species; multiplier 0 stands for the lightest."],
                &mass_ratio,
            )
    }
}

const HALF_KICK: &[&str] = &["dt / (2 m) of each species."];
const SITE_LENGTH: &[&str] = &["Length of one unit of the site along each axis."];

/// `NAMEConstants` of the kernels.
struct ConstantsOf<P>(PhantomData<P>);

impl<P: DevicePolicy> Declared for ConstantsOf<P> {
    fn declaration() -> String {
        // Of any system: they have the same names and types.
        let species = Species { name: String::new(), count: 1, mass: 1.0 };
        let policy = P::new(&SimulationBox::new(&[1.0; 3]), 1.0, &[species]);
        policy.constants().declaration(&format!("{}Constants", P::NAME))
    }
}

device_constants! {
    /// What a random number is for.
    mod purpose: u32 {
        PURPOSE_ANDERSEN_VELOCITY = Purpose::AndersenVelocity as u32;
        PURPOSE_LANGEVIN = Purpose::Langevin as u32;
        PURPOSE_BUSSI = Purpose::Bussi as u32;
        PURPOSE_SWAP = Purpose::Swap as u32;
    }
}

device_constants! {
    /// How a truncation enters the pair loop.
    mod truncation: i32 {
        /// Sharp and shifted: the force is that of the bare potential.
        TRUNCATION_SHIFTED = TruncationKind::Shifted as i32;
        TRUNCATION_FORCE_SHIFTED = TruncationKind::ForceShifted as i32;
        TRUNCATION_EVEN_QUARTIC = TruncationKind::EvenQuartic as i32;
        TRUNCATION_SMOOTH = TruncationKind::Smooth as i32;
    }
}

shared_header!(SINGLE = "shared/single_constants.cuh": ConstantsOf<Single>);
shared_header!(DOUBLE = "shared/double_constants.cuh": ConstantsOf<Double>);
shared_header!(DOUBLE_SINGLE = "shared/double_single.cuh": DoubleSingle);
shared_header!(DOUBLE_SINGLES = "shared/double_singles_constants.cuh": ConstantsOf<DoubleSingles>);
shared_header!(FIXED_POINT = "shared/fixed_point_constants.cuh": Ratio, ConstantsOf<FixedPoint>);
shared_header!(PURPOSES = "shared/purposes.cuh": purpose::Declaration);
shared_header!(TRUNCATIONS = "shared/truncations.cuh": truncation::Declaration);
/// Of programs over `kernels/run.cuh`.
pub const SHARED: [SharedHeader; 7] =
    [SINGLE, DOUBLE, DOUBLE_SINGLE, DOUBLE_SINGLES, FIXED_POINT, PURPOSES, TRUNCATIONS];

/// The interactions of all pairs of species in the kernels' form.
#[derive(Clone, Debug)]
pub struct PairTable {
    /// Header of the evaluator in the kernels.
    pub header: KernelHeader,
    /// Its type there, such as `LennardJones<float>`.
    pub evaluator: String,
    pub truncation: TruncationKind,
    /// One `PairEntry` per ordered pair, `[species of the particle][species of the neighbour]`.
    pub entries: Vec<Layout>,
    /// Whether the potential is smoothed and the pairs have [`Truncated::common_constants`] in common.
    pub have_common_constants: bool,
    /// The least [`Truncated::saturates_within`] of the pairs, as a length.
    pub saturates_within: f64,
}

impl PairTable {
    pub fn new<P: DevicePolicy>(policy: &P, potential: &PotentialPlan) -> Self {
        let cores = core_distances(&Limits::of(policy), potential);
        potential.form.visit(TableOf { policy, potential, cores: &cores })
    }

    fn of<P: DevicePolicy, F: PairForm>(
        policy: &P,
        potential: &PotentialPlan,
        cores: &[f64],
        form: &F,
    ) -> Self {
        let mut common = Vec::new();
        let mut saturates_within = f64::INFINITY;
        let unit =
            PairUnits::of::<P::Real>(potential.truncation.kind(), policy.pair_units()).length;
        let layout = |constants: Vec<(String, P::Real)>| {
            constants.into_iter().fold(Layout::default(), |layout, (name, value)| {
                assert!(value.to_f64().is_finite(), "{name} is {}", value.to_f64());
                layout.with(format!("interaction.{name}"), &[], value)
            })
        };
        let entries: Vec<Layout> = potential
            .pairs
            .iter()
            .flatten()
            .zip(cores)
            .map(|(pair, &core)| {
                let truncated: Truncated<P::Real, F::Evaluator<P::Real>> =
                    Truncated::new(form, pair, &potential.truncation, policy.pair_units());
                common.push(layout(truncated.common_constants()).bytes());
                saturates_within = saturates_within.min(truncated.saturates_within() * unit);
                let core2 = core2(policy, potential, core);
                layout(truncated.constants()).with("core2", &[], core2)
            })
            .collect();
        PairTable {
            header: form.header::<P::Real>(),
            evaluator: form.kernel_type().replace("<R", &format!("<{}", P::Real::name())),
            truncation: potential.truncation.kind(),
            entries,
            have_common_constants: potential.truncation.kind() == TruncationKind::Smooth
                && common.iter().all(|first| *first == common[0]),
            saturates_within,
        }
    }

    /// The entries as they lie in memory, with given cores of the pairs: the same at less cost.
    pub fn bytes<P: DevicePolicy>(policy: &P, potential: &PotentialPlan, cores: &[f64]) -> Vec<u8> {
        potential.form.visit(BytesOf(TableOf { policy, potential, cores }))
    }

    /// That `Pair` of the kernels is an entry.
    pub fn assertions(&self) -> String {
        self.entries[0].assertions("Pair")
    }

    /// Value of the macro `TRUNCATION`.
    pub fn truncation_name(&self) -> &'static str {
        match self.truncation {
            TruncationKind::Shifted => "TRUNCATION_SHIFTED",
            TruncationKind::ForceShifted => "TRUNCATION_FORCE_SHIFTED",
            TruncationKind::EvenQuartic => "TRUNCATION_EVEN_QUARTIC",
            TruncationKind::Smooth => "TRUNCATION_SMOOTH",
        }
    }
}

struct TableOf<'a, P> {
    policy: &'a P,
    potential: &'a PotentialPlan,
    cores: &'a [f64],
}

/// The same, of its bytes alone.
struct BytesOf<'a, P>(TableOf<'a, P>);

impl<P: DevicePolicy> FormVisitor for BytesOf<'_, P> {
    type Output = Vec<u8>;

    fn visit<F: PairForm>(self, form: F) -> Vec<u8> {
        let TableOf { policy, potential, cores } = self.0;
        let mut bytes = Vec::new();
        for (pair, &core) in potential.pairs.iter().flatten().zip(cores) {
            let truncated: Truncated<P::Real, F::Evaluator<P::Real>> =
                Truncated::new(&form, pair, &potential.truncation, policy.pair_units());
            let core2 = core2(policy, potential, core);
            for value in truncated.values().chain([core2]) {
                assert!(value.to_f64().is_finite(), "a constant is {}", value.to_f64());
                bytes.extend_from_slice(value.bytes());
            }
        }
        bytes
    }
}

impl<P: DevicePolicy> FormVisitor for TableOf<'_, P> {
    type Output = PairTable;

    fn visit<F: PairForm>(self, form: F) -> PairTable {
        PairTable::of(self.policy, self.potential, self.cores, &form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_are_those_of_the_entries<P: DevicePolicy>(potential: &PotentialPlan) {
        let species = Species { name: String::new(), count: 1, mass: 1.0 };
        let policy = P::new(&SimulationBox::new(&[9.3, 11.1, 10.0]), 0.004, &[species]);
        let cores = core_distances(&Limits::of(&policy), potential);
        let table = PairTable::new(&policy, potential);
        let of_entries: Vec<u8> = table.entries.iter().flat_map(Layout::bytes).collect();
        assert!(!of_entries.is_empty());
        assert_eq!(of_entries, PairTable::bytes(&policy, potential, &cores));
    }

    #[test]
    fn constants_of_pairs_are_the_same_with_and_without_names() {
        for truncation in ["\"shifted\"", "\"even-quartic\"", "{ kind = \"smooth\", width = 0.05 }"]
        {
            let plan = format!(
                r#"
[system]
dimension = 3
density = 0.8
species = [{{ name = "A", count = 400 }}, {{ name = "B", count = 100 }}]
initial = {{ lattice = "fcc", temperature = 1.0 }}
[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = {truncation}
pairs = {{ AA = {{ epsilon = 1.0, sigma = 1.0 }}, AB = {{ epsilon = 1.5, sigma = 0.8 }}, BB = {{ epsilon = 0.5, sigma = 0.88 }} }}
[run]
timestep = 0.004
[[stage]]
name = "nve"
steps = 1
"#
            );
            let potential = crate::config::parse(&plan, "pairs").unwrap().potential;
            bytes_are_those_of_the_entries::<FixedPoint>(&potential);
            bytes_are_those_of_the_entries::<DoubleSingles>(&potential);
            bytes_are_those_of_the_entries::<Double>(&potential);
        }
    }
}
