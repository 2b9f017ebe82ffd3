//! Why a handshake comes to nothing, and what of that the peer is told.

use fishplate_engine::wire::VERSION;

use super::party::Term;

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The acceptor speaks another version of the wire format: its number.
    #[error("{}", versions(.0))]
    Version(u16),
    /// The acceptor is not the endpoint that was meant.
    #[error("another endpoint answers at that address")]
    NotMe,
    /// The initiator does not know the token, or is not who it says.
    #[error("the peer says that this side's token is wrong")]
    Token,
    /// Both sides connected at once, and the acceptor's own connection is the one to be kept.
    #[error("the peer prefers its own connection")]
    Yield,
    /// The acceptor has lost or closed its side of the virtual channel.
    #[error("the peer has closed its endpoint")]
    Closed,
    /// One side has a setting and the other does not: whether it is the acceptor.
    #[error("{}", difference(.0, .1))]
    Differs(Term, bool),
    /// It came over another interface of the acceptor's than that of the address that was meant.
    #[error("it reaches the peer over another interface than that of the address")]
    Detour,
    /// The acceptor may have no more files open.
    #[error("the peer may have no more files open (raise `ulimit -n` on its host)")]
    Files,
    /// The acceptor does not know the initiator, and has as many of these as it takes.
    #[error("the peer does not know this process, and too many others that it does not know are connected")]
    Crowded,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// What came is no Fishplate handshake.
    #[error("the other side does not speak Fishplate")]
    NotFishplate,
    /// The peer speaks another version of the wire format: its number.
    #[error("{}", versions(.0))]
    Version(u16),
    /// The peer refused, and has proven that it is the peer.
    #[error("{0}")]
    Refused(Refusal),
    /// Somebody refused, who may be anybody between here and the peer.
    #[error("{0}")]
    Hinted(Refusal),
    /// The peer does not know the token that it should.
    #[error("the peer does not know the token of the endpoint")]
    Token,
    /// The same, or its secret file is another one than this side's.
    #[error(
        "the peer does not know the token of the endpoint, or the file of its FISHPLATE_SECRET_FILE is another one"
    )]
    Secret,
    /// The peer takes us for another endpoint.
    #[error("it is meant for another endpoint")]
    NotMe,
    /// One side has a setting and the other does not: whether it is the peer.
    #[error("{}", difference(.0, .1))]
    Differs(Term, bool),
    /// The kernel gives no random numbers.
    #[error("the kernel gives no random numbers")]
    NoRandom,
}

impl HandshakeError {
    /// Only acceptors refuse: an initiator that does is a stranger, whose reasons are not repeated.
    pub(super) fn of_initiator(self) -> Self {
        match self {
            HandshakeError::Refused(_) | HandshakeError::Hinted(_) => HandshakeError::NotFishplate,
            error => error,
        }
    }

    /// Whether somebody who has put a message into the connection may have caused this. What costs more than this try is
    /// not believed of him.
    pub fn is_hint(&self) -> bool {
        use HandshakeError::{Hinted, NotFishplate, Refused, Secret, Token, Version};
        // The acceptor says these of what has come to it.
        let is_of_what_came = matches!(self, Refused(Refusal::Token | Refusal::Version(_)));
        is_of_what_came || matches!(self, NotFishplate | Version(_) | Hinted(_) | Token | Secret)
    }

    /// Who has refused, and why, proven or not.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            HandshakeError::Refused(refusal) | HandshakeError::Hinted(refusal) => Some(*refusal),
            _ => None,
        }
    }
}

fn versions(theirs: &u16) -> String {
    format!("the peer speaks version {theirs} of the wire format, this side version {VERSION}")
}

fn difference(term: &Term, theirs: &bool) -> String {
    let (name, states) = term.describe();
    let [here, peer] = [!theirs, *theirs].map(|has| states[usize::from(has)]);
    format!("{name} is {peer} at the peer and {here} at this side; it must be the same for all processes of a job")
}

/// What to tell the peer about an error; nothing to one that does not speak this protocol.
pub fn refusal_for(error: &HandshakeError) -> Option<Refusal> {
    match error {
        HandshakeError::Differs(term, theirs) => Some(Refusal::Differs(*term, !theirs)),
        HandshakeError::Version(_) => Some(Refusal::Version(VERSION)),
        HandshakeError::NotMe => Some(Refusal::NotMe),
        HandshakeError::Token | HandshakeError::Secret => Some(Refusal::Token),
        HandshakeError::NotFishplate
        | HandshakeError::NoRandom
        | HandshakeError::Refused(_)
        | HandshakeError::Hinted(_) => None,
    }
}
