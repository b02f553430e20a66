//! Curves over the strain, as text.
use std::fmt::Write;

use crate::numbers::short;
use crate::results::Strain;

/// How far the strain goes, and between which values the curves lie.
pub(super) fn text(strain: &Strain) -> String {
    let mut text = String::from("\nStrain\n");
    let width = strain.curves.iter().map(|(_, function)| function.name.len()).max().unwrap_or(0);
    for (_, function) in &strain.curves {
        let Some(curve) = function.curves.first() else { continue };
        let ends = |values: &[f64]| {
            let finite = || values.iter().copied().filter(|value| value.is_finite());
            let (low, high) = (finite().reduce(f64::min), finite().reduce(f64::max));
            low.zip(high)
                .map_or_else(|| "-".into(), |(a, b)| format!("{} to {}", short(a), short(b)))
        };
        let _ = writeln!(
            text,
            "  {:<width$} {:>6} points; e from {}; {}",
            function.name,
            function.x.len(),
            ends(&function.x),
            ends(&curve.value)
        );
    }
    if let Some(events) = strain.count {
        let _ = writeln!(text, "  plastic events {events}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Curve, Function};
    use supercool_observables::StrainCurve;

    #[test]
    fn curves_are_given_by_their_ends() {
        let function = Function {
            name: "strain_stress".into(),
            x: vec![0.0, 0.1, 0.0],
            curves: vec![Curve { value: vec![0.5, 2.0, f64::NAN], ..Curve::default() }],
            ..Function::default()
        };
        let strain = Strain {
            curves: vec![(StrainCurve::Stress, function)],
            events: vec![1],
            count: Some(3),
        };
        let text = text(&strain);
        assert!(text.contains("3 points; e from 0 to 0.1; 0.5 to 2\n"), "{text}");
        assert!(text.contains("plastic events 3"), "{text}");
    }
}
