//! Particles divided into classes by their diameters, which stand for species in averages.
//!
//! Diameters are compared as 32-bit floats: engines, checkpoints and trajectories of all precisions give the same classes.
use std::fmt;
use std::sync::Arc;

use super::{ObservableError, SampleContext};
use crate::plan::DiameterClassesPlan;
use crate::system::Species;

/// The particles of a system, divided.
#[derive(Clone, Debug, PartialEq)]
pub struct DiameterClasses {
    /// Ascending in the diameter.
    pub classes: Vec<DiameterClass>,
    /// Index of the class of each particle, in id order.
    class_of: Vec<u8>,
    /// Ids in the order of the diameters, those of equal diameters by id: one class after the other.
    ids: Arc<[u32]>,
}

/// What is known of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct DiameterClass {
    /// In paths of files: `class1`, `class2`, ...; `class01`, ... of ten or more.
    pub name: String,
    pub particles: usize,
    /// Diameters of its particles.
    pub least: f64,
    pub greatest: f64,
    pub mean: f64,
}

impl DiameterClass {
    pub fn name(index: usize, of: usize) -> String {
        let digits = of.to_string().len();
        format!("class{:0digits$}", index + 1)
    }

    /// Of systems together that have the same numbers of particles in their classes.
    pub fn over_systems(systems: &[DiameterClasses]) -> Vec<Self> {
        let Some(first) = systems.first() else { return Vec::new() };
        let of_class = |(index, class): (usize, &DiameterClass)| {
            let all = || systems.iter().map(|system| &system.classes[index]);
            DiameterClass {
                least: all().map(|class| class.least).fold(f64::INFINITY, f64::min),
                greatest: all().map(|class| class.greatest).fold(0.0, f64::max),
                mean: all().map(|class| class.mean).sum::<f64>() / systems.len() as f64,
                ..class.clone()
            }
        };
        first.classes.iter().enumerate().map(of_class).collect()
    }
}

/// `class 1 (0.73-0.82)`: with two decimals, or as many as tell the ends apart.
impl fmt::Display for DiameterClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.name.trim_start_matches("class");
        let at = |decimals: usize| [self.least, self.greatest].map(|d| format!("{d:.decimals$}"));
        match (2..=6).map(at).find(|[least, greatest]| least != greatest) {
            Some([least, greatest]) => write!(f, "class {number} ({least}-{greatest})"),
            None => write!(f, "class {number} ({:.2})", self.least),
        }
    }
}

impl DiameterClasses {
    /// # Errors
    /// If particles have no diameters, or a class has none of them.
    pub fn new(plan: &DiameterClassesPlan, diameter: &[f64]) -> Result<Self, ObservableError> {
        if diameter.is_empty() {
            return Err(ObservableError::NoDiameters);
        }
        let mut ids: Vec<u32> = (0..diameter.len() as u32).collect();
        ids.sort_by(|&a, &b| {
            (diameter[a as usize] as f32).total_cmp(&(diameter[b as usize] as f32))
        });
        let mut classes = Vec::new();
        let mut class_of = vec![0; diameter.len()];
        let mut start = 0;
        for (index, end) in ends(plan, diameter, &ids).into_iter().enumerate() {
            let members = &ids[start..end];
            let (Some(&first), Some(&last)) = (members.first(), members.last()) else {
                return Err(empty(plan, index, diameter, &ids));
            };
            for &id in members {
                class_of[id as usize] = index as u8;
            }
            let of = |id: u32| diameter[id as usize];
            classes.push(DiameterClass {
                name: DiameterClass::name(index, plan.count()),
                particles: members.len(),
                least: of(first),
                greatest: of(last),
                mean: members.iter().map(|&id| of(id)).sum::<f64>() / members.len() as f64,
            });
            start = end;
        }
        Ok(DiameterClasses { classes, class_of, ids: ids.into() })
    }

    /// Of several systems, which are averaged together.
    ///
    /// # Errors
    /// As of [`new`](Self::new), or if classes have different numbers of particles in two systems; with the number of the system.
    pub fn of_systems<D: AsRef<[f64]>>(
        plan: &DiameterClassesPlan,
        diameters: impl IntoIterator<Item = D>,
    ) -> Result<Vec<Self>, (usize, ObservableError)> {
        let mut systems: Vec<Self> = Vec::new();
        for (system, diameter) in diameters.into_iter().enumerate() {
            let divided = Self::new(plan, diameter.as_ref()).map_err(|error| (system, error))?;
            if let Some(first) = systems.first() {
                let pairs = first.classes.iter().zip(&divided.classes).enumerate();
                for (index, (first, other)) in pairs {
                    let [first, other] = [first, other].map(|class| class.particles);
                    if first != other {
                        let class = index + 1;
                        let error = ObservableError::UnequalClasses { class, first, other, system };
                        return Err((system, error));
                    }
                }
            }
            systems.push(divided);
        }
        Ok(systems)
    }

    /// The context of samples in the order of diameters; averages over species are not changed by it.
    pub fn order(&self, context: &SampleContext) -> SampleContext {
        SampleContext { order: Some(self.ids.clone()), ..context.clone() }
    }

    /// The same where the classes of particles of one species stand for species, of the same mass.
    pub fn divide(&self, context: &SampleContext) -> SampleContext {
        let mass = context.species[0].mass;
        let of = |class: &DiameterClass| Species {
            name: class.name.clone(),
            count: class.particles,
            mass,
        };
        SampleContext {
            species: self.classes.iter().map(of).collect(),
            species_of: self.class_of.clone(),
            ..self.order(context)
        }
    }
}

