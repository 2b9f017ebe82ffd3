//! Frames through shared memory.

use fishplate_engine::wire::Header;
use fishplate_engine::{Instant, Payload, SendRequest, Transmit};
use fishplate_link_core::{Link, Places};
use fishplate_rails_shm::{BadRecord, Known, Placed, Record, Sender, SharedMemoryLink, kind};

use super::SharedMemoryLinks;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::send::BUDGET;

/// Records of one link that are handled in one call, at most, so that one busy peer does not keep the others, or the user, waiting.
const MAX_RECORDS: usize = 64;

/// Bytes of one link after which a call stops: the processor copies them in a fraction of a millisecond.
const MAX_BYTES: u64 = 4 << 20;
/// Polls of each link in one call until something comes: a poll takes a nanosecond, but the whole call two hundred, in which new
/// records would go unnoticed.
const POLLS: usize = 32;
/// Number of links up to which they are polled repeatedly. With more, one round takes long enough.
const MAX_POLLED_LINKS: usize = 4;

/// A peer whose end was open in a poll of the poll set at most this time ago, in nanoseconds, still has its process id: the kernel
/// reuses ids only after all others.
const MAX_RUNNING_NS: u64 = 100_000_000;

/// The peer's progress is polled in one of this number of calls while it is not awaited: it costs a cache line that the peer
/// writes.
const POLL_TAKEN_EVERY: u64 = 64;

impl Endpoint {
    /// A peer has rung the bell, or shut its end.
    pub(in crate::endpoint) fn shared_memory_rang(&mut self, at: usize, is_shut: bool) -> bool {
        let Some(link) = self.links.memory.get_mut(at) else { return false };
        link.silence();
        link.hung_up |= is_shut;
        let now = self.clock.now();
        self.poll_shared_memory(now, false)
    }

    /// Handles records that have come in shared memory, and polls which records peers have taken: of all links if the endpoint
    /// `is_closing`. True if there was anything.
    #[inline]
    pub(in crate::endpoint) fn poll_shared_memory(&mut self, now: Instant, is_closing: bool) -> bool {
        !self.links.memory.is_empty() && self.poll_shared_links(now, is_closing)
    }

    fn poll_shared_links(&mut self, now: Instant, is_closing: bool) -> bool {
        let links = &self.links.memory;
        let has_come = |at: &usize| links[*at].receiver.has_record();
        let polls = if self.progress.is_crowded { 0 } else { POLLS };
        let _ = (0..polls).any(|_| self.links.memory.keys.iter().take(MAX_POLLED_LINKS).any(has_come));
        let looks_at_all = is_closing || self.progress.calls.is_multiple_of(POLL_TAKEN_EVERY);
        let mut moved = false;
        let mut position = 0;
        while let Some(&at) = self.links.memory.keys.get(position) {
            position += 1;
            let link = &self.links.memory[at];
            if link.receiver.has_record() {
                moved = true;
                self.read_shared(at, now);
            } else if link.hung_up {
                moved = true;
                self.link_shut(LinkId::Memory(at));
            } else if link.sender.is_awaited() || (link.sender.has_untaken() && looks_at_all) {
                moved |= self.poll_taken_of_link(at, now);
            }
        }
        if moved {
            self.received_without_socket();
        }
        moved
    }

    /// Polls which records peers have taken, over the links that `is_asked` selects.
    pub(in crate::endpoint) fn poll_taken_of_shared(&mut self, now: Instant, is_asked: impl Fn(&Sender) -> bool) {
        let mut position = 0;
        while let Some(&at) = self.links.memory.keys.get(position) {
            position += 1;
            if is_asked(&self.links.memory[at].sender) {
                self.poll_taken_of_link(at, now);
            }
        }
    }

    /// Puts a frame from the engine into a link in shared memory. True, as no flush has to follow.
    #[inline]
    pub(in crate::endpoint) fn enqueue_in_memory(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let Endpoint { links, memory, bounces, .. } = self;
        let SharedMemoryLinks { links, unrung, .. } = &mut links.memory;
        let link = &mut links[at];
        let Transmit { header, source, copy, .. } = transmit;
        if header.body.is_counted() {
            link.count_sent(&header.body, source.len());
        }
        link.sender.push(header, source, *copy, Places { memory, bounces });
        *unrung = true;
        if link.sender.is_blocked() {
            self.poll_taken_of_link(at, now);
        }
        if let Some(link) = self.links.memory.get(at)
            && link.sender.is_blocked()
        {
            self.engine.writable(link.common.subchannel, 0);
        }
        true
    }

    /// Sends a message that fits into shared memory at once, as a copy; the send completes. False: it has to be posted to the engine.
    /// `may_complete`: whether it may complete before the peer has taken it.
    #[inline]
    pub(in crate::endpoint) fn send_in_shared_memory(&mut self, request: &SendRequest, may_complete: bool) -> bool {
        let Some(at) = self.links.memory.of_peer(request.vc) else { return false };
        if !(may_complete || request.inject && !request.notify) {
            return false;
        }
        let len = request.payload.len();
        if !self.links.memory[at].sender.takes_copy(len, request.inject) {
            return false;
        }
        let Endpoint { links, engine, memory, progress, .. } = self;
        let SharedMemoryLinks { links, unrung, .. } = &mut links.memory;
        let link = &mut links[at];
        let Some((subchannel, header)) = engine.send_in_memory(progress.now, request) else { return false };
        debug_assert_eq!(subchannel, link.common.subchannel);
        link.common.counts.tx_bytes += len;
        link.common.counts.tx_messages += 1;
        link.sender.push_copy(&header, &request.payload, memory);
        link.ring_if_asleep(false);
        *unrung = true;
        true
    }

