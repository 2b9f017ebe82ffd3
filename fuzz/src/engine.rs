//! Sequences of headers into the engine, while its user posts and cancels. The oracle is that of the engine's own tests:
//! memory is bounded and in place, and every operation ends once, whatever the peer sends.

use fishplate_engine::Misbehaviour;

use crate::hostile::attack::attack;
use crate::support::rng::Rng;

/// How inputs end. (A wrong refusal must name an operation of another kind: few inputs do.)
pub const ENDS: &[&str] = &[
    "all in order",
    "wrong acknowledgement",
    "wrong credit",
    "over the grant",
    "sequence number out of range",
    "wrong clearance",
    "stripe out of place",
];

/// One connection's life, as `bytes` choose.
pub fn run(bytes: &[u8]) -> &'static str {
    match attack(Rng::over(bytes)).1 {
        None => "all in order",
        Some(Misbehaviour::Acknowledgement) => "wrong acknowledgement",
        Some(Misbehaviour::Credit) => "wrong credit",
        Some(Misbehaviour::Grant) => "over the grant",
        Some(Misbehaviour::Sequence) => "sequence number out of range",
        Some(Misbehaviour::Clearance) => "wrong clearance",
        Some(Misbehaviour::Stripe) => "stripe out of place",
        Some(Misbehaviour::Refusal) => "wrong refusal",
        // What an attack is too short for; the engine's tests have one of its own for each.
        Some(_) => "something else",
    }
}
