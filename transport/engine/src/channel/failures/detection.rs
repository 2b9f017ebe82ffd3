//! Failure detection: a subchannel that is silent while the peer answers over others has failed, even if its kernel
//! still retries.

use arrayvec::ArrayVec;

use crate::channel::VirtualChannel;
use crate::channel::subchannel::liveness::Liveness;
use crate::channel::subchannel::{FrameOwner, Subchannel};
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::limits::MAX_SUBCHANNELS;
use crate::time::Instant;
use crate::wire::Body;

/// A subchannel without progress for this time, in nanoseconds, plus a round trip is suspect: a kernel that has lost packets
/// has retransmitted them twice by then.
pub const SILENCE_NS: u64 = 150_000_000;
/// [`SILENCE_NS`] of a subchannel while others of its rail make progress: it has lost packets, and its kernel, which
/// retransmits after 200 ms and after 400 ms more, is given both tries.
const LOSSY_SILENCE_NS: u64 = 700_000_000;
/// Round trips that are added to [`LOSSY_SILENCE_NS`]: the kernel's retransmission timeout grows with them.
const KERNEL_BACKOFF_ROUND_TRIPS: u64 = 4;
/// [`SILENCE_NS`] of a subchannel in quarantine. A connection that is only slow answers in time, or is set up again.
const QUARANTINE_SILENCE_NS: u64 = 50_000_000;
/// A frame is overdue if it is not acknowledged this time, in nanoseconds, plus two round trips after it should have left:
/// the peer is probed over the same subchannel.
const OVERDUE_NS: u64 = 10_000_000;
/// Probes of one overdue frame, each after twice the time of the one before: the peer may be computing.
const MAX_PROBES: u8 = 4;
/// A suspect subchannel fails this time, in nanoseconds, after the peer has answered over another one. A peer that was away
/// reads its subchannels one after the other, and may delay acknowledgements.
const GRACE_NS: u64 = 40_000_000;

impl Subchannel {
    /// When its oldest frame becomes overdue; `None` if no frame is in flight or all probes were sent.
    fn probe_at(&self) -> Option<Instant> {
        let oldest = self.oldest().filter(|_| self.liveness.probes_sent < MAX_PROBES)?;
        let due_ns = 2 * self.estimate.min_rtt_ns() + self.estimate.time_of(oldest.queued);
        Some(oldest.at.max(self.liveness.since).plus_ns(due_ns + (OVERDUE_NS << self.liveness.probes_sent)))
    }
}

impl VirtualChannel {
    /// When to check the subchannels for progress, if ever.
    #[inline]
    pub fn next_liveness_check(&self) -> Option<Instant> {
        if self.live.len() == self.subchannels.len() && self.live.len() < 2 {
            return None;
        }
        let due = |subchannel: &Subchannel| match subchannel.liveness.is_suspect {
            true => subchannel.liveness.fails_at.get(),
            false => Some(self.suspect_at(subchannel)),
        };
        self.monitored().filter_map(|index| due(&self.subchannels[index])).min()
    }

    /// The subchannels with frames in flight, retiring ones included. The only live one is not among them:
    /// there is nothing to compare it with.
    fn monitored(&self) -> impl Iterator<Item = usize> {
        let alone = match self.live[..] {
            [only] => Some(usize::from(only)),
            _ => None,
        };
        let all = if self.live.is_empty() { 0 } else { self.subchannels.len() };
        let waits =
            |subchannel: &Subchannel| subchannel.live && !subchannel.is_quiet() && !subchannel.liveness.is_reported;
        (0..all).filter(move |index| alone != Some(*index) && waits(&self.subchannels[*index]))
    }

