//! Files of figures: SVG as it is drawn, PNG and PDF made of it, with a font of our own: machines that compute often have none.
use std::path::Path;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::pdf;
use crate::{AnalysisError, Result};

/// Pixels of a PNG file per unit of the SVG.
const ZOOM: f32 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Svg,
    Png,
    Pdf,
}

impl Format {
    /// By the ending of the file's name.
    pub fn of(output: &Path) -> Result<Self> {
        let ending = output.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        match ending.to_lowercase().as_str() {
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            "pdf" => Ok(Format::Pdf),
            _ => Err(AnalysisError::content(
                output,
                "the name of a figure must end in .svg, .pdf or .png",
            )),
        }
    }

    /// Writes the figure; an existing file is replaced.
    pub fn write(self, svg: &str, output: &Path) -> Result<()> {
        let bytes = match self {
            Format::Svg => Ok(svg.as_bytes().to_vec()),
            Format::Png => tree(svg).and_then(|tree| png(&tree)),
            Format::Pdf => tree(svg).and_then(|tree| pdf::of(&tree)),
        };
        let bytes = bytes.map_err(|what| AnalysisError::content(output, what))?;
        std::fs::write(output, bytes).map_err(AnalysisError::io(output))
    }
}

fn tree(svg: &str) -> std::result::Result<Tree, String> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Tree::from_str(svg, &options).map_err(|error| error.to_string())
}

fn png(tree: &Tree) -> std::result::Result<Vec<u8>, String> {
    let size = tree.size();
    let (width, height) =
        ((size.width() * ZOOM).ceil() as u32, (size.height() * ZOOM).ceil() as u32);
    let mut image = Pixmap::new(width, height).ok_or("the figure is too large for a PNG file")?;
    resvg::render(tree, Transform::from_scale(ZOOM, ZOOM), &mut image.as_mut());
    image.encode_png().map_err(|error| error.to_string())
}
