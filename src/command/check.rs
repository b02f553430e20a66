//! `supercool check`: what a configuration would run.
use std::fmt::Write;
use std::num::NonZeroU32;

use super::start::check_initial_file;
use crate::config::{self, Loaded, bytes, stage_files};
use crate::engine::EngineError;
use crate::engine::skin::{self, Processor};
use crate::plan::{
    BarostatKind, BarostatPlan, ConfigurationPlan, EngineChoice, InitialPlan, IntegrityPlan,
    LimitsPlan, Plan, Precision, ShearPlan, StagePlan, StrainPlan, Thermostat, ThermostatPlan,
    TotalEnergy,
};
use crate::potential::{
    self, Diameters, PairParameters, PairPotential, PotentialPlan, SIGMA, Truncation,
};
use crate::run::{drift, force_jump, memory, relaxation, short_period, stiffness, threads};

/// Energy of a pair at distance `r`, not truncated: what is subtracted by shifting is its value at
/// the cutoff.
pub type PlainEnergy<'a> = &'a dyn Fn(&PairPotential, &PairParameters, f64) -> f64;

/// The report, with what the run would warn of on this machine.
///
/// # Errors
/// If the initial state is a file that a run could not start from.
pub fn check(loaded: &Loaded) -> miette::Result<String> {
    let energy = |form: &_, pair: &_, r: f64| potential::bare_energy(form, pair, r);
    check_initial_file(loaded)?;
    let mut report = check_report(loaded, Some(&energy));
    let shortage = memory::shortage(&loaded.plan).map(|shortage| shortage.to_string());
    let excess = threads::excess(&loaded.plan).map(|excess| excess.to_string());
    for warning in shortage.into_iter().chain(excess) {
        let _ = writeln!(report, "\nwarning\n  {warning}");
    }
    Ok(report + &warnings(&loaded.plan))
}

/// The report, in plain text. Without `energy` the shifts at the cutoffs are left out.
pub fn check_report(loaded: &Loaded, energy: Option<PlainEnergy<'_>>) -> String {
    let plan = &loaded.plan;
    let mut report = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(report, "{}", loaded.path.display());
    system(plan, &mut report);
    potential(plan, energy, &mut report);
    run(plan, &mut report);
    stages(plan, &mut report);
    defaults(loaded, &mut report);
    report
}

/// What the run would warn of, as far as the plan and earlier results tell.
pub fn warnings(plan: &Plan) -> String {
    // Of the highest temperature.
    let of_stage = |number: usize| {
        let (plan, stage) = (plan.at_stage(number), &plan.stages[number]);
        [
            force_jump::in_minima(&plan, stage),
            force_jump::in_configurational_temperature(&plan, stage),
            drift::of_thermostat(&plan, stage),
            stiffness::of_stage(&plan, number),
            short_period::of_stage(&plan, number),
            relaxation::of_stage(&plan, number, &plan.output.directory),
        ]
    };
    let of_stages = (0..plan.stages.len()).flat_map(of_stage).flatten();
    let all = force_jump::in_pieces(plan).into_iter().chain(of_stages);
    all.map(|warning| format!("\nwarning\n  {warning}\n")).collect()
}

/// The domains of a number of ranks on the processors that the plan may run on: `engine = "auto"` takes either. Of many systems
/// how many each rank has.
///
/// # Errors
/// If the box has no room for them on any, or there are fewer systems.
pub fn domains(plan: &Plan, ranks: NonZeroU32) -> Result<String, EngineError> {
    let (systems, count) = (plan.systems(), ranks.get() as usize);
    if systems > 1 {
        if systems < count {
            return Err(EngineError::MoreRanksThanSystems { ranks: count, systems });
        }
        let (least, most) = (systems / count, systems.div_ceil(count));
        let each = if least == most { least.to_string() } else { format!("{least} or {most}") };
        return Ok(format!("\nranks\n  {count} ranks share {systems} systems: each has {each}\n"));
    }
    let processors: &[Processor] = match plan.run.engine {
        EngineChoice::Cpu => &[Processor::Cpu],
        EngineChoice::Cuda => &[Processor::Gpu],
        EngineChoice::Auto => &[Processor::Cpu, Processor::Gpu],
    };
    let mut found: Vec<_> =
        processors.iter().map(|&each| (each, domains_on(plan, ranks, each))).collect();
    if found.iter().all(|(_, domains)| domains.is_err()) {
        return found.swap_remove(0).1;
    }
    let line = |(processor, domains): (Processor, Result<String, EngineError>)| {
        let on = match processor {
            Processor::Cpu => "CPUs",
            Processor::Gpu => "GPUs",
        };
        format!("  on {on}: {}\n", domains.unwrap_or_else(|error| error.to_string()))
    };
    Ok(format!("\nranks\n{}", found.into_iter().map(line).collect::<String>()))
}

