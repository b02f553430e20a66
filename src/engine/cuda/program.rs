//! Programs: kernels that are compiled together.
use super::declare::SharedHeader;
use crate::potential::KernelHeader;

/// What to compile: a text that includes headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name in the compiler's messages.
    pub name: String,
    pub text: String,
    /// Macros that are defined before the text.
    pub macros: Vec<(String, String)>,
    /// Headers that are declared in Rust and that the text needs, by itself or through files of `kernels/`, which every
    /// program may include.
    pub shared: Vec<SharedHeader>,
    /// Headers that were written for it.
    pub headers: Vec<KernelHeader>,
}

impl Program {
    pub fn new(name: &str, text: impl Into<String>) -> Self {
        Program {
            name: name.to_owned(),
            text: text.into(),
            macros: Vec::new(),
            shared: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// The same with more macros; later ones replace those of the same names.
    pub fn define(mut self, macros: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        for (name, value) in macros {
            self.macros.retain(|(other, _)| other != name);
            self.macros.push((name.to_owned(), value));
        }
        self
    }

    /// The same with more headers.
    pub fn include(mut self, shared: &[SharedHeader]) -> Self {
        self.shared.extend_from_slice(shared);
        self
    }

    /// The same with headers that were written for it.
    pub fn with_headers(mut self, headers: Vec<KernelHeader>) -> Self {
        self.headers.extend(headers);
        self
    }

    /// The same with the assertion that its kernels have the parameters that the host launches them with.
    pub fn checked(mut self, checks: &[String]) -> Self {
        self.text += "\ntemplate <class A, class B> struct SameType { static constexpr bool value = false; };\n\
                      template <class A> struct SameType<A, A> { static constexpr bool value = true; };\n";
        checks.iter().for_each(|check| self.text += check);
        self
    }
}
