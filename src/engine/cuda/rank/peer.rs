//! The neighbors' memory, mapped into this GPU's addresses: ranks of one host whose GPUs reach each other.
use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUipcMemHandle};
use serde::{Deserialize, Serialize};

use super::transport::{Lanes, Lengths, Messages, PeerMemory, Transport};
use crate::engine::EngineError;
use crate::engine::cuda::device::failed;
use crate::engine::cuda::memory::Session;
use crate::engine::domain::Domain;

/// Memory that neighbors write to: incoming messages, both copies of the sites, the signals, and the places of ghosts.
pub type Shared = [CUdeviceptr; 5];

/// What a rank tells its neighbors of its memory.
#[derive(Serialize, Deserialize)]
struct Offer {
    /// Of the kernel that runs now.
    host: String,
    process: u32,
    /// Of the GPU.
    uuid: [u8; 16],
    /// As numbers of the process.
    context: usize,
    memory: Shared,
    handles: Vec<Vec<u8>>,
    /// Number of neighbors of the offering rank, and of each of them the rank.
    neighbors: Vec<usize>,
}

/// A neighbor's memory as this GPU addresses it.
struct Peer {
    memory: Shared,
    /// To be closed: the memory of another process.
    opened: bool,
    neighbors: usize,
    /// This rank among the neighbor's neighbors.
    number: usize,
}

/// Copies into the neighbors' memory.
pub struct ThroughPeers {
    session: Arc<Session>,
    lanes: Lanes,
    /// No two ranks share a GPU.
    alone: bool,
    peers: Vec<Peer>,
    half: u32,
}

fn host() -> String {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    read("/proc/sys/kernel/random/boot_id") + &read("/proc/sys/kernel/hostname")
}

fn handle_of(pointer: CUdeviceptr) -> Option<Vec<u8>> {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    // SAFETY: the driver writes a handle of the memory at the start of an allocation.
    let made = unsafe { sys::cuIpcGetMemHandle(&raw mut handle, pointer) };
    made.result().ok()?;
    Some(handle.reserved.iter().map(|&byte| byte as u8).collect())
}

impl ThroughPeers {
    /// `None` where a rank cannot reach the memory of a neighbor. Collective.
    ///
    /// # Errors
    /// If the GPU is lost.
    pub fn connect(
        session: &Arc<Session>,
        domain: &mut Domain,
        shared: Shared,
    ) -> Result<Option<Self>, EngineError> {
        session.enter()?;
        let offer = Offer {
            host: host(),
            process: std::process::id(),
            uuid: session.uuid(),
            context: session.context_address(),
            memory: shared,
            handles: shared.iter().map(|&pointer| handle_of(pointer).unwrap_or_default()).collect(),
            neighbors: domain.neighbors().collect(),
        };
        let bytes = serde_json::to_vec(&offer).expect("an offer is plain data");
        let count = offer.neighbors.len();
        let offers: Vec<Offer> = domain
            .hand_over(vec![bytes; count])
            .iter()
            .map(|bytes| serde_json::from_slice(bytes).expect("an offer of a rank"))
            .collect();
        let peers: Option<Vec<Peer>> =
            offers.iter().map(|theirs| accept(&offer, theirs, domain.rank())).collect();
        let lanes = Lanes::new(session)?;
        let gpu = format!("{} {:?}", offer.host, offer.uuid);
        let (_, on_gpu) = domain.communicator().place_among(&gpu);
        let [most_on_gpu] = domain.largest([on_gpu as u64]);
        let alone = most_on_gpu == 1;
        // What was opened is closed again where another rank has failed.
        let opened = peers.map(|peers| ThroughPeers {
            session: session.clone(),
            lanes,
            alone,
            peers,
            half: 0,
        });
        let [missing] = domain.largest([u64::from(opened.is_none())]);
        Ok(opened.filter(|_| missing == 0))
    }
}

impl Peer {
    /// Where the messages of a half from this rank are put.
    fn inbox(&self, half: u32, messages: &Messages) -> CUdeviceptr {
        let segments = half as usize * self.neighbors + self.number;
        self.memory[0] + (segments * messages.segment) as CUdeviceptr
    }
}

/// Takes a neighbor's memory into this GPU's addresses.
fn accept(mine: &Offer, theirs: &Offer, rank: usize) -> Option<Peer> {
    if mine.host != theirs.host {
        return None;
    }
    let elsewhere = mine.uuid != theirs.uuid;
    let mut peer = Peer {
        memory: theirs.memory,
        opened: false,
        neighbors: theirs.neighbors.len(),
        number: theirs.neighbors.iter().position(|&neighbor| neighbor == rank)?,
    };
    if mine.process == theirs.process {
        if elsewhere {
            // SAFETY: the context belongs to another rank of this process, which lives as long.
            let enabled = unsafe { sys::cuCtxEnablePeerAccess(theirs.context as _, 0) };
            let known = sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
            if enabled != known {
                enabled.result().ok()?;
            }
        }
        return Some(peer);
    }
    for (pointer, handle) in peer.memory.iter_mut().zip(&theirs.handles) {
        let mut bytes = CUipcMemHandle { reserved: [0; 64] };
        if handle.len() != bytes.reserved.len() {
            return None;
        }
        for (to, &byte) in bytes.reserved.iter_mut().zip(handle) {
            *to = byte as _;
        }
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        // SAFETY: the driver writes an address, for a handle that another process has made.
        unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut *pointer, bytes, flags) }.result().ok()?;
    }
    peer.opened = true;
    Some(peer)
}

impl Drop for ThroughPeers {
    fn drop(&mut self) {
        if self.session.enter().is_err() {
            return;
        }
        for pointer in self.peers.iter().filter(|peer| peer.opened).flat_map(|peer| peer.memory) {
            // SAFETY: opened once, and used no more.
            let _ = unsafe { sys::cuIpcCloseMemHandle(pointer) };
        }
    }
}

impl Transport for ThroughPeers {
    fn name(&self) -> &'static str {
        "peer memory"
    }

    fn exchange(
        &mut self,
        domain: &Domain,
        messages: &Messages,
        lengths: &Lengths,
        meanwhile: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<u32, EngineError> {
        self.lanes.follow()?;
        for (j, (peer, &length)) in self.peers.iter().zip(&lengths.outgoing).enumerate() {
            if length == 0 {
                continue;
            }
            let to = peer.inbox(self.half, messages);
            // SAFETY: messages have as much room on all ranks, and the neighbor reads the other half now.
            unsafe {
                result::memcpy_dtod_async(to, messages.outgoing_at(j), length, self.lanes.stream())
            }
            .map_err(|error| failed("copy a message", error))?;
        }
        let launched = meanwhile();
        self.lanes.finish()?;
        // All have written.
        domain.swap_counts(&vec![0; self.peers.len()]);
        let half = self.half;
        self.half ^= 1;
        launched.map(|()| half)
    }

    fn peers(&self, messages: &Messages) -> Option<Vec<PeerMemory>> {
        let of = |peer: &Peer| {
            let [_, even, odd, signals, remote] = peer.memory;
            PeerMemory {
                signals: signals + (peer.number * size_of::<u64>()) as CUdeviceptr,
                sites: [even, odd],
                inbox: [0, 1].map(|half| peer.inbox(half, messages)),
                remote,
            }
        };
        // Kernels that wait for each other must all run: each on a GPU of its own.
        self.alone.then(|| self.peers.iter().map(of).collect())
    }
}
