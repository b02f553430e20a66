//! Potentials that users write: `kind = "formula"`.
mod expression;
mod parse;
mod program;
mod seams;
mod shape;
mod terms;

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::expression::Expression;
pub use self::parse::SyntaxError;
use self::program::{MOST_CONSTANTS, MOST_OPERATIONS, Program};
use self::shape::Shape;
use self::terms::Sum;
use super::description::{
    Bounds, Description, EPSILON, Fault, FormOf, Parameter, SIGMA, Scale, ScaleNames,
};
use super::evaluator::Evaluator;
use super::form::{KernelHeader, PairForm};
use super::parameters::MOST_PARAMETERS;
use super::{PairParameters, PairPotential};
use crate::arithmetic::Real;

/// `U(r)` as a user writes it: of `r`, numbers and the parameters of the pairs.
///
/// The force is its derivative, taken of the formula. Energy and force are a sequence of operations of [`Real`], the same
/// on every processor and GPU. Formulas are kept for as long as the program runs, each text once.
#[derive(Clone, Copy)]
pub struct Formula(&'static Written);

/// What belongs to a text.
struct Written {
    text: String,
    expression: Expression,
    parameters: Vec<&'static Parameter>,
    /// Of the parameters, and of the unit of length as the last of them.
    program: Program,
    kernel: String,
    description: Description,
}

/// Characters of a formula at most.
const LONGEST: usize = 2000;

/// Without a text, for the list of words.
pub const DESCRIPTIONS: &[Description] = &[Description {
    word: "formula",
    doc: "The formula in `energy`, of `r`, numbers and parameters: every pair gives each parameter under its name. The force is its derivative.",
    exponents: &[],
    parameters: &[],
    scale: ScaleNames { energy: "depth", length: "r_0" },
    own_end: None,
    form: FormOf::Formula,
}];

impl Formula {
    /// # Errors
    /// If the text is not a formula, with the place.
    pub fn new(text: &str) -> Result<Formula, SyntaxError> {
        static ALL: LazyLock<Mutex<HashMap<String, Formula>>> = LazyLock::new(Mutex::default);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(text) {
            return Ok(*known);
        }
        let formula = Formula(Box::leak(Box::new(Written::new(text)?)));
        all.insert(text.to_owned(), formula);
        Ok(formula)
    }

    pub fn text(&self) -> &'static str {
        &self.0.text
    }

    fn values(self, pair: &PairParameters) -> Vec<f64> {
        let own = self.0.parameters.iter().map(|parameter| pair.of(parameter));
        own.chain([pair.unit_of_length()]).collect()
    }

    /// `U(r)`, computed as it is written; NaN where it is not defined.
    fn energy(self, pair: &PairParameters, r: f64) -> f64 {
        self.0.expression.value(r, &self.values(pair))
    }
}

impl Written {
    fn new(text: &str) -> Result<Written, SyntaxError> {
        let whole =
            |message: String, help: &str| SyntaxError { at: 0, message, help: help.to_owned() };
        if text.len() > LONGEST {
            let message = format!("has {} characters", text.len());
            return Err(whole(message, &format!("at most {LONGEST} are possible")));
        }
        let (expression, names) = parse::parse(text)?;
        // One place is kept for the unit of length.
        if names.len() >= MOST_PARAMETERS {
            let message = format!("has {} parameters", names.len());
            return Err(whole(message, &format!("at most {} are possible", MOST_PARAMETERS - 1)));
        }
        if expression.is_constant() {
            return Err(whole(
                "does not depend on r".to_owned(),
                "r is the distance of the two particles",
            ));
        }
        let energy = Sum::new(&with_unit(&expression, names.len()));
        let force = energy.derivative().scaled(&Expression::Number(-2.0));
        let program = Program::new(&energy, &force).ok_or_else(|| {
            let help = format!(
                "energy and force together take at most {MOST_CONSTANTS} constants and {MOST_OPERATIONS} operations"
            );
            whole("is too long".to_owned(), &help)
        })?;
        let parameters: Vec<&'static Parameter> = names.into_iter().map(parameter).collect();
        let has = |of: &Parameter| parameters.contains(&of);
        let scale = match has(&EPSILON) && has(&SIGMA) {
            true => ScaleNames { energy: "epsilon", length: "sigma" },
            false => DESCRIPTIONS[0].scale,
        };
        let description =
            Description { parameters: parameters.clone().leak(), scale, ..DESCRIPTIONS[0] };
        Ok(Written {
            text: text.to_owned(),
            expression,
            parameters,
            kernel: program.kernel(),
            program,
            description,
        })
    }
}

fn parameter(name: String) -> &'static Parameter {
    Box::leak(Box::new(Parameter {
        name: name.leak(),
        doc: "Of a formula.",
        bounds: Bounds::Any,
        energy: 0,
        length: 0,
        of_all_pairs: None,
        example: 1.0,
    }))
}

