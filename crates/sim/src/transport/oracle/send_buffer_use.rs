//! Invariant 4: a user buffer is never read after its send has completed.

use super::{Oracle, Scene, Seen};
use crate::transport::memory::Trespass;

pub struct Lease;

impl Oracle for Lease {
    fn name(&self) -> &'static str {
        "lease"
    }

    fn see(&mut self, seen: Seen<'_>, scene: Scene<'_>) -> Result<(), String> {
        match seen {
            // Acknowledgements mean nothing to who does not send what its engine says.
            Seen::Trespassed(host, Trespass::Read(extent)) if !scene.ledger.outlaws.contains(&host) => {
                Err(format!("{host} reads memory that its user has back: {extent:?}"))
            }
            _ => Ok(()),
        }
    }
}
