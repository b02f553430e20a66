//! Numbers as text.
use indicatif::BinaryBytes;

/// A number of significant digits, zeros at the end left out; all digits before the point. From 1e-4 to 1e9 as a decimal.
pub fn significant(x: f64, digits: usize) -> String {
    let magnitude = x.abs().log10().floor();
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    if !(-4.0..9.0).contains(&magnitude) {
        let rounded = format!("{x:.*e}", digits - 1);
        return rounded.parse().map_or(rounded, |rounded: f64| format!("{rounded:e}"));
    }
    let decimals = (digits as i32 - 1 - magnitude as i32).max(0) as usize;
    let rounded = format!("{x:.decimals$}");
    rounded.parse().map_or(rounded, |rounded: f64| rounded.to_string())
}

/// Five digits, for what is read.
pub(crate) fn short(x: f64) -> String {
    significant(x, 5)
}

/// Numbers to twelve digits, so that those of decimals look like them.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    match (value.as_str(), value.as_f64().filter(|_| value.is_f64())) {
        (Some(word), _) => word.to_owned(),
        (None, Some(number)) => significant(number, 12),
        (None, None) => value.to_string(),
    }
}

/// Name and value as they are read; what is in bytes (`memory_bytes`) in KiB, MiB, GiB.
pub(crate) fn named(name: &str, value: &serde_json::Value) -> (String, String) {
    let (name, value) = match (name.strip_suffix("_bytes"), value.as_u64()) {
        (Some(of), Some(bytes)) => (of, BinaryBytes(bytes).to_string()),
        // That of fixed-point differs from the one that was set by the rounding of a 32-bit float.
        _ if name == "effective_timestep" => {
            (name, value.as_f64().map_or_else(|| shown(value), |timestep| significant(timestep, 7)))
        }
        _ => (name, shown(value)),
    };
    (name.replace('_', " "), value)
}

/// Value and error as text, both to the second digit of the error; an error that is not finite is `-`.
pub fn with_error(value: f64, error: f64) -> (String, String) {
    if !error.is_finite() {
        return (short(value), "-".into());
    }
    if error == 0.0 || error < 1e-12 * value.abs() {
        return (short(value), "0".into());
    }
    if !(1e-9..1e9).contains(&error) {
        return (format!("{value:.6e}"), format!("{error:.1e}"));
    }
    let decimals = (1 - error.log10().floor() as i32).max(0) as usize;
    (format!("{value:.decimals$}"), format!("{error:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_to_what_is_known() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(f64::NAN), "NaN");
        assert_eq!(short(2000.0), "2000");
        assert_eq!(short(7.251_234), "7.2512");
        assert_eq!(short(-0.099_999_9), "-0.1");
        assert_eq!(short(1_234_567.8), "1234568");
        assert_eq!(short(1.5e-7), "1.5e-7");
        assert_eq!(short(1.234_56e12), "1.2346e12");
        assert_eq!(significant(7.209_448_920_13e-8, 10), "7.20944892e-8");
        assert_eq!(with_error(-6.842_134_5, 0.000_31), ("-6.84213".into(), "0.00031".into()));
        assert_eq!(with_error(1234.5, 20.0), ("1234".into(), "20".into()));
        assert_eq!(with_error(0.5, 0.0), ("0.5".into(), "0".into()));
        assert_eq!(with_error(0.5, f64::NAN).1, "-");
    }

    #[test]
    fn bytes_are_read_in_larger_units() {
        let named = |name: &str, json: &str| {
            let (name, value) = named(name, &serde_json::from_str(json).unwrap());
            format!("{name} {value}")
        };
        assert_eq!(named("memory_bytes", "150109880320"), "memory 139.80 GiB");
        assert_eq!(named("local_bytes", "328"), "local 328 B");
        assert_eq!(named("driver", "\"13.0\""), "driver 13.0");
        assert_eq!(named("threads_per_particle", "4"), "threads per particle 4");
    }

    #[test]
    fn numbers_are_shown_as_decimals() {
        let shown = |json: &str| shown(&serde_json::from_str(json).unwrap());
        assert_eq!(shown("0.42500000000000004"), "0.425");
        assert_eq!(shown("0.0039999999949504855"), "0.00399999999495");
        assert_eq!(shown("12345678901234567"), "12345678901234567");
        assert_eq!(shown("\"AVX-512\""), "AVX-512");
    }
}
