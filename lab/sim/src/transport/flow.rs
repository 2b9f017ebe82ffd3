//! One direction of a stream: a send buffer, a link, and a receive buffer.
//!
//! Like TCP it keeps order and loses nothing while it lives. What the link loses comes again a round trip later, what is
//! behind it waits, and the sender slows down: additive increase, multiplicative decrease. The acknowledgements of this
//! are not on the reverse link; they take its delay.

use std::collections::{BTreeMap, VecDeque};

use fishplate_engine::Payload;
use fishplate_link::{Link, Offered, Settings};

use super::data::Data;
use super::frame::{Frame, Segment};
use super::link_kind::{Flushed, LinkKind};
use super::memory::Memory;
use crate::events::{Duration, Time};

/// Payload bytes of an Ethernet packet, and its overhead: headers of TCP, IP and Ethernet, preamble, gap.
const PACKET_PAYLOAD: u64 = 1448;
const PACKET_EXTRA: u64 = 90;
/// A sender's first window, and its least after losses, in bytes: ten packets (RFC 6928), and two.
const FIRST_WINDOW: u64 = 10 * PACKET_PAYLOAD;
const MIN_WINDOW: u64 = 2 * PACKET_PAYLOAD;

/// Parameters of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Not writable while this number of bytes waits to be sent (`TCP_NOTSENT_LOWAT`).
    pub unsent_bytes: u64,
    /// Bytes on their way, or at the receiver and not read.
    pub window_bytes: u64,
    /// Longest payload of a segment; offload makes it longer than a packet.
    pub segment_bytes: u64,
    /// Bytes that a driver takes from the engine at a time while the socket is writable.
    pub budget_bytes: u64,
}

impl Socket {
    /// Bytes that `transport/rails` takes at a time.
    pub const BUDGET_BYTES: u64 = 256 << 10;
}

/// Slowing down after loss.
#[derive(Debug)]
struct Congestion {
    window_bytes: u64,
    threshold_bytes: u64,
    /// Sent, as far as the sender knows not arrived.
    in_flight_bytes: u64,
    /// End of the recovery episode: losses until then do not reduce the rate again.
    slowed_until: Time,
}

/// One direction of a stream.
#[derive(Debug)]
pub struct Flow {
    socket: Socket,
    healthy: Settings,
    link: Link<Segment>,
    /// The driver's queue.
    queue: VecDeque<Frame>,
    next_number: u64,
    /// To be sent again, in the order of their times.
    lost: VecDeque<(Time, Segment)>,
    congestion: Option<Congestion>,
    /// Payload taken by the link and not read.
    outstanding_bytes: u64,
    expected: u64,
    /// Arrived, and the sender does not know.
    unacknowledged_bytes: u64,
    /// Segments that arrived out of order.
    early: BTreeMap<u64, Segment>,
    unread: VecDeque<Segment>,
    /// No data arrives before this time.
    stalled_until: Time,
    /// No data will ever arrive.
    is_cut: bool,
    /// No more data is sent.
    is_shut: bool,
    /// The driver waits to hear that the socket takes more.
    is_blocked: bool,
}

impl Flow {
    /// Over a link with these settings.
    pub fn new(mut settings: Settings, socket: Socket, seed: u64) -> Flow {
        // The socket keeps the queue short: the link never drops.
        settings.queue_bytes = Some(u64::MAX);
        let congestion = settings.loss.is_possible().then_some(Congestion {
            window_bytes: FIRST_WINDOW,
            threshold_bytes: u64::MAX,
            in_flight_bytes: 0,
            slowed_until: Time::START,
        });
        Flow {
            socket,
            link: Link::new(settings.clone(), seed),
            healthy: settings,
            queue: VecDeque::new(),
            next_number: 0,
            lost: VecDeque::new(),
            congestion,
            outstanding_bytes: 0,
            expected: 0,
            unacknowledged_bytes: 0,
            early: BTreeMap::new(),
            unread: VecDeque::new(),
            stalled_until: Time::START,
            is_cut: false,
            is_shut: false,
            is_blocked: false,
        }
    }

