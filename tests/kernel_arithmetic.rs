//! The headers of `kernels/`, compiled for the host, give the same bits as the Rust text they mirror.
//!
//! A C++ compiler is needed (`$CXX`, else `c++`); without one the tests say so and pass, but not in CI.
use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use supercool::arithmetic::Real;
use supercool::arithmetic::random::{CounterRng, Purpose, block, normals3, normals3_f32, uniform};
use supercool::arithmetic::{
    DoubleSingle, double_single, elementary, error_function, fixed_point, reciprocal,
};
use supercool::engine::cuda::constants::{self, DevicePolicy, PairTable};
use supercool::engine::cuda::{FIRE_HEADER, structure_program};
use supercool::engine::precision::{Double, DoubleSingles, ExactSum, FixedPoint, Policy, Single};
use supercool::integrator::fire::{Fire, Iteration};
use supercool::potential::{
    FormVisitor, KAPPA, PairForm, PairParameters, PairPotential, PairUnits, PotentialPlan,
    Truncated, Truncation,
};
use supercool::system::{SimulationBox, Species, hilbert_index};

const RECORDS: usize = 20_000;

/// The headers as a program that applies one function to a stream of records.
fn host_bits() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    PROGRAM.get_or_init(build).as_ref().map(|(_, program)| program.as_path())
}

fn build() -> Option<(tempfile::TempDir, PathBuf)> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("host_bits");
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    // Those that the tested headers include.
    let of_samples = structure_program(3, 1).shared;
    for header in of_samples.iter().chain(&constants::SHARED).chain([&FIRE_HEADER]) {
        let path = folder.path().join(header.name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for it");
        std::fs::write(path, (header.text)()).expect("the header is written");
    }
    let mut command = Command::new(&compiler);
    command.arg("-I").arg(folder.path());
    command.args(["-std=c++17", "-O2", "-ffp-contract=off", "-DSPECIES_COUNT=3", "-I"]);
    command.arg(&kernels).arg(kernels.join("tests/host_bits.cpp")).arg("-o").arg(&program);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") {
        command.arg("-mfma");
    }
    match command.output() {
        Ok(output) if output.status.success() => Some((folder, program)),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) if std::env::var_os("CI").is_none() => {
            println!("skipped: no C++ compiler ({compiler}: {error})");
            None
        }
        Err(error) => panic!("{compiler}: {error}"),
    }
}

/// Applies a function of the headers to the records; one vector of results for each.
fn apply<const IN: usize>(
    function: &str,
    constants: &[u8],
    records: &[[u64; IN]],
) -> Option<Vec<Vec<u64>>> {
    let program = host_bits()?;
    let digits: String = constants.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut child = Command::new(program)
        .args([function, &digits])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let input: Vec<u8> = records.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{function}");
    writer.join().expect("the writer").expect("all records were read");
    let words: Vec<u64> = output
        .stdout
        .chunks_exact(8)
        .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
        .collect();
    assert!(!words.is_empty() && words.len().is_multiple_of(records.len()), "{function}");
    Some(words.chunks(words.len() / records.len()).map(<[u64]>::to_vec).collect())
}

/// What a result is, for the comparison: a NaN has no bits of its own.
#[derive(Clone, Copy, Debug)]
enum Word {
    Bits(u64),
    F32(f32),
    F64(f64),
    Pair(DoubleSingle),
}

impl Word {
    fn equals(self, bits: u64) -> bool {
        let same =
            |x: f32, bits: u32| x.to_bits() == bits || x.is_nan() && f32::from_bits(bits).is_nan();
        match self {
            Word::Bits(word) => word == bits,
            Word::F32(x) => same(x, bits as u32),
            Word::F64(x) => x.to_bits() == bits || x.is_nan() && f64::from_bits(bits).is_nan(),
            Word::Pair(x) => same(x.hi(), (bits >> 32) as u32) && same(x.lo(), bits as u32),
        }
    }
}

fn compare<const IN: usize>(
    function: &str,
    constants: &[u8],
    records: &[[u64; IN]],
    expected: impl Fn(&[u64; IN]) -> Vec<Word>,
) {
    let Some(results) = apply(function, constants, records) else { return };
    for (record, result) in records.iter().zip(&results) {
        let expected = expected(record);
        assert_eq!(expected.len(), result.len(), "{function}");
        for (at, (expected, found)) in expected.iter().zip(result).enumerate() {
            assert!(
                expected.equals(*found),
                "{function}, result {at} of {record:x?}: {expected:x?} in Rust, {found:x} in the header"
            );
        }
    }
}

/// Inputs: random words in the shapes that numbers have.
struct Inputs(CounterRng);

impl Inputs {
    fn new(stream: u64) -> Self {
        Inputs(CounterRng::new(20, Purpose::Test, stream))
    }

    fn word(&mut self) -> u64 {
        rand::TryRng::try_next_u64(&mut self.0).unwrap_or_else(|never| match never {})
    }

    fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Of either sign, all magnitudes from 2^-range to 2^range alike.
    fn wide(&mut self, range: f64) -> f64 {
        let magnitude = self.uniform(1.0, 2.0) * self.uniform(-range, range).floor().exp2();
        if self.below(2) == 0 { magnitude } else { -magnitude }
    }

    /// Normalised, with a lower part of any size.
    fn pair(&mut self, range: f64) -> DoubleSingle {
        let hi = self.wide(range) as f32;
        DoubleSingle::from_sum(hi, hi * (self.wide(30.0) * 2f64.powi(-40)) as f32)
    }

    /// An integer of any length.
    fn integer(&mut self) -> i64 {
        let shift = self.below(64);
        self.word() as i64 >> shift
    }
}

fn records<const IN: usize>(
    stream: u64,
    mut record: impl FnMut(&mut Inputs) -> [u64; IN],
) -> Vec<[u64; IN]> {
    let mut inputs = Inputs::new(stream);
    (0..RECORDS).map(|_| record(&mut inputs)).collect()
}

fn bits32(x: f64) -> u64 {
    u64::from((x as f32).to_bits())
}

fn f32_of(word: u64) -> f32 {
    f32::from_bits(word as u32)
}

fn option(value: Option<i64>) -> [Word; 2] {
    [Word::Bits(value.unwrap_or(0) as u64), Word::Bits(u64::from(value.is_some()))]
}

#[test]
fn double_single_operations_agree() {
    let mut records = records(1, |inputs| {
        let a = inputs.pair(40.0);
        // Every fourth time nearly equal numbers: cancellation.
        let b = if inputs.below(4) == 0 { a.add_f32(a.lo()) } else { inputs.pair(40.0) };
        [a.to_bits(), b.to_bits(), bits32(inputs.wide(40.0)), inputs.wide(60.0).to_bits()]
    });
    // The root of zero.
    records.push([0, 0, 0, 0]);
    compare("double_single", &[], &records, |&[a, b, f, x]| {
        let (a, b, f) = (DoubleSingle::from_bits(a), DoubleSingle::from_bits(b), f32_of(f));
        let (p, e) = double_single::two_product(a.hi(), f);
        let mut words: Vec<Word> = [
            a + b,
            a - b,
            a * b,
            a / b,
            a.add_f32(f),
            a.mul_f32(f),
            -a,
            a.abs(),
            a.abs().sqrt(),
            DoubleSingle::from_sum(a.hi(), f),
            DoubleSingle::from_bits(u64::from(p.to_bits()) << 32 | u64::from(e.to_bits())),
        ]
        .map(Word::Pair)
        .to_vec();
        words.push(Word::F64(a.to_f64()));
        words.push(Word::Pair(DoubleSingle::from_f64(f64::from_bits(x))));
        words
    });
}

#[test]
fn reciprocals_agree_on_all_bit_patterns() {
    let mut records = records(2, |inputs| [inputs.word() & 0xFFFF_FFFF]);
    records.extend([0.0, -0.0, 1.0, 1e-45, f64::INFINITY, 3.4e38].map(|x| [bits32(x)]));
    compare("reciprocals", &[], &records, |&[x]| {
        let x = f32_of(x);
        let (root, inverse_root) = reciprocal::sqrt_and_reciprocal(x);
        [reciprocal::reciprocal(x), reciprocal::reciprocal_sqrt(x), root, inverse_root]
            .map(Word::F32)
            .to_vec()
    });
}

#[test]
fn time_steps_of_descents_agree() {
    let mut records = records(12, |inputs| {
        // Mostly downhill, with odd values of the power.
        let uphill = inputs.below(8);
        std::array::from_fn(|k| {
            let power = match (k, inputs.below(100)) {
                (0, _) => inputs.uniform(1e-4, 1e-2),
                (_, 0) => 0.0,
                (_, 1) => f64::NAN,
                (_, choice) if choice < 2 + uphill => -inputs.uniform(0.0, 1.0),
                _ => inputs.uniform(0.0, 1.0),
            };
            power.to_bits()
        })
    });
    records.truncate(RECORDS / 10);
    compare::<61>("fire", &[], &records, |record| {
        let mut fire = Fire::new(f64::from_bits(record[0]));
        let iterations = record[1..].iter().map(|&power| fire.next(f64::from_bits(power)));
        iterations
            .flat_map(|Iteration { turn_back, timestep, mixing }| {
                [Word::Bits(turn_back.into()), Word::F64(timestep), Word::F64(mixing)]
            })
            .collect()
    });
}

