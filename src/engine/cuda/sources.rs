//! The text of the kernels, part of this binary.

/// A file of `kernels/` with its name.
macro_rules! header {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../kernels/", $name)))
    };
}

/// Headers by the names with which they are included.
pub const HEADERS: &[(&str, &str)] = &[
    header!("arithmetic/double_single.cuh"),
    header!("arithmetic/elementary.cuh"),
    header!("arithmetic/exact_sum.cuh"),
    header!("arithmetic/fixed_point.cuh"),
    header!("arithmetic/philox.cuh"),
    header!("arithmetic/portable.cuh"),
    header!("arithmetic/random.cuh"),
    header!("arithmetic/real.cuh"),
    header!("arithmetic/reciprocal.cuh"),
    header!("block_sums.cuh"),
    header!("domain/advance.cu"),
    header!("domain/ghosts.cu"),
    header!("domain/migrate.cu"),
    header!("domain/rebuild.cu"),
    header!("domain/rim.cuh"),
    header!("domain/steps.cu"),
    header!("hilbert.cuh"),
    header!("md/advance.cu"),
    header!("md/andersen.cuh"),
    header!("md/coarse.cuh"),
    header!("md/forces.cuh"),
    header!("md/grid.cuh"),
    header!("md/integrate.cuh"),
    header!("md/lists.cuh"),
    header!("md/measure.cu"),
    header!("md/passes.cuh"),
    header!("md/rebuild.cuh"),
    header!("md/sample.cuh"),
    header!("md/stress.cuh"),
    header!("md/sums.cuh"),
    header!("md/system.cuh"),
    header!("md/thermostat.cuh"),
    header!("minimize/fire.cuh"),
    header!("observable/cells.cuh"),
    header!("observable/origins.cuh"),
    header!("observable/pair_terms.cuh"),
    header!("observable/records.cuh"),
    header!("observable/sampled.cuh"),
    header!("potential/gaussian_core.cuh"),
    header!("potential/harmonic_spheres.cuh"),
    header!("potential/inverse_powers.cuh"),
    header!("potential/lennard_jones.cuh"),
    header!("potential/truncation.cuh"),
    header!("potential/yukawa.cuh"),
    header!("precision/box_fraction.cuh"),
    header!("precision/double.cuh"),
    header!("precision/double_single.cuh"),
    header!("precision/fixed_point.cuh"),
    header!("precision/single.cuh"),
    header!("precision/species.cuh"),
    header!("ptx.cuh"),
    header!("run.cuh"),
];
