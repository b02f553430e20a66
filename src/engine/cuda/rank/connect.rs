//! Which way messages take from GPU to GPU: found by a test at the start.
use super::multi_rank::MultiRank;
use super::peer::ThroughPeers;
use super::transport::{Lengths, ThroughHost, ThroughMpi, Transport};
use crate::engine::EngineError;
use crate::engine::cuda::constants::DevicePolicy;
use crate::engine::cuda::declare::Pointer;
use crate::engine::cuda::engine::CudaEngine;
use crate::plan::TransportChoice;

/// Bytes of a message of the test.
const TRIED: usize = 64;

/// What a rank sends another one in the test.
fn pattern(from: usize, to: usize, round: usize) -> Vec<u8> {
    (0..TRIED).map(|k| (251 * from + 17 * to + 5 * k + 101 * round + 1) as u8).collect()
}

impl<P: DevicePolicy> CudaEngine<P, MultiRank> {
    /// Joins the ranks by the first way that works, the fastest first. Collective; also after memory has moved.
    ///
    /// # Errors
    /// If the way that was asked for does not work.
    pub(super) fn connect(&mut self) -> Result<(), EngineError> {
        let session = self.device.session().clone();
        let wanted = self.plan.run.transport;
        let [even, odd] = self.state.both_sites();
        let multi_rank = &mut self.stepper;
        let allowed = |kind| wanted == TransportChoice::Auto || wanted == kind;
        let mut found: Option<Box<dyn Transport>> = None;
        if allowed(TransportChoice::PeerMemory) {
            let shared = [
                multi_rank.messages.incoming.address(),
                even.address(),
                odd.address(),
                multi_rank.buffers.signals.address(),
                multi_rank.buffers.send_remote.address(),
            ];
            let peers = ThroughPeers::connect(&session, &mut multi_rank.domain, shared)?;
            if let Some(peers) = peers {
                found = multi_rank.tried(Box::new(peers))?;
            }
        }
        if found.is_none()
            && allowed(TransportChoice::CudaAwareMpi)
            && multi_rank.domain.communicator().reaches_gpus()
        {
            found = multi_rank.tried(Box::new(ThroughMpi::new(&session)?))?;
        }
        if found.is_none() && allowed(TransportChoice::HostMemory) {
            let host = ThroughHost::new(&session, &multi_rank.messages)?;
            found = multi_rank.tried(Box::new(host))?;
        }
        let Some(transport) = found else {
            return Err(EngineError::Transport(wanted.name()));
        };
        tracing::debug!("messages travel through {}", transport.name());
        multi_rank.take_transport(transport);
        self.set_halo()
    }

    /// Gives up the neighbors' memory: it may move. Collective.
    pub(super) fn disconnect(&mut self) -> Result<(), EngineError> {
        self.device.wait()?;
        let host = ThroughHost::new(self.device.session(), &self.stepper.messages)?;
        let multi_rank = &mut self.stepper;
        multi_rank.take_transport(Box::new(host));
        multi_rank.domain.largest([0]);
        Ok(())
    }
}

impl MultiRank {
    /// A transport, if it brings what was sent: twice, since what comes in has two halves. Collective.
    fn tried(
        &self,
        mut transport: Box<dyn Transport>,
    ) -> Result<Option<Box<dyn Transport>>, EngineError> {
        let rank = self.domain.rank();
        let neighbors: Vec<usize> = self.domain.neighbors().collect();
        let tried = |_: &usize| TRIED;
        let lengths = || Lengths {
            outgoing: neighbors.iter().map(tried).collect(),
            incoming: neighbors.iter().map(tried).collect(),
        };
        let mut wrong = false;
        for round in 0..2 {
            for (j, &neighbor) in neighbors.iter().enumerate() {
                let at = j * self.messages.segment;
                self.messages.outgoing.write_at(at, &pattern(rank, neighbor, round))?;
            }
            // A way that does not work may say so or bring something else.
            let half = transport.exchange(&self.domain, &self.messages, &lengths(), &mut || Ok(()));
            wrong |= half.is_err();
            for (j, &neighbor) in neighbors.iter().enumerate() {
                let segments = half.as_ref().map_or(0, |&half| half as usize) * neighbors.len() + j;
                let found: Vec<u8> =
                    self.messages.incoming.read_at(segments * self.messages.segment, TRIED)?;
                wrong |= found != pattern(neighbor, rank, round);
            }
        }
        let [wrong] = self.domain.largest([u64::from(wrong)]);
        if wrong > 0 {
            tracing::debug!("{} does not bring what was sent", transport.name());
        }
        Ok((wrong == 0).then_some(transport))
    }

    fn take_transport(&mut self, transport: Box<dyn Transport>) {
        let peers = transport.peers(&self.messages);
        self.transport = transport;
        // All ranks take steps in the same way.
        let [cannot] = self.domain.largest([u64::from(peers.is_none())]);
        self.writes_to_peers = cannot == 0;
        let halo = &mut self.halo;
        halo.outgoing = self.messages.outgoing.pointer();
        halo.incoming = self.messages.incoming.pointer();
        halo.segment = self.messages.segment as u64;
        for (j, peer) in peers.into_iter().flatten().enumerate() {
            halo.peer_signals[j] = Pointer::at(peer.signals);
            halo.peer_remote[j] = Pointer::at(peer.remote);
            for half in 0..2 {
                halo.peer_sites[half][j] = Pointer::at(peer.sites[half]);
                halo.peer_inbox[half][j] = Pointer::at(peer.inbox[half]);
            }
        }
    }
}
