//! Files written by other programs (`data/make_fixtures.py`) or by hand, read back.
use std::path::{Path, PathBuf};

use supercool_analysis::correlation::{
    StoredTrajectory, TimePairs, mean_square_displacement, velocity_autocorrelation,
};
use supercool_analysis::{Frame, info, open};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn frame(name: &str, index: usize) -> Frame {
    open(data(name)).unwrap().read(index).unwrap()
}

fn refused(name: &str) -> String {
    let error = open(data(name)).and_then(|reader| reader.read(0)).unwrap_err().to_string();
    assert!(error.contains(name), "the message names the file: {error}");
    error
}

/// Position of particle `i` in frame `k` of the generated fixtures, as written.
fn written_position(i: usize, k: usize) -> [f64; 3] {
    let (i, k) = (i as f64, k as f64);
    [-2.0 + 0.75 * i + 0.125 * k, 0.5 * i - 1.0, -3.0]
}

const EDGES: [f64; 3] = [4.0, 5.0, 6.0];

fn wrapped(position: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| position[k].rem_euclid(EDGES[k]))
}

fn written_image(i: usize) -> [i32; 3] {
    [i as i32, -(i as i32), 0]
}

/// All numbers of the fixtures are exact in binary, so reading is exact.
#[test]
fn gsd_of_both_file_layers_follows_the_hoomd_schema() {
    for name in ["hoomd.gsd", "hoomd_v1.gsd"] {
        let reader = open(data(name)).unwrap();
        assert_eq!(reader.steps(), [0, 1000, 2000], "{name}");
        for k in 0..3 {
            let frame = reader.read(k).unwrap();
            let count = if k < 2 { 5 } else { 3 };
            assert_eq!(frame.particle_count(), count);
            assert_eq!(frame.box_edges, EDGES);
            assert_eq!(frame.species_names, ["A", "Bee"]);
            for i in 0..count {
                assert_eq!(frame.position[i], wrapped(written_position(i, k)), "{name} {k} {i}");
                let image = if k == 1 { written_image(i) } else { [0; 3] };
                let unwrapped = frame.unwrapped(i).unwrap();
                for axis in 0..3 {
                    let expected =
                        written_position(i, k)[axis] + f64::from(image[axis]) * EDGES[axis];
                    assert_eq!(unwrapped[axis], expected, "{name} {k} {i}");
                }
            }
        }
        let first = reader.read(0).unwrap();
        assert_eq!(first.species, [0, 1, 0, 0, 1]);
        assert_eq!(first.mass.unwrap(), [1.0, 2.0, 1.0, 1.0, 2.0]);
        assert_eq!(first.velocity.as_ref().unwrap()[3], [3.0, -1.5, 0.25]);
        // Not written again in frame 1: masses are those of frame 0, velocities are not.
        let second = reader.read(1).unwrap();
        assert_eq!((second.mass, second.velocity), (Some(vec![1.0, 2.0, 1.0, 1.0, 2.0]), None));
        // Another number of particles.
        let third = reader.read(2).unwrap();
        assert_eq!((third.mass, third.velocity), (None, None));
    }
}

/// HOOMD-blue's `dynamic = ["property"]`: the schema alone would hand on the images of frame 0.
#[test]
fn velocities_and_images_of_the_first_frame_are_not_those_of_all() {
    let reader = open(data("hoomd_property.gsd")).unwrap();
    let first = reader.read(0).unwrap();
    assert_eq!(first.velocity.as_ref().unwrap()[3], [3.0, -1.5, 0.25]);
    assert_eq!(first.unwrapped(4).unwrap(), [3.0, 0.0, 8.0]);
    for k in 1..5 {
        let frame = reader.read(k).unwrap();
        assert_eq!((frame.velocity, frame.image), (None, None), "{k}");
    }
    let trajectory = StoredTrajectory::read(&*reader, None).unwrap();
    let pairs = TimePairs::all(trajectory.steps());
    let all = trajectory.particles_of("");
    let msd = mean_square_displacement(&trajectory, &all, &pairs);
    // Velocities (i - 2) / 2 a frame, i = 0 to 4; the fastest moves by an edge in four frames. In binary exact.
    let expected: Vec<f64> = (0..5).map(|k| f64::from(k * k) * 0.5).collect();
    assert_eq!(msd.value, expected);
    assert!(velocity_autocorrelation(&trajectory, &all, &pairs).is_err());
    let text = info(data("hoomd_property.gsd")).unwrap();
    assert!(text.contains("first frame  positions, images, velocities\n"), "{text}");
    assert!(text.contains("last frame   positions\n"), "{text}");
}

