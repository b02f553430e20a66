//! Axes: from numbers to a fraction of the axis, with ticks at round numbers.

pub(super) use supercool_observables::Scale;

use super::options::Range;

#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    /// In the logarithm for a logarithmic scale.
    low: f64,
    high: f64,
    /// Place and label.
    pub major: Vec<(f64, String)>,
    pub minor: Vec<f64>,
    /// Power of ten that the labels leave out.
    pub power: i32,
}

/// Narrower ranges, relative to the numbers, are widened: labels would be nothing but digits.
const NARROWEST: f64 = 2e-4;

impl Axis {
    /// Axis over the range of `values`, with `margin` (a fraction of the range) on both sides and
    /// about `ticks` labels.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64>, margin: f64, ticks: usize) -> Self {
        let place = |x: f64| if scale == Scale::Logarithmic { x.log10() } else { x };
        let (mut low, mut high) = values
            .filter(|&x| scale.shows(x))
            .map(place)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let middle = 0.5 * (low + high);
        let narrowest = match scale {
            Scale::Linear if middle == 0.0 => 1e-12,
            Scale::Linear => NARROWEST * middle.abs(),
            Scale::Logarithmic => 0.5,
        };
        if high - low < narrowest {
            (low, high) = (middle - 0.5 * narrowest, middle + 0.5 * narrowest);
        }
        let pad = margin * (high - low);
        Self::with_ticks(scale, low - pad, high + pad, ticks)
    }

    /// Axis between these ends.
    ///
    /// # Errors
    /// If the scale does not show the lower one.
    pub fn between(scale: Scale, range: Range, ticks: usize) -> Result<Self, String> {
        let (low, high) = (range.low(), range.high());
        match scale {
            Scale::Linear => Ok(Self::with_ticks(scale, low, high, ticks)),
            Scale::Logarithmic if low > 0.0 => {
                Ok(Self::with_ticks(scale, low.log10(), high.log10(), ticks))
            }
            Scale::Logarithmic => Err(format!(
                "the range {low}:{high} is not of a logarithmic axis: begin above 0, or choose a linear axis"
            )),
        }
    }

    /// Ends in the logarithm for a logarithmic scale.
    fn with_ticks(scale: Scale, low: f64, high: f64, ticks: usize) -> Self {
        let mut axis = Axis { scale, low, high, major: Vec::new(), minor: Vec::new(), power: 0 };
        match scale {
            Scale::Linear => axis.linear_ticks(ticks),
            Scale::Logarithmic => axis.logarithmic_ticks(ticks),
        }
        axis
    }

    /// 0 at the low end, 1 at the high end.
    pub fn fraction(&self, x: f64) -> f64 {
        let x = if self.scale == Scale::Logarithmic { x.log10() } else { x };
        (x - self.low) / (self.high - self.low)
    }

    fn linear_ticks(&mut self, ticks: usize) {
        let rough = (self.high - self.low) / ticks as f64;
        let unit = 10_f64.powf(rough.log10().floor());
        let (factor, parts) = [(1.0, 5), (2.0, 4), (5.0, 5), (10.0, 5)]
            .into_iter()
            .find(|(factor, _)| factor * unit >= rough * 0.75)
            .unwrap_or((10.0, 5));
        let step = factor * unit;
        let largest = self.low.abs().max(self.high.abs());
        let magnitude = largest.log10().floor() as i32;
        self.power = if (-3..5).contains(&magnitude) { 0 } else { magnitude.div_euclid(3) * 3 };
        let shown = 10_f64.powi(-self.power);
        let decimals = (-(step * shown * 1.0001).log10().floor()).max(0.0) as usize;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        for k in first..=last {
            let x = k as f64 * step;
            let text = format!("{:.decimals$}", x * shown);
            let is_zero = text.trim_start_matches('-').bytes().all(|b| b == b'0' || b == b'.');
            let text = if is_zero { text.trim_start_matches('-').to_owned() } else { text };
            self.major.push((x, text.replace('-', "−")));
        }
        let fine = step / f64::from(parts);
        let (first, last) = ((self.low / fine).ceil() as i64, (self.high / fine).floor() as i64);
        self.minor = (first..=last)
            .filter(|k| k.rem_euclid(i64::from(parts)) != 0)
            .map(|k| k as f64 * fine)
            .collect();
    }

    fn logarithmic_ticks(&mut self, ticks: usize) {
        let decades: Vec<i32> = (self.low.ceil() as i32..=self.high.floor() as i32).collect();
        let all: Vec<i32> = (self.low.floor() as i32..=self.high.floor() as i32).collect();
        let inside = |x: &f64| (self.low..=self.high).contains(&x.log10());
        if self.high - self.low < 1.5 {
            let labelled = all
                .iter()
                .flat_map(|&n| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(n)))
                .filter(inside);
            self.major = labelled.map(|x| (x, plain(x))).collect();
        } else {
            let every = decades.len().div_ceil(ticks.max(1)).max(1) as i32;
            let labelled = decades.iter().filter(|n| n.rem_euclid(every) == 0);
            self.major = labelled.map(|&n| (10_f64.powi(n), power_of_ten(n))).collect();
        }
        let is_major = |x: &f64| self.major.iter().any(|(y, _)| (x / y - 1.0).abs() < 1e-9);
        self.minor = if self.high - self.low > 8.0 {
            decades.iter().map(|&n| 10_f64.powi(n)).filter(|x| !is_major(x)).collect()
        } else {
            all.iter()
                .flat_map(|&n| (1..10).map(move |m| f64::from(m) * 10_f64.powi(n)))
                .filter(inside)
                .filter(|x| !is_major(x))
                .collect()
        };
    }
}

