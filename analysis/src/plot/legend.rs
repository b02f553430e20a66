//! Which lines of a panel belong to what, and where that is written.
use plotters::prelude::RGBColor;
use plotters::style::text_anchor::HPos;

use super::aging::in_order;
use super::canvas::{Canvas, DASHES, INK, Place, text_width};
use super::colours::{Sets, colour_of};
use super::frame::Frame;
use super::panels::{Line, Mark, Panel};

/// Of an entry.
pub(super) const ROW: f64 = 16.0;
/// Line and space before the name of an entry.
const SAMPLE: f64 = 32.0;
/// Between the legend and curves.
const CLEAR: f64 = 6.0;

/// How the lines of a panel differ.
pub(super) struct Styles<'a> {
    /// Species or pairs, in the order of the legend.
    parts: Vec<String>,
    /// Names of fits and their dashes, after the parts in the legend.
    fits: Vec<(String, usize)>,
    sets: &'a Sets,
    /// Whether parts have markers, or only dashes.
    markers: bool,
}

/// Where the legend of a panel stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stands {
    /// Its upper left corner.
    Inside(Place),
    /// In rows above the frame, as no place inside is free.
    Above,
}

impl<'a> Styles<'a> {
    pub fn of(panel: &Panel, sets: &'a Sets, markers: bool) -> Self {
        let (mut parts, mut fits) = (Vec::new(), Vec::new());
        let mut has_points = false;
        for line in &panel.lines {
            has_points |= line.mark == Mark::Point;
            match line.mark {
                Mark::Fit(dashes) => fits.push((line.part.clone(), dashes)),
                Mark::Curve | Mark::Point => parts.push(line.part.clone()),
            }
        }
        parts.sort_by(|a, b| in_order(a, b));
        parts.dedup();
        fits.sort();
        fits.dedup();
        let markers = has_points || markers && !(sets.len() > 1 && sets.parameter.is_none());
        Styles { parts, fits, sets, markers }
    }

    /// Of the legend; none where a single nameless part would be all.
    pub fn entries(&self) -> Vec<&str> {
        let fits = self.fits.iter().map(|(name, _)| name.as_str());
        let all: Vec<&str> = self.parts.iter().map(String::as_str).chain(fits).collect();
        if all.iter().all(|name| name.is_empty()) { Vec::new() } else { all }
    }

    fn index(&self, line: &Line) -> usize {
        self.parts.iter().position(|part| *part == line.part).unwrap_or(0)
    }

    pub fn colour(&self, line: &Line) -> RGBColor {
        if self.sets.len() > 1 {
            self.sets.colour(line.file)
        } else {
            colour_of(self.index(line), self.parts.len())
        }
    }

    pub fn dashes(&self, line: &Line) -> &'static [f64] {
        self.of_part(self.index(line)).1
    }

    /// Shape of the markers of a line: as the head of the figure shows them, or the legend.
    pub fn shape(&self, line: &Line) -> usize {
        if self.markers { self.index(line) } else { line.file }
    }

    /// Colour and dashes of an entry of the panel's legend.
    fn of_part(&self, index: usize) -> (RGBColor, &'static [f64]) {
        if self.sets.len() > 1 {
            (INK, DASHES[index % DASHES.len()])
        } else {
            (colour_of(index, self.parts.len()), DASHES[0])
        }
    }

    /// Width and height of the legend within the frame.
    fn size(&self) -> (f64, f64) {
        let entries = self.entries();
        let widest = entries.iter().map(|name| text_width(name)).fold(0.0, f64::max);
        (SAMPLE + 4.0 + widest, ROW * entries.len() as f64)
    }

    /// Places of the entries from the upper left corner of the legend; in rows of this width, if one is given.
    fn places(&self, width: Option<f64>) -> Vec<Place> {
        let Some(width) = width else {
            return (0..self.entries().len()).map(|row| (0.0, ROW * row as f64)).collect();
        };
        let (mut x, mut y) = (0.0, 0.0);
        let place = |name: &&str| {
            let entry = SAMPLE + text_width(name) + 14.0;
            if x > 0.0 && x + entry > width {
                (x, y) = (0.0, y + ROW);
            }
            let place = (x, y);
            x += entry;
            place
        };
        self.entries().iter().map(place).collect()
    }

    /// Height of the legend in rows of this width.
    pub fn height_above(&self, width: f64) -> f64 {
        self.places(Some(width)).last().map_or(0.0, |(_, y)| y + ROW)
    }

    /// Inside the frame where no curve is; of these places one with few `bands`, corners first.
    pub fn stand(&self, frame: &Frame, curves: &[Place], bands: &[Place]) -> Stands {
        let (width, height) = self.size();
        let (inset_x, inset_y) = (12.0, 10.0);
        let (right, left) = (frame.right - inset_x - width, frame.left + inset_x);
        let (top, bottom) = (frame.top + inset_y, frame.bottom - inset_y - height);
        if right < left || bottom < top {
            return Stands::Above;
        }
        // The ends first: of equal places the first one is taken.
        let shares =
            [0.0, 8.0, 4.0, 2.0, 6.0, 1.0, 7.0, 3.0, 5.0].map(|eighths: f64| eighths / 8.0);
        let between = |from: f64, to: f64| shares.map(|share| from + share * (to - from));
        let corners =
            between(top, bottom).into_iter().flat_map(|top| between(right, left).map(|x| (x, top)));
        let covered = |points: &[Place], (left, top): Place| {
            let inside = |&&(x, y): &&Place| {
                (left - CLEAR..=left + width + CLEAR).contains(&x)
                    && (top - CLEAR..=top + height + CLEAR).contains(&y)
            };
            points.iter().filter(inside).count()
        };
        let free = corners.filter(|&corner| covered(curves, corner) == 0);
        match free.min_by_key(|&corner| covered(bands, corner)) {
            Some(corner) => Stands::Inside(corner),
            None => Stands::Above,
        }
    }

    /// Samples of the lines with their names; `width` is that of rows above the frame.
    pub fn draw(&self, canvas: &mut Canvas, (left, top): Place, width: Option<f64>) {
        let places = self.places(width);
        for (index, (name, (x, y))) in self.entries().into_iter().zip(places).enumerate() {
            let (x, y) = (left + x, top + y + 0.5 * ROW);
            let line = [(x, y), (x + 26.0, y)];
            let fit = index.checked_sub(self.parts.len()).map(|fit| self.fits[fit].1);
            let (colour, dashes) = self.of_part(index);
            match fit {
                Some(dashes) => canvas.dashed(&line, INK, 1.0, DASHES[dashes % DASHES.len()]),
                None if self.markers => canvas.marker((x + 13.0, y), index, colour),
                None => canvas.dashed(&line, colour, 1.8, dashes),
            }
            canvas.text(name, (x + SAMPLE, y), HPos::Left);
        }
    }
}

