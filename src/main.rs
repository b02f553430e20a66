use std::process::ExitCode;

fn main() -> miette::Result<ExitCode> {
    supercool::command::main()
}
