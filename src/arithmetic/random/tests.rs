use rand::Rng;
use rand::seq::SliceRandom;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::*;

const SEED: u64 = 0x0123_4567_89AB_CDEF;

/// Kolmogorov-Smirnov distance of a sample from a distribution times sqrt(n): below 1.95 with
/// probability 0.999 (seeds are fixed, so a test passes always or never).
fn kolmogorov_smirnov(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0_f64, |distance, (i, &x)| {
        let c = cdf(x);
        distance.max(c - i as f64 / n).max((i + 1) as f64 / n - c)
    });
    distance * n.sqrt()
}

const CRITICAL: f64 = 1.95;

#[test]
fn uniform_numbers_never_reach_zero_or_one() {
    assert_eq!(uniform_open(0, 0), 0.5_f64.powi(53));
    assert_eq!(uniform_open(!0, !0), 1.0 - 0.5_f64.powi(53));
    assert_eq!(uniform_open(1 << 31, 0), 0.5 + 0.5_f64.powi(53));
    assert_eq!(uniform_open(7, 9), uniform_open(7, 0), "the lowest 12 bits are not used");
    assert_eq!(1.0 - uniform_open(123, 456 << 12), uniform_open(!123, !(456 << 12)));
}

#[test]
fn normals_are_normal_and_uncorrelated() {
    are_normal_and_uncorrelated(|id, step| normals3(SEED, id, step, Purpose::Langevin));
}

#[test]
fn normals_of_32_bits_are_normal_and_uncorrelated() {
    are_normal_and_uncorrelated(|id, step| {
        normals3_f32(SEED, id, step, Purpose::Langevin).map(f64::from)
    });
}

#[test]
fn normals_of_32_bits_are_those_of_their_words() {
    let mut worst = 0.0_f64;
    for i in 0..200_000 {
        let [a, b, ..] = block(SEED, i, 7, Purpose::Test, 0);
        // Also the largest, and the smallest.
        let a = match i % 100 {
            0 => i / 100,
            1 => !(i / 100),
            _ => a,
        };
        let u = (f64::from(a) + 0.5) / 2f64.powi(32);
        let radius = (-2.0 * u.ln()).sqrt();
        let angle = std::f64::consts::TAU * f64::from(b) / 2f64.powi(32);
        let [x, y] = normal_pair_f32([a, b]).map(f64::from);
        // The logarithm, half the square of the radius, is off by 2e-7, which holds the steps of 2^-24 of u below 1.
        let error = 6e-7 * radius + 2e-7 / radius.max(3e-4);
        let off = (x - radius * angle.cos()).abs().max((y - radius * angle.sin()).abs());
        worst = worst.max(off / error);
    }
    assert!(worst < 1.0, "{worst}");
    let [x, y] = normal_pair_f32([!0, 5]);
    assert!(x == 0.0 && y == 0.0);
    assert!(normal_pair_f32([0, 0])[0] < 6.8);
}

fn are_normal_and_uncorrelated(draw: impl Fn(u32, u64) -> [f64; 3]) {
    const COUNT: usize = 100_000;
    let draws: Vec<[f64; 3]> =
        (0..COUNT as u32).map(|i| draw(i % 1000, u64::from(i / 1000))).collect();
    let normal = Normal::new(0.0, 1.0).expect("a standard normal distribution");
    // Five standard errors: one such test in 2e6 would fail by chance.
    let tolerance = |variance: f64| 5.0 * (variance / COUNT as f64).sqrt();
    let mean = |f: &dyn Fn(&[f64; 3]) -> f64| draws.iter().map(f).sum::<f64>() / COUNT as f64;
    for k in 0..3 {
        let sample: Vec<f64> = draws.iter().map(|draw| draw[k]).collect();
        let distance = kolmogorov_smirnov(sample, |x| normal.cdf(x));
        assert!(distance < CRITICAL, "component {k}: {distance}");
        assert!(mean(&|x| x[k]).abs() < tolerance(1.0));
        assert!((mean(&|x| x[k].powi(2)) - 1.0).abs() < tolerance(2.0));
        assert!(mean(&|x| x[k].powi(3)).abs() < tolerance(15.0));
        assert!((mean(&|x| x[k].powi(4)) - 3.0).abs() < tolerance(96.0));
        assert!(mean(&|x| x[k] * x[(k + 1) % 3]).abs() < tolerance(1.0));
        assert!((mean(&|x| (x[k] * x[(k + 1) % 3]).powi(2)) - 1.0).abs() < tolerance(8.0));
    }
    for lag in [1, 1000] {
        let sum: f64 = draws.windows(lag + 1).map(|pair| pair[0][0] * pair[lag][0]).sum();
        let correlation = sum / (COUNT - lag) as f64;
        assert!(correlation.abs() < tolerance(1.0), "lag {lag}: {correlation}");
    }
}

