//! Sites of the neighbors in a row of a list, component by component.
//!
//! A site is one aligned load of its padded components; rows of loads are transposed in registers. Gather
//! instructions, which fetch every component by itself, take three times as long on processors of today.
use super::instruction_set::InstructionSet;
use crate::engine::precision::Policy;

/// Components of a site in memory: padded so that one load fetches it.
pub const STRIDE: usize = 4;

/// The component that holds the bits of a particle's diameter.
pub const DIAMETER: usize = 3;

/// The place in memory of all sites of a system.
pub type Sites<P> = Vec<[<P as Policy>::Site; STRIDE]>;

/// Components of the sites at `places`, for the instruction set `SET`.
///
/// # Safety
/// The processor has the set; every place is below the number of sites.
#[inline(always)]
pub unsafe fn gather<P: Policy, const SET: usize, const LANES: usize>(
    sites: &[[P::Site; STRIDE]],
    places: &[u32; LANES],
) -> [[P::Site; LANES]; 3] {
    debug_assert!(places.iter().all(|&place| (place as usize) < sites.len()));
    #[cfg(target_arch = "x86_64")]
    {
        let mut out = [[P::Site::default(); LANES]; 3];
        let (from, to) = (sites.as_ptr(), out.as_mut_ptr());
        let wide = size_of::<P::Site>() == 8;
        // SAFETY: places and set by the caller; arrays of 16 components of 32 bits or 8 of 64 are what the
        // functions fill, whatever the type of the components.
        unsafe {
            if SET == InstructionSet::Avx512 as usize && LANES == 16 && !wide {
                x86::sixteen_of_32(from.cast(), places.as_ptr().cast(), to.cast());
                return out;
            }
            if SET == InstructionSet::Avx512 as usize && LANES == 8 && wide {
                x86::eight_of_64(from.cast(), places.as_ptr().cast(), to.cast());
                return out;
            }
            if SET == InstructionSet::Avx2 as usize && LANES == 16 && !wide {
                x86::twice_eight_of_32(from.cast(), places.as_ptr().cast(), to.cast());
                return out;
            }
            if SET == InstructionSet::Avx2 as usize && LANES == 8 && wide {
                x86::twice_four_of_64(from.cast(), places.as_ptr().cast(), to.cast());
                return out;
            }
        }
    }
    std::array::from_fn(|axis| {
        // SAFETY: by the caller.
        std::array::from_fn(|lane| unsafe { sites.get_unchecked(places[lane] as usize)[axis] })
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    type Site32 = [u32; super::STRIDE];
    type Site64 = [u64; super::STRIDE];

    /// # Safety
    /// AVX-512 F; sites at all places.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn sixteen_of_32(
        sites: *const Site32,
        places: *const [u32; 16],
        out: *mut [[u32; 16]; 3],
    ) {
        // SAFETY: by the caller.
        unsafe {
            // Row k: sites k, k + 4, k + 8, k + 12.
            let row = |k: usize| {
                let site =
                    |lane: usize| _mm_loadu_si128(sites.add((*places)[lane] as usize).cast());
                let row = _mm512_castsi128_si512(site(k));
                let row = _mm512_inserti32x4::<1>(row, site(k + 4));
                let row = _mm512_inserti32x4::<2>(row, site(k + 8));
                _mm512_castsi512_ps(_mm512_inserti32x4::<3>(row, site(k + 12)))
            };
            let (a, b, c, d) = (row(0), row(1), row(2), row(3));
            let (xy_ab, xy_cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
            let (z_ab, z_cd) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
            let (xy_ab, xy_cd) = (_mm512_castps_pd(xy_ab), _mm512_castps_pd(xy_cd));
            let (z_ab, z_cd) = (_mm512_castps_pd(z_ab), _mm512_castps_pd(z_cd));
            let out: *mut f64 = out.cast();
            _mm512_storeu_pd(out, _mm512_unpacklo_pd(xy_ab, xy_cd));
            _mm512_storeu_pd(out.add(8), _mm512_unpackhi_pd(xy_ab, xy_cd));
            _mm512_storeu_pd(out.add(16), _mm512_unpacklo_pd(z_ab, z_cd));
        }
    }

    /// # Safety
    /// AVX-512 F; sites at all places.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub unsafe fn eight_of_64(
        sites: *const Site64,
        places: *const [u32; 8],
        out: *mut [[u64; 8]; 3],
    ) {
        // SAFETY: by the caller.
        unsafe {
            // Row k: sites k, k + 4.
            let row = |k: usize| {
                let site =
                    |lane: usize| _mm256_loadu_pd(sites.add((*places)[lane] as usize).cast());
                _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(site(k)), site(k + 4))
            };
            let (a, b, c, d) = (row(0), row(1), row(2), row(3));
            let (xz_ab, xz_cd) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            let (y_ab, y_cd) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            let lower = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let upper = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            let out: *mut f64 = out.cast();
            _mm512_storeu_pd(out, _mm512_permutex2var_pd(xz_ab, lower, xz_cd));
            _mm512_storeu_pd(out.add(8), _mm512_permutex2var_pd(y_ab, lower, y_cd));
            _mm512_storeu_pd(out.add(16), _mm512_permutex2var_pd(xz_ab, upper, xz_cd));
        }
    }

    /// # Safety
    /// AVX; sites at all places.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn twice_eight_of_32(
        sites: *const Site32,
        places: *const [u32; 16],
        out: *mut [[u32; 16]; 3],
    ) {
        for first in [0, 8] {
            // SAFETY: by the caller.
            unsafe {
                // Row k: sites k, k + 4.
                let row = |k: usize| {
                    let site =
                        |lane: usize| _mm_loadu_ps(sites.add((*places)[lane] as usize).cast());
                    let lower = _mm256_castps128_ps256(site(first + k));
                    _mm256_insertf128_ps::<1>(lower, site(first + k + 4))
                };
                let (a, b, c, d) = (row(0), row(1), row(2), row(3));
                let (xy_ab, xy_cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
                let (z_ab, z_cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
                let (xy_ab, xy_cd) = (_mm256_castps_pd(xy_ab), _mm256_castps_pd(xy_cd));
                let (z_ab, z_cd) = (_mm256_castps_pd(z_ab), _mm256_castps_pd(z_cd));
                let out = out.cast::<u32>().add(first);
                _mm256_storeu_pd(out.cast(), _mm256_unpacklo_pd(xy_ab, xy_cd));
                _mm256_storeu_pd(out.add(16).cast(), _mm256_unpackhi_pd(xy_ab, xy_cd));
                _mm256_storeu_pd(out.add(32).cast(), _mm256_unpacklo_pd(z_ab, z_cd));
            }
        }
    }

    /// # Safety
    /// AVX; sites at all places.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn twice_four_of_64(
        sites: *const Site64,
        places: *const [u32; 8],
        out: *mut [[u64; 8]; 3],
    ) {
        for first in [0, 4] {
            // SAFETY: by the caller.
            unsafe {
                let site =
                    |k: usize| _mm256_loadu_pd(sites.add((*places)[first + k] as usize).cast());
                let (a, b, c, d) = (site(0), site(1), site(2), site(3));
                let (xz_ab, xz_cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
                let (y_ab, y_cd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
                let out = out.cast::<f64>().add(first);
                _mm256_storeu_pd(out, _mm256_permute2f128_pd::<0x20>(xz_ab, xz_cd));
                _mm256_storeu_pd(out.add(8), _mm256_permute2f128_pd::<0x20>(y_ab, y_cd));
                _mm256_storeu_pd(out.add(16), _mm256_permute2f128_pd::<0x31>(xz_ab, xz_cd));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction_set::InstructionSet;
    use super::gather;
    use crate::engine::precision::{Double, FixedPoint, Policy};

    fn check<P: Policy, const LANES: usize>(number: impl Fn(usize, usize) -> P::Site)
    where
        P::Site: PartialEq + std::fmt::Debug,
    {
        let sites: Vec<[P::Site; 4]> =
            (0..97).map(|i| std::array::from_fn(|axis| number(i, axis))).collect();
        let places: [u32; LANES] = std::array::from_fn(|lane| (lane as u32 * 41 + 7) % 97);
        // SAFETY: only sets that the processor has are taken; places are below 97.
        let found = unsafe {
            match InstructionSet::detect() {
                InstructionSet::Avx512 => {
                    let avx2 = gather::<P, { InstructionSet::Avx2 as usize }, LANES>;
                    let avx512 = gather::<P, { InstructionSet::Avx512 as usize }, LANES>;
                    assert_eq!(avx2(&sites, &places), avx512(&sites, &places));
                    avx512(&sites, &places)
                }
                InstructionSet::Avx2 => {
                    gather::<P, { InstructionSet::Avx2 as usize }, LANES>(&sites, &places)
                }
                InstructionSet::Baseline => {
                    gather::<P, { InstructionSet::Baseline as usize }, LANES>(&sites, &places)
                }
            }
        };
        for axis in 0..3 {
            for lane in 0..LANES {
                assert_eq!(found[axis][lane], sites[places[lane] as usize][axis]);
            }
        }
    }

    #[test]
    fn rows_are_transposed_in_order() {
        check::<FixedPoint, 16>(|i, axis| (4 * i + axis) as i32 - 100);
        check::<Double, 8>(|i, axis| (4 * i + axis) as f64 + 0.5);
    }
}
