//! Results files of known diffusion and relaxation, analysed.
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use serde_json::json;
use supercool_analysis::analyze::{Flag, Row, results_files};
use supercool_analysis::{Analysis, analyze, info};

/// Uniform numbers from a linear congruence; normal ones by Box and Muller.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// What a synthetic run is made of.
#[derive(Clone)]
struct Liquid {
    temperature: f64,
    seed: u64,
    density: f64,
    dimension: usize,
    longest: i32,
    scattering: bool,
    /// Errors in the file over true ones.
    told: f64,
    /// Temperature of the thermostat in the plan, which has a stage then.
    set: Option<f64>,
    /// Of the correlations; not written if `None`.
    remove_drift: Option<bool>,
}

const Q: f64 = 7.25;
const ERROR: f64 = 0.01;

impl Liquid {
    fn new(temperature: f64, seed: u64) -> Self {
        Liquid {
            temperature,
            seed,
            density: 1.2,
            dimension: 3,
            longest: 60,
            scattering: true,
            told: 1.0,
            set: None,
            remove_drift: None,
        }
    }

    /// D = 0.05 (T - 0.4)^2, a power law with T_c = 0.4.
    fn d(&self) -> f64 {
        0.05 * (self.temperature - 0.4).powi(2)
    }

    /// tau = 0.2 exp(1 / (T - 0.3)), at which F_s = 1/e exactly.
    fn tau(&self) -> f64 {
        0.2 * (1.0 / (self.temperature - 0.3)).exp()
    }

