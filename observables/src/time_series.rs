use crate::{Descriptor, described};

described! {
    /// A scalar that is sampled while a run goes on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TimeSeries {
        /// Temperature.
        Temperature: Descriptor::scalar("temperature", "temperature T");
        /// Potential energy per particle.
        PotentialEnergy: Descriptor::scalar("potential_energy", "potential energy / N");
        /// Total energy per particle.
        InternalEnergy: Descriptor::scalar("internal_energy", "total energy / N");
        /// Conserved energy per particle, of which the change since the first sample is drawn.
        ConservedEnergy: Descriptor::scalar("conserved_energy", "drift of conserved energy / N");
        /// Pressure.
        Pressure: Descriptor::scalar("pressure", "pressure P");
        /// Bond-orientational order of all bonds.
        BondOrientationalOrder:
            Descriptor::scalar("bond_orientational_order", "bond order, all bonds");
        /// Mean bond-orientational order of single particles.
        LocalBondOrientationalOrder:
            Descriptor::scalar("local_bond_orientational_order", "bond order, local");
        /// Energies of inherent structures.
        InherentStructureEnergy:
            Descriptor::scalar("inherent_structure_energy", "inherent structures, e_IS");
    }
}
