//! Long payloads that threads move while the endpoint goes on: lent where there is another to be moved beside them, and taken
//! back in a later progress call.

use std::io;

use fishplate_engine::Instant;

use super::Endpoint;
use crate::link::{Filled, Moved, StreamLink, StreamTransfer};
use crate::processor_time::CallCost;
use crate::transfer::Threads;

/// To copy so much takes the time of some system calls, beside which handing it to a thread is little.
const LONG: u64 = 64 << 10;

/// Transfers by threads.
pub struct Transfers {
    threads: Threads<StreamTransfer>,
    /// Links of which threads have something.
    lent: Vec<usize>,
    /// Nothing more is lent for now.
    is_paused: bool,
    /// Bytes that threads have moved so far.
    moved: u64,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

impl Transfers {
    pub fn new(threads: Threads<StreamTransfer>) -> Transfers {
        Transfers { threads, lent: Vec::new(), is_paused: false, moved: 0 }
    }

    /// How many payloads may be moved at a time, one by the thread that calls.
    pub fn parallel(&self) -> usize {
        1 + self.threads.allowed()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lent.is_empty()
    }

    fn count(&mut self, moved: Moved, cost: &mut CallCost) {
        self.moved += moved.bytes;
        cost.sample(moved.bytes, moved.took_ns);
        if moved.was_late {
            self.threads.were_late();
        }
    }

    fn note(&mut self, at: usize) {
        if !self.lent.contains(&at) {
            self.lent.push(at);
        }
    }
}

impl Endpoint {
    /// Has a thread send what link `at` has queued, if that is long, there is more to be moved, and a thread is free for it.
    #[inline]
    pub(in crate::endpoint) fn lend_queue(&mut self, at: usize) -> bool {
        self.links.streams.get(at).is_some_and(|link| link.transmit.len() >= LONG) && self.lend_long_queue(at)
    }

    fn lend_long_queue(&mut self, at: usize) -> bool {
        let link = &self.links.streams[at];
        if link.blocked || link.is_shut || link.transmit.is_lent() || !self.is_one_of_many(at, Way::Out) {
            return false;
        }
        let Endpoint { links, transfers, memory, .. } = self;
        let StreamLink { transmit, socket, lent, .. } = &mut links.streams[at];
        let is_lent = lent.send(transmit, (socket, memory), &mut transfers.threads);
        if is_lent {
            transfers.note(at);
        }
        is_lent
    }

    /// Has a thread read the payload that link `at` is receiving, under the same conditions.
    #[inline]
    pub(in crate::endpoint) fn lend_payload(&mut self, at: usize) -> bool {
        self.links.streams[at].receive.missing() >= LONG && self.lend_long_payload(at)
    }

    fn lend_long_payload(&mut self, at: usize) -> bool {
        if self.links.streams[at].is_ending || !self.is_one_of_many(at, Way::In) {
            return false;
        }
        let Endpoint { links, transfers, memory, .. } = self;
        let StreamLink { receive, socket, lent, .. } = &mut links.streams[at];
        let is_lent = lent.receive(receive, (socket, memory), &mut transfers.threads);
        if is_lent {
            transfers.note(at);
        }
        is_lent
    }

    /// Whether another payload is to be moved beside the one of link `at` on its way, so that threads help.
    fn is_one_of_many(&mut self, at: usize, way: Way) -> bool {
        let is_long = |(other, link): (usize, &StreamLink)| {
            let sends = (other, Way::Out) != (at, way) && link.transmit.len() >= LONG && !link.blocked;
            let receives = (other, Way::In) != (at, way) && link.receive.missing() >= LONG;
            sends || receives
        };
        let is_one = !self.transfers.is_paused && self.links.streams.iter().any(is_long);
        if is_one {
            self.transfers.threads.want();
        }
        is_one
    }

    /// Takes back what threads have moved. True if that was anything.
    #[inline]
    pub(in crate::endpoint) fn collect_transfers(&mut self, now: Instant) -> bool {
        !self.transfers.is_empty() && self.collect_all_transfers(now)
    }

    fn collect_all_transfers(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for at in std::mem::take(&mut self.transfers.lent) {
            moved |= self.collect_sent(at);
            moved |= self.collect_received(at, now);
            if self.links.streams.get(at).is_some_and(|link| link.lent.is_any()) {
                self.transfers.note(at);
            }
        }
        moved
    }

    fn collect_sent(&mut self, at: usize) -> bool {
        let Some(StreamLink { transmit, lent, .. }) = self.links.streams.get_mut(at) else { return false };
        if let Some(moved) = lent.collect_sent(transmit) {
            self.transfers.count(moved, &mut self.processor_time.send);
        }
        let link = &mut self.links.streams[at];
        let Some(flushed) = link.lent.take_sent() else { return false };
        match flushed {
            // It was taken back before a thread had begun.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            flushed => self.flushed(at, flushed),
        }
        if self.links.streams.get(at).is_some_and(|link| !link.blocked && !link.transmit.is_empty()) {
            self.mark_dirty(at);
        }
        true
    }

    /// The same of what was read. What has come meanwhile was reported while the thread read, and is read now.
    pub(in crate::endpoint) fn collect_received(&mut self, at: usize, now: Instant) -> bool {
        let Some(StreamLink { receive, lent, .. }) = self.links.streams.get_mut(at) else { return false };
        if let Some(moved) = lent.collect_received(receive) {
            self.transfers.count(moved, &mut self.processor_time.receive);
        }
        let link = &mut self.links.streams[at];
        let Some(filled) = link.lent.take_filled() else { return false };
        let has_more = matches!(filled, Ok(Filled::More)) || link.read_deferred || link.hung_up;
        if self.was_filled(at, filled, now).goes_on() && has_more {
            self.read_link(at, now);
        }
        true
    }

    /// Nothing is with a thread when this returns: somebody is going to wait for the poll set.
    pub(in crate::endpoint) fn finish_transfers(&mut self, now: Instant) {
        self.transfers.is_paused = true;
        while !self.transfers.is_empty() {
            if !self.collect_all_transfers(now) {
                std::thread::yield_now();
            }
        }
        self.transfers.is_paused = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::test_pair::Pair;
    use crate::settings::Settings;
    use crate::streams::Streams;
    use crate::transfer::ThreadLimit;

    fn pair(streams: u8, threads: usize, settings: Settings) -> Pair {
        let (rails, streams, threads) = (vec!["lo".into()], Streams::Fixed(streams), ThreadLimit::Fixed(threads));
        // Two halves of a message are both long, whatever the processors cost.
        let striping = "even".parse().unwrap();
        Pair::with(Settings { rails, streams, threads, striping, ..settings })
    }

    fn moved_by_threads(mut pair: Pair) -> u64 {
        (0..20).for_each(|_| pair.exchange());
        pair.ends.iter().map(|end| end.transfers.moved).sum()
    }

    #[test]
    fn threads_move_what_is_long_where_several_payloads_are_under_way() {
        let plain = Settings::default;
        let encrypted = Settings { encryption: true, ..plain() };
        let checked = Settings { checksum: true, ..plain() };
        for settings in [plain(), encrypted, checked] {
            let shown = format!("encryption {}, checksum {}", settings.encryption, settings.checksum);
            assert!(moved_by_threads(pair(2, 2, settings)) > 0, "{shown}");
        }
    }

    #[test]
    fn one_payload_alone_is_moved_by_the_caller() {
        assert_eq!(moved_by_threads(pair(1, 2, Settings::default())), 0);
        assert_eq!(moved_by_threads(pair(2, 0, Settings::default())), 0, "no thread is allowed");
    }
}
