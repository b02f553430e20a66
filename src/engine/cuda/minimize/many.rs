//! Minima of many systems side by side on a GPU: a block a system, each in its own box, many iterations a launch
//! (`kernels/minimize/descend_many.cu`).
//!
//! A launch takes a time at most. Then systems that are in their minimum hand it over and get their next configuration, while the
//! others go on: in strain a system that looks for the place of an event keeps nobody waiting. A minimum has the same bits whatever systems
//! there are beside it, and wherever launches have paused.
use super::many_program::{self, Blocks, DescentOutcome, is_room, turn};
use super::slots::{Given, Packed, Slots, Turn};
use super::{end, status};
use crate::engine::cuda::device::Gpu;
use crate::engine::cuda::program::Program;
use crate::engine::minimizer::{CancelToken, Descent, InherentStructure};
use crate::engine::minimizers::{Descents, Minimizers, of_system};
use crate::engine::precision::{Double, Policy};
use crate::engine::report::Hardware;
use crate::engine::state::{skewed, straightened};
use crate::engine::thermodynamics::symmetric;
use crate::engine::{EngineError, Workers};
use crate::plan::{InherentStructuresPlan, Plan};
use crate::system::{SimulationBox, Snapshot};

/// Minimisers of small systems on a GPU.
pub struct ManyMinimizers {
    descent: Descent,
    systems: usize,
    gpu: Gpu,
    /// They prepare configurations, and take minima up.
    workers: Workers,
    /// Made for the first configurations.
    slots: Option<Slots>,
}

/// A descent in a slot.
struct UnderWay {
    system: usize,
    slot: usize,
    start: Start,
    /// What its block does first in the next launch: [`turn`].
    how: u32,
}

/// Where a descent has started.
struct Start {
    step: u64,
    simulation_box: SimulationBox,
    packed: Packed,
}

/// The kernels of a plan for this many systems, ready to be compiled.
pub fn program(plan: &Plan, systems: usize, multiprocessors: u32) -> Program {
    many_program::program(plan, Blocks::new(systems, multiprocessors), plan.has_tilts())
}

impl ManyMinimizers {
    /// Whether systems of a plan are so small that a block has room for one.
    ///
    /// # Errors
    /// If the GPU cannot be taken into use.
    pub fn take(plan: &Plan, gpu: &Gpu) -> Result<bool, EngineError> {
        is_room(plan, gpu)
    }

    pub fn new(
        plan: &Plan,
        settings: &InherentStructuresPlan,
        systems: usize,
        gpu: Gpu,
        workers: Workers,
    ) -> Self {
        let descent = Descent::new(plan, settings);
        ManyMinimizers { descent, systems, gpu, workers, slots: None }
    }
}

impl Minimizers for ManyMinimizers {
    fn descend(&mut self, systems: &mut [&mut dyn Descents]) -> Result<(), EngineError> {
        let ManyMinimizers { descent, gpu, workers, .. } = self;
        let slots = match &mut self.slots {
            Some(slots) => slots,
            empty => {
                let for_tilts = descent.plan.has_tilts();
                empty.insert(Slots::new(descent, self.systems, gpu, for_tilts)?)
            }
        };
        // Those that may want another descent, the first one last.
        let mut waiting: Vec<usize> = (0..systems.len()).rev().collect();
        let mut free: Vec<usize> = (0..slots.count()).rev().collect();
        let mut under_way: Vec<UnderWay> = Vec::new();
        loop {
            while !free.is_empty() && !waiting.is_empty() {
                let asked = waiting.split_off(waiting.len().saturating_sub(free.len()));
                for (system, start) in next_starts(descent, workers, systems, asked)? {
                    let slot = free.pop().expect("no more were asked");
                    under_way.push(UnderWay { system, slot, start, how: turn::BEGINS });
                }
            }
            if under_way.is_empty() {
                return Ok(());
            }
            if !under_way.iter().all(|of| slots.takes(&of.start.simulation_box)) {
                *slots = Slots::new(descent, self.systems, gpu, true)?;
                under_way.iter_mut().for_each(|of| of.how = turn::BEGINS);
            }
            descent.go_on()?;
            let outcomes = slots.launch(&turns(&under_way))?;
            let ended = take_ended(&mut under_way, &outcomes);
            free.extend(ended.iter().map(|of| of.slot));
            waiting.extend(ended.iter().map(|of| of.system));
            waiting.sort_unstable_by(|a, b| b.cmp(a));
            let given = slots.given(ended.len())?;
            hand_over(descent, workers, systems, ended, (&outcomes, &given))?;
            let need = under_way.iter().map(|of| outcomes[of.slot].list_need).max().unwrap_or(0);
            if need > 0 {
                slots.lengthen_lists(need as usize)?;
                under_way.iter_mut().for_each(|of| of.how = turn::SEARCHES);
            }
        }
    }