    /// Noise is 1 %, half of it common to all times.
    fn write(&self, path: &Path) {
        let mut noise = Noise(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let time: Vec<f64> =
            (0..=self.longest).map(|k| 1e-2 * 10_f64.powf(0.12 * f64::from(k))).collect();
        let (common, part) = (noise.normal(), 0.5_f64.sqrt());
        let mut measured = |truth: f64| truth * (1.0 + ERROR * part * (common + noise.normal()));
        let msd: Vec<f64> = time
            .iter()
            .map(|t| measured(2.0 * self.dimension as f64 * self.d() * t + 0.02))
            .collect();
        let fs: Vec<f64> =
            time.iter().map(|t| measured((-(t / self.tau()).powf(0.7)).exp())).collect();
        let temperature: Vec<f64> =
            (0..256).map(|_| self.temperature + 0.002 * noise.normal()).collect();
        let edge = (1000.0 / self.density).powf(1.0 / self.dimension as f64);
        let mut plan = json!({
            "system": {
                "seed": self.seed,
                "simulation_box": {"dimension": self.dimension, "edges": [edge, edge, edge]},
                "species": [{"name": "A", "count": 1000, "mass": 1.0}],
            },
            "potential": {"form": {"kind": "lennard-jones"}},
        });
        if let Some(set) = self.set {
            plan["stages"] = json!([{"name": "warm", "steps": 1000, "set_total_energy": null, "thermostat":
                {"kind": "langevin", "friction": 1.0, "temperature": {"from": set, "to": set}}}]);
        }
        if let Some(remove_drift) = self.remove_drift {
            plan["stages"][0]["correlations"] = json!([{
                "remove_drift": remove_drift,
                "observables": ["mean-square-displacement", "self-intermediate-scattering-function"],
            }]);
        }
        let file = hdf5::File::create(path).unwrap();
        let put = |name: &str, values: &[f64]| {
            let (parent, name) = name.rsplit_once('/').unwrap();
            let group = file.group(parent).or_else(|_| file.create_group(parent)).unwrap();
            let array = Array1::from(values.to_vec());
            group.new_dataset_builder().with_data(&array).create(name).unwrap();
        };
        put("observables/temperature/value", &temperature);
        put("observables/temperature/time", &(0..256).map(f64::from).collect::<Vec<_>>());
        let steps = Array1::from_iter(0..256_u64);
        let group = file.group("observables/temperature").unwrap();
        group.new_dataset_builder().with_data(&steps).create("step").unwrap();
        put("dynamics/A/mean_square_displacement/time", &time);
        put("dynamics/A/mean_square_displacement/value", &msd);
        let errors =
            |values: &[f64]| values.iter().map(|x| self.told * ERROR * x.abs()).collect::<Vec<_>>();
        put("dynamics/A/mean_square_displacement/error", &errors(&msd));
        if self.scattering {
            const FS: &str = "dynamics/A/self_intermediate_scattering_function";
            put(&format!("{FS}/time"), &time);
            put(&format!("{FS}/wavenumber"), &[Q]);
            let group = file.group(FS).unwrap();
            for (name, values) in [("value", fs.clone()), ("error", errors(&fs))] {
                let rows = Array2::from_shape_vec((1, time.len()), values).unwrap();
                group.new_dataset_builder().with_data(&rows).create(name).unwrap();
            }
        }
        let parameters = file.create_group("parameters").unwrap();
        for (name, text) in [("plan", plan.to_string()), ("stage", "warm".into())] {
            let text: hdf5::types::VarLenUnicode = text.parse().unwrap();
            let dataset = parameters.new_dataset::<hdf5::types::VarLenUnicode>().create(name);
            dataset.unwrap().write_scalar(&text).unwrap();
        }
        let species = parameters.create_group("species").unwrap();
        let name: hdf5::types::VarLenUnicode = "A".parse().unwrap();
        species.new_dataset_builder().with_data(&Array1::from(vec![name])).create("name").unwrap();
        species
            .new_dataset_builder()
            .with_data(&Array1::from(vec![1000_u64]))
            .create("count")
            .unwrap();
    }
}

/// A last point that is far off, with a tiny error of two origins.
#[test]
fn displacements_from_few_origins_have_no_weight() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "few.h5", &Liquid::new(0.7, 4));
    let expected = analyze(&[&path], None).unwrap();
    let last = row(&expected, "D").to;
    let file = hdf5::File::append(&path).unwrap();
    let group = file.group("dynamics/A/mean_square_displacement").unwrap();
    let change = |name: &str, to: f64| {
        let dataset = group.dataset(name).unwrap();
        let mut numbers = dataset.read_1d::<f64>().unwrap();
        numbers[60] *= to;
        dataset.write(&numbers).unwrap();
    };
    change("value", 2.0);
    change("error", 1e-3);
    // Of 1000 particles.
    let count = Array1::from_iter((0..61_u64).map(|k| if k < 60 { 8000 } else { 2000 }));
    group.new_dataset_builder().with_data(&count).create("count").unwrap();
    drop((group, file));
    let found = analyze(&[&path], None).unwrap();
    is(row(&found, "D"), Liquid::new(0.7, 4).d(), 4.0, 0.03);
    assert!(row(&found, "D").to < last, "{:?}", row(&found, "D"));
}

fn written(folder: &Path, name: &str, liquid: &Liquid) -> PathBuf {
    let path = folder.join(name);
    liquid.write(&path);
    path
}

fn row<'a>(analysis: &'a Analysis, quantity: &str) -> &'a Row {
    let found = analysis.rows().find(|row| row.quantity == quantity);
    found.unwrap_or_else(|| panic!("no {quantity} in\n{}", analysis.text()))
}

/// Within `sigmas` errors, and the error no more than `fraction` of the value.
fn is(row: &Row, expected: f64, sigmas: f64, fraction: f64) {
    let (value, error) = (row.estimate.value, row.estimate.error);
    assert!((value - expected).abs() <= sigmas * error, "{expected}: {row:?}");
    assert!(error > 0.0 && error <= fraction * expected, "{expected}: {row:?}");
}

