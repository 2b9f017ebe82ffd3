//! Long payloads that threads copy while the endpoint goes on. A payload is lent to a thread where there is another one to be
//! copied beside it, and taken back in a later progress call.

use std::io;

use fishplate_engine::Instant;
use fishplate_link_core::UserMemory;

use super::TcpLinks;
use super::receive::read::Read;
use crate::endpoint::Endpoint;
use crate::link::{Filled, Moved, StreamLink, StreamTransfer};
use crate::processor_time::CallCost;
use crate::transfer::Threads;

/// Shortest payload that is lent, in bytes: copying it takes as long as several system calls, against which passing it to a thread
/// costs little.
const MIN_LENT: u64 = 64 << 10;

/// Transfers by threads.
pub struct Transfers {
    threads: Threads<StreamTransfer>,
    /// Links with a payload lent to a thread.
    lent: Vec<usize>,
    /// Nothing more is lent for now.
    is_paused: bool,
    /// Bytes that threads have copied so far.
    moved: u64,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

impl Transfers {
    pub fn new(threads: Threads<StreamTransfer>) -> Transfers {
        Transfers { threads, lent: Vec::new(), is_paused: false, moved: 0 }
    }

    /// Number of payloads that may be copied at a time, including one by the calling thread.
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
        if moved.bytes >= MIN_LENT {
            cost.sample(moved.bytes, moved.took_ns);
        }
        if moved.was_late {
            self.threads.were_late();
        }
    }

    /// A link was removed.
    pub fn remove(&mut self, at: usize) {
        self.lent.retain(|other| *other != at);
    }

    fn note(&mut self, at: usize) {
        if !self.lent.contains(&at) {
            self.lent.push(at);
        }
    }
}

impl TcpLinks {
    /// Has a thread send the queue of link `at`, if that is long, there is another payload to copy, and a thread is free.
    #[inline]
    pub fn lend_queue(&mut self, at: usize, memory: &UserMemory) -> bool {
        self.links.get(at).is_some_and(|link| link.transmit.len() >= MIN_LENT) && self.lend_long_queue(at, memory)
    }

    fn lend_long_queue(&mut self, at: usize, memory: &UserMemory) -> bool {
        let link = &self.links[at];
        !link.blocked && !link.is_shut && !link.transmit.is_lent() && self.lend(at, Direction::Out, memory)
    }

    /// Has a thread read the payload that link `at` is receiving, under the same conditions.
    #[inline]
    pub fn lend_payload(&mut self, at: usize, memory: &UserMemory) -> bool {
        let link = &self.links[at];
        link.receive.missing() >= MIN_LENT && !link.is_ending && self.lend(at, Direction::In, memory)
    }

    fn lend(&mut self, at: usize, direction: Direction, memory: &UserMemory) -> bool {
        if !self.is_one_of_many(at, direction) {
            return false;
        }
        let TcpLinks { links, transfers, .. } = self;
        let StreamLink { transmit, receive, socket, lent, .. } = &mut links[at];
        let is_lent = match direction {
            Direction::Out => lent.send(transmit, (socket, memory), &mut transfers.threads),
            Direction::In => lent.receive(receive, (socket, memory), &mut transfers.threads),
        };
        if is_lent {
            transfers.note(at);
        }
        is_lent
    }

    /// Whether there is another payload to copy beside that of link `at`, so that threads help.
    fn is_one_of_many(&mut self, at: usize, direction: Direction) -> bool {
        let is_long = |(other, link): (usize, &StreamLink)| {
            let sends = (other, Direction::Out) != (at, direction) && link.transmit.len() >= MIN_LENT && !link.blocked;
            let receives = (other, Direction::In) != (at, direction) && link.receive.missing() >= MIN_LENT;
            sends || receives
        };
        let may_help = !self.transfers.is_paused && self.transfers.threads.may_help();
        let is_one = may_help && self.links.iter().any(is_long);
        if is_one {
            self.transfers.threads.want();
        }
        is_one
    }
}

