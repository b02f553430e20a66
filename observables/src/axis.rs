/// What a function depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Lag time.
    Time,
    /// Mean length of the wave vectors of a shell.
    Wavenumber,
    /// Distance: the centre of a bin.
    Distance,
    /// Time of a given time origin since the start of the stage.
    WaitingTime,
    /// Strain since the start of the stage.
    Strain,
}

impl Axis {
    /// Name of the dataset in a results file.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Time => "time",
            Axis::Wavenumber => "wavenumber",
            Axis::Distance => "distance",
            Axis::WaitingTime => "waiting_time",
            Axis::Strain => "strain",
        }
    }

    /// Unit in the notation of H5MD.
    pub fn unit(self) -> &'static str {
        match self {
            Axis::Time | Axis::WaitingTime => "tau",
            Axis::Wavenumber => "sigma-1",
            Axis::Distance => "sigma",
            Axis::Strain => "",
        }
    }

    /// Letter of formulas and figures.
    pub fn symbol(self) -> &'static str {
        match self {
            Axis::Time => "t",
            Axis::Wavenumber => "q",
            Axis::Distance => "r",
            Axis::WaitingTime => "t_w",
            Axis::Strain => "e",
        }
    }
}
