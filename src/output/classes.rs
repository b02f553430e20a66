//! What a results file says of classes of diameter.
use hdf5::{File, Group, Result};

use super::h5md::{number_attribute, string_attribute};
use crate::observable::diameter_classes::DiameterClass;

/// Attributes of `/dynamics/classN` and `/aging/classN`, where there are such groups, and of `/structure/classN`, where there is
/// `/structure/classN-classN`: `label` for figures, `particles` (of a system), `least_diameter`, `greatest_diameter` and
/// `mean_diameter`.
pub(super) fn describe(class: &DiameterClass, file: &File) -> Result<()> {
    for root in ["dynamics", "aging"] {
        let path = format!("{root}/{}", class.name);
        if file.link_exists(root) && file.group(root)?.link_exists(&class.name) {
            describe_group(class, &file.group(&path)?)?;
        }
    }
    let itself = format!("{0}-{0}", class.name);
    if file.link_exists("structure") && file.group("structure")?.link_exists(&itself) {
        // Functions are of pairs: the group holds the attributes alone.
        describe_group(class, &file.create_group(&format!("structure/{}", class.name))?)?;
    }
    Ok(())
}

fn describe_group(class: &DiameterClass, group: &Group) -> Result<()> {
    string_attribute(group, "label", &class.to_string())?;
    number_attribute(group, "particles", class.particles as u64)?;
    number_attribute(group, "least_diameter", class.least)?;
    number_attribute(group, "greatest_diameter", class.greatest)?;
    number_attribute(group, "mean_diameter", class.mean)
}
