//! The head of a figure: which colour belongs to what.
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, INK, Place, text_width};
use super::colours::{Parameter, Sets, on_scale};
use crate::numbers::short;

const ROW: f64 = 18.0;
/// Of one row.
const HEIGHT: f64 = 30.0;
const LEFT: f64 = 20.0;
/// With the labels below the colour bar.
const BAR_HEIGHT: f64 = 46.0;
const BAR_WIDTH: f64 = 300.0;
const STRIPES: u32 = 100;

pub(super) fn height(sets: &Sets, width: f64) -> f64 {
    match sets.parameter {
        Some(_) => BAR_HEIGHT,
        None => HEIGHT + places(&sets.names, width).last().map_or(0.0, |(_, y)| y - ROW),
    }
}

/// Names with their colours (and `markers`), or the colour bar of a parameter.
pub(super) fn draw(canvas: &mut Canvas, sets: &Sets, width: f64, markers: bool) {
    if let Some(parameter) = &sets.parameter {
        return colour_bar(canvas, parameter, width);
    }
    let places = places(&sets.names, width);
    for (index, (name, (x, y))) in sets.names.iter().zip(places).enumerate() {
        if sets.len() == 1 {
            canvas.text(name, (x, y), HPos::Left);
        } else {
            canvas.path(&[(x, y), (x + 22.0, y)], sets.colour(index), 2.2);
            if markers {
                canvas.marker((x + 11.0, y), index, sets.colour(index));
            }
            canvas.text(name, (x + 28.0, y), HPos::Left);
        }
    }
}

/// Entries with their positions, row by row.
fn places(names: &[String], width: f64) -> Vec<Place> {
    let (mut x, mut y) = (LEFT, ROW);
    let place = |name: &String| {
        let entry = 30.0 + text_width(name) + 22.0;
        if x > LEFT && x + entry > width {
            (x, y) = (LEFT, y + ROW);
        }
        let place = (x, y);
        x += entry;
        place
    };
    names.iter().map(place).collect()
}

/// All colours between the smallest and the largest value, and where the values lie.
fn colour_bar(canvas: &mut Canvas, parameter: &Parameter, width: f64) {
    let left = LEFT + text_width(&parameter.name) + 14.0;
    let right = (left + BAR_WIDTH).min(width - 2.0 * LEFT).max(left + 40.0);
    let (top, bottom) = (9.0, 21.0);
    let at = |share: f64| left + share * (right - left);
    canvas.text(&parameter.name, (LEFT, 0.5 * (top + bottom)), HPos::Left);
    for stripe in 0..STRIPES {
        let [from, to] = [stripe, stripe + 1].map(|k| f64::from(k) / f64::from(STRIPES));
        // Into the next one, so that no seams are seen.
        canvas.rectangle(
            (at(from), top),
            ((at(to) + 0.5).min(right), bottom),
            on_scale(0.5 * (from + to)),
        );
    }
    for (value, label) in marks(parameter, right - left) {
        let x = at(parameter.share(value));
        canvas.path(&[(x, bottom), (x, bottom + 4.0)], INK, 0.9);
        if let Some(label) = label {
            canvas.text(&label, (x, bottom + 13.0), HPos::Center);
        }
    }
}

/// Values in their order, with labels where these do not touch: that of the largest in any case.
fn marks(parameter: &Parameter, width: f64) -> Vec<(f64, Option<String>)> {
    let mut values = parameter.values.clone();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let span = |value: f64| {
        let (middle, half) = (parameter.share(value) * width, 0.5 * text_width(&short(value)));
        (middle - half - 4.0, middle + half + 4.0)
    };
    let last = values.last().map_or((0.0, 0.0), |&last| span(last));
    let mut end = f64::NEG_INFINITY;
    let count = values.len();
    let mark = |(index, value): (usize, f64)| {
        let (from, to) = span(value);
        let fits = index + 1 == count || from >= end && to <= last.0;
        if fits {
            end = to;
        }
        (value, fits.then(|| short(value)))
    };
    values.into_iter().enumerate().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_colour_bar_do_not_touch() {
        let values = vec![1.0, 0.5, 0.501, 0.502, 0.7, 0.7, 0.999];
        let parameter = Parameter { name: "T".into(), values };
        let marks = marks(&parameter, 300.0);
        let labels: Vec<_> = marks.iter().filter_map(|(_, label)| label.as_deref()).collect();
        assert_eq!((marks.len(), labels), (6, vec!["0.5", "0.7", "1"]));
        let one = Parameter { name: "T".into(), values: vec![0.5] };
        assert_eq!(super::marks(&one, 300.0), [(0.5, Some("0.5".into()))]);
    }
}
