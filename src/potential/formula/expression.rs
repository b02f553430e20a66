//! Expressions of the distance and of parameters.
use crate::arithmetic::elementary::{exp_f64, ln_f64, sin_cos_2pi};
use crate::arithmetic::error_function::{erf_f64, erfc_f64};

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    Exp,
    Ln,
    Sqrt,
    Sine,
    Cosine,
    Erf,
    Erfc,
}

impl Function {
    /// Its value, of which the bits are the same on every machine; NaN where it is not defined.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Function::Exp if x.is_nan() => f64::NAN,
            Function::Exp => exp_f64(x),
            Function::Ln if x == 0.0 => f64::NEG_INFINITY,
            Function::Ln if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) => f64::NAN,
            Function::Ln => ln_f64(x),
            Function::Sqrt => x.sqrt(),
            Function::Sine => sin_cos_2pi(x * (0.5 * std::f64::consts::FRAC_1_PI)).0,
            Function::Cosine => sin_cos_2pi(x * (0.5 * std::f64::consts::FRAC_1_PI)).1,
            Function::Erf => erf_f64(x),
            Function::Erfc => erfc_f64(x),
        }
    }
}

/// `then` where `a < b`, `otherwise` elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<T> {
    pub a: T,
    pub b: T,
    pub then: T,
    pub otherwise: T,
}

impl<T> Choice<T> {
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> Choice<U> {
        Choice {
            a: of(&self.a),
            b: of(&self.b),
            then: of(&self.then),
            otherwise: of(&self.otherwise),
        }
    }

    pub fn all(&self) -> [&T; 4] {
        [&self.a, &self.b, &self.then, &self.otherwise]
    }
}

/// What stands in a formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    /// The distance `r`.
    Distance,
    /// By its place among the parameters.
    Parameter(usize),
    Negative(Box<Expression>),
    Sum(Box<Expression>, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
    Quotient(Box<Expression>, Box<Expression>),
    Power(Box<Expression>, Box<Expression>),
    Function(Function, Box<Expression>),
    Choice(Box<Choice<Expression>>),
}

/// The largest exponent that is taken as a power by multiplication.
pub const LARGEST_POWER: i32 = 64;

impl Expression {
    /// Its value at a distance; NaN where it is not defined.
    pub fn value(&self, r: f64, parameters: &[f64]) -> f64 {
        let of = |expression: &Expression| expression.value(r, parameters);
        match self {
            Expression::Number(number) => *number,
            Expression::Distance => r,
            Expression::Parameter(place) => parameters[*place],
            Expression::Negative(of_what) => -of(of_what),
            Expression::Sum(a, b) => of(a) + of(b),
            Expression::Product(a, b) => of(a) * of(b),
            Expression::Quotient(a, b) => of(a) / of(b),
            Expression::Power(base, exponent) => power(of(base), of(exponent)),
            Expression::Function(function, argument) => function.of(of(argument)),
            Expression::Choice(choice) => {
                let is_below = of(&choice.a) < of(&choice.b);
                of(if is_below { &choice.then } else { &choice.otherwise })
            }
        }
    }

    /// Whether it depends on parameters alone.
    pub fn is_constant(&self) -> bool {
        match self {
            Expression::Number(_) | Expression::Parameter(_) => true,
            Expression::Distance => false,
            Expression::Negative(of) | Expression::Function(_, of) => of.is_constant(),
            Expression::Sum(a, b)
            | Expression::Product(a, b)
            | Expression::Quotient(a, b)
            | Expression::Power(a, b) => a.is_constant() && b.is_constant(),
            Expression::Choice(choice) => choice.all().into_iter().all(Expression::is_constant),
        }
    }

    pub fn choice(a: Expression, b: Expression, then: Expression, otherwise: Expression) -> Self {
        Expression::Choice(Box::new(Choice { a, b, then, otherwise }))
    }

    /// All choices in it, also those inside others.
    pub fn choices(&self) -> Vec<&Choice<Expression>> {
        match self {
            Expression::Number(_) | Expression::Parameter(_) | Expression::Distance => Vec::new(),
            Expression::Negative(of) | Expression::Function(_, of) => of.choices(),
            Expression::Sum(a, b)
            | Expression::Product(a, b)
            | Expression::Quotient(a, b)
            | Expression::Power(a, b) => [a.choices(), b.choices()].concat(),
            Expression::Choice(choice) => {
                let inside = choice.all().into_iter().flat_map(Expression::choices);
                inside.chain([&**choice]).collect()
            }
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Expression::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The small integer that it is.
    pub fn integer(&self) -> Option<i32> {
        let of = match self {
            Expression::Negative(of) => -of.number()?,
            other => other.number()?,
        };
        let is_small = of.fract() == 0.0 && of.abs() <= f64::from(LARGEST_POWER);
        is_small.then_some(of as i32)
    }

    pub fn plus(self, other: Expression) -> Expression {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => Expression::Number(a + b),
            (Some(0.0), _) => other,
            (_, Some(0.0)) => self,
            _ => Expression::Sum(Box::new(self), Box::new(other)),
        }
    }

    pub fn times(self, other: Expression) -> Expression {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => Expression::Number(a * b),
            (Some(0.0), _) | (_, Some(0.0)) => Expression::Number(0.0),
            (Some(1.0), _) => other,
            (_, Some(1.0)) => self,
            (None, Some(_)) => other.times(self),
            // Numbers gather in front.
            (Some(a), None) => match other {
                Expression::Product(first, second) if first.number().is_some() => {
                    Expression::Number(a * first.number().unwrap_or(1.0)).times(*second)
                }
                other => Expression::Product(Box::new(Expression::Number(a)), Box::new(other)),
            },
            (None, None) => Expression::Product(Box::new(self), Box::new(other)),
        }
    }

    pub fn raised(self, exponent: i32) -> Expression {
        match (self.number(), exponent) {
            (_, 0) => Expression::Number(1.0),
            (_, 1) => self,
            (Some(number), _) => Expression::Number(power(number, f64::from(exponent))),
            _ => {
                let exponent = Expression::Number(f64::from(exponent));
                Expression::Power(Box::new(self), Box::new(exponent))
            }
        }
    }
}

/// By multiplication for small integers, else `exp(y ln x)`.
fn power(x: f64, y: f64) -> f64 {
    if y.fract() != 0.0 || y.abs() > f64::from(LARGEST_POWER) {
        return Function::Exp.of(y * Function::Ln.of(x));
    }
    let product = (0..y.abs() as i32).fold(1.0, |product, _| product * x);
    if y < 0.0 { 1.0 / product } else { product }
}
