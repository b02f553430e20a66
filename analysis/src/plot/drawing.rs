//! Panels on a page, as SVG.
//!
//! plotters' SVG backend takes whole pixels, so everything is drawn on a canvas `FINE` times larger,
//! and the picture's outer size is set back at the end.
use plotters::backend::DrawingBackend;
use plotters::prelude::{IntoFont, RGBColor, SVGBackend, ShapeStyle, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, FontTransform, RGBAColor};

use super::axis::{Axis, Scale, power_of_ten};
use super::panels::{Line, Mark, Panel};

/// Canvas units per pixel.
const FINE: f64 = 8.0;
const PANEL_WIDTH: f64 = 380.0;
const PANEL_HEIGHT: f64 = 270.0;
const TEXT: f64 = 12.0;
const MARGIN_TOP: f64 = 12.0;
/// Space above the frames of a row for notes.
const NOTE: f64 = 14.0;
const MARGIN_RIGHT: f64 = 16.0;
const MARGIN_BOTTOM: f64 = 42.0;
const HEADER: f64 = 30.0;
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

const INK: RGBColor = RGBColor(38, 38, 38);
/// Okabe & Ito, Color Universal Design (2008): told apart by all kinds of colour vision.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// Lengths of dash, gap, dash, ... in pixels; the first is a solid line.
const DASHES: [&[f64]; 4] = [&[], &[6.0, 3.0], &[1.6, 2.4], &[7.0, 2.5, 1.6, 2.5]];

struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

/// The figure: a header naming the files, and the panels in rows.
pub(super) fn figure(panels: &[Panel], files: &[String]) -> String {
    let columns = match panels.len() {
        1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let rows = panels.len().div_ceil(columns);
    let width = columns as f64 * PANEL_WIDTH;
    let header = header_height(files, width);
    let height = rows as f64 * PANEL_HEIGHT + header;
    let mut svg = String::new();
    let size = ((width * FINE) as u32, (height * FINE) as u32);
    let mut canvas = Canvas { backend: SVGBackend::with_string(&mut svg, size) };
    canvas.rectangle((0.0, 0.0), (width, height), &RGBColor(255, 255, 255));
    canvas.header(files, width);
    let has_note = |row: usize| {
        panels.iter().skip(row * columns).take(columns).any(|panel| !panel.moved.is_empty())
    };
    let axes: Vec<(Axis, Axis)> = panels.iter().map(axes_of).collect();
    for (index, panel) in panels.iter().enumerate() {
        let column = index % columns;
        // Frames of a column are aligned.
        let labels = axes.iter().skip(column).step_by(columns).map(|(_, y)| label_width(y));
        let left = column as f64 * PANEL_WIDTH;
        let top = header + (index / columns) as f64 * PANEL_HEIGHT;
        let frame = Frame {
            left: left + 36.0 + labels.fold(0.0, f64::max),
            right: left + PANEL_WIDTH - MARGIN_RIGHT,
            top: top + MARGIN_TOP + if has_note(index / columns) { NOTE } else { 0.0 },
            bottom: top + PANEL_HEIGHT - MARGIN_BOTTOM,
        };
        canvas.panel(panel, &frame, &axes[index], files.len());
        canvas.note(panel, &frame, files);
    }
    // Drawing into a string cannot fail.
    let _ = canvas.backend.present();
    drop(canvas);
    let fine = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    svg.replacen(&fine, &format!("width=\"{width}\" height=\"{height}\""), 1)
}

fn axes_of(panel: &Panel) -> (Axis, Axis) {
    let band = |line: &Line| -> Vec<f64> {
        let ends = line.y.iter().zip(&line.error).flat_map(|(&y, &error)| {
            let error = if error.is_finite() { error } else { 0.0 };
            // A positive quantity that its error takes to zero would ruin a logarithmic axis.
            let low = if panel.y_scale == Scale::Linear { y - error } else { y };
            [low, y, y + error]
        });
        ends.collect()
    };
    let y_values = panel.lines.iter().flat_map(band).chain(panel.y_include.iter().copied());
    let x_values = panel.lines.iter().flat_map(|line| line.x.iter().copied());
    let mut x_values: Vec<f64> = x_values.collect();
    let (low, high) =
        x_values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &x| (low.min(x), high.max(x)));
    // Begin at zero where the data nearly do.
    if panel.x_scale == Scale::Linear && low > 0.0 && low < 0.1 * high {
        x_values.push(0.0);
    }
    // Powers of ten are short.
    let x_ticks = if panel.x_scale == Scale::Linear { 5 } else { 7 };
    // Whole markers are seen.
    let has_points = panel.lines.iter().any(|line| line.mark == Mark::Point);
    let x_margin = if has_points { 0.05 } else { 0.0 };
    (
        Axis::new(panel.x_scale, x_values.into_iter(), x_margin, x_ticks),
        Axis::new(panel.y_scale, y_values, 0.05, 5),
    )
}

