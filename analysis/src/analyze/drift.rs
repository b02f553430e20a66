//! The share of the estimates that is motion of the centre of mass.
use super::{Flag, Row};
use crate::drift::{Drift, VISIBLE};
use crate::numbers::short;

use super::runs::{FS, MSD, VACF};

/// Flags coefficients and decays that come from the centre of mass in part, and remarks the share.
pub(super) fn remark(rows: &mut [Row], drift: &Drift) {
    for row in rows {
        let (share, of) = match (row.quantity.as_str(), row.wavenumber) {
            ("D", _) if drift.moves(MSD) => {
                (drift.diffusion_coefficient() / row.estimate.value, "it")
            }
            ("D_vacf", _) if drift.moves(VACF) => {
                (drift.diffusion_coefficient() / row.estimate.value, "it")
            }
            ("tau" | "tau_kww", Some(q)) if drift.moves(FS) => {
                (drift.decay(q, row.estimate.value), "the decay, -ln F_s,")
            }
            _ => continue,
        };
        if let Some(what) = text(share, of) {
            let before = if row.remark.is_empty() { "" } else { "; " };
            row.remark += &format!("{before}{what}");
            row.flags.push(Flag::CenterOfMassMotion);
        }
    }
}

/// `None` where the share is too small to matter.
fn text(share: f64, of: &str) -> Option<String> {
    let percent = short((100.0 * share).round());
    (share > VISIBLE).then(|| format!("{percent} % of {of} is motion of the centre of mass"))
}