/// As by writers that store images or velocities once, or more rarely than positions.
#[test]
fn fixed_images_and_velocities_of_h5md_are_not_those_of_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixed.h5md");
    let write = |frames: usize| -> hdf5::Result<()> {
        let file = hdf5::File::create(&path)?;
        let group = file.create_group("particles/all")?;
        group.create_group("box")?.new_dataset_builder().with_data(&EDGES).create("edges")?;
        let element = |name: &str| -> hdf5::Result<hdf5::Group> {
            let element = group.create_group(name)?;
            let steps: Vec<i64> = (0..frames as i64).map(|k| 10 * k).collect();
            element.new_dataset_builder().with_data(&steps).create("step")?;
            Ok(element)
        };
        let x = ndarray::Array3::<f64>::from_shape_fn((frames, 2, 3), |(k, i, _)| (k + i) as f64);
        element("position")?.new_dataset_builder().with_data(&x).create("value")?;
        let fixed = ndarray::Array2::<f64>::ones((2, 3));
        group.new_dataset_builder().with_data(&fixed).create("velocity")?;
        group.new_dataset_builder().with_data(&fixed).create("image")?;
        file.close()
    };
    write(2).unwrap();
    let held = |index: usize| {
        let frame = open(&path).unwrap().read(index).unwrap();
        (frame.velocity.is_some(), frame.image.is_some())
    };
    assert_eq!([held(0), held(1)], [(false, false); 2]);
    write(1).unwrap();
    assert_eq!(held(0), (true, true));
}

