//! Ranks that are processes, started by `mpirun` or the batch system.
use std::ffi::{c_int, c_void};

use mpi::collective::{Root, SystemOperation};
use mpi::environment::{Threading, Universe};
use mpi::ffi::{
    MPI_Irecv, MPI_Isend, MPI_Request, MPI_Waitall, RSMPI_COMM_WORLD, RSMPI_STATUSES_IGNORE,
    RSMPI_UINT8_T,
};
use mpi::point_to_point::{Destination, Source};
use mpi::request::scope;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;

use super::{Communicator, GpuMessage, Message};

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

/// What `MPIX_Query_cuda_support` says, where there is one.
fn query_cuda_support() -> bool {
    // SAFETY: the function of Open MPI's mpi-ext.h takes nothing and returns a C int.
    unsafe {
        let library = libloading::os::unix::Library::this();
        let query = library.get::<unsafe extern "C" fn() -> c_int>(b"MPIX_Query_cuda_support\0");
        query.is_ok_and(|query| query() == 1)
    }
}

/// Pieces of a message that MPI can count.
fn for_pieces((address, length): (u64, usize), mut each: impl FnMut(u64, c_int)) {
    for from in (0..length).step_by(PIECE) {
        each(address + from as u64, (length - from).min(PIECE) as c_int);
    }
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

    /// As Open MPI and those that follow it tell: whether the library was built for GPUs. All ranks agree.
    fn reaches_gpus(&self) -> bool {
        let mut known = [u64::from(query_cuda_support())];
        self.minimum(&mut known);
        known[0] > 0
    }

    fn exchange_on_gpus(&self, messages: &[GpuMessage]) {
        let mut requests: Vec<MPI_Request> = Vec::new();
        // SAFETY: the addresses are those of memory as long as the messages, which nobody touches before all requests
        // have ended; the library was asked whether it takes addresses of GPUs.
        unsafe {
            let (kind, world) = (RSMPI_UINT8_T, RSMPI_COMM_WORLD);
            for message in messages {
                let rank = message.rank as c_int;
                let mut start = |begin: &dyn Fn(*mut MPI_Request)| {
                    let mut request = std::mem::zeroed();
                    begin(&raw mut request);
                    requests.push(request);
                };
                for_pieces(message.incoming, |at, length| {
                    start(&|request| {
                        MPI_Irecv(at as *mut c_void, length, kind, rank, TAG, world, request);
                    });
                });
                for_pieces(message.outgoing, |at, length| {
                    start(&|request| {
                        MPI_Isend(at as *const c_void, length, kind, rank, TAG, world, request);
                    });
                });
            }
            let count = requests.len() as c_int;
            MPI_Waitall(count, requests.as_mut_ptr(), RSMPI_STATUSES_IGNORE);
        }
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
