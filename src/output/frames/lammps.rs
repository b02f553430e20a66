//! What LAMMPS' dumps and data files share: types, ids, bounds of the box.
use supercool_analysis::Frame;

/// Number of LAMMPS for each species.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    /// By species, from 1.
    pub numbers: Vec<u32>,
    /// Whether the names are kept as labels of the types.
    pub labels: bool,
    /// Whether names are lost.
    pub renamed: bool,
}

impl Types {
    /// Species that are named by numbers from 1 keep these numbers. Others are numbered in their order, with their names as
    /// labels if LAMMPS takes them: these do not begin with a digit, `#` or `*`, and have no spaces.
    pub fn of(names: &[String]) -> Self {
        let number = |name: &String| -> Option<u32> {
            let number: u32 = name.parse().ok()?;
            // "+1" and "01" would come back as "1".
            ((1..=MOST_TYPES).contains(&number) && number.to_string() == *name).then_some(number)
        };
        if let Some(numbers) = names.iter().map(number).collect() {
            return Types { numbers, labels: false, renamed: false };
        }
        let is_label = |name: &String| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit() || "#*".contains(first))
                && !name.contains(|each: char| each.is_whitespace() || each == '#')
        };
        let labels = names.iter().all(is_label);
        Types { numbers: (1..=names.len() as u32).collect(), labels, renamed: !labels }
    }

    /// Number of types in a file.
    pub fn count(&self) -> u32 {
        self.numbers.iter().copied().max().unwrap_or(0)
    }
}

/// Types of more numbers are renumbered.
const MOST_TYPES: u32 = 1000;

/// By how much the ids of LAMMPS, which begin with 1, are larger than those of a frame.
pub fn id_offset(frame: &Frame) -> u64 {
    let first = frame.id.as_ref().and_then(|id| id.first());
    u64::from(first == Some(&0))
}

/// Lower and upper bound along each axis. In two dimensions the particles are at z = 0, in the middle.
pub fn bounds(frame: &Frame) -> [[f64; 2]; 3] {
    let edges = frame.padded_edges();
    std::array::from_fn(|k| if k < frame.dimension { [0.0, edges[k]] } else { [-0.5, 0.5] })
}

/// Shift along x of the image one edge further along y: `xy` of LAMMPS.
pub fn xy(frame: &Frame) -> f64 {
    frame.tilt * frame.box_edges[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_names_become_labels() {
        let of = |names: &[&str]| {
            Types::of(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        let types = of(&["1", "3"]);
        assert_eq!((&types.numbers[..], types.labels, types.renamed), (&[1, 3][..], false, false));
        assert_eq!(types.count(), 3);
        let types = of(&["A", "B2"]);
        assert_eq!((&types.numbers[..], types.labels, types.renamed), (&[1, 2][..], true, false));
        for lost in
            [&["0", "1"][..], &["A", "2B"], &["A a"], &["#"], &[""], &["01"], &["4000000000"]]
        {
            let types = of(lost);
            assert_eq!(
                (types.count() as usize, types.labels, types.renamed),
                (lost.len(), false, true)
            );
        }
    }
}
