//! Diameters of particles as each format and its writers name them.
use std::path::{Path, PathBuf};

use supercool_analysis::{Frame, info, open};

/// Exact in binary, as are their halves.
const DIAMETERS: [f64; 3] = [0.8125, 1.0, 1.25];

/// A file in a folder of its own.
struct Written {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Written {
    fn new(name: &'static str) -> Self {
        Written { folder: tempfile::tempdir().unwrap(), name }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    fn holds(&self, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(), bytes).unwrap();
        self
    }

    fn read(&self, frame: usize) -> Result<Frame, String> {
        let read = open(self.path()).and_then(|reader| reader.read(frame));
        read.map_err(|error| error.to_string())
    }

    fn diameters(&self, frame: usize) -> Option<Vec<f64>> {
        self.read(frame).unwrap().diameter
    }

    /// Each of these parts must be in the message, beside the file's name.
    fn is_refused(&self, parts: &[&str]) {
        let error = self.read(0).unwrap_err();
        for part in [self.name].iter().chain(parts) {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn gsd() -> Vec<u8> {
    std::fs::read(data("diameters.gsd")).unwrap()
}

/// By the package gsd, which leaves out what is as in frame 0.
#[test]
fn those_of_gsd_are_of_the_frame_or_of_frame_0() {
    let file = Written::new("a.gsd");
    file.holds(gsd());
    let turned = vec![1.25, 1.0, 0.8125];
    let expected = [Some(DIAMETERS.to_vec()), Some(DIAMETERS.to_vec()), Some(turned), None];
    for (k, expected) in expected.into_iter().enumerate() {
        assert_eq!(file.diameters(k), expected, "{k}");
    }
    // One that is 1 everywhere is not written, and nobody knows whether it was meant.
    assert_eq!(open(data("hoomd.gsd")).unwrap().read(0).unwrap().diameter, None);
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut bytes = gsd();
        let first = bytes.windows(4).position(|four| four == 0.8125_f32.to_le_bytes()).unwrap();
        bytes[first..first + 4].copy_from_slice(&wrong.to_le_bytes());
        let named = format!("frame 0: diameter {wrong} of particle 0");
        file.holds(&bytes).is_refused(&[&named, "above zero"]);
    }
}

fn xyz(columns: &str, numbers: [&str; 3]) -> String {
    let line = |k: usize| format!("A {k} 1 {} {}\n", k + 1, numbers[k]);
    let lines = [line(0), line(1), line(2)].concat();
    format!("3\nLattice=\"4 5 6\" Properties=species:S:1:pos:R:3:{columns} pbc=\"T T T\"\n{lines}")
}

/// `radius` is OVITO's, plurals are as ASE names its arrays.
#[test]
fn those_of_extended_xyz_may_be_radii() {
    let file = Written::new("a.xyz");
    for column in ["diameter:R:1", "diameters:R:1", "Diameter:R:1"] {
        file.holds(xyz(column, ["0.8125", "1", "1.25"]));
        assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()), "{column}");
    }
    for column in ["radius:R:1", "Radius:R:1", "radii:R:1"] {
        file.holds(xyz(column, ["0.40625", "0.5", "0.625"]));
        assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()), "{column}");
    }
    file.holds(xyz("radius:R:1:diameter:R:1", ["7 0.8125", "7 1", "7 1.25"]));
    assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()), "diameters come first");
    // OVITO's zero for a radius that was not set.
    assert_eq!(file.holds(xyz("radius:R:1", ["0", "0", "0"])).diameters(0), None);
    assert_eq!(file.holds(xyz("magnitude:R:1", ["1", "2", "3"])).diameters(0), None);
    for wrong in ["0", "-0.5", "NaN", "inf"] {
        file.holds(xyz("radius:R:1", ["0.5", wrong, "0.5"])).is_refused(&[
            "a.xyz:5",
            "diameter",
            "of particle 1 is not",
        ]);
    }
    file.holds(xyz("radius:R:1", ["0.5", "wide", "0.5"])).is_refused(&["a.xyz:4", "`wide`"]);
    file.holds(xyz("diameter:R:3", ["1 1 1"; 3])).is_refused(&["diameter has 3 columns, not 1"]);
}

fn dump(column: &str, numbers: [&str; 3]) -> String {
    // Out of order, as LAMMPS writes them.
    let line = |id: usize| format!("{id} 1 {id} 1 {id} {}\n", numbers[id - 1]);
    let lines = [line(3), line(1), line(2)].concat();
    format!(
        "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS pp pp pp\n0 4\n0 5\n0 6\n\
         ITEM: ATOMS id type x y z {column}\n{lines}"
    )
}

#[test]
fn those_of_lammps_dumps_follow_the_ids() {
    let file = Written::new("a.dump");
    file.holds(dump("diameter", ["0.8125", "1", "1.25"]));
    assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()));
    file.holds(dump("radius", ["0.40625", "0.5", "0.625"]));
    assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()));
    assert_eq!(file.holds(dump("radius", ["0", "0", "0"])).diameters(0), None, "points");
    file.holds(dump("radius", ["0.5", "0", "0.5"])).is_refused(&["the particle of id 2 is not"]);
}

