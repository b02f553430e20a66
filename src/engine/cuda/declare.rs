//! Types that the host and the kernels share, declared once, in Rust. A declaration here is also the text of the C++ one,
//! which the compiler of the kernels gets as a header (`shared/NAME.cuh`).
//!
//! [`device_struct!`] declares a struct, [`device_constants!`] numbers by name, [`shared_header!`] collects them to a header,
//! which [`Program::include`](super::program::Program::include) gives to a program. The text repeats the comments, and asserts the size of every struct.
use std::marker::PhantomData;

use cudarc::driver::sys::CUdeviceptr;

/// Numbers that are copied to and from the GPU as they are.
///
/// # Safety
/// Every pattern of bits is a value, and there is no padding.
pub unsafe trait Plain: Copy {
    /// All bits zero.
    fn zeroed() -> Self {
        // SAFETY: every pattern of bits is a value.
        unsafe { std::mem::zeroed() }
    }

    /// As it lies in memory.
    fn bytes(&self) -> &[u8] {
        // SAFETY: there is no padding.
        unsafe { std::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }
}

/// A type that the kernels have too: by its name there.
pub trait Named {
    fn name() -> String;
}

/// A type that may be a field or a kernel's argument.
///
/// # Safety
/// The kernels have it in the same bytes.
pub unsafe trait DeviceType: Plain {
    /// Declaration of something of this type in C++.
    fn declare(name: &str) -> String;
}

macro_rules! number {
    ($($rust:ty: $name:literal),*) => {$(
        impl Named for $rust {
            fn name() -> String {
                $name.to_owned()
            }
        }
        // SAFETY: any bits are a value.
        unsafe impl Plain for $rust {}
        // SAFETY: of the same width.
        unsafe impl DeviceType for $rust {
            fn declare(name: &str) -> String {
                format!("{} {name}", $name).trim_end().to_owned()
            }
        }
    )*};
}
number!(u8: "u8", u32: "u32", i32: "i32", u64: "u64", i64: "i64", f32: "float", f64: "double");

// SAFETY: elements follow each other without gaps.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: as in C++.
unsafe impl<T: DeviceType, const N: usize> DeviceType for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

/// Something constant, behind a pointer.
pub struct Const<T>(PhantomData<T>);

impl<T: Named> Named for Const<T> {
    fn name() -> String {
        format!("const {}", T::name())
    }
}

/// An address in the GPU's memory.
#[repr(transparent)]
pub struct Pointer<T> {
    address: CUdeviceptr,
    to: PhantomData<fn() -> T>,
}

impl<T> Pointer<T> {
    pub const NULL: Self = Self::at(0);

    pub const fn at(address: CUdeviceptr) -> Self {
        Pointer { address, to: PhantomData }
    }

    pub fn address(self) -> CUdeviceptr {
        self.address
    }

    pub fn to_const(self) -> Pointer<Const<T>> {
        Pointer::at(self.address)
    }
}

impl<T: Plain> Pointer<T> {
    /// The element that comes `count` later.
    pub fn add(self, count: usize) -> Self {
        Self::at(self.address + (count * size_of::<T>()) as CUdeviceptr)
    }
}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> std::fmt::Debug for Pointer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

// SAFETY: an integer.
unsafe impl<T> Plain for Pointer<T> {}
// SAFETY: pointers of the device have eight bytes, as here.
unsafe impl<T: Named> DeviceType for Pointer<T> {
    fn declare(name: &str) -> String {
        format!("{} *{name}", T::name())
    }
}

/// Types of the kernels that depend on the precision; only pointers to them are shared.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        pub enum $name {}
        impl Named for $name {
            fn name() -> String {
                stringify!($name).to_owned()
            }
        }
    )*};
}
opaque!(Coordinate, Velocity, Site, Force, HalfBits, PolicyConstants);

/// Text of a declaration.
pub trait Declared {
    fn declaration() -> String;
}

/// Lines of a comment.
pub fn comment(indent: &str, lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{indent}// {}\n", line.trim())).collect()
}

