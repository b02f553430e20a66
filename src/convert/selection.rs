//! Which frames of a file are taken.
use std::num::NonZeroU64;
use std::str::FromStr;

/// Frames from `start` up to `stop`, each `stride`-th, counted from 0, or from the end if negative: as slices of Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    start: Option<i64>,
    stop: Option<i64>,
    stride: Option<NonZeroU64>,
    /// Only this one: it must be there.
    single: bool,
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` selects no frames: FIRST:END:STRIDE as slices of Python, such as 10:, :-1, ::5, or one number; \
                 the stride is positive"
            )
        };
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let number = |part: &str| -> Result<Option<i64>, String> {
            match part {
                "" => Ok(None),
                part => part.parse().map(Some).map_err(|_| wrong()),
            }
        };
        let (start, stop, stride) = match parts[..] {
            [one] => {
                let start = Some(number(one)?.ok_or_else(wrong)?);
                return Ok(Selection { start, single: true, ..Selection::default() });
            }
            [start, stop] => (start, stop, ""),
            [start, stop, stride] => (start, stop, stride),
            _ => return Err(wrong()),
        };
        let stride = match stride {
            "" => None,
            stride => Some(stride.parse().map_err(|_| wrong())?),
        };
        Ok(Selection { start: number(start)?, stop: number(stop)?, stride, single: false })
    }
}

impl Selection {
    /// The places of these among `count` frames; none where nothing is selected.
    pub fn of(&self, count: usize) -> Vec<usize> {
        let place = |number: i64| -> i64 {
            if number < 0 { number.saturating_add(count as i64) } else { number }
        };
        if self.single {
            let place = place(self.start.unwrap_or(0));
            let place = usize::try_from(place).ok().filter(|&place| place < count);
            return place.into_iter().collect();
        }
        let clamped = |number: Option<i64>, otherwise: usize| -> usize {
            number.map_or(otherwise, |number| place(number).clamp(0, count as i64) as usize)
        };
        let stride = self.stride.map_or(1, |stride| stride.get() as usize);
        (clamped(self.start, 0)..clamped(self.stop, count)).step_by(stride).collect()
    }
}

/// Those among frames at `steps` that are a multiple of `every` steps behind the first one of the file.
pub fn at_multiples(places: &mut Vec<usize>, steps: &[u64], every: NonZeroU64) {
    places.retain(|&place| steps[place].abs_diff(steps[0]).is_multiple_of(every.get()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_those_of_python() {
        for (text, expected) in [
            (":", vec![0, 1, 2, 3, 4]),
            ("::2", vec![0, 2, 4]),
            ("1:4", vec![1, 2, 3]),
            ("-2:", vec![3, 4]),
            (":-3", vec![0, 1]),
            ("3:100", vec![3, 4]),
            ("4:2", vec![]),
            ("-100:1", vec![0]),
            ("2", vec![2]),
            ("-1", vec![4]),
            ("5", vec![]),
            ("-6", vec![]),
        ] {
            let selection: Selection = text.parse().unwrap();
            assert_eq!(selection.of(5), expected, "{text}");
        }
        for wrong in ["", "a", "1:2:3:4", "::0", "::-1", "1.5:", "1:x"] {
            assert!(
                wrong.parse::<Selection>().unwrap_err().contains("FIRST:END:STRIDE"),
                "{wrong}"
            );
        }
        assert_eq!(Selection::default().of(2), [0, 1]);
    }

    #[test]
    fn multiples_are_counted_from_the_first_frame_of_the_file() {
        // As of a stage that begins at step 50, with frames at logarithmic times.
        let steps = [50, 51, 52, 54, 58, 60, 66, 70];
        let mut places = vec![1, 2, 3, 4, 5, 6, 7];
        at_multiples(&mut places, &steps, NonZeroU64::new(10).unwrap());
        assert_eq!(places, [5, 7]);
    }
}