#[test]
fn one_run_gives_d_tau_and_the_stretched_exponential() {
    let folder = tempfile::tempdir().unwrap();
    for dimension in [2, 3] {
        let liquid = Liquid { dimension, ..Liquid::new(0.7, 4) };
        let file = written(folder.path(), &format!("{dimension}d.h5"), &liquid);
        let analysis = analyze(&[file], None).unwrap();
        // Half of the variance is common to all times: the error of one run is a lower bound.
        is(row(&analysis, "D"), liquid.d(), 4.0, 0.02);
        is(row(&analysis, "tau"), liquid.tau(), 4.0, 0.05);
        is(row(&analysis, "tau_kww"), liquid.tau(), 6.0, 0.05);
        is(row(&analysis, "beta_kww"), 0.7, 4.0, 0.05);
        assert_eq!(row(&analysis, "tau").wavenumber, Some(Q));
        assert!(analysis.rows().all(|row| row.flags.is_empty()), "{}", analysis.text());
        assert!(analysis.notes[0].contains("1 temperature, 4 are needed"), "{:?}", analysis.notes);
    }
}

/// Replaces the numbers of a dataset of a file.
fn replace(path: &Path, name: &str, of: impl Fn(f64) -> f64) {
    let file = hdf5::File::append(path).unwrap();
    let dataset = file.dataset(name).unwrap();
    dataset.write(&dataset.read_1d::<f64>().unwrap().mapv(of)).unwrap();
}

/// A displacement that grows as `t^0.37` has no D: in no table, and not in `info`.
#[test]
fn what_is_not_diffusive_has_no_d_but_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "cage.h5", &Liquid::new(0.7, 4));
    let slope = 6.0 * Liquid::new(0.7, 4).d();
    let name = "dynamics/A/mean_square_displacement/value";
    replace(&path, name, |msd| (((msd - 0.02) / slope).abs() + 1e-3).powf(0.37));
    let analysis = analyze(&[&path], None).unwrap();
    let d = row(&analysis, "D");
    assert!(d.flags == [Flag::NotDiffusive] && !d.is_given(), "{d:?}");
    let csv = analysis.csv();
    let column = |line: &str, name: &str| -> String {
        let at = csv.lines().next().unwrap().split(',').position(|head| head == name).unwrap();
        line.split(',').nth(at).unwrap().to_owned()
    };
    let of_d = csv.lines().find(|line| column(line, "quantity") == "D").unwrap();
    for (name, expected) in [("value", ""), ("error", ""), ("flags", "not-diffusive")] {
        assert_eq!(column(of_d, name), expected, "{of_d}");
    }
    let json: serde_json::Value = serde_json::from_str(&analysis.json()).unwrap();
    let of_d = &json["state_points"][0]["estimates"][0];
    assert!(of_d["value"].is_null() && of_d["error"].is_null(), "{of_d}");
    assert_eq!(of_d["flags"], json!(["not-diffusive"]));
    for text in [analysis.text(), info(&path).unwrap()] {
        let line = text.lines().find(|line| line.contains("not-diffusive"));
        let line = line.unwrap_or_else(|| panic!("no flag in {text}"));
        assert!(line.contains("MSD ~ t^0.") && line.contains("is not linear in t"), "{line}");
    }
    assert!(info(&path).unwrap().contains("D_A = - ("));
}