/// Diameter and density come before the position.
fn sphere(numbers: [&str; 3]) -> String {
    let line = |id: usize| format!("{id} 1 {} {id} 1 {id}\n", numbers[id - 1]);
    let lines = [line(2), line(3), line(1)].concat();
    format!(
        "title\n\n3 atoms\n1 atom types\n0 4 xlo xhi\n0 5 ylo yhi\n0 6 zlo zhi\n\nAtoms # sphere\n\n{lines}"
    )
}

#[test]
fn those_of_lammps_data_files_are_of_style_sphere() {
    let file = Written::new("a.data");
    let frame = file.holds(sphere(["0.8125 3", "1 3", "1.25 3"])).read(0).unwrap();
    assert_eq!(frame.diameter, Some(DIAMETERS.to_vec()));
    let volume = |diameter: f64| std::f64::consts::PI / 6.0 * diameter * diameter * diameter;
    for (mass, diameter) in frame.mass.unwrap().into_iter().zip(DIAMETERS) {
        assert!((mass - 3.0 * volume(diameter)).abs() < 1e-14, "{mass}");
    }
    // The density of a point is its mass.
    let frame = file.holds(sphere(["0 3", "0 2", "0 1"])).read(0).unwrap();
    assert_eq!((frame.diameter, frame.mass), (None, Some(vec![3.0, 2.0, 1.0])));
    file.holds(sphere(["1 3", "1 3", "-1 3"])).is_refused(&["diameter -1 of the particle of id 3"]);
}

/// `write_data` and `write_dump` of one state (LAMMPS 22 Jul 2025), the dump with diameters and radii.
#[test]
fn lammps_itself_writes_them_so() {
    for name in ["spheres.data", "spheres.dump"] {
        let frame = open(data(name)).unwrap().read(0).unwrap();
        assert_eq!(frame.diameter, Some(DIAMETERS.to_vec()), "{name}");
        for (found, expected) in frame.mass.unwrap().into_iter().zip([1.0, 2.0, 1.0]) {
            assert!((found - expected).abs() < 1e-14, "{name}: {found}");
        }
        assert_eq!(frame.position[2], [2.5, 3.0, 3.5]);
    }
}

/// An element of H5MD: of one row where it does not change, else of a row for each of two steps.
fn write_h5md(path: &Path, rows: &[[f64; 3]]) -> hdf5::Result<()> {
    let file = hdf5::File::create(path)?;
    let group = file.create_group("particles/all")?;
    let edges = [4.0, 5.0, 6.0];
    group.create_group("box")?.new_dataset_builder().with_data(&edges).create("edges")?;
    let x = ndarray::Array3::<f64>::from_shape_fn((2, 3, 3), |(_, i, axis)| (i + axis) as f64);
    let position = group.create_group("position")?;
    position.new_dataset_builder().with_data(&[0, 10]).create("step")?;
    position.new_dataset_builder().with_data(&x).create("value")?;
    match rows {
        [row] => {
            group.new_dataset_builder().with_data(row).create("diameter")?;
        }
        rows => {
            let element = group.create_group("diameter")?;
            element.new_dataset_builder().with_data(&[0, 10]).create("step")?;
            element.new_dataset_builder().with_data(&[0.0, 0.1]).create("time")?;
            let rows = ndarray::Array2::from_shape_fn((rows.len(), 3), |(k, i)| rows[k][i]);
            element.new_dataset_builder().with_data(&rows).create("value")?;
        }
    }
    file.close()
}

#[test]
fn those_of_h5md_may_change_with_time() {
    let file = Written::new("a.h5md");
    let write = |rows: &[[f64; 3]]| write_h5md(&file.path(), rows).unwrap();
    write(&[DIAMETERS]);
    assert_eq!([file.diameters(0), file.diameters(1)], [(); 2].map(|()| Some(DIAMETERS.to_vec())));
    let turned = [1.25, 0.8125, 1.0];
    write(&[DIAMETERS, turned]);
    assert_eq!(file.diameters(0), Some(DIAMETERS.to_vec()));
    assert_eq!(file.diameters(1), Some(turned.to_vec()));
    write(&[[1.0, 1.0, f64::NAN]]);
    file.is_refused(&["particles/all, step 0: diameter NaN of particle 2"]);
}

#[test]
fn a_diameter_for_each_particle_or_none() {
    let file = Written::new("a.h5md");
    write_h5md(&file.path(), &[DIAMETERS]).unwrap();
    let shorten = || -> hdf5::Result<()> {
        let open = hdf5::File::open_rw(file.path())?;
        open.unlink("particles/all/diameter")?;
        let group = open.group("particles/all")?;
        group.new_dataset_builder().with_data(&[1.0, 1.25]).create("diameter")?;
        open.close()
    };
    shorten().unwrap();
    file.is_refused(&["3 positions but 2 diameters"]);
}

#[test]
fn info_says_smallest_mean_and_largest() {
    let file = Written::new("a.xyz");
    file.holds(xyz("diameter:R:1", ["0.5", "1", "1.125"]));
    let text = info(file.path()).unwrap();
    assert!(text.contains("  diameters    smallest 0.5, mean 0.875, largest 1.125\n"), "{text}");
    assert!(text.contains("last frame   positions, diameters\n"), "{text}");
    file.holds(xyz("diameter:R:1", ["1.5"; 3]));
    assert!(info(file.path()).unwrap().contains("  diameters    all 1.5\n"));
    file.holds(xyz("other:R:1", ["1.5"; 3]));
    assert!(!info(file.path()).unwrap().contains("diameters"));
}
