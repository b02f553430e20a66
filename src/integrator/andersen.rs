//! Andersen's thermostat as in Colberg & Hoefling 2011, section 2.3: all particles get new
//! Boltzmann-distributed velocities at a fixed interval, in the middle of a drift. For harmonic motion positions then
//! have the temperature exactly.

/// Steps between collisions with the thermostat, `1 / (rate dt)`, at least 1.
pub fn interval(rate: f64, timestep: f64) -> u64 {
    (1.0 / (rate * timestep)).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn interval_is_the_mean_time_between_collisions() {
        assert_eq!(super::interval(1.0, 0.001), 1000);
        assert_eq!(super::interval(5.0, 0.004), 50);
        assert_eq!(super::interval(1e9, 0.004), 1);
    }
}
