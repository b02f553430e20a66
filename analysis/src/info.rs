//! What a file holds, as text.
mod aging;
mod strain;

use std::fmt::Write;
use std::path::Path;

use crate::analyze::{self, Row};
use crate::fit::Estimate;
use crate::flow::Flow;
use crate::format::{Format, format_of};
use crate::numbers::{named, short, with_error};
use crate::oscillation::{FEWEST_SAMPLES, Oscillation};
use crate::overview::{Overview, SeriesOverview};
use crate::response::ResponseFunctions;
use crate::results::{Ensemble, Function, OfSpecies, Propensities, ResultsFile};
use crate::{Exchanges, Frame, Result, TrajectoryReader, open, read_consistent};

/// Sets of systems that are described, at most: there may be hundreds of configurations.
pub(crate) const MOST_SETS: usize = 20;

/// Describes a results file or a trajectory of any format that [`open`] reads.
pub fn info(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    match format_of(path)? {
        Format::Hdf5 => read_consistent(path, || {
            let files = ResultsFile::open_averages(path)?;
            let text = |file: &ResultsFile| hdf5_info(file, &Overview::of(file)?);
            let shown = files.iter().take(MOST_SETS);
            let mut all = shown.map(text).collect::<Result<Vec<_>>>()?.join("\n");
            if let Some(exchanges) = files.first().and_then(Exchanges::of_file) {
                let _ = write!(all, "\n{}", exchanges.text());
            }
            Ok(all + &after_sets(&files)?)
        }),
        _ => trajectory_info(&*open(path)?),
    }
}

/// As [`info`], of an open HDF5 file.
pub(crate) fn hdf5_info(file: &ResultsFile, overview: &Overview) -> Result<String> {
    let mut text = format!("{}: HDF5", file.path().display());
    if let Some(label) = file.label() {
        let _ = write!(text, ", {label}");
    }
    if let Some(creator) = file.creator() {
        let _ = write!(text, ", written by {creator}");
    }
    text.push('\n');
    text += &parameters(file);
    text += &thermodynamics(&overview.series);
    text += &ramp(file).unwrap_or_default();
    text += &response_functions(file)?;
    text += &flow(file)?;
    text += &oscillation(file)?;
    text += &functions("Time correlations", &overview.dynamics);
    text += &aging::text(&overview.aging);
    text += &functions("Structure", &overview.structure);
    text += &overview.strain.as_ref().map_or_else(String::new, strain::text);
    text += &estimates(file, &overview.dynamics)?;
    text += &aging::relaxation_times(&overview.aging);
    let particles = file.members("particles");
    if !particles.is_empty() {
        text.push('\n');
        if file.ensemble().is_some() && particles.len() > 1 {
            let _ = writeln!(text, "Trajectories of {} systems; of the first:", particles.len());
        }
        text += &trajectory_info(&*open(file.path())?)?;
    }
    Ok(text)
}

/// How many systems averages are made over, and what their errors are worth.
fn systems(ensemble: &Ensemble) -> String {
    let each = ensemble.of_each();
    let errors = match ensemble.samples {
        1 => "a single one, without errors from their scatter",
        2 | 3 => {
            "averages over them; from the scatter of few, errors are intervals of 68 %, uncertain themselves"
        }
        _ => "averages over them, errors from their scatter",
    };
    format!("{}{each} ({errors})", ensemble.samples)
}

/// What follows the descriptions of the first sets of systems of a file.
pub(crate) fn after_sets(files: &[ResultsFile]) -> Result<String> {
    let mut text = String::new();
    if let Some(more) = files.len().checked_sub(MOST_SETS).filter(|&more| more > 0) {
        let _ = writeln!(text, "\n... and {more} sets of systems more.");
    }
    if let Some(propensities) = files[0].propensities()? {
        text += &propensities_text(&propensities);
    }
    Ok(text)
}

