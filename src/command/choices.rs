//! What several commands let the user choose.
use crate::plan::EngineChoice;

/// Whether a GPU's choices are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tune {
    On,
    Off,
}

pub fn engine_choice(word: &str) -> Result<EngineChoice, String> {
    match word {
        "auto" => Ok(EngineChoice::Auto),
        "cpu" => Ok(EngineChoice::Cpu),
        "cuda" => Ok(EngineChoice::Cuda),
        _ => Err("one of auto, cpu, cuda".to_owned()),
    }
}
