//! Trials to change the volume on a GPU.
//!
//! Where sites are fractions of the edges, a trial changes the constants of the kernels alone, and lists serve in the other box as long as
//! its edges are not much shorter. In `fixed-point` coordinates are fractions, too, and lists are kept when a trial is accepted. In
//! `double-single` coordinates are multiplied then, and lists made anew, so that sums have the order that they have after a restart. Else, and
//! where the other box has another program, the state is loaded anew for the trial.
//!
//! A system alone is waited for twice: after the steps before the trial, whose launch is followed by the sums in the present box, and after
//! the sums in the other box. Behind these goes already what the next steps need if the trial is accepted. A rejection takes the constants back
//! that were there. Where steps follow, the GPU decides by itself ([`undecided`](super::single_rank)).
use super::advance::LaunchSamples;
use super::constants::DevicePolicy;
use super::engine::CudaEngine;
use super::measure::Factors;
use super::members::Scaled;
use super::single_rank::SingleRank;
use crate::engine::barostat::{PairSums, Proposal, VolumeTrial, Volumes, take_trial};
use crate::engine::state::velocity_factors;
use crate::engine::{EngineError, ExactState};
use crate::plan::Precision;
use crate::system::SimulationBox;

/// An engine in a trial.
pub(super) struct Trying<'a, P: DevicePolicy> {
    pub engine: &'a mut CudaEngine<P, SingleRank>,
    pub before: Option<Before>,
    /// Sums over pairs in the present box that came with the steps.
    pub sums: Option<PairSums>,
    /// The same in the box that is left, and in the other one.
    pub left: Option<PairSums>,
    pub of_other: Option<PairSums>,
    /// What the trial has made old.
    pub remade: Remade,
    /// On velocities or positions of one of many systems ([`scaled_in_trials`]), which are multiplied together.
    pub factors: Option<[f64; 3]>,
}

/// What an accepted trial multiplies.
pub(super) fn scaled_in_trials<P: DevicePolicy>() -> Scaled {
    match coordinates_are_fractions::<P>() {
        true => Scaled::Velocities,
        false => Scaled::Positions,
    }
}

/// What a rejected trial takes back.
pub(super) enum Before {
    /// The state, which is loaded anew.
    State(Box<ExactState>),
    /// Constants of the box, where nothing else has changed.
    Constants(Vec<u8>),
}

/// What is to be made anew after a trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remade {
    /// Lists, for the next steps.
    pub rebuild: bool,
    /// Forces are not those of the present state.
    pub has_old_forces: bool,
}

/// Whether sites are fractions of the edges, which a new box leaves as they are.
fn sites_are_fractions<P: DevicePolicy>() -> bool {
    matches!(P::PRECISION, Precision::FixedPoint | Precision::DoubleSingle)
}

/// Whether coordinates are.
pub(super) fn coordinates_are_fractions<P: DevicePolicy>() -> bool {
    P::PRECISION == Precision::FixedPoint
}

impl<P: DevicePolicy> CudaEngine<P, SingleRank> {
    /// At the start of a stage.
    pub(super) fn enter_barostat(&mut self) -> Result<(), EngineError> {
        let has_barostat = self.stage.barostat.is_some();
        self.neighbor_list.set_under_barostat(has_barostat && sites_are_fractions::<P>());
        let makes_anew = !has_barostat && self.neighbor_list.forget_box();
        self.set_system()?;
        match makes_anew {
            true => self.run(0, true, false, LaunchSamples::NONE),
            false => Ok(()),
        }
    }

    /// Whether steps from the present one on lead to a trial to change the volume, and to no others.
    pub(super) fn ends_with_volume_trial(&self, steps: u64) -> bool {
        let step = self.state.step + steps;
        !self.stage.swaps_after(step) && self.volume_trial_after(step).is_some()
    }

    pub(super) fn volume_trial_after(&self, step: u64) -> Option<VolumeTrial> {
        let (key, particles) = (self.plan.system.random_key(), self.particle_count());
        self.stage.volume_trial(key, step, self.plan.run.timestep, particles)
    }