/// Energies whose halves differ, by less than single samples scatter; and stages that are short beside their relaxation.
#[test]
fn what_ages_and_what_is_short_is_flagged_in_all_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let with_energy = |name: &str, drift: f64, unit: f64| {
        let path = written(folder.path(), name, &Liquid::new(0.7, 4));
        let mut noise = Noise(9);
        let file = hdf5::File::append(&path).unwrap();
        let temperature = file.group("observables/temperature").unwrap();
        let time = temperature.dataset("time").unwrap();
        time.write(&time.read_1d::<f64>().unwrap().mapv(|t| unit * t)).unwrap();
        let group = file.create_group("observables/potential_energy").unwrap();
        let value = Array1::from_iter(
            (0..256).map(|k| 0.01 * noise.normal() - drift * f64::from(k + 10).ln()),
        );
        group.new_dataset_builder().with_data(&value).create("value").unwrap();
        for name in ["step", "time"] {
            file.link_hard(
                &format!("observables/temperature/{name}"),
                &format!("observables/potential_energy/{name}"),
            )
            .unwrap();
        }
        path
    };
    let flags = |path: &Path| {
        let analysis = analyze(&[path], None).unwrap();
        let flags: Vec<Vec<Flag>> = analysis.rows().map(|row| row.flags.clone()).collect();
        assert!(flags.len() == 5 && flags.iter().all(|one| *one == flags[0]), "{flags:?}");
        let notes = [analysis.text(), info(path).unwrap()];
        (flags[0].clone(), notes)
    };
    assert_eq!(flags(&with_energy("rests.h5", 0.0, 1.0)).0, []);
    let (found, notes) = flags(&with_energy("ages.h5", 0.008, 1.0));
    assert_eq!(found, [Flag::NotStationary]);
    assert!(notes.iter().all(|text| text.contains("potential energy -0.0")), "{notes:?}");
    // tau is 2.4.
    for (unit, flag, how) in [
        (0.05, Flag::ShorterThanTenTau, "less than ten of them"),
        (0.005, Flag::ShorterThanTau, "cannot have been in equilibrium"),
    ] {
        let (found, notes) = flags(&with_energy(&format!("{unit}.h5"), 0.0, unit));
        assert_eq!(found, [flag]);
        assert!(notes.iter().all(|text| text.contains(how)), "{notes:?}");
    }
}

/// Displacements and F_s that change in the course of a stage: in one run at three lags and more, by eight errors; in each of
/// five runs by three errors, which shows in their mean.
#[test]
fn functions_that_change_in_the_course_of_a_stage_are_flagged() {
    const MSD: &str = "mean_square_displacement";
    const FS: &str = "self_intermediate_scattering_function";
    let folder = tempfile::tempdir().unwrap();
    let changed = |seed: u64, function: &str, share: f64, errors: f64, lags: usize| {
        let name = format!("{function}{share}{errors}{lags}{seed}.h5");
        let path = written(folder.path(), &name, &Liquid::new(0.7, seed));
        let mut noise = Noise(seed);
        let file = hdf5::File::append(&path).unwrap();
        let group = file.group(&format!("dynamics/A/{function}")).unwrap();
        let value = group.dataset("value").unwrap();
        // Where F_s has not decayed; late, where particles diffuse.
        let first = if function == FS { 10 } else { value.size() - 12 };
        let mut of = |k: usize, value: f64| match (first..first + lags).contains(&k) {
            true => share * value * (1.0 + 0.1 * noise.normal()),
            false => 0.0,
        };
        let changes: Vec<f64> = value
            .read_raw::<f64>()
            .unwrap()
            .into_iter()
            .enumerate()
            .map(|(k, x)| of(k, x))
            .collect();
        let sigmas: Vec<f64> = changes.iter().map(|x| x.abs().max(1e-4) / errors).collect();
        for (name, values) in [("change", changes), ("change_error", sigmas)] {
            let array = Array1::from(values).into_shape_with_order(value.shape()).unwrap();
            group.new_dataset_builder().with_data(&array).create(name).unwrap();
        }
        path
    };
    let notes = |files: &[PathBuf]| {
        let analysis = analyze(files, None).unwrap();
        let flagged =
            analysis.rows().filter(|row| row.flags.contains(&Flag::NotStationary)).count();
        assert!(flagged == 0 || flagged == analysis.rows().count());
        (flagged > 0, analysis.text())
    };
    let (flagged, text) = notes(&[changed(1, MSD, -0.2, 8.0, 3)]);
    assert!(flagged && text.contains("mean square displacement of A changes by -"), "{text}");
    let (flagged, text) = notes(&[changed(1, FS, 0.5, 8.0, 8)]);
    assert!(flagged && text.contains("F_s of A at q = "), "{text}");
    for (share, errors, lags) in [(-0.2, 8.0, 2), (-0.2, 3.0, 8), (-0.02, 8.0, 8)] {
        assert!(!notes(&[changed(2, MSD, share, errors, lags)]).0, "{share}, {errors}, {lags}");
    }
    let five: Vec<PathBuf> = (0..5).map(|seed| changed(10 + seed, MSD, -0.2, 3.0, 8)).collect();
    let (flagged, text) = notes(&five);
    assert!(flagged && text.contains("on average over the runs"), "{text}");
}

