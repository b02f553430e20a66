//! Expressions as sums of products, of which derivatives are taken.
//!
//! Sums inside a product stay as they are written: nothing is multiplied out that could lose digits.
use std::rc::Rc;

use super::expression::{Choice, Expression, Function};
use crate::arithmetic::error_function::TWO_OVER_ROOT_PI;

/// What a product has as factors, beside numbers and parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    /// The distance `r`.
    Distance,
    /// A sum of several terms.
    Sum(Rc<Sum>),
    Function(Function, Rc<Sum>),
    Choice(Rc<Choice<Sum>>),
}

/// `coefficient base^exponent base^exponent ...`: the coefficient depends on parameters alone, each base stands once, and no exponent is
/// zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub coefficient: Expression,
    pub factors: Vec<(Base, i32)>,
}

/// A sum of terms, no two of which have the same factors; without terms it is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    pub terms: Vec<Term>,
}

impl Term {
    fn constant(coefficient: Expression) -> Term {
        Term { coefficient, factors: Vec::new() }
    }

    fn of(base: Base) -> Term {
        Term { coefficient: Expression::Number(1.0), factors: vec![(base, 1)] }
    }

    fn times(mut self, other: &Term) -> Term {
        self.coefficient = self.coefficient.times(other.coefficient.clone());
        for (base, exponent) in &other.factors {
            match self.factors.iter_mut().find(|(own, _)| own == base) {
                Some((_, own)) => *own += exponent,
                None => self.factors.push((base.clone(), *exponent)),
            }
        }
        self.factors.retain(|(_, exponent)| *exponent != 0);
        self
    }

    fn to_power(&self, exponent: i32) -> Term {
        let factors = self.factors.iter().map(|(base, own)| (base.clone(), own * exponent));
        Term {
            coefficient: self.coefficient.clone().raised(exponent),
            factors: factors.filter(|(_, exponent)| *exponent != 0).collect(),
        }
    }

    fn is_zero(&self, values: &[f64]) -> bool {
        self.coefficient.value(f64::NAN, values) == 0.0
            || self.factors.iter().any(|(base, exponent)| match base {
                Base::Choice(choice) => {
                    *exponent > 0 && choice.then.is_zero(values) && choice.otherwise.is_zero(values)
                }
                _ => false,
            })
    }

    /// The power of `r` that it is a multiple of.
    pub fn power_of_distance(&self) -> Option<i32> {
        match self.factors[..] {
            [] => Some(0),
            [(Base::Distance, exponent)] => Some(exponent),
            _ => None,
        }
    }
}

impl Sum {
    fn of(term: Term) -> Sum {
        Sum { terms: vec![term] }
    }

    /// Of an expression.
    pub fn new(expression: &Expression) -> Sum {
        match expression {
            constant if constant.is_constant() => Sum::of(Term::constant(simple(constant))),
            Expression::Distance => Sum::of(Term::of(Base::Distance)),
            Expression::Negative(of) => Sum::new(of).scaled(&Expression::Number(-1.0)),
            Expression::Sum(a, b) => Sum::new(a).plus(Sum::new(b)),
            Expression::Product(a, b) => Sum::new(a).times(&Sum::new(b)),
            Expression::Quotient(a, b) => Sum::new(a).times(&Sum::new(b).to_power(-1)),
            Expression::Power(base, exponent) => match exponent.integer() {
                Some(exponent) => Sum::new(base).to_power(exponent),
                // exp(y ln x)
                None => Sum::function(
                    Function::Exp,
                    Sum::new(exponent).times(&Sum::function(Function::Ln, Sum::new(base))),
                ),
            },
            Expression::Function(function, argument) => {
                Sum::function(*function, Sum::new(argument))
            }
            Expression::Choice(choice) => Sum::choice(choice.map(Sum::new)),
            Expression::Number(_) | Expression::Parameter(_) => Sum::default(),
        }
    }

    fn function(function: Function, argument: Sum) -> Sum {
        match &argument.terms[..] {
            [] => Sum::of(Term::constant(Expression::Number(function.of(0.0)))),
            [Term { coefficient, factors }] if factors.is_empty() => {
                let constant = Expression::Function(function, Box::new(coefficient.clone()));
                Sum::of(Term::constant(simple(&constant)))
            }
            _ => Sum::of(Term::of(Base::Function(function, Rc::new(argument)))),
        }
    }

    fn choice(choice: Choice<Sum>) -> Sum {
        match choice.then == choice.otherwise {
            true => choice.then,
            false => Sum::of(Term::of(Base::Choice(Rc::new(choice)))),
        }
    }

    fn plus(mut self, other: Sum) -> Sum {
        for term in other.terms {
            match self.terms.iter_mut().find(|own| own.factors == term.factors) {
                Some(own) => {
                    let sum = std::mem::replace(&mut own.coefficient, Expression::Number(0.0));
                    own.coefficient = sum.plus(term.coefficient);
                }
                None => self.terms.push(term),
            }
        }
        self.terms.retain(|term| term.coefficient.number() != Some(0.0));
        self
    }

    pub fn scaled(mut self, factor: &Expression) -> Sum {
        for term in &mut self.terms {
            let own = std::mem::replace(&mut term.coefficient, Expression::Number(0.0));
            term.coefficient = factor.clone().times(own);
        }
        self.terms.retain(|term| term.coefficient.number() != Some(0.0));
        self
    }

    /// As one term: a sum of several is a factor of it.
    fn as_term(&self) -> Term {
        match &self.terms[..] {
            [] => Term::constant(Expression::Number(0.0)),
            [term] => term.clone(),
            _ => Term::of(Base::Sum(Rc::new(self.clone()))),
        }
    }