    /// When a subchannel with frames in flight becomes suspect: its rail has been silent, or it alone for longer.
    fn suspect_at(&self, subchannel: &Subchannel) -> Instant {
        let since = subchannel.liveness.since;
        let rtt_ns = subchannel.estimate.min_rtt_ns();
        if subchannel.liveness.is_quarantined {
            return since.plus_ns(QUARANTINE_SILENCE_NS + rtt_ns);
        }
        let live = self.live.iter().map(|index| &self.subchannels[usize::from(*index)]);
        let of_rail = live.filter(|other| other.rail == subchannel.rail).map(|other| other.liveness.since);
        let rail_since = of_rail.fold(since, Instant::max);
        rail_since
            .plus_ns(SILENCE_NS + rtt_ns)
            .min(since.plus_ns(LOSSY_SILENCE_NS + KERNEL_BACKOFF_ROUND_TRIPS * rtt_ns))
    }

    /// Makes silent subchannels suspect, and probes the peer over all: over a suspect one as well, as the peer may only
    /// hold its acknowledgement back while it computes. Returns a subchannel that has failed.
    pub fn check_liveness(&mut self, now: Instant) -> Option<usize> {
        if self.next_liveness_check().is_none_or(|due| due > now) {
            return None;
        }
        let (mut wants_probe, mut failed) = (false, None);
        let monitored: ArrayVec<usize, MAX_SUBCHANNELS> = self.monitored().collect();
        for index in monitored {
            let suspect_at = self.suspect_at(&self.subchannels[index]);
            let subchannel = &mut self.subchannels[index];
            if failed.is_none() && subchannel.liveness.fails_at.get().is_some_and(|at| at <= now) {
                subchannel.liveness.is_reported = true;
                failed = Some(index);
            } else if !subchannel.liveness.is_suspect && suspect_at <= now {
                subchannel.liveness.is_suspect = true;
                wants_probe = true;
            }
        }
        for index in self.live.iter().filter(|_| wants_probe) {
            self.subchannels[usize::from(*index)].liveness.wants_probe = true;
        }
        failed
    }

    /// Probes the peer over subchannel `index` if its oldest frame is overdue, and returns whether it was.
    pub fn probe_if_overdue(&mut self, now: Instant, index: usize) -> bool {
        let is_due = self.carries(index) && self.subchannels[index].probe_at().is_some_and(|due| due <= now);
        if is_due {
            let liveness = &mut self.subchannels[index].liveness;
            liveness.probes_sent += 1;
            liveness.wants_probe = true;
        }
        is_due
    }

    /// The peer retransmits over subchannel `over`, so it has given up another one, whose failure this side may not have
    /// noticed. Silent ones get no new traffic until the peer answers over them.
    pub fn quarantine_silent(&mut self, now: Instant, over: usize) {
        for index in self.live.iter().map(|index| usize::from(*index)).filter(|index| *index != over) {
            let rtt_ns = self.subchannels[index].estimate.min_rtt_ns();
            let liveness = &mut self.subchannels[index].liveness;
            if !liveness.is_quarantined && now.since_ns(liveness.since) >= QUARANTINE_SILENCE_NS + rtt_ns {
                (liveness.is_quarantined, liveness.wants_probe) = (true, true);
            }
        }
    }

    /// For a new subchannel: the peer is probed over it where others are suspect, or it might never answer.
    pub fn new_liveness(&self) -> Liveness {
        let wants_probe = self.subchannels.iter().any(|subchannel| subchannel.live && subchannel.liveness.is_suspect);
        Liveness { wants_probe, ..Liveness::default() }
    }

    /// The peer has answered a probe: suspect ones that stay silent fail after a while.
    pub fn probe_answered(&mut self, now: Instant) {
        for subchannel in self.subchannels.iter_mut().filter(|subchannel| subchannel.liveness.is_suspect) {
            let fails_at = &mut subchannel.liveness.fails_at;
            *fails_at = fails_at.get().or(Some(now.plus_ns(GRACE_NS))).into();
        }
    }

    /// A probe that is due.
    pub(in crate::channel) fn ping(&mut self, now: Instant) -> Option<Transmit> {
        let index = self.subchannels.iter().position(|sub| sub.liveness.wants_probe && sub.live && sub.budget > 0)?;
        self.subchannels[index].liveness.wants_probe = false;
        Some(self.frame(now, index, Body::Ping, NO_PAYLOAD, FrameOwner::Ping))
    }
}
