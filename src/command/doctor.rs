//! `supercool doctor`: what of this machine can be used, and what to do about the rest.
use std::fmt::Write;

use indicatif::BinaryBytes;

use crate::engine::EngineError;
use crate::engine::cpu;
use crate::engine::cuda::compile::{self, Architecture};
use crate::engine::cuda::device::{self, Gpu, LEAST_COMPUTE_CAPABILITY};
use crate::engine::cuda::library::{LEAST_DRIVER, Nvrtc, driver_version};

/// The findings, a line each, and the engine that `engine = "auto"` takes.
pub fn doctor() -> String {
    let mut report = Report::default();
    report.line(&format!("supercool {}", env!("CARGO_PKG_VERSION")));
    report.title("CPU");
    processor(&mut report);
    report.title("CUDA");
    let gpu = cuda(&mut report);
    report.title("Parallel");
    report.item("MPI", &super::ranks::found());
    report.title("Result");
    report.item(
        "engine = \"auto\"",
        &gpu.map_or_else(|| "takes the CPU".to_owned(), |gpu| format!("takes {gpu}")),
    );
    report.text
}

#[derive(Default)]
struct Report {
    text: String,
}

impl Report {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.line("");
        self.line(title);
    }

    fn item(&mut self, name: &str, found: &str) {
        // Lines after the first are set below it.
        let found = found.trim_end().replace('\n', &format!("\n{:20}", ""));
        let _ = writeln!(self.text, "  {name:<16}  {found}");
    }

    /// What is missing, and what to do about it.
    fn missing(&mut self, name: &str, error: &EngineError) {
        let help = miette::Diagnostic::help(error).map(|help| format!("\n-> {help}"));
        let error = error.to_string();
        let error = error.strip_prefix("run.engine: ").unwrap_or(&error);
        self.item(name, &format!("{error}{}", help.unwrap_or_default()));
    }
}

fn processor(report: &mut Report) {
    report.item("processor", &cpu::processor());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    report.item("threads", &threads.to_string());
    report.item("instructions", cpu::instruction_set());
    if let Some(bytes) = crate::run::memory::of_this_machine() {
        report.item("memory", &BinaryBytes(bytes).to_string());
    }
}

/// Findings about CUDA; the name of the first GPU that can be used.
fn cuda(report: &mut Report) -> Option<String> {
    match driver_version() {
        Ok(version) => report.item(
            "driver",
            &format!("for CUDA {version} and older ({LEAST_DRIVER} or newer is needed)"),
        ),
        Err(error) => report.missing("driver", &error),
    }
    let nvrtc = Nvrtc::get();
    match &nvrtc {
        Ok(nvrtc) => {
            report.item("NVRTC", &format!("{} at {}", nvrtc.version(), nvrtc.path().display()));
            let newest = nvrtc.architectures().iter().copied().max().unwrap_or(90);
            if let Err(error) = compile::trial(Architecture::Machine(newest)) {
                report.missing("", &error);
            }
        }
        Err(error) => report.missing("NVRTC", error),
    }
    match compile::cache_folder() {
        Some(folder) => report.item("compiled kernels", &format!("kept in {}", folder.display())),
        None => report.item(
            "compiled kernels",
            "not kept: neither XDG_CACHE_HOME nor HOME is a path\n-> every run compiles them anew",
        ),
    }
    // Without a driver there is nothing more to say.
    driver_version().ok()?;
    let gpus = match device::gpus() {
        Ok(gpus) => gpus,
        Err(error) => {
            report.missing("GPUs", &error);
            return None;
        }
    };
    let mut usable = None;
    for gpu in &gpus {
        let name = format!("GPU {}", gpu.ordinal);
        report.item(&name, &describe(gpu));
        match nvrtc.as_ref().map_err(|_| None).and_then(|nvrtc| examine(gpu, nvrtc).map_err(Some)) {
            Ok(found) => {
                report.item("", &found);
                usable = usable.or_else(|| Some(format!("GPU {}, {}", gpu.ordinal, gpu.name)));
            }
            Err(Some(problem)) => report.item("", &problem),
            Err(None) => report.item("", "not usable without NVRTC"),
        }
    }
    for from in &gpus {
        let reached: Vec<String> = gpus
            .iter()
            .filter(|to| to.ordinal != from.ordinal)
            .filter(|to| device::peer_access(from, to).unwrap_or(false))
            .map(|to| to.ordinal.to_string())
            .collect();
        if gpus.len() > 1 {
            let reached = if reached.is_empty() { "none".to_owned() } else { reached.join(", ") };
            report.item("peer access", &format!("GPU {} reaches {reached}", from.ordinal));
        }
    }
    usable
}

fn describe(gpu: &Gpu) -> String {
    format!(
        "{}, {}, compute capability {}.{}, {} multiprocessors",
        gpu.name,
        BinaryBytes(gpu.memory),
        gpu.compute_capability / 10,
        gpu.compute_capability % 10,
        gpu.multiprocessors
    )
}

/// Compiles and loads a small kernel; says for what and what memory is free, or what is wrong.
fn examine(gpu: &Gpu, nvrtc: &Nvrtc) -> Result<String, String> {
    if gpu.compute_capability < LEAST_COMPUTE_CAPABILITY {
        return Err(format!(
            "not usable: compute capability {}.{} or newer is needed",
            LEAST_COMPUTE_CAPABILITY / 10,
            LEAST_COMPUTE_CAPABILITY % 10
        ));
    }
    if !gpu.cooperative_launch {
        return Err("not usable: its driver offers no cooperative launch".to_owned());
    }
    let architecture = Architecture::of_gpu(gpu.compute_capability, nvrtc.architectures());
    let trial = compile::trial(architecture).map_err(|error| error.to_string())?;
    let free = device::try_load(gpu, &trial.image).map_err(|error| {
        let (nvrtc, driver) = (nvrtc.version(), driver_version().ok());
        match driver.filter(|&driver| nvrtc > driver) {
            Some(driver) => format!(
                "{error}\n-> NVRTC {nvrtc} is newer than the driver's CUDA {driver}: update the driver, or \
                 install the NVRTC of its version"
            ),
            None => error.to_string(),
        }
    })?;
    Ok(format!("kernels compile for {architecture} and load; {} free", BinaryBytes(free)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_report_names_all_parts_and_what_auto_takes() {
        let report = super::doctor();
        for part in ["processor", "threads", "driver", "NVRTC", "MPI", "engine = \"auto\""] {
            assert!(report.contains(part), "{part}:\n{report}");
        }
        // On a machine without a driver the report says what to do, and the CPU is taken.
        if report.contains("no NVIDIA driver") {
            assert!(report.contains("-> ") && report.contains("takes the CPU"), "{report}");
        }
    }
}
