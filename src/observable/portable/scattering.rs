//! Means of cosines over shells of wave vectors, lane by lane. Mirrors the text that is written for the kernel of pairs
//! (`src/engine/cuda/correlator/program.rs`).
use super::lanes::{LANES, Lanes, cosine_of_turns};
use crate::observable::dynamics::kernel_sum::MOST_WRITTEN_OUT;
use crate::observable::wavevectors::{WaveVectorShell, orbit_size};

/// Over the signs of an orbit the mean is a product of cosines, one for each axis.
pub struct Scattering {
    /// Axes and integers whose cosines are needed.
    factors: Vec<(usize, u32)>,
    shells: Vec<Shell>,
}

enum Shell {
    /// Orbits of one size after the other: their share, and the numbers of their factors, no more than there are axes.
    BySize(Vec<(f32, Vec<Vec<usize>>)>),
    /// The share of each orbit, and the numbers of its three factors.
    One(Vec<(f32, [usize; 3])>),
}

/// Share of each vector of an orbit.
pub fn share(shell: &WaveVectorShell, vectors: u64) -> f32 {
    (vectors as f64 / shell.count() as f64) as f32
}

impl Scattering {
    pub fn new(shells: &[WaveVectorShell]) -> Self {
        let mut factors: Vec<(usize, u32)> = Vec::new();
        let mut number = |factor: (usize, u32)| {
            factors.iter().position(|known| *known == factor).unwrap_or_else(|| {
                factors.push(factor);
                factors.len() - 1
            })
        };
        let orbits: usize = shells.iter().map(|shell| shell.orbits.len()).sum();
        let shells = shells.iter().map(|shell| {
            if orbits > MOST_WRITTEN_OUT {
                let of = |&n: &[u32; 3]| {
                    let factors = std::array::from_fn(|axis| number((axis, n[axis])));
                    (share(shell, orbit_size(n)), factors)
                };
                return Shell::One(shell.orbits.iter().map(of).collect());
            }
            let mut sizes: Vec<u64> = shell.orbits.iter().map(|&n| orbit_size(n)).collect();
            sizes.sort_unstable();
            sizes.dedup();
            let of_size = |size: u64| {
                let orbits = shell.orbits.iter().filter(|&&n| orbit_size(n) == size);
                let of = |n: &[u32; 3]| {
                    let along = n.iter().enumerate().filter(|(_, n)| **n > 0);
                    along.map(|(axis, &n)| number((axis, n))).collect()
                };
                (share(shell, size), orbits.map(of).collect())
            };
            Shell::BySize(sizes.into_iter().map(of_size).collect())
        });
        let shells = shells.collect();
        Scattering { factors, shells }
    }

    pub fn shells(&self) -> usize {
        self.shells.len()
    }

    /// Room for [`add`](Self::add).
    pub fn workspace(&self) -> Vec<Lanes> {
        vec![[0.0; LANES]; self.factors.len()]
    }

    /// Adds the means of cosines of each shell.
    #[inline(always)]
    pub fn add(&self, turns: &[[u32; LANES]; 3], cosines: &mut [Lanes], sums: &mut [Lanes]) {
        for (cosines, &(axis, n)) in cosines.iter_mut().zip(&self.factors) {
            for lane in 0..LANES {
                cosines[lane] = cosine_of_turns(n.wrapping_mul(turns[axis][lane]));
            }
        }
        for (shell, sums) in self.shells.iter().zip(sums) {
            match shell {
                Shell::BySize(sizes) => {
                    for (share, orbits) in sizes {
                        let mut sum = [0.0; LANES];
                        // No closures: they are not compiled for the registers of the caller.
                        for factors in orbits {
                            add_product(factors, cosines, &mut sum);
                        }
                        for lane in 0..LANES {
                            sums[lane] = share.mul_add(sum[lane], sums[lane]);
                        }
                    }
                }
                Shell::One(orbits) => {
                    let mut sum = [0.0_f32; LANES];
                    for &(share, [x, y, z]) in orbits {
                        let (x, y, z) = (&cosines[x], &cosines[y], &cosines[z]);
                        for lane in 0..LANES {
                            let product = share * (x[lane] * y[lane]);
                            sum[lane] = product.mul_add(z[lane], sum[lane]);
                        }
                    }
                    for lane in 0..LANES {
                        sums[lane] += sum[lane];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add_product(factors: &[usize], cosines: &[Lanes], sum: &mut Lanes) {
    match *factors {
        [a, b, c] => {
            let (a, b, c) = (&cosines[a], &cosines[b], &cosines[c]);
            for lane in 0..LANES {
                sum[lane] = (a[lane] * b[lane]).mul_add(c[lane], sum[lane]);
            }
        }
        [a, b] => {
            let (a, b) = (&cosines[a], &cosines[b]);
            for lane in 0..LANES {
                sum[lane] = a[lane].mul_add(b[lane], sum[lane]);
            }
        }
        [a] => {
            for lane in 0..LANES {
                sum[lane] += cosines[a][lane];
            }
        }
        _ => unreachable!("a wave vector is not zero"),
    }
}
