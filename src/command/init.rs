//! `supercool init`: commented configurations of well-known models to start from.
use thiserror::Error;

/// A model: its name and its configuration.
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal, $about:literal) => {
        Preset {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../configs/presets/", $name, ".toml")),
        }
    };
}

pub const PRESETS: [Preset; 14] = [
    preset!("caging", "a first run: Kob-Andersen mixture at two temperatures, in a minute or two"),
    preset!("kob-andersen", "Kob-Andersen mixture in 3D, 80:20"),
    preset!("kob-andersen-force-shifted", "Kob-Andersen mixture in 3D, 80:20, force-shifted"),
    preset!("kob-andersen-2d", "Kob-Andersen mixture in 2D, 65:35"),
    preset!("kob-andersen-2", "Kob-Andersen mixture in 3D with a third species for swaps"),
    preset!("jbb", "ternary mixture in 2D of Jung, Biroli and Berthier (KA2D of GlassBench)"),
    preset!("wahnstrom", "Wahnstrom mixture, Lennard-Jones, 50:50"),
    preset!("binary-soft-spheres", "soft spheres r^-12 of size ratio 1.4, 50:50"),
    preset!("polydisperse-spheres", "polydisperse spheres r^-12 in 3D, with swap Monte Carlo"),
    preset!("polydisperse-disks", "polydisperse disks r^-12 in 2D, with swap Monte Carlo"),
    preset!("dzugutov", "Dzugutov liquid, one species with icosahedral order"),
    preset!("wca", "Weeks-Chandler-Andersen fluid"),
    preset!("lennard-jones", "Lennard-Jones fluid"),
    preset!("harmonic-spheres", "harmonic spheres of size ratio 1.4, 50:50"),
];

/// First line of a file, from which editors complete keys and see mistakes.
pub const FOR_EDITORS: &str = "#:schema supercool.schema.json\n# For editors; the schema: supercool schema > supercool.schema.json\n\n";

#[derive(Debug, Error, miette::Diagnostic)]
#[error("there is no preset {name:?}")]
#[diagnostic(help("presets are {}", names().join(", ")))]
pub struct UnknownPreset {
    name: String,
}

pub fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

/// The text of a preset.
pub fn init(name: &str) -> Result<&'static str, UnknownPreset> {
    PRESETS
        .iter()
        .find(|preset| preset.name == name)
        .map(|preset| preset.text)
        .ok_or_else(|| UnknownPreset { name: name.to_owned() })
}
