//! Potentials that a user writes: their kernels are written at run time.
use super::*;

/// Two species, every truncation, all functions but those of [`pieces`].
fn formula(truncation: &str, precision: &str) -> String {
    format!(
        r#"
[system]
dimension = 3
density = 1.0
seed = 5
species = [{{ name = "A", count = 200 }}, {{ name = "B", count = 56, mass = 2.0 }}]
initial = {{ temperature = 1.0 }}

[potential]
kind = "formula"
energy = "epsilon*((sigma/r)^11 - 0.1*cos(k*r)*exp(-r/sigma)/r + 0.01*log(r)*tanh(r) + sqrt(r)*sin(r)*1e-2)"
cutoff_absolute = 2.0
truncation = {truncation}
[potential.pairs]
AA = {{ epsilon = 1.0, sigma = 1.0, k = 6.0 }}
AB = {{ epsilon = 1.5, sigma = 0.9, k = 5.0 }}
BB = {{ epsilon = 0.5, sigma = 0.8, k = -4.0 }}

[run]
precision = "{precision}"
timestep = 0.003

[output]
directory = "out"

[[stage]]
name = "melt"
steps = 40
thermostat = {{ kind = "langevin", temperature = 1.0, friction = 1.0 }}
observe = {{ thermodynamics = 20, trajectory = 20 }}
[[stage]]
name = "nve"
steps = 40
observe = {{ thermodynamics = 20, trajectory = 20 }}
"#
    )
}

/// Error functions, and pieces that particles cross.
fn pieces(truncation: &str) -> String {
    let toml = formula(truncation, "fixed-point");
    let energy = toml.lines().find(|line| line.starts_with("energy")).expect("the formula");
    let pieces = "energy = \"epsilon*(sigma/r)^11 + if(r < 1.3, (1.3 - r)^2*erfc(r/sigma), 0) + 0.1*erf(k*r)*max(0, 1.7 - r)^2\"";
    toml.replace(energy, pieces)
}

#[test]
fn formulas_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let polydisperse = polydisperse(3, 300, 2).replace(
        "kind = \"inverse-power\"\nn = 12\n",
        "kind = \"formula\"\nenergy = \"epsilon*(sigma/r)^12\"\n",
    );
    let smooth = r#"{ kind = "smooth", width = 0.05 }"#;
    for toml in [
        formula(r#""shifted""#, "fixed-point"),
        formula(r#""even-quartic""#, "fixed-point"),
        formula(smooth, "fixed-point"),
        pieces(r#""shifted""#),
        pieces(smooth),
        polydisperse,
    ] {
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for file in ["out/melt.h5", "out/melt.h5md", "out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }
}

/// A table of Lennard-Jones for each pair, in units of that pair.
#[test]
fn tables_give_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let table = |epsilon: f64, sigma: f64| -> String {
        let line = |k: u32| {
            let r = 0.4 + 0.002 * f64::from(k);
            let inverse = (sigma / r).powi(6);
            let energy = 4.0 * epsilon * (inverse * inverse - inverse);
            let force = 24.0 * epsilon * (2.0 * inverse * inverse - inverse) / r;
            format!("{r} {energy} {force}\n")
        };
        (0..=1050).map(line).collect()
    };
    let files =
        [("aa.txt", table(1.0, 1.0)), ("ab.txt", table(1.5, 0.8)), ("bb.txt", table(0.5, 0.88))];
    let toml = |truncation: &str, precision: &str| {
        let toml = formula(truncation, precision);
        let (before, rest) = toml.split_once("[potential]").unwrap();
        let (_, after) = rest.split_once("[run]").unwrap();
        format!(
            "{before}[potential]\nkind = \"table\"\ncutoff_absolute = 2.2\ntruncation = {truncation}\n[potential.pairs]\n\
             AA.file = \"aa.txt\"\nAB.file = \"ab.txt\"\nBB.file = \"bb.txt\"\n[run]{after}"
        )
    };
    let smooth = r#"{ kind = "smooth", width = 0.05 }"#;
    for toml in [toml(r#""shifted""#, "fixed-point"), toml(smooth, "fixed-point")] {
        let (expected, found) = (Job::new(&toml), job(gpu, "1", &toml));
        for (name, text) in &files {
            std::fs::write(expected.path(name), text).unwrap();
            std::fs::write(found.path(name), text).unwrap();
        }
        expected.succeeds(&["run", "job.toml", "--engine", "cpu"]);
        run_on_the_gpu(&found);
        for file in ["out/melt.h5", "out/melt.h5md", "out/nve.h5", "out/nve.h5md"] {
            assert_same_numbers(&expected.path(file), &found.path(file));
        }
    }
}
