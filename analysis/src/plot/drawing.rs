//! Panels on a page.
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

use super::axis::{Axis, Scale, power_of_ten};
use super::canvas::{Canvas, DASHES, INK, Place, image, text_width};
use super::colours::Sets;
use super::frame::Frame;
use super::header;
use super::legend::{Stands, Styles, along};
use super::options::FigureOptions;
use super::panels::{Line, Mark, Panel};

const PANEL_WIDTH: f64 = 380.0;
const PANEL_HEIGHT: f64 = 270.0;
const MARGIN_TOP: f64 = 12.0;
/// Space above the frames of a row for notes.
const NOTE: f64 = 14.0;
const MARGIN_RIGHT: f64 = 16.0;
const MARGIN_BOTTOM: f64 = 42.0;
/// Beside the labels of the vertical axis.
const MARGIN_LEFT: f64 = 36.0;
/// Smaller frames have no room for their labels.
const SMALLEST: f64 = 60.0;
/// Markers of one curve are at least this far apart.
const BETWEEN_MARKERS: f64 = 10.0;

/// The figure as SVG: a header naming what is overlaid, and the panels in rows.
///
/// # Errors
/// If the size that was asked for is too small, or a range is not of its axis.
pub(super) fn figure(
    panels: &[Panel],
    sets: &Sets,
    options: &FigureOptions,
) -> Result<String, String> {
    let columns = match panels.len() {
        1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let rows = panels.len().div_ceil(columns);
    let whole = options.size_in_pixels();
    let width = whole.map_or(columns as f64 * PANEL_WIDTH, |(width, _)| width);
    let header = header::height(sets, width);
    let height = whole.map_or(rows as f64 * PANEL_HEIGHT + header, |(_, height)| height);
    let cell = (width / columns as f64, (height - header) / rows as f64);
    let axes: Vec<(Axis, Axis)> =
        panels.iter().map(|panel| axes_of(panel, options)).collect::<Result<_, _>>()?;
    let note_of = |row: usize| {
        let mut of_row = panels.iter().skip(row * columns).take(columns);
        if of_row.any(|panel| !panel.moved.is_empty()) { NOTE } else { 0.0 }
    };
    let frame_of = |index: usize| {
        let (column, row) = (index % columns, index / columns);
        // Frames of a column are aligned.
        let labels = axes.iter().skip(column).step_by(columns).map(|(_, y)| label_width(y));
        let (left, top) = (column as f64 * cell.0, header + row as f64 * cell.1);
        Frame {
            left: left + MARGIN_LEFT + labels.fold(0.0, f64::max),
            right: left + cell.0 - MARGIN_RIGHT,
            top: top + MARGIN_TOP + note_of(row),
            bottom: top + cell.1 - MARGIN_BOTTOM,
        }
    };
    let frames: Vec<Frame> = (0..panels.len()).map(frame_of).collect();
    let is_small =
        |frame: &Frame| frame.right - frame.left < SMALLEST || frame.bottom - frame.top < SMALLEST;
    if frames.iter().any(is_small) {
        return Err(format!(
            "too small for {} panel{} with {} labels: draw fewer quantities, or a larger figure",
            panels.len(),
            if panels.len() == 1 { "" } else { "s" },
            sets.len(),
        ));
    }
    Ok(image((width, height), |canvas| {
        header::draw(canvas, sets, width, options.markers);
        for ((panel, frame), axes) in panels.iter().zip(frames).zip(&axes) {
            let styles = Styles::of(panel, sets, options.markers);
            Drawing { canvas, panel, frame, axes, styles, options }.draw(sets);
        }
    }))
}

fn axes_of(panel: &Panel, options: &FigureOptions) -> Result<(Axis, Axis), String> {
    let lines = || panel.lines.iter();
    let mut x_values: Vec<f64> = lines().flat_map(|line| line.x.iter().copied()).collect();
    let (low, high) =
        x_values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &x| (low.min(x), high.max(x)));
    // Begin at zero where the data nearly do.
    let is_linear = panel.x_scale == Scale::Linear;
    if is_linear && low > 0.0 && low < 0.1 * high {
        x_values.push(0.0);
    }
    // Powers of ten are short.
    let x_ticks = if is_linear { 5 } else { 7 };
    // Whole markers are seen.
    let has_points = options.markers || lines().any(|line| line.mark == Mark::Point);
    let x_axis = match options.x.range {
        Some(range) => Axis::between(panel.x_scale, range, x_ticks)?,
        None => {
            let margin = if has_points { 0.05 } else { 0.0 };
            Axis::new(panel.x_scale, x_values.into_iter(), margin, x_ticks)
        }
    };
    let y_axis = match options.y.range {
        Some(range) => Axis::between(panel.y_scale, range, 5)?,
        None => {
            let shown = lines().flat_map(|line| ends_of_errors(line, panel, &x_axis));
            let values = shown.chain(panel.y_include.iter().copied());
            Axis::new(panel.y_scale, values, 0.05, 5)
        }
    };
    Ok((x_axis, y_axis))
}

