//! What the two H5MD files share: metadata, strings, growing datasets.
use std::ffi::c_void;
use std::path::Path;

use hdf5::types::{TypeDescriptor, VarLenUnicode};
use hdf5::{
    Container, Dataset, Extent, Extents, File, Group, H5Type, Hyperslab, Location, Result,
    SimpleExtents, SliceOrIndex, h5check,
};
use hdf5_sys::h5::herr_t;
use hdf5_sys::h5a::{H5Aread, H5Awrite};
use hdf5_sys::h5d::{H5Dread, H5Dwrite};
use hdf5_sys::h5i::hid_t;
use hdf5_sys::h5p::H5P_DEFAULT;
use hdf5_sys::h5s::H5S_ALL;
use ndarray::{ArrayView1, ArrayViewD, IxDyn};

use super::error::foreign;
use super::{OutputError, RunDescription};

/// Of the files of runs.
pub(super) const CREATOR: &str = "supercool";

/// Whether supercool made this file.
pub(super) fn is_ours(file: &File) -> bool {
    file.group("h5md/creator")
        .and_then(|group| read_string_attribute(&group, "name"))
        .is_ok_and(|name| name == CREATOR)
}

/// # Errors
/// If a file is of another run. Files that do not say are taken.
pub(super) fn check_run(
    file: &File,
    path: &Path,
    run: &RunDescription,
) -> std::result::Result<(), OutputError> {
    match read_string(file, "parameters/run") {
        Ok(name) if name != run.run => Err(foreign(path, "it is of another run")),
        _ => Ok(()),
    }
}

/// `/h5md`: version of the specification, author, creator.
pub(super) fn write_metadata(
    file: &File,
    author_name: &str,
    creator_name: &str,
    version: &str,
) -> Result<()> {
    let h5md = file.create_group("h5md")?;
    numbers_attribute(&h5md, "version", &[1_i32, 1])?;
    let author = h5md.create_group("author")?;
    string_attribute(&author, "name", author_name)?;
    let creator = h5md.create_group("creator")?;
    string_attribute(&creator, "name", creator_name)?;
    string_attribute(&creator, "version", version)
}

/// `/h5md/modules/<name>`, version 1.0.
pub(super) fn register_module(file: &File, name: &str) -> Result<Group> {
    let modules = match file.group("h5md/modules") {
        Ok(modules) => modules,
        Err(_) => file.create_group("h5md/modules")?,
    };
    let module = modules.create_group(name)?;
    numbers_attribute(&module, "version", &[1_i32, 0])?;
    Ok(module)
}

/// `/parameters`: what reproduces the run.
pub(super) fn write_parameters(file: &File, run: &RunDescription) -> Result<()> {
    let plan = run.plan;
    let parameters = file.create_group("parameters")?;
    write_string(&parameters, "toml", run.toml_text)?;
    write_string(&parameters, "plan", &run.plan_json())?;
    write_string(&parameters, "stage", run.stage)?;
    write_string(&parameters, "run", run.run)?;
    write_string(&parameters, "version", run.version)?;
    write_string(&parameters, "precision", plan.run.precision.name())?;
    write_string(&parameters, "hardware", &run.hardware.to_string())?;
    write_string(&parameters, "tuning", &run.tuning.to_string())?;
    write_scalar(&parameters, "seed", &plan.system.seed)?;
    write_scalar(&parameters, "timestep", &plan.run.timestep)?;
    let species = parameters.create_group("species")?;
    let names: Vec<&str> =
        plan.system.species.iter().map(|species| species.name.as_str()).collect();
    let counts: Vec<u64> = plan.system.species.iter().map(|species| species.count as u64).collect();
    let masses: Vec<f64> = plan.system.species.iter().map(|species| species.mass).collect();
    write_strings(&species, "name", &names)?;
    write_array(&species, "count", &[names.len()], &counts)?;
    write_array(&species, "mass", &[names.len()], &masses)?;
    Ok(())
}

