//! Invariant 4: a user buffer is never read after its send has completed.

use super::{Observation, Scene};
use crate::transport::memory::InvalidAccess;

pub fn observe(observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
    match observation {
        // Acknowledgements are meaningless at a host that does not send its engine's frames.
        Observation::InvalidAccess(host, InvalidAccess::Read(extent))
            if !scene.ledger.hostile_hosts.contains(&host) =>
        {
            Err(format!("{host} reads memory that its user has back: {extent:?}"))
        }
        _ => Ok(()),
    }
}
