//! Text, tables and figures as HTML.
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}\
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ccc}\
pre{background:#f6f6f6;padding:1em;overflow-x:auto;font-size:13px;line-height:1.4}\
table{border-collapse:collapse}td{padding:.15em 1.2em .15em 0;vertical-align:top}\
td:first-child{color:#666}svg{max-width:100%;height:auto}";

/// The page around its body.
pub(super) fn page(title: &str, body: &str) -> String {
    let mut page =
        String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let _ = writeln!(page, "<title>{}</title><style>{STYLE}</style></head><body>", text(title));
    let _ = writeln!(page, "<h1>{}</h1>", text(title));
    page + body + "</body></html>\n"
}

/// Text as it is, if there is any.
pub(super) fn block(plain: &str) -> String {
    if plain.is_empty() { String::new() } else { format!("<pre>{}</pre>\n", text(plain)) }
}

/// What is shown on request.
pub(super) fn details(summary: &str, inner: &str) -> String {
    format!("<details><summary>{}</summary>{inner}</details>\n", text(summary))
}

/// What stands for itself in text of HTML.
pub(super) fn text(plain: &str) -> String {
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An SVG image that stands within HTML.
pub(super) fn without_prologue(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}

/// Rows of cells.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| format!("<td>{}</td>", text(cell));
    let row =
        |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    format!("<table>\n{}</table>\n", rows.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(text("a < b & \"c\">"), "a &lt; b &amp; &quot;c&quot;&gt;");
        assert_eq!(
            table(&[vec!["<".into(), "1".into()]]),
            "<table>\n<tr><td>&lt;</td><td>1</td></tr>\n</table>\n"
        );
    }
}
