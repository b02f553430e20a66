use crate::arithmetic::Real;

/// A potential of one pair of species with its constants in the precision of the pair loop.
///
/// Written once over the arithmetic `R`; the truncation is applied outside.
pub trait Evaluator<R: Real>: Copy + Send + Sync + 'static {
    /// `(-U'(r)/r, U(r))` at squared distance `r2 > 0`; anything at `r2 = 0`, which callers discard.
    fn evaluate(&self, r2: R) -> (R, R);

    /// The same with `shift` subtracted from the energy, which may be rounded once less.
    #[inline(always)]
    fn evaluate_shifted(&self, r2: R, shift: R) -> (R, R) {
        let (force, energy) = self.evaluate(r2);
        (force, energy - shift)
    }

    /// The constants, in the order of the struct of this name in `kernels/potential`.
    fn constants(&self) -> Vec<R>;
}