    /// Polls which records the peer has taken, and sends queued frames that waited for room. True if it has taken any.
    pub(in crate::endpoint) fn poll_taken_of_link(&mut self, at: usize, now: Instant) -> bool {
        let Some(link) = self.links.memory.get_mut(at) else { return false };
        let subchannel = link.common.subchannel;
        match link.sender.poll_taken() {
            Ok(None) => return false,
            Ok(Some(frames)) => {
                if self.engine.delivered(now, subchannel, frames).is_err() {
                    self.protocol_violation(LinkId::Memory(at), "an acknowledgement of frames that were not sent");
                    return true;
                }
            }
            Err(_) => {
                self.protocol_violation(LinkId::Memory(at), "it acknowledges frames that were not sent");
                return true;
            }
        }
        let Endpoint { links, memory, bounces, .. } = self;
        let SharedMemoryLinks { links, unrung, .. } = &mut links.memory;
        let link = &mut links[at];
        if link.sender.is_blocked() {
            *unrung |= link.sender.flush(Places { memory, bounces });
            if !link.sender.is_blocked() {
                self.engine.writable(subchannel, BUDGET);
            }
        }
        self.apply_memory_actions();
        true
    }

    /// Handles the records of a link, up to the limits of one call.
    fn read_shared(&mut self, at: usize, now: Instant) {
        let before = self.links.memory[at].common.counts.rx_bytes;
        for _ in 0..MAX_RECORDS {
            let Some(link) = self.links.memory.get(at) else { return };
            if link.common.counts.rx_bytes - before >= MAX_BYTES {
                break;
            }
            let taken = match link.receiver.record() {
                Ok(None) => break,
                Ok(Some(record)) => self.take_record(at, &record, now),
                Err(bad) => Err(bad),
            };
            if let Err(bad) = taken {
                return self.protocol_violation(LinkId::Memory(at), &bad.to_string());
            }
        }
        if let Some(link) = self.links.memory.get_mut(at)
            && link.receiver.publish()
        {
            link.ring_for_room();
        }
    }

    /// Handles a record. The link may have ended afterwards.
    #[inline]
    fn take_record(&mut self, at: usize, record: &Record, now: Instant) -> Result<(), BadRecord> {
        if record.kind == kind::REST {
            return self.place_record(at, record, 0, now);
        }
        let (mut header, header_len) = self.links.memory[at].receiver.header(record)?;
        if self.take_whole(at, record, &header, header_len, now)? {
            return Ok(());
        }
        let subchannel = self.links.memory[at].header_received(&mut header, now);
        let taken = self.handle_header(LinkId::Memory(at), subchannel, &header, now);
        let Some(placement) = taken else { return Ok(()) };
        let Endpoint { links, bounces, .. } = self;
        let Some(link) = links.memory.get_mut(at) else { return Ok(()) };
        link.receiver.begin(record, &header, header_len, placement, bounces)?;
        if header.body.payload_len() > 0 {
            return self.place_record(at, record, header_len, now);
        }
        link.receiver.finish(record);
        Ok(())
    }

    /// Places the payload in a record, from byte `from` of the record on, or in memory of the peer that it names. The link may have
    /// ended afterwards.
    #[inline(never)]
    fn place_record(&mut self, at: usize, record: &Record, from: usize, now: Instant) -> Result<(), BadRecord> {
        let Endpoint { links, memory, bounces, progress, clock, .. } = self;
        let SharedMemoryLink { receiver, hung_up, .. } = &mut links.memory[at];
        let placed = if record.kind == kind::LENT {
            let is_running = !*hung_up && clock.now().since_ns(progress.poll_interval.last_poll()) < MAX_RUNNING_NS;
            let known = if is_running { Known::Running } else { Known::ByMark };
            match receiver.place_lent(record, known, from, memory, bounces) {
                Ok(placed) => placed,
                Err(error) => {
                    self.link_failed(LinkId::Memory(at), &error.to_string());
                    return Ok(());
                }
            }
        } else {
            receiver.place(record, from, memory, bounces)?
        };
        if let Placed::Whole(len) = placed {
            let subchannel = self.links.memory[at].payload_received(len);
            self.payload_placed(subchannel, now);
        }
        if let Some(link) = self.links.memory.get_mut(at) {
            link.receiver.finish(record);
        }
        Ok(())
    }

    /// Handles a record that is a whole message with a receive. False if it is not.
    #[inline]
    fn take_whole(
        &mut self,
        at: usize,
        record: &Record,
        header: &Header,
        header_len: usize,
        now: Instant,
    ) -> Result<bool, BadRecord> {
        let Endpoint { links, engine, memory, .. } = self;
        let link = &mut links.memory[at];
        if !link.receiver.is_whole(record, header, header_len) {
            return Ok(false);
        }
        let receiver = &link.receiver;
        let place = |to: &Payload| receiver.place_whole(record, header_len, memory, to);
        let taken = engine.receive_whole(now, link.common.subchannel, header, place);
        match taken {
            Ok(true) => {
                link.receiver.finish(record);
                link.common.counts.rx_messages += 1;
                link.common.counts.rx_bytes += u64::from(header.body.payload_len());
                self.apply_memory_actions();
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(violation) => Err(BadRecord::Protocol(violation)),
        }
    }
}