/// Bytes of the strings, each filled up with zeros to the length of the longest.
fn padded(strings: &[&str]) -> (usize, Vec<u8>) {
    let length = strings.iter().map(|string| string.len()).max().unwrap_or(0).max(1);
    let mut bytes = vec![0; length * strings.len()];
    for (cell, string) in bytes.chunks_exact_mut(length).zip(strings) {
        cell[..string.len()].copy_from_slice(string.as_bytes());
    }
    (length, bytes)
}

fn string_type(strings: &[&str], length: usize) -> TypeDescriptor {
    match strings.iter().all(|string| string.is_ascii()) {
        true => TypeDescriptor::FixedAscii(length),
        false => TypeDescriptor::FixedUnicode(length),
    }
}

fn write_strings_as(group: &Group, name: &str, shape: Extents, strings: &[&str]) -> Result<()> {
    let (length, bytes) = padded(strings);
    let dataset = group
        .new_dataset_builder()
        .empty_as(&string_type(strings, length))
        .shape(shape)
        .create(name)?;
    let datatype = dataset.dtype()?;
    // SAFETY: `bytes` holds one element of the dataset's own type for each string.
    hdf5::sync::sync(|| {
        h5check(unsafe {
            let data = bytes.as_ptr().cast();
            H5Dwrite(dataset.id(), datatype.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data)
        })
    })?;
    Ok(())
}

/// Scalar dataset, string of fixed length.
pub(super) fn write_string(group: &Group, name: &str, text: &str) -> Result<()> {
    write_strings_as(group, name, Extents::Scalar, &[text])
}

/// One-dimensional dataset, strings of fixed length.
pub(super) fn write_strings(group: &Group, name: &str, strings: &[&str]) -> Result<()> {
    write_strings_as(group, name, strings.len().into(), strings)
}

fn strings_attribute_as(
    location: &Location,
    name: &str,
    shape: Extents,
    strings: &[&str],
) -> Result<()> {
    let (length, bytes) = padded(strings);
    let attribute = location
        .new_attr_builder()
        .empty_as(&string_type(strings, length))
        .shape(shape)
        .create(name)?;
    let datatype = attribute.dtype()?;
    // SAFETY: `bytes` holds one element of the attribute's own type for each string.
    hdf5::sync::sync(|| {
        h5check(unsafe { H5Awrite(attribute.id(), datatype.id(), bytes.as_ptr().cast()) })
    })?;
    Ok(())
}

/// Scalar attribute, string of fixed length, as H5MD wants it.
pub(super) fn string_attribute(location: &Location, name: &str, text: &str) -> Result<()> {
    strings_attribute_as(location, name, Extents::Scalar, &[text])
}

/// One-dimensional attribute, strings of fixed length.
pub(super) fn strings_attribute(location: &Location, name: &str, strings: &[&str]) -> Result<()> {
    strings_attribute_as(location, name, strings.len().into(), strings)
}

/// Scalar attribute, string of variable length, as MDAnalysis wants it.
pub(super) fn variable_string_attribute(location: &Location, name: &str, text: &str) -> Result<()> {
    let text: VarLenUnicode = text.parse().map_err(|_| "a string holds a zero byte")?;
    location.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&text)
}

/// Scalar dataset, string of fixed length.
fn read_string(file: &File, path: &str) -> Result<String> {
    let dataset = file.dataset(path)?;
    // SAFETY: there is room for the one element of the dataset's own type.
    read_fixed_string(&dataset, |datatype, to| unsafe {
        H5Dread(dataset.id(), datatype, H5S_ALL, H5S_ALL, H5P_DEFAULT, to)
    })
}

fn read_string_attribute(location: &Location, name: &str) -> Result<String> {
    let attribute = location.attr(name)?;
    // SAFETY: as above.
    read_fixed_string(&attribute, |datatype, to| unsafe { H5Aread(attribute.id(), datatype, to) })
}