/// Ids at steps 0 and 20 of frames at 0, 10, 20: nobody knows whose the positions at 10 are.
#[test]
fn ids_and_boxes_of_h5md_that_change_must_be_of_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rare.h5md");
    let read = |later_id: [i64; 2], later_edges: [f64; 3]| -> Result<Frame, String> {
        let write = || -> hdf5::Result<()> {
            let file = hdf5::File::create(&path)?;
            let group = file.create_group("particles/all")?;
            let element = |name: &str, steps: &[i64]| -> hdf5::Result<hdf5::Group> {
                let element = group.create_group(name)?;
                element.new_dataset_builder().with_data(steps).create("step")?;
                Ok(element)
            };
            let x = ndarray::Array3::<f64>::from_shape_fn((3, 2, 3), |(_, i, _)| i as f64);
            let position = element("position", &[0, 10, 20])?;
            position.new_dataset_builder().with_data(&x).create("value")?;
            let id = ndarray::arr2(&[[1, 2], later_id]);
            element("id", &[0, 20])?.new_dataset_builder().with_data(&id).create("value")?;
            let edges = ndarray::arr2(&[EDGES, later_edges]);
            let simulation_box = element("box/edges", &[0, 20])?;
            simulation_box.new_dataset_builder().with_data(&edges).create("value")?;
            file.close()
        };
        write().unwrap();
        open(&path).and_then(|reader| reader.read(1)).map_err(|error| error.to_string())
    };
    assert_eq!(read([1, 2], EDGES).unwrap().id, Some(vec![1, 2]));
    for (id, edges, name) in [([2, 1], EDGES, "id"), ([1, 2], [4.0, 5.0, 6.5], "box/edges")] {
        let error = read(id, edges).unwrap_err();
        let expected =
            format!("particles/all/{name}/value changes with time and has no values of step 10");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn gsd_in_two_dimensions_is_recognised_by_its_flat_box() {
    let frame = frame("hoomd_2d.gsd", 0);
    assert_eq!((frame.dimension, frame.step), (2, 7));
    assert_eq!(frame.box_edges, [4.0, 5.0]);
    assert_eq!(frame.position, [[2.5, 2.25, 0.0], [0.5, 2.5, 0.0]]);
}

#[test]
fn triclinic_boxes_are_refused() {
    for name in ["triclinic.gsd", "triclinic.dump"] {
        assert!(refused(name).contains("triclinic"));
    }
}

#[test]
fn h5md_of_pyh5md_with_its_own_group_equal_steps_and_fixed_box() {
    let reader = open(data("pyh5md.hdf5")).unwrap();
    assert_eq!(reader.steps(), [100, 150, 200]);
    for k in 0..3 {
        let frame = reader.read(k).unwrap();
        assert_eq!(frame.time, Some(0.5 + 0.25 * k as f64));
        assert_eq!(frame.box_edges, EDGES);
        assert_eq!(frame.species_names, ["1", "3"], "numbers without names");
        assert_eq!(frame.species, [1, 0, 1, 1, 0]);
        assert_eq!(frame.image, None);
        for i in 0..5 {
            assert_eq!(frame.position[i], wrapped(written_position(i, k)));
        }
        // Velocities were written for two of the three steps.
        assert_eq!(frame.velocity.is_some(), k < 2);
    }
    assert_eq!(reader.read(1).unwrap().velocity.unwrap()[2], [3.0, -1.0, 0.25]);
}

#[test]
fn h5md_with_enumerated_species_matrix_box_and_shuffled_ids() {
    let reader = open(data("matrix.hdf5")).unwrap();
    assert_eq!(reader.steps(), [0, 10]);
    let frame = reader.read_step(Some(10)).unwrap();
    assert_eq!(frame.time, Some(0.01));
    assert_eq!(frame.box_edges, EDGES);
    assert_eq!(frame.id, Some(vec![10, 11, 12, 13, 14]));
    assert_eq!(frame.mass, Some(vec![1.0, 2.0, 3.0, 4.0, 5.0]));
    let names: Vec<&str> = (0..5).map(|i| frame.species_name(i)).collect();
    assert_eq!(names, ["Si", "O", "Si", "Si", "O"]);
    for i in 0..5 {
        let (position, unwrapped) = (written_position(i, 1), frame.unwrapped(i).unwrap());
        assert_eq!(frame.position[i], wrapped(position));
        let image = [i as f64, 0.0, -(i as f64)];
        for k in 0..3 {
            assert_eq!(unwrapped[k], position[k] + image[k] * EDGES[k]);
        }
    }
}

#[test]
fn a_missing_step_is_named_with_those_there_are() {
    let reader = open(data("matrix.hdf5")).unwrap();
    let error = reader.read_step(Some(7)).unwrap_err().to_string();
    assert!(error.contains("no frame of step 7") && error.contains("steps 0 to 10"), "{error}");
    assert_eq!(reader.read_step(None).unwrap().step, 10);
    assert!(reader.read(2).unwrap_err().to_string().contains("no frame 2"));
}

#[test]
fn extended_xyz_with_velocities_and_masses() {
    let reader = open(data("two_frames.xyz")).unwrap();
    assert_eq!(reader.steps(), [100, 200]);
    let frame = reader.read(1).unwrap();
    assert_eq!(frame.time, Some(1.0));
    assert_eq!(frame.box_edges, EDGES);
    assert_eq!(frame.position, [[0.75, 1.0, 1.5], [3.75, 0.5, 2.5], [3.25, 4.0, 0.5]]);
    assert_eq!(frame.velocity.as_ref().unwrap()[2], [3.0, 1.0, -3.0]);
    assert_eq!(frame.mass, Some(vec![1.0, 2.0, 1.0]));
    assert_eq!(frame.particles_of("A"), [0, 2]);
    assert_eq!(frame.image, None);
}

#[test]
fn extended_xyz_that_is_periodic_in_a_plane_has_two_dimensions() {
    let frame = frame("flat.xyz", 0);
    assert_eq!((frame.dimension, frame.box_edges.len(), frame.step), (2, 2, 0));
    assert_eq!(frame.species_names, ["A", "B"]);
    assert_eq!(frame.species, [1, 0]);
}

#[test]
fn extended_xyz_as_ase_and_others_write_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.xyz");
    let read = |head: &str, line: &str| {
        std::fs::write(&path, format!("2\n{head}\n{line}\n{line}\n")).unwrap();
        open(&path).and_then(|reader| reader.read(0))
    };
    let momenta = "Properties=species:S:1:pos:R:3:masses:R:1:momenta:R:3";
    let frame = read(&format!("Lattice=\"4 5 6\" {momenta}"), "A 1 2 3 4 2 -4 8").unwrap();
    assert_eq!(frame.box_edges, [4.0, 5.0, 6.0]);
    assert_eq!(frame.velocity.unwrap()[1], [0.5, -1.0, 2.0]);
    let error =
        read("Lattice=\"4 5 6\" Properties=species:S:1:pos:R:3:momenta:R:3", "A 1 2 3 2 4 8");
    assert!(error.unwrap_err().to_string().contains("no masses"));
    // Two dimensions, as tools that know only three write them, and as others do.
    let flat = |head: &str, line: &str| read(head, line).unwrap();
    let plain = "Properties=species:S:1:pos:R:3:vel:R:3";
    for lattice in ["4 0 0 0 5 0 0 0 1", "4 0 0 0 5 0 0 0 0", "4 5 1", "4 5", "4 0 0 5"] {
        let frame = flat(&format!("Lattice=\"{lattice}\" {plain}"), "A 1 2 0.5 3 4 0");
        assert_eq!((frame.dimension, &frame.box_edges[..]), (2, &[4.0, 5.0][..]), "{lattice}");
        assert_eq!(frame.position[1], [1.0, 2.0, 0.0]);
    }
    let frame = flat("Lattice=\"4 5\" Properties=species:S:1:pos:R:2:vel:R:2", "A 1 2 3 4");
    assert_eq!(frame.velocity.unwrap(), [[3.0, 4.0, 0.0]; 2]);
    let moving = flat(&format!("Lattice=\"4 5 1\" {plain}"), "A 1 2 0.5 3 4 0.1");
    assert_eq!(moving.dimension, 3);
    // A slab is not a system of two dimensions.
    let slab = "Lattice=\"4 5 6\" pbc=\"T T F\" Properties=species:S:1:pos:R:3";
    assert_eq!(read(slab, "A 1 2 3").unwrap().dimension, 2);
    std::fs::write(&path, format!("2\n{slab}\nA 1 2 3\nA 1 2 3.5\n")).unwrap();
    let error = open(&path).and_then(|reader| reader.read(0)).unwrap_err().to_string();
    assert!(error.contains("do not lie in a plane"), "{error}");
}

