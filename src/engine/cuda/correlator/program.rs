//! Programs of correlations: what they have in common, and text written for the wave vectors of one.
use std::fmt::Write;

use crate::engine::cuda::declare::{device_constants, device_struct, shared_header};
use crate::engine::cuda::program::Program;
use crate::engine::cuda::samples;
use crate::observable::dynamics::evaluation::Evaluation;
use crate::observable::dynamics::kernel_sum::{
    self, CHUNK_OF_MODES, KernelSum, MOST_WRITTEN_OUT, Results, columns_of, sum_count,
};
use crate::observable::portable::share;
use crate::observable::wavevectors::{WaveVectorShell, orbit_size};

device_constants! {
    /// Threads of a block, and its warps.
    mod blocks: u32 {
        THREADS = 256;
        WARPS = THREADS / 32;
    }
}
pub use blocks::THREADS;

device_constants! {
    /// Particles of a chunk, whose sums are made by themselves; histograms of more bins are counted in global memory.
    mod pair_sums: u32 {
        CHUNK = kernel_sum::CHUNK as u32;
        MOST_SHARED_BINS = 1024;
    }
}
pub const CHUNK: usize = pair_sums::CHUNK as usize;
pub const MOST_SHARED_BINS: usize = pair_sums::MOST_SHARED_BINS as usize;

device_constants! {
    /// Particles of a chunk, whose modes are summed by themselves.
    mod mode_sums: u32 {
        CHUNK = CHUNK_OF_MODES as u32;
    }
}
pub const DENSITY_CHUNK: usize = mode_sums::CHUNK as usize;

device_struct! {
    /// Particles of one species that follow each other.
    pub struct Chunk {
        pub start: u32,
        pub count: u32,
    }
}

shared_header!(BLOCKS = "shared/blocks.cuh": blocks::Declaration);
shared_header!(pub CHUNKS = "shared/chunk.cuh": Chunk);
shared_header!(pub PAIR_SUMS = "shared/pair_sums.cuh": pair_sums::Declaration);
shared_header!(pub MODE_SUMS = "shared/mode_sums.cuh": mode_sums::Declaration);

/// More samples than this in a group gain nothing.
pub const MOST_SLOTS: usize = 16;

/// A program over samples of particles.
pub fn program_over_samples(
    name: &str,
    text: impl Into<String>,
    dimension: usize,
    species: usize,
) -> Program {
    let macros = [("DIMENSION", dimension.to_string()), ("SPECIES_COUNT", species.to_string())];
    Program::new(name, text).define(macros).include(&samples::SHARED).include(&[BLOCKS])
}

/// Text of a correlation's kernels: `text` with the sums that it wants.
pub fn text_of_sums(evaluation: &Evaluation, text: &str) -> String {
    let terms = statements(evaluation, |sum| sum.add, false);
    let at_lag_zero = statements(evaluation, |sum| sum.add_at_lag_zero, true);
    format!(
        "#include \"observable/pair_terms.cuh\"\n{}{}",
        scattering(shells(evaluation)),
        text.replace("ADD_TERMS_AT_LAG_ZERO;", &at_lag_zero).replace("ADD_TERMS;", &terms)
    )
}

