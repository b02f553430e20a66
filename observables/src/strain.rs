use crate::{Axis, Descriptor, described};

described! {
    /// A curve over the strain, of a stage of athermal quasi-static strain.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StrainCurve {
        /// Stress of the strain, in `/strain/stress`.
        Stress: Descriptor::of_strain("strain_stress", "s");
        /// Potential energy per particle of the minima, in `/strain/potential_energy`.
        Energy: Descriptor::of_strain("strain_energy", "U/N");
    }
}

impl StrainCurve {
    /// Its group below `/strain`.
    pub fn group(self) -> &'static str {
        match self {
            StrainCurve::Stress => "stress",
            StrainCurve::Energy => "potential_energy",
        }
    }

    /// It is drawn over the strain.
    pub const AXIS: Axis = Axis::Strain;
}
