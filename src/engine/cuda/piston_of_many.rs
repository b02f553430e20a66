//! Steps of many systems on a GPU under pistons of their own: all systems have launches and waits in common.
use super::advance::LaunchSamples;
use super::buffers::status;
use super::constants::DevicePolicy;
use super::many_systems::Group;
use super::piston::{EndOfStep, Summed, exact};
use crate::engine::EngineError;

impl<P: DevicePolicy> Group<P> {
    /// Takes steps under the pistons. `rebuild`: whose lists and forces are to be made anew before.
    pub(super) fn run_with_piston(
        &mut self,
        steps: u64,
        rebuild: &[bool],
    ) -> Result<(), EngineError> {
        if rebuild.contains(&true) {
            self.run(0, LaunchSamples::NONE, rebuild)?;
        }
        self.each(|_, system| {
            system.note_box_of_lists();
            Ok(())
        })?;
        let (particles, lanes) = self.extent();
        let sums = self.members.kick_under_pistons(particles, lanes)?;
        self.check()?;
        let before_first = |sums: &_| EndOfStep::before_first(&exact(sums));
        let mut before: Vec<_> = sums.iter().map(before_first).collect();
        for step in 1..=steps {
            before = self.step_under_piston(&before, step == steps)?;
        }
        self.each(|_, system| system.set_system()).map(drop)
    }

    /// Most particles of a system, and lanes of their lists.
    fn extent(&self) -> (usize, usize) {
        let particles = self.systems[0].state.count();
        let lanes = self.systems.iter().map(|system| system.lanes()).max();
        (particles, lanes.unwrap_or(particles))
    }

    /// A step of all systems from half a kick on; unless it is the `last` one, with half a kick of the next.
    fn step_under_piston(
        &mut self,
        before: &[EndOfStep],
        last: bool,
    ) -> Result<Vec<EndOfStep>, EngineError> {
        let first = self.first;
        let begun = self.each(|number, system| {
            let (of_step, moves) = system.begin_step_under_piston(before[number - first])?;
            Ok((of_step, system.take_grown(&moves)?))
        })?;
        let (of_step, drifts): (Vec<_>, Vec<_>) = begun.into_iter().unzip();
        let kicks = if last { 1 } else { 2 };
        let extent = self.extent();
        let mut sums = self.members.drift_under_pistons(&drifts, extent, kicks)?;
        self.check()?;
        if sums.iter().any(|sums| Summed::of(&exact(sums)).needs_rebuild) {
            self.rebuild_under_pistons()?;
            sums = self.members.forces_after_rebuild(self.extent().1, kicks)?;
            self.check()?;
        }
        self.each(|number, system| {
            let sums = exact(&sums[number - first]);
            let end = EndOfStep::of(&sums);
            system.end_step_under_piston(&of_step[number - first], Summed::of(&sums), end);
            system.state.step += 1;
            Ok(end)
        })
    }

    /// Lists of all systems, which are then good for about as many steps.
    fn rebuild_under_pistons(&mut self) -> Result<(), EngineError> {
        self.each(|_, system| system.prepare_rebuild_under_piston())?;
        self.run(0, LaunchSamples::NONE, &vec![true; self.systems.len()])?;
        self.each(|_, system| {
            system.note_box_of_lists();
            Ok(())
        })
        .map(drop)
    }

    /// # Errors
    /// If a number of a system did not fit, or a particle runs away.
    fn check(&mut self) -> Result<(), EngineError> {
        let mut controls = self.members.controls()?.into_iter();
        self.each(|_, system| {
            let control = controls.next().expect("that of each system");
            if control.status == status::DONE {
                return Ok(());
            }
            system.state.control = control;
            Err(system.error())
        })
        .map(drop)
    }
}
