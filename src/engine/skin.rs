//! Width of the neighbor lists beyond the cutoff where `run.skin` does not give it: of each engine, alone and on ranks.
use super::domain::DomainGrid;
use super::tilt::largest_reach;
use crate::plan::{EngineChoice, Plan};
use crate::system::SimulationBox;

/// Half the skin less what rounding of distances may take: lists are built anew when a particle has moved this share of it.
pub(super) const SHARE: f64 = 0.5 * (1.0 - 1e-3);

/// No skin is chosen that is narrower.
const NARROWEST: f64 = 0.15;

/// Who takes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    Cpu,
    Gpu,
}

impl Processor {
    /// Of a choice that has been made; `Auto` stands for the CPU.
    pub fn of(choice: EngineChoice) -> Self {
        match choice {
            EngineChoice::Cuda => Processor::Gpu,
            EngineChoice::Cpu | EngineChoice::Auto => Processor::Cpu,
        }
    }
}

/// The skin of a plan: what it gives, or this one, as far as a box that is sheared has room for it.
fn of(plan: &Plan, share_of_cutoff: f64, widest: f64) -> f64 {
    let skin = (share_of_cutoff * plan.potential.largest_cutoff()).clamp(NARROWEST, widest);
    plan.run.skin.unwrap_or(skin.min(room(plan)))
}

/// What tilts leave of the box, or infinity where there are none.
pub fn room(plan: &Plan) -> f64 {
    if !plan.may_tilt() {
        return f64::INFINITY;
    }
    room_in(&plan.system.simulation_box, plan)
}

/// What any tilt leaves of this box.
fn room_in(simulation_box: &SimulationBox, plan: &Plan) -> f64 {
    let reach = largest_reach(simulation_box);
    (reach - plan.potential.largest_cutoff()).max(NARROWEST)
}

/// Whether lists of CPUs and of several GPUs are made around expected sites, and that gains: not where boxes take tilts, and not
/// without inertia.
fn looks_ahead(plan: &Plan, takes_tilts: bool) -> bool {
    !takes_tilts && plan.run.flight.is_none()
}

/// On CPUs, one or several ranks. Without a flow and with inertia lists are made around expected sites
/// (`src/engine/cpu/expected_sites.rs`) and live longer: measured with one thread, 0.1 to 0.14 of the cutoff were best.
pub fn on_cpus(plan: &Plan) -> f64 {
    if looks_ahead(plan, plan.may_tilt()) {
        of(plan, 0.13, 0.6)
    } else {
        around_present_sites(plan)
    }
}

/// On CPUs, where lists are made around present sites.
pub fn around_present_sites(plan: &Plan) -> f64 {
    of(plan, 0.17, 0.6)
}

/// Of descents to minima on the CPU, whatever the run has, where the box takes tilts.
pub fn of_descents(plan: &Plan) -> f64 {
    let skin = (0.17 * plan.potential.largest_cutoff()).clamp(NARROWEST, 0.6);
    skin.min(room_in(&plan.system.simulation_box, plan))
}

/// Of one GPU. Few particles: rebuilding costs much beside a step; many: long lists do. Best values on an H200, and for many particles on an
/// H100, with lists around expected sites (`kernels/md/expected_sites.cuh`).
pub fn on_one_gpu(plan: &Plan) -> f64 {
    let share = match plan.system.particle_count() {
        0..10_000 => 0.36,
        10_000..30_000 => 0.18,
        30_000..150_000 => 0.13,
        _ => 0.11,
    };
    of(plan, share, 1.0)
}

/// Of many systems that share a GPU. Best values on an H100, where there are enough of them to keep it busy.
pub fn of_many_on_a_gpu(plan: &Plan) -> f64 {
    let share = match (plan.system.particle_count(), plan.may_tilt()) {
        (0..700, false) => 0.08,
        (700.., true) => 0.13,
        _ => 0.1,
    };
    of(plan, share, 1.0)
}

/// Of descents that share a GPU: particles that follow a small strain move little, and forces take nearly all of the time.
/// `for_tilts`: in boxes of which each has room for the narrowest at its tilt.
pub fn of_descents_on_a_gpu(plan: &Plan, for_tilts: bool) -> f64 {
    let widest = if for_tilts { NARROWEST } else { 0.4 };
    plan.run.skin.unwrap_or((0.08 * plan.potential.largest_cutoff()).clamp(0.1, widest))
}

/// A system that ranks share, each on such a processor.
pub struct Shared<'a> {
    pub plan: &'a Plan,
    pub simulation_box: &'a SimulationBox,
    /// The box has a tilt, or will have one.
    pub takes_tilts: bool,
    pub ranks: usize,
    pub processor: Processor,
}

impl Shared<'_> {
    /// The skin, the same on all ranks.
    pub fn skin(&self) -> f64 {
        match self.processor {
            Processor::Cpu => on_cpus(self.plan),
            Processor::Gpu => self.on_gpus(),
        }
    }

    /// The fewer the particles of a GPU, the more do messages and launches weigh in a rebuilding, and the longer lists should
    /// live: measured on four H200, 0.17 of the cutoff were best for 1,000,000 particles a GPU, 0.21 for 250,000, around present sites.
    /// Around expected ones they are narrower by the factor that the best skin of one GPU is, 0.69. Where the box has no room for domains
    /// so wide, it is that of CPUs.
    fn on_gpus(&self) -> f64 {
        let plan = self.plan;
        let cutoff = plan.potential.largest_cutoff();
        let particles = plan.system.particle_count() / self.ranks;
        let fewer = (1e6 / particles.max(1) as f64).log2();
        let share = if looks_ahead(plan, self.takes_tilts) {
            (0.12 + 0.0125 * fewer).clamp(0.12, 0.145)
        } else {
            (0.17 + 0.02 * fewer).clamp(0.17, 0.21)
        };
        let wide = (cutoff * share).min(room(plan));
        let fits = || self.grid(plan.reach(wide)).is_ok();
        plan.run.skin.unwrap_or_else(|| if fits() { wide } else { on_cpus(plan) })
    }

    /// The domains, and how far each sees beyond its own: cutoff and skin.
    ///
    /// # Errors
    /// If the box has no room for them.
    pub fn domains(&self) -> Result<(DomainGrid, f64), super::EngineError> {
        let reach = self.plan.reach(self.skin());
        Ok((self.grid(reach)?, reach))
    }

    fn grid(&self, reach: f64) -> Result<DomainGrid, super::EngineError> {
        DomainGrid::for_tilts(self.takes_tilts, self.simulation_box, self.ranks, reach)
    }
}