    /// Takes the trial that follows the present step, if one is due. `rebuild`: lists are to be made anew already; `sums`: over pairs in
    /// the present state, if they are known.
    pub(super) fn take_volume_trial(
        &mut self,
        rebuild: bool,
        sums: Option<PairSums>,
    ) -> Result<Remade, EngineError> {
        if self.volume_trial_after(self.state.step).is_none() {
            return Ok(Remade { rebuild, has_old_forces: rebuild });
        }
        if rebuild {
            self.run(0, true, false, LaunchSamples::NONE)?;
        }
        let mut trying = Trying { sums, ..Trying::of(self) };
        take_trial(&mut trying)?;
        let (Remade { rebuild, has_old_forces }, left) = (trying.remade, trying.left);
        self.stepper.pair_sums = left.filter(|_| coordinates_are_fractions::<P>());
        self.set_system()?;
        let rebuild = rebuild || self.neighbor_list.are_of_a_wider_box();
        Ok(Remade { rebuild, has_old_forces: has_old_forces || rebuild })
    }

    /// Whether the program is that of a box of a trial, too.
    pub(super) fn has_program_for(&self, simulation_box: &SimulationBox) -> bool {
        let present = self.state.simulation_box();
        if self.device.place().is_some() {
            // Systems with boxes of their own have a program for all of them.
            return true;
        }
        present.is_cubic() == simulation_box.is_cubic()
            && self.force_field.have_same_macros(self.state.policy(), [present, simulation_box])
    }

    /// Takes another box, with all numbers of the particles as they are; returns what was there before, or nothing where lists were made
    /// anew, as they would not have done. The kernels that measure need no more than the constants of the box.
    fn take_box_of_trial(
        &mut self,
        simulation_box: SimulationBox,
    ) -> Result<Option<Before>, EngineError> {
        let lists_serve = self.neighbor_list.serve_in(&simulation_box);
        let cells = self.neighbor_list.cells();
        let constants = self.exchange_box(simulation_box)?;
        let as_after_restart = !coordinates_are_fractions::<P>();
        self.neighbor_list.set_box_of_trial(simulation_box, as_after_restart)?;
        if lists_serve && cells == self.neighbor_list.cells() {
            return Ok(Some(Before::Constants(constants)));
        }
        self.set_system()?;
        self.run(0, true, false, LaunchSamples::NONE)?;
        self.note_box_of_lists();
        Ok(None)
    }

    /// Gives kernels and state another box; returns the constants that the kernels had.
    pub(super) fn exchange_box(
        &mut self,
        simulation_box: SimulationBox,
    ) -> Result<Vec<u8>, EngineError> {
        self.state.set_box(simulation_box);
        self.plan.system.simulation_box = simulation_box;
        self.device.exchange_constants(self.state.policy(), &self.force_field)
    }

    /// Comes back from a box that lists serve in; kernels have still to get its constants.
    pub(super) fn return_to_box(&mut self, from: SimulationBox) {
        self.state.set_box(from);
        self.plan.system.simulation_box = from;
        self.neighbor_list.keep_in(from);
    }

    fn scale_positions(&self, factors: [f64; 3]) -> Result<(), EngineError> {
        self.over_particles(self.device.measure().scale_positions, (Factors { x: factors },))
    }
}

impl<P: DevicePolicy, S> CudaEngine<P, S> {
    /// After lists were made: they are of the present box, and serve in others of about its size.
    pub(super) fn note_box_of_lists(&mut self) {
        if coordinates_are_fractions::<P>() {
            self.neighbor_list.built_last(self.state.control.rebuilds);
        }
    }
}

impl<'a, P: DevicePolicy> Trying<'a, P> {
    pub(super) fn of(engine: &'a mut CudaEngine<P, SingleRank>) -> Self {
        Trying {
            engine,
            before: None,
            sums: None,
            left: None,
            of_other: None,
            remade: Remade::default(),
            factors: None,
        }
    }

