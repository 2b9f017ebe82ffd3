//! Invariant 6: nothing that arrives can panic, and a bad peer costs its own channel only. So nobody who keeps to the
//! protocol is ever blamed or given up. (A panic ends the run, and its caller reports it.) And what is let go is
//! let go as was agreed: nothing comes over it after LEAVE, and nothing is lost with it.

use super::{Observation, Scene, must};

pub fn observe(observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
    match observation {
        Observation::ProtocolViolation(host, peer, why) => {
            must(!scene.ledger.is_sound(host, peer), || format!("{host} blames {peer}: {why}"))
        }
        Observation::Lost(host, peer) => {
            must(scene.ledger.may_lose_each_other(host, peer), || format!("{host} gives {peer} up, which is there"))
        }
        Observation::SentAfterLeave { from, to } => must(!scene.ledger.is_sound(from, to), || {
            format!("{from} still sends to {to} over a connection that it has released")
        }),
        Observation::Retired { host, peer, is_drained } => {
            must(is_drained || !scene.ledger.is_sound(host, peer), || {
                format!("{host} has to retransmit frames to {peer} of a connection that was released")
            })
        }
        _ => Ok(()),
    }
}
