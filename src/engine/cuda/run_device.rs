//! A GPU with the kernels of a run.
use std::sync::Arc;

use super::box_constants;
use super::buffers::{Control, SplitSum, System};
use super::constants::DevicePolicy;
use super::declare::Pointer;
use super::force_field::ForceField;
use super::launch::{Arguments, Grid, Kernel, Kernels};
use super::mailbox::{Asked, ControlAndSums, MOST_SUMS, Mailbox, POSTING_THREADS};
use super::md_program;
use super::measure::MeasureKernels;
use super::members::Members;
use super::memory::{Buffer, Session};
use super::program::Program;
use super::samples::SamplingConstant;
use crate::engine::EngineError;
use crate::system::Species;

/// A GPU with the kernels of a run, which are launched one after the other, in the stream of the session.
pub struct RunDevice {
    session: Arc<Session>,
    kernels: Arc<Kernels>,
    measure: MeasureKernels,
    shared: Shared,
}

/// What kernels and host share.
enum Shared {
    Alone(Mailbox),
    /// The kernels are those of many systems: its place, and sums of kernels that measure it alone.
    Among(Place, Buffer),
}

/// A system among others.
#[derive(Clone)]
pub struct Place {
    pub members: Arc<Members>,
    pub system: usize,
}

impl RunDevice {
    /// Compiles and loads a program that takes steps.
    ///
    /// # Errors
    /// If it cannot be compiled, or the GPU is lost.
    pub fn new<P: DevicePolicy>(
        session: Arc<Session>,
        program: Program,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<Self, EngineError> {
        let kernels = md_program::load(&session, program, policy, force_field)?;
        Ok(RunDevice {
            measure: MeasureKernels::load(&kernels)?,
            shared: Shared::Alone(Mailbox::new(&session)?),
            session,
            kernels: Arc::new(kernels),
        })
    }

    /// Of one of many systems.
    ///
    /// # Errors
    /// If the GPU has no room.
    pub fn of_member(session: Arc<Session>, place: Place) -> Result<Self, EngineError> {
        let sums = Buffer::new(&session, MOST_SUMS * size_of::<SplitSum>())?;
        Ok(RunDevice {
            measure: place.members.measure,
            session,
            kernels: place.members.kernels.clone(),
            shared: Shared::Among(place, sums),
        })
    }

    /// Where it stands, if it is one of many.
    pub fn place(&self) -> Option<&Place> {
        match &self.shared {
            Shared::Alone(_) => None,
            Shared::Among(place, _) => Some(place),
        }
    }

    /// What it shares with the host, if the system is alone.
    pub fn mailbox(&self) -> Option<&Mailbox> {
        match &self.shared {
            Shared::Alone(mailbox) => Some(mailbox),
            Shared::Among(..) => None,
        }
    }

    /// Memory of the [`Control`] of the system.
    pub fn control_buffer(&self) -> Buffer {
        match &self.shared {
            Shared::Alone(mailbox) => mailbox.control(),
            Shared::Among(place, _) => place.members.control_of(place.system),
        }
    }

    /// Compiles and loads another program in place of the present one. Nothing may be under way, and the system is alone.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn load<P: DevicePolicy>(
        &mut self,
        program: Program,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<(), EngineError> {
        assert!(self.place().is_none(), "other systems use the kernels");
        self.kernels = Arc::new(md_program::load(&self.session, program, policy, force_field)?);
        self.measure = MeasureKernels::load(&self.kernels)?;
        Ok(())
    }

    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Kernels over all particles, between launches of steps.
    pub fn measure(&self) -> &MeasureKernels {
        &self.measure
    }

    /// Blocks that take steps of the system.
    pub fn blocks(&self) -> usize {
        let of_many = self.place().map(|place| place.members.sharing.blocks);
        of_many.unwrap_or(self.multiprocessors()) as usize
    }

    pub fn multiprocessors(&self) -> u32 {
        self.session.gpu.multiprocessors
    }

    /// Tells the kernels where everything lies.
    ///
    /// # Errors
    /// If the GPU is lost. So in what follows.
    pub fn set_system(&self, system: &System) -> Result<(), EngineError> {
        match self.place() {
            None => self.kernels.set("system", system),
            Some(place) => {
                place.members.change(place.system, |member| member.system = *system);
                Ok(())
            }
        }
    }

    /// Tells them where samples of particles go.
    pub fn set_sampling(&self, sampling: &SamplingConstant) -> Result<(), EngineError> {
        match self.place() {
            None => self.kernels.set("sampling", sampling),
            Some(place) => {
                place.members.change(place.system, |member| member.sampling = *sampling);
                Ok(())
            }
        }
    }

    /// Tells them where the sums of the stress go.
    pub fn set_stress_sums(&self, sums: Pointer<SplitSum>) -> Result<(), EngineError> {
        match self.place() {
            None => self.kernels.set("stress_sums", &sums),
            Some(place) => {
                place.members.change(place.system, |member| member.stress_sums = sums);
                Ok(())
            }
        }
    }

    /// Gives the kernels the constants of another box.
    pub fn set_constants<P: DevicePolicy>(
        &self,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<(), EngineError> {
        match self.place() {
            None => md_program::set_constants(&self.kernels, policy, force_field),
            Some(place) => {
                let constants = force_field.constants(policy);
                place.members.set_box(place.system, &box_constants::bytes(policy, &constants));
                Ok(())
            }
        }
    }

    /// The same in another box of about the same size; returns what they had before, as it lies in memory.
    pub fn exchange_constants<P: DevicePolicy>(
        &self,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<Vec<u8>, EngineError> {
        let before = match self.place() {
            None => self.kernels.held("box_constants")?,
            Some(Place { members, system }) => members.constants_of_box(*system),
        };
        self.take_constants_nearby(policy, force_field)?;
        Ok(before)
    }

    /// Gives the kernels the constants of another box of about the same size.
    pub fn take_constants_nearby<P: DevicePolicy>(
        &self,
        policy: &P,
        force_field: &ForceField<P>,
    ) -> Result<(), EngineError> {
        self.return_constants(&box_constants::bytes_nearby(policy, force_field))
    }

    /// Gives the kernels such constants back.
    pub fn return_constants(&self, constants: &[u8]) -> Result<(), EngineError> {
        match self.place() {
            None => box_constants::set(&self.kernels, constants),
            Some(Place { members, system }) => {
                members.set_box(*system, constants);
                Ok(())
            }
        }
    }

    /// Gives the kernels the masses of the species.
    pub fn set_masses(&self, species: &[Species]) -> Result<(), EngineError> {
        let bytes = |number: &dyn Fn(f64) -> f64| -> Vec<u8> {
            species.iter().flat_map(|species| number(species.mass).to_ne_bytes()).collect()
        };
        self.kernels.set_bytes("mass_of_species", &bytes(&|mass| mass))?;
        self.kernels.set_bytes("inverse_root_mass", &bytes(&|mass| 1.0 / mass.sqrt()))
    }

    /// Launches an ordinary kernel over at most a number of threads.
    pub fn launch_over<A: Arguments>(
        &self,
        threads: usize,
        kernel: Kernel<A>,
        arguments: A,
    ) -> Result<(), EngineError> {
        if let Some(place) = self.place() {
            place.members.select(place.system)?;
        }
        self.kernels.launch_over(threads, kernel, arguments)
    }

    /// Sums that kernels make, which are launched with the address of the first, and what they leave beside them.
    pub fn sums_of<const COUNT: usize>(
        &self,
        launch: impl FnOnce(Pointer<SplitSum>) -> Result<(), EngineError>,
    ) -> Result<([SplitSum; COUNT], Control), EngineError> {
        match &self.shared {
            Shared::Alone(mailbox) => {
                mailbox.clear_sums(COUNT)?;
                launch(mailbox.sums(0))?;
                let ControlAndSums { control, sums, .. } = self.receive()?;
                Ok((std::array::from_fn(|k| sums[k]), control))
            }
            Shared::Among(_, sums) => {
                sums.clear(COUNT * size_of::<SplitSum>())?;
                launch(sums.pointer())?;
                let sums = sums.read::<SplitSum>(COUNT)?;
                let control = self.control_buffer().read::<Control>(1)?[0];
                Ok((std::array::from_fn(|k| sums[k]), control))
            }
        }
    }

    /// What a system that is alone shares with the host, as it is after all that was launched before; waits for it.
    pub fn receive(&self) -> Result<ControlAndSums, EngineError> {
        let asked = self.ask()?;
        self.alone().receive(asked)
    }

    /// Asks for that without waiting; [`Mailbox::receive`] does.
    pub fn ask(&self) -> Result<Asked, EngineError> {
        self.alone().ask(|letter| {
            self.kernels.launch(self.measure.post, Grid::of(1, POSTING_THREADS), (letter,))
        })
    }

    fn alone(&self) -> &Mailbox {
        self.mailbox().expect("the system is alone")
    }

    /// Waits for all that was launched.
    pub fn wait(&self) -> Result<(), EngineError> {
        self.session.wait()
    }
}