#[test]
fn uniform_numbers_are_uniform() {
    let sample = (0..100_000).map(|i| uniform(SEED, i, 5, Purpose::AndersenCollision)).collect();
    let distance = kolmogorov_smirnov(sample, |x| x);
    assert!(distance < CRITICAL, "{distance}");
}

#[test]
fn every_part_of_the_key_changes_the_numbers() {
    let reference = block(SEED, 3, 7, Purpose::Langevin, 0);
    for other in [
        block(SEED ^ 1 << 63, 3, 7, Purpose::Langevin, 0),
        block(SEED ^ 1, 3, 7, Purpose::Langevin, 0),
        block(SEED, 4, 7, Purpose::Langevin, 0),
        block(SEED, 3, 7 ^ 1 << 40, Purpose::Langevin, 0),
        block(SEED, 3, 8, Purpose::Langevin, 0),
        block(SEED, 3, 7, Purpose::Test, 0),
        block(SEED, 3, 7, Purpose::Langevin, 1),
    ] {
        assert!(reference.iter().zip(other).all(|(a, b)| *a != b));
    }
}

#[test]
fn sequences_and_particles_share_no_block() {
    let mut rng = CounterRng::new(SEED, Purpose::Test, 9);
    let first: Vec<u32> = (0..4).map(|_| rng.next_u32()).collect();
    assert_ne!(first, block(SEED, 0, 9, Purpose::Test, 0));
    let mut other = CounterRng::new(SEED, Purpose::Test, 10);
    assert_ne!(first[0], other.next_u32());
    let mut again = CounterRng::new(SEED, Purpose::Test, 9);
    let mut bytes = [0; 16];
    again.fill_bytes(&mut bytes);
    let words: Vec<u8> = first.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(bytes.as_slice(), words);
}

#[test]
fn squared_normals_follow_chi_square() {
    for n in [1, 2, 3, 11, 12_000] {
        let mut rng = CounterRng::new(SEED, Purpose::Bussi, n);
        let sample = (0..20_000).map(|_| sum_of_squared_normals(n, &mut rng)).collect();
        let chi_square = ChiSquared::new(n as f64).expect("a positive number of degrees");
        let distance = kolmogorov_smirnov(sample, |x| chi_square.cdf(x));
        assert!(distance < CRITICAL, "{n} degrees of freedom: {distance}");
    }
    assert_eq!(sum_of_squared_normals(0, &mut CounterRng::new(SEED, Purpose::Bussi, 0)), 0.0);
}

/// Bits that any other implementation (such as the kernels') and any later version must give, `rand`'s
/// shuffle included: they are part of every result.
#[test]
fn bits_are_fixed() {
    let [x, y, z] = normals3(SEED, 41, 1 << 33, Purpose::InitialVelocity);
    let expected = [0xbfee_3f78_1a8c_6022, 0xbfee_2611_0f53_f43a, 0xbff0_bc06_57f6_4ffb];
    assert_eq!([x, y, z].map(f64::to_bits), expected, "{x} {y} {z}");
    let mut rng = CounterRng::new(SEED, Purpose::SpeciesPlacement, 0);
    let mut order: Vec<u32> = (0..12).collect();
    order.shuffle(&mut rng);
    assert_eq!(order, [9, 7, 6, 11, 0, 8, 1, 2, 5, 3, 10, 4]);
    assert_eq!(rng.next_u64(), 0x1d46_baed_593e_09a2);
    let squares = sum_of_squared_normals(100, &mut CounterRng::new(SEED, Purpose::Bussi, 3));
    assert_eq!(squares.to_bits(), 0x4059_bd4b_61d2_76c7, "{squares}");
}