    /// Gives the engine the box of a proposal.
    ///
    /// # Errors
    /// As [`pair_sums_in`](Volumes::pair_sums_in).
    pub(super) fn enter(&mut self, proposal: &Proposal) -> Result<(), EngineError> {
        let engine = &mut *self.engine;
        if sites_are_fractions::<P>() && engine.has_program_for(&proposal.to) {
            self.before = engine.take_box_of_trial(proposal.to)?;
            self.remade.rebuild |= self.before.is_none();
            self.remade.has_old_forces |= self.before.is_none();
            return Ok(());
        }
        let before = engine.read_state()?;
        let other = before.in_box_of_trial(proposal.to, engine.state.species());
        let step = engine.state.step;
        let other = other.map_err(|particle| EngineError::velocity_range(step, particle))?;
        engine.replace(&other, None, false)?;
        self.before = Some(Before::State(Box::new(before)));
        Ok(())
    }
}

impl<P: DevicePolicy> Volumes for Trying<'_, P> {
    fn volume_trial(&self) -> Option<VolumeTrial> {
        self.engine.volume_trial_after(self.engine.state.step)
    }

    fn simulation_box(&self) -> SimulationBox {
        *self.engine.state.simulation_box()
    }

    fn pair_sums(&mut self) -> Result<PairSums, EngineError> {
        self.engine.note_box_of_lists();
        let sums = match self.sums {
            Some(sums) => sums,
            None => self.engine.pair_sums()?,
        };
        self.left = Some(sums);
        Ok(sums)
    }

    fn pair_sums_in(&mut self, proposal: &Proposal) -> Result<PairSums, EngineError> {
        self.enter(proposal)?;
        let sums = match (self.sums, &self.before) {
            (Some(_), Some(Before::Constants(_))) => self.engine.pair_sums_of_trial()?,
            _ => self.engine.pair_sums()?,
        };
        self.of_other = Some(sums);
        Ok(sums)
    }

    fn decide(&mut self, proposal: &Proposal, is_accepted: bool) -> Result<(), EngineError> {
        let energies =
            [self.left, self.of_other].map(|sums| sums.map_or(0.0, |[energy, ..]| energy));
        if is_accepted {
            self.left = self.of_other;
        }
        let engine = &mut *self.engine;
        match (is_accepted, self.before.take()) {
            (true, Some(Before::State(_))) => {}
            (false, Some(Before::State(before))) => {
                engine.replace(&before, before.memory.as_ref(), false)?;
            }
            (false, Some(Before::Constants(constants))) => {
                engine.return_to_box(proposal.from);
                engine.device.return_constants(&constants)?;
            }
            (false, None) => {
                self.remade.rebuild |= engine.take_box_of_trial(proposal.from)?.is_none();
                self.remade.has_old_forces = true;
            }
            (true, _) => {
                let scaled = scaled_in_trials::<P>();
                // Close to one: what fitted does still.
                let factors = match scaled {
                    Scaled::Velocities => velocity_factors(&proposal.from, &proposal.to),
                    Scaled::Positions => velocity_factors(&proposal.to, &proposal.from),
                };
                self.remade = Remade { rebuild: scaled == Scaled::Positions, has_old_forces: true };
                match engine.device.mailbox() {
                    None => self.factors = Some(factors),
                    Some(mailbox) if scaled == Scaled::Velocities => {
                        let heat = engine.thermostat.heat + (energies[1] - energies[0]);
                        mailbox.takes_heat(heat);
                        let kernel = engine.device.measure().accept_volume;
                        engine.over_particles(kernel, (Factors { x: factors }, heat))?;
                    }
                    Some(_) => engine.scale_positions(factors)?,
                }
            }
        }
        if coordinates_are_fractions::<P>() {
            // The present lists serve, wherever they were made.
            self.remade.rebuild = false;
        }
        Ok(())
    }

    fn count(&mut self, accepted: Option<f64>) -> Result<(), EngineError> {
        self.engine.thermostat.count_volume_trial(accepted);
        Ok(())
    }
}
