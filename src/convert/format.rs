//! Words and file names of the formats.
use std::path::Path;

use supercool_analysis::trajectory::Format;

/// A format, its word, and how names of its files end.
struct Known {
    format: Format,
    word: &'static str,
    extensions: &'static [&'static str],
}

const KNOWN: [Known; 5] = [
    Known { format: Format::Hdf5, word: "h5md", extensions: &["h5md", "h5", "hdf5"] },
    Known { format: Format::Gsd, word: "gsd", extensions: &["gsd"] },
    Known { format: Format::Xyz, word: "xyz", extensions: &["xyz", "extxyz"] },
    Known {
        format: Format::LammpsDump,
        word: "lammps-dump",
        extensions: &["lammpstrj", "dump", "lammpsdump"],
    },
    Known { format: Format::LammpsData, word: "lammps-data", extensions: &["data", "lmp"] },
];

/// The words of all formats.
pub fn words() -> [&'static str; 5] {
    KNOWN.map(|known| known.word)
}

/// The format of a word.
pub fn named(word: &str) -> Option<Format> {
    KNOWN.iter().find(|known| known.word == word).map(|known| known.format)
}

/// The format that the name of a file stands for.
pub fn of_name(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let known = KNOWN.iter().find(|known| known.extensions.contains(&&*extension))?;
    Some(known.format)
}

/// Its name in messages.
pub fn name(format: Format) -> &'static str {
    match format {
        Format::Hdf5 => "H5MD",
        Format::Gsd => "GSD",
        Format::Xyz => "extended XYZ",
        Format::LammpsDump => "a LAMMPS dump",
        Format::LammpsData => "a LAMMPS data file",
    }
}

/// All endings of names, for messages.
pub fn endings() -> String {
    let of = |known: &Known| {
        let endings: Vec<String> =
            known.extensions.iter().map(|extension| format!(".{extension}")).collect();
        format!("{} ({})", endings.join(", "), known.word)
    };
    KNOWN.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_stand_for_formats() {
        for (name, format) in [
            ("a/b.h5md", Some(Format::Hdf5)),
            ("b.GSD", Some(Format::Gsd)),
            ("b.propensity.xyz", Some(Format::Xyz)),
            ("b.lammpstrj", Some(Format::LammpsDump)),
            ("b.data", Some(Format::LammpsData)),
            ("b.pdb", None),
            ("data", None),
        ] {
            assert_eq!(of_name(Path::new(name)), format, "{name}");
        }
        for word in words() {
            assert!(named(word).is_some(), "{word}");
        }
        assert_eq!(named("dcd"), None);
    }
}
