//! A formula and its force as a sequence of operations of [`Real`]: the processor carries them out one after the other, and a GPU has
//! them as the text of its kernel. Both give the same bits.
use std::collections::HashMap;
use std::fmt::Write;

use super::expression::{Expression, Function};
use super::terms::{Base, Sum, Term};
use crate::arithmetic::Real;

/// Constants of a formula at most.
pub const MOST_CONSTANTS: usize = 24;
/// Operations of a formula and its force at most.
pub const MOST_OPERATIONS: usize = 96;

/// Place of a value: `r^2`, then the constants, then what the operations give.
type Place = usize;

const R2: Place = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Add(Place, Place),
    Multiply(Place, Place),
    /// `a b + c` with one rounding.
    Fused(Place, Place, Place),
    Inverse(Place),
    InverseSqrt(Place),
    Exp(Place),
    Ln(Place),
    Sine(Place),
    Cosine(Place),
    Erf(Place),
    Erfc(Place),
    /// `c` where `a < b`, else `d`.
    Select(Place, Place, Place, Place),
}

/// What gives energy and force at a squared distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Of parameters alone.
    pub constants: Vec<Expression>,
    operations: Vec<Operation>,
    force: Place,
    energy: Place,
}

impl Program {
    /// Of an energy and of `-U'(r)/r`; `None`: it is too long.
    pub fn new(energy: &Sum, force: &Sum) -> Option<Program> {
        let mut all = Vec::new();
        collect_constants(energy, &mut all);
        collect_constants(force, &mut all);
        // Operations on constants are not needed: each is one number for a pair.
        let mut writer = Writer {
            first_operation: 0,
            constants: Vec::new(),
            operations: Vec::new(),
            known: HashMap::new(),
            powers: HashMap::new(),
            has_odd_powers: energy.has_odd_power_of_distance() || force.has_odd_power_of_distance(),
        };
        for constant in all {
            writer.add_constant(&constant);
        }
        for number in [0.0, 1.0] {
            writer.add_constant(&Expression::Number(number));
        }
        writer.first_operation = 1 + writer.constants.len();
        let energy = writer.sum(energy);
        let force = writer.sum(force);
        let Writer { constants, operations, .. } = writer;
        let fits = constants.len() <= MOST_CONSTANTS && operations.len() <= MOST_OPERATIONS;
        fits.then_some(Program { constants, operations, force, energy })
    }

    /// `(-U'(r)/r, U(r))` of several pairs, of which `constants` has the values in the order of [`Program::constants`].
    #[inline(always)]
    pub fn evaluate<R: Real, const LANES: usize>(
        &self,
        constants: &[R; MOST_CONSTANTS],
        r2: [R; LANES],
    ) -> ([R; LANES], [R; LANES]) {
        let mut results = [[R::ZERO; LANES]; MOST_OPERATIONS];
        let first = 1 + self.constants.len();
        let value = |results: &[[R; LANES]; MOST_OPERATIONS], place: Place| -> [R; LANES] {
            match place {
                R2 => r2,
                place if place < first => [constants[place - 1]; LANES],
                place => results[place - first],
            }
        };
        for (at, operation) in self.operations.iter().enumerate() {
            let of = |place: Place| value(&results, place);
            results[at] = match *operation {
                Operation::Add(a, b) => {
                    let (a, b) = (of(a), of(b));
                    std::array::from_fn(|lane| a[lane] + b[lane])
                }
                Operation::Multiply(a, b) => {
                    let (a, b) = (of(a), of(b));
                    std::array::from_fn(|lane| a[lane] * b[lane])
                }
                Operation::Fused(a, b, c) => {
                    let (a, b, c) = (of(a), of(b), of(c));
                    std::array::from_fn(|lane| a[lane].fused(b[lane], c[lane]))
                }
                Operation::Inverse(a) => of(a).map(R::inverse),
                Operation::InverseSqrt(a) => of(a).map(R::inverse_sqrt),
                Operation::Exp(a) => of(a).map(R::exp),
                Operation::Ln(a) => of(a).map(R::ln),
                Operation::Sine(a) => of(a).map(R::sine),
                Operation::Cosine(a) => of(a).map(R::cosine),
                Operation::Erf(a) => of(a).map(R::erf),
                Operation::Erfc(a) => of(a).map(R::erfc),
                Operation::Select(a, b, c, d) => {
                    let (a, b, c, d) = (of(a), of(b), of(c), of(d));
                    std::array::from_fn(|lane| if a[lane] < b[lane] { c[lane] } else { d[lane] })
                }
            };
        }
        (value(&results, self.force), value(&results, self.energy))
    }