/// A struct with the same fields here and in the kernels. The derived `Default` has all bits zero.
macro_rules! device_struct {
    (
        $(#[doc = $doc:literal])*
        $visible:vis struct $name:ident {
            $( $(#[doc = $field_doc:literal])* $field_visible:vis $field:ident: $type:ty, )*
        }
    ) => {
        $(#[doc = $doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        $visible struct $name {
            $( $(#[doc = $field_doc])* $field_visible $field: $type, )*
        }

        const _: () = assert!(
            0 $(+ size_of::<$type>())* == size_of::<$name>(),
            "the fields fill the struct without gaps"
        );
        // SAFETY: so are all fields, and there are no gaps.
        unsafe impl $crate::engine::cuda::declare::Plain for $name {}

        impl Default for $name {
            fn default() -> Self {
                $crate::engine::cuda::declare::Plain::zeroed()
            }
        }

        impl $crate::engine::cuda::declare::Named for $name {
            fn name() -> String {
                stringify!($name).to_owned()
            }
        }

        // SAFETY: the kernels have the declaration below.
        unsafe impl $crate::engine::cuda::declare::DeviceType for $name {
            fn declare(name: &str) -> String {
                format!("{} {name}", stringify!($name)).trim_end().to_owned()
            }
        }

        impl $crate::engine::cuda::declare::Declared for $name {
            fn declaration() -> String {
                use $crate::engine::cuda::declare::{DeviceType, comment};
                let mut text = comment("", &[$($doc),*]);
                text += concat!("struct ", stringify!($name), " {\n");
                $(
                    text += &comment("    ", &[$($field_doc),*]);
                    text += &format!("    {};\n", <$type as DeviceType>::declare(stringify!($field)));
                )*
                text += "};\n";
                text + &format!(
                    "static_assert(sizeof({0}) == {1}, \"{0} has one layout on host and GPU\");\n",
                    stringify!($name),
                    size_of::<$name>()
                )
            }
        }
    };
}
pub(crate) use device_struct;

/// Numbers that the kernels have under the same names, or with `as`, under other ones.
macro_rules! device_constants {
    (
        $(#[doc = $doc:literal])*
        $visible:vis mod $name:ident: $type:ty {
            $( $(#[doc = $one_doc:literal])* $constant:ident = $value:expr $(, as $text:ident)?; )*
        }
    ) => {
        $(#[doc = $doc])*
        $visible mod $name {
            #[allow(unused_imports)]
            use super::*;
            $( $(#[doc = $one_doc])* #[allow(dead_code)] pub const $constant: $type = $value; )*
            pub enum Declaration {}
        }
        impl $crate::engine::cuda::declare::Declared for $name::Declaration {
            fn declaration() -> String {
                use $crate::engine::cuda::declare::{Named, comment, constant_name};
                let mut text = comment("", &[$($doc),*]);
                $(
                    text += &comment("", &[$($one_doc),*]);
                    text += &format!(
                        "static constexpr {} {} = {};\n",
                        <$type as Named>::name(),
                        constant_name(&[stringify!($constant) $(, stringify!($text))?]),
                        $name::$constant
                    );
                )*
                text
            }
        }
    };
}
pub(crate) use device_constants;

/// The last of the names.
pub fn constant_name<'a>(names: &[&'a str]) -> &'a str {
    names[names.len() - 1]
}

/// A header of the kernels, by the name with which they include it.
#[derive(Clone, Copy, Debug)]
pub struct SharedHeader {
    pub name: &'static str,
    pub text: fn() -> String,
}

/// No two have one name.
impl PartialEq for SharedHeader {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SharedHeader {}

/// The header of these declarations, in their order.
macro_rules! shared_header {
    ($visible:vis $constant:ident = $name:literal: $($type:ty),+ $(,)?) => {
        /// What the kernels include of this module.
        $visible const $constant: $crate::engine::cuda::declare::SharedHeader =
            $crate::engine::cuda::declare::SharedHeader {
                name: $name,
                text: || {
                    use $crate::engine::cuda::declare::Declared;
                    let mut text = concat!("// Declared in ", file!(), ".\n#pragma once\n").to_owned();
                    $( text += "\n"; text += &<$type as Declared>::declaration(); )+
                    text
                },
            };
    };
}
pub(crate) use shared_header;

#[cfg(test)]
mod tests {
    use super::*;

    device_struct! {
        /// Three of a kind.
        struct Example {
            /// Bits, of two words each.
            words: [[u32; 3]; 2],
            at: [Pointer<Site>; 2],
            constant: Pointer<Const<u32>>,
            share: f64,
        }
    }

    device_constants! {
        /// How something ended.
        mod end: u32 {
            /// Well.
            DONE = 0, as END_DONE;
            LOST = 7;
        }
    }

    shared_header!(HEADER = "shared/example.cuh": end::Declaration, Example);

    #[test]
    fn a_declaration_is_written_as_cpp_has_it() {
        let text = (HEADER.text)();
        let expected = "\n// How something ended.\n// Well.\nstatic constexpr u32 END_DONE = 0;\n\
                        static constexpr u32 LOST = 7;\n\n// Three of a kind.\nstruct Example {\n    \
                        // Bits, of two words each.\n    u32 words[2][3];\n    Site *at[2];\n    const u32 *constant;\n    \
                        double share;\n};\nstatic_assert(sizeof(Example) == 56, \
                        \"Example has one layout on host and GPU\");\n";
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(HEADER.name, "shared/example.cuh");
        let example = Example { share: 1.0, ..Example::default() };
        assert_eq!(example.bytes()[48..], 1.0f64.to_ne_bytes());
        assert_eq!((end::DONE, end::LOST, example.at[0].address()), (0, 7, 0));
    }
}
