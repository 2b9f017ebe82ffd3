//! How the two ends of a connection name it.

/// A connection among those of a pair of endpoints, as the side that set it up numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkName {
    /// That side is the peer.
    pub by_peer: bool,
    /// Rail of that side.
    pub rail: u8,
    /// Which of the rail's streams; from [`FIRST_ADDITIONAL`] on those that were set up while others carried.
    pub stream: u8,
}

/// Number of the first stream that is set up while others carry. No user can ask for so many to begin with.
pub const FIRST_ADDITIONAL: u8 = 128;

/// In place of a stream's number: the connection is only to ask for the acceptor's addresses.
pub const ASKS: u8 = u8::MAX;

impl LinkName {
    /// Whether it was set up while others carried.
    pub fn is_additional(&self) -> bool {
        is_additional(self.stream)
    }
}

/// Whether a stream of this number is set up while others carry.
pub fn is_additional(stream: u8) -> bool {
    (FIRST_ADDITIONAL..ASKS).contains(&stream)
}