    /// The text of a struct `Formula<R>` for the kernels, with the constants as its fields `c0`, `c1` and so on.
    pub fn kernel(&self) -> String {
        let first = 1 + self.constants.len();
        let name = |place: Place| match place {
            R2 => "r2".to_owned(),
            place if place < first => format!("c{}", place - 1),
            place => format!("v{}", place - first),
        };
        let mut text = "// A formula: written by src/potential/formula/program.rs.\n\
                        #pragma once\n#include \"arithmetic/real.cuh\"\n\n\
                        template <typename R>\nstruct Formula {\n    typedef R Real;\n\n"
            .to_owned();
        for place in 1..first {
            let _ = writeln!(text, "    R {};", name(place));
        }
        text += "\n    INLINE void evaluate(R r2, R &force, R &energy) const {\n";
        for (at, operation) in self.operations.iter().enumerate() {
            let call = match *operation {
                Operation::Add(a, b) => format!("add({}, {})", name(a), name(b)),
                Operation::Multiply(a, b) => format!("mul({}, {})", name(a), name(b)),
                Operation::Fused(a, b, c) => {
                    format!("fused({}, {}, {})", name(a), name(b), name(c))
                }
                Operation::Inverse(a) => format!("inverse({})", name(a)),
                Operation::InverseSqrt(a) => format!("inverse_sqrt({})", name(a)),
                Operation::Exp(a) => format!("exponential({})", name(a)),
                Operation::Ln(a) => format!("logarithm({})", name(a)),
                Operation::Sine(a) => format!("sine({})", name(a)),
                Operation::Cosine(a) => format!("cosine({})", name(a)),
                Operation::Erf(a) => format!("error_function({})", name(a)),
                Operation::Erfc(a) => format!("complementary_error_function({})", name(a)),
                Operation::Select(a, b, c, d) => {
                    format!("{} < {} ? {} : {}", name(a), name(b), name(c), name(d))
                }
            };
            let _ = writeln!(text, "        R {} = {call};", name(first + at));
        }
        let _ = writeln!(text, "        force = {};", name(self.force));
        let _ = writeln!(text, "        energy = {};", name(self.energy));
        text + "    }\n};\n"
    }
}

/// Those of a sum and of all sums inside it, as [`Writer::sum`] asks for them.
fn collect_constants(sum: &Sum, all: &mut Vec<Expression>) {
    for term in &sum.terms {
        all.push(term.coefficient.clone());
        for (base, _) in &term.factors {
            match base {
                Base::Distance => {}
                Base::Sum(inner) | Base::Function(_, inner) => collect_constants(inner, all),
                Base::Choice(choice) => {
                    choice.all().into_iter().for_each(|inner| collect_constants(inner, all));
                }
            }
        }
    }
}

struct Writer {
    first_operation: Place,
    constants: Vec<Expression>,
    operations: Vec<Operation>,
    known: HashMap<Operation, Place>,
    /// Powers of values that are there.
    powers: HashMap<(Place, i32), Place>,
    has_odd_powers: bool,
}

impl Writer {
    fn add_constant(&mut self, constant: &Expression) {
        if !self.constants.contains(constant) {
            self.constants.push(constant.clone());
        }
    }

    fn constant(&self, constant: &Expression) -> Place {
        let found = self.constants.iter().position(|other| other == constant);
        1 + found.expect("all constants were collected")
    }

    fn number(&self, number: f64) -> Place {
        self.constant(&Expression::Number(number))
    }

    /// The place of its result: that of the same operation if there is one.
    fn operation(&mut self, operation: Operation) -> Place {
        let next = self.first_operation + self.operations.len();
        *self.known.entry(operation).or_insert_with(|| {
            self.operations.push(operation);
            next
        })
    }

    fn multiply(&mut self, a: Place, b: Place) -> Place {
        let one = self.number(1.0);
        match (a == one, b == one) {
            (true, _) => b,
            (_, true) => a,
            _ => self.operation(Operation::Multiply(a.min(b), a.max(b))),
        }
    }

    /// `a b + c`.
    fn fused(&mut self, a: Place, b: Place, c: Place) -> Place {
        let (zero, one) = (self.number(0.0), self.number(1.0));
        match () {
            _ if c == zero => self.multiply(a, b),
            _ if a == one => self.operation(Operation::Add(b.min(c), b.max(c))),
            _ if b == one => self.operation(Operation::Add(a.min(c), a.max(c))),
            _ => self.operation(Operation::Fused(a.min(b), a.max(b), c)),
        }
    }

    /// `base^exponent` for an exponent above zero, by the fewest multiplications that what is there allows.
    fn power(&mut self, base: Place, exponent: i32) -> Place {
        if exponent == 1 {
            return base;
        }
        if let Some(&known) = self.powers.get(&(base, exponent)) {
            return known;
        }
        let parts = (1..=exponent / 2).rev().find_map(|part| {
            let known = |of: i32| match of {
                1 => Some(base),
                of => self.powers.get(&(base, of)).copied(),
            };
            Some((known(part)?, known(exponent - part)?))
        });
        let (a, b) = parts.unwrap_or_else(|| {
            let half = self.power(base, exponent / 2);
            match exponent % 2 {
                0 => (half, half),
                _ => (self.power(base, exponent - exponent / 2), half),
            }
        });
        let power = self.multiply(a, b);
        self.powers.insert((base, exponent), power);
        power
    }