/// Ranks at which the classes end.
fn ends(plan: &DiameterClassesPlan, diameter: &[f64], ids: &[u32]) -> Vec<usize> {
    match plan {
        DiameterClassesPlan::Number(number) => {
            (1..=*number).map(|class| class * ids.len() / number).collect()
        }
        DiameterClassesPlan::Bounds(bounds) => {
            let below = |&bound: &f64| {
                ids.partition_point(|&id| (diameter[id as usize] as f32) < bound as f32)
            };
            bounds.iter().map(below).chain([ids.len()]).collect()
        }
    }
}

fn empty(
    plan: &DiameterClassesPlan,
    index: usize,
    diameter: &[f64],
    ids: &[u32],
) -> ObservableError {
    let [least, greatest] = [ids[0], ids[ids.len() - 1]].map(|id| diameter[id as usize]);
    let between = match plan {
        DiameterClassesPlan::Number(_) => String::new(),
        DiameterClassesPlan::Bounds(bounds) => match (index.checked_sub(1), bounds.get(index)) {
            (None, Some(above)) => format!(" below {above:?}"),
            (Some(below), None) => format!(" from {:?} on", bounds[below]),
            (Some(below), Some(above)) => format!(" from {:?} to {above:?}", bounds[below]),
            (None, None) => String::new(),
        },
    };
    let (class, particles) = (index + 1, ids.len());
    ObservableError::EmptyClass { class, between, particles, least, greatest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::trajectories::context;

    const DIAMETER: [f64; 7] = [1.1, 0.8, 1.0, 0.8, 1.4, 0.9, 1.2];

    fn classes(plan: DiameterClassesPlan) -> Result<DiameterClasses, ObservableError> {
        DiameterClasses::new(&plan, &DIAMETER)
    }

    #[test]
    fn equal_numbers_are_divided_by_rank_and_ties_by_id() {
        let divided = classes(DiameterClassesPlan::Number(3)).unwrap();
        assert_eq!(*divided.ids, [1, 3, 5, 2, 0, 6, 4]);
        let counts: Vec<usize> = divided.classes.iter().map(|class| class.particles).collect();
        assert_eq!(counts, [2, 2, 3]);
        assert_eq!(divided.class_of, [2, 0, 1, 0, 2, 1, 2]);
        let last = &divided.classes[2];
        assert_eq!((last.least, last.greatest), (1.1, 1.4));
        assert!((last.mean - 3.7 / 3.0).abs() < 1e-15);
        assert_eq!(divided.classes[1].to_string(), "class 2 (0.90-1.00)");
        assert_eq!(divided.classes[0].to_string(), "class 1 (0.80)");
        assert_eq!(DiameterClass::name(1, 12), "class02");
        // Equal diameters may be in two classes.
        assert_eq!(
            classes(DiameterClassesPlan::Number(7)).unwrap().class_of,
            [4, 0, 3, 1, 6, 2, 5]
        );
    }

    #[test]
    fn a_diameter_that_is_a_bound_is_in_the_class_above() {
        let divided = classes(DiameterClassesPlan::Bounds(vec![0.9, 1.2])).unwrap();
        assert_eq!(divided.class_of, [1, 0, 1, 0, 2, 1, 2]);
        // As 32-bit floats, in which engines hold them.
        let rounded = DIAMETER.map(|diameter| f64::from(diameter as f32));
        let plan = DiameterClassesPlan::Bounds(vec![0.9, 1.2]);
        assert_eq!(DiameterClasses::new(&plan, &rounded).unwrap().class_of, divided.class_of);
    }

    #[test]
    fn classes_stand_for_species_of_the_same_mass() {
        let context = context(&[4.0, 4.0, 4.0], &[7], 10);
        let divided = classes(DiameterClassesPlan::Number(2)).unwrap();
        let of_classes = divided.divide(&context);
        assert_eq!(of_classes.species.len(), 2);
        assert_eq!(of_classes.species[1].name, "class2");
        assert_eq!(of_classes.species[0].mass, context.species[0].mass);
        assert_eq!(of_classes.order, divided.order(&context).order);
        assert_eq!(divided.order(&context).species, context.species);
    }

    #[test]
    fn systems_have_classes_of_the_same_numbers() {
        let other = DIAMETER.map(|diameter| if diameter == 1.4 { 1.1 } else { diameter });
        let of = |plan| DiameterClasses::of_systems(&plan, [DIAMETER, other]);
        let both = of(DiameterClassesPlan::Number(2)).unwrap();
        let over_systems = DiameterClass::over_systems(&both);
        assert_eq!((over_systems[1].greatest, over_systems[1].least), (1.4, 1.0));
        let (system, error) = of(DiameterClassesPlan::Bounds(vec![1.15])).unwrap_err();
        assert_eq!(system, 1);
        assert!(error.to_string().contains("class 1 of diameters has 5 particles"), "{error}");
    }

    #[test]
    fn empty_classes_are_refused() {
        let error = classes(DiameterClassesPlan::Bounds(vec![0.5, 1.0])).unwrap_err().to_string();
        assert!(error.contains("class 1 of diameters, below 0.5, has no particle"), "{error}");
        assert!(error.contains("0.8000 to 1.4000"), "{error}");
        let error = classes(DiameterClassesPlan::Bounds(vec![1.25, 1.3])).unwrap_err().to_string();
        assert!(error.contains("from 1.25 to 1.3"), "{error}");
        assert!(classes(DiameterClassesPlan::Number(8)).is_err());
        assert!(DiameterClasses::new(&DiameterClassesPlan::Number(2), &[]).is_err());
    }
}
