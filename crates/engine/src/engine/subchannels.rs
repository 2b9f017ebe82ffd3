//! Subchannels that come up, fail or retire, and their liveness.

use super::incoming::IncomingFrames;
use super::{Engine, Refused};
use crate::channel::State;
use crate::channel::subchannel::Subchannel;
use crate::ids::{RailId, SubchannelId, VcId};
use crate::time::Instant;

/// What a peer has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Since when it has answered nothing at all.
    pub since: Instant,
    /// Frames that were sent to it.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Engine {
    /// A subchannel of `vc` over `rail` (of `speed` bytes per second, where known) has been proven by both sides;
    /// the peer grants `grant` bytes. It takes nothing before [`Engine::writable`]. It may get the name of one that has
    /// ended.
    pub fn subchannel_up(
        &mut self,
        vc: VcId,
        rail: RailId,
        speed: Option<f64>,
        grant: u64,
    ) -> Result<SubchannelId, Refused> {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.state != State::Open {
            return Err(Refused);
        }
        let index = channel.add(Subchannel::new(rail, speed)).ok_or(Refused)?;
        channel.credit.set_grant(grant);
        if let Some(before) = self.incoming[vc.0 as usize].get_mut(index) {
            *before = IncomingFrames::default();
        }
        self.make_ready(vc);
        Ok(SubchannelId { vc, index: index as u8 })
    }

    /// A subchannel that has just come up is memory that both sides see. While it is up, all goes over it, whatever the
    /// policies, and the others of its channel stand by. Frames over it are acknowledged by the driver
    /// ([`Engine::delivered`]), which knows when the peer has taken them.
    pub fn prefer(&mut self, subchannel: SubchannelId) {
        self.vcs[subchannel.vc.0 as usize].prefer(usize::from(subchannel.index));
        self.make_ready(subchannel.vc);
    }

    /// A subchannel stands by: it gets no new frames as long as another one does, which goes over the same wire better. It
    /// does not if it is the only one. With `false` it is one like the others once more.
    pub fn set_standby(&mut self, subchannel: SubchannelId, stands_by: bool) {
        self.vcs[subchannel.vc.0 as usize].set_standby(usize::from(subchannel.index), stands_by);
        self.make_ready(subchannel.vc);
    }

    /// While fewer than so many segments (of [`PADDING_SEGMENT`](crate::PADDING_SEGMENT) bytes) are in flight over a subchannel,
    /// it carries padding, behind all messages, though it stands by: what its path takes shows however little there is to send.
    /// With 0 it does not.
    pub fn fill_up_to(&mut self, subchannel: SubchannelId, segments: u16) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.estimate.fill_up_to(segments);
        }
        let is_filled = |subchannel: &Subchannel| subchannel.live && subchannel.estimate.is_filled();
        channel.has_filled = channel.subchannels.iter().any(is_filled);
        self.make_ready(subchannel.vc);
    }

    /// The driver has closed a subchannel, because of `why`, which names the rail: nothing more comes over it, and what it
    /// took and has not sent is dropped. What is not acknowledged is retransmitted over the others. Without any
    /// other, the peer is lost after a while.
    pub fn subchannel_down(&mut self, now: Instant, subchannel: SubchannelId, why: &str) {
        let (vc, index) = (subchannel.vc, usize::from(subchannel.index));
        let channel = &mut self.vcs[vc.0 as usize];
        if !channel.subchannels.get(index).is_some_and(|subchannel| subchannel.live) {
            return;
        }
        let carried = channel.remove_subchannel(now, index, why);
        // A retired one was not the last: the others have failed before, or were given back.
        if carried && channel.live.is_empty() {
            let due = *channel
                .left_behind
                .get_or_insert_default()
                .peer_timeout_at
                .get_or_insert(now.plus_ns(self.config.rail_timeout_ns));
            self.schedule_timeout(due);
        }
        self.interrupt(subchannel);
        self.make_ready(vc);
    }

    /// No new frames go over a subchannel from now on, only acknowledgements of what comes, so that it can be closed
    /// without loss once it [is drained](Engine::is_drained) on both sides. False: it is the only live one, and has to
    /// stay.
    pub fn retire(&mut self, subchannel: SubchannelId) -> bool {
        let retired = self.vcs[subchannel.vc.0 as usize].retire(usize::from(subchannel.index));
        self.make_ready(subchannel.vc);
        retired
    }

    /// Whether nothing that was sent over a subchannel waits for acknowledgement, and nothing that came over it has to be
    /// acknowledged.
    pub fn is_drained(&self, subchannel: SubchannelId) -> bool {
        let subchannel = self.vcs[subchannel.vc.0 as usize].subchannels.get(usize::from(subchannel.index));
        subchannel.is_none_or(|subchannel| subchannel.is_drained())
    }

    /// The peer's kernel has acknowledged bytes of this subchannel, or bytes have come over it: it makes progress, although
    /// no frame is whole yet. What is acknowledged may have to wait behind a long payload that comes.
    pub fn made_progress(&mut self, now: Instant, subchannel: SubchannelId) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.made_progress(now);
        }
    }

    /// To be called every few milliseconds. If the oldest frame of this subchannel is overdue, it may be lost, or what
    /// acknowledges it: the peer is probed over the same subchannel. A kernel retransmits a lone segment only after 200
    /// ms (RFC 8985, 7.2: tail loss), but soon after another one behind it has come through: the probe and its answer
    /// are such.
    pub fn probe_if_overdue(&mut self, now: Instant, subchannel: SubchannelId) {
        if self.vcs[subchannel.vc.0 as usize].probe_if_overdue(now, usize::from(subchannel.index)) {
            self.make_ready(subchannel.vc);
        }
    }

    /// A subchannel that makes no progress while the peer answers over others: the driver closes it, and then calls
    /// [`Engine::subchannel_down`].
    pub fn poll_failed_subchannel(&mut self) -> Option<SubchannelId> {
        self.failed_subchannels.pop_front()
    }

    /// A peer that had no subchannel for too long: the driver calls [`Engine::lose`], with what [`Engine::outage`] says.
    pub fn poll_unreachable_peer(&mut self) -> Option<VcId> {
        self.unreachable_peers.pop_front()
    }

    /// Since when a peer has had no subchannel, and why, for the user: what was said of the last that have failed. `None`: it
    /// has one, or never had any.
    pub fn outage(&self, vc: VcId) -> Option<(Instant, String)> {
        let channel = &self.vcs[vc.0 as usize];
        let due = channel.peer_timeout_at()?;
        Some((Instant(due.0.saturating_sub(self.config.rail_timeout_ns)), channel.failure_causes()))
    }

    /// Since when a peer has answered nothing of what was sent to it, though something waits for that, with the number of frames
    /// and their bytes. `None`: nothing waits, or there is no subchannel over which it could answer.
    pub fn unanswered(&self, vc: VcId) -> Option<Unanswered> {
        let channel = &self.vcs[vc.0 as usize];
        if channel.state != State::Open || channel.is_quiet() {
            return None;
        }
        let waiting = || channel.subchannels.iter().filter(|subchannel| subchannel.live && !subchannel.is_quiet());
        let since = waiting().map(|subchannel| subchannel.liveness.since()).max()?;
        let frames = waiting().map(|subchannel| subchannel.in_flight() as u64).sum();
        let bytes = waiting().map(Subchannel::bytes_in_flight).sum();
        Some(Unanswered { since, frames, bytes })
    }

    /// Checks whether the subchannels of `vc` make progress, and whether it has any.
    pub(super) fn check_liveness(&mut self, now: Instant, vc: VcId) {
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.peer_timeout_at().is_some_and(|due| due <= now) {
            if !self.unreachable_peers.contains(&vc) {
                self.unreachable_peers.push_back(vc);
            }
            return;
        }
        while let Some(index) = channel.check_liveness(now) {
            self.failed_subchannels.push_back(SubchannelId { vc, index: index as u8 });
        }
        let due = channel.next_liveness_check().into_iter().chain(channel.peer_timeout_at()).min();
        self.make_ready(vc);
        due.into_iter().for_each(|due| self.schedule_timeout(due));
    }
}
