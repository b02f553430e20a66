/// Position of a cell along Hilbert's space-filling curve through a square or cube of `2^bits` cells
/// an edge: neighbors along the curve are neighbors in space.
///
/// `cell` has 2 or 3 coordinates below `2^bits`. The coordinates are rotated and reflected level by
/// level into Gray code and their bits interleaved (Skilling, AIP Conf. Proc. 707, 381 (2004)).
pub fn hilbert_index(cell: &[u32], bits: u32) -> u64 {
    let n = cell.len();
    debug_assert!(matches!(n, 2 | 3) && bits * n as u32 <= 63);
    let mut x = [0u32; 3];
    x[..n].copy_from_slice(cell);
    let x = &mut x[..n];
    if bits == 0 {
        return 0;
    }
    // Undo the rotations and reflections of the coarser levels.
    let mut level = 1 << (bits - 1);
    while level > 1 {
        let lower = level - 1;
        for axis in 0..n {
            if x[axis] & level != 0 {
                x[0] ^= lower;
            } else {
                let exchange = (x[0] ^ x[axis]) & lower;
                x[0] ^= exchange;
                x[axis] ^= exchange;
            }
        }
        level >>= 1;
    }
    // Gray code.
    for axis in 1..n {
        x[axis] ^= x[axis - 1];
    }
    let mut reflection = 0;
    let mut level = 1 << (bits - 1);
    while level > 1 {
        if x[n - 1] & level != 0 {
            reflection ^= level - 1;
        }
        level >>= 1;
    }
    for coordinate in x.iter_mut() {
        *coordinate ^= reflection;
    }
    // Interleave, the first axis most significant.
    let mut index = 0;
    for bit in (0..bits).rev() {
        for &coordinate in x.iter() {
            index = index << 1 | u64::from(coordinate >> bit & 1);
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::hilbert_index;

    fn curve(n: usize, bits: u32) -> Vec<Vec<i64>> {
        let edge = 1u32 << bits;
        let mut cells: Vec<(u64, Vec<i64>)> = (0..edge.pow(n as u32))
            .map(|flat| {
                let cell: Vec<u32> = (0..n as u32).map(|k| flat / edge.pow(k) % edge).collect();
                (hilbert_index(&cell, bits), cell.iter().map(|&x| i64::from(x)).collect())
            })
            .collect();
        cells.sort();
        for (rank, (index, _)) in cells.iter().enumerate() {
            assert_eq!(rank as u64, *index, "every index occurs once");
        }
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    #[test]
    fn successive_cells_share_a_face() {
        for (n, bits) in [(2, 1), (2, 5), (3, 1), (3, 4)] {
            let curve = curve(n, bits);
            for pair in curve.windows(2) {
                let steps: i64 = pair[0].iter().zip(&pair[1]).map(|(a, b)| (a - b).abs()).sum();
                assert_eq!(steps, 1, "{n}D, {bits} bits: {pair:?}");
            }
        }
    }
}