fn domains_on(plan: &Plan, ranks: NonZeroU32, processor: Processor) -> Result<String, EngineError> {
    let simulation_box = &plan.system.simulation_box;
    let ranks = ranks.get() as usize;
    let takes_tilts = plan.takes_tilts(simulation_box);
    let shared = skin::Shared { plan, simulation_box, takes_tilts, ranks, processor };
    let (grid, reach) = shared.domains()?;
    let along = |text: &dyn Fn(usize) -> String| {
        (0..simulation_box.dimension()).map(text).collect::<Vec<_>>().join(" x ")
    };
    let edges = simulation_box.edges();
    Ok(format!(
        "{ranks} domains, {}, of {} with a halo of {reach:.3}, {:.0} particles each",
        along(&|axis| grid.count()[axis].to_string()),
        along(&|axis| format!("{:.3}", edges[axis] / f64::from(grid.count()[axis]))),
        plan.system.particle_count() as f64 / grid.total() as f64
    ))
}

fn system(plan: &Plan, report: &mut String) {
    let system = &plan.system;
    let count = system.particle_count();
    let edges: Vec<String> =
        system.simulation_box.edges().iter().map(|edge| format!("{edge:.6}")).collect();
    let _ = writeln!(
        report,
        "\nsystem\n  {count} particles in {}D, box {}, number density {:.6}",
        system.simulation_box.dimension(),
        edges.join(" x "),
        count as f64 / system.simulation_box.volume()
    );
    for species in &system.species {
        let _ = writeln!(
            report,
            "  species {}: {} particles ({:.2} %), mass {}",
            species.name,
            species.count,
            100.0 * species.count as f64 / count as f64,
            species.mass
        );
    }
    let initial = match &system.initial {
        InitialPlan::Lattice { lattice, temperature } => {
            format!("{} lattice, velocities at temperature {temperature}", word(lattice))
        }
        InitialPlan::File { path, step, temperature, system, .. } => {
            let frame = step.map_or("last frame".to_owned(), |step| format!("step {step}"));
            let velocities = temperature.map_or("velocities of the file".to_owned(), |t| {
                format!("new velocities at temperature {t}")
            });
            let system = system.map_or_else(String::new, |system| format!("system {system}, "));
            format!("{system}{frame} of {}, {velocities}", path.display())
        }
    };
    let _ = writeln!(report, "  initial state: {initial}\n  seed {}", system.seed);
    if let Some(ensemble) = &plan.ensemble {
        let systems = ensemble.systems();
        let _ = writeln!(
            report,
            "\nensemble\n  {systems} systems, {} particles in all, seeds {} to {}",
            plan.particles_of_all(),
            plan.system.seed,
            plan.system.seed.wrapping_add(systems as u64 - 1)
        );
        if !ensemble.configurations.is_empty() {
            let _ = writeln!(
                report,
                "  {} runs from each of {} configurations: {}",
                ensemble.samples,
                ensemble.configurations.len(),
                configurations(&ensemble.configurations)
            );
        }
        if !ensemble.temperatures.is_empty() {
            let temperatures: Vec<String> =
                ensemble.temperatures.iter().map(f64::to_string).collect();
            let _ = writeln!(
                report,
                "  {} of each temperature: {} (\"ensemble\"; the highest stands for it below)",
                ensemble.samples,
                temperatures.join(", ")
            );
        }
        if let Some(every) = ensemble.exchange_every {
            let names = (0..plan.stages.len()).filter(|&stage| plan.exchanges_in(stage));
            let names: Vec<&str> = names.map(|stage| plan.stages[stage].name.as_str()).collect();
            let _ = writeln!(
                report,
                "  neighbors in temperature are exchanged every {every} steps in {}",
                names.join(", ")
            );
        }
    }
}