    fn times(&self, other: &Sum) -> Sum {
        for (one, sum) in [(self, other), (other, self)] {
            if let [Term { coefficient, factors }] = &one.terms[..]
                && factors.is_empty()
            {
                return sum.clone().scaled(coefficient);
            }
        }
        let product = self.as_term().times(&other.as_term());
        Sum::default().plus(Sum::of(product))
    }

    fn to_power(&self, exponent: i32) -> Sum {
        if exponent == 1 {
            return self.clone();
        }
        Sum::default().plus(Sum::of(self.as_term().to_power(exponent)))
    }

    /// The derivative by `r^2`.
    pub fn derivative(&self) -> Sum {
        let mut sum = Sum::default();
        for term in &self.terms {
            for (place, (base, exponent)) in term.factors.iter().enumerate() {
                let mut rest = term.clone();
                match rest.factors[place].1 {
                    1 => _ = rest.factors.remove(place),
                    exponent => rest.factors[place].1 = exponent - 1,
                }
                let rest = Sum::of(rest).scaled(&Expression::Number(f64::from(*exponent)));
                sum = sum.plus(rest.times(&base.derivative()));
            }
        }
        sum
    }

    pub fn has_odd_power_of_distance(&self) -> bool {
        let mut factors = self.terms.iter().flat_map(|term| &term.factors);
        factors.any(|(base, exponent)| match base {
            Base::Distance => exponent % 2 != 0,
            Base::Sum(sum) | Base::Function(_, sum) => sum.has_odd_power_of_distance(),
            Base::Choice(choice) => {
                choice.all().into_iter().any(|sum| sum.has_odd_power_of_distance())
            }
        })
    }

    /// Whether each of its choices, if there are some, is between zeros, or is multiplied by zero, with these values of the parameters.
    pub fn has_no_pieces_but_zeros(&self, values: &[f64]) -> bool {
        self.terms.iter().all(|term| {
            term.is_zero(values)
                || term.factors.iter().all(|(base, _)| match base {
                    Base::Distance => true,
                    Base::Sum(sum) | Base::Function(_, sum) => sum.has_no_pieces_but_zeros(values),
                    Base::Choice(_) => false,
                })
        })
    }

    /// Whether all terms are multiples of zero.
    fn is_zero(&self, values: &[f64]) -> bool {
        self.terms.iter().all(|term| term.is_zero(values))
    }
}

impl Base {
    /// The derivative by `r^2`.
    fn derivative(&self) -> Sum {
        let (function, argument) = match self {
            // d r / d(r^2) = 1 / 2 r
            Base::Distance => {
                let term = Term {
                    coefficient: Expression::Number(0.5),
                    factors: vec![(Base::Distance, -1)],
                };
                return Sum::of(term);
            }
            Base::Sum(sum) => return sum.derivative(),
            Base::Function(function, argument) => (*function, argument),
            Base::Choice(choice) => {
                return Sum::choice(Choice {
                    a: choice.a.clone(),
                    b: choice.b.clone(),
                    then: choice.then.derivative(),
                    otherwise: choice.otherwise.derivative(),
                });
            }
        };
        // 2/sqrt(pi) exp(-x^2)
        let gauss = || {
            let square = argument.times(argument).scaled(&Expression::Number(-1.0));
            Sum::function(Function::Exp, square).scaled(&Expression::Number(TWO_OVER_ROOT_PI))
        };
        let itself = Sum::of(Term::of(self.clone()));
        let outer = match function {
            Function::Exp => itself,
            Function::Ln => argument.to_power(-1),
            Function::Sqrt => itself.to_power(-1).scaled(&Expression::Number(0.5)),
            Function::Sine => {
                Sum::of(Term::of(Base::Function(Function::Cosine, Rc::clone(argument))))
            }
            Function::Cosine => {
                Sum::of(Term::of(Base::Function(Function::Sine, Rc::clone(argument))))
                    .scaled(&Expression::Number(-1.0))
            }
            Function::Erf => gauss(),
            Function::Erfc => gauss().scaled(&Expression::Number(-1.0)),
        };
        outer.times(&argument.derivative())
    }
}

/// A constant, as a number if it has no parameters.
fn simple(constant: &Expression) -> Expression {
    match constant {
        Expression::Negative(of) => Expression::Number(-1.0).times(simple(of)),
        Expression::Product(a, b) => simple(a).times(simple(b)),
        Expression::Sum(a, b) => simple(a).plus(simple(b)),
        Expression::Quotient(a, b) => simple(a).times(simple(b).raised(-1)),
        Expression::Power(base, exponent) => match exponent.integer() {
            Some(exponent) => simple(base).raised(exponent),
            None => number_or(constant),
        },
        other => number_or(other),
    }
}

fn number_or(constant: &Expression) -> Expression {
    match has_parameters(constant) {
        true => constant.clone(),
        false => Expression::Number(constant.value(f64::NAN, &[])),
    }
}

fn has_parameters(expression: &Expression) -> bool {
    match expression {
        Expression::Number(_) | Expression::Distance => false,
        Expression::Parameter(_) => true,
        Expression::Negative(of) | Expression::Function(_, of) => has_parameters(of),
        Expression::Sum(a, b)
        | Expression::Product(a, b)
        | Expression::Quotient(a, b)
        | Expression::Power(a, b) => has_parameters(a) || has_parameters(b),
        Expression::Choice(choice) => choice.all().into_iter().any(has_parameters),
    }
}
