//! What an engine runs on, and how it carries out the steps: for the files of a run, for `bench`, and for people.
use serde::Serialize;

use crate::plan::Precision;

/// All that an engine reports of itself.
#[derive(Clone, Debug, Serialize)]
pub struct EngineReport {
    #[serde(flatten)]
    pub hardware: Hardware,
    pub precision: Precision,
    #[serde(flatten)]
    pub execution: Execution,
}

impl EngineReport {
    /// Of the CPU, or of one GPU.
    pub fn threads(&self) -> usize {
        match &self.hardware.device {
            DeviceReport::Processor(processor) => processor.threads,
            DeviceReport::Gpu(_) => {
                self.execution.launch.map_or(0, |launch| launch.threads as usize)
            }
        }
    }
}

/// The machine.
#[derive(Clone, Debug, Serialize)]
pub struct Hardware {
    /// `cpu` or `cuda`.
    pub engine: &'static str,
    #[serde(flatten)]
    pub device: DeviceReport,
    #[serde(flatten)]
    pub ranks: Option<RanksReport>,
}

impl Hardware {
    /// Of a single rank.
    pub(super) fn of(engine: &'static str, device: DeviceReport) -> Self {
        Hardware { engine, device, ranks: None }
    }

    /// Where threads take whole systems.
    pub(super) fn set_threads(&mut self, threads: usize) {
        if let DeviceReport::Processor(processor) = &mut self.device {
            processor.threads = threads;
        }
    }

    /// Where GPUs share the systems.
    pub(super) fn set_gpus(&mut self, gpus: usize) {
        if let DeviceReport::Gpu(gpu) = &mut self.device {
            gpu.gpus = Some(gpus);
        }
    }

    /// Set of instructions that the loops over pairs are compiled for.
    pub fn instructions(&self) -> &str {
        match &self.device {
            DeviceReport::Processor(processor) => processor.instructions,
            DeviceReport::Gpu(gpu) => &gpu.instructions,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum DeviceReport {
    Processor(ProcessorReport),
    Gpu(GpuReport),
}

#[derive(Clone, Debug, Serialize)]
pub struct ProcessorReport {
    /// As the operating system names it.
    pub processor: String,
    pub threads: usize,
    pub instructions: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct GpuReport {
    #[serde(rename = "GPU")]
    pub name: String,
    /// How many of them share the systems of a run.
    #[serde(rename = "GPUs", skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
    /// `sm_90` for compute capability 9.0.
    pub instructions: String,
    pub multiprocessors: u32,
    pub memory_bytes: u64,
    pub driver: Option<String>,
    pub nvrtc: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RanksReport {
    pub ranks: usize,
    /// What carries messages between ranks.
    pub communication: String,
}

/// How steps are carried out: what was chosen or came of itself. Of several ranks, that of rank 0. What an engine does not
/// have is `None`, and left out of files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Execution {
    #[serde(flatten)]
    pub launch: Option<LaunchReport>,
    /// In units of length.
    pub skin: f64,
    /// Choices that were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<Vec<Trial>>,
    /// Sorted at each rebuild of the neighbor lists that this divides.
    pub sort_interval: u64,
    pub list_entries_per_particle: f64,
    /// Entries for which a particle's list has room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_capacity: Option<usize>,
    pub list_rebuilds: u64,
    /// The timestep as the precision represents it.
    pub effective_timestep: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_with_peers: Option<u64>,
    /// Steps that were taken a second time, as a list had to be rebuilt before them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_repeated: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ghosts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_seconds: Option<GpuSeconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeShares>,
    /// Domains along each axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<Vec<u32>>,
    /// Share of all ranks' time in steps in which they waited for each other or exchanged particles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communication_share: Option<f64>,
}

/// The launch of the kernel that takes steps.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LaunchReport {
    /// In all blocks.
    pub threads: u32,
    pub blocks: u32,
    pub threads_per_block: u32,
    pub threads_per_particle: u32,
    pub registers: i32,
    /// Of a thread, for what has no registers.
    pub local_bytes: i32,
    /// Memory of the GPU for the system.
    pub device_bytes: u64,
}

/// A choice that was timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    pub skin: f64,
    pub threads_per_particle: u32,
    pub steps_per_second: f64,
}

/// Shares of the first block's time in the parts of steps.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimeShares {
    pub pass: f64,
    pub wait: f64,
    pub sort: f64,
    pub build: f64,
}

impl TimeShares {
    /// Of clock cycles in pass, wait, sort and build.
    pub(super) fn of(cycles: [u64; 4]) -> Self {
        let cycles = cycles.map(|cycles| cycles as f64);
        let all = cycles.iter().sum::<f64>().max(1.0);
        let [pass, wait, sort, build] = cycles.map(|part| part / all);
        TimeShares { pass, wait, sort, build }
    }
}

/// Seconds of rank 0's GPU in the parts of steps and of rebuilds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GpuSeconds {
    pub passes: f64,
    pub waiting_in_passes: f64,
    pub comparing: f64,
    pub migration: f64,
    pub sorting: f64,
    pub ghosts: f64,
    pub lists: f64,
    pub between: f64,
}