/// A first frame of another program, say: its number and the steps of the others do not go together.
#[test]
fn frames_of_xyz_are_counted_where_one_has_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.xyz");
    let frame = |step: &str| format!("1\nLattice=\"4 5 6\" {step}\nA 1 2 3\n");
    std::fs::write(&path, frame("") + &frame("step=100") + &frame("step=200")).unwrap();
    let reader = open(&path).unwrap();
    assert!(reader.counts_frames());
    assert_eq!(reader.steps(), [0, 1, 2]);
}

#[test]
fn xyz_without_a_box_says_what_is_missing_and_where() {
    let error = refused("plain.xyz");
    assert!(error.contains("plain.xyz:2:") && error.contains("Lattice="), "{error}");
}

#[test]
fn lammps_dump_with_unwrapped_coordinates_follows_particles_through_the_box() {
    let reader = open(data("unwrapped.dump")).unwrap();
    assert_eq!(reader.steps(), [0, 50]);
    let (first, second) = (reader.read(0).unwrap(), reader.read(1).unwrap());
    assert_eq!(first.id, second.id);
    assert_eq!(second.species_names, ["1", "2"]);
    assert_eq!(second.species, [0, 0, 1]);
    let displacement = |i: usize| {
        let (from, to) = (first.unwrapped(i).unwrap(), second.unwrapped(i).unwrap());
        [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
    };
    assert_eq!(displacement(0), [-12.0, 0.0, 0.0]);
    assert_eq!(displacement(1), [0.0, 0.0, 2.5]);
    assert_eq!(displacement(2), [4.0, 0.0, -6.0]);
    assert_eq!(second.velocity.unwrap()[2], [0.1, 0.2, 0.3]);
}

#[test]
fn lammps_dump_with_scaled_coordinates_and_images() {
    let frame = frame("scaled.dump", 0);
    assert_eq!((frame.step, frame.time), (500, Some(2.5)));
    assert_eq!(frame.species_name(0), "P");
    assert_eq!(frame.mass, Some(vec![31.0, 58.7]));
    // Low corner (-2, -2.5, 0) plus (0.25, 0.5, 0.75) of the edges: (-1, 0, 4.5), images (1, 0, -1).
    assert_eq!(frame.position[1], [3.0, 0.0, 4.5]);
    assert_eq!(frame.unwrapped(1).unwrap(), [3.0, 0.0, -1.5]);
}

#[test]
fn a_lammps_dump_has_an_order_only_by_its_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.dump");
    let frames = |columns: &str, lines: [[&str; 2]; 2]| {
        let frame = |step: usize| {
            format!(
                "ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n\
                 0 4\n0 4\n0 4\nITEM: ATOMS {columns} type x y z\n{}\n",
                lines[step].join("\n")
            )
        };
        std::fs::write(&path, frame(0) + &frame(1)).unwrap();
        let reader = open(&path).unwrap();
        assert!(!reader.keeps_order());
        StoredTrajectory::read(&*reader, None).map_err(|error| error.to_string())
    };
    let error = frames("", [["1 0 0 0", "1 1 1 1"], ["1 1 1 1", "1 0 0 0"]]).unwrap_err();
    assert!(error.contains("order.dump") && error.contains("no ids"), "{error}");
    assert!(info(&path).unwrap().contains("no ids"));
    let with_ids = frames("id", [["1 1 0 0 0", "2 1 1 1 1"], ["2 1 1 1 1", "1 1 0 0 0"]]).unwrap();
    let pairs = TimePairs::all(with_ids.steps());
    let msd = mean_square_displacement(&with_ids, &[0, 1], &pairs);
    assert_eq!(msd.value, [0.0, 0.0]);
}

