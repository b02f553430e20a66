//! Who evaluates terms in an engine.

/// How an engine evaluates terms where the particles are; those of one kind together, from samples of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// Sums over particles of what each does by itself.
    Particles,
    /// The same in the frame of the cages.
    Cages,
    /// Numbers of particles near places of others.
    Places,
    /// Neighbors that particles keep.
    Bonds,
    /// Density modes of every sample.
    Densities,
    /// The stress of every sample.
    Stress,
    /// It does not: they are evaluated of snapshots, on the cores of the host.
    Host,
}

impl Evaluator {
    pub(super) const ALL: [Evaluator; 7] = [
        Evaluator::Particles,
        Evaluator::Cages,
        Evaluator::Places,
        Evaluator::Bonds,
        Evaluator::Densities,
        Evaluator::Stress,
        Evaluator::Host,
    ];
}
