use super::correlation::Correlation;
use super::evaluation::ParticleSum;
use super::kernel_sum::{KernelSum, KernelTerm, Results};
use super::pair_chunk::PairChunk;
use super::registry::Definition;
use super::source::{Need, Source};
use super::terms::{ParticleTerms, Rows, Terms};
use crate::observable::ObservableError;
use crate::plan::{DynamicObservable, VanHovePlan};
use crate::system::SimulationBox;

/// `G_s(r, t) = <delta(r - |r_i(t) - r_i(0)|)> / (surface of the sphere or circle)` over the particles of a
/// species: probability density to find a particle at the displacement `r` (van Hove, Phys. Rev. 95, 249
/// (1954)); mean over the volume of a bin. Its sum times the volumes of the bins is the fraction that moved
/// less than the largest distance.
pub struct SelfVanHoveFunction {
    dimension: usize,
}

pub(super) static DEFINITION: Definition = Definition {
    source: &SOURCE,
    correlation: |_, context| {
        Box::new(SelfVanHoveFunction::new(context.simulation_box.dimension()))
    },
};

static SOURCE: Source = Source {
    needs: &[Need::Bins],
    constants: &[INVERSE_WIDTH],
    ..Source::of_positions("displacement histogram", |plan, context| {
        let bins = Bins::new(&plan.van_hove, &context.simulation_box)?;
        Ok(Terms::of_particles(DisplacementHistogram(bins)))
    })
};

/// Of the kernel.
const INVERSE_WIDTH: &str = "inverse_bin_width";

impl SelfVanHoveFunction {
    pub fn new(dimension: usize) -> Self {
        SelfVanHoveFunction { dimension }
    }
}

impl Correlation for SelfVanHoveFunction {
    fn kind(&self) -> DynamicObservable {
        DynamicObservable::SelfVanHoveFunction
    }

    fn formula(&self) -> String {
        match self.dimension {
            2 => "<delta(r - |r_i(t) - r_i(0)|)> / (2 pi r)".into(),
            _ => "<delta(r - |r_i(t) - r_i(0)|)> / (4 pi r^2)".into(),
        }
    }
}

/// Bins of the distance from zero on.
pub(super) struct Bins {
    pub inverse_width: f64,
    /// Their centres.
    pub distances: Vec<f64>,
    pub inverse_volumes: Vec<f64>,
}

impl Bins {
    /// # Errors
    /// Unless `0 < bin_width <= maximum_distance`, or for more than 10,000 bins.
    pub fn new(
        plan: &VanHovePlan,
        simulation_box: &SimulationBox,
    ) -> Result<Self, ObservableError> {
        let (width, maximum) = (plan.bin_width, plan.maximum_distance);
        let bins = (maximum / width * (1.0 + 1e-12)).floor();
        if !(width > 0.0 && (1.0..=1e4).contains(&bins)) {
            let expected = "wide enough for 1 to 10,000 bins up to maximum_distance";
            return Err(ObservableError::value("correlation.van_hove.bin_width", width, expected));
        }
        let bins = 0..bins as usize;
        let volume =
            |bin: usize| simulation_box.shell_volume(bin as f64 * width, (bin + 1) as f64 * width);
        Ok(Bins {
            inverse_width: width.recip(),
            distances: bins.clone().map(|bin| (bin as f64 + 0.5) * width).collect(),
            inverse_volumes: bins.map(|bin| volume(bin).recip()).collect(),
        })
    }
}

/// For each bin of `|dr|`, its inverse volume for the particles in it.
pub struct DisplacementHistogram(Bins);

impl ParticleTerms for DisplacementHistogram {
    fn rows(&self) -> Rows<'_> {
        Rows::Distances(&self.0.distances)
    }

    fn add(&self, chunk: &mut PairChunk, sums: &mut [f64]) {
        for i in 0..chunk.count() {
            let bin = (chunk.squared_displacement(i).sqrt() * self.0.inverse_width) as usize;
            if let Some(sum) = sums.get_mut(bin) {
                *sum += self.0.inverse_volumes[bin];
            }
        }
    }

    fn particle_sum(&self) -> Option<ParticleSum> {
        let width = self.0.inverse_width.recip();
        Some(ParticleSum::Kernel(KernelSum {
            name: "displacement histogram",
            term: KernelTerm::DisplacementHistogram,
            results: Results::Counts(self.0.inverse_volumes.clone()),
            add: "\
float bin = mul(square_root(r2), geometry.inverse_bin_width);
if (bin < (float)BINS) atomicAdd(counts + (u32)bin, 1u);",
            add_at_lag_zero: "atomicAdd(counts, 1u);",
            constants: vec![(INVERSE_WIDTH, width.recip() as f32)],
        }))
    }
}
