//! How far neighbor lists look ahead that are made around the sites at which particles are expected (`src/engine/cpu/expected_sites.rs`,
//! `kernels/md/expected_sites.cuh`).

/// Of the life of the lists before.
const SHARE_AHEAD: f64 = 0.45;
/// In steps: particles that vibrate have turned round by then.
const MOST_AHEAD: f64 = 10.0;

/// Steps of the present velocities that lists look ahead which follow others that have lived for `life` steps, where friction leaves the
/// share `c = damping` of a velocity in each step: of the way in `n` steps without friction there is left that of
/// `c + c^2 + ... + c^n = c (1 - c^n) / (1 - c)` steps.
pub(super) fn steps_ahead(life: u64, damping: f64) -> f64 {
    let steps = (SHARE_AHEAD * life as f64).min(MOST_AHEAD);
    let lost = 1.0 - damping;
    if lost > 0.0 { damping * (1.0 - damping.powf(steps)) / lost } else { steps }
}

#[cfg(test)]
mod tests {
    use super::steps_ahead;

    #[test]
    fn lists_look_as_far_ahead_as_velocities_last() {
        assert_eq!(steps_ahead(0, 1.0), 0.0);
        assert_eq!(steps_ahead(20, 1.0), 9.0);
        assert_eq!(steps_ahead(200, 1.0), 10.0);
        assert_eq!(steps_ahead(20, 0.5), 1.0 - 0.5f64.powi(9));
        assert_eq!(steps_ahead(20, 0.0), 0.0, "Brownian dynamics");
    }
}
