use crate::{Axis, Descriptor, described};

described! {
    /// An average over configurations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StructureFunction {
        /// `g_ab(r)`.
        PairDistribution:
            Descriptor::of_structure("pair_distribution", &[Axis::Distance], "g(r)");
        /// `S_ab(q)`.
        StructureFactor:
            Descriptor::of_structure("structure_factor", &[Axis::Wavenumber], "S(q)");
    }
}
