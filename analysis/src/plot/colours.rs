//! Colours of the curves of a figure.
use plotters::prelude::RGBColor;

/// Okabe & Ito, Color Universal Design (2008): different to all kinds of colour vision.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// Violet, blue, green, orange, red: from low to high values.
const SCALE: [[f64; 3]; 6] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 180.0, 60.0],
    [230.0, 159.0, 0.0],
    [200.0, 60.0, 20.0],
];

/// What is overlaid in a figure: results files, or averages at several temperatures of one.
pub(super) struct Sets {
    /// What tells them apart.
    pub names: Vec<String>,
    /// A number that orders their colours.
    pub parameter: Option<Parameter>,
}

/// A number of each of the [`Sets`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    pub name: String,
    pub values: Vec<f64>,
}

impl Sets {
    pub fn named(names: Vec<String>) -> Self {
        Sets { names, parameter: None }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn colour(&self, set: usize) -> RGBColor {
        match &self.parameter {
            Some(parameter) => on_scale(parameter.share(parameter.values[set])),
            None => colour_of(set, self.len()),
        }
    }
}

impl Parameter {
    /// The smallest and the largest value.
    pub fn range(&self) -> (f64, f64) {
        let smallest = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        (smallest, self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// From 0 for the smallest value to 1 for the largest.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range();
        if high > low { (value - low) / (high - low) } else { 0.0 }
    }
}

/// Of this many colours: more than the palette holds are taken in order from the scale.
pub(super) fn colour_of(index: usize, count: usize) -> RGBColor {
    if count <= PALETTE.len() {
        return PALETTE[index % PALETTE.len()];
    }
    on_scale((index % count) as f64 / (count - 1) as f64)
}

/// From 0, violet, to 1, red.
pub(super) fn on_scale(share: f64) -> RGBColor {
    let place = share * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let share = place - below as f64;
    let [r, g, b] = std::array::from_fn(|part| {
        let (from, to) = (SCALE[below][part], SCALE[below + 1][part]);
        (from + share * (to - from)).round() as u8
    });
    RGBColor(r, g, b)
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

    #[test]
    fn colours_follow_the_values_in_any_order_of_the_files() {
        let values = vec![0.6, 1.0, 0.5, 1.0];
        let names = values.iter().map(f64::to_string).collect();
        let parameter = Some(Parameter { name: "T".into(), values });
        let sets = Sets { names, parameter };
        assert_eq!(sets.colour(2), on_scale(0.0));
        assert_eq!(sets.colour(1), on_scale(1.0));
        assert_eq!(sets.colour(1), sets.colour(3));
        assert_eq!(sets.colour(0), on_scale(0.1 / 0.5 + 1e-17));
    }
}