    /// `r^exponent`.
    fn power_of_distance(&mut self, exponent: i32) -> Place {
        if exponent == 0 {
            return self.number(1.0);
        }
        if !self.has_odd_powers {
            let base = if exponent > 0 { R2 } else { self.operation(Operation::Inverse(R2)) };
            return self.power(base, exponent.abs() / 2);
        }
        let inverse = self.operation(Operation::InverseSqrt(R2));
        match exponent {
            1 => self.multiply(R2, inverse),
            -1 => inverse,
            _ => {
                let square = if exponent > 0 { R2 } else { self.multiply(inverse, inverse) };
                let even = self.power(square, exponent.abs() / 2);
                match exponent % 2 {
                    0 => even,
                    odd => {
                        let single = self.power_of_distance(odd);
                        self.multiply(even, single)
                    }
                }
            }
        }
    }

    fn sum(&mut self, sum: &Sum) -> Place {
        let mut of_distance: Vec<(i32, &Term)> = Vec::new();
        let mut others: Vec<&Term> = Vec::new();
        for term in &sum.terms {
            match term.power_of_distance() {
                Some(exponent) => of_distance.push((exponent, term)),
                None => others.push(term),
            }
        }
        let mut total = self.polynomial(&of_distance);
        for term in others {
            let product = self.factors(term);
            let coefficient = self.constant(&term.coefficient);
            total = self.fused(coefficient, product, total);
        }
        total
    }

    /// A sum of multiples of powers of `r`, by Horner's scheme from the largest powers of `1/r` and of `r` on.
    fn polynomial(&mut self, terms: &[(i32, &Term)]) -> Place {
        let of = |is_wanted: fn(i32) -> bool| {
            let mut some: Vec<(i32, Expression)> = terms
                .iter()
                .filter(|(exponent, _)| is_wanted(*exponent))
                .map(|(exponent, term)| (*exponent, term.coefficient.clone()))
                .collect();
            some.sort_by_key(|(exponent, _)| -exponent.abs());
            some
        };
        let constant = of(|exponent| exponent == 0);
        let mut total = match constant.first() {
            Some((_, coefficient)) => self.constant(coefficient),
            None => self.number(0.0),
        };
        for terms in [of(|exponent| exponent > 0), of(|exponent| exponent < 0)] {
            let Some(((mut before, first), others)) =
                terms.split_first().map(|((exponent, first), rest)| ((*exponent, first), rest))
            else {
                continue;
            };
            let mut sum = self.constant(first);
            for (exponent, coefficient) in others {
                let ratio = self.power_of_distance(before - exponent);
                let coefficient = self.constant(coefficient);
                sum = self.fused(sum, ratio, coefficient);
                before = *exponent;
            }
            let last = self.power_of_distance(before);
            total = self.fused(sum, last, total);
        }
        total
    }

    /// The product of a term without its coefficient.
    fn factors(&mut self, term: &Term) -> Place {
        let mut product = self.number(1.0);
        for (base, exponent) in &term.factors {
            let factor = match base {
                Base::Distance => self.power_of_distance(*exponent),
                Base::Sum(_) | Base::Function(..) | Base::Choice(_) => {
                    let value = self.base(base);
                    let power = self.power(value, exponent.abs());
                    if *exponent < 0 { self.operation(Operation::Inverse(power)) } else { power }
                }
            };
            product = self.multiply(product, factor);
        }
        product
    }

    fn base(&mut self, base: &Base) -> Place {
        match base {
            Base::Distance => self.power_of_distance(1),
            Base::Sum(sum) => self.sum(sum),
            Base::Choice(choice) => {
                let [a, b, c, d] = choice.all().map(|sum| self.sum(sum));
                self.operation(Operation::Select(a, b, c, d))
            }
            Base::Function(function, argument) => {
                let argument = self.sum(argument);
                match function {
                    Function::Exp => self.operation(Operation::Exp(argument)),
                    Function::Ln => self.operation(Operation::Ln(argument)),
                    Function::Sine => self.operation(Operation::Sine(argument)),
                    Function::Cosine => self.operation(Operation::Cosine(argument)),
                    Function::Erf => self.operation(Operation::Erf(argument)),
                    Function::Erfc => self.operation(Operation::Erfc(argument)),
                    Function::Sqrt => {
                        let inverse = self.operation(Operation::InverseSqrt(argument));
                        self.multiply(argument, inverse)
                    }
                }
            }
        }
    }
}
