//! From the text of a formula to an expression.
use super::expression::{Expression, Function};

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    /// Place in the text, in characters from zero.
    pub at: usize,
    pub message: String,
    pub help: String,
}

/// Keys of a pair: beside `r`, `pi` and the functions, the words that no parameter may have as its name.
const TAKEN: [&str; 3] = ["cutoff", "cutoff_absolute", "file"];
const FUNCTIONS: &str =
    "exp, log (or ln), sqrt, sin, cos, tanh, erf, erfc, abs, min, max and if(a < b, x, y)";
const COMPARISON: &str =
    "if(r < a, x, y) is x where r < a and y elsewhere; there are <, <=, > and >=";

/// Parentheses and signs inside each other at most: a hostile text must not use up the stack.
const DEEPEST: usize = 64;

/// The expression, and the names of its parameters in the order in which they come.
pub fn parse(text: &str) -> Result<(Expression, Vec<String>), SyntaxError> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, depth: 0, names: Vec::new() };
    let expression = parser.sum()?;
    parser.skip_blanks();
    match parser.text.get(parser.at) {
        None => Ok((expression, parser.names)),
        Some(')') => {
            Err(parser.error("a parenthesis too much", "leave it out, or open one before it"))
        }
        Some(other) => {
            let message = format!("{other:?} cannot stand here");
            Err(parser.error(message, "between two values stands one of + - * / ^"))
        }
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
    names: Vec<String>,
}

impl Parser {
    fn error(&self, message: impl Into<String>, help: impl Into<String>) -> SyntaxError {
        SyntaxError { at: self.at, message: message.into(), help: help.into() }
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|of| of.is_whitespace()) {
            self.at += 1;
        }
    }

    /// Takes a sign if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let comes = sign.chars().enumerate().all(|(k, of)| self.text.get(self.at + k) == Some(&of));
        // `**` is a power.
        let is_power = sign == "*" && self.text.get(self.at + 1) == Some(&'*');
        if comes && !is_power {
            self.at += sign.len();
        }
        comes && !is_power
    }

    fn sum(&mut self) -> Result<Expression, SyntaxError> {
        let mut sum = self.product()?;
        loop {
            if self.take("+") {
                sum = Expression::Sum(Box::new(sum), Box::new(self.product()?));
            } else if self.take("-") {
                let negative = Expression::Negative(Box::new(self.product()?));
                sum = Expression::Sum(Box::new(sum), Box::new(negative));
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<Expression, SyntaxError> {
        let mut product = self.signed()?;
        loop {
            if self.take("*") {
                product = Expression::Product(Box::new(product), Box::new(self.signed()?));
            } else if self.take("/") {
                product = Expression::Quotient(Box::new(product), Box::new(self.signed()?));
            } else {
                return Ok(product);
            }
        }
    }

    /// A sign binds less than a power: `-x^2` is `-(x^2)`.
    fn signed(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("more than 64 levels inside each other", "write it flatter"));
        }
        let signed = if self.take("-") {
            Expression::Negative(Box::new(self.signed()?))
        } else if self.take("+") {
            self.signed()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(signed)
    }

    fn power(&mut self) -> Result<Expression, SyntaxError> {
        let base = self.value()?;
        if self.take("^") || self.take("**") {
            return Ok(Expression::Power(Box::new(base), Box::new(self.signed()?)));
        }
        Ok(base)
    }

    fn value(&mut self) -> Result<Expression, SyntaxError> {
        self.skip_blanks();
        match self.text.get(self.at).copied() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.close("(")?;
                Ok(inner)
            }
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => self.named(),
            Some(other) => {
                let message = format!("{other:?} cannot stand here");
                Err(self.error(
                    message,
                    "a number, r, a parameter, a function or a parenthesis comes here",
                ))
            }
            None => {
                let help =
                    "a number, r, a parameter, a function or a parenthesis is missing at its end";
                Err(self.error("the formula ends too early", help))
            }
        }
    }

    fn close(&mut self, opened: &str) -> Result<(), SyntaxError> {
        match self.take(")") {
            true => Ok(()),
            false => Err(self.error(
                format!("the parenthesis of {opened:?} is not closed here"),
                "write ) before this",
            )),
        }
    }

    /// What follows the parenthesis of a function.
    fn call(&mut self, name: &str, function: Called) -> Result<Expression, SyntaxError> {
        let start = self.at;
        let comparison = matches!(function, Called::If).then(|| self.comparison()).transpose()?;
        let mut arguments = Vec::new();
        if comparison.is_none() {
            arguments.push(self.sum()?);
        }
        while self.take(",") {
            arguments.push(self.sum()?);
        }
        self.close(&format!("{name}("))?;
        let (count, mut arguments) = (arguments.len(), arguments.into_iter());
        let called = match (function, comparison, count) {
            (Called::One(function), _, 1) => arguments.next().map(function),
            (Called::Several(function), _, 2..) => arguments.reduce(function),
            (Called::If, Some(Comparison { a, b, then_comes_first }), 2) => {
                let [first, second] = [arguments.next(), arguments.next()];
                first.zip(second).map(|(first, second)| match then_comes_first {
                    true => Expression::choice(a, b, first, second),
                    false => Expression::choice(a, b, second, first),
                })
            }
            _ => None,
        };
        called.ok_or_else(|| {
            self.at = start;
            let takes = match function {
                Called::One(_) => "one argument",
                Called::Several(_) => "two arguments or more",
                Called::If => "a comparison and two values",
            };
            let found = count + usize::from(matches!(function, Called::If));
            let help = format!("{found} stand here, with commas between them; {COMPARISON}");
            self.error(format!("{name} takes {takes}"), help)
        })
    }

    fn comparison(&mut self) -> Result<Comparison, SyntaxError> {
        let first = self.sum()?;
        let Some(sign) = ["<=", ">=", "<", ">"].into_iter().find(|sign| self.take(sign)) else {
            return Err(self.error("a comparison is missing here", COMPARISON));
        };
        let second = self.sum()?;
        // Not a < b is b <= a.
        Ok(match sign {
            "<" => Comparison { a: first, b: second, then_comes_first: true },
            ">=" => Comparison { a: first, b: second, then_comes_first: false },
            ">" => Comparison { a: second, b: first, then_comes_first: true },
            _ => Comparison { a: second, b: first, then_comes_first: false },
        })
    }

    fn number(&mut self) -> Result<Expression, SyntaxError> {
        let start = self.at;
        let is_sign = |of: char, before: char| "+-".contains(of) && "eE".contains(before);
        while let Some(&of) = self.text.get(self.at) {
            let goes_on = of.is_ascii_digit()
                || of == '.'
                || "eE".contains(of)
                || (self.at > start && is_sign(of, self.text[self.at - 1]));
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        let text: String = self.text[start..self.at].iter().collect();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Expression::Number(number)),
            _ => {
                self.at = start;
                Err(self.error(format!("{text:?} is not a number"), "such as 4, 0.5 or 1e-3"))
            }
        }
    }

    fn named(&mut self) -> Result<Expression, SyntaxError> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|of| of.is_ascii_alphanumeric() || *of == '_') {
            self.at += 1;
        }
        let name: String = self.text[start..self.at].iter().collect();
        if self.take("(") {
            let Some(function) = function(&name) else {
                self.at = start;
                let help = format!("there are {FUNCTIONS}; products are written with *");
                return Err(self.error(format!("there is no function {name:?}"), help));
            };
            return self.call(&name, function);
        }
        match name.as_str() {
            "r" => return Ok(Expression::Distance),
            "pi" => return Ok(Expression::Number(std::f64::consts::PI)),
            _ if function(&name).is_some() => {
                return Err(self.error(
                    format!("the argument of {name} is missing"),
                    format!("write {name}(...)"),
                ));
            }
            _ if TAKEN.contains(&name.as_str()) => {
                self.at = start;
                return Err(self.error(
                    format!("{name:?} cannot be the name of a parameter"),
                    "take another one",
                ));
            }
            _ => {}
        }
        let place = self.names.iter().position(|other| *other == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        Ok(Expression::Parameter(place))
    }
}