#[test]
fn elementary_functions_agree() {
    let mut arguments = records(3, |inputs| {
        let wide = inputs.wide(12.0);
        [bits32(inputs.uniform(-100.0, 100.0)), wide.to_bits()]
    });
    let edges =
        [0.0, -0.0, -87.0, -87.00001, 88.0, 88.00001, -708.0, -708.1, 709.0, 709.1, 1e30, -1e30];
    arguments.extend(edges.map(|x| [bits32(x), f64::to_bits(x)]));
    // Small arguments, and about the bound up to which the short series is used.
    let bound = 1.0 / 64.0;
    arguments.extend((-1000..=1000).map(|k| {
        let x = bound * (f64::from(k) / 1000.0) * (1.0 + 1e-15);
        [bits32(x), x.to_bits()]
    }));
    compare("exponentials", &[], &arguments, |&[x, y]| {
        vec![
            Word::F32(elementary::exp_f32(f32_of(x))),
            Word::F64(elementary::exp_f64(f64::from_bits(y))),
            Word::F64(elementary::exp_near_zero(f64::from_bits(y))),
        ]
    });
    let mut arguments = records(4, |inputs| {
        let near_one = inputs.uniform(0.5, 2.0);
        let wide = inputs.wide(1000.0).abs();
        let x = if inputs.below(2) == 0 { near_one } else { wide };
        [x.to_bits(), inputs.uniform(0.0, 1.0).to_bits()]
    });
    arguments.extend((0..64).map(|k| [1f64.to_bits(), (f64::from(k) / 64.0).to_bits()]));
    compare("logarithm_and_circle", &[], &arguments, |&[x, u]| {
        let (sine, cosine) = elementary::sin_cos_2pi(f64::from_bits(u));
        let mut words =
            [elementary::ln_f64(f64::from_bits(x)), sine, cosine].map(Word::F64).to_vec();
        let (sine, cosine) = elementary::sin_cos_of_turn((u >> 20) as u32);
        let logarithm = elementary::ln_f32(f64::from_bits(x) as f32);
        words.extend([logarithm, sine, cosine].map(Word::F32));
        words
    });
}

#[test]
fn error_functions_agree() {
    let mut arguments = records(14, |inputs| {
        let near = inputs.uniform(-30.0, 30.0);
        let wide = inputs.wide(12.0);
        let x = if inputs.below(2) == 0 { near } else { wide };
        [bits32(x), x.to_bits()]
    });
    let edges = [0.0, -0.0, 1.0, -1.0, 9.32, 9.33, 12.0, 26.6, 26.7, 30.0, 1e30, f64::INFINITY];
    arguments.extend(edges.map(|x| [bits32(x), f64::to_bits(x)]));
    compare("error_functions", &[], &arguments, |&[x, y]| {
        let (x, y) = (f32_of(x), f64::from_bits(y));
        vec![
            Word::F32(error_function::erf_f32(x)),
            Word::F32(error_function::erfc_f32(x)),
            Word::F64(error_function::erf_f64(y)),
            Word::F64(error_function::erfc_f64(y)),
        ]
    });
}

const PURPOSES: [Purpose; 8] = [
    Purpose::InitialVelocity,
    Purpose::SpeciesPlacement,
    Purpose::AndersenCollision,
    Purpose::AndersenVelocity,
    Purpose::Langevin,
    Purpose::Bussi,
    Purpose::InitialDisplacement,
    Purpose::Test,
];

#[test]
fn random_numbers_agree() {
    let records = records(5, |inputs| {
        let (id, step, draw) =
            (inputs.word() as u32, inputs.integer() as u64, inputs.below(1 << 24));
        [inputs.word(), u64::from(id), step, PURPOSES[inputs.below(8) as usize] as u64, draw]
    });
    compare("random_numbers", &[], &records, |&[seed, id, step, purpose, draw]| {
        let purpose = PURPOSES.into_iter().find(|&p| p as u64 == purpose).expect("one of them");
        let id = id as u32;
        let mut words: Vec<Word> = block(seed, id, step, purpose, draw as u32)
            .map(|word| Word::Bits(u64::from(word)))
            .to_vec();
        words.extend(normals3(seed, id, step, purpose).map(Word::F64));
        words.push(Word::F64(uniform(seed, id, step, purpose)));
        // All three at once, and one after the other.
        let normals = normals3_f32(seed, id, step, purpose).map(Word::F32);
        words.extend(normals.iter().chain(&normals).copied());
        words
    });
}

