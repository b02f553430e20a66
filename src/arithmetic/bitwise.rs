//! The promise of this folder tried on the processor at hand: whatever instructions the compiler may
//! use (and whether `mul_add` is one instruction or a call), the bits are the same.
use super::elementary::{exp_f32, exp_f64, ln_f64, sin_cos_2pi};
use super::fixed_point::round_to_i64_f64;
use super::random::{Purpose, normals3};
use super::reciprocal::{reciprocal, sqrt_and_reciprocal};
use super::testing::SplitMix64;
use super::{DoubleSingle, double_single};

const COUNT: usize = 4096;

struct Operands {
    x32: Vec<f32>,
    y32: Vec<f32>,
    x64: Vec<f64>,
}

#[derive(Debug, PartialEq)]
struct Results {
    words: Vec<[u32; 6]>,
    longs: Vec<[u64; 12]>,
}

fn operands() -> Operands {
    let mut rng = SplitMix64(31);
    Operands {
        x32: (0..COUNT).map(|_| rng.float32(-20, 20).abs()).collect(),
        y32: (0..COUNT).map(|_| rng.float32(-10, 5)).collect(),
        x64: (0..COUNT).map(|_| rng.uniform() + 1e-9).collect(),
    }
}

#[inline(always)]
fn evaluate(operands: &Operands) -> Results {
    let words = operands.x32.iter().zip(&operands.y32).map(|(&x, &y)| {
        let (root, inverse_root) = sqrt_and_reciprocal(x);
        let (sum, rest) = double_single::two_sum(x, y);
        [reciprocal(x), root, inverse_root, exp_f32(y), sum, rest].map(f32::to_bits)
    });
    let longs = operands.x64.iter().zip(&operands.y32).enumerate().map(|(i, (&x, &y))| {
        let (sine, cosine) = sin_cos_2pi(x);
        let [n0, n1, n2] = normals3(7, i as u32, 1 << 40, Purpose::Test).map(f64::to_bits);
        let (a, b) = (DoubleSingle::from_f64(x), DoubleSingle::from_f64(x * f64::from(y)));
        [
            exp_f64(f64::from(y)).to_bits(),
            ln_f64(x).to_bits(),
            sine.to_bits(),
            cosine.to_bits(),
            n0,
            n1,
            n2,
            (a + b).to_bits(),
            (a * b).to_bits(),
            (a / b).to_bits(),
            a.sqrt().to_bits(),
            round_to_i64_f64(x * 1e12) as u64,
        ]
    });
    Results { words: words.collect(), longs: longs.collect() }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn bits_do_not_depend_on_the_instruction_set() {
    #[target_feature(enable = "avx2,fma")]
    fn with_avx2(operands: &Operands) -> Results {
        evaluate(operands)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
    fn with_avx512(operands: &Operands) -> Results {
        evaluate(operands)
    }

    let operands = operands();
    let expected = evaluate(&operands);
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has these features.
        assert_eq!(unsafe { with_avx2(&operands) }, expected);
    }
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the processor has these features.
        assert_eq!(unsafe { with_avx512(&operands) }, expected);
    }
}

/// One number for all results, the same on every machine (and for any later version).
#[test]
fn the_hash_of_all_results_is_fixed() {
    let results = evaluate(&operands());
    let words = results.words.iter().flatten().map(|&word| u64::from(word));
    let longs = results.longs.iter().flatten().copied();
    let hash = words.chain(longs).fold(0xCBF2_9CE4_8422_2325_u64, |hash, word| {
        (hash ^ word).wrapping_mul(0x100_0000_01B3).rotate_left(29)
    });
    assert_eq!(hash, 0x0cc9_9e93_5ece_8b15, "{hash:#x}");
}