    fn offer(&mut self, now: Time, segment: Segment) {
        let wire_bytes = wire_bytes(segment.len());
        match self.link.offer(now.into(), segment, wire_bytes) {
            Offered::Taken => {}
            Offered::Dropped(segment) | Offered::Lost(segment) => {
                let round_trip = self.round_trip();
                self.lost.push_back((now + round_trip, segment));
                self.slow_down(now, round_trip);
            }
        }
    }

    fn slow_down(&mut self, now: Time, round_trip: Duration) {
        let Some(congestion) = &mut self.congestion else { return };
        if now >= congestion.slowed_until {
            congestion.window_bytes = (congestion.window_bytes / 2).max(MIN_WINDOW);
            congestion.threshold_bytes = congestion.window_bytes;
            congestion.slowed_until = now + round_trip;
        }
    }

    /// Round trip time without queues: a segment not acknowledged within it counts as lost.
    fn round_trip(&self) -> Duration {
        Duration(2 * self.link.settings().delay_ns) + Duration::us(100)
    }
}

impl LinkKind for Flow {
    fn is_in_memory(&self) -> bool {
        false
    }

    fn push(&mut self, _: Time, frame: Frame, _: &mut Memory) {
        self.queue.push_back(frame);
    }

    fn flush(&mut self, now: Time, memory: &mut Memory) -> Flushed {
        self.arrive(now);
        while !self.queue.is_empty() {
            if !self.has_room() {
                self.is_blocked = true;
                return Flushed::Blocked;
            }
            let room = self.socket.window_bytes - self.outstanding_bytes;
            let Some(frame) = self.queue.front_mut() else { break };
            let segment = frame.take(self.next_number, self.socket.segment_bytes.min(room), memory);
            if frame.is_sent() {
                self.queue.pop_front();
            }
            self.next_number += 1;
            self.outstanding_bytes += segment.len();
            if let Some(congestion) = &mut self.congestion {
                congestion.in_flight_bytes += segment.len();
            }
            self.offer(now, segment);
        }
        self.is_blocked = false;
        Flushed::All
    }

    fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    fn is_delivered(&self) -> bool {
        self.queue.is_empty() && self.expected == self.next_number && !self.is_cut
    }

    fn has_room(&self) -> bool {
        let in_window = self.outstanding_bytes < self.socket.window_bytes;
        in_window && self.link.waiting_bytes() < self.socket.unsent_bytes && allows(&self.congestion)
    }

    fn wants_sender(&self) -> bool {
        self.is_blocked && self.has_room()
    }

    fn detach(&mut self, ended: &Payload, memory: &mut Memory) -> bool {
        self.queue.iter_mut().for_each(|frame| frame.detach(ended, memory));
        true
    }

