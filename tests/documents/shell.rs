//! Lines of shell in documents.
use std::path::Path;
use std::process::Command;

/// Whether this line names what exists: scripts and configurations of the repository, commands and options of the program.
pub fn check(line: &str) -> Result<(), String> {
    let words = shlex::split(line).ok_or("quotes do not match")?;
    let command = words.split(|word| word == ">").next().unwrap();
    let Some(first) = command.first() else { return Ok(()) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match first.as_str() {
        "supercool" | "target/release/supercool" => options_are_known(&command[1..]),
        "mpirun" => {
            let program = command.iter().position(|word| word.ends_with("supercool"));
            options_are_known(&command[program.ok_or("no program")? + 1..])
        }
        "sbatch" => {
            let script = command.iter().skip(1).find(|word| !word.starts_with('-'));
            exists(root, script.ok_or("no script")?)
        }
        "cargo" => {
            let features = command.iter().skip_while(|word| *word != "--features").nth(1);
            match features {
                Some(feature) if feature != "mpi" => Err(format!("no feature {feature}")),
                _ => Ok(()),
            }
        }
        // Of a wheel that a script of ours builds.
        "pip" => {
            let wheel = command.last().is_some_and(|it| it.starts_with("dist/supercool_md-"));
            wheel.then_some(()).ok_or_else(|| "no wheel of ours".to_owned())
        }
        // A command of the shell; what it calls is a script of ours.
        "eval" => exists(root, command[1].trim_start_matches("$(").split(' ').next().unwrap()),
        script if script.contains('/') => exists(root, script),
        variable if variable.contains('=') => options_are_known(&command[2..]),
        other => Err(format!("{other} is no program that the guide uses")),
    }
}

fn exists(root: &Path, path: &str) -> Result<(), String> {
    root.join(path).exists().then_some(()).ok_or_else(|| format!("no {path}"))
}

/// `--help` at the end: all before it is read, nothing is run.
fn options_are_known(arguments: &[String]) -> Result<(), String> {
    let ended = Command::new(env!("CARGO_BIN_EXE_supercool"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    let error = || String::from_utf8_lossy(&ended.stderr).into_owned();
    ended.status.success().then_some(()).ok_or_else(error)
}
