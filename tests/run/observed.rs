//! Stages of which everything is written, and runs that came out the same.
use crate::common::contents::assert_same_numbers;
use crate::common::job::Job;

/// Steps are a multiple of 100. `ensemble` is the line of the thermostat or energy, `correlation` holds more lines of
/// `[[stage.correlation]]`.
pub fn observed_stage(
    name: &str,
    steps: u64,
    ensemble: &str,
    thermodynamics: u64,
    correlation: &str,
) -> String {
    format!(
        r#"
[[stage]]
name = "{name}"
steps = {steps}
{ensemble}
[stage.observe]
thermodynamics = {thermodynamics}
trajectory = 20
gsd = true
structure = {{ every = 50, maximum_wavenumber = 8.0, vectors_per_shell = 10 }}
bond_order = {{ every = 10, radius = 1.4 }}
configurational_temperature = 25
local_order = {{ every = 20, radius = 1.4 }}
inherent_structures = {{ every = 100, force_tolerance = 1e-2 }}
[[stage.correlation]]
wavenumbers = [7.25]
vectors_per_shell = 10
{correlation}
"#
    )
}

/// # Panics
/// If files of two runs, each in `out`, differ in any number.
pub fn assert_same_files<'a>(whole: &Job, parts: &Job, stages: impl IntoIterator<Item = &'a str>) {
    for stage in stages {
        for extension in ["h5", "h5md", "inherent.h5md"] {
            let path = |job: &Job| job.path(&format!("out/{stage}.{extension}"));
            assert_same_numbers(&path(whole), &path(parts));
        }
        let gsd = |job: &Job| {
            let file = supercool_analysis::open(job.path(&format!("out/{stage}.gsd"))).unwrap();
            (0..file.len()).map(|frame| file.read(frame).unwrap()).collect::<Vec<_>>()
        };
        assert!(gsd(whole) == gsd(parts), "{stage}.gsd");
    }
}