    fn cancel_when(&mut self, cancel: CancelToken) {
        self.descent.cancel = Some(cancel);
    }

    fn hardware(&self) -> Hardware {
        self.gpu.hardware()
    }
}

/// Has something done for some of the systems, by number; what it gives is in their order.
fn each<I: Send, T: Send>(
    workers: &Workers,
    systems: &mut [&mut dyn Descents],
    items: Vec<(usize, I)>,
    work: impl Fn(&mut dyn Descents, I) -> Result<T, EngineError> + Sync,
) -> Result<Vec<(usize, T)>, EngineError> {
    let count = systems.len();
    let mut of_systems: Vec<Option<I>> = (0..count).map(|_| None).collect();
    items.into_iter().for_each(|(system, item)| of_systems[system] = Some(item));
    let with_item = systems.iter_mut().zip(of_systems).enumerate();
    let mut chosen: Vec<_> = with_item.filter(|(_, (_, item))| item.is_some()).collect();
    let done = workers.share(&mut chosen, |_, (number, (system, item))| {
        let done = work(&mut ***system, item.take().expect("chosen for it"));
        done.map(|done| (*number, done)).map_err(|error| of_system(error, *number, count))
    });
    done.into_iter().collect()
}

/// The next descents of these systems, of those that want another one.
fn next_starts(
    descent: &Descent,
    workers: &Workers,
    systems: &mut [&mut dyn Descents],
    asked: Vec<usize>,
) -> Result<Vec<(usize, Start)>, EngineError> {
    let items = asked.into_iter().map(|system| (system, ())).collect();
    let ask = |system: &mut dyn Descents, ()| {
        let next = system.next();
        next.map(|(snapshot, in_box)| Start::new(descent, snapshot, in_box)).transpose()
    };
    let starts = each(workers, systems, items, ask)?;
    Ok(starts.into_iter().filter_map(|(system, start)| Some((system, start?))).collect())
}

impl Start {
    fn new(
        descent: &Descent,
        snapshot: &Snapshot,
        simulation_box: SimulationBox,
    ) -> Result<Self, EngineError> {
        let plan = &descent.plan;
        let policy = Double::new(&simulation_box, plan.run.flight(), &plan.system.species);
        let skewed = snapshot.position.iter().map(|&place| skewed(place, &simulation_box));
        let (mut position, mut image) = (skewed.collect::<Vec<_>>(), snapshot.image.clone());
        for (particle, (position, image)) in position.iter_mut().zip(&mut image).enumerate() {
            for axis in 0..simulation_box.dimension() {
                if !position[axis].is_finite() {
                    return Err(EngineError::OutOfRange {
                        step: snapshot.step,
                        quantity: "the position",
                        particle: particle as u32,
                    });
                }
                let (x, crossed) = policy.coordinate_from_f64(position[axis], axis);
                (position[axis], image[axis]) = (x, image[axis] + crossed);
            }
        }
        let diameter = match plan.potential.diameters {
            Some(_) => snapshot.diameter.to_vec(),
            None => Vec::new(),
        };
        let packed = Packed { policy, position, image, diameter };
        Ok(Start { step: snapshot.step, simulation_box, packed })
    }
}