/// What the vertical axis has to show of a line.
fn ends_of_errors(line: &Line, panel: &Panel, x_axis: &Axis) -> Vec<f64> {
    let points = line.x.iter().zip(&line.y).zip(&line.error);
    // Rounding must not lose the ends.
    let shown = points.filter(|((x, _), _)| (-1e-9..=1.0 + 1e-9).contains(&x_axis.fraction(**x)));
    let ends = |((_, &y), &error): ((&f64, &f64), &f64)| {
        let error = if error.is_finite() { error } else { 0.0 };
        // A positive quantity that its error takes to zero would ruin a logarithmic axis.
        let low = if panel.y_scale == Scale::Linear { y - error } else { y };
        [low, y, y + error]
    };
    shown.flat_map(ends).collect()
}

/// Width of the widest label of an axis.
fn label_width(axis: &Axis) -> f64 {
    axis.major.iter().map(|(_, label)| text_width(label)).fold(0.0, f64::max)
}

/// A panel that is being drawn.
struct Drawing<'a, 'b> {
    canvas: &'a mut Canvas<'b>,
    panel: &'a Panel,
    frame: Frame,
    axes: &'a (Axis, Axis),
    styles: Styles<'a>,
    options: &'a FigureOptions,
}

impl Drawing<'_, '_> {
    fn draw(&mut self, sets: &Sets) {
        let stands = self.legend_stands();
        let outer = self.frame;
        if stands == Some(Stands::Above) {
            // A legend higher than the panel would leave nothing of it.
            let height = self.styles.height_above(outer.right - outer.left);
            self.frame.top += height.min(0.5 * (outer.bottom - outer.top));
        }
        for line in &self.panel.lines {
            self.band(line);
        }
        for line in &self.panel.lines {
            self.line(line);
        }
        self.frame_with_ticks();
        self.labels();
        match stands {
            Some(Stands::Inside(corner)) => self.styles.draw(self.canvas, corner, None),
            Some(Stands::Above) => {
                let width = outer.right - outer.left;
                self.styles.draw(self.canvas, (outer.left, outer.top - 4.0), Some(width));
            }
            None => {}
        }
        self.note(&outer, &sets.names);
    }

    /// Place of a point of a line, moved by this number of errors.
    fn at(&self, line: &Line, point: usize, errors: f64) -> Place {
        let y = line.y[point] + if errors == 0.0 { 0.0 } else { errors * line.error[point] };
        self.frame.at(&self.axes.0, &self.axes.1, line.x[point], y)
    }

    fn places(&self, line: &Line) -> Vec<Place> {
        (0..line.x.len()).map(|point| self.at(line, point, 0.0)).collect()
    }

    /// `None` where there is nothing to name.
    fn legend_stands(&self) -> Option<Stands> {
        if self.styles.entries().is_empty() {
            return None;
        }
        let (mut curves, mut bands) = (Vec::new(), Vec::new());
        for line in &self.panel.lines {
            let places = self.places(line);
            curves.extend(self.frame.parts_of_line(&places).iter().flat_map(|part| along(part)));
            curves.extend(places.into_iter().filter(|&place| self.frame.contains(place)));
            for point in (0..line.x.len()).filter(|&point| line.error[point].is_finite()) {
                let ends = [self.at(line, point, -1.0), self.at(line, point, 1.0)];
                let bar = self.frame.parts_of_line(&ends).concat();
                match line.mark {
                    Mark::Point => curves.extend(along(&bar)),
                    _ => bands.extend(along(&bar)),
                }
            }
        }
        Some(self.styles.stand(&self.frame, &curves, &bands))
    }

    fn line(&mut self, line: &Line) {
        let (colour, places) = (self.styles.colour(line), self.places(line));
        let parts = self.frame.parts_of_line(&places);
        match line.mark {
            Mark::Curve => {
                for part in parts {
                    self.canvas.dashed(&part, colour, 1.6, self.styles.dashes(line));
                }
                if self.options.markers {
                    self.markers(line, &places);
                }
            }
            Mark::Fit(dashes) => {
                for part in parts {
                    self.canvas.dashed(&part, INK, 1.0, DASHES[dashes % DASHES.len()]);
                }
            }
            Mark::Point => {
                for (point, &place) in places.iter().enumerate() {
                    if line.error[point].is_finite() {
                        let end = |errors: f64| {
                            let y = line.y[point] + errors * line.error[point];
                            let is_shown = self.panel.y_scale.shows(y);
                            self.at(line, point, if is_shown { errors } else { 0.0 })
                        };
                        for part in self.frame.parts_of_line(&[end(-1.0), end(1.0)]) {
                            self.canvas.path(&part, colour, 1.2);
                        }
                    }
                    if self.frame.contains(place) {
                        self.canvas.marker(place, self.styles.shape(line), colour);
                    }
                }
            }
        }
    }