#[test]
fn rounding_to_integers_agrees_by_addition_and_by_conversion() {
    let mut arguments = records(6, |inputs| {
        let half = inputs.integer() as f64 * 0.5;
        let half = if half.abs() < 2f64.powi(50) { half } else { 0.5 };
        [
            bits32(inputs.wide(49.9)),
            if inputs.below(2) == 0 { half.to_bits() } else { inputs.wide(50.0).to_bits() },
            inputs.wide(66.0).to_bits(),
        ]
    });
    arguments
        .extend([0.5, -0.5, 1.5, -1.5, 2.5, 0.0].map(|x| [bits32(x), x.to_bits(), x.to_bits()]));
    arguments.push([0, 0, f64::NAN.to_bits()]);
    arguments.push([0, 0, 2f64.powi(63).to_bits()]);
    arguments.push([0, 0, (-2f64.powi(63)).to_bits()]);
    compare("rounding", &[], &arguments, |&[x, y, z]| {
        let rounded = fixed_point::round_to_i64_f64(f64::from(f32_of(x))) as u64;
        let z = f64::from_bits(z);
        let mut words = vec![
            Word::Bits(rounded),
            Word::Bits(rounded),
            Word::Bits(fixed_point::round_to_i64_f64(f64::from_bits(y)) as u64),
        ];
        words.extend(option(fixed_point::wide_round(z)));
        words.extend(option(fixed_point::wide_round(z * 2f64.powi(40))));
        words
    });
}

#[test]
fn scaling_of_integers_agrees() {
    let mut arguments = records(7, |inputs| {
        let factor = match inputs.below(3) {
            0 => inputs.uniform(-2.0, 2.0),
            1 => inputs.wide(80.0),
            _ => inputs.wide(1020.0),
        };
        [inputs.integer() as u64, inputs.integer() as u64, inputs.below(140), factor.to_bits()]
    });
    let edge_factors = [0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, f64::MAX, f64::INFINITY, f64::NAN];
    for v in [0, 1, -1, i64::MAX, i64::MIN, 3] {
        for factor in edge_factors {
            for shift in [0, 1, 63, 64, 65, 127, 128, 129, 1074] {
                arguments.push([v as u64, u64::MAX, shift, factor.to_bits()]);
            }
        }
    }
    // Rounds up to 2^64: (2^65 - 1) / 2.
    arguments.push([31, ((1u128 << 65) - 1).div_euclid(31) as u64, 1, 0]);
    compare("scaling", &[], &arguments, |&[v, multiplier, shift, factor]| {
        let ratio = fixed_point::Ratio { multiplier, shift: shift as u32 };
        let mut words = option(fixed_point::mul_round(v as i64, ratio)).to_vec();
        words.extend(option(fixed_point::scale_i64(v as i64, f64::from_bits(factor))));
        words
    });
}

/// By slopes and strains, which are below one.
#[test]
fn scaling_by_small_factors_agrees() {
    let mut arguments = records(40, |inputs| {
        let factor = match inputs.below(3) {
            0 => inputs.uniform(-1.0, 1.0),
            1 => inputs.uniform(-1e-4, 1e-4),
            _ => inputs.uniform(0.5, 1.0) * (-(inputs.below(1100) as f64)).exp2(),
        };
        [inputs.integer() as u64, factor.to_bits()]
    });
    let below_one = 1.0f64.next_down();
    let halves = [62, 63, 64, 65, 66].map(|bits| (-f64::from(bits)).exp2());
    let edges = [0.0, -0.0, below_one, -below_one, 0.5, 0.25, 5e-324, f64::MIN_POSITIVE];
    for v in [0, 1, -1, 2, 3, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, 1 << 62, 5 << 60] {
        let factors = edges.into_iter().chain(halves).chain(halves.map(|half| -1.5 * half));
        arguments.extend(factors.map(|factor| [v as u64, factor.to_bits()]));
    }
    compare("scaling_by_small", &[], &arguments, |&[v, factor]| {
        let scaled = fixed_point::scale_i64(v as i64, f64::from_bits(factor));
        vec![Word::Bits(scaled.unwrap_or(0) as u64)]
    });
}

#[test]
fn fractions_of_the_box_agree() {
    let mut arguments = records(8, |inputs| {
        let edge = inputs.uniform(1.0, 200.0);
        let x = if inputs.below(2) == 0 { inputs.uniform(0.0, edge) } else { inputs.wide(40.0) };
        [x.to_bits(), inputs.integer() as u64, edge.to_bits()]
    });
    arguments.push([0.0f64.to_bits(), u64::MAX, 9.0f64.to_bits()]);
    arguments.push([(-0.0f64).to_bits(), 0, 9.0f64.to_bits()]);
    compare("fractions", &[], &arguments, |&[x, n, edge]| {
        let edge = f64::from_bits(edge);
        vec![
            Word::Bits(fixed_point::fraction_from_f64(f64::from_bits(x), edge)),
            Word::F64(fixed_point::fraction_to_f64(n, edge)),
            Word::F64(fixed_point::displacement_to_f64(n as i64, edge)),
        ]
    });
}

#[test]
fn sums_of_128_bits_agree_with_rust_integers() {
    let records = records(9, |inputs| std::array::from_fn(|_| inputs.integer() as u64));
    compare("long_sums", &[], &records, |terms: &[u64; 4]| {
        let sum = 2 * terms.iter().map(|&term| i128::from(term as i64)).sum::<i128>();
        vec![Word::Bits(sum as u64), Word::Bits((sum >> 64) as u64)]
    });
}

