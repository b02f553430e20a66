//! Whether functions from given time origins are those of equilibrium: the same from all of them, and as their average.
use miette::{IntoDiagnostic, miette};
use supercool_analysis::results::{Curve, ResultsFile};

/// Deviations of a function from each time origin from its average over all of them, by the standard errors of both together: root mean
/// square over origins, wave numbers and lags beyond zero. About 1 in equilibrium.
pub fn deviation(file: &ResultsFile, name: &str, species: &str) -> miette::Result<f64> {
    let is_it = |group: &str, of: &str| group == species && of == name;
    let missing = |root: &str| miette!("{}: no /{root}/{species}/{name}", file.path().display());
    let all = file.dynamics().into_diagnostic()?;
    let average = all.into_iter().find(|each| is_it(&each.group, &each.name));
    let average = average.ok_or_else(|| missing("dynamics"))?;
    let mut aging = file.aging().into_diagnostic()?.into_iter();
    let from_origins =
        aging.find(|each| each.functions.first().is_some_and(|of| is_it(&of.group, &of.name)));
    let from_origins = from_origins.ok_or_else(|| missing("aging"))?;
    let (mut squares, mut count) = (0.0, 0);
    for function in &from_origins.functions {
        for (curve, expected) in function.curves.iter().zip(&average.curves) {
            for (lag, &time) in function.x.iter().enumerate() {
                let same = |x: &f64| (x - time).abs() <= 1e-9 * time;
                let Some(place) = average.x.iter().position(same) else { continue };
                let square = squared_deviation((curve, lag), (expected, place));
                if let Some(square) = square.filter(|_| time > 0.0) {
                    (squares, count) = (squares + square, count + 1);
                }
            }
        }
    }
    match count {
        0 => Err(miette!("{}: {species}/{name} has no errors", file.path().display())),
        _ => Ok((squares / f64::from(count)).sqrt()),
    }
}

/// `None` where one of them is not known.
fn squared_deviation((a, at): (&Curve, usize), (b, place): (&Curve, usize)) -> Option<f64> {
    let difference = a.value.get(at)? - b.value.get(place)?;
    let error = a.error.get(at)?.hypot(*b.error.get(place)?);
    Some((difference / error).powi(2)).filter(|square| square.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_in_errors_of_both_and_unknown_ones_do_not_count() {
        let curve = |value: f64, error: f64| Curve {
            value: vec![value],
            error: vec![error],
            ..Curve::default()
        };
        let of = |a: &Curve, b: &Curve| squared_deviation((a, 0), (b, 0));
        let found = of(&curve(1.5, 0.3), &curve(1.0, 0.4)).unwrap();
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        assert_eq!(of(&curve(1.5, f64::NAN), &curve(1.0, 0.4)), None);
        assert_eq!(of(&curve(1.0, 0.0), &curve(1.0, 0.0)), None);
        assert_eq!(squared_deviation((&curve(1.0, 0.1), 1), (&curve(1.0, 0.1), 0)), None);
    }
}