/// Macros of the same.
pub fn macros_of_sums(evaluation: &Evaluation) -> [(&'static str, String); 3] {
    [
        ("WIDTH", sum_count(evaluation).to_string()),
        ("SHELLS", shells(evaluation).len().to_string()),
        ("BINS", bins(evaluation).to_string()),
    ]
}

/// Statements of the terms that are wanted, in the order of kernels; or with those of counts last.
fn statements(evaluation: &Evaluation, text: fn(&KernelSum) -> &str, counts_last: bool) -> String {
    let mut all = String::new();
    let mut last = String::new();
    let mut first = 0;
    for (_, sum) in evaluation.kernel_sums() {
        let (target, own) = match &sum.results {
            Results::Counts(_) if counts_last => (&mut last, String::new()),
            Results::Counts(_) => (&mut all, String::new()),
            _ => (&mut all, format!("float *sum = sums + {first};\n")),
        };
        if !text(sum).is_empty() {
            let _ = writeln!(target, "{{ // {}\n{own}{}\n}}", sum.name, text(sum));
        }
        first += columns_of(sum);
    }
    all + &last
}

/// Bins of the histogram.
pub fn bins(evaluation: &Evaluation) -> usize {
    let of = |(_, sum): (usize, &KernelSum)| match &sum.results {
        Results::Counts(each) => Some(each.len()),
        _ => None,
    };
    evaluation.kernel_sums().find_map(of).unwrap_or(0)
}

fn shells(evaluation: &Evaluation) -> &[WaveVectorShell] {
    evaluation
        .kernel_sums()
        .find_map(|(_, sum)| match &sum.results {
            Results::Shells(shells) => Some(shells.as_slice()),
            _ => None,
        })
        .unwrap_or_default()
}

/// [`share`] as text.
fn written(share: f32) -> String {
    format!("{share:?}f")
}

/// `add_scattering`: a mean of cosines for each shell. Over the signs of an orbit it is a product of cosines, one for
/// each axis; those that several orbits have are evaluated once.
fn scattering(shells: &[WaveVectorShell]) -> String {
    let orbits: usize = shells.iter().map(|shell| shell.orbits.len()).sum();
    if orbits > MOST_WRITTEN_OUT { table(shells) } else { written_out(shells) }
}

fn written_out(shells: &[WaveVectorShell]) -> String {
    let mut text = "INLINE void add_scattering(const u32 (&turns)[3], float *sums) {\n".to_owned();
    let mut known: Vec<(usize, u32)> = Vec::new();
    for (number, shell) in shells.iter().enumerate() {
        let mut sizes: Vec<u64> = shell.orbits.iter().map(|&orbit| orbit_size(orbit)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let sum = format!("shell{number}_{size}");
            let _ = writeln!(text, "    float {sum} = 0.0f;");
            for orbit in shell.orbits.iter().filter(|&&orbit| orbit_size(orbit) == size) {
                let mut factors = Vec::new();
                for (axis, &n) in orbit.iter().enumerate().filter(|(_, n)| **n > 0) {
                    if !known.contains(&(axis, n)) {
                        known.push((axis, n));
                        let _ = writeln!(
                            text,
                            "    float c{axis}_{n} = cosine_of_turns({n}u * turns[{axis}]);"
                        );
                    }
                    factors.push(format!("c{axis}_{n}"));
                }
                let sum_of = match &factors[..] {
                    [a, b, c] => format!("fused(mul({a}, {b}), {c}, {sum})"),
                    [a, b] => format!("fused({a}, {b}, {sum})"),
                    [a] => format!("add({a}, {sum})"),
                    _ => unreachable!("a wave vector is not zero"),
                };
                let _ = writeln!(text, "    {sum} = {sum_of};");
            }
            let share = written(share(shell, size));
            let _ = writeln!(text, "    sums[{number}] = fused({share}, {sum}, sums[{number}]);");
        }
    }
    text + "}\n"
}

fn table(shells: &[WaveVectorShell]) -> String {
    let mut text = "struct Orbit {\n    u32 n[3];\n    float share;\n};\n\
                    static __device__ const Orbit orbits[] = {\n"
        .to_owned();
    let mut ends = Vec::new();
    let mut end = 0;
    for shell in shells {
        for &[x, y, z] in &shell.orbits {
            let share = written(share(shell, orbit_size([x, y, z])));
            let _ = writeln!(text, "    {{{{{x}u, {y}u, {z}u}}, {share}}},");
        }
        end += shell.orbits.len();
        ends.push(format!("{end}u"));
    }
    let _ = write!(
        text,
        "}};\nstatic __device__ const u32 shell_ends[] = {{{}}};\n\
         INLINE void add_scattering(const u32 (&turns)[3], float *sums) {{\n\
         \x20   u32 orbit = 0;\n\
         #pragma unroll\n\
         \x20   for (int shell = 0; shell < SHELLS; ++shell) {{\n\
         \x20       float sum = 0.0f;\n\
         \x20       for (; orbit < shell_ends[shell]; ++orbit) {{\n\
         \x20           const Orbit &of = orbits[orbit];\n\
         \x20           float product = mul(cosine_of_turns(of.n[0] * turns[0]), cosine_of_turns(of.n[1] * turns[1]));\n\
         \x20           sum = fused(mul(of.share, product), cosine_of_turns(of.n[2] * turns[2]), sum);\n\
         \x20       }}\n\
         \x20       sums[shell] = add(sums[shell], sum);\n\
         \x20   }}\n\
         }}\n",
        ends.join(", ")
    );
    text
}
