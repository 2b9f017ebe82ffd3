//! Subchannels that come up, fail or retire, and their liveness.

use super::incoming::IncomingFrames;
use super::{Engine, Refused};
use crate::channel::State;
use crate::channel::subchannel::Subchannel;
use crate::ids::{RailId, SubchannelId, VcId};
use crate::time::Instant;

/// Frames that a silent peer has not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// When the peer was last heard, over any subchannel.
    pub since: Instant,
    /// Number of frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Engine {
    /// A subchannel of `vc` over `rail` (of `speed` bytes per second, where known) has been proven by both sides; the peer grants
    /// `grant` bytes. It takes no frames before [`Engine::writable`]. Its name may be that of an earlier one that has ended.
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

    /// Says that a subchannel that has just come up is shared memory. While it is up, all frames go over it, whatever the policies,
    /// and the others of its channel stand by. The driver acknowledges frames over it ([`Engine::delivered`]), as it sees when the
    /// peer has taken them.
    pub fn prefer(&mut self, subchannel: SubchannelId) {
        self.vcs[subchannel.vc.0 as usize].prefer(usize::from(subchannel.index));
        self.make_ready(subchannel.vc);
    }

    /// Short messages to `vc` no longer follow those of the peer to their subchannel. For one of both sides: if each followed the
    /// other, an exchange that began over two subchannels would change them for ever.
    pub fn lead(&mut self, vc: VcId) {
        self.vcs[vc.0 as usize].leads = true;
    }

    /// Has a subchannel stand by, or carry again. A standby subchannel gets no new frames while another one is up that uses the same
    /// wire better; it carries if it is the only one.
    pub fn set_standby(&mut self, subchannel: SubchannelId, stands_by: bool) {
        self.vcs[subchannel.vc.0 as usize].set_standby(usize::from(subchannel.index), stands_by);
        self.make_ready(subchannel.vc);
    }

    /// Keeps `segments` of [`PADDING_SEGMENT`](crate::PADDING_SEGMENT) bytes in flight over a subchannel by padding, behind all
    /// messages, even if it stands by: that measures its path however little there is to send. 0 ends it.
    pub fn fill_up_to(&mut self, subchannel: SubchannelId, segments: u16) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.estimate.fill_up_to(segments);
        }
        let is_filled = |subchannel: &Subchannel| subchannel.live && subchannel.estimate.is_filled();
        channel.has_filled = channel.subchannels.iter().any(is_filled);
        self.make_ready(subchannel.vc);
    }

    /// The driver has closed a subchannel, because of `why`, which names the rail: no more frames come over it, and frames that it
    /// took and has not sent are dropped. Unacknowledged frames are retransmitted over the others. Without any other, the peer is
    /// lost after [`Config::rail_timeout_ns`](crate::Config::rail_timeout_ns).
    pub fn subchannel_down(&mut self, now: Instant, subchannel: SubchannelId, why: &str) {
        let (vc, index) = (subchannel.vc, usize::from(subchannel.index));
        let channel = &mut self.vcs[vc.0 as usize];
        if !channel.subchannels.get(index).is_some_and(|subchannel| subchannel.live) {
            return;
        }
        let carried = channel.remove_subchannel(now, index, why);
        // A retired subchannel was not the last one: the others failed before, or were given back, and have set the timeout.
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

    /// Retires a subchannel: only acknowledgements go over it from now on, so that it can be closed without loss once it
    /// [is drained](Engine::is_drained) on both sides. False if it is the only live one, which has to stay.
    pub fn retire(&mut self, subchannel: SubchannelId) -> bool {
        let retired = self.vcs[subchannel.vc.0 as usize].retire(usize::from(subchannel.index));
        self.make_ready(subchannel.vc);
        retired
    }

    /// Whether all frames of a subchannel are acknowledged, in both directions.
    pub fn is_drained(&self, subchannel: SubchannelId) -> bool {
        let subchannel = self.vcs[subchannel.vc.0 as usize].subchannels.get(usize::from(subchannel.index));
        subchannel.is_none_or(|subchannel| subchannel.is_drained())
    }

    /// The peer's kernel has acknowledged bytes of this subchannel, or bytes have come over it: it makes progress, although no frame
    /// is whole yet. Acknowledgements may queue behind a long payload.
    pub fn made_progress(&mut self, now: Instant, subchannel: SubchannelId) {
        let channel = &mut self.vcs[subchannel.vc.0 as usize];
        if let Some(subchannel) = channel.subchannels.get_mut(usize::from(subchannel.index)) {
            subchannel.made_progress(subchannel.came(now));
        }
    }

    /// Probes the peer if the oldest frame of this subchannel is overdue, as the frame or its acknowledgement may be lost. To be
    /// called every few milliseconds. A kernel retransmits the last segment of a flight only after 200 ms (RFC 8985, 7.2: tail
    /// loss), but earlier if a later one is acknowledged: the probe and its answer are such.
    pub fn probe_if_overdue(&mut self, now: Instant, subchannel: SubchannelId) {
        if self.vcs[subchannel.vc.0 as usize].probe_if_overdue(now, usize::from(subchannel.index)) {
            self.make_ready(subchannel.vc);
        }
    }

    /// A subchannel that makes no progress while the peer answers over others. The driver has to close it, and then to call
    /// [`Engine::subchannel_down`].
    pub fn poll_failed_subchannel(&mut self) -> Option<SubchannelId> {
        self.failed_subchannels.pop_front()
    }

    /// A peer that had no subchannel for too long. The driver has to call [`Engine::lose`], with the cause from [`Engine::outage`].
    pub fn poll_unreachable_peer(&mut self) -> Option<VcId> {
        self.unreachable_peers.pop_front()
    }

    /// Since when a peer has had no subchannel, and the causes of the last failures, for the user. `None`: it has a subchannel, or
    /// never had one.
    pub fn outage(&self, vc: VcId) -> Option<(Instant, String)> {
        let channel = &self.vcs[vc.0 as usize];
        let due = channel.peer_timeout_at()?;
        Some((Instant(due.0.saturating_sub(self.config.rail_timeout_ns)), channel.failure_causes()))
    }

    /// Frames that a silent peer has not acknowledged. `None`: all are acknowledged, or there is no subchannel over which it could
    /// answer.
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

    /// Checks whether the subchannels of `vc` make progress, and whether the peer has been without any for too long.
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