/// Velocities whose autocorrelation is `3 T cos(w t) exp(-t^2 / 2 s^2)`: D = T s (pi / 2)^(1/2) exp(-(w s)^2 / 2).
#[test]
fn velocities_give_d_with_a_jackknife_over_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (width, frequency) = (0.2_f64, 5.0_f64);
    let files = [1, 2, 3, 4, 5].map(|seed| {
        let path = written(folder.path(), &format!("run{seed}.h5"), &Liquid::new(0.7, seed));
        let mut noise = Noise(seed);
        // Equal lags, and three of the next level.
        let time: Vec<f64> =
            (0..100).map(|k| 0.04 * f64::from(k)).chain([4.0, 8.0, 12.0]).collect();
        let value: Vec<f64> = time
            .iter()
            .map(|t| {
                let decay = (-t * t / (2.0 * width * width)).exp();
                2.1 * (frequency * t).cos() * decay + 0.002 * noise.normal()
            })
            .collect();
        let file = hdf5::File::append(&path).unwrap();
        let group = file.create_group("dynamics/A/velocity_autocorrelation").unwrap();
        for (name, values) in [("time", &time), ("value", &value), ("error", &vec![0.002; 103])] {
            let array = Array1::from(values.clone());
            group.new_dataset_builder().with_data(&array).create(name).unwrap();
        }
        path
    });
    let expected = 0.7
        * width
        * (0.5 * std::f64::consts::PI).sqrt()
        * (-0.5 * (width * frequency).powi(2)).exp();
    let one = analyze(&files[..1], None).unwrap();
    is(row(&one, "D_vacf"), expected, 4.0, 0.02);
    assert_eq!(row(&one, "D_vacf").error_from, "fit");
    let all = analyze(&files, None).unwrap();
    is(row(&all, "D_vacf"), expected, 4.0, 0.01);
    assert!(row(&all, "D_vacf").to <= 3.96, "{:?}", row(&all, "D_vacf"));
}

/// Green-Kubo integrals `eta (1 - exp(-t / tau))` of the stress over 2,500 units of time, whose noise is a random walk. That of a
/// slow decay still rises where noise rules: there is NaN in any table.
#[test]
fn viscosities_of_what_has_decayed_have_errors_and_others_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let eta = 3.0;
    let file = |seed: u64, tau: f64| {
        let path = written(folder.path(), &format!("{seed}_{tau}.h5"), &Liquid::new(0.7, seed));
        let time: Vec<f64> = (0..45).map(|k| 0.02 * 10_f64.powf(0.1 * f64::from(k))).collect();
        let error: Vec<f64> = time.iter().map(|t| eta * (4.0 * t / 12_500.0).sqrt()).collect();
        let (mut noise, mut walk, mut before) = (Noise(seed), 0.0, 0.0);
        let value: Vec<f64> = (0..time.len())
            .map(|k| {
                walk += (error[k] * error[k] - before).sqrt() * noise.normal();
                before = error[k] * error[k];
                eta * (1.0 - (-time[k] / tau).exp()) + walk
            })
            .collect();
        let file = hdf5::File::append(&path).unwrap();
        let group = file.create_group("dynamics/all-particles/shear_viscosity").unwrap();
        for (name, values) in [("time", time), ("value", value), ("error", error)] {
            group.new_dataset_builder().with_data(&Array1::from(values)).create(name).unwrap();
        }
        path
    };
    let fast: Vec<PathBuf> = (1..=6).map(|seed| file(seed, 0.5)).collect();
    for (runs, error_from) in [(1, "fit"), (3, "fit"), (6, "jackknife")] {
        let analysis = analyze(&fast[..runs], None).unwrap();
        let found = row(&analysis, "eta");
        is(found, eta, 3.0, 0.3);
        // Noise rules from 195 times the number of runs on, later where it makes the integral larger.
        let latest = 250.0 * runs as f64;
        assert!(found.flags.is_empty() && found.from >= 1.0 && found.to <= latest, "{found:?}");
        assert!(found.error_from == error_from || runs == 3, "{found:?}");
    }
    let path = file(7, 60.0);
    let analysis = analyze(&[&path], None).unwrap();
    let found = row(&analysis, "eta");
    assert!(found.flags == [Flag::NotDecayed] && !found.is_given(), "{found:?}");
    assert!(analysis.csv().contains("not-decayed"), "{}", analysis.csv());
    for text in [analysis.text(), info(&path).unwrap()] {
        let line = text.lines().find(|line| line.contains("not-decayed"));
        let line = line.unwrap_or_else(|| panic!("no flag in {text}"));
        assert!(line.contains("no plateau up to t = "), "{line}");
    }
}