/// `a < b`, and whether what holds where it is true comes first.
struct Comparison {
    a: Expression,
    b: Expression,
    then_comes_first: bool,
}

/// What a function of a formula stands for, by the number of its arguments.
#[derive(Clone, Copy)]
enum Called {
    One(fn(Expression) -> Expression),
    /// Of the first two, then of that and the next.
    Several(fn(Expression, Expression) -> Expression),
    /// Of a comparison and two values.
    If,
}

fn function(name: &str) -> Option<Called> {
    fn of(function: Function, argument: Expression) -> Expression {
        Expression::Function(function, Box::new(argument))
    }
    let of_one: fn(Expression) -> Expression = match name {
        "if" => return Some(Called::If),
        "min" => {
            return Some(Called::Several(|a, b| Expression::choice(a.clone(), b.clone(), a, b)));
        }
        "max" => {
            return Some(Called::Several(|a, b| Expression::choice(a.clone(), b.clone(), b, a)));
        }
        "exp" => |x| of(Function::Exp, x),
        "log" | "ln" => |x| of(Function::Ln, x),
        "sqrt" => |x| of(Function::Sqrt, x),
        "sin" => |x| of(Function::Sine, x),
        "cos" => |x| of(Function::Cosine, x),
        "erf" => |x| of(Function::Erf, x),
        "erfc" => |x| of(Function::Erfc, x),
        "abs" => |x| {
            let negative = Expression::Negative(Box::new(x.clone()));
            Expression::choice(x.clone(), Expression::Number(0.0), negative, x)
        },
        // 1 - 2 / (exp(2 x) + 1)
        "tanh" => |x| {
            let number = |value| Box::new(Expression::Number(value));
            let power = of(Function::Exp, Expression::Product(number(2.0), Box::new(x)));
            let quotient = Expression::Quotient(
                number(-2.0),
                Box::new(Expression::Sum(Box::new(power), number(1.0))),
            );
            Expression::Sum(number(1.0), Box::new(quotient))
        },
        _ => return None,
    };
    Some(Called::One(of_one))
}
