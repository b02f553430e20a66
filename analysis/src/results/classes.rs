//! Classes of particles by diameter, over which time correlations and structure are averaged.
use super::{ResultsFile, group_at};
use crate::hdf5_file::{group, members};

/// A class, which stands for a species in `/dynamics`, `/aging` and `/structure`.
#[derive(Clone, Debug, PartialEq)]
pub struct DiameterClass {
    /// Of its functions: `class1`, ...
    pub group: String,
    /// With its least and greatest diameter: `class 1 (0.73-0.82)`.
    pub label: String,
    /// Of a system.
    pub particles: u64,
}

impl ResultsFile {
    /// Those that averages are over, in the order of their diameters; none where they are over species.
    pub fn classes(&self) -> Vec<DiameterClass> {
        let roots = ["dynamics", "aging", "structure"].into_iter();
        let found = roots.map(|root| self.classes_below(root)).find(|classes| !classes.is_empty());
        found.unwrap_or_default()
    }

    fn classes_below(&self, root: &str) -> Vec<DiameterClass> {
        let Some(root) = group_at(&self.file.root, root) else { return Vec::new() };
        let class = |name: String| {
            let of_class = group(&root, &name)?;
            let label = self.file.text_attribute(&of_class, "label")?;
            let particles = self.file.integers(&*of_class.attr("particles").ok()?).ok()?;
            let particles = u64::try_from(*particles.first()?).ok()?;
            Some(DiameterClass { group: name, label, particles })
        };
        members(&root).into_iter().filter_map(class).collect()
    }
}
