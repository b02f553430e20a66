/// Points to fit, at positive arguments in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Arguments, positive.
    pub x: Vec<f64>,
    /// Values, finite.
    pub y: Vec<f64>,
    /// Standard errors; of an arbitrary common scale if `errors_known` is false.
    pub error: Vec<f64>,
    /// Whether the errors are measured ones.
    pub errors_known: bool,
}

impl Points {
    /// Keeps what can be fitted: `x > 0`, `y` finite. If at least half of these have an error, those
    /// without are left out; else no errors are known and all count the same. `error` may be empty.
    pub fn new(x: &[f64], y: &[f64], error: &[f64]) -> Self {
        let error_of = |k: usize| error.get(k).copied().unwrap_or(f64::NAN);
        let measured = |k: &usize| error_of(*k) > 0.0 && error_of(*k).is_finite();
        let mut kept: Vec<usize> =
            (0..x.len().min(y.len())).filter(|&k| x[k] > 0.0 && y[k].is_finite()).collect();
        let with_error = kept.iter().filter(|k| measured(k)).count();
        let errors_known = with_error > 0 && 2 * with_error >= kept.len();
        if errors_known {
            kept.retain(measured);
        }
        kept.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        let pick = |from: &dyn Fn(usize) -> f64| kept.iter().map(|&k| from(k)).collect();
        Points {
            x: pick(&|k| x[k]),
            y: pick(&|k| y[k]),
            error: pick(&|k| if errors_known { error_of(k) } else { 1.0 }),
            errors_known,
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Those that satisfy `keep(x, y, error)`.
    pub fn filtered(&self, keep: impl Fn(f64, f64, f64) -> bool) -> Points {
        let kept: Vec<usize> =
            (0..self.len()).filter(|&k| keep(self.x[k], self.y[k], self.error[k])).collect();
        let pick = |from: &[f64]| kept.iter().map(|&k| from[k]).collect();
        Points {
            x: pick(&self.x),
            y: pick(&self.y),
            error: pick(&self.error),
            errors_known: self.errors_known,
        }
    }

    /// Those at `from <= x <= to`.
    pub fn between(&self, from: f64, to: f64) -> Points {
        self.filtered(|x, _, _| (from..=to).contains(&x))
    }

    /// Errors in proportion to the values where none are known.
    pub(super) fn relative_if_unknown(mut self) -> Points {
        if !self.errors_known {
            self.error = self.y.iter().map(|y| y.abs()).collect();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_fitted_is_kept() {
        let x = [0.0, 4.0, 1.0, 2.0, 3.0];
        let y = [1.0, 4.0, 1.0, f64::NAN, 3.0];
        let points = Points::new(&x, &y, &[0.1, f64::NAN, 0.1, 0.1, 0.3]);
        assert_eq!((points.x, points.error), (vec![1.0, 3.0], vec![0.1, 0.3]));
        let points = Points::new(&x, &y, &[0.0; 5]);
        assert!(!points.errors_known);
        assert_eq!(points.y, [1.0, 3.0, 4.0]);
        assert_eq!(Points::new(&x, &y, &[]).error, [1.0; 3]);
        // No error of any point is as none given.
        assert_eq!(Points::new(&x, &y, &[f64::NAN; 5]), Points::new(&x, &y, &[]));
    }
}