/// What the blocks of the next launch do.
fn turns(under_way: &[UnderWay]) -> Vec<(usize, &Double, Turn<'_>)> {
    let all = under_way.iter().map(|of| {
        let turn = match of.how {
            turn::BEGINS => Turn::Begins(&of.start.packed),
            how => Turn::Continues(how),
        };
        (of.slot, &of.start.packed.policy, turn)
    });
    all.collect()
}

/// The descents that are over; the others go on in the next launch.
fn take_ended(under_way: &mut Vec<UnderWay>, outcomes: &[DescentOutcome]) -> Vec<UnderWay> {
    let goes_on = |of: &UnderWay| {
        let DescentOutcome { status, progress, .. } = outcomes[of.slot];
        status == status::LISTS_FULL || (status == status::DONE && progress.end == end::NOT_ENDED)
    };
    let (ended, mut others): (Vec<_>, Vec<_>) =
        std::mem::take(under_way).into_iter().partition(|of| !goes_on(of));
    others.iter_mut().for_each(|of| of.how = turn::GOES_ON);
    *under_way = others;
    ended
}

/// Gives the systems the minima that were found.
fn hand_over(
    descent: &Descent,
    workers: &Workers,
    systems: &mut [&mut dyn Descents],
    ended: Vec<UnderWay>,
    (outcomes, given): (&[DescentOutcome], &Given),
) -> Result<(), EngineError> {
    let items = ended.into_iter().map(|of| (of.system, of)).collect();
    let take = |system: &mut dyn Descents, of: UnderWay| {
        system.found(minimum(descent, &of.start, &outcomes[of.slot], given)?);
        Ok(())
    };
    each(workers, systems, items, take).map(drop)
}

/// What a descent has ended with.
fn minimum(
    descent: &Descent,
    start: &Start,
    outcome: &DescentOutcome,
    given: &Given,
) -> Result<InherentStructure, EngineError> {
    let count = descent.plan.system.particle_count();
    let particles = count * outcome.entry as usize..count * (outcome.entry as usize + 1);
    let position = given.position[particles.clone()].to_vec();
    if outcome.status != status::DONE || outcome.progress.end != end::DONE {
        return Err(error(descent, start, outcome, &position));
    }
    let Start { step, simulation_box, packed } = start;
    let (dimension, volume) = (simulation_box.dimension() as f64, simulation_box.volume());
    // Every pair was counted twice.
    let [energy, virial @ ..] = outcome.energy.map(|sum| 0.5 * sum);
    let [xx, yy, zz, ..] = virial;
    Ok(InherentStructure {
        snapshot: Snapshot {
            step: *step,
            velocity: vec![[0.0; 3]; count],
            position: straightened(position, simulation_box),
            fraction: Vec::new(),
            image: given.image[particles].to_vec(),
            diameter: packed.diameter.clone().into(),
        },
        energy: energy / count as f64,
        pressure: (xx + yy + zz) / (dimension * volume),
        stress: symmetric(virial.map(|sum| -sum / volume)),
        residual_force: outcome.progress.residual_force,
        iterations: outcome.progress.fire.iterations,
    })
}

/// Why a descent has found no minimum.
fn error(
    descent: &Descent,
    start: &Start,
    outcome: &DescentOutcome,
    position: &[[f64; 3]],
) -> EngineError {
    let (step, particle) = (start.step, outcome.culprit);
    if outcome.status != status::TOO_CLOSE {
        return EngineError::OutOfRange { step, quantity: "the force", particle };
    }
    let place = &position[particle as usize];
    let distance = |other: &[f64; 3]| start.packed.distance(place, other);
    let others = (0..position.len()).filter(|&other| other != particle as usize);
    let nearest = others.min_by(|&a, &b| distance(&position[a]).total_cmp(&distance(&position[b])));
    let nearest = nearest.unwrap_or(0) as u32;
    let distance = distance(&position[nearest as usize]);
    let (first, second) = (particle.min(nearest), particle.max(nearest));
    EngineError::TooClose {
        step,
        first,
        second,
        distance,
        inner_maximum: descent.plan.inner_maximum_beyond(first, second, distance),
        precision: Double::PRECISION.name(),
    }
}