/// Width of the widest label of an axis.
fn label_width(axis: &Axis) -> f64 {
    axis.major.iter().map(|(_, label)| text_width(label)).fold(0.0, f64::max)
}

/// Width of a text, roughly.
fn text_width(text: &str) -> f64 {
    0.6 * TEXT * text.chars().count() as f64
}

/// Entries of the header with their positions, row by row.
fn header_places(files: &[String], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (20.0, 18.0);
    files
        .iter()
        .map(|file| {
            let entry = 30.0 + text_width(file) + 22.0;
            if x > 20.0 && x + entry > width {
                (x, y) = (20.0, y + 18.0);
            }
            let place = (x, y);
            x += entry;
            place
        })
        .collect()
}

fn header_height(files: &[String], width: f64) -> f64 {
    HEADER + header_places(files, width).last().map_or(0.0, |(_, y)| y - 18.0)
}

/// Points on a line, a few pixels apart.
fn along(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let segment = |pair: &[(f64, f64)]| {
        let (from, to) = (pair[0], pair[1]);
        let parts = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0) as usize;
        (0..=parts).map(move |k| {
            let f = k as f64 / parts as f64;
            (from.0 + f * (to.0 - from.0), from.1 + f * (to.1 - from.1))
        })
    };
    line.windows(2).flat_map(segment).collect()
}

/// Of this many colours: more than the palette holds are taken in order from a scale of violet, blue, green and orange.
fn colour_of(index: usize, count: usize) -> RGBColor {
    if count <= PALETTE.len() {
        return PALETTE[index % PALETTE.len()];
    }
    const SCALE: [[f64; 3]; 6] = [
        [68.0, 1.0, 84.0],
        [59.0, 82.0, 139.0],
        [33.0, 145.0, 140.0],
        [94.0, 180.0, 60.0],
        [230.0, 159.0, 0.0],
        [200.0, 60.0, 20.0],
    ];
    let place = (index % count) as f64 / (count - 1) as f64 * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let share = place - below as f64;
    let [r, g, b] = std::array::from_fn(|part| {
        let (from, to) = (SCALE[below][part], SCALE[below + 1][part]);
        (from + share * (to - from)).round() as u8
    });
    RGBColor(r, g, b)
}

