//! Lines, polygons and text of an SVG image.
//!
//! plotters' SVG backend takes whole pixels, so everything is drawn on a canvas `FINE` times larger,
//! and the picture's outer size is set back at the end.
use plotters::backend::DrawingBackend;
use plotters::prelude::{IntoFont, RGBColor, SVGBackend, ShapeStyle, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, FontTransform, RGBAColor};

/// Canvas units per pixel.
const FINE: f64 = 8.0;
/// Height of the letters' line.
pub(super) const TEXT: f64 = 12.0;
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
/// Of text, frames and fits.
pub(super) const INK: RGBColor = RGBColor(38, 38, 38);
/// Lengths of dash, gap, dash, ... in pixels; the first is a solid line.
pub(super) const DASHES: [&[f64]; 4] = [&[], &[6.0, 3.0], &[1.6, 2.4], &[7.0, 2.5, 1.6, 2.5]];
/// Corners, radius and turn (in circles) of the markers: as wide to the eye.
const MARKERS: [(u32, f64, f64); 6] = [
    (24, 3.4, 0.0),
    (4, 4.3, 0.125),
    (3, 4.6, -0.25),
    (4, 4.4, 0.0),
    (3, 4.6, 0.25),
    (5, 4.2, -0.25),
];

/// A place in pixels from the upper left corner.
pub(super) type Place = (f64, f64);

pub(super) struct Canvas<'a> {
    backend: SVGBackend<'a>,
}

/// An image of this size in pixels, white where nothing is drawn.
pub(super) fn image((width, height): (f64, f64), draw: impl FnOnce(&mut Canvas)) -> String {
    let mut svg = String::new();
    let size = ((width * FINE).round() as u32, (height * FINE).round() as u32);
    let mut canvas = Canvas { backend: SVGBackend::with_string(&mut svg, size) };
    canvas.rectangle((0.0, 0.0), (width, height), RGBColor(255, 255, 255));
    draw(&mut canvas);
    // Drawing into a string cannot fail, here and below.
    let _ = canvas.backend.present();
    drop(canvas);
    let fine = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    svg.replacen(&fine, &format!("width=\"{width}\" height=\"{height}\""), 1)
}

/// Width of a text, roughly.
pub(super) fn text_width(text: &str) -> f64 {
    0.6 * TEXT * text.chars().count() as f64
}

impl Canvas<'_> {
    fn fine(point: Place) -> (i32, i32) {
        ((point.0 * FINE).round() as i32, (point.1 * FINE).round() as i32)
    }

    pub fn path(&mut self, points: &[Place], colour: RGBColor, width: f64) {
        if points.len() < 2 {
            return;
        }
        let style = ShapeStyle {
            color: colour.to_rgba(),
            filled: false,
            stroke_width: (width * FINE).round() as u32,
        };
        let _ = self.backend.draw_path(points.iter().map(|&point| Self::fine(point)), &style);
    }

    /// A line broken into dashes, of lengths measured along it.
    pub fn dashed(&mut self, points: &[Place], colour: RGBColor, width: f64, dashes: &[f64]) {
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

    pub fn polygon(&mut self, points: &[Place], colour: RGBAColor) {
        let style = ShapeStyle { color: colour, filled: true, stroke_width: 0 };
        let _ = self.backend.fill_polygon(points.iter().map(|&point| Self::fine(point)), &style);
    }

    /// Circle, square, triangle, diamond, triangle upside down, pentagon.
    pub fn marker(&mut self, (x, y): Place, shape: usize, colour: RGBColor) {
        let (corners, radius, turn) = MARKERS[shape % MARKERS.len()];
        let corner = |k: u32| {
            let angle = std::f64::consts::TAU * (f64::from(k) / f64::from(corners) + turn);
            (x + radius * angle.cos(), y + radius * angle.sin())
        };
        let outline: Vec<_> = (0..corners).map(corner).collect();
        self.polygon(&outline, colour.mix(1.0));
    }

    /// With a dark edge.
    pub fn disc(&mut self, place: Place, radius: f64, colour: RGBColor) {
        let radius = (radius * FINE).round() as u32;
        let style = |colour: RGBColor, filled| ShapeStyle {
            color: colour.to_rgba(),
            filled,
            stroke_width: (0.6 * FINE) as u32,
        };
        let _ = self.backend.draw_circle(Self::fine(place), radius, &style(colour, true), true);
        let _ = self.backend.draw_circle(Self::fine(place), radius, &style(INK, false), false);
    }

    pub fn rectangle(&mut self, from: Place, to: Place, colour: RGBColor) {
        let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 0 };
        let _ = self.backend.draw_rect(Self::fine(from), Self::fine(to), &style, true);
    }

    pub fn text(&mut self, text: &str, at: Place, h: HPos) {
        self.draw_text(text, at, h, FontTransform::None);
    }

    /// From below upwards, around its middle.
    pub fn vertical_text(&mut self, text: &str, at: Place) {
        self.draw_text(text, at, HPos::Center, FontTransform::Rotate270);
    }

    fn draw_text(&mut self, text: &str, at: Place, h: HPos, transform: FontTransform) {
        // The backend divides font sizes by 1.24.
        let font = (FontFamily::Name(FONTS), TEXT * FINE * 1.24).into_font().transform(transform);
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(h, VPos::Center));
        let _ = self.backend.draw_text(text, &style, Self::fine(at));
    }
}