/// What the configurations determine of the motion of particles, at the last time.
fn propensities_text(of: &Propensities) -> String {
    let mut text = format!("\nPropensities at {} of {} times", of.measured, of.times);
    let Some(last) = of.last else { return text + "\n" };
    let _ = writeln!(
        text,
        "; at t = {} mean and predictable share (error by a jackknife over {})",
        short(last),
        of.jackknife_over
    );
    let width = of.observables.iter().map(|each| each.name.len()).max().unwrap_or(0);
    for each in &of.observables {
        for OfSpecies { species, mean, predictable_share, error } in &each.species {
            let share = match (predictable_share.is_nan(), error.is_nan()) {
                (true, _) => "-".into(),
                (false, true) => format!("{} (no error)", short(*predictable_share)),
                _ => estimate(Estimate { value: *predictable_share, error: *error }),
            };
            let (name, mean) = (&each.name, short(*mean));
            let _ = writeln!(text, "  {species} {name:<width$} {mean:>12} {share:>20}");
        }
    }
    text
}

fn parameters(file: &ResultsFile) -> String {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            lines.push(format!("  {name:<12} {value}\n"));
        }
    };
    let plan = file.plan().unwrap_or_default();
    line("stage", file.parameter("stage"));
    line(
        "progress",
        file.number("progress/step").map(|step| {
            let complete = file.number("progress/complete") == Some(1.0);
            format!(
                "step {step:.0}, {}",
                if complete { "stage complete" } else { "stage not complete" }
            )
        }),
    );
    line("systems", file.ensemble().map(|ensemble| systems(&ensemble)));
    let species = file.species();
    let total: u64 = species.iter().map(|(_, count)| count).sum();
    let each = species.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>();
    line("particles", (total > 0).then(|| format!("{total} ({})", each.join(", "))));
    let classes = file.classes().into_iter().map(|of| format!("{} {}", of.label, of.particles));
    let classes: Vec<String> = classes.collect();
    line("classes", (!classes.is_empty()).then(|| classes.join(", ")));
    let simulation_box = &plan["system"]["simulation_box"];
    let dimension = simulation_box["dimension"].as_u64().unwrap_or(3) as usize;
    let edges: Vec<f64> = simulation_box["edges"]
        .as_array()
        .map(|edges| edges.iter().filter_map(|edge| edge.as_f64()).take(dimension).collect())
        .unwrap_or_default();
    line("box", (!edges.is_empty()).then(|| box_text(&edges, total as usize)));
    line("potential", potential(&plan["potential"]));
    line("timestep", file.number("parameters/timestep").map(|timestep| timestep.to_string()));
    line("precision", file.parameter("precision"));
    line("seed", file.number("parameters/seed").map(|seed| format!("{seed:.0}")));
    line("hardware", file.parameter("hardware").and_then(|json| hardware(&json)));
    lines.concat()
}

/// Words as they are, numbers and versions with their names.
fn hardware(json: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let part = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(word) if word.starts_with(|first: char| !first.is_ascii_digit()) => word.to_owned(),
        _ => {
            let (name, value) = named(name, value);
            format!("{name} {value}")
        }
    };
    Some(value.as_object()?.iter().map(part).collect::<Vec<_>>().join(", "))
}

fn box_text(edges: &[f64], particles: usize) -> String {
    let shown: Vec<String> = edges.iter().map(|edge| format!("{edge:.6}")).collect();
    let mut text = format!("{} ({}D)", shown.join(" x "), edges.len());
    if particles > 0 {
        let density = particles as f64 / edges.iter().product::<f64>();
        let _ = write!(text, ", density {density:.6}");
    }
    text
}

/// Form, truncation and cutoffs as the plan states them.
fn potential(plan: &serde_json::Value) -> Option<String> {
    let form = plan["form"]["kind"].as_str()?;
    let truncation = plan["truncation"]["kind"].as_str().unwrap_or("?");
    let mut cutoffs: Vec<f64> = plan["pairs"]
        .as_array()?
        .iter()
        .flat_map(|row| row.as_array().into_iter().flatten())
        .filter_map(|pair| pair["cutoff"].as_f64())
        .collect();
    cutoffs.sort_by(f64::total_cmp);
    cutoffs.dedup();
    let cutoffs: Vec<String> = cutoffs.iter().map(|cutoff| cutoff.to_string()).collect();
    Some(format!("{form}, truncation {truncation}, cutoffs {}", cutoffs.join(", ")))
}