impl Canvas<'_> {
    fn fine(point: (f64, f64)) -> (i32, i32) {
        ((point.0 * FINE).round() as i32, (point.1 * FINE).round() as i32)
    }

    fn path(&mut self, points: &[(f64, f64)], colour: &RGBColor, width: f64) {
        if points.len() < 2 {
            return;
        }
        let style = ShapeStyle {
            color: colour.to_rgba(),
            filled: false,
            stroke_width: (width * FINE).round() as u32,
        };
        // Drawing into a string cannot fail, here and below.
        let _ = self.backend.draw_path(points.iter().map(|&point| Self::fine(point)), &style);
    }

    /// A line broken into dashes, of lengths measured along it.
    fn dashed(&mut self, points: &[(f64, f64)], colour: &RGBColor, width: f64, dashes: &[f64]) {
        if dashes.is_empty() {
            return self.path(points, colour, width);
        }
        let (mut index, mut left) = (0, dashes[0]);
        let mut dash = points.first().map(|&point| vec![point]).unwrap_or_default();
        for pair in points.windows(2) {
            let (mut from, to) = (pair[0], pair[1]);
            loop {
                let length = (to.0 - from.0).hypot(to.1 - from.1);
                if length < left {
                    left -= length;
                    dash.push(to);
                    break;
                }
                let f = if length > 0.0 { left / length } else { 1.0 };
                from = (from.0 + f * (to.0 - from.0), from.1 + f * (to.1 - from.1));
                dash.push(from);
                if index % 2 == 0 {
                    self.path(&dash, colour, width);
                }
                index = (index + 1) % dashes.len();
                left = dashes[index];
                dash = vec![from];
            }
        }
        if index % 2 == 0 {
            self.path(&dash, colour, width);
        }
    }

    fn polygon(&mut self, points: &[(f64, f64)], colour: RGBAColor) {
        let style = ShapeStyle { color: colour, filled: true, stroke_width: 0 };
        let _ = self.backend.fill_polygon(points.iter().map(|&point| Self::fine(point)), &style);
    }

    /// Circle, square, triangle, diamond: as wide to the eye.
    fn marker(&mut self, (x, y): (f64, f64), shape: usize, colour: RGBColor) {
        let (corners, radius, turn) =
            [(24, 3.4, 0.0), (4, 4.3, 0.125), (3, 4.6, -0.25), (4, 4.4, 0.0)][shape % 4];
        let corner = |k: u32| {
            let angle = std::f64::consts::TAU * (f64::from(k) / f64::from(corners) + turn);
            (x + radius * angle.cos(), y + radius * angle.sin())
        };
        let outline: Vec<_> = (0..corners).map(corner).collect();
        self.polygon(&outline, colour.mix(1.0));
    }

    fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), colour: &RGBColor) {
        let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 0 };
        let _ = self.backend.draw_rect(Self::fine(from), Self::fine(to), &style, true);
    }

    fn text(&mut self, text: &str, at: (f64, f64), h: HPos, v: VPos, vertical: bool) {
        // The backend divides font sizes by 1.24.
        let font = (FontFamily::Name(FONTS), TEXT * FINE * 1.24).into_font();
        let font = if vertical { font.transform(FontTransform::Rotate270) } else { font };
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(h, v));
        let _ = self.backend.draw_text(text, &style, Self::fine(at));
    }

    fn header(&mut self, files: &[String], width: f64) {
        for (index, (file, (x, y))) in files.iter().zip(header_places(files, width)).enumerate() {
            if files.len() == 1 {
                self.text(file, (x, y), HPos::Left, VPos::Center, false);
            } else {
                self.path(&[(x, y), (x + 22.0, y)], &colour_of(index, files.len()), 2.2);
                self.text(file, (x + 28.0, y), HPos::Left, VPos::Center, false);
            }
        }
    }

    fn panel(
        &mut self,
        panel: &Panel,
        frame: &Frame,
        (x_axis, y_axis): &(Axis, Axis),
        files: usize,
    ) {
        let styles = Styles::of(panel, files);
        for line in &panel.lines {
            self.band(line, frame, x_axis, y_axis, styles.colour(line));
        }
        for line in &panel.lines {
            let points: Vec<_> =
                line.x.iter().zip(&line.y).map(|(&x, &y)| frame.at(x_axis, y_axis, x, y)).collect();
            match line.mark {
                Mark::Curve => {
                    self.dashed(&points, &styles.colour(line), 1.6, styles.dashes(line));
                }
                Mark::Fit(dashes) => {
                    self.dashed(&points, &INK, 1.0, DASHES[dashes % DASHES.len()]);
                }
                Mark::Point => {
                    for (k, &at) in points.iter().enumerate() {
                        let end = |sign: f64| {
                            let y = line.y[k] + sign * line.error[k];
                            let shown = if panel.y_scale.shows(y) { y } else { line.y[k] };
                            frame.at(x_axis, y_axis, line.x[k], shown)
                        };
                        self.path(&[end(-1.0), end(1.0)], &styles.colour(line), 1.2);
                        self.marker(at, styles.index(line), styles.colour(line));
                    }
                }
            }
        }
        self.frame(frame, x_axis, y_axis);
        let middle = (0.5 * (frame.left + frame.right), 0.5 * (frame.top + frame.bottom));
        let label = |name: &str, power: i32| match power {
            0 => name.to_owned(),
            power => format!("{name} / {}", power_of_ten(power)),
        };
        let below = (middle.0, frame.bottom + 31.0);
        self.text(&label(&panel.x_label, x_axis.power), below, HPos::Center, VPos::Center, false);
        let beside = (frame.left - label_width(y_axis) - 20.0, middle.1);
        self.text(&label(&panel.y_label, y_axis.power), beside, HPos::Center, VPos::Center, true);
        if styles.entries().any(|part| !part.is_empty()) {
            self.legend(panel, frame, x_axis, y_axis, &styles);
        }
    }

    /// Above the frame, which files contain motion of the centre of mass: by name, or by number where names are long.
    fn note(&mut self, panel: &Panel, frame: &Frame, files: &[String]) {
        const MOTION: &str = "motion of the centre of mass";
        if panel.moved.is_empty() {
            return;
        }
        let mut drawn: Vec<usize> = panel.lines.iter().map(|line| line.file).collect();
        drawn.sort();
        drawn.dedup();
        let names: Vec<&str> =
            panel.moved.iter().filter_map(|&file| Some(files.get(file)?.as_str())).collect();
        let named = format!("{}: {MOTION}", names.join(", "));
        let text = if drawn == panel.moved {
            format!("contains {MOTION}")
        } else if text_width(&named) < PANEL_WIDTH {
            named
        } else {
            format!("{} of {}: {MOTION}", panel.moved.len(), drawn.len())
        };
        let above = (frame.right, frame.top - 0.5 * NOTE);
        self.text(&text, above, HPos::Right, VPos::Center, false);
    }

    fn band(&mut self, line: &Line, frame: &Frame, x_axis: &Axis, y_axis: &Axis, colour: RGBColor) {
        if line.mark != Mark::Curve {
            return;
        }
        let known: Vec<usize> = (0..line.x.len()).filter(|&k| line.error[k].is_finite()).collect();
        // Stretches of neighbors that all have an error.
        for stretch in known.chunk_by(|a, b| *b == a + 1).filter(|stretch| stretch.len() > 1) {
            let edge = |sign: f64| {
                move |&k: &usize| {
                    frame.at(x_axis, y_axis, line.x[k], line.y[k] + sign * line.error[k])
                }
            };
            let mut outline: Vec<_> = stretch.iter().map(edge(1.0)).collect();
            outline.extend(stretch.iter().rev().map(edge(-1.0)));
            self.polygon(&outline, colour.mix(0.22));
        }
    }

    fn frame(&mut self, frame: &Frame, x_axis: &Axis, y_axis: &Axis) {
        let Frame { left, right, top, bottom } = *frame;
        self.path(
            &[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)],
            &INK,
            1.0,
        );
        let x_at = |x: f64| left + x_axis.fraction(x) * (right - left);
        let y_at = |y: f64| bottom - y_axis.fraction(y) * (bottom - top);
        let mut tick = |x: f64, y: f64, length: f64| {
            if x.is_nan() {
                self.path(&[(left, y), (left + length, y)], &INK, 0.9);
                self.path(&[(right, y), (right - length, y)], &INK, 0.9);
            } else {
                self.path(&[(x, bottom), (x, bottom - length)], &INK, 0.9);
                self.path(&[(x, top), (x, top + length)], &INK, 0.9);
            }
        };
        x_axis.minor.iter().for_each(|&x| tick(x_at(x), 0.0, 2.5));
        x_axis.major.iter().for_each(|(x, _)| tick(x_at(*x), 0.0, 5.0));
        y_axis.minor.iter().for_each(|&y| tick(f64::NAN, y_at(y), 2.5));
        y_axis.major.iter().for_each(|(y, _)| tick(f64::NAN, y_at(*y), 5.0));
        for (x, label) in &x_axis.major {
            self.text(label, (x_at(*x), bottom + 12.0), HPos::Center, VPos::Center, false);
        }
        for (y, label) in &y_axis.major {
            self.text(label, (left - 6.0, y_at(*y)), HPos::Right, VPos::Center, false);
        }
    }

    /// Where fewest points are: in a corner, or along an edge or inside if all corners hold some.
    fn legend(
        &mut self,
        panel: &Panel,
        frame: &Frame,
        x_axis: &Axis,
        y_axis: &Axis,
        styles: &Styles,
    ) {
        let widest = styles.entries().map(text_width).fold(0.0, f64::max);
        let (width, height) = (36.0 + widest, 16.0 * styles.entries().count() as f64);
        let (inset_x, inset_y) = (12.0, 10.0);
        let (right, left) = (frame.right - inset_x - width, frame.left + inset_x);
        let (top, bottom) = (frame.top + inset_y, frame.bottom - inset_y - height);
        // The ends first: of equal places the first one is taken.
        let between = |from: f64, to: f64| {
            [0.0, 1.0, 0.25, 0.5, 0.75].map(|share: f64| from + share * (to - from))
        };
        let tops = between(top, bottom);
        let corners = tops.into_iter().flat_map(|top| between(right, left).map(|left| (left, top)));
        let covered = |&(left, top): &(f64, f64)| {
            let inside = |(x, y): (f64, f64)| {
                (left - 6.0..left + width + 6.0).contains(&x)
                    && (top - 6.0..top + height + 6.0).contains(&y)
            };
            let points = panel.lines.iter().flat_map(|line| {
                let places: Vec<_> = line
                    .x
                    .iter()
                    .zip(&line.y)
                    .map(|(&x, &y)| frame.at(x_axis, y_axis, x, y))
                    .collect();
                along(&places)
            });
            points.filter(|&point| inside(point)).count()
        };
        let Some((left, top)) = corners.min_by_key(covered) else { return };
        let points = panel.lines.iter().any(|line| line.mark == Mark::Point);
        for (index, part) in styles.entries().enumerate() {
            let y = top + 16.0 * (index as f64 + 0.5);
            let line = [(left, y), (left + 26.0, y)];
            let fit = index.checked_sub(styles.parts.len()).map(|fit| styles.fits[fit].1);
            match fit {
                Some(dashes) => self.dashed(&line, &INK, 1.0, DASHES[dashes % DASHES.len()]),
                None if points => self.marker((left + 13.0, y), index, INK),
                None => {
                    let (colour, dashes) = styles.of_part(index);
                    self.dashed(&line, &colour, 1.8, dashes);
                }
            }
            self.text(part, (left + 32.0, y), HPos::Left, VPos::Center, false);
        }
    }
}

