//! Why a handshake comes to nothing, and what of that the peer is told.

use std::fmt;

use fishplate_engine::wire::VERSION;

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The acceptor speaks another version of the wire format: its number.
    Version(u16),
    /// The acceptor is not the endpoint that was meant.
    NotMe,
    /// The initiator does not know the token.
    Token,
    /// Both sides connected at once, and the acceptor's own connection is the one to be kept.
    Yield,
    /// The acceptor has lost or closed its side of the virtual channel.
    Closed,
    /// One side encrypts and the other does not: whether it is the acceptor.
    Encryption(bool),
    /// It came over another interface of the acceptor's than that of the address that was meant.
    Detour,
    /// The acceptor may have no more files open.
    Files,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// What came is no Fishplate handshake.
    NotFishplate,
    /// The peer speaks another version of the wire format: its number.
    Version(u16),
    /// The peer refused.
    Refused(Refusal),
    /// The peer does not know the token that it should.
    Token,
    /// The peer takes us for another endpoint.
    NotMe,
    /// One side encrypts and the other does not: whether it is the peer.
    Encryption(bool),
    /// The kernel gives no random numbers.
    NoRandom,
}

impl HandshakeError {
    /// Only acceptors refuse: an initiator that does is a stranger, whose reasons are not repeated.
    pub(super) fn of_initiator(self) -> Self {
        match self {
            HandshakeError::Refused(_) => HandshakeError::NotFishplate,
            error => error,
        }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandshakeError::NotFishplate => f.write_str("the other side does not speak Fishplate"),
            HandshakeError::Version(theirs) | HandshakeError::Refused(Refusal::Version(theirs)) => {
                write!(f, "the peer speaks version {theirs} of the wire format, this side version {VERSION}")
            }
            HandshakeError::Refused(Refusal::NotMe) => f.write_str("another endpoint answers at that address"),
            HandshakeError::NotMe => f.write_str("it is meant for another endpoint"),
            HandshakeError::Refused(Refusal::Token) => f.write_str("the peer says that this side's token is wrong"),
            HandshakeError::Refused(Refusal::Yield) => f.write_str("the peer prefers its own connection"),
            HandshakeError::Refused(Refusal::Detour) => {
                f.write_str("it reaches the peer over another interface than that of the address")
            }
            HandshakeError::Refused(Refusal::Files) => {
                f.write_str("the peer may have no more files open (raise `ulimit -n` on its host)")
            }
            HandshakeError::Refused(Refusal::Closed) => f.write_str("the peer has closed its endpoint"),
            HandshakeError::Token => f.write_str("the peer does not know the token of the endpoint"),
            HandshakeError::Encryption(theirs) | HandshakeError::Refused(Refusal::Encryption(theirs)) => {
                let (peer, here) = if *theirs { ("on", "off") } else { ("off", "on") };
                write!(
                    f,
                    "FISHPLATE_ENCRYPTION is {peer} at the peer and {here} at this side; it must be the same for all \
                     processes of a job"
                )
            }
            HandshakeError::NoRandom => f.write_str("the kernel gives no random numbers"),
        }
    }
}

impl std::error::Error for HandshakeError {}

/// What to tell the peer about an error; nothing to one that does not speak this protocol.
pub fn refusal_for(error: &HandshakeError) -> Option<Refusal> {
    match error {
        HandshakeError::Encryption(theirs) => Some(Refusal::Encryption(!theirs)),
        HandshakeError::Version(_) => Some(Refusal::Version(VERSION)),
        HandshakeError::NotMe => Some(Refusal::NotMe),
        HandshakeError::Token => Some(Refusal::Token),
        HandshakeError::NotFishplate | HandshakeError::NoRandom | HandshakeError::Refused(_) => None,
    }
}
