//! Ranks that are processes, started by `mpirun` or the batch system.
use mpi::collective::{Root, SystemOperation};
use mpi::environment::{Threading, Universe};
use mpi::point_to_point::{Destination, Source};
use mpi::request::scope;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;

use super::{Communicator, Message};

/// All processes that were started together.
pub struct Mpi {
    rank: usize,
    size: usize,
}

/// MPI counts in 32 bits: longer messages go in pieces.
const PIECE: usize = 1 << 28;
const TAG: i32 = 1;

impl Mpi {
    /// Starts MPI, which ends when the [`Universe`] is dropped; `None` if it was started before, or its library cannot
    /// be called from the engine's threads.
    pub fn start() -> Option<(Universe, Mpi)> {
        let (universe, threading) =
            mpi::environment::initialize_with_threading(Threading::Serialized)?;
        if threading < Threading::Serialized {
            return None;
        }
        let world = world();
        let ranks = Mpi { rank: world.rank() as usize, size: world.size() as usize };
        Some((universe, ranks))
    }
}

/// Name and version of the library.
pub fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let name = version.split(',').next().unwrap_or_default();
    name.lines().next().unwrap_or_default().trim_end_matches('\0').trim().to_owned()
}

fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn name(&self) -> String {
        library()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        let world = world();
        let process = world.process_at_rank(to as i32);
        process.send_with_tag(&(bytes.len() as u64), TAG);
        bytes.chunks(PIECE).for_each(|piece| process.send_with_tag(piece, TAG));
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let world = world();
        let process = world.process_at_rank(from as i32);
        let (length, _) = process.receive_with_tag::<u64>(TAG);
        let mut bytes = vec![0; length as usize];
        for piece in bytes.chunks_mut(PIECE) {
            process.receive_into_with_tag(piece, TAG);
        }
        bytes
    }

    fn exchange(&self, messages: &mut [Message], meanwhile: &mut dyn FnMut()) {
        let world = world();
        scope(|scope| {
            let mut incoming = Vec::new();
            let mut outgoing = Vec::new();
            for message in messages {
                let process = world.process_at_rank(message.rank as i32);
                for piece in message.incoming.chunks_mut(PIECE) {
                    incoming.push(process.immediate_receive_into_with_tag(scope, piece, TAG));
                }
                for piece in message.outgoing.chunks(PIECE) {
                    outgoing.push(process.immediate_send_with_tag(scope, piece, TAG));
                }
            }
            meanwhile();
            incoming.into_iter().for_each(|request| request.wait_without_status());
            outgoing.into_iter().for_each(|request| request.wait_without_status());
        });
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) {
        let world = world();
        let process = world.process_at_rank(root as i32);
        let mut length = bytes.len() as u64;
        process.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        bytes.chunks_mut(PIECE).for_each(|piece| process.broadcast_into(piece));
    }

    fn sum(&self, values: &mut [i64]) {
        let own = values.to_vec();
        world().all_reduce_into(&own[..], values, SystemOperation::sum());
    }

    fn minimum(&self, values: &mut [u64]) {
        let own = values.to_vec();
        world().all_reduce_into(&own[..], values, SystemOperation::min());
    }

    fn abort(&self) {
        world().abort(1)
    }
}
