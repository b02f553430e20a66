//! Damaged files give messages that name the file: no panic, no memory beyond the file's size.
use std::path::Path;

use proptest::prelude::*;
use supercool_analysis::open;

/// Bytes replaced at places, as a fraction of the length, and perhaps an end cut off.
fn damage() -> impl Strategy<Value = (Vec<(f64, u8)>, f64)> {
    (proptest::collection::vec((0.0..1.0, any::<u8>()), 1..12), prop_oneof![Just(1.0), 0.0..1.0])
}

fn read_damaged(name: &str, damage: &(Vec<(f64, u8)>, f64), keep: usize) {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let mut bytes = std::fs::read(original).unwrap();
    // Damage the part with the structure; most of a GSD file is empty index.
    let span = bytes.len().min(keep);
    for (place, byte) in &damage.0 {
        bytes[(place * span as f64) as usize] = *byte;
    }
    bytes.truncate((damage.1 * bytes.len() as f64).ceil() as usize);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    match open(&path) {
        Err(error) => assert!(error.to_string().contains(name), "{error}"),
        Ok(reader) => {
            for index in 0..reader.len().min(10) {
                match reader.read(index) {
                    Err(error) => assert!(error.to_string().contains(name), "{error}"),
                    Ok(frame) => assert!(frame.particle_count() <= 1000),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gsd_header_and_chunks(damage in damage()) {
        read_damaged("hoomd.gsd", &damage, 256);
        read_damaged("hoomd.gsd", &damage, usize::MAX);
        read_damaged("hoomd_v1.gsd", &damage, 1500);
    }

    #[test]
    fn extended_xyz(damage in damage()) {
        read_damaged("two_frames.xyz", &damage, usize::MAX);
        read_damaged("flat.xyz", &damage, usize::MAX);
    }

    #[test]
    fn lammps_dump(damage in damage()) {
        read_damaged("unwrapped.dump", &damage, usize::MAX);
        read_damaged("scaled.dump", &damage, usize::MAX);
    }

    #[test]
    fn lammps_data(damage in damage()) {
        read_damaged("numbers.data", &damage, usize::MAX);
        read_damaged("labels.data", &damage, usize::MAX);
    }

    #[test]
    fn text_of_any_kind(text in "[0-9 .A-Za-z:=\"\n-]{0,200}") {
        let folder = tempfile::tempdir().unwrap();
        for start in ["ITEM: TIMESTEP\n", "#\n1 atoms\n1 atom types\n", "1\n", "3\nLattice=\"1 0 0 0 1 0 0 0 1\" "] {
            let path = folder.path().join("any");
            std::fs::write(&path, format!("{start}{text}")).unwrap();
            if let Ok(reader) = open(&path) {
                (0..reader.len()).for_each(|index| { let _ = reader.read(index); });
            }
        }
    }
}

/// Sizes that the file claims but cannot hold must not reach the allocator.
#[test]
fn huge_claims_are_refused_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8], what: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = open(&path).and_then(|reader| reader.read(0)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    refused("a.xyz", b"99999999999999\nLattice=\"1 0 0 0 1 0 0 0 1\"\n", "claimed");
    let dump = b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n99999999999999\n";
    refused("a.dump", dump, "claimed");

    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let gsd = std::fs::read(data.join("hoomd.gsd")).unwrap();
    for (at, what) in [(16, "index"), (32, "names")] {
        let mut bytes = gsd.clone();
        bytes[at..at + 8].copy_from_slice(&(1_u64 << 58).to_le_bytes());
        refused("a.gsd", &bytes, what);
    }
    // Rows of every chunk in turn.
    let index = u64::from_le_bytes(gsd[8..16].try_into().unwrap()) as usize;
    for entry in 0..12 {
        let mut bytes = gsd.clone();
        let at = index + 32 * entry + 8;
        bytes[at..at + 8].copy_from_slice(&(u64::MAX / 3).to_le_bytes());
        let path = folder.path().join("rows.gsd");
        std::fs::write(&path, bytes).unwrap();
        let _ = open(&path).and_then(|reader| reader.read(0));
    }
}
