//! Sequences of headers into the engine, while its user posts and cancels. The oracle is that of the engine's own tests:
//! memory is bounded and in place, and every operation ends once, whatever the peer sends.

use fishplate_engine::ProtocolViolation;

use crate::hostile::attack::attack;
use crate::support::rng::Rng;

/// How inputs end. (A wrong refusal must name an operation of another kind: few inputs do.)
pub const ENDS: &[&str] = &[
    "all in order",
    "wrong acknowledgement",
    "wrong credit",
    "over the grant",
    "sequence number out of range",
    "wrong CTS",
    "stripe out of place",
];

/// One connection's life, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    match attack(Rng::over(bytes)).1 {
        None => "all in order",
        Some(ProtocolViolation::Acknowledgement) => "wrong acknowledgement",
        Some(ProtocolViolation::Credit) => "wrong credit",
        Some(ProtocolViolation::Grant) => "over the grant",
        Some(ProtocolViolation::Sequence) => "sequence number out of range",
        Some(ProtocolViolation::ClearToSend) => "wrong CTS",
        Some(ProtocolViolation::Stripe) => "stripe out of place",
        Some(ProtocolViolation::Refusal) => "wrong refusal",
        // What an attack is too short for; the engine's tests have one of its own for each.
        Some(_) => "something else",
    }
}
