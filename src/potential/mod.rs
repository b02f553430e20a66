//! Pair potentials and their truncation: formulas and parameters.
//!
//! All energies and lengths in reduced units; `r` is the distance of a pair. A potential is one module: it
//! implements [`PairForm`] with its words in the configuration, their documentation, its parameters with units and
//! bounds, its [`Evaluator`] and the text of its kernel, and is listed below in `potentials!`. Configuration, plans,
//! engines, `supercool check` and the generated documents read that.
mod buckingham;
mod derivatives;
mod description;
mod diameters;
mod dzugutov;
mod evaluator;
mod form;
mod formula;
mod gaussian_core;
mod harmonic_spheres;
mod inverse_powers;
mod jump;
mod lennard_jones;
mod parameters;
mod smoothing;
mod table;
mod truncation;
mod yukawa;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::arithmetic::Real;

pub use derivatives::{PairDerivatives, PairFunction, pair_function};
pub use description::{
    Bounds, Description, EPSILON, Exponent, Fault, FormOf, OwnEnd, Parameter, SIGMA, Scale,
    ScaleNames,
};
pub use diameters::{Diameters, Mixing};
pub use evaluator::{Evaluator, ReducedUnits};
pub use form::{FormVisitor, KernelHeader, PairForm};
pub use formula::{Formula, SyntaxError};
pub use inverse_powers::{LARGEST_EXPONENT, mie_prefactor};
pub use jump::Jumps;
pub use parameters::{PairParameters, PotentialPlan};
pub use smoothing::SmoothingChange;
pub use table::{Columns, TABLE, Tables};
pub use truncation::{PairUnits, Truncated, TruncationKind, is_reduced};
pub use yukawa::KAPPA;

/// The table of potentials: name, exponents, module and type of each.
macro_rules! potentials {
    ($($name:ident $({ $($exponent:ident),+ })? => $module:ident::$form:ident;)+) => {
        /// Functional form shared by all pairs of species.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum PairPotential {
            $(
                #[doc = concat!("`", stringify!($module), ".rs`")]
                $name $({ $($exponent: u32),+ })?,
            )+
            /// `formula/mod.rs`
            Formula { energy: Formula },
            /// `table/mod.rs`
            Table { tables: Tables },
        }

        impl PairPotential {
            /// Shows a visitor the type of the form: the only place that tells potentials apart.
            pub fn visit<V: FormVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $(PairPotential::$name $({ $($exponent),+ })? => {
                        $module::$form $({ $($exponent),+ })?.accept(visitor)
                    })+
                    PairPotential::Formula { energy } => energy.accept(visitor),
                    PairPotential::Table { tables } => tables.accept(visitor),
                }
            }
        }

        /// All words of the configuration, by potential.
        const DESCRIPTIONS: &[&[Description]] =
            &[$(<$module::$form as PairForm>::DESCRIPTIONS,)+ <Formula as PairForm>::DESCRIPTIONS, <Tables as PairForm>::DESCRIPTIONS];

        /// Their kernels; one may serve several potentials.
        const KERNEL_HEADERS: &[KernelHeader] = &[$(<$module::$form as PairForm>::HEADER),+];
    };
}

potentials! {
    LennardJones => lennard_jones::Form;
    Mie { m, n } => inverse_powers::Mie;
    InversePower { n } => inverse_powers::InversePower;
    HarmonicSpheres => harmonic_spheres::Form;
    Yukawa => yukawa::Form;
    GaussianCore => gaussian_core::Form;
    Buckingham => buckingham::Form;
    Dzugutov => dzugutov::Form;
}

/// All words of the configuration.
pub fn descriptions() -> impl Iterator<Item = &'static Description> {
    DESCRIPTIONS.iter().copied().flatten()
}

/// Parameters of pairs of any potential, each once.
pub fn parameters() -> &'static [&'static Parameter] {
    static ALL: LazyLock<Vec<&'static Parameter>> = LazyLock::new(|| {
        let mut all: Vec<&'static Parameter> = Vec::new();
        // The number of a table is none: pairs give its file.
        let all_of = |description: &'static Description| match description.form {
            FormOf::Tables => &[],
            _ => description.parameters,
        };
        for parameter in descriptions().flat_map(all_of) {
            if !all.contains(parameter) {
                all.push(parameter);
            }
        }
        all
    });
    &ALL
}

/// Exponents of any potential, each once.
pub fn exponents() -> &'static [&'static Exponent] {
    static ALL: LazyLock<Vec<&'static Exponent>> = LazyLock::new(|| {
        let mut all: Vec<&'static Exponent> = Vec::new();
        for &exponent in descriptions().flat_map(|description| description.exponents) {
            if all.iter().all(|other| other.name != exponent.name) {
                all.push(exponent);
            }
        }
        all
    });
    &ALL
}

/// Headers of `kernels/potential` that hold evaluators, each once.
pub fn kernel_headers() -> impl Iterator<Item = KernelHeader> {
    let is_first =
        |at: usize| KERNEL_HEADERS[..at].iter().all(|other| other.name != KERNEL_HEADERS[at].name);
    (0..KERNEL_HEADERS.len()).filter(move |&at| is_first(at)).map(|at| KERNEL_HEADERS[at])
}

impl PairPotential {
    /// Of the word that is its own.
    pub fn description(self) -> &'static Description {
        struct OwnDescription;

        impl FormVisitor for OwnDescription {
            type Output = &'static Description;

            fn visit<F: PairForm>(self, form: F) -> Self::Output {
                form.description()
            }
        }