#[test]
fn the_curve_through_the_cells_agrees() {
    let records = records(10, |inputs| {
        let bits = inputs.below(22);
        let mut coordinate = || inputs.below(1 << bits);
        [coordinate(), coordinate(), coordinate(), bits]
    });
    compare("hilbert", &[], &records, |&[x, y, z, bits]| {
        let cell = [x, y, z].map(|coordinate| coordinate as u32);
        vec![
            Word::Bits(hilbert_index(&cell[..2], bits as u32)),
            Word::Bits(hilbert_index(&cell, bits as u32)),
        ]
    });
}

/// A policy's numbers in words.
trait Numbers: DevicePolicy {
    fn real(x: f64) -> u64;
    fn real_of(word: u64) -> Self::Real;
    fn real_word(x: Self::Real) -> Word;
    /// Forces have the type of velocities in every policy.
    fn force_of(word: u64) -> Self::Force;
    fn force_bits(force: Self::Force) -> u64;
}

macro_rules! numbers {
    ($policy:ty, $real:ty, $word:path, $bits:ty) => {
        impl Numbers for $policy {
            fn real(x: f64) -> u64 {
                (x as $real).to_bits() as u64
            }
            fn real_of(word: u64) -> $real {
                <$real>::from_bits(word as $bits)
            }
            fn real_word(x: $real) -> Word {
                $word(x)
            }
            fn force_of(word: u64) -> Self::Force {
                Self::velocity_from_bits(word)
            }
            fn force_bits(force: Self::Force) -> u64 {
                Self::velocity_to_bits(force)
            }
        }
    };
}
numbers!(Single, f32, Word::F32, u32);
numbers!(DoubleSingles, f32, Word::F32, u32);
numbers!(Double, f64, Word::F64, u64);
numbers!(FixedPoint, f32, Word::F32, u32);

fn three_species() -> Vec<Species> {
    let species = |name: &str, mass| Species { name: name.to_owned(), count: 10, mass };
    vec![species("A", 1.0), species("B", 2.5), species("C", 1.0 / 3.0)]
}

