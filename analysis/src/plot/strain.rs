//! Curves over the strain, with plastic events.
use supercool_observables::{Figure, StrainCurve};

use super::axis::Scale;
use super::options::FigureOptions;
use super::panels::{Line, Mark, Panel};
use crate::results::Strain;

/// Names in the legend, of the curve and the points.
const MINIMA: &str = "minima";
const EVENT: &str = "plastic event";

/// The panel of a curve, of all files that have it. Where a stage turns, so does its line.
pub(super) fn strain_panel(
    curve: StrainCurve,
    files: &[(usize, &Strain)],
    options: &FigureOptions,
) -> Option<Panel> {
    let Figure { label, scale, .. } = curve.descriptor().figure?;
    let x_scale = options.x.scale.unwrap_or(Scale::Linear);
    let y_scale = options.y.scale.unwrap_or(scale);
    let mut lines = Vec::new();
    for &(file, strain) in files {
        let found = strain.curves.iter().filter(|(of, _)| *of == curve);
        for (function, values) in found.filter_map(|(_, of)| Some((of, of.curves.first()?))) {
            let line = |points: &mut dyn Iterator<Item = usize>, part: &str, mark: Mark| {
                let shown =
                    |&k: &usize| x_scale.shows(function.x[k]) && y_scale.shows(values.value[k]);
                let points: Vec<usize> = points.filter(shown).collect();
                let error = |&k: &usize| match mark {
                    Mark::Curve => values.error[k],
                    _ => f64::NAN,
                };
                Line {
                    file,
                    part: part.to_owned(),
                    x: points.iter().map(|&k| function.x[k]).collect(),
                    y: points.iter().map(|&k| values.value[k]).collect(),
                    error: points.iter().map(error).collect(),
                    mark,
                }
            };
            let name = if strain.events.is_empty() { "" } else { MINIMA };
            lines.push(line(&mut (0..function.x.len()), name, Mark::Curve));
            let events = strain.events.iter().copied().filter(|&k| k < function.x.len());
            lines.push(line(&mut { events }, EVENT, Mark::Point));
        }
    }
    lines.retain(|line| line.x.len() > usize::from(line.mark == Mark::Curve));
    Some(Panel {
        x_label: StrainCurve::AXIS.symbol().into(),
        y_label: label.into(),
        x_scale,
        y_scale,
        y_include: Vec::new(),
        parameter: None,
        moved: Vec::new(),
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Curve, Function};

    #[test]
    fn a_cycle_is_a_line_that_turns_with_its_events_as_points() {
        let function = Function {
            name: "strain_stress".into(),
            x: vec![0.0, 0.1, 0.2, 0.1, 0.0],
            curves: vec![Curve {
                value: vec![0.0, 1.0, 0.5, -0.5, f64::NAN],
                error: vec![f64::NAN; 5],
                ..Curve::default()
            }],
            ..Function::default()
        };
        let strain = Strain {
            curves: vec![(StrainCurve::Stress, function)],
            events: vec![2],
            count: Some(1),
        };
        let options = FigureOptions::default();
        let panel = strain_panel(StrainCurve::Stress, &[(0, &strain)], &options).unwrap();
        assert_eq!(panel.lines.len(), 2);
        assert_eq!(panel.lines[0].x, [0.0, 0.1, 0.2, 0.1], "in the order of the steps");
        assert_eq!((&panel.lines[1].x[..], &panel.lines[1].y[..]), (&[0.2][..], &[0.5][..]));
        let other = strain_panel(StrainCurve::Energy, &[(0, &strain)], &options).unwrap();
        assert!(other.lines.is_empty());
    }
}