#[test]
fn fitted_curves_go_through_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let liquid = Liquid::new(0.7, 4);
    let file = written(folder.path(), "one.h5", &liquid);
    let analysis = analyze(&[file], None).unwrap();
    let [line, decay] = &analysis.state_points[0].curves[..] else { panic!("two fits") };
    for (&t, &value) in line.time.iter().zip(&line.value) {
        let truth = 6.0 * liquid.d() * t + 0.02;
        assert!((value / truth - 1.0).abs() < 0.05, "{t}: {value} {truth}");
    }
    for (&t, &value) in decay.time.iter().zip(&decay.value) {
        let truth = (-(t / liquid.tau()).powf(0.7)).exp();
        assert!((value - truth).abs() < 0.03, "{t}: {value} {truth}");
    }
    let d = row(&analysis, "D");
    assert_eq!((line.time[0], *line.time.last().unwrap()), (d.from, d.to));
    let figure = folder.path().join("one.png");
    supercool_analysis::plot_analysis(&analysis, &figure).unwrap();
    assert!(std::fs::read(&figure).unwrap().starts_with(b"\x89PNG"));
}

/// 1,000 particles: `D_cm` is 7e-4, 16 % of `D`.
#[test]
fn figures_say_which_curves_contain_motion_of_the_centre_of_mass() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, remove_drift: bool| {
        let (set, remove_drift) = (Some(0.7), Some(remove_drift));
        written(folder.path(), name, &Liquid { set, remove_drift, ..Liquid::new(0.7, 4) })
    };
    let (moved, removed) = (file("moved.h5", false), file("removed.h5", true));
    let analysis = analyze(std::slice::from_ref(&moved), None).unwrap();
    assert!(row(&analysis, "D").flags.contains(&Flag::CenterOfMassMotion));
    let figure = folder.path().join("figure.svg");
    let notes = |sentence: &str| {
        let svg = std::fs::read_to_string(&figure).unwrap();
        (svg.matches("centre of mass").count(), svg.matches(sentence).count())
    };
    // Of the displacement and of F_s.
    const ALONE: &str = "contains motion of the centre of mass";
    let of_files = |files: &[PathBuf]| {
        supercool_analysis::plot(files, &figure, &[], &Default::default()).unwrap()
    };
    of_files(std::slice::from_ref(&moved));
    assert_eq!(notes(ALONE), (2, 2));
    of_files(std::slice::from_ref(&removed));
    assert_eq!(notes(ALONE), (0, 0));
    of_files(&[moved.clone(), removed.clone()]);
    assert_eq!(notes("moved: motion of the centre of mass"), (2, 2));
    supercool_analysis::plot_analysis(&analysis, &figure).unwrap();
    assert_eq!(notes(ALONE), (2, 2));
    let [moved, removed] = [moved, removed].map(|file| supercool_analysis::report(&file).unwrap());
    assert_eq!((moved.matches(ALONE).count(), removed.matches(ALONE).count()), (2, 0));
}