    fn arrive(&mut self, now: Time) {
        if self.is_cut || now < self.stalled_until {
            return;
        }
        while self.lost.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, segment)) = self.lost.pop_front() else { break };
            self.offer(now, segment);
        }
        while let Some(delivery) = self.link.deliver(now.into()) {
            self.unacknowledged_bytes += delivery.token.len();
            self.early.insert(delivery.token.number, delivery.token);
        }
        while let Some(segment) = self.early.remove(&self.expected) {
            self.expected += 1;
            self.unread.push_back(segment);
        }
    }

    fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    fn read(&mut self, _: Time) -> Option<Segment> {
        let segment = self.unread.pop_front()?;
        self.outstanding_bytes = self.outstanding_bytes.saturating_sub(segment.len());
        Some(segment)
    }

    fn take_acknowledgement(&mut self) -> Option<(u64, Duration)> {
        let bytes = std::mem::take(&mut self.unacknowledged_bytes);
        (bytes > 0).then(|| (bytes, Duration(self.link.settings().delay_ns)))
    }

    fn is_paced(&self) -> bool {
        self.congestion.is_some()
    }

    fn acknowledged(&mut self, bytes: u64) {
        let Some(congestion) = &mut self.congestion else { return };
        congestion.in_flight_bytes = congestion.in_flight_bytes.saturating_sub(bytes);
        let grown = if congestion.window_bytes < congestion.threshold_bytes {
            bytes
        } else {
            (PACKET_PAYLOAD * bytes / congestion.window_bytes).max(1)
        };
        congestion.window_bytes = (congestion.window_bytes + grown).min(self.socket.window_bytes);
    }

    fn next_event(&self, now: Time) -> Option<Time> {
        if self.is_cut {
            return None;
        }
        let arrival = self.link.next_delivery().map(|at| Time::from(at).max(self.stalled_until));
        let again = self.lost.front().map(|(at, _)| (*at).max(self.stalled_until));
        let waiting = self.link.waiting_bytes();
        let room = (self.is_blocked && waiting >= self.socket.unsent_bytes).then(|| {
            let rate = self.link.settings().rate.map_or(u64::MAX, |rate| (rate.bits_per_s() / 8).max(1));
            // Half, not one byte: a socket is writable when it has some room.
            let excess = waiting - self.socket.unsent_bytes / 2;
            (now + Duration(1 + (u128::from(excess) * 1_000_000_000 / u128::from(rate)) as u64)).max(self.stalled_until)
        });
        [arrival, again, room].into_iter().flatten().min()
    }

    fn cut(&mut self, now: Time, mut bytes: u64) {
        self.arrive(now);
        self.is_cut = true;
        self.queue.clear();
        let mut link = std::mem::replace(&mut self.link, Link::new(Settings::default(), 0));
        while let Some(delivery) = link.deliver(Time::NEVER.into()) {
            self.early.insert(delivery.token.number, delivery.token);
        }
        while let Some(segment) = self.early.remove(&self.expected) {
            self.expected += 1;
            let header_len = segment.len() - segment.data.len();
            if bytes < header_len {
                break;
            }
            let data = segment.data.slice(0, bytes - header_len);
            bytes = bytes.saturating_sub(segment.len());
            self.unread.push_back(Segment { data, ..segment });
            if bytes == 0 {
                break;
            }
        }
        self.early.clear();
    }

    fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn close(&mut self) {
        self.queue.clear();
        self.is_blocked = false;
    }

    fn shut(&mut self, now: Time, nothing: Data) {
        self.close();
        if !self.is_cut && !std::mem::replace(&mut self.is_shut, true) {
            let end = Segment { number: self.next_number, header: None, data: nothing, lent: None, is_end: true };
            self.next_number += 1;
            self.offer(now, end);
        }
    }

    fn stall(&mut self, until: Time) {
        self.stalled_until = self.stalled_until.max(until);
    }

    fn slow(&mut self, now: Time, factor: u64, more_delay: Duration) {
        self.arrive(now);
        let mut settings = self.healthy.clone();
        settings.rate = settings.rate.and_then(|rate| (rate.bits_per_s() / factor.max(1)).try_into().ok());
        settings.delay_ns += more_delay.0;
        self.link.set(now.into(), settings);
    }

    fn heal(&mut self, now: Time) {
        self.stalled_until = self.stalled_until.min(now);
        self.slow(now, 1, Duration::ZERO);
    }
}

fn allows(congestion: &Option<Congestion>) -> bool {
    congestion.as_ref().is_none_or(|congestion| congestion.in_flight_bytes < congestion.window_bytes)
}

/// Bytes on the wire of `bytes` bytes of a flow.
fn wire_bytes(bytes: u64) -> u32 {
    (bytes + bytes.div_ceil(PACKET_PAYLOAD).max(1) * PACKET_EXTRA) as u32
}
