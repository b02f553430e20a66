//! SVG to PNG, with a font of our own: machines that compute often have none.
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels per unit of the SVG.
const ZOOM: f32 = 2.0;

pub(super) fn render(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size();
    let (width, height) =
        ((size.width() * ZOOM).ceil() as u32, (size.height() * ZOOM).ceil() as u32);
    let mut image = Pixmap::new(width, height).ok_or("the figure is too large for a PNG file")?;
    resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut image.as_mut());
    image.encode_png().map_err(|error| error.to_string())
}
