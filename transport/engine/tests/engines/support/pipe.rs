//! One direction of a subchannel: a rate, a delay, and bytes in flight, in order.

use std::collections::VecDeque;

use fishplate_engine::wire::{self, Header, MAX_HEADER_LEN};
use fishplate_engine::{Placement, Source, SubchannelId};

use super::rng::Rng;

/// A rail's behaviour, the same both ways.
#[derive(Clone, Copy, Debug)]
pub struct Rail {
    /// Bytes per second.
    pub rate: f64,
    pub delay_ns: u64,
    /// Maximum of a random addition to the delay of each frame.
    pub jitter_ns: u64,
    /// The engine is told the rate.
    pub told: bool,
    /// Bytes that the queue takes; as a socket, it takes more once it has drained below `low_water`.
    pub capacity: u64,
    pub low_water: u64,
    /// Budgets are random, up to the capacity, and come late.
    pub moody: bool,
}

impl Rail {
    /// As a TCP socket with `TCP_NOTSENT_LOWAT`.
    pub fn steady(rate: f64, delay_ns: u64) -> Rail {
        let (capacity, low_water) = (256 << 10, 128 << 10);
        Rail { rate, delay_ns, jitter_ns: 0, told: true, capacity, low_water, moody: false }
    }

    /// Anything that keeps the order.
    pub fn moody(rng: &mut Rng) -> Rail {
        Rail {
            rate: *rng.pick(&[5e6, 30e6, 125e6, 1e9]),
            delay_ns: *rng.pick(&[0, 1_000, 50_000, 3_000_000]),
            jitter_ns: *rng.pick(&[0, 10_000, 1_000_000]),
            told: rng.percent(50),
            capacity: *rng.pick(&[1, 5_000, 200_000]),
            low_water: 0,
            moody: true,
        }
    }
}

pub enum Load {
    /// Read from user memory as late as possible.
    Late(Source),
    Copied(Vec<u8>),
}

pub struct Frame {
    pub header: Header,
    pub load: Load,
    pub header_at: u64,
    pub payload_at: u64,
    pub placement: Option<Placement>,
}

pub struct Pipe {
    pub rail: Rail,
    pub from: (usize, SubchannelId),
    pub to: (usize, SubchannelId),
    pub frames: VecDeque<Frame>,
    /// It takes and brings nothing any more.
    pub dead: bool,
    /// It takes nothing any more, but what is in it may arrive.
    pub cut: bool,
    /// Nothing in it moves, and nobody knows.
    pub stalled: bool,
    /// The node at its start knows that it has ended.
    pub has_ended: bool,
    pub rail_number: usize,
    /// An event that gives budget is in flight.
    pub will_drain: bool,
    busy_until: u64,
    last_arrival: u64,
    pub sent_bytes: u64,
    pub sent_frames: u64,
    /// Frames that are messages or requests to send one.
    pub messages: u64,
    pub pure_acks: u64,
}

impl Pipe {
    pub fn new(rail: Rail, rail_number: usize, from: (usize, SubchannelId), to: (usize, SubchannelId)) -> Pipe {
        Pipe {
            rail,
            from,
            to,
            frames: VecDeque::new(),
            dead: false,
            cut: false,
            stalled: false,
            has_ended: false,
            rail_number,
            will_drain: false,
            busy_until: 0,
            last_arrival: 0,
            sent_bytes: 0,
            sent_frames: 0,
            messages: 0,
            pure_acks: 0,
        }
    }

    /// Takes a frame, as bytes.
    pub fn push(&mut self, now: u64, header: &Header, load: Load, rng: &mut Rng) {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        let (header, read) = wire::decode(&bytes[..len]).expect("own header is refused").expect("own header is short");
        assert_eq!(read, len);
        let payload_len = u64::from(header.body.payload_len());
        let time = |bytes: u64| (bytes as f64 / self.rail.rate * 1e9) as u64;
        let start = self.busy_until.max(now);
        let jitter = rng.below(self.rail.jitter_ns + 1);
        let delay_ns = self.rail.delay_ns + jitter;
        let header_at = (start + time(len as u64) + delay_ns).max(self.last_arrival);
        self.busy_until = start + time(len as u64 + payload_len);
        let payload_at = (self.busy_until + delay_ns).max(header_at);
        self.last_arrival = payload_at;
        self.sent_bytes += len as u64 + payload_len;
        self.sent_frames += 1;
        self.messages += u64::from(matches!(header.body, wire::Body::Eager { .. } | wire::Body::RequestToSend { .. }));
        self.pure_acks += u64::from(header.body == wire::Body::Ack);
        self.frames.push_back(Frame { header, load, header_at, payload_at, placement: None });
    }

    fn backlog(&self, now: u64) -> u64 {
        (self.busy_until.saturating_sub(now) as f64 * self.rail.rate / 1e9) as u64
    }

    /// When it can take more.
    pub fn drains_at(&self, now: u64, rng: &mut Rng) -> u64 {
        if self.rail.moody {
            return self.busy_until.max(now) + rng.below(20_000);
        }
        let excess = self.backlog(now).saturating_sub(self.rail.low_water);
        now + 1 + (excess as f64 / self.rail.rate * 1e9) as u64
    }

    pub fn budget(&self, now: u64, rng: &mut Rng) -> u64 {
        let room = self.rail.capacity.saturating_sub(self.backlog(now)).max(1);
        if self.rail.moody { 1 + rng.below(room) } else { room }
    }
}
