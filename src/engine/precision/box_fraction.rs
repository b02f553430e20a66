//! Sites as 32-bit fractions of the box edge. Mirrors `kernels/precision/box_fraction.cuh`.

/// Units of an edge.
pub(super) const UNITS: f64 = 4_294_967_296.0;

/// Displacement `a - b` of the nearest images in units: overflow is the periodic boundary.
#[inline(always)]
pub(super) fn displacement(a: i32, b: i32) -> f32 {
    a.wrapping_sub(b) as f32
}

/// Position of a site along an edge.
pub(super) fn position(site: i32, edge: f64) -> f64 {
    f64::from(site as u32) * (edge / UNITS)
}

/// Which of `count` equal slabs of the box holds the site.
#[inline(always)]
pub(super) fn slab(site: i32, count: u32) -> u32 {
    ((u64::from(site as u32) * u64::from(count)) >> 32) as u32
}

/// Length of a unit for an edge.
pub(super) fn unit_length(edge: f64) -> f32 {
    (edge / UNITS) as f32
}

/// Lengths of the axes' units in that of the first: all one in a cubic box.
pub(super) fn relative_lengths(edges: [f64; 3]) -> [f32; 3] {
    edges.map(|edge| (edge / edges[0]) as f32)
}