/// LAMMPS names the units of a dump on request, of a data file always.
#[test]
fn units_are_reported_and_only_reduced_ones_give_a_temperature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.dump");
    let dump = |units: &str, box_bounds: &str| {
        let text = format!(
            "ITEM: UNITS\n{units}\nITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS {box_bounds}\n\
             ITEM: ATOMS id type mass x y z vx vy vz\n1 1 2 1 1 1 3 0 0\n"
        );
        std::fs::write(&path, text).unwrap();
        open(&path)
    };
    let straight = "pp pp pp\n0 4\n0 4\n0 4";
    for (units, coherent) in [("lj", true), ("si", true), ("real", false), ("metal", false)] {
        let reader = dump(units, straight).unwrap();
        assert_eq!((reader.units(), reader.units_are_coherent()), (Some(units), coherent));
        let text = info(&path).unwrap();
        assert!(text.contains(&format!("units        {units}\n")), "{text}");
        assert_eq!(text.contains("temperature  6 of"), coherent, "{units}: {text}");
    }
    assert_eq!(open(data("numbers.data")).unwrap().units(), Some("lj"));
    assert_eq!(open(data("unwrapped.dump")).unwrap().units(), None);
    // A box that may be tilted and is not.
    let frame = dump("lj", "xy xz yz pp pp pp\n0 4 0.0\n0 4 0\n0 4 0").unwrap().read(0).unwrap();
    assert_eq!(frame.box_edges, [4.0; 3]);
    // One that is: bounds are those around it.
    let tilted = dump("lj", "xy xz yz pp pp pp\n-1 4 -1.0\n0 5 0\n0 4 0").unwrap();
    assert!(tilted.read(0).unwrap_err().to_string().contains("triclinic"));
    let frame = tilted.read_tilted(0).unwrap();
    assert_eq!((&frame.box_edges[..], frame.tilt), (&[4.0, 5.0, 4.0][..], -0.25));
    let error = dump("lj", "xy xz yz pp pp pp\n0 4 0.0\n0 4 0\n0 4 0.1").err().unwrap();
    assert!(error.to_string().contains("triclinic"), "{error}");
}

