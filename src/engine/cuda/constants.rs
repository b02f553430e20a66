//! The constants of a run as the kernels' structs hold them: `Constants` of a policy
//! (`kernels/precision`) and `PairEntry` of a pair of species (`kernels/potential/truncation.cuh`).
use crate::arithmetic::{DoubleSingle, Real};
use crate::engine::pair_core::{core_distance, core2};
use crate::engine::precision::{DoubleSingles, FixedPoint, Floats, Policy};
use crate::potential::{
    FormVisitor, PairForm, PairUnits, PotentialPlan, Truncated, TruncationKind,
};

/// A struct of the kernels with its values: as bytes for the device's memory, and as text of a C++
/// initialiser, with which the compiler folds them into the code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceStruct {
    bytes: Vec<u8>,
    values: Vec<String>,
    alignment: usize,
}

impl DeviceStruct {
    /// The struct as it lies in memory, padded to its alignment.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(self.alignment.max(1)), 0);
        bytes
    }

    /// `{value, value, ...}`, exact to the bit; inner braces are left out, as C++ allows.
    pub fn initializer(&self) -> String {
        format!("{{{}}}", self.values.join(", "))
    }

    fn push(&mut self, bytes: &[u8], value: String) {
        self.align(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.values.push(value);
    }

    fn align(&mut self, alignment: usize) {
        self.alignment = self.alignment.max(alignment);
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
    }

    fn u32(&mut self, x: u32) {
        self.push(&x.to_ne_bytes(), format!("{x}u"));
    }

    fn u64(&mut self, x: u64) {
        self.push(&x.to_ne_bytes(), format!("{x}ull"));
    }

    fn f32(&mut self, x: f32) {
        self.push(&x.to_ne_bytes(), format!("{}f", hexadecimal(f64::from(x))));
    }

    fn f64(&mut self, x: f64) {
        self.push(&x.to_ne_bytes(), hexadecimal(x));
    }

    fn double_single(&mut self, x: DoubleSingle) {
        self.f32(x.hi());
        self.f32(x.lo());
    }

    fn append(&mut self, other: &DeviceStruct) {
        self.align(other.alignment);
        self.bytes.extend(other.bytes());
        self.values.extend_from_slice(&other.values);
    }
}

