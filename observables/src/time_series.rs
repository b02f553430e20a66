use crate::{Descriptor, described};

/// Of a stress, in two and in three dimensions.
const STRESS: [&str; 2] = ["epsilon sigma-2", "epsilon sigma-3"];

described! {
    /// What is sampled while a run goes on: `/observables` of a results file. Energies are per particle.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TimeSeries {
        /// Temperature.
        Temperature: Descriptor::scalar("temperature", "temperature T").unit("epsilon kB-1");
        /// Temperature of the velocities of half steps.
        HalfStepTemperature:
            Descriptor::scalar("half_step_temperature", "").unit("epsilon kB-1").without_figure();
        /// Potential energy.
        PotentialEnergy:
            Descriptor::scalar("potential_energy", "potential energy / N").unit("epsilon");
        /// Total energy: potential and kinetic.
        InternalEnergy: Descriptor::scalar("internal_energy", "total energy / N").unit("epsilon");
        /// What the dynamics conserves, of which the change since the first sample is drawn.
        ConservedEnergy:
            Descriptor::scalar("conserved_energy", "drift of conserved energy / N").unit("epsilon");
        /// Pressure.
        Pressure: Descriptor::scalar("pressure", "pressure P").units(STRESS);
        /// Number density, where the box changes.
        Density: Descriptor::scalar("density", "density").units(["sigma-2", "sigma-3"]);
        /// Enthalpy, with the pressure of the barostat.
        Enthalpy: Descriptor::scalar("enthalpy", "enthalpy / N").unit("epsilon");
        /// Edges of the box, where it changes.
        BoxEdges: Descriptor::scalar("box_edges", "").unit("sigma").without_figure();
        /// Strain of a flow since the start of its stage.
        ShearStrain: Descriptor::scalar("shear_strain", "").unit("").without_figure();
        /// Stress `s_xy` in a flow.
        ShearStress: Descriptor::scalar("shear_stress", "shear stress s_xy").units(STRESS);
        /// Virial, `sum_pairs r . F`, per particle.
        Virial: Descriptor::scalar("virial", "").unit("epsilon").without_figure();
        /// Ratio of squared force and Laplacian in one configuration. Means are made of these two, not of it.
        ConfigurationalTemperature:
            Descriptor::scalar("configurational_temperature", "configurational temperature")
                .unit("epsilon kB-1");
        /// Square of the force on a particle, mean over particles.
        SquaredForce:
            Descriptor::scalar("squared_force", "").unit("epsilon2 sigma-2").without_figure();
        /// Laplacian of the potential energy by the place of a particle, mean over particles.
        Laplacian: Descriptor::scalar("laplacian", "").unit("epsilon sigma-2").without_figure();
        /// Bond-orientational order of all bonds.
        BondOrientationalOrder:
            Descriptor::scalar("bond_orientational_order", "bond order, all bonds");
        /// Mean bond-orientational order of single particles.
        LocalBondOrientationalOrder:
            Descriptor::scalar("local_bond_orientational_order", "bond order, local");
        /// Fraction of solid-like particles; in two dimensions the mean of |psi_6|.
        Crystallinity: Descriptor::scalar("crystallinity", "crystallinity");
        /// Scatter of the mean diameter of neighbors over that of diameters at random.
        Demixing: Descriptor::scalar("demixing", "demixing");
        /// Energies of inherent structures.
        InherentStructureEnergy:
            Descriptor::scalar("inherent_structure_energy", "inherent structures, e_IS")
                .unit("epsilon");
        /// Pressure of the potential energy in inherent structures.
        InherentStructurePressure:
            Descriptor::scalar("inherent_structure_pressure", "").units(STRESS).without_figure();
        /// Modulus of the largest force on a particle in inherent structures.
        InherentStructureResidualForce:
            Descriptor::scalar("inherent_structure_residual_force", "")
                .unit("epsilon sigma-1")
                .without_figure();
        /// Iterations of the minimisation.
        InherentStructureIterations:
            Descriptor::scalar("inherent_structure_iterations", "").without_figure();
        /// Kinetic energy.
        KineticEnergy: Descriptor::scalar("kinetic_energy", "").unit("epsilon").without_figure();
        /// Stress tensor: the pressure is minus its trace over the dimension.
        StressTensor: Descriptor::scalar("stress_tensor", "").units(STRESS).without_figure();
        /// Velocity of the centre of mass.
        CenterOfMassVelocity:
            Descriptor::scalar("center_of_mass_velocity", "").unit("sigma tau-1").without_figure();
    }
}