/// With `r` in units of a parameter.
fn with_unit(expression: &Expression, unit: usize) -> Expression {
    let of = |expression: &Expression| Box::new(with_unit(expression, unit));
    match expression {
        Expression::Distance => Expression::Product(
            Box::new(Expression::Parameter(unit)),
            Box::new(Expression::Distance),
        ),
        Expression::Number(_) | Expression::Parameter(_) => expression.clone(),
        Expression::Negative(a) => Expression::Negative(of(a)),
        Expression::Sum(a, b) => Expression::Sum(of(a), of(b)),
        Expression::Product(a, b) => Expression::Product(of(a), of(b)),
        Expression::Quotient(a, b) => Expression::Quotient(of(a), of(b)),
        Expression::Power(a, b) => Expression::Power(of(a), of(b)),
        Expression::Function(function, a) => Expression::Function(*function, of(a)),
        Expression::Choice(choice) => {
            Expression::Choice(Box::new(choice.map(|of| with_unit(of, unit))))
        }
    }
}

/// By the text.
impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.0.text == other.0.text
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Formula({:?})", self.0.text)
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.text)
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Formula::new(&text).map_err(|error| {
            serde::de::Error::custom(format!(
                "{text:?}, at character {}: {}",
                error.at + 1,
                error.message
            ))
        })
    }
}

impl PairForm for Formula {
    const DESCRIPTIONS: &'static [Description] = DESCRIPTIONS;

    /// Each formula has its own text.
    const HEADER: KernelHeader = KernelHeader { name: "potential/formula.cuh", text: "" };

    type Evaluator<R: Real> = OfFormula<R>;

    fn evaluator<R: Real>(&self, pair: &PairParameters) -> OfFormula<R> {
        let values = self.values(pair);
        let mut constants = [R::ZERO; MOST_CONSTANTS];
        for (constant, expression) in constants.iter_mut().zip(&self.0.program.constants) {
            *constant = R::from_f64(expression.value(f64::NAN, &values));
        }
        let contact = self.energy(pair, 0.0);
        OfFormula {
            program: &self.0.program,
            constants,
            contact_energy: contact.is_finite().then(|| R::from_f64(contact)),
        }
    }

    fn description(&self) -> &'static Description {
        &self.0.description
    }

    fn header<R: Real>(&self) -> KernelHeader {
        KernelHeader { text: &self.0.kernel, ..Self::HEADER }
    }

    fn kernel_type(&self) -> String {
        "Formula<R>".to_owned()
    }

    fn formula(&self) -> String {
        self.0.text.clone()
    }

    /// `epsilon` and `sigma`, where the formula has them as parameters above zero. Else the depth of the minimum, and the largest
    /// distance inside it at which the energy is that at the cutoff; of a repulsion the energy at half of the distance where it
    /// ends, which is mostly the cutoff, but at most 1, and that half.
    fn scale(&self, pair: &PairParameters) -> Scale {
        if let (Some(energy), Some(length)) = (pair.get(&EPSILON), pair.get(&SIGMA))
            && energy > 0.0
            && length > 0.0
        {
            return Scale { energy, length };
        }
        Shape::new(*self, pair).scale()
    }

    fn inner_maximum(&self, pair: &PairParameters) -> Option<f64> {
        Shape::new(*self, pair).inner_maximum()
    }

    fn fault(&self, pair: &PairParameters) -> Option<Fault> {
        Shape::new(*self, pair).fault()
    }

    fn is_zero(&self, pair: &PairParameters) -> bool {
        // No sum of powers and functions that is not zero everywhere is zero at all three; a piece of one may be.
        let is_zero_at = |share: f64| self.energy(pair, share * pair.cutoff) == 0.0;
        [0.5, 0.811, 1.0].into_iter().all(is_zero_at)
            && Sum::new(&self.0.expression).has_no_pieces_but_zeros(&self.values(pair))
    }

    fn force_jumps(&self, pair: &PairParameters) -> Vec<(f64, f64)> {
        Shape::new(*self, pair).force_jumps()
    }

    fn amplitude(&self, _pair: &PairParameters) -> f64 {
        1.0
    }

    fn reduced(&self, pair: &PairParameters, unit: f64, _: fn(f64) -> f64) -> PairParameters {
        pair.in_units_of_cutoff(unit)
    }
}

/// A formula with the constants of a pair.
#[derive(Clone, Copy)]
pub struct OfFormula<R> {
    program: &'static Program,
    constants: [R; MOST_CONSTANTS],
    contact_energy: Option<R>,
}

impl<R: Real> Evaluator<R> for OfFormula<R> {
    #[inline(always)]
    fn evaluate(&self, r2: R) -> (R, R) {
        let ([force], [energy]) = self.program.evaluate(&self.constants, [r2]);
        (force, energy)
    }

    const IN_LANES: bool = true;

    #[inline(always)]
    fn evaluate_lanes<const LANES: usize>(&self, r2: [R; LANES]) -> ([R; LANES], [R; LANES]) {
        self.program.evaluate(&self.constants, r2)
    }

    fn contact_energy(&self) -> Option<R> {
        self.contact_energy
    }

    fn constants(&self) -> Vec<(&'static str, R)> {
        const NAMES: [&str; MOST_CONSTANTS] = [
            "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13",
            "c14", "c15", "c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23",
        ];
        let count = self.program.constants.len();
        NAMES.into_iter().zip(self.constants).take(count).collect()
    }
}

/// The form of a plan.
impl From<Formula> for PairPotential {
    fn from(energy: Formula) -> PairPotential {
        PairPotential::Formula { energy }
    }
}

#[cfg(test)]
mod tests;
