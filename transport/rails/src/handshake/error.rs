//! Errors of handshakes, and the refusals that peers are sent.

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
    /// The initiator does not know the token, or its identity is wrong.
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
    /// The connection came over another interface of the acceptor than that of the address.
    #[error("it reaches the peer over another interface than that of the address")]
    Detour,
    /// The acceptor may open no more files.
    #[error("the peer may have no more files open (raise `ulimit -n` on its host)")]
    Files,
    /// The acceptor does not know the initiator, and has as many guests as it accepts.
    #[error("the peer does not know this process, and too many others that it does not know are connected")]
    Crowded,
}

/// Why a handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The bytes are no Fishplate handshake.
    #[error("the other side does not speak Fishplate")]
    NotFishplate,
    /// The peer speaks another version of the wire format: its number.
    #[error("{}", versions(.0))]
    Version(u16),
    /// The peer refused, with a proof of its identity.
    #[error("{0}")]
    Refused(Refusal),
    /// A refusal without proof: an attacker on the path may have sent it.
    #[error("{0}")]
    Hinted(Refusal),
    /// The peer does not know the token that it should.
    #[error("the peer does not know the token of the endpoint")]
    Token,
    /// The peer does not know the token, or has another secret file.
    #[error(
        "the peer does not know the token of the endpoint, or the file of its FISHPLATE_SECRET_FILE is another one"
    )]
    Secret,
    /// The peer is another endpoint than the one that was meant.
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
    /// The error for the same message from an initiator. Initiators never refuse: it is a stranger, whose reason is not reported.
    pub(super) fn of_initiator(self) -> Self {
        match self {
            HandshakeError::Refused(_) | HandshakeError::Hinted(_) => HandshakeError::NotFishplate,
            error => error,
        }
    }

    /// Whether a message that an attacker has injected into the connection may have caused this. Such an error ends this try alone.
    pub fn is_hint(&self) -> bool {
        use HandshakeError::{Hinted, NotFishplate, Refused, Secret, Token, Version};
        // These refer to the messages that the acceptor received, which may have been tampered with.
        let is_of_what_came = matches!(self, Refused(Refusal::Token | Refusal::Version(_)));
        is_of_what_came || matches!(self, NotFishplate | Version(_) | Hinted(_) | Token | Secret)
    }

    /// The refusal, with or without proof.
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
    format!("{name} is {peer} at the peer and {here} at this side; it must be equal for all processes of a job")
}

/// The refusal to send for an error; `None` for a peer that does not speak this protocol.
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
