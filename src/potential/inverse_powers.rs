use super::description::{Description, EPSILON, Exponent, Fault, SIGMA};
use super::evaluator::{Evaluator, named};
use super::form::{FormVisitor, KernelHeader, PairForm, kernel_header};
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;
use crate::arithmetic::elementary::{exp_f64, ln_f64};

/// Largest exponent of `sigma/r`.
pub const LARGEST_EXPONENT: u32 = 63;
const BITS: u32 = 6;

const HEADER: KernelHeader = kernel_header!("inverse_powers.cuh");

static M: Exponent = Exponent {
    name: "m",
    doc: "Exponent of the repulsion of `mie`, greater than `n`.",
    least: 2,
    example: 12,
};

const N_DOC: &str = "Exponent of the attraction of `mie`, or of `inverse-power`.";
static N_OF_MIE: Exponent = Exponent { name: "n", doc: N_DOC, least: 1, example: 6 };
static N: Exponent = Exponent { example: 12, ..N_OF_MIE };

/// Mie, `U(r) = C epsilon [(sigma/r)^m - (sigma/r)^n]` with `C = m/(m-n) (m/n)^(n/(m-n))`, `m > n >= 1`: the minimum is
/// `-epsilon`.
#[derive(Clone, Copy)]
pub struct MieForm<const ODD: bool> {
    pub m: u32,
    pub n: u32,
}

/// With any exponents.
pub type Mie = MieForm<true>;

impl<const ODD: bool> PairForm for MieForm<ODD> {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        exponents: &[&M, &N_OF_MIE],
        ..Description::of_epsilon_and_sigma(
            "mie",
            "`C epsilon [(sigma/r)^m - (sigma/r)^n]`, `C = m/(m-n) (m/n)^(n/(m-n))`.",
            |exponents| {
                let (m, n) = (exponents[0], exponents[1]);
                if m > n {
                    return Ok(PairPotential::Mie { m, n });
                }
                Err(Fault {
                    key: M.name,
                    message: format!("must be greater than n = {n}, not {m}"),
                    help: "m is the exponent of the repulsion, n of the attraction".to_owned(),
                })
            },
        )
    }];

    const HAS_ITS_OWN_LOOPS: bool = !ODD;

    const HEADER: KernelHeader = HEADER;

    type Evaluator<R: Real> = InversePowers<R, ODD>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> InversePowers<R, ODD> {
        InversePowers::mie(pair, self.m, self.n)
    }

    fn kernel_type(&self) -> String {
        kernel_type::<ODD>(self.m, self.n)
    }

    fn formula(&self) -> String {
        let MieForm { m, n } = self;
        format!("C epsilon [(sigma/r)^{m} - (sigma/r)^{n}], minimum -epsilon")
    }

    fn accept<V: FormVisitor>(self, visitor: V) -> V::Output {
        let MieForm { m, n } = self;
        if m.is_multiple_of(2) && n.is_multiple_of(2) {
            return visitor.visit(MieForm::<false> { m, n });
        }
        visitor.visit(self)
    }
}

/// `U(r) = epsilon (sigma/r)^n`.
#[derive(Clone, Copy)]
pub struct InversePowerForm<const ODD: bool> {
    pub n: u32,
}

/// With any exponent.
pub type InversePower = InversePowerForm<true>;

impl<const ODD: bool> PairForm for InversePowerForm<ODD> {
    const DESCRIPTIONS: &'static [Description] = &[Description {
        exponents: &[&N],
        ..Description::of_epsilon_and_sigma(
            "inverse-power",
            "`epsilon (sigma/r)^n`.",
            |exponents| Ok(PairPotential::InversePower { n: exponents[0] }),
        )
    }];

    const HAS_ITS_OWN_LOOPS: bool = !ODD;

    const HEADER: KernelHeader = HEADER;

    type Evaluator<R: Real> = InversePowers<R, ODD>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> InversePowers<R, ODD> {
        InversePowers::inverse_power(pair, self.n)
    }

    fn kernel_type(&self) -> String {
        kernel_type::<ODD>(self.n, 0)
    }

    fn formula(&self) -> String {
        format!("epsilon (sigma/r)^{}", self.n)
    }

    fn accept<V: FormVisitor>(self, visitor: V) -> V::Output {
        if self.n.is_multiple_of(2) {
            return visitor.visit(InversePowerForm::<false> { n: self.n });
        }
        visitor.visit(self)
    }
}

