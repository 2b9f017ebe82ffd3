//! What every link is to its endpoint: one subchannel to a peer, over whatever carries its frames.
//!
//! [`Link`] has what the endpoint asks and says alike; what a kind of link has of its own (how it is set up, watched and read)
//! is in `endpoint/` under its name. `docs/internals/architecture.md` says what a new kind has to bring along.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Payload, RailId, SubchannelId};

use crate::bounce_buffers::BounceBuffers;
use crate::sys::memory::UserMemory;

/// An open link of an endpoint: its kind, and its key among those of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkId {
    /// A TCP connection, with its datagrams.
    Tcp(usize),
    /// Memory that a peer of this host shares.
    Memory(usize),
    /// An endpoint of a libfabric's provider.
    Ofi(usize),
}

/// What every link has.
pub struct Common {
    /// The engine's name for it.
    pub subchannel: SubchannelId,
    /// The rail that it runs over, or under whose number it is counted.
    pub rail: RailId,
    /// What was counted.
    pub counts: Counts,
    /// The peer has sent its goodbye.
    pub goodbye_received: bool,
    /// This side has.
    pub goodbye_sent: bool,
}

impl Common {
    /// Of a link that has just come up.
    pub fn new(subchannel: SubchannelId, rail: RailId) -> Common {
        Common { subchannel, rail, counts: Counts::default(), goodbye_received: false, goodbye_sent: false }
    }
}

/// A link, whatever its kind. Each has a queue: a frame that it is given is its to deliver.
pub trait Link {
    /// What it has as all others.
    fn common(&self) -> &Common;

    /// The same, to be changed.
    fn common_mut(&mut self) -> &mut Common;

    /// The newest of what the peer has acknowledged, `frames` included, which a header says: a kind may have headers out of
    /// order.
    #[inline]
    fn newest_acknowledgement(&mut self, frames: u32, _now: Instant) -> u32 {
        frames
    }

    /// How the peer has ended it, given that nothing more will come.
    fn ending(&self) -> Ending;

    /// Whether frames that it has taken wait in this process, and so need more calls of the endpoint.
    fn has_waiting(&self) -> bool;

    /// Whether the peer, or a device, may yet read of `payload`, which is this process's memory.
    fn has_lent(&self, payload: &Payload) -> bool;

    /// The memory `ended` is not there any more once this returns: what waits of it is copied. False if it may yet be read,
    /// as [`Link::has_lent`] says.
    fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool;

    /// What is not in place yet of a payload that is being received goes nowhere: into copies, of which all have what they will
    /// have, and into user memory.
    fn discard(&mut self, bounces: &mut BounceBuffers);

    /// Copies the payload, of `len` bytes, of counted frame number `frame`: one that only this link has, as its memory was
    /// given back when it was sent. Kinds that leave copies to the engine have none. False if the peer has taken it: then it
    /// is blank.
    fn recover(&self, frame: u32, len: u64, into: &mut Vec<u8>) -> bool;

    /// Sends `bye`: this side closes. What still comes is taken, and acknowledged.
    fn say_goodbye(&mut self, bye: &Header, places: Places<'_>);

    /// Whether the engine may send over it: it is not being retired.
    fn is_usable(&self) -> bool {
        true
    }

    /// How messages tell its way, where the name of its rail does not.
    fn way(&self) -> Option<String> {
        None
    }

    /// What it has counted by its end.
    fn final_counts(&self) -> Counts {
        self.common().counts
    }

    /// A header has come: counts it, and puts into it the newest acknowledgement.
    #[inline]
    fn header_came(&mut self, header: &mut Header, now: Instant) -> SubchannelId {
        header.ack = self.newest_acknowledgement(header.ack, now);
        let common = self.common_mut();
        common.counts.rx_messages += u64::from(carries_data(&header.body));
        common.goodbye_received |= matches!(header.body, Body::Bye);
        common.subchannel
    }

    /// A payload of `len` bytes is where it belongs: counts it.
    #[inline]
    fn payload_came(&mut self, len: u64) -> SubchannelId {
        let common = self.common_mut();
        common.counts.rx_bytes += len;
        common.subchannel
    }

    /// A frame is to be sent: counts it.
    #[inline]
    fn count_sent(&mut self, body: &Body, len: u64) {
        let counts = &mut self.common_mut().counts;
        counts.tx_bytes += len;
        counts.tx_messages += u64::from(carries_data(body));
    }
}

/// A frame that has come over a link was changed on its way.
pub const CHANGED: &str = "a frame was changed on its way: its checksum is wrong";

/// How a peer has ended a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both have let go of it, while others stay.
    LetGo,
    /// After a goodbye of either side, and between two frames.
    InOrder,
    /// In the middle of something.
    Abrupt,
}

impl Ending {
    /// Of a link that nobody has let go of.
    pub fn of(common: &Common, is_within_frame: bool) -> Ending {
        let is_over = common.goodbye_received || common.goodbye_sent;
        if is_over && !is_within_frame { Ending::InOrder } else { Ending::Abrupt }
    }
}

/// Where this process has the bytes of payloads.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// User memory.
    pub memory: &'a UserMemory,
    /// Copies.
    pub bounces: &'a BounceBuffers,
}

/// Counters of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Payload bytes sent.
    pub tx_bytes: u64,
    /// Messages and stripes sent.
    pub tx_messages: u64,
    /// Payload bytes received.
    pub rx_bytes: u64,
    /// Messages and stripes received.
    pub rx_messages: u64,
    /// TCP segments sent again.
    pub retransmitted: u64,
    /// Frames sent as datagrams.
    pub tx_datagrams: u64,
    /// Those of them that were sent again, over TCP.
    pub repeated_datagrams: u64,
    /// Frames that came with a wrong checksum.
    pub changed_frames: u64,
}

impl Counts {
    /// Adds what another link has counted.
    pub fn add(&mut self, other: &Counts) {
        self.tx_bytes += other.tx_bytes;
        self.tx_messages += other.tx_messages;
        self.rx_bytes += other.rx_bytes;
        self.rx_messages += other.rx_messages;
        self.retransmitted += other.retransmitted;
        self.tx_datagrams += other.tx_datagrams;
        self.repeated_datagrams += other.repeated_datagrams;
        self.changed_frames += other.changed_frames;
    }
}

/// Whether a frame is a message, an access or a piece of one, not protocol.
pub fn carries_data(body: &Body) -> bool {
    matches!(
        body,
        Body::Eager { .. } | Body::EarlyData { .. } | Body::Stripe { .. } | Body::Write { .. } | Body::Atomic { .. }
    )
}