/// Of a stage at constant pressure.
fn response_functions(file: &ResultsFile) -> Result<String> {
    let Some(of) = ResponseFunctions::of(file)? else { return Ok(String::new()) };
    let mut text = format!(
        "\nResponse functions at T = {}, P = {}, density {}{}\n",
        of.temperature,
        of.pressure,
        number_of(of.density),
        if of.is_drifting { ": NOT IN EQUILIBRIUM, volumes of the halves differ" } else { "" }
    );
    for (name, value) in
        [("c_p / N", of.heat_capacity), ("kappa_T", of.compressibility), ("alpha_p", of.expansion)]
    {
        let _ = writeln!(text, "  {name:<10} {:>20}", number_of(value));
    }
    Ok(text)
}

/// A number that has no error says so.
fn number_of(of: Estimate) -> String {
    match of.error.is_nan() {
        true => format!("{} (no error)", short(of.value)),
        false => estimate(of),
    }
}

/// Of a stage under steady shear.
fn flow(file: &ResultsFile) -> Result<String> {
    let Some(of) = Flow::of(file)? else { return Ok(String::new()) };
    let mut text = format!(
        "\nShear at rate {}, strain {}{}\n",
        of.rate,
        short(of.strain),
        if of.is_drifting { ": NOT STEADY, stresses of the halves differ" } else { "" }
    );
    for (name, value) in [("s_xy", of.stress), ("viscosity", of.viscosity)] {
        let _ = writeln!(text, "  {name:<10} {:>20}", number_of(value));
    }
    Ok(text)
}

/// Of a stage under oscillatory shear.
fn oscillation(file: &ResultsFile) -> Result<String> {
    let Some(of) = Oscillation::of(file)? else { return Ok(String::new()) };
    let mut text = format!(
        "\nShear back and forth: strain {}, omega = {}, whole periods: {}",
        of.amplitude,
        short(std::f64::consts::TAU / of.period),
        of.periods
    );
    let Some(moduli) = of.moduli else {
        let _ = writeln!(
            text,
            "\n  no moduli: they need a whole period, and {FEWEST_SAMPLES} samples in each"
        );
        return Ok(text);
    };
    text += if moduli.is_drifting { ": NOT STEADY, moduli of the halves differ\n" } else { "\n" };
    for (name, value) in [("G'", moduli.storage), ("G''", moduli.loss)] {
        let _ = writeln!(text, "  {name:<10} {:>20}", number_of(value));
    }
    Ok(text)
}

/// Of a stage at no constant temperature there are no means.
fn ramp(file: &ResultsFile) -> Option<String> {
    let stage = file.stage_plan()?;
    let thermostat = &stage["thermostat"]["temperature"];
    let (from, to) = (thermostat["from"].as_f64()?, thermostat["to"].as_f64()?);
    (from != to).then(|| {
        format!(
            "  The thermostat goes from T = {} to {}: means over the ramp, whose errors say nothing.\n",
            short(from),
            short(to)
        )
    })
}

fn thermodynamics(series: &[SeriesOverview]) -> String {
    let first = series.iter().find_map(|each| each.steps.map(|steps| (each, steps)));
    let Some((first, (from, to))) = first else {
        return String::new();
    };
    let mut text = String::from("\nObservables");
    let _ = write!(text, ": {} samples, steps {from} to {to}", first.samples);
    if let Some((from, to)) = first.times {
        let _ = write!(text, ", time {} to {}", short(from), short(to));
    }
    let _ = write!(text, "\n  {:<28} {:>14} {:>10}\n", "", "mean", "error");
    for each in series {
        if each.shape.is_empty() {
            let (value, error) = with_error(each.mean.value, each.mean.error);
            let _ = writeln!(text, "  {:<28} {value:>14} {error:>10}", each.name);
        } else {
            let _ = writeln!(text, "  {:<28} {:>14}", each.name, format!("{:?} each", each.shape));
        }
    }
    text
}

