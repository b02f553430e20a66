//! Philox 4x32-10: a counter-based random number generator without state.
//!
//! Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC'11. Ten rounds of a
//! keyed bijection of 128-bit counters; every (key, counter) pair gives its own four words.

const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// Golden ratio and sqrt(3) - 1, as 32-bit fractions.
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The random words of one counter under one key.
#[inline(always)]
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let p0 = u64::from(MULTIPLIER[0]) * u64::from(c0);
        let p1 = u64::from(MULTIPLIER[1]) * u64::from(c2);
        (c0, c1, c2, c3) =
            ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::philox4x32;

    /// The vectors of Random123's `kat_vectors` for philox 4x32 10.
    #[test]
    fn known_answers_are_reproduced() {
        assert_eq!(
            philox4x32([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32([!0; 4], [!0; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
