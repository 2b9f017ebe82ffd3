//! Invariant 4: a user buffer is never read after its send has completed.

use super::{Observation, Oracle, Scene};
use crate::transport::memory::InvalidAccess;

pub struct Lease;

impl Oracle for Lease {
    fn name(&self) -> &'static str {
        "lease"
    }

    fn observe(&mut self, observation: Observation<'_>, scene: Scene<'_>) -> Result<(), String> {
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
}
