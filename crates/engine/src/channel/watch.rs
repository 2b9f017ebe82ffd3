//! Whether a subchannel makes progress: one that is silent while the peer answers over others has failed, whatever the
//! kernel still hopes for.

use super::VirtualChannel;
use super::scheduler::{NOTHING, Transmit};
use super::subchannel::Cargo;
use crate::time::Instant;
use crate::wire::Body;

/// A subchannel on which nothing has moved for so long, in nanoseconds, and a round trip, is suspect: a kernel
/// that has lost packets has sent them again twice by then.
const SILENCE_NS: u64 = 150_000_000;
/// So long after the peer has answered over another subchannel, in nanoseconds, a suspect one has failed. A peer that was
/// away reads its subchannels one after the other, and may hold acknowledgements for a while.
const GRACE_NS: u64 = 40_000_000;

/// What is known of the progress of one subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    since: Instant,
    /// The peer has been asked over the others.
    is_suspect: bool,
    /// The others are to ask the peer over this one.
    asks: bool,
    fails_at: Option<Instant>,
    /// The driver has been told that it has failed.
    is_told: bool,
}

impl Watch {
    /// Something has been acknowledged or has come, or there is something to acknowledge only now.
    pub fn progress(&mut self, now: Instant) {
        self.since = now;
        self.is_suspect = false;
        self.fails_at = None;
    }
}

impl VirtualChannel {
    /// When to look whether all subchannels make progress, if ever. With a single one there is nothing to compare with.
    pub fn next_watch(&self) -> Option<Instant> {
        if self.live.len() < 2 {
            return None;
        }
        let live = self.live.iter().map(|index| &self.subchannels[usize::from(*index)]);
        let waiting = live.filter(|subchannel| !subchannel.is_quiet() && !subchannel.watch.is_told);
        let due = |subchannel: &super::Subchannel| match subchannel.watch.is_suspect {
            true => subchannel.watch.fails_at,
            false => Some(subchannel.watch.since.plus_ns(SILENCE_NS + subchannel.estimate.min_rtt_ns())),
        };
        waiting.filter_map(due).min()
    }

    /// Asks the peer where a subchannel is silent. A subchannel that has failed.
    pub fn watch(&mut self, now: Instant) -> Option<usize> {
        if self.next_watch().is_none_or(|due| due > now) {
            return None;
        }
        let mut asks = false;
        for index in self.live.clone().into_iter().map(usize::from) {
            let subchannel = &mut self.subchannels[index];
            if subchannel.is_quiet() || subchannel.watch.is_told {
                continue;
            }
            if subchannel.watch.fails_at.is_some_and(|at| at <= now) {
                subchannel.watch.is_told = true;
                return Some(index);
            }
            let silent_ns = SILENCE_NS + subchannel.estimate.min_rtt_ns();
            if !subchannel.watch.is_suspect && now.since_ns(subchannel.watch.since) >= silent_ns {
                subchannel.watch.is_suspect = true;
                asks = true;
            }
        }
        for index in self.live.iter().filter(|_| asks) {
            let watch = &mut self.subchannels[usize::from(*index)].watch;
            watch.asks = !watch.is_suspect;
        }
        None
    }

    /// The peer has answered over some subchannel: those that stay silent have failed.
    pub fn answered(&mut self, now: Instant) {
        for subchannel in self.subchannels.iter_mut().filter(|subchannel| subchannel.watch.is_suspect) {
            subchannel.watch.fails_at.get_or_insert(now.plus_ns(GRACE_NS));
        }
    }

    /// Asks whether the peer is there.
    pub(super) fn ping(&mut self, now: Instant) -> Option<Transmit> {
        if self.live.len() < 2 {
            return None;
        }
        let index = self.subchannels.iter().position(|sub| sub.watch.asks && sub.live && sub.budget > 0)?;
        self.subchannels[index].watch.asks = false;
        Some(self.frame(now, index, Body::Ping, NOTHING, Cargo::Ping))
    }
}
