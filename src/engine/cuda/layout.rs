//! Structs that the host and the kernels share, made field by field, where a Rust struct cannot be declared: arrays are as
//! long as macros of the program say, or the kernels' struct is a template.
use std::borrow::Cow;

use super::declare::{DeviceType, comment};

/// A struct of the kernels with its values: its declaration, where arrays may be as long as macros of the program say; or,
/// where the kernels declare it themselves, assertions that it is the same.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    bytes: Vec<u8>,
    alignment: usize,
    fields: Vec<Field>,
    /// Whether an array is as long as a macro says.
    length_is_macro: bool,
}

#[derive(Clone, Debug)]
struct Field {
    name: Cow<'static, str>,
    /// By its name in C++.
    declare: fn(&str) -> String,
    /// Of an array: its length in the kernels.
    length: Option<&'static str>,
    doc: &'static [&'static str],
    /// From the start of the struct; none behind an array whose length is a macro.
    offset: Option<usize>,
}

impl Layout {
    /// Adds a number.
    pub fn with<T: DeviceType>(
        self,
        name: impl Into<Cow<'static, str>>,
        doc: &'static [&'static str],
        value: T,
    ) -> Self {
        self.append(name.into(), None, doc, &[value])
    }

    /// Adds an array, whose length in the kernels is `length`.
    pub fn with_array<T: DeviceType>(
        self,
        name: &'static str,
        length: &'static str,
        doc: &'static [&'static str],
        values: &[T],
    ) -> Self {
        let layout = self.append(name.into(), Some(length), doc, values);
        Layout { length_is_macro: true, ..layout }
    }

    fn append<T: DeviceType>(
        mut self,
        name: Cow<'static, str>,
        length: Option<&'static str>,
        doc: &'static [&'static str],
        values: &[T],
    ) -> Self {
        let alignment = align_of::<T>();
        self.alignment = self.alignment.max(alignment);
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
        let offset = (!self.length_is_macro).then_some(self.bytes.len());
        self.fields.push(Field { name, declare: T::declare, length, doc, offset });
        values.iter().for_each(|value| self.bytes.extend_from_slice(value.bytes()));
        self
    }

    /// As it lies in memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(self.alignment.max(1)), 0);
        bytes
    }

    /// Text of the struct, for kernels that include `arithmetic/portable.cuh`.
    pub fn declaration(&self, name: &str) -> String {
        let mut text = format!("struct {name} {{\n");
        for Field { name, declare, length, doc, .. } in &self.fields {
            let declaration = match length {
                None => declare(name),
                Some(length) => declare(&format!("{name}[{length}]")),
            };
            text += &format!("{}    {declaration};\n", comment("    ", doc));
        }
        text + "};\n" + &self.assertions(name)
    }

    /// That a struct of this name has these fields where they lie here, and, if its length is known, no others.
    pub fn assertions(&self, name: &str) -> String {
        let at = |field: &Field| {
            let Field { name: field, offset, .. } = field;
            offset.map(|offset| {
                format!(
                    "static_assert(OFFSET_OF({name}, {field}) == {offset}, \"place of {field}\");\n"
                )
            })
        };
        let mut text: String = self.fields.iter().filter_map(at).collect();
        if !self.length_is_macro {
            let size = self.bytes().len();
            text += &format!(
                "static_assert(sizeof({name}) == {size}, \"{name} has one layout on host and GPU\");\n"
            );
        }
        text
    }
}
