//! The instructions that the loops are compiled for.

/// Instructions that the loops are compiled for; the results are the same bits in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    Avx512,
    Avx2,
    /// Whatever the build is for. On x86-64 without FMA it is slow: fused operations are emulated.
    Baseline,
}

impl InstructionSet {
    /// The widest of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return InstructionSet::Avx512;
            }
            if avx2 {
                return InstructionSet::Avx2;
            }
        }
        InstructionSet::Baseline
    }

    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Avx512 => "AVX-512",
            InstructionSet::Avx2 => "AVX2 and FMA",
            InstructionSet::Baseline => "baseline",
        }
    }
}