/// Up to the first zero. `read` is called with the container's own type, and room for one element of it.
fn read_fixed_string(
    container: &Container,
    read: impl FnOnce(hid_t, *mut c_void) -> herr_t,
) -> Result<String> {
    let datatype = container.dtype()?;
    let fixed = matches!(
        datatype.to_descriptor()?,
        TypeDescriptor::FixedAscii(_) | TypeDescriptor::FixedUnicode(_)
    );
    if container.size() != 1 || !fixed {
        return Err("not one string of fixed length".into());
    }
    let mut bytes = vec![0_u8; datatype.size()];
    hdf5::sync::sync(|| h5check(read(datatype.id(), bytes.as_mut_ptr().cast())))?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// One-dimensional attribute.
pub(super) fn numbers_attribute<T: H5Type>(
    location: &Location,
    name: &str,
    numbers: &[T],
) -> Result<()> {
    location.new_attr::<T>().shape(numbers.len()).create(name)?.write(ArrayView1::from(numbers))
}

/// Scalar attribute.
pub(super) fn number_attribute<T: H5Type>(location: &Location, name: &str, value: T) -> Result<()> {
    location.new_attr::<T>().create(name)?.write_scalar(&value)
}

/// Scalar dataset.
pub(super) fn write_scalar<T: H5Type>(group: &Group, name: &str, value: &T) -> Result<Dataset> {
    let dataset = group.new_dataset::<T>().create(name)?;
    dataset.write_scalar(value)?;
    Ok(dataset)
}

/// Dataset of fixed shape.
pub(super) fn write_array<T: H5Type>(
    group: &Group,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> Result<Dataset> {
    let dataset = group.new_dataset::<T>().shape(shape).create(name)?;
    overwrite(&dataset, values)?;
    Ok(dataset)
}

/// Writes all values of a dataset of fixed shape.
fn overwrite<T: H5Type>(dataset: &Container, values: &[T]) -> Result<()> {
    dataset.write_raw(ArrayView1::from(values))
}

/// Writes them again, and hands them to the operating system.
pub(super) fn write_again<T: H5Type>(group: &Group, name: &str, values: &[T]) -> Result<()> {
    let dataset = group.dataset(name)?;
    overwrite(&dataset, values)?;
    dataset.flush()
}

/// The same of a scalar.
pub(super) fn write_scalar_again<T: H5Type>(group: &Group, name: &str, value: &T) -> Result<()> {
    let dataset = group.dataset(name)?;
    dataset.write_scalar(value)?;
    dataset.flush()
}

/// Empty dataset that grows along its first axis; `row` is the shape of what is added.
pub(super) fn create_rows<T: H5Type>(
    group: &Group,
    name: &str,
    row: &[usize],
    chunk: Vec<usize>,
    deflate: bool,
) -> Result<Dataset> {
    let mut extents = vec![Extent::resizable(0)];
    extents.extend(row.iter().map(|&length| Extent::fixed(length)));
    let mut builder = group
        .new_dataset::<T>()
        .shape(Extents::Simple(SimpleExtents::from_vec(extents)))
        .chunk(chunk);
    if deflate {
        builder = builder.shuffle().deflate(1);
    }
    builder.create(name)
}

/// Writes whole rows from row `start` on, which become the last ones, and hands them to the
/// operating system.
pub(super) fn write_rows<T: H5Type>(
    file: &Group,
    path: &str,
    start: usize,
    values: &[T],
) -> Result<()> {
    let dataset = file.dataset(path)?;
    let mut shape = dataset.shape();
    let row: usize = shape[1..].iter().product();
    shape[0] = start + values.len() / row;
    dataset.resize(shape.clone())?;
    let mut slab: Vec<SliceOrIndex> = vec![(start..shape[0]).into()];
    slab.resize(shape.len(), SliceOrIndex::from(..));
    shape[0] -= start;
    let view = ArrayViewD::from_shape(IxDyn(&shape), values)?;
    dataset.write_slice(view, Hyperslab::from(slab))?;
    dataset.flush()
}

/// Number of rows of a growing dataset.
pub(super) fn row_count(file: &Group, path: &str) -> Result<u64> {
    Ok(file.dataset(path)?.shape().first().copied().unwrap_or(0) as u64)
}

/// Forgets all rows from `rows` on.
pub(super) fn truncate_rows(file: &Group, path: &str, rows: usize) -> Result<()> {
    let dataset = file.dataset(path)?;
    let mut shape = dataset.shape();
    shape[0] = rows;
    dataset.resize(shape)
}