/// As of `dimension 2`: a thin box around z = 0.
fn write_flat_dump(path: &Path, columns: &str, rows: [&str; 2]) {
    let header = "ITEM: TIMESTEP\n7\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n\
                  0 4\n0 5\n-0.1 0.1\nITEM: ATOMS";
    std::fs::write(path, format!("{header} {columns}\n{}\n{}\n", rows[0], rows[1])).unwrap();
}

#[test]
fn a_lammps_dump_of_two_dimensions_has_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flat.dump");
    let read = |columns: &str, rows: [&str; 2]| {
        write_flat_dump(&path, columns, rows);
        open(&path).unwrap().read(0).unwrap()
    };
    let flat = [
        read("id type xs ys zs vx vy vz", ["1 1 0.25 0.2 0.5 1 2 0", "2 1 0.5 0.4 0.5 1 2 0"]),
        read("id type x y z ix iy iz", ["1 1 1 1 0 0 0 0", "2 1 2 2 0 1 0 0"]),
        read("id type xu yu zu", ["1 1 1 1 0.05", "2 1 2 2 0.05"]),
    ];
    for frame in flat {
        assert_eq!((frame.dimension, &frame.box_edges[..]), (2, &[4.0, 5.0][..]));
        assert_eq!(frame.position, [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]);
    }
    let solid = [
        read("id type x y z", ["1 1 1 1 0", "2 1 2 2 0.05"]),
        read("id type x y z vx vy vz", ["1 1 1 1 0 0 0 1", "2 1 2 2 0 0 0 0"]),
        read("id type x y z ix iy iz", ["1 1 1 1 0 0 0 0", "2 1 2 2 0 0 0 1"]),
    ];
    assert!(solid.iter().all(|frame| frame.dimension == 3));
}

/// `write_data` and `write_dump` of one state (LAMMPS 22 Jul 2025), with and without labels of the types.
#[test]
fn lammps_data_files_hold_what_a_dump_of_the_same_state_holds() {
    let dump = frame("numbers.dump", 0);
    let velocity = |frame: &Frame, id: usize| frame.velocity.as_ref().unwrap()[id];
    for (name, names) in [("numbers.data", ["1", "2"]), ("labels.data", ["A", "B"])] {
        let data = frame(name, 0);
        assert_eq!((data.step, data.dimension), (150, 3), "{name}");
        assert_eq!((&data.box_edges, &data.id), (&dump.box_edges, &dump.id));
        assert_eq!(data.species_names, names);
        assert_eq!(
            (&data.species, &data.mass, &data.image),
            (&dump.species, &dump.mass, &dump.image)
        );
        assert_eq!(data.particle_count(), 16);
        for i in 0..16 {
            for k in 0..3 {
                // 16 and 17 digits.
                assert!((data.position[i][k] - dump.position[i][k]).abs() < 4e-15, "{name} {i}");
                let (ours, theirs) = (velocity(&data, i)[k], velocity(&dump, i)[k]);
                assert!((ours - theirs).abs() < 4e-15, "{name} {i}");
            }
        }
    }
}