#[test]
fn independent_runs_are_averaged_and_their_jackknife_counts_noise_that_is_not_reported() {
    const TOLD: f64 = 0.2;
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (1..=12)
        .map(|seed| {
            written(
                folder.path(),
                &format!("{seed}.h5"),
                &Liquid { told: TOLD, ..Liquid::new(0.7, seed) },
            )
        })
        .collect();
    assert_eq!(results_files(&[folder.path().to_owned()]).unwrap().len(), 12);
    let analysis = analyze(&files, None).unwrap();
    assert_eq!(analysis.state_points.len(), 1);
    let d = row(&analysis, "D");
    is(d, Liquid::new(0.7, 0).d(), 4.0, 0.01);
    // Common noise of 1 % / 2^(1/2) alone gives this in D; 11 degrees of freedom.
    let expected = ERROR * 0.5_f64.sqrt() / 12_f64.sqrt() * d.estimate.value;
    assert!((0.4..2.0).contains(&(d.estimate.error / expected)), "{d:?} {expected}");
    assert_eq!(d.error_from, "jackknife");
    assert_eq!(row(&analyze(&files[..1], None).unwrap(), "D").error_from, "fit");

    let average = &analysis.state_points[0].averages[0].curves[0];
    for k in 0..average.mean.len() {
        let scatter = average.scatter[k] / average.mean[k];
        assert!((0.3..2.0).contains(&(scatter / ERROR)), "{scatter}");
        let error = average.error[k] / average.scatter[k];
        assert!((error - (11.0 / 9.0 / 12.0_f64).sqrt()).abs() < 1e-12, "{error}");
    }
    let table = analysis.averages_csv();
    assert_eq!(table.lines().count(), 1 + 2 * 61);
    assert!(table.lines().all(|line| line.split(',').count() == 9));
}

/// Ten runs under one thermostat whose measured temperatures scatter by 2 %, and one under another.
#[test]
fn seeds_of_one_plan_are_one_state_point_whatever_temperature_they_measure() {
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> = (0..10_u32)
        .map(|k| {
            let temperature = 0.7 + 0.014 * f64::from((k * 7) % 10) / 4.5 - 0.014;
            let liquid = Liquid { set: Some(0.7), ..Liquid::new(temperature, u64::from(k)) };
            written(folder.path(), &format!("{k}.h5"), &liquid)
        })
        .collect();
    let other = Liquid { set: Some(0.705), ..Liquid::new(0.7, 99) };
    files.push(written(folder.path(), "other.h5", &other));
    let analysis = analyze(&files, None).unwrap();
    let runs: Vec<usize> = analysis.state_points.iter().map(|point| point.files.len()).collect();
    assert!(runs == [1, 10] || runs == [10, 1], "{runs:?}");
    let text = analysis.text();
    let how = "(10 runs; thermostat langevin, T = 0.7; plans differ in the seed only)";
    assert!(text.contains(how), "{text}");
    // Measured temperatures decide where that is asked for.
    let by_temperature = analyze(&files, Some(0.005)).unwrap();
    assert!(by_temperature.state_points.len() > 2, "{}", by_temperature.text());
    assert!(by_temperature.text().contains("measured temperatures within 0.5 %"));
}

