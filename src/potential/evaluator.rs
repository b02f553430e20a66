use crate::arithmetic::Real;

/// Units in which a potential is computed where it is smoothed in 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct ReducedUnits {
    /// Lengths in units of `sigma`, or else of the cutoff.
    pub sigma: bool,
    /// Of force over distance, and of energy, in units of the amplitude (`epsilon`) and the length.
    pub force: f64,
    pub energy: f64,
}

/// A potential of one pair of species with its constants in the precision of the pair loop.
///
/// Written once over the arithmetic `R`; the truncation is applied outside.
pub trait Evaluator<R: Real>: Copy + Send + Sync + 'static {
    /// `(-U'(r)/r, U(r))` at squared distance `r2 >= R::COINCIDENT2`; anything below, which callers discard.
    fn evaluate(&self, r2: R) -> (R, R);

    /// Whether [`Self::evaluate_lanes`] is faster than one pair after the other.
    const IN_LANES: bool = false;

    /// [`Self::evaluate`] of several pairs.
    #[inline(always)]
    fn evaluate_lanes<const LANES: usize>(&self, r2: [R; LANES]) -> ([R; LANES], [R; LANES]) {
        let both = r2.map(|r2| self.evaluate(r2));
        (both.map(|(force, _)| force), both.map(|(_, energy)| energy))
    }

    /// `U(0)`, where it is finite.
    fn contact_energy(&self) -> Option<R> {
        None
    }

    /// Units of [`Self::evaluate_reduced`].
    const REDUCED: ReducedUnits = ReducedUnits { sigma: false, force: 1.0, energy: 1.0 };

    /// `(-U'(r)/r, raise U(r) - shift)` of a pair whose constants are in units of [`Self::REDUCED`].
    #[inline(always)]
    fn evaluate_reduced(&self, r2: R, raise: R, shift: R) -> (R, R) {
        let (force, energy) = self.evaluate(r2);
        (force, energy.fused(raise, -shift))
    }

    /// The constants: fields of the struct of this name in `kernels/potential`, in its order.
    fn constants(&self) -> Vec<(&'static str, R)>;
}

/// Fields of a struct, each with its name.
macro_rules! named {
    ($of:ident: $($field:ident),+) => {
        vec![$((stringify!($field), $of.$field)),+]
    };
}
pub(super) use named;
