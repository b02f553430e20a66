//! What a results file says of classes of diameter.
use hdf5::{File, Result};

use super::h5md::{number_attribute, string_attribute};
use super::systems::create_groups;
use crate::observable::diameter_classes::DiameterClass;

/// Attributes of `/dynamics/classN`: `label` for figures, `particles` (of a system), `least_diameter`, `greatest_diameter` and
/// `mean_diameter`.
pub(super) fn describe(class: &DiameterClass, file: &File) -> Result<()> {
    let group = create_groups(file, &format!("dynamics/{}", class.name))?;
    string_attribute(&group, "label", &class.to_string())?;
    number_attribute(&group, "particles", class.particles as u64)?;
    number_attribute(&group, "least_diameter", class.least)?;
    number_attribute(&group, "greatest_diameter", class.greatest)?;
    number_attribute(&group, "mean_diameter", class.mean)
}