impl Endpoint {
    /// Takes back payloads that threads have copied. True if there were any.
    #[inline]
    pub(in crate::endpoint) fn collect_transfers(&mut self, now: Instant) -> bool {
        !self.links.tcp.transfers.is_empty() && self.collect_all_transfers(now)
    }

    fn collect_all_transfers(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for at in std::mem::take(&mut self.links.tcp.transfers.lent) {
            moved |= self.collect_sent(at);
            moved |= self.collect_received(at, now);
            if self.links.tcp.get(at).is_some_and(|link| link.lent.is_any()) {
                self.links.tcp.transfers.note(at);
            }
        }
        moved
    }

    /// Takes back payloads that threads have sent, and writes the frames behind them. Nothing is read.
    pub(in crate::endpoint) fn collect_sends(&mut self) {
        for at in self.links.tcp.transfers.lent.clone() {
            self.collect_sent(at);
        }
    }

    fn collect_sent(&mut self, at: usize) -> bool {
        let TcpLinks { links, transfers, .. } = &mut self.links.tcp;
        let Some(StreamLink { transmit, lent, .. }) = links.get_mut(at) else { return false };
        if let Some(moved) = lent.collect_sent(transmit) {
            transfers.count(moved, &mut self.processor_time.send);
        }
        let link = &mut self.links.tcp[at];
        let Some(flushed) = link.lent.take_sent() else { return false };
        match flushed {
            // It was taken back before its end: another flush goes on.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.links.tcp.mark_dirty(at),
            flushed => {
                self.flushed(at, flushed);
                match self.links.tcp.get(at) {
                    // The poll set may have reported that the socket is writable while the thread had it.
                    Some(link) if link.blocked => self.links.tcp.rearm(at, &self.poller),
                    Some(link) if !link.transmit.is_empty() => self.links.tcp.mark_dirty(at),
                    _ => {}
                }
            }
        }
        true
    }

    /// Takes back a payload that a thread has read. The poll set may have reported later data while the thread read: it is read now.
    pub(in crate::endpoint) fn collect_received(&mut self, at: usize, now: Instant) -> bool {
        let TcpLinks { links, transfers, .. } = &mut self.links.tcp;
        let Some(StreamLink { receive, lent, .. }) = links.get_mut(at) else { return false };
        if let Some(moved) = lent.collect_received(receive) {
            transfers.count(moved, &mut self.processor_time.receive);
        }
        let link = &mut self.links.tcp[at];
        let Some(filled) = link.lent.take_filled() else { return false };
        let was_ended_early = matches!(&filled, Err(error) if error.kind() == io::ErrorKind::Interrupted);
        let has_more = matches!(filled, Ok(Filled::More)) || was_ended_early || link.read_deferred || link.hung_up;
        // The time at which the socket was last seen empty is older than the loan.
        if self.was_filled(at, filled, false, now) != Read::Gone && has_more {
            self.read_link(at, now);
        }
        true
    }

    /// Takes back all payloads, and lends none until [`Endpoint::resume_transfers`]: a thread is going to wait for the poll set, or the
    /// endpoint ends. True if anything was copied.
    pub(in crate::endpoint) fn pause_transfers(&mut self, now: Instant) -> bool {
        self.links.tcp.transfers.is_paused = true;
        let mut moved = false;
        while !self.links.tcp.transfers.is_empty() {
            let any = self.collect_all_transfers(now);
            moved |= any;
            if !any && !self.links.tcp.transfers.threads.are_here() {
                self.links.tcp.transfers.lent.clear();
            } else if !any {
                std::thread::yield_now();
            }
        }
        moved
    }

    /// Allows payloads to be lent again.
    pub(in crate::endpoint) fn resume_transfers(&mut self) {
        self.links.tcp.transfers.is_paused = false;
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
        pair.ends.iter().map(|end| end.links.tcp.transfers.moved).sum()
    }

    #[test]
    fn threads_move_long_payloads_where_several_are_in_progress() {
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