/// The files, the first and the last of many.
fn configurations(all: &[ConfigurationPlan]) -> String {
    let name = |of: &ConfigurationPlan| match of.system {
        Some(system) => format!("{} (system {system})", of.path.display()),
        None => of.path.display().to_string(),
    };
    match all {
        [first, .., last] if all.len() > 4 => format!("{}, ..., {}", name(first), name(last)),
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

fn potential(plan: &Plan, energy: Option<PlainEnergy<'_>>, report: &mut String) {
    let PotentialPlan { form, truncation, pairs, .. } = &plan.potential;
    let _ = writeln!(
        report,
        "\npotential\n  U(r) = {}\n  for r < r_c: {}; zero beyond",
        form.formula(),
        ending(truncation, form.description().has_sigma())
    );
    if let Some(diameters) = &plan.potential.diameters {
        let Diameters { non_additivity, smallest, largest } = diameters;
        let _ = writeln!(
            report,
            "  lengths of a pair in units of sigma_ij = (s_i + s_j)/2 (1 - {non_additivity} |s_i - s_j|), diameters s of \
             {smallest:.6} to {largest:.6}"
        );
    }
    let species = &plan.system.species;
    for a in 0..species.len() {
        for b in a..species.len() {
            let pair = &pairs[a][b];
            let _ = write!(report, "  {}-{}: ", species[a].name, species[b].name);
            for (parameter, value) in pair.all() {
                let _ = write!(report, "{} {value}, ", parameter.name);
            }
            let _ = write!(report, "r_c {}", pair.cutoff);
            if let Some(sigma) = pair.get(&SIGMA) {
                let _ = write!(report, " = {:.6} sigma", pair.cutoff / sigma);
            }
            if let Some(maximum) = form.inner_maximum(pair) {
                let _ = write!(report, ", inner maximum at {maximum:.6}");
            }
            if let Some(energy) = energy {
                let _ = write!(report, ", U(r_c) = {:.10e}", energy(form, pair, pair.cutoff));
            }
            report.push('\n');
            if let Some(notes) = form.notes(pair) {
                let _ = writeln!(report, "    {notes}");
            }
            if plan.run.precision != Precision::Double
                && let Some(change) = plan.potential.change_by_smoothing(pair)
            {
                let _ = writeln!(report, "    where pair forces are in 32 bits, this {change}");
            }
        }
    }
}

fn ending(truncation: &Truncation, has_sigma: bool) -> String {
    match truncation {
        Truncation::Sharp => "U(r) (sharp)".to_owned(),
        Truncation::Shifted => "U(r) - U(r_c) (shifted)".to_owned(),
        Truncation::ForceShifted => "U(r) - U(r_c) - (r - r_c) U'(r_c) (force-shifted)".to_owned(),
        Truncation::EvenQuartic => {
            "U(r) + c0 + c2 r^2 + c4 r^4, zero at r_c with two derivatives (even-quartic)"
                .to_owned()
        }
        Truncation::Smooth { width } => {
            let width = if has_sigma { format!("({width} sigma)") } else { width.to_string() };
            format!("[U(r) - U(r_c)] x^4/(1 + x^4) with x = (r - r_c)/{width} (smooth)")
        }
    }
}

fn run(plan: &Plan, report: &mut String) {
    let run = &plan.run;
    let memory = config::memory(plan);
    let _ = writeln!(
        report,
        "\nrun\n  engine {}, precision {}, timestep {}\n  memory about {}: particles {}, \
         neighbor lists {}, correlation blocks {} ({} on a GPU)\n  checkpoints of about {} every {} minutes and \
         after every stage, in {}; up to {} more of memory while they are made",
        word(&run.engine),
        run.precision.name(),
        run.timestep,
        bytes(memory.total()),
        bytes(memory.particles),
        bytes(memory.neighbors),
        bytes(memory.correlations),
        bytes(memory.correlations_on_gpu),
        bytes(memory.checkpoint),
        plan.checkpoint.minutes,
        plan.output.directory.display(),
        bytes(memory.of_checkpoint())
    );
    if let Some(IntegrityPlan { recheck, segment }) = plan.integrity {
        let _ = writeln!(report, "  {segment} of every {recheck} steps are computed twice");
    }
    let LimitsPlan {
        action,
        energy_drift,
        center_of_mass_velocity,
        temperature,
        bond_order,
        crystallinity,
        demixing,
    } = plan.limits;
    for (what, bound) in [
        ("energy drift", energy_drift),
        ("centre-of-mass velocity", center_of_mass_velocity),
        ("temperature", temperature),
        ("bond-orientational order", bond_order),
        ("crystallinity", crystallinity),
        ("demixing", demixing),
    ] {
        if let Some(bound) = bound {
            let _ = writeln!(report, "  {} beyond {what} {bound}", word(&action));
        }
    }
}

fn stages(plan: &Plan, report: &mut String) {
    let _ = writeln!(
        report,
        "\nstages: {} steps in all, time {}",
        plan.total_steps(),
        tidy(plan.time(plan.stages.len() - 1, plan.total_steps()))
    );
    let mut disk = 0.0;
    for (number, stage) in plan.stages.iter().enumerate() {
        let own = stage.timestep.map_or_else(String::new, |own| format!(" of {own}"));
        let _ = writeln!(
            report,
            "  {}: {} steps{own}, time {}, {}",
            stage.name,
            stage.steps,
            tidy(stage.steps as f64 * plan.timestep_of(number)),
            conditions(plan, stage) + &ensemble(stage)
        );
        for (name, size) in stage_files(&plan.at_stage(number), stage) {
            let _ = writeln!(report, "    {name}: {}", bytes(size));
            disk += size;
        }
    }
    let _ = writeln!(report, "  files about {} in all", bytes(disk));
}

/// A time without the digits that products of binary numbers add.
fn tidy(time: f64) -> f64 {
    format!("{time:.10e}").parse().unwrap_or(time)
}

/// What is changed at the start or in the course of a stage.
fn conditions(plan: &Plan, stage: &StagePlan) -> String {
    let mut text = String::new();
    if let Some(minimize) = &stage.minimize {
        let tolerance = minimize.descent.force_tolerance;
        let velocities = match minimize.temperature {
            Some(temperature) => format!("new velocities at temperature {temperature}"),
            None => "velocities zero".to_owned(),
        };
        text += &format!("from the energy minimum (forces below {tolerance:e}, {velocities}), ");
    }
    if stage.draw_velocities {
        text += "with new velocities at the thermostat's temperature, ";
    }
    if let Some(rescale) = &stage.rescale {
        let to = match rescale.to_mean_of {
            Some(of) => format!("the mean density of {}", plan.stages[of].name),
            None => {
                let edges = rescale.to.edges().iter().map(|edge| format!("{edge:.6}"));
                format!("a box of {}", edges.collect::<Vec<_>>().join(" x "))
            }
        };
        text += &format!("to {to} every {} steps, ", rescale.every);
    }
    if let Some(shear) = &stage.shear {
        text += &match shear {
            ShearPlan::Steady { rate } => format!("sheared at rate {rate}, "),
            ShearPlan::Oscillatory { amplitude, period } => {
                format!("sheared back and forth, strain {amplitude} sin(2 pi t / {period}), ")
            }
        };
    }
    if let Some(BarostatPlan { kind, pressure, every, .. }) = &stage.barostat {
        let pressure = match pressure.from == pressure.to {
            true => pressure.from.to_string(),
            false => format!("{} to {}", pressure.from, pressure.to),
        };
        let how = match kind {
            BarostatKind::CellRescaling => format!("cell rescaling, a trial every {every} steps"),
            BarostatKind::Mtk => "a piston with a chain of thermostats".to_owned(),
        };
        text += &format!("at pressure {pressure} ({how}), ");
    }
    text
}

/// What a stage of strain does.
fn strain(strain: &StrainPlan) -> String {
    let turns: Vec<String> =
        strain.turns.iter().map(|&turn| tidy(strain.strain(turn)).to_string()).collect();
    let [of_box, stress] = strain.mode.formulas();
    let halving =
        strain.halve_to.map_or_else(String::new, |to| format!(", halved to {to:e} at events"));
    format!(
        "quasi-static strain e to {} in steps of {}{halving}; {of_box}; stress {stress}; minima with forces below {:e}",
        turns.join(", "),
        strain.step,
        strain.descent.force_tolerance
    )
}

fn ensemble(stage: &StagePlan) -> String {
    if let Some(of_stage) = &stage.strain {
        return strain(of_stage);
    }
    match (&stage.thermostat, &stage.set_total_energy) {
        (Some(thermostat), _) => describe_thermostat(thermostat),
        (None, Some(TotalEnergy::Value(energy))) => {
            format!("microcanonical at total energy {energy} per particle")
        }
        (None, Some(TotalEnergy::MeanOf(stage))) => {
            format!("microcanonical at the mean total energy of {stage}")
        }
        (None, None) => "microcanonical".to_owned(),
    }
}

fn describe_thermostat(thermostat: &ThermostatPlan) -> String {
    let ramp = &thermostat.temperature;
    let temperature = if ramp.from == ramp.to {
        format!("temperature {}", ramp.from)
    } else {
        format!("temperature {} to {}", ramp.from, ramp.to)
    };
    let kind = match thermostat.kind {
        Thermostat::Andersen { rate, exact } => {
            let exact = if exact { ", scaled exactly" } else { "" };
            format!("andersen with rate {rate}{exact}")
        }
        Thermostat::NoseHoover { period, chain_length } => {
            format!("nose-hoover with period {period}, chain of {chain_length}")
        }
        Thermostat::Bussi { time } => format!("bussi with relaxation time {time}"),
        Thermostat::Isokinetic => "isokinetic".to_owned(),
        Thermostat::Langevin { friction } => format!("langevin with friction {friction}"),
        Thermostat::Brownian { friction } => format!("brownian with friction {friction}"),
    };
    format!("{temperature}, {kind}")
}

fn defaults(loaded: &Loaded, report: &mut String) {
    report.push_str("\nnot written in the file, filled in\n");
    for default in &loaded.defaults {
        let _ = writeln!(report, "  {} = {}", default.key, default.value);
    }
}

/// The word of the configuration file.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
