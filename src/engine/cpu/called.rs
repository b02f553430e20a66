//! Potentials that are rarely used, behind a pointer: the pair loop is compiled once for all of them.
//!
//! Each is compiled by itself for the instruction sets, and is called for all lanes at once.
use super::instruction_set::InstructionSet;
use crate::arithmetic::Real;
use crate::potential::{
    Description, Evaluator, KernelHeader, PairForm, PairParameters, ReducedUnits,
};

/// A form whose evaluator is called by its address.
#[derive(Clone, Copy)]
pub struct ByAddress<F> {
    pub form: F,
    pub set: InstructionSet,
}

/// Bytes of the largest evaluator.
const SIZE: usize = 448;

/// Lanes that are evaluated together.
const WIDTH: usize = 16;

/// An evaluator of any form.
#[derive(Clone, Copy)]
pub struct Called<R> {
    evaluator: Bytes,
    /// Of the evaluator in the bytes, squared distances, forces and energies.
    evaluate: unsafe fn(&Bytes, &[R], &mut [R], &mut [R]),
    contact_energy: Option<R>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bytes([u8; SIZE]);

impl<R: Real> Called<R> {
    fn new<V: Evaluator<R>>(evaluator: V, set: InstructionSet) -> Self {
        const {
            assert!(size_of::<V>() <= SIZE && align_of::<V>() <= align_of::<Bytes>());
        }
        let mut bytes = Bytes([0; SIZE]);
        // SAFETY: there is room for it; it is `Copy`, so that nothing has to be dropped.
        unsafe { bytes.0.as_mut_ptr().cast::<V>().write(evaluator) };
        Called {
            evaluator: bytes,
            evaluate: match set {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 => avx512::<R, V>,
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 => avx2::<R, V>,
                _ => all::<R, V>,
            },
            contact_energy: evaluator.contact_energy(),
        }
    }
}

/// # Safety
/// The bytes are those of a `V`.
#[inline(always)]
unsafe fn all<R: Real, V: Evaluator<R>>(
    bytes: &Bytes,
    r2: &[R],
    force: &mut [R],
    energy: &mut [R],
) {
    // SAFETY: `Called::new` wrote it there, aligned.
    let evaluator = unsafe { &*bytes.0.as_ptr().cast::<V>() };
    let (chunks, rest) = r2.as_chunks::<WIDTH>();
    for (chunk, of) in chunks.iter().enumerate() {
        let (forces, energies) = evaluator.evaluate_lanes(*of);
        let lanes = chunk * WIDTH..(chunk + 1) * WIDTH;
        force[lanes.clone()].copy_from_slice(&forces);
        energy[lanes].copy_from_slice(&energies);
    }
    let first = chunks.len() * WIDTH;
    for (lane, r2) in rest.iter().enumerate() {
        (force[first + lane], energy[first + lane]) = evaluator.evaluate(*r2);
    }
}

/// # Safety
/// As [`all`], and the processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn avx512<R: Real, V: Evaluator<R>>(
    bytes: &Bytes,
    r2: &[R],
    force: &mut [R],
    energy: &mut [R],
) {
    // SAFETY: as that of the caller.
    unsafe { all::<R, V>(bytes, r2, force, energy) }
}

/// # Safety
/// As [`all`], and the processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<R: Real, V: Evaluator<R>>(
    bytes: &Bytes,
    r2: &[R],
    force: &mut [R],
    energy: &mut [R],
) {
    // SAFETY: as that of the caller.
    unsafe { all::<R, V>(bytes, r2, force, energy) }
}

impl<R: Real> Evaluator<R> for Called<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let ([force], [energy]) = self.evaluate_lanes([r2]);
        (force, energy)
    }

    const IN_LANES: bool = true;

    #[inline(always)]
    fn evaluate_lanes<const LANES: usize>(&self, r2: [R; LANES]) -> ([R; LANES], [R; LANES]) {
        let (mut force, mut energy) = ([R::ZERO; LANES], [R::ZERO; LANES]);
        // SAFETY: the bytes are those of its evaluator, and its set is one of the processor.
        unsafe { (self.evaluate)(&self.evaluator, &r2, &mut force, &mut energy) };
        (force, energy)
    }

    fn contact_energy(&self) -> Option<R> {
        self.contact_energy
    }

    /// Only kernels need them, which have the form itself.
    fn constants(&self) -> Vec<(&'static str, R)> {
        Vec::new()
    }
}

impl<F: PairForm> PairForm for ByAddress<F> {
    const DESCRIPTIONS: &'static [Description] = F::DESCRIPTIONS;
    const HEADER: KernelHeader = F::HEADER;

    type Evaluator<R: Real> = Called<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> Called<R> {
        let ReducedUnits { sigma, .. } = <F::Evaluator<R> as Evaluator<R>>::REDUCED;
        assert!(!sigma, "potentials with units of their own have loops of their own");
        Called::new(self.form.evaluator::<R>(pair), self.set)
    }

    fn kernel_type(&self) -> String {
        self.form.kernel_type()
    }

    fn inner_maximum(&self, pair: &PairParameters) -> Option<f64> {
        self.form.inner_maximum(pair)
    }

    fn is_zero(&self, pair: &PairParameters) -> bool {
        self.form.is_zero(pair)
    }

    fn amplitude(&self, pair: &PairParameters) -> f64 {
        self.form.amplitude(pair)
    }

    fn reduced(&self, pair: &PairParameters, unit: f64, rounded: fn(f64) -> f64) -> PairParameters {
        self.form.reduced(pair, unit, rounded)
    }
}
