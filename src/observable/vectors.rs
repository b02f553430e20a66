//! The same inner loops for registers of different width.
//!
//! Rust never reorders floating-point operations nor fuses them, so a loop over lanes gives the same bits
//! whatever the width it is compiled for; only the speed differs.

/// An inner loop with its arguments. `run` has to be `#[inline(always)]`, as all that it calls, to be
/// compiled for the registers of its caller.
pub(super) trait InnerLoop {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs the loop on the widest vector registers that this CPU has.
pub(super) fn on_widest_registers<L: InnerLoop>(inner_loop: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn on_512_bits<L: InnerLoop>(inner_loop: L) -> L::Output {
            inner_loop.run()
        }
        #[target_feature(enable = "avx2,fma")]
        fn on_256_bits<L: InnerLoop>(inner_loop: L) -> L::Output {
            inner_loop.run()
        }
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has AVX-512, all that the function asks for.
            return unsafe { on_512_bits(inner_loop) };
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has AVX2 and FMA, all that the function asks for.
            return unsafe { on_256_bits(inner_loop) };
        }
    }
    inner_loop.run()
}
