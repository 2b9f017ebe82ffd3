//! Queries the kernel for bytes that the peers' kernels have acknowledged, while long frames are in flight.

use std::os::fd::AsFd;

use fishplate_engine::{Engine, Instant, TimeRange, Transmit};

use crate::ablation::Mechanism;
use crate::endpoint::tcp::TcpLinks;
use crate::link::StreamLink;
use crate::settings::Settings;
use crate::sys::option::unacknowledged;

/// Time between two queries, at least, in nanoseconds: long against a system call. A link of 10 Gbit/s carries the shortest tracked
/// frame a dozen times within it.
const PERIOD_NS: u64 = 50_000;

/// The links that are queried, and when.
#[derive(Debug)]
pub struct KernelAckQueries {
    is_on: bool,
    /// Links with long frames in flight.
    awaiting: Vec<usize>,
    next: Instant,
}

impl KernelAckQueries {
    /// No links so far. Never any where the settings switch queries off, or streams are encrypted, as the kernel counts their encrypted
    /// bytes.
    pub fn new(settings: &Settings) -> KernelAckQueries {
        let is_on = !settings.encryption && !settings.ablation.is_off(Mechanism::KernelAcknowledgements);
        KernelAckQueries { is_on, awaiting: Vec::new(), next: Instant(0) }
    }

    /// Ends the queries of a link.
    pub fn remove(&mut self, at: usize) {
        self.awaiting.retain(|other| *other != at);
    }
}

impl TcpLinks {
    /// A counted frame has been put into the stream of link `at`.
    pub fn track_kernel_ack(&mut self, at: usize, transmit: &Transmit) {
        let link = &mut self.links[at];
        if !self.kernel_acks.is_on
            || !link.kernel_acks.track(link.send_sequence.next(), transmit.source.len(), link.transmit.taken())
        {
            return;
        }
        if !std::mem::replace(&mut link.kernel_acks.listed, true) {
            self.kernel_acks.awaiting.push(at);
        }
    }

    /// Reports to the engine which frames the peers' kernels have acknowledged.
    #[inline]
    pub fn query_kernel_acks(&mut self, engine: &mut Engine, now: Instant) {
        if !self.kernel_acks.awaiting.is_empty() && now >= self.kernel_acks.next {
            self.query_all_kernel_acks(engine, now);
        }
    }

    fn query_all_kernel_acks(&mut self, engine: &mut Engine, now: Instant) {
        let TcpLinks { links, kernel_acks, .. } = self;
        kernel_acks.next = now.plus_ns(PERIOD_NS);
        kernel_acks.awaiting.retain(|at| links.get_mut(*at).is_some_and(|link| query(link, engine, now)));
    }
}

/// Queries one link. Returns whether it has more long frames in flight.
fn query(link: &mut StreamLink, engine: &mut Engine, now: Instant) -> bool {
    // It is not known how much a thread has sent of a payload that it was lent.
    if link.transmit.is_lent() {
        return true;
    }
    let polled_before = std::mem::replace(&mut link.kernel_acks.queried_at, now);
    let Ok(queued) = unacknowledged(link.socket.as_fd()) else { return false };
    let bytes = link.transmit.taken().saturating_sub(link.transmit.len() + u64::from(queued));
    if let Some(frames) = link.kernel_acks.acknowledged(bytes) {
        let came = TimeRange { earliest: polled_before, latest: now };
        engine.kernel_acknowledged(came, link.common.subchannel, frames);
    }
    link.kernel_acks.listed = link.kernel_acks.is_waiting();
    link.kernel_acks.listed
}
