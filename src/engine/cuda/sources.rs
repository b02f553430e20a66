//! The text of the kernels, part of this binary.
use std::sync::LazyLock;

use crate::potential::kernel_headers;

/// A file of `kernels/` with its name.
macro_rules! header {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../kernels/", $name)))
    };
}

/// All headers by the names with which they are included, those of the potentials among them.
pub fn headers() -> &'static [(&'static str, &'static str)] {
    static ALL: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
        let of_potentials = kernel_headers().map(|header| (header.name, header.text));
        WRITTEN.iter().copied().chain(of_potentials).collect()
    });
    &ALL
}

/// Files of `kernels/`; potentials have theirs.
const WRITTEN: &[(&str, &str)] = &[
    header!("arithmetic/double_single.cuh"),
    header!("arithmetic/elementary.cuh"),
    header!("arithmetic/error_function.cuh"),
    header!("arithmetic/exact_sum.cuh"),
    header!("arithmetic/fixed_point.cuh"),
    header!("arithmetic/philox.cuh"),
    header!("arithmetic/portable.cuh"),
    header!("arithmetic/random.cuh"),
    header!("arithmetic/real.cuh"),
    header!("arithmetic/reciprocal.cuh"),
    header!("block_sums.cuh"),
    header!("domain/advance.cu"),
    header!("domain/flow.cuh"),
    header!("domain/ghosts.cu"),
    header!("domain/migrate.cu"),
    header!("domain/rebuild.cu"),
    header!("domain/report.cuh"),
    header!("domain/halo.cuh"),
    header!("domain/kinetic_energy.cuh"),
    header!("domain/steps.cu"),
    header!("domain/tiles.cuh"),
    header!("hilbert.cuh"),
    header!("md/advance.cu"),
    header!("md/advance.cuh"),
    header!("md/advance_members.cu"),
    header!("md/by_bytes.cuh"),
    header!("md/list_writer.cuh"),
    header!("md/member.cuh"),
    header!("md/box_constants.cuh"),
    header!("md/spared_sums.cuh"),
    header!("md/staged.cuh"),
    header!("md/swaps.cuh"),
    header!("md/andersen.cuh"),
    header!("md/coarse.cuh"),
    header!("md/expected_sites.cuh"),
    header!("md/flow.cuh"),
    header!("md/forces.cuh"),
    header!("md/grid.cuh"),
    header!("md/integrate.cuh"),
    header!("md/neighbor_lists.cuh"),
    header!("md/measure.cu"),
    header!("md/pair_sums.cuh"),
    header!("md/passes.cuh"),
    header!("md/piston.cuh"),
    header!("md/rebuild.cuh"),
    header!("md/relist.cuh"),
    header!("md/sample.cuh"),
    header!("md/stress.cuh"),
    header!("md/sums.cuh"),
    header!("md/system.cuh"),
    header!("md/tagged.cuh"),
    header!("md/thermostat.cuh"),
    header!("md/virial.cuh"),
    header!("md/volume.cuh"),
    header!("minimize/fire.cuh"),
    header!("minimize/own_box.cuh"),
    header!("minimize/passes.cuh"),
    header!("observable/cells.cuh"),
    header!("observable/origins.cuh"),
    header!("observable/pair_terms.cuh"),
    header!("observable/records.cuh"),
    header!("observable/sampled.cuh"),
    header!("potential/diameters.cuh"),
    header!("potential/truncation.cuh"),
    header!("precision/box_fraction.cuh"),
    header!("precision/double.cuh"),
    header!("precision/double_single.cuh"),
    header!("precision/fixed_point.cuh"),
    header!("precision/single.cuh"),
    header!("precision/species.cuh"),
    header!("precision/tilt.cuh"),
    header!("ptx.cuh"),
    header!("run.cuh"),
];