    /// At points of a curve that are not too near to each other.
    fn markers(&mut self, line: &Line, places: &[Place]) {
        let mut last: Option<Place> = None;
        for &place in places.iter().filter(|&&place| self.frame.contains(place)) {
            let is_far = last
                .is_none_or(|last| (place.0 - last.0).hypot(place.1 - last.1) >= BETWEEN_MARKERS);
            if is_far {
                self.canvas.marker(place, self.styles.shape(line), self.styles.colour(line));
                last = Some(place);
            }
        }
    }

    fn band(&mut self, line: &Line) {
        if line.mark != Mark::Curve {
            return;
        }
        let known: Vec<usize> = (0..line.x.len()).filter(|&k| line.error[k].is_finite()).collect();
        // Stretches of neighbors that all have an error.
        for stretch in known.chunk_by(|a, b| *b == a + 1).filter(|stretch| stretch.len() > 1) {
            let mut outline: Vec<_> = stretch.iter().map(|&k| self.at(line, k, 1.0)).collect();
            outline.extend(stretch.iter().rev().map(|&k| self.at(line, k, -1.0)));
            let inside = self.frame.part_of_polygon(outline);
            if inside.len() > 2 {
                self.canvas.polygon(&inside, self.styles.colour(line).mix(0.22));
            }
        }
    }

    fn frame_with_ticks(&mut self) {
        let Frame { left, right, top, bottom } = self.frame;
        let (x_axis, y_axis) = self.axes;
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.canvas.path(&corners, INK, 1.0);
        let x_at = |x: f64| left + x_axis.fraction(x) * (right - left);
        let y_at = |y: f64| bottom - y_axis.fraction(y) * (bottom - top);
        let mut tick = |x: f64, y: f64, length: f64| {
            if x.is_nan() {
                self.canvas.path(&[(left, y), (left + length, y)], INK, 0.9);
                self.canvas.path(&[(right, y), (right - length, y)], INK, 0.9);
            } else {
                self.canvas.path(&[(x, bottom), (x, bottom - length)], INK, 0.9);
                self.canvas.path(&[(x, top), (x, top + length)], INK, 0.9);
            }
        };
        x_axis.minor.iter().for_each(|&x| tick(x_at(x), 0.0, 2.5));
        x_axis.major.iter().for_each(|(x, _)| tick(x_at(*x), 0.0, 5.0));
        y_axis.minor.iter().for_each(|&y| tick(f64::NAN, y_at(y), 2.5));
        y_axis.major.iter().for_each(|(y, _)| tick(f64::NAN, y_at(*y), 5.0));
        for (x, label) in &x_axis.major {
            self.canvas.text(label, (x_at(*x), bottom + 12.0), HPos::Center);
        }
        for (y, label) in &y_axis.major {
            self.canvas.text(label, (left - 6.0, y_at(*y)), HPos::Right);
        }
    }

    fn labels(&mut self) {
        let Frame { left, right, top, bottom } = self.frame;
        let (x_axis, y_axis) = self.axes;
        let label = |name: &str, power: i32| match power {
            0 => name.to_owned(),
            power => format!("{name} / {}", power_of_ten(power)),
        };
        let below = (0.5 * (left + right), bottom + 31.0);
        self.canvas.text(&label(&self.panel.x_label, x_axis.power), below, HPos::Center);
        let beside = (left - label_width(y_axis) - 20.0, 0.5 * (top + bottom));
        self.canvas.vertical_text(&label(&self.panel.y_label, y_axis.power), beside);
    }

    /// Above the frame, which sets contain motion of the centre of mass: by name, or by number where names are long.
    fn note(&mut self, outer: &Frame, names: &[String]) {
        const MOTION: &str = "motion of the centre of mass";
        let panel = self.panel;
        if panel.moved.is_empty() {
            return;
        }
        let mut drawn: Vec<usize> = panel.lines.iter().map(|line| line.file).collect();
        drawn.sort();
        drawn.dedup();
        let moved: Vec<&str> =
            panel.moved.iter().filter_map(|&set| Some(names.get(set)?.as_str())).collect();
        let named = format!("{}: {MOTION}", moved.join(", "));
        let text = if drawn == panel.moved {
            format!("contains {MOTION}")
        } else if text_width(&named) < outer.right - outer.left {
            named
        } else {
            format!("{} of {}: {MOTION}", panel.moved.len(), drawn.len())
        };
        self.canvas.text(&text, (outer.right, outer.top - 0.5 * NOTE), HPos::Right);
    }
}
