//! A results file of known numbers (`data/make_fixtures.py`): read, described, plotted.
use std::path::{Path, PathBuf};

use supercool_analysis::results::ResultsFile;
use supercool_analysis::{Quantity, info, plot};

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/results.hdf5")
}

#[test]
fn series_and_functions_come_back_with_their_axes() {
    let file = ResultsFile::open(&results()).unwrap();
    assert_eq!(file.creator().unwrap(), "supercool 0.1.0");
    assert_eq!(file.species(), [("A".to_owned(), 960), ("B".to_owned(), 240)]);
    let observables = file.observables().unwrap();
    let names: Vec<&str> = observables.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "center_of_mass_velocity",
            "internal_energy",
            "potential_energy",
            "pressure",
            "temperature"
        ]
    );
    assert_eq!((observables[0].shape.as_slice(), observables[0].value.len()), (&[3][..], 303));
    assert_eq!((observables[1].step[100], observables[1].time[100]), (40000, 40.0));
    let dynamics = file.dynamics().unwrap();
    assert_eq!(dynamics.len(), 8);
    let scattering = dynamics
        .iter()
        .find(|each| each.group == "B" && each.name.starts_with("self_intermediate"))
        .unwrap();
    assert_eq!(scattering.argument, "time");
    for (curve, q) in scattering.curves.iter().zip([3.5, 7.25]) {
        assert_eq!(curve.wavenumber, Some(q));
        assert_eq!(curve.count[0], 1000.0);
        for (t, value) in scattering.x.iter().zip(&curve.value) {
            assert!((value - (-q * q * 0.08 * t).exp()).abs() < 1e-14);
        }
    }
    assert_eq!(file.structure().unwrap().len(), 6);
}

/// The fixture diffuses exactly: D = 0.05 and 0.08, tau(q) = 1 / (q^2 D).
#[test]
fn info_tells_model_state_and_estimates() {
    let text = info(results()).unwrap();
    for expected in [
        "written by supercool 0.1.0",
        "production",
        "step 40000, stage complete",
        "1200 (A 960, B 240)",
        "density 1.2",
        "lennard-jones, truncation smooth, cutoffs 2, 2.2, 2.5",
        "101 samples, steps 0 to 40000, time 0 to 40",
        "D_A = 0.05 ",
        "D_B = 0.08 ",
        "wavenumber 3.5, 7.25",
    ] {
        assert!(text.contains(expected), "`{expected}` is missing in\n{text}");
    }
    // 1 / (3.5^2 0.05) = 1.6327; linear interpolation in ln t between points a quarter of e apart
    // is good to about 1 %.
    let tau = text.lines().find(|line| line.contains("tau_A(q = 3.5)")).unwrap();
    let value: f64 = tau.split_whitespace().nth(4).unwrap().parse().unwrap();
    assert!((value / 1.6327 - 1.0).abs() < 0.02, "{tau}");
}

#[test]
fn info_of_trajectories_counts_particles_and_frames() {
    let data = results().with_file_name("");
    let text = info(data.join("hoomd.gsd")).unwrap();
    assert!(
        text.contains("GSD, 3 frames, steps 0 to 2000") && text.contains("A 2, Bee 1"),
        "{text}"
    );
    let text = info(data.join("matrix.hdf5")).unwrap();
    assert!(
        text.contains("O 2, Si 3") && text.contains("4.000000 x 5.000000 x 6.000000"),
        "{text}"
    );
}

#[test]
fn figures_are_complete_svg_and_png_on_a_machine_without_fonts() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("figure.svg");
    plot(&[results()], &svg, &[]).unwrap();
    let text = std::fs::read_to_string(&svg).unwrap();
    for label in
        ["⟨Δr²(t)⟩", "Fₛ(q,t),  q = 3.50", "q = 7.25", "α₂(t)", "g(r)", "S(q)", "temperature"]
    {
        assert!(text.contains(label), "{label}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"));
    assert!(text.trim_end().ends_with("</svg>"));

    let png = folder.path().join("figure.png");
    plot(&[results(), results()], &png, &[Quantity::MeanSquareDisplacement]).unwrap();
    let bytes = std::fs::read(&png).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Text was drawn: the same figure without it is smaller.
    assert!(bytes.len() > 15_000, "{} bytes", bytes.len());
}

#[test]
fn nothing_to_plot_is_an_error_that_names_the_quantity() {
    let folder = tempfile::tempdir().unwrap();
    let data = results().with_file_name("matrix.hdf5");
    let error = plot(&[data], &folder.path().join("a.svg"), &[Quantity::Pressure]).unwrap_err();
    assert!(error.to_string().contains("pressure") && error.to_string().contains("matrix.hdf5"));
}