/// A finite float as a hexadecimal literal of C++, which any compiler reads to the bit.
fn hexadecimal(x: f64) -> String {
    assert!(x.is_finite(), "constants of a run are finite");
    let bits = x.to_bits();
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let fraction = bits & ((1 << 52) - 1);
    let biased = (bits >> 52 & 0x7FF) as i32;
    let (mantissa, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let zeros = mantissa.trailing_zeros();
    if mantissa == 0 {
        return format!("{sign}0x0p0");
    }
    format!("{sign}0x{:x}p{}", mantissa >> zeros, exponent + zeros as i32)
}

/// A policy that the kernels have too.
pub trait DevicePolicy: Policy<Real: DeviceReal> {
    /// Name of its struct in the kernels.
    const NAME: &'static str;

    /// `NAME::Constants`.
    fn constants(&self) -> DeviceStruct;

    /// A force from its bits, which are those of a velocity.
    fn force_from_bits(bits: u64) -> Self::Force;
}

/// Arithmetic of the pair loop that the kernels have too.
pub trait DeviceReal: Real {
    /// Its type in the kernels.
    const NAME: &'static str;

    fn append(self, to: &mut DeviceStruct);
}

impl DeviceReal for f32 {
    const NAME: &'static str = "float";

    fn append(self, to: &mut DeviceStruct) {
        to.f32(self);
    }
}

impl DeviceReal for f64 {
    const NAME: &'static str = "double";

    fn append(self, to: &mut DeviceStruct) {
        to.f64(self);
    }
}

impl<F: DeviceReal> DevicePolicy for Floats<F> {
    const NAME: &'static str = if F::WIDE { "Double" } else { "Single" };

    fn force_from_bits(bits: u64) -> F {
        F::from_bits(bits)
    }

    fn constants(&self) -> DeviceStruct {
        let mut constants = DeviceStruct::default();
        let numbers = self.edges.iter().chain(&self.inv_edges).chain([&self.timestep]);
        numbers.chain(&self.half_kick).for_each(|number| number.append(&mut constants));
        constants
    }
}

impl DevicePolicy for DoubleSingles {
    const NAME: &'static str = "DoubleSingles";

    fn force_from_bits(bits: u64) -> DoubleSingle {
        DoubleSingle::from_bits(bits)
    }

    fn constants(&self) -> DeviceStruct {
        let mut constants = DeviceStruct::default();
        self.edges.iter().for_each(|&edge| constants.double_single(edge));
        self.inv_edges.iter().for_each(|&inverse| constants.double_single(inverse));
        self.site_length.iter().for_each(|&length| constants.f32(length));
        self.relative_length.iter().for_each(|&length| constants.f32(length));
        constants.f32(self.inv_site_length);
        constants.double_single(self.timestep);
        self.half_kick.iter().for_each(|&factor| constants.double_single(factor));
        constants
    }
}

impl DevicePolicy for FixedPoint {
    const NAME: &'static str = "FixedPoint";

    fn force_from_bits(bits: u64) -> i64 {
        bits as i64
    }

    fn constants(&self) -> DeviceStruct {
        let mut constants = DeviceStruct::default();
        self.edges.iter().for_each(|&edge| constants.f64(edge));
        (0..3).for_each(|axis| constants.f64(self.velocity_quantum(axis)));
        (0..3).for_each(|axis| constants.f64(self.force_quantum(axis)));
        constants.f64(self.timestep);
        self.site_length.iter().for_each(|&length| constants.f32(length));
        self.relative_length.iter().for_each(|&length| constants.f32(length));
        constants.f32(self.impulse_factor);
        constants.f32(self.inv_impulse_factor);
        constants.u32(self.shift);
        for ratio in &self.mass_ratio {
            let (multiplier, shift) = ratio.map_or((0, 0), |ratio| (ratio.multiplier, ratio.shift));
            let mut entry = DeviceStruct::default();
            entry.u64(multiplier);
            entry.u32(shift);
            constants.append(&entry);
        }
        constants
    }
}

/// The interactions of all pairs of species in the kernels' form.
#[derive(Clone, Debug)]
pub struct PairTable {
    /// Header of the evaluator in the kernels.
    pub header: &'static str,
    /// Its type there, such as `LennardJones<float>`.
    pub evaluator: String,
    pub truncation: TruncationKind,
    /// One `PairEntry` per ordered pair, `[species of the particle][species of the neighbour]`.
    pub entries: Vec<DeviceStruct>,
    /// Whether the potential is smoothed and the pairs have [`Truncated::common_constants`] in common.
    pub have_common_constants: bool,
    /// The least [`Truncated::saturates_within`] of the pairs, as a length.
    pub saturates_within: f64,
}

impl PairTable {
    pub fn new<P: DevicePolicy>(policy: &P, potential: &PotentialPlan) -> Self {
        potential.form.visit(TableOf { policy, potential })
    }

    fn of<P: DevicePolicy, F: PairForm>(policy: &P, potential: &PotentialPlan, form: &F) -> Self {
        let mut common = Vec::new();
        let mut saturates_within = f64::INFINITY;
        let unit =
            PairUnits::of::<P::Real>(potential.truncation.kind(), policy.pair_units()).length;
        let entries = potential
            .pairs
            .iter()
            .flatten()
            .map(|pair| {
                let truncated: Truncated<P::Real, F::Evaluator<P::Real>> =
                    Truncated::new(form, pair, &potential.truncation, policy.pair_units());
                let mut first = DeviceStruct::default();
                truncated.common_constants().into_iter().for_each(|x| x.append(&mut first));
                common.push(first);
                saturates_within = saturates_within.min(truncated.saturates_within() * unit);
                let core = core_distance(policy, potential, pair);
                let mut entry = DeviceStruct::default();
                for constant in truncated.constants() {
                    constant.append(&mut entry);
                }
                core2(policy, potential, core).append(&mut entry);
                entry
            })
            .collect();
        PairTable {
            header: F::HEADER.name,
            evaluator: form
                .kernel_type()
                .replace("<R", &format!("<{}", <P::Real as DeviceReal>::NAME)),
            truncation: potential.truncation.kind(),
            entries,
            have_common_constants: potential.truncation.kind() == TruncationKind::Smooth
                && common.iter().all(|first| *first == common[0]),
            saturates_within,
        }
    }

    /// The table as it lies in memory.
    pub fn bytes(&self) -> Vec<u8> {
        self.entries.iter().flat_map(DeviceStruct::bytes).collect()
    }

    /// Text of a C++ initialiser of an array of entries.
    pub fn initializer(&self) -> String {
        let entries: Vec<String> = self.entries.iter().map(DeviceStruct::initializer).collect();
        format!("{{{}}}", entries.join(", "))
    }

    /// Value of the macro `TRUNCATION`.
    pub fn truncation_name(&self) -> &'static str {
        match self.truncation {
            TruncationKind::Shifted => "TRUNCATION_SHIFTED",
            TruncationKind::ForceShifted => "TRUNCATION_FORCE_SHIFTED",
            TruncationKind::Smooth => "TRUNCATION_SMOOTH",
        }
    }
}

struct TableOf<'a, P> {
    policy: &'a P,
    potential: &'a PotentialPlan,
}

impl<P: DevicePolicy> FormVisitor for TableOf<'_, P> {
    type Output = PairTable;

    fn visit<F: PairForm>(self, form: F) -> PairTable {
        PairTable::of(self.policy, self.potential, &form)
    }
}
