//! What a potential is to the rest of the program.
use super::description::{Description, EPSILON, Fault, SIGMA, Scale};
use super::evaluator::Evaluator;
use super::parameters::PairParameters;
use crate::arithmetic::Real;

/// Text of a header of `kernels/potential`, with the name by which it is included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHeader {
    pub name: &'static str,
    pub text: &'static str,
}

/// The header `kernels/potential/$name`.
macro_rules! kernel_header {
    ($name:literal) => {
        $crate::potential::KernelHeader {
            name: concat!("potential/", $name),
            text: include_str!(concat!("../../kernels/potential/", $name)),
        }
    };
}
pub(super) use kernel_header;

/// A form of the pair potential with its exponents: all that configuration, plan, engines and documents know of it.
///
/// One module of [`potential`](super) implements it, and the table there lists it.
pub trait PairForm: Copy + Send + Sync + 'static {
    /// Its words in the configuration; the first one is its own, others are special cases.
    const DESCRIPTIONS: &'static [Description];

    /// The same formula for the GPU: a struct template with the constants of the evaluator.
    const HEADER: KernelHeader;

    /// [`Self::HEADER`], or one of the same name that is written for this form.
    fn header<R: Real>(&self) -> KernelHeader {
        Self::HEADER
    }

    /// The first of [`Self::DESCRIPTIONS`], or that of this form.
    fn description(&self) -> &'static Description {
        &Self::DESCRIPTIONS[0]
    }

    /// The formula with the constants of a pair, in an arithmetic.
    type Evaluator<R: Real>: Evaluator<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> Self::Evaluator<R>;

    /// Type of the evaluator in [`Self::HEADER`], `R` for its arithmetic, such as `LennardJones<R>`.
    fn kernel_type(&self) -> String;

    /// The formula with the numbers of the exponents, without backticks.
    fn formula(&self) -> String {
        self.description().doc.trim_end_matches('.').replace('`', "")
    }

    fn scale(&self, pair: &PairParameters) -> Scale {
        Scale { energy: pair.of(&EPSILON), length: pair.of(&SIGMA) }
    }

    /// Where the potential of a pair turns over to minus infinity at short distances: the distance of the maximum there.
    /// A run in which a pair comes closer ends with an error.
    fn inner_maximum(&self, _pair: &PairParameters) -> Option<f64> {
        None
    }

    /// What is wrong with parameters that are each within their bounds.
    fn fault(&self, _pair: &PairParameters) -> Option<Fault> {
        None
    }

    /// Distances between contact and cutoff at which the force jumps, with its jump.
    fn force_jumps(&self, _pair: &PairParameters) -> Vec<(f64, f64)> {
        Vec::new()
    }

    /// Whether two particles do not interact.
    fn is_zero(&self, pair: &PairParameters) -> bool {
        pair.has_no_energy()
    }

    /// What `supercool check` says of a pair beside its parameters.
    fn notes(&self, _pair: &PairParameters) -> Option<String> {
        None
    }

    /// Unit of energy in which the pair is computed where it is smoothed in 32 bits.
    fn amplitude(&self, pair: &PairParameters) -> f64 {
        pair.amplitude().1
    }

    /// The pair in that unit, with lengths in units of `unit` cutoffs and their ratios rounded by `rounded`.
    fn reduced(&self, pair: &PairParameters, unit: f64, rounded: fn(f64) -> f64) -> PairParameters {
        pair.reduced(unit, rounded)
    }

    /// Whether the processor has pair loops for it alone: faster, and each takes a minute to compile.
    const HAS_ITS_OWN_LOOPS: bool = false;

    /// Calls `visitor` with this form, or with one that is the same and faster.
    fn accept<V: FormVisitor>(self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// Something that is done with any form.
pub trait FormVisitor {
    type Output;

    fn visit<F: PairForm>(self, form: F) -> Self::Output;
}