fn plain(x: f64) -> String {
    let decimals = (-x.log10().floor()).max(0.0) as usize;
    if (-3.0..5.0).contains(&x.log10().floor()) {
        format!("{x:.decimals$}")
    } else {
        format!("{x:e}")
    }
}

/// `10ⁿ` in Unicode.
pub(super) fn power_of_ten(n: i32) -> String {
    match n {
        0 => return "1".into(),
        1 => return "10".into(),
        _ => {}
    }
    let superscript = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit as u32 - '0' as u32).unwrap_or(digit),
    };
    format!("10{}", n.to_string().chars().map(superscript).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.major.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers_within_the_range() {
        let axis = Axis::new(Scale::Linear, [0.0, 10.0].into_iter(), 0.0, 5);
        assert_eq!(labels(&axis), ["0", "2", "4", "6", "8", "10"]);
        let axis = Axis::new(Scale::Linear, [-0.31, 0.22].into_iter(), 0.0, 5);
        assert_eq!(labels(&axis), ["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2"]);
        let axis = Axis::new(Scale::Linear, [0.0, 2.0e6].into_iter(), 0.0, 4);
        assert_eq!((labels(&axis), axis.power), (vec!["0.0", "0.5", "1.0", "1.5", "2.0"], 6));
        let axis = Axis::new(Scale::Logarithmic, [2e-3, 3e4].into_iter(), 0.0, 8);
        assert_eq!(labels(&axis), ["10⁻²", "10⁻¹", "1", "10", "10²", "10³", "10⁴"]);
    }

    #[test]
    fn a_range_is_kept_as_it_is() {
        let axis = Axis::between(Scale::Logarithmic, "0.1:1000".parse().unwrap(), 7).unwrap();
        assert_eq!(labels(&axis), ["10⁻¹", "1", "10", "10²", "10³"]);
        assert_eq!((axis.fraction(0.1), axis.fraction(1000.0)), (0.0, 1.0));
        let axis = Axis::between(Scale::Linear, "-1:1".parse().unwrap(), 4).unwrap();
        assert_eq!((axis.fraction(-1.0), axis.fraction(0.0)), (0.0, 0.5));
        let wrong = Axis::between(Scale::Logarithmic, "0:1".parse().unwrap(), 4).unwrap_err();
        assert!(wrong.contains("0:1") && wrong.contains("above 0"), "{wrong}");
    }

    #[test]
    fn a_constant_and_nothing_at_all_still_have_an_axis() {
        for values in [vec![], vec![-4.25; 3], vec![0.0], vec![f64::NAN]] {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let axis = Axis::new(scale, values.iter().copied(), 0.05, 5);
                assert!(!axis.major.is_empty(), "{values:?} {scale:?}");
                assert!(axis.major.iter().all(|(x, _)| (0.0..=1.0).contains(&axis.fraction(*x))));
            }
        }
    }
}