fn policy_agrees<P: Numbers>(stream: u64) {
    let simulation_box = SimulationBox::new(&[9.4, 12.77, 35.1]);
    let edges = simulation_box.padded_edges();
    let species = three_species();
    let policy = P::new(&simulation_box, 0.004, &species);
    let is_integer = P::NAME == "FixedPoint";
    let mut arguments = records(stream, |inputs| {
        let axis = inputs.below(3) as usize;
        let edge = edges[axis];
        // Near a boundary, to cross it, every other time.
        let x = match inputs.below(4) {
            0 => inputs.uniform(0.0, 1e-3),
            1 => edge - inputs.uniform(0.0, 1e-3),
            _ => inputs.uniform(0.0, edge),
        };
        let (x, _) = policy.coordinate_from_f64(x, axis);
        let mut site = || {
            let (site, _) = policy.coordinate_from_f64(inputs.uniform(0.0, edge), axis);
            P::site_to_bits(policy.site(site, axis))
        };
        let (a, b) = (site(), site());
        let speed =
            if inputs.below(8) == 0 { inputs.wide(12.0) } else { inputs.uniform(-5.0, 5.0) };
        let velocity = match policy.velocity_from_f64(speed, axis) {
            Some(v) if !(is_integer && inputs.below(4) == 0) => P::velocity_to_bits(v),
            _ => inputs.integer() as u64,
        };
        let force = if is_integer {
            inputs.integer() as u64
        } else {
            P::velocity_to_bits(policy.velocity_from_f64(inputs.wide(12.0), axis).expect("a float"))
        };
        let terms: [u64; 3] = std::array::from_fn(|_| P::real(inputs.wide(18.0)));
        [
            P::coordinate_to_bits(x),
            velocity,
            force,
            a,
            b,
            axis as u64,
            inputs.below(3),
            1 + inputs.below(500),
            inputs.uniform(-1.5, 1.5).to_bits(),
            inputs.wide(30.0).to_bits(),
            terms[0],
            terms[1],
            terms[2],
        ]
    });
    for factor in [f64::INFINITY, f64::NAN, 1e300, 0.0] {
        let mut record = arguments[0];
        record[8] = factor.to_bits();
        record[9] = factor.to_bits();
        arguments.push(record);
    }
    // So little below the lower boundary that the upper one is reached by rounding; as fast as can be.
    for speed in [-1e-12, -1e-20, 0.0] {
        let velocity = policy.velocity_from_f64(speed, 0).expect("a small velocity");
        for velocity in [P::velocity_to_bits(velocity), 1 << 62, 3 << 62, (1 << 62) - 1] {
            let mut record = arguments[0];
            record[..3].copy_from_slice(&[
                P::coordinate_to_bits(P::Coordinate::default()),
                velocity,
                0,
            ]);
            record[5] = 0;
            arguments.push(record);
        }
    }
    compare(P::NAME, &policy.constants().bytes(), &arguments, |record| {
        let axis = record[5] as usize;
        let (x, v) = (P::coordinate_from_bits(record[0]), P::velocity_from_bits(record[1]));
        let force = P::force_of(record[2]);
        let (a, b) = (P::site_from_bits(record[3]), P::site_from_bits(record[4]));
        let terms: [P::Real; 3] = std::array::from_fn(|k| P::real_of(record[10 + k]));
        // The bits of a NaN are nobody's; these are the only places where one comes from finite input.
        let velocity_word = |bits: u64| match P::NAME {
            "FixedPoint" => Word::Bits(bits),
            "Double" => Word::F64(f64::from_bits(bits)),
            "Single" => Word::F32(f32_of(bits)),
            _ => Word::Pair(DoubleSingle::from_bits(bits)),
        };
        let (moved, image) = policy.drift(x, v, axis);
        let displacement = policy.displacement(a, b, axis);
        let length = policy.length(displacement, axis);
        let scaled = P::scale(v, f64::from_bits(record[8]));
        let wanted = f64::from_bits(record[9]);
        let velocity = policy.velocity_from_f64(wanted, axis);
        let (mut forces, mut energies) = (P::zero_sums::<1>(), P::zero_sums::<1>());
        for term in terms {
            P::accumulate_force(&mut forces, 0, term);
            P::accumulate_energy(&mut energies, 0, term);
        }
        let refused = |taken: Option<P::Velocity>, of: u64| match taken {
            Some(v) => velocity_word(P::velocity_to_bits(v)),
            None => velocity_word(of),
        };
        // What a policy refuses is unspecified: the header gives zero (integers) or the number itself.
        let unspecified = |wanted: f64| match P::NAME {
            "FixedPoint" => 0,
            "Double" => wanted.to_bits(),
            "Single" => bits32(wanted),
            _ => DoubleSingle::from_f64(wanted).to_bits(),
        };
        vec![
            velocity_word(P::velocity_to_bits(policy.half_kick(v, force, record[6] as usize))),
            velocity_word(P::coordinate_to_bits(moved)),
            Word::Bits(i64::from(image) as u64),
            Word::Bits(u64::from(policy.is_runaway(v, axis))),
            P::real_word(displacement),
            P::real_word(length),
            P::real_word(policy.impulse(terms[0])),
            P::real_word(P::arm(displacement, length)),
            Word::Bits(P::site_to_bits(policy.site(x, axis))),
            Word::Bits(u64::from(policy.slab(a, axis, record[7] as u32))),
            Word::Bits(P::velocity_to_bits(P::negate(v))),
            refused(scaled, 0),
            Word::Bits(u64::from(scaled.is_some())),
            refused(velocity, unspecified(wanted)),
            Word::Bits(u64::from(velocity.is_some())),
            Word::F64(policy.velocity_to_f64(v, axis)),
            Word::F64(policy.coordinate_to_f64(x, axis)),
            Word::F64(policy.force_to_f64(force, axis)),
            velocity_word(P::force_bits(P::total(&forces))),
            Word::F64(P::energy_to_f64(P::total(&energies))),
            Word::Bits(P::velocity_to_bits(P::subtract_units(v, record[2] as i64))),
            Word::Bits(P::velocity_to_bits(P::halved(v))),
            P::real_word(policy.relative_length(displacement, axis)),
            P::real_word(policy.force_of_impulse(terms[0])),
            Word::F64(policy.site_to_f64(a, axis)),
        ]
    });
}

#[test]
fn every_policy_agrees() {
    policy_agrees::<Single>(11);
    policy_agrees::<DoubleSingles>(12);
    policy_agrees::<Double>(13);
    policy_agrees::<FixedPoint>(14);
}

/// Compares the header of a potential with its evaluator, in all truncations.
struct PairAgrees<P> {
    form: PairPotential,
    pair: PairParameters,
    policy: PhantomData<P>,
}

impl<P: Numbers> FormVisitor for PairAgrees<P> {
    type Output = ();

