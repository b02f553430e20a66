//! What a user chooses of a figure.
use super::axis::Scale;

/// Pixels of a centimetre, at 96 to the inch.
const PER_CENTIMETRE: f64 = 96.0 / 2.54;
/// Largest width and height in centimetres: larger ones are slips, and no image.
const LARGEST: f64 = 200.0;

/// Choices for a figure; what is not chosen is as the quantity asks for.
#[derive(Clone, Debug, Default)]
pub struct FigureOptions {
    /// Key of the configuration whose values tell curves apart, such as `system.density`, or `temperature`; numbers order the
    /// colours. Without it: temperatures, if three files and more have different ones, else the names of the files.
    pub by: Option<String>,
    /// Markers at the points.
    pub markers: bool,
    /// Functions from given time origins alone, over the lag in units of the waiting time.
    pub over_waiting_time: bool,
    /// The horizontal axes of all panels.
    pub x: AxisOptions,
    /// The vertical axes of all panels.
    pub y: AxisOptions,
    /// Width and height of the whole figure in centimetres.
    pub size: Option<Size>,
}

/// Choices for an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisOptions {
    /// Linear or logarithmic.
    pub scale: Option<Scale>,
    /// Its ends.
    pub range: Option<Range>,
}

/// Ends of an axis, the smaller one first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
}

/// Width and height in centimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    width: f64,
    height: f64,
}

impl FigureOptions {
    /// Words for a figure without anything, if a choice may be why.
    pub(super) fn hidden(&self) -> &'static str {
        if self.over_waiting_time {
            return "; over t/tw there are functions from time origins behind the start of a stage, which `origins` of a correlation gives";
        }
        match [self.x.scale, self.y.scale].contains(&Some(Scale::Logarithmic)) {
            true => "; a logarithmic axis shows positive ones only",
            false => "",
        }
    }

    /// Of the whole figure.
    pub(super) fn size_in_pixels(&self) -> Option<(f64, f64)> {
        self.size.map(|Size { width, height }| (width * PER_CENTIMETRE, height * PER_CENTIMETRE))
    }
}

impl Range {
    /// The smaller end.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The larger end.
    pub fn high(&self) -> f64 {
        self.high
    }
}

impl std::str::FromStr for Range {
    type Err = String;

    /// `LOW:HIGH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is no range: LOW:HIGH is wanted, such as 0.1:1e4");
        let (low, high) = text.split_once(':').ok_or_else(wanted)?;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        match (number(low), number(high)) {
            (Some(low), Some(high)) if low < high => Ok(Range { low, high }),
            _ => Err(wanted()),
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    /// `WIDTHxHEIGHT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            format!("`{text}` is no size: WIDTHxHEIGHT in centimetres is wanted, such as 8.6x6.5")
        };
        let (width, height) = text.split_once('x').ok_or_else(wanted)?;
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|x| *x > 0.0 && *x <= LARGEST);
        match (number(width), number(height)) {
            (Some(width), Some(height)) => Ok(Size { width, height }),
            _ => Err(wanted()),
        }
    }
}

/// `linear` or `log`.
///
/// # Errors
/// Of any other word.
pub fn scale_of(word: &str) -> Result<Scale, String> {
    match word {
        "linear" => Ok(Scale::Linear),
        "log" => Ok(Scale::Logarithmic),
        _ => Err(format!("`{word}` is no scale: linear or log is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_sizes_are_two_numbers() {
        assert_eq!("0.1:1e4".parse(), Ok(Range { low: 0.1, high: 1e4 }));
        assert_eq!("-2:-1".parse(), Ok(Range { low: -2.0, high: -1.0 }));
        for wrong in ["1", "2:1", "1:1", "a:2", "0:inf", ":"] {
            assert!(wrong.parse::<Range>().unwrap_err().contains("LOW:HIGH"), "{wrong}");
        }
        assert_eq!("8.6x6".parse(), Ok(Size { width: 8.6, height: 6.0 }));
        for wrong in ["8", "0x3", "8x-1", "8x6cm", "1e9x1"] {
            assert!(wrong.parse::<Size>().unwrap_err().contains("WIDTHxHEIGHT"), "{wrong}");
        }
        assert_eq!(scale_of("log"), Ok(Scale::Logarithmic));
        assert!(scale_of("lin").is_err());
    }
}
