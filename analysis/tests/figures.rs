//! Figures of results files: what is drawn, in which colours, axes, sizes and formats.
use std::path::{Path, PathBuf};

use hdf5::types::VarLenUnicode;
use supercool_analysis::observables::{DynamicObservable, Scale, TimeSeries};
use supercool_analysis::plot::AxisOptions;
use supercool_analysis::{FigureOptions, Quantity, plot};

const FS: Quantity = Quantity::Dynamics(DynamicObservable::SelfIntermediateScatteringFunction);

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/results.hdf5")
}

/// The results of a stage at this temperature, with F_s at lags 0, 1, ..., 64 and errors up to lag 16.
fn at_temperature(folder: &Path, temperature: f64) -> PathBuf {
    let path = folder.join(format!("T{temperature}.h5"));
    let file = hdf5::File::create(&path).unwrap();
    let text = |name: &str, text: &str| {
        let text: VarLenUnicode = text.parse().unwrap();
        file.new_dataset::<VarLenUnicode>().create(name).unwrap().write_scalar(&text).unwrap();
    };
    file.create_group("parameters").unwrap();
    text("parameters/stage", "production");
    let plan = serde_json::json!({"stages": [{"name": "production", "set_total_energy": null,
        "thermostat": {"kind": "bussi", "temperature": {"from": temperature, "to": temperature}}}]});
    text("parameters/plan", &plan.to_string());
    let density = 1.2 + 0.1 * temperature;
    let toml = format!(
        "[system]\ndensity = {density}\n[potential]\nkind = \"yukawa\"\n[[stage]]\nname = \"production\"\nsteps = 64\n"
    );
    text("parameters/toml", &toml);
    let of = "self_intermediate_scattering_function";
    let group = file.create_group(&format!("dynamics/A/{of}")).unwrap();
    let time = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let value = time.map(|t: f64| (-t * temperature / 20.0).exp());
    let error = time.map(|t| if t > 16.0 { f64::NAN } else { 0.001 * t });
    for (name, numbers) in [("time", time), ("value", value), ("error", error)] {
        group.new_dataset_builder().with_data(&numbers).create(name).unwrap();
    }
    path
}

/// The figure of F_s of these files as SVG, or why there is none.
fn drawn(folder: &Path, files: &[PathBuf], options: &FigureOptions) -> Result<String, String> {
    let figure = folder.join("figure.svg");
    plot(files, &figure, &[FS], options).map_err(|error| error.to_string())?;
    Ok(std::fs::read_to_string(figure).unwrap())
}

/// Colours of lines as wide as curves (1.6 pixels), in their order, and the horizontal ends of each, in pixels.
fn curves(svg: &str) -> Vec<(String, f64, f64)> {
    let lines = svg
        .lines()
        .filter(|line| line.starts_with("<polyline") && line.contains("stroke-width=\"13\""));
    let attribute = |line: &str, name: &str| {
        let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let ends = |line: &str| {
        let points = attribute(line, "points");
        let x: Vec<f64> = points
            .split_whitespace()
            .map(|point| point.split(',').next().unwrap().parse().unwrap())
            .collect();
        (attribute(line, "stroke"), x[0] / 8.0, x[x.len() - 1] / 8.0)
    };
    lines.map(ends).collect()
}

#[test]
fn several_temperatures_have_colours_in_their_order_and_a_colour_bar() {
    let folder = tempfile::tempdir().unwrap();
    let files = |all: &[f64]| -> Vec<PathBuf> {
        all.iter().map(|&temperature| at_temperature(folder.path(), temperature)).collect()
    };
    let ten = files(&[1.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9]);
    let svg = drawn(folder.path(), &ten, &FigureOptions::default()).unwrap();
    let colours: Vec<String> = curves(&svg).into_iter().map(|(colour, ..)| colour).collect();
    assert_eq!(colours.len(), 10);
    // The hottest, though first, is red; the coldest is violet; none is there twice.
    assert_eq!((colours[0].as_str(), colours[1].as_str()), ("#C83C14", "#440154"));
    assert_eq!(colours.iter().collect::<std::collections::BTreeSet<_>>().len(), 10);
    for label in ["T", "0.5", "0.7", "1"] {
        assert!(svg.contains(&format!("\n{label}\n")), "{label}");
    }
    // Two are named; a key of the configuration names them, too.
    let svg = drawn(folder.path(), &ten[..2], &FigureOptions::default()).unwrap();
    assert!(svg.contains("\nT1\n") && svg.contains("\nT0.5\n"));
    let by = |key: &str| FigureOptions { by: Some(key.into()), ..FigureOptions::default() };
    let svg = drawn(folder.path(), &ten[..2], &by("system.density")).unwrap();
    for label in ["density", "1.25", "1.3"] {
        assert!(svg.contains(&format!("\n{label}\n")), "{label}");
    }
    let svg = drawn(folder.path(), &ten[..2], &by("potential.kind")).unwrap();
    assert!(svg.contains("\nkind = yukawa\n"));
    let svg = drawn(folder.path(), &ten[..2], &by("stage.production.steps")).unwrap();
    assert!(svg.contains("\nsteps = 64\n"));
    let svg = drawn(folder.path(), &ten[..2], &by("temperature")).unwrap();
    assert!(svg.contains("\nT\n") && !svg.contains("\nT1\n"));
    let wrong = drawn(folder.path(), &ten[..2], &by("system.densty")).unwrap_err();
    assert!(wrong.contains("T1.h5") && wrong.contains("no key system.densty"), "{wrong}");
    let wrong = drawn(folder.path(), &[results()], &by("temperature"));
    assert!(wrong.is_ok(), "it was measured: {wrong:?}");
}

#[test]
fn lines_end_where_errors_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = at_temperature(folder.path(), 0.5);
    let options = |scale| FigureOptions {
        x: AxisOptions { scale: Some(scale), range: Some("1:16".parse().unwrap()) },
        ..FigureOptions::default()
    };
    // The last error is at 16, the end of the axis, a margin from the edge of the figure.
    for scale in [Scale::Linear, Scale::Logarithmic] {
        let svg = drawn(folder.path(), std::slice::from_ref(&file), &options(scale)).unwrap();
        let curves = curves(&svg);
        assert_eq!((curves.len(), curves[0].2), (1, 380.0 - 16.0), "{curves:?}");
    }
    let all = FigureOptions {
        x: AxisOptions { range: Some("1:256".parse().unwrap()), ..AxisOptions::default() },
        ..FigureOptions::default()
    };
    let svg = drawn(folder.path(), &[file], &all).unwrap();
    let (_, from, to) = curves(&svg)[0];
    assert!((to - (from + 364.0) / 2.0).abs() < 0.2, "half of the decades: {from} {to}");
}

