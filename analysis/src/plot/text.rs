//! Small plots for terminals: each character holds 2 x 4 dots (Braille patterns).

/// How a plot's axes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// Logarithmic over x.
    pub log_x: bool,
    /// Logarithmic over y.
    pub log_y: bool,
}

/// Lines of a plot of joined points `(x, y)`, `width` by `height` characters and a line for the title and the range of `x`;
/// at the left the range of `y`. Points that are NaN, or none of a logarithmic axis, are left out; without any,
/// an empty frame. With `include`, these values of `y` are shown in any case.
pub fn text_plot(
    title: &str,
    points: &[(f64, f64)],
    axes: Axes,
    include: &[f64],
    (width, height): (usize, usize),
) -> Vec<String> {
    let shown = |value: f64, logarithmic: bool| if logarithmic { value.log10() } else { value };
    let points: Vec<(f64, f64)> = points
        .iter()
        .map(|&(x, y)| (shown(x, axes.log_x), shown(y, axes.log_y)))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let (left, right) = range(&mut points.iter().map(|&(x, _)| x));
    let include = include.iter().map(|&y| shown(y, axes.log_y)).filter(|y| y.is_finite());
    let (bottom, top) = range(&mut points.iter().map(|&(_, y)| y).chain(include));
    let (columns, rows) = (2 * width, 4 * height);
    let mut dots = vec![0_u8; width * height];
    let place = |value: f64, low: f64, high: f64, count: usize| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        share * (count - 1) as f64
    };
    let mut dot = |column: f64, row: f64| {
        let (column, row) = (column.round() as usize, rows - 1 - row.round() as usize);
        dots[row / 4 * width + column / 2] |= BITS[row % 4][column % 2];
    };
    let places: Vec<(f64, f64)> = points
        .iter()
        .map(|&(x, y)| (place(x, left, right, columns), place(y, bottom, top, rows)))
        .collect();
    // Neighbors are joined.
    for (index, &(x, y)) in places.iter().enumerate() {
        let (next_x, next_y) = places.get(index + 1).copied().unwrap_or((x, y));
        let parts = (next_x - x).abs().max((next_y - y).abs()).ceil().max(1.0) as usize;
        for part in 0..=parts {
            let share = part as f64 / parts as f64;
            dot(x + share * (next_x - x), y + share * (next_y - y));
        }
    }
    let number = |value: f64, logarithmic: bool| match (points.is_empty(), logarithmic) {
        (true, _) => String::new(),
        (_, true) => short(10_f64.powf(value)),
        (_, false) => short(value),
    };
    let mut lines = vec![format!("{:>8} {title}", "")];
    for row in 0..height {
        let label = match row {
            0 => number(top, axes.log_y),
            row if row == height - 1 => number(bottom, axes.log_y),
            _ => String::new(),
        };
        let cells: String = dots[row * width..(row + 1) * width]
            .iter()
            .map(|&dots| char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '))
            .collect();
        lines.push(format!("{label:>8}\u{2502}{cells}"));
    }
    let (left, right) = (number(left, axes.log_x), number(right, axes.log_x));
    let gap = width.saturating_sub(left.len());
    lines.push(format!("{:>8} {left}{right:>gap$}", ""));
    lines
}

/// Bits of the dots of a Braille pattern, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-2..1e4 => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_a_straight_line_on_logarithmic_axes() {
        let points: Vec<(f64, f64)> =
            (0..=40).map(|k| 10_f64.powf(f64::from(k) / 10.0)).map(|x| (x, x * x)).collect();
        let axes = Axes { log_x: true, log_y: true };
        let lines = text_plot("x squared", &points, axes, &[], (4, 2));
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("x squared"));
        // Eight dots on the diagonal of 8 x 8.
        assert_eq!(lines[1], format!("{:>8}\u{2502}\u{2800}\u{2800}\u{2860}\u{280a}", "1.0e8"));
        assert_eq!(lines[2], format!("{:>8}\u{2502}\u{2860}\u{280a}\u{2800}\u{2800}", "1"));
        assert!(lines[3].contains('1') && lines[3].ends_with("1.0e4"), "{lines:?}");
    }

    #[test]
    fn what_cannot_be_shown_is_left_out() {
        let points = [(0.0, 1.0), (1.0, f64::NAN), (1.0, -1.0), (-1.0, 1.0)];
        let axes = Axes { log_x: true, log_y: true };
        let lines = text_plot("none", &points, axes, &[], (3, 2));
        assert!(lines[1].ends_with("\u{2502}\u{2800}\u{2800}\u{2800}"), "{lines:?}");
        let one = text_plot("one", &[(2.0, 3.0)], Axes::default(), &[0.0, 6.0], (1, 1));
        assert!(one[1].contains('6'), "{one:?}");
    }
}
