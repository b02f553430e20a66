//! Plots results files: `cargo run --example figure -- FIGURE.svg RESULTS.h5 ...`
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let output = arguments.next().ok_or("usage: figure FIGURE.svg RESULTS.h5 ...")?;
    let files: Vec<PathBuf> = arguments.collect();
    for file in &files {
        print!("{}", supercool_analysis::info(file)?);
    }
    supercool_analysis::plot(&files, &output, &[], &Default::default())?;
    Ok(())
}
