//! Long payloads that threads move while the endpoint goes on: lent where there is another to be moved beside them, and taken
//! back in a later progress call.

use std::io;

use fishplate_engine::Instant;

use super::TcpLinks;
use super::receive::read::Read;
use crate::endpoint::Endpoint;
use crate::link::{Filled, Moved, StreamLink, StreamTransfer};
use crate::processor_time::CallCost;
use crate::sys::memory::UserMemory;
use crate::transfer::Threads;

/// Payloads of so many bytes are lent at least: to copy them takes the time of some system calls, beside which handing them to a
/// thread is little.
const LEND_LEAST: u64 = 64 << 10;

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
        if moved.bytes >= LEND_LEAST {
            cost.sample(moved.bytes, moved.took_ns);
        }
        if moved.was_late {
            self.threads.were_late();
        }
    }

    /// A link was taken out.
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
    /// Has a thread send what link `at` has queued, if that is long, there is more to be moved, and a thread is free for it.
    #[inline]
    pub fn lend_queue(&mut self, at: usize, memory: &UserMemory) -> bool {
        self.links.get(at).is_some_and(|link| link.transmit.len() >= LEND_LEAST) && self.lend_long_queue(at, memory)
    }

    fn lend_long_queue(&mut self, at: usize, memory: &UserMemory) -> bool {
        let link = &self.links[at];
        !link.blocked && !link.is_shut && !link.transmit.is_lent() && self.lend(at, Way::Out, memory)
    }

    /// Has a thread read the payload that link `at` is receiving, under the same conditions.
    #[inline]
    pub fn lend_payload(&mut self, at: usize, memory: &UserMemory) -> bool {
        let link = &self.links[at];
        link.receive.missing() >= LEND_LEAST && !link.is_ending && self.lend(at, Way::In, memory)
    }

    fn lend(&mut self, at: usize, way: Way, memory: &UserMemory) -> bool {
        if !self.is_one_of_many(at, way) {
            return false;
        }
        let TcpLinks { links, transfers, .. } = self;
        let StreamLink { transmit, receive, socket, lent, .. } = &mut links[at];
        let is_lent = match way {
            Way::Out => lent.send(transmit, (socket, memory), &mut transfers.threads),
            Way::In => lent.receive(receive, (socket, memory), &mut transfers.threads),
        };
        if is_lent {
            transfers.note(at);
        }
        is_lent
    }

    /// Whether another payload is to be moved beside the one of link `at` on its way, so that threads help.
    fn is_one_of_many(&mut self, at: usize, way: Way) -> bool {
        let is_long = |(other, link): (usize, &StreamLink)| {
            let sends = (other, Way::Out) != (at, way) && link.transmit.len() >= LEND_LEAST && !link.blocked;
            let receives = (other, Way::In) != (at, way) && link.receive.missing() >= LEND_LEAST;
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
    /// Takes back what threads have moved. True if that was anything.
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

    /// Takes back what threads have sent, and hands the kernel what is behind it. Nothing is read.
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
            // It was taken back early: another flush shows how it is.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.links.tcp.mark_dirty(at),
            flushed => {
                self.flushed(at, flushed);
                match self.links.tcp.get(at) {
                    // That the socket takes bytes again may have been reported while the thread had it.
                    Some(link) if link.blocked => self.links.tcp.rearm(at, &self.poller),
                    Some(link) if !link.transmit.is_empty() => self.links.tcp.mark_dirty(at),
                    _ => {}
                }
            }
        }
        true
    }

    /// The same of what was read. What has come meanwhile was reported while the thread read, and is read now.
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
        // What is known of when the socket was empty is from before the thread had it.
        if self.was_filled(at, filled, false, now) != Read::Gone && has_more {
            self.read_link(at, now);
        }
        true
    }

    /// Nothing is with a thread when this returns, nor will be until [`Endpoint::resume_transfers`]: somebody is going to wait
    /// for the poll set, or the endpoint ends. True if anything was moved.
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

    /// Threads may have payloads again.
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
