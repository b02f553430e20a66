use serde::{Deserialize, Serialize};

use crate::{Descriptor, described};

described! {
    /// A function of the lag time, averaged over time origins; in a configuration its [`word`](Self::word). Each is
    /// evaluated by the module of `src/observable/dynamics` that has its name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(description = ""))]
    #[serde(rename_all = "kebab-case")]
    pub enum DynamicObservable {
        /// <|dr|^2>.
        MeanSquareDisplacement:
            Descriptor::of_time("mean_square_displacement", "⟨Δr²(t)⟩").unit("sigma2").logarithmic();
        /// <|dr|^4>.
        MeanQuarticDisplacement:
            Descriptor::of_time("mean_quartic_displacement", "⟨Δr⁴(t)⟩")
                .unit("sigma4")
                .without_figure();
        /// alpha_2(t) = D <|dr|^4> / ((D + 2) <|dr|^2>^2) - 1.
        NonGaussianParameter: Descriptor::of_time("non_gaussian_parameter", "α₂(t)");
        /// <v(0) . v(t)>.
        VelocityAutocorrelation:
            Descriptor::of_time("velocity_autocorrelation", "⟨v(t)·v(0)⟩").unit("sigma2 tau-2");
        /// Self part, F_s(q,t).
        SelfIntermediateScatteringFunction:
            Descriptor::of_time("self_intermediate_scattering_function", "Fₛ(q,t)")
                .of_wavenumbers()
                .starting_at_one();
        /// Q_s(t), fraction of particles with |dr| < a.
        SelfOverlap: Descriptor::of_time("self_overlap", "Qₛ(t)").starting_at_one();
        /// chi_4(t) = N (<Q_s^2> - <Q_s>^2), from the fluctuation over time origins.
        SelfOverlapSusceptibility:
            Descriptor::susceptibility("self_overlap_susceptibility", "χ₄(t) of Qₛ");
        /// chi_4(q,t) = N (<F_s^2> - <F_s>^2), from the fluctuation over time origins of F_s, which at each is the mean over
        /// particles and over the wave vectors of a shell.
        SelfScatteringSusceptibility:
            Descriptor::susceptibility("self_scattering_susceptibility", "χ₄(q,t) of Fₛ")
                .of_wavenumbers();
        /// Q(t), fraction of places taken again within a, by any particle; of all particles.
        CollectiveOverlap: Descriptor::of_time("collective_overlap", "Q(t)").starting_at_one();
        /// `chi_4(t) = N (<Q^2> - <Q>^2)`, from the fluctuation over time origins.
        CollectiveOverlapSusceptibility:
            Descriptor::susceptibility("collective_overlap_susceptibility", "χ₄(t) of Q");
        /// F_ab(q,t) = <rho_a(q,t) rho_b(-q,0)> / N of pairs of species and of all particles.
        CoherentIntermediateScatteringFunction:
            Descriptor::of_time("coherent_intermediate_scattering_function", "F(q,t)")
                .of_wavenumbers();
        /// G_s(r,t), probability density of the displacement.
        SelfVanHoveFunction:
            Descriptor::of_time("self_van_hove_function", "Gₛ(r,t)")
                .of_distances()
                .units(["sigma-2", "sigma-3"])
                .logarithmic();
        /// G(t) = V / T <s(0) s(t)> of the shear stress. Its samples are small: a block_size of 100 or more
        /// averages long lags over more origins at no cost.
        StressAutocorrelation:
            Descriptor::of_time("stress_autocorrelation", "G(t)")
                .units(["epsilon sigma-2", "epsilon sigma-3"])
                .without_drift();
        /// eta(t), the Green-Kubo integral of the stress autocorrelation.
        ShearViscosity:
            Descriptor::of_time("shear_viscosity", "η(t)")
                .units(["epsilon tau sigma-2", "epsilon tau sigma-3"])
                .without_drift()
                .drawn_to_error(0.3);
        /// `<|dr - <dr>_neighbours|^2>`, displacement relative to the cage.
        CageRelativeMeanSquareDisplacement:
            Descriptor::of_time("cage_relative_mean_square_displacement", "⟨Δr²(t)⟩, cage-relative")
                .unit("sigma2")
                .logarithmic()
                .without_drift();
        /// F_s(q,t) of cage-relative displacements.
        CageRelativeSelfIntermediateScatteringFunction:
            Descriptor::of_time(
                "cage_relative_self_intermediate_scattering_function",
                "Fₛ(q,t), cage-relative",
            )
            .of_wavenumbers()
            .starting_at_one()
            .without_drift();
        /// Q_s(t) of cage-relative displacements.
        CageRelativeSelfOverlap:
            Descriptor::of_time("cage_relative_self_overlap", "Qₛ(t), cage-relative")
                .starting_at_one()
                .without_drift();
        /// C_B(t) = <n_i(t) / n_i(0)>, share of the neighbors within bond_radius that are still within bond_breaking_radius; 1 for a
        /// particle without neighbors.
        BondBreaking: Descriptor::of_time("bond_breaking", "C_B(t)").starting_at_one().without_drift();
        /// chi_4(t) = N (<C_B^2> - <C_B>^2), from the fluctuation over time origins.
        BondBreakingSusceptibility:
            Descriptor::susceptibility("bond_breaking_susceptibility", "χ₄(t) of C_B")
                .without_drift();
        /// <|dr|>, the mean distance moved.
        MeanDisplacement:
            Descriptor::of_time("mean_displacement", "⟨|Δr(t)|⟩").unit("sigma").logarithmic();
        /// S_4(q,t) = <|W|^2> / N with W = sum_j exp(i q . r_j(0)) over the particles with |dr| < a.
        FourPointStructureFactor:
            Descriptor::of_time("four_point_structure_factor", "S₄(q,t)").of_wavenumbers();
        /// G_d(r,t), density of other particles at the distance r from where a particle was; of pairs of species and of all particles.
        DistinctVanHoveFunction:
            Descriptor::of_time("distinct_van_hove_function", "G_d(r,t)")
                .of_distances()
                .units(["sigma-2", "sigma-3"]);
    }
}

impl DynamicObservable {
    /// What is correlated where nothing is named.
    pub const DEFAULT: [DynamicObservable; 5] = [
        DynamicObservable::MeanSquareDisplacement,
        DynamicObservable::MeanQuarticDisplacement,
        DynamicObservable::NonGaussianParameter,
        DynamicObservable::VelocityAutocorrelation,
        DynamicObservable::SelfIntermediateScatteringFunction,
    ];

    /// The word of a configuration.
    pub fn word(self) -> String {
        self.group_name().replace('_', "-")
    }
}