/// Points on a line, a few pixels apart: nearer than a legend is high.
pub(super) fn along(line: &[Place]) -> Vec<Place> {
    let segment = |pair: &[Place]| {
        let (from, to) = (pair[0], pair[1]);
        let parts = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0) as usize;
        (0..=parts).map(move |k| {
            let f = k as f64 / parts as f64;
            (from.0 + f * (to.0 - from.0), from.1 + f * (to.1 - from.1))
        })
    };
    line.windows(2).flat_map(segment).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::axis::Scale;
    use super::*;

    const FRAME: Frame = Frame { left: 60.0, right: 370.0, top: 40.0, bottom: 260.0 };

    fn panel(parts: &[&str]) -> Panel {
        let line = |part: &&str| Line {
            file: 0,
            part: part.to_string(),
            x: vec![0.0, 1.0],
            y: vec![0.0, 1.0],
            error: vec![f64::NAN; 2],
            mark: Mark::Curve,
        };
        Panel {
            x_label: "t".into(),
            y_label: "y".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            y_include: Vec::new(),
            parameter: None,
            moved: Vec::new(),
            lines: parts.iter().map(line).collect(),
        }
    }

    fn stands(parts: &[&str], curves: &[Place]) -> (Stands, (f64, f64)) {
        let sets = Sets::named(vec!["one".into()]);
        let styles = Styles::of(&panel(parts), &sets, false);
        (styles.stand(&FRAME, curves, &[]), styles.size())
    }

    #[test]
    fn a_free_corner_is_taken_and_without_a_free_place_the_legend_stands_above() {
        let rising = along(&[(60.0, 260.0), (370.0, 40.0)]);
        assert_eq!(stands(&["A", "B"], &rising).0, Stands::Inside((72.0, 50.0)));
        let wild: Vec<Place> = (0..40)
            .map(|k| (60.0 + 8.0 * f64::from(k), if k % 2 == 0 { 40.0 } else { 260.0 }))
            .collect();
        assert_eq!(stands(&["A", "B"], &along(&wild)).0, Stands::Above);
        let long = "a name that is wider than the whole frame of the panel is";
        assert_eq!(stands(&[long], &[]).0, Stands::Above);
    }

    #[test]
    fn entries_above_a_frame_lie_beside_each_other_in_rows() {
        let sets = Sets::named(vec!["one".into()]);
        let panel = panel(&["A", "B", "AB", "BB"]);
        let styles = Styles::of(&panel, &sets, false);
        assert_eq!(styles.height_above(1000.0), ROW);
        assert_eq!(styles.height_above(130.0), 2.0 * ROW);
        assert_eq!(styles.height_above(10.0), 4.0 * ROW);
    }

    proptest! {
        #[test]
        fn no_curve_runs_under_the_legend(
            corners in proptest::collection::vec((60.0..370.0, 40.0..260.0), 2..12),
            count in 1..6_usize,
        ) {
            let curves = along(&corners);
            let (place, (width, height)) = stands(&["A", "B", "AB", "BB", "all"][..count], &curves);
            if let Stands::Inside((left, top)) = place {
                let legend = Frame { left, right: left + width, top, bottom: top + height };
                // Exactly, not at points along the curves.
                prop_assert!(legend.parts_of_line(&corners).is_empty());
                let inside = [(left, top), (left + width, top + height)];
                prop_assert!(inside.iter().all(|&corner| FRAME.contains(corner)));
            }
        }
    }
}
