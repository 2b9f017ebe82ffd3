//! The handshake of a connection. Both sides prove that they know the acceptor's token before anything else is parsed, the initiator
//! also that it knows its own, and they agree on keys if they encrypt. Free of I/O. See `docs/internals/wire.md`.
//!
//! ```text
//! initiator                                acceptor
//!   HELLO  ids, nonce, share, terms ──────▶
//!          ◀──────  CHALLENGE  nonce, share, proofs of the acceptor's token and, if it knows it, the initiator's
//!   PROOF  offer, alias, proofs of the acceptor's token and the initiator's ──────▶
//!          ◀──────  ACCEPT  grant, proof
//!                   or, if it is asked for by PROOF, ADDRESSES  list, proof
//!                   or, once there is a HELLO, PROVEN_REFUSE  reason, proof
//!                   or, at any point, REFUSE  reason
//! ```

mod acceptor;
mod error;
mod initiator;
#[cfg(test)]
mod injection;
mod message;
#[cfg(test)]
mod model;
mod party;
#[cfg(test)]
mod planted;
#[cfg(test)]
pub(crate) mod tests;
mod transcript;

pub use acceptor::{Acceptor, Identity, Proven};
pub use error::{HandshakeError, Refusal, refusal_for};
pub use initiator::Initiator;
pub use message::{MAX_ANSWER_LEN, MAX_MESSAGE_LEN, Nonce, Offer, refuse};
pub use party::{Party, Term, Terms};

/// The next step of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Wait for more bytes.
    Wait,
    /// Send this, then wait.
    Send(Vec<u8>),
    /// The handshake is complete.
    Done(T),
}