#[test]
fn a_lammps_data_file_of_two_dimensions_has_two() {
    let frame = frame("flat.data", 0);
    assert_eq!((frame.dimension, frame.particle_count(), frame.step), (2, 16, 0));
    assert_eq!(frame.box_edges, [4.098_248_918_087_735_5, 3.549_187_674_096_07]);
    assert_eq!(
        frame.velocity.unwrap()[1],
        [-0.579_558_142_440_914_3, -0.927_819_139_405_596_5, 0.0]
    );
}

#[test]
fn what_is_wrong_in_a_lammps_data_file_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.data");
    let sound = std::fs::read_to_string(data("numbers.data")).unwrap();
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        open(&path).and_then(|reader| reader.read(0)).map_err(|error| error.to_string())
    };
    let changed = |from: &str, to: &str| {
        assert!(sound.contains(from), "{from}");
        read(&sound.replacen(from, to, 1))
    };
    assert!(changed("zlo zhi", "zlo zhi\n0 0 0 xy xz yz").is_ok());
    assert!(changed("Atoms # atomic", "Atoms").is_ok());
    let first = "1 2 2.9133366164062937 2.8804953722773963 0.003886577266290195 -1 -1 0";
    let refused = [
        ("zlo zhi", "zlo zhi\n0 0.1 0 xy xz yz", "one.data:9: triclinic box"),
        ("# atomic", "# ellipsoid", "one.data:20: atom style `ellipsoid`"),
        ("# atomic", "# full", "8 values in a line of `Atoms # full`, which has 7, or 10"),
        (first, "1 3 2.9 2.8 0 0 0 0", "one.data:22: type `3`; the file has 2 atom types"),
        (first, "1 2 2.9 x 0 0 0 0", "one.data:22: a coordinate: `x` is not a number"),
        (first, "2 2 2.9 1 0 0 0 0", "two particles have id 2"),
        ("16 atoms", "17 atoms", "one.data:39: section `Atoms` has 16 lines of 17"),
        ("16 atoms", "16000 atoms", "16000 particles claimed"),
        ("0 2.987603164371443 ylo yhi\n", "", "without the bounds of the box"),
        ("\n2 2.5", "", "one.data:14: type `Pair`"),
        ("\n14 ", "\n99 ", "a particle without a velocity"),
        ("Atoms #", "Atmos #", "no section `Atoms`"),
    ];
    for (from, to, expected) in refused {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn files_that_are_no_trajectories_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        open(path).err().unwrap().to_string()
    };
    assert!(write("empty.xyz", b"").contains("is empty"));
    assert!(write("a.gz", b"\x1f\x8b\x08\x00").contains("compressed"));
    assert!(write("notes.txt", b"hello\n").contains("no known format"));
    assert!(write("cut.gsd", &0x65DF_65DF_65DF_65DF_u64.to_le_bytes()).contains("cut off"));
    assert!(write("cut.hdf5", b"\x89HDF\r\n\x1a\n\0\0").contains("cut.hdf5"));
    assert!(open(folder.path()).err().unwrap().to_string().contains("folder"));
    assert!(
        open(folder.path().join("absent.xyz")).err().unwrap().to_string().contains("absent.xyz")
    );
    assert!(open(data("results.hdf5")).err().unwrap().to_string().contains("a file of its own"));
}