fn functions(title: &str, functions: &[Function]) -> String {
    if functions.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    let name_width = functions.iter().map(|function| function.name.len()).max().unwrap_or(0);
    let group_width = functions.iter().map(|function| function.group.len()).max().unwrap_or(0);
    for function in functions {
        let measured = (0..function.x.len())
            .filter(|&k| function.curves.iter().any(|curve| curve.value[k].is_finite()))
            .map(|k| function.x[k]);
        let (low, high) = measured
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let range = if low > high {
            "nothing measured yet".to_owned()
        } else {
            format!("{} {} to {}", function.argument, short(low), short(high))
        };
        let _ = write!(
            text,
            "  {:<group_width$} {:<name_width$} {:>4} points, {range}",
            function.group,
            function.name,
            function.x.len()
        );
        let wavenumbers: Vec<String> =
            function.curves.iter().filter_map(|curve| curve.wavenumber).map(short).collect();
        if !wavenumbers.is_empty() {
            let _ = write!(text, "; wavenumber {}", wavenumbers.join(", "));
        }
        if function.curves.iter().any(|curve| curve.time.is_some()) {
            let _ = write!(text, "; at {} times", function.curves.len());
        }
        text.push('\n');
    }
    text
}

/// Estimates of `supercool analyze` in short, and where susceptibilities are largest.
fn estimates(file: &ResultsFile, dynamics: &[Function]) -> Result<String> {
    let point = analyze::of_file(file, dynamics.to_vec())?;
    let mut lines: Vec<String> = point.estimates.iter().filter_map(line).collect();
    for function in dynamics.iter().filter(|function| function.name.ends_with("_susceptibility")) {
        let species = &function.group;
        for curve in &function.curves {
            let Some((time, value)) = peak(&function.x, &curve.value) else { continue };
            let of = match curve.wavenumber {
                Some(q) => format!("F_s, q = {}", short(q)),
                None => function.name.trim_end_matches("_susceptibility").replace('_', " "),
            };
            let (time, value) = (short(time), short(value));
            lines.push(format!("  chi_4 of {species} ({of}): largest {value}, at t = {time}\n"));
        }
    }
    lines.extend(point.notes.iter().map(|note| format!("  {note}\n")));
    Ok(if lines.is_empty() { String::new() } else { format!("\nEstimates\n{}", lines.concat()) })
}

/// `None` of what only `analyze` prints: stretched exponentials.
fn line(row: &Row) -> Option<String> {
    let species = &row.species;
    let (name, how) = match row.quantity.as_str() {
        "D" => (format!("D_{species}"), "slope of the displacement"),
        "D_vacf" => (format!("D_{species} of velocities"), "Green-Kubo"),
        "eta" => ("eta".to_owned(), "plateau of the Green-Kubo integral"),
        "tau" => {
            let q = row.wavenumber.map(|q| format!("(q = {})", short(q))).unwrap_or_default();
            (format!("tau_{species}{q}"), "")
        }
        _ => return None,
    };
    let value = if row.is_given() { estimate(row.estimate) } else { "-".into() };
    let range = format!("t = {} to {}", short(row.from), short(row.to));
    let words = [how.to_owned(), row.said(), range];
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    Some(format!("  {name} = {value} ({})\n", words.join("; ")))
}

/// With its error, where it is known.
fn estimate(of: Estimate) -> String {
    if !(of.error > 0.0 && of.error.is_finite()) {
        return short(of.value);
    }
    let (value, error) = with_error(of.value, of.error);
    format!("{value} +- {error}")
}

