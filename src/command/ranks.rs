//! Whether this process is one of several ranks, and what it then does.
use std::process::ExitCode;

use miette::Diagnostic;
use thiserror::Error;

use crate::engine::domain::Ranks;

/// Why processes that were started together cannot run as ranks.
#[derive(Debug, Error, Diagnostic)]
enum RanksError {
    #[error(
        "this is one of {} processes started together ({}), but this build of supercool has no MPI: each of them \
         would be a run of its own", .0.ranks, .0.variable
    )]
    #[diagnostic(help(
        "build it with `cargo build --release --locked --features mpi`, or start one process; where independent runs \
         are meant, unset {} for each", .0.variable
    ))]
    #[cfg_attr(feature = "mpi", allow(dead_code, reason = "of builds without MPI"))]
    NotBuilt(Launch),

    #[error(
        "{} processes were started together ({}), but MPI shows each of them alone", .0.ranks, .0.variable
    )]
    #[diagnostic(help(
        "the launcher must be of the MPI library that supercool was built with (`supercool doctor` names it): its \
         mpirun, or `srun --mpi=pmix`"
    ))]
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "of builds with MPI"))]
    Alone(Launch),

    #[error(
        "this is one of {} processes started together ({}), and each of them would make a run of its own in the same directory",
        .0.ranks, .0.variable
    )]
    #[diagnostic(help(
        "a run on several ranks is one of the command, built with MPI: `mpirun -n {} supercool run FILE`; for independent runs give \
         each process a configuration and directory of its own, and remove {} from its environment", .0.ranks, .0.variable
    ))]
    Copies(Launch),

    #[error("MPI cannot be started, or allows calls from one thread only")]
    #[diagnostic(help("MPI_THREAD_SERIALIZED is needed: `supercool doctor` names the library"))]
    #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "of builds with MPI"))]
    NotStarted,
}

/// What a launcher has told this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Launch {
    ranks: usize,
    /// That says so.
    variable: &'static str,
}

/// Set by Open MPI's mpirun; by MPICH's and what follows it; for the tasks of a step by srun.
const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

impl Launch {
    /// `None` if this process was started alone.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
        VARIABLES.into_iter().find_map(|name| {
            let ranks = variable(name)?.trim().parse().ok()?;
            (ranks > 1).then_some(Launch { ranks, variable: name })
        })
    }

    fn of_this_process() -> Option<Launch> {
        Launch::of(|name| std::env::var(name).ok())
    }
}

/// That this process was started alone, so that it may have a directory to itself.
///
/// # Errors
/// If it is one of several that a launcher of MPI has started.
pub fn check_alone() -> miette::Result<()> {
    Launch::of_this_process().map_or(Ok(()), |launch| Err(RanksError::Copies(launch).into()))
}

/// Does `work` on rank 0, with all ranks that were started with it; the others serve it.
pub fn on_ranks(work: impl FnOnce(Ranks) -> miette::Result<ExitCode>) -> miette::Result<ExitCode> {
    match Launch::of_this_process() {
        None => work(Ranks::default()),
        Some(launch) => on_launched(launch, work),
    }
}

#[cfg(not(feature = "mpi"))]
fn on_launched(
    launch: Launch,
    _: impl FnOnce(Ranks) -> miette::Result<ExitCode>,
) -> miette::Result<ExitCode> {
    Err(RanksError::NotBuilt(launch).into())
}

#[cfg(feature = "mpi")]
fn on_launched(
    launch: Launch,
    work: impl FnOnce(Ranks) -> miette::Result<ExitCode>,
) -> miette::Result<ExitCode> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use crate::engine::domain::{Communicator, Mpi, serve};
    use crate::run::{RunError, Watch};

    // MPI ends when this is dropped: after the ranks are dismissed.
    let (_universe, mpi) = Mpi::start().ok_or(RanksError::NotStarted)?;
    if mpi.size() == 1 {
        return Err(RanksError::Alone(launch).into());
    }
    let communicator: Arc<dyn Communicator> = Arc::new(mpi);
    if communicator.rank() == 0 {
        return work(Ranks::led_by(communicator));
    }
    // Launchers send signals to all ranks; rank 0 heeds them.
    let _watch = Watch::new(None).map_err(|source| RunError::Signals { source })?;
    if catch_unwind(AssertUnwindSafe(|| serve(&communicator))).is_err() {
        communicator.abort();
    }
    Ok(ExitCode::SUCCESS)
}

/// The MPI library of this build, for `supercool doctor`.
#[cfg(feature = "mpi")]
pub fn found() -> String {
    let library = crate::engine::domain::mpi_library();
    format!("{library}: `mpirun -n 4 supercool run FILE` takes four ranks")
}

#[cfg(not(feature = "mpi"))]
pub fn found() -> String {
    "not in this build: one process, one GPU\n\
     -> for several ranks: cargo build --release --locked --features mpi"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_set() {
        let launch = |name: &'static str, value: &'static str| {
            Launch::of(move |asked| (asked == name).then(|| value.to_owned()))
        };
        for variable in VARIABLES {
            assert_eq!(launch(variable, "4"), Some(Launch { ranks: 4, variable }));
            assert_eq!(launch(variable, "1"), None);
            assert_eq!(launch(variable, "many"), None);
        }
        // Set in a batch script, too, where a single run is started without srun.
        assert_eq!(launch("SLURM_NTASKS", "4"), None);
    }

    #[test]
    fn copies_without_mpi_are_refused_with_the_way_out() {
        let error = RanksError::NotBuilt(Launch { ranks: 4, variable: VARIABLES[0] });
        let help = error.help().map(|help| help.to_string()).unwrap_or_default();
        assert!(error.to_string().contains("one of 4 processes"), "{error}");
        assert!(help.contains("--features mpi") && help.contains(VARIABLES[0]), "{help}");
    }
}
