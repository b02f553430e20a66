use crate::Axis;

/// What a configuration, a results file, its readers and its figures have to know of an observable.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Name of the group in a results file, and, with `-` for `_`, the word of configurations and commands.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Axes of the values, outermost first.
    pub axes: &'static [Axis],
    /// Whether the function decays from one, its value at lag zero.
    pub starts_at_one: bool,
    /// Whether it depends on the motion of the centre of mass of all particles.
    pub is_moved_by_drift: bool,
    /// How it is drawn; `None`: not at all.
    pub figure: Option<Figure>,
}

/// Unit of a value in the notation of H5MD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number.
    Pure,
    /// In any dimension.
    Of(&'static str),
    /// In two and in three dimensions.
    OfDimension([&'static str; 2]),
}

impl Unit {
    /// The unit in a dimension; empty for a number.
    pub fn text(self, dimension: usize) -> &'static str {
        match self {
            Unit::Pure => "",
            Unit::Of(unit) => unit,
            Unit::OfDimension([in_two, in_three]) => {
                if dimension == 2 {
                    in_two
                } else {
                    in_three
                }
            }
        }
    }
}

/// A panel of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Label of the vertical axis.
    pub label: &'static str,
    /// Scale of the vertical axis.
    pub scale: Scale,
    /// Where a report has it.
    pub section: Section,
    /// Drawn up to the last value with a smaller relative error; `None`: as a whole.
    pub largest_error: Option<f64>,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Values.
    Linear,
    /// Decades of values.
    Logarithmic,
}

impl Scale {
    /// Whether a number has a place on the axis.
    pub fn shows(self, x: f64) -> bool {
        x.is_finite() && (self == Scale::Linear || x > 0.0)
    }
}

/// Section of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Scalars over time.
    Thermodynamics,
    /// Averages over configurations.
    Structure,
    /// Time correlations.
    Dynamics,
    /// Fluctuations of time correlations.
    Susceptibility,
    /// Curves over the strain.
    Strain,
}

impl Section {
    /// All, in the order of a report.
    pub const ALL: [Section; 5] = [
        Section::Thermodynamics,
        Section::Structure,
        Section::Dynamics,
        Section::Susceptibility,
        Section::Strain,
    ];

    /// The heading.
    pub fn heading(self) -> &'static str {
        match self {
            Section::Thermodynamics => "Thermodynamics",
            Section::Structure => "Structure",
            Section::Dynamics => "Dynamics",
            Section::Susceptibility => "Four-point susceptibility",
            Section::Strain => "Strain",
        }
    }
}

impl Figure {
    const fn new(label: &'static str, section: Section) -> Figure {
        Figure { label, scale: Scale::Linear, section, largest_error: None }
    }

    const fn logarithmic(self) -> Figure {
        Figure { scale: Scale::Logarithmic, ..self }
    }
}

/// Descriptors are written as what is special of them: `Descriptor::of_time("self_overlap", "Qₛ(t)").starting_at_one()`.
impl Descriptor {
    const fn new(
        name: &'static str,
        axes: &'static [Axis],
        label: &'static str,
        section: Section,
    ) -> Descriptor {
        Descriptor {
            name,
            unit: Unit::Pure,
            axes,
            starts_at_one: false,
            is_moved_by_drift: true,
            figure: Some(Figure::new(label, section)),
        }
    }

    /// A scalar that is sampled over time.
    pub(crate) const fn scalar(name: &'static str, label: &'static str) -> Descriptor {
        Descriptor::new(name, &[], label, Section::Thermodynamics)
    }

    /// An average over configurations.
    pub(crate) const fn of_structure(
        name: &'static str,
        axes: &'static [Axis],
        label: &'static str,
    ) -> Descriptor {
        Descriptor::new(name, axes, label, Section::Structure)
    }

    /// A function of the strain.
    pub(crate) const fn of_strain(name: &'static str, label: &'static str) -> Descriptor {
        Descriptor::new(name, &[Axis::Strain], label, Section::Strain)
    }

    /// A function of the lag time, which is a pure number.
    pub(crate) const fn of_time(name: &'static str, label: &'static str) -> Descriptor {
        Descriptor::new(name, &[Axis::Time], label, Section::Dynamics)
    }

    /// The four-point susceptibility of a function of the lag time.
    pub(crate) const fn susceptibility(name: &'static str, label: &'static str) -> Descriptor {
        Descriptor::new(name, &[Axis::Time], label, Section::Susceptibility)
    }

    /// The same as a function of the wave number, too.
    pub(crate) const fn of_wavenumbers(self) -> Descriptor {
        Descriptor { axes: &[Axis::Wavenumber, Axis::Time], ..self }
    }

    /// The same as a function of the distance, too.
    pub(crate) const fn of_distances(self) -> Descriptor {
        Descriptor { axes: &[Axis::Distance, Axis::Time], ..self }
    }

    pub(crate) const fn unit(self, unit: &'static str) -> Descriptor {
        Descriptor { unit: Unit::Of(unit), ..self }
    }

    /// In two and in three dimensions.
    pub(crate) const fn units(self, units: [&'static str; 2]) -> Descriptor {
        Descriptor { unit: Unit::OfDimension(units), ..self }
    }

    /// It decays from one.
    pub(crate) const fn starting_at_one(self) -> Descriptor {
        Descriptor { starts_at_one: true, ..self }
    }

    /// It does not depend on the motion of the centre of mass.
    pub(crate) const fn without_drift(self) -> Descriptor {
        Descriptor { is_moved_by_drift: false, ..self }
    }

    /// It is not drawn.
    pub(crate) const fn without_figure(self) -> Descriptor {
        Descriptor { figure: None, ..self }
    }

    /// Decades of the value are drawn.
    pub(crate) const fn logarithmic(self) -> Descriptor {
        match self.figure {
            Some(figure) => Descriptor { figure: Some(figure.logarithmic()), ..self },
            None => self,
        }
    }

    /// It is drawn up to the last value with a smaller relative error.
    pub(crate) const fn drawn_to_error(self, largest: f64) -> Descriptor {
        match self.figure {
            Some(figure) => Descriptor {
                figure: Some(Figure { largest_error: Some(largest), ..figure }),
                ..self
            },
            None => self,
        }
    }

    /// The axis that it is drawn over; any other one is a parameter of curves. Time for a scalar.
    pub fn abscissa(&self) -> Axis {
        let has = |axis: &Axis| self.axes.contains(axis);
        let order = [Axis::Distance, Axis::Time, Axis::Wavenumber, Axis::Strain];
        order.into_iter().find(has).unwrap_or(Axis::Time)
    }

    /// Values that the vertical axis of its figure shows in any case.
    pub fn shown_values(&self) -> Vec<f64> {
        match self.figure {
            Some(Figure { scale: Scale::Logarithmic, .. }) | None => Vec::new(),
            Some(_) if self.axes.is_empty() => Vec::new(),
            Some(_) if self.starts_at_one => vec![0.0, 1.0],
            Some(_) => vec![0.0],
        }
    }
}