/// Without odd exponents the kernel takes half of each.
fn kernel_type<const ODD: bool>(m: u32, n: u32) -> String {
    let step = if ODD { 1 } else { 2 };
    format!("InversePowers<R, {ODD}, {}, {}>", m / step, n / step)
}

/// `U(r) = a (sigma/r)^m - b (sigma/r)^n`: Mie (`b > 0`) and inverse power (`b = 0`) potentials.
///
/// `ODD` says whether an exponent is odd, which takes a square root; else the powers are those of
/// `(sigma/r)^2` and the exponents held here are `m/2` and `n/2`.
#[derive(Clone, Copy)]
pub struct InversePowers<R, const ODD: bool> {
    sigma2: R,
    inv_sigma2: R,
    m: u32,
    n: u32,
    energy_m: R,
    energy_n: R,
    force_m: R,
    force_n: R,
}

impl<R: Real, const ODD: bool> InversePowers<R, ODD> {
    /// Mie: `U(r) = C epsilon [(sigma/r)^m - (sigma/r)^n]`, `C = m/(m-n) (m/n)^(n/(m-n))`.
    fn mie(pair: &PairParameters, m: u32, n: u32) -> Self {
        let prefactor = mie_prefactor(m, n) * pair.of(&EPSILON);
        Self::new(pair.of(&SIGMA), (m, prefactor), (n, -prefactor))
    }

    /// `U(r) = epsilon (sigma/r)^n`.
    fn inverse_power(pair: &PairParameters, n: u32) -> Self {
        Self::new(pair.of(&SIGMA), (n, pair.of(&EPSILON)), (0, 0.0))
    }

    fn new(sigma: f64, (m, energy_m): (u32, f64), (n, energy_n): (u32, f64)) -> Self {
        assert!(m <= LARGEST_EXPONENT && n <= LARGEST_EXPONENT);
        assert!(ODD || (m % 2 == 0 && n % 2 == 0));
        let step = if ODD { 1 } else { 2 };
        InversePowers {
            sigma2: R::from_f64(sigma * sigma),
            inv_sigma2: R::from_f64(1.0 / (sigma * sigma)),
            m: m / step,
            n: n / step,
            energy_m: R::from_f64(energy_m),
            energy_n: R::from_f64(energy_n),
            force_m: R::from_f64(f64::from(m) * energy_m),
            force_n: R::from_f64(f64::from(n) * energy_n),
        }
    }
}

/// `C = m/(m-n) (m/n)^(n/(m-n))`, which makes the minimum of the Mie potential `-epsilon`.
pub fn mie_prefactor(m: u32, n: u32) -> f64 {
    let (m, n) = (f64::from(m), f64::from(n));
    // Not the platform's power function: the constant decides over every bit of a trajectory.
    m / (m - n) * exp_f64(ln_f64(m / n) * (n / (m - n)))
}

/// `base^exponent` by squaring, without a branch that depends on a particle.
#[inline(always)]
fn power<R: Real>(base: R, exponent: u32) -> R {
    let mut result = R::ONE;
    let mut square = base;
    for bit in 0..BITS {
        result = if exponent >> bit & 1 == 1 { result * square } else { result };
        square = square * square;
    }
    result
}

impl<R: Real, const ODD: bool> Evaluator<R> for InversePowers<R, ODD> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let ratio2 = self.sigma2 * r2.inverse();
        let base = if ODD { (r2 * self.inv_sigma2).inverse_sqrt() } else { ratio2 };
        let (power_m, power_n) = (power(base, self.m), power(base, self.n));
        let energy = self.energy_m.fused(power_m, self.energy_n * power_n);
        let radial = self.force_m.fused(power_m, self.force_n * power_n);
        (radial * (ratio2 * self.inv_sigma2), energy)
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        named!(self: sigma2, inv_sigma2, energy_m, energy_n, force_m, force_n)
    }
}