#[test]
fn a_trajectory_cut_short_anywhere_is_an_error_or_a_whole_number_of_frames() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["unwrapped.dump", "two_frames.xyz", "hoomd.gsd"] {
        let bytes = std::fs::read(data(name)).unwrap();
        let whole = open(data(name)).unwrap().len();
        let path = folder.path().join(name);
        for length in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            if let Ok(reader) = open(&path) {
                assert!(reader.len() <= whole);
                for index in 0..reader.len() {
                    let _ = reader.read(index);
                }
            }
        }
    }
}

/// As the simulation writes it: `particles/trajectory`, three components always.
fn write_padded_h5md(path: &Path, complete_rows: usize) -> hdf5::Result<()> {
    let file = hdf5::File::create(path)?;
    let group = file.create_group("particles/trajectory")?;
    let simulation_box = group.create_group("box")?;
    simulation_box.new_attr::<i32>().create("dimension")?.write_scalar(&3)?;
    let boundary: Vec<hdf5::types::FixedAscii<8>> = ["periodic", "periodic", "none"]
        .map(|kind| hdf5::types::FixedAscii::from_ascii(kind).unwrap())
        .into();
    simulation_box.new_attr_builder().with_data(&boundary).create("boundary")?;
    let element = |parent: &hdf5::Group, name: &str| -> hdf5::Result<hdf5::Group> {
        let element = parent.create_group(name)?;
        let steps: Vec<i64> = (0..complete_rows as i64).map(|k| 5 * k).collect();
        element.new_dataset_builder().with_data(&steps).create("step")?;
        Ok(element)
    };
    let position = ndarray::Array3::from_shape_fn((3, 2, 3), |(k, i, axis)| match axis {
        2 => 0.0,
        _ => 0.5 * k as f64 + i as f64,
    });
    let edges = ndarray::arr2(&[[4.0, 5.0, 1.0]; 3]);
    element(&group, "position")?.new_dataset_builder().with_data(&position).create("value")?;
    element(&simulation_box, "edges")?.new_dataset_builder().with_data(&edges).create("value")?;
    group.new_dataset_builder().with_data(&[1_u32, 0]).create("species")?;
    let names: Vec<hdf5::types::FixedAscii<2>> =
        ["A", "B"].map(|name| hdf5::types::FixedAscii::from_ascii(name).unwrap()).into();
    file.create_group("parameters/species")?
        .new_dataset_builder()
        .with_data(&names)
        .create("name")?;
    file.close()
}

#[test]
fn two_dimensions_padded_for_other_readers_are_two_dimensions_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("padded.h5md");
    write_padded_h5md(&path, 3).unwrap();
    let frame = open(&path).unwrap().read(2).unwrap();
    assert_eq!((frame.dimension, &frame.box_edges[..]), (2, &[4.0, 5.0][..]));
    assert_eq!(frame.position, [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]);
    assert_eq!(frame.species_name(0), "B");
}

#[test]
fn only_frames_whose_step_is_written_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.h5md");
    write_padded_h5md(&path, 2).unwrap();
    assert_eq!(open(&path).unwrap().steps(), [0, 5]);
}

/// Chunked and never written: takes no room in the file.
fn write_huge_h5md(path: &Path) -> hdf5::Result<()> {
    let file = hdf5::File::create(path)?;
    let group = file.create_group("particles/all")?;
    let edges = [4.0, 4.0, 4.0];
    group.create_group("box")?.new_dataset_builder().with_data(&edges).create("edges")?;
    group.new_dataset::<f64>().chunk((1 << 10, 3)).shape((1_usize << 40, 3)).create("position")?;
    Ok(())
}

#[test]
fn an_hdf5_dataset_larger_than_the_file_can_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.h5md");
    write_huge_h5md(&path).unwrap();
    let error = open(&path).unwrap().read(0).unwrap_err().to_string();
    assert!(error.contains("more than the file can hold"), "{error}");
}