/// Inner rectangle of a panel.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// Place of a point, moved to the frame's edge if it lies outside.
    fn at(&self, x_axis: &Axis, y_axis: &Axis, x: f64, y: f64) -> (f64, f64) {
        let inside = |fraction: f64| if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        (
            self.left + inside(x_axis.fraction(x)) * (self.right - self.left),
            self.bottom - inside(y_axis.fraction(y)) * (self.bottom - self.top),
        )
    }
}

/// How the lines of a panel differ.
struct Styles {
    /// Species or pairs, in the order of the legend.
    parts: Vec<String>,
    /// Names of fits and their dashes, after the parts in the legend.
    fits: Vec<(String, usize)>,
    /// Files of the figure.
    files: usize,
}

impl Styles {
    fn of(panel: &Panel, files: usize) -> Self {
        let (mut parts, mut fits) = (Vec::new(), Vec::new());
        for line in &panel.lines {
            match line.mark {
                Mark::Fit(dashes) => fits.push((line.part.clone(), dashes)),
                Mark::Curve | Mark::Point => parts.push(line.part.clone()),
            }
        }
        parts.sort();
        parts.dedup();
        fits.sort();
        fits.dedup();
        Styles { parts, fits, files }
    }

    /// Of the legend.
    fn entries(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(String::as_str).chain(self.fits.iter().map(|(name, _)| name.as_str()))
    }

    fn index(&self, line: &Line) -> usize {
        self.parts.iter().position(|part| *part == line.part).unwrap_or(0)
    }

    fn colour(&self, line: &Line) -> RGBColor {
        if self.files > 1 {
            colour_of(line.file, self.files)
        } else {
            colour_of(self.index(line), self.parts.len())
        }
    }

    fn dashes(&self, line: &Line) -> &'static [f64] {
        self.of_part(self.index(line)).1
    }

    /// Colour and dashes of an entry of the panel's legend.
    fn of_part(&self, index: usize) -> (RGBColor, &'static [f64]) {
        if self.files > 1 {
            (INK, DASHES[index % DASHES.len()])
        } else {
            (colour_of(index, self.parts.len()), DASHES[0])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_has_a_colour_of_its_own() {
        for count in [1, 7, 8, 12, 30] {
            let colours: BTreeSet<_> = (0..count)
                .map(|index| {
                    let RGBColor(r, g, b) = colour_of(index, count);
                    [r, g, b]
                })
                .collect();
            assert_eq!(colours.len(), count);
        }
        assert_eq!(colour_of(0, 3), PALETTE[0]);
    }
}