        self.visit(OwnDescription)
    }

    /// [`PairForm::formula`].
    pub fn formula(self) -> String {
        struct Formula;

        impl FormVisitor for Formula {
            type Output = String;

            fn visit<F: PairForm>(self, form: F) -> String {
                form.formula()
            }
        }

        self.visit(Formula)
    }

    /// [`PairForm::scale`].
    pub fn scale(self, pair: &PairParameters) -> Scale {
        struct ScaleOf<'a>(&'a PairParameters);

        impl FormVisitor for ScaleOf<'_> {
            type Output = Scale;

            fn visit<F: PairForm>(self, form: F) -> Scale {
                form.scale(self.0)
            }
        }

        self.visit(ScaleOf(pair))
    }

    /// [`PairForm::inner_maximum`].
    pub fn inner_maximum(self, pair: &PairParameters) -> Option<f64> {
        struct InnerMaximum<'a>(&'a PairParameters);

        impl FormVisitor for InnerMaximum<'_> {
            type Output = Option<f64>;

            fn visit<F: PairForm>(self, form: F) -> Option<f64> {
                form.inner_maximum(self.0)
            }
        }

        self.visit(InnerMaximum(pair))
    }

    /// [`PairForm::notes`].
    pub fn notes(self, pair: &PairParameters) -> Option<String> {
        struct Notes<'a>(&'a PairParameters);

        impl FormVisitor for Notes<'_> {
            type Output = Option<String>;

            fn visit<F: PairForm>(self, form: F) -> Option<String> {
                form.notes(self.0)
            }
        }

        self.visit(Notes(pair))
    }

    /// [`PairForm::force_jumps`].
    pub fn force_jumps(self, pair: &PairParameters) -> Vec<(f64, f64)> {
        struct ForceJumps<'a>(&'a PairParameters);

        impl FormVisitor for ForceJumps<'_> {
            type Output = Vec<(f64, f64)>;

            fn visit<F: PairForm>(self, form: F) -> Vec<(f64, f64)> {
                form.force_jumps(self.0)
            }
        }

        self.visit(ForceJumps(pair))
    }

    /// [`PairForm::is_zero`].
    pub fn is_zero(self, pair: &PairParameters) -> bool {
        struct IsZero<'a>(&'a PairParameters);

        impl FormVisitor for IsZero<'_> {
            type Output = bool;

            fn visit<F: PairForm>(self, form: F) -> bool {
                form.is_zero(self.0)
            }
        }

        self.visit(IsZero(pair))
    }

    /// [`PairForm::fault`].
    pub fn fault(self, pair: &PairParameters) -> Option<Fault> {
        struct FaultOf<'a>(&'a PairParameters);

        impl FormVisitor for FaultOf<'_> {
            type Output = Option<Fault>;

            fn visit<F: PairForm>(self, form: F) -> Option<Fault> {
                form.fault(self.0)
            }
        }

        self.visit(FaultOf(pair))
    }
}

/// How the potential ends at the cutoff `r_c`. Beyond `r_c` energy and force are zero in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Truncation {
    /// `U(r)`: jumps at the cutoff.
    Sharp,
    /// `U(r) - U(r_c)`.
    Shifted,
    /// `U(r) - U(r_c) - (r - r_c) U'(r_c)`.
    ForceShifted,
    /// `U(r) + c0 + c2 r^2 + c4 r^4` with energy and its first two derivatives zero at the cutoff.
    ///
    /// That is `U` less its Taylor polynomial of second order in `r^2` about `r_c^2`. With `x = r/sigma`, `a x^-n` thus has
    /// `c0 = -(n+2)(n+4)/8 a x_c^-n`, `c2 = n(n+4)/4 a x_c^-(n+2)` and `c4 = -n(n+2)/8 a x_c^-(n+4)`: the
    /// smoothing of Ninarello, Berthier & Coslovich, Phys. Rev. X 7, 021039 (2017), for n = 12.
    EvenQuartic,
    /// `[U(r) - U(r_c)] g((r - r_c) / (width sigma))` with `g(x) = x^4 / (1 + x^4)`
    /// (Colberg & Hoefling 2011, section 4): continuous second derivative.
    Smooth { width: f64 },
}

/// `U(r)` of the form itself, without truncation.
pub fn bare_energy(form: &PairPotential, pair: &PairParameters, r: f64) -> f64 {
    let endless = pair.with_cutoff(f64::MAX.sqrt());
    evaluate_exactly(*form, &Truncation::Sharp, &endless, r).1
}

/// `(-U'(r)/r, U(r))` of the truncated potential at distance `r`, in 64 bits; zero beyond the cutoff. At `r = 0` the force
/// over distance is given as zero, and the energy of a potential with a pole as infinite.
pub fn evaluate_exactly(
    form: PairPotential,
    truncation: &Truncation,
    pair: &PairParameters,
    r: f64,
) -> (f64, f64) {
    struct At<'a> {
        truncation: &'a Truncation,
        pair: &'a PairParameters,
        r: f64,
    }

    impl FormVisitor for At<'_> {
        type Output = (f64, f64);

        fn visit<F: PairForm>(self, form: F) -> (f64, f64) {
            let At { truncation, pair, r } = self;
            let truncated = Truncated::new(&form, pair, truncation, PairUnits::default());
            if r * r < f64::COINCIDENT2 {
                return (0.0, truncated.contact_energy().unwrap_or(f64::INFINITY));
            }
            truncated.evaluate_as(truncation.kind(), r * r)
        }
    }

    if r >= pair.cutoff {
        return (0.0, 0.0);
    }
    form.visit(At { truncation, pair, r })
}
