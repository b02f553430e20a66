//! A results file of known numbers (`data/make_fixtures.py`): read and described.
use std::path::{Path, PathBuf};

use hdf5::{Extent, Extents, SimpleExtents};
use supercool_analysis::observables::TimeSeries;
use supercool_analysis::results::ResultsFile;
use supercool_analysis::{FigureOptions, Quantity, info, plot, report};

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
        "D_A = 0.05 (",
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

/// `steps` rows of steps and times, which `energy`, `temperature` and the vector `velocity` share; the values have more
/// rows, as while a simulation appends.
fn long_series(path: &Path, steps: usize, values: usize) {
    let file = hdf5::File::create(path).unwrap();
    let write = |name: &str, shape: &[usize], numbers: Vec<f64>| {
        let mut extents: Vec<Extent> = shape.iter().map(|&length| Extent::fixed(length)).collect();
        extents[0] = Extent::resizable(shape[0]);
        let extents = Extents::Simple(SimpleExtents::from_vec(extents));
        let chunk = [&[512][..], &shape[1..]].concat();
        let dataset = file.new_dataset::<f64>().shape(extents).chunk(chunk).create(name).unwrap();
        dataset.write_raw(&numbers).unwrap();
    };
    for name in ["energy", "temperature", "velocity"] {
        file.create_group(&format!("observables/{name}")).unwrap();
    }
    let rows = |count: usize, number: &dyn Fn(f64) -> f64| -> Vec<f64> {
        (0..count).map(|row| number(row as f64)).collect()
    };
    write("observables/energy/step", &[steps], rows(steps, &|row| 10.0 * row));
    write("observables/energy/time", &[steps], rows(steps, &|row| 0.25 * row));
    for name in ["temperature", "velocity"] {
        for axis in ["step", "time"] {
            let shared = format!("/observables/energy/{axis}");
            file.link_hard(&shared, &format!("observables/{name}/{axis}")).unwrap();
        }
    }
    write("observables/energy/value", &[values], rows(values, &|row| -7.0 + row));
    write("observables/temperature/value", &[values], rows(values, &|row| 2.0 * row));
    write("observables/velocity/value", &[values, 3], rows(3 * values, &|number| number));
}

#[test]
fn of_a_long_series_some_rows_are_read_with_the_first_and_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.h5");
    for (rows, most, stride) in
        [(100_003, 300, 335), (100_003, 2, 100_002), (299, 300, 1), (300, 300, 1), (301, 300, 2)]
    {
        long_series(&path, rows, rows + 5);
        let file = ResultsFile::open(&path).unwrap();
        let some = file.sampled("temperature", most).unwrap().unwrap();
        let mut expected: Vec<usize> = (0..rows).step_by(stride).collect();
        expected.extend(((rows - 1) % stride != 0).then_some(rows - 1));
        assert!(expected.len() <= most && expected.last() == Some(&(rows - 1)));
        let numbers = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            expected.iter().map(|&row| of(row)).collect()
        };
        let steps: Vec<u64> = expected.iter().map(|&row| 10 * row as u64).collect();
        assert_eq!(some.step, steps, "{rows} {most}");
        assert_eq!(some.time, numbers(&|row| 0.25 * row as f64));
        assert_eq!(some.value, numbers(&|row| 2.0 * row as f64));
        assert_eq!((some.name.as_str(), some.shape.len()), ("temperature", 0));
    }
    let file = ResultsFile::open(&path).unwrap();
    assert_eq!(file.sampled("velocity", 9).unwrap(), None);
    assert_eq!(file.sampled("pressure", 9).unwrap(), None);
    drop(file);
    for rows in [0, 1] {
        long_series(&path, rows, 1);
        let some = ResultsFile::open(&path).unwrap().sampled("energy", 9).unwrap().unwrap();
        assert_eq!((some.step.len(), some.time.len(), some.value.len()), (rows, rows, rows));
    }
}

#[test]
fn series_that_share_their_steps_are_complete_rows_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.h5");
    long_series(&path, 1000, 1003);
    let all = ResultsFile::open(&path).unwrap().observables().unwrap();
    let names: Vec<&str> = all.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["energy", "temperature", "velocity"]);
    for series in &all {
        assert_eq!((series.step.len(), series.step[999]), (1000, 9990));
        assert_eq!((series.time.len(), series.time[999]), (1000, 249.75));
    }
    assert_eq!((all[0].value.len(), all[0].value[999]), (1000, 992.0));
    assert_eq!((all[2].value.len(), all[2].value[2999]), (3000, 2999.0));
    let text = info(&path).unwrap();
    assert!(text.contains("1000 samples, steps 0 to 9990, time 0 to 249.75"), "{text}");
    assert!(text.contains("[3] each"), "{text}");
}

#[test]
fn rows_at_fixed_intervals_have_their_steps_from_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixed.h5");
    {
        let file = hdf5::File::create(&path).unwrap();
        let group = file.create_group("observables/A/energy").unwrap();
        let value: Vec<f64> = (0..11).map(f64::from).collect();
        group.new_dataset_builder().with_data(&value).create("value").unwrap();
        let step = group.new_dataset::<i64>().create("step").unwrap();
        step.write_scalar(&5).unwrap();
        step.new_attr::<i64>().create("offset").unwrap().write_scalar(&100).unwrap();
    }
    let file = ResultsFile::open(&path).unwrap();
    let some = file.sampled("A/energy", 4).unwrap().unwrap();
    assert_eq!((some.step, some.value), (vec![100, 120, 140, 150], vec![0.0, 4.0, 8.0, 10.0]));
    let all = &file.observables().unwrap()[0];
    assert_eq!((all.name.as_str(), all.step[10], all.step.len()), ("A/energy", 150, 11));
    assert!(all.time.is_empty());
}

#[test]
fn pages_and_figures_of_long_series_are_not_longer_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.h5");
    let lengths = [2000, 200_000].map(|rows| {
        long_series(&path, rows, rows);
        let page = report(&path).unwrap();
        assert_eq!(page.matches("<svg").count(), 1, "temperature");
        let svg = folder.path().join("long.svg");
        let quantity = Quantity::TimeSeries(TimeSeries::Temperature);
        plot(std::slice::from_ref(&path), &svg, &[quantity], &FigureOptions::default()).unwrap();
        (page.len(), std::fs::metadata(&svg).unwrap().len() as usize)
    });
    for (short, long) in [(lengths[0].0, lengths[1].0), (lengths[0].1, lengths[1].1)] {
        assert!(long.abs_diff(short) < short / 10, "{lengths:?}");
    }
}

#[test]
fn the_first_species_with_a_correlation_stands_for_it() {
    let file = ResultsFile::open(&results()).unwrap();
    let name = "self_intermediate_scattering_function";
    let all = file.dynamics().unwrap();
    let first = all.into_iter().find(|each| each.name == name);
    assert!(first.as_ref().is_some_and(|first| first.group == "A"));
    assert_eq!(file.first_dynamics(name).unwrap(), first);
    assert_eq!(file.first_dynamics("self_overlap").unwrap(), None);
}

#[test]
fn no_page_is_made_of_a_file_without_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.h5");
    let file = hdf5::File::create(&path).unwrap();
    file.new_dataset_builder().with_data(&[f64::NAN; 4]).create("value").unwrap();
    file.close().unwrap();
    let error = report(&path).unwrap_err().to_string();
    assert!(error.contains("foreign.h5") && error.contains("no results of a run"), "{error}");
    // Observables alone make one.
    assert!(report(&results()).unwrap().contains("<h2>Thermodynamics</h2>"));
}