#[test]
fn axes_and_size_are_as_they_were_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = [at_temperature(folder.path(), 0.5)];
    let chosen = |x: AxisOptions, y: AxisOptions, size: &str| FigureOptions {
        x,
        y,
        size: Some(size.parse().unwrap()),
        markers: true,
        ..FigureOptions::default()
    };
    let linear = AxisOptions { scale: Some(Scale::Linear), range: Some("0:20".parse().unwrap()) };
    let logarithmic =
        AxisOptions { scale: Some(Scale::Logarithmic), range: Some("0.1:1".parse().unwrap()) };
    let svg = drawn(folder.path(), &file, &chosen(linear, logarithmic, "8.5x6.5")).unwrap();
    assert!(
        svg.contains("width=\"321.2598") && svg.contains("height=\"245.6692"),
        "{}",
        &svg[..200]
    );
    for label in ["0", "20", "0.1", "0.5"] {
        assert!(svg.contains(&format!("\n{label}\n")), "{label}");
    }
    // At 0, 1, 2, 4, 8, 16, and in the legend.
    let markers = svg.matches("<polygon opacity=\"1\"").count();
    assert_eq!(markers, 7);

    let none = AxisOptions::default();
    let small = drawn(folder.path(), &file, &chosen(none, none, "1x1")).unwrap_err();
    assert!(small.contains("too small for 1 panel"), "{small}");
    let below = AxisOptions { scale: None, range: Some("0:1".parse().unwrap()) };
    let wrong = drawn(folder.path(), &file, &chosen(below, none, "8x6")).unwrap_err();
    assert!(wrong.contains("0:1 is not of a logarithmic axis"), "{wrong}");
    // Energies are negative.
    let options = FigureOptions { y: logarithmic, ..FigureOptions::default() };
    let energy = Quantity::TimeSeries(TimeSeries::PotentialEnergy);
    let error = plot(&[results()], &folder.path().join("a.svg"), &[energy], &options).unwrap_err();
    assert!(error.to_string().contains("a logarithmic axis shows positive ones only"), "{error}");
}

#[test]
fn a_pdf_file_is_one_page_with_areas_and_no_fonts() {
    let folder = tempfile::tempdir().unwrap();
    let pdf = folder.path().join("figure.pdf");
    let options = FigureOptions { size: Some("10x8".parse().unwrap()), ..FigureOptions::default() };
    plot(&[results()], &pdf, &[FS], &options).unwrap();
    let bytes = std::fs::read(&pdf).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("%PDF-1.") && text.trim_end().ends_with("%%EOF"));
    // 10 and 8 cm in points.
    assert!(text.contains("/MediaBox [0 0 283.46") && text.contains("226.77"), "{text}");
    assert!(text.contains("/FlateDecode") && text.contains("/ca 0.22") && !text.contains("/Font"));
    // Letters were drawn.
    assert!(bytes.len() > 10_000, "{} bytes", bytes.len());
}

#[test]
fn figures_are_complete_svg_and_png_on_a_machine_without_fonts() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("figure.svg");
    plot(&[results()], &svg, &[], &FigureOptions::default()).unwrap();
    let text = std::fs::read_to_string(&svg).unwrap();
    for label in
        ["⟨Δr²(t)⟩", "Fₛ(q,t),  q = 3.50", "q = 7.25", "α₂(t)", "g(r)", "S(q)", "temperature"]
    {
        assert!(text.contains(label), "{label}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"));
    assert!(text.trim_end().ends_with("</svg>"));

    let png = folder.path().join("figure.png");
    plot(
        &[results(), results()],
        &png,
        &[Quantity::Dynamics(DynamicObservable::MeanSquareDisplacement)],
        &FigureOptions::default(),
    )
    .unwrap();
    let bytes = std::fs::read(&png).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Text was drawn: the same figure without it is smaller.
    assert!(bytes.len() > 15_000, "{} bytes", bytes.len());
}

#[test]
fn nothing_to_plot_is_an_error_that_names_the_quantity() {
    let folder = tempfile::tempdir().unwrap();
    let data = results().with_file_name("matrix.hdf5");
    let (figure, quantity) =
        (folder.path().join("a.svg"), Quantity::TimeSeries(TimeSeries::Pressure));
    let error = plot(&[data], &figure, &[quantity], &FigureOptions::default()).unwrap_err();
    assert!(error.to_string().contains("pressure") && error.to_string().contains("matrix.hdf5"));
}