    fn visit<F: PairForm>(self, evaluated: F) {
        let PairAgrees { form, pair, .. } = self;
        let policy = P::new(&SimulationBox::new(&[9.4, 9.4, 9.4]), 0.004, &three_species());
        for truncation in [
            Truncation::Sharp,
            Truncation::Shifted,
            Truncation::ForceShifted,
            Truncation::EvenQuartic,
            Truncation::Smooth { width: 0.005 },
        ] {
            let plan = PotentialPlan { form, truncation, pairs: vec![vec![pair]], diameters: None };
            let table = PairTable::new(&policy, &plan);
            let function = format!("{} {}", table.evaluator, table.truncation_name());
            let units = PairUnits::of::<P::Real>(truncation.kind(), policy.pair_units());
            let nearest = 0.1 / units.length;
            let mut arguments = records(15, |inputs| {
                [P::real(inputs.uniform(nearest, pair.cutoff / units.length).powi(2))]
            });
            // The same place, and where squares have lost their digits.
            let coincident2 = P::Real::COINCIDENT2.to_f64();
            arguments.extend([0.0, 0.5 * coincident2, 5e-324].map(|r2| [P::real(r2)]));
            let truncated: Truncated<P::Real, F::Evaluator<P::Real>> =
                Truncated::new(&evaluated, &pair, &truncation, policy.pair_units());
            let bytes: Vec<u8> = table.entries.iter().flat_map(|entry| entry.bytes()).collect();
            let core2 = &bytes[bytes.len() - size_of::<P::Real>()..];
            let core2 = match *core2 {
                [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
                _ => u64::from_ne_bytes(core2.try_into().expect("eight bytes")),
            };
            let of_pair = |force: P::Real, energy: P::Real, too_close: bool| {
                [P::real_word(force), P::real_word(energy), Word::Bits(u64::from(too_close))]
            };
            compare(&function, &bytes, &arguments, |&[r2]| {
                let r2 = P::real_of(r2);
                let at_contact = r2 < P::Real::COINCIDENT2;
                let (force, energy) = truncated.evaluate_as(truncation.kind(), r2);
                let zero = P::Real::ZERO;
                let contact = truncated.contact_energy().unwrap_or(zero);
                let inside = r2 < truncated.cutoff2();
                let too_close = inside && r2 < P::real_of(core2);
                let (force, energy) =
                    if inside && !at_contact { (force, energy) } else { (zero, zero) };
                let with_itself = of_pair(force, energy, false);
                let with_another =
                    of_pair(force, if at_contact { contact } else { energy }, too_close);
                let constants = [P::real_word(truncated.cutoff2()), Word::Bits(core2)];
                constants.into_iter().chain(with_itself).chain(with_another).collect()
            });
        }
    }
}

fn potentials_agree<P: Numbers>() {
    let pair = PairParameters::of_epsilon_and_sigma(1.5, 0.88, 2.2);
    for (form, pair) in [
        (PairPotential::LennardJones, pair),
        (PairPotential::HarmonicSpheres, pair.with_cutoff(0.88)),
        (PairPotential::Yukawa, pair.with(&KAPPA, 3.1)),
        (PairPotential::GaussianCore, pair),
        (PairPotential::Dzugutov, pair.with_cutoff(1.94 * 0.88)),
        (PairPotential::Mie { m: 12, n: 6 }, pair),
        (PairPotential::Mie { m: 11, n: 7 }, pair),
        (PairPotential::Mie { m: 63, n: 62 }, pair),
        (PairPotential::InversePower { n: 18 }, pair),
        (PairPotential::InversePower { n: 9 }, pair),
        (
            PairPotential::Buckingham,
            PairParameters::of_form(PairPotential::Buckingham, 2.2, &[4e5, 0.08, 2.1]),
        ),
        (
            PairPotential::Buckingham,
            PairParameters::of_form(PairPotential::Buckingham, 2.2, &[1.5, 0.3, 0.0]),
        ),
    ] {
        form.visit(PairAgrees::<P> { form, pair, policy: PhantomData });
    }
}

#[test]
fn potentials_and_truncations_agree_in_32_bits() {
    potentials_agree::<FixedPoint>();
}

#[test]
fn potentials_and_truncations_agree_in_64_bits() {
    potentials_agree::<Double>();
}

#[test]
fn places_in_samples_are_rounded_to_the_nearest_fraction() {
    let edges = [4.0, 15.14, 34.676, 1e3];
    let mut arguments = records(40, |inputs| {
        let edge = edges[inputs.below(4) as usize];
        let x = inputs.uniform(0.0, edge);
        [x.to_bits(), (2f64.powi(32) / edge).to_bits(), inputs.below(1 << 32), inputs.word()]
    });
    // Just below the edge, with the last image.
    arguments.push([4f64.next_down().to_bits(), 2f64.powi(30).to_bits(), 0x7FFF_FFFF, u64::MAX]);
    compare("sampled", &[], &arguments, |&[x, units, image, n]| {
        let image = image as u32 as i32;
        let of_float = (f64::from_bits(x) * f64::from_bits(units)).round_ties_even() as u64;
        let of_integer = (u128::from(n) + (1 << 31)) >> 32;
        let words = |fraction: u64| {
            let image = image.wrapping_add((fraction >> 32) as i32);
            [Word::Bits(fraction & 0xFFFF_FFFF), Word::Bits(i64::from(image) as u64)]
        };
        [words(of_float), words(of_integer as u64)].concat()
    });
}

#[test]
fn displacements_and_cosines_of_pairs_of_samples_are_within_their_bounds() {
    let mut arguments = records(41, |inputs| {
        let edge = inputs.uniform(5.0, 100.0);
        let near = inputs.below(1 << 20);
        let (from, image) = (inputs.below(1 << 32), inputs.below(1 << 32));
        let (to, later) = match inputs.below(3) {
            // Over a boundary, or not, by less than the edge.
            0 => ((from + near) & 0xFFFF_FFFF, image + ((from + near) >> 32)),
            1 => (inputs.below(1 << 32), image),
            _ => (inputs.below(1 << 32), image.wrapping_add(inputs.below(2000)).wrapping_sub(1000)),
        };
        [from, image, to, later & 0xFFFF_FFFF, edge.to_bits(), 1 + inputs.below(200)]
    });
    arguments.push([0, 0, 1 << 31, 0, 8f64.to_bits(), 1]);
    arguments.push([5, 7, 5, 7, 8f64.to_bits(), 3]);
    let Some(results) = apply("pair_terms", &[], &arguments) else { return };
    for (&[from, image, to, later, edge, n], result) in arguments.iter().zip(&results) {
        let boxes = i64::from((later as u32).wrapping_sub(image as u32) as i32);
        let units = i128::from(boxes) * (1 << 32) + i128::from(to) - i128::from(from);
        let exact = units as f64 * (f64::from_bits(edge) / 2f64.powi(32));
        let found = f64::from(f32_of(result[0]));
        // Roundings of the edge, of its multiple and of the rest, which is below half the edge.
        let bound = 1.2e-7 * exact.abs() + 1e-7 * f64::from_bits(edge).min(exact.abs().max(1e-9));
        assert!((found - exact).abs() <= bound, "{units}: {found} {exact}");
        let turns = (n as i128 * units).rem_euclid(1 << 32) as f64 / 2f64.powi(32);
        let cosine = f64::from(f32_of(result[1]));
        assert!(
            (cosine - (std::f64::consts::TAU * turns).cos()).abs() < 1.8e-7,
            "{turns}: {cosine}"
        );
    }
}

#[test]
fn points_near_a_place_are_found_once_with_any_cells() {
    let cells = [1, 2, 3, 5, 9];
    for dimension in [2, 3] {
        let mut arguments = Vec::new();
        let mut state = 17;
        for row in 0..150 {
            let mut below = |bound: u64| {
                state = next_of_generator(state);
                (state >> 32) % bound
            };
            let edges = [0; 3].map(|_| 4.0 + below(8) as f64);
            let [x, y, z] = [0; 3].map(|_| cells[below(5) as usize]);
            // Up to half the shortest edge.
            let radius = [0.1, 0.7, 1.4, 1.999][below(4) as usize];
            let z = if dimension == 2 { 1 } else { z };
            let [a, b, c] = edges.map(f64::to_bits);
            arguments.push([row, 1 + below(120), x, y, z, a, b, c, f64::to_bits(radius)]);
        }
        let function = format!("points_near {dimension}");
        let Some(results) = apply(&function, &[], &arguments) else { return };
        let mut all_found = 0;
        for (&[seed, count, .., a, b, c, radius], result) in arguments.iter().zip(&results) {
            let mut state = seed;
            let points: Vec<Vec<u32>> = (0..count)
                .map(|_| {
                    let mut fraction = || {
                        state = next_of_generator(state);
                        (state >> 32) as u32
                    };
                    (0..dimension).map(|_| fraction()).collect()
                })
                .collect();
            let unit = [a, b, c].map(|edge| f64::from_bits(edge) / 2f64.powi(32));
            let (mut found, mut ids) = (0, 0u64);
            for (id, point) in (0u64..).zip(&points) {
                let moved = if id % 2 == 1 { 0x1000_0001 } else { 0 };
                for (other_id, other) in (0u64..).zip(&points) {
                    let squared = |axis: usize| {
                        let place = point[axis].wrapping_add(moved);
                        (f64::from(other[axis].wrapping_sub(place) as i32) * unit[axis]).powi(2)
                    };
                    if (0..dimension).map(squared).sum::<f64>() < f64::from_bits(radius).powi(2) {
                        found += 1;
                        ids = ids.wrapping_add((id + 1) * (other_id + 1));
                    }
                }
            }
            assert_eq!(result[..], [found, ids], "{dimension}D, seed {seed}");
            all_found += found;
        }
        assert!(all_found > 10_000, "{all_found}");
    }
}

/// As in `points_near` of the headers' program.
fn next_of_generator(state: u64) -> u64 {
    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

#[test]
fn whole_system_sums_have_the_unit_of_the_header() {
    // `exact_term` of the header counts in units of 2^-40, as the sum here.
    let mut sum = ExactSum::default();
    sum.add(2f64.powi(-40)).expect("fits");
    assert_eq!(sum.value(), 2f64.powi(-40));
    sum.add(2f64.powi(-42)).expect("fits");
    assert_eq!(sum.value(), 2f64.powi(-40));
}
