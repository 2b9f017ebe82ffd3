//! The name of a connection, which both ends agree on.

/// A connection among those of a pair of endpoints, by the numbers of the side that has set it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkName {
    /// The peer has set it up.
    pub by_peer: bool,
    /// Rail of that side.
    pub rail: u8,
    /// Number of the rail's stream; from [`FIRST_ADDITIONAL`] on of additional streams.
    pub stream: u8,
}

/// Number of the first additional stream, beyond the number of streams that a user can set.
pub const FIRST_ADDITIONAL: u8 = 128;

/// In the place of a stream's number: the connection is only to ask for the acceptor's addresses.
pub const ASKS: u8 = u8::MAX;

impl LinkName {
    /// Whether it is an additional stream, set up while others carried.
    pub fn is_additional(&self) -> bool {
        is_additional(self.stream)
    }
}

/// Whether this is the number of an additional stream.
pub fn is_additional(stream: u8) -> bool {
    (FIRST_ADDITIONAL..ASKS).contains(&stream)
}