/// Argument and value of the largest value.
fn peak(x: &[f64], value: &[f64]) -> Option<(f64, f64)> {
    let finite =
        x.iter().copied().zip(value.iter().copied()).filter(|(_, value)| value.is_finite());
    finite.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn trajectory_info(reader: &dyn TrajectoryReader) -> Result<String> {
    let mut text =
        format!("{}: {}, {} frames", reader.path().display(), reader.format(), reader.len());
    let Some(last) = reader.len().checked_sub(1) else {
        text.push('\n');
        return Ok(text);
    };
    let (first_frame, frame) = (reader.read_tilted(0)?, reader.read_tilted(last)?);
    let _ = write!(text, ", steps {} to {}", first_frame.step, frame.step);
    if let (Some(from), Some(to)) = (first_frame.time, frame.time) {
        let _ = write!(text, ", time {} to {}", short(from), short(to));
    }
    text.push('\n');
    // Some programs write what changes only at the start.
    if contents(&first_frame) != contents(&frame) {
        let _ = writeln!(text, "  first frame  {}", contents(&first_frame));
    }
    let _ = writeln!(text, "  last frame   {}", contents(&frame));
    if last > 0 && frame.id.is_none() && !reader.keeps_order() {
        text += "               no ids: particles of one frame cannot be found in another\n";
    }
    if let Some(units) = reader.units() {
        let _ = writeln!(text, "  units        {units}");
    }
    let _ =
        writeln!(text, "  particles    {} ({})", frame.particle_count(), species_counts(&frame));
    if let Some(diameters) = frame.diameter.as_ref().filter(|diameters| !diameters.is_empty()) {
        let _ = writeln!(text, "  diameters    {}", diameters_text(diameters));
    }
    let tilt = match frame.tilt {
        0.0 => String::new(),
        tilt => format!(", tilt of x along y {tilt:.6} of the edge"),
    };
    let edges = box_text(&frame.box_edges, frame.particle_count());
    let _ = writeln!(text, "  box          {edges}{tilt}");
    if let Some(temperature) = temperature(&frame).filter(|_| reader.units_are_coherent()) {
        let masses = if frame.mass.is_some() { "" } else { ", with masses of 1" };
        let _ = writeln!(text, "  temperature  {} of the last frame{masses}", short(temperature));
    }
    Ok(text)
}

fn contents(frame: &Frame) -> String {
    let mut held = vec!["positions"];
    held.extend(frame.image.as_ref().map(|_| "images"));
    held.extend(frame.velocity.as_ref().map(|_| "velocities"));
    held.extend(frame.mass.as_ref().map(|_| "masses"));
    held.extend(frame.diameter.as_ref().map(|_| "diameters"));
    held.extend(frame.id.as_ref().map(|_| "ids"));
    held.join(", ")
}

fn diameters_text(diameters: &[f64]) -> String {
    let smallest = diameters.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = diameters.iter().copied().fold(0.0, f64::max);
    if smallest == largest {
        return format!("all {}", short(largest));
    }
    let mean = diameters.iter().sum::<f64>() / diameters.len() as f64;
    format!("smallest {}, mean {}, largest {}", short(smallest), short(mean), short(largest))
}

fn species_counts(frame: &Frame) -> String {
    let mut counts = vec![0_usize; frame.species_names.len()];
    frame.species.iter().for_each(|&species| counts[species as usize] += 1);
    let each =
        frame.species_names.iter().zip(counts).map(|(name, count)| format!("{name} {count}"));
    each.collect::<Vec<_>>().join(", ")
}

/// `sum m v^2 / (d N)`; masses of 1 where the file has none.
fn temperature(frame: &Frame) -> Option<f64> {
    let velocity = frame.velocity.as_ref().filter(|velocity| !velocity.is_empty())?;
    let mass = |k: usize| frame.mass.as_ref().map_or(1.0, |mass| mass[k]);
    let twice_energy: f64 = velocity
        .iter()
        .enumerate()
        .map(|(k, v)| mass(k) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]))
        .sum();
    Some(twice_energy / (frame.dimension * velocity.len()) as f64)
}