#[test]
fn temperatures_give_vft_and_mode_coupling() {
    let folder = tempfile::tempdir().unwrap();
    let temperatures = [1.2, 1.0, 0.85, 0.75, 0.65, 0.6, 0.55];
    let files: Vec<PathBuf> = (0..7)
        .map(|k| {
            let liquid = Liquid::new(temperatures[k], 100 + k as u64);
            written(folder.path(), &format!("T{}.h5", temperatures[k]), &liquid)
        })
        .collect();
    let analysis = analyze(&files, None).unwrap();
    assert_eq!(analysis.state_points.len(), 7);
    is(row(&analysis, "T0_vft"), 0.3, 4.0, 0.2);
    is(row(&analysis, "B_vft"), 1.0, 4.0, 0.5);
    is(row(&analysis, "tau0_vft"), 0.2, 4.0, 0.5);
    is(row(&analysis, "Tc_mct(D)"), 0.4, 4.0, 0.05);
    is(row(&analysis, "gamma_mct(D)"), 2.0, 4.0, 0.1);

    let json: serde_json::Value = serde_json::from_str(&analysis.json()).unwrap();
    assert_eq!(json["state_points"].as_array().unwrap().len(), 7);
    assert_eq!(json["state_points"][0]["estimates"][0]["quantity"], "D");
    assert!(json["over_temperature"][0]["error"].as_f64().unwrap() > 0.0);
    let csv = analysis.csv();
    assert_eq!(csv.lines().count(), 1 + analysis.rows().count());
    assert!(csv.lines().all(|line| line.split(',').count() == 13), "{csv}");
    // D over 1/T and tau over 1/T: a point for every temperature, with both laws.
    assert_eq!(analysis.series.iter().map(|series| series.points.len()).sum::<usize>(), 14);
    let tau = analysis.series.iter().find(|series| series.quantity == "tau").unwrap();
    for at in &tau.points {
        let law = tau.vft.unwrap().at(at.temperature.value);
        assert!((law / at.quantity.value - 1.0).abs() < 0.05, "{law} {at:?}");
    }
    let figure = folder.path().join("figure.svg");
    supercool_analysis::plot_analysis(&analysis, &figure).unwrap();
    let svg = std::fs::read_to_string(&figure).unwrap();
    for part in ["\nT\n", "VFT", "mode coupling", "KWW", "2dDt + c", "1 / T", "τ,  q = 7.25"] {
        assert!(svg.contains(part), "no {part} in the figure");
    }
    let text = analysis.text();
    assert!(text.contains("T0_vft") && text.contains("window"), "{text}");
}

#[test]
fn files_that_do_not_belong_together_are_errors_that_name_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let first = written(folder.path(), "first.h5", &Liquid::new(0.7, 1));
    let others = [
        (Liquid { density: 1.1, ..Liquid::new(0.7, 2) }, "density"),
        (Liquid { dimension: 2, ..Liquid::new(0.7, 2) }, "dimension"),
        (Liquid::new(0.7, 1), "not an independent run"),
    ];
    for (other, what) in others {
        let second = written(folder.path(), "second.h5", &other);
        let message = analyze(&[&first, &second], None).unwrap_err().to_string();
        for part in ["second.h5", "first.h5", what] {
            assert!(message.contains(part), "no {part} in: {message}");
        }
    }
    // What cannot be averaged stands by itself.
    let others = [
        (
            Liquid { longest: 50, ..Liquid::new(0.7, 2) },
            "other times of A/mean_square_displacement",
        ),
        (
            Liquid { scattering: false, ..Liquid::new(0.7, 2) },
            "only the second has A/self_intermediate",
        ),
    ];
    for (other, what) in others {
        let second = written(folder.path(), "second.h5", &other);
        let analysis = analyze(&[&first, &second], None).unwrap();
        assert_eq!(analysis.state_points.len(), 2);
        let text = analysis.text();
        for part in ["second.h5", "first.h5 are not averaged", what] {
            assert!(text.contains(part), "no {part} in: {text}");
        }
    }
    let message = results_files(&[first.clone(), first]).unwrap_err().to_string();
    assert!(message.contains("named twice"), "{message}");
}

#[test]
fn files_without_the_series_are_errors_that_say_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.h5");
    drop(hdf5::File::create(&empty).unwrap());
    let message = analyze(std::slice::from_ref(&empty), None).unwrap_err().to_string();
    for part in ["empty.h5", "mean_square_displacement", "[[stage.correlation]]"] {
        assert!(message.contains(part), "{message}");
    }
    let message = results_files(&[folder.path().to_owned()]).unwrap_err().to_string();
    assert!(message.contains("no results file *.h5 here"), "{message}");
    assert!(analyze(&[folder.path().join("missing.h5")], None).is_err());
}
