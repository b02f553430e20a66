//! SVG to PDF: areas and lines, letters as areas, so that no font is needed to show them.
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{PathSegment, Transform};
use resvg::usvg::{Fill, Group, Node, Paint, Path, Stroke, Tree};

/// Points of PDF (1/72 inch) of a pixel (1/96 inch).
const POINTS: f32 = 0.75;
const UNREADABLE: &str = "the figure holds what a PDF file of ours cannot";

/// A file of one page.
pub(super) fn of(tree: &Tree) -> Result<Vec<u8>, String> {
    let size = tree.size();
    let (width, height) = (size.width() * POINTS, size.height() * POINTS);
    let mut page = Page { content: Content::new(), opacities: Vec::new() };
    // PDF counts from below.
    page.content.transform([POINTS, 0.0, 0.0, -POINTS, 0.0, height]);
    page.group(tree.root(), 1.0)?;
    let Page { content, opacities } = page;
    let text = miniz_oxide::deflate::compress_to_vec_zlib(content.finish().as_slice(), 6);

    let [catalog, pages, page, contents] = [1, 2, 3, 4].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut of_page = pdf.page(page);
    of_page.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(contents);
    let mut resources = of_page.resources();
    let mut states = resources.ext_g_states();
    for (index, &opacity) in opacities.iter().enumerate() {
        states
            .insert(Name(name(index).as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState>()
            .non_stroking_alpha(opacity)
            .stroking_alpha(opacity);
    }
    states.finish();
    resources.finish();
    of_page.finish();
    pdf.stream(contents, &text).filter(pdf_writer::Filter::FlateDecode);
    Ok(pdf.finish())
}

/// Of an opacity among the resources of the page.
fn name(index: usize) -> String {
    format!("O{index}")
}

struct Page {
    content: Content,
    opacities: Vec<f32>,
}

impl Page {
    fn group(&mut self, group: &Group, opacity: f32) -> Result<(), String> {
        if group.clip_path().is_some() || group.mask().is_some() || !group.filters().is_empty() {
            return Err(UNREADABLE.into());
        }
        let opacity = opacity * group.opacity().get();
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group, opacity)?,
                Node::Path(path) => self.path(path, opacity)?,
                Node::Text(text) => self.group(text.flattened(), opacity)?,
                Node::Image(_) => return Err(UNREADABLE.into()),
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &Path, opacity: f32) -> Result<(), String> {
        if !path.is_visible() {
            return Ok(());
        }
        let Transform { sx, kx, ky, sy, tx, ty } = path.abs_transform();
        self.content.save_state().transform([sx, ky, kx, sy, tx, ty]);
        if let Some(fill) = path.fill() {
            self.fill(fill, opacity)?;
            self.outline(path);
            self.content.fill_nonzero();
        }
        if let Some(stroke) = path.stroke() {
            self.stroke(stroke, opacity)?;
            self.outline(path);
            self.content.stroke();
        }
        self.content.restore_state();
        Ok(())
    }

    fn fill(&mut self, fill: &Fill, opacity: f32) -> Result<(), String> {
        let [r, g, b] = colour(fill.paint())?;
        self.opacity(opacity * fill.opacity().get());
        self.content.set_fill_rgb(r, g, b);
        Ok(())
    }

    fn stroke(&mut self, stroke: &Stroke, opacity: f32) -> Result<(), String> {
        let [r, g, b] = colour(stroke.paint())?;
        self.opacity(opacity * stroke.opacity().get());
        self.content.set_stroke_rgb(r, g, b).set_line_width(stroke.width().get());
        Ok(())
    }

    fn opacity(&mut self, opacity: f32) {
        let known = self.opacities.iter().position(|&known| known == opacity);
        let index = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        self.content.set_parameters(Name(name(index).as_bytes()));
    }

    fn outline(&mut self, path: &Path) {
        let content = &mut self.content;
        let mut at = (0.0, 0.0);
        for segment in path.data().segments() {
            match segment {
                PathSegment::MoveTo(to) => {
                    content.move_to(to.x, to.y);
                    at = (to.x, to.y);
                }
                PathSegment::LineTo(to) => {
                    content.line_to(to.x, to.y);
                    at = (to.x, to.y);
                }
                PathSegment::QuadTo(control, to) => {
                    // The same curve of third order.
                    let towards = |end: f32, control: f32| end + 2.0 / 3.0 * (control - end);
                    let (x1, y1) = (towards(at.0, control.x), towards(at.1, control.y));
                    let (x2, y2) = (towards(to.x, control.x), towards(to.y, control.y));
                    content.cubic_to(x1, y1, x2, y2, to.x, to.y);
                    at = (to.x, to.y);
                }
                PathSegment::CubicTo(first, second, to) => {
                    content.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                    at = (to.x, to.y);
                }
                PathSegment::Close => {
                    content.close_path();
                }
            }
        }
    }
}

fn colour(paint: &Paint) -> Result<[f32; 3], String> {
    match paint {
        Paint::Color(colour) => {
            Ok([colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0))
        }
        _ => Err(UNREADABLE.into()),
    }
}
